#include "answer/fields/fields.h"
#include "answer/why/order.h"
#include "repl/command.h"
#include "repl/output.h"
#include "report/report.h"

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    struct mfu_diagnosis o;

    (void)argc, (void)argv;
    if (mfu_diagnose(&s->memory.now, &s->plan, &s->simulation, &o, err) < 0)
        return -1;
    if (s->json)
        return mfu_answer(s, &mfu_record_order, &o, err);
    mfu_text_order(s->out, &s->term, &o);
    return 0;
}

const struct mfu_command mfu_command_order = {
    .name = "order",
    .usage = "",
    .group = "look closer",
    .summary = "what to ask first",
    .help = "The order of diagnosis, with this scenario's figures: data, host, launch,\n"
            "memory, tensor pipe, communication.  Each question has the meter that answers\n"
            "it, what that will read, what would be fine, and the part of the step that is\n"
            "lost there; with what MFU counts the parts add up to the step.  The largest is\n"
            "marked.\n"
            "\n"
            "    set batch 8 runtime compile; order\n"
            "    order; why gemm",
    .answers = MFU_ANSWERS(&mfu_record_order),
    .pages = true,
    .run = run,
};
