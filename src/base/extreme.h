/*
 * extreme.h - the larger and the smaller of two numbers, without a call of fmax() or fmin(): b, where one is
 * not a number.
 */
#ifndef MFU_EXTREME_H
#define MFU_EXTREME_H

static inline double mfu_most(double a, double b)
{
    return a > b ? a : b;
}

static inline double mfu_least(double a, double b)
{
    return a < b ? a : b;
}

#endif
