/*
 * selftest.h - what can be checked without a GPU.
 */
#ifndef MFU_SELFTEST_H
#define MFU_SELFTEST_H

/* Prints one line per check on standard output; returns the exit status. */
int mfu_self_test(void);

#endif
