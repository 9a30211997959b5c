/*
 * allocator.h - PyTorch's caching allocator, block by block.
 *
 * Replays allocations and frees as the CUDA caching allocator serves them
 * (c10/cuda/CUDACachingAllocator.cpp of PyTorch 2.6): sizes rounded to 512
 * bytes, small and large pools, segments of 2 MiB, 20 MiB or the size itself,
 * best fit, split, merge, one pool per stream, retry after giving cached
 * segments back.  Knows neither architecture nor time.  The driver is a number:
 * it hands out any segment that fits into what is left of the capacity, each
 * at a higher address than the one before.
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
    uint64_t capacity_bytes; /* that cudaMalloc can hand out; 0: no limit (1 PiB) */
    bool expandable_segments;
    uint64_t max_split_size_bytes; /* 0: unlimited; else at least 20 MiB */
    int roundup_power2_divisions;  /* 0: off; else a power of two */
    /* 0: off; else below 1: a fraction of the capacity, which then counts as set by
     * set_per_process_memory_fraction(); without that PyTorch ignores it. */
    double garbage_collection_threshold;
};

/* Counters as torch.cuda.memory_stats() names them: mallocs and frees are
 * allocation.all.allocated and .freed, cuda_mallocs and cuda_frees
 * num_device_alloc and num_device_free (expandable segments: maps and unmaps),
 * blocks is active.all.current. As there, pages of expandable segments are
 * neither segments nor inactive_split. */
struct mfu_allocator_stats {
    uint64_t allocated_bytes, active_bytes, reserved_bytes, requested_bytes;
    uint64_t peak_allocated_bytes, peak_active_bytes, peak_reserved_bytes, peak_requested_bytes;
    uint64_t inactive_split_bytes; /* free pieces of segments that are in use */
    long segments, blocks;
    long mallocs, frees, cuda_mallocs, cuda_frees, retries, ooms;
};

/* NULL: out of memory, or an option is none PyTorch takes. */
struct mfu_allocator *mfu_allocator_new(const struct mfu_allocator_options *, struct mfu_error *err);
void mfu_allocator_release(struct mfu_allocator *);

/* A handle >= 0, or -1 when out of memory on the simulated card (ooms + 1), or
 * -2 when our own is, now and from then on.  A request of 0 bytes gets 0, a
 * handle without a block.  Handles are used again once they are freed.  What is
 * no handle, or freed already, may be freed: nothing happens. */
int mfu_allocator_malloc(struct mfu_allocator *, uint64_t bytes, int stream);
void mfu_allocator_free(struct mfu_allocator *, int handle);

/* Where a live block lies in the simulated address space; 0 if it has none. */
uint64_t mfu_allocator_address(const struct mfu_allocator *, int handle);

/* record_stream: the block was also used on `stream`; freed while such uses are
 * pending it stays active until mfu_allocator_event says that all work queued on
 * the stream so far is done.  PyTorch notices at the next malloc, we at once.
 * Running out of memory and empty_cache wait for all streams. */
void mfu_allocator_record_stream(struct mfu_allocator *, int handle, int stream);
void mfu_allocator_event(struct mfu_allocator *, int stream);

void mfu_allocator_empty_cache(struct mfu_allocator *);
void mfu_allocator_reset_peaks(struct mfu_allocator *);
const struct mfu_allocator_stats *mfu_allocator_stats(const struct mfu_allocator *);

/* What the last failed malloc would print: "CUDA out of memory. Tried to
 * allocate 20.00 MiB. GPU 0 has a total capacity of ..." into buf; "" if none
 * failed.  As in PyTorch the size named is that of the segment. 768 bytes do. */
const char *mfu_allocator_oom_message(const struct mfu_allocator *, char *buf, size_t size);

/* For the message only: memory of the whole card, and what this process takes
 * of it besides (context, kernels, NCCL).  Else capacity_bytes and 0. */
void mfu_allocator_describe_card(struct mfu_allocator *, uint64_t card_bytes, uint64_t process_bytes);

/* Walks over segments and their blocks in order of address.  Of an expandable
 * segment every stretch of mapped pages counts as one, as in memory_snapshot(). */
struct mfu_block_view {
    int segment;                                      /* counted from 0 by address */
    uint64_t segment_bytes, address, size, requested; /* requested 0: free */
    int stream, handle;                               /* handle -1: free, or freed and waiting */
    bool active, small;                               /* active: allocated, or waiting for an event */
};
typedef void mfu_block_fn(void *context, const struct mfu_block_view *);
void mfu_allocator_each(const struct mfu_allocator *, mfu_block_fn *, void *context);

/* Checks every invariant (blocks tile their segments, no overlap, reserved >=
 * active >= allocated, counters equal sums, free blocks are merged); NULL if
 * all hold, else what does not.  For tests. */
const char *mfu_allocator_check(const struct mfu_allocator *);

#endif
