/*
 * make.c - the whole path, once: scenario, program, prices, lifetimes; or stage by
 * stage, where a pipeline has several.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "graph/graph.h"
#include "graph/shard.h"
#include "plan/stages.h"
#include "scenario/setting.h"

/* The program of the config: the one at hand if only its surroundings differ, as in
 * most sweeps; scaled, if its batch, its sequence or
 * its data-parallel ranks do, too. */
static int take_program(struct mfu_plan *p, bool same, const struct mfu_size_change *change, struct mfu_error *err)
{
    bool scales = !same && change->by != MFU_SIZES_BY_NONE;

    if (same || (scales && mfu_scale_to(&p->scale, &p->program, change))) {
        p->program.mesh = mfu_mesh_of(&p->config);
        mfu_program_accumulate(&p->program, p->config.accum);
        return 0;
    }
    p->built = mfu_graph_build(&p->config, MFU_LAYERS_COUNTED, &p->program, err) == 0;
    if (!p->built)
        return -1;
    if (scales)
        mfu_scale_learn(&p->scale, &p->program, change);
    else
        mfu_scale_start(&p->scale);
    return 0;
}

static int take_over(struct mfu_plan *p, const struct mfu_scenario *scenario, struct mfu_error *err)
{
    struct mfu_config next;
    struct mfu_size_change change = {0};
    bool same;

    if (mfu_scenario_resolve(scenario, &next, err) < 0)
        return -1;
    p->built &= next.setting[MFU_S_PP] <= 1; /* else stage by stage, in mfu_stages_plan() */
    same = p->built && mfu_graph_same(&next, &p->config);
    if (p->built && !same)
        change = mfu_graph_change(&p->config, &next);
    p->peak_known &= same;
    p->known = next.setting[MFU_S_PP] > 1 ? mfu_stages_keep(p, &next, scenario) : MFU_STAGES_UNKNOWN;
    if (p->known == MFU_STAGES_UNKNOWN)
        p->accumulation.state = MFU_ACCUMULATION_UNKNOWN;
    p->scenario = *scenario;
    p->config = next;
    p->config.scenario = &p->scenario;
    return next.setting[MFU_S_PP] > 1 ? 0 : take_program(p, same, &change, err);
}

/* Whether a scenario is that of the plan but for its number of micro-steps, several in both. */
static bool accumulates(const struct mfu_plan *p, const struct mfu_scenario *scenario)
{
    struct mfu_scenario before = p->scenario;

    before.setting[MFU_S_ACCUM] = scenario->setting[MFU_S_ACCUM];
    return p->built && p->config.accum > 1 && scenario->setting[MFU_S_ACCUM] > 1
        && memcmp(&before, scenario, sizeof before) == 0;
}

static int price(struct mfu_plan *p, bool sums, struct mfu_error *err)
{
    if (mfu_plan_price(p, sums, err) < 0)
        return -1;
    mfu_plan_settle_time(p);
    return 0;
}

static int make(struct mfu_plan *p, const struct mfu_scenario *scenario, bool fitting, bool sums, struct mfu_error *err)
{
    if (take_over(p, scenario, err) < 0)
        return -1;
    mfu_machine_make(&p->config, &p->machine);
    if (p->config.setting[MFU_S_PP] > 1)
        return mfu_stages_plan(p, fitting, sums, err);
    p->n_stages = p->shown_stage = p->worst_stage = 0;
    p->bubble = 0;
    if (mfu_plan_weigh(p, false, err) < 0)
        return -1;
    if (fitting && !p->memory.fits)
        return 1;
    mfu_plan_memory_spread(p, &p->memory);
    return price(p, sums, err);
}

int mfu_plan_make(struct mfu_plan *p, const struct mfu_scenario *scenario, struct mfu_error *err)
{
    return make(p, scenario, false, false, err);
}

int mfu_plan_make_fitting(struct mfu_plan *p, const struct mfu_scenario *scenario, struct mfu_error *err)
{
    return make(p, scenario, true, false, err);
}

/* Whether another number of micro-steps leaves all but sums as it is. */
static bool follows_from_sums(const struct mfu_plan *p, bool fitting)
{
    return p->built && (p->accumulation.state == MFU_ACCUMULATION_HOLDS || (fitting && p->peak_known));
}

int mfu_plan_make_sums(struct mfu_plan *p, const struct mfu_scenario *scenario, bool fitting, struct mfu_error *err)
{
    return follows_from_sums(p, fitting) && accumulates(p, scenario)
        ? mfu_plan_accumulate(p, scenario->setting[MFU_S_ACCUM], fitting, err)
        : make(p, scenario, fitting, true, err);
}

static void take_accum(struct mfu_plan *p, double accum)
{
    p->scenario.setting[MFU_S_ACCUM] = p->config.setting[MFU_S_ACCUM] = p->config.accum = accum;
    p->config.pipeline.microbatches = (int)accum;
    p->config.experts.merged = mfu_config_merged(&p->config);
}

bool mfu_plan_bound(struct mfu_plan *p, double accum)
{
    double least_s;

    if (!p->built
        || !mfu_accumulation_least(&p->accumulation, &p->machine, &p->program, &p->pricing, accum, &p->sums, &least_s))
        return false;
    take_accum(p, accum);
    mfu_plan_add_up_amounts(p);
    p->step.time_s = fmax(least_s + p->machine.c[MFU_C_STEP_CONSTANT], mfu_plan_loader_s(p));
    mfu_plan_settle_time(p);
    return true;
}

int mfu_plan_accumulate(struct mfu_plan *p, double accum, bool fitting, struct mfu_error *err)
{
    p->scenario.setting[MFU_S_ACCUM] = accum;
    if (!follows_from_sums(p, fitting)) {
        struct mfu_scenario scenario = p->scenario;

        return make(p, &scenario, fitting, true, err);
    }
    take_accum(p, accum);
    if (fitting && p->peak_known && !p->memory.fits)
        return 1;
    return price(p, true, err);
}
