/*
 * html.c - a plan as a page.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "report/draw/canvas.h"
#include "report/html/html.h"
#include "report/html/section.h"
#include "base/atomic_file.h"
#include "descriptor/maker.h"

/* ---- what sections share --------------------------------------------------- */

void mfu_html_say(FILE *out, const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    mfu_markup_text(out, text);
}

/* ---- the page ---------------------------------------------------------------- */

static const struct section {
    const char *id, *title;
    int (*write)(FILE *, const struct mfu_html_report *, struct mfu_error *);
    bool of_pipeline; /* left out where there is none */
} sections[] = {
    {"plan", "The plan", mfu_html_plan, false},
    {"memory", "Memory", mfu_html_memory, false},
    {"pipeline", "The pipeline", mfu_html_pipeline, true},
    {"timeline", "One step", mfu_html_timeline, false},
    {"roofline", "Roofline", mfu_html_roofline, false},
    {"meters", "What the meters say", mfu_html_meters, false},
    {"levers", "What could be changed", mfu_html_levers, false},
    {"scenario", "The scenario", mfu_html_scenario, false},
};

/* The i-th of those that are there; NULL behind the last. */
static const struct section *section_at(const struct mfu_plan *p, size_t i)
{
    for (size_t k = 0; k < sizeof sections / sizeof sections[0]; k++)
        if ((!sections[k].of_pipeline || p->n_stages > 0) && i-- == 0)
            return &sections[k];
    return NULL;
}

const char *mfu_html_section(const struct mfu_plan *p, size_t i)
{
    const struct section *s = section_at(p, i);

    return s ? s->id : NULL;
}

int mfu_html_put_section(FILE *out, const struct mfu_html_report *page, size_t i, struct mfu_error *err)
{
    const struct section *s = section_at(page->plan, i);

    if (!s)
        return mfu_fail(err, MFU_EINPUT, "a report has no section %zu", i);
    fprintf(out, "<section id=\"%s\">\n<h2>%s</h2>\n", s->id, s->title);
    if (s->write(out, page, err) < 0)
        return -1;
    fputs("</section>\n", out);
    return 0;
}

int mfu_html_timeline(FILE *out, const struct mfu_html_report *page, struct mfu_error *err)
{
    struct mfu_canvas c = mfu_canvas_page(out);

    return mfu_figure_timeline.draw(&c, page->plan, page->simulation, err);
}

int mfu_html_scenario(FILE *out, const struct mfu_html_report *page, struct mfu_error *err)
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
          "<meta name=\"generator\" content=\"mfuplan\"/>\n"
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

/* What nobody gave has no section. */
static bool is_given(const struct section *s, const struct mfu_html_report *page)
{
    return s->write == mfu_html_levers  ? page->advice != NULL
        : s->write == mfu_html_scenario ? page->commands != NULL
                                        : true;
}

static void header(FILE *out, const struct mfu_html_report *page)
{
    const struct mfu_config *c = &page->plan->config;
    const struct section *s;

    fputs("<header>\n<h1>", out);
    mfu_html_say(out, "%s on %s%s", c->model->name, c->ranks > 1 ? MFU_Q(c->ranks, MFU_COUNT) : "",
                 c->ranks > 1 ? " × " : "");
    mfu_markup_text(out, c->gpu->name);
    fputs("</h1>\n<nav>", out);
    for (size_t i = 0; (s = section_at(page->plan, i)); i++)
        if (is_given(s, page))
            fprintf(out, "<a href=\"#%s\">%s</a> ", s->id, s->title);
    fputs("</nav>\n</header>\n", out);
}

static int write_page(FILE *out, const struct mfu_html_report *page, struct mfu_error *err)
{
    const struct section *s;

    head(out, &page->plan->config);
    fputs("<body>\n", out);
    header(out, page);
    fputs("<main>\n", out);
    for (size_t i = 0; (s = section_at(page->plan, i)); i++)
        if (is_given(s, page) && mfu_html_put_section(out, page, i, err) < 0)
            return -1;
    fputs("</main>\n<footer>", out);
    mfu_html_say(out, "Predicted by mfuplan %s; nothing on this page was measured.", page->version);
    fputs("</footer>\n</body>\n</html>\n", out);
    return 0;
}

int mfu_html_put_page(FILE *to, const struct mfu_html_report *page, struct mfu_error *err)
{
    static const enum mfu_safe how = MFU_SAFE_TEXT;
    const struct mfu_word *words = mfu_maker(page->plan->config.gpu->vendor)->words;
    FILE *out = mfu_safe_stream(to, &how, &words);
    int status = out ? write_page(out, page, err) : mfu_fail(err, MFU_ENOMEM, "out of memory");

    if (out && fclose(out) != 0 && status == 0)
        status = mfu_fail(err, MFU_EIO, "%s", strerror(errno));
    return status;
}

int mfu_html_write(const char *path, const struct mfu_html_report *page, struct mfu_error *err)
{
    struct mfu_atomic_file f;

    if (mfu_atomic_file_open(&f, path, err) < 0)
        return -1;
    if (mfu_html_put_page(f.out, page, err) < 0) {
        mfu_atomic_file_drop(&f);
        return mfu_within(err, "%s", path);
    }
    return mfu_atomic_file_close(&f, err);
}
