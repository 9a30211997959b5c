/*
 * csv.c - one pass that cuts the text in place.
 */
#include "base/csv.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/input_file.h"
#include "base/printable.h"

#define LARGEST (64L << 20) /* bytes of a file */
#define MOST_COLUMNS 1024   /* of a file */
#define MOST_ROWS 100000

static char *slurp(const char *path, struct mfu_arena *arena, struct mfu_error *err)
{
    FILE *in = mfu_input_open(path, err);
    struct stat st;
    char *text = NULL;

    if (!in)
        return NULL;
    if (fstat(fileno(in), &st) < 0 || !S_ISREG(st.st_mode)) {
        mfu_fail(err, MFU_EIO, "cannot be read: not a regular file");
    } else if (st.st_size > LARGEST) {
        mfu_fail(err, MFU_EINPUT, "larger than 64 MiB");
    } else if (!(text = mfu_arena_alloc(arena, (size_t)st.st_size + 1, 1))) {
        mfu_fail(err, MFU_ENOMEM, "out of memory");
    } else {
        size_t n = fread(text, 1, (size_t)st.st_size, in);

        text[n] = '\0';
        if (strlen(text) != n) {
            mfu_fail(err, MFU_EINPUT, "not a text file");
            text = NULL;
        }
    }
    fclose(in);
    return text;
}

static char *skip_blanks(char *p)
{
    while (*p == ' ')
        p++;
    return p;
}

/* Cuts one record at *at into fields; returns their number, or -1 for a quote
 * that never ends. */
static int cut(char **at, char **fields, int max, int *line)
{
    char *p = *at;
    int n = 0;

    for (;;) {
        char *to, *begin, *quoted;

        to = begin = p = skip_blanks(p);
        if (*p == '"') {
            p++;
            while (*p && !(*p == '"' && p[1] != '"')) {
                if (*p == '"')
                    p++;
                *line += *p == '\n';
                *to++ = *p++;
            }
            if (*p != '"')
                return -1;
            p++;
        }
        quoted = to;
        while (*p && *p != ',' && *p != '\n' && *p != '\r')
            *to++ = *p++;
        while (to > quoted && to[-1] == ' ')
            to--;
        if (n < max)
            fields[n] = begin;
        n++;
        if (*p == ',') {
            *to = '\0';
            p++;
            continue;
        }
        if (*p == '\r')
            p++;
        if (*p == '\n')
            p++;
        *to = '\0';
        break;
    }
    *line += 1;
    *at = p;
    return n;
}

/* Room for all rows and fields that the text can have: a field ends with a
 * comma or a line, and empty lines are no rows. */
static int make_room(struct mfu_csv *csv, const char *text, struct mfu_arena *arena, struct mfu_error *err)
{
    size_t fields = 1, rows = 1;

    for (const char *p = text; *p; p++) {
        bool ends = (*p == '\n' || *p == '\r') && p > text && p[-1] != '\n' && p[-1] != '\r';

        fields += *p == ',' || ends;
        rows += ends;
    }
    if (rows > MOST_ROWS + 1)
        rows = MOST_ROWS + 1;
    csv->header = mfu_arena_alloc(arena, csv->n_columns, sizeof *csv->header);
    csv->hashes = mfu_arena_alloc(arena, csv->n_columns, sizeof *csv->hashes);
    csv->cells = mfu_arena_alloc(arena, fields, sizeof *csv->cells);
    csv->first = mfu_arena_alloc(arena, rows + 1, sizeof *csv->first);
    csv->lines = mfu_arena_alloc(arena, rows, sizeof *csv->lines);
    return csv->header && csv->hashes && csv->cells && csv->first && csv->lines
        ? 0
        : mfu_fail(err, MFU_ENOMEM, "out of memory");
}

/* A cell is shown on one line of a terminal. */
static char *clean(char *cell)
{
    for (char *p = cell; *p; p++)
        if (*p == '\n' || *p == '\r')
            *p = ' ';
    return mfu_printable_in_place(cell);
}

/* One record, unless it is an empty line. */
static int read_row(struct mfu_csv *csv, char **text, char **fields, int *line, struct mfu_error *err)
{
    int n = cut(text, fields, MOST_COLUMNS, line);

    if (n < 0)
        return mfu_fail(err, MFU_EINPUT, "a quoted field does not end");
    if (n > (int)csv->n_columns)
        return mfu_fail(err, MFU_EINPUT, "%d fields, where the header has %zu", n, csv->n_columns);
    if (n == 1 && fields[0][0] == '\0')
        return 0;
    if (csv->n_rows == MOST_ROWS)
        return mfu_fail(err, MFU_EINPUT, "more than %d rows", MOST_ROWS);
    for (int i = 0; i < n; i++)
        clean(fields[i]);
    memcpy(csv->cells + csv->first[csv->n_rows], fields, (size_t)n * sizeof *fields);
    csv->first[csv->n_rows + 1] = csv->first[csv->n_rows] + (size_t)n;
    csv->n_rows++;
    return 0;
}

int mfu_csv_read(const char *path, struct mfu_arena *arena, struct mfu_csv *csv, struct mfu_error *err)
{
    char *text = slurp(path, arena, err), *fields[MOST_COLUMNS];
    int line = 1, n;

    *csv = (struct mfu_csv){0};
    if (!text)
        return mfu_error_at(err, path, 0, 0);
    if (strncmp(text, "\xef\xbb\xbf", 3) == 0)
        text += 3;
    n = *text ? cut(&text, fields, MOST_COLUMNS, &line) : 0;
    if (n <= 0 || n > MOST_COLUMNS)
        return mfu_fail_at(err, path, 1, 1, "expected a header line with the names of the columns");
    csv->n_columns = (size_t)n;
    if (make_room(csv, text, arena, err) < 0)
        return -1;
    csv->tabs = strchr(fields[0], '\t') != NULL;
    for (int i = 0; i < n; i++) {
        csv->header[i] = clean(fields[i]);
        csv->hashes[i] = mfu_hash_text(MFU_HASH, csv->header[i]);
    }
    while (*text) {
        int first = line;
        size_t row = csv->n_rows;

        if (read_row(csv, &text, fields, &line, err) < 0)
            return mfu_error_at(err, path, first, 1);
        if (csv->n_rows > row)
            csv->lines[row] = first;
    }
    return 0;
}

const char *mfu_csv_cell(const struct mfu_csv *csv, size_t row, size_t i)
{
    size_t at = csv->first[row] + i;

    return at < csv->first[row + 1] ? csv->cells[at] : "";
}

const char *mfu_csv_get(const struct mfu_csv *csv, size_t row, const char *column)
{
    unsigned wanted = mfu_hash_text(MFU_HASH, column);

    for (size_t i = 0; i < csv->n_columns; i++)
        if (csv->hashes[i] == wanted && strcmp(csv->header[i], column) == 0)
            return mfu_csv_cell(csv, row, i);
    return "";
}
