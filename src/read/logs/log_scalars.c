/*
 * log_scalars.c - numbers that programs name: what each name means, and the steps that they make up.
 *
 * Metrics are written with many names ("perf/tokens_per_sec", "train/device/items_per_sec", "iteration-time")
 * into tables, lines of JSON, event files and runs.  One table of names reads them all.  A name is known
 * by its end, so that prefixes of trainers do not matter: the longest row that it ends with counts.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "read/logs/log_format.h"

enum what {
    FIGURE,
    OF_GPU,
    STEP,
    CALLS,
    CLOCK,
    SEEN,
    SAMPLES,
    METER,
    SAMPLES_RATE,
    STEPS_RATE,
    EVALUATION,
    IGNORED,
    PAIR
};

// clang-format off
/* Letters and digits in lower case, everything else one `_`. */
static const struct scalar_row {
    const char *name;
    enum what what;
    int figure;    /* of a clock: its rank, the first that is there counts */
    double factor; /* to the base unit */
} rows[] = {
    /* steps and clocks */
    {"step", STEP, 0, 1}, {"global_step", STEP, 0, 1}, {"iter", STEP, 0, 1}, {"iteration", STEP, 0, 1},
    {"current_steps", STEP, 0, 1}, {"num_steps", STEP, 0, 1}, {"trainer_global_step", STEP, 0, 1},
    {"wandb_step", CALLS, 0, 1}, {"wandb_timestamp", CLOCK, 1, 1}, {"wandb_runtime", CLOCK, 3, 1},
    {"timestamp", CLOCK, 2, 1}, {"wall_time", CLOCK, 2, 1}, {"walltime", CLOCK, 2, 1}, {"elapsed_time", CLOCK, 5, 1},
    {"train_runtime", CLOCK, 4, 1}, {"train_time", CLOCK, 4, 1}, {"time_total", CLOCK, 4, 1},
    /* tokens so far */
    {"num_input_tokens_seen", SEEN, 0, 1}, {"total_tokens", SEEN, 0, 1}, {"consumed_tokens", SEEN, 0, 1},
    {"tokens_seen", SEEN, 0, 1}, {"train_lengths", SEEN, 0, 1}, {"n_tokens", SEEN, 0, 1},
    {"global_batch_size", SAMPLES, 0, 1},
    /* rates of one GPU */
    {"device_tokens_per_sec", OF_GPU, MFU_FIGURE_TOKENS_PER_S, 1},
    {"device_tokens_per_second", OF_GPU, MFU_FIGURE_TOKENS_PER_S, 1},
    {"device_items_per_sec", OF_GPU, MFU_FIGURE_TOKENS_PER_S, 1},
    {"tokens_per_sec_per_gpu", OF_GPU, MFU_FIGURE_TOKENS_PER_S, 1},
    {"tokens_per_second_per_gpu", OF_GPU, MFU_FIGURE_TOKENS_PER_S, 1},
    {"tokens_train_per_sec_per_gpu", OF_GPU, MFU_FIGURE_TOKENS_PER_S, 1},
    {"throughput_tps", OF_GPU, MFU_FIGURE_TOKENS_PER_S, 1}, {"tgs", OF_GPU, MFU_FIGURE_TOKENS_PER_S, 1},
    {"device_flops_per_sec", FIGURE, MFU_FIGURE_FLOPS, 1}, {"model_tflops_per_gpu", FIGURE, MFU_FIGURE_FLOPS, 1e12},
    {"device_mfu", FIGURE, MFU_FIGURE_MFU, 1}, {"mfu_percent", FIGURE, MFU_FIGURE_MFU, 0.01},
    /* times */
    {"elapsed_time_per_iteration_ms", FIGURE, MFU_FIGURE_TIME, 1e-3},
    {"time_per_iteration_ms", FIGURE, MFU_FIGURE_TIME, 1e-3}, {"iteration_time", FIGURE, MFU_FIGURE_TIME, 1},
    {"time_metrics_end_to_end_s", FIGURE, MFU_FIGURE_TIME, 1}, {"time_train_step_time", FIGURE, MFU_FIGURE_TIME, 1},
    {"time_metrics_data_loading_s", FIGURE, MFU_FIGURE_LOADER, 1},
    /* memory */
    {"memory_max_active_gib", FIGURE, MFU_FIGURE_ALLOCATED, 0x1p30}, {"memory_max_mem_active_gib", FIGURE, MFU_FIGURE_ALLOCATED, 0x1p30},
    {"memory_max_allocated_gib", FIGURE, MFU_FIGURE_ALLOCATED, 0x1p30}, {"memory_max_mem_allocated_gib", FIGURE, MFU_FIGURE_ALLOCATED, 0x1p30},
    {"memory_max_reserved_gib", FIGURE, MFU_FIGURE_RESERVED, 0x1p30}, {"memory_device_reserved_gib", FIGURE, MFU_FIGURE_RESERVED, 0x1p30},
    {"memory_device_mem_reserved_gib", FIGURE, MFU_FIGURE_RESERVED, 0x1p30},
    {"memory_peak_allocated_mem", FIGURE, MFU_FIGURE_ALLOCATED, 1e9}, {"memory_peak_reserved_mem", FIGURE, MFU_FIGURE_RESERVED, 1e9},
    {"peak_gpu_memory_mb", FIGURE, MFU_FIGURE_ALLOCATED, 1e6},
    {"mem_max_allocated_bytes", FIGURE, MFU_FIGURE_ALLOCATED, 1}, {"allocated_bytes_all_peak", FIGURE, MFU_FIGURE_ALLOCATED, 1},
    {"reserved_bytes_all_peak", FIGURE, MFU_FIGURE_RESERVED, 1},
    /* wandb's meters of the first GPU */
    {"gpu_0_gpu", METER, MFU_FIGURE_UTILIZATION, 0.01}, {"gpu_0_memoryallocatedbytes", METER, MFU_FIGURE_SMI_USED, 1},
    {"gpu_0_powerwatts", METER, MFU_FIGURE_POWER, 1},
    /* sums over the run */
    {"train_samples_per_second", SAMPLES_RATE, 0, 1}, {"train_steps_per_second", STEPS_RATE, 0, 1},
    {"lm_loss", FIGURE, MFU_FIGURE_LOSS, 1}, {"global_avg_loss", FIGURE, MFU_FIGURE_LOSS, 1},
    /* what looks like something else */
    {"train_tokens_per_second", IGNORED, 0, 1}, {"time", IGNORED, 0, 1}, {"tokens", IGNORED, 0, 1}, {"throughput", IGNORED, 0, 1},
    {"data_loading", IGNORED, 0, 1}, {"memory", IGNORED, 0, 1}, {"size", IGNORED, 0, 1}, {"total_flos", IGNORED, 0, 1},
    {"eval", EVALUATION, 0, 1}};
// clang-format on
#define ROWS ((int)(sizeof rows / sizeof rows[0]))

static void canonical(char *to, size_t size, const char *name)
{
    size_t n = 0;

    if (*name == '_') /* _step, _timestamp */
        n = (size_t)snprintf(to, size, "wandb_");
    for (; *name && n + 1 < size; name++)
        if (isalnum((unsigned char)*name))
            to[n++] = (char)tolower((unsigned char)*name);
        else if (n > 0 && to[n - 1] != '_')
            to[n++] = '_';
    while (n > 0 && to[n - 1] == '_')
        n--;
    to[n] = '\0';
}

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);

    return n >= m && strcmp(name + n - m, end) == 0 && (n == m || name[n - m - 1] == '_');
}

static bool of_evaluation(const char *name)
{
    static const char *const beginnings[] = {"eval_", "val_", "valid", "test_", "metrics_eval", "loss_val"};

    for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++)
        if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return strstr(name, "_eval_") || strstr(name, "_val_") || strstr(name, "_validation");
}

/* The last part of a path: "perf/tokens_per_sec", "train|mfu". */
static const char *last_part(const char *name)
{
    const char *part = name;

    for (const char *p = name; *p; p++)
        if (strchr("/|", *p) && p[1])
            part = p + 1;
    return part;
}

int mfu_log_scalar_kind(const char *name)
{
    char key[96];
    int best = -1;

    canonical(key, sizeof key, name);
    if (of_evaluation(key))
        return ROWS - 1;
    for (int i = 0; i < ROWS; i++)
        if (ends_with(key, rows[i].name) && (best < 0 || strlen(rows[i].name) > strlen(rows[best].name)))
            best = i;
    if ((best < 0 || rows[best].what == IGNORED) && mfu_log_pair_is(last_part(name))
        && !(best >= 0 && strcmp(key, rows[best].name) == 0))
        return ROWS; /* a figure by a name that people write, too */
    return best;
}

bool mfu_log_scalar_times(int kind)
{
    return kind == ROWS
        || (kind >= 0
            && (rows[kind].what == CLOCK || rows[kind].what == OF_GPU
                || (rows[kind].what == FIGURE && rows[kind].figure == MFU_FIGURE_TIME)));
}

/* The largest memory, the mean of what else a meter reads while the GPU has work. */
static void put_meter(struct mfu_log *log, int figure, double value)
{
    double *stated = &log->stated[figure],
           *n = &log->scalar.meters[figure == MFU_FIGURE_POWER ? 2 : figure == MFU_FIGURE_UTILIZATION];

    if (!(value > 0))
        return;
    if (isnan(*stated) || (figure == MFU_FIGURE_SMI_USED && value > *stated))
        mfu_log_figure(log->stated, (enum mfu_figure)figure, value);
    else if (figure != MFU_FIGURE_SMI_USED)
        mfu_log_figure(log->stated, (enum mfu_figure)figure, *stated + (value - *stated) / (*n + 1));
    *n += 1;
}

void mfu_log_scalar_of(struct mfu_log *log, int kind, const char *name, double value)
{
    const struct scalar_row *row = kind >= 0 && kind < ROWS ? &rows[kind] : NULL;
    double *figures = log->loose.figure;

    if (kind < 0 || !isfinite(value))
        return;
    if (row && row->what == EVALUATION) {
        log->scalar.evaluated = true;
        return;
    }
    if (row && row->what != STEP && row->what != CLOCK && row->what != CALLS && row->what != METER)
        log->scalar.begun = true;
    switch (row ? row->what : PAIR) {
    case PAIR: {
        double rate = figures[MFU_FIGURE_TOKENS_PER_S];

        log->scalar.begun = true;
        mfu_log_pair_number(log, last_part(name), value);
        if (figures[MFU_FIGURE_TOKENS_PER_S] != rate && !isnan(figures[MFU_FIGURE_TOKENS_PER_S]))
            log->rate_per_gpu = false; /* of all GPUs: better known */
        break;
    }
    case FIGURE: mfu_log_figure(figures, (enum mfu_figure)row->figure, value * row->factor); break;
    case OF_GPU: {
        double gpus = figures[row->figure] / value;

        if (isnan(figures[row->figure])) {
            log->rate_per_gpu = true;
            mfu_log_figure(figures, (enum mfu_figure)row->figure, value);
        } else if (log->n_records == 0 && round(gpus) > 1 && fabs(gpus / round(gpus) - 1) < 0.02)
            mfu_log_set_number(log, "gpus", round(gpus));
        break;
    }
    case STEP:
    case CALLS: /* only where there is no count of steps */
        if (value >= 0 && value < 1e12 && (isnan(log->scalar.step) || (log->scalar.calls && row->what == STEP))) {
            log->scalar.step = value;
            log->scalar.calls = row->what == CALLS;
        }
        break;
    case CLOCK:
        if (isnan(log->scalar.wall_s) || row->figure < log->scalar.clock) {
            log->scalar.wall_s = value;
            log->scalar.clock = row->figure;
        }
        break;
    case SEEN: log->scalar.tokens = value; break;
    case SAMPLES:
        if (value >= 1 && value < 1e9)
            log->loose.samples = log->samples_per_step = value;
        break;
    case METER: put_meter(log, row->figure, value * row->factor); break;
    case SAMPLES_RATE: log->scalar.samples_rate = value; break;
    case STEPS_RATE: log->scalar.steps_rate = value; break;
    default: break;
    }
}

void mfu_log_scalar(struct mfu_log *log, const char *name, double value)
{
    mfu_log_scalar_of(log, mfu_log_scalar_kind(name), name, value);
}

/* Tokens of a step, as the count of them grows; it says nothing once it varies. */
static void count_tokens(struct mfu_log *log, double tokens, double steps)
{
    double each = tokens / steps, *known = &log->scalar.tokens_each;

    if (!(each > 0) || isnan(*known))
        return;
    *known = *known == 0 || fabs(each / *known - 1) < 1e-6 ? each : (double)NAN;
}

/* What the clocks of two records say of the steps between them. */
static void time_record(struct mfu_log *log, struct mfu_log_record *r)
{
    double steps = log->scalar.step - log->scalar.before, seconds = log->scalar.wall_s - log->scalar.before_s;
    double tokens = log->scalar.tokens - log->scalar.tokens_before;

    if (steps > 0)
        count_tokens(log, tokens, steps);
    if (!isnan(r->figure[MFU_FIGURE_TIME]) || !isnan(r->figure[MFU_FIGURE_TOKENS_PER_S]) || !(seconds > 0)
        || log->scalar.clock != log->scalar.clock_before)
        return;
    if (steps > 0)
        mfu_log_figure(r->figure, MFU_FIGURE_TIME, seconds / steps);
    else if (isnan(steps) && tokens > 0)
        mfu_log_figure(r->figure, MFU_FIGURE_TOKENS_PER_S, tokens / seconds);
    log->scalar.walls |= steps > 0 || tokens > 0;
}

void mfu_log_scalars_end(struct mfu_log *log)
{
    struct mfu_log_record *r;
    int line = log->line;
    bool figures = false;

    for (int f = 0; f < MFU_FIGURE_COUNT; f++)
        figures |= !isnan(log->loose.figure[f]);
    if (log->scalar.begun && (figures || !log->scalar.evaluated)) {
        log->line = log->loose.line ? log->loose.line : line;
        if ((r = mfu_log_step(log))) {
            memcpy(r->figure, log->loose.figure, sizeof r->figure);
            r->samples = log->loose.samples;
            mfu_log_figure(r->figure, MFU_FIGURE_STEP, log->scalar.step);
            time_record(log, r);
        }
        log->line = line;
        log->scalar.before = log->scalar.step;
        log->scalar.before_s = log->scalar.wall_s;
        log->scalar.clock_before = log->scalar.clock;
        log->scalar.tokens_before = log->scalar.tokens;
    }
    if (log->scalar.evaluated)
        mfu_log_happened(log, MFU_EVENT_EVALUATION);
    log->scalar.begun = log->scalar.evaluated = log->scalar.calls = false;
    log->scalar.step = log->scalar.wall_s = log->scalar.tokens = NAN;
    log->loose.line = 0;
    log->loose.samples = 0;
    mfu_log_clear(log->loose.figure);
}

void mfu_log_scalars_at(struct mfu_log *log, double step, double wall_s)
{
    if (step != log->scalar.step && (log->scalar.begun || log->scalar.evaluated))
        mfu_log_scalars_end(log);
    if (!log->loose.line)
        log->loose.line = log->line;
    log->scalar.step = step;
    if (!isnan(wall_s)) {
        log->scalar.wall_s = wall_s;
        log->scalar.clock = 0; /* the file's own */
    }
}

void mfu_log_scalars_finish(struct mfu_log *log)
{
    double samples = log->scalar.samples_rate / log->scalar.steps_rate;

    mfu_log_scalars_end(log);
    if (log->scalar.tokens_each > 0)
        log->tokens_per_step = round(log->scalar.tokens_each);
    if (isnan(log->samples_per_step) && samples >= 1 && samples < 1e9) {
        log->samples_per_step = round(samples);
        log->samples_rough = true;
    }
    if (log->scalar.walls && !log->note[0])
        snprintf(log->note, sizeof log->note,
                 "steps are timed by the clock between two records: what happens between steps is in it");
    else if (log->n_records > 0 && !log->scalar.walls && !log->note[0]) {
        bool timed = false;

        for (size_t i = 0; i < log->n_records && !timed; i++)
            timed = !isnan(log->records[i].figure[MFU_FIGURE_TIME])
                || !isnan(log->records[i].figure[MFU_FIGURE_TOKENS_PER_S]);
        if (!timed)
            snprintf(log->note, sizeof log->note,
                     "its records have neither times nor clocks: log step time or tokens/s, too");
    }
}

/* ---- pairs in quotes -------------------------------------------------------- */

void mfu_log_quoted(struct mfu_log *log, const char *line,
                    void (*put)(struct mfu_log *, const char *key, const char *value))
{
    for (const char *p = line; (p = strpbrk(p, "'\""));) {
        char key[96];
        const char *end = strchr(p + 1, *p);
        size_t n;

        if (!end)
            return;
        n = (size_t)(end - p - 1);
        if (n >= sizeof key || end[1 + strspn(end + 1, " ")] != ':') {
            p = end + 1;
            continue;
        }
        memcpy(key, p + 1, n);
        key[n] = '\0';
        p = end + 1 + strspn(end + 1, " ") + 1;
        p += strspn(p, " ");
        put(log, key, p);
        if (*p == '\'' || *p == '"') { /* the value is a text: over it */
            if (!(end = strchr(p + 1, *p)))
                return;
            p = end + 1;
        }
    }
}

double mfu_log_value(const char *text)
{
    const char *end;
    double value, part;

    text += strspn(text, " '\"");
    value = mfu_number_at(text, &end);
    for (int i = 0; i < 2 && end > text && *end == ':'; i++) { /* 1:02:03 */
        text = end + 1;
        if (isnan(part = mfu_number_at(text, &end)))
            break;
        value = 60 * value + part;
    }
    return value;
}

/* ---- ranks and resumes ------------------------------------------------------ */

static int by_step(const void *a, const void *b)
{
    const struct mfu_log_record *x = a, *y = b;
    double p = x->figure[MFU_FIGURE_STEP], q = y->figure[MFU_FIGURE_STEP];

    return p != q ? (p > q) - (p < q) : (x->line > y->line) - (x->line < y->line);
}

/* Of several ranks' records of a step the slowest time, the lowest rate, the most memory. */
static void merge(struct mfu_log_record *to, const struct mfu_log_record *from)
{
    for (int f = 0; f < MFU_FIGURE_COUNT; f++) {
        bool rate = f == MFU_FIGURE_TOKENS_PER_S || f == MFU_FIGURE_MFU || f == MFU_FIGURE_FLOPS;
        double *a = &to->figure[f], b = from->figure[f];

        *a = rate ? fmin(*a, b) : fmax(*a, b); /* NAN gives way */
    }
    if (to->event == MFU_EVENT_NONE)
        to->event = from->event;
}

static void merge_ranks(struct mfu_log *log)
{
    struct mfu_log_record *sorted = malloc((log->n_records + 1) * sizeof *sorted);
    size_t n = 0, distinct = 0;

    if (!sorted) {
        log->failed = true;
        return;
    }
    for (; n < log->n_records && !isnan(log->records[n].figure[MFU_FIGURE_STEP]); n++)
        sorted[n] = log->records[n];
    qsort(sorted, n, sizeof *sorted, by_step);
    for (size_t i = 0; i < n; i++)
        distinct += i == 0 || sorted[i].figure[MFU_FIGURE_STEP] != sorted[i - 1].figure[MFU_FIGURE_STEP];
    if (n == log->n_records && distinct >= 3 && (double)n >= 1.9 * (double)distinct) {
        log->n_records = 0;
        for (size_t i = 0; i < n; i++)
            if (i > 0 && sorted[i].figure[MFU_FIGURE_STEP] == sorted[i - 1].figure[MFU_FIGURE_STEP])
                merge(&log->records[log->n_records - 1], &sorted[i]);
            else
                log->records[log->n_records++] = sorted[i];
        if (!log->note[0])
            snprintf(log->note, sizeof log->note,
                     "%.0f lines for each step, of several ranks: of each step the slowest counts",
                     round((double)n / (double)distinct));
    }
    free(sorted);
}

void mfu_log_settle(struct mfu_log *log)
{
    double last = NAN;

    merge_ranks(log);
    for (size_t i = 0; i < log->n_records; i++) {
        double step = log->records[i].figure[MFU_FIGURE_STEP];

        log->records[i].resumed = step < last;
        if (!isnan(step))
            last = step;
    }
}

void mfu_log_reading(struct mfu_log *log, const double *figures)
{
    bool idle = figures[MFU_FIGURE_UTILIZATION] == 0;
    struct mfu_log_record *r = idle ? NULL : mfu_log_step(log);

    if (r)
        memcpy(r->figure, figures, sizeof r->figure);
}

void mfu_log_append(struct mfu_log *log, const struct mfu_log *other)
{
    for (int i = 0; i < other->n_settings; i++) {
        log->line = other->settings[i].line;
        mfu_log_set(log, other->settings[i].key, other->settings[i].value);
    }
    for (size_t i = 0; i < other->n_records; i++) {
        struct mfu_log_record *r = mfu_log_step(log);

        if (r)
            *r = other->records[i];
    }
}
