/*
 * roofline.c - ceilings of the GPU and where the kernels are below them.
 */
#include <stdlib.h>

#include "plan/kernels.h"
#include "report/json/json.h"
#include "report/report.h"

static void ceiling(json_t **list, json_t *name, const char *key, double value)
{
    json_t *o = json_object();

    mfu_json_put(&o, "name", name);
    mfu_json_put_number(&o, key, value);
    mfu_json_append(list, o);
}

static json_t *ceilings(const struct mfu_plan *p)
{
    const struct mfu_machine *m = &p->machine;
    const char *peak = mfu_peak_names[p->mfu.peak];
    json_t *list = json_array();

    ceiling(&list, json_sprintf("%s dense peak", peak), "flops_per_s", p->mfu.peak_flops);
    ceiling(&list, json_sprintf("%s sustained by large matmuls", peak), "flops_per_s", m->sustained_flops[p->mfu.peak]);
    if (p->mfu.peak != MFU_PEAK_FP32)
        ceiling(&list, json_string("fp32 peak"), "flops_per_s", m->peak_flops[MFU_PEAK_FP32]);
    ceiling(&list, json_string("DRAM"), "bytes_per_s", m->bandwidth_bytes_s);
    if (m->l2_bytes > 0)
        ceiling(&list, json_string("L2"), "bytes_per_s", m->l2_bytes_s);
    return list;
}

json_t *mfu_json_roofline(const struct mfu_plan *p)
{
    struct mfu_kernel_row *rows;
    int n = mfu_kernel_rows(p, &rows, NULL);
    json_t *o, *list;

    if (n < 0)
        return NULL;
    list = json_array();
    for (int i = 0; i < n; i++) {
        json_t *k = json_object();

        mfu_json_put_text(&k, "name", rows[i].name);
        mfu_json_put_text(&k, "phase", mfu_phase_names[rows[i].phase]);
        mfu_json_put_number(&k, "intensity", rows[i].intensity);
        mfu_json_put_number(&k, "flops_per_s", rows[i].flops_per_s);
        mfu_json_put_number(&k, "share", rows[i].share);
        mfu_json_put_text(&k, "bound", mfu_bound_names[rows[i].price.bound]);
        mfu_json_append(&list, k);
    }
    free(rows);
    o = mfu_json_answer("roofline");
    mfu_json_put(&o, "ceilings", ceilings(p));
    mfu_json_put_number(&o, "ridge", p->mfu.peak_flops / p->machine.bandwidth_bytes_s);
    mfu_json_put(&o, "kernels", list);
    return o;
}
