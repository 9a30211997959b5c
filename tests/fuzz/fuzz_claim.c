/*
 * fuzz_claim.c - no sentence misbehaves where audit takes it apart; what follows from it is fuzz_audit.c's.
 */
#include <math.h>

#include "answer/audit/audit.h"
#include "base/error.h"
#include "descriptor/catalog.h"
#include "fixture.h"
#include "scenario/scenario.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct mfu_catalog *catalog;
    static struct mfu_scenario s;
    static struct mfu_audit a;
    struct mfu_error err = {0};
    char *text = malloc(size + 1);

    if (!catalog) {
        REQUIRE((catalog = mfu_catalog_open(fixture_catalog(), NULL, NULL)));
        s = mfu_scenario_start(mfu_catalog_model(catalog, "gpt2", NULL), mfu_catalog_gpu(catalog, "rtx4070", NULL));
    }
    REQUIRE(text && s.model && s.gpu);
    memcpy(text, data, size);
    text[size] = '\0';
    memset(&a, 0, sizeof a);
    if (mfu_claim_read(catalog, &s, text, &a, &err) == 0) {
        REQUIRE(a.n_claims >= 0 && a.n_claims <= MFU_CLAIMS);
        for (int i = 0; i < a.n_claims; i++)
            REQUIRE(a.claims[i].in.low <= a.claims[i].in.high && a.claims[i].text[0]);
    } else
        REQUIRE(err.code != MFU_OK && err.text[0]);
    free(a.text);
    free(text);
    return 0;
}
