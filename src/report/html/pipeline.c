/*
 * pipeline.c - the stages of a pipeline: when they run, what they hold.
 */
#include "base/quantity.h"
#include "report/draw/canvas.h"
#include "report/html/html.h"
#include "report/html/section.h"

int mfu_html_pipeline(FILE *out, const struct mfu_html_report *page, struct mfu_error *err)
{
    const struct mfu_plan *p = page->plan;
    struct mfu_canvas c = mfu_canvas_page(out);

    if (mfu_figure_pipeline.draw(&c, p, page->simulation, err) < 0)
        return -1;
    fputs(
        "<p class=\"note\">Forward and backward are of one microbatch. Bubble: the stage waits for messages of others; "
        "imbalance: it waits since it computes less than the busiest.</p>\n"
        "<div class=\"scroll\"><table>\n<tr><th class=\"n\">stage</th><th class=\"n more\">layers</th>"
        "<th class=\"n\">forward</th><th class=\"n\">backward</th><th class=\"n\">bubble</th>"
        "<th class=\"n\">imbalance</th><th class=\"n more\">in flight</th><th class=\"n\">allocated</th></tr>\n",
        out);
    for (int i = 0; i < p->n_stages; i++) {
        const struct mfu_stage *s = &p->stages[i];

        fprintf(out,
                "<tr><td class=\"n\">%d</td><td class=\"n more\">%g</td><td class=\"n\">%s</td><td class=\"n\">%s</td>"
                "<td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n more\">%.3g</td>"
                "<td class=\"n%s\">%s</td></tr>\n",
                i + 1, s->layers, MFU_Q(s->forward_s, MFU_SECONDS), MFU_Q(s->backward_s, MFU_SECONDS),
                MFU_P((s->idle_s - s->imbalance_s) / p->step.time_s), MFU_P(s->imbalance_s / p->step.time_s),
                s->in_flight, s->memory.fits ? "" : " alarm", MFU_Q(s->memory.peak.bytes, MFU_BYTES));
    }
    fputs("</table></div>\n", out);
    return 0;
}
