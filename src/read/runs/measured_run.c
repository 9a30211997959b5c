/*
 * measured_run.c - maps the columns of published runs to settings.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "read/runs/measured_run.h"
#include "read/runs/measured_reading.h"
#include "base/error.h"
#include "cost/collective.h"
#include "cost/cost.h"
#include "descriptor/catalog.h"
#include "descriptor/maker.h"
#include "scenario/adapter.h"
#include "scenario/key_names.h"
#include "scenario/keys.h"
#include "scenario/setting.h"

/* Whether seq_len is the longest that fits. */
static bool is_limit(const struct mfu_row *r)
{
    return mfu_cell_is(r, "outcome", "limit");
}

/* Whether the run trained; 0: its memory did not suffice; -1: neither is said. */
static int outcome(const struct mfu_row *r)
{
    const char *text = mfu_row_cell(r, "outcome");

    if (strcasestr(text, "not fit") || strcasestr(text, "n't fit") || strcasestr(text, "never fit")
        || mfu_says_word(text, "oom|out of memory") || mfu_same_letters(text, "OutOfMemoryError"))
        return 0;
    return mfu_says_word(text, "ran|ok|fits|fit|success|succeeded|trained|works|runs|completed|finished|passed|pass")
        ? 1
        : -1;
}

/* Whether no time is measured: only what fits. */
bool mfu_row_of_memory_alone(const struct mfu_row *r)
{
    return is_limit(r) || outcome(r) == 0;
}

/* The processor that the row names; that of a cluster of the same network it need not be. */
static bool choose_cpu(struct mfu_row *r)
{
    const char *text = mfu_row_cell(r, "cpu");
    int cpu = mfu_processor_find(text);

    if (*text && cpu == MFU_CPU_UNKNOWN)
        mfu_row_assume(r, "cpu=unknown for %s", text);
    return mfu_row_set(r, "cpu", mfu_processor_names[cpu]);
}

/* Compute capability from which a run of no stated year is taken for a recent one: Ampere (chosen; TransformerEngine d0067d0d
 * builds for Volta, too, build_tools/utils.py, but most of its runs are older). */
#define FIRST_USUAL_FOR_TE 8.0

/* A program whose layers are TransformerEngine's from that year on. */
static bool set_te(struct mfu_row *r)
{
    const struct mfu_trainer *t = &mfu_trainers[(int)r->run->scenario.setting[MFU_S_TRAINER]];
    struct mfu_config config;

    mfu_scenario_resolve(&r->run->scenario, &config, NULL);
    if (t->te_since == 0 || mfu_row_is_before(r, t->te_since)
        || ((r->year_open || !(config.setting[MFU_S_SOFTWARE] > 0))
            && config.gpu->compute_capability < FIRST_USUAL_FOR_TE))
        return true;
    return mfu_row_take(r, "trainer=%s: %s's default since %.0f", mfu_trainer_names[MFU_TRAINER_MEGATRON_TE], t->name,
                        t->te_since);
}

/* What is not said of attention and recomputation is what the trainer's published runs usually do. */
static bool set_attention(struct mfu_row *r)
{
    const struct mfu_trainer *t = &mfu_trainers[(int)r->run->scenario.setting[MFU_S_TRAINER]];
    bool in_parts = mfu_row_is_before(r, t->flash_since);
    struct mfu_config config;

    mfu_scenario_resolve(&r->run->scenario, &config, NULL);
    if (*mfu_row_cell(r, "attention") && mfu_config_dim(&config, "math_attention") > 0)
        return mfu_row_take(r, "attention=math: the model's code has no other than its parts");
    if (mfu_says_word(mfu_row_cell(r, "attention"), "te") && mfu_maker(config.gpu->vendor)->software == MFU_ROCM) {
        mfu_row_assume(r, "attention: TransformerEngine's choice for %s", mfu_row_cell(r, "attention"));
        return true;
    }
    if (*mfu_row_cell(r, "attention") && !*mfu_csv_get(r->csv, r->row, "attention")
        && !mfu_row_possible(r, "attention", mfu_row_cell(r, "attention"))) {
        mfu_row_assume(r, "attention: %s is not possible here", mfu_row_cell(r, "attention"));
        return true; /* what prose says may be of other cards, too */
    }
    if (*mfu_row_cell(r, "attention") || !(in_parts || (t->flash_since == 0 && mfu_row_before_fused_attention(r))))
        return mfu_row_translate(r, "attention", MFU_S_ATTENTION, "attention");
    if (in_parts)
        mfu_row_assume(r, "attention=math, usual for %s", t->name);
    else
        mfu_row_assume(r, "attention=math: PyTorch had no other before %s", MFU_FIRST_FUSED_ATTENTION);
    return mfu_row_set(r, "attention", "math");
}

/* The share of the layers that are computed again, by what hardware does over what the model needs, of which a forward is a
 * third; NAN where that is a part of each layer at most, or not stated. */
#define PART_OF_EACH 0.5 /* attention's products are no more (chosen) */

static double share_again(const struct mfu_row *r)
{
    double share = 3 * (mfu_cell_number(r, "hfu_pct") / mfu_cell_number(r, "mfu_pct") - 1);

    return share > PART_OF_EACH && (!*mfu_row_cell(r, "act_ckpt") || mfu_cell_is(r, "act_ckpt", "selective"))
        ? fmin(share, 1)
        : NAN;
}

#define ROUNDED 0.05 /* of a layer, in a share of percentages (chosen) */

/* Of so many layers that an act_ckpt says it computes one again: "every 2nd layer", "half", "50%", "1/2", and torchtitan's
 * "selective 2" (0.2.0, config/job_config.py: selective_ac_option); NAN: no share is said. */
static double layers_for_one(const char *text)
{
    const char *every = mfu_behind_said(text, "every"), *selective = mfu_behind(text, "selective|SAC");
    const char *percent = strchr(text, '%'), *number = percent;
    double some, all;
    int end = 0;

    if (mfu_says(text, "every other|every second|alternate|alternating|half"))
        return 2;
    if (every && sscanf(every, "%*[ -]%lf", &some) == 1)
        return some;
    if (selective && sscanf(selective, "%*[( -]%lf%n", &some, &end) == 1
        && strspn(selective + end, ") ") == strlen(selective + end))
        return some;
    while (percent && number > text && strchr("0123456789. ", number[-1]))
        number--;
    if (percent && sscanf(number, "%lf", &some) == 1 && some > 0)
        return 100 / some;
    return sscanf(text, "%lf / %lf", &some, &all) == 2 ? all / some : NAN;
}

/* So many of a stage's layers: "block 10" (Megatron's --recompute-method and --recompute-num-layers), "first 10 layers", "12
 * layers"; NAN: no number is said, or "uniform 1", which computes all again, or "selective", of which Megatron counts none. */
static double layers_said(const char *text)
{
    double said = mfu_number_said(text, "block|recompute num layers|num layers|first");

    return mfu_says(text, "uniform|every|of|but|except|excluding|selective|SAC") ? NAN
        : said >= 1                                                              ? said
                    : mfu_number_before(text, "layers|blocks");
}

/* "16 of 32 layers", "every 2nd layer" (in the notes "AC every 2nd layer": experts have such layers, too): the layers of
 * a stage that are computed again; else by HFU over MFU; NAN: nothing says so. */
static double layers_again(const struct mfu_row *r)
{
    const char *text = mfu_row_cell(r, "act_ckpt"), *noted = NULL;
    double some, all, stages = fmax(1, mfu_cell_number(r, "pp")) * fmax(1, mfu_cell_number(r, "vpp")), layers;
    struct mfu_config config;
    char unit[8];

    if (mfu_cell_is(r, "act_ckpt", "selective"))
        noted = mfu_behind_said(mfu_row_cell(r, "notes"),
                                "AC every|SAC every|selective every|checkpointing every|recompute every");
    mfu_scenario_resolve(&r->run->scenario, &config, NULL);
    layers = floor(mfu_config_dim(&config, "n_layer") / stages + ROUNDED);
    if (sscanf(text, "%lf of %lf layers", &some, &all) == 2) /* "1 of 4 layers" is each fourth */
        return floor(some / all * layers + ROUNDED);
    if (layers_said(text) >= 1)
        return fmin(layers_said(text), layers);
    some = layers_for_one(text);
    if (isnan(some) && (!noted || sscanf(noted, " %lf%2[a-z] layer", &some, unit) != 2))
        some = 1 / share_again(r);
    return some >= 1 ? floor(mfu_config_dim(&config, "n_layer") / stages / some + ROUNDED) : NAN;
}

/* Megatron's --recompute-modules in the notes ("recompute_modules=moe_act+layernorm") name what "selective" recomputes;
 * what is usual where nothing is said. */
static bool set_checkpoint(struct mfu_row *r)
{
    const char *modules = mfu_behind_said(mfu_row_cell(r, "notes"), "recompute_modules=");
    const struct mfu_trainer *t = &mfu_trainers[(int)r->run->scenario.setting[MFU_S_TRAINER]];
    enum mfu_checkpoint usual =
        t->selective_since > 0 && !mfu_row_is_before(r, t->selective_since) ? MFU_SELECTIVE : t->usual_checkpoint;
    static const char *const of_llmc[] = {"none", "selective", "full"}; /* train_gpt2.cu: GELU again; norms, too */
    const char *way = mfu_behind(mfu_row_cell(r, "act_ckpt"), "-r|-recompute");
    double layers = layers_again(r);
    char list[128];

    if (layers >= 1) {
        snprintf(list, sizeof list, "%.0f", layers);
        return mfu_row_take(r, "checkpoint=full, checkpoint_layers=%s: the first, for those that are named", list)
            && mfu_row_set(r, "checkpoint_layers", list);
    }
    if (modules && mfu_cell_is(r, "act_ckpt", "selective")) {
        snprintf(list, sizeof list, "%.*s", (int)strspn(modules, "abcdefghijklmnopqrstuvwxyz_+,"), modules);
        for (char *p = list; *p; p++)
            if (*p == '+')
                *p = ',';
        if (!mfu_row_take(r, "recompute_modules=%s, by the notes", list))
            return false;
    }
    way = way ? way + strspn(way, " =:") : "";
    if (mfu_runtimes[(int)r->run->scenario.setting[MFU_S_RUNTIME]].preallocates && *way >= '0' && *way <= '2'
        && !mfu_in_word(way[1]))
        return mfu_row_take(r, "checkpoint=%s, by llm.c's -r", of_llmc[*way - '0']);
    if (*mfu_row_cell(r, "act_ckpt") || !mfu_checkpoints[usual].recomputes)
        return mfu_row_translate(r, "act_ckpt", MFU_S_CHECKPOINT, "act_ckpt");
    return mfu_row_take(r, "checkpoint=%s, usual for %s", mfu_checkpoint_names[usual], t->name);
}

/* Who holds the optimizer's states, whether messages about them run beside what is computed, and the type in which gradients
 * are summed, where nothing says it: of a list of Megatron's options what it leaves out is off. */
static bool set_states(struct mfu_row *r)
{
    const double *set = r->run->scenario.setting;
    const struct mfu_trainer *t = &mfu_trainers[(int)set[MFU_S_TRAINER]];
    const char *notes = mfu_row_cell(r, "notes");
    bool shards = t->shards_states_since > 0 && !mfu_row_is_before(r, t->shards_states_since)
        && !mfu_row_denies(r, "distributed optimizer"),
         lists = mfu_says_together(notes, "distributed-optimizer", "") || strstr(notes, "flags:") != NULL;

    if (shards && set[MFU_S_GPUS] > 1 && !*mfu_row_cell(r, "sharding") && set[MFU_S_ZERO] == 0
        && !mfu_row_take(r, "zero=1, usual for %s", t->name))
        return false;
    r->overlap_open = shards && set[MFU_S_ZERO] == 1 && !lists && !t->overlaps_reduce
        && !mfu_row_denies(r, "overlap|overlapped|overlapping");
    if (r->overlap_open
        && (!mfu_row_take(r, "overlap_grad_reduce=on, usual for %s", t->name)
            || !mfu_row_set(r, "overlap_param_gather", "on")))
        return false;
    return !t->halves_sums || !mfu_precisions[(int)set[MFU_S_PRECISION]].half
        || mfu_where_said(r, "reduced in fp32|reduction in fp32|reductions in fp32|fp32 reduction|fp32 gradient")
        || mfu_row_take(r, "grad_reduce=bf16, usual for %s", t->name);
}

/* Self-supervised training of images compares views of them, mostly with a teacher's; that of text is the usual one. */
static bool check_views(struct mfu_row *r)
{
    const char *column = mfu_where_said(r, "self-supervised");
    bool views = mfu_model_dim_find(r->run->scenario.model, "image", NULL) >= 0;

    if (views && !column)
        column = mfu_where_said(r, "moco|byol|simclr|momentum encoder");
    return !column || !(views || mfu_where_said(r, "views|teacher|dino|dinov2|dinov3"))
        || mfu_row_skip(r, "views and a teacher beside the model: not modelled (%s)", column);
}

/* Photographs of a training are decoded beside it; a benchmark's are random numbers on the GPU. */
static bool set_loader(struct mfu_row *r)
{
    static const char none[] =
        "benchmark.py|synthetic|random data|random input|random tensor|random images|random noise|dummy|fake|"
        "no data loader",
                      real[] = "real|imagenet|laion|epochs|dali";
    const struct mfu_scenario *s = &r->run->scenario;
    const char *samples = mfu_model_samples(s->model);

    if (!samples || strcmp(samples, "images") != 0 || mfu_cell_number(r, "cached_latents") > 0
        || s->setting_given[MFU_S_DATALOADER] || mfu_where_said(r, none))
        return true;
    if (mfu_where_said(r, real))
        return mfu_row_take(r, "dataloader=jpeg, by the %s", mfu_where_said(r, real));
    r->loader_open = true;
    return true;
}

/* "adamw" alone is what the framework makes of it: PyTorch's multi-tensor loop, its default since 2.0, and a loop over
 * tensors before (torch/optim/adamw.py); elsewhere a fused kernel. */
#define FIRST_MULTI_TENSOR 2023

static const char *default_adamw(const struct mfu_row *r)
{
    const double *set = r->run->scenario.setting;
    struct mfu_config config;

    mfu_scenario_resolve(&r->run->scenario, &config, NULL);
    if (!mfu_runtimes[(int)config.setting[MFU_S_RUNTIME]].torch_default_optimizer
        || (int)set[MFU_S_TRAINER] == MFU_TRAINER_DEEPSPEED) /* FusedAdam */
        return "adamw";
    return mfu_row_is_before(r, FIRST_MULTI_TENSOR) ? "adamw-loop" : "adamw-foreach";
}

/* Sets an optimizer of matrices that the cell names, beside which another may have what is none ("Muon + AdamW"), with its bits
 * and its rank ("8-bit GaLore (rank 1024)").  1: none is named; -1: the row is skipped. */
static int set_matrix_optimizer(struct mfu_row *r, const char *text)
{
    double rank = mfu_number_said(text, "rank|r");
    char name[48] = "", narrow[64];

    for (int i = 0; i < MFU_OPTIMIZER_COUNT; i++)
        if (mfu_optimizers[i].matrices && mfu_says(text, mfu_optimizer_names[i])
            && strlen(mfu_optimizer_names[i]) > strlen(name))
            snprintf(name, sizeof name, "%s", mfu_optimizer_names[i]);
    if (!*name)
        return 1;
    if (mfu_says(text, "q galore|qgalore|q apollo")) {
        mfu_row_skip(r, "%s: weights of 8 bits that train are not modelled", text);
        return -1;
    }
    snprintf(narrow, sizeof narrow, "%s8bit", name);
    if (mfu_says(text, "8bit|8 bit") && mfu_setting_choice(MFU_S_OPTIMIZER, narrow, NULL) >= 0)
        memcpy(name, narrow, sizeof name);
    if (!mfu_same_letters(text, name))
        mfu_row_assume(r, "optimizer=%s for %s", name, text);
    return mfu_row_set(r, "optimizer", name)
            && (!(rank > 0 && mfu_optimizers[mfu_setting_choice(MFU_S_OPTIMIZER, name, NULL)].rank > 0)
                || mfu_row_set_number(r, "optimizer_rank", rank))
        ? 0
        : -1;
}

static bool set_optimizer(struct mfu_row *r)
{
    const char *cell = mfu_row_cell(r, "optimizer"),
               *text = mfu_behind(cell, "|torch.optim.|optim."); /* PyTorch's own */
    char words[MFU_MOST_SAID];                                   /* of "galore_adamw_8bit_layerwise" */
    static const char within[] = "in backward|layerwise|layer wise|per layer",
                      of_weights[] = "8 bit weights|8 bit base|8 bit model|8 bit quantized|8 bit quantised|8 bit "
                                     "gradients";
    char word[64];
    size_t n;
    int matrices, named;

    if (strcasecmp(text, "none") == 0)
        return mfu_row_skip(r, "optimizer 'none': a step without an update is not modelled");
    if (strchr(text, '(') && mfu_row_choice_of_all(MFU_S_OPTIMIZER, text, NULL) >= 0)
        return mfu_row_translate(r, "optimizer", MFU_S_OPTIMIZER, "optimizer");
    if (strstr(text, "DeepSpeed") && !mfu_row_set(r, "zero", "3"))
        return false;
    snprintf(word, sizeof word, "%.*s", (int)strcspn(text, "("), text); /* "adamw (in backward)" */
    for (n = strlen(word); n > 0 && word[n - 1] == ' ';)
        word[--n] = '\0';
    snprintf(words, sizeof words, "%s", text);
    for (char *c = words; *c; c++)
        *c = *c == '_' ? ' ' : *c;
    if (mfu_says(words, within) && !mfu_row_take(r, "optimizer_in_backward=on, by the optimizer"))
        return false;
    if ((matrices = set_matrix_optimizer(r, words)) != 1)
        return matrices == 0;
    if ((text[n] || mfu_setting_choice(MFU_S_OPTIMIZER, word, NULL) < 0) && mfu_says(words, "8 bit")
        && !mfu_says(words, of_weights)
        && (named = mfu_row_choice_in(MFU_S_OPTIMIZER, text)) >= 0) { /* "AdamW, 8-bit moments" */
        char narrow[64];

        snprintf(narrow, sizeof narrow, "%s8bit", mfu_optimizer_names[named]);
        if (mfu_setting_choice(MFU_S_OPTIMIZER, narrow, NULL) >= 0)
            return mfu_row_take(r, "optimizer=%s for %s", narrow, text);
    }
    if (text[n])
        mfu_row_assume(r, "optimizer=%s for %s", word, text);
    if (mfu_same_letters(word, "adamw") || mfu_same_letters(word, "adamw_torch")) {
        const char *name = text[n] && !mfu_says(words, within) ? "adamw" : default_adamw(r);

        if (strcmp(name, "adamw") != 0)
            mfu_row_assume(r, "optimizer=%s, PyTorch's default", name);
        return mfu_row_set(r, "optimizer", name);
    }
    if (text[n] && mfu_setting_choice(MFU_S_OPTIMIZER, word, NULL) >= 0)
        return mfu_row_set(r, "optimizer", word);
    /* Composer's own: a loop over (flattened) parameters, and its trainer around it, with callbacks, streaming data and two
     * metrics of the logits. */
    if (mfu_same_letters(text, "decoupled_adamw")
        && !(mfu_row_take(r, "train_metrics=2 and step.constant=40ms for Composer's trainer")
             && mfu_row_set(r, "step.constant", "40ms")))
        return false;
    return mfu_row_translate(r, "optimizer", MFU_S_OPTIMIZER, "optimizer");
}

/* What is said to be in the host's memory; NULL: nothing, or what is not modelled.  DeepSpeed's CPU offload is of the
 * optimizer, FSDP's of the weights, too. */
static const char *offload_said(const struct mfu_row *r)
{
    bool whole = mfu_where_said(r, "CPU offload") != NULL;

    if (mfu_where_said(r, "offload of") || mfu_cell_is(r, "compile", "llmq"))
        return NULL;                                                /* of a part of the layers, say */
    whole |= mfu_says_word(mfu_row_cell(r, "sharding"), "offload"); /* "zero2-offload", "deepspeed_stage_3_offload" */
    if (mfu_where_said(r, "optimizer offload|optim offload|adam offload|cpu adam|cpuadam|deepspeedcpuadam")
        || (whole
            && (strcasestr(mfu_row_cell(r, "sharding"), "zero") || strcasestr(mfu_row_cell(r, "sharding"), "stage"))))
        return "offload_optimizer";
    if (whole && strncasecmp(mfu_row_cell(r, "sharding"), "fsdp", 4) == 0)
        return "offload_params";
    return mfu_where_said(r, "activation offload") ? "offload_activations" : NULL;
}

/* Stage 3 with its offload by one word: transformers' and LLaMA-Factory's configurations of that name move both. */
static bool offload_whole(const struct mfu_row *r)
{
    const char *text = mfu_row_cell(r, "sharding"), *known = mfu_sharding_in(text);

    return known && strcmp(known, "zero3") == 0 && mfu_says_word(text, "offload");
}

static bool set_act_offload(struct mfu_row *r)
{
    const char *text = mfu_row_cell(r, "act_offload");

    if (!*text && mfu_says_word(mfu_row_cell(r, "act_ckpt"), "offload|offloads|offloaded|offloading"))
        return mfu_row_take(r, "offload_activations=on, by the recomputation");
    if (mfu_cell_empty(r, "act_offload") || mfu_switch_in(text) == 0)
        return true;
    if (mfu_switch_in(text) < 0 && strcasecmp(text, "cpu") != 0 && !(mfu_cell_number(r, "act_offload") > 0))
        return mfu_row_skip(r, "act_offload '%.40s' is not known", text);
    return mfu_row_set(r, "offload_activations", "on");
}

/* What is in the host's memory, by its words: "optimizer and gradients" (which are there while the CPU updates), "params". */
static bool set_offload_parts(struct mfu_row *r, const char *text)
{
    static const struct {
        const char *begin, *key;
    } parts[] = {{"optim", "offload_optimizer"}, {"grad", "offload_optimizer"}, {"param", "offload_params"},
                 {"weight", "offload_params"},   {"model", "offload_params"},   {"activ", "offload_activations"}};
    struct mfu_scenario as_it_stands = r->run->scenario;
    bool found = false;

    if (mfu_scenario_set(&as_it_stands, "offload", text, NULL) == 0)
        return mfu_row_set(r, "offload", text);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!mfu_says_together(text, parts[i].begin, ""))
            continue;
        found = true;
        if (!mfu_row_take(r, "%s=on for cpu_offload %s", parts[i].key, text))
            return false;
    }
    return found || mfu_row_set(r, "offload", text);
}

/* The column of what is in the host's memory; that there is something is read as the sharding has it. */
static bool set_offload_column(struct mfu_row *r)
{
    static const char whole[] = "full|all|everything",
                      label[] = "offload|offloading|offloaded|cpu offload|cpu offloading";
    const char *text = mfu_row_cell(r, "cpu_offload"), *sharding = mfu_row_cell(r, "sharding"),
               *named = mfu_behind(text, whole), *bare = mfu_behind(text, label);
    bool on = mfu_option_in(text) == 1 && strcasestr(text, "cpu_offload"); /* of nothing more */

    if (mfu_cell_empty(r, "cpu_offload") || mfu_switch_in(text) == 0 || mfu_option_in(text) == 0
        || mfu_says_not(text, label) || strcasecmp(text, "disabled") == 0)
        return true;
    if (named && !*named)
        return mfu_row_take(r, "offload_optimizer=on for cpu_offload %s", text)
            && mfu_row_set(r, "offload_params", "on");
    if (mfu_switch_in(text) < 0 && strcasecmp(text, "cpu") != 0 && !(bare && !*bare) && !on)
        return set_offload_parts(r, text);
    if (!mfu_row_take(r, "offload_optimizer=on for cpu_offload %s", text))
        return false;
    sharding = mfu_sharding_in(sharding);
    return !sharding
        || (strcmp(sharding, "zero3") != 0 && strcmp(sharding, "fsdp-full") != 0
            && strcmp(sharding, "shard_grad_op") != 0)
        || mfu_row_set(r, "offload_params", "on");
}

static bool check_said(struct mfu_row *r)
{
    for (size_t i = 0; i < mfu_said_count; i++) {
        const char *column = mfu_said[i].key ? NULL : mfu_where_said(r, mfu_said[i].phrase);

        if (!column || (mfu_said[i].unless == MFU_UNLESS_ADAPTER && *mfu_row_method(r))
            || (mfu_said[i].unless == MFU_UNLESS_OFFLOAD && (offload_said(r) || !mfu_cell_empty(r, "cpu_offload"))))
            continue;
        if (mfu_said[i].unless == MFU_UNLESS_OFFLOAD)
            return mfu_row_skip(r,
                                mfu_where_said(r, "offload of") ? "offload of a part of the layers: not modelled (%s)"
                                    : mfu_cell_is(r, "compile", "llmq")
                                    ? "llmq's offload to the CPU: not modelled (%s)"
                                    : "offload to the CPU: it is not stated of what (%s)",
                                column);
        return mfu_row_skip(r,
                            mfu_said[i].unless == MFU_UNLESS_ADAPTER
                                ? "%s: neither the column method nor a rank in the notes states them (%s)"
                                : "%s: not modelled (%s)",
                            mfu_said[i].what, column);
    }
    if (mfu_cell_number(r, "lora_rank") > 0 && !*mfu_row_method(r))
        return mfu_row_skip(r, "adapters whose method is not stated (lora_rank)");
    if (!set_act_offload(r))
        return false;
    if (offload_said(r) && !mfu_row_take(r, "%s=on, by what is said", offload_said(r)))
        return false;
    if (offload_whole(r)
        && !mfu_row_take(r, "offload_params=on, by the sharding: both in usual configurations of stage 3"))
        return false;
    return set_offload_column(r);
}

/* The schedule that notes name as that of a pipeline: "schedule ZB-1p", "interleaved PP=2", "1F1B pipeline"; -1. */
static int schedule_said(const char *notes, const char *behind)
{
    const char *const *names = mfu_settings[MFU_S_SCHEDULE].choices;
    int choice;

    if (behind && mfu_choice_at(MFU_S_SCHEDULE, 0, behind, &choice))
        return choice;
    for (int i = 0; names[i]; i++) {
        char phrase[160];

        snprintf(phrase, sizeof phrase, "%s schedule|%s pipeline|%s pp", names[i], names[i], names[i]);
        if (mfu_says(notes, phrase))
            return i;
    }
    return -1;
}

/* One that has no name here is noted. */
static bool set_schedule(struct mfu_row *r)
{
    const char *notes = mfu_row_cell(r, "notes"), *name,
               *at = mfu_place_said(notes, notes, "schedule|pp engine|pipeline engine", &name);
    int choice, length;

    if (r->run->scenario.setting[MFU_S_PP] <= 1)
        return true;
    if (at) {
        name += strspn(name, " :=");
        name += strncmp(name, "is ", 3) == 0 ? 3 : 0;
    }
    if ((choice = schedule_said(notes, at ? name : NULL)) >= 0)
        return mfu_row_take(r, "schedule=%s, by the notes", mfu_settings[MFU_S_SCHEDULE].choices[choice]);
    if (!at)
        return true;
    length = (int)strcspn(name, " ,;.()");
    while (at > notes && at[-1] == ' ')
        at--;
    if (length > 0 && (at == notes || strchr(",;", at[-1]))) /* else that of something, as of the learning rate */
        mfu_row_assume(r, "schedule: '%.*s' is not modelled", length < 20 ? length : 20, name);
    return true;
}

/* How far attention sees, and documents in a sequence, of whose lengths nothing is known, by the notes. */
static bool set_masks(struct mfu_row *r)
{
    const char *notes = mfu_row_cell(r, "notes");
    double window = mfu_number_said(
        notes, "sliding window|sliding window of|sliding window attention|attention window|window size");

    if (mfu_says(notes, "document masking|document mask|document masks|block diagonal mask")
        && !r->run->scenario.setting_given[MFU_S_DOC_LEN])
        mfu_row_assume(r, "attention over whole sequences: how long documents are is not stated");
    if (!(window >= 1) || window != floor(window) || !mfu_cell_empty(r, "window"))
        return true;
    if (mfu_scenario_key(&r->run->scenario, "window", NULL).kind != MFU_KEY_NONE)
        return mfu_row_take(r, "window=%.0f, by the notes", window);
    mfu_row_assume(r, "a window of %.0f tokens: not modelled of %s", window, r->run->scenario.model->slug);
    return true;
}

/* A column that is called as a setting, a coefficient, or a dimension that models have in common ("step" is one of some models'
 * sections alone) and is not one of the table's own sets it. */
static bool set_keys(struct mfu_row *r)
{
    for (size_t c = 0; c < r->csv->n_columns; c++) {
        const char *name = r->csv->header[c], *text = mfu_row_cell(r, name);
        size_t n = strlen(name);
        struct mfu_key key;

        if (mfu_measured_is_column(name) || mfu_cell_empty(r, name))
            continue;
        if (strncasecmp(text, name, n) == 0 && strchr(":=", text[n])
            && text[n]) /* "fsdp: no" in a column of that name */
            text += n + 1 + strspn(text + n + 1, " ");
        key = mfu_key_find_set(r->run->scenario.model, name, text, NULL);
        if (key.kind != MFU_KEY_NONE && mfu_key_known(mfu_key_name(&r->run->scenario, key))
            && !mfu_row_set(r, name, text))
            return false;
    }
    return true;
}

/* A program's own test of the network before it trains, ten calls in a row, and a barrier: an all-reduce, and an
 * all-gather with a list of outputs, which are copied out of one buffer.  Source: nanotron 67c5ebb6, trainer.py
 * (measure_bandwidth).  In one machine the all-reduce tells more, beyond it the all-gather, which meets nobody. */
#define TEST_BYTES 0x1p30

/* The row's machine by its files alone: a calibration is of the user's, and what a row says must not hang on it.  False:
 * it has none, which is said later, or out of memory. */
static bool published_machine(struct mfu_row *r, struct mfu_machine *m)
{
    struct {
        struct mfu_config config;
        struct mfu_gpu gpu;
    } *as = malloc(sizeof *as);
    struct mfu_error err = {0};
    bool made = as && mfu_scenario_resolve(&r->run->scenario, &as->config, &err) == 0;

    if (made) {
        as->gpu = *as->config.gpu;
        as->gpu.coefficients = *mfu_catalog_prior(r->catalog, as->config.gpu);
        as->config.gpu = &as->gpu;
        mfu_machine_make(&as->config, m);
    }
    free(as);
    return made;
}

/* Where the rate of the program's own test is nearer to that of collectives that are checked
 * first than to that of others.  The GPU hides most of the checks, or they of it: 8, 16, 32 and 64
 * GPUs measure the root of the sum of squares (3.9, 6.1, 10.7 and 19.8 ms). */
static bool set_debug(struct mfu_row *r)
{
    const char *test = strstr(mfu_row_cell(r, "notes"), "collective bandwidth GB/s");
    double ranks = r->run->scenario.setting[MFU_S_GPUS], gpu_s, checks_s, measured_s;
    enum mfu_collective_kind op;
    struct mfu_machine m;
    struct mfu_group group;

    if (!test || !(ranks > 1) || !published_machine(r, &m))
        return true;
    group = mfu_group_of(ranks, m.topology.unit_gpus);
    op = group.units > 1 ? MFU_ALL_GATHER : MFU_ALL_REDUCE;
    gpu_s = mfu_collective_s(&m, &group, op, TEST_BYTES);
    if (op == MFU_ALL_GATHER)
        gpu_s += 2 * TEST_BYTES / (m.bandwidth_bytes_s * m.c[MFU_C_DRAM_ATTAIN]);
    checks_s = mfu_check_s(&m, group);
    measured_s =
        mfu_bus_factor(op, ranks) * TEST_BYTES / (mfu_number_said(test, op == MFU_ALL_GATHER ? "AG" : "AR") * 1e9);
    if (!(measured_s > (gpu_s + hypot(checks_s, gpu_s)) / 2))
        return true;
    return mfu_row_take(r, "distributed_debug=detail, by the notes: its own test of collectives");
}

/* Links that reach less than this share of what the card's do in the program's own test are not those (chosen). */
#define BROKEN_LINKS 0.5

/* Bytes per second of an all-reduce between the GPUs of a node, by notes in GB/s: "intra-node all-reduce 33 GB/s",
 * "bandwidth in GB/s: intra-node AR 33.0 AG 30.1"; NAN: not said. */
static double reduced_in_node(const char *notes)
{
    const char *node = mfu_behind_said(notes, "intra-node|NVLink test"), *heading = strstr(notes, "GB/s"),
               *at = node ? mfu_behind_said(node, "all-reduce|AR") : NULL;
    double rate;
    char *unit;

    if (!at || at > node + strcspn(node, ",;("))
        return NAN;
    rate = strtod(at + strcspn(at, "0123456789,;("), &unit);
    unit += strspn(unit, " ");
    return rate > 0 && (strncmp(unit, "GB/s", 4) == 0 || (heading && heading < node)) ? rate * 1e9 : NAN;
}

/* Where a test of collectives says that the GPUs of a node had no working NVLink, as fast as it found them. */
static bool set_links(struct mfu_row *r)
{
    double links = r->run->scenario.gpu->nvlink_bytes_s / 2, share = reduced_in_node(mfu_row_cell(r, "notes")) / links;
    double least = mfu_coefficient_rows[MFU_C_LINK_NVLINK].least;
    char text[32];

    if (!(share < BROKEN_LINKS))
        return true;
    snprintf(text, sizeof text, "%.3f", fmax(least, share));
    return mfu_row_take(r, "link.nvlink=%s, by the notes: a test of collectives%s", text,
                        share < least ? ", which is below what may be set" : "")
        && mfu_row_set(r, "link.nvls", text);
}

/* Whether the source is of a time when the program ran other kernels than those of its runtime. */
static bool check_program(struct mfu_row *r)
{
    const struct mfu_runtime *runtime = &mfu_runtimes[(int)r->run->scenario.setting[MFU_S_RUNTIME]];
    const char *month = runtime->since ? mfu_first_month(mfu_row_cell(r, "source")) : NULL;

    if (!month || strncmp(month, runtime->since, 7) >= 0)
        return true;
    return mfu_row_skip(r, "%s of %.7s: runtime %s models its kernels from %s on", mfu_row_cell(r, "compile"), month,
                        runtime->name, runtime->since);
}

/* Indices' gradients of halves are up to 40 times slower before (pytorch#76996 of May 2022, in 1.13). */
#define FIRST_FAST_HALVES 2023

/* The column of the software: the map, one runtime, or words that are looked up one by one. */
static bool set_stack(struct mfu_row *r, const char *words)
{
    const char *text = mfu_row_stack(r);
    const struct mfu_trainer *t = &mfu_trainers[(int)r->run->scenario.setting[MFU_S_TRAINER]];

    if (*text == '\0' && t->runtime != mfu_settings[MFU_S_RUNTIME].initial) { /* it follows */
        mfu_row_assume(r, "runtime=%s, as %s does", mfu_runtimes[t->runtime].name, t->name);
        return true;
    }
    return mfu_row_has_word(words, text) || mfu_setting_choice(MFU_S_RUNTIME, text, NULL) >= 0
        ? mfu_row_translate(r, text == mfu_row_cell(r, "compile") ? "compile" : "framework", MFU_S_RUNTIME, words)
        : mfu_row_set_software_words(r, "compile", text);
}

/* Logits of 16-bit weights, which autocast does not widen, a loop of one's own widens itself: logits.float() (NeMo Automodel,
 * components/loss/masked_ce.py: fp32_upcast; transformers 4.57, loss_utils.py; torchtitan v0.2.2, components/loss.py). */
static bool set_own_loss(struct mfu_row *r)
{
    const double *set = r->run->scenario.setting;
    bool halves = mfu_precisions[(int)set[MFU_S_PRECISION]].pure || mfu_bases[(int)set[MFU_S_BASE]].half;

    if (!mfu_runtimes[(int)set[MFU_S_RUNTIME]].layers_only || !halves
        || mfu_scenario_key(&r->run->scenario, "upcast_logits", NULL).kind == MFU_KEY_NONE)
        return true;
    return mfu_row_take(r, "upcast_logits=1: the loss of 16-bit weights is the loop's own");
}

/* Scaled products of few bits where nothing is said of the software: eager PyTorch has none, so that they are
 * TransformerEngine's, and torchao's in torchtitan, which wants them compiled (docs/float8.md). */
static bool set_scaled(struct mfu_row *r)
{
    const double *set = r->run->scenario.setting;

    if (*mfu_row_stack(r) || set[MFU_S_RUNTIME] != mfu_settings[MFU_S_RUNTIME].initial
        || !(mfu_precisions[(int)set[MFU_S_PRECISION]].kernels > 0))
        return true;
    if (mfu_trainers[(int)set[MFU_S_TRAINER]].compiles_layers
        || mfu_says_word(mfu_row_cell(r, "precision"), "torchao|ao|float|tensorwise|rowwise|int"))
        return mfu_row_take(r, "runtime=compile, usual for torchao's products");
    if (set[MFU_S_TRAINER] != mfu_settings[MFU_S_TRAINER].initial || !mfu_row_possible(r, "runtime", "te"))
        return true;
    return mfu_row_take(r, "runtime=te: its precision is TransformerEngine's, and no program is stated");
}

/* apex's second level: weights in 16 bits beside masters. */
static bool says_o2(const struct mfu_row *r)
{
    return mfu_says_word(mfu_row_cell(r, "precision"), "o2");
}

/* TensorFlow lays images out anew for convolutions in 16 bits (core/grappler/optimizers/generic_layout_optimizer.cc). */
static bool set_layout_of_images(struct mfu_row *r)
{
    const struct mfu_scenario *s = &r->run->scenario;

    return !mfu_precisions[(int)s->setting[MFU_S_PRECISION]].half
        || mfu_scenario_key(s, "channels_last", NULL).kind == MFU_KEY_NONE
        || !(mfu_says_word(mfu_row_cell(r, "compile"), "tensorflow|tf")
             || mfu_says_word(mfu_row_cell(r, "framework"), "tensorflow|tf"))
        || mfu_row_take(r, "channels_last=1, as TensorFlow does in 16 bits");
}

static bool set_runtime(struct mfu_row *r)
{
    const char *stack = mfu_row_cell(r, "compile");
    bool functions = mfu_same_letters(r->run->scenario.model->family, "transfo_xl");

    if (mfu_same_letters(stack, "llmq") && mfu_cell_is(r, "act_ckpt", "full"))
        return mfu_row_skip(r, "llmq's recomputation of whole blocks is not modelled: runtime llmc has llm.c's -r");
    /* XLA's kernels are taken for inductor's: both merge what changes elements with its readers, and leave products and
     * attention to libraries. */
    if (!(r->run->other_compiler ? mfu_row_take(r, "runtime=compile: XLA merges pointwise kernels and norms, too")
                                 : set_stack(r, functions ? "compile of functions" : "compile"))
        || !mfu_row_translate(r, "precision", MFU_S_PRECISION, "precision") || !set_scaled(r) || !mfu_row_set_year(r)
        || !set_te(r) || !set_layout_of_images(r) || !set_attention(r) || !set_checkpoint(r) || !set_states(r))
        return false;
    if (functions && says_o2(r) && !(r->run->scenario.setting[MFU_S_SOFTWARE] >= FIRST_FAST_HALVES))
        return mfu_row_skip(r, "indices' gradients in halves before PyTorch 1.13: not modelled");
    return check_program(r) && set_optimizer(r) && (!says_o2(r) || mfu_row_set(r, "half_weights", "on"));
}

/* As stated, or the model's own. */
static double sequence(const struct mfu_row *r)
{
    const struct mfu_model *m = r->run->scenario.model;
    double stated = mfu_cell_number(r, "seq_len"), values[MFU_MAX_DIMS];
    int dim = m ? mfu_model_dim_find(m, "seq", NULL) : -1;

    if (!isnan(stated) || dim < 0)
        return stated;
    mfu_model_dim_values(m, values);
    return values[dim];
}

/* A batch of so many tokens in the notes, fairseq's --max-tokens; of two in brackets the second is that of fp32, which has no
 * room for the first. */
static bool set_batch_of_tokens(struct mfu_row *r)
{
    double first, second;
    const char *at = mfu_behind_said(mfu_row_cell(r, "notes"), "max tokens per GPU|max tokens");
    int n = at ? sscanf(at, "%*[ :=(_-]%lf, %lf)", &first, &second) : 0;

    if (!r->run->batch_open || n <= 0 || !(first >= 1))
        return true;
    if (n == 2 && second >= 1 && mfu_cell_is(r, "precision", "fp32"))
        first = second;
    r->run->batch_open = false;
    r->batch_of_tokens = true;
    return mfu_row_take(r, "batch=%.0f: %.0f tokens, by the notes", fmax(1, floor(first / sequence(r))), first);
}

/* "lengths 3234±2547 tokens" in the notes: of documents, each padded to the longest of its batch. */
static bool set_lengths(struct mfu_row *r)
{
    const char *at = mfu_behind_said(mfu_row_cell(r, "notes"), "lengths");
    double mean, spread;

    if (!at || sscanf(at, " %lf±%lf tokens", &mean, &spread) != 2 || !(mean > 0) || !(spread >= 0))
        return true;
    mfu_row_assume(r, "doc_len=%.0f and doc_sigma by their spread, by the notes", mean);
    return mfu_row_set_number(r, "doc_len", mean)
        && mfu_row_set_number(r, "doc_sigma", fmin(3, sqrt(log1p(spread * spread / (mean * mean)))))
        && mfu_row_take(r, "padding=longest");
}

/* A rate over a whole run counts what a timer inside the loop leaves out, such as timm's zero_grad() (benchmark.py
 * 0dbd9352): where both are stated and so near each other, the rate is the step's. */
#define BESIDE_A_TIMER 0.02

#define MOST_TFLOPS 1e6 /* more is no rate of one GPU, as measured_cells.c says */

/* Whether notes say how many hours or days some tokens or steps took: "82432 GPU hours for 1T tokens", "30B tokens in 14
 * hours", "24 days for 400K steps". */
static bool says_hours_of(const char *notes)
{
    static const char *const units[] = {"hours", "days"},
                             *const amounts[] = {"tokens", "steps", "updates", "iterations"};

    for (size_t u = 0; u < sizeof units / sizeof *units; u++)
        for (const char *at = strcasestr(notes, units[u]); at; at = strcasestr(at + 1, units[u])) {
            const char *from = at, *to = at + strlen(units[u]), *word;
            size_t n;

            while (from > notes && !strchr(",;(", from[-1]))
                from--;
            n = strcspn(from, ",;)");
            if (n < (size_t)(to - from) || strncasecmp(from, "per ", 4) == 0)
                continue;
            for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++)
                if ((word = strcasestr(from, amounts[i])) && word < from + n
                    && (word > at ? strncasecmp(to, " for ", 5) == 0 || strncasecmp(to, " per ", 5) == 0
                                  : strncasecmp(word + strlen(amounts[i]), " in ", 4) == 0))
                    return true;
        }
    return false;
}

static void read_time(struct mfu_row *r)
{
    struct mfu_measured_run *run = r->run;
    const double *set = run->scenario.setting;
    static const struct {
        const char *phrase, *time;
    } others[] = {{"lengths vary", "sequences of many lengths"},
                  {"variable lengths", "sequences of many lengths"},
                  {"seq_len is the maximum", "sequences of many lengths"},
                  {"average of the whole run", "a whole run, its start included"}};
    double rate = mfu_cell_number(r, "tokens_per_s");
    double samples = set[MFU_S_BATCH] * set[MFU_S_ACCUM] * mfu_row_replicas(set);
    double sampled_s = samples / mfu_cell_number(r, "samples_per_s");

    if (isnan(rate))
        rate = mfu_cell_number(r, "tokens_per_s_gpu") * set[MFU_S_GPUS];
    if (isnan(rate)
        && mfu_says(mfu_row_cell(r, "notes"),
                    "samples_per_s is tokens|samples_per_s are tokens|samples are tokens|sample is a token")) {
        rate = mfu_cell_number(r, "samples_per_s");
        sampled_s = NAN;
    }
    run->seq = sequence(r);
    run->step_s = mfu_cell_number(r, "step_time_ms") * 1e-3;
    run->by_rate = isnan(run->step_s);
    if (isnan(run->step_s) && rate > 0)
        run->step_s = samples * run->seq / rate;
    if (isnan(run->step_s)
        || fabs(sampled_s / run->step_s - 1) < BESIDE_A_TIMER) /* 0 would be refused: a rate is above it */
        run->step_s = sampled_s;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (mfu_says(mfu_row_cell(r, "notes"), others[i].phrase)) {
            run->step_s = NAN;
            mfu_row_assume(r, "the time of %s: not compared", others[i].time);
            break;
        }
    if (!(rate > 0) && !run->batch_open && mfu_cell_number(r, "seq_len") > 0
        && !(mfu_cell_empty(r, "grad_accum") && mfu_cell_empty(r, "global_batch"))) /* micro-steps are known, too */
        rate = samples * run->seq / run->step_s;
    if (!run->gpus_open)
        run->rate_tokens = rate / set[MFU_S_GPUS];
    run->whole = says_hours_of(mfu_row_cell(r, "notes"));
    /* A whole model with a wrong rate is no smaller one: something has to speak of layers, or cut them into stages. */
    run->layers_open = mfu_cell_empty(r, "n_layer")
        && (mfu_cell_number(r, "pp") > 1 || strcasestr(mfu_row_cell(r, "notes"), "layer")
            || strcasestr(mfu_row_cell(r, "model"), "layer") || mfu_says(mfu_row_cell(r, "model"), "proxy"));
    run->mfu = mfu_cell_number(r, "mfu_pct") / 100;
    run->hfu = mfu_cell_number(r, "hfu_pct") / 100;
    if ((rate = mfu_cell_number(r, "model_tflops_gpu")) > 0 && rate <= MOST_TFLOPS)
        run->rate_flops = rate * 1e12;
    run->mfu_peak_flops = mfu_cell_number(r, "mfu_peak_tflops") * 1e12;
    snprintf(run->mfu_convention, sizeof run->mfu_convention, "%s", mfu_row_cell(r, "mfu_convention"));
}

/* A step of which neither tokens nor sequences are stated has any number of them, unless its time and its rate say how many
 * sequences of the usual length they are; so has no rate.  Images are of the model's size. */
static bool check_tokens(struct mfu_row *r)
{
    struct mfu_measured_run *run = r->run;
    const struct mfu_model *model = run->scenario.model;
    bool images = model && mfu_model_dim_find(model, "image", NULL) >= 0;
    double sequences = run->rate_tokens * run->step_s / run->seq;

    if (!r->run->batch_open || r->run->by_rate || (images && !isnan(r->run->rank_batch))
        || !mfu_cell_empty(r, "seq_len") || !mfu_cell_empty(r, "tokens") || !mfu_cell_empty(r, "img_size"))
        return true;
    if (!images && round(sequences) >= 1 && fabs(sequences / round(sequences) - 1) < BESIDE_A_TIMER) {
        run->rank_batch = round(sequences);
        mfu_row_assume(r, "%g sequences of %g tokens in a step of each GPU, by its time and its rate", run->rank_batch,
                       run->seq);
        return true;
    }
    return mfu_row_skip(r, "neither the micro-batch nor the length of its sequences is stated, but a step's time");
}

/* The allocator reserves at most this many times the peak of a step (emulated 1.08-1.26, DeepSpeed's loops 1.31). */
#define MOST_RESERVED 1.5

static void read_memory(struct mfu_row *r)
{
    struct mfu_measured_run *run = r->run;
    const char *notes = mfu_row_cell(r, "notes"), *basis = mfu_row_cell(r, "mem_basis");

    run->allocated_bytes = mfu_cell_number(r, "mem_allocated_gib") * 0x1p30;
    run->reserved_bytes = mfu_cell_number(r, "mem_reserved_gib") * 0x1p30;
    run->params_m = mfu_cell_number(r, "params_m");
    run->trainable_m = mfu_cell_number(r, "trainable_m");
    run->limit = is_limit(r);
    if (run->limit && mfu_cell_empty(r, "seq_len"))
        mfu_row_skip(r, "the longest sequence is not stated (seq_len)");
    run->ran = outcome(r);
    run->reserved_is_smi =
        mfu_says(notes, "nvidia-smi|nvml|device memory usage") || mfu_says(basis, "nvidia-smi|unstated");
    run->of_last_rank = mfu_says(notes, "last rank");
    if (mfu_says(basis, "unstated"))
        mfu_row_assume(r, "the memory is what nvidia-smi shows: its basis is not stated");
    if (!run->reserved_is_smi && run->reserved_bytes > MOST_RESERVED * run->allocated_bytes) {
        mfu_row_assume(r, "mem_allocated_gib %s is not used: no peak of a step, %s are reserved",
                       mfu_row_cell(r, "mem_allocated_gib"), mfu_row_cell(r, "mem_reserved_gib"));
        run->allocated_bytes = NAN;
    }
    if (mfu_cell_is(r, "compile", "llmq")) { /* llm.c's layout is not its */
        run->allocated_bytes = run->reserved_bytes = NAN;
        run->ran = -1;
        run->memory_apart = true;
        mfu_row_assume(r, "memory of llmq is not modelled: not compared");
        return;
    }
    if (run->other_compiler && !isnan(run->reserved_bytes)) {
        run->reserved_bytes = NAN;
        mfu_row_assume(r, "reserved memory is not compared: XLA takes it in advance");
    }
    if (mfu_says(notes, "upper bound")) {
        run->allocated_bytes = run->reserved_bytes = NAN;
        mfu_row_assume(r, "memory is an upper bound: not compared");
    }
}

void mfu_measured_run(struct mfu_catalog *catalog, const struct mfu_csv *csv, size_t row, struct mfu_measured_run *run)
{
    struct mfu_row r = {.catalog = catalog, .csv = csv, .row = row, .run = run};

    memset(run, 0, sizeof *run);
    run->scenario = mfu_scenario_start(NULL, NULL);
    run->step_s = run->mfu = run->hfu = run->mfu_peak_flops = run->allocated_bytes = run->reserved_bytes = NAN;
    run->params_m = run->trainable_m = run->seq = run->rank_batch = run->rate_flops = run->rate_tokens = NAN;
    run->ran = run->seq_dim = -1;
    run->least_count = run->most_count = 1;
    mfu_row_read_numbers(&r);
    if (outcome(&r) == 0) {
        snprintf(r.failed, sizeof r.failed, "%s", mfu_row_cell(&r, "notes"));
        mfu_forget_errors(r.failed);
    }
    mfu_row_read_method(&r);
    mfu_row_fill(&r);
    run->other_compiler = mfu_row_on_xla(&r);
    if (mfu_row_check_numbers(&r) && mfu_row_choose_gpu(&r) && check_said(&r) && mfu_row_set_layout(&r)
        && mfu_row_choose_cluster(&r) && choose_cpu(&r) && mfu_row_choose_model(&r) && check_views(&r)
        && mfu_row_set_dims(&r) && set_batch_of_tokens(&r) && mfu_row_set_program(&r, false) && set_runtime(&r)
        && mfu_row_set_transformers(&r) && mfu_row_set_adapters(&r) && mfu_row_set_program(&r, true)
        && mfu_row_set_usual_sp(&r) && mfu_row_set_engine(&r) && set_lengths(&r) && mfu_row_set_beside_method(&r)
        && mfu_row_set_said(&r) && set_own_loss(&r) && set_schedule(&r) && set_masks(&r) && set_keys(&r)
        && mfu_row_split_dims(&r) && set_links(&r) && set_debug(&r) && set_loader(&r))
        mfu_row_check_words(&r);
    read_time(&r);
    read_memory(&r);
    if (run->card != MFU_CARD_STATED)
        run->step_s = run->mfu = run->hfu = run->rate_flops = NAN;
    if (run->card == MFU_CARD_OPEN)
        run->ran = -1;
    if (check_tokens(&r) && !run->skipped[0]) {
        mfu_row_check_twice(&r);
        mfu_row_leave_open(&r);
    }
}
