/*
 * pack_descriptors.c - models/ and gpus/ as data of the program; the build runs it.
 *
 *     pack_descriptors OUT.c ROOT PATH...
 *
 * Reads ROOT/PATH by the reader of the program and writes what descriptor/packed.h describes.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "descriptor/packed.h"
#include "descriptor/yaml.h"
#include "descriptor/yaml_tree.h"

/* Nothing is packed yet. */
const struct mfu_packed mfu_packed[1];
const size_t mfu_packed_count = 0;
const unsigned char mfu_packed_nodes[1];

static FILE *out;
static size_t written;

static void byte(int c)
{
    fprintf(out, "%d,", c);
    if (++written % 32 == 0)
        putc('\n', out);
}

static void number(size_t n)
{
    for (; n > 127; n >>= 7)
        byte((int)(n & 127) | 128);
    byte((int)n);
}

static void letters(const char *t)
{
    while (*t)
        byte((unsigned char)*t++);
}

static void text(const char *t)
{
    letters(t);
    byte(0);
}

static void put(const struct mfu_yaml_node *node, bool keyed)
{
    byte((int)node->type | (int)node->style << 2);
    number((size_t)node->line);
    number((size_t)node->column);
    if (keyed) {
        number((size_t)node->key_line);
        number((size_t)node->key_column);
        text(node->key);
    }
    if (node->type == MFU_SCALAR) {
        text(node->text);
        return;
    }
    number(node->count);
    for (size_t i = 0; i < node->count; i++)
        put(node->members[i], node->type == MFU_MAPPING);
}

/* The lines by which the catalog finds it. */
static void put_head(struct mfu_yaml *yaml)
{
    static const char *const keys[] = {"name", "aliases", "usual_for", "variants"};

    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
        struct mfu_yaml_node *node = mfu_node_find(mfu_yaml_root(yaml), keys[k]), *each;

        if (!node)
            continue;
        letters(keys[k]);
        letters(": [");
        for (size_t i = 0;
             (each = mfu_node_type(node) == MFU_MAPPING ? mfu_node_value(node, i) : mfu_node_each(node, i)); i++) {
            letters("\"");
            letters(mfu_node_type(node) == MFU_MAPPING ? mfu_node_key(node, i) : mfu_node_text(each));
            letters("\", ");
        }
        letters("]\n");
    }
    byte(0);
}

static size_t read_text(const char *path, char *to, size_t size)
{
    FILE *in = fopen(path, "rb");
    size_t n = in ? fread(to, 1, size, in) : 0;

    if (!in || ferror(in) || fclose(in) != 0) {
        perror(path);
        exit(1);
    }
    return n;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int main(int argc, char **argv)
{
    static char bytes[MFU_YAML_LARGEST];
    struct mfu_packed *rows = calloc((size_t)argc, sizeof *rows);

    if (argc < 4 || !rows || !(out = fopen(argv[1], "w")))
        return perror(argv[0]), 1;
    qsort(argv + 3, (size_t)argc - 3, sizeof *argv, by_path);
    fputs("/* Written by tools/pack_descriptors.c. */\n#include \"descriptor/packed.h\"\n\n"
          "const unsigned char mfu_packed_nodes[] = {\n",
          out);
    for (int i = 3; i < argc; i++) {
        struct mfu_packed *row = &rows[i];
        struct mfu_error err = {0};
        struct mfu_yaml *yaml;
        char path[4096];

        snprintf(path, sizeof path, "%s/%s", argv[2], argv[i]);
        if ((size_t)snprintf(row->path, sizeof row->path, "%s", argv[i]) >= sizeof row->path)
            return fprintf(stderr, "%s: longer than %zu bytes\n", argv[i], sizeof row->path - 1), 1;
        row->length = (uint32_t)read_text(path, bytes, sizeof bytes);
        row->hash = mfu_packed_hash(bytes, row->length);
        row->at = (uint32_t)written;
        if (!(yaml = mfu_yaml_parse(path, bytes, row->length, &err)))
            return fprintf(stderr, "%s:%d:%d: %s\n", path, err.line, err.column, err.text), 1;
        put_head(yaml);
        put(mfu_yaml_root(yaml), false);
        mfu_yaml_free(yaml);
    }
    fputs("0};\n\nconst struct mfu_packed mfu_packed[] = {\n", out);
    for (int i = 3; i < argc; i++)
        fprintf(out, "    {\"%s\", 0x%016llxu, %u, %u},\n", rows[i].path, (unsigned long long)rows[i].hash,
                rows[i].length, rows[i].at);
    fprintf(out, "};\nconst size_t mfu_packed_count = %d;\n", argc - 3);
    free(rows);
    return fclose(out) == 0 ? 0 : (perror(argv[1]), 1);
}
