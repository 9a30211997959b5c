/*
 * bench_pipeline - how long one step of a pipeline takes to simulate, for each
 * schedule: the same layout with other durations, as a planner asks for most of
 * them, and a layout that is new.  Prints JSON lines; the first is the yardstick
 * of this machine, so that runs can be compared as ratios.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "measure.h"
#include "simulate/pipeline.h"

#define MOST_STAGES 64

static struct mfu_pipeline *pipeline;
static struct mfu_pipeline_layout layout;
static double f_s[MOST_STAGES], b_s[MOST_STAGES], w_s[MOST_STAGES], send_s[MOST_STAGES];
static int other; /* microbatches of every second layout; 0: as many */
static enum mfu_pipeline_mode mode;

static double simulate(long rounds)
{
    const struct mfu_pipeline_costs costs = {
        .f_s = f_s, .b_s = b_s, .w_s = w_s, .send_s = send_s, .sends_overlap = true};
    struct mfu_pipeline_layout l = layout;
    double sum = 0;

    for (long i = 0; i < rounds; i++) {
        struct mfu_pipeline_step step;
        struct mfu_error err;

        l.microbatches = layout.microbatches + (i & 1) * other;
        f_s[0] = 1 + 1e-9 * (double)(i & 1023);
        if (mfu_pipeline_run(pipeline, &l, &costs, mode, &step, &err) != 0) {
            fprintf(stderr, "bench_pipeline: %s\n", err.text);
            exit(1);
        }
        sum += step.makespan_s;
    }
    return sum;
}

static void bench(const char *what, double per)
{
    double spread, ns = measure(simulate, &spread);

    printf("{\"name\": \"%s, pp %d, vpp %d, %d microbatches, %s\", \"ns\": %.4g, \"spread\": %.2g, "
           "\"yardsticks\": %.3g}\n",
           layout.schedule->name, layout.pp, layout.vpp, layout.microbatches, what, ns, spread, ns / per);
}

int main(void)
{
    double spread, per = measure(yardstick, &spread);
    struct mfu_error err;

    pipeline = mfu_pipeline_new(&err);
    if (!pipeline)
        return 1;
    printf("{\"name\": \"yardstick: sorting 1000 numbers\", \"ns\": %.4g, \"spread\": %.2g, \"yardsticks\": 1}\n", per,
           spread);
    for (int s = 0; s < MOST_STAGES; s++) {
        f_s[s] = b_s[s] = w_s[s] = 1;
        send_s[s] = 0.02;
    }
    for (size_t i = 0; i < mfu_schedule_count; i++) {
        /* The last stage also has the head. */
        int last;

        layout = (struct mfu_pipeline_layout){
            .schedule = mfu_schedules[i], .pp = 8, .vpp = mfu_schedules[i]->least_vpp, .microbatches = 64};
        last = mfu_pipeline_stages(&layout) - 1;
        f_s[last] = b_s[last] = w_s[last] = 1.2;
        mode = MFU_PIPELINE_WHOLE;
        bench("every action", per);
        mode = MFU_PIPELINE_COUNT;
        bench("known layout", per);
        other = 16;
        bench("new layout", per);
        other = 0;
        layout.microbatches = 4096;
        bench("known layout", per);
        f_s[last] = b_s[last] = w_s[last] = 1;
    }
    mfu_pipeline_free(pipeline);
    return 0;
}
