#include "repl/assign.h"
#include "repl/command.h"
#include "repl/describe.h"
#include "repl/completers.h"
#include "repl/output.h"

static int list(struct mfu_session *s, struct mfu_error *err)
{
    size_t n;
    const char *const *names = mfu_catalog_gpus(s->catalog, &n);

    return mfu_list_names(s, "gpu", "gpus", names, n, s->memory.now.gpu->slug, err);
}

static int answer(struct mfu_session *s, struct mfu_error *err)
{
    json_t *facts = mfu_gpu_json(s->memory.now.gpu);
    json_t *object = json_pack("{s:s, s:i}", "command", "gpu", "schema", 1);

    if (object && facts)
        json_object_update(object, facts);
    json_decref(facts);
    return mfu_answer(s, object, err);
}

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    struct mfu_scenario next = s->memory.now;
    const struct mfu_gpu *old = next.gpu;

    if (argc == 1)
        return list(s, err);
    if (mfu_choose_gpu(s, &next, argv[1], err) < 0)
        return mfu_error_caret(s, err, 1);
    if (next.gpu == old)
        mfu_say_gpu(s, old); /* else it is told as a change */
    if (mfu_install(s, &next, true, err) < 0)
        return -1;
    return s->json ? answer(s, err) : 0;
}

const struct mfu_command mfu_command_gpu = {
    .name = "gpu",
    .usage = "[NAME|FILE]",
    .group = "describe",
    .summary = "choose or list GPUs",
    .help = "Chooses a GPU by name, alias or file; without a name lists the known ones, the\n"
            "chosen one marked.  Case, - and _ do not matter.  `show gpu` tells all about it.\n"
            "\n"
            "    gpu\n"
            "    gpu h100-sxm",
    .most_args = 1,
    .offer = {mfu_offer_gpus},
    .run = run,
};
