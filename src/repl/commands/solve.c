#include <math.h>
#include <string.h>

#include "answer/search/budget.h"
#include "answer/search/solve.h"
#include "repl/command.h"
#include "repl/completers.h"
#include "repl/sweeping.h"
#include "repl/output.h"
#include "answer/fields/fields.h"
#include "report/report.h"
#include "report/text/text.h"
#include "scenario/setting.h"

/* Single bytes do not matter; widths of tensors come in multiples
 * that heads and tensor cores like. */
static double step_of(const struct mfu_scenario *s, struct mfu_key key, const char *name)
{
    struct mfu_config c;

    if (key.kind == MFU_KEY_SETTING)
        return mfu_settings[key.id].dim == MFU_BYTES                            ? 0x1p20
            : mfu_settings[key.id].fractional && mfu_settings[key.id].most <= 1 ? 0.01
                                                                                : 1;
    mfu_scenario_resolve(s, &c, NULL);
    return strcmp(name, "n_embd") == 0                                 ? 8 * mfu_config_dim(&c, "n_head")
        : strcmp(name, "dropout") == 0                                 ? 0.01
        : strcmp(name, "d_ff") == 0 || strcmp(name, "vocab_size") == 0 ? 64
                                                                       : 1;
}

struct solved {
    const struct mfu_plan *plan;
    const char *key;
    const struct mfu_solution *x;
};
// clang-format off
#define SOLVED(X) \
    X(MEMBERS,    plan,       &mfu_record_plan, s->plan,  "at that value") \
    X(TEXT,       key,        0,                s->key,   "that was looked for") \
    X(NUMBER,     value,      MFU_COUNT,        s->x->value, "in the base unit") \
    X(TEXT,       limited_by, 0,                s->x->limited_by, "memory, target or range") \
    X(MAYBE_TEXT, reason,     0,                s->x->reason[0] ? s->x->reason : NULL, "the rule that refuses the next value")
MFU_FIELDS(solve, const struct solved *s, SOLVED)
static const struct mfu_record record = MFU_RECORD(solve, .command = "solve");

struct solved_memory {
    const struct mfu_plan *plan;
    const struct mfu_budget_answer *x;
};
#define WAY(X) \
    X(TEXT,         checkpoint,          0,           w->checkpoint,   "value of that setting") \
    X(MAYBE_NUMBER, checkpoint_budget,   MFU_COUNT,   w->budget,       "value of that setting") \
    X(MAYBE_NUMBER, checkpoint_layers,   MFU_COUNT,   w->layers,       "value of that setting; null: all") \
    X(FLAG,         offload_activations, 0,           w->offload,      "value of that setting") \
    X(NUMBER,       smi_used_bytes,      MFU_BYTES,   w->memory_bytes, "as nvidia-smi shows the process") \
    X(NUMBER,       step_time_s,         MFU_SECONDS, w->time_s,       "of a step") \
    X(FLAG,         within,              0,           w->within,       "whether that is within the target") \
    X(TEXT,         recomputed,          0,           w->recomputed,   "products and attention of a layer that run again in backward") \
    X(TEXT,         once,                0,           w->once,         "the others: their results are kept, or backward needs none")
MFU_PART_RECORD(way, const struct mfu_way *w, WAY)
#define SOLVED_MEMORY(X) \
    X(MEMBERS,     plan,         &mfu_record_plan, s->plan, "of the fastest way within the target; of the scenario as it is where none is") \
    X(NUMBER,      target_bytes, MFU_BYTES, s->x->target_bytes, "that were asked for") \
    X(MAYBE_OBJECT, best,        &way, s->x->best < 0 ? NULL : &s->x->ways[s->x->best], "the fastest way within the target") \
    X(LIST,        ways,         &way, (s->x->ways, s->x->n_ways), "that were simulated")
MFU_FIELDS(solve_memory, const struct solved_memory *s, SOLVED_MEMORY)
static const struct mfu_record memory_record = MFU_RECORD(solve_memory, .command = "solve", .rows = "ways");
// clang-format on

static int answer(struct mfu_session *s, const char *key, enum mfu_dim dim, const struct mfu_solution *x, bool smallest,
                  struct mfu_error *err)
{
    if (!s->json) {
        char text[MFU_QUANTITY_MAX];

        fprintf(s->out, "%s = %s, ", key, mfu_quantity_format(text, x->value, dim));
        if (strcmp(x->limited_by, "memory") == 0)
            fprintf(s->out, "limited by memory");
        else if (strcmp(x->limited_by, "target") == 0)
            fprintf(s->out, "the %s value that meets the condition", smallest ? "smallest" : "largest");
        else
            fprintf(s->out,
                    smallest           ? "the smallest value that is allowed"
                        : x->reason[0] ? "the largest value that is allowed"
                                       : "the most that can be set: nothing stops it before");
        fprintf(s->out, "%s%s%s\n\n", x->reason[0] ? ": " : "", x->reason,
                s->plan.memory.fits ? "" : "; it does not fit (where ... and fits)");
        mfu_text_plan(s->out, &s->term, &s->plan);
        return 0;
    }
    return mfu_answer(s, &record, &(struct solved){&s->plan, key, x}, err);
}

/* "checkpoint budget, checkpoint_budget 0.62". */
static const char *settings_of(const struct mfu_way *w, char text[128])
{
    int n = snprintf(text, 128, "checkpoint %s", w->checkpoint);

    if (!isnan(w->budget))
        n += snprintf(text + n, 128 - (size_t)n, " checkpoint_budget %g", w->budget);
    if (!isnan(w->layers))
        n += snprintf(text + n, 128 - (size_t)n, " checkpoint_layers %g", w->layers);
    if (w->offload)
        snprintf(text + n, 128 - (size_t)n, " offload_activations on");
    return text;
}

static void print_ways(struct mfu_session *s, const struct mfu_budget_answer *a)
{
    static const struct mfu_column columns[] = {
        {.title = "settings", .left = true}, {.title = "memory"}, {.title = "step"}, {.title = "within"}};
    struct mfu_table t = MFU_TABLE(columns);
    char text[128], memory[MFU_QUANTITY_MAX], time[MFU_QUANTITY_MAX];

    for (int i = 0; i < a->n_ways; i++)
        mfu_table_cells(&t, "%s\t%s\t%s\t%s", settings_of(&a->ways[i], text),
                        mfu_quantity_format(memory, a->ways[i].memory_bytes, MFU_BYTES),
                        mfu_quantity_format(time, a->ways[i].time_s, MFU_SECONDS), a->ways[i].within ? "yes" : "no");
    mfu_table_print(s->out, &s->term, &t);
}

/* A line of what every layer does. */
static void print_policy(struct mfu_session *s, const char *does, const char *what)
{
    struct mfu_flow f = mfu_flow_start(s->out, &s->term, does, 14);

    mfu_flow_piece(&f, MFU_PLAIN, "%s", *what ? what : "none of its products");
    mfu_flow_end(&f);
}

static int solve_memory(struct mfu_session *s, const char *size, struct mfu_error *err)
{
    struct mfu_budget_answer a;
    struct mfu_scenario best;
    double bytes;
    char text[128];

    if (mfu_quantity_parse(size, MFU_BYTES, &bytes, err) < 0
        || mfu_solve_memory(&s->memory.now, bytes, &s->plan, &s->simulation, &best, &a, err) < 0)
        return -1;
    mfu_session_forget(s, "solve");
    if (a.best >= 0 && !isnan(a.ways[a.best].budget))
        mfu_session_note(s, "solve", "checkpoint_budget", a.ways[a.best].budget, MFU_COUNT);
    if (s->json)
        return mfu_answer(s, &memory_record, &(struct solved_memory){&s->plan, &a}, err);
    print_ways(s, &a);
    if (a.best < 0) {
        const struct mfu_way *least = &a.ways[0];

        for (int i = 1; i < a.n_ways; i++)
            least = a.ways[i].memory_bytes < least->memory_bytes ? &a.ways[i] : least;
        fprintf(s->out, "\nnone is within %s: ", mfu_quantity_format(text, bytes, MFU_BYTES));
        fprintf(s->out, "the least is %s\n", settings_of(least, text));
        return 0;
    }
    fprintf(s->out, "\nset %s: the fastest within %s. %s\n", settings_of(&a.ways[a.best], text),
            mfu_quantity_format((char[MFU_QUANTITY_MAX]){0}, bytes, MFU_BYTES),
            isnan(a.ways[a.best].layers) ? "Every layer" : "Each of these layers");
    print_policy(s, "  recomputes", a.ways[a.best].recomputed);
    print_policy(s, "  runs once", a.ways[a.best].once);
    return 0;
}

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    struct mfu_sweep_words w = {0};
    struct mfu_solution x = {.limited_by = "range"};
    struct mfu_key key = mfu_scenario_key(&s->memory.now, argv[1], err);
    bool smallest = argc > 2 && strcmp(argv[2], "smallest") == 0;
    bool largest = argc > 2 && strcmp(argv[2], "largest") == 0;
    const char *name;
    char where[] = "where", most[64];
    int status;
    enum mfu_dim dim;

    if (key.kind == MFU_KEY_NONE)
        return mfu_error_caret(s, err, 1);
    if (key.kind == MFU_KEY_SETTING && mfu_settings[key.id].choices == mfu_checkpoint_names && argc == 4
        && strcmp(argv[2], "memory") == 0)
        return solve_memory(s, argv[3], err);
    if (key.kind == MFU_KEY_COEFFICIENT || (key.kind == MFU_KEY_SETTING && mfu_settings[key.id].choices))
        return mfu_fail(err, MFU_EINPUT, "%s: expected a key with a number, such as batch", argv[1]);
    if (argc == 4 && strcmp(argv[2], "memory") == 0) {
        snprintf(most, sizeof most, "smi_used_bytes <= %.40s", argv[3]);
        argv[2] = where;
        argv[3] = most;
    }
    name = key.kind == MFU_KEY_SETTING ? mfu_settings[key.id].key : s->memory.now.model->dims[key.id].name;
    dim = key.kind == MFU_KEY_SETTING ? mfu_settings[key.id].dim : MFU_COUNT;
    status = mfu_sweep_words_read(s, 2 + (smallest || largest), argc, argv, &w, err);
    if (status == 0)
        status = mfu_solve(&s->memory.now, key, step_of(&s->memory.now, key, name), !smallest, w.sweep.where, &s->plan,
                           &s->simulation, &x, err);
    mfu_sweep_clear(&w.sweep);
    if (status < 0)
        return -1;
    mfu_session_forget(s, "solve");
    mfu_session_note(s, "solve", name, x.value, dim);
    return answer(s, name, dim, &x, smallest, err);
}

const struct mfu_command mfu_command_solve = {
    .name = "solve",
    .usage = "KEY [smallest] [where] | KEY memory SIZE",
    .group = "plan",
    .summary = "the value that suffices",
    .help = "Finds the largest value of a key that fits the card, or the largest (smallest)\n"
            "for which a condition holds, simulated as `plan` does; and says what stops the\n"
            "next value: memory, the condition, or a rule.\n"
            "\n"
            "    solve batch\n"
            "    solve batch memory 10GiB\n"
            "    solve accum smallest where tokens_per_step >= 500000\n"
            "    solve n_embd smallest where mfu > 50%\n"
            "\n"
            "`solve checkpoint memory SIZE` looks for the fastest way to keep, compute again\n"
            "or offload what backward needs within so much memory. It compares no, selective\n"
            "and full checkpointing, of all layers and of the fewest that suffice, their\n"
            "offload, and the largest checkpoint_budget that suffices, and says which\n"
            "products every layer computes again.\n"
            "\n"
            "    solve checkpoint memory 22GiB",
    .compares = "where",
    .least_args = 1,
    .most_args = -1,
    .offer = {mfu_offer_keys, mfu_offer_results},
    .answers = MFU_ANSWERS(&record, &memory_record),
    .run = run,
};
