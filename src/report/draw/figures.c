/*
 * figures.c - the figures that there are, and each as a picture.
 */
#include <string.h>

#include "base/short.h"
#include "plan/plan.h"
#include "report/draw/canvas.h"
#include "report/plot/gnuplot.h"
#include "scenario/setting.h"

const struct mfu_figure *const mfu_figures[] = {&mfu_figure_memory, &mfu_figure_pipeline, &mfu_figure_roofline,
                                                &mfu_figure_split,  &mfu_figure_timeline, NULL};

static void headline(FILE *out, const struct mfu_plan *p, const char *title)
{
    const struct mfu_config *c = &p->config;
    char text[512], precision[MFU_QUANTITY_MAX], runtime[MFU_QUANTITY_MAX];
    int n;

    n = snprintf(text, sizeof text, "%s on %s, batch %s of %s tokens", c->model->name, c->gpu->name,
                 Q(c->batch, MFU_COUNT), Q(c->seq, MFU_COUNT));
    if (c->accum > 1)
        n += snprintf(text + n, sizeof text - (size_t)n, ", accum %g", c->accum);
    if (c->setting[MFU_S_GPUS] > 1)
        n += snprintf(text + n, sizeof text - (size_t)n, ", %g GPUs", c->setting[MFU_S_GPUS]);
    snprintf(text + n, sizeof text - (size_t)n, ", %s, %s",
             mfu_setting_format(precision, MFU_S_PRECISION, c->setting[MFU_S_PRECISION]),
             mfu_setting_format(runtime, MFU_S_RUNTIME, c->setting[MFU_S_RUNTIME]));
    fputs("set label ", out);
    mfu_gnuplot_text(out, title);
    fputs(" at screen 0.03,0.952 left font ',20' textcolor '#333333'\nset label ", out);
    mfu_gnuplot_text(out, text);
    fputs(" at screen 0.03,0.902 left textcolor '#767676'\n", out);
}

int mfu_figure_picture(FILE *script, const struct mfu_figure *figure, const struct mfu_plan *p,
                       const struct mfu_simulation *s, struct mfu_error *err)
{
    struct mfu_canvas c = mfu_canvas_picture(script);

    headline(script, p, figure->title);
    return figure->draw(&c, p, s, err);
}
