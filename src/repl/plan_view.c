/*
 * plan_view.c - commands that plan and show one side of the plan.
 */
#include "repl/plan_view.h"

#include "repl/output.h"

int mfu_view(struct mfu_session *s, const struct mfu_view_of *view, struct mfu_error *err)
{
    int status = 0;

    if ((view->worst ? mfu_session_simulate_worst(s, false, err) : mfu_session_plan(s, err)) < 0)
        return -1;
    if (s->json)
        return mfu_answer(s, view->record, &s->plan, err);
    if (view->text)
        view->text(s->out, &s->term, &s->plan);
    else if (view->table(s->out, &s->term, &s->plan) < 0)
        status = mfu_fail(err, MFU_ENOMEM, "out of memory");
    return status;
}
