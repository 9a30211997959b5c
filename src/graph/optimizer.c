/*
 * optimizer.c - what one optimizer step launches and keeps, by the optimizer's
 * row (scenario/optimizer.h).
 */
#include "graph/optimizer.h"

#include <math.h>

#include "graph/builder.h"
#include "graph/builder_private.h"
#include "graph/matrix_updates.h"
#include "scenario/setting.h"

/* Bytes of the parameters that the optimizer updates: the masters. */
static double master_bytes(const struct mfu_builder *s)
{
    return mfu_trained_bytes(s, s->numerics.master);
}

/* What TransformerEngine's FusedAdam runs around its update for a state, or masters, that its kernel does not take as
 * they are: an fp32 copy (scaled, if fp16), its largest value, and the copy back.  bf16 moments are no such where both
 * are.  Bytes of an element, and launches of a tensor (d0067d0d, pytorch/optimizers/fused_adam.py: get_unscaled_state,
 * _apply_scale). */
static const struct narrow {
    double bytes, read, write, launches;
} narrow[MFU_STATE_TYPE_COUNT] = {
    [MFU_STATE_FP32] = {4, 0, 0, 0},
    [MFU_STATE_BF16] = {2, 2 + 4 + 2, 4 + 2 + 2, 3},
    [MFU_STATE_FP16] = {2, 2 + 4 + 4 + 4 + 4, 4 + 4 + 4 + 2, 10},
    [MFU_STATE_FP8] = {1, 1 + 4 + 4, 4 + 1, 8},
};

/* The states of Adam that have a type of their own, and masters with a scale, as `narrow` has them. */
static int find_narrow(const struct mfu_config *c, struct narrow list[3])
{
    int m = (int)c->setting[MFU_S_EXP_AVG], v = (int)c->setting[MFU_S_EXP_AVG_SQ], n = 0;
    bool fused = m == MFU_STATE_BF16 && v == MFU_STATE_BF16;

    for (int i = 0; i < 2; i++)
        if (!fused && narrow[i ? v : m].launches > 0)
            list[n++] = narrow[i ? v : m];
    if (c->setting[MFU_S_MAIN_PARAMS] == MFU_MASTER_FP16)
        list[n++] = narrow[MFU_STATE_FP16];
    return n;
}

/* Bytes of a parameter's states: as they are kept, or as the kernel reads them. */
static double states_bytes(const struct mfu_config *c, const struct mfu_optimizer_row *r, double own, bool kept)
{
    int type[] = {(int)c->setting[MFU_S_EXP_AVG], (int)c->setting[MFU_S_EXP_AVG_SQ]};
    bool fused = type[0] == MFU_STATE_BF16 && type[1] == MFU_STATE_BF16;
    double bytes = 0;

    if (type[0] == MFU_STATE_OWN && type[1] == MFU_STATE_OWN)
        return r->states * (r->state_bytes > 0 ? r->state_bytes : own);
    for (int i = 0; i < 2; i++)
        bytes += type[i] == MFU_STATE_OWN ? own : kept || fused ? narrow[type[i]].bytes : 4;
    return bytes;
}

double mfu_optimizer_state_bytes(const struct mfu_builder *s)
{
    const struct mfu_config *c = s->config;
    const struct mfu_program *p = s->program;
    const struct mfu_optimizer_row *r = &mfu_optimizers[c->optimizer];
    double matrices, bytes;

    if (!r->matrices)
        return states_bytes(c, r, mfu_trained_bytes(s, s->numerics.moment), true) * p->rank_trained;
    matrices = mfu_matrix_params(s, &bytes);
    return bytes
        + mfu_optimizers[r->others].states * mfu_element_state_bytes(s, r->others) * (p->rank_trained - matrices);
}

/* ---- the step ------------------------------------------------------------ */

/* One pass over `n` parameters; FLOP and bytes of each; a `gradient` that is a tensor of its own, or none. */
static void pass(struct mfu_builder *s, const char *name, double n, double flops, double read, double write,
                 double launches, double temporary_bytes, int gradient)
{
    struct mfu_kernel k =
        mfu_kernel_stream(MFU_OPTIMIZER_STEP, MFU_C_DRAM_OPTIMIZER, 1, n, flops * n, read * n, write * n);

    k.launches = launches;
    k.cold = true;
    mfu_emit_kernel(s, &k, name, temporary_bytes, gradient != MFU_NO_VIEW, &gradient, 0, NULL);
}

static void stream(struct mfu_builder *s, const char *name, double n, double flops, double read, double write,
                   double launches, double temporary_bytes)
{
    pass(s, name, n, flops, read, write, launches, temporary_bytes, MFU_NO_VIEW);
}

/* The update of `n` parameters in `tensors`, of which `at_once` have temporaries, with gradients of `g` bytes. */
static void update_tensors(struct mfu_builder *s, const struct mfu_optimizer_row *r, double n, double tensors,
                           double at_once, double g, double temporary_bytes, int gradient)
{
    const struct mfu_config *c = s->config;
    bool remainders = c->setting[MFU_S_MAIN_PARAMS] == MFU_MASTER_REMAINDERS;
    double p = c->setting[MFU_S_MAIN_PARAMS] == MFU_MASTER_FP16 ? 4 : master_bytes(s);
    double states =
        r->states > 0 ? r->s / r->states * states_bytes(c, r, mfu_trained_bytes(s, s->numerics.moment), false) : 0;
    double moved = r->p * p + r->g * g + states + (remainders ? mfu_weight_bytes(s) : 0);
    /* The narrower copy that forward reads is written beside the master. */
    double copy = s->numerics.masters ? mfu_weight_bytes(s) : 0;
    /* Of parameters, gradients and states more is read than written: 4 of 7
     * tensors in AdamW; 0.6 for all of them (chosen; only the sum takes time), so that
     * sums of many are exact (scale.h). */
    double read = rint(moved * 0.6 * 0x1p10) * 0x1p-10;

    struct narrow list[3];
    struct mfu_work w;
    int n_narrow = find_narrow(c, list);

    for (int i = 0; i < n_narrow; i++) {
        stream(s, "convert_states", n, 1, list[i].read, list[i].write, list[i].launches * tensors, 4 * n * n_narrow);
        temporary_bytes += 4 * n;
    }
    pass(s, r->kernel, n, r->flops, read, moved - read + copy, r->launches_per_tensor * tensors,
         r->scratch * p * at_once + temporary_bytes, gradient);
    if (s->failed || r->launches_per_tensor > 0)
        return;
    w = *mfu_latest_launch(s)->work;
    w.passes = r->passes;
    mfu_work_passes(&w);
    mfu_latest_launch(s)->work = mfu_work_of(s, &w);
}

/* The update of `n` parameters of `all`; a loop over tensors has temporaries of one of them at a time. */
static void update(struct mfu_builder *s, const struct mfu_optimizer_row *r, double n, double all, double g,
                   double temporary_bytes)
{
    double share = all / fmax(s->program->rank_trained, 1);
    double at_once = r->launches_per_tensor > 0 ? fmin(n, share * s->program->largest_trained) : n;

    update_tensors(s, r, n, s->program->trained_tensors * n / all, at_once, g, temporary_bytes, MFU_NO_VIEW);
}

bool mfu_optimizer_in_backward(const struct mfu_builder *s)
{
    return s->config->setting[MFU_S_OPTIMIZER_IN_BACKWARD] > 0;
}

void mfu_optimizer_emit_one(struct mfu_builder *s, double elements, int view)
{
    const struct mfu_optimizer_row *r = &mfu_optimizers[s->config->optimizer];
    double g = mfu_type_bytes[mfu_view_type(s, view)];

    if (r->matrices && !mfu_matrix_emit_one(s, view))
        r = &mfu_optimizers[r->others];
    update_tensors(s, r, elements, 1, elements, g, 0, view);
}

/* Parameters, gradients and states in fp32 as on the GPU; clipping reads the gradients, unless an engine did so on
 * the GPU, and scales them; the 16-bit copy is made before it is sent (DeepSpeed edaa7221, stage_1_and_2.py). */
double mfu_host_update_bytes(const struct mfu_builder *s)
{
    const struct mfu_config *c = s->config;
    const struct mfu_optimizer_row *r = &mfu_optimizers[c->optimizer];
    double p = master_bytes(s), g = mfu_host_gradient_bytes(s), sent = mfu_weight_bytes(s);
    bool copies = s->numerics.masters && !mfu_shards_are_masters(s);
    double clips = c->setting[MFU_S_GRAD_CLIP] > 0 ? (mfu_trainers[c->trainer].half_shards ? 2 : 3) * g : 0;

    return mfu_state_params(s, MFU_STATE_OPTIMIZER)
        * (r->p * p + r->g * g + r->s * (r->state_bytes > 0 ? r->state_bytes : p) + clips + (copies ? p + sent : 0));
}

double mfu_mean_bytes(const struct mfu_builder *s)
{
    return mfu_shards_are_masters(s) ? 4 : mfu_trained_bytes(s, s->numerics.weight);
}

double mfu_mean_params(const struct mfu_builder *s)
{
    return (s->program->rank_trained + s->program->unreached_params) * mfu_state_share(s, MFU_STATE_WEIGHT);
}

/* The running mean of the weights that may train.  lerp reads both and writes one; a difference of all tensors at once is a
 * copy of them; tensor by tensor there are two of one at a time (setting.h). */
static void average(struct mfu_builder *s)
{
    double n = mfu_mean_params(s), e = mfu_mean_bytes(s), share = mfu_state_share(s, MFU_STATE_WEIGHT);
    double tensors = s->program->trained_tensors, largest = share * s->program->largest_trained;

    switch ((int)s->config->setting[MFU_S_EMA]) {
    case MFU_EMA_LERP: stream(s, "ema_lerp", n, 3, 2 * e, e, 1 + ceil(n / (320 * 65536)), 0); break;
    case MFU_EMA_FOREACH:
        stream(s, "ema_difference", n, 1, 2 * e, e, 1 + ceil(n / (320 * 65536)), e * n);
        stream(s, "ema", n, 2, 2 * e, e, 1 + ceil(n / (320 * 65536)), e * n);
        break;
    case MFU_EMA_LOOP: stream(s, "ema", n, 4, 5 * e, 3 * e, 3 * tensors, 2 * e * largest); break;
    default: break;
    }
}

/* What the optimizer's step itself launches. */
static void update_weights(struct mfu_builder *s)
{
    const struct mfu_config *c = s->config;
    const struct mfu_optimizer_row *r = &mfu_optimizers[c->optimizer];
    struct mfu_optimizer_row others = mfu_optimizers[r->others];
    double params = mfu_state_params(s, MFU_STATE_OPTIMIZER), share = params / fmax(s->program->rank_trained, 1),
           matrices = 0, bytes;
    double g = mfu_trained_bytes(s, s->numerics.gradient);
    /* Copies gradients to fp32, unless they are summed so. */
    bool engine = mfu_half_engine(c) && !mfu_fully_sharded(s) && s->numerics.gradient != MFU_F32;

    s->node = -1;
    if (c->setting[MFU_S_OFFLOAD_OPTIMIZER] > 0) /* the CPU's step is in shard.c: it waits for gradients */
        return;
    if (mfu_optimizer_in_backward(s))
        return;
    if (engine) { /* an fp32 copy of the gradients for the masters */
        stream(s, "fp32_gradients", params, 1, g, 4, 2, 4 * params);
        g = 4;
    }
    if (mfu_precisions[c->precision].scaler) /* GradScaler looks for infinities */
        stream(s, "unscale", params, 1, g, g, 2, 0);
    if (c->setting[MFU_S_GRAD_CLIP] > 0) {
        stream(s, "grad_norm", params, 2, g, 0, 8, 0);
        if (!s->runtime->half_weights)
            stream(s, "clip", params, 1, g, g, 2, 0);
    }
    if (r->matrices) {
        mfu_matrices_emit(s);
        matrices = share * mfu_matrix_params(s, &bytes);
        others.scratch = fmax(others.scratch, r->scratch);
        if (params > matrices)
            update(s, &others, params - matrices, params, g, 0);
    }
    update(s, r, matrices > 0 ? matrices : params, params, g, engine ? 4 * params : 0);
}

/* Zeros where gradients stay: one kernel for a buffer (Megatron-LM, zero_grad_buffer(); DeepSpeed, clear_hp_grads();
 * nanotron, zero_grad(); llm.c), or for each tensor (PyTorch 1.13, torch/optim/optimizer.py). */
static void fill_gradients(struct mfu_builder *s)
{
    double params = mfu_state_params(s, MFU_STATE_GRADIENT), g = mfu_trained_bytes(s, s->numerics.gradient);

    s->node = -1;
    if (mfu_gradients_kept(s))
        stream(s, "zero_grad", params, 0, 0, g,
               s->config->setting[MFU_S_ZERO_GRAD] == MFU_ZERO_GRAD_FILL ? s->program->trained_tensors : 1, 0);
}

/* In one flat tensor (Megatron-LM d98e8a64, distributed/finalize_model_grads.py: _allreduce_non_tensor_model_parallel_grads;
 * nanotron 2411b022, parallel/tied_parameters.py: sync_tied_weights_gradients). */
static void sum_copies(struct mfu_builder *s)
{
    const struct mfu_config *c = s->config;
    double bytes = s->program->summed_trained * mfu_trained_bytes(s, s->numerics.gradient);

    s->node = -1;
    if (c->setting[MFU_S_TP] > 1 && bytes > 0)
        mfu_emit_collective(s, MFU_ALL_REDUCE, MFU_AXIS_BIT(MFU_AXIS_TP), bytes, 1, MFU_NO_VIEW, MFU_NO_VIEW);
}

void mfu_optimizer_emit(struct mfu_builder *s)
{
    sum_copies(s);
    update_weights(s);
    fill_gradients(s);
    average(s);
}
