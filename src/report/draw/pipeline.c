/*
 * pipeline.c - the stages of a pipeline over one step: a row of blocks each.
 *
 * The schedule runs once more and is recorded.  What would be too fine to see is
 * left out at the end, and said.
 */
#include <math.h>

#include "base/error.h"
#include "base/short.h"
#include "plan/stages.h"
#include "report/draw/canvas.h"
#include "report/text/pipeline.h"
#include "report/text/text.h"

#define MOST_BLOCKS 1500 /* (chosen: finer ones cannot be told apart) */
#define LABEL 56

static const char *const classes[MFU_PASS_COUNT] = {[MFU_PASS_F] = "sort0",
                                                    [MFU_PASS_BW] = "sort4",
                                                    [MFU_PASS_B] = "gradients",
                                                    [MFU_PASS_W] = "sort2",
                                                    [MFU_PASS_FBW] = "sort1"};

static void keys(struct mfu_canvas *c, const struct mfu_plan *p, const struct mfu_pipeline_step *s, double to_s)
{
    bool seen[MFU_PASS_COUNT] = {false};

    for (size_t i = 0; i < s->n_events; i++)
        seen[s->events[i].pass] = true;
    for (int k = 0; k < MFU_PASS_COUNT; k++)
        if (seen[k])
            mfu_canvas_key(c, classes[k], false, "%s", mfu_pass_names[k]);
    mfu_canvas_key(c, NULL, false, "idle %s, schedule %s", P(s->bubble), p->config.pipeline.schedule->name);
    if (s->n_chunks > 1)
        mfu_canvas_key(c, NULL, false, "blocks of odd chunks are lower");
    if (to_s < s->makespan_s)
        mfu_canvas_key(c, NULL, false, "the beginning of a step of %s", Q(s->makespan_s, MFU_SECONDS));
}

static void block(struct mfu_canvas *c, const struct mfu_pipeline_event *e, double x0, double scale, double row,
                  double to_s)
{
    double x = x0 + e->start_s * scale, width = (fmin(e->end_s, to_s) - e->start_s) * scale;
    double top = 8 + row * e->rank + (e->chunk % 2 ? row / 4 : 0), bottom = 8 + row * (e->rank + 1) - 2;
    char tip[96], number[16];

    snprintf(tip, sizeof tip, "%s of microbatch %d", mfu_pass_names[e->pass], e->microbatch + 1);
    mfu_draw_rect(c, classes[e->pass], x, top, fmax(width - 0.6, 0.3), bottom - top, tip);
    snprintf(number, sizeof number, "%d", e->microbatch + 1);
    if (mfu_label_width(number) + 4 < width && bottom - top > MFU_CANVAS_FONT) {
        char class[32];

        snprintf(class, sizeof class, "on-%s", classes[e->pass]);
        mfu_draw_text(c, class, x + width / 2, (top + bottom) / 2 + 4, MFU_MIDDLE, number);
    }
}

static int draw(struct mfu_canvas *c, const struct mfu_plan *p, const struct mfu_simulation *simulation,
                struct mfu_error *err)
{
    struct mfu_pipeline *pipeline = mfu_pipeline_new(err);
    struct mfu_pipeline_step s;
    int status = pipeline ? mfu_stages_run(p, pipeline, MFU_PIPELINE_RECORD, &s, err) : -1;

    (void)simulation;
    if (status == 0) {
        double to_s = s.makespan_s * fmin(1, (double)MOST_BLOCKS / (double)s.n_events);
        double height = 8 + fmin(22 * s.n_ranks, 480) + 44;

        keys(c, p, &s, to_s);
        while (mfu_canvas_next(c, "", "the stages of the pipeline over one step", height, height)) {
            double x1 = c->width - 10, y1 = c->height - 44, row = (y1 - 8) / s.n_ranks;
            int every = (int)ceil((MFU_CANVAS_FONT + 2) / row);
            char name[32];

            for (int i = 0; i < s.n_ranks; i += every) {
                snprintf(name, sizeof name, "stage %d", i + 1);
                mfu_draw_text(c, "faint", LABEL - 6, 8 + row * (i + 0.5) + 4, MFU_END, name);
            }
            for (size_t i = 0; i < s.n_events; i++)
                if (s.events[i].start_s < to_s)
                    block(c, &s.events[i], LABEL, (x1 - LABEL) / to_s, row, to_s);
            mfu_draw_time_axis(c, LABEL, x1, y1, to_s, "time");
        }
    }
    mfu_pipeline_free(pipeline);
    return status;
}

static int text(FILE *out, const struct mfu_term *t, const struct mfu_plan *p, struct mfu_error *err)
{
    struct mfu_pipeline *pipeline = mfu_pipeline_new(err);
    struct mfu_pipeline_step s;
    int status = pipeline ? mfu_stages_run(p, pipeline, MFU_PIPELINE_RECORD, &s, err) : -1;

    if (status == 0)
        mfu_text_pipeline(out, t, &s, 0, s.makespan_s, mfu_text_columns(t));
    mfu_pipeline_free(pipeline);
    return status;
}

const struct mfu_figure mfu_figure_pipeline = {.name = "pipeline",
                                               .summary = "the stages of a pipeline over one step",
                                               .title = "The stages of the pipeline over one step",
                                               .draw = draw,
                                               .text = text};
