/*
 * allocator.c - PyTorch's caching allocator, block by block.
 *
 * Follows DeviceCachingAllocator of PyTorch 2.6 decision by decision; private
 * pools of CUDA graphs are left out.  The handle of an allocation is the number
 * of its block (allocator_state.h).
 */
#include <stdio.h>
#include <stdlib.h>

#include "simulate/allocator.h"
#include "base/list.h"
#include "base/error.h"
#include "simulate/allocator_state.h"

#define KIB ((uint64_t)1 << 10)
#define GIB ((uint64_t)1 << 30)

/* Bytes, as PyTorch's c10/cuda/CUDACachingAllocator.cpp has them. */
#define SMALL_LIMIT MIB           /* up to here the small pool serves */
#define MIDDLE_LIMIT (10 * MIB)   /* below it the large pool takes a middle segment and cuts it */
#define SEGMENT_STEP (2 * MIB)    /* larger segments are multiples of it */
#define OVERSIZE_SLACK (20 * MIB) /* how much too large an unsplittable block may be */

#define ONE_EXABYTE ((uint64_t)1 << 60) /* refused before anything is looked at */
#define NO_LIMIT ((uint64_t)1 << 50)    /* a card without limit: sums stay far from overflow */
#define FIRST_ADDRESS SEGMENT_STEP

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
static inline int find_free(struct mfu_allocator *a, int p, uint64_t size, struct mfu_block_place *at)
{
    const struct mfu_block_set *set = &a->pools[p].free;
    int b;

    if (a->collects)
        a->searches[a->pools[p].small]++;
    *at = mfu_block_set_seek(set, size, 0);
    if (!at->bin)
        return 0;
    b = mfu_block_set_entry(set, *at)->block;
    if (a->options.expandable_segments) {
        /* A block with a hole after it counts as large as it may grow. */
        struct mfu_block_place next = *at;

        while ((next = mfu_block_set_next(set, next)).bin) {
            int other = mfu_block_set_entry(set, next)->block;

            if (size_with_hole(a, other) >= size_with_hole(a, b))
                break;
            b = other;
            *at = next;
        }
    }
    if (size < a->unsplittable ? a->blocks[b].size >= a->unsplittable : a->blocks[b].size >= size + OVERSIZE_SLACK)
        return 0;
    return b;
}

static bool should_split(const struct mfu_allocator *a, const struct pool *pool, int b, uint64_t size)
{
    uint64_t rest = a->blocks[b].size - size;

    if (pool->small || a->options.expandable_segments)
        return rest >= BLOCK_STEP;
    return size < a->unsplittable && rest > SMALL_LIMIT;
}

/* Takes `size` bytes, or all if the rest is too small, of block b, which is at
 * a place in its pool, or fresh from the driver (bin 0); leaves the rest there. */
static inline int take(struct mfu_allocator *a, struct pool *pool, int b, uint64_t size, struct mfu_block_place at)
{
    int low;

    if (at.bin)
        mfu_block_set_remove(&pool->free, at);
    if (!should_split(a, pool, b, size))
        return b;
    low = mfu_block_cut_low(a, b, size);
    if (low)
        mfu_block_put_free(a, pool, b);
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
    s->requested_bytes += bytes;
    if (s->peak_allocated_bytes < s->allocated_bytes)
        s->peak_allocated_bytes = s->allocated_bytes;
    if (s->peak_requested_bytes < s->requested_bytes)
        s->peak_requested_bytes = s->requested_bytes;
}

/* Puts a block that is no longer used into the cache, with its free neighbours. */
static void free_block(struct mfu_allocator *a, int b)
{
    struct mfu_allocator_stats *s = &a->stats;
    struct block *block = &a->blocks[b];
    struct pool *pool = mfu_block_pool(a, b); /* of its neighbours, too */
    int left = mfu_block_mergeable(a, b, block->previous) ? block->previous : 0;
    int right = mfu_block_mergeable(a, b, block->next) ? block->next : 0;

    s->blocks--;
    s->requested_bytes -= block->requested;
    if (left) {
        mfu_block_take_free(a, pool, left);
        mfu_block_absorb(a, b, left);
    }
    if (right) {
        mfu_block_take_free(a, pool, right);
        mfu_block_absorb(a, b, right);
    }
    mfu_block_put_free(a, pool, b);
}

static void release_cached(struct mfu_allocator *a)
{
    for (int p = 0; p < a->n_pools && !a->broken; p++)
        mfu_driver_release_pool(a, &a->pools[p]);
}

/* No cached block will do: takes one from the driver, if need be after giving
 * others back.  0: out of memory. */
static int obtain(struct mfu_allocator *a, int p, uint64_t size)
{
    uint64_t segment = segment_for(size);
    int b;

    if (a->collects)
        mfu_driver_collect(a);
    b = mfu_driver_reserve(a, p, size, segment);
    if (!b && !a->broken && mfu_driver_release_unsplittable(a, p, size))
        b = mfu_driver_reserve(a, p, size, segment);
    if (!b && !a->broken) {
        release_cached(a);
        a->stats.retries++;
        b = a->broken ? 0 : mfu_driver_reserve(a, p, size, segment);
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
    p = a->n_pools > 0 && a->pools[0].stream == stream ? size <= SMALL_LIMIT
                                                       : mfu_pool_of(a, stream, size <= SMALL_LIMIT);
    if (p < 0)
        return -2;
    b = find_free(a, p, size, &at);
    if (!b) {
        at.bin = 0;
        b = obtain(a, p, size);
        if (!b && !a->broken)
            return out_of_memory(a, segment_for(size));
    }
    b = b ? take(a, &a->pools[p], b, size, at) : 0;
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
    free_block(a, handle);
}

bool mfu_allocator_lost(const struct mfu_allocator *a)
{
    return a->broken;
}

uint64_t mfu_allocator_address(const struct mfu_allocator *a, int handle)
{
    return allocated(a, handle) ? a->blocks[handle].address : 0;
}

void mfu_allocator_empty_cache(struct mfu_allocator *a)
{
    if (!a->broken)
        release_cached(a);
}

/* ---- Beginning and end -------------------------------------------------- */

int mfu_allocator_restart(struct mfu_allocator *a, const struct mfu_allocator_options *options, struct mfu_error *err)
{
    int parts = options->roundup_power2_divisions;
    double threshold = options->garbage_collection_threshold;
    const struct mfu_allocator old = *a;

    if (parts < 0 || (parts & (parts - 1)) != 0)
        return mfu_fail(err, MFU_EINPUT, "roundup_power2_divisions: %d is not a power of two", parts);
    if (options->max_split_size_bytes && options->max_split_size_bytes < OVERSIZE_SLACK)
        return mfu_fail(err, MFU_EINPUT, "max_split_size: %llu bytes are less than 20 MiB",
                        (unsigned long long)options->max_split_size_bytes);
    if (!(threshold >= 0 && threshold < 1))
        return mfu_fail(err, MFU_EINPUT, "garbage_collection_threshold: %g is not between 0 and 1", threshold);
    *a = (struct mfu_allocator){.options = *options,
                                .blocks = old.blocks,
                                .room_blocks = old.room_blocks,
                                .segments = old.segments,
                                .room_segments = old.room_segments,
                                .pools = old.pools,
                                .n_pools = old.n_pools,
                                .room_pools = old.room_pools};
    for (int p = 0; p < a->n_pools; p++) {
        mfu_block_set_clear(&a->pools[p].free);
        mfu_block_set_clear(&a->pools[p].holes);
    }
    a->capacity = options->capacity_bytes && options->capacity_bytes < NO_LIMIT ? options->capacity_bytes : NO_LIMIT;
    a->unsplittable = options->max_split_size_bytes ? options->max_split_size_bytes : UINT64_MAX;
    a->range = a->capacity + a->capacity / 8;
    a->collects = threshold > 0 && options->capacity_bytes;
    a->unused_segment = a->first_segment = a->last_segment = -1;
    a->next_address = FIRST_ADDRESS;
    a->card_bytes = a->capacity;
    if (!MFU_ROOM(a->blocks, 1, a->room_blocks))
        return mfu_fail(err, MFU_ENOMEM, "no memory for the allocator");
    a->blocks[a->n_blocks++] = (struct block){0}; /* stands for none */
    return 0;
}

struct mfu_allocator *mfu_allocator_new(const struct mfu_allocator_options *options, struct mfu_error *err)
{
    struct mfu_allocator *a = calloc(1, sizeof *a);

    if (!a)
        mfu_fail(err, MFU_ENOMEM, "no memory for the allocator");
    else if (mfu_allocator_restart(a, options, err) == 0)
        return a;
    mfu_allocator_release(a);
    return NULL;
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
    free(a);
}

void mfu_allocator_reset_peaks(struct mfu_allocator *a)
{
    struct mfu_allocator_stats *s = &a->stats;

    s->peak_allocated_bytes = s->allocated_bytes;
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

uint64_t mfu_allocator_wanted_bytes(const struct mfu_allocator *a)
{
    return a->failure.tried ? a->failure.reserved + a->failure.tried : 0;
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
