/*
 * html.c - a plan as a page.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "report/html/html.h"
#include "report/html/section.h"
#include "report/html/svg.h"
#include "base/atomic_file.h"

/* ---- what sections share --------------------------------------------------- */

const struct mfu_html_frame mfu_html_frames[MFU_HTML_FRAMES] = {{"wide", 720}, {"narrow", 340}};

/* From below: what stands all the time first. */
const enum mfu_part mfu_html_parts[MFU_PART_COUNT] = {
    MFU_PART_WEIGHTS,     MFU_PART_OPTIMIZER,   MFU_PART_COMMUNICATION, MFU_PART_GRADIENTS, MFU_PART_WEIGHT_CASTS,
    MFU_PART_ACTIVATIONS, MFU_PART_LOGITS_LOSS, MFU_PART_OTHER,         MFU_PART_WORKSPACE};

const char *const mfu_html_part_class[MFU_PART_COUNT] = {
    [MFU_PART_WEIGHTS] = "weights",     [MFU_PART_GRADIENTS] = "gradients",         [MFU_PART_OPTIMIZER] = "optimizer",
    [MFU_PART_WEIGHT_CASTS] = "casts",  [MFU_PART_ACTIVATIONS] = "activations",     [MFU_PART_LOGITS_LOSS] = "logits",
    [MFU_PART_WORKSPACE] = "workspace", [MFU_PART_COMMUNICATION] = "communication", [MFU_PART_OTHER] = "other",
};

void mfu_html_say(FILE *out, const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    mfu_markup_text(out, text);
}

/* The longest name that fits: "backward 2", "bwd 2", "bwd". */
static void phase_name(char *buf, size_t size, const struct mfu_html_phase *p)
{
    static const char *const brief[MFU_PHASE_COUNT] = {
        [MFU_FORWARD] = "fwd", [MFU_BACKWARD] = "bwd", [MFU_OPTIMIZER_PHASE] = "opt"};
    bool number = p->micro_step >= 0 && p->phase != MFU_OPTIMIZER_PHASE;
    double room = p->x1 - p->x0 - 4;

    for (int i = 0; i < 4; i++) {
        snprintf(buf, size, "%s", i % 2 == 0 && i < 2 ? mfu_phase_names[p->phase] : brief[p->phase]);
        if (i < 2 && number)
            snprintf(buf, size, "%s %d", i == 0 ? mfu_phase_names[p->phase] : brief[p->phase], p->micro_step + 1);
        if (mfu_svg_width(buf) <= room)
            return;
    }
    *buf = '\0';
}

void mfu_html_phases(FILE *out, const struct mfu_html_phase *phases, int n, double y0, double y1)
{
    char name[48];

    for (int i = 0; i < n; i++) {
        if (i > 0)
            mfu_svg_line(out, "phase", phases[i].x0, y0, phases[i].x0, y1);
        phase_name(name, sizeof name, &phases[i]);
        if (*name)
            mfu_svg_text(out, "", (phases[i].x0 + phases[i].x1) / 2, y0 + 10, MFU_SVG_MIDDLE, name);
    }
}

void mfu_html_time_axis(FILE *out, double x0, double x1, double y, double seconds, const char *what)
{
    double unit = seconds < 2 ? 1e-3 : 1, step = mfu_svg_tick(seconds / unit, x1 - x0 > 400 ? 8 : 4);
    char text[64];

    for (int i = 0; i * step <= seconds / unit * 1.0001; i++) {
        double x = x0 + i * step * unit / seconds * (x1 - x0);

        snprintf(text, sizeof text, "%g", i * step);
        mfu_svg_line(out, "axis", x, y, x, y + 4);
        mfu_svg_text(out, "faint", x, y + 17, MFU_SVG_MIDDLE, text);
    }
    snprintf(text, sizeof text, "%s, %s", what, unit < 1 ? "ms" : "s");
    mfu_svg_text(out, "faint", (x0 + x1) / 2, y + 34, MFU_SVG_MIDDLE, text);
}

/* ---- the page ---------------------------------------------------------------- */

static const struct section {
    const char *id, *title;
    int (*write)(FILE *, const struct mfu_html_page *, struct mfu_error *);
} sections[] = {
    {"plan", "The plan", mfu_html_plan},
    {"memory", "Memory", mfu_html_memory},
    {"timeline", "One step", mfu_html_timeline},
    {"roofline", "Roofline", mfu_html_roofline},
    {"meters", "What the meters say", mfu_html_meters},
    {"levers", "What could be changed", mfu_html_levers},
    {"scenario", "The scenario", mfu_html_scenario},
};

const char *const mfu_html_sections[] = {"plan",   "memory", "timeline", "roofline",
                                         "meters", "levers", "scenario", NULL};

int mfu_html_scenario(FILE *out, const struct mfu_html_page *page, struct mfu_error *err)
{
    (void)err;
    fputs("<p>These commands make it again; <code>mfuplan FILE</code> runs them from a file, and "
          "<code>report PAGE.html</code> after them writes this page.</p>\n<pre><code>",
          out);
    mfu_markup_text(out, page->commands);
    fputs("</code></pre>\n", out);
    return 0;
}

static void head(FILE *out, const struct mfu_config *c)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
          "<meta name=\"color-scheme\" content=\"light dark\"/>\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
          "img-src data:\"/>\n"
          "<link rel=\"icon\" href=\"data:,\"/>\n<title>",
          out);
    mfu_html_say(out, "%s on %s: a training plan", c->model->name, c->gpu->name);
    fputs("</title>\n<style>\n", out);
    mfu_html_style(out);
    fputs("</style>\n</head>\n", out);
}

static void header(FILE *out, const struct mfu_config *c)
{
    fputs("<header>\n<h1>", out);
    mfu_html_say(out, "%s on %s%s", c->model->name, c->ranks > 1 ? MFU_Q(c->ranks, MFU_COUNT) : "",
                 c->ranks > 1 ? " × " : "");
    mfu_markup_text(out, c->gpu->name);
    fputs("</h1>\n<nav>", out);
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++)
        fprintf(out, "<a href=\"#%s\">%s</a> ", sections[i].id, sections[i].title);
    fputs("</nav>\n</header>\n", out);
}

static int write_page(FILE *out, const struct mfu_html_page *page, struct mfu_error *err)
{
    head(out, &page->plan->config);
    fputs("<body>\n", out);
    header(out, &page->plan->config);
    fputs("<main>\n", out);
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        fprintf(out, "<section id=\"%s\">\n<h2>%s</h2>\n", sections[i].id, sections[i].title);
        if (sections[i].write(out, page, err) < 0)
            return -1;
        fputs("</section>\n", out);
    }
    fputs("</main>\n<footer>", out);
    mfu_html_say(out, "Predicted by mfuplan %s; nothing on this page was measured.", page->version);
    fputs("</footer>\n</body>\n</html>\n", out);
    return 0;
}

int mfu_html_write(const char *path, const struct mfu_html_page *page, struct mfu_error *err)
{
    struct mfu_atomic_file f;

    if (mfu_atomic_file_open(&f, path, err) < 0)
        return -1;
    if (write_page(f.out, page, err) < 0) {
        mfu_atomic_file_drop(&f);
        return -1;
    }
    return mfu_atomic_file_close(&f, err);
}
