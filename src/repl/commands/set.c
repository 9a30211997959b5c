#include "repl/assign.h"
#include "repl/command.h"
#include "repl/completers.h"

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    return mfu_assign(s, argc, argv, 1, err);
}

const struct mfu_command mfu_command_set = {
    .name = "set",
    .usage = "KEY VALUE [KEY VALUE ...]",
    .group = "describe",
    .summary = "change settings",
    .help = "Changes settings, all of them or (when one is wrong) none, and says what was\n"
            "understood and what follows.  Values take units and may be expressions over the\n"
            "other settings.  KEY=VALUE does the same without `set`; `gpu` and `model` may\n"
            "be among the keys.  `show` lists the keys, `help KEY` explains one.\n"
            "\n"
            "    set batch 8 accum 64\n"
            "    set seq 2k d_ff 4*n_embd vram_reserved 600MiB\n"
            "    runtime=compile precision=bf16",
    .least_args = 1,
    .most_args = -1,
    .offer = {mfu_offer_keys, mfu_offer_values},
    .run = run,
};
