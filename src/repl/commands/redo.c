#include "repl/assign.h"
#include "repl/command.h"
#include "repl/output.h"
#include "repl/read_options.h"

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    struct mfu_scenario old = s->memory.now;
    int changes;

    if (mfu_read_count(s, argc > 1 ? argv[1] : "1", &changes, err) < 0)
        return mfu_error_caret(s, err, 1);
    if (mfu_session_redo(s, changes, err) < 0)
        return -1;
    mfu_say_changes(s, &old, &s->memory.now);
    return 0;
}

const struct mfu_command mfu_command_redo = {
    .name = "redo",
    .usage = "[N]",
    .group = "session",
    .summary = "bring back the undone",
    .help = "Brings back the last change that `undo` took, or the last N, as long as nothing\n"
            "else was changed since.\n"
            "\n"
            "    set batch 8; undo; redo",
    .most_args = 1,
    .run = run,
};
