/*
 * observe_reading.h - what the parts of observe hand to each other while they
 * work: sources, then configuration, prediction, MFU.
 */
#ifndef MFU_OBSERVE_READING_H
#define MFU_OBSERVE_READING_H

#include <stdbool.h>
#include <stddef.h>

#include "read/logs/log_format.h"
#include "scenario/scenario.h"

struct mfu_catalog;
struct mfu_error;
struct mfu_import;
struct mfu_observation;
struct mfu_observe_request;

/* All that is read in one go. */
struct mfu_observing {
    struct mfu_catalog *catalog;
    const struct mfu_scenario *current;
    const struct mfu_observe_request *request;
    struct mfu_log log, config, command; /* what each of them states */
    struct mfu_import *import;           /* the file of `config`, if `import` reads it; NULL */
    struct mfu_scenario scenario;
    struct mfu_observation *o;
};

bool mfu_observe_is_file(const char *path);

/* The folder of a path, with its '/' or empty. */
void mfu_observe_folder(char *to, size_t size, const char *path);

/* ---- observe_findings.c, observe_meters.c ------------------------------------ */

/* Puts down something that stands out. */
struct mfu_finding *mfu_observe_find(struct mfu_observation *, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Figures above what bounds them, as findings and in o->contradicted: before anything is made of them. */
void mfu_observe_contradictions(struct mfu_observation *);

/* A figure, or NAN where another one contradicts it: that is no symptom. */
double mfu_observe_trusted(const struct mfu_observation *, enum mfu_figure);

/* What a GPU's meters say, and how far they are from the prediction. */
void mfu_observe_meters(struct mfu_observation *);

/* ---- observe_config.c ---------------------------------------------------- */

/* The scenario of the run: GPU, model, settings by who states them, and batch,
 * accum, GPUs and tokens per step that agree. */
int mfu_observe_configure(struct mfu_observing *, struct mfu_error *err);

/* A whole number that follows from what was measured, as a setting. */
void mfu_observe_derive(struct mfu_observing *, const char *key, double value);

/* ---- observe_predict.c --------------------------------------------------- */

/* Plans the configuration, unless something says that it is not the run's. */
int mfu_observe_predict(struct mfu_observing *, struct mfu_error *err);

/* Every figure that was stated beside its prediction. */
void mfu_observe_compare(struct mfu_observation *);

/* ---- observe_mfu.c ------------------------------------------------------- */

/* Whose MFU it is, what else it says (a width, a number of GPUs), and the MFU
 * against this GPU's own peak. */
int mfu_observe_own_mfu(struct mfu_observing *, struct mfu_error *err);

#endif
