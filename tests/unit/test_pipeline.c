/*
 * Schedules worked out by hand, the closed forms of their papers, and what is
 * refused.
 */
#include "near.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "orders.h"
#include "simulate/pipeline.h"

#define STAGES 64
#define SAME 1e-12

static struct mfu_pipeline *pipeline;

static struct mfu_pipeline_layout layout_of(const char *schedule, int pp, int vpp, int microbatches)
{
    struct mfu_pipeline_layout l = {schedule_named(schedule), pp, vpp, microbatches, .group = 0};

    assert_non_null(l.schedule);
    return l;
}

static struct mfu_pipeline_step run(const struct mfu_pipeline_layout *l, const struct mfu_pipeline_costs *c,
                                    enum mfu_pipeline_mode mode)
{
    struct mfu_pipeline_step step;
    struct mfu_error err = {0};

    if (mfu_pipeline_run(pipeline, l, c, mode, &step, &err) != 0)
        fail_msg("%s", err.text);
    return step;
}

/* All stages alike, messages for nothing. */
static struct mfu_pipeline_step even(const char *schedule, int pp, int vpp, int microbatches, double f, double b,
                                     double w)
{
    double all_f[STAGES], all_b[STAGES], all_w[STAGES];
    struct mfu_pipeline_layout l = layout_of(schedule, pp, vpp, microbatches);

    for (int s = 0; s < STAGES; s++) {
        all_f[s] = f;
        all_b[s] = b;
        all_w[s] = w;
    }
    return run(&l, &(struct mfu_pipeline_costs){.f_s = all_f, .b_s = all_b, .w_s = all_w}, MFU_PIPELINE_COUNT);
}

/* "F0 0-1, F1 1-2" of a rank. */
static const char *written(const struct mfu_pipeline_step *step, int rank)
{
    static const char *const names[] = {"F", "B", "W", "BW", "FBW"};
    static char text[1024];
    size_t at = 0;

    *text = '\0';
    for (size_t i = 0; i < step->n_events; i++) {
        const struct mfu_pipeline_event *e = &step->events[i];

        if (e->rank == rank)
            at += (size_t)snprintf(text + at, sizeof text - at, "%s%s%d %g-%g", at ? ", " : "", names[e->pass],
                                   e->microbatch, e->start_s, e->end_s);
    }
    return text;
}

/* ---- by hand ------------------------------------------------------------- */

static const double ones[] = {1, 1, 1, 1, 1, 1, 1, 1};

static void gpipe_by_hand(void **state)
{
    struct mfu_pipeline_layout l = layout_of("gpipe", 2, 1, 2);
    struct mfu_pipeline_step step =
        run(&l, &(struct mfu_pipeline_costs){.f_s = ones, .b_s = ones, .w_s = ones}, MFU_PIPELINE_RECORD);

    (void)state;
    assert_string_equal(written(&step, 0), "F0 0-1, F1 1-2, BW0 5-7, BW1 7-9");
    assert_string_equal(written(&step, 1), "F0 1-2, F1 2-3, BW0 3-5, BW1 5-7");
    assert_near(step.makespan_s, 9, SAME);
    assert_near(step.bubble, 1.0 / 3, SAME);
    assert_near(step.ranks[0].idle_s, 3, SAME);
}

static void sequential_by_hand(void **state)
{
    struct mfu_pipeline_layout l = layout_of("sequential", 2, 1, 2);
    struct mfu_pipeline_step step =
        run(&l, &(struct mfu_pipeline_costs){.f_s = ones, .b_s = ones, .w_s = ones}, MFU_PIPELINE_RECORD);

    (void)state;
    assert_string_equal(written(&step, 0), "F0 0-1, BW0 4-6, F1 6-7, BW1 10-12");
    assert_string_equal(written(&step, 1), "F0 1-2, BW0 2-4, F1 7-8, BW1 8-10");
    assert_near(step.makespan_s, 12, SAME);
}

/* Stages that differ, messages that take time, beside compute or instead of it. */
static void sends_by_hand(void **state)
{
    static const double f[] = {1, 2}, b[] = {1, 2}, send[] = {0.5};
    struct mfu_pipeline_layout l = layout_of("1f1b", 2, 1, 2);
    struct mfu_pipeline_costs c = {.f_s = f, .b_s = b, .w_s = ones, .send_s = send, .sends_overlap = true};
    struct mfu_pipeline_step step = run(&l, &c, MFU_PIPELINE_RECORD);

    (void)state;
    assert_string_equal(written(&step, 0), "F0 0-1, F1 1-2, BW0 7-9, BW1 12-14");
    assert_string_equal(written(&step, 1), "F0 1.5-3.5, BW0 3.5-6.5, F1 6.5-8.5, BW1 8.5-11.5");
    assert_true(step.ranks[0].send_s == 0);
    c.sends_overlap = false;
    step = run(&l, &c, MFU_PIPELINE_RECORD);
    assert_string_equal(written(&step, 0), "F0 0-1, F1 1.5-2.5, BW0 7-9, BW1 12.5-14.5");
    assert_string_equal(written(&step, 1), "F0 1.5-3.5, BW0 3.5-6.5, F1 7-9, BW1 9-12");
    assert_near(step.ranks[0].send_s, 1, SAME);
    assert_near(step.ranks[1].send_s, 1, SAME);
    assert_near(step.ranks[0].idle_s, 14.5 - 6 - 1, SAME);
    assert_int_equal(step.busiest, 1);
}

/* Both ranks are held from the sending on: the sender after it computed, the receiver before. */
static void meetings_by_hand(void **state)
{
    struct mfu_pipeline_layout l = layout_of("1f1b", 2, 1, 2);
    struct mfu_pipeline_costs c = {.f_s = ones, .b_s = ones, .w_s = ones, .meets_s = {4, 2}};
    struct mfu_pipeline_step step = run(&l, &c, MFU_PIPELINE_RECORD);

    (void)state;
    assert_string_equal(written(&step, 0), "F0 0-1, F1 5-6, BW0 10-14, BW1 17-21");
    assert_string_equal(written(&step, 1), "F0 1-6, BW0 6-8, F1 10-15, BW1 15-17");
    assert_near(step.ranks[0].send_s, 8, SAME);
    assert_near(step.ranks[1].send_s, 4, SAME);
}

/* Messages of one direction follow each other on their link. */
static void a_slow_link_by_hand(void **state)
{
    static const double send[] = {3};
    struct mfu_pipeline_layout l = layout_of("gpipe", 2, 1, 3);
    struct mfu_pipeline_step step = run(
        &l, &(struct mfu_pipeline_costs){.f_s = ones, .b_s = ones, .w_s = ones, .send_s = send, .sends_overlap = true},
        MFU_PIPELINE_RECORD);

    (void)state;
    assert_string_equal(written(&step, 1), "F0 4-5, F1 7-8, F2 10-11, BW0 11-13, BW1 13-15, BW2 15-17");
    assert_string_equal(written(&step, 0), "F0 0-1, F1 1-2, F2 2-3, BW0 16-18, BW1 19-21, BW2 22-24");
}

static void zb_h1_by_hand(void **state)
{
    struct mfu_pipeline_layout l = layout_of("zb-h1", 2, 1, 2);
    struct mfu_pipeline_step step =
        run(&l, &(struct mfu_pipeline_costs){.f_s = ones, .b_s = ones, .w_s = ones}, MFU_PIPELINE_RECORD);

    (void)state;
    assert_string_equal(written(&step, 0), "F0 0-1, F1 1-2, B0 3-4, W0 4-5, B1 5-6, W1 6-7");
    assert_string_equal(written(&step, 1), "F0 1-2, B0 2-3, F1 3-4, B1 4-5, W0 5-6, W1 6-7");
}

static void interleaved_by_hand(void **state)
{
    static const double w[] = {0, 0, 0, 0};
    struct mfu_pipeline_layout l = layout_of("interleaved", 2, 2, 2);
    struct mfu_pipeline_step step =
        run(&l, &(struct mfu_pipeline_costs){.f_s = ones, .b_s = ones, .w_s = w}, MFU_PIPELINE_RECORD);

    (void)state;
    assert_string_equal(written(&step, 0), "F0 0-1, F1 1-2, F0 2-3, F1 3-4, BW0 5-6, BW1 7-8, BW0 8-9, BW1 9-10");
    assert_string_equal(written(&step, 1), "F0 1-2, F1 2-3, F0 3-4, BW0 4-5, F1 5-6, BW1 6-7, BW0 7-8, BW1 8-9");
    assert_int_equal(step.events[2].stage, 2);
    assert_int_equal(step.events[2].chunk, 1);
    assert_int_equal(step.chunk_in_flight[0], 2);
}

/* The turn of the V needs no message: it costs none even if messages are slow. */
static void zb_v_by_hand(void **state)
{
    static const double send[] = {100, 100, 100};
    struct mfu_pipeline_layout l = layout_of("zb-v", 1, 2, 1);
    struct mfu_pipeline_step step = run(
        &l, &(struct mfu_pipeline_costs){.f_s = ones, .b_s = ones, .w_s = ones, .send_s = send}, MFU_PIPELINE_RECORD);

    (void)state;
    assert_string_equal(written(&step, 0), "F0 0-1, F0 1-2, B0 2-3, W0 3-4, B0 4-5, W0 5-6");
    l = layout_of("zb-v", 2, 2, 1);
    step = run(&l, &(struct mfu_pipeline_costs){.f_s = ones, .b_s = ones, .w_s = ones, .send_s = send},
               MFU_PIPELINE_RECORD);
    /* The one link is passed four times; the rank's own chunks exchange nothing. */
    assert_string_equal(written(&step, 1), "F0 101-102, F0 102-103, B0 305-306, W0 306-307, B0 307-308, W0 408-409");
}

static void dualpipe_numbers_both_parts_of_a_merged_pass(void **state)
{
    struct mfu_pipeline_layout l = layout_of("dualpipe", 2, 1, 6);
    struct mfu_pipeline_step step =
        run(&l, &(struct mfu_pipeline_costs){.f_s = ones, .b_s = ones, .w_s = ones}, MFU_PIPELINE_RECORD);
    int merged = 0;

    (void)state;
    for (size_t i = 0; i < step.n_events; i++)
        if (step.events[i].pass == MFU_PASS_FBW) {
            merged++;
            assert_true(step.events[i].backward >= 0 && step.events[i].backward < step.events[i].microbatch + 2);
            assert_near(step.events[i].end_s - step.events[i].start_s, 3, SAME);
        } else {
            assert_int_equal(step.events[i].backward, -1);
        }
    assert_true(merged > 0);
}

/* ---- closed forms -------------------------------------------------------- */

static double longest_busy(const struct mfu_pipeline_step *step)
{
    return step->ranks[step->busiest].busy_s;
}

static double bubble_s(const struct mfu_pipeline_step *step)
{
    return step->makespan_s - longest_busy(step);
}

/* (pp - 1)(F + B), over vpp if interleaved; B: whole backward. */
static void bubbles_of_1f1b(void **state)
{
    (void)state;
    for (int pp = 1; pp <= 16; pp *= 2)
        for (int m = pp; m <= 8 * pp; m += pp) {
            struct mfu_pipeline_step step = even("1f1b", pp, 1, m, 1, 1.25, 0.75);

            assert_near(1 + bubble_s(&step), 1 + (pp - 1) * 3.0, SAME);
            assert_near(1 + step.bubble, 1 + (pp - 1.0) / (m + pp - 1), SAME);
            step = even("gpipe", pp, 1, m, 1, 1.25, 0.75);
            assert_near(1 + bubble_s(&step), 1 + (pp - 1) * 3.0, SAME);
            for (int vpp = 2; vpp <= 4; vpp++) {
                step = even("interleaved", pp, vpp, m, 1.0 / vpp, 1.25 / vpp, 0.75 / vpp);
                assert_near(longest_busy(&step), 3 * m, SAME);
                assert_near(1 + bubble_s(&step), 1 + (pp - 1) * 3.0 / vpp, SAME);
            }
        }
}

/* (pp - 1)(F + B - W) with B the input's part, if W fits into what is left. */
static void bubble_of_zb_h1(void **state)
{
    static const double times[][3] = {{1, 1, 1}, {1, 1, 0.75}, {2, 2, 1}, {1, 1.5, 1}, {1, 1, 0}};

    (void)state;
    for (size_t i = 0; i < LENGTH(times); i++)
        for (int pp = 1; pp <= 16; pp++)
            for (int m = pp; m <= 64; m += 7) {
                double f = times[i][0], b = times[i][1], w = times[i][2];
                struct mfu_pipeline_step step = even("zb-h1", pp, 1, m, f, b, w);

                assert_near(1 + bubble_s(&step), 1 + (pp - 1) * (f + b - w), 1e-9);
            }
}

/* Ranks begin and end one after another and do not idle in between. */
static void zb_h2_has_no_bubble_of_its_own(void **state)
{
    (void)state;
    for (int pp = 1; pp <= 16; pp++)
        for (int m = 2 * pp - 1; m <= 64; m += 5) {
            struct mfu_pipeline_step step = even("zb-h2", pp, 1, m, 1, 1, 1);

            assert_near(step.span_s, 3 * m, SAME);
            assert_near(step.makespan_s, 3 * m + pp - 1, SAME);
        }
}

static void zb_v_idles_only_while_it_fills(void **state)
{
    (void)state;
    for (int pp = 1; pp <= 12; pp++)
        for (int m = 2 * pp - 1; m <= 64; m += 5) {
            struct mfu_pipeline_step step = even("zb-v", pp, 2, m, 0.5, 0.5, 0.5);

            assert_near(step.makespan_s, 3 * m + 0.5 * (pp - 1), SAME);
        }
}

/* (PP/2 - 1)(F&B + B - 3 W), PP the stages: README of deepseek-ai/DualPipe. */
static void bubble_of_dualpipe(void **state)
{
    (void)state;
    for (int pp = 2; pp <= 16; pp += 2)
        for (int m = 2 * pp; m <= 64; m += 6) {
            double wanted = (pp / 2 - 1) * (3 + 2 - 3);
            struct mfu_pipeline_step step = even("dualpipe", pp, 1, m, 1, 1, 1);

            /* The middle ranks; those outside run less of it merged. */
            assert_near(1 + step.ranks[pp / 2 - 1].idle_s, 1 + wanted, 1e-9);
            step = even("dualpipev", pp / 2, 2, m, 1, 1, 1);
            assert_near(1 + step.ranks[pp / 2 - 1].idle_s, 1 + wanted, 1e-9);
        }
}

/* One slow stage sets the pace: the rest of the way is added once. */
static void one_slow_stage_sets_the_pace(void **state)
{
    (void)state;
    for (int slow = 0; slow < 8; slow++) {
        double f[8], b[8], w[8];
        struct mfu_pipeline_layout l = layout_of("gpipe", 8, 1, 1000);
        struct mfu_pipeline_costs c = {.f_s = f, .b_s = b, .w_s = w};
        struct mfu_pipeline_step step;

        for (int s = 0; s < 8; s++) {
            f[s] = b[s] = w[s] = s == slow ? 2 : 1;
        }
        step = run(&l, &c, MFU_PIPELINE_COUNT);
        assert_near(step.makespan_s, 7 * 3 + 1000 * 6, SAME);
        l = layout_of("1f1b", 8, 1, 1000);
        step = run(&l, &c, MFU_PIPELINE_COUNT);
        assert_true(step.makespan_s >= 1000 * 6 && step.makespan_s <= 7 * 3 + 1000 * 6);
        if (slow == 7)
            assert_near(step.makespan_s, 7 * 3 + 1000 * 6, 1e-9);
        assert_true(step.simulated < 2000);
    }
}

/* ---- names and refusals -------------------------------------------------- */

static void names_and_aliases(void **state)
{
    static const char *const pairs[][2] = {{"AFAB", "gpipe"},
                                           {"1F1B", "1f1b"},
                                           {"Interleaved1F1B", "interleaved"},
                                           {"ZB1P", "zb-h1"},
                                           {"ZBVZeroBubble", "zb-v"},
                                           {"DualPipeV", "dualpipev"},
                                           {"InterleavedZeroBubble", "zb-h1"},
                                           {"LoopedBFS", "looped-bfs"},
                                           {"zb_2p", "zb-h2"},
                                           {"dualpipe", "dualpipe"}};

    (void)state;
    for (size_t i = 0; i < LENGTH(pairs); i++) {
        const struct mfu_schedule *s = schedule_named(pairs[i][0]);

        assert_non_null(s);
        assert_string_equal(s->name, pairs[i][1]);
    }
    assert_null(schedule_named("interleafed"));
    for (size_t i = 0; i < mfu_schedule_count; i++)
        assert_string_equal(mfu_schedule_names[i], mfu_schedules[i]->name);
    assert_null(mfu_schedule_names[mfu_schedule_count]);
}

static void a_refusal_names_what_would_work(void **state)
{
    static const struct {
        const char *schedule;
        int pp, vpp, microbatches;
        const char *says;
    } refused[] = {
        {"interleaved", 4, 2, 10, "8 or 12"},
        {"interleaved", 4, 2, 3, "not 3: 4,"},
        {"interleaved", 4, 1, 8, "vpp 2 or more"},
        {"1f1b", 4, 2, 8, "vpp 1"},
        {"zb-v", 4, 1, 8, "vpp 2"},
        {"zb-v", 4, 3, 8, "vpp 2"},
        {"dualpipe", 3, 1, 8, "4"},
        {"dualpipe", 4, 1, 6, "8 would do"},
        {"dualpipe", 4, 1, 9, "10 would do"},
        {"dualpipev", 4, 2, 7, "8 microbatches"},
        {"zb-h2", 4, 1, 6, "7 microbatches"},
        {"1f1b", 0, 1, 8, "1 or more"},
        {"1f1b", 4, 1, 0, "1 or more"},
        {"1f1b", 1 << 20, 1, 8, "at most 1024 stages"},
        {"gpipe", 4, 1, 1 << 30, "at most 1024 stages"},
        {"interleaved", 1 << 16, 1 << 12, 1 << 16, "at most 1024 stages"},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(refused); i++) {
        struct mfu_pipeline_layout l =
            layout_of(refused[i].schedule, refused[i].pp, refused[i].vpp, refused[i].microbatches);
        struct mfu_pipeline_step step;
        struct mfu_error err = {0};

        assert_int_equal(mfu_pipeline_check(&l, &err), -1);
        if (!strstr(err.text, refused[i].says))
            fail_msg("'%s' does not say '%s'", err.text, refused[i].says);
        assert_int_equal(
            mfu_pipeline_run(pipeline, &l, &(struct mfu_pipeline_costs){0}, MFU_PIPELINE_COUNT, &step, &err), -1);
    }
}

/* After a refusal the pipeline serves the next layout. */
static void bad_durations_are_refused(void **state)
{
    static const double bad[][2] = {{1, -1}, {NAN, 1}, {1, INFINITY}};
    struct mfu_pipeline_layout l = layout_of("1f1b", 2, 1, 4);
    struct mfu_pipeline_step step;
    struct mfu_error err = {0};

    (void)state;
    for (size_t i = 0; i < LENGTH(bad); i++) {
        struct mfu_pipeline_costs c = {.f_s = bad[i], .b_s = ones, .w_s = ones};

        assert_int_equal(mfu_pipeline_run(pipeline, &l, &c, MFU_PIPELINE_COUNT, &step, &err), -1);
        assert_non_null(strstr(err.text, "duration"));
    }
    step = even("1f1b", 2, 1, 4, 1, 1, 1);
    assert_near(step.makespan_s, 15, SAME);
}

static int set_up(void **state)
{
    struct mfu_error err;

    (void)state;
    pipeline = mfu_pipeline_new(&err);
    return pipeline ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    mfu_pipeline_free(pipeline);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpipe_by_hand),
        cmocka_unit_test(sequential_by_hand),
        cmocka_unit_test(sends_by_hand),
        cmocka_unit_test(meetings_by_hand),
        cmocka_unit_test(a_slow_link_by_hand),
        cmocka_unit_test(zb_h1_by_hand),
        cmocka_unit_test(interleaved_by_hand),
        cmocka_unit_test(zb_v_by_hand),
        cmocka_unit_test(dualpipe_numbers_both_parts_of_a_merged_pass),
        cmocka_unit_test(bubbles_of_1f1b),
        cmocka_unit_test(bubble_of_zb_h1),
        cmocka_unit_test(zb_h2_has_no_bubble_of_its_own),
        cmocka_unit_test(zb_v_idles_only_while_it_fills),
        cmocka_unit_test(bubble_of_dualpipe),
        cmocka_unit_test(one_slow_stage_sets_the_pace),
        cmocka_unit_test(names_and_aliases),
        cmocka_unit_test(a_refusal_names_what_would_work),
        cmocka_unit_test(bad_durations_are_refused),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
