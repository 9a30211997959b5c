/*
 * resolve_training.c - what trains and how: precision, runtime, attention, adapters and frozen weights, the objective
 * and its reference model, the optimizer; and what of it no program does or nothing here models.
 */
#include "scenario/resolve.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "descriptor/module_kinds.h"
#include "scenario/adapter.h"

static bool has_peak(const struct mfu_gpu *g, enum mfu_peak p)
{
    return g->peak_flops[p] > 0; /* false for unknown, too */
}

static enum mfu_precision default_precision(const struct mfu_gpu *g)
{
    enum mfu_precision best = MFU_FP32;

    for (int i = 0; i < MFU_PRECISION_COUNT; i++)
        if (mfu_precisions[i].preference > mfu_precisions[best].preference
            && (!g || has_peak(g, mfu_precisions[i].linear_math)))
            best = (enum mfu_precision)i;
    return best;
}

/* What is not known of a card (NAN), it does not have. */
static bool reads_scales(const struct mfu_gpu *g, const struct mfu_precision_row *row)
{
    return row->least_capability == 0 || g->compute_capability >= row->least_capability
        || (row->isa && strcmp(g->isa, row->isa) == 0);
}

static int check_precision(const struct mfu_gpu *g, enum mfu_precision p, struct mfu_error *err)
{
    bool units =
        has_peak(g, mfu_precisions[p].linear_math) && has_peak(g, mfu_precisions[p].math); /* linears, attention */

    if (units && !reads_scales(g, &mfu_precisions[p]))
        return mfu_fail_suggest(
            err, mfu_precisions[p].instead,
            "precision: the tensor cores of %s read no scales of %s: that needs compute capability %.1f or %s, it "
            "has %s",
            g->name, mfu_precisions[p].name, mfu_precisions[p].least_capability, mfu_precisions[p].isa,
            mfu_gpu_generation((char[32]){0}, g));
    if (units)
        return 0;
    return mfu_fail_suggest(err, mfu_precisions[p].instead, "precision: %s has no %s tensor cores (%s, %s)", g->name,
                            mfu_precisions[p].name, g->architecture, mfu_gpu_generation((char[32]){0}, g));
}

static struct mfu_attention_needs attention_needs(const struct mfu_config *c)
{
    return (struct mfu_attention_needs){
        .half = mfu_precisions[c->precision].half,
        .head_dim = mfu_config_dim(c, "head_dim"),
        .capability = c->gpu ? c->gpu->compute_capability : 8.0,
        .software = c->gpu ? mfu_maker(c->gpu->vendor)->software : MFU_CUDA,
        .softcap = mfu_config_dim(c, "attn_softcap") > 0,
        .parts_only = mfu_config_dim(c, "math_attention") > 0,
        .grouped = mfu_config_dim(c, "n_kv_head") < mfu_config_dim(c, "n_head"),
        .te = mfu_config_transformer_engine(c)
            && (mfu_runtimes[c->runtime].transformer_engine || c->setting_origin[MFU_S_TRAINER] == MFU_ORIGIN_USER),
        .c_program = mfu_runtimes[c->runtime].c_program,
    };
}

static int check_attention(const struct mfu_config *c, struct mfu_error *err)
{
    struct mfu_attention_needs needs = attention_needs(c);
    const char *why = mfu_attention_refusal(c->attention, &needs);

    if (!why)
        return 0;
    return mfu_fail_suggest(err, mfu_attention_names[mfu_attention_default(&needs)],
                            "attention: %s is not possible here: %s", mfu_attention_names[c->attention], why);
}

/* Modules that Megatron's selective recomputation names (transformer_config.py, __post_init__). */
static int check_recomputed(const struct mfu_config *c, struct mfu_error *err)
{
    const struct mfu_runtime *r = &mfu_runtimes[c->runtime];
    unsigned set = (unsigned)c->setting[MFU_S_RECOMPUTE_MODULES];

    if (c->setting_origin[MFU_S_RECOMPUTE_MODULES] != MFU_ORIGIN_USER || !mfu_checkpoints[c->checkpoint].keeps_products)
        return 0;
    if (!r->recompute_attention)
        return mfu_fail_suggest(err, "set runtime fused",
                                "recompute_modules: runtime %s knows no modules of layers to compute again", r->name);
    for (int i = 0; i < MFU_RECOMPUTED_MODULE_COUNT; i++)
        if (set >> i & 1 && mfu_recomputed_modules[i].wants_scales && mfu_precisions[c->precision].delayed)
            return mfu_fail_suggest(err, "fp8-current",
                                    "recompute_modules: %s is not possible with precision %s: its scales are delayed",
                                    mfu_recomputed_modules[i].name, mfu_precisions[c->precision].name);
    return 0;
}

/* What a runtime cannot do whatever it costs: planned all the same, it would be
 * advice that cannot be followed.  Source: PyTorch's Inductor (Triton's least
 * compute capability), llm.c's train_gpt2.cu. */
static int check_runtime(const struct mfu_config *c, struct mfu_error *err)
{
    static const struct {
        enum mfu_setting_id id;
        double most;
        const char *why, *instead;
    } llmc[] = {
        {MFU_S_CUDA_GRAPHS, 0, "llm.c launches its kernels one by one", "off"},
        {MFU_S_LOSS_CHUNKS, 1, "llm.c computes the loss in one piece, in place", "1"},
        {MFU_S_EXPANDABLE_SEGMENTS, 0, "llm.c has no caching allocator", "off"},
        {MFU_S_ZERO, 1, "llm.c shards the optimizer only", "1"},
        {MFU_S_HALF_WEIGHTS, 0, "llm.c's weights have 16 bits anyway", "off"},
        {MFU_S_DP_SHARD, 0, "llm.c has one copy of its optimizer", "0"},
        {MFU_S_PACKING, 0, "llm.c's attention knows no documents", "off"},
        {MFU_S_OBJECTIVE, MFU_NEXT_TOKEN, "llm.c learns the next token", "next-token"},
        {MFU_S_LOOP, 0, "llm.c has a loop of its own", "plain"},
    };
    const struct mfu_runtime *r = &mfu_runtimes[c->runtime];
    const struct mfu_maker *maker = mfu_maker(c->gpu->vendor);

    if (r->lacks & MFU_ON(maker->software))
        return mfu_fail_suggest(err, "eager", "runtime: %s does not run on cards of %s", r->name, maker->vendor);
    if (mfu_optimizers[c->optimizer].lacks & MFU_ON(maker->software))
        return mfu_fail_suggest(err, "adamw", "optimizer: %s does not run on cards of %s",
                                mfu_optimizers[c->optimizer].name, maker->vendor);
    if (c->gpu->compute_capability < r->least_capability)
        return mfu_fail_suggest(err, "eager", "runtime: %s is not possible on %s: %s, it has %.1f", r->name,
                                c->gpu->name, r->lacking, c->gpu->compute_capability);
    if (r->recompute_ops && mfu_checkpoints[c->checkpoint].by_budget)
        return mfu_fail_suggest(err, mfu_checkpoint_names[MFU_SELECTIVE],
                                "checkpoint: not possible with runtime %s: it recomputes single operations", r->name);
    if (check_recomputed(c, err) < 0)
        return -1;
    if (c->setting[MFU_S_CHECKPOINT_LAYERS] > 0
        && (r->recompute_ops || (r->recompute_attention && mfu_checkpoints[c->checkpoint].keeps_products)))
        return mfu_fail_suggest(err, r->recompute_ops ? "0" : "set checkpoint full",
                                "checkpoint_layers: with %s, runtime %s computes operations of all layers again",
                                mfu_checkpoint_names[c->checkpoint], r->name);
    if (!r->c_program)
        return 0;
    for (size_t i = 0; i < sizeof llmc / sizeof llmc[0]; i++)
        if (c->setting[llmc[i].id] > llmc[i].most)
            return mfu_fail_suggest(err, llmc[i].instead, "%s: not possible with runtime %s: %s",
                                    mfu_settings[llmc[i].id].key, r->name, llmc[i].why);
    if (mfu_optimizers[c->optimizer].in_c_programs)
        return 0;
    return mfu_fail_suggest(err, "adamw", "optimizer: not possible with runtime %s: llm.c has AdamW only", r->name);
}

/* 16-bit weights with fp32 masters are a way to compute in fp16 or bf16. */
static int check_half_weights(const struct mfu_config *c, struct mfu_error *err)
{
    const struct mfu_precision_row *row = &mfu_precisions[c->precision];

    if (c->setting[MFU_S_HALF_WEIGHTS] == 0 || !row->no_half_weights)
        return 0;
    return mfu_fail_suggest(err, "off", "half_weights: not possible with precision %s: %s", row->name,
                            row->no_half_weights);
}

static bool trains_part(const struct mfu_config *c)
{
    return c->setting[MFU_S_LORA] > 0 || c->setting[MFU_S_TRAINABLE] != MFU_MODULES_ALL
        || c->setting[MFU_S_TRAINABLE_LAYERS] > 0;
}

/* ZeRO is modelled as DeepSpeed, Megatron and FSDP's mixed precision have it:
 * what is sharded are fp32 masters, and 16-bit weights and gradients compute. */
static bool sharding_halves(const struct mfu_config *c)
{
    return c->setting[MFU_S_ZERO] > 0 && (!trains_part(c) || mfu_trainers[c->trainer].half_shards)
        && !mfu_precisions[c->precision].no_half_weights && !mfu_runtimes[c->runtime].c_program;
}

/* Adapters leave the model's weights frozen, in 16 bits where products have them, and
 * have the type that their code gives them. */
static void derive_adapters(struct mfu_config *c)
{
    const struct mfu_adapter_row *code;
    const struct mfu_method_row *method;

    if (c->setting[MFU_S_TRAINABLE_FROM] >= 0)
        mfu_derive(c, MFU_S_TRAINABLE_LAYERS, fmax(mfu_config_dim(c, "n_layer") - c->setting[MFU_S_TRAINABLE_FROM], 1));
    if (c->setting[MFU_S_OPTIMIZER_IN_BACKWARD] > 0)
        mfu_derive(c, MFU_S_GRAD_CLIP, 0);
    if (c->setting[MFU_S_ADAPTER] > 0)
        mfu_derive(c, MFU_S_LORA, mfu_methods[(int)c->setting[MFU_S_ADAPTER]].size);
    if (c->setting[MFU_S_LORA] == 0)
        return;
    if (c->setting[MFU_S_ADAPTER] == 0)
        mfu_derive(c, MFU_S_ADAPTER, MFU_METHOD_LORA);
    method = &mfu_methods[(int)c->setting[MFU_S_ADAPTER]];
    mfu_derive(c, MFU_S_REFERENCE, MFU_REFERENCE_BASE);
    mfu_derive(c, MFU_S_TRAINABLE, 0);
    if (method->trains_norms)
        c->setting[MFU_S_TRAINABLE] = (double)((unsigned)c->setting[MFU_S_TRAINABLE] | MFU_MODULE_BIT(NORMS));
    if (mfu_runtimes[c->runtime].whole_norms) /* hand-fused kernels */
        mfu_derive(c, MFU_S_LORA_KERNELS, MFU_ADAPTER_FUSED);
    code = &mfu_adapters[(int)c->setting[MFU_S_LORA_KERNELS]];
    mfu_derive(c, MFU_S_LORA_DTYPE, (code->half_adapters || sharding_halves(c)) && mfu_precisions[c->precision].half);
    if (mfu_precisions[c->precision].half)
        mfu_derive(c, MFU_S_BASE, MFU_BASE_16BIT);
    mfu_derive(c, MFU_S_FP32_REST, code->casts && mfu_bases[(int)c->setting[MFU_S_BASE]].kbit);
}

const struct mfu_reference_row *mfu_config_reference(const struct mfu_config *c)
{
    const struct mfu_reference_row *row = &mfu_references[(int)c->setting[MFU_S_REFERENCE]];

    return mfu_objectives[(int)c->setting[MFU_S_OBJECTIVE]].refers && row->pass ? row : NULL;
}

bool mfu_config_experts_apart(const struct mfu_config *c)
{
    return mfu_runtimes[c->runtime].experts_apart
        && !(c->setting[MFU_S_CUDA_GRAPHS] > 0 && c->setting[MFU_S_GRAPH_SCOPE] == MFU_GRAPHS_OF_ALL);
}

bool mfu_config_loads_halves(const struct mfu_config *c)
{
    return mfu_bases[(int)c->setting[MFU_S_BASE]].half && c->setting[MFU_S_LORA] == 0;
}

bool mfu_config_transformer_engine(const struct mfu_config *c)
{
    return mfu_runtimes[c->runtime].transformer_engine || mfu_trainers[c->trainer].transformer_engine;
}

bool mfu_config_plain_core(const struct mfu_config *c)
{
    return mfu_runtimes[c->runtime].layers_only && mfu_trainers[c->trainer].transformer_engine;
}

enum mfu_coefficient mfu_config_host_layer(const struct mfu_config *c)
{
    enum mfu_coefficient own = mfu_trainers[c->trainer].host_layer;

    return own == MFU_COEFFICIENT_COUNT && mfu_runtimes[c->runtime].transformer_engine ? MFU_C_HOST_TE : own;
}

bool mfu_config_fused_softmax(const struct mfu_config *c)
{
    double heads;

    if (mfu_attentions[c->attention].fused || isnan(heads = mfu_config_dim(c, "n_head") / c->setting[MFU_S_TP]))
        return true;
    return mfu_precisions[c->precision].half && c->seq <= 4096 && fmod(c->seq, 4) == 0
        && fmod(heads * c->batch, 4) == 0;
}

/* Gradients that zero_grad() is told to fill must be there, and not stay anyway. */
static int check_zero_grad(const struct mfu_config *c, struct mfu_error *err)
{
    const struct mfu_runtime *r = &mfu_runtimes[c->runtime];
    const char *why = r->gemm_accumulates             ? r->name
        : c->setting[MFU_S_OPTIMIZER_IN_BACKWARD] > 0 ? "optimizer_in_backward"
        : c->setting[MFU_S_OFFLOAD_OPTIMIZER] > 0     ? "offload_optimizer"
        : mfu_trainers[c->trainer].adds_up_wide       ? mfu_trainer_names[c->trainer]
        : c->setting[MFU_S_ZERO] >= 2                 ? "sharded gradients"
                                                      : NULL;

    if (!why || c->setting_origin[MFU_S_ZERO_GRAD] != MFU_ORIGIN_USER
        || c->setting[MFU_S_ZERO_GRAD] != MFU_ZERO_GRAD_FILL)
        return 0;
    return mfu_fail(err, MFU_EINPUT, "%s: with %s zero_grad() has nothing of its own to fill: set zero_grad free",
                    mfu_settings[MFU_S_ZERO_GRAD].key, why);
}

/* Types of states are those of TransformerEngine's FusedAdam, on the GPU. */
static int check_states(const struct mfu_config *c, struct mfu_error *err)
{
    static const enum mfu_setting_id types[] = {MFU_S_MAIN_PARAMS, MFU_S_EXP_AVG, MFU_S_EXP_AVG_SQ};
    const char *key, *with;
    bool master;
    int i = 0;

    while (i < 3 && c->setting[types[i]] == mfu_settings[types[i]].initial)
        i++;
    if (i == 3)
        return 0;
    key = mfu_settings[types[i]].key;
    master = i == 0;
    with = c->setting[MFU_S_OFFLOAD_OPTIMIZER] > 0    ? "offload_optimizer"
        : c->setting[MFU_S_OPTIMIZER_IN_BACKWARD] > 0 ? "optimizer_in_backward"
        : master && c->setting[MFU_S_ZERO] >= 3       ? "zero 3"
        : master && (mfu_precisions[c->precision].scaler || !mfu_precisions[c->precision].half)
        ? mfu_precision_names[c->precision]
        : mfu_runtimes[c->runtime].c_program ? mfu_runtime_names[c->runtime]
                                             : NULL;
    if (!mfu_optimizers[c->optimizer].apex)
        return mfu_fail_suggest(err, mfu_optimizer_names[MFU_ADAMW],
                                "%s: %s has its own types; TransformerEngine's FusedAdam is adamw", key,
                                mfu_optimizers[c->optimizer].name);
    if (with)
        return mfu_fail(err, MFU_EINPUT, "%s: with %s it is not modelled", key, with);
    if (master && !mfu_runtimes[c->runtime].half_weights && c->setting[MFU_S_HALF_WEIGHTS] == 0)
        return mfu_fail(err, MFU_EINPUT, "%s: there are no masters: weights are fp32 (runtime fused)", key);
    return 0;
}

/* What needs all gradients at once, or gradients that stay, has none. */
static int check_optimizer(const struct mfu_config *c, struct mfu_error *err)
{
    const char *key = mfu_settings[MFU_S_OPTIMIZER_IN_BACKWARD].key;
    const struct mfu_runtime *r = &mfu_runtimes[c->runtime];

    if (c->setting[MFU_S_OPTIMIZER_IN_BACKWARD] == 0)
        return 0;
    if (r->gemm_accumulates)
        return mfu_fail_suggest(err, mfu_runtime_names[MFU_EAGER],
                                "%s: not possible with runtime %s: its products add to gradients that stay", key,
                                r->name);
    if (c->accum > 1)
        return mfu_fail(err, MFU_EINPUT, "%s: gradients of %.0f microbatches cannot be summed: set accum 1", key,
                        c->accum);
    if (c->setting[MFU_S_GRAD_CLIP] > 0)
        return mfu_fail(err, MFU_EINPUT, "%s: clipping needs all gradients: set grad_clip 0", key);
    if (mfu_precisions[c->precision].scaler)
        return mfu_fail(err, MFU_EINPUT, "%s: loss scaling looks at all gradients first: set precision bf16", key);
    if (c->setting[MFU_S_CUDA_GRAPHS] > 0)
        return mfu_fail(err, MFU_EINPUT,
                        "%s: its hooks are Python, which CUDA graphs do not replay: set cuda_graphs off", key);
    if (mfu_trainers[c->trainer].adds_up_wide)
        return mfu_fail(err, MFU_EINPUT, "%s: not possible with trainer %s: it sums gradients in buffers that stay",
                        key, mfu_trainer_names[c->trainer]);
    if (c->setting[MFU_S_OFFLOAD_OPTIMIZER] > 0 || c->setting[MFU_S_HALF_WEIGHTS] > 0 || c->setting[MFU_S_GPUS] > 1)
        return mfu_fail(err, MFU_EINPUT, "%s: with %s it is not modelled", key,
                        c->setting[MFU_S_GPUS] > 1               ? "several GPUs"
                            : c->setting[MFU_S_HALF_WEIGHTS] > 0 ? "half_weights"
                                                                 : "offload_optimizer");
    return 0;
}

/* Answers are texts, a scalar needs its head; and what no pass of a reference model is traced through. */
static int check_objective(const struct mfu_config *c, struct mfu_error *err)
{
    const struct mfu_objective_row *objective = &mfu_objectives[(int)c->setting[MFU_S_OBJECTIVE]];
    const struct mfu_reference_row *row = mfu_config_reference(c);

    if ((objective->log_probabilities && !mfu_model_writes(c->model))
        || (objective->scalar && mfu_model_samples(c->model)))
        return mfu_fail_suggest(err, mfu_objective_names[MFU_NEXT_TOKEN],
                                "objective: %s compares texts, which %s does not write", objective->name,
                                c->model->name);
    if (objective->scalar && (mfu_model_dim_find(c->model, "n_labels", NULL) < 0 || mfu_config_dim(c, "n_labels") != 1))
        return mfu_fail(err, MFU_EINPUT, "objective: %s needs a head of one output (n_labels 1), which %s has not",
                        objective->name, c->model->name);
    if (objective->log_probabilities
        && (mfu_trainers[c->trainer].whole_norms || mfu_runtimes[c->runtime].whole_norms)) { /* and whole losses */
        bool trainer = mfu_trainers[c->trainer].whole_norms;

        return mfu_fail(err, MFU_EINPUT, "objective: %s with %s %s, whose loss is a cross-entropy, is not modelled",
                        objective->name, trainer ? "trainer" : "runtime",
                        trainer ? mfu_trainers[c->trainer].name : mfu_runtimes[c->runtime].name);
    }
    if (objective->log_probabilities && c->setting[MFU_S_LOSS_FUSION] != MFU_LOSS_UNFUSED)
        return mfu_fail_suggest(err, mfu_loss_fusion_names[MFU_LOSS_UNFUSED],
                                "cross_entropy_fusion: %s is a cross-entropy, objective %s compares log-probabilities "
                                "(set cross_entropy_fusion off)",
                                mfu_loss_fusion_names[(int)c->setting[MFU_S_LOSS_FUSION]], objective->name);
    if (objective->log_probabilities && c->setting[MFU_S_LOSS_CHUNKS] > 1)
        return mfu_fail(err, MFU_EINPUT,
                        "loss_chunks: %.0f pieces of objective %s, which compares log-probabilities, are not modelled "
                        "(set loss_chunks 1)",
                        c->setting[MFU_S_LOSS_CHUNKS], objective->name);
    if (!row)
        return 0;
    if (!row->weights && c->setting[MFU_S_LORA] == 0)
        return mfu_fail_suggest(
            err, mfu_reference_names[MFU_REFERENCE_MODEL],
            "reference: %s: the model's weights train: without adapters (set lora 16) none are left", row->name);
    if (!objective->apart
        && (c->setting[MFU_S_PP] > 1 || c->setting[MFU_S_OFFLOAD_PARAMS] > 0
            || c->setting[MFU_S_OFFLOAD_ACTIVATIONS] > 0))
        return mfu_fail(err, MFU_EINPUT,
                        "reference: the pass of a reference model is not modelled with %s; reference cached is",
                        c->setting[MFU_S_PP] > 1 ? "pp" : "this offload");
    return 0;
}

/* A runtime with such kernels of its own runs none of a package's; a compiler does not look into a gate of one. */
static int check_package(const struct mfu_config *c, struct mfu_error *err)
{
    const struct mfu_package *package = &mfu_packages[(int)c->setting[MFU_S_PACKAGE]];
    const struct mfu_runtime *runtime = &mfu_runtimes[c->runtime];

    if (package->whole_norms && runtime->whole_norms)
        return mfu_fail(err, MFU_EINPUT, "kernel_package: %s: runtime %s has kernels of its own", package->name,
                        runtime->name);
    if (package->whole_gates && runtime->fuse)
        return mfu_fail(err, MFU_EINPUT, "kernel_package: %s with runtime %s is not modelled", package->name,
                        runtime->name);
    return 0;
}

/* What the graph of adapters and frozen weights does not hold. */
static int check_part(const struct mfu_config *c, struct mfu_error *err)
{
    static const struct {
        enum mfu_setting_id setting;
        unsigned of;
    } of_methods[] = {{MFU_S_LORA_TARGETS, MFU_TAKES_TARGETS},
                      {MFU_S_LORA_DROPOUT, MFU_TAKES_DROPOUT},
                      {MFU_S_DORA, MFU_TAKES_DORA},
                      {MFU_S_TRAINABLE_TOKENS, MFU_TAKES_ROWS},
                      {MFU_S_LOKR_FACTOR, MFU_TAKES_FACTOR},
                      {MFU_S_ADAPTER_BLOCKS, MFU_TAKES_BLOCKS},
                      {MFU_S_PROMPT_ENCODER, MFU_TAKES_ENCODER},
                      {MFU_S_IA3_INPUTS, MFU_TAKES_INPUTS},
                      {MFU_S_TRAINABLE_LAYERS, MFU_TAKES_LAYERS},
                      {MFU_S_TRAINABLE_FROM, MFU_TAKES_LAYERS}};
    const struct mfu_base_row *base = &mfu_bases[(int)c->setting[MFU_S_BASE]];
    const struct mfu_method_row *method = &mfu_methods[(int)c->setting[MFU_S_ADAPTER]];
    bool adapters = c->setting[MFU_S_LORA] > 0;
    bool part = trains_part(c);
    const char *other = !adapters                      ? NULL /* what stands there in place of plain LoRA */
        : c->setting[MFU_S_DORA] > 0                   ? "dora"
        : c->setting[MFU_S_ADAPTER] != MFU_METHOD_LORA ? method->name
                                                       : NULL;

    if (c->setting[MFU_S_DORA] > 0 && !adapters)
        return mfu_fail(err, MFU_EINPUT, "dora: not possible without adapters (set lora 16)");
    if (c->setting[MFU_S_TRAINABLE_TOKENS] > 0 && !adapters)
        return mfu_fail(err, MFU_EINPUT, "trainable_tokens: not possible without adapters (set lora 16)");
    if (c->setting[MFU_S_TRAINABLE_TOKENS] > 0 && (c->setting[MFU_S_TP] > 1 || c->setting[MFU_S_PP] > 1))
        return mfu_fail(err, MFU_EINPUT, "trainable_tokens: with tp or pp they are not modelled");
    for (size_t i = 0; i < sizeof of_methods / sizeof of_methods[0] && adapters; i++)
        if (c->setting_origin[of_methods[i].setting] == MFU_ORIGIN_USER && !(method->takes & of_methods[i].of)
            && c->setting[of_methods[i].setting] != mfu_settings[of_methods[i].setting].initial)
            return mfu_fail(err, MFU_EINPUT, "%s: adapter %s has no such setting (unset %s)",
                            mfu_settings[of_methods[i].setting].key, method->name,
                            mfu_settings[of_methods[i].setting].key);
    if (adapters && method->takes & MFU_TAKES_INPUTS && c->setting_origin[MFU_S_IA3_INPUTS] == MFU_ORIGIN_USER
        && (unsigned)c->setting[MFU_S_IA3_INPUTS] & ~(unsigned)c->setting[MFU_S_LORA_TARGETS])
        return mfu_fail(err, MFU_EINPUT, "ia3_inputs: peft refuses inputs that lora_targets does not name");
    if (c->setting[MFU_S_ADAPTER] > 0 && !adapters)
        return mfu_fail(err, MFU_EINPUT, "lora: 0, with adapter %s: all weights would train (unset adapter)",
                        method->name);
    if (adapters && !(c->setting[MFU_S_ADAPTER] > 0))
        return mfu_fail(err, MFU_EINPUT, "adapter: none, with lora %g: what trains?", c->setting[MFU_S_LORA]);
    if (adapters && c->setting[MFU_S_ADAPTER] != MFU_METHOD_LORA) {
        if (c->setting[MFU_S_LORA_KERNELS] != MFU_ADAPTER_PEFT)
            return mfu_fail(err, MFU_EINPUT, "lora_kernels: only peft's code of %s is modelled", method->name);
        if (mfu_optimizers[c->optimizer].matrices)
            return mfu_fail(err, MFU_EINPUT, "optimizer: %s beside adapter %s is not modelled",
                            mfu_optimizers[c->optimizer].name, method->name);
        if (method->unsized && c->setting[MFU_S_LORA] != method->size)
            return mfu_fail(err, MFU_EINPUT, "lora: %s has no rank (unset lora)", method->name);
        if (base->quantised)
            return mfu_fail(err, MFU_EINPUT, "base_precision: %s beside quantised weights is not modelled",
                            method->name);
        if (mfu_method_precedes(method) && c->setting[MFU_S_PACKING] > 0 && c->documents.mean > 0)
            return mfu_fail(err, MFU_EINPUT, "packing: learned tokens before several documents are not modelled");
        if (method->place == MFU_ADAPTS_KEYS && mfu_checkpoints[c->checkpoint].recomputes)
            return mfu_fail(err, MFU_EINPUT, "checkpoint: peft refuses it with %s (set checkpoint none)", method->name);
    }
    if (base->quantised && !adapters)
        return mfu_fail(err, MFU_EINPUT, "base_precision: %s weights cannot train: they need adapters (set lora 16)",
                        base->name);
    if (c->setting[MFU_S_QUANT_BLOCK] > 0 && !base->four_bit)
        return mfu_fail(err, MFU_EINPUT, "quant_block: %s weights have no blocks to choose (set base_precision nf4)",
                        base->name);
    if (c->setting[MFU_S_QUANT_BLOCK] > 0 && frexp(c->setting[MFU_S_QUANT_BLOCK], &(int){0}) != 0.5)
        return mfu_fail(err, MFU_EINPUT, "quant_block: %g is none of 32, 64, 128, ... 4096",
                        c->setting[MFU_S_QUANT_BLOCK]);
    if (base->half && !mfu_precisions[c->precision].half)
        return mfu_fail(err, MFU_EINPUT, "base_precision: %s weights with precision %s are not modelled", base->name,
                        mfu_precisions[c->precision].name);
    if (!part)
        return 0;
    if (c->setting[MFU_S_TRAINABLE] == 0 && !adapters)
        return mfu_fail(err, MFU_EINPUT, "trainable: nothing trains (set lora 16, or name weights that train)");
    if (mfu_runtimes[c->runtime].c_program)
        return mfu_fail(err, MFU_EINPUT, "%s: not possible with runtime %s: all its weights train",
                        adapters ? "lora" : "trainable", mfu_runtimes[c->runtime].name);
    if (adapters && mfu_method_precedes(method) && c->setting[MFU_S_PP] > 1)
        return mfu_fail(err, MFU_EINPUT, "pp: learned tokens (%s) over a pipeline are not modelled", method->name);
    if (adapters && c->setting[MFU_S_TP] > 1) {
        if (other)
            return mfu_fail(err, MFU_EINPUT, "tp: %s split by tp is not modelled (adapter lora is)", other);
        if (base->quantised)
            return mfu_fail(err, MFU_EINPUT, "tp: %s weights split by tp are not modelled", base->name);
        if (c->setting[MFU_S_TRAINABLE_LAYERS] > 0)
            return mfu_fail(err, MFU_EINPUT, "tp: adapters of some layers (trainable_layers) are not modelled");
        if (fmod(c->setting[MFU_S_LORA], c->setting[MFU_S_TP]) != 0)
            return mfu_fail(err, MFU_EINPUT, "lora: rank %g does not divide by tp %g", c->setting[MFU_S_LORA],
                            c->setting[MFU_S_TP]);
    }
    if (c->setting[MFU_S_HALF_WEIGHTS] > 0 && !mfu_trainers[c->trainer].half_shards)
        return mfu_fail(err, MFU_EINPUT,
                        "half_weights: only DeepSpeed's masters of adapters and of what trains beside "
                        "frozen weights are modelled (trainer deepspeed)");
    if (mfu_precisions[c->precision].operand != MFU_OPERAND_AS_COMPUTED && (base->quantised || other))
        return mfu_fail(err, MFU_EINPUT, "precision: %s in %s is not modelled", base->quantised ? base->name : other,
                        mfu_precisions[c->precision].name);
    return 0;
}

/* Megatron-Bridge 0.2 to 0.5, training/mixed_precision.py: fp8_param_gather, which takes the distributed optimizer. */
static bool holds_fp8(const struct mfu_config *c)
{
    return mfu_trainers[c->trainer].holds_fp8 && mfu_precisions[c->precision].gathers
        && mfu_runtimes[c->runtime].half_weights && c->setting[MFU_S_ZERO] >= 1;
}

void mfu_derive_training(struct mfu_config *c)
{
    struct mfu_attention_needs needs;

    if (c->gpu && c->setting_origin[MFU_S_PRECISION] != MFU_ORIGIN_USER) {
        c->setting[MFU_S_PRECISION] = default_precision(c->gpu);
        c->setting_origin[MFU_S_PRECISION] = MFU_ORIGIN_GPU;
    }
    if (mfu_trainers[c->trainer].fp8 && mfu_precisions[(int)c->setting[MFU_S_PRECISION]].delayed)
        c->setting[MFU_S_PRECISION] = mfu_setting_choice(MFU_S_PRECISION, mfu_trainers[c->trainer].fp8, NULL);
    c->precision = (enum mfu_precision)c->setting[MFU_S_PRECISION];
    c->runtime = (enum mfu_runtime_kind)c->setting[MFU_S_RUNTIME];
    needs = attention_needs(c);
    mfu_derive(c, MFU_S_ATTENTION, mfu_attention_default(&needs));
    c->attention = (enum mfu_attention_kind)c->setting[MFU_S_ATTENTION];
    if (c->setting_origin[MFU_S_CHECKPOINT_BUDGET] == MFU_ORIGIN_USER)
        mfu_derive(c, MFU_S_CHECKPOINT, MFU_BUDGET);
    else if (c->setting_origin[MFU_S_RECOMPUTE_MODULES] == MFU_ORIGIN_USER)
        mfu_derive(c, MFU_S_CHECKPOINT, MFU_SELECTIVE);
    else if (c->setting[MFU_S_CHECKPOINT_LAYERS] > 0)
        mfu_derive(c, MFU_S_CHECKPOINT, MFU_FULL);
    c->checkpoint = (enum mfu_checkpoint)c->setting[MFU_S_CHECKPOINT];
    c->optimizer = (enum mfu_optimizer_kind)c->setting[MFU_S_OPTIMIZER];
    derive_adapters(c);
    if (sharding_halves(c) || (mfu_trainers[c->trainer].half_weights && !mfu_precisions[c->precision].no_half_weights))
        mfu_derive(c, MFU_S_HALF_WEIGHTS, 1);
    mfu_derive(c, MFU_S_FP8_WEIGHTS, holds_fp8(c));
}

int mfu_check_training(const struct mfu_config *c, struct mfu_error *err)
{
    return check_precision(c->gpu, c->precision, err) < 0 || check_runtime(c, err) < 0 || check_half_weights(c, err) < 0
            || check_part(c, err) < 0 || check_package(c, err) < 0 || check_objective(c, err) < 0
            || check_optimizer(c, err) < 0 || check_states(c, err) < 0 || check_zero_grad(c, err) < 0
            || check_attention(c, err) < 0
        ? -1
        : 0;
}
