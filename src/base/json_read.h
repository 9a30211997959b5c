/*
 * json_read.h - JSON as a tree, and back.
 */
#ifndef MFU_JSON_READ_H
#define MFU_JSON_READ_H

#include <jansson.h>
#include <stddef.h>

struct mfu_error;

/* What a text of JSON says.  The flags are those of json_loadb(): JSON_DECODE_ANY,
 * JSON_DISABLE_EOF_CHECK, JSON_REJECT_DUPLICATES.  NULL with a reason and its line; the caller owns the tree. */
json_t *mfu_json_read(const char *text, size_t length, size_t flags, struct mfu_error *err);

/* The text of a tree, as json_dumps() writes it, which leaves out a name that memory has no room for.  NULL: out of
 * memory.  The caller frees it. */
char *mfu_json_dumps(const json_t *, size_t flags);

#endif
