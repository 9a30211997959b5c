#include <stdlib.h>
#include <string.h>

#include "repl/assign.h"
#include "repl/command.h"
#include "repl/completers.h"
#include "repl/output.h"

/* A script is one step for `undo`; one that fails has not happened. */
static void settle(struct mfu_session *s, struct mfu_memory *before, int status)
{
    struct mfu_scenario now = s->memory.now;
    struct mfu_memory after = s->memory;

    if (status < 0) {
        s->memory = *before;
        return;
    }
    if (memcmp(&now, &before->now, sizeof now) == 0)
        return;
    s->memory = *before;
    mfu_session_change(s, &now);
    memcpy(s->memory.kept, after.kept, sizeof after.kept);
    s->memory.n_kept = after.n_kept;
}

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    struct mfu_memory *before;
    char path[MFU_PATH_MAX];
    int status;

    (void)argc;
    if (strcmp(argv[1], "-") == 0)
        return mfu_fail(err, MFU_EINPUT, "standard input is for the command line: mfuplan -");
    if (s->depth == MFU_DEEPEST)
        return mfu_fail(err, MFU_EINPUT, "scripts that source scripts, more than %d deep", MFU_DEEPEST);
    if (++s->sourced > MFU_SOURCED)
        return mfu_fail(err, MFU_EINPUT, "more than %d scripts are run by one line", MFU_SOURCED);
    if (!(before = malloc(sizeof *before)))
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    *before = s->memory;
    s->depth++;
    status = mfu_run_file(s, mfu_session_path(s, argv[1], path), err);
    s->depth--;
    settle(s, before, status);
    free(before);
    return status;
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
