/*
 * conventions.c - the MFU figures that different programs print for one run.
 *
 * All of them are  FLOP/token * tokens/s / peak ; they differ in what they
 * count as a FLOP and in whose peak they divide by.  A row per convention; the
 * formulas were read in the programs' sources (docs/mfu.md).
 */
#include "plan/conventions.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/expression.h"
#include "base/quantity.h"

/* FLOP/s, dense bf16 (data sheet of the A100): nanoGPT's constant, and what
 * torchtitan takes for cards that are not in its table. */
#define A100_FLOPS 312e12

/* What formulas are sums of. */
enum count {
    PARAMS,     /* all; of experts those that a token visits */
    TRAINED,    /* of them */
    POSITIONS,  /* in the table of positions */
    EMBEDDINGS, /* in tables that are only looked up */
    PRODUCTS,   /* parameters that are multiplied with, per token */
    FULL,       /* sum over attentions of heads * head_dim * T */
    EXACT,      /* the same over the pairs that are not masked */
    HARDWARE,   /* FLOP per token that are really computed */
    COUNTS
};
struct counts {
    double of[COUNTS];
};

/* ---- counting ----------------------------------------------------------- */

static double attribute(const struct mfu_config *c, const struct mfu_model_op *op, const char *name, double otherwise)
{
    for (int a = 0; a < MFU_ATTRIBUTES && op->primitive->attributes[a].name; a++)
        if (strcmp(op->primitive->attributes[a].name, name) == 0)
            return op->attribute[a] ? mfu_expression_eval(op->attribute[a], c->dim) : otherwise;
    return otherwise;
}

/* Keys that a query sees on average. */
static double keys_per_query(double seq, double window, bool causal)
{
    if (!(window > 0) || window > seq)
        window = seq;
    if (!causal)
        return fmin(seq, 2 * window);
    return window - window * window / (2 * seq); /* a triangle, then full rows */
}

static struct counts count(const struct mfu_plan *p)
{
    const struct mfu_program *g = &p->program;
    const struct mfu_config *c = &p->config;
    const struct mfu_model *m = c->model;
    double tokens = p->step.tokens;
    bool tied = false;
    struct counts n = {{[PARAMS] = g->active_params,
                        [POSITIONS] = g->position_params,
                        [PRODUCTS] = g->linear_params,
                        [TRAINED] = fmin(g->trainable_params, g->active_params),
                        [HARDWARE] = p->mfu.hardware_flops / tokens}};

    for (int k = 0; k < m->n_sections; k++) {
        const struct mfu_model_section *sec = &m->sections[k];
        double times = sec->repeat ? mfu_expression_eval(sec->repeat, c->dim) : 1;

        if (sec->apart && mfu_expression_eval(sec->apart, c->dim) > 0)
            continue;
        for (int i = sec->first; i < sec->first + sec->count; i++) {
            const struct mfu_model_op *op = &m->ops[i];
            double width;

            if (op->when && !(mfu_expression_eval(op->when, c->dim) > 0))
                continue;
            tied |= op->shares >= 0 && attribute(c, op, "tied", 1) > 0;
            if (!(op->primitive->traits & MFU_MIXES_ROWS))
                continue;
            width = times * attribute(c, op, "heads", 0) * attribute(c, op, "head_dim", 0);
            n.of[FULL] += width * c->seq;
            n.of[EXACT] +=
                width * keys_per_query(c->seq, attribute(c, op, "window", 0), attribute(c, op, "causal", 1) > 0);
        }
    }
    n.of[EMBEDDINGS] = tied ? 0 : g->table_params;
    return n;
}

/* ---- peaks -------------------------------------------------------------- */

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static double own_peak(const struct mfu_plan *p)
{
    return p->mfu.peak_flops;
}

static double a100_peak(const struct mfu_plan *p)
{
    (void)p;
    return A100_FLOPS;
}

/* llm.c scales one card per generation by tensor cores and clock, which gives
 * the data sheet's bf16 peak, but takes the workstation Amperes for GeForce
 * cards, whose tensor cores run at half rate with fp32 sums (llmc/mfu.h). */
static double llmc_peak(const struct mfu_plan *p)
{
    static const struct {
        const char *slug;
        double cores, mhz;
    } rows[] = {
        {"rtx-a2000", 104, 1200}, {"rtx-a4000", 192, 1560}, {"rtx-a4500", 224, 1650},
        {"rtx-a5000", 256, 1695}, {"rtx-a5500", 320, 1770}, {"rtx-a6000", 336, 1800},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (starts(p->config.gpu->slug, rows[i].slug))
            return 80e12 * rows[i].cores / 336 * rows[i].mhz / 1860;
    return own_peak(p);
}

/* torchtitan/tools/utils.py, get_peak_flops(): bf16 whatever the precision, and
 * an A100 for every card that is not in its table. */
static double torchtitan_peak(const struct mfu_plan *p)
{
    static const struct {
        const char *slug;
        double flops;
    } rows[] = {
        {"h100-nvl", 835e12}, {"h100-pcie", 756e12}, {"h100", 989e12},   {"h200", 989e12},
        {"gh200", 989e12},    {"b200", 2250e12},     {"gb200", 2500e12},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (starts(p->config.gpu->slug, rows[i].slug))
            return rows[i].flops;
    return A100_FLOPS;
}

// clang-format off
static const struct row {
    const char *name, *counts, *peak_of;
    double per_token[COUNTS]; /* FLOP of each count */
    double (*peak)(const struct mfu_plan *);
    const char *family; /* of models whose trainer prints it */
} rows[] = {
    {"nanogpt", "6 N + 12 L d T, no positions", "always an A100", {[PARAMS] = 6, [POSITIONS] = -6, [FULL] = 12}, a100_peak, "gpt2"},
    {"palm", "6 N + 12 L d T", "this card", {[PARAMS] = 6, [FULL] = 12}, own_peak, NULL},
    {"causal", "products, half attention", "this card", {[PRODUCTS] = 6, [EXACT] = 12}, own_peak, NULL},
    {"llm.c", "6 N + 6 L d T", "its table: this card in bf16", {[PARAMS] = 6, [FULL] = 6}, llmc_peak, NULL},
    {"megatron", "as causal (since 2025)", "prints FLOP/s; this card", {[PRODUCTS] = 6, [EXACT] = 12}, own_peak, NULL},
    {"megatron-2021", "products, full attention", "prints FLOP/s; this card", {[PRODUCTS] = 6, [FULL] = 12}, own_peak, NULL},
    {"torchtitan", "6 N + 12 L d T, no embedding", "its table: unknown is an A100", {[PARAMS] = 6, [EMBEDDINGS] = -6, [FULL] = 12}, torchtitan_peak, NULL},
    {"6n", "6 N", "this card", {[PARAMS] = 6}, own_peak, NULL},
    {"hfu", "what is really computed", "this card", {[HARDWARE] = 1}, own_peak, NULL},
    {"4n", "4 N + 2 of what trains", "this card", {[PARAMS] = 4, [TRAINED] = 2}, own_peak, NULL}, /* the last, where parts are frozen: those have no gradient of their own */
};
// clang-format on
_Static_assert(sizeof rows / sizeof rows[0] <= MFU_CONVENTIONS_MAX, "conventions.h: too many conventions");

static double flops_of(const struct row *row, const struct counts *n)
{
    double flops = 0;

    for (int k = 0; k < COUNTS; k++)
        flops += row->per_token[k] * n->of[k];
    return flops;
}

size_t mfu_conventions(const struct mfu_plan *p, struct mfu_convention *all)
{
    struct counts counts = count(p);
    size_t n = sizeof rows / sizeof rows[0] - !(p->program.trainable_params < p->program.params);

    for (size_t i = 0; i < n; i++) {
        double flops = flops_of(&rows[i], &counts), peak = rows[i].peak(p);

        all[i] =
            (struct mfu_convention){.name = rows[i].name,
                                    .counts = rows[i].counts,
                                    .peak_of = rows[i].peak_of,
                                    .printed = rows[i].family && strcmp(rows[i].family, p->config.model->family) == 0,
                                    .flops_per_token = flops,
                                    .peak_flops = peak,
                                    .mfu = flops * p->step.tokens_per_s / p->config.ranks / peak};
    }
    return n;
}

double mfu_convention_flops_per_token(const struct mfu_plan *p, const char *name)
{
    struct counts counts = count(p);

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].name, name) == 0)
            return flops_of(&rows[i], &counts);
    return NAN;
}

/* ---- above 100 % --------------------------------------------------------- */

/* Of the FLOP that MFU counts, those that a causal mask or a window leaves to be
 * computed. */
static double computed_share(const struct mfu_plan *p)
{
    return mfu_convention_flops_per_token(p, "causal") / mfu_convention_flops_per_token(p, "megatron-2021");
}

/* The most that a product sustains in that arithmetic. */
static double sustained(const struct mfu_plan *p, enum mfu_peak peak)
{
    return fmax(p->machine.gemm_flops[peak], p->machine.peak_flops[peak] * p->machine.attention_flops);
}

/* The fastest arithmetic of the step: that of the linears, unless the card has more for what is not quantised (int8 on
 * Blackwell Ultra). */
static enum mfu_peak fastest(const struct mfu_plan *p)
{
    enum mfu_peak other = mfu_precisions[p->config.precision].math;

    return sustained(p, other) > sustained(p, p->mfu.peak) ? other : p->mfu.peak;
}

double mfu_use_of_sustained_peak(const struct mfu_plan *p)
{
    return p->mfu.hfu * computed_share(p) * p->mfu.peak_flops / sustained(p, fastest(p));
}

const char *mfu_above_one(const struct mfu_plan *p, char *buf, size_t size)
{
    const struct mfu_mfu_answer *a = &p->mfu;
    double highest = fmax(a->mfu, a->hfu), clock = sustained(p, a->peak) / a->peak_flops, share = computed_share(p);
    bool mixed = fastest(p) != a->peak;
    char rate[MFU_QUANTITY_MAX];
    int n;

    buf[0] = '\0';
    if (!(highest > 1))
        return buf;
    n = snprintf(buf, size, "%s is above 100 %%:", a->mfu > 1 ? "MFU" : "HFU");
    if (share < 0.999 && n < (int)size)
        n += snprintf(buf + n, size - (size_t)n,
                      " it counts attention in full, and the mask leaves part of it out (%.1f %% of the counted FLOP "
                      "are computed)%s",
                      100 * share, mixed || clock > 1.001 ? ", and" : "");
    if (mixed && n < (int)size)
        n += snprintf(buf + n, size - (size_t)n, " what is not in %s runs in %s, which is faster on this card%s",
                      mfu_peak_names[a->peak], mfu_peak_names[fastest(p)], clock > 1.001 ? ", and" : "");
    if (clock > 1.001 && n < (int)size)
        snprintf(buf + n, size - (size_t)n,
                 " the clock is above the rated one (the best product sustains %s, %.0f %% of the rated peak)",
                 mfu_quantity_format(rate, sustained(p, a->peak), MFU_FLOP_PER_S), 100 * clock);
    return buf;
}
