/* test_suggest.c - only close names, unfinished words first. */
#include "near.h"

#include <string.h>

#include "base/suggest.h"

static const char *const names[] = {
    "batch",  "seq",       "tp",     "precision", "vram_reserved", "gpt2-xl",  "gpt2",
    "n_embd", "n_kv_head", "n_head", "h100-sxm",  "h100-pcie",     "head_dim", "memory_bandwidth",
};

static const char *nearest(const char *typed)
{
    const char *best[1];

    return mfu_suggest(typed, names, LENGTH(names), best, 1) ? best[0] : "";
}

static void slips_are_forgiven(void **state)
{
    static const char *const rows[][2] = {
        {"sequ", "seq"},
        {"sq", "seq"},
        {"bacth", "batch"},
        {"precison", "precision"},
        {"pecrision", "precision"},
        {"nkvhead", "n_kv_head"},
        {"N-HEAD", "n_head"},
        {"n_haed", "n_head"},
        {"vramreserve", "vram_reserved"},
        {"memory_bandwith", "memory_bandwidth"},
        {"h100 smx", "h100-sxm"},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++)
        assert_string_equal(nearest(rows[i][0]), rows[i][1]);
}

static void a_wrong_hint_is_worse_than_none(void **state)
{
    static const char *const strangers[] = {
        "", "-", "zebra", "xy", "x", "frobnicate",
    };
    const char *best[1];
    char endless[1000];

    (void)state;
    memset(endless, 's', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    assert_string_equal(nearest(endless), "");
    for (size_t i = 0; i < LENGTH(strangers); i++)
        assert_string_equal(nearest(strangers[i]), "");
    assert_int_equal(mfu_suggest("seq", names, 0, best, 1), 0);
    assert_int_equal(mfu_suggest("seq", names, LENGTH(names), best, 0), 0);
}

static void the_word_itself_then_unfinished_words_then_slips(void **state)
{
    const char *best[LENGTH(names)];

    (void)state;
    assert_int_equal(mfu_suggest("gpt2", names, LENGTH(names), best, 9), 2);
    assert_string_equal(best[0], "gpt2");
    assert_string_equal(best[1], "gpt2-xl");
    assert_int_equal(mfu_suggest("h100", names, LENGTH(names), best, 9), 2);
    assert_int_equal(mfu_suggest("h100", names, LENGTH(names), best, 1), 1);
    assert_int_equal(mfu_suggest("head", names, LENGTH(names), best, 9), 2);
    assert_string_equal(best[0], "head_dim");
    assert_string_equal(best[1], "n_head");
}

static void case_dashes_and_blanks_do_not_matter(void **state)
{
    (void)state;
    assert_true(mfu_same_name("RTX 4070", "rtx4070"));
    assert_true(mfu_same_name("a100-80gb-sxm", "A100_80GB_SXM"));
    assert_true(mfu_same_name("", "-_ "));
    assert_false(mfu_same_name("gpt2", "gpt2-xl"));
    assert_false(mfu_same_name("gpt2-xl", "gpt2"));
    assert_false(mfu_same_name("h100", "h200"));
}

/* Each kind of slip counts one: a word of three letters has one to spare. */
static void every_single_slip_is_found(void **state)
{
    const char *const word[] = {"abcdefg"};
    const char *best[1];
    char typed[16];

    (void)state;
    for (size_t i = 0; i < 7; i++) {
        strcpy(typed, word[0]);
        typed[i] = 'z';
        assert_int_equal(mfu_suggest(typed, word, 1, best, 1), 1);
        memmove(typed + i, word[0] + i + 1, 7 - i);
        assert_int_equal(mfu_suggest(typed, word, 1, best, 1), 1);
        memmove(typed + i + 1, word[0] + i, 8 - i);
        typed[i] = 'z';
        assert_int_equal(mfu_suggest(typed, word, 1, best, 1), 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slips_are_forgiven),
        cmocka_unit_test(a_wrong_hint_is_worse_than_none),
        cmocka_unit_test(the_word_itself_then_unfinished_words_then_slips),
        cmocka_unit_test(case_dashes_and_blanks_do_not_matter),
        cmocka_unit_test(every_single_slip_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
