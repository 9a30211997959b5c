/*
 * claim_number.h - a number of a claim with its unit, in the spelling of claim_text.h.
 */
#ifndef MFU_CLAIM_NUMBER_H
#define MFU_CLAIM_NUMBER_H

#include <stdbool.h>

#include "answer/audit/claim_text.h"
#include "base/quantity.h"

struct mfu_claim_number {
    const char *at, *end; /* end: behind the unit */
    double value, half;   /* of the last digit that was printed */
    double factor;        /* to base units */
    enum mfu_dim dim;
    int roles;                                                                        /* of the small words before it */
    bool bare, whole, percent, times, money, any_flop, kilo, of_tokens, of_sequences; /* it counts them */
};

/* The number at `p` of `text`; false: there is none. */
bool mfu_claim_number(const char *text, const char *p, struct mfu_claim_number *);

/* Whether it is "... x 1024" that stands at `p`; the text begins with a blank. */
bool mfu_claim_is_factor(const char *p);

/* Gives a bare number the unit of the other, "from 3 to 5 GB"; whether both have the same unit then. */
bool mfu_claim_same_unit(struct mfu_claim_number *, struct mfu_claim_number *);

const char *mfu_claim_blanks(const char *p); /* behind them */

#endif
