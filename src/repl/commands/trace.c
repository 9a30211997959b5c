#include <string.h>

#include "answer/fields/fields.h"
#include "answer/trace/compare_trace.h"
#include "base/error.h"
#include "base/quantity.h"
#include "report/export/trace.h"
#include "repl/command.h"
#include "repl/completers.h"
#include "repl/output.h"
#include "report/report.h"

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

static int compare(struct mfu_session *s, const char *file, struct mfu_error *err)
{
    struct mfu_trace_comparison c;
    char path[MFU_PATH_MAX];
    int status = mfu_compare_trace(&s->memory.now, mfu_session_path(s, file, path), &s->plan, &s->simulation, &c, err);

    if (status < 0)
        mfu_error_caret(s, err, 2);
    else if (s->json)
        status = mfu_answer(s, &mfu_record_trace_comparison, &c, err);
    else
        mfu_text_trace_comparison(s->out, &s->term, &c);
    mfu_trace_comparison_release(&c);
    return status;
}

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    struct mfu_trace_facts facts;
    char span[MFU_QUANTITY_MAX];

    if (argc == 3 && strcmp(argv[1], "compare") == 0)
        return compare(s, argv[2], err);
    if (argc == 3 || strcmp(argv[1], "compare") == 0)
        return mfu_fail_word(s, err, 1, "'%s': expected compare FILE, or one file to be written", argv[1]);
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

static const char *offer(struct mfu_session *s, size_t i)
{
    return i == 0 ? "compare" : mfu_offer_files(s, i - 1);
}

const struct mfu_command mfu_command_trace = {
    .name = "trace",
    .usage = "FILE.json [--force] | compare FILE",
    .group = "look closer",
    .summary = "a step, for Perfetto",
    .help = "Writes one simulated optimizer step as a trace: what the host dispatches, what\n"
            "runs on the streams of the GPU and what the GPU waits for, with shape, FLOPs,\n"
            "bytes and bound of every kernel, and allocated and reserved memory.  Open it in\n"
            "https://ui.perfetto.dev or chrome://tracing, beside one of torch.profiler.\n"
            "`trace compare` takes one of torch.profiler (record_shapes=True), or an export\n"
            "of Nsight Systems (nsys export --type sqlite, of `nsys profile -t cuda,nvtx`\n"
            "under emit_nvtx(record_shapes=True), steps as NVTX ranges \"step N\"), and puts\n"
            "its last step beside this scenario's: kernels by operation and shape, missing,\n"
            "extra, slow, and what could be won back; gaps by what the GPU waited for.  The\n"
            "scenario is one micro-step (accum 1).\n"
            "\n"
            "    set batch 8; trace step.json\n"
            "    set batch 8 accum 1; trace compare recorded.json",
    .writes = true,
    .least_args = 1,
    .most_args = 2,
    .offer = {offer, mfu_offer_files},
    .answers = MFU_ANSWERS(&record, &mfu_record_trace_comparison),
    .pages = true,
    .run = run,
};
