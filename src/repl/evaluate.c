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

#include "answer/validate/validate.h"
#include "base/arena.h"
#include "base/input_file.h"
#include "base/suggest.h"
#include "descriptor/catalog.h"
#include "descriptor/packed.h"
#include "repl/assign.h"
#include "repl/command.h"
#include "repl/command_lookup.h"
#include "repl/line.h"
#include "repl/session.h"
#include "repl/output.h"
#include "repl/pager.h"
#include "repl/plan_view.h"
#include "repl/shell.h"
#include "repl/tokenize.h"

/* KEY=VALUE, KEY = VALUE: a command without `set`. */
static bool is_assignment(const struct mfu_words *w)
{
    const char *equals = mfu_assignment(w->argv[0]);

    return equals || (w->argc > 1 && w->argv[1][0] == '=' && w->argv[1][1] != '=');
}

/* Names the word that is too much. */
static int check_arguments(struct mfu_session *s, const struct mfu_command *c, int argc, char **argv,
                           struct mfu_error *err)
{
    if (argc - 1 >= c->least_args && (c->most_args < 0 || argc - 1 <= c->most_args))
        return 0;
    if (argc - 1 < c->least_args)
        return mfu_fail(err, MFU_EINPUT, "expected '%s%s%s'", c->name, *c->usage ? " " : "", c->usage);
    mfu_fail(err, MFU_EINPUT, "'%.60s' is one word too many: expected '%s%s%s'", argv[c->most_args + 1], c->name,
             *c->usage ? " " : "", c->usage);
    if (mfu_assignment(argv[c->most_args + 1]) || mfu_parse_subject(argv[c->most_args + 1])
        || mfu_key_find_set(s->memory.now.model, argv[c->most_args + 1], NULL, NULL).kind != MFU_KEY_NONE) {
        char hint[160];

        /* Dimensions belong to the model that is chosen first. */
        if (strcmp(c->group, "describe") == 0)
            snprintf(hint, sizeof hint, "%.20s %.60s; set %.40s ...", c->name, argv[1], argv[c->most_args + 1]);
        else
            snprintf(hint, sizeof hint, "set %.40s ...; %.20s", argv[c->most_args + 1], c->name);
        mfu_error_suggest(err, hint);
    }
    return mfu_error_caret(s, err, c->most_args + 1);
}

/* The word of a redirection, > FILE or >FILE, at the end of a command; 0: there is none.
 * Where a condition may stand a `>` compares. */
static int find_redirection(const struct mfu_command *c, const struct mfu_words *w)
{
    int at = w->argc > 2 && w->argv[w->argc - 2][0] == '>' ? w->argc - 2 : w->argc - 1;
    const char *word = w->argv[at];

    if (at < 1 || word[0] != '>' || word[1] == '=')
        return 0;
    for (int i = 1; c->compares && i < at; i++)
        if (strcmp(c->compares, "always") == 0 || strcmp(w->argv[i], c->compares) == 0)
            return 0;
    return at;
}

/* Sends the answer where the end of the line says, and takes those words away.  1 if it
 * does, else 0; -1 with `err`. */
static int redirect(struct mfu_session *s, const struct mfu_command *c, struct mfu_words *w, struct mfu_diversion *d,
                    struct mfu_error *err)
{
    int at = find_redirection(c, w);
    const char *word = at ? w->argv[at] : "", *file;
    size_t n = strspn(word, ">");
    char how[3] = "", *end;

    if (w->shell)
        return mfu_divert_to_program(s, w->shell, d, err) < 0 ? -1 : 1;
    if (!at)
        return 0;
    n += n == 1 && word[1] == '!';
    file = word[n] ? word + n : at + 1 < w->argc ? w->argv[at + 1] : "";
    if (n > 2 || !*file)
        return mfu_fail_word(s, err, at, "expected '> FILE', '>> FILE' or '>! FILE'");
    strtod(file, &end);
    if (n == 1 && end > file && end[strspn(end, "%")] == '\0') { /* who compares wants no file */
        return mfu_fail_word(s, err, at, "a file called '%s'? check compares; > ./%s writes the file", file, file);
    }
    snprintf(how, sizeof how, "%.*s", (int)n, word);
    w->argc = at;
    if (mfu_divert_to_file(s, how, file, d, err) < 0)
        return mfu_error_caret(s, err, at + !word[n]);
    w->argv[at] = NULL;
    return 1;
}

int mfu_command_run(struct mfu_session *s, const struct mfu_command *c, int argc, char **argv, struct mfu_error *err)
{
    int status;

    if (c->pages)
        mfu_pager_begin(s);
    status = c->view ? mfu_view(s, c->view, err) : c->run(s, argc, argv, err);
    if (c->pages)
        mfu_pager_end(s);
    return status;
}

/* Runs a command whose answer may go elsewhere. */
static int run_command(struct mfu_session *s, const struct mfu_command *c, struct mfu_words *w, struct mfu_error *err)
{
    struct mfu_diversion diversion;
    bool force = s->force;
    int status, diverted;

    s->force = (c->writes && mfu_take_force(&w->argc, w->argv, w->columns)) || force;
    diverted = status = redirect(s, c, w, &diversion, err);
    if (status >= 0)
        status = check_arguments(s, c, w->argc, w->argv, err);
    if (status == 0)
        status = mfu_command_run(s, c, w->argc, w->argv, err);
    if (diverted > 0)
        status = mfu_divert_end(s, &diversion, status, err);
    s->force = force;
    return status;
}

int mfu_check_memory(struct mfu_session *s, int status, struct mfu_error *err)
{
    bool catalog = mfu_catalog_lost(s->catalog), unheard = mfu_error_unheard();

    if (!catalog && !unheard && !s->lost)
        return status;
    return mfu_fail(err, MFU_ENOMEM, "out of memory%s", status < 0 ? "" : ": the answer is not complete");
}

/* A full disk is an error of the command whose answer is lost. */
static int check_output(struct mfu_session *s, struct mfu_error *err)
{
    struct pollfd reader = {.fd = STDOUT_FILENO, .events = POLLOUT};

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

    if (w->argc == 0) { /* a line of the shell alone */
        snprintf(s->place.command, sizeof s->place.command, "!");
        return mfu_shell_run(s, w->shell, err);
    }
    if (is_assignment(w) && !mfu_command_find(w->argv[0])) {
        c = mfu_command_find("set");
        first = -1; /* the name is not in the line */
    } else
        c = mfu_command_meant(w->argv[0]);
    s->columns = w->columns;
    s->n_columns = w->argc;
    s->lost = false;
    if (s->depth == 0)
        mfu_error_unheard(); /* what completion asked */
    if (!c) {
        s->place.command[0] = '\0';
        mfu_command_unknown(s, w->argv[0], err);
        mfu_error_caret(s, err, 0);
        status = -1;
    } else if (first < 0 && w->shell)
        status = mfu_fail(err, MFU_EINPUT, "nothing is answered that a program could read");
    else if (first < 0)
        status = mfu_assign(s, w->argc, w->argv, 0, err);
    else
        status = run_command(s, c, w, err);
    status = mfu_check_memory(s, status, err);
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
        mfu_session_speak(s);
        status = run(s, &words, err);
        mfu_arena_reset(&arena);
    }
    mfu_arena_free(&arena);
    return status;
}

/* ---- scripts ------------------------------------------------------------- */

/* Reads a line without its end into `line`, and those that it is continued on: a `\\` at
 * the end stands for a blank.  Adds how many to *number.  1, 0 at the end of the file,
 * or -1 with `err`. */
static int read_line(FILE *in, char line[MFU_LINE_MAX], int *number, struct mfu_error *err)
{
    size_t n = 0;
    int c;

    for (++*number; (c = getc(in)) != EOF && (c != '\n' || (n > 0 && line[n - 1] == '\\'));) {
        if (c == '\n') {
            line[n - 1] = ' ';
            ++*number;
            continue;
        }
        if (c == '\0')
            return mfu_fail_at(err, NULL, 0, (int)n + 1, "a byte 0: this is not a text file");
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
    int first, number = 0, status = 0, more;

    if (!line)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    while (status == 0 && !s->quit) {
        char *text = line;

        first = number + 1;
        more = read_line(in, line, &number, err);
        if (more == 0)
            break;
        if (first == 1 && strncmp(text, "\xEF\xBB\xBF", 3) == 0)
            text += 3; /* a byte order mark */
        status = more < 0 ? -1 : mfu_eval(s, text, err);
        if (status < 0)
            locate(s, name, first, err);
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

int mfu_session_suggest_table(const char *name, struct mfu_error *err)
{
    static const char *const known[] = {MFU_PUBLISHED_WORD};

    return err && err->code == MFU_EIO && strcmp(name, *known) != 0 ? mfu_error_nearest(err, name, known, 1) : -1;
}

const char *mfu_session_table(const struct mfu_session *s, const char *name, char *path)
{
    const char *folder = mfu_catalog_folder(s->catalog);

    if (name && strcmp(name, MFU_PUBLISHED_WORD) != 0)
        return mfu_session_path(s, name, path);
    if (strcmp(folder, MFU_COMPILED_IN) == 0) /* a program without its folder: of a checkout, perhaps */
        return MFU_PUBLISHED;
    snprintf(path, MFU_PATH_MAX, "%s/" MFU_PUBLISHED, folder);
    return path;
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
