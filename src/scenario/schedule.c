/* schedule.c - names of schedules, what they ask for, and orders as blocks. */
#include "scenario/schedule.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/error.h"

const char *const mfu_pass_names[MFU_PASS_COUNT] = {
    [MFU_PASS_F] = "forward",
    [MFU_PASS_B] = "gradient of the input",
    [MFU_PASS_W] = "gradients of the weights",
    [MFU_PASS_BW] = "backward",
    [MFU_PASS_FBW] = "forward merged with backward",
};

int mfu_schedule_usual(int vpp)
{
    for (size_t i = 0; i < mfu_schedule_count; i++)
        if (mfu_schedules[i]->usual && vpp >= mfu_schedules[i]->least_vpp && vpp <= mfu_schedules[i]->most_vpp)
            return (int)i;
    return 0;
}

int mfu_pipeline_check(const struct mfu_pipeline_layout *l, struct mfu_error *err)
{
    const struct mfu_schedule *s = l->schedule;

    if (l->pp < 1 || l->microbatches < 1 || l->vpp < 1 || l->group < 0)
        return mfu_fail(err, MFU_EINPUT, "pp %d, vpp %d, %d microbatches: each must be 1 or more", l->pp, l->vpp,
                        l->microbatches);
    if (l->vpp > MFU_MOST_CHUNKS || l->pp > MFU_MOST_STAGES / l->vpp || l->microbatches > MFU_MOST_PASSES / l->vpp)
        return mfu_fail(err, MFU_EINPUT,
                        "pp %d, vpp %d, %d microbatches: at most %d stages and %d microbatches times vpp", l->pp,
                        l->vpp, l->microbatches, MFU_MOST_STAGES, MFU_MOST_PASSES);
    if (l->vpp < s->least_vpp && s->least_vpp == s->most_vpp)
        return mfu_fail(err, MFU_EINPUT, "schedule %s gives each rank %d chunks of the model: vpp %d", s->name,
                        s->least_vpp, s->least_vpp);
    if (l->vpp < s->least_vpp)
        return mfu_fail(err, MFU_EINPUT,
                        "schedule %s needs at least %d chunks of the model per rank: vpp %d or more, or "
                        "schedule 1f1b",
                        s->name, s->least_vpp, s->least_vpp);
    if (l->vpp > s->most_vpp)
        return mfu_fail(err, MFU_EINPUT,
                        "schedule %s gives each rank %d chunk%s of the model, not %d: vpp %d, or schedule "
                        "interleaved",
                        s->name, s->most_vpp, s->most_vpp > 1 ? "s" : "", l->vpp, s->most_vpp);
    return s->check ? s->check(l, err) : 0;
}

int mfu_pipeline_stage(const struct mfu_pipeline_layout *l, int rank, int chunk)
{
    if (l->schedule->placement == MFU_PLACE_LOOP)
        return chunk * l->pp + rank;
    return chunk == 0 ? rank : mfu_pipeline_stages(l) - 1 - rank;
}

void mfu_order_lengthen(struct mfu_order *o, const uint16_t *body, int length)
{
    o->failed |= !MFU_ROOM(o->actions, o->n_actions + length, o->room_actions);
    if (o->failed)
        return;
    memcpy(o->actions + o->n_actions, body, (size_t)length * sizeof *body);
    o->n_actions += length;
    o->blocks[o->n_blocks - 1].length += length;
}

void mfu_order_add(struct mfu_order *o, int repeat, bool steady, const uint16_t *body, int length)
{
    struct mfu_block *last = o->n_blocks > o->rank_block ? &o->blocks[o->n_blocks - 1] : NULL;

    if ((repeat <= 0 || length == 0) && !steady)
        return;
    if (!last || last->repeat != 1 || last->phase || repeat != 1 || steady) {
        o->failed |= !MFU_ROOM(o->blocks, o->n_blocks + 1, o->room_blocks);
        if (o->failed)
            return;
        o->blocks[o->n_blocks++] = (struct mfu_block){
            .first = o->n_actions, .repeat = repeat > 0 ? repeat : 0, .phase = steady ? ++o->phases : 0};
    }
    mfu_order_lengthen(o, body, length);
}

bool mfu_pipeline_sends(const struct mfu_pipeline_layout *l, int rank, int stage, int way)
{
    if (stage + way < 0 || stage + way >= mfu_pipeline_stages(l))
        return false;
    for (int chunk = 0; l->schedule->placement != MFU_PLACE_DUAL && chunk < mfu_pipeline_chunks(l); chunk++)
        if (mfu_pipeline_stage(l, rank, chunk) == stage + way)
            return false;
    return true;
}
