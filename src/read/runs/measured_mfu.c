/*
 * measured_mfu.c - the step time behind a stated MFU, by the stated convention.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "descriptor/model.h"
#include "plan/conventions.h"
#include "read/runs/measured_run.h"
#include "scenario/setting.h"
#include "scenario/trainer.h"

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

/* That of an MFU whose convention is not stated: Megatron's by its trainers, else that which the word comes from
 * (Chowdhery et al. 2022, appendix B). */
#define MEGATRON_CAUSAL_SINCE 2025

static const char *usual(const struct mfu_plan *p)
{
    double year = p->config.setting[MFU_S_SOFTWARE];

    if (!mfu_trainers[p->config.trainer].pads_vocab)
        return "palm";
    return year > 0 && year < MEGATRON_CAUSAL_SINCE ? "megatron-2021" : "megatron";
}

/* How far from it others are that count all that trains. */
static void range_of(struct mfu_measured_run *run, const struct mfu_convention *all, size_t n,
                     const struct mfu_convention *c)
{
    static const char *const known[] = {"palm", "causal", "megatron", "megatron-2021", "torchtitan", "6n"};

    run->least_count = run->most_count = 1;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            if (strcmp(all[i].name, known[k]) == 0) {
                run->least_count = fmin(run->least_count, all[i].flops_per_token / c->flops_per_token);
                run->most_count = fmax(run->most_count, all[i].flops_per_token / c->flops_per_token);
            }
}

#define OTHER_COUNT 1.25        /* what no convention of these explains (chosen) */
#define COMPUTED_AGAIN (4. / 3) /* where a forward is counted twice, as hardware does under full checkpointing */

bool mfu_measured_counts(const struct mfu_plan *p, const struct mfu_measured_run *run, double *off)
{
    struct mfu_convention all[MFU_CONVENTIONS_MAX];
    double stated = run->rate_flops / run->rate_tokens, least = INFINITY, most = 0;
    size_t n;

    *off = NAN;
    if (!(stated > 0) || mfu_model_samples(p->config.model) || p->program.trainable_params < p->program.params
        || p->config.setting[MFU_S_DOC_LEN] > 0
        || mfu_config_dim(&p->config, "encoder_seq") > 0) /* tokens of the source, the target or both */
        return true;
    n = mfu_conventions(p, all);
    for (size_t i = 0; i < n; i++)
        if (strcmp(all[i].name, "hfu") != 0) {
            least = fmin(least, all[i].flops_per_token);
            most = fmax(most, all[i].flops_per_token);
            *off = fmin(*off, fabs(log(stated / all[i].flops_per_token)));
        }
    return stated * OTHER_COUNT >= least && stated <= OTHER_COUNT * COMPUTED_AGAIN * most;
}

/* Says which conventions there are. */
static double unknown(const struct mfu_convention *all, size_t n, const char *theirs, char *why, size_t size)
{
    size_t used = (size_t)snprintf(why, size, "mfu_convention '%.24s' is not known: expected", theirs);

    for (size_t i = 0; i < n && used < size; i++)
        used += (size_t)snprintf(why + used, size - used, "%s %s", i ? "," : "", all[i].name);
    return NAN;
}

double mfu_measured_step_s(const struct mfu_plan *p, struct mfu_measured_run *run, char *why, size_t size)
{
    struct mfu_convention all[MFU_CONVENTIONS_MAX];
    const struct mfu_convention *c;
    double share = run->mfu, peak = run->mfu_peak_flops, rate;
    const char *text = run->mfu_convention;
    size_t n;

    why[0] = '\0';
    run->least_count = run->most_count = 1;
    if (!isnan(run->step_s))
        return run->step_s;
    if (isnan(share) && isnan(run->rate_flops)) {
        share = run->hfu;
        text = "hfu";
    }
    if (isnan(share) && isnan(run->rate_flops))
        return NAN;
    if (share < LEAST_SHARE) {
        snprintf(why, size, "an MFU of %g %%: is that a fraction, not per cent?", 100 * share);
        return NAN;
    }
    n = mfu_conventions(p, all);
    if (!(c = find(all, n, *text ? text : usual(p))))
        return unknown(all, n, text, why, size);
    if (!*text) {
        snprintf(why, size, "mfu_convention=%s: not stated", c->name);
        range_of(run, all, n, c);
    }
    rate = isnan(share) ? run->rate_flops : share * peak;
    if (!isnan(share) && !(peak > 0)) {
        size_t used = strlen(why);

        rate = share * c->peak_flops;
        snprintf(why + used, size - used, "%smfu_peak_tflops=%.6g of %s", used ? "; " : "", c->peak_flops / 1e12,
                 c->name);
    }
    return c->flops_per_token * p->step.tokens / p->config.ranks / rate;
}
