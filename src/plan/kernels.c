/*
 * kernels.c - the launches of a plan as a table.
 *
 * The first, the middle and the last layer of a repeated section are traced
 * apart; here launches that do the same become one row again.
 */
#include "plan/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

static void derive_collective(const struct mfu_plan *p, struct mfu_kernel_row *row)
{
    struct mfu_collective_price price;

    row->group = mfu_mesh_group(&p->program.mesh, row->collective.axes, p->machine.topology.unit_gpus);
    price = mfu_collective_price(&p->machine, &row->group, row->collective.kind, row->collective.bytes);
    row->algorithm = price.algorithm;
    row->protocol = price.protocol;
    row->ranks = row->group.ranks;
}

static void derive(const struct mfu_plan *p, struct mfu_kernel_row *row)
{
    const struct mfu_reading *r = &row->reading;

    mfu_read_kernel(p->config.gpu, &p->machine, &row->kernel, &row->price, &row->reading);
    row->price.blocks = r->grid.blocks;
    row->price.waves = r->waves;
    row->intensity = row->bytes > 0 ? row->flops / row->bytes : 0;
    if (row->collective.axes != 0)
        derive_collective(p, row);
    row->share = p->step.time_s > 0 ? row->time_s / p->step.time_s : 0;
    row->flops_per_s = row->time_s > 0 ? row->flops / row->time_s : 0;
    row->bytes_per_s = row->time_s > 0 ? row->bytes / row->time_s : 0;
    row->sm_active = r->sm_active;
    row->occupancy = r->sm_occupancy;
    row->tensor_active = r->tensor_active;
    row->dram_active = r->dram_active;
}

/* ---- equal launches in one row ------------------------------------------ */

struct table {
    struct mfu_kernel_row *rows;
    const struct mfu_launch **of; /* a launch of each row: its names */
    double *largest_s;            /* time of the launches that `kernel` shows */
    int n;
    int *slots;       /* by hash: the number of a row, from 1; 0: free */
    unsigned n_slots; /* a power of two, more than there are rows */
};

static bool same(const struct mfu_launch *a, const struct mfu_launch *b)
{
    return mfu_launch_phase(a) == mfu_launch_phase(b) && a->work->kernel.kind == b->work->kernel.kind
        && strcmp(a->op, b->op) == 0 && strcmp(a->suffix, b->suffix) == 0 && strcmp(a->section, b->section) == 0;
}

static unsigned hash(const struct mfu_launch *l)
{
    const char *const texts[] = {l->section, l->op, l->suffix};
    unsigned h = MFU_HASH ^ (unsigned)(mfu_launch_phase(l) * MFU_KIND_COUNT + l->work->kernel.kind);

    for (int i = 0; i < 3; i++)
        h = mfu_hash_text(h, texts[i]);
    return h ^ h >> 15;
}

/* Where the number of the launch's row stands, or is to stand. */
static int *slot_of(struct table *t, const struct mfu_launch *l)
{
    unsigned i = hash(l) % t->n_slots;

    while (t->slots[i] && !same(t->of[t->slots[i] - 1], l))
        i = (i + 1) % t->n_slots;
    return &t->slots[i];
}

/* Launches of no section and no op begin with the dot before their suffix. */
static void name_row(struct mfu_kernel_row *row, const struct mfu_launch *l)
{
    char name[sizeof row->name];

    mfu_launch_name(l, name, sizeof name);
    snprintf(row->name, sizeof row->name, "%s", name + (name[0] == '.'));
}

static void add(struct table *t, const struct mfu_launch *l, const struct mfu_price *price, double times)
{
    struct mfu_kernel_row *row;
    int *slot = slot_of(t, l), i = *slot ? *slot - 1 : t->n;

    row = &t->rows[i];
    if (i == t->n) {
        *slot = i + 1;
        *row = (struct mfu_kernel_row){.phase = mfu_launch_phase(l), .kind = l->work->kernel.kind};
        name_row(row, l);
        t->of[i] = l;
        t->largest_s[i] = -1;
        t->n++;
    }
    /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): a slot that is taken names a row that is filled */
    row->count += times * l->work->kernel.launches;
    row->flops += times * l->work->kernel.flops;
    row->bytes += times * (l->work->kernel.read_bytes + l->work->kernel.write_bytes);
    row->time_s += times * price->time_s;
    if (times * price->time_s > t->largest_s[i]) {
        t->largest_s[i] = times * price->time_s;
        row->kernel = l->work->kernel;
        row->price = *price;
        row->collective = l->work->collective;
    }
}

int mfu_kernel_rows(const struct mfu_plan *p, struct mfu_kernel_row **rows, double *total_s)
{
    const struct mfu_program *g = &p->program;
    size_t most = (size_t)g->n_launches + 1;
    struct table t = {.rows = malloc(most * sizeof *t.rows),
                      .of = malloc(most * sizeof *t.of),
                      .largest_s = malloc(most * sizeof *t.largest_s),
                      .n_slots = 16};
    double total = 0;

    *rows = NULL;
    while (t.n_slots < 2 * most)
        t.n_slots *= 2;
    t.slots = calloc(t.n_slots, sizeof *t.slots);
    if (!t.rows || !t.of || !t.largest_s || !t.slots) {
        free(t.rows);
        t.n = -1;
        goto done;
    }
    for (int k = 0; k < g->n_segments; k++) {
        const struct mfu_segment *seg = &g->segments[k];

        for (int i = seg->first; i < seg->first + seg->count; i++)
            if (g->launches[i].work->kernel.launches > 0) /* not what only ends a scope */
                add(&t, &g->launches[i], &p->pricing.prices[i], mfu_plan_times(p, seg));
    }
    for (int i = 0; i < t.n; i++) {
        derive(p, &t.rows[i]);
        total += t.rows[i].time_s;
    }
    if (total_s)
        *total_s = total;
    *rows = t.rows;
done:
    free(t.of);
    free(t.largest_s);
    free(t.slots);
    return t.n;
}

/* ---- one row per kind and phase ----------------------------------------- */

void mfu_kernel_row_add(struct mfu_kernel_row *to, const struct mfu_kernel_row *from, double *largest_s)
{
    double time = to->time_s + from->time_s, share = time > 0 ? from->time_s / time : 0;

    if (from->time_s > *largest_s) {
        *largest_s = from->time_s;
        to->kernel = from->kernel;
        to->price = from->price;
        to->reading = from->reading;
    }
    to->sm_active += share * (from->sm_active - to->sm_active);
    to->occupancy += share * (from->occupancy - to->occupancy);
    to->tensor_active += share * (from->tensor_active - to->tensor_active);
    to->dram_active += share * (from->dram_active - to->dram_active);
    to->count += from->count;
    to->flops += from->flops;
    to->bytes += from->bytes;
    to->share += from->share;
    to->time_s = time;
    to->intensity = to->bytes > 0 ? to->flops / to->bytes : 0;
    to->flops_per_s = time > 0 ? to->flops / time : 0;
    to->bytes_per_s = time > 0 ? to->bytes / time : 0;
}

int mfu_kernel_kinds(const struct mfu_plan *p, struct mfu_kernel_row **kinds, double *total_s)
{
    struct mfu_kernel_row *rows;
    double largest_s[MFU_PHASE_COUNT * MFU_KIND_COUNT];
    int n = mfu_kernel_rows(p, &rows, total_s), n_kinds = 0;

    *kinds = rows;
    for (int i = 0; i < n; i++) { /* in place: never ahead of i */
        struct mfu_kernel_row row = rows[i];
        int k = 0;

        while (k < n_kinds && (rows[k].phase != row.phase || rows[k].kind != row.kind))
            k++;
        if (k == n_kinds) {
            rows[n_kinds++] = row;
            snprintf(rows[k].name, sizeof rows[k].name, "%s", mfu_kind_names[row.kind]);
            largest_s[k] = row.time_s;
            continue;
        }
        mfu_kernel_row_add(&rows[k], &row, &largest_s[k]);
    }
    return n < 0 ? n : n_kinds;
}
