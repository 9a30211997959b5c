/*
 * sums.h - what the launches of a program add up to: all that the time of a step, its
 * MFU and its interval are made of.
 */
#ifndef MFU_SUMS_H
#define MFU_SUMS_H

#include "cost/cost.h"
#include "graph/program.h"

/* Doubles and nothing else: sums are added up and scaled as a whole. */
struct mfu_sums {
    double kernels;                        /* CUDA kernels, those that communicate too, */
    double forward_kernels;                /* of these: of forward, */
    double again_kernels;                  /* and of forward, run again in backward */
    double launches[MFU_PHASE_COUNT];      /* CUDA kernels that do not, */
    double time_s[MFU_PHASE_COUNT];        /* and their seconds */
    double stream_s[MFU_PHASE_COUNT];      /* of a pass, in the compute stream, whatever it is */
    double compute_s, memory_s;            /* of kernels, by what bounds them */
    double communication_s, copies_s;      /* of collectives, of copies that are made for them */
    double product_s;                      /* of what MFU counts */
    double forward_flops, backward_flops;  /* as MFU counts them, */
    double again_flops;                    /* those that run again */
    double reference_flops;                /* and those of a reference model */
    double rules_s[MFU_COEFFICIENT_COUNT]; /* of kernels, without overhead, by the coefficient that rules them */
};

/* Adds `times` launches: what they are; or, at this price, how long they take. */
void mfu_sums_add_amount(struct mfu_sums *, const struct mfu_launch *, double times);
void mfu_sums_add_time(struct mfu_sums *, const struct mfu_launch *, const struct mfu_price *, double times);

/* sums += times * more */
void mfu_sums_add(struct mfu_sums *, const struct mfu_sums *more, double times);

/* Of one step of the program at these prices. */
void mfu_sums_of(const struct mfu_program *, const struct mfu_price *, struct mfu_sums *);

#endif
