/*
 * test_graph.c - facts from outside about parameters and memory: what the
 * authors of a model publish, what llm.c prints when it allocates.
 */
#include "plans.h"

#include <string.h>

#include "graph/lifetime.h"
#include "graph/builder.h"
#include "graph/graph.h"

#define MIB 0x1p20

static struct mfu_plan plan_made;

static int close_all(void **state)
{
    mfu_plan_release(&plan_made);
    return close_catalog(state);
}

static void parameters_are_as_many_as_published(void **state)
{
    size_t n, stated = 0;
    const char *const *names = mfu_catalog_models(catalog, &n);

    (void)state;
    for (size_t i = 0; i < n; i++) {
        const struct mfu_model *m = mfu_catalog_model(catalog, names[i], NULL);

        assert_non_null(m);
        if (isnan(m->published_params))
            continue;
        stated++;
        plan(&plan_made, "h100-sxm", names[i], NULL);
        if (plan_made.program.params != m->published_params)
            fail_msg("%s: %.0f parameters, published are %.0f", names[i], plan_made.program.params,
                     m->published_params);
    }
    assert_true(stated >= 18);
}

/* A module that predicts one more token is a layer, a product of rows twice as wide and three norms, and the head and the table
 * of words again, which it shares (Megatron-LM d98e8a64, multi_token_prediction.py; DeepSeek V3's has 11.6e9 parameters). */
static void a_further_token_is_a_layer_and_the_head(void **state)
{
    static const struct {
        const char *model, *more;
        double n_embd, vocab, module;
    } rows[] = {{"deepseek-v3", "62", 7168, 129280, 11610067968.}, {"olmo-2-7b", "33", 4096, 100352, NAN}};

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        double n = rows[i].n_embd, joined = 2 * n * n, params[3], flops[3], tokens;

        for (int k = 0; k < 3; k++) {
            plan(&plan_made, "b200", rows[i].model,
                 k == 0       ? NULL
                     : k == 1 ? (const char *const[]){"n_layer", rows[i].more, NULL}
                              : (const char *const[]){"n_mtp", "1", NULL});
            params[k] = plan_made.program.params;
            flops[k] = plan_made.mfu.model_flops;
        }
        tokens = 4096;
        assert_near(params[2] - params[1], joined + 3 * n, 0);
        assert_near((flops[2] - flops[1]) / (6 * tokens * (joined + n * rows[i].vocab)), 1, 0.01);
        if (!isnan(rows[i].module))
            assert_near(params[2] - params[0], rows[i].module, 0);
    }
}

/* Grouped convolutions in channels last that cuDNN 8.3 has no fp16 kernels for on GeForce of Ampere: each pass moves both its
 * tensors to fp32 and back, of groups of 9 to 32 channels that of the weight gradient alone. */
static void wide_groups_are_transposed(void **state)
{
    static const struct {
        const char *gpu, *model, *precision, *software, *last;
        double passes; /* of each convolution of groups */
    } rows[] = {
        {"rtx3090", "regnety_040", "fp16", "2022", "1", 3},      {"rtx3090", "regnety_032", "fp16", "2022", "1", 1},
        {"rtx3090", "regnety_004", "fp16", "2022", "1", 0},      {"rtx3090", "efficientnet_b0", "fp16", "2022", "1", 0},
        {"rtx3090", "resnet-50", "fp16", "2022", "1", 0},        {"rtx3090", "regnety_040", "fp16", "2022", "0", 0},
        {"rtx3090", "regnety_040", "fp16", "2024", "1", 0},      {"rtx3090", "regnety_040", "tf32", "2022", "1", 0},
        {"a100-80gb-sxm", "regnety_040", "fp16", "2022", "1", 0}};

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        double transposes = 0, grouped = 0;

        plan(&plan_made, rows[i].gpu, rows[i].model,
             (const char *const[]){"batch", "8", "precision", rows[i].precision, "software", rows[i].software,
                                   "channels_last", rows[i].last, NULL});
        for (int k = 0; k < plan_made.program.n_segments; k++) {
            const struct mfu_segment *s = &plan_made.program.segments[k];

            for (int l = s->first; l < s->first + s->count; l++) {
                const struct mfu_kernel *kernel = &plan_made.program.launches[l].work->kernel;

                transposes += s->repeat * (kernel->traffic == MFU_C_DRAM_TRANSPOSE);
                grouped += s->repeat * (s->phase == MFU_FORWARD && kernel->batch > 1 && kernel->n > 1);
            }
        }
        if (transposes != rows[i].passes * grouped)
            fail_msg("%s on %s: %g transposed, of %g convolutions", rows[i].model, rows[i].gpu, transposes, grouped);
    }
}

/* Which kernel a depthwise convolution has does not follow from how many windows there are: only the gradient of the weight
 * has the kernel for it, of maps that are smaller than a window, too. */
static void depthwise_gradients_are_the_weights(void **state)
{
    static const char *const images[] = {"64", "224"}; /* last maps of 2 x 2 and 7 x 7, windows of 7 x 7 */

    (void)state;
    for (size_t i = 0; i < LENGTH(images); i++) {
        int of_weights = 0;

        plan(&plan_made, "a100-80gb-sxm", "convnext-tiny",
             (const char *const[]){"batch", "1", "precision", "fp32", "image", images[i], NULL});
        for (int l = 0; l < plan_made.program.n_launches; l++) {
            const struct mfu_launch *launch = &plan_made.program.launches[l];
            enum mfu_depthwise kind = launch->work->kernel.depthwise;

            if (kind == MFU_NOT_DEPTHWISE)
                continue;
            assert_int_equal(kind == MFU_DEPTHWISE_GRADIENT, strcmp(launch->suffix, "wgrad") == 0);
            of_weights += kind == MFU_DEPTHWISE_GRADIENT;
        }
        assert_true(of_weights > 0);
    }
}

/* A frozen autoencoder in the step: as many parameters as diffusers' AutoencoderKL has (of FLUX.1; of Stable Diffusion with
 * its convolution of 1 x 1); encoders of prompts: as many as those of transformers (T5 XXL and CLIP L; with CLIP G; UMT5 XXL). None of which trains or is counted by MFU; what trains takes as long as before, in backward. */
static void a_model_apart_is_forward_alone(void **state)
{
    static const struct {
        const char *model, *precision, *checkpoint, *key;
        double params;
    } rows[] = {{"flux-dev", "bf16-pure", "full", "autoencoder", 83819683},
                {"sd3-medium", "bf16", "none", "autoencoder", 83819683},
                {"dit-xl-2", "fp32", "none", "autoencoder", 83653863},
                {"flux-dev", "bf16-pure", "full", "text_encoders", 4885371136},
                {"sd3.5-medium", "bf16", "none", "text_encoders", 5580620800},
                {"wan-2.1-1.3b", "bf16-pure", "full", "text_encoders", 5680910336}};

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++)
        for (int fp32 = 0; fp32 < (i < 3 ? 2 : 1); fp32++) {
            const struct mfu_step_answer *step = &plan_made.step;
            double params, trained, flops, hardware, forward, backward, weights, each;

            plan(&plan_made, "h200-sxm", rows[i].model,
                 (const char *const[]){"precision", rows[i].precision, "checkpoint", rows[i].checkpoint, NULL});
            params = plan_made.program.params, trained = plan_made.program.trainable_params;
            flops = plan_made.mfu.model_flops, hardware = plan_made.mfu.hardware_flops;
            forward = step->forward_s, backward = step->backward_s;
            weights = plan_made.memory.peak.parts[MFU_PART_WEIGHTS];
            plan(&plan_made, "h200-sxm", rows[i].model,
                 (const char *const[]){"precision", rows[i].precision, "checkpoint", rows[i].checkpoint, rows[i].key,
                                       "1", fp32 ? "autoencoder_fp32" : NULL, "1", NULL});
            each = fp32 || strcmp(rows[i].precision, "fp32") == 0 ? 4 : 2;
            assert_near(plan_made.program.params - params, rows[i].params, 0);
            assert_near(plan_made.program.trainable_params, trained, 0);
            assert_near(plan_made.program.apart_params, rows[i].params, 0);
            assert_near(plan_made.mfu.model_flops, flops, 1e-12);
            assert_near(step->backward_s, backward, 1e-2);
            assert_near(plan_made.memory.peak.parts[MFU_PART_WEIGHTS] - weights, each * rows[i].params, 1e-9);
            assert_true(plan_made.mfu.hardware_flops > hardware);
            assert_true(step->forward_s > forward);
        }
}

/* Mixtral 8x7B: 46.7 B parameters, of which a token uses 12.9 B (Mistral AI). */
static void a_token_visits_two_experts_of_eight(void **state)
{
    (void)state;
    plan(&plan_made, "h100-sxm", "mixtral-8x7b", NULL);
    assert_near(plan_made.program.active_params, 12.88e9, 1e-3);
    assert_near(plan_made.program.params, 46.70e9, 1e-3);
}

static double llmc_activations(void)
{
    return plan_made.memory.peak.parts[MFU_PART_ACTIVATIONS] + plan_made.memory.peak.parts[MFU_PART_LOGITS_LOSS];
}

/* GPT-2 124M in llm.c prints: parameters 237 MiB, gradients 237, AdamW 474 twice,
 * master weights 474, activations 18564 MiB for 56 sequences and 1326 for 4. */
static void llmc_allocates_what_it_prints(void **state)
{
    static const struct {
        const char *batch;
        double mib;
    } rows[] = {{"56", 18564.7}, {"4", 1326.0}};
    const double *parts = plan_made.memory.peak.parts;

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        plan(&plan_made, "a100-80gb-sxm", "gpt2",
             (const char *const[]){"bias", "1", "runtime", "llmc", "attention", "cudnn", "checkpoint", "selective",
                                   "batch", rows[i].batch, NULL});
        assert_near(llmc_activations() / MIB, rows[i].mib, 5e-5);
        assert_near(plan_made.program.params, 124475904, 0);
        assert_near(parts[MFU_PART_WEIGHTS] / MIB, 237.4, 1e-3);
        assert_near(parts[MFU_PART_GRADIENTS] / MIB, 237.4, 1e-3);
        assert_near(parts[MFU_PART_OPTIMIZER] / MIB, 3 * 474.8, 1e-3);
    }
}

/* The same of any size, by the formula of fill_in_activation_sizes (bytes,
 * cuDNN attention; `rec` is llm.c's -r). */
static double llmc_formula(double n, double L, double C, double H, double V, int rec)
{
    double layer = 2 * C * (rec < 2) + 8 + 2 * C + 4 * H + 2 * C + 2 * C * (rec < 2) + 8 + 8 * C + 8 * C * (rec < 1)
        + 2 * C + 6 * C;

    return n * (2 * C + L * layer + 8 * C * (rec >= 1) + 2 * C + 8 + 4 + 2 * fmax(3 * C, V) + 8 * C + 2 * C);
}

static void llmc_keeps_less_as_it_recomputes_more(void **state)
{
    static const char *const models[] = {"gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl"};
    static const char *const levels[] = {"none", "selective", "full"};

    (void)state;
    for (size_t i = 0; i < LENGTH(models); i++)
        for (int rec = 0; rec < 3; rec++) {
            const struct mfu_config *c = &plan_made.config;

            plan(&plan_made, "h200-sxm", models[i],
                 (const char *const[]){"bias", "1", "runtime", "llmc", "attention", "cudnn", "checkpoint", levels[rec],
                                       "batch", "7", NULL});
            assert_near(llmc_activations(),
                        llmc_formula(c->tokens, mfu_config_dim(c, "n_layer"), mfu_config_dim(c, "n_embd"),
                                     mfu_config_dim(c, "n_head"), mfu_config_dim(c, "vocab_size"), rec),
                        1e-9);
        }
}

/* Kernels of one micro-step that run a part of forward again in backward. */
static double computed_again(const char *name)
{
    const struct mfu_program *p = &plan_made.program;
    double n = 0;

    for (int i = 0; i < p->n_segments; i++)
        for (int k = p->segments[i].first; k < p->segments[i].first + p->segments[i].count; k++)
            if (p->launches[k].recomputed && strcmp(p->launches[k].op, name) == 0)
                n += p->segments[i].repeat;
    return n;
}

/* llm.c's backward: gelu_forward with -r 1, the two layernorm_forward with -r 2. */
static void llmc_computes_no_product_again(void **state)
{
    static const char *const levels[] = {"none", "selective", "full"};

    (void)state;
    for (int rec = 0; rec < 3; rec++) {
        plan(&plan_made, "a100-80gb-sxm", "gpt2",
             (const char *const[]){"bias", "1", "runtime", "llmc", "checkpoint", levels[rec], "batch", "8", NULL});
        assert_near(computed_again("mlp.gelu"), rec > 0 ? 12 : 0, 0);
        assert_near(computed_again("ln_1") + computed_again("ln_2"), rec > 1 ? 24 : 0, 0);
        assert_near(computed_again("mlp.fc") + computed_again("attn.qkv") + computed_again("attn.core"), 0, 0);
    }
}

/* Megatron-LM's selective recomputation: scores and probabilities, no product with
 * a weight (Korthikanti et al. 2022, section 5). */
static void megatron_computes_attention_again(void **state)
{
    double none, selective;

    (void)state;
    plan(&plan_made, "a100-80gb-sxm", "gpt2",
         (const char *const[]){"runtime", "fused", "attention", "math", "batch", "8", NULL});
    none = mfu_saved_bytes(&plan_made.program);
    plan(&plan_made, "a100-80gb-sxm", "gpt2",
         (const char *const[]){"runtime", "fused", "attention", "math", "batch", "8", "checkpoint", "selective", NULL});
    selective = mfu_saved_bytes(&plan_made.program);
    assert_true(computed_again("attn.core") > 0);
    assert_near(computed_again("mlp.fc") + computed_again("attn.qkv") + computed_again("mlp.gelu"), 0, 0);
    assert_true(selective < 0.7 * none);
}

/* What each module of --recompute-modules runs again and what forward then keeps less, with Megatron's own layers
 * (transformer_layer.py, moe_layer.py, experts.py, multi_latent_attention.py): t tokens in bf16. */
static void megatron_computes_modules_again(void **state)
{
    static const struct {
        const char *module, *again[3], *not_again[3];
        double kept_less; /* per token, in elements: of 26 layers with experts and 1 without */
    } rows[] = {
        {"layernorm", {"ln_1", "mlp.input"}, {"attn.kv_norm", "attn.kv_a", "moe.gate"}, 2048 * (27 + 27)},
        {"moe_act", {"moe.act"}, {"mlp.act", "shared.act", "moe.down"}, 26 * 6 * 1408},
        {"mla_up_proj", {"attn.q", "attn.kv"}, {"attn.kv_a", "attn.kv_norm", "attn.core"}, NAN},
        {"mlp", {"mlp.gate", "mlp.up", "mlp.down"}, {"moe.gate", "shared.up", "attn.o"}, 3 * 10944},
        {"shared_experts", {"shared.gate", "shared.act", "shared.down"}, {"moe.up", "mlp.up", "attn.q"}, 26 * 3 * 2816},
        {"moe", {"moe.route", "moe.down", "shared.down"}, {"mlp.up", "attn.core", "attn.o"}, NAN},
    };
    double none;

    (void)state;
#define WITH(...)                                                                                                      \
    (const char *const[]){"runtime", "fused", "trainer", "megatron", "attention", "cudnn", __VA_ARGS__, NULL}
    plan(&plan_made, "b200-sxm", "deepseek-v2-lite", WITH("checkpoint", "none"));
    none = mfu_saved_bytes(&plan_made.program);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        double less;

        plan(&plan_made, "b200-sxm", "deepseek-v2-lite", WITH("recompute_modules", rows[i].module));
        less = (none - mfu_saved_bytes(&plan_made.program)) / 2 / plan_made.config.tokens;
        for (int k = 0; k < 3; k++) {
            assert_true(!rows[i].again[k] || computed_again(rows[i].again[k]) > 0);
            assert_near(computed_again(rows[i].not_again[k]), 0, 0);
        }
        assert_true(isnan(rows[i].kept_less) ? less > 0 : fabs(less - rows[i].kept_less) <= 1e-3 * rows[i].kept_less);
    }
    /* TransformerEngine's norms are part of the product behind them, but in front of experts and narrow products. */
    plan(&plan_made, "b200-sxm", "llama-2-7b", WITH("trainer", "megatron-te", "recompute_modules", "layernorm"));
    assert_near(computed_again("ln_1") + computed_again("ln_2"), 0, 0);
}

/* A module more that is computed again: no more memory, no less time. */
static void more_modules_take_no_more_memory(void **state)
{
    static const char *const models[][2] = {
        {"deepseek-v3", "5"}, {"deepseek-v2-lite", "4"},  {"mixtral-8x7b", "4"},
        {"bamba-9b", "12"},   {"mamba2-1.3b", "8"},       {"mamba2-2.7b", "8"},
        {"bart-base", "6"},   {"whisper-small", "12"},    {"llama-3-8b", "4"},
        {"gpt2", "12"},       {"qwen1.5-moe-a2.7b", "4"}, {"qwen3-next-80b-a3b", "8"},
    };
    static const char *const precisions[] = {"bf16", "fp8", "fp8-current"};

    (void)state;
    for (size_t i = 0; i < LENGTH(models) * LENGTH(precisions); i++) {
        const char *const *m = models[i / LENGTH(precisions)], *precision = precisions[i % LENGTH(precisions)];
        double bytes[1 << MFU_RECOMPUTED_MODULE_COUNT], busy_s[1 << MFU_RECOMPUTED_MODULE_COUNT];

        for (unsigned set = 0; set < 1u << MFU_RECOMPUTED_MODULE_COUNT; set++) {
            char modules[MFU_QUANTITY_MAX * 2] = "";

            if (strcmp(precision, "fp8") == 0
                && set & (MFU_RECOMPUTED_BIT(AGAIN_NORMS) | MFU_RECOMPUTED_BIT(AGAIN_ACTIVATION)))
                continue;
            for (int k = 0; k < MFU_RECOMPUTED_MODULE_COUNT; k++)
                if (set >> k & 1) {
                    strcat(modules, *modules ? "," : "");
                    strcat(modules, mfu_recomputed_modules[k].name);
                }
            plan(&plan_made, "h200-sxm", m[0],
                 (const char *const[]){"n_layer", m[1], "runtime", "fused", "trainer", "megatron", "precision",
                                       precision, set ? "recompute_modules" : "checkpoint", set ? modules : "none",
                                       NULL});
            bytes[set] = plan_made.memory.peak.bytes;
            busy_s[set] = plan_made.step.busy_s;
            for (int k = 0; k < MFU_RECOMPUTED_MODULE_COUNT; k++) {
                unsigned less = set & ~(1u << k);

                if (bytes[set] > bytes[less] * (1 + 1e-9) || busy_s[set] < busy_s[less] * (1 - 1e-9))
                    fail_msg("%s %s: %s, %s among them: %.0f -> %.0f bytes, %g -> %g s", m[0], precision, modules,
                             mfu_recomputed_modules[k].name, bytes[less], bytes[set], busy_s[less], busy_s[set]);
            }
        }
    }
}

/* mamba-ssm's scan keeps what it reads and gives; by parts what tokens of a chunk are to each other is kept, too. */
static void whole_scans_keep_no_pairs(void **state)
{
    (void)state;
    for (int whole = 0; whole < 2; whole++) {
        double kept[2];

        for (int large = 0; large < 2; large++) {
            plan(&plan_made, "h100-sxm", "mamba2-1.3b",
                 (const char *const[]){"runtime", whole ? "fused" : "eager", "chunk", large ? "256" : "128", NULL});
            kept[large] = mfu_saved_bytes(&plan_made.program);
        }
        if (whole)
            assert_near(kept[1], kept[0], 1e-12);
        else
            assert_true(kept[1] > 1.1 * kept[0]);
    }
}

/* Every attention is core_attn; the MLP is what comes behind all that mixes tokens; no module is of a Mamba mixer. */
static void modules_leave_mixers_alone(void **state)
{
    static const struct {
        const char *model, *module, *again[2], *not_again[3];
    } rows[] = {
        {"bart-base", "core_attn", {"attn.core", "cross.core"}, {"attn.q", "cross.q", "mlp.up"}},
        {"bart-base", "mlp", {"mlp.up", "mlp.down"}, {"attn.q", "attn.core", "cross.k"}},
        {"bamba-9b", "mlp", {"mlp.gate", "mlp.down"}, {"mixer.in", "mixer.scan", "mixer.out"}},
        {"bamba-9b", "layernorm", {"ln_2"}, {"mixer.norm", "mixer.in", "mlp.up"}},
        {"mamba2-1.3b", "layernorm", {NULL}, {"norm", "mixer.norm", "mixer.in"}},
        {"qwen3-next-80b-a3b", "moe", {"moe.down", "shared.down"}, {"delta.qkvz", "delta.rule", "delta.out"}},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        plan(&plan_made, "b200-sxm", rows[i].model, WITH("recompute_modules", rows[i].module));
        for (int k = 0; k < 2; k++)
            assert_true(!rows[i].again[k] || computed_again(rows[i].again[k]) > 0);
        for (int k = 0; k < 3; k++)
            assert_near(computed_again(rows[i].not_again[k]), 0, 0);
    }
}

/* PyTorch with AdamW: 16 bytes per parameter in fp32 and under autocast, 8 in
 * pure bf16 (docs: ZeRO paper, section 3.1). */
static void states_take_sixteen_bytes_per_parameter(void **state)
{
    static const struct {
        const char *precision, *optimizer;
        double bytes;
    } rows[] = {
        {"fp32", "adamw", 16},        {"bf16", "adamw", 16}, {"bf16-pure", "adamw", 8}, {"bf16", "sgd", 8},
        {"bf16", "sgd-momentum", 12}, {"bf16", "lion", 12},  {"bf16", "adam8bit", 10},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const double *parts = plan_made.memory.peak.parts;
        double states;

        plan(&plan_made, "a100-80gb-sxm", "gpt2-large",
             (const char *const[]){"precision", rows[i].precision, "optimizer", rows[i].optimizer, "accum", "2", NULL});
        states = plan_made.program.constant_bytes[MFU_PART_WEIGHTS]
            + plan_made.program.constant_bytes[MFU_PART_GRADIENTS]
            + plan_made.program.constant_bytes[MFU_PART_OPTIMIZER];
        assert_near(states, rows[i].bytes * plan_made.program.params, 5e-3);
        assert_true(parts[MFU_PART_WEIGHTS] >= plan_made.program.constant_bytes[MFU_PART_WEIGHTS]);
    }
}

/* What is alive at the peak makes up its parts. */
static void tensors_alive_at_the_peak_make_up_its_parts(void **state)
{
    static struct mfu_alive alive[4096];
    double parts[MFU_PART_COUNT];
    size_t n;

    (void)state;
    plan(&plan_made, "rtx4070", "gpt2", (const char *const[]){"batch", "8", "accum", "40", NULL});
    memcpy(parts, plan_made.program.constant_bytes, sizeof parts);
    n = mfu_lifetime_alive(&plan_made.program, &plan_made.memory.peak, alive, LENGTH(alive));
    for (size_t i = 0; i < n; i++) {
        parts[alive[i].part] += alive[i].bytes * alive[i].copies;
        if (i > 0)
            assert_true(alive[i].bytes * alive[i].copies <= alive[i - 1].bytes * alive[i - 1].copies);
    }
    for (int i = 0; i < MFU_PART_COUNT; i++)
        if (i != MFU_PART_WORKSPACE) /* temporaries of the launch are no tensors */
            assert_near(parts[i], plan_made.memory.peak.parts[i], 1e-9);
}

/* Newton-Schulz of every hidden matrix, experts one by one: five steps of
 * 4 m^2 n + 2 m^3 FLOP; one momentum for them, Adam's two for the rest. */
static void muon_counts_every_matrix(void **state)
{
    static const struct {
        const char *model;
        double flops, hidden; /* worked out from the published sizes */
    } rows[] = {
        /* per layer: q, o 4096 x 4096; k, v 1024 x 4096; gate, up, down 14336 x 4096 */
        {"llama-3-8b",
         5 * 32
             * (2 * (6 * 4096. * 4096 * 4096) + 2 * (4 * 1024. * 1024 * 4096 + 2 * 1024. * 1024 * 1024)
                + 3 * (4 * 4096. * 4096 * 14336 + 2 * 4096. * 4096 * 4096)),
         32 * (2 * 4096. * 4096 + 2 * 1024. * 4096 + 3 * 14336. * 4096)},
        /* the same with eight experts, and a router of 8 x 4096 */
        {"mixtral-8x7b",
         5 * 32
             * (2 * (6 * 4096. * 4096 * 4096) + 2 * (4 * 1024. * 1024 * 4096 + 2 * 1024. * 1024 * 1024)
                + 8 * 3 * (4 * 4096. * 4096 * 14336 + 2 * 4096. * 4096 * 4096) + 4 * 8. * 8 * 4096 + 2 * 8. * 8 * 8),
         32 * (2 * 4096. * 4096 + 2 * 1024. * 4096 + 8 * 3 * 14336. * 4096 + 8 * 4096.)},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const char *const settings[] = {"optimizer", "muon", NULL};
        double flops = 0;

        plan(&plan_made, "h100-sxm", rows[i].model, settings);
        for (int k = 0; k < plan_made.program.n_segments; k++) {
            const struct mfu_segment *seg = &plan_made.program.segments[k];

            for (int l = seg->first; l < seg->first + seg->count; l++)
                if (strncmp(plan_made.program.launches[l].suffix, "newton_schulz", 13) == 0)
                    flops += seg->repeat * plan_made.program.launches[l].work->kernel.flops;
        }
        assert_near(flops, rows[i].flops, 1e-9);
        assert_near(plan_made.program.constant_bytes[MFU_PART_OPTIMIZER],
                    4 * (rows[i].hidden + 2 * (plan_made.program.params - rows[i].hidden)), 1e-9);
    }
}

/* Attention of single products copies heads apart for them, and their gradients beside each other: as autograd's own
 * list of operations has it (BERT's and nanoGPT's code, where what is packed is joined); products that read heads where they
 * lie copy nothing. */
static void heads_are_copied_as_autograd_does(void **state)
{
    static const struct {
        const char *model, *runtime;
        int forward, backward; /* of a layer */
    } rows[] = {{"bert-base", "eager", 4, 4}, {"gpt2", "eager", 4, 3 + 1}, {"gpt2", "fused", 1, 1}};

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const char *const settings[] = {"attention", "math", "runtime", rows[i].runtime, NULL};
        int copies[2] = {0}, layers;

        plan(&plan_made, "a100-80gb-sxm", rows[i].model, settings);
        layers = (int)mfu_config_dim(&plan_made.config, "n_layer");
        for (int k = 0; k < plan_made.program.n_segments; k++) {
            const struct mfu_segment *seg = &plan_made.program.segments[k];

            for (int l = seg->first; l < seg->first + seg->count; l++) {
                const struct mfu_launch *x = &plan_made.program.launches[l];

                if (x->work->kernel.kind == MFU_COPY && x->phase <= MFU_BACKWARD && strstr(x->op, "attn"))
                    copies[x->phase == MFU_BACKWARD] += (int)seg->repeat;
            }
        }
        assert_int_equal(copies[0], rows[i].forward * layers);
        assert_int_equal(copies[1], rows[i].backward * layers);
    }
}

/* An update that goes through tensors one by one keeps temporaries of one: twelve layers more are more weights,
 * gradients and states, and nothing else. */
static void loops_over_tensors_keep_temporaries_of_one(void **state)
{
    static const char *const optimizers[] = {"adafactor", "bertadam"};

    (void)state;
    for (size_t i = 0; i < sizeof optimizers / sizeof *optimizers; i++) {
        double peak[2], states[2], params[2];

        for (int deep = 0; deep < 2; deep++) {
            const char *const settings[] = {
                "precision", "fp32", "seq", "16", "optimizer", optimizers[i], "n_layer", deep ? "24" : "12", NULL};

            plan(&plan_made, "h100-sxm", "gpt2", settings);
            peak[deep] = plan_made.memory.peak.bytes;
            states[deep] = plan_made.program.constant_bytes[MFU_PART_OPTIMIZER];
            params[deep] = plan_made.program.params;
        }
        assert_near(peak[1] - peak[0], 8 * (params[1] - params[0]) + states[1] - states[0], 0.02);
    }
}

/* Liger's swiglu.py: the gate's activation is not kept, and forward has one kernel less, backward three. */
static void gates_of_one_kernel_keep_two_tensors_and_not_three(void **state)
{
    static const char *const package[] = {"flash-attn", "liger"};
    double live[2], launches[2], flops[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        plan(&plan_made, "h100-sxm", "llama-2-7b",
             (const char *const[]){"kernel_package", package[i], "precision", "bf16-pure", "seq", "1024", "batch", "8",
                                   NULL});
        live[i] = plan_made.memory.peak.bytes;
        launches[i] = plan_made.sums.launches[MFU_FORWARD] + plan_made.sums.launches[MFU_BACKWARD];
        flops[i] = plan_made.mfu.model_flops;
    }
    assert_true(live[0] - live[1] == 32. * 8 * 1024 * 11008 * 2);
    assert_true(launches[0] - launches[1] == 32. * (1 + 2));
    assert_true(flops[0] == flops[1]);
}

/* A model may remember nothing of the batch before; a prompt has tokens, and the dim that says so is named. */
static void a_length_may_be_zero_where_the_operation_may(void **state)
{
    struct mfu_scenario s = mfu_scenario_start(mfu_catalog_model(catalog, "transfo-xl-wt103", NULL),
                                               mfu_catalog_gpu(catalog, "h100-sxm", NULL));
    static struct mfu_plan with, without;
    struct mfu_error err = {0};

    (void)state;
    s.gpu_given = s.model_given = true;
    assert_int_equal(mfu_plan_make(&with, &s, &err), 0);
    assert_int_equal(mfu_scenario_set(&s, "mem_len", "0", &err), 0);
    if (mfu_plan_make(&without, &s, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(without.mfu.model_flops < with.mfu.model_flops && without.memory.peak.bytes < with.memory.peak.bytes);
    s = mfu_scenario_start(mfu_catalog_model(catalog, "sd-1.5", NULL), mfu_catalog_gpu(catalog, "h100-sxm", NULL));
    s.gpu_given = s.model_given = true;
    assert_int_equal(mfu_scenario_set(&s, "text", "0", &err), 0);
    assert_int_equal(mfu_plan_make(&with, &s, &err), -1);
    assert_string_equal(err.text, "text: length of embed.context is 0: expected 1 or more");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_are_as_many_as_published),
        cmocka_unit_test(a_further_token_is_a_layer_and_the_head),
        cmocka_unit_test(wide_groups_are_transposed),
        cmocka_unit_test(depthwise_gradients_are_the_weights),
        cmocka_unit_test(a_model_apart_is_forward_alone),
        cmocka_unit_test(a_length_may_be_zero_where_the_operation_may),
        cmocka_unit_test(a_token_visits_two_experts_of_eight),
        cmocka_unit_test(llmc_allocates_what_it_prints),
        cmocka_unit_test(llmc_keeps_less_as_it_recomputes_more),
        cmocka_unit_test(llmc_computes_no_product_again),
        cmocka_unit_test(megatron_computes_attention_again),
        cmocka_unit_test(megatron_computes_modules_again),
        cmocka_unit_test(more_modules_take_no_more_memory),
        cmocka_unit_test(whole_scans_keep_no_pairs),
        cmocka_unit_test(modules_leave_mixers_alone),
        cmocka_unit_test(states_take_sixteen_bytes_per_parameter),
        cmocka_unit_test(muon_counts_every_matrix),
        cmocka_unit_test(loops_over_tensors_keep_temporaries_of_one),
        cmocka_unit_test(heads_are_copied_as_autograd_does),
        cmocka_unit_test(gates_of_one_kernel_keep_two_tensors_and_not_three),
        cmocka_unit_test(tensors_alive_at_the_peak_make_up_its_parts),
    };

    return cmocka_run_group_tests(tests, open_catalog, close_all);
}
