/*
 * megatron.c - arguments of NVIDIA/Megatron-LM's pretraining, in a command line or
 * the usual script around it.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "answer/import.h"

static bool recognise(const char *path, const char *text)
{
    (void)path;
    return (strstr(text, "--num-layers") || strstr(text, "--tensor-model-parallel-size"))
        && (strstr(text, "--micro-batch-size") || strstr(text, "--hidden-size"));
}

static const char training[] = "concerns what is learnt, not how fast", files[] = "files and logging";
static const char launcher[] = "how processes find each other";

// clang-format off
static const struct mfu_import_row rows[] = {
    {"--micro-batch-size", "batch", NULL, NULL, false},
    {"--global-batch-size", NULL, NULL, "follows from the batch and the ranks", false},
    {"--seq-length", "seq", NULL, NULL, false},
    {"--max-position-embeddings", NULL, NULL, "the table of positions is taken as long as a sequence", false},
    {"--num-layers", "n_layer", NULL, NULL, false},
    {"--hidden-size", "n_embd", NULL, NULL, false},
    {"--ffn-hidden-size", "d_ff", NULL, NULL, false},
    {"--num-attention-heads", "n_head", NULL, NULL, false},
    {"--num-query-groups", "n_kv_head", NULL, NULL, false},
    {"--kv-channels", "head_dim", NULL, NULL, false},
    {"--group-query-attention", NULL, NULL, "taken with the number of groups", false},
    {"--vocab-size", "vocab_size", NULL, NULL, false},
    {"--num-experts", "n_experts", NULL, NULL, false},
    {"--moe-router-topk", "top_k", NULL, NULL, false},
    {"--moe-*", NULL, NULL, "details of the routing", true},
    {"--hidden-dropout", "dropout", NULL, NULL, false},
    {"--attention-dropout", NULL, NULL, "taken as the dropout of the hidden layers", true},
    {"--disable-bias-linear", "bias", "=0 true=0", NULL, false},
    {"--untie-embeddings-and-output-weights", "tied", "=0 true=0", NULL, false},
    {"--bf16", "precision", "=bf16 true=bf16", NULL, false},
    {"--fp16", "precision", "=fp16 true=fp16", NULL, false},
    {"--fp8-format", "precision", "hybrid=fp8 e4m3=fp8", NULL, false},
    {"--fp8-*", NULL, NULL, "details of fp8", true},
    {"--clip-grad", "grad_clip", NULL, NULL, false},
    {"--optimizer", "optimizer", "adam=adamw sgd=sgd-momentum muon=muon", NULL, false},
    {"--tensor-model-parallel-size", "tp", NULL, NULL, false},
    {"--pipeline-model-parallel-size", "pp", NULL, NULL, false},
    {"--num-layers-per-virtual-pipeline-stage", NULL, NULL, "taken with the layers and stages", false},
    {"--context-parallel-size", "cp", NULL, NULL, false},
    {"--expert-model-parallel-size", "ep", NULL, NULL, false},
    {"--sequence-parallel", "sp", "=on true=on", NULL, false},
    {"--use-distributed-optimizer", "zero", "=1 true=1", NULL, false},
    {"--recompute-activations", "checkpoint", "=selective true=selective", NULL, false},
    {"--recompute-granularity", "checkpoint", "selective=selective full=full", NULL, false},
    {"--recompute-method", NULL, NULL, "all layers are recomputed", true},
    {"--recompute-num-layers", NULL, NULL, "all layers are recomputed", true},
    {"--use-flash-attn", "attention", "=flash true=flash", NULL, false},
    {"--attention-backend", "attention", "flash=flash fused=cudnn unfused=math local=math", NULL, false},
    {"--overlap-*", NULL, NULL, "overlap is assumed", false},
    {"--no-*", NULL, NULL, "switches off what is assumed", true},
    {"--swiglu", NULL, NULL, "the model is chosen by it", false},
    {"--normalization", NULL, NULL, "the model is chosen by it", false},
    {"--position-embedding-type", NULL, NULL, "the model is chosen by it", false},
    {"--use-rotary-position-embeddings", NULL, NULL, "the model is chosen by it", false},
    {"--rotary-*", NULL, NULL, "no influence on time or memory", false},
    {"--norm-epsilon", NULL, NULL, "no influence on time or memory", false},
    {"--transformer-impl", "runtime", "transformer_engine=fused local=fused", NULL, false},
    {"--use-mcore-models", NULL, NULL, "assumed", false},
    {"--make-vocab-size-divisible-by", NULL, NULL, "see vocab_size", true},
    {"--nproc_per_node", NULL, NULL, "taken with the nodes", false}, {"--nproc-per-node", NULL, NULL, "taken with the nodes", false},
    {"--nnodes", "nodes", NULL, NULL, false},
    {"--num-workers", NULL, NULL, "the loader: set dataloader_ms", false},
    {"--node_rank", NULL, NULL, launcher, false}, {"--node-rank", NULL, NULL, launcher, false},
    {"--master_addr", NULL, NULL, launcher, false}, {"--master_port", NULL, NULL, launcher, false},
    {"--master-addr", NULL, NULL, launcher, false}, {"--master-port", NULL, NULL, launcher, false},
    {"--rdzv*", NULL, NULL, launcher, false}, {"--distributed-*", NULL, NULL, launcher, false},
    {"--lr*", NULL, NULL, training, false}, {"--min-lr", NULL, NULL, training, false}, {"--weight-decay", NULL, NULL, training, false},
    {"--adam-*", NULL, NULL, training, false}, {"--train-*", NULL, NULL, training, false}, {"--init-method-std", NULL, NULL, training, false},
    {"--seed", NULL, NULL, training, false}, {"--rampup-batch-size", NULL, NULL, "the batch while it grows", true},
    {"--data-*", NULL, NULL, files, false}, {"--vocab-file", NULL, NULL, files, false}, {"--merge-file", NULL, NULL, files, false},
    {"--tokenizer-*", NULL, NULL, files, false}, {"--split", NULL, NULL, files, false}, {"--mock-data", NULL, NULL, files, false},
    {"--save*", NULL, NULL, files, false}, {"--load*", NULL, NULL, files, false}, {"--log-*", NULL, NULL, files, false},
    {"--tensorboard-*", NULL, NULL, files, false}, {"--wandb-*", NULL, NULL, files, false}, {"--ckpt-*", NULL, NULL, files, false},
    {"--eval-*", NULL, NULL, "evaluation is not part of a step", false},
    {"--profile*", NULL, NULL, "profiling is not part of a step", false},
    {NULL, NULL, NULL, NULL, false},
};
// clang-format on

/* How its layers look decides which of ours is meant. */
static void find_model(struct mfu_import *m)
{
    struct mfu_entry *norm = mfu_import_find(m, "--normalization");
    bool llama = mfu_import_find(m, "--swiglu") || (norm && strcmp(norm->value, "RMSNorm") == 0);

    if (mfu_import_find(m, "--num-experts"))
        mfu_import_assume(m, "model", "mixtral-8x7b", "for its experts; the shape is in the file");
    else if (llama)
        mfu_import_assume(m, "model", "llama-2-7b", "for swiglu and RMSNorm; the shape is in the file");
    else
        mfu_import_assume(m, "model", "gpt2", "for its layers; the shape is in the file");
    if (!llama && !mfu_import_find(m, "--disable-bias-linear"))
        mfu_import_assume(m, "bias", "1", "Megatron's layers have biases");
}

static double at_least_one(double n)
{
    return n >= 1 ? n : 1;
}

static void find_ranks(struct mfu_import *m)
{
    struct mfu_entry *each = mfu_import_find(m, mfu_import_find(m, "--nproc_per_node") ? "--nproc_per_node" : "--nproc-per-node");
    struct mfu_entry *all = mfu_import_find(m, "--global-batch-size");
    double nodes = at_least_one(mfu_import_number(m, "--nnodes"));
    double gpus = each ? nodes * mfu_import_number(m, each->name) : NAN;
    double split = at_least_one(mfu_import_number(m, "--tensor-model-parallel-size"))
        * at_least_one(mfu_import_number(m, "--pipeline-model-parallel-size"))
        * at_least_one(mfu_import_number(m, "--context-parallel-size"));
    double dp = isfinite(gpus) ? gpus / split : 1, batch = mfu_import_number(m, "--micro-batch-size");
    double steps = mfu_import_number(m, "--global-batch-size") / (batch * dp);

    if (each && isfinite(gpus))
        mfu_import_set(m, each, "gpus", "times the nodes", "%.0f", gpus);
    else if (each)
        mfu_import_leave(each, MFU_UNMODELLED, "its value is no number");
    if (each && dp >= 1 && dp == floor(dp)) {
        char text[32];

        snprintf(text, sizeof text, "%.0f", dp);
        mfu_import_assume(m, "dp", text, "the GPUs over tp, pp and cp");
    }
    if (all && steps >= 1 && steps == floor(steps))
        mfu_import_set(m, all, "accum", "over the micro-batch and the data-parallel ranks", "%.0f", steps);
}

static void finish(struct mfu_import *m)
{
    struct mfu_entry *implementation = mfu_import_find(m, "--transformer-impl");

    find_model(m);
    find_ranks(m);
    if (!implementation)
        mfu_import_assume(m, "runtime", "fused", "Megatron's kernels");
    if (!mfu_import_find(m, "--bf16") && !mfu_import_find(m, "--fp16") && !mfu_import_find(m, "--fp8-format"))
        mfu_import_assume(m, "precision", "fp32", "no 16-bit precision is switched on");
}

const struct mfu_import_format mfu_import_format_megatron = {
    .name = "megatron",
    .title = "Megatron-LM arguments",
    .recognise = recognise,
    .take_apart = mfu_import_arguments,
    .rows = rows,
    .finish = finish,
};
