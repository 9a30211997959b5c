/*
 * fuzz_observe.c - no log, configuration file or list of figures makes observe
 * misbehave.
 *
 * The first byte says what the text is: a log, a configuration beside a step,
 * or figures given by hand.  What is answered adds up and can be printed.
 */
#include <math.h>

#include "answer/observe/observe.h"
#include "base/error.h"
#include "descriptor/catalog.h"
#include "fixture.h"
#include "answer/fields/fields.h"
#include "report/json/json.h"
#include "report/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct mfu_observation *o)
{
    size_t dropped = 0;

    REQUIRE(o->source && o->plan.config.gpu && o->plan.config.model);
    for (int i = 0; i < MFU_FIGURE_COUNT; i++)
        REQUIRE(isnan(o->figure[i]) || (isfinite(o->figure[i]) && o->figure[i] >= 0));
    for (int i = 0; i < o->n_dropped; i++)
        dropped += o->dropped[i].count;
    REQUIRE(dropped == 0 || o->format);
    REQUIRE(!o->predicted || (o->plan.step.time_s > 0 && isfinite(o->plan.step.time_s)));
    REQUIRE(o->predicted || o->why_not[0]);
    for (int i = 0; i < o->n_findings; i++)
        REQUIRE(o->findings[i].code && o->findings[i].message[0]);
    for (int i = 0; i < o->n_candidates; i++)
        REQUIRE(o->candidates[i].share > 0 && o->candidates[i].confirm);
}

static void print(const struct mfu_observation *o)
{
    static const struct mfu_term term = {.width = 80, .height = 24};
    FILE *out = fopen("/dev/null", "w");
    json_t *json = mfu_json(&mfu_record_observe, o);

    REQUIRE(out && json);
    mfu_text_observation(out, &term, o);
    fclose(out);
    json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct mfu_catalog *catalog;
    struct mfu_observe_request request = {0};
    struct mfu_observation *o;
    struct mfu_scenario s;
    struct mfu_error err = {0};
    char *text;

    if (size == 0)
        return 0;
    REQUIRE(catalog || (catalog = mfu_catalog_open(fixture_catalog(), NULL, NULL)));
    REQUIRE((text = malloc(size)));
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    s = mfu_scenario_start(mfu_catalog_model(catalog, "gpt2", NULL), mfu_catalog_gpu(catalog, "rtx4070", NULL));
    REQUIRE(s.model && s.gpu);
    if (data[0] == 'f')
        request.figures = text;
    else if (data[0] == 'c') {
        request.config = fixture_file(data + 1, size - 1);
        request.figures = "step_ms 9340 mfu 15.4";
    } else
        request.log = fixture_file(data + 1, size - 1);
    o = mfu_observe(catalog, &s, &request, &err);
    if (o) {
        check(o);
        print(o);
    } else
        REQUIRE(err.code != MFU_OK && err.text[0] != '\0');
    mfu_observation_free(o);
    free(text);
    return 0;
}
