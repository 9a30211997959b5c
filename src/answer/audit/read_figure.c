/*
 * read_figure.c - a number of a claim, alone or with a second one: a figure, a change, or a range.
 */
#include "answer/audit/reading.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

bool mfu_claim_read_change(struct mfu_reading *r, struct mfu_claim_number *n)
{
    const char *p = mfu_claim_blanks(n->end), *end = n->end;
    struct mfu_claim_number any = *n;
    struct mfu_phrase m = {.kind = -1}, behind;
    int role = mfu_claim_role(p), sign = role & MFU_W_MORE ? 1 : role & MFU_W_LESS ? -1 : 0, otherwise = -1;
    double v = n->value * n->factor, half = n->half * n->factor, value;
    struct mfu_interval in = {v - half, v + half};
    struct mfu_claim *c;
    bool again; /* what checkpointing adds is computed twice, and no model FLOP */
    char said[80];

    if (sign != 0) {
        otherwise = role & MFU_W_SPEED ? MFU_Q_TOKENS_PER_S : role & MFU_W_COST ? MFU_Q_COST : -1;
        end = mfu_claim_word_end(p);
    } else
        sign = n->roles & MFU_W_UP ? 1 : n->roles & MFU_W_DOWN ? -1 : 0;
    if (!n->times && !(n->percent && sign))
        return false;
    any.times = true;
    m = mfu_phrase_behind(r, end, &any);
    if (!(role & (MFU_W_MORE | MFU_W_LESS)) && m.kind >= 0 && n->times
        && (mfu_quantity_rows[m.kind].traits & MFU_Q_COUNTED) && n->whole
        && mfu_claim_blanks(n->end) == m.begin) { /* 8x H100 */
        n->times = false;
        n->bare = true;
        mfu_claim_state(r, n, m.kind, MFU_BEFORE, m, m.end);
        return true;
    }
    if (otherwise >= 0 && m.kind >= 0 && mfu_quantity_rows[m.kind].traits & MFU_Q_SETUP)
        m.kind = -1; /* "4x faster on 8 GPUs", "faster with the same model" */
    if (m.kind >= 0 && mfu_quantity_rows[m.kind].traits & MFU_Q_COUNTED && n->times
        && (isdigit((unsigned char)*mfu_claim_blanks(m.end)) || mfu_claim_stands(p, "an", 2)
            || mfu_claim_stands(p, "a", 1))) /* "1.76x the H100's 80 GB", "2.4x an 80 GB H100" */
        return false;
    behind = m;
    if (m.kind < 0 && isalpha((unsigned char)r->t.claim[r->t.from[n->at - r->t.text]]) && v == 1
        && isalpha((unsigned char)*p) && role == 0) /* "on the same cluster" */
        return true;
    if (!(role & (MFU_W_MORE | MFU_W_LESS))
        && n->roles & (MFU_W_UP | MFU_W_DOWN)) /* "fell by 20 %": what stands before did */
        m.kind = -1;
    if (m.kind < 0 && otherwise < 0)
        m = mfu_phrase_before(r, n->at, &any, true);
    if (m.kind < 0 && r->topic < 0 && mfu_claim_blanks(end) == behind.begin) /* "saves 30 % memory" */
        m = behind;
    if (m.kind >= 0 && mfu_quantity_rows[m.kind].traits & MFU_Q_COMPLEMENT) /* "21 % less time" */
        m.kind = r->topic >= 0 && mfu_quantity_rows[r->topic].dim == MFU_SECONDS ? r->topic : MFU_Q_STEP_TIME;
    if (m.kind < 0)
        m = (struct mfu_phrase){
            .kind = otherwise >= 0       ? otherwise
                : n->roles & MFU_W_SPEED ? MFU_Q_TOKENS_PER_S
                : n->roles & (MFU_W_UP | MFU_W_DOWN) || n == &r->factor
                    || (sign != 0 && r->topic >= 0 && mfu_claim_stated(r->audit, r->topic, MFU_AFTER))
                ? r->topic
                : -1,
            .begin = n->at,
            .end = end};
    if (m.kind < 0)
        return false;
    if (n->percent && !(role & (MFU_W_MORE | MFU_W_LESS)) && mfu_quantity_rows[m.kind].dim == MFU_RATIO)
        return false; /* of it, or so many points */
    in.low = fmax(in.low, 0);
    value = v;
    if (n->percent) {
        value = 1 + sign * v;
        in = sign > 0 ? (struct mfu_interval){1 + in.low, 1 + in.high}
                      : (struct mfu_interval){fmax(0, 1 - in.high), fmax(0, 1 - in.low)};
        if (otherwise >= 0 && sign > 0 && v < 1) /* time or rate: both are said so */
            in.high = fmax(in.high, 1 / (1 - v));
        if (otherwise >= 0 && sign < 0)
            in.high = fmax(in.high, 1 / (1 + v));
    } else if (sign < 0) {
        value = 1 / v;
        in = (struct mfu_interval){1 / in.high, in.low > 0 ? 1 / in.low : INFINITY};
    }
    if (value == 1 && n->times)
        in = (struct mfu_interval){0.995, 1.005};
    m.begin = m.begin < n->at ? m.begin : n->at;
    m.end = m.end > end ? m.end : end;
    in = mfu_claim_soften(n, value, in);
    again = (m.kind == MFU_Q_FLOP || m.kind == MFU_Q_FLOP_PER_TOKEN)
        && mfu_audit_claims(r->audit, MFU_Q_RECOMPUTE, MFU_BEFORE);
    c = mfu_claim_add(r->audit, again ? MFU_Q_RECOMPUTE : m.kind, again ? MFU_BEFORE : MFU_CHANGE, in.low, in.high,
                      "stated", "%s", mfu_claim_text_quote(&r->t, m.begin, m.end, said, sizeof said));
    if (!c)
        return true;
    c->value = value;
    r->topic = m.kind;
    mfu_claim_use(&r->t, m.begin, m.end);
    return true;
}

/* A second number behind "->", "to" or "-": a change or a range. */
static bool read_second(const struct mfu_claim_number *n, struct mfu_claim_number *b, bool *changes)
{
    const char *p = mfu_claim_blanks(n->end);
    bool about, to = false;

    if (strncmp(p, "->", 2) == 0) {
        *changes = true;
        p += 2;
    } else if (strncmp(p, "to ", 3) == 0) {
        to = true;
        *changes = (n->roles & (MFU_W_FROM | MFU_W_UP | MFU_W_DOWN)) != 0;
        p += 3;
    } else if (*p == '-' && p == n->end) {
        *changes = false;
        p++;
    } else
        return false;
    p = mfu_claim_skip_about(p, &about);
    if (!isdigit((unsigned char)*p) || !mfu_claim_number(p, p, b))
        return false;
    *changes |= to && b->value * b->factor < n->value * n->factor;                          /* a range ascends */
    return true && !(*changes && (b->value > 1e4 * n->value || n->value > 1e4 * b->value)); /* "D=26e9 -> 2e20 FLOP" */
}

/* "multiplies the KV cache by 4" */
static bool is_multiplied(const struct mfu_reading *r, const char *p)
{
    for (const char *word; (word = mfu_claim_back(&r->t, p)) < p && !strchr(".;:,", *word); p = word)
        if (strncmp(word, "multipl", 7) == 0)
            return true;
    return false;
}

/* "GPT-3", "Llama-2": it belongs to the word before. */
static bool is_of_name(const struct mfu_reading *r, const struct mfu_claim_number *n)
{
    int at = r->t.from[n->at - r->t.text];

    return n->bare && at > 1 && r->t.claim[at - 1] == '-' && isalpha((unsigned char)r->t.claim[at - 2]);
}

const char *mfu_claim_take_number(struct mfu_reading *r, struct mfu_claim_number *n)
{
    struct mfu_claim_number second = {0};
    bool changes = false, two, result;
    const struct mfu_claim_number *last;
    const char *end;
    struct mfu_phrase m = {.kind = -1};

    if (!n->bare && n->dim == MFU_FLOP_PER_S)
        r->last = *n;
    n->roles = mfu_claim_roles_before(&r->t, n->at);
    mfu_claim_unit_of_whole(r, n);
    end = mfu_claim_blanks(n->end);
    if (n->times && strncmp(n->end - 2, " x ", 3) == 0 && mfu_claim_role(end) == 0
        && !mfu_claim_counted(end)) { /* "TP 4 x PP 8" */
        struct mfu_claim_number any = *n;

        any.times = false;
        any.bare = true;
        if (mfu_phrase_before(r, n->at, &any, false).kind >= 0) {
            *n = any;
            n->end -= 2;
        }
    }
    if (n->bare && mfu_claim_stands(mfu_claim_back(&r->t, n->at), "by", 2) && is_multiplied(r, n->at)) {
        n->bare = false;
        n->times = true;
        n->half = fmin(n->half, 0.2 * n->value);
    }
    two = read_second(n, &second, &changes);
    if (two && strncmp(end, "->", 2) == 0) { /* "seq 1024 -> 8192 tokens per step": two things, not one that changes */
        struct mfu_phrase own = mfu_phrase_before(r, n->at, n, false),
                          behind = mfu_phrase_behind(r, second.end, &second);

        two = own.kind < 0 || behind.kind < 0 || behind.kind == own.kind || mfu_claim_blanks(second.end) != behind.begin
            || mfu_quantity_rows[own.kind].dim == MFU_RATIO;
    }
    two = two && mfu_claim_same_unit(n, &second);
    changes |= r->factor.times;
    last = two ? &second : n;
    if (n->roles & MFU_W_NOT) { /* "not 40 %": nothing is said of what it is */
        mfu_claim_use(&r->t, n->at, last->end);
        return last->end;
    }
    if (!two && (mfu_claim_take_aside(r, n) || mfu_claim_read_change(r, n)))
        return n->end;
    if (n->times) {
        r->factor = *n; /* "doubled from 11k to 22k tokens/s" */
        return n->end;
    }
    result = r->t.operand[n->at - r->t.text] && *mfu_claim_back(&r->t, n->at) == '=';
    if (!result)
        m = mfu_phrase_before(r, n->at, last, changes);
    if (m.kind >= 0
        && ((two && mfu_quantity_rows[m.kind].dim == MFU_RATIO && last->bare
             && last->value > 1)                           /* "scaling 1 -> 4 nodes" */
            || memchr(m.end, ':', (size_t)(n->at - m.end)) /* "energy: 1000 GPU hours", "an epoch is 1000 steps" */
            || n->money
            || (last->bare && mfu_quantity_rows[m.kind].dim != MFU_RATIO
                && !(mfu_claim_role(mfu_claim_back(&r->t, n->at)) & MFU_W_BEHIND)
                && mfu_claim_counted(mfu_claim_blanks(last->end)) && mfu_claim_letter(*mfu_claim_back(&r->t, n->at))
                && mfu_claim_back(&r->t, n->at) >= m.end))) {
        struct mfu_phrase behind = mfu_phrase_behind(r, last->end, last);

        m = behind.kind >= 0 ? behind : m;
    }
    if (m.kind >= 0 && last->dim != MFU_RATIO && m.end < n->at && mfu_claim_letter(*mfu_claim_back(&r->t, n->at))
        && mfu_claim_back(&r->t, n->at) >= m.end
        && (last->bare
            || !mfu_claim_stands(mfu_claim_back(&r->t, n->at), "of",
                                 2))) { /* "tokens at 4k context", not "batch of 4M tokens" */
        struct mfu_phrase near = {.kind = -1};
        const char *p = mfu_claim_blanks(last->end);

        mfu_phrase_here(r, p, false, true, last, true, &near);
        if (near.kind >= 0 && *near.begin != '/' && !isdigit((unsigned char)*mfu_claim_blanks(near.end))
            && !strchr(":=(", *mfu_claim_blanks(near.end)) && !mfu_claim_stands(mfu_claim_blanks(near.end), "of", 2))
            m = near;
    }
    if (!two && (end = mfu_claim_take_part(r, n, m)))
        return end;
    if (m.kind < 0 && !(n->bare && strncmp(n->end, " x ", 3) == 0))
        m = mfu_phrase_behind(r, last->end, last);
    if (m.kind >= 0 && m.begin >= last->end && is_of_name(r, n)) /* "GPT-3 training" */
        return last->end;
    if ((m.kind < 0 || m.kind == MFU_Q_GPUS || n->of_tokens) && mfu_claim_is_factor(n->at) && n->bare
        && mfu_kind_of_factor(r) >= 0) /* 8 nodes x 8 GPUs */
        m.kind = mfu_kind_of_factor(r);
    if (m.kind == MFU_Q_STATE_BYTES) { /* "Adam states take 8 bytes per parameter" */
        struct mfu_claim_number any = *last;
        struct mfu_phrase part;

        any.end = mfu_claim_blanks(""), any.value = 1, any.factor = 1e9;
        part = mfu_phrase_of_clause(r, n->at, &any);
        if (part.kind >= 0 && mfu_kind_of_parameters(part.kind, true) == part.kind)
            m.kind = mfu_kind_of_parameters(part.kind, false);
    }
    if (m.kind >= 0 && m.begin >= last->end && mfu_kind_of_each(r, last, &m) >= 0)
        m.kind = mfu_kind_of_each(r, last, &m);
    if (m.kind < 0
        || (m.kind == MFU_Q_UNTOUCHED && mfu_kind_of_share(r, last) >= 0)) /* "60 of 400 ms, 15 % of the step" */
        m.kind = mfu_kind_of_share(r, last);
    if (m.kind < 0 && changes && r->topic >= 0 && mfu_audit_claims(r->audit, r->topic, MFU_CHANGE)
        && mfu_phrase_suits(r->topic, "", last)) /* "dropped by 12 %, from 250 ms to 220 ms" */
        m.kind = r->topic;
    if (m.kind < 0 && !result)
        m = mfu_phrase_of_clause(r, n->at, last);
    if (m.kind == MFU_Q_CAPACITY && *mfu_claim_back(&r->t, n->at) == '(' && m.begin < n->at
        && mfu_claim_stated(r->audit, m.kind, MFU_BEFORE)) /* "fits a 48 GB card (35 GB)" */
        m = (struct mfu_phrase){.kind = -1};
    r->guessed = m.kind < 0;
    if (m.kind < 0 && !two)
        mfu_claim_leave_out_unit(r, n);
    if (m.kind < 0 && !mfu_phrase_goes_on(last->end))
        m.kind = mfu_kind_of_unit(r, last, changes);
    if (m.kind < 0)
        return last->end;
    if (r->guessed && !changes && n->roles & MFU_W_FROM
        && m.kind != r->topic) { /* "instead of 56 GB": of something that is not */
        mfu_claim_use(&r->t, n->at, last->end);
        return last->end;
    }
    if (!m.begin)
        m.begin = n->at, m.end = last->end;
    if (two && changes) {
        mfu_claim_state(r, n, m.kind, MFU_BEFORE, m, last->end);
        second.at = n->at;
        mfu_claim_state(r, &second, m.kind, MFU_AFTER, m, last->end);
        r->topic = m.kind;
        if (r->factor.times)
            mfu_claim_read_change(r, &r->factor);
        r->factor.times = false;
    } else if (two && second.value >= n->value) { /* a range: its middle, as wide as it is */
        n->half = 0.5 * (second.value - n->value) + second.half;
        n->value = 0.5 * (second.value + n->value);
        n->whole = false;
        mfu_claim_state(r, n, m.kind, MFU_BEFORE, m, last->end);
    } else {
        mfu_claim_state(r, n, m.kind, MFU_BEFORE, m, last->end);
        if ((n->roles | (m.begin < n->at ? mfu_claim_roles_before(&r->t, m.begin) : 0)) & MFU_W_KEEPS)
            mfu_claim_state(r, n, m.kind, MFU_AFTER, m, last->end);
    }
    return last->end;
}
