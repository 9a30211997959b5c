/*
 * buckets.c - pictures of several sizes or sequences of several lengths, for people: each, then the run.
 */
#include <math.h>

#include "plan/buckets.h"
#include "base/quantity.h"
#include "base/short.h"
#include "report/report.h"
#include "scenario/setting.h"
#include "report/text/text.h"

#define INDENT 9

static const char *size(const struct mfu_bucket *x, char text[32])
{
    if (isnan(x->width))
        return "padded to";
    snprintf(text, 32, "%.0fx%.0f", x->width, x->height);
    return text;
}

static const char *fits(double f)
{
    return isnan(f) ? "whether it fits is unknown" : f > 0 ? "fits" : "does not fit";
}

void mfu_text_buckets(FILE *out, const struct mfu_term *t, const struct mfu_plan *p, const struct mfu_buckets *b)
{
    static const struct mfu_column columns[] = {{"size", .left = true}, {"share", .rank = 0}, {"tokens", .rank = 0},
                                                {"step", .rank = 0},    {"VRAM", .rank = 0},  {"", .left = true}};
    const struct mfu_bucket *most = &b->row[b->largest];
    bool pictures = !isnan(most->width);
    const char *samples = pictures ? mfu_model_samples(p->config.model) : "sequences";
    struct mfu_table table = MFU_TABLE(columns);
    struct mfu_flow f;

    for (size_t i = 0; i < b->n; i++) {
        const struct mfu_bucket *x = &b->row[i];

        mfu_table_cells(&table, "%s\t%s\t%s\t%s\t%s\t%s", size(x, (char[32]){0}), P(x->share), Q(x->tokens, MFU_TOKENS),
                        Q(x->step_s, MFU_SECONDS), Q(x->memory_bytes, MFU_BYTES), fits(x->fits));
    }
    mfu_table_print(out, t, &table);
    f = mfu_flow_start(out, t, "step", INDENT);
    mfu_flow_piece(&f, MFU_STRONG, "%s in the mean", Q(b->step_s, MFU_SECONDS));
    mfu_flow_piece(&f, MFU_PLAIN, "90 %%: %s to %s", Q(b->low_s, MFU_SECONDS), Q(b->high_s, MFU_SECONDS));
    mfu_flow_piece(&f, MFU_PLAIN, "%s %s/s", Q(b->samples_per_s, MFU_COUNT), samples);
    mfu_flow_piece(&f, MFU_PLAIN, "%s tokens each", Q(b->tokens, MFU_TOKENS));
    if (b->waits_s > 0.0005 * b->step_s)
        mfu_flow_piece(&f, MFU_PLAIN, "%s%s of it for the rank with the slowest size",
                       p->config.accum > 1 && p->config.setting[MFU_S_ZERO] < 2 ? "at most " : "",
                       P(b->waits_s / b->step_s));
    mfu_flow_end(&f);
    f = mfu_flow_start(out, t, "VRAM", INDENT);
    mfu_flow_piece(&f, isnan(b->fits) ? MFU_WARN : b->fits > 0 ? MFU_GOOD : MFU_BAD, "%s", fits(b->fits));
    mfu_flow_piece(&f, MFU_PLAIN, "%s of %s at %s", Q(b->memory_bytes, MFU_BYTES), Q(b->capacity_bytes, MFU_BYTES),
                   pictures ? size(most, (char[32]){0}) : Q(b->memory_tokens, MFU_TOKENS));
    if (pictures)
        mfu_flow_piece(&f, MFU_PLAIN, "without what is cached of other sizes");
    mfu_flow_end(&f);
    if (!(b->options.images > 0))
        return;
    f = mfu_flow_start(out, t, "epoch", INDENT);
    mfu_flow_piece(&f, MFU_STRONG, "%s", Q(b->epoch_s, MFU_SECONDS));
    mfu_flow_piece(&f, MFU_PLAIN, "%s %s", Q(b->options.images, MFU_COUNT), samples);
    if (b->left_images > 0)
        mfu_flow_piece(&f, MFU_PLAIN, "%s of them in %s micro-batches that are not full: dropped by drop_last",
                       Q(b->left_images, MFU_COUNT), Q(b->partial_batches, MFU_COUNT));
    mfu_flow_end(&f);
}
