/*
 * timeline.h - memory over one steady step: drawn with characters.
 */
#ifndef MFU_REPORT_TIMELINE_H
#define MFU_REPORT_TIMELINE_H

#include <stdio.h>

#include "report/text/term.h"

struct mfu_memory_timeline;
struct mfu_plan;

void mfu_text_timeline(FILE *, const struct mfu_term *, const struct mfu_plan *, const struct mfu_memory_timeline *);

#endif
