/*
 * rollout.c - how fast the model writes: prefill, decode, KV cache.
 */
#include "plan/rollout.h"
#include "answer/fields/fields.h"
#include "repl/command.h"
#include "repl/output.h"
#include "repl/read_options.h"
#include "report/report.h"

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    struct mfu_rollout_options options = mfu_rollout_defaults();
    struct mfu_plan plan = {0};
    struct mfu_rollout r;
    int status;

    if (mfu_read_options(s, argc, argv, 1, mfu_rollout_option_rows, mfu_rollout_option_count, &options, err) < 0)
        return -1;
    status = mfu_rollout(&s->memory.now, &options, &plan, &r, err);
    mfu_plan_release(&plan);
    if (status < 0)
        return -1;
    mfu_session_note_record(s, "rollout", &mfu_record_rollout, &r);
    if (s->json)
        return mfu_answer(s, &mfu_record_rollout, &r, err);
    mfu_text_rollout(s->out, &s->term, &r);
    return 0;
}

const struct mfu_command mfu_command_rollout = {
    .name = "rollout",
    .usage = "[OPTION VALUE ...]",
    .group = "plan",
    .summary = "the model writes",
    .help = "How fast the model writes answers on this GPU (tp of them), as post-training\n"
            "needs it: prefill of the prompts, then decode, one token of each sequence a\n"
            "step, with a KV cache.  Of the settings tp counts, and the model's dimensions.\n"
            "\n"
            "    prompt     tokens of a prompt (512)\n"
            "    new        tokens of the longest answer (512)\n"
            "    sequences  at once; 0: as many as fit (0)\n"
            "    weights    how they are held: bf16, fp8, int8, int4, fp4 (bf16)\n"
            "    kv         how keys and values are held (bf16)\n"
            "    by         engine: CUDA graphs, as vLLM; generate: transformers, eager\n"
            "    most       sequences that the engine takes at once (2048)\n"
            "    share      of the memory that weights leave, for the cache (92 %)\n"
            "    memory     of the card, for the engine in all; 0: as share says (0)\n"
            "    shortest   answer, of the longest; lengths lie evenly between (1)\n"
            "\n"
            "    rollout prompt 1k new 1k\n"
            "    rollout prompt 256 new 2k sequences 64 kv fp8 shortest 10%\n"
            "    print rollout.tokens_per_s*3600",
    .most_args = -1,
    .options = {mfu_rollout_option_rows, &mfu_rollout_option_count},
    .answers = MFU_ANSWERS(&mfu_record_rollout),
    .run = run,
};
