/*
 * allocator.c - PyTorch's caching allocator, block by block.
 *
 * Follows DeviceCachingAllocator of PyTorch 2.6 decision by decision; private
 * pools of CUDA graphs are left out.  Blocks, segments and pools are numbers
 * into arrays; block 0 stands for none.  The handle of an allocation is the
 * number of its block.  Segments get ever higher addresses, so that the list of
 * them is in order of address and equal blocks are told apart by age.
 *
 * When our own memory is out in the middle of an operation, `broken` is set and
 * nothing is done any more.
 */
#include "simulate/allocator.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "simulate/block_set.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

/* Bytes, as PyTorch's c10/cuda/CUDACachingAllocator.cpp has them. */
#define BLOCK_STEP ((uint64_t)512)      /* sizes are multiples of it */
#define SMALL_LIMIT MIB                 /* up to here the small pool serves */
#define SMALL_SEGMENT (2 * MIB)
#define MIDDLE_LIMIT (10 * MIB)         /* below it the large pool takes ... */
#define MIDDLE_SEGMENT (20 * MIB)       /* ... one of these and cuts it */
#define SEGMENT_STEP (2 * MIB)          /* larger segments are multiples of it */
#define OVERSIZE_SLACK (20 * MIB)       /* how much too large an unsplittable block may be */

#define ONE_EXABYTE ((uint64_t)1 << 60) /* refused before anything is looked at */
#define NO_LIMIT ((uint64_t)1 << 50)    /* a card without limit: sums stay far from overflow */
#define FIRST_ADDRESS SEGMENT_STEP
#define LAST_ADDRESS ((uint64_t)1 << 63)

/* A piece of a segment. */
struct block {
    uint64_t address, size;
    uint64_t requested;         /* as asked for; of a free block 0 */
    uint64_t born;              /* searches of its pool when it was freed (its age, for collection) */
    int previous, next;         /* neighbours in the segment, by address; 0: none */
    int segment, pool;
    int uses;                   /* other streams that use it while it is allocated */
    int events;                 /* those whose work is not done though it is freed */
    bool allocated;
    bool mapped;                /* false: a hole in an expandable segment */
};

/* What one cudaMalloc returned, or the address range of an expandable segment. */
struct segment {
    uint64_t address, size;
    uint64_t page;              /* mapped in units of so many bytes; 0: cudaMalloc */
    int first;                  /* block at `address`; 0: segment not in use */
    int previous, next;         /* by address; -1: none. In the list of unused ones only next */
};

/* Free blocks of one size class and stream. */
struct pool {
    int stream;
    bool small;
    struct mfu_block_set free;
    struct mfu_block_set holes; /* of expandable segments; all of size 0, so by address */
};

struct use {
    int block, stream;
};

struct mfu_allocator {
    struct mfu_allocator_options options;
    uint64_t capacity, unsplittable;    /* options with their defaults put in */
    uint64_t range;             /* address space of an expandable segment */
    bool collects;              /* garbage collection is on */
    bool broken;

    struct block *blocks;
    int n_blocks, room_blocks, unused_block;    /* unused ones are linked by next */
    struct segment *segments;
    int n_segments, room_segments, unused_segment;
    int first_segment, last_segment;
    uint64_t next_address;

    struct pool *pools;         /* two for each stream: large, small */
    int n_pools, room_pools;
    uint64_t searches[2];       /* of the large and the small pools */

    struct use *uses;           /* of allocated blocks by other streams */
    size_t n_uses, room_uses;
    struct use *events;         /* of freed ones, oldest first */
    size_t n_events, room_events;

    struct mfu_allocator_stats stats;
    uint64_t card_bytes, process_bytes;         /* for the message only */
    struct {
        uint64_t tried, allocated, reserved;
    } failure;                  /* the last; tried 0: none yet */
};

/* ---- Arrays ------------------------------------------------------------- */

/* The array with room for one more; NULL, and the allocator broken, when memory
 * is out. */
static void *grown(struct mfu_allocator *a, void *array, int n, int *room, size_t size)
{
    int wanted = *room ? 2 * *room : 16;
    void *more;

    if (n < *room)
        return array;
    more = wanted < INT32_MAX / 4 ? realloc(array, (size_t)wanted * size) : NULL;
    if (more)
        *room = wanted;
    else
        a->broken = true;
    return more;
}

static int new_block(struct mfu_allocator *a)
{
    int b = a->unused_block;
    struct block *blocks;

    if (b) {
        a->unused_block = a->blocks[b].next;
        return b;
    }
    blocks = grown(a, a->blocks, a->n_blocks, &a->room_blocks, sizeof *blocks);
    if (!blocks)
        return 0;
    a->blocks = blocks;
    return a->n_blocks++;
}

static void drop_block(struct mfu_allocator *a, int b)
{
    a->blocks[b] = (struct block){.next = a->unused_block};
    a->unused_block = b;
}

/* A segment at the next free address, with one block as large as itself; 0
 * when the address space or our memory is out. */
static int new_segment(struct mfu_allocator *a, int pool, uint64_t size, uint64_t page)
{
    int s = a->unused_segment, b;

    if (size > LAST_ADDRESS - a->next_address)
        return 0;
    if (s < 0) {
        struct segment *segments = grown(a, a->segments, a->n_segments, &a->room_segments,
                                         sizeof *segments);

        if (!segments)
            return 0;
        a->segments = segments;
        s = a->n_segments++;
    } else {
        a->unused_segment = a->segments[s].next;
    }
    b = new_block(a);
    if (!b)
        return 0;
    a->segments[s] = (struct segment){.address = a->next_address, .size = size, .page = page, .first = b,
                                      .previous = a->last_segment, .next = -1};
    if (a->last_segment >= 0)
        a->segments[a->last_segment].next = s;
    else
        a->first_segment = s;
    a->last_segment = s;
    a->blocks[b] = (struct block){.address = a->next_address, .size = size, .segment = s, .pool = pool,
                                  .mapped = !page};
    a->next_address += size;
    return b;
}

/* Gives back a segment together with its only block. */
static void drop_segment(struct mfu_allocator *a, int b)
{
    int s = a->blocks[b].segment;
    struct segment *segment = &a->segments[s];

    if (segment->previous >= 0)
        a->segments[segment->previous].next = segment->next;
    else
        a->first_segment = segment->next;
    if (segment->next >= 0)
        a->segments[segment->next].previous = segment->previous;
    else
        a->last_segment = segment->previous;
    *segment = (struct segment){.next = a->unused_segment};
    a->unused_segment = s;
    drop_block(a, b);
}

/* The pool of a stream; -1 when memory is out. */
static int pool_of(struct mfu_allocator *a, int stream, bool small)
{
    int p = 0;

    while (p < a->n_pools && a->pools[p].stream != stream)
        p += 2;
    if (p == a->n_pools) {
        struct pool *pools = grown(a, a->pools, p + 1, &a->room_pools, sizeof *pools);

        if (!pools)
            return -1;
        a->pools = pools;
        a->pools[p] = (struct pool){.stream = stream};
        a->pools[p + 1] = (struct pool){.stream = stream, .small = true};
        a->n_pools += 2;
    }
    return p + small;
}

static void put_free(struct mfu_allocator *a, int b)
{
    struct block *block = &a->blocks[b];
    struct pool *pool = &a->pools[block->pool];

    block->born = a->searches[pool->small];
    if (mfu_block_set_insert(&pool->free, block->size, block->address, b) < 0)
        a->broken = true;
}

/* As put_free(), in place of what the pool has at `at`. */
static void move_free(struct mfu_allocator *a, int b, struct mfu_block_place at)
{
    struct block *block = &a->blocks[b];
    struct pool *pool = &a->pools[block->pool];

    block->born = a->searches[pool->small];
    if (mfu_block_set_move(&pool->free, at, block->size, block->address, b) < 0)
        a->broken = true;
}

static void take_free(struct mfu_allocator *a, int b)
{
    mfu_block_set_erase(&a->pools[a->blocks[b].pool].free, a->blocks[b].size, a->blocks[b].address);
}

static void put_hole(struct mfu_allocator *a, int b)
{
    if (mfu_block_set_insert(&a->pools[a->blocks[b].pool].holes, 0, a->blocks[b].address, b) < 0)
        a->broken = true;
}

static void take_hole(struct mfu_allocator *a, int b)
{
    mfu_block_set_erase(&a->pools[a->blocks[b].pool].holes, 0, a->blocks[b].address);
}

/* ---- Blocks and their neighbours ---------------------------------------- */

static bool expandable(const struct mfu_allocator *a, int b)
{
    return a->segments[a->blocks[b].segment].page != 0;
}

static bool is_split(const struct block *block)
{
    return block->previous || block->next;
}

/* Free, or a hole; not waiting for an event. */
static bool idle(const struct mfu_allocator *a, int b)
{
    return b && !a->blocks[b].allocated && a->blocks[b].events == 0;
}

/* Cuts `bytes` off the low end of a block; returns the new block, which takes
 * them.  If the other is in a set its key there is out of date. */
static int cut_low(struct mfu_allocator *a, int b, uint64_t bytes)
{
    int low = new_block(a);
    struct block *rest = &a->blocks[b], *block = &a->blocks[low];

    if (!low)
        return 0;
    *block = (struct block){.address = rest->address, .size = bytes, .previous = rest->previous, .next = b,
                            .segment = rest->segment, .pool = rest->pool, .mapped = rest->mapped};
    if (block->previous)
        a->blocks[block->previous].next = low;
    else
        a->segments[block->segment].first = low;
    rest->previous = low;
    rest->address += bytes;
    rest->size -= bytes;
    return low;
}

/* May block b, which is free but in no set, absorb this neighbour? */
static bool mergeable(const struct mfu_allocator *a, int b, int neighbour)
{
    return idle(a, neighbour) && a->blocks[neighbour].mapped == a->blocks[b].mapped;
}

/* Makes a neighbour, which is in no set any more, part of block b. */
static void absorb(struct mfu_allocator *a, int b, int neighbour)
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
    drop_block(a, neighbour);
}

static void merge(struct mfu_allocator *a, int b, int neighbour)
{
    if (!mergeable(a, b, neighbour))
        return;
    if (a->blocks[b].mapped)
        take_free(a, neighbour);
    else
        take_hole(a, neighbour);
    absorb(a, b, neighbour);
}

/* ---- Giving memory back to the driver ----------------------------------- */

/* cudaFree of a whole segment that is cached. */
static void release_segment(struct mfu_allocator *a, int b)
{
    take_free(a, b);
    a->stats.reserved_bytes -= a->blocks[b].size;
    a->stats.segments--;
    a->stats.cuda_frees++;
    drop_segment(a, b);
}

/* Unmaps the pages that lie wholly within a free block.  What is left of it on
 * either side stays in the cache. */
static void unmap(struct mfu_allocator *a, int b)
{
    uint64_t page = a->segments[a->blocks[b].segment].page;
    uint64_t base = a->segments[a->blocks[b].segment].address;
    uint64_t begin = (a->blocks[b].address - base + page - 1) / page * page + base;
    uint64_t end = (a->blocks[b].address + a->blocks[b].size - base) / page * page + base;
    uint64_t before = begin - a->blocks[b].address;
    uint64_t after = a->blocks[b].address + a->blocks[b].size - end;

    if (begin >= end)
        return;
    take_free(a, b);
    if (before) {
        int low = cut_low(a, b, before);

        if (!low)
            return;
        put_free(a, low);
    }
    if (after) {
        int low = cut_low(a, b, end - begin);

        if (!low)
            return;
        put_free(a, b);
        b = low;
    }
    a->blocks[b].mapped = false;
    merge(a, b, a->blocks[b].previous);
    merge(a, b, a->blocks[b].next);
    a->stats.reserved_bytes -= end - begin;
    a->stats.cuda_frees++;
    if (is_split(&a->blocks[b]))
        put_hole(a, b);
    else
        drop_segment(a, b);
}

/* Gives back every unsplit free block of a pool, and every free page. */
static void release_pool(struct mfu_allocator *a, struct pool *pool)
{
    struct mfu_block_place at;
    uint64_t size = 0, address = 0;

    while (!a->broken && mfu_block_set_seek(&pool->free, size, address, &at)) {
        const struct mfu_block_entry *e = mfu_block_set_entry(&pool->free, at);
        int b = e->block;

        /* What unmap() leaves holds no whole page: seeing it again does no harm. */
        size = e->size;
        address = e->address + 1;
        if (expandable(a, b))
            unmap(a, b);
        else if (!is_split(&a->blocks[b]))
            release_segment(a, b);
    }
}

/* With a largest size to split: gives back unsplittable blocks of this pool,
 * the smallest that would do or else several from the largest down.  True if
 * that came to enough. */
static bool release_unsplittable(struct mfu_allocator *a, int p, uint64_t size)
{
    struct mfu_block_set *set = &a->pools[p].free;
    uint64_t wanted = size < a->unsplittable ? a->unsplittable : size, released = 0;
    struct mfu_block_place at;

    if (a->unsplittable == UINT64_MAX || a->options.expandable_segments)
        return false;
    if (mfu_block_set_seek(set, wanted, 0, &at)) {
        int b = mfu_block_set_entry(set, at)->block;

        /* Pieces so large are rare; PyTorch would pass one to cudaFree and stop. */
        if (is_split(&a->blocks[b]))
            return false;
        release_segment(a, b);
        return true;
    }
    while (released < wanted && mfu_block_set_last(set, &at)) {
        int b = mfu_block_set_entry(set, at)->block;

        if (a->blocks[b].size < a->unsplittable || is_split(&a->blocks[b]))
            break;
        released += a->blocks[b].size;
        release_segment(a, b);
    }
    return released >= wanted;
}

static bool collectable(const struct mfu_allocator *a, int b)
{
    return !is_split(&a->blocks[b]) && !expandable(a, b);
}

/* One round of garbage collection: gives back the blocks of at least this age.
 * With give_back false it only counts blocks and adds up ages. */
static uint64_t collect_round(struct mfu_allocator *a, double oldest, bool give_back,
                              uint64_t *count, uint64_t *ages)
{
    uint64_t reclaimed = 0;

    for (int p = 0; p < a->n_pools; p += 2) {
        struct mfu_block_place at;
        uint64_t size = 0, address = 0;

        while (mfu_block_set_seek(&a->pools[p].free, size, address, &at)) {
            const struct mfu_block_entry *e = mfu_block_set_entry(&a->pools[p].free, at);
            uint64_t age = a->searches[0] - a->blocks[e->block].born;

            size = e->size;
            address = e->address + 1;
            if (!collectable(a, e->block))
                continue;
            if (!give_back) {
                ++*count;
                *ages += age;
            } else if ((double)age >= oldest) {
                --*count;
                *ages -= age;
                reclaimed += size;
                release_segment(a, e->block);
            }
        }
    }
    return reclaimed;
}

/* Before memory is taken from the driver: when more than the threshold is
 * reserved, gives back large unsplit blocks, those of above-average age first,
 * until the excess is gone. */
static void collect(struct mfu_allocator *a)
{
    uint64_t threshold = (uint64_t)(a->options.garbage_collection_threshold * (double)a->capacity);
    uint64_t count = 0, ages = 0, reclaimed = 0, round = 1, excess;

    if (a->stats.reserved_bytes <= threshold)
        return;
    excess = a->stats.reserved_bytes - threshold;
    collect_round(a, 0, false, &count, &ages);
    while (reclaimed < excess && round && count) {
        round = collect_round(a, (double)ages / (double)count, true, &count, &ages);
        reclaimed += round;
    }
}

/* ---- Taking memory from the driver -------------------------------------- */

static void reserved_more(struct mfu_allocator *a, uint64_t bytes)
{
    struct mfu_allocator_stats *s = &a->stats;

    s->reserved_bytes += bytes;
    if (s->peak_reserved_bytes < s->reserved_bytes)
        s->peak_reserved_bytes = s->reserved_bytes;
    s->cuda_mallocs++;
}

/* cudaMalloc; the block is in no set.  0: out of memory. */
static int reserve_segment(struct mfu_allocator *a, int p, uint64_t bytes)
{
    int b;

    if (bytes > a->capacity - a->stats.reserved_bytes)
        return 0;
    b = new_segment(a, p, bytes, 0);
    if (b) {
        a->stats.segments++;
        reserved_more(a, bytes);
    }
    return b;
}

/* Maps pages over the first `bytes` of a hole and puts the block they make
 * into the pool, merged with its neighbours.  False: out of memory. */
static bool map(struct mfu_allocator *a, int hole, uint64_t bytes)
{
    uint64_t page = a->segments[a->blocks[hole].segment].page;

    bytes = (bytes + page - 1) / page * page;
    if (bytes > a->capacity - a->stats.reserved_bytes)
        return false;
    take_hole(a, hole);
    if (bytes < a->blocks[hole].size) {
        /* The low part keeps the number of the hole. */
        int rest = new_block(a);
        struct block *block = &a->blocks[hole];

        if (!rest)
            return false;
        a->blocks[rest] = (struct block){.address = block->address + bytes, .size = block->size - bytes,
                                         .previous = hole, .next = block->next,
                                         .segment = block->segment, .pool = block->pool};
        if (block->next)
            a->blocks[block->next].previous = rest;
        block->next = rest;
        block->size = bytes;
        put_hole(a, rest);
    }
    a->blocks[hole].mapped = true;
    merge(a, hole, a->blocks[hole].previous);
    merge(a, hole, a->blocks[hole].next);
    put_free(a, hole);
    reserved_more(a, bytes);
    return !a->broken;
}

/* Is there room for so many bytes from block b on, in free blocks and holes? */
static bool has_room(const struct mfu_allocator *a, int b, uint64_t bytes)
{
    uint64_t room = 0;

    for (; room < bytes && idle(a, b); b = a->blocks[b].next)
        room += a->blocks[b].size;
    return room >= bytes;
}

/* The lowest hole, or free block before a hole, where so much fits; of a new
 * expandable segment if there is none.  0: our memory is out. */
static int find_room(struct mfu_allocator *a, int p, uint64_t bytes)
{
    struct pool *pool = &a->pools[p];
    uint64_t page = pool->small ? SMALL_SEGMENT : MIDDLE_SEGMENT;
    struct mfu_block_place at;
    int b;

    if (mfu_block_set_seek(&pool->holes, 0, 0, &at))
        do {
            b = mfu_block_set_entry(&pool->holes, at)->block;
            if (idle(a, a->blocks[b].previous))
                b = a->blocks[b].previous;
            if (has_room(a, b, bytes))
                return b;
        } while (mfu_block_set_next(&pool->holes, &at));
    b = new_segment(a, p, (a->range + page - 1) / page * page, page);
    if (b)
        put_hole(a, b);
    return b;
}

static uint64_t least(uint64_t x, uint64_t y)
{
    return x < y ? x : y;
}

/* Makes an expandable segment larger, from the lowest address where `bytes`
 * fit.  What was mapped before memory ran out stays.  0: out of memory. */
static int extend_segment(struct mfu_allocator *a, int p, uint64_t bytes)
{
    int b = find_room(a, p, bytes);

    if (!b || (!a->blocks[b].mapped && !map(a, b, least(a->blocks[b].size, bytes))))
        return 0;
    while (a->blocks[b].size < bytes) {
        int hole = a->blocks[b].next;

        /* Without a hole the range is used up: more than the card was asked for. */
        if (!hole || !map(a, hole, least(a->blocks[hole].size, bytes - a->blocks[b].size)))
            return 0;
        b = hole;
    }
    take_free(a, b);
    return b;
}

static int reserve(struct mfu_allocator *a, int p, uint64_t size, uint64_t segment)
{
    /* A memory fraction is set when garbage is collected; it counts the whole
     * segment even where fewer pages would do. */
    if (a->collects && segment > a->capacity - a->stats.reserved_bytes)
        return 0;
    return a->options.expandable_segments ? extend_segment(a, p, size) : reserve_segment(a, p, segment);
}

/* ---- malloc and free ---------------------------------------------------- */

static uint64_t round_up(const struct mfu_allocator *a, uint64_t bytes)
{
    uint64_t parts = (uint64_t)a->options.roundup_power2_divisions;

    if (bytes < BLOCK_STEP)
        return BLOCK_STEP;
    if (parts > 1 && bytes > BLOCK_STEP * parts) {
        /* To the next of `parts` steps between two powers of two. */
        uint64_t power = (uint64_t)1 << (63 - __builtin_clzll(bytes)), step = power / parts;

        return (bytes + step - 1) / step * step;
    }
    return (bytes + BLOCK_STEP - 1) / BLOCK_STEP * BLOCK_STEP;
}

static uint64_t segment_for(uint64_t size)
{
    if (size <= SMALL_LIMIT)
        return SMALL_SEGMENT;
    if (size < MIDDLE_LIMIT)
        return MIDDLE_SEGMENT;
    return (size + SEGMENT_STEP - 1) / SEGMENT_STEP * SEGMENT_STEP;
}

/* What a free block of an expandable segment could become. */
static uint64_t size_with_hole(const struct mfu_allocator *a, int b)
{
    int next = a->blocks[b].next;

    return a->blocks[b].size + (next && !a->blocks[next].mapped ? a->blocks[next].size : 0);
}

/* Best fit: the smallest cached block that is large enough, and where in the
 * pool it is; 0 if that one may not be used, for no other is looked at. */
static int find_free(struct mfu_allocator *a, int p, uint64_t size, struct mfu_block_place *at)
{
    const struct mfu_block_set *set = &a->pools[p].free;
    int b;

    a->searches[a->pools[p].small] += a->collects;
    if (!mfu_block_set_seek(set, size, 0, at))
        return 0;
    b = mfu_block_set_entry(set, *at)->block;
    if (a->options.expandable_segments) {
        /* A block with a hole after it counts as large as it may grow. */
        struct mfu_block_place next = *at;

        while (mfu_block_set_next(set, &next)) {
            int other = mfu_block_set_entry(set, next)->block;

            if (size_with_hole(a, other) >= size_with_hole(a, b))
                break;
            b = other;
            *at = next;
        }
    }
    if (size < a->unsplittable ? a->blocks[b].size >= a->unsplittable
                               : a->blocks[b].size >= size + OVERSIZE_SLACK)
        return 0;
    return b;
}

static bool should_split(const struct mfu_allocator *a, int b, uint64_t size)
{
    uint64_t rest = a->blocks[b].size - size;

    if (a->pools[a->blocks[b].pool].small || a->options.expandable_segments)
        return rest >= BLOCK_STEP;
    return size < a->unsplittable && rest > SMALL_LIMIT;
}

/* Takes `size` bytes, or all if the rest is too small, of block b, which is at
 * a place in its pool, or fresh from the driver (NULL); leaves the rest there. */
static int take(struct mfu_allocator *a, int b, uint64_t size, const struct mfu_block_place *at)
{
    struct mfu_block_set *set = &a->pools[a->blocks[b].pool].free;
    bool was_split = is_split(&a->blocks[b]), counts = !expandable(a, b);
    uint64_t *inactive = &a->stats.inactive_split_bytes;
    int low;

    if (!should_split(a, b, size)) {
        if (at)
            mfu_block_set_remove(set, *at);
        if (was_split && counts)
            *inactive -= a->blocks[b].size;
        return b;
    }
    low = cut_low(a, b, size);
    if (!low)
        return 0;
    if (at)
        move_free(a, b, *at);
    else
        put_free(a, b);
    if (counts)
        *inactive += was_split ? -size : a->blocks[b].size;
    return low;
}

static void now_allocated(struct mfu_allocator *a, int b, uint64_t bytes)
{
    struct mfu_allocator_stats *s = &a->stats;
    struct block *block = &a->blocks[b];

    block->allocated = true;
    block->requested = bytes;
    s->mallocs++;
    s->blocks++;
    s->allocated_bytes += block->size;
    s->active_bytes += block->size;
    s->requested_bytes += bytes;
    if (s->peak_allocated_bytes < s->allocated_bytes)
        s->peak_allocated_bytes = s->allocated_bytes;
    if (s->peak_active_bytes < s->active_bytes)
        s->peak_active_bytes = s->active_bytes;
    if (s->peak_requested_bytes < s->requested_bytes)
        s->peak_requested_bytes = s->requested_bytes;
}

/* Puts a block that nobody uses any more into the cache, in the place of a
 * free neighbour if it has one. */
static void free_block(struct mfu_allocator *a, int b)
{
    struct mfu_allocator_stats *s = &a->stats;
    struct block *block = &a->blocks[b];
    int left = mergeable(a, b, block->previous) ? block->previous : 0;
    int right = mergeable(a, b, block->next) ? block->next : 0, kept = left ? left : right;
    uint64_t own = block->size;

    s->blocks--;
    s->active_bytes -= own;
    s->requested_bytes -= block->requested;
    block->requested = 0;
    if (!kept) {
        put_free(a, b);
    } else {
        struct mfu_block_place at;

        if (left && right)
            take_free(a, right);
        mfu_block_set_seek(&a->pools[block->pool].free, a->blocks[kept].size, a->blocks[kept].address,
                           &at);
        if (left)
            absorb(a, b, left);
        if (right)
            absorb(a, b, right);
        move_free(a, b, at);
    }
    if (!expandable(a, b))
        s->inactive_split_bytes += is_split(block) ? own : own - block->size;
}

/* Work on `stream`, or on all (any), is done. */
static void finish_events(struct mfu_allocator *a, int stream, bool any)
{
    size_t kept = 0;

    for (size_t i = 0; i < a->n_events; i++) {
        int b = a->events[i].block;

        if (!any && a->events[i].stream != stream)
            a->events[kept++] = a->events[i];
        else if (--a->blocks[b].events == 0)
            free_block(a, b);
    }
    a->n_events = kept;
}

static void release_cached(struct mfu_allocator *a)
{
    finish_events(a, 0, true);
    for (int p = 0; p < a->n_pools && !a->broken; p++)
        release_pool(a, &a->pools[p]);
}

/* No cached block will do: takes one from the driver, if need be after giving
 * others back.  0: out of memory. */
static int obtain(struct mfu_allocator *a, int p, uint64_t size)
{
    uint64_t segment = segment_for(size);
    int b;

    if (a->collects)
        collect(a);
    b = reserve(a, p, size, segment);
    if (!b && !a->broken && release_unsplittable(a, p, size))
        b = reserve(a, p, size, segment);
    if (!b && !a->broken) {
        release_cached(a);
        a->stats.retries++;
        b = a->broken ? 0 : reserve(a, p, size, segment);
    }
    return b;
}

static int out_of_memory(struct mfu_allocator *a, uint64_t tried)
{
    a->stats.ooms++;
    a->failure.tried = tried;
    a->failure.allocated = a->stats.allocated_bytes;
    a->failure.reserved = a->stats.reserved_bytes;
    return -1;
}

int mfu_allocator_malloc(struct mfu_allocator *a, uint64_t bytes, int stream)
{
    struct mfu_block_place at;
    uint64_t size;
    int p, b;

    if (a->broken)
        return -2;
    if (bytes == 0)
        return 0;
    if (bytes >= ONE_EXABYTE)
        return out_of_memory(a, bytes);
    size = round_up(a, bytes);
    p = pool_of(a, stream, size <= SMALL_LIMIT);
    if (p < 0)
        return -2;
    b = find_free(a, p, size, &at);
    if (b) {
        b = take(a, b, size, &at);
    } else {
        b = obtain(a, p, size);
        if (b)
            b = take(a, b, size, NULL);
        else if (!a->broken)
            return out_of_memory(a, segment_for(size));
    }
    if (a->broken)
        return -2;
    now_allocated(a, b, bytes);
    return b;
}

/* Is it the handle of an allocation? */
static bool allocated(const struct mfu_allocator *a, int handle)
{
    return handle > 0 && handle < a->n_blocks && a->blocks[handle].allocated && !a->broken;
}

void mfu_allocator_free(struct mfu_allocator *a, int handle)
{
    struct block *block;

    if (!allocated(a, handle))
        return;
    block = &a->blocks[handle];
    block->allocated = false;
    a->stats.frees++;
    a->stats.allocated_bytes -= block->size;
    if (block->uses) {
        size_t kept = 0;

        block->events = block->uses;
        block->uses = 0;
        for (size_t i = 0; i < a->n_uses; i++)
            if (a->uses[i].block == handle)
                a->events[a->n_events++] = a->uses[i];
            else
                a->uses[kept++] = a->uses[i];
        a->n_uses = kept;
    } else {
        free_block(a, handle);
    }
}

uint64_t mfu_allocator_address(const struct mfu_allocator *a, int handle)
{
    return allocated(a, handle) ? a->blocks[handle].address : 0;
}

void mfu_allocator_record_stream(struct mfu_allocator *a, int handle, int stream)
{
    if (!allocated(a, handle) || a->pools[a->blocks[handle].pool].stream == stream)
        return;
    for (size_t i = 0; a->blocks[handle].uses && i < a->n_uses; i++)
        if (a->uses[i].block == handle && a->uses[i].stream == stream)
            return;
    /* Room for its event too, so that free() cannot fail. */
    if (a->n_uses + a->n_events >= a->room_uses) {
        size_t room = a->room_uses ? 2 * a->room_uses : 16;
        struct use *uses = realloc(a->uses, room * sizeof *uses);
        struct use *events;

        a->uses = uses ? uses : a->uses;
        events = realloc(a->events, room * sizeof *events);
        a->events = events ? events : a->events;
        if (!uses || !events) {
            a->broken = true;
            return;
        }
        a->room_uses = room;
    }
    a->uses[a->n_uses++] = (struct use){handle, stream};
    a->blocks[handle].uses++;
}

void mfu_allocator_event(struct mfu_allocator *a, int stream)
{
    if (!a->broken)
        finish_events(a, stream, false);
}

void mfu_allocator_empty_cache(struct mfu_allocator *a)
{
    if (!a->broken)
        release_cached(a);
}

/* ---- Beginning and end -------------------------------------------------- */

struct mfu_allocator *mfu_allocator_new(const struct mfu_allocator_options *options, struct mfu_error *err)
{
    int parts = options->roundup_power2_divisions;
    double threshold = options->garbage_collection_threshold;
    struct mfu_allocator *a;

    if (parts < 0 || (parts & (parts - 1)) != 0) {
        mfu_fail(err, MFU_EINPUT, "roundup_power2_divisions: %d is not a power of two", parts);
        return NULL;
    }
    if (options->max_split_size_bytes && options->max_split_size_bytes < OVERSIZE_SLACK) {
        mfu_fail(err, MFU_EINPUT, "max_split_size: %llu bytes are less than 20 MiB",
                 (unsigned long long)options->max_split_size_bytes);
        return NULL;
    }
    if (!(threshold >= 0 && threshold < 1)) {
        mfu_fail(err, MFU_EINPUT, "garbage_collection_threshold: %g is not between 0 and 1", threshold);
        return NULL;
    }
    a = calloc(1, sizeof *a);
    if (!a) {
        mfu_fail(err, MFU_ENOMEM, "no memory for the allocator");
        return NULL;
    }
    a->options = *options;
    a->capacity = options->capacity_bytes && options->capacity_bytes < NO_LIMIT ? options->capacity_bytes
                                                                                : NO_LIMIT;
    a->unsplittable = options->max_split_size_bytes ? options->max_split_size_bytes : UINT64_MAX;
    a->range = a->capacity + a->capacity / 8;
    a->collects = threshold > 0 && options->capacity_bytes;
    a->unused_segment = a->first_segment = a->last_segment = -1;
    a->next_address = FIRST_ADDRESS;
    a->card_bytes = a->capacity;
    a->room_blocks = 256;
    a->blocks = malloc((size_t)a->room_blocks * sizeof a->blocks[0]);
    if (!a->blocks) {
        free(a);
        mfu_fail(err, MFU_ENOMEM, "no memory for the allocator");
        return NULL;
    }
    a->blocks[a->n_blocks++] = (struct block){0};       /* stands for none */
    return a;
}

void mfu_allocator_release(struct mfu_allocator *a)
{
    if (!a)
        return;
    for (int p = 0; p < a->n_pools; p++) {
        mfu_block_set_release(&a->pools[p].free);
        mfu_block_set_release(&a->pools[p].holes);
    }
    free(a->pools);
    free(a->segments);
    free(a->blocks);
    free(a->uses);
    free(a->events);
    free(a);
}

void mfu_allocator_reset_peaks(struct mfu_allocator *a)
{
    struct mfu_allocator_stats *s = &a->stats;

    s->peak_allocated_bytes = s->allocated_bytes;
    s->peak_active_bytes = s->active_bytes;
    s->peak_reserved_bytes = s->reserved_bytes;
    s->peak_requested_bytes = s->requested_bytes;
}

const struct mfu_allocator_stats *mfu_allocator_stats(const struct mfu_allocator *a)
{
    return &a->stats;
}

/* ---- The message -------------------------------------------------------- */

void mfu_allocator_describe_card(struct mfu_allocator *a, uint64_t card_bytes, uint64_t process_bytes)
{
    a->card_bytes = card_bytes;
    a->process_bytes = process_bytes;
}

struct bytes_text {
    char text[32];
};

/* As PyTorch writes sizes: two decimals, and the next unit only beyond 1024. */
static struct bytes_text text_of(uint64_t bytes)
{
    struct bytes_text t;

    if (bytes <= KIB)
        snprintf(t.text, sizeof t.text, "%llu bytes", (unsigned long long)bytes);
    else if (bytes <= MIB)
        snprintf(t.text, sizeof t.text, "%.2f KiB", (double)bytes / (double)KIB);
    else if (bytes <= GIB)
        snprintf(t.text, sizeof t.text, "%.2f MiB", (double)bytes / (double)MIB);
    else
        snprintf(t.text, sizeof t.text, "%.2f GiB", (double)bytes / (double)GIB);
    return t;
}

const char *mfu_allocator_oom_message(const struct mfu_allocator *a, char *buf, size_t size)
{
    struct bytes_text tried = text_of(a->failure.tried), total = text_of(a->card_bytes);
    struct bytes_text available = text_of(a->capacity - a->failure.reserved);
    struct bytes_text process = text_of(a->process_bytes + a->failure.reserved);
    struct bytes_text in_use = text_of(a->failure.allocated);
    struct bytes_text unused = text_of(a->failure.reserved - a->failure.allocated);
    struct bytes_text allowed = text_of(a->capacity);

    if (size == 0)
        return buf;
    buf[0] = '\0';
    if (a->failure.tried >= ONE_EXABYTE)
        snprintf(buf, size, "CUDA out of memory. Tried to allocate more than 1EB memory.");
    else if (a->failure.tried)
        snprintf(buf, size,
                 "CUDA out of memory. Tried to allocate %s. GPU 0 has a total capacity of %s of which %s is "
                 "free. Including non-PyTorch memory, this process has %s memory in use. %s%s"
                 "Of the allocated memory %s is allocated by PyTorch, and %s is reserved by PyTorch but "
                 "unallocated. If reserved but unallocated memory is large try setting "
                 "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See "
                 "documentation for Memory Management  "
                 "(https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)",
                 tried.text, total.text, available.text, process.text, a->collects ? allowed.text : "",
                 a->collects ? " allowed; " : "", in_use.text, unused.text);
    return buf;
}

/* ---- Looking at it ------------------------------------------------------ */

void mfu_allocator_each(const struct mfu_allocator *a, mfu_block_fn *fn, void *context)
{
    int number = 0;

    for (int s = a->first_segment; s >= 0; s = a->segments[s].next)
        for (int b = a->segments[s].first; b; ) {
            uint64_t bytes = 0;
            int end = b;

            /* One run of mapped blocks: all of a segment, or what lies between holes. */
            for (; end && a->blocks[end].mapped; end = a->blocks[end].next)
                bytes += a->blocks[end].size;
            if (end == b) {
                b = a->blocks[b].next;
                continue;
            }
            for (; b != end; b = a->blocks[b].next) {
                const struct block *block = &a->blocks[b];

                fn(context, &(struct mfu_block_view){
                    .segment = number, .segment_bytes = bytes, .address = block->address,
                    .size = block->size, .requested = block->requested,
                    .stream = a->pools[block->pool].stream, .handle = block->allocated ? b : -1,
                    .active = block->allocated || block->events > 0, .small = a->pools[block->pool].small,
                });
            }
            number++;
        }
}

/* What the blocks add up to. */
struct sums {
    uint64_t reserved, allocated, active, requested, inactive_split;
    long segments, blocks;
    size_t free, holes, uses, events;
};

static bool in_set(const struct mfu_block_set *set, uint64_t size, uint64_t address, int b)
{
    struct mfu_block_place at;

    return mfu_block_set_seek(set, size, address, &at) && mfu_block_set_entry(set, at)->block == b &&
           mfu_block_set_entry(set, at)->size == size && mfu_block_set_entry(set, at)->address == address;
}

static const char *check_block(const struct mfu_allocator *a, int b, struct sums *sum)
{
    const struct block *block = &a->blocks[b];
    const struct segment *segment = &a->segments[block->segment];
    const struct pool *pool = &a->pools[block->pool];
    bool active = block->allocated || block->events > 0;

    if (block->size == 0 || block->size % BLOCK_STEP || block->address % BLOCK_STEP)
        return "a block is not a multiple of 512 bytes";
    if (!block->mapped && (!segment->page || block->size % segment->page ||
                           (block->address - segment->address) % segment->page))
        return "a hole is not made of whole pages";
    if (!block->mapped && active)
        return "a hole is in use";
    if (active && (block->requested == 0 || block->requested > block->size))
        return "a block is smaller than what was requested";
    if (!active && block->requested)
        return "a free block is requested";
    if (block->uses && !block->allocated)
        return "a free block has stream uses";
    if (!active && idle(a, block->next) && a->blocks[block->next].mapped == block->mapped)
        return "two free neighbours are not merged";
    if (!active && block->mapped && !in_set(&pool->free, block->size, block->address, b))
        return "a free block is not in its pool";
    if (!block->mapped && !in_set(&pool->holes, 0, block->address, b))
        return "a hole is not in its pool";

    sum->uses += (size_t)block->uses;
    sum->events += (size_t)block->events;
    sum->blocks += active;
    sum->free += block->mapped && !active;
    sum->holes += !block->mapped;
    sum->reserved += block->mapped ? block->size : 0;
    sum->allocated += block->allocated ? block->size : 0;
    sum->active += active ? block->size : 0;
    sum->requested += block->requested;
    sum->inactive_split += !active && !segment->page && is_split(block) ? block->size : 0;
    return NULL;
}

static const char *check_segment(const struct mfu_allocator *a, int s, struct sums *sum)
{
    const struct segment *segment = &a->segments[s];
    uint64_t end = segment->address;
    int previous = 0;

    for (int b = segment->first; b; previous = b, b = a->blocks[b].next) {
        const struct block *block = &a->blocks[b];
        const char *wrong;

        if (block->address != end)
            return "the blocks of a segment leave a gap or overlap";
        if (block->segment != s || block->previous != previous ||
            block->pool != a->blocks[segment->first].pool)
            return "a block is not linked to its segment";
        end += block->size;
        wrong = check_block(a, b, sum);
        if (wrong)
            return wrong;
    }
    if (end != segment->address + segment->size)
        return "the blocks of a segment are not as large as it";
    sum->segments += !segment->page;
    return NULL;
}

static const char *check_order(const struct mfu_block_set *set)
{
    struct mfu_block_place at;
    struct mfu_block_entry last = {0};
    size_t n = 0;

    if (mfu_block_set_seek(set, 0, 0, &at))
        do {
            const struct mfu_block_entry *e = mfu_block_set_entry(set, at);

            if (n++ && (e->size < last.size || (e->size == last.size && e->address <= last.address)))
                return "a pool is not in order";
            last = *e;
        } while (mfu_block_set_next(set, &at));
    return n == set->count ? NULL : "a pool does not hold as many blocks as it says";
}

const char *mfu_allocator_check(const struct mfu_allocator *a)
{
    const struct mfu_allocator_stats *s = &a->stats;
    struct sums sum = {0};
    size_t n_free = 0, n_holes = 0;
    uint64_t end = 0;

    if (a->broken)
        return "memory was out";
    for (int i = a->first_segment, previous = -1; i >= 0; previous = i, i = a->segments[i].next) {
        const char *wrong = check_segment(a, i, &sum);

        if (wrong)
            return wrong;
        if (a->segments[i].previous != previous || a->segments[i].address < end)
            return "segments are not in order of address, or overlap";
        end = a->segments[i].address + a->segments[i].size;
    }
    for (int p = 0; p < a->n_pools; p++) {
        const char *wrong = check_order(&a->pools[p].free);

        wrong = wrong ? wrong : check_order(&a->pools[p].holes);
        if (wrong)
            return wrong;
        n_free += a->pools[p].free.count;
        n_holes += a->pools[p].holes.count;
    }
    if (n_free != sum.free || n_holes != sum.holes)
        return "a pool holds something that is not a free block";
    if (sum.uses != a->n_uses || sum.events != a->n_events)
        return "stream uses or events are lost";
    if (sum.reserved != s->reserved_bytes || sum.allocated != s->allocated_bytes ||
        sum.active != s->active_bytes || sum.requested != s->requested_bytes ||
        sum.inactive_split != s->inactive_split_bytes || sum.segments != s->segments ||
        sum.blocks != s->blocks)
        return "a counter is not the sum of what it counts";
    if (s->reserved_bytes < s->active_bytes || s->active_bytes < s->allocated_bytes ||
        s->requested_bytes > s->active_bytes)
        return "reserved >= active >= allocated does not hold";
    if (s->peak_reserved_bytes < s->reserved_bytes || s->peak_active_bytes < s->active_bytes ||
        s->peak_allocated_bytes < s->allocated_bytes || s->peak_requested_bytes < s->requested_bytes)
        return "a peak is below the present value";
    if (s->reserved_bytes > a->capacity)
        return "more is reserved than the card has";
    return NULL;
}
