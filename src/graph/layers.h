/*
 * layers.h - the layers that are traced: each kind of layer once, or all.
 */
#ifndef MFU_LAYERS_H
#define MFU_LAYERS_H

#include "graph/builder.h"

/* Of layers that are alike so many are traced where others are copied, and this one of them, from 0, is the one that
 * copies are made of: all that it and the next name, `reach` layers on either side, is none of the first or last, which
 * are `edge` on either end. */
static inline int mfu_copied_layer(const struct mfu_builder *s)
{
    return s->reach + s->edge;
}

static inline int mfu_traced_layers(const struct mfu_builder *s)
{
    return 2 * (mfu_copied_layer(s) + 1);
}

/* What a pass through a layer has appended, and what it found (repeat.h). */
struct mfu_layer_pass {
    int first[3], end[3]; /* launches, views, tensors */
    int input, gradient;  /* views: what the layer reads, and in backward that of its result */
    int n_deferred, n_kept;
    double loaded_bytes;
    const struct mfu_work *work; /* of the launch before it */
    bool closed;                 /* it depends on nothing else, and nothing else is changed */
};

/* A section, or one of the layers of a repeated one. */
struct mfu_layer {
    const struct mfu_model_section *section;
    int first_node, n_nodes;
    int node_before; /* the first of the layer before, which is alike; -1: none */
    int input;       /* node that it reads, or MFU_TOKENS_IN */
    bool frozen;     /* none of its weights trains */
    bool again;      /* `checkpoint` is of it, too */
    double repeat;   /* layers that it stands for */
    int copies;      /* of it in the program, beside itself (copies.h) */
    int first_parameter;
    int first_kept;                /* of its results in mfu_builder.kept */
    bool alike;                    /* its operations, and what they read, are those of the layer before */
    struct mfu_layer_pass pass[2]; /* forward, backward */
};

/* The layers of the whole model in the order of execution, into s->layers, with
 * their nodes.  How many, or -1. */
int mfu_layers_make(struct mfu_builder *, enum mfu_unrolling, struct mfu_error *);

#endif
