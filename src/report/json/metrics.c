/*
 * metrics.c - readings of a step, and of one kernel.
 */
#include "descriptor/cluster.h"
#include "plan/metrics.h"
#include "plan/single_kernel.h"
#include "report/json/json.h"
#include "report/report.h"

static json_t *body(const struct mfu_metrics *m)
{
    json_t *o = json_object();

    for (size_t i = 0; i < mfu_meter_count; i++)
        mfu_json_put_number(&o, mfu_meters[i].key, mfu_meter_value(&mfu_meters[i], m));
    mfu_json_put_number(&o, "gpu_utilization_high", m->gpu_utilization_high);
    mfu_json_put_number(&o, "tensor_kernels", m->tensor_kernels);
    mfu_json_put_number(&o, "power_w", m->power_w);
    mfu_json_put_number(&o, "idle_w_assumed", m->idle_w);
    mfu_json_put_number(&o, "board_w", m->board_w);
    mfu_json_put_number(&o, "window_s", m->window_s);
    return o;
}

json_t *mfu_json_metrics(const struct mfu_plan *p)
{
    struct mfu_metrics m;

    mfu_metrics_of_plan(p, &m);
    return mfu_json_command("metrics", body(&m));
}

json_t *mfu_json_single_kernel(const struct mfu_single_kernel *k)
{
    json_t *o = mfu_json_answer("kernel");

    mfu_json_put_text(&o, "gpu", k->gpu->slug);
    if (k->study >= MFU_STUDY_COLLECTIVE) {
        mfu_json_put(&o, "cluster", k->cluster ? json_string(k->cluster->slug) : json_null());
        mfu_json_put_number(&o, "gpus", k->row.group.ranks);
        mfu_json_put_number(&o, "nodes", k->nodes);
    }
    mfu_json_put(&o, "kernel", mfu_json_kernel_row(&k->row));
    mfu_json_put(&o, "metrics", body(&k->metrics));
    return o;
}

json_t *mfu_json_collectives(const struct mfu_single_kernel *list, size_t n)
{
    json_t *o = mfu_json_single_kernel(&list[0]), *rows = json_array();

    for (size_t i = 0; i < n; i++)
        mfu_json_append(&rows, mfu_json_kernel_row(&list[i].row));
    if (o) {
        json_object_del(o, "kernel");
        json_object_del(o, "metrics");
    }
    mfu_json_put(&o, "kernels", rows);
    return o;
}
