/* test_import.c - every entry of another program's file has a fate. */
#include "near.h"

#include <stdlib.h>
#include <string.h>

#include "answer/import.h"
#include "base/error.h"
#include "scratch.h"

#define DATA MFUPLAN_SOURCE_DIR "/tests/data/import/"

static struct mfu_catalog *catalog;
static struct mfu_import *import;
static struct mfu_scenario start, next;
static struct mfu_config config;

static int set_up(void **state)
{
    (void)state;
    catalog = mfu_catalog_open(MFUPLAN_SOURCE_DIR, NULL);
    start = mfu_scenario_start(mfu_catalog_model(catalog, "gpt2", NULL), mfu_catalog_gpu(catalog, "h100-sxm", NULL));
    return catalog ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    mfu_catalog_free(catalog);
    return 0;
}

static void read_file(const char *path, const char *format)
{
    struct mfu_error err = {0};

    import = calloc(1, sizeof *import);
    assert_non_null(import);
    import->catalog = catalog;
    import->start = &start;
    next = start;
    if (mfu_import_read(import, path, NULL, &err) < 0)
        fail_msg("%s: %s", path, err.text);
    assert_string_equal(import->format->name, format);
    assert_int_equal(mfu_import_apply(import, &next, &err), 0);
    assert_int_equal(mfu_scenario_resolve(&next, &config, &err), 0);
}

static void done(void)
{
    mfu_import_release(import);
    free(import);
}

static enum mfu_fate fate(const char *name)
{
    struct mfu_entry *e = mfu_import_find(import, name);

    if (!e)
        fail_msg("no entry is called %s", name);
    return e->fate;
}

static double setting(enum mfu_setting_id id)
{
    return config.setting[id];
}

static void nanogpt_is_understood(void **state)
{
    (void)state;
    read_file(DATA "nanogpt-train2.py", "nanogpt");
    assert_string_equal(next.model->slug, "gpt2");
    assert_near(config.batch, 16, 0);
    assert_near(config.accum, 32, 0);           /* 4 * 8, and a comment behind it */
    assert_near(mfu_config_dim(&config, "n_embd"), 384, 0);
    assert_int_equal(config.runtime, MFU_COMPILE);
    assert_int_equal(fate("out_dir"), MFU_IGNORED);
    assert_int_equal(fate("wandb_log"), MFU_IGNORED);
    assert_int_equal(fate("n_layer"), MFU_ASSUMED);
    assert_int_equal(fate("my_own_switch"), MFU_UNMODELLED);
    assert_int_equal(mfu_import_find(import, "n_embd")->line, 8);
    done();
}

static void llmc_is_understood(void **state)
{
    (void)state;
    read_file(DATA "llmc.sh", "llmc");
    assert_near(config.batch, 64, 0);
    assert_near(config.seq, 1024, 0);
    assert_near(config.accum, 1, 0);            /* 524288 / (64 * 1024 * 8) */
    assert_near(setting(MFU_S_GPUS), 8, 0);
    assert_int_equal(config.runtime, MFU_LLMC);
    assert_near(mfu_config_dim(&config, "n_layer"), 12, 0);
    assert_int_equal(fate("-i"), MFU_IGNORED);
    done();
}

static void torchtitan_is_understood(void **state)
{
    (void)state;
    read_file(DATA "torchtitan.toml", "torchtitan");
    assert_string_equal(next.model->slug, "llama-3-8b");
    assert_near(config.seq, 8192, 0);
    assert_int_equal(config.runtime, MFU_COMPILE);
    assert_int_equal(config.checkpoint, MFU_SELECTIVE);
    assert_int_equal(fate("parallelism.data_parallel_shard_degree"), MFU_UNMODELLED);
    assert_int_equal(fate("job.dump_folder"), MFU_IGNORED);
    done();
}

static void training_arguments_are_understood(void **state)
{
    (void)state;
    read_file(DATA "training_args.json", "huggingface");
    assert_string_equal(next.model->slug, "llama-3-8b");
    assert_near(config.batch, 4, 0);
    assert_near(config.accum, 8, 0);
    assert_int_equal(config.precision, MFU_BF16);
    assert_int_equal(config.checkpoint, MFU_FULL);
    assert_int_equal(fate("fp16"), MFU_IGNORED);
    assert_int_equal(fate("fsdp"), MFU_UNMODELLED);
    assert_int_equal(fate("something_new"), MFU_UNMODELLED);
    done();
    read_file(DATA "training_args.yaml", "huggingface");
    assert_int_equal(config.precision, MFU_TF32);
    assert_int_equal(config.optimizer, MFU_ADAMW_FOREACH);
    done();
}

static void deepspeed_is_understood(void **state)
{
    (void)state;
    read_file(DATA "deepspeed.json", "deepspeed");
    assert_near(config.batch, 4, 0);
    assert_near(config.accum, 2, 0);
    assert_near(setting(MFU_S_GPUS), 8, 0);     /* 64 / (4 * 2) */
    assert_int_equal(config.precision, MFU_BF16);
    assert_int_equal(fate("zero_optimization.offload_optimizer.device"), MFU_UNMODELLED);
    assert_int_equal(fate("scheduler.params.warmup_num_steps"), MFU_IGNORED);
    done();
}

static void megatron_is_understood(void **state)
{
    (void)state;
    read_file(DATA "megatron.sh", "megatron");
    assert_string_equal(next.model->slug, "llama-2-7b");
    assert_near(mfu_config_dim(&config, "n_layer"), 24, 0);
    assert_near(setting(MFU_S_GPUS), 8, 0);     /* a variable of the script */
    assert_near(config.accum, 8, 0);            /* 256 / (4 * 8) */
    assert_int_equal(config.checkpoint, MFU_SELECTIVE);
    assert_int_equal(fate("--frobnicate"), MFU_UNMODELLED);
    assert_string_equal(mfu_import_find(import, "--disable-bias-linear")->value, "");
    done();
}

/* What the scenario refuses is named, and the rest is set. */
static void a_contradiction_is_left_out_and_named(void **state)
{
    struct scratch s;

    (void)state;
    scratch_begin(&s);
    read_file(scratch_file(&s, "a.py", "batch_size = 4\nn_embd = 768\nn_head = 7\ndropout = 7\n"), "nanogpt");
    assert_near(config.batch, 4, 0);
    assert_int_equal(fate("dropout"), MFU_UNMODELLED);
    assert_true(*mfu_import_find(import, "dropout")->note != '\0');
    done();
    scratch_end(&s);
}

static void shapes_that_need_each_other_are_set_together(void **state)
{
    struct scratch s;

    (void)state;
    scratch_begin(&s);
    read_file(scratch_file(&s, "a.py", "n_head = 25\nn_embd = 1600\nn_layer = 48\nbatch_size = 1\n"), "nanogpt");
    assert_near(mfu_config_dim(&config, "n_head"), 25, 0);
    assert_near(mfu_config_dim(&config, "n_embd"), 1600, 0);
    assert_int_equal(fate("n_head"), MFU_UNDERSTOOD);
    done();
    read_file(scratch_file(&s, "b.py", "init_from = 'gpt2-xl'\nbatch_size = 1\n"), "nanogpt");
    assert_string_equal(next.model->slug, "gpt2-xl");
    assert_int_equal(fate("n_layer"), MFU_IGNORED);
    done();
    scratch_end(&s);
}

/* Quotes, documentation, lists over lines, the last of a name. */
static void assignments_are_taken_apart(void **state)
{
    struct scratch s;

    (void)state;
    scratch_begin(&s);
    read_file(scratch_file(&s, "a.py",
                           "\"\"\"batch_size = 1\nbatch_size = 2\n\"\"\"\n"
                           "batch_size=3\nbatch_size = 5 # '\n"
                           "wandb_project = 'a # b' # c\nlist = [1,\n  2]\nimport time\nblock_size = 512"), "nanogpt");
    assert_near(config.batch, 5, 0);
    assert_near(config.seq, 512, 0);
    assert_string_equal(mfu_import_find(import, "wandb_project")->value, "a # b");
    assert_string_equal(mfu_import_find(import, "list")->value, "[1,\n  2]");
    assert_int_equal(fate("import time"), MFU_UNMODELLED);
    assert_int_equal(mfu_import_find(import, "block_size")->line, 10);
    done();
    scratch_end(&s);
}

static void refusals_say_why(void **state)
{
    struct mfu_error err = {0};
    struct scratch s;

    (void)state;
    scratch_begin(&s);
    import = calloc(1, sizeof *import);
    assert_non_null(import);
    import->catalog = catalog;
    import->start = &start;
    assert_int_equal(mfu_import_read(import, "/nonexistent", NULL, &err), -1);
    assert_true(err.code == MFU_EIO && strstr(err.text, "No such file"));
    assert_int_equal(mfu_import_read(import, scratch_file(&s, "a.txt", "nothing\n"), NULL, &err), -1);
    assert_true(strstr(err.text, "no known program") != NULL);
    assert_int_equal(mfu_import_read(import, scratch_file(&s, "b.txt", "x\n"), "nanogtp", &err), -1);
    assert_string_equal(err.suggestion, "nanogpt");
    assert_int_equal(mfu_import_read(import, scratch_file(&s, "c.json", "{\"zero_optimization\": [1,}"), NULL, &err), -1);
    assert_true(err.line == 1);
    done();
    scratch_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nanogpt_is_understood),
        cmocka_unit_test(llmc_is_understood),
        cmocka_unit_test(torchtitan_is_understood),
        cmocka_unit_test(training_arguments_are_understood),
        cmocka_unit_test(deepspeed_is_understood),
        cmocka_unit_test(megatron_is_understood),
        cmocka_unit_test(a_contradiction_is_left_out_and_named),
        cmocka_unit_test(shapes_that_need_each_other_are_set_together),
        cmocka_unit_test(assignments_are_taken_apart),
        cmocka_unit_test(refusals_say_why),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
