/*
 * validation.c - predictions beside measurements.
 */
#include <math.h>
#include <string.h>

#include "answer/validate/validate.h"
#include "report/json/json.h"
#include "report/report.h"

#define SEPARATOR "; "

/* A text of pieces as a list of texts. */
static json_t *pieces(const char *text)
{
    json_t *list = json_array();

    while (*text) {
        const char *end = strstr(text, SEPARATOR);
        size_t n = end ? (size_t)(end - text) : strlen(text);

        if (n > 0) {
            json_t *piece = json_stringn(text, n);

            mfu_json_append(&list, piece ? piece : json_null()); /* not UTF-8 */
        }
        text += n + (end ? strlen(SEPARATOR) : 0);
    }
    return list;
}

static json_t *row(const struct mfu_validated *r)
{
    json_t *o = json_object();

    mfu_json_put_text(&o, "id", r->id);
    mfu_json_put_text(&o, "source", r->source);
    mfu_json_put_text(&o, "gpu", r->gpu);
    mfu_json_put_text(&o, "runtime", r->runtime);
    mfu_json_put_text(&o, "sharding", r->sharding);
    mfu_json_put_number(&o, "measured_step_s", r->measured_step_s);
    mfu_json_put_number(&o, "predicted_step_s", r->predicted_step_s);
    mfu_json_put_number(&o, "low_s", r->low_s);
    mfu_json_put_number(&o, "high_s", r->high_s);
    mfu_json_put_number(&o, "error", r->error);
    mfu_json_put_number(&o, "measured_allocated_bytes", r->measured_allocated_bytes);
    mfu_json_put_number(&o, "predicted_allocated_bytes", r->predicted_allocated_bytes);
    mfu_json_put_number(&o, "measured_reserved_bytes", r->measured_reserved_bytes);
    mfu_json_put_number(&o, "predicted_reserved_bytes", r->predicted_reserved_bytes);
    mfu_json_put(&o, "ran", r->ran < 0 ? json_null() : json_boolean(r->ran));
    mfu_json_put(&o, "fits", r->skipped[0] ? json_null() : json_boolean(r->fits));
    mfu_json_put(&o, "assumed", pieces(r->assumed));
    mfu_json_put_text(&o, "skipped", r->skipped[0] ? r->skipped : NULL);
    return o;
}

static json_t *summary(const struct mfu_errors_summary *s)
{
    json_t *o = json_object();

    mfu_json_put_number(&o, "n", (double)s->n);
    mfu_json_put_number(&o, "mape", s->n ? s->mape : (double)NAN);
    mfu_json_put_number(&o, "median", s->n ? s->median : (double)NAN);
    mfu_json_put_number(&o, "bias", s->n ? s->bias : (double)NAN);
    mfu_json_put_number(&o, "p90", s->n ? s->p90 : (double)NAN);
    mfu_json_put_text(&o, "worst_id", s->n ? s->worst_id : NULL);
    mfu_json_put_number(&o, "coverage90", s->n ? s->coverage90 : (double)NAN);
    return o;
}

static json_t *fits(const struct mfu_validation *v)
{
    json_t *o = json_object();

    mfu_json_put_number(&o, "ran", (double)v->ran);
    mfu_json_put_number(&o, "ran_called_fit", (double)v->ran_called_fit);
    mfu_json_put_number(&o, "oom", (double)v->oom);
    mfu_json_put_number(&o, "oom_called_oom", (double)v->oom_called_oom);
    return o;
}

json_t *mfu_json_validation(const struct mfu_validation *v)
{
    json_t *o = mfu_json_answer("validate"), *rows = json_array(), *groups = json_array();
    json_t *all = json_object();

    for (size_t i = 0; i < v->n_rows; i++)
        mfu_json_append(&rows, row(&v->rows[i]));
    mfu_json_put(&all, "step", summary(&v->step));
    mfu_json_put(&all, "memory_allocated", summary(&v->allocated));
    mfu_json_put(&all, "memory_reserved", summary(&v->reserved));
    mfu_json_put(&all, "fits", fits(v));
    mfu_json_put(&all, "baseline_constant_mfu", summary(&v->baseline));
    mfu_json_put_number(&all, "skipped", (double)v->n_skipped);
    mfu_json_put_number(&all, "calibrated", (double)v->n_calibrated);
    for (size_t i = 0; i < v->n_groups; i++) {
        json_t *group = json_object();

        mfu_json_put_text(&group, "by", v->groups[i].by);
        mfu_json_put_text(&group, "value", v->groups[i].value);
        mfu_json_put(&group, "step", summary(&v->groups[i].step));
        mfu_json_put(&group, "memory_allocated", summary(&v->groups[i].allocated));
        mfu_json_put(&group, "memory_reserved", summary(&v->groups[i].reserved));
        mfu_json_append(&groups, group);
    }
    mfu_json_put(&o, "rows", rows);
    mfu_json_put(&o, "summary", all);
    mfu_json_put(&o, "groups", groups);
    return o;
}
