/*
 * command_lookup.c - commands by name.
 */
#include "repl/command_lookup.h"

#include <string.h>
#include <strings.h>

#include "base/suggest.h"
#include "repl/command.h"
#include "repl/expr_scope.h"
#include "repl/session.h"

const struct mfu_command *mfu_command_find(const char *name)
{
    for (size_t i = 0; i < mfu_command_count; i++)
        if (strcmp(mfu_commands[i]->name, name) == 0)
            return mfu_commands[i];
    return NULL;
}

/* What people type by habit, from psql, sqlite, gdb, vi and shells. */
static const struct {
    const char *habit, *name;
} habits[] = {{"?", "help"}, {"h", "help"}, {"q", "quit"}, {"exit", "quit"}, {"bye", "quit"}, {"man", "help"}};

/* Those that have no command of the same meaning, and the nearest. */
static const struct {
    const char *habit, *hint;
} hints[] = {{"info", "show"},
             {"describe", "show"},
             {"list", "show"},
             {"ls", "show"},
             {"d", "show"},
             {"tables", "show"},
             {"schema", "show"},
             {"run", "plan"},
             {"r", "plan"},
             {"select", "sweep"},
             {"where", "why slow"},
             {"bt", "why slow"},
             {"calc", "print"},
             {"eval", "print"},
             {"=", "print"},
             {"nvidia-smi", "memory"},
             {"mode", "sweep ... > FILE.csv"},
             {"version", "mfuplan --version"},
             {"timing", "step"}};

/* \q, .help, :q */
static const char *bare(const char *name)
{
    return name + (strchr("\\.:", name[0]) && name[1]);
}

static const struct mfu_command *find_habit(const char *name)
{
    name = bare(name);
    for (size_t i = 0; i < sizeof habits / sizeof habits[0]; i++)
        if (strcasecmp(habits[i].habit, name) == 0)
            return mfu_command_find(habits[i].name);
    for (size_t i = 0; i < mfu_command_count; i++)
        if (strcasecmp(mfu_commands[i]->name, name) == 0)
            return mfu_commands[i];
    return NULL;
}

/* The command that alone begins so; else how many do in *n. */
static const struct mfu_command *find_prefix(const char *name, size_t *n)
{
    const struct mfu_command *found = NULL;

    *n = 0;
    for (size_t i = 0; *name && i < mfu_command_count; i++)
        if (strncasecmp(mfu_commands[i]->name, name, strlen(name)) == 0) {
            found = mfu_commands[i];
            ++*n;
        }
    return *n == 1 ? found : NULL;
}

const struct mfu_command *mfu_command_meant(const char *word)
{
    const struct mfu_command *c = mfu_command_find(word);
    size_t n;

    if (!c)
        c = find_habit(word);
    return c ? c : find_prefix(word, &n);
}

int mfu_command_unknown(struct mfu_session *s, const char *name, struct mfu_error *err)
{
    const char *names[128];
    struct mfu_evaluated e;
    char could[200];
    size_t n = 0;

    if (!find_prefix(name, &n) && n > 1) {
        n = 0;
        for (size_t i = 0; i < mfu_command_count && n < sizeof names / sizeof names[0]; i++)
            if (strncasecmp(mfu_commands[i]->name, name, strlen(name)) == 0)
                names[n++] = mfu_commands[i]->name;
        return mfu_fail(err, MFU_EINPUT, "'%.60s' could be %s", name, mfu_names_list(could, sizeof could, names, n));
    }
    n = 0;
    mfu_fail(err, MFU_EINPUT, "no command is called '%.60s'", name);
    if (mfu_key_find_set(s->memory.now.model, name, NULL, NULL).kind != MFU_KEY_NONE) {
        char hint[96];

        snprintf(hint, sizeof hint, "set %.60s", name);
        return mfu_error_suggest(err, hint);
    }
    for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++)
        if (strcasecmp(hints[i].habit, bare(name)) == 0)
            return mfu_error_suggest(err, hints[i].hint);
    if (mfu_evaluate(s, name, &e, NULL) == 0) {
        char hint[96];

        snprintf(hint, sizeof hint, "print %.60s", name);
        return mfu_error_suggest(err, hint);
    }
    for (; n < mfu_command_count && n < sizeof names / sizeof names[0]; n++)
        names[n] = mfu_commands[n]->name;
    return mfu_error_nearest(err, name, names, n);
}
