/* host.h - what glibc declares and wasi-libc does not; every file of the page's library includes it (-include). */
#ifndef MFU_PAGE_HOST_H
#define MFU_PAGE_HOST_H

#include <stddef.h>

void qsort_r(void *, size_t n, size_t size, int (*)(const void *, const void *, void *), void *context);

#endif
