/*
 * json.c - any object as JSON, by the table of its fields: one walk that writes text.
 */
#include "report/json/json.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/list.h"
#include "base/printable.h"

#define WHOLE_MAX 0x1p53 /* above, doubles are not all whole numbers */
#define DIGITS 15        /* of other numbers */

#define MOST_HELD 65536 /* bytes, before a table is written on (chosen) */

struct writer {
    char *text;
    size_t n, cap;
    FILE *out; /* for what is more than that, or NULL */
    bool failed;
};

static bool has_room(struct writer *w, size_t n)
{
    w->failed |= !MFU_ROOM(w->text, w->n + n, w->cap);
    return !w->failed;
}

static void put(struct writer *w, const char *text, size_t n)
{
    if (!has_room(w, n))
        return;
    memcpy(w->text + w->n, text, n);
    w->n += n;
}

static inline void put_char(struct writer *w, char c)
{
    if (has_room(w, 1))
        w->text[w->n++] = c;
}

/* ---- numbers -------------------------------------------------------------- */

/* Writes the digits of a whole number, one at least, in front of `end`; returns the first. */
static char *digits_before(char *end, uint64_t x)
{
    static const char pairs[] = "0001020304050607080910111213141516171819202122232425262728293031323334"
                                "3536373839404142434445464748495051525354555657585960616263646566676869"
                                "707172737475767778798081828384858687888990919293949596979899";

    char *at = end;

    for (; x > 9; x /= 100)
        memcpy(at -= 2, &pairs[2 * (x % 100)], 2);
    if (x > 0 || at == end)
        *--at = (char)('0' + x);
    return at;
}

/* The first DIGITS digits of a positive number below 10^DIGITS, rounded as printf would, and the
 * exponent of the first.  False where they cannot be told from the product with a power of ten, which
 * is as good as the long double that it is. */
static bool decimal(double x, uint64_t *digits, int *exponent)
{
    static const long double powers[] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,  1e8L, 1e9L,
                                         1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L, 1e18L};
    long double scaled, rest;
    int e;

    if (!(x >= 1e-4 && x < 1e14))
        return false;
    e = (int)floor(ilogb(x) * 0.30103); /* of the power of two below it: as much, or one less */
    while (e < 0 ? (long double)x * powers[-e - 1] >= 1 : (long double)x >= powers[e + 1])
        e++;
    scaled = (long double)x * powers[DIGITS - 1 - e];
    *digits = (uint64_t)scaled;
    rest = scaled - (long double)*digits;
    if (fabsl(rest - 0.5L) <= scaled * LDBL_EPSILON || scaled < powers[DIGITS - 1])
        return false;
    *digits += rest > 0.5L;
    *exponent = e;
    return *digits < 1000000000000000;
}

/* What printf wrote, as JSON has it: a dot, whatever the locale's is, one at least, and a short exponent. */
static size_t plain_real(char *text)
{
    size_t e = strcspn(text, "e"), dot = strspn(text, "-0123456789"), n = 0, digits;

    if (dot < e) {
        text[dot] = '.';
        digits = dot + 1 + strcspn(text + dot + 1, "0123456789"); /* a point may have several bytes */
        memmove(text + dot + 1, text + digits, strlen(text + digits) + 1);
        e -= digits - dot - 1;
    }
    n = strlen(text);
    if (text[e] != 'e')
        return dot < e ? n : n + (size_t)snprintf(text + n, MFU_JSON_NUMBER - n, ".0");
    digits = e + 1 + (text[e + 1] == '-');
    n = digits + strspn(text + digits, "+0");
    memmove(text + digits, text + n, strlen(text + n) + 1);
    return strlen(text);
}

static char *copy(char *at, const char *digits, int n)
{
    memcpy(at, digits, (size_t)n);
    return at + n;
}

static char *fill(char *at, int zeros)
{
    memset(at, '0', (size_t)zeros);
    return at + zeros;
}

static size_t number(double x, char out[MFU_JSON_NUMBER])
{
    char digits[24], *at = out, *end = digits + sizeof digits;
    const char *first;
    uint64_t all;
    int n, e, whole, zeros;

    if (!isfinite(x))
        return (size_t)snprintf(out, MFU_JSON_NUMBER, "null");
    if (x < 0)
        *at++ = '-';
    if (x == floor(x) && fabs(x) < WHOLE_MAX) {
        first = digits_before(end, (uint64_t)fabs(x));
        memcpy(at, first, (size_t)(end - first));
        return (size_t)(at - out + (end - first));
    }
    if (!decimal(fabs(x), &all, &e)) {
        snprintf(out, MFU_JSON_NUMBER, "%.*g", DIGITS, x);
        return plain_real(out);
    }
    first = digits_before(end, all);
    for (n = DIGITS; n > 1 && first[n - 1] == '0'; n--)
        ;
    whole = e < 0 ? 0 : e + 1 < n ? e + 1 : n; /* digits before the point, */
    zeros = e < 0 ? -e - 1 : 0;                /* and zeros right behind it */
    at = copy(at, first, whole);
    at = fill(at, e < 0 ? 1 : e + 1 - whole);
    *at++ = '.';
    at = fill(at, zeros);
    at = whole < n ? copy(at, first + whole, n - whole) : fill(at, 1);
    return (size_t)(at - out);
}

const char *mfu_json_number(double x, char out[MFU_JSON_NUMBER])
{
    out[number(x, out)] = '\0';
    return out;
}

static void put_number(struct writer *w, double x)
{
    if (has_room(w, MFU_JSON_NUMBER))
        w->n += number(x, w->text + w->n);
}

/* ---- texts ---------------------------------------------------------------- */

json_t *mfu_json_text(const char *text)
{
    size_t size = strlen(text) + 8, at = 0, n = 1;
    json_t *json = NULL;
    char *buf;

    for (; text[at] && (n = mfu_utf8_character(text + at, size - 8 - at, NULL)) > 0; at += n)
        ;
    if (n > 0)
        return json_string_nocheck(text);
    if ((buf = malloc(size)))
        json = json_string(mfu_printable(buf, size, text));
    free(buf);
    return json;
}

static void put_json(struct writer *w, const json_t *json)
{
    char *text = json ? mfu_json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(DIGITS)) : NULL;

    w->failed |= !text;
    if (text)
        put(w, text, strlen(text));
    free(text);
}

static void put_text(struct writer *w, const char *text)
{
    size_t n = 0;
    json_t *json;

    while (text[n] >= ' ' && text[n] < 0x7f && text[n] != '"' && text[n] != '\\')
        n++;
    if (text[n] != '\0') {
        put_json(w, json = mfu_json_text(text));
        json_decref(json);
        return;
    }
    put_char(w, '"');
    put(w, text, n);
    put_char(w, '"');
}

/* "a; b": ["a", "b"] */
static void put_words(struct writer *w, const char *text)
{
    put_char(w, '[');
    for (const char *end, *comma = ""; text && *text; text = *end ? end + 2 : end) {
        char piece[1024];

        if (!(end = strstr(text, "; ")))
            end = text + strlen(text);
        if (end == text)
            continue;
        snprintf(piece, sizeof piece, "%.*s", (int)(end - text), text);
        put(w, comma, strlen(comma));
        put_text(w, piece);
        comma = ",";
    }
    put_char(w, ']');
}

/* ---- values --------------------------------------------------------------- */

static void put_inner(struct writer *w, const struct mfu_record *, const void *object);

static void put_scalar(struct writer *w, const struct mfu_value *v)
{
    if (v->kind == MFU_IS_FLAG && !isnan(v->number))
        put(w, v->number != 0 ? "true" : "false", v->number != 0 ? 4 : 5);
    else if (v->kind == MFU_IS_TEXT && v->text)
        put_text(w, v->text);
    else
        put_number(w, v->kind == MFU_IS_TEXT ? NAN : v->number);
}

/* A comma, unless it is the first, and the key. */
static void put_key(struct writer *w, const char *key)
{
    if (w->n > 0 && w->text[w->n - 1] != '{')
        put_char(w, ',');
    put_text(w, key);
    put_char(w, ':');
}

static void put_map(struct writer *w, const struct mfu_value *v)
{
    put_char(w, '{');
    for (size_t i = 0;; i++) {
        struct mfu_value value = {.kind = MFU_IS_NUMBER, .number = NAN};
        const char *key = v->entry(v->object, i, &value);

        if (!key)
            break;
        put_key(w, key);
        put_scalar(w, &value);
    }
    put_char(w, '}');
}

/* Writes what is there, but for the last letter, which says whether a comma follows. */
static void write_on(struct writer *w)
{
    if (!w->out || w->n < MOST_HELD || w->failed)
        return;
    fwrite(w->text, 1, w->n - 1, w->out); /* what cannot be written is told at the end */
    w->text[0] = w->text[w->n - 1];
    w->n = 1;
}

static void put_table(struct writer *w, const struct mfu_value *v)
{
    struct mfu_value cell = {.kind = MFU_IS_NUMBER};

    put_char(w, '[');
    for (size_t row = 0; row < v->n; row++) {
        put(w, row > 0 ? ",[" : "[", row > 0 ? 2 : 1);
        for (size_t i = 0; i < v->columns; i++) {
            if (i > 0)
                put_char(w, ',');
            v->cell(v->object, row, i, &cell);
            put_scalar(w, &cell);
        }
        put_char(w, ']');
        write_on(w);
    }
    put_char(w, ']');
}

static void put_list(struct writer *w, const struct mfu_record *record, const struct mfu_value *v)
{
    put_char(w, '[');
    for (size_t i = 0; i < v->n; i++) {
        if (i > 0)
            put_char(w, ',');
        put_inner(w, record, (const char *)v->object + i * v->stride);
    }
    put_char(w, ']');
}

static void put_value(struct writer *w, const struct mfu_record_field *f, const struct mfu_value *v)
{
    bool object = v->kind == MFU_IS_OBJECT || v->kind == MFU_IS_MEMBERS;

    w->failed |= v->failed;
    if (w->failed)
        return;
    if (object && v->object)
        put_inner(w, f->inner, v->object);
    else if (v->kind == MFU_IS_WORDS)
        put_words(w, v->text);
    else if (v->kind == MFU_IS_LIST)
        put_list(w, f->inner, v);
    else if (v->kind == MFU_IS_MAP)
        put_map(w, v);
    else if (v->kind == MFU_IS_TABLE)
        put_table(w, v);
    else if (v->kind == MFU_IS_ANY)
        put_json(w, v->object);
    else if (object)
        put_number(w, NAN);
    else
        put_scalar(w, v);
}

static void put_fields(struct writer *w, const struct mfu_record *record, const void *object)
{
    for (size_t i = 0; i < record->n && !w->failed; i++) {
        const struct mfu_record_field *f = &record->fields[i];
        struct mfu_value v;

        mfu_field_value(record, object, i, &v);
        w->failed |= v.failed;
        if (f->kind == MFU_IS_MEMBERS) {
            if (!v.failed)
                put_fields(w, f->inner, v.object);
        } else if (!mfu_value_missing(f, &v)) {
            put_key(w, f->name);
            put_value(w, f, &v);
        }
        mfu_value_release(&v);
    }
}

static void put_inner(struct writer *w, const struct mfu_record *record, const void *object)
{
    struct mfu_value v;

    if (mfu_record_bare(record)) {
        mfu_field_value(record, object, 0, &v);
        put_value(w, &record->fields[0], &v);
        mfu_value_release(&v);
        return;
    }
    put_char(w, '{');
    put_fields(w, record, object);
    put_char(w, '}');
}

static void put_answer(struct writer *w, const struct mfu_record *record, const void *object)
{
    if (!record->command) {
        put_inner(w, record, object);
        return;
    }
    put_char(w, '{');
    put_key(w, "command");
    put_text(w, record->command);
    put_key(w, "schema");
    put_number(w, 1);
    put_fields(w, record, object);
    put_char(w, '}');
}

char *mfu_json_write(const struct mfu_record *record, const void *object, size_t *length)
{
    struct writer w = {0};

    put_answer(&w, record, object);
    put_char(&w, '\0');
    if (w.failed) {
        free(w.text);
        return NULL;
    }
    *length = w.n - 1;
    return w.text;
}

int mfu_json_put(FILE *out, const struct mfu_record *record, const void *object)
{
    struct writer w = {.out = out};

    put_answer(&w, record, object);
    put_char(&w, '\n');
    if (!w.failed)
        fwrite(w.text, 1, w.n, out);
    free(w.text);
    return w.failed ? -1 : 0;
}

json_t *mfu_json(const struct mfu_record *record, const void *object)
{
    size_t length;
    char *text = mfu_json_write(record, object, &length);
    json_t *json = text ? mfu_json_read(text, length, JSON_DECODE_ANY, NULL) : NULL;

    free(text);
    return json;
}
