/*
 * step.c - the time of a step.
 */
#include "report/json/json.h"
#include "report/report.h"

json_t *mfu_json_step_body(const struct mfu_plan *p)
{
    const struct mfu_step_answer *s = &p->step;
    json_t *o = json_object();

    mfu_json_put_number(&o, "step_time_s", s->time_s);
    mfu_json_put_number(&o, "step_time_low_s", s->low_s);
    mfu_json_put_number(&o, "step_time_high_s", s->high_s);
    mfu_json_put_number(&o, "forward_s", s->forward_s);
    mfu_json_put_number(&o, "backward_s", s->backward_s);
    mfu_json_put_number(&o, "optimizer_s", s->optimizer_s);
    mfu_json_put_number(&o, "communication_exposed_s", s->communication_exposed_s);
    mfu_json_put_number(&o, "idle_s", s->idle_s);
    mfu_json_put_number(&o, "tokens_per_step", s->tokens);
    mfu_json_put_number(&o, "tokens_per_s", s->tokens_per_s);
    mfu_json_put_number(&o, "samples_per_s", s->samples_per_s);
    mfu_json_put_number(&o, "kernels_per_step", s->kernels);
    mfu_json_put_number(&o, "dispatch_s", s->host_s);
    return o;
}

json_t *mfu_json_step(const struct mfu_plan *p)
{
    return mfu_json_command("step", mfu_json_step_body(p));
}
