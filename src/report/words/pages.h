/*
 * pages.h - texts for people: the glossary and the lessons, by language.
 *
 * A page is a file: pages/<kind>/<language>/<name>.md; the build puts all of
 * them into the program.  English is complete, other languages may lack pages
 * and then English is taken.
 *
 *     # ridge point: FLOP per byte from which arithmetic is the limit
 *     also: ridge, machine balance
 *     see: roofline, arithmetic intensity
 *
 *     Text, with the figures of answer/page.h.
 *
 * Whole pages, not a catalog of sentences (gettext): a page is read as one, its
 * sentences need each other, and a translator who may move and merge them
 * writes a better one.
 */
#ifndef MFU_PAGES_H
#define MFU_PAGES_H

#include <stddef.h>

struct mfu_page {
    const char *kind;     /* "terms", "lessons" */
    const char *language; /* "en" */
    const char *name;     /* "ridge-point", "03-rooflines": the same in all languages */
    const char *text;
};
extern const struct mfu_page mfu_pages[];
extern const size_t mfu_page_count;

/* The two letters of a locale such as de_AT.UTF-8; "en" of C and the like. */
const char *mfu_page_language(const char *locale, char language[3]);

/* The i-th page of a kind, in the order of their names, in this language or else
 * in English; NULL behind the last. */
const struct mfu_page *mfu_page_at(const char *kind, const char *language, size_t i);

/* The i-th page in every language there is; NULL behind the last. */
const struct mfu_page *mfu_page_any(const char *kind, size_t i);

/* What the head of a page says.  Each returns `buf`, "" when it says nothing. */
const char *mfu_page_term(const struct mfu_page *, char *buf, size_t size);                  /* "ridge point" */
const char *mfu_page_summary(const struct mfu_page *, char *buf, size_t size);               /* behind the colon */
const char *mfu_page_head(const struct mfu_page *, const char *key, char *buf, size_t size); /* "also" */

/* The text behind the head. */
const char *mfu_page_body(const struct mfu_page *);

#endif
