/*
 * failing_malloc.c - an allocation of the program's own code that fails; for
 * LD_PRELOAD.
 *
 * MFU_FAIL_AT=N: the N-th fails, once.  Allocations that libraries make do not
 * count: libfyaml 0.7.12 crashes on its own.  MFU_FAIL_COUNT=FILE: their number is
 * written there at the end.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);

static atomic_long count;
static long fail_at = -1;
static char *text_begin, *text_end;

/* Where the program's code lies. */
__attribute__((constructor)) static void look(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    const char *at = getenv("MFU_FAIL_AT");
    char line[4096], exe[4096] = "";
    unsigned long from, to;
    char mode[8];

    if (!maps)
        return;
    while (fgets(line, sizeof line, maps)) {
        char path[4096] = "";

        if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %4000s", &from, &to, mode, path) < 3)
            continue;
        if (!exe[0])
            strcpy(exe, path); /* the program is mapped first */
        if (strchr(mode, 'x') && strcmp(exe, path) == 0) {
            text_begin = (char *)from;
            text_end = (char *)to;
        }
    }
    fclose(maps);
    fail_at = at ? atol(at) : 0;
}

__attribute__((destructor)) static void tell(void)
{
    const char *file = getenv("MFU_FAIL_COUNT");
    FILE *out = file ? fopen(file, "w") : NULL;

    if (!out)
        return;
    fprintf(out, "%ld\n", (long)count);
    fclose(out);
}

static int fails(const void *caller)
{
    if (fail_at < 0 || (const char *)caller < text_begin || (const char *)caller >= text_end)
        return 0;
    if (atomic_fetch_add(&count, 1) + 1 != fail_at)
        return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t n)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *old, size_t n)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(old, n);
}
