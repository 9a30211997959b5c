/*
 * allocator_state.h - the inside of the allocator: blocks, segments and pools.
 *
 * Only the allocator's own files include it.  Blocks, segments and pools are
 * numbers into arrays; block 0 stands for none.  Segments get ever higher
 * addresses, so that the list of them is in order of address and equal blocks
 * are told apart by age.
 *
 * When our own out of memory in the middle of an operation, `broken` is set and
 * nothing is done any more.
 */
#ifndef MFU_ALLOCATOR_STATE_H
#define MFU_ALLOCATOR_STATE_H

#include "simulate/allocator_options.h"
#include "simulate/block_set.h"

#define MIB ((uint64_t)1 << 20)

/* Bytes, as PyTorch's c10/cuda/CUDACachingAllocator.cpp has them. */
#define BLOCK_STEP ((uint64_t)512) /* sizes are multiples of it */
#define SMALL_SEGMENT (2 * MIB)    /* also the page of expandable small ones */
#define MIDDLE_SEGMENT (20 * MIB)  /* also the page of expandable large ones */

/* A piece of a segment. */
struct block {
    uint64_t address, size;
    uint64_t requested; /* as asked for; of a free block 0 */
    uint64_t born;      /* searches of its pool when it was freed (its age, for collection) */
    int previous, next; /* neighbours in the segment, by address; 0: none */
    int segment, pool;
    int bin; /* of its pool, while it is free or a hole */
    bool allocated;
    bool mapped; /* false: a hole in an expandable segment */
};

/* What one cudaMalloc returned, or the address range of an expandable segment. */
struct segment {
    uint64_t address, size;
    uint64_t page;      /* mapped in units of so many bytes; 0: cudaMalloc */
    int first;          /* block at `address`; 0: segment not in use */
    int previous, next; /* by address; -1: none. In the list of unused ones only next */
};

/* Free blocks of one size class and stream. */
struct pool {
    int stream;
    bool small;
    struct mfu_block_set free;
    struct mfu_block_set holes; /* of expandable segments; all of size 0, so by address */
};

struct mfu_allocator {
    struct mfu_allocator_options options;
    uint64_t capacity, unsplittable; /* options with their defaults put in */
    uint64_t range;                  /* address space of an expandable segment */
    bool collects;                   /* garbage collection is on */
    bool broken;

    struct block *blocks;
    int n_blocks, room_blocks, unused_block; /* unused ones are linked by next */
    struct segment *segments;
    int n_segments, room_segments, unused_segment;
    int first_segment, last_segment;
    uint64_t next_address;

    struct pool *pools; /* two for each stream: large, small */
    int n_pools, room_pools;
    uint64_t searches[2]; /* of the large and the small pools */

    struct mfu_allocator_stats stats;
    uint64_t card_bytes, process_bytes; /* for the message only */
    struct {
        uint64_t tried, allocated, reserved;
    } failure; /* the last; tried 0: none yet */
};

static inline bool mfu_block_expandable(const struct mfu_allocator *a, int b)
{
    return a->segments[a->blocks[b].segment].page != 0;
}

static inline bool mfu_block_is_split(const struct block *block)
{
    return block->previous || block->next;
}

/* Free, or a hole. */
static inline bool mfu_block_idle(const struct mfu_allocator *a, int b)
{
    return b && !a->blocks[b].allocated;
}

/* ---- allocator_blocks.c: blocks, their neighbours, and where free ones are -- */

/* A block's number; 0 when out of memory.  The dropped one serves again. */
int mfu_block_new(struct mfu_allocator *);
void mfu_block_drop(struct mfu_allocator *, int b);

/* A segment at the next free address, with one block as large as itself; 0
 * when the address space or our out of memory.  Drop: together with it. */
int mfu_segment_new(struct mfu_allocator *, int pool, uint64_t size, uint64_t page);
void mfu_segment_drop(struct mfu_allocator *, int b);

/* The pool of a stream; -1 when out of memory. */
int mfu_pool_of(struct mfu_allocator *, int stream, bool small);

/* Into its pool, there in place of what is at `at`, and out of it. */
void mfu_block_put_free(struct mfu_allocator *, int b);
void mfu_block_move_free(struct mfu_allocator *, int b, struct mfu_block_place at);
void mfu_block_take_free(struct mfu_allocator *, int b);
void mfu_block_put_hole(struct mfu_allocator *, int b);
void mfu_block_take_hole(struct mfu_allocator *, int b);

/* Cuts `bytes` off the low end of a block; returns the new block, which takes
 * them.  If the other is in a set its key there is out of date. */
int mfu_block_cut_low(struct mfu_allocator *, int b, uint64_t bytes);

/* May block b, which is free but in no set, absorb this neighbour?  Does it,
 * when the neighbour is in no set any more; merge(): from its set, if it may. */
bool mfu_block_mergeable(const struct mfu_allocator *, int b, int neighbour);
void mfu_block_absorb(struct mfu_allocator *, int b, int neighbour);
void mfu_block_merge(struct mfu_allocator *, int b, int neighbour);

/* ---- allocator_driver.c: what is taken from the driver and given back ------ */

/* A block of at least `size`, in no set, of a new segment of `segment` bytes or
 * of a longer expandable one.  0: out of memory. */
int mfu_driver_reserve(struct mfu_allocator *, int p, uint64_t size, uint64_t segment);

/* Gives back every unsplit free block of a pool, and every free page. */
void mfu_driver_release_pool(struct mfu_allocator *, struct pool *);

/* With a largest size to split: gives back unsplittable blocks of this pool,
 * the smallest that would do or else several from the largest down.  True if
 * that came to enough. */
bool mfu_driver_release_unsplittable(struct mfu_allocator *, int p, uint64_t size);

/* Before memory is taken from the driver: when more than the threshold is
 * reserved, gives back large unsplit blocks, those of above-average age first,
 * until the excess is gone. */
void mfu_driver_collect(struct mfu_allocator *);

#endif
