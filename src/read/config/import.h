/*
 * import.h - the configuration of another program's run as a scenario.
 *
 * A format is one file in import/ that exports one constant named after it; the
 * build collects them.  It says how its files are taken apart into entries
 * (name and value) and what each name means here: a table.  Every entry has a
 * fate, and none is passed over in silence: it sets something, it has no
 * influence on time and memory, or it has and this program does not model it.
 */
#ifndef MFU_IMPORT_H
#define MFU_IMPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "descriptor/catalog.h"
#include "scenario/scenario.h"

struct mfu_error;

enum mfu_fate {
    MFU_UNDERSTOOD, /* sets `key` */
    MFU_ASSUMED,    /* the same; the program's default or a guess, not in the file */
    MFU_IGNORED,    /* no influence on time or memory, or empty */
    MFU_UNMODELLED, /* it may matter, and is left out */
    MFU_FATE_COUNT
};

/* One entry of the file. */
struct mfu_entry {
    const char *name, *value; /* as they stand there, without quotes */
    int line;                 /* 0: not in the file */
    enum mfu_fate fate;
    /* Ours: "batch", "8"; NULL: sets nothing; a key alone: what would answer it or, of an ignored entry, what is as it is
     * without being set. */
    const char *key, *set;
    const char *note; /* why, or how it was taken; "" */
    const char *said; /* its name in the file, where a format reads it by another; else NULL */
};

#define MFU_ENTRIES 600       /* of one file */
#define MFU_NOT_SET "not set" /* the note of an entry without a value */

/* Notes of what has no influence, whatever the program. */
#define MFU_NOTE_TRAINING "concerns what is learnt, not how fast"
#define MFU_NOTE_FILES "files and logging"
#define MFU_NOTE_EVALUATION "evaluation is not part of a step"
#define MFU_NOTE_LOADING "the loader: set dataloader_ms"
#define MFU_NOTE_LAUNCHER "how processes find each other"

struct mfu_import {
    const struct mfu_import_format *format;
    const char *title;                /* the format's, or of the program whose file it is */
    const char *path;                 /* of the file, as it was given */
    const struct mfu_scenario *start; /* what it is imported into */
    struct mfu_catalog *catalog;
    struct mfu_arena arena; /* of all texts */
    struct mfu_entry entries[MFU_ENTRIES];
    int n;
    bool failed; /* out of memory, or too many entries */
};

/* What names mean.  The first row that has a name counts; tables end with names NULL. */
struct mfu_import_row {
    const char *names;  /* apart by blanks: "batch_size"; "wandb_*" are all that begin so */
    const char *key;    /* ours; NULL: ignored or, with `unmodelled`, not modelled */
    const char *values; /* "True=compile False=eager"; NULL: a number, as it is;
                                   a value "-" is one that sets nothing: without a note
                                   the key is as it is unasked, with one it says nothing of it */
    const char *note;
    bool unmodelled; /* unless its value is "off", or one of `values` */
};

struct mfu_import_format {
    const char *name;   /* "nanogpt" */
    const char *title;  /* "nanoGPT configuration" */
    const char *marks;  /* what its files have, see mfu_import_marked() */
    const char *ending; /* of their names, ".py"; NULL: any */
    int (*take_apart)(struct mfu_import *, const char *path, const char *text, struct mfu_error *);
    const struct mfu_import_row *rows;
    const char *const *defaults;         /* names, value, ..., NULL: where the file gives no value
                                           to the name, nor to older ones behind it */
    const char *const *lists;            /* options that take several words, NULL-terminated; NULL: none */
    void (*finish)(struct mfu_import *); /* what takes several entries; NULL */
};

extern const struct mfu_import_format *const mfu_import_formats[];
extern const size_t mfu_import_format_count;

/* Reads a file of at most 1 MiB.  `format` is a name, or NULL: found out. */
int mfu_import_read(struct mfu_import *, const char *path, const char *format, struct mfu_error *err);

/* Sets in `next` what was understood; what the scenario refuses becomes
 * unmodelled, with the reason.  Fails only when out of memory. */
int mfu_import_apply(struct mfu_import *, struct mfu_scenario *next, struct mfu_error *err);

/* Takes back what was set in `next` before and the file says is as it is unasked.  Who says how ranks shard says how long
 * weights stay gathered, too, and names DeepSpeed if its engine does it.  mfu_import_apply() does so. */
void mfu_import_take_back(const struct mfu_import *, struct mfu_scenario *next);

/* Lets `next` know what is not modelled, beside what files before left out: whether it fits is then unknown.
 * mfu_import_apply() does so. */
void mfu_import_pass_on(const struct mfu_import *, struct mfu_scenario *next);

void mfu_import_release(struct mfu_import *);

/* ---- for formats: taking apart ------------------------------------------- */

/* Lines `name = value` (Python, TOML); below [section] the name is
 * section.name.  What is no assignment is an entry without a value. */
int mfu_import_assignments(struct mfu_import *, const char *path, const char *text, struct mfu_error *);

/* A command line or a shell script: --name value, --name=value, -n value, --flag;
 * variables that were set before are put in. */
int mfu_import_arguments(struct mfu_import *, const char *path, const char *text, struct mfu_error *);

/* JSON and YAML: names of a tree with points, zero_optimization.stage. */
int mfu_import_tree(struct mfu_import *, const char *path, const char *text, struct mfu_error *);

/* Whether a text has all the parts of one of the marks: "a&b|c" is both of a and b, or c. */
bool mfu_import_marked(const char *text, const char *marks);

struct mfu_entry *mfu_import_add(struct mfu_import *, const char *name, size_t length, const char *value, size_t size,
                                 int line);

/* ---- for formats: finishing ---------------------------------------------- */

/* Why an import failed: too many entries, or out of memory.  Returns -1. */
int mfu_import_fail(const struct mfu_import *, const char *path, struct mfu_error *err);

/* The last entry of that name, or NULL; and its number, NAN without. */
struct mfu_entry *mfu_import_find(struct mfu_import *, const char *name);
/* Whether there is one of this value, whatever its capitals; one that set a key of ours. */
bool mfu_import_is(struct mfu_import *, const char *name, const char *value);
bool mfu_import_is_set(struct mfu_import *, const char *name);
double mfu_import_number(struct mfu_import *, const char *name);

/* What the entries set for a key of ours, the last of them; NAN: nothing. */
double mfu_import_set_number(const struct mfu_import *, const char *key);

/* A dimension of the model that was set, or chosen before; NAN where none was, or it has no such dimension. */
double mfu_import_dim(const struct mfu_import *, const char *dim);

/* Adapters of all linears are of those of an image encoder, too, and of its projector, unless these are frozen; whether
 * linears of an encoder have the names that a file lists is open.  True where nothing more is frozen: the model has no
 * encoder, or adapters train. */
bool mfu_import_adapt_tower(struct mfu_import *, bool vision, bool projector);

/* Without an entry that sets seq, how long sequences are is open. */
void mfu_import_need_length(struct mfu_import *);

/* Lets a list (entries name[0], name[1] ... or one of that name) set a key to its
 * words, joined by commas; false: it is empty or not there. */
bool mfu_import_list(struct mfu_import *, const char *name, const char *key, const char *note);

/* Lets an entry set something, or not. */
void mfu_import_set(struct mfu_import *, struct mfu_entry *, const char *key, const char *note, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void mfu_import_leave(struct mfu_entry *, enum mfu_fate, const char *note);

/* An entry of ours: what follows without being said. */
void mfu_import_assume(struct mfu_import *, const char *key, const char *value, const char *note);
void mfu_import_assume_number(struct mfu_import *, const char *key, double value, const char *note);

/* Where the device of `name` is DeepSpeed's nvme, our key for it. */
void mfu_import_drive(struct mfu_import *, const char *name, const char *key);

/* An entry of ours for what the program does unasked and this one does not model. */
void mfu_import_lack(struct mfu_import *, const char *name, const char *value, const char *note);

/* Takes a name of Hugging Face's hub ("meta-llama/Llama-2-7b-hf") for a model, if
 * the catalog has it; else the user has to choose one, or has. */
bool mfu_import_model(struct mfu_import *, struct mfu_entry *);

/* The GPUs of the scenario that it is imported into, for files that do not know
 * how many there are. */
double mfu_import_gpus(const struct mfu_import *);

/* FSDP's hybrid sharding, which `e` chooses: over the GPUs of a node, weights as well or not (`gradients_only`), with a
 * copy for each node. */
void mfu_import_hybrid(struct mfu_import *, struct mfu_entry *e, bool gradients_only);

/* The ranks that split the batch when this is planned, of a file whose `ranks`
 * are those of `gpus` GPUs.  A way to split anything else, or more GPUs than a
 * node has, may be refused: then each GPU is such a rank, or the scenario's are. */
double mfu_import_planned_ranks(const struct mfu_import *, double gpus, double ranks);

#endif
