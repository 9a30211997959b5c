/*
 * folder.h - a thing is a file: names of descriptors and where they stand.
 *
 * models/gpt2.yaml is called "gpt2".  What is found beside the descriptors and
 * is none (NAME.measured.yaml, hidden files, other suffixes) has no name here.
 */
#ifndef MFU_FOLDER_H
#define MFU_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

struct mfu_arena;
struct mfu_error;

#define MFU_PATH_MAX 256 /* bytes, with the final '\0' */

/* Joins folder, name and suffix; -1 with `err` if that is too long. */
int mfu_folder_path(char path[MFU_PATH_MAX], const char *folder, const char *name, const char *suffix,
                    struct mfu_error *err);

/* The folder that a path stands in: "." when it says none. */
int mfu_folder_of(char folder[MFU_PATH_MAX], const char *path, struct mfu_error *err);

/* "gpus/rtx4070.yaml" is "rtx4070"; cut to what fits. */
void mfu_folder_slug(char *slug, size_t size, const char *path);

/* Whether a name can be that of a file in a folder: letters, digits, - _ . */
int mfu_folder_name_ok(const char *name);

/* Whether there is something at this path. */
bool mfu_folder_has(const char *path);

/* Whether a folder holds a descriptor of just this name. */
bool mfu_folder_holds(const char *folder, const char *name);

/* The names of the descriptors of a folder, sorted; they live in `arena`.  A
 * folder that does not exist has none, nor has one that fails. */
int mfu_folder_names(struct mfu_arena *arena, const char *folder, const char *const **names, size_t *n,
                     struct mfu_error *err);

/* The beginning of a file as text, at most size - 1 bytes: to
 * look for one line in many files.  Empty if it cannot be read. */
void mfu_folder_peek(const char *path, char *text, size_t size);

/* Fails with "no WHAT is called 'NAME'" and the nearest name of the folder. */
int mfu_folder_unknown(const char *folder, const char *what, const char *name, struct mfu_error *err);

#endif
