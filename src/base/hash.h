/*
 * hash.h - FNV-1a: a number for a text, the same on every machine.
 *
 * Source: Fowler, Noll, Vo, draft-eastlake-fnv (offset basis and prime of 32 and 64 bits).
 */
#ifndef MFU_HASH_H
#define MFU_HASH_H

#include <stdint.h>
#include <string.h>

#define MFU_HASH 2166136261u /* of nothing yet */
#define MFU_HASH64 0xcbf29ce484222325u

/* The hash of what `hash` is that of, and a byte behind it. */
static inline uint32_t mfu_hash_byte(uint32_t hash, char byte)
{
    return (hash ^ (unsigned char)byte) * 16777619u;
}

/* The same for all bytes of a text. */
static inline uint32_t mfu_hash_text(uint32_t hash, const char *text)
{
    while (*text)
        hash = mfu_hash_byte(hash, *text++);
    return hash;
}

/* A number's bits; and from a sum of such, each times an odd number, one of 2^bits. */
static inline uint64_t mfu_hash_bits(double x)
{
    uint64_t u;

    memcpy(&u, &x, sizeof u);
    return u;
}

static inline unsigned mfu_hash_fold(uint64_t sum, int bits)
{
    return (unsigned)(sum * 0x9e3779b97f4a7c15u
                      >> (64 - bits)); /* Knuth's multiplicative hashing: 2^64 / golden ratio */
}

/* With 64 bits; a byte, or a word at a time. */
static inline uint64_t mfu_hash64_word(uint64_t hash, uint64_t word)
{
    return (hash ^ word) * 0x100000001b3u;
}

#endif
