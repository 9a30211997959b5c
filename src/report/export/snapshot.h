/*
 * snapshot.h - memory as PyTorch's torch.cuda.memory._dump_snapshot() writes it,
 * for the page behind https://pytorch.org/memory_viz.
 *
 * The page reads pickles only; the same tree as JSON is for other programs.
 * Every tensor of the recorded step is in the trace, with the launch that made
 * it as its stack and its part of memory as its category.
 */
#ifndef MFU_SNAPSHOT_H
#define MFU_SNAPSHOT_H

struct mfu_error;
struct mfu_plan;
struct mfu_simulation;

struct mfu_snapshot_facts {
    long segments, blocks, events;
    double reserved_bytes, allocated_bytes; /* at the end of the step */
};

/* FILE.pickle (.pkl) or FILE.json.  Needs a simulation that recorded. */
int mfu_snapshot_write(const char *path, const struct mfu_plan *, const struct mfu_simulation *,
                       struct mfu_snapshot_facts *, struct mfu_error *);

#endif
