/*
 * why.c - fields of explanations, of levers, and of whole runs.
 */
#include <math.h>
#include <string.h>

#include "answer/advise/advise.h"
#include "answer/fields/fields.h"
#include "answer/why/order.h"
#include "answer/why/why.h"
#include "plan/buckets.h"
#include "plan/iteration.h"
#include "plan/train.h"
#include "scenario/keys.h"
#include "scenario/setting.h"

// clang-format off

/* ---- why ------------------------------------------------------------------- */

/* A part with the parts that it consists of. */
struct part {
    const struct mfu_why_part *of;
    enum mfu_dim dim;
    int n; /* that follow it */
};
#define PART(X) \
    X(TEXT,         name,     0,           p->of->name,                                       "what it is called") \
    X(NUMBER,       fraction, MFU_RATIO,   p->of->fraction,                                   "of the whole; may be negative") \
    X(MAYBE_NUMBER, bytes,    MFU_BYTES,   p->dim == MFU_BYTES ? p->of->amount : (double)NAN, "the same in bytes") \
    X(MAYBE_NUMBER, seconds,  MFU_SECONDS, p->dim != MFU_BYTES ? p->of->amount : (double)NAN, "the same in seconds") \
    X(TEXT,         says,     0,           p->of->says,                                       "what it is") \
    X(MAYBE_TEXT,   command,  0,           p->of->command[0] ? p->of->command : NULL,         "that shows more")
MFU_PART_RECORD(why_leaf, const struct part *p, PART)

/* `n` parts, each with its leaves where they are wanted. */
static void make_parts(const struct mfu_why_part *parts, int n, enum mfu_dim dim, bool leaves, struct mfu_value *v)
{
    struct part *list = mfu_value_own(v, (size_t)n, sizeof *list);

    if (!list)
        return;
    v->n = 0;
    for (int i = 0; i < n; i++)
        if (leaves || !parts[i].leaf || i == 0)
            list[v->n++] = (struct part){.of = &parts[i], .dim = dim};
        else
            list[v->n - 1].n++;
}

#define PART_WITH_LEAVES(X) \
    PART(X) \
    X(MAYBE_MADE_LIST, parts, &why_leaf, make_parts(p->of + 1, p->n, p->dim, true, v), "what it consists of")
MFU_PART_RECORD(why_part, const struct part *p, PART_WITH_LEAVES)

#define WHY_ROW(X) \
    X(NUMBER, batch,        MFU_COUNT,   r->batch,        "micro-batch") \
    X(NUMBER, accum,        MFU_COUNT,   r->accum,        "micro-steps of a step") \
    X(NUMBER, step_time_s,  MFU_SECONDS, r->step_s,       "one optimizer step") \
    X(NUMBER, tokens_per_s, MFU_COUNT,   r->tokens_per_s, "tokens trained per second") \
    X(NUMBER, mfu,          MFU_RATIO,   r->mfu,          "model FLOP over the dense peak") \
    X(NUMBER, memory_bytes, MFU_BYTES,   r->memory_bytes, "as nvidia-smi shows it") \
    X(OPEN_FLAG, fits, 0, r->unsure ? (double)NAN : r->fits, "whether the memory suffices; null: unknown")
MFU_PART_RECORD(why_row, const struct mfu_why_row *r, WHY_ROW)

#define SYMPTOM(X) \
    X(TEXT,   code,    0,         s->code,  "launch-bound ...") \
    X(TEXT,   claim,   0,         s->claim, "number of the symptom in the documentation") \
    X(TEXT,   message, 0,         s->text,  "what the figures show") \
    X(NUMBER, share,   MFU_RATIO, s->share, "of the step that it concerns")
MFU_PART_RECORD(symptom, const struct mfu_symptom *s, SYMPTOM)

static bool of_mfu(const struct mfu_why *w)
{
    return strcmp(w->topic, "mfu") == 0;
}

static void put_flag(bool there, bool flag, struct mfu_value *v)
{
    if (there)
        mfu_value_flag(v, flag);
}

#define WHY(X) \
    X(TEXT,       topic, 0,         w->topic, "what was asked") \
    X(NUMBER,     total, MFU_RATIO, w->total, "what the fractions of the parts add up to") \
    X(TEXT,       whole, 0,         w->whole, "what is taken apart") \
    X(MADE_LIST,  parts, &why_part,     make_parts(w->parts, w->n_parts, w->dim, false, v), "a partition of the whole") \
    X(MAYBE_LIST, rows,  &why_row,  (w->n_rows ? w->rows : NULL, w->n_rows),           "the same with other micro-batches") \
    X(LIST,       text,  &mfu_record_words, (w->lines, w->n_lines), "the explanation in sentences") \
    X(LIST,       findings, &symptom, (w->symptoms, w->n_symptoms), "symptoms that the figures show") \
    X(MAYBE_SCALAR, ceiling_mfu, 0, of_mfu(w) ? mfu_value_number(v, w->ceiling) : (void)0, "best MFU that levers reach; null: nothing fits") \
    X(MAYBE_TEXT, ceiling_change, 0, of_mfu(w) ? w->ceiling_change : NULL, "the levers that reach it") \
    X(MAYBE_SCALAR, ceiling_changes_mathematics, 0, put_flag(of_mfu(w), w->ceiling_mathematics, v), "whether they change rounding or the optimizer") \
    X(MAYBE_SCALAR, ceiling_keeps_tokens_per_step, 0, put_flag(of_mfu(w), !w->ceiling_tokens, v), "whether they keep the tokens of a step")
MFU_FIELDS(why, const struct mfu_why *w, WHY)
const struct mfu_record mfu_record_why = MFU_RECORD(why, .command = "why", .rows = "parts");

/* ---- order ------------------------------------------------------------------ */

struct ordered {
    const struct mfu_diagnosis *of;
    const struct mfu_diagnosis_step *step;
};

static void make_steps(const struct mfu_diagnosis *o, struct mfu_value *v)
{
    struct ordered *list = mfu_value_own(v, MFU_DIAGNOSIS_STEPS, sizeof *list);

    for (int i = 0; list && i < MFU_DIAGNOSIS_STEPS; i++)
        list[i] = (struct ordered){o, &o->steps[i]};
}

#define ORDER_STEP(X) \
    X(TEXT,   name,     0,           s->step->name,                  "what is looked at") \
    X(TEXT,   asks,     0,           s->step->asks,                  "the question") \
    X(TEXT,   meter,    0,           s->step->meter,                 "that answers it") \
    X(NUMBER, reads,    MFU_COUNT,   s->step->reads,                 "what the meter will read: a share, or seconds of a mean kernel") \
    X(NUMBER, fine,     MFU_COUNT,   s->step->fine,                  "where nobody needs to look further") \
    X(FLAG,   at_least, 0,           s->step->at_least,              "whether fine is the least; else the most") \
    X(FLAG,   is_fine,  0,           s->step->is_fine,               "whether it is") \
    X(NUMBER, lost_s,   MFU_SECONDS, s->step->lost_s,                "of a step") \
    X(NUMBER, share,    MFU_RATIO,   s->step->lost_s / s->of->step_s, "of the step; may be negative where a mask saves more") \
    X(FLAG,   worst,    0,           s->step->worst,                 "whether most is lost here") \
    X(TEXT,   most,     0,           s->step->most,                  "what adds most to it") \
    X(TEXT,   see,      0,           s->step->see,                   "the command that looks closer")
MFU_PART_RECORD(order_step, const struct ordered *s, ORDER_STEP)

#define ORDER(X) \
    X(MADE_LIST, steps,       &order_step, make_steps(o, v),          "from the outside in") \
    X(NUMBER,    counted_s,   MFU_SECONDS, o->counted_s,              "model FLOP of a step at the peak") \
    X(NUMBER,    step_time_s, MFU_SECONDS, o->step_s,                 "one optimizer step: what is lost and what is counted")
MFU_FIELDS(order, const struct mfu_diagnosis *o, ORDER)
const struct mfu_record mfu_record_order = MFU_RECORD(order, .command = "order", .rows = "steps");

/* ---- advise ---------------------------------------------------------------- */

static const char *put_key(const struct mfu_scenario *s, struct mfu_key key, double value, struct mfu_value *v)
{
    const char *const *choices = key.kind == MFU_KEY_DIM ? NULL : mfu_settings[key.id].choices;

    if (choices == mfu_switch_names)
        mfu_value_flag(v, value > 0);
    else if (mfu_key_word(v->buf, key, value))
        mfu_value_text(v, mfu_key_word(v->buf, key, value));
    else
        mfu_value_number(v, value);
    return key.kind == MFU_KEY_DIM ? s->model->dims[key.id].name : mfu_settings[key.id].key;
}

#define OUTCOME(X) \
    X(NUMBER, step_time_s,     MFU_SECONDS, o->step_s,       "one optimizer step") \
    X(NUMBER, tokens_per_step, MFU_TOKENS,  o->tokens,       "tokens of one optimizer step") \
    X(NUMBER, memory_bytes,    MFU_BYTES,   o->memory_bytes, "as nvidia-smi shows it") \
    X(OPEN_FLAG, fits, 0, o->unsure ? (double)NAN : o->fits, "whether the memory suffices; null: unknown") \
    X(NUMBER, mfu,             MFU_RATIO,   o->mfu,          "model FLOP over the dense peak") \
    X(NUMBER, hfu,             MFU_RATIO,   o->hfu,          "the same with recomputed FLOP")
MFU_PART_RECORD(outcome, const struct mfu_outcome *o, OUTCOME)

#define NOW(X) \
    X(MEMBERS, outcome, &outcome,  o, "as it is") \
    X(NUMBER,  speedup, MFU_COUNT, 1, "1")
MFU_PART_RECORD(now, const struct mfu_outcome *o, NOW)

static const char *lever_key(const void *object, size_t i, struct mfu_value *v)
{
    const struct mfu_lever *l = object;

    if (i < (size_t)l->n_set)
        return put_key(&l->scenario, l->set[i].key, l->set[i].value, v);
    if (l->row || i > (size_t)l->n_set)
        return NULL;
    mfu_value_text(v, l->scenario.gpu->slug);
    return "gpu";
}

static const char *verdict(const struct mfu_lever *l)
{
    static const char *const words[] = {"faster", "smaller", "too large", "not worth it"};

    return words[l->verdict];
}

#define LEVER(X) \
    X(TEXT,    change,  0,         l->change,                              "what is set") \
    X(TEXT,    name,    0,         l->row ? l->row->name : "another GPU",  "the lever") \
    X(MAP,     keys,    0,         (v->object = l, v->entry = lever_key),  "the keys with their new values") \
    X(MEMBERS, outcome, &outcome,  &l->outcome,                            "with it") \
    X(NUMBER,  speedup, MFU_COUNT, l->speedup,                             "time per token before over after") \
    X(FLAG,    keeps_tokens_per_step, 0, l->keeps_tokens_per_step,         "whether a step has the same tokens") \
    X(FLAG,    changes_mathematics,   0, l->changes_mathematics,           "whether rounding, optimizer or model differ") \
    X(FLAG,    needs_hardware,        0, l->hardware,                      "whether it needs what is not there yet") \
    X(TEXT,    verdict, 0,         verdict(l),                             "faster, smaller, too large or not worth it") \
    X(TEXT,    why,     0,         l->why,                                 "what the difference consists of") \
    X(TEXT,    risk,    0,         l->row ? l->row->risk : "",             "what speaks against it")
MFU_PART_RECORD(lever, const struct mfu_lever *l, LEVER)

struct together {
    const struct mfu_advice *advice;
    const struct mfu_combination *of;
};

static void make_changes(const struct together *t, struct mfu_value *v)
{
    const char **list = mfu_value_own(v, (size_t)t->of->n, sizeof *list);

    for (int i = 0; list && i < t->of->n; i++)
        list[i] = t->advice->levers[t->of->levers[i]].change;
}

/* Values as they are together. */
static const char *together_key(const void *object, size_t i, struct mfu_value *v)
{
    const struct together *t = object;

    for (int k = 0; k < t->of->n; k++) {
        const struct mfu_lever *l = &t->advice->levers[t->of->levers[k]];

        if (i < (size_t)l->n_set)
            return put_key(&t->of->scenario, l->set[i].key, mfu_scenario_value(&t->of->scenario, l->set[i].key), v);
        i -= (size_t)l->n_set;
    }
    return NULL;
}

#define TOGETHER(X) \
    X(MADE_LIST, changes, &mfu_record_strings, make_changes(t, v),           "what is set; empty: nothing helps") \
    X(MAP,       keys,    0,         (v->object = t, v->entry = together_key), "the keys with their new values") \
    X(MEMBERS,   outcome, &outcome,  &t->of->outcome,                        "with all of them") \
    X(NUMBER,    speedup, MFU_COUNT, t->of->speedup,                         "time per token before over after") \
    X(FLAG,      keeps_tokens_per_step, 0, t->of->keeps_tokens_per_step,     "whether a step has the same tokens") \
    X(FLAG,      changes_mathematics,   0, t->of->changes_mathematics,       "whether rounding, optimizer or model differ") \
    X(TEXT,      why,     0,         t->of->why,                             "what the difference consists of")
MFU_PART_RECORD(combination, const struct together *t, TOGETHER)

static void make_together(const struct mfu_advice *a, const struct mfu_combination *c, struct mfu_value *v)
{
    struct together *t = mfu_value_own(v, 1, sizeof *t);

    if (t)
        *t = (struct together){a, c};
}

#define REFUSAL(X) \
    X(TEXT, change, 0, r->change, "what is not possible") \
    X(TEXT, reason, 0, r->reason, "why not")
MFU_PART_RECORD(refusal, const struct mfu_refusal *r, REFUSAL)

#define ADVISE(X) \
    X(OBJECT, now,    &now,   &a->base,                 "the scenario as it is") \
    X(LIST,   levers, &lever, (a->levers, a->n_levers), "changes, each planned and simulated, the best first") \
    X(MADE_OBJECT, best, &combination, make_together(a, &a->best, v), "together, with the same mathematics, tokens and hardware") \
    X(MADE_OBJECT, best_with_other_mathematics, &combination, make_together(a, &a->best_any, v), "together; mathematics may change") \
    X(MADE_OBJECT, highest_mfu, &combination, make_together(a, &a->highest, v), "together; mathematics and tokens of a step may change") \
    X(LIST,   not_possible, &refusal, (a->refused, a->n_refused), "changes that do not apply") \
    X(NUMBER, ceiling_mfu, MFU_RATIO, a->ceiling,       "MFU of highest_mfu; null: nothing fits") \
    X(TEXT,   iteration,   0, a->loop,                  "what the step is of an iteration, and what rules that; empty: of none") \
    X(NUMBER, simulated,   MFU_COUNT, a->simulated,     "scenarios")
MFU_FIELDS(advise, const struct mfu_advice *a, ADVISE)
const struct mfu_record mfu_record_advise = MFU_RECORD(advise, .command = "advise", .rows = "levers");

/* ---- train ----------------------------------------------------------------- */

#define TRAIN(X) \
    X(NUMBER, tokens,        MFU_TOKENS,  t->tokens,        "that go through the model") \
    X(NUMBER, useful_tokens, MFU_TOKENS,  t->useful_tokens, "of them, without padding and what is discarded later") \
    X(NUMBER, seconds,       MFU_SECONDS, t->seconds,       "with checkpoints and failures") \
    X(NUMBER, seconds_low,   MFU_SECONDS, t->low_s,         "lower end of its 90 % interval") \
    X(NUMBER, seconds_high,  MFU_SECONDS, t->high_s,        "upper end of its 90 % interval") \
    X(NUMBER, gpu_hours,     MFU_COUNT,   t->gpu_hours,     "of all GPUs") \
    X(NUMBER, cost,          MFU_COUNT,   t->cost,          "of the GPU-hours; null without a price") \
    X(NUMBER, energy_j,      MFU_COUNT,   t->energy_j,      "of all GPUs") \
    X(NUMBER, energy_cost,   MFU_COUNT,   t->energy_cost,   "null without a price") \
    X(NUMBER, steps,         MFU_COUNT,   t->steps,         "optimizer steps") \
    X(NUMBER, gpus,          MFU_COUNT,   t->gpus,          "in use") \
    X(NUMBER, power_w,       MFU_WATTS,   t->power_w,       "of all GPUs") \
    X(NUMBER, goodput,       MFU_RATIO,   t->goodput,       "time of the steps over time of the run") \
    X(NUMBER, failures,      MFU_COUNT,   t->failures,      "expected") \
    X(NUMBER, checkpoint_interval_s, MFU_SECONDS, t->interval_s, "between checkpoints") \
    X(NUMBER, tokens_per_s,  MFU_COUNT,   t->tokens_per_s,  "over the whole run") \
    X(NUMBER, useful_tokens_per_s, MFU_COUNT, t->useful_tokens_per_s, "over the whole run") \
    X(NUMBER, useful_tokens_per_gpu_hour, MFU_COUNT, t->useful_per_gpu_hour, "over the whole run") \
    X(NUMBER, useful_per_gpu_hour, MFU_COUNT, t->useful_per_gpu_hour, "the same") \
    X(NUMBER, useful_mfu,    MFU_RATIO,   t->useful_mfu,    "MFU of useful tokens over the whole run")
MFU_FIELDS(train, const struct mfu_training *t, TRAIN)
const struct mfu_record mfu_record_train = MFU_RECORD(train, .command = "train");

/* ---- rollout ----------------------------------------------------------------- */

#define ROLLOUT(X) \
    X(NUMBER, gpus,          MFU_COUNT,   r->gpus,            "that share the model (tp)") \
    X(NUMBER, prompt,        MFU_TOKENS,  r->options.prompt,  "tokens of a prompt") \
    X(NUMBER, new,           MFU_TOKENS,  r->options.answer,  "tokens of the longest answer") \
    X(TEXT,   weights,       0, mfu_held_names[(int)r->options.weights],  "how weights are held") \
    X(TEXT,   kv,            0, mfu_held_names[(int)r->options.kv],       "how keys and values are held") \
    X(TEXT,   by,            0, mfu_sender_names[(int)r->options.sender], "what sends the kernels") \
    X(NUMBER, sequences,     MFU_COUNT,   r->sequences,       "at once") \
    X(NUMBER, largest_batch, MFU_COUNT,   r->most_sequences,  "sequences whose prompts and answers fit at once") \
    X(OPEN_FLAG, fits,       0, r->unsure ? (double)NAN : r->fits, "whether these do; null: unknown") \
    X(NUMBER, seconds,       MFU_SECONDS, r->seconds,         "prompts and answers of all sequences") \
    X(NUMBER, seconds_low,   MFU_SECONDS, r->low_s,           "lower end of its 90 % interval") \
    X(NUMBER, seconds_high,  MFU_SECONDS, r->high_s,          "upper end of its 90 % interval") \
    X(NUMBER, tokens_per_s,  MFU_COUNT,   r->tokens_per_s,    "tokens of the answers over all of that time") \
    X(NUMBER, tokens_per_s_gpu, MFU_COUNT, r->tokens_per_s_gpu, "the same per GPU") \
    X(NUMBER, first_token_s, MFU_SECONDS, r->first_token_s,   "prefill of one prompt by itself") \
    X(NUMBER, prefill_s,     MFU_SECONDS, r->prefill_s,       "of all prompts") \
    X(NUMBER, prefill_tokens_per_s, MFU_COUNT, r->prefill_tokens_per_s, "tokens of the prompts") \
    X(NUMBER, token_s,       MFU_SECONDS, r->token_s,         "a decode step: one token of each sequence, in the mean") \
    X(NUMBER, decode_tokens_per_s, MFU_COUNT, r->decode_tokens_per_s, "of all sequences while they decode") \
    X(TEXT,   prefill_bound, 0, mfu_limit_names[r->prefill_limit], "what limits prefill") \
    X(TEXT,   decode_bound,  0, mfu_limit_names[r->decode_limit],  "what limits a decode step") \
    X(NUMBER, weight_bytes,     MFU_BYTES, r->weight_bytes,     "on each GPU") \
    X(NUMBER, kv_token_bytes,   MFU_BYTES, r->kv_token_bytes,   "of the cache, for one token of one sequence, on each GPU") \
    X(NUMBER, kv_bytes,         MFU_BYTES, r->kv_bytes,         "of the cache when all answers are complete, on each GPU") \
    X(NUMBER, activation_bytes, MFU_BYTES, r->activation_bytes, "of a prefill") \
    X(NUMBER, context_bytes,    MFU_BYTES, r->context_bytes,    "of CUDA and NCCL") \
    X(NUMBER, capacity_bytes,   MFU_BYTES, r->capacity_bytes,   "what the card offers to a process")
MFU_FIELDS(rollout, const struct mfu_rollout *r, ROLLOUT)
const struct mfu_record mfu_record_rollout = MFU_RECORD(rollout, .command = "rollout");

#define ITERATION(X) \
    X(NUMBER, seconds,       MFU_SECONDS, t->total_s,         "all phases, one after the other") \
    X(NUMBER, seconds_low,   MFU_SECONDS, t->low_s,           "lower end of its 90 % interval") \
    X(NUMBER, seconds_high,  MFU_SECONDS, t->high_s,          "upper end of its 90 % interval") \
    X(NUMBER, rollout_s,     MFU_SECONDS, t->seconds[MFU_IT_ROLLOUT], "prompts and answers") \
    X(NUMBER, scoring_s,     MFU_SECONDS, t->seconds[MFU_IT_SCORING], "forward passes over the answers, and rewards") \
    X(NUMBER, update_s,      MFU_SECONDS, t->seconds[MFU_IT_UPDATE],  "optimizer steps, of a critic, too") \
    X(NUMBER, weights_s,     MFU_SECONDS, t->seconds[MFU_IT_WEIGHTS], "weights that go to the engine") \
    X(TEXT,   rules,         0, mfu_iteration_phase_names[t->rules], "the longest phase") \
    X(TEXT,   lever,         0, mfu_iteration_levers[t->rules],      "what makes that shorter") \
    X(NUMBER, gpus,          MFU_COUNT,   t->gpus,            "that train or write") \
    X(NUMBER, engine_gpus,   MFU_COUNT,   t->engine_gpus,     "of these, that only write") \
    X(NUMBER, engines,       MFU_COUNT,   t->engines,         "that share the answers") \
    X(NUMBER, sequences,     MFU_COUNT,   t->sequences,       "answers of an iteration") \
    X(NUMBER, sequences_at_once, MFU_COUNT, t->rollout.sequences, "in each engine") \
    X(NUMBER, steps,         MFU_COUNT,   t->steps,           "of the optimizer") \
    X(NUMBER, passes,        MFU_COUNT,   t->passes,          "of policy and reference, that score each answer") \
    X(NUMBER, moved_bytes,   MFU_BYTES,   t->moved_bytes,     "weights that one engine receives") \
    X(NUMBER, answer_tokens, MFU_TOKENS,  t->answer_tokens,   "of all answers") \
    X(NUMBER, tokens_per_s,  MFU_COUNT,   t->tokens_per_s,    "tokens of the answers over the whole iteration") \
    X(NUMBER, accepted_per_gpu_hour, MFU_COUNT, t->accepted_per_gpu_hour, "answers that are used in the end") \
    X(NUMBER, fits,          MFU_COUNT,   t->fits,            "1: both phases do; 0; null: nobody can say") \
    X(NUMBER, update_bytes,  MFU_BYTES,   t->update_bytes,    "on a GPU that trains, while it does") \
    X(NUMBER, rollout_bytes, MFU_BYTES,   t->rollout_bytes,   "on the same GPU, while answers are written") \
    X(NUMBER, engine_bytes,  MFU_BYTES,   t->engine_bytes,    "of an engine on one GPU") \
    X(NUMBER, capacity_bytes, MFU_BYTES,  t->capacity_bytes,  "what the card offers to a process")
MFU_FIELDS(iteration, const struct mfu_iteration *t, ITERATION)
const struct mfu_record mfu_record_iteration = MFU_RECORD(iteration, .command = "iteration");

/* ---- samples of several sizes ------------------------------------------------- */

#define BUCKET(X) \
    X(NUMBER, width,         MFU_COUNT,   x->width,           "pixels; null of sequences") \
    X(NUMBER, height,        MFU_COUNT,   x->height,          "pixels; null of sequences") \
    X(NUMBER, share,         MFU_RATIO,   x->share,           "of the samples") \
    X(NUMBER, tokens,        MFU_TOKENS,  x->tokens,          "of a sample") \
    X(NUMBER, step_time_s,   MFU_SECONDS, x->step_s,          "if all ranks drew this size") \
    X(NUMBER, smi_used_bytes, MFU_BYTES,  round(x->memory_bytes), "what nvidia-smi shows for the process") \
    X(OPEN_FLAG, fits,       0,           x->fits,            "whether that does; null: unknown")
MFU_FIELDS(bucket, const struct mfu_bucket *x, BUCKET)
static const struct mfu_record bucket = MFU_RECORD(bucket, .rows = NULL);

#define BUCKETS(X) \
    X(LIST,   buckets,       &bucket,     (b->row, b->n),     "each size by itself") \
    X(NUMBER, step_time_s,   MFU_SECONDS, b->step_s,          "in the mean, of the slowest of the ranks") \
    X(NUMBER, step_time_low_s, MFU_SECONDS, b->low_s,         "lower end of its 90 % interval") \
    X(NUMBER, step_time_high_s, MFU_SECONDS, b->high_s,       "upper end of its 90 % interval") \
    X(NUMBER, waits_s,       MFU_SECONDS, b->waits_s,         "of it, for ranks that drew a slower size; at most, where they accumulate") \
    X(NUMBER, tokens,        MFU_TOKENS,  b->tokens,          "of a sample, in the mean") \
    X(NUMBER, samples_per_s, MFU_COUNT,   b->samples_per_s,   "of all ranks") \
    X(OPEN_FLAG, fits,       0,           b->fits,            "whether all sizes do; null: unknown") \
    X(NUMBER, smi_used_bytes, MFU_BYTES,  round(b->memory_bytes), "of the size that takes the most, or of sequences as long as seq") \
    X(NUMBER, capacity_bytes, MFU_BYTES,  b->capacity_bytes,  "what the card offers to a process") \
    X(NUMBER, left_images,   MFU_COUNT,   b->left_images,     "of an epoch, in micro-batches that are not full") \
    X(NUMBER, epoch_s,       MFU_SECONDS, b->epoch_s,         "an epoch; null: nobody said how many samples")
MFU_FIELDS(buckets, const struct mfu_buckets *b, BUCKETS)
const struct mfu_record mfu_record_buckets = MFU_RECORD(buckets, .command = "buckets", .rows = "buckets");
// clang-format on
