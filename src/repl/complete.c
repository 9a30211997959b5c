/*
 * complete.c - "what could the last word of this line be?", for Tab, for the
 * command `complete`, and for tests.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "repl/assign.h"
#include "repl/command.h"
#include "repl/command_lookup.h"
#include "repl/completers.h"
#include "repl/session.h"
#include "repl/tokenize.h"

/* All candidates of one line, sorted as they were offered. */
struct list {
    struct mfu_arena arena;
    char *line; /* that they complete */
    char **words;
    size_t n, room;
};

static void add(struct list *l, const char *word)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->words[i], word) == 0)
            return;
    if (l->n == l->room) {
        size_t room = l->room ? 2 * l->room : 64;
        char **more = mfu_arena_alloc(&l->arena, room, sizeof *more);

        if (!more)
            return;
        if (l->n)
            memcpy(more, l->words, l->n * sizeof *more);
        l->words = more;
        l->room = room;
    }
    l->words[l->n] = mfu_arena_copy(&l->arena, word, strlen(word));
    if (l->words[l->n])
        l->n++;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Files that begin as `stem` does, with its folder. */
static void add_files(struct list *l, const char *stem)
{
    const char *slash = strrchr(stem, '/'), *begin = slash ? slash + 1 : stem;
    char folder[1024], path[1024 + 256];
    size_t first = l->n;
    struct dirent *entry;
    struct stat info;
    DIR *dir;

    if ((size_t)(begin - stem) >= sizeof folder)
        return;
    snprintf(folder, sizeof folder, "%.*s", (int)(begin - stem), stem);
    dir = opendir(*folder ? folder : ".");
    while (dir && (entry = readdir(dir))) {
        if (strncmp(entry->d_name, begin, strlen(begin)) != 0 || (entry->d_name[0] == '.' && *begin != '.')
            || mfu_has_control(entry->d_name))
            continue;
        snprintf(path, sizeof path, "%s%.255s", folder, entry->d_name);
        if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
            strncat(path, "/", sizeof path - strlen(path) - 1);
        add(l, path);
    }
    if (dir)
        closedir(dir);
    if (l->n > first)
        qsort(l->words + first, l->n - first, sizeof *l->words, by_name);
}

static void add_offer(struct list *l, struct mfu_session *s, mfu_offer_fn *offer, const char *stem)
{
    const char *word;

    if (offer == mfu_offer_files)
        add_files(l, stem);
    for (size_t i = 0; offer && (word = offer(s, i)); i++)
        if (strncasecmp(word, stem, strlen(stem)) == 0)
            add(l, word);
}

/* KEY=VALUE is two words, as far as completing is concerned. */
static void split_assignments(char *line)
{
    for (char *p = line; *p; p++)
        if (*p == '=' && p > line && !strchr(" \t=<>!", p[-1]) && p[1] != '=')
            *p = ' ';
}

static void collect(struct list *l, struct mfu_session *s)
{
    char *last = mfu_arena_copy(&l->arena, l->line, strlen(l->line));
    const char *command = last ? mfu_words_last(last) : "", *at = command, *stem = "";
    size_t length = strlen(command);
    const struct mfu_command *c;
    struct mfu_words w = {0};
    bool assignment;

    if (!last)
        return;
    command += strspn(command, " \t");
    assignment = mfu_assignment(command) || strncmp(command, "set ", 4) == 0;
    if (assignment)
        split_assignments(last + (command - last));
    at = command;
    length = strlen(command);
    if (mfu_words_next(&l->arena, command, &at, &w, NULL) < 0)
        return; /* inside a quote anything may follow */
    if (w.argc > 0 && length > 0 && !strchr(" \t", command[length - 1]))
        stem = w.argv[--w.argc];
    s->typing.argc = w.argc;
    s->typing.argv = w.argv;
    if (w.argc == 0) {
        add_offer(l, s, mfu_offer_commands, stem);
        if (l->n == 0)
            add_offer(l, s, mfu_offer_keys, stem);
    } else if (w.shell)
        add_files(l, stem);
    else if ((c = mfu_command_meant(w.argv[0]))) {
        if (c->most_args < 0 || w.argc <= c->most_args)
            add_offer(l, s, c->offer[(w.argc - 1) % 2], stem);
    } else if (assignment && (c = mfu_command_find("set")))
        add_offer(l, s, c->offer[w.argc % 2], stem);
    s->typing.argc = 0;
}

const char *mfu_complete(struct mfu_session *s, const char *line, size_t i)
{
    static struct list list; /* Readline asks for one after the other */

    if (i == 0 || !list.line || strcmp(list.line, line) != 0) {
        mfu_arena_free(&list.arena);
        list = (struct list){0};
        if (!(list.line = mfu_arena_copy(&list.arena, line, strlen(line))))
            return NULL;
        collect(&list, s);
    }
    if (i < list.n)
        return list.words[i];
    mfu_arena_free(&list.arena);
    list = (struct list){0};
    return NULL;
}
