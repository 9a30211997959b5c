#include <stdio.h>

#include <string.h>

#include "answer/validate/align_kernels.h"
#include "answer/validate/validate.h"
#include "descriptor/catalog.h"
#include "repl/command.h"
#include "repl/completers.h"
#include "repl/output.h"
#include "report/report.h"
#include "answer/fields/fields.h"

static int kernels(struct mfu_session *s, const char *folder, struct mfu_error *err)
{
    struct mfu_alignment *a = mfu_align_kernels(s->catalog, folder, err);
    int status = 0;

    if (!a)
        return -1;
    if (s->json)
        status = mfu_answer(s, &mfu_record_alignment, a, err);
    else
        mfu_text_alignment(s->out, &s->term, a);
    mfu_alignment_free(a);
    return status;
}

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    char path[MFU_PATH_MAX];
    struct mfu_validation *v;
    int status = 0;

    if (argc == 3 && strcmp(argv[1], "kernels") == 0)
        return kernels(s, mfu_session_path(s, argv[2], path), err);
    if (argc == 3)
        return mfu_fail_word(s, err, 1, "expected kernels FOLDER, or one table of runs");
    v = mfu_validate(s->catalog, mfu_session_table(s, argc > 1 ? argv[1] : NULL, path), err);
    if (!v)
        return mfu_session_suggest_table(argc > 1 ? argv[1] : "", err);
    if (s->json)
        status = mfu_answer(s, &mfu_record_validate, v, err);
    else
        mfu_text_validation(s->out, &s->term, v);
    if (!s->json && v->step.n > 0)
        mfu_print_note(s, "import %s ID takes a row as the scenario: plan, why",
                       argc > 1 ? argv[1] : MFU_PUBLISHED_WORD);
    mfu_validation_free(v);
    return status;
}

const struct mfu_command mfu_command_validate = {
    .name = "validate",
    .usage = "[FILE.csv | kernels FOLDER]",
    .group = "look closer",
    .summary = "against measured runs",
    .help = "Plans every run of a table that somebody measured, and compares: errors of step\n"
            "time and memory over all runs and by GPU, runtime and sharding.  What a row\n"
            "leaves open is assumed and listed; a row that cannot be planned says why.  The\n"
            "scenario of the session plays no part; `import FILE ID` makes it that of a row.\n"
            "Without a file, or of `published`: the runs that come with mfuplan.\n"
            "`validate kernels` takes a folder of calibrate/ground-truth and compares, kernel\n"
            "by kernel, the launches that are predicted with those that PyTorch's profiler\n"
            "saw: missing, extra, slow or fast by more than a quarter.\n"
            "\n"
            "    validate runs.csv\n"
            "    validate kernels h200.truth",
    .most_args = 2,
    .word = MFU_PUBLISHED_WORD,
    .offer = {mfu_offer_files},
    .answers = MFU_ANSWERS(&mfu_record_validate, &mfu_record_alignment),
    .pages = true,
    .run = run,
};
