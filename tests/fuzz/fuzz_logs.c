/*
 * fuzz_logs.c - no log misbehaves, whatever its format: without a plan, which fuzz_observe.c makes of it.
 */
#include <math.h>

#include "base/error.h"
#include "fixture.h"
#include "read/logs/log_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct mfu_log *log)
{
    REQUIRE(log->n_settings >= 0 && log->n_settings <= MFU_LOG_SETTINGS && log->n_records <= log->cap_records);
    for (int i = 0; i < MFU_FIGURE_COUNT; i++)
        REQUIRE(isnan(log->stated[i]) || isfinite(log->stated[i]));
    for (size_t r = 0; r < log->n_records; r++)
        for (int i = 0; i < MFU_FIGURE_COUNT; i++)
            REQUIRE(isnan(log->records[r].figure[i]) || isfinite(log->records[r].figure[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct mfu_log log;
    const struct mfu_log_format *format = NULL;
    struct mfu_error err = {0};

    if (mfu_log_read(&log, fixture_file(data, size), &format, &err) == 0) {
        REQUIRE(format);
        check(&log);
    } else
        REQUIRE(err.code != MFU_OK && err.text[0]);
    mfu_log_release(&log);
    return 0;
}
