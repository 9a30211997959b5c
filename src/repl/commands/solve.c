#include <string.h>

#include "answer/solve.h"
#include "repl/command.h"
#include "repl/offers.h"
#include "repl/sweeping.h"
#include "repl/talk.h"
#include "report/json.h"
#include "report/report.h"

static int answer(struct mfu_session *s, const char *key, const struct mfu_solution *x, struct mfu_error *err)
{
    json_t *object;

    if (!s->json) {
        char text[MFU_QUANTITY_MAX];

        fprintf(s->out, "%s = %s, limited by %s\n\n", key, mfu_quantity_format(text, x->value, MFU_COUNT), x->limited_by);
        mfu_text_plan(s->out, &s->term, &s->plan);
        return 0;
    }
    object = mfu_json_plan(&s->plan);
    mfu_json_put_text(&object, "command", "solve");
    mfu_json_put_text(&object, "key", key);
    mfu_json_put_number(&object, "value", x->value);
    mfu_json_put_text(&object, "limited_by", x->limited_by);
    return mfu_answer(s, object, err);
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
    /* Widths of tensors come in multiples that heads and tensor cores like. */
    double step = 1;

    if (key.kind == MFU_KEY_NONE)
        return mfu_point(s, err, 1);
    if (key.kind == MFU_KEY_COEFFICIENT || (key.kind == MFU_KEY_SETTING && mfu_settings[key.id].choices))
        return mfu_fail(err, MFU_EINPUT, "%s: expected a key with a number, such as batch", argv[1]);
    name = key.kind == MFU_KEY_SETTING ? mfu_settings[key.id].key : s->memory.now.model->dims[key.id].name;
    if (key.kind == MFU_KEY_DIM && (strcmp(name, "n_embd") == 0 || strcmp(name, "d_ff") == 0 || strcmp(name, "vocab_size") == 0)) {
        struct mfu_config c;

        mfu_scenario_resolve(&s->memory.now, &c, NULL);
        step = strcmp(name, "n_embd") == 0 ? 8 * mfu_config_dim(&c, "n_head") : 64;
    }
    status = mfu_sweep_words_read(s, 2 + (smallest || largest), argc, argv, &w, err);
    if (status == 0)
        status = mfu_solve(&s->memory.now, key, step, !smallest, w.sweep.where, &s->plan, &s->simulation, &x, err);
    mfu_sweep_clear(&w.sweep);
    if (status < 0)
        return -1;
    mfu_session_forget(s, "solve");
    mfu_session_note(s, "solve", name, x.value, MFU_COUNT);
    return answer(s, name, &x, err);
}

const struct mfu_command mfu_command_solve = {
    .name = "solve",
    .usage = "KEY [smallest] [where]",
    .group = "plan",
    .summary = "the value that suffices",
    .help =
        "Finds the largest value of a key that fits the card, or the largest (smallest)\n"
        "for which a condition holds.\n"
        "\n"
        "    solve batch\n"
        "    solve accum smallest where tokens_per_step >= 500000\n"
        "    solve n_embd smallest where mfu > 50%",
    .least_args = 1,
    .most_args = -1,
    .offer = {mfu_offer_keys, mfu_offer_results},
    .run = run,
};
