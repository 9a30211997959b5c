#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "report/metrics_over.h"
#include "repl/command.h"
#include "repl/output.h"
#include "repl/plan_view.h"
#include "answer/fields/fields.h"

/* ---- metrics --over TIME -------------------------------------------------- */

#define JSON_SLICES 100

static int over(struct mfu_session *s, const char *time, struct mfu_error *err)
{
    int n = s->json ? JSON_SLICES : mfu_text_metrics_slices(&s->term), status = -1;
    struct mfu_metrics_slice *slices;
    double window_s;

    if (mfu_quantity_parse(time, MFU_SECONDS, &window_s, err) < 0)
        return mfu_error_caret(s, err, 2);
    if (mfu_session_simulate(s, true, err) < 0)
        return -1;
    if (!(slices = calloc((size_t)n, sizeof *slices)))
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    if (mfu_metrics_over(&s->plan, &s->simulation, window_s, slices, n, err) < 0)
        status = mfu_error_caret(s, err, 2);
    else if (s->json)
        status = mfu_answer(s, &mfu_record_metrics_over,
                            &(struct mfu_metrics_over_answer){&s->plan, window_s, slices, n}, err);
    else {
        mfu_text_metrics_over(s->out, &s->term, &s->plan, window_s, slices, n);
        status = 0;
    }
    free(slices);
    return status;
}

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    static const struct mfu_view_of view = {.record = &mfu_record_metrics, .text = mfu_text_metrics};

    if (argc == 1)
        return mfu_view(s, &view, err);
    if (strcmp(argv[1], "--over") == 0 && argc == 3)
        return over(s, argv[2], err);
    return mfu_fail_word(s, err, 1, "'%s': expected nothing or --over TIME", argv[1]);
}

const struct mfu_command mfu_command_metrics = {
    .name = "metrics",
    .usage = "[--over TIME]",
    .group = "look closer",
    .summary = "what the meters read",
    .help = "What nvidia-smi, DCGM and PyTorch's profiler would read over one optimizer step,\n"
            "beside MFU, and what each reading hides.  `kernels --wide` has them per kernel,\n"
            "`kernel` for one kernel by itself.\n"
            "\n"
            "With --over they are drawn through the first TIME of training in steady state:\n"
            "what is averaged away in one number.\n"
            "\n"
            "    set batch 8 runtime eager attention math; metrics\n"
            "    metrics --over 300ms",
    .most_args = 2,
    .answers = MFU_ANSWERS(&mfu_record_metrics, &mfu_record_metrics_over),
    .pages = true,
    .run = run,
};
