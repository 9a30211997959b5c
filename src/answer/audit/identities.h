/*
 * identities.h - intervals of quantities, and what identities leave of them.
 *
 * A quantity has a place before, after, and for after over before; the three are bound,
 * too.  All are positive.  Narrowing is sound: what it excludes cannot be.
 */
#ifndef MFU_IDENTITIES_H
#define MFU_IDENTITIES_H

#include <stdbool.h>

#include "answer/audit/quantities.h"

enum mfu_claim_state { MFU_BEFORE, MFU_AFTER, MFU_CHANGE, MFU_CLAIM_STATES };

struct mfu_interval {
    double low, high;
};

struct mfu_box {
    struct mfu_interval of[MFU_Q_COUNT][MFU_CLAIM_STATES];
};

/* An identity as terms: the first is one side, the sum of the others the other. */
#define MFU_TERMS 7
#define MFU_FACTORS 6
struct mfu_identity {
    const struct mfu_identity_row *row;
    char relation; /* '=', '<', '>' */
    int n_terms;
    struct mfu_term_of {
        double factor;
        int n;
        struct {
            int kind, power;
            bool change; /* NAME' */
        } of[MFU_FACTORS];
    } term[MFU_TERMS];
    enum mfu_claim_state state; /* where it is applied */
};
#define MFU_IDENTITIES 512 /* three for each of the table's rows, and room */

/* Every identity in every state in which it means something, at most MFU_IDENTITIES; how many. */
int mfu_identities(struct mfu_identity *list, bool two_states);

/* Whether it speaks of the quantity, and in which state. */
bool mfu_identity_has(const struct mfu_identity *, int kind, enum mfu_claim_state *);

/* All that is possible. */
void mfu_box_start(struct mfu_box *);

/* Narrows by one identity.  False: nothing is left of a quantity. */
bool mfu_identity_narrow(const struct mfu_identity *, struct mfu_box *);

/* Narrows until nothing changes, by the identities that are `on`, and by what binds before, after and change.  Those
 * that narrowed anything are `used`; the others may be left out. */
bool mfu_box_narrow(struct mfu_box *, const struct mfu_identity *, int n, const bool *on, bool *used);

/* Whether it is known to better than this factor. */
bool mfu_interval_within(struct mfu_interval, double factor);

#endif
