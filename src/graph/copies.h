/*
 * copies.h - layers that are copied instead of traced, or named so and not made.
 *
 * The step of a large model has tens of thousands of launches, of which few differ.  A folded program has these alone;
 * what distinguishes the copies, the numbers of their tensors, is worked out on the way through it.
 */
#ifndef MFU_COPIES_H
#define MFU_COPIES_H

#include "graph/layers.h"

/* Puts the copies of the n layers that were traced (mfu_layer.copies) into the program: what tracing each layer makes.
 * False: two neighbours are not alike, or others reach into what is copied, or memory ran out (s->failed); the
 * program is then no longer of use. */
bool mfu_copy_layers(struct mfu_builder *, int n);

/* The same program, folded, once it is whole.  False: as above. */
bool mfu_fold_layers(struct mfu_builder *, int n);
void mfu_fold_free(struct mfu_program *);

/* How many tensors its list has. */
int mfu_fold_tensors(const struct mfu_program *);

/* One more tensor, behind all others; its place in the list, -1: out of memory. */
int mfu_fold_tensor(struct mfu_builder *, double bytes, enum mfu_part);

/* A pass has put launches between others, and moved each to moved[], which is the program's now. */
void mfu_fold_moves(struct mfu_program *, int *moved);

/* Numbers of the whole program, of one copy of a stretch after the other.  Zeroed; `now` and `step` are owned. */
struct mfu_unfolding {
    int *now, *step;
    int cap_now, cap_step;
};

/* The tensors that the launches of a segment read and write, launch by launch, while segments are asked for in their
 * order; NULL when out of memory. */
const int *mfu_unfold_ends(const struct mfu_program *, const struct mfu_segment *, struct mfu_unfolding *);

/* Whether a segment's launches are those of the copy before, which is in front of it. */
bool mfu_unfolds_alike(const struct mfu_segment *);

/* Whether its numbers are, too, each moved as far as that one's from the copy before it. */
bool mfu_unfolds_evenly(const struct mfu_program *, const struct mfu_segment *);

/* Calls back with each tensor from the last to the first: its number, that of the item in p->tensors that it is like,
 * and the launches in which it is born and needed last.  -1 when out of memory. */
typedef void mfu_life_fn(void *context, int tensor, int like, int born, int last);
int mfu_unfold_lives(const struct mfu_program *, mfu_life_fn *, void *context);

void mfu_unfolding_release(struct mfu_unfolding *);

#endif
