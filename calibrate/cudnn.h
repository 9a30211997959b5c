/*
 * cudnn.h - runs a graph of operations through cuDNN, loaded at run time.
 *
 * The program neither links cuDNN nor needs its headers: where the library is
 * missing it still starts and says so.
 */
#ifndef MFU_CUDNN_H
#define MFU_CUDNN_H

#include <cuda_runtime.h>
#include <stddef.h>

#include "attention_graph.h"

#ifdef __cplusplus
extern "C" {
#endif

struct mfu_cudnn;
struct mfu_cudnn_plan;

/* NULL and a sentence in `why` where cuDNN is missing or too old. */
struct mfu_cudnn *mfu_cudnn_open(char *why, size_t size);
void mfu_cudnn_close(struct mfu_cudnn *);

/* 91900 for 9.19.0 */
int mfu_cudnn_version(const struct mfu_cudnn *);

/* Whether this cuDNN takes the graph at all, without asking for kernels and a
 * GPU: 0 or -1. */
int mfu_cudnn_accepts(struct mfu_cudnn *, const struct mfu_graph *);

/* Makes plans for the current GPU and runs them on this stream: 0 or -1. */
int mfu_cudnn_start(struct mfu_cudnn *, cudaStream_t);

/* Makes plans for a GPU that need not be here; such plans do not run.  `gpu` is
 * its properties as JSON, which cuDNN takes since 9.8: 0 or -1. */
int mfu_cudnn_start_for(struct mfu_cudnn *, const char *gpu);

/* Has cuDNN choose and compile kernels for a graph; NULL if there are none. */
struct mfu_cudnn_plan *mfu_cudnn_plan(struct mfu_cudnn *, const struct mfu_graph *);
void mfu_cudnn_forget(struct mfu_cudnn_plan *);

/* Bytes of workspace. */
size_t mfu_cudnn_workspace(const struct mfu_cudnn_plan *);

/* Memory for the plan's tensors, `data` by their numbers: the number of this
 * set, from 0, or -1. */
int mfu_cudnn_bind(struct mfu_cudnn_plan *, void *const *data, void *workspace);

/* Launches it on a set of buffers: 0 or -1. */
int mfu_cudnn_launch(struct mfu_cudnn_plan *, int set);

/* What the last function that failed has to say. */
const char *mfu_cudnn_error(const struct mfu_cudnn *);

#define MFU_CUDNN_SETS 16 /* most that can be bound to one plan */

#ifdef __cplusplus
}
#endif
#endif
