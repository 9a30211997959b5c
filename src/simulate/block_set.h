/*
 * block_set.h - free blocks in order of size, then address.
 *
 * The allocator asks for the smallest block of at least so many bytes, and of
 * equal ones the lowest; it takes blocks out and puts others in all the time.
 * The set is a sorted list cut into chunks of a few dozen entries, with the
 * first key of every chunk beside it: two short binary searches and one short
 * memmove, in memory that stays in cache.
 *
 *     struct mfu_block_set set = {0};
 *     struct mfu_block_place at;
 *     mfu_block_set_insert(&set, size, address, block);
 *     if (mfu_block_set_seek(&set, 4096, 0, &at))
 *         block = mfu_block_set_entry(&set, at)->block;
 */
#ifndef MFU_BLOCK_SET_H
#define MFU_BLOCK_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mfu_block_entry {
    uint64_t size, address; /* the key */
    int block;
};

struct mfu_block_key {
    uint64_t size, address;
};

struct mfu_block_chunk;

/* All zero: empty. */
struct mfu_block_set {
    struct mfu_block_chunk **chunks; /* in order; none is empty but a lone one */
    struct mfu_block_key *least;     /* no key of chunks[i], i > 0, is below least[i] */
    size_t n_chunks, room, count;
    struct mfu_block_chunk *spare; /* one emptied chunk, kept for the next split */
};

/* A position: stays good until the set changes. */
struct mfu_block_place {
    size_t chunk, slot;
};

void mfu_block_set_release(struct mfu_block_set *);

/* The key must not be there yet.  -1: out of memory, nothing has changed. */
int mfu_block_set_insert(struct mfu_block_set *, uint64_t size, uint64_t address, int block);

/* The first entry with a key of at least (size, address); false if none. */
bool mfu_block_set_seek(const struct mfu_block_set *, uint64_t size, uint64_t address, struct mfu_block_place *);

/* The entry after a place; false (place unchanged) if none. */
bool mfu_block_set_next(const struct mfu_block_set *, struct mfu_block_place *);

/* The last entry; false if the set is empty. */
bool mfu_block_set_last(const struct mfu_block_set *, struct mfu_block_place *);

const struct mfu_block_entry *mfu_block_set_entry(const struct mfu_block_set *, struct mfu_block_place);

/* Gives the entry at a place another key and block, and moves it to where it
 * belongs: mostly where it is, or near.  -1: out of memory, the entry is lost. */
int mfu_block_set_move(struct mfu_block_set *, struct mfu_block_place, uint64_t size, uint64_t address, int block);

/* Removes the entry at a place, or the one with exactly this key, if any. */
void mfu_block_set_remove(struct mfu_block_set *, struct mfu_block_place);
void mfu_block_set_erase(struct mfu_block_set *, uint64_t size, uint64_t address);

#endif
