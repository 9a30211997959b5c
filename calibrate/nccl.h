/*
 * nccl.h - the part of NCCL that is measured, loaded at run time.
 *
 * The declarations are those of nccl.h since NCCL 2.10; a function returns 0
 * where all is well.
 */
#ifndef MFU_NCCL_H
#define MFU_NCCL_H

#include <cuda_runtime.h>
#include <stddef.h>

enum { MFU_NCCL_FLOAT64 = 8, MFU_NCCL_BF16 = 9 }; /* ncclDataType_t */
enum { MFU_NCCL_SUM = 0, MFU_NCCL_MAX = 2 };      /* ncclRedOp_t */

struct mfu_nccl_id {
    char internal[128];
};

typedef void *mfu_nccl_comm;

struct mfu_nccl {
    void *library;
    int (*new_id)(struct mfu_nccl_id *);
    int (*init_rank)(mfu_nccl_comm *, int ranks, struct mfu_nccl_id, int rank);
    int (*init_all)(mfu_nccl_comm *, int gpus, const int *devices);
    int (*destroy)(mfu_nccl_comm);
    int (*start)(void);
    int (*end)(void);
    int (*all_reduce)(const void *, void *, size_t, int type, int op, mfu_nccl_comm, cudaStream_t);
    int (*all_gather)(const void *, void *, size_t, int type, mfu_nccl_comm, cudaStream_t);
    int (*reduce_scatter)(const void *, void *, size_t, int type, int op, mfu_nccl_comm, cudaStream_t);
};

/* -1 where libnccl.so.2 or one of the functions is missing. */
int mfu_nccl_open(struct mfu_nccl *);
void mfu_nccl_close(struct mfu_nccl *);

#endif
