/*
 * open_settings.c - tries what a run may have been.
 */
#include "answer/validate/open_settings.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/field.h"
#include "plan/plan.h"
#include "plan/simulation.h"
#include "read/runs/measured_run.h"
#include "scenario/setting.h"

/* Leaves out what was noted of a column or a key: "sharding=ddp", "seq: the model's". */
static void drop_notes(struct mfu_measured_run *run, const char *of)
{
    size_t n = strlen(of);

    for (char *note = run->assumed, *end; *note; note = end) {
        end = strstr(note, "; ");
        end = end ? end + 2 : note + strlen(note);
        if (strncmp(note, of, n) == 0 && note[n] && strchr("=:", note[n])) {
            memmove(note, end, strlen(end) + 1);
            end = note;
        }
    }
    n = strlen(run->assumed);
    if (n >= 2 && strcmp(run->assumed + n - 2, "; ") == 0)
        run->assumed[n - 2] = '\0';
}

void mfu_run_note(struct mfu_measured_run *run, const char *text)
{
    mfu_words_add(run->assumed, sizeof run->assumed, text);
}

int mfu_replan(struct mfu_plan *p, struct mfu_simulation *simulation, const struct mfu_scenario *scenario,
               struct mfu_error *err)
{
    return mfu_plan_make(p, scenario, err) < 0 || mfu_simulate_plan(p, simulation, err) < 0 ? -1 : 0;
}

double mfu_states_of(const struct mfu_plan *p)
{
    return p->program.constant_bytes[MFU_PART_WEIGHTS] + p->program.constant_bytes[MFU_PART_OPTIMIZER];
}

/* Whether less was measured than what is planned cannot do without. */
static bool holds_too_much(const struct mfu_plan *p, const struct mfu_measured_run *run)
{
    return fmin(run->allocated_bytes, run->reserved_bytes)
        < MFU_CONTRADICTED * mfu_states_of(p); /* whichever is stated */
}

/* Whether it ran: as stated, else by what was measured. */
static bool did_run(const struct mfu_measured_run *run)
{
    return run->ran == 1
        || (run->ran < 0 && run->card != MFU_CARD_OPEN
            && !(isnan(run->step_s) && isnan(run->mfu) && isnan(run->hfu) && isnan(run->rate_flops)));
}

bool mfu_run_suits(struct mfu_plan *p, struct mfu_simulation *simulation, const struct mfu_measured_run *run,
                   const struct mfu_scenario *other)
{
    struct mfu_error err = {0};

    return mfu_replan(p, simulation, other, &err) == 0 && (p->memory.fits || !did_run(run)) && !holds_too_much(p, run);
}

#define LEAST_FIT 0.1 /* what fits in fewer of the runs that it may be is outside of a 90 % interval */

/* Whether the run may have been so, though it more likely would not have fitted. */
static bool may_suit(struct mfu_plan *p, struct mfu_simulation *simulation, const struct mfu_measured_run *run,
                     const struct mfu_scenario *other)
{
    return mfu_run_suits(p, simulation, run, other)
        || (!p->memory.fits && p->memory.fits_probability >= LEAST_FIT && !holds_too_much(p, run));
}

/* Memory of the rank that the row is of: the one that needs most, where nothing says which. */
static const struct mfu_memory_answer *memory_of(const struct mfu_plan *p, const struct mfu_measured_run *run)
{
    if (p->n_stages && run->of_last_rank)
        return &p->stages[p->n_stages - 1].memory;
    return p->n_stages && mfu_trainers[p->config.trainer].of_first_rank ? &p->stages[0].memory : &p->memory;
}

void mfu_memory_as_measured(const struct mfu_plan *p, const struct mfu_measured_run *run, double *allocated,
                            double *reserved)
{
    const struct mfu_memory_answer *memory = memory_of(p, run);

    *allocated =
        mfu_trainers[p->config.trainer].prints_resident ? memory->peak.optimizer_peak_bytes : memory->peak.bytes;
    *reserved = run->reserved_is_smi ? memory->smi_bytes : memory->reserved_bytes;
}

void mfu_reserved_interval(const struct mfu_plan *p, const struct mfu_measured_run *run, double *low, double *high)
{
    const struct mfu_memory_answer *memory = memory_of(p, run);
    double context = run->reserved_is_smi ? 0 : memory->context_bytes;

    *low = memory->smi_low_bytes - context;
    *high = memory->smi_high_bytes - context;
}

/* Sizes that are tried. */
static const int micro_batches[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128};
#define MICRO_BATCHES (sizeof micro_batches / sizeof *micro_batches)

/* Tokens of a micro-batch beyond which nothing gets faster, so that nobody needs a larger one (chosen). */
#define ENOUGH_TOKENS 16384

/* Microbatches for each stage that a pipeline may have. */
static const double fills[] = {2, 32};

/* The scenario with micro-batches of this size; false where a rank's step has no whole number of them. */
static bool with_batch(const struct mfu_measured_run *run, const struct mfu_scenario *of, int micro,
                       struct mfu_scenario *other)
{
    double accum = run->rank_batch / micro * run->scenario.setting[MFU_S_GPUS]
        / of->setting[MFU_S_GPUS]; /* where these are open */

    *other = *of;
    return mfu_scenario_set_number(other, "batch", micro, NULL) == 0
        && (isnan(accum) || (accum == floor(accum) && mfu_scenario_set_number(other, "accum", accum, NULL) == 0));
}

/* Tokens of a sequence. */
static double sequence(const struct mfu_measured_run *run, const struct mfu_scenario *s)
{
    return run->seq_dim < 0 ? run->seq : s->dim[run->seq_dim];
}

/* What a step of a rank trains on: sequences, or their tokens where their length is open. */
static double amount(const struct mfu_measured_run *run, const struct mfu_scenario *s)
{
    return s->setting[MFU_S_BATCH] * s->setting[MFU_S_ACCUM] * (run->seq_dim < 0 ? 1 : s->dim[run->seq_dim]);
}

/* How much more memory is planned than was measured, as a logarithm; NAN: none was measured. */
static double memory_over(const struct mfu_plan *p, const struct mfu_measured_run *run)
{
    double allocated, reserved;

    mfu_memory_as_measured(p, run, &allocated, &reserved);
    return !isnan(run->reserved_bytes) ? log(reserved / run->reserved_bytes) : log(allocated / run->allocated_bytes);
}

static double memory_off(const struct mfu_plan *p, const struct mfu_measured_run *run)
{
    return fabs(memory_over(p, run));
}

/* What decided on a micro-batch. */
enum settled { UNFIT, STATED, ONE_ALONE, IN_PIPELINE, BY_MEMORY, WHOLE, FILLED, ENOUGH };

/* Whether the whole batch is one micro-batch: of one GPU, which nobody lets add up what fits at once. */
static bool is_whole(struct mfu_plan *p, struct mfu_simulation *simulation, const struct mfu_measured_run *run,
                     const struct mfu_scenario *as_read, struct mfu_scenario *whole)
{
    return as_read->setting[MFU_S_GPUS] == 1 && run->rank_batch > 1 && run->rank_batch <= INT_MAX
        && with_batch(run, as_read, (int)run->rank_batch, whole) && mfu_run_suits(p, simulation, run, whole);
}

/* Chooses the micro-batch where it is open: of a pipeline one sequence, since so its stages idle least; else the size that
 * takes the memory that was measured, or the whole batch of one GPU, or what fits, up to enough tokens.  Leaves the plan of it. */
static enum settled settle(struct mfu_plan *p, struct mfu_simulation *simulation, const struct mfu_measured_run *run,
                           struct mfu_scenario *s)
{
    const struct mfu_scenario as_read = *s;
    bool pipeline = s->setting[MFU_S_PP] > 1, larger = false;
    enum settled by = ENOUGH;
    struct mfu_error err = {0};
    struct mfu_scenario other;
    double off;

    if (run->batch_open && with_batch(run, &as_read, 1, &other))
        *s = other;
    if (!mfu_run_suits(p, simulation, run, s))
        return UNFIT;
    if (!run->batch_open || run->ran == 0)
        return STATED;
    off = memory_off(p, run);
    if (isnan(off) && is_whole(p, simulation, run, &as_read, &other)) {
        *s = other;
        return WHOLE;
    }
    for (size_t i = 1; i < MICRO_BATCHES; i++) {
        if (!with_batch(run, &as_read, micro_batches[i], &other) || mfu_replan(p, simulation, &other, &err) < 0)
            continue;
        if (!p->memory.fits) {
            by = larger ? FILLED : ONE_ALONE;
            break;
        }
        larger = true;
        if (pipeline || (!isnan(off) ? memory_off(p, run) >= off : micro_batches[i] * sequence(run, s) > ENOUGH_TOKENS))
            break;
        off = memory_off(p, run);
        *s = other;
    }
    mfu_replan(p, simulation, s, &err);
    return !larger ? ONE_ALONE : pipeline ? IN_PIPELINE : !isnan(off) ? BY_MEMORY : by;
}

/* Says which it is. */
static void note_batch(struct mfu_measured_run *run, enum settled by)
{
    char text[160];

    if (by == UNFIT || by == STATED)
        return;
    if (by == ONE_ALONE) {
        run->batch_open = false;
        mfu_run_note(run, "batch=1: no usual larger one fits");
        return;
    }
    snprintf(text, sizeof text, "batch=%.0f, accum=%.0f: not stated, %s", run->scenario.setting[MFU_S_BATCH],
             run->scenario.setting[MFU_S_ACCUM],
             by == IN_PIPELINE     ? "usual in pipelines"
                 : by == BY_MEMORY ? "nearest to the memory that was measured"
                 : by == WHOLE     ? "the whole batch fits"
                                   : "it fits, and more is not faster");
    mfu_run_note(run, text);
    if (!isnan(fmin(run->allocated_bytes, run->reserved_bytes)))
        mfu_run_note(run, "memory is not compared: it follows the micro-batch");
    run->allocated_bytes = run->reserved_bytes = NAN;
}

/* What a row leaves open is chosen by how surprising each value would be (struct mfu_open) and how long a sequence takes
 * with it, since who trains looks for what is fast: as much longer as makes a run e times less likely (chosen). */
#define SPEED_COUNTS 5

#define MOST_CHANGES 4    /* of what is assumed otherwise, together */
#define SURPRISE_STEP 0.5 /* in rounds of so much, the least surprising first */
#define MOST_SURPRISE 6.0
#define WORTH_A_LOOK 1.0 /* more surprise than the first that suits: by more speed it could not pay (chosen) */
#define FEW_TOKENS 1024  /* of a micro-batch keep a GPU slow, so that memory for more is looked for (chosen) */
#define MEMORY_OFF 0.25  /* a standard deviation of planned memory by what is not stated, as a logarithm (chosen) */
#define OVERFLOW 0.1     /* and of what nothing else that is open takes away (chosen) */

struct search {
    struct mfu_plan *p;
    struct mfu_simulation *simulation;
    struct mfu_measured_run *run;
    double above, most; /* surprise of the round */
    const struct mfu_open_value *now[MFU_OPEN_KEYS], *taken[MFU_OPEN_KEYS];
    struct mfu_scenario best;
    double surprise, score; /* of the best, INFINITY: none suits */
    enum settled by;
    struct mfu_scenario nearest; /* to what fits, of those that do not, and all that is open in it */
    double nearest_score;
    const struct mfu_open_value *nearest_taken[MFU_OPEN_KEYS];
    double most_off; /* memory's, of what is worth considering */
    int tried;
};

/* Sets a value of a key that was left open; false where that cannot be. */
static bool set_open(const struct mfu_measured_run *run, int i, const struct mfu_open_value *v, struct mfu_scenario *s)
{
    if (run->open[i].card) {
        s->gpu = run->open[i].card;
        return true;
    }
    return mfu_scenario_set(s, run->open[i].key, v->value, NULL) == 0
        && (!run->open[i].with_key || mfu_scenario_set(s, run->open[i].with_key, run->open[i].with_value, NULL) == 0);
}

/* Takes in what does not fit, by how much it does not. */
static void consider_unfit(struct search *t, const struct mfu_scenario *s, double surprise)
{
    struct mfu_error err = {0};
    double over, score;

    if (t->run->batch_open || mfu_replan(t->p, t->simulation, s, &err) < 0 || holds_too_much(t->p, t->run))
        return;
    over = log(t->p->memory.smi_bytes / t->p->memory.capacity_bytes);
    score =
        surprise + SPEED_COUNTS * log(t->p->step.time_s / amount(t->run, s)) + over * over / (2 * OVERFLOW * OVERFLOW);
    if (!(score < t->nearest_score))
        return;
    t->nearest_score = score;
    t->nearest = *s;
    memcpy(t->nearest_taken, t->now, sizeof t->nearest_taken);
}

static void consider(struct search *t, struct mfu_scenario *s, double surprise)
{
    enum settled by = settle(t->p, t->simulation, t->run, s);
    double score = surprise + SPEED_COUNTS * log(t->p->step.time_s / amount(t->run, s)), off = memory_off(t->p, t->run);

    t->tried++;
    if (!t->run->batch_open && !isnan(off))
        score += off * off / (2 * MEMORY_OFF * MEMORY_OFF);
    if (by == UNFIT && t->by == UNFIT)
        consider_unfit(t, s, surprise);
    if (by == UNFIT || !(score < t->score) || off > t->most_off)
        return;
    t->surprise = surprise;
    t->score = score;
    t->best = *s;
    t->by = by;
    memcpy(t->taken, t->now, sizeof t->taken);
}

/* Tries what differs from the scenario in keys from the first on. */
static void try_others(struct search *t, int first, const struct mfu_scenario *s, double surprise, int changes)
{
    for (int i = first; i < t->run->n_open && changes < MOST_CHANGES; i++) {
        for (const struct mfu_open_value *v = t->run->open[i].values; v->value; v++) {
            double all = surprise + v->surprise;
            struct mfu_scenario other = *s, whole;

            if (all > t->most || !set_open(t->run, i, v, &other))
                continue;
            t->now[i] = v;
            whole = other;
            if (all > t->above)
                consider(t, &whole, all);
            try_others(t, i + 1, &other, all, changes + 1);
        }
        t->now[i] = NULL;
    }
}

/* Tries what is chosen for its speed alone beside the best. */
static void try_faster(struct search *t)
{
    const struct mfu_scenario best = t->best;
    const double surprise = t->surprise;

    memcpy(t->now, t->taken, sizeof t->now);
    for (int i = 0; i < t->run->n_open; i++) {
        double others = surprise - (t->now[i] ? t->now[i]->surprise : 0); /* of what is taken beside it */

        for (const struct mfu_open_value *v = t->run->open[i].values; t->run->open[i].for_speed && v->value; v++) {
            struct mfu_scenario other = best;

            t->now[i] = v;
            if (set_open(t->run, i, v, &other))
                consider(t, &other, others + v->surprise);
        }
        t->now[i] = t->taken[i];
    }
}

#define STRANGE 0.25 /* as a logarithm, of memory: what makes another reading worth a look (chosen) */
#define TOLD 2       /* surprise of what it may tell of, beside WORTH_A_LOOK (chosen) */
#define FAR_LESS 0.4 /* as a logarithm, of memory: what no allocator explains (chosen) */

/* The label may be right all the same: its time is in the interval. */
static void leave_open(struct mfu_measured_run *run, const char *checkpoint)
{
    for (int i = 0; i < run->n_open; i++)
        if (strcmp(run->open[i].key, "checkpoint") == 0)
            return;
    if (run->n_open < MFU_OPEN_KEYS)
        run->open[run->n_open++] =
            (struct mfu_open){.column = "act_ckpt", .key = "checkpoint", .values = {{checkpoint, INFINITY}}};
}

/* A meter is believed before a label, and before a blank: a run that took far less memory than the best reading's activations,
 * and as much as if they were computed again, computed them again.  Whether the scenario says so now. */
static bool doubt_kept_activations(struct search *t)
{
    struct mfu_measured_run *run = t->run;
    struct mfu_scenario other = run->scenario, both = t->best;
    struct mfu_error err = {0};
    double over;

    if (!did_run(run) || run->batch_open || isnan(memory_over(t->p, run))
        || (t->tried > 1 && mfu_replan(t->p, t->simulation, &t->best, &err) < 0)
        || mfu_checkpoints[t->p->config.checkpoint].recomputes)
        return false;
    over = memory_over(t->p, run);
    if (!(over > FAR_LESS))
        return false;
    t->tried++;
    if (mfu_scenario_set(&other, "checkpoint", "full", NULL) < 0
        || mfu_scenario_set(&both, "checkpoint", "full", NULL) < 0 || mfu_replan(t->p, t->simulation, &both, &err) < 0
        || memory_off(t->p, run) > over / 2)
        return false;
    leave_open(run, mfu_checkpoint_names[(int)t->best.setting[MFU_S_CHECKPOINT]]);
    run->scenario = other;
    drop_notes(run, "act_ckpt");
    drop_notes(run, "checkpoint");
    mfu_run_note(run, "checkpoint=full: far less memory was measured than without it");
    return true;
}

static bool any_taken(const struct search *t)
{
    for (int i = 0; i < t->run->n_open; i++)
        if (t->taken[i])
            return true;
    return false;
}

/* Says what is taken of what is open, and without what of it the run would do what; how much it is. */
static int note_taken(const struct search *t, const char *else_it_would)
{
    struct mfu_measured_run *run = t->run;
    int n_taken = 0;

    for (int i = 0; i < run->n_open; i++) {
        const struct mfu_open *open = &run->open[i];
        char text[200];

        if (!t->taken[i])
            continue;
        n_taken++;
        snprintf(text, sizeof text, "%s=%s%s%s%s%s: not stated, and without it the run would %s", open->key,
                 t->taken[i]->value, open->with_key ? ", " : "", open->with_key ? open->with_key : "",
                 open->with_key ? "=" : "", open->with_key ? open->with_value : "",
                 open->for_speed ? "be slower" : else_it_would);
        drop_notes(run, open->column);
        drop_notes(run, open->key);
        mfu_run_note(run, text);
        if (strcmp(open->key, "gpus") == 0 && run->share_open && !run->by_rate)
            run->step_s = NAN; /* of a batch that as many share as are not known */
    }
    return n_taken;
}

static void compare_no_memory(struct mfu_measured_run *run)
{
    mfu_run_note(run, "memory is not compared: the settings follow it");
    run->allocated_bytes = run->reserved_bytes = NAN;
}

bool mfu_choose_open(struct mfu_plan *p, struct mfu_simulation *simulation, struct mfu_measured_run *run)
{
    struct search t = {.p = p,
                       .simulation = simulation,
                       .run = run,
                       .best = run->scenario,
                       .score = INFINITY,
                       .nearest_score = INFINITY,
                       .most_off = INFINITY};
    const struct mfu_scenario as_read = run->scenario;
    struct mfu_scenario first = as_read;
    struct mfu_error err = {0};
    double found;
    int n_taken;
    bool fits, strange, told;

    if (run->ran == 0 && run->batch_open) {
        if (mfu_simulate_plan(p, simulation, &err) < 0)
            return false;
        if (p->memory.fits)
            snprintf(run->skipped, sizeof run->skipped, "the micro-batch is not stated, and one sequence fits");
        else
            mfu_run_note(run, "batch=1: no larger one fits");
        return true;
    }
    consider(&t, &first, 0);
    fits = t.by != UNFIT;
    for (int i = 0; i < run->n_open && p->memory.fits; i++) /* on one GPU */
        if (strcmp(run->open[i].key, "gpus") == 0)
            run->open[i] = run->open[--run->n_open];
    strange = fits && !run->batch_open && run->ran != 0 && memory_off(p, run) > STRANGE;
    found = strange ? TOLD : fits ? 0 : INFINITY;
    if (strange)
        t.most_off = memory_off(p, run) / 2;
    if (!fits || strange
        || ((t.by == FILLED || t.by == ONE_ALONE) && first.setting[MFU_S_BATCH] * sequence(run, &first) < FEW_TOKENS
            && run->rank_batch != 1))
        for (; t.above < fmin(MOST_SURPRISE, found + WORTH_A_LOOK); t.above = t.most) {
            t.most = t.above + SURPRISE_STEP;
            try_others(&t, 0, &as_read, 0, 0);
            if (isinf(found) && t.by != UNFIT)
                found = t.most;
        }
    if (doubt_kept_activations(&t)) {
        mfu_choose_open(p, simulation, run);
        compare_no_memory(run);
        return false;
    }
    if (t.by == UNFIT && isfinite(t.nearest_score) && did_run(run) && !run->layout_open) {
        t.by = STATED;
        t.best = t.nearest;
        memcpy(t.taken, t.nearest_taken, sizeof t.taken);
    }
    if (t.by == UNFIT) {
        if (run->batch_open) /* what fits may be more than was measured */
            note_batch(run,
                       with_batch(run, &as_read, 2, &first) && mfu_replan(p, simulation, &first, &err) == 0
                               && p->memory.fits
                           ? BY_MEMORY
                           : ONE_ALONE);
        return false;
    }
    told = strange && any_taken(&t);
    t.most_off = INFINITY;
    if (run->ran != 0)
        try_faster(&t);
    run->scenario = t.best;
    n_taken = note_taken(&t, fits ? told ? "take other memory than was measured" : "be slower" : "not have fitted");
    if ((!fits || told) && t.by == STATED && n_taken > 0 && !isnan(memory_off(p, run)))
        compare_no_memory(run);
    if (run->by_rate)
        run->step_s *= amount(run, &run->scenario) / amount(run, &as_read);
    note_batch(run, t.by);
    return t.tried == 1;
}

/* What one column widens. */
struct widened {
    double low_s, high_s, low_bytes, high_bytes;
};

/* Takes in what another value of the column gives, for as many sequences of a step. */
static void widen(struct mfu_possible *all, struct widened *w, const struct mfu_plan *p,
                  const struct mfu_measured_run *run, double usual_s, double scale, const char *column, double *most)
{
    double difference = fabs(log(scale * p->step.time_s / usual_s)), low_bytes, high_bytes;

    if (difference > *most) {
        *most = difference;
        all->widest = column;
    }
    all->least_s = fmin(all->least_s, scale * p->step.time_s);
    all->most_s = fmax(all->most_s, scale * p->step.time_s);
    w->low_s = fmin(w->low_s, scale * p->step.low_s);
    w->high_s = fmax(w->high_s, scale * p->step.high_s);
    mfu_reserved_interval(p, run, &low_bytes, &high_bytes);
    w->low_bytes = fmin(w->low_bytes, low_bytes);
    w->high_bytes = fmax(w->high_bytes, high_bytes);
}

/* Columns differ from what is assumed each for itself, so that their squares add up, as logarithms. */
static void add_widened(struct widened *squares, const struct widened *w, const struct widened *own)
{
    squares->low_s += pow(log(w->low_s / own->low_s), 2);
    squares->high_s += pow(log(w->high_s / own->high_s), 2);
    squares->low_bytes += pow(log(w->low_bytes / own->low_bytes), 2);
    squares->high_bytes += pow(log(w->high_bytes / own->high_bytes), 2);
}

#define MOST_UNLIKELY 4 /* what is more so is outside of a 90 % interval: surprise, with its time (chosen) */
#define ACCUMULATES 3   /* how surprising it is that one GPU adds up what fits at once (chosen) */

/* Whether nobody would have chosen it: it is too surprising for its speed beside the scenario's own, which takes usual_s. */
static bool is_unlikely(const struct mfu_plan *p, const struct mfu_measured_run *run, const struct mfu_scenario *other,
                        double usual_s, double surprise)
{
    double slower = p->step.time_s / amount(run, other) * amount(run, &run->scenario) / usual_s;

    return surprise + SPEED_COUNTS * log(slower) >= MOST_UNLIKELY;
}

struct mfu_possible mfu_look_around(struct mfu_plan *p, struct mfu_simulation *simulation,
                                    const struct mfu_measured_run *run)
{
    const double usual_s = p->step.time_s;
    struct mfu_possible all = {.least_s = usual_s, .most_s = usual_s, .widest = ""};
    struct widened own = {.low_s = p->step.low_s, .high_s = p->step.high_s}, squares = {0}, w;
    struct mfu_error err = {0};
    struct mfu_scenario other;
    double most = 0, scale, surprise;

    mfu_reserved_interval(p, run, &own.low_bytes, &own.high_bytes);
    for (int i = 0; i < run->n_open; i++) {
        w = own;
        for (const struct mfu_open_value *value = run->open[i].values; value->value; value++) {
            bool chosen_for_speed = isfinite(value->surprise);

            other = run->scenario;
            if (!set_open(run, i, value, &other)
                || !((chosen_for_speed && settle(p, simulation, run, &other) != UNFIT)
                     || may_suit(p, simulation, run, &other)))
                continue;
            scale = run->by_rate ? amount(run, &run->scenario) / amount(run, &other) : 1;
            surprise = value->surprise - (did_run(run) ? log(p->memory.fits_probability) : 0);
            if (!chosen_for_speed || !is_unlikely(p, run, &other, usual_s, surprise))
                widen(&all, &w, p, run, usual_s, scale, run->open[i].column, &most);
        }
        add_widened(&squares, &w, &own);
    }
    w = own;
    for (size_t i = 0; i < MICRO_BATCHES && run->batch_open && run->ran != 0; i++) {
        if (!with_batch(run, &run->scenario, micro_batches[i], &other) || mfu_replan(p, simulation, &other, &err) < 0)
            continue;
        if (did_run(run) && !p->memory.fits)
            break;
        if (!is_unlikely(p, run, &other, usual_s,
                         run->scenario.setting[MFU_S_GPUS] == 1 && run->scenario.setting[MFU_S_ACCUM] == 1 ? ACCUMULATES
                                                                                                           : 0))
            widen(&all, &w, p, run, usual_s, run->by_rate ? amount(run, &run->scenario) / amount(run, &other) : 1,
                  "micro_batch", &most);
        if (micro_batches[i] * sequence(run, &other) > ENOUGH_TOKENS)
            break;
    }
    add_widened(&squares, &w, &own);
    w = own;
    for (size_t i = 0; i < 2 && run->fill_open; i++) {
        double accum = fills[i] * run->scenario.setting[MFU_S_PP];

        other = run->scenario;
        if (mfu_scenario_set_number(&other, "accum", accum, &err) == 0 && mfu_replan(p, simulation, &other, &err) == 0)
            widen(&all, &w, p, run, usual_s, amount(run, &run->scenario) / amount(run, &other), "global_batch", &most);
    }
    add_widened(&squares, &w, &own);
    all.low_s = own.low_s * exp(-sqrt(squares.low_s));
    all.high_s = own.high_s * exp(sqrt(squares.high_s));
    all.low_bytes = own.low_bytes * exp(-sqrt(squares.low_bytes));
    all.high_bytes = own.high_bytes * exp(sqrt(squares.high_bytes));
    return all;
}
