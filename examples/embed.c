/*
 * embed.c - mfuplan in a program of one's own: a scenario, its plan, and a sweep.
 *
 *     cc embed.c $(pkg-config --cflags --libs mfuplan) && ./a.out
 */
#include <mfuplan.h>
#include <stdio.h>
#include <stdlib.h>

static int say(const mfuplan_error *e)
{
    fprintf(stderr, "embed: %s%s%s%s\n", e->message, *e->suggestion ? " (did you mean " : "", e->suggestion,
            *e->suggestion ? "?)" : "");
    return 1;
}

/* One plan: the micro-batch as it is set. */
static int plan_once(const mfuplan_scenario *s, mfuplan_error *err)
{
    mfuplan_plan *plan = mfuplan_plan_new();
    double step_s, mfu, used, fits;
    int status = -1;

    if (plan && mfuplan_run(plan, s, MFUPLAN_SIMULATED, err) == 0
        && mfuplan_result(plan, "step_time_s", &step_s, err) == 0 && mfuplan_result(plan, "mfu", &mfu, err) == 0
        && mfuplan_result(plan, "smi_used_bytes", &used, err) == 0 && mfuplan_ask(plan, "fits", &fits, err) == 0) {
        printf("a step takes %.2f s at %.1f %% MFU; nvidia-smi shows %.2f GiB: %s\n", step_s, 100 * mfu,
               used / (1 << 30), fits > 0 ? "it fits" : "it does not fit");
        status = 0;
    }
    mfuplan_plan_free(plan);
    return status;
}

/* Many: the fastest three of the micro-batches that fit, with and without torch.compile. */
static int plan_many(const mfuplan_scenario *s, mfuplan_error *err)
{
    mfuplan_sweep *sweep = mfuplan_sweep_new(s);
    int status = -1;

    if (sweep && mfuplan_sweep_axis(sweep, "batch", "1..32*2", err) == 0
        && mfuplan_sweep_axis(sweep, "accum", "512/batch", err) == 0
        && mfuplan_sweep_axis(sweep, "runtime", "eager,compile", err) == 0
        && mfuplan_sweep_column(sweep, "tokens_per_s", err) == 0 && mfuplan_sweep_where(sweep, "fits", err) == 0) {
        mfuplan_sweep_best(sweep, 3, true);
        status = mfuplan_sweep_run(sweep, MFUPLAN_SIMULATED, 0, err);
    }
    for (size_t i = 0; status == 0 && i < mfuplan_sweep_rows(sweep); i++) {
        mfuplan_scenario *row = mfuplan_sweep_scenario(sweep, i);
        char batch[32] = "", runtime[32] = "";

        status = row && mfuplan_text(row, "batch", batch, sizeof batch, err) == 0
                && mfuplan_text(row, "runtime", runtime, sizeof runtime, err) == 0
            ? 0
            : -1;
        printf("batch %s, %s: %.0f tokens/s\n", batch, runtime, mfuplan_sweep_get(sweep, i, 0));
        mfuplan_scenario_free(row);
    }
    mfuplan_sweep_free(sweep);
    return status;
}

int main(void)
{
    mfuplan_error err = {0};
    mfuplan_catalog *catalog = mfuplan_open(getenv("MFUPLAN_DATA_DIR"), NULL, &err);
    mfuplan_scenario *s = catalog ? mfuplan_scenario_new(catalog, "gpt2", "rtx4070", &err) : NULL;
    int failed = !s || mfuplan_set(s, "runtime", "compile", &err) < 0 || mfuplan_set(s, "batch", "8", &err) < 0
        || mfuplan_set(s, "accum", "64", &err) < 0 || plan_once(s, &err) < 0 || plan_many(s, &err) < 0;

    if (failed)
        say(&err);
    mfuplan_scenario_free(s);
    mfuplan_close(catalog);
    return failed;
}
