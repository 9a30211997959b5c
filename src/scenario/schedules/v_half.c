/*
 * v-half - two chunks per rank in a V, which keep half of what 1F1B's first rank does.
 *
 * Qi et al., Pipeline Parallelism with Controllable Memory (arXiv 2405.15362): how long a microbatch lies between its
 * forward and its backward decides what a rank keeps, so blocks of microbatches are laid that are short on all ranks alike,
 * and are pushed together where a pipeline fills and drains.  The order is that of Primus' zbv_greedy.py (fd1eeabb): passes
 * of one length are laid on a grid, weight gradients take its free places, and each pass moves to the earliest free place
 * that its dependences and, before the last forward, the most memory of the grid allow.
 */
#include "scenario/schedules/v_half.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/error.h"
#include "scenario/schedule.h"

#define MOST_RANKS 64 /* the grid is laid for each rank anew, by its square */
#define PERIOD 6      /* passes of a microbatch on a rank */
#define CHUNKS 2

struct place {
    int microbatch;
    enum mfu_pass pass;
    int chunk;
    bool taken, drains; /* behind the last forward of its rank */
};

struct grid {
    int pp, microbatches, length; /* places of a rank */
    struct place *places;         /* of all ranks, in time */
    int *kept;                    /* beside each: forwards whose weight gradients are still to come */
    int *when;                    /* of each pass, chunk and microbatch of a rank */
    int most_kept;
    struct place *waiting; /* weight gradients of a rank that gave up their places */
    int *n_waiting;
};

static struct place *place_at(const struct grid *g, int rank, int time)
{
    return g->places + rank * g->length + time;
}

static int *when_is(const struct grid *g, int rank, enum mfu_pass pass, int chunk, int microbatch)
{
    return g->when + ((rank * (MFU_PASS_W + 1) + (int)pass) * CHUNKS + chunk) * g->microbatches + microbatch;
}

static void put(struct grid *g, int rank, int time, struct place what)
{
    *place_at(g, rank, time) = what;
    *when_is(g, rank, what.pass, what.chunk, what.microbatch) = time;
}

/* Weight gradients in the order of their backwards, where nothing else is. */
static void put_weight_gradients(struct grid *g, int rank)
{
    int *kept = g->kept + rank * g->length, next = 0, sum = 0;
    bool drains = false;

    for (int time = 0; time < g->length; time++) {
        struct place *at = place_at(g, rank, time), *of = place_at(g, rank, next);

        for (; next < time && !(of->taken && of->pass == MFU_PASS_B); next++)
            of++;
        if (at->taken) {
            at->drains = drains;
            sum += at->pass == MFU_PASS_F;
            if (at->pass == MFU_PASS_F && at->chunk == 1 && at->microbatch == g->microbatches - 1)
                drains = true;
            else if (at->pass == MFU_PASS_B && at->chunk == 0 && at->microbatch == 0)
                drains = false; /* few microbatches never leave the filling */
        } else if (next < time) {
            put(g, rank, time, (struct place){of->microbatch, MFU_PASS_W, of->chunk, true, drains});
            next++;
            sum--;
        }
        kept[time] = sum;
        g->most_kept = sum > g->most_kept ? sum : g->most_kept;
    }
}

/* The first time at which what the pass needs is there. */
static int earliest(const struct grid *g, int rank, const struct place *p)
{
    int at = p->microbatch > 0 ? *when_is(g, rank, p->pass, p->chunk, p->microbatch - 1) : 0, needs = 0;
    bool down = (p->pass == MFU_PASS_F) == (p->chunk == 0); /* from the first rank to the last */

    if (p->pass == MFU_PASS_W) {
        needs = *when_is(g, rank, MFU_PASS_B, p->chunk, p->microbatch);
        return at > needs ? at : needs;
    }
    if (down && rank > 0)
        needs = *when_is(g, rank - 1, p->pass, p->chunk, p->microbatch);
    else if (!down)
        needs = rank + 1 < g->pp ? *when_is(g, rank + 1, p->pass, p->chunk, p->microbatch)
                                 : *when_is(g, rank, p->pass, 1 - p->chunk, p->microbatch);
    else if (p->pass == MFU_PASS_B)
        needs = *when_is(g, rank, MFU_PASS_F, p->chunk, p->microbatch);
    return (at > needs ? at : needs) + 1;
}

/* Whether a forward can come so much earlier, for the memory that it takes meanwhile. */
static bool has_room(const struct grid *g, const int *kept, int from, int to)
{
    for (int i = from; i < to; i++)
        if (kept[i] + 1 > g->most_kept)
            return false;
    return true;
}

/* Moves a pass to the first free place that it can have; what drains the pipeline frees memory only. */
static void advance(struct grid *g, int rank, int time, bool draining)
{
    struct place what = *place_at(g, rank, time);
    int *kept = g->kept + rank * g->length, change = what.pass == MFU_PASS_F ? 1 : what.pass == MFU_PASS_W ? -1 : 0;

    for (int i = earliest(g, rank, &what); i < time; i++) {
        if (place_at(g, rank, i)->taken || (!draining && change > 0 && !has_room(g, kept, i, time)))
            continue;
        for (int k = i; k < time && !draining; k++)
            kept[k] += change;
        place_at(g, rank, time)->taken = false;
        put(g, rank, i, what);
        return;
    }
}

/* As early as can be: first all, then again what drains the pipeline, whose weight gradients leave their places to it. */
static void push_together(struct grid *g)
{
    for (int time = 0; time < g->length; time++)
        for (int rank = 0; rank < g->pp; rank++)
            if (place_at(g, rank, time)->taken)
                advance(g, rank, time, false);
    for (int time = 0; time < g->length; time++)
        for (int rank = 0; rank < g->pp; rank++) {
            struct place *at = place_at(g, rank, time);

            if (at->taken && at->drains && at->pass == MFU_PASS_W) {
                g->waiting[rank * CHUNKS * g->microbatches + g->n_waiting[rank]++] = *at;
                at->taken = false;
            } else if (at->taken && at->drains) {
                advance(g, rank, time, true);
            }
        }
    for (int rank = 0; rank < g->pp; rank++)
        for (int i = 0; i < g->n_waiting[rank]; i++) {
            const struct place *w = g->waiting + rank * CHUNKS * g->microbatches + i;
            int time = earliest(g, rank, w);

            while (place_at(g, rank, time)->taken)
                time++;
            put(g, rank, time, *w);
        }
}

static bool lay(struct grid *g, struct mfu_v_block (*block)(int pp, int rank))
{
    size_t n;

    g->length = block(g->pp, 0).backward[0] + PERIOD * (g->microbatches + 2); /* the first rank ends last */
    n = (size_t)g->pp * (size_t)g->length;
    g->places = calloc(n, sizeof *g->places);
    g->kept = calloc(n, sizeof *g->kept);
    n = (size_t)g->pp * CHUNKS * (size_t)g->microbatches;
    g->when = calloc(n * (MFU_PASS_W + 1), sizeof *g->when);
    g->waiting = calloc(n, sizeof *g->waiting);
    g->n_waiting = calloc((size_t)g->pp, sizeof *g->n_waiting);
    if (!g->places || !g->kept || !g->when || !g->waiting || !g->n_waiting)
        return false;
    for (int rank = 0; rank < g->pp; rank++) {
        struct mfu_v_block own = block(g->pp, rank);

        for (int i = 0; i < g->microbatches; i++)
            for (int chunk = 0; chunk < CHUNKS; chunk++) {
                put(g, rank, own.forward[chunk] + PERIOD * i, (struct place){i, MFU_PASS_F, chunk, true, false});
                put(g, rank, own.backward[chunk] + PERIOD * i, (struct place){i, MFU_PASS_B, chunk, true, false});
            }
        put_weight_gradients(g, rank);
    }
    push_together(g);
    return true;
}

/* Appends what a rank runs from a time on, up to another. */
static void append(const struct grid *g, int rank, int from, int to, struct mfu_order *o)
{
    for (int time = from; time < to; time++) {
        const struct place *at = place_at(g, rank, time);

        if (at->taken)
            mfu_order_add(o, 1, false, (const uint16_t[]){MFU_ACTION(at->pass, at->chunk)}, 1);
    }
}

void mfu_v_order(const struct mfu_pipeline_layout *l, int rank, struct mfu_v_block (*block)(int pp, int rank),
                 struct mfu_order *o)
{
    int enough = 2 * l->pp + 2, steady = 3 * l->pp / 2; /* from which microbatch on a rank repeats itself */
    struct grid g = {.pp = l->pp, .microbatches = l->microbatches < enough ? l->microbatches : enough};

    if (!lay(&g, block)) {
        o->failed = true;
    } else if (l->microbatches <= enough) {
        append(&g, rank, 0, g.length, o);
    } else {
        int from = *when_is(&g, rank, MFU_PASS_F, 0, steady), to = *when_is(&g, rank, MFU_PASS_F, 0, steady + 1), n = 0;
        uint16_t body[PERIOD];

        append(&g, rank, 0, from, o);
        for (const struct place *at = place_at(&g, rank, from); at < place_at(&g, rank, to); at++)
            if (at->taken)
                body[n++] = MFU_ACTION(at->pass, at->chunk);
        mfu_order_add(o, l->microbatches - enough, true, body, n);
        append(&g, rank, from, g.length, o);
    }
    free(g.places);
    free(g.kept);
    free(g.when);
    free(g.waiting);
    free(g.n_waiting);
}

int mfu_v_check(const struct mfu_pipeline_layout *l, struct mfu_error *err)
{
    if (l->pp <= MOST_RANKS)
        return 0;
    return mfu_fail(err, MFU_EINPUT, "schedule %s is planned for pp of at most %d, not %d; zb-v for any",
                    l->schedule->name, MOST_RANKS, l->pp);
}

/* Qi et al., figure 4: forwards go down at half speed, so that all ranks keep as long. */
static struct mfu_v_block block(int pp, int rank)
{
    int gap = pp % 2 == 0 ? 3 : 0; /* without it passes meet */

    return (struct mfu_v_block){{2 * rank, 3 * pp - rank - 2}, {6 * pp + gap - rank - 2, 3 * pp + gap + 2 * rank - 1}};
}

static void order(const struct mfu_pipeline_layout *l, int rank, struct mfu_order *o)
{
    mfu_v_order(l, rank, block, o);
}

const struct mfu_schedule mfu_schedule_v_half = {
    .name = "v-half",
    .summary = "two chunks per rank in a V that keep half of 1f1b's activations, for some bubble",
    .aliases = "vhalf zbv-half",
    .placement = MFU_PLACE_V,
    .least_vpp = 2,
    .most_vpp = 2,
    .splits_backward = true,
    .sends_beside = true,
    .check = mfu_v_check,
    .order = order,
};
