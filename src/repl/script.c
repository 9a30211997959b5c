/*
 * script.c - a scenario as commands that make it again.
 */
#include "repl/script.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic_file.h"
#include "repl/session.h"
#include "scenario/keys.h"

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
static void put_thing(FILE *out, struct mfu_session *s, const char *command, const char *folder, const char *slug,
                      const char *path)
{
    char known[PATH_MAX], *real;
    int n = snprintf(known, sizeof known, "%s/%s/", mfu_catalog_folder(s->catalog), folder);

    fprintf(out, "%s ", command);
    if (strncmp(known, path, (size_t)n) == 0 && !strchr(path + n, '/'))
        put_word(out, slug);
    else {
        real = realpath(path, NULL);
        put_word(out, real ? real : path);
        free(real);
    }
    putc('\n', out);
}

/* Whether the file's whole path can stand in a line. */
static int check_path(const char *path, struct mfu_error *err)
{
    char *real = realpath(path, NULL);
    bool fine = !mfu_has_control(real ? real : path);

    free(real);
    return fine ? 0
                : mfu_fail(err, MFU_EINPUT, "a script cannot name '%.200s': a control character is in its path", path);
}

/* Whether a script can name the files of the scenario; -1 with `err`. */
static int check(struct mfu_session *s, struct mfu_error *err)
{
    return check_path(s->memory.now.gpu->path, err) < 0 ? -1 : check_path(s->memory.now.model->path, err);
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
        fprintf(out, " %s %s", mfu_key_name(now, k), mfu_key_exact(value, now, k, mfu_config_value(&config, k)));
    }
    if (*group)
        putc('\n', out);
}

int mfu_script_save(struct mfu_session *s, const char *path, struct mfu_error *err)
{
    struct mfu_atomic_file f;

    if (check(s, err) < 0 || mfu_atomic_file_open(&f, path, err) < 0)
        return -1;
    fputs("# A scenario of mfuplan: mfuplan FILE, or `source FILE`.\n", f.out);
    mfu_script_put(f.out, s);
    return mfu_atomic_file_close(&f, err);
}

void mfu_script_put(FILE *out, struct mfu_session *s)
{
    const struct mfu_scenario *now = &s->memory.now;

    fputs("reset\n", out);
    put_thing(out, s, "gpu", "gpus", now->gpu->slug, now->gpu->path);
    if (now->cluster)
        put_thing(out, s, "cluster", "gpus/clusters", now->cluster->slug, now->cluster->path);
    put_thing(out, s, "model", "models", now->model->slug, now->model->path);
    put_settings(out, now);
    if (now->not_modelled[0]) {
        fputs("set not_modelled ", out);
        put_word(out, now->not_modelled);
        putc('\n', out);
    }
}

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

int mfu_script_source(struct mfu_session *s, const char *path, struct mfu_error *err)
{
    struct mfu_memory *before;
    int status;

    if (s->depth == MFU_DEEPEST)
        return mfu_fail(err, MFU_EINPUT, "scripts that source scripts, more than %d deep", MFU_DEEPEST);
    if (++s->sourced > MFU_SOURCED)
        return mfu_fail(err, MFU_EINPUT, "more than %d scripts are run by one line", MFU_SOURCED);
    if (!(before = malloc(sizeof *before)))
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    *before = s->memory;
    s->depth++;
    status = mfu_run_file(s, path, err);
    s->depth--;
    settle(s, before, status);
    free(before);
    return status;
}
