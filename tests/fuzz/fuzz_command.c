/*
 * fuzz_command.c - no line makes the session misbehave.
 *
 * The first byte sets --json and -q, the rest are lines.  Whoever writes or
 * reads files is not run: a line with a path, an option (memory --snapshot
 * FILE) or a command that is not in the list below is dropped, so that a new
 * one is left out until it is looked at.  What fails has a reason and has
 * changed nothing; `undo` takes back one change.
 */
#include "base/arena.h"
#include "fixture.h"
#include "repl/command.h"
#include "repl/command_lookup.h"
#include "repl/session.h"
#include "repl/output.h"
#include "repl/tokenize.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Left out besides those with files: what plans thousands of times (advise,
 * search, solve, sweep). */
static const char *const harmless[] = {"check",  "compare", "complete", "explain", "gpu",      "help",  "keep",
                                       "kernel", "kernels", "memory",   "metrics", "mfu",      "model", "plan",
                                       "print",  "quit",    "redo",     "reset",   "roofline", "set",   "show",
                                       "step",   "train",   "undo",     "unset",   "use",      "why"};

static int is_harmless(const char *name)
{
    for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++)
        if (strcmp(harmless[i], name) == 0)
            return 1;
    return mfu_command_find(name) == NULL;
}

/* Whether a line may run; counts its commands. */
static int may_run(const char *line, int *commands)
{
    struct mfu_arena arena = {0};
    struct mfu_words words;
    struct mfu_error err;
    const char *at = line;
    int fine = 1, more;

    *commands = 0;
    while (fine && (more = mfu_words_next(&arena, line, &at, &words, &err)) != 0) {
        const struct mfu_command *c = more > 0 && words.argc > 0 ? mfu_command_find(words.argv[0]) : NULL;
        int computes = c && (strcmp(c->name, "print") == 0 || strcmp(c->name, "check") == 0);

        ++*commands;
        if (more < 0) /* a quote that is not closed */
            break;
        fine = words.argc > 0 && is_harmless(words.argv[0]); /* none: `!program` */
        for (int i = 0; i < words.argc; i++)
            fine &= computes
                || (!strchr(words.argv[i], '/') && !strchr(words.argv[i], '.') && strncmp(words.argv[i], "--", 2) != 0);
    }
    mfu_arena_free(&arena);
    return fine;
}

static void run(struct mfu_session *s, const char *line)
{
    struct mfu_scenario before = s->memory.now;
    int commands, past = s->memory.n_past;
    struct mfu_error err = {0};

    if (!may_run(line, &commands))
        return;
    if (mfu_eval(s, line, &err) < 0) {
        REQUIRE(err.code != MFU_OK && err.text[0]);
        REQUIRE(commands > 1 || memcmp(&before, &s->memory.now, sizeof before) == 0);
        mfu_complain(s, &err);
    } else if (commands == 1 && s->memory.n_past == past + 1 && s->memory.n_future == 0) {
        struct mfu_scenario now = s->memory.now;

        REQUIRE(mfu_session_undo(s, 1, &err) == 0 && memcmp(&before, &s->memory.now, sizeof before) == 0);
        REQUIRE(mfu_session_redo(s, 1, &err) == 0 && memcmp(&now, &s->memory.now, sizeof now) == 0);
    }
}

static struct mfu_session *open_session(void)
{
    struct mfu_session *s = calloc(1, sizeof *s);
    struct mfu_error err = {0};

    REQUIRE(s && mfu_session_open(s, fixture_catalog(), NULL, &err) == 0);
    s->out = s->errors = fopen("/dev/null", "we");
    REQUIRE(s->out);
    s->term = (struct mfu_term){.width = 80, .height = 24};
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct mfu_session *s;
    char *text = calloc(1, size + 1), *rest = text, *line;

    if (!s)
        s = open_session();
    REQUIRE(text);
    if (size)
        memcpy(text, data + 1, size - 1);
    s->json = size && data[0] & 1;
    s->quiet = size && data[0] & 2;
    s->term.utf8 = size && data[0] & 4;
    s->term.color = size && data[0] & 8;
    s->quit = false;
    s->memory.n_past = s->memory.n_future = s->memory.n_kept = 0;
    s->memory.now = s->start;
    while ((line = strsep(&rest, "\n")) && !s->quit)
        run(s, line);
    free(text);
    return 0;
}
