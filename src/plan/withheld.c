/*
 * withheld.c - memory that is freed but cannot be used again yet, since the host is ahead.
 *
 * A tensor that a collective reads belongs to NCCL's stream as well: its block goes back to the
 * allocator when the GPU has come past the collective, not when the host frees it
 * (Tensor::record_stream, ProcessGroupNCCL.cpp of PyTorch up to 2.7).  While the host issues a
 * forward pass faster than the GPU runs it, the inputs of sums over tensor ranks pile up.  What
 * is gathered lies in one global buffer (Megatron-LM, nanotron) or is kept for backward.
 */
#include <math.h>

#include "graph/runtime.h"
#include "plan/plan.h"
#include "scenario/setting.h"

#define LAST_YEAR 2025    /* in which collectives recorded their streams (PyTorch 2.8) */
#define QUEUE_DEPTH 1024. /* launches that CUDA queues */

/* Freed by a collective of forward, of one microbatch. */
static double freed_bytes(const struct mfu_program *g)
{
    double bytes = 0;

    for (int k = 0; k < g->n_segments; k++) {
        const struct mfu_segment *seg = &g->segments[k];

        for (int t = 1; seg->phase == MFU_FORWARD && t < g->n_tensors; t++) {
            const struct mfu_tensor *x = &g->tensors[t];

            if (x->last >= seg->first && x->last < seg->first + seg->count && x->born >= 0
                && g->launches[x->last].communicates)
                bytes += seg->repeat * x->bytes;
        }
    }
    return bytes;
}

struct mfu_withheld mfu_plan_withheld(const struct mfu_plan *p)
{
    const struct mfu_sums *sums = &p->sums;
    double launches = sums->launches[MFU_FORWARD], year = p->config.setting[MFU_S_SOFTWARE], bytes;
    double ahead = 1 - launches * p->dispatch_s[MFU_FORWARD] / sums->stream_s[MFU_FORWARD];

    if (!(ahead > 0) || year == 0 || year > LAST_YEAR || mfu_runtimes[p->config.runtime].preallocates)
        return (struct mfu_withheld){0};
    bytes = freed_bytes(&p->program);
    return (struct mfu_withheld){ahead * bytes, bytes * QUEUE_DEPTH * p->program.accum / launches};
}

double mfu_withheld_bytes(const struct mfu_withheld *w, double microbatches)
{
    return fmin(w->bytes * microbatches, w->most_bytes);
}
