/*
 * The full path beside the analytic one, launch-bound runs, and the meters
 * through the step.
 */
#include "catalog.h"
#include "owned.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include "plan/metrics_over.h"
#include "plan/simulation.h"
#include "base/error.h"

/* A scenario from pairs of key and value, NULL at the end, planned. */
static void plan(struct mfu_plan *p, const char *gpu, const char *model, ...)
{
    struct mfu_error err = {0};
    const struct mfu_gpu *g = mfu_catalog_gpu(catalog, gpu, &err);
    const struct mfu_model *m = mfu_catalog_model(catalog, model, &err);
    struct mfu_scenario s;
    const char *key;
    va_list list;

    assert_non_null(g);
    assert_non_null(m);
    s = mfu_scenario_start(m, g);
    va_start(list, model);
    while ((key = va_arg(list, const char *)))
        if (mfu_scenario_set(&s, key, va_arg(list, const char *), &err) < 0)
            fail_msg("set %s: %s", key, err.text);
    va_end(list);
    if (mfu_plan_make(p, &s, &err) < 0)
        fail_msg("plan: %s", err.text);
}

static void simulate(struct mfu_plan *p, bool record, struct mfu_simulation *s)
{
    struct mfu_error err = {0};

    if (mfu_simulate(p, record, s, &err) < 0)
        fail_msg("simulate: %s", err.text);
}

/* Where the GPU is never short of launches, events in time add up to the sum
 * of the kernels, for any runtime, depth and accumulation. */
static void events_add_up(void **state)
{
    static const char *const runtimes[] = {"eager", "compile", "fused", "llmc"};
    static const char *const accums[] = {"1", "2", "3", "64"};

    (void)state;
    for (size_t r = 0; r < 4; r++)
        for (size_t a = 0; a < 4; a++) {
            struct mfu_plan p = {0};
            struct mfu_simulation s = {0};
            double analytic_s, busy_s;

            plan(&p, "rtx4070", "gpt2", "batch", "4", "runtime", runtimes[r], "accum", accums[a], NULL);
            analytic_s = p.step.time_s;
            busy_s = p.step.busy_s;
            assert_int_not_equal(p.limit, MFU_LIMIT_LAUNCH);
            simulate(&p, false, &s);
            assert_near(s.timeline.busy_s, busy_s, 1e-6);
            assert_near(p.step.time_s, analytic_s, 0.005);
            mfu_simulation_release(&s);
            mfu_plan_release(&p);
        }
}

/* Padded to their longest, batches that are as long as sequences are what they were; those of many lengths take as much
 * for tensors at most (but what blocks have beyond them), and in some order the allocator keeps more. */
static void many_lengths_fragment(void **state)
{
    static const struct {
        const char *mean, *sigma;
        bool alike;
    } documents[] = {{"100000", "0", true}, {"300", "0.7", false}, {"700", "1", false}};

    (void)state;
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++) {
        struct mfu_plan full = {0}, p = {0};
        struct mfu_simulation s = {0};

        plan(&full, "rtx4090", "gpt2", "batch", "4", "accum", "8", NULL);
        simulate(&full, false, &s);
        plan(&p, "rtx4090", "gpt2", "batch", "4", "accum", "8", "doc_len", documents[i].mean, "doc_sigma",
             documents[i].sigma, "padding", "longest", NULL);
        simulate(&p, false, &s);
        assert_true(p.memory.fits && p.memory.peak.bytes <= full.memory.peak.bytes * 1.01);
        assert_true(p.memory.least_reserved_bytes <= p.memory.reserved_bytes);
        assert_true(p.memory.reserved_bytes <= p.memory.most_reserved_bytes);
        assert_true(p.memory.most_reserved_bytes >= p.memory.peak.bytes);
        if (documents[i].alike)
            assert_near(p.memory.reserved_bytes, full.memory.reserved_bytes, 0.002);
        else
            assert_true(p.memory.most_reserved_bytes > 1.01 * full.memory.reserved_bytes);
        mfu_simulation_release(&s);
        mfu_plan_release(&p);
        mfu_plan_release(&full);
    }
}

/* A small model in eager mode waits for the host; compiled code launches less
 * and cheaper, a captured graph stops the waiting. */
static void graphs_release_a_launch_bound_run(void **state)
{
    static const char *const ways[][2] = {{"eager", "off"}, {"compile", "off"}, {"compile", "on"}};
    double step_s[3], idle[3];

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct mfu_plan p = {0};
        struct mfu_simulation s = {0};

        plan(&p, "h100-sxm", "gpt2", "batch", "1", "seq", "128", "n_layer", "6", "n_embd", "256", "n_head", "4",
             "runtime", ways[i][0], "cuda_graphs", ways[i][1], NULL);
        simulate(&p, false, &s);
        step_s[i] = p.step.time_s;
        idle[i] =
            (p.step.idle_s - p.machine.c[MFU_C_STEP_CONSTANT]) / (p.step.time_s - p.machine.c[MFU_C_STEP_CONSTANT]);
        assert_int_equal(p.limit, i < 2 ? MFU_LIMIT_LAUNCH : MFU_LIMIT_LATENCY); /* a step's hand-over is no launch */
        mfu_simulation_release(&s);
        mfu_plan_release(&p);
    }
    assert_true(idle[0] > 0.3);
    assert_true(step_s[1] < step_s[0]);
    assert_true(step_s[2] < step_s[1]);
    assert_true(idle[2] < idle[0]);
}

/* The same model with enough tokens is not. */
static void tokens_release_it_too(void **state)
{
    PLAN p = {0};
    SIMULATION s = {0};

    (void)state;
    plan(&p, "h100-sxm", "gpt2", "batch", "256", "seq", "512", "n_layer", "6", "n_embd", "256", "n_head", "4", NULL);
    simulate(&p, false, &s);
    assert_int_not_equal(p.limit, MFU_LIMIT_LAUNCH);
    assert_true(p.step.idle_s / p.step.time_s < 0.1);
}

/* Slices of whole steps average to the readings of the step. */
static void slices_average_to_the_step(void **state)
{
    static const char *const accums[] = {"1", "3", "16"};
    static const size_t meters[] = {offsetof(struct mfu_metrics, gpu_utilization),
                                    offsetof(struct mfu_metrics, sm_active),
                                    offsetof(struct mfu_metrics, tensor_active),
                                    offsetof(struct mfu_metrics, dram_active), offsetof(struct mfu_metrics, mfu)};
    enum { SLICES = 100 };

    (void)state;
    for (size_t a = 0; a < 3; a++) {
        struct mfu_metrics_slice slices[SLICES];
        struct mfu_plan p = {0};
        struct mfu_simulation s = {0};
        struct mfu_metrics whole;
        struct mfu_error err = {0};

        plan(&p, "rtx4070", "gpt2", "batch", "2", "accum", accums[a], "attention", "math", NULL);
        simulate(&p, true, &s);
        mfu_metrics_of_plan(&p, &whole);
        assert_int_equal(mfu_metrics_over(&p, &s, 2 * p.step.time_s, slices, SLICES, &err), 0);
        for (size_t m = 0; m < sizeof meters / sizeof *meters; m++) {
            double sum = 0, expected = *(const double *)((const char *)&whole + meters[m]);

            for (int i = 0; i < SLICES; i++)
                sum += *(const double *)((const char *)&slices[i].read + meters[m]);
            assert_near(sum / SLICES, expected, 0.01);
        }
        assert_int_equal(mfu_metrics_over(&p, &s, 0, slices, SLICES, &err), -1);
        assert_int_equal(mfu_metrics_over(&p, &s, NAN, slices, SLICES, &err), -1);
        assert_int_equal(mfu_metrics_over(&p, &s, 1e30, slices, SLICES, &err), -1);
        mfu_simulation_release(&s);
        mfu_plan_release(&p);
    }
}

/* Bytes that each stage of sharding exchanges in a step, from the events. */
static void what_is_exchanged_is_what_the_stage_says(void **state)
{
    static const char *const stages[] = {"0", "1", "2", "3"};
    static const char *const accums[] = {"1", "3"};

    (void)state;
    for (size_t a = 0; a < 2; a++)
        for (size_t z = 0; z < 4; z++) {
            struct mfu_plan p = {0};
            struct mfu_simulation s = {0};
            double accum = a ? 3 : 1, bytes = 0, expected[4], gradients, weights, blocks;

            plan(&p, "a100-80gb-sxm", "gpt2", "batch", "8", "gpus", "8", "runtime", "compile", "zero", stages[z],
                 "accum", accums[a], NULL);
            simulate(&p, true, &s);
            for (size_t i = 0; i < s.timeline.n_events; i++)
                if (s.timeline.events[i].start_s >= 0) /* the step before is there as well */
                    bytes += mfu_simulation_program(&s)->launches[s.timeline.events[i].launch].work->collective.bytes;
            gradients = p.program.params * p.program.gradient_bytes;
            weights = p.program.params * p.program.weight_bytes;
            blocks = p.program.unit_params * p.program.weight_bytes;
            expected[0] = gradients;
            expected[1] = gradients + weights;
            expected[2] = accum * gradients + weights;
            expected[3] = accum * (weights + blocks + gradients); /* the rest stays gathered */
            assert_near(bytes, expected[z], 0.001);
            assert_near(s.timeline.communication_s, p.step.communication_s, 0.2);
            assert_true(s.timeline.communication_exposed_s < s.timeline.communication_s * 1.5);
            mfu_simulation_release(&s);
            mfu_plan_release(&p);
        }
}

/* A block's kernels wait for its weights, which are gathered one block ahead;
 * with a link that is slow the step is as long as the exchange. */
static void blocks_wait_for_their_weights(void **state)
{
    PLAN p = {0};
    SIMULATION s = {0};
    int collectives = 0, waiting = 0;

    (void)state;
    plan(&p, "rtx4090", "gpt2-xl", "batch", "1", "gpus", "8", "zero", "3", "seq", "128", NULL);
    simulate(&p, true, &s);
    for (size_t i = 0; i < s.timeline.n_events; i++) {
        const struct mfu_event *kernel = &s.timeline.events[i];
        const struct mfu_launch *l = &mfu_simulation_program(&s)->launches[kernel->launch];
        int issued = 0, ended = 0;

        collectives += l->stream != MFU_STREAM_COMPUTE;
        if (l->stream != MFU_STREAM_COMPUTE || l->wait_behind < 0)
            continue;
        for (size_t j = 0; j < i; j++)
            if (s.timeline.events[j].stream == l->wait_stream) {
                issued++;
                ended += s.timeline.events[j].end_s <= kernel->start_s * (1 + 1e-9);
            }
        assert_true(ended >= issued - l->wait_behind); /* its own weights and all that came before them */
        waiting++;
    }
    assert_int_equal(collectives, 3 * 48 + 2);
    assert_int_equal(waiting, 2 * 48 + 2); /* every block in each pass, the root, the optimizer */
    assert_true(s.timeline.step_s >= s.timeline.communication_s);
    assert_true(s.timeline.step_s <= 1.3 * s.timeline.communication_s);
    assert_true(p.step.communication_exposed_s > 0.5 * p.step.time_s);
}

/* A GPU that waits for others runs NCCL's kernels: busy to nvidia-smi, and not
 * to the tensor cores.  Slices say the same as the step. */
static void waiting_for_others_is_busy(void **state)
{
    static const char *const stages[] = {"0", "2", "3"};
    enum { SLICES = 40 };

    (void)state;
    for (size_t z = 0; z < 3; z++) {
        struct mfu_plan p = {0};
        struct mfu_simulation s = {0};
        struct mfu_metrics whole;
        struct mfu_metrics_slice slices[SLICES];
        struct mfu_error err = {0};
        double busy = 0, parts_s;

        plan(&p, "rtx4090", "gpt2-medium", "batch", "4", "accum", "2", "gpus", "8", "runtime", "compile", "zero",
             stages[z], NULL);
        simulate(&p, true, &s);
        mfu_metrics_of_plan(&p, &whole);
        assert_true(whole.gpu_utilization > 0.95);
        assert_true(whole.sm_active < 0.7 && whole.tensor_active < 0.3);
        assert_int_equal(mfu_metrics_over(&p, &s, p.step.time_s, slices, SLICES, &err), 0);
        for (int i = 0; i < SLICES; i++)
            busy += slices[i].read.gpu_utilization / SLICES;
        assert_near(busy, whole.gpu_utilization, 0.02);
        parts_s = p.step.busy_s + p.step.communication_exposed_s + p.step.idle_s;
        assert_near(parts_s, p.step.time_s, 1e-6);
        assert_true(p.step.contention_s > 0 && p.step.idle_s < 0.03 * p.step.time_s);
        mfu_simulation_release(&s);
        mfu_plan_release(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_add_up),
        cmocka_unit_test(many_lengths_fragment),
        cmocka_unit_test(graphs_release_a_launch_bound_run),
        cmocka_unit_test(tokens_release_it_too),
        cmocka_unit_test(slices_average_to_the_step),
        cmocka_unit_test(what_is_exchanged_is_what_the_stage_says),
        cmocka_unit_test(blocks_wait_for_their_weights),
        cmocka_unit_test(waiting_for_others_is_busy),
    };

    return cmocka_run_group_tests(tests, open_catalog, close_catalog);
}
