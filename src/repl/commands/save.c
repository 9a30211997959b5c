#include "repl/command.h"
#include "repl/completers.h"
#include "repl/script.h"
#include "repl/output.h"

static int save(struct mfu_session *s, const char *path, struct mfu_error *err)
{
    return mfu_may_replace(s, path, false, MFU_FORCE, err) < 0 ? -1 : mfu_script_save(s, path, err);
}

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    (void)argc;
    if (!*argv[1])
        return mfu_fail(err, MFU_EINPUT, "the name of the file is empty");
    if (save(s, argv[1], err) < 0)
        return mfu_error_caret(s, err, 1);
    mfu_print_note(s, "saved in %s", argv[1]);
    return 0;
}

const struct mfu_command mfu_command_save = {
    .name = "save",
    .usage = "FILE [--force]",
    .group = "session",
    .summary = "write it as a script",
    .help = "Writes a script that makes this scenario again, for `source FILE` here or\n"
            "`mfuplan FILE` later; edit it as you like.  A file that mfuplan did not write is\n"
            "replaced with --force only.\n"
            "\n"
            "    set batch 8; save run.mfu; source run.mfu",
    .writes = true,
    .least_args = 1,
    .most_args = 1,
    .offer = {mfu_offer_files},
    .run = run,
};
