/*
 * measured_open.c - what a row leaves open, though it decides much.
 *
 * Where a cell is empty, a run of this program usually has what is assumed; it may have had something else.  A row of the
 * table says what, and how surprising that would be: -log of how much less usual it is (chosen), INFINITY where it only
 * widens the interval.  The first row of a key that holds for the program counts.
 */
#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "read/runs/measured_run.h"
#include "read/runs/measured_reading.h"
#include "descriptor/gpu.h"
#include "descriptor/model.h"
#include "scenario/adapter.h"

/* What a row of the table holds for: a program of which the column says nothing, or, from COPIES on, whatever that says. */
// clang-format off
enum program {
    ANY, PYTORCH, ENGINE, MEGATRON, WHOLE_LAYERS, TITAN, PIPELINE, ADAPTED, BEFORE_FLASH, FIRST_FLASH,
    COPIES, UNKNOWN_STACK, PLAIN_BF16, STAGE_3, FILLS_PIPELINE, UNKNOWN_NODE, UNKNOWN_COUNT, PHOTOGRAPHS,
    BESIDE
};
// clang-format on

#define COUNTS                                                                                                         \
    {"8", 1}, {"4", 1.3}, {"2", 1.5}, {"16", 1.2}, {"64", 1.4}, {"256", 1.6},                                          \
    {                                                                                                                  \
        "1024", 1.8                                                                                                    \
    } /* of GPUs */

static const struct {
    enum program of;
    struct mfu_open open;
} opens[] = {
    {BESIDE,
     {.column = "sharding",
      .key = "overlap_grad_reduce",
      .values = {{"off", INFINITY}},
      .with_key = "overlap_param_gather",
      .with_value = "off"}},
    {PHOTOGRAPHS, {.column = "dataloader", .key = "dataloader", .values = {{"jpeg", INFINITY}}}},
    {PLAIN_BF16, {.column = "precision", .key = "precision", .values = {{"bf16-pure", 2.5}}}},
    /* A model that was there before the engine's settings. */
    {STAGE_3, {.column = "sharding", .key = "memory_efficient_linear", .values = {{"off", 1}}}},
    {COPIES,
     {.column = "sharding",
      .key = "dp_shard",
      .values = {{"16", 0.3}, {"32", 0.4}, {"64", 0.5}, {"128", 0.6}, {"256", 0.7}}}},
    /* Stages that shard more sum and gather in every microbatch: nobody's choice.  Megatron shards its optimizer or all
     * (--use-distributed-optimizer, its FSDP); DeepSpeed's examples have stage 2 or 3; PyTorch has FSDP. */
    {PIPELINE, {.column = "sharding", .key = "zero", .values = {{"1", 0.2}}}},
    {MEGATRON, {.column = "sharding", .key = "zero", .values = {{"1", 0.2}, {"2", 3}, {"3", 3}}}},
    {ENGINE, {.column = "sharding", .key = "zero", .values = {{"2", 0.4}, {"3", 0.6}, {"1", 0.8}}}},
    {ANY, {.column = "sharding", .key = "zero", .values = {{"3", 0.3}, {"2", 1}, {"1", 1.5}}}},
    /* Trainers that know parts of a layer recompute those first: Megatron since Korthikanti et al. 2022. */
    {WHOLE_LAYERS, {.column = "act_ckpt", .key = "checkpoint", .values = {{"full", 0.7}, {"none", INFINITY}}}},
    {MEGATRON,
     {.column = "act_ckpt", .key = "checkpoint", .values = {{"selective", 0.4}, {"full", 1}, {"none", INFINITY}}}},
    {TITAN,
     {.column = "act_ckpt", .key = "checkpoint", .values = {{"selective", 0.3}, {"full", 0.7}, {"none", INFINITY}}}},
    {ANY, {.column = "act_ckpt", .key = "checkpoint", .values = {{"full", 0.7}, {"none", INFINITY}}}},
    /* Autocast, or 16-bit weights without masters, which a PyTorch loop may have. */
    {PYTORCH,
     {.column = "precision", .key = "precision", .values = {{"bf16-pure", 2.5}, {"fp16", 3}, {"tf32", INFINITY}}}},
    {ANY, {.column = "precision", .key = "precision", .values = {{"fp16", 3}, {"tf32", INFINITY}}}},
    {UNKNOWN_STACK, {.column = "compile", .key = "runtime", .values = {{"fused", 3}, {"compile", 3}}}},
    {ANY, {.column = "compile", .key = "runtime", .values = {{"compile", 3}}}},
    /* torchtitan calls PyTorch's alone (models/attention.py).  Beside PyTorch's choice others have a package, or the model's own code in parts; in the first FlashAttention's years that. */
    {TITAN, {.column = "attention", .key = "attention"}},
    {BEFORE_FLASH, {.column = "attention", .key = "attention", .values = {{"math", INFINITY}}}},
    {FIRST_FLASH,
     {.column = "attention",
      .key = "attention",
      .values = {{"flash1", INFINITY}, {"flash", 4}, {"math", INFINITY}},
      .for_speed = true}},
    {ANY, {.column = "attention", .key = "attention", .values = {{"flash", 3}, {"math", INFINITY}}}},
    {ADAPTED, {.column = "lora_rank", .key = "lora", .values = {{"8", INFINITY}, {"64", INFINITY}}}},
    {UNKNOWN_NODE, {.column = "n_gpus", .key = "gpus", .values = {COUNTS}, .with_key = "zero", .with_value = "3"}},
    {UNKNOWN_COUNT, {.column = "n_gpus", .key = "gpus", .values = {COUNTS}}},
    /* Recipes with experts (Megatron-Bridge, DeepSeek-V3 2024, 3.2.3). */
    {MEGATRON,
     {.column = "act_ckpt",
      .key = "recompute_modules",
      .values = {{"layernorm,moe_act,mla_up_proj", 0.5}},
      .with_key = "checkpoint",
      .with_value = "selective"}},
    /* Stages of parts: Megatron's way to fill a pipeline that few microbatches leave idle. */
    {FILLS_PIPELINE,
     {.column = "vpp",
      .key = "vpp",
      .values = {{"2", 0.4}, {"3", 0.4}, {"4", 0.5}, {"5", 0.5}, {"6", 0.5}, {"8", 0.6}},
      .for_speed = true}},
};

#define LARGER_CARD 0.2 /* as surprising: the other of two sizes of memory */
#define HALF_AGAIN 0.7  /* layers that are computed again, as many as are needed (Megatron's --recompute-num-layers) */

/* Half of the layers of a stage; false where that has one. */
static bool set_half_layers(struct mfu_row *r)
{
    const double *set = r->run->scenario.setting;
    struct mfu_config config;
    double layers;

    mfu_scenario_resolve(&r->run->scenario, &config, NULL);
    layers = ceil(mfu_config_dim(&config, "n_layer") / fmax(1, set[MFU_S_PP]) / fmax(1, set[MFU_S_VPP]));
    snprintf(r->run->half_layers, sizeof r->run->half_layers, "%.0f", ceil(layers / 2));
    return layers >= 2;
}

/* Whether nothing is said of what is sharded, or "ZeRO" and not of which stage. */
static bool leaves_sharding(const struct mfu_row *r)
{
    const char *sharding = mfu_row_cell(r, "sharding"), *zero = strcasestr(sharding, "zero"),
               *known = mfu_sharding_in(sharding);

    if (!*sharding)
        return true;
    if (!zero || strcasestr(sharding, "stage") || (known && strcmp(known, "zero3") == 0)
        || !mfu_says_word(sharding, "zero"))
        return false;
    zero += strlen("zero");
    return !isdigit((unsigned char)zero[strspn(zero, " -_=:")]);
}

static bool is_of(const struct mfu_row *r, enum program of)
{
    const double *set = r->run->scenario.setting;
    const struct mfu_trainer *t = &mfu_trainers[(int)set[MFU_S_TRAINER]];
    bool megatron = t->pads_vocab > 0, engine = t->half_shards && !megatron, pytorch = !megatron && !engine;

    switch (of) {
    case ANY: return true;
    case PYTORCH: return pytorch;
    case ENGINE: return engine;
    case MEGATRON: return megatron;
    case WHOLE_LAYERS: return megatron && mfu_row_is_before(r, 2023);
    case TITAN: return t->compiles_layers;
    case PIPELINE: return set[MFU_S_PP] > 1;
    case ADAPTED: return set[MFU_S_LORA] > 0 && !*r->rank && set[MFU_S_ADAPTER] == MFU_METHOD_LORA;
    case BEFORE_FLASH: return set[MFU_S_SOFTWARE] > 0 && set[MFU_S_SOFTWARE] < 2022;
    case FIRST_FLASH:
        return set[MFU_S_SOFTWARE] >= 2022 && fmin(set[MFU_S_SOFTWARE], r->year_open ? r->least_year : INFINITY) < 2024
            && set[MFU_S_SOFTWARE] >= t->flash_since;
    case COPIES: return r->group_open;
    case UNKNOWN_STACK: return r->run->other_program;
    case PLAIN_BF16: return pytorch && mfu_row_says_bf16_alone(r) && !mfu_precisions[(int)set[MFU_S_PRECISION]].pure;
    case STAGE_3: return engine && set[MFU_S_ZERO] == 3;
    case FILLS_PIPELINE: return set[MFU_S_PP] > 1 && (megatron || t->compiles_layers) && mfu_cell_empty(r, "vpp");
    case UNKNOWN_NODE: return r->run->gpus_open && leaves_sharding(r); /* nor what they share */
    case UNKNOWN_COUNT: return r->run->gpus_open;
    case PHOTOGRAPHS: return r->loader_open;
    case BESIDE: return r->overlap_open;
    }
    return false;
}

/* Whether nothing is said of a column that decides something. */
static bool is_open(const struct mfu_row *r, const char *column)
{
    return strcmp(column, "sharding") == 0
        ? !r->group_open && r->run->scenario.setting[MFU_S_GPUS] > 1 && leaves_sharding(r)
        : !*mfu_row_cell(r, column);
}

static void open_up(struct mfu_row *r, const struct mfu_open *open)
{
    assert(r->run->n_open < MFU_OPEN_KEYS); /* which the most rows of different keys are */
    r->run->open[r->run->n_open++] = *open;
}

/* Lengths that are usual below the model's own, which nothing says that it trained with. */
static void leave_length(struct mfu_row *r)
{
    static const struct mfu_open_value lengths[] = {{"4096", 0.3}, {"2048", 0.5}, {"1024", 0.9}};
    struct mfu_open open = {.column = "seq_len", .key = "seq"};
    size_t n = 0;

    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        if (atof(lengths[i].value) < r->run->seq)
            open.values[n++] = lengths[i];
    if (n == 0 || r->batch_of_tokens || r->run->scenario.setting_given[MFU_S_DOC_LEN]
        || mfu_model_samples(r->run->scenario.model) || !mfu_cell_empty(r, "seq_len") || !mfu_cell_empty(r, "tokens"))
        return;
    if (!mfu_row_set_number(r, "seq", r->run->seq))
        return;
    r->run->seq_dim = mfu_model_dim_find(r->run->scenario.model, "seq", NULL);
    open_up(r, &open);
}

/* Years of software that the run may have had, where nothing says and it is not newer than what the row names. */
static void leave_year(struct mfu_row *r)
{
    static const struct mfu_open_value years[] = {
        {"2021", INFINITY}, {"2022", INFINITY}, {"2023", INFINITY}, {"2024", INFINITY}, {"2025", INFINITY}};
    struct mfu_open open = {.column = "software", .key = "software"};
    size_t n = 0;

    for (size_t i = 0; i < sizeof years / sizeof *years; i++)
        if (atoi(years[i].value) >= r->least_year)
            open.values[n++] = years[i];
    if (r->year_open && n > 0)
        open_up(r, &open);
}

void mfu_row_leave_open(struct mfu_row *r)
{
    const char *before = "";

    leave_length(r);
    leave_year(r);
    if (r->larger)
        open_up(r,
                &(struct mfu_open){
                    .column = "gpu", .key = "gpu", .values = {{r->larger->slug, LARGER_CARD}}, .card = r->larger});
    for (size_t i = 0; i < sizeof opens / sizeof *opens; i++) {
        const struct mfu_open *open = &opens[i].open;

        if (strcmp(open->key, before) == 0 || !is_of(r, opens[i].of))
            continue;
        before = open->key;
        if (open->values[0].value && (opens[i].of >= COPIES || is_open(r, open->column)))
            open_up(r, open);
    }
    if (is_open(r, "act_ckpt") && is_of(r, MEGATRON) && !is_of(r, WHOLE_LAYERS) && set_half_layers(r))
        open_up(r,
                &(struct mfu_open){.column = "act_ckpt",
                                   .key = "checkpoint_layers",
                                   .values = {{r->run->half_layers, HALF_AGAIN}},
                                   .with_key = "checkpoint",
                                   .with_value = "full"});
}
