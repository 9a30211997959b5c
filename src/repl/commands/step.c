#include "repl/command.h"
#include "repl/plan_view.h"

const struct mfu_command mfu_command_step = {
    .name = "step",
    .usage = "",
    .group = "plan",
    .summary = "where the time goes",
    .help = "The time of one optimizer step, its 90 % interval, and its parts: forward,\n"
            "backward, optimizer, exposed communication, pages of the optimizer, idle.\n"
            "\n"
            "    set accum 64; step",
    .answers = MFU_ANSWERS(&mfu_record_step),
    .pages = true,
    .view = &(const struct mfu_view_of){.record = &mfu_record_step, .text = mfu_text_step},
};
