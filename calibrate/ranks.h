/*
 * ranks.h - this process as one of several, on one machine or on many.
 *
 * A launcher (mpirun, srun, torchrun) starts the same program once per GPU and
 * tells each copy its number.  The copies find each other through files that
 * all of them see, so that neither MPI nor an open port is needed.
 */
#ifndef MFU_RANKS_H
#define MFU_RANKS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mfu_ranks {
    int rank, size;  /* size 1: nobody else */
    int local;       /* number of this process on its machine, from 0 */
    int nodes;       /* machines; rank 0 knows once they have met */
    char node[64];   /* which machine this is: any word without blanks */
    char meet[4000]; /* beside this file they leave each other words */
};

/* What the launcher's environment says: Open MPI's, MPICH's and Intel MPI's,
 * Slurm's (in a step, so not of a bare batch script) or torchrun's variables.
 * 0, or -1 and a sentence in `why` where they contradict themselves. */
int mfu_ranks_from_environment(struct mfu_ranks *, char *why, size_t size);

/* Waits at most `patience_s` seconds until all have come, gives each the `n`
 * bytes that rank 0 holds in `word`, and counts the nodes.  Words that an
 * earlier run left behind do no harm.  *stop ends the wait.  0, or -1 and a
 * sentence in `why`. */
int mfu_ranks_meet(struct mfu_ranks *, void *word, size_t n, double patience_s, const volatile int *stop, char *why,
                   size_t size);

/* Rank 0 takes away what lies about; not before the others have ended the
 * above, which any first collective shows. */
void mfu_ranks_part(const struct mfu_ranks *);

#ifdef __cplusplus
}
#endif
#endif
