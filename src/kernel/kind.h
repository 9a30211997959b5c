/*
 * kind.h - the kinds of GPU kernels, a row each.
 *
 * A row is all that makes a kind: tables, pictures, `print norm_s`, `print
 * kernels.norm.time_s` and the breakdown of a step follow from it.  Code
 * that treats kernels differently tests a property of the row, not its kind.
 */
#ifndef MFU_KIND_H
#define MFU_KIND_H

#include <stdbool.h>

/* What the time of its arithmetic follows from; each has a cost law in
 * cost/law.c. */
enum mfu_law {
    MFU_LAW_STREAM,    /* streams through memory, computes on the CUDA cores */
    MFU_LAW_PRODUCT,   /* C[m,n] = A[m,k] B[k,n] in tiles */
    MFU_LAW_ATTENTION, /* fused attention over pairs of tokens */
    MFU_LAW_COUNT
};

/* Kinds that are drawn in one colour. */
enum mfu_kind_group {
    MFU_GROUP_PRODUCTS,
    MFU_GROUP_ATTENTION,
    MFU_GROUP_ROWS,
    MFU_GROUP_STREAMS,
    MFU_GROUP_LOSS,
    MFU_GROUP_UPDATES,
    MFU_GROUP_COUNT
};

/* How the elements of a kernel that streams are cut into thread blocks. */
enum mfu_blocks {
    MFU_BLOCKS_ELEMENTS, /* some elements each */
    MFU_BLOCKS_NORM,     /* a row each */
    MFU_BLOCKS_SOFTMAX,  /* rows, by warps or blocks */
    MFU_BLOCKS_CHUNKS,   /* multi_tensor_apply */
    MFU_BLOCKS_CHANNELS, /* NCCL: a block per channel */
};

/* X(argument, identifier, name, result, plural, group, part, meaning, fields): `result` is
 * the name under which its seconds are printed; group, part and meaning are its
 * line in the breakdown of a step (answer/why/breakdown.h), of kinds that stream. */
#define MFU_PRODUCT_KINDS(X, argument)                                                                                 \
    X(argument, GEMM, "gemm", gemm_s, "matrix products", GEMM, "", "", .law = MFU_LAW_PRODUCT,                         \
      .group = MFU_GROUP_PRODUCTS)                                                                                     \
    X(argument, FUSED_ATTENTION, "attention", attention_s, "attention", ATTENTION, "", "", .law = MFU_LAW_ATTENTION,   \
      .group = MFU_GROUP_ATTENTION)

#define MFU_STREAM_KINDS(X, argument)                                                                                  \
    X(argument, NORM, "norm", norm_s, "norms", MEMORY, "norms", "rows through memory", .group = MFU_GROUP_ROWS,        \
      .blocks = MFU_BLOCKS_NORM)                                                                                       \
    X(argument, POINTWISE, "pointwise", pointwise_s, "pointwise kernels", MEMORY, "pointwise",                         \
      "activations, residuals", .group = MFU_GROUP_STREAMS)                                                            \
    X(argument, REDUCTION, "reduction", reduction_s, "reductions", MEMORY, "reductions", "gradients of vectors",       \
      .group = MFU_GROUP_ROWS)                                                                                         \
    X(argument, EMBEDDING, "embedding", embedding_s, "embeddings", MEMORY, "embeddings", "gathers and scatters",       \
      .group = MFU_GROUP_LOSS, .cold = true)                                                                           \
    X(argument, LOSS, "loss", loss_s, "the loss", LOSS, "loss", "over the vocabulary", .group = MFU_GROUP_LOSS,        \
      .blocks = MFU_BLOCKS_SOFTMAX)                                                                                    \
    X(argument, OPTIMIZER_STEP, "optimizer", update_s, "the optimizer", OPTIMIZER, "update", "states through memory",  \
      .group = MFU_GROUP_UPDATES, .blocks = MFU_BLOCKS_CHUNKS)                                                         \
    X(argument, CAST, "cast", cast_s, "casts", MEMORY, "casts", "change of the type", .group = MFU_GROUP_STREAMS,      \
      .casts = true)                                                                                                   \
    X(argument, COPY, "copy", copy_s, "copies", MEMORY, "copies", "change of the layout", .group = MFU_GROUP_STREAMS,  \
      .lays_out = true)                                                                                                \
    X(argument, COLLECTIVE, "collective", collective_s, "collectives", COMMUNICATION, "collectives", "between GPUs",   \
      .group = MFU_GROUP_STREAMS, .blocks = MFU_BLOCKS_CHANNELS, .beside = true)                                       \
    X(argument, OFFLOAD, "offload", offload_s, "copies to and from the host", COMMUNICATION, "offload",                \
      "copies to and from the host, its optimizer", .group = MFU_GROUP_STREAMS, .beside = true)

#define MFU_KERNEL_KINDS(X, argument) MFU_PRODUCT_KINDS(X, argument) MFU_STREAM_KINDS(X, argument)

enum mfu_kind {
#define X(argument, id, ...) MFU_##id,
    MFU_KERNEL_KINDS(X, )
#undef X
        MFU_KIND_COUNT
};

struct mfu_kind_row {
    const char *name;   /* "gemm" */
    const char *plural; /* "matrix products": after "next:" */
    enum mfu_law law;
    enum mfu_kind_group group;
    enum mfu_blocks blocks; /* of one that streams */
    bool cold;              /* reads what L2 cannot hold any more */
    bool beside;            /* runs beside the others, on a stream of its own */
    bool lays_out;          /* does nothing but write elsewhere what it reads */
    bool casts;             /* changes its type, and computes nothing where it has no FLOP */
};
extern const struct mfu_kind_row mfu_kinds[MFU_KIND_COUNT];
extern const char *const mfu_kind_names[MFU_KIND_COUNT]; /* "gemm" ... */

struct mfu_group_row {
    const char *name;  /* "norms, reductions" */
    const char *color; /* of pictures, #rrggbb */
};
extern const struct mfu_group_row mfu_kind_groups[MFU_GROUP_COUNT];

/* Matrix products, fused attention among them or not: what MFU counts. */
static inline bool mfu_kind_is_product(enum mfu_kind kind)
{
    return mfu_kinds[kind].law != MFU_LAW_STREAM;
}

static inline bool mfu_kind_is_gemm(enum mfu_kind kind)
{
    return mfu_kinds[kind].law == MFU_LAW_PRODUCT;
}

static inline bool mfu_kind_is_attention(enum mfu_kind kind)
{
    return mfu_kinds[kind].law == MFU_LAW_ATTENTION;
}

#endif
