/*
 * sharder.h - the pass over a program that puts collectives between its launches: for shard.c and shard_blocks.c alone.
 */
#ifndef MFU_SHARDER_H
#define MFU_SHARDER_H

#include "graph/builder_private.h"

#define MFU_SHARD_BYTES 4 /* of one element of FSDP's shards: masters */

/* Until when weights stay gathered that come block by block. */
enum mfu_gathered {
    MFU_FOR_A_PASS,
    MFU_REFERRED_TO, /* the same, and what autograd saved of the forward pass stays until backward */
    MFU_FOR_BOTH_PASSES,
    MFU_FOR_ALL_MICRO_STEPS
};

/* What a trainer does at a ZeRO stage. */
struct mfu_shard_rule {
    enum mfu_state sharded;          /* this and what follows it; COUNT: none */
    enum mfu_collective_kind reduce; /* of gradients */
    enum mfu_occurrence when;
    bool by_block; /* weights are gathered and gradients scattered block by block */
    enum mfu_gathered kept;
};

/* Weights whose gradients the same ranks sum: experts have ranks of their own, and buckets (Megatron-LM d98e8a64,
 * core/distributed/distributed_data_parallel.py: expert_parallel_buffers; torchtitan b5bcd76c, distributed/fsdp.py:
 * efsdp). */
struct mfu_pool {
    double ranks;         /* that share one copy of what is sharded, or hold the same where nothing is */
    unsigned axes, whole; /* of the mesh: those ranks'; with all copies of them */
    double share;         /* of the optimizer's states that one rank holds */
    double params, trained;
    double root_params, root_trained; /* of these, in no unit */
    double waiting, bucket;           /* gradient bytes for the next bucket, of this size */
    double counted, counted_squares;  /* of a layer that stands for several */
};

#define MFU_POOLS 2 /* all but experts; experts */

struct mfu_sharder {
    struct mfu_builder *s;
    struct mfu_program *p;
    const struct mfu_shard_rule *rule;
    struct mfu_pool pool[MFU_POOLS];
    bool spread;   /* the ranks of one of them are several */
    bool by_block; /* weights come block by block: from other ranks, or from the host; */
    bool kept;     /* and stay, while gradients wait */
    int n;         /* launches written so far */
    const struct mfu_segment *seg;
    int issued;            /* collectives */
    int wanted;            /* one of them that the next kernel waits for, or -1 */
    int ahead;             /* the gather of the next block */
    enum mfu_stream after; /* what is issued next waits for it; COMPUTE: for nothing more, */
    int behind;            /* but for so many of the latest there */
    /* Tensors, or -1: weights in no block, of this block, of the next; gradients
     * of this block, and of the one before, which are on their way. */
    int root, block, next, gradients, leaving;
    double left_bytes; /* of the latter */
    int added;         /* whole gradients, added up until they are summed; -1: none */
    int *stay, n_stay; /* blocks whose weights wait for backward, the latest last */
    int referred;      /* this block's of the forward pass, beside those that are gathered anew; -1: none */
};

/* Copies of what is sharded (HSDP). */
double mfu_shard_copies(const struct mfu_builder *);

/* `calls` collectives of `bytes` each over axes of the mesh, beside compute or in its way; returns the number
 * of the (last) one. */
int mfu_sharder_issue(struct mfu_sharder *, unsigned axes, enum mfu_stream, enum mfu_collective_kind, double bytes,
                      double calls, enum mfu_occurrence);
/* A copy between GPU and host, an update there, or a copy between that and its drives. */
int mfu_sharder_issue_in(struct mfu_sharder *, enum mfu_stream, enum mfu_collective_kind, double bytes, double calls,
                         enum mfu_occurrence);
/* `calls` copies of so many bytes each. */
void mfu_sharder_copy(struct mfu_sharder *, const char *suffix, double read_bytes, double write_bytes, double calls,
                      enum mfu_occurrence);
/* A buffer from the next launch on: its tensor, or -1.  It was last needed by the launch written last. */
int mfu_sharder_buffer(struct mfu_sharder *, enum mfu_part, double bytes);
void mfu_sharder_release(struct mfu_sharder *, int tensor);
/* `calls` gradients of `elements` of this rank go to the host, where they are offloaded. */
void mfu_sharder_send(struct mfu_sharder *, const struct mfu_pool *, double elements, double calls,
                      enum mfu_occurrence);

/* What a pool has of a unit's parameters, and of those that train. */
double mfu_pool_params(const struct mfu_sharder *, const struct mfu_pool *, const struct mfu_unit *);
double mfu_pool_trained(const struct mfu_sharder *, const struct mfu_pool *, const struct mfu_unit *);

/* Whether a phase begins with a segment. */
bool mfu_begins_pass(const struct mfu_sharder *, int segment);

/* Around a segment whose weights come block by block, before and behind its launches. */
void mfu_blocks_begin(struct mfu_sharder *, int segment);
void mfu_blocks_end(struct mfu_sharder *, int segment);
/* The sums of gradients that waited for the optimizer's phase; what is left of them goes with that. */
void mfu_blocks_sum(struct mfu_sharder *);
void mfu_blocks_forget(struct mfu_sharder *);

#endif
