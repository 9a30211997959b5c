/*
 * layouts.c - what `search layout` varies: how the GPUs that there are share the work.
 *
 * GPUs and tokens of a step stay.  Tensor, pipeline and context parallelism, virtual
 * stages, ZeRO, micro-batch and checkpointing take all their usual values; data
 * parallelism and accumulation follow.  Whatever contradicts itself is refused as `set`
 * would, so that nothing here knows what divides what.
 */
#include <math.h>
#include <stdio.h>

#include "answer/search/sweep.h"
#include "base/error.h"
#include "scenario/setting.h"

#define MOST_STAGES 64 /* and the other bounds: beyond them nobody trains (chosen) */
#define MOST_CHUNKS 8
#define MOST_BATCH 8
#define LONG_SEQUENCE 16384 /* from here on it is split, too */

static struct mfu_axis *add_axis(struct mfu_sweep *s, enum mfu_setting_id id, struct mfu_error *err)
{
    if (s->n_axes == MFU_AXES) {
        mfu_fail(err, MFU_EINPUT, "more than %d keys", MFU_AXES);
        return NULL;
    }
    mfu_axis_start(&s->axes[s->n_axes], s->scenario, (struct mfu_key){MFU_KEY_SETTING, id});
    return &s->axes[s->n_axes++];
}

/* Values up to `most` that `filter` takes: 0, all; 2, powers of two; else those that divide it. */
static int add(struct mfu_sweep *s, enum mfu_setting_id id, double most, double filter, struct mfu_error *err)
{
    struct mfu_axis *a = add_axis(s, id, err);

    if (!a)
        return -1;
    for (double x = mfu_settings[id].least; x <= most; x += filter == 2 ? x : 1)
        if ((filter == 0 || filter == 2 || fmod(filter, x) == 0) && mfu_axis_add(a, x, err) < 0)
            return -1;
    return 0;
}

int mfu_sweep_layouts(struct mfu_sweep *s, struct mfu_scenario *own, struct mfu_error *err)
{
    static const enum mfu_setting_id free_keys[] = {MFU_S_TP,
                                                    MFU_S_PP,
                                                    MFU_S_VPP,
                                                    MFU_S_CP,
                                                    MFU_S_EP,
                                                    MFU_S_ETP,
                                                    MFU_S_DP,
                                                    MFU_S_ZERO,
                                                    MFU_S_DP_SHARD,
                                                    MFU_S_ACCUM,
                                                    MFU_S_CHECKPOINT,
                                                    MFU_S_BATCH,
                                                    MFU_S_SP,
                                                    MFU_S_FIRST_STAGE_LESS,
                                                    MFU_S_LAST_STAGE_LESS};
    struct mfu_config now;
    double gpus, sequences, unit_gpus, experts;
    struct mfu_axis *accum, *etp;
    char text[64];

    if (mfu_scenario_resolve(s->scenario, &now, err) < 0)
        return -1;
    gpus = now.ranks;
    sequences = now.batch * now.accum * now.setting[MFU_S_DP];
    experts = mfu_config_dim(&now, "n_experts");
    unit_gpus = mfu_config_unit_gpus(&now);
    *own = *s->scenario;
    for (size_t i = 0; i < sizeof free_keys / sizeof free_keys[0]; i++) {
        own->setting_given[free_keys[i]] = false;
        own->setting[free_keys[i]] = mfu_settings[free_keys[i]].initial;
    }
    own->setting[MFU_S_GPUS] = gpus;
    own->setting_given[MFU_S_GPUS] = true;
    own->setting[MFU_S_SP] = 1; /* where tensor parallelism is, which costs nothing else */
    own->setting_given[MFU_S_SP] = gpus > 1;
    s->scenario = own;
    if (add(s, MFU_S_BATCH, fmin(MOST_BATCH, sequences), 2, err) < 0 || !(accum = add_axis(s, MFU_S_ACCUM, err))
        || add(s, MFU_S_TP, fmin(unit_gpus, gpus), 2, err) < 0
        || add(s, MFU_S_PP, fmin(fmin(gpus, MOST_STAGES), mfu_config_dim(&now, "n_layer")), gpus, err) < 0
        || add(s, MFU_S_VPP, gpus > 1 ? MOST_CHUNKS : 1, 2, err) < 0
        || (now.seq >= LONG_SEQUENCE && add(s, MFU_S_CP, fmin(unit_gpus, gpus), 2, err) < 0)
        || (experts > 1
            && (add(s, MFU_S_EP, fmin(experts, gpus), 2, err) < 0 || !(etp = add_axis(s, MFU_S_ETP, err))
                || mfu_axis_add(etp, 1, err) < 0
                || mfu_axis_add_text(etp, "max(tp, 2)", err) < 0)) /* whole experts, or split as all else */
        || add(s, MFU_S_ZERO, mfu_settings[MFU_S_ZERO].most, 0, err) < 0
        || add(s, MFU_S_CHECKPOINT, MFU_FULL, 0, err) < 0)
        return -1;
    snprintf(text, sizeof text, "%.0f/(batch*dp)", sequences);
    return mfu_axis_add_text(accum, text, err);
}
