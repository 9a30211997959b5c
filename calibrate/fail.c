/*
 * fail.c - why something went wrong: for the bench, and for what stands in for
 * it in tests.
 */
#include <stdarg.h>
#include <stdio.h>

#include "bench.h"

int mfu_bench_fail(struct mfu_bench *b, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(b->error, sizeof b->error, format, args);
    va_end(args);
    return -1;
}
