/*
 * kernel.h - what one GPU kernel computes and moves, on any GPU.
 *
 * A kernel is described by its arithmetic (FLOP, kind of math), its least
 * traffic (each operand read once, each result written once) and the shape
 * that decides how well it can run.  Seconds are the business of cost/.
 * Each kind is a row of kind.h; the constructors are in a file per law.
 */
#ifndef MFU_KERNEL_H
#define MFU_KERNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "descriptor/coefficient.h"
#include "descriptor/peak.h"
#include "kernel/attention_kind.h"
#include "kernel/documents.h"
#include "kernel/kind.h"

/* How a kernel goes over the windows of a depthwise convolution, which fill no tile: on the CUDA cores. */
enum mfu_depthwise {
    MFU_NOT_DEPTHWISE,
    MFU_DEPTHWISE_HALF,     /* cuDNN's, of 16 bits */
    MFU_DEPTHWISE_UNROLLED, /* PyTorch's own, of a size that it was compiled for */
    MFU_DEPTHWISE_LOOPED,   /* of any size */
    MFU_DEPTHWISE_GRADIENT, /* of the weight: a thread block for each of its elements */
};

struct mfu_kernel {
    enum mfu_kind kind : 7;
    bool drops : 1;                        /* of a fused attention: probabilities, at random */
    enum mfu_peak math : 4;                /* arithmetic whose peak bounds it */
    enum mfu_depthwise depthwise : 3;      /* of a depthwise convolution */
    enum mfu_coefficient traffic : 8;      /* the DRAM efficiency of its class */
    enum mfu_attention_kind attention : 6; /* of a fused attention */
    bool winograd : 1;                     /* of a GEMM: four results of a window of 3 x 3 by 16 products, not 36 */
    bool accumulates : 1;                  /* of a GEMM: reads its result, and adds to it */
    bool apart : 1;                        /* of a GEMM: each of the `batch` products is a CUDA kernel of its own */
    bool backward, causal;                 /* of a fused attention */
    bool cold;                             /* its input cannot be in L2: not touched lately */
    bool aligned;                          /* of a GEMM: rows are multiples of 16 bytes */
    double m, n, k, batch;                 /* GEMM: `batch` products C[m,n] = A[m,k] B[k,n];
                                   attention: m = sequence, n = heads, k = head
                                   size, batch = sequences; others: m rows of n */
    double pairs;                          /* attention: of query and key in one head, masked or not */
    double window;                         /* attention: tokens that a query sees; 0: all */
    double flops;                          /* computed, causal masking taken off */
    double read_bytes, write_bytes;
    double half_share;   /* of its traffic, in 16-bit elements by loads of four */
    double reread_bytes; /* that it reads again, a row at a time, later passes */
    double launches;     /* CUDA kernels that it consists of, >= 1 */
};
_Static_assert(offsetof(struct mfu_kernel, m) == 8, "kernels are compared byte by byte: no byte may be of no field");

/* C[m,n] = A[m,k] B[k,n], `batch` times.  `in_bytes` and `out_bytes` per
 * element; `accumulate`: C is read and added to. */
struct mfu_kernel mfu_kernel_gemm(enum mfu_peak math, double m, double n, double k, double batch, double in_bytes,
                                  double out_bytes, bool accumulate);

/* The same where k counts the tokens of both operands, whose rows have m and n elements. */
struct mfu_kernel mfu_kernel_weight_gradient(enum mfu_peak math, double m, double n, double k, double batch,
                                             double in_bytes, double out_bytes, bool accumulate);

/* The same products one after another, a kernel each. */
static inline void mfu_kernel_set_apart(struct mfu_kernel *k)
{
    k->apart = k->batch > 1;
    k->launches = k->batch;
}

/* Products that one kernel computes. */
static inline double mfu_kernel_at_once(const struct mfu_kernel *k)
{
    return k->apart ? 1 : k->batch;
}

/* What a fused attention needs to know. */
struct mfu_attention {
    enum mfu_attention_kind kind;
    enum mfu_peak math;
    double sequences, seq, heads, kv_heads, head_dim;
    double keys;        /* tokens that are attended to; 0: the same as attend */
    double ranks;       /* that share the queries of a sequence, and meet all keys; 0: one */
    double steps;       /* calls, each of which meets so many'th part of the keys; 0: one */
    double value_dim;   /* width of a head's values; 0: head_dim */
    double window;      /* tokens that a query sees; 0: all */
    bool causal, drops; /* probabilities, at random */
    double element_bytes;
    struct mfu_documents documents; /* that attend to themselves alone, in rows of */
    double row;                     /* so many tokens */
};
struct mfu_kernel mfu_kernel_attention(const struct mfu_attention *, bool backward);

/* FLOP as MFU counts them: attention over all pairs of tokens, masked or not
 * (12 L d T per token, forward and backward). */
double mfu_kernel_counted_flops(const struct mfu_kernel *);

/* Pairs of query and key that are computed for one head of one sequence, of
 * seq^2: (seq + 1)/2 of every row when causal. */
double mfu_attention_pairs(const struct mfu_attention *);

/* Of the queries and keys of a step, those that it works on, the mean over ranks and steps.  With a causal mask a rank
 * holds an early and a late part of each sequence: one step meets its own keys, each other half of its queries or half
 * of the keys (TransformerEngine d0067d0, context_parallel.py).  1 without steps. */
double mfu_attention_share_of_step(const struct mfu_attention *);

/* Temporary bytes of a step of a backward pass: fp32 accumulator of dQ, dot(dO, O). */
double mfu_attention_backward_bytes(const struct mfu_attention *);

/* The class of traffic of a kernel that a compiler, or somebody by hand, makes of eager PyTorch's. */
static inline enum mfu_coefficient mfu_fused_traffic(enum mfu_coefficient eager)
{
    return eager == MFU_C_DRAM_NORM_BACKWARD ? MFU_C_DRAM_FUSED_NORM_BACKWARD : MFU_C_DRAM_FUSED;
}

/* Anything that streams through memory: pointwise, casts, norms, softmax, reductions,
 * gathers, optimizers.  Their arithmetic runs on the CUDA cores.  Into `k`, all of which is zero. */
static inline void mfu_kernel_set_stream(struct mfu_kernel *k, enum mfu_kind kind, enum mfu_coefficient traffic,
                                         double rows, double columns, double flops, double read_bytes,
                                         double write_bytes)
{
    k->kind = kind;
    k->math = MFU_PEAK_FP32;
    k->traffic = traffic;
    k->m = rows;
    k->n = columns;
    k->batch = 1;
    k->flops = flops;
    k->read_bytes = read_bytes;
    k->write_bytes = write_bytes;
    k->launches = 1;
}

static inline struct mfu_kernel mfu_kernel_stream(enum mfu_kind kind, enum mfu_coefficient traffic, double rows,
                                                  double columns, double flops, double read_bytes, double write_bytes)
{
    struct mfu_kernel k = {0};

    mfu_kernel_set_stream(&k, kind, traffic, rows, columns, flops, read_bytes, write_bytes);
    return k;
}

#endif
