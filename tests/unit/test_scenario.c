/* test_scenario.c - what a scenario takes, what follows, what is refused. */
#include "scenarios.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "plan/plan.h"
#include "scenario/adapter.h"
#include "scenario/scenario.h"
#include "scenario/setting.h"

static struct mfu_scenario start(const char *model, const char *gpu)
{
    const struct mfu_model *m = mfu_catalog_model(catalog, model, NULL);
    const struct mfu_gpu *g = mfu_catalog_gpu(catalog, gpu, NULL);

    assert_true(m && g);
    return mfu_scenario_start(m, g);
}

/* As /proc/cpuinfo, clusters and people write them. */
static void processors_are_known_by_what_names_them(void **state)
{
    static const struct {
        const char *text, *name;
    } rows[] = {
        {"2x EPYC 7742", "epyc-7742"},
        {"AMD EPYC 7763 64-Core Processor", "epyc-7763"},
        {"Intel(R) Xeon(R) CPU E5-2698 v4 @ 2.20GHz", "xeon-e5-2698v4"},
        {"2x Xeon 8480C", "xeon-8480"},
        {"Intel(R) Xeon(R) Gold 6226R CPU @ 2.90GHz", "xeon-6226r"},
        {"12th Gen Intel(R) Core(TM) i9-12900K", "i9-12900k"},
        {"AMD Ryzen 9 7950X3D 16-Core Processor", "ryzen-7950x"},
        {"AMD Ryzen Threadripper PRO 3975WX 32-Cores", "threadripper-3975wx"},
        {"4x Grace", "unknown"},
        {"Xeon 18480", "unknown"},
        {"Grand Teton", "unknown"},
        {"", "unknown"},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++)
        assert_string_equal(mfu_processor_names[mfu_processor_find(rows[i].text)], rows[i].name);
    for (int i = 1; i < MFU_PROCESSOR_COUNT; i++) {
        assert_int_equal(mfu_processor_find(mfu_processor_names[i]), i);
        assert_in_range(mfu_processor_marks[i], 1000, 6000);
    }
}

/* A step that the host rules takes as long as a thread of it does; one that the GPU rules does not care. */
static void the_processor_rules_what_the_host_takes(void **state)
{
    const char *const marks[] = {"600", "1200", "2400"};
    double step[LENGTH(marks)], width[LENGTH(marks)];

    (void)state;
    for (size_t i = 0; i < LENGTH(marks); i++)
        for (int large = 0; large < 2; large++) {
            struct mfu_scenario s = scenario_of("h100-sxm", "gpt2", large ? "batch 32" : "seq 64");
            struct mfu_plan *p = calloc(2, sizeof *p), *known = p + 1;

            assert_non_null(p);
            set_all(&s, "step.constant 0 model.unseen 0");
            assert_int_equal(mfu_plan_make(p, &s, NULL), 0);
            assert_int_equal(mfu_scenario_set(&s, "cpu_mark", marks[i], NULL), 0);
            assert_int_equal(mfu_plan_make(known, &s, NULL), 0);
            assert_near(known->dispatch_s[MFU_FORWARD] / p->dispatch_s[MFU_FORWARD],
                        MFU_PROCESSOR_USUAL / strtod(marks[i], NULL), 1e-9);
            set_all(&s, "dispatch.eager 30us"); /* what the user says is of his host */
            assert_int_equal(mfu_plan_make(known, &s, NULL), 0);
            assert_near(known->machine.c[MFU_C_DISPATCH_EAGER], 30e-6, 1e-12);
            assert_int_equal(mfu_scenario_unset(&s, "dispatch.eager", NULL), 0);
            assert_int_equal(mfu_plan_make(known, &s, NULL), 0);
            if (large) {
                assert_near(known->step.time_s / p->step.time_s, 1, 0.01);
            } else {
                step[i] = known->step.time_s;
                width[i] = (known->step.high_s - known->step.low_s) / (p->step.high_s - p->step.low_s);
            }
            mfu_plan_release(p);
            mfu_plan_release(known);
            free(p);
        }
    assert_true(step[0] > 1.8 * step[1] && step[1] > 1.5 * step[2]);
    assert_true(width[2] < 0.99); /* the same host, but known */
}

/* Beside a GeForce card a thread of a desktop runs, until a processor is named. */
static void desktops_have_faster_threads(void **state)
{
    static const char *const gpus[] = {"a100-80gb-sxm", "rtx4090", "rtx4070-laptop"};
    double unknown[LENGTH(gpus)], named[LENGTH(gpus)];

    (void)state;
    for (size_t i = 0; i < LENGTH(gpus); i++) {
        struct mfu_scenario s = scenario_of(gpus[i], "gpt2", "seq 64");
        struct mfu_plan *p = calloc(1, sizeof *p);

        assert_non_null(p);
        assert_int_equal(mfu_plan_make(p, &s, NULL), 0);
        unknown[i] = p->dispatch_s[MFU_FORWARD];
        set_all(&s, "cpu_mark 3000");
        assert_int_equal(mfu_plan_make(p, &s, NULL), 0);
        named[i] = p->dispatch_s[MFU_FORWARD];
        mfu_plan_release(p);
        free(p);
    }
    assert_true(unknown[1] < unknown[0] && unknown[2] < unknown[0]);
    assert_near(named[1], named[0], 1e-9);
    assert_near(named[2], named[0], 1e-9);
}

/* Of a machine that the user names the processor follows; of the usual one it is not known, and what he says counts. */
static void a_named_machine_tells_its_processor(void **state)
{
    struct mfu_scenario s = start("gpt2", "a100-80gb-sxm");
    struct mfu_config c;

    (void)state;
    assert_int_equal(mfu_scenario_resolve(&s, &c, NULL), 0);
    assert_near(c.setting[MFU_S_CPU_MARK], 0, 0);
    s.cluster = mfu_catalog_cluster(catalog, "dgx-a100", NULL);
    assert_int_equal(mfu_scenario_resolve(&s, &c, NULL), 0);
    assert_near(c.setting[MFU_S_CPU_MARK], 2145, 0);
    set_all(&s, "cpu epyc-9654");
    assert_int_equal(mfu_scenario_resolve(&s, &c, NULL), 0);
    assert_near(c.setting[MFU_S_CPU_MARK], 1984 / 0.61, 1e-9);
}

static void values_are_read_as_the_key_means_them(void **state)
{
    static const struct {
        const char *key, *text;
        double value;
    } rows[] = {
        {"batch", "8", 8},
        {"batch_size", "8", 8},
        {"batch", "2*4", 8},
        {"accum", "5*8", 40},
        {"grad_accum", "40", 40},
        {"precision", "fp16", MFU_FP16},
        {"precision", "BF16_PURE", MFU_BF16_PURE},
        {"runtime", "compile", MFU_COMPILE},
        {"cuda_graphs", "yes", 1},
        {"cuda_graphs", "off", 0},
        {"vram_reserved", "600MB", 600e6},
        {"vram_reserved", "1.5 GiB", 1.5 * 0x1p30},
        {"power_w", "320W", 320},
        {"power_w", "320", 320},
        {"grad_clip", "0.5", 0.5},
        {"dataloader_ms", "2.5", 2.5},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_scenario s = start("gpt2", "rtx4070");
        struct mfu_error err = {0};
        struct mfu_key key = mfu_scenario_key(&s, rows[i].key, &err);

        assert_int_equal(key.kind, MFU_KEY_SETTING);
        if (mfu_scenario_set(&s, rows[i].key, rows[i].text, &err) < 0)
            fail_msg("%s %s: %s", rows[i].key, rows[i].text, err.text);
        assert_near(s.setting[key.id], rows[i].value, 1e-12);
        assert_true(s.setting_given[key.id]);
        assert_int_equal(mfu_scenario_unset(&s, rows[i].key, &err), 0);
        assert_near(s.setting[key.id], mfu_settings[key.id].initial, 0);
    }
}

/* Workers that follow from what a loader does share its time as those that are set. */
static void workers_that_follow_share_a_loader(void **state)
{
    static const char *const images[] = {"batch 8 sample_ms 20 dataloader jpeg",
                                         "batch 8 sample_ms 20 dataloader jpeg dataloader_workers 12"};
    double all_ms[2];

    (void)state;
    for (size_t i = 0; i < LENGTH(images); i++) {
        struct mfu_scenario s = start("resnet-50", "rtx4070");
        struct mfu_config c;

        set_all(&s, images[i]);
        assert_int_equal(mfu_scenario_resolve(&s, &c, NULL), 0);
        assert_true(c.setting[MFU_S_LOADER_WORKERS] > 1);
        all_ms[i] = c.setting[MFU_S_DATALOADER_MS] * c.setting[MFU_S_LOADER_WORKERS];
    }
    assert_near(all_ms[0], 160, 1e-9);
    assert_near(all_ms[1], 160, 1e-9);
}

static void dims_follow_each_other(void **state)
{
    struct mfu_scenario s = start("gpt2", "rtx4070");
    struct mfu_config c;
    struct mfu_error err = {0};

    (void)state;
    assert_int_equal(mfu_scenario_set(&s, "n_embd", "2*512", &err), 0);
    assert_int_equal(mfu_scenario_set(&s, "n_head", "16", &err), 0);
    assert_int_equal(mfu_scenario_set(&s, "ctx", "8k", &err), 0);
    assert_int_equal(mfu_scenario_set(&s, "batch", "seq/1024", &err), 0);
    assert_int_equal(mfu_scenario_resolve(&s, &c, &err), 0);
    assert_near(mfu_config_dim(&c, "d_ff"), 4096, 0);
    assert_near(mfu_config_dim(&c, "n_kv_head"), 16, 0);
    assert_near(mfu_config_dim(&c, "head_dim"), 64, 0);
    assert_near(c.seq, 8192, 0);
    assert_near(c.batch, 8, 0);
    assert_near(c.tokens, 65536, 0);
    assert_true(isnan(mfu_config_dim(&c, "n_experts")));
    mfu_scenario_model(&s, mfu_catalog_model(catalog, "llama-2-7b", NULL));
    assert_int_equal(mfu_scenario_resolve(&s, &c, &err), 0);
    assert_near(mfu_config_dim(&c, "n_embd"), 4096, 0); /* the old model's were forgotten */
    assert_near(c.batch, 8, 0);
}

static void defaults_suit_the_gpu(void **state)
{
    static const struct {
        const char *gpu;
        enum mfu_precision precision;
        enum mfu_attention_kind attention;
    } rows[] = {
        {"rtx4070", MFU_BF16, MFU_FLASH}, {"a100-80gb-sxm", MFU_BF16, MFU_FLASH},  {"h100-sxm", MFU_BF16, MFU_FLASH},
        {"t4", MFU_FP16, MFU_MEMEFF},     {"v100-16gb-sxm", MFU_FP16, MFU_MEMEFF}, {"gtx1080ti", MFU_FP32, MFU_MEMEFF},
    };
    struct mfu_config c;

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_scenario s = start("gpt2", rows[i].gpu);

        assert_int_equal(mfu_scenario_resolve(&s, &c, NULL), 0);
        if (c.precision != rows[i].precision || c.attention != rows[i].attention)
            fail_msg("%s: %s, %s", rows[i].gpu, mfu_precision_names[c.precision], mfu_attention_names[c.attention]);
        assert_int_not_equal(c.setting_origin[MFU_S_PRECISION], MFU_ORIGIN_USER);
    }
}

/* One key is wrong by itself. */
static void slips_are_refused_at_once(void **state)
{
    static const struct {
        const char *key, *text, *part, *suggestion;
    } rows[] = {
        {"sequ", "8", "no setting is called 'sequ'", "seq"},
        {"batch", "0", "batch: 0 is outside 1..", ""},
        {"batch", "1.5", "batch: 1.5 is not a whole number", ""},
        {"batch", "-3", "outside", ""},
        {"batch", "nan", "batch: ", ""},
        {"batch", "1/0", "has no finite value", ""},
        {"batch", "2*sequ", "batch: ", "seq"},
        {"precision", "bf61", "expected fp32, tf32", "bf16"},
        {"clock_mhz", "1e-300", "0 leaves it open", ""},
        {"power_w", "0.001", "0 leaves it open", ""},
        {"n_experts", "8", "the model gpt2 has no such dimension", ""},
        {"n_layer", "0", "n_layer: 0 is outside", ""},
        {"gemm.efficiency", "3", "gemm.efficiency: ", ""},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_scenario s = start("gpt2", "rtx4070"), before = s;
        struct mfu_error err = {0};

        assert_int_equal(mfu_scenario_set(&s, rows[i].key, rows[i].text, &err), -1);
        if (!strstr(err.text, rows[i].part) || (rows[i].suggestion[0] && strcmp(err.suggestion, rows[i].suggestion)))
            fail_msg("%s %s: %s (%s)", rows[i].key, rows[i].text, err.text, err.suggestion);
        assert_memory_equal(&s, &before, sizeof s);
    }
}

/* A dimension that other models have is no slip of the pen: what it is is said, and nothing else is hinted at. */
static void dimensions_of_other_models_are_known(void **state)
{
    size_t n, found = 0;
    const char *const *names = mfu_catalog_models(catalog, &n);
    struct mfu_scenario s = start("llama-2-7b", "rtx4070");

    (void)state;
    for (size_t i = 0; i < n; i++) {
        const struct mfu_model *m = mfu_catalog_model(catalog, names[i], NULL);

        for (int k = 0; k < m->n_dims; k++) {
            const char *dim = m->dims[k].name;
            struct mfu_error err = {0};

            if ((!mfu_dim_row(dim) && !mfu_dim_of_models(dim)) || mfu_scenario_key(&s, dim, &err).kind != MFU_KEY_NONE)
                continue;
            found++;
            if (!strstr(err.text, "has no such dimension (") || err.suggestion[0])
                fail_msg("%s of %s: %s (%s)", dim, names[i], err.text, err.suggestion);
        }
    }
    assert_true(found > 0);
}

/* Keys that are fine alone and not together. */
static void contradictions_are_refused_when_planning(void **state)
{
    static const struct {
        const char *model, *gpu, *settings[13], *part, *suggestion;
    } rows[] = {
        {"gpt2", "rtx4070", {"n_embd", "100"}, "n_embd: 100 is not divisible by n_head (12); 96 and 108 are", "96"},
        {"sd-1.5", "h100-sxm", {"height", "500"}, "height / 64 is 7.8125, not a whole number (set height 512)", ""},
        {"sd-1.5", "h100-sxm", {"image", "500"}, "height / 64 is 7.8125, not a whole number (set image 512)", ""},
        {"sd-1.5", "h100-sxm", {"n_embd", "100"}, "n_embd / 32 is 3.125, not a whole number (set n_embd 96)", ""},
        {"sdxl", "h100-sxm", {"width", "1040"}, "width / 32 is 32.5, not a whole number (set width 1024)", ""},
        {"gpt2", "rtx4070", {"n_kv_head", "5"}, "n_kv_head: 5 does not divide n_head (12)", ""},
        {"gpt2", "t4", {"precision", "bf16"}, "has no bf16 tensor cores", "fp16"},
        {"gpt2", "a100-80gb-sxm", {"precision", "fp8"}, "has no fp8 tensor cores", "bf16"},
        {"gpt2", "t4", {"attention", "flash"}, "attention: flash is not possible here", "memeff"},
        {"gpt2", "rtx4070", {"attention", "flash3"}, "written for Hopper", "flash"},
        {"gpt2", "mi300x", {"attention", "flash3"}, "this maker's cards", "flash"},
        {"gpt2", "mi300x", {"attention", "cudnn"}, "this maker's cards", "flash"},
        {"gpt2", "m3-max", {"attention", "flash"}, "this maker's cards", "math"},
        {"gpt2", "rtx4070", {"precision", "fp32", "attention", "flash"}, "needs a 16-bit precision", "memeff"},
        {"mixtral-8x7b", "h100-sxm", {"top_k", "9"}, "top_k: 9 is more than n_experts (8)", ""},
        {"gpt2", "rtx4070", {"dataloader", "jpeg"}, "dataloader: jpeg is of photographs", ""},
        {"gpt2", "rtx4070", {"batch", "1e6", "seq", "1e8"}, "more than 1e12 tokens", ""},
        {"gpt2", "rtx4070", {"seq", "512", "doc_len", "600", "too_long", "drop"}, "all are dropped", ""},
        {"gpt2", "rtx4070", {"doc_len", "1e6", "doc_sigma", ".1", "too_long", "drop"}, "all are dropped", ""},
        {"gpt2", "rtx4070", {"tp", "5"}, "n_head 12 does not divide by tp 5; 1, 2, 3, 4, 6, 12 do", ""},
        {"llama-3-8b", "h100-sxm", {"tp", "16"}, "n_kv_head 8 does not divide by tp 16; 1, 2, 4, 8 do", ""},
        {"clip-vit-base-patch32", "h100-sxm", {"cp", "7"}, "its loss compares whole samples with each other; dp 7", ""},
        {"gpt2", "h100-sxm", {"pp", "16"}, "12 layers do not fill 16 stages; pp 12 vpp 1 would do", ""},
        {"gpt2", "h100-sxm", {"pp", "2", "zero", "2", "trainer", "deepspeed"}, "zero 0 and 1 do", ""},
        {"gpt2", "h100-sxm", {"adapter", "ia3", "lora", "0"}, "all weights would train (unset adapter)", ""},
        {"gpt2", "h100-sxm", {"adapter", "vera", "dora", "on"}, "dora: adapter vera has no such setting", ""},
        {"gpt2", "h100-sxm", {"adapter", "prefix-tuning", "checkpoint", "full"}, "peft refuses it", ""},
        {"llama-3-8b",
         "h100-sxm",
         {"adapter", "ia3", "lora_targets", "v_proj", "ia3_inputs", "down_proj"},
         "ia3_inputs: peft refuses",
         ""},
        {"gpt2", "h100-sxm", {"objective", "dpo", "cross_entropy_fusion", "te"}, "cross_entropy_fusion: te is", "off"},
        {"gpt2", "h100-sxm", {"objective", "grpo", "trainer", "nanotron"}, "with trainer nanotron", ""},
        {"gpt2", "h100-sxm", {"objective", "dpo", "runtime", "fused"}, "with runtime fused", ""},
        {"gpt2", "h100-sxm", {"objective", "dpo", "loss_chunks", "8"}, "8 pieces of objective dpo", ""},
        {"gpt2", "h100-sxm", {"adapter", "vera", "base_precision", "nf4"}, "beside quantised weights", ""},
        {"gpt2", "h100-sxm", {"adapter", "loha", "optimizer", "muon"}, "muon beside adapter loha", ""},
        {"gpt2",
         "h100-sxm",
         {"adapter", "p-tuning", "doc_len", "99", "packing", "1"},
         "learned tokens before several",
         ""},
        {"gpt2", "h100-sxm", {"kernel_package", "liger", "runtime", "compile"}, "is not modelled", ""},
        {"gpt2", "h100-sxm", {"kernel_package", "liger", "runtime", "llmc"}, "has kernels of its own", ""},
        {"gpt2", "h100-sxm", {"gpus", "64", "dp", "10"}, "do not fill 64 GPUs; dp 64 or gpus 10 would do", ""},
        {"mixtral-8x7b",
         "h100-sxm",
         {"gpus", "12", "ep", "8"},
         "ep: 8 x etp 1 do not divide the 12 GPUs of a pipeline stage (tp x cp x dp), which share the experts; ep 1, "
         "2, 4 "
         "do",
         ""},
        {"mixtral-8x7b", "h100-sxm", {"tp", "4", "sp", "on", "dp", "2", "ep", "4"}, "ep 1, 2 do, or etp 1", ""},
        {"mixtral-8x7b", "h100-sxm", {"tp", "4", "dp", "2", "etp", "1"}, "set sp on, or etp 4", ""},
        {"mixtral-8x7b", "h100-sxm", {"tp", "2", "dp", "4", "ep", "2", "sp", "off"}, "set sp on, or ep 1", ""},
        {"mixtral-8x7b", "h100-sxm", {"tp", "2", "sp", "on", "dp", "3", "etp", "4"}, "1, 2, 3, 6 do", ""},
        {"llama-3-8b", "h100-sxm", {"pp", "4", "accum", "8", "overlap_p2p", "on"}, "set overlap_p2p off", ""},
        {"mistral-7b",
         "h100-sxm",
         {"cp", "2", "seq", "16384", "window", "4096", "trainer", "megatron-te"},
         "all_gather and a2a",
         ""},
        {"llama-3-8b",
         "h100-sxm",
         {"cp", "16", "cp_comm_type", "a2a", "trainer", "megatron-te"},
         "does not divide",
         ""},
        {"gpt2", "h100-sxm", {"gpus", "8", "etp", "2"}, "etp: 2: the model has no experts", ""},
        {"mixtral-8x7b",
         "h100-sxm",
         {"tp", "2", "sp", "on", "pp", "2", "dp", "4", "ep", "4", "rank_order", "tp-cp-ep-pp-dp"},
         "ep x etp 2, not 8",
         ""},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_scenario s = start(rows[i].model, rows[i].gpu);
        struct mfu_error err = {0};
        struct mfu_config c;

        for (int k = 0; rows[i].settings[k]; k += 2)
            assert_int_equal(mfu_scenario_set(&s, rows[i].settings[k], rows[i].settings[k + 1], &err), 0);
        assert_int_equal(mfu_scenario_resolve(&s, &c, &err), -1);
        if (!strstr(err.text, rows[i].part) || (rows[i].suggestion[0] && strcmp(err.suggestion, rows[i].suggestion)))
            fail_msg("%s %s: %s (%s)", rows[i].settings[0], rows[i].settings[1], err.text, err.suggestion);
    }
}

static void what_no_software_does_is_refused(void **state)
{
    static const struct {
        const char *gpu, *key, *value, *runtime, *part;
    } rows[] = {
        {"gtx1080ti", "batch", "1", "compile", "Triton needs compute capability 7.0"},
        {"p100-pcie-16gb", "batch", "1", "compile", "Triton needs compute capability 7.0"},
        {"a100-80gb-sxm", "cuda_graphs", "on", "llmc", "cuda_graphs: not possible with runtime llmc"},
        {"a100-80gb-sxm", "loss_chunks", "8", "llmc", "loss_chunks: not possible with runtime llmc"},
        {"a100-80gb-sxm", "loop", "transformers", "llmc", "loop: not possible with runtime llmc"},
        {"a100-80gb-sxm", "optimizer", "adam8bit", "llmc", "optimizer: not possible with runtime llmc"},
        {"a100-80gb-sxm", "expandable_segments", "on", "llmc", "expandable_segments: not possible with runtime llmc"},
        {"a100-80gb-sxm", "zero", "2", "llmc", "zero: not possible with runtime llmc: llm.c shards the optimizer only"},
        {"a100-80gb-sxm", "zero", "3", "llmc", "zero: not possible with runtime llmc"},
        {"a100-80gb-sxm", "tp", "2", "llmc", "tp: not possible with runtime llmc"},
        {"a100-80gb-sxm", "objective", "orpo", "llmc", "objective: not possible with runtime llmc"},
        {"a100-80gb-sxm", "dp_shard", "2", "llmc", "dp_shard: not possible with runtime llmc"},
        {"a100-80gb-sxm", "packing", "on", "llmc", "packing: not possible with runtime llmc"},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_scenario s = start("gpt2", rows[i].gpu);
        struct mfu_error err = {0};
        struct mfu_config c;

        assert_int_equal(mfu_scenario_set(&s, rows[i].key, rows[i].value, &err), 0);
        assert_int_equal(mfu_scenario_set(&s, "runtime", rows[i].runtime, &err), 0);
        assert_int_equal(mfu_scenario_resolve(&s, &c, &err), -1);
        if (!strstr(err.text, rows[i].part))
            fail_msg("%s %s: %s", rows[i].key, rows[i].value, err.text);
    }
}

/* What a refusal of dp_shard offers is accepted. */
static void what_is_offered_is_accepted(void **state)
{
    struct mfu_scenario s = start("gpt2", "h100-sxm");
    struct mfu_error err = {0};
    struct mfu_config c;
    int offers = 0;

    (void)state;
    assert_int_equal(mfu_scenario_set(&s, "gpus", "12", &err), 0);
    assert_int_equal(mfu_scenario_set(&s, "zero", "3", &err), 0);
    assert_int_equal(mfu_scenario_set(&s, "dp_shard", "5", &err), 0);
    assert_int_equal(mfu_scenario_resolve(&s, &c, &err), -1);
    const char *at = strstr(err.text, "12; ");
    assert_non_null(at);
    for (at += 4; *at >= '0' && *at <= '9'; offers++) {
        char *end, text[32];
        struct mfu_error refused = {0};

        snprintf(text, sizeof text, "%ld", strtol(at, &end, 10));
        assert_int_equal(mfu_scenario_set(&s, "dp_shard", text, &refused), 0);
        if (mfu_scenario_resolve(&s, &c, &refused) != 0)
            fail_msg("%s is offered and refused: %s", text, refused.text);
        at = strncmp(end, ", ", 2) == 0 ? end + 2 : end;
    }
    assert_int_equal(offers, 5); /* 2, 3, 4, 6, 12 */
}

static void pairs_of_answers_are_texts(void **state)
{
    static const char *const models[] = {"vit-b-16",     "clip-b-32", "dit-xl-2",
                                         "wan-2.1-1.3b", "bert-base", "roberta-base"},
                             *const objectives[] = {"dpo", "orpo"};

    (void)state;
    for (size_t i = 0; i < LENGTH(models); i++)
        for (size_t k = 0; k < LENGTH(objectives); k++) {
            struct mfu_scenario s = start(models[i], "a100-80gb-sxm");
            struct mfu_error err = {0};
            struct mfu_config c;

            assert_int_equal(mfu_scenario_resolve(&s, &c, &err), 0);
            assert_int_equal(mfu_scenario_set(&s, "objective", objectives[k], &err), 0);
            assert_int_equal(mfu_scenario_resolve(&s, &c, &err), -1);
            assert_non_null(strstr(err.text, "compares texts"));
        }
}

/* What each layer hands to the next beside its result, a pipeline would have to send. */
static void second_results_cross_no_stage(void **state)
{
    static const char *const models[] = {"sd3-medium", "flux-dev"};

    (void)state;
    for (size_t i = 0; i < LENGTH(models); i++) {
        struct mfu_scenario s = start(models[i], "a100-80gb-sxm");
        struct mfu_plan plan = {0};
        struct mfu_error err = {0};

        assert_int_equal(mfu_scenario_set(&s, "gpus", "2", &err), 0);
        assert_int_equal(mfu_scenario_set(&s, "pp", "2", &err), 0);
        assert_int_equal(mfu_scenario_set(&s, "accum", "4", &err), 0);
        assert_int_equal(mfu_plan_make(&plan, &s, &err), -1);
        assert_non_null(strstr(err.text, "no pipeline that sends"));
        mfu_plan_release(&plan);
    }
}

/* What is counted is what a sample is; texts are counted by their tokens, whatever images stand in them. */
static void samples_have_their_noun(void **state)
{
    static const struct {
        const char *model, *samples;
    } of[] = {{"vit-b-16", "images"},     {"clip-b-32", "images"}, {"dit-xl-2", "images"},
              {"wan-2.1-1.3b", "videos"}, {"llava-1.5-7b", NULL},  {"gpt2", NULL},
              {"bert-base", NULL},        {"mamba2-1.3b", NULL},   {"t5-base", NULL}};

    (void)state;
    for (size_t i = 0; i < LENGTH(of); i++) {
        struct mfu_scenario s = start(of[i].model, "a100-80gb-sxm");
        const char *samples = mfu_model_samples(s.model);

        if (!of[i].samples != !samples || (samples && strcmp(samples, of[i].samples) != 0))
            fail_msg("%s: %s", of[i].model, samples ? samples : "texts");
    }
}

/* Only kernels that take documents apart keep them apart. */
static void attention_says_whether_it_knows_documents(void **state)
{
    static const struct {
        const char *attention, *packing;
        bool across;
    } of[] = {{"flash", "on", false}, {"math", "on", true}, {"memeff", "on", true}, {"math", "off", false}};

    (void)state;
    for (size_t i = 0; i < LENGTH(of); i++) {
        struct mfu_scenario s = start("llama-3-8b", "h100-sxm");
        struct mfu_error err = {0};
        struct mfu_config c;

        assert_int_equal(mfu_scenario_set(&s, "doc_len", "300", &err), 0);
        assert_int_equal(mfu_scenario_set(&s, "packing", of[i].packing, &err), 0);
        assert_int_equal(mfu_scenario_set(&s, "attention", of[i].attention, &err), 0);
        assert_int_equal(mfu_scenario_resolve(&s, &c, &err), 0);
        assert_int_equal(mfu_config_packs_across(&c), of[i].across);
    }
}

/* What would have no effect is no setting. */
static void half_weights_need_16_bits(void **state)
{
    static const struct {
        const char *precision, *part;
    } rows[] = {{"fp32", "nothing has 16 bits"},
                {"tf32", "nothing has 16 bits"},
                {"bf16-pure", "without masters"},
                {"fp8", NULL},
                {"fp16", NULL},
                {"bf16", NULL}};

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_scenario s = start("gpt2", "h100-sxm");
        struct mfu_error err = {0};
        struct mfu_config c;

        assert_int_equal(mfu_scenario_set(&s, "precision", rows[i].precision, NULL), 0);
        assert_int_equal(mfu_scenario_resolve(&s, &c, NULL), 0);
        assert_int_equal(mfu_scenario_set(&s, "half_weights", "on", NULL), 0);
        assert_int_equal(mfu_scenario_resolve(&s, &c, &err), rows[i].part ? -1 : 0);
        if (rows[i].part && (!strstr(err.text, rows[i].part) || strcmp(err.suggestion, "off") != 0))
            fail_msg("%s: %s (%s)", rows[i].precision, err.text, err.suggestion);
        assert_int_equal(mfu_scenario_set(&s, "half_weights", "off", NULL), 0);
        assert_int_equal(mfu_scenario_set(&s, "zero", "1", NULL), 0);
        assert_int_equal(mfu_scenario_resolve(&s, &c, NULL), 0);
    }
}

/* What ZeRO does to the weights is said, and may be refused. */
static void sharding_takes_16_bit_weights(void **state)
{
    struct mfu_scenario s = start("gpt2", "a100-80gb-sxm");
    struct mfu_config c;

    (void)state;
    assert_int_equal(mfu_scenario_set(&s, "gpus", "8", NULL), 0);
    assert_int_equal(mfu_scenario_resolve(&s, &c, NULL), 0);
    assert_near(c.setting[MFU_S_HALF_WEIGHTS], 0, 0);
    assert_int_equal(mfu_scenario_set(&s, "zero", "1", NULL), 0);
    assert_int_equal(mfu_scenario_resolve(&s, &c, NULL), 0);
    assert_near(c.setting[MFU_S_HALF_WEIGHTS], 1, 0);
    assert_int_equal(c.setting_origin[MFU_S_HALF_WEIGHTS], MFU_ORIGIN_DERIVED);
    assert_int_equal(mfu_scenario_set(&s, "half_weights", "off", NULL), 0);
    assert_int_equal(mfu_scenario_resolve(&s, &c, NULL), 0);
    assert_near(c.setting[MFU_S_HALF_WEIGHTS], 0, 0);
}

/* FSDP stays FSDP, however long its weights stay gathered, and by whatever name: PyTorch's, accelerate's. */
static void weights_that_stay_gathered_are_sharded(void **state)
{
    static const struct {
        const char *key, *value;
        double zero, reshard;
    } rows[] = {{"reshard_after_forward", "off", 3, 0},
                {"reshard_after_forward", "on", 3, 1},
                {"fsdp", "shard_grad_op", 3, 0},
                {"sharding", "shard_grad_op", 3, 0},
                {"fsdp", "full_shard", 3, 1},
                {"fsdp", "off", 0, 1},
                {"sharding", "none", 0, 1}};

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_scenario s = start("gpt2", "a100-80gb-sxm");
        struct mfu_config c;

        assert_int_equal(mfu_scenario_set(&s, "gpus", "8", NULL), 0);
        assert_int_equal(mfu_scenario_set(&s, rows[i].key, rows[i].value, NULL), 0);
        assert_int_equal(mfu_scenario_resolve(&s, &c, NULL), 0);
        assert_near(c.setting[MFU_S_ZERO], rows[i].zero, 0);
        assert_near(c.setting[MFU_S_RESHARD], rows[i].reshard, 0);
        assert_int_equal(c.trainer, rows[i].zero > 0 ? MFU_TRAINER_FSDP : MFU_TRAINER_DDP);
    }
}

/* How long weights stay gathered says nothing where they are not sharded, and does not choose who shards. */
static void weights_that_are_whole_stay_so(void **state)
{
    (void)state;
    for (int zero = 0; zero <= 3; zero++) {
        struct mfu_scenario s = start("gpt2", "a100-80gb-sxm");
        struct mfu_config c[2];
        char text[2] = {(char)('0' + zero)};

        assert_int_equal(mfu_scenario_set(&s, "gpus", "8", NULL), 0);
        assert_int_equal(mfu_scenario_set(&s, "zero", text, NULL), 0);
        assert_int_equal(mfu_scenario_resolve(&s, &c[0], NULL), 0);
        assert_int_equal(mfu_scenario_set(&s, "reshard_after_forward", "off", NULL), 0);
        assert_int_equal(mfu_scenario_resolve(&s, &c[1], NULL), 0);
        assert_int_equal(c[1].trainer, c[0].trainer);
        assert_near(c[1].setting[MFU_S_ZERO], zero, 0);
    }
}

/* What another program's name says last is what holds, whatever it, or zero, said before. */
static void a_name_of_sharding_says_all_of_it(void **state)
{
    static const struct {
        const char *key, *value;
    } says[] = {{"fsdp", "shard_grad_op"},     {"fsdp", "full_shard"}, {"fsdp", "off"},
                {"sharding", "shard_grad_op"}, {"sharding", "zero2"},  {"sharding", "full_shard"},
                {"sharding", "zero1"},         {"zero", "2"}};

    (void)state;
    for (size_t last = 0; last < LENGTH(says) - 1; last++)
        for (size_t before = 0; before < LENGTH(says); before++) {
            struct mfu_scenario alone = start("gpt2", "a100-80gb-sxm"), s;
            struct mfu_config c[2];

            assert_int_equal(mfu_scenario_set(&alone, "gpus", "8", NULL), 0);
            s = alone;
            assert_int_equal(mfu_scenario_set(&alone, says[last].key, says[last].value, NULL), 0);
            assert_int_equal(mfu_scenario_set(&s, says[before].key, says[before].value, NULL), 0);
            assert_int_equal(mfu_scenario_set(&s, says[last].key, says[last].value, NULL), 0);
            assert_int_equal(mfu_scenario_resolve(&alone, &c[0], NULL), 0);
            assert_int_equal(mfu_scenario_resolve(&s, &c[1], NULL), 0);
            assert_near(c[1].setting[MFU_S_ZERO], c[0].setting[MFU_S_ZERO], 0);
            assert_near(c[1].setting[MFU_S_RESHARD], c[0].setting[MFU_S_RESHARD], 0);
            assert_int_equal(c[1].trainer, c[0].trainer);
        }
}

/* What a trainer does is asked before a model is chosen, too. */
static void trainers_are_known_without_a_model(void **state)
{
    (void)state;
    for (int i = 0; i < MFU_TRAINER_COUNT; i++) {
        struct mfu_scenario s = mfu_scenario_start(NULL, mfu_catalog_gpu(catalog, "h100-sxm", NULL));
        struct mfu_config config;

        assert_int_equal(mfu_scenario_set(&s, "trainer", mfu_trainer_names[i], NULL), 0);
        mfu_scenario_resolve(&s, &config, NULL);
        assert_int_equal(config.setting[MFU_S_TRAINER], i);
    }
}

/* `load_in_8bit false` says that weights are not in those 8 bits, and nothing else. */
static void a_form_of_weights_is_denied_alone(void **state)
{
    static const struct {
        const char *before, *key, *value, *after;
    } rows[] = {
        {"int8", "load_in_8bit", "false", "as-trained"}, {"int8", "load_in_8bit", "0", "as-trained"},
        {"nf4", "load_in_8bit", "off", "nf4"},           {"nf4-double", "load_in_4bit", "no", "as-trained"},
        {"as-trained", "qlora", "off", "as-trained"},    {"nf4", "load_in_8bit", "true", "int8"},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_scenario s = mfu_scenario_start(mfu_catalog_model(catalog, "llama-3.2-1b", NULL),
                                                   mfu_catalog_gpu(catalog, "h100-sxm", NULL));

        assert_int_equal(mfu_scenario_set(&s, "base_precision", rows[i].before, NULL), 0);
        assert_int_equal(mfu_scenario_set(&s, rows[i].key, rows[i].value, NULL), 0);
        assert_string_equal(mfu_base_names[(int)s.setting[MFU_S_BASE]], rows[i].after);
    }
}

/* Megatron shards gradients with its FSDP alone, which sums them beside backward. */
static void sharded_gradients_of_megatron_are_summed_beside_backward(void **state)
{
    static const char *const trainers[] = {"megatron", "megatron-te", "megatron-bridge"};

    (void)state;
    for (size_t i = 0; i < LENGTH(trainers); i++)
        for (int zero = 1; zero <= 3; zero++) {
            struct mfu_scenario s = start("gpt2", "a100-80gb-sxm");
            bool free = zero < 2;
            char stage[2] = {(char)('0' + zero)};
            struct mfu_config c;

            assert_int_equal(mfu_scenario_set(&s, "gpus", "8", NULL), 0);
            assert_int_equal(mfu_scenario_set(&s, "trainer", trainers[i], NULL), 0);
            assert_int_equal(mfu_scenario_set(&s, "zero", stage, NULL), 0);
            assert_int_equal(mfu_scenario_resolve(&s, &c, NULL), 0);
            assert_int_equal(c.setting[MFU_S_OVERLAP_GRAD_REDUCE] > 0, zero >= 2 || i == 2);
            assert_int_equal(mfu_scenario_set(&s, "overlap_grad_reduce", "off", NULL), 0);
            assert_int_equal(mfu_scenario_resolve(&s, &c, NULL), free ? 0 : -1);
        }
}

/* Whatever is set is read back from how it is shown. */
static void choices_are_written_as_they_are_read(void **state)
{
    (void)state;
    for (int id = 0; id < MFU_SETTING_COUNT; id++) {
        const struct mfu_setting *row = &mfu_settings[id];
        struct mfu_scenario s = start("gpt2", "rtx4070");
        char text[MFU_QUANTITY_MAX];

        for (double x = row->least; x <= fmin(row->most, row->least + 8); x++) {
            if (x > 0 && x < row->least_but_0)
                continue;
            assert_int_equal(mfu_scenario_set(&s, row->key, mfu_setting_format(text, (enum mfu_setting_id)id, x), NULL),
                             0);
            assert_near(s.setting[id], x, 1e-3);
        }
    }
}

/* A runtime whose loss is one kernel of its own has none of another package. */
static void a_fused_loss_has_no_other_kernels(void **state)
{
    (void)state;
    for (int r = 0; r < MFU_RUNTIME_COUNT; r++) {
        struct mfu_scenario s = start("gpt2", "h100-sxm");
        struct mfu_config c;

        assert_int_equal(mfu_scenario_set(&s, "runtime", mfu_runtimes[r].name, NULL), 0);
        assert_int_equal(mfu_scenario_resolve(&s, &c, NULL), 0);
        if (mfu_runtimes[r].fused_loss)
            assert_near(c.setting[MFU_S_LOSS_FUSION], MFU_LOSS_UNFUSED, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processors_are_known_by_what_names_them),
        cmocka_unit_test(the_processor_rules_what_the_host_takes),
        cmocka_unit_test(desktops_have_faster_threads),
        cmocka_unit_test(a_named_machine_tells_its_processor),
        cmocka_unit_test(values_are_read_as_the_key_means_them),
        cmocka_unit_test(workers_that_follow_share_a_loader),
        cmocka_unit_test(dims_follow_each_other),
        cmocka_unit_test(defaults_suit_the_gpu),
        cmocka_unit_test(slips_are_refused_at_once),
        cmocka_unit_test(dimensions_of_other_models_are_known),
        cmocka_unit_test(contradictions_are_refused_when_planning),
        cmocka_unit_test(what_no_software_does_is_refused),
        cmocka_unit_test(what_is_offered_is_accepted),
        cmocka_unit_test(pairs_of_answers_are_texts),
        cmocka_unit_test(second_results_cross_no_stage),
        cmocka_unit_test(samples_have_their_noun),
        cmocka_unit_test(attention_says_whether_it_knows_documents),
        cmocka_unit_test(half_weights_need_16_bits),
        cmocka_unit_test(weights_that_stay_gathered_are_sharded),
        cmocka_unit_test(weights_that_are_whole_stay_so),
        cmocka_unit_test(a_name_of_sharding_says_all_of_it),
        cmocka_unit_test(trainers_are_known_without_a_model),
        cmocka_unit_test(a_form_of_weights_is_denied_alone),
        cmocka_unit_test(sharded_gradients_of_megatron_are_summed_beside_backward),
        cmocka_unit_test(sharding_takes_16_bit_weights),
        cmocka_unit_test(choices_are_written_as_they_are_read),
        cmocka_unit_test(a_fused_loss_has_no_other_kernels),
    };

    return cmocka_run_group_tests(tests, open_catalog, close_catalog);
}
