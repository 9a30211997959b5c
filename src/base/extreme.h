/*
 * extreme.h - which of two numbers is larger.
 */
#ifndef MFU_EXTREME_H
#define MFU_EXTREME_H

/* The larger and the smaller, without a call of fmax() or fmin(): b, where one is not a number. */
static inline double mfu_most(double a, double b)
{
    return a > b ? a : b;
}

static inline double mfu_least(double a, double b)
{
    return a < b ? a : b;
}

/* For qsort(): an order of doubles, the smallest first. */
static inline int mfu_ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

#endif
