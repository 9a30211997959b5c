/*
 * train.c - a whole run: time, money, energy, and what comes of it.
 */
#include <math.h>

#include "base/quantity.h"
#include "plan/train.h"
#include "report/report.h"
#include "report/text/text.h"
#include "base/short.h"

#define INDENT 9

/* What is counted: tokens, or samples of so many. */
struct counted {
    const char *name;
    double tokens;
};

static struct counted counted_in(const struct mfu_plan *p)
{
    const char *samples = mfu_model_samples(p->config.model);

    return samples ? (struct counted){samples, p->config.seq} : (struct counted){"tokens", 1};
}

static void usefulness(FILE *out, const struct mfu_term *t, const struct mfu_plan *p, const struct mfu_training *r)
{
    struct mfu_flow f = mfu_flow_start(out, t, "useful", INDENT);
    struct counted u = counted_in(p);

    mfu_flow_piece(&f, MFU_STRONG, "%s %s", Q(r->useful_tokens / u.tokens, MFU_PARAMS), u.name);
    if (r->useful_fraction < 1)
        mfu_flow_piece(&f, MFU_PLAIN, "%s: %s padding, %s of the rest used", P(r->useful_fraction),
                       P(r->options.pad_fraction), P(r->options.acceptance));
    mfu_flow_piece(&f, MFU_PLAIN, "%s per GPU-hour", Q(r->useful_per_gpu_hour / u.tokens, MFU_PARAMS));
    mfu_flow_piece(&f, MFU_PLAIN, "%s/s", Q(r->useful_tokens_per_s / u.tokens, MFU_COUNT));
    mfu_flow_piece(&f, MFU_PLAIN, "MFU of the useful %s: %s", u.name, P(r->useful_mfu));
    mfu_flow_end(&f);
}

static void goodput(FILE *out, const struct mfu_term *t, const struct mfu_training *r)
{
    struct mfu_flow f;

    if (r->goodput == 1)
        return;
    f = mfu_flow_start(out, t, "goodput", INDENT);
    mfu_flow_piece(&f, MFU_STRONG, "%s", P(r->goodput));
    mfu_flow_piece(&f, MFU_PLAIN, "a checkpoint every %s", Q(r->interval_s, MFU_SECONDS));
    mfu_flow_piece(&f, MFU_PLAIN, "%s to write it", Q(r->options.checkpoint_s, MFU_SECONDS));
    if (r->failures > 0) {
        mfu_flow_piece(&f, MFU_PLAIN, "%.1f failures expected", r->failures);
        mfu_flow_piece(&f, MFU_PLAIN, "one every %s", Q(r->seconds / r->failures, MFU_SECONDS));
        mfu_flow_piece(&f, MFU_FAINT, "one GPU in %s", Q(r->options.mtbf_s, MFU_SECONDS));
    }
    mfu_flow_end(&f);
}

/* Cents up to a hundred thousand, then 9.596 M. */
static const char *money(char text[MFU_QUANTITY_MAX], double amount)
{
    if (amount >= 1e5)
        return mfu_quantity_format(text, amount, MFU_COUNT);
    snprintf(text, MFU_QUANTITY_MAX, "%.2f", amount);
    return text;
}

static void put_energy(struct mfu_flow *f, double energy_j)
{
    double kwh = energy_j / 3.6e6;

    mfu_flow_piece(f, MFU_STRONG, "%.4g %s",
                   kwh < 1e4       ? kwh
                       : kwh < 1e6 ? kwh / 1e3
                                   : kwh / 1e6,
                   kwh < 1e4       ? "kWh"
                       : kwh < 1e6 ? "MWh"
                                   : "GWh");
}

void mfu_text_training(FILE *out, const struct mfu_term *t, const struct mfu_plan *p, const struct mfu_training *r)
{
    struct mfu_flow f = mfu_flow_start(out, t, "time", INDENT);
    char text[MFU_QUANTITY_MAX];
    struct counted u = counted_in(p);

    mfu_flow_piece(&f, MFU_STRONG, "%s", Q(r->seconds, MFU_SECONDS));
    mfu_flow_piece(&f, MFU_PLAIN, "90 %%: %s to %s", Q(r->low_s, MFU_SECONDS), Q(r->high_s, MFU_SECONDS));
    mfu_flow_piece(&f, MFU_PLAIN, "%s steps of %s for %s %s", Q(r->steps, MFU_COUNT), Q(p->step.time_s, MFU_SECONDS),
                   Q(r->tokens / u.tokens, MFU_PARAMS), u.name);
    if (!p->memory.fits)
        mfu_flow_piece(&f, MFU_BAD, "does not fit the card");
    mfu_flow_end(&f);
    goodput(out, t, r);
    f = mfu_flow_start(out, t, "cost", INDENT);
    mfu_flow_piece(&f, MFU_STRONG, "%s GPU-hours", Q(r->gpu_hours, MFU_COUNT));
    if (!isnan(r->cost)) {
        mfu_flow_piece(&f, MFU_STRONG, "%s", money(text, r->cost));
        mfu_flow_piece(&f, MFU_PLAIN, "%.4g per million useful %s", r->cost / r->useful_tokens * u.tokens * 1e6,
                       u.name);
    } else
        mfu_flow_piece(&f, MFU_FAINT, "train TOKENS price 2.50 for money");
    mfu_flow_end(&f);
    f = mfu_flow_start(out, t, "energy", INDENT);
    if (isnan(r->energy_j)) {
        mfu_flow_piece(&f, MFU_PLAIN, "unknown: so is what this card takes");
    } else {
        put_energy(&f, r->energy_j);
        mfu_flow_piece(&f, MFU_PLAIN, "at about %s", Q(r->power_w, MFU_WATTS));
    }
    if (!isnan(r->energy_cost))
        mfu_flow_piece(&f, MFU_PLAIN, "%s for it", money(text, r->energy_cost));
    if (!isnan(r->energy_j))
        mfu_flow_piece(&f, MFU_FAINT, "GPUs only");
    mfu_flow_end(&f);
    usefulness(out, t, p, r);
}
