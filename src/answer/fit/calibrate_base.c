/*
 * calibrate_base.c - samples of kernels and whole runs of one GPU, one after the
 * other.
 *
 * Each kind measures what the other hardly does, so the second starts from the
 * first.  A calibration records its base, so that new measurements of the same
 * kind start from there again and nothing counts twice.  What was measured beside
 * another processor is of another machine: nothing starts from it.
 */
#include "answer/fit/calibrated.h"
#include "answer/fit/calibrate_base.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "descriptor/catalog.h"
#include "descriptor/gpu.h"

enum { PROBE = 1, RUNS = 2 };

static int kinds_of(const char *from)
{
    return (strstr(from, "probe") ? PROBE : 0) | (strstr(from, "runs") ? RUNS : 0);
}

static int kinds_here(const struct mfu_calibrated *c)
{
    return (c->n_samples > 0 ? PROBE : 0) | (c->n_runs > 0 ? RUNS : 0);
}

static const char *name_of(int kinds)
{
    return kinds == (PROBE | RUNS) ? "probe, runs" : kinds == PROBE ? "probe" : "runs";
}

static void start_from(struct mfu_calibrated *c, const struct mfu_calibration_base *base,
                       struct mfu_coefficients *prior)
{
    c->file.base = *base;
    mfu_calibration_put_over(&base->coefficients, prior);
}

/* What measurements of the other kind do not state is as it was. */
static void keep_machine(struct mfu_calibration *to, const struct mfu_calibration *from)
{
    memcpy(to->software, from->software, sizeof to->software);
#define KEEP(name)                                                                                                     \
    if (!to->key.name[0])                                                                                              \
    memcpy(to->key.name, from->key.name, sizeof to->key.name)
    KEEP(host);
    KEEP(cpu);
    KEEP(driver);
    KEEP(device);
#undef KEEP
}

#define HOST_MOST 20 /* characters of its name in that of a file */

/* "rtx4070.node07.580.1.1f0a", of what is known; each is cut to a length that files may have.  Of a longer host the
 * end is a number that tells it from others that begin alike. */
static void name_file(struct mfu_calibration *file, const char *slug)
{
    char host[sizeof file->key.host];

    snprintf(host, sizeof host, "%s", file->key.host);
    if (strlen(host) > HOST_MOST)
        snprintf(host + HOST_MOST - 9, sizeof host - (HOST_MOST - 9), "-%08x", mfu_hash_text(MFU_HASH, file->key.host));
    snprintf(file->name, sizeof file->name, "%.34s%s%s%s%.12s%s%.4s", slug, *host ? "." : "", host,
             *file->key.driver ? "." : "", file->key.driver, *file->key.device ? "." : "", file->key.device);
    for (char *c = file->name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("-_.", *c))
            *c = '-';
}

void mfu_calibrate_start(struct mfu_calibrated *c, struct mfu_catalog *catalog, struct mfu_coefficients *prior)
{
    const struct mfu_calibration_key *key = &c->file.key;
    struct mfu_calibration_choice choice = mfu_catalog_choice(catalog, c->gpu->slug);
    struct mfu_calibration stored;
    struct mfu_calibration_base all = {.samples = NAN};
    int here = kinds_here(c), lost;
    bool another;

    name_file(&c->file, c->gpu->slug);
    if (*key->host || *key->cpu || *key->driver || *key->device) {
        choice.here = key;
        choice.named = NULL;
    }
    /* None, or a broken one, of which the catalog has warned. */
    if (!mfu_calibration_find(&choice, &stored))
        return;
    another = !choice.named && mfu_calibration_differs(&stored.key, choice.here) != 0;
    if (!another)
        memcpy(c->file.name, stored.name, sizeof c->file.name);
    else if (strcmp(stored.name, c->file.name) != 0)
        return;
    memcpy(all.date, stored.date, sizeof all.date);
    memcpy(all.from, stored.from, sizeof all.from);
    all.samples = stored.samples;
    all.coefficients = stored.coefficients;
    lost = kinds_of(stored.from);
    if (lost && !(lost & here) && !another) {
        start_from(c, &all, prior);
        keep_machine(&c->file, &stored);
        return;
    }
    if (stored.base.from[0] && !(kinds_of(stored.base.from) & here) && !another) {
        start_from(c, &stored.base, prior);
        keep_machine(&c->file, &stored);
        lost &= ~kinds_of(stored.base.from);
    }
    snprintf(c->replaces, sizeof c->replaces, "%s", lost ? name_of(lost) : "");
    memcpy(c->replaces_date, stored.date, sizeof c->replaces_date);
}

void mfu_calibrate_keep_base(struct mfu_calibrated *c)
{
    struct mfu_calibration *file = &c->file;

    snprintf(file->from, sizeof file->from, "%s", name_of(kinds_here(c) | kinds_of(file->base.from)));
    file->samples = (double)(c->n_samples + c->n_runs) + (isfinite(file->base.samples) ? file->base.samples : 0);
    file->coefficients = file->base.coefficients;
}
