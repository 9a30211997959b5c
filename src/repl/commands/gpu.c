#include <stdio.h>
#include <string.h>

#include "repl/assign.h"
#include "repl/command.h"
#include "repl/describe.h"
#include "repl/completers.h"
#include "repl/output.h"

static int list(struct mfu_session *s, struct mfu_error *err)
{
    struct mfu_name_list list;

    list.names = mfu_catalog_gpus(s->catalog, &list.n);
    return mfu_list_names(s, &mfu_record_gpus, &list, s->memory.now.gpu->slug, err);
}

/* nvidia-smi's names have blanks: gpu NVIDIA GeForce RTX 4070. */
static void join(char *name, size_t size, int argc, char **argv)
{
    size_t n = 0;

    for (int i = 1; i < argc && n < size; i++)
        n += (size_t)snprintf(name + n, size - n, "%s%s", i > 1 ? " " : "", argv[i]);
}

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    struct mfu_scenario next = s->memory.now;
    const struct mfu_gpu *old = next.gpu;
    char name[1024];
    int n;

    if (argc == 1)
        return list(s, err);
    join(name, sizeof name, argc, argv);
    if ((strcmp(name, "local") == 0 ? mfu_choose_local_gpu(s, &next, &n, err) : mfu_choose_gpu(s, &next, name, err))
        < 0)
        return mfu_error_caret(s, err, 1);
    if (next.gpu == old)
        mfu_say_gpu(s, old); /* else it is told as a change */
    if (mfu_install(s, &next, true, err) < 0)
        return -1;
    return s->json && !s->csv ? mfu_answer(s, &mfu_record_gpu, s->memory.now.gpu, err) : 0;
}

const struct mfu_command mfu_command_gpu = {
    .name = "gpu",
    .usage = "[NAME|FILE]",
    .group = "describe",
    .summary = "choose or list GPUs",
    .help = "Chooses a GPU by name, alias or file; without a name lists the known ones, the\n"
            "chosen one marked; `local` is the one in this computer, with which a\n"
            "conversation begins.  Case, - and _ do not matter.  `show gpu` tells all about\n"
            "it.\n"
            "\n"
            "    gpu\n"
            "    gpu h100-sxm\n"
            "    gpu NVIDIA GeForce RTX 4070",
    .most_args = 16,
    .offer = {mfu_offer_gpus},
    .answers = MFU_ANSWERS(&mfu_record_gpu, &mfu_record_gpus),
    .run = run,
};
