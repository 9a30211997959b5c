#include "base/quantity.h"
#include "report/json/json.h"
#include "report/export/trace.h"
#include "repl/command.h"
#include "repl/completers.h"
#include "repl/output.h"

static int answer(struct mfu_session *s, const char *file, const struct mfu_trace_facts *facts, struct mfu_error *err)
{
    json_t *o = mfu_json_answer("trace");

    mfu_json_put(&o, "file", mfu_json_text(file));
    mfu_json_put_number(&o, "events", (double)facts->events);
    mfu_json_put_number(&o, "kernels", (double)facts->kernels);
    mfu_json_put_number(&o, "micro_steps_left_out", (double)facts->left_out);
    mfu_json_put_number(&o, "span_s", facts->span_s);
    mfu_json_put_number(&o, "step_time_s", s->plan.step.time_s);
    return mfu_answer(s, o, err);
}

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    struct mfu_trace_facts facts;
    char span[MFU_QUANTITY_MAX];

    (void)argc;
    if (mfu_session_simulate(s, true, err) < 0)
        return -1;
    if (mfu_trace_write(argv[1], &s->plan, &s->simulation, &facts, err) < 0)
        return mfu_error_caret(s, err, 1);
    if (s->json)
        return answer(s, argv[1], &facts, err);
    mfu_print_note(s, "wrote %s: %ld kernels, %ld events, %s", argv[1], facts.kernels, facts.events,
                   mfu_quantity_format(span, facts.span_s, MFU_SECONDS));
    if (facts.left_out > 0)
        mfu_print_note(s, "%ld micro-steps that are like the one before are left out", facts.left_out);
    mfu_print_note(s, "open it in https://ui.perfetto.dev or chrome://tracing");
    return 0;
}

const struct mfu_command mfu_command_trace = {
    .name = "trace",
    .usage = "FILE.json",
    .group = "look closer",
    .summary = "a step, for Perfetto",
    .help = "Writes one simulated optimizer step as a trace: what the host dispatches, what\n"
            "runs on the streams of the GPU and what the GPU waits for, with shape, FLOPs,\n"
            "bytes and bound of every kernel, and allocated and reserved memory.  Open it in\n"
            "https://ui.perfetto.dev or chrome://tracing, beside one of torch.profiler.\n"
            "\n"
            "    set batch 8; trace step.json",
    .least_args = 1,
    .most_args = 1,
    .offer = {mfu_offer_files},
    .run = run,
};
