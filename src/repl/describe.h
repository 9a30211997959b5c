/*
 * describe.h - GPUs and models: one line, everything, and lists of names.
 */
#ifndef MFU_FACTS_H
#define MFU_FACTS_H

#include "base/field.h"
#include "repl/session.h"

/* One line about it; of a model, the session's scenario is planned for the
 * count of its parameters. */
void mfu_say_gpu(struct mfu_session *, const struct mfu_gpu *);
void mfu_say_cluster(struct mfu_session *, const struct mfu_scenario *);
void mfu_say_model(struct mfu_session *, const struct mfu_model *);

/* The main facts, for the answers of `gpu`, `model` and `show`: of a struct mfu_gpu,
 * and of the session's model. */
struct mfu_model_answer {
    const struct mfu_model *model;
    struct mfu_config config;
    double params; /* NAN: they cannot be counted yet */
};
struct mfu_model_answer mfu_model_answer(struct mfu_session *);
struct mfu_cluster_answer {
    struct mfu_cluster cluster;
    bool usual;
};
struct mfu_cluster_answer mfu_cluster_answer(const struct mfu_scenario *);
extern const struct mfu_record mfu_record_gpu, mfu_record_model, mfu_record_cluster;

/* Where the command `own` cannot use a file, proposes the one that can: `model`, `import` or `observe`. */
int mfu_suggest_reader(struct mfu_session *, const char *own, const char *word, const char *path, struct mfu_error *);

/* Everything that the file says, unknown cells included, and the sources. */
void mfu_show_gpu(struct mfu_session *, const struct mfu_gpu *);
void mfu_show_cluster(struct mfu_session *, const struct mfu_scenario *);
void mfu_show_model(struct mfu_session *, const struct mfu_model *);

/* Names in columns, the chosen one marked; or the answer of that record. */
struct mfu_name_list {
    const char *const *names;
    size_t n;
};
extern const struct mfu_record mfu_record_gpus, mfu_record_models, mfu_record_clusters;
int mfu_list_names(struct mfu_session *, const struct mfu_record *, const struct mfu_name_list *, const char *chosen,
                   struct mfu_error *err);

#endif
