/*
 * failing_malloc.c - an allocation of the program's own code that fails, or a step of writing a file; for
 * LD_PRELOAD.
 *
 * MFU_FAIL_AT=N: the N-th allocation fails, once.  Allocations that shared libraries make do not
 * count.  What was taken and given back at once is there: the next four that it has room for do not fail.
 * MFU_STOP_AT=N: so does the N-th call that brings a file to the disk; with MFU_STOP=kill the program is
 * killed before it.  MFU_FAIL_COUNT=FILE: the number of both is written there at the end.
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void __libc_free(void *);

static atomic_long count, calls;
static long fail_at = -1, stop_at;
static char *text_begin, *text_end;

/* Where the program's code lies. */
__attribute__((constructor)) static void look(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    const char *at = getenv("MFU_FAIL_AT"), *stop = getenv("MFU_STOP_AT");
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
    unsetenv("LD_PRELOAD"); /* what the program starts, such as gnuplot, has memory */
    stop_at = stop ? atol(stop) : 0;
    fail_at = at ? atol(at) : 0;
}

__attribute__((destructor)) static void tell(void)
{
    const char *file = getenv("MFU_FAIL_COUNT");
    FILE *out = file ? fopen(file, "w") : NULL;

    if (!out)
        return;
    fprintf(out, "%ld %ld\n", (long)count, (long)calls);
    fclose(out);
}

static int foreign(const void *caller)
{
    return fail_at < 0 || (const char *)caller < text_begin || (const char *)caller >= text_end;
}

static _Thread_local void *last;          /* the newest allocation, while nothing was done since */
static _Thread_local size_t last_n, room; /* its bytes; what is left of one given back at once */
static _Thread_local int for_next;        /* allocations that may still take of it */

static int fails(const void *caller, size_t n)
{
    size_t had = for_next-- > 0 ? room : 0;

    room = n < had ? had - n : 0;
    if (foreign(caller))
        return 0;
    if (atomic_fetch_add(&count, 1) + 1 != fail_at || n < had)
        return 0;
    errno = ENOMEM;
    return 1;
}

static void *newest(void *made, size_t n)
{
    last_n = n;
    return last = made;
}

void *malloc(size_t n)
{
    return newest(fails(__builtin_return_address(0), n) ? NULL : __libc_malloc(n), n);
}

void *calloc(size_t n, size_t size)
{
    return newest(fails(__builtin_return_address(0), n * size) ? NULL : __libc_calloc(n, size), n * size);
}

void *realloc(void *old, size_t n)
{
    last = NULL;
    return fails(__builtin_return_address(0), n) ? NULL : __libc_realloc(old, n);
}

void free(void *p)
{
    if (p && p == last) {
        room = last_n;
        for_next = 4;
    }
    last = NULL;
    __libc_free(p);
}

static int stops(const void *caller)
{
    const char *how = getenv("MFU_STOP");

    if (foreign(caller) || atomic_fetch_add(&calls, 1) + 1 != stop_at)
        return 0;
    if (how && strcmp(how, "kill") == 0)
        raise(SIGKILL);
    errno = ENOSPC;
    return 1;
}

int fflush(FILE *out)
{
    int (*next)(FILE *) = (int (*)(FILE *))dlsym(RTLD_NEXT, "fflush");

    return out && fileno(out) >= 0 && stops(__builtin_return_address(0)) ? EOF : next(out); /* memory is no file */
}

#define STEP(name, parameters, given)                                                                                  \
    int name parameters                                                                                                \
    {                                                                                                                  \
        int(*next) parameters = (int(*) parameters)dlsym(RTLD_NEXT, #name);                                            \
                                                                                                                       \
        return stops(__builtin_return_address(0)) ? -1 : next given;                                                   \
    }

STEP(fchmod, (int fd, mode_t mode), (fd, mode))
STEP(fsync, (int fd), (fd))
STEP(linkat, (int from, const char *a, int to, const char *b, int flags), (from, a, to, b, flags))
STEP(rename, (const char *from, const char *to), (from, to))
