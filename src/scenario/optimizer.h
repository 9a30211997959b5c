/*
 * optimizer.h - the optimizers, a row each: what they keep, what they move.
 *
 * Traffic counts reads and writes of parameter p, gradient g and states s, each
 * in its own type; passes of multi-tensor (foreach) and per-tensor (loop)
 * implementations follow torch/optim/adamw.py operation by operation, those of
 * the early BERT repositories NVIDIA's optimization.py (temporaries count as p).
 * Sources: torch.optim, bitsandbytes (8-bit states in blocks of 256 with two
 * fp32 maxima; README of 0.50.2: CUDA and ROCm have them, Metal is planned), Shazeer 2018
 * (Adafactor), torchao 36027d82 (optim/adam.py: one compiled kernel a tensor, states in blocks of 256, of 128 with four bits),
 * Chen 2023 (Lion), Jordan 2024 (Muon).  Paged: bitsandbytes 0.50 optim/optimizer.py get_state_buffer().
 * galore_torch 1.0 (adamw.py, adamw8bit.py), apollo_torch 1.0.3 (apollo.py), with the ranks of transformers 5.23
 * (trainer_optimizer.py); pytorch_optimizer 4.1.0 (soap.py, came.py, prodigy.py, mars.py, adopt.py, sophia.py); adan.py of
 * sail-sg/Adan; bitsandbytes' AdEMAMix (two first moments in one tensor); facebookresearch/optimizers f606606
 * (distributed_shampoo, with Adam's grafting); pytorch_optimizer 4.1.0 (psgd.py: Kron); microsoft/dion 0a059a4 (dion/dion.py).
 */
#ifndef MFU_SCENARIO_OPTIMIZER_H
#define MFU_SCENARIO_OPTIMIZER_H

#include <stdbool.h>

#include "descriptor/maker.h"

/* Kernels of bitsandbytes or in Triton (torchao), which these makers have not. */
#define MFU_OWN_KERNELS .gpu_only = true, .lacks = MFU_ON(MFU_METAL) | MFU_ON(MFU_HPU)

/* X(identifier, name, the kernel's name, fields)
 *
 * adamw-foreach: mul p, lerp m, mul v, addcmul v, sqrt, div, add eps, addcdiv: 8
 * passes.  bertadam, a tensor at a time: norm, stack, norm, add, invert, scale,
 * clamp, clip g; m twice, v twice, sqrt, add eps, div; scale p, add; scale,
 * negate, add to p.  adafactor (transformers' optimization.py): norm of p; square g,
 * add eps, mean by rows and by columns, outer product, times g, norm, clip, times
 * lr, negate, add to p; a row and a column per matrix, 0.002 of its elements (of
 * 1000 x 1000).  rmsprop (torch/optim/rmsprop.py, with momentum, a tensor at a time): mul s, addcmul s, sqrt, add eps, mul
 * buffer, addcdiv buffer, add to p.  lamb (apex, csrc/multi_tensor_lamb.cu: gradients become the update): norm of g;
 * p, g, m, v to m, v and the update; norms of p and of the update; p and update to p.  lars (apex parallel/LARC.py, then
 * SGD): norms of p and of g; p, g and m to p and m.  adam is adamw without decay.  galore, apollo, soap: what a whole matrix
 * of the layers passes through; what is done to it in fewer rows or in another basis is in graph/matrix_updates.c. */
#define MFU_OPTIMIZERS(X)                                                                                              \
    X(ADAMW, "adamw", "adamw", .meaning = "one fused kernel, fp32 moments", .states = 2, .p = 2, .g = 1, .s = 4,       \
      .passes = 1, .flops = 15,                                                                                        \
      .aliases =                                                                                                       \
          "adamw-fused fused-adamw fusedadam apex-fusedadam adamw_apex_fused distributed-adam adamw_torch_fused adam " \
          "distributedfusedadam deepspeedcpuadam cpuadam",                                                             \
      .stands_for = "adamw-bf16-states hybridadam", .in_c_programs = true, .apex = true)                               \
    X(ADAMW_FOREACH, "adamw-foreach", "adamw", .meaning = "multi-tensor kernels, a pass for each operation",           \
      .states = 2, .p = 5, .g = 2, .s = 9, .scratch = 1, .passes = 10, .flops = 15,                                    \
      .aliases = "foreach-adamw adamw_torch",                                                                          \
      .stands_for =                                                                                                    \
          "decoupled_adamw nadam radam adamax adadelta adopt sophia sophiag schedule-free schedule_free_adamw "        \
          "schedule_free_radam stable_adamw optimi_adamw adamw_anyprecision adabelief cadamw cautious_adamw")          \
    X(ADAMW_LOOP, "adamw-loop", "adamw", .meaning = "kernels for each tensor", .states = 2, .p = 5, .g = 2, .s = 9,    \
      .scratch = 2, .launches_per_tensor = 12, .flops = 15, .stands_for = "lora-fa adamw_hf")                          \
    X(ADAM8BIT, "adam8bit", "adam8bit", .meaning = "moments in 8 bits (bitsandbytes)", .states = 2,                    \
      .state_bytes = 1 + 4. / 256, .p = 2, .g = 1, .s = 4, .launches_per_tensor = 1, .flops = 30, MFU_OWN_KERNELS,     \
      .aliases = "adamw8bit adamw_bnb_8bit ao_adamw_8bit adamw_torch_8bit 8bit-adam 8bit-adamw")                       \
    X(ADAMW_FP8, "adamw-fp8", "adamw_fp8", .meaning = "moments in fp8 (torchao)", .states = 2,                         \
      .state_bytes = 1 + 4. / 256, .p = 2, .g = 1, .s = 4, .launches_per_tensor = 1, .flops = 30, MFU_OWN_KERNELS,     \
      .aliases = "adamwfp8 adamfp8 ao_adamw_fp8")                                                                      \
    X(ADAMW_4BIT, "adamw4bit", "adamw4bit", .meaning = "moments in 4 bits (torchao)", .states = 2,                     \
      .state_bytes = .5 + 4. / 128, .p = 2, .g = 1, .s = 4, .launches_per_tensor = 1, .flops = 40, MFU_OWN_KERNELS,    \
      .aliases = "adam4bit adamw_torch_4bit ao_adamw_4bit")                                                            \
    X(ADAFACTOR, "adafactor", "adafactor", .meaning = "a row and a column instead of moments", .states = 0.002,        \
      .state_bytes = 4, .p = 19, .g = 2, .scratch = 2, .launches_per_tensor = 24, .flops = 20,                         \
      .stands_for = "adalomo")                                                                                         \
    X(CAME, "came", "came", .meaning = "one moment, rows and columns", .states = 1.004, .p = 2, .g = 19, .s = 6,       \
      .scratch = 3, .launches_per_tensor = 30, .flops = 30)                                                            \
    X(LION, "lion", "lion", .meaning = "one moment, signs", .states = 1, .p = 2, .g = 1, .s = 2,                       \
      .launches_per_tensor = 6, .flops = 8, .aliases = "lionw decoupled_lionw lion_32bit", .stands_for = "tiger")      \
    X(LION8BIT, "lion8bit", "lion8bit", .meaning = "one moment in 8 bits (bitsandbytes)", .states = 1,                 \
      .state_bytes = 1 + 4. / 256, .p = 2, .g = 1, .s = 2, .launches_per_tensor = 1, .flops = 15, MFU_OWN_KERNELS)     \
    X(ADEMAMIX, "ademamix", "ademamix", .meaning = "three moments (bitsandbytes)", .states = 3, .state_bytes = 4,      \
      .p = 2, .g = 1, .s = 6, .launches_per_tensor = 1, .flops = 20, MFU_OWN_KERNELS, .aliases = "ademamix_32bit")     \
    X(ADEMAMIX8BIT, "ademamix8bit", "ademamix8bit", .meaning = "three moments in 8 bits (bitsandbytes)", .states = 3,  \
      .state_bytes = 1 + 4. / 256, .p = 2, .g = 1, .s = 6, .launches_per_tensor = 1, .flops = 40, MFU_OWN_KERNELS)     \
    X(ADAM_MINI, "adam-mini", "adam_mini", .meaning = "one moment, a rate for each block", .states = 1, .p = 4,        \
      .g = 6, .s = 4, .scratch = 2, .launches_per_tensor = 12, .flops = 10)                                            \
    X(MARS, "mars", "mars", .meaning = "two moments and the last gradient", .states = 3, .p = 4, .g = 9, .s = 10,      \
      .scratch = 3, .passes = 14, .flops = 25, .stands_for = "grokadamw")                                              \
    X(ADAN, "adan", "adan", .meaning = "three moments and the last gradient", .states = 4, .p = 5, .g = 6, .s = 16,    \
      .scratch = 2, .passes = 17, .flops = 25)                                                                         \
    X(PRODIGY, "prodigy", "prodigy", .meaning = "two moments, the first weights and a sum", .states = 4, .p = 4,       \
      .g = 6, .s = 13, .scratch = 1, .launches_per_tensor = 18, .flops = 25)                                           \
    X(ADAGRAD, "adagrad", "adagrad", .meaning = "a sum of squares", .states = 1, .p = 4, .g = 2, .s = 3, .scratch = 1, \
      .passes = 5, .flops = 6)                                                                                         \
    X(SGD, "sgd", "sgd", .meaning = "no moment", .p = 2, .g = 1, .passes = 1, .flops = 2, .stands_for = "lomo")        \
    X(SGD_MOMENTUM, "sgd-momentum", "sgd", .meaning = "one moment", .states = 1, .p = 2, .g = 1, .s = 2, .passes = 2,  \
      .stands_for = "schedule_free_sgd novograd", .flops = 4)                                                          \
    X(LARS, "lars", "lars", .meaning = "SGD with a rate for each layer", .states = 1, .p = 3, .g = 2, .s = 2,          \
      .passes = 4, .flops = 10)                                                                                        \
    X(RMSPROP, "rmsprop", "rmsprop", .meaning = "a mean of squares and a buffer", .states = 2, .p = 6, .g = 2,         \
      .s = 10, .scratch = 1, .launches_per_tensor = 7, .flops = 10)                                                    \
    X(MUON, "muon", "muon", .meaning = "one moment, made orthogonal", .states = 1, .p = 2, .g = 1, .s = 2,             \
      .launches_per_tensor = 1, .flops = 4, .matrices = MFU_ORTHOGONAL, .others = MFU_ADAMW, .gpu_only = true,         \
      .stands_for = "normuon muonclip scion")                                                                          \
    X(GALORE, "galore", "galore", .meaning = "AdamW of gradients projected to optimizer_rank", .states = 2, .p = 2,    \
      .g = 3, .launches_per_tensor = 9, .flops = 2, .matrices = MFU_PROJECTED, .rank = 128, .others = MFU_ADAMW_LOOP,  \
      .gpu_only = true, .aliases = "galore_adamw", .stands_for = "fira")                                               \
    X(GALORE8BIT, "galore8bit", "galore8bit", .meaning = "the same with moments in 8 bits", .states = 2,               \
      .state_bytes = 1 + 4. / 256, .p = 4, .g = 3, .launches_per_tensor = 6, .flops = 2, .matrices = MFU_PROJECTED,    \
      .rank = 128, .others = MFU_ADAM8BIT, MFU_OWN_KERNELS, .aliases = "galore_adamw_8bit 8bit-galore")                \
    X(APOLLO, "apollo", "apollo", .meaning = "gradients scaled by AdamW of a projection to optimizer_rank",            \
      .states = 2, .p = 2, .g = 8, .launches_per_tensor = 19, .flops = 8, .matrices = MFU_SCALED, .rank = 128,         \
      .others = MFU_ADAMW_LOOP, .gpu_only = true, .aliases = "apollo_adamw")                                           \
    X(APOLLO_MINI, "apollo-mini", "apollo", .meaning = "the same with one rate for each matrix", .states = 2, .p = 2,  \
      .g = 8, .launches_per_tensor = 17, .flops = 8, .matrices = MFU_SCALED, .rank = 1, .others = MFU_ADAMW_LOOP,      \
      .gpu_only = true)                                                                                                \
    X(SOAP, "soap", "soap", .meaning = "AdamW in the eigenbasis of Shampoo", .states = 2, .p = 2, .g = 11, .s = 5,     \
      .scratch = 5, .launches_per_tensor = 11, .flops = 12, .matrices = MFU_EIGENBASIS, .others = MFU_ADAMW_LOOP,      \
      .gpu_only = true)                                                                                                \
    X(SHAMPOO, "shampoo", "shampoo", .meaning = "gradients between roots of the sums of their products", .states = 2,  \
      .p = 4, .g = 10, .s = 6, .scratch = 3, .launches_per_tensor = 14, .flops = 14, .matrices = MFU_ROOTS,            \
      .others = MFU_ADAMW_LOOP, .gpu_only = true, .aliases = "distributed_shampoo distributed-shampoo")                \
    X(KRON, "kron", "kron", .meaning = "gradients between factors of a Kronecker product, each a triangle",            \
      .states = 1, .p = 3, .g = 5, .s = 3, .scratch = 3, .launches_per_tensor = 12, .flops = 10,                       \
      .matrices = MFU_TRIANGLES, .others = MFU_SGD_MOMENTUM, .gpu_only = true, .aliases = "psgd psgd-kron psgd_kron")  \
    X(DION, "dion", "dion", .meaning = "one moment, of which a part of optimizer_rank is made orthogonal",             \
      .states = 1, .p = 2, .g = 1, .s = 2, .launches_per_tensor = 1, .flops = 4, .matrices = MFU_POWER, .rank = 1e9,   \
      .others = MFU_ADAMW, .gpu_only = true)                                                                           \
    X(LAMB, "lamb", "lamb", .meaning = "AdamW with a rate for each layer", .states = 2, .p = 4, .g = 5, .s = 4,        \
      .passes = 4, .flops = 25, .aliases = "fusedlamb nvlamb", .apex = true)                                           \
    X(BERTADAM, "bertadam", "bertadam", .meaning = "of the early BERT repositories", .states = 2, .p = 17, .g = 5,     \
      .s = 10, .scratch = 2, .launches_per_tensor = 20, .flops = 20)                                                   \
    X(PAGED_ADAMW, "paged-adamw", "adamw", .meaning = "moments that leave for the host", .states = 2,                  \
      .state_bytes = 4, .paged_bytes = 4, .p = 2, .g = 1, .s = 4, .launches_per_tensor = 1, .flops = 15,               \
      MFU_OWN_KERNELS, .aliases = "paged_adamw_32bit pagedadamw")                                                      \
    X(PAGED_ADAM8BIT, "paged-adam8bit", "adam8bit", .meaning = "8-bit moments that leave for the host", .states = 2,   \
      .state_bytes = 1 + 4. / 256, .paged_bytes = 1, .p = 2, .g = 1, .s = 4, .launches_per_tensor = 1, .flops = 30,    \
      MFU_OWN_KERNELS, .aliases = "paged_adamw_8bit pagedadamw8bit paged-adamw8bit paged-8bit-adamw paged-8bit-adam")  \
    X(PAGED_LION, "paged-lion", "lion", .meaning = "one moment that leaves for the host", .states = 1,                 \
      .state_bytes = 4, .paged_bytes = 4, .p = 2, .g = 1, .s = 2, .launches_per_tensor = 1, .flops = 8,                \
      MFU_OWN_KERNELS, .aliases = "paged_lion_32bit")                                                                  \
    X(PAGED_LION8BIT, "paged-lion8bit", "lion8bit", .meaning = "one 8-bit moment that leaves for the host",            \
      .states = 1, .state_bytes = 1 + 4. / 256, .paged_bytes = 1, .p = 2, .g = 1, .s = 2, .launches_per_tensor = 1,    \
      .flops = 15, MFU_OWN_KERNELS, .aliases = "paged_lion_8bit")                                                      \
    X(PAGED_ADEMAMIX, "paged-ademamix", "ademamix", .meaning = "three moments that leave for the host", .states = 3,   \
      .state_bytes = 4, .paged_bytes = 4, .p = 2, .g = 1, .s = 6, .launches_per_tensor = 1, .flops = 20,               \
      MFU_OWN_KERNELS, .aliases = "paged_ademamix_32bit")                                                              \
    X(PAGED_ADEMAMIX8BIT, "paged-ademamix8bit", "ademamix8bit",                                                        \
      .meaning = "three 8-bit moments that leave for the host", .states = 3, .state_bytes = 1 + 4. / 256,              \
      .paged_bytes = 1, .p = 2, .g = 1, .s = 6, .launches_per_tensor = 1, .flops = 40, MFU_OWN_KERNELS,                \
      .aliases = "paged_ademamix_8bit")

/* Elements of a tensor whose states are paged, at least. */
#define MFU_PAGED_ELEMENTS 1e5

enum mfu_optimizer_kind {
#define X(id, ...) MFU_##id,
    MFU_OPTIMIZERS(X)
#undef X
        MFU_OPTIMIZER_COUNT
};

/* What becomes of the gradient of a matrix of the layers (graph/matrix_updates.c). */
enum mfu_matrix_update {
    MFU_AS_IT_IS,
    MFU_ORTHOGONAL, /* made orthogonal */
    MFU_PROJECTED,  /* to fewer rows or columns, and back */
    MFU_SCALED,     /* by what a projection of it says */
    MFU_EIGENBASIS, /* turned into that of the means of its products with itself, and back */
    MFU_ROOTS,      /* multiplied by roots of the sums of its products with itself, block by block */
    MFU_TRIANGLES,  /* multiplied by triangular factors and their transposes */
    MFU_POWER       /* a step of power iteration, of which the left side is made orthogonal */
};

/* In elements per parameter. */
struct mfu_optimizer_row {
    const char *name;       /* as `set optimizer` takes it */
    const char *meaning;    /* in a few words */
    const char *kernel;     /* of its update, in tables of kernels */
    const char *aliases;    /* of other programs, the same; separated by blanks, NULL: none */
    const char *stands_for; /* others that are planned as this one; as aliases */
    double states;          /* tensors of state per parameter */
    double state_bytes;     /* of one element; 0: the parameter's own */
    double paged_bytes;     /* of these in memory that CUDA moves by pages, of tensors that are large enough; 0: none */
    double p, g, s;         /* reads + writes of each kind */
    double scratch;         /* temporary elements; of one tensor at a time where it is a loop */
    double launches_per_tensor; /* 0: a few for all (multi-tensor) */
    double passes;              /* launches of a multi-tensor pass */
    double flops;
    enum mfu_matrix_update matrices;
    double rank;                    /* of a projection, where optimizer_rank says nothing */
    enum mfu_optimizer_kind others; /* what is no matrix of the layers (embeddings, head, vectors) has this one then */
    bool in_c_programs;             /* llm.c has it */
    bool gpu_only;                  /* no CPU runs it */
    bool apex;                      /* FusedAdam; before 2023 apex's alone, whose zero_grad() frees (set_grad_none) */
    unsigned lacks;                 /* MFU_ON() software of cards that do not run it */
};
extern const struct mfu_optimizer_row mfu_optimizers[MFU_OPTIMIZER_COUNT];
extern const char *const mfu_optimizer_names[MFU_OPTIMIZER_COUNT + 1]; /* and NULL */

#endif
