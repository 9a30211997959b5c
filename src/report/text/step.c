/*
 * step.c - where the time of a step goes: by phase, by kind of kernel.
 */
#include <math.h>
#include <stdlib.h>

#include "plan/exchanges.h"
#include "plan/kernels.h"
#include "report/report.h"
#include "report/text/text.h"
#include "base/short.h"

static void share_row(struct mfu_table *t, const char *name, double s, double whole)
{
    mfu_table_cells(t, "%s\t%s\t%s\t%g", name, Q(s, MFU_SECONDS), P(s / whole), s / whole);
}

static void phases(FILE *out, const struct mfu_term *t, const struct mfu_plan *p)
{
    const struct mfu_step_answer *s = &p->step;
    static const struct mfu_column columns[] = {
        {"phase", .left = true}, {"time", .rank = 0}, {"share", .rank = 0}, {"", .bar = true, .rank = 1}};
    struct mfu_table table = MFU_TABLE(columns);

    share_row(&table, "forward", s->forward_s, s->time_s);
    share_row(&table, "backward", s->backward_s, s->time_s);
    share_row(&table, "optimizer", s->optimizer_s, s->time_s);
    if (s->communication_exposed_s > 0)
        share_row(&table, "communication", s->communication_exposed_s, s->time_s);
    if (p->paging_s > 0)
        share_row(&table, "paging", p->paging_s, s->time_s);
    share_row(&table, "idle", s->idle_s, s->time_s);
    mfu_table_print(out, t, &table);
}

/* Time per kind and phase, and what the readings are meanwhile. */
static int kinds(FILE *out, const struct mfu_term *t, const struct mfu_plan *p)
{
    static const struct mfu_column columns[] = {
        {"kernels", .left = true}, {"count", .rank = 4},        {"forward", .rank = 5},      {"backward", .rank = 5},
        {"optimizer", .rank = 6},  {"between GPUs", .rank = 6}, {"time", .rank = 0},         {"share", .rank = 0},
        {"tensor", .rank = 2},     {"DRAM", .rank = 2},         {"", .bar = true, .rank = 3}};
    struct mfu_table table = MFU_TABLE(columns);
    struct mfu_kernel_row *rows;
    int n = mfu_kernel_kinds(p, &rows, NULL);
    bool done[MFU_KIND_COUNT] = {false};

    if (n < 0) {
        mfu_term_lose(t);
        return -1;
    }
    for (;;) { /* the kind that takes longest */
        double best_s = 0, time[MFU_PHASE_COUNT] = {0}, count = 0, tensor = 0, dram = 0;
        int best = -1;

        for (int kind = 0; kind < MFU_KIND_COUNT; kind++) {
            double sum = 0;

            for (int i = 0; i < n; i++)
                sum += (int)rows[i].kind == kind ? rows[i].time_s : 0;
            if (!done[kind] && sum > best_s) {
                best_s = sum;
                best = kind;
            }
        }
        if (best < 0)
            break;
        done[best] = true;
        for (int i = 0; i < n; i++)
            if ((int)rows[i].kind == best) {
                time[rows[i].phase] += rows[i].time_s;
                count += rows[i].count;
                tensor += rows[i].time_s / best_s * rows[i].tensor_active;
                dram += rows[i].time_s / best_s * rows[i].dram_active;
            }
        mfu_table_cells(&table, "%s\t%s", mfu_kind_names[best], Q(round(count), MFU_COUNT));
        for (int i = 0; i < MFU_PHASE_COUNT; i++)
            mfu_table_cells(&table, "%s", time[i] > 0 ? Q(time[i], MFU_SECONDS) : "");
        mfu_table_cells(&table, "%s\t%s\t%.0f %%\t%.0f %%\t%g", Q(best_s, MFU_SECONDS), P(best_s / p->step.time_s),
                        100 * tensor, 100 * dram, best_s / p->step.time_s);
    }
    free(rows);
    mfu_table_below(out, t, &table);
    return 0;
}

/* Who waits for whom over what. */
static void exchanges(FILE *out, const struct mfu_term *t, const struct mfu_plan *p)
{
    const struct mfu_column columns[] = {{mfu_offloads(&p->config) ? "messages" : "between GPUs", .left = true},
                                         {"of", .rank = 4},
                                         {"over", .left = true},
                                         {"time", .rank = 1},
                                         {"exposed", .rank = 0},
                                         {"share", .rank = 0},
                                         {"in node", .rank = 3},
                                         {"network", .rank = 2},
                                         {"", .bar = true, .rank = 5}};
    struct mfu_table table = MFU_TABLE(columns);
    struct mfu_exchange list[MFU_MOST_EXCHANGES];

    for (int i = 0, n = mfu_exchanges(p, list); i < n; i++)
        mfu_table_cells(&table, "%s\t%g\t%s\t%s\t%s\t%s\t%s\t%s\t%g", list[i].group, list[i].ranks, list[i].level,
                        Q(list[i].time_s, MFU_SECONDS), Q(list[i].exposed_s, MFU_SECONDS),
                        P(list[i].exposed_s / p->step.time_s), Q(list[i].fabric_bytes + list[i].drive_bytes, MFU_BYTES),
                        Q(list[i].nic_bytes, MFU_BYTES), list[i].exposed_s / p->step.time_s);
    mfu_table_below(out, t, &table);
}

/* What each stage of a pipeline does with its step. */
static void stages(FILE *out, const struct mfu_term *t, const struct mfu_plan *p)
{
    static const struct mfu_column columns[] = {
        {"stage", .rank = 0},    {"layers", .rank = 3},        {"forward", .rank = 2}, {"backward", .rank = 2},
        {"computes", .rank = 0}, {"sends", .rank = 1},         {"bubble", .rank = 0},  {"imbalance", .rank = 0},
        {"after", .rank = 4},    {"", .left = true, .rank = 1}};
    struct mfu_table table = MFU_TABLE(columns);

    for (int i = 0; i < p->n_stages; i++) {
        const struct mfu_stage *s = &p->stages[i];

        mfu_table_cells(&table, "%d\t%g\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s", i + 1, s->layers,
                        Q(s->forward_s, MFU_SECONDS), Q(s->backward_s, MFU_SECONDS),
                        P(mfu_pipeline_passes(&p->config.pipeline) * (s->forward_s + s->backward_s) / p->step.time_s),
                        P(s->waits_s / p->step.time_s), P((s->idle_s - s->imbalance_s) / p->step.time_s),
                        P(s->imbalance_s / p->step.time_s), P(s->after_s / p->step.time_s),
                        i == p->shown_stage ? "the busiest" : "");
    }
    mfu_table_below(out, t, &table);
}

void mfu_text_step(FILE *out, const struct mfu_term *t, const struct mfu_plan *p)
{
    const struct mfu_step_answer *s = &p->step;
    const char *samples = mfu_model_samples(p->config.model);
    struct mfu_flow f = mfu_flow_start(out, t, "", 0);

    mfu_flow_words(&f, MFU_STRONG, "One optimizer step takes %s", Q(s->time_s, MFU_SECONDS));
    if (isfinite(s->low_s))
        mfu_flow_words(&f, MFU_PLAIN, "(90 %%: %s to %s)", Q(s->low_s, MFU_SECONDS), Q(s->high_s, MFU_SECONDS));
    if (samples)
        mfu_flow_words(&f, MFU_PLAIN, "for %s %s: %s %s/s.", Q(s->samples_per_s * s->time_s, MFU_COUNT), samples,
                       Q(s->samples_per_s, MFU_COUNT), samples);
    else
        mfu_flow_words(&f, MFU_PLAIN, "for %s tokens: %s tokens/s, %s samples/s.", Q(s->tokens, MFU_TOKENS),
                       Q(s->tokens_per_s, MFU_COUNT), Q(s->samples_per_s, MFU_COUNT));
    mfu_flow_end(&f);
    phases(out, t, p);
    kinds(out, t, p);
    exchanges(out, t, p);
    stages(out, t, p);
    f = mfu_flow_start(out, t, "", 0);
    mfu_flow_words(
        &f, MFU_FAINT,
        "%s kernels; the CPU takes %s to launch them, %s. tensor, DRAM: shares of the peaks while these kernels run.",
        Q(round(s->kernels), MFU_COUNT), Q(s->host_s, MFU_SECONDS),
        p->limit == MFU_LIMIT_LAUNCH ? "longer than they run" : "while the GPU works");
    if (p->n_stages > 0)
        mfu_flow_words(&f, MFU_FAINT,
                       "Times above are those of the busiest stage. forward, backward: of one microbatch; imbalance: "
                       "a stage waits since it computes less than the busiest.");
    mfu_flow_end(&f);
}
