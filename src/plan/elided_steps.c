/*
 * elided_steps.c - micro-steps that are left out.
 *
 * Where micro-steps jump, so do all clocks: by as many times the period as
 * there are missing.
 */
#include "plan/elided_steps.h"

#include <math.h>

#include "simulate/timeline.h"

static void find_jump(const struct mfu_timeline *line, struct mfu_elided *cut)
{
    double end_s = 0, before_s = 0, period_s = 0;
    int micro = -1;

    for (size_t i = 0; i < line->n_events; i++) {
        const struct mfu_event *e = &line->events[i];

        if (e->stream != MFU_STREAM_COMPUTE || e->micro_step < 0)
            continue;
        if (e->micro_step > micro && micro >= 0) {
            period_s = end_s - before_s;
            before_s = end_s;
            if (e->micro_step > micro + 1) {
                cut->after = micro;
                cut->left_out = e->micro_step - micro - 1;
                cut->seconds = (double)cut->left_out * period_s;
                return;
            }
        }
        micro = e->micro_step;
        end_s = e->end_s;
    }
}

struct mfu_elided mfu_elided_find(const struct mfu_timeline *line)
{
    struct mfu_elided cut = {.after = -2};

    find_jump(line, &cut);
    for (size_t i = 0; i < line->n_events; i++) {
        double at = fmin(line->events[i].issue_s, line->events[i].start_s);

        cut.origin_s = fmin(cut.origin_s, at); /* the step begins at 0 */
    }
    return cut;
}

double mfu_elided_moment(const struct mfu_elided *cut, const struct mfu_event *e, double seconds)
{
    int later = cut->after >= 0 && (e->micro_step < 0 || e->micro_step > cut->after);

    return seconds - cut->origin_s - (later ? cut->seconds : 0);
}
