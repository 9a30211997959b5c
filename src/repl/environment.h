/*
 * environment.h - what the environment says: folders, language, terminal.
 *
 * The library asks nobody; the program asks here and hands it on.
 */
#ifndef MFU_ENVIRONMENT_H
#define MFU_ENVIRONMENT_H

#include <stdbool.h>

#include "descriptor/folder.h"
#include "report/text/term.h"

struct mfu_error;

/* MFUPLAN_DATA_DIR, or NULL. */
const char *mfu_environment_data_dir(void);

/* The user's calibrations: $XDG_DATA_HOME/mfuplan/calibrations or
 * ~/.local/share/mfuplan/calibrations.  MFUPLAN_CALIBRATIONS names another folder; NULL
 * when it is empty, or when nobody says where the user's data is. */
const char *mfu_environment_calibrations(char folder[MFU_PATH_MAX]);

/* Where the user's state of that name is: the variable `own`, else $XDG_STATE_HOME/mfuplan/NAME,
 * else ~/.local/state/mfuplan/NAME, whose folders are made.  False: nowhere, as an empty
 * variable says. */
bool mfu_environment_state(char path[MFU_PATH_MAX], const char *own, const char *name);

/* The commands of the user for every conversation: $MFUPLAN_RC, else
 * $XDG_CONFIG_HOME/mfuplan/rc, else ~/.config/mfuplan/rc.  False: there is no such file. */
bool mfu_environment_rc(char path[MFU_PATH_MAX]);

/* The user's editor, a line of the shell: $VISUAL, else $EDITOR, else vi. */
const char *mfu_environment_editor(void);

/* Makes an empty file with such an ending, of the user alone, in $TMPDIR or /tmp.  The name stands in a line of
 * the shell as it is.  -1 with `err`. */
int mfu_environment_temporary(char path[MFU_PATH_MAX], const char *ending, struct mfu_error *err);

/* The library that knows the GPUs of this computer: $MFUPLAN_NVML, else NULL for the driver's
 * own; "" when nobody is to be asked. */
const char *mfu_environment_nvml(void);

/* The locale of messages: LC_ALL, LC_MESSAGES or LANG; "" when none is set. */
const char *mfu_environment_locale(void);

/* What can be shown at the descriptor, by COLUMNS, TERM, NO_COLOR and the locale. */
struct mfu_term mfu_environment_terminal(int fd, bool no_color, bool ascii);

#endif
