/*
 * plan.h - the answer to a scenario: memory, time and use of the GPU.
 */
#ifndef MFU_PLAN_H
#define MFU_PLAN_H

#include "plan/accumulation.h"
#include "plan/pricing.h"
#include "plan/sums.h"
#include "cost/cost.h"
#include "graph/lifetime.h"
#include "graph/program.h"
#include "graph/scale.h"
#include "simulate/overlap.h"
#include "scenario/scenario.h"

struct mfu_error;
struct mfu_pipeline;

/* What limits the step as a whole. */
enum mfu_limit {
    MFU_LIMIT_COMPUTE,
    MFU_LIMIT_MEMORY,
    MFU_LIMIT_LATENCY, /* kernels too small for either, and what a step takes beside kernels */
    MFU_LIMIT_LAUNCH,
    MFU_LIMIT_COMMUNICATION,
    MFU_LIMIT_INPUT
};
extern const char *const mfu_limit_names[];

#define MFU_SIGMAS 1.645 /* of a normal distribution, within which 90 % lies */

struct mfu_memory_answer {
    struct mfu_peak_memory peak;                      /* allocated, as a partition */
    double capacity_bytes;                            /* what the card offers to a process */
    bool capacity_assumed;                            /* not verified for this card: estimated */
    double reserved_bytes;                            /* of the caching allocator */
    double least_reserved_bytes, most_reserved_bytes; /* of orders of batches that differ in length; NAN: all alike */
    double withheld_bytes;                            /* of what is reserved: freed, but not back yet; */
    double least_withheld_bytes, most_withheld_bytes; /* the same where hosts are less or more ahead */
    double returned_bytes; /* cached, but given back before the card is full: not in what is reserved (pipelines) */
    double paged_bytes, evicted_bytes;    /* optimizer states in managed memory; of these on the host */
    double context_bytes;                 /* CUDA context, kernels, libraries */
    double smi_bytes;                     /* nvidia-smi's figure for the process */
    double smi_low_bytes, smi_high_bytes; /* 90 % interval of it */
    double loose_bytes; /* cached, of which nobody has worked out how much comes back before the card is full */
    double drive_bytes; /* of one process on its host's NVMe drives */
    double host_bytes, pinned_bytes; /* of one process in its host's memory; locked of these */
    double host_node_bytes;          /* of all processes of a machine, */
    double host_capacity_bytes;      /* and what that has; NAN: nobody says */
    double fits_probability;         /* of the runs that this may be, those that fit */
    double fill;                     /* of the capacity, other processes included */
    bool fits;                       /* missing_bytes <= 0 */
    bool fragmented;                 /* it would fit, if what is free lay in one piece */
    char peak_at[96];                /* "backward of lm_head" */
    double missing_bytes; /* for tensors, context and other processes; what is fragmented: for the segment that
                             the allocator finds no room for; negative: left */
    char failed_in[96];   /* of the simulated allocator: "backward of lm_head, step 2"; "": it did not */
    char message[768];    /* then, what PyTorch would print */
};

struct mfu_step_answer {
    double time_s, low_s, high_s; /* 90 % interval */
    double forward_s, backward_s, optimizer_s, communication_exposed_s, idle_s;
    double contention_s;    /* of what is exposed: kernels slowed by collectives; 0 before simulation */
    double communication_s; /* of the collectives, hidden or not */
    double copies_s;        /* of the kernels that are made for them: a part of what is exposed */
    double busy_s;          /* sum of the kernels */
    double host_s;          /* that dispatching takes, hidden or not */
    double
        beside_host_s; /* of kernels, host and what communication adds: the step without loader, constant and pages */
    double tokens, tokens_per_s, samples_per_s;
    double useful_tokens; /* those of documents; the others are padding */
    double kernels;       /* launched in one step */
};

struct mfu_mfu_answer {
    enum mfu_peak peak; /* whose peak it is divided by */
    double peak_flops;
    double model_flops;              /* of a step on all GPUs: forward + backward, causal in full */
    double hardware_flops;           /* the same and what is computed again, less what Winograd saves */
    double mfu, hfu, achieved_flops; /* per GPU */
};

/* Seconds of the GPU, and of the host that launches its kernels. */
struct mfu_work_s {
    double gpu_s, host_s;
};

/* Work of one microbatch: in the layers of a rank, and in what stands before and
 * behind all layers of the model, where the rank holds that. */
struct mfu_pass_work {
    struct mfu_work_s layers, before, behind;
};

/* Memory that is freed but not back yet, since the host is ahead. */
struct mfu_withheld {
    struct {
        double bytes;  /* of one microbatch, */
        double queued; /* and the microbatches whose launches CUDA queues */
    } pass[2];         /* forward, backward */
    double lead;       /* passes that the host is ahead: 1 is a forward pass, 2 that and a backward pass; */
    double least_lead, most_lead;
};

/* Layouts whose orders a plan remembers: a search changes what does not move them (ZeRO, checkpointing) in between. */
#define MFU_PIPELINES 16

/* One rank's part of a pipeline. */
struct mfu_stage {
    int number;  /* from 0 */
    int same;    /* the first one with the same program, */
    int program; /* which is this one of the plan's */
    double layers;
    double forward_s, backward_s; /* of one microbatch, with the collectives in its way */
    struct mfu_pass_work f, b, w; /* of these: forward, gradient of the input, gradients of the weights */
    bool late[2];                 /* forward, backward: host and GPU wait for each other now and then */
    double send_s, send_bytes;    /* of one message to the next stage */
    double waits_s;               /* for its own messages, in a step */
    double idle_s;                /* for the messages of others, in a step; */
    double imbalance_s;           /* of that: since it computes less than the busiest */
    double after_s;               /* once a step: sums of gradients that do not hide, the optimizer */
    double sums_s;                /* of that the sums, which begin when this rank's last backward ends */
    double gathers_s;             /* of weights that are gathered once a step, what its first forward does not hide */
    double flops, hardware_flops; /* as MFU counts them, if all stages were like this one */
    double in_flight;             /* microbatches whose activations it holds at most */
    struct mfu_withheld withheld;
    double kept_bytes;                /* of one of them; */
    double kept_before, kept_behind;  /* of that: before and behind all layers */
    struct mfu_step_answer step;      /* of a step without others, */
    enum mfu_limit limit;             /* and what limits that */
    struct mfu_memory_answer alone;   /* with one microbatch in its passes, */
    struct mfu_memory_answer updates; /* or in the optimizer, if that takes more: then nothing is in flight; */
    struct mfu_memory_answer memory;  /* with all that are in flight */
};

/* Nothing; that a stage has no room for one microbatch; the first's memory and program; those of all; times, too. */
enum mfu_stages_known {
    MFU_STAGES_UNKNOWN,
    MFU_STAGES_OVERFULL,
    MFU_STAGES_BEGUN,
    MFU_STAGES_WEIGHED,
    MFU_STAGES_PRICED
};

/* What is known of the program of a rank. */
struct mfu_rank_program {
    struct mfu_program program;
    struct mfu_pricing pricing;
    struct mfu_accumulation accumulation;
    struct mfu_overlap_stretches stretches;
};

struct mfu_plan {
    struct mfu_scenario scenario; /* own copy; config points at it */
    struct mfu_config config;
    struct mfu_machine machine;
    struct mfu_program program;
    bool built;      /* program is that of config, */
    bool peak_known; /* and memory.peak is its peak */
    bool
        without_interval; /* nobody asks for step.low_s and high_s, nor what rules the step: plans of sums leave them */
    struct mfu_scale scale;                 /* from program to that of another batch */
    struct mfu_pricing pricing;             /* prices of program.launches, */
    struct mfu_sums sums;                   /* and of a step; */
    struct mfu_overlap_stretches stretches; /* of that, where GPUs communicate; of a pipeline always */
    struct mfu_accumulation accumulation;   /* from sums to those of another number of micro-steps */
    struct mfu_memory_answer memory;
    struct mfu_step_answer step;
    struct mfu_mfu_answer mfu;
    enum mfu_limit limit;
    struct mfu_pipeline *pipelines[MFU_PIPELINES]; /* workspaces of layouts, the one at hand first, or NULL; owned */
    struct mfu_stage *stages;                      /* of the pipeline, in order; owned */
    int n_stages;                                  /* 0 without a pipeline */
    enum mfu_stages_known known;                   /* of the stages of config, whatever the schedule */
    struct mfu_rank_program *programs;             /* of stages; that at hand is in `program` and what follows; owned */
    int cap_programs, at_hand;
    int shown_stage;                    /* of the pipeline, from 0: whose program this is, the busiest */
    int worst_stage;                    /* that holds the most memory */
    double bubble;                      /* share of the ranks' time in which they wait for each other */
    double matmul_seconds;              /* of the step, in GEMMs and attention */
    double dispatch_s[MFU_PHASE_COUNT]; /* host time of one launch */
    double far_s;                       /* what messages between nodes take longer than their bytes, in a pass */
    double late_s[MFU_PHASE_COUNT];     /* what host and GPU wait for each other, of a step */
    double loop_s;                      /* that the GPU waits for the loop around the model, of a step */
    double ranks_s;                     /* that ranks wait for the last of them where they sum gradients, of a step */
    enum mfu_coefficient host_rules;    /* what most of the host time of a step rests on */
    double paging_s;                    /* that the optimizer waits for pages of its states, of each step */
    double loader_wait_s;               /* that GPU and host have, of each step, since the loader is slower */
};

/* Bytes that one process can have of a card.  `assumed` (may be NULL): no device
 * report of it is known, what the driver keeps for itself is an estimate. */
double mfu_capacity(const struct mfu_gpu *, bool *assumed);

/* Plans `scenario` into `plan`, which was zeroed or used before (its memory is
 * reused: sweeps make millions of plans in one).  Release it at the end, and before its
 * model, GPU or cluster is freed: another at the same address would pass for it. */
int mfu_plan_make(struct mfu_plan *plan, const struct mfu_scenario *scenario, struct mfu_error *err);
/* The same unless it does not fit: then 1, and only its memory is known. */
int mfu_plan_make_fitting(struct mfu_plan *plan, const struct mfu_scenario *scenario, struct mfu_error *err);
/* mfu_plan_make(), or mfu_plan_make_fitting(), for who asks for nothing that is of single launches, whose
 * prices may be those of another number of micro-steps: where only that number differs from the plan
 * before, it is worked out from sums (accumulation.h). */
int mfu_plan_make_sums(struct mfu_plan *plan, const struct mfu_scenario *scenario, bool fitting, struct mfu_error *err);
/* The same of the scenario of the plan before, but for its number of micro-steps: several in both. */
int mfu_plan_accumulate(struct mfu_plan *plan, double accum, bool fitting, struct mfu_error *err);
/* The same as if it took no longer than its products and streams at the best: step.time_s and what follows
 * from it, which the step of this many micro-steps does not beat.  False where nothing is known, and where
 * the plan before is none of sums. */
bool mfu_plan_bound(struct mfu_plan *plan, double accum);
/* What of the layout the figures leave out, in words, one by one; NULL behind the last. */
const char *mfu_plan_left_out(const struct mfu_plan *, size_t i);
/* Seconds of a step beside kernels that do not hang on them: its hand-over, the loop's own, waits for other ranks. */
double mfu_plan_fixed_s(const struct mfu_plan *);
/* Whether the plan fits, on the GPU and on its host: 1, 0, or NAN where nobody can say, since something that the model's config.json or an
 * imported file states is not modelled. */
double mfu_plan_fits(const struct mfu_plan *);
/* The first such thing, NULL without; the same, and "" without. */
const char *mfu_plan_fits_because(const struct mfu_plan *);
const char *mfu_plan_unpredicted(const struct mfu_plan *);

/* Gives back what was needed to price it, and would be used again by the next one. */
void mfu_plan_forget(struct mfu_plan *);
void mfu_plan_release(struct mfu_plan *);

/* Adds up the memory of the program at hand, or of its passes without the optimizer; prices it, and adds up a rank's time
 * and FLOP: for who wants prices in the same order as for who wants `sums` alone. */
int mfu_plan_weigh(struct mfu_plan *, bool of_passes, struct mfu_error *);
int mfu_plan_price(struct mfu_plan *, bool sums, struct mfu_error *);
/* What of the states that are paged the host holds, with so much reserved, and what that costs; the others are part of
 * nvidia-smi's figure.  PyTorch's memory drives them out, and never the other way round. */
void mfu_plan_page(struct mfu_plan *);
/* Sums and stretches of the program at hand, from its prices. */
int mfu_plan_sum_up(struct mfu_plan *, struct mfu_error *);
/* The step's time and FLOP, from these; and its FLOP and tokens alone. */
void mfu_plan_add_up(struct mfu_plan *);
void mfu_plan_add_up_amounts(struct mfu_plan *);

/* How far a rank's memory may be off, and how likely it is to suffice: from the spread of live memory, of what the
 * allocator keeps beside it, of contexts, and of an estimated capacity. */
void mfu_plan_memory_spread(const struct mfu_plan *, struct mfu_memory_answer *);

/* Of the program at hand; and what it adds to reserved memory with so many microbatches in flight, as far as the card
 * has room for it beside `others` bytes of other processes; all of it is returned (withheld.c). */
struct mfu_withheld mfu_plan_withheld(const struct mfu_plan *);
double mfu_withhold(const struct mfu_withheld *, double microbatches, double others, struct mfu_memory_answer *);

/* Whether the scenario states the loader's time (dataloader_ms), in place of host.loader of the machine. */
bool mfu_plan_states_loader(const struct mfu_plan *);

/* Seconds in which the loader delivers a micro-batch, and those of a step. */
double mfu_plan_micro_loader_s(const struct mfu_plan *);
double mfu_plan_loader_s(const struct mfu_plan *);

/* What follows from the time of the step and its FLOP: rates, MFU, the interval. */
void mfu_plan_settle_time(struct mfu_plan *);

/* d log(step) / d log(coefficient), as far as a coefficient rules some of the step: rates make it shorter,
 * times longer. */
void mfu_plan_slopes(const struct mfu_plan *, double slope[MFU_COEFFICIENT_COUNT]);

/* Takes over coefficients of plan->scenario that have changed: into the machine
 * and the host times, not into the answers. */
void mfu_plan_refresh(struct mfu_plan *);

/* Mean tokens of the longest document of a micro-batch: seq where nobody said how long documents are. */
double mfu_plan_longest_document(const struct mfu_plan *);

/* How often a launch of a segment happens in one optimizer step. */
double mfu_plan_times(const struct mfu_plan *, const struct mfu_segment *);

#endif
