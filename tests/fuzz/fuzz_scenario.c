/*
 * fuzz_scenario.c - no scenario makes the planner misbehave.
 *
 * Two bytes choose model and GPU; then every three bytes choose a key and a
 * value: a number within the key's range or beside it, a choice, a text that is
 * none.  What is refused has a reason; what is planned is finite, adds up, and
 * comes out the same a second time.
 */
#include <math.h>

#include "plan/conventions.h"
#include "plan/kernels.h"
#include "plan/plan.h"
#include "base/error.h"
#include "descriptor/catalog.h"
#include "fixture.h"
#include "scenario/setting.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct mfu_model *models[64];
static const struct mfu_gpu *gpus[128];
static struct mfu_catalog *catalog;
static size_t n_models, n_gpus;

static void open_catalog(void)
{
    const char *const *names;
    size_t n;

    REQUIRE((catalog = mfu_catalog_open(MFUPLAN_SOURCE_DIR, NULL, NULL)));
    names = mfu_catalog_models(catalog, &n);
    for (; n_models < n && n_models < 64; n_models++)
        REQUIRE((models[n_models] = mfu_catalog_model(catalog, names[n_models], NULL)));
    names = mfu_catalog_gpus(catalog, &n);
    for (; n_gpus < n && n_gpus < 128; n_gpus++)
        REQUIRE((gpus[n_gpus] = mfu_catalog_gpu(catalog, names[n_gpus], NULL)));
}

static const char *key_at(const struct mfu_scenario *s, unsigned i)
{
    unsigned n_dims = (unsigned)s->model->n_dims;

    i %= MFU_SETTING_COUNT + n_dims + MFU_COEFFICIENT_COUNT;
    if (i < MFU_SETTING_COUNT)
        return mfu_settings[i].key;
    i -= MFU_SETTING_COUNT;
    return i < n_dims ? s->model->dims[i].name : mfu_coefficient_rows[i - n_dims].name;
}

/* The text of a value; `how` chooses the kind, `which` the value. */
static const char *value_at(const struct mfu_scenario *s, const char *key, unsigned how, unsigned which, char text[64])
{
    static const char *const odd[] = {
        "",   "nan",   "-1",     "1e99", "0",    "4*n_embd",    "1/0",  "none", "full",           "off",
        "on", "seq/3", "1e-300", "(((",  "2^40", "batch*batch", "16.5", "1 2",  "min(n_head, 3)", "\xff"};
    struct mfu_key k = mfu_scenario_key(s, key, NULL);
    double least = 0, most = 65536, share = which / 255.;

    if (k.kind == MFU_KEY_SETTING && mfu_settings[k.id].choices) {
        unsigned n = 0;

        while (mfu_settings[k.id].choices[n])
            n++;
        return mfu_settings[k.id].choices[which % n];
    }
    if (k.kind == MFU_KEY_SETTING)
        least = mfu_settings[k.id].least, most = mfu_settings[k.id].most;
    if (k.kind == MFU_KEY_COEFFICIENT)
        least = mfu_coefficient_rows[k.id].least, most = mfu_coefficient_rows[k.id].most;
    switch (how % 4) {
    case 0: return odd[which % (sizeof odd / sizeof odd[0])];
    case 1: snprintf(text, 64, "%u", which); break;
    case 2: snprintf(text, 64, "%.0f", exp2(which / 8.)); break;
    case 3: snprintf(text, 64, "%.17g", least + (most - least) * share * share * share); break;
    }
    return text;
}

#define CHECK_FINITE(x) REQUIRE((x) >= 0 && isfinite(x))

static void check_memory(const struct mfu_plan *p)
{
    const struct mfu_memory_answer *m = &p->memory;
    double sum = 0;

    for (int i = 0; i < MFU_PART_COUNT; i++) {
        CHECK_FINITE(m->peak.parts[i]);
        sum += m->peak.parts[i];
    }
    REQUIRE(m->peak.bytes > 0 && fabs(sum - m->peak.bytes) <= 1e-9 * m->peak.bytes);
    REQUIRE(m->reserved_bytes >= m->peak.bytes * (1 - 1e-12) && m->smi_bytes >= m->reserved_bytes);
    CHECK_FINITE(m->smi_bytes);
    CHECK_FINITE(m->fill);
    REQUIRE(m->capacity_bytes > 0 && m->peak_at[0]);
}

static void check_time(const struct mfu_plan *p)
{
    const struct mfu_step_answer *s = &p->step;
    const struct mfu_mfu_answer *a = &p->mfu;

    CHECK_FINITE(s->time_s);
    CHECK_FINITE(s->forward_s);
    CHECK_FINITE(s->backward_s);
    CHECK_FINITE(s->optimizer_s);
    CHECK_FINITE(s->host_s);
    REQUIRE(s->busy_s > 0 && s->busy_s <= s->time_s * (1 + 1e-9));
    REQUIRE(fabs(s->forward_s + s->backward_s + s->optimizer_s - s->busy_s) <= 1e-9 * s->busy_s);
    CHECK_FINITE(s->communication_exposed_s);
    REQUIRE(fabs(s->busy_s + s->idle_s + s->communication_exposed_s + p->paging_s - s->time_s) <= 1e-9 * s->time_s);
    REQUIRE(s->low_s > 0 && s->low_s <= s->time_s && s->time_s <= s->high_s && isfinite(s->high_s));
    REQUIRE(s->tokens > 0 && s->tokens_per_s > 0 && s->samples_per_s > 0 && s->kernels > 0);
    CHECK_FINITE(a->mfu);
    CHECK_FINITE(a->hfu);
    REQUIRE(a->model_flops > 0 && isfinite(a->model_flops) && a->hardware_flops > 0 && isfinite(a->hardware_flops));
}

static void check_tables(const struct mfu_plan *p)
{
    struct mfu_convention conventions[MFU_CONVENTIONS_MAX];
    size_t n_conventions = mfu_conventions(p, conventions);
    struct mfu_kernel_row *rows;
    double total = 0, sum = 0;
    int n = mfu_kernel_rows(p, &rows, &total);

    REQUIRE(n > 0);
    for (int i = 0; i < n; i++) {
        CHECK_FINITE(rows[i].time_s);
        CHECK_FINITE(rows[i].flops);
        CHECK_FINITE(rows[i].bytes);
        CHECK_FINITE(rows[i].sm_active);
        sum += rows[i].time_s;
    }
    free(rows);
    REQUIRE(fabs(total - p->step.busy_s - p->step.communication_s - p->step.copies_s) <= 1e-9 * total
            && fabs(sum - total) <= 1e-9 * total);
    for (size_t i = 0; i < n_conventions; i++)
        CHECK_FINITE(conventions[i].mfu);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct mfu_plan plan, again; /* their memory is reused */
    struct mfu_error err = {0};
    struct mfu_scenario s;

    if (n_models == 0)
        open_catalog();
    if (size < 2)
        return 0;
    s = mfu_scenario_start(models[data[0] % n_models], gpus[data[1] % n_gpus]);
    if (getenv("MFUPLAN_TRACE"))
        fprintf(stderr, "gpu %s; model %s\n", s.gpu->slug, s.model->slug);
    for (size_t i = 2; i + 2 < size; i += 3) {
        const char *key = key_at(&s, data[i] & 127);
        char text[64];
        const char *value = value_at(&s, key, data[i + 1], data[i + 2], text);
        struct mfu_scenario before = s;

        if (getenv("MFUPLAN_TRACE")) /* what a finding consists of */
            fprintf(stderr, "set %s '%s'\n", key, value);
        if (mfu_scenario_set(&s, key, value, &err) < 0)
            REQUIRE(err.text[0] && memcmp(&before, &s, sizeof s) == 0);
    }
    mfu_error_clear(&err);
    if (mfu_plan_make(&plan, &s, &err) < 0) {
        REQUIRE(err.code != MFU_OK && err.text[0]);
        return 0;
    }
    check_memory(&plan);
    check_time(&plan);
    if (size % 8 == 0) { /* now and then: it costs as much again */
        check_tables(&plan);
        REQUIRE(mfu_plan_make(&again, &s, &err) == 0);
        REQUIRE(memcmp(&again.step, &plan.step, sizeof plan.step) == 0);
        REQUIRE(again.memory.peak.bytes == plan.memory.peak.bytes);
    }
    return 0;
}
