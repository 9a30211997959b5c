/*
 * catalog.h - the project's own models and GPUs, opened once for a group of
 * tests: cmocka_run_group_tests(tests, open_catalog, close_catalog).
 */
#ifndef MFU_TEST_CATALOG_H
#define MFU_TEST_CATALOG_H

#include "near.h"

#include "descriptor/catalog.h"

static struct mfu_catalog *catalog;

static inline int open_catalog(void **state)
{
    (void)state;
    catalog = mfu_catalog_open(MFUPLAN_SOURCE_DIR, NULL, NULL);
    return catalog ? 0 : -1;
}

static inline int close_catalog(void **state)
{
    (void)state;
    mfu_catalog_free(catalog);
    return 0;
}

#endif
