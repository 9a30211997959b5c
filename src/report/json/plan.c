/*
 * plan.c - the whole answer to a scenario.
 */
#include "report/json/json.h"
#include "report/report.h"
#include "scenario/setting.h"

/* Every setting and dim as it was resolved; choices by their names. */
json_t *mfu_json_scenario(const struct mfu_config *c)
{
    json_t *o = json_object();

    mfu_json_put_text(&o, "gpu", c->gpu->slug);
    mfu_json_put(&o, "cluster", c->cluster ? json_string(c->cluster->slug) : json_null());
    mfu_json_put_text(&o, "model", c->model->slug);
    for (int i = 0; i < MFU_SETTING_COUNT; i++) {
        const struct mfu_setting *row = &mfu_settings[i];

        if (row->choices)
            mfu_json_put_text(&o, row->key, row->choices[(int)c->setting[i]]);
        else
            mfu_json_put_number(&o, row->key, c->setting[i]);
    }
    for (int i = 0; i < c->model->n_dims; i++)
        mfu_json_put_number(&o, c->model->dims[i].name, c->dim[i]);
    return o;
}

static json_t *params(const struct mfu_program *g)
{
    json_t *o = json_object();

    mfu_json_put_number(&o, "total", g->params);
    mfu_json_put_number(&o, "trainable", g->trainable_params);
    mfu_json_put_number(&o, "non_embedding", g->non_embedding_params);
    mfu_json_put_number(&o, "active", g->active_params);
    return o;
}

/* What nobody said: a reader should know. */
static json_t *assumed(const struct mfu_plan *p)
{
    json_t *list = json_array();

    if (!p->scenario.gpu_given)
        mfu_json_append(&list, json_sprintf("gpu=%s", p->config.gpu->slug));
    if (!p->scenario.model_given)
        mfu_json_append(&list, json_sprintf("model=%s", p->config.model->slug));
    if (p->memory.capacity_assumed)
        mfu_json_append(&list, json_sprintf("capacity_bytes=%.0f", p->memory.capacity_bytes));
    return list;
}

json_t *mfu_json_plan(const struct mfu_plan *p)
{
    json_t *o = mfu_json_answer("plan");

    mfu_json_put(&o, "scenario", mfu_json_scenario(&p->config));
    mfu_json_put(&o, "params", params(&p->program));
    mfu_json_put(&o, "memory", mfu_json_memory_body(p));
    mfu_json_put(&o, "step", mfu_json_step_body(p));
    mfu_json_put(&o, "mfu", mfu_json_mfu_body(p));
    mfu_json_put_text(&o, "bound", mfu_limit_names[p->limit]);
    mfu_json_put(&o, "fits", json_boolean(p->memory.fits));
    mfu_json_put(&o, "assumed", assumed(p));
    return o;
}
