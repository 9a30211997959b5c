/*
 * observing.h - observe a log or figures on a GPU, and look at what comes out.
 */
#ifndef MFU_OBSERVING_H
#define MFU_OBSERVING_H

#include "catalog.h"

#include <stdio.h>
#include <string.h>

#include "answer/observe/observe.h"
#include "base/error.h"
#include "scratch.h"

#define LOGS MFUPLAN_SOURCE_DIR "/tests/data/logs/"

static inline struct mfu_scenario on(const char *gpu)
{
    return mfu_scenario_start(mfu_catalog_model(catalog, "gpt2", NULL), mfu_catalog_gpu(catalog, gpu, NULL));
}

/* The latest answers: each is there until the eighth behind it, or the last test. */
static struct mfu_observation *latest[8];

static inline int close_observing(void **state)
{
    for (size_t i = 0; i < LENGTH(latest); i++)
        mfu_observation_free(latest[i]);
    return close_catalog(state);
}

static inline struct mfu_observation *observe_on(const char *gpu, const char *log, const char *config,
                                                 const char *figures)
{
    static size_t n;
    struct mfu_observe_request request = {log, config, figures, NULL};
    struct mfu_observation **o = &latest[n++ % LENGTH(latest)];
    struct mfu_scenario s = on(gpu);
    struct mfu_error err = {0};

    mfu_observation_free(*o);
    if (!(*o = mfu_observe(catalog, &s, &request, &err)))
        fail_msg("%s", err.text);
    return *o;
}

static inline struct mfu_observation *observe(const char *log, const char *figures)
{
    return observe_on("rtx4070", log, NULL, figures);
}

static inline void refused(const char *log, const char *figures, const char *because)
{
    struct mfu_observe_request request = {.log = log, .figures = figures};
    struct mfu_scenario s = on("rtx4070");
    struct mfu_error err = {0};

    assert_null(mfu_observe(catalog, &s, &request, &err));
    assert_int_not_equal(err.code, MFU_OK);
    if (!strstr(err.text, because))
        fail_msg("'%s' does not say '%s'", err.text, because);
}

static inline const struct mfu_finding *found(const struct mfu_observation *o, const char *code)
{
    for (int i = 0; i < o->n_findings; i++)
        if (strcmp(o->findings[i].code, code) == 0)
            return &o->findings[i];
    return NULL;
}

static inline size_t dropped(const struct mfu_observation *o, const char *reason)
{
    for (int i = 0; i < o->n_dropped; i++)
        if (strcmp(o->dropped[i].reason, reason) == 0)
            return o->dropped[i].count;
    return 0;
}

static inline double understood(const struct mfu_observation *o, const char *key)
{
    for (int i = 0; i < o->n_understood; i++)
        if (strcmp(o->understood[i].key, key) == 0)
            return o->understood[i].value;
    return NAN;
}

static inline bool noted(const struct mfu_observation *o, const char *words)
{
    for (int i = 0; i < o->n_notes; i++)
        if (strstr(o->notes[i], words))
            return true;
    return false;
}

/* A log that a test writes line by line. */
struct lines {
    char text[32768];
    size_t used;
};

__attribute__((format(printf, 2, 3))) static inline void line(struct lines *l, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    l->used += (size_t)vsnprintf(l->text + l->used, sizeof l->text - l->used, format, args);
    va_end(args);
    assert_true(l->used + 1 < sizeof l->text);
    l->text[l->used++] = '\n';
    l->text[l->used] = '\0';
}

static inline struct mfu_observation *observe_lines(const char *gpu, const struct lines *l, const char *figures)
{
    SCRATCH s = scratch_new();
    struct mfu_observation *o;

    o = observe_on(gpu, scratch_file(&s, "run.log", l->text), NULL, figures);
    return o;
}

static inline void refused_lines(const struct lines *l, const char *because)
{
    SCRATCH s = scratch_new();

    refused(scratch_file(&s, "run.log", l->text), NULL, because);
}

#endif
