/*
 * evaluate.c - lines and scripts: one evaluator, several readers.
 *
 * It cannot tell who is asking.  A command that fails has changed nothing:
 * commands work on a copy of the scenario and install it at the end.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/input_file.h"
#include "repl/assign.h"
#include "repl/command.h"
#include "repl/command_lookup.h"
#include "repl/line.h"
#include "repl/session.h"
#include "repl/output.h"
#include "repl/tokenize.h"

/* KEY=VALUE, KEY = VALUE: a command without `set`. */
static bool is_assignment(const struct mfu_words *w)
{
    const char *equals = mfu_assignment(w->argv[0]);

    return equals || (w->argc > 1 && w->argv[1][0] == '=' && w->argv[1][1] != '=');
}

static int check_arguments(const struct mfu_command *c, int argc, struct mfu_error *err)
{
    if (argc - 1 >= c->least_args && (c->most_args < 0 || argc - 1 <= c->most_args))
        return 0;
    return mfu_fail(err, MFU_EINPUT, "expected '%s%s%s'", c->name, *c->usage ? " " : "", c->usage);
}

/* A full disk is an error of the command whose answer is lost. */
static int check_output(struct mfu_session *s, struct mfu_error *err)
{
    struct pollfd reader = {.fd = STDOUT_FILENO, .events = POLLOUT};

    if (s->lost)
        return mfu_fail(err, MFU_ENOMEM, "out of memory: the answer is not complete");
    errno = 0;
    if (fflush(s->out) == 0 && !ferror(s->out))
        return 0;
    if (s->interactive) { /* Ctrl-C may have cut a write short */
        clearerr(s->out);
        return 0;
    }
    /* A reader that has seen enough is no news.  The errno of an earlier write
     * may be lost; a pipe without a reader says so at any time. */
    s->broken = errno == EPIPE || (poll(&reader, 1, 0) == 1 && reader.revents & POLLERR);
    return mfu_fail(err, MFU_EIO, "standard output: %s", errno ? strerror(errno) : "cannot be written");
}

static int run(struct mfu_session *s, struct mfu_words *w, struct mfu_error *err)
{
    const struct mfu_command *c;
    const int *columns = s->columns;
    int n_columns = s->n_columns, first = 0, status;

    if (is_assignment(w) && !mfu_command_find(w->argv[0])) {
        c = mfu_command_find("set");
        first = -1; /* the name is not in the line */
    } else
        c = mfu_command_find(w->argv[0]);
    s->columns = w->columns;
    s->n_columns = w->argc;
    s->lost = false;
    if (!c) {
        s->place.command[0] = '\0';
        mfu_command_unknown(s, w->argv[0], err);
        mfu_error_caret(s, err, 0);
        status = -1;
    } else if (first < 0)
        status = mfu_assign(s, w->argc, w->argv, 0, err);
    else if (check_arguments(c, w->argc, err) < 0)
        status = -1;
    else
        status = c->run(s, w->argc, w->argv, err);
    if (status == 0)
        status = check_output(s, err);
    if (c && status < 0 && !s->place.command[0])
        snprintf(s->place.command, sizeof s->place.command, "%s", c->name);
    s->columns = columns;
    s->n_columns = n_columns;
    return status;
}

int mfu_eval(struct mfu_session *s, const char *line, struct mfu_error *err)
{
    struct mfu_arena arena = {0};
    struct mfu_words words;
    const char *at = line;
    int status = 0, more;

    mfu_error_clear(err);
    if (s->depth == 0) {
        memset(&s->place, 0, sizeof s->place);
        s->sourced = 0;
    }
    if (strlen(line) >= MFU_LINE_MAX)
        return mfu_fail(err, MFU_EINPUT, "the line is longer than %d bytes", MFU_LINE_MAX - 1);
    while (status == 0 && !s->quit) {
        if (s->interactive && mfu_line_interrupted()) {
            status = mfu_fail(err, MFU_EINPUT, "interrupted");
            break;
        }
        more = mfu_words_next(&arena, line, &at, &words, err);
        if (more <= 0) {
            status = more;
            break;
        }
        status = run(s, &words, err);
        mfu_arena_reset(&arena);
    }
    mfu_arena_free(&arena);
    return status;
}

/* ---- scripts ------------------------------------------------------------- */

/* Reads a line without its end into `line`.  1, 0 at the end of the file, or
 * -1 with `err`. */
static int read_line(FILE *in, char line[MFU_LINE_MAX], struct mfu_error *err)
{
    size_t n = 0;
    int c;

    while ((c = getc(in)) != EOF && c != '\n') {
        if (c == '\0') {
            mfu_fail(err, MFU_EINPUT, "a byte 0: this is not a text file");
            return mfu_error_at(err, NULL, 0, (int)n + 1);
        }
        if (n == MFU_LINE_MAX - 1)
            return mfu_fail(err, MFU_EINPUT, "the line is longer than %d bytes", MFU_LINE_MAX - 1);
        line[n++] = (char)c;
    }
    line[n] = '\0';
    if (c == EOF && ferror(in))
        return mfu_fail(err, MFU_EIO, "cannot be read: %s", strerror(errno));
    return c != EOF || n > 0;
}

/* Adds the place, unless the error has a more exact one. */
static void locate(struct mfu_session *s, const char *name, int line, struct mfu_error *err)
{
    if (!s->place.script[0]) {
        snprintf(s->place.script, sizeof s->place.script, "%s", name);
        s->place.line = line;
        s->place.column = err->file[0] ? 0 : err->column;
    }
    if (!err->file[0])
        mfu_error_at(err, name, line, 0);
}

static int run_lines(struct mfu_session *s, const char *name, FILE *in, struct mfu_error *err)
{
    char *line = malloc(MFU_LINE_MAX);
    int number = 0, status = 0, more;

    if (!line)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    while (status == 0 && !s->quit) {
        char *text = line;

        more = read_line(in, line, err);
        if (more == 0)
            break;
        number++;
        if (number == 1 && strncmp(text, "\xEF\xBB\xBF", 3) == 0)
            text += 3; /* a byte order mark */
        status = more < 0 ? -1 : mfu_eval(s, text, err);
        if (status < 0)
            locate(s, name, number, err);
    }
    free(line);
    return status;
}

const char *mfu_session_path(const struct mfu_session *s, const char *name, char *path)
{
    const char *slash = s->script ? strrchr(s->script, '/') : NULL;

    if (!slash || name[0] == '/' || access(name, F_OK) == 0
        || snprintf(path, MFU_PATH_MAX, "%.*s%s", (int)(slash + 1 - s->script), s->script, name) >= MFU_PATH_MAX)
        return name;
    return access(path, F_OK) == 0 ? path : name;
}

int mfu_run_file(struct mfu_session *s, const char *path, struct mfu_error *err)
{
    bool standard = strcmp(path, "-") == 0;
    FILE *in = standard ? stdin : mfu_input_open(path, err);
    const char *outer = s->script;
    int status;

    s->script = standard ? NULL : path;
    if (!in)
        status = mfu_error_at(err, path, 0, 0);
    else
        status = run_lines(s, standard ? "stdin" : path, in, err);
    s->script = outer;
    if (in && !standard)
        fclose(in);
    return status;
}
