/*
 * block_set.c - free blocks in order of size, then address.
 *
 * A bin that becomes empty leaves the list and keeps its room for the next size.
 */
#include "simulate/block_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"

/* The power of two and the bits after the highest: what is larger is in no lower class. */
static inline int class_of(uint64_t size)
{
    int power = 63 - __builtin_clzll(size | 1 << MFU_BLOCK_CLASS_BITS);

    return (int)(size >> (power - MFU_BLOCK_CLASS_BITS)) + ((power - MFU_BLOCK_CLASS_BITS) << MFU_BLOCK_CLASS_BITS);
}

/* The smallest bin of at least this class; 0 if none. */
static inline int bin_of_class(const struct mfu_block_set *s, int class)
{
    uint64_t word = s->classes[class / 64] >> (class % 64);

    if (word)
        return s->first[class + __builtin_ctzll(word)];
    for (int w = class / 64 + 1; w < MFU_BLOCK_CLASSES / 64; w++)
        if (s->classes[w])
            return s->first[64 * w + __builtin_ctzll(s->classes[w])];
    return 0;
}

/* The smallest bin of at least this size; 0 if none. */
static inline int bin_from(const struct mfu_block_set *s, uint64_t size)
{
    int b = bin_of_class(s, class_of(size));

    while (b && s->bins[b].size < size)
        b = s->bins[b].next;
    return b;
}

/* How many entries of a bin have this address or a higher one. */
static inline int down_to(const struct mfu_block_bin *bin, uint64_t address)
{
    const struct mfu_block_entry *e = bin->entries + bin->begin;
    int base = 0;

    if (bin->n == 0 || e[bin->n - 1].address >= address)
        return bin->n;
    if (e[0].address < address)
        return 0;
    for (int n = bin->n; n > 1; n -= n / 2)
        base += n / 2 & -(e[base + n / 2 - 1].address >= address);
    return base + (e[base].address >= address);
}

void mfu_block_set_release(struct mfu_block_set *s)
{
    for (int b = 0; b < s->n_bins; b++)
        free(s->bins[b].entries);
    free(s->bins);
    *s = (struct mfu_block_set){0};
}

/* A linked bin gets a size: is it the first of its class? */
static void enter_class(struct mfu_block_set *s, struct mfu_block_bin *bin, uint64_t size)
{
    bin->size = size;
    bin->class = class_of(size);
    if (s->bins[bin->previous].class != bin->class) {
        s->first[bin->class] = (int)(bin - s->bins);
        s->classes[bin->class / 64] |= (uint64_t)1 << (bin->class % 64);
    }
}

static void leave_class(struct mfu_block_set *s, const struct mfu_block_bin *bin)
{
    if (s->bins[bin->previous].class == bin->class)
        return;
    if (s->bins[bin->next].class == bin->class)
        s->first[bin->class] = bin->next;
    else
        s->classes[bin->class / 64] &= ~((uint64_t)1 << (bin->class % 64));
}

/* An empty bin before bin `next`; 0 when out of memory. */
static int open_bin(struct mfu_block_set *s, uint64_t size, int next)
{
    int b = s->unused;
    struct mfu_block_bin *bin;

    if (!b) {
        if (!MFU_ROOM(s->bins, s->n_bins + 2, s->room))
            return 0;
        if (s->n_bins == 0)
            s->bins[s->n_bins++] = (struct mfu_block_bin){.class = -1};
        b = s->n_bins++;
        s->bins[b] = (struct mfu_block_bin){0};
    }
    bin = &s->bins[b];
    s->unused = bin->next;
    bin->next = next;
    bin->previous = s->bins[next].previous;
    s->bins[bin->previous].next = b;
    s->bins[next].previous = b;
    enter_class(s, bin, size);
    return b;
}

static void close_bin(struct mfu_block_set *s, int b)
{
    struct mfu_block_bin *bin = &s->bins[b];

    leave_class(s, bin);
    s->bins[bin->previous].next = bin->next;
    s->bins[bin->next].previous = bin->previous;
    bin->next = s->unused;
    s->unused = b;
}

/* Room for one more entry at either end. */
static bool widen(struct mfu_block_bin *bin)
{
    int begin;

    if (bin->begin > 0 && bin->begin + bin->n < bin->room)
        return true;
    if (!MFU_ROOM(bin->entries, 2 * (bin->n + 2), bin->room))
        return false;
    begin = (bin->room - bin->n) / 2;
    memmove(&bin->entries[begin], &bin->entries[bin->begin], (size_t)bin->n * sizeof bin->entries[0]);
    bin->begin = begin;
    return true;
}

int mfu_block_set_insert(struct mfu_block_set *s, uint64_t size, uint64_t address, int block)
{
    int b = bin_from(s, size), at;
    struct mfu_block_entry *e;
    struct mfu_block_bin *bin;

    if ((!b || s->bins[b].size != size) && (b = open_bin(s, size, b)) == 0)
        return 0;
    bin = &s->bins[b];
    if (!widen(bin)) {
        if (bin->n == 0)
            close_bin(s, b);
        return 0;
    }
    e = bin->entries;
    if (bin->n > 0 && address > e[bin->begin + bin->n / 2].address) {
        for (at = --bin->begin; e[at + 1].address > address; at++)
            e[at] = e[at + 1];
    } else {
        for (at = bin->begin + bin->n; at > bin->begin && e[at - 1].address < address; at--)
            e[at] = e[at - 1];
    }
    e[at] = (struct mfu_block_entry){address, block};
    bin->n++;
    return b;
}

static struct mfu_block_place first_of(const struct mfu_block_set *s, int bin)
{
    return (struct mfu_block_place){bin, bin ? s->bins[bin].begin + s->bins[bin].n - 1 : 0};
}

struct mfu_block_place mfu_block_set_find(const struct mfu_block_set *s, int bin, uint64_t address)
{
    return (struct mfu_block_place){bin, s->bins[bin].begin + down_to(&s->bins[bin], address) - 1};
}

struct mfu_block_place mfu_block_set_seek(const struct mfu_block_set *s, uint64_t size, uint64_t address)
{
    int b = bin_from(s, size), slot;
    const struct mfu_block_bin *bin;

    if (!b)
        return (struct mfu_block_place){0};
    bin = &s->bins[b];
    slot = bin->begin + (bin->size == size && address > 0 ? down_to(bin, address) : bin->n) - 1;
    return slot >= bin->begin ? (struct mfu_block_place){b, slot} : first_of(s, bin->next);
}

struct mfu_block_place mfu_block_set_next(const struct mfu_block_set *s, struct mfu_block_place at)
{
    const struct mfu_block_bin *bin = &s->bins[at.bin];

    return at.slot > bin->begin ? (struct mfu_block_place){at.bin, at.slot - 1} : first_of(s, bin->next);
}

struct mfu_block_place mfu_block_set_last(const struct mfu_block_set *s)
{
    int last = s->n_bins ? s->bins[0].previous : 0;

    return (struct mfu_block_place){last, last ? s->bins[last].begin : 0};
}

void mfu_block_set_remove(struct mfu_block_set *s, struct mfu_block_place place)
{
    struct mfu_block_bin *bin = &s->bins[place.bin];
    int above = place.slot - bin->begin, below = --bin->n - above;

    if (above < below) {
        memmove(&bin->entries[bin->begin + 1], &bin->entries[bin->begin], (size_t)above * sizeof bin->entries[0]);
        bin->begin++;
    } else if (below > 0) {
        memmove(&bin->entries[place.slot], &bin->entries[place.slot + 1], (size_t)below * sizeof bin->entries[0]);
    }
    if (bin->n == 0)
        close_bin(s, place.bin);
}

int mfu_block_set_move(struct mfu_block_set *s, struct mfu_block_place place, uint64_t size, uint64_t address,
                       int block)
{
    struct mfu_block_bin *bin = &s->bins[place.bin];

    /* Alone in its bin, it takes the bin along as long as that keeps its place. */
    if (bin->n == 1 && (!bin->previous || s->bins[bin->previous].size < size)
        && (!bin->next || s->bins[bin->next].size > size)) {
        leave_class(s, bin);
        enter_class(s, bin, size);
        bin->entries[place.slot] = (struct mfu_block_entry){address, block};
        return place.bin;
    }
    mfu_block_set_remove(s, place);
    return mfu_block_set_insert(s, size, address, block);
}
