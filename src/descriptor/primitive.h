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

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#define MFU_ATTRIBUTES 18 /* the most */
#define MFU_INPUTS 8      /* the most */

struct mfu_attribute {
    const char *name;           /* "width"; NULL ends the list */
    const char *initial;        /* an expression over the model's dimensions,
                                   or a choice; NULL: must be given */
    const char *const *choices; /* NULL-terminated; the value is the index */
    const char *help;
    double least; /* where the operation is run: what divides, and is no flag, is 1 or more */
    bool some;    /* what an expression gives is 1 or more, too: only a 0 that is written means something else */
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
    bool fixed;    /* a table that never trains: the sines of positions */
};

struct mfu_builder; /* graph/builder.h: the program being built, */
struct mfu_node;    /* and an operation of it */

/* Traits of an operation, for code that must not test its name. */
enum mfu_trait {
    MFU_MULTIPLIES = 1 << 0,  /* its weight is a factor of a matrix product: contracts the columns of its input */
    MFU_ELEMENTWISE = 1 << 1, /* keeps rows and columns: each element by itself */
    MFU_BY_ROW = 1 << 2,      /* keeps rows and columns, but needs whole rows (a norm) */
    MFU_MIXES_ROWS = 1 << 3,  /* keeps columns by heads, mixes the tokens of a sequence (attention) */
    MFU_LOOKS_UP = 1 << 4,    /* its weight is a table, of which rows are read (an embedding) */
    MFU_ENDS_IN_LOSS = 1 << 5,
    MFU_CHEAP = 1 << 6,          /* computed again rather than kept: activations and their products */
    MFU_ROUTES = 1 << 7,         /* rows leave in the order of experts */
    MFU_COMBINES = 1 << 8,       /* rows of experts become those of tokens again */
    MFU_CHOOSES = 1 << 9,        /* is one of its inputs: its first attribute says which */
    MFU_PASSES_STATES = 1 << 10, /* from one stretch of a sequence to the next (a scan) */
    MFU_COMPARES = 1 << 11,      /* whole samples with each other, of which each is a row */
    MFU_GATES = 1 << 12,         /* the product of a gate: a kernel may apply the activation of its first input */
    MFU_TAKES_COLUMNS = 1 << 14, /* of one input a part, of several all */
    MFU_RECALLS = 1 << 16,       /* keeps something of each microbatch for the next step's */
    MFU_HAND_FUSED = 1 << 17,    /* of a program whose norms, rotary and gates are kernels of its own, too */
    MFU_READS_BESIDE = 1 << 15,  /* rows beside its own: of a window around it, of the batch before */
    MFU_ADAPTABLE =
        1 << 13 /* a module of its own that multiplies rows by a matrix (nn.Linear): peft's adapters stand beside it */
};

/* How many elements a row of the output has: as an attribute says, as many as an input, or one. */
#define MFU_WIDTH_OF(attribute) (1 + (attribute))
#define MFU_WIDTH_OF_INPUT(input) (-(input))
#define MFU_WIDTH_ONE (1 + MFU_ATTRIBUTES)

struct mfu_primitive {
    const char *name, *summary;
    struct mfu_attribute attributes[MFU_ATTRIBUTES + 1];
    int inputs[2];   /* at least, at most; embeddings take none */
    unsigned traits; /* of enum mfu_trait */

    /* Bits of the attributes of which a rank has a part where the result is split by
     * columns (or heads), where the weight is split by rows, where experts are split. */
    unsigned split_columns, split_rows, split_experts;
    double (*key_elements)(const struct mfu_operation *); /* of keys and values, per token: of what mixes rows */
    bool (*takes_prefix)(const struct mfu_operation *);   /* whether learned ones may stand before them */

    /* Elements per row of the output: 0 as many as its first input has, else MFU_WIDTH_...; with `shape` what that says. */
    int width;
    double (*shape)(const struct mfu_operation *);
    /* Trainable parameters; NULL: none. */
    struct mfu_weights (*params)(const struct mfu_operation *);

    /* Whether its weight belongs to positions, not to tokens; NULL: it does not. */
    bool (*has_position)(const struct mfu_operation *);

    /* Appends the kernels and tensors of the forward or backward pass (NULL: backward has nothing to do). */
    void (*forward)(struct mfu_builder *, struct mfu_node *);
    void (*backward)(struct mfu_builder *, struct mfu_node *);
};

/* Whether so many ranks get whole parts of what a split by columns parts: of heads and of groups, by these attributes. */
static inline bool mfu_columns_divide(const struct mfu_primitive *p, const double attribute[MFU_ATTRIBUTES],
                                      double ranks)
{
    for (int a = 0; a < MFU_ATTRIBUTES; a++)
        if (p->split_columns & 1u << a && fmod(attribute[a], ranks) != 0)
            return false;
    return p->split_columns != 0;
}

static inline double mfu_operation_width(const struct mfu_operation *op)
{
    const struct mfu_primitive *p = op->primitive;

    return p->shape                 ? p->shape(op)
        : p->width == MFU_WIDTH_ONE ? 1
        : p->width > 0              ? op->attribute[p->width - 1]
                                    : op->in_width[-p->width];
}

extern const struct mfu_primitive *const mfu_primitives[];
extern const size_t mfu_primitive_count;

#endif
