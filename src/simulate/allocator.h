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

#include "simulate/allocator_options.h"

struct mfu_allocator;
struct mfu_error;

/* NULL: out of memory, or an option is none PyTorch takes. */
struct mfu_allocator *mfu_allocator_new(const struct mfu_allocator_options *, struct mfu_error *err);
/* Begins anew, in the memory that it has; 0, or -1 as _new fails. */
int mfu_allocator_restart(struct mfu_allocator *, const struct mfu_allocator_options *, struct mfu_error *err);
void mfu_allocator_release(struct mfu_allocator *);

/* A handle >= 0, or -1 when out of memory on the simulated card (ooms + 1), or
 * -2 when our own is, now and from then on.  A request of 0 bytes gets 0, a
 * handle without a block.  Handles are used again once they are freed.  What is
 * no handle, or freed already, may be freed: nothing happens. */
int mfu_allocator_malloc(struct mfu_allocator *, uint64_t bytes, int stream);
void mfu_allocator_free(struct mfu_allocator *, int handle);

/* Whether memory of this program ran out since _new: what it says is not to be trusted.  _malloc tells at once, as -2. */
bool mfu_allocator_lost(const struct mfu_allocator *);

/* Where a live block lies in the simulated address space; 0 if it has none. */
uint64_t mfu_allocator_address(const struct mfu_allocator *, int handle);

void mfu_allocator_empty_cache(struct mfu_allocator *);
void mfu_allocator_reset_peaks(struct mfu_allocator *);
const struct mfu_allocator_stats *mfu_allocator_stats(const struct mfu_allocator *);

/* What the last failed malloc would print: "CUDA out of memory. Tried to
 * allocate 20.00 MiB. GPU 0 has a total capacity of ..." into buf; "" if none
 * failed.  As in PyTorch the size named is that of the segment. 768 bytes do. */
/* What it would have had to reserve for the request that failed: what it held then,
 * and the segment that there was no room for; 0: none has failed. */
uint64_t mfu_allocator_wanted_bytes(const struct mfu_allocator *);

const char *mfu_allocator_oom_message(const struct mfu_allocator *, char *buf, size_t size);

/* For the message only: memory of the whole card, and what this process takes
 * of it besides (context, kernels, NCCL).  Else capacity_bytes and 0. */
void mfu_allocator_describe_card(struct mfu_allocator *, uint64_t card_bytes, uint64_t process_bytes);

/* Walks over segments and their blocks in order of address.  Of an expandable
 * segment every stretch of mapped pages counts as one, as in memory_snapshot(). */
struct mfu_block_view {
    int segment;                                      /* counted from 0 by address */
    uint64_t segment_bytes, address, size, requested; /* requested 0: free */
    int stream, handle;                               /* handle -1: free */
    bool active, small;                               /* active: allocated */
};
typedef void mfu_block_fn(void *context, const struct mfu_block_view *);
void mfu_allocator_each(const struct mfu_allocator *, mfu_block_fn *, void *context);

#endif
