/* test_error.c - messages are built from the inside out. */
#include "near.h"

#include <string.h>

#include "base/error.h"

static void the_message_reads_from_the_outside_in(void **state)
{
    struct mfu_error err = {0};

    (void)state;
    assert_int_equal(mfu_fail(&err, MFU_EINPUT, "%d does not divide n_head (%d)", 3, 8), -1);
    assert_int_equal(err.code, MFU_EINPUT);
    assert_int_equal(mfu_within(&err, "%s", "n_kv_head"), -1);
    assert_int_equal(mfu_within(&err, "model"), -1);
    assert_string_equal(err.text, "model: n_kv_head: 3 does not divide n_head (8)");
}

static void the_innermost_place_stays(void **state)
{
    struct mfu_error err = {0};

    (void)state;
    mfu_fail(&err, MFU_EINPUT, "x");
    assert_int_equal(mfu_error_at(&err, "models/tiny.yaml", 7, 13), -1);
    mfu_error_at(&err, "plan.mfu", 1, 1);
    assert_string_equal(err.file, "models/tiny.yaml");
    assert_int_equal(err.line, 7);
    assert_int_equal(err.column, 13);
}

static void a_column_within_a_text_moves_with_the_text(void **state)
{
    struct mfu_error err = {0};

    (void)state;
    mfu_fail(&err, MFU_EINPUT, "x");
    mfu_error_at(&err, NULL, 0, 3);  /* in the expression ... */
    mfu_error_at(&err, NULL, 0, 11); /* ... which begins here in the line */
    assert_int_equal(err.column, 13);
    mfu_error_at(&err, "plan.mfu", 4, 0);
    assert_int_equal(err.column, 13);
    assert_int_equal(err.line, 4);
    assert_string_equal(err.file, "plan.mfu");
}

static void a_new_failure_starts_afresh(void **state)
{
    struct mfu_error err = {0};

    (void)state;
    mfu_fail(&err, MFU_EIO, "old");
    mfu_error_at(&err, "f", 1, 2);
    assert_int_equal(mfu_error_suggest(&err, "seq"), -1);
    assert_string_equal(err.suggestion, "seq");
    mfu_fail(&err, MFU_EINPUT, "new, not %s", err.text);
    assert_string_equal(err.text, "new, not old");
    assert_string_equal(err.file, "");
    assert_string_equal(err.suggestion, "");
    assert_int_equal(err.line + err.column, 0);
    mfu_error_clear(&err);
    assert_string_equal(err.text, "");
    assert_int_equal(err.code, MFU_OK);
}

static void nobody_needs_to_listen(void **state)
{
    (void)state;
    assert_int_equal(mfu_fail(NULL, MFU_EINPUT, "x"), -1);
    assert_int_equal(mfu_within(NULL, "x"), -1);
    assert_int_equal(mfu_error_at(NULL, "f", 1, 1), -1);
    assert_int_equal(mfu_error_suggest(NULL, "x"), -1);
    mfu_error_clear(NULL);
}

static void what_is_too_long_is_cut_between_characters(void **state)
{
    char text[2 * MFU_ERROR_TEXT], name[200] = "";
    struct mfu_error err = {0};

    (void)state;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    mfu_fail(&err, MFU_EINPUT, "%s", text);
    assert_int_equal(strlen(err.text), MFU_ERROR_TEXT - 1);
    mfu_within(&err, "%s", text);
    mfu_error_at(&err, text, 1, 1);
    assert_int_equal(strlen(err.file), sizeof err.file - 1);
    for (int i = 0; i < 60; i++)
        strcat(name, "\u20ac"); /* three bytes each */
    mfu_error_suggest(&err, name);
    assert_int_equal(strlen(err.suggestion), (sizeof err.suggestion - 1) / 3 * 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_message_reads_from_the_outside_in),
        cmocka_unit_test(the_innermost_place_stays),
        cmocka_unit_test(a_column_within_a_text_moves_with_the_text),
        cmocka_unit_test(a_new_failure_starts_afresh),
        cmocka_unit_test(nobody_needs_to_listen),
        cmocka_unit_test(what_is_too_long_is_cut_between_characters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
