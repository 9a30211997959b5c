/*
 * why.c - explanations, levers and whole runs as JSON.
 */
#include <math.h>
#include <string.h>

#include "answer/advise/advise.h"
#include "plan/train.h"
#include "answer/why/why.h"
#include "report/json/json.h"
#include "report/report.h"
#include "scenario/setting.h"

/* ---- why ----------------------------------------------------------------- */

static json_t *part(const struct mfu_why *w, const struct mfu_why_part *p)
{
    json_t *o = json_object();

    mfu_json_put_text(&o, "name", p->name);
    mfu_json_put(&o, "fraction", json_real(p->fraction));
    if (!isnan(p->amount))
        mfu_json_put_number(&o, w->dim == MFU_BYTES ? "bytes" : "seconds", p->amount);
    mfu_json_put_text(&o, "says", p->says);
    if (p->command[0])
        mfu_json_put_text(&o, "command", p->command);
    return o;
}

/* Parts, each with the parts that it consists of. */
static json_t *parts(const struct mfu_why *w)
{
    json_t *list = json_array();

    for (int i = 0; i < w->n_parts;) {
        json_t *o = part(w, &w->parts[i++]), *inner = i < w->n_parts && w->parts[i].leaf ? json_array() : NULL;
        bool has = inner != NULL;

        for (; i < w->n_parts && w->parts[i].leaf; i++)
            mfu_json_append(&inner, part(w, &w->parts[i]));
        if (has)
            mfu_json_put(&o, "parts", inner);
        mfu_json_append(&list, o);
    }
    return list;
}

static json_t *findings(const struct mfu_why *w)
{
    json_t *list = json_array();

    for (int i = 0; i < w->n_symptoms; i++) {
        json_t *o = json_object();

        mfu_json_put_text(&o, "code", w->symptoms[i].code);
        mfu_json_put_text(&o, "claim", w->symptoms[i].claim);
        mfu_json_put_text(&o, "message", w->symptoms[i].text);
        mfu_json_put_number(&o, "share", w->symptoms[i].share);
        mfu_json_append(&list, o);
    }
    return list;
}

static json_t *rows(const struct mfu_why *w)
{
    json_t *list = json_array();

    for (int i = 0; i < w->n_rows; i++) {
        const struct mfu_why_row *r = &w->rows[i];
        json_t *o = json_object();

        mfu_json_put_number(&o, "batch", r->batch);
        mfu_json_put_number(&o, "accum", r->accum);
        mfu_json_put_number(&o, "step_time_s", r->step_s);
        mfu_json_put_number(&o, "tokens_per_s", r->tokens_per_s);
        mfu_json_put_number(&o, "mfu", r->mfu);
        mfu_json_put_number(&o, "memory_bytes", r->memory_bytes);
        mfu_json_put(&o, "fits", json_boolean(r->fits));
        mfu_json_append(&list, o);
    }
    return list;
}

json_t *mfu_json_why(const struct mfu_why *w)
{
    json_t *o = mfu_json_answer("why"), *text = json_array();

    mfu_json_put_text(&o, "topic", w->topic);
    mfu_json_put_number(&o, "total", w->total);
    mfu_json_put_text(&o, "whole", w->whole);
    mfu_json_put(&o, "parts", parts(w));
    if (w->n_rows > 0)
        mfu_json_put(&o, "rows", rows(w));
    for (int i = 0; i < w->n_lines; i++)
        mfu_json_append(&text, json_string(w->lines[i]));
    mfu_json_put(&o, "text", text);
    mfu_json_put(&o, "findings", findings(w));
    if (strcmp(w->topic, "mfu") == 0) { /* null: nothing fits */
        mfu_json_put_number(&o, "ceiling_mfu", w->ceiling);
        mfu_json_put_text(&o, "ceiling_change", w->ceiling_change);
        mfu_json_put(&o, "ceiling_changes_mathematics", json_boolean(w->ceiling_mathematics));
        mfu_json_put(&o, "ceiling_keeps_tokens_per_step", json_boolean(!w->ceiling_tokens));
    }
    return o;
}

/* ---- advise -------------------------------------------------------------- */

static void put_key(json_t **o, const struct mfu_scenario *s, struct mfu_key key, double value)
{
    if (key.kind == MFU_KEY_DIM)
        mfu_json_put_number(o, s->model->dims[key.id].name, value);
    else if (mfu_settings[key.id].choices == mfu_switch_names)
        mfu_json_put(o, mfu_settings[key.id].key, json_boolean(value > 0));
    else if (mfu_settings[key.id].choices)
        mfu_json_put_text(o, mfu_settings[key.id].key, mfu_settings[key.id].choices[(int)value]);
    else
        mfu_json_put_number(o, mfu_settings[key.id].key, value);
}

static void put_outcome(json_t **o, const struct mfu_outcome *out, double speedup)
{
    mfu_json_put_number(o, "step_time_s", out->step_s);
    mfu_json_put_number(o, "tokens_per_step", out->tokens);
    mfu_json_put_number(o, "speedup", speedup);
    mfu_json_put_number(o, "memory_bytes", out->memory_bytes);
    mfu_json_put(o, "fits", json_boolean(out->fits));
    mfu_json_put_number(o, "mfu", out->mfu);
    mfu_json_put_number(o, "hfu", out->hfu);
}

static json_t *lever(const struct mfu_lever *l)
{
    static const char *const verdicts[] = {"faster", "smaller", "too large", "not worth it"};
    json_t *o = json_object(), *keys = json_object();

    for (int i = 0; i < l->n_set; i++)
        put_key(&keys, &l->scenario, l->set[i].key, l->set[i].value);
    if (!l->row)
        mfu_json_put_text(&keys, "gpu", l->scenario.gpu->slug);
    mfu_json_put_text(&o, "change", l->change);
    mfu_json_put_text(&o, "name", l->row ? l->row->name : "another GPU");
    mfu_json_put(&o, "keys", keys);
    put_outcome(&o, &l->outcome, l->speedup);
    mfu_json_put(&o, "keeps_tokens_per_step", json_boolean(l->keeps_tokens_per_step));
    mfu_json_put(&o, "changes_mathematics", json_boolean(l->changes_mathematics));
    mfu_json_put(&o, "needs_hardware", json_boolean(l->hardware));
    mfu_json_put_text(&o, "verdict", verdicts[l->verdict]);
    mfu_json_put_text(&o, "why", l->why);
    mfu_json_put_text(&o, "risk", l->row ? l->row->risk : "");
    return o;
}

static json_t *combination(const struct mfu_advice *a, const struct mfu_combination *c)
{
    json_t *o = json_object(), *changes = json_array(), *keys = json_object();

    for (int i = 0; i < c->n; i++) {
        const struct mfu_lever *l = &a->levers[c->levers[i]];

        mfu_json_append(&changes, json_string(l->change));
        for (int k = 0; k < l->n_set; k++) /* as they are together */
            put_key(&keys, &c->scenario, l->set[k].key, mfu_scenario_value(&c->scenario, l->set[k].key));
    }
    mfu_json_put(&o, "changes", changes);
    mfu_json_put(&o, "keys", keys);
    put_outcome(&o, &c->outcome, c->speedup);
    mfu_json_put(&o, "keeps_tokens_per_step", json_boolean(c->keeps_tokens_per_step));
    mfu_json_put(&o, "changes_mathematics", json_boolean(c->changes_mathematics));
    mfu_json_put_text(&o, "why", c->why);
    return o;
}

json_t *mfu_json_advice(const struct mfu_advice *a)
{
    json_t *o = mfu_json_answer("advise"), *levers = json_array(), *refused = json_array(), *base = json_object();

    put_outcome(&base, &a->base, 1);
    mfu_json_put(&o, "now", base);
    for (int i = 0; i < a->n_levers; i++)
        mfu_json_append(&levers, lever(&a->levers[i]));
    mfu_json_put(&o, "levers", levers);
    mfu_json_put(&o, "best", combination(a, &a->best));
    mfu_json_put(&o, "best_with_other_mathematics", combination(a, &a->best_any));
    mfu_json_put(&o, "highest_mfu", combination(a, &a->highest));
    for (int i = 0; i < a->n_refused; i++) {
        json_t *r = json_object();

        mfu_json_put_text(&r, "change", a->refused[i].change);
        mfu_json_put_text(&r, "reason", a->refused[i].reason);
        mfu_json_append(&refused, r);
    }
    mfu_json_put(&o, "not_possible", refused);
    mfu_json_put_number(&o, "ceiling_mfu", a->ceiling);
    mfu_json_put_number(&o, "simulated", a->simulated);
    return o;
}

/* ---- train --------------------------------------------------------------- */

json_t *mfu_json_training(const struct mfu_training *t)
{
    json_t *o = mfu_json_answer("train");

    mfu_json_put_number(&o, "tokens", t->tokens);
    mfu_json_put_number(&o, "useful_tokens", t->useful_tokens);
    mfu_json_put_number(&o, "seconds", t->seconds);
    mfu_json_put_number(&o, "seconds_low", t->low_s);
    mfu_json_put_number(&o, "seconds_high", t->high_s);
    mfu_json_put_number(&o, "gpu_hours", t->gpu_hours);
    mfu_json_put_number(&o, "cost", t->cost);
    mfu_json_put_number(&o, "energy_j", t->energy_j);
    mfu_json_put_number(&o, "energy_cost", t->energy_cost);
    mfu_json_put_number(&o, "steps", t->steps);
    mfu_json_put_number(&o, "gpus", t->gpus);
    mfu_json_put_number(&o, "power_w", t->power_w);
    mfu_json_put_number(&o, "goodput", t->goodput);
    mfu_json_put_number(&o, "failures", t->failures);
    mfu_json_put_number(&o, "checkpoint_interval_s", t->interval_s);
    mfu_json_put_number(&o, "tokens_per_s", t->tokens_per_s);
    mfu_json_put_number(&o, "useful_tokens_per_s", t->useful_tokens_per_s);
    mfu_json_put_number(&o, "useful_tokens_per_gpu_hour", t->useful_per_gpu_hour);
    mfu_json_put_number(&o, "useful_mfu", t->useful_mfu);
    return o;
}
