/*
 * buckets.c - pictures of several sizes, sequences of several lengths: the step in the mean, the memory of the largest.
 */
#include "plan/buckets.h"
#include "answer/fields/fields.h"
#include "repl/command.h"
#include "repl/output.h"
#include "repl/read_options.h"
#include "report/report.h"

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    struct mfu_simulation simulation = {0};
    struct mfu_buckets_options options;
    struct mfu_plan plan = {0};
    struct mfu_buckets b;
    int status;

    mfu_options_begin(mfu_buckets_option_rows, mfu_buckets_option_count, &options);
    if (mfu_read_options(s, argc, argv, 2, mfu_buckets_option_rows, mfu_buckets_option_count, &options, err) < 0)
        return -1;
    status = mfu_buckets_plan(&s->memory.now, argv[1], &options, &plan, &simulation, &b, err);
    mfu_simulation_release(&simulation);
    if (status == 0) {
        mfu_session_note_record(s, "buckets", &mfu_record_buckets, &b);
        if (s->json)
            status = mfu_answer(s, &mfu_record_buckets, &b, err);
        else
            mfu_text_buckets(s->out, &s->term, &plan, &b);
    }
    mfu_plan_release(&plan);
    return status;
}

const struct mfu_command mfu_command_buckets = {
    .name = "buckets",
    .usage = "SIZES [OPTION VALUE ...]",
    .group = "plan",
    .summary = "samples of several sizes",
    .help = "A run whose micro-batches are each of one size of several (aspect-ratio\n"
            "buckets): the step in the mean over their shares and the ranks that wait for\n"
            "the slowest, the memory of the largest.  SIZES are WIDTHxHEIGHT:SHARE with\n"
            "commas between, or how many to make of the area that height and width have;\n"
            "of a model of sequences LENGTH:SHARE, or how many lengths of batches to take\n"
            "from doc_len, doc_sigma, too_long and padding: memory is that of seq then.\n"
            "\n"
            "    images  of an epoch: how long it takes, and what its last batches lack\n"
            "    step    pixels, of which edges are multiples where sizes are made (64)\n"
            "\n"
            "    model flux-dev; buckets 1024x1024:60,832x1216:25,1216x832:15\n"
            "    buckets 9 images 40k\n"
            "    set seq 2048 batch 4 doc_len 400 doc_sigma .7 padding longest; buckets 20\n"
            "    print buckets.step_time_s/step_time_s",
    .least_args = 1,
    .most_args = -1,
    .options = {mfu_buckets_option_rows, &mfu_buckets_option_count},
    .answers = MFU_ANSWERS(&mfu_record_buckets),
    .run = run,
};
