/*
 * block_set.h - free blocks in order of size, then address.
 *
 * The allocator asks for the smallest block of at least so many bytes, and of
 * equal ones the lowest; it takes blocks out and puts others in all the time.
 * Layers ask for the same few sizes: blocks of a class of sizes stand together
 * in a bin, the smallest and of equal ones the lowest last; most come and go at its ends.
 * A map says which classes have blocks.
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
#include <string.h>

struct mfu_block_entry {
    uint64_t size, address;
    int block;
};

/* Blocks of one class. */
struct mfu_block_bin {
    struct mfu_block_entry *entries; /* owned; from the highest key to the lowest */
    int begin, n, room;              /* entries[begin] to entries[begin + n - 1] are in use */
    int class;
};

#define MFU_BLOCK_CLASS_BITS 3 /* classes of each power of two: 8 */
#define MFU_BLOCK_CLASSES (64 << MFU_BLOCK_CLASS_BITS)

/* All zero: empty. */
struct mfu_block_set {
    struct mfu_block_bin *bins; /* owned; bins[0] is none */
    int n_bins, room;
    uint64_t classes[MFU_BLOCK_CLASSES / 64]; /* a bit for each that has blocks */
    short bin_of[MFU_BLOCK_CLASSES];          /* 0: none so far */
};

/* A position: stays good until the set changes.  Bin 0: none. */
struct mfu_block_place {
    int bin, slot;
};

void mfu_block_set_release(struct mfu_block_set *);
void mfu_block_set_clear(struct mfu_block_set *);

/* An empty bin for a class, 0 when out of memory; room for one more entry at either end of one, false likewise. */
int mfu_block_set_bin(struct mfu_block_set *, int class);
bool mfu_block_bin_widen(struct mfu_block_bin *);

/* The entry after a place; the last. */
struct mfu_block_place mfu_block_set_next(const struct mfu_block_set *, struct mfu_block_place);
struct mfu_block_place mfu_block_set_last(const struct mfu_block_set *);

/* The power of two and the bits after the highest: what is larger is in no lower class. */
static inline int mfu_block_class(uint64_t size)
{
    int power = 63 - __builtin_clzll(size | 1 << MFU_BLOCK_CLASS_BITS) - MFU_BLOCK_CLASS_BITS;

    return (int)(size >> power) + (power << MFU_BLOCK_CLASS_BITS);
}

/* The first entry of the lowest class from this one on that has blocks. */
static inline struct mfu_block_place mfu_block_set_from(const struct mfu_block_set *s, int class)
{
    uint64_t word = s->classes[class / 64] >> (class % 64) << (class % 64);
    int w = class / 64, bin;

    while (!word && ++w < MFU_BLOCK_CLASSES / 64)
        word = s->classes[w];
    if (!word)
        return (struct mfu_block_place){0};
    bin = s->bin_of[64 * w + __builtin_ctzll(word)];
    return (struct mfu_block_place){bin, s->bins[bin].begin + s->bins[bin].n - 1};
}

/* Whether an entry has this key or a higher one. */
static inline bool mfu_block_entry_reaches(const struct mfu_block_entry *e, uint64_t size, uint64_t address)
{
    return e->size > size || (e->size == size && e->address >= address);
}

/* What is at a place. */
static inline const struct mfu_block_entry *mfu_block_set_entry(const struct mfu_block_set *s,
                                                                struct mfu_block_place at)
{
    return &s->bins[at.bin].entries[at.slot];
}

/* The first entry with a key of at least (size, address). */
static inline struct mfu_block_place mfu_block_set_seek(const struct mfu_block_set *s, uint64_t size, uint64_t address)
{
    struct mfu_block_place at = mfu_block_set_from(s, mfu_block_class(size));
    const struct mfu_block_entry *e;

    if (!at.bin || mfu_block_entry_reaches(mfu_block_set_entry(s, at), size, address))
        return at;
    e = s->bins[at.bin].entries + s->bins[at.bin].begin;
    if (!mfu_block_entry_reaches(e, size, address))
        return mfu_block_set_from(s, s->bins[at.bin].class + 1);
    at.slot = s->bins[at.bin].begin;
    for (int n = s->bins[at.bin].n; n > 1; n -= n / 2)
        if (mfu_block_entry_reaches(e + n / 2, size, address)) {
            at.slot += n / 2;
            e += n / 2;
        }
    return at;
}

/* The key must not be there yet.  False: out of memory, nothing has changed. */
static inline bool mfu_block_set_insert(struct mfu_block_set *s, uint64_t size, uint64_t address, int block)
{
    int class = mfu_block_class(size), b = s->bin_of[class], at;
    struct mfu_block_entry *e;
    struct mfu_block_bin *bin;

    if (!b && !(b = mfu_block_set_bin(s, class)))
        return false;
    bin = &s->bins[b];
    if ((bin->begin == 0 || bin->begin + bin->n >= bin->room) && !mfu_block_bin_widen(bin))
        return false;
    e = bin->entries;
    if (bin->n > 0 && !mfu_block_entry_reaches(&e[bin->begin + bin->n / 2], size, address)) {
        for (at = --bin->begin; mfu_block_entry_reaches(&e[at + 1], size, address); at++)
            e[at] = e[at + 1];
    } else {
        for (at = bin->begin + bin->n; at > bin->begin && !mfu_block_entry_reaches(&e[at - 1], size, address); at--)
            e[at] = e[at - 1];
    }
    e[at] = (struct mfu_block_entry){size, address, block};
    if (bin->n++ == 0)
        s->classes[class / 64] |= (uint64_t)1 << (class % 64);
    return true;
}

static inline void mfu_block_set_remove(struct mfu_block_set *s, struct mfu_block_place place)
{
    struct mfu_block_bin *bin = &s->bins[place.bin];
    int above = place.slot - bin->begin, below = --bin->n - above;

    if (below == 0) {
        if (bin->n == 0)
            s->classes[bin->class / 64] &= ~((uint64_t)1 << (bin->class % 64));
    } else if (above < below) {
        memmove(&bin->entries[bin->begin + 1], &bin->entries[bin->begin], (size_t)above * sizeof bin->entries[0]);
        bin->begin++;
    } else {
        memmove(&bin->entries[place.slot], &bin->entries[place.slot + 1], (size_t)below * sizeof bin->entries[0]);
    }
}

#endif
