/*
 * why.c - the topics, and the pieces that they share.
 */
#include "answer/why/why.h"
#include "plan/iteration.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/suggest.h"
#include "base/translation.h"

// clang-format off
const struct mfu_why_topic mfu_why_topics[] = {
    {"mfu", "", "from 100 % of the peak down to the MFU", mfu_why_mfu},
    {"slow", "step time speed", "what the step waits for, in seconds", mfu_why_slow},
    {"vram", "memory oom fit fits", "what fills the card, and what grows with the batch", mfu_why_vram},
    {"utilisation", "utilization gpu busy", "why 100 % busy is not 100 % used", mfu_why_utilisation},
    {"batch", "batch_size micro_batch", "what a larger micro-batch brings, and where that stops", mfu_why_batch},
};
// clang-format on
const size_t mfu_why_topic_count = sizeof mfu_why_topics / sizeof mfu_why_topics[0];

void mfu_why_say(struct mfu_why *w, const char *format, ...)
{
    va_list arguments;

    if (w->n_lines == MFU_WHY_LINES)
        return;
    va_start(arguments, format);
    vsnprintf(w->lines[w->n_lines++], MFU_WHY_LINE, mfu_translate(format), arguments);
    va_end(arguments);
}

void mfu_why_add(struct mfu_why *w, const char *name, double fraction, double amount, bool leaf, const char *says,
                 const char *command)
{
    struct mfu_why_part *p = &w->parts[w->n_parts];

    if (w->n_parts == MFU_WHY_PARTS)
        return;
    *p = (struct mfu_why_part){.fraction = fraction, .amount = amount, .leaf = leaf};
    snprintf(p->name, sizeof p->name, "%s", name);
    snprintf(p->says, sizeof p->says, "%s", says);
    snprintf(p->command, sizeof p->command, "%s", command);
    w->n_parts++;
}

/* ---- finding the topic --------------------------------------------------- */

static const struct mfu_why_topic *find(const char *name)
{
    for (size_t i = 0; i < mfu_why_topic_count; i++)
        if (mfu_same_name(mfu_why_topics[i].name, name) || mfu_is_among(mfu_why_topics[i].aliases, name))
            return &mfu_why_topics[i];
    return NULL;
}

int mfu_why_make(const struct mfu_scenario *scenario, const char *topic, struct mfu_plan *p, struct mfu_simulation *sim,
                 struct mfu_why *w, struct mfu_error *err)
{
    const struct mfu_why_topic *row = find(topic ? topic : "mfu");
    char loop[320];

    *w = (struct mfu_why){.total = 1, .ceiling = NAN, .dim = MFU_SECONDS};
    snprintf(w->topic, sizeof w->topic, "%s", row ? row->name : topic);
    if (mfu_plan_make(p, scenario, err) < 0 || mfu_simulate(p, false, sim, err) < 0)
        return -1;
    if ((row ? row->make(p, sim, w, err) : mfu_why_kernel(p, sim, topic, w, err)) < 0)
        return -1;
    mfu_iteration_says(p, loop, sizeof loop);
    if (*loop && w->n_lines < MFU_WHY_LINES) /* in English */
        snprintf(w->lines[w->n_lines++], MFU_WHY_LINE, "%s", loop);
    return 0;
}
