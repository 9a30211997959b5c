/*
 * embedding - rows of a table, one for each token (or position, or sequence).
 *
 * Forward gathers, backward scatters: the table's gradient is dense, is filled
 * with zeros first, and sums the rows that equal tokens give.  Where a few rows train and the rest is frozen (peft 0.21.2,
 * tuners/trainable_tokens/layer.py), they stand by themselves: they are put into a copy of the table, whose gradient is as dense.
 */
#include <stddef.h>

#include "graph/builder.h"
#include "scenario/setting.h"

enum { ROWS, WIDTH, INDEX, LENGTH, FIXED, BUFFER, TRAINED };
enum { TOKEN, POSITION, SEQUENCE };
static const char *const indices[] = {"token", "position", "sequence", NULL};

static struct mfu_weights params(const struct mfu_operation *op)
{
    double n = op->attribute[BUFFER] > 0 ? 0 : op->attribute[ROWS] * op->attribute[WIDTH];

    return (struct mfu_weights){.weight = n,
                                .bias = op->attribute[TRAINED] * op->attribute[WIDTH],
                                .active = n,
                                .fixed = op->attribute[FIXED] > 0};
}

static bool has_position(const struct mfu_operation *op)
{
    return op->attribute[INDEX] == POSITION;
}

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    double length =
        (n->op->attribute[LENGTH] > 0 ? n->op->attribute[LENGTH] : s->config->seq) / s->config->setting[MFU_S_CP];
    double rows = n->op->attribute[INDEX] == POSITION ? length
        : n->op->attribute[INDEX] == SEQUENCE         ? s->config->batch
                                                      : s->config->batch * length;
    int table = MFU_NO_VIEW;

    if (n->op->attribute[TRAINED] > 0)
        table = mfu_emit_table(s, n, n->op->attribute[ROWS], n->op->attribute[WIDTH]);
    n->out = mfu_emit_gather(s, rows, n->op->attribute[WIDTH], s->numerics.residual);
    mfu_tensor_extend(s, table);
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    bool rows = n->op->attribute[TRAINED] > 0 && mfu_trains(s, n, 1);
    int table;

    if (!(rows || mfu_trains(s, n, 0)) || n->op->attribute[BUFFER] > 0)
        return; /* checkpointing wants a gradient of its result */
    table = mfu_tensor_new(s, n->op->attribute[ROWS], n->op->attribute[WIDTH], s->numerics.weight, MFU_PART_GRADIENTS);
    mfu_emit_scatter(s, mfu_view_rows(s, n->gradient), n->gradient, table);
    if (rows)
        mfu_emit_table_gradient(s, n, n->op->attribute[TRAINED], table);
    else
        mfu_param_grad_add(s, n, 0, table);
}

const struct mfu_primitive mfu_primitive_embedding = {
    .name = "embedding",
    .summary = "a row of a table for each token or position",
    .attributes =
        {
            [ROWS] = {"rows", NULL, NULL, "entries of the table"},
            [WIDTH] = {"width", NULL, NULL, "elements of an entry", 1},
            [INDEX] = {"index", "token", indices, "what selects the entry"},
            [LENGTH] = {"length", "0", NULL, "tokens of its sequence; 0: seq", .some = true},
            [FIXED] = {"fixed", "0", NULL, "whether the table is given and never trains"},
            [BUFFER] = {"buffer", "0", NULL, "whether it is no parameter, but worked out beforehand"},
            [TRAINED] = {MFU_TRAINED_ROWS, "0", NULL, "rows that train where the table does not"},
        },
    .traits = MFU_LOOKS_UP,
    .split_rows = 1u << ROWS,
    .width = MFU_WIDTH_OF(WIDTH),
    .params = params,
    .has_position = has_position,
    .forward = forward,
    .backward = backward,
};
