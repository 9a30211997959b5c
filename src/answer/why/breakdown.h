/*
 * breakdown.h - the time of a step from the whole to its causes.
 *
 * Every kernel is walked from what its FLOP would take at the dense peak to
 * what it really takes, by pricing it with one term of the cost model after the
 * other switched on; the rest of the step is what no kernel fills.  The parts
 * add up to the step, so their shares add up to 1.  A part may be negative: the
 * half of attention that a causal mask saves is counted by MFU and computed by
 * nobody, and a card may run above its rated clock.
 */
#ifndef MFU_BREAKDOWN_H
#define MFU_BREAKDOWN_H

#include "plan/plan.h"
#include "plan/simulation.h"

enum mfu_breakdown_group {
    MFU_G_MFU,
    MFU_G_MASK,
    MFU_G_GEMM,
    MFU_G_ATTENTION,
    MFU_G_MEMORY,
    MFU_G_LOSS,
    MFU_G_OPTIMIZER,
    MFU_G_RECOMPUTE,
    MFU_G_GAPS,
    MFU_G_HOST,
    MFU_G_INPUT,
    MFU_G_COMMUNICATION,
    MFU_G_PIPELINE,
    MFU_G_COUNT
};

struct mfu_breakdown_group_row {
    const char *name;    /* "gemm inefficiency": the interface's */
    const char *says;    /* what it is, short */
    const char *command; /* that shows more */
};
extern const struct mfu_breakdown_group_row mfu_breakdown_groups[MFU_G_COUNT];

/* X(identifier, group, name, what it is); kinds of kernels that stream have
 * their parts in their own rows (kernel/kind.h). */
#define MFU_KIND_PART(X, id, name, result, plural, of, part, meaning, ...) X(id, of, part, meaning)
#define MFU_BREAKDOWN_PARTS(X)                                                                                         \
    X(PEAK, MFU, "model FLOP at peak", "what MFU counts")                                                              \
    X(MASK, MASK, "causal mask", "counted, not computed")                                                              \
    X(UNCOUNTED, GEMM, "computed beyond count", "products MFU leaves out")                                             \
    X(WINOGRAD, GEMM, "Winograd's products", "counted, not computed")                                                  \
    X(UNTILED, GEMM, "untiled products", "single channels, no tensor cores")                                           \
    X(PRECISION, GEMM, "other precision", "with another peak")                                                         \
    X(CLOCK, GEMM, "pipe and clock", "what the best GEMM reaches")                                                     \
    X(EDGES, GEMM, "tile edges", "reach beyond the matrix")                                                            \
    X(TILES, GEMM, "small tiles", "load more for each FLOP")                                                           \
    X(RAMP, GEMM, "start of tiles", "felt when K is short")                                                            \
    X(WAVES, GEMM, "waves", "SMs idle in the last one")                                                                \
    X(ALIGNMENT, GEMM, "alignment", "rows not of 16 bytes")                                                            \
    X(THROTTLE, GEMM, "throttling", "clocks fall under load")                                                          \
    X(ROOF, GEMM, "memory traffic", "operands wait for DRAM")                                                          \
    X(SCORES, ATTENTION, "scores again", "in backward")                                                                \
    X(A_PRECISION, ATTENTION, "other precision", "with another peak")                                                  \
    X(A_RATE, ATTENTION, "softmax and pipeline", "the kernel's best rate")                                             \
    X(A_HEAD, ATTENTION, "head padding", "head_dim is filled up")                                                      \
    X(A_LENGTH, ATTENTION, "short sequence", "ramp over the sequence")                                                 \
    X(A_WAVES, ATTENTION, "waves", "SMs idle in the last one")                                                         \
    X(A_ROOF, ATTENTION, "memory traffic", "operands wait for DRAM")                                                   \
    X(A_SCORES, ATTENTION, "scores in memory", "softmax, mask, dropout")                                               \
    X(A_PRODUCTS, ATTENTION, "unfused products", "GEMMs of math attention")                                            \
    MFU_STREAM_KINDS(MFU_KIND_PART, X)                                                                                 \
    X(CLIPPING, OPTIMIZER, "clipping and rest", "norm of all gradients")                                               \
    X(PRODUCTS_AGAIN, RECOMPUTE, "products again", "counted by HFU only")                                              \
    X(OTHERS_AGAIN, RECOMPUTE, "other kernels again", "of forward, in backward")                                       \
    X(GAPS, GAPS, "between kernels", "drain, launch, fill")                                                            \
    X(DISPATCH, HOST, "dispatch", "the GPU waits for it")                                                              \
    X(STEP, HOST, "per step", "hand-over, logging")                                                                    \
    X(LOADER, INPUT, "data loader", "the GPU waits for it")                                                            \
    X(EXPOSED, COMMUNICATION, "exposed", "nothing hides it")                                                           \
    X(CONTENTION, COMMUNICATION, "contention", "slows kernels beside it")                                              \
    X(PAGING, COMMUNICATION, "paging", "states come back from the host")                                               \
    X(BUBBLE, PIPELINE, "bubble", "a stage waits for others")

enum mfu_breakdown_part {
#define X(id, ...) MFU_P_##id,
    MFU_BREAKDOWN_PARTS(X)
#undef X
        MFU_BREAKDOWN_COUNT
};

struct mfu_breakdown_row {
    enum mfu_breakdown_group group;
    const char *name, *says;
};
extern const struct mfu_breakdown_row mfu_breakdown_rows[MFU_BREAKDOWN_COUNT];

/* The kernel that adds the most to a part. */
struct mfu_culprit {
    char name[96]; /* "" if no kernel is to blame */
    struct mfu_kernel kernel;
    struct mfu_price price;
    double seconds; /* of the step */
};

struct mfu_breakdown {
    double step_s;
    double part_s[MFU_BREAKDOWN_COUNT]; /* add up to step_s */
    double group_s[MFU_G_COUNT];        /* the same by group */
    double again_peak_s;                /* recomputed products at peak: HFU less MFU, and what Winograd saves */
    double kernels_s;                   /* sum of all kernels */
    double products_s;                  /* GEMMs and attention, recomputed ones included */
    struct mfu_culprit culprits[MFU_BREAKDOWN_COUNT];
};

/* Of a plan that was simulated.  Culprits are looked for only if asked. */
int mfu_breakdown_make(const struct mfu_plan *, const struct mfu_simulation *, bool culprits, struct mfu_breakdown *,
                       struct mfu_error *err);

/* The same walk of one launch, overhead and all: adds seconds by part. */
void mfu_breakdown_launch(const struct mfu_plan *, const struct mfu_launch *, const struct mfu_price *,
                          double part_s[MFU_BREAKDOWN_COUNT]);

#endif
