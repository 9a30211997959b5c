/*
 * nvidia_smi.c - the table that nvidia-smi prints, with or without units:
 *
 *     nvidia-smi --query-gpu=timestamp,utilization.gpu,memory.used,power.draw,clocks.current.sm --format=csv -l 1
 *
 * Each line is one GPU at one moment.  Utilisation is the share of the last sample in which a kernel ran.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "read/logs/log_format.h"

// clang-format off
static const struct { const char *title; int figure; double factor; } meters[] = {
    {"utilization.gpu", MFU_FIGURE_UTILIZATION, 0.01}, {"memory.used", MFU_FIGURE_SMI_USED, 0x1p20},
    {"power.draw.instant", MFU_FIGURE_POWER, 1}, {"power.draw", MFU_FIGURE_POWER, 1},
    {"clocks.current.sm", MFU_FIGURE_CLOCK, 1e6}, {"clocks.sm", MFU_FIGURE_CLOCK, 1e6}};
// clang-format on

static bool recognise(const char *line)
{
    return strchr(line, ',') && (strstr(line, "utilization.gpu") || strstr(line, "power.draw"));
}

static void read_titles(struct mfu_log *log, const char *line)
{
    for (log->n_columns = 0; line && log->n_columns < MFU_LOG_COLUMNS; log->n_columns++) {
        line += strspn(line, " ");
        log->columns[log->n_columns] = strncmp(line, "name", 4) == 0 ? -2 : -1;
        for (size_t i = 0; i < sizeof meters / sizeof meters[0] && log->columns[log->n_columns] == -1; i++)
            if (strncmp(line, meters[i].title, strlen(meters[i].title)) == 0)
                log->columns[log->n_columns] = (short)i;
        if ((line = strchr(line, ',')))
            line++;
    }
}

static void read(struct mfu_log *log, const char *line)
{
    double figures[MFU_FIGURE_COUNT];
    bool any = false;

    if (recognise(line)) {
        read_titles(log, line);
        return;
    }
    mfu_log_clear(figures);
    for (int i = 0; line && i < log->n_columns; i++) {
        int kind = log->columns[i];
        double value = mfu_number_at(line + strspn(line, " "), NULL);

        if (kind == -2)
            mfu_copy_until(log->gpu, sizeof log->gpu, line, ",");
        else if (kind >= 0 && !isnan(value)) {
            mfu_log_figure(figures, (enum mfu_figure)meters[kind].figure, value * meters[kind].factor);
            any = true;
        }
        if ((line = strchr(line, ',')))
            line++;
    }
    if (any)
        mfu_log_reading(log, figures);
}

const struct mfu_log_format mfu_log_format_nvidia_smi = {
    .name = "nvidia-smi",
    .title = "nvidia-smi",
    .looks = "timestamp, utilization.gpu [%], memory.used [MiB], power.draw [W]",
    .meters = true,
    .recognise = recognise,
    .read = read,
};
