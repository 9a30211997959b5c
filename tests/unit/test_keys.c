/* test_keys.c - names of keys: each leads to one key, from wherever it comes. */
#include "catalog.h"

#include <stdio.h>
#include <string.h>

#include "answer/metric/path.h"
#include "answer/metric/table.h"
#include "base/error.h"
#include "base/suggest.h"
#include "scenario/adapter.h"
#include "scenario/choices.h"
#include "scenario/keys.h"
#include "scenario/setting.h"

static const char *nearest(const char *typed, struct mfu_error *err)
{
    const struct mfu_model *m = mfu_catalog_model(catalog, "gpt2", NULL);

    assert_int_equal(mfu_key_find(m, typed, err).kind, MFU_KEY_NONE);
    return err->suggestion;
}

#define MOST_SPELLINGS 1024

struct spellings {
    char name[MOST_SPELLINGS][MFU_KEY_NAME];
    size_t n;
};

static void is_one_of_its_own(void *what, const char *name)
{
    struct spellings *s = what;

    assert_true(mfu_key_known(name) && s->n < MOST_SPELLINGS);
    for (size_t k = 0; k < s->n; k++)
        if (mfu_same_name(name, s->name[k]))
            fail_msg("'%s' and '%s' are the same name", name, s->name[k]);
    strcpy(s->name[s->n++], name);
}

/* Whatever is added to one table: no name may mean two keys, and each is found. */
static void every_spelling_leads_to_one_key(void **state)
{
    static struct spellings spellings;
    const struct mfu_model *m = mfu_catalog_model(catalog, "mixtral-8x7b", NULL);

    (void)state;
    mfu_key_spellings(is_one_of_its_own, &spellings);
    assert_true(spellings.n > MFU_SETTING_COUNT);
    for (int i = 0; i < MFU_SETTING_COUNT; i++) {
        struct mfu_key k = mfu_key_find(m, mfu_settings[i].key, NULL);

        assert_int_equal(k.kind, MFU_KEY_SETTING);
        assert_int_equal(k.id, i);
    }
    for (int i = 0; i < m->n_dims; i++)
        assert_int_equal(mfu_key_find(m, m->dims[i].name, NULL).id, i);
    for (int i = 0; i < MFU_COEFFICIENT_COUNT; i++)
        assert_int_equal(mfu_key_find(m, mfu_coefficient_rows[i].name, NULL).id, i);
}

/* `adapter == lora`, `precision == bf16-pure`: a choice is that of the setting it is compared with, and no other thing that is
 * called so; elsewhere its name is what it was. */
static void a_setting_is_compared_with_its_own_choices(void **state)
{
    struct mfu_scenario s = mfu_scenario_start(mfu_catalog_model(catalog, "gpt2", NULL), NULL);
    struct mfu_plan plan = {0};
    struct mfu_error err;
    char text[200];

    (void)state;
    for (int i = 0; i < MFU_SETTING_COUNT; i++)
        for (int k = 0; mfu_settings[i].choices && mfu_settings[i].choices[k]; k++) {
            struct mfu_question *q;

            snprintf(text, sizeof text, "lora == 16 and %s == %s", mfu_settings[i].key, mfu_settings[i].choices[k]);
            q = mfu_question_compile(&s, text, &err);
            if (!q)
                fail_msg("%s: %s", text, err.text);
            plan.config.setting[MFU_S_LORA] = 16;
            for (int is = 0; mfu_settings[i].choices[is]; is++) {
                plan.config.setting[i] = is;
                if ((mfu_question_ask(q, &plan) > 0) != (is == k))
                    fail_msg("%s where it is %s", text, mfu_settings[i].choices[is]);
            }
            mfu_question_free(q);
        }
}

static void other_programs_names_are_understood(void **state)
{
    static const struct {
        const char *typed, *value, *key;
        double is;
    } rows[] = {
        {"fsdp", "on", "zero", 3},
        {"FSDP", "off", "zero", 0},
        {"fsdp", "no", "zero", 0},
        {"fsdp", "Yes", "zero", 3},
        {"--tensor-model-parallel-size", "2", "tp", 2},
        {"tensor_parallel_degree", "4", "tp", 4},
        {"hidden_size", "1024", "n_embd", 1024},
        {"num_hidden_layers", "24", "n_layer", 24},
        {"block_size", "2k", "seq", 2048},
        {"gradient_checkpointing", "true", "checkpoint", MFU_FULL},
        {"activation-checkpointing", "selective", "checkpoint", MFU_SELECTIVE},
        {"recipe", "blockwise", "precision", MFU_FP8_BLOCK},
        {"bnb_4bit_use_double_quant", "true", "base_precision", MFU_BASE_NF4_DOUBLE},
        {"offload", "activations+params", "offload_params", 1},
        {"offload", "optimizer+params", "offload_optimizer", 1},
        {"offload", "none", "offload_activations", 0},
        {"compile", "on", "runtime", MFU_COMPILE},
        {"torch_compile", "False", "runtime", MFU_EAGER},
        {"flash", "1", "attention", MFU_FLASH},
        {"attn_implementation", "flash_attention_2", "attention", MFU_FLASH},
        {"attn_implementation", "eager", "attention", MFU_MATH},
        {"mixed_precision", "no", "precision", MFU_FP32},
        {"mixed_precision", "fp16", "precision", MFU_FP16},
        {"bf16", "true", "precision", MFU_BF16},
        {"dtype", "bfloat16", "precision", MFU_BF16},
        {"optim", "adamw_torch_fused", "optimizer", MFU_ADAMW},
        {"optimizer", "decoupled_adamw", "optimizer", MFU_ADAMW_FOREACH},
        {"attention", "flash-attn", "attention", MFU_FLASH},
        {"max_grad_norm", "0.5", "grad_clip", 0.5},
        {"sdpa", "on", "attention", MFU_FLASH},
        {"attn_implementation", "sdpa", "attention", MFU_FLASH},
        {"torch_dtype", "float32", "precision", MFU_FP32},
        {"ac", "selective", "checkpoint", MFU_SELECTIVE},
        {"optim", "adamw_torch", "optimizer", MFU_ADAMW_FOREACH},
    };
    const struct mfu_model *m = mfu_catalog_model(catalog, "gpt2", NULL);

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_scenario s = mfu_scenario_start(m, NULL);
        struct mfu_key key = mfu_key_find(m, rows[i].key, NULL);
        struct mfu_error err = {0};

        if (mfu_scenario_set(&s, rows[i].typed, rows[i].value, &err) < 0)
            fail_msg("%s %s: %s", rows[i].typed, rows[i].value, err.text);
        assert_true(mfu_key_given(&s, key));
        assert_near(mfu_scenario_value(&s, key), rows[i].is, 0);
    }
}

/* What is no setting is said to be none. */
static void what_is_no_setting(void **state)
{
    static const char *const rows[][3] = {{"lr", "1e-4", "neither time nor memory"},
                                          {"weight-decay", "0.1", "neither time nor memory"},
                                          {"lrr", "1", "no setting is called"}};

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_scenario s = mfu_scenario_start(mfu_catalog_model(catalog, "gpt2", NULL), NULL);
        struct mfu_error err = {0};

        assert_true(mfu_scenario_set(&s, rows[i][0], rows[i][1], &err) < 0);
        if (!strstr(err.text, rows[i][2]))
            fail_msg("%s %s: %s", rows[i][0], rows[i][1], err.text);
    }
}

/* GPT-2 has words for each of its dimensions. */
static void dimensions_have_words(void **state)
{
    struct mfu_scenario s = mfu_scenario_start(mfu_catalog_model(catalog, "gpt2", NULL), NULL);

    (void)state;
    for (int i = 0; i < s.model->n_dims; i++)
        if (strcmp(mfu_key_meaning(&s, (struct mfu_key){MFU_KEY_DIM, i}), "dimension of this model") == 0)
            fail_msg("%s", s.model->dims[i].name);
}

/* A row's names for a choice are taken, and none of them by another row. */
static void every_name_of_a_choice_means_that_choice(void **state)
{
    int others = 0;

    (void)state;
    for (int i = 0; i < MFU_SETTING_COUNT; i++)
        for (int k = 0; mfu_settings[i].choices && mfu_settings[i].choices[k]; k++) {
            struct mfu_other_names names = mfu_choice_other_names(mfu_settings[i].choices, k);
            const char *lists[] = {names.aliases, names.stands_for};

            assert_int_equal(mfu_setting_choice((enum mfu_setting_id)i, mfu_settings[i].choices[k], NULL), k);
            for (int of = 0; of < 2; of++)
                for (const char *p = lists[of]; p && *p; p += strspn(p, " "), others++) {
                    size_t n = strcspn(p, " ");
                    char word[64];
                    bool stands_for;

                    snprintf(word, sizeof word, "%.*s", (int)n, p);
                    if (mfu_setting_choice((enum mfu_setting_id)i, word, &stands_for) != k)
                        fail_msg("%s: '%s' is not %s", mfu_settings[i].key, word, mfu_settings[i].choices[k]);
                    assert_int_equal(stands_for, of);
                    p += n;
                }
        }
    assert_true(others > 10);
}

static void the_nearest_of_all_names_is_offered(void **state)
{
    struct mfu_scenario s = mfu_scenario_start(mfu_catalog_model(catalog, "gpt2", NULL), NULL);
    struct mfu_error err = {0};

    (void)state;
    assert_string_equal(nearest("bacth", &err), "batch");
    assert_string_equal(nearest("n_emdb", &err), "n_embd");
    assert_string_equal(nearest("gemm.eficiency", &err), "gemm.efficiency");
    assert_string_equal(nearest("hiden_size", &err), "hidden_size");
    assert_string_equal(nearest("gradient_checkpointng", &err), "gradient_checkpointing");
    assert_string_equal(nearest("fsdp", &err), "zero"); /* as a number it has another name */
    assert_string_equal(nearest("zqxj", &err), "");
    mfu_result_unknown(&s, "step_tme_s", &err);
    assert_string_equal(err.suggestion, "step_time_s");
    mfu_result_unknown(&s, "hiden_size", &err);
    assert_string_equal(err.suggestion, "hidden_size");
    assert_int_equal(mfu_scenario_set(&s, "fsdp", "maybe", &err), -1);
    assert_non_null(strstr(err.text, "full_shard"));
}

static void offers_end_where_they_are_said_to(void **state)
{
    char name[MFU_FIGURE_NAME];
    size_t n = mfu_figure_offer_count();

    (void)state;
    for (size_t i = 0; i < n; i++)
        assert_non_null(mfu_figure_offer(i, name));
    assert_null(mfu_figure_offer(n, name));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_spelling_leads_to_one_key),
        cmocka_unit_test(a_setting_is_compared_with_its_own_choices),
        cmocka_unit_test(what_is_no_setting),
        cmocka_unit_test(dimensions_have_words),
        cmocka_unit_test(other_programs_names_are_understood),
        cmocka_unit_test(every_name_of_a_choice_means_that_choice),
        cmocka_unit_test(the_nearest_of_all_names_is_offered),
        cmocka_unit_test(offers_end_where_they_are_said_to),
    };

    return cmocka_run_group_tests(tests, open_catalog, close_catalog);
}
