/*
 * log_pairs.c - figures and settings as people write them down by hand: their
 * names and units, and the walk through a line of them.
 */
#include "read/logs/log_format.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/once.h"
#include "scenario/scenario.h"

enum fact { FACT_FIGURE, FACT_PARAMS, FACT_TOKENS, FACT_SAMPLES, FACT_PEAK, FACT_GPU, FACT_MODEL, FACT_IGNORED };

#define F(key, id)                                                                                                     \
    {                                                                                                                  \
        key, FACT_FIGURE, MFU_FIGURE_##id, MFU_COUNT                                                                   \
    }
#define NO_FIGURE -1

// clang-format off
static const struct pair_row {
    const char *key;            /* lower case, words joined by _ */
    enum fact fact;
    int figure;
    enum mfu_dim dim;           /* of a fact; a figure has its own */
} pair_rows[] = {
    F("step", STEP), F("iter", STEP), F("iteration", STEP), F("step_time", TIME), F("time", TIME),
    F("iter_time", TIME), F("time_per_step", TIME), F("time_per_iter", TIME), F("iteration_time", TIME),
    F("dt", TIME), F("step_ms", TIME), F("step_s", TIME), F("ms", TIME), F("ms_per_step", TIME), F("iter_ms", TIME),
    F("tokens_per_s", TOKENS_PER_S), F("tokens_per_sec", TOKENS_PER_S), F("tokens_per_second", TOKENS_PER_S),
    F("tokens_s", TOKENS_PER_S), F("tokens_sec", TOKENS_PER_S), F("tok_s", TOKENS_PER_S), F("tok_sec", TOKENS_PER_S),
    F("tok_per_s", TOKENS_PER_S), F("tok_per_sec", TOKENS_PER_S), F("tps", TOKENS_PER_S),
    F("throughput", TOKENS_PER_S), F("mfu", MFU), F("mfu_logged", MFU), F("flops_per_s", FLOPS), F("tflops", FLOPS),
    F("tflop_s", FLOPS), F("loss", LOSS), F("train_loss", LOSS), F("memory_allocated", ALLOCATED),
    F("mem_allocated", ALLOCATED), F("max_memory_allocated", ALLOCATED), F("allocated", ALLOCATED),
    F("peak_allocated", ALLOCATED), F("memory_reserved", RESERVED), F("mem_reserved", RESERVED),
    F("max_memory_reserved", RESERVED), F("reserved", RESERVED), F("peak_reserved", RESERVED),
    F("memory_used", SMI_USED), F("smi_used", SMI_USED), F("nvidia_smi_used", SMI_USED), F("vram_used", SMI_USED),
    F("vram", SMI_USED), F("memory", SMI_USED), F("utilization", UTILIZATION), F("utilisation", UTILIZATION),
    F("gpu_utilization", UTILIZATION), F("gpu_utilisation", UTILIZATION), F("gpu_util", UTILIZATION),
    F("util", UTILIZATION), F("sm_active", SM_ACTIVE), F("sm_activity", SM_ACTIVE), F("sm", SM_ACTIVE),
    F("tensor_active", TENSOR_ACTIVE), F("tensor_activity", TENSOR_ACTIVE), F("tensor", TENSOR_ACTIVE),
    F("tensor_pipe", TENSOR_ACTIVE), F("dram_active", DRAM_ACTIVE), F("dram_activity", DRAM_ACTIVE),
    F("dram", DRAM_ACTIVE), F("power", POWER), F("board_power", POWER), F("sm_clock", CLOCK), F("communication", COMMUNICATION),
    F("communication_wait", COMMUNICATION), F("comm", COMMUNICATION), F("comm_wait", COMMUNICATION),
    F("comm_time", COMMUNICATION), F("communication_time", COMMUNICATION), F("loader", LOADER),
    F("loader_wait", LOADER), F("loader_time", LOADER), F("data_wait", LOADER), F("data_time", LOADER),
    F("dataloader_wait", LOADER), F("input_wait", LOADER),
    {"params", FACT_PARAMS, NO_FIGURE, MFU_PARAMS}, {"parameters", FACT_PARAMS, NO_FIGURE, MFU_PARAMS},
    {"n_params", FACT_PARAMS, NO_FIGURE, MFU_PARAMS}, {"num_params", FACT_PARAMS, NO_FIGURE, MFU_PARAMS},
    {"model_size", FACT_PARAMS, NO_FIGURE, MFU_PARAMS}, {"size", FACT_PARAMS, NO_FIGURE, MFU_PARAMS},
    {"tokens_per_step", FACT_TOKENS, NO_FIGURE, MFU_TOKENS}, {"tokens_per_iter", FACT_TOKENS, NO_FIGURE, MFU_TOKENS},
    {"tokens_per_iteration", FACT_TOKENS, NO_FIGURE, MFU_TOKENS},
    {"global_batch", FACT_SAMPLES, NO_FIGURE, MFU_COUNT}, {"global_batch_size", FACT_SAMPLES, NO_FIGURE, MFU_COUNT},
    {"peak_flops", FACT_PEAK, NO_FIGURE, MFU_FLOP_PER_S}, {"peak_tflops", FACT_PEAK, NO_FIGURE, MFU_FLOP_PER_S},
    {"mfu_peak", FACT_PEAK, NO_FIGURE, MFU_FLOP_PER_S},
    {"gpu", FACT_GPU, NO_FIGURE, MFU_COUNT},
    {"model", FACT_MODEL, NO_FIGURE, MFU_COUNT},
    {"lr", FACT_IGNORED, NO_FIGURE, MFU_COUNT}, {"learning_rate", FACT_IGNORED, NO_FIGURE, MFU_COUNT},
    {"epoch", FACT_IGNORED, NO_FIGURE, MFU_COUNT}, {"grad_norm", FACT_IGNORED, NO_FIGURE, MFU_COUNT},
    {"norm", FACT_IGNORED, NO_FIGURE, MFU_COUNT}, {"val_loss", FACT_IGNORED, NO_FIGURE, MFU_COUNT},
};
static const struct unit { const char *suffix; double factor; enum mfu_dim dim; } units[] = {
    {"_ms", 1e-3, MFU_SECONDS}, {"_us", 1e-6, MFU_SECONDS}, {"_sec", 1, MFU_SECONDS}, {"_s", 1, MFU_SECONDS},
    {"_gib", 0x1p30, MFU_BYTES}, {"_mib", 0x1p20, MFU_BYTES}, {"_gb", 1e9, MFU_BYTES}, {"_mb", 1e6, MFU_BYTES},
    {"_bytes", 1, MFU_BYTES}, {"_pct", 0.01, MFU_RATIO}, {"_percent", 0.01, MFU_RATIO}, {"_tflops", 1e12, MFU_FLOP_PER_S},
    {"_m", 1e6, MFU_PARAMS}, {"_b", 1e9, MFU_PARAMS}, {"_w", 1, MFU_WATTS}};
// clang-format on

/* "tokens/s", "Step-Time" as tokens_s, step_time. */
static void canonical(char *to, size_t size, const char *key)
{
    size_t n = 0;

    for (; *key && n + 1 < size; key++)
        if (isalnum((unsigned char)*key))
            to[n++] = (char)tolower((unsigned char)*key);
        else if (n > 0 && to[n - 1] != '_')
            to[n++] = '_';
    while (n > 0 && to[n - 1] == '_')
        n--;
    to[n] = '\0';
}

static const struct pair_row *row_of(const char *key)
{
    for (size_t i = 0; i < sizeof pair_rows / sizeof pair_rows[0]; i++)
        if (strcmp(pair_rows[i].key, key) == 0)
            return &pair_rows[i];
    return NULL;
}

static enum mfu_dim dim_of(const struct pair_row *row)
{
    return row->fact == FACT_FIGURE ? mfu_figure_rows[row->figure].dim : row->dim;
}

/* The row of a key, and the factor of a unit in its name (0: none). */
static const struct pair_row *find_pair(const char *typed, double *factor)
{
    char key[40];
    const struct pair_row *row;

    canonical(key, sizeof key, typed);
    *factor = strcmp(key, "step_s") == 0 ? 1
        : strcmp(key, "step_ms") == 0 || strcmp(key, "ms") == 0 || strcmp(key, "ms_per_step") == 0
            || strcmp(key, "iter_ms") == 0
        ? 1e-3
        : strcmp(key, "tflops") == 0 || strcmp(key, "tflop_s") == 0 || strcmp(key, "peak_tflops") == 0 ? 1e12
                                                                                                       : 0;
    if ((row = row_of(key)))
        return row;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t n = strlen(key), m = strlen(units[i].suffix);

        if (n <= m || strcmp(key + n - m, units[i].suffix) != 0)
            continue;
        key[n - m] = '\0';
        row = row_of(key);
        key[n - m] = '_';
        if (row && dim_of(row) == units[i].dim) {
            if (mfu_key_known(key))
                return NULL;
            *factor = units[i].factor;
            return row;
        }
    }
    return NULL;
}

bool mfu_log_key(const char *key)
{
    double factor;

    return find_pair(key, &factor) != NULL;
}

/* What a time without a unit is worth, by how large the first one of a log is: a
 * step of 1000 s would be as odd as one of 9 ms (chosen).  NAN: it may be either. */
static double bare_time(struct mfu_log *log, double value)
{
    if (log->bare_time_unit == 0) {
        log->bare_time_unit = value < 10 ? 1 : value >= 1000 ? 1e-3 : (double)NAN;
        snprintf(log->note, sizeof log->note,
                 isnan(log->bare_time_unit) ? "times without a unit, such as %g, may be seconds or milliseconds"
                     : value < 10           ? "times without a unit, such as %g, are taken for seconds"
                                            : "times without a unit, such as %g, are taken for milliseconds",
                 value);
    }
    return value * log->bare_time_unit;
}

/* The value of a pair in base units; NAN when it is none. */
static double pair_value(struct mfu_log *log, const struct pair_row *row, double factor, const char *text)
{
    char plain[64];
    const char *end;
    double value = mfu_number_at(text, &end);
    bool bare;

    if (end == text)
        return NAN;
    snprintf(plain, sizeof plain, "%.15g%.24s", value, end);
    bare = *end == '\0';
    if (bare && factor > 0)
        return value * factor;
    if (dim_of(row) == MFU_RATIO && bare)
        return value > 1 ? value / 100 : value;
    if (dim_of(row) == MFU_BYTES && bare && value < 1e6)
        return NAN; /* 7.4 of what? */
    if (row->figure == MFU_FIGURE_TIME && bare)
        return bare_time(log, value);
    return mfu_quantity_parse(plain, dim_of(row), &value, NULL) == 0 ? value : NAN;
}

bool mfu_log_pair_is(const char *key)
{
    double factor;
    const struct pair_row *row = find_pair(key, &factor);

    return row && row->fact == FACT_FIGURE && row->figure != MFU_FIGURE_STEP;
}

void mfu_log_pair_number(struct mfu_log *log, const char *key, double value)
{
    double factor;
    const struct pair_row *row = find_pair(key, &factor);
    char text[40];

    if (!row || row->fact != FACT_FIGURE || !isfinite(value))
        return;
    snprintf(text, sizeof text, "%.15g", value);
    mfu_log_figure(log->loose.figure, (enum mfu_figure)row->figure, pair_value(log, row, factor, text));
}

/* Puts one pair down, figures into the loose record. */
static int put_pair(struct mfu_log *log, const char *key, const char *value, struct mfu_error *err)
{
    double factor, number;
    const struct pair_row *row = find_pair(key, &factor);

    if (!row) {
        char name[40];

        canonical(name, sizeof name, key);
        mfu_log_set(log, strchr(key, '.') ? key : name, value);
        return 0;
    }
    if (row->fact == FACT_IGNORED)
        return 0;
    if (row->fact == FACT_GPU || row->fact == FACT_MODEL) {
        mfu_copy_until(row->fact == FACT_GPU ? log->gpu : log->model,
                       row->fact == FACT_GPU ? sizeof log->gpu : sizeof log->model, value, "");
        return 0;
    }
    number = pair_value(log, row, factor, value);
    if (!(number >= 0) && row->figure == MFU_FIGURE_TIME && isnan(log->bare_time_unit))
        return mfu_fail(err, MFU_EINPUT, "%.40s: is '%.40s' in seconds or milliseconds? Write 0.35s or 350ms", key,
                        value);
    if (!(number >= 0))
        return mfu_fail(err, MFU_EINPUT, "%.40s: '%.40s': expected %s", key, value,
                        dim_of(row) == MFU_RATIO ? "a share such as 15.4%" : mfu_dim_help(dim_of(row)));
    switch (row->fact) {
    case FACT_FIGURE:
        if (!isnan(log->loose.figure[row->figure]))
            mfu_log_pairs_end(log);
        mfu_log_figure(log->loose.figure, (enum mfu_figure)row->figure, number);
        if (isnan(log->loose.figure[row->figure]))
            return mfu_fail(err, MFU_EINPUT, "%.40s: '%.40s' is out of range", key, value);
        if (row->figure == MFU_FIGURE_MFU)
            log->mfu_digit =
                fmax(log->mfu_digit, number / fmax(mfu_number_at(value, NULL), 1e-30) * mfu_digit_at(value));
        if (!log->loose.line)
            log->loose.line = log->line ? log->line : 1;
        break;
    case FACT_PARAMS:
        log->params = number;
        log->params_digit = mfu_digit_at(value) * number / fmax(mfu_number_at(value, NULL), 1e-30);
        break;
    case FACT_TOKENS: log->tokens_per_step = number; break;
    case FACT_SAMPLES: log->samples_per_step = number; break;
    default: log->peak_flops = number;
    }
    return 0;
}

void mfu_log_pairs_end(struct mfu_log *log)
{
    struct mfu_log_record *r;
    int line = log->line;

    if (!log->loose.line)
        return;
    log->line = log->loose.line;
    if ((r = mfu_log_step(log)))
        memcpy(r->figure, log->loose.figure, sizeof r->figure);
    log->line = line;
    log->loose.line = 0;
    mfu_log_clear(log->loose.figure);
}

/* Whether a key is known at all; dims of any architecture are. */
static bool known_key(const char *key)
{
    return mfu_log_key(key) || mfu_key_known(key);
}

/* A large file is mostly words that are no keys.  A bit per hash of a key says
 * so quickly. */
static unsigned char known[1024];

static unsigned hash(const char *key)
{
    unsigned h = MFU_HASH;

    for (; *key; key++)
        if (isalnum((unsigned char)*key)) /* as mfu_same_name() compares */
            h = mfu_hash_byte(h, (char)tolower((unsigned char)*key));
    return (h ^ h >> 13) % (8 * sizeof known);
}

static void remember(void *unused, const char *key)
{
    unsigned h = hash(key);

    (void)unused;
    known[h / 8] |= (unsigned char)(1u << h % 8);
}

static void fill_known(void)
{
    char text[MFU_KEY_NAME];

    for (size_t i = 0; i < sizeof pair_rows / sizeof pair_rows[0]; i++) {
        remember(NULL, pair_rows[i].key);
        for (size_t k = 0; k < sizeof units / sizeof units[0]; k++)
            if (units[k].dim == dim_of(&pair_rows[i])) {
                snprintf(text, sizeof text, "%s%s", pair_rows[i].key, units[k].suffix);
                remember(NULL, text);
            }
    }
    mfu_key_spellings(remember, NULL);
}

static bool may_be_key(const char *key)
{
    unsigned h = hash(key);

    return strchr(key, '.') || known[h / 8] & 1u << h % 8;
}

static int not_known(const char *word, struct mfu_error *err)
{
    const char *names[sizeof pair_rows / sizeof pair_rows[0]];
    size_t n = 0;

    for (; n < sizeof names / sizeof names[0]; n++)
        names[n] = pair_rows[n].key;
    mfu_fail(err, MFU_EINPUT, "'%.40s' is neither a figure (step_ms, tokens_per_s, mfu ...) nor a setting", word);
    mfu_key_suggest(NULL, word, names, n, err);
    return -1;
}

#define WORD 64 /* characters that are looked at */
#define WORDS 3 /* of a key: "GPU utilisation", "memory allocated" */

/* The next word, cut at blanks and at `,` `;` `|` that end it, and at the `=`
 * or `:` between key and value. */
static const char *next_word(const char *p, char *word, size_t *n)
{
    size_t i = 0;

    p += strspn(p, " \t,;|=:");
    while (*p && !strchr(" \t;|=", *p) && !(strchr(",:", *p) && !(isdigit((unsigned char)p[1]) && i > 0))) {
        if (i + 1 < WORD)
            word[i++] = *p;
        p++;
    }
    word[i] = '\0';
    *n = i;
    return p;
}

int mfu_log_pairs(struct mfu_log *log, const char *line, bool strict, struct mfu_error *err)
{
    MFU_ONCE(fill_known);
    while (*line) {
        char words[WORDS][WORD], key[WORDS * WORD], value[WORD], unit[WORD];
        const char *after[WORDS];
        size_t n, taken = 0;

        for (int i = 0; i < WORDS; i++) /* the longest key wins */
            after[i] = next_word(i ? after[i - 1] : line, words[i], &n);
        if (!words[0][0])
            return 0;
        for (int i = WORDS; i > 0 && !taken; i--) {
            snprintf(key, sizeof key, "%s%s%s%s%s", words[0], i > 1 ? "_" : "", i > 1 ? words[1] : "", i > 2 ? "_" : "",
                     i > 2 ? words[2] : "");
            if (isalpha((unsigned char)words[i - 1][0]) && isalpha((unsigned char)key[0]) && may_be_key(key)
                && known_key(key))
                taken = (size_t)i;
        }
        if (!taken) {
            if (strict)
                return not_known(words[0], err);
            line = after[0];
            continue;
        }
        line = next_word(after[taken - 1], value, &n);
        if (n == 0)
            return strict ? mfu_fail(err, MFU_EINPUT, "%.40s: a value is missing", key) : 0;
        if (isdigit((unsigned char)value[n - 1])) { /* 9.34 s, 15.4 % */
            const char *behind = next_word(line, unit, &n);

            if (n > 0 && n < 12 && !isdigit((unsigned char)unit[0]) && !known_key(unit)
                && (strcmp(unit, "%") == 0 || mfu_log_key(key))) {
                double number, ignored;
                char both[WORD];

                if (snprintf(both, sizeof both, "%s%.11s", value, unit) >= WORD)
                    return strict ? mfu_fail(err, MFU_EINPUT, "%.40s: '%.40s' is no number", key, value) : 0;
                if (strcmp(unit, "%") == 0 || mfu_quantity_scan(both, MFU_COUNT, &ignored, NULL) == (int)strlen(both)
                    || (number = pair_value(log, find_pair(key, &ignored), 0, both), number >= 0)) {
                    memcpy(value, both, strlen(both) + 1);
                    line = behind;
                }
            }
        }
        if (put_pair(log, key, value, strict ? err : NULL) < 0 && strict)
            return -1;
    }
    return 0;
}
