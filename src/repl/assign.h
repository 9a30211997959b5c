/*
 * assign.h - `set KEY VALUE ...` and KEY=VALUE, and telling what changed.
 */
#ifndef MFU_ASSIGN_H
#define MFU_ASSIGN_H

#include <stdbool.h>

#include "repl/session.h"

/* The `=` of a word KEY=..., or NULL. */
const char *mfu_assignment(const char *word);

/* Applies the words [first, argc) to the scenario, all or nothing, and says
 * what was understood. */
int mfu_assign(struct mfu_session *, int argc, char **argv, int first, struct mfu_error *err);

/* Installs `next` if it can be resolved, or if the present one cannot either;
 * then says what has changed.  What cannot be planned after all is a warning,
 * as it is with `keep_anyway`. */
int mfu_install(struct mfu_session *, const struct mfu_scenario *next, bool keep_anyway, struct mfu_error *err);

/* Says what differs: "seq 1024 -> 8192", what follows, tokens per step. */
void mfu_say_changes(struct mfu_session *, const struct mfu_scenario *from, const struct mfu_scenario *to);

/* Chooses by name; forgets what belonged to the old model. */
int mfu_choose_gpu(struct mfu_session *, struct mfu_scenario *, const char *name, struct mfu_error *err);
int mfu_choose_model(struct mfu_session *, struct mfu_scenario *, const char *name, struct mfu_error *err);

/* The GPU of this computer, as its driver names it, and how many of them there are in *n;
 * -1 with `err` if there is none, or none that a file describes. */
int mfu_choose_local_gpu(struct mfu_session *, struct mfu_scenario *, int *n, struct mfu_error *err);

/* ... and the scenario's GPU, if the cluster is not built with it; "usual": none. */
int mfu_choose_cluster(struct mfu_session *, struct mfu_scenario *, const char *name, struct mfu_error *err);

/* The names of a word that is `gpu`, `model` or `cluster`: 'g', 'm', 'c', or 0. */
char mfu_parse_subject(const char *word);

#endif
