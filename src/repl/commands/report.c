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
    X(TEXT, file,     0, file,                                       "that was written") \
    X(LIST, sections, &mfu_record_strings, (mfu_html_sections, n_sections()), "of the page")
static size_t n_sections(void)
{
    size_t n = 0;

    while (mfu_html_sections[n])
        n++;
    return n;
}
MFU_FIELDS(report, const char *file, WRITTEN)
static const struct mfu_record record = MFU_RECORD(report, .command = "report");
// clang-format on

/* Plans the levers, then the scenario itself, and writes the page. */
static int write_page(struct mfu_session *s, const char *file, struct mfu_error *err)
{
    struct mfu_advice advice;
    struct mfu_html_page page = {
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
        return mfu_answer(s, &record, argv[1], err);
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
            "night, on a telephone and on paper.  A file that mfuplan did not write is replaced\n"
            "with --force only.\n"
            "\n"
            "    set batch 8; report plan.html",
    .writes = true,
    .least_args = 1,
    .most_args = 1,
    .offer = {mfu_offer_files},
    .answers = MFU_ANSWERS(&record),
    .run = run,
};
