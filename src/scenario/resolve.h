/*
 * resolve.h - the parts of mfu_scenario_resolve(): for scenario/ alone.
 *
 * Each derives its settings, later ones from earlier ones, and then refuses what contradicts itself.
 */
#ifndef MFU_RESOLVE_H
#define MFU_RESOLVE_H

#include "scenario/scenario.h"
#include "scenario/setting.h"

/* Gives a setting that the user left open the value that follows from others. */
void mfu_derive(struct mfu_config *, enum mfu_setting_id, double value);

/* GPUs and nodes, offload, trainer and what it overlaps, pipeline; wants the dims and the settings as given. */
void mfu_derive_parallel(struct mfu_config *);
int mfu_check_parallel(const struct mfu_config *, struct mfu_error *err);

/* Precision, attention, checkpoint, optimizer, adapters; wants the above. */
void mfu_derive_training(struct mfu_config *);
int mfu_check_training(const struct mfu_config *, struct mfu_error *err);

#endif
