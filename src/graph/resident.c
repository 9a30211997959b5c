/*
 * resident.c - memory that is there all the time: weights, gradients, states.
 */
#include "graph/resident.h"

#include <math.h>
#include <string.h>

#include "graph/layers.h"
#include "graph/optimizer.h"
#include "scenario/setting.h"

static void move_to_host(struct mfu_program *p, enum mfu_part part)
{
    p->host_bytes[part] = p->constant_bytes[part];
    p->constant_bytes[part] = 0;
}

/* Of what would be in the host's memory: states, masters and fp32 gradients, but those that are too small, which stay on
 * the GPU; and the 16-bit weights.  What is on its way has pinned buffers; the CPU keeps 16-bit sums of gradients, and
 * weights up to a limit, for which it allocates all (DeepSpeed edaa7221, zero/stage3.py, swap_tensor/). */
static void move_to_drive(struct mfu_builder *s)
{
    struct mfu_program *p = s->program;
    const double *set = s->config->setting;
    double params = mfu_state_params(s, MFU_STATE_OPTIMIZER), group = fmin(params, set[MFU_S_SUB_GROUP_SIZE]);

    if (set[MFU_S_NVME_OPTIMIZER] > 0) {
        double swapped = mfu_swapped_gradients(s), wide = mfu_host_gradient_bytes(s) * params;
        double half = mfu_type_bytes[s->numerics.gradient] * params;
        double buffers = set[MFU_S_NVME_BUFFERS] * mfu_type_bytes[s->numerics.master] * group;

        p->drive_bytes[MFU_PART_OPTIMIZER] = p->host_bytes[MFU_PART_OPTIMIZER];
        p->drive_bytes[MFU_PART_GRADIENTS] = swapped * wide;
        p->constant_bytes[MFU_PART_GRADIENTS] += (1 - swapped) * wide;
        p->host_bytes[MFU_PART_OPTIMIZER] = buffers;
        p->host_bytes[MFU_PART_GRADIENTS] = half;
        p->pinned_bytes = p->host_bytes[MFU_PART_WEIGHTS] + half + buffers;
    }
    if (set[MFU_S_NVME_PARAMS] > 0) {
        double all = p->host_bytes[MFU_PART_WEIGHTS], one = all / mfu_state_params(s, MFU_STATE_WEIGHT);

        p->drive_bytes[MFU_PART_WEIGHTS] = mfu_driven_share(s) * all;
        p->host_bytes[MFU_PART_WEIGHTS] = fmin(set[MFU_S_MAX_IN_CPU] * one, all)
            + one
                * (set[MFU_S_NVME_PARAM_BUFFERS] * set[MFU_S_NVME_PARAM_BUFFER]
                   + (mfu_driven_share(s) > 0 ? group : 0));
        p->pinned_bytes += p->host_bytes[MFU_PART_WEIGHTS] - all;
    }
}

/* What is in the host's memory instead, and what is there for the way: gradients as they arrive, the 16-bit copy of new
 * weights or, without masters, the weights that the CPU updates.  Locked are all but momenta, and masters that are not
 * sent (DeepSpeed edaa7221, stage_1_and_2.py and stage3.py; PyTorch, fsdp/_fully_shard/_fsdp_param.py). */
static void offload(struct mfu_builder *s)
{
    struct mfu_program *p = s->program;
    const double *set = s->config->setting;
    double params = mfu_state_params(s, MFU_STATE_OPTIMIZER), gradients = mfu_host_gradient_bytes(s);

    memset(p->host_bytes, 0, sizeof p->host_bytes);
    memset(p->drive_bytes, 0, sizeof p->drive_bytes);
    if (set[MFU_S_OFFLOAD_PARAMS] > 0)
        move_to_host(p, MFU_PART_WEIGHTS);
    if (set[MFU_S_OFFLOAD_OPTIMIZER] > 0) {
        move_to_host(p, MFU_PART_OPTIMIZER);
        if ((s->config->accum > 1 || set[MFU_S_ZERO] >= 3) && mfu_trainers[s->config->trainer].half_shards)
            gradients += mfu_type_bytes[s->numerics.gradient];
        p->host_bytes[MFU_PART_GRADIENTS] = gradients * params;
        if (set[MFU_S_OFFLOAD_PARAMS] == 0)
            p->host_bytes[MFU_PART_WEIGHTS] = mfu_weight_bytes(s) * params;
    }
    p->pinned_bytes = p->host_bytes[MFU_PART_WEIGHTS] + p->host_bytes[MFU_PART_GRADIENTS];
    move_to_drive(s);
}

/* States of large tensors are no tensors of PyTorch's: its allocator does not see them. */
static void page(struct mfu_builder *s)
{
    struct mfu_program *p = s->program;
    const struct mfu_optimizer_row *r = &mfu_optimizers[s->config->optimizer];
    double share = p->large_trained / fmax(p->rank_trained, 1);

    p->paged_bytes = r->states * r->paged_bytes * share * mfu_state_params(s, MFU_STATE_OPTIMIZER);
    p->constant_bytes[MFU_PART_OPTIMIZER] -= p->paged_bytes;
}

/* Whether a reference model stands beside the policy: as many weights in the same types, laid out alike (TRL's
 * prepare_deepspeed and prepare_fsdp). */
static bool has_reference(const struct mfu_builder *s)
{
    const struct mfu_reference_row *row = mfu_config_reference(s->config);

    return row && row->weights;
}

/* Workspaces of matrix products.  PyTorch's handles belong to threads, forward's and the autograd engine's.
 * TransformerEngine has its own beside them: one, a ring of three for products with communication, and one for each
 * stream of experts (d0067d0d, pytorch/cpp_extensions/gemm.py). */
static double workspaces(const struct mfu_builder *s)
{
    const struct mfu_config *c = s->config;
    double torch = mfu_config_coefficient(c, MFU_C_CUBLAS_WORKSPACE), own = 0;

    if (mfu_config_transformer_engine(c))
        own = (c->gpu->compute_capability >= 9 ? 0x1p25 : 0x1p22)
            * (1 + (c->setting[MFU_S_TP_OVERLAP] == MFU_TP_PRODUCTS && c->setting[MFU_S_TP] > 1 ? 3 : 0)
               + (mfu_config_dim(c, "n_experts") > 0 ? 4 : 0));
    return torch * (s->runtime->c_program ? 1 : 2) + own;
}

double mfu_summed_bytes(const struct mfu_builder *s)
{
    double reduce = s->config->setting[MFU_S_GRAD_REDUCE];
    double gradient = mfu_shards_are_masters(s) ? 4 : mfu_trained_bytes(s, s->numerics.gradient);

    if (reduce != MFU_REDUCE_AS_ADDED)
        return mfu_type_bytes[reduce == MFU_REDUCE_FP32 ? MFU_F32 : MFU_F16];
    return gradient == 4 && s->numerics.masters ? mfu_type_bytes[s->numerics.gradient] : gradient;
}

void mfu_resident_memory(struct mfu_builder *s)
{
    struct mfu_program *p = s->program;
    const struct mfu_config *c = s->config;
    double weights = mfu_state_bytes(s, MFU_STATE_WEIGHT), gradient = mfu_trained_bytes(s, s->numerics.gradient);
    bool gradients_stay = !mfu_gradients_offloaded(s) && !mfu_gradients_wait_whole(s)
        && (c->accum > 1 || mfu_gradients_kept(s) || mfu_gradients_leave(s));
    /* Token indices and targets, int64, of this micro-batch and the next. */
    double batch = 2 * mfu_type_bytes[MFU_I64] * c->tokens, inputs = 2 * batch + s->loaded_bytes;
    bool masters = s->numerics.masters;

    memset(p->constant_bytes, 0, sizeof p->constant_bytes);
    if (mfu_shards_are_masters(s)) { /* the shards of the weights are the masters */
        weights = 4 * mfu_state_params(s, MFU_STATE_WEIGHT);
        gradient = 4;
        masters = false;
    }
    p->constant_bytes[MFU_PART_WEIGHTS] = weights * (has_reference(s) ? 2 : 1);
    p->constant_bytes[MFU_PART_WEIGHTS] += s->shared_adapters;
    p->constant_bytes[MFU_PART_GRADIENTS] = gradients_stay ? gradient * mfu_state_params(s, MFU_STATE_GRADIENT) : 0;
    if (mfu_trainers[c->trainer].adds_up_wide
        && s->numerics.gradient == MFU_F32) /* beside .grad of one whole backward */
        p->constant_bytes[MFU_PART_GRADIENTS] +=
            mfu_type_bytes[s->numerics.weight] * mfu_state_params(s, MFU_STATE_GRADIENT);
    p->constant_bytes[MFU_PART_OPTIMIZER] = mfu_state_params(s, MFU_STATE_OPTIMIZER)
        / fmax(p->rank_trained, 1) /* a stage may have none */
        * (mfu_optimizer_state_bytes(s) + (masters ? mfu_type_bytes[s->numerics.master] * p->rank_trained : 0));
    if (c->setting[MFU_S_EMA] > 0)
        p->constant_bytes[MFU_PART_EMA] = mfu_mean_bytes(s) * mfu_mean_params(s);
    p->gradient_bytes = mfu_summed_bytes(s);
    p->weight_bytes = s->frozen_parts || mfu_weights_sent_as_held(s) ? p->rank_bytes / p->rank_params
                                                                     : mfu_type_bytes[s->numerics.weight];
    p->constant_bytes[MFU_PART_ACTIVATIONS] = inputs;
    p->next_batch_bytes = batch + s->loaded_bytes;
    page(s);
    offload(s);
    p->constant_bytes[MFU_PART_WORKSPACE] = workspaces(s);
}

static struct mfu_weight_tensor weight_tensor(const struct mfu_parameter *w)
{
    return (struct mfu_weight_tensor){w->elements,
                                      w->elements * (w->packed ? w->packed_bytes : mfu_type_bytes[w->type]), w->trains,
                                      w->trains && !w->unreached};
}

/* The weights one by one, as a framework allocates them. */
void mfu_list_weights(struct mfu_builder *s, int n_layers)
{
    struct mfu_program *p = s->program;

    p->n_weights = 0;
    for (int k = 0; k < n_layers; k++)
        for (int c = 0; c <= s->layers[k].copies; c++)
            for (int i = s->layers[k].first_parameter;
                 i < (k + 1 < n_layers ? s->layers[k + 1].first_parameter : s->n_parameters); i++)
                if (s->parameters[i].elements > 0 && !s->parameters[i].borrowed
                    && ROOM(s, p->weights, p->n_weights, p->cap_weights))
                    p->weights[p->n_weights++] = weight_tensor(&s->parameters[i]);
    for (int i = 0, n = p->n_weights; i < n && has_reference(s) && ROOM(s, p->weights, p->n_weights, p->cap_weights);
         i++) {
        p->weights[p->n_weights] = p->weights[i];
        p->weights[p->n_weights].trains = p->weights[p->n_weights].reached = false;
        p->n_weights++;
    }
}
