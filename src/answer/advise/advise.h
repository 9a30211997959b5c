/*
 * advise.h - what could be changed, each change planned and simulated.
 *
 * A lever is a row of answer/advise/levers.c: the keys that it sets, when it applies,
 * what it risks.  Nothing about its effect is written there: every lever that
 * applies is planned like any scenario, and the sentence that explains it is the
 * difference of the two plans.  Speed is compared per token, so that levers
 * which change the tokens of a step are measured alike.
 */
#ifndef MFU_ADVISE_H
#define MFU_ADVISE_H

#include "answer/metric/table.h"
#include "answer/why/breakdown.h"

#define MFU_LEVER_KEYS 3 /* that one lever sets, at most */

enum {
    MFU_LEVER_MATHEMATICS = 1, /* another model, rounding or optimizer */
    MFU_LEVER_HARDWARE = 2,    /* needs what is not there yet */
    MFU_LEVER_ENVIRONMENT = 4, /* a fact about the machine, which no setting of a trainer changes */
};

struct mfu_lever_row {
    const char *name; /* "larger micro-batch" */
    struct {
        const char *key, *value;
    } set[MFU_LEVER_KEYS]; /* value: an expression */
    const char *when;      /* over settings, dims and results; NULL: always */
    const char *unless;    /* why not, if that is not true; NULL: passed over */
    unsigned flags;
    const char *risk; /* "" if nothing speaks against it */
};
extern const struct mfu_lever_row mfu_lever_rows[];
extern const size_t mfu_lever_row_count;

/* Whether the condition of a row holds for the plan (1 or 0); 0, too, where the model
 * has no such dim.  -1: out of memory. */
int mfu_lever_row_holds(const struct mfu_lever_row *, const struct mfu_plan *);

/* A scenario's figures, simulated. */
struct mfu_outcome {
    double step_s, tokens, mfu, hfu;
    double memory_bytes; /* as nvidia-smi shows it */
    double fill;
    double weight_bytes, gradient_bytes; /* of one parameter, as it computes */
    bool masters;                        /* fp32 weights beside them in the optimizer */
    bool fits;
    bool unsure;                                /* whether it does: something is not modelled */
    double group_s[MFU_G_COUNT];                /* of the step (split.h) */
    double parts[MFU_PART_COUNT], cached_bytes; /* of the memory */
};

enum mfu_lever_verdict {
    MFU_LEVER_FASTER,    /* fits and gains */
    MFU_LEVER_SMALLER,   /* fits and saves memory at little cost */
    MFU_LEVER_TOO_LARGE, /* would gain on a card with more memory */
    MFU_LEVER_USELESS    /* gains nothing here */
};

struct mfu_lever {
    const struct mfu_lever_row *row; /* NULL: another GPU */
    char change[64];                 /* "batch 16" */
    struct mfu_scenario scenario;
    /* `follows`: not chosen, but changed with the micro-batch (the loader's time) */
    struct {
        struct mfu_key key;
        double value;
        bool follows;
    } set[MFU_LEVER_KEYS + 1];
    int n_set;
    struct mfu_outcome outcome;
    double speedup; /* time per token before over after */
    bool keeps_tokens_per_step, changes_mathematics, hardware;
    enum mfu_lever_verdict verdict;
    bool aside;    /* one micro-batch of many: enough are better, or smaller and too large */
    char why[320]; /* what the difference consists of */
};

/* What does not apply, and why. */
struct mfu_refusal {
    char change[64], reason[200];
};

#define MFU_COMBINED 8 /* levers, at most */
struct mfu_combination {
    int n, levers[MFU_COMBINED]; /* indices of mfu_advice.levers; 0: none helps */
    struct mfu_scenario scenario;
    struct mfu_outcome outcome;
    double speedup;
    bool keeps_tokens_per_step, changes_mathematics;
    char why[320];
};

#define MFU_REFUSALS 24 /* at most */
struct mfu_advice {
    struct mfu_outcome base;
    struct mfu_lever *levers; /* best first; owned */
    int n_levers;
    struct mfu_refusal refused[MFU_REFUSALS];
    int n_refused;
    struct mfu_combination best;     /* same mathematics, tokens and hardware */
    struct mfu_combination best_any; /* mathematics may change */
    /* The highest MFU on this hardware: mathematics and tokens per step may change. */
    struct mfu_combination highest;
    double ceiling; /* its MFU; NAN when nothing fits */
    char loop[320]; /* what the step is of an iteration, where it is; "" */
    int simulated;  /* scenarios, for the curious */
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

/* ---- between the files of advise ------------------------------------------- */

/* A gain below this is none, and a loss no reason: far below the uncertainty of a plan. */
#define MFU_LEVER_WORTH 0.005
#define MFU_LEVER_SAVES 0.03 /* memory is worth saving from this share of it on (chosen) */

/* Sets what the lever chooses, not what follows from it. */
void mfu_lever_choose(const struct mfu_lever *, struct mfu_scenario *);

/* Whether both store and compute with numbers of the same width. */
bool mfu_same_numerics(const struct mfu_outcome *, const struct mfu_outcome *);

/* What the difference of two outcomes consists of, in words. */
void mfu_outcome_explain(const struct mfu_outcome *before, const struct mfu_outcome *after, char *text, size_t size);

/* Fills in best, best_any, highest and ceiling from the levers. */
int mfu_advise_together(const struct mfu_scenario *, struct mfu_advice *, struct mfu_plan *, struct mfu_simulation *,
                        struct mfu_error *err);

#endif
