/*
 * why_kernel.c - one kernel of the step, from the peak to its time.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/kernels.h"
#include "answer/why/why.h"
#include "base/error.h"
#include "base/suggest.h"
#include "base/translation.h"
#include "base/short.h"

/* Its name, or pieces of it between dots: h.attn, attn.qkv, lm_head. */
static bool is_called(const struct mfu_launch *l, const char *name)
{
    char full[96];
    size_t n = strlen(name);
    mfu_launch_name(l, full, sizeof full);
    for (const char *text = full; text; text = strchr(text, '.')) {
        text += *text == '.';
        if (strncasecmp(text, name, n) == 0 && (text[n] == '\0' || text[n] == '.'))
            return true;
    }
    return false;
}

enum match { BY_NAME, BY_OP, BY_KIND, NOTHING };

static bool matches(const struct mfu_launch *l, const char *name, enum match how)
{
    char full[96];

    if (!(l->work->kernel.launches > 0))
        return false;
    if (how == BY_KIND)
        return mfu_same_name(mfu_kind_names[l->work->kernel.kind], name);
    mfu_launch_name(l, full, sizeof full);
    return how == BY_OP ? is_called(l, name) : strcasecmp(full + (full[0] == '.'), name) == 0;
}

static enum match how_to_match(const struct mfu_program *g, const char *name)
{
    for (int how = BY_NAME; how < NOTHING; how++)
        for (int k = 0; k < g->n_segments; k++)
            for (int i = 0; i < g->segments[k].count; i++)
                if (matches(mfu_launch_in(g, &g->segments[k], g->segments[k].first + i), name, (enum match)how))
                    return (enum match)how;
    return NOTHING;
}

/* A name may be given from any of its first pieces on: layers.mlp.gate, mlp.gate, gate. */
#define PIECES 4

static int refuse(const struct mfu_plan *p, const char *name, struct mfu_error *err)
{
    struct mfu_kernel_row *rows;
    int n = mfu_kernel_rows(p, &rows, NULL), count = 0;
    const char *best, **names = malloc(((size_t)(n > 0 ? n : 0) * PIECES + mfu_why_topic_count) * sizeof *names);

    mfu_fail(err, MFU_EINPUT,
             "no topic and no kernel is called '%.60s': expected mfu, slow, vram, utilisation, batch or a "
             "name that `kernels` shows",
             name);
    for (size_t i = 0; names && i < mfu_why_topic_count; i++)
        names[count++] = mfu_why_topics[i].name;
    for (int i = 0; names && i < n; i++) {
        const char *piece = rows[i].name;

        for (int k = 0; k < PIECES && piece; k++, piece = (piece = strchr(piece, '.')) ? piece + 1 : NULL)
            names[count++] = piece;
    }
    if (names && mfu_suggest(name, names, (size_t)count, &best, 1))
        mfu_error_suggest(err, best);
    free(names);
    free(rows);
    return -1;
}

/* ---- kernels without a walk of their own ---------------------------------- */

enum stage { MOVED, PATTERN, CACHE, ARITHMETIC, STAGES };
static const struct {
    const char *name, *says;
} stages[STAGES] = {
    [MOVED] = {"bytes at DRAM's peak", "what has to be moved"},
    [PATTERN] = {"access", "what they reach of it"},
    [CACHE] = {"L2", "left there by neighbours"},
    [ARITHMETIC] = {"arithmetic", "beside the traffic"},
};

static void walk_bytes(const struct mfu_machine *m, const struct mfu_kernel *k, const struct mfu_price *p, double times,
                       double stage_s[STAGES])
{
    double bytes = k->read_bytes + k->write_bytes;
    double peak_s = bytes / m->bandwidth_bytes_s;
    double reached_s = fmax(bytes / mfu_dram_bytes_s(m, k->traffic), p->memory_s); /* narrow loads are a pattern, too */

    stage_s[MOVED] += times * peak_s;
    stage_s[PATTERN] += times * (reached_s - peak_s);
    stage_s[CACHE] += times * (p->memory_s - reached_s);
    stage_s[ARITHMETIC] += times * (p->time_s - p->overhead_s - p->memory_s);
}

/* ---- the answer ---------------------------------------------------------- */

struct sum {
    double seconds, count, flops, bytes, overhead_s, stage_s[STAGES], part_s[MFU_BREAKDOWN_COUNT];
    const struct mfu_launch *largest;
    const struct mfu_price *price;
    double largest_s;
};

static void add(const struct mfu_plan *p, const struct mfu_launch *l, const struct mfu_price *price, double times,
                struct sum *sum)
{
    sum->seconds += times * price->time_s;
    sum->count += times * l->work->kernel.launches;
    sum->flops += times * l->work->kernel.flops;
    sum->bytes += times * (l->work->kernel.read_bytes + l->work->kernel.write_bytes);
    sum->overhead_s += times * price->overhead_s;
    if (times * price->time_s > sum->largest_s) {
        sum->largest_s = times * price->time_s;
        sum->largest = l;
        sum->price = price;
    }
    if (mfu_is_product(l)) {
        struct mfu_launch fresh = *l;
        double one[MFU_BREAKDOWN_COUNT] = {0};

        fresh.recomputed = false; /* its own walk, counted once */
        mfu_breakdown_launch(p, &fresh, price, one);
        one[MFU_P_GAPS] = 0;
        for (int i = 0; i < MFU_BREAKDOWN_COUNT; i++)
            sum->part_s[i] += times * one[i];
    } else
        walk_bytes(&p->machine, &l->work->kernel, price, times, sum->stage_s);
}

static void add_parts(const struct sum *sum, struct mfu_why *w)
{
    for (int i = 0; i < MFU_BREAKDOWN_COUNT; i++)
        if (sum->part_s[i] != 0)
            mfu_why_add(w, i == MFU_P_PEAK ? "FLOP at the peak" : mfu_breakdown_rows[i].name,
                        sum->part_s[i] / sum->seconds, sum->part_s[i], false, mfu_breakdown_rows[i].says,
                        i == MFU_P_PEAK ? "roofline" : "");
    for (int i = 0; i < STAGES; i++)
        if (sum->stage_s[i] != 0)
            mfu_why_add(w, stages[i].name, sum->stage_s[i] / sum->seconds, sum->stage_s[i], false, stages[i].says,
                        i == MOVED ? "roofline" : "");
    mfu_why_add(w, "between kernels", sum->overhead_s / sum->seconds, sum->overhead_s, false, "drain, launch, fill",
                "step");
}

static void tell(const struct mfu_plan *p, const struct sum *sum, struct mfu_why *w)
{
    char name[96], what[320];
    int worst = -1;

    if (!sum->price) /* nothing of it takes time */
        return;
    mfu_launch_name(sum->largest, name, sizeof name);
    mfu_why_say(w, "%.0f launches take %s of each step, %.1f %%: %s each, %s and %s in all, %s-bound.", sum->count,
                Q(sum->seconds, MFU_SECONDS), 100 * sum->seconds / p->step.time_s,
                Q(sum->seconds / sum->count, MFU_SECONDS), Q(sum->flops, MFU_FLOP), Q(sum->bytes, MFU_BYTES),
                mfu_bound_names[sum->price->bound]);
    for (int i = 0; i < MFU_BREAKDOWN_COUNT; i++)
        if (i != MFU_P_PEAK && i != MFU_P_MASK && sum->part_s[i] > (worst < 0 ? 0 : sum->part_s[worst]))
            worst = i;
    if (worst >= 0) {
        struct mfu_culprit c = {
            .kernel = sum->largest->work->kernel, .price = *sum->price, .seconds = sum->part_s[worst]};

        snprintf(c.name, sizeof c.name, "%s", name);
        mfu_why_culprit(p, (enum mfu_breakdown_part)worst, &c, what, sizeof what);
        mfu_why_say(w, "Most is lost to %s, %.1f %%: %s.", mfu_translate(mfu_breakdown_rows[worst].name),
                    100 * sum->part_s[worst] / sum->seconds, what);
    } else
        mfu_why_say(
            w,
            "It moves %s with %.1f FLOP per byte%s; DRAM's peak is %s. Only moving less makes it faster: fusing it "
            "with its neighbours, or a narrower type.",
            Q(sum->bytes / sum->seconds, MFU_BYTES_PER_S), sum->flops / sum->bytes,
            sum->stage_s[CACHE] < -0.05 * sum->seconds ? mfu_translate(", some of it from L2") : "",
            Q(p->machine.bandwidth_bytes_s, MFU_BYTES_PER_S));
    mfu_why_say(w, "Were it free, the step would be %.3f times as fast.",
                p->step.time_s / (p->step.time_s - sum->seconds));
}

int mfu_why_kernel(struct mfu_plan *p, struct mfu_simulation *sim, const char *name, struct mfu_why *w,
                   struct mfu_error *err)
{
    const struct mfu_program *g = mfu_simulation_program(sim);
    enum match how = how_to_match(g, name);
    struct sum sum = {0};

    if (how == NOTHING)
        return refuse(p, name, err);
    for (int k = 0; k < g->n_segments; k++) {
        const struct mfu_segment *seg = &g->segments[k];

        for (int i = seg->first; i < seg->first + seg->count; i++)
            if (matches(mfu_launch_in(g, seg, i), name, how))
                add(p, mfu_launch_in(g, seg, i), mfu_price_at(&sim->pricing, i), mfu_segment_times(g, seg), &sum);
    }
    w->whole = "these kernels";
    add_parts(&sum, w);
    tell(p, &sum, w);
    return 0;
}
