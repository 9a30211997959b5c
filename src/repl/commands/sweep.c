#include <string.h>

#include "repl/command.h"
#include "repl/completers.h"
#include "repl/sweeping.h"
#include "repl/output.h"
#include "report/report.h"
#include "answer/fields/fields.h"

#define ROWS 60 /* that text shows */

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    static const char *const usual[] = {"step_time_s", "tokens_per_s", "mfu", "smi_used_bytes", "fits"};
    struct mfu_sweep_words w = {.top = ROWS};
    struct mfu_sweep_result r = {0};
    int status = mfu_sweep_words_read(s, 1, argc, argv, &w, err);

    if (status == 0 && w.sweep.n_axes == 0)
        status = mfu_fail(err, MFU_EINPUT, "expected KEY=VALUES, such as batch=1,2,4 or batch=1..64*2");
    if (status == 0)
        mfu_sweep_words_drop_axes(&w);
    for (size_t i = 0; status == 0 && w.sweep.n_columns == 0 + i && i < sizeof usual / sizeof usual[0]; i++)
        status = mfu_sweep_column(&w.sweep, usual[i], err);
    w.sweep.confirmed = true;
    if (status == 0)
        status = mfu_sweep_words_run(s, &w, &r, err);
    if (status == 0)
        mfu_sweep_words_sort(&w, &r);
    if (status == 0 && s->json)
        status = mfu_answer(s, &mfu_record_sweep, &(struct mfu_sweep_answer){&w.sweep, &r}, err);
    else if (status == 0)
        mfu_text_sweep(s->out, &s->term, &w.sweep, &r, (size_t)w.top);
    mfu_sweep_result_free(&r);
    mfu_sweep_clear(&w.sweep);
    return status;
}

const struct mfu_command mfu_command_sweep = {
    .name = "sweep",
    .usage = "KEY=VALUES ...",
    .group = "plan",
    .summary = "plan many at once",
    .help = "Plans every combination of the values of some keys, on all cores.  Values are a\n"
            "list (1,2,4), a range (1..8), a range by factors (1..64*2) or steps (0..1+0.25),\n"
            "choices (eager,compile), `all`, or follow from other keys (accum=512/batch);\n"
            "GPUs and models vary, too.  `where EXPR` leaves rows out, `columns A,B` chooses\n"
            "results, `sort RESULT` (or -RESULT) the order, `top N by RESULT` the best few,\n"
            "`top N` how many rows are shown, `threads N` the cores.  `shard I/N` plans the\n"
            "I-th of N equal parts, for another machine to plan the others.\n"
            "Up to four thousand rows are simulated, as `plan` does.  Beyond that the\n"
            "analytic path is taken (a hundred thousand a second) unless you say `simulated`.\n"
            "\n"
            "    sweep batch=1..32*2 runtime=eager,compile\n"
            "    sweep batch=1..64 accum=512/batch where fits columns tokens_per_s,mfu\n"
            "    sweep batch 1..64 checkpoint all top 5 by tokens_per_s where fits\n"
            "    sweep gpu=rtx4090,h100-sxm batch=8,16",
    .compares = "where",
    .least_args = 1,
    .most_args = -1,
    .offer = {mfu_offer_keys, mfu_offer_keys},
    .answers = MFU_ANSWERS(&mfu_record_sweep),
    .pages = true,
    .run = run,
};
