/*
 * pipeline.c - ranks that follow their orders, queues of messages between them.
 *
 * Each rank runs until it lacks a message; sweeps over the ranks repeat until
 * nothing moves.  In a steady phase the ranks advance by rounds of one
 * repetition, and after each the state (clocks, messages under way, positions)
 * is compared with an earlier one.  Max-plus systems become periodic: when all
 * of it equals the earlier state but for a shift, the rounds between repeat, and
 * so the phase can be ended by adding up.  The shift may differ between ranks
 * where messages go one way only (all forward, all backward): there the
 * follower, first the link, then the receiver, must be slower and not have waited.
 */
#include "simulate/pipeline.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/extreme.h"

#define NONE (-1)
#define SAME 1e-12    /* of a clock: what rounding leaves of equal times */
#define FIRST_QUEUE 8 /* messages; a power of two */

/* Chunks whose forward, input gradient and weight gradients an action computes, or NONE. */
struct code {
    int forward, backward, weight;
};

/* A pass of a chunk on its rank; links by number, NONE where it has none. */
struct op {
    double seconds, blocked_s; /* computing; then sending, where that blocks */
    int in[2], out[2];         /* messages of its forward and of its backward part */
};

/* Messages to one chunk of a rank, in the order in which they arrive. */
struct link {
    int sender, receiver;  /* ranks; NONE: no link */
    int stage;             /* before it in the model */
    double send_s, last_s; /* of a message; arrival of the latest: the next one leaves after it */
    unsigned head, count;  /* of its queue */
    /* Since the snapshot: a message was sent or received; the receiver waited for one; the link
     * waited for the sender. */
    bool used, waited_for, waited;
};

struct cursor {
    double clock_s, first_s;
    const struct mfu_block *block;
    int repeat, action; /* done: repetitions of the block, actions of its body */
};

/* A state to compare with: of a rank, of a link. */
struct rank_then {
    double clock_s;
    int behind, action; /* rounds behind the others; position in the body */
};

struct link_then {
    double last_s;
    unsigned count;
};

/* Events as they are kept, with what tells microbatches. */
struct recorder {
    struct mfu_pipeline_event *events;
    int *next;     /* event of each rank */
    int *forwards; /* done, of each chunk of each rank; so the next */
    int *backwards;
    int *later; /* microbatches whose W is to come, a row for each chunk of each rank */
    int *put, *taken;
    size_t n;
};

struct mfu_pipeline {
    /* Of a layout. */
    struct mfu_pipeline_layout layout; /* schedule NULL: none yet */
    struct mfu_arena arena;            /* all arrays but the order and the queues */
    struct mfu_order order;
    int n_chunks, n_codes, n_links, n_phases;
    int *first_block;  /* of each rank, and the end */
    int *most_repeats; /* of each phase, from 1 */
    int *counts;       /* of each code of each rank */
    int *chunk_in_flight;
    double *levels; /* three rows of n_chunks + 1, and three of n_chunks */
    struct code *codes;
    struct mfu_pipeline_rank *ranks;
    struct op *ops;     /* [rank * n_codes + code] */
    struct link *links; /* 2 * (rank * n_chunks + chunk): forward, then backward */
    struct cursor *cursors;
    struct rank_then *ranks_then;
    struct link_then *links_then;
    /* Of a run. */
    double *queues, *queues_then; /* `room` arrivals of each link */
    unsigned room;                /* a power of two; grows when a queue is full */
    int phase, round;
    int then_round; /* 0: no snapshot */
    bool blocking, recording, failed;
    long simulated;
    struct mfu_arena record_arena;
    struct recorder record;
};

struct mfu_pipeline *mfu_pipeline_new(struct mfu_error *err)
{
    struct mfu_pipeline *p = calloc(1, sizeof *p);

    if (!p)
        mfu_fail(err, MFU_ENOMEM, "out of memory");
    return p;
}

void mfu_pipeline_free(struct mfu_pipeline *p)
{
    if (!p)
        return;
    mfu_arena_free(&p->arena);
    mfu_arena_free(&p->record_arena);
    free(p->order.actions);
    free(p->order.blocks);
    free(p->queues);
    free(p->queues_then);
    free(p);
}

/* ---- layouts ------------------------------------------------------------- */

static struct code read_code(int code)
{
    int pass = code % MFU_PASS_COUNT, chunk = code / MFU_PASS_COUNT;
    int backward = pass == MFU_PASS_FBW ? !chunk : pass == MFU_PASS_B || pass == MFU_PASS_BW ? chunk : NONE;

    return (struct code){pass == MFU_PASS_F || pass == MFU_PASS_FBW ? chunk : NONE, backward,
                         pass == MFU_PASS_W       ? chunk
                             : pass == MFU_PASS_B ? NONE
                                                  : backward};
}

/* Where the output of a chunk goes; false at the end of the model. */
static bool next_place(const struct mfu_pipeline *p, int *rank, int *chunk)
{
    const struct mfu_pipeline_layout *l = &p->layout;
    bool down = l->schedule->placement == MFU_PLACE_LOOP || *chunk == 0;

    if (down ? *rank + 1 < l->pp : *rank > 0) {
        *rank += down ? 1 : -1;
        return true;
    }
    if (l->schedule->placement == MFU_PLACE_DUAL || *chunk + 1 == p->n_chunks)
        return false;
    ++*chunk;
    if (l->schedule->placement == MFU_PLACE_LOOP)
        *rank = 0;
    return true;
}

static int link_of(const struct mfu_pipeline *p, int rank, int chunk, bool backward)
{
    return 2 * (rank * p->n_chunks + chunk) + backward;
}

static void connect(struct mfu_pipeline *p)
{
    for (int i = 0; i < p->n_links; i++)
        p->links[i].sender = p->links[i].receiver = NONE;
    for (int rank = 0; rank < p->layout.pp; rank++)
        for (int chunk = 0; chunk < p->n_chunks; chunk++) {
            int to = rank, to_chunk = chunk, stage = mfu_pipeline_stage(&p->layout, rank, chunk);

            if (!next_place(p, &to, &to_chunk) || to == rank)
                continue;
            p->links[link_of(p, to, to_chunk, false)] = (struct link){rank, to, .stage = stage};
            p->links[link_of(p, rank, chunk, true)] = (struct link){to, rank, .stage = stage};
        }
}

static int existing(const struct mfu_pipeline *p, int link)
{
    return p->links[link].sender == NONE ? NONE : link;
}

/* Links of the parts of an action. */
static void connect_op(struct mfu_pipeline *p, int rank, int code)
{
    struct op *op = &p->ops[rank * p->n_codes + code];
    int forward = p->codes[code].forward, backward = p->codes[code].backward, to = rank, to_chunk = forward;

    op->in[0] = op->in[1] = op->out[0] = op->out[1] = NONE;
    if (forward != NONE) {
        op->in[0] = existing(p, link_of(p, rank, forward, false));
        if (next_place(p, &to, &to_chunk) && to != rank)
            op->out[0] = link_of(p, to, to_chunk, false);
    }
    if (backward != NONE && backward < p->n_chunks) {
        op->in[1] = existing(p, link_of(p, rank, backward, true));
        /* The gradient goes where the forward message came from. */
        int from = p->links[link_of(p, rank, backward, false)].sender;

        for (int chunk = 0; from != NONE && chunk < p->n_chunks; chunk++) {
            to = from, to_chunk = chunk;
            if (next_place(p, &to, &to_chunk) && to == rank && to_chunk == backward)
                op->out[1] = link_of(p, from, chunk, true);
        }
    }
}

/* ---- what is in flight --------------------------------------------------- */

/* Amounts that each chunk of a rank keeps: put down by F, taken up by B but for
 * what waits for W.  Of a forward merged with a backward some is there before the backward takes up anything. */
struct kept {
    double *whole, *ahead, *for_w; /* [n_chunks] */
    double *level, *most, *before; /* [n_chunks], and all chunks together */
    int n;
};

static void keep(struct kept *k, int chunk, double amount)
{
    if (amount == 0)
        return;
    k->level[chunk] += amount;
    k->level[k->n] += amount;
    k->most[chunk] = mfu_most(k->most[chunk], k->level[chunk]);
    k->most[k->n] = mfu_most(k->most[k->n], k->level[k->n]);
}

static void walk(const struct mfu_pipeline *p, const struct mfu_block *block, struct kept *k)
{
    for (int i = 0; i < block->length; i++) {
        const struct code *code = &p->codes[p->order.actions[block->first + i]];
        bool merged = code->forward != NONE && code->backward != NONE;

        if (code->forward != NONE)
            keep(k, code->forward, (merged ? k->ahead : k->whole)[code->forward]);
        if (code->backward != NONE)
            keep(k, code->backward, k->for_w[code->backward] - k->whole[code->backward]);
        if (code->weight != NONE)
            keep(k, code->weight, -k->for_w[code->weight]);
        if (merged)
            keep(k, code->forward, k->whole[code->forward] - k->ahead[code->forward]);
    }
}

/* The most of each chunk and of all, k->most.  Every repetition changes the
 * level by as much, so the highest are in the first or the last. */
static void find_most(const struct mfu_pipeline *p, int rank, struct kept *k)
{
    for (int i = 0; i <= k->n; i++)
        k->level[i] = k->most[i] = 0;
    for (int b = p->first_block[rank]; b < p->first_block[rank + 1]; b++) {
        const struct mfu_block *block = &p->order.blocks[b];

        memcpy(k->before, k->level, (size_t)(k->n + 1) * sizeof *k->before);
        if (block->repeat > 0)
            walk(p, block, k);
        if (block->repeat > 1) {
            for (int i = 0; i <= k->n; i++)
                k->level[i] += (block->repeat - 2) * (k->level[i] - k->before[i]);
            walk(p, block, k);
        }
    }
}

static struct kept kept_of(struct mfu_pipeline *p)
{
    int row = p->n_chunks + 1;

    return (struct kept){.level = p->levels,
                         .most = p->levels + row,
                         .before = p->levels + 2 * row,
                         .whole = p->levels + 3 * row,
                         .ahead = p->levels + 3 * row + p->n_chunks,
                         .for_w = p->levels + 3 * row + 2 * p->n_chunks,
                         .n = p->n_chunks};
}

/* In microbatches: until B, and until W. */
static void count_in_flight(struct mfu_pipeline *p, int rank)
{
    struct kept k = kept_of(p);

    for (int held = 0; held < (p->layout.schedule->splits_backward ? 2 : 1); held++) {
        for (int i = 0; i < k.n; i++) {
            k.whole[i] = k.ahead[i] = 1;
            k.for_w[i] = held;
        }
        find_most(p, rank, &k);
        p->ranks[rank].held = (int)k.most[k.n];
        if (held)
            continue;
        p->ranks[rank].in_flight = (int)k.most[k.n];
        for (int i = 0; i < k.n; i++)
            p->chunk_in_flight[rank * k.n + i] = (int)k.most[i];
    }
}

static void find_bytes(struct mfu_pipeline *p, int rank, const struct mfu_pipeline_kept *kept)
{
    struct kept k = kept_of(p);

    for (int i = 0; i < k.n; i++) {
        int stage = mfu_pipeline_stage(&p->layout, rank, i);

        k.whole[i] = k.for_w[i] = kept->bytes[stage];
        k.ahead[i] = kept->ahead_bytes[stage];
    }
    find_most(p, rank, &k);
    p->ranks[rank].peak_bytes = k.most[k.n];
}

/* ---- a layout is set up -------------------------------------------------- */

static bool same_layout(const struct mfu_pipeline_layout *a, const struct mfu_pipeline_layout *b)
{
    return a->schedule == b->schedule && a->pp == b->pp && a->vpp == b->vpp && a->microbatches == b->microbatches
        && a->group == b->group && a->ahead == b->ahead;
}

bool mfu_pipeline_has(const struct mfu_pipeline *p, const struct mfu_pipeline_layout *layout)
{
    return same_layout(layout, &p->layout);
}

/* Writes the orders of all ranks. */
static void write_order(struct mfu_pipeline *p)
{
    struct mfu_order *o = &p->order;

    o->n_actions = o->n_blocks = 0;
    o->failed = false;
    for (int rank = 0; rank < p->layout.pp; rank++) {
        p->first_block[rank] = o->rank_block = o->n_blocks;
        o->phases = 0;
        p->layout.schedule->order(&p->layout, rank, o);
    }
    p->first_block[p->layout.pp] = o->n_blocks;
    p->n_phases = o->phases;
}

static void count_passes(struct mfu_pipeline *p, int rank)
{
    for (int b = p->first_block[rank]; b < p->first_block[rank + 1]; b++) {
        const struct mfu_block *block = &p->order.blocks[b];

        if (block->repeat > p->most_repeats[block->phase])
            p->most_repeats[block->phase] = block->repeat;
        for (int i = 0; i < block->length; i++)
            p->counts[rank * p->n_codes + p->order.actions[block->first + i]] += block->repeat;
    }
}

#define NEW(array, n) ((array) = mfu_arena_alloc(&p->arena, (size_t)(n), sizeof *(array)))

static int set_up(struct mfu_pipeline *p, const struct mfu_pipeline_layout *layout, struct mfu_error *err)
{
    size_t pp = (size_t)layout->pp;

    if (same_layout(layout, &p->layout))
        return 0;
    p->layout.schedule = NULL;
    p->room = 0;
    free(p->queues);
    p->queues = NULL;
    if (mfu_pipeline_check(layout, err) != 0)
        return -1;
    mfu_arena_reset(&p->arena);
    p->layout = *layout;
    p->n_chunks = mfu_pipeline_chunks(layout);
    p->n_codes = p->n_chunks * MFU_PASS_COUNT;
    p->n_links = 2 * layout->pp * p->n_chunks;
    if (!NEW(p->first_block, pp + 1) || (write_order(p), p->order.failed) || !NEW(p->most_repeats, p->n_phases + 1)
        || !NEW(p->codes, p->n_codes) || !NEW(p->counts, pp * (size_t)p->n_codes)
        || !NEW(p->chunk_in_flight, pp * (size_t)p->n_chunks) || !NEW(p->levels, 6 * p->n_chunks + 3)
        || !NEW(p->ranks, pp) || !NEW(p->ops, pp * (size_t)p->n_codes) || !NEW(p->links, p->n_links)
        || !NEW(p->cursors, pp) || !NEW(p->ranks_then, pp) || !NEW(p->links_then, p->n_links)) {
        p->layout.schedule = NULL;
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    }
    connect(p);
    for (int code = 0; code < p->n_codes; code++)
        p->codes[code] = read_code(code);
    for (int rank = 0; rank < layout->pp; rank++) {
        count_passes(p, rank);
        count_in_flight(p, rank);
        for (int code = 0; code < p->n_codes; code++)
            connect_op(p, rank, code);
    }
    return 0;
}

/* ---- messages ------------------------------------------------------------ */

/* The k-th oldest arrival of a link's queue. */
static double *arrival(const struct mfu_pipeline *p, int number, unsigned k)
{
    return &p->queues[(size_t)number * p->room + ((p->links[number].head + k) & (p->room - 1))];
}

/* Gives every queue room for so many messages; the snapshot is lost. */
static bool grow_queues(struct mfu_pipeline *p, unsigned room)
{
    size_t bytes = (size_t)p->n_links * room * sizeof *p->queues;
    double *queues = malloc(bytes), *then = realloc(p->queues_then, bytes);

    p->then_round = 0;
    if (then)
        p->queues_then = then;
    if (!queues || !then) {
        free(queues);
        p->failed = true;
        return false;
    }
    for (int i = 0; i < p->n_links && p->queues; i++) {
        struct link *link = &p->links[i];

        for (unsigned k = 0; k < link->count; k++)
            queues[(size_t)i * room + k] = *arrival(p, i, k);
        link->head = 0;
    }
    free(p->queues);
    p->queues = queues;
    p->room = room;
    return true;
}

static double receive(struct mfu_pipeline *p, int number, double clock_s)
{
    struct link *link = &p->links[number];
    double arrival_s = *arrival(p, number, 0);

    link->head = (link->head + 1) & (p->room - 1);
    link->count--;
    link->used = true;
    if (arrival_s <= clock_s)
        return clock_s;
    link->waited_for = true;
    return arrival_s;
}

/* Returns when it arrives. */
static double send(struct mfu_pipeline *p, int number, double clock_s)
{
    struct link *link = &p->links[number];

    if (link->count == p->room && !grow_queues(p, 2 * p->room))
        return clock_s;
    if (link->last_s <= clock_s) {
        link->last_s = clock_s;
        link->waited = true;
    }
    link->last_s += link->send_s;
    *arrival(p, number, link->count++) = link->last_s;
    link->used = true;
    return link->last_s;
}

/* ---- ranks run ----------------------------------------------------------- */

static void record(struct mfu_pipeline *p, int rank, int code, double start_s, double end_s)
{
    struct recorder *r = &p->record;
    int forward = p->codes[code].forward, backward = p->codes[code].backward, at = rank * p->n_chunks;
    struct mfu_pipeline_event e = {.rank = rank,
                                   .chunk = code / MFU_PASS_COUNT,
                                   .backward = NONE,
                                   .pass = (enum mfu_pass)(code % MFU_PASS_COUNT),
                                   .start_s = start_s,
                                   .end_s = end_s};
    size_t row = (size_t)mfu_pipeline_passes(&p->layout);

    e.stage = mfu_pipeline_stage(&p->layout, rank, e.chunk);
    if (backward != NONE)
        e.microbatch = e.backward = r->backwards[at + backward]++;
    if (e.pass == MFU_PASS_B)
        r->later[(size_t)(at + e.chunk) * row + (size_t)r->put[at + e.chunk]++] = e.microbatch;
    if (e.pass == MFU_PASS_W)
        e.microbatch = r->later[(size_t)(at + e.chunk) * row + (size_t)r->taken[at + e.chunk]++];
    if (forward != NONE)
        e.microbatch = r->forwards[at + forward]++;
    if (e.pass != MFU_PASS_FBW)
        e.backward = NONE;
    e.turn_s = forward == NONE ? start_s
        : backward == NONE     ? end_s
                               : start_s + p->ops[rank * p->n_codes + MFU_F(forward)].seconds;
    r->events[r->next[rank]++] = e;
}

/* Whether the rank may begin another repetition in this round, or is within one. */
static bool in_round(const struct mfu_pipeline *p, int rank, struct cursor *c)
{
    const struct mfu_block *end = p->order.blocks + p->first_block[rank + 1];

    for (; c->action == 0 && c->block < end && c->repeat == c->block->repeat; c->block++)
        c->repeat = 0;
    return c->block < end
        && (c->action > 0 || c->block->phase < p->phase || (c->block->phase == p->phase && c->repeat < p->round));
}

/* Runs the next action of a rank; false if a message that it needs has not been sent. */
static inline bool run_action(struct mfu_pipeline *p, int rank, int code, struct cursor *c)
{
    const struct op *op = &p->ops[rank * p->n_codes + code];
    double start_s = c->clock_s, end_s;

    if ((op->in[0] != NONE && p->links[op->in[0]].count == 0) || (op->in[1] != NONE && p->links[op->in[1]].count == 0))
        return false;
    if (op->in[0] != NONE)
        start_s = receive(p, op->in[0], start_s);
    if (op->in[1] != NONE)
        start_s = receive(p, op->in[1], start_s);
    end_s = start_s + op->seconds;
    if (op->out[0] != NONE)
        send(p, op->out[0], end_s);
    if (op->out[1] != NONE)
        send(p, op->out[1], end_s);
    if (p->recording)
        record(p, rank, code, start_s, end_s);
    if (c->first_s < 0)
        c->first_s = start_s;
    c->clock_s = end_s + op->blocked_s;
    return true;
}

/* Runs a rank as far as messages and the round permit; `waits` for a message. */
static bool run_rank(struct mfu_pipeline *p, int rank, bool *waits)
{
    struct cursor *c = &p->cursors[rank];
    long before = p->simulated;

    while (in_round(p, rank, c)) {
        const uint16_t *body = p->order.actions + c->block->first;

        for (; c->action < c->block->length; c->action++, p->simulated++)
            if (!run_action(p, rank, body[c->action], c)) {
                *waits = true;
                return p->simulated > before;
            }
        c->action = 0;
        c->repeat++;
    }
    return p->simulated > before;
}

static void run_round(struct mfu_pipeline *p)
{
    bool waits = true;

    for (bool moved = true, up = false; moved && waits && !p->failed; up = !up) {
        moved = waits = false;
        for (int i = 0; i < p->layout.pp; i++)
            moved |= run_rank(p, up ? p->layout.pp - 1 - i : i, &waits);
    }
}

/* ---- what repeats -------------------------------------------------------- */

/* A link's arrivals matter from its sender's clock on. */
static double last_of(const struct mfu_pipeline *p, const struct link *link)
{
    return mfu_most(link->last_s, p->cursors[link->sender].clock_s);
}

static void remember(struct mfu_pipeline *p)
{
    for (int rank = 0; rank < p->layout.pp; rank++)
        p->ranks_then[rank] =
            (struct rank_then){p->cursors[rank].clock_s, p->round - p->cursors[rank].repeat, p->cursors[rank].action};
    for (int i = 0; i < p->n_links; i++) {
        struct link *link = &p->links[i];

        if (link->sender == NONE)
            continue;
        p->links_then[i] = (struct link_then){last_of(p, link), link->count};
        for (unsigned k = 0; k < link->count; k++)
            p->queues_then[(size_t)i * p->room + k] = *arrival(p, i, k);
        link->used = link->waited_for = link->waited = false;
    }
    p->then_round = p->round;
}

static double shift_of(const struct mfu_pipeline *p, int rank)
{
    return p->cursors[rank].clock_s - p->ranks_then[rank].clock_s;
}

static double link_shift(const struct mfu_pipeline *p, int number)
{
    return last_of(p, &p->links[number]) - p->links_then[number].last_s;
}

/* Whether one who follows another keeps its distance, or falls behind for good. */
static bool follows(double shift_s, double before_s, bool waited, double same_s)
{
    return fabs(shift_s - before_s) <= same_s || (shift_s > before_s && !waited);
}

/* Whether a link is as it was but for a shift, and will remain so. */
static bool link_repeats(const struct mfu_pipeline *p, int number, double same_s)
{
    const struct link *link = &p->links[number];
    double shift_s;

    if (!link->used)
        return true;
    shift_s = link_shift(p, number);
    if (link->count != p->links_then[number].count || !follows(shift_s, shift_of(p, link->sender), link->waited, same_s)
        || !follows(shift_of(p, link->receiver), shift_s, link->waited_for, same_s))
        return false;
    for (unsigned k = 0; k < link->count; k++)
        if (fabs(*arrival(p, number, k) - p->queues_then[(size_t)number * p->room + k] - shift_s) > same_s)
            return false;
    return true;
}

static bool state_repeats(const struct mfu_pipeline *p)
{
    double same_s = 0;

    for (int rank = 0; rank < p->layout.pp; rank++) {
        const struct cursor *c = &p->cursors[rank];
        const struct rank_then *then = &p->ranks_then[rank];

        if (p->round - c->repeat != then->behind || c->action != then->action)
            return false;
        same_s = mfu_most(same_s, SAME * c->clock_s);
    }
    for (int i = 0; i < p->n_links; i++)
        if (p->links[i].sender != NONE && !link_repeats(p, i, same_s))
            return false;
    return true;
}

/* Rounds that all ranks have left in this phase; 0 when one is elsewhere. */
static int rounds_left(const struct mfu_pipeline *p)
{
    int left = p->most_repeats[p->phase];

    for (int rank = 0; rank < p->layout.pp; rank++) {
        const struct cursor *c = &p->cursors[rank];
        int own;

        if (c->block == p->order.blocks + p->first_block[rank + 1] || c->block->phase != p->phase)
            return 0;
        own = c->block->repeat - c->repeat - (c->action > 0);
        left = own < left ? own : left;
    }
    return left;
}

/* Adds `times` times what happened since the snapshot. */
static void count_rounds(struct mfu_pipeline *p, int times)
{
    int rounds = times * (p->round - p->then_round);

    for (int i = 0; i < p->n_links; i++) {
        struct link *link = &p->links[i];
        double shift_s;

        if (link->sender == NONE || !link->used)
            continue;
        shift_s = times * link_shift(p, i);
        link->last_s += shift_s;
        for (unsigned k = 0; k < link->count; k++)
            *arrival(p, i, k) += shift_s;
    }
    for (int rank = 0; rank < p->layout.pp; rank++) {
        p->cursors[rank].clock_s += times * shift_of(p, rank);
        p->cursors[rank].repeat += rounds;
    }
    p->round += rounds;
    p->then_round = 0;
}

/* A phase: the snapshot moves on when twice as many rounds have gone by, so that
 * any period is found (Brent). */
static void run_phase(struct mfu_pipeline *p, bool count)
{
    int until_next = 1;

    p->then_round = 0;
    for (p->round = 1; p->round <= p->most_repeats[p->phase] && !p->failed; p->round++) {
        int left;

        run_round(p);
        if (!count || (left = rounds_left(p)) == 0)
            continue;
        if (p->then_round > 0 && left >= p->round - p->then_round && state_repeats(p)) {
            count_rounds(p, left / (p->round - p->then_round));
            count = false;
            continue;
        }
        if (p->then_round == 0 || p->round - p->then_round >= until_next) {
            until_next *= p->then_round > 0 ? 2 : 1;
            remember(p);
        }
    }
}

/* ---- a run --------------------------------------------------------------- */

static bool is_duration(double seconds)
{
    return seconds >= 0 && seconds < INFINITY;
}

static int price(struct mfu_pipeline *p, const struct mfu_pipeline_costs *c, struct mfu_error *err)
{
    int stages = mfu_pipeline_stages(&p->layout);

    for (int s = 0; s < stages; s++)
        if (!is_duration(c->f_s[s]) || !is_duration(c->b_s[s]) || !is_duration(c->w_s[s])
            || (c->send_s && s + 1 < stages && !is_duration(c->send_s[s])))
            return mfu_fail(err, MFU_EINPUT, "stage %d of the pipeline: a duration is negative or unknown", s);
    for (int i = 0; i < p->n_links; i++) {
        struct link *link = &p->links[i];

        link->send_s = c->send_s && link->sender != NONE ? c->send_s[link->stage] : 0;
        link->last_s = 0;
        link->head = link->count = 0;
    }
    for (int rank = 0; rank < p->layout.pp; rank++)
        for (int chunk = 0; chunk < p->n_chunks; chunk++) {
            int s = mfu_pipeline_stage(&p->layout, rank, chunk);
            struct op *op = &p->ops[(rank * p->n_chunks + chunk) * MFU_PASS_COUNT];

            op[MFU_PASS_F].seconds = c->f_s[s];
            op[MFU_PASS_B].seconds = c->b_s[s];
            op[MFU_PASS_W].seconds = c->w_s[s];
            op[MFU_PASS_BW].seconds = c->b_s[s] + c->w_s[s];
            if (p->n_chunks == 2) {
                int other = mfu_pipeline_stage(&p->layout, rank, !chunk);

                op[MFU_PASS_FBW].seconds = c->f_s[s] + c->b_s[other] + c->w_s[other];
            }
            for (int pass = 0; pass < MFU_PASS_COUNT; pass++) {
                op[pass].blocked_s = 0;
                for (int i = 0; i < 2 && !c->sends_overlap; i++)
                    if (op[pass].out[i] != NONE)
                        op[pass].blocked_s = mfu_most(op[pass].blocked_s, p->links[op[pass].out[i]].send_s);
                for (int i = 0; i < 2; i++) {
                    op[pass].seconds += op[pass].in[i] != NONE ? c->meets_s[i] : 0;
                    op[pass].blocked_s += op[pass].out[i] != NONE ? c->meets_s[i] : 0;
                }
            }
        }
    return 0;
}

#define NEW_RECORD(array, n) ((array) = mfu_arena_alloc(&p->record_arena, (size_t)(n), sizeof *(array)))

static int begin_record(struct mfu_pipeline *p, struct mfu_error *err)
{
    struct recorder *r = &p->record;
    size_t n = (size_t)p->layout.pp * (size_t)p->n_chunks;
    int next = 0;

    mfu_arena_reset(&p->record_arena);
    r->n = 0;
    for (size_t i = 0; i < n * MFU_PASS_COUNT; i++)
        r->n += (size_t)p->counts[i];
    if (r->n > INT_MAX || !NEW_RECORD(r->events, r->n) || !NEW_RECORD(r->next, p->layout.pp)
        || !NEW_RECORD(r->forwards, n) || !NEW_RECORD(r->backwards, n) || !NEW_RECORD(r->put, n)
        || !NEW_RECORD(r->taken, n) || !NEW_RECORD(r->later, n * (size_t)mfu_pipeline_passes(&p->layout)))
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    for (int rank = 0; rank < p->layout.pp; rank++) {
        r->next[rank] = next;
        for (int code = 0; code < p->n_codes; code++)
            next += p->counts[rank * p->n_codes + code];
    }
    return 0;
}

static void sum_up(struct mfu_pipeline *p, struct mfu_pipeline_step *step)
{
    double busy_s = 0;

    *step = (struct mfu_pipeline_step){.simulated = p->simulated,
                                       .n_ranks = p->layout.pp,
                                       .n_chunks = p->n_chunks,
                                       .ranks = p->ranks,
                                       .chunk_in_flight = p->chunk_in_flight};
    for (int rank = 0; rank < p->layout.pp; rank++) {
        struct mfu_pipeline_rank *r = &p->ranks[rank];

        r->first_s = p->cursors[rank].first_s;
        r->end_s = p->cursors[rank].clock_s;
        r->busy_s = r->send_s = 0;
        for (int code = rank * p->n_codes; code < (rank + 1) * p->n_codes; code++)
            if (p->counts[code] > 0) {
                r->busy_s += p->counts[code] * p->ops[code].seconds;
                r->send_s += p->counts[code] * p->ops[code].blocked_s;
            }
        busy_s += r->busy_s;
        step->makespan_s = mfu_most(step->makespan_s, r->end_s);
        step->span_s = mfu_most(step->span_s, r->end_s - r->first_s);
        if (r->busy_s > p->ranks[step->busiest].busy_s)
            step->busiest = rank;
    }
    for (int rank = 0; rank < p->layout.pp; rank++)
        p->ranks[rank].idle_s = mfu_most(0, step->makespan_s - p->ranks[rank].busy_s - p->ranks[rank].send_s);
    if (step->makespan_s > 0)
        step->bubble = mfu_most(0, 1 - busy_s / (step->makespan_s * p->layout.pp));
    if (p->recording) {
        step->events = p->record.events;
        step->n_events = p->record.n;
    }
}

const struct mfu_pipeline_rank *mfu_pipeline_weigh(struct mfu_pipeline *p, const struct mfu_pipeline_layout *layout,
                                                   const struct mfu_pipeline_kept *kept, struct mfu_error *err)
{
    if (set_up(p, layout, err) != 0)
        return NULL;
    for (int rank = 0; rank < layout->pp; rank++)
        find_bytes(p, rank, kept);
    return p->ranks;
}

int mfu_pipeline_run(struct mfu_pipeline *p, const struct mfu_pipeline_layout *layout,
                     const struct mfu_pipeline_costs *costs, enum mfu_pipeline_mode mode,
                     struct mfu_pipeline_step *step, struct mfu_error *err)
{
    if (set_up(p, layout, err) != 0)
        return -1;
    p->recording = mode == MFU_PIPELINE_RECORD;
    if (price(p, costs, err) != 0 || (p->recording && begin_record(p, err) != 0))
        return -1;
    p->failed = false;
    p->simulated = 0;
    if (p->room == 0 && !grow_queues(p, FIRST_QUEUE))
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    for (int rank = 0; rank < layout->pp; rank++)
        p->cursors[rank] = (struct cursor){.block = p->order.blocks + p->first_block[rank], .first_s = NONE};
    for (p->phase = 1; p->phase <= p->n_phases && !p->failed; p->phase++)
        run_phase(p, mode == MFU_PIPELINE_COUNT);
    run_round(p); /* what comes after the last phase */
    if (p->failed)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    for (int rank = 0; rank < layout->pp; rank++)
        if (p->cursors[rank].block != p->order.blocks + p->first_block[rank + 1])
            return mfu_fail(err, MFU_EINPUT, "schedule %s: rank %d of %d waits for a message that is never sent",
                            layout->schedule->name, rank, layout->pp);
    sum_up(p, step);
    return 0;
}
