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

struct cell {
    const struct mfu_axis *axis; /* NULL: a result */
    double value;
};

static void put_cell(const struct cell *c, struct mfu_value *v)
{
    const struct mfu_axis *a = c->axis;
    bool is_switch = a && a->key.kind == MFU_KEY_SETTING && mfu_settings[a->key.id].choices == mfu_switch_names;
    const char *word = a && !is_switch ? mfu_axis_word(a, c->value) : NULL;

    if (word)
        mfu_value_text(v, word);
    else
        mfu_value_number(v, c->value);
}

#define CELL(X) X(SCALAR, _, 0, put_cell(c, v), "a setting's value, or a result")
MFU_PART_RECORD(cell, const struct cell *c, CELL)

struct row {
    const struct mfu_sweep *sweep;
    const struct mfu_sweep_row *of;
};

static void make_cells(const struct row *r, struct mfu_value *v)
{
    const struct mfu_sweep *s = r->sweep;
    struct cell *list = mfu_value_own(v, s->n_axes + s->n_columns, sizeof *list);

    for (size_t i = 0; list && i < s->n_axes; i++)
        list[i] = (struct cell){&s->axes[i], mfu_sweep_value(s, r->of->combination, i)};
    for (size_t i = 0; list && i < s->n_columns; i++)
        list[s->n_axes + i] = (struct cell){NULL, r->of->columns[i]};
}

#define ROW(X) X(MADE_LIST, _, &cell, make_cells(r, v), "one value for each of `columns`")
MFU_PART_RECORD(sweep_row, const struct row *r, ROW)

static void make_rows(const struct mfu_sweep_answer *a, struct mfu_value *v)
{
    struct row *list = mfu_value_own(v, a->result->n_rows, sizeof *list);

    for (size_t i = 0; list && i < a->result->n_rows; i++)
        list[i] = (struct row){a->sweep, &a->result->rows[i]};
}

#define SWEEP(X) \
    X(MADE_LIST, columns, &mfu_record_strings, make_columns(a->sweep, v), "keys that vary, then results") \
    X(MADE_LIST, rows,    &sweep_row,      make_rows(a, v),               "one list of values per combination") \
    X(NUMBER,    evaluated, MFU_COUNT, (double)a->result->evaluated, "combinations that were planned") \
    X(NUMBER,    refused,   MFU_COUNT, (double)a->result->refused,   "that contradict themselves") \
    X(NUMBER,    excluded,  MFU_COUNT, (double)a->result->excluded,  "that the condition excludes") \
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
