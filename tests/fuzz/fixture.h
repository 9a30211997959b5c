/*
 * fixture.h - what the larger fuzz targets share: a file that is only memory,
 * and a catalog of a few files, so that an unknown name costs little.
 *
 * The small catalog lies in a temporary folder until the program ends.
 */
#ifndef MFU_FIXTURE_H
#define MFU_FIXTURE_H

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "yaml_leak.h"

#define REQUIRE(law) ((law) ? (void)0 : (fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #law), abort()))

static char fixture_folder[] = "/tmp/mfuplan-fuzz-XXXXXX";

/* Puts the bytes into a file in memory; returns its path. */
static inline const char *fixture_file(const uint8_t *data, size_t size)
{
    static char path[32];
    static int fd = -1;

    if (fd < 0) {
        fd = memfd_create("input", MFD_CLOEXEC);
        REQUIRE(fd >= 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    REQUIRE(ftruncate(fd, 0) == 0);
    REQUIRE(size == 0 || pwrite(fd, data, size, 0) == (ssize_t)size);
    return path;
}

static inline void fixture_link(const char *path)
{
    char from[512], to[512];

    snprintf(from, sizeof from, "%s/%s", MFUPLAN_SOURCE_DIR, path);
    snprintf(to, sizeof to, "%s/%s", fixture_folder, path);
    REQUIRE(symlink(from, to) == 0);
}

static inline void fixture_clear(const char *name)
{
    char path[512];
    struct dirent *entry;
    DIR *folder;

    snprintf(path, sizeof path, "%s/%s", fixture_folder, name);
    folder = opendir(path);
    while (folder && (entry = readdir(folder)))
        if (entry->d_name[0] != '.') {
            char file[1024];

            snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
            unlink(file);
        }
    if (folder)
        closedir(folder);
    rmdir(path);
}

static inline void fixture_remove(void)
{
    fixture_clear("models");
    fixture_clear("gpus");
    rmdir(fixture_folder);
}

/* Makes the folder; returns its path, for mfu_catalog_open. */
static inline const char *fixture_catalog(void)
{
    static const char *const files[] = {"gpus/families",          "gpus/rtx4070.yaml",        "gpus/h100-sxm.yaml",
                                        "gpus/t4.yaml",           "gpus/gtx1080ti.yaml",      "models/gpt2.yaml",
                                        "models/llama-2-7b.yaml", "models/mixtral-8x7b.yaml", "models/bert-base.yaml",
                                        "models/gemma-2-2b.yaml", "models/mpt-125m.yaml",     "models/qwen2.5-7b.yaml"};
    char path[64];

    REQUIRE(mkdtemp(fixture_folder));
    atexit(fixture_remove);
    snprintf(path, sizeof path, "%s/models", fixture_folder);
    REQUIRE(mkdir(path, 0700) == 0);
    snprintf(path, sizeof path, "%s/gpus", fixture_folder);
    REQUIRE(mkdir(path, 0700) == 0);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        fixture_link(files[i]);
    return fixture_folder;
}

#endif
