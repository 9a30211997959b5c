/*
 * translation.h - sentences for people in their language, by GNU gettext.
 *
 * Numbers, names of keys and commands stay as they are; so does everything
 * until a language is chosen.
 */
#ifndef MFU_TRANSLATION_H
#define MFU_TRANSLATION_H

/* From now on in `language` ("de"), where there is a catalogue of it: in the
 * folder `locale` beside the program (where it is built) or in
 * ../share/locale (where it is installed). */
void mfu_translate_into(const char *language);

/* The translation of a text or format, or itself.  Never NULL; not to be freed. */
const char *mfu_tr(const char *english) __attribute__((format_arg(1)));

#endif
