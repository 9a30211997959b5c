/*
 * path.c - one row per family of figures, one per field of a kernel or lever.
 */
#include "answer/metric/path.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/fields/fields.h"
#include "base/error.h"
#include "base/suggest.h"
#include "plan/exchanges.h"

/* ---- words --------------------------------------------------------------- */

/* What limits a step, and what limits a kernel: equal words are equal. */
static const char *const bounds[] = {"compute", "memory", "launch", "communication", "input", "latency", "link"};
#define N_BOUNDS (sizeof bounds / sizeof bounds[0])
#define FIRST_BOUND 1e6 /* no choice of a setting is such a number */

bool mfu_bound_number(const char *word, double *number)
{
    for (size_t i = 0; i < N_BOUNDS; i++)
        if (mfu_same_name(bounds[i], word)) {
            *number = FIRST_BOUND + (double)i;
            return true;
        }
    return false;
}

const char *mfu_bound_word(double number)
{
    double i = number - FIRST_BOUND;
    size_t n = N_BOUNDS;

    return i >= 0 && i < (double)n ? bounds[(int)i] : NULL;
}

static void put_bound(struct mfu_figure_value *f, const char *word)
{
    *f = (struct mfu_figure_value){.value = NAN, .dim = MFU_COUNT, .word = word};
    mfu_bound_number(word, &f->value);
}

/* ---- names --------------------------------------------------------------- */

#define MOST_NAMES 256

/* A list of what would have been possible. */
struct possible {
    const char *names[MOST_NAMES];
    size_t n;
};

static void may_be(struct possible *p, const char *name)
{
    if (p->n < MOST_NAMES)
        p->names[p->n++] = name;
}

/* A name as an expression can hold it. */
static const char *spell(char *name)
{
    for (char *p = name; *p; p++)
        if (*p == ' ' || *p == '-')
            *p = '_';
    return name;
}

/* "kernels: no kernel is called 'softmacks'", and the nearest that is. */
static int no_such(struct mfu_error *err, const char *family, const char *what, const char *typed,
                   const struct possible *p)
{
    const char *last = strrchr(typed, '.') ? strrchr(typed, '.') + 1 : typed, *best;
    char name[MFU_FIGURE_NAME];

    mfu_fail(err, MFU_EINPUT, "%s: no %s is called '%.60s'", family, what, typed);
    if (mfu_suggest(typed, p->names, p->n, &best, 1) || mfu_suggest(last, p->names, p->n, &best, 1)) {
        snprintf(name, sizeof name, "%s", best);
        mfu_error_suggest(err, spell(name));
    }
    return -1;
}

/* Parts "a.b.c" at its last dot: "a.b" into `head`, returns "c". */
static const char *last_of(const char *name, char head[MFU_FIGURE_NAME])
{
    const char *dot = strrchr(name, '.');

    snprintf(head, MFU_FIGURE_NAME, "%.*s", dot ? (int)(dot - name) : 0, name);
    return dot ? dot + 1 : name;
}

/* ---- conventions: mfu.nanogpt, flop_per_token.palm, peak.torchtitan ------- */

static int find_convention(struct mfu_figures *g, const char *family, const char *name, struct mfu_figure_value *f,
                           struct mfu_error *err)
{
    struct mfu_convention rows[MFU_CONVENTIONS_MAX];
    size_t n = mfu_conventions(g->plan, rows);
    struct possible possible = {.n = 0};

    for (size_t i = 0; i < n; i++) {
        may_be(&possible, rows[i].name);
        if (!mfu_same_name(rows[i].name, name))
            continue;
        *f = *family == 'm'  ? (struct mfu_figure_value){rows[i].mfu, MFU_RATIO, NULL}
            : *family == 'f' ? (struct mfu_figure_value){rows[i].flops_per_token, MFU_FLOP, NULL}
                             : (struct mfu_figure_value){rows[i].peak_flops, MFU_FLOP_PER_S, NULL};
        return 1;
    }
    return no_such(err, family, "convention", name, &possible);
}

/* ---- kernels: kernels.NAME.FIELD ------------------------------------------ */

/* The number of that name in a record, or -1 with the nearest. */
static int number_of(const struct mfu_record *record, const void *object, const char *family, const char *what,
                     const char *name, struct mfu_figure_value *f, struct mfu_error *err)
{
    int i = mfu_field_find(record, name);
    struct possible possible = {.n = 0};

    if (i >= 0) {
        *f = (struct mfu_figure_value){mfu_field_number(record, object, (size_t)i), record->fields[i].dim, NULL};
        return 1;
    }
    for (size_t k = 0; k < record->n; k++)
        may_be(&possible, record->fields[k].name);
    return no_such(err, family, what, name, &possible);
}

static int kernel_field(const struct mfu_kernel_row *row, const char *family, const char *name,
                        struct mfu_figure_value *f, struct mfu_error *err)
{
    if (!mfu_same_name(name, "bound"))
        return number_of(&mfu_record_kernel_row, row, family, "figure of a kernel", name, f, err);
    put_bound(f, mfu_bound_names[row->price.bound]);
    return 1;
}

/* Whether whole parts of the row's name are called so: core.softmax of
 * blocks.attn.core.softmax. */
static bool is_in(const char *row, const char *name)
{
    size_t n = strlen(name);

    for (const char *at = row; at; at = strchr(at, '.') ? strchr(at, '.') + 1 : NULL)
        if (strncmp(at, name, n) == 0 && (at[n] == '\0' || at[n] == '.'))
            return true;
    return false;
}

static int index_of(const char *const *names, int n, const char *name, size_t length)
{
    for (int i = 0; i < n; i++)
        if (strlen(names[i]) == length && strncmp(names[i], name, length) == 0)
            return i;
    return -1;
}

/* A phase and a kind may stand before the name, or instead of it. */
struct wanted {
    int phase, kind;
    const char *name; /* "": all */
};

static struct wanted want(const char *name)
{
    struct wanted w = {-1, -1, name};
    size_t n;

    n = strcspn(w.name, ".");
    if ((w.phase = index_of(mfu_phase_names, MFU_PHASE_COUNT, w.name, n)) >= 0)
        w.name += n + (w.name[n] == '.');
    n = strcspn(w.name, ".");
    if (n && (w.kind = index_of(mfu_kind_names, MFU_KIND_COUNT, w.name, n)) >= 0)
        w.name += n + (w.name[n] == '.');
    return w;
}

static int find_kernels(struct mfu_figures *g, const char *family, const char *rest, struct mfu_figure_value *f,
                        struct mfu_error *err)
{
    char name[MFU_FIGURE_NAME];
    const char *field = last_of(rest, name);
    struct wanted w = want(name);
    struct mfu_kernel_row sum = {0};
    struct possible possible = {.n = 0};
    double most_s = -1;

    for (int i = 0; i < MFU_KIND_COUNT; i++)
        may_be(&possible, mfu_kind_names[i]);
    if (!g->rows && (g->n_rows = mfu_kernel_rows(g->plan, &g->rows, NULL)) < 0)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    for (int i = 0; i < g->n_rows; i++) {
        const struct mfu_kernel_row *row = &g->rows[i];

        may_be(&possible, row->name);
        may_be(&possible, strrchr(row->name, '.') ? strrchr(row->name, '.') + 1 : row->name);
        if ((w.phase < 0 || (int)row->phase == w.phase) && (w.kind < 0 || (int)row->kind == w.kind)
            && (!*w.name || is_in(row->name, w.name)))
            mfu_kernel_row_add(&sum, row, &most_s);
    }
    /* Of a phase or kind that does not occur there is none; a name is an error. */
    if (most_s < 0 && *w.name)
        return no_such(err, family, "kernel", name, &possible);
    return kernel_field(&sum, family, field, f, err);
}

/* ---- exchanges.GROUP.FIELD, stages.N.FIELD -------------------------------- */

/* Of a group or of a level, summed up; 0 of those that do not occur. */
static int find_exchange(struct mfu_figures *g, const char *family, const char *rest, struct mfu_figure_value *f,
                         struct mfu_error *err)
{
    char name[MFU_FIGURE_NAME];
    const char *field = last_of(rest, name);
    static const char *const levels[] = {"NVLink", "PCIe peer to peer", "PCIe through the host", "network", "uplinks"};
    struct mfu_exchange list[MFU_MOST_EXCHANGES] = {{0}};
    struct possible known = {.n = 0};
    double sum = 0;
    bool there = false;

    for (int i = 0; i < MFU_AXIS_COUNT; i++)
        may_be(&known, mfu_axis_names[i]);
    may_be(&known, mfu_group_name(MFU_AXES_SHARD));
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++)
        may_be(&known, levels[i]);
    for (size_t i = 0; i < known.n; i++)
        there |= mfu_same_name(known.names[i], name);
    if (!there)
        return no_such(err, family, "group or level", name, &known);
    for (int i = 0, n = mfu_exchanges(g->plan, list); i < n; i++)
        if (mfu_same_name(list[i].group, name) || mfu_same_name(list[i].level, name)) {
            if (number_of(&mfu_record_exchange, &list[i], family, "figure of an exchange", field, f, err) < 0)
                return -1;
            sum += f->value;
        }
    if (number_of(&mfu_record_exchange, &list[0], family, "figure of an exchange", field, f, err) < 0)
        return -1;
    f->value = sum;
    return 1;
}

static int find_stage(struct mfu_figures *g, const char *family, const char *rest, struct mfu_figure_value *f,
                      struct mfu_error *err)
{
    char name[MFU_FIGURE_NAME];
    const char *field = last_of(rest, name);
    int i = mfu_same_name(name, "busiest") ? g->plan->shown_stage
        : mfu_same_name(name, "worst")     ? g->plan->worst_stage
                                           : atoi(name);

    if (i < 0 || i >= g->plan->n_stages)
        return mfu_fail(err, MFU_EINPUT, "%s: stage '%.40s' is not there: the pipeline has %d, from 0", family, name,
                        g->plan->n_stages);
    return number_of(&mfu_record_stage, &g->plan->stages[i], family, "figure of a stage", field, f, err);
}

/* ---- the kernel that was studied: kernel.FIELD ---------------------------- */

static int find_studied(struct mfu_figures *g, const char *family, const char *name, struct mfu_figure_value *f,
                        struct mfu_error *err)
{
    if (!g->studied)
        return mfu_fail(err, MFU_EINPUT, "%s.%.40s: no kernel was studied yet (`kernel ...` does)", family, name);
    if (mfu_field_find(&mfu_record_reading, name) >= 0)
        return number_of(&mfu_record_reading, &g->studied->metrics, family, "", name, f, err);
    return kernel_field(&g->studied->row, family, name, f, err);
}

/* ---- parts of the step and symptoms: why.PART, finds.SYMPTOM -------------- */

static int need_simulation(const struct mfu_figures *g, const char *family, struct mfu_error *err)
{
    if (g->simulation)
        return 0;
    return mfu_fail(err, MFU_EINPUT, "%s: needs a simulated step; for print and check only", family);
}

static int look_why(struct mfu_figures *g, const char *family, struct mfu_error *err)
{
    struct mfu_metrics metrics;

    if (need_simulation(g, family, err) < 0)
        return -1;
    if (!g->have_why) {
        if (mfu_breakdown_make(g->plan, g->simulation, true, &g->split, err) < 0)
            return -1;
        g->why = (struct mfu_why){.total = 1};
        mfu_metrics_of_plan(g->plan, &metrics);
        mfu_why_symptoms(g->plan, g->simulation, &g->split, &metrics, &g->why);
    }
    g->have_why = true;
    return 0;
}

static int look_advice(struct mfu_figures *g, const char *family, struct mfu_error *err)
{
    if (need_simulation(g, family, err) < 0)
        return -1;
    if (!g->have_advice && mfu_advise(&g->plan->scenario, g->scratch, g->simulation, &g->advice, err) < 0)
        return -1;
    g->have_advice = true;
    return 0;
}

/* Blanks and hyphens of a part's name cannot stand in an expression. */
static int find_why(struct mfu_figures *g, const char *family, const char *rest, struct mfu_figure_value *f,
                    struct mfu_error *err)
{
    char group[MFU_FIGURE_NAME];
    const char *part = last_of(rest, group);
    struct possible possible = {.n = 0};

    if (strcmp(rest, "ceiling") == 0) {
        if (look_advice(g, family, err) < 0)
            return -1;
        *f = (struct mfu_figure_value){g->advice.ceiling, MFU_RATIO, NULL};
        return 1;
    }
    if (look_why(g, family, err) < 0)
        return -1;
    for (int i = 0; i < MFU_G_COUNT && !*group; i++) {
        may_be(&possible, mfu_breakdown_groups[i].name);
        if (mfu_same_name(mfu_breakdown_groups[i].name, part)) {
            *f = (struct mfu_figure_value){g->split.group_s[i] / g->split.step_s, MFU_RATIO, NULL};
            return 1;
        }
    }
    for (int i = 0; i < MFU_BREAKDOWN_COUNT && *group; i++) {
        if (!mfu_same_name(mfu_breakdown_groups[mfu_breakdown_rows[i].group].name, group))
            continue;
        may_be(&possible, mfu_breakdown_rows[i].name);
        if (mfu_same_name(mfu_breakdown_rows[i].name, part)) {
            *f = (struct mfu_figure_value){g->split.part_s[i] / g->split.step_s, MFU_RATIO, NULL};
            return 1;
        }
    }
    return no_such(err, family, "part of the step", *group && possible.n == 0 ? group : part, &possible);
}

static int find_symptom(struct mfu_figures *g, const char *family, const char *name, struct mfu_figure_value *f,
                        struct mfu_error *err)
{
    struct possible possible = {.n = 0};
    bool known = false;

    for (size_t i = 0; mfu_symptom_code(i); i++) {
        may_be(&possible, mfu_symptom_code(i));
        known |= mfu_same_name(mfu_symptom_code(i), name);
    }
    if (!known)
        return no_such(err, family, "symptom", name, &possible);
    if (look_why(g, family, err) < 0)
        return -1;
    *f = (struct mfu_figure_value){0, MFU_RATIO, NULL};
    for (int i = 0; i < g->why.n_symptoms; i++)
        if (mfu_same_name(g->why.symptoms[i].code, name))
            f->value = g->why.symptoms[i].share;
    return 1;
}

/* ---- levers: advise.KEY.VALUE.FIELD --------------------------------------- */

/* A lever or a combination of them. */
struct pulled {
    const struct mfu_outcome *before, *after; /* after: NULL where it is not on offer */
    double speedup;
    bool offered; /* it fits, and gains time or memory */
};

static double when(const struct pulled *l, double value)
{
    return l->after ? value : (double)NAN;
}

// clang-format off
#define PULLED(X) \
    X(NUMBER, gain,         MFU_RATIO,   when(l, l->speedup - 1), "speed gained") \
    X(NUMBER, speedup,      MFU_COUNT,   when(l, l->speedup),     "time per token before over after") \
    X(NUMBER, saved_bytes,  MFU_BYTES,   l->after ? l->before->memory_bytes - l->after->memory_bytes : (double)NAN, "memory saved") \
    X(NUMBER, memory_bytes, MFU_BYTES,   l->after ? l->after->memory_bytes : (double)NAN, "as nvidia-smi shows it") \
    X(NUMBER, step_time_s,  MFU_SECONDS, l->after ? l->after->step_s : (double)NAN,       "one optimizer step") \
    X(NUMBER, mfu,          MFU_RATIO,   l->after ? l->after->mfu : (double)NAN,          "model FLOP over the dense peak") \
    X(NUMBER, fits,         MFU_COUNT,   l->after ? l->after->fits : (double)NAN,         "1 if the memory suffices") \
    X(FLAG,   offered,      0,           l->after && l->offered,                          "1 if it fits and gains time or memory")
MFU_PART_RECORD(pulled, const struct pulled *l, PULLED)
// clang-format on

/* Whether a lever is called "batch.16", or just "batch". */
static bool is_lever(const struct mfu_lever *l, const char *name)
{
    char change[sizeof l->change];
    size_t n = strcspn(name, ".");

    snprintf(change, sizeof change, "%s", l->change);
    for (char *p = change; *p; p++)
        if (*p == ' ')
            *p = '.';
    if (name[n])
        return mfu_same_name(change, name);
    change[strcspn(change, ".")] = '\0';
    return mfu_same_name(change, name);
}

static bool has_key(const char *name)
{
    char key[MFU_FIGURE_NAME];

    snprintf(key, sizeof key, "%.*s", (int)strcspn(name, "."), name);
    for (size_t i = 0; i < mfu_lever_row_count; i++)
        if (mfu_same_name(mfu_lever_rows[i].set[0].key, key))
            return true;
    return false;
}

static bool pull(const struct mfu_advice *a, const char *name, struct pulled *l)
{
    const struct mfu_combination *best = strcmp(name, "best") == 0 ? &a->best
        : strcmp(name, "any") == 0                                 ? &a->best_any
        : strcmp(name, "highest") == 0                             ? &a->highest
                                                                   : NULL;

    *l = (struct pulled){.before = &a->base};
    if (best) {
        l->after = &best->outcome;
        l->speedup = best->speedup;
        l->offered = best->n > 0;
        return true;
    }
    for (int i = 0; i < a->n_levers && !l->after; i++) /* the best first */
        if (is_lever(&a->levers[i], name)) {
            l->after = &a->levers[i].outcome;
            l->speedup = a->levers[i].speedup;
            l->offered = a->levers[i].verdict == MFU_LEVER_FASTER || a->levers[i].verdict == MFU_LEVER_SMALLER;
        }
    return l->after || has_key(name);
}

static int find_lever(struct mfu_figures *g, const char *family, const char *rest, struct mfu_figure_value *f,
                      struct mfu_error *err)
{
    char name[MFU_FIGURE_NAME];
    const char *field = last_of(rest, name);
    struct possible keys = {.n = 0};
    struct pulled l = {.after = NULL};

    if (mfu_field_find(&pulled, field) >= 0) {
        if (look_advice(g, family, err) < 0)
            return -1;
        for (size_t k = 0; k < mfu_lever_row_count; k++)
            may_be(&keys, mfu_lever_rows[k].set[0].key);
        if (!pull(&g->advice, name, &l))
            return no_such(err, family, "lever", name, &keys);
    }
    return number_of(&pulled, &l, family, "figure of a lever", field, f, err);
}

/* ---- families ------------------------------------------------------------- */

// clang-format off
static const struct {
    const char *name, *usage, *meaning;
    int (*find)(struct mfu_figures *, const char *family, const char *rest, struct mfu_figure_value *, struct mfu_error *);
} families[] = {
    {"", "bound", "what limits the step: compute, memory, latency, launch, communication or input", NULL},
    {"mfu", "mfu.CONVENTION", "what nanogpt, palm, torchtitan ... would print", find_convention},
    {"flop_per_token", "flop_per_token.CONVENTION", "FLOP that it counts for a token", find_convention},
    {"peak", "peak.CONVENTION", "peak that it divides by", find_convention},
    {"kernels", "kernels.NAME.FIELD", "rows of `kernels`: a phase, a kind, whole parts of a name", find_kernels},
    {"exchanges", "exchanges.GROUP.FIELD", "rows of `step`: tp, dp, pp ..., or a level: nvlink, network, uplinks", find_exchange},
    {"stages", "stages.busiest.FIELD, stages.worst.FIELD", "of a pipeline's stages; or by number, from 0", find_stage},
    {"why", "why.PART, why.PART.PART", "share of the step, as `why` splits it; why.ceiling: the best MFU on offer", find_why},
    {"finds", "finds.SYMPTOM", "share that a symptom of `why` concerns; 0: not there", find_symptom},
    {"advise", "advise.KEY.VALUE.FIELD", "a lever; without VALUE the best of that KEY; advise.best, any, highest: together", find_lever},
    {"kernel", "kernel.FIELD", "figures and meters of the kernel that `kernel` studied last", find_studied},
};
// clang-format on
#define N_FAMILIES (sizeof families / sizeof families[0])

/* The row of a name's first part; N_FAMILIES if there is none. */
static size_t family_of(const char *name)
{
    size_t n = strcspn(name, "."), i = 0;

    if (strcmp(name, "bound") == 0)
        return 0;
    while (i < N_FAMILIES
           && !(n && name[n] && strlen(families[i].name) == n && strncmp(families[i].name, name, n) == 0))
        i++;
    return i;
}

bool mfu_figure_known(const char *name)
{
    return family_of(name) < N_FAMILIES;
}

int mfu_figure_find(struct mfu_figures *g, const char *name, struct mfu_figure_value *f, struct mfu_error *err)
{
    size_t i = family_of(name);

    if (i == N_FAMILIES)
        return 0;
    if (i > 0)
        return families[i].find(g, families[i].name, strchr(name, '.') + 1, f, err);
    put_bound(f, mfu_limit_names[g->plan->limit]);
    return 1;
}

void mfu_figures_forget(struct mfu_figures *g)
{
    free(g->rows);
    if (g->have_advice)
        mfu_advice_free(&g->advice);
    g->rows = NULL;
    g->n_rows = 0;
    g->have_why = g->have_advice = false;
}

const char *mfu_figure_family(size_t i, const char **meaning)
{
    if (i >= N_FAMILIES)
        return NULL;
    *meaning = families[i].meaning;
    return families[i].usage;
}

/* ---- offers --------------------------------------------------------------- */

static const char *joined(char name[MFU_FIGURE_NAME], const char *a, const char *b, const char *c)
{
    snprintf(name, MFU_FIGURE_NAME, "%s.%s%s%s", a, b, c ? "." : "", c ? c : "");
    return spell(name);
}

/* The numbers of a kernel, and what bounds it; NULL behind the last. */
static const char *kernel_offer(size_t i)
{
    for (size_t k = 0; k < mfu_record_kernel_row.n; k++) {
        const struct mfu_record_field *f = &mfu_record_kernel_row.fields[k];

        if ((f->kind == MFU_IS_NUMBER || strcmp(f->name, "bound") == 0) && i-- == 0)
            return f->name;
    }
    return NULL;
}

static size_t kernel_offers(void)
{
    size_t n = 0;

    while (kernel_offer(n))
        n++;
    return n;
}

const char *mfu_figure_offer(size_t i, char name[MFU_FIGURE_NAME])
{
    size_t n_kernel = kernel_offers();

    if (i < MFU_G_COUNT)
        return joined(name, "why", mfu_breakdown_groups[i].name, NULL);
    i -= MFU_G_COUNT;
    if (i < MFU_BREAKDOWN_COUNT)
        return joined(name, "why", mfu_breakdown_groups[mfu_breakdown_rows[i].group].name, mfu_breakdown_rows[i].name);
    i -= MFU_BREAKDOWN_COUNT;
    if (i == 0)
        return joined(name, "why", "ceiling", NULL);
    for (size_t k = 0; mfu_symptom_code(k); k++)
        if (--i == 0)
            return joined(name, "finds", mfu_symptom_code(k), NULL);
    i--;
    if (i < mfu_lever_row_count * pulled.n)
        return joined(name, "advise", mfu_lever_rows[i / pulled.n].set[0].key, pulled.fields[i % pulled.n].name);
    i -= mfu_lever_row_count * pulled.n;
    if (i < pulled.n)
        return joined(name, "advise", "best", pulled.fields[i].name);
    i -= pulled.n;
    if (i < MFU_KIND_COUNT * n_kernel)
        return joined(name, "kernels", mfu_kind_names[i / n_kernel], kernel_offer(i % n_kernel));
    i -= MFU_KIND_COUNT * n_kernel;
    if (i < n_kernel)
        return joined(name, "kernel", kernel_offer(i), NULL);
    return NULL;
}

size_t mfu_figure_offer_count(void)
{
    size_t symptoms = 0;

    while (mfu_symptom_code(symptoms))
        symptoms++;
    return MFU_G_COUNT + MFU_BREAKDOWN_COUNT + 1 + symptoms + (mfu_lever_row_count + 1) * pulled.n
        + (MFU_KIND_COUNT + 1) * kernel_offers();
}
static double value_of(const struct mfu_plan *p, const char *name, enum mfu_dim *dim, struct mfu_error *err)
{
    struct mfu_figures figures = {.plan = p};
    struct mfu_figure_value f = {.value = NAN, .dim = MFU_COUNT};

    if (mfu_figure_find(&figures, name, &f, err) > 0 && f.word)
        mfu_fail(err, MFU_EINPUT, "a word, no number: for print and check only");
    mfu_figures_forget(&figures);
    if (dim)
        *dim = f.dim;
    return f.value;
}

const struct mfu_figure_source mfu_figure_names = {mfu_figure_known, value_of};
