/*
 * yaml_read.c - documents: from a parser, or from what is compiled in where the text is the same.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/input_file.h"
#include "descriptor/packed.h"
#include "descriptor/yaml.h"
#include "descriptor/yaml_tree.h"

static struct mfu_yaml *new_document(const char *name, struct mfu_error *err)
{
    struct mfu_yaml *yaml = calloc(1, sizeof *yaml);

    if (yaml && (yaml->name = mfu_arena_copy(&yaml->arena, name, strlen(name))))
        return yaml;
    mfu_fail(err, MFU_ENOMEM, "out of memory");
    free(yaml);
    return NULL;
}

static struct mfu_yaml *unpack(const char *name, const struct mfu_packed *packed, struct mfu_error *err)
{
    struct mfu_yaml *yaml = new_document(name, err);

    if (!yaml || mfu_packed_unpack(packed, yaml) == 0)
        return yaml;
    mfu_fail(err, MFU_ENOMEM, "out of memory");
    mfu_yaml_free(yaml);
    return NULL;
}

struct mfu_yaml *mfu_yaml_parse(const char *name, const char *text, size_t length, struct mfu_error *err)
{
    const struct mfu_packed *packed = mfu_packed_same(text, length);
    struct mfu_yaml *yaml;

    if (packed)
        return unpack(name, packed, err);
    if (!(yaml = new_document(name, err)) || mfu_yaml_fill(yaml, text, length, err) == 0)
        return yaml;
    mfu_yaml_free(yaml);
    return NULL;
}

/* The contents of a file, at most one byte more than we read. */
static char *read_file(const char *path, size_t *length, struct mfu_error *err)
{
    const size_t most = MFU_YAML_LARGEST + 1;
    int fd = mfu_input_descriptor(path, err);
    char *text = NULL, *more;
    size_t room = 0;
    ssize_t n = 1;

    *length = 0;
    while (fd >= 0 && n > 0 && *length < most) {
        if (*length == room) {
            room = room ? 2 * room < most ? 2 * room : most : 16384; /* a real descriptor has 3000 */
            if (!(more = realloc(text, room))) {
                n = mfu_fail(err, MFU_ENOMEM, "out of memory");
                break;
            }
            text = more;
        }
        if ((n = read(fd, text + *length, room - *length)) > 0)
            *length += (size_t)n;
        else if (n < 0)
            mfu_fail(err, MFU_EIO, "cannot be read: %s", strerror(errno));
    }
    if (fd >= 0)
        close(fd);
    if (n >= 0)
        return text;
    free(text);
    return NULL;
}

struct mfu_yaml *mfu_yaml_read(const char *path, struct mfu_error *err)
{
    const struct mfu_packed *packed = mfu_packed_at(path);
    struct mfu_yaml *yaml;
    size_t length = 0;
    char *text;

    if (packed)
        return unpack(path, packed, err);
    if (!(text = read_file(path, &length, err))) {
        mfu_error_at(err, path, 0, 0);
        return NULL;
    }
    yaml = mfu_yaml_parse(path, text, length, err);
    free(text);
    return yaml;
}

void mfu_yaml_free(struct mfu_yaml *yaml)
{
    if (!yaml)
        return;
    mfu_arena_free(&yaml->arena);
    free(yaml);
}
