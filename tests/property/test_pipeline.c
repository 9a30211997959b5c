/*
 * Pipelines of any schedule, size and speed: what is counted equals what is
 * simulated equals what an independent walk finds; and what holds for every
 * step, whatever its order.  The seed is printed; MFUPLAN_SEED repeats a run.
 */
#include "near.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/suggest.h"
#include "orders.h"
#include "simulate/pipeline.h"

#define LAYOUTS 4000
#define MOST_STAGES 64
#define MOST_PASSES 160 /* microbatches */
#define SAME 1e-9

static uint64_t seed, state;

static int any(int below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)below);
}

/* Often equal, often zero, sometimes far apart. */
static double any_duration(int kind)
{
    switch (kind) {
    case 0: return 1;
    case 1: return 1 + any(3);
    case 2: return any(4) == 0 ? 0 : any(1000) * 1e-3;
    case 3: return 1 + 1e-3 * any(10);
    default: return any(1 << 20) * 1e-6;
    }
}

struct costs {
    double f[MOST_STAGES], b[MOST_STAGES], w[MOST_STAGES], send[MOST_STAGES], kept[MOST_STAGES], ahead[MOST_STAGES];
    struct mfu_pipeline_costs at;
};

static void any_costs(struct costs *c)
{
    int kind = any(5), send = any(4);

    c->at = (struct mfu_pipeline_costs){c->f, c->b, c->w, .sends_overlap = any(2) == 0};
    for (int s = 0; s < MOST_STAGES; s++) {
        c->f[s] = any_duration(kind);
        c->b[s] = any_duration(kind);
        c->w[s] = any_duration(kind);
        c->send[s] = send == 1 ? 0.1 : (send == 3 ? 10 : 1) * any_duration(kind);
        c->kept[s] = 1 + any(5);
        c->ahead[s] = any((int)c->kept[s] + 1);
    }
    if (send > 0)
        c->at.send_s = c->send;
}

static struct mfu_pipeline_layout any_layout(int most_microbatches)
{
    struct mfu_pipeline_layout l;
    int tries = 0;

    do {
        l = (struct mfu_pipeline_layout){.schedule = mfu_schedules[any((int)mfu_schedule_count)], .pp = 1 + any(8)};
        l.vpp = l.schedule->least_vpp
            + any(l.schedule->most_vpp - l.schedule->least_vpp < 4 ? l.schedule->most_vpp - l.schedule->least_vpp + 1
                                                                   : 4);
        l.microbatches = 1 + any(most_microbatches);
        if (l.schedule->check && any(2) == 0)
            l.microbatches = l.pp * (1 + any(most_microbatches / 8));
        if (any(4) == 0)
            l.group = any(3) == 0 ? l.microbatches : l.pp + any(3);
    } while (mfu_pipeline_check(&l, NULL) != 0 && ++tries < 10000);
    assert_int_equal(mfu_pipeline_check(&l, NULL), 0);
    return l;
}

/* ---- an independent walk ------------------------------------------------- */

struct place {
    int rank, chunk;
};

struct world {
    const struct mfu_pipeline_layout *layout;
    const struct mfu_pipeline_costs *costs;
    int stages, chunks, copies; /* of the model */
    struct place places[2][MOST_STAGES];
    uint16_t *order[8];
    int n[8], at[8];
    double clock[8];
    double forward[2][MOST_STAGES][MOST_PASSES], backward[2][MOST_STAGES][MOST_PASSES]; /* arrival; -1 */
    int done[8][MOST_STAGES][3];                                                        /* F, B, W of a chunk */
    double last[2][MOST_STAGES][2];
};

static int copy_of(const struct world *w, int chunk)
{
    return w->copies == 2 ? chunk : 0;
}

/* When the message of a stage arrives; the sender's clock may have to wait. */
static double arrive(struct world *w, int copy, int stage, int step, double end, double *clock)
{
    struct place from = w->places[copy][stage], to = w->places[copy][stage + step];
    double *last = &w->last[copy][stage][step > 0],
           send = w->costs->send_s ? w->costs->send_s[step > 0 ? stage : stage - 1] : 0;

    if (from.rank == to.rank)
        return end;
    *last = fmax(*last, end) + send;
    if (!w->costs->sends_overlap)
        *clock = fmax(*clock, *last);
    return *last;
}

/* Runs the next action of a rank if all it needs is there. */
static bool step(struct world *w, int rank)
{
    int code = w->order[rank][w->at[rank]], pass = code % MFU_PASS_COUNT, chunk = code / MFU_PASS_COUNT;
    int back = pass == MFU_PASS_FBW ? 1 - chunk : chunk, copy = copy_of(w, chunk), back_copy = copy_of(w, back);
    int s = mfu_pipeline_stage(w->layout, rank, chunk), t = mfu_pipeline_stage(w->layout, rank, back);
    bool f = pass == MFU_PASS_F || pass == MFU_PASS_FBW, b = pass != MFU_PASS_F && pass != MFU_PASS_W;
    int k = w->done[rank][chunk][0], j = w->done[rank][back][1];
    double start = w->clock[rank], end;
    const struct mfu_pipeline_costs *c = w->costs;

    if (f && s > 0) {
        if (w->forward[copy][s][k] < 0)
            return false;
        start = fmax(start, w->forward[copy][s][k]);
    }
    if (b) {
        /* What a backward needs of its own rank must have run before. */
        assert_true(w->done[rank][back][0] > j);
        if (t < w->stages - 1) {
            if (w->backward[back_copy][t][j] < 0)
                return false;
            start = fmax(start, w->backward[back_copy][t][j]);
        }
    }
    if (pass == MFU_PASS_W)
        assert_true(w->done[rank][chunk][1] > w->done[rank][chunk][2]);
    end = start
        + (pass == MFU_PASS_F        ? c->f_s[s]
               : pass == MFU_PASS_B  ? c->b_s[s]
               : pass == MFU_PASS_W  ? c->w_s[s]
               : pass == MFU_PASS_BW ? c->b_s[s] + c->w_s[s]
                                     : c->f_s[s] + c->b_s[t] + c->w_s[t]);
    w->clock[rank] = end;
    if (f) {
        w->done[rank][chunk][0]++;
        if (s + 1 < w->stages)
            w->forward[copy][s + 1][k] = arrive(w, copy, s, 1, end, &w->clock[rank]);
    }
    if (b) {
        w->done[rank][back][1]++;
        if (t > 0)
            w->backward[back_copy][t - 1][j] = arrive(w, back_copy, t, -1, end, &w->clock[rank]);
    }
    if (pass == MFU_PASS_W || pass == MFU_PASS_BW || pass == MFU_PASS_FBW)
        w->done[rank][back][2]++;
    w->at[rank]++;
    return true;
}

/* The makespan, by trying every rank in turn. */
static double walk(const struct mfu_pipeline_layout *layout, const struct mfu_pipeline_costs *costs)
{
    static struct world w;
    double makespan = 0;
    bool moved = true;

    w = (struct world){.layout = layout,
                       .costs = costs,
                       .stages = mfu_pipeline_stages(layout),
                       .chunks = mfu_pipeline_chunks(layout),
                       .copies = layout->schedule->placement == MFU_PLACE_DUAL ? 2 : 1};
    for (int rank = 0; rank < layout->pp; rank++) {
        w.order[rank] = mfu_written_out(layout, rank, &w.n[rank]);
        for (int c = 0; c < w.chunks; c++)
            w.places[copy_of(&w, c)][mfu_pipeline_stage(layout, rank, c)] = (struct place){rank, c};
    }
    for (int s = 0; s < w.stages; s++)
        for (int k = 0; k < MOST_PASSES; k++)
            w.forward[0][s][k] = w.forward[1][s][k] = w.backward[0][s][k] = w.backward[1][s][k] = -1;
    while (moved) {
        moved = false;
        for (int rank = 0; rank < layout->pp; rank++)
            while (w.at[rank] < w.n[rank] && step(&w, rank))
                moved = true;
    }
    for (int rank = 0; rank < layout->pp; rank++) {
        assert_int_equal(w.at[rank], w.n[rank]);
        for (int c = 0; c < w.chunks; c++)
            for (int pass = 0; pass < 3; pass++)
                assert_int_equal(w.done[rank][c][pass], mfu_pipeline_passes(layout));
        makespan = fmax(makespan, w.clock[rank]);
        free(w.order[rank]);
    }
    return makespan;
}

/* ---- laws ---------------------------------------------------------------- */

static struct mfu_pipeline *pipeline;

static struct mfu_pipeline_step run(const struct mfu_pipeline_layout *l, const struct mfu_pipeline_costs *c,
                                    enum mfu_pipeline_mode mode)
{
    struct mfu_pipeline_step step;
    struct mfu_error err = {0};

    if (mfu_pipeline_run(pipeline, l, c, mode, &step, &err) != 0)
        fail_msg("%s, pp %d, vpp %d, %d microbatches: %s", l->schedule->name, l->pp, l->vpp, l->microbatches, err.text);
    return step;
}

static void say(const struct mfu_pipeline_layout *l)
{
    print_error("(%s, pp %d, vpp %d, group %d, %d microbatches, seed %llu)\n", l->schedule->name, l->pp, l->vpp,
                l->group, l->microbatches, (unsigned long long)seed);
}

static void near_for(const struct mfu_pipeline_layout *l, double got, double wanted)
{
    if (fabs(got - wanted) > SAME * fabs(wanted) + 1e-12)
        say(l);
    if (fabs(got - wanted) > 1e-12)
        assert_near(got, wanted, SAME);
}

static void counting_equals_simulating_equals_the_walk(void **unused)
{
    struct costs c;

    (void)unused;
    for (int i = 0; i < LAYOUTS; i++) {
        struct mfu_pipeline_layout l = any_layout(i % 4 == 0 ? 150 : 40);
        struct mfu_pipeline_step whole, count;
        struct mfu_pipeline_rank ranks[8];

        any_costs(&c);
        whole = run(&l, &c.at, MFU_PIPELINE_WHOLE);
        for (int r = 0; r < l.pp; r++)
            ranks[r] = whole.ranks[r];
        near_for(&l, whole.makespan_s, walk(&l, &c.at));
        count = run(&l, &c.at, MFU_PIPELINE_COUNT);
        assert_true(count.simulated <= whole.simulated);
        near_for(&l, count.makespan_s, whole.makespan_s);
        near_for(&l, count.span_s, whole.span_s);
        for (int r = 0; r < l.pp; r++) {
            near_for(&l, count.ranks[r].busy_s, ranks[r].busy_s);
            near_for(&l, count.ranks[r].end_s, ranks[r].end_s);
            near_for(&l, count.ranks[r].first_s, ranks[r].first_s);
        }
    }
}

/* Equal stages but for a slower one: ten times as many microbatches cost no more. */
static void more_microbatches_cost_no_more(void **unused)
{
    struct costs c;

    (void)unused;
    for (int i = 0; i < LAYOUTS / 4; i++) {
        struct mfu_pipeline_layout l = any_layout(40);
        int slow = any(mfu_pipeline_stages(&l));
        long some, many;

        if (l.schedule->placement == MFU_PLACE_LOOP && l.vpp > 1 && !l.schedule->check)
            continue; /* looped-bfs: a chunk's messages pile up until all microbatches are through */
        any_costs(&c);
        for (int s = 0; s < MOST_STAGES; s++) {
            c.f[s] = s == slow ? 1.5 : 1;
            c.b[s] = s == slow ? 2 : 1.25;
            c.w[s] = s == slow ? 1.25 : 0.75;
            c.send[s] = 0.125;
        }
        l.microbatches *= 840;
        l.group = l.group > l.pp + 2 ? 0 : l.group;
        if (mfu_pipeline_check(&l, NULL) != 0)
            continue;
        some = run(&l, &c.at, MFU_PIPELINE_COUNT).simulated;
        l.microbatches *= 10;
        many = run(&l, &c.at, MFU_PIPELINE_COUNT).simulated;
        if (many > 2 * some || many > 400L * l.pp * l.pp * l.vpp * l.vpp) {
            say(&l);
            fail_msg("%ld actions, %ld for a tenth of the microbatches", many, some);
        }
    }
}

static bool is_forward(const struct mfu_pipeline_event *e)
{
    return e->pass == MFU_PASS_F || e->pass == MFU_PASS_FBW;
}

/* Every forward before its backward, every stage after the one before. */
static void events_keep_the_order_of_stages(void **unused)
{
    static double f_end[2][MOST_STAGES][MOST_PASSES], b_end[2][MOST_STAGES][MOST_PASSES];
    struct costs c;

    (void)unused;
    for (int i = 0; i < LAYOUTS / 4; i++) {
        struct mfu_pipeline_layout l = any_layout(40);
        bool dual = l.schedule->placement == MFU_PLACE_DUAL;
        struct mfu_pipeline_step step;
        double busy[8] = {0};
        long n = 0;

        any_costs(&c);
        step = run(&l, &c.at, MFU_PIPELINE_RECORD);
        assert_int_equal(step.n_events, step.simulated);
        for (size_t k = 0; k < step.n_events; k++) {
            const struct mfu_pipeline_event *e = &step.events[k];
            int other = mfu_pipeline_stage(&l, e->rank, e->pass == MFU_PASS_FBW ? 1 - e->chunk : e->chunk);
            int from = dual && e->pass == MFU_PASS_FBW ? 1 - e->chunk : dual ? e->chunk : 0;

            if (k > 0 && e[-1].rank == e->rank)
                assert_true(e->start_s >= e[-1].end_s - 1e-9);
            if (is_forward(e)) {
                f_end[dual ? e->chunk : 0][e->stage][e->microbatch] = e->end_s;
                n++;
            }
            if (e->pass == MFU_PASS_FBW)
                b_end[from][other][e->backward] = e->end_s;
            else if (e->pass == MFU_PASS_B || e->pass == MFU_PASS_BW)
                b_end[from][e->stage][e->microbatch] = e->end_s;
            busy[e->rank] += e->end_s - e->start_s;
        }
        assert_int_equal(n, (long)l.pp * mfu_pipeline_chunks(&l) * mfu_pipeline_passes(&l));
        for (int r = 0; r < l.pp; r++)
            near_for(&l, busy[r], step.ranks[r].busy_s);
        for (size_t k = 0; k < step.n_events; k++) {
            const struct mfu_pipeline_event *e = &step.events[k];
            int copy = dual ? e->chunk : 0, last = mfu_pipeline_stages(&l) - 1;

            if (is_forward(e) && e->stage > 0)
                assert_true(e->start_s >= f_end[copy][e->stage - 1][e->microbatch] - 1e-9);
            if (e->pass == MFU_PASS_W)
                assert_true(e->start_s >= b_end[copy][e->stage][e->microbatch] - 1e-9);
            if (e->pass != MFU_PASS_B && e->pass != MFU_PASS_BW)
                continue;
            assert_true(e->start_s >= f_end[copy][e->stage][e->microbatch] - 1e-9);
            if (e->stage < last)
                assert_true(e->start_s >= b_end[copy][e->stage + 1][e->microbatch] - 1e-9);
        }
    }
}

/* No step is shorter than what its busiest rank computes, nor than the way of
 * one microbatch there and back. */
static void no_step_is_shorter_than_its_parts(void **unused)
{
    struct costs c;

    (void)unused;
    for (int i = 0; i < LAYOUTS; i++) {
        struct mfu_pipeline_layout l = any_layout(40);
        struct mfu_pipeline_step step;
        double way = 0;

        any_costs(&c);
        step = run(&l, &c.at, MFU_PIPELINE_COUNT);
        for (int s = 0; s < mfu_pipeline_stages(&l); s++)
            way += c.f[s] + c.b[s];
        assert_true(step.makespan_s >= way * (1 - SAME));
        assert_true(step.makespan_s >= step.span_s * (1 - SAME));
        assert_true(step.bubble >= 0 && step.bubble <= 1);
        for (int r = 0; r < l.pp; r++) {
            const struct mfu_pipeline_rank *rank = &step.ranks[r];

            assert_true(step.makespan_s >= (rank->busy_s + rank->send_s) * (1 - SAME));
            assert_true(rank->busy_s <= step.ranks[step.busiest].busy_s);
            assert_true(rank->in_flight >= 1 && rank->in_flight <= rank->held);
            near_for(&l, rank->busy_s + rank->send_s + rank->idle_s, step.makespan_s);
        }
    }
}

/* Whatever takes longer cannot make a step shorter. */
static void longer_parts_make_no_shorter_step(void **unused)
{
    struct costs c;

    (void)unused;
    for (int i = 0; i < LAYOUTS; i++) {
        struct mfu_pipeline_layout l = any_layout(40);
        double before, *parts[] = {c.f, c.b, c.w, c.send};

        any_costs(&c);
        before = run(&l, &c.at, MFU_PIPELINE_COUNT).makespan_s;
        parts[any(4)][any(mfu_pipeline_stages(&l))] += any_duration(4);
        if (run(&l, &c.at, MFU_PIPELINE_COUNT).makespan_s < before * (1 - SAME)) {
            say(&l);
            fail();
        }
    }
}

/* All durations times x: all times times x. */
static void time_has_no_scale(void **unused)
{
    struct costs c;

    (void)unused;
    for (int i = 0; i < LAYOUTS / 4; i++) {
        struct mfu_pipeline_layout l = any_layout(40);
        double before;

        any_costs(&c);
        before = run(&l, &c.at, MFU_PIPELINE_COUNT).makespan_s;
        for (int s = 0; s < MOST_STAGES; s++) {
            c.f[s] *= 1e-4, c.b[s] *= 1e-4, c.w[s] *= 1e-4;
            c.send[s] *= 1e-4;
        }
        near_for(&l, run(&l, &c.at, MFU_PIPELINE_COUNT).makespan_s, 1e-4 * before);
    }
}

/* Peaks by adding up along the order, action by action. */
static void memory_is_that_of_the_order(void **unused)
{
    struct costs c;

    (void)unused;
    for (int i = 0; i < LAYOUTS; i++) {
        struct mfu_pipeline_layout l = any_layout(60);
        const struct mfu_pipeline_rank *ranks;

        any_costs(&c);
        ranks = mfu_pipeline_weigh(pipeline, &l, &(struct mfu_pipeline_kept){c.kept, c.ahead}, NULL);
        for (int r = 0; r < l.pp; r++) {
            int n, flight = 0, held = 0, most = 0, most_held = 0;
            uint16_t *all = mfu_written_out(&l, r, &n);
            double bytes = 0, peak = 0;

            for (int k = 0; k < n; k++) {
                int pass = all[k] % MFU_PASS_COUNT, chunk = all[k] / MFU_PASS_COUNT;
                bool merged = pass == MFU_PASS_FBW;
                int s = mfu_pipeline_stage(&l, r, chunk);

                if (pass == MFU_PASS_F || merged) {
                    flight++, held++;
                    bytes += (merged ? c.ahead : c.kept)[s];
                }
                most = flight > most ? flight : most;
                most_held = held > most_held ? held : most_held;
                peak = fmax(peak, bytes);
                if (pass == MFU_PASS_B || pass == MFU_PASS_BW || merged)
                    flight--;
                if (pass == MFU_PASS_W || pass == MFU_PASS_BW || merged) {
                    held--;
                    bytes -= c.kept[mfu_pipeline_stage(&l, r, merged ? 1 - chunk : chunk)];
                }
                bytes += merged ? c.kept[s] - c.ahead[s] : 0;
            }
            assert_int_equal(flight, 0);
            assert_int_equal(held, 0);
            assert_int_equal(ranks[r].in_flight, most);
            assert_int_equal(ranks[r].held, most_held);
            assert_near(ranks[r].peak_bytes, peak, SAME);
            free(all);
        }
    }
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* What the papers and trainers say that a schedule keeps. */
static void memory_is_what_the_schedule_promises(void **unused)
{
    double one[MOST_STAGES];
    struct mfu_pipeline_costs c = {.f_s = one, .b_s = one, .w_s = one};

    (void)unused;
    for (int s = 0; s < MOST_STAGES; s++)
        one[s] = 1;
    for (int i = 0; i < LAYOUTS; i++) {
        struct mfu_pipeline_layout l = any_layout(60);
        struct mfu_pipeline_step step = run(&l, &c, MFU_PIPELINE_COUNT);
        const char *name = l.schedule->name;
        int p = l.pp, m = l.microbatches, group = l.group ? l.group : p;

        for (int r = 0; r < p; r++) {
            const struct mfu_pipeline_rank *rank = &step.ranks[r];

            if (mfu_same_name(name, "gpipe"))
                assert_int_equal(rank->held, m);
            else if (mfu_same_name(name, "sequential"))
                assert_int_equal(rank->held, 1);
            else if (mfu_same_name(name, "1f1b"))
                assert_int_equal(rank->held, least(m, p - r));
            else if (mfu_same_name(name, "interleaved"))
                assert_int_equal(rank->held, least((l.vpp - 1) * group + 2 * (p - 1 - r) + 1, m * l.vpp));
            else if (mfu_same_name(name, "zb-h1"))
                assert_int_equal(rank->held, least(m, p));
            else if (mfu_same_name(name, "zb-h2"))
                assert_int_equal(rank->held, 2 * p - 1);
            else if (mfu_same_name(name, "zb-v"))
                assert_true(rank->held <= 2 * p && (m < 2 * p - 1 || rank->held == 2 * p));
            else if (mfu_same_name(name, "v-half")) /* of 2 p halves of a rank's layers */
                assert_true(rank->held <= p + 2);
            else if (mfu_same_name(name, "v-min"))
                assert_true(rank->held <= (2 * p + 2) / 3 + 2);
            else if (mfu_same_name(name, "dualpipe"))
                assert_int_equal(rank->held, p + 1);
            else if (mfu_same_name(name, "dualpipev"))
                assert_int_equal(rank->held, 2 * p + 1);
            else if (mfu_same_name(name, "looped-bfs"))
                assert_int_equal(rank->held, m * l.vpp);
            else
                fail_msg("nothing is said of %s", name);
        }
    }
}

/* No order of a layout that was accepted loses the thread, however small. */
static void every_small_layout_runs_or_is_refused(void **unused)
{
    double one[MOST_STAGES];
    struct mfu_pipeline_costs c = {.f_s = one, .b_s = one, .w_s = one};

    (void)unused;
    for (int s = 0; s < MOST_STAGES; s++)
        one[s] = 1;
    for (size_t i = 0; i < mfu_schedule_count; i++)
        for (int pp = 1; pp <= 8; pp++)
            for (int vpp = 1; vpp <= 4; vpp++)
                for (int m = 1; m <= 20; m++) {
                    struct mfu_pipeline_layout l = {mfu_schedules[i], pp, vpp, m, .group = 0};
                    struct mfu_error err = {0};

                    if (mfu_pipeline_check(&l, &err) != 0)
                        assert_non_null(strchr(err.text, ' '));
                    else
                        assert_near(run(&l, &c, MFU_PIPELINE_COUNT).makespan_s, walk(&l, &c), SAME);
                }
}

static int set_up(void **unused)
{
    const char *given = getenv("MFUPLAN_SEED");
    struct mfu_error err;

    (void)unused;
    seed = state = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    print_message("seed %llu\n", (unsigned long long)seed);
    pipeline = mfu_pipeline_new(&err);
    return pipeline ? 0 : -1;
}

static int tear_down(void **unused)
{
    (void)unused;
    mfu_pipeline_free(pipeline);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counting_equals_simulating_equals_the_walk),
        cmocka_unit_test(more_microbatches_cost_no_more),
        cmocka_unit_test(events_keep_the_order_of_stages),
        cmocka_unit_test(no_step_is_shorter_than_its_parts),
        cmocka_unit_test(longer_parts_make_no_shorter_step),
        cmocka_unit_test(time_has_no_scale),
        cmocka_unit_test(memory_is_that_of_the_order),
        cmocka_unit_test(memory_is_what_the_schedule_promises),
        cmocka_unit_test(every_small_layout_runs_or_is_refused),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
