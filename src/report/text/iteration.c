/*
 * iteration.c - an iteration of GRPO or PPO for people: its rate, its phases, memory of both.
 */
#include "plan/iteration.h"

#include <math.h>

#include "base/quantity.h"
#include "base/short.h"
#include "report/report.h"
#include "report/text/text.h"

#define INDENT 10

static void phase(FILE *out, const struct mfu_term *t, const struct mfu_iteration *it, int i)
{
    const struct mfu_rollout *r = &it->rollout;
    struct mfu_flow f = mfu_flow_start(out, t, mfu_iteration_phase_names[i], INDENT);

    mfu_flow_piece(&f, i == (int)it->rules ? MFU_STRONG : MFU_PLAIN, "%s, %s", Q(it->seconds[i], MFU_SECONDS),
                   Q(it->seconds[i] / it->total_s, MFU_RATIO));
    if (i == MFU_IT_ROLLOUT) {
        mfu_flow_piece(&f, MFU_PLAIN, "%s answers of %s + %s tokens", Q(it->sequences, MFU_COUNT),
                       Q(r->options.prompt, MFU_TOKENS), Q(r->options.answer, MFU_TOKENS));
        mfu_flow_piece(&f, MFU_PLAIN, "%s engine%s, %s at once in each", Q(it->engines, MFU_COUNT),
                       it->engines == 1 ? "" : "s", Q(r->sequences, MFU_COUNT));
        mfu_flow_piece(&f, MFU_PLAIN, "decode bound by %s", mfu_limit_names[r->decode_limit]);
    } else if (i == MFU_IT_SCORING) {
        mfu_flow_piece(&f, MFU_PLAIN, "%s forward pass%s of policy and reference over each answer",
                       Q(it->passes, MFU_COUNT), it->passes == 1 ? "" : "es");
        if (it->options.reward > 0)
            mfu_flow_piece(&f, MFU_PLAIN, "a reward model");
        if (it->options.critic > 0)
            mfu_flow_piece(&f, MFU_PLAIN, "a critic");
    } else if (i == MFU_IT_UPDATE) {
        mfu_flow_piece(&f, MFU_PLAIN, "%s step%s of the optimizer", Q(it->steps, MFU_COUNT), it->steps == 1 ? "" : "s");
        if (it->options.critic > 0)
            mfu_flow_piece(&f, MFU_PLAIN, "the critic's as many");
    } else {
        mfu_flow_piece(&f, MFU_PLAIN, "%s to each engine", Q(it->moved_bytes, MFU_BYTES));
    }
    mfu_flow_end(&f);
}

void mfu_text_iteration(FILE *out, const struct mfu_term *t, const struct mfu_iteration *it)
{
    struct mfu_flow f = mfu_flow_start(out, t, "iteration", INDENT);

    mfu_flow_piece(&f, MFU_STRONG, "%s", Q(it->total_s, MFU_SECONDS));
    mfu_flow_piece(&f, MFU_PLAIN, "%s tokens/s of answers", Q(it->tokens_per_s, MFU_COUNT));
    mfu_flow_piece(&f, MFU_PLAIN, "%s accepted answers per GPU-hour", Q(it->accepted_per_gpu_hour, MFU_COUNT));
    mfu_flow_piece(&f, MFU_PLAIN, "90 %%: %s to %s", Q(it->low_s, MFU_SECONDS), Q(it->high_s, MFU_SECONDS));
    mfu_flow_end(&f);
    for (int i = 0; i < MFU_IT_PHASE_COUNT; i++)
        if (it->seconds[i] > 0)
            phase(out, t, it, i);
    f = mfu_flow_start(out, t, "VRAM", INDENT);
    mfu_flow_piece(&f, it->fits == 1 ? MFU_GOOD : MFU_BAD, "%s",
                   isnan(it->fits)     ? "unknown whether it fits"
                       : it->fits == 1 ? "fits"
                                       : "does not fit");
    mfu_flow_piece(&f, MFU_PLAIN, "update %s", Q(it->update_bytes, MFU_BYTES));
    mfu_flow_piece(&f, MFU_PLAIN, "rollout %s", Q(it->rollout_bytes, MFU_BYTES));
    mfu_flow_piece(&f, MFU_PLAIN, "engine %s", Q(it->engine_bytes, MFU_BYTES));
    mfu_flow_piece(&f, MFU_PLAIN, "of %s", Q(it->capacity_bytes, MFU_BYTES));
    mfu_flow_end(&f);
    f = mfu_flow_start(out, t, "shorter", INDENT);
    mfu_flow_piece(&f, MFU_PLAIN, "%s rules: %s", mfu_iteration_phase_names[it->rules],
                   mfu_iteration_levers[it->rules]);
    mfu_flow_end(&f);
}
