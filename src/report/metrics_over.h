/*
 * metrics_over.h - the meters through the step, drawn.
 */
#ifndef MFU_REPORT_METRICS_OVER_H
#define MFU_REPORT_METRICS_OVER_H

#include <stdio.h>

#include "plan/metrics_over.h"
#include "report/text/term.h"

/* Slices that a window of this width has room for. */
int mfu_text_metrics_slices(const struct mfu_term *);
void mfu_text_metrics_over(FILE *, const struct mfu_term *, const struct mfu_plan *, double window_s,
                           const struct mfu_metrics_slice *, int n);

#endif
