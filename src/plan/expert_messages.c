/*
 * expert_messages.c - what experts on other ranks cost a pass beside their own work.
 *
 * The plan is that of a rank with an even share of the tokens.  Another has more in each layer: its messages are longer,
 * and all wait for it.  Passes of two microbatches that are merged hide messages, not that wait.
 */
#include "plan/expert_messages.h"

#include "base/extreme.h"

static bool reaches_experts(const struct mfu_launch *l)
{
    return l->work->collective.kind == MFU_ALL_TO_ALL && l->work->collective.axes == MFU_AXIS_BIT(MFU_AXIS_EP)
        && l->stream == MFU_STREAM_COMPUTE;
}

static struct mfu_price *price_of(struct mfu_launch_prices p, int i)
{
    return p.list + (p.which ? p.which[i] : i);
}

static void takes(struct mfu_price *exchange, double seconds)
{
    exchange->time_s = exchange->memory_s = seconds;
}

/* The rank whose experts have the most tokens receives and sends most. */
static void lengthen_exchanges(const struct mfu_program *g, double load, struct mfu_launch_prices p)
{
    for (int k = 0; k < g->n_segments && load > 1; k++)
        for (int i = g->segments[k].first; i < g->segments[k].first + g->segments[k].count; i++)
            if (reaches_experts(mfu_launch_in(g, &g->segments[k], i)))
                takes(price_of(p, i), load * price_of(p, i)->time_s);
}

/* The others wait for it in each layer, behind their own experts: that hides nothing, since it computes meanwhile. */
static void wait_for_fullest(const struct mfu_program *g, double load, struct mfu_launch_prices p)
{
    for (int k = 0; k < g->n_segments && load > 1; k++) {
        const struct mfu_segment *seg = &g->segments[k];
        double here_s = 0;
        bool here = false;

        for (int i = seg->first; i < seg->first + seg->count; i++) {
            const struct mfu_launch *l = mfu_launch_in(g, seg, i);

            if (reaches_experts(l)) {
                takes(price_of(p, i), price_of(p, i)->time_s + (load - 1) * here_s);
                here = !here;
                here_s = 0;
            } else if (here && l->routed && l->stream == MFU_STREAM_COMPUTE) {
                here_s += price_of(p, i)->time_s;
            }
        }
    }
}

/* Seconds of a layer's pass: in front of its exchanges with experts elsewhere, between them, behind; the exchanges. */
struct around {
    double s[5];
};
enum { FRONT, FIRST, AT_EXPERTS, LAST, BEHIND };

/* False: it has no two exchanges. */
static bool read_around(const struct mfu_program *g, const struct mfu_segment *seg, struct mfu_launch_prices p,
                        struct around *a)
{
    int at = FRONT;

    *a = (struct around){{0}};
    for (int i = seg->first; i < seg->first + seg->count && at <= BEHIND; i++) {
        const struct mfu_launch *l = mfu_launch_in(g, seg, i);

        if (reaches_experts(l)) {
            a->s[at < BEHIND ? at + 1 : BEHIND] += price_of(p, i)->time_s;
            at += 2;
        } else if (l->stream == MFU_STREAM_COMPUTE && !l->communicates) {
            a->s[at] += price_of(p, i)->time_s;
        }
    }
    return at == BEHIND;
}

/* Of two exchanges beside the same kernels, what remains in the way: all that takes longer, of forwards that are not merged
 * all of it, and what each slows the other down. */
static double remains(const struct mfu_machine *m, double exchange_s, double compute_s, double merged)
{
    double hidden_s = merged * mfu_least(exchange_s, compute_s);

    return exchange_s > 0 ? 1 - (1 - m->c[MFU_C_LINK_CONTENTION]) * hidden_s / exchange_s : 1;
}

/* The exchanges of a layer's pass become so much shorter. */
static void shorten(const struct mfu_program *g, const struct mfu_segment *seg, double first, double last,
                    struct mfu_launch_prices p)
{
    bool seen = false;

    for (int i = seg->first; i < seg->first + seg->count; i++)
        if (reaches_experts(mfu_launch_in(g, seg, i))) {
            takes(price_of(p, i), price_of(p, i)->time_s * (seen ? last : first));
            seen = true;
        }
}

/* A forward is merged with the backward of another microbatch, layer by layer: results return to their tokens beside the
 * backward of attention, their gradients leave beside its forward, and tokens and their gradients travel beside the
 * experts of both.  Source: Megatron-LM d98e8a64, core/models/common/model_chunk_schedule_plan.py
 * (TransformerLayerSchedulePlan.run); DeepSeek-V3's report, figure 4, has the same. */
static void hide_exchanges(const struct mfu_machine *m, const struct mfu_program *g, double merged,
                           struct mfu_launch_prices p)
{
    int b = -1; /* the first layer's forward beside the last one's backward, which comes first */

    for (int f = 0; f < g->n_segments && merged > 0; f++) {
        struct around forward, backward;
        double at_experts_s;

        if (g->segments[f].phase != MFU_FORWARD || !read_around(g, &g->segments[f], p, &forward))
            continue;
        do
            b++;
        while (b < g->n_segments
               && (g->segments[b].phase != MFU_BACKWARD || !read_around(g, &g->segments[b], p, &backward)));
        if (b == g->n_segments)
            return;
        at_experts_s =
            remains(m, forward.s[FIRST] + backward.s[LAST], forward.s[AT_EXPERTS] + backward.s[AT_EXPERTS], merged);
        shorten(g, &g->segments[f], at_experts_s, remains(m, forward.s[LAST], backward.s[BEHIND], merged), p);
        shorten(g, &g->segments[b], remains(m, backward.s[FIRST], forward.s[FRONT], merged), at_experts_s, p);
    }
}

void mfu_price_expert_messages(const struct mfu_machine *m, const struct mfu_program *g,
                               const struct mfu_expert_waits *experts, struct mfu_launch_prices p)
{
    lengthen_exchanges(g, experts->load, p);
    hide_exchanges(m, g, experts->merged, p);
    wait_for_fullest(g, experts->load, p);
}
