/*
 * kept.c - scenarios that are kept, each as a script.
 */
#include "repl/kept.h"

#include <glob.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "repl/output.h"
#include "repl/script.h"

static int put(struct mfu_memory *m, const char *name, struct mfu_error *err)
{
    int i = 0;

    while (i < m->n_kept && strcmp(m->kept[i].name, name) != 0)
        i++;
    if (i == MFU_KEPT)
        return mfu_fail(err, MFU_EINPUT, "%d scenarios are kept; keep under one of their names, or --forget one",
                        MFU_KEPT);
    m->n_kept += i == m->n_kept;
    snprintf(m->kept[i].name, sizeof m->kept[i].name, "%s", name);
    m->kept[i].scenario = m->now;
    return 0;
}

/* "before" of ".../before.mfu". */
static void name_of(const char *path, char name[sizeof((struct mfu_kept *)NULL)->name])
{
    const char *slash = strrchr(path, '/');

    snprintf(name, sizeof((struct mfu_kept *)NULL)->name, "%s", slash ? slash + 1 : path);
    name[strlen(name) > 4 ? strlen(name) - 4 : 0] = '\0';
}

/* Runs the scripts of the folder, each from the same beginning. */
static void read_all(struct mfu_session *s, const glob_t *found)
{
    char name[sizeof((struct mfu_kept *)NULL)->name];
    struct mfu_scenario now = s->memory.now;
    struct mfu_error err;

    for (size_t i = 0; i < found->gl_pathc; i++) {
        mfu_error_clear(&err);
        name_of(found->gl_pathv[i], name);
        if (mfu_run_file(s, found->gl_pathv[i], &err) < 0 || put(&s->memory, name, &err) < 0)
            mfu_warn(s, &err);
        memset(&s->place, 0, sizeof s->place);
    }
    s->memory.now = now;
    s->memory.n_past = s->memory.n_future = 0;
}

void mfu_kept_open(struct mfu_session *s, const char *folder)
{
    char pattern[MFU_PATH_MAX], *to = pattern;
    bool quiet = s->quiet;
    glob_t found;

    if (!folder || 2 * strlen(folder) + sizeof "/*.mfu" > sizeof pattern)
        return;
    for (const char *p = folder; *p; p++) { /* its name is no pattern */
        if (strchr("*?[\\", *p))
            *to++ = '\\';
        *to++ = *p;
    }
    strcpy(to, "/*.mfu");
    snprintf(s->kept_folder, sizeof s->kept_folder, "%s", folder);
    if (glob(pattern, 0, NULL, &found) != 0)
        return;
    s->quiet = true; /* what the scripts set is no news */
    s->depth++;
    read_all(s, &found);
    s->depth--;
    s->quiet = quiet;
    globfree(&found);
}

static bool path_of(const struct mfu_session *s, const char *name, char path[MFU_PATH_MAX])
{
    return *s->kept_folder && snprintf(path, MFU_PATH_MAX, "%s/%s.mfu", s->kept_folder, name) < MFU_PATH_MAX;
}

int mfu_kept_add(struct mfu_session *s, const char *name, struct mfu_error *err)
{
    struct mfu_error problem = {0};
    char path[MFU_PATH_MAX];

    if (put(&s->memory, name, err) < 0)
        return -1;
    if (s->depth == 0 && path_of(s, name, path)
        && (mkdir(s->kept_folder, 0700), mfu_script_save(s, path, &problem) < 0)) {
        mfu_within(&problem, "%s is kept in this conversation only", name);
        mfu_warn(s, &problem);
    }
    return 0;
}

int mfu_kept_forget(struct mfu_session *s, const char *name, struct mfu_error *err)
{
    const struct mfu_scenario *kept = mfu_session_kept(s, name, err);
    struct mfu_memory *m = &s->memory;
    char path[MFU_PATH_MAX];
    int i = 0;

    if (!kept)
        return -1;
    while (&m->kept[i].scenario != kept)
        i++;
    memmove(m->kept + i, m->kept + i + 1, (size_t)(--m->n_kept - i) * sizeof *m->kept);
    if (path_of(s, name, path))
        unlink(path);
    return 0;
}
