/*
 * measured_cells.c - cells as numbers, or reasons why they are none.
 *
 * A cell is a number in the unit that the column's name states, and nothing
 * else: what "9,340" or "9.34s" mean is for the table's author to say.
 */
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/field.h"
#include "read/runs/measured_run.h"
#include "read/runs/measured_reading.h"

enum need { NEEDED, COMPARED };

/* Numbers of a row.  `least` itself is allowed where it is not 0 or `zero`. */
static const struct column {
    const char *name, *unit;
    double least, most;
    bool whole, zero;
    enum need need;
} columns[] = {
    {"step_time_ms", "milliseconds", 0, 1e9, false, false, NEEDED},
    {"tokens_per_s", "tokens per second", 0, 1e12, false, false, NEEDED},
    {"tokens_per_s_gpu", "tokens per second", 0, 1e12, false, false, NEEDED},
    {"samples_per_s", "samples per second", 0, 1e9, false, false, NEEDED},
    {"mfu_pct", "per cent", 0, 1e3, false, false, NEEDED},
    {"hfu_pct", "per cent", 0, 1e3, false, false, NEEDED},
    {"mfu_peak_tflops", "TFLOP/s", 0, 1e6, false, false, NEEDED},
    {"mem_allocated_gib", "GiB", 0, 1e5, false, false, NEEDED},
    {"mem_reserved_gib", "GiB", 0, 1e5, false, false, NEEDED},
    {"micro_batch", NULL, 1, 1e6, true, false, NEEDED},
    {"grad_accum", NULL, 1, 1e6, true, false, NEEDED},
    {"global_batch", NULL, 1, 1e9, true, false, NEEDED},
    {"n_gpus", NULL, 1, 1e6, true, false, NEEDED},
    {"gpus_per_node", NULL, 1, 1e4, true, false, NEEDED},
    {"n_layer", NULL, 1, 1e4, true, false, NEEDED},
    {"n_head", NULL, 1, 1e4, true, false, NEEDED},
    {"n_kv_head", NULL, 1, 1e4, true, false, NEEDED},
    {"head_dim", NULL, 1, 1e5, true, false, NEEDED},
    {"n_embd", NULL, 1, 1e6, true, false, NEEDED},
    {"d_ff", NULL, 1, 1e7, true, false, NEEDED},
    {"vocab", NULL, 1, 1e8, true, false, NEEDED},
    {"img_size", "pixels", 1, 1e5, true, false, NEEDED},
    {"patch", "pixels", 1, 1e5, true, false, NEEDED},
    {"seq_len", NULL, 1, 1e8, true, false, NEEDED},
    {"n_experts", NULL, 0, 1e5, true, true, NEEDED},
    {"experts_active", NULL, 0, 1e5, true, true, NEEDED},
    {"dropout", NULL, 0, 1, false, true, NEEDED},
    {"tp", NULL, 0, 1e6, true, true, NEEDED},
    {"pp", NULL, 0, 1e6, true, true, NEEDED},
    {"cp", NULL, 0, 1e6, true, true, NEEDED},
    {"ep", NULL, 0, 1e6, true, true, NEEDED},
    {"etp", NULL, 0, 1e6, true, true, NEEDED},
    {"lora_rank", NULL, 0, 65536, true, true, NEEDED}, /* 0: none, or of OFT, whose blocks have a size */
    {"model_tflops_gpu", "TFLOP/s", 0, 1e6, false, false, COMPARED},
    {"params_m", "millions", 0, 1e8, false, false, COMPARED},
};
static const char *const words[] = {"gpu",       "intra_link",   "inter_link",     "family",   "pos",
                                    "tied",      "mlp",          "norm",           "bias",     "precision",
                                    "attention", "compile",      "optimizer",      "act_ckpt", "sharding",
                                    "vpp",       "sp",           "mfu_convention", "outcome",  "method",
                                    "quant",     "lora_targets", "cpu_offload",    "cpu",      "act_offload"};

const char *mfu_row_cell(const struct mfu_row *r, const char *column)
{
    for (int i = r->n_filled; i-- > 0;) /* the last word counts */
        if (strcmp(r->filled[i].column, column) == 0)
            return r->filled[i].text;
    if (*r->failed && strcmp(column, "notes") == 0)
        return r->failed;
    return mfu_csv_get(r->csv, r->row, column);
}

static bool is_nothing(const char *text)
{
    static const char *const nothing[] = {"", "-", "--", "?", "n/a", "na", "nan", "none", "null"};

    for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++)
        if (strcasecmp(text, nothing[i]) == 0)
            return true;
    return false;
}

bool mfu_cell_empty(const struct mfu_row *r, const char *column)
{
    return is_nothing(mfu_row_cell(r, column));
}

/* Whether two names differ in capitals, blanks and dashes only. */
bool mfu_same_letters(const char *a, const char *b)
{
    for (;; a++, b++) {
        while (*a && !isalnum((unsigned char)*a))
            a++;
        while (*b && !isalnum((unsigned char)*b))
            b++;
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return false;
        if (*a == '\0')
            return true;
    }
}

bool mfu_cell_is(const struct mfu_row *r, const char *column, const char *word)
{
    return mfu_same_letters(mfu_row_cell(r, column), word);
}

/* The whole text as a decimal number; no "inf", no "0x10". */
static double plain(const char *text)
{
    char *end;
    double x = strtod(text, &end);

    return *end || end == text || strspn(text, "+-.0123456789eE") != strlen(text) || !isfinite(x) ? NAN : x;
}

double mfu_cell_number(const struct mfu_row *r, const char *column)
{
    return plain(mfu_row_cell(r, column));
}

/* Takes out what was noted of a key before: the last word counts. */
static void forget(char *noted, const char *key, size_t n)
{
    for (char *at = noted, *end; at && *at; at = end) {
        end = strstr(at, "; ");
        end = end ? end + 2 : NULL;
        if (strncmp(at, key, n) != 0)
            continue;
        if (!end) {
            at[at > noted ? -2 : 0] = '\0';
            return;
        }
        memmove(at, end, strlen(end) + 1);
        end = at;
    }
}

void mfu_row_assume(struct mfu_row *r, const char *format, ...)
{
    char text[sizeof r->run->assumed];
    va_list args;
    size_t key;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    key = strcspn(text, "= ");
    if (text[key] == '=')
        forget(r->run->assumed, text, key + 1);
    mfu_words_add(r->run->assumed, sizeof r->run->assumed, text);
}

bool mfu_row_skip(struct mfu_row *r, const char *format, ...)
{
    va_list args;

    if (r->run->skipped[0])
        return false;
    va_start(args, format);
    vsnprintf(r->run->skipped, sizeof r->run->skipped, format, args);
    va_end(args);
    return false;
}

bool mfu_row_set(struct mfu_row *r, const char *key, const char *value)
{
    struct mfu_error err = {0};

    if (mfu_scenario_set(&r->run->scenario, key, value, &err) < 0)
        return mfu_row_skip(r, "%s", err.text);
    return true;
}

bool mfu_row_take(struct mfu_row *r, const char *format, ...)
{
    char text[sizeof r->run->assumed], *value, *end;
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    mfu_row_assume(r, "%s", text);
    value = text + strcspn(text, "=");
    *value++ = '\0';
    end = value + strcspn(value, " ");
    if (end > value && *end && strchr(":,", end[-1]))
        end--;
    *end = '\0';
    return mfu_row_set(r, text, value);
}

/* "a number above 0, up to 1e+05, in GiB and nothing else" */
static void describe(const struct column *c, char *text, size_t size)
{
    if (c->least == 0 && !c->zero)
        snprintf(text, size, "a%s number above 0, up to %g", c->whole ? " whole" : "", c->most);
    else
        snprintf(text, size, "a%s number from %g to %g", c->whole ? " whole" : "", c->least, c->most);
    if (c->unit) {
        size_t used = strlen(text);

        snprintf(text + used, size - used, ", in %s and nothing else", c->unit);
    }
}

static bool in_range(const struct column *c, double x)
{
    return x >= c->least && x <= c->most && (x > 0 || c->zero) && (!c->whole || x == floor(x));
}

bool mfu_row_check_numbers(struct mfu_row *r)
{
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        const struct column *c = &columns[i];
        const char *text = mfu_row_cell(r, c->name);
        char expected[96];

        if (is_nothing(text) || in_range(c, plain(text)))
            continue;
        describe(c, expected, sizeof expected);
        if (c->need == NEEDED)
            return mfu_row_skip(r, "%s '%.40s': expected %s", c->name, text, expected);
        mfu_row_assume(r, "%s '%.40s' is not used: expected %s", c->name, text, expected);
    }
    return true;
}

bool mfu_measured_is_column(const char *name)
{
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (strcmp(columns[i].name, name) == 0)
            return true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], name) == 0)
            return true;
    return false;
}

int mfu_measured_columns(const struct mfu_csv *csv, const char *path, struct mfu_error *err)
{
    const char *first = csv->n_columns ? csv->header[0] : "", *hint = "";

    for (size_t i = 0; i < csv->n_columns; i++)
        if (mfu_measured_is_column(csv->header[i]))
            return 0;
    if (strchr(first, ';'))
        hint = "; these seem to be separated by semicolons";
    else if (csv->tabs)
        hint = "; these seem to be separated by tabs";
    mfu_fail(err, MFU_EINPUT,
             "no column is known: expected a header line with names such as gpu, family, seq_len, "
             "micro_batch and step_time_ms, separated by commas%s",
             hint);
    return mfu_error_at(err, path, 1, 1);
}
