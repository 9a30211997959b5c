/*
 * runtime.h - what a runtime makes of the launches of a step.
 */
#ifndef MFU_RUNTIME_H
#define MFU_RUNTIME_H

#include "scenario/runtime.h"

struct mfu_builder;

/* Merges launches as the runtime's compiler does (fuse.c). */
int mfu_fuse(struct mfu_builder *);

#endif
