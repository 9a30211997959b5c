/*
 * printable.h - text that others wrote, made safe to show.
 *
 * A name, a path or a cell of a table may hold anything: control characters
 * that a terminal obeys (C0, and C1 as U+009B), characters that turn the
 * direction of a line round (U+202E), bytes that are not UTF-8.  They become
 * '?' on a terminal, and an escape in JSON.
 */
#ifndef MFU_PRINTABLE_H
#define MFU_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The length of the UTF-8 character at `p`, 0 if it is none; its code in *code
 * unless that is NULL.  Reads at most `left` bytes. */
size_t mfu_utf8_character(const char *p, size_t left, uint32_t *code);

/* Whether a terminal would obey this character instead of showing it: C0, DEL,
 * C1, line separators, and marks of direction.  Newline and tab count. */
bool mfu_is_control(uint32_t code);

/* Whether a file's name would change the line or the script that it stands in. */
bool mfu_has_control(const char *text);

/* A copy on one line: a tab, which would begin a cell, becomes a blank; what is another control
 * character or no UTF-8 becomes '?'.  At most size - 1 bytes.  Returns `buf`. */
const char *mfu_printable(char *buf, size_t size, const char *text);

/* The same where the text stands, at its length or shorter.  Returns `text`. */
char *mfu_printable_in_place(char *text);

/* What a stream of answers lets through besides text, newlines and tabs. */
enum mfu_safe {
    MFU_SAFE_TEXT,    /* nothing: '?' stands for the rest */
    MFU_SAFE_COLOURS, /* ESC [ digits m, as this program writes */
    MFU_SAFE_JSON     /* nothing: control characters are written as \uXXXX */
};

/* A word or phrase, and what stands in its place; a list ends with NULL, and what begins alike stands
 * the longest first. */
struct mfu_word {
    const char *ours, *theirs; /* NULL: theirs is ours */
};
#define MFU_WORD_MAX 48 /* bytes of a phrase, with the one behind it */

/* Exchanges words in place, as a stream does (below), for who measures how wide a text will be: what is exchanged stays so.
 * `words` may be NULL; of more than `size` bytes the rest is lost; out of memory: nothing happens. */
void mfu_words_exchange(char *text, size_t size, const struct mfu_word *words);

/* A stream that writes to `to` what is safe of what is written to it; unlike
 * `to` it has no descriptor.  `*how` is read at every write, and so is `*words`: whole words that are
 * exchanged, but not behind a quote or in a path, which are somebody's names; in columns, whose gaps keep their place.  `words` or `*words` may be NULL.  Closing it
 * leaves `to` open.  NULL: out of memory. */
FILE *mfu_safe_stream(FILE *to, const enum mfu_safe *how, const struct mfu_word *const *words);

#endif
