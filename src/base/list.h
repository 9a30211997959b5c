/*
 * list.h - lists that grow as they are filled.
 *
 * A list is a pointer, how many elements it has and for how many it has room: all
 * 0 at first; free() releases it.
 */
#ifndef MFU_LIST_H
#define MFU_LIST_H

#include <stddef.h>

/* Makes room for `n` elements, at least twice as many as now where there is not enough; the
 * new capacity in `cap` (an int or a size_t).  False, with the list as it was, when
 * memory is out or the list would have more than 2^31 - 1 elements. */
#define MFU_ROOM(list, n, cap)                                                                                         \
    (((size_t)(n) <= (size_t)(cap) && (list))                                                                          \
     || (size_t)((cap) = mfu_list_grow(&(list), (size_t)(n), (size_t)(cap), sizeof *(list))) >= (size_t)(n))

/* For MFU_ROOM: `list` is the address of the pointer; the capacity from now on. */
size_t mfu_list_grow(void *list, size_t n, size_t cap, size_t size);

#endif
