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
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "read/logs/log_format.h"

enum { EVALUATION_S, RUNTIME_S, STEPS, RATE, SAMPLES_RATE, RESUMED_AT, BATCH, ACCUM, TOTAL, CLOCK_S, SUMMED };
#define ROUNDED 0.0005 /* what a printed rate may be off */

static bool recognise(const char *line)
{
    return strstr(line, "\"log_history\"") || strstr(line, "'train_runtime'") || strstr(line, "\"train_runtime\":")
        || (strstr(line, "'loss':") && strstr(line, "'learning_rate':"));
}

/* The only time that there is: a second one is another run's. */
static void end_of_run(struct mfu_log *log, double seconds)
{
    if (log->sum[RUNTIME_S] > 0 && log->sum[RUNTIME_S] != seconds && !log->contradiction[0]) {
        snprintf(log->contradiction, sizeof log->contradiction,
                 "train_runtime is %.12g here and %.12g in line %d: two runs in one file? Keep the lines of one",
                 seconds, log->sum[RUNTIME_S], (int)log->sum[SUMMED]);
        log->contradiction_line = log->line;
    }
    log->sum[RUNTIME_S] = seconds;
}

static void read_pair(struct mfu_log *log, const char *key, const char *value)
{
    double number = mfu_log_value(value);

    if (!(number >= 0)
        || (log->sum[RUNTIME_S] > 0 && strncmp(key, "train_", 6) != 0 && strcmp(key, "global_step") != 0))
        return;
    if (strcmp(key, "train_loss") != 0 && strcmp(key, "global_step") != 0)
        mfu_log_scalar(log, key, number);
    if (strcmp(key, "train_runtime") == 0)
        log->sum[CLOCK_S] = number; /* so far; of all the run where rates follow */
    else if (strcmp(key, "train_steps_per_second") == 0) {
        log->sum[RATE] = number;
        log->scalar.summary = true;
        end_of_run(log, log->sum[CLOCK_S]);
    } else if (strcmp(key, "eval_runtime") == 0)
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

/* What of an entry can be timed is a step; the last one sums up the run. */
static void end_entry(struct mfu_log *log)
{
    log->scalar.begun &=
        !log->scalar.summary && (!isnan(log->loose.figure[MFU_FIGURE_TOKENS_PER_S]) || !isnan(log->scalar.wall_s));
    if (log->scalar.summary && !log->sum[SUMMED])
        log->sum[SUMMED] = log->line;
    log->scalar.summary = false;
    mfu_log_scalars_end(log);
}

static void read(struct mfu_log *log, const char *line)
{
    if (read_header(log, line))
        return;
    log->loose.line = log->line;
    mfu_log_quoted(log, line, read_pair);
    if (strchr(line, '}'))
        end_entry(log);
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

    if (log->n_records >= 3) { /* times of steps are better than their average */
        mfu_log_scalars_finish(log);
        log->stated[MFU_FIGURE_TOKENS_PER_S] = NAN; /* an average since the start */
        return;
    }
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
    log->line = (int)log->sum[SUMMED];
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
    .of_anything = true,
    .defaults = (const char *const[]){"optimizer", "adamw", "batch", "8", NULL},
    .recognise = recognise,
    .read = read,
    .finish = finish,
};
