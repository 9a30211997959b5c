/*
 * levers.c - what can be changed, a row each.  What it brings is not written
 * here: it is planned (advise.c).
 */
#include "answer/advise/advise.h"

#define MATH MFU_LEVER_MATHEMATICS
#define MORE MFU_LEVER_HARDWARE
#define HERE MFU_LEVER_ENVIRONMENT

#define KEY(key, value)                                                                                                \
    {                                                                                                                  \
        key, value                                                                                                     \
    }

/* Another micro-batch at equal tokens per step: N times, an N-th, N/M of it. */
#define LARGER(n)                                                                                                      \
    {                                                                                                                  \
        "larger micro-batch", {KEY("batch", "batch*" n), KEY("accum", "accum/" n)}, "accum % " n " == 0", NULL, 0, ""  \
    }
#define SMALLER(n)                                                                                                     \
    {                                                                                                                  \
        "smaller micro-batch", {KEY("batch", "batch/" n), KEY("accum", "accum*" n)}, "batch % " n " == 0", NULL, 0, "" \
    }
#define OTHER(name, n, m)                                                                                              \
    {                                                                                                                  \
        name, {KEY("batch", "batch*" n "/" m), KEY("accum", "accum*" m "/" n)},                                        \
            "batch % " m " == 0 and accum % " n " == 0", NULL, 0, ""                                                   \
    }

#define ADAPTED "fine-tuning of a trained model: a change of low rank is learned, and nothing else"
#define QUANTISED ADAPTED "; its weights are rounded to four bits (NF4)"

/* Autocast over fp32 weights, which sharding may leave as they are. */
#define WHOLE_WEIGHTS                                                                                                  \
    "gpus > 1 and half_weights == 0 and (precision == bf16 or precision == fp16) and (runtime == eager or runtime == " \
    "compile)"

/* All weights train and find no room; their graph has adapters and frozen weights too (resolve_training.c). */
#define FULL_TOO_LARGE "fits == 0 and lora == 0 and trainable_params == params and tp*pp*cp*ep == 1 and runtime != llmc"

/* 16-bit weights that were asked for, which other precisions do not take. */
#define HALF_CHOSEN "half_weights == 1 and zero == 0"

// clang-format off
const struct mfu_lever_row mfu_lever_rows[] = {
    /* Micro-batch at equal tokens per step, or where that is not possible. */
    LARGER("2"), LARGER("3"), LARGER("4"), LARGER("5"), LARGER("6"), LARGER("7"), LARGER("8"), LARGER("16"), LARGER("32"),
    {"larger micro-batch", {KEY("batch", "batch*accum"), KEY("accum", "1")}, "accum > 1", NULL, 0, ""},
    OTHER("larger micro-batch", "3", "2"), OTHER("larger micro-batch", "4", "3"), OTHER("larger micro-batch", "5", "2"),
    OTHER("larger micro-batch", "5", "3"), OTHER("larger micro-batch", "5", "4"),
    {"larger batch", {KEY("batch", "batch*2")}, "accum % 2 == 1", NULL, 0,
     "more tokens per optimizer step: the learning rate may need to follow"},
    {"larger batch", {KEY("batch", "batch*4")}, "accum == 1", NULL, 0,
     "more tokens per optimizer step: the learning rate may need to follow"},
    {"smaller micro-batch", {KEY("batch", "batch/2"), KEY("accum", "accum*2")}, "batch % 2 == 0",
     "one sequence, or an odd number of them, cannot be halved", 0, ""},
    SMALLER("3"), SMALLER("4"), OTHER("smaller micro-batch", "2", "3"), OTHER("smaller micro-batch", "3", "4"),
    {"more accumulation", {KEY("accum", "accum*2")}, NULL, NULL, 0,
     "more tokens per optimizer step: the learning rate may need to follow"},

    /* Padding. */
    {"packing", {KEY("packing", "1")}, "packing == 0 and doc_len > 0", NULL, 0,
     "more documents per optimizer step; masks of documents need flash attention (varlen)"},

    /* Arithmetic. */
    {"TF32", {KEY("precision", "tf32")}, "precision == fp32", NULL, MATH,
     "10 bits of mantissa in products; one line: torch.set_float32_matmul_precision(\"high\")"},
    {"bf16", {KEY("precision", "bf16")}, "precision == fp32 or precision == tf32", NULL, MATH,
     "8 bits of mantissa in products; weights stay in fp32"},
    {"fp16", {KEY("precision", "fp16")}, "precision == fp32 or precision == tf32", NULL, MATH,
     "overflows without loss scaling"},
    {"fp8", {KEY("precision", "fp8")}, "precision != fp8 and runtime != llmc and not (" HALF_CHOSEN ")", NULL, MATH,
     "needs scaling factors and a look at the loss curve"},
    {"fp8", {KEY("precision", "fp8"), KEY("half_weights", "0")}, "precision != fp8 and runtime != llmc and " HALF_CHOSEN,
     NULL, MATH, "needs scaling factors and a look at the loss curve"},
    {"MXFP8", {KEY("precision", "mxfp8")}, "precision != mxfp8 and runtime != llmc and not (" HALF_CHOSEN ")", NULL, MATH,
     "scales of 32 values; TransformerEngine or torchao"},
    {"NVFP4", {KEY("precision", "nvfp4")}, "precision != nvfp4 and runtime != llmc and not (" HALF_CHOSEN ")", NULL, MATH,
     "four bits: stochastic rounding, some layers in bf16, and a look at the loss curve"},
    {"pure bf16", {KEY("precision", "bf16-pure")}, "precision == bf16 and not (" HALF_CHOSEN ")", NULL, MATH,
     "small updates are lost in bf16 weights without stochastic rounding"},
    {"pure bf16", {KEY("precision", "bf16-pure"), KEY("half_weights", "0")}, "precision == bf16 and " HALF_CHOSEN, NULL, MATH,
     "small updates are lost in bf16 weights without stochastic rounding"},

    /* Software. */
    {"torch.compile", {KEY("runtime", "compile")}, "runtime == eager", NULL, 0,
     "minutes of compilation; shapes must not change"},
    {"hand-fused kernels", {KEY("runtime", "fused")}, "runtime == eager or runtime == compile", NULL, 0,
     "another framework (Megatron, TransformerEngine): check memory, gradients are fp32"},
    {"flash attention", {KEY("attention", "flash")}, "attention != flash", NULL, 0, ""},
    {"FlashAttention 3", {KEY("attention", "flash3")}, "attention != flash3", NULL, 0, "a package of its own"},
    {"cuDNN attention", {KEY("attention", "cudnn")}, "attention != cudnn", NULL, 0, ""},
    {"memory-efficient attention", {KEY("attention", "memeff")}, "attention == math", NULL, 0, ""},
    {"CUDA graphs", {KEY("cuda_graphs", "1")}, "cuda_graphs == 0", NULL, 0, "static shapes and addresses"},

    /* Optimizer, loss, activations. */
    {"fused AdamW", {KEY("optimizer", "adamw")}, "optimizer == 1 or optimizer == 2",
     NULL, 0, ""},
    {"8-bit Adam", {KEY("optimizer", "adam8bit")}, "optimizer <= 2", NULL, MATH, "momenta in 8 bits"},
    {"paged 8-bit Adam", {KEY("optimizer", "paged-adam8bit")}, "optimizer <= 3 and pp == 1 and runtime != llmc", NULL, MATH,
     "momenta in 8 bits, on the host where the GPU is full (bitsandbytes): then the step waits for its pages"},
    {"update in backward", {KEY("optimizer_in_backward", "1"), KEY("grad_clip", "0")},
     "optimizer_in_backward == 0 and accum == 1 and gpus == 1 and (runtime == eager or runtime == compile)", NULL, MATH,
     "gradients are gone when the next come: no clipping, no accumulation (torchtune)"},
    {"loss in pieces", {KEY("loss_chunks", "8")}, "loss_chunks == 1", NULL, 0, "logits are not returned"},
    {"no checkpointing", {KEY("checkpoint", "none")}, "checkpoint != none", NULL, 0, ""},
    {"selective checkpointing", {KEY("checkpoint", "selective")}, "checkpoint != selective", NULL, 0, ""},
    {"full checkpointing", {KEY("checkpoint", "full")}, "checkpoint != full", NULL, 0, ""},
    {"checkpointing of half the layers", {KEY("checkpoint_layers", "n_layer/2/pp/vpp"), KEY("checkpoint", "full")},
     "(fits == 0 or checkpoint == full) and checkpoint_layers == 0 and runtime != llmc and n_layer % (2*pp*vpp) == 0", NULL, 0,
     "`solve checkpoint memory` finds the fewest layers"},
    {"checkpoint budget", {KEY("checkpoint_budget", "0.5"), KEY("checkpoint", "budget")},
     "(fits == 0 or checkpoint != none) and checkpoint != budget and runtime != llmc", NULL, 0,
     "`solve checkpoint memory` finds the largest budget with room"},

    /* Fewer weights that train, where all of them find no room. */
    {"LoRA", {KEY("lora", "16")}, FULL_TOO_LARGE " and half_weights == 0", NULL, MATH, ADAPTED},
    {"LoRA", {KEY("lora", "16"), KEY("half_weights", "0")}, FULL_TOO_LARGE " and half_weights == 1", NULL, MATH, ADAPTED},
    {"QLoRA", {KEY("lora", "16"), KEY("base_precision", "nf4")}, FULL_TOO_LARGE " and half_weights == 0", NULL, MATH, QUANTISED},
    {"QLoRA", {KEY("lora", "16"), KEY("base_precision", "nf4"), KEY("half_weights", "0")}, FULL_TOO_LARGE " and half_weights == 1",
     NULL, MATH, QUANTISED},
    {"QLoRA", {KEY("base_precision", "nf4")},
     "lora > 0 and (base_precision == fp32 or base_precision == bf16 or base_precision == int8)", NULL, MATH,
     "the base is rounded to four bits (NF4), and made 16 bits again before every product"},
    {"16-bit base", {KEY("base_precision", "bf16")}, "lora > 0 and base_precision != bf16", NULL, MATH, "frozen weights in 16 bits"},

    /* The host's memory. */
    {"offloaded optimizer", {KEY("offload_optimizer", "1"), KEY("zero", "2")}, "offload_optimizer == 0 and zero < 3 and runtime != llmc", NULL, 0,
     "the CPU updates the weights: needs host memory and a fast CPU (DeepSpeed)"},
    {"offloaded weights", {KEY("offload_params", "1"), KEY("zero", "3")}, "offload_params == 0 and runtime != llmc and pp == 1", NULL, 0,
     "weights come over PCIe in every pass (FSDP, ZeRO 3)"},
    {"optimizer on NVMe", {KEY("nvme_optimizer", "1"), KEY("zero", "3"), KEY("trainer", "deepspeed")},
     "nvme_optimizer == 0 and offload_optimizer == 1 and host_node_bytes > host_capacity_bytes and runtime != llmc and pp == 1", NULL, 0,
     "where the host's memory is too small: each step reads the states and gradients of every parameter, and writes the states back (ZeRO-Infinity)"},
    {"no NVMe", {KEY("nvme_optimizer", "0"), KEY("nvme_params", "0")}, "nvme_optimizer == 1 or nvme_params == 1", NULL, 0, ""},
    {"offloaded activations", {KEY("offload_activations", "1")}, "offload_activations == 0 and runtime != llmc and pp == 1", NULL, 0,
     "needs host memory; free where the copies hide behind the layers (torchtune, TRL)"},
    {"no offload of the optimizer", {KEY("offload_optimizer", "0")}, "offload_optimizer == 1 and offload_params == 0", NULL, 0, ""},
    {"no offload of weights", {KEY("offload_params", "0"), KEY("offload_optimizer", "0")}, "offload_params == 1", NULL, 0, ""},
    {"no offload of activations", {KEY("offload_activations", "0")}, "offload_activations == 1", NULL, 0, ""},

    /* Several GPUs; llm.c shards the optimizer only. */
    {"sharded optimizer", {KEY("zero", "1")}, "gpus > 1 and zero != 1", NULL, 0, ""},
    {"sharded gradients", {KEY("zero", "2")}, "gpus > 1 and zero != 2 and runtime != llmc", NULL, 0,
     "gradients are summed in every micro-step"},
    {"FSDP", {KEY("zero", "3")}, "gpus > 1 and zero != 3 and runtime != llmc", NULL, 0,
     "weights are gathered in every micro-step"},
    {"sharded optimizer, fp32 weights", {KEY("zero", "1"), KEY("half_weights", "0")}, WHOLE_WEIGHTS " and zero != 1", NULL, 0, ""},
    {"sharded gradients, fp32 weights", {KEY("zero", "2"), KEY("half_weights", "0")}, WHOLE_WEIGHTS " and zero != 2", NULL, 0,
     "gradients are summed in every micro-step"},
    {"FSDP, fp32 weights", {KEY("zero", "3"), KEY("half_weights", "0")}, WHOLE_WEIGHTS " and zero != 3", NULL, 0,
     "weights are gathered in every micro-step, in fp32"},
    {"no sharding", {KEY("zero", "0")}, "zero != 0 and dp_shard == 0", NULL, 0, ""},
    {"no sharding", {KEY("zero", "0"), KEY("dp_shard", "0")}, "zero != 0 and dp_shard > 0", NULL, 0, ""},
    {"a copy for each node", {KEY("dp_shard", "gpus/(nodes*tp*cp)")},
     "nodes > 1 and zero > 0 and dp_shard == 0 and pp == 1 and gpus/nodes > tp*cp and gpus % (nodes*tp*cp) == 0 and runtime != llmc", NULL, 0,
     "hybrid sharding (HSDP); the other nodes hold the same shards"},
    {"one copy over all nodes", {KEY("dp_shard", "0")}, "dp_shard > 0", NULL, 0, ""},
    {"merged passes", {KEY("overlap_moe", "1")}, "ep > 1 and overlap_moe == 0 and accum > 1 and checkpoint != full and checkpoint != budget and (pp == 1 or schedule == interleaved)", NULL, 0,
     "messages of experts run beside another microbatch: Megatron's overlap_moe_expert_parallel_comm, torchtitan's DualPipeV"},
    {"flexible dispatcher", {KEY("moe_dispatcher", "flex")}, "ep > 1 and moe_dispatcher == alltoall and top_k > 1", NULL, 0,
     "a token goes once to each rank or node (DeepEP, HybridEP)"},
    {"sequence parallelism", {KEY("sp", "1")}, "tp > 1 and sp == 0 and runtime != llmc", NULL, 0, ""},
    {"narrower tensor parallelism", {KEY("tp", "tp/2"), KEY("accum", "accum/2")}, "tp % 2 == 0 and accum % 2 == 0", NULL, 0, ""},
    {"wider tensor parallelism", {KEY("tp", "tp*2"), KEY("accum", "accum*2"), KEY("sp", "1")}, "gpus > 1 and dp % 2 == 0 and cp == 1 and runtime != llmc", NULL, 0, ""},
    {"more stages", {KEY("pp", "pp*2"), KEY("accum", "accum*2")}, "gpus > 1 and dp % 2 == 0 and vpp == 1 and runtime != llmc", NULL, 0,
     "a trainer with pipelines"},
    {"weight gradients in the bubble", {KEY("schedule", "zb-h1")}, "pp > 1 and vpp == 1", NULL, 0,
     "a trainer that runs the gradients of weights apart"},
    {"fewer stages", {KEY("pp", "pp/2"), KEY("accum", "accum/2")}, "pp % 2 == 0 and vpp == 1 and accum % 2 == 0", NULL, 0, ""},
    {"interleaved stages", {KEY("vpp", "2")}, "pp > 1 and vpp == 1 and accum % pp == 0 and n_layer >= 2*pp", NULL, 0,
     "twice the messages between stages"},

    /* Shapes that tensor cores like. */
    {"padded vocabulary", {KEY("vocab_size", "multiple(vocab_size, 64)")}, "vocab_size % 64 != 0",
     "vocab_size is a multiple of 64 already", MATH, "rows that no token uses: mask their logits in sampling"},
    {"padded vocabulary", {KEY("vocab_size", "multiple(vocab_size, 128)")}, "vocab_size % 128 != 0 and multiple(vocab_size, 128) != multiple(vocab_size, 64)",
     NULL, MATH, "rows that no token uses: mask their logits in sampling"},
    {"heads of 64", {KEY("n_head", "n_embd/64")}, "n_embd % 64 == 0 and head_dim != 64 and head_dim != 128 and n_kv_head == n_head",
     NULL, MATH, "another model: heads are fewer or more"},
    {"heads of 128", {KEY("n_head", "n_embd/128")}, "n_embd % 128 == 0 and head_dim != 128 and n_kv_head == n_head",
     NULL, MATH, "another model: fewer heads"},
    {"padded MLP", {KEY("d_ff", "multiple(d_ff, 128)")}, "d_ff % 128 != 0", NULL, MATH, "a slightly larger model"},

    /* Environment. */
    {"expandable segments", {KEY("expandable_segments", "1")}, "expandable_segments == 0", NULL, 0, ""},
    {"the engine's linear layers", {KEY("memory_efficient_linear", "1")}, "memory_efficient_linear == 0", NULL, 0, ""},
    {"prefetching loader", {KEY("dataloader_ms", "0")}, "dataloader_ms > 0", NULL, HERE,
     "the loader must keep up: more workers, memory-mapped tokens, pinned memory"},
    {"more workers", {KEY("dataloader_workers", "dataloader_workers*2")}, "dataloader == jpeg or sample_ms > 0", NULL, HERE,
     "each worker takes a core of the machine"},
    {"no power limit", {KEY("power_w", "0")}, "power_w > 0", NULL, HERE, "heat and noise"},
    {"no other processes", {KEY("vram_reserved", "0")}, "vram_reserved > 0", NULL, HERE, "no desktop on this card"},

    /* Hardware. */
    {"more GPUs", {KEY("gpus", "gpus*2"), KEY("accum", "accum/2")}, "accum % 2 == 0", NULL, MORE, "twice the GPU-hours per hour"},
    {"more GPUs", {KEY("gpus", "gpus*8"), KEY("accum", "accum/8")}, "accum % 8 == 0 and gpus == 1", NULL, MORE, "eight times the GPU-hours per hour"},
    {"more GPUs", {KEY("gpus", "gpus*2")}, "accum % 2 == 1", NULL, MORE, "more tokens per optimizer step"},
};
// clang-format on
const size_t mfu_lever_row_count = sizeof mfu_lever_rows / sizeof mfu_lever_rows[0];
