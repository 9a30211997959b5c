#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "repl/command.h"
#include "repl/offers.h"
#include "repl/script.h"
#include "repl/talk.h"

static int put_script(struct mfu_session *s, const char *path)
{
    FILE *out = fopen(path, "we");
    int failed;

    if (!out)
        return -1;
    fputs("# A scenario of mfuplan: mfuplan FILE, or `source FILE`.\n", out);
    mfu_script_put(out, s);
    failed = fflush(out) != 0 || ferror(out);
    return fclose(out) != 0 || failed ? -1 : 0;
}

/* A file is written beside the old one and renamed when it is complete; what is
 * no file (a pipe) is written to, and a link is followed. */
static int save(struct mfu_session *s, const char *path, struct mfu_error *err)
{
    char real[PATH_MAX], half[PATH_MAX + 8];
    struct stat info;
    bool there = stat(path, &info) == 0;
    int status;

    if (strlen(path) >= sizeof real)
        return mfu_fail(err, MFU_EINPUT, "the path is longer than %d bytes", PATH_MAX - 1);
    if (!there || !realpath(path, real))
        snprintf(real, sizeof real, "%s", path);
    if (there && !S_ISREG(info.st_mode))
        status = put_script(s, real);
    else {
        snprintf(half, sizeof half, "%s.tmp", real);
        status = put_script(s, half);
        if (status == 0)
            status = rename(half, real);
    }
    if (status == 0)
        return 0;
    mfu_fail(err, MFU_EIO, "'%s' cannot be written: %s", path, strerror(errno));
    if (!there || S_ISREG(info.st_mode))
        unlink(half);
    return -1;
}

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    (void)argc;
    if (!*argv[1])
        return mfu_fail(err, MFU_EINPUT, "the name of the file is empty");
    if (save(s, argv[1], err) < 0)
        return mfu_point(s, err, 1);
    mfu_say(s, "saved in %s", argv[1]);
    return 0;
}

const struct mfu_command mfu_command_save = {
    .name = "save",
    .usage = "FILE",
    .group = "session",
    .summary = "write it as a script",
    .help =
        "Writes a script that makes this scenario again, for `source FILE` here or\n"
        "`mfuplan FILE` later; edit it as you like.  An existing file is replaced.\n"
        "\n"
        "    set batch 8; save run.mfu; source run.mfu",
    .least_args = 1,
    .most_args = 1,
    .offer = {mfu_offer_files},
    .run = run,
};
