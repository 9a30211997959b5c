/*
 * order.c - the walk from the outside in: data, host, launch, memory, tensor pipe, communication.
 */
#include "answer/why/order.h"

#include <math.h>
#include <stdio.h>

#include "answer/why/why.h"

struct evidence {
    const struct mfu_plan *plan;
    const struct mfu_breakdown *s;
    const struct mfu_metrics *m;
};

#define ONE(group) (1u << MFU_G_##group)

/* What is fine is chosen: above, or below, people look no further.  10 us is what a launch costs in eager PyTorch;
 * a tensor pipe half busy, DRAM half busy are the limits of the symptoms. */
// clang-format off
static const struct row {
    const char *name, *asks, *meter, *see;
    unsigned groups;
    enum mfu_dim dim;
    double fine;
    bool at_least;
} rows[MFU_DIAGNOSIS_STEPS] = {
    {"data", "does the GPU wait for batches?", "data_time of a log", "why slow",
     ONE(INPUT), MFU_RATIO, 0.02, false},
    {"host", "does it wait for the CPU?", "nvidia-smi utilization.gpu", "trace",
     ONE(HOST), MFU_RATIO, 0.95, true},
    {"launch", "are kernels too short?", "profiler: mean kernel", "step",
     ONE(GAPS), MFU_SECONDS, 10e-6, true},
    {"memory-bound", "do kernels wait for DRAM?", "DCGM DRAM_ACTIVE", "roofline",
     ONE(MEMORY) | ONE(LOSS) | ONE(OPTIMIZER), MFU_RATIO, 0.5, false},
    {"tensor pipe", "are products below the peak?", "DCGM PIPE_TENSOR_ACTIVE", "why gemm",
     ONE(GEMM) | ONE(ATTENTION) | ONE(RECOMPUTE) | ONE(MASK), MFU_RATIO, 0.5, true},
    {"communication", "does it wait for other GPUs?", "profiler: NCCL alone", "why slow",
     ONE(COMMUNICATION) | ONE(PIPELINE), MFU_RATIO, 0.05, false},
};
// clang-format on

/* Scores that go through memory are attention's, and wait for DRAM. */
static bool belongs(int part, const struct row *r)
{
    bool memory = r->groups & ONE(MEMORY);

    return part == MFU_P_A_SCORES ? memory : (r->groups >> mfu_breakdown_rows[part].group & 1) != 0;
}

static void answer(const struct evidence *e, const struct row *r, struct mfu_diagnosis_step *o)
{
    const double reads[MFU_DIAGNOSIS_STEPS] = {e->s->group_s[MFU_G_INPUT] / e->s->step_s,
                                               e->m->gpu_utilization,
                                               e->s->kernels_s / e->plan->step.kernels,
                                               e->m->dram_active,
                                               e->m->tensor_active,
                                               e->s->part_s[MFU_P_EXPOSED] / e->s->step_s};
    int most = -1;

    *o = (struct mfu_diagnosis_step){.name = r->name,
                                     .asks = r->asks,
                                     .meter = r->meter,
                                     .see = r->see,
                                     .dim = r->dim,
                                     .reads = reads[r - rows],
                                     .fine = r->fine,
                                     .at_least = r->at_least};
    o->is_fine = r->at_least ? o->reads >= r->fine : o->reads <= r->fine;
    for (int i = 0; i < MFU_BREAKDOWN_COUNT; i++)
        if (belongs(i, r)) {
            o->lost_s += e->s->part_s[i];
            if (e->s->part_s[i] > 0 && (most < 0 || e->s->part_s[i] > e->s->part_s[most]))
                most = i;
        }
    if (most >= 0) {
        const struct mfu_culprit *c = &e->s->culprits[most];
        char what[320];

        mfu_why_culprit(e->plan, (enum mfu_breakdown_part)most, c, what, sizeof what);
        snprintf(o->most, sizeof o->most, "%s%s%s%s%s%s", mfu_breakdown_rows[most].name, c->name[0] ? ", most in " : "",
                 c->name, what[0] ? " (" : "", what, what[0] ? ")" : "");
    }
}

int mfu_diagnose(const struct mfu_scenario *scenario, struct mfu_plan *p, struct mfu_simulation *sim,
                 struct mfu_diagnosis *o, struct mfu_error *err)
{
    struct mfu_breakdown s;
    struct mfu_metrics m;
    int worst = 0;

    if (mfu_plan_make(p, scenario, err) < 0 || mfu_simulate(p, false, sim, err) < 0
        || mfu_breakdown_make(p, sim, true, &s, err) < 0)
        return -1;
    mfu_metrics_of_plan(p, &m);
    o->step_s = s.step_s;
    o->counted_s = s.group_s[MFU_G_MFU];
    for (int i = 0; i < MFU_DIAGNOSIS_STEPS; i++) {
        answer(&(struct evidence){p, &s, &m}, &rows[i], &o->steps[i]);
        worst = o->steps[i].lost_s > o->steps[worst].lost_s ? i : worst;
    }
    o->steps[worst].worst = o->steps[worst].lost_s > 0;
    return 0;
}
