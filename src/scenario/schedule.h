/*
 * schedule.h - the order in which pipeline ranks run forward and backward.
 *
 * A model is cut into stages; each rank of the pipeline holds one or more of
 * them, its chunks.  A step sends every microbatch forward through all stages
 * and back.  A schedule says which chunk each rank runs next: a file of
 * scenario/schedules/ that exports `const struct mfu_schedule
 * mfu_schedule_NAME`.  It contains no times; those belong to simulate/pipeline.h.
 *
 * Microbatches pass every chunk in their order, forward and backward, so an
 * order names passes and chunks only.  It is written as blocks that repeat:
 *
 *     MFU_REPEAT(order, warm_up, MFU_F(0));
 *     MFU_STEADY(order, microbatches - warm_up, MFU_F(0), MFU_BW(0));
 *     MFU_REPEAT(order, warm_up, MFU_BW(0));
 */
#ifndef MFU_SCHEDULE_H
#define MFU_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mfu_error;
struct mfu_schedule;

enum mfu_pass {
    MFU_PASS_F,   /* forward */
    MFU_PASS_B,   /* backward: gradient of the input only */
    MFU_PASS_W,   /* backward: gradients of the weights */
    MFU_PASS_BW,  /* backward in one */
    MFU_PASS_FBW, /* forward of a chunk merged with the whole backward of the rank's other chunk */
    MFU_PASS_COUNT
};
extern const char *const mfu_pass_names[MFU_PASS_COUNT]; /* "forward" ... */

/* Which stage is chunk c of rank i; S: number of stages. */
enum mfu_placement {
    MFU_PLACE_LOOP, /* c * pp + i: round and round */
    MFU_PLACE_V,    /* i, then S - 1 - i: down and up */
    MFU_PLACE_DUAL  /* i and S - 1 - i of two copies of the model that run in opposite directions */
};

struct mfu_pipeline_layout {
    const struct mfu_schedule *schedule;
    int pp;           /* ranks, from 1 */
    int vpp;          /* chunks of the model per rank, from 1 */
    int microbatches; /* of a step, from 1; MFU_PLACE_DUAL: of both directions together */
    int group;        /* interleaved: microbatches that a chunk runs before the next one; 0: pp */
    int ahead;        /* interleaved: forwards more than usual before the first backward: 0 or 1 */
};

/* A pass of a chunk in one number. */
#define MFU_ACTION(pass, chunk) ((uint16_t)((chunk)*MFU_PASS_COUNT + (pass)))
#define MFU_F(chunk) MFU_ACTION(MFU_PASS_F, chunk)
#define MFU_B(chunk) MFU_ACTION(MFU_PASS_B, chunk)
#define MFU_W(chunk) MFU_ACTION(MFU_PASS_W, chunk)
#define MFU_BW(chunk) MFU_ACTION(MFU_PASS_BW, chunk)
#define MFU_FBW(chunk) MFU_ACTION(MFU_PASS_FBW, chunk) /* `chunk` runs forward */

/* The largest pipelines: chunks of a rank; stages; microbatches times chunks. */
#define MFU_MOST_CHUNKS 4096
#define MFU_MOST_STAGES 1024
#define MFU_MOST_PASSES (1 << 24)

struct mfu_block {
    int first, length; /* of mfu_order.actions */
    int repeat;
    int phase; /* 0, or the how-manieth steady block of its rank this is, from 1 */
};

/* The orders of all ranks, one after another; zeroed before its first use. */
struct mfu_order {
    uint16_t *actions;
    struct mfu_block *blocks;
    int n_actions, n_blocks;
    int room_actions, room_blocks;
    int rank_block; /* first block of the rank that is being written */
    int phases;     /* steady blocks of that rank so far */
    bool failed;    /* out of memory: the order is incomplete */
};

/* Appends a block; none where repeat or length is 0, except that a steady one
 * always counts.  Steady blocks are those whose number of repetitions grows
 * with the microbatches: all ranks have as many, and the n-th ones run at the
 * same time and exchange as many messages per repetition as they receive. */
void mfu_order_add(struct mfu_order *, int repeat, bool steady, const uint16_t *body, int length);

/* Appends to the body of the block that was added last. */
void mfu_order_lengthen(struct mfu_order *, const uint16_t *body, int length);

#define MFU_BODY_(...)                                                                                                 \
    (const uint16_t[]){__VA_ARGS__}, (int)(sizeof((const uint16_t[]){__VA_ARGS__}) / sizeof(uint16_t))
#define MFU_REPEAT(order, repeat, ...) mfu_order_add(order, repeat, false, MFU_BODY_(__VA_ARGS__))
#define MFU_STEADY(order, repeat, ...) mfu_order_add(order, repeat, true, MFU_BODY_(__VA_ARGS__))

struct mfu_schedule {
    const char *name, *summary;
    const char *aliases;    /* as trainers call it, separated by blanks */
    const char *stands_for; /* others that are planned as this one; as aliases, or NULL */
    bool usual;             /* what trainers run where nothing is said */
    bool one_process;       /* computes on all GPUs of a pipeline, which stand in its machine */
    enum mfu_placement placement;
    int least_vpp, most_vpp;
    bool splits_backward;   /* W is run apart from B: the trainer must be able to */
    bool sends_beside;      /* messages travel while the sender computes, unless overlap_p2p is off; else never
                               (Megatron-LM d98e8a64, pipeline_parallel/schedules.py: "Non-interleaved pipeline
                               parallelism does not support overlapping p2p communication") */
    int sends_beside_since; /* year from which trainers let them unasked; 0: always */
    /* The norm of the gradients is checked after the optimizer: ranks begin the next
     * step one after another, as they ended this one (sail-sg's post-validation). */
    bool norm_later;
    /* Of the forwards of all ranks, those that run beside a backward of another microbatch, where messages of experts are
     * to be hidden so: 0..1.  NULL: it has none; `merges`: they run so unasked. */
    double (*merged)(const struct mfu_pipeline_layout *);
    bool merges;
    /* Refuses a layout with a sentence that names one that would work; NULL:
     * whatever pp, vpp and microbatches are. */
    int (*check)(const struct mfu_pipeline_layout *, struct mfu_error *);
    /* Appends the blocks of one rank. */
    void (*order)(const struct mfu_pipeline_layout *, int rank, struct mfu_order *);
};

extern const struct mfu_schedule *const mfu_schedules[];
extern const size_t mfu_schedule_count;
extern const char *const mfu_schedule_names[]; /* in the same order, and NULL */

/* The number of the usual schedule of ranks with so many chunks. */
int mfu_schedule_usual(int vpp);

/* 0, or -1 when the schedule cannot run in this layout; `err` says what could. */
int mfu_pipeline_check(const struct mfu_pipeline_layout *, struct mfu_error *err);

/* Chunks that a rank runs; stages of the model; microbatches that pass each
 * chunk. */
static inline int mfu_pipeline_chunks(const struct mfu_pipeline_layout *l)
{
    return l->schedule->placement == MFU_PLACE_DUAL ? 2 * l->vpp : l->vpp;
}

static inline int mfu_pipeline_stages(const struct mfu_pipeline_layout *l)
{
    return l->pp * l->vpp;
}

static inline int mfu_pipeline_passes(const struct mfu_pipeline_layout *l)
{
    return l->schedule->placement == MFU_PLACE_DUAL ? l->microbatches / 2 : l->microbatches;
}

/* The stage of the model, from 0, that this chunk of this rank is. */
int mfu_pipeline_stage(const struct mfu_pipeline_layout *, int rank, int chunk);

/* Whether what a rank computes at a stage goes to another rank: its output to the next
 * stage (`way` 1), its gradient to the one before (-1). */
bool mfu_pipeline_sends(const struct mfu_pipeline_layout *, int rank, int stage, int way);

#endif
