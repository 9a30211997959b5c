/*
 * term.h - what the output can show; the program decides.
 */
#ifndef MFU_TERM_H
#define MFU_TERM_H

#include <stdbool.h>
#include <stddef.h>

struct mfu_word;

struct mfu_term {
    bool tty; /* someone is watching: prompt, page, colour */
    bool color;
    bool utf8;                    /* box drawing and block characters are safe */
    int width, height;            /* 80 x 24 where it is unknown */
    const struct mfu_word *words; /* that will be exchanged in what is written (printable.h); NULL: none */
    bool *lost;                   /* set where a text lacks something for want of memory; may be NULL */
};

/* Says that the text written last is not complete: out of memory. */
void mfu_term_lose(const struct mfu_term *);

/* How many cells wide the first `bytes` bytes of a text are, in the locale's encoding. */
int mfu_width(const char *text, size_t bytes);

#endif
