/*
 * trainer.h - what the program around the model does, a row each: what it overlaps,
 * how it sums gradients, how long its host takes.
 *
 * A runtime says which kernels run; a trainer says when collectives run beside them,
 * and what Python does between two layers.
 *
 * Sources: PyTorch torch/nn/parallel/distributed.py, torch/distributed/fsdp and
 * torchtitan v0.2.2; DeepSpeed edaa7221 (runtime/zero/config.py,
 * runtime/pipe/engine.py; 016d2f70, runtime/sequence_parallel/ulysses_sp.py: kv_replication_factor); Megatron-LM v2.4 and core_v0.8.0
 * (training/arguments.py, pipeline_parallel/p2p_communication.py,
 * tensor_parallel/layers.py); Megatron-Bridge
 * (comm_overlap.py, recipes: moe_flex_dispatcher_backend; 067f987d, perf_recipes/_common.py: cross_entropy_impl,
 * perf_recipes: expert_tensor_parallel_size; torchtitan b5bcd76c, config/configs.py: expert_parallel_degree); nanotron before commit 7bc99232 (trainer.py,
 * optim/gradient_accumulator.py); llm.c train_gpt2.cu.
 */
#ifndef MFU_SCENARIO_TRAINER_H
#define MFU_SCENARIO_TRAINER_H

#include <math.h>
#include <stdbool.h>

#include "scenario/checkpoint.h"
#include "scenario/runtime.h"

/* Which messages of tensor parallelism run beside a product of matrices. */
enum mfu_tp_overlap {
    MFU_TP_IN_THE_WAY,
    MFU_TP_GRADIENTS, /* of a product's backward: its input is gathered beside the input gradient, which
                         is summed beside the weight gradient */
    MFU_TP_PRODUCTS,  /* and all others, cut into a piece for each rank */
    MFU_TP_OVERLAP_COUNT
};
extern const char *const mfu_tp_overlap_names[MFU_TP_OVERLAP_COUNT + 1];

/* What CUDA graphs replay: a step, or of each layer all but its experts, whose sizes the host learns on the way
 * (Megatron's scope attn). */
enum mfu_graph_scope { MFU_GRAPHS_OF_ALL, MFU_GRAPHS_OF_ATTENTION, MFU_GRAPH_SCOPE_COUNT };
extern const char *const mfu_graph_scope_names[MFU_GRAPH_SCOPE_COUNT + 1];

/* How tokens reach their experts. */
enum mfu_dispatcher {
    MFU_DISPATCH_ALL_TO_ALL, /* a copy for each expert that a token visits (NCCL) */
    MFU_DISPATCH_FLEX, /* one for each rank, and over a network for each node, where any of them is (DeepEP, HybridEP) */
    MFU_DISPATCHER_COUNT
};
extern const char *const mfu_dispatcher_names[MFU_DISPATCHER_COUNT + 1];

/* How attention meets the rest of a sequence whose parts are on the ranks of a context group (TransformerEngine d0067d0,
 * attention/dot_product_attention/context_parallel.py; torch's rotate methods are the first two).  Heads are exchanged
 * among neighbours, keys along what is left of the group.  X(identifier, name, fields) */
#define MFU_CONTEXT_KINDS(X)                                                                                           \
    X(CONTEXT_P2P, "p2p", .keys = true, .ring = true, .aliases = "ring alltoall")                                      \
    X(CONTEXT_ALL_GATHER, "all_gather", .keys = true, .windows = true, .aliases = "allgather")                         \
    X(CONTEXT_A2A, "a2a", .heads = true, .windows = true, .aliases = "ulysses")                                        \
    X(CONTEXT_A2A_P2P, "a2a+p2p", .heads = true, .keys = true, .ring = true, .aliases = "usp")

enum mfu_context_kind {
#define X(id, ...) MFU_##id,
    MFU_CONTEXT_KINDS(X)
#undef X
        MFU_CONTEXT_KIND_COUNT
};

struct mfu_context_row {
    const char *name;
    const char *aliases, *stands_for;
    bool heads;   /* each rank gets all tokens of a part of the heads, and gives its own back */
    bool windows; /* attention may see a window of tokens only */
    bool keys;    /* keys and values come to each rank's queries: */
    bool ring;    /* a part at a time, beside attention to the part before; else all at once, before attention */
};
extern const struct mfu_context_row mfu_contexts[MFU_CONTEXT_KIND_COUNT];
extern const char *const mfu_context_names[MFU_CONTEXT_KIND_COUNT + 1]; /* and NULL */

/* The kernels of the loss, where the softmax is one. */
enum mfu_loss_fusion {
    MFU_LOSS_UNFUSED, /* a kernel for each line of Python */
    MFU_LOSS_NATIVE,  /* as torch.compile merges them */
    MFU_LOSS_TE,      /* TransformerEngine's two, which leave the gradient where the logits were */
    MFU_LOSS_FLASH,   /* flash-attn's two, of which the second does, of logits as the model hands them over */
    MFU_LOSS_FUSION_COUNT
};
extern const char *const mfu_loss_fusion_names[MFU_LOSS_FUSION_COUNT + 1];

/* X(identifier, name, fields of struct mfu_trainer) */
#define MFU_TRAINERS(X)                                                                                                \
    X(DDP, "ddp", .runtime = MFU_EAGER, .torch_fsdp = true, .overlaps_reduce = true, .bucket_bytes = 25 * 0x1p20,      \
      .plain_zero = true, .host_layer = MFU_COEFFICIENT_COUNT,                                                         \
      .aliases = "pytorch huggingface hf transformers accelerate trl axolotl llama-factory lightning",                 \
      .stands_for = "composer timm diffusers open-clip fairseq unsloth xtuner swift ms-swift torchtune colossalai")    \
    X(FSDP, "fsdp", .runtime = MFU_EAGER, .torch_fsdp = true, .overlaps_reduce = true, .overlaps_gather = true,        \
      .bucket_bytes = 25 * 0x1p20, .host_layer = MFU_COEFFICIENT_COUNT, .aliases = "fsdp1")                            \
    X(TORCHTITAN, "torchtitan", .runtime = MFU_EAGER, .fp8 = "fp8-current", .torch_fsdp = true,                        \
      .overlaps_reduce = true, .overlaps_gather = true, .bucket_bytes = 100 * 0x1p20, .counts_ends = true,             \
      .saves_gathered = true, .sums_wide = true, .avoids_record_streams = true, .whole_experts = true,                 \
      .compiles_layers = true, .complex_rotary = true, .compiles_loss_since = 2025, .context = MFU_CONTEXT_ALL_GATHER, \
      .splits_rows = true, .host_layer = MFU_COEFFICIENT_COUNT, .aliases = "fsdp2", .stands_for = "automodel")         \
    X(DEEPSPEED, "deepspeed", .runtime = MFU_EAGER, .overlaps_reduce = true, .bucket_bytes = 25 * 0x1p20,              \
      .context = MFU_CONTEXT_A2A, .repeats_keys = true, .half_shards = true, .pipes_whole = true,                      \
      .host_layer = MFU_COEFFICIENT_COUNT)                                                                             \
    X(MEGATRON, "megatron", .runtime = MFU_FUSED, .bucket_elements = 40e6, .bucket_elements_rank = 1e6,                \
      .fsdp_overlaps = true, .pads_vocab = 128, .host_layer = MFU_C_HOST_MEGATRON, .synchronizes = true,               \
      .tp_overlap = MFU_TP_GRADIENTS, .tp_overlap_since = 2022, .scatters = true, .flash_since = 2024,                 \
      .te_since = 2024, .adds_apart_before = 2022, .usual_checkpoint = MFU_FULL, .selective_since = 2022,              \
      .usual_dropout = 0.1, .gathers_adapters = true, .aliases = "megatron-lm", .stands_for = "flagscale")             \
    X(MEGATRON_DEEPSPEED, "megatron-deepspeed", .runtime = MFU_FUSED, .pads_vocab = 128,                               \
      .host_layer = MFU_C_HOST_MEGATRON, .reduces_whole = true, .synchronizes = true, .scatters = true,                \
      .flash_since = 2024, .half_shards = true, .adds_up_wide = true, .casts_sums = true,                              \
      .adds_apart_before = INFINITY, .pipes_whole = true, .usual_checkpoint = MFU_FULL, .usual_dropout = 0.1,          \
      .aliases = "deepspeed-megatron")                                                                                 \
    X(GPT_NEOX, "gpt-neox", .runtime = MFU_FUSED, .pads_vocab = 128, .host_layer = MFU_C_HOST_MEGATRON,                \
      .reduces_whole = true, .synchronizes = true, .scatters = true, .flash_since = 2024, .half_shards = true,         \
      .adds_up_wide = true, .casts_sums = true, .plain_norms = true, .adds_apart_before = INFINITY,                    \
      .pipes_whole = true, .usual_checkpoint = MFU_FULL, .aliases = "neox")                                            \
    X(MEGATRON_TE, "megatron-te", .runtime = MFU_FUSED, .bucket_elements = 40e6, .bucket_elements_rank = 1e6,          \
      .fsdp_overlaps = true, .shares_keys_since = 2026, .shards_states_since = 2024, .pads_vocab = 128,                \
      .host_layer = MFU_C_HOST_TE, .synchronizes = true, .transformer_engine = true, .tp_overlap = MFU_TP_GRADIENTS,   \
      .gathers_adapters = true, .aliases = "megatron+te megatron-core mcore", .stands_for = "mindspeed")               \
    X(MEGATRON_BRIDGE, "megatron-bridge", .runtime = MFU_FUSED, .fsdp_overlaps = true, .shares_keys_since = 2026,      \
      .overlaps_reduce = true, .overlaps_gather = true, .transformer_engine = true, .bucket_elements = 128 * 0x1p20,   \
      .tp_overlap = MFU_TP_PRODUCTS, .loss_fusion = MFU_LOSS_TE, .dispatcher = MFU_DISPATCH_FLEX, .holds_fp8 = true,   \
      .exchanged = "Qwen3-235B-A22B Kimi-K2", .shards_states_since = 1, .halves_sums = true,                           \
      .host_layer = MFU_C_HOST_TE, .whole_experts = true, .gathers_adapters = true, .aliases = "nemo",                 \
      .stands_for = "bionemo")                                                                                         \
    X(NANOTRON, "nanotron", .runtime = MFU_EAGER, .overlaps_reduce = true, .sums_behind_zero = true,                   \
      .bucket_bytes = 50 * 0x1p20, .host_layer = MFU_C_HOST_NANOTRON, .host_node = MFU_C_HOST_NANOTRON_NODE,           \
      .half_weights = true, .whole_norms = true, .prints_resident = true, .adds_up_wide = true, .of_first_rank = true, \
      .gathers_pieces = true, .reduces_whole = true, .synchronizes = true, .balances_cost = true,                      \
      .usual_software = 2023)                                                                                          \
    X(NANOTRON_OLD, "nanotron-2024", .runtime = MFU_EAGER, .overlaps_reduce = true, .sums_behind_zero = true,          \
      .bucket_bytes = 50 * 0x1p20, .host_layer = MFU_C_HOST_NANOTRON, .host_node = MFU_C_HOST_NANOTRON_NODE,           \
      .half_weights = true, .whole_norms = true, .prints_resident = true, .of_first_rank = true, .adds_up_wide = true, \
      .gathers_pieces = true, .reduces_whole = true, .synchronizes = true, .polls = true, .balances_cost = true,       \
      .usual_software = 2023)                                                                                          \
    X(LLM_C, "llm.c", .runtime = MFU_LLMC, .overlaps_reduce = true, .bucket_bytes = 25 * 0x1p20,                       \
      .host_layer = MFU_COEFFICIENT_COUNT, .stands_for = "llmq")

enum mfu_trainer_kind {
#define X(id, ...) MFU_TRAINER_##id,
    MFU_TRAINERS(X)
#undef X
        MFU_TRAINER_COUNT
};

struct mfu_trainer {
    const char *name;
    const char *aliases;           /* of other programs, the same; separated by blanks, NULL: none */
    const char *stands_for;        /* others that are planned as this one; as aliases */
    enum mfu_runtime_kind runtime; /* that it runs where none is chosen */
    bool splits_rows;              /* tensor parallelism splits rows of tokens between its products, too, if nothing is
                                      said (torchtitan v0.2.2, models/llama3/infra/parallelize.py: SequenceParallel; later
                                      config/configs.py: enable_sequence_parallel = True) */
    bool transformer_engine;       /* which chooses the attention where nothing is said */
    bool overlaps_reduce;          /* gradients are summed beside backward, else after it */
    bool fsdp_overlaps;            /* or always where gradients are sharded (Megatron-LM 00119989,
                                      core/distributed/fsdp: each backward, on a stream of its own; off is no choice) */
    bool sums_behind_zero;         /* but after it, all at once, where ZeRO shards anything */
    bool overlaps_gather;          /* new weights are gathered beside the next forward, else before it */
    enum mfu_tp_overlap tp_overlap;
    enum mfu_loss_fusion loss_fusion;
    enum mfu_dispatcher dispatcher; /* of its published recipes */
    const char *exchanged;          /* models whose recipes have an all-to-all where no more than eight GPUs share a
                                       fabric (Megatron-Bridge v0.2.0 to v0.4.2, scripts/performance/configs:
                                       no moe_flex_dispatcher_backend), separated by blanks */
    enum mfu_context_kind context;  /* its default */
    double tp_overlap_since;        /* a year of the software; 0: always */
    double bucket_bytes;            /* of gradients that leave together, beside backward; */
    double bucket_elements;         /* or so many elements of them, */
    double bucket_elements_rank;    /* or, where that is more, so many for each rank of the group (Megatron-LM d98e8a64,
                                       core/distributed/distributed_data_parallel.py; Megatron-Bridge 067f987d,
                                       training/comm_overlap.py: bucket_size counts parameters) */
    bool sums_wide;                 /* gradients in fp32 where weights are sharded, whatever their type */
    bool avoids_record_streams;     /* its inputs of collectives are PyTorch's again when these are waited for */
    bool reduces_whole;             /* ZeRO 1 all-reduces, though each rank needs its part only */
    bool gathers_pieces; /* new weights of ZeRO 1 are copied out of one buffer, a piece for each weight and rank */
    bool half_weights;   /* 16-bit weights and fp32 masters, whatever ZeRO */
    bool
        compiles_layers; /* one by one; embedding, last norm and head stay eager PyTorch; the loss is a graph of its own */
    int compiles_loss_since; /* a year of the software; 0: always */
    bool complex_rotary;  /* its models rotate heads as complex numbers (torchtitan b5bcd76c, models/common/rope.py) */
    bool whole_norms;     /* brings its own kernels of RMSNorm and rotary */
    bool plain_norms;     /* or neither, whatever the runtime (GPT-NeoX ea7aefd8, no rope_fusion in its configs) */
    bool prints_resident; /* its "allocated" leaves out activations: the peak since the optimizer began */
    bool of_first_rank;   /* what it prints of memory is the first pipeline rank's */
    bool saves_gathered;  /* what sequence parallelism gathered in forward is kept for backward */
    bool adds_up_wide;    /* and sums gradients of micro-steps in fp32 beside the bf16 ones (BF16_Optimizer) */
    bool casts_sums;      /* each of them cast before it is added (DeepSpeed edaa7221, bf16_optimizer.py), where others
                             add as they are (nanotron 2411b022, gradient_accumulator.py; Megatron-LM, main_grad.add_()) */
    double adds_apart_before; /* a year of the software: products of weight gradients did not add to them before
                                 (Megatron-LM 83b1e42f30, 2022-02; never in Megatron-DeepSpeed: f4157bea,
                                 tensor_parallel/layers.py) */
    bool half_shards;         /* offloaded weights have 16 bits, beside the masters, and the host adds up gradients with
                                the GPU's help (DeepSpeed edaa7221, stage_1_and_2.py); else they are the masters */
    bool synchronizes;        /* the host waits for the GPU after each message of a pipeline */
    bool plain_zero;          /* calls zero_grad() as PyTorch has it */
    bool polls;               /* and both hosts look for the end of a message after pauses */
    bool scatters;            /* each tensor rank sends its part of a message, the receivers gather */
    double pads_vocab;        /* to a multiple of this for each tensor rank; 0: not */
    bool repeats_keys;        /* exchanging heads over more ranks than there are of keys, it repeats those */
    double shares_keys_since; /* a year of the software: more tensor ranks than heads of keys gather queries, keys and
                                 values, and take theirs (Megatron-LM f7dfb997); 0: never */
    const char *fp8;          /* the precision that it means by fp8, where its scales are not delayed; NULL */
    bool holds_fp8;           /* weights of linears lie in fp8, where the precision and ZeRO let them */
    bool gathers_adapters;    /* beside products split by rows: their second product is split by columns */
    bool whole_experts;       /* expert parallelism takes tensor ranks, too, each with whole experts (etp 1) */
    bool counts_ends;         /* embedding and head count as a layer each where stages are cut */
    bool pipes_whole;         /* a pipeline's stages shard no gradients and no weights */
    bool torch_fsdp;          /* PyTorch's: ZeRO 3 is its FSDP, a pipeline torch.distributed.pipelining */
    bool balances_cost;       /* or as what they cost */
    enum mfu_checkpoint usual_checkpoint; /* of its published runs where nothing is said, */
    double selective_since;     /* which is selective from a year of the software on; 0: not (Megatron-LM b83477a3e8,
                                             README.md: "the default and recommended in almost all cases") */
    double flash_since;         /* attention in parts with a fused softmax was usual before this year of the software
                               (--use-flash-attn, which is off where nothing is said: Megatron-LM d693034ecf, 2022-12,
                               Megatron-DeepSpeed a2a476e1, 2023-08); 0: it never was */
    double te_since;            /* TransformerEngine's layers are its default from this year on (Megatron-LM e7b74a4b7e,
                               2024-04: --transformer-impl), which is another row; 0: never */
    double shards_states_since; /* a year from which its published runs, where nothing is said, shard the optimizer's
                                   states, and sum and gather beside what is computed (Megatron-LM d98e8a64, examples:
                                   llama, mixtral, gptoss, mamba; ROCm/Megatron-LM 02b8aa76, examples/llama; Megatron-Bridge
                                   067f987d and NeMo 02a0e6a5, recipes; Primus 44a21d15, pre_trainer.yaml); 0: none */
    bool halves_sums;           /* they sum gradients in 16 bits (Megatron-Bridge, perf_recipes/_common.py; NeMo,
                                   scripts/performance/helpers.py, and its launcher 056a90ed, *_performance.yaml) */
    double usual_dropout;
    int usual_software;              /* year of the libraries; 0: not known */
    enum mfu_coefficient host_layer; /* the host's time for a layer; COUNT: its launches alone */
    enum mfu_coefficient host_node;  /* more of it per node that the tensor group spans; 0: none */
};

extern const struct mfu_trainer mfu_trainers[MFU_TRAINER_COUNT];
extern const char *const mfu_trainer_names[MFU_TRAINER_COUNT + 1]; /* and NULL */

#endif
