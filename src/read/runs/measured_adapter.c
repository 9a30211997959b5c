/*
 * measured_adapter.c - what adapts the model of a row: the method, its size, what it sits on, and what else is tried
 * where other weights train than the row states.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "read/runs/measured_run.h"
#include "read/runs/measured_reading.h"
#include "scenario/adapter.h"

/* Whether it names modules that adapters can sit on. */
static bool are_targets(const struct mfu_row *r, const char *text)
{
    struct mfu_scenario other = r->run->scenario;

    return mfu_row_has_word("lora_targets", text) || mfu_scenario_set(&other, "lora_targets", text, NULL) == 0;
}

/* What stands in parentheses behind the method: "r=64", "rank 64, qkvo", "4-bit", "Unsloth". */
static void read_inside(struct mfu_row *r, const char *text)
{
    char rest[sizeof r->targets] = "";

    while (*(text += strspn(text, ",; ")) && *text != ')') {
        size_t n = strcspn(text, ",;)"), used = strlen(rest);
        char piece[64], number[sizeof r->rank];
        int end = 0;

        snprintf(piece, sizeof piece, "%.*s", (int)n, text);
        text += n;
        for (char *p = piece; *p; p++)
            *p = (char)tolower((unsigned char)*p);
        if ((sscanf(piece, "r%*[ =:]%15[0-9] %n", number, &end) == 1
             || sscanf(piece, "rank%*[ =:-]%15[0-9] %n", number, &end) == 1)
            && end && !piece[end])
            memcpy(r->rank, number, sizeof number);
        else if (mfu_row_has_word("quant", piece) || mfu_base_in(piece))
            snprintf(r->quant, sizeof r->quant, "%.31s", piece);
        else
            snprintf(rest + used, sizeof rest - used, "%s%.*s", used ? "," : "", (int)(sizeof rest - used), piece);
    }
    if (*rest)
        memcpy(are_targets(r, rest) ? r->targets : r->software, rest, sizeof rest);
}

/* The cell of a column of adapters, else what stands in parentheses behind the method. */
static const char *or_inside(const struct mfu_row *r, const char *column, const char *inside)
{
    return mfu_cell_empty(r, column) && *inside ? inside : mfu_row_cell(r, column);
}

#define RANK "r|rank|lora rank|lora r|network dim|lora dim"

/* The rank that notes give to adapters, which they name behind `at`: "rank" alone is one in the same sentence, else that of a
 * process. */
static double rank_noted(const char *notes, const char *at)
{
    static const char processes[] =
        "local rank|global rank|node rank|dp rank|by rank|on rank|from rank|per rank|this rank";
    double rank = mfu_number_said(notes, "r|lora rank|lora r|network dim|lora dim");
    const char *from = at;
    char sentence[2 * MFU_MOST_SAID];

    while (from > notes && !strchr(";\n", from[-1]) && strncmp(from - 1, ". ", 2) != 0)
        from--;
    for (; *at && !strchr(";\n", *at) && strncmp(at, ". ", 2) != 0;)
        at++;
    snprintf(sentence, sizeof sentence, "%.*s", (int)(at - from), from);
    return rank >= 1 || mfu_says(sentence, processes) ? rank : mfu_number_said(sentence, "rank");
}

/* Adapters that the notes name with their rank, where no column is about them: "QLoRA r=16". */
static void take_noted(struct mfu_row *r)
{
    const char *notes = mfu_row_cell(r, "notes"), *at = mfu_behind_said(notes, "qlora|qlora r|qlora rank"),
               *method = at ? "qlora" : "lora";
    double rank;

    if (!at)
        at = mfu_behind_said(notes, "lora|networks.lora|lora r|lora rank");
    rank = at ? rank_noted(notes, at) : NAN;
    if (!(rank >= 1) || !mfu_cell_empty(r, "method")
        || mfu_says(notes, "full fine tuning|full finetuning|full fine tune|full finetune|full parameter"))
        return;
    mfu_row_fill_cell(r, "method", method);
    mfu_row_assume(r, "method=%s, lora_rank=%.0f, by the notes", method, rank);
    snprintf(r->rank, sizeof r->rank, "%.0f", rank);
}

/* The method itself, without the software behind it, peft's name before it, and what is in parentheses behind it:
 * "qlora+unsloth", "PEFT-LoRA", "LoRA (qkvo)". */
void mfu_row_read_method(struct mfu_row *r)
{
    const char *text, *inside;
    size_t n;

    take_noted(r);
    text = mfu_row_cell(r, "method");
    if (strncasecmp(text, "peft", 4) == 0 && text[4] && strchr("- ", text[4]))
        text += 5;
    inside = strchr(text, '(');
    n = strcspn(text, inside ? "+(" : "+");
    while (n > 0 && text[n - 1] == ' ')
        n--;
    snprintf(r->method, sizeof r->method, "%.*s", (int)n, text);
    if (inside)
        read_inside(r, inside + 1);
    if (!*r->rank && mfu_number_said(text, RANK) >= 1) /* "LoRA r=8" */
        snprintf(r->rank, sizeof r->rank, "%.0f", mfu_number_said(text, RANK));
}

/* peft gave adapters the type of the weights beside them until autocast_adapter_dtype made them fp32 (peft 0.12). */
#define FIRST_FP32_ADAPTERS 2024

/* In which form the frozen weights are held. */
static bool set_base(struct mfu_row *r)
{
    const char *text = or_inside(r, "quant", r->quant), *own = mfu_row_word(r, "quant", text), *base;

    if (mfu_cell_empty(r, "quant") && !*r->quant && mfu_has_word(mfu_row_method(r), "qlora"))
        return mfu_row_take(r, "base_precision=nf4, usual for %s", mfu_row_method(r));
    if (own)
        return mfu_row_set(r, "base_precision", *own ? own : "bf16");
    if ((base = mfu_base_in(text)) && !mfu_same_letters(base, text))
        mfu_row_assume(r, "base_precision=%s for %s", base, text);
    return mfu_row_set(r, "base_precision", base ? base : text);
}

/* Whether peft prepares the base, which computes layers again where nobody forbids it (0.5 to 0.21, utils/other.py:
 * prepare_model_for_kbit_training(use_gradient_checkpointing=True), of bitsandbytes', GPTQ's and AWQ's weights). */
static bool is_prepared(const struct mfu_row *r)
{
    const struct mfu_base_row *base = &mfu_bases[(int)r->run->scenario.setting[MFU_S_BASE]];

    return base->kbit || base->unpacks;
}

bool mfu_row_set_adapters(struct mfu_row *r)
{
    static const char beside[] = "; embedding and lm_head trained in full";
    const char *method = mfu_row_word(r, "method", mfu_row_method(r)), *target;
    const char *rank = or_inside(r, "lora_rank", r->rank);
    const struct mfu_method_row *row;
    int choice = method ? -1 : mfu_row_choice_in(MFU_S_ADAPTER, mfu_row_method(r));
    bool sized = mfu_cell_number(r, "lora_rank") > 0 || *r->rank;
    char text[200], *more, size[32];

    if (!method && choice <= 0)
        return mfu_row_skip(r, "method '%s' is not modelled", mfu_row_method(r));
    if (method && !*method)
        return true;
    row = &mfu_methods[method ? MFU_METHOD_LORA : choice];
    if (!mfu_row_set(r, "adapter", row->name) || (method && !mfu_row_set(r, method, "on")))
        return false;
    if (row->unsized)
        rank = "1";
    else if (mfu_method_precedes(row) && !row->encoder && mfu_cell_number(r, "trainable_m") > 0) {
        double keys =
            2 * mfu_cell_number(r, "n_layer") * mfu_cell_number(r, "n_kv_head") * mfu_cell_number(r, "head_dim");

        snprintf(size, sizeof size, "%.0f",
                 1e6 * mfu_cell_number(r, "trainable_m")
                     / (row->place == MFU_ADAPTS_KEYS ? keys : mfu_cell_number(r, "n_embd")));
        rank = size; /* so many tokens train */
    } else if (choice > MFU_METHOD_LORA && (!sized || row->takes & MFU_TAKES_BLOCKS)) {
        if (sized && !mfu_row_set(r, "adapter_blocks", rank)) /* peft's r is how many blocks there are */
            return false;
        snprintf(size, sizeof size, "%.0f", row->size);
        rank = size;
        if (!sized)
            mfu_row_assume(r, "lora=%s: peft's default", rank);
        r->run->size_open = !sized;
    } else if (!sized) {
        rank = "16";
        mfu_row_assume(r, "lora=%s: the rank is not stated", rank);
    }
    r->run->size_open |= choice == MFU_METHOD_ADALORA; /* whose factors begin with more than it ends with */
    snprintf(text, sizeof text, "%s", or_inside(r, "lora_targets", r->targets));
    r->run->targets_open = !*text && row->takes & MFU_TAKES_TARGETS;
    if ((more = strstr(text, beside)))
        *more = '\0';
    target = row->takes & MFU_TAKES_TARGETS ? mfu_row_word(r, "lora_targets", text) : "all-linear";
    if (!mfu_row_set(r, "lora", rank) || !mfu_row_set(r, "lora_targets", target ? target : text) || !set_base(r)
        || (more && !mfu_row_set(r, "trainable", "embeddings,head")))
        return false;
    if (!*mfu_row_cell(r, "act_ckpt") && is_prepared(r)
        && !mfu_row_take(r, "checkpoint=full, as peft's prepare_model_for_kbit_training does"))
        return false;
    return !mfu_row_is_before(r, FIRST_FP32_ADAPTERS)
        || mfu_row_take(r, "lora_dtype=16bit: peft of %.0f", r->run->scenario.setting[MFU_S_SOFTWARE]);
}

#define SAME_TRAINED 0.005 /* relative, of weights that train, which are counted one by one (chosen) */
#define SAME_SIZE 0.03     /* the same of parameters, whose counts differ by conventions */

void mfu_measured_check_size(struct mfu_measured_run *run, double params, double trainable)
{
    struct mfu_row r = {.run = run};

    if (mfu_figures_differ(params / 1e6, run->params_m, SAME_SIZE))
        mfu_row_assume(&r, "params_m %.6g is not used: the model has %.4g", run->params_m, params / 1e6);
    if (run->trains_other) /* with the targets before */
        run->skipped[0] = '\0';
    run->trains_other = mfu_figures_differ(trainable / 1e6, run->trainable_m, SAME_TRAINED);
    if (run->trains_other)
        mfu_row_skip(&r, "trainable_m %.6g: what the row states trains %.6g, so it was set otherwise", run->trainable_m,
                     trainable / 1e6);
}

#define MOST_TIMES 8 /* what is larger is met by chance (chosen) */

/* The size of which as much trains as the row states; where it does not say what adapters sit on, either, a small multiple
 * of the usual one. */
static bool other_size(struct mfu_row *r, double trainable)
{
    const double *set = r->run->scenario.setting;
    double ratio = r->run->trainable_m * 1e6 / trainable;
    bool whole = ratio > 1 && ratio < MOST_TIMES + 0.5 && !mfu_figures_differ(ratio, round(ratio), SAME_TRAINED);
    double size = set[MFU_S_LORA] * (mfu_methods[(int)set[MFU_S_ADAPTER]].coarser ? 1 / ratio : ratio);
    if (!r->run->size_open || (r->run->targets_open && !whole) || mfu_methods[(int)set[MFU_S_ADAPTER]].of_frozen
        || mfu_figures_differ(size, round(size), SAME_TRAINED) || size < 1)
        return false;
    r->run->size_open = false;
    return mfu_row_take(r, "lora=%.0f: so many train", round(size));
}

/* Forms of methods that tables call by the method's name. */
static const struct {
    enum mfu_adapter_method of;
    const char *key, *value;
} forms[] = {
    {MFU_METHOD_LORA, "adapter", "lora-fa"},       {MFU_METHOD_LORA, "adapter", "mica"},
    {MFU_METHOD_ROAD, "adapter", "road-2"},        {MFU_METHOD_DEFT, "adapter", "para"},
    {MFU_METHOD_GLORA, "adapter", "glora-vector"}, {MFU_METHOD_TINYLORA, "adapter", "tinylora-tied"},
    {MFU_METHOD_MISS, "adapter", "miss-mini"},     {MFU_METHOD_IA3, "ia3_inputs", "gate,up,down"},
    {MFU_METHOD_LOKR, "lokr_factor", "4"},         {MFU_METHOD_LOKR, "lokr_factor", "8"},
    {MFU_METHOD_LOKR, "lokr_factor", "16"},
};

/* Takes the form after those that were tried of the method that the row names. */
static bool other_form(struct mfu_row *r)
{
    struct mfu_measured_run *run = r->run;

    if (run->forms_tried == 0)
        run->named_method = (int)run->scenario.setting[MFU_S_ADAPTER];
    while (run->forms_tried < sizeof forms / sizeof *forms) {
        size_t i = run->forms_tried++;

        if ((int)forms[i].of != run->named_method)
            continue;
        if (!mfu_row_take(r, "%s=%s: tried for what trains", forms[i].key, forms[i].value))
            return false;
        return !mfu_methods[(int)run->scenario.setting[MFU_S_ADAPTER]].unsized || mfu_row_set(r, "lora", "1");
    }
    return false;
}

bool mfu_measured_usual_targets(struct mfu_measured_run *run, size_t i, double trainable)
{
    /* The last: diffusers' linears of blocks, by name, which the single stream's to_out is not (FLUX.2). */
    static const char *const usual[] = {
        "attention",
        "q,v",
        "q,k,v",
        "mlp",
        "q,k,v,qkv,o,up,gate_up,down,add_q,add_k,add_v,add_o,context_up,context_down",
    };
    const size_t n = sizeof usual / sizeof *usual;
    struct mfu_row r = {.run = run};

    if (!run->trains_other)
        return false;
    if (!run->targets_open)
        return (i == 0 && other_size(&r, trainable)) || other_form(&r);
    /* With the size and the form that are usual, then, the most targets first, with another size, then with each other form. */
    if (i > n && i <= 2 * n && other_size(&r, trainable))
        return true;
    if (i % n == 0 && i >= 2 * n && !other_form(&r))
        return false;
    if (i == 0)
        mfu_row_assume(&r, "lora_targets: of the usual ones those that train so many");
    return mfu_row_set(&r, "lora_targets", usual[i < n || i >= 2 * n ? i % n : 2 * n - 1 - i]);
}
