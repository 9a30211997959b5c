/*
 * megatron.c - arguments of NVIDIA/Megatron-LM's pretraining, in a command line or
 * the usual script around it.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "read/config/import.h"

static const char assumed[] = "assumed";
static const char offload[] = "offloading to the CPU";

// clang-format off
static const struct mfu_import_row rows[] = {
    {"--micro-batch-size", .key = "batch"},
    {"--global-batch-size", .note = "follows from the batch and the ranks"},
    {"--seq-length", .key = "seq"},
    {"--max-position-embeddings", .note = "the table of positions is taken as long as a sequence"},
    {"--num-layers", .key = "n_layer"},
    {"--hidden-size", .key = "n_embd"},
    {"--ffn-hidden-size --moe-ffn-hidden-size", .key = "d_ff"},
    {"--num-attention-heads", .key = "n_head"},
    {"--num-query-groups", .key = "n_kv_head"},
    {"--kv-channels", .key = "head_dim"},
    {"--group-query-attention", .note = "taken with the number of groups"},
    {"--vocab-size", .key = "vocab_size"},
    {"--num-experts", .key = "n_experts"},
    {"--moe-router-topk", .key = "top_k"},
    {"--moe-layer-recompute", .key = "recompute_modules", .values = "=core_attn,moe true=core_attn,moe"},
    {"--moe-token-dispatcher-type", .key = "moe_dispatcher", .values = "alltoall=alltoall flex=flex"},
    {"--moe-enable-deepep", .key = "moe_dispatcher", .values = "=flex true=flex"},
    {"--moe-expert-capacity-factor", .key = "capacity_factor"},
    {"--moe-pad-expert-input-to-capacity", .key = "pad_experts", .values = "=on true=on"},
    {"--moe-router-force-load-balancing", .key = "expert_load", .values = "=1 true=1"},
    {"--overlap-moe-expert-parallel-comm", .key = "overlap_moe", .values = "=on true=on"},
    {"--moe-*", .note = "details of the routing", .unmodelled = true},
    {"--hidden-dropout", .key = "dropout"},
    {"--attention-dropout", .note = "taken with the dropout of the hidden layers"},
    {"--disable-bias-linear", .key = "bias", .values = "=0 true=0"},
    {"--add-qkv-bias", .note = "biases of q, k and v: set bias 1", .unmodelled = true},
    {"--untie-embeddings-and-output-weights", .key = "tied", .values = "=0 true=0"},
    {"--bf16", .key = "precision", .values = "=bf16 true=bf16"},
    {"--fp16", .key = "precision", .values = "=fp16 true=fp16"},
    {"--fp8-format", .key = "precision", .values = "hybrid=fp8 e4m3=fp8"},
    {"--fp8-recipe", .values = "delayed=- tensorwise=- blockwise=- mxfp8=-", .note = "another recipe of fp8",
     .unmodelled = true},
    {"--fp8-param-gather", .key = "fp8_param_gather", .values = "=on true=on"},
    {"--fp8-*", .note = "details of fp8", .unmodelled = true},
    {"--clip-grad", .key = "grad_clip"},
    {"--optimizer", .key = "optimizer", .values = "adam=adamw sgd=sgd-momentum muon=muon"},
    {"--tensor-model-parallel-size", .key = "tp"},
    {"--pipeline-model-parallel-size", .key = "pp"},
    {"--num-layers-per-virtual-pipeline-stage", .note = "taken with the layers and stages"},
    {"--num-virtual-stages-per-pipeline-rank", .key = "vpp"},
    {"--context-parallel-size", .key = "cp"},
    {"--cp-comm-type", .key = "cp_comm_type", .values = "p2p=p2p all_gather=all_gather a2a=a2a a2a+p2p=a2a+p2p"},
    {"--hierarchical-context-parallel-sizes", .note = "cp_comm_type a2a+p2p alone reads them"},
    {"--expert-model-parallel-size", .key = "ep"},
    {"--expert-tensor-parallel-size", .key = "etp"},
    {"--sequence-parallel", .key = "sp", .values = "=on true=on"},
    {"--use-distributed-optimizer", .key = "zero", .values = "=1 true=1"},
    {"--use-torch-fsdp2", .key = "zero", .values = "=3 true=3"},
    {"--data-parallel-sharding-strategy", .key = "zero",
     .values = "no_shard=0 optim=1 optim_grads=2 optim_grads_params=3"},
    {"--use-custom-fsdp --use-megatron-fsdp", .note = "taken with the sharding strategy"},
    {"--grad-reduce-in-bf16", .key = "grad_reduce", .values = "=bf16 true=bf16"},
    {"--use-precision-aware-optimizer", .note = "taken with the states' types"},
    {"--main-grads-dtype", .key = "grad_reduce", .values = "fp32=- bf16=bf16"},
    {"--main-params-dtype", .key = "main_params_dtype", .values = "fp32=- fp16=fp16"},
    {"--exp-avg-dtype", .key = "exp_avg_dtype", .values = "fp32=- bf16=bf16 fp16=fp16 fp8=fp8"},
    {"--exp-avg-sq-dtype", .key = "exp_avg_sq_dtype", .values = "fp32=- bf16=bf16 fp16=fp16 fp8=fp8"},
    {"--optimizer-cpu-offload", .key = "offload_optimizer", .values = "=on true=on"},
    {"--optimizer-offload-fraction", .values = "1=- 1.0=-", .note = "part of the states stays on the GPU",
     .unmodelled = true},
    {"--overlap-cpu-optimizer-d2h-h2d", .note = "copies of new weights beside the CPU's update"},
    {"--cpu-offloading*", .note = offload, .unmodelled = true},
    {"--enable-cuda-graph", .key = "cuda_graphs", .values = "=on true=on"},
    {"--recompute-activations", .key = "checkpoint", .values = "=selective true=selective"},
    {"--recompute-granularity", .key = "checkpoint", .values = "selective=selective full=full"},
    {"--recompute-method", .values = "uniform=- block=-", .note = "how layers are recomputed", .unmodelled = true},
    {"--recompute-num-layers", .values = "1=-", .note = "each layer is recomputed by itself", .unmodelled = true},
    {"--recompute-modules", .note = "granularity selective alone reads them"},
    {"--use-flash-attn", .key = "attention", .values = "=flash true=flash"},
    {"--attention-backend", .key = "attention", .values = "auto=- flash=flash fused=cudnn unfused=math local=math"},
    {"--overlap-grad-reduce", .key = "overlap_grad_reduce", .values = "=on true=on"},
    {"--overlap-param-gather", .key = "overlap_param_gather", .values = "=on true=on"},
    {"--overlap-p2p-communication", .key = "overlap_p2p", .values = "=on true=on"},
    {"--no-overlap-p2p-communication", .key = "overlap_p2p", .values = "=off true=off"},
    {"--overlap-*", .note = "overlap is assumed"},
    {"--tp-comm-overlap", .key = "tp_overlap", .values = "=products true=products"},
    {"--no-async-tensor-model-parallel-allreduce", .key = "tp_overlap", .values = "=off true=off"},
    {"--no-load-* --no-save-* --no-create-attention-mask-in-dataloader --no-mmap-bin-files --exit-* --use-checkpoint-* "
     "--tiktoken-* --data-* --dataloader-type --vocab-file --merge-file --tokenizer-* --split --mock-data --save* "
     "--load* --log-* --tensorboard-* --wandb-* --ckpt-*", .note = MFU_NOTE_FILES},
    {"--no-query-key-layer-scaling --use-mcore-models --attention-softmax-in-fp32 --accumulate-allreduce-grads-in-fp32",
     .note = assumed},
    {"--no-*", .note = "switches off what is assumed", .unmodelled = true},
    {"--swiglu --normalization --position-embedding-type --use-rotary-position-embeddings",
     .note = "the model is chosen by it"},
    {"--rotary-* --norm-epsilon", .note = "no influence on time or memory"},
    {"--transformer-impl", .key = "trainer", .values = "transformer_engine=megatron-te local=megatron"},
    {"--apply-layernorm-1p --lr* --decoupled-* --min-lr --weight-decay --adam-* --train-* --init-method-std --seed "
     "--sgd-* --loss-scale* --initial-loss-scale --min-loss-scale --hysteresis --override-opt_param-scheduler "
     "--start-weight-decay --end-weight-decay --weight-decay-incr-style --calculate-per-token-loss "
     "--use-cpu-initialization", .note = MFU_NOTE_TRAINING},
    {"--cross-entropy-loss-fusion", .key = "cross_entropy_fusion", .values = "=native true=native"},
    {"--cross-entropy-fusion-impl", .key = "cross_entropy_fusion", .values = "native=native te=te"},
    {"--empty-unused-memory-level", .values = "0=-", .note = "empties the allocator's cache", .unmodelled = true},
    {"--make-vocab-size-divisible-by", .note = "taken with the vocabulary"},
    {"--nproc_per_node --nproc-per-node", .note = "taken with the nodes"},
    {"--nnodes", .key = "nodes"},
    {"--num-workers", .note = "the loader: set dataloader_ms"},
    {"--node_rank --node-rank --master_addr --master_port --master-addr --master-port --rdzv* --distributed-*",
     .note = MFU_NOTE_LAUNCHER},
    {"--manual-gc*", .note = "Python's garbage collection"},
    {"--rampup-batch-size", .note = "the batch while it grows", .unmodelled = true},
    {"--eval-*", .note = MFU_NOTE_EVALUATION},
    {"--profile*", .note = "profiling is not part of a step"},
    {.names = NULL},
};
// clang-format on

/* arguments.py's own. */
static const char *const defaults[] = {"--clip-grad", "1.0", "--optimizer", "adam", NULL};

static const char *const lists[] = {"--recompute-modules", "--hierarchical-context-parallel-sizes", "--cp-comm-type",
                                    NULL};

static bool has(struct mfu_import *m, const char *name)
{
    return mfu_import_find(m, name) != NULL;
}

static double at_least_one(double n)
{
    return n >= 1 ? n : 1;
}

static bool has_experts(struct mfu_import *m)
{
    return mfu_import_number(m, "--num-experts") > 1;
}

/* Whether the graph is Llama's (or Mixtral's), which has neither dropout nor
 * biases beyond q, k and v. */
static bool is_llama(struct mfu_import *m)
{
    return has(m, "--swiglu") || has_experts(m);
}

/* How its MLP looks decides which of ours is meant. */
static void find_model(struct mfu_import *m)
{
    struct mfu_entry *experts = mfu_import_find(m, "--num-experts");

    if (has_experts(m))
        mfu_import_assume(m, "model", "mixtral-8x7b", "for its experts; the shape is in the file");
    else if (has(m, "--swiglu"))
        mfu_import_assume(m, "model", "llama-2-7b", "for its SwiGLU; the shape is in the file");
    else
        mfu_import_assume(m, "model", "gpt2", "for its layers; the shape is in the file");
    if (experts && !has_experts(m))
        mfu_import_leave(experts, MFU_IGNORED, "one expert is a plain MLP");
    if (has_experts(m) && !has(m, "--swiglu"))
        mfu_import_lack(m, "--swiglu", "absent", "experts are planned with SwiGLU");
}

/* What of the block the chosen graph has otherwise. */
static void compare_layers(struct mfu_import *m)
{
    bool rope = has(m, "--use-rotary-position-embeddings") || mfu_import_is(m, "--position-embedding-type", "rope");
    bool rms = mfu_import_is(m, "--normalization", "RMSNorm");

    if (is_llama(m) && !rms)
        mfu_import_lack(m, "--normalization", "LayerNorm", "planned as RMSNorm");
    else if (!is_llama(m) && rms)
        mfu_import_leave(mfu_import_find(m, "--normalization"), MFU_UNMODELLED, "planned as LayerNorm");
    if (is_llama(m) && !rope)
        mfu_import_lack(m, "--position-embedding-type", "learned_absolute", "planned as rotary embeddings");
    else if (!is_llama(m) && rope)
        mfu_import_leave(mfu_import_find(m,
                                         has(m, "--position-embedding-type") ? "--position-embedding-type"
                                                                             : "--use-rotary-position-embeddings"),
                         MFU_UNMODELLED, "planned as a table of positions");
}

/* 0.1 of both is the default; GPT-2's graph alone has layers for it. */
static void find_dropout(struct mfu_import *m)
{
    static const char *const names[] = {"--hidden-dropout", "--attention-dropout"};
    double p[2];

    for (int i = 0; i < 2; i++) {
        struct mfu_entry *e = mfu_import_find(m, names[i]);

        p[i] = e ? mfu_import_number(m, names[i]) : 0.1;
        if (!is_llama(m) || !(p[i] > 0)) {
            if (e && is_llama(m))
                mfu_import_leave(e, MFU_IGNORED, "off");
            continue;
        }
        if (e)
            mfu_import_leave(e, MFU_UNMODELLED, "the graph has no dropout");
        else
            mfu_import_lack(m, names[i], "0.1", "Megatron's default, of which the graph has none");
    }
    if (!is_llama(m) && !has(m, names[0]))
        mfu_import_assume_number(m, "dropout", p[0], "Megatron's default");
    if (!is_llama(m) && p[0] != p[1]) {
        if (has(m, names[1]))
            mfu_import_leave(mfu_import_find(m, names[1]), MFU_UNMODELLED, "taken as that of the hidden layers");
        else
            mfu_import_lack(m, names[1], "0.1", "Megatron's default; taken as that of the hidden layers");
    }
}

/* Tokens of the tokenizer, or NAN, if it is none that always has as many. */
static double tokenizer_size(struct mfu_import *m)
{
    if (mfu_import_is(m, "--tokenizer-type", "Llama2Tokenizer"))
        return 32000;
    return mfu_import_is(m, "--tokenizer-type", "GPT2BPETokenizer")
            || (!has(m, "--tokenizer-type") && has(m, "--merge-file"))
        ? 50257
        : NAN;
}

/* Padded so that each tensor-parallel rank has a multiple of 128. */
static void find_vocabulary(struct mfu_import *m)
{
    struct mfu_entry *given = mfu_import_find(m, "--vocab-size");
    double divisor = mfu_import_number(m, "--make-vocab-size-divisible-by"), tokens = tokenizer_size(m);

    divisor = (divisor >= 1 ? divisor : 128) * at_least_one(mfu_import_number(m, "--tensor-model-parallel-size"));
    if (given && given->set) {
        tokens = mfu_import_number(m, "--vocab-size") + mfu_import_is(m, "--tokenizer-type", "NullTokenizer");
        mfu_import_set(m, given, "vocab_size", "padded as Megatron pads it", "%.0f", ceil(tokens / divisor) * divisor);
    } else if (isfinite(tokens))
        mfu_import_assume_number(m, "vocab_size", ceil(tokens / divisor) * divisor, "the tokenizer's, padded");
    else
        mfu_import_assume_number(m, "vocab_size", ceil((is_llama(m) ? 32000 : 50257) / divisor) * divisor,
                                 "a guess: the tokenizer's size is not in the file");
}

/* Dims that Megatron derives in other ways than our model files do. */
static void find_shape(struct mfu_import *m)
{
    struct mfu_entry *ffn = mfu_import_find(m, "--ffn-hidden-size"), *groups = mfu_import_find(m, "--num-query-groups");
    double width = mfu_import_number(m, "--hidden-size"), heads = mfu_import_number(m, "--num-attention-heads");

    if (ffn && has_experts(m) && has(m, "--moe-ffn-hidden-size"))
        mfu_import_leave(ffn, MFU_IGNORED, "that of the experts counts");
    else if (!ffn && !has(m, "--moe-ffn-hidden-size") && width > 0)
        mfu_import_assume_number(m, "d_ff", has(m, "--swiglu") ? floor(8 * width / 3 / 64) * 64 : 4 * width,
                                 "Megatron's default");
    if (groups && !has(m, "--group-query-attention"))
        mfu_import_leave(groups, MFU_IGNORED, "only with --group-query-attention");
    if (has(m, "--group-query-attention") ? !groups : heads >= 1)
        mfu_import_assume_number(m, "n_kv_head", has(m, "--group-query-attention") ? 1 : heads, "Megatron's default");
    if (!has(m, "--disable-bias-linear") && has_experts(m))
        mfu_import_lack(m, "--disable-bias-linear", "absent", "the graph has no biases");
    else if (!has(m, "--disable-bias-linear"))
        mfu_import_assume(m, "bias", "1",
                          is_llama(m) ? "Megatron's default; of q, k and v alone here" : "Megatron's default");
    if (!has(m, "--untie-embeddings-and-output-weights"))
        mfu_import_assume(m, "tied", "1", "Megatron's default");
    if (has_experts(m) && !has(m, "--moe-router-topk"))
        mfu_import_assume(m, "top_k", "2", "Megatron's default");
    find_vocabulary(m);
    find_dropout(m);
}

/* The GPUs of the file, or of the scenario: those that split the batch, as they
 * are planned. */
static double data_parallel_ranks(struct mfu_import *m)
{
    struct mfu_entry *each = mfu_import_find(m, has(m, "--nproc_per_node") ? "--nproc_per_node" : "--nproc-per-node");
    double nodes = at_least_one(mfu_import_number(m, "--nnodes"));
    double gpus = each ? nodes * mfu_import_number(m, each->name) : mfu_import_gpus(m);
    double split = at_least_one(mfu_import_number(m, "--tensor-model-parallel-size"))
        * at_least_one(mfu_import_number(m, "--pipeline-model-parallel-size"))
        * at_least_one(mfu_import_number(m, "--context-parallel-size"));
    double ranks;

    if (each && isfinite(gpus))
        mfu_import_set(m, each, "gpus", "times the nodes", "%.0f", gpus);
    else if (each) {
        mfu_import_leave(each, MFU_UNMODELLED, "its value is no number: those of the scenario are taken");
        gpus = mfu_import_gpus(m);
    }
    ranks = gpus / split;
    if (ranks < 1 || ranks != floor(ranks))
        return NAN;
    if (each || split > 1)
        mfu_import_assume_number(m, "dp", ranks, "the GPUs over tp, pp and cp");
    return mfu_import_planned_ranks(m, gpus, ranks);
}

static void find_ranks(struct mfu_import *m)
{
    struct mfu_entry *all = mfu_import_find(m, "--global-batch-size");
    struct mfu_entry *stage = mfu_import_find(m, "--num-layers-per-virtual-pipeline-stage");
    double ranks = data_parallel_ranks(m), batch = mfu_import_number(m, "--micro-batch-size");
    double steps = mfu_import_number(m, "--global-batch-size") / (batch * ranks);
    double virtual_stages = stage ? mfu_import_number(m, "--num-layers") / mfu_import_number(m, stage->name)
            / at_least_one(mfu_import_number(m, "--pipeline-model-parallel-size"))
                                  : NAN;

    if (isfinite(virtual_stages))
        mfu_import_set(m, stage, "vpp", "of the stages' layers", "%.10g", virtual_stages);
    if (!all)
        mfu_import_assume(m, "accum", "1", "without a global batch");
    else if (steps >= 1 && steps == floor(steps))
        mfu_import_set(m, all, "accum", "over the micro-batch and the data-parallel ranks", "%.0f", steps);
    else
        mfu_import_leave(all, MFU_UNMODELLED,
                         isnan(ranks) ? "tp, pp and cp do not fit the GPUs"
                                      : "is no multiple of the micro-batch and the data-parallel ranks");
}

/* fp8 is what bf16 becomes; sharding beyond ZeRO 1 includes it. */
static void settle_doubles(struct mfu_import *m)
{
    struct mfu_entry *optimizer = mfu_import_find(m, "--use-distributed-optimizer");

    static const char *const recipes[][2] = {
        {"tensorwise", "fp8-current"}, {"blockwise", "fp8-block"}, {"mxfp8", "mxfp8"}};
    struct mfu_entry *recipe = mfu_import_find(m, "--fp8-recipe");
    struct mfu_entry *fused = mfu_import_find(m, "--cross-entropy-fusion-impl");
    struct mfu_entry *gather = mfu_import_find(m, "--fp8-param-gather");

    for (size_t i = 0; recipe && mfu_import_is_set(m, "--fp8-format") && i < sizeof recipes / sizeof recipes[0]; i++)
        if (strcmp(recipe->value, recipes[i][0]) == 0) {
            mfu_import_leave(mfu_import_find(m, "--fp8-format"), MFU_IGNORED, "the recipe says it");
            mfu_import_set(m, recipe, "precision", "", "%s", recipes[i][1]);
        }
    if (fused && !has(m, "--cross-entropy-loss-fusion"))
        mfu_import_leave(fused, MFU_IGNORED, "read with --cross-entropy-loss-fusion only");
    else if (fused)
        mfu_import_leave(mfu_import_find(m, "--cross-entropy-loss-fusion"), MFU_IGNORED, "its implementation says it");
    if (mfu_import_is_set(m, "--fp8-format") && has(m, "--bf16"))
        mfu_import_leave(mfu_import_find(m, "--bf16"), MFU_IGNORED, "what is not fp8");
    if (gather && has(m, "--use-torch-fsdp2"))
        mfu_import_leave(gather, MFU_IGNORED, "FSDP2 gathers in 16 bits");
    else if (gather && !mfu_import_find(m, "--fp8-format"))
        mfu_import_leave(gather, MFU_IGNORED, "not without --fp8-format");
    else if (gather
             && (mfu_import_is(m, "--fp8-recipe", "mxfp8")
                 || mfu_import_is(m, "--data-parallel-sharding-strategy", "optim_grads_params")))
        mfu_import_leave(gather, MFU_UNMODELLED, "fp8 weights of this recipe or sharding");
    if (optimizer && (has(m, "--use-torch-fsdp2") || mfu_import_is_set(m, "--data-parallel-sharding-strategy")))
        mfu_import_leave(optimizer, MFU_IGNORED, "taken with the sharding strategy");
    if (has(m, "--recompute-activations") && has(m, "--recompute-granularity"))
        mfu_import_leave(mfu_import_find(m, "--recompute-activations"), MFU_IGNORED, "the granularity says it");
}

/* Granularity full is of the first layers of each stage, if any (method block, core/recompute.py of d98e8a64), or of all. */
static void find_recomputed_layers(struct mfu_import *m)
{
    struct mfu_entry *layers = mfu_import_find(m, "--recompute-num-layers");

    if (!layers || !mfu_import_is(m, "--recompute-method", "block")
        || !mfu_import_is(m, "--recompute-granularity", "full"))
        return;
    if (mfu_import_number(m, "--recompute-num-layers") == 0) {
        mfu_import_leave(mfu_import_find(m, "--recompute-granularity"), MFU_IGNORED, "no layer is recomputed");
        mfu_import_set(m, layers, "checkpoint", "method block", "none");
    } else {
        mfu_import_set(m, layers, "checkpoint_layers", "method block", "%s", layers->value);
    }
}

/* --recompute-activations is granularity selective, of attention unless modules are named; --moe-layer-recompute is that
 * granularity, too, and adds a module (transformer_config.py). */
static void find_recomputed(struct mfu_import *m)
{
    bool experts = mfu_import_is_set(m, "--moe-layer-recompute");
    bool said = has(m, "--recompute-granularity") || has(m, "--recompute-activations");
    bool selective =
        mfu_import_is(m, "--recompute-granularity", "selective") || has(m, "--recompute-activations") || experts;

    if (selective && mfu_import_list(m, "--recompute-modules", "recompute_modules", "") && experts) {
        struct mfu_entry *modules = mfu_import_find(m, "--recompute-modules");

        mfu_import_set(m, modules, "recompute_modules", "", "%s,moe", modules->set);
        mfu_import_leave(mfu_import_find(m, "--moe-layer-recompute"), MFU_IGNORED, "taken with the modules");
    }
    if (!said)
        mfu_import_assume(m, "checkpoint", experts ? "selective" : "none",
                          experts ? "by --moe-layer-recompute" : "Megatron's default");
}

/* Groups of the first of the sizes exchange heads. */
static void find_context(struct mfu_import *m)
{
    struct mfu_entry *sizes = mfu_import_find(m, "--hierarchical-context-parallel-sizes");

    if (sizes && mfu_import_is(m, "--cp-comm-type", "a2a+p2p"))
        mfu_import_set(m, sizes, "cp_heads", "the first of them", "%.*s", (int)strcspn(sizes->value, ", "),
                       sizes->value);
}

/* Megatron switches it off where stages have one chunk (arguments.py). */
static void find_messages(struct mfu_import *m)
{
    struct mfu_entry *beside = mfu_import_find(m, "--overlap-p2p-communication");

    if (beside && !mfu_import_is_set(m, "--num-layers-per-virtual-pipeline-stage")
        && !mfu_import_is_set(m, "--num-virtual-stages-per-pipeline-rank"))
        mfu_import_leave(beside, MFU_IGNORED, "the interleaved schedule alone reads it");
}

static void find_rest(struct mfu_import *m)
{
    find_context(m);
    find_messages(m);
    if (!has(m, "--transformer-impl"))
        mfu_import_assume(m, "trainer", "megatron-te", "layers of Transformer Engine, Megatron's default");
    if (!has(m, "--bf16") && !has(m, "--fp16") && !has(m, "--fp8-format"))
        mfu_import_assume(m, "precision", "fp32", "no 16-bit precision is switched on");
    find_recomputed(m);
    find_recomputed_layers(m);
    if (!has(m, "--use-distributed-optimizer") && !has(m, "--use-torch-fsdp2")
        && !has(m, "--data-parallel-sharding-strategy"))
        mfu_import_assume(m, "zero", "0", "Megatron's default");
    if (mfu_import_is(m, "--transformer-impl", "local") && !has(m, "--use-flash-attn")
        && !has(m, "--attention-backend"))
        mfu_import_assume(m, "attention", "math", "local layers without --use-flash-attn");
}

/* All of Megatron's have two dashes: `mkdir -p` has not. */
static void leave_others(struct mfu_import *m)
{
    for (int i = 0; i < m->n; i++)
        if (m->entries[i].name[0] == '-' && m->entries[i].name[1] != '-')
            mfu_import_leave(&m->entries[i], MFU_IGNORED, "another command's");
}

/* With fp32 masters a precision-aware optimizer keeps the bits that bf16 weights lack, but beside fp8 recipes other than
 * delayed (d98e8a64, core/optimizer/optimizer_config.py: store_param_remainders). */
static void find_masters(struct mfu_import *m)
{
    const struct mfu_entry *recipe = mfu_import_find(m, "--fp8-recipe"),
                           *type = mfu_import_find(m, "--main-params-dtype");

    if (mfu_import_find(m, "--use-precision-aware-optimizer") && !(type && strcmp(type->value, "fp16") == 0)
        && (!recipe || strcmp(recipe->value, "delayed") == 0))
        mfu_import_assume(m, "main_params_dtype", "remainders", "store_param_remainders is on by itself");
}

static void finish(struct mfu_import *m)
{
    find_masters(m);
    leave_others(m);
    find_model(m);
    compare_layers(m);
    find_shape(m);
    find_ranks(m);
    settle_doubles(m);
    find_rest(m);
}

const struct mfu_import_format mfu_import_format_megatron = {
    .name = "megatron",
    .title = "Megatron-LM arguments",
    .marks = "--num-layers&--micro-batch-size|--num-layers&--hidden-size|"
             "--tensor-model-parallel-size&--micro-batch-size|--tensor-model-parallel-size&--hidden-size",
    .take_apart = mfu_import_arguments,
    .rows = rows,
    .defaults = defaults,
    .lists = lists,
    .finish = finish,
};
