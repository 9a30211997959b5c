/*
 * host.c - what the library asks of a computer, where the computer is a browser: no threads, no other languages,
 * no files but those that are compiled in.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/translation.h"
#include "base/workers.h"
#include "descriptor/yaml_tree.h"
#include "report/plot/gnuplot.h"

const char *mfu_translate(const char *english)
{
    return english;
}

int mfu_workers_count(int wanted)
{
    (void)wanted;
    return 1;
}

int mfu_workers_run(int n, void (*work)(void *context, int worker), void *context)
{
    (void)n;
    work(context, 0);
    return 1;
}

int mfu_yaml_fill(struct mfu_yaml *yaml, const char *text, size_t length, struct mfu_error *err)
{
    (void)yaml, (void)text, (void)length;
    return mfu_fail(err, MFU_EINPUT, "the page reads only the descriptors that it came with");
}

/* Of figures for gnuplot, which a page has none of. */
void mfu_gnuplot_text(FILE *out, const char *text)
{
    (void)out, (void)text;
}

/* ---- memory: instructions of the browser's machine (-mbulk-memory), not loops of libc ------------------ */

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
    return __builtin_memcpy(to, from, n);
}

void *memmove(void *to, const void *from, size_t n)
{
    return __builtin_memmove(to, from, n);
}

void *memset(void *to, int byte, size_t n)
{
    return __builtin_memset(to, byte, n);
}

/* ---- sorting: what is equal stays in its order, as with glibc ------------------ */

typedef int compare(const void *, const void *, void *);

/* Sorts n things of `size` bytes, n of scratch beside them. */
static void merge_sort(char *a, char *scratch, size_t n, size_t size, compare *cmp, void *context)
{
    size_t half = n / 2, i = 0, j = half, k = 0;

    if (n < 2)
        return;
    merge_sort(a, scratch, half, size, cmp, context);
    merge_sort(a + half * size, scratch, n - half, size, cmp, context);
    for (; i < half && j < n; k++) {
        size_t *first = cmp(a + i * size, a + j * size, context) <= 0 ? &i : &j;

        memcpy(scratch + k * size, a + (*first)++ * size, size);
    }
    memmove(a + k * size, a + i * size, (half - i) * size); /* what is left of the second half is in its place */
    memcpy(a, scratch, k * size);
}

void qsort_r(void *a, size_t n, size_t size, compare *cmp, void *context)
{
    char *scratch = malloc(n * size + 1);

    if (!scratch)
        abort();
    merge_sort(a, scratch, n, size, cmp, context);
    free(scratch);
}

static int without_context(const void *a, const void *b, void *cmp)
{
    return (*(int (**)(const void *, const void *))cmp)(a, b);
}

void qsort(void *a, size_t n, size_t size, int (*cmp)(const void *, const void *))
{
    qsort_r(a, n, size, without_context, &cmp);
}
