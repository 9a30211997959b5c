/*
 * maker.h - who makes a card, and what its world calls things.
 *
 * The program thinks in one set of words, NVIDIA's, in which PyTorch thinks, too.  People who use
 * another maker's card read their own: a compute unit where an SM is meant, amd-smi for nvidia-smi.
 */
#ifndef MFU_MAKER_H
#define MFU_MAKER_H

#include "base/printable.h"

struct mfu_error;

/* What PyTorch runs its cards by. */
enum mfu_software { MFU_CUDA, MFU_ROCM, MFU_METAL, MFU_XPU, MFU_HPU };
#define MFU_ON(software) (1u << (software)) /* a set of them */
#define MFU_BUT(software) (~MFU_ON(software))

struct mfu_maker {
    const char *vendor; /* "AMD", as the files say it */
    enum mfu_software software;
    const struct mfu_word *words;
};

/* Of the vendor of a GPU; NVIDIA where its file names nobody. */
const struct mfu_maker *mfu_maker(const char *vendor);

/* Refuses a vendor that is in no row, with the nearest that is. */
int mfu_maker_check(const char *vendor, struct mfu_error *);

#endif
