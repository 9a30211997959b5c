/*
 * documents.c - lengths of documents: sums over a lognormal distribution, and rows that are filled with them.
 */
#include "kernel/documents.h"

#include <math.h>
#include <stddef.h>

/* The normal distribution in so many points: sums over them converge faster than any power of the step.  They reach so
 * far that squares of lengths do not miss their tail: it is weighed about the mean and twice the largest sigma. */
#define POINTS 257
#define REACH 8.0
#define PACKED 256 /* documents that are packed to see how well they fit (chosen: within a percent of ten thousand) */

static double at(int i)
{
    return REACH * (2. * i / (POINTS - 1) - 1);
}

static double weight(int i)
{
    return exp(-at(i) * at(i) / 2);
}

/* The share of documents that is below a deviation of so many sigma, and back. */
static double below(double z)
{
    return 0.5 * erfc(-z / sqrt(2));
}

static double deviation(double share)
{
    double low = -REACH, high = REACH;

    for (int i = 0; i < 50; i++) {
        double middle = (low + high) / 2;

        if (below(middle) < share)
            low = middle;
        else
            high = middle;
    }
    return low;
}

double mfu_documents_kept(const struct mfu_documents *d, double row)
{
    if (!(d->drops > 0 && d->mean > 0))
        return 1;
    return d->sigma > 0 ? below(log(row / d->mean) / d->sigma + d->sigma / 2) : d->mean <= row;
}

/* Of the documents that are kept, whose logarithms follow the part of the distribution up to the row's. */
static double length(const struct mfu_documents *d, double row, double z)
{
    if (d->drops > 0 && d->sigma > 0)
        z = deviation(below(z) * mfu_documents_kept(d, row));
    return fmin(row, fmax(1, d->mean * exp(d->sigma * (z - d->sigma / 2))));
}

double mfu_documents_mean(const struct mfu_documents *d, double row, double (*of)(double, const void *),
                          const void *context)
{
    double sum = 0, all = 0;

    for (int i = 0; i < POINTS; i++) {
        double tokens = length(d, row, at(i));

        sum += weight(i) * (of ? of(tokens, context) : tokens);
        all += weight(i);
    }
    return sum / all;
}

double mfu_documents_longest(const struct mfu_documents *d, double row, double n)
{
    double mean = 0, before = 0;

    for (int i = 0; i < POINTS; i++) { /* the chance that all n are below */
        double upto = i == POINTS - 1 ? 1 : pow(below((at(i) + at(i + 1)) / 2), n);

        mean += (upto - before) * length(d, row, at(i));
        before = upto;
    }
    return mean;
}

double mfu_documents_quantile(const struct mfu_documents *d, double row, double n, double u)
{
    return length(d, row, deviation(pow(u, 1 / n)));
}

/* The row with the least room that a document fits in; a new one. */
static int best_row(const double *room, int rows, double tokens)
{
    int best = rows;

    for (int k = 0; k < rows; k++)
        if (room[k] >= tokens && (best == rows || room[k] < room[best]))
            best = k;
    return best;
}

double mfu_documents_fill(const struct mfu_documents *d, double row, bool packed)
{
    double room[PACKED], all = 0, due = 0, left = 0;
    int rows = 0;

    if (!packed)
        return fmin(1, mfu_documents_mean(d, row, NULL, NULL) / row);
    for (int i = 0; i < POINTS; i++)
        all += weight(i);
    for (int i = POINTS - 1; i >= 0; i--)
        for (due += PACKED * weight(i) / all; due >= 1 && rows < PACKED; due--) {
            double tokens = length(d, row, at(i));
            int k = best_row(room, rows, tokens);

            if (k == rows)
                room[rows++] = row;
            room[k] -= tokens;
        }
    for (int k = 0; k + 1 < rows; k++) /* the row that was begun last waits for more */
        left += room[k];
    return rows > 1 ? 1 - left / (row * (rows - 1)) : 1;
}
