/*
 * memory.c - fields of the memory of a step: at its highest moment, and through the step.
 */
#include <math.h>

#include "answer/fields/fields.h"
#include "plan/memory_timeline.h"
#include "plan/peak_tensors.h"

#define TENSORS 12
#define SAMPLES 500

// clang-format off

struct part {
    const char *name;
    double bytes;
};
#define PART(X) \
    X(TEXT,   name,  0,         x->name,  "weights, gradients, optimizer ...") \
    X(NUMBER, bytes, MFU_BYTES, x->bytes, "of the peak")
MFU_PART_RECORD(part, const struct part *x, PART)

/* Whole bytes that sum to the rounded total: each part ends where the sum of
 * the parts so far, rounded, ends. */
static void make_parts(const struct mfu_peak_memory *peak, struct mfu_value *v)
{
    struct part *list = mfu_value_own(v, MFU_PART_COUNT, sizeof *list);
    double before = 0, sum = 0;

    for (int i = 0; list && i < MFU_PART_COUNT; i++, before = sum) {
        sum += peak->parts[i];
        list[i] = (struct part){mfu_part_names[i], round(sum) - round(before)};
    }
}

#define TENSOR(X) \
    X(MADE_TEXT, name, 0, mfu_peak_tensor_name(t, v->buf, sizeof v->buf), "the launch that made it") \
    X(TEXT,   phase,  0,         mfu_phase_names[t->phase], "when it was made") \
    X(TEXT,   part,   0,         mfu_part_names[t->part],   "the part that it belongs to") \
    X(NUMBER, bytes,  MFU_BYTES, t->bytes,                  "of one of them") \
    X(NUMBER, copies, MFU_COUNT, t->copies,                 "alive at the peak, in all layers")
MFU_PART_RECORD(tensor, const struct mfu_alive *t, TENSOR)

static void make_tensors(const struct mfu_plan *p, struct mfu_value *v)
{
    struct mfu_alive *list = mfu_value_own(v, TENSORS, sizeof *list);

    int n = list ? mfu_peak_tensors(p, list, TENSORS) : -1;

    v->failed = n < 0;
    v->n = n < 0 ? 0 : (size_t)n;
}

#define FAILURE(X) \
    X(TEXT, in,      0, m->failed_in, "the launch that gets no memory") \
    X(TEXT, message, 0, m->message,   "what PyTorch would print")
MFU_PART_RECORD(out_of_memory, const struct mfu_memory_answer *m, FAILURE)

#define MEMORY(X) \
    X(OPEN_FLAG, fits, 0, mfu_plan_fits(p), "1 if the memory suffices, else 0; null: unknown, something is not modelled") \
    X(MAYBE_TEXT, fits_because, 0, mfu_plan_fits_because(p), "what is not modelled, where that is unknown") \
    X(NUMBER, fits_probability,     MFU_RATIO, isnan(mfu_plan_fits(p)) ? NAN : p->memory.fits_probability, "share of what the run may need that fits; null: unknown") \
    X(MAYBE_OBJECT, out_of_memory, &out_of_memory, p->memory.failed_in[0] ? &p->memory : NULL, "where the simulated allocator fails") \
    X(NUMBER, capacity_bytes,       MFU_BYTES, round(p->memory.capacity_bytes), "memory that the card offers to a process") \
    X(FLAG,   capacity_assumed,     0,         p->memory.capacity_assumed,      "1 if that is estimated: no such card has reported it") \
    X(MADE_LIST, parts,             &part,     make_parts(&p->memory.peak, v),  "a partition of peak_allocated_bytes at the moment of the peak") \
    X(NUMBER, peak_allocated_bytes, MFU_BYTES, round(p->memory.peak.bytes),     "as torch.cuda.max_memory_allocated() says") \
    X(NUMBER, peak_reserved_bytes,  MFU_BYTES, round(p->memory.reserved_bytes), "as torch.cuda.max_memory_reserved() says") \
    X(NUMBER, context_bytes,        MFU_BYTES, round(p->memory.context_bytes),  "CUDA context, kernels and libraries") \
    X(NUMBER, smi_used_bytes,       MFU_BYTES, round(p->memory.smi_bytes),      "what nvidia-smi shows for the process") \
    X(NUMBER, smi_low_bytes,        MFU_BYTES, round(p->memory.smi_low_bytes),  "lower end of its 90 % interval") \
    X(NUMBER, smi_high_bytes,       MFU_BYTES, round(p->memory.smi_high_bytes), "upper end of its 90 % interval") \
    X(NUMBER, fill,                 MFU_RATIO, p->memory.fill,                  "share of the capacity in use") \
    X(NUMBER, cached_bytes,         MFU_BYTES, round(p->memory.reserved_bytes) - round(p->memory.peak.bytes), "reserved beyond allocated: free blocks kept") \
    X(NUMBER, missing_bytes,        MFU_BYTES, round(p->memory.missing_bytes),  "that do not fit; negative: left over") \
    X(FLAG,   fragmented,           0,         p->memory.fragmented,            "1 if it would fit, were what is free in one piece") \
    X(NUMBER, host_bytes,           MFU_BYTES, round(p->memory.host_bytes),     "in the host's memory, of one process: what is offloaded, and gradients and weights on their way") \
    X(NUMBER, host_pinned_bytes,    MFU_BYTES, round(p->memory.pinned_bytes),   "of these, locked in place for the GPU's copy engines") \
    X(NUMBER, nvme_bytes,           MFU_BYTES, round(p->memory.drive_bytes),    "on NVMe drives, of one process") \
    X(NUMBER, paged_bytes,          MFU_BYTES, round(p->memory.paged_bytes),    "of optimizer states that CUDA moves by pages, outside PyTorch's allocator") \
    X(NUMBER, evicted_bytes,        MFU_BYTES, round(p->memory.evicted_bytes),  "of these in the host's memory, since the GPU is full") \
    X(NUMBER, host_node_bytes,      MFU_BYTES, round(p->memory.host_node_bytes), "of all processes of a machine") \
    X(MAYBE_NUMBER, host_capacity_bytes, MFU_BYTES, p->memory.host_capacity_bytes, "memory of such a machine; missing: nobody says") \
    X(TEXT,   peak_at,              0,         p->memory.peak_at,               "the moment of the peak") \
    X(MADE_LIST, peak_tensors,      &tensor,   make_tensors(p, v),              "the largest tensors at the peak; of a pipeline those of one microbatch, in `memory` alone")
MFU_FIELDS(memory, const struct mfu_plan *p, MEMORY)
const struct mfu_record mfu_record_memory = MFU_RECORD(memory, .command = "memory", .rows = "parts");

/* ---- of a pipeline --------------------------------------------------------- */

#define STAGE(X) \
    X(NUMBER, stage,      MFU_COUNT,   s->number,     "from 0") \
    X(NUMBER, layers,     MFU_COUNT,   s->layers,     "of the model's layers") \
    X(NUMBER, forward_s,  MFU_SECONDS, s->forward_s,  "of one microbatch") \
    X(NUMBER, backward_s, MFU_SECONDS, s->backward_s, "of one microbatch") \
    X(NUMBER, idle_s,     MFU_SECONDS, s->idle_s,     "of a step, in which it waits for other stages") \
    X(NUMBER, bubble_s,   MFU_SECONDS, s->idle_s - s->imbalance_s, "of it: filling and draining the pipeline, messages under way") \
    X(NUMBER, imbalance_s, MFU_SECONDS, s->imbalance_s, "of it: it computes less than the busiest stage") \
    X(NUMBER, sends_s,    MFU_SECONDS, s->waits_s,    "of a step, in which its own messages keep it from computing") \
    X(NUMBER, after_s,    MFU_SECONDS, s->after_s,    "once a step: sums of gradients that nothing hides, the optimizer") \
    X(NUMBER, in_flight,  MFU_COUNT,   s->in_flight,  "microbatches whose activations it holds") \
    X(MADE_LIST, parts,   &part,       make_parts(&s->memory.peak, v), "a partition of peak_allocated_bytes") \
    X(NUMBER, peak_allocated_bytes, MFU_BYTES, round(s->memory.peak.bytes), "at the highest moment") \
    X(FLAG,   fits,       0,           s->memory.fits, "whether its memory suffices")
MFU_FIELDS(stage, const struct mfu_stage *s, STAGE)
const struct mfu_record mfu_record_stage = MFU_RECORD(stage, .rows = NULL);

#define STAGES(X) \
    X(TEXT, view, 0, "stages", "stages") \
    X(LIST, stages, &mfu_record_stage, (p->stages, p->n_stages), "of the pipeline; none without one")
MFU_FIELDS(memory_stages, const struct mfu_plan *p, STAGES)
const struct mfu_record mfu_record_stages = MFU_RECORD(memory_stages, .command = "memory", .rows = "stages");

/* ---- through the step ------------------------------------------------------ */

static void put_index(int i, struct mfu_value *v)
{
    mfu_value_number(v, i < 0 ? (double)NAN : i);
}

#define SPAN(X) \
    X(TEXT,   phase,      0,           mfu_phase_names[s->phase],    "what runs") \
    X(SCALAR, micro_step, 0,           put_index(s->micro_step, v),  "from 0; null: the optimizer") \
    X(NUMBER, begin_s,    MFU_SECONDS, s->begin_s,                   "from the beginning of the step") \
    X(NUMBER, end_s,      MFU_SECONDS, s->end_s,                     "from the beginning of the step")
MFU_PART_RECORD(span, const struct mfu_memory_timeline_span *s, SPAN)

static const char *part_at(const void *point, size_t i, struct mfu_value *v)
{
    const struct mfu_memory_timeline_point *x = point;

    for (int k = 0; k < MFU_PART_COUNT; k++)
        if (x->parts[k] > 0 && i-- == 0) {
            mfu_value_number(v, trunc(x->parts[k]));
            return mfu_part_names[k];
        }
    return NULL;
}

#define SAMPLE(X) \
    X(NUMBER, time_s,          MFU_SECONDS, x->time_s,               "from the beginning of the step") \
    X(SCALAR, launch,          0,           put_index(x->launch, v), "number of the kernel; null: none") \
    X(TEXT,   phase,           0,           mfu_phase_names[x->phase], "what runs") \
    X(NUMBER, allocated_bytes, MFU_BYTES,   x->allocated,            "in tensors") \
    X(NUMBER, reserved_bytes,  MFU_BYTES,   x->reserved,             "by the caching allocator") \
    X(MAP,    parts,           0,           (v->object = x, v->entry = part_at), "bytes of each part that holds any")
MFU_PART_RECORD(sample, const struct mfu_memory_timeline_point *x, SAMPLE)

static void make_samples(const struct mfu_memory_timeline *t, struct mfu_value *v)
{
    struct mfu_memory_timeline_point *list = mfu_value_own(v, SAMPLES, sizeof *list);
    size_t chosen[SAMPLES] = {0};

    if (!list)
        return;
    v->n = mfu_memory_timeline_thin(t, SAMPLES, chosen);
    for (size_t i = 0; i < v->n; i++)
        list[i] = t->points[chosen[i]];
}

#define TIMELINE(X) \
    X(TEXT,   view,                 0,           "timeline",                     "timeline") \
    X(NUMBER, capacity_bytes,       MFU_BYTES,   a->plan->memory.capacity_bytes, "memory that the card offers to a process") \
    X(NUMBER, peak_allocated_bytes, MFU_BYTES,   a->timeline->highest_allocated, "most bytes in tensors") \
    X(NUMBER, peak_reserved_bytes,  MFU_BYTES,   a->timeline->highest_reserved,  "most bytes of the caching allocator") \
    X(NUMBER, seconds,              MFU_SECONDS, a->timeline->seconds,           "of all samples") \
    X(LIST,   spans,                &span,       (a->timeline->spans, a->timeline->n_spans), "which phase runs when") \
    X(NUMBER, samples_of,           MFU_COUNT,   (double)a->timeline->n,         "events from which the samples were chosen") \
    X(MADE_LIST, samples,           &sample,     make_samples(a->timeline, v),   "at most 500, maxima kept")
MFU_FIELDS(memory_timeline, const struct mfu_timeline_answer *a, TIMELINE)
const struct mfu_record mfu_record_timeline = MFU_RECORD(memory_timeline, .command = "memory", .rows = "samples");
// clang-format on
