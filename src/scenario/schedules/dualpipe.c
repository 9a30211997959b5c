/*
 * dualpipe - microbatches enter at both ends of the pipeline, and the forward of
 * one direction is merged with the backward of the other.
 *
 * DeepSeek's dualpipe/dualpipe.py (3da1bbea), DeepSeek-V3 Technical Report
 * (arXiv 2412.19437).  Each rank holds two stages, hence twice the parameters.
 */
#include "scenario/schedules/dualpipe.h"

#include "base/error.h"
#include "scenario/schedule.h"

void mfu_dualpipe_order(struct mfu_order *o, int half, int place, int near, int passes)
{
    int far = !near, inner = half - 1 - place, both = place + 1, steady = passes - 2 * half + place + 1;

    MFU_REPEAT(o, 2 * inner, MFU_F(near));
    MFU_REPEAT(o, both, MFU_F(near), MFU_F(far));
    MFU_REPEAT(o, inner, MFU_B(far), MFU_W(far), MFU_F(far));
    if (inner == 0) {
        MFU_REPEAT(o, 1, MFU_F(near), MFU_BW(far), MFU_FBW(far));
        steady--;
    }
    MFU_STEADY(o, steady, MFU_FBW(near), MFU_FBW(far));
    MFU_REPEAT(o, inner, MFU_BW(far), MFU_FBW(far));

    /* Backwards alone, far and near in turn; the second half of them puts W off. */
    for (int i = 0; i < 2 * both; i++)
        MFU_REPEAT(o, 1, MFU_ACTION(i < both ? MFU_PASS_BW : MFU_PASS_B, i % 2 == 0 ? far : near));
    /* The Ws that wait are run in the order of their Bs. */
    for (int w = 0; w < inner + both; w++) {
        MFU_REPEAT(o, 1, MFU_W(w < both && (both + w) % 2 == 0 ? far : near));
        if (w < inner)
            MFU_REPEAT(o, 1, MFU_B(near));
    }
}

double mfu_dualpipe_merged(double half, double passes)
{
    double inner = (half - 1) / 2; /* in the mean over places */

    return 1 - (2 * half + inner) / (2 * passes);
}

static int check(const struct mfu_pipeline_layout *l, struct mfu_error *err)
{
    if (l->pp % 2 != 0)
        return mfu_fail(err, MFU_EINPUT, "schedule dualpipe needs an even pp, not %d: %d, or schedule dualpipev", l->pp,
                        l->pp + 1);
    if (l->microbatches % 2 != 0 || l->microbatches < 2 * l->pp) {
        int up = l->microbatches + l->microbatches % 2;

        return mfu_fail(err, MFU_EINPUT,
                        "schedule dualpipe needs an even number of microbatches, 2 pp = %d or more, not %d: %d "
                        "would do",
                        2 * l->pp, l->microbatches, up < 2 * l->pp ? 2 * l->pp : up);
    }
    return 0;
}

static double merged(const struct mfu_pipeline_layout *l)
{
    int pairs = l->pp / 2; /* of stages */

    return mfu_dualpipe_merged(pairs, mfu_pipeline_passes(l));
}

static void order(const struct mfu_pipeline_layout *l, int rank, struct mfu_order *o)
{
    bool second = rank >= l->pp / 2;

    mfu_dualpipe_order(o, l->pp / 2, second ? l->pp - 1 - rank : rank, second, mfu_pipeline_passes(l));
}

const struct mfu_schedule mfu_schedule_dualpipe = {
    .name = "dualpipe",
    .summary = "microbatches from both ends, forward merged with backward: parameters twice on every rank",
    .aliases = "dual-pipe",
    .placement = MFU_PLACE_DUAL,
    .least_vpp = 1,
    .most_vpp = 1,
    .splits_backward = true,
    .sends_beside = true,
    .merged = merged,
    .merges = true,
    .check = check,
    .order = order,
};
