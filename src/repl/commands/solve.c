#include <string.h>

#include "answer/search/solve.h"
#include "repl/command.h"
#include "repl/completers.h"
#include "repl/sweeping.h"
#include "repl/output.h"
#include "answer/fields/fields.h"
#include "report/report.h"
#include "scenario/setting.h"

/* Single bytes do not matter; widths of tensors come in multiples
 * that heads and tensor cores like. */
static double step_of(const struct mfu_scenario *s, struct mfu_key key, const char *name)
{
    struct mfu_config c;

    if (key.kind == MFU_KEY_SETTING)
        return mfu_settings[key.id].dim == MFU_BYTES ? 0x1p20 : 1;
    mfu_scenario_resolve(s, &c, NULL);
    return strcmp(name, "n_embd") == 0                                 ? 8 * mfu_config_dim(&c, "n_head")
        : strcmp(name, "dropout") == 0                                 ? 0.01
        : strcmp(name, "d_ff") == 0 || strcmp(name, "vocab_size") == 0 ? 64
                                                                       : 1;
}

struct solved {
    const struct mfu_plan *plan;
    const char *key;
    const struct mfu_solution *x;
};
// clang-format off
#define SOLVED(X) \
    X(MEMBERS,    plan,       &mfu_record_plan, s->plan,  "at that value") \
    X(TEXT,       key,        0,                s->key,   "that was looked for") \
    X(NUMBER,     value,      MFU_COUNT,        s->x->value, "in the base unit") \
    X(TEXT,       limited_by, 0,                s->x->limited_by, "memory, target or range") \
    X(MAYBE_TEXT, reason,     0,                s->x->reason[0] ? s->x->reason : NULL, "the rule that refuses the next value")
MFU_FIELDS(solve, const struct solved *s, SOLVED)
static const struct mfu_record record = MFU_RECORD(solve, .command = "solve");
// clang-format on

static int answer(struct mfu_session *s, const char *key, enum mfu_dim dim, const struct mfu_solution *x, bool smallest,
                  struct mfu_error *err)
{
    if (!s->json) {
        char text[MFU_QUANTITY_MAX];

        fprintf(s->out, "%s = %s, ", key, mfu_quantity_format(text, x->value, dim));
        if (strcmp(x->limited_by, "memory") == 0)
            fprintf(s->out, "limited by memory");
        else
            fprintf(s->out, "the %s value that %s", smallest ? "smallest" : "largest",
                    strcmp(x->limited_by, "target") == 0 ? "meets the condition" : "is allowed");
        fprintf(s->out, "%s%s\n\n", x->reason[0] ? ": " : "", x->reason);
        mfu_text_plan(s->out, &s->term, &s->plan);
        return 0;
    }
    return mfu_answer(s, &record, &(struct solved){&s->plan, key, x}, err);
}

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    struct mfu_sweep_words w = {0};
    struct mfu_solution x = {0};
    struct mfu_key key = mfu_scenario_key(&s->memory.now, argv[1], err);
    bool smallest = argc > 2 && strcmp(argv[2], "smallest") == 0;
    bool largest = argc > 2 && strcmp(argv[2], "largest") == 0;
    const char *name;
    int status;
    enum mfu_dim dim;

    if (key.kind == MFU_KEY_NONE)
        return mfu_error_caret(s, err, 1);
    if (key.kind == MFU_KEY_COEFFICIENT || (key.kind == MFU_KEY_SETTING && mfu_settings[key.id].choices))
        return mfu_fail(err, MFU_EINPUT, "%s: expected a key with a number, such as batch", argv[1]);
    name = key.kind == MFU_KEY_SETTING ? mfu_settings[key.id].key : s->memory.now.model->dims[key.id].name;
    dim = key.kind == MFU_KEY_SETTING ? mfu_settings[key.id].dim : MFU_COUNT;
    status = mfu_sweep_words_read(s, 2 + (smallest || largest), argc, argv, &w, err);
    if (status == 0)
        status = mfu_solve(&s->memory.now, key, step_of(&s->memory.now, key, name), !smallest, w.sweep.where, &s->plan,
                           &s->simulation, &x, err);
    mfu_sweep_clear(&w.sweep);
    if (status < 0)
        return -1;
    mfu_session_forget(s, "solve");
    mfu_session_note(s, "solve", name, x.value, dim);
    return answer(s, name, dim, &x, smallest, err);
}

const struct mfu_command mfu_command_solve = {
    .name = "solve",
    .usage = "KEY [smallest] [where]",
    .group = "plan",
    .summary = "the value that suffices",
    .help = "Finds the largest value of a key that fits the card, or the largest (smallest)\n"
            "for which a condition holds, simulated as `plan` does; and says what stops the\n"
            "next value: memory, the condition, or a rule.\n"
            "\n"
            "    solve batch\n"
            "    solve accum smallest where tokens_per_step >= 500000\n"
            "    solve n_embd smallest where mfu > 50%",
    .compares = "where",
    .least_args = 1,
    .most_args = -1,
    .offer = {mfu_offer_keys, mfu_offer_results},
    .answers = MFU_ANSWERS(&record),
    .run = run,
};
