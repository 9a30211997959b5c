/*
 * memory.c - the memory of a step at its highest moment.
 */
#include <math.h>

#include "report/json/json.h"
#include "report/report.h"
#include "report/tensors.h"

#define TENSORS 12

/* Whole bytes that sum to the rounded total: each part ends where the sum of
 * the parts so far, rounded, ends. */
static json_t *parts(const struct mfu_peak_memory *peak)
{
    json_t *list = json_array();
    double before = 0, sum = 0;

    for (int i = 0; i < MFU_PART_COUNT; i++) {
        json_t *o = json_object();

        sum += peak->parts[i];
        mfu_json_put_text(&o, "name", mfu_part_names[i]);
        mfu_json_put_number(&o, "bytes", round(sum) - round(before));
        mfu_json_append(&list, o);
        before = sum;
    }
    return list;
}

static json_t *tensors(const struct mfu_plan *p)
{
    struct mfu_alive alive[TENSORS];
    int n = mfu_report_tensors(p, alive, TENSORS);
    json_t *list = n < 0 ? NULL : json_array();

    for (int i = 0; i < n; i++) {
        char name[96];
        json_t *o = json_object();

        mfu_json_put_text(&o, "name", mfu_report_tensor_name(&alive[i], name, sizeof name));
        mfu_json_put_text(&o, "phase", mfu_phase_names[alive[i].phase]);
        mfu_json_put_text(&o, "part", mfu_part_names[alive[i].part]);
        mfu_json_put_number(&o, "bytes", alive[i].bytes);
        mfu_json_put_number(&o, "copies", alive[i].copies);
        mfu_json_append(&list, o);
    }
    return list;
}

json_t *mfu_json_memory_body(const struct mfu_plan *p)
{
    const struct mfu_memory_answer *m = &p->memory;
    json_t *o = json_object();

    mfu_json_put(&o, "fits", json_boolean(m->fits));
    if (m->failed_in[0]) {
        json_t *failure = json_object();

        mfu_json_put_text(&failure, "in", m->failed_in);
        mfu_json_put_text(&failure, "message", m->message);
        mfu_json_put(&o, "out_of_memory", failure);
    }
    mfu_json_put_number(&o, "capacity_bytes", round(m->capacity_bytes));
    mfu_json_put(&o, "capacity_assumed", json_boolean(m->capacity_assumed));
    mfu_json_put(&o, "parts", parts(&m->peak));
    mfu_json_put_number(&o, "peak_allocated_bytes", round(m->peak.bytes));
    mfu_json_put_number(&o, "peak_reserved_bytes", round(m->reserved_bytes));
    mfu_json_put_number(&o, "context_bytes", round(m->context_bytes));
    mfu_json_put_number(&o, "smi_used_bytes", round(m->smi_bytes));
    mfu_json_put_number(&o, "fill", m->fill);
    mfu_json_put_number(&o, "missing_bytes", round(m->missing_bytes));
    mfu_json_put(&o, "fragmented", json_boolean(m->fragmented));
    mfu_json_put_text(&o, "peak_at", m->peak_at);
    mfu_json_put(&o, "peak_tensors", tensors(p));
    return o;
}

json_t *mfu_json_memory(const struct mfu_plan *p)
{
    return mfu_json_command("memory", mfu_json_memory_body(p));
}
