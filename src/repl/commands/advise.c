#include <stdlib.h>
#include <string.h>

#include "answer/advise/advise.h"
#include "base/suggest.h"
#include "repl/command.h"
#include "repl/output.h"
#include "report/report.h"
#include "answer/fields/fields.h"

/* Every GPU of the catalog that can be read. */
static const struct mfu_gpu **all_gpus(struct mfu_session *s, size_t *n)
{
    size_t names, count = 0;
    const char *const *name = mfu_catalog_gpus(s->catalog, &names);
    const struct mfu_gpu **gpus = malloc((names + 1) * sizeof *gpus);

    for (size_t i = 0; gpus && i < names; i++) {
        const struct mfu_gpu *g = mfu_catalog_gpu(s->catalog, name[i], NULL);

        if (g)
            gpus[count++] = g;
    }
    *n = count;
    return gpus;
}

static int advise(struct mfu_session *s, bool other_gpus, struct mfu_advice *a, struct mfu_error *err)
{
    const struct mfu_gpu **gpus;
    size_t n;
    int status;

    if (!other_gpus)
        return mfu_advise(&s->memory.now, &s->plan, &s->simulation, a, err);
    if (!(gpus = all_gpus(s, &n)))
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    status = mfu_advise_gpus(&s->memory.now, gpus, n, &s->plan, &s->simulation, a, err);
    free(gpus);
    return status;
}

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    struct mfu_advice a;
    int status = 0;

    if (argc > 1 && !mfu_same_name(argv[1], "gpus")) {
        mfu_fail(err, MFU_EINPUT, "'%.60s': expected nothing, or gpus", argv[1]);
        mfu_error_suggest(err, "gpus");
        return mfu_error_caret(s, err, 1);
    }
    if (advise(s, argc > 1, &a, err) < 0)
        return -1;
    if (s->json)
        status = mfu_answer(s, &mfu_record_advise, &a, err);
    else
        mfu_text_advice(s->out, &s->term, &a);
    mfu_advice_free(&a);
    return status;
}

const struct mfu_command mfu_command_advise = {
    .name = "advise",
    .usage = "[gpus]",
    .group = "plan",
    .summary = "what to change",
    .help = "Every lever that applies here, planned and simulated: micro-batch, precision,\n"
            "compiler, attention, CUDA graphs, optimizer, loss, checkpointing, shapes,\n"
            "loader, more GPUs.  Ranked by speed per token, then by memory saved; with the\n"
            "best of them together, and what is not worth trying here.  `gpus`: the same run\n"
            "on every other card.\n"
            "\n"
            "    set batch 8 accum 64; advise\n"
            "    advise gpus",
    .most_args = 1,
    .word = "gpus",
    .answers = MFU_ANSWERS(&mfu_record_advise),
    .pages = true,
    .run = run,
};
