/*
 * measured_cells.c - cells as numbers, or reasons why they are none.
 *
 * A cell is a number in the unit that the column's name states, which may stand behind it.  What can be read in two ways is none:
 * "17.5 GB" of a column in GiB, "9,34".
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
    {"n_gpus", "GPUs", 1, 1e6, true, false, NEEDED},
    {"gpus_per_node", "GPUs", 1, 1e4, true, false, NEEDED},
    {"n_layer", "layers", 1, 1e4, true, false, NEEDED},
    {"n_head", NULL, 1, 1e4, true, false, NEEDED},
    {"n_kv_head", NULL, 1, 1e4, true, false, NEEDED},
    {"head_dim", NULL, 1, 1e5, true, false, NEEDED},
    {"n_embd", NULL, 1, 1e6, true, false, NEEDED},
    {"d_ff", NULL, 1, 1e7, true, false, NEEDED},
    {"vocab", NULL, 1, 1e8, true, false, NEEDED},
    {"img_size", "pixels", 1, 1e5, true, false, NEEDED},
    {"patch", "pixels", 1, 1e5, true, false, NEEDED},
    {"seq_len", "tokens", 1, 1e8, true, false, NEEDED},
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

void mfu_row_fill_cell(struct mfu_row *r, const char *column, const char *text)
{
    if (r->n_filled == MFU_MOST_FILLED) {
        mfu_row_skip(r, "%s '%.40s': more than %d cells are in words", column, text, MFU_MOST_FILLED);
        return;
    }
    r->filled[r->n_filled].column = column;
    snprintf(r->filled[r->n_filled++].text, MFU_MOST_SAID, "%s", text);
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

bool mfu_names_file(const char *text)
{
    return strcasestr(text, ".yaml") || strcasestr(text, ".yml") || strcasestr(text, ".json");
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

/* Units that may stand behind a number, and what a column's unit is of them. */
static const struct {
    const char *of, *written;
    double is;
} units[] = {{"GPUs", "GPUs|GPU|devices|cards", 1},
             {"layers", "layers", 1},
             {"tokens", "tokens", 1},
             {"milliseconds", "ms|msec|milliseconds", 1},
             {"milliseconds", "s|sec|seconds", 1e3},
             {"per cent", "%|percent|per cent", 1},
             {"GiB", "GiB", 1},
             {"GiB", "MiB", 1. / 1024},
             {"GiB", "GB", 1e9 / 0x1p30},
             {"GiB", "MB", 1e6 / 0x1p30},
             {"TFLOP/s", "TFLOPS|TFLOP/s|TFLOPs", 1},
             {"tokens per second", "tokens/s|tokens/sec|tok/s|tokens per second", 1},
             {"samples per second", "samples/s|samples/sec|images/s|img/s|sequences/s|seq/s", 1}};

/* Where a text goes on behind what the column's unit is of anyway: "ms/step", "tokens/s/GPU" of one GPU. */
static const char *behind_of(const struct column *c, const char *unit)
{
    const char *end = strcmp(c->unit, "milliseconds") == 0 ? mfu_behind(unit, "/step|/it|/iter|/iteration| per step")
        : strstr(c->name, "_gpu")                          ? mfu_behind(unit, "/gpu|/device|/chip| per gpu")
                                                           : NULL;

    return end && !isalpha((unsigned char)*end) ? end : unit;
}

/* "4,096,000" without what parts its thousands, up to *end: behind one to three digits of which the first is no 0 always three. */
static double grouped(const char *text, const char **end)
{
    char digits[40];
    size_t n = strspn(text, "0123456789"), used = n;
    bool groups = n >= 1 && n <= 3 && *text != '0';

    if (n == 0 || n > 18)
        return NAN;
    memcpy(digits, text, n);
    for (text += n; groups && *text == ',' && strspn(text + 1, "0123456789") == 3 && used < 18; text += 4, used += 3)
        memcpy(digits + used, text + 1, 3);
    n = *text == '.' ? 1 + strspn(text + 1, "0123456789") : 0;
    if (n > 18 || *text == ',')
        return NAN;
    memcpy(digits + used, text, n);
    digits[used + n] = '\0';
    *end = text + n;
    return strtod(digits, NULL);
}

/* What "k" is of a column, of a power of two 1024 where the column mostly has such numbers; 0: nothing. */
static double thousand_of(const struct column *c, double x)
{
    static const char *const rounded[] = {"tokens_per_s", "tokens_per_s_gpu", "samples_per_s", "vocab", NULL},
                             *const powers[] = {"seq_len", "global_batch", NULL};

    return mfu_is_one_of(c->name, rounded) ? 1000
        : mfu_is_one_of(c->name, powers)   ? (x >= 1 && log2(x) == floor(log2(x)) ? 1024 : 1000)
                                           : 0;
}

#define ROUGHLY 0.05 /* relative, of what is said to be "about" so much (chosen) */

/* The number that a cell of a column is as people write it: "72,400", "9.1k tokens/s", "~45%"; NAN: it can be read in no way, or in
 * two.  `rounding` is made as large as half of its last digit, where what stands behind or before it says that it is rounded. */
static double written(const struct column *c, const char *text, double *rounding)
{
    const char *about = mfu_behind(text, "~|about|around|approx.|approximately|ca.|circa|\xE2\x89\x88"), *end,
               *unit = NULL;
    const char *point;
    double x = grouped(about ? about + strspn(about, " ") : text, &end), digit, is = 1;

    if (isnan(x))
        return NAN;
    for (digit = 1, point = memchr(text, '.', (size_t)(end - text)); point && ++point < end;)
        digit /= 10;
    digit /= x;
    end += strspn(end, " ");
    if (thousand_of(c, x) > 0 && *end && strchr("kKM", *end) && !isalpha((unsigned char)end[1])) {
        is = pow(thousand_of(c, x), *end++ == 'M' ? 2 : 1);
        *rounding = fmax(*rounding, digit / 2);
    }
    end += strspn(end, " ");
    for (size_t i = 0; c->unit && i < sizeof units / sizeof *units && *end; i++)
        if (strcmp(units[i].of, c->unit) == 0 && (unit = mfu_behind(end, units[i].written))
            && *(unit = behind_of(c, unit)) == '\0') {
            is *= units[i].is;
            end = unit;
        }
    if (*end)
        return NAN;
    if (about)
        *rounding = fmax(*rounding, fmax(digit / 2, ROUGHLY));
    return x * is;
}

void mfu_row_read_numbers(struct mfu_row *r)
{
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        const struct column *c = &columns[i];
        const char *text = mfu_row_cell(r, c->name);
        double rounding = 0, x = is_nothing(text) || !isnan(plain(text)) ? NAN : written(c, text, &rounding);
        char number[32];

        if (isnan(x) && strcmp(c->name, "lora_rank") == 0)
            x = mfu_number_said(text, "r|rank|lora rank|lora r"); /* "r=64, alpha=16" */
        if (isnan(x))
            continue;
        snprintf(number, sizeof number, "%.12g", x);
        mfu_row_assume(r, "%s=%s for %.40s", c->name, number, text);
        mfu_row_fill_cell(r, c->name, number);
        if (c->unit && !c->whole)
            r->run->rounding = fmax(r->run->rounding, rounding);
    }
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
    const char *list;

    if (mfu_scenario_set(&r->run->scenario, key, value, &err) == 0)
        return true;
    list = *err.suggestion ? strstr(err.text, ": expected") : NULL; /* long ones are not told */
    return list
        ? mfu_row_skip(r, "%.*s is not known: did you mean %s?", (int)(list - err.text), err.text, err.suggestion)
        : mfu_row_skip(r, "%s", err.text);
}

bool mfu_row_set_number(struct mfu_row *r, const char *key, double value)
{
    char text[32];

    snprintf(text, sizeof text, "%.17g", value);
    return mfu_row_set(r, key, text);
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
    return mfu_fail_at(err, path, 1, 1,
                       "no column is known: expected a header line with names such as gpu, family, seq_len, "
                       "micro_batch and step_time_ms, separated by commas%s",
                       hint);
}
