/*
 * output.c - what commands say: answers to stdout, everything else to stderr.
 */
#include "repl/output.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/printable.h"
#include "repl/line.h"

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
        mfu_wrap(s->out, &s->term, 0, 2, text);
    else
        fprintf(s->out, "%s\n", text);
}

int mfu_answer(struct mfu_session *s, json_t *object, struct mfu_error *err)
{
    int status;

    if (!object)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    status = json_dumpf(object, s->out, JSON_COMPACT | JSON_REAL_PRECISION(15));
    json_decref(object);
    putc('\n', s->out);
    return status < 0 && !ferror(s->out) ? mfu_fail(err, MFU_ENOMEM, "out of memory") : 0;
}

int mfu_error_caret(struct mfu_session *s, struct mfu_error *err, int word)
{
    if (!err || err->file[0] || err->line > 0 || word < 0 || word >= s->n_columns)
        return -1;
    return mfu_error_at(err, NULL, 0, s->columns[word]);
}

/* ---- text that others wrote ---------------------------------------------- */

json_t *mfu_json_text(const char *text)
{
    size_t size = strlen(text) + 8;
    char *buf = malloc(size);
    json_t *json = buf ? json_string(mfu_printable(buf, size, text)) : NULL;

    free(buf);
    return json;
}

void mfu_wrap(FILE *out, const struct mfu_term *term, int used, int indent, const char *text)
{
    int at = used;
    bool fresh = true; /* nothing stands in this line yet */

    for (const char *p = text; *p;) {
        size_t n = strcspn(p, " ");
        int width = mfu_width(p, n);

        if (!fresh && at + 1 + width >= term->width) {
            fprintf(out, "\n%*s", indent, "");
            at = indent;
            fresh = true;
        }
        at += width + !fresh;
        if (!fresh)
            putc(' ', out);
        fwrite(p, 1, n, out);
        fresh = false;
        p += n;
        p += strspn(p, " ");
    }
    putc('\n', out);
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
        mfu_wrap(s->errors, &s->term, mfu_width(head, strlen(head)), 2, safe);
    else
        fprintf(s->errors, "%s\n", safe);
    if (err->suggestion[0])
        fprintf(s->errors, "hint: did you mean '%s'?\n", mfu_printable(safe, sizeof safe, err->suggestion));
}

static void put_json(struct mfu_session *s, const struct mfu_error *err)
{
    const struct mfu_place *p = &s->place;
    const char *file = err->file[0] ? err->file : p->script;
    int line = err->file[0] ? err->line : p->line;
    int column = err->file[0] || err->column > 0 ? err->column : p->column;
    json_t *e = json_pack("{s:s, s:o}", "command", p->command, "message", mfu_json_text(err->text));

    if (e && file[0])
        json_object_set_new(e, "file", mfu_json_text(file));
    if (e && line > 0)
        json_object_set_new(e, "line", json_integer(line));
    if (e && column > 0)
        json_object_set_new(e, "column", json_integer(column));
    if (e && err->suggestion[0])
        json_object_set_new(e, "suggestion", mfu_json_text(err->suggestion));
    mfu_answer(s, e ? json_pack("{s:o}", "error", e) : NULL, NULL);
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
    if (s->json && err->code != MFU_EUNMET) /* `check` has answered */
        put_json(s, err);
    memset(&s->place, 0, sizeof s->place);
}

void mfu_warn(struct mfu_session *s, const struct mfu_error *err)
{
    char safe[MFU_ERROR_TEXT];

    fflush(s->out);
    fprintf(s->errors, "mfuplan: warning: %s\n", mfu_printable(safe, sizeof safe, err->text));
    if (err->suggestion[0])
        fprintf(s->errors, "hint: did you mean '%s'?\n", mfu_printable(safe, sizeof safe, err->suggestion));
}

void mfu_warn_calibration(struct mfu_session *s)
{
    struct mfu_error warning;

    if (!mfu_catalog_warning(s->catalog, &warning))
        return;
    if (warning.line > 0)
        mfu_within(&warning, "%s:%d", warning.file, warning.line);
    else if (warning.file[0])
        mfu_within(&warning, "%s", warning.file);
    mfu_warn(s, &warning);
}
