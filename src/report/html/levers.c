/*
 * levers.c - what could be changed, and what that would gain.
 */
#include "report/html/html.h"
#include "answer/advise/advise.h"
#include "report/html/section.h"

static void row(FILE *out, const struct mfu_lever *l, int i)
{
    char key[64], speed[32];

    fputs("<tr class=\"lead\"><td>", out);
    mfu_markup_text(out, l->change);
    fputs("</td><td class=\"n\">", out);
    snprintf(key, sizeof key, "advise.levers.%d.speedup", i);
    snprintf(speed, sizeof speed, "× %.2f", l->speedup);
    mfu_markup_named(out, key, l->speedup, speed);
    fputs("</td><td class=\"n more\">", out);
    snprintf(key, sizeof key, "advise.levers.%d.step_time_s", i);
    mfu_markup_figure(out, key, l->outcome.step_s, MFU_SECONDS);
    fprintf(out, "</td><td class=\"n more\">%s</td><td class=\"n%s\">", MFU_P(l->outcome.mfu),
            l->outcome.fits ? "" : " alarm");
    mfu_markup_text(out, MFU_Q(l->outcome.memory_bytes, MFU_BYTES));
    fputs("</td></tr>\n<tr><td class=\"faint\" colspan=\"5\">", out);
    mfu_html_say(out, "%s%s%s%s%s", l->why, l->outcome.fits ? "" : "; does not fit",
                 l->keeps_tokens_per_step ? "" : "; more tokens per step",
                 l->changes_mathematics ? "; other numerics" : "", l->hardware ? "; other hardware" : "");
    fputs("</td></tr>\n", out);
}

static void together(FILE *out, const struct mfu_advice *a, const struct mfu_combination *c, const char *what)
{
    if (c->n == 0)
        return;
    fprintf(out, "<p><b>%s</b>: ", what);
    for (int i = 0; i < c->n; i++)
        mfu_html_say(out, "%s%s", i ? ", " : "", a->levers[c->levers[i]].change);
    mfu_html_say(out, ". %.2f times as fast, %s per step, MFU %s, %s of memory%s.", c->speedup,
                 MFU_Q(c->outcome.step_s, MFU_SECONDS), MFU_P(c->outcome.mfu),
                 MFU_Q(c->outcome.memory_bytes, MFU_BYTES), c->outcome.fits ? "" : ", which does not fit");
    fputs("</p>\n", out);
}

int mfu_html_levers(FILE *out, const struct mfu_html_report *page, struct mfu_error *err)
{
    const struct mfu_advice *a = page->advice;
    int shown = 0;

    (void)err;
    for (int k = 0; k < 2 * a->n_levers; k++) { /* what can be changed here, then what would have to be bought */
        int i = k % a->n_levers;

        if (a->levers[i].verdict == MFU_LEVER_USELESS || a->levers[i].aside
            || a->levers[i].hardware != (k >= a->n_levers))
            continue;
        if (shown++ == 0)
            fputs("<p>Each of these was planned and simulated; speed is per token.</p>\n<div class=\"scroll\"><table>\n"
                  "<tr><th>change</th><th class=\"n\">speed</th><th class=\"n more\">step</th><th class=\"n "
                  "more\">MFU</th>"
                  "<th class=\"n\">memory</th></tr>\n",
                  out);
        row(out, &a->levers[i], i);
    }
    fputs(shown ? "</table></div>\n"
                : "<p>No change that was tried gains anything here, or saves memory at little cost.</p>\n",
          out);
    together(out, a, &a->best, "Best together");
    together(out, a, &a->best_any, "With other numerics, too");
    return 0;
}
