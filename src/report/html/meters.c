/*
 * meters.c - what tools would read during the step, and what other
 * programs would call its MFU.
 */
#include <math.h>

#include "report/html/html.h"
#include "plan/conventions.h"
#include "plan/metrics.h"
#include "report/html/section.h"

static void bar(FILE *out, double share)
{
    fprintf(out, "<td><span class=\"meter\"><span style=\"width:%.1f%%\"></span></span></td>",
            100 * fmin(fmax(share, 0), 1));
}

static void meter(FILE *out, const struct mfu_meter *row, double share)
{
    char key[64];

    snprintf(key, sizeof key, "metrics.%s", row->key);
    fprintf(out, "<tr><th scope=\"row\">%s</th><td class=\"n\">", row->name);
    mfu_markup_figure(out, key, share, MFU_RATIO);
    fputs("</td>", out);
    bar(out, isfinite(share) ? share : 0);
    fprintf(out, "<td class=\"more\">%s</td><td class=\"faint\">", row->tool);
    mfu_markup_text(out, row->hides);
    fputs("</td></tr>\n", out);
}

static void power(FILE *out, const struct mfu_metrics *m)
{
    fputs("<tr><th scope=\"row\">power</th><td class=\"n\">", out);
    mfu_markup_figure(out, "metrics.power_w", m->power_w, MFU_WATTS);
    fputs("</td>", out);
    bar(out, m->power_w > 0 && m->board_w > 0 ? m->power_w / m->board_w : 0);
    fputs("<td class=\"more\">nvidia-smi</td><td class=\"faint\">", out);
    if (m->board_w > 0)
        mfu_html_say(out, "of %s; estimated", MFU_Q(m->board_w, MFU_WATTS));
    fputs("</td></tr>\n", out);
}

static void conventions(FILE *out, const struct mfu_plan *p)
{
    struct mfu_convention all[MFU_CONVENTIONS_MAX];
    size_t n = mfu_conventions(p, all);

    fputs("<h3>MFU by whose rules</h3>\n<div class=\"scroll\"><table>\n<tr><th>convention</th><th class=\"n\">MFU</th>"
          "<th class=\"n more\">FLOP per token</th><th class=\"more\">counts</th><th>divides by</th></tr>\n",
          out);
    for (size_t i = 0; i < n; i++) {
        char key[64];

        fputs("<tr><td>", out);
        mfu_markup_text(out, all[i].name);
        fputs("</td><td class=\"n\">", out);
        snprintf(key, sizeof key, "mfu.conventions.%zu.mfu", i);
        mfu_markup_figure(out, key, all[i].mfu, MFU_RATIO);
        fputs("</td><td class=\"n more\">", out);
        snprintf(key, sizeof key, "mfu.conventions.%zu.flops_per_token", i);
        mfu_markup_figure(out, key, all[i].flops_per_token, MFU_FLOP);
        fputs("</td><td class=\"more\">", out);
        mfu_markup_text(out, all[i].counts);
        fputs("</td><td>", out);
        mfu_html_say(out, "%s: %s", MFU_Q(all[i].peak_flops, MFU_FLOP_PER_S), all[i].peak_of);
        fputs("</td></tr>\n", out);
    }
    fputs("</table></div>\n", out);
}

int mfu_html_meters(FILE *out, const struct mfu_html_report *page, struct mfu_error *err)
{
    struct mfu_metrics m;

    (void)err;
    mfu_metrics_of_plan(page->plan, &m);
    fputs("<p>", out);
    mfu_html_say(
        out,
        "nvidia-smi would say %s busy; the tensor cores work %s of the time, MFU is %s. Averages over one step, "
        "and what each reading hides:",
        MFU_P(m.gpu_utilization), MFU_P(m.tensor_active), MFU_P(m.mfu));
    fputs("</p>\n<div class=\"scroll\"><table>\n<tr><th>meter</th><th class=\"n\">reads</th><th></th><th "
          "class=\"more\">of</th>"
          "<th>what it hides</th></tr>\n",
          out);
    for (size_t i = 0; i < mfu_meter_count; i++)
        if (!isnan(mfu_meter_value(&mfu_meters[i], &m)))
            meter(out, &mfu_meters[i], mfu_meter_value(&mfu_meters[i], &m));
    power(out, &m);
    fputs("</table></div>\n", out);
    if (!mfu_model_samples(page->plan->config.model))
        conventions(out, page->plan);
    return 0;
}
