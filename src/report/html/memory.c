/*
 * memory.c - the memory of the card as one bar, its parts, and how they
 * change over a step.
 */
#include <string.h>

#include "report/draw/canvas.h"
#include "report/html/html.h"
#include "report/html/section.h"

static void bytes_cell(FILE *out, const char *key, double bytes)
{
    fputs("<td class=\"n\">", out);
    if (*key)
        mfu_markup_figure(out, key, bytes, MFU_BYTES);
    else
        mfu_markup_text(out, MFU_Q(bytes, MFU_BYTES));
    fputs("</td>", out);
}

static void sum(FILE *out, const char *name, const char *key, double bytes, double whole, const char *what)
{
    fprintf(out, "<tr class=\"sum\"><th scope=\"row\">%s</th>", name);
    bytes_cell(out, key, bytes);
    fprintf(out, "<td class=\"n\">%s</td><td class=\"faint more\">%s</td></tr>\n", MFU_P(bytes / whole), what);
}

static void table(FILE *out, const struct mfu_plan *p)
{
    const struct mfu_memory_answer *m = &p->memory;
    struct mfu_memory_piece pieces[MFU_MEMORY_PIECES];
    int n = mfu_memory_pieces(p, pieces);
    double whole = m->capacity_bytes;

    fputs("<div class=\"scroll\"><table>\n<tr><th>part</th><th class=\"n\">bytes</th><th class=\"n\">of the card</th>"
          "<th class=\"more\">what it is</th></tr>\n",
          out);
    for (int i = 0; i < n; i++) {
        fprintf(out, "<tr><td class=\"part\"><span class=\"key %s\"></span>%s</td>", pieces[i].class, pieces[i].name);
        bytes_cell(out, pieces[i].key, pieces[i].bytes);
        fprintf(out, "<td class=\"n\">%s</td><td class=\"faint more\">%s</td></tr>\n", MFU_P(pieces[i].bytes / whole),
                pieces[i].what);
        if (i + 1 < n && strcmp(pieces[i + 1].class, "cached") == 0)
            sum(out, "allocated", "memory.peak_allocated_bytes", m->peak.bytes, whole,
                "torch.cuda.max_memory_allocated()");
        if (strcmp(pieces[i].class, "cached") == 0)
            sum(out, "reserved", "memory.peak_reserved_bytes", m->reserved_bytes, whole,
                "torch.cuda.max_memory_reserved()");
        if (strcmp(pieces[i].class, "context") == 0)
            sum(out, "nvidia-smi", "memory.smi_used_bytes", m->smi_bytes, whole, "in use by the process");
    }
    sum(out, "the card", "memory.capacity_bytes", m->capacity_bytes, whole,
        m->capacity_assumed ? "offered to a process, estimated" : "offered to a process");
    fputs("</table></div>\n", out);
}

static int over_time(FILE *out, const struct mfu_html_report *page, struct mfu_error *err)
{
    struct mfu_canvas c = mfu_canvas_page(out);
    struct mfu_error why = {0};

    fputs("<h3>Over a step</h3>\n", out);
    if (mfu_figure_memory.draw(&c, page->plan, page->simulation, &why) == 0)
        return 0;
    if (why.code == MFU_ENOMEM)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    fputs("<p>Not drawn: ", out);
    mfu_markup_text(out, why.text);
    fputs(".</p>\n", out);
    return 0;
}

int mfu_html_memory(FILE *out, const struct mfu_html_report *page, struct mfu_error *err)
{
    struct mfu_canvas c = mfu_canvas_page(out);

    fputs("<p>At its highest moment: ", out);
    mfu_markup_text(out, page->plan->memory.peak_at);
    if (page->plan->n_stages > 0)
        mfu_html_say(out, "; of stage %d of %d, which holds the most", page->plan->worst_stage + 1,
                     page->plan->n_stages);
    fputs(".</p>\n", out);
    if (mfu_figure_split.draw(&c, page->plan, page->simulation, err) < 0)
        return -1;
    table(out, page->plan);
    return over_time(out, page, err);
}
