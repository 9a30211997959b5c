/*
 * describe.h - GPUs and models: one line, everything, and lists of names.
 */
#ifndef MFU_FACTS_H
#define MFU_FACTS_H

#include <jansson.h>

#include "repl/session.h"

/* One line about it; of a model, the session's scenario is planned for the
 * count of its parameters. */
void mfu_say_gpu(struct mfu_session *, const struct mfu_gpu *);
void mfu_say_cluster(struct mfu_session *, const struct mfu_scenario *);
void mfu_say_model(struct mfu_session *, const struct mfu_model *);

/* The main facts: members for the answers of `gpu`, `model` and `show`. */
json_t *mfu_gpu_json(const struct mfu_gpu *);
json_t *mfu_cluster_json(const struct mfu_scenario *);
json_t *mfu_model_json(struct mfu_session *, const struct mfu_model *);

/* Everything that the file says, unknown cells included, and the sources. */
void mfu_show_gpu(struct mfu_session *, const struct mfu_gpu *);
void mfu_show_cluster(struct mfu_session *, const struct mfu_scenario *);
void mfu_show_model(struct mfu_session *, const struct mfu_model *);

/* Names in columns, the chosen one marked; or {"command":...,"NOUN":[...]}. */
int mfu_list_names(struct mfu_session *, const char *command, const char *noun, const char *const *names, size_t n,
                   const char *chosen, struct mfu_error *err);

#endif
