/*
 * rollout.c - a rollout for people: rate, prefill, decode, memory.
 */
#include "plan/rollout.h"
#include "base/quantity.h"
#include "base/short.h"
#include "report/report.h"
#include "report/text/text.h"

#define INDENT 9

static void memory(FILE *out, const struct mfu_term *t, const struct mfu_rollout *r)
{
    struct mfu_flow f = mfu_flow_start(out, t, "VRAM", INDENT);

    mfu_flow_piece(&f,
                   r->unsure     ? MFU_WARN
                       : r->fits ? MFU_GOOD
                                 : MFU_BAD,
                   r->unsure     ? "whether it fits is unknown"
                       : r->fits ? "fits"
                                 : "does not fit");
    mfu_flow_piece(&f, MFU_PLAIN, "weights %s (%s)", Q(r->weight_bytes, MFU_BYTES),
                   mfu_held_names[(int)r->options.weights]);
    mfu_flow_piece(&f, MFU_PLAIN, "KV cache %s (%s), %s a token", Q(r->kv_bytes, MFU_BYTES),
                   mfu_held_names[(int)r->options.kv], Q(r->kv_token_bytes, MFU_BYTES));
    mfu_flow_piece(&f, MFU_PLAIN, "of %s", Q(r->capacity_bytes, MFU_BYTES));
    mfu_flow_piece(&f, MFU_PLAIN, "at most %s sequences at once", Q(r->most_sequences, MFU_COUNT));
    mfu_flow_end(&f);
}

void mfu_text_rollout(FILE *out, const struct mfu_term *t, const struct mfu_rollout *r)
{
    const struct mfu_rollout_options *o = &r->options;
    struct mfu_flow f = mfu_flow_start(out, t, "rollout", INDENT);

    mfu_flow_piece(&f, MFU_STRONG, "%s tokens/s", Q(r->tokens_per_s, MFU_COUNT));
    if (r->gpus > 1)
        mfu_flow_piece(&f, MFU_PLAIN, "%s per GPU", Q(r->tokens_per_s_gpu, MFU_COUNT));
    mfu_flow_piece(&f, MFU_PLAIN, "%s for %s sequence%s of %s + %s tokens", Q(r->seconds, MFU_SECONDS),
                   Q(r->sequences, MFU_COUNT), r->sequences == 1 ? "" : "s", Q(o->prompt, MFU_TOKENS),
                   Q(o->answer, MFU_TOKENS));
    mfu_flow_piece(&f, MFU_PLAIN, "90 %%: %s to %s", Q(r->low_s, MFU_SECONDS), Q(r->high_s, MFU_SECONDS));
    mfu_flow_end(&f);
    f = mfu_flow_start(out, t, "prefill", INDENT);
    mfu_flow_piece(&f, MFU_STRONG, "%s", Q(r->prefill_s, MFU_SECONDS));
    mfu_flow_piece(&f, MFU_PLAIN, "%s tokens/s", Q(r->prefill_tokens_per_s, MFU_COUNT));
    mfu_flow_piece(&f, MFU_PLAIN, "bound by %s", mfu_limit_names[r->prefill_limit]);
    mfu_flow_piece(&f, MFU_PLAIN, "first token of one prompt by itself after %s", Q(r->first_token_s, MFU_SECONDS));
    mfu_flow_end(&f);
    f = mfu_flow_start(out, t, "decode", INDENT);
    mfu_flow_piece(&f, MFU_STRONG, "%s a step", Q(r->token_s, MFU_SECONDS));
    mfu_flow_piece(&f, MFU_PLAIN, "%s tokens/s", Q(r->decode_tokens_per_s, MFU_COUNT));
    mfu_flow_piece(&f, MFU_PLAIN, "bound by %s", mfu_limit_names[r->decode_limit]);
    mfu_flow_end(&f);
    memory(out, t, r);
}
