/*
 * pricing.h - every launch of a program in seconds, one after the other: what
 * L2 still holds and how far clocks fall depends on the neighbours.
 */
#ifndef MFU_PRICING_H
#define MFU_PRICING_H

#include <stdint.h>

#include "cost/cost.h"
#include "graph/program.h"

/* A kernel that was priced before: layers, and neighbouring plans, run the same. */
struct mfu_known_price {
    struct mfu_kernel kernel;
    double inside_bytes; /* of its traffic, in L2 */
    struct mfu_price price;
    uint64_t hash;
    unsigned of; /* the machine's number */
};

struct mfu_pricing {
    struct mfu_price *prices; /* of the program's launches; owned */
    double *touched;          /* scratch: when each tensor was last in L2 */
    struct mfu_known_price *known;
    int cap_prices, cap_touched;
    struct mfu_machine machine; /* that `known` holds for, where `of` is `number` */
    unsigned number, turn;
};

/* `pricing` was zeroed or used before.  0, or -1 when out of memory. */
int mfu_price_program(const struct mfu_machine *, const struct mfu_program *, struct mfu_pricing *);
void mfu_pricing_release(struct mfu_pricing *);

/* How often a launch of a segment happens in one optimizer step. */
double mfu_segment_times(const struct mfu_program *, const struct mfu_segment *);

/* A GEMM or fused attention: what MFU counts. */
bool mfu_is_product(const struct mfu_launch *);

#endif
