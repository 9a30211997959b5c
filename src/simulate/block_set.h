/*
 * block_set.h - free blocks in order of size, then address.
 *
 * The allocator asks for the smallest block of at least so many bytes, and of
 * equal ones the lowest; it takes blocks out and puts others in all the time.
 * Layers ask for the same few sizes, so the blocks of one size stand together
 * in a bin, the lowest last; most come and go at its ends. Bins are linked in
 * order of size, and a map of classes of size says where to begin.
 *
 *     struct mfu_block_set set = {0};
 *     mfu_block_set_insert(&set, size, address, block);
 *     struct mfu_block_place at = mfu_block_set_seek(&set, 4096, 0);
 *     if (at.bin)
 *         block = mfu_block_set_entry(&set, at)->block;
 */
#ifndef MFU_BLOCK_SET_H
#define MFU_BLOCK_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mfu_block_entry {
    uint64_t address;
    int block;
};

/* Blocks of one size; those in use are linked, 0 stands for none. */
struct mfu_block_bin {
    uint64_t size;
    int next, previous;
    int class;
    int begin, n, room;              /* entries[begin] to entries[begin + n - 1] are in use */
    struct mfu_block_entry *entries; /* owned; from the highest address to the lowest */
};

#define MFU_BLOCK_CLASS_BITS 3 /* classes of each power of two: 8 */
#define MFU_BLOCK_CLASSES (64 << MFU_BLOCK_CLASS_BITS)

/* All zero: empty. */
struct mfu_block_set {
    struct mfu_block_bin *bins; /* owned; bins[0] is none: what follows it is the smallest, before it the largest */
    int n_bins, room, unused;   /* unused ones are linked by next */
    uint64_t classes[MFU_BLOCK_CLASSES / 64]; /* a bit for each that has a bin */
    int first[MFU_BLOCK_CLASSES];             /* bin of each of these */
};

/* A position: stays good until the set changes.  Bin 0: none. */
struct mfu_block_place {
    int bin, slot;
};

void mfu_block_set_release(struct mfu_block_set *);

/* The key must not be there yet.  The bin that holds it from now on, until it is moved or removed; 0: out of memory,
 * nothing has changed. */
int mfu_block_set_insert(struct mfu_block_set *, uint64_t size, uint64_t address, int block);

/* Where a block is, of which bin and address are known. */
struct mfu_block_place mfu_block_set_find(const struct mfu_block_set *, int bin, uint64_t address);

/* The first entry with a key of at least (size, address); the one after a place; the last. */
struct mfu_block_place mfu_block_set_seek(const struct mfu_block_set *, uint64_t size, uint64_t address);
struct mfu_block_place mfu_block_set_next(const struct mfu_block_set *, struct mfu_block_place);
struct mfu_block_place mfu_block_set_last(const struct mfu_block_set *);

/* What is at a place, and its size. */
static inline const struct mfu_block_entry *mfu_block_set_entry(const struct mfu_block_set *s,
                                                                struct mfu_block_place at)
{
    return &s->bins[at.bin].entries[at.slot];
}

static inline uint64_t mfu_block_set_size(const struct mfu_block_set *s, struct mfu_block_place at)
{
    return s->bins[at.bin].size;
}

/* Gives the entry at a place another key and block, and moves it to where it
 * belongs, mostly an end of a bin, which is returned.  0: out of memory, the entry is lost. */
int mfu_block_set_move(struct mfu_block_set *, struct mfu_block_place, uint64_t size, uint64_t address, int block);

void mfu_block_set_remove(struct mfu_block_set *, struct mfu_block_place);

#endif
