/*
 * sums.h - what the launches of a program add up to: all that the time of a step, its
 * MFU and its interval are made of.
 */
#ifndef MFU_SUMS_H
#define MFU_SUMS_H

#include "cost/law.h"
#include "graph/program.h"

/* Doubles and nothing else: sums are added up and scaled as a whole. */
struct mfu_sums {
    double kernels;                         /* CUDA kernels, those that communicate too; */
    double launches[MFU_PHASE_COUNT];       /* those that do not, */
    double forward_kernels;                 /* of these: of the layers' forward, */
    double again_kernels;                   /* and of that, run again in backward; */
    double expert_kernels;                  /* of forward's, products of experts, a kernel each, */
    double expert_again_kernels;            /* and of these, run again */
    double time_s[MFU_PHASE_COUNT];         /* and the launches' seconds */
    double stream_s[MFU_PHASE_COUNT];       /* of a pass, in the compute stream, whatever it is */
    double compute_s, memory_s, latency_s;  /* of kernels, by what bounds them; the last: too small for either */
    double communication_s, copies_s;       /* of collectives, of copies that are made for them */
    double product_s;                       /* of what MFU counts */
    double forward_flops, backward_flops;   /* as MFU counts them, */
    double padded_forward, padded_backward; /* of these, of experts that compute all their places; */
    double same_forward, same_backward;     /* of what every tensor rank computes; */
    double again_flops;                     /* those that run again, or are of frozen models apart */
    double reference_flops;                 /* and those of a reference model; */
    double winograd_flops;                  /* of all of these, what Winograd saves */
    double rules_s[MFU_COEFFICIENT_COUNT];  /* of kernels, without overhead, by the coefficient that rules them */
};

/* Adds `times` launches: what they are; or, at this price, how long they take, and by which `rules`,
 * if anybody asks. */
static inline void mfu_sums_add_amount(struct mfu_sums *s, const struct mfu_launch *l, double times)
{
    double flops;

    s->kernels += times * l->work->kernel.launches;
    if (!l->communicates) {
        s->launches[mfu_launch_pass(l)] += times * l->work->kernel.launches;
        if (l->recomputed)
            s->again_kernels += times * l->work->kernel.launches;
        else if (l->phase == MFU_FORWARD && l->in_layer)
            s->forward_kernels += times * l->work->kernel.launches;
        if (l->work->kernel.apart && (l->recomputed || l->phase == MFU_FORWARD))
            *(l->recomputed ? &s->expert_again_kernels : &s->expert_kernels) += times * l->work->kernel.launches;
    }
    if (!mfu_kind_is_product(l->work->kernel.kind)
        || mfu_launch_pass(l) == MFU_OPTIMIZER_PHASE) /* Muon's are no model's */
        return;
    flops = times * mfu_kernel_counted_flops(&l->work->kernel);
    if (l->work->kernel.winograd)
        s->winograd_flops += flops - times * l->work->kernel.flops;
    if (l->reference)
        s->reference_flops += flops;
    else if (l->apart)
        s->again_flops += flops;
    else if (l->phase == MFU_FORWARD)
        s->forward_flops += flops;
    else if (l->recomputed)
        s->again_flops += flops;
    else
        s->backward_flops += flops * (l->work->kernel.backward ? 2 : 1);
    if (l->reference || l->apart || l->recomputed)
        return;
    if (l->same)
        *(l->phase == MFU_FORWARD ? &s->same_forward : &s->same_backward) += flops * (l->work->kernel.backward ? 2 : 1);
    if (l->padded)
        *(l->phase == MFU_FORWARD ? &s->padded_forward : &s->padded_backward) += flops;
}

static inline void mfu_sums_add_time(struct mfu_sums *s, const struct mfu_launch *l, const struct mfu_price *price,
                                     double times, bool rules)
{
    double time_s = times * price->time_s;

    if (l->stream == MFU_STREAM_COMPUTE)
        s->stream_s[mfu_launch_pass(l)] += time_s;
    if (mfu_kind_is_product(l->work->kernel.kind))
        s->product_s += time_s;
    if (l->communicates) {
        if (l->work->collective.kind == MFU_HOST_UPDATE) /* nothing hides it */
            s->rules_s[MFU_C_HOST_ADAM] += time_s;
        if (l->work->collective.axes == MFU_AXES_DRIVE && l->phase == MFU_OPTIMIZER_PHASE)
            s->rules_s[l->work->collective.kind == MFU_TO_DRIVE ? MFU_C_NVME_WRITE : MFU_C_NVME_READ] += time_s;
        *(l->work->collective.axes == 0 ? &s->copies_s : &s->communication_s) += time_s;
        return;
    }
    s->time_s[mfu_launch_pass(l)] += time_s;
    *(price->bound == MFU_BOUND_COMPUTE      ? &s->compute_s
          : price->bound == MFU_BOUND_MEMORY ? &s->memory_s
                                             : &s->latency_s) += time_s;
    if (rules)
        s->rules_s[mfu_law_of(&l->work->kernel)->rule(&l->work->kernel, price)] +=
            times * (price->time_s - price->overhead_s);
}

/* sums += times * more */
void mfu_sums_add(struct mfu_sums *, const struct mfu_sums *more, double times, bool rules);

/* Of one step of the program at these prices. */
void mfu_sums_of(const struct mfu_program *, const struct mfu_price *, struct mfu_sums *);

#endif
