/*
 * claim_shares.c - a part, the whole and its share: "90 ms of a 600 ms step", "187 TFLOP/s (60 %)".
 */
#include "answer/audit/reading.h"

#include <ctype.h>
#include <string.h>

// clang-format off
/* A part, the whole and its share; the last of a dimension: of parts that have no name. */
static const struct { int part, whole, share; } shares[] = {
    {MFU_Q_FORWARD_TIME, MFU_Q_STEP_TIME, MFU_Q_FORWARD}, {MFU_Q_BACKWARD_TIME, MFU_Q_STEP_TIME, MFU_Q_BACKWARD},
    {MFU_Q_OPTIMIZER_TIME, MFU_Q_STEP_TIME, MFU_Q_OPTIMIZER}, {MFU_Q_COMMUNICATION_TIME, MFU_Q_STEP_TIME, MFU_Q_COMMUNICATION},
    {MFU_Q_COMPUTE_TIME, MFU_Q_STEP_TIME, MFU_Q_COMPUTE}, {MFU_Q_LOST_TIME, MFU_Q_DURATION, MFU_Q_LOST}, {MFU_Q_PART_TIME, MFU_Q_STEP_TIME, MFU_Q_UNTOUCHED}, {MFU_Q_ACTIVE, MFU_Q_PARAMS, MFU_Q_ACTIVE_SHARE}, {MFU_Q_TRAINABLE, MFU_Q_PARAMS, MFU_Q_TRAINABLE_SHARE},
    {MFU_Q_ACHIEVED, MFU_Q_PEAK, MFU_Q_MFU}, {MFU_Q_MEMORY, MFU_Q_CAPACITY, MFU_Q_FILL}};
// clang-format on

#define N(list) (sizeof(list) / sizeof(list)[0])

int mfu_kind_of_share(struct mfu_reading *r, const struct mfu_claim_number *n)
{
    for (size_t i = 0; i < N(shares); i++) {
        bool part = mfu_claim_stated(r->audit, shares[i].part, MFU_BEFORE),
             share = mfu_claim_stated(r->audit, shares[i].share, MFU_BEFORE);
        bool known = r->gpu[0] && shares[i].whole == MFU_Q_PEAK && part;

        if ((!known && !mfu_claim_stated(r->audit, shares[i].whole, MFU_BEFORE)) || part == share)
            continue;
        if (part ? n->percent : !n->bare && n->dim == mfu_quantity_rows[shares[i].part].dim)
            return part ? shares[i].share : shares[i].part;
    }
    return -1;
}

/* The number behind "of" or "out of": a whole. */
static bool read_whole(const struct mfu_reading *r, const struct mfu_claim_number *n, struct mfu_claim_number *whole)
{
    const char *p = mfu_claim_blanks(n->end);

    if (mfu_claim_stands(p, "out", 3))
        p = mfu_claim_blanks(mfu_claim_word_end(p));
    if (*p == '/' && isdigit((unsigned char)*mfu_claim_blanks(p + 1))) /* "22.1 GiB / 24 GiB", "22.1/24 GB" */
        return mfu_claim_number(r->t.text, mfu_claim_blanks(p + 1), whole)
            && whole->dim == (n->bare ? MFU_BYTES : n->dim);
    if (!mfu_claim_stands(p, "of", 2))
        return false;
    for (int i = 0; i < 3 && mfu_claim_role(p) & (MFU_W_BEHIND | MFU_W_ONE_OF); i++)
        p = mfu_claim_blanks(mfu_claim_word_end(p));
    if (!mfu_claim_number(r->t.text, p, whole) || (whole->bare && mfu_claim_counted(mfu_claim_blanks(whole->end))))
        return false;
    mfu_claim_leave_out_unit(r, whole);
    return true;
}

void mfu_claim_unit_of_whole(const struct mfu_reading *r, struct mfu_claim_number *n)
{
    struct mfu_claim_number whole;

    if (n->bare && read_whole(r, n, &whole) && whole.dim == MFU_BYTES)
        mfu_claim_same_unit(n, &whole);
}

const char *mfu_claim_take_part(struct mfu_reading *r, struct mfu_claim_number *n, struct mfu_phrase m)
{
    struct mfu_claim_number whole;
    struct mfu_phrase behind;
    int part = -1, all = -1;
    size_t last = 0; /* row; of those that could be, one whose part was told, else the last */

    if (n->times || !read_whole(r, n, &whole)
        || (n->percent ? whole.bare : !mfu_claim_same_unit(&whole, n) && !mfu_claim_same_unit(n, &whole)))
        return NULL;
    behind = mfu_phrase_behind(r, whole.end, &whole);
    if (behind.kind == MFU_Q_MEMORY) /* "of 24 GB used" */
        behind.kind = -1;
    if (m.kind < 0 && n->percent)
        m = mfu_phrase_of_clause(r, n->at, n);
    for (size_t i = 0; i < N(shares); i++) {
        int kind = n->percent ? shares[i].share : shares[i].part;

        if (mfu_quantity_rows[shares[i].whole].dim == whole.dim && (behind.kind < 0 || behind.kind == shares[i].whole)
            && (m.kind < 0 || m.kind == kind)
            && (part < 0 || !n->percent || !mfu_claim_stated(r->audit, shares[last].part, MFU_BEFORE))) {
            last = i;
            part = kind;
            all = shares[i].whole;
        }
    }
    if (!n->percent && part < 0 && behind.kind >= 0 && mfu_kind_of_scope(behind.kind, false) == behind.kind
        && mfu_quantity_rows[behind.kind].dim == n->dim) {
        part = behind.kind;
        all = mfu_kind_of_scope(behind.kind, true);
    }
    if (part < 0)
        return NULL;
    mfu_claim_state(r, n, part, MFU_BEFORE, m, n->end);
    if (behind.kind < 0)
        behind = (struct mfu_phrase){.begin = whole.at, .end = whole.end};
    r->whole = true;
    mfu_claim_state(r, &whole, all, MFU_BEFORE, behind, whole.end);
    r->whole = false;
    return whole.end;
}

bool mfu_claim_take_aside(struct mfu_reading *r, struct mfu_claim_number *n)
{
    const char *p = mfu_claim_back(&r->t, n->at);
    const struct mfu_claim *last = r->audit->n_claims > 0 ? &r->audit->claims[r->audit->n_claims - 1] : NULL;
    const struct mfu_claim *before;
    int sign = *p == '+' ? 1 : *p == '-' ? -1 : 0;
    struct mfu_phrase m = {.begin = n->at, .end = n->end, .kind = -1};

    if (sign != 0)
        p = mfu_claim_back(&r->t, p);
    if (!n->percent || !last || mfu_phrase_behind(r, n->end, n).kind >= 0)
        return false;
    if (*p != '(')
        return false;
    before = mfu_claim_stated(r->audit, last->kind, MFU_BEFORE); /* it may have become another kind by its size */
    if (last->state == MFU_AFTER && last->kind == r->topic && before) {
        n->roles |= sign < 0 || (sign == 0 && last->value < before->value) ? MFU_W_DOWN : MFU_W_UP;
        return mfu_claim_read_change(r, n);
    }
    for (size_t i = 0; i < N(shares); i++)
        if (shares[i].part == last->kind)
            m.kind = shares[i].share;
    if (m.kind >= 0)
        mfu_claim_state(r, n, m.kind, last->state, m, n->end);
    return m.kind >= 0;
}
