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
    if (mfu_session_undo(s, changes, err) < 0)
        return -1;
    mfu_say_changes(s, &old, &s->memory.now);
    return 0;
}

const struct mfu_command mfu_command_undo = {
    .name = "undo",
    .usage = "[N]",
    .group = "session",
    .summary = "take back a change",
    .help = "Takes back the last change of the scenario, or the last N, up to 64 of them.\n"
            "`redo` brings them back, until something else is changed.\n"
            "\n"
            "    set batch 8; undo; redo\n"
            "    set batch 8; set accum 4; undo 2",
    .most_args = 1,
    .run = run,
};
