/*
 * offload.h - activations that wait for backward in the host's memory.
 */
#ifndef MFU_OFFLOAD_H
#define MFU_OFFLOAD_H

struct mfu_builder;

/* Puts copies to the host behind what layers save, and copies back before what needs it; lifetimes follow.  -1 when
 * out of memory. */
int mfu_offload_activations(struct mfu_builder *);

#endif
