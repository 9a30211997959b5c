/*
 * occupancy.h - how blocks of threads fill the SMs of a GPU, and what hardware
 * counters would read meanwhile.
 *
 * An SM holds as many blocks at once as its warps, block slots, registers and
 * shared memory allow.  What does not fit at once comes in waves; in the last
 * one some SMs have nothing to do.
 */
#ifndef MFU_OCCUPANCY_H
#define MFU_OCCUPANCY_H

#include "cost/cost.h"
#include "kernel/grid.h"

struct mfu_gpu;

struct mfu_occupancy {
    double by_warps, by_blocks, by_registers, by_shared; /* blocks per SM */
    double resident;                                     /* the least of them; 0: a block does not fit, NAN:
                                   the GPU's limits are unknown */
    double warps, most_warps;                            /* of a block; of an SM */
    double theoretical;                                  /* warps resident on a full SM over the most */
    const char *limit;                                   /* "registers", "shared memory", "warps", "blocks" */
};

/* Cells that a GPU leaves open are those of its compute capability. */
void mfu_occupancy(const struct mfu_gpu *, const struct mfu_grid *, struct mfu_occupancy *);

/* `blocks` blocks of equal length on `sms` SMs that hold `resident` each. */
struct mfu_waves {
    double waves;      /* blocks / (sms * resident) */
    double rounds;     /* the same, rounded up */
    double sm_active;  /* SMs with a block, averaged over the time */
    double efficiency; /* blocks / (rounds * sms * resident) */
};
struct mfu_waves mfu_waves(double blocks, double sms, double resident);

/* What the tools would read while one kernel runs, averaged over its time
 * (between its start and that of the next, when they follow one another). */
struct mfu_reading {
    struct mfu_grid grid;
    struct mfu_occupancy limit;
    struct mfu_tiling tiling; /* of a GEMM */
    double waves, rounds;
    double sm_active, sm_occupancy, tensor_active, dram_active;
    double sm_efficiency, achieved_occupancy; /* as Kineto estimates them */
    double dram_bytes;                        /* without what L2 keeps */
    bool tensor;                              /* it uses the tensor cores */
};

/* A price whose `blocks` are known overrules the grid. */
void mfu_read_kernel(const struct mfu_gpu *, const struct mfu_machine *, const struct mfu_kernel *,
                     const struct mfu_price *, struct mfu_reading *);

/* The same for blocks that hold their SMs for `time_s` and do nothing else. */
void mfu_read_blocks(const struct mfu_gpu *, const struct mfu_grid *, double resident, double sms,
                     struct mfu_reading *);

#endif
