#include <ctype.h>
#include <string.h>

#include "repl/command.h"
#include "repl/completers.h"
#include "repl/kept.h"
#include "repl/output.h"

// clang-format off
#define NAME(X) X(TEXT, _, 0, k->name, "of a scenario")
MFU_PART_RECORD(kept, const struct mfu_kept *k, NAME)

#define KEPT(X) X(LIST, kept, &kept, (m->kept, m->n_kept), "names of scenarios")
MFU_FIELDS(keep, const struct mfu_memory *m, KEPT)
static const struct mfu_record record = MFU_RECORD(keep, .command = "keep", .rows = "kept");
// clang-format on

static int list(struct mfu_session *s, struct mfu_error *err)
{
    const struct mfu_memory *m = &s->memory;

    if (s->json)
        return mfu_answer(s, &record, m, err);
    for (int i = 0; i < m->n_kept; i++)
        fprintf(s->out, "%-16s %s on %s\n", m->kept[i].name, m->kept[i].scenario.model->slug,
                m->kept[i].scenario.gpu->slug);
    if (m->n_kept == 0)
        mfu_print_note(s, "nothing is kept yet");
    return 0;
}

/* Names are words that need no quotes. */
static int check_name(const char *name, struct mfu_error *err)
{
    if (strlen(name) >= sizeof((struct mfu_memory *)NULL)->kept[0].name)
        return mfu_fail(err, MFU_EINPUT, "'%.20s...' is longer than 47 letters", name);
    for (const char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("_.+-", *p))
            return mfu_fail(err, MFU_EINPUT, "'%s': a name is made of letters, digits, _ . + -", name);
    return *name ? 0 : mfu_fail(err, MFU_EINPUT, "the name is empty");
}

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    int before = s->memory.n_kept;

    if (argc == 1)
        return list(s, err);
    if (argc == 3) {
        if (strcmp(argv[1], "--forget") != 0)
            return mfu_fail(err, MFU_EINPUT, "'%.60s' is one word too many: expected keep NAME, or keep --forget NAME",
                            argv[2]);
        if (mfu_kept_forget(s, argv[2], err) < 0)
            return mfu_error_caret(s, err, 2);
        mfu_print_note(s, "%s forgotten", argv[2]);
        return 0;
    }
    if (check_name(argv[1], err) < 0)
        return mfu_error_caret(s, err, 1);
    if (mfu_kept_add(s, argv[1], err) < 0)
        return -1;
    mfu_print_note(s, s->memory.n_kept == before ? "%s replaced" : "kept as %s", argv[1]);
    return 0;
}

const struct mfu_command mfu_command_keep = {
    .name = "keep",
    .usage = "[NAME | --forget NAME]",
    .group = "session",
    .summary = "name this scenario",
    .help = "Remembers the scenario under a name, for `use`; without a name lists what is\n"
            "kept.  In a conversation it outlasts the session, as a script in\n"
            "$XDG_STATE_HOME/mfuplan/kept (MFUPLAN_KEPT names another folder, empty none);\n"
            "--forget removes it.\n"
            "\n"
            "    set batch 8; keep small; set batch 16; use small",
    .most_args = 2,
    .offer = {mfu_offer_kept},
    .answers = MFU_ANSWERS(&record),
    .run = run,
};
