/*
 * catalog.h - the models, GPUs and clusters that are known by name.
 *
 * A thing is a file: models/NAME.yaml, gpus/NAME.yaml, gpus/clusters/NAME.yaml.  Nothing is read before
 * it is asked for.  Names are found regardless of case, '-', '_' and blanks, by
 * file name first and then by `name:` and `aliases:` inside the files.
 */
#ifndef MFU_CATALOG_H
#define MFU_CATALOG_H

#include <stdbool.h>
#include <stddef.h>

#include "descriptor/calibration.h"

struct mfu_catalog;
struct mfu_cluster;
struct mfu_error;
struct mfu_gpu;
struct mfu_model;

/* `data_dir` holds models/ and gpus/; NULL: the one beside the program, else the
 * source tree that a build names beside it, else the installed one (the macro
 * MFUPLAN_INSTALL_DATADIR), else what is compiled in (packed.h).  One that is named must be there.  `calibrations` is
 * the folder of the user's calibrations, which need not be there; NULL: none. */
struct mfu_catalog *mfu_catalog_open(const char *data_dir, const char *calibrations, struct mfu_error *err);
void mfu_catalog_free(struct mfu_catalog *);

/* By name, alias, or path of a file (anything with a '/' or ending in .yaml,
 * .yml; models also .json, or the path of a folder with a config.json).  Lent
 * by the catalog until it is freed; a file that has changed since is read
 * again, and what was lent before stays as it was. */
const struct mfu_gpu *mfu_catalog_gpu(struct mfu_catalog *, const char *name, struct mfu_error *err);
const struct mfu_model *mfu_catalog_model(struct mfu_catalog *, const char *name, struct mfu_error *err);
/* A model by what it is called on Hugging Face's hub: NousResearch/Meta-Llama-3.1-8B-Instruct has the shape of
 * Meta-Llama-3.1-8B, Qwen/Qwen3-4B-Thinking-2507 that of Qwen3-4B; or in timm: deit3_small_patch16_384.fb_in22k_ft_in1k
 * and deit3_small_patch16_384_in21ft1k are deit3_small_patch16_384.  NULL: no such model is known (`err` as above). */
const struct mfu_model *mfu_catalog_hub_model(struct mfu_catalog *, const char *name, struct mfu_error *err);
const struct mfu_cluster *mfu_catalog_cluster(struct mfu_catalog *, const char *name, struct mfu_error *err);

/* A GPU comes with the cluster that is usual for it (gpu->usual), and with the user's calibrations (calibration.h) over their own
 * coefficients.  _refresh reads them again from now on; _warning tells of one
 * that could not be read since the last time it was asked; _prior is what a
 * GPU of the catalog had before. */
struct mfu_coefficients;
void mfu_catalog_refresh(struct mfu_catalog *);
bool mfu_catalog_warning(struct mfu_catalog *, struct mfu_error *warning);

/* Whether memory ran out since this was asked last where no error could be told: a name may not have been found, and
 * what was answered since is not to be trusted. */
bool mfu_catalog_lost(struct mfu_catalog *);
const struct mfu_coefficients *mfu_catalog_prior(const struct mfu_catalog *, const struct mfu_gpu *);

/* The names of all files, sorted; lent by the catalog. */
const char *const *mfu_catalog_gpus(struct mfu_catalog *, size_t *n);
const char *const *mfu_catalog_models(struct mfu_catalog *, size_t *n);
/* The i-th name that stands for a row of a model's table of variants; NULL: no more.  Ask for the names first. */
const char *mfu_catalog_variant(struct mfu_catalog *, size_t i);
const char *const *mfu_catalog_clusters(struct mfu_catalog *, size_t *n);

/* The folder itself, for messages. */
const char *mfu_catalog_folder(const struct mfu_catalog *);

/* The folder of calibrations that it was opened with; NULL: none. */
const char *mfu_catalog_calibrations(const struct mfu_catalog *);

/* Tells which machine this is; it is asked once, when a calibration may have to be chosen.  Without, every
 * calibration counts as this machine's. */
typedef void mfu_here_fn(struct mfu_calibration_key *);
void mfu_catalog_ask_here(struct mfu_catalog *, mfu_here_fn *);

/* What says which calibrations of a GPU are in force; it lives in the catalog. */
struct mfu_calibration_choice mfu_catalog_choice(struct mfu_catalog *, const char *gpu);

/* From now on the calibration of this name, for its GPU; NULL: those of this machine. */
int mfu_catalog_use(struct mfu_catalog *, const char *name, struct mfu_error *err);

#endif
