/*
 * translation.h - sentences for people in their language, by GNU gettext.
 *
 * Numbers, names of keys and commands stay as they are; so does everything
 * until a language is chosen.
 */
#ifndef MFU_TRANSLATION_H
#define MFU_TRANSLATION_H

#define MFU_TRANSLATION_DOMAIN "mfuplan"

/* The translation of a text or format, or itself.  Never NULL; not to be freed. */
const char *mfu_translate(const char *english) __attribute__((format_arg(1)));

#endif
