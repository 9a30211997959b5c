/*
 * optimizer.h - gradient clipping and the update of the weights.
 */
#ifndef MFU_OPTIMIZER_H
#define MFU_OPTIMIZER_H

struct mfu_builder;

/* Bytes of the optimizer's state (momenta ...), without master weights. */
double mfu_optimizer_state_bytes(const struct mfu_builder *);

/* Bytes that the CPU reads and writes where it runs the step. */
double mfu_host_update_bytes(const struct mfu_builder *);

/* Appends the kernels of one optimizer step. */
void mfu_optimizer_emit(struct mfu_builder *);

#endif
