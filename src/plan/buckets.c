/*
 * buckets.c - reads or makes the sizes, plans each, and adds them up by how often they come.
 */
#include "plan/buckets.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "scenario/setting.h"

#define AT(field) offsetof(struct mfu_buckets_options, field)
// clang-format off
const struct mfu_command_option mfu_buckets_option_rows[] = {
    {"images", MFU_COUNT, 1, 1e12,  NAN, AT(images), "of an epoch: how long that takes, and what its last batches lack", NULL},
    {"step",   MFU_COUNT, 1, 65536, 64,  AT(step),   "pixels, of which edges are multiples where sizes are made", NULL},
};
// clang-format on
const size_t mfu_buckets_option_count = sizeof mfu_buckets_option_rows / sizeof *mfu_buckets_option_rows;

/* ---- sizes ----------------------------------------------------------------- */

static bool add_size(struct mfu_buckets *b, double width, double height, double share)
{
    if (b->n == MFU_MOST_BUCKETS)
        return false;
    b->row[b->n++] = (struct mfu_bucket){.width = width, .height = height, .share = share};
    return true;
}

static int read_sizes(struct mfu_buckets *b, const char *text, struct mfu_error *err)
{
    for (const char *at = text;; at++) {
        double width = 0, height = 0, share = 1;
        int used = 0;

        if (sscanf(at, "%lfx%lf%n", &width, &height, &used) == 2 && at[used] == ':') {
            char *end;

            share = strtod(at + used + 1, &end);
            used = (int)(end - at);
        }
        at += used;
        if (!(width >= 1 && height >= 1 && share > 0 && share < 1e9) || (*at && *at != ','))
            return mfu_fail(err, MFU_EINPUT, "'%.60s': expected sizes and shares, such as 1024x1024:60,832x1216:40",
                            text);
        if (!add_size(b, width, height, share))
            return mfu_fail(err, MFU_EINPUT, "'%.60s': expected %d sizes at most", text, MFU_MOST_BUCKETS);
        if (!*at)
            return 0;
    }
}

/* For each shorter edge the longest other one within the area, lying and standing, as sd-scripts makes them up to the
 * square (036907ee, library/model_util.py, make_bucket_resolutions). */
static int make_sizes(struct mfu_buckets *b, double n, double area, struct mfu_error *err)
{
    double step = b->options.step, edge = floor(sqrt(area) / step) * step;

    if (!(n >= 1 && n <= MFU_MOST_BUCKETS && n == floor(n)))
        return mfu_fail(err, MFU_EINPUT, "%g: expected 1 to %d sizes", n, MFU_MOST_BUCKETS);
    for (double shorter = edge; shorter >= step && b->n < (size_t)n; shorter -= step) {
        double longer = shorter == edge ? edge : floor(area / shorter / step) * step;

        add_size(b, longer, shorter, 1);
        if (longer > shorter && b->n < (size_t)n)
            add_size(b, shorter, longer, 1);
    }
    return b->n == (size_t)n
        ? 0
        : mfu_fail(err, MFU_EINPUT, "%g: edges of %g pixels and multiples make %zu sizes of that area", n, step, b->n);
}

/* ---- each size ------------------------------------------------------------- */

static int set_number(struct mfu_scenario *s, const char *key, double value, struct mfu_error *err)
{
    char text[32];

    snprintf(text, sizeof text, "%.17g", value);
    return mfu_scenario_set(s, key, text, err);
}

static int plan_size(const struct mfu_scenario *scenario, struct mfu_bucket *x, struct mfu_plan *p,
                     struct mfu_simulation *simulation, struct mfu_error *err)
{
    struct mfu_scenario s = *scenario;

    if (set_number(&s, "height", x->height, err) < 0 || set_number(&s, "width", x->width, err) < 0
        || mfu_plan_make(p, &s, err) < 0 || mfu_simulate_plan(p, simulation, err) < 0)
        return mfu_within(err, "%.0fx%.0f", x->width, x->height);
    x->tokens = p->config.seq;
    x->step_s = p->step.time_s;
    x->low_s = p->step.low_s;
    x->high_s = p->step.high_s;
    x->memory_bytes = p->memory.smi_bytes;
    x->fits = mfu_plan_fits(p);
    return 0;
}

/* ---- all of them ----------------------------------------------------------- */

static int by_step(const void *a, const void *b)
{
    const struct mfu_bucket *const *x = a, *const *y = b;

    return ((*x)->step_s > (*y)->step_s) - ((*x)->step_s < (*y)->step_s);
}

/* The mean of a step that is as long as that of the slowest of `ranks`. */
static void add_up(struct mfu_buckets *b, double ranks)
{
    const struct mfu_bucket *sorted[MFU_MOST_BUCKETS];
    double below = 0, mean_s = 0;

    for (size_t i = 0; i < b->n; i++)
        sorted[i] = &b->row[i];
    qsort(sorted, b->n, sizeof *sorted, by_step);
    b->step_s = b->low_s = b->high_s = b->tokens = 0;
    b->fits = 1;
    for (size_t i = 0; i < b->n; i++) {
        const struct mfu_bucket *x = sorted[i];
        double upto = i + 1 < b->n ? below + x->share : 1, often = pow(upto, ranks) - pow(below, ranks);

        below = upto;
        b->step_s += often * x->step_s;
        b->low_s += often * x->low_s;
        b->high_s += often * x->high_s;
        b->tokens += x->share * x->tokens;
        mean_s += x->share * x->step_s;
        b->largest = x->memory_bytes > b->row[b->largest].memory_bytes ? (size_t)(x - b->row) : b->largest;
        b->fits = x->fits == 0 || b->fits == 0 ? 0 : b->fits * x->fits; /* NAN stays */
    }
    b->waits_s = fmax(b->step_s - mean_s, 0);
}

/* An epoch has a part of a micro-batch at the end of each size: sd-scripts trains on it (train_util.py, ceil), who drops it
 * (drop_last) loses its pictures. */
static void add_up_epoch(struct mfu_buckets *b, const struct mfu_config *c)
{
    double batches = 0, before = 0; /* of the sizes before, so that all are as many as there are */

    b->left_images = 0;
    for (size_t i = 0; i < b->n; i++) {
        double upto = before + b->options.images * b->row[i].share, images = round(upto) - round(before),
               left = fmod(images, c->batch);

        before = upto;
        batches += ceil(images / c->batch);
        b->partial_batches += left > 0;
        b->left_images += left;
    }
    b->epoch_s = ceil(batches / c->setting[MFU_S_DP] / c->accum) * b->step_s;
}

int mfu_buckets_plan(const struct mfu_scenario *s, const char *text, const struct mfu_buckets_options *options,
                     struct mfu_plan *p, struct mfu_simulation *simulation, struct mfu_buckets *b,
                     struct mfu_error *err)
{
    double count, images = 0, sum = 0;
    struct mfu_config c;
    char *end;

    *b = (struct mfu_buckets){.options = *options, .left_images = NAN, .epoch_s = NAN};
    if (mfu_scenario_resolve(s, &c, err) < 0)
        return -1;
    if (!(mfu_config_dim(&c, "height") > 0 && mfu_config_dim(&c, "width") > 0))
        return mfu_fail(err, MFU_EINPUT, "%s has no height and width (flux-dev, sd3-medium and wan-2.1-1.3b do)",
                        s->model->slug);
    count = strtod(text, &end);
    if ((*end ? read_sizes(b, text, err)
              : make_sizes(b, count, mfu_config_dim(&c, "height") * mfu_config_dim(&c, "width"), err))
        < 0)
        return -1;
    for (size_t i = 0; i < b->n; i++)
        sum += b->row[i].share;
    for (size_t i = 0; i < b->n; i++) {
        b->row[i].share /= sum;
        if (plan_size(s, &b->row[i], p, simulation, err) < 0)
            return -1;
        images = p->step.samples_per_s * p->step.time_s;
    }
    b->capacity_bytes = p->memory.capacity_bytes;
    add_up(b, p->config.setting[MFU_S_DP]);
    b->samples_per_s = images / b->step_s;
    if (options->images > 0)
        add_up_epoch(b, &p->config);
    return 0;
}
