/*
 * translation.c - the catalogue of GNU gettext; the user's environment chooses the language.
 */
#include "base/translation.h"

#include <libintl.h>

const char *mfu_translate(const char *english)
{
    return *english ? dgettext(MFU_TRANSLATION_DOMAIN, english) : english;
}
