/*
 * optimizer.h - gradient clipping and the update of the weights.
 */
#ifndef MFU_OPTIMIZER_H
#define MFU_OPTIMIZER_H

#include <stdbool.h>

struct mfu_builder;

/* Bytes of the optimizer's state (momenta ...), without master weights. */
double mfu_optimizer_state_bytes(const struct mfu_builder *);

/* Bytes that the CPU reads and writes where it runs the step. */
double mfu_host_update_bytes(const struct mfu_builder *);

/* Appends the kernels of one optimizer step; none where backward has made it. */
void mfu_optimizer_emit(struct mfu_builder *);

/* Whether each weight is updated within backward, as PyTorch's hooks behind a gradient's accumulation do
 * (torchtune, training/memory.py: register_optim_in_bwd_hooks). */
bool mfu_optimizer_in_backward(const struct mfu_builder *);

/* Appends the update of `elements` parameters, whose gradient is `view` and ends with it. */
void mfu_optimizer_emit_one(struct mfu_builder *, double elements, int view);

/* Bytes of a number of the running mean of the weights, which is as the weights are; how many a rank has. */
double mfu_mean_bytes(const struct mfu_builder *);
double mfu_mean_params(const struct mfu_builder *);

#endif
