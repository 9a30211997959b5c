/*
 * csv.h - comma-separated tables with a header line (RFC 4180: quoted fields,
 * doubled quotes, commas and newlines inside quotes).  Blanks around a field do
 * not belong to it, unless they are quoted.
 */
#ifndef MFU_CSV_H
#define MFU_CSV_H

#include <stdbool.h>
#include <stddef.h>

struct mfu_arena;
struct mfu_error;

struct mfu_csv {
    size_t n_columns, n_rows;
    char **header;    /* n_columns names */
    unsigned *hashes; /* of them */
    char **cells;     /* the fields that are there, row after row */
    size_t *first;    /* of each row in `cells`; one more behind the last */
    int *lines;       /* of each row in the file */
    bool tabs;        /* the first field of the header has one: they may part its fields */
};

/* Reads a file of at most 64 MiB and 100,000 rows into `arena`; that takes memory
 * in proportion to its size.  A row with more fields than the header is an error
 * with its line; missing ones are empty.  Tabs become blanks, control
 * characters and bytes that are not UTF-8 '?'. */
int mfu_csv_read(const char *path, struct mfu_arena *arena, struct mfu_csv *csv, struct mfu_error *err);

/* The text of the i-th column in a row, never NULL. */
const char *mfu_csv_cell(const struct mfu_csv *, size_t row, size_t i);

/* The text of a column in a row; "" when there is no such column. */
const char *mfu_csv_get(const struct mfu_csv *, size_t row, const char *column);

#endif
