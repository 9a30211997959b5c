/*
 * command_lookup.c - commands by name.
 */
#include "repl/command_lookup.h"

#include <string.h>

#include "base/suggest.h"
#include "repl/command.h"
#include "repl/session.h"

const struct mfu_command *mfu_command_find(const char *name)
{
    for (size_t i = 0; i < mfu_command_count; i++)
        if (strcmp(mfu_commands[i]->name, name) == 0)
            return mfu_commands[i];
    return NULL;
}

int mfu_command_unknown(struct mfu_session *s, const char *name, struct mfu_error *err)
{
    const char *names[128], *best;
    size_t n = 0;

    mfu_fail(err, MFU_EINPUT, "no command is called '%.60s'", name);
    if (mfu_key_find_set(s->memory.now.model, name, NULL).kind != MFU_KEY_NONE) {
        char hint[96];

        snprintf(hint, sizeof hint, "set %.60s", name);
        return mfu_error_suggest(err, hint);
    }
    for (; n < mfu_command_count && n < sizeof names / sizeof names[0]; n++)
        names[n] = mfu_commands[n]->name;
    if (mfu_suggest(name, names, n, &best, 1))
        mfu_error_suggest(err, best);
    return -1;
}
