/*
 * The program of a step: laws of its launches and tensors, over models,
 * runtimes, checkpointing and sharding.
 */
#include "../unit/catalog.h"
#include "owned.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answer/metric/table.h"
#include "base/error.h"
#include "graph/builder.h"
#include "graph/graph.h"
#include "graph/runtime.h"
#include "plan/plan.h"
#include "plan/simulation.h"
#include "scenario/adapter.h"
#include "scenario/setting.h"

#define EXACT 1e-9

static struct mfu_plan plan;
static struct mfu_program unrolled;

/* Sets pairs of keys and values, ended by NULL; whether that is possible. */
static bool set(struct mfu_scenario *s, const char *gpu, const char *model, const char *const *settings)
{
    *s = mfu_scenario_start(mfu_catalog_model(catalog, model, NULL), mfu_catalog_gpu(catalog, gpu, NULL));
    for (; *settings; settings += 2)
        if (mfu_scenario_set(s, settings[0], settings[1], NULL) < 0)
            return false;
    return true;
}

static bool make(struct mfu_plan *p, const char *gpu, const char *model, const char *const *settings)
{
    struct mfu_scenario s;

    return set(&s, gpu, model, settings) && mfu_plan_make(p, &s, NULL) == 0;
}

/* Calls of one kind of collective in a step, and their bytes. */
static double calls(const struct mfu_program *p, enum mfu_collective_kind op, double *bytes)
{
    double n = 0;

    *bytes = 0;
    for (int k = 0; k < p->n_segments; k++)
        for (int i = p->segments[k].first; i < p->segments[k].first + p->segments[k].count; i++) {
            const struct mfu_launch *l = &p->launches[i];
            double times = mfu_segment_times(p, &p->segments[k]) * l->work->kernel.launches;

            if (l->work->collective.axes == 0 || l->work->collective.kind != op)
                continue;
            n += times;
            *bytes += times * l->work->collective.bytes;
        }
    return n;
}

/* What each kind of context parallelism sends in a step of 32 layers (TransformerEngine, context_parallel.py): a ring and
 * gathered keys the same, heads less than either the more ranks there are. */
static void contexts_send_what_they_exchange(void **state)
{
    static const struct {
        const char *kind, *cp, *heads;
        double gathered, scattered,
            exchanged; /* times keys and values of all ranks; times q, k, v and the output of one */
    } rows[] = {
        {"p2p", "4", "1", 3, 0, 0},
        {"all_gather", "4", "1", 2, 1, 0},
        {"a2a", "4", "4", 0, 0, 2},
        {"a2a+p2p", "8", "2", 1.5, 0, 2}, /* rings of four ranks with half the heads each */
    };
    const double keys = 2 * 8 * 128, queries = 32 * 128, layers = 32, seq = 8192;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *const settings[] = {
            "gpus",         rows[i].cp,   "cp",   rows[i].cp,     "zero", "0",        "runtime",
            "fused",        "seq",        "8192", "half_weights", "off",  "cp_heads", rows[i].heads,
            "cp_comm_type", rows[i].kind, NULL};
        double gathered, scattered, exchanged, cp = atof(rows[i].cp);

        assert_true(make(&plan, "h100-sxm", "llama-3-8b", settings));
        calls(&plan.program, MFU_ALL_GATHER, &gathered);
        calls(&plan.program, MFU_REDUCE_SCATTER, &scattered);
        calls(&plan.program, MFU_ALL_TO_ALL, &exchanged);
        assert_true(fabs(gathered - rows[i].gathered * layers * 2 * seq * keys) <= EXACT * gathered);
        assert_true(fabs(scattered - rows[i].scattered * layers * 2 * seq * keys) <= EXACT * scattered);
        assert_true(fabs(exchanged - rows[i].exchanged * layers * 2 * seq / cp * (2 * queries + keys))
                    <= EXACT * exchanged);
    }
}

/* FLOPs, bytes and most temporary bytes of attention's fused kernels in a step. */
struct attention_sums {
    double flops, counted, bytes, most_temporary;
};

static struct attention_sums attention_sums(const struct mfu_program *p)
{
    struct attention_sums sums = {0};

    for (int k = 0; k < p->n_segments; k++)
        for (int i = p->segments[k].first; i < p->segments[k].first + p->segments[k].count; i++) {
            const struct mfu_launch *l = &p->launches[i];
            double times = mfu_segment_times(p, &p->segments[k]);

            if (!mfu_kind_is_attention(l->work->kernel.kind))
                continue;
            sums.flops += times * l->work->kernel.flops;
            sums.counted += times * mfu_kernel_counted_flops(&l->work->kernel);
            sums.bytes += times * (l->work->kernel.read_bytes + l->work->kernel.write_bytes);
            sums.most_temporary = fmax(sums.most_temporary, l->work->temporary_bytes);
        }
    return sums;
}

/* The ranks of a context group compute the pairs of the whole sequence once, windows and documents or not; each moves
 * no more than one GPU would, and by heads its part. */
static void ranks_of_a_context_share_attention(void **state)
{
    static const char *const models[] = {"llama-3-8b", "mistral-7b", "gpt2-xl"},
                             *const kinds[] = {"p2p", "all_gather", "a2a"};
    static const char *const sizes[] = {"2", "4", "8"}, *const packing[] = {"off", "on"};
    int compared = 0;

    (void)state;
    for (int i = 0; i < 3 * 3 * 3 * 2; i++) {
        const char *kind = kinds[i / 3 % 3], *cp = sizes[i / 9 % 3];
        const char *settings[] = {"gpus",  "8",   "cp",           "1",       "zero", "1",       "runtime",
                                  "fused", "seq", "16384",        "doc_len", "700",  "packing", packing[i / 27],
                                  "batch", "2",   "cp_comm_type", kind,      NULL};
        struct attention_sums whole, part;
        double ranks = atof(cp);

        if (!make(&plan, "h100-sxm", models[i % 3], settings))
            continue;
        whole = attention_sums(&plan.program);
        settings[3] = cp;
        if (!make(&plan, "h100-sxm", models[i % 3], settings))
            continue;
        part = attention_sums(&plan.program);
        assert_true(whole.flops > 0);
        assert_near(ranks * part.flops, whole.flops, EXACT);
        assert_near(ranks * part.counted, whole.counted, EXACT);
        assert_true(part.bytes <= whole.bytes * (1 + EXACT) && ranks * part.bytes >= whole.bytes * (1 - EXACT));
        if (strcmp(kind, "a2a") == 0)
            assert_near(ranks * part.bytes, whole.bytes, EXACT);
        assert_true(part.most_temporary <= whole.most_temporary * (1 + EXACT));
        compared++;
    }
    assert_true(compared >= 20);
}

/* However a layer is recomputed, its weights are gathered once for forward and
 * once for backward, and its gradients leave once. */
static void collectives_of_a_layer_do_not_depend_on_checkpointing(void **state)
{
    static const char *const runtimes[] = {"eager", "compile", "fused"};
    static const char *const checkpoints[] = {"none", "selective", "full"};
    static const char *const halves[] = {"on", "off"};
    static const char *const stages[] = {"0", "1", "2", "3"};
    static const struct {
        const char *model;
        double layers; /* of all its repeated sections */
    } rows[] = {{"llama-3.2-1b", 16}, {"t5-base", 24}, {"deepseek-v2-lite", 27}, {"bamba-9b", 32}};

    (void)state;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            for (int m = 0, h = 0; m < (r == 0 ? 4 : 1); m += h, h = !h)
                for (int z = 0; z < 4; z++) {
                    const char *const settings[] = {
                        "gpus",         "8",       "accum",     "3",          "zero",
                        stages[z],      "runtime", runtimes[r], "checkpoint", checkpoints[c],
                        "half_weights", halves[h], NULL};
                    double layers, accum = 3, bytes, gradients, weights, units;
                    double gathers, scatters, sums;

                    assert_true(make(&plan, "a100-80gb-sxm", rows[m].model, settings));
                    assert_int_equal(mfu_graph_build(&plan.config, MFU_LAYERS_COPIED, &unrolled, NULL), 0);
                    layers = rows[m].layers;
                    gradients = plan.program.params * plan.program.gradient_bytes;
                    weights = plan.program.params * plan.program.weight_bytes;
                    units = plan.program.unit_params * plan.program.weight_bytes;
                    assert_near(plan.program.blocks, layers, 0);
                    for (int u = 0; u < 2; u++) {
                        const struct mfu_program *p = u ? &unrolled : &plan.program;

                        gathers = calls(p, MFU_ALL_GATHER, &bytes);
                        assert_near(gathers, z == 3 ? accum * (2 * layers + 1) : z > 0, EXACT);
                        assert_near(bytes, z == 3 ? accum * (weights + units) : z > 0 ? weights : 0, EXACT);
                        scatters = calls(p, MFU_REDUCE_SCATTER, &bytes);
                        assert_near(bytes, z >= 2 ? accum * gradients : z == 1 ? gradients : 0, EXACT);
                        if (z == 3)
                            assert_near(scatters, accum * (layers + 1), EXACT);
                        sums = calls(p, MFU_ALL_REDUCE, &bytes);
                        assert_near(bytes, z == 0 ? gradients : 0, EXACT);
                        assert_int_equal(sums > 0, z == 0);
                    }
                }
}

/* FSDP beside torch's pipeline: however many microbatches there are, a stage's weights are gathered once and its gradients
 * leave once, in fp32 with torchtitan; in between it holds both whole.  Every layer traced
 * by itself makes the same stage. */
static void a_pipeline_gathers_and_sums_once_a_step(void **state)
{
    static const char *const trainers[] = {"ddp", "fsdp", "torchtitan"};
    static const char *const accums[] = {"1", "4", "16"};
    static const char *const layouts[][2] = {{"schedule", "interleaved"}, {"schedule", "1f1b"}, {"tp", "2"}};
    static struct mfu_program counted;

    (void)state;
    for (size_t t = 0; t < LENGTH(trainers); t++)
        for (size_t a = 0; a < LENGTH(accums); a++)
            for (size_t l = a == 0; l < LENGTH(layouts); l++)
                for (int stage = 0; stage < 2; stage++) {
                    const char *const settings[] = {"pp",          "2",           "dp",         "4",
                                                    "zero",        "3",           "trainer",    trainers[t],
                                                    "sp",          "off",         "accum",      accums[a],
                                                    layouts[l][0], layouts[l][1], "checkpoint", a ? "full" : "none",
                                                    NULL};
                    struct mfu_peak_memory peak[2];
                    double whole, gathers[2];

                    assert_true(make(&plan, "a100-80gb-sxm", "llama-3.2-1b", settings));
                    assert_int_equal(mfu_graph_build_stage(&plan.config, stage, MFU_LAYERS_COUNTED, &counted, NULL), 0);
                    assert_int_equal(mfu_graph_build_stage(&plan.config, stage, MFU_LAYERS_COPIED, &unrolled, NULL), 0);
                    for (int u = 0; u < 2; u++) {
                        const struct mfu_program *p = u ? &unrolled : &counted;
                        double bytes;

                        gathers[u] = calls(p, MFU_ALL_GATHER, &bytes);
                        assert_near(bytes, p->rank_params * p->weight_bytes, EXACT);
                        assert_near(calls(p, MFU_REDUCE_SCATTER, &bytes), gathers[u], EXACT);
                        assert_near(bytes, p->rank_trained * p->gradient_bytes, EXACT);
                        assert_near(p->gradient_bytes, t == 2 ? 4 : 2, 0);
                        assert_int_equal(mfu_lifetime_peak(p, false, &peak[u]), 0);
                    }
                    whole = counted.rank_params * counted.weight_bytes + counted.rank_trained * counted.gradient_bytes;
                    assert_near(gathers[0], gathers[1], EXACT);
                    assert_true(peak[0].bytes >= whole);
                    assert_near(peak[0].bytes, peak[1].bytes, EXACT);
                }
    mfu_program_free(&counted);
}

/* FSDP that does not reshard behind forward gathers once for both passes, sums as often, and holds all weights of the layers
 * between them; however many layers are traced. */
static void weights_that_stay_for_backward_are_gathered_once(void **state)
{
    static const char *const models[] = {"llama-3.2-1b", "t5-base", "deepseek-v2-lite"};
    static const char *const checkpoints[] = {"none", "full"};
    PLAN full = {0};

    (void)state;
    for (size_t m = 0; m < LENGTH(models); m++)
        for (size_t c = 0; c < LENGTH(checkpoints); c++) {
            const char *settings[] = {"gpus", "8", "accum", "3", "checkpoint", checkpoints[c], "fsdp", "on", NULL};
            double bytes[2], sums[2];

            assert_true(make(&full, "a100-80gb-sxm", models[m], settings));
            settings[7] = "shard_grad_op";
            assert_true(make(&plan, "a100-80gb-sxm", models[m], settings));
            assert_int_equal(plan.config.trainer, full.config.trainer);
            assert_int_equal(mfu_graph_build(&plan.config, MFU_LAYERS_COPIED, &unrolled, NULL), 0);
            for (int u = 0; u < 2; u++) {
                const struct mfu_program *p = u ? &unrolled : &plan.program;
                struct mfu_peak_memory peak;

                calls(p, MFU_ALL_GATHER, &bytes[1]);
                assert_near(bytes[1], 3 * p->params * p->weight_bytes, EXACT);
                assert_near(calls(p, MFU_REDUCE_SCATTER, &sums[1]), calls(&full.program, MFU_REDUCE_SCATTER, &sums[0]),
                            EXACT);
                assert_near(sums[1], sums[0], EXACT);
                assert_int_equal(mfu_lifetime_peak(p, false, &peak), 0);
                assert_near(peak.bytes, plan.memory.peak.bytes, EXACT);
            }
            calls(&full.program, MFU_ALL_GATHER, &bytes[0]);
            assert_true(bytes[1] < bytes[0] && plan.memory.peak.bytes > full.memory.peak.bytes);
            assert_true(plan.step.time_s <= full.step.time_s * (1 + EXACT));
        }
}

/* What autograd refers to of ZeRO 3's weights stays beside what is gathered anew: as many gathers, and all layers more to hold,
 * but those that run again. */
static void references_keep_weights_that_are_gathered_again(void **state)
{
    static const char *const models[] = {"llama-3.2-1b", "t5-base", "deepseek-v2-lite"};
    static const struct {
        const char *checkpoint, *layers;
        double anew;
    } rows[] = {{"none", "0", 0}, {"full", "8", 8}, {"full", "0", INFINITY}};
    static struct mfu_plan freed;

    (void)state;
    for (size_t m = 0; m < LENGTH(models); m++)
        for (size_t c = 0; c < LENGTH(rows); c++) {
            const char *settings[] = {"gpus",
                                      "8",
                                      "deepspeed",
                                      "zero3",
                                      "checkpoint",
                                      rows[c].checkpoint,
                                      "checkpoint_layers",
                                      rows[c].layers,
                                      "memory_efficient_linear",
                                      "on",
                                      NULL};
            double bytes[2], stay;
            struct mfu_peak_memory peak;

            assert_true(make(&freed, "a100-80gb-sxm", models[m], settings));
            settings[9] = "off";
            assert_true(make(&plan, "a100-80gb-sxm", models[m], settings));
            assert_near(calls(&plan.program, MFU_ALL_GATHER, &bytes[1]),
                        calls(&freed.program, MFU_ALL_GATHER, &bytes[0]), EXACT);
            assert_near(bytes[1], bytes[0], EXACT);
            assert_near(plan.step.time_s, freed.step.time_s, EXACT);
            assert_int_equal(mfu_graph_build(&plan.config, MFU_LAYERS_COPIED, &unrolled, NULL), 0);
            assert_int_equal(mfu_lifetime_peak(&unrolled, false, &peak), 0);
            assert_near(peak.bytes, plan.memory.peak.bytes, EXACT);
            stay = 1 - fmin(rows[c].anew / plan.program.blocks, 1);
            /* Layers are not all as large as each other, and the peak may be elsewhere. */
            assert_near(plan.memory.peak.bytes - freed.memory.peak.bytes,
                        stay * plan.program.unit_params * plan.program.weight_bytes, 0.1);
        }
    mfu_plan_release(&freed);
}

/* Little trains with any method, and a larger one (more virtual tokens) never needs less memory; however many layers are
 * traced, as much trains. */
static void adapters_train_little_and_grow_with_their_size(void **state)
{
    static const char *const sizes[] = {"4", "16", "64"};
    static const char *const coarse[] = {"256", "128", "64"};
    static const char *const checkpoints[] = {"none", "full"};
    static const char *const precisions[] = {"bf16", "bf16-pure"};

    (void)state;
    for (int m = MFU_METHOD_NONE + 1; m < MFU_METHOD_COUNT; m++)
        for (int k = 0; k < 2; k++)
            for (int p = 0; p < 2; p++) {
                double last = 0, trained = 0;

                if (mfu_methods[m].place == MFU_ADAPTS_KEYS && k) /* peft refuses them */
                    continue;
                for (size_t i = 0; i < (mfu_methods[m].unsized ? 1 : sizeof sizes / sizeof *sizes); i++) {
                    const char *const settings[] = {
                        "adapter",    mfu_method_names[m],
                        "lora",       mfu_methods[m].unsized ? "1" : mfu_methods[m].coarser ? coarse[i] : sizes[i],
                        "checkpoint", checkpoints[k],
                        "precision",  precisions[p],
                        "accum",      "2",
                        "batch",      "2",
                        NULL};

                    assert_true(make(&plan, "a100-80gb-sxm", "llama-3.2-1b", settings));
                    assert_true(plan.program.trainable_params > trained
                                || (mfu_methods[m].of_frozen && plan.program.trainable_params == trained));
                    assert_true(plan.program.trainable_params < 0.1 * plan.program.params);
                    assert_true(plan.memory.peak.bytes >= last);
                    trained = plan.program.trainable_params;
                    last = plan.memory.peak.bytes;
                    assert_int_equal(mfu_graph_build(&plan.config, MFU_LAYERS_COPIED, &unrolled, NULL), 0);
                    assert_near(unrolled.trainable_params, trained, EXACT);
                }
            }
}

/* Where no gradient reaches some weights, optimizers have no states of them, with FSDP neither; a running mean is of all that may
 * train, and so are the buckets of DDP. */
static void states_are_of_what_gradients_reach(void **state)
{
    static const char *const models[] = {"llava-1.5-7b", "qwen-image", "gpt2"}, *const zeros[] = {"0", "3"};

    (void)state;
    for (int i = 0; i < 6; i++) {
        const char *const settings[] = {"precision", "fp32", "gpus", "4", "ema", "loop", "zero", zeros[i % 2], NULL};
        const struct mfu_program *p = &plan.program;
        double share = i % 2 ? 4 : 1;

        assert_true(make(&plan, "b200", models[i / 2], settings));
        assert_true((p->unreached_params > 0) == (i / 2 < 2));
        assert_near(p->rank_trained + p->unreached_params, p->trainable_params, EXACT);
        assert_near(share * p->constant_bytes[MFU_PART_OPTIMIZER], 8 * p->rank_trained, EXACT);
        assert_near(share * p->constant_bytes[MFU_PART_EMA], 4 * p->trainable_params, EXACT);
        if (i % 2 == 0)
            assert_near(p->constant_bytes[MFU_PART_COMMUNICATION], 4 * p->trainable_params, EXACT);
    }
}

/* What an operation saves lives until its backward pass: of every model, in all precisions, runtimes and kinds of attention,
 * where all of it trains (of frozen weights autograd keeps less than operations name). */
static void what_is_saved_lives_until_backward(void **state)
{
    size_t n;
    const char *const *names = mfu_catalog_models(catalog, &n);
    int planned = 0;

    (void)state;
    for (size_t m = 0; m < n; m++)
        for (size_t r = 0; mfu_runtime_names[r]; r++)
            for (size_t p = 0; mfu_precision_names[p]; p++) {
                const char *const settings[] = {"runtime", mfu_runtime_names[r], "precision", mfu_precision_names[p],
                                                NULL};

                if (!make(&plan, "h100-sxm", names[m], settings))
                    continue;
                planned++;
                if (plan.program.lost)
                    fail_msg("%s of %s, runtime %s, precision %s", plan.program.lost, names[m], mfu_runtime_names[r],
                             mfu_precision_names[p]);
            }
    assert_true(planned > 1000);
}

/* Sums over rows for the gradient of a vector, of norms that are their own activation. */
static int vector_gradients(const char *trainable)
{
    const char *const settings[] = {"trainable", trainable, NULL};
    int n = 0;

    assert_true(make(&plan, "a100-80gb-sxm", "resnetv2_50d_frn", settings));
    for (int i = 0; i < plan.program.n_launches; i++)
        n += strncmp(plan.program.launches[i].op, "evo", 3) == 0
            && strcmp(plan.program.launches[i].suffix, "wgrad") == 0;
    return n;
}

/* A frozen factor and threshold have no gradient that somebody works out: the shift alone is a third of the three. */
static void frozen_vectors_of_a_norm_have_no_gradient(void **state)
{
    (void)state;
    assert_true(vector_gradients("all") > 0);
    assert_int_equal(3 * vector_gradients("biases"), vector_gradients("all"));
}

/* Tokens that a product sums over are no row of anything: an odd number of them costs it no speed. */
static void products_that_sum_over_tokens_do_not_want_them_even(void **state)
{
    static struct mfu_plan odd;
    int compared = 0;

    (void)state;
    for (int m = MFU_METHOD_NONE; m < MFU_METHOD_COUNT; m++) {
        const char *settings[] = {"batch", "1",  "seq", "512", "precision", m % 2 ? "bf16" : "bf16-pure",
                                  NULL,    NULL, NULL};

        if (m != MFU_METHOD_NONE)
            settings[6] = "adapter", settings[7] = mfu_method_names[m];
        assert_true(make(&plan, "h100-sxm", "llama-3.2-1b", settings));
        settings[3] = "511";
        assert_true(make(&odd, "h100-sxm", "llama-3.2-1b", settings));
        assert_int_equal(odd.program.n_launches, plan.program.n_launches);
        for (int i = 0; i < plan.program.n_launches; i++) {
            const struct mfu_kernel *a = &plan.program.launches[i].work->kernel,
                                    *b = &odd.program.launches[i].work->kernel;

            if (a->kind != MFU_GEMM || a->math == MFU_PEAK_FP32 || a->k == b->k || a->m != b->m || a->n != b->n)
                continue;
            assert_true(a->aligned == b->aligned);
            compared++;
        }
    }
    assert_true(compared > 10 * MFU_METHOD_COUNT);
}

/* Layers that are not checkpointed keep more and take less: from none to all, step by step; all is the same as not counted. */
static void fewer_checkpointed_layers_keep_more_and_take_less(void **state)
{
    static const char *const models[] = {"llama-3.2-1b", "deepseek-v2-lite", "gpt2"};
    static const char *const checkpoints[] = {"full", "selective"};

    (void)state;
    for (size_t m = 0; m < sizeof models / sizeof *models; m++)
        for (size_t k = 0; k < sizeof checkpoints / sizeof *checkpoints; k++) {
            double time_s = 0, bytes = INFINITY, none_s;
            const char *settings[] = {"checkpoint", "none",      "seq", "512", "batch", "4",
                                      "precision",  "bf16-pure", NULL,  NULL,  NULL};
            char layers[16];

            assert_true(make(&plan, "h100-sxm", models[m], settings));
            none_s = plan.step.time_s;
            settings[1] = checkpoints[k];
            settings[8] = "checkpoint_layers";
            settings[9] = layers;
            for (int n = 1; n <= mfu_config_dim(&plan.config, "n_layer"); n++) {
                snprintf(layers, sizeof layers, "%d", n);
                assert_true(make(&plan, "h100-sxm", models[m], settings));
                assert_true(plan.step.time_s >= fmax(time_s, none_s));
                assert_true(plan.memory.peak.bytes <= bytes * (1 + EXACT));
                time_s = plan.step.time_s;
                bytes = plan.memory.peak.bytes;
            }
            settings[8] = NULL;
            assert_true(make(&plan, "h100-sxm", models[m], settings));
            assert_near(plan.step.time_s, time_s, EXACT);
            assert_near(plan.memory.peak.bytes, bytes, EXACT);
        }
}

static void adapters_stand_beside_modules_of_the_code(void **state)
{
    /* peft 0.21.2 on transformers 5.23.0 (meta device): get_peft_model(LoraConfig(r=16, target_modules="all-linear")). */
    static const struct {
        const char *model;
        double trained;
    } rows[] = {{"phi-3-mini", 25165824},
                {"glm-4-9b-hf", 47595520},
                {"falcon-7b", 32636928},
                {"gpt2", 2359296},
                {"deberta-v3-base", 2654208}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const settings[] = {"lora", "16", "lora_targets", "all-linear", NULL};

        assert_true(make(&plan, "h100-sxm", rows[i].model, settings));
        assert_near(plan.program.trainable_params, rows[i].trained, EXACT);
    }
}

/* A weight has as many users as operations that name it, and what the ranks' layers name, each as often as it is repeated,
 * is what is counted: of every model, and of every method beside weights that several operations use. */
static void weights_are_those_of_the_operations(void **state)
{
    size_t n;
    const char *const *models = mfu_catalog_models(catalog, &n);

    (void)state;
    for (size_t i = 0; i < n + MFU_METHOD_COUNT; i++) {
        const char *model = i < n ? models[i] : "deberta-v3-base";
        const char *const settings[] = {"batch",
                                        "1",
                                        "lora",
                                        i % 2 || i >= n ? "8" : "0",
                                        "lora_targets",
                                        "all-linear",
                                        i < n ? NULL : "adapter",
                                        i < n ? NULL : mfu_method_names[i - n],
                                        NULL};
        const struct mfu_builder *s;
        double elements = 0, trained = 0;

        if (!make(&plan, "h200-sxm", model, settings))
            continue;
        s = plan.program.workbench;
        for (int k = 0; k < s->n_layers; k++)
            for (int w = s->layers[k].first_parameter;
                 w < (k + 1 < s->n_layers ? s->layers[k + 1].first_parameter : s->n_parameters); w++) {
                double times = s->layers[k].repeat;
                int users = 0;

                for (int o = 0; o < s->n_nodes; o++)
                    users += (s->nodes[o].parameter[0] == w) + (s->nodes[o].parameter[1] == w);
                if (users != (s->parameters[w].borrowed ? 0 : s->parameters[w].users))
                    fail_msg("%s: weight %d of %s has %d users", model, w, s->layers[k].section->name, users);
                elements += s->parameters[w].borrowed ? 0 : times * s->parameters[w].elements;
                trained +=
                    s->parameters[w].borrowed || !s->parameters[w].trains ? 0 : times * s->parameters[w].elements;
            }
        if (i < n) /* other methods hold frozen matrices beside their weights */
            assert_near(elements, plan.program.rank_params, EXACT);
        /* What no gradient reaches has no states, though it may train. */
        assert_near(trained + s->shared_trained, plan.program.rank_trained + plan.program.unreached_params, EXACT);
    }
}

/* States that are paged cost nothing while the GPU has room; then the host has what does not fit, and the step waits.  PyTorch
 * reserves as much either way, and what fits without them fits. */
static void paged_states_cost_nothing_until_the_gpu_is_full(void **state)
{
    double free_s = 0, evicted = -1, reserved = 0;
    bool full = false;

    (void)state;
    for (int gib = 0; gib <= 16; gib++) {
        char others[16];
        const char *const settings[] = {"optimizer", "paged_adamw_8bit", "precision", "bf16-pure", "batch", "2", "seq",
                                        "1024",      "vram_reserved",    others,      NULL};
        const struct mfu_memory_answer *m = &plan.memory;

        snprintf(others, sizeof others, "%dGiB", gib);
        assert_true(make(&plan, "rtx4090", "llama-3.2-1b", settings));
        assert_near(m->paged_bytes, 2 * plan.program.params, 0.01); /* but for norms */
        assert_true(m->evicted_bytes >= evicted && m->evicted_bytes <= m->paged_bytes);
        assert_near(m->smi_bytes, m->reserved_bytes + m->context_bytes + m->paged_bytes - m->evicted_bytes, EXACT);
        assert_near(m->host_bytes, m->evicted_bytes, EXACT);
        if (gib == 0)
            free_s = plan.step.time_s, reserved = m->reserved_bytes;
        assert_near(m->reserved_bytes, reserved, EXACT);
        assert_near(plan.step.time_s, free_s + plan.paging_s, EXACT);
        assert_int_equal(plan.paging_s > 0, m->evicted_bytes > 0);
        full |= m->evicted_bytes > 0 && m->fits;
        evicted = m->evicted_bytes;
    }
    assert_true(full && free_s > 0);
    /* No tensor of such adapters is large enough; the states are PyTorch's. */
    assert_true(make(&plan, "rtx4090", "llama-3.2-1b",
                     (const char *const[]){"optimizer", "paged_adamw_8bit", "lora", "4", NULL}));
    assert_near(plan.memory.paged_bytes, 0, 0);
}

/* What only some methods read is refused by its name with the others, or it changes the plan: nothing is passed over. */
static void settings_of_adapters_act_or_are_refused(void **state)
{
    static const char *const given[][2] = {{"lora_targets", "v_proj,down_proj"},
                                           {"lora_dropout", "0.1"},
                                           {"dora", "on"},
                                           {"trainable_tokens", "16"},
                                           {"lokr_factor", "16"},
                                           {"adapter_blocks", "16"},
                                           {"prompt_encoder", "64"},
                                           {"ia3_inputs", "v_proj,down_proj"},
                                           {"trainable_layers", "4"},
                                           {"trainable_from", "12"}};
    double bytes = 0, seconds = 0;

    (void)state;
    for (int m = MFU_METHOD_NONE + 1; m < MFU_METHOD_COUNT; m++)
        for (int i = -1; i < (int)(sizeof given / sizeof *given); i++) {
            struct mfu_error err = {0};
            struct mfu_scenario s = mfu_scenario_start(mfu_catalog_model(catalog, "llama-3.2-1b", NULL),
                                                       mfu_catalog_gpu(catalog, "a100-80gb-sxm", NULL));
            bool planned;

            assert_int_equal(mfu_scenario_set(&s, "adapter", mfu_method_names[m], &err), 0);
            if (i >= 0 && mfu_scenario_set(&s, given[i][0], given[i][1], &err) < 0)
                fail_msg("%s", err.text);
            planned = mfu_plan_make(&plan, &s, &err) == 0;
            if (i < 0) {
                assert_true(planned);
                bytes = plan.memory.peak.bytes;
                seconds = plan.step.time_s;
            } else if (planned) {
                assert_true(plan.memory.peak.bytes != bytes || plan.step.time_s != seconds);
            } else {
                assert_non_null(strstr(err.text, given[i][0]));
                assert_non_null(strstr(err.text, mfu_method_names[m]));
            }
        }
}

/* The gradients of learned keys and of learned values are each collected once in a layer, under every way to build it. */
static void gradients_of_learned_keys_are_collected_once(void **state)
{
    static const enum mfu_unrolling ways[] = {MFU_LAYERS_COUNTED, MFU_LAYERS_COPIED, MFU_LAYERS_TRACED};

    (void)state;
    assert_true(make(&plan, "a100-80gb-sxm", "llama-3.2-1b",
                     (const char *const[]){"adapter", "prefix-tuning", "seq", "512", NULL}));
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        double n = 0;

        assert_int_equal(mfu_graph_build(&plan.config, ways[w], &unrolled, NULL), 0);
        for (int k = 0; k < unrolled.n_segments; k++)
            for (int i = unrolled.segments[k].first; i < unrolled.segments[k].first + unrolled.segments[k].count; i++)
                if (strcmp(unrolled.launches[i].suffix, "prefix_grad") == 0)
                    n += mfu_segment_times(&unrolled, &unrolled.segments[k])
                        * unrolled.launches[i].work->kernel.launches;
        assert_near(n, 2 * mfu_config_dim(&plan.config, "n_layer"), EXACT);
    }
}

/* What is learned before a sequence has rows in a learned table of positions, as long as it is fits; elsewhere and with
 * keys that values are not like it is refused. */
static void learned_tokens_have_positions(void **state)
{
    static const struct {
        const char *model, *settings[7];
        bool planned;
    } rows[] = {
        {"gpt2", {"adapter", "prompt-tuning", "seq", "1024"}, false},
        {"gpt2", {"adapter", "prefix-tuning", "seq", "1005"}, false},
        {"gpt2", {"adapter", "prefix-tuning", "seq", "1004"}, true},
        {"gpt2", {"adapter", "p-tuning", "seq", "512"}, true},
        {"gpt2", {"adapter", "p-tuning", "seq", "1024", "n_positions", "1044"}, true},
        {"opt-125m", {"adapter", "prompt-tuning", "seq", "2029"}, false},
        {"opt-125m", {"adapter", "prompt-tuning", "seq", "2028"}, true},
        {"llama-3.2-1b", {"adapter", "prompt-tuning", "seq", "8192"}, true},
        {"deepseek-v3", {"adapter", "prefix-tuning", "n_layer", "4"}, false},
        {"deepseek-v3", {"adapter", "prefix-tuning", "n_layer", "4", "v_dim", "192"}, false}, /* of a latent */
        {"whisper-small", {"adapter", "prefix-tuning", "seq", "256"}, false},                 /* behind an encoder */
        {"bamba-9b", {"adapter", "prefix-tuning", "seq", "256"}, false},                      /* layers without keys */
        {"gemma-3-1b", {"adapter", "prefix-tuning", "seq", "256"}, true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (make(&plan, "a100-80gb-sxm", rows[i].model, rows[i].settings) != rows[i].planned)
            fail_msg("%s %s seq %s", rows[i].model, rows[i].settings[1], rows[i].settings[3]);
}

/* A method takes as many elements as its target has, as peft 0.21.2 checks it (`r`, `n_frequency`), and no more. */
static void methods_are_no_larger_than_their_targets(void **state)
{
    static const struct {
        const char *model, *settings[7];
        bool planned;
    } rows[] = {
        {"llama-3.2-1b", {"adapter", "shira", "lora", "409", "seq", "64"}, true}, /* of 2048 x 512 */
        {"llama-3.2-1b", {"adapter", "shira", "lora", "410", "seq", "64"}, false},
        {"llama-3.2-1b", {"adapter", "miss", "lora", "2048", "seq", "64"}, true},
        {"llama-3.2-1b", {"adapter", "miss", "lora", "2049", "seq", "64"}, false},
        {"efficientnet-b0", {"adapter", "fourierft", "lora", "256"}, true}, /* of 32 x 8 */
        {"efficientnet-b0", {"adapter", "fourierft", "lora", "257"}, false},
        {"efficientnet-b0", {"adapter", "waveft", "lora", "257"}, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (make(&plan, "a100-80gb-sxm", rows[i].model, rows[i].settings) != rows[i].planned)
            fail_msg("%s %s %s", rows[i].model, rows[i].settings[1], rows[i].settings[3]);
}

/* Gradients of all layers leave, however many there are; the layers of a model
 * that is too deep to be unrolled are counted. */
static void deep_models_exchange_as_much_as_they_have(void **state)
{
    static const char *const depths[] = {"900", "1800"};
    double bytes[2], simulated_s[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        const char *const settings[] = {"gpus",   "8",   "n_layer", depths[i], "seq", "64",
                                        "n_embd", "256", "n_head",  "4",       NULL};
        struct mfu_simulation s = {0};

        assert_true(make(&plan, "h100-sxm", "gpt2", settings));
        calls(&plan.program, MFU_ALL_REDUCE, &bytes[i]);
        assert_near(bytes[i], plan.program.params * plan.program.gradient_bytes, EXACT);
        assert_int_equal(mfu_simulate(&plan, false, &s, NULL), 0);
        simulated_s[i] = s.timeline.communication_s;
        assert_near(simulated_s[i], plan.step.communication_s, 0.1);
        mfu_simulation_release(&s);
    }
    assert_true(bytes[1] > 1.7 * bytes[0] && simulated_s[1] > 1.7 * simulated_s[0]);
}

/* What a launch reads was written before; what was written lives at least until then. */
static void check_reads(const struct mfu_program *p, const char *what)
{
    for (int i = 0; i < p->n_launches; i++) {
        const struct mfu_launch *l = &p->launches[i];

        for (int k = 0; k < l->n_in; k++) {
            const struct mfu_tensor *t = &p->tensors[p->views[l->in[k]].tensor];

            /* A gradient of a norm's weight may stand before the kernel that it was fused with. */
            if (!((t->born <= i || (l->fusion == MFU_COLUMN && t->born != MFU_FOREVER)) && t->last >= i))
                fail_msg("%s: %s.%s.%s reads a tensor that lives from %d to %d, at %d", what, l->section, l->op,
                         l->suffix, t->born, t->last, i);
        }
    }
}

static void what_is_read_was_written(void **state)
{
    static const char *const models[] = {"gpt2", "llama-3.2-1b", "mixtral-8x7b", "gemma-2-2b", "bert-base", "vit-b-16"};
    static const char *const checkpoints[] = {"none", "selective", "full"};

    (void)state;
    for (size_t m = 0; m < sizeof models / sizeof *models; m++)
        for (int r = 0; r < MFU_RUNTIME_COUNT; r++)
            for (int c = 0; c < 3; c++)
                for (int z = 0; z < 4; z += 3) {
                    const char *const settings[] = {"gpus",        z ? "4" : "1",  "zero",
                                                    z ? "3" : "0", "runtime",      mfu_runtimes[r].name,
                                                    "checkpoint",  checkpoints[c], NULL};

                    if (make(&plan, "h100-sxm", models[m], settings))
                        check_reads(&plan.program, models[m]);
                }
}

/* Bytes of the tensors of one part that backward finds, and bytes that the loss moves. */
static double kept(const struct mfu_program *p, bool in_layers)
{
    double bytes = 0;
    int back = p->n_launches;

    for (int i = p->n_launches - 1; i >= 0; i--)
        back = p->launches[i].phase == MFU_BACKWARD ? i : back;
    for (int t = 1; t < p->n_tensors; t++)
        if (p->tensors[t].born < back && p->tensors[t].last >= back
            && p->launches[p->tensors[t].born < 0 ? 0 : p->tensors[t].born].in_layer == in_layers)
            bytes += p->tensors[t].bytes;
    return bytes;
}

static double loss_bytes(const struct mfu_program *p)
{
    double bytes = 0;

    for (int i = 0; i < p->n_launches; i++)
        if (p->launches[i].work->kernel.kind == MFU_LOSS)
            bytes += p->launches[i].work->kernel.read_bytes + p->launches[i].work->kernel.write_bytes;
    return bytes;
}

/* A loop around somebody's layers: these keep what fused ones do, all else is as in eager PyTorch.  Autocast casts the
 * weights of both, and widens nothing in the layers. */
static void layers_of_a_package_leave_the_loop_eager(void **state)
{
    static const char *const models[] = {"gpt2", "llama-3.2-1b", "qwen3-8b", "mistral-7b"};
    static const char *const precisions[] = {"bf16-pure", "bf16"}, *const names[] = {"eager", "te", "fused"};

    (void)state;
    for (int k = 0; k < 8; k++) {
        double layers[3], loss[3], outside[3];

        for (int r = 0; r < 3; r++) {
            const char *const settings[] = {"precision", precisions[k / 4], "runtime", names[r], "attention",
                                            "flash",     "batch",           "2",       "seq",    "512",
                                            NULL};

            assert_true(make(&plan, "h100-sxm", models[k % 4], settings));
            layers[r] = kept(&plan.program, true);
            outside[r] = kept(&plan.program, false);
            loss[r] = loss_bytes(&plan.program);
        }
        assert_near(loss[1], loss[0], EXACT);
        assert_true(loss[2] < loss[1]);
        assert_true(layers[1] <= layers[0] && layers[1] >= layers[2]);
        assert_true(outside[1] <= outside[0]);
    }
}

/* A sum of twenty branches: more inputs than a launch can name. */
static struct mfu_model *wide_model(int branches)
{
    char text[8192], *at = text, *end = text + sizeof text;
    struct mfu_error err = {0};
    struct mfu_model *m;
    char path[64];
    int fd;

    at += snprintf(at, (size_t)(end - at),
                   "name: wide\ndims: {vocab_size: 512, seq: 128, n_embd: 64, n_layer: 2, n_head: 1, n_kv_head: 1, "
                   "head_dim: 64}\ngraph:\n- name: embed\n  ops:\n  - {op: embedding, name: wte, rows: vocab_size, "
                   "width: n_embd}\n- name: h\n  repeat: n_layer\n  ops:\n");
    for (int i = 0; i < branches; i++)
        at += snprintf(at, (size_t)(end - at), "  - {op: linear, name: b%d, width: n_embd, in: [input]}\n", i);
    at += snprintf(at, (size_t)(end - at), "  - {op: add, name: s1, in: [b0, b1]}\n");
    for (int i = 2; i < branches; i++)
        at += snprintf(at, (size_t)(end - at), "  - {op: add, name: s%d, in: [s%d, b%d]}\n", i, i - 1, i);
    at += snprintf(at, (size_t)(end - at),
                   "- name: head\n  ops:\n  - {op: linear, name: lm, width: vocab_size}\n  - {op: loss, name: loss}\n");
    snprintf(path, sizeof path, "/tmp/mfuplan-wide-XXXXXX");
    fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, (size_t)(at - text)), at - text);
    close(fd);
    m = mfu_model_read(path, NULL, &err);
    unlink(path);
    if (!m)
        fail_msg("%s", err.text);
    return m;
}

/* Fusing neither drops what is read nor what is written: the sums of the branches
 * read every branch once, in as many kernels as it takes. */
static void fusion_keeps_every_input(void **state)
{
    enum { BRANCHES = 40 };
    struct mfu_model *m = wide_model(BRANCHES);
    struct mfu_scenario s = mfu_scenario_start(m, mfu_catalog_gpu(catalog, "h100-sxm", NULL));
    int kernels = 0, read = 0;

    (void)state;
    assert_int_equal(mfu_scenario_set(&s, "runtime", "compile", NULL), 0);
    assert_int_equal(mfu_plan_make(&plan, &s, NULL), 0);
    check_reads(&plan.program, "wide");
    for (int i = plan.program.segments[1].first; i < plan.program.segments[1].first + plan.program.segments[1].count;
         i++) {
        const struct mfu_launch *l = &plan.program.launches[i];

        if (l->work->kernel.kind != MFU_POINTWISE)
            continue;
        kernels++;
        read += l->n_in;
    }
    assert_true(kernels >= 3 && kernels <= 6);
    assert_int_equal(read, BRANCHES + kernels - 1); /* and each but the first what the one before wrote */
    mfu_model_free(m);
}

/* In fp8 every operand of a linear is quantised: in forward the input and the
 * weight, in backward the gradient; a matrix product never reads 16 bits. */
static void products_in_fp8_read_fp8(void **state)
{
    static const char *const runtimes[] = {"eager", "compile", "fused"};

    (void)state;
    for (int r = 0; r < 3; r++) {
        const char *const settings[] = {"precision", "fp8", "runtime", runtimes[r], "accum", "4", NULL};
        double products = 0, weights = 0;

        assert_true(make(&plan, "h100-sxm", "llama-3.2-1b", settings));
        for (int k = 0; k < plan.program.n_segments; k++)
            for (int i = 0; i < plan.program.segments[k].count; i++) {
                const struct mfu_launch *l = &plan.program.launches[plan.program.segments[k].first + i];
                double times = plan.program.segments[k].repeat;

                if (strcmp(l->suffix, "quantise_weight") == 0)
                    weights += times * l->work->kernel.launches;
                if (l->work->kernel.kind != MFU_GEMM || l->work->kernel.math != MFU_PEAK_FP8)
                    continue;
                products += l->phase == MFU_FORWARD ? times : 0;
                for (int in = 0; in < l->n_in; in++)
                    assert_int_equal(plan.program.views[l->in[in]].type, MFU_F8);
                if (l->suffix[0] != 'w') /* which may add to a gradient in fp32 */
                    assert_near(l->work->kernel.read_bytes,
                                l->work->kernel.batch * l->work->kernel.k * (l->work->kernel.m + l->work->kernel.n),
                                EXACT);
            }
        assert_true(products > 0);
        assert_near(weights, strcmp(runtimes[r], "fused") == 0 ? products / 4 : products, EXACT);
    }
}

/* However a model is split, its parameters and its FLOP are those of the model, and
 * what is in the way of a layer comes as often as the split says. */
static void splitting_keeps_the_model(void **state)
{
    static const char *const models[] = {"llama-3-8b", "gpt2", "gemma-2-2b", "mpt-7b", "phi-3-mini", "glm-4-9b"};
    static const char *const checkpoints[] = {"none", "full"};
    static const struct {
        const char *tp, *cp, *sp;
        double sums, gathers, scatters; /* of a layer: in a forward pass */
        double back_sums, back_gathers, back_scatters;
    } splits[] = {
        {"2", "1", "off", 2, 0, 0, 2, 0, 0}, {"4", "1", "off", 2, 0, 0, 2, 0, 0},
        {"2", "1", "on", 0, 2, 2, 0, 4, 2},  {"1", "2", "off", 0, 1, 0, 0, 1, 0}, /* keys and values */
        {"2", "2", "off", 2, 1, 0, 2, 1, 0},
    };

    (void)state;
    for (size_t m = 0; m < sizeof models / sizeof *models; m++)
        for (int c = 0; c < 2; c++)
            for (size_t k = 0; k < sizeof splits / sizeof *splits; k++) {
                const char *const one[] = {"runtime", "fused", "checkpoint", checkpoints[c], NULL};
                const char *const settings[] = {"runtime", "fused",      "checkpoint", checkpoints[c],
                                                "tp",      splits[k].tp, "cp",         splits[k].cp,
                                                "sp",      splits[k].sp, NULL};
                double params, flops, layers, per_layer[MFU_COLLECTIVE_COUNT] = {0}, again = c ? 1 : 0, group, shared;

                assert_true(make(&plan, "h100-sxm", models[m], one));
                params = plan.program.params;
                flops = plan.mfu.model_flops / plan.step.tokens;
                if (!make(&plan, "h100-sxm", models[m], settings))
                    continue; /* heads that do not divide */
                group = plan.config.setting[MFU_S_TP];
                layers = mfu_config_dim(&plan.config, "n_layer");
                assert_near(plan.program.params, params, EXACT);
                assert_true(plan.program.rank_params >= params / group * (1 - EXACT));
                assert_true(plan.program.rank_params <= params / group * 1.02);
                assert_near(plan.mfu.model_flops / plan.step.tokens, flops, 1e-3);
                for (int i = 0; i < plan.program.n_segments; i++)
                    for (int l = 0; l < plan.program.segments[i].count; l++) {
                        const struct mfu_launch *x = &plan.program.launches[plan.program.segments[i].first + l];

                        if (plan.program.segments[i].layer && x->work->collective.kind != MFU_NO_COLLECTIVE
                            && x->work->collective.axes != MFU_AXES_DATA)
                            per_layer[x->work->collective.kind] += plan.program.segments[i].repeat / layers;
                    }
                assert_near(per_layer[MFU_ALL_REDUCE], (1 + again) * splits[k].sums + splits[k].back_sums, EXACT);
                shared = group > mfu_config_dim(&plan.config, "n_kv_head") ? 3 : 0; /* queries, keys, values */
                assert_near(per_layer[MFU_REDUCE_SCATTER],
                            (1 + again) * splits[k].scatters + splits[k].back_scatters + shared, EXACT);
                assert_near(per_layer[MFU_ALL_GATHER],
                            (1 + again) * (splits[k].gathers + shared) + splits[k].back_gathers, EXACT);
            }
}

/* Tensor ranks compute together what the model does, what each computes whole counted once, and hold no less: of all models
 * that can be split. */
static void all_models_are_split(void **state)
{
    size_t n, made = 0;
    const char *const *models = mfu_catalog_models(catalog, &n);

    (void)state;
    for (size_t i = 0; i < n; i++) {
        const char *const settings[] = {"tp", "2", "sp", "off", NULL};
        double flops, params;

        if (!make(&plan, "h200-sxm", models[i], settings + 4))
            continue;
        flops = plan.mfu.model_flops / plan.step.tokens;
        params = plan.program.params;
        if (!make(&plan, "h200-sxm", models[i], settings))
            continue; /* heads that do not divide */
        made++;
        if (fabs(plan.mfu.model_flops / plan.step.tokens - flops) > 0.01 * flops
            || plan.program.rank_params < params / 2 * (1 - EXACT))
            fail_msg("%s: %g of %g FLOP, %g of %g parameters", models[i], plan.mfu.model_flops / plan.step.tokens,
                     flops, plan.program.rank_params, params);
    }
    assert_true(made > n / 2);
}

/* However a model with adapters is split, what trains and what is computed are those of one GPU, and each adapter exchanges
 * what stands between its two products once in forward and once in backward. */
static void splitting_keeps_adapters(void **state)
{
    static const char *const splits[][2] = {{"tp", "2"}, {"tp", "4"}, {"pp", "4"}, {"cp", "2"}};
    static const char *const trainers[] = {"torchtitan", "megatron-te"};
    static const char *const models[] = {"llama-3-8b", "phi-3-mini", "gemma-2-2b"};
    PLAN one = {0};
    double held;
    int made = 0;

    (void)state;
    for (size_t m = 0; m < 3; m++)
        for (int k = 0; k < 16; k++) {
            const char *const *split = splits[k % 4], *trainer = trainers[k / 4 % 2], *sp = k / 8 ? "on" : "off";
            const char *const alone[] = {"lora",    "16",    "lora_targets", "all-linear", "accum", "8",
                                         "trainer", trainer, "runtime",      "fused",      NULL};
            const char *const keys[] = {"lora",
                                        "16",
                                        "lora_targets",
                                        "all-linear",
                                        "accum",
                                        "8",
                                        "trainer",
                                        trainer,
                                        "runtime",
                                        "fused",
                                        split[0],
                                        split[1],
                                        k % 4 < 2 ? "sp" : NULL,
                                        sp,
                                        NULL};
            double tp = k % 4 < 2 ? strtod(split[1], NULL) : 1, adapters = 0, exchanged = 0;

            assert_true(make(&one, "h200-sxm", models[m], alone));
            if (!make(&plan, "h200-sxm", models[m], keys))
                continue; /* layers or heads that do not divide */
            made++;
            assert_near(plan.program.trainable_params, one.program.trainable_params, EXACT);
            assert_near(plan.mfu.model_flops / plan.step.tokens, one.mfu.model_flops / one.step.tokens, 1e-3);
            for (int i = 0; i < plan.program.n_segments && tp > 1; i++)
                for (int n = 0; n < plan.program.segments[i].count; n++) {
                    const struct mfu_launch *l = &plan.program.launches[plan.program.segments[i].first + n];
                    double times = plan.program.segments[i].repeat;

                    adapters += strcmp(l->suffix, "lora_a") == 0 ? times : 0;
                    exchanged += l->work->collective.kind != MFU_NO_COLLECTIVE
                            && fabs(l->work->collective.bytes - plan.config.tokens * 16 * 2) < 1
                        ? times
                        : 0;
                }
            assert_near(exchanged, 2 * adapters, EXACT);
            assert_true(tp == 1 || adapters >= 4 * 26);
            /* Beside rows, Megatron-Bridge has the first product's part and the second's: no weight is whole anywhere. */
            held = plan.program.rank_trained * tp / one.program.rank_trained;
            if (k % 4 == 2) { /* of all stages */
                held = 0;
                for (int i = 0; i < plan.n_stages; i++)
                    held += plan.stages[i].memory.peak.parts[MFU_PART_OPTIMIZER]
                        / one.memory.peak.parts[MFU_PART_OPTIMIZER];
            }
            assert_near(held, 1, k % 4 == 2 ? 1e-3 : EXACT); /* blocks of memory are rounded */
        }
    assert_true(made >= 32);
    /* The last layers of the model train, not of each stage. */
    assert_true(make(&one, "h200-sxm", "llama-3-8b", (const char *const[]){"trainable_layers", "20", NULL}));
    assert_true(make(&plan, "h200-sxm", "llama-3-8b",
                     (const char *const[]){"trainable_layers", "20", "pp", "2", "accum", "8", NULL}));
    assert_near(plan.program.trainable_params, one.program.trainable_params, EXACT);
    held = 0;
    for (int i = 0; i < plan.n_stages; i++)
        held += plan.stages[i].memory.peak.parts[MFU_PART_OPTIMIZER];
    assert_near(held, one.memory.peak.parts[MFU_PART_OPTIMIZER], 1e-3);
}

/* As many layers train wherever they are; gradients end below the first, so that lower ones never take less time or
 * memory; the last ones by their numbers are the last ones. */
static void layers_train_by_their_numbers(void **state)
{
    static const char *const more[][2] = {
        {"batch", "2"}, {"checkpoint", "full"}, {"lora", "8"}, {"precision", "bf16-pure"}};
    PLAN last = {0};

    (void)state;
    for (int k = 0; k < 24; k++) {
        const char *name = k % 2 ? "llama-3.2-1b" : "gpt2-medium";
        double layers = k % 2 ? 16 : 24, count = 1 + rand() % 6, bytes = INFINITY, seconds = INFINITY;
        char words[40], n[16];

        snprintf(n, sizeof n, "%g", count);
        assert_true(make(&last, "a100-80gb-sxm", name,
                         (const char *const[]){"trainable_layers", n, more[k % 4][0], more[k % 4][1], NULL}));
        for (double from = 0; from + count <= layers;
             from += from + 4 + count < layers || from + count == layers ? 4 : 1) {
            snprintf(words, sizeof words, "%g..%g", from, from + count - 1);
            assert_true(make(&plan, "a100-80gb-sxm", name,
                             (const char *const[]){"trainable_layers", words, more[k % 4][0], more[k % 4][1], NULL}));
            assert_near(plan.program.trainable_params, last.program.trainable_params, EXACT);
            assert_near(plan.program.rank_trained, last.program.rank_trained, EXACT);
            assert_true(plan.memory.peak.bytes <= bytes * (1 + EXACT) && plan.step.time_s <= seconds * (1 + EXACT));
            bytes = plan.memory.peak.bytes;
            seconds = plan.step.time_s;
        }
        assert_near(bytes, last.memory.peak.bytes, EXACT);
        assert_near(seconds, last.step.time_s, EXACT);
    }
    /* On a stage of a pipeline, too. */
    assert_true(make(&last, "h200-sxm", "llama-3-8b", (const char *const[]){"trainable_layers", "10..19", NULL}));
    assert_true(make(&plan, "h200-sxm", "llama-3-8b",
                     (const char *const[]){"trainable_layers", "10..19", "pp", "2", "accum", "8", NULL}));
    assert_near(plan.program.trainable_params, last.program.trainable_params, EXACT);
    for (int i = 0; i < plan.n_stages; i++)
        assert_near(plan.stages[i].memory.peak.parts[MFU_PART_OPTIMIZER] * 10 / (i ? 4 : 6),
                    last.memory.peak.parts[MFU_PART_OPTIMIZER], 1e-3);
}

/* What names weights of layers is their kinds and the layers' numbers, or it is refused. */
static void names_of_weights_have_numbers_of_layers(void **state)
{
    static const struct {
        const char *key, *text;
        double from, count;
    } given[] = {{"trainable", "model.layers.20.mlp.*", 20, 1},
                 {"trainable", "model.layers.3.self_attn,model.layers.4.self_attn", 3, 2},
                 {"trainable", "model.layers.31.*", 31, 1},
                 {"trainable", "transformer.h.9.mlp", 9, 1},
                 {"trainable_layers", "[5]", 5, 1},
                 {"trainable_layers", "7,5,6", 5, 3},
                 {"trainable", "model.layers.3.mlp,model.layers.4.self_attn", -1, 0},
                 {"trainable", "model.layers.3.mlp,lm_head", -1, 0},
                 {"trainable", "model.layers.3.input_layernorm", -1, 0},
                 {"trainable_layers", "4,6", -1, 0},
                 {"trainable_layers", "4..", -1, 0},
                 {"trainable_layers", "6..4", -1, 0}};

    (void)state;
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        struct mfu_scenario s = mfu_scenario_start(mfu_catalog_model(catalog, "llama-3-8b", NULL),
                                                   mfu_catalog_gpu(catalog, "a100-80gb-sxm", NULL));

        assert_int_equal(mfu_scenario_set(&s, given[i].key, given[i].text, NULL), given[i].count > 0 ? 0 : -1);
        assert_near(s.setting[MFU_S_TRAINABLE_FROM], given[i].from, 0);
        assert_near(s.setting[MFU_S_TRAINABLE_LAYERS], given[i].count, 0);
    }
    assert_false(make(&plan, "a100-80gb-sxm", "llama-3-8b", (const char *const[]){"trainable_layers", "31..32", NULL}));
    /* Other numbers are those of modules. */
    assert_true(make(&plan, "h200-sxm", "flux.1-dev",
                     (const char *const[]){"lora", "8", "lora_targets", "to_q,to_out.0", NULL}));
    assert_near(plan.config.setting[MFU_S_TRAINABLE_FROM], -1, 0);
    /* Layers of DeepSeek's first kind are counted, but do not train alone. */
    assert_false(make(&plan, "h200-sxm", "deepseek-v2-lite", (const char *const[]){"trainable_layers", "0..1", NULL}));
    assert_true(make(&plan, "h200-sxm", "deepseek-v2-lite", (const char *const[]){"trainable_layers", "1..2", NULL}));
}

/* peft looks at the end of names: adapters of an MLP's products are those of shared experts, too. */
static void shared_experts_are_mlps(void **state)
{
    (void)state;
    assert_true(make(&plan, "h200-sxm", "deepseek-v2-lite",
                     (const char *const[]){"lora", "8", "lora_targets", "gate_proj,up_proj,down_proj", NULL}));
    assert_near(plan.program.trainable_params, 8 * 3 * ((2048 + 10944) + 26 * (2048 + 2. * 1408)), 0);
}

/* Products of a layer, by the operation that they belong to: FLOP of a micro-step. */
static double products_of(const struct mfu_program *p, const char *op)
{
    double flops = 0;

    for (int i = 0; i < p->n_segments; i++)
        for (int k = 0; k < p->segments[i].count; k++) {
            const struct mfu_launch *l = &p->launches[p->segments[i].first + k];
            bool product = l->work->kernel.kind == MFU_GEMM || mfu_kind_is_attention(l->work->kernel.kind);

            flops += product && strcmp(l->op, op) == 0 ? l->work->kernel.flops * p->segments[i].repeat : 0;
        }
    return flops;
}

/* Of multi-head latent attention each rank has the products down to what is normed as a whole, and a part of all others:
 * heads, experts.  With sequence parallelism the former work on a part of the tokens. */
static void latent_attention_is_split_by_heads(void **state)
{
    static const char *const models[] = {"deepseek-v3", "moonlight-16b-a3b"};
    static const char *const ranks[] = {"2", "4", "8"};
    static const char *const whole_ops[] = {"attn.q_a", "attn.kv_a", "moe.route"};
    static const char *const split_ops[] = {"attn.q",   "attn.kv",     "attn.core",   "attn.o",   "moe.gate",
                                            "moe.down", "shared.gate", "shared.down", "mlp.gate", "mlp.down"};
    PLAN one = {0};

    (void)state;
    for (size_t m = 0; m < 2; m++)
        for (size_t k = 0; k < 2 * sizeof ranks / sizeof *ranks; k++) {
            const char *const alone[] = {"n_layer", "4", "runtime", "fused", NULL};
            const char *const keys[] = {
                "n_layer", "4", "runtime", "fused", "tp", ranks[k / 2], "sp", k % 2 ? "on" : "off", NULL};
            double tp = strtod(ranks[k / 2], NULL), shared;

            assert_true(make(&one, "h200-sxm", models[m], alone));
            assert_true(make(&plan, "h200-sxm", models[m], keys));
#define DIM(name) mfu_config_dim(&one.config, name)
            shared = 4
                    * (DIM("n_embd") * (DIM("q_rank") + DIM("kv_rank") + DIM("rope_dim") + 2) + DIM("q_rank")
                       + DIM("kv_rank"))
                + (4 - DIM("n_dense")) * DIM("n_embd") * DIM("n_experts") + DIM("n_embd");
#undef DIM
            assert_near(tp * plan.program.rank_params - (tp - 1) * shared, one.program.params, EXACT);
            for (size_t i = 0; i < sizeof whole_ops / sizeof *whole_ops; i++)
                assert_near((k % 2 ? tp : 1) * products_of(&plan.program, whole_ops[i]),
                            products_of(&one.program, whole_ops[i]), EXACT);
            for (size_t i = 0; i < sizeof split_ops / sizeof *split_ops; i++) {
                assert_true(products_of(&one.program, split_ops[i]) > 0);
                assert_near(tp * products_of(&plan.program, split_ops[i]), products_of(&one.program, split_ops[i]),
                            EXACT);
            }
        }
}

/* Rows that took their weights before the experts' last product take its bias after it, expert by expert: kernels of each
 * expert that a rank has, over all rows together, in fp32 where the dispatcher wants the weights so. */
static void weighed_biases_are_added_by_expert(void **state)
{
    static const char *const eps[] = {"1", "2", "8"};
    static const char *const dispatchers[] = {"all_to_all", "flex"};

    (void)state;
    for (int e = 0; e < 3; e++)
        for (int d = 0; d < 3; d++) {
            const char *const keys[] = {"gpus",
                                        "8",
                                        "ep",
                                        eps[e],
                                        "moe_dispatcher",
                                        dispatchers[d % 2],
                                        "trainer",
                                        d < 2 ? "megatron-te" : "torchtitan",
                                        "n_layer",
                                        "2",
                                        NULL};
            double seen = 0, ep = strtod(eps[e], NULL);

            assert_true(make(&plan, "h200-sxm", "gpt-oss-20b", keys));
            for (int i = 0; i < plan.program.n_launches; i++) {
                const struct mfu_launch *l = &plan.program.launches[i];
                bool first = strcmp(l->suffix, "bias") == 0;

                if (strcmp(l->op, "moe.down") != 0 || !(first || strcmp(l->suffix, "bias_grad") == 0) || d == 2)
                    continue;
                seen++;
                assert_near(l->work->kernel.launches, (first ? 2 : 4) * 32 / ep, EXACT);
                /* b * p is written and read, t read, the sum written; both products of g, too */
                assert_near(l->work->kernel.read_bytes + l->work->kernel.write_bytes,
                            plan.config.tokens * 4 * 2880
                                    * (first   ? 2 + (d ? 12 : 6)
                                           : d ? 24
                                               : 12)
                                + (first ? 0 : 2 * 2880 * 32 / ep),
                            1e-9);
            }
            assert_true(d < 2 ? seen >= 4 : seen == 0);
        }
}

/* TransformerEngine launches a kernel for each expert's product, PyTorch one for all of a rank's, and a step that is
 * replayed as a whole has none whose rows the host would have to know.  What they compute is the same. */
static void experts_have_a_kernel_each(void **state)
{
    static const char *const runtimes[] = {"eager", "compile", "fused"};
    static const char *const eps[] = {"1", "4", "8"};

    (void)state;
    for (int r = 0; r < 3; r++)
        for (int e = 0; e < 3; e++)
            for (int graphs = 0; graphs < 3; graphs++) {
                const char *const keys[] = {"gpus",
                                            "8",
                                            "ep",
                                            eps[e],
                                            "runtime",
                                            runtimes[r],
                                            "n_layer",
                                            "2",
                                            "cuda_graphs",
                                            graphs ? "on" : "off",
                                            "cuda_graph_scope",
                                            graphs == 1 ? "all" : "attention",
                                            NULL};
                double experts = 32 / strtod(eps[e], NULL), seen = 0;

                assert_true(make(&plan, "h200-sxm", "gpt-oss-20b", keys));
                for (int i = 0; i < plan.program.n_launches; i++) {
                    const struct mfu_launch *l = &plan.program.launches[i];
                    const struct mfu_kernel *k = &l->work->kernel;

                    if (k->kind != MFU_GEMM || (strcmp(l->op, "moe.gate") != 0 && strcmp(l->op, "moe.down") != 0))
                        continue;
                    seen++;
                    assert_near(k->batch, experts, EXACT);
                    assert_near(k->launches, r == 2 && graphs != 1 ? experts : 1, EXACT);
                    assert_near(k->flops, 2 * k->m * k->n * k->k * experts, EXACT);
                }
                assert_true(seen >= 6);
            }
}

/* Bytes that the launches of this name read and write in a step. */
static double bytes_of(const struct mfu_program *p, const char *op, const char *suffix)
{
    double bytes = 0;

    for (int i = 0; i < p->n_segments; i++)
        for (int k = p->segments[i].first; k < p->segments[i].first + p->segments[i].count; k++) {
            const struct mfu_launch *l = &p->launches[k];

            if ((!op || strcmp(l->op, op) == 0) && strcmp(l->suffix, suffix) == 0)
                bytes += p->segments[i].repeat * (l->work->kernel.read_bytes + l->work->kernel.write_bytes);
        }
    return bytes;
}

/* Rows that arrive from other ranks are laid out once more for several experts of a rank, and back, in both passes; not for
 * one expert, nor where the dispatcher's kernels do so as they send. */
static void rows_from_other_ranks_are_laid_out_by_expert(void **state)
{
    static const char *const eps[] = {"1", "2", "8", "32"};
    static const char *const dispatchers[] = {"all_to_all", "flex"};

    (void)state;
    for (int e = 0; e < 4; e++)
        for (int d = 0; d < 2; d++)
            for (int r = 0; r < 2; r++) {
                const char *const keys[] = {"gpus",
                                            "32",
                                            "ep",
                                            eps[e],
                                            "moe_dispatcher",
                                            dispatchers[d],
                                            "trainer",
                                            r ? "torchtitan" : "megatron-te",
                                            "precision",
                                            r ? "bf16-pure" : "bf16",
                                            "n_layer",
                                            "2",
                                            NULL};
                double once, layers = 2, passes = 4;

                assert_true(make(&plan, "h200-sxm", "gpt-oss-20b", keys));
                once = 2 * plan.config.tokens * 4 * 2880 * 2; /* read and written, top 4, 16 bits */
                assert_near(bytes_of(&plan.program, NULL, "regroup"),
                            d == 0 && (e == 1 || e == 2) ? once * layers * passes : 0, EXACT);
            }
}

/* Quantised operands want so many rows of each expert: rows are copied once more on the way to the products and back, on one
 * rank, too, but where experts have places or DeepEP pads; and each expert's are quantised by a kernel. */
static void quantised_experts_are_padded_and_apart(void **state)
{
    static const char *const dispatchers[] = {"all_to_all", "flex"};
    static const char *const precisions[] = {"bf16", "mxfp8"}, *const eps[] = {"1", "8"};

    (void)state;
    for (int d = 0; d < 2; d++)
        for (int q = 0; q < 2; q++)
            for (int c = 0; c < 2 * 2; c++) {
                int places = c % 2, ep = c / 2;
                const char *const keys[] = {"gpus",
                                            "8",
                                            "ep",
                                            eps[ep],
                                            "trainer",
                                            "megatron-te",
                                            "moe_dispatcher",
                                            dispatchers[d],
                                            "precision",
                                            precisions[q],
                                            "capacity_factor",
                                            places ? "1" : "0",
                                            "pad_experts",
                                            places ? "on" : "off",
                                            "n_layer",
                                            "2",
                                            NULL};
                double once, copied, quantised = 0;

                assert_true(make(&plan, "b200", "qwen3-30b-a3b", keys));
                once = 2 * plan.config.tokens * 8 * 2048 * 2; /* read and written, top 8, 16 bits */
                copied = bytes_of(&plan.program, NULL, "pad") + bytes_of(&plan.program, NULL, "unpad");
                assert_near(copied, (d == 0 || !ep) && q && !places ? 4 * 2 * once : 0, EXACT);
                for (int i = 0; i < plan.program.n_launches; i++) {
                    const struct mfu_launch *l = &plan.program.launches[i];

                    if (strcmp(l->op, "moe.down") != 0 || strncmp(l->suffix, "quantise", 8) != 0)
                        continue;
                    quantised++;
                    assert_near(fmod(l->work->kernel.launches, ep ? 128 / 8 : 128), 0, EXACT);
                }
                assert_true(q ? quantised >= 2 : quantised == 0);
            }
}

/* Megatron clamps both halves of what its fused activation reads: forward reads and writes each twice, backward thrice and
 * twice. */
static void halves_are_clamped_beside_the_fused_kernel(void **state)
{
    static const char *const clamps[] = {"moe.gate_clamp", "moe.up_clamp"};

    (void)state;
    for (int graphs = 0; graphs < 2; graphs++) {
        const char *const keys[] = {"runtime", "fused", "n_layer", "2", "cuda_graphs", graphs ? "on" : "off", NULL};

        assert_true(make(&plan, "h200-sxm", "gpt-oss-20b", keys));
        for (int h = 0; h < 2; h++) {
            double half = 2 * plan.config.tokens * 4 * 2880 * 2; /* of two layers, 16 bits */

            assert_near(bytes_of(&plan.program, clamps[h], "") + bytes_of(&plan.program, clamps[h], "cat"),
                        graphs ? 0 : 4 * half, EXACT);
            assert_near(bytes_of(&plan.program, clamps[h], "grad") + bytes_of(&plan.program, clamps[h], "cat_grad"),
                        graphs ? 0 : 5 * half, EXACT);
        }
    }
}

/* Gradients that are added to each other are of the same tokens, however ranks share them. */
static void gradients_added_are_of_the_same_tokens(void **state)
{
    size_t n, added = 0;
    const char *const *models = mfu_catalog_models(catalog, &n);

    (void)state;
    for (size_t m = 0; m < n; m++)
        for (int k = 0; k < 2; k++) {
            const char *const keys[] = {"runtime", "eager", "tp", "2", "sp", k ? "on" : "off", NULL};

            if (!make(&plan, "h200-sxm", models[m], keys))
                continue;
            for (int i = 0; i < plan.program.n_launches; i++) {
                const struct mfu_launch *l = &plan.program.launches[i];
                const struct mfu_view *v = plan.program.views;

                if (l->phase != MFU_BACKWARD || strcmp(l->suffix, "add") != 0 || l->n_in != 2)
                    continue;
                if (v[l->in[0]].columns == v[l->in[1]].columns && v[l->in[0]].rows != v[l->in[1]].rows)
                    fail_msg("%s: gradient of %s.%s: %g x %g and %g x %g", models[m], l->section, l->op,
                             v[l->in[0]].rows, v[l->in[0]].columns, v[l->in[1]].rows, v[l->in[1]].columns);
                added++;
            }
        }
    assert_true(added > 1000);
}

/* Stages hold all of the model between them, compute all of it, and a step of the
 * pipeline is as long as its parts; with many microbatches the bubble goes. */
static void stages_make_up_the_model(void **state)
{
    static const char *const depths[] = {"2", "3", "4", "8"};
    static const char *const accums[] = {"8", "256"};

    (void)state;
    for (int d = 0; d < 4; d++) {
        double alone_flops, idle[2];

        for (int a = 0; a < 2; a++) {
            const char *const one[] = {"runtime", "fused", "accum", accums[a], NULL};
            const char *const settings[] = {"runtime", "fused", "accum", accums[a], "pp", depths[d], NULL};
            double layers = 0;

            assert_true(make(&plan, "h100-sxm", "llama-3-8b", one));
            alone_flops = plan.mfu.model_flops;
            assert_int_equal(plan.n_stages, 0);
            assert_true(make(&plan, "h100-sxm", "llama-3-8b", settings));
            assert_int_equal(plan.n_stages, (int)strtod(depths[d], NULL));
            for (int i = 0; i < plan.n_stages; i++) {
                layers += plan.stages[i].layers;
                assert_near(plan.stages[i].in_flight, plan.n_stages - i, EXACT); /* 1F1B */
                assert_true(plan.stages[i].memory.peak.bytes <= plan.memory.peak.bytes);
            }
            assert_near(layers, 32, EXACT);
            assert_near(plan.mfu.model_flops, alone_flops, 1e-6);
            assert_near(plan.step.busy_s + plan.step.communication_exposed_s + plan.step.idle_s, plan.step.time_s,
                        EXACT);
            idle[a] = plan.step.idle_s / plan.step.time_s;
        }
        assert_true(idle[0] > 0.05 && idle[1] < 0.05);
    }
}

/* The same GPUs on more machines: more of each collective goes over the network, the
 * work and the memory stay.  Machines that are not filled evenly are refused. */
static void spreading_over_nodes_costs_time(void **state)
{
    static const char *const layouts[][8] = {{"tp", "8", "sp", "on"}, {"tp", "4", "pp", "2"}, {"zero", "3"}};
    static const char *const nodes[] = {"2", "4", "16"};

    (void)state;
    for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++) {
        const char *settings[16] = {"gpus", "16", "accum", "4", "runtime", "fused"};
        double before_s = 0, bytes = 0;
        int n = 6;

        for (int i = 0; layouts[l][i]; i++)
            settings[n++] = layouts[l][i];
        settings[n] = "nodes";
        for (size_t k = 0; k < sizeof nodes / sizeof *nodes; k++) {
            settings[n + 1] = nodes[k];
            assert_true(make(&plan, "h100-sxm", "llama-3-8b", settings));
            assert_true(k == 0 || plan.step.time_s > before_s);
            assert_true(k == 0 || plan.memory.peak.bytes == bytes);
            before_s = plan.step.time_s;
            bytes = plan.memory.peak.bytes;
        }
        settings[n + 1] = "3";
        assert_false(make(&plan, "h100-sxm", "llama-3-8b", settings));
    }
}

/* Copies of what is sharded (HSDP): a rank holds what it would hold were its copy alone, moves as many bytes within
 * the copy, and sums its share of the gradients with the other copies. */
static void copies_of_shards(void **state)
{
    static const char *const models[] = {"llama-3-8b", "gpt2", "mixtral-8x7b"};
    static const char *const zeros[] = {"1", "2", "3"};
    static const char *const shards[] = {"2", "4", "8", "16"};

    (void)state;
    for (size_t m = 0; m < 3; m++)
        for (int z = 0; z < 3; z++)
            for (int k = 0; k < 4; k++) {
                const char *const alone[] = {"gpus", shards[k], "zero", zeros[z], "accum", "4", NULL};
                const char *const copied[] = {"gpus", "16",       "zero",    zeros[z], "accum",
                                              "4",    "dp_shard", shards[k], NULL};
                double shard = strtod(shards[k], NULL), n[3], bytes[3], state_bytes, sums, summed;

                assert_true(make(&plan, "h100-sxm", models[m], alone));
                state_bytes = plan.memory.peak.bytes;
                n[0] = calls(&plan.program, MFU_ALL_GATHER, &bytes[0]);
                n[1] = calls(&plan.program, MFU_REDUCE_SCATTER, &bytes[1]);
                n[2] = calls(&plan.program, MFU_ALL_REDUCE, &bytes[2]);
                assert_true(make(&plan, "h100-sxm", models[m], copied));
                assert_near(plan.memory.peak.bytes, state_bytes, EXACT);
                for (int i = 0; i < 2; i++) {
                    double b, calls_now = calls(&plan.program, i ? MFU_REDUCE_SCATTER : MFU_ALL_GATHER, &b);

                    assert_near(calls_now, n[i], EXACT);
                    assert_near(b, bytes[i], EXACT);
                }
                sums = calls(&plan.program, MFU_ALL_REDUCE, &summed) - n[2];
                assert_near(sums, shard < 16 ? n[1] : 0, EXACT);
                assert_near(summed - bytes[2], shard < 16 ? bytes[1] / shard : 0, EXACT);
            }
    for (size_t i = 0; i < 3; i++) {
        static const char *const refused[][10] = {{"gpus", "16", "zero", "3", "dp_shard", "3"},
                                                  {"gpus", "16", "zero", "0", "dp_shard", "4"},
                                                  {"gpus", "16", "zero", "3", "dp_shard", "1"}};

        assert_false(make(&plan, "h100-sxm", "llama-3-8b", refused[i]));
    }
}

/* DeepSpeed's engine: what trains has 16 bits, and 12 bytes of master and momenta each, shared among the ranks; the
 * frozen rest has no masters, and a package of norms keeps less than their passes. */
static void an_engine_has_masters_of_what_trains(void **state)
{
    static const char *const zeros[] = {"1", "2", "3"};

    (void)state;
    for (int z = 0; z < 3; z++)
        for (int k = 0; k < 2; k++) {
            const char *const keys[] = {
                "gpus", k ? "4" : "1", "zero", zeros[z],    "trainer", "deepspeed",      "lora",
                "16",   "accum",       "2",    "optimizer", "adamw",   "kernel_package", k ? "flash-attn" : "none",
                NULL};
            const struct mfu_program *p = &plan.program;
            double ranks = k ? 4 : 1;

            assert_true(make(&plan, "h100-sxm", "llama-3-8b", keys));
            assert_near(p->constant_bytes[MFU_PART_OPTIMIZER], 12 * p->rank_trained / ranks, EXACT);
            assert_near(p->constant_bytes[MFU_PART_WEIGHTS], 2 * p->rank_params / (z == 2 ? ranks : 1), EXACT);
        }
}

/* Documents are those of the texts: what a tower of images or an encoder of sounds computes does not change. */
static void documents_are_of_texts(void **state)
{
    static const char *const of[][2] = {{"clip-b-32", "20"}, {"whisper-small", "40"}, {"gpt2", "100"}};
    PLAN packed = {0};

    (void)state;
    for (size_t m = 0; m < sizeof of / sizeof *of; m++) {
        const char *const settings[] = {"packing", "on", "doc_len", of[m][1], "attention", "flash", NULL};
        int fewer = 0;

        assert_true(make(&plan, "h100-sxm", of[m][0], settings + 4));
        assert_true(make(&packed, "h100-sxm", of[m][0], settings));
        assert_int_equal(packed.program.n_launches, plan.program.n_launches);
        for (int i = 0; i < plan.program.n_launches; i++) {
            const struct mfu_kernel *a = &plan.program.launches[i].work->kernel,
                                    *b = &packed.program.launches[i].work->kernel;

            if (b->flops < a->flops) {
                assert_near(b->m, plan.config.seq, 0);
                fewer++;
            } else {
                assert_near(b->flops, a->flops, 0);
            }
        }
        assert_true(fewer > 0);
    }
}

/* What a pipeline cuts are the layers that n_layer counts, and no rank goes without. */
static void a_pipeline_cuts_what_n_layer_counts(void **state)
{
    const char *const layers[] = {"pp", "8", "n_layer", "16", NULL};
    const char *const less[] = {"pp", "2", "first_stage_less", "1", NULL};
    double all = 0;

    (void)state;
    assert_true(make(&plan, "h100-sxm", "llava-1.5-7b", layers)); /* whose tower is deeper */
    for (int i = 0; i < plan.n_stages; i++)
        all += plan.stages[i].layers;
    assert_near(all, 16, EXACT);
    assert_false(make(&plan, "h100-sxm", "resnet-18", less));
}

/* ---- sizes as functions of batch, sequence, data-parallel ranks ---------------- */

#define WALKS 500 /* scenarios, each with neighbours, and more */
#define OFTEN 50  /* until so many were scaled by each variable */
#define STEPS 12  /* neighbours of one */

static uint64_t seed = 20;

static unsigned any(unsigned below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % below;
}

static struct mfu_scenario any_scenario(const char *const *models, size_t n)
{
    static const char *const keys[][8] = {
        {"runtime", "eager", "compile", "fused", "llmc"},
        {"checkpoint", "none", "selective", "full"},
        {"precision", "bf16", "bf16-pure", "fp16", "fp32", "fp8"},
        {"gpus", "2", "8", "16"},
        {"zero", "0", "1", "2", "3"},
        {"dp_shard", "2", "4"},
        {"tp", "2", "4"},
        {"sp", "on", "off"},
        {"cp", "2"},
        {"ep", "2", "4"},
        {"pp", "2", "4"},
        {"attention", "math", "memeff", "flash"},
        {"optimizer", "adamw", "adamw-loop", "muon", "sgd"},
        {"loss_chunks", "2", "7"},
        {"half_weights", "on", "off"},
        {"seq", "100", "1000", "2048"},
        {"window", "128", "700", "1024"},
        {"trainer", "deepspeed", "megatron", "fsdp2"},
        {"lora", "8"},
        {"offload_optimizer", "on"},
        {"offload_activations", "on"},
        {"optimizer_in_backward", "on"},
        {"software", "2022", "2025"},
        {"trainable_layers", "2"},
        {"vocab_size", "50257", "32768"},
        {"accum", "2", "5", "64"},
    };
    struct mfu_scenario s = mfu_scenario_start(mfu_catalog_model(catalog, models[any((unsigned)n)], NULL),
                                               mfu_catalog_gpu(catalog, any(2) ? "h100-sxm" : "rtx4090", NULL));

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        unsigned choices = 1;

        while (choices < 8 && keys[i][choices])
            choices++;
        if (any(3) == 0)
            mfu_scenario_set(&s, keys[i][0], keys[i][1 + any(choices - 1)], NULL);
    }
    return s;
}

static void assert_same_plan(const struct mfu_plan *a, const struct mfu_plan *b)
{
    assert_int_equal(a->program.n_launches, b->program.n_launches);
    assert_int_equal(a->program.n_tensors, b->program.n_tensors);
    assert_memory_equal(&a->program.mesh, &b->program.mesh, sizeof a->program.mesh);
    for (int i = 0; i < a->program.n_launches; i++) {
        const struct mfu_kernel *x = &a->program.launches[i].work->kernel, *y = &b->program.launches[i].work->kernel;

        assert_true(x->m == y->m && x->n == y->n && x->k == y->k && x->batch == y->batch && x->flops == y->flops);
        assert_true(x->read_bytes == y->read_bytes && x->write_bytes == y->write_bytes);
        assert_true(x->half_share == y->half_share && x->launches == y->launches && x->aligned == y->aligned);
        assert_true(a->pricing.prices[i].time_s == b->pricing.prices[i].time_s);
        assert_true(a->program.launches[i].work->temporary_bytes == b->program.launches[i].work->temporary_bytes);
    }
    for (int i = 0; i < a->program.n_tensors; i++)
        assert_true(a->program.tensors[i].bytes == b->program.tensors[i].bytes);
    assert_true(a->step.time_s == b->step.time_s && a->step.low_s == b->step.low_s && a->step.high_s == b->step.high_s);
    assert_true(a->memory.peak.bytes == b->memory.peak.bytes && a->mfu.mfu == b->mfu.mfu);
    assert_memory_equal(a->memory.peak.parts, b->memory.peak.parts, sizeof a->memory.peak.parts);
    assert_string_equal(a->memory.peak_at, b->memory.peak_at);
}

static int least(const int *of, int n)
{
    int most_rare = of[0];

    for (int i = 1; i < n; i++)
        most_rare = of[i] < most_rare ? of[i] : most_rare;
    return most_rare;
}

/* A plan that is made of its neighbour's is, to the last bit, the one that is made from
 * nothing. */
static void neighbours_are_what_they_are_alone(void **state)
{
    size_t n;
    const char *const *models = mfu_catalog_models(catalog, &n);
    enum { BY_BATCH, BY_SEQ, BY_DP, VARIABLES };
    static const char *const keys[VARIABLES] = {"batch", "seq", "gpus"};
    int scaled[VARIABLES] = {0};

    (void)state;
    for (int i = 0; i < WALKS || (least(scaled, VARIABLES) < OFTEN && i < 4 * WALKS); i++) {
        static const int often[] = {BY_BATCH, BY_SEQ, BY_SEQ, BY_DP}; /* which is refused more often */
        int by = often[any(4)];
        struct mfu_scenario s, other;

        do { /* of images no length is a variable */
            s = other = any_scenario(models, n);
        } while (by == BY_SEQ
                 && (mfu_scenario_set(&other, keys[by], "256", NULL) < 0
                     || !mfu_graph_scales_by(s.model, mfu_scenario_key(&s, keys[by], NULL))));

        for (int k = 0; k < STEPS; k++) {
            struct mfu_plan alone = {0};

            unsigned values[VARIABLES] = {1 + any(any(2) ? 6 : 300), any(30) ? 128 * (1 + any(24)) : 50 + any(3000),
                                          any(30) ? 1u << (1 + any(9)) : 1 + any(9)};
            bool accum = k > 0 && any(6) == 0;
            char value[16];

            snprintf(value, sizeof value, "%u", accum ? 2 + any(3) : values[by]);
            mfu_scenario_set(&s, accum ? "accum" : keys[by], value, NULL);
            if (mfu_plan_make(&plan, &s, NULL) < 0)
                continue;
            scaled[by] += plan.scale.state == MFU_SCALE_HOLDS && !plan.scale.away && (int)plan.scale.by == by + 1;
            assert_int_equal(mfu_plan_make(&alone, &s, NULL), 0);
            assert_same_plan(&plan, &alone);
            mfu_plan_release(&alone);
        }
    }
    for (int by = 0; by < VARIABLES; by++) {
        print_message("%d plans were scaled by %s\n", scaled[by], keys[by]);
        assert_true(scaled[by] >= OFTEN);
    }
}

/* A picture costs as much in a batch of any size, however its edges divide by strides. */
static void pictures_cost_the_same_in_any_batch(void **state)
{
    static const char *const models[] = {"resnet-50",   "resnetv2-50", "efficientnet-b0", "tf_efficientnet_b1",
                                         "regnety-040", "vgg-16",      "convnext-tiny",   "densenet-121"};
    static const char *const images[] = {"200", "225", "250", "257"};
    static const char *const batches[] = {"1", "7"};

    (void)state;
    for (size_t m = 0; m < sizeof models / sizeof *models; m++)
        for (size_t i = 0; i < sizeof images / sizeof *images; i++) {
            double flops[2];

            for (int b = 0; b < 2; b++) {
                const char *const settings[] = {"image", images[i], "batch", batches[b], NULL};

                flops[b] = 0;
                assert_true(make(&plan, "a100-80gb-sxm", models[m], settings));
                for (int k = 0; k < plan.program.n_segments; k++)
                    for (int l = 0; l < plan.program.segments[k].count; l++) {
                        const struct mfu_segment *seg = &plan.program.segments[k];
                        const struct mfu_kernel *kernel =
                            &mfu_launch_in(&plan.program, seg, seg->first + l)->work->kernel;

                        flops[b] += kernel->kind == MFU_GEMM ? seg->repeat * kernel->flops : 0;
                    }
            }
            if (fabs(flops[1] / flops[0] - 7) > EXACT * 7)
                fail_msg("%s at %s: %.9g of one picture, %.9g of seven", models[m], images[i], flops[0], flops[1]);
        }
}

/* FLOPs of the products of a step, one after the other, each as often as its layer repeats; how many they are. */
static int flops_of_products(const char *model, const char *precision, double flops[], int most)
{
    const char *const settings[] = {"precision", precision, "batch", "4", NULL};
    int n = 0;

    assert_true(make(&plan, "v100-32gb-sxm", model, settings));
    for (int k = 0; k < plan.program.n_segments; k++) {
        const struct mfu_segment *seg = &plan.program.segments[k];

        for (int repeat = 0; repeat < seg->repeat; repeat++)
            for (int l = 0; l < seg->count; l++) {
                const struct mfu_kernel *kernel = &mfu_launch_in(&plan.program, seg, seg->first + l)->work->kernel;

                if (kernel->kind == MFU_GEMM && n < most)
                    flops[n++] = kernel->flops;
            }
    }
    return n;
}

/* In fp32 windows of 3 x 3 with a stride of one take 4/9 of the arithmetic, forward and to the input, and nothing else does.
 * ResNet-50 has 13 such, VGG-16 13, of which the first hands no gradient on, Swin none. */
static void small_windows_take_fewer_products_in_fp32(void **state)
{
    static const struct {
        const char *model;
        int fewer;
    } nets[] = {{"resnet-50", 26}, {"vgg-16", 25}, {"swin-tiny-224", 0}};
    enum { MOST = 1024 };
    double fp32[MOST], fp16[MOST];

    (void)state;
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
        int n = flops_of_products(nets[i].model, "fp32", fp32, MOST), fewer = 0;

        assert_int_equal(flops_of_products(nets[i].model, "fp16", fp16, MOST), n);
        assert_true(n > 100 || i == 1);
        for (int k = 0; k < n; k++) {
            double ratio = fp32[k] / fp16[k];

            if (fabs(ratio - 1) > EXACT && fabs(ratio - 4.0 / 9) > EXACT)
                fail_msg("%s: product %d takes %.9g of what it takes in fp16", nets[i].model, k, ratio);
            fewer += ratio < 0.9;
        }
        assert_int_equal(fewer, nets[i].fewer);
    }
}

static int close_all(void **state)
{
    mfu_plan_release(&plan);
    mfu_program_free(&unrolled);
    return close_catalog(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adapters_train_little_and_grow_with_their_size),
        cmocka_unit_test(states_are_of_what_gradients_reach),
        cmocka_unit_test(what_is_saved_lives_until_backward),
        cmocka_unit_test(frozen_vectors_of_a_norm_have_no_gradient),
        cmocka_unit_test(references_keep_weights_that_are_gathered_again),
        cmocka_unit_test(products_that_sum_over_tokens_do_not_want_them_even),
        cmocka_unit_test(fewer_checkpointed_layers_keep_more_and_take_less),
        cmocka_unit_test(adapters_stand_beside_modules_of_the_code),
        cmocka_unit_test(weights_are_those_of_the_operations),
        cmocka_unit_test(settings_of_adapters_act_or_are_refused),
        cmocka_unit_test(layers_train_by_their_numbers),
        cmocka_unit_test(names_of_weights_have_numbers_of_layers),
        cmocka_unit_test(shared_experts_are_mlps),
        cmocka_unit_test(gradients_of_learned_keys_are_collected_once),
        cmocka_unit_test(learned_tokens_have_positions),
        cmocka_unit_test(methods_are_no_larger_than_their_targets),
        cmocka_unit_test(paged_states_cost_nothing_until_the_gpu_is_full),
        cmocka_unit_test(contexts_send_what_they_exchange),
        cmocka_unit_test(ranks_of_a_context_share_attention),
        cmocka_unit_test(collectives_of_a_layer_do_not_depend_on_checkpointing),
        cmocka_unit_test(a_pipeline_gathers_and_sums_once_a_step),
        cmocka_unit_test(weights_that_stay_for_backward_are_gathered_once),
        cmocka_unit_test(deep_models_exchange_as_much_as_they_have),
        cmocka_unit_test(what_is_read_was_written),
        cmocka_unit_test(layers_of_a_package_leave_the_loop_eager),
        cmocka_unit_test(fusion_keeps_every_input),
        cmocka_unit_test(products_in_fp8_read_fp8),
        cmocka_unit_test(splitting_keeps_the_model),
        cmocka_unit_test(all_models_are_split),
        cmocka_unit_test(splitting_keeps_adapters),
        cmocka_unit_test(latent_attention_is_split_by_heads),
        cmocka_unit_test(weighed_biases_are_added_by_expert),
        cmocka_unit_test(experts_have_a_kernel_each),
        cmocka_unit_test(rows_from_other_ranks_are_laid_out_by_expert),
        cmocka_unit_test(halves_are_clamped_beside_the_fused_kernel),
        cmocka_unit_test(quantised_experts_are_padded_and_apart),
        cmocka_unit_test(gradients_added_are_of_the_same_tokens),
        cmocka_unit_test(stages_make_up_the_model),
        cmocka_unit_test(spreading_over_nodes_costs_time),
        cmocka_unit_test(copies_of_shards),
        cmocka_unit_test(an_engine_has_masters_of_what_trains),
        cmocka_unit_test(documents_are_of_texts),
        cmocka_unit_test(a_pipeline_cuts_what_n_layer_counts),
        cmocka_unit_test(neighbours_are_what_they_are_alone),
        cmocka_unit_test(pictures_cost_the_same_in_any_batch),
        cmocka_unit_test(small_windows_take_fewer_products_in_fp32),
    };

    return cmocka_run_group_tests(tests, open_catalog, close_all);
}
