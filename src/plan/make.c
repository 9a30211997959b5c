/*
 * make.c - the whole path, once: scenario, program, prices, lifetimes; or stage by
 * stage, where a pipeline has several.
 */
#include "base/error.h"
#include "graph/graph.h"
#include "plan/stages.h"
#include "scenario/setting.h"

/* The program of the config: the one at hand if only its surroundings differ, as in
 * most sweeps; scaled, if its batch does, too. */
static int take_program(struct mfu_plan *p, bool same, bool scales, struct mfu_error *err)
{
    bool scaled = !same && scales && mfu_scale_to(&p->scale, &p->program, p->config.batch);

    if (same || scaled) {
        mfu_program_accumulate(&p->program, p->config.accum);
        return 0;
    }
    p->built = mfu_graph_build(&p->config, false, &p->program, err) == 0;
    if (!p->built)
        return -1;
    if (scales)
        mfu_scale_learn(&p->scale, &p->program, p->config.batch);
    else
        mfu_scale_start(&p->scale, p->config.batch);
    return 0;
}

static int take_over(struct mfu_plan *p, const struct mfu_scenario *scenario, struct mfu_error *err)
{
    struct mfu_config next;
    bool same, scales;

    if (mfu_scenario_resolve(scenario, &next, err) < 0)
        return -1;
    p->built &= next.setting[MFU_S_PP] <= 1; /* else stage by stage, in mfu_stages_plan() */
    same = p->built && mfu_graph_same(&next, &p->config);
    scales = p->built && mfu_graph_scales(&next, &p->config);
    p->peak_known &= same;
    p->read = next.setting[MFU_S_PP] > 1 && mfu_stages_same(p, &next, scenario);
    p->scenario = *scenario;
    p->config = next;
    p->config.scenario = &p->scenario;
    return next.setting[MFU_S_PP] > 1 ? 0 : take_program(p, same, scales, err);
}

static int make(struct mfu_plan *p, const struct mfu_scenario *scenario, bool fitting, struct mfu_error *err)
{
    if (take_over(p, scenario, err) < 0)
        return -1;
    mfu_machine_make(&p->config, &p->machine);
    if (p->config.setting[MFU_S_PP] > 1)
        return mfu_stages_plan(p, err) < 0 ? -1 : fitting && !p->memory.fits;
    p->n_stages = p->shown_stage = p->worst_stage = 0;
    p->read = false;
    p->bubble = 0;
    if (fitting && mfu_plan_weigh(p, err) < 0)
        return -1;
    if (fitting && !p->memory.fits)
        return 1;
    if (mfu_plan_read(p, err) < 0)
        return -1;
    mfu_plan_settle(p);
    return 0;
}

int mfu_plan_make(struct mfu_plan *p, const struct mfu_scenario *scenario, struct mfu_error *err)
{
    return make(p, scenario, false, err);
}

int mfu_plan_make_fitting(struct mfu_plan *p, const struct mfu_scenario *scenario, struct mfu_error *err)
{
    return make(p, scenario, true, err);
}
