/*
 * Published models of many families from their config.json: parameters as transformers itself counts them
 * (tests/oracle/families.py); the variants of image models as timm counts them (tests/oracle/timm_params.py), those of
 * language models as transformers does (tests/oracle/hub_params.py); and what a file says that nothing reads is said to be unknown.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "owned.h"
#include "descriptor/catalog.h"
#include "near.h"
#include "oracle.h"
#include "scratch.h"

#define LEAST_MODELS 60
#define LEAST_TYPES 30
#define MOST_TYPES 200

struct fixture {
    struct mfu_arena arena;
    struct mfu_csv csv;
    struct mfu_catalog *catalog;
    struct mfu_plan plan;
    struct scratch scratch;
    const char *path;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct mfu_error err = {0};

    if (oracle_read(MFUPLAN_SOURCE_DIR "/tests/oracle/families.csv", &f->arena, &f->csv) < 0)
        return -1;
    f->catalog = mfu_catalog_open(MFUPLAN_SOURCE_DIR, NULL, &err);
    scratch_begin(&f->scratch);
    f->path = scratch_file(&f->scratch, "config.json", "{}");
    *state = f;
    return f->catalog ? 0 : -1;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    scratch_end(&f->scratch);
    mfu_plan_release(&f->plan);
    mfu_catalog_free(f->catalog);
    mfu_arena_free(&f->arena);
    free(f);
    return 0;
}

/* Plans the model of a config.json on one card; the caller frees the model. */
static struct mfu_model *plan(struct fixture *f, const char *id, const char *text)
{
    FILE *out = fopen(f->path, "w");
    struct mfu_error err = {0};
    struct mfu_model *m;
    struct mfu_scenario s;

    assert_non_null(out);
    fputs(text, out);
    fclose(out);
    m = mfu_model_from_config(f->path, MFUPLAN_SOURCE_DIR "/models", &err);
    if (!m)
        fail_msg("%s: %s", id, err.text);
    mfu_plan_release(&f->plan); /* of a model that is no more, where another may lie now */
    s = mfu_scenario_start(m, mfu_catalog_gpu(f->catalog, "a100-80gb-sxm", &err));
    if (mfu_plan_make(&f->plan, &s, &err) < 0)
        fail_msg("%s: %s", id, err.text);
    return m;
}

static void parameters_of_published_models_are_exact(void **state)
{
    struct fixture *f = *state;
    const char *types[MOST_TYPES];
    size_t n_types = 0;

    for (size_t i = 0; i < f->csv.n_rows; i++) {
        const char *id = mfu_csv_get(&f->csv, i, "id"), *type = mfu_csv_get(&f->csv, i, "model_type");
        struct mfu_model *m = plan(f, id, mfu_csv_get(&f->csv, i, "config"));
        double params = atof(mfu_csv_get(&f->csv, i, "params"));
        size_t k = 0;

        if (f->plan.program.params != params)
            fail_msg("%s: %.0f parameters, not %.0f", id, f->plan.program.params, params);
        while (k < n_types && strcmp(types[k], type) != 0)
            k++;
        if (k == n_types && n_types < MOST_TYPES)
            types[n_types++] = type;
        mfu_plan_release(&f->plan); /* the next model may get this one's place */
        mfu_model_free(m);
    }
    assert_true(f->csv.n_rows >= LEAST_MODELS);
    assert_true(n_types >= LEAST_TYPES);
}

/* Types whose code is not transformers' own are read under their authors' names, as the published model of that size. */
static void types_of_authors_are_known(void **state)
{
    static const struct {
        const char *model, *config;
    } all[] = {
        {"Kimi-K2",
         "{\"architectures\": [\"DeepseekV3ForCausalLM\"], \"model_type\": \"kimi_k2\", \"first_k_dense_replace\": 1, "
         "\"hidden_act\": \"silu\", \"hidden_size\": 7168, \"intermediate_size\": 18432, \"kv_lora_rank\": 512, "
         "\"max_position_embeddings\": 131072, \"moe_intermediate_size\": 2048, \"moe_layer_freq\": 1, \"n_group\": 1, "
         "\"n_routed_experts\": 384, \"n_shared_experts\": 1, \"num_attention_heads\": 64, \"num_experts_per_tok\": 8, "
         "\"num_hidden_layers\": 61, \"num_key_value_heads\": 64, \"q_lora_rank\": 1536, \"qk_nope_head_dim\": 128, "
         "\"qk_rope_head_dim\": 64, \"quantization_config\": {\"quant_method\": \"fp8\"}, \"topk_group\": 1, "
         "\"v_head_dim\": 128, \"vocab_size\": 163840}"},
        {"internlm2_5-7b",
         "{\"architectures\": [\"InternLM2ForCausalLM\"], \"model_type\": \"internlm2\", \"bias\": false, "
         "\"hidden_act\": "
         "\"silu\", \"hidden_size\": 4096, \"intermediate_size\": 14336, \"max_position_embeddings\": 32768, "
         "\"num_attention_heads\": 32, \"num_hidden_layers\": 32, \"num_key_value_heads\": 8, \"vocab_size\": 92544}"},
        {"EXAONE-3.5-7.8B",
         "{\"architectures\": [\"ExaoneForCausalLM\"], \"model_type\": \"exaone\", \"activation_function\": \"silu\", "
         "\"head_dim\": 128, \"hidden_size\": 4096, \"intermediate_size\": 14336, \"max_position_embeddings\": 32768, "
         "\"num_attention_heads\": 32, \"num_key_value_heads\": 8, \"num_layers\": 32, \"vocab_size\": 102400}"},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct mfu_error err = {0};
        const struct mfu_model *known = mfu_catalog_model(f->catalog, all[i].model, &err);
        struct mfu_model *m = plan(f, all[i].model, all[i].config);

        if (!known)
            fail_msg("%s", err.text);
        if (f->plan.program.params != known->published_params || isnan(mfu_plan_fits(&f->plan)))
            fail_msg("%s: %.0f parameters, not %.0f", all[i].model, f->plan.program.params, known->published_params);
        mfu_plan_release(&f->plan);
        mfu_model_free(m);
    }
}

/* Each type of transformers (families.py --types), as its class begins: exact, or unknown whether it fits, or refused. */
static void no_type_is_planned_as_another(void **state)
{
    struct fixture *f = *state;
    ARENA arena = {0};
    struct mfu_csv csv;
    int exact = 0, refused = 0;

    assert_int_equal(oracle_read(MFUPLAN_SOURCE_DIR "/tests/oracle/types.csv", &arena, &csv), 0);
    for (size_t i = 0; i < csv.n_rows; i++) {
        const char *type = mfu_csv_get(&csv, i, "model_type"), *params = mfu_csv_get(&csv, i, "params");
        FILE *out = fopen(f->path, "w");
        struct mfu_error err = {0};
        struct mfu_model *m;

        assert_non_null(out);
        fputs(mfu_csv_get(&csv, i, "config"), out);
        fclose(out);
        m = mfu_model_from_config(f->path, MFUPLAN_SOURCE_DIR "/models", &err);
        if (m) {
            struct mfu_scenario s = mfu_scenario_start(m, mfu_catalog_gpu(f->catalog, "a100-80gb-sxm", &err));

            /* Images of no whole number of tokens, or of more than a sequence has: nothing runs the class as it begins, but its
             * parameters are counted. */
            if (mfu_plan_make(&f->plan, &s, &err) < 0 && !strstr(err.text, "images"))
                fail_msg("%s: %s", type, err.text);
            if (f->plan.program.params == atof(params))
                exact++;
            else if (!isnan(mfu_plan_fits(&f->plan)))
                fail_msg("%s: %.0f parameters, not %s", type, f->plan.program.params, params);
        } else if (*params) {
            refused++; /* a size is not said: "is missing" */
            assert_non_null(strstr(err.text, "missing"));
        } else {
            assert_true(strstr(err.text, "no model file knows the model_type") || strstr(err.text, "is missing"));
        }
        mfu_plan_release(&f->plan); /* the next model may get this one's place */
        mfu_model_free(m);
    }
    print_message("%zu types: %d exact, %d refused for a size\n", csv.n_rows, exact, refused);
    assert_true(exact >= 70 && refused <= 3);
}

static void check_variants(struct fixture *f, const char *table)
{
    ARENA arena = {0};
    struct mfu_error err = {0};
    struct mfu_csv csv;

    assert_int_equal(oracle_read(table, &arena, &csv), 0);
    for (size_t i = 0; i < csv.n_rows; i++) {
        const char *name = mfu_csv_get(&csv, i, "model");
        const struct mfu_model *m = mfu_catalog_model(f->catalog, name, &err);
        double params = atof(mfu_csv_get(&csv, i, "params"));
        struct mfu_scenario s;

        if (!m)
            fail_msg("%s: %s", name, err.text);
        s = mfu_scenario_start(m, mfu_catalog_gpu(f->catalog, "a100-80gb-sxm", &err));
        if (mfu_plan_make(&f->plan, &s, &err) < 0)
            fail_msg("%s: %s", name, err.text);
        if (f->plan.program.params != params || m->published_params != params)
            fail_msg("%s: %.0f parameters, published %.0f, not %.0f", name, f->plan.program.params, m->published_params,
                     params);
    }
    assert_true(csv.n_rows >= LEAST_MODELS);
}

static void parameters_of_variants_are_exact(void **state)
{
    check_variants(*state, MFUPLAN_SOURCE_DIR "/tests/oracle/timm_params.csv");
    check_variants(*state, MFUPLAN_SOURCE_DIR "/tests/oracle/timm_1_params.csv");
    check_variants(*state, MFUPLAN_SOURCE_DIR "/tests/oracle/hub_params.csv");
}

/* What papers and READMEs call a model is the size that libraries call otherwise; a name of several sizes is none. */
static void names_of_papers_are_known(void **state)
{
    static const struct {
        const char *theirs, *ours; /* NULL: not known */
    } names[] = {
        {"InternLM2-20B", "internlm2_5-20b"},
        {"DistilBERT", "distilbert-base"},
        {"XLM-R Large", "xlm-roberta-large"},
        {"ProtBERT", "prot_bert"},
        {"UL2", "flan-ul2"},
        {"ConvNeXt-L", "convnext_large"},
        {"Swin-B", "swin_base_patch4_window7_224"},
        {"RegNetY-16GF", "regnety_160"},
        {"regnet_y_16gf", "regnety_160"},
        {"RegNetY-1.6GF", "regnety_016"},
        {"regnet_y_1_6gf", "regnety_016"},
        {"regnet_y_6_4gf", NULL},
        {"SE-ResNeXt101-32x4d", "seresnext101_32x4d"},
        {"llava-v1.5-13b", "llava-1.5-13b"},
        {"XLM-R", NULL},
        {"ModernBERT", NULL},
        {"LLaVA-7B", NULL},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct mfu_error err = {0};
        const struct mfu_model *theirs = mfu_catalog_model(f->catalog, names[i].theirs, &err),
                               *ours = names[i].ours ? mfu_catalog_model(f->catalog, names[i].ours, &err) : NULL;

        if (!theirs != !names[i].ours || (ours && theirs->published_params != ours->published_params)
            || (names[i].ours && !ours))
            fail_msg("%s is %s", names[i].theirs, theirs ? theirs->slug : "not known");
    }
}

/* Whatever dim of whatever model is 0: what is planned is finite, or it is refused. */
static void no_dim_of_0_makes_nonsense(void **state)
{
    struct fixture *f = *state;
    size_t n;
    const char *const *names = mfu_catalog_models(f->catalog, &n);
    int refused = 0, planned = 0;

    for (size_t i = 0; i < n; i++) {
        struct mfu_error err = {0};
        const struct mfu_model *m = mfu_catalog_model(f->catalog, names[i], &err);

        for (int dim = 0; dim < m->n_dims; dim++) {
            struct mfu_scenario s = mfu_scenario_start(m, mfu_catalog_gpu(f->catalog, "a100-80gb-sxm", &err));

            if (mfu_scenario_set(&s, m->dims[dim].name, "0", &err) < 0 || mfu_plan_make(&f->plan, &s, &err) < 0) {
                refused++;
                continue;
            }
            planned++;
            if (!(f->plan.memory.peak.bytes > 0 && isfinite(f->plan.memory.peak.bytes) && f->plan.step.time_s > 0
                  && isfinite(f->plan.step.time_s) && f->plan.mfu.model_flops >= 0
                  && isfinite(f->plan.mfu.model_flops)))
                fail_msg("%s with %s 0: %g bytes, %g s, %g FLOP", names[i], m->dims[dim].name,
                         f->plan.memory.peak.bytes, f->plan.step.time_s, f->plan.mfu.model_flops);
        }
    }
    print_message("%d planned, %d refused\n", planned, refused);
    assert_true(planned > 500 && refused > 500);
}

/* Parameters of a model with so many layers; 0: it has no such dim, or that is refused. */
static double params_of_layers(struct fixture *f, const struct mfu_model *m, const char *layers)
{
    struct mfu_error err = {0};
    struct mfu_scenario s = mfu_scenario_start(m, mfu_catalog_gpu(f->catalog, "a100-80gb-sxm", &err));

    if ((layers && mfu_scenario_set(&s, "n_layer", layers, &err) < 0) || mfu_plan_make(&f->plan, &s, &err) < 0)
        return 0;
    return f->plan.program.params;
}

/* Where layers have parameters, each has, however few they are: no list of some of them plans more than there are. */
static void each_layer_counts(void **state)
{
    struct fixture *f = *state;
    size_t n;
    const char *const *names = mfu_catalog_models(f->catalog, &n);
    int grow = 0;

    for (size_t i = 0; i < n; i++) {
        struct mfu_error err = {0};
        const struct mfu_model *m = mfu_catalog_model(f->catalog, names[i], &err);
        double all = params_of_layers(f, m, NULL), two = params_of_layers(f, m, "2"),
               three = params_of_layers(f, m, "3");

        if (two > 0 && three > 0 && two != all && !(two < three))
            fail_msg("%s has %.0f parameters with 2 layers, %.0f with 3", names[i], two, three);
        grow += two > 0 && two < three;
    }
    assert_true(grow > 100);
}

/* Fine-tuning, a longer context and the day of a release leave the shape, wherever a name says them. */
static void names_of_the_hub_are_shapes(void **state)
{
    static const struct {
        const char *name, *shape; /* NULL: nothing that is known */
    } rows[] = {
        {"mistralai/Mistral-7B-Instruct-v0.3", "Mistral-7B-v0.3"},
        {"microsoft/Phi-3-mini-128k-instruct", "Phi-3 mini"},
        {"microsoft/Phi-4-mini-reasoning", "Phi-4-mini"},
        {"Qwen/Qwen3-4B-Thinking-2507", "Qwen3-4B"},
        {"Qwen/Qwen2.5-7B-Instruct-1M", "Qwen2.5 7B"},
        {"EleutherAI/pythia-1.4b-deduped", "pythia-1.4b"},
        {"codellama/CodeLlama-7b-Python-hf", "CodeLlama-7b-Python"},
        {"allenai/OLMo-2-1124-13B-DPO", "OLMo-2-1124-13B"},
        {"unsloth/llama-3-8b-Instruct", "Llama 3 8B"},
        {"deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B", "DeepSeek-R1-Distill-Qwen-1.5B"},
        {"unsloth/llama-3-8b-bnb-4bit", NULL}, /* quantised */
        {"Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4", NULL},
        {"google/gemma-22b", NULL},
        {"x/Llama-3.21B", NULL},
        {"x/gpt2-355M", NULL},
        {"bigscience/bloom-350M", NULL},
        {"THUDM/glm-4-9b-chat", "GLM-4 9B"},
        {"timm/vit_base_patch16_224.augreg_in21k_ft_in1k", "ViT-B/16"},
        {"timm/vit_base_patch16_224.augreg_in21k", NULL}, /* 21843 classes */
        {"deit3_small_patch16_384_in21ft1k", "deit3_small_patch16_384"},
        {"nobody/instruct", NULL},
        {"nobody/Qwen3-5B", NULL},
        {"nobody/-", NULL},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct mfu_error err = {0};
        const struct mfu_model *m = mfu_catalog_hub_model(f->catalog, rows[i].name, &err);

        if ((m != NULL) != (rows[i].shape != NULL) || (m && strcmp(m->name, rows[i].shape) != 0))
            fail_msg("%s is read as %s", rows[i].name, m ? m->name : "nothing");
    }
}

static void what_no_table_reads_makes_it_unknown_whether_it_fits(void **state)
{
    static const struct {
        const char *more, *unpredicted;
    } rows[] = {
        {"", ""},
        {", \"eos_token_id\": 2, \"new_norm_eps\": 1e-6, \"new_bias\": false, \"new_list\": []", ""},
        {", \"extra_heads\": 4", "config.json's extra_heads: 4"},
        {", \"mixture\": {\"of\": 3}", "config.json's mixture"},
        {", \"use_sliding_window\": true", "config.json's use_sliding_window: true"},
    };
    static const char config[] =
        "{\"model_type\": \"qwen2\", \"hidden_size\": 64, \"num_hidden_layers\": 2, \"num_attention_heads\": 4, "
        "\"num_key_value_heads\": 2, \"intermediate_size\": 128, \"vocab_size\": 512, \"max_position_embeddings\": 64";
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[600];
        struct mfu_model *m;

        snprintf(text, sizeof text, "%s%s}", config, rows[i].more);
        m = plan(f, rows[i].more, text);
        assert_string_equal(mfu_plan_unpredicted(&f->plan), rows[i].unpredicted);
        assert_int_equal(isnan(mfu_plan_fits(&f->plan)), *rows[i].unpredicted != '\0');
        mfu_plan_release(&f->plan); /* the next model may get this one's place */
        mfu_model_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_of_published_models_are_exact),
        cmocka_unit_test(types_of_authors_are_known),
        cmocka_unit_test(no_type_is_planned_as_another),
        cmocka_unit_test(parameters_of_variants_are_exact),
        cmocka_unit_test(names_of_papers_are_known),
        cmocka_unit_test(names_of_the_hub_are_shapes),
        cmocka_unit_test(no_dim_of_0_makes_nonsense),
        cmocka_unit_test(each_layer_counts),
        cmocka_unit_test(what_no_table_reads_makes_it_unknown_whether_it_fits),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
