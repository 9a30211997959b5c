/*
 * iteration.c - one turn of GRPO or PPO: rollout, scoring, update, weights moved.
 */
#include "plan/iteration.h"
#include "answer/fields/fields.h"
#include "repl/command.h"
#include "repl/output.h"
#include "repl/read_options.h"
#include "report/report.h"

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    struct mfu_iteration_options options = mfu_iteration_defaults();
    struct mfu_plan plan = {0};
    struct mfu_simulation simulation = {0};
    struct mfu_iteration it;
    int status;

    if (mfu_read_options(s, argc, argv, 1, mfu_iteration_option_rows, mfu_iteration_option_count, &options, err) < 0)
        return -1;
    status = mfu_iterate(&s->memory.now, &options, &plan, &simulation, &it, err);
    mfu_simulation_release(&simulation);
    mfu_plan_release(&plan);
    if (status < 0)
        return -1;
    mfu_session_note_record(s, "iteration", &mfu_record_iteration, &it);
    if (s->json)
        return mfu_answer(s, &mfu_record_iteration, &it, err);
    mfu_text_iteration(s->out, &s->term, &it);
    return 0;
}

const struct mfu_command mfu_command_iteration = {
    .name = "iteration",
    .usage = "[OPTION VALUE ...]",
    .group = "plan",
    .summary = "a turn of GRPO or PPO",
    .help = "One turn of a loop that learns from its own answers: an engine writes them,\n"
            "forward passes score them, the step of `plan` learns (objective grpo), and the\n"
            "new weights go to the engine.  The settings batch, accum and gpus are the\n"
            "update's.\n"
            "\n"
            "    prompt      tokens of a prompt (seq without its completion)\n"
            "    new         tokens of the longest answer (completion)\n"
            "    shortest    answer, of the longest; lengths lie evenly between (1)\n"
            "    weights     how the engine holds them: bf16, fp8, int8, int4, fp4 (bf16)\n"
            "    kv          how keys and values are held (bf16)\n"
            "    reward      on: a model of this size scores the answers (off)\n"
            "    reward_s    time of a reward that is a function, of all answers (0)\n"
            "    critic      on: a model of this size learns their value, PPO (off)\n"
            "    engine      colocate, server (vLLM) or generate (the trainer's own)\n"
            "    engine_gpus of a server (1); engine_tp: that share an engine's layers (1)\n"
            "    engine_share  of a card's memory, for an engine in all (30 %)\n"
            "    sleep       on: the engine gives its memory back during the update (off)\n"
            "    steps_per_generation  micro-batches that one rollout feeds (accum)\n"
            "    num_iterations        how often each answer is learnt from (1)\n"
            "    acceptance  share of the answers that is used in the end (1)\n"
            "\n"
            "    set batch 4 accum 16; iteration prompt 256 new 768 engine_share 40%\n"
            "    iteration new 512 engine server engine_gpus 2 acceptance 25%\n"
            "    print iteration.accepted_per_gpu_hour",
    .most_args = -1,
    .options = {mfu_iteration_option_rows, &mfu_iteration_option_count},
    .answers = MFU_ANSWERS(&mfu_record_iteration),
    .run = run,
};
