/*
 * fuzz_import.c - no configuration of another program misbehaves: it is refused with a reason, or every
 * entry has a fate, and what it sets can be resolved or says why not.
 *
 * A text that no format recognises is read by one of them all the same, which its size chooses.
 */
#include "base/error.h"
#include "fixture.h"
#include "read/config/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct mfu_import *m)
{
    REQUIRE(m->format && m->title && m->n >= 0 && m->n <= MFU_ENTRIES);
    for (int i = 0; i < m->n; i++) {
        const struct mfu_entry *e = &m->entries[i];

        REQUIRE(e->name && e->value && e->note && e->fate < MFU_FATE_COUNT && e->line >= 0);
        REQUIRE(e->fate == MFU_UNDERSTOOD || e->fate == MFU_ASSUMED ? e->key && e->set
                                                                    : e->fate == MFU_IGNORED || e->note[0]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct mfu_catalog *catalog;
    static struct mfu_import import;
    const char *path = fixture_file(data, size);
    struct mfu_scenario start, next;
    struct mfu_config config;
    struct mfu_error err = {0};
    int status;

    REQUIRE(catalog || (catalog = mfu_catalog_open(fixture_catalog(), NULL, NULL)));
    start = next =
        mfu_scenario_start(mfu_catalog_model(catalog, "gpt2", NULL), mfu_catalog_gpu(catalog, "rtx4070", NULL));
    REQUIRE(start.model && start.gpu);
    memset(&import, 0, offsetof(struct mfu_import, entries));
    import.n = 0;
    import.failed = false;
    import.catalog = catalog;
    import.start = &start;
    if ((status = mfu_import_read(&import, path, NULL, &err)) < 0) {
        REQUIRE(err.code != MFU_OK && err.text[0]);
        mfu_import_release(&import);
        mfu_error_clear(&err);
        memset(&import.arena, 0, sizeof import.arena);
        import.n = 0;
        status = mfu_import_read(&import, path, mfu_import_formats[size % mfu_import_format_count]->name, &err);
    }
    if (status == 0) {
        check(&import);
        REQUIRE(mfu_import_apply(&import, &next, &err) == 0);
        check(&import);
        if (mfu_scenario_resolve(&next, &config, &err) < 0)
            REQUIRE(err.code != MFU_OK && err.text[0]);
    } else
        REQUIRE(err.code != MFU_OK && err.text[0]);
    mfu_import_release(&import);
    return 0;
}
