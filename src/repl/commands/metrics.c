#include "repl/command.h"
#include "repl/view.h"

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    static const struct mfu_view_of view = {.json = mfu_json_metrics, .text = mfu_text_metrics};

    (void)argc, (void)argv;
    return mfu_view(s, &view, err);
}

const struct mfu_command mfu_command_metrics = {
    .name = "metrics",
    .usage = "",
    .group = "look closer",
    .summary = "what the meters read",
    .help =
        "What nvidia-smi, DCGM and PyTorch's profiler would read over one optimizer step,\n"
        "beside MFU, and what each reading hides.  `kernels --wide` has them per kernel,\n"
        "`kernel` for one kernel by itself.\n"
        "\n"
        "    set batch 8 runtime eager attention math; metrics",
    .run = run,
};
