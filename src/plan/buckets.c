/*
 * buckets.c - reads or makes the sizes or lengths, plans each, and adds them up by how often they come.
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

static bool add_size(struct mfu_buckets *b, struct mfu_bucket size)
{
    if (b->n == MFU_MOST_BUCKETS)
        return false;
    b->row[b->n++] = size;
    return true;
}

static int read_sizes(struct mfu_buckets *b, const char *text, bool pictures, struct mfu_error *err)
{
    for (const char *at = text;; at++) {
        struct mfu_bucket x = {.width = NAN, .height = NAN, .share = 1};
        int used = 0,
            read = pictures ? sscanf(at, "%lfx%lf%n", &x.width, &x.height, &used) - 1
                            : sscanf(at, "%lf%n", &x.tokens, &used);

        if (read == 1 && at[used] == ':') {
            char *end;

            x.share = strtod(at + used + 1, &end);
            used = (int)(end - at);
        }
        at += used;
        if (!(pictures ? x.width >= 1 && x.height >= 1 : x.tokens >= 1) || !(x.share > 0 && x.share < 1e9)
            || (*at && *at != ','))
            return mfu_fail(err, MFU_EINPUT, "'%.60s': expected %s and shares, such as %s", text,
                            pictures ? "sizes" : "lengths", pictures ? "1024x1024:60,832x1216:40" : "512:60,1024:40");
        if (!add_size(b, x))
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

    for (double shorter = edge; shorter >= step && b->n < (size_t)n; shorter -= step) {
        double longer = shorter == edge ? edge : floor(area / shorter / step) * step;

        add_size(b, (struct mfu_bucket){.width = longer, .height = shorter, .share = 1});
        if (longer > shorter && b->n < (size_t)n)
            add_size(b, (struct mfu_bucket){.width = shorter, .height = longer, .share = 1});
    }
    return b->n == (size_t)n
        ? 0
        : mfu_fail(err, MFU_EINPUT, "%g: edges of %g pixels and multiples make %zu sizes of that area", n, step, b->n);
}

/* Lengths of batches in the middle of as many parts of their distribution. */
static int make_lengths(struct mfu_buckets *b, double n, const struct mfu_config *c, struct mfu_error *err)
{
    if (!mfu_config_pads_to_longest(c))
        return mfu_fail(err, MFU_EINPUT, "all batches are alike: set padding to longest or alike, and doc_len");
    if (!c->scenario->setting_given[MFU_S_DOC_SIGMA])
        return mfu_fail(err, MFU_EINPUT,
                        "how much lengths differ is not stated: set doc_sigma, sqrt(ln(1 + (deviation/mean)^2)), or 0");
    while (b->n < (size_t)n) {
        double share = ((double)b->n + 0.5) / n;
        double tokens = mfu_documents_quantile(&c->documents, c->seq, mfu_config_padded_together(c), share);

        add_size(b, (struct mfu_bucket){.width = NAN, .height = NAN, .share = 1, .tokens = ceil(tokens)});
    }
    return 0;
}

/* ---- each size ------------------------------------------------------------- */

static int plan_size(const struct mfu_scenario *scenario, struct mfu_bucket *x, struct mfu_plan *p,
                     struct mfu_simulation *simulation, struct mfu_error *err)
{
    struct mfu_scenario s = *scenario;

    if (isnan(x->width) ? mfu_scenario_set_number(&s, "seq", x->tokens, err) < 0
                || mfu_scenario_set_number(&s, "doc_len", 0, err) < 0
                        : mfu_scenario_set_number(&s, "height", x->height, err) < 0
                || mfu_scenario_set_number(&s, "width", x->width, err) < 0)
        return -1;
    if (mfu_plan_make(p, &s, err) < 0 || mfu_simulate_plan(p, simulation, err) < 0)
        return isnan(x->width) ? mfu_within(err, "%.0f tokens", x->tokens)
                               : mfu_within(err, "%.0fx%.0f", x->width, x->height);
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

static double both_fit(double a, double b)
{
    return a == 0 || b == 0 ? 0 : a * b; /* NAN stays */
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
        b->fits = both_fit(b->fits, x->fits);
    }
    b->waits_s = fmax(b->step_s - mean_s, 0);
    b->memory_bytes = b->row[b->largest].memory_bytes;
    b->memory_tokens = b->row[b->largest].tokens;
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
    bool pictures, counted;
    struct mfu_config c;
    char *end;

    *b = (struct mfu_buckets){.options = *options, .left_images = NAN, .epoch_s = NAN};
    if (mfu_scenario_resolve(s, &c, err) < 0)
        return -1;
    pictures = mfu_config_dim(&c, "height") > 0 && mfu_config_dim(&c, "width") > 0;
    if (!pictures && mfu_model_samples(s->model))
        return mfu_fail(err, MFU_EINPUT, "%s has no height and width (flux-dev, sd3-medium and wan-2.1-1.3b do)",
                        s->model->slug);
    count = strtod(text, &end);
    counted = *end == '\0';
    if (counted && !(count >= 1 && count <= MFU_MOST_BUCKETS && count == floor(count)))
        return mfu_fail(err, MFU_EINPUT, "%g: expected 1 to %d sizes", count, MFU_MOST_BUCKETS);
    if ((!counted       ? read_sizes(b, text, pictures, err)
             : pictures ? make_sizes(b, count, mfu_config_dim(&c, "height") * mfu_config_dim(&c, "width"), err)
                        : make_lengths(b, count, &c, err))
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
    if (counted && !pictures) {
        if (mfu_plan_make(p, s, err) < 0 || mfu_simulate_plan(p, simulation, err) < 0)
            return -1;
        b->memory_bytes = fmax(b->memory_bytes, p->memory.smi_bytes); /* lengths in turn fill the pools otherwise */
        b->memory_tokens = p->config.seq;
        b->fits = both_fit(b->fits, mfu_plan_fits(p));
    }
    b->samples_per_s = images / b->step_s;
    if (options->images > 0)
        add_up_epoch(b, &p->config);
    return 0;
}
