/*
 * block_set.c - free blocks in order of size, then address.
 *
 * A full chunk is cut in two; a nearly empty one is poured into its neighbour.
 * least[i] is where chunk i begins: a lower bound, exact when it was cut, and
 * left alone when the first entry goes.
 */
#include "simulate/block_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"

#define CHUNK 32             /* entries: 768 bytes, moved by half on average */
#define FEW (CHUNK / 4)      /* below this a chunk looks for a neighbour ... */
#define MANY (CHUNK * 3 / 4) /* ... with which it holds at most this many */

struct mfu_block_chunk {
    size_t n;
    struct mfu_block_entry entries[CHUNK];
};

/* A key as one number.  Comparisons of it become masks instead of branches,
 * which cannot be predicted. */
__extension__ typedef unsigned __int128 wide;

static inline wide key(uint64_t size, uint64_t address)
{
    return (wide)size << 64 | address;
}

static inline size_t mask(bool yes)
{
    return -(size_t)yes;
}

/* The chunk that holds this key, if any does. */
static inline size_t chunk_of(const struct mfu_block_set *s, wide wanted)
{
    size_t base = 0;

    for (size_t n = s->n_chunks; n > 1; n -= n / 2) {
        const struct mfu_block_key *k = &s->least[base + n / 2];

        base += n / 2 & mask(key(k->size, k->address) <= wanted);
    }
    return base;
}

/* How many entries of a chunk come before this key. */
static inline size_t slot_of(const struct mfu_block_chunk *c, wide wanted)
{
    const struct mfu_block_entry *e = c->entries;
    size_t slot = 0;

    if (c->n == 0)
        return 0;
    for (size_t n = c->n; n > 1; n -= n / 2) {
        const struct mfu_block_entry *middle = &e[slot + n / 2 - 1];

        slot += n / 2 & mask(key(middle->size, middle->address) < wanted);
    }
    return slot + (key(e[slot].size, e[slot].address) < wanted);
}

void mfu_block_set_release(struct mfu_block_set *s)
{
    for (size_t i = 0; i < s->n_chunks; i++)
        free(s->chunks[i]);
    free(s->chunks);
    free(s->least);
    free(s->spare);
    *s = (struct mfu_block_set){0};
}

/* Makes room for an empty chunk at index `at`. */
static int open_chunk(struct mfu_block_set *s, size_t at)
{
    struct mfu_block_chunk *c = s->spare ? s->spare : malloc(sizeof *c);
    size_t room = s->room;

    s->spare = c;
    if (!c)
        return -1;
    if (!MFU_ROOM(s->chunks, s->n_chunks + 1, room) || !MFU_ROOM(s->least, s->n_chunks + 1, s->room))
        return -1;
    memmove(&s->chunks[at + 1], &s->chunks[at], (s->n_chunks - at) * sizeof s->chunks[0]);
    memmove(&s->least[at + 1], &s->least[at], (s->n_chunks - at) * sizeof s->least[0]);
    c->n = 0;
    s->chunks[at] = c;
    s->least[at] = (struct mfu_block_key){0};
    s->spare = NULL;
    s->n_chunks++;
    return 0;
}

static void close_chunk(struct mfu_block_set *s, size_t at)
{
    if (s->spare)
        free(s->chunks[at]);
    else
        s->spare = s->chunks[at];
    s->n_chunks--;
    memmove(&s->chunks[at], &s->chunks[at + 1], (s->n_chunks - at) * sizeof s->chunks[0]);
    memmove(&s->least[at], &s->least[at + 1], (s->n_chunks - at) * sizeof s->least[0]);
}

/* Moves the upper half of chunk `at` into a new one after it. */
static int cut(struct mfu_block_set *s, size_t at)
{
    struct mfu_block_chunk *low, *high;

    if (open_chunk(s, at + 1) < 0)
        return -1;
    low = s->chunks[at];
    high = s->chunks[at + 1];
    high->n = low->n / 2;
    low->n -= high->n;
    memcpy(high->entries, &low->entries[low->n], high->n * sizeof high->entries[0]);
    s->least[at + 1] = (struct mfu_block_key){high->entries[0].size, high->entries[0].address};
    return 0;
}

int mfu_block_set_insert(struct mfu_block_set *s, uint64_t size, uint64_t address, int block)
{
    struct mfu_block_chunk *c;
    size_t at, slot;

    if (s->n_chunks == 0 && open_chunk(s, 0) < 0)
        return -1;
    at = chunk_of(s, key(size, address));
    if (s->chunks[at]->n == CHUNK) {
        if (cut(s, at) < 0)
            return -1;
        at = chunk_of(s, key(size, address));
    }
    c = s->chunks[at];
    slot = slot_of(c, key(size, address));
    memmove(&c->entries[slot + 1], &c->entries[slot], (c->n - slot) * sizeof c->entries[0]);
    c->entries[slot] = (struct mfu_block_entry){size, address, block};
    c->n++;
    s->count++;
    return 0;
}

bool mfu_block_set_seek(const struct mfu_block_set *s, uint64_t size, uint64_t address, struct mfu_block_place *place)
{
    size_t at;

    if (s->count == 0)
        return false;
    at = chunk_of(s, key(size, address));
    *place = (struct mfu_block_place){at, slot_of(s->chunks[at], key(size, address))};
    if (place->slot < s->chunks[at]->n)
        return true;
    *place = (struct mfu_block_place){at + 1, 0};
    return at + 1 < s->n_chunks;
}

bool mfu_block_set_next(const struct mfu_block_set *s, struct mfu_block_place *place)
{
    if (place->slot + 1 < s->chunks[place->chunk]->n)
        place->slot++;
    else if (place->chunk + 1 < s->n_chunks)
        *place = (struct mfu_block_place){place->chunk + 1, 0};
    else
        return false;
    return true;
}

bool mfu_block_set_last(const struct mfu_block_set *s, struct mfu_block_place *place)
{
    if (s->count == 0)
        return false;
    *place = (struct mfu_block_place){s->n_chunks - 1, s->chunks[s->n_chunks - 1]->n - 1};
    return true;
}

const struct mfu_block_entry *mfu_block_set_entry(const struct mfu_block_set *s, struct mfu_block_place place)
{
    return &s->chunks[place.chunk]->entries[place.slot];
}

/* Pours chunk at + 1 into chunk `at` if both fit comfortably into one. */
static void pour(struct mfu_block_set *s, size_t at)
{
    struct mfu_block_chunk *low, *high;

    if (at + 1 >= s->n_chunks)
        return;
    low = s->chunks[at];
    high = s->chunks[at + 1];
    if (low->n + high->n > MANY)
        return;
    memcpy(&low->entries[low->n], high->entries, high->n * sizeof high->entries[0]);
    low->n += high->n;
    close_chunk(s, at + 1);
}

void mfu_block_set_remove(struct mfu_block_set *s, struct mfu_block_place place)
{
    struct mfu_block_chunk *c = s->chunks[place.chunk];

    c->n--;
    s->count--;
    memmove(&c->entries[place.slot], &c->entries[place.slot + 1], (c->n - place.slot) * sizeof c->entries[0]);
    if (c->n >= FEW || s->n_chunks == 1)
        return;
    if (c->n == 0) {
        close_chunk(s, place.chunk);
        return;
    }
    pour(s, place.chunk);
    if (place.chunk > 0)
        pour(s, place.chunk - 1);
}

/* Would this key keep its order in place of that entry? */
static bool fits(const struct mfu_block_set *s, struct mfu_block_place place, wide wanted)
{
    const struct mfu_block_chunk *c = s->chunks[place.chunk];
    const struct mfu_block_entry *e = &c->entries[place.slot];
    const struct mfu_block_key *k = &s->least[place.chunk];

    if (place.slot > 0 ? wanted < key(e[-1].size, e[-1].address) : place.chunk > 0 && wanted < key(k->size, k->address))
        return false;
    if (place.slot + 1 < c->n)
        return wanted < key(e[1].size, e[1].address);
    return place.chunk + 1 == s->n_chunks || wanted < key(k[1].size, k[1].address);
}

int mfu_block_set_move(struct mfu_block_set *s, struct mfu_block_place place, uint64_t size, uint64_t address,
                       int block)
{
    struct mfu_block_chunk *c = s->chunks[place.chunk];
    struct mfu_block_entry *from = &c->entries[place.slot], *to = from;

    if (!fits(s, place, key(size, address))) {
        if (chunk_of(s, key(size, address)) != place.chunk) {
            mfu_block_set_remove(s, place);
            return mfu_block_set_insert(s, size, address, block);
        }
        to = &c->entries[slot_of(c, key(size, address))];
        if (to > from) {
            to--; /* counted before the entry itself is gone */
            memmove(from, from + 1, (size_t)(to - from) * sizeof *from);
        } else {
            memmove(to + 1, to, (size_t)(from - to) * sizeof *from);
        }
    }
    *to = (struct mfu_block_entry){size, address, block};
    return 0;
}

void mfu_block_set_erase(struct mfu_block_set *s, uint64_t size, uint64_t address)
{
    struct mfu_block_place place;

    if (mfu_block_set_seek(s, size, address, &place)) {
        const struct mfu_block_entry *e = mfu_block_set_entry(s, place);

        if (e->size == size && e->address == address)
            mfu_block_set_remove(s, place);
    }
}
