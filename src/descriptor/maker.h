/*
 * maker.h - who makes a card, and what its world calls things.
 *
 * The program thinks in one set of words, NVIDIA's, in which PyTorch thinks, too.  People who use
 * another maker's card read their own: a compute unit where an SM is meant, amd-smi for nvidia-smi.
 */
#ifndef MFU_MAKER_H
#define MFU_MAKER_H

#include "base/printable.h"

struct mfu_gpu;

/* What PyTorch runs its cards by. */
enum mfu_software { MFU_CUDA, MFU_ROCM, MFU_METAL };

struct mfu_maker {
    const char *vendor; /* "AMD", as the files say it */
    enum mfu_software software;
    const struct mfu_word *words;
};

/* NVIDIA where the file names nobody that is known here. */
const struct mfu_maker *mfu_maker(const struct mfu_gpu *);

#endif
