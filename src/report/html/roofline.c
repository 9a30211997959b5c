/*
 * roofline.c - kernels below the roofs of the GPU, and the longest of them
 * as a table.
 */
#include <stdlib.h>
#include <string.h>

#include "plan/roofline.h"
#include "report/draw/canvas.h"
#include "report/html/html.h"
#include "report/html/section.h"

/* May go on in a new line after a point. */
static void kernel_name(FILE *out, const char *name)
{
    while (*name) {
        int length = (int)strcspn(name, ".") + (strchr(name, '.') != NULL);

        mfu_html_say(out, "%.*s", length, name);
        name += length;
        if (*name)
            fputs("<wbr/>", out);
    }
}

static void table(FILE *out, const struct mfu_kernel_row *rows, int n)
{
    fputs("<div class=\"scroll\"><table>\n<tr><th class=\"n\"></th><th>kernel</th><th class=\"more\">phase</th>"
          "<th class=\"n\">of the step</th><th class=\"n more\">time</th><th class=\"n more\">FLOP/byte</th><th "
          "class=\"n more\">reaches</th>"
          "<th>bound</th></tr>\n",
          out);
    for (int i = 0; i < n && i < MFU_NUMBERED; i++) {
        const struct mfu_kernel_row *r = &rows[i];

        fprintf(out, "<tr><td class=\"n\">%d</td><td class=\"name\">", i + 1);
        kernel_name(out, r->name);
        fprintf(
            out,
            "</td><td class=\"more\">%s</td><td class=\"n\">%s</td><td class=\"n more\">%s</td><td class=\"n more\">",
            mfu_phase_names[r->phase], MFU_P(r->share), MFU_Q(r->time_s, MFU_SECONDS));
        if (r->flops > 0)
            fprintf(out, r->intensity < 10 ? "%.2g" : "%.0f", r->intensity);
        fprintf(out, "</td><td class=\"n more\">%s</td><td>%s</td></tr>\n",
                r->price.bound == MFU_BOUND_COMPUTE ? MFU_Q(r->flops_per_s, MFU_FLOP_PER_S)
                                                    : MFU_Q(r->bytes_per_s, MFU_BYTES_PER_S),
                mfu_bound_names[r->price.bound]);
    }
    fputs("</table></div>\n", out);
}

int mfu_html_roofline(FILE *out, const struct mfu_html_report *page, struct mfu_error *err)
{
    struct mfu_canvas c = mfu_canvas_page(out);
    struct mfu_kernel_row *rows;
    int n;

    if (mfu_figure_roofline.draw(&c, page->plan, page->simulation, err) < 0)
        return -1;
    if ((n = mfu_kernel_rows(page->plan, &rows, NULL)) < 0)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    mfu_kernels_by_time(rows, n);
    fputs("<p>Numbers are those of the longest kernels, all layers and micro-steps of a step together:</p>\n", out);
    table(out, rows, n);
    free(rows);
    return 0;
}
