/*
 * Any scenario: what must hold whatever is planned.  The seed is printed;
 * MFUPLAN_SEED repeats a run.
 *
 * A law that the model breaks on purpose says where and why.
 */
#include "any_scenario.h"
#include "owned.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mfuplan.h"
#include "plan/conventions.h"
#include "plan/kernels.h"
#include "plan/simulation.h"
#include "answer/fields/fields.h"
#include "answer/why/breakdown.h"
#include "answer/metric/table.h"
#include "report/json/json.h"
#include "graph/graph.h"
#include "report/report.h"

#define SCENARIOS 400 /* that are planned, of each test below */

/* ---- laws --------------------------------------------------------------- */

static bool positive(double x)
{
    return x > 0 && isfinite(x);
}

static void check_parts(const struct mfu_plan *plan)
{
    struct mfu_kernel_row *rows;
    double parts = 0, busy = 0, between = 0, collectives = 0, total;
    const struct mfu_plan p = *plan;
    int n;

    for (int k = 0; k < MFU_PART_COUNT; k++) {
        HOLDS(p.memory.peak.parts[k] >= 0);
        parts += p.memory.peak.parts[k];
    }
    HOLDS_NEAR(parts, p.memory.peak.bytes, EXACT);
    n = mfu_kernel_rows(&p, &rows, &total);
    for (int k = 0; k < n; k++) {
        HOLDS(positive(rows[k].time_s) && positive(rows[k].count));
        HOLDS(rows[k].flops >= 0 && rows[k].bytes >= 0 && rows[k].flops + rows[k].bytes > 0);
        HOLDS(rows[k].phase == MFU_COMMUNICATION || rows[k].kind != MFU_COLLECTIVE);
        *(rows[k].phase == MFU_COMMUNICATION ? &between : &busy) += rows[k].time_s;
        collectives += mfu_kinds[rows[k].kind].beside ? rows[k].time_s : 0;
    }
    free(rows);
    HOLDS_NEAR(busy, p.step.busy_s, EXACT);
    HOLDS_NEAR(collectives, p.step.communication_s, EXACT);
    HOLDS_NEAR(between, p.step.communication_s + p.step.copies_s, EXACT);
    HOLDS_NEAR(total, busy + between, EXACT);
    HOLDS_NEAR(p.step.forward_s + p.step.backward_s + p.step.optimizer_s, busy, EXACT);
    HOLDS_NEAR(busy + p.step.idle_s + p.step.communication_exposed_s + p.paging_s, p.step.time_s, EXACT);
    HOLDS(p.step.idle_s >= -EXACT * p.step.time_s);
}

/* An input leaves L2 at the very number of micro-steps that is planned. */
static void parts_add_up_where_l2_is_just_full(void **unused)
{
    PLAN p = {0};
    struct mfu_scenario s = mfu_scenario_start(mfu_catalog_model(catalog, "transfo-xl-wt103", NULL),
                                               mfu_catalog_gpu(catalog, "rtx5060ti-8gb", NULL));

    (void)unused;
    assert_int_equal(mfu_scenario_set(&s, "seq", "4096", NULL), 0);
    assert_int_equal(mfu_scenario_set(&s, "accum", "30", NULL), 0);
    assert_int_equal(mfu_plan_make(&p, &s, NULL), 0);
    check_parts(&p);
}

/* Before and after the step is simulated. */
static void parts_add_up(void **unused)
{
    SIMULATION simulation = {0};
    PLAN p = {0};
    struct mfu_scenario s;

    (void)unused;
    for (int i = 0; i < scenarios(SCENARIOS); i++) {
        struct mfu_error err = {0};

        next(&s, &p);
        check_parts(&p);
        if (i % 4)
            continue; /* simulated layer by layer, which takes longer */
        if (mfu_simulate(&p, false, &simulation, &err) < 0)
            fail_msg("%s\n  in: %s", err.text, told);
        check_parts(&p);
        /* A condition on memory and the verdict say the same. */
        HOLDS(p.memory.fits == (p.memory.missing_bytes <= 0));
        HOLDS(p.memory.fits || p.memory.fill > 1 || !p.memory.fragmented);
        HOLDS(!p.memory.fits || p.memory.peak.bytes + p.memory.context_bytes <= p.memory.capacity_bytes);
        HOLDS_NEAR(simulation.timeline.busy_s, p.step.busy_s, 1e-6);
        HOLDS(p.limit != MFU_LIMIT_LAUNCH || p.step.host_s >= p.step.busy_s); /* as its sentence says */
        HOLDS(p.step.low_s <= p.step.time_s && p.step.time_s <= p.step.high_s && positive(p.step.low_s));
        HOLDS_NEAR(p.step.tokens_per_s * p.step.time_s, p.step.tokens, EXACT);
        HOLDS_NEAR(p.mfu.achieved_flops * p.step.time_s * p.config.ranks, p.mfu.model_flops, EXACT);
    }
}

/* Whether a function of the model's code computes in backward what its forward dropped. */
static bool makes_anew(const struct mfu_model *m)
{
    for (int i = 0; i < m->n_ops; i++)
        if (m->ops[i].again)
            return true;
    return false;
}

/* Of what works, what is too small to, and what is left of a step beside kernels, the one that limits takes the most. */
static void check_limit(const struct mfu_plan *p)
{
    const double taken[] = {[MFU_LIMIT_COMPUTE] = p->sums.compute_s,
                            [MFU_LIMIT_MEMORY] = p->sums.memory_s,
                            [MFU_LIMIT_LATENCY] = p->sums.latency_s + mfu_plan_fixed_s(p)};

    HOLDS_NEAR(p->sums.compute_s + p->sums.memory_s + p->sums.latency_s, p->step.busy_s, EXACT);
    for (int i = 0; p->limit < MFU_LIMIT_LAUNCH && i < MFU_LIMIT_LAUNCH; i++)
        HOLDS(taken[p->limit] >= taken[i]);
}

static void results_are_positive_and_in_order(void **unused)
{
    PLAN p = {0};
    struct mfu_scenario s;

    (void)unused;
    for (int i = 0; i < scenarios(SCENARIOS); i++) {
        next(&s, &p);
        HOLDS(positive(p.step.time_s) && positive(p.step.tokens_per_s) && positive(p.memory.peak.bytes));
        HOLDS(p.step.low_s <= p.step.time_s && p.step.time_s <= p.step.high_s && positive(p.step.low_s));
        check_limit(&p);
        HOLDS(p.memory.peak.bytes <= p.memory.reserved_bytes && p.memory.reserved_bytes < p.memory.smi_bytes);
        HOLDS(p.memory.smi_low_bytes <= p.memory.smi_bytes && p.memory.smi_bytes <= p.memory.smi_high_bytes);
        HOLDS(p.memory.fits == (p.memory.fits_probability >= 0.5) && p.memory.fits_probability <= 1);
        HOLDS(p.memory.peak.forward_peak_bytes <= p.memory.peak.bytes * (1 + EXACT));
        HOLDS(positive(p.program.params) && p.program.active_params <= p.program.params);
        HOLDS(p.program.lost == NULL);
        HOLDS(p.program.non_embedding_params <= p.program.params);
        /* Recomputation is what the two differ by, and what Winograd saves.  Neither need stay below 1:
         * attention counts the pairs that a causal mask leaves out. */
        HOLDS(positive(p.mfu.mfu) && (p.sums.winograd_flops > 0 || p.mfu.mfu <= p.mfu.hfu * (1 + EXACT)));
        HOLDS_NEAR(p.mfu.achieved_flops * p.step.time_s * p.config.ranks, p.mfu.model_flops, EXACT);
        if (p.config.checkpoint == MFU_NONE && !makes_anew(p.config.model) && !(p.sums.winograd_flops > 0))
            HOLDS_NEAR(p.mfu.hardware_flops, p.mfu.model_flops, EXACT);
    }
}

/* The causes of a kernel's time are all of it, and what slows a product is no gain: a kernel without tiles has no tiles to blame. */
static void causes_are_the_time_of_each_kernel(void **unused)
{
    static const enum mfu_breakdown_part slower[] = {MFU_P_EDGES, MFU_P_RAMP, MFU_P_WAVES, MFU_P_THROTTLE};
    PLAN p = {0};
    struct mfu_scenario s;

    (void)unused;
    for (int i = 0; i < scenarios(SCENARIOS) / 4; i++) {
        next(&s, &p);
        for (int k = 0; k < p.program.n_launches; k++) {
            const struct mfu_launch *l = &p.program.launches[k];
            const struct mfu_price *price = &p.pricing.prices[k];
            double part_s[MFU_BREAKDOWN_COUNT] = {0}, sum_s = 0;

            if (l->communicates || !(l->work->kernel.launches > 0))
                continue;
            mfu_breakdown_launch(&p, l, price, part_s);
            for (int c = 0; c < MFU_BREAKDOWN_COUNT; c++)
                sum_s += part_s[c];
            HOLDS_NEAR(sum_s, price->time_s, 1e-6);
            for (size_t c = 0; c < sizeof slower / sizeof slower[0]; c++)
                if (part_s[slower[c]] < -1e-6 * price->time_s)
                    breaks("%s of %s.%s%s is %g s of %g\n  in: %s", mfu_breakdown_rows[slower[c]].name, l->section,
                           l->op, l->suffix, part_s[slower[c]], price->time_s, told);
        }
    }
}

static void are_same(const struct mfu_plan *p, const struct mfu_plan *q)
{
    HOLDS(memcmp(&p->step, &q->step, sizeof p->step) == 0);
    HOLDS(memcmp(&p->mfu, &q->mfu, sizeof p->mfu) == 0);
    HOLDS(p->memory.peak.bytes == q->memory.peak.bytes && p->memory.smi_bytes == q->memory.smi_bytes);
    HOLDS(p->limit == q->limit && p->program.n_launches == q->program.n_launches);
}

/* A plan that is made over another one, which may leave it its graph, is the
 * plan made afresh, to the last bit. */
static void a_plan_remembers_nothing(void **unused)
{
    static const char *const keys[] = {"accum",
                                       "clock_mhz",
                                       "power_w",
                                       "dataloader_ms",
                                       "vram_reserved",
                                       "cuda_graphs",
                                       "expandable_segments",
                                       "batch",
                                       "grad_clip",
                                       "train_metrics",
                                       "loss_chunks",
                                       "zero",
                                       "half_weights",
                                       "checkpoint",
                                       "seq",
                                       "step.constant",
                                       "host.loader",
                                       "memory.cublas_workspace"};
    PLAN p = {0};
    struct mfu_scenario s;

    (void)unused;
    for (int i = 0; i < scenarios(SCENARIOS); i++) {
        next(&s, &p);
        for (int k = 0; k < 4; k++) {
            struct mfu_scenario other = s;
            struct mfu_plan fresh = {0};
            const char *key = keys[any(sizeof keys / sizeof *keys)];
            char value[24];

            snprintf(value, sizeof value, "%d", (int)(1 + any(3) * (1 + any(600))));
            if (mfu_scenario_set(&other, key, value, NULL) < 0)
                continue;
            if (mfu_plan_make(&fresh, &other, NULL) < 0) {
                HOLDS(mfu_plan_make(&p, &other, NULL) < 0);
                mfu_plan_release(&fresh);
                continue;
            }
            HOLDS(mfu_plan_make(&p, &other, NULL) == 0);
            are_same(&p, &fresh);
            mfu_plan_release(&fresh);
        }
    }
}

/* The step that a sweep adds up, over the one before, is that of the plan made afresh, to the last bit:
 * after other numbers of micro-steps, and after what changes the graph. */
static void a_row_of_a_sweep_is_a_plan(void **unused)
{
    static const char *const keys[] = {"accum", "accum", "accum", "accum", "accum", "batch", "seq", "clock_mhz"};
    PLAN p = {0}, row = {0};
    struct mfu_scenario s;

    (void)unused;
    for (int i = 0; i < scenarios(SCENARIOS); i++) {
        bool fitting = any(2);

        next(&s, &p);
        for (int k = 0; k < 12; k++) {
            struct mfu_plan fresh = {0};
            const char *key = keys[any(sizeof keys / sizeof *keys)];
            char value[24];
            int made;

            snprintf(value, sizeof value, "%d", (int)(1 + any(2 + any(600))));
            if (mfu_scenario_set(&s, key, value, NULL) < 0 || mfu_plan_make(&fresh, &s, NULL) < 0) {
                mfu_plan_release(&fresh);
                continue;
            }
            made = mfu_plan_make_sums(&row, &s, fitting, NULL);
            HOLDS(made == (fitting && !fresh.memory.fits));
            if (made == 0)
                are_same(&row, &fresh);
            HOLDS(row.memory.fits_probability == fresh.memory.fits_probability || made > 0);
            mfu_plan_release(&fresh);
        }
    }
}

/* A share above 100 % is explained, and none is of what the card sustains. */
static void no_share_of_the_sustained_peak_is_above_one(void **unused)
{
    SIMULATION simulation = {0};
    PLAN p = {0};
    struct mfu_scenario s;

    (void)unused;
    for (int i = 0; i < scenarios(SCENARIOS); i++) {
        char why[320];

        next(&s, &p);
        if (i % 8 == 0 && mfu_simulate(&p, false, &simulation, NULL) < 0)
            continue;
        if (!(mfu_use_of_sustained_peak(&p) <= 1 + EXACT))
            breaks("%.9g of the sustained peak\n  in: %s", mfu_use_of_sustained_peak(&p), told);
        HOLDS((fmax(p.mfu.mfu, p.mfu.hfu) > 1) == (*mfu_above_one(&p, why, sizeof why) != '\0'));
        HOLDS(!*why || strlen(why) > 30); /* a reason, not only the fact */
    }
}

/* The products never run above the peak of their arithmetic. */
static void nothing_runs_above_its_peak(void **unused)
{
    PLAN p = {0};
    struct mfu_scenario s;

    (void)unused;
    for (int i = 0; i < scenarios(SCENARIOS); i++) {
        struct mfu_kernel_row *rows;
        int n;

        next(&s, &p);
        n = mfu_kernel_rows(&p, &rows, NULL);
        for (int k = 0; k < n; k++) {
            /* Cards that boost beyond their data sheet have a gemm.efficiency
             * above 1. */
            enum mfu_peak math = rows[k].kernel.math;
            double most = fmax(p.machine.peak_flops[math], p.machine.gemm_flops[math]);

            if ((rows[k].kind == MFU_GEMM || rows[k].kind == MFU_FUSED_ATTENTION)
                && rows[k].flops_per_s > most * (1 + EXACT))
                breaks("%s: %.4g of %.4g FLOP/s\n  in: %s", rows[k].name, rows[k].flops_per_s, most, told);
        }
        free(rows);
    }
}

/* A budget is another choice of what is kept at every size. */
static void more_tokens_never_need_less_memory(void **unused)
{
    PLAN p = {0}, more = {0};
    struct mfu_scenario s;

    (void)unused;
    for (int i = 0; i < scenarios(SCENARIOS); i++) {
        next(&s, &p);
        if (mfu_checkpoints[p.config.checkpoint].by_budget)
            continue;
        if (replan(&more, &s, "batch", p.config.batch + (double)(1 + any(8)))) {
            HOLDS(more.memory.peak.bytes >= p.memory.peak.bytes);
            HOLDS(mfu_saved_bytes(&more.program) >= mfu_saved_bytes(&p.program));
        }
        if (replan(&more, &s, "seq", p.config.seq + 64 * (double)(1 + any(8))))
            HOLDS(more.memory.peak.bytes >= p.memory.peak.bytes);
    }
}

/* What a compiled kernel only widens on its way is computed again in backward. */
static void a_cast_inside_a_compiled_kernel_is_not_saved(void **unused)
{
    PLAN p = {0}, narrow = {0}, wide = {0};
    struct mfu_scenario s;

    (void)unused;
    for (int i = 0; i < scenarios(SCENARIOS); i++) {
        next(&s, &p);
        s.setting[MFU_S_RUNTIME] = MFU_COMPILE;
        s.setting_given[MFU_S_RUNTIME] = true;
        if (replan(&narrow, &s, "upcast_logits", 0) && replan(&wide, &s, "upcast_logits", 1))
            HOLDS_NEAR(mfu_saved_bytes(&wide.program), mfu_saved_bytes(&narrow.program), EXACT);
    }
}

/* Whether the loss is over all pairs of a batch, of which a larger one has more. */
static bool compares_samples(const struct mfu_model *m)
{
    return has_operation(m, "contrast");
}

/* Whether some product reads positions, not samples: their distances, the MLP of a bias, what is made of their waves. */
static bool multiplies_positions(const struct mfu_model *m)
{
    for (int i = 0; i < m->n_ops; i++) {
        int in = m->ops[i].n_in ? m->ops[i].in[0] : MFU_SECTION_INPUT;

        if (strcmp(m->ops[i].primitive->name, "conv") == 0 && in >= 0
            && strcmp(m->ops[in].primitive->name, "embedding") == 0)
            return true;
    }
    return has_operation(m, "distances") || has_operation(m, "relative");
}

/* The whole step may take longer all the same: a wave of thread blocks that is
 * just overfull costs a full one, and L2 holds less of a larger tensor. */
static void larger_micro_batches_save_optimizer_time(void **unused)
{
    PLAN p = {0}, larger = {0};
    struct mfu_scenario s;

    (void)unused;
    for (int i = 0; i < scenarios(SCENARIOS); i++) {
        struct mfu_scenario other;
        struct mfu_error err;

        next(&s, &p);
        s.setting[MFU_S_ACCUM] *= 2;
        other = s;
        other.setting[MFU_S_BATCH] *= 2;
        other.setting[MFU_S_ACCUM] /= 2;
        s.setting_given[MFU_S_ACCUM] = other.setting_given[MFU_S_ACCUM] = true;
        if (mfu_plan_make(&p, &s, &err) < 0 || mfu_plan_make(&larger, &other, &err) < 0)
            continue;
        HOLDS_NEAR(larger.step.tokens, p.step.tokens, 0);
        if (!mfu_optimizers[p.config.optimizer].matrices) /* their products run at clocks that the step sets */
            HOLDS(larger.step.optimizer_s <= p.step.optimizer_s * (1 + EXACT));
        if (multiplies_positions(p.config.model)) /* once for all sequences of a microbatch */
            HOLDS(larger.mfu.model_flops <= p.mfu.model_flops * (1 + EXACT));
        else if (!compares_samples(p.config.model) && !joins_batch(p.config.model))
            HOLDS_NEAR(larger.mfu.model_flops, p.mfu.model_flops, EXACT);
        HOLDS(larger.step.kernels <= p.step.kernels * (1 + EXACT));
    }
}

/* Gradients are exchanged once per step, or in every micro-step where each GPU
 * keeps only its shard of them; weights that are sharded in every one as well. */
static void what_is_exchanged_grows_with_what_is_sharded(void **unused)
{
    PLAN p = {0}, twice = {0};
    struct mfu_scenario s;

    (void)unused;
    for (int i = 0; i < scenarios(SCENARIOS); i++) {
        double last_s = 0, unreached = 0;
        struct mfu_scenario plain;

        next(&s, &p);
        plain = s; /* in which optimizers pass over what has no gradient, and it is counted */
        if (mfu_scenario_set(&plain, "runtime", "eager", NULL) >= 0 && replan(&twice, &plain, "zero", 0))
            unreached = twice.program.unreached_params / twice.program.rank_params;
        for (int zero = 0; zero <= 3; zero++) {
            struct mfu_scenario other = s;
            char stage[4], accum[24];
            double once_s, again_s;

            snprintf(stage, sizeof stage, "%d", zero);
            snprintf(accum, sizeof accum, "%.0f", 2 * p.config.accum);
            if (mfu_offloads(&p.config) || mfu_scenario_set(&other, "gpus", "8", NULL) < 0
                || mfu_scenario_set(&other, "zero", stage, NULL) < 0 || mfu_plan_make(&p, &other, NULL) < 0
                || mfu_scenario_set(&other, "accum", accum, NULL) < 0 || mfu_plan_make(&twice, &other, NULL) < 0)
                continue;
            once_s = p.step.communication_s;
            again_s = twice.step.communication_s;
            /* All of it, what it slows down, and the copies that are made for it. */
            HOLDS(once_s > 0 && p.step.communication_exposed_s <= once_s * 2 + p.step.copies_s);
            if (zero < 2)
                HOLDS_NEAR(again_s, once_s, EXACT);
            else
                HOLDS(again_s > once_s && again_s <= 2 * once_s * (1 + EXACT));
            /* As much as stage 1, and more with accumulation; but for weights that no gradient reaches (a tower's last layer that
             * nobody reads), which lie among what stage 1 sums as one piece. */
            if (zero == 2)
                HOLDS(once_s >= last_s * (1 - 2 * unreached - EXACT));
            last_s = once_s;
        }
    }
}

/* FLOP of the matrix products in forward and backward, those of attention in parts among them. */
static double products(const struct mfu_plan *p)
{
    double flops = 0;

    for (const struct mfu_segment *g = p->program.segments; g < p->program.segments + p->program.n_segments; g++)
        for (int i = g->first; i < g->first + g->count; i++) {
            const struct mfu_launch *l = mfu_launch_in(&p->program, g, i);

            if (l->phase != MFU_OPTIMIZER_PHASE && mfu_kinds[l->work->kernel.kind].law == MFU_LAW_PRODUCT)
                flops += mfu_segment_times(&p->program, g) * l->work->kernel.flops;
        }
    return flops;
}

static bool scans(const struct mfu_model *m)
{
    for (int i = 0; i < m->n_ops; i++)
        if (strcmp(m->ops[i].primitive->name, "scan") == 0 || strcmp(m->ops[i].primitive->name, "delta") == 0)
            return true;
    return false;
}

/* Whatever runs the step, it multiplies what the model has: nothing is lost, or done again where nothing is checkpointed.
 * A scan in one kernel leaves out what a mask drops, and has a group's products once for all of its heads; the delta rule's kernels
 * compute states again in backward. */
static void runtimes_multiply_the_same(void **unused)
{
    PLAN one = {0}, other = {0};
    struct mfu_scenario s;
    int held = 0;

    (void)unused;
    for (int i = 0; i < scenarios(SCENARIOS) / 4; i++) {
        next(&s, &one);
        mfu_scenario_set(&s, "checkpoint", "none", NULL);
        if (!replan_as(&one, &s, "runtime", mfu_runtime_names[0]))
            continue;
        for (int r = 1; r < MFU_RUNTIME_COUNT; r++) {
            if (!replan_as(&other, &s, "runtime", mfu_runtime_names[r])
                || other.config.attention != one.config.attention || other.config.precision != one.config.precision
                || other.config.checkpoint != one.config.checkpoint
                || (mfu_runtimes[r].whole_scans && scans(other.config.model)))
                continue;
            HOLDS_NEAR(products(&other), products(&one), EXACT);
            held++;
        }
    }
    assert_true(held > 0);
}

/* Whatever updates the weights: Muon multiplies, too, but not what the model does. */
static void optimizers_are_no_work_of_the_model(void **unused)
{
    PLAN one = {0}, other = {0};
    struct mfu_scenario s;

    (void)unused;
    for (int i = 0; i < scenarios(SCENARIOS) / 4; i++) {
        next(&s, &one);
        mfu_scenario_set(&s, "trainable", any(2) ? "mlp" : "attention", NULL);
        if (!replan_as(&one, &s, "optimizer", "muon") || !replan_as(&other, &s, "optimizer", "adamw"))
            continue;
        HOLDS_NEAR(one.mfu.model_flops, other.mfu.model_flops, EXACT);
        HOLDS_NEAR(one.mfu.hardware_flops, other.mfu.hardware_flops, EXACT);
    }
}

static void checkpointing_trades_memory_for_flops(void **unused)
{
    PLAN none = {0}, selective = {0}, full = {0};
    struct mfu_scenario s;

    (void)unused;
    for (int i = 0; i < scenarios(SCENARIOS); i++) {
        next(&s, &none);
        if (!replan_as(&none, &s, "checkpoint", "none") || !replan_as(&selective, &s, "checkpoint", "selective")
            || !replan_as(&full, &s, "checkpoint", "full")
            || s.setting[MFU_S_OFFLOAD_ACTIVATIONS] > 0) /* the last few stay, whatever they are */
            continue;
        HOLDS(mfu_saved_bytes(&full.program) <= mfu_saved_bytes(&none.program));
        HOLDS(mfu_saved_bytes(&selective.program) <= mfu_saved_bytes(&none.program));
        HOLDS(mfu_saved_bytes(&full.program) <= mfu_saved_bytes(&selective.program));
        HOLDS(full.mfu.hardware_flops >= selective.mfu.hardware_flops * (1 - EXACT));
        HOLDS(selective.mfu.hardware_flops >= none.mfu.hardware_flops * (1 - EXACT));
        HOLDS_NEAR(full.mfu.model_flops, none.mfu.model_flops, EXACT);
        /* What llm.c computes again just before it is read is then found in L2. */
        HOLDS(full.step.busy_s >= none.step.busy_s * (full.config.runtime == MFU_LLMC ? 0.98 : 1));
    }
}

/* Arithmetic of the optimizer's kernels, wherever they stand. */
static double optimizer_flops(const struct mfu_plan *p)
{
    double flops = 0;

    for (int k = 0; k < p->program.n_segments; k++)
        for (int i = p->program.segments[k].first; i < p->program.segments[k].first + p->program.segments[k].count; i++)
            if (mfu_launch_pass(&p->program.launches[i]) == MFU_OPTIMIZER_PHASE)
                flops += p->program.segments[k].repeat * p->program.launches[i].work->kernel.flops;
    return flops;
}

/* The same work, with no more memory but for temporaries that come while activations are there, and activations that
 * come back from the host beside them; no gradient is there when it has ended. */
static void an_update_in_backward_is_the_same_update(void **unused)
{
    PLAN after = {0}, within = {0};
    struct mfu_scenario s;
    int n = 0;

    (void)unused;
    for (int i = 0; i < scenarios(SCENARIOS); i++) {
        next(&s, &after);
        s.setting[MFU_S_GRAD_CLIP] = 0;
        s.setting_given[MFU_S_GRAD_CLIP] = true;
        if (!replan_as(&within, &s, "accum", "1") || !replan_as(&after, &s, "optimizer_in_backward", "off")
            || !replan_as(&within, &s, "optimizer_in_backward", "on"))
            continue;
        n++;
        HOLDS_NEAR(optimizer_flops(&within), optimizer_flops(&after), 1e-7); /* numbers of xIELU are a tensor each */
        HOLDS(within.step.optimizer_s > 0 || optimizer_flops(&within) == 0); /* not a part of backward's time */
        HOLDS(mfu_optimizers[after.config.optimizer].scratch > 0 || mfu_optimizers[after.config.optimizer].matrices
              || s.setting[MFU_S_OFFLOAD_ACTIVATIONS] > 0
              || within.memory.peak.bytes <= after.memory.peak.bytes * (1 + EXACT));
        HOLDS(within.memory.peak.end_bytes <= after.memory.peak.end_bytes);
    }
    assert_true(n > 0);
}

/* Gradients that are kept take no less memory than those that backward makes anew, but for the ends of blocks and for
 * norms that heads share, of which only the latter have one each */
static void kept_gradients_take_no_less(void **unused)
{
    PLAN freed = {0}, kept = {0};
    struct mfu_scenario s;
    int n = 0;

    (void)unused;
    for (int i = 0; i < scenarios(SCENARIOS); i++) {
        next(&s, &freed);
        if (!replan_as(&freed, &s, "zero_grad", "free") || !replan_as(&kept, &s, "zero_grad", "fill"))
            continue;
        n++;
        HOLDS(kept.memory.peak.bytes >= freed.memory.peak.bytes * (1 - 1e-3));
        HOLDS(kept.memory.peak.end_bytes >= freed.memory.peak.end_bytes * (1 - 1e-3));
        HOLDS(optimizer_flops(&kept) == optimizer_flops(&freed));
    }
    assert_true(n > 0);
}

static struct mfu_gpu faster_than(const struct mfu_gpu *gpu, double arithmetic, double bandwidth)
{
    struct mfu_gpu faster = *gpu;

    for (int i = 0; i < MFU_PEAK_COUNT; i++)
        faster.peak_flops[i] *= arithmetic;
    faster.bandwidth_bytes_s *= bandwidth;
    return faster;
}

/* A GPU whose clocks do not fall when its tensor cores are busy. */
static struct mfu_gpu with_steady_clocks(const struct mfu_gpu *gpu)
{
    struct mfu_gpu steady = *gpu;

    steady.coefficients.value[MFU_C_GEMM_THROTTLE] = 0;
    return steady;
}

/* Arithmetic and bandwidth together; either alone where clocks hold: with more
 * bandwidth alone the tensor cores are busy for a larger share of the time,
 * draw more power, and the model lets the clocks fall for all products.  With
 * more arithmetic alone products hide less of L2's write-back, which the model
 * counts at the full bandwidth there and at a kernel's own elsewhere. */
static void a_faster_gpu_is_never_slower(void **unused)
{
    PLAN p = {0}, faster = {0};
    struct mfu_scenario s;

    (void)unused;
    for (int i = 0; i < scenarios(SCENARIOS); i++) {
        double factor = 1 + (double)any(300) / 100;
        bool arithmetic = any(3), bandwidth = !arithmetic || any(2);
        double within = bandwidth ? EXACT : 0.01;
        struct mfu_gpu gpu, other;

        next(&s, &p);
        gpu = arithmetic && bandwidth ? *s.gpu : with_steady_clocks(s.gpu);
        other = faster_than(&gpu, arithmetic ? factor : 1, bandwidth ? factor : 1);
        s.gpu = &gpu;
        assert_int_equal(mfu_plan_make(&p, &s, NULL), 0);
        s.gpu = &other;
        assert_int_equal(mfu_plan_make(&faster, &s, NULL), 0);
        if (faster.step.time_s > p.step.time_s * (1 + within))
            breaks("%.2f times the speed (%s%s): %.9g s, not %.9g s\n  in: %s", factor, arithmetic ? "arithmetic " : "",
                   bandwidth ? "bandwidth" : "", faster.step.time_s, p.step.time_s, told);
    }
}

/* Times the dispatch of every launch of PyTorch's and of C programs. */
static void slow_down_host(struct mfu_scenario *s, const struct mfu_plan *p, double factor)
{
    for (int id = MFU_C_DISPATCH_EAGER; id <= MFU_C_DISPATCH_C; id++) {
        s->coefficient[id] = factor * p->machine.c[id]; /* of the processor beside the card */
        s->coefficient_given[id] = true;
    }
}

static void check_slower_host(const struct mfu_plan *p)
{
    PLAN slower = {0};
    struct mfu_scenario s = p->scenario;

    slow_down_host(&s, p, exp(1.6 * s.gpu->coefficients.sigma[MFU_C_DISPATCH_EAGER]));
    assert_int_equal(mfu_plan_make(&slower, &s, NULL), 0);
    HOLDS(slower.step.time_s <= p->step.high_s * (1 + EXACT));
}

/* Where host and GPU wait for each other in each layer, a slower host is late more often. */
static void the_interval_knows_a_host_that_waits(void **unused)
{
    static const char *const settings[] = {"batch",   "16",        "accum",      "27",      "seq",
                                           "4096",    "precision", "nvfp4",      "runtime", "te",
                                           "n_layer", "12",        "checkpoint", "budget",  NULL};
    PLAN p = {0};
    struct mfu_scenario s =
        mfu_scenario_start(mfu_catalog_model(catalog, "lfm2-8b-a1b", NULL), mfu_catalog_gpu(catalog, "b200", NULL));

    (void)unused;
    for (int i = 0; settings[i]; i += 2)
        assert_int_equal(mfu_scenario_set(&s, settings[i], settings[i + 1], NULL), 0);
    assert_int_equal(mfu_plan_make(&p, &s, NULL), 0);
    assert_true(p.late_s[MFU_BACKWARD] > 0 && p.host_rules == MFU_C_DISPATCH_EAGER);
    check_slower_host(&p);
}

/* The interval reaches as far as a host takes a step that is slower by the error that is stated of it: where the GPU is
 * only just the longer, the host may be. */
static void the_interval_knows_a_slower_host(void **unused)
{
    PLAN p = {0};
    struct mfu_scenario s;

    (void)unused;
    for (int i = 0; i < scenarios(SCENARIOS); i++) {
        next(&s, &p);
        if (p.host_rules != MFU_C_DISPATCH_EAGER || p.config.setting[MFU_S_ZERO] >= 3 || p.config.setting[MFU_S_PP] > 1
            || p.limit == MFU_LIMIT_INPUT)
            continue; /* hosts that trainers and collectives keep busy as well */
        check_slower_host(&p);
    }
}

/* Whether backward takes weights of so many bits apart again. */
static bool unpacks_again(const char *base)
{
    PLAN p = {0};
    struct mfu_scenario s;
    bool again = false;

    s = mfu_scenario_start(mfu_catalog_model(catalog, "llama-3.2-1b", NULL),
                           mfu_catalog_gpu(catalog, "a100-80gb-sxm", NULL));
    assert_int_equal(mfu_scenario_set(&s, "lora", "8", NULL), 0);
    assert_int_equal(mfu_scenario_set(&s, "base_precision", base, NULL), 0);
    assert_int_equal(mfu_plan_make(&p, &s, NULL), 0);
    for (int i = 0; i < p.program.n_launches; i++) {
        const struct mfu_launch *l = &p.program.launches[i];

        again |= mfu_launch_phase(l) == MFU_BACKWARD && !l->recomputed
            && (strstr(l->suffix, "dequantise") || strstr(l->suffix, "unpack"));
    }
    return again;
}

/* A dequantisation of its own runs again in backward; what plain PyTorch computes, autograd keeps. */
static void what_pytorch_unpacks_is_kept_for_backward(void **unused)
{
    (void)unused;
    assert_true(unpacks_again("nf4"));
    assert_false(unpacks_again("int4"));
}

/* Tokens are a number of rows in a gradient of weights, no length of a row: whatever
 * their number, the product is as aligned as the weight is, and more of them
 * take no less time. */
static void gradients_of_weights_do_not_mind_odd_tokens(void **unused)
{
    static const char *const encoders[] = {"vit-l-16", "vit-b-16", "bert-base"};
    PLAN p = {0};

    (void)unused;
    for (int i = 0; i < 3; i++) {
        struct mfu_scenario s = mfu_scenario_start(mfu_catalog_model(catalog, encoders[i], NULL),
                                                   mfu_catalog_gpu(catalog, "rtx4080super", NULL));
        double last_s = 0;

        for (double batch = 5; batch <= 16; batch++) {
            double wgrad_s = 0;

            s.setting[MFU_S_BATCH] = batch;
            s.setting_given[MFU_S_BATCH] = true;
            assert_int_equal(mfu_plan_make(&p, &s, NULL), 0);
            for (int k = 0; k < p.program.n_launches; k++)
                if (strcmp(p.program.launches[k].suffix, "wgrad") == 0
                    && p.program.launches[k].work->kernel.kind == MFU_GEMM) {
                    const struct mfu_kernel *g = &p.program.launches[k].work->kernel;

                    if (g->aligned != (fmod(g->m, 8) == 0 && fmod(g->n, 8) == 0))
                        fail_msg("%s of %s: %.0f x %.0f", p.program.launches[k].op, encoders[i], g->m, g->n);
                    wgrad_s += p.pricing.prices[k].time_s;
                }
            assert_true(wgrad_s > 0.97 * last_s); /* rounds of tiles, splits of K */
            last_s = wgrad_s;
        }
    }
}

/* A card with more memory, all else equal, holds whatever a smaller one holds. */
static void more_memory_never_fits_less(void **unused)
{
    SIMULATION simulation = {0};
    PLAN p = {0}, roomier = {0};
    struct mfu_scenario s;
    int held = 0;

    (void)unused;
    for (int i = 0; i < scenarios(SCENARIOS); i++) {
        double factor = 1 + (double)(1 + any(300)) / 100;
        bool simulated = i % 4 == 0;
        struct mfu_gpu other;

        next(&s, &p);
        other = *s.gpu;
        other.size_bytes *= factor;
        other.capacity_bytes *= factor;
        other.smi_total_bytes *= factor;
        if (simulated && mfu_simulate(&p, false, &simulation, NULL) < 0)
            continue;
        s.gpu = &other;
        assert_int_equal(mfu_plan_make(&roomier, &s, NULL), 0);
        if (simulated && mfu_simulate(&roomier, false, &simulation, NULL) < 0)
            continue;
        HOLDS(!p.memory.fits || roomier.memory.fits);
        HOLDS(roomier.memory.capacity_bytes > p.memory.capacity_bytes);
        HOLDS(simulated || roomier.memory.fits_probability >= p.memory.fits_probability);
        if (!simulated) /* the allocator frees its cache where memory is short */
            HOLDS_NEAR(roomier.memory.peak.bytes, p.memory.peak.bytes, 0);
        held += p.memory.fits;
    }
    assert_true(held > 0 && held < scenarios(SCENARIOS));
}

/* Twice the sequences, tokens, layers or micro-steps take no less time.  (A few tokens
 * more may: products whose rows are multiples of 16 bytes and whose tiles are full run
 * faster than somewhat smaller ones; they leave 1 % of a doubled one where the host
 * or the links take the time.) */
static void more_work_takes_no_less_time(void **unused)
{
    static const char *const keys[] = {"batch", "seq", "n_layer", "accum"};
    PLAN p = {0}, more = {0};
    struct mfu_scenario s;

    (void)unused;
    for (int i = 0; i < scenarios(SCENARIOS); i++) {
        next(&s, &p);
        for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
            double now = k == 0 ? p.config.batch
                : k == 1        ? p.config.seq
                : k == 2        ? mfu_config_dim(&p.config, "n_layer")
                                : p.config.accum;

            if (k < 2
                && (fmod(p.config.tokens, 64) != 0
                    || mfu_checkpoints[p.config.checkpoint].by_budget)) /* other sizes, other choices, other launches */
                continue;
            if (replan(&more, &s, keys[k], 2 * now) && more.step.time_s < p.step.time_s * (1 - (k < 2 ? 0.01 : EXACT))
                && (k >= 2 || more.program.n_launches == p.program.n_launches)) /* Megatron's softmax, for one */
                breaks("%s %g takes %.9g s, %g %.9g s\n  in: %s", keys[k], now, p.step.time_s, 2 * now,
                       more.step.time_s, told);
        }
    }
}

/* Of blocks that leave SMs empty, each moves at most what an SM can, 64 bytes a clock (L1 from L2), which is several
 * times its even share of the bandwidth, not all of it.  Of compiled kernels, whose grid
 * follows from the rows they work on. */
static void few_blocks_do_not_saturate_memory(void **unused)
{
    PLAN p = {0};
    struct mfu_scenario s;

    (void)unused;
    for (int i = 0; i < scenarios(SCENARIOS); i++) {
        struct mfu_kernel_row *rows;
        double most;
        int n;

        next(&s, &p);
        n = mfu_kernel_rows(&p, &rows, NULL);
        most = fmax(8. / p.config.gpu->sms, 64 * p.config.gpu->boost_hz / p.config.gpu->bandwidth_bytes_s);
        for (int k = 0; k < n; k++) {
            const struct mfu_kernel *one = &rows[k].kernel;
            double bytes = (one->read_bytes + one->write_bytes) * rows[k].count / one->launches;

            if (rows[k].reading.grid.blocks > 0 && one->traffic == MFU_C_DRAM_FUSED && !mfu_kinds[rows[k].kind].beside
                && fabs(rows[k].bytes - bytes) <= EXACT * bytes
                && rows[k].dram_active > most * rows[k].reading.grid.blocks)
                breaks("%s: %g blocks, %.3g of the bandwidth\n  in: %s", rows[k].name, rows[k].reading.grid.blocks,
                       rows[k].dram_active, told);
        }
        free(rows);
    }
}

/* A row of a sweep, the plan of its scenario, and the library's say the same, of
 * every result. */
static void sweep_plan_and_library_agree(void **unused)
{
    SIMULATION simulation = {0};
    PLAN p = {0};
    mfuplan_catalog *library = mfuplan_open(MFUPLAN_SOURCE_DIR, NULL, NULL);
    mfuplan_plan *theirs = mfuplan_plan_new();
    struct mfu_scenario s;
    struct mfu_result r;

    (void)unused;
    assert_true(library && theirs);
    for (int i = 0; i < scenarios(SCENARIOS) / 16; i++) {
        struct pairs pairs = next(&s, &p);
        mfuplan_scenario *same = mfuplan_scenario_new(library, pairs.model, pairs.gpu, NULL);
        mfuplan_sweep *sweep;
        char batch[40];
        size_t column = 0;

        for (int k = 0; k < pairs.n; k++)
            HOLDS(mfuplan_set(same, pairs.key[k], pairs.value[k], NULL) == 0);
        HOLDS(mfu_simulate(&p, false, &simulation, NULL) == 0);
        HOLDS(mfuplan_run(theirs, same, MFUPLAN_SIMULATED, NULL) == 0);
        sweep = mfuplan_sweep_new(same);
        snprintf(batch, sizeof batch, "%.0f,%.0f", p.config.batch, p.config.batch + 1);
        HOLDS(mfuplan_sweep_axis(sweep, "batch", batch, NULL) == 0);
        for (size_t k = (size_t)i % 8; mfu_result_at(k, &r) && column < 16; k += 8, column++)
            HOLDS(mfuplan_sweep_column(sweep, r.name, NULL) == 0);
        HOLDS(mfuplan_sweep_run(sweep, MFUPLAN_SIMULATED, 1, NULL) == 0);
        column = 0;
        for (size_t k = 0; mfu_result_at(k, &r); k++) {
            double ours = mfu_result_value(&r, &p), value;

            HOLDS(mfuplan_result(theirs, r.name, &value, NULL) == 0);
            if (!(value == ours || (isnan(value) && isnan(ours))))
                breaks("%s: %.17g in the library, %.17g in the plan\n  in: %s", r.name, value, ours, told);
            if (k % 8 != (size_t)i % 8 || column == 16)
                continue;
            value = mfuplan_sweep_get(sweep, 0, column++);
            if (!(value == ours || (isnan(value) && isnan(ours))))
                breaks("%s: %.17g in the sweep, %.17g in the plan\n  in: %s", r.name, value, ours, told);
        }
        mfuplan_sweep_free(sweep);
        mfuplan_scenario_free(same);
    }
    mfuplan_plan_free(theirs);
    mfuplan_close(library);
}

/* Decoders all of whose products are a weight's, once per token, and whose attention sees
 * every earlier token: no experts, no windows, no head for a whole sequence. */
static bool is_dense_decoder(const struct mfu_model *m)
{
    static const char *const families[] = {"gpt2", "llama", "mpt", "gemma", "qwen3"};
    bool is = false;

    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
        is |= strcmp(m->family, families[i]) == 0;
    return is;
}

static double square(double tokens, const void *unused)
{
    (void)unused;
    return tokens * tokens;
}

/* Model FLOPs are 3 (forward, two of backward) times 2 per weight that a token
 * is multiplied with and 12 L d T / 3 of attention; 6 N would add embeddings,
 * norms and biases.  BERT's and ViT's heads see one token per sequence, as do DiT's
 * factors; MoE's router and Gemma 2's windows count otherwise: dense decoders only. */
static void model_flops_are_six_n_and_attention(void **unused)
{
    PLAN p = {0};
    struct mfu_scenario s;

    (void)unused;
    for (int i = 0; i < scenarios(SCENARIOS); i++) {
        double attention, products, biases;

        next(&s, &p);
        if (!is_dense_decoder(s.model))
            continue;
        /* A bias is added, not multiplied. */
        biases = p.program.linear_params;
        if (!replan(&p, &s, "bias", 0) || biases != p.program.linear_params) {
            if (mfu_model_dim_find(s.model, "bias", NULL) >= 0)
                continue;
            mfu_plan_make(&p, &s, NULL);
        }
        attention = 12 * mfu_config_dim(&p.config, "n_layer") * mfu_config_dim(&p.config, "n_head")
            * mfu_config_dim(&p.config, "head_dim") * p.config.seq;
        if (p.config.setting[MFU_S_PACKING] > 0 && p.config.documents.mean > 0) { /* pairs within documents */
            const struct mfu_documents *d = &p.config.documents;

            if (!mfu_attentions[p.config.attention].packs)
                continue;
            attention *= d->fill * mfu_documents_mean(d, p.config.seq, square, NULL)
                / mfu_documents_mean(d, p.config.seq, NULL, NULL) / p.config.seq;
        }
        products = 6 * p.program.linear_params;
        if (strncmp(s.model->family, "qwen2", 5) == 0)
            continue; /* biases of q, k, v that cannot be switched off */
        HOLDS_NEAR(p.mfu.model_flops, (products + attention) * p.step.tokens, EXACT);
        HOLDS(p.program.linear_params
              <= p.program.params * (p.program.linear_params > p.program.non_embedding_params ? 2 : 1));
    }
}

/* How many kinds of layers the model has: sections that repeat as an expression says. */
static int layer_sections(const struct mfu_model *m)
{
    int n = 0;

    for (int i = 0; i < m->n_sections; i++)
        n += m->sections[i].repeat && !mfu_expression_constant(m->sections[i].repeat, &(double){0});
    return n;
}

/* From three layers on every layer is like the one before: a straight line.  From five on where activations are on the
 * host: copies reach into the neighbours, so that five layers are traced, and what L2 holds follows from layer to layer.
 * Without clocks that fall with the load, which bend it; memory bends, upwards,
 * where the highest moment becomes another one. */
static void layers_add_up(void **unused)
{
    static struct mfu_plan p, at[3];
    struct mfu_scenario s;

    (void)unused;
    for (int i = 0; i < scenarios(SCENARIOS); i++) {
        double layers = (double)(3 + any(10)), step = (double)(1 + any(20)), every;
        double forward[3], backward[3], bytes[3];
        struct mfu_gpu gpu;
        bool planned = true, same_moment;

        next(&s, &p);
        if (layer_sections(s.model) > 1 || s.setting[MFU_S_CHECKPOINT_LAYERS] > 0)
            continue; /* windowed and full, dense and sparse, checkpointed and not: more than one slope */
        if (s.setting[MFU_S_OFFLOAD_ACTIVATIONS] > 0)
            layers = fmax(layers, 5);
        every = strcmp(s.model->family, "gemma2") == 0 ? 2 : 1; /* its sections are pairs */
        gpu = with_steady_clocks(s.gpu);
        s.gpu = &gpu;
        for (int k = 0; k < 3; k++) {
            planned &= replan(&at[k], &s, "n_layer", every * (layers + k * step));
            forward[k] = at[k].step.forward_s;
            backward[k] = at[k].step.backward_s;
            bytes[k] = at[k].memory.peak.bytes;
        }
        if (!planned)
            continue;
        HOLDS_NEAR(forward[2] - forward[1], forward[1] - forward[0], 1e-6);
        HOLDS_NEAR(forward[2] + forward[0], 2 * forward[1], EXACT);
        HOLDS_NEAR(backward[2] + backward[0], 2 * backward[1], EXACT);
        same_moment = strcmp(at[0].memory.peak_at, at[2].memory.peak_at) == 0
            && at[0].memory.peak.segment == at[2].memory.peak.segment
            && at[0].memory.peak.launch == at[2].memory.peak.launch;
        /* Sharding adds buffers of at most a size. */
        if (same_moment && at[0].config.setting[MFU_S_ZERO] < 1)
            HOLDS_NEAR(bytes[2] + bytes[0], 2 * bytes[1], EXACT);
        if (at[0].config.setting[MFU_S_ZERO] < 1)
            HOLDS((bytes[2] + bytes[0]) * (1 + EXACT) >= 2 * bytes[1]);
        HOLDS(bytes[2] >= bytes[0]);
    }
    mfu_plan_release(&p);
    for (int k = 0; k < 3; k++)
        mfu_plan_release(&at[k]);
}

/* Every layer traced by itself makes the same step. */
static void unrolled_is_repeated(void **unused)
{
    PLAN p = {0};
    static struct mfu_program unrolled;
    struct mfu_scenario s;

    (void)unused;
    for (int i = 0; i < scenarios(SCENARIOS) / 4; i++) {
        struct mfu_peak_memory peak;
        double flops[2] = {0}, bytes[2] = {0}, launches[2] = {0};

        next(&s, &p);
        if (mfu_config_dim(&p.config, "n_layer") > 40)
            continue;
        assert_int_equal(mfu_graph_build(&p.config, MFU_LAYERS_COPIED, &unrolled, NULL), 0);
        for (int k = 0; k < 2; k++) {
            const struct mfu_program *g = k ? &unrolled : &p.program;

            for (int j = 0; j < g->n_segments; j++)
                for (int l = g->segments[j].first; l < g->segments[j].first + g->segments[j].count; l++) {
                    flops[k] += g->segments[j].repeat * g->launches[l].work->kernel.flops;
                    bytes[k] += g->segments[j].repeat
                        * (g->launches[l].work->kernel.read_bytes + g->launches[l].work->kernel.write_bytes);
                    if (!g->launches[l].communicates) /* buckets do not end with layers */
                        launches[k] += g->segments[j].repeat * g->launches[l].work->kernel.launches;
                }
        }
        HOLDS_NEAR(flops[1], flops[0], EXACT);
        HOLDS_NEAR(bytes[1], bytes[0], EXACT);
        HOLDS_NEAR(launches[1], launches[0], EXACT);
        HOLDS_NEAR(mfu_saved_bytes(&unrolled), mfu_saved_bytes(&p.program), EXACT);
        mfu_lifetime_peak(&unrolled, false, &peak);
        HOLDS_NEAR(peak.bytes, p.memory.peak.bytes, EXACT);
    }
    mfu_program_free(&unrolled);
}

/* ---- two routes --------------------------------------------------------- */

static void order_does_not_matter(void **unused)
{
    PLAN p = {0}, again = {0};
    struct mfu_scenario s;

    (void)unused;
    for (int i = 0; i < scenarios(SCENARIOS); i++) {
        struct pairs pairs = next(&s, &p);
        struct mfu_scenario other = mfu_scenario_start(NULL, s.gpu);

        mfu_scenario_model(&other, s.model);
        for (int k = pairs.n - 1; k >= 0; k--)
            assert_int_equal(mfu_scenario_set(&other, pairs.key[k], pairs.value[k], NULL), 0);
        assert_int_equal(mfu_plan_make(&again, &other, NULL), 0);
        HOLDS(memcmp(&again.step, &p.step, sizeof p.step) == 0);
        HOLDS(memcmp(&again.mfu, &p.mfu, sizeof p.mfu) == 0);
        HOLDS(again.memory.peak.bytes == p.memory.peak.bytes && again.memory.smi_bytes == p.memory.smi_bytes);
    }
}

/* What the program prints for a script; the caller frees it. */
static char *ask(const char *arguments)
{
    char command[4096], *text = malloc(1 << 20);
    size_t n;
    FILE *from;
    int status;

    assert_true(text && snprintf(command, sizeof command, MFUPLAN_PROGRAM " --json %s", arguments) < 4096);
    from = popen(command, "r");
    assert_non_null(from);
    n = fread(text, 1, (1 << 20) - 1, from);
    text[n > 0 ? n - 1 : 0] = '\0'; /* without the last '\n' */
    status = pclose(from);
    if (status)
        fail_msg("%s: status %d", command, status);
    return text;
}

/* The last line of what was printed. */
static const char *last_line(const char *text)
{
    const char *at = strrchr(text, '\n');

    return at ? at + 1 : text;
}

/* Numbers with the digits that --json prints. */
static json_t *as_printed(json_t *object)
{
    char *text = json_dumps(object, JSON_REAL_PRECISION(15));
    json_t *same = text ? json_loads(text, 0, NULL) : NULL;

    json_decref(object);
    free(text);
    return same;
}

static void the_program_gives_the_same_plan(void **unused)
{
    SIMULATION simulation = {0};
    PLAN p = {0};
    char file[] = "/tmp/mfuplan-saved-XXXXXX";
    struct mfu_scenario s;

    (void)unused;
    close(mkstemp(file));
    for (int i = 0; i < scenarios(SCENARIOS) / 16; i++) {
        char arguments[3000], *typed, *saved, *sourced;
        json_t *said, *ours;

        next(&s, &p);
        snprintf(arguments, sizeof arguments, "-e '%s; plan'", told);
        typed = ask(arguments);
        snprintf(arguments, sizeof arguments, "-e '%s; save %s'", told, file);
        saved = ask(arguments);
        snprintf(arguments, sizeof arguments, "-e 'source %s; plan'", file);
        sourced = ask(arguments);
        if (strcmp(last_line(typed), last_line(sourced)) != 0)
            breaks("saved and read again, another plan\n  in: %s", told);
        snprintf(arguments, sizeof arguments, "%s -e plan", file);
        free(sourced);
        sourced = ask(arguments);
        if (strcmp(last_line(typed), last_line(sourced)) != 0)
            breaks("as a script, another plan\n  in: %s", told);
        assert_int_equal(mfu_simulate(&p, false, &simulation, NULL), 0);
        said = json_loads(last_line(typed), 0, NULL);
        ours = as_printed(mfu_json(&mfu_record_plan, &p));
        HOLDS(json_equal(said, ours));
        json_decref(said);
        json_decref(ours);
        free(typed);
        free(saved);
        free(sourced);
    }
    remove(file);
}

/* ---- results ------------------------------------------------------------- */

/* A result that is 0, or unknown, whatever is planned is none. */
static void every_result_says_something(void **unused)
{
    static const char *const rare[] = {
        "fragmented", /* of the simulated allocator, near the edge only */
    };
    bool says[MFU_RESULTS_MAX] = {false};
    PLAN p = {0};
    struct mfu_scenario s;
    struct mfu_result r;

    (void)unused;
    for (int i = 0; i < scenarios(SCENARIOS); i++) {
        next(&s, &p);
        for (size_t k = 0; mfu_result_at(k, &r); k++) {
            double value = mfu_result_value(&r, &p);

            says[k] = says[k] || (isfinite(value) && value != 0);
        }
    }
    for (size_t k = 0; mfu_result_at(k, &r); k++) {
        bool excused = false;

        assert_true(k < MFU_RESULTS_MAX);
        for (size_t i = 0; i < sizeof rare / sizeof rare[0]; i++)
            excused = excused || strcmp(rare[i], r.name) == 0;
        if (!says[k] && !excused)
            fail_msg("%s is 0 or unknown in each of %d scenarios", r.name, scenarios(SCENARIOS));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_add_up),
        cmocka_unit_test(parts_add_up_where_l2_is_just_full),
        cmocka_unit_test(results_are_positive_and_in_order),
        cmocka_unit_test(causes_are_the_time_of_each_kernel),
        cmocka_unit_test(a_plan_remembers_nothing),
        cmocka_unit_test(a_row_of_a_sweep_is_a_plan),
        cmocka_unit_test(no_share_of_the_sustained_peak_is_above_one),
        cmocka_unit_test(nothing_runs_above_its_peak),
        cmocka_unit_test(more_tokens_never_need_less_memory),
        cmocka_unit_test(a_cast_inside_a_compiled_kernel_is_not_saved),
        cmocka_unit_test(larger_micro_batches_save_optimizer_time),
        cmocka_unit_test(what_is_exchanged_grows_with_what_is_sharded),
        cmocka_unit_test(checkpointing_trades_memory_for_flops),
        cmocka_unit_test(an_update_in_backward_is_the_same_update),
        cmocka_unit_test(kept_gradients_take_no_less),
        cmocka_unit_test(a_faster_gpu_is_never_slower),
        cmocka_unit_test(gradients_of_weights_do_not_mind_odd_tokens),
        cmocka_unit_test(the_interval_knows_a_slower_host),
        cmocka_unit_test(the_interval_knows_a_host_that_waits),
        cmocka_unit_test(what_pytorch_unpacks_is_kept_for_backward),
        cmocka_unit_test(more_memory_never_fits_less),
        cmocka_unit_test(more_work_takes_no_less_time),
        cmocka_unit_test(few_blocks_do_not_saturate_memory),
        cmocka_unit_test(sweep_plan_and_library_agree),
        cmocka_unit_test(model_flops_are_six_n_and_attention),
        cmocka_unit_test(runtimes_multiply_the_same),
        cmocka_unit_test(optimizers_are_no_work_of_the_model),
        cmocka_unit_test(layers_add_up),
        cmocka_unit_test(unrolled_is_repeated),
        cmocka_unit_test(order_does_not_matter),
        cmocka_unit_test(every_result_says_something),
        cmocka_unit_test(the_program_gives_the_same_plan),
    };

    return RUN_LAWS(tests);
}
