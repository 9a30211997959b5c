/*
 * law.h - how the time of a kernel's arithmetic and its launch follow from its
 * shape: a row for each enum mfu_law.
 */
#ifndef MFU_LAW_H
#define MFU_LAW_H

#include "cost/cost.h"
#include "kernel/grid.h"

struct mfu_gpu;

struct mfu_law_row {
    /* Seconds of its arithmetic; `blocks` and `waves` of the price where the law
     * works them out. */
    double (*compute_s)(const struct mfu_machine *, const struct mfu_kernel *, struct mfu_price *);
    /* Its thread blocks; the tiling, of a product. */
    struct mfu_grid (*grid)(const struct mfu_gpu *, const struct mfu_machine *, const struct mfu_kernel *,
                            struct mfu_tiling *);
    /* The coefficient that most of its time hangs on, at this price. */
    enum mfu_coefficient (*rule)(const struct mfu_kernel *, const struct mfu_price *);
    bool tells_blocks; /* compute_s sets them, not grid */
    bool throttles;    /* keeps the tensor cores so busy that clocks fall */
    bool tensor;       /* runs on tensor cores where the GPU has them for its arithmetic */
};
extern const struct mfu_law_row mfu_laws[MFU_LAW_COUNT];

static inline const struct mfu_law_row *mfu_law_of(const struct mfu_kernel *k)
{
    return &mfu_laws[mfu_kinds[k->kind].law];
}

#endif
