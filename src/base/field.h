/*
 * field.h - what an answer consists of, described once.
 *
 * A record is a table of fields: name, kind, unit, how to get it, meaning.  JSON,
 * CSV, the JSON Schema and the names that `print` and `check` know follow from it.
 * A table is a macro with one row per field, in the order of the answer:
 *
 *     #define SPAN(X) \
 *         X(TEXT,   phase,   MFU_COUNT,   mfu_phase_names[s->phase], "what runs") \
 *         X(NUMBER, begin_s, MFU_SECONDS, s->begin_s,                "from the start of the step")
 *     MFU_FIELDS(span, const struct span *s, SPAN)
 *     const struct mfu_record mfu_record_span = MFU_RECORD(span, .rows = NULL);
 *
 * The third column is the unit of a NUMBER; of an OBJECT or a LIST it is the record
 * of what is inside, of anything else 0.  The fourth is an expression over the
 * object:
 *
 *     NUMBER  a double; not finite: unknown, null     FLAG  a bool
 *     OPEN_FLAG  1, 0, or NAN: unknown, null
 *     TEXT    a string; NULL is null                  MADE_TEXT(v)  writes v->buf
 *     OBJECT  a pointer; NULL is null
 *     MEMBERS a pointer whose fields stand among those of this record
 *     LIST    (first element, how many)
 *     WORDS   a string with "; " between its pieces: a list of texts, see mfu_words_add()
 *     SCALAR, MAP, TABLE, MADE_OBJECT, MADE_MEMBERS, MADE_LIST     a call that fills in `v`
 *
 *     ANY     a value that is JSON already (a json_t)
 *
 * MAYBE_ before NUMBER, FLAG, TEXT, OBJECT, LIST, SCALAR: the field is missing where it
 * would be unknown or NULL.  A record whose only field is called `_` stands
 * for that field's value.
 */
#ifndef MFU_FIELD_H
#define MFU_FIELD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/quantity.h"

enum mfu_field_kind {
    MFU_IS_NUMBER,
    MFU_IS_TEXT,
    MFU_IS_FLAG,
    MFU_IS_SCALAR,
    MFU_IS_WORDS,
    MFU_IS_OBJECT,
    MFU_IS_MEMBERS,
    MFU_IS_LIST,
    MFU_IS_MAP,
    MFU_IS_TABLE,
    MFU_IS_ANY
};

struct mfu_value {
    enum mfu_field_kind kind; /* of a SCALAR its getter says: number, text or flag */
    double number;            /* of a flag 0 or 1 */
    const char *text;         /* NULL: none */
    const void *object;       /* NULL: none; of a list the first element */
    size_t n, stride;         /* of a list */
    /* Of a map: the i-th key and its value; NULL behind the last. */
    const char *(*entry)(const void *object, size_t i, struct mfu_value *);
    /* Of a table, a list of n lists of `columns` scalars: one of them, into a value whose kind it says. */
    void (*cell)(const void *object, size_t row, size_t column, struct mfu_value *);
    size_t columns;
    void *own;     /* what was allocated for it, or NULL */
    bool failed;   /* out of memory */
    char buf[320]; /* room for a text that must be made */
};

struct mfu_record;
struct mfu_record_field {
    const char *name;
    enum mfu_field_kind kind;
    bool optional;                  /* missing where there is nothing to say */
    enum mfu_dim dim;               /* of a number */
    const struct mfu_record *inner; /* of an object or the elements of a list */
    const char *meaning;
};

struct mfu_record {
    const char *name;    /* "kernel" */
    const char *command; /* of a whole answer: which gives it; else NULL */
    const char *rows;    /* of a whole answer: its list, for tables of one row per element; else NULL */
    const char *columns; /* of a whole answer: the list of the names of what `rows` lists; else NULL */
    const struct mfu_record_field *fields;
    size_t n;
    void (*get)(const void *object, size_t field, struct mfu_value *);
};

/* The value of a field; give it back with mfu_value_release. */
void mfu_field_value(const struct mfu_record *, const void *object, size_t field, struct mfu_value *);
void mfu_value_release(struct mfu_value *);

/* Whether the field is left out: it may be, and there is nothing. */
bool mfu_value_missing(const struct mfu_record_field *, const struct mfu_value *);

/* Appends a piece to WORDS of `size` bytes, as far as there is room; its own "; " become ", ". */
void mfu_words_add(char *words, size_t size, const char *piece);

/* The number or flag of that name (as mfu_same_name compares); -1: there is none. */
int mfu_field_find(const struct mfu_record *, const char *name);
double mfu_field_number(const struct mfu_record *, const void *object, size_t field);

/* Whether the record stands for the value of its only field. */
bool mfu_record_bare(const struct mfu_record *);

/* For getters: room for `n` zeroed elements, which is released with the value; NULL,
 * and the value failed, when out of memory. */
void *mfu_value_own(struct mfu_value *, size_t n, size_t size);

/* For getters of scalars. */
void mfu_value_number(struct mfu_value *, double);
void mfu_value_text(struct mfu_value *, const char *);
void mfu_value_flag(struct mfu_value *, bool);

/* A record of bare values, for lists of texts that lie `stride` bytes apart, and
 * of pointers to texts. */
extern const struct mfu_record mfu_record_words, mfu_record_strings;

#define MFU_FIELDS(id, declaration, LIST)                                                                              \
    static void id##_get(const void *object, size_t field, struct mfu_value *v)                                        \
    {                                                                                                                  \
        declaration = object;                                                                                          \
        size_t at = 0;                                                                                                 \
        (void)v;                                                                                                       \
        LIST(MFU_FIELD_GET)                                                                                            \
        (void)at;                                                                                                      \
    }                                                                                                                  \
    static const struct mfu_record_field id##_fields[] = {LIST(MFU_FIELD_ROW)};

#define MFU_RECORD(id, ...)                                                                                            \
    {                                                                                                                  \
        .name = #id, .fields = id##_fields, .n = sizeof id##_fields / sizeof id##_fields[0], .get = id##_get,          \
        __VA_ARGS__                                                                                                    \
    }

/* The record of a part of an answer, which has no name outside its file. */
#define MFU_PART_RECORD(id, declaration, LIST)                                                                         \
    MFU_FIELDS(id, declaration, LIST)                                                                                  \
    static const struct mfu_record id = MFU_RECORD(id, .rows = NULL);

/* ---- how the rows are read ------------------------------------------------- */

#define MFU_FIELD_GET(kind_, name_, unit_, value_, meaning_)                                                           \
    if (field == at++) {                                                                                               \
        MFU_GET_##kind_(value_);                                                                                       \
        return;                                                                                                        \
    }
#define MFU_FIELD_ROW(kind_, name_, unit_, value_, meaning_) MFU_ROW_##kind_(#name_, unit_, meaning_),

#define MFU_GET_NUMBER(x) v->number = (x)
#define MFU_GET_FLAG(x) v->number = (x) ? 1 : 0
#define MFU_GET_TEXT(x) v->text = (x)
#define MFU_GET_WORDS(x) v->text = (x)
#define MFU_GET_OBJECT(x) v->object = (x)
#define MFU_GET_MEMBERS(x) v->object = (x)
#define MFU_GET_LIST(pair) MFU_GET_ELEMENTS pair
#define MFU_GET_ELEMENTS(first, count) (v->object = (first), v->n = (size_t)(count), v->stride = sizeof *(first))
#define MFU_GET_SCALAR(call) call
#define MFU_GET_MADE_TEXT(call) (call, v->text = v->buf)
#define MFU_GET_MAYBE_MADE_TEXT(call) (call, v->text = *v->buf ? v->buf : NULL)
#define MFU_GET_MADE_OBJECT(call) call
#define MFU_GET_MADE_MEMBERS(call) call
#define MFU_GET_MADE_LIST(call) call
#define MFU_GET_MAP(call) call
#define MFU_GET_TABLE(call) call
#define MFU_GET_ANY(x) v->object = (x)
#define MFU_GET_OPEN_FLAG(x) v->number = (x)
#define MFU_GET_MAYBE_FLAG(x) v->number = (x) /* NAN: unknown */
#define MFU_GET_MAYBE_NUMBER(x) MFU_GET_NUMBER(x)
#define MFU_GET_MAYBE_TEXT(x) MFU_GET_TEXT(x)
#define MFU_GET_MAYBE_OBJECT(x) MFU_GET_OBJECT(x)
#define MFU_GET_MAYBE_SCALAR(call) call
#define MFU_GET_MAYBE_LIST(pair) MFU_GET_LIST(pair)
#define MFU_GET_MAYBE_MADE_LIST(call) call

#define MFU_ROW(name_, kind_, optional_, dim_, inner_, meaning_)                                                       \
    {                                                                                                                  \
        .name = (name_), .kind = (kind_), .optional = (optional_), .dim = (dim_), .inner = (inner_),                   \
        .meaning = (meaning_)                                                                                          \
    }
#define MFU_ROW_NUMBER(name, unit, meaning) MFU_ROW(name, MFU_IS_NUMBER, false, unit, NULL, meaning)
#define MFU_ROW_FLAG(name, unit, meaning) MFU_ROW(name, MFU_IS_FLAG, false, MFU_COUNT, NULL, meaning)
#define MFU_ROW_TEXT(name, unit, meaning) MFU_ROW(name, MFU_IS_TEXT, false, MFU_COUNT, NULL, meaning)
#define MFU_ROW_MADE_TEXT(name, unit, meaning) MFU_ROW(name, MFU_IS_TEXT, false, MFU_COUNT, NULL, meaning)
#define MFU_ROW_MAYBE_MADE_TEXT(name, unit, meaning) MFU_ROW(name, MFU_IS_TEXT, true, MFU_COUNT, NULL, meaning)
#define MFU_ROW_WORDS(name, unit, meaning) MFU_ROW(name, MFU_IS_WORDS, false, MFU_COUNT, NULL, meaning)
#define MFU_ROW_SCALAR(name, unit, meaning) MFU_ROW(name, MFU_IS_SCALAR, false, MFU_COUNT, NULL, meaning)
#define MFU_ROW_OBJECT(name, record, meaning) MFU_ROW(name, MFU_IS_OBJECT, false, MFU_COUNT, record, meaning)
#define MFU_ROW_MEMBERS(name, record, meaning) MFU_ROW(name, MFU_IS_MEMBERS, false, MFU_COUNT, record, meaning)
#define MFU_ROW_MADE_MEMBERS(name, record, meaning) MFU_ROW(name, MFU_IS_MEMBERS, false, MFU_COUNT, record, meaning)
#define MFU_ROW_MADE_OBJECT(name, record, meaning) MFU_ROW(name, MFU_IS_OBJECT, false, MFU_COUNT, record, meaning)
#define MFU_ROW_LIST(name, record, meaning) MFU_ROW(name, MFU_IS_LIST, false, MFU_COUNT, record, meaning)
#define MFU_ROW_MADE_LIST(name, record, meaning) MFU_ROW(name, MFU_IS_LIST, false, MFU_COUNT, record, meaning)
#define MFU_ROW_MAP(name, unit, meaning) MFU_ROW(name, MFU_IS_MAP, false, MFU_COUNT, NULL, meaning)
#define MFU_ROW_TABLE(name, unit, meaning) MFU_ROW(name, MFU_IS_TABLE, false, MFU_COUNT, NULL, meaning)
#define MFU_ROW_ANY(name, unit, meaning) MFU_ROW(name, MFU_IS_ANY, false, MFU_COUNT, NULL, meaning)
#define MFU_ROW_OPEN_FLAG(name, unit, meaning) MFU_ROW(name, MFU_IS_FLAG, false, MFU_COUNT, NULL, meaning)
#define MFU_ROW_MAYBE_FLAG(name, unit, meaning) MFU_ROW(name, MFU_IS_FLAG, true, MFU_COUNT, NULL, meaning)
#define MFU_ROW_MAYBE_NUMBER(name, unit, meaning) MFU_ROW(name, MFU_IS_NUMBER, true, unit, NULL, meaning)
#define MFU_ROW_MAYBE_TEXT(name, unit, meaning) MFU_ROW(name, MFU_IS_TEXT, true, MFU_COUNT, NULL, meaning)
#define MFU_ROW_MAYBE_SCALAR(name, unit, meaning) MFU_ROW(name, MFU_IS_SCALAR, true, MFU_COUNT, NULL, meaning)
#define MFU_ROW_MAYBE_OBJECT(name, record, meaning) MFU_ROW(name, MFU_IS_OBJECT, true, MFU_COUNT, record, meaning)
#define MFU_ROW_MAYBE_LIST(name, record, meaning) MFU_ROW(name, MFU_IS_LIST, true, MFU_COUNT, record, meaning)
#define MFU_ROW_MAYBE_MADE_LIST(name, record, meaning) MFU_ROW(name, MFU_IS_LIST, true, MFU_COUNT, record, meaning)

#endif
