/*
 * observe_predict.c - the prediction of what was run, and every figure beside it.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "answer/observe/observe.h"
#include "plan/metrics.h"
#include "answer/observe/observe_reading.h"
#include "base/error.h"
#include "scenario/setting.h"

/* ---- prediction ----------------------------------------------------------- */

/* A plan without what is parallel: what it cannot predict still has FLOP to count. */
static int plan_one(struct mfu_observing *r, const struct mfu_error *why, struct mfu_error *err)
{
    static const int parallel[] = {MFU_S_GPUS, MFU_S_NODES, MFU_S_DP,  MFU_S_TP, MFU_S_PP,   MFU_S_VPP,
                                   MFU_S_CP,   MFU_S_EP,    MFU_S_ETP, MFU_S_SP, MFU_S_ZERO, MFU_S_DP_SHARD};
    struct mfu_scenario one = r->scenario;

    for (size_t i = 0; i < sizeof parallel / sizeof parallel[0]; i++) {
        one.setting[parallel[i]] = mfu_settings[parallel[i]].initial;
        one.setting_given[parallel[i]] = false;
    }
    if (memcmp(&one, &r->scenario, sizeof one) != 0 && mfu_plan_make(&r->o->plan, &one, NULL) == 0)
        return 0;
    if (err)
        *err = *why;
    return -1;
}

int mfu_observe_predict(struct mfu_observing *r, struct mfu_error *err)
{
    struct mfu_observation *o = r->o;
    struct mfu_error why = {0};

    if (r->log.unplanned[0] && !o->why_not[0])
        snprintf(o->why_not, sizeof o->why_not, "%s", r->log.unplanned);
    if (o->model_unknown && !o->why_not[0])
        snprintf(o->why_not, sizeof o->why_not, "nobody says which model was trained: choose it first (model NAME)");
    o->predicted =
        mfu_plan_make(&o->plan, &r->scenario, &why) == 0 && mfu_simulate(&o->plan, false, &o->simulation, &why) == 0;
    if (!o->predicted && plan_one(r, &why, err) < 0)
        return -1;
    if (!o->predicted)
        snprintf(o->why_not, sizeof o->why_not, "%.250s", why.text);
    o->predicted = !o->why_not[0];
    return 0;
}

static void compare(struct mfu_observation *o, const char *name, enum mfu_dim dim, double measured, double predicted,
                    double low, double high)
{
    if (!isnan(measured) && o->n_compared < (int)(sizeof o->compared / sizeof o->compared[0]))
        o->compared[o->n_compared++] = (struct mfu_compared){name, dim, measured, predicted, low, high};
}

void mfu_observe_compare(struct mfu_observation *o)
{
    const struct mfu_plan *p = &o->plan;
    const struct mfu_step_answer *s = &p->step;
    const double *f = o->figure;
    struct mfu_metrics m;
    double predicted[MFU_FIGURE_COUNT], own;

    for (int i = 0; i < MFU_FIGURE_COUNT; i++)
        predicted[i] = NAN;
    if (o->predicted) {
        mfu_metrics_of_plan(p, &m);
        predicted[MFU_FIGURE_ALLOCATED] = p->memory.peak.bytes;
        predicted[MFU_FIGURE_RESERVED] = p->memory.reserved_bytes;
        predicted[MFU_FIGURE_SMI_USED] = p->memory.smi_bytes + p->config.setting[MFU_S_VRAM_RESERVED];
        predicted[MFU_FIGURE_UTILIZATION] = m.gpu_utilization_high;
        predicted[MFU_FIGURE_SM_ACTIVE] = m.sm_active;
        predicted[MFU_FIGURE_TENSOR_ACTIVE] = m.tensor_active;
        predicted[MFU_FIGURE_DRAM_ACTIVE] = m.dram_active;
        predicted[MFU_FIGURE_POWER] = m.power_w;
        predicted[MFU_FIGURE_COMMUNICATION] = s->communication_exposed_s;
        predicted[MFU_FIGURE_LOADER] = 0;
        compare(o, "step time", MFU_SECONDS, f[MFU_FIGURE_TIME], s->time_s, s->low_s, s->high_s);
        compare(o, "tokens/s", MFU_COUNT, f[MFU_FIGURE_TOKENS_PER_S], s->tokens_per_s, s->tokens / s->high_s,
                s->tokens / s->low_s);
    } else {
        compare(o, "step time", MFU_SECONDS, f[MFU_FIGURE_TIME], NAN, NAN, NAN);
        compare(o, "tokens/s", MFU_COUNT, f[MFU_FIGURE_TOKENS_PER_S], NAN, NAN, NAN);
    }
    if (o->convention && o->peak_flops > 0) {
        double gpus = fmax(p->config.ranks, 1);
        double mfu = o->predicted ? o->counted * s->tokens_per_s / gpus / o->peak_flops : (double)NAN;

        compare(o, "MFU as logged", MFU_RATIO, f[MFU_FIGURE_MFU], mfu, mfu * s->time_s / s->high_s,
                mfu * s->time_s / s->low_s);
    }
    own = o->predicted ? p->mfu.mfu : (double)NAN;
    compare(o, "MFU, own peak", MFU_RATIO, o->mfu, own, own * s->time_s / s->high_s, own * s->time_s / s->low_s);
    if (o->convention && !isnan(f[MFU_FIGURE_FLOPS])) {
        double flops = o->counted * s->tokens_per_s / fmax(p->config.ranks, 1);

        predicted[MFU_FIGURE_FLOPS] = o->predicted ? flops : (double)NAN;
    }
    for (int i = MFU_FIGURE_FLOPS; i < MFU_FIGURE_COUNT; i++)
        if (i != MFU_FIGURE_LOSS)
            compare(o, mfu_figure_rows[i].name, mfu_figure_rows[i].dim, f[i], predicted[i], NAN, NAN);
}
