/*
 * model_builder.h - a model while it is being made; for model_read.c and
 * model_graph.c.
 */
#ifndef MFU_MODEL_BUILDER_H
#define MFU_MODEL_BUILDER_H

#include <stdbool.h>

#include "descriptor/model.h"

struct mfu_yaml_node;
struct mfu_yaml;

#define MFU_CHAIN_MAX 6 /* a file and five that it extends in turn */
#define MFU_NAME_MAX 48 /* of a dim, an op, a section; with its '\0' */

/* What stands at the top of a file. */
struct mfu_model_head {
    char name[80], family[32], source[200], note[320], extends[48];
    double published_params, released;
};

struct mfu_model_file {
    struct mfu_yaml *yaml; /* the first is the caller's */
    struct mfu_model_head head;
    struct mfu_yaml_node *towers; /* what stands between it and what it extends, of a file before it in the chain, */
    struct mfu_yaml *towers_file; /* which is this one; */
    size_t n_towers;              /* so many of them are already in the chain */
};

/* Where something is written. */
struct mfu_model_place {
    struct mfu_yaml *yaml;
    struct mfu_yaml_node *node;
};

/* A model while it is being made. */
struct mfu_model_builder {
    struct mfu_model *model;
    struct mfu_model_file chain[MFU_CHAIN_MAX];
    int n_files;
    const char *extends; /* by the first file, in place of what it says; NULL: what it says */
    const char *variant; /* the row of the first file's table that is meant; NULL: the file as it stands */
    struct {             /* where the dim of that number is written */
        struct mfu_yaml *yaml;
        struct mfu_yaml_node *node;
        bool added; /* to those of the file that it extends */
    } dims[MFU_MAX_DIMS];
    struct mfu_yaml *yaml;             /* of the graph */
    struct mfu_yaml_node *row;         /* of the table of variants; NULL: none */
    struct mfu_yaml_node *with;        /* dims that a section reads in place of others; NULL: none */
    struct mfu_yaml *with_file;        /* where that is written */
    struct mfu_expression *digits[10]; /* numbers that stand alone, which most attributes are; NULL: none so far */
    int kept[MFU_MAX_SECTIONS];        /* ops whose results wait for `kept` */
    struct mfu_model_place kept_at[MFU_MAX_SECTIONS];
    int n_kept;
    struct mfu_error *err;
};

/* mfu_model_parse() of a file that extends another one than it says (NULL: the one that it says), and of
 * the row `variant` of its table (NULL: none). */
struct mfu_model *mfu_model_parse_as(struct mfu_yaml *, const char *extends, const char *variant, const char *folder,
                                     struct mfu_error *);

/* Fails because out of memory. */
int mfu_build_no_memory(struct mfu_model_builder *);

/* Letters, digits and _, beginning with a letter; what `more` allows, too. */
bool mfu_build_is_name(const char *text, const char *more);

/* An mfu_resolve_fn, whose context is the builder. */
int mfu_build_resolve(void *builder, const char *name, struct mfu_error *);

/* A text as an expression over the dims, which others may share. */
struct mfu_expression *mfu_build_expression(struct mfu_model_builder *, const char *text, enum mfu_dim);
/* The scalar at `node` likewise. */
struct mfu_expression *mfu_build_compile(struct mfu_model_builder *, struct mfu_yaml *, struct mfu_yaml_node *,
                                         enum mfu_dim);

/* Refuses what in a table for config.json is no text, list or mapping as it must be; the error has the place. */
int mfu_huggingface_check(struct mfu_yaml *, struct mfu_yaml_node *table, struct mfu_error *);

/* The nearest graph of the chain as sections and ops; dims are known. */
int mfu_build_graph(struct mfu_model_builder *);

#endif
