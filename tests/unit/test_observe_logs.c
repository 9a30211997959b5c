/* test_observe_logs.c - logs whose configuration or step time is easily read
 * wrongly: what is understood of them, and when nothing is predicted. */
#include "observing.h"

#include "read/config/import.h"
#include "scenario/setting.h"

/* ---- Hugging Face ------------------------------------------------------------ */

static void rounded_rates_of_slow_steps(void **state)
{
    struct lines l = {0};
    struct mfu_observation *o;

    (void)state;
    /* 50 steps of 60 s, 512 sequences each: 0.017 steps a second could be 51 of 502. */
    line(&l, "{'train_runtime': 3000.0, 'train_samples_per_second': 8.533, 'train_steps_per_second': 0.017}");
    o = observe_lines("a100-40gb-sxm", &l, NULL);
    assert_near(o->figure[MFU_FIGURE_TIME], 60, 0);
    assert_near(o->tokens_per_step, 524288, 0);
    assert_near(understood(o, "accum"), 64, 0);
    assert_true(noted(o, "resumed"));

    l = (struct lines){0};
    line(&l, "{\"global_step\": 200, \"log_history\": [{\"eval_runtime\": 180, \"step\": 100},");
    line(&l,
         "{\"step\": 200, \"train_runtime\": 2048.0, \"train_samples_per_second\": 50.0, "
         "\"train_steps_per_second\": 0.098}], \"train_batch_size\": 8}");
    o = observe_lines("a100-40gb-sxm", &l, NULL);
    assert_near(o->figure[MFU_FIGURE_TIME], 9.34, 1e-9);
    assert_near(o->tokens_per_step, 524288, 0);
    assert_near(o->plan.config.accum, 64, 0);
}

static void tokens_that_do_not_follow(void **state)
{
    struct lines l = {0};
    struct mfu_observation *o;

    (void)state;
    /* 500 sequences a step are no multiple of 8. */
    line(&l,
         "{\"global_step\": 200, \"log_history\": [{\"train_runtime\": 1000.0, "
         "\"train_samples_per_second\": 100.0, \"train_steps_per_second\": 0.2}], \"train_batch_size\": 8}");
    o = observe_lines("a100-40gb-sxm", &l, NULL);
    assert_false(o->predicted);
    assert_non_null(strstr(o->why_not, "tokens per step"));
    assert_near(o->tokens_per_step, 500 * 1024, 0);
}

static void tokens_that_nobody_states(void **state)
{
    struct mfu_observation *o = observe(NULL, "step_ms 9340 model gpt2");

    (void)state;
    assert_false(o->predicted);
    assert_non_null(strstr(o->why_not, "batch and accum"));
    assert_null(found(o, "slower-than-predicted"));

    o = observe(NULL, "memory_allocated 7GiB mfu 15.4%"); /* no time to compare */
    assert_true(o->predicted);
}

static struct mfu_observation *trainer_of(const char *header, double samples)
{
    struct lines l = {0};

    line(&l, "%s", header);
    line(&l, "{'train_runtime': 300.0, 'train_samples_per_second': %.3f, 'train_steps_per_second': 3.333}",
         samples / 0.3);
    return observe_lines("a100-40gb-sxm", &l, "model gpt2");
}

static void a_batch_as_the_trainer_has_it(void **state)
{
    struct mfu_observation *o = trainer_of("{'loss': 3.49, 'epoch': 0.02}", 8);

    (void)state;
    assert_true(o->predicted); /* the rates say how many tokens a step has */
    assert_near(o->tokens_per_step, 8192, 0);
    assert_near(o->plan.config.accum, 1, 0);
}

static void what_the_trainer_says_first(void **state)
{
    static const struct {
        int batch, total, accum, gpus;
    } rows[] = {{8, 8, 1, 1}, {8, 64, 1, 8}, {8, 32, 4, 1}, {4, 64, 8, 2}};

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char header[400];
        struct mfu_observation *o;

        snprintf(header, sizeof header,
                 "***** Running training *****\n  Num examples = 36,718\n"
                 "  Instantaneous batch size per device = %d\n"
                 "  Total train batch size (w. parallel, distributed & accumulation) = %d\n"
                 "  Gradient Accumulation steps = %d",
                 rows[i].batch, rows[i].total, rows[i].accum);
        o = trainer_of(header, rows[i].total);
        assert_near(understood(o, "batch"), rows[i].batch, 0);
        assert_near(understood(o, "accum"), rows[i].accum, 0);
        assert_near(understood(o, "gpus"), rows[i].gpus, 0);
        assert_near(o->tokens_per_step, rows[i].total * 1024, 0);
        assert_true(o->predicted);
    }
}

static void two_runs_of_the_trainer(void **state)
{
    struct lines l = {0};
    struct mfu_observation *o;

    (void)state;
    line(&l, "{'eval_loss': 9.0, 'eval_runtime': 45.75}");
    line(&l, "{'train_runtime': 1959.5, 'train_samples_per_second': 52.258, 'train_steps_per_second': 0.102}");
    line(&l, "{'train_runtime': 400.0, 'train_samples_per_second': 64.0, 'train_steps_per_second': 0.25}");
    refused_lines(&l, "two runs");

    l = (struct lines){0};
    line(&l, "  Continuing training from global step 300");
    line(&l,
         "{\"global_step\": 400, \"log_history\": [{\"train_runtime\": 934.0, "
         "\"train_samples_per_second\": 219.272, \"train_steps_per_second\": 0.428}]}");
    o = observe_lines("rtx4070", &l, NULL);
    assert_near(o->figure[MFU_FIGURE_TIME], 9.34, 1e-9);
    assert_near(o->tokens_per_step, 524288, 0);
}

/* ---- nanoGPT ------------------------------------------------------------------ */

static void nanogpt_head(struct lines *l, int batch, int accum)
{
    line(l, "Overriding: batch_size = %d", batch);
    line(l, "Overriding: gradient_accumulation_steps = %d", accum);
    line(l, "tokens per iteration will be: %d", batch * accum * 1024);
    line(l, "number of parameters: 123.59M");
    line(l, "compiling the model... (takes a ~minute)");
}

static void eight_gpus_that_nobody_states(void **state)
{
    struct lines l = {0};
    struct mfu_observation *o;

    (void)state;
    nanogpt_head(&l, 12, 40);
    for (int i = 1; i < 30; i++)
        line(&l, "iter %d: loss 3.1, time %d.00ms, mfu 39.13%%", 10 * i, 429 + i % 3);
    o = observe_lines("a100-40gb-sxm", &l, NULL);
    assert_near(understood(o, "gpus"), 8, 0);
    assert_near(understood(o, "accum"), 5, 0);
    assert_near(o->mfu, 0.3913, 0.01);
    assert_true(o->predicted && noted(o, "8 GPUs"));
    assert_null(found(o, "size-contradiction"));

    /* By hand nothing says that accum is over all of them: it is asked. */
    o = observe_on("a100-40gb-sxm", NULL, NULL, "step_ms 430 mfu 39.13 batch 12 accum 40");
    assert_false(o->predicted);
    assert_non_null(strstr(found(o, "size-contradiction")->message, "8 GPUs would"));
}

static void a_running_mfu_after_evaluations(void **state)
{
    struct lines l = {0};
    struct mfu_observation *o;
    double average = 0;

    (void)state;
    nanogpt_head(&l, 8, 64);
    for (int i = 1; i < 60; i++) {
        double seconds = i % 5 ? 9.34 : 129.34, own = 854.8e6 * 524288 / 312e12 / seconds;

        average = i == 1 ? own : 0.9 * average + 0.1 * own;
        if (i % 5 == 0)
            line(&l, "step %d: train loss 3.1, val loss 3.2", 10 * i);
        line(&l, "iter %d: loss 3.1, time %.2fms, mfu %.2f%%", 10 * i, 1e3 * seconds, 100 * average);
    }
    o = observe_lines("rtx4070", &l, NULL);
    assert_near(o->figure[MFU_FIGURE_MFU], 0.1538, 0.01);
    assert_near(o->mfu, 0.823, 0.003);
    assert_null(found(o, "size-contradiction"));
    assert_true(o->predicted);
}

static void an_evaluation_at_every_line(void **state)
{
    struct lines l = {0};

    (void)state;
    nanogpt_head(&l, 8, 64);
    for (int i = 0; i < 20; i++) {
        line(&l, "step %d: train loss 3.1, val loss 3.2", 10 * i);
        line(&l, "iter %d: loss 3.1, time 129340.00ms, mfu 1.11%%", 10 * i);
    }
    refused_lines(&l, "evaluation");
}

static void pretrained_weights(void **state)
{
    struct lines l = {0};
    struct mfu_observation *o;

    (void)state;
    line(&l, "batch_size = 1");
    line(&l, "gradient_accumulation_steps = 32");
    line(&l, "Initializing from OpenAI GPT-2 weights: gpt2-xl");
    line(&l, "number of parameters: 1555.97M");
    for (int i = 0; i < 12; i++)
        line(&l, "iter %d: loss 3.1, time 3300.00ms, mfu 32.70%%", i);
    o = observe_lines("a100-80gb-sxm", &l, NULL);
    assert_string_equal(o->plan.config.model->slug, "gpt2-xl");
    assert_near(understood(o, "bias"), 1, 0);
    assert_near(understood(o, "vocab_size"), 50257, 0);
    assert_true(o->predicted);
    assert_null(found(o, "size-contradiction"));

    /* Whose weights it does not say: 124 M are not 1.556 B, and no verdict comes of it. */
    *strstr(l.text, "Initializing") = '?';
    for (char *p = l.text; (p = strstr(p, ", mfu")); p++)
        memset(p, ' ', strcspn(p, "\n"));
    o = observe_lines("a100-80gb-sxm", &l, NULL);
    assert_false(o->predicted);
    assert_non_null(strstr(o->why_not, "1.556 B"));
}

/* ---- torchtitan ---------------------------------------------------------------- */

static void titan_head(struct lines *l, const char *mesh, const char *batch)
{
    bool copies = strstr(mesh, "dp_replicate=2");

    line(l, "[titan] INFO - Building %s", mesh);
    line(l,
         "[titan] INFO - Building llama3 8B with TransformerModelArgs(dim=4096, n_layers=32, n_heads=32, "
         "n_kv_heads=8, vocab_size=128256, multiple_of=1024, ffn_dim_multiplier=1.3)");
    line(l, "[titan] INFO - Applied selective activation checkpointing to the model");
    line(l, "[titan] INFO - Applied %s to the model", copies ? "HSDP" : strstr(mesh, "dp_shard=1,") ? "DDP" : "FSDP");
    line(l, "[titan] INFO - %s, sequence length 8192, total steps 1000 (warmup 200)", batch);
}

static void titan_steps(struct lines *l, int tps)
{
    for (int i = 1; i < 20; i++)
        line(l, "[titan] INFO - step: %d  loss:  8.1  memory: 38.22GiB(48.32%%)  tps: %d  mfu: %.2f%%", 10 * i,
             tps + i % 3, tps * 57.92e9 / 989e12 * 100);
}

static void words_of_the_newer_torchtitan(void **state)
{
    struct lines l = {0};
    struct mfu_observation *o;

    (void)state;
    titan_head(&l, "1-D device mesh with ['dp_shard'], [8]",
               "Trainer is initialized with local batch size 1, global batch size 8, gradient accumulation steps 1");
    line(&l, "[titan] INFO - Training starts at step 1");
    titan_steps(&l, 7000);
    o = observe_lines("h100-sxm", &l, NULL);
    assert_near(o->plan.config.batch, 1, 0);
    assert_near(o->tokens_per_step, 65536, 0);
    assert_near(o->figure[MFU_FIGURE_TIME], 65536 / 56000., 0.001);
    assert_true(o->predicted);
}

static void a_mesh_with_tensor_parallelism(void **state)
{
    struct lines l = {0};
    struct mfu_observation *o;

    (void)state;
    titan_head(&l, "3-D device mesh with ['pp', 'dp_shard', 'tp'], [2, 2, 2]",
               "Training starts at step 1, with local batch size 1, global batch size 2");
    titan_steps(&l, 5000);
    o = observe_lines("h100-sxm", &l, NULL);
    assert_near(understood(o, "gpus"), 8, 0);
    assert_near(understood(o, "tp"), 2, 0);
    assert_near(understood(o, "pp"), 2, 0);
    assert_near(o->tokens_per_step, 16384, 0);
    assert_near(o->mfu, 0.2928, 0.01);
    assert_true(o->predicted);
    assert_null(found(o, "size-contradiction"));
}

static void a_mesh_in_newer_words(void **state)
{
    static const char *const ends[] = {"ep=1, etp=1", "ep=1"};

    (void)state;
    for (size_t i = 0; i < LENGTH(ends); i++) {
        char mesh[160];
        struct lines l = {0};
        struct mfu_observation *o;

        snprintf(mesh, sizeof mesh, "device mesh with parallelism: pp=1, dp_replicate=1, dp_shard=4, cp=1, tp=2, %s",
                 ends[i]);
        titan_head(&l, mesh, "Trainer is initialized with local batch size 1, global batch size 4");
        titan_steps(&l, 5000);
        o = observe_lines("h100-sxm", &l, NULL);
        assert_near(understood(o, "gpus"), 8, 0);
        assert_near(understood(o, "tp"), 2, 0);
        assert_near(o->tokens_per_step, 32768, 0);
        assert_true(o->predicted);
        assert_null(found(o, "size-contradiction"));

        l = (struct lines){0};
        snprintf(mesh, sizeof mesh, "device mesh with parallelism: pp=1, dp_replicate=2, dp_shard=4, cp=1, tp=1, %s",
                 ends[i]);
        titan_head(&l, mesh, "Trainer is initialized with local batch size 1, global batch size 8");
        titan_steps(&l, 7000);
        o = observe_lines("h100-sxm", &l, NULL);
        assert_near(understood(o, "gpus"), 8, 0);
        assert_near(understood(o, "dp_shard"), 4, 0);
        assert_near(o->plan.config.setting[MFU_S_ZERO], 3, 0);
        assert_true(o->predicted);

        l = (struct lines){0}; /* DDP */
        snprintf(mesh, sizeof mesh, "device mesh with parallelism: pp=1, dp_replicate=8, dp_shard=1, cp=1, tp=1, %s",
                 ends[i]);
        titan_head(&l, mesh, "Trainer is initialized with local batch size 1, global batch size 8");
        titan_steps(&l, 7000);
        o = observe_lines("h100-sxm", &l, NULL);
        assert_near(o->plan.config.ranks, 8, 0);
        assert_near(o->plan.config.setting[MFU_S_ZERO], 0, 0);
        assert_true(o->predicted);
    }
}

static void checkpointing_in_newer_words(void **state)
{
    static const struct {
        const char *words, *choice;
    } rows[] = {{"full", "full"}, {"FullAC", "full"}, {"selective", "selective"}, {"SelectiveAC", "selective"}};

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct lines l = {0};
        struct mfu_observation *o;

        line(&l, "[titan] INFO - Applied %s activation checkpointing to the model", rows[i].words);
        titan_steps(&l, 7000);
        o = observe_lines("h100-sxm", &l, NULL);
        assert_non_null(mfu_observe_understood(o, "checkpoint"));
        assert_string_equal(mfu_observe_understood(o, "checkpoint")->word, rows[i].choice);
    }
}

/* --config reads what `import` reads: every setting of the file, the same values. */
static void a_config_is_read_as_import_does(void **state)
{
    static const char toml[] =
        "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 2\nseq_len = "
        "4096\ncompile = true\n[parallelism]\ndata_parallel_shard_degree = -1\n"
        "[activation_checkpoint]\nmode = \"full\"\n";
    struct mfu_import *import = calloc(1, sizeof *import);
    struct mfu_scenario scenario = on("h100-sxm"), start = scenario;
    struct mfu_error err = {0};
    struct mfu_observation *o;
    struct lines l = {0};
    SCRATCH s = scratch_new();
    const char *config;

    (void)state;
    assert_non_null(import);
    config = scratch_file(&s, "run.toml", toml);
    import->catalog = catalog;
    import->start = &start;
    assert_int_equal(mfu_import_read(import, config, NULL, &err), 0);
    assert_int_equal(mfu_import_apply(import, &scenario, &err), 0);
    titan_steps(&l, 7000);
    o = observe_on("h100-sxm", scratch_file(&s, "run.log", l.text), config, NULL);
    assert_string_equal(o->plan.config.model->slug, "llama-3-8b");
    for (int i = 0; i < MFU_SETTING_COUNT; i++)
        if (scenario.setting_given[i] && i != MFU_S_GPUS && o->plan.scenario.setting[i] != scenario.setting[i])
            fail_msg("%s: observe %g, import %g", mfu_settings[i].key, o->plan.scenario.setting[i],
                     scenario.setting[i]);
    mfu_import_release(import);
    free(import);
}

/* A set of choices is said in words. */
static void targets_of_adapters_have_names(void **state)
{
    struct mfu_observation *o;
    struct lines l = {0};

    (void)state;
    titan_steps(&l, 7000);
    o = observe_lines("h100-sxm", &l, "batch 2 seq 8192 lora 16 lora_targets attention");
    assert_string_equal(mfu_observe_understood(o, "lora_targets")->word, "attention");
    assert_string_equal(mfu_observe_understood(o, "lora")->word, "");
}

/* A wide interval of time does not hide that the memory is another's. */
static void memory_that_is_of_another_configuration(void **state)
{
    struct mfu_observation *o;
    struct lines l = {0};

    (void)state;
    titan_steps(&l, 7000);
    o = observe_lines("h100-sxm", &l, "batch 2 seq 8192 runtime compile gpus 8");
    assert_true(o->predicted);
    assert_false(o->plan.memory.fits);
    assert_non_null(found(o, "memory-contradiction"));
    assert_non_null(strstr(found(o, "memory-contradiction")->message, "does not fit"));
}

static void layers_in_float8(void **state)
{
    struct lines l = {0};
    struct mfu_observation *o;

    (void)state;
    titan_head(&l, "1-D device mesh with ['dp_shard'], [8]",
               "Training starts at step 1, with local batch size 1, global batch size 8");
    line(&l, "[titan] INFO - Swapped to Float8Linear layers with enable_fsdp_float8_all_gather=True");
    titan_steps(&l, 8500);
    o = observe_lines("h100-sxm", &l, NULL);
    assert_int_equal(o->plan.config.precision, MFU_FP8);

    l = (struct lines){0};
    line(&l, "[titan] INFO - Building deepseek_v3 16B with DeepSeekV3ModelArgs(dim=2048, n_layers=27)");
    titan_steps(&l, 8500);
    o = observe_lines("h100-sxm", &l, NULL);
    assert_false(o->predicted);
    assert_non_null(strstr(o->why_not, "deepseek_v3"));
}

static void two_runs_of_torchtitan(void **state)
{
    struct lines l = {0};

    (void)state;
    for (int run = 1; run <= 2; run++) {
        titan_head(&l, "1-D device mesh with ['dp_shard'], [8]",
                   run == 1 ? "Training starts at step 1, with local batch size 1, global batch size 8"
                            : "Training starts at step 1, with local batch size 2, global batch size 16");
        titan_steps(&l, 7000);
    }
    refused_lines(&l, "two runs");
}

/* ---- Megatron -------------------------------------------------------------------- */

static void megatron_head(struct lines *l, int layers, const char *more)
{
    line(l, "  bf16 ............................................ True");
    line(l, "  hidden_size ..................................... 768");
    line(l, "  micro_batch_size ................................ 8");
    line(l, "  num_attention_heads ............................. 12");
    line(l, "  num_layers ...................................... %d", layers);
    line(l, "  padded_vocab_size ............................... 50304");
    line(l, "  seq_length ...................................... 1024");
    line(l, "  world_size ...................................... 1\n%s", more);
}

static void megatron_step(struct lines *l, int i, double ms, int samples)
{
    line(l,
         " iteration %d/ 1000 | elapsed time per iteration (ms): %.1f | global batch size: %d | lm loss: 9.8 "
         "|",
         i, ms, samples);
}

static void only_the_last_batch_of_a_ramp_up(void **state)
{
    struct lines l = {0};
    struct mfu_observation *o;

    (void)state;
    megatron_head(&l, 12, "");
    for (int i = 1; i <= 70; i++) {
        int samples = i < 60 ? 32 * (i / 4 + 1) : 512;

        megatron_step(&l, i, 9340. * samples / 512, samples);
    }
    line(&l, " iteration 71/ 1000 | elapsed time per iteration (ms): 9340.0 | glob"); /* cut off */
    o = observe_lines("rtx4070", &l, NULL);
    assert_near(o->figure[MFU_FIGURE_TIME], 9.34, 1e-9);
    assert_near(o->tokens_per_step, 524288, 0);
    assert_int_equal(o->lines_used, 12);
    assert_true(dropped(o, "batch ramp-up") > 0);
}

static void two_runs_of_megatron(void **state)
{
    struct lines l = {0};

    (void)state;
    for (int run = 1; run <= 2; run++) {
        megatron_head(&l, 12 * run, "");
        for (int i = 1; i <= 20; i++)
            megatron_step(&l, i, 9340 * run, 512);
    }
    refused_lines(&l, "two runs");

    l = (struct lines){0};
    for (int run = 1; run <= 2; run++) {
        megatron_head(&l, 12, run == 1 ? "  fp8 .................... None" : "  fp8 .................... hybrid");
        for (int i = 1; i <= 20; i++)
            megatron_step(&l, i, 9340. / run, 512);
    }
    refused_lines(&l, "two runs");
}

static struct mfu_observation *megatron_with(const char *arguments)
{
    struct lines l = {0};

    megatron_head(&l, 12, arguments);
    for (int i = 1; i <= 20; i++)
        megatron_step(&l, i, 9340, 512);
    return observe_lines("h100-sxm", &l, NULL);
}

static void arguments_that_change_the_model(void **state)
{
    struct mfu_observation *o = megatron_with("  fp8 .................... hybrid");

    (void)state;
    assert_int_equal(o->plan.config.precision, MFU_FP8);

    for (int block = 0; block < 2; block++) {
        o = megatron_with(block ? "  recompute_granularity ................... full\n"
                                  "  recompute_method ........................ block\n"
                                  "  recompute_num_layers .................... 3"
                                : "  recompute_granularity ................... full\n"
                                  "  recompute_method ........................ uniform\n"
                                  "  recompute_num_layers .................... 1");
        assert_int_equal(o->plan.config.checkpoint, MFU_FULL);
        assert_near(o->plan.config.setting[MFU_S_CHECKPOINT_LAYERS], block ? 3 : 0, 0);
    }

    o = megatron_with("  group_query_attention ................... True\n"
                      "  num_query_groups ........................ 4\n"
                      "  untie_embeddings_and_output_weights ..... True");
    assert_near(understood(o, "n_kv_head"), 4, 0);
    assert_near(understood(o, "tied"), 0, 0);

    o = megatron_with("  num_experts ............................. 8\n"
                      "  moe_router_topk ......................... 2\n"
                      "  swiglu .................................. True\n"
                      "  ffn_hidden_size ......................... 3072");
    assert_string_equal(o->plan.config.model->slug, "mixtral-8x7b");
    assert_near(understood(o, "n_experts"), 8, 0);
    assert_near(understood(o, "n_kv_head"), 12, 0);

    o = megatron_with("  num_experts ............................. 8\n"
                      "  swiglu .................................. True\n"
                      "  world_size .............................. 8\n"
                      "  tensor_model_parallel_size .............. 2\n"
                      "  expert_model_parallel_size .............. 8\n"
                      "  expert_tensor_parallel_size ............. 1\n"
                      "  sequence_parallel ....................... True\n"
                      "  use_distributed_optimizer ............... True\n"
                      "  fp8 ..................................... hybrid\n"
                      "  fp8_param_gather ........................ True\n"
                      "  ffn_hidden_size ......................... 3072");
    assert_near(understood(o, "ep"), 8, 0);
    assert_near(o->plan.config.setting[MFU_S_ETP], 1, 0);
    assert_near(o->plan.config.setting[MFU_S_FP8_WEIGHTS], 1, 0);

    o = megatron_with("  num_experts ............................. 8");
    assert_false(o->predicted);
    assert_non_null(strstr(o->why_not, "experts"));
}

/* ---- nanochat, and what looks like it ----------------------------------------------- */

static void lines_of_build_nanogpt(void **state)
{
    struct lines l = {0};
    struct mfu_observation *o;

    (void)state;
    for (int i = 0; i < 20; i++)
        line(&l, "step %5d | loss: 3.100000 | lr 6.0000e-04 | norm: 1.2345 | dt: 9340.%02dms | tok/sec: 56133.62", i,
             i);
    o = observe_lines("rtx4070", &l, "batch 8 runtime compile");
    assert_string_equal(o->source, "key-value-log");
    assert_near(o->plan.config.seq, 1024, 0);
    assert_near(o->plan.config.accum, 64, 0);
    assert_near(o->mfu, 0.823, 0.003);
}

static void nanochat_counts_windows(void **state)
{
    struct lines l = {0};
    struct mfu_observation *o;

    (void)state;
    line(&l,
         "Vocab size: 32,768\n{\n  \"n_layer\": 24,\n  \"n_head\": 12,\n  \"n_kv_head\": 12,\n  \"n_embd\": "
         "1536\n}");
    line(&l, "Estimated FLOPs per token: 4.945000e+09");
    line(&l, "Tokens / micro-batch / rank: 16 x 2048 = 32,768\nTokens / micro-batch: 262,144");
    line(&l, "Total batch size 1,048,576 => gradient accumulation steps: 4");
    for (int i = 0; i < 20; i++)
        line(&l,
             "step %05d/21400 (0.1%%) | loss: 9.1 | lrm: 1.00 | dt: 1299.6%dms | tok/sec: 806,80%d | mfu: "
             "50.42",
             i, i % 10, i % 10);
    o = observe_lines("h100-sxm", &l, NULL);
    assert_null(found(o, "size-contradiction"));
    assert_true(o->predicted && noted(o, "windows"));
    assert_near(o->mfu, 0.539, 0.005);
}

/* ---- times ------------------------------------------------------------------------------ */

static struct mfu_observation *steps_of(double (*seconds)(int), int n)
{
    struct lines l = {0};

    line(&l, "batch 8 accum 64 runtime compile");
    for (int i = 0; i < n; i++)
        line(&l, "step %d step_ms %.2f", i, 1e3 * seconds(i));
    return observe_lines("rtx4070", &l, NULL);
}

static double every_fourth(int i)
{
    return i % 4 ? 9.34 : 16;
}

static double every_other(int i)
{
    return i % 2 ? 9.34 : 14;
}

static double grown_hot(int i)
{
    return i < 50 ? 9.34 : 11.8;
}

static double every_seventh(int i)
{
    return i % 7 ? 9.34 + 0.01 * (i % 3) : 12;
}

static double every_twentieth(int i)
{
    return i % 20 ? 9.34 + 0.01 * (i % 3) : 14;
}

static void slow_steps_at_equal_distances(void **state)
{
    struct mfu_observation *o = steps_of(every_seventh, 200);

    (void)state;
    assert_near(o->figure[MFU_FIGURE_TIME], 9.35, 1e-9);
    assert_int_equal(dropped(o, "evaluation"), 0); /* nothing says that they are */
    assert_true(dropped(o, "outlier") >= 27);
    assert_true(noted(o, "a multiple of 7") && noted(o, "loader"));

    o = steps_of(every_twentieth, 200);
    assert_int_equal(dropped(o, "evaluation"), 0);
    assert_int_equal(dropped(o, "outlier"), 9);
    assert_true(noted(o, "a multiple of 20"));
}

static void steps_that_stall(void **state)
{
    struct mfu_observation *o = steps_of(every_fourth, 200);

    (void)state;
    assert_near(o->figure[MFU_FIGURE_TIME], 11.0, 0.01);
    assert_true(o->lines_used > 190 && o->spread > 0.1);
    assert_non_null(found(o, "input-bound"));

    o = steps_of(every_other, 100);
    assert_near(o->figure[MFU_FIGURE_TIME], 11.67, 0.01);
    assert_true(o->lines_used > 95);
    assert_non_null(found(o, "input-bound"));

    o = steps_of(grown_hot, 150);
    assert_near(o->figure[MFU_FIGURE_TIME], 11.8, 1e-9);
    assert_null(found(o, "input-bound"));
}

static void times_without_a_unit(void **state)
{
    struct lines l = {0};
    struct mfu_observation *o;

    (void)state;
    for (int i = 0; i < 10; i++)
        line(&l, "step %d loss 3.1 time %d", i, 9335 + i);
    o = observe_lines("rtx4070", &l, "batch 8 accum 64 runtime compile");
    assert_near(o->figure[MFU_FIGURE_TIME], 9.34, 0.001);
    assert_true(noted(o, "milliseconds"));

    o = observe(NULL, "step_time 9.34 batch 8 accum 64");
    assert_near(o->figure[MFU_FIGURE_TIME], 9.34, 1e-9);
    assert_true(noted(o, "seconds"));
    o = observe(NULL, "step_s 93.4 batch 8 accum 64");
    assert_near(o->figure[MFU_FIGURE_TIME], 93.4, 1e-9);
    refused(NULL, "step_time 350 batch 8", "seconds or milliseconds");
}

/* ---- a batch that nobody states ------------------------------------------------------------- */

static bool has_candidate(const struct mfu_observation *o, const char *start)
{
    for (int i = 0; i < o->n_candidates; i++)
        if (strncmp(o->candidates[i].change, start, strlen(start)) == 0)
            return true;
    return false;
}

static void rate_and_time_without_a_batch(void **state)
{
    struct mfu_observation *o = observe(LOGS "by-hand.log", "runtime compile");
    struct mfu_scenario s = on("rtx4070");
    struct mfu_observe_request request = {.log = LOGS "by-hand.log"};

    (void)state;
    assert_true(noted(o, "guesses"));
    assert_near(o->tokens_per_step, 524288, 0);
    assert_near(o->mfu, 0.823, 0.003);
    assert_false(o->predicted); /* and no calibration */
    assert_non_null(strstr(o->why_not, "nobody states batch"));
    assert_null(found(o, "faster-than-predicted"));
    assert_null(found(o, "size-contradiction"));
    assert_non_null(found(o, "batch-unstated"));
    assert_true(has_candidate(o, "batch "));

    o = observe(NULL, "step_ms 9340 tokens_per_s 56134");
    assert_false(o->predicted);
    assert_true(noted(o, "guesses"));

    o = observe(LOGS "by-hand.log", "batch 8 runtime compile"); /* stated in any way */
    assert_true(o->predicted && !noted(o, "guesses"));
    assert_null(found(o, "batch-unstated"));
    assert_int_equal(mfu_scenario_set(&s, "batch", "8", NULL), 0);
    assert_int_equal(mfu_scenario_set(&s, "runtime", "compile", NULL), 0);
    o = mfu_observe(catalog, &s, &request, NULL);
    assert_non_null(o);
    assert_true(o->predicted && !noted(o, "guesses"));
    assert_near(o->plan.config.accum, 64, 0);
    mfu_observation_free(o);
}

/* ---- sizes --------------------------------------------------------------------------------- */

static void a_size_of_the_session_is_doubted_too(void **state)
{
    struct mfu_observation *o =
        observe(NULL, "model gpt2-medium step_ms 9340 mfu 15.4 batch 8 accum 64 runtime compile");
    struct lines l = {0};

    (void)state;
    assert_non_null(found(o, "size-contradiction"));
    assert_near(o->mfu, 2.33, 0.01); /* by time and configuration */
    assert_false(o->predicted);
    for (int i = 0; i < o->n_compared; i++)
        assert_true(isnan(o->compared[i].predicted) && isnan(o->compared[i].high));

    o = observe_on("h100-sxm", NULL, NULL, "tokens_per_s 180000 mfu 163 batch 32");
    assert_non_null(found(o, "size-contradiction"));
    assert_near(o->mfu, 0.155, 0.01);

    o = observe(NULL, "step_ms 9340 mfu 163% batch 8 accum 64");
    assert_non_null(found(o, "size-contradiction"));
    assert_near(o->mfu, 0.823, 0.01);

    /* llm.c's lines alone, of an A100, on what is taken for a card of 58 TFLOP/s. */
    for (int i = 1; i < 20; i++)
        line(&l,
             "step %4d/18865 | loss 9.9 (+nanz)| norm 15.2 (+nanz)| lr 1.7e-06 | 2392.%02d ms | 57.0%% bf16 "
             "MFU | "
             "219152 tok/s",
             i, i);
    o = observe_lines("rtx4070", &l, NULL);
    assert_non_null(found(o, "size-contradiction"));
    assert_true(noted(o, "another GPU"));
    assert_false(o->predicted);
    assert_null(found(o, "faster-than-predicted"));
}

static void ones_own_peak_in_nanogpt(void **state)
{
    struct lines l = {0};
    struct mfu_observation *o;

    (void)state;
    nanogpt_head(&l, 8, 64);
    for (int i = 0; i < 20; i++)
        line(&l, "iter %d: loss 3.1, time 934%d.00ms, mfu 82.30%%", i, i % 3);
    o = observe_lines("rtx4070", &l, NULL);
    assert_near(o->peak_flops, 58.3e12, 1e-9);
    assert_near(o->mfu, 0.823, 0.005);
    assert_true(o->predicted && noted(o, "own peak"));
    assert_null(found(o, "size-contradiction"));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounded_rates_of_slow_steps),
        cmocka_unit_test(tokens_that_do_not_follow),
        cmocka_unit_test(tokens_that_nobody_states),
        cmocka_unit_test(a_batch_as_the_trainer_has_it),
        cmocka_unit_test(what_the_trainer_says_first),
        cmocka_unit_test(two_runs_of_the_trainer),
        cmocka_unit_test(eight_gpus_that_nobody_states),
        cmocka_unit_test(a_running_mfu_after_evaluations),
        cmocka_unit_test(an_evaluation_at_every_line),
        cmocka_unit_test(pretrained_weights),
        cmocka_unit_test(words_of_the_newer_torchtitan),
        cmocka_unit_test(a_mesh_with_tensor_parallelism),
        cmocka_unit_test(a_mesh_in_newer_words),
        cmocka_unit_test(checkpointing_in_newer_words),
        cmocka_unit_test(layers_in_float8),
        cmocka_unit_test(a_config_is_read_as_import_does),
        cmocka_unit_test(targets_of_adapters_have_names),
        cmocka_unit_test(memory_that_is_of_another_configuration),
        cmocka_unit_test(two_runs_of_torchtitan),
        cmocka_unit_test(only_the_last_batch_of_a_ramp_up),
        cmocka_unit_test(two_runs_of_megatron),
        cmocka_unit_test(arguments_that_change_the_model),
        cmocka_unit_test(lines_of_build_nanogpt),
        cmocka_unit_test(nanochat_counts_windows),
        cmocka_unit_test(slow_steps_at_equal_distances),
        cmocka_unit_test(steps_that_stall),
        cmocka_unit_test(times_without_a_unit),
        cmocka_unit_test(rate_and_time_without_a_batch),
        cmocka_unit_test(a_size_of_the_session_is_doubted_too),
        cmocka_unit_test(ones_own_peak_in_nanogpt),
    };

    return cmocka_run_group_tests(tests, open_catalog, close_observing);
}
