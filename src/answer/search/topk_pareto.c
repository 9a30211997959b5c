/*
 * topk_pareto.c - every row, a heap of the best, or the Pareto front and what is near it.
 */
#include "answer/search/topk_pareto.h"

#include <math.h>
#include <stdlib.h>

#include "base/list.h"

/* Chosen. */
#define MOST_ROWS 4000000 /* that are kept: 600 MB */
#define DEPTH 64          /* rows that may beat one of a front that is simulated */

size_t mfu_keep_reserve(const struct mfu_sweep *s)
{
    return s->confirmed && !s->simulated && s->keep <= MFU_SWEEP_FEW ? s->keep + MFU_SWEEP_FEW : s->keep;
}

unsigned mfu_keep_depth(const struct mfu_sweep *s)
{
    return s->confirmed && !s->simulated ? DEPTH : 1;
}

bool mfu_keep_better(const struct mfu_sweep *s, const struct mfu_sweep_row *a, const struct mfu_sweep_row *b)
{
    double x = a->columns[0], y = b->columns[0];

    if (isnan(x) || isnan(y)) { /* an unknown value is worse than any */
        if (isnan(x) != isnan(y))
            return isnan(y);
    } else if (x != y)
        return s->maximize ? x > y : x < y;
    return a->combination < b->combination;
}

bool mfu_keep_dominates(const struct mfu_sweep *s, const struct mfu_sweep_row *a, const struct mfu_sweep_row *b)
{
    bool strictly = false;

    for (size_t i = 0; i < s->n_columns; i++) {
        double x = a->columns[i], y = b->columns[i];

        if (i == 0 && s->maximize)
            x = -x, y = -y;
        x = isnan(x) ? INFINITY : x; /* what is not known is no better than anything */
        y = isnan(y) ? INFINITY : y;
        if (x > y)
            return false;
        strictly |= x < y;
    }
    return strictly || a->combination < b->combination;
}

static bool append(struct mfu_kept *k, const struct mfu_sweep_row *row)
{
    if (k->n >= MOST_ROWS || !MFU_ROOM(k->rows, k->n + 1, k->cap))
        return false;
    k->rows[k->n++] = *row;
    return true;
}

/* What fewer than `depth` rows beat.  Who beats a row that is kept is beaten by
 * fewer still, and so kept, too: counting among the kept is enough. */
static bool keep_front(const struct mfu_sweep *s, struct mfu_kept *k, const struct mfu_sweep_row *row)
{
    struct mfu_sweep_row new = *row;
    unsigned depth = mfu_keep_depth(s);
    size_t n = 0;

    new.beaten = 0;
    for (size_t i = 0; i < k->n; i++)
        if (mfu_keep_dominates(s, &k->rows[i], &new) && ++new.beaten == depth)
            return true;
    for (size_t i = 0; i < k->n; i++) {
        k->rows[i].beaten += mfu_keep_dominates(s, &new, &k->rows[i]);
        if (k->rows[i].beaten >= depth)
            continue;
        if (n != i)
            k->rows[n] = k->rows[i];
        n++;
    }
    k->n = n;
    return append(k, &new);
}

static void swap(struct mfu_sweep_row *a, struct mfu_sweep_row *b)
{
    struct mfu_sweep_row c = *a;

    *a = *b;
    *b = c;
}

/* The best so far in a heap with the worst on top. */
static bool keep_best(const struct mfu_sweep *s, struct mfu_kept *k, const struct mfu_sweep_row *row)
{
    if (k->n < mfu_keep_reserve(s)) {
        if (!append(k, row))
            return false;
        for (size_t i = k->n - 1; i > 0 && mfu_keep_better(s, &k->rows[(i - 1) / 2], &k->rows[i]); i = (i - 1) / 2)
            swap(&k->rows[i], &k->rows[(i - 1) / 2]);
        return true;
    }
    if (!mfu_keep_better(s, row, &k->rows[0]))
        return true;
    k->rows[0] = *row;
    for (size_t i = 0;;) {
        size_t worst = i;

        for (size_t c = 2 * i + 1; c <= 2 * i + 2 && c < k->n; c++)
            if (mfu_keep_better(s, &k->rows[worst], &k->rows[c]))
                worst = c;
        if (worst == i)
            return true;
        swap(&k->rows[i], &k->rows[worst]);
        i = worst;
    }
}

bool mfu_keep_row(const struct mfu_sweep *s, struct mfu_kept *k, const struct mfu_sweep_row *row)
{
    return s->pareto ? keep_front(s, k, row) : s->keep ? keep_best(s, k, row) : append(k, row);
}

static int by_combination(const void *a, const void *b)
{
    const struct mfu_sweep_row *x = a, *y = b;

    return (x->combination > y->combination) - (x->combination < y->combination);
}

static int upwards(const void *a, const void *b)
{
    const struct mfu_sweep_row *x = a, *y = b;

    return x->columns[0] != y->columns[0] ? (x->columns[0] > y->columns[0] ? 1 : -1) : by_combination(a, b);
}

static int downwards(const void *a, const void *b)
{
    const struct mfu_sweep_row *x = a, *y = b;

    return x->columns[0] != y->columns[0] ? (x->columns[0] < y->columns[0] ? 1 : -1) : by_combination(a, b);
}

void mfu_keep_sort(const struct mfu_sweep *s, struct mfu_sweep_row *rows, size_t n)
{
    if (n)
        qsort(rows, n, sizeof *rows, !s->keep ? by_combination : s->maximize ? downwards : upwards);
}
