/*
 * measure.h - how long a piece of work takes, and what this machine is worth: a
 * sorted array, so that runs on different machines can be compared as ratios.
 */
#ifndef MFU_MEASURE_H
#define MFU_MEASURE_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SAMPLES 15
#define SAMPLE_NS 2e7 /* of one sample, at least */

static volatile double sink; /* what is stored here had to be computed */

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

static inline double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* not what others take */
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Picks its own number of rounds; returns CPU time of a round in nanoseconds, the least
 * of many (whoever works beside only adds); `spread` gets the middle half's width
 * relative to it. */
static inline double measure(double (*work)(long rounds), double *spread)
{
    double ns[SAMPLES], begin = now_ns();
    long rounds = 1;

    while (sink += work(rounds), now_ns() - begin < SAMPLE_NS)
        rounds *= 2;
    for (int i = 0; i < SAMPLES; i++) {
        begin = now_ns();
        sink += work(rounds);
        ns[i] = (now_ns() - begin) / (double)rounds;
    }
    qsort(ns, SAMPLES, sizeof ns[0], ascending);
    *spread = (ns[3 * SAMPLES / 4] - ns[SAMPLES / 4]) / ns[0];
    return ns[0];
}

/* Prints the least in microseconds and the spread; `per` is that of the yardstick, 0: this is it. */
static inline double bench_work(const char *name, double (*work)(long rounds), double per)
{
    double spread, ns = measure(work, &spread);

    printf("{\"name\": \"%s\", \"us\": %.4g, \"spread\": %.2g, \"yardsticks\": %.3g}\n", name, ns / 1e3, spread,
           per > 0 ? ns / per : 1);
    return ns;
}

#endif
