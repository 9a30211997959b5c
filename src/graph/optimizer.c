/*
 * optimizer.c - the optimizers, a row each: what they keep, what they move.
 *
 * Traffic counts reads and writes of parameter p, gradient g and states, each
 * in its own type; passes of multi-tensor (foreach) and per-tensor (loop)
 * implementations follow torch/optim/adamw.py operation by operation, those of
 * the early BERT repositories NVIDIA's optimization.py (temporaries count as p).
 * Sources: torch.optim, bitsandbytes (8-bit states in blocks of 256 with two
 * fp32 maxima), Shazeer 2018 (Adafactor), Chen 2023 (Lion), Jordan 2024 (Muon).
 */
#include "graph/optimizer.h"

#include <math.h>

#include "graph/builder.h"
#include "graph/builder_private.h"

/* In elements per parameter; a state of `state_bytes` is 0 for "as the
 * parameter". */
static const struct row {
    const char *name;
    double states;              /* tensors of state per parameter */
    double state_bytes;         /* of one element; 0: the parameter's own */
    double p, g, s;             /* reads + writes of each kind, in elements */
    double scratch;             /* temporary elements per parameter */
    double launches_per_tensor; /* 0: a few for all (multi-tensor) */
    double passes;              /* launches of a multi-tensor pass */
    double flops;
} rows[MFU_OPTIMIZER_COUNT] = {
    [MFU_ADAMW] = {"adamw", 2, 0, 2, 1, 4, 0, 0, 1, 15},
    /* mul p, lerp m, mul v, addcmul v, sqrt, div, add eps, addcdiv: 8 passes. */
    [MFU_ADAMW_FOREACH] = {"adamw", 2, 0, 5, 2, 9, 1, 0, 10, 15},
    [MFU_ADAMW_LOOP] = {"adamw", 2, 0, 5, 2, 9, 0, 12, 0, 15},
    /* A tensor at a time: norm, stack, norm, add, invert, scale, clamp, clip g;
     * m twice, v twice, sqrt, add eps, div; scale p, add; scale, negate, add to p. */
    [MFU_BERTADAM] = {"bertadam", 2, 0, 17, 5, 10, 2, 20, 0, 20},
    [MFU_ADAM8BIT] = {"adam8bit", 2, 1 + 4. / 256, 2, 1, 4, 0, 1, 0, 30},
    /* A row and a column per matrix: 0.002 of its elements (of 1000 x 1000). */
    [MFU_ADAFACTOR] = {"adafactor", 0.002, 4, 4, 6, 0, 1, 14, 0, 20},
    [MFU_LION] = {"lion", 1, 0, 2, 1, 2, 0, 6, 0, 8},
    [MFU_SGD] = {"sgd", 0, 0, 2, 1, 0, 0, 0, 1, 2},
    [MFU_SGD_MOMENTUM] = {"sgd", 1, 0, 2, 1, 2, 0, 0, 2, 4},
    [MFU_MUON] = {"muon", 1, 0, 2, 1, 2, 0, 1, 0, 4},
};

/* Bytes of the parameters that the optimizer updates: the masters. */
static double master_bytes(const struct mfu_builder *s)
{
    return s->config->precision == MFU_BF16_PURE ? 2 : 4;
}

double mfu_optimizer_state_bytes(const struct mfu_config *c, const struct mfu_program *p)
{
    const struct row *r = &rows[c->optimizer];
    double own = c->precision == MFU_BF16_PURE ? 2 : 4;
    /* Muon keeps Adam's second moment for embeddings, head and vectors. */
    double more = c->optimizer == MFU_MUON ? own * (p->params - p->non_embedding_params) : 0;

    return r->states * (r->state_bytes > 0 ? r->state_bytes : own) * p->params + more;
}

static void stream(struct mfu_builder *s, const char *name, double flops, double read, double write, double launches,
                   double temporary_bytes)
{
    double n = s->program->params * mfu_config_share(s->config, 1); /* its shard */
    struct mfu_kernel k =
        mfu_kernel_stream(MFU_OPTIMIZER_STEP, MFU_C_DRAM_OPTIMIZER, 1, n, flops * n, read * n, write * n);

    k.launches = launches;
    k.cold = true;
    mfu_emit_kernel(s, &k, name, temporary_bytes, 0, 0, 0, 0);
}

/* Five Newton-Schulz steps on every hidden matrix: three products each, of
 * about width^3 (min m^2 n): 5 (4 m^2 n + 2 m^3) FLOP.  The matrices of a layer
 * stand in a segment that is repeated as the layer is: thread blocks of different
 * layers never run together. */
static void newton_schulz(struct mfu_builder *s)
{
    const struct mfu_program *p = s->program;
    int n_segments = p->n_segments;

    mfu_segment_close(s);
    for (int i = 0; i < n_segments && !s->failed; i++) {
        const struct mfu_segment seg = p->segments[i];

        if (seg.phase != MFU_BACKWARD || seg.repeat < 1)
            continue;
        mfu_segment_open(s, "", MFU_OPTIMIZER_PHASE, seg.repeat);
        for (int k = seg.first; k < seg.first + seg.count && !s->failed; k++) {
            const struct mfu_launch *l = &p->launches[k];
            double m = fmin(l->kernel.m, l->kernel.n), n = fmax(l->kernel.m, l->kernel.n);
            struct mfu_kernel g;

            if (l->kernel.kind != MFU_GEMM || l->suffix[0] != 'w' || n > 20 * m) /* the head is Adam's */
                continue;
            /* In bf16 where the products are, which not every GPU has. */
            g = mfu_kernel_gemm(s->numerics.math == MFU_PEAK_TF32 ? MFU_PEAK_BF16 : s->numerics.math, m, m, n, 5 * 2, 2,
                                2, false);
            g.launches = 15;
            mfu_emit_kernel(s, &g, "newton_schulz", 2 * (3 * m * n + 2 * m * m), 0, 0, 0, 0);
        }
        mfu_segment_close(s);
    }
    mfu_segment_open(s, "", MFU_OPTIMIZER_PHASE, 1);
}

void mfu_optimizer_emit(struct mfu_builder *s)
{
    const struct mfu_config *c = s->config;
    const struct row *r = &rows[c->optimizer];
    double params = s->program->params * mfu_config_share(c, 1);
    double g = mfu_type_bytes[s->numerics.gradient], p = master_bytes(s);
    double state = r->state_bytes > 0 ? r->state_bytes : p;
    double tensors = s->program->weight_tensors;
    /* The 16-bit copy that forward reads is written beside the master. */
    double copy = s->numerics.weight == MFU_F16 && c->precision != MFU_BF16_PURE ? 2 : 0;
    double moved;
    bool engine = mfu_half_engine(c) && !mfu_fully_sharded(c); /* copies gradients to fp32 */
    double launches = r->launches_per_tensor > 0
        ? r->launches_per_tensor * tensors
        : r->passes * (1 + ceil(params / (320 * 65536))); /* chunks of multi_tensor_apply */

    s->node = -1;
    if (engine) { /* an fp32 copy of the gradients for the masters */
        stream(s, "fp32_gradients", 1, g, 4, 2, 4 * params);
        g = 4;
    }
    if (c->precision == MFU_FP16) /* GradScaler looks for infinities */
        stream(s, "unscale", 1, g, g, 2, 0);
    if (c->setting[MFU_S_GRAD_CLIP] > 0) {
        stream(s, "grad_norm", 2, g, 0, 8, 0);
        if (!s->runtime->half_weights)
            stream(s, "clip", 1, g, g, 2, 0);
    }
    moved = r->p * p + r->g * g + r->s * state;
    if (c->optimizer == MFU_MUON)
        newton_schulz(s);
    /* Of parameters, gradients and states more is read than written: 4 of 7
     * tensors in AdamW; 0.6 for all of them (chosen; only the sum takes time). */
    stream(s, r->name, r->flops, moved * 0.6, moved * 0.4 + copy, launches,
           r->scratch * p * params + (engine ? 4 * params : 0));
}
