#include "repl/assign.h"
#include "repl/command.h"
#include "repl/describe.h"
#include "repl/completers.h"
#include "repl/output.h"
#include "scenario/keys.h"

static int list(struct mfu_session *s, struct mfu_error *err)
{
    struct mfu_name_list list;

    size_t sizes = 0;

    list.names = mfu_catalog_models(s->catalog, &list.n);
    if (mfu_list_names(s, &mfu_record_models, &list, s->memory.now.model->slug, err) < 0)
        return -1;
    while (mfu_catalog_variant(s->catalog, sizes))
        sizes++;
    mfu_print_note(s, "and %zu sizes of these by name: `complete model qwen` lists those of Qwen", sizes);
    return 0;
}

/* Dimensions belong to the model: what was set for the old one is gone. */
static void say_forgotten(struct mfu_session *s, const struct mfu_scenario *old)
{
    char value[MFU_QUANTITY_MAX];

    for (int i = 0; i < old->model->n_dims; i++)
        if (old->dim_given[i])
            mfu_print_note(s, "%s %s is forgotten: it was set for %s", old->model->dims[i].name,
                           mfu_key_format(value, old, (struct mfu_key){MFU_KEY_DIM, i}, old->dim[i]), old->model->slug);
}

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    struct mfu_scenario old = s->memory.now, next = old;
    struct mfu_model_answer answer;
    char path[MFU_PATH_MAX];

    if (argc == 1)
        return list(s, err);
    if (mfu_choose_model(s, &next, argv[1], err) < 0) {
        mfu_suggest_reader(s, "model", argv[1], mfu_session_path(s, argv[1], path), err);
        return mfu_error_caret(s, err, 1);
    }
    if (mfu_install(s, &next, true, err) < 0)
        return -1;
    if (next.model == old.model)
        mfu_say_model(s, old.model); /* else it was told as a change */
    say_forgotten(s, &old);
    answer = mfu_model_answer(s);
    return s->json && !s->csv ? mfu_answer(s, &mfu_record_model, &answer, err) : 0;
}

const struct mfu_command mfu_command_model = {
    .name = "model",
    .usage = "[NAME|FILE|config.json]",
    .group = "describe",
    .summary = "choose or list models",
    .help = "Chooses a model by name, alias, file, or a Hugging Face config.json; without a\n"
            "name lists the known ones, the chosen one marked.  Dimensions that were set for\n"
            "the old model are forgotten.  `show model` tells all about it.\n"
            "\n"
            "    model\n"
            "    model gpt2-xl",
    .most_args = 1,
    .offer = {mfu_offer_models},
    .answers = MFU_ANSWERS(&mfu_record_model, &mfu_record_models),
    .run = run,
};
