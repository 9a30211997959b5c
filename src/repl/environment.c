/*
 * environment.c - the only place that asks for folders, language and terminal.
 */
#include "repl/environment.h"

#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define NARROWEST 20 /* below that, COLUMNS is a slip */
#define WIDEST 10000

static const char *env(const char *name)
{
    const char *value = getenv(name);

    return value ? value : "";
}

const char *mfu_environment_data_dir(void)
{
    return *env("MFUPLAN_DATA_DIR") ? env("MFUPLAN_DATA_DIR") : NULL;
}

const char *mfu_environment_calibrations(char folder[MFU_PATH_MAX])
{
    const char *named = getenv("MFUPLAN_CALIBRATIONS"), *data = env("XDG_DATA_HOME"), *home = env("HOME");
    int n = 0;

    if (named)
        n = snprintf(folder, MFU_PATH_MAX, "%s", named);
    else if (*data == '/') /* a relative one is to be ignored */
        n = snprintf(folder, MFU_PATH_MAX, "%s/mfuplan/calibrations", data);
    else if (*home)
        n = snprintf(folder, MFU_PATH_MAX, "%s/.local/share/mfuplan/calibrations", home);
    return n > 0 && n < MFU_PATH_MAX ? folder : NULL;
}

const char *mfu_environment_locale(void)
{
    return *env("LC_ALL") ? env("LC_ALL") : *env("LC_MESSAGES") ? env("LC_MESSAGES") : env("LANG");
}

struct mfu_term mfu_environment_terminal(int fd, bool no_color, bool ascii)
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
    t.color = t.tty && !no_color && !*env("NO_COLOR") && strcmp(env("TERM"), "dumb") != 0;
    return t;
}
