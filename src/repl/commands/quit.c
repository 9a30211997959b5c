#include "repl/command.h"
#include "repl/session.h"

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    (void)argc, (void)argv, (void)err;
    s->quit = true;
    return 0;
}

const struct mfu_command mfu_command_quit = {
    .name = "quit",
    .usage = "",
    .group = "session",
    .summary = "leave (or Ctrl-D)",
    .help = "Leaves, also from within a script; the exit status is 0.\n"
            "\n"
            "    quit",
    .run = run,
};
