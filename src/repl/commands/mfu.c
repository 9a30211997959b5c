#include "repl/command.h"
#include "repl/plan_view.h"

const struct mfu_command mfu_command_mfu = {
    .name = "mfu",
    .usage = "",
    .group = "plan",
    .summary = "MFU by every convention",
    .help = "Model FLOPs utilisation: model FLOPs (forward and backward, nothing recomputed)\n"
            "over the dense peak of this GPU for this precision; and what other programs\n"
            "would print for the same run, since they count and divide differently.\n"
            "\n"
            "    set batch 8 accum 64 runtime compile; mfu",
    .answers = MFU_ANSWERS(&mfu_record_mfu),
    .pages = true,
    .view = &(const struct mfu_view_of){.record = &mfu_record_mfu, .text = mfu_text_mfu},
};
