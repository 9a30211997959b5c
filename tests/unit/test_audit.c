/* test_audit.c - claims: right verdicts, the contradiction named; what is true never contradicts. */
#include "near.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/audit/audit.h"
#include "base/error.h"
#include "catalog.h"
#include "scenario/scenario.h"

static struct mfu_scenario start;

static struct mfu_audits *audit(const char *text)
{
    struct mfu_error err = {0};
    struct mfu_audits *a = mfu_audit(catalog, &start, text, &err);

    if (!a)
        fail_msg("%s: %s", text, err.text);
    return a;
}

static int set_up(void **state)
{
    if (open_catalog(state) < 0)
        return -1;
    start = mfu_scenario_start(mfu_catalog_model(catalog, "gpt2", NULL), mfu_catalog_gpu(catalog, "h100-sxm", NULL));
    return start.gpu && start.model ? 0 : -1;
}

static bool names(const struct mfu_audit *a, const char *quantity)
{
    for (int i = 0; i < a->n_claims; i++)
        if (a->claims[i].contradicts && strcmp(mfu_quantity_rows[a->claims[i].kind].name, quantity) == 0)
            return true;
    return false;
}

/* Every line of the table; "\n" in it ends a line of a claim. */
static void test_claims(void **state)
{
    FILE *in = fopen(MFUPLAN_SOURCE_DIR "/tests/data/claims.txt", "r");
    char line[512];
    int n = 0;

    (void)state;
    assert_non_null(in);
    while (fgets(line, sizeof line, in)) {
        char *rest = line, *verdict, *quantities, *quantity;
        struct mfu_audits *a;

        rest[strcspn(rest, "\n")] = '\0';
        if (line[0] == '#')
            continue;
        verdict = strsep(&rest, "|");
        quantities = strsep(&rest, "|");
        for (char *line_end; (line_end = strstr(rest, "\\n"));)
            memcpy(line_end, " \n", 2);
        a = audit(rest);
        if (strcmp(a->verdict, verdict) != 0)
            fail_msg("%s: %s, expected %s", rest, a->verdict, verdict);
        while ((quantity = strsep(&quantities, ",")))
            if (*quantity && !names(&a->list[0], quantity))
                fail_msg("%s: %s is not part of the contradiction", rest, quantity);
        mfu_audits_free(a);
        n++;
    }
    fclose(in);
    assert_true(n > 1000);
}

/* A run that is possible, told in figures of three digits, never contradicts itself; with one of
 * the figures doubled it always does. */
static void test_truth(void **state)
{
    unsigned seed = 7;

    (void)state;
    for (int i = 0; i < 60; i++) {
        int wrong = i % 2 ? rand_r(&seed) % 5 : -1;
        double layers = 12 + rand_r(&seed) % 80, width = layers * (48 + rand_r(&seed) % 80),
               seq = 1024 << rand_r(&seed) % 3;
        double params = 12 * layers * width * width * 1.2, flop = 6 * params + 6 * layers * width * seq;
        double gpus = 1 << rand_r(&seed) % 10, mfu = 0.2 + 1e-3 * (rand_r(&seed) % 400), peak = 989.4e12;
        double speed = gpus * mfu * peak / flop, step = seq * gpus * 8 / speed, tokens = speed * 86400 * 30;
        double f[5] = {params, mfu, speed, step, tokens};
        struct mfu_audits *a;
        char text[400];

        if (wrong >= 0)
            f[wrong] *= wrong == 1 && mfu > 0.45 ? 0.5 : 2;
        snprintf(text, sizeof text,
                 "%.3gB parameters, %.0f layers, n_embd %.0f, seq %.0f, %.0f H100, MFU %.3g %%, %.4g tokens/s, step "
                 "time %.4g s, "
                 "%.0f tokens per step, %.4g tokens, training time 30 days",
                 f[0] / 1e9, layers, width, seq, gpus, 100 * f[1], f[2], f[3], seq * gpus * 8, f[4]);
        a = audit(text);
        assert_string_equal(a->list[0].unread, "");
        if (strcmp(a->verdict, wrong < 0 ? "holds" : "contradicts") != 0)
            fail_msg("%s: %s, figure %d is wrong", text, a->verdict, wrong);
        mfu_audits_free(a);
    }
}

/* What would have to be true is: a claim in which it is said no longer contradicts. */
static void test_needs(void **state)
{
    struct mfu_audits *a = audit("gpt2 on an RTX 4070: 56.1k tokens/s, MFU 15.4 %");
    const char *needs = a->list[0].contradictions[0].needs;

    (void)state;
    assert_non_null(strstr(needs, "a100")); /* whose peak nanoGPT divides by */
    assert_non_null(strstr(needs, "mfu would have to be 71."));
    mfu_audits_free(a);
    a = audit("gpt2 on an RTX 4070: 56.1k tokens/s, MFU 77 %");
    assert_string_equal(a->verdict, "holds");
    mfu_audits_free(a);
}

static void test_tables(void **state)
{
    struct mfu_audits *a = audit("model | GPU | GPUs | tokens/s/GPU | MFU (%)\n--- | --- | --- | --- | ---\n"
                                 "llama-2-7b | H100 | 8 | 10400 | 47\nllama-2-7b | H100 | 8 | 10400 | 67\n");

    (void)state;
    assert_int_equal(a->n, 2);
    assert_string_equal(a->list[0].verdict, "holds");
    assert_string_equal(a->list[1].verdict, "contradicts");
    assert_string_equal(a->verdict, "contradicts");
    mfu_audits_free(a);
    a = audit("params (B),tokens (T),compute (FLOP)\n70,15,6.3e24\n70,1.5,6.3e24\n");
    assert_int_equal(a->n, 2);
    assert_string_equal(a->list[0].verdict, "holds");
    assert_string_equal(a->list[1].verdict, "contradicts");
    mfu_audits_free(a);
}

/* However long a line is, its last cell counts as its first. */
static void long_rows_are_read_whole(void **state)
{
    char text[20000];

    (void)state;
    for (int wrong = 0; wrong < 2; wrong++)
        for (int width = 1; width <= 4096; width *= 8) {
            struct mfu_audits *a;

            snprintf(
                text, sizeof text,
                "remark | model | GPU | GPUs | tokens/s/GPU | %-*s | MFU (%%)\n%-*s | llama-2-7b | H100 | 8 | 10400 | "
                "%-*s | %d\n",
                width, "more", width, "-", width, "-", wrong ? 67 : 47);
            a = audit(text);
            assert_int_equal(a->n, 1);
            assert_string_equal(a->verdict, wrong ? "contradicts" : "holds");
            mfu_audits_free(a);
        }
}

/* However many rows and columns there are, the last counts. */
static void long_tables_are_read_whole(void **state)
{
    char text[40000] = "model | GPU | GPUs | ";

    (void)state;
    for (int wrong = 0; wrong < 2; wrong++) {
        struct mfu_audits *a;

        strcpy(text, "model | GPU | GPUs | ");
        for (int i = 0; i < 40; i++)
            strcat(text, "remark | ");
        strcat(text, "tokens/s/GPU | MFU (%)\n");
        for (int row = 0; row < 100; row++) {
            strcat(text, "llama-2-7b | H100 | 8 | ");
            for (int i = 0; i < 40; i++)
                strcat(text, "- | ");
            strcat(text, wrong && row == 99 ? "10400 | 67\n" : "10400 | 47\n");
        }
        a = audit(text);
        assert_int_equal(a->n, 100);
        assert_string_equal(a->list[99].verdict, wrong ? "contradicts" : "holds");
        mfu_audits_free(a);
    }
}

/* What a formula multiplies by is said before the product, in it, or neither: of something else. */
static void a_formula_before_a_product_multiplies_it_once(void **state)
{
    static const struct {
        const char *text;
        bool wrong;
    } all[] = {
        {"6ND: 8B params x 15T tokens = 7.2e23 FLOPs", false},
        {"6ND: 8B params x 15T tokens = 1.2e23 FLOPs", true},
        {"6ND: 8B x 15T = 7.2e23 FLOPs", false},
        {"6ND: 8B x 15T = 9.2e23 FLOPs", true},
        {"6ND = 6 x 8B x 15T = 7.2e23 FLOPs", false},
        {"6ND = 6 x 8B parameters x 15T tokens = 7.2e23 FLOPs", false},
        {"6ND = 6 x 8B parameters x 15T tokens = 9.9e23 FLOPs", true},
        {"6ND: 8 GPUs x 3 h = 24 GPU hours", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct mfu_audits *a = audit(all[i].text);

        if (strcmp(a->verdict, all[i].wrong ? "contradicts" : "holds") != 0)
            fail_msg("%s: %s", all[i].text, a->verdict);
        mfu_audits_free(a);
    }
}

/* Nothing is dropped without a word. */
static void test_unread(void **state)
{
    struct mfu_audits *a = audit("gpt2 has 17 warp-drives, MFU 40 %");

    (void)state;
    assert_non_null(strstr(a->list[0].unread, "17"));
    assert_non_null(strstr(a->list[0].unread, "warp-drives"));
    mfu_audits_free(a);
    a = audit("MFU 20 -> 38 %, 1.9x faster, same model on H100, 5 % flux"); /* would hold without the last */
    assert_string_equal(a->verdict, "open");
    assert_non_null(strstr(a->list[0].unread_figure, "5 %"));
    mfu_audits_free(a);
}

/* Narrowing never loses what satisfies an identity: checked on each, with random factors. */
static void test_sound(void **state)
{
    struct mfu_identity list[MFU_IDENTITIES];
    int n = mfu_identities(list, false);
    unsigned seed = 3;

    (void)state;
    assert_int_equal(n, (int)mfu_identity_row_count - 4); /* four speak of a change */
    for (int i = 0; i < n; i++)
        for (int round = 0; round < 20; round++) {
            struct mfu_box b;
            double x[MFU_Q_COUNT], right = 0;
            int left = list[i].term[0].n > 0 ? list[i].term[0].of[0].kind : -1;

            for (int k = 0; k < MFU_Q_COUNT; k++)
                x[k] = 0.1 + 1e-3 * (rand_r(&seed) % 300);
            for (int t = 1; t < list[i].n_terms; t++) {
                double p = list[i].term[t].factor;

                for (int f = 0; f < list[i].term[t].n; f++)
                    p *= pow(x[list[i].term[t].of[f].kind], list[i].term[t].of[f].power);
                right += p;
            }
            if (left < 0) /* the parts of 1 */
                for (int f = 0; f < list[i].n_terms; f++)
                    x[list[i].term[f].of[0].kind] *= 1 / right;
            else {
                double others = list[i].term[0].factor;

                for (int f = 1; f < list[i].term[0].n; f++)
                    others *= pow(x[list[i].term[0].of[f].kind], list[i].term[0].of[f].power);
                x[left] = pow(right / others, 1. / list[i].term[0].of[0].power);
            }
            for (int k = 0; k < MFU_Q_COUNT; k++)
                b.of[k][MFU_BEFORE] = (struct mfu_interval){0.9 * x[k], 1.1 * x[k]};
            for (int pass = 0; pass < 3; pass++)
                assert_true(mfu_identity_narrow(&list[i], &b));
            for (int k = 0; k < MFU_Q_COUNT; k++)
                assert_true(b.of[k][MFU_BEFORE].low <= x[k] * (1 + 1e-9)
                            && x[k] <= b.of[k][MFU_BEFORE].high * (1 + 1e-9));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_claims),
                                       cmocka_unit_test(test_truth),
                                       cmocka_unit_test(test_needs),
                                       cmocka_unit_test(test_tables),
                                       cmocka_unit_test(long_tables_are_read_whole),
                                       cmocka_unit_test(a_formula_before_a_product_multiplies_it_once),
                                       cmocka_unit_test(test_unread),
                                       cmocka_unit_test(test_sound),
                                       cmocka_unit_test(long_rows_are_read_whole)};

    return cmocka_run_group_tests(tests, set_up, close_catalog);
}
