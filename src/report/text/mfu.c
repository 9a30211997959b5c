/*
 * mfu.c - one run, many MFU figures: what each counts and divides by.
 */
#include <math.h>

#include "plan/conventions.h"
#include "report/report.h"
#include "report/text/text.h"
#include "base/short.h"

/* Where the peak comes from, and that a faster clock would raise it. */
static void peak(FILE *out, const struct mfu_term *t, const struct mfu_plan *p)
{
    const struct mfu_gpu *g = p->config.gpu;
    const struct mfu_mfu_answer *a = &p->mfu;
    double flop = 2 * g->fma_per_clock_sm[a->peak], clock_hz = g->tensor_hz > 0 ? g->tensor_hz : g->boost_hz;
    double faster = g->max_observed_hz / clock_hz;
    struct mfu_flow f;

    if (!(fabs(g->sms * flop * clock_hz / a->peak_flops - 1) < 0.03))
        return; /* unknown, or capped */
    f = mfu_flow_start(out, t, "", 0);
    mfu_flow_words(&f, MFU_PLAIN, "Peak: %s SMs %s %s FLOP per clock %s %s, the rated clock.", Q(g->sms, MFU_COUNT),
                   mfu_text_times(t), Q(flop, MFU_COUNT), mfu_text_times(t), Q(clock_hz, MFU_HERTZ));
    if (faster > 1.02)
        mfu_flow_words(&f, MFU_PLAIN,
                       "Cards may run faster: at %s, the highest seen, the peak would be %s and this MFU %s.",
                       Q(g->max_observed_hz, MFU_HERTZ), Q(faster * a->peak_flops, MFU_FLOP_PER_S), P(a->mfu / faster));
    mfu_flow_end(&f);
}

static void conventions(FILE *out, const struct mfu_term *t, const struct mfu_plan *p)
{
    static const struct mfu_column columns[] = {{"convention", .left = true},
                                                {"FLOP/token", .rank = 1},
                                                {"peak", .rank = 2},
                                                {"MFU", .rank = 0},
                                                {"", .bar = true, .rank = 5},
                                                {"counts", .left = true, .rank = 3},
                                                {"divides by", .left = true, .rank = 4}};
    struct mfu_table table = MFU_TABLE(columns);
    struct mfu_convention all[MFU_CONVENTIONS_MAX];
    size_t n = mfu_conventions(p, all);

    fputc('\n', out);
    for (size_t i = 0; i < n; i++) {
        mfu_table_cells(&table, "%s\t%s\t%s\t%s\t%g\t%s\t%s", all[i].name, Q(all[i].flops_per_token, MFU_FLOP),
                        Q(all[i].peak_flops, MFU_FLOP_PER_S), P(all[i].mfu), all[i].mfu, all[i].counts, all[i].peak_of);
    }
    mfu_table_print(out, t, &table);
    mfu_paragraph(out, t, "", 0, MFU_FAINT,
                  "N: parameters that a token uses; products: those that are multiplied with; L: layers; d: width of "
                  "all heads; T: tokens of a sequence.");
}

void mfu_text_mfu(FILE *out, const struct mfu_term *t, const struct mfu_plan *p)
{
    const struct mfu_mfu_answer *a = &p->mfu;
    const char *samples = mfu_model_samples(p->config.model);
    struct mfu_flow f = mfu_flow_start(out, t, "", 0);
    char why[320];

    mfu_flow_words(&f, MFU_STRONG, "MFU %s", P(a->mfu));
    mfu_flow_words(&f, MFU_PLAIN,
                   "of this card's own dense %s peak, %s: %s of model FLOP (attention in full) at %s %s/s. HFU, "
                   "what is really computed: %s.",
                   mfu_peak_names[a->peak], Q(a->peak_flops, MFU_FLOP_PER_S), Q(a->achieved_flops, MFU_FLOP_PER_S),
                   Q(samples ? p->step.samples_per_s : p->step.tokens_per_s, MFU_COUNT), samples ? samples : "tokens",
                   P(a->hfu));
    if (*mfu_above_one(p, why, sizeof why))
        mfu_flow_words(&f, MFU_WARN, "%s.", why);
    mfu_flow_end(&f);
    peak(out, t, p);
    if (samples)
        mfu_paragraph(out, t, "", 0, MFU_PLAIN,
                      "Conventions of language models (6 N and others) count each parameter once for each token: of %s "
                      "they say nothing.",
                      samples);
    else
        conventions(out, t, p);
    mfu_paragraph(out, t, "", 0, MFU_PLAIN,
                  "Quote %s with its peak (%s %s, dense) and say that attention is counted in full%s.", P(a->mfu),
                  Q(a->peak_flops, MFU_FLOP_PER_S), mfu_peak_names[a->peak],
                  samples ? "" : "; compare figures of two programs only after this table");
}
