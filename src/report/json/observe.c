/*
 * observe.c - a measured run beside its prediction.
 */
#include <math.h>
#include <string.h>

#include "answer/observe/observe.h"
#include "report/json/json.h"
#include "report/report.h"

/* Texts that come out of a log may be anything. */
static json_t *text(const char *s)
{
    json_t *o = json_string(s);

    return o ? o : json_null();
}

static json_t *dropped(const struct mfu_observation *r)
{
    json_t *list = json_array();

    for (int i = 0; i < r->n_dropped; i++) {
        json_t *o = json_object();

        mfu_json_put_text(&o, "reason", r->dropped[i].reason);
        mfu_json_put_number(&o, "count", (double)r->dropped[i].count);
        mfu_json_append(&list, o);
    }
    return list;
}

static json_t *configuration(const struct mfu_observation *r)
{
    json_t *o = json_object();

    mfu_json_put_text(&o, "gpu", r->plan.scenario.gpu->slug);
    mfu_json_put_text(&o, "model", r->plan.scenario.model->slug);
    for (int i = 0; i < r->n_understood; i++) {
        const struct mfu_understood *u = &r->understood[i];

        if (u->choice)
            mfu_json_put_text(&o, u->key, u->choice);
        else
            mfu_json_put_number(&o, u->key, u->value);
    }
    return o;
}

static json_t *origins(const struct mfu_observation *r)
{
    json_t *o = json_object();

    for (int i = 0; i < r->n_understood; i++)
        mfu_json_put_text(&o, r->understood[i].key, r->understood[i].origin);
    return o;
}

static json_t *measured(const struct mfu_observation *r)
{
    json_t *o = json_object();

    for (int i = 0; i < MFU_FIGURE_COUNT; i++)
        if (i != MFU_FIGURE_STEP
            && (!isnan(r->figure[i]) || i == MFU_FIGURE_TIME || i == MFU_FIGURE_MFU || i == MFU_FIGURE_TOKENS_PER_S
                || i == MFU_FIGURE_ALLOCATED))
            mfu_json_put_number(&o, mfu_figure_rows[i].key, r->figure[i]);
    mfu_json_put_number(&o, "step_time_spread", r->spread);
    mfu_json_put_number(&o, "tokens_per_step", r->tokens_per_step);
    mfu_json_put_number(&o, "mfu", r->mfu);
    if (!isnan(r->params))
        mfu_json_put_number(&o, "params_stated", r->params);
    if (r->convention) {
        mfu_json_put_text(&o, "mfu_convention", r->convention);
        mfu_json_put(&o, "mfu_convention_assumed", json_boolean(r->convention_assumed));
        mfu_json_put_number(&o, "mfu_peak_flops", r->peak_flops);
    }
    return o;
}

static json_t *compared(const struct mfu_observation *r)
{
    json_t *list = json_array();

    for (int i = 0; i < r->n_compared; i++) {
        const struct mfu_compared *c = &r->compared[i];
        json_t *o = json_object();

        mfu_json_put_text(&o, "figure", c->name);
        mfu_json_put_number(&o, "measured", c->measured);
        mfu_json_put_number(&o, "predicted", c->predicted);
        mfu_json_put_number(&o, "low", c->low);
        mfu_json_put_number(&o, "high", c->high);
        mfu_json_append(&list, o);
    }
    return list;
}

static json_t *candidates(const struct mfu_observation *r)
{
    json_t *list = json_array();

    for (int i = 0; i < r->n_candidates; i++) {
        const struct mfu_candidate *c = &r->candidates[i];
        json_t *o = json_object();

        mfu_json_put_text(&o, "change", c->change);
        mfu_json_put_number(&o, "step_time_s", c->step_time_s);
        mfu_json_put_number(&o, "share_of_gap", c->share);
        mfu_json_put_text(&o, "confirm", c->confirm);
        mfu_json_append(&list, o);
    }
    return list;
}

static json_t *findings(const struct mfu_observation *r)
{
    json_t *list = json_array();

    for (int i = 0; i < r->n_findings; i++) {
        const struct mfu_finding *f = &r->findings[i];
        bool gap = strstr(f->code, "-than-predicted") || strcmp(f->code, "batch-unstated") == 0;
        json_t *o = json_object();

        mfu_json_put_text(&o, "code", f->code);
        mfu_json_put(&o, "message", text(f->message));
        if (!isnan(f->peak_flops)) {
            mfu_json_put_number(&o, "peak_flops", f->peak_flops);
            mfu_json_put_number(&o, "mfu", f->mfu);
        }
        if (!isnan(f->implied_params)) {
            mfu_json_put_number(&o, "implied_params", f->implied_params);
            mfu_json_put_number(&o, "stated_params", f->stated_params);
            mfu_json_put_number(&o, "implied_n_embd", f->implied_n_embd);
        }
        if (gap)
            mfu_json_put(&o, "candidates", candidates(r));
        mfu_json_append(&list, o);
    }
    return list;
}

static json_t *notes(const struct mfu_observation *r)
{
    json_t *list = json_array();

    for (int i = 0; i < r->n_notes; i++)
        mfu_json_append(&list, text(r->notes[i]));
    return list;
}

json_t *mfu_json_observation(const struct mfu_observation *r)
{
    json_t *o = mfu_json_answer("observe");

    mfu_json_put_text(&o, "source", r->source);
    mfu_json_put_number(&o, "lines_used", (double)r->lines_used);
    mfu_json_put_number(&o, "first_line", r->first_line);
    mfu_json_put_number(&o, "last_line", r->last_line);
    mfu_json_put(&o, "lines_dropped", dropped(r));
    mfu_json_put(&o, "configuration", configuration(r));
    mfu_json_put(&o, "origins", origins(r));
    mfu_json_put(&o, "measured", measured(r));
    mfu_json_put(&o, "predicted", r->predicted ? mfu_json_plan(&r->plan) : json_null());
    if (!r->predicted)
        mfu_json_put(&o, "not_predicted_because", text(r->why_not));
    mfu_json_put(&o, "compared", compared(r));
    mfu_json_put(&o, "findings", findings(r));
    mfu_json_put(&o, "notes", notes(r));
    return o;
}
