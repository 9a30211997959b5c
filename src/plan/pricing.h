/*
 * pricing.h - every launch of a program in seconds, one after the other: what
 * L2 still holds and how far clocks fall depends on the neighbours.
 */
#ifndef MFU_PRICING_H
#define MFU_PRICING_H

#include <stdint.h>

#include "cost/cost.h"
#include "graph/copies.h"
#include "graph/program.h"

/* A kernel that was priced before: layers, and neighbouring plans, run the same. */
struct mfu_known_price {
    struct mfu_kernel kernel;
    double inside_bytes; /* of its traffic, in L2 */
    struct mfu_price price;
    uint64_t hash;
    unsigned short older; /* one behind the number of the one before in its list; 0: none */
    int run, at;          /* when it was last met, in a folded program; its number in `prices` then */
};

/* What a launch found in L2, and what it does there. */
struct mfu_l2_use {
    double hot_bytes;      /* of its inputs */
    double dirty_bytes;    /* when it starts */
    double kept_bytes;     /* of its results, if there is room; then */
    double absorbed_bytes; /* as many as stay there, */
    double flushed_bytes;  /* and of the dirty ones so many can be written back meanwhile */
};

#define MFU_KNOWN_BITS 10 /* as many lists, and as many kernels at most: more than a program has different ones */

/* Kernels that were priced on a machine. */
struct mfu_known_prices {
    struct mfu_touch *touched; /* scratch of a pricing: when each tensor was last in L2; owned */
    int cap_touched;
    struct mfu_machine machine;
    int n, run;                                       /* run: pricings of folded programs so far */
    unsigned short newest[1 << MFU_KNOWN_BITS];       /* in lists by their hash; */
    struct mfu_known_price list[1 << MFU_KNOWN_BITS]; /* close together */
};

/* A launch that has it, and what of its traffic is in L2. */
struct mfu_shared_price {
    const struct mfu_launch *example;
    double inside_bytes;
};

struct mfu_pricing {
    struct mfu_price *prices;        /* of the program's launches, of a folded one's kernels those that differ; owned */
    struct mfu_l2_use *uses;         /* by them; of a folded program none; owned */
    int *which;                      /* of a folded program: the price of each launch; owned */
    struct mfu_shared_price *shared; /* and of each price; owned */
    int n_prices;                    /* of a folded program */
    bool folded;
    double least, most; /* which inputs are in L2 is the same for shares (accum - 1) / accum above the one, up to the
                           other; not known of a folded program */
    struct mfu_known_prices *known; /* owned; one that knows more may take its place between two pricings */
    struct mfu_unfolding unfolding; /* scratch: tensors of a segment */
    int cap_prices, cap_uses, cap_which, cap_shared;
};

/* The price of launch `i` of the whole program. */
static inline const struct mfu_price *mfu_price_at(const struct mfu_pricing *p, int i)
{
    return &p->prices[p->folded ? p->which[i] : i];
}

/* The same, to be changed: of a collective, or of all kernels that have it. */
static inline struct mfu_price *mfu_price_of(struct mfu_pricing *p, int i)
{
    return &p->prices[p->folded ? p->which[i] : i];
}

/* `pricing` was zeroed or used before.  0, or -1 when out of memory. */
int mfu_price_program(const struct mfu_machine *, const struct mfu_program *, const struct mfu_expert_waits *,
                      struct mfu_pricing *);
/* In two steps: before clocks fall, and the fall. */
int mfu_price_before_clocks(const struct mfu_machine *, const struct mfu_program *, struct mfu_pricing *);

/* The share of the time in which tensor cores draw their full power, of so many seconds
 * of theirs and of others while clocks hold. */
double mfu_tensor_duty(const struct mfu_machine *, double tensor_s, double other_s);
/* How far a kernel fills tensor cores: fused attention as far as it reaches the rate of a product. */
double mfu_tensor_share(const struct mfu_machine *, const struct mfu_launch *, const struct mfu_price *);
/* Whether clocks that fall slow it down. */
bool mfu_throttles(const struct mfu_machine *, const struct mfu_launch *);

/* From what a launch finds in L2 to what it does there. */
static inline void mfu_l2_absorb(double reach_bytes, const struct mfu_kernel *k, struct mfu_l2_use *use)
{
    double room = reach_bytes - use->dirty_bytes;

    use->kept_bytes = k->cold ? 0 : k->write_bytes;
    use->absorbed_bytes = k->cold ? 0 : use->kept_bytes < room ? use->kept_bytes : room;
}

/* Dirty lines go to DRAM when others need their place; under a kernel that is
 * bound by arithmetic that costs no time. */
static inline void mfu_l2_flush(double bandwidth_bytes_s, const struct mfu_kernel *k, const struct mfu_price *price,
                                struct mfu_l2_use *use)
{
    double moved = k->read_bytes + k->write_bytes;
    double spare = price->time_s > price->memory_s ? (price->time_s - price->memory_s) * bandwidth_bytes_s : 0;

    use->flushed_bytes = moved < spare ? moved : spare;
}

/* Bytes that are dirty behind it. */
static inline double mfu_l2_dirty_behind(const struct mfu_l2_use *use)
{
    double dirty = use->dirty_bytes + use->absorbed_bytes;

    return dirty - (dirty < use->flushed_bytes ? dirty : use->flushed_bytes);
}

/* Gives back all but prices, and what is known of others. */
void mfu_pricing_forget(struct mfu_pricing *);
void mfu_pricing_release(struct mfu_pricing *);

/* How often a launch of a segment happens in one optimizer step. */
double mfu_segment_times(const struct mfu_program *, const struct mfu_segment *);

/* A GEMM or fused attention: what MFU counts. */
bool mfu_is_product(const struct mfu_launch *);

#endif
