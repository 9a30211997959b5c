/* test_csv.c - tables as spreadsheets and people write them. */
#include "near.h"
#include "owned.h"
#include "scratch.h"

#include "base/arena.h"
#include "base/csv.h"
#include "base/error.h"

static int read_text(const char *text, struct mfu_arena *arena, struct mfu_csv *csv, struct mfu_error *err)
{
    SCRATCH s = scratch_new();
    int status;

    status = mfu_csv_read(scratch_file(&s, "table.csv", text), arena, csv, err);
    return status;
}

static void fields_are_cut_as_rfc_4180_says(void **state)
{
    static const struct {
        const char *text;
        size_t rows;
        const char *cell;
        int line;
    } rows[] = {
        {"a,b\n1,2\n", 1, "2", 2},
        {"a,b\n1,2", 1, "2", 2}, /* no end of line */
        {"\xef\xbb\xbf"
         "a,b\r\n1,2\r\n",
         1, "2", 2},                              /* Excel */
        {"a,b\r1,2\r3,4\r5,6\r7,8\r", 4, "2", 2}, /* an old Macintosh */
        {"a,b\n1,\"x,\ny\"\n", 1, "x, y", 2},     /* shown on one line */
        {"a,b\n1,\"say \"\"so\"\"\"\n", 1, "say \"so\"", 2},
        {"a,b\n1,\"\"\n", 1, "", 2},
        {"a, b\n1, 2\n", 1, "2", 2}, /* as people align them */
        {"a , b \n1,  x y  \n", 1, "x y", 2},
        {"a,b\n1, \" x\" \n", 1, " x", 2}, /* quoted blanks belong to it */
        {"a,b\n1\n", 1, "", 2},            /* what is missing is empty */
        {"a,b\n\n\n1,2\n\n", 1, "2", 4},   /* empty lines are none */
        {"a,b\n", 0, NULL, 0},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_arena arena = {0};
        struct mfu_error err = {0};
        struct mfu_csv csv;

        if (read_text(rows[i].text, &arena, &csv, &err) < 0)
            fail_msg("%s: %s", rows[i].text, err.text);
        assert_int_equal(csv.n_columns, 2);
        assert_int_equal(csv.n_rows, rows[i].rows);
        assert_string_equal(csv.header[0], "a");
        if (rows[i].cell) {
            assert_string_equal(mfu_csv_get(&csv, 0, "b"), rows[i].cell);
            assert_int_equal(csv.lines[0], rows[i].line);
            assert_string_equal(mfu_csv_get(&csv, 0, "c"), "");
        }
        mfu_arena_free(&arena);
    }
}

static void lines_are_counted_through_quotes(void **state)
{
    ARENA arena = {0};
    struct mfu_csv csv;

    (void)state;
    assert_int_equal(read_text("a\n\"1\n2\n3\"\nx\n", &arena, &csv, NULL), 0);
    assert_int_equal(csv.n_rows, 2);
    assert_int_equal(csv.lines[0], 2);
    assert_int_equal(csv.lines[1], 5);
}

static void what_is_no_table_is_refused_with_its_line(void **state)
{
    static const struct {
        const char *text, *part;
        int line;
    } rows[] = {
        {"", "header line", 1},
        {"\"a", "header line", 1},
        {"a,b\n1,2,3\n", "3 fields, where the header has 2", 2},
        {"a,b\n1,2\n3,\"x\n", "a quoted field does not end", 3},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_arena arena = {0};
        struct mfu_error err = {0};
        struct mfu_csv csv;

        assert_int_equal(read_text(rows[i].text, &arena, &csv, &err), -1);
        if (!strstr(err.text, rows[i].part) || err.line != rows[i].line || !strstr(err.file, "table.csv"))
            fail_msg("%s -> %s:%d: %s", rows[i].text, err.file, err.line, err.text);
        mfu_arena_free(&arena);
    }
}

static void what_is_no_text_file_is_refused(void **state)
{
    ARENA arena = {0};
    struct mfu_error err = {0};
    struct mfu_csv csv;

    (void)state;
    assert_int_equal(mfu_csv_read("/nowhere/x.csv", &arena, &csv, &err), -1);
    assert_int_equal(err.code, MFU_EIO);
    assert_int_equal(mfu_csv_read("/tmp", &arena, &csv, &err), -1);
    assert_non_null(strstr(err.text, "this is a folder"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_cut_as_rfc_4180_says),
        cmocka_unit_test(lines_are_counted_through_quotes),
        cmocka_unit_test(what_is_no_table_is_refused_with_its_line),
        cmocka_unit_test(what_is_no_text_file_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
