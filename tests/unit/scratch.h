/*
 * scratch.h - a folder that lasts as long as a test.
 */
#ifndef MFU_SCRATCH_H
#define MFU_SCRATCH_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct scratch {
    char folder[64];
    char *paths[32]; /* files and folders, in the order they came */
    int n;
};

static inline void scratch_begin(struct scratch *s)
{
    s->n = 0;
    snprintf(s->folder, sizeof s->folder, "/tmp/mfu-test-XXXXXX");
    assert_non_null(mkdtemp(s->folder));
}

static inline const char *scratch_note(struct scratch *s, const char *name)
{
    size_t size = strlen(s->folder) + strlen(name) + 2;
    char *path = malloc(size);

    assert_true(path && s->n < 32);
    snprintf(path, size, "%s/%s", s->folder, name);
    s->paths[s->n++] = path;
    return path;
}

/* Makes a folder; returns its path. */
static inline const char *scratch_folder(struct scratch *s, const char *name)
{
    const char *path = scratch_note(s, name);

    assert_int_equal(mkdir(path, 0777), 0);
    return path;
}

/* Writes a file; returns its path. */
static inline const char *scratch_file(struct scratch *s, const char *name, const char *text)
{
    const char *path = scratch_note(s, name);
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    return path;
}

static inline void scratch_end(struct scratch *s)
{
    while (s->n > 0) {
        remove(s->paths[--s->n]);
        free(s->paths[s->n]);
    }
    assert_int_equal(rmdir(s->folder), 0);
}

/* One that goes where its block ends: SCRATCH s = scratch_new(); */
#define SCRATCH struct scratch __attribute__((cleanup(scratch_end)))

static inline struct scratch scratch_new(void)
{
    struct scratch s;

    scratch_begin(&s);
    return s;
}

#endif
