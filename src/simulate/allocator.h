/*
 * allocator.h - PyTorch's caching allocator, block by block.
 *
 * Replays allocations and frees as the CUDA caching allocator serves them
 * (c10/cuda/CUDACachingAllocator.cpp): sizes rounded to 512 bytes, small and
 * large pools, segments of 2 MiB, 20 MiB or the size itself, best fit, split,
 * merge, one pool per stream, retry after giving cached segments back.  Knows
 * neither architecture nor time.
 *
 *     struct mfu_allocator *a = mfu_allocator_new(&options, &err);
 *     int block = mfu_allocator_malloc(a, bytes, 0);
 *     mfu_allocator_free(a, block);
 */
#ifndef MFU_ALLOCATOR_H
#define MFU_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mfu_allocator;
struct mfu_error;

/* PYTORCH_CUDA_ALLOC_CONF, and the card. Zeros are PyTorch's defaults. */
struct mfu_allocator_options {
    uint64_t capacity_bytes;            /* that cudaMalloc can hand out; 0: no limit */
    bool expandable_segments;
    uint64_t max_split_size_bytes;      /* 0: unlimited */
    int roundup_power2_divisions;       /* 0: off */
    double garbage_collection_threshold;        /* 0: off */
};

/* Counters as torch.cuda.memory_stats() names them. */
struct mfu_allocator_stats {
    uint64_t allocated_bytes, active_bytes, reserved_bytes, requested_bytes;
    uint64_t peak_allocated_bytes, peak_active_bytes, peak_reserved_bytes, peak_requested_bytes;
    uint64_t inactive_split_bytes;      /* free pieces of segments that are in use */
    long segments, blocks;
    long mallocs, frees, cuda_mallocs, cuda_frees, retries, ooms;
};

struct mfu_allocator *mfu_allocator_new(const struct mfu_allocator_options *, struct mfu_error *err);
void mfu_allocator_release(struct mfu_allocator *);

/* A handle >= 0, or -1 when memory is out on the simulated card (ooms + 1), or
 * -2 when our own is.  A request of 0 bytes gets a handle without a block. */
int mfu_allocator_malloc(struct mfu_allocator *, uint64_t bytes, int stream);
void mfu_allocator_free(struct mfu_allocator *, int handle);

/* record_stream: the block was also used on `stream`; freed while such uses are
 * pending it stays active until mfu_allocator_event says the work is done. */
void mfu_allocator_record_stream(struct mfu_allocator *, int handle, int stream);
void mfu_allocator_event(struct mfu_allocator *, int stream);

void mfu_allocator_empty_cache(struct mfu_allocator *);
void mfu_allocator_reset_peaks(struct mfu_allocator *);
const struct mfu_allocator_stats *mfu_allocator_stats(const struct mfu_allocator *);

/* What the last failed malloc would print: "CUDA out of memory. Tried to
 * allocate 20.00 MiB. GPU 0 has a total capacity of ..." into buf. */
const char *mfu_allocator_oom_message(const struct mfu_allocator *, char *buf, size_t size);

/* Walks over segments and their blocks in order of address. */
struct mfu_block_view {
    int segment;                        /* number */
    uint64_t segment_bytes, address, size, requested;
    int stream, handle;                 /* handle -1: free */
    bool active, small;
};
typedef void mfu_block_fn(void *context, const struct mfu_block_view *);
void mfu_allocator_each(const struct mfu_allocator *, mfu_block_fn *, void *context);

/* Checks every invariant (blocks tile their segments, no overlap, reserved >=
 * active >= allocated, counters equal sums, free blocks are merged); NULL if
 * all hold, else what does not.  For tests. */
const char *mfu_allocator_check(const struct mfu_allocator *);

#endif
