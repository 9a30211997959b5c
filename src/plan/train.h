/*
 * train.h - a whole training run: how long, how dear, and for what.
 *
 * The tokens of a run are those that go through the model.  Padding and data
 * that is thrown away later are among them; what is left is useful.  Failures
 * cost the work since the last checkpoint, and checkpoints cost time.
 */
#ifndef MFU_TRAIN_H
#define MFU_TRAIN_H

#include "plan/metrics.h"
#include "plan/option.h"

/* Options; NAN where nothing was said and nothing follows. */
struct mfu_train_options {
    double price;        /* of one GPU-hour */
    double energy_price; /* of one kWh */
    double pad_fraction; /* of the tokens: padding */
    double acceptance;   /* of the rest: what is used in the end */
    double mtbf_s;       /* of one GPU, between failures */
    double checkpoint_s; /* to write one, while training waits */
    double interval_s;   /* between checkpoints; NAN: the best one */
    double restart_s;    /* from a failure to the next step */
};

extern const struct mfu_command_option mfu_train_options[];
extern const size_t mfu_train_option_count;
struct mfu_train_options mfu_train_defaults(void);

struct mfu_training {
    struct mfu_train_options options;
    double tokens, useful_tokens, useful_fraction;
    double steps, gpus;
    double training_s;                   /* of the steps alone */
    double seconds, low_s, high_s;       /* with checkpoints and failures; 90 % of the plan */
    double goodput;                      /* training_s of seconds */
    double interval_s, failures;         /* between checkpoints; expected */
    double gpu_hours, cost, energy_cost; /* cost: NAN without a price */
    double power_w, energy_j;            /* of all GPUs */
    double tokens_per_s, useful_tokens_per_s, useful_per_gpu_hour, useful_mfu;
};

/* So many tokens, trained so: what the figures of any plan are about. */
struct mfu_run {
    double tokens;
    struct mfu_train_options options;
};

/* Of a plan that was simulated.  Refuses failures that leave no time to train. */
int mfu_train(const struct mfu_plan *, double tokens, const struct mfu_train_options *, struct mfu_training *,
              struct mfu_error *err);

#endif
