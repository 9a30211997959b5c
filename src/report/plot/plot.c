/*
 * plot.c - the pictures that there are, and what they share.
 */
#include "report/plot/plot.h"

#include <string.h>

#include "plan/plan.h"
#include "base/quantity.h"
#include "report/plot/gnuplot.h"
#include "scenario/setting.h"

const struct mfu_plot *const mfu_plots[] = {&mfu_plot_memory, &mfu_plot_roofline, &mfu_plot_split, &mfu_plot_timeline,
                                            NULL};

const char *mfu_plot_phase(char *buf, size_t size, int phase, int micro_step, double share)
{
    static const char *const brief[MFU_PHASE_COUNT] = {
        [MFU_FORWARD] = "fwd", [MFU_BACKWARD] = "bwd", [MFU_OPTIMIZER_PHASE] = "opt"};
    bool number = micro_step >= 0 && phase != MFU_OPTIMIZER_PHASE;

    if (share < 0.025 && phase != MFU_OPTIMIZER_PHASE)
        return "";
    snprintf(buf, size, "%s", share > (number ? 0.16 : 0.12) ? mfu_phase_names[phase] : brief[phase]);
    if (number && share > 0.055)
        snprintf(buf + strlen(buf), size - strlen(buf), " %d", micro_step + 1);
    return buf;
}

void mfu_plot_title(FILE *out, const struct mfu_plan *p, const char *title)
{
    const struct mfu_config *c = &p->config;
    char text[512], batch[MFU_QUANTITY_MAX], seq[MFU_QUANTITY_MAX];
    int n;

    n = snprintf(text, sizeof text, "%s on %s, batch %s of %s tokens", c->model->name, c->gpu->name,
                 mfu_quantity_format(batch, c->batch, MFU_COUNT), mfu_quantity_format(seq, c->seq, MFU_COUNT));
    if (c->accum > 1)
        n += snprintf(text + n, sizeof text - (size_t)n, ", accum %g", c->accum);
    if (c->setting[MFU_S_GPUS] > 1)
        n += snprintf(text + n, sizeof text - (size_t)n, ", %g GPUs", c->setting[MFU_S_GPUS]);
    snprintf(text + n, sizeof text - (size_t)n, ", %s, %s",
             mfu_setting_format(batch, MFU_S_PRECISION, c->setting[MFU_S_PRECISION]),
             mfu_setting_format(seq, MFU_S_RUNTIME, c->setting[MFU_S_RUNTIME]));
    fputs("set label 1001 ", out);
    mfu_gnuplot_text(out, title);
    fputs(" at screen 0.03,0.952 left font ',20' textcolor '" MFU_INK "'\nset label 1002 ", out);
    mfu_gnuplot_text(out, text);
    fputs(" at screen 0.03,0.902 left textcolor '" MFU_INK_FAINT "'\n", out);
}
