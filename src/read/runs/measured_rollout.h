/*
 * measured_rollout.h - one row of a table of measured inference, as a scenario and a rollout: rows that have
 * isl and osl, tokens of the prompt and of the answer.
 */
#ifndef MFU_MEASURED_ROLLOUT_H
#define MFU_MEASURED_ROLLOUT_H

#include "plan/rollout.h"
#include "read/runs/measured_run.h"

/* Whether a row is of inference. */
bool mfu_is_rollout_row(const struct mfu_csv *, size_t row);

/* Reads row `row`.  Of `run` the scenario, assumed, skipped (then nothing else counts) and step_s: seconds of one
 * token of the answers over all sequences (out_tok_s), or to the first token (ttft_ms), which sets `first`. */
void mfu_measured_rollout(struct mfu_catalog *, const struct mfu_csv *, size_t row, struct mfu_measured_run *run,
                          struct mfu_rollout_options *, bool *first);

#endif
