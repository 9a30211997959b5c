/*
 * allocator_options.h - what PyTorch's caching allocator is told, and what it counts.
 */
#ifndef MFU_ALLOCATOR_OPTIONS_H
#define MFU_ALLOCATOR_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
    uint64_t allocated_bytes, reserved_bytes, requested_bytes;
    uint64_t peak_allocated_bytes, peak_reserved_bytes, peak_requested_bytes;
    long segments, blocks;
    long mallocs, frees, cuda_mallocs, cuda_frees, retries, ooms;
};

#endif
