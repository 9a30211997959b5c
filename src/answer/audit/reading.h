/*
 * reading.h - a claim while it is read: what the files of this folder tell each other.
 *
 * The claim gets one spelling (claim_text.c); names (claim_names.c), ways of training (claim_ways.c), shapes
 * (claim_shapes.c) and equations (arithmetic.c) are found; then every number (read_claim.c) gets the quantities that
 * it may be (bind.c), of which audit.c chooses.  What only its units explain is left to arithmetic.c.
 */
#ifndef MFU_READING_H
#define MFU_READING_H

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>

#include "answer/audit/audit.h"
#include "base/quantity.h"
#include "descriptor/gpu.h"

/* ---- spelling: small letters, one word for one thing, no plurals, "/" for "per"; every byte knows which of the claim it is */

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

/* How long groups of three digits are that begin at `p`, "1 048 576"; 0: there are not three groups.  `one`: they are a
 * number for sure; else they may be a list, "100 200 300". */
size_t mfu_claim_groups(const char *claim, const char *p, bool *one);

/* What the claim says there.  Returns `buf`. */
const char *mfu_claim_text_quote(const struct mfu_claim_text *, const char *from, const char *to, char *buf,
                                 size_t size);

/* Somebody understood what stands there. */
void mfu_claim_use(struct mfu_claim_text *, const char *from, const char *to);

/* And it is no figure of its own. */
void mfu_claim_take(struct mfu_claim_text *, const char *from, const char *to);

/* Whether it can be part of a word. */
bool mfu_claim_letter(char);

/* Whether `word` stands at `p`, and ends there. */
bool mfu_claim_stands(const char *p, const char *word);

/* How long what claims count, and say of each of it ("gpu", "step"), is at `p`; 0: not there. */
size_t mfu_claim_counted(const char *p);

/* Where the word or the sign before `p` begins, blanks skipped; `p` where there is none. */
const char *mfu_claim_back(const struct mfu_claim_text *, const char *p);

/* ---- numbers with their units */

struct mfu_claim_number {
    const char *at, *end; /* end: behind the unit */
    double value, half;   /* of the last digit that was printed */
    double factor;        /* to base units */
    enum mfu_dim dim;
    int roles; /* of the small words before it */
    bool bare, whole, percent, times, money, energy, any_flop, kilo, of_tokens, of_sequences; /* it counts them */
};

/* The number at `p` of `text`; false: there is none. */
bool mfu_claim_number(const char *text, const char *p, struct mfu_claim_number *);

/* Whether it is "... x 1024" that stands at `p`; the text begins with a blank. */
bool mfu_claim_is_factor(const char *p);

/* Gives a bare number the unit of the other, "from 3 to 5 GB"; whether both have the same unit then. */
bool mfu_claim_same_unit(struct mfu_claim_number *, struct mfu_claim_number *);

const char *mfu_claim_blanks(const char *p); /* behind them */

/* ---- small words: what each says of the figure beside it */

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

/* How long the first of the words of a list, "a|b", is that stands at `p` and ends there; 0: none does. */
size_t mfu_claim_one_of(const char *list, const char *p);

/* The word from `p` on, whole; NULL: not there. */
char *mfu_claim_find_word(const struct mfu_claim_text *, char *p, const char *word);

/* The same from the beginning on. */
char *mfu_claim_says(const struct mfu_claim_text *, const char *word);

static inline bool mfu_digit(char c)
{
    return isdigit((unsigned char)c);
}

static inline bool mfu_alpha(char c)
{
    return isalpha((unsigned char)c);
}

struct mfu_model;

struct mfu_reading {
    struct mfu_audit *audit;
    struct mfu_catalog *catalog;
    struct mfu_claim_text t;
    const struct mfu_gpu *gpu[2];
    char called[2][64]; /* as the claim calls them */
    const struct mfu_model *model;
    enum mfu_peak peak;
    bool sparse, training;
    struct mfu_claim_number last;   /* the last FLOP/s, */
    struct mfu_claim_number time;   /* and the last time */
    struct mfu_claim_number factor; /* of a change that is told next, if it is one */
    enum mfu_shaped {
        MFU_NO_SHAPE,
        MFU_OF_PRODUCT,
        MFU_OF_ADAPTER,
        MFU_OF_EMBEDDING,
        MFU_OF_MATRIX
    } thing;   /* what has the sizes that are told */
    int topic; /* what the last number was about; -1: none was read */
};

/* ---- names of the catalog, and what it knows of them ----------------------------- */

/* Puts "gpu" and "model" for their names. */
void mfu_claim_find_names(struct mfu_reading *);
/* Peaks, sizes, bandwidths, each as a claim of the catalog; what is computed in a type for which the card has no
 * arithmetic has no peak. */
void mfu_claim_add_gpus(struct mfu_reading *);
/* Parameters, FLOP per token and sequence of the model that is named, planned on the card of `start`. */
int mfu_claim_add_model(struct mfu_reading *, const struct mfu_scenario *start, struct mfu_error *);
/* A peak binds what is achieved or used of it: where neither is told beside it, "deliver 400 TFLOP/s" is none; nor where
 * the card has its own. */
void mfu_claim_drop_peaks(struct mfu_reading *);

/* ---- ways of training and types of numbers ----------------------------------------- */

/* What is read as one of them is taken. */
void mfu_claim_find_ways(struct mfu_reading *);
/* "6ND", "8ND", "2N" at `p`, FLOP by parameters and tokens: how long it is, 0: it is none. */
size_t mfu_claim_formula(const struct mfu_claim_text *, const char *p);
void mfu_claim_find_precisions(struct mfu_reading *);
/* "FP8 has 1979 TFLOP/s, bf16 989": the peak of another type than the one that is computed in is compared by itself. */
void mfu_claim_compare_peaks(struct mfu_reading *);

/* ---- what is no quantity: years, versions, scores, settings that no identity has; their numbers are taken */

void mfu_claim_set_aside(struct mfu_reading *);

/* ---- shapes ------------------------------------------------------------------------- */

/* "a 4096x11008 projection": its sizes become claims, and no figure of something else. */
void mfu_claim_find_shapes(struct mfu_reading *);

/* ---- figures ------------------------------------------------------------------------- */

#define MFU_SLOTS 6
struct mfu_told {
    struct mfu_claim_number n;
    bool whole; /* it is that of all, whatever stands behind it */
    int n_slots;
    struct mfu_slot {
        int kind;
        double score;
        const char *begin, *end; /* of its words; the number's where there are none */
    } slots[MFU_SLOTS];          /* what it may be, the likeliest first */
};

/* Finds what it may be. */
void mfu_told_find(struct mfu_reading *, struct mfu_told *);
/* It may be this, too. */
void mfu_told_may_be(struct mfu_told *, int kind, double score, const char *begin, const char *end);
/* "90 ms of a 600 ms step", "15 % of 312 TFLOP/s": a part or a share, and the whole. */
void mfu_told_part_of(const struct mfu_reading *, struct mfu_told *part, struct mfu_told *whole);
/* Makes a claim of it; NULL: it may be nothing, or there is no room. */
struct mfu_claim *mfu_told_claim(struct mfu_reading *, struct mfu_told *, enum mfu_claim_state);
/* The interval as the small words before the number make it. */
struct mfu_interval mfu_claim_soften(const struct mfu_claim_number *, double value, struct mfu_interval);
/* What was stated of a quantity, not by a word (told: before); NULL: nothing. */
struct mfu_claim *mfu_claim_stated(struct mfu_audit *, int kind, enum mfu_claim_state);
struct mfu_claim *mfu_claim_told(struct mfu_audit *, int kind);
/* The last one; NULL: there is none. */
struct mfu_claim *mfu_claim_last(struct mfu_audit *);

/* Whether GPUs tell each other something: rates and times without words are of that. */
bool mfu_claim_is_collective(const struct mfu_claim_text *);

/* What stands there is not understood for sure. */
void mfu_claim_doubt(struct mfu_reading *, const char *from, const char *to);

/* ---- what a claim computes itself ("6 x 7B x 2T = 8.4e22", "156 GB at 2 GB/s take 78 s"): of all that is found it gets
 * one pair of MFU_Q_COMPUTED, one that contradicts before one that holds */

/* All equations, whose figures are used then.  What is nothing but a factor in one is taken. */
void mfu_claim_equations(struct mfu_audit *, struct mfu_claim_text *);

/* Figures that nobody used yet, with those beside them whose units cancel theirs; they are used then. */
void mfu_claim_units(struct mfu_audit *, struct mfu_claim_text *);

#endif
