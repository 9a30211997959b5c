/*
 * claim_figure.c - a figure of which it is known what it says becomes a claim.
 *
 * It is an interval as wide as its last digit and its small words make it; of one GPU or of all, before or
 * after.  Where it may mean several things all are kept, and judged.
 */
#include "answer/audit/reading.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

// clang-format off
static const struct pair { int one, all; } scopes[] /* what one GPU has, and all of them */ = {
    {MFU_Q_TOKENS_PER_S_GPU, MFU_Q_TOKENS_PER_S}, {MFU_Q_SAMPLES_PER_S_GPU, MFU_Q_SAMPLES_PER_S}, {MFU_Q_ACHIEVED, MFU_Q_ACHIEVED_ALL},
    {MFU_Q_BATCH, MFU_Q_GLOBAL_BATCH}, {MFU_Q_CAPACITY, MFU_Q_CAPACITY_ALL}, {MFU_Q_STATES, MFU_Q_STATES_ALL}, {MFU_Q_POWER, MFU_Q_POWER_ALL}, {MFU_Q_TOKENS_PER_STEP_GPU, MFU_Q_TOKENS_PER_STEP}, {MFU_Q_WEIGHTS, MFU_Q_WEIGHTS_ALL}, {MFU_Q_MEMORY, MFU_Q_MEMORY_ALL}},
    of_parameters[] = { /* what a parameter has, and all of them */
    {MFU_Q_STATE_BYTES, MFU_Q_STATES}, {MFU_Q_WEIGHT_BYTES, MFU_Q_WEIGHTS}, {MFU_Q_GRADIENT_BYTES, MFU_Q_GRADIENTS}, {MFU_Q_OPTIMIZER_BYTES, MFU_Q_OPTIMIZER_STATES}};

/* What else a figure may be, the likelier first; `flop`: only where it has the unit of both, from this size on; -1: only by its size. */
static const struct { int kind, other; double flop; } readings[] = {
    {MFU_Q_TOKENS_PER_S, MFU_Q_TOKENS_PER_S_GPU, 0}, {MFU_Q_SAMPLES_PER_S, MFU_Q_SAMPLES_PER_S_GPU, 0}, {MFU_Q_ACHIEVED, MFU_Q_FLOP, 1e17},
    {MFU_Q_ACHIEVED, MFU_Q_PEAK, 0}, {MFU_Q_ACHIEVED, MFU_Q_ACHIEVED_ALL, 0}, {MFU_Q_FLOP, MFU_Q_FLOP_PER_TOKEN, 0},
    {MFU_Q_FLOP, MFU_Q_ACHIEVED, 1}, {MFU_Q_FLOP_PER_TOKEN, MFU_Q_FLOP, 0}, {MFU_Q_FLOP_PER_TOKEN, MFU_Q_ACHIEVED, 1},
    {MFU_Q_TOKENS, MFU_Q_TOKENS_PER_STEP, -1}, {MFU_Q_SAMPLES, MFU_Q_BATCH, -1}, {MFU_Q_SAMPLES, MFU_Q_GLOBAL_BATCH, -1}, {MFU_Q_STATES, MFU_Q_STATES_ALL, 0}, {MFU_Q_WEIGHTS, MFU_Q_WEIGHTS_ALL, 0}, {MFU_Q_BUBBLE, MFU_Q_BUBBLE_RATIO, 0}, {MFU_Q_BATCH, MFU_Q_GLOBAL_BATCH, 0}, {MFU_Q_BATCH, MFU_Q_TOKENS_PER_STEP, 0}, {MFU_Q_GLOBAL_BATCH, MFU_Q_TOKENS_PER_STEP, 0}, {MFU_Q_MEMORY, MFU_Q_MEMORY_ALL, 0}, {MFU_Q_PRICE, MFU_Q_PRICE_ALL, 0}, {MFU_Q_CAPACITY, MFU_Q_CAPACITY_ALL, 0}};
// clang-format on

#define A_PARAMETER 24  /* bytes: nothing that is kept of all is so small */
#define MOST_WATTS 2000 /* no GPU draws more: what does is several */

#define N(list) (sizeof(list) / sizeof(list)[0])

static int other_of(const struct pair *list, size_t n, int kind, bool all)
{
    for (size_t i = 0; i < n; i++)
        if (kind == list[i].one || kind == list[i].all)
            return all ? list[i].all : list[i].one;
    return -1;
}

int mfu_kind_of_scope(int kind, bool all)
{
    return other_of(scopes, N(scopes), kind, all);
}

int mfu_kind_of_parameters(int kind, bool all)
{
    return other_of(of_parameters, N(of_parameters), kind, all);
}

bool mfu_kind_is_doubtful(int kind)
{
    for (size_t i = 0; i < N(readings); i++)
        if (readings[i].kind == kind)
            return true;
    return false;
}

struct mfu_interval mfu_claim_soften(const struct mfu_claim_number *n, double value, struct mfu_interval in)
{
    if (n->roles & (MFU_W_ABOUT | MFU_W_NEARLY))
        in.low = fmin(in.low, 0.9 * value);
    if (n->roles & MFU_W_ABOUT)
        in.high = fmax(in.high, 1.1 * value);
    if (n->roles & MFU_W_LEAST)
        in.high = INFINITY;
    if (n->roles & MFU_W_MOST)
        in.low = 0;
    return in;
}

static struct mfu_interval interval_of(const struct mfu_claim_number *n, int kind, double *value)
{
    const struct mfu_quantity_row *row = &mfu_quantity_rows[kind];
    bool exact = n->whole && n->bare && (row->traits & MFU_Q_WHOLE);
    double factor = n->factor, half = exact ? 0 : n->half;
    struct mfu_interval in;

    if (row->dim == MFU_RATIO && n->bare && n->value > 1.5)
        factor = 0.01;
    *value = n->value * factor;
    in = (struct mfu_interval){fmax(0, n->value - half) * factor, (n->value + half) * factor};
    if (row->dim == MFU_RATIO && !n->times)
        in.high = *value <= 1 ? fmin(in.high, 1) : in.high;
    if (n->kilo && row->dim == MFU_TOKENS) /* 8k may be 8192 */
        in.high *= 1.024;
    if (kind == MFU_Q_CAPACITY || kind == MFU_Q_CAPACITY_ALL) /* sold in GB, built in GiB */
        in.high *= 1.0738;
    if (row->dim == MFU_BYTES && (factor == 1e3 || factor == 1e6)) /* as often 1024 */
        in.high *= factor == 1e3 ? 1.024 : 1.0486;
    in = mfu_claim_soften(n, *value, in);
    if (row->traits & MFU_Q_COMPLEMENT) {
        in = (struct mfu_interval){fmax(0, 1 - in.high), fmax(0, 1 - in.low)};
        *value = 1 - *value;
    }
    return in;
}

struct mfu_claim *mfu_claim_stated(struct mfu_audit *a, int kind, enum mfu_claim_state s)
{
    for (int i = 0; i < a->n_claims; i++)
        if (a->claims[i].kind == kind && a->claims[i].state == s && strcmp(a->claims[i].from, "stated") == 0
            && !isnan(a->claims[i].value))
            return &a->claims[i];
    return NULL;
}

/* What else it may be; first what it can be by its size.  Not `flat`: it was said whether of one or of all. */
static void add_readings(struct mfu_claim *c, const struct mfu_claim_number *n, bool phrase, bool flat)
{
    int list[MFU_READINGS + 1] = {c->kind}, count = 1, first = 0;

    for (size_t i = 0; i < N(readings) && count <= MFU_READINGS; i++)
        if (readings[i].kind == c->kind && (flat || readings[i].other == MFU_Q_PEAK)
            && (readings[i].flop <= 0 || (n->any_flop && !phrase && c->in.high >= readings[i].flop)))
            list[count++] = readings[i].other;
    for (size_t i = 0; i < N(readings) && list[1]; i++) /* what it is by its size only */
        if (readings[i].kind == c->kind && readings[i].flop < 0 && c->in.high >= mfu_quantity_rows[c->kind].least)
            count = 1;
    while (first < count
           && (c->in.low > mfu_quantity_rows[list[first]].most || c->in.high < mfu_quantity_rows[list[first]].least))
        first++;
    if (first == count)
        return;
    c->kind = list[first];
    for (int i = 0; first + 1 + i < count; i++)
        c->readings[c->n_readings++].kind = list[first + 1 + i];
}

/* Whether it is told as a result. */
static bool follows(const struct mfu_reading *r, const char *p)
{
    for (int i = 0; i < 6; i++) {
        const char *word = mfu_claim_back(&r->t, p);

        if (mfu_claim_role(word) & MFU_W_HENCE || (*word == '>' && word[-1] == '-'))
            return true;
        if (word >= p || isdigit((unsigned char)*word) || strchr(";:", *word))
            return false;
        p = word;
    }
    return false;
}

/* "3,640 PFLOP/s-days, or 3.14e23 FLOP": a figure right behind a comma and a word that says so. */
static bool is_same_again(const struct mfu_reading *r, int kind, const char *p)
{
    const char *word = mfu_claim_back(&r->t, p);

    if (kind == MFU_Q_TOKENS && mfu_claim_stated(r->audit, MFU_Q_EPOCHS, MFU_BEFORE)) /* of one epoch, and of all */
        return false;
    return !(mfu_quantity_rows[kind].traits & MFU_Q_COUNTED) && mfu_claim_role(word) & (MFU_W_HENCE | MFU_W_EQUALS)
        && strchr(",(", *mfu_claim_back(&r->t, word));
}

/* "8-bit Adam takes 2 bytes per parameter": of its own, or of all that is kept. */
static bool is_of_optimizer(const struct mfu_reading *r, const char *p)
{
    p = mfu_claim_subject(&r->t, p);
    return mfu_claim_stands(p, "adam", 4) || mfu_claim_stands(p, "adamw", 5) || mfu_claim_stands(p, "optimizer", 9);
}

/* "The MLP has 176M parameters": of a part of a layer. */
static bool is_of_block(const struct mfu_reading *r, const char *p)
{
    for (const char *word; (word = mfu_claim_back(&r->t, p)) < p && *word != ';' && *word != '.'; p = word)
        if (mfu_claim_stands(word, "mlp", 3) || mfu_claim_stands(word, "ffn", 3) || mfu_claim_stands(word, "router", 6))
            return true;
    return false;
}

void mfu_claim_state(struct mfu_reading *r, const struct mfu_claim_number *n, int kind, enum mfu_claim_state s,
                     struct mfu_phrase m, const char *end)
{
    double value;
    struct mfu_interval in;
    struct mfu_claim *c, *other, *last, first;
    bool all = false, micro, flat = true, inferred = false;
    int scope, behind;
    char said[80];

    m.begin = m.begin && m.begin < n->at ? m.begin : n->at;
    m.end = m.end > end ? m.end : end;
    if (kind == MFU_Q_PARAMS && is_of_block(r, n->at))
        kind = MFU_Q_MATRIX;
    if (kind == MFU_Q_SEQUENCE_BYTES && mfu_claim_is_of_cache(r, n->at))
        kind = MFU_Q_KV;
    if ((kind == MFU_Q_CHECKPOINT || kind == MFU_Q_WEIGHTS || kind == MFU_Q_STATES || kind == MFU_Q_OPTIMIZER_STATES
         || (kind == MFU_Q_MEMORY && r->guessed))
        && n->value * n->factor > A_PARAMETER && mfu_kind_of_checkpoint(r, n->at) >= 0)
        kind = mfu_kind_of_checkpoint(r, n->at);
    if (n->dim == MFU_BYTES && n->value * n->factor <= A_PARAMETER && mfu_kind_of_parameters(kind, false) >= 0)
        kind = mfu_kind_of_parameters(kind, false); /* "4 bytes weights + 4 bytes gradients" */
    micro = mfu_claim_stands(m.begin, "micro", 5) || mfu_claim_stands(m.begin, "mbs", 3);
    scope = mfu_phrase_scope(r, &m, &all);
    if (scope > 0 && !r->whole && mfu_kind_of_scope(kind, all) >= 0) {
        kind = mfu_kind_of_scope(kind, all);
        flat = false;
        m.end += scope > 1 ? scope : 0;
    }
    in = interval_of(n, kind, &value);
    if (kind == MFU_Q_POWER && in.low > MOST_WATTS)
        kind = MFU_Q_POWER_ALL;
    first = (struct mfu_claim){.kind = kind, .in = in};
    if (kind == MFU_Q_PRICE && memmem(m.begin, (size_t)(m.end - m.begin), "gpu", 3))
        flat = false;
    if (!micro)
        add_readings(&first, n, m.length > 0, flat && !r->whole);
    kind = first.kind;
    behind = mfu_claim_role(mfu_claim_blanks(m.end));
    other = mfu_claim_stated(r->audit, kind, MFU_BEFORE);
    if (other && scope > 0 && !all && other->in.low > in.high && other->flat
        && mfu_kind_of_scope(kind, false) == kind) { /* "80k tokens/s, 10k per GPU": the first is that of all */
        other->kind = mfu_kind_of_scope(kind, true);
        other->n_readings = 0;
        other = NULL;
    }
    if (s == MFU_BEFORE && other) {
        if ((n->roles | behind) & MFU_W_FROM)
            other->state = MFU_AFTER;
        else if (value != other->value && (in.low >= other->in.high || in.high <= other->in.low)
                 && !is_same_again(r, kind, n->at))
            s = MFU_AFTER, inferred = true;
    } else if (s == MFU_BEFORE && behind & MFU_W_AFTER && mfu_claim_stated(r->audit, kind, MFU_BEFORE))
        s = MFU_AFTER;
    last = r->audit->n_claims > 0 ? &r->audit->claims[r->audit->n_claims - 1] : NULL;
    c = mfu_claim_add(r->audit, kind, s, in.low, in.high, "stated", "%s",
                      mfu_claim_text_quote(&r->t, m.begin, m.end, said, sizeof said));
    if (!c)
        return;
    c->value = value;
    c->at = (int)(n->at - r->t.text);
    c->guessed = r->guessed;
    c->flat = flat;
    c->inferred = inferred;
    c->follows = follows(r, n->at);
    c->n_readings = first.n_readings;
    memcpy(c->readings, first.readings, sizeof c->readings);
    if (kind == MFU_Q_STATE_BYTES && c->n_readings < MFU_READINGS && is_of_optimizer(r, n->at))
        c->readings[c->n_readings++].kind = MFU_Q_OPTIMIZER_BYTES;
    if (kind == MFU_Q_STATES && c->n_readings < MFU_READINGS && last && last->kind == MFU_Q_STATE_BYTES
        && last->n_readings > 0)
        c->readings[c->n_readings++].kind = MFU_Q_OPTIMIZER_STATES;
    for (int i = 0; i < c->n_readings; i++)
        c->readings[i].state = s;
    if (!(mfu_quantity_rows[kind].traits & MFU_Q_COUNTED)) /* how many is no subject */
        r->topic = kind;
    mfu_claim_use(&r->t, m.begin, m.end);
}
