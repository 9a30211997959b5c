#include <string.h>

#include "repl/command.h"
#include "repl/completers.h"
#include "repl/output.h"
#include "repl/script.h"

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    char path[MFU_PATH_MAX];

    (void)argc;
    if (strcmp(argv[1], "-") == 0)
        return mfu_fail(err, MFU_EINPUT, "standard input is for the command line: mfuplan -");
    return mfu_script_source(s, mfu_session_path(s, argv[1], path), err);
}

const struct mfu_command mfu_command_source = {
    .name = "source",
    .usage = "FILE",
    .group = "session",
    .summary = "run a script",
    .help = "Runs the commands of a file, as `mfuplan FILE` does; it stops at the first that\n"
            "fails, and the scenario is then as it was.  For `undo` it is one change.\n"
            "A file that a script names (gpu, model, import, observe, source, validate) is\n"
            "looked for in the working directory, then in the folder of the script.\n"
            "\n"
            "    save run.mfu; source run.mfu",
    .least_args = 1,
    .most_args = 1,
    .offer = {mfu_offer_files},
    .run = run,
};
