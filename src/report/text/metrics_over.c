/*
 * metrics_over.c - the meters through the step, a line of bars for each.
 */
#include <math.h>
#include <stddef.h>

#include "base/quantity.h"
#include "report/metrics_over.h"
#include "report/text/text.h"
#include "base/short.h"

#define NAME 17
#define NUMBERS 18 /* on the right: mean and lowest */

static const struct {
    const char *name;
    size_t offset;
} lines[] = {
    {"GPU utilization", offsetof(struct mfu_metrics, gpu_utilization)},
    {"SM activity", offsetof(struct mfu_metrics, sm_active)},
    {"tensor activity", offsetof(struct mfu_metrics, tensor_active)},
    {"DRAM activity", offsetof(struct mfu_metrics, dram_active)},
    {"MFU", offsetof(struct mfu_metrics, mfu)},
};
#define N_LINES (sizeof lines / sizeof *lines)

int mfu_text_metrics_slices(const struct mfu_term *t)
{
    int columns = mfu_text_columns(t) - NAME - NUMBERS;

    return columns < 16 ? 16 : columns;
}

static double value(const struct mfu_metrics_slice *slice, size_t line)
{
    return *(const double *)((const char *)&slice->read + lines[line].offset);
}

static void bars(FILE *out, const struct mfu_term *t, const struct mfu_metrics_slice *slices, int n, size_t line)
{
    static const char *const eighths[] = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
                                          "\u2585", "\u2586", "\u2587", "\u2588"};
    static const char ascii[] = " .:-=+*%#";

    for (int i = 0; i < n; i++) {
        double share = fmin(fmax(value(&slices[i], line), 0), 1);
        int level = share > 0 ? (int)fmax(1, round(8 * share)) : 0;

        if (t->utf8)
            mfu_text_put(out, t, MFU_HUES + (int)line, eighths[level]);
        else
            fputc(ascii[level], out);
    }
}

void mfu_text_metrics_over(FILE *out, const struct mfu_term *t, const struct mfu_plan *p, double window_s,
                           const struct mfu_metrics_slice *slices, int n)
{
    struct mfu_flow f = mfu_flow_start(out, t, "", 0);

    mfu_flow_words(&f, MFU_STRONG, "What the meters read through %s, in slices of %s;", Q(window_s, MFU_SECONDS),
                   Q(window_s / n, MFU_SECONDS));
    mfu_flow_words(&f, MFU_PLAIN, "one optimizer step takes %s.", Q(p->step.time_s, MFU_SECONDS));
    mfu_flow_end(&f);
    fprintf(out, "\n%*s%*s%*s\n", NAME + n, "", 9, "mean", 9, "lowest");
    for (size_t line = 0; line < N_LINES; line++) {
        double sum = 0, lowest = INFINITY;

        for (int i = 0; i < n; i++) {
            sum += value(&slices[i], line);
            lowest = fmin(lowest, value(&slices[i], line));
        }
        fprintf(out, "%-*s", NAME, lines[line].name);
        bars(out, t, slices, n, line);
        fprintf(out, "%*s%*s\n", 9, P(sum / n), 9, P(lowest));
    }
    fprintf(out, "%-*s", NAME, "phase");
    for (int i = 0; i < n; i++)
        fputc(slices[i].idle ? ' ' : "FBO"[slices[i].phase], out);
    fputs("\n\n", out);
    mfu_paragraph(out, t, "", 0, MFU_FAINT,
                  "F forward, B backward, O optimizer, by what takes most of a slice. Full height is 100 %%. "
                  "nvidia-smi samples the first line and averages it over a sixth of a second to a second.");
}
