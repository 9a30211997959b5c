/* test_advise.c - levers say what separate plans say. */
#include "near.h"

#include <math.h>
#include <stdlib.h>

#include "answer/advise/advise.h"
#include "answer/search/sweep.h"
#include "scenarios.h"
#include "scenario/setting.h"

static struct mfu_plan plan, other;
static struct mfu_simulation simulation, other_simulation;
static struct mfu_advice advice;

static int release(void **state)
{
    mfu_advice_free(&advice);
    mfu_simulation_release(&simulation);
    mfu_simulation_release(&other_simulation);
    mfu_plan_release(&plan);
    mfu_plan_release(&other);
    return close_catalog(state);
}

static void ask(const struct mfu_scenario *s)
{
    struct mfu_error err = {0};

    mfu_advice_free(&advice);
    if (mfu_advise(s, &plan, &simulation, &advice, &err) < 0)
        fail_msg("%s", err.text);
}

static const struct mfu_lever *lever(const char *change)
{
    for (int i = 0; i < advice.n_levers; i++)
        if (strcmp(advice.levers[i].change, change) == 0)
            return &advice.levers[i];
    fail_msg("no lever '%s'", change);
    return NULL;
}

/* The lever's keys, set by hand as a user would. */
static struct mfu_scenario by_hand(const struct mfu_scenario *base, const struct mfu_lever *l)
{
    struct mfu_scenario s = *base;

    for (int i = 0; i < l->n_set; i++) {
        struct mfu_key key = l->set[i].key;
        const char *name = key.kind == MFU_KEY_DIM ? base->model->dims[key.id].name : mfu_settings[key.id].key;
        char value[MFU_QUANTITY_MAX];

        if (key.kind == MFU_KEY_SETTING && mfu_settings[key.id].choices)
            snprintf(value, sizeof value, "%s", mfu_settings[key.id].choices[(int)l->set[i].value]);
        else
            snprintf(value, sizeof value, "%.17g", l->set[i].value);
        assert_int_equal(mfu_scenario_set(&s, name, value, NULL), 0);
    }
    return s;
}

static void gains_are_those_of_two_plans(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(steps); i++) {
        struct mfu_scenario s = scenario_of(steps[i].gpu, steps[i].model, steps[i].pairs);
        double before_s, tokens;

        ask(&s);
        plan_of(&s, &plan, &simulation);
        before_s = plan.step.time_s;
        tokens = plan.step.tokens;
        assert_near(advice.base.step_s, before_s, 1e-12);
        assert_true(advice.n_levers >= 8);
        for (int k = 0; k < advice.n_levers; k++) {
            const struct mfu_lever *l = &advice.levers[k];
            struct mfu_scenario changed = by_hand(&s, l);

            plan_of(&changed, &other, &other_simulation);
            assert_near(l->outcome.step_s, other.step.time_s, 1e-12);
            assert_near(l->speedup, before_s / tokens * other.step.tokens / other.step.time_s, 1e-12);
            assert_near(l->outcome.memory_bytes, other.memory.smi_bytes, 1e-12);
            assert_int_equal(l->outcome.fits, other.memory.fits);
            assert_int_equal(l->keeps_tokens_per_step, other.step.tokens == tokens);
            assert_true(l->why[0] != '\0');
        }
    }
}

/* Fits beats what does not; then speed counts, or memory where nothing fits. */
static bool at_least(const struct mfu_outcome *a, const struct mfu_outcome *b)
{
    if (a->fits != b->fits)
        return a->fits;
    return a->fits ? mfu_speedup(b, a) > 0.9994 : a->memory_bytes <= 1.0011 * b->memory_bytes;
}

static void together_is_never_worse_than_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(steps); i++) {
        struct mfu_scenario s = scenario_of(steps[i].gpu, steps[i].model, steps[i].pairs);

        ask(&s);
        assert_true(at_least(&advice.best.outcome, &advice.base));
        assert_true(advice.best.keeps_tokens_per_step && !advice.best.changes_mathematics);
        assert_true(at_least(&advice.best_any.outcome, &advice.base));
        for (int k = 0; k < advice.n_levers; k++) {
            const struct mfu_lever *l = &advice.levers[k];

            if (l->hardware || !l->keeps_tokens_per_step)
                continue;
            assert_true(at_least(&advice.best_any.outcome, &l->outcome));
            if (!l->changes_mathematics)
                assert_true(at_least(&advice.best.outcome, &l->outcome));
            if (l->outcome.fits)
                assert_true(advice.ceiling >= l->outcome.mfu);
        }
        plan_of(&advice.best.scenario, &other, &other_simulation);
        assert_near(advice.best.outcome.step_s, other.step.time_s, 1e-12);
        assert_near(advice.best.speedup, mfu_speedup(&advice.base, &advice.best.outcome), 1e-12);
    }
}

/* Tokens per second of the fastest that fits, at the tokens per step of the advice;
 * of the best few by the analytic path, simulated. */
static double fastest_of(const struct mfu_scenario *s, const char *const (*axes)[2], size_t n)
{
    struct mfu_sweep sweep = {.scenario = s, .keep = 24, .maximize = true};
    struct mfu_sweep_result found;
    struct mfu_error err = {0};
    double best = 0;
    char where[96];

    snprintf(where, sizeof where, "fits and tokens_per_step == %.0f", advice.base.tokens);
    sweep.where = mfu_question_compile(s, where, &err);
    sweep.columns[sweep.n_columns++] = mfu_question_compile(s, "tokens_per_s", &err);
    for (size_t k = 0; k < n; k++)
        assert_int_equal(mfu_axis_read(&sweep.axes[sweep.n_axes++], s, axes[k][0], axes[k][1], &err), 0);
    assert_int_equal(mfu_sweep_run(&sweep, &found, &err), 0);
    if (found.n_rows == 0)
        fail_msg("%s: nothing found", where);
    for (size_t k = 0; k < found.n_rows; k++) {
        struct mfu_scenario row = mfu_sweep_scenario(&sweep, found.rows[k].combination);

        plan_of(&row, &other, &other_simulation);
        if (other.memory.fits)
            best = fmax(best, other.step.tokens_per_s);
    }
    mfu_sweep_result_free(&found);
    mfu_sweep_clear(&sweep);
    return best;
}

/* A search over what the levers change, at equal tokens per step, ends no slower
 * than the levers together, and so than any of them: its best few by the analytic
 * path, simulated.  Searching sees more values than levers try; it may be faster. */
static void a_search_is_never_worse_than_the_levers(void **state)
{
    static const char *const axes[][2] = {{"batch", "1..128*2"},
                                          {"accum", "1..128*2"},
                                          {"runtime", "eager,compile,fused"},
                                          {"attention", "math,flash,flash3,memeff,cudnn"},
                                          {"checkpoint", "all"},
                                          {"cuda_graphs", "all"},
                                          {"loss_chunks", "1,8"}};
    static const struct {
        const char *gpu, *model, *pairs;
    } starts[] = {
        {"rtx4070", "gpt2", "batch 8 accum 16 runtime compile"},
        {"h100-sxm", "gpt2", "batch 16 accum 4 attention math"},
        {"h100-sxm", "gpt2", "batch 1 accum 8 seq 256"},
        {"a100-80gb-sxm", "vit-l-16", "batch 32 accum 4"},
        {"h100-sxm", "gpt2-xl", "batch 4 accum 4 checkpoint full"},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(starts); i++) {
        struct mfu_scenario s = scenario_of(starts[i].gpu, starts[i].model, starts[i].pairs);
        double best;

        ask(&s);
        best = fastest_of(&s, axes, LENGTH(axes));
        assert_true(best > 0.995 * advice.best.outcome.tokens / advice.best.outcome.step_s);
        for (int k = 0; k < advice.n_levers; k++) {
            const struct mfu_lever *l = &advice.levers[k];

            if (l->outcome.fits && l->keeps_tokens_per_step && !l->hardware && !l->changes_mathematics)
                assert_true(best > 0.995 * l->outcome.tokens / l->outcome.step_s);
        }
    }
}

/* Micro-batches are offered by the divisors of the accumulation, not by its powers
 * of two alone. */
static void levers_reach_what_a_search_finds(void **state)
{
    static const struct {
        const char *gpu, *model, *pairs, *batches, *accums;
    } starts[] = {
        {"a100-80gb-sxm", "gpt2-medium", "batch 3 accum 21 gpus 8", "1,3,7,9,21,63", "1,3,7,9,21,63"},
        {"h100-sxm", "gpt2", "batch 10 accum 9 gpus 4 runtime compile", "5,9,10,15,18,30,45,90", "1,2,3,5,6,9,10,18"},
        {"a100-40gb-sxm", "gpt2", "batch 12 accum 5 gpus 8 runtime compile", "6,10,12,15,20,30,60", "1,2,3,4,5,6,10"},
        {"rtx4070", "gpt2", "batch 5 accum 15 runtime compile", "1,3,5,15,25,75", "1,3,5,15,25,75"},
        {"rtx4090", "gpt2", "batch 12 accum 40 precision tf32", "4,6,8,10,12,15,16,24", "20,30,32,40,48,60,80,120"},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(starts); i++) {
        const char *const axes[][2] = {{"batch", starts[i].batches}, {"accum", starts[i].accums},
                                       {"runtime", "eager,compile"}, {"attention", "flash,flash3,memeff,cudnn"},
                                       {"checkpoint", "all"},        {"loss_chunks", "1,8"}};
        struct mfu_scenario s = scenario_of(starts[i].gpu, starts[i].model, starts[i].pairs);

        ask(&s);
        assert_true(advice.best.outcome.fits);
        assert_true(advice.best.outcome.tokens / advice.best.outcome.step_s
                    > 0.99 * fastest_of(&s, axes, LENGTH(axes)));
    }
}

/* Of many micro-batches the best few are shown, and one that is too large. */
static void micro_batches_do_not_fill_the_table(void **state)
{
    struct mfu_scenario s = scenario_of("rtx4070", "gpt2", "batch 2 accum 240 runtime compile");
    int shown = 0, too_large = 0, aside = 0;

    (void)state;
    ask(&s);
    for (int k = 0; k < advice.n_levers; k++) {
        const struct mfu_lever *l = &advice.levers[k];

        if (strncmp(l->change, "batch ", 6) != 0 || !l->keeps_tokens_per_step)
            continue;
        aside += l->aside;
        shown += !l->aside && l->verdict == MFU_LEVER_FASTER;
        too_large += !l->aside && !l->outcome.fits;
        if (l->outcome.fits && l->aside)
            assert_true(l->speedup <= advice.levers[0].speedup);
    }
    assert_true(shown > 0 && shown <= 3);
    assert_int_equal(too_large, 1);
    assert_true(aside > 3);
}

static void levers_are_ranked(void **state)
{
    struct mfu_scenario s = scenario_of("rtx4070", "gpt2", "batch 8 accum 64 runtime compile");

    (void)state;
    ask(&s);
    for (int k = 1; k < advice.n_levers; k++) {
        const struct mfu_lever *a = &advice.levers[k - 1], *b = a + 1;

        assert_true(a->verdict <= b->verdict);
        if (a->verdict == b->verdict && a->verdict != MFU_LEVER_SMALLER)
            assert_true(a->speedup >= b->speedup);
    }
}

static void what_helps_follows_from_the_step(void **state)
{
    struct mfu_scenario s = scenario_of("a100-80gb-sxm", "gpt2", "batch 16 accum 4 precision fp32");

    (void)state;
    ask(&s);
    assert_true(lever("precision tf32")->speedup > 4);
    assert_true(lever("precision bf16")->speedup > lever("precision tf32")->speedup);
    s = scenario_of("h100-sxm", "gpt2", "batch 16 accum 4 attention math");
    ask(&s);
    assert_true(lever("attention flash")->speedup > 2);
    assert_true(lever("attention flash")->outcome.memory_bytes < advice.base.memory_bytes);
    s = scenario_of("a100-80gb-sxm", "gpt2", "batch 8 accum 4 vocab 50257");
    ask(&s);
    assert_near(lever("vocab_size 50304")->set[0].value, 50304, 0);
    assert_true(lever("vocab_size 50304")->speedup > 1.05);
    s = scenario_of("rtx4070", "gpt2", "batch 8 accum 64 runtime compile");
    ask(&s);
    assert_true(fabs(lever("accum 128")->speedup - 1) < 0.005); /* accumulation hides nothing */
    assert_false(lever("batch 16")->outcome.fits);
    assert_int_equal(lever("cuda_graphs on")->verdict, MFU_LEVER_USELESS);
}

/* The loader's time is per micro-batch: a larger one does not speed it up. */
static void larger_batches_do_not_fool_the_loader(void **state)
{
    struct mfu_scenario s = scenario_of("h100-sxm", "gpt2", "batch 16 accum 4 runtime compile dataloader_ms 200");

    (void)state;
    ask(&s);
    assert_near(lever("batch 32")->speedup, 1, 0.01);
    assert_true(lever("dataloader_ms 0")->speedup > 4);
    assert_true(advice.best.speedup > lever("dataloader_ms 0")->speedup);
}

/* Keys of a combination as they are printed: set in any order, they give its
 * figures, the loader's time among them. */
static void check_combination(const struct mfu_scenario *base, const struct mfu_combination *c)
{
    struct mfu_scenario s = *base;

    for (int i = 0; i < c->n; i++) {
        struct mfu_lever l = advice.levers[c->levers[i]];

        for (int k = 0; k < l.n_set; k++)
            l.set[k].value = mfu_scenario_value(&c->scenario, l.set[k].key);
        s = by_hand(&s, &l);
    }
    plan_of(&s, &other, &other_simulation);
    assert_near(c->outcome.step_s, other.step.time_s, 1e-12);
    assert_near(c->outcome.memory_bytes, other.memory.smi_bytes, 1e-12);
    assert_int_equal(c->outcome.fits, other.memory.fits);
}

static void keys_of_a_combination_give_its_figures(void **state)
{
    struct mfu_scenario s;

    (void)state;
    for (size_t i = 0; i < LENGTH(steps); i++) {
        s = scenario_of(steps[i].gpu, steps[i].model, steps[i].pairs);
        ask(&s);
        check_combination(&s, &advice.best);
        check_combination(&s, &advice.best_any);
        check_combination(&s, &advice.highest);
    }
    s = scenario_of("h100-sxm", "gpt2", "batch 16 accum 4 dataloader_ms 500");
    ask(&s);
    check_combination(&s, &advice.best);
    check_combination(&s, &advice.best_any);
    assert_true(advice.best.speedup > 10); /* without the loader's wait */
}

/* One number, which what is offered reaches and nothing on offer passes. */
static void the_ceiling_is_that_of_a_scenario(void **state)
{
    struct mfu_scenario s;

    (void)state;
    for (size_t i = 0; i < LENGTH(steps); i++) {
        s = scenario_of(steps[i].gpu, steps[i].model, steps[i].pairs);
        ask(&s);
        if (!advice.highest.outcome.fits) {
            assert_true(isnan(advice.ceiling));
            continue;
        }
        assert_near(advice.ceiling, advice.highest.outcome.mfu, 0);
        assert_true(advice.best.outcome.mfu < 1.0006 * advice.ceiling || !advice.best.outcome.fits);
        for (int k = 0; k < advice.n_levers; k++)
            if (advice.levers[k].outcome.fits && !advice.levers[k].hardware)
                assert_true(advice.levers[k].outcome.mfu < 1.0006 * advice.ceiling);
    }
    s = scenario_of("rtx4070", "gpt2", "batch 8 accum 64 runtime compile");
    ask(&s);
    set_all(&s, "precision bf16-pure loss_chunks 8 batch 16 accum 32");
    plan_of(&s, &other, &other_simulation);
    assert_true(other.memory.fits && advice.ceiling >= other.mfu.mfu);
    assert_true(advice.highest.changes_mathematics);
    s = scenario_of("gtx1650", "llama-3-70b", "precision fp32");
    ask(&s);
    assert_true(isnan(advice.ceiling));
}

/* ZeRO as it is modelled computes with 16-bit weights: only what is the same
 * without them is sharding's. */
static void narrower_weights_are_no_gain_of_sharding(void **state)
{
    struct mfu_scenario s = scenario_of("a100-40gb-sxm", "gpt2", "batch 12 accum 5 gpus 8 runtime compile");

    (void)state;
    ask(&s);
    assert_true(lever("zero 2")->changes_mathematics);
    assert_true(lever("zero 3")->changes_mathematics);
    assert_true(lever("runtime fused")->changes_mathematics);
    assert_non_null(strstr(lever("zero 2")->why, "16-bit weights and gradients, fp32 masters"));
    assert_false(lever("zero 2 half_weights off")->changes_mathematics);
    assert_true(lever("zero 2")->speedup > 1.05);
    assert_true(lever("zero 2 half_weights off")->speedup < 1.02);
    assert_false(advice.best.changes_mathematics);
    set_all(&s, "half_weights on");
    ask(&s);
    assert_false(lever("zero 2")->changes_mathematics); /* they are so already */
    assert_non_null(lever("precision bf16-pure half_weights off"));
}

static bool is_offered(const char *change)
{
    for (int i = 0; i < advice.n_levers; i++)
        if (strncmp(advice.levers[i].change, change, strlen(change)) == 0)
            return true;
    return false;
}

/* Adapters are offered where full training finds no room, four bits beside adapters, and a budget where layers are. */
static void fewer_weights_train_where_all_find_no_room(void **state)
{
    struct mfu_scenario s = scenario_of("rtx4090", "llama-3-8b", "seq 1024");
    const struct mfu_lever *lora, *qlora, *budget;

    (void)state;
    ask(&s);
    lora = lever("lora 16");
    qlora = lever("lora 16 base_precision nf4");
    budget = lever("checkpoint_budget 0.5 checkpoint budget");
    assert_false(advice.base.fits);
    assert_true(lora->changes_mathematics && qlora->changes_mathematics && !budget->changes_mathematics);
    assert_true(qlora->outcome.memory_bytes < lora->outcome.memory_bytes
                && lora->outcome.memory_bytes < advice.base.memory_bytes);
    s = lora->scenario;
    ask(&s);
    assert_true(lever("base_precision nf4")->outcome.memory_bytes < advice.base.memory_bytes);
    s = scenario_of("rtx4090", "gpt2", "");
    ask(&s);
    assert_true(advice.base.fits);
    for (int i = 0; i < advice.n_levers; i++)
        assert_int_not_equal(strncmp(advice.levers[i].change, "lora", 4), 0);
}

static void what_cannot_be_is_not_offered(void **state)
{
    static const char *const not_in_c[] = {"loss_chunks",   "optimizer", "cuda_graphs", "expandable_segments",
                                           "precision fp8", "zero 2",    "zero 3"};
    struct mfu_scenario s = scenario_of("gtx1080ti", "gpt2", "batch 2 accum 4");

    (void)state;
    ask(&s);
    assert_false(is_offered("runtime compile"));
    s = scenario_of("h100-sxm", "gpt2", "batch 8 accum 4 runtime llmc gpus 8");
    ask(&s);
    for (size_t i = 0; i < LENGTH(not_in_c); i++)
        assert_false(is_offered(not_in_c[i]));
    s = scenario_of("v100-32gb-sxm", "gpt2", "batch 8 accum 4 gpus 8");
    ask(&s);
    assert_true(is_offered("gpus 16")); /* but for this one */
}

static void impossible_levers_say_why(void **state)
{
    struct mfu_scenario s = scenario_of("a100-80gb-sxm", "gpt2", "batch 8 accum 4");
    bool found = false;

    (void)state;
    ask(&s);
    for (int i = 0; i < advice.n_refused; i++)
        found |= strstr(advice.refused[i].change, "fp8") && strstr(advice.refused[i].reason, "fp8");
    assert_true(found);
}

static void other_gpus_are_plans_too(void **state)
{
    struct mfu_scenario s = scenario_of("rtx4070", "gpt2", "batch 8 accum 64 runtime compile"), changed = s;
    const struct mfu_gpu *gpus[3] = {mfu_catalog_gpu(catalog, "h100-sxm", NULL), s.gpu,
                                     mfu_catalog_gpu(catalog, "rtx4090", NULL)};
    struct mfu_error err = {0};

    (void)state;
    mfu_advice_free(&advice);
    assert_int_equal(mfu_advise_gpus(&s, gpus, 3, &plan, &simulation, &advice, &err), 0);
    assert_int_equal(advice.n_levers, 2);
    assert_string_equal(advice.levers[0].change, "gpu h100-sxm");
    changed.gpu = gpus[2];
    plan_of(&changed, &other, &other_simulation);
    assert_near(advice.levers[1].speedup, advice.base.step_s / other.step.time_s, 1e-12);
}

/* More heads are narrower ones; where their width does not follow, another number of them is no shape of the same model. */
static void other_heads_keep_the_width(void **state)
{
    static const char *const models[] = {"rwkv7-1.5b", "gated-deltanet-1.3b", "qwen3-8b", "phi-2", "gpt2-xl"};
    int found = 0;

    (void)state;
    for (size_t i = 0; i < LENGTH(models); i++) {
        struct mfu_scenario s = scenario_of("h100-sxm", models[i], "batch 1 seq 1024");

        ask(&s);
        plan_of(&s, &plan, &simulation);
        for (int k = 0; k < advice.n_levers; k++) {
            const struct mfu_lever *l = &advice.levers[k];
            struct mfu_scenario changed = by_hand(&s, l);

            if (l->set[0].key.kind != MFU_KEY_DIM || strcmp(s.model->dims[l->set[0].key.id].name, "n_head") != 0)
                continue;
            found++;
            plan_of(&changed, &other, &other_simulation);
            assert_near(mfu_config_dim(&other.config, "n_head") * mfu_config_dim(&other.config, "head_dim"),
                        mfu_config_dim(&plan.config, "n_head") * mfu_config_dim(&plan.config, "head_dim"), 1e-12);
        }
    }
    assert_true(found > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gains_are_those_of_two_plans),
        cmocka_unit_test(together_is_never_worse_than_alone),
        cmocka_unit_test(a_search_is_never_worse_than_the_levers),
        cmocka_unit_test(levers_reach_what_a_search_finds),
        cmocka_unit_test(micro_batches_do_not_fill_the_table),
        cmocka_unit_test(levers_are_ranked),
        cmocka_unit_test(what_helps_follows_from_the_step),
        cmocka_unit_test(larger_batches_do_not_fool_the_loader),
        cmocka_unit_test(keys_of_a_combination_give_its_figures),
        cmocka_unit_test(the_ceiling_is_that_of_a_scenario),
        cmocka_unit_test(narrower_weights_are_no_gain_of_sharding),
        cmocka_unit_test(fewer_weights_train_where_all_find_no_room),
        cmocka_unit_test(what_cannot_be_is_not_offered),
        cmocka_unit_test(other_heads_keep_the_width),
        cmocka_unit_test(impossible_levers_say_why),
        cmocka_unit_test(other_gpus_are_plans_too),
    };

    return cmocka_run_group_tests(tests, open_catalog, release);
}
