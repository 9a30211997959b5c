/*
 * observe_mfu.c - what a logged MFU says: whose it is, which size it implies,
 * and how much of this GPU's own peak the run reaches.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "answer/conventions.h"
#include "answer/observe_reading.h"

/* ---- the convention of a logged MFU -------------------------------------- */

static void find_convention(const struct mfu_observing *r)
{
    struct mfu_observation *o = r->o;
    const struct mfu_log_format *f = o->format;
    struct mfu_convention all[MFU_CONVENTIONS_MAX];
    size_t n = mfu_conventions(&o->plan, all), best = 0;
    double logged = o->figure[MFU_FIGURE_MFU], gpus = r->scenario.setting[MFU_S_GPUS];
    double rate = o->figure[MFU_FIGURE_TOKENS_PER_S] / gpus, stated_peak = NAN, least = INFINITY;

    stated_peak = r->command.peak_flops > 0 ? r->command.peak_flops : r->log.peak_flops;
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
    if (o->convention_assumed && !(least <= 0.3))
        best = 0; /* nanoGPT's, which most figures are */
    o->convention = all[best].name;
    o->peak_flops = stated_peak > 0 ? stated_peak : all[best].peak_flops;
}

/* Nobody has said how wide the model is, and what was measured does: widths are
 * multiples of 64. */
static bool take_width(struct mfu_observing *r)
{
    double width = mfu_observe_width(r->o), n_embd = 64 * round(width / 64);
    struct mfu_scenario before = r->scenario;
    struct mfu_config c;

    if (!(n_embd >= 64) || fabs(width / n_embd - 1) > 0.02)
        return false;
    mfu_observe_derive(r, "n_embd", n_embd);
    if (mfu_scenario_resolve(&r->scenario, &c, NULL) < 0) {
        r->scenario = before;
        r->o->n_understood--;
        return false;
    }
    mfu_observe_note(r->o, "n_embd %.0f follows from step time and MFU; the scenario has %.0f", n_embd,
                     mfu_config_dim(&r->o->plan.config, "n_embd"));
    return true;
}

/* Against the GPU's own peak: from the logged one, else from the time. */
static void own_mfu(const struct mfu_observing *r)
{
    struct mfu_observation *o = r->o;
    const struct mfu_plan *p = &o->plan;
    double ours = p->mfu.model_flops / p->step.tokens, gpus = r->scenario.setting[MFU_S_GPUS];

    if (o->convention && o->peak_flops > 0 && !isnan(o->figure[MFU_FIGURE_MFU]))
        o->mfu = o->figure[MFU_FIGURE_MFU] * o->peak_flops / p->mfu.peak_flops * ours
            / mfu_convention_flops_per_token(p, o->convention);
    else
        o->mfu = ours * o->figure[MFU_FIGURE_TOKENS_PER_S] / gpus / p->mfu.peak_flops;
}

void mfu_observe_own_mfu(struct mfu_observing *r)
{
    struct mfu_observation *o = r->o;

    if (!isnan(o->figure[MFU_FIGURE_MFU]) || (o->format && o->format->convention))
        find_convention(r);
    if (take_width(r))
        mfu_observe_predict(r, NULL);
    own_mfu(r);
}
