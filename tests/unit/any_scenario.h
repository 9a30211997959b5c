/*
 * any_scenario.h - scenarios at random, and laws that name the one that breaks them.
 *
 * The seed is printed; MFUPLAN_SEED repeats a run, MFUPLAN_SCENARIOS says how many,
 * MFUPLAN_LAW which laws (a pattern), and with MFUPLAN_GO_ON one that is broken does not end it.
 */
#ifndef MFU_TEST_ANY_SCENARIO_H
#define MFU_TEST_ANY_SCENARIO_H

#include "near.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plan/plan.h"
#include "base/error.h"
#include "descriptor/catalog.h"
#include "scenario/setting.h"

#define EXACT 1e-9 /* relative: only the order of adding differs */

static uint64_t seed, state;
static struct mfu_catalog *catalog;
static const char *const *models, *const *gpus;
static size_t n_models, n_gpus;
static bool going_on;
static int broken;
static char told[2800]; /* the scenario, as a user would type it */

static uint64_t any(uint64_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 24) % below;
}

static inline const char *pick(const char *const *names)
{
    size_t n = 0;

    while (names[n])
        n++;
    return names[any(n)];
}

#define PAIRS 64

struct pairs {
    int n;
    const char *gpu, *model;
    char key[PAIRS][24], value[PAIRS][24];
};

static inline void add(struct pairs *p, const char *key, const char *value)
{
    snprintf(p->key[p->n], sizeof p->key[0], "%s", key);
    snprintf(p->value[p->n++], sizeof p->value[0], "%s", value);
}

static inline void add_number(struct pairs *p, const char *key, uint64_t value)
{
    char text[24];

    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    add(p, key, text);
}

static inline struct pairs any_pairs(void)
{
    static const char *const vectors[] = {"64", "256", "1024", "4096", "100", NULL};
    static const char *const offloads[] = {"offload_optimizer", "offload_params", "offload_activations"};
    static const char *const drives[] = {"nvme_optimizer", "nvme_params", NULL};
    struct pairs p = {.gpu = gpus[any(n_gpus)], .model = models[any(n_models)]};

    add_number(&p, "batch", 1 + any(24));
    add_number(&p, "accum", any(2) ? 1 : 1 + any(40));
    add(&p, "seq", pick(vectors));
    if (any(2))
        add(&p, "precision", pick(mfu_precision_names));
    if (any(2))
        add(&p, "runtime", pick(mfu_runtime_names));
    if (any(2))
        add(&p, "attention", pick(mfu_attention_names));
    if (any(2))
        add(&p, "checkpoint", pick(mfu_checkpoint_names));
    if (any(8) == 0)
        add_number(&p, "checkpoint_layers", 1 + any(12));
    if (any(2))
        add(&p, "optimizer", pick(mfu_optimizer_names));
    if (any(2))
        add_number(&p, "n_layer", 2 * (1 + any(10)));
    if (any(4) == 0)
        add(&p, "dropout", "0.1");
    if (any(4) == 0)
        add_number(&p, "grad_clip", any(2));
    if (any(4) == 0)
        add_number(&p, "loss_chunks", 1 + any(8));
    if (any(8) == 0)
        add(&p, "cuda_graphs", "on");
    if (any(8) == 0)
        add_number(&p, "vocab_size", 1000 + any(100000));
    if (any(8) == 0)
        add_number(&p, "clock_mhz", 500 + any(2000));
    if (any(8) == 0)
        add_number(&p, "power_w", 50 + any(1000));
    if (any(8) == 0)
        add(&p, "tied", any(2) ? "1" : "0");
    if (any(8) == 0)
        add(&p, "bias", any(2) ? "1" : "0");
    if (any(8) == 0)
        add_number(&p, "dataloader_ms", any(100));
    if ((state >> 30) % 6 == 0) { /* by what was drawn last */
        add_number(&p, "doc_len", 20 + (state >> 40) % 3000);
        add_number(&p, "doc_sigma", (state >> 34) % 3);
        add_number(&p, "packing", (state >> 36) % 2);
    }
    if ((state >> 29) % 7 == 0)
        add(&p, "optimizer_in_backward", "on");
    if ((state >> 27) % 9 == 0)
        add(&p, "ema", pick(mfu_ema_names));
    if (any(3) == 0) {
        add_number(&p, "gpus", 1 + any(8));
        add_number(&p, "zero", any(4));
    }
    for (size_t i = 0; i < sizeof offloads / sizeof offloads[0]; i++)
        if (any(12) == 0) {
            add(&p, offloads[i], "on");
            if (drives[i] && (state >> 33) % 3 == 0)
                add(&p, drives[i], "on");
        }
    return p;
}

static inline void remember(const struct pairs *p)
{
    size_t used = (size_t)snprintf(told, sizeof told, "gpu %s; model %s", p->gpu, p->model);

    for (int i = 0; i < p->n; i++)
        used += (size_t)snprintf(told + used, sizeof told - used, "; set %s %s", p->key[i], p->value[i]);
}

/* Keys that the model lacks are left out of `p`. */
static inline struct mfu_scenario scenario_of(struct pairs *p)
{
    struct mfu_scenario s =
        mfu_scenario_start(mfu_catalog_model(catalog, p->model, NULL), mfu_catalog_gpu(catalog, p->gpu, NULL));

    s.gpu_given = s.model_given = true;
    for (int i = 0; i < p->n; i++)
        if (mfu_scenario_set(&s, p->key[i], p->value[i], NULL) < 0) {
            p->n--;
            memmove(p->key[i], p->key[i + 1], (size_t)(p->n - i) * sizeof p->key[0]);
            memmove(p->value[i], p->value[i + 1], (size_t)(p->n - i) * sizeof p->value[0]);
            i--;
        }
    return s;
}

/* A scenario that can be planned, and its plan. */
static inline struct pairs next(struct mfu_scenario *s, struct mfu_plan *plan)
{
    for (;;) {
        struct pairs p = any_pairs();
        struct mfu_error err = {0};

        *s = scenario_of(&p);
        remember(&p);
        if (mfu_plan_make(plan, s, &err) == 0)
            return p;
        assert_true(err.text[0]); /* refused with a reason */
    }
}

/* Whether the model has such an operation. */
static inline bool has_operation(const struct mfu_model *m, const char *name)
{
    for (int i = 0; i < m->n_ops; i++)
        if (strcmp(m->ops[i].primitive->name, name) == 0)
            return true;
    return false;
}

/* Whether the images of a batch are one sequence, whose pairs grow with its square (Pixtral). */
static inline bool joins_batch(const struct mfu_model *m)
{
    return has_operation(m, "mask");
}

/* A law, and the scenario that breaks it. */
#define HOLDS(law) holds(law, #law)
#define HOLDS_NEAR(got, wanted, relative) holds_near(#got, got, #wanted, wanted, relative)

#define breaks(...)                                                                                                    \
    do {                                                                                                               \
        if (!going_on)                                                                                                 \
            fail_msg(__VA_ARGS__);                                                                                     \
        print_error(__VA_ARGS__);                                                                                      \
        print_error("\n");                                                                                             \
        broken++;                                                                                                      \
    } while (0)

static inline void holds(bool law, const char *text)
{
    if (!law)
        breaks("%s\n  in: %s", text, told);
}

static inline void holds_near(const char *what, double got, const char *whose, double wanted, double relative)
{
    if (!(fabs(got - wanted) <= relative * fabs(wanted)))
        breaks("%s = %.17g, %s = %.17g\n  in: %s", what, got, whose, wanted, told);
}

/* A change of one key; false where it is refused. */
static inline bool replan(struct mfu_plan *plan, const struct mfu_scenario *s, const char *key, double value)
{
    struct mfu_scenario other = *s;
    char text[40];

    snprintf(text, sizeof text, "%.17g", value);
    return mfu_scenario_set(&other, key, text, NULL) == 0 && mfu_plan_make(plan, &other, NULL) == 0;
}

static inline bool replan_as(struct mfu_plan *plan, const struct mfu_scenario *s, const char *key, const char *value)
{
    struct mfu_scenario other = *s;

    return mfu_scenario_set(&other, key, value, NULL) == 0 && mfu_plan_make(plan, &other, NULL) == 0;
}

static inline int open_any(void **unused)
{
    const char *text = getenv("MFUPLAN_SEED");
    struct mfu_error err;

    (void)unused;
    seed = text ? strtoull(text, NULL, 0) : (uint64_t)time(NULL);
    printf("MFUPLAN_SEED=%llu\n", (unsigned long long)seed);
    state = seed;
    going_on = getenv("MFUPLAN_GO_ON");
    catalog = mfu_catalog_open(MFUPLAN_SOURCE_DIR, NULL, &err);
    if (!catalog)
        return -1;
    models = mfu_catalog_models(catalog, &n_models);
    gpus = mfu_catalog_gpus(catalog, &n_gpus);
    return n_models && n_gpus ? 0 : -1;
}

static inline int close_any(void **unused)
{
    (void)unused;
    mfu_catalog_free(catalog);
    return broken;
}

#define RUN_LAWS(tests)                                                                                                \
    (cmocka_set_test_filter(getenv("MFUPLAN_LAW")), cmocka_run_group_tests(tests, open_any, close_any) != 0 || broken)

/* MFUPLAN_SCENARIOS, or `usual`. */
static inline int scenarios(int usual)
{
    const char *text = getenv("MFUPLAN_SCENARIOS");

    return text ? atoi(text) : usual;
}

#endif
