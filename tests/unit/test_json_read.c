/* test_json_read.c - what is JSON and what is none, and where it is wrong. */
#include "near.h"

#include <jansson.h>
#include <string.h>

#include "base/error.h"
#include "base/json_read.h"

static void values_names_and_escapes_are_read(void **state)
{
    static const char text[] = " {\"a\": [1, -2.5e3, true, null, -0, [], {}],\n \"b\\u0041\": "
                               "\"\\u00e9\\ud83d\\ude00\\n\\/\", \"b\": 1, \"b\": 2}\n";
    json_t *o = mfu_json_read(text, strlen(text), 0, NULL), *a = json_object_get(o, "a");
    struct mfu_error err = {0};

    (void)state;
    assert_int_equal(json_array_size(a), 7);
    assert_int_equal(json_integer_value(json_array_get(a, 0)), 1);
    assert_true(json_real_value(json_array_get(a, 1)) == -2500);
    assert_true(json_is_true(json_array_get(a, 2)));
    assert_string_equal(json_string_value(json_object_get(o, "bA")), "\xC3\xA9\xF0\x9F\x98\x80\n/");
    assert_int_equal(json_integer_value(json_object_get(o, "b")), 2);
    json_decref(o);
    assert_null(mfu_json_read(text, strlen(text), JSON_REJECT_DUPLICATES, &err));
    assert_int_equal(err.line, 2);
    o = mfu_json_read("7 8", 3, JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK, NULL);
    assert_int_equal(json_integer_value(o), 7);
    json_decref(o);
}

static void what_is_no_json_is_refused_with_its_line(void **state)
{
    static const char *const wrong[] = {"",
                                        "7",
                                        "[",
                                        "[1,]",
                                        "[1 2]",
                                        "{\"a\"}",
                                        "{\"a\":1,}",
                                        "{a:1}",
                                        "[] []",
                                        "[01]",
                                        "[1.]",
                                        "[.5]",
                                        "[1e]",
                                        "[-]",
                                        "[1e999]",
                                        "[99999999999999999999]",
                                        "[\"\\x\"]",
                                        "[\"\\u12g4\"]",
                                        "[\"\n\"]",
                                        "[\"\\ud800\\u0041\"]",
                                        "[\"\\udc00\"]",
                                        "[\"\xFF\"]",
                                        "[\"\\u0000\"]",
                                        "[\"a",
                                        "[nul]",
                                        "[NaN]"};
    char deep[5000];

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct mfu_error err = {0};

        assert_null(mfu_json_read(wrong[i], strlen(wrong[i]), 0, &err));
        assert_non_null(strstr(err.text, "no JSON: "));
        assert_true(err.line > 0);
    }
    memset(deep, '[', sizeof deep - 1);
    deep[sizeof deep - 1] = '\0';
    assert_null(mfu_json_read(deep, sizeof deep - 1, 0, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(values_names_and_escapes_are_read),
                                       cmocka_unit_test(what_is_no_json_is_refused_with_its_line)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
