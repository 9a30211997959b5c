#include "repl/command.h"
#include "repl/plan_view.h"

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    static const struct mfu_view_of view = {.record = &mfu_record_step, .text = mfu_text_step};

    (void)argc, (void)argv;
    return mfu_view(s, &view, err);
}

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
    .run = run,
};
