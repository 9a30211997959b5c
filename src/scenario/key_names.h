/*
 * key_names.h - every name of a key: settings, dims of architectures and
 * coefficients, with what other programs call them.
 *
 * Whoever reads a name looks it up here: `set`, expressions, sweeps, imports, logs.
 */
#ifndef MFU_KEY_NAMES_H
#define MFU_KEY_NAMES_H

#include <stdbool.h>
#include <stddef.h>

struct mfu_error;
struct mfu_model;

/* What a key names. */
enum mfu_key_kind { MFU_KEY_NONE, MFU_KEY_SETTING, MFU_KEY_DIM, MFU_KEY_COEFFICIENT };
struct mfu_key {
    enum mfu_key_kind kind;
    int id;
};

#define MFU_KEY_NAME 64 /* characters of a name that fit */

/* Finds a setting, a dim of the model (NULL: no model yet) or a coefficient by name or
 * alias; case, '-' and '_' do not matter.  Without one the kind is MFU_KEY_NONE
 * and `err`, unless it is NULL, names the nearest. */
struct mfu_key mfu_key_find(const struct mfu_model *, const char *name, struct mfu_error *err);

/* The same for a name that a value follows: it may also be a way of other
 * programs to say one: fsdp on, gradient_checkpointing true. */
struct mfu_key mfu_key_find_set(const struct mfu_model *, const char *name, const char *value, struct mfu_error *err);

/* What a value behind `name` is for the key that it sets: "3" for `on` behind fsdp,
 * else the value itself.  NULL with `err` where the name does not take this value. */
const char *mfu_key_value(const char *name, const char *value, char ours[MFU_KEY_NAME], struct mfu_error *err);

/* Whether the value only says that the key is not what `on` behind this name says, which goes to `ours`: load_in_8bit
 * false is no word about 4 bits. */
bool mfu_key_denies(const char *name, const char *value, char ours[MFU_KEY_NAME]);

/* What another program's name says beside its value: "trainer=deepspeed" sets that, too; "trainer-deepspeed" takes it back;
 * "ema+": that it is on, not which, so that what is on stays.  NULL: nothing. */
const char *mfu_key_also(const char *name);

/* What a word says that is no value of the key before it: "fsdp on", "precision bf16"; false: nothing, or one of several things. */
bool mfu_key_said_by(const char *word, char pair[2 * MFU_KEY_NAME]);

/* The i-th of the keys among which the values of a name choose ("offload"); false: there are no more, or it is no such name. */
bool mfu_key_part(const char *name, size_t i, char key[MFU_KEY_NAME]);

/* The same of a name each of whose values sets one of them in place of the others ("fsdp", which is zero or what it keeps). */
bool mfu_key_instead(const char *name, size_t i, char key[MFU_KEY_NAME]);

/* Whether a key of any model may have this name or alias. */
bool mfu_key_known(const char *name);

/* Calls `each` with `what` and every name and alias that mfu_key_known() knows, but for coefficients; the text is
 * `each`'s until it returns. */
void mfu_key_spellings(void (*each)(void *what, const char *name), void *what);

/* "Did you mean": the nearest of all keys, of `gpu` and `model`, and of `n` other
 * names, into `err`; where none is near, of other programs' names.  Nothing where
 * `err` is NULL. */
void mfu_key_suggest(const struct mfu_model *, const char *typed, const char *const *others, size_t n,
                     struct mfu_error *err);

/* A dim that architectures have in common. */
struct mfu_dim_row {
    const char *name;
    const char *aliases; /* separated by blanks */
    const char *meaning;
    double least, most;
    bool whole;
};

/* The row of a dim by its own name; NULL: the model's own dim. */
const struct mfu_dim_row *mfu_dim_row(const char *name);

/* What a dimension of single models means, which has no row; NULL: nobody says. */
const char *mfu_dim_of_models(const char *name);

#endif
