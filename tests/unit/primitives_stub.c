/*
 * primitives_stub.c - primitives that can be written and do nothing.
 *
 * The descriptor layer is below the graph and must not need it: tests of model
 * files are linked with these instead of graph/primitives/.
 */
#include "descriptor/primitive.h"

static struct mfu_weights some(const struct mfu_operation *op)
{
    (void)op;
    return (struct mfu_weights){0};
}

// clang-format off
static const char *const kinds[] = {"layer", "rms", NULL};
static const char *const indices[] = {"token", "position", NULL};
static const char *const activations[] = {"gelu", "gelu_tanh", "silu", "relu", NULL};

static const struct mfu_primitive embedding = {
    .name = "embedding", .params = some,
    .attributes = {
        {"rows", NULL, NULL, "entries of the table"},
        {"width", NULL, NULL, "elements of an entry"},
        {"index", "token", indices, "what selects the entry"},
    },
};
static const struct mfu_primitive linear = {
    .name = "linear", .params = some, .inputs = {1, 1},
    .attributes = {
        {"width", NULL, NULL, "elements of an output row"},
        {"bias", "0", NULL, "whether a bias is added"},
        {"experts", "0", NULL, "number of weights; 0: one"},
        {"tied", "1", NULL, "with `shares`: whether it is"},
    },
};
static const struct mfu_primitive norm = {
    .name = "norm", .params = some, .inputs = {1, 1},
    .attributes = {
        {"kind", "layer", kinds, "layer or rms"},
        {"bias", "0", NULL, "whether it has a bias"},
    },
};
static const struct mfu_primitive attention = {
    .name = "attention", .inputs = {1, 3},
    .attributes = {
        {"heads", "n_head", NULL, "query heads"},
        {"kv_heads", "n_kv_head", NULL, "key/value heads"},
        {"head_dim", "head_dim", NULL, "width of one head"},
        {"causal", "1", NULL, "whether a token sees only earlier ones"},
    },
};
static const struct mfu_primitive activation = {
    .name = "activation", .inputs = {1, 1},
    .attributes = {{"kind", NULL, activations, "gelu, gelu_tanh, silu, relu"}},
};
static const struct mfu_primitive multiply = {
    .name = "multiply", .inputs = {2, 2},
};
static const struct mfu_primitive add = {
    .name = "add", .inputs = {2, 2},
};
static const struct mfu_primitive dropout = {
    .name = "dropout", .inputs = {1, 1},
    .attributes = {{"p", "dropout", NULL, "probability of zeroing an element"}},
};
static const struct mfu_primitive loss = {
    .name = "loss", .inputs = {1, 1},
};
// clang-format on

const struct mfu_primitive *const mfu_primitives[] = {
    &activation, &add, &attention, &dropout, &embedding, &linear, &loss, &multiply, &norm,
};
const size_t mfu_primitive_count = sizeof mfu_primitives / sizeof mfu_primitives[0];
