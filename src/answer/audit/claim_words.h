/*
 * claim_words.h - the small words of claims: what each of them says of the figure beside it.
 */
#ifndef MFU_CLAIM_WORDS_H
#define MFU_CLAIM_WORDS_H

#include "answer/audit/claim_text.h"

/* What a word says; several may be said at once. */
enum {
    MFU_W_BETWEEN = 1 << 0, /* may stand between a number and its phrase, */
    MFU_W_BEHIND = 1 << 1,  /* if that comes later, too */
    MFU_W_ABOUT = 1 << 2,
    MFU_W_NEARLY = 1 << 3,
    MFU_W_LEAST = 1 << 4, /* a bound, before a number */
    MFU_W_MOST = 1 << 5,
    MFU_W_NOT = 1 << 6,
    MFU_W_UP = 1 << 7, /* before a factor or a percentage: which way */
    MFU_W_DOWN = 1 << 8,
    MFU_W_MORE = 1 << 9, /* the same, behind it */
    MFU_W_LESS = 1 << 10,
    MFU_W_SPEED = 1 << 11, /* of what, if nothing is named */
    MFU_W_COST = 1 << 12,
    MFU_W_FROM = 1 << 13,   /* what was before */
    MFU_W_AFTER = 1 << 14,  /* behind a number: what is now */
    MFU_W_KEEPS = 1 << 15,  /* the same before and after */
    MFU_W_ONE_OF = 1 << 16, /* what is said next is said of one */
    MFU_W_TRAINS = 1 << 17, /* the claim is about training, not about a model at rest */
    MFU_W_HENCE = 1 << 18,  /* what is said next follows from what was said */
    MFU_W_EQUALS = 1 << 19  /* or is the same in other units */
};

/* What the word or the sign at `p` says: MFU_W_..., 0: nothing. */
int mfu_claim_role(const char *p);

/* What the small words before a number at `p` say together. */
int mfu_claim_roles_before(const struct mfu_claim_text *, const char *p);

/* Where the word or the sign at `p` ends. */
const char *mfu_claim_word_end(const char *p);

/* The word before a number at `p`, small ones skipped. */
const char *mfu_claim_subject(const struct mfu_claim_text *, const char *p);

/* Behind "about" and blanks at `p`; whether it stood there. */
const char *mfu_claim_skip_about(const char *p, bool *about);

/* The word from `p` on, whole; NULL: not there. */
char *mfu_claim_find_word(const struct mfu_claim_text *, char *p, const char *word);

#endif
