/*
 * observe_mfu.c - what a logged MFU says: whose it is, which size it implies,
 * and how much of this GPU's own peak the run reaches.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "answer/observe/observe.h"
#include "plan/conventions.h"
#include "answer/observe/observe_reading.h"
#include "scenario/setting.h"

#define CONTRADICTS 0.04 /* relative difference of sizes that rounding does not explain (chosen) */
#define UNLIKE 0.3       /* so far from every formula that it is none of them (chosen) */

/* ---- the convention of a logged MFU -------------------------------------- */

/* The stated peak that an MFU is divided by; not above 0: none is stated. */
static double stated_peak_of(const struct mfu_observing *r)
{
    return r->command.peak_flops > 0 ? r->command.peak_flops : r->log.peak_flops;
}

static void find_convention(const struct mfu_observing *r)
{
    struct mfu_observation *o = r->o;
    const struct mfu_log_format *f = o->format;
    struct mfu_convention all[MFU_CONVENTIONS_MAX];
    size_t n = mfu_conventions(&o->plan, all), best = 0;
    double logged = o->figure[MFU_FIGURE_MFU], rate = o->figure[MFU_FIGURE_TOKENS_PER_S] / o->gpus;
    double stated_peak = stated_peak_of(r), least = INFINITY;

    o->peak_flops = NAN;
    if (f && f->convention) {
        o->convention = f->convention;
        o->peak_flops = stated_peak > 0 ? stated_peak : f->peak_flops;
        for (size_t i = 0; i < n && !(o->peak_flops > 0); i++)
            if (strcmp(all[i].name, f->convention) == 0)
                o->peak_flops = all[i].peak_flops;
        return;
    }
    if (isnan(logged))
        return;
    if (isnan(rate))
        rate = o->predicted ? o->plan.step.tokens_per_s / o->plan.config.ranks : (double)NAN;
    for (size_t i = 0; i < n; i++) {
        double peak = stated_peak > 0 ? stated_peak : all[i].peak_flops;
        double off = fabs(log(all[i].flops_per_token * rate / peak / logged));

        if (off < least - 0.01) { /* the first of those that are as near */
            least = off;
            best = i;
        }
    }
    /* Within 5 % a formula is found, within 30 % it is the likeliest (chosen). */
    o->convention_assumed = !(least <= 0.05);
    if (o->convention_assumed && !(least <= UNLIKE))
        best = 0; /* nanoGPT's, which most figures are */
    o->convention = all[best].name;
    o->peak_flops = stated_peak > 0 ? stated_peak : all[best].peak_flops;
}

/* ---- what it implies ------------------------------------------------------ */

/* How much of the attention 12 L d T a convention counts; NAN: it does not
 * count parameters. */
static double attention_counted(const char *name)
{
    static const struct {
        const char *name;
        double share;
    } rows[] = {{"nanogpt", 1}, {"palm", 1}, {"torchtitan", 1}, {"llm.c", 0.5}, {"6n", 0}};

    for (size_t i = 0; name && i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].share;
    return NAN;
}

/* The width with which N(d) = square d^2 + linear d (layers, and tables of the
 * vocabulary) and attention need so many FLOP. */
static void imply_width(const struct mfu_plan *p, const char *convention, double flops, double attention,
                        struct mfu_implied *s)
{
    double d = mfu_config_dim(&p->config, "n_embd"), vocab = mfu_config_dim(&p->config, "vocab_size");
    double linear, square, x;

    if (!(d > 0) || !(vocab > 0))
        return;
    linear = vocab * (mfu_config_dim(&p->config, "tied") > 0 || strcmp(convention, "torchtitan") == 0 ? 1 : 2);
    square = (s->configured - linear * d) / (d * d);
    if (!(square > 0))
        return;
    x = 6 * linear + attention / d; /* 6 square d^2 + x d = flops */
    s->free_n_embd = (sqrt(x * x + 24 * square * flops) - x) / (12 * square);
    s->free_params = square * s->free_n_embd * s->free_n_embd + linear * s->free_n_embd;
}

bool mfu_observe_tokens_known(const struct mfu_observation *o)
{
    static const struct {
        const char *key;
        int id;
    } rows[] = {{"accum", MFU_S_ACCUM}, {"batch", MFU_S_BATCH}};
    const struct mfu_understood *u[2];
    bool known[2] = {false};

    for (int i = 0; i < 2; i++) {
        u[i] = mfu_observe_understood(o, rows[i].key);
        known[i] = u[i] ? !o->format || u[i]->origin != o->format->title : o->plan.scenario.setting_given[rows[i].id];
    }
    return o->tokens_stated || known[0] || (known[1] && !u[0]);
}

/* Step time and MFU beside the plan. */
static void imply(const struct mfu_observing *r)
{
    struct mfu_observation *o = r->o;
    const struct mfu_plan *p = &o->plan;
    double logged = o->figure[MFU_FIGURE_MFU], rate = o->figure[MFU_FIGURE_TOKENS_PER_S] / o->gpus;
    double digit = (r->log.mfu_digit > 0 ? r->log.mfu_digit : r->command.mfu_digit) / logged;
    double flops = o->work * logged * o->peak_flops / rate, attention;
    double share = attention_counted(o->convention);
    struct mfu_implied s = {.factor = NAN, .params = NAN, .configured = NAN, .free_params = NAN, .free_n_embd = NAN};

    o->counted = r->log.flops_per_token > 0 ? r->log.flops_per_token
        : o->convention                     ? mfu_convention_flops_per_token(p, o->convention)
                                            : (double)NAN;
    s.rounding = fmin(0.2, (isfinite(digit) ? digit : 0) * 0.75) + CONTRADICTS;
    s.factor = flops / o->counted;
    if (o->convention && flops > 0 && isfinite(flops) && share >= 0) {
        attention = share * (mfu_convention_flops_per_token(p, "palm") - mfu_convention_flops_per_token(p, "6n"));
        s.configured = (o->counted - attention) / 6;
        s.params = (flops - attention) / 6;
        imply_width(p, o->convention, flops, attention, &s);
        /* What the convention leaves out (an embedding) is part of a size. */
        if (strcmp(o->convention, "torchtitan") == 0) {
            double beside = p->program.params - s.configured;

            s.configured += beside;
            s.params += beside;
            s.free_params += beside;
        }
    }
    s.contradicts = mfu_observe_tokens_known(o)
        && (s.params > 0 ? fabs(s.configured / s.params - 1) : fabs(s.factor - 1)) > s.rounding;
    o->implied = s;
}

/* ---- what explains it ------------------------------------------------------- */

static bool stated_size_fits(const struct mfu_observation *o, double tolerance)
{
    double total = o->plan.program.params;

    return fabs(o->params / total - 1) <= tolerance
        || fabs(o->params / (total - o->plan.program.position_params) - 1) <= tolerance;
}

static bool near(double x, double wanted, double tolerance)
{
    return fabs(x / wanted - 1) <= tolerance;
}

/* Many put their own card's peak where the program has a constant. */
static void take_peak(struct mfu_observing *r)
{
    struct mfu_observation *o = r->o;
    double own = o->plan.mfu.peak_flops, was = o->peak_flops;
    char peak[MFU_QUANTITY_MAX], constant[MFU_QUANTITY_MAX];

    if (!o->implied.contradicts || !o->format || !o->format->convention || stated_peak_of(r) > 0
        || !near(o->implied.factor * own / was, 1, 0.03))
        return;
    o->peak_flops = own;
    o->convention_assumed = true;
    imply(r);
    mfu_observe_note(o, "the MFU fits this card's own peak, %s, and not the %s that %s divides by",
                     mfu_quantity_format(peak, own, MFU_FLOP_PER_S), mfu_quantity_format(constant, was, MFU_FLOP_PER_S),
                     o->format->title);
}

/* A whole number of GPUs that share accum explains MFU, time and the stated size
 * together, and their number is not stated. */
static bool take_gpus(struct mfu_observing *r)
{
    struct mfu_observation *o = r->o;
    const struct mfu_understood *accum = mfu_observe_understood(o, "accum");
    double gpus = round(1 / o->implied.factor);

    if (!o->implied.contradicts || !o->format || !o->format->accum_of_all || !accum || !stated_size_fits(o, 0.02)
        || mfu_observe_understood(o, "gpus") || r->scenario.setting_given[MFU_S_GPUS] || !(gpus >= 2) || !(gpus <= 4096)
        || !near(o->implied.factor * gpus, 1, 0.02) || fmod(accum->value, gpus) != 0)
        return false;
    mfu_observe_derive(r, "accum", accum->value / gpus);
    mfu_observe_derive(r, "gpus", gpus);
    o->gpus = gpus;
    mfu_observe_note(o, "step time, MFU and size fit %.0f GPUs, so that many are planned: state gpus if it is wrong",
                     gpus);
    return true;
}

/* Nobody has said how wide the model is, and what was measured does: widths are
 * multiples of 64.  A size that the log states must be that width's. */
static bool take_width(struct mfu_observing *r)
{
    struct mfu_observation *o = r->o;
    double width = o->implied.free_n_embd, n_embd = 64 * round(width / 64), was;
    struct mfu_scenario before = r->scenario;
    int n_understood = o->n_understood;
    bool size_stated = !isnan(o->params) && isnan(r->command.params);

    if (!o->implied.contradicts || mfu_observe_understood(o, "n_embd") || o->plan.scenario.model_given
        || !(n_embd >= 64) || !near(width, n_embd, 0.02) || fabs(width - n_embd) > 8
        || (size_stated && stated_size_fits(o, 0.02)))
        return false;
    was = mfu_config_dim(&o->plan.config, "n_embd");
    mfu_observe_derive(r, "n_embd", n_embd);
    if (mfu_observe_predict(r, NULL) == 0 && (!size_stated || stated_size_fits(o, 0.03))
        && near(mfu_config_dim(&o->plan.config, "n_embd"), n_embd, 1e-9)) {
        mfu_observe_note(o, "n_embd %.0f follows from step time and MFU; the scenario has %.0f", n_embd, was);
        return true;
    }
    r->scenario = before;
    o->n_understood = n_understood;
    mfu_observe_predict(r, NULL);
    return false;
}

/* ---- against this card's own peak ------------------------------------------- */

/* From time and configuration; from the logged one where only that is known. */
static void own_mfu(struct mfu_observation *o)
{
    const struct mfu_plan *p = &o->plan;
    double ours = p->mfu.model_flops / p->step.tokens, rate = o->figure[MFU_FIGURE_TOKENS_PER_S];
    double logged = o->figure[MFU_FIGURE_MFU] * o->peak_flops / p->mfu.peak_flops * ours / o->counted;

    o->mfu =
        rate > 0 && (mfu_observe_tokens_known(o) || isnan(logged)) ? ours * rate / o->gpus / p->mfu.peak_flops : logged;
    if (o->model_unknown)
        o->mfu = NAN;
}

/* A configuration that is not the run's predicts another run. */
static void judge(struct mfu_observation *o)
{
    const struct mfu_implied *s = &o->implied;
    char stated[MFU_QUANTITY_MAX], planned[MFU_QUANTITY_MAX];
    bool by_formula = o->format && o->format->convention, fits = s->factor > 0 && !s->contradicts;

    if (!o->predicted)
        return;
    if (s->contradicts && (by_formula || !(fabs(log(s->factor)) <= UNLIKE)))
        snprintf(o->why_not, sizeof o->why_not,
                 "the time and the MFU of the log cannot belong to this configuration on this GPU");
    else if (!mfu_observe_tokens_known(o) && fabs(log(s->factor)) > s->rounding)
        snprintf(o->why_not, sizeof o->why_not,
                 "nobody states batch and accum: step time and MFU imply %.4g tokens per step for this model, "
                 "%.0f are assumed",
                 o->tokens_per_step * s->factor, o->tokens_per_step);
    else if (!mfu_observe_tokens_known(o) && o->figure[MFU_FIGURE_TIME] > 0 && isnan(s->factor))
        snprintf(o->why_not, sizeof o->why_not,
                 "nobody states batch and accum: a step may be of any number of tokens, not only %.0f",
                 o->tokens_per_step);
    else if (!isnan(o->params) && !stated_size_fits(o, 0.05) && !(fits && mfu_observe_tokens_known(o)))
        snprintf(o->why_not, sizeof o->why_not,
                 "%s parameters are stated, the configuration has %s: is a dimension missing?",
                 mfu_quantity_format(stated, o->params, MFU_PARAMS),
                 mfu_quantity_format(planned, o->plan.program.params, MFU_PARAMS));
    else if ((o->batch_open = o->batch_guessed && (!o->format || o->format->fallback)))
        snprintf(o->why_not, sizeof o->why_not,
                 "nobody states batch: a step has %.0f tokens, and how many of them at once decides how long "
                 "it takes",
                 o->tokens_per_step);
    o->predicted = !o->why_not[0];
}

int mfu_observe_own_mfu(struct mfu_observing *r, struct mfu_error *err)
{
    struct mfu_observation *o = r->o;

    if (!isnan(o->figure[MFU_FIGURE_MFU]) || (o->format && o->format->convention))
        find_convention(r);
    imply(r);
    take_peak(r);
    if (take_gpus(r) || take_width(r)) {
        if (mfu_observe_predict(r, err) < 0)
            return -1;
        find_convention(r);
        imply(r);
    }
    own_mfu(o);
    judge(o);
    return 0;
}
