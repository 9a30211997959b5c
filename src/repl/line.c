/*
 * line.c - a line of a conversation: editing, completion, history, Ctrl-C.
 *
 * Ctrl-C while typing drops the line; while computing it stops before the next
 * command; it never leaves the program.  The handler sets a flag, nothing else.
 */
#include "repl/line.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <readline/history.h>
#include <readline/readline.h>

#include "repl/environment.h"
#include "repl/session.h"
#include "report/text/text.h"

#define PROMPT "mfuplan> "
#define CONTINUED "    ...> "
#define HISTORY_LINES 2000

/* Readline calls back without a context. */
static struct mfu_session *session;
static volatile sig_atomic_t interrupted, ending; /* ending: by which signal */
static char history_path[MFU_PATH_MAX];
static char *last_line;

static void on_interrupt(int sig)
{
    (void)sig;
    interrupted = 1; /* nothing else is safe in a handler */
}

bool mfu_line_stopping(void)
{
    return interrupted;
}

bool mfu_line_interrupted(void)
{
    bool was = interrupted;

    interrupted = ending != 0; /* an end is not forgotten */
    return was;
}

/* The terminal is gone, or somebody ends the program: the conversation ends as at
 * its last line.  A second signal does what signals do. */
static void on_end(int sig)
{
    ending = sig;
    interrupted = 1;
}

int mfu_line_ending(void)
{
    return ending;
}

/* Drops the line and shows a fresh prompt.  Runs when a signal cut Readline's
 * read() short, and ten times a second for the one that came just before it. */
static int after_signal(void)
{
    if (interrupted) {
        interrupted = 0;
        rl_replace_line("", 0);
        rl_crlf();
        rl_on_new_line();
        rl_redisplay();
    }
    if (ending) {
        rl_replace_line("", 0);
        rl_done = 1;
    }
    return 0;
}

/* A key that was typed right behind Ctrl-C belongs to the fresh line. */
static int read_key(FILE *in)
{
    int key = rl_getc(in);

    after_signal();
    return key;
}

/* ---- completion ---------------------------------------------------------- */

static char *next_match(const char *text, int state)
{
    static size_t i;
    static char line[4096];
    const char *word;

    (void)text;
    if (state == 0) {
        i = 0;
        snprintf(line, sizeof line, "%.*s", rl_point, rl_line_buffer);
    }
    word = mfu_complete(session, line, i++);
    if (word && *word && strchr("/.", word[strlen(word) - 1]))
        rl_completion_suppress_append = 1; /* there is more in a folder, or behind a dot */
    return word ? strdup(word) : NULL;
}

/* Where there is nothing to complete: what the number is, and its range. */
static void show_hint(void)
{
    char line[4096], text[400];

    snprintf(line, sizeof line, "%.*s", rl_point, rl_line_buffer);
    if (!mfu_complete_hint(session, line, text, sizeof text))
        return;
    fputc('\n', rl_outstream);
    mfu_print_wrapped(rl_outstream, &session->term, 0, 2, text);
    rl_on_new_line();
}

static char **complete(const char *text, int start, int end)
{
    char **matches;

    (void)end;
    rl_attempted_completion_over = 1; /* never fall back to file names */
    matches = rl_completion_matches(text, next_match);
    if (!matches && *text == '\0' && start > 0)
        show_hint();
    return matches;
}

#define DESCRIBED 40 /* candidates: more are shown side by side, without a word of what they are */

/* A candidate a line, with what it is. */
static void show_matches(char **matches, int n, int longest)
{
    char line[4096];
    bool any = false;

    snprintf(line, sizeof line, "%.*s", rl_point, rl_line_buffer);
    for (int i = 1; i <= n && n <= DESCRIBED && !any; i++)
        any = *mfu_complete_meaning(session, line, matches[i]) != '\0';
    if (!any) {
        rl_display_match_list(matches, n, longest);
        rl_forced_update_display();
        return;
    }
    fputc('\n', rl_outstream);
    for (int i = 1; i <= n; i++) {
        fprintf(rl_outstream, "%-*s  ", longest, matches[i]);
        mfu_print_wrapped(rl_outstream, &session->term, longest + 2, longest + 2,
                          mfu_complete_meaning(session, line, matches[i]));
    }
    rl_forced_update_display();
}

/* ---- history ------------------------------------------------------------- */

/* The file of all conversations, for us alone; -1.  A FIFO is none. */
static int open_history(void)
{
    int fd = open(history_path, O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0600);
    struct stat info;

    if (fd >= 0 && (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode) || flock(fd, LOCK_EX) < 0)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* At once, so that no way out of the program loses it. */
static void append(const char *line)
{
    int fd = *history_path ? open_history() : -1;

    if (fd < 0)
        return;
    if (dprintf(fd, "%s\n", line) < 0)
        history_path[0] = '\0'; /* a full disk: said by whatever else is written */
    close(fd);
}

/* Shortens the file to its last lines. */
static void shorten(void)
{
    int fd = open_history();
    struct stat info;
    char *text = NULL, *from;
    ssize_t n = -1;

    if (fd < 0)
        return;
    if (fstat(fd, &info) == 0 && (text = malloc((size_t)info.st_size + 1)))
        n = pread(fd, text, (size_t)info.st_size, 0);
    from = n > 0 ? text + n : NULL;
    for (int lines = 0; from && from > text && lines <= HISTORY_LINES; from--)
        lines += from[-1] == '\n';
    if (from && from > text && ftruncate(fd, 0) == 0) {
        from += 2; /* behind the line end that was one too many */
        if (write(fd, from, (size_t)(text + n - from)) < 0)
            history_path[0] = '\0'; /* a full disk */
    }
    free(text);
    close(fd);
}

static void remember(const char *line)
{
    HIST_ENTRY *last = history_length ? history_get(history_base + history_length - 1) : NULL;

    if (*line == '\0' || *line == ' ' || (last && strcmp(last->line, line) == 0))
        return;
    add_history(line);
    append(line);
}

const char *mfu_line_past(int ago)
{
    HIST_ENTRY *line = ago < history_length ? history_get(history_base + history_length - 1 - ago) : NULL;

    return line ? line->line : NULL;
}

/* ---- the conversation ---------------------------------------------------- */

void mfu_line_catch(struct sigaction *before)
{
    interrupted = 0;
    sigaction(SIGINT, &(struct sigaction){.sa_handler = on_interrupt, .sa_flags = SA_RESTART}, before);
}

void mfu_line_open(struct mfu_session *s)
{
    struct sigaction act = {.sa_handler = on_end, .sa_flags = (int)SA_RESETHAND};

    session = s;
    mfu_line_catch(NULL);
    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGHUP, &act, NULL);
    rl_change_environment = 0; /* COLUMNS would be that of the last prompt, not of a window that a pager saw resized */
    rl_readline_name = "mfuplan"; /* lets ~/.inputrc say `$if mfuplan` */
    rl_attempted_completion_function = complete;
    rl_completion_display_matches_hook = show_matches;
    rl_variable_bind("show-all-if-ambiguous", "on"); /* one Tab is enough */
    rl_basic_word_break_characters = " \t\n;=";
    rl_completer_word_break_characters = " \t\n;=";
    rl_completer_quote_characters = "\"'";
    rl_signal_event_hook = after_signal;
    rl_event_hook = after_signal;
    rl_getc_function = read_key;
    rl_outstream = isatty(STDOUT_FILENO) ? stdout : stderr;
    rl_variable_bind("enable-bracketed-paste", "off");
    using_history();
    stifle_history(HISTORY_LINES);
    if (mfu_environment_state(history_path, "MFUPLAN_HISTORY", "history")) {
        shorten();
        read_history(history_path);
    } else
        history_path[0] = '\0';
}

/* A line, and those that it is continued on: a `\\` at the end stands for a blank. */
static char *read_whole(void)
{
    char *line = readline(PROMPT), *more, *both;
    size_t n;

    while (line && !ending && (n = strlen(line)) > 0 && line[n - 1] == '\\' && (more = readline(CONTINUED))) {
        line[n - 1] = ' ';
        both = realloc(line, n + strlen(more) + 1);
        if (both)
            strcpy((line = both) + n, more);
        free(more);
    }
    return line;
}

char *mfu_line_read(void)
{
    char *line;

    if (ending)
        return NULL;
    fflush(NULL);
    line = read_whole();
    if (ending) {
        free(line);
        line = NULL;
    }
    free(last_line);
    last_line = line ? strdup(line) : NULL;
    interrupted = 0;
    if (line)
        remember(line);
    return line;
}

void mfu_line_close(void)
{
    free(last_line);
    last_line = NULL;
}

void mfu_line_point(struct mfu_session *s, int column)
{
    int at = (int)strlen(PROMPT);

    if (column <= 0 || !last_line || s->depth > 0 || !isatty(STDERR_FILENO) || (size_t)column > strlen(last_line) + 1)
        return;
    at += mfu_width(last_line, (size_t)column - 1);
    if (at + 1 < s->term.width && at + mfu_width(last_line + column - 1, strlen(last_line)) < s->term.width)
        fprintf(stderr, "%*s^\n", at, "");
}
