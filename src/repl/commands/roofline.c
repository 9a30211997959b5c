#include "repl/command.h"
#include "repl/plan_view.h"

const struct mfu_command mfu_command_roofline = {
    .name = "roofline",
    .usage = "",
    .group = "look closer",
    .summary = "kernels on the roofline",
    .help = "Kernels by arithmetic intensity (FLOP per byte of DRAM traffic) against what the\n"
            "GPU allows there: left of the ridge memory bounds them, right of it arithmetic.\n"
            "\n"
            "    set batch 8; roofline",
    .answers = MFU_ANSWERS(&mfu_record_roofline),
    .pages = true,
    .view = &(const struct mfu_view_of){.record = &mfu_record_roofline, .table = mfu_text_roofline},
};
