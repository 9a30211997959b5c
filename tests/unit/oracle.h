/* oracle.h - tables measured with PyTorch, and what FlopCounterMode would count of a plan. */
#ifndef MFU_TEST_ORACLE_H
#define MFU_TEST_ORACLE_H

#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/csv.h"
#include "base/error.h"
#include "descriptor/catalog.h"
#include "plan/plan.h"

/* Reads a table that begins with a line of comment, from a copy without it. */
static inline int oracle_read(const char *path, struct mfu_arena *arena, struct mfu_csv *csv)
{
    struct mfu_error err = {0};
    char copy[] = "/tmp/mfuplan-oracle-XXXXXX";
    FILE *in = fopen(path, "r");
    int fd = mkstemp(copy), c = 0, status;
    FILE *out = fdopen(fd, "w");

    while (in && c != '\n' && c != EOF)
        c = getc(in);
    while (in && (c = getc(in)) != EOF)
        putc(c, out);
    if (in)
        fclose(in);
    fclose(out);
    status = mfu_csv_read(copy, arena, csv, &err);
    if (status < 0)
        fprintf(stderr, "%s\n", err.text);
    remove(copy);
    return status;
}

/* A table, and what its rows are planned with: the state of a group of tests. */
struct oracle {
    struct mfu_arena arena;
    struct mfu_csv csv;
    struct mfu_catalog *catalog;
    struct mfu_plan plan;
};

static inline int oracle_open(void **state, const char *path)
{
    struct oracle *o = calloc(1, sizeof *o);
    struct mfu_error err = {0};

    if (oracle_read(path, &o->arena, &o->csv) < 0)
        return -1;
    o->catalog = mfu_catalog_open(MFUPLAN_SOURCE_DIR, NULL, &err);
    *state = o;
    return o->catalog ? 0 : -1;
}

static inline int oracle_close(void **state)
{
    struct oracle *o = *state;

    mfu_plan_release(&o->plan);
    mfu_catalog_free(o->catalog);
    mfu_arena_free(&o->arena);
    free(o);
    return 0;
}

/* FLOPs of an attention over all pairs. */
static inline double whole_attention(const struct mfu_kernel *l)
{
    double full = (l->backward ? 10 : 4) * l->batch * l->n * l->k * l->pairs, share = l->flops / full;

    if (share > 0.45) /* no window: all pairs, or those of a triangle; widths of keys and values may differ */
        return l->flops * (l->causal ? 2 * l->m / (l->m + 1) : 1);
    return full;
}

/* FLOPs of a phase; attention counted in full, as FlopCounterMode does. */
static inline double oracle_flops(const struct mfu_plan *p, enum mfu_phase phase)
{
    double sum = 0;

    for (int k = 0; k < p->program.n_segments; k++) {
        const struct mfu_segment *seg = &p->program.segments[k];

        for (int i = seg->first; seg->phase == phase && i < seg->first + seg->count; i++) {
            const struct mfu_kernel *l = &p->program.launches[i].work->kernel;

            if (l->kind == MFU_GEMM)
                sum += seg->repeat * mfu_kernel_counted_flops(l);
            else if (l->kind == MFU_FUSED_ATTENTION)
                sum += seg->repeat * whole_attention(l);
        }
    }
    return sum;
}

#endif
