/*
 * sweep.c - {"columns": [...], "rows": [[...], ...], "evaluated": N}.
 */
#include "report/json/json.h"
#include "report/report.h"
#include "scenario/setting.h"

static json_t *axis_value(const struct mfu_axis *a, double value)
{
    bool is_switch = a->key.kind == MFU_KEY_SETTING && mfu_settings[a->key.id].choices == mfu_switch_names;
    const char *word = is_switch ? NULL : mfu_axis_word(a, value);

    return word ? json_string(word) : mfu_json_number(value);
}

json_t *mfu_json_sweep(const char *command, const struct mfu_sweep *s, const struct mfu_sweep_result *r)
{
    json_t *answer = mfu_json_answer(command), *columns = json_array(), *rows = json_array();

    for (size_t a = 0; a < s->n_axes; a++)
        mfu_json_append(&columns, json_string(s->axes[a].name));
    for (size_t c = 0; c < s->n_columns; c++)
        mfu_json_append(&columns, json_string(s->column_names[c]));
    for (size_t i = 0; i < r->n_rows; i++) {
        json_t *row = json_array();

        for (size_t a = 0; a < s->n_axes; a++)
            mfu_json_append(&row, axis_value(&s->axes[a], mfu_sweep_value(s, r->rows[i].combination, a)));
        for (size_t c = 0; c < s->n_columns; c++)
            mfu_json_append(&row, mfu_json_number(r->rows[i].columns[c]));
        mfu_json_append(&rows, row);
    }
    mfu_json_put(&answer, "columns", columns);
    mfu_json_put(&answer, "rows", rows);
    mfu_json_put_number(&answer, "evaluated", (double)r->evaluated);
    mfu_json_put_number(&answer, "refused", (double)r->refused);
    mfu_json_put_number(&answer, "excluded", (double)r->excluded);
    mfu_json_put_number(&answer, "dropped", (double)r->dropped);
    mfu_json_put(&answer, "simulated", json_boolean(!r->analytic));
    mfu_json_put(&answer, "exhausted", json_boolean(r->exhausted));
    mfu_json_put(&answer, "complete", json_boolean(r->complete));
    return answer;
}
