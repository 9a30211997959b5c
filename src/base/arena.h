/*
 * arena.h - memory that is released all at once.
 *
 * A plan is thousands of small things made in one go and thrown away in one
 * go.  They come from an arena, so nobody frees them one by one and nobody can
 * forget to.
 *
 *     struct mfu_arena arena = {0};
 *     struct mfu_op *ops = mfu_arena_alloc(&arena, n, sizeof *ops);
 *     ...
 *     mfu_arena_reset(&arena);         // empty, but keeps its memory
 *     mfu_arena_free(&arena);
 */
#ifndef MFU_ARENA_H
#define MFU_ARENA_H

#include <stddef.h>

struct mfu_arena_block;

struct mfu_arena {
    struct mfu_arena_block *blocks; /* newest first */
};

/* Room for `n` things of `size` bytes, zeroed, aligned for any type; NULL when
 * out of memory or n * size overflows. */
void *mfu_arena_alloc(struct mfu_arena *, size_t n, size_t size);

/* Of a thing of `had` bytes the first `bytes` stay; the rest is given back, if it is the latest. */
void mfu_arena_trim(struct mfu_arena *, const void *thing, size_t had, size_t bytes);

/* A copy of the first `length` characters of `text`, with a final '\0'. */
char *mfu_arena_copy(struct mfu_arena *, const char *text, size_t length);

/* Forgets the contents and keeps the largest block for what comes next. */
void mfu_arena_reset(struct mfu_arena *);

/* Releases everything and leaves the arena empty, ready for use. */
void mfu_arena_free(struct mfu_arena *);

#endif
