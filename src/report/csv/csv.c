/*
 * csv.c - any answer as a table.
 */
#include "report/csv/csv.h"

#include <stdbool.h>
#include <string.h>

/* Quoted only where the text has what would part it. */
static void put_text(FILE *out, const char *text)
{
    bool quoted = strpbrk(text, ",\"\r\n") != NULL;

    if (quoted)
        putc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            putc('"', out);
        putc(*text, out);
    }
    if (quoted)
        putc('"', out);
}

static void end_row(FILE *out)
{
    putc('\n', out); /* no control characters pass a stream of answers */
}

static void put_scalar(FILE *out, const json_t *value)
{
    if (json_is_string(value))
        put_text(out, json_string_value(value));
    else if (json_is_integer(value))
        fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        fprintf(out, "%.15g", json_real_value(value));
    else if (json_is_boolean(value))
        fputs(json_is_true(value) ? "true" : "false", out);
}

/* A list of values in one cell; of objects, their first fields: the names. */
static json_t *joined(const json_t *list)
{
    json_t *text = json_string(""), *longer, *value;
    size_t i;

    json_array_foreach(list, i, value)
    {
        if (json_is_object(value))
            value = json_object_iter_value(json_object_iter(value));
        if (!json_is_string(value) && !json_is_number(value))
            continue;
        longer = json_is_string(value)
            ? json_sprintf("%s%s%s", json_string_value(text), i ? "; " : "", json_string_value(value))
            : json_sprintf("%s%s%.15g", json_string_value(text), i ? "; " : "", json_number_value(value));
        json_decref(text);
        text = longer;
    }
    return text;
}

/* Whether it is a list of names with a value each. */
static bool is_named(const json_t *list)
{
    const json_t *first = json_array_get(list, 0);

    return json_object_size(first) == 2 && json_is_string(json_object_get(first, "name"));
}

/* [{"name": "weights", "bytes": 1}, ...]: {"weights": 1, ...} */
static json_t *named(const json_t *list)
{
    json_t *object = json_object(), *element, *value;
    const char *key;
    size_t i;

    json_array_foreach(list, i, element) json_object_foreach(element, key, value) if (strcmp(key, "name") != 0)
        json_object_set(object, json_string_value(json_object_get(element, "name")), value);
    return object;
}

static int flatten(json_t *row, const char *prefix, const json_t *object);

static int flatten_named(json_t *row, const char *prefix, const json_t *list)
{
    json_t *object = named(list);
    int status = object ? flatten(row, prefix, object) : -1;

    json_decref(object);
    return status;
}

/* Puts the cells of an object into `row` by "outer.inner". */
static int flatten(json_t *row, const char *prefix, const json_t *object)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)object, key, value)
    {
        json_t *name = json_sprintf("%s%s%s", prefix, *prefix ? "." : "", key);
        int status = !name          ? -1
            : json_is_object(value) ? flatten(row, json_string_value(name), value)
            : is_named(value)       ? flatten_named(row, json_string_value(name), value)
            : json_is_array(value)  ? json_object_set_new(row, json_string_value(name), joined(value))
                                    : json_object_set(row, json_string_value(name), value);

        json_decref(name);
        if (status < 0)
            return -1;
    }
    return 0;
}

/* One row of cells for every element; all their names into `names`. */
static int collect(const json_t *list, json_t *names, json_t *rows)
{
    json_t *element, *value;
    const char *key;
    size_t i;

    json_array_foreach(list, i, element)
    {
        json_t *row = json_object();

        if (json_array_append_new(rows, row) < 0
            || (json_is_object(element) ? flatten(row, "", element) : json_object_set(row, "value", element)) < 0)
            return -1;
        json_object_foreach(row, key, value) if (json_object_set(names, key, json_true()) < 0) return -1;
    }
    return 0;
}

static void print(FILE *out, json_t *names, const json_t *rows)
{
    const char *key, *comma = "";
    json_t *row, *value;
    size_t i;

    json_object_foreach(names, key, value)
    {
        fputs(comma, out);
        put_text(out, key);
        comma = ",";
    }
    end_row(out);
    json_array_foreach(rows, i, row)
    {
        comma = "";
        json_object_foreach(names, key, value)
        {
            fputs(comma, out);
            put_scalar(out, json_object_get(row, key));
            comma = ",";
        }
        end_row(out);
    }
}

/* [[1, 2], ...] under ["a", "b"]. */
static void print_columns(FILE *out, const json_t *columns, const json_t *rows)
{
    const json_t *row = columns;
    json_t *value;
    size_t i, n = 0;

    do {
        json_array_foreach(row, i, value)
        {
            fputs(i ? "," : "", out);
            put_scalar(out, value);
        }
        end_row(out);
    } while ((row = json_array_get(rows, n++)));
}

int mfu_csv_write(FILE *out, const struct mfu_record *record, const json_t *answer)
{
    const json_t *list = record && record->rows ? json_object_get(answer, record->rows) : NULL;
    json_t *names, *rows, *whole;
    int status;

    if (list && record->columns) {
        print_columns(out, json_object_get(answer, record->columns), list);
        return 0;
    }
    names = json_object();
    rows = json_array();
    whole = json_pack("[O]", answer);
    json_object_del(json_array_get(whole, 0), "command");
    json_object_del(json_array_get(whole, 0), "schema");
    status = names && rows && whole ? collect(list ? list : whole, names, rows) : -1;
    if (status == 0)
        print(out, names, rows);
    json_decref(whole);
    json_decref(rows);
    json_decref(names);
    return status;
}
