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
    union {
        uint64_t requested; /* of one that is allocated: as asked for */
        uint64_t born;      /* of a free one: searches of its pool when it was freed (its age, for collection) */
    };
    int previous, next; /* neighbours in the segment, by address; 0: none */
    int segment;
    short pool;
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

/* ---- blocks --------------------------------------------------------------- */

int mfu_block_more(struct mfu_allocator *); /* one that was never used; 0: out of memory */

/* A block's number; 0 when out of memory.  The dropped one serves again. */
static inline int mfu_block_new(struct mfu_allocator *a)
{
    int b = a->unused_block;

    if (!b)
        return mfu_block_more(a);
    a->unused_block = a->blocks[b].next;
    return b;
}

static inline void mfu_block_drop(struct mfu_allocator *a, int b)
{
    a->blocks[b].next = a->unused_block;
    a->unused_block = b;
}

/* ---- where free ones are: into a set of its pool, and out of it ------------ */

static inline void mfu_block_put(struct mfu_allocator *a, struct mfu_block_set *set, uint64_t size, int b)
{
    if (!mfu_block_set_insert(set, size, a->blocks[b].address, b))
        a->broken = true;
}

static inline void mfu_block_take(struct mfu_block_set *set, uint64_t size, const struct mfu_allocator *a, int b)
{
    struct mfu_block_place at = mfu_block_set_seek(set, size, a->blocks[b].address);

    if (at.bin && mfu_block_set_entry(set, at)->block == b)
        mfu_block_set_remove(set, at);
}

static inline void mfu_block_put_free(struct mfu_allocator *a, struct pool *pool, int b)
{
    struct block *block = &a->blocks[b];

    if (a->collects)
        block->born = a->searches[pool->small];
    mfu_block_put(a, &pool->free, block->size, b);
}

static inline void mfu_block_take_free(struct mfu_allocator *a, struct pool *pool, int b)
{
    mfu_block_take(&pool->free, a->blocks[b].size, a, b);
}

static inline struct pool *mfu_block_pool(struct mfu_allocator *a, int b)
{
    return &a->pools[a->blocks[b].pool];
}

static inline void mfu_block_put_hole(struct mfu_allocator *a, int b)
{
    mfu_block_put(a, &a->pools[a->blocks[b].pool].holes, 0, b);
}

static inline void mfu_block_take_hole(struct mfu_allocator *a, int b)
{
    mfu_block_take(&a->pools[a->blocks[b].pool].holes, 0, a, b);
}

/* ---- neighbours ---------------------------------------------------------- */

/* Cuts `bytes` off the low end of a block; returns the new block, which takes
 * them.  If the other is in a set its key there is out of date. */
static inline int mfu_block_cut_low(struct mfu_allocator *a, int b, uint64_t bytes)
{
    int low = mfu_block_new(a);
    struct block *rest = &a->blocks[b], *block = &a->blocks[low];

    if (!low)
        return 0;
    *block = (struct block){.address = rest->address,
                            .size = bytes,
                            .previous = rest->previous,
                            .next = b,
                            .segment = rest->segment,
                            .pool = rest->pool,
                            .mapped = rest->mapped};
    if (block->previous)
        a->blocks[block->previous].next = low;
    else
        a->segments[block->segment].first = low;
    rest->previous = low;
    rest->address += bytes;
    rest->size -= bytes;
    return low;
}

/* May block b, which is free but in no set, absorb this neighbour?  Does it,
 * when the neighbour is in no set any more. */
static inline bool mfu_block_mergeable(const struct mfu_allocator *a, int b, int neighbour)
{
    return mfu_block_idle(a, neighbour) && a->blocks[neighbour].mapped == a->blocks[b].mapped;
}

static inline void mfu_block_absorb(struct mfu_allocator *a, int b, int neighbour)
{
    struct block *to = &a->blocks[b], *from = &a->blocks[neighbour];

    if (to->previous == neighbour) {
        to->address = from->address;
        to->previous = from->previous;
        if (to->previous)
            a->blocks[to->previous].next = b;
        else
            a->segments[to->segment].first = b;
    } else {
        to->next = from->next;
        if (to->next)
            a->blocks[to->next].previous = b;
    }
    to->size += from->size;
    mfu_block_drop(a, neighbour);
}

/* If b may absorb it, does so: from its set. */
void mfu_block_merge(struct mfu_allocator *, int b, int neighbour);

/* ---- allocator_blocks.c: segments and pools -------------------------------- */

/* A segment at the next free address, with one block as large as itself; 0
 * when the address space or our out of memory.  Drop: together with it. */
int mfu_segment_new(struct mfu_allocator *, int pool, uint64_t size, uint64_t page);
void mfu_segment_drop(struct mfu_allocator *, int b);

/* The pool of a stream; -1 when out of memory. */
int mfu_pool_of(struct mfu_allocator *, int stream, bool small);

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
