/*
 * advise.h - what could be changed, each change planned and simulated.
 *
 * A lever is a row of answer/levers.c: the keys that it sets, when it applies,
 * what it risks.  Nothing about its effect is written there: every lever that
 * applies is planned like any scenario, and the sentence that explains it is the
 * difference of the two plans.  Speed is compared per token, so that levers
 * which change the tokens of a step are measured alike.
 */
#ifndef MFU_ADVISE_H
#define MFU_ADVISE_H

#include "answer/results.h"
#include "answer/split.h"

#define MFU_LEVER_KEYS 3        /* that one lever sets, at most */

enum {
    MFU_LEVER_MATHEMATICS = 1,  /* another model, rounding or optimizer */
    MFU_LEVER_HARDWARE = 2,     /* needs what is not there yet */
};

struct mfu_lever_row {
    const char *name;           /* "larger micro-batch" */
    /* value: an expression; `follows`: not chosen, but changed with the others */
    struct { const char *key, *value; bool follows; } set[MFU_LEVER_KEYS];
    const char *when;           /* over settings, dims and results; NULL: always */
    const char *unless;         /* why not, if that is not true; NULL: passed over */
    unsigned flags;
    const char *risk;           /* "" if nothing speaks against it */
};
extern const struct mfu_lever_row mfu_lever_rows[];
extern const size_t mfu_lever_row_count;

/* A scenario's figures, simulated. */
struct mfu_outcome {
    double step_s, tokens, mfu, hfu;
    double memory_bytes;        /* as nvidia-smi shows it */
    double fill;
    bool fits;
    double group_s[MFU_G_COUNT];        /* of the step (split.h) */
    double parts[MFU_PART_COUNT], cached_bytes;         /* of the memory */
};

enum mfu_lever_verdict {
    MFU_LEVER_FASTER,           /* fits and gains */
    MFU_LEVER_SMALLER,          /* fits and saves memory at little cost */
    MFU_LEVER_TOO_LARGE,        /* would gain on a card with more memory */
    MFU_LEVER_USELESS           /* gains nothing here */
};

struct mfu_lever {
    const struct mfu_lever_row *row;    /* NULL: another GPU */
    char change[64];            /* "batch 16" */
    struct mfu_scenario scenario;
    struct { struct mfu_key key; double value; bool follows; } set[MFU_LEVER_KEYS];
    int n_set;
    struct mfu_outcome outcome;
    double speedup;             /* time per token before over after */
    bool keeps_tokens_per_step, changes_mathematics, hardware;
    enum mfu_lever_verdict verdict;
    char why[320];              /* what the difference consists of */
};

/* What does not apply, and why. */
struct mfu_refusal { char change[64], reason[200]; };

#define MFU_COMBINED 8          /* levers, at most */
struct mfu_combination {
    int n, levers[MFU_COMBINED];        /* indices of mfu_advice.levers; 0: none helps */
    struct mfu_scenario scenario;
    struct mfu_outcome outcome;
    double speedup;
    bool keeps_tokens_per_step, changes_mathematics;
    char why[320];
};

#define MFU_REFUSALS 24         /* at most */
struct mfu_advice {
    struct mfu_outcome base;
    struct mfu_lever *levers;   /* best first; owned */
    int n_levers;
    struct mfu_refusal refused[MFU_REFUSALS];
    int n_refused;
    struct mfu_combination best;        /* same mathematics, tokens and hardware */
    struct mfu_combination best_any;    /* mathematics may change */
    double ceiling;             /* highest MFU among all that fit on this hardware */
    int simulated;              /* scenarios, for the curious */
};

/* `plan` and `simulation` are scratch and end as those of `scenario`. */
int mfu_advise(const struct mfu_scenario *, struct mfu_plan *plan, struct mfu_simulation *simulation,
               struct mfu_advice *, struct mfu_error *err);

/* Other GPUs instead of levers, everything else equal. */
int mfu_advise_gpus(const struct mfu_scenario *, const struct mfu_gpu *const *gpus, size_t n, struct mfu_plan *plan,
                    struct mfu_simulation *simulation, struct mfu_advice *, struct mfu_error *err);

void mfu_advice_free(struct mfu_advice *);

/* Plans and simulates one scenario. */
int mfu_outcome_of(const struct mfu_scenario *, struct mfu_plan *, struct mfu_simulation *, struct mfu_outcome *,
                   struct mfu_error *err);

/* Time per token of `a` over that of `b`. */
double mfu_speedup(const struct mfu_outcome *a, const struct mfu_outcome *b);

#endif
