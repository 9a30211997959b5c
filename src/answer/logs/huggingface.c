/*
 * huggingface.c - the Hugging Face Trainer: trainer_state.json, and the
 * dictionaries that it prints.
 *
 *     {'loss': 2.31, 'grad_norm': 1.2, 'learning_rate': 4e-05, 'epoch': 0.1}
 *     {'eval_loss': 2.2, 'eval_runtime': 12.3, ...}
 *     {'train_runtime': 1234.5, 'train_samples_per_second': 51.8, 'train_steps_per_second': 0.81, ...}
 *
 * Neither holds times of single steps: the average over the run is all there
 * is, evaluations (whose time is known) taken out.  A file of its Trainer is
 * read pair by pair: it may hold NaN, which is not JSON, and is often longer
 * than what the reader of descriptors takes.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "answer/log_format.h"

enum { EVALUATION_S, RUNTIME_S, STEPS, RATE };

static bool recognise(const char *line)
{
    return strstr(line, "\"log_history\"") || strstr(line, "'train_runtime'")
        || strstr(line, "\"train_runtime\"");
}

static void read_pair(struct mfu_log *log, const char *key, const char *value)
{
    double number = mfu_number_at(value + strspn(value, " '\""), NULL);

    if (!(number >= 0))
        return;
    if (strcmp(key, "train_runtime") == 0)
        log->sum[RUNTIME_S] = number;
    else if (strcmp(key, "train_steps_per_second") == 0)
        log->sum[RATE] = number;
    else if (strcmp(key, "eval_runtime") == 0)
        log->sum[EVALUATION_S] += number;
    else if (strcmp(key, "global_step") == 0 || (strcmp(key, "step") == 0 && number > log->sum[STEPS]))
        log->sum[STEPS] = number;
    else if (strcmp(key, "train_samples_per_second") == 0)
        log->samples_per_step = number; /* per second so far */
    else if (strcmp(key, "train_tokens_per_second") == 0)
        mfu_log_figure(log->stated, MFU_FIGURE_TOKENS_PER_S, number);
    else if (strcmp(key, "train_batch_size") == 0 || strcmp(key, "per_device_train_batch_size") == 0)
        mfu_log_set_number(log, "batch", number);
    else if (strcmp(key, "gradient_accumulation_steps") == 0)
        mfu_log_set_number(log, "accum", number);
    else if (strcmp(key, "train_loss") == 0)
        mfu_log_figure(log->stated, MFU_FIGURE_LOSS, number);
    else if (strcmp(key, "train_mem_gpu_alloc_delta") == 0)
        return;
}

/* Every "key": value of a line, in quotes of either kind. */
static void read(struct mfu_log *log, const char *line)
{
    for (const char *p = line; (p = strpbrk(p, "'\""));) {
        char key[40];
        const char *end = strchr(p + 1, *p);
        size_t n;

        if (!end)
            return;
        n = (size_t)(end - p - 1);
        if (n < sizeof key && end[1 + strspn(end + 1, " ")] == ':') {
            memcpy(key, p + 1, n);
            key[n] = '\0';
            p = end + 1 + strspn(end + 1, " ") + 1;
            if (log->sum[RUNTIME_S] == 0 || strncmp(key, "train_", 6) == 0 || strcmp(key, "global_step") == 0)
                read_pair(log, key, p);
            p += strspn(p, " ");
            if (*p == '\'' || *p == '"') { /* the value is a text: over it */
                end = strchr(p + 1, *p);
                if (!end)
                    return;
                p = end + 1;
            }
        } else
            p = end + 1;
    }
    if (log->sum[RUNTIME_S] > 0 && log->loose.line == 0)
        log->loose.line = log->line;
}

static void finish(struct mfu_log *log)
{
    double seconds = log->sum[RUNTIME_S], steps = log->sum[STEPS];
    struct mfu_log_record *r;

    if (!(seconds > 0)) {
        snprintf(log->note, sizeof log->note,
                 "a trainer_state.json has times only when the run has ended (train_runtime)");
        return;
    }
    if (log->sum[RATE] > 0 && !(steps > 0))
        steps = seconds * log->sum[RATE];
    if (!(steps > 0))
        return;
    if (log->sum[RATE] > 0 && log->samples_per_step > 0)
        log->samples_per_step = round(log->samples_per_step / log->sum[RATE]);
    else
        log->samples_per_step = NAN;
    log->line = log->loose.line;
    if (log->sum[EVALUATION_S] >= seconds)
        log->sum[EVALUATION_S] = 0;
    if (!(r = mfu_log_step(log)))
        return;
    mfu_log_figure(r->figure, MFU_FIGURE_STEP, steps);
    mfu_log_figure(r->figure, MFU_FIGURE_TIME, (seconds - log->sum[EVALUATION_S]) / steps);
    mfu_log_figure(r->figure, MFU_FIGURE_TOKENS_PER_S, log->stated[MFU_FIGURE_TOKENS_PER_S]);
    if (log->sum[EVALUATION_S] > 0)
        snprintf(log->note, sizeof log->note,
                 "step time is the average of %.0f steps, warm-up and checkpoints included, %.4g s of "
                 "evaluation taken out",
                 steps, log->sum[EVALUATION_S]);
    else
        snprintf(log->note, sizeof log->note,
                 "step time is the average of %.0f steps, warm-up, evaluation and checkpoints included",
                 steps);
}

const struct mfu_log_format mfu_log_format_huggingface = {
    .name = "huggingface-log",
    .title = "Hugging Face Trainer",
    .looks = "{'train_runtime': 1234.5, 'train_samples_per_second': 51.8, 'train_steps_per_second': 0.81}",
    .defaults = (const char *const[]){"optimizer", "adamw", "batch", "8", NULL},
    .recognise = recognise,
    .read = read,
    .finish = finish,
};
