/*
 * packed.h - the descriptors that are compiled in, already read.
 *
 * The build reads models/ and gpus/ once (tools/pack_descriptors.c) and keeps
 * every document as its nodes, in the order of the file, without pointers: the
 * program does not relocate what nobody asks for.  A text that equals a
 * packed one needs no parser, so that a file of the data folder that differs
 * in one byte is read, and one that does not is spared.  Without a
 * data folder they are the catalog, as the folder MFU_COMPILED_IN.
 *
 * A node is: a byte (type, style), its line and column; as a member of a mapping the line, column and text
 * of its key; then its text, or the count of its members and they themselves.  Numbers have
 * seven bits in a byte, the last byte less than 128; texts end with '\0'.
 */
#ifndef MFU_PACKED_H
#define MFU_PACKED_H

#include <stddef.h>
#include <stdint.h>

struct mfu_yaml;

#define MFU_COMPILED_IN ":compiled-in"
#define MFU_PACKED_PATH 48

struct mfu_packed {
    char path[MFU_PACKED_PATH]; /* "gpus/rtx4070.yaml" */
    uint64_t hash;              /* of its text */
    uint32_t length;            /* of its text, in bytes */
    uint32_t at;                /* where its head begins, and its nodes behind that */
};

/* Written by the build, in the order of their paths. */
extern const struct mfu_packed mfu_packed[];
extern const size_t mfu_packed_count;
extern const unsigned char mfu_packed_nodes[];

/* 64 bits of a text. */
uint64_t mfu_packed_hash(const char *text, size_t length);

/* The document with this text; NULL: none. */
const struct mfu_packed *mfu_packed_same(const char *text, size_t length);

/* The document of a path in the data folder ("gpus/rtx4070.yaml"); NULL: none. */
const struct mfu_packed *mfu_packed_named(const char *path);

/* The document of a path below MFU_COMPILED_IN; NULL: none, or a path of the file system. */
const struct mfu_packed *mfu_packed_at(const char *path);

/* The part of the path below MFU_COMPILED_IN; NULL for one of the file system. */
const char *mfu_packed_inside(const char *path);

/* What the beginning of the file says about names: the lines `name:`, `aliases:`, `usual_for:` and `variants:`. */
const char *mfu_packed_head(const struct mfu_packed *);

/* Makes the nodes; 0, or -1 when out of memory.  Their texts are those that are compiled in. */
int mfu_packed_unpack(const struct mfu_packed *, struct mfu_yaml *);

#endif
