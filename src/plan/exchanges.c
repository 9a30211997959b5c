/*
 * exchanges.c - what the GPUs of a plan send each other in a step, by who talks to whom.
 */
#include "plan/exchanges.h"

#include <math.h>
#include <string.h>

#include "cost/collective.h"
#include "graph/layout.h"

struct books {
    const struct mfu_plan *p;
    struct mfu_exchange *list;
    double beside_s[MFU_MOST_EXCHANGES]; /* of its time: on a stream of its own */
    int n;
};

static int row_of(struct books *b, unsigned axes, const struct mfu_group *g)
{
    const struct mfu_topology *t = &b->p->machine.topology;
    const char *name = mfu_group_name(axes);
    struct mfu_road road = mfu_road_of(t, g);
    int i = 0;

    while (i < b->n && strcmp(b->list[i].group, name) != 0)
        i++;
    if (i == b->n && b->n < MFU_MOST_EXCHANGES)
        b->list[b->n++] = (struct mfu_exchange){.group = name,
                                                .level = axes == MFU_AXES_HOST ? t->coherent ? "NVLink-C2C" : "PCIe"
                                                    : axes == MFU_AXES_DRIVE   ? "NVMe"
                                                    : road.level > 1           ? "uplinks"
                                                                               : mfu_road_name(t, &road),
                                                .off_gpu = axes >= MFU_AXES_HOST,
                                                .ranks = g->ranks,
                                                .nodes = g->units};
    return i < b->n ? i : b->n - 1;
}

/* `beside` compute: only what nothing hides is in the step's way, as it is of `seconds` that kernels in the same stream
 * leave of a collective. */
static void enter(struct books *b, unsigned axes, const struct mfu_collective *c, double calls, double seconds,
                  bool beside)
{
    struct mfu_group g = mfu_mesh_group(&b->p->program.mesh, axes, b->p->machine.topology.unit_gpus);
    struct mfu_traffic sent = mfu_collective_traffic(&b->p->machine, &g, c->kind, c->bytes);
    int i = row_of(b, axes, &g);
    struct mfu_exchange *x = &b->list[i];

    x->calls += calls;
    x->time_s += fmax(seconds, calls * mfu_collective_s(&b->p->machine, &g, c->kind, c->bytes));
    x->exposed_s += beside ? 0 : seconds;
    b->beside_s[i] += beside ? seconds : 0;
    x->fabric_bytes += calls * sent.fabric_bytes;
    x->nic_bytes += calls * sent.nic_bytes;
    x->drive_bytes += axes == MFU_AXES_DRIVE ? calls * c->bytes : 0;
}

/* Each chunk of a rank sends its output on and its gradient back; at the ends of the model
 * there is nobody. */
static void enter_messages(struct books *b)
{
    const struct mfu_plan *p = b->p;
    const struct mfu_pipeline_layout *l = &p->config.pipeline;
    const struct mfu_stage *s = &p->stages[p->shown_stage];
    double sends = 0;

    for (int chunk = 0; chunk < mfu_pipeline_chunks(l); chunk++) {
        int stage = mfu_pipeline_stage(l, p->shown_stage, chunk);

        sends += mfu_pipeline_sends(l, p->shown_stage, stage, 1) + mfu_pipeline_sends(l, p->shown_stage, stage, -1);
    }
    sends *= mfu_pipeline_passes(l);
    enter(b, MFU_AXIS_BIT(MFU_AXIS_PP), &(struct mfu_collective){.kind = MFU_SEND, .bytes = s->send_bytes}, sends,
          sends * s->send_s, true);
    for (int i = 0; i < b->n; i++)
        if (strcmp(b->list[i].group, mfu_group_name(MFU_AXIS_BIT(MFU_AXIS_PP))) == 0) {
            b->beside_s[i] = 0;
            b->list[i].exposed_s = s->waits_s;
        }
}

static void sort(struct mfu_exchange *list, int n)
{
    for (int i = 1; i < n; i++) {
        struct mfu_exchange x = list[i];
        int k = i;

        for (; k > 0 && list[k - 1].exposed_s < x.exposed_s; k--)
            list[k] = list[k - 1];
        list[k] = x;
    }
}

int mfu_exchanges(const struct mfu_plan *p, struct mfu_exchange *list)
{
    const struct mfu_program *g = &p->program;
    struct books b = {.p = p, .list = list};
    double known_s = 0, beside_s = 0, rest_s;

    for (int k = 0; k < g->n_segments; k++)
        for (int i = g->segments[k].first; i < g->segments[k].first + g->segments[k].count; i++) {
            const struct mfu_launch *l = &g->launches[i];
            double times = mfu_plan_times(p, &g->segments[k]);

            if (l->communicates && l->work->collective.axes == 0) /* a copy that is made for one */
                known_s += times * p->pricing.prices[i].time_s;
            else if (l->work->collective.axes != 0 && p->pricing.prices[i].time_s > 0)
                enter(&b, l->work->collective.axes, &l->work->collective, times * l->work->kernel.launches,
                      times * p->pricing.prices[i].time_s, l->stream != MFU_STREAM_COMPUTE);
        }
    if (p->n_stages > 0)
        enter_messages(&b);
    for (int i = 0; i < b.n; i++) {
        known_s += list[i].exposed_s;
        beside_s += b.beside_s[i];
    }
    rest_s = fmax(p->step.communication_exposed_s - known_s, 0);
    for (int i = 0; i < b.n && beside_s > 0; i++)
        list[i].exposed_s += rest_s * b.beside_s[i] / beside_s;
    sort(list, b.n);
    return b.n;
}
