/*
 * claim_ways.c - ways of training and types of numbers: what their names mean in figures.
 */
#include "answer/audit/reading.h"

#include <math.h>
#include <string.h>

#include "descriptor/gpu.h"

// clang-format off
/* Ways of training and what they mean in figures, of what a parameter keeps the first that is told; the last two: where they are denied (0: nothing). */
static const struct { const char *word; int kind; double low, high, not_low, not_high; } ways[] = {
    {"full checkpointing", MFU_Q_RECOMPUTE, 1.25, 1.37, 1, 1.37}, {"selective checkpointing", MFU_Q_RECOMPUTE, 1, 1.1, 1, 1}, {"checkpointing", MFU_Q_RECOMPUTE, 1, 1.37, 1, 1},
    {"qlora", MFU_Q_STATE_BYTES, 0.5, 1.5, 0, 0}, {"lora", MFU_Q_STATE_BYTES, 2, 5, 0, 0}, {"8 bit adam", MFU_Q_STATE_BYTES, 6, 14, 0, 0},
    {"8 bit adamw", MFU_Q_STATE_BYTES, 6, 14, 0, 0}, {"adamw", MFU_Q_STATE_BYTES, 8, 20, 0, 0}, {"adam", MFU_Q_STATE_BYTES, 8, 20, 0, 0},
    {"full training", MFU_Q_STATE_BYTES, 4, 20, 0, 0}, {"ddp", MFU_Q_SHARDS, 1, 1, 0, 0}, {"no accumulation", MFU_Q_ACCUM, 1, 1, 0, 0}, {"no gradient accumulation", MFU_Q_ACCUM, 1, 1, 0, 0}, {"without accumulation", MFU_Q_ACCUM, 1, 1, 0, 0}, {"without gradient accumulation", MFU_Q_ACCUM, 1, 1, 0, 0},
    {"q and v", MFU_Q_ADAPTED, 2.5, 4, 0, 0}, {"q proj and v proj", MFU_Q_ADAPTED, 2.5, 4, 0, 0}, {"q.v", MFU_Q_ADAPTED, 2.5, 4, 0, 0}, {"zero 3", MFU_Q_SHARD_SHARE, 1, 1, 0, 0}, {"prefill", MFU_Q_PASSES, 1, 1, 0, 0}, {"forward only", MFU_Q_PASSES, 1, 1, 0, 0}, {"inference", MFU_Q_PASSES, 1, 1, 0, 0}, {"tied", MFU_Q_TABLES, 1, 1, 0, 0}, {"untied", MFU_Q_TABLES, 1, 2, 0, 0},
    {"micro batch", MFU_Q_ACCUM, 1, 1e6, 0, 0}, {"mbs", MFU_Q_ACCUM, 1, 1e6, 0, 0}, {"batch/gpu", MFU_Q_ACCUM, 1, 1e6, 0, 0},
    {"chinchilla optimal", MFU_Q_TOKENS_PER_PARAM, 15, 30, 0, 0}, {"chinchilla ratio", MFU_Q_TOKENS_PER_PARAM, 15, 30, 0, 0}, {"following chinchilla", MFU_Q_TOKENS_PER_PARAM, 15, 30, 0, 0}, {"memory bound", MFU_Q_BOUNDNESS, 0, 1, 1, 1e9}, {"bandwidth bound", MFU_Q_BOUNDNESS, 0, 1, 1, 1e9}, {"compute bound", MFU_Q_BOUNDNESS, 1, 1e9, 0, 1},
    {"gated", MFU_Q_MLP_MATRICES, 3, 3, 2, 2}, {"swiglu", MFU_Q_MLP_MATRICES, 3, 3, 2, 2}, {"4x mlp", MFU_Q_FF_RATIO, 4, 4, 0, 0}, {"mlp 4x", MFU_Q_FF_RATIO, 4, 4, 0, 0}, {"4x gelu", MFU_Q_FF_RATIO, 4, 4, 0, 0}, {"4x ffn", MFU_Q_FF_RATIO, 4, 4, 0, 0}, {"4x feed forward", MFU_Q_FF_RATIO, 4, 4, 0, 0}, {"3 matrix", MFU_Q_MLP_MATRICES, 3, 3, 0, 0}, {"dense model", MFU_Q_ACTIVE_SHARE, 1, 1, 0, 0}, {"fit", MFU_Q_FILL, 0, 1, 1, 1e4}, {"hold", MFU_Q_FILL, 0, 1, 1, 1e4}, {"load on", MFU_Q_FILL, 0, 1, 1, 1e4}, {"load into", MFU_Q_FILL, 0, 1, 1, 1e4}, {"oom", MFU_Q_FILL, 1, 1e4, 0, 1}, {"out of memory", MFU_Q_FILL, 1, 1e4, 0, 1}};

/* Bytes of a number, and the arithmetic (MFU_PEAK_COUNT: none): of what stands beside it, else of weights and products.
 * Scales of blocks take some more where there are 8 bits or less. */
static const struct { const char *word; enum mfu_peak peak; double low, high; } precisions[] = {
    {"bf16", MFU_PEAK_BF16, 2, 2}, {"bfloat16", MFU_PEAK_BF16, 2, 2}, {"fp16", MFU_PEAK_FP16, 2, 2}, {"float16", MFU_PEAK_FP16, 2, 2}, {"16 bit", MFU_PEAK_COUNT, 2, 2},
    {"fp8", MFU_PEAK_FP8, 1, 1.1}, {"tf32", MFU_PEAK_TF32, 4, 4}, {"fp32", MFU_PEAK_FP32, 4, 4}, {"float32", MFU_PEAK_FP32, 4, 4}, {"32 bit", MFU_PEAK_COUNT, 4, 4},
    {"int8", MFU_PEAK_INT8, 1, 1.1}, {"8 bit", MFU_PEAK_COUNT, 1, 1.1}, {"nvfp4", MFU_PEAK_NVFP4, 0.5, 0.6}, {"fp4", MFU_PEAK_NVFP4, 0.5, 0.6}, {"4 bit", MFU_PEAK_COUNT, 0.5, 0.6}};
static const struct owner { const char *word; int kind; double factor, more; bool before; } owners[] = { /* Adam keeps two, and maybe a master copy */
    {"logit", MFU_Q_LOGIT_BYTES, 1, 0, true}, {"score", MFU_Q_SCORE_BYTES, 1, 0, true}, {"master copy", MFU_Q_OPTIMIZER_BYTES, 1, 12, false}, {"weight", MFU_Q_WEIGHT_BYTES, 1, 0, true}, {"gradient", MFU_Q_GRADIENT_BYTES, 1, 0, true}, {"optimizer state", MFU_Q_OPTIMIZER_BYTES, 2, 4, true},
    {"optimizer", MFU_Q_OPTIMIZER_BYTES, 2, 4, false}, {"adam state", MFU_Q_OPTIMIZER_BYTES, 2, 4, true}, {"adam", MFU_Q_OPTIMIZER_BYTES, 2, 4, false}, {"adamw", MFU_Q_OPTIMIZER_BYTES, 2, 4, false}};
// clang-format on

#define N(list) (sizeof(list) / sizeof(list)[0])

/* Whether one of the three words before denies it. */
static bool denied(const struct mfu_reading *r, const char *p)
{
    for (int i = 0; i < 3; i++) {
        p = mfu_claim_back(&r->t, p);
        if (mfu_claim_role(p) & MFU_W_NOT)
            return true;
    }
    return false;
}

size_t mfu_claim_formula(const struct mfu_claim_text *t, const char *p)
{
    size_t n = 1 + strspn(p + 1, "npd");

    return strchr("2468", *p) && *p && n > 1 && n <= 3 && p[1] != 'd' && !mfu_claim_letter(p[n])
            && t->claim[t->from[p + 1 - t->text]] != 'n' && !mfu_claim_letter(p[-1]) && p[-1] != '.'
        ? n
        : 0;
}

/* What stands behind "instead of" was before. */
static void find_formulas(struct mfu_reading *r)
{
    struct mfu_claim *last = NULL;
    char said[80];
    size_t n;

    for (char *p = r->t.text + 1; *p; p++) {
        if ((n = mfu_claim_formula(&r->t, p)) == 0)
            continue;
        mfu_claim_take(&r->t, p, p + n);
        mfu_claim_use(&r->t, p, p + n);
        if (last && mfu_claim_roles_before(&r->t, p) & MFU_W_FROM)
            last->state = MFU_AFTER;
        else if (last)
            continue;
        last = mfu_claim_add(r->audit, MFU_Q_PASSES, MFU_BEFORE, 0.5 * (*p - '0'), 0.5 * (*p - '0'), "stated", "%s",
                             mfu_claim_text_quote(&r->t, p, p + n, said, sizeof said));
    }
}

/* What goes with an MLP's width, and with embeddings. */
static void add_architecture(struct mfu_reading *r)
{
    bool tied = mfu_claim_says(&r->t, "tied") != NULL, untied = mfu_claim_says(&r->t, "untied") != NULL;

    if (tied || untied)
        mfu_claim_add(r->audit, MFU_Q_TABLES_ALL, MFU_BEFORE, 1 + untied, 1 + untied, "stated", "%s",
                      untied ? "untied" : "tied");
    if (mfu_claim_has(r->audit, MFU_Q_FF_RATIO) && !mfu_claim_has(r->audit, MFU_Q_MLP_MATRICES))
        mfu_claim_add(r->audit, MFU_Q_MLP_MATRICES, MFU_BEFORE, 2, 2, "assumed", "up and down");
}

void mfu_claim_find_ways(struct mfu_reading *r)
{
    char said[80];

    for (size_t i = 0; i < N(ways); i++) {
        size_t n = strlen(ways[i].word);
        char *p = mfu_claim_says(&r->t, ways[i].word);
        bool no = p && ways[i].not_high > 0 && denied(r, p);

        if (!p || r->t.taken[p + n - 1 - r->t.text]
            || (ways[i].kind == MFU_Q_STATE_BYTES && mfu_claim_has(r->audit, ways[i].kind)))
            continue;
        mfu_claim_take(&r->t, p, p + n);
        mfu_claim_add(r->audit, ways[i].kind, MFU_BEFORE, no ? ways[i].not_low : ways[i].low,
                      no ? ways[i].not_high : ways[i].high, "stated", "%s%s", no ? "not " : "",
                      mfu_claim_text_quote(&r->t, p, p + n, said, sizeof said));
    }
    find_formulas(r);
    add_architecture(r);
}

/* The part of a model whose numbers a type is said of: right behind it, or a few words before; NULL: none. */
static const struct owner *owner_of(const struct mfu_reading *r, const char *p, const char *behind)
{
    const struct owner *o = NULL;

    for (size_t k = 0; !o && k < N(owners); k++)
        if (mfu_claim_stands(behind, owners[k].word))
            o = &owners[k];
    for (int i = 0; i < 8 && !o && !(mfu_claim_role(behind) & MFU_W_TRAINS); i++) {
        const char *end = mfu_claim_word_end(p = mfu_claim_back(&r->t, p));

        if (strchr(".;:", *p))
            break;
        for (size_t k = 0; !o && k < N(owners); k++)
            if (owners[k].before && end - r->t.text > (long)strlen(owners[k].word)
                && mfu_claim_stands(end - strlen(owners[k].word), owners[k].word))
                o = &owners[k];
    }
    return o;
}

/* Whether the type before "to" or "->" is what there was: "from bf16 to fp8", "fp16 -> int4". */
static bool is_after(const struct mfu_reading *r, const char *to)
{
    return (*to == '>' && to[-1] == '-')
        || (mfu_claim_stands(to, "to") && mfu_claim_stands(mfu_claim_back(&r->t, mfu_claim_back(&r->t, to)), "from"));
}

void mfu_claim_find_precisions(struct mfu_reading *r)
{
    bool weights[2] = {false}, computes = false; /* before, after */
    char said[80];

    r->peak = MFU_PEAK_BF16;
    for (size_t i = 0; i < N(precisions); i++)
        for (char *p = r->t.text; (p = mfu_claim_find_word(&r->t, p, precisions[i].word)); p++) {
            size_t n = strlen(precisions[i].word);
            const char *before = mfu_claim_back(&r->t, p);
            const struct owner *o = owner_of(r, p, mfu_claim_blanks(p + n));

            bool now = is_after(r, before);

            if (r->t.taken[p - r->t.text])
                continue;
            mfu_claim_take(&r->t, p, p + n);
            mfu_claim_text_quote(&r->t, p, p + n, said, sizeof said);
            if (o)
                mfu_claim_add(r->audit, o->kind, MFU_BEFORE, o->factor * precisions[i].low,
                              o->factor * precisions[i].high + o->more, "stated", "%s of %s", said, o->word);
            else if (!weights[now] && precisions[i].peak != MFU_PEAK_TF32)
                weights[now] =
                    mfu_claim_add(r->audit, MFU_Q_WEIGHT_BYTES, now ? MFU_AFTER : MFU_BEFORE, precisions[i].low,
                                  r->training ? fmax(4, precisions[i].high) : precisions[i].high, "stated", "%s", said);
            if (!o && precisions[i].peak != MFU_PEAK_COUNT && !computes) {
                r->peak = precisions[i].peak;
                computes = true;
            }
        }
}

void mfu_claim_compare_peaks(struct mfu_reading *r)
{
    for (int i = 0; r->gpu[0] && i < r->audit->n_claims; i++) {
        struct mfu_claim *c = &r->audit->claims[i];
        enum mfu_peak peak = r->peak;
        long near = 60;

        if (c->kind != MFU_Q_PEAK || c->at == 0)
            continue;
        for (size_t k = 0; k < N(precisions); k++)
            for (char *p = r->t.text; (p = mfu_claim_find_word(&r->t, p, precisions[k].word)); p++)
                if (precisions[k].peak != MFU_PEAK_COUNT && p < r->t.text + c->at && r->t.text + c->at - p < near) {
                    near = r->t.text + c->at - p;
                    peak = precisions[k].peak;
                }
        if (peak == r->peak || !(r->gpu[0]->peak_flops[peak] > 0) || mfu_claim_has(r->audit, MFU_Q_COMPUTED))
            continue;
        c->kind = MFU_Q_COMPUTED;
        c->state = MFU_BEFORE;
        c->n_readings = 0;
        mfu_claim_add(r->audit, MFU_Q_COMPUTED, MFU_BEFORE, 0.995 * r->gpu[0]->peak_flops[peak],
                      1.005 * r->gpu[0]->peak_flops[peak], "catalog", "%s, %s", r->gpu[0]->slug, mfu_peak_names[peak]);
    }
}
