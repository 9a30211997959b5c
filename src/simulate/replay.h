/*
 * replay.h - the allocations of real steps, served by the caching allocator.
 *
 * Set-up (weights, inputs), a first step that creates the optimizer's state,
 * then steady steps until reserved memory no longer changes.  Gradients do not
 * exist in the first micro-step of a step and do in the others, so two programs
 * are replayed: one for each case.
 */
#ifndef MFU_REPLAY_H
#define MFU_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/program.h"
#include "simulate/allocator.h"

/* What the allocator sees of an unrolled program, which may be gone when this is replayed. */
struct mfu_allocations {
    struct mfu_allocation_launch *launches;   /* that differ, tensors too; these and what follows are owned */
    double *bytes;                            /* of tensors, */
    unsigned char *part;                      /* and what they are for (enum mfu_part) */
    double *temporary_bytes;                  /* of those launches that take memory while they run */
    struct mfu_allocation_stretch *stretches; /* of launches */
    struct mfu_allocation_ends *ends;         /* by launch, and behind the last */
    int *like;                                /* which tensor each is, in the order in which they are made */
    int *died;                                /* these, in the order in which they are no longer needed */
    int *staying;                             /* those that outlive the micro-step */
    const struct mfu_program *program;        /* for the names in a record: there must it be still */
    int n_launches, n_tensors, n_stretches, n_staying, n_temporary;
    int cap_launches, cap_bytes, cap_part, cap_temporary, cap_stretches, cap_ends, cap_like, cap_died, cap_staying;
    int forward_end;                       /* last launch of forward */
    double constant_bytes[MFU_PART_COUNT]; /* there all the time */
};

struct mfu_replay_input {
    const struct mfu_allocations *first; /* gradients are born (accum 1) */
    const struct mfu_allocations *later; /* gradients exist; NULL: accum is 1 */
    const struct mfu_program *program;   /* either: their weights are the same */
    struct mfu_allocator_options allocator;
    uint64_t card_bytes, context_bytes;    /* for the message when memory runs out */
    double optimizer_state_elements_bytes; /* bytes of state per parameter */
    double weight_share;                   /* of every weight that this rank holds */
    double workspace_bytes;                /* of one cuBLAS handle */
    int workspaces;                        /* handles: forward's, autograd's */
    const double *lengths;                 /* of micro-steps one after the other, of that of the program; NULL: all 1 */
    int n_lengths;
    bool record; /* keep samples and blocks of the last step */
};

/* After one event of the recorded step. */
struct mfu_memory_sample {
    int launch;     /* of the program of its micro-step; -1: none */
    int micro_step; /* 0 first, 1 later; -1: optimizer */
    enum mfu_phase phase;
    uint64_t allocated, reserved;
};

/* One tensor's life in the recorded step, for snapshots and lists. */
struct mfu_block_life {
    uint64_t address, bytes;
    int segment;                  /* of the allocator at the time */
    int born_sample, died_sample; /* -1: before, after */
    enum mfu_part part;
    const char *section, *op, *suffix; /* launch that made it, or what it is */
};

struct mfu_replay {
    struct mfu_allocator_stats steady; /* peaks are of the steady steps */
    uint64_t first_step_reserved_bytes;
    double fragmentation; /* reserved but not allocated at the peak, of reserved */
    bool out_of_memory;
    uint64_t wanted_bytes;             /* then, that it would have had to reserve */
    char message[768];                 /* as PyTorch would print it */
    char failed_in[96];                /* "backward of lm_head, step 2" */
    int steps;                         /* replayed until nothing changed */
    struct mfu_memory_sample *samples; /* owned */
    size_t n_samples, cap_samples;
    size_t peak_sample;           /* highest allocated */
    struct mfu_block_life *lives; /* owned */
    size_t n_lives, cap_lives;
    struct mfu_block_view *blocks; /* of the allocator after the recorded step; owned */
    size_t n_blocks, cap_blocks;
    struct mfu_allocator *allocator; /* scratch, owned */
};

/* Takes over what is replayed of a program, in the place of what was taken before; -1 when out of memory. */
int mfu_allocations_take(struct mfu_allocations *, const struct mfu_program *);
void mfu_allocations_release(struct mfu_allocations *);

/* 0, or -1 with `err` when our own out of memory.  The simulated card running
 * out of memory is an answer, not an error. */
int mfu_replay_run(const struct mfu_replay_input *, struct mfu_replay *, struct mfu_error *err);
void mfu_replay_forget(struct mfu_replay *); /* gives back the scratch, which the next run would use again */
void mfu_replay_release(struct mfu_replay *);

#endif
