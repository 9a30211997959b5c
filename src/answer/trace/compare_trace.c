/*
 * compare_trace.c - the trace's kernels aligned with the plan's launches, its gaps beside those of the simulation.
 */
#include "answer/trace/compare_trace.h"

#include <math.h>
#include <string.h>

#include "answer/why/breakdown.h"
#include "answer/trace/read_recording.h"
#include "base/error.h"

static const struct {
    const char *cause, *says;
    enum mfu_breakdown_part part;
} causes[MFU_GAP_COUNT] = {
    [MFU_GAP_LOADER] = {"data loader", "the host waits for a batch", MFU_P_LOADER},
    [MFU_GAP_SYNC] = {"synchronising", "the host waited for the GPU, and starts again", MFU_P_STEP},
    [MFU_GAP_HOST] = {"host", "the next launch comes late", MFU_P_DISPATCH},
    [MFU_GAP_LAUNCH] = {"launch", "between two kernels", MFU_P_GAPS},
    [MFU_GAP_EXPOSED] = {"communication", "nothing runs beside it", MFU_P_EXPOSED},
};

/* A CPU's: what is on both sides is as predicted, and nothing can be won back. */
static void forget_times(struct mfu_alignment *a)
{
    for (size_t i = 0; i < a->n_kernels; i++) {
        struct mfu_aligned *row = &a->kernels[i];

        row->recoverable_s = 0;
        if (row->count > 0 && row->measured_count > 0)
            row->status = "as predicted";
    }
    for (size_t i = 0; i < a->n_kinds; i++)
        a->kinds[i].recoverable_s = 0;
}

int mfu_compare_trace(const struct mfu_scenario *scenario, const char *path, struct mfu_plan *plan,
                      struct mfu_simulation *simulation, struct mfu_trace_comparison *c, struct mfu_error *err)
{
    struct mfu_recording k;
    struct mfu_breakdown s;
    int status = mfu_recording_read(path, &k, err);

    *c = (struct mfu_trace_comparison){0};
    if (status == 0
        && (mfu_plan_make(plan, scenario, err) < 0 || mfu_simulate(plan, false, simulation, err) < 0
            || mfu_breakdown_make(plan, simulation, false, &s, err) < 0))
        status = -1;
    if (status == 0 && plan->config.accum > 1)
        status = mfu_fail(err, MFU_EINPUT,
                          "kernels are compared of one micro-step: set accum 1, and call profiler.step() "
                          "after each");
    if (status == 0 && !(c->alignment = mfu_align_seen(plan, "trace", k.kernels, k.n, err)))
        status = -1;
    if (status == 0) {
        c->steps = k.steps;
        c->on_cpu = k.on_cpu;
        memcpy(c->device, k.device, sizeof c->device);
        c->step_s = c->alignment->runs[0].measured_step_s = k.step_s;
        c->busy_s = k.on_cpu ? (double)NAN : k.busy_s;
        c->predicted_step_s = plan->step.time_s;
        c->predicted_busy_s = s.kernels_s;
        c->recoverable_s = k.on_cpu ? (double)NAN : 0;
        for (int i = 0; i < MFU_GAP_COUNT; i++) {
            c->gaps[i] = (struct mfu_trace_gap){causes[i].cause, causes[i].says, k.gap_n[i],
                                                k.on_cpu ? (double)NAN : k.gap_s[i], s.part_s[causes[i].part]};
            c->recoverable_s += fmax(0, k.gap_s[i] - c->gaps[i].predicted_s);
        }
        for (size_t i = 0; i < c->alignment->n_kernels; i++)
            c->recoverable_s += c->alignment->kernels[i].recoverable_s;
        if (k.on_cpu)
            forget_times(c->alignment);
    }
    mfu_recording_release(&k);
    return status;
}

void mfu_trace_comparison_release(struct mfu_trace_comparison *c)
{
    mfu_alignment_free(c->alignment);
    c->alignment = NULL;
}
