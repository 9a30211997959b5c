/*
 * sums.c - one walk over the launches, for all that is added up.
 */
#include "plan/sums.h"

#include <string.h>

#include "cost/law.h"
#include "plan/pricing.h"

static inline void add_amount(struct mfu_sums *s, const struct mfu_launch *l, double times)
{
    double flops;

    s->kernels += times * l->kernel.launches;
    if (l->recomputed)
        s->again_kernels += times * l->kernel.launches;
    else if (l->phase == MFU_FORWARD)
        s->forward_kernels += times * l->kernel.launches;
    if (!l->communicates)
        s->launches[l->phase] += times * l->kernel.launches;
    if (!mfu_kind_is_product(l->kernel.kind))
        return;
    flops = times * mfu_kernel_counted_flops(&l->kernel);
    if (l->reference)
        s->reference_flops += flops;
    else if (l->phase == MFU_FORWARD)
        s->forward_flops += flops;
    else if (l->recomputed)
        s->again_flops += flops;
    else
        s->backward_flops += flops * (l->kernel.backward ? 2 : 1);
}

static inline void add_time(struct mfu_sums *s, const struct mfu_launch *l, const struct mfu_price *price, double times)
{
    double time_s = times * price->time_s;

    if (l->stream == MFU_STREAM_COMPUTE)
        s->stream_s[l->phase] += time_s;
    if (mfu_kind_is_product(l->kernel.kind))
        s->product_s += time_s;
    if (l->communicates) {
        if (l->collective.kind == MFU_HOST_UPDATE) /* nothing hides it */
            s->rules_s[MFU_C_HOST_ADAM] += time_s;
        *(l->collective.axes == 0 ? &s->copies_s : &s->communication_s) += time_s;
        return;
    }
    s->time_s[l->phase] += time_s;
    *(price->bound == MFU_BOUND_COMPUTE || price->bound == MFU_BOUND_LATENCY ? &s->compute_s : &s->memory_s) += time_s;
    s->rules_s[mfu_law_of(&l->kernel)->rule(&l->kernel, price)] += times * (price->time_s - price->overhead_s);
}

void mfu_sums_add_amount(struct mfu_sums *s, const struct mfu_launch *l, double times)
{
    add_amount(s, l, times);
}

void mfu_sums_add_time(struct mfu_sums *s, const struct mfu_launch *l, const struct mfu_price *price, double times)
{
    add_time(s, l, price, times);
}

void mfu_sums_add(struct mfu_sums *sums, const struct mfu_sums *more, double times)
{
    double *to = (double *)sums;
    const double *from = (const double *)more;

    for (size_t i = 0; i < sizeof *sums / sizeof *to; i++)
        to[i] += times * from[i];
}

void mfu_sums_of(const struct mfu_program *g, const struct mfu_price *prices, struct mfu_sums *sums)
{
    memset(sums, 0, sizeof *sums);
    for (int k = 0; k < g->n_segments; k++) {
        const struct mfu_segment *seg = &g->segments[k];
        double times = mfu_segment_times(g, seg);

        for (int i = seg->first; i < seg->first + seg->count; i++) {
            add_amount(sums, &g->launches[i], times);
            add_time(sums, &g->launches[i], &prices[i], times);
        }
    }
}
