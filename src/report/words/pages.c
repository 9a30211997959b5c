/*
 * pages.c - the pages that the build has collected.
 */
#include "report/words/pages.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const char *mfu_page_language(const char *locale, char language[3])
{
    bool named =
        islower((unsigned char)locale[0]) && islower((unsigned char)locale[1]) && !isalpha((unsigned char)locale[2]);

    snprintf(language, 3, "%.2s", named ? locale : "en"); /* C, POSIX, or nothing */
    return language;
}

static const struct mfu_page *find(const char *kind, const char *language, const char *name)
{
    for (size_t i = 0; i < mfu_page_count; i++)
        if (strcmp(mfu_pages[i].kind, kind) == 0 && strcmp(mfu_pages[i].language, language) == 0
            && strcmp(mfu_pages[i].name, name) == 0)
            return &mfu_pages[i];
    return NULL;
}

const struct mfu_page *mfu_page_any(const char *kind, size_t i)
{
    for (size_t n = 0; n < mfu_page_count; n++)
        if (strcmp(mfu_pages[n].kind, kind) == 0 && i-- == 0)
            return &mfu_pages[n];
    return NULL;
}

const struct mfu_page *mfu_page_at(const char *kind, const char *language, size_t i)
{
    for (size_t n = 0; n < mfu_page_count; n++) {
        const struct mfu_page *p = &mfu_pages[n], *translated;

        if (strcmp(p->kind, kind) != 0 || strcmp(p->language, "en") != 0 || i-- > 0)
            continue;
        translated = find(kind, language, p->name);
        return translated ? translated : p;
    }
    return NULL;
}

/* ---- heads --------------------------------------------------------------- */

/* Copies a line up to `stop`, without blanks at its ends. */
static const char *copy(char *buf, size_t size, const char *from, size_t n)
{
    while (n > 0 && *from == ' ') {
        from++;
        n--;
    }
    while (n > 0 && from[n - 1] == ' ')
        n--;
    snprintf(buf, size, "%.*s", (int)n, from);
    return buf;
}

const char *mfu_page_term(const struct mfu_page *p, char *buf, size_t size)
{
    const char *line = p->text + strspn(p->text, "# ");
    const char *colon = strstr(line, ": ");
    size_t n = strcspn(line, "\n");

    return copy(buf, size, line, colon && (size_t)(colon - line) < n ? (size_t)(colon - line) : n);
}

const char *mfu_page_summary(const struct mfu_page *p, char *buf, size_t size)
{
    size_t n = strcspn(p->text, "\n");
    const char *colon = strstr(p->text, ": ");

    return colon && (size_t)(colon - p->text) < n ? copy(buf, size, colon + 2, n - (size_t)(colon + 2 - p->text))
                                                  : copy(buf, size, "", 0);
}

const char *mfu_page_head(const struct mfu_page *p, const char *key, char *buf, size_t size)
{
    const char *body = mfu_page_body(p);
    size_t n = strlen(key);

    for (const char *line = p->text; line < body; line += strcspn(line, "\n") + 1)
        if (strncmp(line, key, n) == 0 && line[n] == ':')
            return copy(buf, size, line + n + 1, strcspn(line + n + 1, "\n"));
    return copy(buf, size, "", 0);
}

const char *mfu_page_body(const struct mfu_page *p)
{
    const char *blank = strstr(p->text, "\n\n");

    return blank ? blank + 2 : p->text + strlen(p->text);
}
