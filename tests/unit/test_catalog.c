/* test_catalog.c - things that are known by name. */
#include "near.h"
#include "scratch.h"

#include "base/error.h"
#include "descriptor/catalog.h"
#include "descriptor/gpu.h"
#include "descriptor/model.h"
#include "descriptor/yaml.h"

static const char gpu_text[] = "architecture: Ada\nfamily: ada\nsms: 46\n"
                               "peak: {fp32: 29.1TFLOP/s}\n"
                               "memory: {size: 12GB, bandwidth: 504GB/s}\n"
                               "sources: {peak: p, memory: m}\n";

static const char model_text[] = "dims: {n_embd: 8}\n"
                                 "graph:\n- name: all\n  ops: [{op: embedding, rows: n_embd, width: n_embd}]\n"
                                 "huggingface: {model_type: tiny, dims: {n_embd: hidden_size}}\n";

/* Writes DIR/NAME.yaml: some lines of its own, then what all have. */
static void add(struct scratch *s, const char *name, const char *own, const char *common)
{
    char text[4096];

    snprintf(text, sizeof text, "%s%s", own, common);
    scratch_file(s, name, text);
}

static void make_folder(struct scratch *s)
{
    char family[16384];
    size_t used = (size_t)snprintf(family, sizeof family, "coefficients:\n");

    for (int i = 0; i < MFU_COEFFICIENT_COUNT; i++)
        used += (size_t)snprintf(family + used, sizeof family - used, "  %s: {value: %g, sigma: 1%%, source: test}\n",
                                 mfu_coefficient_rows[i].name,
                                 mfu_coefficient_rows[i].most / 2 + mfu_coefficient_rows[i].least / 2);
    scratch_begin(s);
    scratch_folder(s, "gpus");
    scratch_folder(s, "gpus/families");
    scratch_folder(s, "models");
    scratch_file(s, "gpus/families/ada.yaml", family);
    add(s, "gpus/rtx4070.yaml",
        "# a comment: [x]\nname: GeForce RTX 4070\n"
        "aliases: [\"4070\", 'geforce 4070', mine,\n          wrapped]\n",
        gpu_text);
    add(s, "gpus/rtx4070super.yaml",
        "name: GeForce RTX 4070 SUPER   # the faster one\n"
        "aliases:\n  - \"4070 super\"\n  - super 4070 # so\nvendor: AMD\n",
        gpu_text);
    add(s, "gpus/a100.yaml", "name: A100\naliases: [a100-sxm-80]\n", gpu_text);
    add(s, "gpus/broken.yaml", "name: Broken\naliases: [half]\nsmss: 1\n", gpu_text);
    scratch_file(s, "gpus/rtx4070.measured.yaml", "gpu: rtx4070\n");
    scratch_file(s, "gpus/.hidden.yaml", "");
    scratch_file(s, "gpus/readme.md", "");
    add(s, "models/gpt2.yaml",
        "name: GPT-2\naliases: [small gpt, GPT-1124-Tiny, GPT-2048-Wide, GPT-2507-Two, GPT-2508-Two]\n", model_text);
    add(s, "models/llama-3.2-1b.yaml", "name: Llama\nextends: gpt2\n", "");
}

static struct mfu_catalog *open_folder(const struct scratch *s)
{
    struct mfu_error err = {0};
    struct mfu_catalog *c = mfu_catalog_open(s->folder, NULL, &err);

    if (!c)
        fail_msg("%s", err.text);
    return c;
}

static void every_spelling_finds_the_file(void **state)
{
    static const char *const rows[][2] = {
        {"rtx4070", "rtx4070"},
        {"RTX 4070", "rtx4070"},
        {"rtx-4070", "rtx4070"},
        {"4070", "rtx4070"},
        {"GeForce-4070", "rtx4070"},
        {"Mine", "rtx4070"},
        {"wrapped", "rtx4070"},
        {"geforce rtx 4070", "rtx4070"},
        {"RTX_4070_Super", "rtx4070super"},
        {"4070-super", "rtx4070super"},
        {"super4070", "rtx4070super"},
        {"GeForce RTX 4070 Super", "rtx4070super"},
        {"a100", "a100"},
    };
    struct scratch s;
    struct mfu_catalog *c;

    (void)state;
    make_folder(&s);
    c = open_folder(&s);
    assert_string_equal(mfu_catalog_folder(c), s.folder);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_error err = {0};
        const struct mfu_gpu *gpu = mfu_catalog_gpu(c, rows[i][0], &err);

        if (!gpu)
            fail_msg("%s: %s:%d: %s", rows[i][0], err.file, err.line, err.text);
        assert_string_equal(gpu->slug, rows[i][1]);
        assert_ptr_equal(gpu, mfu_catalog_gpu(c, rows[i][1], &err));
    }
    mfu_catalog_free(c);
    mfu_catalog_free(NULL);
    scratch_end(&s);
}

/* The month of a release may be left out where one model is meant; other numbers may not. */
static void a_month_may_be_left_out(void **state)
{
    static const char *const rows[][2] = {
        {"gpt-tiny", "gpt2"}, {"GPT-1124-Tiny", "gpt2"}, {"gpt-wide", NULL}, {"gpt-two", NULL}};
    struct scratch s;
    struct mfu_catalog *c;

    (void)state;
    make_folder(&s);
    c = open_folder(&s);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const struct mfu_model *model = mfu_catalog_model(c, rows[i][0], NULL);

        if (!rows[i][1] != !model || (model && strcmp(model->slug, rows[i][1]) != 0))
            fail_msg("%s: %s", rows[i][0], model ? model->slug : "nothing");
    }
    mfu_catalog_free(c);
    scratch_end(&s);
}

static void names_are_sorted_and_only_descriptors(void **state)
{
    struct scratch s;
    struct mfu_catalog *c;
    const char *const *names;
    size_t n;

    (void)state;
    make_folder(&s);
    c = open_folder(&s);
    names = mfu_catalog_gpus(c, &n);
    assert_int_equal(n, 4);
    assert_string_equal(names[0], "a100");
    assert_string_equal(names[1], "broken");
    assert_string_equal(names[2], "rtx4070");
    assert_string_equal(names[3], "rtx4070super");
    names = mfu_catalog_models(c, &n);
    assert_int_equal(n, 2);
    assert_string_equal(names[1], "llama-3.2-1b");
    mfu_catalog_free(c);
    scratch_end(&s);
}

static void strangers_are_refused_with_the_nearest_name(void **state)
{
    // clang-format off
    static const struct { const char *name; int model; const char *message, *suggestion; } rows[] = {
        {"rtx4700", 0, "no GPU is called 'rtx4700'", "rtx4070"},
        {"gefroce 4070", 0, "no GPU is called 'gefroce 4070'", "geforce 4070"},
        {"a100-80", 0, "no GPU is called 'a100-80'", "a100-sxm-80"},
        {"zzz", 0, "no GPU is called 'zzz'", ""},
        {"", 0, "no GPU is called ''", ""},
        {"GPT 2", 0, "no GPU is called 'GPT 2'; it is a model", ""},
        {"4070", 1, "no model is called '4070'; it is a GPU", ""},
        {"gpt22", 1, "no model is called 'gpt22'", "gpt2"},
        {"half", 0, "unknown key 'smss'", "sms"},
        {"x.yaml", 0, "cannot be read: No such file or directory", ""},
        {"/nowhere/config.json", 1, "cannot be read: No such file or directory", ""},
    };
    // clang-format on
    struct scratch s;
    struct mfu_catalog *c;

    (void)state;
    make_folder(&s);
    c = open_folder(&s);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_error err = {0};

        if (rows[i].model)
            assert_null(mfu_catalog_model(c, rows[i].name, &err));
        else
            assert_null(mfu_catalog_gpu(c, rows[i].name, &err));
        assert_string_equal(err.text, rows[i].message);
        assert_string_equal(err.suggestion, rows[i].suggestion);
    }
    mfu_catalog_free(c);
    scratch_end(&s);
}

static void paths_are_read_as_what_they_are(void **state)
{
    struct mfu_error err = {0};
    struct scratch s;
    struct mfu_catalog *c;
    const struct mfu_model *m;
    const struct mfu_gpu *gpu;
    char path[160];

    (void)state;
    make_folder(&s);
    add(&s, "mine.yaml", "name: Mine\n", gpu_text);
    scratch_folder(&s, "hub");
    scratch_file(&s, "hub/config.json", "{\"model_type\": \"tiny\", \"hidden_size\": 64}");
    c = open_folder(&s);
    snprintf(path, sizeof path, "%s/mine.yaml", s.folder);
    gpu = mfu_catalog_gpu(c, path, &err);
    assert_non_null(gpu);
    assert_string_equal(gpu->name, "Mine");
    snprintf(path, sizeof path, "%s/hub/config.json", s.folder);
    m = mfu_catalog_model(c, path, &err);
    assert_non_null(m);
    assert_string_equal(m->dims[0].text, "64");
    snprintf(path, sizeof path, "%s/hub", s.folder);
    assert_non_null(mfu_catalog_model(c, path, &err));
    m = mfu_catalog_model(c, "llama3.2 1B", &err);
    assert_non_null(m);
    assert_string_equal(m->name, "Llama");
    mfu_catalog_free(c);
    scratch_end(&s);
}

static void a_file_that_changed_is_read_again(void **state)
{
    struct mfu_error err = {0};
    struct scratch s;
    struct mfu_catalog *c;
    const struct mfu_gpu *old, *new;

    (void)state;
    make_folder(&s);
    c = open_folder(&s);
    old = mfu_catalog_gpu(c, "a100", &err);
    assert_non_null(old);
    add(&s, "gpus/a100.yaml", "name: A100 of another name\n", gpu_text);
    new = mfu_catalog_gpu(c, "a100", &err);
    assert_non_null(new);
    assert_string_equal(new->name, "A100 of another name");
    assert_string_equal(old->name, "A100"); /* those who hold it keep it */
    assert_ptr_equal(new, mfu_catalog_gpu(c, "A-100", &err));
    mfu_catalog_free(c);
    scratch_end(&s);
}

static void the_folder_is_the_one_that_is_named(void **state)
{
    struct mfu_error err = {0};
    struct mfu_catalog *c;
    SCRATCH s = scratch_new();
    size_t n;

    (void)state;
    assert_null(mfu_catalog_open("/nowhere", NULL, &err));
    assert_string_equal(err.text, "'/nowhere' is not a folder");
    assert_null(mfu_catalog_open(s.folder, NULL, &err));
    assert_non_null(strstr(err.text, "holds neither gpus/ nor models/"));
    scratch_folder(&s, "gpus");
    c = mfu_catalog_open(s.folder, NULL, &err);
    assert_non_null(c);
    assert_string_equal(mfu_catalog_folder(c), s.folder);
    assert_non_null(mfu_catalog_gpus(c, &n));
    assert_int_equal(n, 0);
    assert_non_null(mfu_catalog_models(c, &n));
    assert_int_equal(n, 0);
    assert_null(mfu_catalog_gpu(c, "rtx4070", &err));
    mfu_catalog_free(c);
}

#ifdef MFUPLAN_SOURCE_DIR

/* The name of a folder's file, and each of its aliases, must lead to it. */
static void check_names(struct mfu_catalog *c, const char *kind, const char *name,
                        const char *(*slug)(struct mfu_catalog *, const char *))
{
    struct mfu_error err = {0};
    struct mfu_yaml_node *aliases, *each;
    struct mfu_yaml *yaml;
    char path[512];

    assert_string_equal(slug(c, name), name);
    snprintf(path, sizeof path, "%s/%s/%s.yaml", MFUPLAN_SOURCE_DIR, kind, name);
    yaml = mfu_yaml_read(path, &err);
    assert_non_null(yaml);
    aliases = mfu_node_find(mfu_yaml_root(yaml), "aliases");
    for (size_t i = 0; aliases && (each = mfu_node_each(aliases, i)); i++) {
        const char *alias = mfu_node_text(each);

        if (strcmp(slug(c, alias), name) != 0)
            fail_msg("'%s' of %s leads to %s", alias, name, slug(c, alias));
    }
    mfu_yaml_free(yaml);
}

static const char *gpu_slug(struct mfu_catalog *c, const char *name)
{
    struct mfu_error err = {0};
    const struct mfu_gpu *gpu = mfu_catalog_gpu(c, name, &err);

    if (!gpu)
        fail_msg("%s: %s:%d: %s", name, err.file, err.line, err.text);
    return gpu->slug;
}

static const char *model_slug(struct mfu_catalog *c, const char *name)
{
    struct mfu_error err = {0};
    const struct mfu_model *model = mfu_catalog_model(c, name, &err);

    if (!model)
        fail_msg("%s: %s:%d: %s", name, err.file, err.line, err.text);
    return model->slug;
}

/* Whether the real primitives are there: graph/primitives/, no stand-ins. */
static int has_primitive(const char *name)
{
    for (size_t i = 0; i < mfu_primitive_count; i++)
        if (strcmp(mfu_primitives[i]->name, name) == 0)
            return 1;
    return 0;
}

static void everything_that_we_ship_is_read(void **state)
{
    struct mfu_error err = {0};
    struct mfu_catalog *c = mfu_catalog_open(MFUPLAN_SOURCE_DIR, NULL, &err);
    const char *const *names;
    size_t n;

    (void)state;
    assert_non_null(c);
    names = mfu_catalog_gpus(c, &n);
    assert_true(n > 0);
    for (size_t i = 0; i < n; i++)
        check_names(c, "gpus", names[i], gpu_slug);
    names = mfu_catalog_models(c, &n);
    for (size_t i = 0; i < n && has_primitive("rotary"); i++)
        check_names(c, "models", names[i], model_slug);
    mfu_catalog_free(c);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_spelling_finds_the_file),
        cmocka_unit_test(a_month_may_be_left_out),
        cmocka_unit_test(names_are_sorted_and_only_descriptors),
        cmocka_unit_test(strangers_are_refused_with_the_nearest_name),
        cmocka_unit_test(paths_are_read_as_what_they_are),
        cmocka_unit_test(a_file_that_changed_is_read_again),
        cmocka_unit_test(the_folder_is_the_one_that_is_named),
#ifdef MFUPLAN_SOURCE_DIR
        cmocka_unit_test(everything_that_we_ship_is_read),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
