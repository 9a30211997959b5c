/*
 * kept.h - scenarios that are kept from one conversation to the next.
 *
 * Each is a script, NAME.mfu, in a folder of the user's state.  Scripts (-e, FILE) neither
 * see nor change them.
 */
#ifndef MFU_KEPT_H
#define MFU_KEPT_H

#include "repl/session.h"

/* Reads what earlier conversations kept in `folder` (NULL: there is none); what cannot be
 * read is a warning.  From here on `keep` writes there. */
void mfu_kept_open(struct mfu_session *, const char *folder);

/* Keeps the present scenario under a name; -1 with `err` when there is no room. */
int mfu_kept_add(struct mfu_session *, const char *name, struct mfu_error *err);

/* Forgets it; -1 with `err` when nothing has that name. */
int mfu_kept_forget(struct mfu_session *, const char *name, struct mfu_error *err);

#endif
