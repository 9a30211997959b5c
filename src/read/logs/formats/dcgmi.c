/*
 * dcgmi.c - what `dcgmi dmon -e 1001,1002,1004,1005,155,252,100` prints: counters of the GPU's units.
 *
 *     #Entity   GRACT  SMACT  TENSO  DRAMA  POWER     FBUSD  SMCLK
 *     ID                                    W
 *     GPU 0     0.998  0.943  0.612  0.401  512.301   61234  1755
 *
 * Titles stand again every few lines.  Shares are of cycles (DCGM's user guide, profiling metrics); memory is
 * in MiB, clocks in MHz.  Instances of a GPU (GPU-I, GPU-CI) are left out: the GPU's own line holds them.
 */
#include <math.h>
#include <string.h>

#include "read/logs/log_format.h"

// clang-format off
static const struct { const char *title; int figure; double factor; } meters[] = {
    {"GRACT", MFU_FIGURE_UTILIZATION, 1}, {"GPUTL", MFU_FIGURE_UTILIZATION, 0.01},
    {"SMACT", MFU_FIGURE_SM_ACTIVE, 1}, {"TENSO", MFU_FIGURE_TENSOR_ACTIVE, 1}, {"DRAMA", MFU_FIGURE_DRAM_ACTIVE, 1},
    {"POWER", MFU_FIGURE_POWER, 1}, {"FBUSD", MFU_FIGURE_SMI_USED, 0x1p20}, {"SMCLK", MFU_FIGURE_CLOCK, 1e6}};
// clang-format on

static bool recognise(const char *line)
{
    line += strspn(line, " ");
    return line[0] == '#' && strncmp(line + 1 + strspn(line + 1, " "), "Entity", 6) == 0;
}

static const char *next_word(const char *p, char *word, size_t size)
{
    size_t n;

    p += strspn(p, " \t");
    n = strcspn(p, " \t");
    snprintf(word, size, "%.*s", (int)n, p);
    return p + n;
}

static void read_titles(struct mfu_log *log, const char *line)
{
    char word[32];

    line = strstr(line, "Entity");
    line += strcspn(line, " \t");
    for (log->n_columns = 0; log->n_columns < MFU_LOG_COLUMNS; log->n_columns++) {
        line = next_word(line, word, sizeof word);
        if (!*word)
            return;
        log->columns[log->n_columns] = -1;
        for (size_t i = 0; i < sizeof meters / sizeof meters[0]; i++)
            if (strcmp(word, meters[i].title) == 0)
                log->columns[log->n_columns] = (short)i;
    }
}

static void read(struct mfu_log *log, const char *line)
{
    double figures[MFU_FIGURE_COUNT];
    bool any = false;
    char word[32];

    if (recognise(line)) {
        read_titles(log, line);
        return;
    }
    line = next_word(line, word, sizeof word);
    if (strcmp(word, "GPU") != 0)
        return;
    line = next_word(line, word, sizeof word); /* its number */
    mfu_log_clear(figures);
    for (int i = 0; i < log->n_columns; i++) {
        int kind = log->columns[i];
        double value;

        line = next_word(line, word, sizeof word);
        value = mfu_number_at(word, NULL);
        if (kind >= 0 && !isnan(value)) {
            mfu_log_figure(figures, (enum mfu_figure)meters[kind].figure, value * meters[kind].factor);
            any = true;
        }
    }
    if (any)
        mfu_log_reading(log, figures);
}

const struct mfu_log_format mfu_log_format_dcgmi = {
    .name = "dcgmi",
    .title = "dcgmi dmon",
    .looks = "#Entity  GRACT  SMACT  TENSO  DRAMA  POWER",
    .meters = true,
    .recognise = recognise,
    .read = read,
};
