/*
 * timeline.c - samples of memory over one steady step.
 */
#include "plan/memory_timeline.h"
#include "report/json/json.h"
#include "report/timeline.h"

#define MOST 500

static json_t *spans(const struct mfu_memory_timeline *c)
{
    json_t *list = json_array();

    for (int i = 0; i < c->n_spans; i++) {
        json_t *o = json_object();

        mfu_json_put_text(&o, "phase", mfu_phase_names[c->spans[i].phase]);
        mfu_json_put(&o, "micro_step", c->spans[i].micro_step < 0 ? json_null() : json_integer(c->spans[i].micro_step));
        mfu_json_put_number(&o, "begin_s", c->spans[i].begin_s);
        mfu_json_put_number(&o, "end_s", c->spans[i].end_s);
        mfu_json_append(&list, o);
    }
    return list;
}

static json_t *parts(const struct mfu_memory_timeline_point *x)
{
    json_t *o = json_object();

    for (int k = 0; k < MFU_PART_COUNT; k++)
        if (x->parts[k] > 0)
            mfu_json_put_number(&o, mfu_part_names[k], (double)(long long)x->parts[k]);
    return o;
}

json_t *mfu_json_timeline(const struct mfu_plan *p, const struct mfu_memory_timeline *c)
{
    size_t chosen[MOST], n = mfu_memory_timeline_thin(c, MOST, chosen);
    json_t *o = mfu_json_answer("memory"), *list = json_array();

    for (size_t i = 0; i < n; i++) {
        const struct mfu_memory_timeline_point *x = &c->points[chosen[i]];
        json_t *sample = json_object();

        mfu_json_put_number(&sample, "time_s", x->time_s);
        mfu_json_put(&sample, "launch", x->launch < 0 ? json_null() : json_integer(x->launch));
        mfu_json_put_text(&sample, "phase", mfu_phase_names[x->phase]);
        mfu_json_put_number(&sample, "allocated_bytes", x->allocated);
        mfu_json_put_number(&sample, "reserved_bytes", x->reserved);
        mfu_json_put(&sample, "parts", parts(x));
        mfu_json_append(&list, sample);
    }
    mfu_json_put_text(&o, "view", "timeline");
    mfu_json_put_number(&o, "capacity_bytes", p->memory.capacity_bytes);
    mfu_json_put_number(&o, "peak_allocated_bytes", c->highest_allocated);
    mfu_json_put_number(&o, "peak_reserved_bytes", c->highest_reserved);
    mfu_json_put_number(&o, "seconds", c->seconds);
    mfu_json_put(&o, "spans", spans(c));
    mfu_json_put_number(&o, "samples_of", (double)c->n);
    mfu_json_put(&o, "samples", list);
    return o;
}
