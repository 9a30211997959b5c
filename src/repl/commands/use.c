#include "repl/assign.h"
#include "repl/command.h"
#include "repl/completers.h"
#include "repl/output.h"

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    const struct mfu_scenario *kept = mfu_session_kept(s, argv[1], err);

    (void)argc;
    if (!kept)
        return mfu_error_caret(s, err, 1);
    return mfu_install(s, kept, true, err);
}

const struct mfu_command mfu_command_use = {
    .name = "use",
    .usage = "NAME",
    .group = "session",
    .summary = "return to a named one",
    .help = "Returns to a scenario that was kept, and says what is different.\n"
            "\n"
            "    keep before; set batch 8; use before",
    .least_args = 1,
    .most_args = 1,
    .offer = {mfu_offer_kept},
    .run = run,
};
