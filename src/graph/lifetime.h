/*
 * lifetime.h - memory over one training step, read from a program's tensors.
 *
 * A tensor is allocated by the launch that first writes it and freed after the
 * last launch that needs it.  Repeated segments are not unrolled: memory there
 * grows or falls by the same amount with each repetition, so that the highest
 * level is in the first or the last of them.
 */
#ifndef MFU_LIFETIME_H
#define MFU_LIFETIME_H

#include "graph/program.h"

struct mfu_peak_memory {
    double bytes;                 /* allocated at the highest moment */
    double parts[MFU_PART_COUNT]; /* sums to bytes */
    int segment, launch;          /* when: -1 before the first kernel */
    double repetition;            /* of that segment, from 0 */
    double forward_peak_bytes;    /* highest level in forward, */
    double optimizer_peak_bytes;  /* in the optimizer's phase */
    double end_bytes;             /* level after the micro-step */
};

/* The highest moment of a steady micro-step or optimizer step, or of the former alone.  0, or -1 when out of
 * memory. */
int mfu_lifetime_peak(const struct mfu_program *, bool of_passes, struct mfu_peak_memory *);

/* One tensor (or several equal ones) alive at that moment. */
struct mfu_alive {
    const char *name_section, *name_op, *name_suffix; /* the launch that made it */
    enum mfu_phase phase;
    enum mfu_part part;
    double bytes, copies;
};

/* For qsort(): an order of struct mfu_alive, what takes most first. */
int mfu_alive_larger(const void *, const void *);

/* The largest tensors alive at the peak, at most `max`, with those whose copies are negative: what equal layers hand on is born by
 * one name and dies by another, so that only together they are right.  Returns how many, -1 when out
 * of memory. */
int mfu_lifetime_alive(const struct mfu_program *, const struct mfu_peak_memory *, struct mfu_alive *, size_t max);

/* Bytes that forward of one micro-step leaves for its backward: born in forward, needed
 * later; without buffers of collectives and copies of weights that serve all micro-steps. */
struct mfu_saved {
    double layers, before, behind; /* in the layers of a rank, and before and behind all layers of the model */
};
struct mfu_saved mfu_saved_by_place(const struct mfu_program *);
double mfu_saved_bytes(const struct mfu_program *);

#endif
