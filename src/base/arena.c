/*
 * arena.c - memory that is released all at once.
 *
 * An arena is a list of blocks, each twice as large as the one before, so that
 * a plan of any size needs few of them, and a plan made again after
 * mfu_arena_reset() soon fits into one and allocates nothing.
 */
#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BLOCK 4096 /* bytes: a scenario's expressions fit */

struct mfu_arena_block {
    struct mfu_arena_block *older;
    size_t size, used; /* bytes of `room` */
    alignas(max_align_t) unsigned char room[];
};

/* A new block at the head of the list with room for at least `bytes`. */
static struct mfu_arena_block *grow(struct mfu_arena *arena, size_t bytes)
{
    struct mfu_arena_block *block, *last = arena->blocks;
    size_t size = FIRST_BLOCK;

    if (last && last->size <= SIZE_MAX / 4)
        size = 2 * last->size;
    if (size < bytes)
        size = bytes;
    if (size > SIZE_MAX - sizeof *block)
        return NULL;
    block = malloc(sizeof *block + size);
    if (!block)
        return NULL;
    *block = (struct mfu_arena_block){.older = last, .size = size};
    arena->blocks = block;
    return block;
}

/* So many bytes, up to where the next thing may begin. */
static size_t round_up(size_t bytes)
{
    const size_t step = alignof(max_align_t);

    return (bytes + step - 1) / step * step;
}

void *mfu_arena_alloc(struct mfu_arena *arena, size_t n, size_t size)
{
    struct mfu_arena_block *block = arena->blocks;
    size_t bytes;
    void *room;

    if (size && n > (SIZE_MAX - alignof(max_align_t)) / size)
        return NULL;
    bytes = round_up(n * size);
    if (!block || block->size - block->used < bytes)
        block = grow(arena, bytes);
    if (!block)
        return NULL;
    room = block->room + block->used;
    block->used += bytes;
    return memset(room, 0, bytes);
}

void mfu_arena_trim(struct mfu_arena *arena, const void *thing, size_t had, size_t bytes)
{
    struct mfu_arena_block *block = arena->blocks;

    if (block && (const unsigned char *)thing + round_up(had) == block->room + block->used)
        block->used -= round_up(had) - round_up(bytes);
}

char *mfu_arena_copy(struct mfu_arena *arena, const char *text, size_t length)
{
    char *copy = NULL;

    if (length < SIZE_MAX)
        copy = mfu_arena_alloc(arena, length + 1, 1);
    return copy && length ? memcpy(copy, text, length) : copy;
}

static void free_all(struct mfu_arena_block *block)
{
    while (block) {
        struct mfu_arena_block *older = block->older;

        free(block);
        block = older;
    }
}

void mfu_arena_reset(struct mfu_arena *arena)
{
    struct mfu_arena_block *newest = arena->blocks;

    /* Blocks only grow, so the newest is the largest. */
    if (!newest)
        return;
    free_all(newest->older);
    newest->older = NULL;
    newest->used = 0;
}

void mfu_arena_free(struct mfu_arena *arena)
{
    free_all(arena->blocks);
    arena->blocks = NULL;
}
