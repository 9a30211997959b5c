/*
 * allocator_blocks.c - blocks of segments, their neighbours, and the pools of
 * free ones.
 */
#include <stdlib.h>

#include "simulate/allocator.h"
#include "base/list.h"
#include "simulate/allocator_state.h"

#define LAST_ADDRESS ((uint64_t)1 << 63)

int mfu_block_new(struct mfu_allocator *a)
{
    int b = a->unused_block;

    if (b) {
        a->unused_block = a->blocks[b].next;
        return b;
    }
    if (!MFU_ROOM(a->blocks, a->n_blocks + 1, a->room_blocks)) {
        a->broken = true;
        return 0;
    }
    return a->n_blocks++;
}

void mfu_block_drop(struct mfu_allocator *a, int b)
{
    a->blocks[b].next = a->unused_block;
    a->unused_block = b;
}

int mfu_segment_new(struct mfu_allocator *a, int pool, uint64_t size, uint64_t page)
{
    int s = a->unused_segment, b;

    if (size > LAST_ADDRESS - a->next_address)
        return 0;
    if (s < 0) {
        if (!MFU_ROOM(a->segments, a->n_segments + 1, a->room_segments)) {
            a->broken = true;
            return 0;
        }
        s = a->n_segments++;
    } else {
        a->unused_segment = a->segments[s].next;
    }
    b = mfu_block_new(a);
    if (!b)
        return 0;
    a->segments[s] = (struct segment){
        .address = a->next_address, .size = size, .page = page, .first = b, .previous = a->last_segment, .next = -1};
    if (a->last_segment >= 0)
        a->segments[a->last_segment].next = s;
    else
        a->first_segment = s;
    a->last_segment = s;
    a->blocks[b] =
        (struct block){.address = a->next_address, .size = size, .segment = s, .pool = pool, .mapped = !page};
    a->next_address += size;
    return b;
}

void mfu_segment_drop(struct mfu_allocator *a, int b)
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
    mfu_block_drop(a, b);
}

int mfu_pool_of(struct mfu_allocator *a, int stream, bool small)
{
    int p = 0;

    while (p < a->n_pools && a->pools[p].stream != stream)
        p += 2;
    if (p == a->n_pools) {
        if (!MFU_ROOM(a->pools, p + 2, a->room_pools)) {
            a->broken = true;
            return -1;
        }
        a->pools[p] = (struct pool){.stream = stream};
        a->pools[p + 1] = (struct pool){.stream = stream, .small = true};
        a->n_pools += 2;
    }
    return p + small;
}

/* Notes where a block went. */
static void noted(struct mfu_allocator *a, int b, int bin)
{
    a->blocks[b].bin = bin;
    a->broken = a->broken || !bin;
}

void mfu_block_put_free(struct mfu_allocator *a, int b)
{
    struct block *block = &a->blocks[b];
    struct pool *pool = &a->pools[block->pool];

    block->born = a->searches[pool->small];
    noted(a, b, mfu_block_set_insert(&pool->free, block->size, block->address, b));
}

void mfu_block_move_free(struct mfu_allocator *a, int b, struct mfu_block_place at)
{
    struct block *block = &a->blocks[b];
    struct pool *pool = &a->pools[block->pool];

    block->born = a->searches[pool->small];
    noted(a, b, mfu_block_set_move(&pool->free, at, block->size, block->address, b));
}

static void take_out(struct mfu_block_set *set, struct block *block)
{
    if (block->bin)
        mfu_block_set_remove(set, mfu_block_set_find(set, block->bin, block->address));
    block->bin = 0;
}

void mfu_block_take_free(struct mfu_allocator *a, int b)
{
    take_out(&a->pools[a->blocks[b].pool].free, &a->blocks[b]);
}

void mfu_block_put_hole(struct mfu_allocator *a, int b)
{
    noted(a, b, mfu_block_set_insert(&a->pools[a->blocks[b].pool].holes, 0, a->blocks[b].address, b));
}

void mfu_block_take_hole(struct mfu_allocator *a, int b)
{
    take_out(&a->pools[a->blocks[b].pool].holes, &a->blocks[b]);
}

/* ---- neighbours ---------------------------------------------------------- */

int mfu_block_cut_low(struct mfu_allocator *a, int b, uint64_t bytes)
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

bool mfu_block_mergeable(const struct mfu_allocator *a, int b, int neighbour)
{
    return mfu_block_idle(a, neighbour) && a->blocks[neighbour].mapped == a->blocks[b].mapped;
}

void mfu_block_absorb(struct mfu_allocator *a, int b, int neighbour)
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

void mfu_block_merge(struct mfu_allocator *a, int b, int neighbour)
{
    if (!mfu_block_mergeable(a, b, neighbour))
        return;
    if (a->blocks[b].mapped)
        mfu_block_take_free(a, neighbour);
    else
        mfu_block_take_hole(a, neighbour);
    mfu_block_absorb(a, b, neighbour);
}

void mfu_allocator_each(const struct mfu_allocator *a, mfu_block_fn *fn, void *context)
{
    int number = 0;

    for (int s = a->first_segment; s >= 0; s = a->segments[s].next)
        for (int b = a->segments[s].first; b;) {
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

                fn(context,
                   &(struct mfu_block_view){
                       .segment = number,
                       .segment_bytes = bytes,
                       .address = block->address,
                       .size = block->size,
                       .requested = block->requested,
                       .stream = a->pools[block->pool].stream,
                       .handle = block->allocated ? b : -1,
                       .active = block->allocated,
                       .small = a->pools[block->pool].small,
                   });
            }
            number++;
        }
}
