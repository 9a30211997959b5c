/*
 * json.h - answers as JSON, and their schema, by the tables of their fields.
 */
#ifndef MFU_REPORT_JSON_H
#define MFU_REPORT_JSON_H

#include <jansson.h>
#include <stdio.h>

#include "base/field.h"

/* The object with all its fields on one line, as text and as a tree; of a record that is a
 * whole answer with "command" and "schema" in front.  NULL: out of memory.  The caller owns it. */
char *mfu_json_write(const struct mfu_record *, const void *object, size_t *length);
/* The same into a file, with a newline; long tables are never in memory as a whole.  0, or -1 when out of memory. */
int mfu_json_put(FILE *, const struct mfu_record *, const void *object);
json_t *mfu_json(const struct mfu_record *, const void *object);

/* A number as JSON, of 15 digits: an integer when it is whole and below 2^53, null when it
 * is not finite.  Returns `out`. */
#define MFU_JSON_NUMBER 40
const char *mfu_json_number(double, char out[MFU_JSON_NUMBER]);

/* A text, with '?' for what is no printable UTF-8. */
json_t *mfu_json_text(const char *);

/* A JSON Schema (draft 2020-12): any of these answers; NULL-terminated lists, one
 * for each of `n` commands. */
json_t *mfu_json_schema(const struct mfu_record *const *const *answers, size_t n);

#endif
