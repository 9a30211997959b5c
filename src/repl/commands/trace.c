#include "base/quantity.h"
#include "report/export/trace.h"
#include "repl/command.h"
#include "repl/completers.h"
#include "repl/output.h"

struct traced {
    const char *file;
    const struct mfu_trace_facts *facts;
    const struct mfu_plan *plan;
};
// clang-format off
#define TRACED(X) \
    X(TEXT,   file,                 0,           t->file,                    "that was written") \
    X(NUMBER, events,               MFU_COUNT,   (double)t->facts->events,   "of all kinds") \
    X(NUMBER, kernels,              MFU_COUNT,   (double)t->facts->kernels,  "among them") \
    X(NUMBER, micro_steps_left_out, MFU_COUNT,   (double)t->facts->left_out, "equal to those that are shown") \
    X(NUMBER, span_s,               MFU_SECONDS, t->facts->span_s,           "of all events") \
    X(NUMBER, step_time_s,          MFU_SECONDS, t->plan->step.time_s,       "one optimizer step")
MFU_FIELDS(trace, const struct traced *t, TRACED)
static const struct mfu_record record = MFU_RECORD(trace, .command = "trace");
// clang-format on

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    struct mfu_trace_facts facts;
    char span[MFU_QUANTITY_MAX];

    (void)argc;
    if (mfu_may_replace(s, argv[1], false, MFU_FORCE, err) < 0)
        return mfu_error_caret(s, err, 1);
    if (mfu_session_simulate(s, true, err) < 0)
        return -1;
    if (mfu_trace_write(argv[1], &s->plan, &s->simulation, &facts, err) < 0)
        return mfu_error_caret(s, err, 1);
    if (s->json)
        return mfu_answer(s, &record, &(struct traced){argv[1], &facts, &s->plan}, err);
    mfu_print_note(s, "wrote %s: %ld kernels, %ld events, %s", argv[1], facts.kernels, facts.events,
                   mfu_quantity_format(span, facts.span_s, MFU_SECONDS));
    if (facts.left_out > 0)
        mfu_print_note(s, "%ld micro-steps that are like the one before are left out", facts.left_out);
    mfu_print_note(s, "open it in https://ui.perfetto.dev or chrome://tracing");
    return 0;
}

const struct mfu_command mfu_command_trace = {
    .name = "trace",
    .usage = "FILE.json [--force]",
    .group = "look closer",
    .summary = "a step, for Perfetto",
    .help = "Writes one simulated optimizer step as a trace: what the host dispatches, what\n"
            "runs on the streams of the GPU and what the GPU waits for, with shape, FLOPs,\n"
            "bytes and bound of every kernel, and allocated and reserved memory.  Open it in\n"
            "https://ui.perfetto.dev or chrome://tracing, beside one of torch.profiler.\n"
            "\n"
            "    set batch 8; trace step.json",
    .writes = true,
    .least_args = 1,
    .most_args = 1,
    .offer = {mfu_offer_files},
    .answers = MFU_ANSWERS(&record),
    .run = run,
};
