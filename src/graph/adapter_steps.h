/*
 * adapter_steps.h - what the primitives of adapters (scenario/adapter.h) have in common: an input made what the adapter
 * is, small products, a sum with the base's result.
 *
 * An adapter reads what its product reads (input 0) and that product's result (input 1); its operation has these
 * attributes.
 */
#ifndef MFU_ADAPTER_STEPS_H
#define MFU_ADAPTER_STEPS_H

#include "graph/builder_private.h"
#include "scenario/adapter.h"

enum { MFU_ADAPTER_SIZE, MFU_ADAPTER_WIDTH, MFU_ADAPTER_MORE, MFU_ADAPTER_INNER }; /* attributes */
#define MFU_ADAPTER_RANK_AND_WIDTH                                                                                     \
    [MFU_ADAPTER_SIZE] = {"rank", NULL, NULL, "columns between the two products"},                                     \
    [MFU_ADAPTER_WIDTH] = {"width", NULL, NULL, "elements of an output row"}
enum { MFU_ADAPTER_INPUT, MFU_ADAPTER_BASE };

/* x W^T with a weight of [width, depth], in the type of x; as autocast makes x; a kernel over elements; sums of columns
 * in fp32; g^T x, a gradient of [width, depth]. */
int mfu_adapter_product(struct mfu_builder *, const char *suffix, int x, int weight, double width, double depth);
int mfu_adapter_operand(struct mfu_builder *, int view);
int mfu_adapter_pass(struct mfu_builder *, const char *suffix, enum mfu_type, int a, int b);
int mfu_adapter_column_sum(struct mfu_builder *, const char *suffix, int view);
int mfu_adapter_weight_gradient(struct mfu_builder *, const char *suffix, int g, int x, double width, double depth);
/* The product of two matrices of the adapter itself, [rows, depth] [depth, columns]. */
int mfu_adapter_small(struct mfu_builder *, const char *suffix, enum mfu_type, double rows, double columns,
                      double depth, int a, int b);

#endif
