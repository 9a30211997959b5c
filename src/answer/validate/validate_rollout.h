/*
 * validate_rollout.h - rows of measured inference among those of `validate`: they have the columns isl and osl
 * (tokens of the prompt and of the answer).
 */
#ifndef MFU_VALIDATE_ROLLOUT_H
#define MFU_VALIDATE_ROLLOUT_H

#include <stdbool.h>
#include <stddef.h>

struct mfu_catalog;
struct mfu_csv;
struct mfu_plan;
struct mfu_validated;

bool mfu_is_rollout_row(const struct mfu_csv *, size_t row);
/* Predicts a row: its "step" is the time of one token of the answers, over all sequences, or the time to
 * the first token (ttft_ms).  What cannot be expressed is in `skipped`. */
void mfu_validate_rollout(struct mfu_catalog *, const struct mfu_csv *, size_t row, struct mfu_plan *scratch,
                          struct mfu_validated *);

#endif
