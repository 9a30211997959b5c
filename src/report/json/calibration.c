/*
 * calibration.c - what a calibration found, and those that are kept.
 */
#include <math.h>

#include "answer/fit/calibrate.h"
#include "report/json/json.h"
#include "report/report.h"

static json_t *row(const struct mfu_calibrated *c, const struct mfu_fit_row *r)
{
    json_t *o = json_object();

    mfu_json_put_text(&o, "name", mfu_coefficient_rows[r->id].name);
    mfu_json_put_number(&o, "value", r->value);
    mfu_json_put_number(&o, "stderr", r->value * r->sigma);
    mfu_json_put_text(&o, "unit", mfu_dim_unit(mfu_coefficient_rows[r->id].dim));
    mfu_json_put_number(&o, "prior", r->prior);
    mfu_json_put_text(&o, "source", mfu_calibrated_source(c, r));
    return o;
}

static json_t *residuals(const struct mfu_fit_residuals *r)
{
    json_t *o = json_object();

    mfu_json_put_text(&o, "class", r->name);
    mfu_json_put_number(&o, "n", (double)r->n);
    mfu_json_put_number(&o, "mape_before", r->before);
    mfu_json_put_number(&o, "mape", r->mape);
    mfu_json_put_number(&o, "median", r->median);
    mfu_json_put_number(&o, "bias", r->bias);
    return o;
}

/* The calibration of other measurements that it started from. */
static json_t *started_from(const struct mfu_calibration_base *base)
{
    json_t *o;

    if (!base->from[0])
        return json_null();
    o = json_object();
    mfu_json_put_text(&o, "from", base->from);
    mfu_json_put_text(&o, "date", base->date);
    mfu_json_put_number(&o, "samples", base->samples);
    return o;
}

json_t *mfu_json_calibrated(const struct mfu_calibrated *c)
{
    json_t *o = mfu_json_answer("calibrate"), *rows = json_array(), *classes = json_array();

    for (int i = 0; i < c->fit.n_rows; i++)
        mfu_json_append(&rows, row(c, &c->fit.rows[i]));
    for (int i = 0; i < c->fit.n_classes; i++)
        mfu_json_append(&classes, residuals(&c->fit.classes[i]));
    mfu_json_put_text(&o, "gpu", c->gpu->slug);
    mfu_json_put(&o, "coefficients", rows);
    mfu_json_put_number(&o, "samples", c->file.samples);
    mfu_json_put_number(&o, "mape", c->fit.all.mape);
    mfu_json_put_number(&o, "mape_before", c->fit.all.before);
    mfu_json_put_number(&o, "mape_held_out", c->fit.mape_held_out);
    mfu_json_put(&o, "residuals", classes);
    mfu_json_put_number(&o, "left_out", (double)c->n_left_out);
    mfu_json_put(&o, "started_from", started_from(&c->file.base));
    mfu_json_put_text(&o, "replaced", c->replaces[0] ? c->replaces : NULL);
    mfu_json_put_text(&o, "calibration", c->file.name);
    return o;
}

json_t *mfu_json_calibrations(const struct mfu_calibration *list, size_t n)
{
    json_t *o = mfu_json_answer("calibrate"), *rows = json_array();

    for (size_t i = 0; i < n; i++) {
        json_t *one = json_object();

        mfu_json_put_text(&one, "name", list[i].name);
        mfu_json_put_text(&one, "gpu", list[i].gpu);
        mfu_json_put_text(&one, "date", list[i].date);
        mfu_json_put_text(&one, "software", list[i].software);
        mfu_json_put_text(&one, "from", list[i].from);
        mfu_json_put(&one, "started_from", started_from(&list[i].base));
        mfu_json_put_number(&one, "samples", list[i].samples);
        mfu_json_put_number(&one, "mape", list[i].mape);
        mfu_json_put_number(&one, "mape_held_out", list[i].mape_held_out);
        mfu_json_append(&rows, one);
    }
    mfu_json_put(&o, "calibrations", rows);
    return o;
}
