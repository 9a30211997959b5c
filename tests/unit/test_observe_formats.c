/*
 * test_observe_formats.c - what is read of each program's logs: twenty and more, most of them written by
 * the programs themselves.
 */
#include "observing.h"

#include "read/config/import.h"
#include "scenario/key_names.h"
#include "scenario/setting.h"

/* What is right, worked out by hand from the lines; 0: the log does not say. */
static const struct {
    const char *file, *source;
    double step_s, tokens_per_s, batch, accum, gpus, seq;
} logs[] = {
    {"nanogpt-train1.log", "nanogpt-log", 9.34, 56136, 8, 64, 1, 1024},
    {"nanogpt-train2.log", "nanogpt-log", 0, 0, 16, 0, 1, 0},
    {"nanogpt-lines.log", "nanogpt-log", 0, 0, 0, 0, 1, 0},
    {"nanogpt-resumed.log", "nanogpt-log", 9.34, 56130, 8, 64, 1, 1024},
    {"llmc-train1.log", "llmc-log", 0, 0, 0, 0, 0, 0},
    {"megatron-train1.log", "megatron-log", 0, 0, 0, 0, 0, 0},
    {"nanochat.log", "nanochat-log", 0, 0, 0, 0, 0, 0},
    {"torchtitan.log", "torchtitan-log", 0, 0, 0, 0, 0, 0},
    {"torchtitan-ranks.log", "torchtitan-log", 8192 / 6620., 4 * 6620, 1, 1, 4, 8192},
    {"huggingface-console.log", "huggingface-log", 0, 0, 0, 0, 0, 0},
    {"trainer_state.json", "huggingface-log", 0, 0, 0, 0, 0, 0},
    {"trainer_state-clocks.json", "huggingface-log", 0.0799, 6406, 4, 0, 1, 0},
    {"axolotl.log", "huggingface-log", 16384 / 3050., 3050, 2, 8, 1, 1024},
    {"trainer.tfevents", "tensorboard", 0.0839, 6100, 4, 2, 1, 64},
    {"lightning.tfevents", "tensorboard", 0.0112, 22810, 0, 0, 1, 0},
    {"lightning-metrics.csv", "csv", 0.0112, 22810, 0, 0, 1, 0},
    {"run-tiny.wandb", "wandb", 0.0808, 6336, 4, 2, 1, 64},
    {"nanotron.log", "nanotron-log", 1.02, 257000, 2, 4, 8, 4096},
    {"deepspeed.log", "deepspeed-log", 0.82, 80000, 4, 2, 8, 1024},
    {"llamafactory-trainer_log.jsonl", "json-lines", 1.6, 5120, 0, 0, 1, 0},
    {"own.jsonl", "json-lines", 32768 / 56100., 56100, 8, 4, 1, 1024},
    {"own.csv", "csv", 0.58, 0, 0, 0, 1, 0},
};

static double setting(const struct mfu_observation *o, const char *key)
{
    const struct mfu_understood *u = mfu_observe_understood(o, key);

    return u ? u->value : mfu_config_value(&o->plan.config, mfu_key_find(o->plan.config.model, key, NULL));
}

static void each_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
        char path[300];
        struct mfu_observation *o;
        const struct {
            const char *name;
            double is, should;
        } values[] = {{"batch", 0, logs[i].batch},
                      {"accum", 0, logs[i].accum},
                      {"gpus", 0, logs[i].gpus},
                      {"seq", 0, logs[i].seq}};

        snprintf(path, sizeof path, LOGS "%s", logs[i].file);
        o = observe(path, NULL);
        assert_string_equal(o->source, logs[i].source);
        assert_true(o->lines_used >= 3 || logs[i].step_s == 0);
        if (logs[i].step_s > 0)
            assert_near(o->figure[MFU_FIGURE_TIME], logs[i].step_s, 0.02);
        if (logs[i].tokens_per_s > 0)
            assert_near(o->figure[MFU_FIGURE_TOKENS_PER_S], logs[i].tokens_per_s, 0.02);
        for (size_t k = 0; k < sizeof values / sizeof values[0]; k++)
            if (values[k].should > 0 && setting(o, values[k].name) != values[k].should)
                fail_msg("%s: %s is %g, not %g", logs[i].file, values[k].name, setting(o, values[k].name),
                         values[k].should);
        /* What nobody says is not judged. */
        if (o->model_unknown) {
            assert_false(o->predicted);
            assert_true(isnan(o->mfu));
        }
    }
}

/* Tables of meters: what they say together, and what changed. */
static void tables_of_meters(void **state)
{
    struct mfu_observation *o = observe_on("h100-sxm", LOGS "dcgmi.txt", NULL, "model llama-3-8b");

    (void)state;
    assert_string_equal(o->source, "dcgmi");
    assert_int_equal(o->lines_used, 48);
    assert_near(o->figure[MFU_FIGURE_UTILIZATION], 0.998, 1e-6);
    assert_near(o->figure[MFU_FIGURE_SM_ACTIVE], 0.93, 0.01);
    assert_near(o->figure[MFU_FIGURE_TENSOR_ACTIVE], 0.21, 0.02);
    assert_near(o->figure[MFU_FIGURE_DRAM_ACTIVE], 0.62, 0.01);
    assert_near(o->figure[MFU_FIGURE_SMI_USED], 61234 * 0x1p20, 1e-9);
    assert_non_null(found(o, "memory-bound"));
    assert_null(found(o, "throttling"));
    o = observe_on("h100-sxm", LOGS "nvidia-smi.csv", NULL, NULL);
    assert_string_equal(o->source, "nvidia-smi");
    assert_int_equal(o->lines_used, 57); /* the idle ones are none of the run's */
    assert_near(o->figure[MFU_FIGURE_POWER], 640, 0.01);
    assert_non_null(found(o, "throttling"));
}

/* A meter bounds the next one, and so do bytes, waits and what a card can. */
#define RUN "step_ms 202 batch 8 accum 1 "
static void meters_that_contradict(void **state)
{
    static const struct {
        const char *figures;
        bool contradicts;
    } rows[] = {{"utilization 99 sm_active 90 tensor_active 60", false},
                {"utilization 50 sm_active 90", true},
                {"sm_active 50 tensor_active 60", true},
                {"tensor_active 30 step_ms 1216 batch 8 accum 64 runtime compile gpu h100-sxm", true},
                {"tensor_active 60 step_ms 1216 batch 8 accum 64 runtime compile gpu h100-sxm", false},
                {RUN "sm_active 20 mfu 60", true},
                {RUN "sm_active 94", false},
                {"power 500", true},
                {"power 190", false},
                {RUN "communication_ms 400", true},
                {RUN "communication_ms 20", true}, /* of one GPU */
                {RUN "gpus 4 communication_ms 20", false},
                {RUN "memory_allocated 12GiB memory_reserved 10GiB", true},
                {RUN "memory_reserved 8GiB memory_used 7GiB", true},
                {RUN "memory_allocated 8.8GiB memory_reserved 10.2GiB memory_used 10.8GiB", false},
                {RUN "memory_allocated 12GiB", true},
                {RUN "loader_ms 400", true},
                {RUN "loader_ms 150", false},
                {RUN "utilization 10", true}};

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_observation *o = observe(NULL, rows[i].figures);

        if (!found(o, "meter-contradiction") == rows[i].contradicts)
            fail_msg("%s: MFU %g", rows[i].figures, o->mfu);
        /* Nothing follows from a meter that is contradicted. */
        if (rows[i].contradicts && (found(o, "launch-bound") || found(o, "memory-contradiction")))
            fail_msg("%s: a symptom of a meter that is contradicted", rows[i].figures);
        if (strstr(rows[i].figures, "loader_ms") && !found(o, "input-bound") != rows[i].contradicts)
            fail_msg("%s: time without the loader", rows[i].figures);
    }
}

/* A meter far from its prediction is told, by what it saw in a step as long as measured. */
static void meters_unlike_the_plan(void **state)
{
    static const struct {
        const char *figures;
        bool unlike;
    } rows[] = {{"batch 8 accum 1 sm_active 20", true},
                {"batch 8 accum 1 sm_active 90", false},
                {"batch 8 accum 1 dram_active 99 tensor_active 99", true},
                {"batch 8 accum 1 power 70", true},
                {"batch 8 accum 1 step_ms 404 sm_active 47", false}, /* a wait, the kernels as planned */
                {"batch 8 accum 1 step_ms 404 sm_active 94", true}};

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_observation *o = observe(NULL, rows[i].figures);

        if (!found(o, "meter-unlike-plan") == rows[i].unlike)
            fail_msg("%s", rows[i].figures);
    }
}

/* The order of the questions: each symptom where its reading is the first gap. */
static void symptoms_of_meters(void **state)
{
    static const char *const rows[][2] = {
        {"utilization 99 sm_active 40", "few-sms"},
        {"utilization 99 sm_active 92 tensor_active 20 dram_active 60", "memory-bound"},
        {"utilization 99 sm_active 92 tensor_active 5 dram_active 20", "tensor-idle"},
        {"utilization 99 power 70", "little-power"},
        {"utilization 60", "launch-bound"}};

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_observation *o = observe(NULL, rows[i][0]);

        if (!found(o, rows[i][1]))
            fail_msg("%s: no %s", rows[i][0], rows[i][1]);
    }
}

/* Steps that are slow at the end are none of the steady ones, and told all the same. */
static void slow_at_the_end(void **state)
{
    (void)state;
    for (int slow = 0; slow < 2; slow++) {
        struct lines l = {0};
        struct mfu_observation *o;

        for (int i = 0; i < 300; i++)
            line(&l, "step %d step_ms %d", i, slow && i >= 279 ? 14000 : 9340 + i % 3);
        o = observe_lines("rtx4070", &l, "batch 8 accum 64 runtime compile");
        assert_near(o->figure[MFU_FIGURE_TIME], 9.341, 1e-3);
        assert_near(o->recent_s, slow ? 14 : 9.341, 1e-3);
        assert_true(!found(o, "slowing") == !slow);
    }
}

/* A run that grows slower is told; one that varies is not. */
static void drift(void **state)
{
    char text[2][8192];
    size_t n[2] = {0};
    SCRATCH folder = scratch_new();
    struct mfu_observation *o;

    (void)state;
    for (int i = 0; i < 80; i++)
        for (int k = 0; k < 2; k++)
            n[k] += (size_t)snprintf(text[k] + n[k], sizeof text[k] - n[k], "step %d step_ms %d batch 8 accum 64\n", i,
                                     9340 + i * 83 % 7 * 20 + (k == 0 ? 12 * i : 0));
    o = observe(scratch_file(&folder, "slower.log", text[0]), NULL);
    assert_near(o->drift, 0.07, 0.3);
    assert_non_null(found(o, "slowing"));
    o = observe(scratch_file(&folder, "varies.log", text[1]), NULL);
    assert_true(fabs(o->drift) < 0.01);
    assert_null(found(o, "slowing"));
}

/* The meters of a run on disk are figures, too. */
static void meters_of_wandb(void **state)
{
    struct mfu_observation *o = observe(LOGS "run-tiny.wandb", NULL);

    (void)state;
    assert_near(o->figure[MFU_FIGURE_UTILIZATION], 0.98, 1e-9);
    assert_near(o->figure[MFU_FIGURE_SMI_USED], 8304721920., 1e-9);
    assert_near(o->figure[MFU_FIGURE_POWER], 187.2, 1e-9);
}

/* The model that the user chose is not taken away by what a program usually trains. */
static void own_model_is_kept(void **state)
{
    struct mfu_observe_request request = {.log = LOGS "nanogpt-resumed.log"};
    struct mfu_scenario s =
        mfu_scenario_start(mfu_catalog_model(catalog, "qwen2.5-0.5b", NULL), mfu_catalog_gpu(catalog, "rtx4070", NULL));
    struct mfu_error err = {0};
    struct mfu_observation *o;

    (void)state;
    s.model_given = true;
    assert_non_null(o = mfu_observe(catalog, &s, &request, &err));
    assert_string_equal(o->plan.config.model->slug, "qwen2.5-0.5b");
    mfu_observation_free(o);
    request.log = LOGS "lightning-metrics.csv";
    assert_non_null(o = mfu_observe(catalog, &s, &request, &err));
    assert_false(o->model_unknown);
    mfu_observation_free(o);
}

/* Every byte of a binary log, once wrong: what is before it is read, and no more is believed. */
static void damaged_files(void **state)
{
    static const char *const files[] = {"lightning.tfevents", "run-tiny.wandb"};
    SCRATCH folder = scratch_new();
    const char *damaged;

    (void)state;
    damaged = scratch_file(&folder, "damaged", "");
    for (size_t i = 0; i < 2; i++) {
        unsigned char bytes[8192];
        char path[300];
        FILE *in;
        size_t n;

        snprintf(path, sizeof path, LOGS "%s", files[i]);
        assert_non_null(in = fopen(path, "rb"));
        n = fread(bytes, 1, sizeof bytes, in);
        fclose(in);
        for (size_t at = 40; at < n; at += 97) {
            struct mfu_log log;
            const struct mfu_log_format *format;
            struct mfu_error err = {0};
            FILE *out;

            assert_non_null(out = fopen(damaged, "wb"));
            bytes[at] ^= 0x40;
            fwrite(bytes, 1, n, out);
            bytes[at] ^= 0x40;
            fclose(out);
            assert_int_equal(mfu_log_read(&log, damaged, &format, &err), 0);
            assert_non_null(strstr(log.note, "damaged"));
            mfu_log_release(&log);
        }
    }
}

/* Ranks in files of their own are one run, of each step the slowest; parts go on where others end. */
static void several_files(void **state)
{
    char text[3][4096];
    size_t n[3] = {0};
    SCRATCH folder = scratch_new();
    const char *ranks[] = {NULL, NULL}, *parts[] = {NULL, NULL};
    struct mfu_observe_request request = {.more = ranks};
    struct mfu_scenario s = on("rtx4070");
    struct mfu_error err = {0};
    struct mfu_observation *o;

    (void)state;
    for (int i = 0; i < 30; i++)
        for (int k = 0; k < 3; k++)
            n[k] += (size_t)snprintf(text[k] + n[k], sizeof text[k] - n[k], "step %d step_ms %d batch 8 accum 64\n",
                                     k == 2 ? 30 + i : i, (k == 1 ? 9940 : 9340) + i % 3);
    request.log = scratch_file(&folder, "rank0.log", text[0]);
    ranks[0] = scratch_file(&folder, "rank1.log", text[1]);
    parts[0] = scratch_file(&folder, "later.log", text[2]);
    assert_non_null(o = mfu_observe(catalog, &s, &request, &err));
    assert_near(o->figure[MFU_FIGURE_TIME], 9.941, 1e-3);
    mfu_observation_free(o);
    request.more = parts;
    assert_non_null(o = mfu_observe(catalog, &s, &request, &err));
    assert_near(o->figure[MFU_FIGURE_TIME], 9.341, 1e-3);
    assert_true(o->lines_used > 50);
    mfu_observation_free(o);
}

/* `import FILE` and `observe --config FILE` make the same of each key. */
static void config_as_imported(void **state)
{
    static const char *const files[] = {"deepspeed.json",     "llmc.sh",          "megatron.sh",
                                        "nanogpt-train2.py",  "torchtitan.toml",  "training_args.json",
                                        "training_args.yaml", "wandb-config.yaml"};

    (void)state;
    for (size_t i = 0; i < LENGTH(files); i++) {
        struct mfu_import *m = calloc(1, sizeof *m);
        struct mfu_scenario start = on("h100-sxm"), imported = start;
        struct mfu_observation *o;
        struct mfu_error err = {0};
        char path[300];
        int understood = 0;

        snprintf(path, sizeof path, MFUPLAN_SOURCE_DIR "/tests/data/import/%s", files[i]);
        assert_non_null(m);
        m->catalog = catalog;
        m->start = &start;
        assert_int_equal(mfu_import_read(m, path, NULL, &err), 0);
        assert_int_equal(mfu_import_apply(m, &imported, &err), 0);
        o = observe_on("h100-sxm", NULL, path, "step_ms 500");
        assert_string_equal(o->plan.config.model->slug, imported.model->slug);
        for (int k = 0; k < m->n; k++) {
            const struct mfu_entry *e = &m->entries[k];
            struct mfu_key key;

            if ((e->fate != MFU_UNDERSTOOD && e->fate != MFU_ASSUMED) || !e->key || strcmp(e->key, "model") == 0)
                continue;
            key = mfu_key_find(imported.model, e->key, NULL);
            understood++;
            if (mfu_scenario_value(&o->plan.scenario, key) != mfu_scenario_value(&imported, key))
                fail_msg("%s: %s is %g by --config, %g by import", files[i], e->key,
                         mfu_scenario_value(&o->plan.scenario, key), mfu_scenario_value(&imported, key));
        }
        assert_true(understood >= 3);
        mfu_import_release(m);
        free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_read),
        cmocka_unit_test(meters_of_wandb),
        cmocka_unit_test(own_model_is_kept),
        cmocka_unit_test(damaged_files),
        cmocka_unit_test(several_files),
        cmocka_unit_test(config_as_imported),
        cmocka_unit_test(meters_unlike_the_plan),
        cmocka_unit_test(tables_of_meters),
        cmocka_unit_test(meters_that_contradict),
        cmocka_unit_test(symptoms_of_meters),
        cmocka_unit_test(drift),
        cmocka_unit_test(slow_at_the_end),
    };

    return cmocka_run_group_tests(tests, open_catalog, close_observing);
}
