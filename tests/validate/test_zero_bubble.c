/*
 * Schedules against measurements: table 4 of Qi et al., Zero Bubble Pipeline
 * Parallelism (ICLR 2024, arXiv 2401.10241).  Pipelines alone (no tensor or data
 * parallelism), first and last stage one layer shorter.  What a layer takes and
 * keeps follows from some rows; the order of the schedules and the other rows
 * are what is judged.
 */
#include "near.h"
#include "owned.h"

#include <stdio.h>
#include <string.h>

#include "plans.h"

#include "base/error.h"
#include "orders.h"
#include "simulate/pipeline.h"

static const struct row {
    const char *model; /* parameters */
    int layers, pp;
    const char *schedule;
    int vpp, microbatches;
    double step_s, memory_gb; /* the most of all ranks */
} rows[] = {
    // clang-format off
    {"1.5B",  22,  8, "1f1b",        1,  24, 1.525, 30},
    {"1.5B",  22,  8, "zb-h2",       1,  24, 1.241, 59},
    {"1.5B",  22,  8, "interleaved", 3,  32, 1.791, 40},
    {"6.2B",  30,  8, "1f1b",        1,  24, 2.571, 39},
    {"6.2B",  30,  8, "zb-h1",       1,  24, 2.320, 42},
    {"6.2B",  30,  8, "interleaved", 4,  64, 5.728, 48},
    {"14.6B", 46, 16, "1f1b",        1, 128, 4.878, 32},
    {"14.6B", 46, 16, "zb-h2",       1, 128, 4.324, 51},
    {"14.6B", 46, 16, "zb-h2",       1,  48, 1.657, 51},
    {"14.6B", 46, 16, "zb-h1",       1, 128, 4.545, 33},
    {"14.6B", 46, 16, "interleaved", 3,  64, 2.516, 39},
    {"28.3B", 62, 32, "1f1b",        1,  96, 3.947, 43},
    {"28.3B", 62, 32, "zb-h2",       1,  96, 3.030, 74},
    {"28.3B", 62, 32, "1f1b",        1, 128, 5.000, 43},
    {"28.3B", 62, 32, "1f1b",        1, 256, 9.091, 43},
    {"28.3B", 62, 32, "zb-h1",       1,  96, 3.448, 44},
    {"28.3B", 62, 32, "zb-h1",       1, 128, 4.444, 44},
    {"28.3B", 62, 32, "interleaved", 2,  96, 3.659, 58},
    {"28.3B", 62, 32, "interleaved", 2, 256, 8.889, 58},
    // clang-format on
};

struct judged {
    double step, layers; /* in passes of one layer; layers kept at the peak */
};

/* F = B = W for a layer, as the paper assumes; embedding and head stand for the
 * layer that the ends lack. */
static struct judged judge(const struct row *r)
{
    double layers[128], seconds[128];
    struct mfu_error err = {0};
    struct mfu_pipeline *pipeline = mfu_pipeline_new(&err);
    struct mfu_pipeline_layout l = {schedule_named(r->schedule), r->pp, r->vpp, r->microbatches, .group = 0};
    struct mfu_pipeline_costs c = {.f_s = seconds, .b_s = seconds, .w_s = seconds};
    const struct mfu_pipeline_rank *ranks;
    struct mfu_pipeline_step step;
    struct judged j = {0};
    int stages = mfu_pipeline_stages(&l);

    for (int s = 0; s < stages; s++) {
        seconds[s] = (r->layers + 2.0) / stages;
        layers[s] = seconds[s] - (s == 0 || s == stages - 1);
    }
    assert_int_equal(mfu_pipeline_run(pipeline, &l, &c, MFU_PIPELINE_COUNT, &step, &err), 0);
    /* Zero-bubble runs check the gradient's norm after the step: no rank waits for the others. */
    j.step = l.schedule->splits_backward ? step.span_s : step.makespan_s;
    ranks = mfu_pipeline_weigh(pipeline, &l, &(struct mfu_pipeline_kept){layers, layers}, &err);
    for (int i = 0; i < r->pp; i++)
        j.layers = fmax(j.layers, ranks[i].peak_bytes);
    mfu_pipeline_free(pipeline);
    return j;
}

/* Rows of one model: the ratio of any two steps, and which one is faster. */
static void steps_have_the_measured_ratios(void **state)
{
    double worst = 0;
    int pairs = 0;

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++)
        for (size_t k = 0; k < i; k++) {
            double measured = rows[i].step_s / rows[k].step_s, predicted;

            if (strcmp(rows[i].model, rows[k].model) != 0)
                continue;
            predicted = judge(&rows[i]).step / judge(&rows[k]).step;
            worst = fmax(worst, fabs(predicted / measured - 1));
            pairs++;
            if (rows[i].microbatches == rows[k].microbatches)
                assert_true((predicted > 1) == (measured > 1));
            assert_near(predicted, measured, 0.08);
        }
    print_message("%d pairs, at most %.1f %% apart\n", pairs, 100 * worst);
}

/* States and bytes per layer from two rows of a model; the others must follow. */
static void memory_follows_from_two_rows(void **state)
{
    double worst = 0;
    int judged = 0;

    (void)state;
    for (size_t i = 0, first = 0; i < LENGTH(rows); i++) {
        const struct row *r = &rows[i];
        double a, b, per_layer;

        if (strcmp(r->model, rows[first].model) != 0)
            first = i;
        if (i < first + 2)
            continue;
        a = judge(&rows[first]).layers;
        b = judge(&rows[first + 1]).layers;
        per_layer = (rows[first + 1].memory_gb - rows[first].memory_gb) / (b - a);
        assert_true(per_layer > 0 && rows[first].memory_gb > per_layer * a);
        assert_near(rows[first].memory_gb + per_layer * (judge(r).layers - a), r->memory_gb, 0.06);
        worst = fmax(worst, fabs((rows[first].memory_gb + per_layer * (judge(r).layers - a)) / r->memory_gb - 1));
        judged++;
    }
    print_message("%d rows, at most %.1f %% off\n", judged, 100 * worst);
}

/* Heads, width and sequences per microbatch of a row; stated beside the table. */
static struct shape {
    const char *model, *n_layer, *n_head, *n_embd, *batch;
} shapes[] = {
    {"1.5B", "22", "24", "2304", "6"},
    {"6.2B", "30", "32", "4096", "3"},
    {"14.6B", "46", "40", "5120", "1"},
    {"28.3B", "62", "48", "6144", "1"},
};

static struct judged plan_row(struct mfu_plan *p, const struct row *r)
{
    char pp[16], vpp[16], accum[16];
    struct shape *s = shapes;

    while (strcmp(s->model, r->model) != 0)
        s++;
    snprintf(pp, sizeof pp, "%d", r->pp);
    snprintf(vpp, sizeof vpp, "%d", r->vpp);
    snprintf(accum, sizeof accum, "%d", r->microbatches);
    plan(p, "a100-80gb-sxm", "gpt2",
         (const char *const[]){"n_layer",
                               s->n_layer,
                               "n_head",
                               s->n_head,
                               "n_embd",
                               s->n_embd,
                               "batch",
                               s->batch,
                               "accum",
                               accum,
                               "pp",
                               pp,
                               "vpp",
                               vpp,
                               "schedule",
                               r->schedule,
                               "trainer",
                               "megatron",
                               "attention",
                               "math",
                               "half_weights",
                               "on",
                               "precision",
                               "fp16",
                               "vocab_size",
                               /* as the parameters have it */ "32000",
                               NULL});
    return (struct judged){p->step.time_s, p->memory.peak.bytes};
}

/* The same of whole plans, with nothing taken from the table: which schedule is faster,
 * which needs more memory, and by how much. */
static void plans_have_the_measured_order(void **state)
{
    struct judged is[LENGTH(rows)];
    PLAN p = {0};

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++)
        is[i] = plan_row(&p, &rows[i]);
    for (size_t i = 0; i < LENGTH(rows); i++)
        for (size_t k = 0; k < i; k++) {
            if (strcmp(rows[i].model, rows[k].model) != 0)
                continue;
            assert_near(is[i].step / is[k].step, rows[i].step_s / rows[k].step_s, 0.09);
            if (rows[i].microbatches == rows[k].microbatches)
                assert_true((is[i].step > is[k].step) == (rows[i].step_s > rows[k].step_s));
            if (fabs(rows[i].memory_gb / rows[k].memory_gb - 1) > 0.1) /* closer ones are a matter of buffers */
                assert_true((is[i].layers > is[k].layers) == (rows[i].memory_gb > rows[k].memory_gb));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_have_the_measured_ratios),
        cmocka_unit_test(memory_follows_from_two_rows),
        cmocka_unit_test(plans_have_the_measured_order),
    };

    return cmocka_run_group_tests(tests, open_catalog, close_catalog);
}
