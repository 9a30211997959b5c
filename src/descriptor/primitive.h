/*
 * primitive.h - the operations that architectures are made of.
 *
 * A model file is a list of primitives; a primitive is one file in
 * graph/primitives/ that exports `const struct mfu_primitive
 * mfu_primitive_NAME`.  The build collects them, so that a new one is a new
 * file and nothing else.  A descriptor needs only the first half of the record
 * (what may be written); the graph uses the second.
 */
#ifndef MFU_PRIMITIVE_H
#define MFU_PRIMITIVE_H

#include <stddef.h>

#define MFU_ATTRIBUTES 10 /* the most */
#define MFU_INPUTS 4      /* the most */

struct mfu_attribute {
    const char *name;           /* "width"; NULL ends the list */
    const char *initial;        /* an expression over the model's dimensions,
                                   or a choice; NULL: must be given */
    const char *const *choices; /* NULL-terminated; the value is the index */
    const char *help;
};

/* An operation of a model with its attributes worked out for a scenario. */
struct mfu_operation {
    const struct mfu_primitive *primitive;
    const char *name;
    double attribute[MFU_ATTRIBUTES];
    double in_width[MFU_INPUTS]; /* elements per row of each input */
    double out_width;            /* filled by `shape` */
};

/* Trainable parameters of an operation. */
struct mfu_weights {
    double weight, bias;
    double active; /* that one token uses: fewer with experts */
};

struct mfu_builder; /* graph/builder.h: the program being built */

struct mfu_primitive {
    const char *name, *summary;
    struct mfu_attribute attributes[MFU_ATTRIBUTES + 1];
    int least_inputs, most_inputs; /* embeddings take none */

    /* Elements per row of the output. */
    double (*shape)(const struct mfu_operation *);
    /* Trainable parameters; NULL: none. */
    struct mfu_weights (*params)(const struct mfu_operation *);

    /* Appends the kernels and tensors of the forward or backward pass;
     * `index` is the operation's number within the step. */
    void (*forward)(struct mfu_builder *, int index);
    void (*backward)(struct mfu_builder *, int index);
};

extern const struct mfu_primitive *const mfu_primitives[];
extern const size_t mfu_primitive_count;

#endif
