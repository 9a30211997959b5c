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

/* MFUPLAN_DATA_DIR, or NULL. */
const char *mfu_environment_data_dir(void);

/* The user's calibrations: $XDG_DATA_HOME/mfuplan/calibrations or
 * ~/.local/share/mfuplan/calibrations.  MFUPLAN_CALIBRATIONS names another folder; NULL
 * when it is empty, or when nobody says where the user's data is. */
const char *mfu_environment_calibrations(char folder[MFU_PATH_MAX]);

/* The locale of messages: LC_ALL, LC_MESSAGES or LANG; "" when none is set. */
const char *mfu_environment_locale(void);

/* What can be shown at the descriptor, by COLUMNS, TERM, NO_COLOR and the locale. */
struct mfu_term mfu_environment_terminal(int fd, bool no_color, bool ascii);

#endif
