/*
 * output.c - what commands say: answers to stdout, everything else to stderr.
 */
#include "repl/output.h"
#include "report/text/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/printable.h"
#include "repl/line.h"
#include "report/csv/csv.h"
#include "report/json/json.h"

void mfu_print_note(struct mfu_session *s, const char *format, ...)
{
    char text[1024];
    va_list args;
    int n;

    if (s->json || s->quiet)
        return;
    va_start(args, format);
    n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n >= (int)sizeof text) { /* a path, say: as long as it is */
        va_start(args, format);
        vfprintf(s->out, format, args);
        va_end(args);
        putc('\n', s->out);
    } else if (s->interactive && mfu_width(text, strlen(text)) >= s->term.width && !strchr(text, '\n'))
        mfu_print_wrapped(s->out, &s->term, 0, 2, text);
    else
        fprintf(s->out, "%s\n", text);
}

static int put_csv(struct mfu_session *s, const struct mfu_record *record, const void *object)
{
    json_t *answer = mfu_json(record, object);
    int status = answer ? mfu_csv_write(s->out, record, answer) : -1;

    json_decref(answer);
    return status;
}

int mfu_answer(struct mfu_session *s, const struct mfu_record *record, const void *object, struct mfu_error *err)
{
    int status = s->csv ? put_csv(s, record, object) : mfu_json_put(s->out, record, object);

    return status < 0 ? mfu_fail(err, MFU_ENOMEM, "out of memory") : 0;
}

int mfu_error_caret(struct mfu_session *s, struct mfu_error *err, int word)
{
    if (!err || err->file[0] || err->line > 0 || word < 0 || word >= s->n_columns)
        return -1;
    return mfu_error_at(err, NULL, 0, s->columns[word]);
}

/* ---- files of the user ---------------------------------------------------- */

#define LOOKED_AT 8192 /* bytes at either end of a file */

static bool names_us(FILE *in, long from, int whence)
{
    static char text[LOOKED_AT];
    size_t n = fseek(in, from, whence) == 0 ? fread(text, 1, sizeof text, in) : 0;

    return memmem(text, n, "mfuplan", 7) != NULL;
}

static struct mfu_written as_it_is(const struct stat *info)
{
    return (struct mfu_written){info->st_dev, info->st_ino,
                                info->st_ctim.tv_sec * 1000000000LL + info->st_ctim.tv_nsec};
}

void mfu_has_written(struct mfu_session *s, const char *path)
{
    struct stat info;

    if (stat(path, &info) == 0)
        s->written[s->n_written++ % MFU_WRITTEN] = as_it_is(&info);
}

int mfu_may_replace(const struct mfu_session *s, const char *path, bool force, const char *instead,
                    struct mfu_error *err)
{
    struct stat info;
    FILE *in;
    bool ours;

    if (force || s->force || stat(path, &info) < 0 || !S_ISREG(info.st_mode) || info.st_size == 0)
        return 0;
    for (unsigned i = 0; i < s->n_written && i < MFU_WRITTEN; i++) {
        struct mfu_written now = as_it_is(&info);

        if (memcmp(&s->written[i], &now, sizeof now) == 0)
            return 0;
    }
    in = fopen(path, "re");
    ours = in && (names_us(in, 0, SEEK_SET) || names_us(in, info.st_size > LOOKED_AT ? -LOOKED_AT : 0, SEEK_END));
    if (in)
        fclose(in);
    return ours ? 0 : mfu_fail(err, MFU_EINPUT, "'%.300s' exists, and mfuplan did not write it: %s", path, instead);
}

bool mfu_take_force(int *argc, char **argv, int *columns)
{
    for (int i = 1; i < *argc; i++)
        if (strcmp(argv[i], "--force") == 0) {
            memmove(argv + i, argv + i + 1, (size_t)(*argc - i) * sizeof *argv);
            --*argc;
            memmove(columns + i, columns + i + 1, (size_t)(*argc - i) * sizeof *columns);
            return true;
        }
    return false;
}

/* ---- errors -------------------------------------------------------------- */

static void put_place(FILE *out, const char *file, int line, int column)
{
    char safe[256];

    fputs(mfu_printable(safe, sizeof safe, file), out);
    if (line > 0)
        fprintf(out, ":%d", line);
    if (line > 0 && column > 0)
        fprintf(out, ":%d", column);
    fputs(": ", out);
}

/* mfuplan: plan.mfu:12:5: no setting is called 'sequ'
 * hint: did you mean 'seq'? */
static void put_error(const struct mfu_session *s, const struct mfu_error *err)
{
    char safe[MFU_ERROR_TEXT], head[1024] = "";
    const struct mfu_place *p = &s->place;
    FILE *to = fmemopen(head, sizeof head - 1, "w");

    if (to) {
        fputs("mfuplan: ", to);
        if (p->script[0] && (p->line != err->line || strcmp(p->script, err->file) != 0))
            put_place(to, p->script, p->line, p->column);
        if (err->file[0])
            put_place(to, err->file, err->line, err->column);
        else if (p->command[0])
            fprintf(to, "%s: ", p->command);
        fclose(to);
    }
    fputs(head, s->errors);
    mfu_printable(safe, sizeof safe, err->text);
    if (s->interactive)
        mfu_print_wrapped(s->errors, &s->term, mfu_width(head, strlen(head)), 2, safe);
    else
        fprintf(s->errors, "%s\n", safe);
    if (err->suggestion[0])
        fprintf(s->errors, "hint: did you mean '%s'?\n", mfu_printable(safe, sizeof safe, err->suggestion));
}

/* Where an answer was expected, and what is wrong. */
struct problem {
    const char *command, *message, *file, *suggestion;
    double line, column;
};
// clang-format off
#define PROBLEM(X) \
    X(TEXT,         command,    0,         p->command,    "that failed") \
    X(TEXT,         message,    0,         p->message,    "what is wrong, and what was expected") \
    X(MAYBE_TEXT,   file,       0,         p->file,       "where") \
    X(MAYBE_NUMBER, line,       MFU_COUNT, p->line,       "of the file, from 1") \
    X(MAYBE_NUMBER, column,     MFU_COUNT, p->column,     "of the line, from 1") \
    X(MAYBE_TEXT,   suggestion, 0,         p->suggestion, "the nearest name that is known")
MFU_PART_RECORD(problem, const struct problem *p, PROBLEM)

#define FAILED(X) X(OBJECT, error, &problem, p, "the command failed")
MFU_FIELDS(error, const struct problem *p, FAILED)
const struct mfu_record mfu_record_error = MFU_RECORD(error, .rows = NULL);
// clang-format on

static void put_json(struct mfu_session *s, const struct mfu_error *err)
{
    const struct mfu_place *at = &s->place;
    const char *file = err->file[0] ? err->file : at->script;
    int line = err->file[0] ? err->line : at->line;
    int column = err->file[0] || err->column > 0 ? err->column : at->column;
    struct problem p = {.command = at->command,
                        .message = err->text,
                        .file = file[0] ? file : NULL,
                        .suggestion = err->suggestion[0] ? err->suggestion : NULL,
                        .line = line > 0 ? line : (double)NAN,
                        .column = column > 0 ? column : (double)NAN};

    mfu_answer(s, &mfu_record_error, &p, NULL);
    fflush(s->out);
}

void mfu_complain(struct mfu_session *s, const struct mfu_error *err)
{
    if (s->broken)
        return;
    fflush(s->out); /* in order, where both go to one place */
    if (s->interactive && !err->file[0] && err->line == 0)
        mfu_line_point(s, err->column);
    put_error(s, err);
    if (s->json && !s->csv && err->code != MFU_EUNMET) /* `check` has answered */
        put_json(s, err);
    memset(&s->place, 0, sizeof s->place);
}

void mfu_warn(struct mfu_session *s, const struct mfu_error *err)
{
    struct mfu_error placed = *err;
    char safe[MFU_ERROR_TEXT];

    if (err->line > 0)
        mfu_within(&placed, "%s:%d", err->file, err->line);
    else if (err->file[0])
        mfu_within(&placed, "%s", err->file);
    fflush(s->out);
    fprintf(s->errors, "mfuplan: warning: %s\n", mfu_printable(safe, sizeof safe, placed.text));
    if (err->suggestion[0])
        fprintf(s->errors, "hint: did you mean '%s'?\n", mfu_printable(safe, sizeof safe, err->suggestion));
}

void mfu_warn_calibration(struct mfu_session *s)
{
    struct mfu_error warning;

    if (mfu_catalog_warning(s->catalog, &warning))
        mfu_warn(s, &warning);
}
