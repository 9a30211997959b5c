/*
 * scenario.h - what is to be planned: a plain value.
 *
 * A scenario owns nothing.  Copy it with `=`, keep old ones for undo, pass it
 * by value to a sweep.  The model and the GPU it points at belong to the
 * catalog and outlive every scenario.
 *
 * It records what the user said.  mfu_scenario_resolve() works out the rest
 * (defaults, what depends on model and GPU, what depends on other settings),
 * refuses what contradicts itself, and says where each value came from.
 */
#ifndef MFU_SCENARIO_H
#define MFU_SCENARIO_H

#include <stdbool.h>
#include <stdint.h>
#include "descriptor/cluster.h"
#include "descriptor/gpu.h"
#include "descriptor/model.h"
#include "kernel/attention_kind.h"
#include "kernel/documents.h"
#include "scenario/checkpoint.h"
#include "scenario/key_names.h"
#include "scenario/objective.h"
#include "scenario/optimizer.h"
#include "scenario/precision.h"
#include "scenario/runtime.h"
#include "scenario/schedule.h"
#include "scenario/trainer.h"

struct mfu_error;

/* Room for the rows of scenario/setting.h, which few need to see. */
#define MFU_MAX_SETTINGS 112

#define MFU_HEARD 40 /* imported files and what they left out that are remembered (chosen) */

/* Where a value came from. */
enum mfu_origin { MFU_ORIGIN_DEFAULT, MFU_ORIGIN_MODEL, MFU_ORIGIN_GPU, MFU_ORIGIN_DERIVED, MFU_ORIGIN_USER };
extern const char *const mfu_origin_names[];

/* Who says a coefficient instead of the card's file: the user, as it is here; a fit, as it is of the usual host. */
enum mfu_given { MFU_GIVEN_NOT, MFU_GIVEN_BY_USER, MFU_GIVEN_BY_FIT };

struct mfu_scenario {
    const struct mfu_gpu *gpu;
    const struct mfu_model *model;
    const struct mfu_cluster *cluster; /* NULL: the one that is usual for the GPU */
    bool gpu_given, model_given;       /* chosen by the user */
    double setting[MFU_MAX_SETTINGS];
    bool setting_given[MFU_MAX_SETTINGS];
    double dim[MFU_MAX_DIMS];
    bool dim_given[MFU_MAX_DIMS];
    double coefficient[MFU_COEFFICIENT_COUNT];
    unsigned char coefficient_given[MFU_COEFFICIENT_COUNT]; /* enum mfu_given */
    char not_modelled[240]; /* what imported files say and nothing here predicts (unpredicted.c); "": nothing */
    struct {
        uint32_t file, piece; /* hashes; piece 0: the file was imported */
    } heard[MFU_HEARD];
};

/* What the model's or an imported file says and no figure predicts; "": nothing.  Whether the scenario
 * fits is unknown then. */
const char *mfu_scenario_unpredicted(const struct mfu_scenario *);

/* Peft's all-linear, and its names of an MLP's linears, mean those of experts, too, whose adapters are not modelled; NULL: these
 * are not asked for. */
const char *mfu_scenario_adapters_unpredicted(const struct mfu_scenario *);

/* Adds something that the imported file at `path` says, once: "NAME VALUE", unless its value is a file that was imported, too;
 * what there is no room for is "and more". */
void mfu_scenario_leave_out(struct mfu_scenario *, const char *path, const char *name, const char *value);

/* Forgets of it what is about this key, or about the choice of a model, or has this file as its value or was said by it:
 * mfu_scenario_set() and mfu_scenario_model() do so, and who imports a file. */
void mfu_scenario_answer_key(struct mfu_scenario *, struct mfu_key);
void mfu_scenario_answer_model(struct mfu_scenario *);
void mfu_scenario_answer_file(struct mfu_scenario *, const char *path);

/* A scenario with every value worked out: what the graph and the costs read. */
struct mfu_config {
    const struct mfu_gpu *gpu;
    const struct mfu_cluster *cluster; /* NULL: one machine as the GPU says */
    const struct mfu_model *model;
    const struct mfu_scenario *scenario; /* for coefficient overrides */

    double dim[MFU_MAX_DIMS]; /* by the model's dim numbers */
    unsigned char dim_origin[MFU_MAX_DIMS];
    double setting[MFU_MAX_SETTINGS];
    unsigned char setting_origin[MFU_MAX_SETTINGS];

    /* The same, by name. */
    enum mfu_precision precision;
    enum mfu_runtime_kind runtime;
    enum mfu_trainer_kind trainer;
    enum mfu_attention_kind attention;
    enum mfu_checkpoint checkpoint;
    enum mfu_optimizer_kind optimizer;
    struct mfu_pipeline_layout pipeline; /* schedule, ranks, chunks and microbatches */
    struct mfu_expert_waits {
        double merged; /* of the forwards, those beside a backward, to hide experts' messages */
        double load;   /* tokens of the fullest rank's experts over the mean, in each layer */
        double fill;   /* rows that experts compute over those that tokens ask for */
    } experts;
    struct mfu_documents documents; /* in its sequences */
    double batch, accum, seq;
    double tokens;   /* of one micro-step on one GPU: batch*seq, or its part of the sequence */
    double ranks;    /* GPUs in all */
    double replicas; /* of them, that hold the same weights and other tokens */
};

/* Of the forwards of a step, those that run beside a backward of another microbatch (overlap_moe): 0..1. */
double mfu_config_merged(const struct mfu_config *);

/* mfu_key_find() with the scenario's model. */
struct mfu_key mfu_scenario_key(const struct mfu_scenario *, const char *name, struct mfu_error *err);

/* What a key is: as it was set, resolved or not; and as it was worked out.  NAN for
 * a key that names nothing. */
double mfu_scenario_value(const struct mfu_scenario *, struct mfu_key);
double mfu_config_value(const struct mfu_config *, struct mfu_key);

/* An empty scenario of this model and GPU (either may be NULL). */
struct mfu_scenario mfu_scenario_start(const struct mfu_model *, const struct mfu_gpu *);

/* Changes the model and forgets the dims that were set, since they belonged to
 * the old one. */
void mfu_scenario_model(struct mfu_scenario *, const struct mfu_model *);

/* Sets one key from text: a quantity, a choice, or an expression over the
 * current values ("4*n_embd").  Checks the range of this key only. */
int mfu_scenario_set(struct mfu_scenario *, const char *key, const char *text, struct mfu_error *err);
int mfu_scenario_set_number(struct mfu_scenario *, const char *key, double value, struct mfu_error *err);
int mfu_scenario_unset(struct mfu_scenario *, const char *key, struct mfu_error *err);

/* After the micro-batch was changed from `batch` sequences: dataloader_ms, the
 * loader's time for one micro-batch, becomes that of the new one.  The
 * time per sequence stays.  Commands that vary the micro-batch call this; `set`
 * does not, since the user gives both values. */
void mfu_scenario_keep_loader(struct mfu_scenario *, double batch);

/* The cluster that counts: the chosen one where it is built with the scenario's GPU,
 * else that GPU's usual one; NULL without. */
const struct mfu_cluster *mfu_scenario_cluster(const struct mfu_scenario *);

/* Works out and checks everything.  About a microsecond. */
int mfu_scenario_resolve(const struct mfu_scenario *, struct mfu_config *, struct mfu_error *err);

/* Whether nobody said how long sequences are: the model is a config.json that only says
 * how long they may be (model->longest_seq). */
bool mfu_config_guesses_seq(const struct mfu_config *);

/* Whether documents share sequences and the kind of attention takes them for one. */
bool mfu_config_packs_across(const struct mfu_config *);

/* The pass of a frozen reference model through every micro-batch; NULL: there is none. */
const struct mfu_reference_row *mfu_config_reference(const struct mfu_config *);

/* Whether batches differ in length, each as long as its longest document. */
bool mfu_config_pads_to_longest(const struct mfu_config *);
/* Of how many documents at random a batch is as long as the longest: its own, or 1 where they are alike. */
double mfu_config_padded_together(const struct mfu_config *);

/* Tokens that go through the model for one document: its own and its part of the padding. */
double mfu_config_document_tokens(const struct mfu_config *);

/* A dim of the resolved model by name, or NAN when the model has none. */
double mfu_config_dim(const struct mfu_config *, const char *name);
/* Whether an operation of the model that runs in its step, not apart from it, has one of the traits (enum mfu_trait). */
bool mfu_config_has(const struct mfu_config *, unsigned traits);

/* Whether scale, mask and softmax of attention in parts can be one kernel: Megatron's takes
 * halves, up to 4096 tokens, heads times sequences of a rank in fours
 * (megatron/model/fused_softmax.py, is_kernel_available).  True for fused attention. */
bool mfu_config_fused_softmax(const struct mfu_config *);

/* Whether each expert's product is a kernel of its own.  Not where CUDA graphs replay a whole step, whose host does not learn
 * how many rows an expert has (TransformerEngine d0067d0, module/grouped_linear.py: is_module_grouped_tensor_path_supported). */
bool mfu_config_experts_apart(const struct mfu_config *);

/* Whether weights were made 16 bits when they were loaded and train so, without masters, whatever a product computes in. */
bool mfu_config_loads_halves(const struct mfu_config *);

/* Whether layers are TransformerEngine's, by the runtime or the trainer. */
bool mfu_config_transformer_engine(const struct mfu_config *);

/* Whether Megatron-core's model runs in a loop of one's own, with the defaults of its TransformerConfig: what surrounds
 * TransformerEngine's kernels is eager PyTorch, and the logits are handed over (Megatron-LM d98e8a64, core/transformer/
 * transformer_config.py: bias_activation_fusion, bias_dropout_fusion, apply_rope_fusion False; core/models/gpt/gpt_model.py). */
bool mfu_config_plain_core(const struct mfu_config *);

/* The host's time for a layer: the trainer's, else that of who made the layers; COUNT: its launches alone. */
enum mfu_coefficient mfu_config_host_layer(const struct mfu_config *);

/* Whether anything is kept in the host's memory, and comes and goes. */
bool mfu_offloads(const struct mfu_config *);

/* Data-parallel ranks that share one copy of what ZeRO and FSDP shard, those of context parallelism not counted: all of
 * them unless dp_shard says fewer. */
double mfu_config_dp_shard(const struct mfu_config *);

/* Whether gradients are summed once a step, and not in each micro-step. */
bool mfu_config_sums_once(const struct mfu_config *);

/* Whether a pipeline's sharded weights are gathered, and their gradients summed, once a step. */
bool mfu_config_gathers_once(const struct mfu_config *);

/* Of these: whether a stage sums before it sends its last gradient; whether it gathers before its first input comes. */
bool mfu_config_sums_first(const struct mfu_config *);
bool mfu_config_gathers_ahead(const struct mfu_config *);

/* How often each head of keys is repeated before heads are exchanged over a context group. */
double mfu_config_key_copies(const struct mfu_config *);

/* The ranks of a pipeline stage that hold the same experts, and sum their gradients. */
double mfu_config_expert_copies(const struct mfu_config *);

/* GPUs that the fabric joins: as many as the cluster says, fewer where the user
 * spreads the GPUs over more nodes than they need. */
double mfu_config_unit_gpus(const struct mfu_config *);

/* A coefficient as this scenario sees it, and its origin. */
double mfu_config_coefficient(const struct mfu_config *, enum mfu_coefficient);

/* Known dims of architectures in general: what a dim called `name` means, for
 * help and show; NULL when it is the model's own. */
const char *mfu_dim_meaning(const char *name);

/* The values that a key may have, whatever the other keys are. */
struct mfu_range {
    double least, most;
    bool whole;
};
struct mfu_range mfu_scenario_range(const struct mfu_scenario *, struct mfu_key);

#endif
