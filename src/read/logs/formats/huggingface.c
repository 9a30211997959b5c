/*
 * huggingface.c - the Hugging Face Trainer: trainer_state.json, and the
 * dictionaries that it prints.
 *
 *       Instantaneous batch size per device = 8
 *       Total train batch size (w. parallel, distributed & accumulation) = 64
 *       Gradient Accumulation steps = 1
 *     {'loss': 2.31, 'grad_norm': 1.2, 'learning_rate': 4e-05, 'epoch': 0.1}
 *     {'eval_loss': 2.2, 'eval_runtime': 12.3, ...}
 *     {'train_runtime': 1234.5, 'train_samples_per_second': 51.8, 'train_steps_per_second': 0.81, ...}
 *
 * The lines in front are those of its log (INFO).  Neither holds times of single steps: the average over the run is all there
 * is, evaluations (whose time is known) taken out.  Rates are rounded to three
 * decimals, so that of a slow run only rate times runtime says anything: how
 * many steps and samples there were.  A file of its Trainer is
 * read pair by pair: it may hold NaN, which is not JSON, and is often longer
 * than what the reader of descriptors takes.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "read/logs/log_format.h"

enum { EVALUATION_S, RUNTIME_S, STEPS, RATE, SAMPLES_RATE, RESUMED_AT, BATCH, ACCUM, TOTAL };
#define ROUNDED 0.0005 /* what a printed rate may be off */

static bool recognise(const char *line)
{
    return strstr(line, "\"log_history\"") || strstr(line, "'train_runtime'") || strstr(line, "\"train_runtime\"");
}

/* The only time that there is: a second one is another run's. */
static void end_of_run(struct mfu_log *log, double seconds)
{
    if (log->sum[RUNTIME_S] > 0 && log->sum[RUNTIME_S] != seconds && !log->contradiction[0]) {
        snprintf(log->contradiction, sizeof log->contradiction,
                 "train_runtime is %.12g here and %.12g in line %d: two runs in one file? Keep the lines of one",
                 seconds, log->sum[RUNTIME_S], log->loose.line);
        log->contradiction_line = log->line;
    }
    log->sum[RUNTIME_S] = seconds;
}

static void read_pair(struct mfu_log *log, const char *key, const char *value)
{
    double number = mfu_number_at(value + strspn(value, " '\""), NULL);

    if (!(number >= 0))
        return;
    if (strcmp(key, "train_runtime") == 0)
        end_of_run(log, number);
    else if (strcmp(key, "train_steps_per_second") == 0)
        log->sum[RATE] = number;
    else if (strcmp(key, "eval_runtime") == 0)
        log->sum[EVALUATION_S] += number;
    else if (strcmp(key, "global_step") == 0 || (strcmp(key, "step") == 0 && number > log->sum[STEPS]))
        log->sum[STEPS] = number;
    else if (strcmp(key, "train_samples_per_second") == 0)
        log->sum[SAMPLES_RATE] = number;
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

/* What stands before the first step.  The last of the three says how many GPUs
 * share what a step trains on. */
static bool read_header(struct mfu_log *log, const char *line)
{
    static const struct {
        const char *label;
        int sum;
    } rows[] = {{"Instantaneous batch size per device =", BATCH},
                {"Total train batch size (w. parallel, distributed & accumulation) =", TOTAL},
                {"Gradient Accumulation steps =", ACCUM}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double number = mfu_number_after(line, rows[i].label);

        if (!(number >= 1 && number < 1e9))
            continue;
        log->sum[rows[i].sum] = number;
        if (rows[i].sum == BATCH)
            mfu_log_set_number(log, "batch", number);
        else if (rows[i].sum == ACCUM) {
            double gpus = log->sum[TOTAL] / (log->sum[BATCH] * number);

            mfu_log_set_number(log, "accum", number);
            if (gpus >= 1 && gpus < 1e6 && gpus == floor(gpus))
                mfu_log_set_number(log, "gpus", gpus);
        }
        return true;
    }
    return false;
}

/* Every "key": value of a line, in quotes of either kind. */
static void read(struct mfu_log *log, const char *line)
{
    if (read_header(log, line))
        return;
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
    if (mfu_number_after(line, "Continuing training from global step ") > 0)
        log->sum[RESUMED_AT] = mfu_number_after(line, "Continuing training from global step ");
}

/* Nobody prints the number of steps: the one within rounding of the rate for which
 * the samples come out even, the most even if there are several (512 rather than
 * 502); 0: none does. */
static double solve_steps(double seconds, double rate, double samples)
{
    double low = ceil(seconds * (rate - ROUNDED)), high = floor(seconds * (rate + ROUNDED));
    double off = ROUNDED * seconds + 1e-6, best = 0;
    unsigned long evenness = 0;

    if (!(high < 1e9))
        return 0;
    for (double steps = fmax(low, 1); steps <= high && steps < low + 1e6; steps++) {
        double each = round(samples / steps);
        unsigned long n = (unsigned long)each;

        if (each < 1 || each > 1e9 || fabs(each * steps - samples) > off || (n & -n) <= evenness)
            continue;
        evenness = n & -n; /* its largest power of two */
        best = steps;
    }
    return best;
}

static void finish(struct mfu_log *log)
{
    double seconds = log->sum[RUNTIME_S], steps = log->sum[STEPS], trained;
    double samples = log->sum[SAMPLES_RATE] * seconds; /* of all steps, the resumed ones', too */
    char evaluation[80] = "warm-up, evaluation and checkpoints included";
    struct mfu_log_record *r;

    if (!(seconds > 0)) {
        snprintf(log->note, sizeof log->note,
                 "a trainer_state.json has times only when the run has ended (train_runtime)");
        return;
    }
    if (log->sum[RATE] > 0 && !(steps > 0) && samples > 0)
        steps = solve_steps(seconds, log->sum[RATE], samples);
    if (log->sum[RATE] > 0 && !(steps > 0))
        steps = round(seconds * log->sum[RATE]);
    trained = steps - log->sum[RESUMED_AT];
    if (!(trained > 0))
        return;
    if (samples > 0) {
        log->samples_per_step = round(samples / steps);
        log->samples_rough = true;
    }
    log->line = log->loose.line;
    if (log->sum[EVALUATION_S] >= seconds)
        log->sum[EVALUATION_S] = 0;
    if (!(r = mfu_log_step(log)))
        return;
    mfu_log_figure(r->figure, MFU_FIGURE_STEP, steps);
    mfu_log_figure(r->figure, MFU_FIGURE_TIME, (seconds - log->sum[EVALUATION_S]) / trained);
    mfu_log_figure(r->figure, MFU_FIGURE_TOKENS_PER_S, log->stated[MFU_FIGURE_TOKENS_PER_S]);
    if (log->sum[EVALUATION_S] > 0)
        snprintf(evaluation, sizeof evaluation, "warm-up and checkpoints included, %.4g s of evaluation taken out",
                 log->sum[EVALUATION_S]);
    snprintf(log->note, sizeof log->note,
             "step time is the average of %.0f steps, %s; of a resumed run it is too short: train_runtime is "
             "the last part's, global_step all's",
             trained, evaluation);
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
