/*
 * field.c - reading objects by the tables of their fields.
 */
#include "base/field.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"

void mfu_field_value(const struct mfu_record *record, const void *object, size_t field, struct mfu_value *v)
{
    v->kind = record->fields[field].kind;
    v->number = NAN;
    v->text = NULL;
    v->object = v->own = NULL;
    v->n = v->stride = 0;
    v->failed = false;
    v->buf[0] = '\0';
    record->get(object, field, v);
}

void mfu_words_add(char *words, size_t size, const char *piece)
{
    static const char more[] = "; and more";
    size_t used = strlen(words), from = used + (used ? 2 : 0);

    if (from + strlen(piece) + sizeof more > size) {
        if (used && used + sizeof more <= size && !strstr(words, more))
            memcpy(words + used, more, sizeof more);
        return;
    }
    snprintf(words + used, size - used, "%s%s", used ? "; " : "", piece);
    for (char *p = words + from; (p = strstr(p, "; ")); p++)
        *p = ',';
}

void mfu_value_release(struct mfu_value *v)
{
    free(v->own);
    v->own = NULL;
}

bool mfu_value_missing(const struct mfu_record_field *field, const struct mfu_value *v)
{
    if (!field->optional || v->failed)
        return false;
    switch (v->kind) {
    case MFU_IS_NUMBER: return !isfinite(v->number);
    case MFU_IS_TEXT: return !v->text;
    case MFU_IS_OBJECT:
    case MFU_IS_LIST: return !v->object;
    case MFU_IS_SCALAR: return true; /* its getter said nothing */
    case MFU_IS_FLAG: return isnan(v->number);
    case MFU_IS_MEMBERS:
    case MFU_IS_WORDS:
    case MFU_IS_MAP:
    case MFU_IS_TABLE:
    case MFU_IS_ANY: break;
    }
    return false;
}

int mfu_field_find(const struct mfu_record *record, const char *name)
{
    for (size_t i = 0; i < record->n; i++)
        if ((record->fields[i].kind == MFU_IS_NUMBER || record->fields[i].kind == MFU_IS_FLAG)
            && mfu_same_name(record->fields[i].name, name))
            return (int)i;
    return -1;
}

double mfu_field_number(const struct mfu_record *record, const void *object, size_t field)
{
    struct mfu_value v;

    mfu_field_value(record, object, field, &v);
    mfu_value_release(&v);
    return v.number;
}

bool mfu_record_bare(const struct mfu_record *record)
{
    return record->n == 1 && strcmp(record->fields[0].name, "_") == 0;
}

void *mfu_value_own(struct mfu_value *v, size_t n, size_t size)
{
    v->own = calloc(n ? n : 1, size);
    v->object = n ? v->own : NULL;
    v->failed = !v->own;
    v->n = v->own ? n : 0;
    v->stride = size;
    return v->own;
}

void mfu_value_number(struct mfu_value *v, double number)
{
    v->kind = MFU_IS_NUMBER;
    v->number = number;
}

void mfu_value_text(struct mfu_value *v, const char *text)
{
    v->kind = MFU_IS_TEXT;
    v->text = text;
}

void mfu_value_flag(struct mfu_value *v, bool flag)
{
    v->kind = MFU_IS_FLAG;
    v->number = flag;
}

#define WORD(X) X(TEXT, _, 0, word, "a text")
MFU_FIELDS(word, const char *word, WORD)
const struct mfu_record mfu_record_words = MFU_RECORD(word, .rows = NULL);

#define STRING(X) X(TEXT, _, 0, *string, "a text")
MFU_FIELDS(string, const char *const *string, STRING)
const struct mfu_record mfu_record_strings = MFU_RECORD(string, .rows = NULL);
