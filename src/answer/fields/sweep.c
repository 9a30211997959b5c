/*
 * sweep.c - fields of sweeps and searches: {"columns": [...], "rows": [[...], ...], ...}.
 */
#include "answer/fields/fields.h"
#include "answer/search/sweep.h"
#include "scenario/setting.h"

// clang-format off

static void make_columns(const struct mfu_sweep *s, struct mfu_value *v)
{
    const char **list = mfu_value_own(v, s->n_axes + s->n_columns, sizeof *list);

    for (size_t i = 0; list && i < s->n_axes + s->n_columns; i++)
        list[i] = i < s->n_axes ? s->axes[i].name : s->column_names[i - s->n_axes];
}

/* A word, but of a switch. */
static const char *word_of(char *buf, const struct mfu_axis *a, double value)
{
    bool is_switch = a->key.kind == MFU_KEY_SETTING && mfu_settings[a->key.id].choices == mfu_switch_names;

    return is_switch ? NULL : mfu_axis_word(buf, a, value);
}

/* The value of a key, then the results. */
static void put_cell(const void *answer, size_t row, size_t column, struct mfu_value *v)
{
    const struct mfu_sweep_answer *a = answer;
    const struct mfu_sweep *s = a->sweep;
    const struct mfu_sweep_row *r = &a->result->rows[row];
    bool result = column >= s->n_axes;
    double value = result ? r->columns[column - s->n_axes] : mfu_sweep_value(s, r->combination, column);
    const char *word = result ? NULL : word_of(v->buf, &s->axes[column], value);

    if (word)
        mfu_value_text(v, word);
    else
        mfu_value_number(v, value);
}

static void make_rows(const struct mfu_sweep_answer *a, struct mfu_value *v)
{
    v->object = a;
    v->n = a->result->n_rows;
    v->columns = a->sweep->n_axes + a->sweep->n_columns;
    v->cell = put_cell;
}

#define SWEEP(X) \
    X(MADE_LIST, columns, &mfu_record_strings, make_columns(a->sweep, v), "keys that vary, then results") \
    X(TABLE,     rows,    0,               make_rows(a, v),               "one list of values per combination") \
    X(NUMBER,    combinations, MFU_COUNT, (double)a->result->combinations, "of all values, or those of the shard") \
    X(NUMBER,    evaluated, MFU_COUNT, (double)a->result->evaluated, "combinations that were planned") \
    X(NUMBER,    refused,   MFU_COUNT, (double)a->result->refused,   "that contradict themselves") \
    X(NUMBER,    excluded,  MFU_COUNT, (double)a->result->excluded,  "that the condition excludes") \
    X(NUMBER,    no_room,   MFU_COUNT, (double)a->result->no_room,   "left out: they need no less memory than others that do not fit") \
    X(NUMBER,    outdone,   MFU_COUNT, (double)a->result->outdone,   "left out: a bound of their time says that they are not among the best") \
    X(NUMBER,    dropped,   MFU_COUNT, (double)a->result->dropped,   "that the condition excludes once they are simulated") \
    X(FLAG,      simulated, 0,         !a->result->analytic,         "whether the rows are simulated") \
    X(FLAG,      exhausted, 0,         a->result->exhausted,         "whether rows may be missing that a larger reserve would have held") \
    X(FLAG,      complete,  0,         a->result->complete,          "false: stopped early")
MFU_FIELDS(sweep, const struct mfu_sweep_answer *a, SWEEP)
const struct mfu_record mfu_record_sweep =
    MFU_RECORD(sweep, .command = "sweep", .rows = "rows", .columns = "columns");
const struct mfu_record mfu_record_search =
    {"search", "search", "rows", "columns", sweep_fields, sizeof sweep_fields / sizeof sweep_fields[0], sweep_get};
// clang-format on
