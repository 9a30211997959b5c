/*
 * kernels.c - the kernels of a step.
 */
#include <stdlib.h>

#include "plan/kernels.h"
#include "report/json/json.h"
#include "report/report.h"

static void put_collective(json_t **o, const struct mfu_kernel_row *row)
{
    json_t *group = json_object();

    mfu_json_put_number(&group, "ranks", row->group.ranks);
    mfu_json_put_number(&group, "units", row->group.units);
    mfu_json_put(o, "group", group);
    mfu_json_put_text(o, "algorithm", mfu_algorithm_names[row->algorithm]);
    mfu_json_put_text(o, "protocol", mfu_protocol_names[row->protocol]);
    mfu_json_put_number(o, "algbw", row->algbw);
    mfu_json_put_number(o, "busbw", row->busbw);
}

json_t *mfu_json_kernel_row(const struct mfu_kernel_row *row)
{
    const struct mfu_reading *r = &row->reading;
    json_t *o = json_object();

    mfu_json_put_text(&o, "name", row->name);
    mfu_json_put_text(&o, "phase", row->group.ranks > 1 ? "communication" : mfu_phase_names[row->phase]);
    mfu_json_put_text(&o, "kind", mfu_kind_names[row->kind]);
    mfu_json_put_number(&o, "count", row->count);
    mfu_json_put_number(&o, "m", row->kernel.m);
    mfu_json_put_number(&o, "n", row->kernel.n);
    mfu_json_put_number(&o, "k", row->kernel.k);
    mfu_json_put_number(&o, "batch", row->kernel.batch);
    mfu_json_put_number(&o, "flops", row->flops);
    mfu_json_put_number(&o, "bytes", row->bytes);
    mfu_json_put_number(&o, "intensity", row->intensity);
    mfu_json_put_text(&o, "bound", mfu_bound_names[row->price.bound]);
    mfu_json_put_number(&o, "time_s", row->time_s);
    mfu_json_put_number(&o, "share", row->share);
    mfu_json_put_number(&o, "flops_per_s", row->flops_per_s);
    mfu_json_put_number(&o, "bytes_per_s", row->bytes_per_s);
    mfu_json_put_number(&o, "waves", row->price.waves);
    mfu_json_put_number(&o, "grid", r->grid.blocks);
    mfu_json_put_number(&o, "threads", r->grid.threads);
    mfu_json_put_number(&o, "registers", r->grid.registers);
    mfu_json_put_number(&o, "shared_bytes", r->grid.shared_bytes);
    mfu_json_put_number(&o, "blocks_per_sm", r->limit.resident);
    mfu_json_put_number(&o, "theoretical_occupancy", r->limit.theoretical);
    mfu_json_put_number(&o, "sm_active", row->sm_active);
    mfu_json_put_number(&o, "occupancy", row->occupancy);
    mfu_json_put_number(&o, "tensor_active", row->tensor_active);
    mfu_json_put_number(&o, "dram_active", row->dram_active);
    if (row->group.ranks > 1)
        put_collective(&o, row);
    return o;
}

json_t *mfu_json_kernels(const struct mfu_plan *p)
{
    struct mfu_kernel_row *rows;
    double total_s;
    int n = mfu_kernel_rows(p, &rows, &total_s);
    json_t *o, *list;

    if (n < 0)
        return NULL;
    list = json_array();
    for (int i = 0; i < n; i++)
        mfu_json_append(&list, mfu_json_kernel_row(&rows[i]));
    free(rows);
    o = mfu_json_answer("kernels");
    mfu_json_put(&o, "kernels", list);
    mfu_json_put_number(&o, "total_time_s", total_s);
    return o;
}
