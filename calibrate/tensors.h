/*
 * tensors.h - a model's tensors, for probes that walk over all of them: one
 * kernel for each, or one for all.
 *
 * For one kernel over all, the elements are cut into chunks; block number i
 * works on chunk i.
 */
#ifndef MFU_TENSORS_H
#define MFU_TENSORS_H

#include "bench.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MFU_CHUNK 65536 /* elements; as PyTorch's multi-tensor kernels */

enum { MFU_TENSOR_ARRAYS = 4 };

struct mfu_tensor {
    float *array[MFU_TENSOR_ARRAYS]; /* such as parameters, gradients, two moments */
    size_t n;                        /* elements, a multiple of 4 */
};

struct mfu_chunk {
    int tensor;
    int number; /* in that tensor */
};

struct mfu_tensors {
    int count;
    struct mfu_tensor *tensor; /* on the host */
    struct mfu_tensor *tensor_device;
    struct mfu_chunk *chunk_device;
    int chunks;
};

/* `count` tensors of `n` elements with that many arrays each, in the room,
 * filled with random numbers; array 3 is zero, since a second moment must not
 * be negative.  0, -1, or MFU_SKIPPED if they do not fit. */
int mfu_tensors_make(struct mfu_bench *, struct mfu_tensors *, int count, size_t n, int arrays);

/* The same for tensors whose arrays lie on the device already. */
int mfu_tensors_cut(struct mfu_bench *, struct mfu_tensors *);

/* Frees what is on the host. */
void mfu_tensors_free(struct mfu_tensors *);

/* Many small tensors, a model's, few large ones: same table for all probes. */
struct mfu_tensors_size {
    int count;
    size_t n;
    bool quick;
};

/* How many are measured, and which is number `i`. */
size_t mfu_tensors_points(const struct mfu_bench *);
const struct mfu_tensors_size *mfu_tensors_point(const struct mfu_bench *, size_t i);

#ifdef __cplusplus
}
#endif
#endif
