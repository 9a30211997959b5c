/*
 * why.h - from the whole to the cause, in words with the scenario's own numbers.
 *
 * A topic is a row: what is asked, the whole that is taken apart, and the
 * function that does it.  The parts of an answer add up to its whole; parts of
 * parts add up to theirs.  Sentences are made of numbers that the plan, the
 * simulation and further plans give, so that on another card they say something
 * else.
 */
#ifndef MFU_WHY_H
#define MFU_WHY_H

#include "plan/metrics.h"
#include "answer/why/breakdown.h"

/* The most of each in one answer. */
#define MFU_WHY_PARTS 48
#define MFU_WHY_LINES 24
#define MFU_WHY_LINE 900 /* bytes; Chinese takes three a character */
#define MFU_WHY_ROWS 12

struct mfu_why_part {
    char name[48];
    double fraction;  /* of the whole; may be negative (see split.h) */
    double amount;    /* the same in seconds or bytes; NAN: neither */
    bool leaf;        /* belongs to the last part that is none */
    char says[80];    /* what it is */
    char command[48]; /* that shows more; "" if none does */
};

/* A symptom that the numbers show. */
struct mfu_symptom {
    const char *code;  /* "launch-bound" */
    const char *claim; /* the symptom's number in docs: "C5" */
    char text[MFU_WHY_LINE];
    double share; /* of the step that it concerns: the order */
};
#define MFU_SYMPTOMS 12

/* The same scenario with another micro-batch (topic batch). */
struct mfu_why_row {
    double batch, accum, step_s, tokens_per_s, mfu, memory_bytes;
    bool fits, unsure, now;
};

struct mfu_why {
    char topic[96];
    double total;      /* 1: what the fractions add up to */
    const char *whole; /* "step", "memory in use" ...: what 1 is */
    enum mfu_dim dim;  /* of the amounts */
    struct mfu_why_part parts[MFU_WHY_PARTS];
    int n_parts;
    char lines[MFU_WHY_LINES][MFU_WHY_LINE];
    int n_lines;
    struct mfu_symptom symptoms[MFU_SYMPTOMS];
    int n_symptoms;
    struct mfu_why_row rows[MFU_WHY_ROWS];
    int n_rows;
    double ceiling;                           /* best MFU that levers reach, and fits; NAN: not asked, or none fits */
    char ceiling_change[320];                 /* which */
    bool ceiling_mathematics, ceiling_tokens; /* they change mathematics, the tokens of a step */
};

struct mfu_why_topic {
    const char *name, *aliases; /* separated by blanks */
    const char *says;
    int (*make)(struct mfu_plan *, struct mfu_simulation *, struct mfu_why *, struct mfu_error *);
};
extern const struct mfu_why_topic mfu_why_topics[];
extern const size_t mfu_why_topic_count;

/* `topic`: one of the topics, or a kernel: its name in `kernels`, an op, or a
 * kind.  NULL: mfu.  `plan` and `simulation` end as those of the scenario. */
int mfu_why_make(const struct mfu_scenario *, const char *topic, struct mfu_plan *plan,
                 struct mfu_simulation *simulation, struct mfu_why *, struct mfu_error *err);

/* ---- for the files of topics ---------------------------------------------- */

int mfu_why_mfu(struct mfu_plan *, struct mfu_simulation *, struct mfu_why *, struct mfu_error *);
int mfu_why_slow(struct mfu_plan *, struct mfu_simulation *, struct mfu_why *, struct mfu_error *);
int mfu_why_utilisation(struct mfu_plan *, struct mfu_simulation *, struct mfu_why *, struct mfu_error *);
int mfu_why_vram(struct mfu_plan *, struct mfu_simulation *, struct mfu_why *, struct mfu_error *);
int mfu_why_batch(struct mfu_plan *, struct mfu_simulation *, struct mfu_why *, struct mfu_error *);
int mfu_why_kernel(struct mfu_plan *, struct mfu_simulation *, const char *name, struct mfu_why *, struct mfu_error *);

void mfu_why_say(struct mfu_why *, const char *format, ...) __attribute__((format(printf, 2, 3)));
void mfu_why_add(struct mfu_why *, const char *name, double fraction, double amount, bool leaf, const char *says,
                 const char *command);

/* The symptoms of this step, the one that costs most first. */
void mfu_why_symptoms(const struct mfu_plan *, const struct mfu_simulation *, const struct mfu_breakdown *,
                      const struct mfu_metrics *, struct mfu_why *);

/* The symptoms by number; NULL behind the last. */
const char *mfu_symptom_code(size_t i);

/* What adds most to a part, in words: "h.attn.proj: 8192 x 768 x 768, 2.1 waves". */
void mfu_why_culprit(const struct mfu_plan *, enum mfu_breakdown_part, const struct mfu_culprit *, char *text,
                     size_t size);

#endif
