/*
 * language.h - the language that the process speaks.
 */
#ifndef MFU_LANGUAGE_H
#define MFU_LANGUAGE_H

/* From now on in `language` ("de"), where there is a catalogue of it: in the
 * folder `locale` beside the program (where it is built) or in
 * ../share/locale (where it is installed). */
void mfu_translate_into(const char *language);

#endif
