/* test_printable.c - no control character gets through, however a text is cut. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/printable.h"
#include "descriptor/maker.h"
#include "report/text/text.h"

static size_t encode(uint32_t c, char out[5])
{
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xC0, 0xE0, 0xF0};

    for (size_t i = n - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3F));
    out[0] = (char)(lead[n] | c);
    out[n] = '\0';
    return n;
}

/* What the stream makes of a text that is written in two pieces. */
static const struct mfu_word *words; /* NULL: none */

static char *filtered(enum mfu_safe how, const char *text, size_t size, size_t cut)
{
    char *result = NULL;
    size_t n = 0;
    FILE *to = open_memstream(&result, &n), *safe = mfu_safe_stream(to, &how, &words);

    assert_non_null(safe);
    fwrite(text, 1, cut, safe);
    fflush(safe);
    fwrite(text + cut, 1, size - cut, safe);
    fclose(safe);
    fclose(to);
    return result;
}

static ssize_t fails_once(void *cookie, const char *bytes, size_t size)
{
    int *calls = cookie;

    (void)bytes;
    return (*calls)++ == 1 ? 0 : (ssize_t)size;
}

static void a_write_that_failed_is_told_at_the_end(void **state)
{
    enum mfu_safe how = MFU_SAFE_TEXT;
    int calls = 0;
    FILE *to = fopencookie(&calls, "w", (cookie_io_functions_t){.write = fails_once});
    FILE *safe = mfu_safe_stream(to, &how, &words);

    (void)state;
    for (int i = 0; i < 10; i++) {
        fputs("a part of the page\n", safe);
        fflush(safe);
        clearerr(to);
    }
    assert_true(calls > 2);
    assert_int_equal(fclose(safe), EOF);
    fclose(to);
}

static void every_character_passes_or_is_replaced(void **state)
{
    (void)state;
    for (uint32_t c = 1; c <= 0x10FFFF; c += c < 0x3000 ? 1 : 977) {
        char text[5], buf[16], *stream;
        size_t n = c >= 0xD800 && c < 0xE000 ? 0 : encode(c, text);
        uint32_t code = 0;

        if (n == 0)
            continue;
        assert_int_equal(mfu_utf8_character(text, n, &code), n);
        assert_int_equal(code, c);
        assert_string_equal(mfu_printable(buf, sizeof buf, text), c == '\t' ? " " : mfu_is_control(c) ? "?" : text);
        stream = filtered(MFU_SAFE_TEXT, text, n, n / 2);
        assert_string_equal(stream, mfu_is_control(c) && c != '\t' && c != '\n' ? "?" : text);
        free(stream);
    }
}

/* U+009B is a control character in two bytes, and in one byte no UTF-8. */
static void known_attacks_are_harmless(void **state)
{
    static const struct {
        const char *text, *shown, *coloured, *json;
    } rows[] = {
        {"\033[31mred\033[0m", "?[31mred?[0m", "\033[31mred\033[0m", "\\u001b[31mred\\u001b[0m"},
        {"\033[2J", "?[2J", "?[2J", "\\u001b[2J"},
        {"\033]0;title\a", "?]0;title?", "?]0;title?", "\\u001b]0;title\\u0007"},
        {"\xc2\x9b"
         "31m",
         "?31m", "?31m", "\\u009b31m"},
        {"\x9b"
         "31m",
         "?31m", "?31m", "\\ufffd31m"},
        {"a\rb", "a?b", "a?b", "a\\u000db"},
        {"a\xe2\x80\xae", "a?", "a?", "a\\u202e"},
        {"\xe2\x80", "??", "??", "\\ufffd\\ufffd"},
        {"\xc0\xaf\xf8", "???", "???", "\\ufffd\\ufffd\\ufffd"},
        {"\033[", "?[", "?[", "\\u001b["},
        {"\033[1;1;1;1;1;1;1;1;1;1;1;1;1;1m", "?[1;1;1;1;1;1;1;1;1;1;1;1;1;1m", "?[1;1;1;1;1;1;1;1;1;1;1;1;1;1m",
         "\\u001b[1;1;1;1;1;1;1;1;1;1;1;1;1;1m"},
        {"gr\xc3\xbcn\t\n", "gr\xc3\xbcn\t\n", "gr\xc3\xbcn\t\n", "gr\xc3\xbcn\t\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (size_t cut = 0; cut <= strlen(rows[i].text); cut++) {
            const char *expected[] = {rows[i].shown, rows[i].coloured, rows[i].json};

            for (enum mfu_safe how = MFU_SAFE_TEXT; how <= MFU_SAFE_JSON; how++) {
                char *got = filtered(how, rows[i].text, strlen(rows[i].text), cut);

                assert_string_equal(got, expected[how]);
                free(got);
            }
        }
}

static void a_copy_fits_and_is_utf_8(void **state)
{
    static const char text[] = "a\xc3\xbc\x01\xf0\x9f\x98\x80z\xff";

    (void)state;
    for (size_t size = 1; size < sizeof text + 2; size++) {
        char buf[sizeof text + 2];

        memset(buf, 'x', sizeof buf);
        mfu_printable(buf, size, text);
        assert_true(strlen(buf) < size);
        for (size_t n, i = 0; buf[i]; i += n)
            assert_true((n = mfu_utf8_character(buf + i, strlen(buf + i), NULL)) > 0);
    }
}

/* Whole words alone, the longest phrase first, and columns stay where they were; however a text is cut. */
static void words_are_exchanged(void **state)
{
    static const struct mfu_word amd[] = {{"nvidia-smi, NVML", "amd-smi umc"},
                                          {"nvidia-smi", "amd-smi"},
                                          {"warps", "wavefronts"},
                                          {"SMs", "CUs"},
                                          {"SM", "CU"},
                                          {NULL, NULL}};
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"an SM of 132 SMs.\n", "an CU of 132 CUs.\n"},
        {"SMALL SM_ACTIVE xSM SM-x\n", "SMALL SM_ACTIVE xSM SM-x\n"},
        {"nvidia-smi, NVML; nvidia-smi, not\n", "amd-smi umc; amd-smi, not\n"},
        {"nvidia-smi", "amd-smi"},
        {"= nvidia-smi   57 GiB  used\n= reserved     57 GiB  used\n",
         "= amd-smi      57 GiB  used\n= reserved     57 GiB  used\n"},
        {"nvidia-smi total    192\n", "amd-smi total       192\n"},
        {"warps of SM         32\n", "wavefronts of CU    32\n"},
        {"warps  32\nwarps  32\n", "wavefronts 32\nwavefronts 32\n"},
        {"wrote /tmp/SM/SM.json, SM.yaml and SM/x: SM.\n", "wrote /tmp/SM/SM.json, SM.yaml and SM/x: CU.\n"},
        {"called 'SM', of SM's\n", "called 'SM', of CU's\n"},
        {"SM \033[1mSM\033[0m \u00d7 SM\n", "CU \033[1mCU\033[0m \u00d7 CU\n"},
    };

    (void)state;
    words = amd;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (size_t cut = 0; cut <= strlen(cases[i].text); cut++) {
            char *stream = filtered(MFU_SAFE_COLOURS, cases[i].text, strlen(cases[i].text), cut);

            assert_string_equal(stream, cases[i].expected);
            free(stream);
        }
    words = NULL;
}

/* Who lays a text out exchanges its words first, and the stream then leaves them. */
static void what_is_exchanged_stays_so(void **state)
{
    static const char *const vendors[] = {"AMD", "Apple", "Intel", "Habana"};
    char text[2 * MFU_WORD_MAX], again[2 * MFU_WORD_MAX];

    (void)state;
    for (size_t v = 0; v < sizeof vendors / sizeof *vendors; v++)
        for (const struct mfu_word *w = mfu_maker(vendors[v])->words; w->ours; w++) {
            if (!w->theirs)
                continue;
            snprintf(text, sizeof text, "%s.", w->ours);
            mfu_words_exchange(text, sizeof text, mfu_maker(vendors[v])->words);
            assert_memory_equal(text, w->theirs, strlen(w->theirs));
            strcpy(again, text);
            mfu_words_exchange(again, sizeof again, mfu_maker(vendors[v])->words);
            assert_string_equal(again, text);
        }
    strcpy(text, "an SM");
    mfu_words_exchange(text, sizeof text, NULL);
    assert_string_equal(text, "an SM");
    mfu_words_exchange(text, 8, mfu_maker("AMD")->words);
    assert_string_equal(text, "a CU");
}

/* Columns are chosen for the words that will stand there. */
static void lines_are_as_wide_as_their_words(void **state)
{
    const struct mfu_term term = {.width = 80, .height = 24, .words = mfu_maker("Habana")->words};
    char *text = NULL, *rest;
    size_t n, lines = 0;
    FILE *out = open_memstream(&text, &n);

    (void)state;
    mfu_paragraph(
        out, &term, "", 0, MFU_PLAIN, "%s",
        "tensor cores tensor cores tensor cores tensor cores tensor cores tensor cores tensor cores tensor cores "
        "tensor cores tensor cores tensor cores tensor cores tensor cores tensor cores tensor cores tensor cores");
    mfu_print_wrapped(out, &term, 0, 2,
                      "SM tensor cores SM tensor cores SM tensor cores SM tensor cores SM tensor cores");
    fclose(out);
    rest = text;
    for (char *line; (line = strsep(&rest, "\n")); lines++)
        assert_true(strlen(line) <= 80 && !strstr(line, "tensor"));
    assert_true(lines > 5);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_write_that_failed_is_told_at_the_end),
        cmocka_unit_test(every_character_passes_or_is_replaced),
        cmocka_unit_test(known_attacks_are_harmless),
        cmocka_unit_test(a_copy_fits_and_is_utf_8),
        cmocka_unit_test(words_are_exchanged),
        cmocka_unit_test(what_is_exchanged_stays_so),
        cmocka_unit_test(lines_are_as_wide_as_their_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
