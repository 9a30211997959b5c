/*
 * packed.c - the descriptors that are compiled in, already read.
 */
#include "descriptor/packed.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "descriptor/yaml.h"
#include "descriptor/yaml_tree.h"

uint64_t mfu_packed_hash(const char *text, size_t length)
{
    uint64_t h = MFU_HASH64 ^ length, word;

    for (; length > 0; text += sizeof word) { /* FNV-1a, eight bytes at a time, and the high bits brought down */
        size_t n = length < sizeof word ? length : sizeof word;

        word = 0;
        memcpy(&word, text, n);
        h = mfu_hash64_word(h, word);
        h ^= h >> 29;
        length -= n;
    }
    return h;
}

const struct mfu_packed *mfu_packed_same(const char *text, size_t length)
{
    uint64_t hash = 0;

    for (size_t i = 0; i < mfu_packed_count; i++) {
        if (mfu_packed[i].length != length)
            continue;
        if (!hash)
            hash = mfu_packed_hash(text, length);
        if (mfu_packed[i].hash == hash)
            return &mfu_packed[i];
    }
    return NULL;
}

const char *mfu_packed_inside(const char *path)
{
    size_t n = sizeof MFU_COMPILED_IN - 1;

    return strncmp(path, MFU_COMPILED_IN, n) == 0 && path[n] == '/' ? path + n + 1 : NULL;
}

static int by_path(const void *path, const void *packed)
{
    return strcmp(path, ((const struct mfu_packed *)packed)->path);
}

const struct mfu_packed *mfu_packed_named(const char *path)
{
    return bsearch(path, mfu_packed, mfu_packed_count, sizeof *mfu_packed, by_path);
}

const struct mfu_packed *mfu_packed_at(const char *path)
{
    const char *inside = mfu_packed_inside(path);

    return inside ? mfu_packed_named(inside) : NULL;
}

static int number(const unsigned char **at)
{
    int n = 0, shift = 0;

    do
        n |= (**at & 127) << shift;
    while (shift += 7, *(*at)++ & 128);
    return n;
}

static const char *text(const unsigned char **at)
{
    const char *t = (const char *)*at;

    *at += strlen(t) + 1;
    return t;
}

static int unpack(struct mfu_arena *arena, const unsigned char **at, struct mfu_yaml_node *node, bool keyed)
{
    struct mfu_yaml_node *members;
    int kind = *(*at)++;

    node->type = (unsigned char)(kind & 3);
    node->style = (unsigned char)(kind >> 2);
    node->line = number(at);
    node->column = number(at);
    if (keyed) {
        node->key_line = number(at);
        node->key_column = number(at);
        node->key = text(at);
    }
    if (node->type == MFU_SCALAR) {
        node->text = text(at);
        return 0;
    }
    if ((node->count = (size_t)number(at)) == 0)
        return 0;
    members = mfu_arena_alloc(arena, node->count, sizeof *members);
    node->members = mfu_arena_alloc(arena, node->count, sizeof *node->members);
    if (!members || !node->members)
        return -1;
    for (size_t i = 0; i < node->count; i++) {
        node->members[i] = &members[i];
        if (unpack(arena, at, &members[i], node->type == MFU_MAPPING) < 0)
            return -1;
    }
    return 0;
}

const char *mfu_packed_head(const struct mfu_packed *p)
{
    return (const char *)mfu_packed_nodes + p->at;
}

int mfu_packed_unpack(const struct mfu_packed *p, struct mfu_yaml *yaml)
{
    const unsigned char *at = mfu_packed_nodes + p->at;

    text(&at);
    yaml->root = mfu_arena_alloc(&yaml->arena, 1, sizeof *yaml->root);
    return yaml->root ? unpack(&yaml->arena, &at, yaml->root, false) : -1;
}
