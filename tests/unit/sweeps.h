/*
 * sweeps.h - sweeps that must succeed.
 */
#ifndef MFU_TEST_SWEEPS_H
#define MFU_TEST_SWEEPS_H

#include "catalog.h"

#include "answer/search/sweep.h"
#include "base/error.h"

static inline struct mfu_sweep_result run(struct mfu_sweep *sweep)
{
    struct mfu_sweep_result r;
    struct mfu_error err = {0};

    if (mfu_sweep_run(sweep, &r, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(r.complete);
    return r;
}

#endif
