/*
 * yardstick.h - what this machine is worth: a sorted array, so that runs on
 * different machines can be compared as ratios.
 */
#ifndef MFU_YARDSTICK_H
#define MFU_YARDSTICK_H

#include <stdlib.h>

static volatile double sink;    /* what is stored here had to be computed */

static inline int ascending(const void *a, const void *b)
{
    return *(const double *)a < *(const double *)b ? -1 : *(const double *)a > *(const double *)b;
}

/* Sorts 1000 numbers. */
static inline double yardstick(long rounds)
{
    static double x[1000];

    for (long i = 0; i < rounds; i++) {
        for (int k = 0; k < 1000; k++)
            x[k] = (double)((k * 7919 + i) % 1009);
        qsort(x, 1000, sizeof x[0], ascending);
        sink += x[500];
    }
    return x[0];
}

#endif
