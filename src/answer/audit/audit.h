/*
 * audit.h - a claim in words and figures: what it says, which identities bind that, and
 * whether all of it can be true.
 *
 * A figure is an interval as wide as its last printed digit.  What contradicts is a set
 * of claims and identities of which none can be left out; for each of its claims it is
 * said what would have to be true instead.
 */
#ifndef MFU_AUDIT_H
#define MFU_AUDIT_H

#include "answer/audit/identities.h"

struct mfu_catalog;
struct mfu_error;
struct mfu_scenario;

#define MFU_CLAIMS 64   /* of one audit: what is beyond is listed as not understood */
#define MFU_FINDINGS 48 /* identities that are told of */
#define MFU_READINGS 5  /* of a figure, but for the first */
#define MFU_OPEN (-1)
#define MFU_NEEDS 1200 /* bytes of what would have to be true */

struct mfu_claim {
    int kind; /* MFU_Q_... */
    enum mfu_claim_state state;
    double value; /* NAN: an interval only */
    struct mfu_interval in;
    const char *from; /* "stated", "catalog", "assumed" */
    char text[80];
    struct mfu_interval others; /* what the other claims leave; within the quantity's range */
    struct mfu_claim_reading {
        int kind;
        enum mfu_claim_state state;
        struct mfu_interval in;
        double value, cost;   /* cost: how much less likely it is than the likeliest */
    } readings[MFU_READINGS]; /* what else it may be, the likeliest first */
    int n_readings;
    int at;             /* where its number stands in the text as it is read; 0: no number says it */
    unsigned relations; /* which products of amounts that hold it is a part of */
    bool guessed;       /* only by its unit */
    bool computed;      /* an equation of the claim, or its units, bind it */
    bool inferred;      /* told after another figure of its kind, by no word: of something else, or afterwards */
    bool flat;          /* not said whether of one or of all */
    bool follows;       /* told as what follows from the rest: "so", "i.e." */
    bool contradicts;   /* part of a contradiction */
    bool matters;       /* or of an identity that is told of */
};

struct mfu_audit_finding {
    const struct mfu_identity_row *row;
    enum mfu_claim_state state;
    double holds; /* 1, 0; NAN: it gives what nothing else does; MFU_OPEN: too little is known */
    char needs[MFU_NEEDS];
};

struct mfu_contradiction {
    char text[600];        /* the claims that cannot all be true */
    char needs[MFU_NEEDS]; /* "; " between what would have to be true instead */
};
#define MFU_CONTRADICTIONS 4

struct mfu_audit {
    char *text; /* owned */
    struct mfu_claim claims[MFU_CLAIMS];
    struct mfu_audit_finding findings[MFU_FINDINGS];
    struct mfu_contradiction contradictions[MFU_CONTRADICTIONS];
    int n_claims, n_findings, n_contradictions;
    bool several;           /* it speaks of one of several GPUs */
    char missing[200];      /* where it is open, what would have to be told; "; " between */
    char unread[400];       /* "; " between what was not understood */
    char unread_figure[80]; /* an amount among that, or one that was read but may be of something else */
    char loose[80];         /* a figure of an outcome that nothing else in it binds */
    const char *verdict;    /* "holds", "contradicts", "open": nothing in it binds anything else */
};

/* A table's rows, or the lines of a text, one audit each. */
struct mfu_audits {
    struct mfu_audit *list;
    size_t n;
    const char *verdict; /* contradicts where one does, open where none binds anything, else holds */
};

/* Takes `text` apart: one claim, or a table (CSV, or Markdown with |) whose first line has the names.  `start`
 * has the GPU on which FLOP of a named model are counted.  Release with mfu_audits_free; NULL with `err`. */
struct mfu_audits *mfu_audit(struct mfu_catalog *, const struct mfu_scenario *start, const char *text,
                             struct mfu_error *err);
void mfu_audits_free(struct mfu_audits *);

/* ---- for the files of this folder ------------------------------------------- */

/* Reads one claim into a zeroed audit: claims and unread. */
int mfu_claim_read(struct mfu_catalog *, const struct mfu_scenario *start, const char *text, struct mfu_audit *,
                   struct mfu_error *err);

/* A claim, unless there is no room. */
struct mfu_claim *mfu_claim_add(struct mfu_audit *, int kind, enum mfu_claim_state, double low, double high,
                                const char *from, const char *format, ...) __attribute__((format(printf, 7, 8)));

/* The text with one row, from 1, of its table told in words, or (pair) with what changes from the first to that
 * row; owned by the caller, NULL: it has none, or memory ran out, as `err` says. */
char *mfu_table_spell(const char *text, int row, bool pair, struct mfu_error *err);

/* Whether it says something of the quantity. */
bool mfu_audit_claims(const struct mfu_audit *, int kind, enum mfu_claim_state);
bool mfu_claim_has(const struct mfu_audit *, int kind); /* before */

/* "56.1 k tokens_per_s", "1.9 to 2.1 times": an interval in the quantity's unit. */
#define MFU_INTERVAL_TEXT 128
const char *mfu_interval_format(char buf[MFU_INTERVAL_TEXT], struct mfu_interval, int kind, enum mfu_claim_state);

#endif
