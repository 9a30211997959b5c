/*
 * stream_writer.c - walking order, and the JSON form.
 */
#include "report/export/stream_writer.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/printable.h"

/* ---- the walk ----------------------------------------------------------- */

static void before_value(struct mfu_writer *e, const char *key)
{
    if (key)
        mfu_writer_key(e, key);
    if (e->depth > 0 && !e->level[e->depth - 1].object && e->level[e->depth - 1].n++ > 0)
        e->form->between(e);
}

void mfu_writer_begin(struct mfu_writer *e, FILE *out, const struct mfu_writer_form *form)
{
    memset(e, 0, sizeof *e);
    e->out = out;
    e->form = form;
    form->begin(e);
}

void mfu_writer_end(struct mfu_writer *e)
{
    e->form->end(e);
}

static void open(struct mfu_writer *e, bool object)
{
    before_value(e, NULL);
    e->form->open(e, object);
    e->level[e->depth].object = object;
    e->level[e->depth++].n = 0;
}

void mfu_writer_object(struct mfu_writer *e)
{
    open(e, true);
}
void mfu_writer_array(struct mfu_writer *e)
{
    open(e, false);
}

void mfu_writer_close(struct mfu_writer *e)
{
    e->depth--;
    e->form->close(e, e->level[e->depth].object);
}

struct mfu_writer *mfu_writer_key(struct mfu_writer *e, const char *key)
{
    if (e->level[e->depth - 1].n++ > 0)
        e->form->between(e);
    e->form->key(e, key);
    return e;
}

void mfu_writer_text(struct mfu_writer *e, const char *key, const char *text)
{
    before_value(e, key);
    e->form->text(e, text);
}

void mfu_writer_integer(struct mfu_writer *e, const char *key, int64_t value)
{
    before_value(e, key);
    e->form->integer(e, value);
}

/* Whole numbers of doubles are integers in the file. */
void mfu_writer_number(struct mfu_writer *e, const char *key, double value)
{
    before_value(e, key);
    if (!isfinite(value))
        e->form->null(e);
    else if (value == floor(value) && fabs(value) < 0x1p53)
        e->form->integer(e, (int64_t)value);
    else
        e->form->number(e, value);
}

void mfu_writer_boolean(struct mfu_writer *e, const char *key, bool value)
{
    before_value(e, key);
    e->form->boolean(e, value);
}

/* ---- JSON --------------------------------------------------------------- */

static void nothing(struct mfu_writer *e)
{
    (void)e;
}

/* Elements of the outer arrays begin a line: an event is a line. */
static void comma(struct mfu_writer *e)
{
    fputs(!e->level[e->depth - 1].object && e->depth <= 3 ? ",\n" : ",", e->out);
}

static void json_open(struct mfu_writer *e, bool object)
{
    fputs(object ? "{" : "[", e->out);
}
static void json_close(struct mfu_writer *e, bool object)
{
    fputs(object ? "}" : "]", e->out);
}

/* As RFC 8259 wants it, whatever the text is: bytes that are not UTF-8 become
 * U+FFFD. */
static void json_text(struct mfu_writer *e, const char *text)
{
    putc('"', e->out);
    for (size_t n; *text; text += n > 0 ? n : 1) {
        uint32_t code = 0;

        n = mfu_utf8_character(text, strnlen(text, 4), &code);
        if (n == 0)
            fputs("\\ufffd", e->out);
        else if (mfu_is_control(code))
            fprintf(e->out, "\\u%04x", (unsigned)code);
        else if (code == '"' || code == '\\')
            fprintf(e->out, "\\%c", (int)code);
        else
            fwrite(text, 1, n, e->out);
    }
    putc('"', e->out);
}

static void json_key(struct mfu_writer *e, const char *key)
{
    json_text(e, key);
    putc(':', e->out);
}

static void json_integer(struct mfu_writer *e, int64_t value)
{
    fprintf(e->out, "%" PRId64, value);
}
static void json_number(struct mfu_writer *e, double value)
{
    fprintf(e->out, "%.10g", value);
}
static void json_boolean(struct mfu_writer *e, bool value)
{
    fputs(value ? "true" : "false", e->out);
}
static void json_null_value(struct mfu_writer *e)
{
    fputs("null", e->out);
}
static void json_end(struct mfu_writer *e)
{
    putc('\n', e->out);
}

const struct mfu_writer_form mfu_writer_json = {
    .begin = nothing,
    .between = comma,
    .open = json_open,
    .close = json_close,
    .key = json_key,
    .text = json_text,
    .integer = json_integer,
    .number = json_number,
    .boolean = json_boolean,
    .null = json_null_value,
    .end = json_end,
};
