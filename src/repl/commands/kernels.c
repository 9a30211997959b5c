#include "repl/command.h"
#include "repl/view.h"

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    static const struct mfu_view_of view = {.json = mfu_json_kernels, .table = mfu_text_kernels};

    (void)argc, (void)argv;
    return mfu_view(s, &view, err);
}

const struct mfu_command mfu_command_kernels = {
    .name = "kernels",
    .usage = "",
    .group = "look closer",
    .summary = "every kernel, its time",
    .help =
        "The kernels of one optimizer step, equal ones of all layers in one row, with\n"
        "shape, FLOPs, bytes, time, share of the step, and what bounds each.\n"
        "\n"
        "    set batch 8; kernels",
    .run = run,
};
