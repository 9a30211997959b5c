#include "repl/assign.h"
#include "repl/command.h"

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    struct mfu_scenario old = s->memory.now;

    (void)argc, (void)argv;
    if (mfu_session_redo(s, err) < 0)
        return -1;
    mfu_say_changes(s, &old, &s->memory.now);
    return 0;
}

const struct mfu_command mfu_command_redo = {
    .name = "redo",
    .usage = "",
    .group = "session",
    .summary = "bring back the undone",
    .help = "Brings back what `undo` took, as long as nothing else was changed since.\n"
            "\n"
            "    set batch 8; undo; redo",
    .run = run,
};
