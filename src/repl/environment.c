/*
 * environment.c - the only place that asks for folders, language and terminal.
 */
#include "repl/environment.h"

#include <errno.h>
#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

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

/* $OWN, else $BASE/mfuplan/NAME, else ~/USUAL/mfuplan/NAME. */
static bool find_place(char path[MFU_PATH_MAX], const char *own, const char *base, const char *usual, const char *name)
{
    const char *named = getenv(own), *folder = env(base), *home = env("HOME");
    int n = 0;

    if (named)
        n = snprintf(path, MFU_PATH_MAX, "%s", named);
    else if (*folder == '/') /* a relative one is to be ignored */
        n = snprintf(path, MFU_PATH_MAX, "%s/mfuplan/%s", folder, name);
    else if (*home == '/')
        n = snprintf(path, MFU_PATH_MAX, "%s/%s/mfuplan/%s", home, usual, name);
    return n > 0 && n < MFU_PATH_MAX;
}

/* Makes the folders of `path`; what comes behind the last '/' is a file. */
static bool make_folders(char *path)
{
    bool made = true;

    for (char *slash = strchr(path + 1, '/'); made && slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        made = mkdir(path, 0700) == 0 || errno == EEXIST;
        *slash = '/';
    }
    return made;
}

const char *mfu_environment_calibrations(char folder[MFU_PATH_MAX])
{
    return find_place(folder, "MFUPLAN_CALIBRATIONS", "XDG_DATA_HOME", ".local/share", "calibrations") ? folder : NULL;
}

bool mfu_environment_state(char path[MFU_PATH_MAX], const char *own, const char *name)
{
    return find_place(path, own, "XDG_STATE_HOME", ".local/state", name) && (getenv(own) || make_folders(path));
}

bool mfu_environment_rc(char path[MFU_PATH_MAX])
{
    return find_place(path, "MFUPLAN_RC", "XDG_CONFIG_HOME", ".config", "rc") && access(path, F_OK) == 0;
}

const char *mfu_environment_editor(void)
{
    return *env("VISUAL") ? env("VISUAL") : *env("EDITOR") ? env("EDITOR") : "vi";
}

int mfu_environment_temporary(char path[MFU_PATH_MAX], const char *ending, struct mfu_error *err)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-";
    const char *folder = env("TMPDIR");
    int fd;

    if (*folder != '/' || folder[strspn(folder, plain)] || strlen(folder) > MFU_PATH_MAX / 2)
        folder = "/tmp";
    snprintf(path, MFU_PATH_MAX, "%s/mfuplan-XXXXXX%s", folder, ending);
    fd = mkstemps(path, (int)strlen(ending));
    if (fd < 0)
        return mfu_fail(err, MFU_EIO, "%s: %s", path, strerror(errno));
    close(fd);
    return 0;
}

const char *mfu_environment_nvml(void)
{
    return getenv("MFUPLAN_NVML");
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
