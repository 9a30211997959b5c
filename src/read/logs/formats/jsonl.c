/*
 * jsonl.c - a JSON object per step on a line: loops of one's own, LLaMA-Factory's trainer_log.jsonl, a
 * history exported from wandb, composer's and torchtune's files.
 *
 *     {"step": 100, "loss": 2.31, "tokens_per_sec": 56100, "_timestamp": 1732271000.1}
 *
 * Read pair by pair: NaN, which such files hold, is not JSON.  Objects in objects count by their inner names.
 */
#include <math.h>
#include <string.h>

#include "read/logs/log_format.h"

static bool recognise(const char *line)
{
    static const char *const timed[] = {
        "\"step_time",    "\"step_ms",     "\"iter_time",  "tokens_per_s",   "\"tps\"",           "\"dt\"",   "\"mfu\"",
        "\"_timestamp\"", "\"timestamp\"", "\"_runtime\"", "\"elapsed_time", "\"train_runtime\"", "tok_per_s"};
    size_t n = strlen(line);

    while (n > 0 && strchr(" \t\r", line[n - 1]))
        n--;
    if (line[0] != '{' || line[1 + strspn(line + 1, " ")] != '"' || n < 2 || line[n - 1] != '}'
        || !(strstr(line, "step") || strstr(line, "iter")))
        return false;
    for (size_t i = 0; i < sizeof timed / sizeof timed[0]; i++)
        if (strstr(line, timed[i]))
            return true;
    return false;
}

static void put(struct mfu_log *log, const char *key, const char *value)
{
    char text[200];

    snprintf(text, sizeof text, "%.90s = %.100s", key, value);
    text[strcspn(text, "}")] = '\0';
    if (!mfu_log_assignment(log, text))
        mfu_log_scalar(log, key, mfu_log_value(value));
}

static void read(struct mfu_log *log, const char *line)
{
    if (line[strspn(line, " \t")] != '{')
        return;
    log->loose.line = log->line;
    mfu_log_quoted(log, line, put);
    mfu_log_scalars_end(log);
}

const struct mfu_log_format mfu_log_format_jsonl = {
    .name = "json-lines",
    .title = "lines of JSON",
    .looks = "{\"step\": 100, \"loss\": 2.31, \"tokens_per_sec\": 56100}",
    .of_anything = true,
    .recognise = recognise,
    .read = read,
    .finish = mfu_log_scalars_finish,
};
