/*
 * graph.h - the program of a scenario: one rank's step as launches and tensors.
 */
#ifndef MFU_GRAPH_H
#define MFU_GRAPH_H

#include "graph/program.h"
#include "scenario/scenario.h"

struct mfu_error;

/* Builds the program of a scenario into `program` (zeroed, or used before).
 * The program's memory is reused; free it with mfu_program_free. */
/* Simulations that follow each allocation and launch want every layer; else repeated layers are counted. */
int mfu_graph_build(const struct mfu_config *, enum mfu_unrolling, struct mfu_program *, struct mfu_error *);
/* Only the facts of the model that the program states (params, ...), of the first rank's stage. */
int mfu_graph_count(const struct mfu_config *, struct mfu_program *, struct mfu_error *);
/* Bytes that weights, gradients and optimizer of the first rank take all the time: less than any
 * peak, and found without tracing.  The program is scratch.  0: not known. */
double mfu_graph_state_bytes(const struct mfu_config *, struct mfu_program *);

/* The same of one stage of the pipeline, from 0: its layers, what it receives
 * instead of tokens, its part of the parameters. */
int mfu_graph_build_stage(const struct mfu_config *, int stage, enum mfu_unrolling, struct mfu_program *,
                          struct mfu_error *);
/* Whether both configurations have the same graph, but for the number of
 * micro-steps (one, or several): then mfu_program_accumulate() is all that a change takes. */
bool mfu_graph_same(const struct mfu_config *, const struct mfu_config *);

/* What sizes are functions of where all else stays: the number of sequences in a micro-batch, of tokens in a sequence,
 * or 1 / data-parallel ranks. */
enum mfu_size_variable { MFU_SIZES_BY_NONE, MFU_SIZES_BY_BATCH, MFU_SIZES_BY_SEQ, MFU_SIZES_BY_DP };
struct mfu_size_change {
    enum mfu_size_variable by;
    double from, to;
};
/* Whether a key changes nothing but sizes, for most of its values. */
bool mfu_graph_scales_by(const struct mfu_model *, struct mfu_key);
/* Whether more sequences in a micro-batch never need less memory: a law, which a budget of
 * checkpointing breaks, since it chooses anew at every size; known of data parallelism alone. */
bool mfu_graph_grows_with_batch(const struct mfu_config *);
/* What leads from one configuration to another whose graph may have the same form (scale.h); `by` none: nothing does. */
struct mfu_size_change mfu_graph_change(const struct mfu_config *from, const struct mfu_config *to);
/* Micro-steps of the program of a configuration: of a pipeline's rank, its passes. */
double mfu_graph_accum(const struct mfu_config *);
/* The program for another number of micro-steps per optimizer step. */
void mfu_program_accumulate(struct mfu_program *, double accum);
void mfu_program_free(struct mfu_program *);

#endif
