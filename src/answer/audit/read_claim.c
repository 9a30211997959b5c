/*
 * read_claim.c - a claim from its first word to its last: the order in which it is read, and what the figures
 * mean together.  What is left over is listed.
 */
#include "answer/audit/reading.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define A_STEP 1e8 /* tokens: no run has so few, and hardly a step so many */
#define N(list) (sizeof(list) / sizeof(list)[0])

struct mfu_claim *mfu_claim_add(struct mfu_audit *a, int kind, enum mfu_claim_state s, double low, double high,
                                const char *from, const char *format, ...)
{
    struct mfu_claim *c;
    va_list arguments;

    if (a->n_claims == MFU_CLAIMS || !(low >= 0) || !(high >= low))
        return NULL;
    c = &a->claims[a->n_claims++];
    *c = (struct mfu_claim){
        .kind = kind, .state = s, .in = {low, high}, .value = low == high ? low : (double)NAN, .from = from};
    va_start(arguments, format);
    vsnprintf(c->text, sizeof c->text, format, arguments);
    va_end(arguments);
    return c;
}

static bool is_hyphen(char c)
{
    return c == '-' || c == '_';
}

/* Whether a number is that of an amount, and no name or setting of something else. */
static bool is_amount(const struct mfu_claim_number *n)
{
    const char *behind = mfu_claim_blanks(n->end);

    return n->money || n->energy || n->percent || n->times || n->of_tokens || n->of_sequences || n->dim == MFU_PARAMS
        || (!n->bare && n->dim != MFU_COUNT) || (mfu_claim_counted(behind) && n->bare);
}

/* "512 prompts": so many of something that has no name here. */
static bool counts(const struct mfu_reading *r, const struct mfu_claim_number *n)
{
    const char *noun = mfu_claim_blanks(n->end), *end = mfu_claim_word_end(noun);

    return n->bare && end > noun + 2 && mfu_alpha(*noun) && !r->t.used[noun - r->t.text]
        && r->t.claim[r->t.to[end - 1 - r->t.text] - 1] == 's' && end[-1] != 's';
}

/* Words that nobody understood, as they were written; small ones, names and punctuation left out. */
static void list_rest(struct mfu_reading *r)
{
    char *to = r->audit->unread, said[80];
    size_t n = 0;

    for (const char *p = r->t.text; *p;) {
        size_t length = strcspn(p, " ,;:()");
        struct mfu_claim_number figure;
        bool small = length == 0 || r->t.used[p - r->t.text] || mfu_claim_role(p) != 0 || strncmp(p, "->", 2) == 0
            || mfu_claim_stands(p, "gpu") || mfu_claim_stands(p, "model");

        if (!small && !r->audit->unread_figure[0] && strchr("0123456789$", r->t.claim[r->t.from[p - r->t.text]])
            && mfu_claim_number(r->t.text, p, &figure) && (is_amount(&figure) || counts(r, &figure)))
            mfu_claim_doubt(r, p, figure.end);
        while (!small && p[length] == ' ' && is_hyphen(r->t.claim[r->t.to[p + length - 1 - r->t.text]]))
            length += 1 + strcspn(p + length + 1, " ,;:()");
        mfu_claim_text_quote(&r->t, p, p + length, said, sizeof said);
        if (!small && n + strlen(said) + 3 < sizeof r->audit->unread)
            n += (size_t)snprintf(to + n, sizeof r->audit->unread - n, "%s%s", n > 0 ? "; " : "", said);
        p += length + (p[length] != '\0');
    }
}

/* ---- numbers ----------------------------------------------------------------------------- */

/* "312 TFLOP/s, we measured 187": where nothing is counted, the unit is that of the last figure, if that is of its
 * size. */
static bool mfu_claim_leave_out_unit(const struct mfu_reading *r, struct mfu_claim_number *n)
{
    const char *behind = mfu_claim_blanks(n->end);

    behind = mfu_claim_stands(behind, "of") ? mfu_claim_blanks(behind + 2) : behind; /* "256 of them" */
    if (n->bare && r->time.dim == MFU_SECONDS
        && (mfu_claim_stands(behind, "were lost") || mfu_claim_stands(behind, "was lost")))
        return mfu_claim_same_unit(n, &(struct mfu_claim_number){.factor = r->time.factor, .dim = MFU_SECONDS});
    if (!n->bare || r->last.dim != MFU_FLOP_PER_S || n->value > 5 * r->last.value || r->last.value > 20 * n->value
        || mfu_claim_counted(behind) || *behind == '/')
        return false;
    return mfu_claim_same_unit(
        n,
        &(struct mfu_claim_number){
            .factor = r->last.factor, .dim = r->last.dim, .any_flop = r->last.any_flop, .whole = n->whole});
}

enum link { ALONE, PAIR, RANGE, PART };

/* The second number of "20 -> 38 %", "from 20 to 38 %" (a pair), "20 to 38 %", "20-38 %" (a range), "22.1 of 24 GB". */
static enum link read_second(const struct mfu_reading *r, struct mfu_claim_number *a, struct mfu_claim_number *b)
{
    const char *p = mfu_claim_blanks(a->end);
    enum link link = RANGE;
    bool about;

    if (strncmp(p, "->", 2) == 0) {
        link = PAIR;
        p += 2;
    } else if (strncmp(p, "to ", 3) == 0) {
        link = a->roles & (MFU_W_FROM | MFU_W_UP | MFU_W_DOWN) || r->factor.times ? PAIR : RANGE;
        p += 3;
    } else if (strncmp(p, "and ", 4) == 0 && mfu_claim_stands(mfu_claim_back(&r->t, a->at), "between")) {
        link = PAIR;
        p += 4;
    } else if (*p == '-' && p == a->end)
        p++;
    else if (mfu_claim_stands(p, "of") || mfu_claim_stands(p, "out of")
             || (*p == '/' && mfu_digit(*mfu_claim_blanks(p + 1)) && !r->t.operand[a->at - r->t.text])) {
        link = PART;
        for (int i = 0; i < 5 && (*p == '/' || mfu_claim_role(p) & (MFU_W_BEHIND | MFU_W_ONE_OF) || i == 0); i++)
            p = mfu_claim_blanks(mfu_claim_word_end(p));
    } else
        return ALONE;
    p = mfu_claim_skip_about(p, &about);
    if (!(mfu_digit(*p) || *p == '$') || !mfu_claim_number(r->t.text, p, b))
        return ALONE;
    b->roles = about ? MFU_W_ABOUT : 0;
    if (link == PART) {
        if (b->bare && mfu_claim_counted(mfu_claim_blanks(b->end)))
            return ALONE;
        mfu_claim_leave_out_unit(r, b);
        return (a->percent ? !b->bare : !b->bare && mfu_claim_same_unit(a, b)) || mfu_claim_same_unit(b, a) ? PART
                                                                                                            : ALONE;
    }
    if (!mfu_claim_same_unit(a, b))
        return ALONE;
    link = b->value * b->factor < a->value * a->factor ? PAIR : link; /* a range ascends */
    return link == PAIR && (b->value > 1e4 * a->value || a->value > 1e4 * b->value) ? ALONE : link;
}

/* What changes by "4x", "19 % higher", "fell by 20 %": as likely as it is near; NULL: nothing does. */
static struct mfu_claim *read_change(struct mfu_reading *r, struct mfu_told *f)
{
    struct mfu_claim_number *n = &f->n;
    const char *p = mfu_claim_blanks(n->end), *begin, *end;
    int role = mfu_claim_role(p), sign = role & MFU_W_MORE ? 1 : role & MFU_W_LESS ? -1 : 0, kind;
    bool behind = sign != 0, speed = role & (MFU_W_SPEED | MFU_W_COST), again,
         same = strncasecmp(&r->t.claim[r->t.from[n->at - r->t.text]], "same", 4) == 0
        || strncasecmp(&r->t.claim[r->t.from[n->at - r->t.text]], "the same", 8) == 0;
    double v = n->value * n->factor, half = n->half * n->factor, value = v;
    struct mfu_interval in = {fmax(0, v - half), v + half};
    struct mfu_told any = *f;
    struct mfu_claim *c, *last = mfu_claim_last(r->audit);
    char said[80];

    sign = sign != 0 ? sign : n->roles & MFU_W_UP ? 1 : n->roles & MFU_W_DOWN ? -1 : 0;
    if (!n->times && !(n->percent && sign))
        return NULL;
    any.n.times = true;
    any.n.end = behind ? mfu_claim_word_end(p) : n->end;
    any.n_slots = 0;
    mfu_told_find(r, &any);
    for (int i = 0; i < any.n_slots; i++) {
        struct mfu_slot *x = &any.slots[i];
        int traits = mfu_traits_of(x->kind);

        if (traits & MFU_Q_COMPLEMENT)
            x->kind = r->topic >= 0 && mfu_dim_of(r->topic) == MFU_SECONDS ? r->topic : MFU_Q_STEP_TIME;
        if ((same && x->begin < n->at)         /* "on the same cluster": of what is told behind */
            || (speed && traits & MFU_Q_SETUP) /* "4x faster on 8 GPUs", "faster with the same model" */
            || (traits & MFU_Q_COUNTED && x->begin >= n->end && (behind || x->score < 11))
            || (n->percent && !behind && mfu_dim_of(x->kind) == MFU_RATIO)) /* of it, or so many points */
            memmove(x, x + 1, (size_t)(--any.n_slots - i--) * sizeof *x);
    }
    if (role & MFU_W_SPEED || n->roles & MFU_W_SPEED)
        mfu_told_may_be(&any, MFU_Q_TOKENS_PER_S, 12.5, n->at, any.n.end);
    if (!speed && mfu_audit_claims(r->audit, MFU_Q_PASSES, MFU_AFTER)) /* "8ND instead of 6ND, a third more" */
        mfu_told_may_be(&any, MFU_Q_FLOP_PER_TOKEN, 13, n->at, any.n.end);
    if (role & MFU_W_COST)
        mfu_told_may_be(&any, MFU_Q_COST, 12, n->at, any.n.end);
    if (r->topic >= 0 && !same && (sign != 0 || mfu_claim_stated(r->audit, r->topic, MFU_AFTER)))
        mfu_told_may_be(&any, r->topic, mfu_claim_stated(r->audit, r->topic, MFU_AFTER) ? 9 : 7, n->at, any.n.end);
    if (any.n_slots == 0 && n->times
        && (mfu_claim_stands(p, "on")
            || (last && last->state == MFU_AFTER && mfu_traits_of(last->kind) & MFU_Q_COUNTED)))
        mfu_told_may_be(&any, MFU_Q_TOKENS_PER_S, 8, n->at, any.n.end); /* "6x on 8 GPUs" */
    if (any.n_slots == 0)
        return NULL;
    kind = any.slots[0].kind;
    if ((kind == MFU_Q_MEMORY && !mfu_claim_told(r->audit, kind) && mfu_claim_told(r->audit, MFU_Q_CAPACITY))
        || (sign == 0 && r->topic == MFU_Q_PEAK && !mfu_claim_stated(r->audit, kind, MFU_AFTER)))
        return NULL; /* "141 GB, 2.5x as much memory as the 80 GB": arithmetic */
    if (n->percent) {
        value = 1 + sign * v;
        in = sign > 0 ? (struct mfu_interval){1 + in.low, 1 + in.high}
                      : (struct mfu_interval){fmax(0, 1 - in.high), fmax(0, 1 - in.low)};
        if (speed && sign > 0 && v < 1
            && !mfu_claim_stated(r->audit, MFU_Q_TOKENS_PER_S, MFU_AFTER)) /* time or rate: both are said so */
            in.high = fmax(in.high, 1 / (1 - v));
        if (speed && sign < 0)
            in.high = fmax(in.high, 1 / (1 + v));
    } else if (sign < 0) {
        value = 1 / v;
        in = (struct mfu_interval){1 / in.high, in.low > 0 ? 1 / in.low : INFINITY};
    }
    if (value == 1 && n->times)
        in = (struct mfu_interval){0.995, 1.005};
    in = mfu_claim_soften(n, value, in);
    again = (kind == MFU_Q_FLOP || kind == MFU_Q_FLOP_PER_TOKEN)
        && mfu_claim_has(r->audit, MFU_Q_RECOMPUTE); /* what checkpointing adds is no model FLOP */
    begin = any.slots[0].begin < n->at ? any.slots[0].begin : n->at;
    end = any.slots[0].end > any.n.end ? any.slots[0].end : any.n.end;
    c = mfu_claim_add(r->audit, again ? MFU_Q_RECOMPUTE : kind, again ? MFU_BEFORE : MFU_CHANGE, in.low, in.high,
                      "stated", "%s", mfu_claim_text_quote(&r->t, begin, end, said, sizeof said));
    if (!c)
        return NULL;
    c->value = value;
    for (int i = 0; i < r->audit->n_claims - 1 && c->n_readings == 0; i++) /* whatever that may be */
        for (int k = 0; r->audit->claims[i].kind == kind && k < r->audit->claims[i].n_readings; k++)
            c->readings[c->n_readings++] =
                (struct mfu_claim_reading){r->audit->claims[i].readings[k].kind, MFU_CHANGE, in, value, 1};
    for (int i = 1; !again && i < any.n_slots && c->n_readings < MFU_READINGS
         && any.slots[i].score > any.slots[0].score - (any.slots[0].score > 9.5 ? 1.5 : 3);
         i++)
        c->readings[c->n_readings++] = (struct mfu_claim_reading){any.slots[i].kind, MFU_CHANGE, in, value,
                                                                  any.slots[0].score - any.slots[i].score};
    r->topic = kind;
    mfu_claim_use(&r->t, begin, end);
    return c;
}

/* "GPT-3", "Llama-2": it belongs to the word before. */
static bool is_of_name(const struct mfu_reading *r, const struct mfu_claim_number *n)
{
    int at = r->t.from[n->at - r->t.text];

    return n->bare && at > 1 && r->t.claim[at - 1] == '-' && mfu_alpha(r->t.claim[at - 2]);
}

/* "8x H100", "TP 4 x PP 8": how many, not how many times as many. */
static void settle_times(struct mfu_claim_number *n)
{
    const char *behind = mfu_claim_blanks(n->end);

    if (n->times && n->whole && (mfu_claim_stands(behind, "gpu") || mfu_claim_stands(behind, "node")))
        n->times = false, n->bare = true;
    else if (n->times && strncmp(n->end - 2, " x ", 3) == 0 && mfu_claim_role(behind) == 0
             && !mfu_claim_counted(behind))
        n->times = false, n->bare = true, n->end -= 2;
}

/* Reads a number, and a second one that goes with it; behind them. */
static const char *take_number(struct mfu_reading *r, struct mfu_claim_number *number)
{
    struct mfu_told a = {.n = *number}, b = {.n_slots = 0}, alone;
    enum link link;
    const char *before = mfu_claim_back(&r->t, number->at);
    const struct mfu_claim *was, *last;

    a.n.roles = mfu_claim_roles_before(&r->t, a.n.at);
    if (!a.n.bare && a.n.dim == MFU_FLOP_PER_S)
        r->last = a.n;
    if (!a.n.bare && a.n.dim == MFU_SECONDS)
        r->time = a.n;
    settle_times(&a.n);
    if (a.n.bare && *a.n.end == 'x' && mfu_digit(a.n.end[1])) /* a shape */
        return a.n.end;
    alone = a;
    mfu_told_find(r, &alone);
    if (is_of_name(r, &a.n) && !(alone.n_slots > 0 && alone.slots[0].score > 10 && alone.slots[0].begin < a.n.at))
        return a.n.end;
    link = read_second(r, &a.n, &b.n);
    if (link == ALONE)
        a = alone;
    if (a.n.roles & MFU_W_NOT) { /* "not 40 %": nothing is said of what it is */
        mfu_claim_use(&r->t, a.n.at, link == ALONE ? a.n.end : b.n.end);
        return link == ALONE ? a.n.end : b.n.end;
    }
    last = mfu_claim_last(r->audit);
    if (a.n.percent && last
        && (*before == '(' || ((*before == '+' || *before == '-') && *mfu_claim_back(&r->t, before) == '('))
        && !(alone.n_slots > 0 && alone.slots[0].begin >= a.n.end) && last->state == MFU_AFTER
        && (was = mfu_claim_told(r->audit, last->kind))) /* "(+32 %)" */
        a.n.roles |= *before == '-' || (*before == '(' && last->value < was->value) ? MFU_W_DOWN : MFU_W_UP;
    if (link == ALONE && read_change(r, &a))
        return a.n.end;
    if (a.n.times) {
        r->factor = a.n; /* "doubled from 11k to 22k tokens/s" */
        return a.n.end;
    }
    if (link != ALONE || mfu_claim_leave_out_unit(r, &a.n)) {
        a.n_slots = 0;
        mfu_told_find(r, &a);
    }
    if (link == ALONE) {
        mfu_told_claim(r, &a, MFU_BEFORE);
        if (a.n_slots > 0 && a.n.roles & MFU_W_KEEPS)
            mfu_told_claim(r, &a, MFU_AFTER);
        return a.n.end;
    }
    mfu_told_find(r, &b);
    if (link == PART) {
        mfu_told_part_of(r, &a, &b);
        alone = (struct mfu_told){.n = b.n};
        alone.n.at = a.n.at;
        alone.n.value *= a.n.value * a.n.factor;
        alone.n.half = a.n.percent ? a.n.half * a.n.factor * b.n.value : alone.n.half;
        mfu_told_find(r, &alone);
        if (a.n_slots > 0 && a.slots[0].kind == MFU_Q_FILL && alone.n_slots > 0 && alone.slots[0].begin < a.n.at
            && mfu_dim_of(alone.slots[0].kind) == b.n.dim) /* "states take 90 % of 12 GB" */
            mfu_told_claim(r, &alone, MFU_BEFORE);
        mfu_told_claim(r, &a, MFU_BEFORE);
        b.whole = true;
        mfu_told_claim(r, &b, MFU_BEFORE);
        return b.n.end;
    }
    if (strncmp(mfu_claim_blanks(a.n.end), "->", 2) == 0 && alone.n_slots > 0 && b.n_slots > 0
        && alone.slots[0].score > 10 && b.slots[0].score > 9.3 && alone.slots[0].kind != b.slots[0].kind
        && *before != ':') {
        mfu_told_claim(r, &alone, MFU_BEFORE); /* "seq 1024 -> 8192 tokens per step": two things */
        return alone.n.end;
    }
    for (int i = 0; i < b.n_slots; i++)
        mfu_told_may_be(&a, b.slots[i].kind, b.slots[i].score, b.slots[i].begin, b.slots[i].end);
    if (link == RANGE && a.n_slots > 0 && !(mfu_traits_of(a.slots[0].kind) & MFU_Q_COUNTED)) {
        a.n.end = b.n.end;
        a.n.half = 0.5 * (b.n.value - a.n.value) + b.n.half;
        a.n.value = 0.5 * (b.n.value + a.n.value);
        a.n.whole = false;
        mfu_told_claim(r, &a, MFU_BEFORE);
        return b.n.end;
    }
    memcpy(b.slots, a.slots, sizeof b.slots);
    b.n_slots = a.n_slots;
    b.n.at = a.n.at;
    a.n.end = b.n.end;
    mfu_told_claim(r, &a, MFU_BEFORE);
    mfu_told_claim(r, &b, MFU_AFTER);
    if (r->factor.times) {
        struct mfu_told factor = {.n = r->factor};

        read_change(r, &factor);
        r->factor.times = false;
    }
    return b.n.end;
}

/* An outcome that is told once, where others change, is that afterwards; what words say may be.  One that changes is
 * what it is likeliest to be. */
static void place_single(struct mfu_audit *a, int words)
{
    static const int counts[] = {MFU_Q_NODES, MFU_Q_GPUS};
    struct mfu_claim *count;
    bool changes = false, one = mfu_claim_has(a, MFU_Q_SCALING);

    for (size_t i = 0; i < N(counts) && one; i++)
        one = !mfu_audit_claims(a, counts[i], MFU_AFTER) && !mfu_audit_claims(a, counts[i], MFU_CHANGE);
    if (one && mfu_claim_told(a, MFU_Q_NODES) && !mfu_audit_claims(a, MFU_Q_NODE_GPUS, MFU_CHANGE))
        mfu_claim_add(a, MFU_Q_NODE_GPUS, MFU_CHANGE, 1, 1, "assumed", "nodes alike");
    for (size_t i = 0; i < N(counts) && one; i++) /* "6.4x on 8 GPUs, 80 % efficiency": of one, or of one node */
        if ((count = mfu_claim_told(a, counts[i])) && count->value > 1) {
            count->state = MFU_AFTER;
            if (!mfu_claim_has(a, counts[0]))
                mfu_claim_add(a, counts[i], MFU_BEFORE, 1, 1, "assumed", "one");
        }
    for (int i = 0; i < a->n_claims; i++)
        changes |= a->claims[i].state != MFU_BEFORE;
    for (int i = 0; changes && i < a->n_claims; i++) {
        struct mfu_claim *c = &a->claims[i];
        bool both = false;

        for (int k = 0; k < a->n_claims; k++)
            if (k != i && a->claims[k].kind == c->kind && a->claims[k].state != c->state) {
                both |= a->claims[k].state == MFU_AFTER;
            }
        if (i < words && c->n_readings < MFU_READINGS)
            c->readings[c->n_readings++] = (struct mfu_claim_reading){c->kind, MFU_AFTER, c->in, c->value, 0};
        else if (c->state == MFU_BEFORE && !both && !(mfu_traits_of(c->kind) & MFU_Q_SETUP))
            c->state = MFU_AFTER;
    }
}

// clang-format off
/* What a figure is where another one is told beside it, or is not; at a cost: what it may be, too. */
static const struct { int kind, beside, is; bool told; double cost; } besides[] = {
    {MFU_Q_BATCH, MFU_Q_KV, MFU_Q_KV_SEQUENCES, true, 0}, {MFU_Q_TOKENS, MFU_Q_KV, MFU_Q_SEQ, true, 0}, {MFU_Q_TOKENS_PER_STEP, MFU_Q_KV, MFU_Q_SEQ, true, 0}, {MFU_Q_COMPUTE_TIME, MFU_Q_STEP_TIME, MFU_Q_STEP_TIME, false, 0}, {MFU_Q_SEQ, MFU_Q_PATCH, MFU_Q_IMAGE, true, 0}, {MFU_Q_SAMPLES, MFU_Q_TOKENS_PER_STEP, MFU_Q_GLOBAL_BATCH, true, 0}, {MFU_Q_MATMUL, MFU_Q_INNER, MFU_Q_ACHIEVED, false, 0}, {MFU_Q_BANDWIDTH, MFU_Q_TRAFFIC, MFU_Q_LINK, true, 0},
    {MFU_Q_TRAINABLE_SHARE, MFU_Q_ACTIVE, MFU_Q_ACTIVE_SHARE, true, 0}, {MFU_Q_OPTIMIZER_BYTES, MFU_Q_CHECKPOINT, MFU_Q_SAVED_BYTES, true, 0}, {MFU_Q_PARAMS, MFU_Q_RANK, MFU_Q_TRAINABLE, true, 0.5}};

/* What goes without saying where one is told and the other is not: a bubble has stages, and micro-batches. */
static const struct { int told, untold, is; double low, high; } implied[] = {
    {MFU_Q_FREE, MFU_Q_FULL, MFU_Q_FULL, 1, 1}, {MFU_Q_ACTIVE, MFU_Q_ACTIVE_SHARE, MFU_Q_ACTIVE_SHARE, 0.001, 1}, {MFU_Q_LINK, MFU_Q_GPUS, MFU_Q_GPUS, 2, 1e7}, {MFU_Q_BUBBLE, MFU_Q_PP, MFU_Q_PP, 2, 1e4}, {MFU_Q_BUBBLE, MFU_Q_ACCUM, MFU_Q_ACCUM, 1, 1e6}, {MFU_Q_KV_HEADS, MFU_Q_HEADS, MFU_Q_HEAD_GROUP, 1, 128}};

/* There are several only where they are counted. */
static const struct { int all, count; } of_counted[] = {
    {MFU_Q_CAPACITY_ALL, MFU_Q_GPUS}, {MFU_Q_PRICE_ALL, MFU_Q_GPUS}, {MFU_Q_MEMORY_ALL, MFU_Q_GPUS}, {MFU_Q_NODE_POWER, MFU_Q_NODES}};

/* What two figures of one quantity are where nothing changes and `beside` is told: the lesser is that of a part. */
static const struct { int kind, lesser, greater, beside; } pairs[] = {
    {MFU_Q_PARAMS, MFU_Q_TRAINABLE, MFU_Q_PARAMS, MFU_Q_PARAMS}, {MFU_Q_TOKENS, MFU_Q_CORPUS, MFU_Q_TOKENS, MFU_Q_EPOCHS},
    {MFU_Q_TOKENS_PER_STEP, MFU_Q_SEQ, MFU_Q_TOKENS_PER_STEP, MFU_Q_GLOBAL_BATCH}, {MFU_Q_TOKENS_PER_STEP, MFU_Q_SEQ, MFU_Q_TOKENS_PER_STEP, MFU_Q_BATCH}, {MFU_Q_TOKENS_PER_S, MFU_Q_TOKENS_PER_S_GPU, MFU_Q_TOKENS_PER_S, MFU_Q_GPUS}, {MFU_Q_POWER, MFU_Q_POWER, MFU_Q_POWER_ALL, MFU_Q_GPUS},
    {MFU_Q_CAPACITY, MFU_Q_CAPACITY, MFU_Q_CAPACITY_ALL, MFU_Q_GPUS}, {MFU_Q_COST, MFU_Q_PRICE, MFU_Q_COST, MFU_Q_GPUS}, {MFU_Q_PRICE, MFU_Q_PRICE, MFU_Q_PRICE_ALL, MFU_Q_GPUS},
    {MFU_Q_ACHIEVED, MFU_Q_ACHIEVED, MFU_Q_ACHIEVED_ALL, MFU_Q_GPUS}, {MFU_Q_BATCH, MFU_Q_BATCH, MFU_Q_GLOBAL_BATCH, MFU_Q_ACCUM}};
// clang-format on

/* Who makes one part of a step faster leaves the rest of it as it is. */
static void place_rest(struct mfu_audit *a)
{
    static const int shares[][2] = {{MFU_Q_COMMUNICATION, MFU_Q_COMMUNICATION_TIME},
                                    {MFU_Q_OPTIMIZER, MFU_Q_OPTIMIZER_TIME},
                                    {MFU_Q_FORWARD, MFU_Q_FORWARD_TIME},
                                    {MFU_Q_BACKWARD, MFU_Q_BACKWARD_TIME},
                                    {MFU_Q_INPUT, MFU_Q_LOADER_TIME},
                                    {MFU_Q_UNTOUCHED, MFU_Q_PART_TIME}};
    const struct mfu_claim *step = mfu_claim_told(a, MFU_Q_STEP_TIME);
    struct mfu_interval in = {0, 0};
    const char *part = "";
    int n = 0;

    for (size_t i = 0; i < N(shares); i++)
        for (int k = 0; k < 2; k++) {
            const struct mfu_claim *c = mfu_claim_told(a, shares[i][k]);

            if (!c || (k == 1 && !step))
                continue;
            part = c->text;
            in = k == 0 ? c->in : (struct mfu_interval){c->in.low / step->in.high, c->in.high / step->in.low};
            n += shares[i][0] == MFU_Q_UNTOUCHED && k == 0 ? 2 : 1;
        }
    if (n == 1 && in.high < 1 && mfu_audit_claims(a, MFU_Q_TOKENS_PER_S, MFU_CHANGE)
        && !mfu_audit_claims(a, MFU_Q_STEP_TIME, MFU_AFTER))
        mfu_claim_add(a, MFU_Q_UNTOUCHED, MFU_BEFORE, 1 - in.high, 1 - in.low, "assumed", "the step without %s", part);
}

static void drop_reading(struct mfu_claim *c, int kind)
{
    int n = 0;

    for (int i = 0; i < c->n_readings; i++)
        if (c->readings[i].kind != kind)
            c->readings[n++] = c->readings[i];
    c->n_readings = n;
}

/* It may be another quantity, too. */
static void may_be(struct mfu_claim *c, int kind, double cost)
{
    if (c->n_readings < MFU_READINGS)
        c->readings[c->n_readings++] = (struct mfu_claim_reading){kind, c->state, c->in, c->value, cost};
}

static void place_beside(struct mfu_audit *a)
{
    struct mfu_claim *tokens = mfu_claim_told(a, MFU_Q_TOKENS);

    for (size_t i = 0; i < N(besides); i++)
        for (int k = 0; k < a->n_claims; k++) {
            struct mfu_claim *c = &a->claims[k];

            if (c->kind != besides[i].kind || c->state != MFU_BEFORE || mfu_claim_told(a, besides[i].is)
                || (besides[i].told ? !mfu_claim_told(a, besides[i].beside) : mfu_claim_has(a, besides[i].beside)))
                continue;
            if (besides[i].cost > 0 && c->at > 0)
                may_be(c, besides[i].is, besides[i].cost);
            else if (besides[i].cost == 0)
                c->kind = besides[i].is;
        }
    for (int i = 0; i < a->n_claims; i++) /* "16 bytes per parameter, so 7B need 112 GB" */
        if (a->claims[i].kind == MFU_Q_MEMORY && a->claims[i].guessed
            && mfu_claim_stated(a, MFU_Q_STATE_BYTES, a->claims[i].state)) {
            for (int k = 0; k < MFU_Q_COUNT; k++)
                if (k != MFU_Q_OPTIMIZER_STATES)
                    drop_reading(&a->claims[i], k);
            if (!a->claims[i].follows)
                may_be(&a->claims[i], MFU_Q_MEMORY, 2);
            a->claims[i].kind = MFU_Q_STATES;
        }
    for (size_t i = 0; i < N(implied); i++)
        if (mfu_claim_told(a, implied[i].told) && !mfu_claim_told(a, implied[i].untold))
            mfu_claim_add(a, implied[i].is, MFU_BEFORE, implied[i].low, implied[i].high, "assumed", "%s with %s",
                          mfu_quantity_rows[implied[i].is].name, mfu_quantity_rows[implied[i].told].name);
    if (mfu_claim_has(a, MFU_Q_EXPERTS) || mfu_claim_has(a, MFU_Q_EXPERT_SHARE) || mfu_claim_has(a, MFU_Q_ACTIVE))
        mfu_claim_add(a, MFU_Q_MLPS, MFU_BEFORE, 1, 1e5, "assumed", "experts");
    if (tokens && tokens->in.high < A_STEP && mfu_claim_has(a, MFU_Q_STEP_TIME)
        && !mfu_claim_has(a, MFU_Q_TOKENS_PER_STEP)) /* "45 s per step at 4M tokens" */
        tokens->kind = MFU_Q_TOKENS_PER_STEP;
    for (size_t i = 0; i < N(of_counted); i++)
        for (int k = 0; k < a->n_claims && !mfu_claim_told(a, of_counted[i].count); k++)
            drop_reading(&a->claims[k], of_counted[i].all);
}

/* Whether something but a second figure says that there is a before and an after. */
static bool is_witnessed(const struct mfu_audit *a)
{
    int seconds = 0;

    for (int i = 0; i < a->n_claims; i++) {
        if (a->claims[i].kind == MFU_Q_SCALING || (a->claims[i].state != MFU_BEFORE && !a->claims[i].inferred))
            return true;
        seconds += a->claims[i].inferred && !(mfu_traits_of(a->claims[i].kind) & MFU_Q_COUNTED);
    }
    return seconds > 1; /* "31 GB with batch 4, 43 GB with batch 8" */
}

/* What a second figure is, that no word says to be what is now. */
static void place_pairs(struct mfu_audit *a)
{
    bool witnessed = is_witnessed(a);

    for (size_t i = 0; i < N(pairs) && !witnessed; i++) {
        struct mfu_claim *first = mfu_claim_told(a, pairs[i].kind),
                         *second = mfu_claim_stated(a, pairs[i].kind, MFU_AFTER),
                         *beside = mfu_claim_told(a, pairs[i].beside);

        if (!first || !second || !beside || !(beside->value > 1)
            || (pairs[i].lesser != pairs[i].kind && mfu_claim_has(a, pairs[i].lesser))
            || (pairs[i].greater != pairs[i].kind && mfu_claim_has(a, pairs[i].greater)))
            continue;
        second->state = MFU_BEFORE;
        second->inferred = false;
        first->n_readings = second->n_readings = 0;
        (second->value < first->value ? second : first)->kind = pairs[i].lesser;
        (second->value < first->value ? first : second)->kind = pairs[i].greater;
    }
    for (int i = 0; witnessed && i < a->n_claims; i++)
        a->claims[i].inferred = false;
}

/* What only its unit said of a figure is not what it is in an equation. */
static void drop_operands(struct mfu_reading *r)
{
    struct mfu_audit *a = r->audit;
    int n = 0;

    for (int i = 0; i < a->n_claims; i++) {
        a->claims[i].computed |= a->claims[i].at > 0 && r->t.operand[a->claims[i].at];
        if (!(((mfu_dim_of(a->claims[i].kind) == MFU_BYTES && mfu_quantity_rows[a->claims[i].kind].most > 1e3
                && a->claims[i].in.high < 100) /* "x 2 bytes": of a number */
               || (a->claims[i].guessed && a->claims[i].kind != MFU_Q_PARAMS)
               || a->claims[i].in.high < mfu_quantity_rows[a->claims[i].kind].least)
              && a->claims[i].at > 0 && r->t.operand[a->claims[i].at]))
            a->claims[n++] = a->claims[i];
    }
    a->n_claims = n;
    for (size_t i = 0; i < MFU_CLAIM_ROOM; i++)
        r->t.used[i] |= r->t.taken[i];
}

int mfu_claim_read(struct mfu_catalog *catalog, const struct mfu_scenario *start, const char *text, struct mfu_audit *a,
                   struct mfu_error *err)
{
    struct mfu_reading *r;
    int status = 0, words;

    if (strlen(text) > MFU_CLAIM_LONGEST)
        return mfu_fail(err, MFU_EINPUT, "a claim is no longer than %d characters", MFU_CLAIM_LONGEST);
    r = calloc(1, sizeof *r);
    if (!r)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    r->audit = a;
    r->catalog = catalog;
    r->topic = -1;
    mfu_claim_text_start(&r->t, text);
    mfu_claim_find_names(r);
    mfu_claim_text_words(&r->t);
    for (const char *p = r->t.text; *p; p = *p ? mfu_claim_word_end(p) : p)
        r->training |= (mfu_claim_role(p) & MFU_W_TRAINS) != 0;
    a->several = strstr(r->t.text, "each gpu") != NULL || strstr(r->t.text, "/gpu") != NULL;
    mfu_claim_set_aside(r);
    mfu_claim_find_ways(r);
    mfu_claim_find_precisions(r);
    mfu_claim_find_shapes(r);
    words = a->n_claims;
    mfu_claim_equations(a, &r->t);
    for (const char *p = r->t.text; *p;) {
        struct mfu_claim_number n;

        if ((mfu_digit(*p) || *p == '$') && !r->t.taken[p - r->t.text] && mfu_claim_number(r->t.text, p, &n))
            p = take_number(r, &n);
        else
            p++;
    }
    drop_operands(r);
    mfu_claim_units(a, &r->t);
    mfu_claim_add_gpus(r);
    if (r->model)
        status = mfu_claim_add_model(r, start, err);
    place_pairs(a);
    place_beside(a);
    place_rest(a);
    place_single(a, words);
    mfu_claim_drop_peaks(r);
    mfu_claim_compare_peaks(r);
    if (strstr(r->t.text, "model state") && mfu_claim_has(a, MFU_Q_CHECKPOINT))
        mfu_claim_add(a, MFU_Q_CHECKPOINT_BYTES, MFU_BEFORE, 6, 20, "assumed", "weights and Adam's states");
    else if (strstr(r->t.text, "model state") && !mfu_claim_has(a, MFU_Q_STATE_BYTES))
        mfu_claim_add(a, MFU_Q_STATE_BYTES, MFU_BEFORE, 8, 20, "assumed", "Adam, some of it in 16 bits");
    list_rest(r);
    free(r);
    return status;
}
