/*
 * read_options.c - options of commands, a row each.
 */
#include "repl/read_options.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "repl/expr_scope.h"
#include "repl/output.h"

int mfu_read_number(struct mfu_session *s, const char *text, enum mfu_dim dim, double *value, struct mfu_error *err)
{
    struct mfu_evaluated e;
    struct mfu_error other = {0};

    if (mfu_quantity_parse(text, dim, value, err) == 0)
        return 0;
    if (mfu_evaluate(s, text, &e, &other) < 0)
        return -1;
    mfu_error_clear(err);
    *value = e.value;
    return 0;
}

int mfu_read_count(struct mfu_session *s, const char *text, int *count, struct mfu_error *err)
{
    double value;

    if (mfu_read_number(s, text, MFU_COUNT, &value, err) < 0)
        return -1;
    if (!(value >= 1 && value <= 1e6) || value != floor(value))
        return mfu_fail(err, MFU_EINPUT, "'%.40s': expected a whole number from 1 to 1 000 000", text);
    *count = (int)value;
    return 0;
}

static int unknown(const char *name, const struct mfu_command_option *rows, size_t n, struct mfu_error *err)
{
    const char *names[16];

    for (size_t i = 0; i < n; i++)
        names[i] = rows[i].name;
    return mfu_fail_nearest(err, name, names, n, "no option is called '%.40s'", name);
}

static int choice(const struct mfu_command_option *row, const char *text, double *value, struct mfu_error *err)
{
    size_t n = 0;

    for (; row->choices[n]; n++)
        if (mfu_same_name(row->choices[n], text)) {
            *value = (double)n;
            return 0;
        }
    return mfu_fail_nearest(err, text, row->choices, n, "%s: '%.40s': expected %s", row->name, text, row->says);
}

static int read_option(struct mfu_session *s, const struct mfu_command_option *row, const char *text, double *value,
                       struct mfu_error *err)
{
    if (!text)
        return mfu_fail(err, MFU_EINPUT, "%s: a value is missing: %s", row->name, row->says);
    if (row->choices)
        return choice(row, text, value, err);
    if (mfu_read_number(s, text, row->dim, value, err) < 0)
        return mfu_within(err, "%s", row->name);
    if (!(*value >= row->least && *value <= row->most))
        return mfu_fail(err, MFU_EINPUT, "%s: %.40s is outside %s .. %s", row->name, text,
                        mfu_quantity_format((char[MFU_QUANTITY_MAX]){0}, row->least, row->dim),
                        mfu_quantity_format((char[MFU_QUANTITY_MAX]){0}, row->most, row->dim));
    return 0;
}

int mfu_read_options(struct mfu_session *s, int argc, char **argv, int first, const struct mfu_command_option *rows,
                     size_t n, void *options, struct mfu_error *err)
{
    for (int i = first; i < argc; i++) {
        char name[48];
        const char *equals = strchr(argv[i], '=');
        const struct mfu_command_option *row = NULL;
        double value = 0;
        int word = i;

        snprintf(name, sizeof name, "%.*s", equals ? (int)(equals - argv[i]) : (int)strlen(argv[i]), argv[i]);
        for (size_t k = 0; k < n; k++)
            if (mfu_same_name(rows[k].name, name))
                row = &rows[k];
        if (!equals)
            i++;
        if (!row ? unknown(name, rows, n, err) < 0
                 : read_option(s, row,
                               equals         ? equals + 1
                                   : i < argc ? argv[i]
                                              : NULL,
                               &value, err)
                    < 0)
            return mfu_error_caret(s, err, word);
        *(double *)((char *)options + row->offset) = value;
    }
    return 0;
}
