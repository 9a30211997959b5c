/*
 * csv.c - one pass that cuts the text in place.
 */
#include "base/csv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/error.h"

#define LARGEST (64L << 20) /* bytes of a file */
#define MOST_COLUMNS 1024   /* of a file */

static char *slurp(const char *path, struct mfu_arena *arena, struct mfu_error *err)
{
    FILE *in = fopen(path, "rb");
    struct stat st;
    char *text = NULL;

    if (!in || fstat(fileno(in), &st) < 0) {
        mfu_fail(err, MFU_EIO, "%s: %s", path, strerror(errno));
    } else if (!S_ISREG(st.st_mode)) {
        mfu_fail(err, MFU_EIO, "%s: not a regular file", path);
    } else if (st.st_size > LARGEST) {
        mfu_fail(err, MFU_EINPUT, "%s: larger than 64 MiB", path);
    } else if (!(text = mfu_arena_alloc(arena, (size_t)st.st_size + 1, 1))) {
        mfu_fail(err, MFU_ENOMEM, "out of memory");
    } else {
        size_t n = fread(text, 1, (size_t)st.st_size, in);

        text[n] = '\0';
        if (strlen(text) != n) {
            mfu_fail(err, MFU_EINPUT, "%s: not a text file", path);
            text = NULL;
        }
    }
    if (in)
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

int mfu_csv_read(const char *path, struct mfu_arena *arena, struct mfu_csv *csv, struct mfu_error *err)
{
    char *text = slurp(path, arena, err), *fields[MOST_COLUMNS];
    size_t most = 1;
    int line = 1, n;

    *csv = (struct mfu_csv){0};
    if (!text)
        return -1;
    for (const char *p = text; *p; p++)
        most += *p == '\n' || *p == '\r'; /* either ends a record */
    if (strncmp(text, "\xef\xbb\xbf", 3) == 0)
        text += 3;
    n = *text ? cut(&text, fields, MOST_COLUMNS, &line) : 0;
    if (n <= 0 || n > MOST_COLUMNS) {
        mfu_fail(err, MFU_EINPUT, "expected a header line with the names of the columns");
        return mfu_error_at(err, path, 1, 1);
    }
    csv->n_columns = (size_t)n;
    csv->header = mfu_arena_alloc(arena, csv->n_columns, sizeof *csv->header);
    csv->cells = mfu_arena_alloc(arena, most * csv->n_columns, sizeof *csv->cells);
    csv->lines = mfu_arena_alloc(arena, most, sizeof *csv->lines);
    if (!csv->header || !csv->cells || !csv->lines)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    memcpy(csv->header, fields, csv->n_columns * sizeof *fields);
    while (*text) {
        int first = line;
        char **row = csv->cells + csv->n_rows * csv->n_columns;

        n = cut(&text, fields, MOST_COLUMNS, &line);
        if (n < 0 || n > (int)csv->n_columns) {
            if (n < 0)
                mfu_fail(err, MFU_EINPUT, "a quoted field does not end");
            else
                mfu_fail(err, MFU_EINPUT, "%d fields, where the header has %zu", n, csv->n_columns);
            return mfu_error_at(err, path, first, 1);
        }
        if (n == 1 && fields[0][0] == '\0')
            continue; /* an empty line */
        for (size_t i = 0; i < csv->n_columns; i++)
            row[i] = i < (size_t)n ? fields[i] : "";
        csv->lines[csv->n_rows++] = first;
    }
    return 0;
}

const char *mfu_csv_get(const struct mfu_csv *csv, size_t row, const char *column)
{
    for (size_t i = 0; i < csv->n_columns; i++)
        if (strcmp(csv->header[i], column) == 0)
            return csv->cells[row * csv->n_columns + i];
    return "";
}
