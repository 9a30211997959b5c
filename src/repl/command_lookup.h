/*
 * command_lookup.h - commands by name.
 */
#ifndef MFU_FIND_H
#define MFU_FIND_H

struct mfu_command;
struct mfu_error;
struct mfu_session;

/* The command of that name, or NULL. */
const struct mfu_command *mfu_command_find(const char *name);

/* The same for what somebody types: in any case, cut short where no other begins so, or
 * as other programs call it (?, exit). */
const struct mfu_command *mfu_command_meant(const char *word);

/* Fails because there is no such command, with what could have been meant. */
int mfu_command_unknown(struct mfu_session *, const char *name, struct mfu_error *err);

#endif
