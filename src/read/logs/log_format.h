/*
 * log_format.h - a format of training logs is one file in logs/ that exports
 * one constant named after it; the build collects them.
 *
 * A format reads one program's lines: which are steps, which state settings,
 * which say that something else than training took the time.  It is given the
 * lines one by one and puts down what it understands; what follows from that is
 * answer/observe/observe.h's.  Lines come without colours and line ends.
 */
#ifndef MFU_LOG_FORMAT_H
#define MFU_LOG_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/protobuf.h"
#include "base/quantity.h"

struct mfu_error;

/* X(identifier, key, dimension, smaller than zero or more than `most` is
 * nonsense, what it is) */
#define MFU_FIGURES(X)                                                                                                 \
    X(STEP, "step", MFU_COUNT, 1e12, "step")                                                                           \
    X(TIME, "step_time_s", MFU_SECONDS, 1e7, "step time")                                                              \
    X(TOKENS_PER_S, "tokens_per_s", MFU_COUNT, 1e12, "tokens/s")                                                       \
    X(MFU, "mfu_logged", MFU_RATIO, 100, "MFU as logged")                                                              \
    X(FLOPS, "flops_per_s", MFU_FLOP_PER_S, 1e18, "FLOP/s as logged")                                                  \
    X(LOSS, "loss", MFU_COUNT, 1e12, "loss")                                                                           \
    X(ALLOCATED, "memory_allocated_bytes", MFU_BYTES, 1e13, "memory allocated")                                        \
    X(RESERVED, "memory_reserved_bytes", MFU_BYTES, 1e13, "memory reserved")                                           \
    X(SMI_USED, "smi_used_bytes", MFU_BYTES, 1e13, "memory, nvidia-smi")                                               \
    X(UTILIZATION, "gpu_utilization", MFU_RATIO, 1, "GPU utilisation")                                                 \
    X(SM_ACTIVE, "sm_active", MFU_RATIO, 1, "SM activity")                                                             \
    X(TENSOR_ACTIVE, "tensor_active", MFU_RATIO, 1, "tensor activity")                                                 \
    X(DRAM_ACTIVE, "dram_active", MFU_RATIO, 1, "DRAM activity")                                                       \
    X(POWER, "power_w", MFU_WATTS, 1e5, "board power")                                                                 \
    X(CLOCK, "sm_clock_hz", MFU_HERTZ, 1e11, "SM clock")                                                               \
    X(COMMUNICATION, "communication_s", MFU_SECONDS, 1e7, "communication wait")                                        \
    X(LOADER, "loader_s", MFU_SECONDS, 1e7, "loader wait")

enum mfu_figure {
#define X(id, ...) MFU_FIGURE_##id,
    MFU_FIGURES(X)
#undef X
        MFU_FIGURE_COUNT
};

struct mfu_figure_row {
    const char *key; /* of the JSON answer */
    enum mfu_dim dim;
    double most;
    const char *name; /* for people */
};
extern const struct mfu_figure_row mfu_figure_rows[MFU_FIGURE_COUNT];

/* What may have happened between the step before and this one. */
enum mfu_log_event { MFU_EVENT_NONE, MFU_EVENT_EVALUATION, MFU_EVENT_CHECKPOINT };

struct mfu_log_record {
    int line;
    enum mfu_log_event event;
    bool resumed;                    /* the first of a run that goes on from an earlier step */
    double samples;                  /* sequences of this step over all GPUs; 0: not stated */
    double figure[MFU_FIGURE_COUNT]; /* NAN: not stated, or nonsense */
};

/* A setting that was stated, by our key. */
struct mfu_log_setting {
    char key[32], value[72];
    int line;           /* 0: not in the log */
    const char *origin; /* "log", "config", "command", or the program */
};

#define MFU_LOG_SETTINGS 96    /* that are kept */
#define MFU_LOG_RECORDS 200000 /* steps that are looked at */
#define MFU_LOG_SUMS 17        /* of a format's own */
#define MFU_LOG_COLUMNS 256    /* of a table */

struct mfu_log {
    const char *path;
    int line; /* that is being read */
    struct mfu_log_record *records;
    size_t n_records, cap_records, too_many; /* steps left out: too many */
    bool failed;                             /* out of memory */
    struct mfu_log_setting settings[MFU_LOG_SETTINGS];
    int n_settings;
    char contradiction[272]; /* within the log; "" none */
    int contradiction_line;
    double stated[MFU_FIGURE_COUNT];            /* figures of the whole run, NAN: none */
    double params;                              /* "number of parameters: 123.59M"; NAN */
    double params_digit;                        /* what its last digit is worth */
    double tokens_per_step;                     /* over all GPUs; NAN */
    double samples_per_step;                    /* the same in sequences; NAN */
    bool samples_rough;                         /* they follow from rounded rates */
    double peak_flops;                          /* that the log says it divides by; NAN */
    double flops_per_token;                     /* that its MFU counts, as the log says; NAN */
    double mfu_digit;                           /* what the last digit of its MFU is worth */
    char gpu[80], model[256], config_file[256]; /* names, as stated; "" */
    char note[240];                             /* of the format: how to take its figures */
    char unplanned[160];                        /* what the log says that no plan here has; "" */
    size_t long_lines;
    bool truncated;              /* larger than what is read */
    enum mfu_log_event event;    /* since the last step */
    struct mfu_log_record loose; /* a format's, while it gathers a record */
    double sum[MFU_LOG_SUMS];    /* a format's own */
    double bare_time_unit;       /* seconds that a time without a unit is read as; 0: none yet, NAN: unclear */
    bool rate_per_gpu;           /* the log's tokens/s are one GPU's */
    struct {                     /* the scalars of one step, while they come in: log_scalars.c */
        bool begun, evaluated, walls, summary, calls; /* calls: its step counts calls of the logger */
        int clock, clock_before;                      /* which one wall_s and before_s are of */
        double samples_rate, steps_rate, meters[3];
        double step, wall_s, tokens;            /* NAN: not stated */
        double before, before_s, tokens_before; /* of the record before */
        double tokens_each;                     /* tokens per step, while all agree; 0: none yet, NAN: they do not */
    } scalar;
    short columns[MFU_LOG_COLUMNS]; /* of a table: what each is, and its title (owned) */
    char (*titles)[64];
    int n_columns;
};

struct mfu_log_format {
    const char *name;                    /* "nanogpt-log": `source` of the answer */
    const char *title;                   /* "nanoGPT" */
    const char *looks;                   /* what a step of it looks like */
    const char *convention;              /* of its MFU (plan/conventions.h), NULL: to be found out */
    double peak_flops;                   /* its MFU's, whatever the card; 0: a table of its own */
    const char *mfu_note;                /* NULL, or how its MFU is to be read */
    bool rate_per_gpu;                   /* tokens/s are one GPU's */
    bool fallback;                       /* only if no other format is recognised */
    bool accum_of_all;                   /* accum is stated as the sum over all ranks */
    bool events_in_time;                 /* a step's time holds the evaluation before it */
    bool meters;                         /* readings of a GPU, and no steps */
    bool of_anything;                    /* any trainer writes it: of which model only a log, or the user, says */
    bool approximated;                   /* its blocks are planned as another family's */
    const char *family, *model;          /* whose graph it trains where nothing says more */
    const char *const *defaults;         /* key, value, ..., NULL: of the program */
    bool (*recognise)(const char *line); /* a step; NULL with `fallback`: any figure is */
    void (*read)(struct mfu_log *, const char *line);
    bool (*recognise_bytes)(struct mfu_bytes head); /* a file that is no text, by its first bytes; NULL: text */
    void (*read_bytes)(struct mfu_log *, struct mfu_bytes);
    void (*finish)(struct mfu_log *); /* after the last line; NULL */
};

extern const struct mfu_log_format *const mfu_log_formats[];
extern const size_t mfu_log_format_count;

/* ---- for formats: putting down ------------------------------------------ */

/* A new step; NULL when there are too many.  Figures are NAN. */
struct mfu_log_record *mfu_log_step(struct mfu_log *);

/* All figures: not stated. */
void mfu_log_clear(double *figures);

/* Puts a figure down unless it is nonsense (NaN, negative, beyond reason). */
void mfu_log_figure(double *figures, enum mfu_figure, double value);

/* Something other than training: belongs to the step that comes next. */
void mfu_log_happened(struct mfu_log *, enum mfu_log_event);

/* A setting stated by this line, by our key.  The last one counts; one that
 * changes between the steps is a contradiction. */
void mfu_log_set(struct mfu_log *, const char *key, const char *value);
void mfu_log_set_number(struct mfu_log *, const char *key, double value);

/* A fact of the run, such as tokens_per_step: nothing if it is not above 0, and a
 * contradiction, too, if it changes between the steps. */
void mfu_log_fact(struct mfu_log *, double *fact, const char *name, double value);

/* Something else of the configuration that is not what it was: a contradiction if
 * there are steps already. */
void mfu_log_changed(struct mfu_log *, const char *name, const char *here, const char *before);

/* A line `name = value` or `name: value` with a name that GPT-style
 * configurations use (batch_size, block_size, dtype ...).  Whether it was. */
bool mfu_log_assignment(struct mfu_log *, const char *line);

/* ---- for formats: reading ----------------------------------------------- */

/* Behind `label` and blanks, or NULL when the line does not have it. */
const char *mfu_log_after(const char *line, const char *label);

/* The number there, NAN when there is none; 524,288 and 9.34e+3 are read, nan
 * and inf are NAN.  `end` may be NULL. */
double mfu_number_at(const char *text, const char **end);

/* The number behind a label, NAN without. */
double mfu_number_after(const char *line, const char *label);

/* What the last digit of the number there is worth: 0.01 for 15.38. */
double mfu_digit_at(const char *text);

/* Copies a word or a text up to one of `stops`, without blanks at its ends and
 * without quotes. */
void mfu_copy_until(char *to, size_t size, const char *from, const char *stops);

/* ---- for formats: scalars by name ------------------------------------------ */

/* A number that a program gives a name: "train/loss", "throughput/device/tokens_per_sec", "_step".  Those
 * of one step are one record, which `mfu_log_scalars_end` puts down, or the first scalar of another step.
 * A record without a time gets that since the one before, by their clocks.  `name` may be a column:
 * mfu_log_scalar_kind(), once, then mfu_log_scalar_of(). */
void mfu_log_scalar(struct mfu_log *, const char *name, double value);
int mfu_log_scalar_kind(const char *name); /* -1: none that is known */
bool mfu_log_scalar_times(int kind);       /* whether steps can be timed with it */
void mfu_log_scalar_of(struct mfu_log *, int kind, const char *name, double value);

/* The scalars to come are of this step, at this time; the wall clock is NAN where the scalars have it. */
void mfu_log_scalars_at(struct mfu_log *, double step, double wall_s);
void mfu_log_scalars_end(struct mfu_log *);
void mfu_log_scalars_finish(struct mfu_log *); /* a format's `finish` */

/* What meters read at one moment is a record without a step.  Nothing of an idle GPU counts. */
void mfu_log_reading(struct mfu_log *, const double *figures);

/* Each "key": value of a line, in quotes of either kind: JSON, or what Python prints. */
void mfu_log_quoted(struct mfu_log *, const char *line,
                    void (*put)(struct mfu_log *, const char *key, const char *value));

/* Number, or h:mm:ss in seconds, with or without quotes; NAN. */
double mfu_log_value(const char *text);

/* Takes the records of another file of the same run, another rank's or a later part's; settings must agree. */
void mfu_log_append(struct mfu_log *, const struct mfu_log *other);

/* Several ranks' lines of each step become one, the slowest; what comes after a resume is marked. */
void mfu_log_settle(struct mfu_log *);

/* A figure of a pair's name and its value as programs write it (log_pairs.c); whether the name is one's. */
bool mfu_log_pair_is(const char *key);
void mfu_log_pair_number(struct mfu_log *, const char *key, double value);

/* ---- reading files ------------------------------------------------------- */

void mfu_log_start(struct mfu_log *, const char *path);
void mfu_log_release(struct mfu_log *);

/* Finds the format of a file and reads all of it: at most 256 MiB (32 of
 * pairs by hand), lines of at most 64 KiB.  `format` gets the one it was. */
int mfu_log_read(struct mfu_log *, const char *path, const struct mfu_log_format **format, struct mfu_error *err);

/* Reads assignments out of a configuration file (a nanoGPT config, or anything
 * with such lines), over nothing. */
int mfu_log_read_config(struct mfu_log *, const char *path, struct mfu_error *err);

/* ---- pairs by hand ------------------------------------------------------- */

/* Pairs as people write them, `step_ms 9340 mfu 15.4%, batch = 8`: figures go
 * into steps (a new one where a figure comes again), other known keys are
 * settings.  `strict`: what is not understood is an error, otherwise it is
 * passed over.  _end puts the last step down. */
int mfu_log_pairs(struct mfu_log *, const char *line, bool strict, struct mfu_error *err);
void mfu_log_pairs_end(struct mfu_log *);

/* Whether the key is one of a figure or a fact (params, tokens_per_step). */
bool mfu_log_key(const char *key);

#endif
