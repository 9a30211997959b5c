/*
 * plan.c - the whole answer on top of the page.
 */
#include <math.h>
#include <string.h>

#include "report/html/html.h"
#include "plan/conventions.h"
#include "report/html/section.h"
#include "scenario/setting.h"

static void verdict(FILE *out, const struct mfu_plan *p)
{
    const struct mfu_memory_answer *m = &p->memory;

    if (isnan(mfu_plan_fits(p)))
        mfu_html_say(out, "whether it fits is unknown: %s is not modelled", mfu_plan_unpredicted(p));
    else if (!m->fits && !m->fragmented)
        mfu_html_say(out, "does not fit: %s too much", MFU_Q(m->missing_bytes, MFU_BYTES));
    else if (!m->fits)
        mfu_html_say(out, "does not fit: fragmented");
    else if (m->fill > 1 || m->returned_bytes > 0)
        mfu_html_say(out, "fits only when cached memory is given back");
    else
        mfu_html_say(out, m->fill > 0.95 ? "fits, just" : "fits");
}

static void tiles(FILE *out, const struct mfu_plan *p)
{
    const struct mfu_memory_answer *m = &p->memory;
    const struct mfu_step_answer *s = &p->step;
    const char *samples = mfu_model_samples(p->config.model);

    fprintf(out, "<div class=\"tiles\">\n<div class=\"tile\"><span>memory</span><b class=\"%s\">",
            !m->fits             ? "alarm"
                : m->fill > 0.95 ? "warn"
                                 : "good");
    mfu_markup_figure(out, "memory.fill", m->fill, MFU_RATIO);
    fputs("</b><span>", out);
    verdict(out, p);
    fputs("</span></div>\n<div class=\"tile\"><span>a step</span><b>", out);
    mfu_markup_figure(out, "step.step_time_s", s->time_s, MFU_SECONDS);
    fputs("</b><span>", out);
    if (isfinite(s->low_s)) {
        fputs("90 %: ", out);
        mfu_markup_figure(out, "step.step_time_low_s", s->low_s, MFU_SECONDS);
        fputs(" to ", out);
        mfu_markup_figure(out, "step.step_time_high_s", s->high_s, MFU_SECONDS);
    }
    fputs("</span></div>\n<div class=\"tile\"><span>MFU</span><b>", out);
    mfu_markup_figure(out, "mfu.mfu", p->mfu.mfu, MFU_RATIO);
    fputs("</b><span>", out);
    mfu_html_say(out, "of %s, %s, dense", MFU_Q(p->mfu.peak_flops, MFU_FLOP_PER_S), mfu_peak_names[p->mfu.peak]);
    fputs("</span></div>\n<div class=\"tile\"><span>bound by</span><b>", out);
    mfu_html_say(out, "%s", mfu_limit_names[p->limit]);
    fputs("</b><span>", out);
    if (samples)
        mfu_markup_figure(out, "step.samples_per_s", s->samples_per_s, MFU_COUNT);
    else
        mfu_markup_figure(out, "step.tokens_per_s", s->tokens_per_s, MFU_COUNT);
    fprintf(out, " %s/s</span></div>\n</div>\n", samples ? samples : "tokens");
}

static void notes(FILE *out, const struct mfu_plan *p)
{
    const struct mfu_scenario *s = &p->scenario;
    const struct {
        bool said;
        const char *text;
    } all[] = {
        {!s->gpu_given, "No GPU was chosen: this is the default."},
        {!s->model_given, "No model was chosen: this is the default."},
        {p->memory.capacity_assumed, "What the card offers to a process is estimated: no report of it is known."},
        {!p->memory.fits, "Times are those of a card that it would fit on."},
    };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i].said)
            fprintf(out, "<p class=\"warn\">%s</p>\n", all[i].text);
}

static void row(FILE *out, const char *name, const char *key, double value, enum mfu_dim dim, const char *more)
{
    fprintf(out, "<tr><th scope=\"row\">%s</th><td class=\"n\">", name);
    mfu_markup_figure(out, key, value, dim);
    fputs("</td><td>", out);
    mfu_markup_text(out, more);
    fputs("</td></tr>\n", out);
}

static void model(FILE *out, const struct mfu_plan *p)
{
    const struct mfu_config *c = &p->config;
    const char *samples = mfu_model_samples(c->model), *many = samples ? samples : "sequences";
    bool attends = mfu_model_has_attention(c->model);
    char text[256], of[64] = "";

    if (!samples)
        snprintf(of, sizeof of, " of %s tokens", MFU_Q(c->seq, MFU_COUNT));
    snprintf(text, sizeof text, "%s %.*s%s, %s micro-step%s%s", MFU_Q(c->batch, MFU_COUNT),
             (int)strlen(many) - (c->batch == 1), many, of, MFU_Q(c->accum, MFU_COUNT), c->accum == 1 ? "" : "s",
             c->ranks > 1 ? ", on every GPU" : "");
    if (c->ranks > 1)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "; dp %.0f, zero %.0f, tp %.0f, cp %.0f, ep %.0f, etp %.0f, pp %.0f", c->setting[MFU_S_DP],
                 c->setting[MFU_S_ZERO], c->setting[MFU_S_TP], c->setting[MFU_S_CP], c->setting[MFU_S_EP],
                 c->setting[MFU_S_ETP], c->setting[MFU_S_PP]);
    if (samples) {
        snprintf(of, sizeof of, "%s per second", samples);
        row(out, of, "step.samples_per_s", p->step.samples_per_s, MFU_COUNT, text);
    } else
        row(out, "tokens per step", "step.tokens_per_step", p->step.tokens, MFU_COUNT, text);
    snprintf(text, sizeof text, "%s, %s%s%s%s, %s, checkpoint %s", mfu_precision_names[c->precision],
             mfu_runtime_names[c->runtime], attends ? ", " : "", attends ? mfu_attention_names[c->attention] : "",
             attends ? " attention" : "", mfu_optimizer_names[c->optimizer], mfu_checkpoint_names[c->checkpoint]);
    if (c->setting[MFU_S_CHECKPOINT_LAYERS] > 0)
        snprintf(text + strlen(text), sizeof text - strlen(text), " of %.0f layers",
                 c->setting[MFU_S_CHECKPOINT_LAYERS]);
    row(out, "parameters", "params.total", p->program.params, MFU_PARAMS, text);
}

static void phases(FILE *out, const struct mfu_plan *p)
{
    const struct mfu_step_answer *s = &p->step;
    const struct {
        const char *name, *key;
        double s;
    } parts[] = {{"forward", "step.forward_s", s->forward_s},
                 {"backward", "step.backward_s", s->backward_s},
                 {"optimizer", "step.optimizer_s", s->optimizer_s},
                 {"communication", "step.communication_exposed_s", s->communication_exposed_s},
                 {"paging", "step.paging_s", p->paging_s},
                 {"idle", "step.idle_s", s->idle_s}};

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (parts[i].s / s->time_s >= 0.0005) {
            char text[64];

            snprintf(text, sizeof text, "%s of the step", MFU_P(parts[i].s / s->time_s));
            row(out, parts[i].name, parts[i].key, parts[i].s, MFU_SECONDS, text);
        }
}

static void nanogpt(FILE *out, const struct mfu_plan *p)
{
    struct mfu_convention all[MFU_CONVENTIONS_MAX];
    size_t n = mfu_conventions(p, all);

    for (size_t i = 0; i < n; i++)
        if (all[i].printed) {
            char key[64], text[128];

            snprintf(key, sizeof key, "mfu.conventions.%zu.mfu", i);
            snprintf(text, sizeof text, "of %s, an A100's, whatever card runs it",
                     MFU_Q(all[i].peak_flops, MFU_FLOP_PER_S));
            row(out, "MFU as nanoGPT prints it", key, all[i].mfu, MFU_RATIO, text);
        }
}

int mfu_html_plan(FILE *out, const struct mfu_html_report *page, struct mfu_error *err)
{
    const struct mfu_plan *p = page->plan;

    (void)err;
    tiles(out, p);
    notes(out, p);
    fputs("<table>\n", out);
    model(out, p);
    phases(out, p);
    nanogpt(out, p);
    fputs("</table>\n", out);
    return 0;
}
