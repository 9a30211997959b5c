/*
 * allocator_blocks.c - blocks of segments, their neighbours, and the pools of
 * free ones.
 */

#include "simulate/allocator.h"
#include "base/list.h"
#include "simulate/allocator_state.h"

#define LAST_ADDRESS ((uint64_t)1 << 63)

int mfu_block_more(struct mfu_allocator *a)
{
    if (!MFU_ROOM(a->blocks, a->n_blocks + 1, a->room_blocks)) {
        a->broken = true;
        return 0;
    }
    return a->n_blocks++;
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

void mfu_block_merge(struct mfu_allocator *a, int b, int neighbour)
{
    if (!mfu_block_mergeable(a, b, neighbour))
        return;
    if (a->blocks[b].mapped)
        mfu_block_take_free(a, mfu_block_pool(a, neighbour), neighbour);
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
                       .requested = block->allocated ? block->requested : 0,
                       .stream = a->pools[block->pool].stream,
                       .handle = block->allocated ? b : -1,
                       .active = block->allocated,
                       .small = a->pools[block->pool].small,
                   });
            }
            number++;
        }
}
