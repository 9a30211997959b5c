#include "repl/assign.h"
#include "repl/command.h"

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    struct mfu_scenario old = s->memory.now;

    (void)argc, (void)argv;
    if (mfu_session_undo(s, err) < 0)
        return -1;
    mfu_say_changes(s, &old, &s->memory.now);
    return 0;
}

const struct mfu_command mfu_command_undo = {
    .name = "undo",
    .usage = "",
    .group = "session",
    .summary = "take back a change",
    .help = "Takes back the last change of the scenario, up to 64 of them.  `redo` brings it\n"
            "back, until something else is changed.\n"
            "\n"
            "    set batch 8; undo; redo",
    .run = run,
};
