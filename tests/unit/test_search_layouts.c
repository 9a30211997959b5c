/*
 * What `search layout` finds is as good as anything that nested loops find, keeps GPUs
 * and tokens, and is planned without complaint.
 */
#include "near.h"

#include "answer/search/sweep.h"
#include "plans.h"
#include "scenario/setting.h"

static struct mfu_plan one;
static struct mfu_error err;

static const struct {
    const char *model, *gpu;
    double gpus, batch, accum;
} cases[] = {
    {"gpt2", "rtx4090", 2, 1, 4},
    {"gpt2", "l40s", 4, 1, 8},
    {"gpt2", "h100-sxm", 8, 2, 4},
    {"gpt2-medium", "rtx4090", 2, 1, 8},
    {"gpt2-medium", "l40s", 8, 1, 4},
    {"gpt2-large", "rtx4090", 2, 1, 8},
    {"gpt2-large", "l40s", 8, 1, 2},
    {"gpt2-xl", "rtx4090", 2, 1, 4},
    {"gpt2-xl", "l40s", 4, 1, 8},
    {"gpt2-xl", "a100-40gb-sxm", 8, 1, 4},
    {"llama-3.2-1b", "l40s", 4, 1, 4},
    {"llama-3.2-1b", "h100-sxm", 8, 1, 2},
    {"llama-3.2-3b", "l40s", 8, 1, 2},
    {"llama-3.2-3b", "a100-80gb-sxm", 8, 1, 4},
    {"llama-2-7b", "a100-40gb-sxm", 8, 1, 4},
    {"llama-2-7b", "h100-sxm", 16, 1, 2},
    {"llama-3-8b", "a100-80gb-sxm", 8, 1, 4},
    {"llama-3-8b", "h100-sxm", 16, 1, 2},
    {"llama-2-13b", "a100-80gb-sxm", 16, 1, 2},
    {"llama-2-13b", "h100-sxm", 8, 1, 8},
};

static struct mfu_scenario scenario_of(size_t i)
{
    struct mfu_scenario s = mfu_scenario_start(mfu_catalog_model(catalog, cases[i].model, &err),
                                               mfu_catalog_gpu(catalog, cases[i].gpu, &err));
    const double values[] = {cases[i].gpus, cases[i].batch, cases[i].accum, MFU_FUSED};
    const enum mfu_setting_id keys[] = {MFU_S_GPUS, MFU_S_BATCH, MFU_S_ACCUM, MFU_S_RUNTIME};

    for (size_t k = 0; k < LENGTH(keys); k++) {
        s.setting[keys[k]] = values[k];
        s.setting_given[keys[k]] = true;
    }
    return s;
}

static void put(struct mfu_scenario *s, enum mfu_setting_id id, double value)
{
    s->setting[id] = value;
    s->setting_given[id] = true;
}

/* The best tokens per second of everything that fits, by loops. */
static double exhaustive(size_t i)
{
    double best = 0, sequences = cases[i].gpus * cases[i].batch * cases[i].accum;

    for (double tp = 1; tp <= 8; tp *= 2)
        for (double pp = 1; pp <= 16; pp *= 2)
            for (double vpp = 1; vpp <= 8; vpp *= 2)
                for (double batch = 1; batch <= 8; batch *= 2)
                    for (double rest = 0; rest < 12; rest++) {
                        double dp = cases[i].gpus / tp / pp, accum = sequences / batch / dp;
                        struct mfu_scenario s = scenario_of(i);

                        if (dp < 1 || accum < 1 || accum != floor(accum) || (pp == 1 && vpp > 1))
                            continue;
                        put(&s, MFU_S_TP, tp);
                        put(&s, MFU_S_SP, 1);
                        put(&s, MFU_S_PP, pp);
                        put(&s, MFU_S_VPP, vpp);
                        put(&s, MFU_S_BATCH, batch);
                        put(&s, MFU_S_ACCUM, accum);
                        put(&s, MFU_S_ZERO, fmod(rest, 4));
                        put(&s, MFU_S_CHECKPOINT, floor(rest / 4));
                        if (mfu_plan_make(&one, &s, NULL) == 0 && one.memory.fits)
                            best = fmax(best, one.step.tokens_per_s);
                    }
    return best;
}

static void search(size_t i)
{
    struct mfu_scenario s = scenario_of(i), own;
    struct mfu_sweep sweep = {.scenario = &s, .threads = 1, .keep = 3, .maximize = true, .room_first = true};
    struct mfu_sweep_result r;
    double best = exhaustive(i);

    assert_int_equal(mfu_sweep_layouts(&sweep, &own, &err), 0);
    sweep.columns[0] = mfu_question_compile(&s, "tokens_per_s", &err);
    sweep.n_columns = 1;
    sweep.where = mfu_question_compile(&s, "fits", &err);
    assert_int_equal(mfu_sweep_run(&sweep, &r, &err), 0);
    if (best > 0 && (r.n_rows == 0 || r.rows[0].columns[0] < 0.98 * best))
        print_error("case %zu: %g of %g\n", i, r.n_rows ? r.rows[0].columns[0] : 0, best);
    if (best == 0)
        assert_int_equal(r.n_rows, 0);
    else
        assert_true(r.n_rows > 0 && r.rows[0].columns[0] >= 0.98 * best);
    for (size_t k = 0; k < r.n_rows; k++) {
        struct mfu_scenario found = mfu_sweep_scenario(&sweep, r.rows[k].combination);

        assert_int_equal(mfu_plan_make(&one, &found, &err), 0);
        assert_true(one.memory.fits);
        assert_near(one.config.ranks, cases[i].gpus, 1e-12);
        assert_near(one.step.tokens, cases[i].gpus * cases[i].batch * cases[i].accum * one.config.seq, 1e-12);
        assert_near(one.step.tokens_per_s, r.rows[k].columns[0], 1e-12); /* whatever was planned before */
    }
    mfu_sweep_result_free(&r);
    mfu_sweep_clear(&sweep);
}

static void the_best_is_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++)
        search(i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_best_is_found)};
    int failed = cmocka_run_group_tests(tests, open_catalog, close_catalog);

    mfu_plan_release(&one);
    return failed;
}
