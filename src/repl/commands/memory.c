#include "repl/command.h"
#include "repl/view.h"

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    static const struct mfu_view_of view = {.json = mfu_json_memory, .text = mfu_text_memory};

    (void)argc, (void)argv;
    return mfu_view(s, &view, err);
}

const struct mfu_command mfu_command_memory = {
    .name = "memory",
    .usage = "",
    .group = "plan",
    .summary = "where the memory goes",
    .help =
        "The parts of the memory at the moment of the peak, and the three figures that\n"
        "people mean by \"memory\": allocated by tensors, reserved by PyTorch, and used as\n"
        "nvidia-smi shows it.\n"
        "\n"
        "    set batch 8; memory",
    .run = run,
};
