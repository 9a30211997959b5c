#include <stdio.h>
#include <string.h>

#include "repl/command.h"
#include "repl/line.h"
#include "repl/output.h"
#include "repl/read_options.h"

#define USUAL "20"

/* The last of those that hold the text, the oldest first. */
static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    bool counts = argc > 1 && argv[1][strspn(argv[1], "0123456789")] == '\0';
    const char *text = argc > 1 && !counts ? argv[1] : "", *line = mfu_line_past(0);
    int first = line && strncmp(line, "history", strlen("history")) == 0; /* this line itself, if it is kept */
    int most, ago = first, found = 0;

    if (mfu_read_count(s, counts ? argv[1] : USUAL, &most, err) < 0)
        return mfu_error_caret(s, err, 1);
    for (; found < most && (line = mfu_line_past(ago)); ago++)
        found += strstr(line, text) != NULL;
    while (--ago >= first)
        if (strstr(line = mfu_line_past(ago), text))
            fprintf(s->out, "%s\n", line);
    if (found == 0)
        mfu_print_note(s, *text ? "no line holds it" : "no line was typed yet");
    return 0;
}

const struct mfu_command mfu_command_history = {
    .name = "history",
    .usage = "[N | TEXT]",
    .group = "session",
    .summary = "what was typed",
    .help = "The last 20 lines of your conversations, the last N, or the last 20 that hold a\n"
            "text.  Up and Ctrl-R bring one back; a line with a blank before it is not kept.\n"
            "\n"
            "    history\n"
            "    history 5\n"
            "    history sweep",
    .most_args = 1,
    .run = run,
};
