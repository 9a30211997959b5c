/* test_packed.c - the descriptors that are compiled in are those of models/ and gpus/, and a file that differs comes first. */
#include "catalog.h"
#include "scratch.h"

#include "base/arena.h"
#include "base/error.h"
#include "descriptor/folder.h"
#include "descriptor/gpu.h"
#include "descriptor/packed.h"
#include "descriptor/yaml.h"
#include "descriptor/yaml_tree.h"

/* The text of a file and one blank line more, which no packed text has. */
static char *other_text(const char *path, size_t *length)
{
    FILE *in = fopen(path, "rb");
    char *text = malloc(MFU_YAML_LARGEST);

    assert_non_null(in);
    *length = fread(text, 1, MFU_YAML_LARGEST - 1, in);
    fclose(in);
    text[(*length)++] = '\n';
    return text;
}

static void assert_same(const struct mfu_yaml_node *a, const struct mfu_yaml_node *b, bool keyed)
{
    assert_int_equal(a->type, b->type);
    assert_int_equal(a->style, b->style);
    assert_int_equal(a->line, b->line);
    assert_int_equal(a->column, b->column);
    if (keyed) {
        assert_int_equal(a->key_line, b->key_line);
        assert_int_equal(a->key_column, b->key_column);
        assert_string_equal(a->key, b->key);
    }
    if (a->type == MFU_SCALAR) {
        assert_string_equal(a->text, b->text);
        return;
    }
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++)
        assert_same(a->members[i], b->members[i], a->type == MFU_MAPPING);
}

static void the_same_nodes(void **state)
{
    assert_true(mfu_packed_count > 200);
    for (size_t i = 0; i < mfu_packed_count; i++) {
        char path[MFU_PATH_MAX];
        struct mfu_yaml *parsed, *unpacked;
        size_t length;
        char *text;

        snprintf(path, sizeof path, MFUPLAN_SOURCE_DIR "/%s", mfu_packed[i].path);
        text = other_text(path, &length);
        assert_null(mfu_packed_same(text, length));
        assert_ptr_equal(mfu_packed_same(text, length - 1), &mfu_packed[i]);
        parsed = mfu_yaml_parse(path, text, length, NULL);
        unpacked = mfu_yaml_parse(path, text, length - 1, NULL);
        assert_true(parsed && unpacked);
        assert_string_equal(mfu_yaml_name(unpacked), path);
        assert_same(mfu_yaml_root(parsed), mfu_yaml_root(unpacked), false);
        mfu_yaml_free(parsed);
        mfu_yaml_free(unpacked);
        free(text);
    }
    (void)state;
}

static void assert_names(const char *const *a, size_t n, const char *const *b, size_t m)
{
    assert_int_equal(n, m);
    for (size_t i = 0; i < n; i++)
        assert_string_equal(a[i], b[i]);
}

static void a_catalog_without_a_folder(void **state)
{
    struct mfu_catalog *c = mfu_catalog_open(MFU_COMPILED_IN, NULL, NULL);
    const char *const *gpus, *const *theirs, *const *names;
    struct mfu_error err = {0};
    size_t n, m;

    assert_non_null(c);
    theirs = mfu_catalog_models(catalog, &m);
    names = mfu_catalog_models(c, &n);
    assert_names(names, n, theirs, m);
    for (size_t i = 0; i < m; i++)
        assert_non_null(mfu_catalog_model(c, theirs[i], NULL));
    theirs = mfu_catalog_clusters(catalog, &m);
    names = mfu_catalog_clusters(c, &n);
    assert_names(names, n, theirs, m);
    theirs = mfu_catalog_gpus(catalog, &m);
    gpus = mfu_catalog_gpus(c, &n);
    assert_names(gpus, n, theirs, m);
    for (size_t i = 0; i < n; i++) {
        const struct mfu_gpu *own = mfu_catalog_gpu(c, gpus[i], &err), *their = mfu_catalog_gpu(catalog, gpus[i], NULL);

        assert_true(own && their);
        assert_memory_equal(own->coefficients.value, their->coefficients.value, sizeof own->coefficients.value);
        assert_memory_equal(own->peak_flops, their->peak_flops, sizeof own->peak_flops);
        assert_int_equal(own->usual != NULL, their->usual != NULL);
    }
    assert_string_equal(mfu_catalog_gpu(c, "NVIDIA GeForce RTX 4070", NULL)->slug, "rtx4070"); /* an alias */
    assert_null(mfu_catalog_gpu(c, "rtx409", &err));
    assert_string_equal(err.suggestion, "rtx4090");
    assert_null(mfu_catalog_gpu(c, MFU_COMPILED_IN "/gpus/none.yaml", &err));
    mfu_catalog_free(c);
    (void)state;
}

/* One figure of a copy is changed, and its place is told where it is wrong. */
static void a_file_that_differs(void **state)
{
    struct mfu_error err = {0};
    SCRATCH s = scratch_new();
    size_t length;
    char *text = other_text(MFUPLAN_SOURCE_DIR "/gpus/rtx4070.yaml", &length), *watts;
    struct mfu_gpu gpu;

    text[length - 1] = '\0';
    watts = strstr(text, "200W");
    assert_non_null(watts);
    watts[0] = '1';
    assert_int_equal(
        mfu_gpu_read(scratch_file(&s, "rtx4070.yaml", text), MFUPLAN_SOURCE_DIR "/gpus/families", &gpu, &err), 0);
    assert_near(gpu.power_w, 100, 1e-12);
    watts[3] = 'X';
    assert_int_equal(
        mfu_gpu_read(scratch_file(&s, "other.yaml", text), MFUPLAN_SOURCE_DIR "/gpus/families", &gpu, &err), -1);
    assert_int_equal(err.line, 44);
    free(text);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_nodes),
        cmocka_unit_test(a_catalog_without_a_folder),
        cmocka_unit_test(a_file_that_differs),
    };

    return cmocka_run_group_tests(tests, open_catalog, close_catalog);
}
