/*
 * builder_private.h - what the files that build a step share among themselves.
 */
#ifndef MFU_BUILDER_PRIVATE_H
#define MFU_BUILDER_PRIVATE_H

#include "graph/builder.h"

/* A stretch of launches that happens `repeat` times; all launches are in one. */
void mfu_segment_open(struct mfu_builder *, const char *section, enum mfu_phase, double repeat);
void mfu_segment_close(struct mfu_builder *);

extern const struct mfu_primitive mfu_primitive_add, mfu_primitive_scan;

/* A node that reads nothing and has made nothing yet. */
extern const struct mfu_node mfu_unused_node;

/* Adapters (graph/adapter_steps.h). */
extern const struct mfu_primitive mfu_primitive_adapter, mfu_primitive_adapter_tokens, mfu_primitive_adapter_method;
/* What it counts of such an operation. */
struct mfu_tape_weights mfu_adapter_method_weights(const struct mfu_operation *);
static inline bool mfu_is_adapter(const struct mfu_builder *s, const struct mfu_node *n)
{
    return n->op >= s->operations + MFU_MAX_OPS && n->op < s->operations + 2 * MFU_MAX_OPS;
}

/* Whether it works on rows of experts that ranks share. */
static inline bool mfu_is_routed(const struct mfu_builder *s, const struct mfu_node *n)
{
    return n->op >= s->operations && n->op < s->operations + MFU_MAX_OPS && s->routed[n->op - s->operations];
}

static inline struct mfu_tensor *mfu_tensor_of(struct mfu_builder *s, int view)
{
    return &s->program->tensors[s->program->views[view].tensor];
}

/* Room for n views that a launch reads or writes; NULL, and the builder has failed, when out of memory. */
int *mfu_ends_new(struct mfu_builder *, int n);

/* The work of launches that is so, which they share; all of it is compared, but `number` and `older`.  Of a launch that is to
 * do other work: a copy of its own, changed, asked for here. */
const struct mfu_work *mfu_work_of(struct mfu_builder *, const struct mfu_work *);
/* The one appended last. */
struct mfu_launch *mfu_latest_launch(struct mfu_builder *);

/* A copy of a view in another type, as part of `part`. */
int mfu_emit_cast_as(struct mfu_builder *, int view, enum mfu_type, enum mfu_part, enum mfu_fusion);

/* When the model has returned: its logits made fp32 if the caller wants that, the old ones freed. */
void mfu_return_outputs(struct mfu_builder *);

/* `.grad += new` at the end of a backward pass that returns all at once. */
void mfu_accumulate(struct mfu_builder *, int view);

/* The updates of the weights whose gradients a compiled layer hands over at its end, where they run in backward. */
void mfu_update_deferred(struct mfu_builder *);

/* Attributes, widths and parameter counts of all operations of the model. */
int mfu_evaluate_operations(struct mfu_builder *, struct mfu_error *);
void mfu_count_parameters(struct mfu_builder *);
void mfu_count_rank(struct mfu_builder *); /* the same of one rank, once operations are split */
/* Takes from what trains the weights that backward has given no gradient (a part of the last layer); they do not train. */
void mfu_count_reached(struct mfu_builder *, int n_layers);
/* How often a section is repeated; whether an op uses another's weight. */
double mfu_repeats(const struct mfu_config *, const struct mfu_model_section *);
/* Says that a sequence has no place for so many tokens of its images, or that they are no whole number; -1. */
int mfu_fail_images(const struct mfu_config *, double tokens, struct mfu_error *err);
/* How it stands apart: 0 not at all; 1 in the 16 bits of the step, 2 in fp32. */
double mfu_apart(const struct mfu_config *, const struct mfu_model_section *);

/* How many sets of weights so many layers of a section have. */
double mfu_weight_sets(const struct mfu_model_section *, double layers);

bool mfu_shares_weight(const struct mfu_builder *, int op);

/* A pass that puts launches between those that there are, segment by segment: begin; one more launch at *n, NULL when out
 * of memory; the next of the old ones, of a segment as it was, at *n (s->moved remembers where it went), NULL likewise; a
 * segment that began at `first` ends at n; end, when lifetimes of the first n_tensors follow.  What one call returned may
 * be elsewhere after the next.  In a folded program segments share what has become of them alike. */
bool mfu_rewrite_begin(struct mfu_builder *);
struct mfu_launch *mfu_rewrite_put(struct mfu_builder *, int *n, const struct mfu_launch *);
struct mfu_launch *mfu_rewrite_move(struct mfu_builder *, int *n, const struct mfu_segment *, int launch);
void mfu_rewrite_segment(struct mfu_builder *, struct mfu_segment *, int first, int n);
void mfu_rewrite_end(struct mfu_builder *, int n, int n_tensors, int n_launches);

#endif
