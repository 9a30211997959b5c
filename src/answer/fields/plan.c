/*
 * plan.c - fields of the plan: scenario, parameters, time, use of the GPU.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "answer/fields/fields.h"
#include "plan/conventions.h"
#include "plan/exchanges.h"
#include "scenario/setting.h"

// clang-format off

/* Settings and dims; choices by their names. */
static const char *setting_at(const void *config, size_t i, struct mfu_value *v)
{
    const struct mfu_config *c = config;

    if (i < 3) {
        const char *const names[] = {c->gpu->slug, c->cluster ? c->cluster->slug : NULL, c->model->slug};
        static const char *const keys[] = {"gpu", "cluster", "model"};

        mfu_value_text(v, names[i]);
        return keys[i];
    }
    i -= 3;
    if (i < MFU_SETTING_COUNT) {
        const struct mfu_setting *row = &mfu_settings[i];

        const char *word = mfu_setting_word(v->buf, (enum mfu_setting_id)i, c->setting[i]);

        if (word)
            mfu_value_text(v, word);
        else
            mfu_value_number(v, c->setting[i]);
        return row->key;
    }
    i -= MFU_SETTING_COUNT;
    if (i >= (size_t)c->model->n_dims)
        return NULL;
    mfu_value_number(v, c->dim[i]);
    return c->model->dims[i].name;
}

#define SCENARIO(X) X(MAP, _, 0, (v->object = c, v->entry = setting_at), "values by their keys")
MFU_FIELDS(scenario, const struct mfu_config *c, SCENARIO)
const struct mfu_record mfu_record_scenario = MFU_RECORD(scenario, .rows = NULL);

#define PARAMS(X) \
    X(NUMBER, total,         MFU_PARAMS, g->params,               "parameters of the model") \
    X(NUMBER, trainable,     MFU_PARAMS, g->trainable_params,     "those that are trained") \
    X(NUMBER, non_embedding, MFU_PARAMS, g->non_embedding_params, "those that are no embeddings") \
    X(NUMBER, active,        MFU_PARAMS, g->active_params,        "those that one token uses")
MFU_PART_RECORD(params, const struct mfu_program *g, PARAMS)

#define EXCHANGE(X) \
    X(TEXT,   group,        0,           x->group,        "the axis of the mesh that it runs along: tp, dp, pp ...") \
    X(TEXT,   level,        0,           x->level,        "the slowest thing in its way: NVLink, PCIe, network, uplinks") \
    X(NUMBER, ranks,        MFU_COUNT,   x->ranks,        "that talk to each other") \
    X(NUMBER, nodes,        MFU_COUNT,   x->nodes,        "on so many nodes") \
    X(NUMBER, calls,        MFU_COUNT,   x->calls,        "in a step") \
    X(NUMBER, time_s,       MFU_SECONDS, x->time_s,       "in a step, beside kernels or not") \
    X(NUMBER, exposed_s,    MFU_SECONDS, x->exposed_s,    "of it, what the step waits for") \
    X(NUMBER, fabric_bytes, MFU_BYTES,   x->fabric_bytes, "that a GPU sends inside its node in a step") \
    X(NUMBER, drive_bytes, MFU_BYTES,    x->drive_bytes,  "that its host reads from and writes to NVMe drives") \
    X(NUMBER, nic_bytes,    MFU_BYTES,   x->nic_bytes,    "that it sends over the network")
MFU_FIELDS(exchange, const struct mfu_exchange *x, EXCHANGE)
const struct mfu_record mfu_record_exchange = MFU_RECORD(exchange, .rows = NULL);

static void make_exchanges(const struct mfu_plan *p, struct mfu_value *v)
{
    struct mfu_exchange *list = mfu_value_own(v, MFU_MOST_EXCHANGES, sizeof *list);

    v->n = list ? (size_t)mfu_exchanges(p, list) : 0;
}

#define STEP(X) \
    X(NUMBER, step_time_s,      MFU_SECONDS, p->step.time_s,      "one optimizer step") \
    X(NUMBER, step_time_low_s,  MFU_SECONDS, p->step.low_s,       "lower end of its 90 % interval") \
    X(NUMBER, step_time_high_s, MFU_SECONDS, p->step.high_s,      "upper end of its 90 % interval") \
    X(NUMBER, forward_s,        MFU_SECONDS, p->step.forward_s,   "kernels of the forward passes of a step") \
    X(NUMBER, backward_s,       MFU_SECONDS, p->step.backward_s,  "kernels of the backward passes of a step") \
    X(NUMBER, optimizer_s,      MFU_SECONDS, p->step.optimizer_s, "kernels of the optimizer") \
    X(NUMBER, communication_exposed_s, MFU_SECONDS, p->step.communication_exposed_s, "what exchanges add to the step: unhidden, or slowing kernels beside them") \
    X(NUMBER, paging_s,         MFU_SECONDS, p->paging_s,         "in which the optimizer waits for pages of its states") \
    X(NUMBER, idle_s,           MFU_SECONDS, p->step.idle_s,      "time in which no kernel runs and no page is waited for") \
    X(NUMBER, tokens_per_step,  MFU_TOKENS,  p->step.tokens,      "tokens of one optimizer step") \
    X(NUMBER, tokens_per_s,     MFU_COUNT,   p->step.tokens_per_s, "tokens trained per second") \
    X(NUMBER, samples_per_s,    MFU_COUNT,   p->step.samples_per_s, "documents trained per second (sequences, where one fills each)") \
    X(NUMBER, pad_fraction,     MFU_RATIO,   1 - p->config.documents.fill, "share of these tokens that is padding") \
    X(NUMBER, useful_tokens_per_s, MFU_COUNT, p->step.tokens_per_s * p->config.documents.fill, "tokens of documents per second, without padding") \
    X(NUMBER, longest_document, MFU_TOKENS,  mfu_plan_longest_document(p), "tokens of the longest document of a micro-batch, in the mean: seq, where batches are padded to it") \
    X(NUMBER, kernels_per_step, MFU_COUNT,   p->step.kernels,     "CUDA kernels of one step") \
    X(NUMBER, dispatch_s,       MFU_SECONDS, p->step.host_s,      "dispatching on the CPU, hidden or not") \
    X(NUMBER, busy_s,           MFU_SECONDS, p->step.busy_s,      "sum of all kernels") \
    X(NUMBER, communication_s,  MFU_SECONDS, p->step.communication_s, "exchanges, hidden or not") \
    X(NUMBER, matmul_s,         MFU_SECONDS, p->matmul_seconds,   "matrix products and attention") \
    X(MADE_LIST, exchanges,     &mfu_record_exchange, make_exchanges(p, v), "what GPUs send each other, by who talks to whom")
MFU_FIELDS(step, const struct mfu_plan *p, STEP)
const struct mfu_record mfu_record_step = MFU_RECORD(step, .command = "step");

#define CONVENTION(X) \
    X(TEXT,   name,            0,              c->name,            "who counts so") \
    X(NUMBER, flops_per_token, MFU_FLOP,       c->flops_per_token, "FLOP that it counts for a token") \
    X(NUMBER, peak_flops,      MFU_FLOP_PER_S, c->peak_flops,      "peak that it divides by") \
    X(NUMBER, mfu,             MFU_RATIO,      c->mfu,             "MFU that it would print") \
    X(TEXT,   counts,          0,              c->counts,          "what is counted") \
    X(TEXT,   peak_of,         0,              c->peak_of,         "whose peak that is")
MFU_PART_RECORD(convention, const struct mfu_convention *c, CONVENTION)

static void make_conventions(const struct mfu_plan *p, struct mfu_value *v)
{
    struct mfu_convention *list = mfu_value_own(v, MFU_CONVENTIONS_MAX, sizeof *list);

    if (list)
        v->n = mfu_model_samples(p->config.model) ? 0 : mfu_conventions(p, list);
}

/* Peaks are rated; cards may run faster. */
static double observed_peak(const struct mfu_plan *p)
{
    const struct mfu_gpu *g = p->config.gpu;

    return p->mfu.peak_flops * g->max_observed_hz / (g->tensor_hz > 0 ? g->tensor_hz : g->boost_hz);
}

#define MFU(X) \
    X(NUMBER, mfu,                  MFU_RATIO,      p->mfu.mfu,            "model FLOPs over the dense peak of this GPU") \
    X(NUMBER, hfu,                  MFU_RATIO,      p->mfu.hfu,            "the same with recomputed FLOPs") \
    X(NUMBER, peak_flops,           MFU_FLOP_PER_S, p->mfu.peak_flops,     "dense peak that MFU divides by") \
    X(TEXT,   peak,                 0,              mfu_peak_names[p->mfu.peak], "precision of that peak") \
    X(NUMBER, observed_peak_flops,  MFU_FLOP_PER_S, observed_peak(p),      "the same at the highest clock seen of such cards") \
    X(NUMBER, model_flops_per_step, MFU_FLOP,       p->mfu.model_flops,    "model FLOPs of one step") \
    X(NUMBER, hardware_flops_per_step, MFU_FLOP,    p->mfu.hardware_flops, "FLOPs that one step really computes") \
    X(NUMBER, achieved_flops,       MFU_FLOP_PER_S, p->mfu.achieved_flops, "model FLOPs per second") \
    X(NUMBER, use_of_sustained_peak, MFU_RATIO,     mfu_use_of_sustained_peak(p),  "model FLOPs over what large matmuls sustain") \
    X(MAYBE_MADE_TEXT, above_one,   0,              mfu_above_one(p, v->buf, sizeof v->buf), "why a share is above 100 %") \
    X(MADE_LIST, conventions,       &convention,    make_conventions(p, v), "what other programs would print for the same run; none for models without tokens")
MFU_FIELDS(mfu, const struct mfu_plan *p, MFU)
const struct mfu_record mfu_record_mfu = MFU_RECORD(mfu, .command = "mfu", .rows = "conventions");

/* Defaults that a reader should see. */
static void make_assumed(const struct mfu_plan *p, struct mfu_value *v)
{
    char (*list)[96] = mfu_value_own(v, 4, sizeof *list);
    size_t n = 0;

    if (!list)
        return;
    if (!p->scenario.gpu_given)
        snprintf(list[n++], sizeof *list, "gpu=%s", p->config.gpu->slug);
    if (!p->scenario.model_given)
        snprintf(list[n++], sizeof *list, "model=%s", p->config.model->slug);
    if (mfu_config_guesses_seq(&p->config))
        snprintf(list[n++], sizeof *list, "seq=%.0f", p->config.seq);
    if (p->memory.capacity_assumed)
        snprintf(list[n++], sizeof *list, "capacity_bytes=%.0f", p->memory.capacity_bytes);
    v->n = n;
}

#define CALIBRATED(X) \
    X(TEXT,   name,     0, g->calibrated.name,     "of the calibration in force, the newest of several") \
    X(TEXT,   date,     0, g->calibrated.date,     "when it was made") \
    X(NUMBER, age_days, MFU_COUNT, mfu_calibration_age_days(g->calibrated.date), "since then") \
    X(TEXT,   device,   0, g->slug,                "of which GPU") \
    X(TEXT,   driver,   0, g->calibrated.software, "with which driver and libraries") \
    X(TEXT,   host,     0, g->calibrated.key.host[0] ? g->calibrated.key.host : NULL, "on which computer; null: not stated") \
    X(TEXT,   cpu,      0, g->calibrated.key.cpu[0] ? g->calibrated.key.cpu : NULL, "in a machine with this processor; null: not stated") \
    X(TEXT,   differs,  0, g->calibrated.differs ? mfu_calibration_difference(g->calibrated.differs, v->buf) : NULL, "in what that is not this machine; null: it is, or nobody knows")
MFU_PART_RECORD(calibrated, const struct mfu_gpu *g, CALIBRATED)

static void make_not_modelled(const struct mfu_plan *p, struct mfu_value *v)
{
    while (mfu_plan_left_out(p, v->n))
        v->n++;
    v->stride = sizeof(const char *);
    if (v->n == 0 || !(v->object = mfu_value_own(v, v->n, v->stride)))
        return;
    for (size_t i = 0; i < v->n; i++)
        ((const char **)v->own)[i] = mfu_plan_left_out(p, i);
}

#define LAYOUT(X) \
    X(NUMBER, tp,   MFU_COUNT, c->setting[MFU_S_TP],   "ranks that split each layer") \
    X(NUMBER, cp,   MFU_COUNT, c->setting[MFU_S_CP],   "ranks that split the sequence") \
    X(NUMBER, ep,   MFU_COUNT, c->setting[MFU_S_EP],   "ranks that split the experts") \
    X(NUMBER, etp,  MFU_COUNT, c->setting[MFU_S_ETP],  "ranks that split each expert") \
    X(NUMBER, dp,   MFU_COUNT, c->setting[MFU_S_DP],   "ranks that split the batch") \
    X(NUMBER, dp_shard, MFU_COUNT, c->setting[MFU_S_ZERO] > 0 ? mfu_config_dp_shard(c) * c->setting[MFU_S_CP] : 1, "ranks over which ZeRO shards") \
    X(NUMBER, pp,   MFU_COUNT, c->setting[MFU_S_PP],   "ranks that split the layers") \
    X(NUMBER, vpp,  MFU_COUNT, c->setting[MFU_S_VPP],  "virtual stages of each") \
    X(TEXT,   schedule, 0, c->pipeline.schedule->name, "order in which the stages run") \
    X(NUMBER, zero, MFU_COUNT, c->setting[MFU_S_ZERO], "what is sharded over dp: 0 nothing to 3 the weights")
MFU_PART_RECORD(layout, const struct mfu_config *c, LAYOUT)

#define PLAN(X) \
    X(OBJECT, scenario, &mfu_record_scenario, &p->config, "every setting and dimension as it was resolved") \
    X(OBJECT, params,   &params, &p->program,           "parameters of the model") \
    X(OBJECT, memory,   &mfu_record_memory, p,          "the memory of a step at its highest moment") \
    X(OBJECT, step,     &mfu_record_step, p,            "the time of a step") \
    X(OBJECT, mfu,      &mfu_record_mfu, p,             "use of the GPU") \
    X(NUMBER, gpus,     MFU_COUNT, p->config.ranks,     "GPUs in all") \
    X(NUMBER, nodes,    MFU_COUNT, p->config.setting[MFU_S_NODES], "machines that hold them") \
    X(OBJECT, layout,   &layout, &p->config,            "how they share the work") \
    X(NUMBER, tokens_per_s_gpu, MFU_COUNT, p->step.tokens_per_s / p->config.ranks, "tokens trained per second and GPU") \
    X(NUMBER, bubble, MFU_RATIO, p->bubble, "share of the pipeline's time in which its stages wait for each other") \
    X(MAYBE_NUMBER, worst_stage, MFU_COUNT, p->n_stages > 0 ? p->worst_stage : NAN, "of the pipeline, from 0: that holds the most memory") \
    X(LIST, stages, &mfu_record_stage, (p->stages, p->n_stages),     "of the pipeline") \
    X(MADE_LIST, not_modelled, &mfu_record_strings, make_not_modelled(p, v), "what the layout does and the figures leave out") \
    X(TEXT,   bound,    0, mfu_limit_names[p->limit],   "what limits the step: compute, memory, latency, launch, communication or input") \
    X(OPEN_FLAG, fits,  0, mfu_plan_fits(p),            "whether the memory suffices; null: unknown, something is not modelled") \
    X(MAYBE_TEXT, fits_because, 0, mfu_plan_fits_because(p), "what is not modelled, where it is unknown whether the memory suffices") \
    X(MADE_LIST, assumed, &mfu_record_words, make_assumed(p, v), "what nobody said") \
    X(OBJECT, calibrated, &calibrated, p->config.gpu->calibrated.date[0] ? p->config.gpu : NULL, "the calibration that the plan rests on")
MFU_FIELDS(plan, const struct mfu_plan *p, PLAN)
const struct mfu_record mfu_record_plan = MFU_RECORD(plan, .command = "plan");

#define PLAN_INSIDE(X) \
    X(TEXT,    command, 0,         "plan", "plan") \
    X(NUMBER,  schema,  MFU_COUNT, 1,      "1") \
    X(MEMBERS, plan,    &mfu_record_plan, p, "the plan")
MFU_FIELDS(plan_inside, const struct mfu_plan *p, PLAN_INSIDE)
const struct mfu_record mfu_record_plan_inside = MFU_RECORD(plan_inside, .rows = NULL);
// clang-format on
