/*
 * train.c - tokens to days, kilowatt-hours and money.
 */
#include "plan/train.h"

#include <math.h>
#include <stddef.h>

#include "base/error.h"
#include "scenario/setting.h"

#define AT(field) offsetof(struct mfu_train_options, field)
#define YEAR_S (365.25 * 86400) /* Julian */

// clang-format off
const struct mfu_command_option mfu_train_options[] = {
    {"price",        MFU_COUNT,   0, 1e6,            NAN, AT(price),        "of one GPU-hour, in any currency", NULL},
    {"energy_price", MFU_COUNT,   0, 1e6,            NAN, AT(energy_price), "of one kWh", NULL},
    {"pad_fraction", MFU_RATIO,   0, 0.999,          NAN, AT(pad_fraction), "share of the tokens that is padding (by doc_len and packing)", NULL},
    {"acceptance",   MFU_RATIO,   0, 1,              1,   AT(acceptance),   "share of the others that is used in the end", NULL},
    {"mtbf",         MFU_SECONDS, 1, 1000 * YEAR_S,  NAN, AT(mtbf_s),       "time between two failures of one GPU (of several machines: the cluster's)", NULL},
    {"checkpoint",   MFU_SECONDS, 0, 86400,          NAN, AT(checkpoint_s), "time to write a checkpoint, while training waits (by the cluster's storage, else 60 s)", NULL},
    {"interval",     MFU_SECONDS, 1, YEAR_S,         NAN, AT(interval_s),   "time between checkpoints (the best one)", NULL},
    {"restart",      MFU_SECONDS, 0, 30 * 86400,     600, AT(restart_s),    "time from a failure to the next step", NULL},
};
// clang-format on
const size_t mfu_train_option_count = sizeof mfu_train_options / sizeof mfu_train_options[0];

struct mfu_train_options mfu_train_defaults(void)
{
    struct mfu_train_options o;

    mfu_options_begin(mfu_train_options, mfu_train_option_count, &o);
    return o;
}

#define CHECKPOINT_S 60 /* where no storage is known (chosen) */

/* What nobody said, of the machines: how often they fail, and how fast they write fp32
 * weights and the optimizer's states. */
static void ask_cluster(const struct mfu_plan *p, struct mfu_train_options *o)
{
    const struct mfu_cluster *k = p->config.cluster;
    double bytes = 4 * (1 + mfu_optimizers[p->config.optimizer].states) * p->program.params;

    if (k && isnan(o->mtbf_s) && p->config.setting[MFU_S_NODES] > 1 && k->gpu_mtbf_s > 0)
        o->mtbf_s = k->gpu_mtbf_s;
    if (isnan(o->checkpoint_s))
        o->checkpoint_s = k && k->write_bytes_s > 0 ? bytes / k->write_bytes_s : CHECKPOINT_S;
}

/* Share of the time that trains: checkpoints every `interval`, and for every
 * failure half an interval lost and a restart (Young 1974, Daly 2006). */
static int settle_goodput(struct mfu_training *t, struct mfu_error *err)
{
    const struct mfu_train_options *o = &t->options;
    double mtbf_s = o->mtbf_s / t->gpus, lost;

    t->goodput = 1;
    t->interval_s = o->interval_s;
    if (isnan(o->mtbf_s) && isnan(o->interval_s))
        return 0;
    if (isnan(t->interval_s)) /* the best: sqrt(2 checkpoint mtbf) */
        t->interval_s = fmax(1, sqrt(2 * o->checkpoint_s * mtbf_s));
    t->goodput = t->interval_s / (t->interval_s + o->checkpoint_s);
    if (isnan(o->mtbf_s))
        return 0;
    lost = ((t->interval_s + o->checkpoint_s) / 2 + o->restart_s) / mtbf_s;
    if (!(lost < 1))
        return mfu_fail(err, MFU_EINPUT, "mtbf: with a failure every %.3g s (GPUs: %.0f) nothing is left to train with",
                        mtbf_s, t->gpus);
    t->goodput *= 1 - lost;
    return 0;
}

int mfu_train(const struct mfu_plan *p, double tokens, const struct mfu_train_options *options, struct mfu_training *t,
              struct mfu_error *err)
{
    struct mfu_metrics m;
    double scale;

    *t = (struct mfu_training){.options = *options, .tokens = tokens, .gpus = p->config.ranks};
    if (isnan(options->pad_fraction))
        t->options.pad_fraction = 1 - p->config.documents.fill;
    t->useful_fraction = (1 - t->options.pad_fraction) * options->acceptance;
    ask_cluster(p, &t->options);
    if (settle_goodput(t, err) < 0)
        return -1;
    mfu_metrics_of_plan(p, &m);
    t->steps = ceil(tokens / p->step.tokens);
    t->training_s = t->steps * p->step.time_s;
    t->seconds = t->training_s / t->goodput;
    scale = t->seconds / p->step.time_s;
    t->low_s = scale * p->step.low_s;
    t->high_s = scale * p->step.high_s;
    t->failures = isnan(t->options.mtbf_s) ? 0 : t->seconds * t->gpus / t->options.mtbf_s;
    t->gpu_hours = t->seconds / 3600 * t->gpus;
    t->cost = t->gpu_hours * options->price;
    /* While it waits for a checkpoint or a restart a card idles. */
    t->power_w = m.power_w * t->gpus;
    t->energy_j = t->gpus * (m.power_w * t->training_s + m.idle_w * (t->seconds - t->training_s));
    t->energy_cost = t->energy_j / 3.6e6 * options->energy_price;
    t->useful_tokens = tokens * t->useful_fraction;
    t->tokens_per_s = tokens / t->seconds;
    t->useful_tokens_per_s = t->useful_tokens / t->seconds;
    t->useful_per_gpu_hour = t->useful_tokens / t->gpu_hours;
    t->useful_mfu = p->mfu.mfu * t->goodput * t->useful_fraction;
    return 0;
}
