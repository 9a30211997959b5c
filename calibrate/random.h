/*
 * random.h - normal numbers by index: the same on CPU and GPU, in any order.
 */
#ifndef MFU_RANDOM_H
#define MFU_RANDOM_H

#include <math.h>
#include <stdint.h>

#ifdef __CUDACC__
#define MFU_BOTH __host__ __device__
#else
#define MFU_BOTH
#endif

/* Number `index` of the sequence `seed`, mean 0, deviation 1 (Box and Muller on
 * the two halves of a splitmix64). */
MFU_BOTH static inline float mfu_random_normal(uint64_t index, uint64_t seed)
{
    uint64_t z = (index + (seed << 40) + 1) * 0x9e3779b97f4a7c15u;
    float u, angle;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    u = (float)((z >> 40) + 1) * 5.9604645e-8f;    /* (0, 1] */
    angle = (float)(z & 0xffffff) * 3.7450703e-7f; /* [0, 2 pi) */
    return sqrtf(-2 * logf(u)) * cosf(angle);
}

#endif
