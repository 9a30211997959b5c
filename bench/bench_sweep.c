/*
 * bench_sweep - configurations per second of CPU time: by the analytic path,
 * the same with the best simulated at the end as `search` does, and with every
 * one simulated.
 */
#include <stdio.h>

#include "answer/search/sweep.h"
#include "base/error.h"
#include "descriptor/catalog.h"
#include "measure.h"

enum way { ANALYTIC, CONFIRMED, SIMULATED };

static int bench(const struct mfu_scenario *s, const char *batch, int threads, enum way way)
{
    static const char *const names[] = {"", " confirmed", " simulated"};
    struct mfu_sweep sweep = {.scenario = s,
                              .threads = threads,
                              .keep = 10,
                              .maximize = true,
                              .simulated = way == SIMULATED,
                              .confirmed = way == CONFIRMED};
    struct mfu_sweep_result r;
    struct mfu_error err;
    double begin;

    mfu_axis_read(&sweep.axes[0], s, "batch", batch, &err);
    mfu_axis_read(&sweep.axes[1], s, "accum", "1..32", &err);
    mfu_axis_read(&sweep.axes[2], s, "runtime", "all", &err);
    mfu_axis_read(&sweep.axes[3], s, "checkpoint", "all", &err);
    sweep.n_axes = 4;
    sweep.columns[0] = mfu_question_compile(s, "tokens_per_s", &err);
    sweep.where = mfu_question_compile(s, "fits", &err);
    sweep.n_columns = 1;
    begin = now_ns();
    if (mfu_sweep_run(&sweep, &r, &err) < 0) {
        fprintf(stderr, "bench_sweep: %s\n", err.text);
        return 1;
    }
    printf("{\"name\": \"search gpt2%s\", \"threads\": %d, \"evaluated\": %zu, \"per_cpu_s\": %.0f, \"best\": %.6g}\n",
           names[way], threads, r.evaluated, (double)(r.evaluated + r.refused) / ((now_ns() - begin) * 1e-9),
           r.rows[0].columns[0]);
    mfu_sweep_result_free(&r);
    mfu_sweep_clear(&sweep);
    return 0;
}

/* 98 304 rows on so many GPUs, as `sweep` makes them. */
static int bench_rows(const struct mfu_scenario *one, const char *const set[][2])
{
    static const char *const axes[][2] = {{"batch", "1..64"},
                                          {"accum", "1..64"},
                                          {"seq", "1024,2048,4096,8192"},
                                          {"checkpoint", "none,selective,full"},
                                          {"precision", "bf16,bf16-pure"}};
    struct mfu_scenario s = *one;
    struct mfu_sweep sweep = {.scenario = &s, .threads = 1};
    struct mfu_sweep_result r;
    struct mfu_error err;
    double begin;

    for (size_t i = 0; set[i][0]; i++)
        if (mfu_scenario_set(&s, set[i][0], set[i][1], &err) < 0)
            return fprintf(stderr, "bench_sweep: %s\n", err.text);
    for (size_t i = 0; i < sizeof axes / sizeof axes[0]; i++)
        if (mfu_axis_read(&sweep.axes[sweep.n_axes++], &s, axes[i][0], axes[i][1], &err) < 0)
            return fprintf(stderr, "bench_sweep: %s\n", err.text);
    sweep.columns[sweep.n_columns++] = mfu_question_compile(&s, "tokens_per_s", &err);
    begin = now_ns();
    if (mfu_sweep_run(&sweep, &r, &err) < 0)
        return fprintf(stderr, "bench_sweep: %s\n", err.text);
    printf("{\"name\": \"sweep %s", s.model->slug);
    for (size_t i = 0; set[i][0]; i++)
        printf(" %s %s", set[i][0], set[i][1]);
    printf("\", \"rows\": %zu, \"cpu_s\": %.3f}\n", r.n_rows, (now_ns() - begin) * 1e-9);
    mfu_sweep_result_free(&r);
    mfu_sweep_clear(&sweep);
    return 0;
}

/* The best of 10^8 combinations. */
static int bench_large(const struct mfu_scenario *s, int threads)
{
    static const char *const axes[][2] = {{"batch", "1..512"},
                                          {"accum", "1..512"},
                                          {"seq", "1024..8192*2"},
                                          {"checkpoint", "none,selective,full"},
                                          {"precision", "bf16,bf16-pure,fp32,tf32"},
                                          {"runtime", "all"},
                                          {"attention", "flash,math"}};
    struct mfu_sweep sweep = {.scenario = s, .threads = threads, .keep = 10, .maximize = true, .room_first = true};
    struct mfu_sweep_result r;
    struct mfu_error err;
    double begin;

    for (size_t i = 0; i < sizeof axes / sizeof axes[0]; i++)
        if (mfu_axis_read(&sweep.axes[sweep.n_axes++], s, axes[i][0], axes[i][1], &err) < 0) {
            fprintf(stderr, "bench_sweep: %s\n", err.text);
            return 1;
        }
    sweep.columns[sweep.n_columns++] = mfu_question_compile(s, "tokens_per_s", &err);
    sweep.where = mfu_question_compile(s, "fits", &err);
    begin = now_ns();
    if (mfu_sweep_run(&sweep, &r, &err) < 0) {
        fprintf(stderr, "bench_sweep: %s\n", err.text);
        return 1;
    }
    printf("{\"name\": \"search %s\", \"threads\": %d, \"combinations\": %zu, \"planned\": %zu, \"cpu_s\": %.3f, "
           "\"best\": %.6g}\n",
           s->model->slug, threads, r.combinations, r.evaluated, (now_ns() - begin) * 1e-9, r.rows[0].columns[0]);
    mfu_sweep_result_free(&r);
    mfu_sweep_clear(&sweep);
    return 0;
}

int main(int argc, char **argv)
{
    struct mfu_error err;
    struct mfu_catalog *catalog = mfu_catalog_open(argc > 1 ? argv[1] : NULL, NULL, &err);
    struct mfu_scenario s =
        mfu_scenario_start(mfu_catalog_model(catalog, "gpt2", &err), mfu_catalog_gpu(catalog, "h100-sxm", &err));
    static const char *const layouts[][4][2] = {{{NULL}},
                                                {{"gpus", "8"}},
                                                {{"gpus", "8"}, {"zero", "3"}},
                                                {{"gpus", "8"}, {"tp", "2"}},
                                                {{"gpus", "8"}, {"pp", "4"}}};
    int failed = 0;

    for (int threads = 1; threads <= 4; threads *= 2)
        failed |= bench(&s, "1..64", threads, ANALYTIC);
    for (int threads = 1; threads <= 2; threads *= 2)
        failed |= bench(&s, "1..64", threads, CONFIRMED);
    for (int threads = 1; threads <= 2; threads *= 2)
        failed |= bench(&s, "1..64*4", threads, SIMULATED);
    s = mfu_scenario_start(mfu_catalog_model(catalog, "llama-3-8b", &err), s.gpu);
    failed |= bench_large(&s, 1) | bench_large(&s, 2);
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        failed |= bench_rows(&s, layouts[i]);
    mfu_catalog_free(catalog);
    return failed;
}
