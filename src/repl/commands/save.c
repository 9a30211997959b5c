#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "repl/command.h"
#include "repl/offers.h"
#include "repl/talk.h"
#include "repl/values.h"

/* A word as the evaluator reads it back. */
static void put_word(FILE *out, const char *word)
{
    if (word[strcspn(word, " \t;#\"'=\\")] == '\0') {
        fputs(word, out);
        return;
    }
    putc('"', out);
    for (; *word; word++) {
        if (*word == '"' || *word == '\\')
            putc('\\', out);
        putc(*word, out);
    }
    putc('"', out);
}

/* The name if the catalog has it, else where the file is. */
static void put_thing(FILE *out, struct mfu_session *s, const char *command, const char *slug,
                      const char *path)
{
    char known[PATH_MAX], *real;

    snprintf(known, sizeof known, "%s/%ss/%s.yaml", mfu_catalog_folder(s->catalog), command, slug);
    fprintf(out, "%s ", command);
    if (strcmp(known, path) == 0)
        put_word(out, slug);
    else {
        real = realpath(path, NULL);
        put_word(out, real ? real : path);
        free(real);
    }
    putc('\n', out);
}

/* A line for each group: what depends on each other is set together. */
static void put_settings(FILE *out, const struct mfu_scenario *now)
{
    const char *group = "";
    char value[MFU_QUANTITY_MAX];
    struct mfu_config config;
    struct mfu_key k;

    mfu_scenario_resolve(now, &config, NULL);
    for (int i = 0; (k = mfu_key_at(now, i)).kind != MFU_KEY_NONE; i++) {
        if (!mfu_key_given(now, k))
            continue;
        if (strcmp(group, mfu_key_group(k)) != 0)
            fprintf(out, "%sset", *group ? "\n" : "");
        group = mfu_key_group(k);
        fprintf(out, " %s %s", mfu_key_name(now, k), mfu_key_exact(value, now, k, mfu_key_value(&config, k)));
    }
    if (*group)
        putc('\n', out);
}

static int put_script(struct mfu_session *s, const char *path)
{
    const struct mfu_scenario *now = &s->memory.now;
    FILE *out = fopen(path, "we");
    int failed;

    if (!out)
        return -1;
    fputs("# A scenario of mfuplan: mfuplan FILE, or `source FILE`.\nreset\n", out);
    put_thing(out, s, "gpu", now->gpu->slug, now->gpu->path);
    put_thing(out, s, "model", now->model->slug, now->model->path);
    put_settings(out, now);
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
