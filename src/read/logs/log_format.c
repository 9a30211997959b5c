/*
 * log_format.c - what all formats of logs share: putting down, reading numbers,
 * assignments.
 */
#include "read/logs/log_format.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"

const struct mfu_figure_row mfu_figure_rows[MFU_FIGURE_COUNT] = {
#define X(id, key, dim, most, name) {key, dim, most, name},
    MFU_FIGURES(X)
#undef X
};

/* ---- putting down -------------------------------------------------------- */

void mfu_log_clear(double *figures)
{
    for (int i = 0; i < MFU_FIGURE_COUNT; i++)
        figures[i] = NAN;
}

void mfu_log_start(struct mfu_log *log, const char *path)
{
    *log = (struct mfu_log){
        .path = path,
        .params = NAN,
        .params_digit = 0,
        .tokens_per_step = NAN,
        .samples_per_step = NAN,
        .flops_per_token = NAN,
        .peak_flops = NAN,
        .scalar = {.step = NAN, .wall_s = NAN, .tokens = NAN, .before = NAN, .before_s = NAN, .tokens_before = NAN}};
    mfu_log_clear(log->stated);
    mfu_log_clear(log->loose.figure);
}

void mfu_log_release(struct mfu_log *log)
{
    free(log->records);
    free(log->titles);
    log->titles = NULL;
    log->records = NULL;
    log->n_records = log->cap_records = 0;
}

struct mfu_log_record *mfu_log_step(struct mfu_log *log)
{
    struct mfu_log_record *r;

    if (log->n_records == MFU_LOG_RECORDS) {
        log->too_many++;
        return NULL;
    }
    if (!MFU_ROOM(log->records, log->n_records + 1, log->cap_records)) {
        log->failed = true;
        return NULL;
    }
    r = &log->records[log->n_records++];
    *r = (struct mfu_log_record){.line = log->line, .event = log->event};
    log->event = MFU_EVENT_NONE;
    mfu_log_clear(r->figure);
    return r;
}

void mfu_log_figure(double *figures, enum mfu_figure which, double value)
{
    double least = which == MFU_FIGURE_TIME || which == MFU_FIGURE_TOKENS_PER_S || which == MFU_FIGURE_MFU ? 1e-9 : 0;

    if (value >= least && value <= mfu_figure_rows[which].most)
        figures[which] = value;
}

void mfu_log_happened(struct mfu_log *log, enum mfu_log_event event)
{
    if (log->event == MFU_EVENT_NONE)
        log->event = event;
}

/* Between steps nothing of the configuration changes: then it is another run's. */
static void contradict(struct mfu_log *log, const char *key, const char *here, const char *before, int line)
{
    char where[32] = "before";

    if (log->n_records == 0 || log->contradiction[0])
        return;
    if (line > 0)
        snprintf(where, sizeof where, "in line %d", line);
    snprintf(log->contradiction, sizeof log->contradiction,
             "%.40s is %.64s here and %.64s %s: two runs in one file? Keep the lines of one", key, here, before, where);
    log->contradiction_line = log->line;
}

void mfu_log_set(struct mfu_log *log, const char *key, const char *value)
{
    struct mfu_log_setting *s = NULL;

    if (!*key || !*value || strlen(key) >= sizeof s->key || strlen(value) >= sizeof s->value)
        return;
    for (int i = 0; i < log->n_settings && !s; i++)
        if (strcmp(log->settings[i].key, key) == 0)
            s = &log->settings[i];
    if (s && strcmp(s->value, value) != 0)
        contradict(log, key, value, s->value, s->line);
    if (!s && log->n_settings < MFU_LOG_SETTINGS)
        s = &log->settings[log->n_settings++];
    if (!s)
        return;
    memcpy(s->key, key, strlen(key) + 1);
    memcpy(s->value, value, strlen(value) + 1);
    s->line = log->line;
    s->origin = "log";
}

void mfu_log_set_number(struct mfu_log *log, const char *key, double value)
{
    char text[32];

    if (value >= 0 && value <= 1e15) {
        snprintf(text, sizeof text, "%.12g", value);
        mfu_log_set(log, key, text);
    }
}

void mfu_log_fact(struct mfu_log *log, double *fact, const char *name, double value)
{
    char here[32], before[32];

    if (!(value > 0))
        return;
    snprintf(here, sizeof here, "%.12g", value);
    snprintf(before, sizeof before, "%.12g", *fact);
    if (*fact > 0 && strcmp(here, before) != 0)
        contradict(log, name, here, before, 0);
    *fact = value;
}

void mfu_log_changed(struct mfu_log *log, const char *name, const char *here, const char *before)
{
    contradict(log, name, here, before, 0);
}

/* ---- reading ------------------------------------------------------------- */

const char *mfu_log_after(const char *line, const char *label)
{
    const char *p = strstr(line, label);

    if (!p)
        return NULL;
    p += strlen(label);
    return p + strspn(p, " \t");
}

double mfu_number_at(const char *text, const char **end)
{
    char digits[48], *stop;
    size_t n = 0, i = 0;
    double value;

    if (end)
        *end = text;
    while (n + 1 < sizeof digits) {
        char c = text[i];

        if (c == ',' && n > 0 && isdigit((unsigned char)digits[n - 1]) && isdigit((unsigned char)text[i + 1])
            && isdigit((unsigned char)text[i + 2]) && isdigit((unsigned char)text[i + 3])
            && !isdigit((unsigned char)text[i + 4])) {
            i++; /* 524,288 */
            continue;
        }
        if (!(isdigit((unsigned char)c) || c == '.'
              || ((c == '-' || c == '+') && (n == 0 || tolower((unsigned char)digits[n - 1]) == 'e'))
              || (tolower((unsigned char)c) == 'e' && n > 0
                  && (isdigit((unsigned char)text[i + 1]) || text[i + 1] == '-' || text[i + 1] == '+'))))
            break;
        digits[n++] = c;
        i++;
    }
    digits[n] = '\0';
    value = strtod(digits, &stop);
    if (stop == digits)
        return NAN;
    if (end)
        *end = text + i;
    return isfinite(value) ? value : NAN;
}

double mfu_number_after(const char *line, const char *label)
{
    const char *p = mfu_log_after(line, label);

    return p ? mfu_number_at(p, NULL) : NAN;
}

double mfu_digit_at(const char *text)
{
    const char *p = text + strspn(text, "+-0123456789,");
    size_t digits;

    if (*p != '.')
        return 1;
    digits = strspn(p + 1, "0123456789");
    return pow(10, -(double)(digits < 12 ? digits : 12));
}

void mfu_copy_until(char *to, size_t size, const char *from, const char *stops)
{
    size_t n;

    from += strspn(from, " \t'\"");
    n = strcspn(from, stops);
    while (n > 0 && strchr(" \t'\"", from[n - 1]))
        n--;
    if (n >= size)
        n = size - 1;
    memcpy(to, from, n);
    to[n] = '\0';
}

/* ---- assignments --------------------------------------------------------- */

// clang-format off
static const struct { const char *theirs, *ours; } assigned[] = {
    {"batch_size", "batch"}, {"micro_batch_size", "batch"}, {"device_batch_size", "batch"},
    {"per_device_train_batch_size", "batch"}, {"local_batch_size", "batch"},
    {"gradient_accumulation_steps", "accum"}, {"block_size", "seq"}, {"max_seq_len", "seq"},
    {"sequence_len", "seq"}, {"seq_len", "seq"}, {"num_hidden_layers", "n_layer"}, {"hidden_size", "n_embd"},
    {"num_attention_heads", "n_head"}, {"num_key_value_heads", "n_kv_head"}, {"intermediate_size", "d_ff"}, {"seq_length", "seq"},
    {"n_layer", "n_layer"}, {"n_head", "n_head"}, {"n_kv_head", "n_kv_head"}, {"n_embd", "n_embd"},
    {"dropout", "dropout"}, {"bias", "bias"}, {"vocab_size", "vocab_size"}, {"grad_clip", "grad_clip"},
    {"dtype", "precision"}, {"compile", "runtime"}, {"gpus", "gpus"}, {"accum", "accum"}, {"batch", "batch"}};
/* float32 is TF32: all these programs allow it. */
static const struct { const char *key, *theirs, *ours; } values[] = {
    {"precision", "bfloat16", "bf16"}, {"precision", "float16", "fp16"}, {"precision", "float32", "tf32"},
    {"runtime", "True", "compile"}, {"runtime", "true", "compile"}, {"runtime", "False", "eager"}, {"runtime", "false", "eager"},
    {"bias", "True", "1"}, {"bias", "False", "0"}, {"bias", "true", "1"}, {"bias", "false", "0"}};
// clang-format on

bool mfu_log_assignment(struct mfu_log *log, const char *line)
{
    char name[40], value[72];
    const char *p;
    size_t n;

    line += strspn(line, " \t\"'-");
    n = strspn(line, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    p = line + n + strspn(line + n, " \t\"'");
    if (n == 0 || n >= sizeof name || (*p != '=' && *p != ':') || p[1] == '=')
        return false;
    memcpy(name, line, n);
    name[n] = '\0';
    mfu_copy_until(value, sizeof value, p + 1, "#,;");
    for (size_t i = 0; i < sizeof assigned / sizeof assigned[0]; i++) {
        const char *key = assigned[i].ours;

        if (strcmp(assigned[i].theirs, name) != 0)
            continue;
        if (strcmp(value, "None") == 0 || strcmp(value, "null") == 0 || !*value)
            return true;
        for (size_t k = 0; k < sizeof values / sizeof values[0]; k++)
            if (strcmp(values[k].key, key) == 0 && strcmp(values[k].theirs, value) == 0) {
                mfu_log_set(log, key, values[k].ours);
                return true;
            }
        if (strspn(value, "0123456789.+-*/()eE_ ") == strlen(value) && strpbrk(value, "0123456789")) {
            char plain[72]; /* 524_288 */
            size_t m = 0;

            for (const char *q = value; *q; q++)
                if (*q != '_')
                    plain[m++] = *q;
            plain[m] = '\0';
            if (strpbrk(plain, "*/()") == NULL)
                mfu_log_set_number(log, key, mfu_number_at(plain, NULL));
            else
                mfu_log_set(log, key, plain);
            return true;
        }
        return true; /* dtype = 'bfloat16' if ... else ...: left open */
    }
    return false;
}
