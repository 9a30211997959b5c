/*
 * json.c - any object as JSON, by the table of its fields.
 */
#include "scenario/keys.h"
#include "report/json/json.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"

#define WHOLE_MAX 0x1p53 /* above, doubles are not all whole numbers */

json_t *mfu_json_number(double x)
{
    if (!isfinite(x))
        return json_null();
    if (x == floor(x) && fabs(x) < WHOLE_MAX)
        return json_integer((json_int_t)x);
    return json_real(x);
}

json_t *mfu_json_text(const char *text)
{
    json_t *json = json_string(text);
    size_t size = strlen(text) + 8;
    char *buf = json ? NULL : malloc(size);

    if (buf)
        json = json_string(mfu_printable(buf, size, text));
    free(buf);
    return json;
}

static json_t *inner(const struct mfu_record *, const void *object);

/* "a; b": [a, b] */
static json_t *words_of(const char *text)
{
    json_t *list = json_array();

    for (const char *end; text && *text; text = *end ? end + 2 : end) {
        char piece[1024];

        if (!(end = strstr(text, "; ")))
            end = text + strlen(text);
        snprintf(piece, sizeof piece, "%.*s", (int)(end - text), text);
        if (end > text && json_array_append_new(list, mfu_json_text(piece)) < 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *list_of(const struct mfu_record *record, const struct mfu_value *v)
{
    json_t *list = json_array();

    for (size_t i = 0; i < v->n; i++)
        if (json_array_append_new(list, inner(record, (const char *)v->object + i * v->stride)) < 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

static json_t *scalar(const struct mfu_value *v)
{
    if (v->kind == MFU_IS_TEXT)
        return v->text ? mfu_json_text(v->text) : json_null();
    return v->kind == MFU_IS_FLAG ? json_boolean(v->number != 0) : mfu_json_number(v->number);
}

static json_t *map_of(const struct mfu_value *v)
{
    json_t *o = json_object();
    const char *key;

    for (size_t i = 0; o; i++) {
        struct mfu_value value = {.kind = MFU_IS_NUMBER, .number = NAN};

        if (!(key = v->entry(v->object, i, &value)))
            break;
        if (json_object_set_new(o, key, scalar(&value)) < 0) {
            json_decref(o);
            o = NULL;
        }
    }
    return o;
}

static json_t *value_of(const struct mfu_record_field *f, const struct mfu_value *v)
{
    if (v->failed)
        return NULL;
    switch (v->kind) {
    case MFU_IS_WORDS: return words_of(v->text);
    case MFU_IS_OBJECT:
    case MFU_IS_MEMBERS: return v->object ? inner(f->inner, v->object) : json_null();
    case MFU_IS_LIST: return list_of(f->inner, v);
    case MFU_IS_MAP: return map_of(v);
    case MFU_IS_ANY: return json_incref((json_t *)v->object);
    case MFU_IS_NUMBER:
    case MFU_IS_TEXT:
    case MFU_IS_FLAG:
    case MFU_IS_SCALAR: break;
    }
    return scalar(v);
}

/* Adds the fields; false: out of memory. */
static bool put_fields(json_t *o, const struct mfu_record *record, const void *object)
{
    bool well = o != NULL;

    for (size_t i = 0; well && i < record->n; i++) {
        const struct mfu_record_field *f = &record->fields[i];
        struct mfu_value v;

        mfu_field_value(record, object, i, &v);
        if (f->kind == MFU_IS_MEMBERS)
            well = !v.failed && put_fields(o, f->inner, v.object);
        else if (!mfu_value_missing(f, &v))
            well = json_object_set_new(o, f->name, value_of(f, &v)) == 0;
        mfu_value_release(&v);
    }
    return well;
}

static json_t *filled(json_t *o, const struct mfu_record *record, const void *object)
{
    if (put_fields(o, record, object))
        return o;
    json_decref(o);
    return NULL;
}

static json_t *inner(const struct mfu_record *record, const void *object)
{
    if (mfu_record_bare(record)) {
        struct mfu_value v;
        json_t *value;

        mfu_field_value(record, object, 0, &v);
        value = value_of(&record->fields[0], &v);
        mfu_value_release(&v);
        return value;
    }
    return filled(json_object(), record, object);
}

json_t *mfu_json(const struct mfu_record *record, const void *object)
{
    if (!record->command)
        return inner(record, object);
    return filled(json_pack("{s:s, s:i}", "command", record->command, "schema", 1), record, object);
}
