/*
 * fuzz_kineto.c - no trace makes the comparison misbehave: its times are finite, gaps and kernels are
 * the step, and what is answered can be printed.
 */
#include <math.h>

#include "answer/fields/fields.h"
#include "answer/trace/compare_trace.h"
#include "base/error.h"
#include "descriptor/catalog.h"
#include "fixture.h"
#include "report/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct mfu_trace_comparison *c)
{
    static const struct mfu_term term = {.width = 80, .height = 24};
    FILE *out = fopen("/dev/null", "w");
    double sum = c->busy_s;

    REQUIRE(c->alignment && c->alignment->n_runs == 1);
    for (int i = 0; i < MFU_GAP_EXPOSED && !c->on_cpu; i++) {
        REQUIRE(c->gaps[i].measured_s >= 0);
        sum += c->gaps[i].measured_s;
    }
    REQUIRE(c->on_cpu || fabs(sum - c->step_s) <= 1e-6 * fmax(1, fabs(c->step_s)));
    REQUIRE(out);
    mfu_text_trace_comparison(out, &term, c);
    fclose(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct mfu_catalog *catalog;
    static struct mfu_plan plan;
    static struct mfu_simulation simulation;
    struct mfu_trace_comparison c;
    struct mfu_scenario s;
    struct mfu_error err = {0};

    REQUIRE(catalog || (catalog = mfu_catalog_open(fixture_catalog(), NULL, NULL)));
    s = mfu_scenario_start(mfu_catalog_model(catalog, "gpt2", NULL), mfu_catalog_gpu(catalog, "rtx4070", NULL));
    REQUIRE(s.model && s.gpu && mfu_scenario_set(&s, "n_layer", "1", &err) == 0);
    if (mfu_compare_trace(&s, fixture_file(data, size), &plan, &simulation, &c, &err) == 0)
        check(&c);
    else
        REQUIRE(err.code != MFU_OK && err.text[0] != '\0');
    mfu_trace_comparison_release(&c);
    return 0;
}
