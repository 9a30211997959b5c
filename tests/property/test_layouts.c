/*
 * Any layout: what must hold however the GPUs share the work, of the simulated answer, too.
 *
 * A law that the model breaks on purpose says where and why.
 */
#include "any_scenario.h"
#include "owned.h"

#include "mfuplan.h"
#include "answer/metric/table.h"
#include "answer/search/sweep.h"
#include "graph/graph.h"
#include "plan/memory_timeline.h"
#include "plan/peak_tensors.h"
#include "plan/simulation.h"
#include "report/report.h"
#include "report/text/text.h"
#include "scenario/adapter.h"

#define SCENARIOS 300 /* of each test below */

static const char *power_of_two(uint64_t below)
{
    static const char *const powers[] = {"1", "2", "4", "8", "16"};

    return powers[any(below)];
}

/* Adapters, frozen weights, and the forms that these are held in. */
static void add_training(struct pairs *p)
{
    static const char *const targets[] = {"all-linear", "attention", "mlp", NULL};
    static const char *const trainable[] = {"norms,biases", "head", "attention", "mlp,embeddings", NULL};

    if (any(4)) {
        add_number(p, "lora", 1u << any(8));
        add(p, "lora_targets", pick(targets));
        add(p, "lora_kernels", pick(mfu_adapter_names));
        add(p, "lora_dropout", any(2) ? "0.1" : "0");
        add(p, "dora", any(4) ? "off" : "on");
        add(p, "lora_dtype", pick(mfu_adapter_types));
        if (any(8) == 0)
            add_number(p, "trainable_tokens", 1 + any(64));
    } else {
        add(p, "trainable", pick(trainable));
    }
    if (any(2))
        add(p, "base_precision", pick(mfu_base_names));
    if (any(4) == 0)
        add(p, "fp32_rest", "on");
    if (any(4) == 0)
        add_number(p, "trainable_layers", 1 + any(4));
}

/* Mostly what can be planned: the other refusals are any_pairs()'s. */
static struct pairs any_layout(void)
{
    struct pairs p = any_pairs();
    bool pipeline = any(2);

    add(&p, "dp", power_of_two(4));
    if (any(2))
        add(&p, "tp", power_of_two(4));
    if (any(3) == 0)
        add(&p, "cp", power_of_two(3));
    if (any(3) == 0)
        add(&p, "ep", power_of_two(4));
    if (any(4) == 0)
        add(&p, "etp", power_of_two(3));
    if (any(4) == 0)
        add(&p, "sp", any(2) ? "on" : "off");
    if (any(2))
        add_number(&p, "zero", any(4));
    else if (any(3) == 0)
        add(&p, "reshard_after_forward", any(4) ? "off" : "on");
    if (pipeline) {
        add(&p, "pp", power_of_two(4));
        add_number(&p, "n_layer", 16 * (1 + any(2)));
        add_number(&p, "accum", 8 * (1 + any(4)));
        if (any(3))
            add(&p, "schedule", pick(mfu_schedule_names));
        if (any(3) == 0)
            add(&p, "vpp", power_of_two(3));
        if (any(6) == 0)
            add_number(&p, "last_stage_less", any(2));
        if (any(6) == 0)
            add_number(&p, "first_stage_less", any(2));
    }
    if (any(6) == 0)
        add_number(&p, "nodes", 1 + any(4));
    if (any(6) == 0)
        add(&p, "expandable_segments", "on");
    if (any(6) == 0)
        add(&p, "half_weights", any(2) ? "on" : "off");
    if (any(6) == 0)
        add_number(&p, "train_metrics", any(3));
    if (any(8) == 0)
        add_number(&p, "software", 2016 + any(10));
    if (any(8) == 0)
        add(&p, "vram_reserved", "1GiB");
    if (any(3) == 0)
        add(&p, "trainer", pick(mfu_trainer_names));
    if (any(8) == 0) {
        add(&p, "deepspeed", "zero3");
        add(&p, "memory_efficient_linear", any(4) ? "off" : "on");
    }
    if (any(6) == 0)
        add(&p, "rank_order", pick(mfu_rank_order_names));
    if (any(6) == 0)
        add(&p, "overlap_grad_reduce", "off");
    if (any(6) == 0)
        add(&p, "overlap_moe", any(2) ? "on" : "off");
    if (any(6) == 0)
        add(&p, "expert_load", any(2) ? "1" : "1.7");
    if (any(6) == 0) {
        add(&p, "capacity_factor", any(2) ? "0.8" : "1.5");
        add(&p, "pad_experts", any(2) ? "on" : "off");
    }
    if (any(6) == 0)
        add(&p, "moe_dispatcher", pick(mfu_dispatcher_names));
    if (any(6) == 0)
        add(&p, "overlap_param_gather", "on");
    if (any(6) == 0)
        add(&p, "grad_bucket", any(2) ? "1MiB" : "400MiB");
    if (any(4) == 0)
        add_training(&p);
    return p;
}

static struct pairs next_layout(struct mfu_scenario *s, struct mfu_plan *plan)
{
    for (;;) {
        struct pairs p = any_layout();
        struct mfu_error err = {0};

        for (int i = 0; i < p.n; i++) /* what dp and the others give */
            if (strcmp(p.key[i], "gpus") == 0)
                snprintf(p.key[i], sizeof p.key[i], "accum"), snprintf(p.value[i], sizeof p.value[i], "8");
        *s = scenario_of(&p);
        remember(&p);
        if (mfu_plan_make(plan, s, &err) == 0)
            return p;
        assert_true(err.text[0]);
    }
}

static bool positive(double x)
{
    return x > 0 && isfinite(x);
}

static void check_memory(const struct mfu_plan *p, const struct mfu_memory_answer *m)
{
    double parts = 0;

    for (int k = 0; k < MFU_PART_COUNT; k++) {
        HOLDS(m->peak.parts[k] >= 0);
        parts += m->peak.parts[k];
    }
    HOLDS_NEAR(parts, m->peak.bytes, EXACT);
    HOLDS(positive(m->peak.bytes) && m->peak.bytes <= m->reserved_bytes * (1 + EXACT));
    HOLDS_NEAR(m->reserved_bytes + m->context_bytes + m->paged_bytes - m->evicted_bytes, m->smi_bytes, EXACT);
    HOLDS(m->peak.forward_peak_bytes <= m->peak.bytes * (1 + EXACT));
    HOLDS_NEAR((m->smi_bytes + p->config.setting[MFU_S_VRAM_RESERVED]) / m->capacity_bytes, m->fill, EXACT);
    HOLDS(!m->fits || p->config.setting[MFU_S_PP] == 1
          || m->fill <= 1 + EXACT); /* what is cached is given back before */
    HOLDS(m->fits == (m->missing_bytes <= 0));
    HOLDS(!m->fits
          || m->peak.bytes + m->context_bytes + p->config.setting[MFU_S_VRAM_RESERVED]
              <= m->capacity_bytes * (1 + EXACT));
    HOLDS(m->fits || m->fill > 1 || m->peak.bytes < m->reserved_bytes);
    HOLDS(m->smi_low_bytes <= m->smi_bytes && m->smi_bytes <= m->smi_high_bytes && positive(m->smi_low_bytes));
    HOLDS(m->fits == (m->fits_probability >= 0.5));
    HOLDS(m->fits_probability >= 0 && m->fits_probability <= 1);
}

/* What is said of the whole, before and after the step is simulated. */
static void check_answer(const struct mfu_plan *p)
{
    const struct mfu_step_answer *s = &p->step;
    const struct mfu_memory_answer *m = &p->memory;
    struct mfu_result r;

    for (size_t k = 0; mfu_result_at(k, &r); k++)
        if (isinf(mfu_result_value(&r, p)))
            breaks("%s is infinite\n  in: %s", r.name, told);
    check_memory(p, m);
    HOLDS(positive(s->time_s) && positive(s->low_s) && s->low_s <= s->time_s && s->time_s <= s->high_s
          && isfinite(s->high_s));
    HOLDS(s->forward_s >= 0 && s->backward_s >= 0 && s->optimizer_s >= 0 && s->communication_exposed_s >= 0);
    HOLDS(s->idle_s >= -EXACT * s->time_s);
    HOLDS_NEAR(s->forward_s + s->backward_s + s->optimizer_s, s->busy_s, EXACT);
    HOLDS_NEAR(s->busy_s + s->idle_s + s->communication_exposed_s + p->paging_s, s->time_s, EXACT);
    HOLDS_NEAR(s->tokens_per_s * s->time_s, s->tokens, EXACT);
    HOLDS_NEAR(s->tokens, p->config.batch * p->config.seq * p->config.accum * p->config.setting[MFU_S_DP], EXACT);
    HOLDS_NEAR(p->mfu.achieved_flops * s->time_s * p->config.ranks, p->mfu.model_flops, EXACT);
    HOLDS(positive(p->mfu.mfu)); /* which counts tokens that experts drop */
    HOLDS(p->config.experts.fill != 1
          || p->mfu.model_flops
              <= (p->mfu.hardware_flops + p->config.ranks * p->sums.winograd_flops) * (1 + EXACT)); /* saved */
    HOLDS(p->bubble >= 0 && p->bubble < 1);
}

/* The picture of a pipeline's memory is as high as the plan says, and in the end nothing is in flight. */
static void check_course(const struct mfu_plan *p)
{
    struct mfu_memory_timeline course;
    struct mfu_error err = {0};
    double most = p->memory.peak.bytes;
    size_t top = 0;

    if (mfu_memory_timeline_of_pipeline(p, &course, &err) < 0)
        fail_msg("%s\n  in: %s", err.text, told);
    HOLDS_NEAR(course.highest_allocated, most, EXACT);
    for (size_t i = 0; i < course.n; i++)
        top = course.points[i].allocated > course.points[top].allocated ? i : top;
    for (int k = 0; k < MFU_PART_COUNT; k++) /* the picture's parts are those of the table */
        HOLDS(fabs(course.points[top].parts[k] - p->memory.peak.parts[k]) <= 1e-6 * most);
    for (size_t i = 1; i < course.n; i++)
        HOLDS(course.points[i].time_s >= course.points[i - 1].time_s);
    HOLDS(course.points[course.n - 1].time_s <= course.seconds * (1 + EXACT));
    HOLDS_NEAR(course.points[course.n - 1].allocated, course.points[0].allocated, EXACT);
    mfu_memory_timeline_release(&course);
}

/* The tensors that are listed are parts of the peak that is shown: none of another stage is. */
static void check_tensors(const struct mfu_plan *p)
{
    struct mfu_alive list[12];
    double parts[MFU_PART_COUNT] = {0};
    int n = mfu_peak_tensors(p, list, 12);

    HOLDS(n >= 0);
    for (int i = 0; i < n; i++)
        parts[list[i].part] += list[i].bytes * list[i].copies;
    for (int i = 0; i < MFU_PART_COUNT; i++)
        if (!(parts[i] <= p->memory.peak.parts[i] * (1 + EXACT) + 1))
            breaks("%s: %.17g bytes of tensors are listed, of %.17g\n  in: %s", mfu_part_names[i], parts[i],
                   p->memory.peak.parts[i], told);
}

static void check_stages(const struct mfu_plan *p)
{
    double layers = 0;

    HOLDS(p->n_stages == (p->config.setting[MFU_S_PP] > 1 ? p->config.setting[MFU_S_PP] : 0));
    for (int i = 0; i < p->n_stages; i++) {
        const struct mfu_stage *s = &p->stages[i];

        check_memory(p, &s->memory); /* its interval, too, and not that of the plan before */
        layers += s->layers;
        HOLDS(s->number == i && s->in_flight >= 1 - EXACT && s->in_flight <= 2 * p->config.accum);
        HOLDS(positive(s->forward_s) && positive(s->backward_s) && s->idle_s >= -EXACT * p->step.time_s);
        HOLDS(s->memory.peak.bytes <= p->memory.peak.bytes);
        HOLDS(mfu_pipeline_passes(&p->config.pipeline) * (s->forward_s + s->backward_s)
              <= p->step.time_s * (1 + EXACT));
    }
    if (p->n_stages)
        check_course(p);
    if (p->n_stages) /* of which a bidirectional schedule has two copies */
        HOLDS_NEAR(layers, p->program.layers * mfu_pipeline_chunks(&p->config.pipeline) / p->config.pipeline.vpp,
                   EXACT);
}

static void the_whole_is_its_parts(void **unused)
{
    SIMULATION simulation = {0};
    PLAN p = {0};
    struct mfu_scenario s;

    (void)unused;
    for (int i = 0; i < scenarios(SCENARIOS); i++) {
        struct mfu_error err = {0};
        double alive;

        next_layout(&s, &p);
        check_answer(&p);
        check_stages(&p);
        check_tensors(&p);
        if (i % 4)
            continue;
        alive = p.memory.peak.bytes;
        if (mfu_simulate(&p, false, &simulation, &err) < 0)
            fail_msg("%s\n  in: %s", err.text, told);
        check_answer(&p);
        /* The allocator is given all that is alive. */
        HOLDS(p.n_stages > 0 || mfu_runtimes[p.config.runtime].preallocates || simulation.replay.out_of_memory
              || (double)simulation.replay.steady.peak_allocated_bytes >= alive * (1 - 1e-3));
    }
}

static void same_plan(const struct mfu_plan *a, const struct mfu_plan *b)
{
    struct mfu_result r;

    for (size_t k = 0; mfu_result_at(k, &r); k++) {
        double x = mfu_result_value(&r, a), y = mfu_result_value(&r, b);

        if (!(x == y || (isnan(x) && isnan(y))))
            breaks("%s: %.17g, afresh %.17g\n  in: %s", r.name, x, y, told);
    }
    HOLDS(a->n_stages == b->n_stages && a->worst_stage == b->worst_stage && a->shown_stage == b->shown_stage);
    HOLDS(a->limit == b->limit && strcmp(a->memory.peak_at, b->memory.peak_at) == 0);
}

/* A plan that is made over another one is the plan made afresh, to the last bit:
 * scaled from its neighbours, or with their stages in another schedule. */
static void a_walk_remembers_nothing(void **unused)
{
    static const char *const keys[] = {"batch",
                                       "batch",
                                       "batch",
                                       "accum",
                                       "schedule",
                                       "vpp",
                                       "overlap_p2p",
                                       "pp",
                                       "tp",
                                       "cp",
                                       "zero",
                                       "dp",
                                       "ep",
                                       "nodes",
                                       "sp",
                                       "grad_clip",
                                       "seq",
                                       "seq",
                                       "dp",
                                       "checkpoint",
                                       "checkpoint_layers",
                                       "runtime",
                                       "loss_chunks",
                                       "optimizer",
                                       "power_w",
                                       "link.contention",
                                       "half_weights",
                                       "trainer",
                                       "distributed_debug",
                                       "lora",
                                       "base_precision",
                                       "trainable_layers",
                                       "rank_order"};
    static struct mfu_simulation simulation[2];
    static struct mfu_plan p, fresh, row;
    struct mfu_scenario s;

    (void)unused;
    for (int i = 0; i < scenarios(SCENARIOS) / 4; i++) {
        const char *most = keys[any(LENGTH(keys))];
        bool fitting = i % 2;

        next_layout(&s, &p);
        for (int k = 0; k < 8; k++) {
            const char *key = any(2) ? most : keys[any(LENGTH(keys))];
            struct mfu_scenario other = s;
            struct mfu_key found = mfu_scenario_key(&s, key, NULL);
            char value[24];
            bool made;

            if (found.kind == MFU_KEY_SETTING && mfu_settings[found.id].choices)
                snprintf(value, sizeof value, "%s", pick(mfu_settings[found.id].choices));
            else
                snprintf(value, sizeof value, "%d",
                         (int)((any(2) ? 1 + any(20) : 1u << any(7)) * (strcmp(key, "seq") == 0 ? 128 : 1)));
            if (mfu_scenario_set(&other, key, value, NULL) < 0)
                continue;
            snprintf(told + strlen(told), sizeof told - strlen(told), "; set %s %s", key, value);
            mfu_plan_release(&fresh);
            made = mfu_plan_make(&fresh, &other, NULL) == 0;
            HOLDS(made == (mfu_plan_make(&p, &other, NULL) == 0));
            if (!made) {
                *strrchr(told, ';') = '\0';
                continue;
            }
            same_plan(&p, &fresh);
            HOLDS(mfu_plan_make_sums(&row, &other, fitting, NULL) == (fitting && !fresh.memory.fits));
            HOLDS((fitting && !fresh.memory.fits) || memcmp(&row.step, &fresh.step, sizeof row.step) == 0);
            if (k % 4 == 3) { /* what is simulated is not remembered, either */
                HOLDS(mfu_simulate(&p, false, &simulation[0], NULL) == mfu_simulate_plan(&fresh, &simulation[1], NULL));
                same_plan(&p, &fresh);
            }
            s = other;
        }
    }
    mfu_simulation_release(&simulation[0]);
    mfu_simulation_release(&simulation[1]);
    mfu_plan_release(&p);
    mfu_plan_release(&row);
    mfu_plan_release(&fresh);
}

/* ---- directions ------------------------------------------------------------ */

/* Whether something goes on beside the kernels of a pass, in every microbatch: shards are gathered, activations leave; or
 * in one, which counts as its mean over all. */
static bool exchanges(const struct mfu_plan *p, bool in_every_microbatch)
{
    const struct mfu_program *g = &p->program;

    for (int i = 0; i < g->n_launches; i++)
        if (g->launches[i].communicates && g->launches[i].stream != MFU_STREAM_COMPUTE
            && (!in_every_microbatch || g->launches[i].work->when == MFU_EVERY_MICRO_STEP)
            && g->launches[i].phase != MFU_OPTIMIZER_PHASE)
            return true;
    return false;
}

/* Seconds by which the step of `fast`, which computes less or on a better card, may be the longer one, in a pipeline.
 * Exchanges that do not hide stand behind the schedule: of those a rank's own passes hide less, by what they are shorter,
 * while others set the schedule; those of one microbatch only where no rank waits for all norms: there a step is the
 * longest time from a rank's own first pass on, which begins as much earlier as the forwards before it are shorter. */
static double may_be_longer_s(const struct mfu_plan *slow, const struct mfu_plan *fast)
{
    const struct mfu_pipeline_layout *from = &slow->config.pipeline, *to = &fast->config.pipeline;
    bool norm_later = slow->n_stages > 0 && from->schedule->norm_later;
    double hides_less_s = 0, earlier_s = 0;

    for (int i = 0; i < slow->n_stages; i++) {
        const struct mfu_stage *x = &slow->stages[i], *y = &fast->stages[i];

        hides_less_s = fmax(hides_less_s,
                            mfu_pipeline_passes(from) * (x->forward_s + x->backward_s)
                                - mfu_pipeline_passes(to) * (y->forward_s + y->backward_s));
        earlier_s += fmax(x->forward_s - y->forward_s, 0);
    }
    return (exchanges(slow, !norm_later) ? hides_less_s : 0) + (norm_later ? earlier_s : 0);
}

/* Seconds by which the step of `fast`, on a better card, may be longer: dirty lines of L2 that kernels bound by arithmetic
 * hid while they lasted, others wait for, each byte once.  Those hid them at the memory's full rate, these wait at that of
 * their own class of traffic. */
static double waits_longer_s(const struct mfu_plan *slow, const struct mfu_plan *fast)
{
    const struct mfu_program *g = &slow->program;
    const struct mfu_machine *m = &fast->machine;
    double bytes = 0, rate = m->bandwidth_bytes_s;

    for (int k = 0; k < g->n_segments && g->n_launches == fast->program.n_launches; k++)
        for (int i = g->segments[k].first; i < g->segments[k].first + g->segments[k].count; i++) {
            const struct mfu_l2_use *uses[] = {&slow->pricing.uses[i], &fast->pricing.uses[i]};
            double hidden[2];

            for (int x = 0; x < 2; x++)
                hidden[x] = fmin(uses[x]->flushed_bytes, uses[x]->dirty_bytes + uses[x]->absorbed_bytes);
            bytes += mfu_segment_times(g, &g->segments[k]) * fmax(hidden[0] - hidden[1], 0);
            if (g->launches[i].work->kernel.launches > 0)
                rate = fmin(rate, mfu_dram_bytes_s(m, g->launches[i].work->kernel.traffic) * m->c[MFU_C_DRAM_HALF]);
        }
    return fmax(slow->n_stages, 1) * bytes * (1 / rate - 1 / m->bandwidth_bytes_s);
}

static void more_work_takes_no_less_time(void **unused)
{
    static const char *const keys[] = {"batch", "n_layer", "accum"};
    PLAN p = {0}, more = {0};
    struct mfu_scenario s;

    (void)unused;
    for (int i = 0; i < scenarios(SCENARIOS); i++) {
        next_layout(&s, &p);
        for (size_t k = 0; k < LENGTH(keys); k++) {
            double now = k == 0 ? p.config.batch
                : k == 1        ? mfu_config_dim(&p.config, "n_layer")
                                : p.config.accum,
                   within;

            if ((k == 0 && fmod(p.config.tokens, 64) != 0) || !replan(&more, &s, keys[k], 2 * now))
                continue;
            if (mfu_config_fused_softmax(&p.config) != mfu_config_fused_softmax(&more.config))
                continue; /* for numbers of sequences that it takes */
            /* Products of the update run at clocks that the whole step sets. */
            within = k == 0 ? 0.01 : mfu_optimizers[p.config.optimizer].matrices ? 0.001 : EXACT;
            if (more.step.time_s + may_be_longer_s(&more, &p) < p.step.time_s * (1 - within))
                breaks("%s %g takes %.9g s, %g %.9g s\n  in: %s", keys[k], now, p.step.time_s, 2 * now,
                       more.step.time_s, told);
        }
    }
}

/* A verdict names what it speaks of: a pipeline's microbatches are not replayed, so that no launch fails in it. */
static void a_verdict_leaves_no_gap(void **unused)
{
    static const struct mfu_term plain = {.width = 80, .height = 24};
    PLAN p = {0};
    struct mfu_scenario s;

    (void)unused;
    for (int i = 0; i < scenarios(SCENARIOS); i++) {
        char *text = NULL;
        size_t size;
        FILE *out = open_memstream(&text, &size);

        next_layout(&s, &p);
        mfu_text_memory(out, &plain, &p);
        fclose(out);
        HOLDS(!strstr(text, " ,") && !strstr(text, "print:\n\n"));
        free(text);
    }
}

/* A pipeline that fits only where the allocator gives back what it caches reserves no more than there is. */
static void cached_memory_is_given_back(void **unused)
{
    PLAN p = {0}, less = {0};
    struct mfu_scenario s;
    int tried = 0;

    (void)unused;
    for (int i = 0; i < scenarios(SCENARIOS); i++) {
        const struct mfu_memory_answer *m = &p.memory;
        double left;

        next_layout(&s, &p);
        left = m->capacity_bytes - m->context_bytes - m->peak.bytes;
        if (p.config.setting[MFU_S_PP] < 2 || !m->fits || left < m->loose_bytes)
            continue;
        /* Room for three quarters of what is cached: it fits where a half does. */
        if (!replan(&less, &s, "vram_reserved", left - 0.75 * m->loose_bytes) || !less.memory.fits)
            continue;
        tried++;
        HOLDS(less.memory.fill <= 1 + EXACT);
    }
    assert_true(tried > 0);
}

/* New weights are gathered beside the first forward, which needs them: that hides no more than itself, and so less than
 * all forwards (here without messages of their own). */
static void a_gather_hides_behind_one_forward(void **unused)
{
    PLAN beside = {0}, behind = {0};
    struct mfu_scenario s;

    (void)unused;
    for (int i = 0; i < scenarios(SCENARIOS); i++) {
        next_layout(&s, &beside);
        if (beside.config.ranks > beside.config.setting[MFU_S_DP] || beside.config.setting[MFU_S_CP] > 1
            || beside.config.setting[MFU_S_EP] > 1 || beside.config.setting[MFU_S_ETP] > 1
            || mfu_offloads(&beside.config))
            continue;
        s.setting[MFU_S_ZERO] = 1;
        s.setting_given[MFU_S_ZERO] = true;
        if (replan_as(&beside, &s, "overlap_param_gather", "on")
            && replan_as(&behind, &s, "overlap_param_gather", "off"))
            HOLDS(beside.step.time_s >= behind.step.time_s * (1 - EXACT)
                      - fmax(behind.step.forward_s, behind.step.host_s) - behind.step.idle_s);
    }
}

/* Of a step on one GPU: a square product of one token of each sequence, forward and backward. */
static double pooled_flops(const struct mfu_plan *p)
{
    double pooled = mfu_model_dim_find(p->config.model, "pooler", NULL) >= 0 ? mfu_config_dim(&p->config, "pooler") : 0;
    double width = pooled > 0 ? mfu_config_dim(&p->config, "n_embd") : 0;

    return 6 * width * width * p->config.batch * p->config.accum;
}

/* What is split over ranks is computed once: sp and cp leave a step's model FLOP, but for images, of which every
 * rank has all, and for products of weights (DoRA); nor but for a pooled token, which ranks have, too.  Tensor ranks
 * without sp send the same rows to experts elsewhere, which compute each (Megatron refuses that). */
static void parts_of_sequences_are_no_more_work(void **unused)
{
    static const char *const keys[] = {"sp", "cp"};
    PLAN p = {0}, whole = {0};
    struct mfu_scenario s;

    (void)unused;
    for (int i = 0; i < scenarios(SCENARIOS); i++) {
        next_layout(&s, &p);
        for (size_t k = 0; k < LENGTH(keys); k++) {
            double ranks = p.config.setting[k ? MFU_S_CP : MFU_S_SP];

            if (!(ranks > k) || mfu_model_dim_find(p.config.model, "image", NULL) >= 0
                || p.config.setting[MFU_S_DORA] > 0 || (!k && p.config.setting[MFU_S_EP] > 1))
                continue;
            s.setting[MFU_S_GPUS] = p.config.ranks / (k ? ranks : 1);
            s.setting_given[MFU_S_GPUS] = true;
            if (replan(&whole, &s, keys[k], (double)k))
                HOLDS(fabs(p.mfu.model_flops - whole.mfu.model_flops)
                      <= 1e-9 * whole.mfu.model_flops + p.config.ranks * pooled_flops(&p));
        }
    }
}

static struct mfu_gpu times(const struct mfu_gpu *gpu, double flops, double bandwidth, double memory)
{
    struct mfu_gpu other = *gpu;

    for (int i = 0; i < MFU_PEAK_COUNT; i++)
        other.peak_flops[i] *= flops;
    other.bandwidth_bytes_s *= bandwidth;
    other.size_bytes *= memory;
    other.capacity_bytes *= memory;
    other.smi_total_bytes *= memory;
    return other;
}

static void a_better_card_is_no_worse(void **unused)
{
    SIMULATION simulation = {0};
    PLAN p = {0}, better = {0};
    struct mfu_scenario s;

    (void)unused;
    for (int i = 0; i < scenarios(SCENARIOS); i++) {
        double factor = 1 + (double)(1 + any(300)) / 100;
        bool simulated = i % 8 == 0;
        struct mfu_gpu other, larger; /* a plan takes a card at the same address for the same card */

        next_layout(&s, &p);
        if (simulated && mfu_simulate(&p, false, &simulation, NULL) < 0)
            continue;
        other = times(p.config.gpu, factor, factor, 1);
        s.gpu = &other;
        if (!simulated && mfu_plan_make(&better, &s, NULL) == 0
            && better.step.time_s
                > p.step.time_s * (1 + EXACT) + may_be_longer_s(&p, &better) + waits_longer_s(&p, &better))
            breaks("%.2f times as fast: %.9g s, not %.9g s\n  in: %s", factor, better.step.time_s, p.step.time_s, told);
        larger = times(p.config.gpu, 1, 1, factor);
        s.gpu = &larger;
        if (mfu_plan_make(&better, &s, NULL) < 0 || (simulated && mfu_simulate(&better, false, &simulation, NULL) < 0))
            continue;
        HOLDS(!p.memory.fits || better.memory.fits);
        HOLDS(simulated || better.memory.fits_probability >= p.memory.fits_probability);
        if (!simulated && s.setting_given[MFU_S_CLOCK_MHZ]
            && replan(&better, &s, "clock_mhz", s.setting[MFU_S_CLOCK_MHZ] * factor))
            HOLDS(better.step.time_s
                  <= p.step.time_s * (1 + EXACT) + may_be_longer_s(&p, &better) + waits_longer_s(&p, &better));
    }
}

/* ---- routes ----------------------------------------------------------------- */

/* The library's plan, the row of a sweep on one thread and on three: one answer. */
static void all_routes_lead_to_one_plan(void **unused)
{
    SIMULATION simulation = {0};
    PLAN p = {0};
    mfuplan_catalog *library = mfuplan_open(MFUPLAN_SOURCE_DIR, NULL, NULL);
    mfuplan_plan *theirs = mfuplan_plan_new();
    struct mfu_scenario s;
    struct mfu_result r;

    (void)unused;
    assert_true(library && theirs);
    for (int i = 0; i < scenarios(SCENARIOS) / 12; i++) {
        struct pairs pairs = next_layout(&s, &p);
        mfuplan_scenario *same = mfuplan_scenario_new(library, pairs.model, pairs.gpu, NULL);
        mfuplan_depth depth = i % 2 ? MFUPLAN_SIMULATED : MFUPLAN_ANALYTIC;
        mfuplan_sweep *sweeps[2];
        char batches[80];

        for (int k = 0; k < pairs.n; k++)
            HOLDS(mfuplan_set(same, pairs.key[k], pairs.value[k], NULL) == 0);
        if (i % 2)
            HOLDS(mfu_simulate(&p, false, &simulation, NULL) == 0);
        HOLDS(mfuplan_run(theirs, same, depth, NULL) == 0);
        for (size_t k = 0; mfu_result_at(k, &r); k++) {
            double ours = mfu_result_value(&r, &p), value;

            HOLDS(mfuplan_result(theirs, r.name, &value, NULL) == 0);
            if (!(value == ours || (isnan(value) && isnan(ours))))
                breaks("%s: %.17g in the library, %.17g in the plan\n  in: %s", r.name, value, ours, told);
        }
        snprintf(batches, sizeof batches, "%.0f,%.0f..%.0f", p.config.batch, p.config.batch + 1, p.config.batch + 6);
        for (int k = 0; k < 2; k++) {
            static const char *const columns[] = {"step_time_s", "smi_used_bytes", "fits", "mfu", "fits_probability"};

            sweeps[k] = mfuplan_sweep_new(same);
            HOLDS(mfuplan_sweep_axis(sweeps[k], "batch", batches, NULL) == 0);
            HOLDS(mfuplan_sweep_axis(sweeps[k], "checkpoint", "none,full", NULL) == 0);
            for (size_t c = 0; c < LENGTH(columns); c++)
                HOLDS(mfuplan_sweep_column(sweeps[k], columns[c], NULL) == 0);
            HOLDS(mfuplan_sweep_run(sweeps[k], depth, k ? 3 : 1, NULL) == 0);
        }
        HOLDS(mfuplan_sweep_rows(sweeps[0]) == mfuplan_sweep_rows(sweeps[1]));
        for (size_t row = 0; row < mfuplan_sweep_rows(sweeps[0]); row++)
            for (size_t c = 0; c < 5; c++) {
                double x = mfuplan_sweep_get(sweeps[0], row, c), y = mfuplan_sweep_get(sweeps[1], row, c);

                HOLDS(x == y || (isnan(x) && isnan(y)));
            }
        mfuplan_sweep_free(sweeps[0]);
        mfuplan_sweep_free(sweeps[1]);
        mfuplan_scenario_free(same);
    }
    mfuplan_plan_free(theirs);
    mfuplan_close(library);
}

/* Layers of a decoder all read what its encoder made: no stage is left with the one or the other whole. */
static void no_pipeline_of_an_encoder_and_a_decoder(void **unused)
{
    static struct mfu_plan plan;
    int n = 0;

    (void)unused;
    for (size_t i = 0; i < n_models; i++) {
        const struct mfu_model *m = mfu_catalog_model(catalog, models[i], NULL);
        struct mfu_scenario s = mfu_scenario_start(m, mfu_catalog_gpu(catalog, "h200-sxm", NULL));

        if (mfu_model_dim_find(m, "n_encoder_layer", NULL) < 0)
            continue;
        for (int given = 0; given < 2; given++, n++) { /* as many as the decoder has, or any number */
            struct mfu_error err = {0};

            assert_int_equal(mfu_plan_make(&plan, &s, &err), 0);
            assert_int_equal(mfu_scenario_set(&s, "gpus", "2", NULL), 0);
            assert_int_equal(mfu_scenario_set(&s, "pp", "2", NULL), 0);
            assert_int_equal(mfu_plan_make(&plan, &s, &err), -1);
            assert_non_null(strstr(err.text, "pp: "));
            assert_int_equal(mfu_scenario_set(&s, "pp", "1", NULL), 0);
            assert_int_equal(mfu_scenario_set(&s, "n_encoder_layer", "4", NULL), 0);
        }
    }
    mfu_plan_release(&plan);
    assert_true(n >= 20);
}

/* However few layers a stage has, and whatever lives until they have run: no part of its memory is less than nothing. */
static void stages_hold_no_less_than_nothing(void **unused)
{
    static struct mfu_plan plan;
    int n = 0;

    (void)unused;
    for (size_t i = 0; i < n_models; i++)
        for (int deep = 0; deep < 2; deep++) {
            struct mfu_scenario s = mfu_scenario_start(mfu_catalog_model(catalog, models[i], NULL),
                                                       mfu_catalog_gpu(catalog, "h200-sxm", NULL));

            assert_int_equal(mfu_scenario_set(&s, "gpus", deep ? "4" : "2", NULL), 0);
            if (mfu_scenario_set(&s, "pp", deep ? "4" : "2", NULL) < 0 || mfu_plan_make(&plan, &s, NULL) < 0)
                continue;
            n++;
            for (int k = 0; k < plan.n_stages; k++)
                for (int part = 0; part < MFU_PART_COUNT; part++)
                    if (!(plan.stages[k].alone.peak.parts[part] >= 0))
                        fail_msg("%s, stage %d: %s: %g bytes", models[i], k, mfu_part_names[part],
                                 plan.stages[k].alone.peak.parts[part]);
        }
    mfu_plan_release(&plan);
    assert_true(n >= 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_whole_is_its_parts),
        cmocka_unit_test(a_walk_remembers_nothing),
        cmocka_unit_test(more_work_takes_no_less_time),
        cmocka_unit_test(parts_of_sequences_are_no_more_work),
        cmocka_unit_test(a_gather_hides_behind_one_forward),
        cmocka_unit_test(a_verdict_leaves_no_gap),
        cmocka_unit_test(cached_memory_is_given_back),
        cmocka_unit_test(a_better_card_is_no_worse),
        cmocka_unit_test(all_routes_lead_to_one_plan),
        cmocka_unit_test(no_pipeline_of_an_encoder_and_a_decoder),
        cmocka_unit_test(stages_hold_no_less_than_nothing),
    };

    return RUN_LAWS(tests);
}
