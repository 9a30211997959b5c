/*
 * pipeline.h - a step of a pipeline drawn with characters: a row per rank,
 * blocks of F, B and W along time.
 */
#ifndef MFU_TEXT_PIPELINE_H
#define MFU_TEXT_PIPELINE_H

#include <stdio.h>

#include "report/text/term.h"

struct mfu_pipeline_step;

/* Draws what was recorded (MFU_PIPELINE_RECORD) between `from_s` and `to_s` in at
 * most `columns` columns, labels included; then what the letters mean.  A
 * column shows what takes most of its time.  Letters of odd chunks are small;
 * the number after a letter is the microbatch, where there is room. */
void mfu_text_pipeline(FILE *, const struct mfu_term *, const struct mfu_pipeline_step *, double from_s, double to_s,
                       int columns);

#endif
