/*
 * measured_mfu.c - the step time behind a stated MFU, by the stated convention.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "plan/conventions.h"
#include "read/runs/measured_run.h"

#define LEAST_SHARE 0.01 /* of the peak: below, a fraction was given for per cent (chosen) */

/* Names of conventions that other people use. */
static const struct {
    const char *theirs, *ours;
} others[] = {{"6N+12", "palm"}, {"nanotron-6N+12", "palm"}, {"llmfoundry", "palm"}};

/* "torchtitan (6*(N-embed)...)" is torchtitan, "megatron x3/4" is not megatron. */
static bool is_called(const char *text, const char *name)
{
    size_t n = strlen(name);

    if (strncasecmp(text, name, n) != 0)
        return false;
    text += n;
    while (*text == ' ')
        text++;
    return *text == '\0' || *text == '(' || *text == ',';
}

static const struct mfu_convention *find(const struct mfu_convention *all, size_t n, const char *text)
{
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strncasecmp(text, others[i].theirs, strlen(others[i].theirs)) == 0)
            text = others[i].ours;
    for (size_t i = 0; i < n; i++)
        if (is_called(text, all[i].name))
            return &all[i];
    return NULL;
}

/* Says which conventions there are. */
static double unknown(const struct mfu_convention *all, size_t n, const char *theirs, char *why, size_t size)
{
    size_t used = (size_t)snprintf(why, size,
                                   *theirs ? "mfu_convention '%.24s' is not known: expected"
                                           : "an MFU without its mfu_convention is no time: expected%.0s",
                                   theirs);

    for (size_t i = 0; i < n && used < size; i++)
        used += (size_t)snprintf(why + used, size - used, "%s %s", i ? "," : "", all[i].name);
    return NAN;
}

double mfu_step_from_mfu(const struct mfu_plan *p, const struct mfu_measured_run *run, char *why, size_t size)
{
    struct mfu_convention all[MFU_CONVENTIONS_MAX];
    const struct mfu_convention *c;
    double share = run->mfu, peak = run->mfu_peak_flops;
    const char *text = run->mfu_convention;
    size_t n;

    why[0] = '\0';
    if (isnan(share)) {
        share = run->hfu;
        text = "hfu";
    }
    if (isnan(share))
        return NAN;
    if (share < LEAST_SHARE) {
        snprintf(why, size, "an MFU of %g %%: is that a fraction, not per cent?", 100 * share);
        return NAN;
    }
    n = mfu_conventions(p, all);
    if (!(c = find(all, n, text)))
        return unknown(all, n, text, why, size);
    if (!(peak > 0)) {
        peak = c->peak_flops;
        snprintf(why, size, "mfu_peak_tflops=%.6g of %s", peak / 1e12, c->name);
    }
    return c->flops_per_token * p->step.tokens / p->config.ranks / (share * peak);
}
