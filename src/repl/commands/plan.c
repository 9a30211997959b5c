#include "repl/command.h"
#include "repl/plan_view.h"

const struct mfu_command mfu_command_plan = {
    .name = "plan",
    .usage = "",
    .group = "plan",
    .summary = "the answer on one screen",
    .help = "Plans the current scenario: what memory it takes and whether it fits, how long\n"
            "a step lasts, what use it makes of the GPU, and what limits it.\n"
            "\n"
            "    set batch 8 accum 64 runtime compile; plan",
    .answers = MFU_ANSWERS(&mfu_record_plan),
    .pages = true,
    .view = &(const struct mfu_view_of){.record = &mfu_record_plan, .text = mfu_text_plan},
};
