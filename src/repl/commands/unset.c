#include <string.h>

#include "repl/assign.h"
#include "repl/command.h"
#include "repl/completers.h"
#include "repl/output.h"

/* All that was set: the model, the GPU and the machine room stay. */
static int unset_all(struct mfu_session *s, struct mfu_error *err)
{
    struct mfu_scenario next = s->memory.now;
    const char *key;

    next.not_modelled[0] = '\0';
    for (size_t i = 0; (key = mfu_offer_given_keys(s, i)); i++)
        if (mfu_scenario_unset(&next, key, err) < 0)
            return -1;
    return mfu_install(s, &next, false, err);
}

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    struct mfu_scenario next = s->memory.now;

    if (strcmp(argv[1], "all") == 0) {
        if (argc == 2)
            return unset_all(s, err);
        return mfu_fail_word(s, err, 2, "'%.40s' is one word too many: all are all keys", argv[2]);
    }
    for (int i = 1; i < argc; i++)
        if (mfu_parse_subject(argv[i]) == 'n')
            next.not_modelled[0] = '\0';
        else if (mfu_scenario_unset(&next, argv[i], err) < 0)
            return mfu_error_caret(s, err, i);
    return mfu_install(s, &next, false, err);
}

const struct mfu_command mfu_command_unset = {
    .name = "unset",
    .usage = "KEY [KEY ...] | all",
    .group = "describe",
    .summary = "back to the default",
    .help = "Forgets what was set for these keys, or for all: they follow the model, the GPU\n"
            "or the other settings again.  `unset not_modelled` forgets what an imported file\n"
            "says and nothing here predicts: whether it fits is then known, of what is left.\n"
            "\n"
            "    set batch 8; unset batch\n"
            "    unset all",
    .least_args = 1,
    .most_args = -1,
    .offer = {mfu_offer_unset, mfu_offer_given_keys},
    .run = run,
};
