/* edit.c - the scenario in the user's editor: saved as a script, changed there, run. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "repl/assign.h"
#include "repl/command.h"
#include "repl/environment.h"
#include "repl/output.h"
#include "repl/script.h"
#include "repl/shell.h"

/* Whether the file is there and is not what it was. */
static bool changed(const char *path, const struct stat *before)
{
    struct stat after;

    return stat(path, &after) == 0
        && (before->st_ino != after.st_ino || before->st_size != after.st_size
            || before->st_mtim.tv_sec != after.st_mtim.tv_sec || before->st_mtim.tv_nsec != after.st_mtim.tv_nsec);
}

/* Lets the user change the file, and runs it if he did: *is_new. */
static int edit(struct mfu_session *s, const char *path, bool *is_new, struct mfu_error *err)
{
    char line[MFU_PATH_MAX + 4096];
    struct stat before;
    bool quiet = s->quiet;
    int status;

    if (snprintf(line, sizeof line, "%s %s", mfu_environment_editor(), path) >= (int)sizeof line)
        return mfu_fail(err, MFU_EINPUT, "the name of the editor is too long");
    if (mfu_script_save(s, path, err) < 0)
        return -1;
    if (stat(path, &before) < 0)
        return mfu_fail(err, MFU_EIO, "%s is not there any more", path);
    status = mfu_shell_run(s, line, err);
    *is_new = changed(path, &before);
    if (status < 0 || !*is_new)
        return status;
    s->quiet = true; /* what differs is said once, by the caller */
    status = mfu_script_source(s, path, err);
    s->quiet = quiet;
    return status;
}

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    struct mfu_scenario old = s->memory.now;
    char path[MFU_PATH_MAX];
    bool is_new = false;
    int status;

    (void)argc, (void)argv;
    if (mfu_shell_check(s, err) < 0 || mfu_environment_temporary(path, ".mfu", err) < 0)
        return -1;
    status = edit(s, path, &is_new, err);
    if (status < 0 && is_new) { /* what was typed is not lost: the error names the file */
        mfu_print_note(s, "as it was; what you wrote is in %s", path);
        return -1;
    }
    unlink(path);
    if (status == 0 && is_new)
        mfu_say_changes(s, &old, &s->memory.now);
    else if (status == 0)
        mfu_print_note(s, "as it was");
    return status;
}

const struct mfu_command mfu_command_edit = {
    .name = "edit",
    .usage = "",
    .group = "session",
    .summary = "change it in your editor",
    .help = "Opens the scenario as a script in $VISUAL, $EDITOR or vi, and runs what you\n"
            "leave there.  For `undo` it is one change; a script that fails changes nothing\n"
            "and stays where the message says.  In a conversation only, or with --shell.\n"
            "\n"
            "    edit",
    .run = run,
};
