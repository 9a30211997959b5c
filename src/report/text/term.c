/*
 * term.c - how wide a text is, and what it lacks.
 */
#include "report/text/term.h"

#include <string.h>
#include <wchar.h>

void mfu_term_lose(const struct mfu_term *t)
{
    if (t->lost)
        *t->lost = true;
}

int mfu_width(const char *text, size_t bytes)
{
    mbstate_t state = {0};
    int width = 0;

    for (size_t i = 0; i < bytes && text[i];) {
        wchar_t wide;
        size_t n = mbrtowc(&wide, text + i, bytes - i, &state);
        int cells;

        if (n == 0 || n > bytes) {
            memset(&state, 0, sizeof state);
            n = 1;
            cells = 1;
        } else
            cells = wcwidth(wide);
        width += cells > 0 ? cells : 0;
        i += n;
    }
    return width;
}
