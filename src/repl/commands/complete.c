#include <string.h>

#include "base/arena.h"
#include "repl/command.h"
#include "repl/output.h"
#include "repl/tokenize.h"

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    struct mfu_arena arena = {0};
    char *line = argc > 1 ? mfu_words_join(&arena, argc, argv, s->columns, 1) : mfu_arena_copy(&arena, "", 0);
    json_t *names = s->json ? json_array() : NULL;
    const char *word;
    int status = line ? 0 : mfu_fail(err, MFU_ENOMEM, "out of memory");

    for (size_t i = 0; line && (word = mfu_complete(s, line, i)); i++)
        if (names)
            json_array_append_new(names, mfu_json_text(word));
        else
            fprintf(s->out, "%s\n", word);
    if (names && status == 0)
        status =
            mfu_answer(s, json_pack("{s:s, s:i, s:o}", "command", "complete", "schema", 1, "candidates", names), err);
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
    .run = run,
};
