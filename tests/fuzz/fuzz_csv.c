/*
 * fuzz_csv.c - no text makes a table misbehave.
 *
 * What is refused has a reason; what is read has every cell, lines that count
 * upwards, and stays the same table when it is written and read again.
 */
#include "base/arena.h"
#include "base/csv.h"
#include "base/error.h"
#include "fixture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t *put(uint8_t *to, const char *cell, char end)
{
    *to++ = '"';
    for (; *cell; cell++) {
        if (*cell == '"')
            *to++ = '"';
        *to++ = (uint8_t)*cell;
    }
    *to++ = '"';
    *to++ = (uint8_t)end;
    return to;
}

/* Every field in quotes, as RFC 4180 writes it; the caller frees it. */
static uint8_t *write_table(const struct mfu_csv *csv, size_t *size)
{
    size_t cells = csv->n_columns * csv->n_rows, most = 1;
    uint8_t *text, *at;

    for (size_t i = 0; i < csv->n_columns; i++)
        most += 2 * strlen(csv->header[i]) + 3;
    for (size_t i = 0; i < cells; i++)
        most += 2 * strlen(mfu_csv_cell(csv, i / csv->n_columns, i % csv->n_columns)) + 3;
    text = at = malloc(most);
    REQUIRE(text);
    for (size_t i = 0; i < csv->n_columns; i++)
        at = put(at, csv->header[i], i + 1 < csv->n_columns ? ',' : '\n');
    for (size_t i = 0; i < cells; i++)
        at = put(at, mfu_csv_cell(csv, i / csv->n_columns, i % csv->n_columns), (i + 1) % csv->n_columns ? ',' : '\n');
    *size = (size_t)(at - text);
    return text;
}

static void check(const struct mfu_csv *csv, size_t size)
{
    REQUIRE(csv->n_columns >= 1 && csv->n_columns <= size + 1 && csv->n_rows <= size);
    for (size_t row = 0; row < csv->n_rows; row++) {
        REQUIRE(csv->lines[row] >= (row ? csv->lines[row - 1] + 1 : 2));
        REQUIRE((size_t)csv->lines[row] <= size + 1);
        for (size_t i = 0; i < csv->n_columns; i++)
            REQUIRE(mfu_csv_cell(csv, row, i));
        REQUIRE(mfu_csv_get(csv, row, csv->header[0]) == mfu_csv_cell(csv, row, 0));
    }
}

static void check_same(const struct mfu_csv *a, const struct mfu_csv *b)
{
    REQUIRE(a->n_columns == b->n_columns && a->n_rows == b->n_rows);
    for (size_t i = 0; i < a->n_columns; i++)
        REQUIRE(strcmp(a->header[i], b->header[i]) == 0);
    for (size_t row = 0; row < a->n_rows; row++)
        for (size_t i = 0; i < a->n_columns; i++)
            REQUIRE(strcmp(mfu_csv_cell(a, row, i), mfu_csv_cell(b, row, i)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct mfu_arena arena, second; /* kept between runs */
    struct mfu_error err = {0};
    struct mfu_csv csv, again;

    mfu_arena_reset(&arena);
    if (mfu_csv_read(fixture_file(data, size), &arena, &csv, &err) < 0) {
        REQUIRE(err.code != MFU_OK && err.text[0] != '\0');
    } else {
        size_t length;
        uint8_t *text;

        check(&csv, size);
        text = write_table(&csv, &length);
        mfu_arena_reset(&second);
        REQUIRE(mfu_csv_read(fixture_file(text, length), &second, &again, &err) == 0);
        check_same(&csv, &again);
        free(text);
    }
    return 0;
}
