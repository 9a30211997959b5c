/*
 * program.h - one training step as kernels and tensors.
 *
 * A program is a list of launches in the order of execution, cut into segments.
 * A segment with `repeat` 10 stands for ten equal stretches (the middle layers
 * of a model); the first and the last layer have segments of their own, since
 * their neighbours differ.  Time and memory are two readings of the program:
 * cost/ prices the launches, lifetime.h walks through the tensors.
 */
#ifndef MFU_PROGRAM_H
#define MFU_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include "base/arena.h"
#include "graph/layout.h"
#include "kernel/kernel.h"
#include "parallel/topology.h"

/* The passes of a step; communication goes on beside all of them. */
enum mfu_phase { MFU_FORWARD, MFU_BACKWARD, MFU_OPTIMIZER_PHASE, MFU_COMMUNICATION, MFU_PHASE_COUNT };
extern const char *const mfu_phase_names[MFU_PHASE_COUNT];

/* The GPU's queues: kernels of one stream run one after the other. */
enum mfu_stream {
    MFU_STREAM_COMPUTE,
    MFU_STREAM_COMMUNICATION,
    MFU_STREAM_TO_HOST, /* copies, and the optimizer on the CPU, which waits for them */
    MFU_STREAM_FROM_HOST,
    MFU_STREAM_DRIVE, /* the NVMe drives of the host, which read and write in turn */
    MFU_STREAM_COUNT
};
extern const char *const mfu_stream_names[MFU_STREAM_COUNT];

/* What a launch asks of the other ranks of its group. */
struct mfu_collective {
    unsigned axes; /* of the mesh: over which ranks; 0: of a kernel, which asks nothing */
    enum mfu_collective_kind kind;
    double bytes; /* of one call, as `kind` counts them */
};

/* In which micro-steps of a step a launch happens.  What does not happen in all
 * of them counts as its mean over them; see mfu_launch_whole(). */
enum mfu_occurrence { MFU_EVERY_MICRO_STEP, MFU_FIRST_MICRO_STEP, MFU_LAST_MICRO_STEP };

/* What memory is for: the parts of the interface's partition. */
enum mfu_part {
    MFU_PART_WEIGHTS,
    MFU_PART_GRADIENTS,
    MFU_PART_OPTIMIZER,
    MFU_PART_EMA,
    MFU_PART_WEIGHT_CASTS,
    MFU_PART_ACTIVATIONS,
    MFU_PART_LOGITS_LOSS,
    MFU_PART_WORKSPACE,
    MFU_PART_COMMUNICATION,
    MFU_PART_OTHER,
    MFU_PART_COUNT
};
extern const char *const mfu_part_names[MFU_PART_COUNT];
extern const char *const mfu_part_meanings[MFU_PART_COUNT]; /* in a few words */

/* Element types; mfu_type_bytes gives their size.  F8_BOTH: an element by rows and once more by columns, with scales. */
enum mfu_type {
    MFU_F32,
    MFU_F16,
    MFU_F8,
    MFU_I64,
    MFU_U8,
    MFU_F8_BLOCK,
    MFU_F4_16,
    MFU_F4_32,
    MFU_F8_BOTH,
    MFU_TYPE_COUNT
};
extern const double mfu_type_bytes[MFU_TYPE_COUNT];

#define MFU_NEVER (-1)         /* born before the program */
#define MFU_FOREVER 0x7fffffff /* outlives the micro-step */

/* A piece of memory. */
struct mfu_tensor {
    double bytes;
    int born; /* launch that allocates it, or MFU_NEVER */
    int last; /* last launch that needs it, or MFU_FOREVER */
    enum mfu_part part;
    int view; /* that it was made with */
};

/* How a tensor is looked at: shape and type of (part of) its memory. */
struct mfu_view {
    int tensor;
    enum mfu_type type;
    double rows, columns;
    int producer; /* launch that writes it, or -1; before fusion: launches are numbered anew then */
    int slot;     /* which of its outputs */
};

/* How a launch may be merged with its neighbours by a compiler. */
enum mfu_fusion {
    MFU_ALONE,    /* library call: GEMM, attention, scatter */
    MFU_MAP,      /* one output element from one of each input */
    MFU_ROW,      /* needs whole rows: norm, softmax */
    MFU_COLUMN,   /* reduces over rows: bias and gamma gradients */
    MFU_PARAMETER /* pointwise over a weight: cast, accumulate */
};

#define MFU_LAUNCH_IN 16 /* views that one launch reads, at most */
#define MFU_LAUNCH_OUT 8 /* and writes */

/* How much of a kernel there is. */
struct mfu_amount {
    double flops, read_bytes, write_bytes, launches;
};

/* What a launch computes, moves and asks of others. */
struct mfu_work {
    struct mfu_kernel kernel;
    double gradient_elements; /* of parameters whose gradient is complete after it */
    double gradient_experts;  /* of these, in experts */
    double accumulated_bytes; /* of the gradient that it adds to, in every micro-step but the first */
    double extra_read_bytes;  /* beyond reading every input once */
    double half_bytes;        /* that kernel.half_share is the share of, */
    double half_of_bytes;     /* and of which: without `extra_read_bytes`, all that it names */
    double temporary_bytes;   /* workspace while it runs */
    double passes;            /* of an optimizer over lists of tensors, kernel by kernel; 0: of no such */
    struct mfu_amount whole;  /* of a launch that does not happen in every micro-step, when it does */
    struct mfu_collective collective;
    double beside_share; /* of it, at most */
    enum mfu_occurrence when;
    int number, older; /* in mfu_program.works; one behind that of another in its list (mfu_work_of()), 0: none */
};

/* There are thousands of them in the step of a large model, of a few hundred works: launches that are alike share one. */
struct mfu_launch {
    const struct mfu_work *work;       /* the program's */
    const char *section, *op, *suffix; /* h, attn.qkv, dgrad ("" if none) */
    int *in, *out;                     /* views, in the program's `ends`: the first n_in, n_out */
    unsigned char n_in, n_out;
    enum mfu_phase phase : 8;
    enum mfu_fusion fusion : 8;
    enum mfu_stream stream : 8;      /* where it runs */
    enum mfu_stream wait_stream : 8; /* it starts when what was issued there has ended, */
    bool random;                     /* its result cannot be computed again */
    bool cast;                       /* only changes the type */
    bool recomputed : 1;             /* a part of forward, run again in backward */
    bool reference : 1;              /* of the pass of a reference model */
    bool apart : 1;                  /* of a frozen model that is no part of the one that trains */
    bool in_layer : 1;               /* of a repeated section */
    bool updates : 1;                /* a product of the optimizer's */
    bool routed : 1;                 /* on rows of experts that ranks share; */
    bool same : 1;                   /* every tensor rank runs it, on the same rows; */
    bool padded;        /* it multiplies as many rows as these have places, not those that tokens ask for */
    bool communicates;  /* a collective, or a copy that is made for one */
    signed char beside; /* a collective in the compute stream that runs beside the next (1) or latest (-1) product; 0 */
    int wait_behind;    /* but for so many of the latest; -1: it does not wait */
};
_Static_assert(offsetof(struct mfu_launch, wait_behind) == offsetof(struct mfu_launch, n_in) + 12
                   && offsetof(struct mfu_launch, beside) + 1 == offsetof(struct mfu_launch, wait_behind),
               "launches are compared byte by byte: no byte may be of no field");

struct mfu_segment {
    const char *section;
    enum mfu_phase phase;
    int first, count;                 /* launches */
    double repeat;                    /* per micro-step, or per step in the optimizer */
    bool layer;                       /* one pass through a layer of a repeated section */
    int of, first_view, first_tensor; /* while it is traced: its layer; views and tensors as it begins, */
    int back_view, back_tensor;       /* and as those of what comes back to it begin (offload.c) */
    int shift;                        /* its launches stand so many places further on in the list (mfu_launch_in) */
    int stretch, copy;                /* of a folded program (copies.h) */
};

/* What becomes of layers that are alike: few are traced, and one stands for the others; all are there, copied from
 * few; all are traced.  The latter two are the same program.  Folded, it is so, too, but the lists have few of them, and
 * segments share their launches: numbers (n_launches, of a segment, n_tensors, n_views) count all. */
enum mfu_unrolling { MFU_LAYERS_COUNTED, MFU_LAYERS_FOLDED, MFU_LAYERS_COPIED, MFU_LAYERS_TRACED };

struct mfu_program {
    struct mfu_launch *launches;
    struct mfu_work **works; /* those of launches, and those that some had before they were changed */
    struct mfu_tensor *tensors;
    struct mfu_view *views;
    struct mfu_segment *segments;
    int n_launches, n_works, n_tensors, n_views, n_segments;
    int cap_launches, cap_works, cap_tensors, cap_views, cap_segments;
    struct mfu_arena room; /* works, and what launches read and write: views */
    void *workbench;       /* of the builder (struct mfu_builder), reused, */
    bool once;             /* but where it is given back as soon as it can be */
    bool repeats_scans;    /* each tensor rank computes all of some recurrence over tokens */
    const char *lost; /* an operation of which something saved is gone before its backward pass; NULL: none (a law) */
    struct mfu_fold *fold; /* where the items of a folded program are (copies.h); NULL: it is not */
    struct mfu_mesh mesh;

    struct mfu_weight_tensor {
        double elements, bytes;
        bool trains, reached; /* by a gradient */
    } * weights;              /* that were traced */
    double *compared;         /* differences of sizes whose sign decided something (scale.h) */
    int n_weights, cap_weights, n_compared, cap_compared;
    double constant_bytes[MFU_PART_COUNT]; /* there all the time */
    double host_bytes[MFU_PART_COUNT];     /* of one process, in its host's memory */
    double pinned_bytes;                   /* of these, locked in place */
    double drive_bytes[MFU_PART_COUNT];    /* of one process, on its host's NVMe drives */
    double paged_bytes;                    /* on the GPU or its host, by pages (CUDA's managed memory) */
    double next_batch_bytes;               /* of constant_bytes, loaded only when forward is done */
    double accum;                          /* micro-steps per optimizer step */
    double gradient_bytes, weight_bytes;   /* of one element of .grad; of a weight that is used */

    /* Facts of the model, for the conventions of MFU. */
    double params, trainable_params, active_params, non_embedding_params, position_params;
    double apart_params;             /* of `params`, in frozen models that are no part of it */
    double table_params;             /* that are looked up, adapters apart */
    double layers;                   /* of the section that pipeline stages cut, of all stages */
    double boundary_bytes;           /* that one microbatch sends to the next stage */
    double rank_trained, rank_bytes; /* those of a rank that train; the bytes of all */
    double unreached_params;         /* beside rank_trained: they may train, and no gradient reaches them */
    double expert_trained, expert_bytes;
    double trained_tensors, largest_trained; /* how many, the elements of the largest, of a rank */
    double summed_trained;                   /* of those that train, copies of one whose gradients tensor ranks sum */
    double large_trained;                    /* parameters in those whose optimizer states may be paged */
    double rank_params;                      /* that this rank holds where data parallelism shards none */
    double expert_layers;                    /* layers at hand that have experts */
    double layer_modules;                    /* modules of all layers at hand that a host calls one after another */
    double expert_params;                    /* of these, in experts */
    double blocks, unit_params; /* layers of repeated sections, the units of FSDP; the parameters in them */
    double weight_tensors;      /* weights and biases, each a tensor of its own */
    double linear_params;       /* that are multiplied with, per token (active) */
    double tokens;              /* of one micro-step */
};

/* Launch `i` of a segment, counted in the whole program. */
static inline const struct mfu_launch *mfu_launch_in(const struct mfu_program *p, const struct mfu_segment *seg, int i)
{
    return &p->launches[i + seg->shift];
}

/* What the allocator makes of so many bytes: blocks of 512. */
static inline double mfu_block_bytes(double bytes)
{
    double blocks = bytes / 512, whole = blocks < 0x1p53 ? (double)(long long)blocks : blocks;

    return (whole < blocks ? whole + 1 : whole) * 512;
}

/* The pass whose work a launch is: the one that it runs in, but for updates within backward. */
static inline enum mfu_phase mfu_launch_pass(const struct mfu_launch *l)
{
    return l->updates || mfu_kinds[l->work->kernel.kind].group == MFU_GROUP_UPDATES ? MFU_OPTIMIZER_PHASE : l->phase;
}

/* The phase that a launch's time belongs to: its pass, or communication. */
static inline enum mfu_phase mfu_launch_phase(const struct mfu_launch *l)
{
    return l->communicates ? MFU_COMMUNICATION : mfu_launch_pass(l);
}

/* The kernels of an optimizer's passes: multi_tensor_apply takes tensors in lists. */
void mfu_work_passes(struct mfu_work *);

/* It happens in one micro-step of `accum` only: its kernel becomes the mean. */
void mfu_work_once(struct mfu_work *, enum mfu_occurrence, double accum);
/* The means of `accum` micro-steps, where they depend on their number. */
void mfu_work_accumulate(struct mfu_work *, double accum);

/* How much more of a launch there is each time that it happens than in the mean
 * of `accum` micro-steps. */
static inline double mfu_launch_whole(const struct mfu_launch *l, double accum)
{
    return l->work->when == MFU_EVERY_MICRO_STEP ? 1 : accum;
}

/* The full name of a launch, "h.attn.qkv", into buf; returns buf. */
const char *mfu_launch_name(const struct mfu_launch *, char *buf, size_t size);

#endif
