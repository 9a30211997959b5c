#include <string.h>

#include "base/suggest.h"
#include "report/draw/canvas.h"
#include "report/plot/gnuplot.h"
#include "repl/command.h"
#include "repl/completers.h"
#include "repl/output.h"

#define MOST_PLOTS 16

struct request {
    const struct mfu_figure *plot;
    const char *file, *keep; /* keep: for the script, or NULL */
    int file_word, keep_word;
};

static int unknown(struct mfu_session *s, const char *name, struct mfu_error *err)
{
    const char *names[MOST_PLOTS];
    char list[160];
    size_t n = 0;

    for (; n < MOST_PLOTS && mfu_figures[n]; n++)
        names[n] = mfu_figures[n]->name;
    mfu_fail(err, MFU_EINPUT, "there is no picture called '%.60s': expected %s", name,
             mfu_names_list(list, sizeof list, names, n));
    mfu_error_nearest(err, name, names, n);
    return mfu_error_caret(s, err, 1);
}

static int parse(struct mfu_session *s, int argc, char **argv, struct request *r, struct mfu_error *err)
{
    for (size_t i = 0; mfu_figures[i]; i++)
        if (mfu_same_name(argv[1], mfu_figures[i]->name))
            r->plot = mfu_figures[i];
    if (!r->plot)
        return unknown(s, argv[1], err);
    for (int i = 2; i < argc; i++)
        if (strcmp(argv[i], "--gnuplot") == 0) {
            if (i + 1 == argc)
                return mfu_fail_word(s, err, i, "--gnuplot needs a file for the script, such as %s.gp", r->plot->name);
            r->keep = argv[++i];
            r->keep_word = i;
        } else if (r->file)
            return mfu_fail_word(s, err, i, "'%.200s': expected one file, and maybe --gnuplot SCRIPT", argv[i]);
        else {
            r->file = argv[i];
            r->file_word = i;
        }
    if (!r->file && !r->plot->text)
        return mfu_fail(err, MFU_EINPUT,
                        "a file for the picture is missing, such as %s.svg; memory, roofline and step draw here",
                        r->plot->name);
    return 0;
}

static int draw(struct mfu_session *s, const struct request *r, struct mfu_error *err)
{
    struct mfu_gnuplot g;

    if (mfu_may_replace(s, r->file, false, MFU_FORCE, err) < 0)
        return mfu_error_caret(s, err, r->file_word);
    if (r->keep && mfu_may_replace(s, r->keep, false, MFU_FORCE, err) < 0)
        return mfu_error_caret(s, err, r->keep_word);
    if (mfu_gnuplot_begin(&g, r->file, r->keep, err) < 0)
        return mfu_error_caret(s, err, r->file_word);
    if (mfu_figure_picture(g.script, r->plot, &s->plan, &s->simulation, err) < 0) {
        mfu_gnuplot_drop(&g);
        return -1;
    }
    return mfu_gnuplot_end(&g, err);
}

// clang-format off
#define DRAWN(X) \
    X(TEXT, plot,   0, r->plot->name, "the picture") \
    X(TEXT, file,   0, r->file,       "that was written; null: in characters") \
    X(TEXT, script, 0, r->keep,       "of gnuplot, if it was kept; else null")
MFU_FIELDS(plot, const struct request *r, DRAWN)
static const struct mfu_record record = MFU_RECORD(plot, .command = "plot");
// clang-format on

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    struct request r = {0};

    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): parse() leaves a picture or fails */
    if (parse(s, argc, argv, &r, err) < 0
        || mfu_session_simulate(s, r.plot->records && r.plot->records(&s->memory.now), err) < 0)
        return -1;
    if (!r.file && !s->json)
        return r.plot->text(s->out, &s->term, &s->plan, err);
    if (r.file && draw(s, &r, err) < 0)
        return -1;
    if (!s->json) {
        mfu_print_note(s, "drew %s", r.file);
        if (r.keep)
            mfu_print_note(s, "its script is %s", r.keep);
        return 0;
    }
    return mfu_answer(s, &record, &r, err);
}

static const char *offer(struct mfu_session *s, size_t i)
{
    size_t n = 0;

    (void)s;
    while (n < i && mfu_figures[n])
        n++;
    return mfu_figures[n] ? mfu_figures[n]->name : NULL;
}

const struct mfu_command mfu_command_plot = {
    .name = "plot",
    .usage = "PICTURE [FILE.svg|png] [--gnuplot SCRIPT] [--force]",
    .group = "look closer",
    .summary = "a picture of the plan",
    .help = "Draws a picture with gnuplot into FILE.svg, .png or .pdf:\n"
            "\n"
            "    memory    memory over one step, by part\n"
            "    pipeline  the stages of a pipeline over one step; without FILE in characters\n"
            "    roofline  kernels below the roofs of the GPU\n"
            "    split     the memory of the card as one bar\n"
            "    timeline  what the GPU does over one step\n"
            "\n"
            "--gnuplot keeps the script, with all that it draws inside, for your changes.\n"
            "\n"
            "    set batch 8; plot roofline roofline.svg\n"
            "    plot memory memory.png --gnuplot memory.gp",
    .writes = true,
    .least_args = 1,
    .most_args = -1,
    .offer = {offer, mfu_offer_files},
    .answers = MFU_ANSWERS(&record),
    .run = run,
};
