/*
 * reading.h - a claim while it is read: what the files of this folder tell each other.
 *
 * The way of the data: names (claim_names.c) and ways of training (claim_ways.c) are found first, then every
 * number (read_figure.c) gets the phrase beside it (claim_phrases.c), else a part of what was told
 * (claim_shares.c) or what goes without a phrase (claim_kinds.c), and becomes a claim (claim_figure.c).
 */
#ifndef MFU_READING_H
#define MFU_READING_H

#include "answer/audit/audit.h"
#include "answer/audit/claim_number.h"
#include "answer/audit/claim_words.h"
#include "descriptor/gpu.h"

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
    bool whole;                     /* what is stated is that of all, whatever stands behind it */
    struct mfu_claim_number last;   /* the last figure with a unit */
    struct mfu_claim_number factor; /* of a change that is told next, if it is one */
    bool guessed;                   /* the next figure's kind is what its unit says */
    const char *shape;              /* where sizes are told, NULL: nowhere */
    int topic;                      /* what the last number was about; -1: none was read */
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
void mfu_claim_find_precisions(struct mfu_reading *);
/* "FP8 has 1979 TFLOP/s, bf16 989": the peak of another type than the one that is computed in is compared by itself. */
void mfu_claim_compare_peaks(struct mfu_reading *);

/* ---- shapes ------------------------------------------------------------------------- */

/* "a 4096x11008 projection": its sizes become claims, and no figure of something else. */
void mfu_claim_find_shapes(struct mfu_reading *);
/* The figures beside a shape that are those of what has it. */
void mfu_claim_place_shapes(struct mfu_reading *);

/* ---- phrases ------------------------------------------------------------------------ */

struct mfu_phrase {
    int kind;      /* MFU_Q_..., -1: none was found */
    size_t length; /* of the phrase */
    const char *begin, *end;
};

/* Whether its unit goes on, "12 byte/parameter": then only a phrase that goes on so is its.  What is said of each GPU
 * or of a step may leave that out. */
bool mfu_phrase_goes_on(const char *end);
/* Whether the number has the unit and the size of the quantity. */
bool mfu_phrase_suits(int kind, const char *phrase, const struct mfu_claim_number *);
/* The longest phrase that ends at `p` (before) or begins there; `near`: right beside the number; `again`: also one
 * that is another number's. */
void mfu_phrase_here(const struct mfu_reading *, const char *p, bool before, bool near, const struct mfu_claim_number *,
                     bool again, struct mfu_phrase *);
struct mfu_phrase mfu_phrase_behind(const struct mfu_reading *, const char *p, const struct mfu_claim_number *);
struct mfu_phrase mfu_phrase_before(const struct mfu_reading *, const char *p, const struct mfu_claim_number *,
                                    bool again);
/* The subject of its clause, however far before; that of a bare number, three words at most. */
struct mfu_phrase mfu_phrase_of_clause(const struct mfu_reading *, const char *p, const struct mfu_claim_number *);
/* Of one GPU or of all: behind a figure and its phrase, or before them.  0: not said; else characters behind it. */
int mfu_phrase_scope(const struct mfu_reading *, const struct mfu_phrase *, bool *all);

/* ---- what a figure says without a phrase; -1: nothing ----------------------------------- */

/* "Each step processes 4M tokens": what is counted of one of them, where there is a name for that. */
int mfu_kind_of_each(const struct mfu_reading *, const struct mfu_claim_number *, const struct mfu_phrase *);
/* It goes on with what the claim was about, or its unit says it. */
/* Whether a KV cache is told of before, whose bytes nobody has given yet. */
bool mfu_claim_is_of_cache(const struct mfu_reading *, const char *p);
/* What bytes are in a sentence about a checkpoint: that of the model, or of a part of it; -1: there is none. */
int mfu_kind_of_checkpoint(const struct mfu_reading *, const char *p);
int mfu_kind_of_unit(const struct mfu_reading *, const struct mfu_claim_number *, bool changes);
/* What a factor of a product is by what stands before it. */
int mfu_kind_of_factor(const struct mfu_reading *);
/* What was said of a part and its whole, "90 ms of a step of 600 ms, 15 %", or of the whole and the share. */
int mfu_kind_of_share(struct mfu_reading *, const struct mfu_claim_number *);
/* "312 TFLOP/s, we measured 187": where nothing is counted, the unit is that of the last figure, if that is of its
 * size. */
bool mfu_claim_leave_out_unit(const struct mfu_reading *, struct mfu_claim_number *);

/* ---- figures ------------------------------------------------------------------------- */

/* The quantity of one or of all that goes with one of all or of one ("tokens_per_s" and that of a GPU); -1: none. */
int mfu_kind_of_scope(int kind, bool all);
/* What one parameter has ("state_bytes") and all of them; -1: none. */
int mfu_kind_of_parameters(int kind, bool all);
/* Whether a figure of the quantity may be something else, too. */
bool mfu_kind_is_doubtful(int kind);
/* The interval as the small words before the number make it. */
struct mfu_interval mfu_claim_soften(const struct mfu_claim_number *, double value, struct mfu_interval);
/* What was stated of a quantity, not by a word; NULL: nothing. */
struct mfu_claim *mfu_claim_stated(struct mfu_audit *, int kind, enum mfu_claim_state);
/* Makes a claim of a figure; `end`: behind it. */
void mfu_claim_state(struct mfu_reading *, const struct mfu_claim_number *, int kind, enum mfu_claim_state,
                     struct mfu_phrase, const char *end);
/* "90 ms of a 600 ms step", "28 GB of 112 GB of states per GPU", "15 % of 312 TFLOP/s": a part or a share, and the
 * whole; behind both, NULL: it is none. */
const char *mfu_claim_take_part(struct mfu_reading *, struct mfu_claim_number *, struct mfu_phrase);
/* "22.1 of 24 GB": the unit of the whole is that of the part. */
void mfu_claim_unit_of_whole(const struct mfu_reading *, struct mfu_claim_number *);
/* "187 TFLOP/s (60 %)", "from 1.9 to 2.5 it/s (+32 %)": a share of what stands right before, or its change. */
bool mfu_claim_take_aside(struct mfu_reading *, struct mfu_claim_number *);
/* "4x faster", "19 % higher tokens/s", "2x the MFU", "the MFU doubled", "fell by 20 %", "up 50 %". */
bool mfu_claim_read_change(struct mfu_reading *, struct mfu_claim_number *);
/* Reads a number, and a second one that goes with it; behind them. */
const char *mfu_claim_take_number(struct mfu_reading *, struct mfu_claim_number *);

#endif
