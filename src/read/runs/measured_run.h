/*
 * measured_run.h - one row of a table of measured runs, as a scenario.
 */
#ifndef MFU_MEASURED_RUN_H
#define MFU_MEASURED_RUN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/csv.h"
#include "scenario/scenario.h"

struct mfu_catalog;
struct mfu_error;
struct mfu_gpu;
struct mfu_plan;

/* What a row leaves open: a key, and the values beside the scenario's own that the run may have had. */
struct mfu_open_value {
    const char *value;
    double
        surprise; /* -log of how much less usual it is than the scenario's own; INFINITY: it widens the interval alone */
};
#define MFU_OPEN_VALUES 7
struct mfu_open {
    const char *column, *key;
    struct mfu_open_value values[MFU_OPEN_VALUES + 1]; /* ends with NULL */
    const char *with_key, *with_value;                 /* that goes with each of them; NULL: none */
    const struct mfu_gpu *card;                        /* the value's, where the key is the card */
    bool for_speed; /* each is chosen where it is faster by enough, else where it fits */
};
#define MFU_OPEN_KEYS 15 /* the most of one row */

#define MFU_ASSUMED_TEXT 4096 /* of all that a row leaves open, with what its cells say */

struct mfu_measured_run {
    struct mfu_scenario scenario;
    struct mfu_cluster machine; /* that the scenario has as its cluster, where no file describes it */
    struct mfu_open open[MFU_OPEN_KEYS];
    int n_open;
    enum { MFU_CARD_STATED, MFU_CARD_OF_SIZE, MFU_CARD_OPEN } card; /* named, known by its memory alone, or unknown */
    bool layout_open;                /* it is not stated how several GPUs share the model */
    bool batch_open;                 /* the micro-batch is not stated and does not follow: the scenario's is 1 */
    double rank_batch;               /* then, sequences of a rank's step; NAN: not stated */
    bool fill_open;                  /* nor how many microbatches fill the pipeline */
    bool gpus_open;                  /* nor how many there are, and no rate of all: the scenario's is 1 */
    bool share_open;                 /* then, nor of the micro-batch, but a step's sequences of all */
    int seq_dim;                     /* the model's dimension of their length, where that is open; else -1 */
    char half_layers[8];             /* of a stage */
    bool shape_alone;                /* nothing is known of the model but its shape */
    bool other_compiler;             /* XLA, which merges kernels in a way of its own */
    bool memory_apart;               /* how the program lays out memory is not modelled */
    bool other_program;              /* nothing is known of the software that is named */
    bool whole;                      /* the time is a share of all the hours that a training took */
    bool by_rate;                    /* step_s follows from a rate: a larger batch takes longer */
    double step_s;                   /* NAN: not stated and does not follow */
    double mfu, hfu, mfu_peak_flops; /* NAN: not stated */
    double rate_flops;               /* of one GPU, as the convention counts; NAN: not stated */
    double rate_tokens;              /* of one GPU in a second; NAN: not stated and does not follow */
    bool layers_open;                /* how many layers the model has is not stated, but its name */
    double least_count, most_count;  /* what other conventions count beside it, where none is stated; else 1 */
    double rounding; /* relative, of what was measured, where its cell says that it is rounded; 0: no more than usual */
    double params_m, trainable_m; /* millions, NAN: not stated */
    double seq;                   /* tokens of a sequence */
    char mfu_convention[64];
    double allocated_bytes, reserved_bytes;
    bool reserved_is_smi;           /* the figure is nvidia-smi's */
    bool of_last_rank;              /* the memory is the last rank's, which has a pipeline's last stage */
    int ran;                        /* 1, 0 (out of memory), -1: not stated */
    bool limit;                     /* seq is the longest that fits */
    bool targets_open;              /* what adapters sit on is not stated, */
    bool size_open;                 /* nor their size */
    size_t forms_tried;             /* of the method's other forms, */
    int named_method;               /* enum mfu_adapter_method, which the row names */
    bool trains_other;              /* skipped: the row states another number of weights that train */
    char assumed[MFU_ASSUMED_TEXT]; /* what was filled in or mapped */
    char skipped[200];              /* why it cannot be modelled, or "" */
};

/* Refuses a table that has no column of a run: another separator, another table. */
int mfu_measured_columns(const struct mfu_csv *, const char *path, struct mfu_error *err);

/* Reads row `row`.  Never fails: what cannot be expressed is in `skipped`. */
void mfu_measured_run(struct mfu_catalog *, const struct mfu_csv *, size_t row, struct mfu_measured_run *);

/* Notes where the planned model has another size than the row says, and skips the row where other weights train. */
void mfu_measured_check_size(struct mfu_measured_run *, double params, double trainable);

/* Where other weights train than `trainable` and the adapters' size or targets are not stated: takes the size that trains
 * as many, or the i-th of the usual targets, so that the run can be planned again; false behind the last. */
bool mfu_measured_usual_targets(struct mfu_measured_run *, size_t i, double trainable);

/* Whether the plan's model computes for a token what the row's FLOP/s and tokens say together, by any convention.  `off`: how
 * far the nearest is, as a logarithm; NAN: the row does not state both. */
bool mfu_measured_counts(const struct mfu_plan *, const struct mfu_measured_run *, double *off);

/* The stated step time, else that behind the stated MFU or FLOP/s; `why` says which peak was taken, or, with
 * NAN, why none follows ("": no MFU is stated). */
double mfu_measured_step_s(const struct mfu_plan *, struct mfu_measured_run *, char *why, size_t size);

#endif
