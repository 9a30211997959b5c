#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "answer/advise/advise.h"
#include "report/html/html.h"
#include "repl/command.h"
#include "repl/completers.h"
#include "repl/script.h"
#include "repl/output.h"

/* The commands that make the scenario; NULL when out of memory. */
static char *commands_of(struct mfu_session *s)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    mfu_script_put(out, s);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

// clang-format off
#define WRITTEN(X) \
    X(TEXT,      file,     0,                   w->file,                  "that was written") \
    X(MADE_LIST, sections, &mfu_record_strings, make_sections(w->plan, v), "of the page")
struct written {
    const char *file;
    const struct mfu_plan *plan;
};
static void make_sections(const struct mfu_plan *p, struct mfu_value *v)
{
    const char **list = mfu_value_own(v, 16, sizeof *list);

    v->n = 0;
    while (list && v->n < 16 && (list[v->n] = mfu_html_section(p, v->n)))
        v->n++;
}
MFU_FIELDS(report, const struct written *w, WRITTEN)
static const struct mfu_record record = MFU_RECORD(report, .command = "report");
// clang-format on

/* Plans the levers, then the scenario itself, and writes the page. */
static int write_page(struct mfu_session *s, const char *file, struct mfu_error *err)
{
    struct mfu_advice advice;
    struct mfu_html_report page = {
        .plan = &s->plan, .simulation = &s->simulation, .advice = &advice, .version = MFUPLAN_VERSION};
    const char *ending = strrchr(file, '.');
    char *commands = NULL;
    int status = -1;

    if (ending && !strchr(ending, '/') && strcasecmp(ending, ".html") != 0 && strcasecmp(ending, ".htm") != 0) {
        mfu_fail(err, MFU_EINPUT, "'%.300s': a page is a file such as plan.html", file);
        return mfu_error_caret(s, err, 1);
    }
    if (mfu_may_replace(s, file, false, MFU_FORCE, err) < 0)
        return mfu_error_caret(s, err, 1);
    if (mfu_advise(&s->memory.now, &s->plan, &s->simulation, &advice, err) < 0)
        return -1;
    if (mfu_session_simulate(s, true, err) < 0)
        goto done;
    if (!(commands = commands_of(s))) {
        mfu_fail(err, MFU_ENOMEM, "out of memory");
        goto done;
    }
    page.commands = commands;
    status = mfu_html_write(file, &page, err);
    if (status < 0)
        mfu_error_caret(s, err, 1);
done:
    free(commands);
    mfu_advice_free(&advice);
    return status;
}

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    (void)argc;
    if (write_page(s, argv[1], err) < 0)
        return -1;
    if (s->json)
        return mfu_answer(s, &record, &(struct written){argv[1], &s->plan}, err);
    mfu_print_note(s, "wrote %s: open it in a browser", argv[1]);
    return 0;
}

const struct mfu_command mfu_command_report = {
    .name = "report",
    .usage = "FILE.html [--force]",
    .group = "look closer",
    .summary = "the plan as a page",
    .help = "Writes the plan as one page: memory, a step, the roofline, the meters, what\n"
            "could be changed, and the commands that make the scenario again.  Everything is\n"
            "in the file: no script, nothing from the network.  It reads well by day and by\n"
            "night, on a telephone and on paper.  A file that mfuplan did not write is\n"
            "replaced with --force only.\n"
            "\n"
            "    set batch 8; report plan.html",
    .writes = true,
    .least_args = 1,
    .most_args = 1,
    .offer = {mfu_offer_files},
    .answers = MFU_ANSWERS(&record),
    .run = run,
};
