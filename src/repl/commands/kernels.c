#include <string.h>

#include "repl/command.h"
#include "repl/output.h"
#include "repl/plan_view.h"

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    static const struct mfu_view_of view = {.record = &mfu_record_kernels, .table = mfu_text_kernels};
    static const struct mfu_view_of wide = {.record = &mfu_record_kernels, .table = mfu_text_kernels_wide};

    if (argc > 1 && strcmp(argv[1], "--wide") != 0 && strcmp(argv[1], "wide") != 0)
        return mfu_fail_word(s, err, 1, "'%.40s': expected '--wide' or nothing", argv[1]);
    return mfu_view(s, argc > 1 ? &wide : &view, err);
}

const struct mfu_command mfu_command_kernels = {
    .name = "kernels",
    .usage = "[--wide]",
    .group = "look closer",
    .summary = "every kernel, its time",
    .help = "The kernels of one optimizer step, equal ones of all layers in one row, with\n"
            "shape, FLOPs, bytes, time, share of the step, and what bounds each.  `--wide`:\n"
            "how they fill the SMs instead (blocks, waves, occupancy) and what counters read.\n"
            "\n"
            "    set batch 8; kernels\n"
            "    kernels --wide",
    .most_args = 1,
    .word = "--wide",
    .answers = MFU_ANSWERS(&mfu_record_kernels),
    .pages = true,
    .run = run,
};
