/*
 * allocator_driver.c - what the caching allocator takes from the CUDA driver and
 * gives back to it: whole segments (cudaMalloc, cudaFree) or, where segments are
 * expandable, pages.
 */
#include "simulate/allocator.h"
#include "simulate/allocator_state.h"

/* ---- Giving memory back to the driver ----------------------------------- */

/* cudaFree of a whole segment that is cached. */
static void release_segment(struct mfu_allocator *a, int b)
{
    mfu_block_take_free(a, mfu_block_pool(a, b), b);
    a->stats.reserved_bytes -= a->blocks[b].size;
    a->stats.segments--;
    a->stats.cuda_frees++;
    mfu_segment_drop(a, b);
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
    mfu_block_take_free(a, mfu_block_pool(a, b), b);
    if (before) {
        int low = mfu_block_cut_low(a, b, before);

        if (!low)
            return;
        mfu_block_put_free(a, mfu_block_pool(a, low), low);
    }
    if (after) {
        int low = mfu_block_cut_low(a, b, end - begin);

        if (!low)
            return;
        mfu_block_put_free(a, mfu_block_pool(a, b), b);
        b = low;
    }
    a->blocks[b].mapped = false;
    mfu_block_merge(a, b, a->blocks[b].previous);
    mfu_block_merge(a, b, a->blocks[b].next);
    a->stats.reserved_bytes -= end - begin;
    a->stats.cuda_frees++;
    if (mfu_block_is_split(&a->blocks[b]))
        mfu_block_put_hole(a, b);
    else
        mfu_segment_drop(a, b);
}

void mfu_driver_release_pool(struct mfu_allocator *a, struct pool *pool)
{
    struct mfu_block_place at;
    uint64_t size = 0, address = 0;

    while (!a->broken && (at = mfu_block_set_seek(&pool->free, size, address)).bin) {
        const struct mfu_block_entry *e = mfu_block_set_entry(&pool->free, at);
        int b = e->block;

        /* What unmap() leaves holds no whole page: seeing it again does no harm. */
        size = e->size;
        address = e->address + 1;
        if (mfu_block_expandable(a, b))
            unmap(a, b);
        else if (!mfu_block_is_split(&a->blocks[b]))
            release_segment(a, b);
    }
}

bool mfu_driver_release_unsplittable(struct mfu_allocator *a, int p, uint64_t size)
{
    struct mfu_block_set *set = &a->pools[p].free;
    uint64_t wanted = size < a->unsplittable ? a->unsplittable : size, released = 0;
    struct mfu_block_place at;

    if (a->unsplittable == UINT64_MAX || a->options.expandable_segments)
        return false;
    at = mfu_block_set_seek(set, wanted, 0);
    if (at.bin) {
        int b = mfu_block_set_entry(set, at)->block;

        /* Pieces so large are rare; PyTorch would pass one to cudaFree and stop. */
        if (mfu_block_is_split(&a->blocks[b]))
            return false;
        release_segment(a, b);
        return true;
    }
    while (released < wanted && (at = mfu_block_set_last(set)).bin) {
        int b = mfu_block_set_entry(set, at)->block;

        if (a->blocks[b].size < a->unsplittable || mfu_block_is_split(&a->blocks[b]))
            break;
        released += a->blocks[b].size;
        release_segment(a, b);
    }
    return released >= wanted;
}

/* One round of garbage collection: gives back the blocks of at least this age.
 * With give_back false it only counts blocks and adds up ages. */
static uint64_t collect_round(struct mfu_allocator *a, double oldest, bool give_back, uint64_t *count, uint64_t *ages)
{
    uint64_t reclaimed = 0;

    for (int p = 0; p < a->n_pools; p += 2) {
        struct mfu_block_place at;
        uint64_t size = 0, address = 0;

        while ((at = mfu_block_set_seek(&a->pools[p].free, size, address)).bin) {
            const struct mfu_block_entry *e = mfu_block_set_entry(&a->pools[p].free, at);
            uint64_t age = a->searches[0] - a->blocks[e->block].born;

            size = e->size;
            address = e->address + 1;
            if (mfu_block_is_split(&a->blocks[e->block]) || mfu_block_expandable(a, e->block))
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

void mfu_driver_collect(struct mfu_allocator *a)
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
    b = mfu_segment_new(a, p, bytes, 0);
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
    mfu_block_take_hole(a, hole);
    if (bytes < a->blocks[hole].size) {
        /* The low part keeps the number of the hole. */
        int rest = mfu_block_new(a);
        struct block *block = &a->blocks[hole];

        if (!rest)
            return false;
        a->blocks[rest] = (struct block){.address = block->address + bytes,
                                         .size = block->size - bytes,
                                         .previous = hole,
                                         .next = block->next,
                                         .segment = block->segment,
                                         .pool = block->pool};
        if (block->next)
            a->blocks[block->next].previous = rest;
        block->next = rest;
        block->size = bytes;
        mfu_block_put_hole(a, rest);
    }
    a->blocks[hole].mapped = true;
    mfu_block_merge(a, hole, a->blocks[hole].previous);
    mfu_block_merge(a, hole, a->blocks[hole].next);
    mfu_block_put_free(a, mfu_block_pool(a, hole), hole);
    reserved_more(a, bytes);
    return !a->broken;
}

/* Is there room for so many bytes from block b on, in free blocks and holes? */
static bool has_room(const struct mfu_allocator *a, int b, uint64_t bytes)
{
    uint64_t room = 0;

    for (; room < bytes && mfu_block_idle(a, b); b = a->blocks[b].next)
        room += a->blocks[b].size;
    return room >= bytes;
}

/* The lowest hole, or free block before a hole, where so much fits; of a new
 * expandable segment if there is none.  0: our out of memory. */
static int find_room(struct mfu_allocator *a, int p, uint64_t bytes)
{
    struct pool *pool = &a->pools[p];
    uint64_t page = pool->small ? SMALL_SEGMENT : MIDDLE_SEGMENT;
    struct mfu_block_place at = mfu_block_set_seek(&pool->holes, 0, 0);
    int b;

    for (; at.bin; at = mfu_block_set_next(&pool->holes, at)) {
        b = mfu_block_set_entry(&pool->holes, at)->block;
        if (mfu_block_idle(a, a->blocks[b].previous))
            b = a->blocks[b].previous;
        if (has_room(a, b, bytes))
            return b;
    }
    b = mfu_segment_new(a, p, (a->range + page - 1) / page * page, page);
    if (b)
        mfu_block_put_hole(a, b);
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
    mfu_block_take_free(a, mfu_block_pool(a, b), b);
    return b;
}

int mfu_driver_reserve(struct mfu_allocator *a, int p, uint64_t size, uint64_t segment)
{
    /* A memory fraction is set when garbage is collected; it counts the whole
     * segment even where fewer pages would do. */
    if (a->collects && segment > a->capacity - a->stats.reserved_bytes)
        return 0;
    return a->options.expandable_segments ? extend_segment(a, p, size) : reserve_segment(a, p, segment);
}
