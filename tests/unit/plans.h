/*
 * plans.h - plans by name and settings.
 */
#ifndef MFU_TEST_PLANS_H
#define MFU_TEST_PLANS_H

#include "catalog.h"

#include "plan/plan.h"
#include "base/error.h"

/* `settings`: keys and values in turn, ended by NULL; NULL: none. */
static inline void plan(struct mfu_plan *p, const char *gpu, const char *model, const char *const *settings)
{
    struct mfu_error err = {0};
    const struct mfu_gpu *g = mfu_catalog_gpu(catalog, gpu, &err);
    const struct mfu_model *m = mfu_catalog_model(catalog, model, &err);
    struct mfu_scenario s;

    if (!g || !m)
        fail_msg("%s", err.text);
    s = mfu_scenario_start(m, g);
    s.gpu_given = s.model_given = true;
    for (; settings && *settings; settings += 2)
        if (mfu_scenario_set(&s, settings[0], settings[1], &err) < 0)
            fail_msg("%s %s: %s", settings[0], settings[1], err.text);
    if (mfu_plan_make(p, &s, &err) < 0)
        fail_msg("%s", err.text);
}

#endif
