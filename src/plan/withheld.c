/*
 * withheld.c - memory that is freed but cannot be used again yet, since the host is ahead.
 *
 * A tensor that a collective reads belongs to NCCL's stream as well: its block goes back to the
 * allocator when the GPU has come past the collective, not when the host frees it
 * (Tensor::record_stream, ProcessGroupNCCL.cpp of PyTorch up to 2.7, but with TORCH_NCCL_AVOID_RECORD_STREAMS, as
 * torchtitan b5bcd76c wants it beside tensor parallelism: docs/composability.md).  The inputs of sums over tensor
 * ranks pile up for as far as the host is ahead of the GPU.  What is gathered lies in one global
 * buffer (Megatron-LM, nanotron) or is kept for backward.
 *
 * Reserved memory is the most that a run ever had, and in a run every rank waits for a late one now and
 * then: its GPU stands in a collective while its host issues what the queue takes.  So the lead is
 * that of the worst moment, a forward pass and perhaps what of backward is queued, too; except where hosts
 * wait for each other or for their GPU as they go: there it is the average one.
 */
#include <math.h>

#include "plan/plan.h"
#include "scenario/setting.h"

#define LAST_YEAR 2025    /* in which collectives recorded their streams (PyTorch 2.8) */
#define QUEUE_DEPTH 1024. /* launches that CUDA queues */

/* Freed by the collectives of a pass of one microbatch. */
static double freed_bytes(const struct mfu_program *g, enum mfu_phase pass)
{
    double bytes = 0;

    for (int k = 0; k < g->n_segments; k++) {
        const struct mfu_segment *seg = &g->segments[k];

        for (int t = 1; seg->phase == pass && t < g->n_tensors; t++) {
            const struct mfu_tensor *x = &g->tensors[t];

            if (x->last >= seg->first && x->last < seg->first + seg->count && x->born >= 0
                && g->launches[x->last].communicates)
                bytes += seg->repeat * x->bytes;
        }
    }
    return bytes;
}

/* Whether hosts agree on each collective before it runs, or do not gather weights before earlier ones are there
 * (limit_all_gathers). */
static bool hosts_wait(const struct mfu_config *c)
{
    return c->setting[MFU_S_DISTRIBUTED_DEBUG] >= MFU_DEBUG_DETAIL || c->setting[MFU_S_ZERO] >= 3;
}

struct mfu_withheld mfu_plan_withheld(const struct mfu_plan *p)
{
    const struct mfu_sums *sums = &p->sums;
    double year = p->config.setting[MFU_S_SOFTWARE], queued = QUEUE_DEPTH * p->program.accum;
    double host = sums->launches[MFU_FORWARD] * p->dispatch_s[MFU_FORWARD] / sums->stream_s[MFU_FORWARD];
    double slower = exp(MFU_SIGMAS * p->config.gpu->coefficients.sigma[p->host_rules]);
    struct mfu_withheld w = {.lead = fmax(1 - host, 0)};

    if (isnan(host) || year == 0 || year > LAST_YEAR || mfu_runtimes[p->config.runtime].preallocates)
        return (struct mfu_withheld){0};
    for (int i = 0; i < 2; i++) {
        enum mfu_phase pass = i == 0 ? MFU_FORWARD : MFU_BACKWARD;

        w.pass[i].bytes = freed_bytes(&p->program, pass);
        w.pass[i].queued = queued / sums->launches[pass];
    }
    w.least_lead = fmax(1 - host * slower, 0);
    w.most_lead = fmax(1 - host / slower, 0);
    if (mfu_trainers[p->config.trainer].avoids_record_streams)
        w.lead = w.least_lead = 0; /* where its users do as they are told */
    else if (!hosts_wait(&p->config)) {
        w.lead = 1;
        w.most_lead = 2;
    }
    return w;
}

/* With the host so many passes ahead: the forward passes of `microbatches`, and then of one backward. */
static double withheld_bytes(const struct mfu_withheld *w, double microbatches, double lead)
{
    double forward = fmin(fmin(lead, 1) * microbatches, w->pass[0].queued), left = 1 - forward / w->pass[0].queued;

    return forward * w->pass[0].bytes + (lead > 1 ? fmin(lead - 1, left * w->pass[1].queued) * w->pass[1].bytes : 0);
}

double mfu_withhold(const struct mfu_withheld *w, double microbatches, double others, struct mfu_memory_answer *m)
{
    /* It is given back before the card is full. */
    double room = fmax(m->capacity_bytes - m->context_bytes - others - m->reserved_bytes, 0), bytes;

    if (w->pass[0].bytes + w->pass[1].bytes <= 0) {
        m->withheld_bytes = m->least_withheld_bytes = m->most_withheld_bytes = 0;
        return 0;
    }
    bytes = withheld_bytes(w, microbatches, w->lead);
    m->withheld_bytes = fmin(bytes, room);
    m->least_withheld_bytes = fmin(withheld_bytes(w, microbatches, w->least_lead), room);
    m->most_withheld_bytes = fmin(withheld_bytes(w, microbatches, w->most_lead), room);
    m->reserved_bytes += m->withheld_bytes;
    return bytes;
}
