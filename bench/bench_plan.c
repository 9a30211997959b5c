/*
 * bench_plan - how long one evaluation takes: scenario to kernels, prices,
 * peak memory.  Prints JSON lines; the first is the yardstick of this machine
 * (a sorted array), so that runs can be compared as ratios.
 */
#include <stdio.h>
#include <stdlib.h>

#include "scenario/setting.h"
#include "plan/plan.h"
#include "base/error.h"
#include "descriptor/catalog.h"
#include "measure.h"

static struct mfu_scenario scenario;
static struct mfu_key seq;
static struct mfu_plan plan;

enum { BATCH, ACCUM, SEQ, GRAPH };
static const char *const changes[] = {"batch", "accum", "seq", "graph"};
static int change;

/* Plans, never the same twice: one thing differs from the plan before. */
static double evaluate(long rounds)
{
    struct mfu_error err;
    double sum = 0;

    for (long i = 0; i < rounds; i++) {
        if (change == BATCH)
            scenario.setting[MFU_S_BATCH] = (double)(2 + i % 8);
        else if (change == ACCUM)
            scenario.setting[MFU_S_ACCUM] = (double)(2 + i % 8);
        else if (change == SEQ)
            scenario.dim[seq.id] = (double)(512 * (1 + i % 8)), scenario.dim_given[seq.id] = true;
        else
            scenario.setting[MFU_S_GRAD_CLIP] = (double)(i % 2);
        if (mfu_plan_make(&plan, &scenario, &err) < 0) {
            fprintf(stderr, "bench_plan: %s\n", err.text);
            exit(1);
        }
        sum += plan.step.time_s;
    }
    return sum;
}

int main(int argc, char **argv)
{
    static const char *const models[] = {"gpt2", "gpt2-xl", "llama-3-8b", "mixtral-8x7b"};
    static const char *const runtimes[] = {"eager", "compile", "fused", "llmc"};
    struct mfu_error err;
    struct mfu_catalog *catalog = mfu_catalog_open(argc > 1 ? argv[1] : NULL, NULL, &err);
    double per = bench_work("yardstick: sorting 1000 numbers", yardstick, 0);

    for (size_t m = 0; catalog && m < sizeof models / sizeof models[0]; m++)
        for (size_t r = 0; r < sizeof runtimes / sizeof runtimes[0]; r++) {
            const struct mfu_model *model = mfu_catalog_model(catalog, models[m], &err);
            const struct mfu_gpu *gpu = mfu_catalog_gpu(catalog, "h100-sxm", &err);
            char name[64];

            if (!model || !gpu)
                break;
            for (change = BATCH; change <= GRAPH; change++) {
                scenario = mfu_scenario_start(model, gpu);
                mfu_scenario_set(&scenario, "runtime", runtimes[r], &err);
                seq = mfu_scenario_key(&scenario, "seq", &err);
                snprintf(name, sizeof name, "plan %s %s, another %s", models[m], runtimes[r], changes[change]);
                bench_work(name, evaluate, per);
            }
        }
    mfu_plan_release(&plan);
    mfu_catalog_free(catalog);
    return 0;
}
