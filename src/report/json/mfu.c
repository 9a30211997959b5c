/*
 * mfu.c - MFU, and what other programs would call it.
 */
#include "plan/conventions.h"
#include "report/json/json.h"
#include "report/report.h"

static json_t *conventions(const struct mfu_plan *p)
{
    struct mfu_convention all[MFU_CONVENTIONS_MAX];
    size_t n = mfu_conventions(p, all);
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++) {
        json_t *o = json_object();

        mfu_json_put_text(&o, "name", all[i].name);
        mfu_json_put_number(&o, "flops_per_token", all[i].flops_per_token);
        mfu_json_put_number(&o, "peak_flops", all[i].peak_flops);
        mfu_json_put_number(&o, "mfu", all[i].mfu);
        mfu_json_put_text(&o, "counts", all[i].counts);
        mfu_json_put_text(&o, "peak_of", all[i].peak_of);
        mfu_json_append(&list, o);
    }
    return list;
}

json_t *mfu_json_mfu_body(const struct mfu_plan *p)
{
    const struct mfu_mfu_answer *a = &p->mfu;
    json_t *o = json_object();
    char why[320];

    mfu_json_put_number(&o, "mfu", a->mfu);
    mfu_json_put_number(&o, "hfu", a->hfu);
    mfu_json_put_number(&o, "peak_flops", a->peak_flops);
    mfu_json_put_text(&o, "peak", mfu_peak_names[a->peak]);
    mfu_json_put_number(&o, "model_flops_per_step", a->model_flops);
    mfu_json_put_number(&o, "hardware_flops_per_step", a->hardware_flops);
    mfu_json_put_number(&o, "achieved_flops", a->achieved_flops);
    mfu_json_put_number(&o, "use_of_sustained_peak", mfu_use_of_sustained_peak(p));
    if (*mfu_above_one(p, why, sizeof why))
        mfu_json_put_text(&o, "above_one", why);
    mfu_json_put(&o, "conventions", conventions(p));
    return o;
}

json_t *mfu_json_mfu(const struct mfu_plan *p)
{
    return mfu_json_command("mfu", mfu_json_mfu_body(p));
}
