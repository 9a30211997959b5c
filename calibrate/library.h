/*
 * library.h - finds cuBLAS wherever it lies: PyTorch's wheels, the toolkit, the system.
 */
#ifndef MFU_LIBRARY_H
#define MFU_LIBRARY_H

#include <stddef.h>

struct mfu_cublas {
    void *blas, *lt; /* as dlopen() gave them; close both */
    char path[512];  /* of the file of cuBLAS, "libcublas.so.13" where the loader found it */
};

/* Opens cuBLAS and cuBLASLt of one folder and one version: 13 or 12, whose functions that
 * are used here are the same.  First those of the active Python environment, which its
 * PyTorch uses.  0, or -1. */
int mfu_cublas_find(struct mfu_cublas *);

#endif
