/*
 * keys.h - settings, dims of the model and coefficients as one list of keys, and
 * their values as text.
 */
#ifndef MFU_KEYS_H
#define MFU_KEYS_H

#include "base/quantity.h"
#include "scenario/scenario.h"

/* The i-th key: dims of the model first, then settings, then coefficients.
 * Its kind is MFU_KEY_NONE behind the last. */
struct mfu_key mfu_key_at(const struct mfu_scenario *, int i);

const char *mfu_key_name(const struct mfu_scenario *, struct mfu_key);
const char *mfu_key_group(struct mfu_key);
const char *mfu_key_meaning(const struct mfu_scenario *, struct mfu_key);
/* What other programs call it, separated by blanks; "". */
const char *mfu_key_aliases(const struct mfu_scenario *, struct mfu_key);
enum mfu_dim mfu_key_dim(const struct mfu_scenario *, struct mfu_key);

/* Names that may be chosen, NULL-terminated; NULL if it is a number. */
const char *const *mfu_key_choices(struct mfu_key);
/* A value that is a word (mfu_setting_word()); NULL: it is a number. */
const char *mfu_key_word(char buf[MFU_QUANTITY_MAX], struct mfu_key, double value);

/* Whether the user gave it, and where its resolved value is from. */
bool mfu_key_given(const struct mfu_scenario *, struct mfu_key);
const char *mfu_key_origin(const struct mfu_config *, struct mfu_key);

/* Writes a value for people: "bf16", "3072", "2 GiB". */
const char *mfu_key_format(char buf[MFU_QUANTITY_MAX], const struct mfu_scenario *, struct mfu_key, double value);

/* Writes it so that `set` reads back exactly the same: for scripts. */
const char *mfu_key_exact(char buf[MFU_QUANTITY_MAX], const struct mfu_scenario *, struct mfu_key, double value);

#endif
