/*
 * list.c - lists that grow as they are filled.
 */
#include "base/list.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FEWEST 64 /* elements, chosen */

size_t mfu_list_grow(void *list, size_t n, size_t cap, size_t size)
{
    size_t want = cap < FEWEST / 2 ? FEWEST : 2 * cap;
    void *old, *more;

    if (want < n)
        want = n;
    if (n > INT32_MAX)
        return cap;
    if (want > INT32_MAX)
        want = INT32_MAX;
    memcpy(&old, list, sizeof old); /* a pointer of any type */
    if (want > SIZE_MAX / size || !(more = realloc(old, want * size)))
        return cap;
    memcpy(list, &more, sizeof more);
    return want;
}
