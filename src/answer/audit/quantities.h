/*
 * quantities.h - what claims about training are made of, one row per quantity, and the
 * identities that bind them, one line each.
 *
 * Names are those of the identities; base units as everywhere.  A phrase, in the spelling of
 * claim_text.h, stands before or behind its number; '<': only before, '>': only behind.
 * A quantity without phrases is never said so, only read or solved for.
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
    MFU_Q_FIRM = 128,     /* its assumption stands, whatever follows from the rest */
    MFU_Q_THING = 256,    /* what a whole sentence may be about, whose bytes and numbers are told */
    MFU_Q_COMPLEMENT = 8, /* the phrase says what is missing from 1: padding of useful tokens */
};

/* X(identifier, name, dimension, traits, least, most, assumed where nothing is said (to 0: nothing) from, to, phrases).
 * least and most are what is possible at all, or has been seen of transformers: fullness, aspect and cube are those
 * of GPT-2, Llama, Qwen, Gemma, Mixtral, DeepSeek-V3, PaLM and MT-NLG with some room; recompute reaches 4/3
 * when all of forward runs again; sustained: large GEMMs of nine GPUs keep .79 to .92 of the dense peak; state_bytes goes from one 4-bit copy to fp32 with a master copy. */
// clang-format off
#define MFU_QUANTITIES(X) \
    X(MFU, "mfu", MFU_RATIO, 0, 0, 1, 0, 0, "mfu|model flop utilisation|model flops utilisation|>peak") \
    X(HFU, "hfu", MFU_RATIO, 0, 0, 1, 0, 0, "hfu|hardware flop utilisation|hardware flops utilisation") \
    X(RECOMPUTE, "recompute", MFU_RATIO, MFU_Q_SETUP, 1, 1.4, 0, 0, "") \
    X(SUSTAINED, "sustained", MFU_RATIO, MFU_Q_FIRM, 0, 1, 0, 0.95, "") \
    X(PEAK, "peak", MFU_FLOP_PER_S, MFU_Q_SETUP | MFU_Q_KEPT, 1e10, 1e17, 0, 0, "peak|<% of|hardware|<has|<have|>dense peak|<rated|<quote") \
    X(ACHIEVED, "achieved", MFU_FLOP_PER_S, 0, 1e6, 1e17, 0, 0, "flop rate|flops rate|achieved|flop/s|flops|tflops") \
    X(ACHIEVED_ALL, "achieved_all", MFU_FLOP_PER_S, 0, 1e6, 1e22, 0, 0, "") \
    X(FLOP_PER_TOKEN, "flop_per_token", MFU_FLOP, MFU_Q_SETUP | MFU_Q_KEPT, 1e4, 1e15, 0, 0, "flop/token|>/token") \
    X(PARAMS, "params", MFU_PARAMS, MFU_Q_SETUP | MFU_Q_KEPT, 1e4, 1e14, 0, 0, "parameter|>model|model size|<size|>total parameter|>total|<n=") \
    X(ACTIVE, "active", MFU_PARAMS, MFU_Q_SETUP, 1e4, 1e14, 0, 0, "active parameter|activated parameter|active|>are active|>is active|>activated|<activate") \
    X(ACTIVE_SHARE, "active_share", MFU_RATIO, MFU_Q_SETUP, 0.001, 1, 1, 1, "active|>are active|>is active|>activated") \
    X(PASSES, "passes", MFU_COUNT, MFU_Q_SETUP | MFU_Q_FIRM, 1, 4, 3, 3, "") \
    X(ATTENTION_FLOP, "attention_flop", MFU_FLOP, MFU_Q_SETUP, 1, 1e30, 0, 0, "attention flop|attention flops|qk^t flop|qk^t flops|qk^t|attention score|attention matrix|score matrix|attention score flop|attention score flops") \
    X(ATTENTION, "attention", MFU_COUNT, MFU_Q_SETUP | MFU_Q_KEPT, 1, 20, 0, 0, "") \
    X(N_LAYER, "n_layer", MFU_COUNT, MFU_Q_SETUP | MFU_Q_WHOLE, 1, 1000, 0, 0, "<l=|n layer|>layer|<layer|depth|block deep") \
    X(N_EMBD, "n_embd", MFU_COUNT, MFU_Q_SETUP | MFU_Q_WHOLE, 8, 1e6, 0, 0, "<d=|n embd|<hidden|<hidden dim|<width|wide|hidden size|d model|<layer of|<layer of width") \
    X(FULLNESS, "fullness", MFU_COUNT, MFU_Q_SETUP, 0.8, 3.5, 0, 0, "") \
    X(ASPECT, "aspect", MFU_COUNT, MFU_Q_SETUP, 16, 300, 0, 0, "") \
    X(CUBE, "cube", MFU_COUNT, MFU_Q_SETUP, 1.3, 20, 0, 0, "") \
    X(SEQ, "seq", MFU_TOKENS, MFU_Q_SETUP | MFU_Q_KEPT | MFU_Q_WHOLE, 1, 1e8, 512, 4096, "<t=|<s=|seq|<sequence|sequence length|seq length|seq len|seqlen|context|context length|block size|ctx|<sequence of|token/sequence|>token context|>token sequence|>token prompt|>token window|>position|>learned position") \
    X(EXPERTS, "experts", MFU_COUNT, MFU_Q_SETUP | MFU_Q_WHOLE, 1, 1e5, 0, 0, "expert|n expert") \
    X(TOP_K, "top_k", MFU_COUNT, MFU_Q_SETUP | MFU_Q_WHOLE, 1, 1e4, 0, 0, "top k|<top|expert/token") \
    X(EXPERT_SHARE, "expert_share", MFU_RATIO, MFU_Q_SETUP, 0, 1, 0, 0, ">of expert|>of the expert|>of expert active") \
    X(TOKENS_PER_EXPERT, "tokens_per_expert", MFU_TOKENS, 0, 0, 1e12, 0, 0, "token/expert|token an expert") \
    X(BATCH, "batch", MFU_COUNT, MFU_Q_SETUP | MFU_Q_WHOLE, 1, 1e7, 0, 0, "<b=|batch|batch size|<batch of|<micro|<microbatch|<microbatch of|<micro batch|micro batch size|microbatch size|bs|mbs|sequence/gpu|train batch size|>/batch") \
    X(ACCUM, "accum", MFU_COUNT, MFU_Q_SETUP | MFU_Q_WHOLE, 1, 1e6, 1, 1, "accum|accumulation|gradient accumulation|gradient accum|accumulation step|gradient accumulation step|>step accumulation|>step gradient accumulation|>step of accumulation|micro step|>microbatch|>micro batch|<m=") \
    X(GLOBAL_BATCH, "global_batch", MFU_COUNT, MFU_Q_SETUP | MFU_Q_WHOLE, 1, 1e8, 0, 0, "total batch|total batch size|gbs|sequence/step|<step of") \
    X(GPUS, "gpus", MFU_COUNT, MFU_Q_SINGLE | MFU_Q_SETUP | MFU_Q_KEPT | MFU_Q_WHOLE | MFU_Q_COUNTED, 1, 1e7, 1, 1, "=gpu|gpu count|number of gpu|>rank|hardware|world size") \
    X(NODES, "nodes", MFU_COUNT, MFU_Q_SEVERAL | MFU_Q_SETUP | MFU_Q_WHOLE | MFU_Q_COUNTED, 1, 1e6, 0, 0, "node") \
    X(NODE_GPUS, "gpus_per_node", MFU_COUNT, MFU_Q_SEVERAL | MFU_Q_SETUP | MFU_Q_KEPT | MFU_Q_WHOLE | MFU_Q_COUNTED, 1, 1e4, 0, 0, "gpu/node|<node of|<node with") \
    X(TP, "tp", MFU_COUNT, MFU_Q_SEVERAL | MFU_Q_SETUP | MFU_Q_WHOLE, 1, 1e4, 1, 1, "<tp|tensor parallel") \
    X(PP, "pp", MFU_COUNT, MFU_Q_SEVERAL | MFU_Q_SETUP | MFU_Q_WHOLE, 1, 1e4, 1, 1, "<pp|pipeline stage|pipeline parallel|stage|<p=") \
    X(CP, "cp", MFU_COUNT, MFU_Q_SEVERAL | MFU_Q_FIRM | MFU_Q_SETUP | MFU_Q_WHOLE, 1, 1e4, 1, 1, "<cp|context parallel") \
    X(DP, "dp", MFU_COUNT, MFU_Q_SEVERAL | MFU_Q_SETUP | MFU_Q_WHOLE, 1, 1e7, 0, 0, "<dp|data parallel|replica") \
    X(TOKENS_PER_S, "tokens_per_s", MFU_COUNT, 0, 1e-3, 1e12, 0, 0, "token/s|tps|throughput|speed|training speed|<speedup") \
    X(TOKENS_PER_S_GPU, "tokens_per_s_gpu", MFU_COUNT, 0, 1e-3, 1e9, 0, 0, "token/s/gpu|token/gpu/s|token/gpu and s|tgs|tps/gpu") \
    X(SAMPLES_PER_S, "samples_per_s", MFU_COUNT, 0, 1e-6, 1e9, 0, 0, "sequence/s") \
    X(SAMPLES_PER_S_GPU, "samples_per_s_gpu", MFU_COUNT, 0, 1e-6, 1e9, 0, 0, "sequence/s/gpu|sequence/gpu/s") \
    X(TOKENS_PER_STEP, "tokens_per_step", MFU_TOKENS, MFU_Q_SETUP | MFU_Q_KEPT, 1, 1e9, 0, 0, "token/step|token/batch|token/optimizer step|batch of token|token batch|<step of|<batch of|batch|batch size|total batch|total batch size") \
    X(TOKENS_PER_STEP_GPU, "tokens_per_step_gpu", MFU_TOKENS, 0, 1, 1e10, 0, 0, "token/step/gpu|token/gpu/step|token/gpu") \
    X(TOKENS_PER_MICRO, "tokens_per_microbatch", MFU_TOKENS, 0, 1, 1e9, 0, 0, "token/micro step|token/micro batch|token/microbatch") \
    X(STEP_TIME, "step_time", MFU_SECONDS, 0, 1e-6, 1e5, 0, 0, "step time|/step|time/step|step|<step of|s/step") \
    X(STEPS_PER_S, "steps_per_s", MFU_COUNT, 0, 1e-5, 1e6, 0, 0, "step/s") \
    X(STEPS, "steps", MFU_COUNT, MFU_Q_WHOLE, 1, 1e10, 0, 0, "=step|optimizer step|update|number of step") \
    X(STEPS_PER_EPOCH, "steps_per_epoch", MFU_COUNT, MFU_Q_WHOLE, 1, 1e10, 0, 0, "step/epoch|optimizer step/epoch|step an epoch|step each epoch") \
    X(DURATION, "duration", MFU_SECONDS, 0, 1, 1e10, 0, 0, "training time|wall time|wall clock|duration|run time|>run") \
    X(GOODPUT, "goodput", MFU_RATIO, MFU_Q_SETUP | MFU_Q_KEPT | MFU_Q_FIRM, 0, 1, 0.75, 1, "goodput|uptime") \
    X(LOST, "lost", MFU_RATIO, 0, 0, 1, 0, 0, "<lost|downtime|idle|>were lost|>was lost") \
    X(LOST_TIME, "lost_time", MFU_SECONDS, 0, 0, 1e10, 0, 0, "<lost|downtime|idle|>were lost|>was lost") \
    X(TOKENS, "tokens", MFU_TOKENS, MFU_Q_SETUP | MFU_Q_KEPT, 1e6, 1e16, 0, 0, "token|training token|token total|<d=|<training on") \
    X(CORPUS, "corpus", MFU_TOKENS, MFU_Q_SETUP | MFU_Q_KEPT, 1e5, 1e16, 0, 0, "<epoch of|<epoch over|token corpus|token dataset|<corpus of|<dataset of|token/epoch") \
    X(EPOCHS, "epochs", MFU_COUNT, MFU_Q_SETUP, 1e-6, 1e6, 1, 1, "epoch|>pass over") \
    X(SAMPLES, "samples", MFU_COUNT, MFU_Q_SETUP | MFU_Q_KEPT | MFU_Q_WHOLE, 1000, 1e13, 0, 0, ">sequence|sequence/epoch|dataset size|<dataset of|<epoch over") \
    X(TOKENS_PER_PARAM, "tokens_per_param", MFU_COUNT, 0, 1e-3, 1e7, 0, 0, "token/parameter|>/parameter") \
    X(FLOP, "flop", MFU_FLOP, 0, 1e15, 1e32, 0, 0, "compute|training flop|training flops|training compute|>total") \
    X(GPU_HOURS, "gpu_hours", MFU_COUNT, MFU_Q_SEVERAL, 1e-4, 1e11, 0, 0, "gpu hour") \
    X(GPU_DAYS, "gpu_days", MFU_COUNT, MFU_Q_SEVERAL, 1e-5, 1e10, 0, 0, "gpu day") \
    X(PRICE, "price", MFU_COUNT, MFU_Q_SETUP | MFU_Q_KEPT, 1e-3, 1e4, 0, 0, ">/gpu hour|>/gpu/hour|>/hour|price|>a gpu hour|<at|<rate") \
    X(PRICE_ALL, "price_all", MFU_COUNT, MFU_Q_SETUP, 1e-3, 1e7, 0, 0, "") \
    X(TOKEN_PRICE, "price_per_million_tokens", MFU_COUNT, 0, 1e-9, 1e6, 0, 0, "/million token|/1m token|/m token") \
    X(COST, "cost", MFU_COUNT, MFU_Q_SEVERAL, 1e-4, 1e13, 0, 0, "cost|budget|bill") \
    X(POWER, "power", MFU_WATTS, MFU_Q_SETUP | MFU_Q_KEPT, 1, 1e5, 0, 0, "power|board power|tdp|<draw|<drawing|<draw of") \
    X(POWER_ALL, "power_all", MFU_WATTS, MFU_Q_SETUP, 1, 1e9, 0, 0, "") \
    X(NODE_POWER, "node_power", MFU_WATTS, MFU_Q_SETUP, 1, 1e7, 0, 0, "<node draw|node power|power/node|/node") \
    X(ENERGY, "energy_kwh", MFU_COUNT, 0, 1e-6, 1e13, 0, 0, "kwh|energy") \
    X(MEMORY, "memory", MFU_BYTES, 0, 1e3, 1e14, 0, 0, "memory|vram|vram usage|memory usage|memory use|>used|>in use|>full|nvidia smi|<smi|smi used|vram used|peak memory|peak vram") \
    X(FREE, "free", MFU_BYTES, MFU_Q_SETUP, 0, 1e14, 0, 0, "free|free memory|<leaving|<leave|>left|>spare|headroom") \
    X(FULL, "full", MFU_RATIO, MFU_Q_SETUP, 0, 1e4, 0, 0, "") \
    X(MEMORY_ALL, "memory_all", MFU_BYTES, 0, 1e3, 1e18, 0, 0, "") \
    X(ALLOCATED, "allocated", MFU_BYTES, 0, 1, 1e14, 0, 0, "allocated|max memory allocated|peak allocated") \
    X(RESERVED, "reserved", MFU_BYTES, 0, 1, 1e14, 0, 0, "reserved|max memory reserved|peak reserved") \
    X(CAPACITY, "capacity", MFU_BYTES, MFU_Q_SETUP | MFU_Q_KEPT, 1e8, 1e13, 0, 0, "capacity|>gpu|<gpu have|<gpu with|<gpu has|<fit|<fit in|<fit into|<fit on|<% of|<gb of|<gib of|>available|vram total|total vram") \
    X(CAPACITY_ALL, "capacity_all", MFU_BYTES, MFU_Q_SETUP, 1e8, 1e18, 0, 0, "") \
    X(BANDWIDTH, "bandwidth", MFU_BYTES_PER_S, MFU_Q_SETUP | MFU_Q_KEPT, 1e6, 1e16, 0, 0, "bandwidth|memory bandwidth|hbm") \
    X(LINK, "link_rate", MFU_BYTES_PER_S, MFU_Q_SETUP | MFU_Q_KEPT, 1e6, 1e16, 0, 0, "link bandwidth|total link bandwidth|interconnect bandwidth|bus bandwidth") \
    X(STREAMED, "streamed", MFU_BYTES_PER_S, 0, 1, 1e16, 0, 0, "<stream|<streams|<streaming|out of hbm|from hbm") \
    X(DECODED, "decoded_sequences", MFU_COUNT, MFU_Q_SETUP, 1, 1e7, 0, 0, "") \
    X(FLOP_PER_SAMPLE, "flop_per_sample", MFU_FLOP, MFU_Q_SETUP, 1e5, 1e18, 0, 0, "flop/sequence|>/sequence|>/training sequence") \
    X(FORWARD_MACS, "forward_macs", MFU_FLOP, MFU_Q_SETUP, 1e4, 1e17, 0, 0, "mac|mac/sequence") \
    X(RIDGE, "ridge", MFU_COUNT, MFU_Q_SETUP, 0.01, 1e6, 0, 0, "ridge|ridge point|>flop/byte") \
    X(VOCAB, "vocab", MFU_COUNT, MFU_Q_SETUP | MFU_Q_WHOLE, 2, 1e7, 0, 0, "<v=|vocab|vocabulary|>token vocabulary|>token vocab|>entry vocabulary|>entry vocab|vocab size|vocabulary size|<vocab of|<vocabulary of") \
    X(EMBEDDING, "embedding", MFU_PARAMS, MFU_Q_SETUP | MFU_Q_THING, 1e3, 1e12, 0, 0, "embedding|embedding parameter|>parameter in embedding|embedding table|lm head|embedding matrix") \
    X(TABLES, "embedding_tables", MFU_COUNT, MFU_Q_SETUP, 1, 2, 0, 0, "") \
    X(TABLES_ALL, "all_embedding_tables", MFU_COUNT, MFU_Q_SETUP, 1, 2, 0, 0, "") \
    X(BLOCK_PARAMS, "block_params", MFU_PARAMS, MFU_Q_SETUP, 1e4, 1e14, 0, 0, "block|block alone|for the block|layer alone|non embedding parameter|>non embedding|>without embedding|parameter in block|parameter in its block|embedding aside") \
    X(LAYER_PARAMS, "layer_params", MFU_PARAMS, MFU_Q_SETUP, 1e3, 1e13, 0, 0, "parameter/layer|>/layer|parameter/block|>/block") \
    X(ATTENTION_PARAMS, "attention_params", MFU_PARAMS, MFU_Q_SETUP, 1, 1e13, 0, 0, "") \
    X(ATTENTION_WIDTH, "attention_width", MFU_COUNT, MFU_Q_SETUP, 0.5, 8, 0, 0, "") \
    X(MLPS, "mlps_per_layer", MFU_COUNT, MFU_Q_SETUP | MFU_Q_WHOLE, 1, 1e5, 1, 1, "") \
    X(FF_RATIO, "ff_ratio", MFU_COUNT, MFU_Q_SETUP, 0.5, 16, 0, 0, "mlp ratio|ffn ratio|expansion|expansion factor|mlp expansion") \
    X(HEADS, "heads", MFU_COUNT, MFU_Q_SETUP | MFU_Q_WHOLE, 1, 1e4, 0, 0, "head|attention head|query head|n head") \
    X(KV_HEADS, "kv_heads", MFU_COUNT, MFU_Q_SETUP | MFU_Q_WHOLE, 1, 1e4, 0, 0, "kv head|n kv head|key value head") \
    X(HEAD_GROUP, "heads_per_kv_head", MFU_COUNT, MFU_Q_SETUP, 1, 1e4, 1, 1, "") \
    X(HEAD_DIM, "head_dim", MFU_COUNT, MFU_Q_SETUP | MFU_Q_WHOLE, 1, 1e5, 0, 0, "<head of|<kv head of|head dim|head size|head dimension|dim head|dimension/head|<of dim") \
    X(HEAD_WIDTH, "head_width", MFU_RATIO, MFU_Q_SETUP, 0.25, 4, 1, 1, "") \
    X(KV_TOKEN, "kv_bytes_per_token", MFU_BYTES, MFU_Q_SETUP, 64, 1e9, 0, 0, ">/token|kv cache/token|kv/token") \
    X(KV, "kv_cache", MFU_BYTES, 0, 1, 1e16, 0, 0, "kv cache|kv") \
    X(KV_SEQUENCES, "kv_sequences", MFU_COUNT, MFU_Q_SETUP | MFU_Q_WHOLE, 1, 1e7, 1, 1, "concurrent request|request|user") \
    X(ROWS, "rows", MFU_COUNT, MFU_Q_SETUP, 1, 1e8, 0, 0, "") \
    X(COLUMNS, "columns", MFU_COUNT, MFU_Q_SETUP, 1, 1e8, 0, 0, "") \
    X(INNER, "inner", MFU_COUNT, MFU_Q_SETUP, 1, 1e8, 0, 0, "") \
    X(MATMUL, "matmul_flop", MFU_FLOP, MFU_Q_SETUP, 1, 1e24, 0, 0, "matmul|gemm") \
    X(MATMUL_TIME, "matmul_time", MFU_SECONDS, 0, 1e-9, 1e4, 0, 0, "matmul|gemm") \
    X(MATRIX, "matrix", MFU_PARAMS, MFU_Q_SETUP | MFU_Q_THING, 1, 1e14, 0, 0, "matrix|router|projection") \
    X(MATRIX_BYTES, "matrix_bytes", MFU_BYTES, MFU_Q_SETUP, 1, 1e15, 0, 0, "matrix") \
    X(ADAPTER, "adapter", MFU_PARAMS, MFU_Q_SETUP, 1, 1e12, 0, 0, "lora adapter") \
    X(CHECKPOINT, "checkpoint", MFU_BYTES, MFU_Q_THING, 1, 1e16, 0, 0, "checkpoint") \
    X(CHECKPOINT_BYTES, "checkpoint_bytes", MFU_BYTES, MFU_Q_SETUP, 0.1, 24, 0, 0, "") \
    X(CHECKPOINT_PART, "checkpoint_part", MFU_BYTES, MFU_Q_THING, 1, 1e16, 0, 0, "lora checkpoint|adapter checkpoint|lora file|adapter file|checkpoint of lora|checkpoint of the lora|shard") \
    X(SAVED_BYTES, "saved_bytes", MFU_BYTES, MFU_Q_SETUP, 0, 16, 0, 0, "") \
    X(TRAFFIC, "traffic", MFU_BYTES, 0, 0, 1e16, 0, 0, "traffic|<move|<send|communication volume|on the wire") \
    X(PEERS, "peers", MFU_COUNT, MFU_Q_SETUP | MFU_Q_WHOLE, 0, 1e7, 0, 0, "") \
    X(ACTIVATIONS, "activations", MFU_BYTES, MFU_Q_THING, 0, 1e15, 0, 0, "activation|activation memory") \
    X(ACTIVATION_BYTES, "activation_bytes", MFU_BYTES, MFU_Q_SETUP, 1.5, 90, 0, 0, "") \
    X(LOGITS, "logits", MFU_BYTES, MFU_Q_THING, 1, 1e15, 0, 0, "logit|logit tensor|logit memory") \
    X(LOGIT_BYTES, "logit_bytes", MFU_BYTES, MFU_Q_SETUP, 2, 4, 0, 0, "") \
    X(SCORES, "scores", MFU_BYTES, MFU_Q_THING, 1, 1e15, 0, 0, "score matrix|attention matrix|attention score|attention weight") \
    X(SCORE_BYTES, "score_bytes", MFU_BYTES, MFU_Q_SETUP, 2, 4, 0, 0, "") \
    X(GATHERED, "gathered", MFU_BYTES, 0, 1, 1e16, 0, 0, "<all gather of|<allgather of|<reduce scatter of|<all gathering|<allgathering|<gathering|<reduce scattering") \
    X(IMAGE, "image", MFU_COUNT, MFU_Q_SETUP, 8, 1e5, 0, 0, "px|pixel|resolution|image size") \
    X(PATCH, "patch", MFU_COUNT, MFU_Q_SETUP, 1, 256, 0, 0, "patch size|<patch of|<patch") \
    X(PATCHES, "patches", MFU_COUNT, MFU_Q_SETUP, 1, 1e7, 0, 0, ">patch|patch token|image token") \
    X(D_FF, "d_ff", MFU_COUNT, MFU_Q_SETUP, 8, 1e6, 0, 0, "d ff|<ffn|<ffn dim|<feed forward dim|<intermediate") \
    X(MLP, "mlp", MFU_PARAMS, MFU_Q_SETUP | MFU_Q_THING, 1, 1e14, 0, 0, "mlp|ffn|feed forward|feedforward") \
    X(MLP_MATRICES, "mlp_matrices", MFU_COUNT, MFU_Q_SETUP, 2, 3, 0, 0, "") \
    X(VPP, "vpp", MFU_COUNT, MFU_Q_SEVERAL | MFU_Q_FIRM | MFU_Q_SETUP | MFU_Q_WHOLE, 1, 1e3, 1, 1, "<vpp|virtual stage|model chunk|chunk/stage") \
    X(WEIGHT_BITS, "weight_bits", MFU_COUNT, MFU_Q_SETUP, 1, 64, 0, 0, "bit/weight|bit/parameter|>bpw") \
    X(EPOCH_TIME, "epoch_time", MFU_SECONDS, 0, 1e-3, 1e9, 0, 0, "epoch|/epoch|time/epoch|epoch time") \
    X(INTENSITY, "intensity", MFU_COUNT, 0, 1e-3, 1e7, 0, 0, "arithmetic intensity|intensity|operational intensity") \
    X(MATMUL_BYTES, "matmul_bytes", MFU_BYTES, MFU_Q_SETUP, 1, 1e16, 0, 0, "") \
    X(BOUNDNESS, "boundness", MFU_COUNT, 0, 1e-9, 1e9, 0, 0, "") \
    X(EXPERT_CAPACITY, "expert_capacity", MFU_TOKENS, 0, 0, 1e12, 0, 0, "expert capacity|capacity/expert") \
    X(CAPACITY_FACTOR, "capacity_factor", MFU_COUNT, MFU_Q_SETUP, 0.1, 100, 0, 0, "capacity factor") \
    X(PART_SPEEDUP, "part_speedup", MFU_COUNT, 0, 0, 1e6, 0, 0, "") \
    X(TDP, "tdp", MFU_WATTS, MFU_Q_SETUP, 1, 1e5, 0, 0, "") \
    X(NVLINK, "nvlink", MFU_BYTES_PER_S, MFU_Q_SETUP, 1e6, 1e16, 0, 0, "nvlink|nvlink bandwidth") \
    X(RANK, "rank", MFU_COUNT, MFU_Q_SETUP | MFU_Q_WHOLE, 1, 1e5, 0, 0, "<rank|lora rank|<r=|<r") \
    X(ADAPTED, "adapted", MFU_COUNT, MFU_Q_SETUP, 1.25, 24, 0, 0, "") \
    X(FILL, "fill", MFU_RATIO, MFU_Q_FIRM, 0, 1e4, 0, 1, "fill|>full|>memory|>vram|>gpu|memory fill|memory used") \
    X(STATES, "states", MFU_BYTES, 0, 1, 1e14, 0, 0, "state|model state|is weight|static|static memory") \
    X(STATES_ALL, "states_all", MFU_BYTES, 0, 1, 1e18, 0, 0, "") \
    X(STATE_BYTES, "state_bytes", MFU_BYTES, MFU_Q_SETUP | MFU_Q_KEPT, 0.5, 24, 0, 0, "byte/parameter|>/parameter|>b/parameter") \
    X(WEIGHTS, "weights", MFU_BYTES, 0, 1, 1e14, 0, 0, "weight|size of the weight|size of weight|file|file size|<on disk|>on disk|>to download") \
    X(WEIGHTS_ALL, "weights_all", MFU_BYTES, 0, 1, 1e18, 0, 0, "") \
    X(WEIGHT_BYTES, "weight_bytes", MFU_BYTES, MFU_Q_SETUP, 0.1, 8, 0, 0, "byte/weight|>/weight") \
    X(GRADIENTS, "gradients", MFU_BYTES, 0, 1, 1e14, 0, 0, "gradient|<allreduce of|<allreduce") \
    X(GRADIENT_BYTES, "gradient_bytes", MFU_BYTES, MFU_Q_SETUP, 0, 8, 0, 0, "byte/gradient|>/gradient") \
    X(OPTIMIZER_STATES, "optimizer_states", MFU_BYTES, 0, 1, 1e14, 0, 0, "optimizer state|adam state|optimizer memory|=optimizer|=adam|=adamw") \
    X(OPTIMIZER_BYTES, "optimizer_bytes", MFU_BYTES, MFU_Q_SETUP, 0, 16, 0, 0, ">optimizer state/parameter") \
    X(SHARDS, "shards", MFU_COUNT, MFU_Q_SEVERAL | MFU_Q_SETUP | MFU_Q_WHOLE, 1, 1e7, 0, 0, "shard|<sharded over") \
    X(SHARD_SHARE, "shard_share", MFU_RATIO, MFU_Q_SETUP, 1e-7, 1, 0, 0, "") \
    X(SEQUENCE_BYTES, "sequence_bytes", MFU_BYTES, MFU_Q_SETUP | MFU_Q_KEPT, 0, 1e13, 0, 0, "/sequence|activation/sequence") \
    X(UTILISATION, "utilisation", MFU_RATIO, 0, 0, 1, 0, 0, "utilisation|<gpu are at|gpu utilisation|busy|nvidia smi|>gpu use") \
    X(SM_ACTIVE, "sm_active", MFU_RATIO, 0, 0, 1, 0, 0, "sm active|sms are active|sms active|sm activity|sm efficiency|sm utilisation|>sms") \
    X(TENSOR_ACTIVE, "tensor_active", MFU_RATIO, 0, 0, 1, 0, 0, "tensor active|tensor core active|tensor core are active|tensor core are busy|tensor core busy|tensor activity|tensor pipe|tensor core activity|tensor core|tensor") \
    X(DRAM_ACTIVE, "dram_active", MFU_RATIO, 0, 0, 1, 0, 0, "dram active|dram activity|dram|memory activity") \
    X(BLOCKS, "blocks", MFU_COUNT, MFU_Q_WHOLE, 1, 1e12, 0, 0, "block|thread block") \
    X(SMS, "sms", MFU_COUNT, MFU_Q_SETUP | MFU_Q_WHOLE, 1, 1e4, 0, 0, "sms|multiprocessor") \
    X(KERNELS, "kernels", MFU_COUNT, 0, 1, 1e9, 0, 0, "kernel|kernel/step|launch|kernel launch") \
    X(KERNEL_TIME, "kernel_time", MFU_SECONDS, 0, 1e-9, 1e4, 0, 0, "/kernel|>a kernel|kernel time|<kernel of") \
    X(LAUNCH_TIME, "launch_time", MFU_SECONDS, 0, 1e-9, 1, 0, 0, "/launch|>a launch|launch overhead|launch time|to launch") \
    X(LOADER_TIME, "loader_time", MFU_SECONDS, 0, 0, 1e5, 0, 0, "data loader|dataloader|loader|<loading|data time|loader wait|data wait|waiting for data") \
    X(FORWARD, "forward", MFU_RATIO, 0, 0, 1, 0, 0, "forward|forward pass") \
    X(BACKWARD, "backward", MFU_RATIO, 0, 0, 1, 0, 0, "backward|backward pass") \
    X(OPTIMIZER, "optimizer", MFU_RATIO, 0, 0, 1, 0, 0, "optimizer|optimizer step") \
    X(COMPUTE, "compute", MFU_RATIO, 0, 0, 1, 0, 0, "compute|computation|computing") \
    X(COMMUNICATION, "communication", MFU_RATIO, 0, 0, 1, 0, 0, "communication|exposed communication|nccl|comm|allreduce") \
    X(INPUT, "input", MFU_RATIO, 0, 0, 1, 0, 0, "input|data loading|data|loading") \
    X(FORWARD_TIME, "forward_time", MFU_SECONDS, 0, 0, 1e5, 0, 0, "forward|forward pass") \
    X(BACKWARD_TIME, "backward_time", MFU_SECONDS, 0, 0, 1e5, 0, 0, "backward|backward pass") \
    X(OPTIMIZER_TIME, "optimizer_time", MFU_SECONDS, 0, 0, 1e5, 0, 0, "optimizer|optimizer step") \
    X(COMPUTE_TIME, "compute_time", MFU_SECONDS, 0, 0, 1e5, 0, 0, "compute|computation|computing") \
    X(COMMUNICATION_TIME, "communication_time", MFU_SECONDS, 0, 0, 1e5, 0, 0, "communication|exposed communication|nccl|comm|allreduce") \
    X(PART_TIME, "part_time", MFU_SECONDS, 0, 0, 1e5, 0, 0, "stall|data stall") \
    X(PART, "part", MFU_RATIO, 0, 0, 1, 0, 0, "") \
    X(UNTOUCHED, "untouched", MFU_RATIO, MFU_Q_COMPLEMENT, 0, 1, 0, 0, ">step|>step time|>time|>run") \
    X(BUBBLE, "bubble", MFU_RATIO, 0, 0, 1, 0, 0, "bubble|pipeline bubble|bubble fraction|bubble time") \
    X(BUBBLE_RATIO, "bubble_ratio", MFU_RATIO, 0, 0, 1e4, 0, 0, "") \
    X(STAGE_BUSY, "stage_busy", MFU_RATIO, 0, 0, 1, 0, 0, "") \
    X(TRAINABLE, "trainable", MFU_PARAMS, MFU_Q_SETUP, 1, 1e14, 0, 0, "trainable parameter|trainable|trainable weight|adapter parameter|<adapter|<adapter add|<lora add|>are training|>are trainable") \
    X(TRAINABLE_SHARE, "trainable_share", MFU_RATIO, MFU_Q_SETUP, 0, 1, 0, 0, "trainable parameter|trainable|>of all|>of all parameter|>parameter|>weight|>of model|>of the model") \
    X(COMPUTED, "computed", MFU_COUNT, MFU_Q_SETUP, 0, 1e40, 0, 0, "computed") \
    X(SCALING, "scaling", MFU_RATIO, MFU_Q_SEVERAL, 0, 1e6, 0, 0, "scaling|efficient|scaling efficiency|efficiency|parallel efficiency|weak scaling") \
    X(USEFUL, "useful", MFU_RATIO, 0, 0, 1, 0, 0, "useful|accepted|acceptance|accepted ratio|acceptance rate") \
    X(PADDING, "padding", MFU_RATIO, 0, 0, 1, 0, 0, "padding|pad|padded|pad fraction|>is padding") \
    X(USEFUL_TOKENS_PER_S, "useful_tokens_per_s", MFU_COUNT, 0, 1e-3, 1e12, 0, 0, "useful token|useful token/s|non pad token/s|accepted token/s|>are useful") \
    X(USEFUL_PER_GPU_HOUR, "useful_per_gpu_hour", MFU_COUNT, 0, 1e-3, 1e13, 0, 0, "accepted token/gpu hour|useful token/gpu hour|token/gpu hour")
// clang-format on

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

static inline enum mfu_dim mfu_dim_of(int kind)
{
    return mfu_quantity_rows[kind].dim;
}

static inline int mfu_traits_of(int kind)
{
    return mfu_quantity_rows[kind].traits;
}

/* What binds them: a product, `=`, `<=` or `>=`, a sum of products; NAME' is after over before.
 * `says` is why. */
struct mfu_identity_row {
    const char *text, *says;
};
extern const struct mfu_identity_row mfu_identity_rows[];
extern const size_t mfu_identity_row_count;

#endif
