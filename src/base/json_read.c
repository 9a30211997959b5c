/*
 * json_read.c - JSON as a tree, and back.
 *
 * Jansson 2.14's own reader is not used: where memory fails it goes on with a piece of a text, and
 * writes past the end of another (lex_save() takes no notice of strbuffer_append_byte()).  What it
 * has to build trees with is safe.
 */
#include "base/json_read.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/list.h"
#include "base/printable.h"

#define DEEPEST 2048 /* values in values, as jansson has it */

struct reader {
    const char *begin, *at, *end;
    char *held; /* names that are open, and the text that is read, each with its 0 */
    size_t n, cap;
    size_t flags;
    int depth;
    struct mfu_error *err;
};

static json_t *no_memory(const struct reader *r)
{
    mfu_fail(r->err, MFU_ENOMEM, "out of memory");
    return NULL;
}

/* Says what is wrong, and where. */
static json_t *refuse(const struct reader *r, const char *what)
{
    const char *line = r->begin;
    int n = 1;

    for (const char *p; (p = memchr(line, '\n', (size_t)(r->at - line))); line = p + 1)
        n++;
    mfu_fail(r->err, MFU_EINPUT, "no JSON: %s", r->at == r->end ? "it ends too early" : what);
    mfu_error_at(r->err, NULL, n, (int)(r->at - line) + 1);
    return NULL;
}

static void skip_blanks(struct reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r'))
        r->at++;
}

static bool next_is(struct reader *r, char c)
{
    skip_blanks(r);
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

/* ---- texts ---------------------------------------------------------------- */

static bool hold(struct reader *r, const char *bytes, size_t n)
{
    if (!MFU_ROOM(r->held, r->n + n, r->cap)) {
        no_memory(r);
        return false;
    }
    memcpy(r->held + r->n, bytes, n);
    r->n += n;
    return true;
}

/* Four hexadecimal digits from r->at on; -1. */
static long hexadecimal(struct reader *r)
{
    long code = 0;

    for (int i = 0; i < 4; i++, r->at++) {
        static const char digits[] = "0123456789abcdef";
        const char *digit = r->at < r->end && *r->at ? strchr(digits, tolower((unsigned char)*r->at)) : NULL;

        if (!digit)
            return -1;
        code = code * 16 + (digit - digits);
    }
    return code;
}

/* What stands behind \u, perhaps two of them, as UTF-8. */
static bool hold_code(struct reader *r)
{
    long code = hexadecimal(r), low;
    char utf8[4];
    size_t n = 0;

    if (code >= 0xD800 && code < 0xDC00 && r->end - r->at > 2 && r->at[0] == '\\' && r->at[1] == 'u') {
        r->at += 2;
        low = hexadecimal(r);
        code = low >= 0xDC00 && low < 0xE000 ? 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00) : -1;
    }
    if (code <= 0 || (code >= 0xD800 && code < 0xE000)) { /* 0 would end the text */
        refuse(r, "no character");
        return false;
    }
    if (code < 0x80)
        utf8[n++] = (char)code;
    else {
        int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;

        utf8[n++] = (char)((0xFF00 >> (more + 1) & 0xFF) | code >> 6 * more);
        while (more-- > 0)
            utf8[n++] = (char)(0x80 | (code >> 6 * more & 0x3F));
    }
    return hold(r, utf8, n);
}

static bool hold_escaped(struct reader *r)
{
    static const char name[] = "\"\\/bfnrt", is[] = "\"\\/\b\f\n\r\t";
    const char *known = r->at < r->end && *r->at ? strchr(name, *r->at) : NULL;

    if (known)
        r->at++;
    else if (r->at < r->end && *r->at == 'u') {
        r->at++;
        return hold_code(r);
    } else {
        refuse(r, "an escape that is none");
        return false;
    }
    return hold(r, &is[known - name], 1);
}

/* Holds the text whose opening quote has been read, and a 0. */
static bool hold_text(struct reader *r)
{
    for (;;) {
        const char *from = r->at;

        while (r->at < r->end && *r->at != '"' && *r->at != '\\' && (unsigned char)*r->at >= ' ') {
            size_t n = mfu_utf8_character(r->at, (size_t)(r->end - r->at), NULL);

            if (n == 0) {
                refuse(r, "a byte that is no UTF-8");
                return false;
            }
            r->at += n;
        }
        if (!hold(r, from, (size_t)(r->at - from)))
            return false;
        if (r->at == r->end || (unsigned char)*r->at < ' ') {
            refuse(r, "a control character in a text");
            return false;
        }
        if (*r->at++ == '"')
            return hold(r, "", 1);
        if (!hold_escaped(r))
            return false;
    }
}

/* ---- values --------------------------------------------------------------- */

static size_t digits(struct reader *r)
{
    const char *from = r->at;

    while (r->at < r->end && isdigit((unsigned char)*r->at))
        r->at++;
    return (size_t)(r->at - from);
}

static json_t *made(const struct reader *r, json_t *value)
{
    return value ? value : no_memory(r);
}

static json_t *read_number(struct reader *r)
{
    const char *from = r->at;
    bool real = false, good;
    long long whole;
    double x;

    r->at += *r->at == '-';
    good = r->at < r->end && (*r->at == '0' ? r->at++ != NULL : digits(r) > 0);
    if (good && r->at < r->end && *r->at == '.') {
        r->at++;
        real = true;
        good = digits(r) > 0;
    }
    if (good && r->at < r->end && (*r->at == 'e' || *r->at == 'E')) {
        r->at++;
        real = true;
        r->at += r->at < r->end && (*r->at == '+' || *r->at == '-');
        good = digits(r) > 0;
    }
    if (!good)
        return refuse(r, "a value is expected");
    errno = 0;
    if (real) {
        x = strtod(from, NULL);
        return isfinite(x) ? made(r, json_real(x)) : refuse(r, "a number that is too large");
    }
    whole = strtoll(from, NULL, 10);
    return errno ? refuse(r, "a number that is too large") : made(r, json_integer(whole));
}

static json_t *read_value(struct reader *r);

static json_t *read_array(struct reader *r)
{
    json_t *array = json_array(), *value;

    if (!array)
        return no_memory(r);
    if (next_is(r, ']'))
        return array;
    do {
        if (!(value = read_value(r)))
            break;
        if (json_array_append_new(array, value) < 0) {
            no_memory(r);
            break;
        }
        if (next_is(r, ']'))
            return array;
        if (!next_is(r, ',')) {
            refuse(r, "',' or ']' is expected");
            break;
        }
    } while (true);
    json_decref(array);
    return NULL;
}

/* A name and its value, into the object. */
static bool read_member(struct reader *r, json_t *object)
{
    size_t name = r->n;
    json_t *value;

    if (!next_is(r, '"')) {
        refuse(r, "a name in quotes is expected");
        return false;
    }
    if (!hold_text(r))
        return false;
    if (r->flags & JSON_REJECT_DUPLICATES && json_object_get(object, r->held + name)) {
        refuse(r, "a name for the second time");
        return false;
    }
    if (!next_is(r, ':')) {
        refuse(r, "':' is expected");
        return false;
    }
    if (!(value = read_value(r)))
        return false;
    if (json_object_set_new_nocheck(object, r->held + name, value) < 0) {
        no_memory(r);
        return false;
    }
    r->n = name;
    return true;
}

static json_t *read_object(struct reader *r)
{
    json_t *object = json_object();

    if (!object)
        return no_memory(r);
    if (next_is(r, '}'))
        return object;
    while (read_member(r, object)) {
        if (next_is(r, '}'))
            return object;
        if (!next_is(r, ',')) {
            refuse(r, "',' or '}' is expected");
            break;
        }
    }
    json_decref(object);
    return NULL;
}

static json_t *read_text(struct reader *r)
{
    size_t from = r->n;
    json_t *text;

    if (!hold_text(r))
        return NULL;
    text = made(r, json_stringn_nocheck(r->held + from, r->n - from - 1));
    r->n = from;
    return text;
}

static bool is_word(struct reader *r, const char *word)
{
    size_t n = strlen(word);

    if ((size_t)(r->end - r->at) < n || memcmp(r->at, word, n) != 0)
        return false;
    r->at += n;
    return true;
}

/* NULL with an error. */
static json_t *read_value(struct reader *r)
{
    json_t *value;

    if (r->depth >= DEEPEST)
        return refuse(r, "too deep");
    r->depth++;
    value = next_is(r, '{')   ? read_object(r)
        : next_is(r, '[')     ? read_array(r)
        : next_is(r, '"')     ? read_text(r)
        : is_word(r, "true")  ? json_true()
        : is_word(r, "false") ? json_false()
        : is_word(r, "null")  ? json_null()
        : r->at < r->end      ? read_number(r)
                              : refuse(r, "");
    r->depth--;
    return value;
}

json_t *mfu_json_read(const char *text, size_t length, size_t flags, struct mfu_error *err)
{
    struct reader r = {.begin = text, .at = text, .end = text + length, .flags = flags, .err = err};
    json_t *value;

    skip_blanks(&r);
    if (!(flags & JSON_DECODE_ANY) && (r.at == r.end || !strchr("{[", *r.at)))
        return refuse(&r, "'[' or '{' is expected");
    value = read_value(&r);
    skip_blanks(&r);
    if (value && !(flags & JSON_DISABLE_EOF_CHECK) && r.at < r.end) {
        refuse(&r, "more than one value");
        json_decref(value);
        value = NULL;
    }
    free(r.held);
    return value;
}

/* ---- and back ------------------------------------------------------------- */

struct written {
    char *text;
    size_t n, cap;
    bool failed;
};

/* Jansson does not look at every result: once failed, nothing more is written. */
static int append(const char *bytes, size_t n, void *to)
{
    struct written *w = to;

    w->failed |= !MFU_ROOM(w->text, w->n + n + 1, w->cap);
    if (w->failed)
        return -1;
    memcpy(w->text + w->n, bytes, n);
    w->n += n;
    w->text[w->n] = '\0';
    return 0;
}

char *mfu_json_dumps(const json_t *json, size_t flags)
{
    struct written w = {0};

    if (json_dump_callback(json, append, &w, flags) == 0 && !w.failed)
        return w.text;
    free(w.text);
    return NULL;
}
