/*
 * iteration.c - the phases of GRPO and PPO, each from a plan that exists: rollout, training step, forward pass.
 */
#include "plan/iteration.h"

#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "cost/collective.h"
#include "scenario/setting.h"

const char *const mfu_iteration_phase_names[] = {"rollout", "scoring", "update", "weights"};
const char *const mfu_iteration_levers[] = {
    "more sequences at once (engine_share, kv fp8), shorter answers, more GPUs that write",
    "reference none, or base with adapters; larger micro-batches",
    "what `advise` says of the step; fewer num_iterations", "more steps_per_generation for each move, a faster link"};

const char *const mfu_engine_names[] = {"colocate", "server", "generate", NULL};

/* Whether an engine with weights and a cache of its own writes, and whether on other GPUs. */
static bool has_engine(const struct mfu_iteration *it)
{
    return it->options.engine != MFU_ENGINE_GENERATE;
}

static bool elsewhere(const struct mfu_iteration *it)
{
    return it->options.engine == MFU_ENGINE_SERVER;
}

#define AT(field) offsetof(struct mfu_iteration_options, field)
// clang-format off
const struct mfu_command_option mfu_iteration_option_rows[] = {
    {"prompt",     MFU_TOKENS,  0, 1e7, 0, AT(rollout.prompt),  "tokens of a prompt; 0: seq without its completion", NULL},
    {"new",        MFU_TOKENS,  0, 1e7, 0, AT(rollout.answer),  "tokens of the longest answer; 0: completion", NULL},
    {"shortest",   MFU_RATIO,   0, 1,   1, AT(rollout.shortest), "answer, of the longest: lengths lie evenly between", NULL},
    {"weights",    MFU_COUNT,   0, 0, MFU_HELD_BF16, AT(rollout.weights), "how the engine holds them: bf16, fp8, int8, int4, fp4", mfu_held_names},
    {"kv",         MFU_COUNT,   0, 0, MFU_HELD_BF16, AT(rollout.kv), "how keys and values are held: bf16, fp8, int8, int4", mfu_held_names},
    {"reward",     MFU_COUNT,   0, 1,   0, AT(reward),          "whether a model of this size scores the answers", mfu_switch_names},
    {"reward_s",   MFU_SECONDS, 0, 1e6, 0, AT(reward_s),        "time of a reward that is a function, of all answers", NULL},
    {"critic",     MFU_COUNT,   0, 1,   0, AT(critic),          "whether a model of this size learns their value (PPO)", mfu_switch_names},
    {"engine",     MFU_COUNT,   0, 0, MFU_ENGINE_COLOCATE, AT(engine), "where answers are written: colocate, server (both as vLLM), generate (the trainer itself)", mfu_engine_names},
    {"engine_gpus", MFU_COUNT,  1, 1e6, 1, AT(engine_gpus),     "of a server", NULL},
    {"engine_tp",  MFU_COUNT,   1, 1024, 1, AT(engine_tp),      "GPUs that share an engine's layers (tensor parallel)", NULL},
    {"engine_share", MFU_RATIO, 0.01, 1, 0.3, AT(rollout.memory), "of a card's memory that an engine takes in all (vllm_gpu_memory_utilization)", NULL},
    {"sleep",      MFU_COUNT,   0, 1,   0, AT(sleep),           "whether the engine gives its memory back while the trainer works", mfu_switch_names},
    {"steps_per_generation", MFU_COUNT, 0, 1e6, 0, AT(steps_per_generation), "micro-batches that one rollout feeds; 0: accum", NULL},
    {"num_iterations", MFU_COUNT, 1, 1e4, 1, AT(num_iterations), "how often each answer is learnt from", NULL},
    {"acceptance", MFU_RATIO,   0, 1,   1, AT(acceptance),      "share of the answers that is used in the end", NULL},
};
// clang-format on
const size_t mfu_iteration_option_count = sizeof mfu_iteration_option_rows / sizeof *mfu_iteration_option_rows;

struct mfu_iteration_options mfu_iteration_defaults(void)
{
    struct mfu_iteration_options o = {.rollout = mfu_rollout_defaults()};

    mfu_options_begin(mfu_iteration_option_rows, mfu_iteration_option_count, &o);
    return o;
}

/* A model that trains, or only scores: its step, what is always there, and its forward pass. */
struct learner {
    double step_s, low_s, high_s, forward_s;
    double peak_bytes, resident_bytes, weight_bytes, context_bytes;
};

static int learn(const struct mfu_scenario *s, struct mfu_plan *p, struct mfu_simulation *sim, struct learner *x,
                 struct mfu_error *err)
{
    const struct mfu_step_answer *step = &p->step;
    double resident = 0;

    if (mfu_plan_make(p, s, err) < 0 || mfu_simulate(p, false, sim, err) < 0)
        return -1;
    for (int i = 0; i < MFU_PART_COUNT; i++)
        resident += p->program.constant_bytes[i];
    *x = (struct learner){.step_s = step->time_s,
                          .low_s = step->low_s,
                          .high_s = step->high_s,
                          /* a pass waits for its host and its gathers as the passes of the step do */
                          .forward_s = (step->time_s - step->optimizer_s) * step->forward_s
                              / (step->forward_s + step->backward_s),
                          .peak_bytes = p->memory.smi_bytes,
                          .resident_bytes = resident + p->memory.context_bytes,
                          .weight_bytes = p->program.constant_bytes[MFU_PART_WEIGHTS],
                          .context_bytes = p->memory.context_bytes};
    return 0;
}

/* What the loop trains: prompts and answers padded to the longest of a rank's answers, of which the head reads the
 * answer.  Of n lengths that lie evenly over the upper 1 - a of a range the longest is expected at a + (1 - a) n/(n+1). */
static int update_of(const struct mfu_scenario *from, const struct mfu_iteration *it, double answers,
                     const char *objective, struct mfu_scenario *s, struct mfu_error *err)
{
    const struct mfu_rollout_options *o = &it->options.rollout;
    double longest = ceil(o->answer * (o->shortest + (1 - o->shortest) * answers / (answers + 1)));
    bool head = mfu_model_dim_find(from->model, "completion", NULL) >= 0;

    *s = *from;
    if (objective && mfu_scenario_set(s, "objective", objective, err) < 0)
        return -1;
    if (o->shortest == 1)
        longest = o->answer;
    return mfu_scenario_set_number(s, "seq", round(o->prompt + longest), err) < 0
            || (head && mfu_scenario_set_number(s, "completion", round(longest), err) < 0)
        ? -1
        : 0;
}

static const char *policy_objective(const struct mfu_config *c)
{
    return mfu_objectives[(int)c->setting[MFU_S_OBJECTIVE]].entropy ? NULL : mfu_objectives[MFU_GRPO].name;
}

static int lengths(const struct mfu_config *c, struct mfu_rollout_options *o, struct mfu_error *err)
{
    double completion = mfu_model_dim_find(c->model, "completion", NULL) >= 0 ? mfu_config_dim(c, "completion") : 0;

    if (o->answer == 0)
        o->answer = completion;
    if (o->answer == 0)
        return mfu_fail(err, MFU_EINPUT, "how long answers are is not said: new 512, or set completion 512");
    if (o->prompt == 0)
        o->prompt = c->seq - o->answer;
    if (o->prompt < 1)
        return mfu_fail(err, MFU_EINPUT, "sequences of %.0f tokens leave no prompt before answers of %.0f: set seq",
                        c->seq, o->answer);
    return 0;
}

/* One engine writes its share of the answers, in as many waves as it has to be filled. */
static int write_answers(const struct mfu_scenario *from, struct mfu_plan *p, struct mfu_iteration *it,
                         struct mfu_error *err)
{
    struct mfu_rollout_options o = it->options.rollout;
    struct mfu_scenario s = *from;
    struct mfu_rollout *r = &it->rollout;

    s.setting_given[MFU_S_PP] = false;
    if (has_engine(it) && mfu_scenario_set_number(&s, "tp", round(it->options.engine_tp), err) < 0)
        return -1;
    o.sender = has_engine(it) ? MFU_SENDER_ENGINE : MFU_SENDER_GENERATE;
    o.memory = has_engine(it) ? o.memory : 0;
    o.sequences = ceil(it->sequences / it->engines);
    if (mfu_rollout(&s, &o, p, r, err) < 0)
        return -1;
    it->waves = 1;
    if (!r->fits && r->most_sequences >= 1 && has_engine(it)) {
        it->waves = o.sequences / r->most_sequences;
        o.sequences = r->most_sequences;
        if (mfu_rollout(&s, &o, p, r, err) < 0)
            return -1;
    }
    it->answer_tokens = r->answer_tokens / r->sequences * it->sequences;
    it->seconds[MFU_IT_ROLLOUT] = it->waves * r->seconds;
    it->low_s += it->waves * r->low_s;
    it->high_s += it->waves * r->high_s;
    return 0;
}

/* From the trainer's GPUs to the engine's: gathered where they are sharded, then copied on the card, or broadcast. */
static void move_weights(const struct mfu_plan *p, struct mfu_iteration *it)
{
    const struct mfu_config *c = &p->config;
    struct mfu_group ranks = mfu_group_of(c->ranks, p->machine.topology.unit_gpus),
                     all = mfu_group_of(1 + it->engine_gpus, p->machine.topology.unit_gpus);
    double s = 0;

    if (!has_engine(it))
        return;
    it->moved_bytes = 2 * p->program.params;
    if (c->ranks > 1 && (c->setting[MFU_S_ZERO] >= 3 || c->setting[MFU_S_TP] * c->setting[MFU_S_PP] > 1))
        s += mfu_collective_price(&p->machine, &ranks, MFU_ALL_GATHER, it->moved_bytes).time_s;
    s += elsewhere(it)
        ? mfu_collective_price(&p->machine, &all, MFU_BROADCAST, it->moved_bytes).time_s
        : 2 * it->moved_bytes / it->options.engine_tp / mfu_dram_bytes_s(&p->machine, MFU_C_DRAM_POINTWISE);
    it->seconds[MFU_IT_WEIGHTS] = s;
    it->low_s += s;
    it->high_s += s;
}

/* The card holds the trainer and an engine that shares it, which may sleep while the other works. */
static void weigh(const struct learner *x, double critic_bytes, double resident, struct mfu_iteration *it)
{
    const struct mfu_rollout *r = &it->rollout;
    bool sleeps = it->options.sleep > 0;

    it->engine_bytes = has_engine(it)
        ? fmax(it->options.rollout.memory * it->capacity_bytes, r->weight_bytes + r->kv_bytes + r->activation_bytes)
        : r->kv_bytes + r->activation_bytes;
    it->update_bytes =
        x->peak_bytes + critic_bytes + (has_engine(it) && !elsewhere(it) && !sleeps ? it->engine_bytes : 0);
    it->rollout_bytes = resident + (elsewhere(it) ? 0 : it->engine_bytes);
    it->fits = fmax(it->update_bytes, it->rollout_bytes) <= it->capacity_bytes && r->weight_bytes < it->capacity_bytes
        && (has_engine(it) ? r->most_sequences >= 1 : true);
}

/* Forward passes of the policy and its reference over the answers.  The trainer asks for the policy's own where steps or
 * another program's rounding come between (grpo_trainer.py, generate_every). */
static double scoring_passes(const struct mfu_config *c, const struct mfu_iteration *it, double micro)
{
    const struct mfu_reference_row *reference = mfu_config_reference(c);
    double every = micro * it->options.num_iterations;
    bool old = has_engine(it) || fmod(c->accum, every) != 0;

    return old + (reference && reference->pass);
}

static void add_up(struct mfu_iteration *it)
{
    for (int i = 0; i < MFU_IT_PHASE_COUNT; i++) {
        it->total_s += it->seconds[i];
        if (it->seconds[i] > it->seconds[it->rules])
            it->rules = (enum mfu_iteration_phase)i;
    }
    it->tokens_per_s = it->answer_tokens / it->total_s;
    it->accepted_per_gpu_hour = it->sequences * it->options.acceptance / (it->total_s * it->gpus / 3600);
}

int mfu_iterate(const struct mfu_scenario *from, const struct mfu_iteration_options *o, struct mfu_plan *p,
                struct mfu_simulation *sim, struct mfu_iteration *it, struct mfu_error *err)
{
    struct mfu_scenario update, value;
    struct mfu_config c;
    struct learner policy, other = {0};
    double micro, forward_s, each, peak = 0, resident, known;

    *it = (struct mfu_iteration){.options = *o};
    if (mfu_scenario_resolve(from, &c, err) < 0 || lengths(&c, &it->options.rollout, err) < 0)
        return -1;
    micro = o->steps_per_generation > 0 ? o->steps_per_generation : c.accum;
    each = c.setting[MFU_S_BATCH] * micro;
    if (update_of(from, it, each, policy_objective(&c), &update, err) < 0 || learn(&update, p, sim, &policy, err) < 0)
        return -1;
    known = mfu_plan_fits(p);
    it->capacity_bytes = p->memory.capacity_bytes;
    it->sequences = each * p->config.setting[MFU_S_DP];
    it->steps = fmax(1, micro * o->num_iterations / c.accum);
    it->passes = scoring_passes(&p->config, it, micro);
    it->engine_gpus = elsewhere(it) ? o->engine_gpus : 0;
    it->gpus = p->config.ranks + it->engine_gpus;
    it->engines =
        fmin(it->sequences, fmax(1, floor((it->engine_gpus > 0 ? it->engine_gpus : p->config.ranks) / o->engine_tp)));
    it->low_s = it->steps * policy.low_s;
    it->high_s = it->steps * policy.high_s;
    it->seconds[MFU_IT_UPDATE] = it->steps * policy.step_s;
    forward_s = it->passes * policy.forward_s;
    resident = policy.resident_bytes;
    move_weights(p, it);
    if (o->reward > 0 || o->critic > 0) {
        if (update_of(from, it, each, mfu_objectives[MFU_VALUE].name, &value, err) < 0
            || learn(&value, p, sim, &other, err) < 0)
            return -1;
        known += mfu_plan_fits(p);
        forward_s += ((o->reward > 0) + (o->critic > 0)) * other.forward_s;
        peak = o->reward > 0 ? other.weight_bytes : 0;
        resident += peak;
    }
    if (o->critic > 0) {
        it->seconds[MFU_IT_UPDATE] += it->steps * other.step_s;
        it->low_s += it->steps * other.low_s;
        it->high_s += it->steps * other.high_s;
        peak += other.peak_bytes - other.context_bytes;
        resident += other.resident_bytes - other.context_bytes;
    }
    forward_s *= micro / c.accum;
    it->seconds[MFU_IT_SCORING] = forward_s + o->reward_s;
    it->low_s += (policy.low_s / policy.step_s) * forward_s + o->reward_s;
    it->high_s += (policy.high_s / policy.step_s) * forward_s + o->reward_s;
    if (write_answers(from, p, it, err) < 0)
        return -1;
    weigh(&policy, peak, resident, it);
    if (isnan(known))
        it->fits = NAN;
    add_up(it);
    return 0;
}

void mfu_iteration_says(const struct mfu_plan *step, char *text, size_t size)
{
    struct mfu_iteration_options o = mfu_iteration_defaults();
    struct mfu_simulation simulation = {0};
    struct mfu_plan plan = {0};
    struct mfu_iteration it;
    struct mfu_error err = {0};

    text[0] = '\0';
    if (!policy_objective(&step->config) && mfu_iterate(&step->scenario, &o, &plan, &simulation, &it, &err) == 0)
        snprintf(text, size, "this step is %.0f %% of an iteration (`iteration`, as it stands); %s rules, %.0f %%: %s",
                 100 * it.seconds[MFU_IT_UPDATE] / it.total_s, mfu_iteration_phase_names[it.rules],
                 100 * it.seconds[it.rules] / it.total_s, mfu_iteration_levers[it.rules]);
    mfu_simulation_release(&simulation);
    mfu_plan_release(&plan);
}
