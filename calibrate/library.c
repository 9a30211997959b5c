/*
 * library.c - a list of places, each with a pattern for glob(3).
 *
 * The wheels of CUDA 12 put cuBLAS into nvidia/cublas/lib, those of CUDA 13 into
 * nvidia/cu13/lib; both below site-packages or dist-packages.
 */
#include "library.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHEELS "/lib/python3*/*-packages/nvidia/{cublas,cu13}/lib"

/* In the order of the search; `variable`: what the pattern begins with, "": nothing. */
static const struct {
    const char *variable, *pattern; /* NULL: where the loader looks */
} places[] = {
    {"VIRTUAL_ENV", WHEELS},    {"CONDA_PREFIX", WHEELS}, {"CONDA_PREFIX", "/lib"},       {"", NULL},
    {"CUDA_HOME", "/lib64"},    {"CUDA_PATH", "/lib64"},  {"", "/usr/local/cuda*/lib64"}, {"", "/opt/cuda*/lib64"},
    {"HOME", "/.local" WHEELS}, {"", "/usr" WHEELS},      {"", "/usr/local" WHEELS}};

static const char *const majors[] = {"13", "12"};

/* Both libraries of `folder` ("": where the loader looks) in that version. */
static int open_both(struct mfu_cublas *c, const char *folder, const char *major)
{
    char lt[sizeof c->path];
    const char *slash = *folder ? "/" : "";

    if (snprintf(lt, sizeof lt, "%s%slibcublasLt.so.%s", folder, slash, major) >= (int)sizeof lt)
        return -1;
    snprintf(c->path, sizeof c->path, "%s%slibcublas.so.%s", folder, slash, major);
    /* cuBLAS needs the other one, which the loader has by then. */
    c->lt = dlopen(lt, RTLD_NOW | RTLD_GLOBAL);
    c->blas = c->lt ? dlopen(c->path, RTLD_NOW) : NULL;
    if (c->blas)
        return 0;
    if (c->lt)
        dlclose(c->lt);
    *c = (struct mfu_cublas){.blas = NULL};
    return -1;
}

static int open_any(struct mfu_cublas *c, const char *folder)
{
    for (size_t i = 0; i < sizeof majors / sizeof majors[0]; i++)
        if (open_both(c, folder, majors[i]) == 0)
            return 0;
    return -1;
}

static int open_matching(struct mfu_cublas *c, const char *start, const char *pattern)
{
    char all[512];
    glob_t found;
    int status = -1;

    if (snprintf(all, sizeof all, "%s%s", start, pattern) >= (int)sizeof all
        || glob(all, GLOB_BRACE | GLOB_ONLYDIR, NULL, &found) != 0)
        return -1;
    for (size_t i = 0; i < found.gl_pathc && status < 0; i++)
        status = open_any(c, found.gl_pathv[i]);
    globfree(&found);
    return status;
}

int mfu_cublas_find(struct mfu_cublas *c)
{
    *c = (struct mfu_cublas){.blas = NULL};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        const char *start = *places[i].variable ? getenv(places[i].variable) : "";

        if (!start || (*places[i].variable && !*start))
            continue;
        if ((places[i].pattern ? open_matching(c, start, places[i].pattern) : open_any(c, "")) == 0)
            return 0;
    }
    return -1;
}
