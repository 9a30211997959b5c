/* allocator_check.h - every invariant of the allocator's blocks: they tile their segments, reserved >=
 * allocated, counters equal sums, free blocks are merged. */
#ifndef MFU_TEST_ALLOCATOR_CHECK_H
#define MFU_TEST_ALLOCATOR_CHECK_H

#include "simulate/allocator.h"
#include "simulate/allocator_state.h"

/* What the blocks add up to. */
struct sums {
    uint64_t reserved, allocated, requested;
    long segments, blocks;
    size_t free, holes;
};

static bool in_set(const struct mfu_block_set *set, uint64_t size, uint64_t address, int b)
{
    struct mfu_block_place at = mfu_block_set_seek(set, size, address);

    return at.bin && mfu_block_set_entry(set, at)->block == b && mfu_block_set_entry(set, at)->size == size
        && mfu_block_set_entry(set, at)->address == address;
}

static const char *check_block(const struct mfu_allocator *a, int b, struct sums *sum)
{
    const struct block *block = &a->blocks[b];
    const struct segment *segment = &a->segments[block->segment];
    const struct pool *pool = &a->pools[block->pool];
    bool active = block->allocated;

    if (block->size == 0 || block->size % BLOCK_STEP || block->address % BLOCK_STEP)
        return "a block is not a multiple of 512 bytes";
    if (!block->mapped
        && (!segment->page || block->size % segment->page || (block->address - segment->address) % segment->page))
        return "a hole is not made of whole pages";
    if (!block->mapped && active)
        return "a hole is in use";
    if (active && (block->requested == 0 || block->requested > block->size))
        return "a block is smaller than what was requested";
    if (!active && mfu_block_idle(a, block->next) && a->blocks[block->next].mapped == block->mapped)
        return "two free neighbours are not merged";
    if (!active && block->mapped && !in_set(&pool->free, block->size, block->address, b))
        return "a free block is not in its pool";
    if (!block->mapped && !in_set(&pool->holes, 0, block->address, b))
        return "a hole is not in its pool";

    sum->blocks += active;
    sum->free += block->mapped && !active;
    sum->holes += !block->mapped;
    sum->reserved += block->mapped ? block->size : 0;
    sum->allocated += block->allocated ? block->size : 0;
    sum->requested += active ? block->requested : 0;
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
        if (block->segment != s || block->previous != previous || block->pool != a->blocks[segment->first].pool)
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

/* How many are in a set; -1: they are out of order. */
static long ordered(const struct mfu_block_set *set)
{
    struct mfu_block_place at = mfu_block_set_seek(set, 0, 0);
    uint64_t size = 0, address = 0;
    long n = 0;

    for (; at.bin; at = mfu_block_set_next(set, at)) {
        const struct mfu_block_entry *e = mfu_block_set_entry(set, at);
        uint64_t next = e->size;

        if (n++ && (next < size || (next == size && e->address <= address)))
            return -1;
        size = next;
        address = e->address;
    }
    return n;
}

/* NULL if all of them hold, else what does not. */
static const char *allocator_check(const struct mfu_allocator *a)
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
        long n = ordered(&a->pools[p].free), holes = ordered(&a->pools[p].holes);

        if (n < 0 || holes < 0)
            return "a pool is not in order";
        n_free += (size_t)n;
        n_holes += (size_t)holes;
    }
    if (n_free != sum.free || n_holes != sum.holes)
        return "a pool holds something that is not a free block";
    if (sum.reserved != s->reserved_bytes || sum.allocated != s->allocated_bytes || sum.requested != s->requested_bytes
        || sum.segments != s->segments || sum.blocks != s->blocks)
        return "a counter is not the sum of what it counts";
    if (s->reserved_bytes < s->allocated_bytes || s->requested_bytes > s->allocated_bytes)
        return "reserved >= allocated >= requested does not hold";
    if (s->peak_reserved_bytes < s->reserved_bytes || s->peak_allocated_bytes < s->allocated_bytes
        || s->peak_requested_bytes < s->requested_bytes)
        return "a peak is below the present value";
    if (s->reserved_bytes > a->capacity)
        return "more is reserved than the card has";
    return NULL;
}

/* Free pieces of segments that are in use; as in PyTorch pages of expandable segments are none. */
static inline uint64_t inactive_split(const struct mfu_allocator *a)
{
    uint64_t bytes = 0;

    for (int s = a->first_segment; s >= 0; s = a->segments[s].next)
        for (int b = a->segments[s].first; b && !a->segments[s].page; b = a->blocks[b].next)
            bytes += !a->blocks[b].allocated && mfu_block_is_split(&a->blocks[b]) ? a->blocks[b].size : 0;
    return bytes;
}

#endif
