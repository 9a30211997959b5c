/* test_suggest.c - only close names, unfinished words first. */
#include "near.h"

#include <string.h>

#include "base/suggest.h"

static const char *const names[] = {
    "batch",      "seq",    "tp",       "precision", "vram_reserved", "gpt2-xl",          "gpt2", "n_embd",
    "n_kv_head",  "n_head", "h100-sxm", "h100-pcie", "head_dim",      "memory_bandwidth", "uvit", "qwen2-57b-a14b",
    "qwen2.5-7b",
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
        {"h10o", "h100-sxm"}, /* of the beginning of a name */
        {"memry", "memory_bandwidth"},
        {"qwen25-7b", "qwen2.5-7b"},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++)
        assert_string_equal(nearest(rows[i][0]), rows[i][1]);
}

static void a_wrong_hint_is_worse_than_none(void **state)
{
    static const char *const strangers[] = {
        "", "-", "zebra", "xy", "x", "frobnicate", "cats", "dlp2", "xlembd", "unet",
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

/* The whole table of Damerau and Levenshtein, every cell. */
static int distance(const char *a, int m, const char *b, int n)
{
    int d[16][16];

    for (int i = 0; i <= m; i++)
        for (int j = 0; j <= n; j++) {
            int best = i == 0 ? j : j == 0 ? i : d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

            if (i > 0 && j > 0) {
                best = d[i - 1][j] + 1 < best ? d[i - 1][j] + 1 : best;
                best = d[i][j - 1] + 1 < best ? d[i][j - 1] + 1 : best;
            }
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && d[i - 2][j - 2] + 1 < best)
                best = d[i - 2][j - 2] + 1;
            d[i][j] = best;
        }
    return d[m][n];
}

/* 0 the word itself, 1 one that it begins, 1 + d at distance d, 99 too far, as is what differs in its first letter and more. */
static int rank(const char *typed, const char *name)
{
    int m = (int)strlen(typed), n = (int)strlen(name), limit = 1 + m / 4, d;

    if (n >= m && strncmp(name, typed, (size_t)m) == 0)
        return n > m;
    d = distance(typed, m, name, n);
    limit = m > 3 && (m - 1) / 2 < limit ? (m - 1) / 2 : limit < m ? limit : m - 1;
    return d <= (*typed == *name || limit < 1 ? limit : 1) ? 1 + d : 99;
}

/* Of names that the word begins the shorter comes first. */
static int order(const char *typed, const char *name)
{
    int r = rank(typed, name);

    return 16 * r + (r == 1 ? (int)strlen(name) : 0);
}

/* Whatever is spared on the way: the result is that of all names, each compared in
 * full, sorted by rank and then by place. */
static void nothing_nearer_is_left_out(void **state)
{
    unsigned random = 1;

    (void)state;
    for (int round = 0; round < 3000; round++) {
        char words[9][16], *typed = words[8];
        const char *list[8], *best[8];
        size_t n, want = (size_t)round % 4 + 1, expected = 0;

        for (int i = 0; i < 9; i++) {
            int length = 1 + (int)((random = random * 1103515245 + 12345) >> 16) % 12;

            for (int k = 0; k < length; k++)
                words[i][k] = (char)('a' + ((random = random * 1103515245 + 12345) >> 16) % 3);
            words[i][length] = '\0';
        }
        for (int i = 0; i < 8; i++)
            list[i] = words[i];
        n = mfu_suggest(typed, list, 8, best, want);
        for (int r = 0; r < 99 * 16 && expected < want; r++)
            for (int i = 0; i < 8 && expected < want; i++)
                if (order(typed, list[i]) == r) {
                    assert_true(expected < n);
                    assert_ptr_equal(best[expected++], list[i]);
                }
        assert_int_equal(n, expected);
    }
}

static void parts_of_a_name_are_near(void **state)
{
    static const char *const olmo[] = {"OLMo-1B", "OLMo-2-1124-13B-Instruct", "OLMo-2-1124-13B", "OLMo-2-7B"};
    const char *best;

    (void)state;
    assert_int_equal(mfu_suggest("olmo-2-13b", olmo, 4, &best, 1), 1);
    assert_string_equal(best, olmo[2]);
    assert_int_equal(mfu_suggest("olmo-2-7b", olmo, 4, &best, 1), 1);
    assert_string_equal(best, olmo[3]);
    assert_int_equal(mfu_suggest("13b-olmo-2-x", olmo, 4, &best, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_of_a_name_are_near),
        cmocka_unit_test(slips_are_forgiven),
        cmocka_unit_test(a_wrong_hint_is_worse_than_none),
        cmocka_unit_test(the_word_itself_then_unfinished_words_then_slips),
        cmocka_unit_test(case_dashes_and_blanks_do_not_matter),
        cmocka_unit_test(every_single_slip_is_found),
        cmocka_unit_test(nothing_nearer_is_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
