/*
 * metrics_over.c - the meters through the step as JSON.
 */
#include "report/json/json.h"
#include "report/metrics_over.h"

json_t *mfu_json_metrics_over(const struct mfu_plan *p, double window_s, const struct mfu_metrics_slice *slices, int n)
{
    json_t *o = mfu_json_answer("metrics"), *rows = json_array();

    mfu_json_put_number(&o, "window_s", window_s);
    mfu_json_put_number(&o, "slice_s", window_s / n);
    mfu_json_put_number(&o, "step_time_s", p->step.time_s);
    for (int i = 0; i < n; i++) {
        const struct mfu_metrics *m = &slices[i].read;
        json_t *row = json_object();

        mfu_json_put_number(&row, "begin_s", i * window_s / n);
        mfu_json_put_text(&row, "phase", slices[i].idle ? "idle" : mfu_phase_names[slices[i].phase]);
        mfu_json_put_number(&row, "gpu_utilization", m->gpu_utilization);
        mfu_json_put_number(&row, "sm_active", m->sm_active);
        mfu_json_put_number(&row, "sm_occupancy", m->sm_occupancy);
        mfu_json_put_number(&row, "tensor_active", m->tensor_active);
        mfu_json_put_number(&row, "dram_active", m->dram_active);
        mfu_json_put_number(&row, "mfu", m->mfu);
        mfu_json_put_number(&row, "power_w", m->power_w);
        json_array_append_new(rows, row);
    }
    mfu_json_put(&o, "slices", rows);
    return o;
}
