/*
 * quantities.h - what claims about training are made of, one row per quantity, and the
 * identities that bind them, one line each.
 *
 * Names are those of the identities; base units as everywhere.  A phrase stands before or
 * behind its number; '<': only before, '>': only behind.  A quantity without phrases is
 * never said, only solved for.
 */
#ifndef MFU_QUANTITIES_H
#define MFU_QUANTITIES_H

#include <stddef.h>
#include "base/quantity.h"

enum {
    MFU_Q_SETUP = 1,      /* what is run, not how well */
    MFU_Q_WHOLE = 2,      /* a count: as printed, not rounded */
    MFU_Q_COUNTED = 4,    /* "8x H100" is how many, not how many times as many */
    MFU_Q_KEPT = 16,      /* unless the claim says so, the same before and after */
    MFU_Q_SINGLE = 32,    /* its assumption is for claims that speak of one GPU, */
    MFU_Q_SEVERAL = 64,   /* which this does not */
    MFU_Q_COMPLEMENT = 8, /* the phrase says what is missing from 1: padding of useful tokens */
};

/* X(identifier, name, dimension, traits, least, most, assumed where nothing is said (0: nothing) from, to, phrases).
 * least and most are what is possible at all, or has been seen of transformers: fullness, aspect and cube are those
 * of GPT-2, Llama, Qwen, Gemma, Mixtral, DeepSeek-V3, PaLM and MT-NLG with some room; recompute reaches 4/3
 * when all of forward runs again; state_bytes goes from one 4-bit copy to fp32 with a master copy. */
#define MFU_QUANTITIES(X)                                                                                              \
    X(MFU, "mfu", MFU_RATIO, 0, 0, 1, 0, 0,                                                                            \
      "mfu|model flops utilization|model flops utilisation|model flop utilization|>of peak|>of the peak")              \
    X(HFU, "hfu", MFU_RATIO, 0, 0, 1, 0, 0, "hfu|hardware flops utilization|hardware flops utilisation")               \
    X(RECOMPUTE, "recompute", MFU_RATIO, MFU_Q_SETUP, 1, 1.4, 0, 0, "")                                                \
    X(PEAK, "peak", MFU_FLOP_PER_S, MFU_Q_SETUP | MFU_Q_KEPT, 1e10, 1e17, 0, 0,                                        \
      "peak|dense peak|<peak of|<% of|hardware")                                                                       \
    X(ACHIEVED, "achieved", MFU_FLOP_PER_S, 0, 1e6, 1e17, 0, 0,                                                        \
      "flop rate|flops rate|>per gpu|>/gpu|flop/s per gpu|flops per gpu|achieved|flop/s|flops|tflops")                 \
    X(FLOP_PER_TOKEN, "flop_per_token", MFU_FLOP, MFU_Q_SETUP | MFU_Q_KEPT, 1e4, 1e15, 0, 0,                           \
      "flop/token|flops/token|flop per token|flops per token|>per token|>/token")                                      \
    X(PARAMS, "params", MFU_PARAMS, MFU_Q_SETUP | MFU_Q_KEPT, 1e4, 1e14, 0, 0,                                         \
      "parameters|params|parameter|>param|>model|model size|<size|>total parameters|total params")                     \
    X(ACTIVE, "active", MFU_PARAMS, MFU_Q_SETUP, 1e4, 1e14, 0, 0,                                                      \
      "active parameters|active params|activated parameters|active|>activated")                                        \
    X(ACTIVE_SHARE, "active_share", MFU_RATIO, MFU_Q_SETUP, 0.001, 1, 1, 1, "")                                        \
    X(ATTENTION, "attention", MFU_COUNT, MFU_Q_SETUP, 1, 20, 0, 0, "")                                                 \
    X(N_LAYER, "n_layer", MFU_COUNT, MFU_Q_SETUP | MFU_Q_WHOLE, 1, 1000, 0, 0,                                         \
      "n_layer|>layers|<layers|depth|blocks deep")                                                                     \
    X(N_EMBD, "n_embd", MFU_COUNT, MFU_Q_SETUP | MFU_Q_WHOLE, 8, 1e6, 0, 0,                                            \
      "n_embd|<width|wide|hidden size|d_model|<layers of|<layers of width")                                            \
    X(FULLNESS, "fullness", MFU_COUNT, MFU_Q_SETUP, 0.8, 3.5, 0, 0, "")                                                \
    X(ASPECT, "aspect", MFU_COUNT, MFU_Q_SETUP, 16, 300, 0, 0, "")                                                     \
    X(CUBE, "cube", MFU_COUNT, MFU_Q_SETUP, 1.3, 20, 0, 0, "")                                                         \
    X(SEQ, "seq", MFU_TOKENS, MFU_Q_SETUP | MFU_Q_KEPT | MFU_Q_WHOLE, 1, 1e8, 512, 4096,                               \
      "seq|sequence length|seq len|seqlen|context|context length|block size|ctx|<sequences of|tokens per sequence")    \
    X(EXPERTS, "experts", MFU_COUNT, MFU_Q_SETUP | MFU_Q_WHOLE, 1, 1e5, 0, 0, "experts|n_experts")                     \
    X(TOP_K, "top_k", MFU_COUNT, MFU_Q_SETUP | MFU_Q_WHOLE, 1, 1e4, 0, 0, "top k|top_k|<top|top-k|experts per token")  \
    X(TOKENS_PER_EXPERT, "tokens_per_expert", MFU_TOKENS, 0, 0, 1e12, 0, 0,                                            \
      "tokens per expert|tokens/expert|tokens each|tokens an expert")                                                  \
    X(BATCH, "batch", MFU_COUNT, MFU_Q_SETUP | MFU_Q_WHOLE, 1, 1e7, 0, 0,                                              \
      "batch|batch size|micro-batch|micro batch|micro batch size|bs|mbs|sequences per gpu")                            \
    X(ACCUM, "accum", MFU_COUNT, MFU_Q_SETUP | MFU_Q_WHOLE, 1, 1e6, 0, 0,                                              \
      "accum|accumulation|gradient accumulation|grad accum|accumulation steps|micro-steps|microbatches")               \
    X(GLOBAL_BATCH, "global_batch", MFU_COUNT, MFU_Q_SETUP | MFU_Q_WHOLE, 1, 1e8, 0, 0,                                \
      "global batch|global batch size|gbs|sequences per step|sequences/step")                                          \
    X(GPUS, "gpus", MFU_COUNT, MFU_Q_SINGLE | MFU_Q_SETUP | MFU_Q_KEPT | MFU_Q_WHOLE | MFU_Q_COUNTED, 1, 1e7, 1, 1,    \
      "gpus|>gpu|>cards|>card|accelerators|gpu count|number of gpus|ranks|hardware")                                   \
    X(NODES, "nodes", MFU_COUNT, MFU_Q_SEVERAL | MFU_Q_SETUP | MFU_Q_WHOLE | MFU_Q_COUNTED, 1, 1e6, 0, 0,              \
      "nodes|>node|machines|servers")                                                                                  \
    X(NODE_GPUS, "gpus_per_node", MFU_COUNT, MFU_Q_SETUP | MFU_Q_WHOLE, 1, 1e4, 0, 0,                                  \
      "gpus per node|gpus/node|gpus each")                                                                             \
    X(TP, "tp", MFU_COUNT, MFU_Q_SEVERAL | MFU_Q_SETUP | MFU_Q_WHOLE, 1, 1e4, 1, 1,                                    \
      "<tp|tensor parallel|tensor-parallel")                                                                           \
    X(PP, "pp", MFU_COUNT, MFU_Q_SEVERAL | MFU_Q_SETUP | MFU_Q_WHOLE, 1, 1e4, 1, 1,                                    \
      "<pp|pipeline stages|pipeline parallel|stages")                                                                  \
    X(CP, "cp", MFU_COUNT, MFU_Q_SEVERAL | MFU_Q_SETUP | MFU_Q_WHOLE, 1, 1e4, 1, 1, "<cp|context parallel")            \
    X(DP, "dp", MFU_COUNT, MFU_Q_SEVERAL | MFU_Q_SETUP | MFU_Q_WHOLE, 1, 1e7, 0, 0,                                    \
      "<dp|data parallel|data-parallel|replicas")                                                                      \
    X(TOKENS_PER_S, "tokens_per_s", MFU_COUNT, 0, 1e-3, 1e12, 0, 0,                                                    \
      "tokens/s|tokens/sec|tokens/second|tokens per second|tok/s|tok/sec|tps|throughput|speed|training "               \
      "speed|<speedup")                                                                                                \
    X(TOKENS_PER_S_GPU, "tokens_per_s_gpu", MFU_COUNT, 0, 1e-3, 1e9, 0, 0,                                             \
      "tokens/s/gpu|tokens/s per gpu|tokens/sec/gpu|tokens/gpu/s|tok/s/gpu|tokens per second per gpu|"                 \
      "tokens/second/gpu|tokens per gpu per second|tokens per gpu and second|tgs|tps/gpu|tok/s per gpu")               \
    X(SAMPLES_PER_S, "samples_per_s", MFU_COUNT, 0, 1e-6, 1e9, 0, 0,                                                   \
      "samples/s|samples/sec|sequences/s|sequences per second|samples per second")                                     \
    X(TOKENS_PER_STEP, "tokens_per_step", MFU_TOKENS, MFU_Q_SETUP | MFU_Q_KEPT, 1, 1e10, 0, 0,                         \
      "tokens per step|tokens/step|tokens per iteration|tokens/iter|tokens per batch|tokens per optimizer step|"       \
      "tokens a step|batch of tokens|token batch|<iteration of|<step of|<batch of|>-token batch")                      \
    X(STEP_TIME, "step_time", MFU_SECONDS, 0, 1e-6, 1e5, 0, 0,                                                         \
      "step time|per step|>/step|>/iter|per iteration|iteration time|time per step|time/iter|>a step|<step|<step of|"  \
      "iteration|s/step|s/iter")                                                                                       \
    X(STEPS, "steps", MFU_COUNT, MFU_Q_WHOLE, 1, 1e10, 0, 0,                                                           \
      ">steps|steps|iterations|optimizer steps|updates|number of steps")                                               \
    X(DURATION, "duration", MFU_SECONDS, 0, 1, 1e10, 0, 0, "training time|wall time|wall clock|duration|run time")     \
    X(GOODPUT, "goodput", MFU_RATIO, MFU_Q_SETUP | MFU_Q_KEPT, 0.75, 1, 0, 0,                                          \
      "goodput|uptime|effective training time")                                                                        \
    X(TOKENS, "tokens", MFU_TOKENS, MFU_Q_SETUP | MFU_Q_KEPT, 1, 1e16, 0, 0, "tokens|training tokens|tokens in all")   \
    X(TOKENS_PER_PARAM, "tokens_per_param", MFU_COUNT, 0, 1e-3, 1e7, 0, 0,                                             \
      "tokens per parameter|tokens/param|tokens/parameter|tokens per param")                                           \
    X(FLOP, "flop", MFU_FLOP, 0, 1e10, 1e32, 0, 0, "compute|training flop|training flops|in total|training compute")   \
    X(GPU_HOURS, "gpu_hours", MFU_COUNT, MFU_Q_SEVERAL, 1e-4, 1e11, 0, 0,                                              \
      "gpu hours|gpu-hours|gpu hour|gpu-hour|gpu h|gpu-h|card hours")                                                  \
    X(GPU_DAYS, "gpu_days", MFU_COUNT, MFU_Q_SEVERAL, 1e-5, 1e10, 0, 0, "gpu days|gpu-days|gpu-day")                   \
    X(PRICE, "price", MFU_COUNT, MFU_Q_SETUP | MFU_Q_KEPT, 1e-3, 1e4, 0, 0,                                            \
      ">per gpu hour|>per gpu-hour|>/gpu-hour|>/gpu hour|>/gpu/hour|>/gpu/h|>/gpu-h|>per hour|>/hour|>/h|>an hour|"    \
      "price|>a gpu-hour")                                                                                             \
    X(COST, "cost", MFU_COUNT, MFU_Q_SEVERAL, 1e-4, 1e13, 0, 0, "cost|costs|budget|bill|>in total|>altogether")        \
    X(POWER, "power", MFU_WATTS, MFU_Q_SETUP | MFU_Q_KEPT, 1, 1e5, 0, 0, "power|board power|>per gpu|>/gpu|tdp")       \
    X(ENERGY, "energy_kwh", MFU_COUNT, 0, 1e-6, 1e13, 0, 0, "kwh|>energy|<energy")                                     \
    X(MEMORY, "memory", MFU_BYTES, 0, 1e3, 1e14, 0, 0,                                                                 \
      "memory|vram|vram usage|memory usage|memory use|>used|>in use|>full|>of memory|memory per "                      \
      "gpu|nvidia-smi|<smi|smi used|<uses|<needs|<takes|vram used")                                                    \
    X(ALLOCATED, "allocated", MFU_BYTES, 0, 1, 1e14, 0, 0, "allocated|max_memory_allocated|peak allocated")            \
    X(RESERVED, "reserved", MFU_BYTES, 0, 1, 1e14, 0, 0, "reserved|max_memory_reserved|peak reserved")                 \
    X(CAPACITY, "capacity", MFU_BYTES, MFU_Q_SETUP | MFU_Q_KEPT, 1e8, 1e13, 0, 0,                                      \
      "capacity|>card|gpu|>cards|>gpus|<fits|<fits in|<fits into|<% of|<gb of|<gib of|<fit in|<fit into|>available")   \
    X(FILL, "fill", MFU_RATIO, 0, 0, 1, 0, 0, "fill|>full|>of memory|>of the memory|>of vram|memory fill|memory used") \
    X(STATES, "states", MFU_BYTES, 0, 1, 1e14, 0, 0,                                                                   \
      "weights|states|model states|weights and optimizer|weights and adam|optimizer states|weights gradients adam|"    \
      "weights and states|is weights|static|static memory")                                                            \
    X(STATE_BYTES, "state_bytes", MFU_BYTES, MFU_Q_SETUP | MFU_Q_KEPT, 0.5, 24, 0, 0,                                  \
      "bytes per parameter|bytes/param|bytes per param|bytes/parameter|>b per parameter|>b/param")                     \
    X(SHARDS, "shards", MFU_COUNT, MFU_Q_SEVERAL | MFU_Q_SETUP | MFU_Q_WHOLE, 1, 1e7, 0, 0, "shards|<sharded over")    \
    X(SEQUENCE_BYTES, "sequence_bytes", MFU_BYTES, MFU_Q_SETUP | MFU_Q_KEPT, 0, 1e13, 0, 0,                            \
      "per sequence|activations per sequence")                                                                         \
    X(UTILISATION, "utilisation", MFU_RATIO, 0, 0, 1, 0, 0,                                                            \
      "utilization|utilisation|gpu utilization|gpu utilisation|gpu util|gpu-util|util|busy|nvidia-smi|>gpu use")       \
    X(SM_ACTIVE, "sm_active", MFU_RATIO, 0, 0, 1, 0, 0,                                                                \
      "sm active|sm_active|sm activity|sm efficiency|sm util|>of the sms")                                             \
    X(TENSOR_ACTIVE, "tensor_active", MFU_RATIO, 0, 0, 1, 0, 0,                                                        \
      "tensor active|tensor_active|tensor cores active|tensor cores are active|tensor activity|tensor pipe|tensor "    \
      "core activity|tensor cores|tensor|tensor pipes")                                                                \
    X(DRAM_ACTIVE, "dram_active", MFU_RATIO, 0, 0, 1, 0, 0,                                                            \
      "dram active|dram_active|dram activity|dram|memory activity")                                                    \
    X(BLOCKS, "blocks", MFU_COUNT, MFU_Q_WHOLE, 1, 1e12, 0, 0, "blocks|>block|thread blocks")                          \
    X(SMS, "sms", MFU_COUNT, MFU_Q_SETUP | MFU_Q_WHOLE, 1, 1e4, 0, 0, "sms|multiprocessors")                           \
    X(KERNELS, "kernels", MFU_COUNT, 0, 1, 1e9, 0, 0, "kernels|kernels per step|launches|kernel launches")             \
    X(KERNEL_TIME, "kernel_time", MFU_SECONDS, 0, 1e-9, 1e4, 0, 0,                                                     \
      "per kernel|>each|>a kernel|kernel time|<kernels of")                                                            \
    X(LAUNCH_TIME, "launch_time", MFU_SECONDS, 0, 1e-9, 1, 0, 0,                                                       \
      "per launch|>a launch|launch overhead|launch time|to launch")                                                    \
    X(LOADER_TIME, "loader_time", MFU_SECONDS, 0, 0, 1e5, 0, 0,                                                        \
      "data loader|dataloader|loader|data time|loader wait|data wait|waiting for data")                                \
    X(FORWARD, "forward", MFU_RATIO, 0, 0, 1, 0, 0, "forward|forward pass")                                            \
    X(BACKWARD, "backward", MFU_RATIO, 0, 0, 1, 0, 0, "backward|backward pass")                                        \
    X(OPTIMIZER, "optimizer", MFU_RATIO, 0, 0, 1, 0, 0, "optimizer|optimizer step")                                    \
    X(COMMUNICATION, "communication", MFU_RATIO, 0, 0, 1, 0, 0, "communication|exposed communication|nccl|comm")       \
    X(INPUT, "input", MFU_RATIO, 0, 0, 1, 0, 0, "input|data loading|data|loading")                                     \
    X(UNTOUCHED, "untouched", MFU_RATIO, MFU_Q_COMPLEMENT, 0, 1, 0, 0,                                                 \
      ">of the step|>of step time|>of the step time|>of the time|>of the run")                                         \
    X(SCALING, "scaling", MFU_RATIO, MFU_Q_SEVERAL, 0, 1e6, 0, 0,                                                      \
      "scaling|scaling efficiency|parallel efficiency|weak scaling")                                                   \
    X(USEFUL, "useful", MFU_RATIO, 0, 0, 1, 0, 0, "useful|accepted|acceptance|accepted ratio|acceptance rate")         \
    X(PADDING, "padding", MFU_RATIO, 0, 0, 1, 0, 0, "padding|pad|padded|pad fraction|>is padding")                     \
    X(USEFUL_TOKENS_PER_S, "useful_tokens_per_s", MFU_COUNT, 0, 1e-3, 1e12, 0, 0,                                      \
      "useful tokens/s|useful tokens per second|non-pad tokens/s|accepted tokens/s")                                   \
    X(USEFUL_PER_GPU_HOUR, "useful_per_gpu_hour", MFU_COUNT, 0, 1e-3, 1e13, 0, 0,                                      \
      "accepted tokens per gpu-hour|accepted tokens per gpu hour|useful tokens per gpu-hour|"                          \
      "useful tokens per gpu hour|tokens per gpu-hour|tokens per gpu hour|tokens/gpu-hour")

enum mfu_quantity_kind {
#define X(id, ...) MFU_Q_##id,
    MFU_QUANTITIES(X)
#undef X
        MFU_Q_COUNT
};

struct mfu_quantity_row {
    const char *name;
    enum mfu_dim dim;
    int traits;
    double least, most, assumed[2];
    const char *phrases;
};
extern const struct mfu_quantity_row mfu_quantity_rows[MFU_Q_COUNT];

/* What binds them: a product, `=`, `<=` or `>=`, a sum of products; NAME' is after over before.
 * `says` is why. */
struct mfu_identity_row {
    const char *text, *says;
};
extern const struct mfu_identity_row mfu_identity_rows[];
extern const size_t mfu_identity_row_count;

#endif
