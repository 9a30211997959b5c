/*
 * term.c - what the output can show; decided once, at start-up.
 */
#include "report/text/term.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define NARROWEST 20 /* below that, COLUMNS is a slip */
#define WIDEST 10000

static const char *env(const char *name)
{
    const char *value = getenv(name);

    return value ? value : "";
}

void mfu_term_lose(const struct mfu_term *t)
{
    if (t->lost)
        *t->lost = true;
}

struct mfu_term mfu_terminal_probe(int fd, enum mfu_when color, bool ascii)
{
    struct mfu_term t = {.tty = isatty(fd), .width = 80, .height = 24};
    struct winsize size;
    long columns = strtol(env("COLUMNS"), NULL, 10);

    if (t.tty && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        t.width = size.ws_col;
        t.height = size.ws_row > 0 ? size.ws_row : 24;
    }
    if (columns > 0)
        t.width = columns > WIDEST ? WIDEST : (int)columns;
    if (t.width < NARROWEST)
        t.width = NARROWEST;
    t.utf8 = !ascii && strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    t.color = t.tty && !*env("NO_COLOR") && strcmp(env("TERM"), "dumb") != 0;
    if (color != MFU_AUTO)
        t.color = color == MFU_ALWAYS;
    return t;
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
