#include "repl/assign.h"
#include "repl/command.h"
#include "repl/completers.h"
#include "repl/output.h"

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    struct mfu_scenario next = s->memory.now;

    for (int i = 1; i < argc; i++)
        if (mfu_parse_subject(argv[i]) == 'n')
            next.not_modelled[0] = '\0';
        else if (mfu_scenario_unset(&next, argv[i], err) < 0)
            return mfu_error_caret(s, err, i);
    return mfu_install(s, &next, false, err);
}

const struct mfu_command mfu_command_unset = {
    .name = "unset",
    .usage = "KEY [KEY ...]",
    .group = "describe",
    .summary = "back to the default",
    .help = "Forgets what was set for these keys: they follow the model, the GPU or the other\n"
            "settings again.  `unset not_modelled` forgets what an imported file says and\n"
            "nothing here predicts: whether it fits is then known, of what is left.\n"
            "\n"
            "    set batch 8; unset batch",
    .least_args = 1,
    .most_args = -1,
    .offer = {mfu_offer_given_keys, mfu_offer_given_keys},
    .run = run,
};
