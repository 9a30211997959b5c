/*
 * Layers that are copied, or folded: the program and the simulation are, bit for bit, those of layers that are traced.
 */
#include "any_scenario.h"
#include "owned.h"

#include "graph/copies.h"
#include "graph/graph.h"
#include "plan/simulation.h"
#include "scenario/setting.h"

static bool same_numbers(int n, const int *a, const int *b)
{
    return n == 0 || memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

/* But for what they read and write: programs have works of their own. */
static bool same_launch(struct mfu_launch l, const struct mfu_launch *m)
{
    bool same = memcmp(l.work, m->work, offsetof(struct mfu_work, number)) == 0;

    l.work = m->work;
    l.in = m->in;
    l.out = m->out;
    return same && memcmp(&l, m, sizeof l) == 0;
}

static bool same_launches(const struct mfu_program *a, const struct mfu_program *b)
{
    if (a->n_launches != b->n_launches)
        return false;
    for (int i = 0; i < a->n_launches; i++) {
        const struct mfu_launch *l = &a->launches[i], *m = &b->launches[i];

        if (!same_launch(*l, m) || !same_numbers(m->n_in, l->in, m->in) || !same_numbers(m->n_out, l->out, m->out))
            return false;
    }
    return true;
}

/* Who wrote a view is of no use any more when kernels are merged. */
static bool same_views(const struct mfu_program *a, const struct mfu_program *b)
{
    if (a->n_views != b->n_views)
        return false;
    for (int i = 0; i < a->n_views; i++) {
        struct mfu_view v = a->views[i];

        v.producer = b->views[i].producer;
        if (memcmp(&v, &b->views[i], sizeof v) != 0)
            return false;
    }
    return true;
}

static bool same_segments(const struct mfu_program *a, const struct mfu_program *b)
{
    if (a->n_segments != b->n_segments)
        return false;
    for (int k = 0; k < a->n_segments; k++) {
        const struct mfu_segment *x = &a->segments[k], *y = &b->segments[k];

        if (x->section != y->section || x->phase != y->phase || x->first != y->first || x->count != y->count
            || x->repeat != y->repeat || x->layer != y->layer)
            return false;
    }
    return true;
}

static bool same_weights(const struct mfu_program *a, const struct mfu_program *b)
{
    if (a->n_weights != b->n_weights)
        return false;
    for (int i = 0; i < a->n_weights; i++)
        if (a->weights[i].elements != b->weights[i].elements || a->weights[i].bytes != b->weights[i].bytes
            || a->weights[i].trains != b->weights[i].trains)
            return false;
    return true;
}

static bool same_tensor(const struct mfu_program *traced, const int *views, int n, const int *tensors)
{
    for (int k = 0; k < n; k++)
        if (traced->views[views[k]].tensor != tensors[k])
            return false;
    return true;
}

static bool same_folded_launches(const struct mfu_program *folded, const struct mfu_program *traced)
{
    struct mfu_unfolding u = {0};
    bool same = folded->n_launches == traced->n_launches && folded->n_segments == traced->n_segments;

    for (int k = 0; same && k < folded->n_segments; k++) {
        const struct mfu_segment *seg = &folded->segments[k];
        const int *tensors = mfu_unfold_ends(folded, seg, &u);

        for (int i = seg->first; same && i < seg->first + seg->count; i++) {
            const struct mfu_launch *m = &traced->launches[i];

            same = same_launch(*mfu_launch_in(folded, seg, i), m) && same_tensor(traced, m->in, m->n_in, tensors)
                && same_tensor(traced, m->out, m->n_out, tensors + m->n_in);
            tensors += m->n_in + m->n_out;
        }
    }
    mfu_unfolding_release(&u);
    return same;
}

struct lives {
    const struct mfu_program *folded, *traced;
    int next;
    bool same;
};

static void compare_life(void *context, int tensor, int like, int born, int last)
{
    struct lives *x = context;
    const struct mfu_tensor *a = &x->folded->tensors[like], *b = &x->traced->tensors[tensor];

    x->same &= tensor == x->next-- && a->bytes == b->bytes && a->part == b->part && born == b->born && last == b->last;
}

static bool same_folded_tensors(const struct mfu_program *folded, const struct mfu_program *traced)
{
    struct lives x = {folded, traced, traced->n_tensors - 1, folded->n_tensors == traced->n_tensors};

    return mfu_unfold_lives(folded, compare_life, &x) == 0 && x.same && x.next == -1;
}

/* Launches that do the same have one work. */
static bool works_differ(const struct mfu_program *p)
{
    for (int i = 0; i < p->n_works; i++)
        for (int k = 0; k < i; k++)
            if (memcmp(p->works[i], p->works[k], offsetof(struct mfu_work, number)) == 0)
                return false;
    return true;
}

static long folded_ones;

static void same_program(const struct mfu_program *a, const struct mfu_program *b)
{
    if (a->fold) {
        folded_ones++;
        HOLDS(works_differ(a));
        HOLDS(same_segments(a, b));
        HOLDS(same_folded_launches(a, b));
        HOLDS(same_folded_tensors(a, b));
        HOLDS(same_weights(a, b));
        HOLDS(memcmp(a->constant_bytes, b->constant_bytes, sizeof a->constant_bytes) == 0);
        return;
    }
    HOLDS(same_launches(a, b));
    HOLDS(same_views(a, b));
    HOLDS(a->n_tensors == b->n_tensors
          && memcmp(a->tensors, b->tensors, (size_t)a->n_tensors * sizeof *a->tensors) == 0);
    HOLDS(same_segments(a, b));
    HOLDS(same_weights(a, b));
    HOLDS(memcmp(a->constant_bytes, b->constant_bytes, sizeof a->constant_bytes) == 0);
}

/* Lists are none of the answers. */
static bool same_time(struct mfu_timeline a, struct mfu_timeline b)
{
    a.events = b.events = NULL;
    a.cap_events = b.cap_events = 0;
    a.n_events = b.n_events; /* one of them may be recorded */
    return memcmp(&a, &b, sizeof a) == 0;
}

static bool same_memory(const struct mfu_replay *a, const struct mfu_replay *b)
{
    return memcmp(&a->steady, &b->steady, sizeof a->steady) == 0 && a->fragmentation == b->fragmentation
        && a->first_step_reserved_bytes == b->first_step_reserved_bytes && a->out_of_memory == b->out_of_memory
        && a->wanted_bytes == b->wanted_bytes && a->steps == b->steps && strcmp(a->message, b->message) == 0
        && strcmp(a->failed_in, b->failed_in) == 0;
}

static bool same_answer(const struct mfu_plan *a, const struct mfu_plan *b)
{
    return memcmp(&a->step, &b->step, sizeof a->step) == 0 && a->memory.fits == b->memory.fits
        && a->memory.reserved_bytes == b->memory.reserved_bytes
        && memcmp(&a->memory.peak.parts, &b->memory.peak.parts, sizeof a->memory.peak.parts) == 0
        && a->memory.peak.bytes == b->memory.peak.bytes && a->memory.smi_bytes == b->memory.smi_bytes;
}

/* Now and then more layers than usual, and a rank of a layout. */
static void change(struct mfu_scenario *s)
{
    static const char *const layouts[][2] = {{"pp", "2"},
                                             {"tp", "2"},
                                             {"n_layer", "37"},
                                             {"lora", "8"},
                                             {"trainable_layers", "9"},
                                             {"objective", "dpo"},
                                             {"adapter", "prefix-tuning"}};

    if (any(3) == 0) {
        const char *const *pair = layouts[any(sizeof layouts / sizeof layouts[0])];
        struct mfu_scenario other = *s;

        if (mfu_scenario_set(&other, pair[0], pair[1], NULL) == 0) {
            size_t used = strlen(told);

            *s = other;
            snprintf(told + used, sizeof told - used, "; set %s %s", pair[0], pair[1]);
        }
    }
}

static void copied_layers_are_traced_layers(void **unused)
{
    static struct mfu_simulation copied = {.again = true}, traced = {.traces_layers = true, .again = true};
    PLAN plan = {0}, other = {0};

    (void)unused;
    for (int n = scenarios(1000); n > 0;) {
        struct mfu_scenario s;

        next(&s, &plan);
        change(&s);
        if (mfu_plan_make(&plan, &s, NULL) < 0 || mfu_plan_make(&other, &s, NULL) < 0
            || mfu_simulate(&plan, n % 2 == 0, &copied, NULL) < 0)
            continue;
        HOLDS(mfu_simulate(&other, n % 3 == 0, &traced, NULL) == 0);
        if (plan.config.accum == 1 || n % 6 == 0)
            same_program(&copied.first, &traced.first);
        if (plan.config.accum > 1)
            same_program(&copied.later, &traced.later);
        HOLDS(same_time(copied.timeline, traced.timeline));
        HOLDS(same_memory(&copied.replay, &traced.replay));
        HOLDS(same_answer(&plan, &other));
        n--;
    }
    assert_true(folded_ones > scenarios(1000) / 20);
    mfu_simulation_release(&copied);
    mfu_simulation_release(&traced);
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

/* A step that begins where one has ended is simulated alone; beside a loader, even one that takes no time, it is the second
 * of two.  They are the same. */
static void a_step_is_like_the_one_before(void **unused)
{
    SIMULATION simulation = {0};
    PLAN alone = {0}, second = {0};

    (void)unused;
    for (int n = scenarios(400); n > 0;) {
        struct mfu_timeline t;
        struct mfu_scenario s;

        next(&s, &alone);
        change(&s);
        s.setting[MFU_S_DATALOADER_MS] = 0;
        if (mfu_plan_make(&alone, &s, NULL) < 0 || mfu_simulate(&alone, n % 2 == 0, &simulation, NULL) < 0)
            continue;
        t = simulation.timeline;
        s.setting[MFU_S_DATALOADER_MS] = 1e-12;
        HOLDS(mfu_plan_make(&second, &s, NULL) == 0 && mfu_simulate(&second, n % 2 == 0, &simulation, NULL) == 0);
        HOLDS(near(t.step_s, simulation.timeline.step_s) && near(t.busy_s, simulation.timeline.busy_s));
        HOLDS(near(t.step_s + t.host_bound_s, simulation.timeline.step_s + simulation.timeline.host_bound_s));
        HOLDS(near(t.step_s + t.communication_exposed_s,
                   simulation.timeline.step_s + simulation.timeline.communication_exposed_s));
        HOLDS(t.n_events == simulation.timeline.n_events);
        HOLDS(near(alone.step.time_s, second.step.time_s));
        n--;
    }
}

static void does_not_grow(const char *model, const char *runtime, const char *ranks, const char *zero,
                          const char *offload)
{
    static const char *const layers[] = {"20", "200"};
    struct mfu_program p[2] = {{0}};

    for (int i = 0; i < 2; i++) {
        struct mfu_plan plan = {0};
        struct mfu_scenario s =
            mfu_scenario_start(mfu_catalog_model(catalog, model, NULL), mfu_catalog_gpu(catalog, "h100-sxm", NULL));

        assert_int_equal(mfu_scenario_set(&s, "n_layer", layers[i], NULL), 0);
        assert_int_equal(mfu_scenario_set(&s, "runtime", runtime, NULL), 0);
        assert_int_equal(mfu_scenario_set(&s, "gpus", ranks, NULL), 0);
        assert_int_equal(mfu_scenario_set(&s, "zero", zero, NULL), 0);
        assert_int_equal(mfu_scenario_set(&s, "offload_activations", offload, NULL), 0);
        assert_int_equal(mfu_scenario_set(&s, "checkpoint", strcmp(offload, "on") == 0 ? "full" : "none", NULL), 0);
        assert_int_equal(mfu_scenario_set(&s, "optimizer", *ranks == '1' ? "adamw" : "muon", NULL), 0);
        assert_int_equal(mfu_plan_make(&plan, &s, NULL), 0);
        assert_int_equal(mfu_graph_build(&plan.config, MFU_LAYERS_FOLDED, &p[i], NULL), 0);
        assert_non_null(p[i].fold);
        mfu_plan_release(&plan);
    }
    assert_true(p[1].n_tensors > 8 * p[0].n_tensors);
    if (*zero != '3') /* each unit has its buffers */
        assert_int_equal(mfu_fold_tensors(&p[0]), mfu_fold_tensors(&p[1]));
    assert_true(p[1].cap_launches <= 2 * p[0].cap_launches); /* a few ways of putting buckets between them */
    mfu_program_free(&p[0]);
    mfu_program_free(&p[1]);
}

/* However many layers a model has, a folded program is as large: also where a compiler leaves the last sum of a layer to
 * the next, which then reads what is two layers before it. */
static void folded_programs_do_not_grow(void **unused)
{
    (void)unused;
    does_not_grow("gpt2", "eager", "1", "0", "off");
    does_not_grow("gpt2", "compile", "1", "0", "off");
    does_not_grow("falcon-40b", "compile", "1", "0", "off");
    does_not_grow("mamba2-1.3b", "compile", "1", "0", "off");
    does_not_grow("gpt2", "eager", "8", "0", "off");
    does_not_grow("gpt2", "eager", "8", "1", "off");
    does_not_grow("gpt2", "eager", "8", "3", "off");
    does_not_grow("falcon-40b", "compile", "8", "3", "off");
    does_not_grow("gpt2", "eager", "1", "0", "on");
    does_not_grow("falcon-40b", "compile", "8", "1", "on");
}

/* Layers with two kinds of attention have two segments each where learned keys and values are dropped. */
static void pairs_in_a_layer_stay_together(void **unused)
{
    struct mfu_scenario s =
        mfu_scenario_start(mfu_catalog_model(catalog, "gemma-2-2b", NULL), mfu_catalog_gpu(catalog, "h100-sxm", NULL));
    struct mfu_program copied = {0}, traced = {0};
    PLAN plan = {0};

    (void)unused;
    assert_int_equal(mfu_scenario_set(&s, "adapter", "prefix-tuning", NULL), 0);
    assert_int_equal(mfu_plan_make(&plan, &s, NULL), 0);
    assert_int_equal(mfu_graph_build(&plan.config, MFU_LAYERS_COPIED, &copied, NULL), 0);
    assert_int_equal(mfu_graph_build(&plan.config, MFU_LAYERS_TRACED, &traced, NULL), 0);
    same_program(&copied, &traced);
    mfu_program_free(&copied);
    mfu_program_free(&traced);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copied_layers_are_traced_layers),
        cmocka_unit_test(a_step_is_like_the_one_before),
        cmocka_unit_test(folded_programs_do_not_grow),
        cmocka_unit_test(pairs_in_a_layer_stay_together),
    };

    return RUN_LAWS(tests);
}
