#include <string.h>

#include "repl/assign.h"
#include "repl/command.h"
#include "repl/output.h"

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    (void)argc, (void)argv;
    if (s->depth == 0 && memcmp(&s->memory.now, &s->start, sizeof s->start) == 0)
        mfu_print_note(s, "as at the start");
    return mfu_install(s, &s->start, true, err);
}

const struct mfu_command mfu_command_reset = {
    .name = "reset",
    .usage = "",
    .group = "session",
    .summary = "start over",
    .help = "Back to the scenario that a session starts with, all settings forgotten.  What\n"
            "was kept stays, and `undo` takes it back.\n"
            "\n"
            "    set batch 8; reset",
    .run = run,
};
