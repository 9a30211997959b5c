/* test_why.c - explanations close, and say what the numbers say. */
#include "near.h"
#include "owned.h"

#include "answer/why/order.h"
#include "answer/why/why.h"
#include "scenarios.h"
#include "scenario/setting.h"

static struct mfu_plan plan;
static struct mfu_simulation simulation;
static struct mfu_why why;

static int release(void **state)
{
    mfu_simulation_release(&simulation);
    mfu_plan_release(&plan);
    return close_catalog(state);
}

static void ask(const struct mfu_scenario *s, const char *topic)
{
    struct mfu_error err = {0};

    if (mfu_why_make(s, topic, &plan, &simulation, &why, &err) < 0)
        fail_msg("%s: %s", topic, err.text);
}

static double part(const char *name)
{
    for (int i = 0; i < why.n_parts; i++)
        if (!why.parts[i].leaf && strcmp(why.parts[i].name, name) == 0)
            return why.parts[i].fraction;
    return 0;
}

static double leaf(const char *name)
{
    for (int i = 0; i < why.n_parts; i++)
        if (why.parts[i].leaf && strcmp(why.parts[i].name, name) == 0)
            return why.parts[i].fraction;
    return 0;
}

static const struct mfu_symptom *symptom(const char *claim)
{
    for (int i = 0; i < why.n_symptoms; i++)
        if (strcmp(why.symptoms[i].claim, claim) == 0)
            return &why.symptoms[i];
    return NULL;
}

/* ---- the order of diagnosis ------------------------------------------------- */

/* The losses and what MFU counts are the step; a cause that is put in is where most is lost, and
 * its meter says so. */
static void order_finds_the_cause(void **state)
{
    static const struct {
        const char *gpu, *model, *pairs, *worst;
    } cases[] = {
        {"rtx4070", "gpt2", "batch 4 dataloader_ms 300", "data"},
        {"h100-sxm", "gpt2", "batch 1 seq 128", "host"},
        {"h100-sxm", "gpt2", "batch 8 attention math", "memory-bound"},
        {"rtx4070", "gpt2", "batch 2 precision fp32 runtime compile", "tensor pipe"},
        {"h100-sxm", "llama-3-8b", "gpus 16 nodes 16 zero 3 batch 1 seq 512", "communication"},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct mfu_scenario s = scenario_of(cases[i].gpu, cases[i].model, cases[i].pairs);
        struct mfu_diagnosis d;
        struct mfu_error err = {0};
        double sum = 0;

        if (mfu_diagnose(&s, &plan, &simulation, &d, &err) < 0)
            fail_msg("%s: %s", cases[i].pairs, err.text);
        for (int k = 0; k < MFU_DIAGNOSIS_STEPS; k++) {
            const struct mfu_diagnosis_step *x = &d.steps[k];

            sum += x->lost_s;
            if (x->worst && strcmp(x->name, cases[i].worst) != 0)
                fail_msg("%s: most is lost in %s (%g of %g s), not in %s", cases[i].pairs, x->name, x->lost_s, d.step_s,
                         cases[i].worst);
            if (x->worst && strcmp(x->name, "memory-bound") != 0)
                assert_false(x->is_fine);
        }
        assert_near(sum + d.counted_s, d.step_s, 1e-6 * d.step_s);
    }
}

/* ---- closing ------------------------------------------------------------- */

static void fractions_add_up(void **state)
{
    static const char *const topics[] = {"mfu",   "slow", "vram",      "utilisation",
                                         "batch", "gemm", "optimizer", "embedding"};

    (void)state;
    for (size_t i = 0; i < LENGTH(steps); i++) {
        struct mfu_scenario s = scenario_of(steps[i].gpu, steps[i].model, steps[i].pairs);

        for (size_t k = 0; k < LENGTH(topics); k++) {
            double sum = 0, inner = 0, group = 0;

            ask(&s, topics[k]);
            for (int n = 0; n < why.n_parts; n++) {
                const struct mfu_why_part *p = &why.parts[n];

                assert_true(isfinite(p->fraction));
                sum += p->leaf ? 0 : p->fraction;
                inner = p->leaf ? inner + p->fraction : 0;
                group = p->leaf ? group : p->fraction;
                if (p->leaf && (n + 1 == why.n_parts || !why.parts[n + 1].leaf))
                    assert_true(fabs(inner - group) < 1e-9);
            }
            assert_near(sum, why.total, 1e-9);
            assert_true(why.n_lines > 0);
        }
    }
}

/* The parts are the step's: the MFU is the plan's, and what is left for the
 * host is what the timeline saw. */
static void parts_are_those_of_the_plan(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(steps); i++) {
        struct mfu_scenario s = scenario_of(steps[i].gpu, steps[i].model, steps[i].pairs);
        struct mfu_breakdown split;
        double idle_s;

        ask(&s, "mfu");
        assert_near(part("mfu"), plan.mfu.mfu, 1e-12);
        assert_int_equal(mfu_breakdown_make(&plan, &simulation, true, &split, NULL), 0);
        assert_near(split.part_s[MFU_P_PEAK] / split.step_s, plan.mfu.mfu, 1e-12);
        assert_near(split.kernels_s, simulation.timeline.busy_s, 1e-9);
        assert_near(split.part_s[MFU_P_LOADER], simulation.timeline.loader_wait_s, 1e-12);
        assert_near(split.part_s[MFU_P_PAGING], plan.paging_s, 1e-12);
        idle_s = split.group_s[MFU_G_HOST] + split.group_s[MFU_G_INPUT] + split.group_s[MFU_G_COMMUNICATION];
        assert_true(fabs(idle_s - (plan.step.time_s - simulation.timeline.busy_s)) < 1e-9 * split.step_s);
        assert_true(split.part_s[MFU_P_CONTENTION] > -1e-9 * split.step_s);
        assert_true(split.group_s[MFU_G_HOST] > -1e-9 * split.step_s);
    }
}

/* Causes only cost time; only the mask, the clock, and what MFU does not count
 * may give some back. */
static void causes_cost_time(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(steps); i++) {
        struct mfu_scenario s = scenario_of(steps[i].gpu, steps[i].model, steps[i].pairs);
        struct mfu_breakdown split;

        plan_of(&s, &plan, &simulation);
        assert_int_equal(mfu_breakdown_make(&plan, &simulation, false, &split, NULL), 0);
        for (int k = 0; k < MFU_BREAKDOWN_COUNT; k++)
            if (k != MFU_P_MASK && k != MFU_P_CLOCK && k != MFU_P_UNCOUNTED && k != MFU_P_PRECISION)
                assert_true(split.part_s[k] > -1e-9 * split.step_s);
    }
}

/* ---- causes -------------------------------------------------------------- */

static void each_cause_has_its_part(void **state)
{
    struct mfu_scenario s;

    (void)state;
    s = scenario_of("a100-80gb-sxm", "gpt2", "batch 8 accum 4 vocab 50257");
    ask(&s, "mfu");
    assert_true(leaf("alignment") > 0.05);
    s = scenario_of("a100-80gb-sxm", "gpt2", "batch 8 accum 4 vocab 50304");
    ask(&s, "mfu");
    assert_near(leaf("alignment"), 0, 0);
    s = scenario_of("a100-80gb-sxm", "gpt2", "batch 8 accum 4 checkpoint full");
    ask(&s, "mfu");
    assert_true(part("recompute") > 0.1);
    assert_true(leaf("products again") >= plan.mfu.hfu - plan.mfu.mfu); /* slower than at peak */
    assert_true(plan.mfu.hfu > 1.1 * plan.mfu.mfu);
    s = scenario_of("h100-sxm", "gpt2", "batch 16 attention math");
    ask(&s, "mfu");
    assert_true(leaf("scores in memory") > 0.4);
    assert_near(part("masked attention"), 0, 0); /* math computes all pairs */
}

/* K 384 instead of 768: the start of a tile weighs twice as much. */
static void a_narrow_model_loses_more_at_the_start_of_tiles(void **state)
{
    struct mfu_scenario s = scenario_of("rtx4070", "gpt2", "batch 8 accum 64 runtime compile");
    double wide;

    (void)state;
    ask(&s, "gemm");
    wide = part("start of tiles") / part("FLOP at the peak");
    s = scenario_of("rtx4070", "gpt2", "n_embd 384 n_head 6 batch 16 accum 32 runtime compile");
    ask(&s, "gemm");
    assert_true(part("start of tiles") / part("FLOP at the peak") > 1.3 * wide);
}

static void symptoms_are_recognised(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(steps); i++) {
        struct mfu_scenario s = scenario_of(steps[i].gpu, steps[i].model, steps[i].pairs);

        ask(&s, "slow");
        if (steps[i].symptom && !symptom(steps[i].symptom))
            fail_msg("%s on %s, %s: no %s", steps[i].model, steps[i].gpu, steps[i].pairs, steps[i].symptom);
    }
}

/* What the host does once per step is no launch. */
static void the_hand_over_of_a_step_is_no_launch(void **state)
{
    struct mfu_scenario s = scenario_of("rtx4090", "gpt2",
                                        "batch 64 n_layer 6 n_head 6 n_embd 384 seq 256 vocab_size 65 "
                                        "dropout 0.2");

    (void)state;
    ask(&s, "slow");
    assert_true(part("host") > 0.1);
    assert_true(simulation.timeline.host_s < 0.3 * plan.step.time_s);
    assert_null(symptom("C5"));
}

/* What is said to dominate beside forward and backward is no less than what a step takes beside kernels. */
static void what_dominates_takes_the_most(void **state)
{
    struct mfu_scenario s = scenario_of("h100-sxm", "gpt2", "batch 1 seq 16 runtime compile cuda_graphs on");

    (void)state;
    ask(&s, "slow");
    assert_true(leaf("per step") > 0.1 && symptom("C6") && symptom("C6")->share >= leaf("per step"));
}

static void a_healthy_step_has_none(void **state)
{
    struct mfu_scenario s = scenario_of("rtx4070", "gpt2", "batch 8 accum 64 runtime compile");

    (void)state;
    ask(&s, NULL);
    assert_string_equal(why.topic, "mfu");
    assert_int_equal(why.n_symptoms, 0);
    assert_true(why.ceiling >= plan.mfu.mfu);
}

/* ---- memory, batch, kernels ---------------------------------------------- */

static void memory_is_what_nvidia_smi_shows(void **state)
{
    struct mfu_scenario s = scenario_of("rtx4070", "gpt2", "batch 8 accum 64 runtime compile vram_reserved 1GiB");
    double states;

    (void)state;
    ask(&s, "memory");
    assert_string_equal(why.topic, "vram");
    assert_int_equal(why.dim, MFU_BYTES);
    states = part("weights") + part("gradients") + part("optimizer");
    assert_near(states * (plan.memory.smi_bytes + 0x1p30), 16 * plan.program.params, 0.01);
    assert_near(part("other processes"), 0x1p30 / (plan.memory.smi_bytes + 0x1p30), 1e-12);
}

static bool says(const char *text)
{
    for (int i = 0; i < why.n_lines; i++)
        if (strstr(why.lines[i], text))
            return true;
    return false;
}

/* No sentence about what is not known: whether the model fits, or which blocks a pipeline's allocator keeps.  A micro-batch is the
 * largest by memory alone. */
static void memory_says_what_is_known(void **state)
{
    struct mfu_scenario alone = scenario_of("h100-sxm", "gpt2", "batch 4"), pipeline = alone, unknown = alone,
                        full = scenario_of("rtx4070", "llama-3-8b", "batch 2"),
                        narrow = scenario_of("a100-80gb-sxm", "phi-3-mini",
                                             "batch 4 accum 8 checkpoint full gpus 16 zero 3 tp 4 pp 4");
    double in_use = 0;

    (void)state;
    ask(&alone, "vram");
    assert_true(says("Expandable segments") && says("Between two steps") && says("largest micro-batch that fits"));
    ask(&narrow,
        "vram"); /* the largest micro-batch fits by what the allocator gives back: no more is in use than there is */
    for (int i = 0; i < why.n_lines; i++)
        if (sscanf(why.lines[i], "The largest micro-batch that fits is %*d, with %lf GiB", &in_use) == 1)
            break;
    assert_true(in_use > 0 && in_use * 0x1p30 <= plan.memory.capacity_bytes * 1.001);
    set_all(&pipeline, "gpus 4 pp 4 accum 8");
    ask(&pipeline, "vram");
    assert_true(!says("Expandable segments") && !says("Between two steps") && says("largest micro-batch that fits"));
    mfu_scenario_leave_out(&unknown, "a.sh", "softcap", "on");
    ask(&unknown, "vram");
    assert_true(!says("Not even one sequence") && !says("largest micro-batch that fits"));
    ask(&full, "vram");
    assert_true(says("Not even one sequence"));
}

static void batches_are_plans_of_their_own(void **state)
{
    static const char *const objectives[] = {"batch 8 accum 64 runtime compile", "batch 8 accum 64 objective dpo"};
    PLAN p = {0};
    SIMULATION sim = {0};

    (void)state;
    for (size_t k = 0; k < LENGTH(objectives); k++) {
        struct mfu_scenario s = scenario_of("rtx4070", "gpt2", objectives[k]), other;
        int now = 0;

        ask(&s, "batch");
        assert_true(why.n_rows >= 4);
        for (int i = 0; i < why.n_rows; i++) {
            char pairs[64];

            snprintf(pairs, sizeof pairs, "batch %.0f accum %.0f", why.rows[i].batch, why.rows[i].accum);
            assert_near(why.rows[i].batch * why.rows[i].accum, 512, 0);
            other = s;
            set_all(&other, pairs);
            plan_of(&other, &p, &sim);
            assert_near(why.rows[i].step_s, p.step.time_s, 1e-12);
            assert_int_equal(why.rows[i].fits, p.memory.fits);
            assert_int_equal(why.rows[i].now, why.rows[i].batch == 8);
            now += why.rows[i].now;
        }
        assert_int_equal(now, 1);
    }
}

/* A remedy is the fastest that fits, not the largest. */
static void the_fastest_batch_that_fits_is_named(void **state)
{
    struct mfu_scenario s = scenario_of("rtx4090", "gpt2", "batch 12 accum 40 precision tf32");
    const struct mfu_why_row *best = NULL, *largest = NULL;
    bool found = false;
    char named[40];

    (void)state;
    ask(&s, "batch");
    for (int i = 0; i < why.n_rows; i++)
        if (why.rows[i].fits) {
            largest = &why.rows[i];
            best = !best || why.rows[i].tokens_per_s > best->tokens_per_s ? &why.rows[i] : best;
        }
    assert_non_null(best);
    assert_true(best->batch < largest->batch);
    snprintf(named, sizeof named, "of those that fit, %.0f is", best->batch);
    for (int i = 0; i < why.n_lines; i++)
        found |= strstr(why.lines[i], named) != NULL;
    assert_true(found);
}

/* A time that is there once is none below nothing. */
static void nothing_saves_less_than_nothing(void **state)
{
    struct mfu_scenario s = scenario_of("rtx4090", "qwen2.5-0.5b", "batch 2 accum 8 seq 4k");

    (void)state;
    ask(&s, "batch");
    assert_near(part("per micro-step"), 0, 0);
    for (int i = 0; i < why.n_lines; i++) {
        assert_null(strstr(why.lines[i], "can save"));
        assert_null(strstr(why.lines[i], " -"));
    }
    for (size_t i = 0; i < LENGTH(steps); i++) {
        s = scenario_of(steps[i].gpu, steps[i].model, steps[i].pairs);
        ask(&s, "batch");
        assert_true(part("per micro-step") >= 0);
    }
}

/* The loader's work for a sequence stays, whatever the micro-batch. */
static void another_batch_does_not_speed_up_the_loader(void **state)
{
    struct mfu_scenario s = scenario_of("h100-sxm", "gpt2", "batch 16 accum 4 dataloader_ms 500"), four;
    PLAN p = {0};
    SIMULATION sim = {0};

    (void)state;
    four = s;
    set_all(&four, "batch 64 accum 1");
    mfu_scenario_keep_loader(&four, 16);
    assert_near(four.setting[MFU_S_DATALOADER_MS], 2000, 1e-12);
    plan_of(&four, &p, &sim);
    ask(&s, "batch");
    for (int i = 0; i < why.n_rows; i++)
        if (why.rows[i].batch == 64)
            assert_near(why.rows[i].step_s, p.step.time_s, 1e-12);
}

static void kernels_go_by_name_op_and_kind(void **state)
{
    static const char *const names[] = {"h.attn.qkv", "h.attn.qkv.wgrad", "h.mlp", "attention",
                                        "adamw",      "H.ATTN.CORE.GRAD"};
    struct mfu_scenario s = scenario_of("rtx4070", "gpt2", "batch 8 accum 64 runtime compile");
    struct mfu_error err = {0};

    (void)state;
    for (size_t i = 0; i < LENGTH(names); i++)
        ask(&s, names[i]);
    assert_int_equal(mfu_why_make(&s, "h.attn.qvk", &plan, &simulation, &why, &err), -1);
    assert_non_null(strstr(err.text, "no topic and no kernel is called 'h.attn.qvk'"));
    assert_true(err.suggestion[0] != '\0');
}

/* What a rank sums: the experts that it holds over their own copies, all else over all replicas. */
static void experts_sum_over_their_copies(void **state)
{
    static const struct {
        const char *pairs, *says;
    } cases[] = {
        {"gpus 64 ep 8 zero 1", "64 replicas sum 2.991 GiB of gradients (8 of experts 10.5 GiB) and gather"},
        {"gpus 64 ep 8 tp 2 zero 1", "32 replicas sum 1.497 GiB of gradients (4 of experts 5.25 GiB) and gather"},
        {"gpus 8 ep 8", "8 replicas sum 5.981 GiB of gradients, less often"},
        {"gpus 8 tp 8 sp on etp 1", "8 replicas sum"}, /* of experts */
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct mfu_scenario s = scenario_of("h100-sxm", "mixtral-8x7b", cases[i].pairs);

        ask(&s, "slow");
        assert_non_null(symptom("C8"));
        if (!strstr(symptom("C8")->text, cases[i].says))
            fail_msg("%s: %s", cases[i].pairs, symptom("C8")->text);
    }
}

/* The ranks of a context, too; nobody does where there is one. */
static void replicas_sum_where_there_are_some(void **state)
{
    static const struct {
        const char *pairs, *says;
    } cases[] = {
        {"gpus 8 cp 8", " 8 replicas sum 29.92 GiB"},
        {"gpus 8 cp 4 cp_comm_type a2a dp 2", " 8 replicas sum 29.92 GiB"},
        {"gpus 8 tp 4 cp 2", " 2 replicas sum 7.48 GiB"},
        {"gpus 8 tp 8", NULL},
        {"gpus 16 tp 8 pp 2", NULL},
        {"gpus 16 nodes 16 zero 1 batch 1 seq 512", " and gather weights, less often with more accumulation."},
        {"gpus 16 nodes 16 zero 3 batch 1 seq 512", " and gather weights, in every micro-step."},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct mfu_scenario s = scenario_of("h100-sxm", "llama-3-8b", cases[i].pairs);

        ask(&s, "slow");
        assert_non_null(symptom("C8"));
        if (!strstr(symptom("C8")->text, cases[i].says ? cases[i].says : ". Other sharding")
            || (!cases[i].says && strstr(symptom("C8")->text, "replicas")))
            fail_msg("%s: %s", cases[i].pairs, symptom("C8")->text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_finds_the_cause),
        cmocka_unit_test(fractions_add_up),
        cmocka_unit_test(parts_are_those_of_the_plan),
        cmocka_unit_test(causes_cost_time),
        cmocka_unit_test(each_cause_has_its_part),
        cmocka_unit_test(a_narrow_model_loses_more_at_the_start_of_tiles),
        cmocka_unit_test(symptoms_are_recognised),
        cmocka_unit_test(the_hand_over_of_a_step_is_no_launch),
        cmocka_unit_test(what_dominates_takes_the_most),
        cmocka_unit_test(a_healthy_step_has_none),
        cmocka_unit_test(memory_is_what_nvidia_smi_shows),
        cmocka_unit_test(memory_says_what_is_known),
        cmocka_unit_test(batches_are_plans_of_their_own),
        cmocka_unit_test(the_fastest_batch_that_fits_is_named),
        cmocka_unit_test(nothing_saves_less_than_nothing),
        cmocka_unit_test(another_batch_does_not_speed_up_the_loader),
        cmocka_unit_test(kernels_go_by_name_op_and_kind),
        cmocka_unit_test(experts_sum_over_their_copies),
        cmocka_unit_test(replicas_sum_where_there_are_some),
    };

    return cmocka_run_group_tests(tests, open_catalog, release);
}
