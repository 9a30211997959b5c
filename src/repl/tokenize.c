/*
 * tokenize.c - a line as commands, and a command as words.
 */
#include "repl/tokenize.h"

#include <stdbool.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static bool ends_command(char c)
{
    return c == '\0' || c == ';' || c == '\n';
}

/* A single `|`; `||` is an operator. */
static bool is_pipe(const char *p)
{
    return p[0] == '|' && p[1] != '|';
}

/* Behind blanks and a comment. */
static const char *skip(const char *p)
{
    while (is_blank(*p))
        p++;
    if (*p == '#')
        p += strcspn(p, "\n");
    return p;
}

/* Copies the inside of a quote that begins at `p` to *to; returns what is
 * behind it, or NULL when it is not closed. */
static const char *read_quote(const char *p, char **to)
{
    char quote = *p++;

    for (; *p != quote; p++) {
        if (quote == '"' && *p == '\\' && (p[1] == '"' || p[1] == '\\'))
            p++;
        if (*p == '\0')
            return NULL;
        *(*to)++ = *p;
    }
    return p + 1;
}

/* Copies a word to *to, with its '\0'.  NULL with the place of a quote that is
 * not closed in *open. */
static const char *read_word(const char *p, char **to, const char **open)
{
    while (!is_blank(*p) && !ends_command(*p) && !is_pipe(p)) {
        if (*p == '|')
            *(*to)++ = *p++; /* both of `||` */
        if (*p == '"' || *p == '\'') {
            *open = p;
            if (!(p = read_quote(p, to)))
                return NULL;
        } else
            *(*to)++ = *p++;
    }
    *(*to)++ = '\0';
    return p;
}

int mfu_words_next(struct mfu_arena *arena, const char *line, const char **at, struct mfu_words *w,
                   struct mfu_error *err)
{
    size_t most;
    char *to;
    const char *p = skip(*at), *open = NULL;

    while (*p == ';' || *p == '\n')
        p = skip(p + 1);
    *at = p;
    if (*p == '\0')
        return 0;
    w->shell = *p == '!' ? p + 1 : NULL;
    most = strlen(p) / 2 + 1; /* every word needs a blank */
    to = mfu_arena_alloc(arena, 2 * most + 1, 1);
    w->argv = mfu_arena_alloc(arena, most + 1, sizeof *w->argv);
    w->columns = mfu_arena_alloc(arena, most + 1, sizeof *w->columns);
    if (!to || !w->argv || !w->columns)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    for (w->argc = 0; !w->shell && !ends_command(*p); p = skip(p)) {
        if (is_pipe(p)) {
            w->shell = p + 1;
            break;
        }
        w->argv[w->argc] = to;
        w->columns[w->argc] = (int)(p - line) + 1 + (*p == '"' || *p == '\'');
        w->argc++;
        if (!(p = read_word(p, &to, &open)))
            return mfu_fail_at(err, NULL, 0, (int)(open - line) + 1, "the quote %c is not closed", *open);
    }
    w->argv[w->argc] = NULL;
    *at = w->shell ? w->shell + strcspn(w->shell, "\n") : p;
    return 1;
}

char *mfu_words_join(struct mfu_arena *arena, int argc, char **argv, const int *columns, int first)
{
    size_t length = 1, n = 0;
    char *text;

    for (int i = first; i < argc; i++)
        length += strlen(argv[i]) + 1;
    if (argc > first)
        length += (size_t)(columns[argc - 1] - columns[first]);
    if (!(text = mfu_arena_alloc(arena, length, 1)))
        return NULL;
    for (int i = first; i < argc; i++) {
        size_t place = (size_t)(columns[i] - columns[first]);

        if (i > first)
            text[n++] = ' ';
        while (n < place)
            text[n++] = ' ';
        memcpy(text + n, argv[i], strlen(argv[i]));
        n += strlen(argv[i]);
    }
    text[n] = '\0';
    return text;
}

const char *mfu_words_last(const char *line)
{
    const char *begin = line;
    char quote = '\0';

    for (const char *p = line; *p; p++) {
        if (quote)
            quote = *p == quote ? '\0' : quote;
        else if (*p == '"' || *p == '\'')
            quote = *p;
        else if (*p == ';' || *p == '\n' || (*p == '|' && p[1] != '|' && (p == line || p[-1] != '|')))
            begin = p + 1;
    }
    return begin;
}
