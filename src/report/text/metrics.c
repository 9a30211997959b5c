/*
 * metrics.c - what the meters read, and what each of them hides.
 */
#include <math.h>
#include <string.h>

#include "plan/metrics.h"
#include "plan/roofline.h"
#include "plan/single_kernel.h"
#include "report/report.h"
#include "report/text/text.h"
#include "base/short.h"

#define NAME 18 /* a column of names, at least: a maker's own may be longer */
#define NUMBER 8
#define BAR 10

/* Small shares keep two digits: 0.76 %. */
static const char *percent(char buf[16], double share)
{
    if (share > 0 && share < 0.01)
        snprintf(buf, 16, share < 0.001 ? "%.3f %%" : "%.2f %%", 100 * share);
    else
        mfu_percent_format(buf, share);
    return buf;
}

/* "SM activity   54.3 %  ######      an SM has a warp: computing or waiting" */
static void meter(FILE *out, const struct mfu_term *t, int width, const char *name, double share, bool bar,
                  const char *says)
{
    char number[16];
    int column = width + NUMBER + 2;
    struct mfu_flow f;

    fprintf(out, "%-*s%*s  ", width, name, NUMBER, percent(number, share));
    if (bar) {
        int used = mfu_text_bar(out, t, share, BAR);

        fprintf(out, "%*s", BAR + 2 - used, "");
        column += BAR + 2;
    }
    f = mfu_flow_start(out, t, "", 0);
    f.indent = f.column = column;
    mfu_flow_words(&f, MFU_FAINT, "%s", says);
    mfu_flow_end(&f);
}

static void power(FILE *out, const struct mfu_term *t, int width, const struct mfu_metrics *m)
{
    char says[120];
    double range = m->board_w > 0 ? m->power_w / m->board_w : NAN;

    if (!(m->power_w > 0)) {
        fprintf(out, "%-*s%*s\n", width, "power", NUMBER, "unknown");
        return;
    }
    snprintf(says, sizeof says, "%s of %s; idle %s, estimated", Q(m->power_w, MFU_WATTS), Q(m->board_w, MFU_WATTS),
             Q(m->idle_w, MFU_WATTS));
    meter(out, t, width, "power", range, mfu_text_columns(t) >= 72, says);
}

/* The name of a meter in the words of the card's maker. */
static const char *called(char *name, size_t size, const struct mfu_term *t, size_t meter)
{
    snprintf(name, size, "%s", mfu_meters[meter].name);
    mfu_words_exchange(name, size, t->words);
    return name;
}

static void meters(FILE *out, const struct mfu_term *t, const struct mfu_metrics *m)
{
    bool bars = mfu_text_columns(t) >= 72;
    char name[48];
    int width = NAME;

    for (size_t i = 0; i < mfu_meter_count; i++) {
        int wide = (int)strlen(called(name, sizeof name, t, i));

        width = !isnan(mfu_meter_value(&mfu_meters[i], m)) && wide > width ? wide : width;
    }
    for (size_t i = 0; i < mfu_meter_count; i++)
        if (!isnan(mfu_meter_value(&mfu_meters[i], m)))
            meter(out, t, width, called(name, sizeof name, t, i), mfu_meter_value(&mfu_meters[i], m), bars,
                  mfu_meters[i].hides);
    power(out, t, width, m);
}

void mfu_text_metrics(FILE *out, const struct mfu_term *t, const struct mfu_plan *p)
{
    struct mfu_metrics m;
    struct mfu_flow f = mfu_flow_start(out, t, "", 0);

    mfu_metrics_of_plan(p, &m);
    mfu_flow_words(&f, MFU_STRONG, "nvidia-smi would say %s busy; the tensor cores work %s of the time, MFU is %s.",
                   P(m.gpu_utilization), P(m.tensor_active), P(m.mfu));
    mfu_flow_words(&f, MFU_PLAIN,
                   "Averages over one optimizer step of %s, and what each reading hides:", Q(m.window_s, MFU_SECONDS));
    mfu_flow_end(&f);
    fputc('\n', out);
    meters(out, t, &m);
    fputc('\n', out);
    f = mfu_flow_start(out, t, "", 0);
    if (m.gpu_utilization_high > m.gpu_utilization + 0.0005)
        mfu_flow_words(&f, MFU_FAINT, "Pauses below 10 us may count as busy: utilization up to %s.",
                       P(m.gpu_utilization_high));
    mfu_flow_words(&f, MFU_FAINT,
                   "Kernels on tensor cores take %s of the busy time. est.: estimated by PyTorch's profiler from "
                   "blocks. Counters are DCGM's; tensor pipe: at the clock that it runs at.",
                   P(m.tensor_kernels));
    mfu_flow_end(&f);
}

/* ---- one kernel ---------------------------------------------------------- */

static void times(FILE *out, const struct mfu_term *t, const struct mfu_single_kernel *k)
{
    struct mfu_flow f = mfu_flow_start(out, t, "time", 12);

    mfu_flow_piece(&f, MFU_PLAIN, "compute %s", Q(k->compute_s, MFU_SECONDS));
    mfu_flow_piece(&f, MFU_PLAIN, "memory %s", Q(k->memory_s, MFU_SECONDS));
    mfu_flow_piece(&f, MFU_PLAIN, "launch %s", Q(k->overhead_s, MFU_SECONDS));
    mfu_flow_end(&f);
}

/* The roof above it: what its arithmetic or its traffic allows. */
static void roofline(FILE *out, const struct mfu_term *t, const struct mfu_single_kernel *k)
{
    const struct mfu_kernel_row *row = &k->row;
    double peak = k->machine.peak_flops[row->kernel.math], ridge = mfu_ridge(&k->machine, peak);
    double roof = mfu_roof_at(&k->machine, peak, row->intensity);
    struct mfu_flow f = mfu_flow_start(out, t, "roofline", 12);

    if (row->flops > 0) {
        mfu_flow_words(&f, MFU_PLAIN,
                       row->intensity < 9.95 ? "%s in %s: %.1f FLOP per byte, %s of the ridge (%.0f for %s):"
                                             : "%s in %s: %.0f FLOP per byte, %s of the ridge (%.0f for %s):",
                       Q(row->flops, MFU_FLOP), Q(row->bytes, MFU_BYTES), row->intensity,
                       row->intensity < ridge ? "left" : "right", ridge, mfu_peak_names[row->kernel.math]);
        mfu_flow_words(&f, MFU_PLAIN, "at most %s, reached %s of it.", Q(roof, MFU_FLOP_PER_S),
                       P(row->flops_per_s / roof));
    } else
        mfu_flow_words(&f, MFU_PLAIN, "%s moved at %s of %s, no arithmetic.", Q(row->bytes, MFU_BYTES),
                       P(mfu_dram_share(&k->machine, row->bytes_per_s)),
                       Q(mfu_roof_dram(&k->machine), MFU_BYTES_PER_S));
    mfu_flow_end(&f);
}

static void grid(FILE *out, const struct mfu_term *t, const struct mfu_single_kernel *k)
{
    const struct mfu_reading *r = &k->row.reading;
    struct mfu_flow f = mfu_flow_start(out, t, "blocks", 12);
    bool blocks = k->study == MFU_STUDY_BLOCKS;

    mfu_flow_words(&f, MFU_PLAIN, "%s %s%s", Q(r->grid.blocks, MFU_COUNT), r->grid.persistent ? "tile" : "block",
                   r->grid.blocks == 1 ? "" : "s");
    if (r->tiling.tile_m > 0)
        mfu_flow_words(&f, MFU_PLAIN, "of %d%s%d", r->tiling.tile_m, mfu_text_times(t), r->tiling.tile_n);
    if (r->tiling.split > 1)
        mfu_flow_words(&f, MFU_PLAIN, "(K in %d pieces)", r->tiling.split);
    mfu_flow_words(&f, MFU_PLAIN, "on %s SMs:", Q(k->machine.sms, MFU_COUNT));
    if (r->waves >= 100) /* a tail is of no account */
        mfu_flow_words(&f, MFU_PLAIN, "%.0f waves.", r->waves);
    else if (r->rounds > r->waves && r->rounds > 1)
        mfu_flow_words(&f, MFU_PLAIN, "%.3g waves, so %.0f rounds, the last one %s full.", r->waves, r->rounds,
                       P(r->waves - floor(r->waves)));
    else if (r->rounds > r->waves)
        mfu_flow_words(&f, MFU_PLAIN, "%.3g of a wave.", r->waves);
    else
        mfu_flow_words(&f, MFU_PLAIN, r->waves > 1 ? "%.0f full waves." : "%.0f full wave.", r->waves);
    mfu_flow_end(&f);
    f = mfu_flow_start(out, t, "SM", 12);
    if (isfinite(r->limit.resident))
        mfu_flow_words(&f, MFU_PLAIN, "holds %.0f of them%s%s%s, %.0f threads each: %.0f of %.0f warps, occupancy %s.",
                       r->limit.resident, blocks ? "" : " (", blocks ? "" : r->limit.limit, blocks ? "" : ")",
                       r->grid.threads, r->limit.resident * r->limit.warps, r->limit.most_warps,
                       P(r->limit.theoretical));
    else
        mfu_flow_words(&f, MFU_PLAIN, "limits unknown: no occupancy.");
    mfu_flow_end(&f);
}

void mfu_text_single_kernel(FILE *out, const struct mfu_term *t, const struct mfu_single_kernel *k)
{
    const struct mfu_kernel_row *row = &k->row;
    struct mfu_flow f;

    if (k->study >= MFU_STUDY_COLLECTIVE) {
        mfu_text_collective(out, t, k);
        return;
    }
    f = mfu_flow_start(out, t, "", 0);
    mfu_flow_words(&f, MFU_STRONG, "%s on %s: %s", k->title, k->gpu->name, Q(row->time_s, MFU_SECONDS));
    if (k->study == MFU_STUDY_BLOCKS)
        mfu_flow_words(&f, MFU_PLAIN, "in which nothing is computed.");
    else if (mfu_kind_is_product(row->kind))
        mfu_flow_words(&f, MFU_PLAIN, "(%s, %s of the %s peak): bound by %s.", Q(row->flops_per_s, MFU_FLOP_PER_S),
                       P(k->metrics.hfu), mfu_peak_names[k->dtype], mfu_bound_names[row->price.bound]);
    else
        mfu_flow_words(&f, MFU_PLAIN, "(%s, %s of the bandwidth): bound by %s.", Q(row->bytes_per_s, MFU_BYTES_PER_S),
                       P(mfu_dram_share(&k->machine, row->bytes_per_s)), mfu_bound_names[row->price.bound]);
    mfu_flow_end(&f);
    if (k->study != MFU_STUDY_BLOCKS) {
        times(out, t, k);
        roofline(out, t, k);
    }
    grid(out, t, k);
    fputs("\nWhile it runs, again and again:\n", out);
    meters(out, t, &k->metrics);
}
