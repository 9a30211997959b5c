/*
 * csv.c - a table with a title for each column: Lightning's metrics.csv, LitGPT's, a table exported from
 * TensorBoard, what a loop of one's own writes.
 *
 *     epoch,step,train/device/items_per_sec,train/time,train_loss
 *     0,9,12596.6,0.314,
 *
 * Rows of one step are one record: Lightning writes a row for each call of log().
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "read/logs/log_format.h"

/* The next cell, without quotes; NULL behind the last. */
static const char *next_cell(const char *p, char *cell, size_t size)
{
    bool quoted = false;
    size_t n = 0;

    if (!p)
        return NULL;
    for (; *p && (quoted || *p != ','); p++)
        if (*p == '"')
            quoted = !quoted;
        else if (n + 1 < size)
            cell[n++] = *p;
    while (n > 0 && isspace((unsigned char)cell[n - 1]))
        n--;
    cell[n] = '\0';
    memmove(cell, cell + strspn(cell, " "), strlen(cell + strspn(cell, " ")) + 1);
    return *p ? p + 1 : p;
}

/* Titles: none is a number; one is a step, or tells time. */
static bool recognise(const char *line)
{
    char cell[96];
    int n = 0, known = 0, timed = 0;

    if (line[0] == '#' || !strchr(line, ',') || strpbrk(line, "{}=;") || strstr(line, "utilization.gpu"))
        return false;
    for (const char *p = line; *p && n <= MFU_LOG_COLUMNS; n++) {
        int kind;

        p = next_cell(p, cell, sizeof cell);
        if (!*cell || isdigit((unsigned char)*cell) || strlen(cell) > 60)
            return false;
        kind = mfu_log_scalar_kind(cell);
        known += kind >= 0;
        timed += mfu_log_scalar_times(kind) || strstr(cell, "step") || strstr(cell, "iter");
    }
    return n >= 2 && n <= MFU_LOG_COLUMNS && known >= 2 && timed >= 1 && 3 * known >= n;
}

static void read_titles(struct mfu_log *log, const char *line)
{
    log->n_columns = 0;
    if (!log->titles && !(log->titles = malloc(MFU_LOG_COLUMNS * sizeof *log->titles))) {
        log->failed = true;
        return;
    }
    for (const char *p = line; *p && log->n_columns < MFU_LOG_COLUMNS; log->n_columns++) {
        p = next_cell(p, log->titles[log->n_columns], sizeof *log->titles);
        log->columns[log->n_columns] = (short)mfu_log_scalar_kind(log->titles[log->n_columns]);
    }
}

static void read(struct mfu_log *log, const char *line)
{
    double values[MFU_LOG_COLUMNS], step = NAN;
    int first = mfu_log_scalar_kind("step"), n = 0;
    char cell[96];

    if (recognise(line)) {
        read_titles(log, line);
        return;
    }
    for (const char *p = line; *p && n < log->n_columns; n++) {
        p = next_cell(p, cell, sizeof cell);
        values[n] = mfu_log_value(cell);
        if (isnan(step) && (log->columns[n] == first || strcmp(log->titles[n], "iter") == 0))
            step = values[n];
    }
    mfu_log_scalars_at(log, step, NAN);
    for (int i = 0; i < n; i++) {
        log->scalar.begun |= log->columns[i] < 0 && !isnan(values[i]); /* whatever it is, a step has it */
        mfu_log_scalar_of(log, log->columns[i], log->titles[i], values[i]);
    }
    if (isnan(step))
        mfu_log_scalars_end(log);
}

const struct mfu_log_format mfu_log_format_csv = {
    .name = "csv",
    .title = "a table (CSV)",
    .looks = "step,train_loss,step_time_s",
    .of_anything = true,
    .recognise = recognise,
    .read = read,
    .finish = mfu_log_scalars_finish,
};
