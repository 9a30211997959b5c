/*
 * keyvalue.c - what people write down by hand, or a training loop of one's own
 * prints: `step 100 step_ms 9340 tokens/s 56.1k mfu 15.4% loader_wait_ms 12`, on
 * one line per step or one pair per line.
 */
#include "read/logs/log_format.h"

static void read(struct mfu_log *log, const char *line)
{
    mfu_log_pairs(log, line, false, NULL);
}

const struct mfu_log_format mfu_log_format_keyvalue = {
    .name = "key-value-log",
    .title = "pairs of key and value",
    .looks = "step 100 step_ms 9340 tokens_per_s 56100 mfu 15.4%",
    .fallback = true,
    .read = read,
    .finish = mfu_log_pairs_end,
};
