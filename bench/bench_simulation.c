/*
 * bench_simulation - how long it takes to run one step: layers unrolled, launches
 * priced, time and memory walked through.  Prints JSON lines; the first is the
 * yardstick of this machine (a sorted array), so that runs can be compared as ratios.
 */
#include <stdio.h>
#include <stdlib.h>

#include "plan/simulation.h"
#include "base/error.h"
#include "descriptor/catalog.h"
#include "scenario/setting.h"
#include "measure.h"

static struct mfu_scenario scenario;
static struct mfu_plan plan;
static struct mfu_simulation simulation;

static double simulate(long rounds)
{
    struct mfu_error err;
    double sum = 0;

    for (long i = 0; i < rounds; i++) {
        if (mfu_simulate(&plan, false, &simulation, &err) < 0) {
            fprintf(stderr, "bench_simulation: %s\n", err.text);
            exit(1);
        }
        sum += plan.step.time_s;
    }
    return sum;
}

int main(int argc, char **argv)
{
    static const char *const models[] = {"gpt2", "gpt2-xl", "llama-3-8b", "llama-3-70b"};
    static const char *const runtimes[] = {"eager", "compile"};
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
            scenario = mfu_scenario_start(model, gpu);
            mfu_scenario_set(&scenario, "runtime", runtimes[r], &err);
            if (mfu_plan_make(&plan, &scenario, &err) < 0)
                break;
            snprintf(name, sizeof name, "simulation %s %s", models[m], runtimes[r]);
            bench_work(name, simulate, per);
        }
    mfu_simulation_release(&simulation);
    mfu_plan_release(&plan);
    mfu_catalog_free(catalog);
    return 0;
}
