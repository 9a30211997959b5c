#include <stdlib.h>
#include <string.h>

#include "plan/kernels.h"
#include "answer/why/why.h"
#include "repl/command.h"
#include "repl/output.h"
#include "report/report.h"
#include "answer/fields/fields.h"

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    struct mfu_why *w = malloc(sizeof *w);
    int status;

    if (!w)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    status = mfu_session_plan(s, err); /* what fails from here on is the topic */
    if (status == 0 && mfu_why_make(&s->memory.now, argc > 1 ? argv[1] : NULL, &s->plan, &s->simulation, w, err) < 0)
        status = argc > 1 ? mfu_error_caret(s, err, 1) : -1;
    if (status == 0 && s->json)
        status = mfu_answer(s, &mfu_record_why, w, err);
    else if (status == 0)
        mfu_text_why(s->out, &s->term, w);
    free(w);
    return status;
}

/* Topics, then the names of the kernels. */
static const char *offer(struct mfu_session *s, size_t i)
{
    static char name[96];
    struct mfu_kernel_row *rows;
    const char *found = NULL;
    int n;

    if (i < mfu_why_topic_count)
        return mfu_why_topics[i].name;
    i -= mfu_why_topic_count;
    if (mfu_plan_make(&s->plan, &s->memory.now, NULL) < 0)
        return NULL;
    n = mfu_kernel_rows(&s->plan, &rows, NULL);
    if (n > 0 && i < (size_t)n) {
        memcpy(name, rows[i].name, sizeof name);
        found = name;
    }
    free(rows);
    return found;
}

const struct mfu_command mfu_command_why = {
    .name = "why",
    .usage = "[TOPIC]",
    .group = "plan",
    .summary = "from the whole to cause",
    .help = "Takes the whole apart until the causes are left, with the numbers of this\n"
            "scenario; the parts add up, and each names the command that shows more.\n"
            "\n"
            "    mfu           from 100 % of the peak down to the MFU (the default)\n"
            "    slow          what the step waits for, in seconds\n"
            "    vram          what fills the card, and what grows with the batch\n"
            "    utilisation   why 100 % busy is not 100 % used\n"
            "    batch         what a larger micro-batch brings, and where that stops\n"
            "    KERNEL        a name, op or kind of `kernels`, from the peak to its time\n"
            "\n"
            "    set batch 8 accum 64 runtime compile; why\n"
            "    why vram\n"
            "    why h.attn.qkv",
    .most_args = 1,
    .offer = {offer},
    .answers = MFU_ANSWERS(&mfu_record_why),
    .pages = true,
    .run = run,
};
