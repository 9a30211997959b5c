/*
 * printable.c - text that others wrote.
 */
#include "report/text/printable.h"

#include <ctype.h>

/* The length of the UTF-8 character at `p`, 0 when it is none. */
static size_t character(const char *p)
{
    static const struct {
        unsigned char mask, lead;
        unsigned least;
    } forms[] = {{0x80, 0x00, 0}, {0xE0, 0xC0, 0x80}, {0xF0, 0xE0, 0x800}, {0xF8, 0xF0, 0x10000}};
    const unsigned char *u = (const unsigned char *)p;

    for (size_t n = 1; n <= 4; n++) {
        unsigned code = u[0] & (unsigned char)~forms[n - 1].mask;

        if ((u[0] & forms[n - 1].mask) != forms[n - 1].lead)
            continue;
        for (size_t i = 1; i < n; i++) {
            if ((u[i] & 0xC0) != 0x80)
                return 0;
            code = code << 6 | (u[i] & 0x3F);
        }
        return code < forms[n - 1].least || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)
                || (code >= 0x80 && code < 0xA0)
            ? 0
            : n;
    }
    return 0;
}

const char *mfu_printable(char *buf, size_t size, const char *text)
{
    size_t n = 0;

    while (*text && n + 5 <= size) {
        size_t length = character(text);

        if (length == 0 || (length == 1 && iscntrl((unsigned char)*text) && *text != '\t')) {
            buf[n++] = '?';
            text++;
        } else
            for (; length > 0; length--)
                buf[n++] = *text++;
    }
    buf[n] = '\0';
    return buf;
}
