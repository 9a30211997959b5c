/*
 * accumulation.h - steps of one program with any number of micro-steps, from sums.
 *
 * Of the launches only those that add to gradients, or happen once a step, follow the
 * number of micro-steps; the others keep their prices as long as L2 takes as many of their
 * results, and products as long as clocks do not fall.  So a program is added up once, at
 * MFU_ACCUMULATED micro-steps: what is fixed; the products that clocks slow down, equal
 * ones together; and the launches that vary.  For another number of micro-steps these are
 * priced anew, and whatever behind them finds less or more room in L2.
 */
#ifndef MFU_ACCUMULATION_H
#define MFU_ACCUMULATION_H

#include "plan/pricing.h"
#include "plan/sums.h"
#include "simulate/overlap.h"

#define MFU_ACCUMULATED 2

/* How often something is launched: in a micro-step, or in the optimizer. */
struct mfu_often {
    double micro, once;
};

/* Equal products: as the first one of them. */
struct mfu_equal_launches {
    int first;
    struct mfu_often times;
    double time_s; /* of one, at the last number */
};

/* A launch that varies. */
struct mfu_varying_launch {
    int launch, like; /* like: of the list, the first that is equal */
    int price;        /* of that one: the last of its prices at the last number; -1: none yet */
    struct mfu_often times;
    double hot_bytes; /* of its inputs, in L2 */
};

/* Equal launches at another price than they were learned at: some that vary, or some behind them
 * that find another room in L2. */
struct mfu_priced_launches {
    int launch, like; /* the first; which of those that vary, or of all, it is like */
    bool varies;
    struct mfu_often all;
    struct mfu_price price;
    double absorbed_bytes, flushed_bytes; /* as in struct mfu_l2_use */
    double time_s;                        /* with clocks as they fall */
};

struct mfu_accumulation {
    enum { MFU_ACCUMULATION_UNKNOWN, MFU_ACCUMULATION_HOLDS, MFU_ACCUMULATION_FAILS } state;
    bool rules;                  /* sums say by which coefficients kernels are ruled, too */
    struct mfu_sums often, once; /* what does not vary: of a micro-step, of the optimizer */
    struct mfu_equal_launches *throttled;
    struct mfu_varying_launch *varying;
    struct mfu_priced_launches *priced; /* scratch: at the last number */
    int n_throttled, n_varying, n_priced, cap_throttled, cap_varying, cap_priced;
    bool stretches, cut; /* then, too, in stretches once they are cut: */
    struct mfu_launch_seconds {
        double base_s; /* each time that it happens, as learned */
        int like;      /* of the products that clocks slow down, or -1; */
        int priced;    /* of those that are priced anew, or -1 */
    } * seconds;       /* of each launch */
    int cap_seconds;
    int *alike, *firsts; /* of each launch that changed once: the first that is equal, or -1; those firsts */
    int n_firsts, cap_alike, cap_firsts;
    double reach_bytes;        /* of L2 */
    struct mfu_often tensor_s; /* of kernels that fill the tensor cores, before clocks fall; */
    struct mfu_often other_s;  /* of others that do not vary */
    struct mfu_often least_s;  /* of what does not vary, however much of it L2 takes, while clocks hold; */
    bool least_known;          /* once asked for */
    double least, most;        /* shares (accum - 1) / accum for which inputs in L2 are the same ones */
};

/* Prices the program at MFU_ACCUMULATED micro-steps, where it stays, and adds it up; prices are those
 * before clocks fall.  Of what communicates, or with `stretches`, its
 * stretches too.  Fails where prices hang on what runs beside, and then changes nothing.  -1: out of memory. */
int mfu_accumulation_learn(struct mfu_accumulation *, const struct mfu_machine *, struct mfu_program *,
                           struct mfu_pricing *, bool rules, bool stretches);

/* Sums of a step of `accum` micro-steps (2 or more), of the pricing that was learned from, and its stretches if
 * they were learned; changes the kernels of launches that vary.  False: other inputs are in L2, or no memory; every launch has
 * to be priced. */
bool mfu_accumulation_sums(struct mfu_accumulation *, const struct mfu_machine *, struct mfu_program *,
                           const struct mfu_pricing *, double accum, struct mfu_sums *, struct mfu_overlap_stretches *);

/* What the same step takes at least, by all that does not vary: less than the sums' time; and its FLOP
 * and kernels.  False where the sums say nothing. */
bool mfu_accumulation_least(struct mfu_accumulation *, const struct mfu_machine *, const struct mfu_program *,
                            const struct mfu_pricing *, double accum, struct mfu_sums *, double *least_s);

void mfu_accumulation_release(struct mfu_accumulation *);

#endif
