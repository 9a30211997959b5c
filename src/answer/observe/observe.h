/*
 * observe.h - a run that was measured, beside its prediction.
 *
 * Reads a training log or figures given by hand, drops what is not steady
 * state and says so, works out the configuration from what the log states (over
 * a configuration file, over the scenario), and explains the differences: by
 * the convention of an MFU, by a size that cannot be, by what would make a step
 * slower or faster.
 */
#ifndef MFU_OBSERVE_H
#define MFU_OBSERVE_H

#include "read/logs/log_format.h"
#include "plan/plan.h"
#include "plan/simulation.h"

struct mfu_catalog;
struct mfu_error;

struct mfu_observe_request {
    const char *log;         /* a file, or NULL */
    const char *config;      /* a nanoGPT config or the like, or NULL */
    const char *figures;     /* "step_ms 9340 mfu 15.4 batch 8", or NULL */
    const char *const *more; /* of the same run: other ranks' logs, later parts; NULL at the end, or NULL */
};

/* A setting that was understood: by name, or as a number. */
struct mfu_understood {
    char key[32];
    double value;
    char word[MFU_QUANTITY_MAX]; /* of a choice, or of a set of them; "": the value is the number */
    const char *origin;          /* "log", "config", "command", "derived"; the program's title */
    int line;                    /* 0: none */
};

/* A figure beside its prediction; NAN where there is none. */
struct mfu_compared {
    const char *name;
    enum mfu_dim dim;
    double measured, predicted, low, high;
};

struct mfu_finding {
    const char *code; /* of the interface: "mfu-convention" ... */
    char message[560];
    double peak_flops, mfu;                               /* of mfu-convention */
    double implied_params, stated_params, implied_n_embd; /* of size-contradiction */
};

/* What could explain the gap between measurement and prediction. */
struct mfu_candidate {
    char change[96];     /* "attention math instead of flash" */
    double step_time_s;  /* predicted with it; NAN: a measured share */
    double share;        /* of the gap */
    const char *confirm; /* what would show it */
};

/* The most of each in one answer. */
#define MFU_DROPPED 6
#define MFU_FINDINGS 10
#define MFU_CANDIDATES 6
#define MFU_NOTES 12

/* What step time and logged MFU say together about the size; NAN where they say
 * nothing. */
struct mfu_implied {
    double factor;                   /* FLOP per token that they imply, over what the log or the plan counts */
    double params, configured;       /* N as the convention counts it: implied, and planned */
    double free_params, free_n_embd; /* implied, if the width is what differs */
    double rounding;                 /* relative difference that means nothing */
    bool contradicts;                /* the configuration, from log or user */
};

struct mfu_observation {
    bool lost;                           /* memory had no room for a part of it: mfu_observe() fails */
    const struct mfu_log_format *format; /* NULL: figures */
    char path[256];                      /* "" figures */
    const char *source;                  /* "nanogpt-log", "figures" */
    size_t lines_used;
    int first_line, last_line;
    struct {
        const char *reason;
        size_t count;
    } dropped[MFU_DROPPED];
    int n_dropped;

    struct mfu_understood understood[MFU_LOG_SETTINGS + 8];
    int n_understood;
    char notes[MFU_NOTES][256]; /* what was assumed, and what to know */
    int n_notes;

    double figure[MFU_FIGURE_COUNT];     /* steady: medians; NAN */
    bool contradicted[MFU_FIGURE_COUNT]; /* by another figure, or by what the card can */
    double spread;                       /* of the step time, robust, relative; NAN */
    double work;                         /* MFU times seconds of a step over that of the figures */
    bool only_windows;                   /* every step follows an evaluation or a checkpoint */
    double stalls, stalled;              /* share of steps that are slow again and again, of the time lost; 0 */
    double tokens_per_step;
    bool tokens_stated;     /* by themselves, and the settings give them */
    bool batch_guessed;     /* tokens per step are stated, the micro-batch is not */
    bool batch_open;        /* nor does a program: therefore it is not predicted */
    double params;          /* stated, or NAN */
    double params_digit;    /* what its last digit is worth */
    double recent_s;        /* median of the last few steps, whatever the others take; NAN: too few */
    double drift;           /* of the step time over the run; NAN: too few steps */
    bool model_unknown;     /* nobody says which model it was */
    bool rate_per_gpu;      /* tokens/s are one GPU's */
    double gpus;            /* of the run, whatever the plan below is of */
    double mfu;             /* against this GPU's own peak, by time and configuration; NAN */
    const char *convention; /* of the logged MFU; NULL */
    bool convention_assumed;
    double peak_flops; /* that the logged MFU is divided by; NAN */
    double counted;    /* FLOP per token that it counts: the log's word, else the convention's */
    struct mfu_implied implied;

    struct mfu_plan plan; /* of the configuration */
    struct mfu_simulation simulation;
    bool predicted; /* else why_not */
    char why_not[256];
    struct mfu_compared compared[MFU_FIGURE_COUNT + 2];
    int n_compared;
    struct mfu_finding findings[MFU_FINDINGS];
    int n_findings;
    struct mfu_candidate candidates[MFU_CANDIDATES];
    int n_candidates;
};

/* NULL with `err`.  `current` is the scenario that fills what is not stated; it
 * stays as it is.  Free with mfu_observation_free. */
struct mfu_observation *mfu_observe(struct mfu_catalog *, const struct mfu_scenario *current,
                                    const struct mfu_observe_request *, struct mfu_error *err);
void mfu_observation_free(struct mfu_observation *);

/* The steady state of a log: fills lines_used .. n_dropped, figure and spread. */
void mfu_observe_steady(const struct mfu_log *, struct mfu_observation *);

/* The explanations, once everything else is there (observe_findings.c). */
void mfu_observe_explain(struct mfu_observation *);

/* Whether somebody, and not only a program's defaults, says what a step is. */
bool mfu_observe_tokens_known(const struct mfu_observation *);

/* A setting or dimension that was understood, or NULL. */
const struct mfu_understood *mfu_observe_understood(const struct mfu_observation *, const char *key);

/* The setting that alone comes nearest to a measured figure of memory, at least half of
 * the way: "checkpoint full, not none"; "" if none does. */
void mfu_observe_memory_gap(struct mfu_observation *, double measured, double predicted, char *text, size_t size);

/* What of a log, or of a table of meters, changed over the run: as findings, and o->drift of step times. */
void mfu_observe_drifts(struct mfu_observation *, const struct mfu_log *);

/* What could explain a step time outside of the interval. */
void mfu_observe_gap(struct mfu_observation *);

/* The batch that explains it, of those that leave the tokens of a step as they are. */
void mfu_observe_gap_of_batch(struct mfu_observation *);

void mfu_observe_note(struct mfu_observation *, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
