/*
 * timeline.h - memory over one steady step: drawn with characters, and as
 * samples for programs.
 */
#ifndef MFU_REPORT_TIMELINE_H
#define MFU_REPORT_TIMELINE_H

#include <jansson.h>
#include <stdio.h>

#include "report/text/term.h"

struct mfu_memory_timeline;
struct mfu_plan;

void mfu_text_timeline(FILE *, const struct mfu_term *, const struct mfu_plan *, const struct mfu_memory_timeline *);

/* "command" is "memory"; at most 500 samples, their maxima kept. */
json_t *mfu_json_timeline(const struct mfu_plan *, const struct mfu_memory_timeline *);

#endif
