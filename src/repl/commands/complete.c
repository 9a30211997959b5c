#include <string.h>

#include "base/arena.h"
#include "repl/command.h"
#include "repl/output.h"
#include "repl/tokenize.h"

struct completion {
    struct mfu_session *session;
    const char *line;
};

static void make_candidates(const struct completion *c, struct mfu_value *v)
{
    size_t n = 0;
    char(*list)[128];

    while (mfu_complete(c->session, c->line, n))
        n++;
    if (!(list = mfu_value_own(v, n, sizeof *list)))
        return;
    for (size_t i = 0; i < n; i++)
        snprintf(list[i], sizeof list[i], "%s", mfu_complete(c->session, c->line, i));
}

// clang-format off
#define COMPLETION(X) X(MADE_LIST, candidates, &mfu_record_words, make_candidates(c, v), "what the Tab key would offer")
MFU_FIELDS(complete, const struct completion *c, COMPLETION)
static const struct mfu_record record = MFU_RECORD(complete, .command = "complete", .rows = "candidates");
// clang-format on

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    struct mfu_arena arena = {0};
    char *line = argc > 1 ? mfu_words_join(&arena, argc, argv, s->columns, 1) : mfu_arena_copy(&arena, "", 0);
    const char *word;
    int status = line ? 0 : mfu_fail(err, MFU_ENOMEM, "out of memory");

    if (line && s->json)
        status = mfu_answer(s, &record, &(struct completion){s, line}, err);
    for (size_t i = 0; line && !s->json && (word = mfu_complete(s, line, i)); i++)
        fprintf(s->out, "%s\n", word);
    mfu_arena_free(&arena);
    return status;
}

const struct mfu_command mfu_command_complete = {
    .name = "complete",
    .usage = "LINE",
    .group = "session",
    .summary = "what Tab would offer",
    .help = "Prints what the Tab key would offer at the end of a line, one candidate a line.\n"
            "Quotes keep a blank at the end, which asks for the next word.\n"
            "\n"
            "    complete set checkpoint se\n"
            "    complete \"set checkpoint \"",
    .most_args = -1,
    .answers = MFU_ANSWERS(&record),
    .run = run,
};
