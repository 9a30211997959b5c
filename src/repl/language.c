/*
 * language.c - gettext without an installed locale: LANGUAGE names the
 * catalogue, and C.UTF-8 is a locale that every glibc has.
 */
#include "repl/language.h"

#include <libintl.h>
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/translation.h"

void mfu_translate_into(const char *language)
{
    static const char *const places[] = {"locale", "../share/locale"};
    char self[PATH_MAX], folder[PATH_MAX + 32], file[PATH_MAX + 64];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    char *slash;

    if (n <= 0 || strcmp(language, "en") == 0)
        return;
    self[n] = '\0';
    if (!(slash = strrchr(self, '/')))
        return;
    *slash = '\0';
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        snprintf(folder, sizeof folder, "%s/%s", self, places[i]);
        snprintf(file, sizeof file, "%s/%.2s/LC_MESSAGES/" MFU_TRANSLATION_DOMAIN ".mo", folder, language);
        if (access(file, R_OK) != 0)
            continue;
        if (!setlocale(LC_MESSAGES, "C.UTF-8") || setenv("LANGUAGE", language, 1) != 0)
            return;
        bindtextdomain(MFU_TRANSLATION_DOMAIN, folder);
        bind_textdomain_codeset(MFU_TRANSLATION_DOMAIN, "UTF-8");
        return;
    }
}
