/*
 * test_align_kernels.c - predicted launches beside recorded kernels: what is left out,
 * doubled or slowed down in the record is found again, and nothing else changes.
 */
#include "catalog.h"
#include "scratch.h"

#include "answer/validate/align_kernels.h"
#include "base/error.h"
#include "graph/program.h"

#define RECORD MFUPLAN_SOURCE_DIR "/tests/data/truth"
#define RUN "torch-gpt2-b2x1-eager-528ec4c1"

static char *contents(const char *path)
{
    char *text = calloc(1, 1 << 20);
    FILE *f = fopen(path, "r");

    assert_true(text && f);
    assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
    fclose(f);
    return text;
}

/* The record with every kernel of `op` written `times` times. */
static struct mfu_alignment *with(const char *op, int times)
{
    char *runs = contents(RECORD "/runs.csv"), *all = contents(RECORD "/kernels/" RUN ".csv");
    char *text = calloc(4, 1 << 20), line[512], name[64];
    struct mfu_alignment *a;
    struct mfu_error err = {0};
    SCRATCH s = scratch_new();
    int extra = 100000;

    snprintf(name, sizeof name, ",%s,", op);
    for (char *at = all; *at; at += strlen(line)) {
        snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n") + 1, at);
        if (!strstr(line, name))
            strcat(text, line);
        for (int i = 0; strstr(line, name) && i < times; i++) { /* each a call of its own */
            char *rest = strchr(strchr(line, ',') + 1, ',');

            sprintf(text + strlen(text), "0,%d%s", extra++, rest);
        }
    }
    scratch_file(&s, "runs.csv", runs);
    scratch_folder(&s, "kernels");
    scratch_file(&s, "kernels/" RUN ".csv", text);
    a = mfu_align_kernels(catalog, s.folder, &err);
    if (!a)
        fail_msg("%s", err.text);
    assert_string_equal(a->runs[0].skipped, "");
    free(runs);
    free(all);
    free(text);
    return a;
}

static const struct mfu_aligned *row_of(const struct mfu_aligned *rows, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

static void every_product_has_its_partner(void **state)
{
    struct mfu_alignment *a = with("none", 1);
    size_t products = 0;
    double sum = 0;

    (void)state;
    for (size_t i = 0; i < a->n_kernels; i++) {
        const struct mfu_aligned *k = &a->kernels[i];

        sum += k->measured_s;
        if (strcmp(k->kind, "gemm") != 0)
            continue;
        assert_true(k->count > 0 && k->count == k->measured_count);
        products += (size_t)k->count;
    }
    assert_int_equal(products,
                     39); /* 2 layers of 4 linear maps and 2 products of attention, and the head: each thrice */
    assert_float_equal(sum, a->runs[0].measured_s, 1e-9);
    assert_true(a->runs[0].matched > 0.85 && a->runs[0].matched < 1);
    mfu_alignment_free(a);
}

static void what_is_left_out_is_missing_and_what_is_doubled_is_extra(void **state)
{
    struct mfu_alignment *whole = with("none", 1), *without = with("aten::gelu", 0), *twice = with("aten::gelu", 2);
    const struct mfu_aligned *gelu = row_of(whole->kernels, whole->n_kernels, "h.mlp.gelu");
    const struct mfu_aligned *gone = row_of(without->kernels, without->n_kernels, "h.mlp.gelu");
    const struct mfu_aligned *more = row_of(twice->kernels, twice->n_kernels, "aten::gelu");

    (void)state;
    assert_true(gelu && gone && more);
    assert_true(gelu->measured_count == 2 && gone->count == 2);
    assert_string_equal(gone->status, "missing");
    assert_string_equal(more->status, "extra");
    assert_true(more->measured_count == 2);
    for (size_t i = 0; i < whole->n_kernels; i++) /* products keep theirs */
        if (strcmp(whole->kernels[i].kind, "gemm") == 0) {
            const struct mfu_aligned *same = row_of(without->kernels, without->n_kernels, whole->kernels[i].name);

            assert_true(same && same->measured_count == same->count);
        }
    mfu_alignment_free(whole);
    mfu_alignment_free(without);
    mfu_alignment_free(twice);
}

static void pairs_keep_the_order(void **state)
{
    struct mfu_align_item a[4] = {{0}}, b[3] = {{0}};
    int partner[4];

    (void)state;
    for (int i = 0; i < 4; i++)
        a[i] = (struct mfu_align_item){.kind = MFU_GEMM, .size = {i + 1, 8, 8, 1}, .name = "x"};
    for (int i = 0; i < 3; i++)
        b[i] = (struct mfu_align_item){.kind = MFU_GEMM, .phase = -1, .size = {i + 2, 8, 8, 1}, .name = ""};
    assert_int_equal(mfu_align_items(a, 4, b, 3, partner), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(partner[i], i - 1);
    b[1].phase = MFU_FORWARD + 1; /* of another phase, it is nobody's */
    assert_int_equal(mfu_align_items(a, 4, b, 3, partner), 0);
    assert_true(partner[1] == 0 && partner[2] == -1 && partner[3] == 2);
    assert_int_equal(mfu_align_items(a, 4, b, 0, partner), 0);
    assert_int_equal(partner[3], -1);
}

static void a_folder_without_runs_says_so(void **state)
{
    struct mfu_error err = {0};

    (void)state;
    assert_null(mfu_align_kernels(catalog, MFUPLAN_SOURCE_DIR "/tests", &err));
    assert_non_null(strstr(err.file, "runs.csv"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_product_has_its_partner),
        cmocka_unit_test(what_is_left_out_is_missing_and_what_is_doubled_is_extra),
        cmocka_unit_test(pairs_keep_the_order),
        cmocka_unit_test(a_folder_without_runs_says_so),
    };

    return cmocka_run_group_tests(tests, open_catalog, close_catalog);
}
