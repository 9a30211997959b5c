/*
 * claim_text.h - a claim in one spelling: small letters, one word for one thing, no plurals, "/" for "per".
 *
 * Every byte knows which bytes of the claim it stands for, so that what is quoted is what was said.
 */
#ifndef MFU_CLAIM_TEXT_H
#define MFU_CLAIM_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#define MFU_CLAIM_LONGEST 2048 /* characters of a claim */
#define MFU_CLAIM_ROOM 4160    /* and of it in this spelling: what does not fit keeps its own */

struct mfu_claim_text {
    const char *claim; /* lent */
    char text[MFU_CLAIM_ROOM];
    unsigned short from[MFU_CLAIM_ROOM], to[MFU_CLAIM_ROOM]; /* of each byte, in the claim */
    bool used[MFU_CLAIM_ROOM];                               /* somebody understood it, */
    bool taken[MFU_CLAIM_ROOM];                              /* and it is no figure of its own */
    bool operand[MFU_CLAIM_ROOM];                            /* of an equation */
};

/* Small letters and signs; `claim` is no longer than MFU_CLAIM_LONGEST and stays. */
void mfu_claim_text_start(struct mfu_claim_text *, const char *claim);

/* Words, once names have been found: those may not be spelled otherwise. */
void mfu_claim_text_words(struct mfu_claim_text *);

/* Puts `by` where `n` bytes stand; what is behind it, or behind them where there is no room. */
char *mfu_claim_text_replace(struct mfu_claim_text *, char *at, size_t n, const char *by);

/* What the claim says there.  Returns `buf`. */
const char *mfu_claim_text_quote(const struct mfu_claim_text *, const char *from, const char *to, char *buf,
                                 size_t size);

/* Somebody understood what stands there. */
void mfu_claim_use(struct mfu_claim_text *, const char *from, const char *to);

/* Whether it can be part of a word. */
bool mfu_claim_letter(char);

/* Whether `word` stands at `p`, and ends there. */
bool mfu_claim_stands(const char *p, const char *word, size_t n);

/* What claims count, and say of each of it ("gpu", "step"), where it stands at `p`; NULL: not there. */
const char *mfu_claim_counted(const char *p);

/* Where the word or the sign before `p` begins, blanks skipped; `p` where there is none. */
const char *mfu_claim_back(const struct mfu_claim_text *, const char *p);

#endif
