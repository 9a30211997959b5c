/*
 * fuzz_audit.c - no claim and no table makes audit misbehave; what it answers can be printed.
 */
#include <math.h>

#include "answer/audit/audit.h"
#include "answer/fields/fields.h"
#include "base/error.h"
#include "descriptor/catalog.h"
#include "fixture.h"
#include "report/json/json.h"
#include "report/report.h"
#include "scenario/scenario.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct mfu_audits *all)
{
    static const struct mfu_term term = {.width = 80, .height = 24};
    FILE *out = fopen("/dev/null", "w");
    json_t *json = mfu_json(&mfu_record_audit, all);

    for (size_t i = 0; i < all->n; i++) {
        const struct mfu_audit *a = &all->list[i];

        REQUIRE(a->verdict /* what was not understood may be why it contradicts */
                && (strcmp(a->verdict, "contradicts") == 0) == (a->n_contradictions > 0 && !a->unread_figure[0])
                && (strcmp(a->verdict, "holds") != 0 || (!a->unread_figure[0] && !a->loose[0])));
        for (int k = 0; k < a->n_claims; k++)
            REQUIRE(a->claims[k].in.low <= a->claims[k].in.high && a->claims[k].in.low >= 0);
        for (int k = 0; k < a->n_contradictions; k++)
            REQUIRE(a->contradictions[k].text[0]);
    }
    REQUIRE(out && json);
    mfu_text_audits(out, &term, all);
    fclose(out);
    json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct mfu_catalog *catalog;
    struct mfu_scenario s;
    struct mfu_error err = {0};
    struct mfu_audits *a;
    char *text;

    REQUIRE(catalog || (catalog = mfu_catalog_open(fixture_catalog(), NULL, NULL)));
    REQUIRE((text = malloc(size + 1)));
    memcpy(text, data, size);
    text[size] = '\0';
    s = mfu_scenario_start(mfu_catalog_model(catalog, "gpt2", NULL), mfu_catalog_gpu(catalog, "rtx4070", NULL));
    REQUIRE(s.model && s.gpu);
    if ((a = mfu_audit(catalog, &s, text, &err)))
        check(a);
    else
        REQUIRE(err.code != MFU_OK && err.text[0] != '\0');
    mfu_audits_free(a);
    free(text);
    return 0;
}
