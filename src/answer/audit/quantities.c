/* quantities.c - the tables of quantities.h. */
#include "answer/audit/quantities.h"

const struct mfu_quantity_row mfu_quantity_rows[MFU_Q_COUNT] = {
#define X(id, name, dim, traits, least, most, from, to, phrases) {name, dim, traits, least, most, {from, to}, phrases},
    MFU_QUANTITIES(X)
#undef X
};

// clang-format off
const struct mfu_identity_row mfu_identity_rows[] = {
    {"achieved = tokens_per_s_gpu * flop_per_token", "FLOP/s of a GPU"},
    {"mfu = achieved / peak", "model FLOP over the dense peak"},
    {"hfu = mfu * recompute", "what is computed again counts once more"},
    {"tokens_per_s = tokens_per_s_gpu * gpus", "all GPUs together"},
    {"tokens_per_s = tokens_per_step / step_time", "a step's tokens in a step's time"},
    {"tokens_per_s = samples_per_s * seq", "a sample is a sequence"},
    {"tokens_per_step = global_batch * seq", "a step's sequences"},
    {"global_batch = batch * accum * dp", "micro-batches of all replicas"},
    {"gpus = dp * tp * pp * cp", "a replica is tp x pp x cp GPUs"},
    {"gpus = nodes * gpus_per_node", "GPUs of all machines"},
    {"active = params * active_share", "a token visits some experts, and all of a dense model"},
    {"flop_per_token = 6 * active * attention", "2 forward and 4 backward for each parameter, and the attention"},
    {"attention <= 1 + 2 * n_layer * n_embd * seq / active", "12 L d T at most; some count half of it, or none"},
    {"attention <= 1 + 0.21 * seq / n_embd", "the same, with blocks of at least 0.8 x 12 d^2"},
    {"active = 12 * n_layer * n_embd^2 * fullness", "a block of a transformer has about 12 d^2"},
    {"n_embd = n_layer * aspect", "transformers are some hundred wide per layer"},
    {"n_embd^3 = active * cube", "width grows with the cube root of the size"},
    {"tokens_per_expert = batch * seq * top_k / experts", "of a micro-batch, spread evenly"},
    {"tokens = tokens_per_step * steps", "of the whole run"},
    {"tokens = tokens_per_s * duration * goodput", "at that speed, less failures and checkpoints"},
    {"steps * step_time = duration * goodput", "the run is its steps, and what is lost between them"},
    {"tokens = 3600 * tokens_per_s_gpu * gpu_hours * goodput", "at that speed, less failures and checkpoints"},
    {"tokens_per_param = tokens / params", "of the whole run"},
    {"flop = tokens * flop_per_token", "of the whole run"},
    {"flop = 3600 * achieved * gpu_hours * goodput", "of the whole run"},
    {"gpu_hours = gpus * duration / 3600", "of the whole run"},
    {"gpu_hours = 24 * gpu_days", "a day has 24 hours"},
    {"cost = gpu_hours * price", "of the whole run"},
    {"energy_kwh = power * gpu_hours / 1000", "of the whole run"},
    {"states = params * state_bytes / shards", "weights, gradients, optimizer"},
    {"shards <= gpus", "no GPU holds less than its part"},
    {"memory = states + batch * sequence_bytes", "static, and what grows with the batch"},
    {"memory <= capacity", "it must fit"},
    {"memory = fill * capacity", "what is full of the card"},
    {"allocated <= reserved", "tensors lie in what the allocator holds"},
    {"reserved <= memory", "nvidia-smi sees the context, too"},
    {"states <= memory", "weights, gradients and optimizer stay"},
    {"states <= allocated", "weights, gradients and optimizer stay"},
    {"sm_active <= utilisation", "an SM works only while a kernel runs"},
    {"tensor_active <= sm_active", "tensor cores work only while their SM does"},
    {"dram_active <= utilisation", "memory is read only while a kernel runs"},
    {"mfu <= 1.25 * tensor_active", "model FLOP run on tensor cores; a causal mask and the clock leave some room"},
    {"mfu <= utilisation", "nothing is computed while no kernel runs"},
    {"sm_active <= blocks / sms", "a block works on one SM"},
    {"utilisation * step_time >= kernels * kernel_time", "kernels of one stream run one after the other"},
    {"step_time >= kernels * launch_time", "a host launches one after the other"},
    {"step_time >= loader_time", "a wait is a part of the step"},
    {"1 >= forward + backward + optimizer + communication + input", "the parts of a step are no more than it"},
    {"1 >= tokens_per_s' * untouched", "what is left alone takes as long as before"},
    {"scaling = tokens_per_s' / gpus'", "speed-up over GPUs"},
    {"1 = useful + padding", "a token is one or the other"},
    {"useful_tokens_per_s = tokens_per_s * useful", "without padding and what is thrown away"},
    {"useful_per_gpu_hour = 3600 * tokens_per_s_gpu * useful", "without padding and what is thrown away"},
};
// clang-format on

const size_t mfu_identity_row_count = sizeof mfu_identity_rows / sizeof mfu_identity_rows[0];
