/*
 * workers.h - the same function on several threads at once.
 */
#ifndef MFU_WORKERS_H
#define MFU_WORKERS_H

#define MFU_WORKERS_MAX 64

/* How many workers to take when the caller asks for `wanted`; 0: one for each core that is online.
 * At least 1, at most MFU_WORKERS_MAX. */
int mfu_workers_count(int wanted);

/* Calls work(context, i) for i = 0 .. n-1, each on a thread of its own, i = 0 on the caller's, and
 * returns when all have returned.  Work must be shared out by the function itself (an atomic
 * counter), since a thread that cannot be created is left out.  Returns how many ran, 1 .. n. */
int mfu_workers_run(int n, void (*work)(void *context, int worker), void *context);

#endif
