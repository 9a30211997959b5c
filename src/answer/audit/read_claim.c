/*
 * read_claim.c - numbers and the words beside them.
 *
 * A number belongs to the quantity whose phrase stands right before it or right behind
 * it, with nothing but small words between, and whose unit it has; the phrase before
 * comes first, since nobody else can mean it.  The small words say whether it is a bound,
 * a change, what was before, and whether one GPU's or all of theirs.  Where a figure may
 * mean several things all are kept, and judged.  A unit that goes on ("KB/token") is only
 * that of a phrase that does: what has none is left to arithmetic.c.  Cards and models are
 * found by their names in the catalog.  What is left over is listed.
 */
#include "answer/audit/audit.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/audit/arithmetic.h"
#include "answer/audit/claim_number.h"
#include "base/error.h"
#include "descriptor/catalog.h"
#include "descriptor/gpu.h"
#include "plan/conventions.h"
#include "scenario/scenario.h"

struct reading {
    struct mfu_audit *audit;
    struct mfu_catalog *catalog;
    struct mfu_claim_text t;
    const struct mfu_gpu *gpu[2];
    char called[2][64]; /* as the claim calls them */
    const struct mfu_model *model;
    enum mfu_peak peak;
    bool sparse, training;
    bool whole;                     /* what is stated is that of all, whatever stands behind it */
    struct mfu_claim_number last;   /* the last figure with a unit */
    struct mfu_claim_number factor; /* of a change that is told next, if it is one */
    bool guessed;                   /* the next figure's kind is what its unit says */
    int topic;                      /* what the last number was about; -1: none was read */
};

/* ---- words ------------------------------------------------------------------- */

enum {
    BETWEEN = 1, /* may stand between a number and its phrase, */
    BEHIND = 2,  /* if that comes later, too */
    ABOUT = 4,
    NEARLY = 8,
    LEAST = 16, /* a bound, before a number */
    MOST = 32,
    NOT = 64,
    UP = 128, /* before a factor or a percentage: which way */
    DOWN = 256,
    MORE = 512, /* the same, behind it */
    LESS = 1024,
    SPEED = 2048, /* of what, if nothing is named */
    COST = 4096,
    FROM = 8192,     /* what was before */
    AFTER = 16384,   /* behind a number: what is now */
    KEEPS = 65536,   /* the same before and after */
    ONE_OF = 131072, /* what is said next is said of one */
    TRAINS = 32768   /* the claim is about training, not about a model at rest */
};

// clang-format off
static const struct { int roles; const char *words; } roles[] = {
    {BETWEEN, "is|was|were|are|be|only|at|to|it|by|went|that|and|=|:|(|)|logged|full|with|on|just|so|which|take|took|need|needed|use|used|require|required|"
              "occupy|consume|get|got|reach|reached|give|mean|have|has|had|do|per|measured|reported|still|alone|reduce|deliver|peak|cover|corresponding|correspond|now|or"},
    {BETWEEN | BEHIND, "of|the|a|an|-|for|in|its|their|our|theoretical"}, {BEHIND | TRAINS, "training"},
    {BETWEEN | ABOUT, "about|~|around|roughly|approximately|some|approx|circa|ca"}, {BETWEEN | NEARLY, "nearly|almost"},
    {BETWEEN | LEAST | MORE, "more"}, {BETWEEN | LEAST, "least|above|exceed|exceeding|exceeded|beyond"},
    {BETWEEN | MOST | LESS, "less|fewer"}, {BETWEEN | MOST, "most|under|below|upto"}, {BETWEEN | NOT, "no|not|never|cannot|without"},
    {BETWEEN | FROM, "from|instead|than|versus|vs|rather"}, {FROM, "before|previously|originally"}, {AFTER, "after|afterward|now"},
    {BETWEEN | UP, "rise|rose|increased|increase|improved|improve|grew|raised|up|gained|jumped"},
    {BETWEEN | DOWN, "fell|fall|dropped|drop|decreased|decrease|reduced|reduce|shrank|shrink|cut|down|lowered"}, {BETWEEN | DOWN | SPEED, "slowed|slow"}, {BETWEEN | UP | SPEED, "sped"},
    {BETWEEN | DOWN, "saving|save|reduction|decline"}, {BETWEEN | UP, "gain"},
    {MORE, "higher|larger|longer|bigger|increase|gain|improvement"}, {LESS, "lower|smaller|shorter|reduction|drop|decrease|saving"},
    {MORE | SPEED, "faster|speedup"}, {LESS | SPEED, "slower"}, {LESS | COST, "cheaper"},
    {BETWEEN | KEEPS, "stayed|stay|remained|remain|kept|keep|keeping"}, {ONE_OF, "each|every|one|single"},
    {TRAINS, "mfu|hfu|adam|adamw|sgd|lora|qlora|batch|ddp|mixed"}};

/* A number with a unit and no phrase, from a size on. */
static const struct { enum mfu_dim dim; double least; int kind; } by_unit[] = {
    {MFU_BYTES, 1e6, MFU_Q_MEMORY}, {MFU_FLOP_PER_S, 0, MFU_Q_ACHIEVED}, {MFU_FLOP, 1e17, MFU_Q_FLOP}, {MFU_FLOP, 0, MFU_Q_FLOP_PER_TOKEN},
    {MFU_SECONDS, 60, MFU_Q_DURATION}, {MFU_SECONDS, 0, MFU_Q_STEP_TIME}, {MFU_WATTS, 0, MFU_Q_POWER}, {MFU_PARAMS, 1e6, MFU_Q_PARAMS}};

/* What one GPU has, and all of them; what a parameter has, and all of them. */
static const struct { int one, all; } scopes[] = {
    {MFU_Q_TOKENS_PER_S_GPU, MFU_Q_TOKENS_PER_S}, {MFU_Q_SAMPLES_PER_S_GPU, MFU_Q_SAMPLES_PER_S}, {MFU_Q_ACHIEVED, MFU_Q_ACHIEVED_ALL},
    {MFU_Q_BATCH, MFU_Q_GLOBAL_BATCH}, {MFU_Q_CAPACITY, MFU_Q_CAPACITY_ALL}, {MFU_Q_STATES, MFU_Q_STATES_ALL}, {MFU_Q_POWER, MFU_Q_POWER_ALL}, {MFU_Q_TOKENS_PER_STEP_GPU, MFU_Q_TOKENS_PER_STEP}, {MFU_Q_WEIGHTS, MFU_Q_WEIGHTS_ALL}, {MFU_Q_MEMORY, MFU_Q_MEMORY_ALL}},
    of_parameters[] = {{MFU_Q_STATE_BYTES, MFU_Q_STATES}, {MFU_Q_WEIGHT_BYTES, MFU_Q_WEIGHTS}, {MFU_Q_GRADIENT_BYTES, MFU_Q_GRADIENTS},
    {MFU_Q_OPTIMIZER_BYTES, MFU_Q_OPTIMIZER_STATES}};

/* What else a figure may be, the likelier first; `flop`: only where it has the unit of both, from this size on; -1: only by its size. */
static const struct { int kind, other; double flop; } readings[] = {
    {MFU_Q_TOKENS_PER_S, MFU_Q_TOKENS_PER_S_GPU, 0}, {MFU_Q_SAMPLES_PER_S, MFU_Q_SAMPLES_PER_S_GPU, 0}, {MFU_Q_ACHIEVED, MFU_Q_FLOP, 1e17},
    {MFU_Q_ACHIEVED, MFU_Q_PEAK, 0}, {MFU_Q_ACHIEVED, MFU_Q_ACHIEVED_ALL, 0}, {MFU_Q_FLOP, MFU_Q_FLOP_PER_TOKEN, 0},
    {MFU_Q_FLOP, MFU_Q_ACHIEVED, 1}, {MFU_Q_FLOP_PER_TOKEN, MFU_Q_FLOP, 0}, {MFU_Q_FLOP_PER_TOKEN, MFU_Q_ACHIEVED, 1},
    {MFU_Q_TOKENS, MFU_Q_TOKENS_PER_STEP, -1}, {MFU_Q_SAMPLES, MFU_Q_BATCH, -1}, {MFU_Q_SAMPLES, MFU_Q_GLOBAL_BATCH, -1}, {MFU_Q_STATES, MFU_Q_STATES_ALL, 0}, {MFU_Q_WEIGHTS, MFU_Q_WEIGHTS_ALL, 0}, {MFU_Q_BUBBLE, MFU_Q_BUBBLE_RATIO, 0}, {MFU_Q_BATCH, MFU_Q_GLOBAL_BATCH, 0}, {MFU_Q_BATCH, MFU_Q_TOKENS_PER_STEP, 0}, {MFU_Q_GLOBAL_BATCH, MFU_Q_TOKENS_PER_STEP, 0}, {MFU_Q_MEMORY, MFU_Q_MEMORY_ALL, 0}, {MFU_Q_PRICE, MFU_Q_PRICE_ALL, 0}};

/* A part, the whole and its share; the last of a dimension: of parts that have no name. */
static const struct { int part, whole, share; } shares[] = {
    {MFU_Q_FORWARD_TIME, MFU_Q_STEP_TIME, MFU_Q_FORWARD}, {MFU_Q_BACKWARD_TIME, MFU_Q_STEP_TIME, MFU_Q_BACKWARD},
    {MFU_Q_OPTIMIZER_TIME, MFU_Q_STEP_TIME, MFU_Q_OPTIMIZER}, {MFU_Q_COMMUNICATION_TIME, MFU_Q_STEP_TIME, MFU_Q_COMMUNICATION},
    {MFU_Q_PART_TIME, MFU_Q_STEP_TIME, MFU_Q_UNTOUCHED}, {MFU_Q_ACTIVE, MFU_Q_PARAMS, MFU_Q_ACTIVE_SHARE}, {MFU_Q_TRAINABLE, MFU_Q_PARAMS, MFU_Q_TRAINABLE_SHARE},
    {MFU_Q_ACHIEVED, MFU_Q_PEAK, MFU_Q_MFU}, {MFU_Q_MEMORY, MFU_Q_CAPACITY, MFU_Q_FILL}};

/* What a factor behind another is: "batch 8 x 1024". */
static const struct { int kind, next; } factors[] = {
    {MFU_Q_BATCH, MFU_Q_SEQ}, {MFU_Q_GLOBAL_BATCH, MFU_Q_SEQ}, {MFU_Q_NODES, MFU_Q_NODE_GPUS}, {MFU_Q_N_LAYER, MFU_Q_N_EMBD}};

/* Ways of training and what they mean in figures, of what a parameter keeps the first that is told; the last two: where they are denied (0: nothing). */
static const struct { const char *word; int kind; double low, high, not_low, not_high; } ways[] = {
    {"full checkpointing", MFU_Q_RECOMPUTE, 1.25, 1.37, 1, 1.37}, {"selective checkpointing", MFU_Q_RECOMPUTE, 1, 1.1, 1, 1}, {"checkpointing", MFU_Q_RECOMPUTE, 1, 1.37, 1, 1},
    {"qlora", MFU_Q_STATE_BYTES, 0.5, 1.5, 0, 0}, {"lora", MFU_Q_STATE_BYTES, 2, 5, 0, 0}, {"8 bit adam", MFU_Q_STATE_BYTES, 6, 14, 0, 0},
    {"8 bit adamw", MFU_Q_STATE_BYTES, 6, 14, 0, 0}, {"adamw", MFU_Q_STATE_BYTES, 8, 20, 0, 0}, {"adam", MFU_Q_STATE_BYTES, 8, 20, 0, 0},
    {"full training", MFU_Q_STATE_BYTES, 4, 20, 0, 0}, {"ddp", MFU_Q_SHARDS, 1, 1, 0, 0}, {"no accumulation", MFU_Q_ACCUM, 1, 1, 0, 0}, {"no gradient accumulation", MFU_Q_ACCUM, 1, 1, 0, 0}, {"without accumulation", MFU_Q_ACCUM, 1, 1, 0, 0}, {"without gradient accumulation", MFU_Q_ACCUM, 1, 1, 0, 0},
    {"q and v", MFU_Q_ADAPTED, 2.5, 4, 0, 0}, {"q proj and v proj", MFU_Q_ADAPTED, 2.5, 4, 0, 0}, {"q.v", MFU_Q_ADAPTED, 2.5, 4, 0, 0}, {"zero 3", MFU_Q_SHARD_SHARE, 1, 1, 0, 0},
    {"micro batch", MFU_Q_ACCUM, 1, 1e6, 0, 0}, {"mbs", MFU_Q_ACCUM, 1, 1e6, 0, 0}, {"batch/gpu", MFU_Q_ACCUM, 1, 1e6, 0, 0},
    {"dense model", MFU_Q_ACTIVE_SHARE, 1, 1, 0, 0}, {"fit", MFU_Q_FILL, 0, 1, 1, 1e4}, {"hold", MFU_Q_FILL, 0, 1, 1, 1e4}, {"oom", MFU_Q_FILL, 1, 1e4, 0, 1}, {"out of memory", MFU_Q_FILL, 1, 1e4, 0, 1}};

/* Bytes of a number, and the arithmetic (MFU_PEAK_COUNT: none): of what stands beside it, else of weights and products.
 * Scales of blocks take some more where there are 8 bits or less. */
static const struct { const char *word; enum mfu_peak peak; double low, high; } precisions[] = {
    {"bf16", MFU_PEAK_BF16, 2, 2}, {"bfloat16", MFU_PEAK_BF16, 2, 2}, {"fp16", MFU_PEAK_FP16, 2, 2}, {"float16", MFU_PEAK_FP16, 2, 2}, {"16 bit", MFU_PEAK_COUNT, 2, 2},
    {"fp8", MFU_PEAK_FP8, 1, 1.1}, {"tf32", MFU_PEAK_TF32, 4, 4}, {"fp32", MFU_PEAK_FP32, 4, 4}, {"float32", MFU_PEAK_FP32, 4, 4}, {"32 bit", MFU_PEAK_COUNT, 4, 4},
    {"int8", MFU_PEAK_INT8, 1, 1.1}, {"8 bit", MFU_PEAK_COUNT, 1, 1.1}, {"nvfp4", MFU_PEAK_NVFP4, 0.5, 0.6}, {"fp4", MFU_PEAK_NVFP4, 0.5, 0.6}, {"4 bit", MFU_PEAK_COUNT, 0.5, 0.6}};
static const struct owner { const char *word; int kind; double factor, more; bool before; } owners[] = { /* Adam keeps two, and maybe a master copy */
    {"weight", MFU_Q_WEIGHT_BYTES, 1, 0, true}, {"gradient", MFU_Q_GRADIENT_BYTES, 1, 0, true}, {"optimizer state", MFU_Q_OPTIMIZER_BYTES, 2, 4, true},
    {"optimizer", MFU_Q_OPTIMIZER_BYTES, 2, 4, false}, {"adam state", MFU_Q_OPTIMIZER_BYTES, 2, 4, true}, {"adam", MFU_Q_OPTIMIZER_BYTES, 2, 4, false}, {"adamw", MFU_Q_OPTIMIZER_BYTES, 2, 4, false}};
// clang-format on

#define N(list) (sizeof(list) / sizeof(list)[0])

/* Where the word or the sign at `p` ends. */
static const char *word_end(const char *p)
{
    if (*p && !mfu_claim_letter(*p))
        return p + 1;
    while (mfu_claim_letter(*p))
        p++;
    return p;
}

static int role_of(const char *p)
{
    size_t n = (size_t)(word_end(p) - p);
    int all = 0;

    for (size_t i = 0; n > 0 && i < N(roles); i++)
        for (const char *w = roles[i].words; *w; w += *w == '|') {
            size_t length = strcspn(w, "|");

            if (length == n && strncmp(w, p, n) == 0)
                all |= roles[i].roles;
            w += length;
        }
    return all;
}

/* What the small words before a number say. */
static int roles_before(const struct reading *r, const char *p)
{
    int all = 0;
    bool by = false;

    for (int i = 0; i < 6; i++) {
        const char *word = mfu_claim_back(&r->t, p);
        int role = word < p ? role_of(word) : 0;

        by |= i == 0 && mfu_claim_stands(word, "by", 2);
        if (!(role & BETWEEN) && !(by && i < 3 && isalpha((unsigned char)*word))) /* "cut memory by 30 %" */
            break;
        all |= role & BETWEEN ? role : 0;
        p = word;
    }
    if (all & (LEAST | MOST)) {
        all &= ~FROM; /* "more than" */
        if (all & NOT)
            all = (all & ~(LEAST | MOST | NOT)) | (all & LEAST ? MOST : LEAST);
    }
    return all;
}

/* Whether the word begins here. */
static bool find_here(const char *p, const char *word)
{
    return !mfu_claim_letter(p[-1]) && mfu_claim_stands(p, word, strlen(word));
}

static void use(struct reading *r, const char *from, const char *to)
{
    for (; from < to; from++)
        r->t.used[from - r->t.text] = true;
}

/* A phrase from `p` on; NULL: not there. */
static char *find_word(const struct reading *r, char *p, const char *word)
{
    for (; (p = strstr(p, word)); p++)
        if ((p == r->t.text || !mfu_claim_letter(p[-1])) && mfu_claim_stands(p, word, strlen(word)))
            return p;
    return NULL;
}

/* ---- names of the catalog ---------------------------------------------------- */

/* "A100" has 40 or 80 GB. */
static void widen_capacity(struct reading *r, const char *called, struct mfu_interval *in)
{
    size_t n, length = strlen(called);
    const char *const *names = mfu_catalog_gpus(r->catalog, &n);

    for (size_t i = 0; i < n; i++) {
        const struct mfu_gpu *g = strncmp(names[i], called, length) == 0 && names[i][length] == '-'
            ? mfu_catalog_gpu(r->catalog, names[i], NULL)
            : NULL;

        if (g && g->size_bytes > 0) {
            in->low = fmin(in->low, fmin(g->capacity_bytes, g->size_bytes));
            in->high = fmax(in->high, g->size_bytes * 1.0738);
        }
    }
}

static void add_gpu(struct reading *r, const struct mfu_gpu *gpu, enum mfu_claim_state state)
{
    enum mfu_peak peak = gpu->peak_flops[r->peak] > 0 || r->peak != MFU_PEAK_BF16 ? r->peak : MFU_PEAK_FP16;
    double flops = gpu->peak_flops[peak] * (r->sparse ? 2 : 1);

    if (flops > 0)
        mfu_claim_add(r->audit, MFU_Q_PEAK, state, flops * 0.9995, flops * 1.0005, "catalog", "%s, %s%s", gpu->slug,
                      mfu_peak_names[peak], r->sparse ? " sparse" : "");
    if (gpu->size_bytes > 0 && state == MFU_BEFORE) { /* sold in GB, built in GiB */
        struct mfu_interval in = {fmin(gpu->capacity_bytes, gpu->size_bytes), gpu->size_bytes * 1.0738};

        widen_capacity(r, r->called[0], &in);
        mfu_claim_add(r->audit, MFU_Q_CAPACITY, state, in.low, in.high, "catalog", "%s", gpu->slug);
    }
    if (gpu->bandwidth_bytes_s > 0
        && (strstr(r->t.text, "bandwidth") || strstr(r->t.text, "ridge") || strstr(r->t.text, "/byte")))
        mfu_claim_add(r->audit, MFU_Q_BANDWIDTH, state, gpu->bandwidth_bytes_s * 0.98, gpu->bandwidth_bytes_s * 1.02,
                      "catalog", "%s", gpu->slug);
    if (gpu->sms > 0 && state == MFU_BEFORE)
        mfu_claim_add(r->audit, MFU_Q_SMS, state, gpu->sms, gpu->sms, "catalog", "%s", gpu->slug);
}

/* Up to four words that the catalog knows; the text then says `as`. */
static bool find_name(struct reading *r, char **from, const char *as, bool (*take)(struct reading *, const char *))
{
    for (char *p = *from; *p; p++) {
        char name[64];

        if (!mfu_claim_letter(*p) || (p > r->t.text && (mfu_claim_letter(p[-1]) || p[-1] == '.' || p[-1] == '-')))
            continue;
        for (int words = 4; words > 0; words--) {
            char *end = p;
            size_t n;

            for (int w = 0; w < words && *end; w++)
                end += (w > 0 && *end == ' '), end += strspn(end, "abcdefghijklmnopqrstuvwxyz0123456789._-");
            n = (size_t)(end - p);
            while (n > 0 && !mfu_claim_letter(p[n - 1]))
                n--;
            if (n < 2 || n >= sizeof name || (mfu_claim_letter(p[n]) && mfu_claim_letter(p[n - 1])))
                continue;
            snprintf(name, sizeof name, "%.*s", (int)n, p);
            if (r->t.to[p + n - 1 - r->t.text] - r->t.from[p - r->t.text] != (int)n) /* 1,650 */
                continue;
            if (!strpbrk(name, "0123456789") || strstr(name, ".yaml") || strstr(name, ".yml") || strstr(name, ".json"))
                continue;
            if (!take(r, name) && (name[n - 1] != 's' || (name[n - 1] = '\0', !take(r, name)))) {
                char *tail = words == 1 ? strrchr(name, '-') : NULL; /* H100-hours */

                if (!tail || strspn(tail + 1, "abcdefghijklmnopqrstuvwxyz") < strlen(tail + 1)
                    || !(*tail = '\0', take(r, name)))
                    continue;
                n = (size_t)(tail - name);
            }
            *from = mfu_claim_text_replace(&r->t, p, n, as);
            return true;
        }
    }
    return false;
}

/* A bare number is a card only where nothing else can be meant. */
static bool take_gpu(struct reading *r, const char *name)
{
    const struct mfu_gpu *gpu;
    bool second;

    if (strspn(name, "0123456789") == strlen(name) && strlen(name) != 4)
        return false;
    if (strncmp(name, "a ", 2) == 0) /* "a 30 minute run" */
        return false;
    if (!isalpha((unsigned char)name[0]) && strspn(name, "0123456789") < strlen(name) && !strpbrk(name, " "))
        return false; /* 125m, 7b */
    if (!(gpu = mfu_catalog_gpu(r->catalog, name, NULL))) {
        char with_b[80]; /* A100-40G */

        snprintf(with_b, sizeof with_b, "%sb", name);
        if (name[strlen(name) - 1] != 'g' || !(gpu = mfu_catalog_gpu(r->catalog, with_b, NULL)))
            return false;
    }
    second = r->gpu[0] && r->gpu[0] != gpu;
    r->gpu[second] = gpu;
    snprintf(r->called[second], sizeof r->called[second], "%s", name);
    return true;
}

static bool take_model(struct reading *r, const char *name)
{
    const struct mfu_model *m;

    if (!isalpha((unsigned char)name[0]) || !(m = mfu_catalog_model(r->catalog, name, NULL)))
        return false;
    r->model = r->model ? r->model : m;
    return true;
}

static void find_names(struct reading *r)
{
    char *p = r->t.text, *than;

    while (find_name(r, &p, "model", take_model))
        ;
    p = r->t.text;
    while (find_name(r, &p, "gpu", take_gpu))
        ;
    while ((p = strstr(r->t.text, "gpu gpu"))) /* H100 GPUs */
        mfu_claim_text_replace(&r->t, p, 4, "");
    than = find_word(r, r->t.text, "than");
    if (r->gpu[1] && than && strstr(than, "gpu")) { /* faster on B than on A */
        const struct mfu_gpu *after = r->gpu[0];

        r->gpu[0] = r->gpu[1];
        r->gpu[1] = after;
    }
}

/* ---- what words mean in figures ------------------------------------------------ */

/* Whether one of the three words before denies it. */
static bool denied(const struct reading *r, const char *p)
{
    for (int i = 0; i < 3; i++) {
        p = mfu_claim_back(&r->t, p);
        if (role_of(p) & NOT)
            return true;
    }
    return false;
}

static void find_ways(struct reading *r, bool taken[MFU_CLAIM_ROOM])
{
    char said[80];

    for (size_t i = 0; i < N(ways); i++) {
        size_t n = strlen(ways[i].word);
        char *p = find_word(r, r->t.text, ways[i].word);
        bool no = p && ways[i].not_high > 0 && denied(r, p);

        if (!p || taken[p + n - 1 - r->t.text]
            || (ways[i].kind == MFU_Q_STATE_BYTES && mfu_audit_claims(r->audit, ways[i].kind, MFU_BEFORE)))
            continue;
        memset(taken + (p - r->t.text), true, n);
        mfu_claim_add(r->audit, ways[i].kind, MFU_BEFORE, no ? ways[i].not_low : ways[i].low,
                      no ? ways[i].not_high : ways[i].high, "stated", "%s%s", no ? "not " : "",
                      mfu_claim_text_quote(&r->t, p, p + n, said, sizeof said));
    }
}

/* The part of a model whose numbers a type is said of: right behind it, or a few words before; NULL: none. */
static const struct owner *owner_of(const struct reading *r, const char *p, const char *behind)
{
    const struct owner *o = NULL;

    for (size_t k = 0; !o && k < N(owners); k++)
        if (mfu_claim_stands(behind, owners[k].word, strlen(owners[k].word)))
            o = &owners[k];
    for (int i = 0; i < 5 && !o && !(role_of(behind) & TRAINS); i++) {
        const char *end = word_end(p = mfu_claim_back(&r->t, p));

        if (strchr(".;:", *p))
            break;
        for (size_t k = 0; !o && k < N(owners); k++)
            if (owners[k].before && end - r->t.text > (long)strlen(owners[k].word)
                && mfu_claim_stands(end - strlen(owners[k].word), owners[k].word, strlen(owners[k].word)))
                o = &owners[k];
    }
    return o;
}

static void find_precisions(struct reading *r, bool taken[MFU_CLAIM_ROOM])
{
    bool weights = false, computes = false;
    char said[80];

    r->peak = MFU_PEAK_BF16;
    for (size_t i = 0; i < N(precisions); i++)
        for (char *p = r->t.text; (p = find_word(r, p, precisions[i].word)); p++) {
            size_t n = strlen(precisions[i].word);
            const struct owner *o = owner_of(r, p, mfu_claim_blanks(p + n));

            if (taken[p - r->t.text])
                continue;
            memset(taken + (p - r->t.text), true, n);
            mfu_claim_text_quote(&r->t, p, p + n, said, sizeof said);
            if (o)
                mfu_claim_add(r->audit, o->kind, MFU_BEFORE, o->factor * precisions[i].low,
                              o->factor * precisions[i].high + o->more, "stated", "%s of %s", said, o->word);
            else if (!weights && precisions[i].peak != MFU_PEAK_TF32)
                weights =
                    mfu_claim_add(r->audit, MFU_Q_WEIGHT_BYTES, MFU_BEFORE, precisions[i].low,
                                  r->training ? fmax(4, precisions[i].high) : precisions[i].high, "stated", "%s", said);
            if (!o && precisions[i].peak != MFU_PEAK_COUNT && !computes) {
                r->peak = precisions[i].peak;
                computes = true;
            }
        }
}

/* ---- numbers ------------------------------------------------------------------- */

/* ---- phrases ------------------------------------------------------------------- */

struct match {
    int kind;
    size_t length; /* of the phrase */
    const char *begin, *end;
};

/* Whether its unit goes on, "12 byte/parameter": then only a phrase that goes on so is its.  What is said of each GPU
 * or of a step may leave that out. */
static bool goes_on(const char *end)
{
    return *end == '/' && isalpha((unsigned char)end[1]) && !mfu_claim_stands(end, "/gpu", 4)
        && !mfu_claim_stands(end, "/step", 5) && !mfu_claim_stands(end, "/batch", 6);
}

static bool suits(int kind, const char *phrase, const struct mfu_claim_number *n)
{
    const struct mfu_quantity_row *row = &mfu_quantity_rows[kind];
    enum mfu_dim dim = row->dim;
    bool other = false, count = dim == MFU_COUNT || dim == MFU_PARAMS || dim == MFU_TOKENS;

    if (n->times)
        return kind != MFU_Q_PRICE;
    for (size_t i = 0; i < N(readings); i++)
        other |= readings[i].kind == kind;
    if (dim != MFU_RATIO && !other
        && ((n->value + n->half) * n->factor < row->least || (n->value - n->half) * n->factor > row->most))
        return false;
    if (n->money)
        return kind == MFU_Q_COST || kind == MFU_Q_PRICE || kind == MFU_Q_TOKEN_PRICE;
    if (kind == MFU_Q_PRICE || kind == MFU_Q_TOKEN_PRICE)
        return false;
    if (n->bare || n->dim == MFU_PARAMS)
        return (count && (!n->of_tokens || dim == MFU_TOKENS) && !(n->of_sequences && dim == MFU_TOKENS))
            || (n->bare && dim == MFU_RATIO && n->value <= 100 && !mfu_claim_counted(mfu_claim_blanks(n->end)))
            || strncmp(phrase, "byte", 4) == 0 || strncmp(phrase, "flop", 4) == 0;
    return dim == n->dim
        || (n->any_flop
            && (dim == MFU_FLOP_PER_S || (dim == MFU_FLOP && (kind != MFU_Q_FLOP || n->value * n->factor >= 1e17))));
}

/* The longest phrase that ends at `p` (before) or begins there; `near`: right beside the number. */
static void best_phrase(const struct reading *r, const char *p, bool before, bool near,
                        const struct mfu_claim_number *n, bool again, struct match *m)
{
    for (int k = 0; k < MFU_Q_COUNT; k++)
        for (const char *phrase = mfu_quantity_rows[k].phrases; *phrase; phrase += *phrase == '|') {
            char mark = *phrase;
            size_t skip = mark == '<' || mark == '>' || mark == '=', length = strcspn(phrase, "|") - skip;
            const char *words = phrase + skip, *begin = before ? p - length : p;

            phrase = words + length;
            if ((mark == '>' && before) || (mark == '<' && !before && !n->times) || (mark == '=' && before && !near)
                || length <= m->length || begin < r->t.text || (goes_on(n->end) && begin != n->end)
                || (!before && goes_on(begin + length)) || strncmp(begin, words, length) != 0
                || (mark == '>' && mfu_quantity_rows[k].dim == MFU_RATIO /* 37 % of the A100's 312 */
                    && isdigit((unsigned char)*mfu_claim_blanks(begin + length)))
                || (mark == '<' && n->times && memchr(words, ' ', length)) /* 8x gpu with */
                || (mfu_claim_letter(words[length - 1]) && mfu_claim_letter(begin[length]))
                || (begin > r->t.text && mfu_claim_letter(*begin) && mfu_claim_letter(begin[-1])) || !suits(k, words, n)
                || (!before && strchr(":=", begin[length]) && begin[length]
                    && strchr(":=", *mfu_claim_back(&r->t, n->at))) /* a label of what follows */
                || (!again && r->t.used[begin - r->t.text + (long)length - 1]))
                continue;
            *m = (struct match){k, length, begin, begin + length};
        }
}

static struct match phrase_behind(const struct reading *r, const char *p, const struct mfu_claim_number *n)
{
    struct match m = {.kind = -1};
    struct mfu_claim_number size;
    int strange =
        0; /* words, of which one may stand before the phrase of what has a unit: "at the same raw throughput" */

    p = mfu_claim_blanks(p);
    for (int i = 0; i < 4 && m.length == 0; i++) {
        best_phrase(r, p, false, i == 0, n, true, &m);
        if (m.length == 0 && mfu_claim_number(r->t.text, p, &size) && size.dim == MFU_BYTES) /* 992 80GB GPUs */
            best_phrase(r, mfu_claim_blanks(size.end), false, false, n, true, &m);
        if (!(role_of(p) & BEHIND) && (role_of(p) != 0 || !isalpha((unsigned char)*p) || *p == 'x' || strange++ > 0))
            break;
        p = mfu_claim_blanks(word_end(p));
    }
    return m;
}

/* `again`: also one that is another number's. */
static struct match phrase_before(const struct reading *r, const char *p, const struct mfu_claim_number *n, bool again)
{
    struct match m = {.kind = -1};
    bool near = true;

    for (int i = 0; i < 6; i++) {
        const char *word;

        while (p > r->t.text && p[-1] == ' ')
            p--;
        best_phrase(r, p, true, near, n, again, &m);
        word = mfu_claim_back(&r->t, p);
        if (word >= p || !(role_of(word) & BETWEEN) || (r->t.used[word - r->t.text] && !again))
            break;
        near &= *word == '=' || *word == ':';
        p = word;
    }
    return m;
}

/* The subject of its clause, however far before; that of a bare number, three words at most. */
static struct match phrase_of_clause(const struct reading *r, const char *p, const struct mfu_claim_number *n)
{
    struct match m = {.kind = -1};
    int words = n->bare || n->dim == MFU_PARAMS ? 4 : 40;

    for (const char *word; m.kind < 0 && words-- > 0 && (word = mfu_claim_back(&r->t, p)) < p && *word != ';'
         && !(*word == '.' && !isdigit((unsigned char)word[1])) && !(*word == ':' && n->bare)
         && !(n->bare && (*word == ',' || isdigit((unsigned char)*word)));
         p = word)
        best_phrase(r, word_end(word), true, false, n, false, &m);
    return m;
}

/* Of one GPU or of all: behind a figure and its phrase, or before them. */
static int scope_of(const struct reading *r, const struct match *m, bool *all)
{
    const char *p = m->end;

    for (int i = 0; i < 4 && *p && !strchr(",;:+", *p) && !isdigit((unsigned char)*p); i++) {
        *all = mfu_claim_stands(p, "total", 5);
        if (*all || mfu_claim_stands(p, "/gpu", 4))
            return (int)(word_end(p + 1) - m->end);
        p = mfu_claim_blanks(word_end(p));
    }
    p = m->begin;
    for (int i = 0; i < 3; i++) {
        const char *word = mfu_claim_back(&r->t, p);

        *all = mfu_claim_stands(word, "total", 5);
        if (r->t.used[word - r->t.text])
            break;
        if (*all || (mfu_claim_stands(word, "gpu", 3) && word > r->t.text && word[-1] == '/'))
            return 1;
        if (word >= p || !(mfu_claim_letter(*word) || *word == '=') || isdigit((unsigned char)*word))
            break;
        p = word;
    }
    return 0;
}

/* ---- what a number means ----------------------------------------------------------- */

static struct mfu_interval soften(const struct mfu_claim_number *n, double value, struct mfu_interval in)
{
    if (n->roles & (ABOUT | NEARLY))
        in.low = fmin(in.low, 0.9 * value);
    if (n->roles & ABOUT)
        in.high = fmax(in.high, 1.1 * value);
    if (n->roles & LEAST)
        in.high = INFINITY;
    if (n->roles & MOST)
        in.low = 0;
    return in;
}

static struct mfu_interval interval_of(const struct mfu_claim_number *n, int kind, double *value)
{
    const struct mfu_quantity_row *row = &mfu_quantity_rows[kind];
    bool exact = n->whole && n->bare && (row->traits & MFU_Q_WHOLE);
    double factor = n->factor, half = exact ? 0 : n->half;
    struct mfu_interval in;

    if (row->dim == MFU_RATIO && n->bare && n->value > 1.5)
        factor = 0.01;
    *value = n->value * factor;
    in = (struct mfu_interval){fmax(0, n->value - half) * factor, (n->value + half) * factor};
    if (row->dim == MFU_RATIO && !n->times)
        in.high = *value <= 1 ? fmin(in.high, 1) : in.high;
    if (n->kilo && row->dim == MFU_TOKENS) /* 8k may be 8192 */
        in.high *= 1.024;
    if (kind == MFU_Q_CAPACITY || kind == MFU_Q_CAPACITY_ALL) /* sold in GB, built in GiB */
        in.high *= 1.0738;
    if (row->dim == MFU_BYTES && (factor == 1e3 || factor == 1e6)) /* as often 1024 */
        in.high *= factor == 1e3 ? 1.024 : 1.0486;
    in = soften(n, *value, in);
    if (row->traits & MFU_Q_COMPLEMENT) {
        in = (struct mfu_interval){fmax(0, 1 - in.high), fmax(0, 1 - in.low)};
        *value = 1 - *value;
    }
    return in;
}

/* What was stated of a quantity, not by a word; NULL: nothing. */
static struct mfu_claim *stated(struct mfu_audit *a, int kind, enum mfu_claim_state s)
{
    for (int i = 0; i < a->n_claims; i++)
        if (a->claims[i].kind == kind && a->claims[i].state == s && strcmp(a->claims[i].from, "stated") == 0
            && !isnan(a->claims[i].value))
            return &a->claims[i];
    return NULL;
}

/* What else it may be; first what it can be by its size.  Not `flat`: it was said whether of one or of all. */
static void add_readings(struct mfu_claim *c, const struct mfu_claim_number *n, bool phrase, bool flat)
{
    int list[MFU_READINGS + 1] = {c->kind}, count = 1, first = 0;

    for (size_t i = 0; i < N(readings) && count <= MFU_READINGS; i++)
        if (readings[i].kind == c->kind && (flat || readings[i].other == MFU_Q_PEAK)
            && (readings[i].flop <= 0 || (n->any_flop && !phrase && c->in.high >= readings[i].flop)))
            list[count++] = readings[i].other;
    for (size_t i = 0; i < N(readings) && list[1]; i++) /* what it is by its size only */
        if (readings[i].kind == c->kind && readings[i].flop < 0 && c->in.high >= mfu_quantity_rows[c->kind].least)
            count = 1;
    while (first < count
           && (c->in.low > mfu_quantity_rows[list[first]].most || c->in.high < mfu_quantity_rows[list[first]].least))
        first++;
    if (first == count)
        return;
    c->kind = list[first];
    for (int i = 0; first + 1 + i < count; i++)
        c->readings[c->n_readings++].kind = list[first + 1 + i];
}

/* Whether it is told as a result. */
static bool follows(const struct reading *r, const char *p)
{
    static const char *const words[] = {"so", "i.e", "i.e.", "hence", "thus", "therefore"};

    for (int i = 0; i < 6; i++) {
        const char *word = mfu_claim_back(&r->t, p);

        for (size_t k = 0; k < N(words); k++)
            if (mfu_claim_stands(word, words[k], strlen(words[k])))
                return true;
        if (word >= p || isdigit((unsigned char)*word) || strchr(";:", *word))
            return false;
        p = word;
    }
    return false;
}

static void state(struct reading *r, const struct mfu_claim_number *n, int kind, enum mfu_claim_state s, struct match m,
                  const char *end)
{
    double value;
    struct mfu_interval in;
    struct mfu_claim *c, *other, first;
    bool all = false, micro, flat = true;
    int scope, behind;
    char said[80];

    m.begin = m.begin && m.begin < n->at ? m.begin : n->at;
    m.end = m.end > end ? m.end : end;
    micro = mfu_claim_stands(m.begin, "micro", 5) || mfu_claim_stands(m.begin, "mbs", 3);
    scope = scope_of(r, &m, &all);
    for (size_t i = 0; i < N(scopes); i++)
        if (scope > 0 && !r->whole && (kind == scopes[i].one || kind == scopes[i].all)) {
            kind = all ? scopes[i].all : scopes[i].one;
            flat = false;
            if (scope > 1)
                m.end += scope;
        }
    in = interval_of(n, kind, &value);
    first = (struct mfu_claim){.kind = kind, .in = in};
    if (kind == MFU_Q_PRICE && memmem(m.begin, (size_t)(m.end - m.begin), "gpu", 3))
        flat = false;
    if (!micro)
        add_readings(&first, n, m.length > 0, flat && !r->whole);
    kind = first.kind;
    behind = role_of(mfu_claim_blanks(m.end));
    other = stated(r->audit, kind, MFU_BEFORE);
    for (size_t k = 0; other && scope > 0 && !all && other->in.low > in.high && k < N(scopes); k++)
        if (scopes[k].one == kind && other->flat) { /* "80k tokens/s, 10k per GPU": the first is that of all */
            other->kind = scopes[k].all;
            other->n_readings = 0;
            other = NULL;
        }
    if (s == MFU_BEFORE && other) {
        if ((n->roles | behind) & FROM)
            other->state = MFU_AFTER;
        else if (value != other->value && (in.low >= other->in.high || in.high <= other->in.low))
            s = MFU_AFTER;
    } else if (s == MFU_BEFORE && behind & AFTER && stated(r->audit, kind, MFU_BEFORE))
        s = MFU_AFTER;
    c = mfu_claim_add(r->audit, kind, s, in.low, in.high, "stated", "%s",
                      mfu_claim_text_quote(&r->t, m.begin, m.end, said, sizeof said));
    if (!c)
        return;
    c->value = value;
    c->at = (int)(n->at - r->t.text);
    c->guessed = r->guessed;
    c->flat = flat;
    c->follows = follows(r, n->at);
    c->n_readings = first.n_readings;
    memcpy(c->readings, first.readings, sizeof c->readings);
    for (int i = 0; i < c->n_readings; i++)
        c->readings[i].state = s;
    if (!(mfu_quantity_rows[kind].traits & MFU_Q_COUNTED)) /* how many is no subject */
        r->topic = kind;
    use(r, m.begin, m.end);
}

/* "4x faster", "19 % higher tokens/s", "2x the MFU", "the MFU doubled", "fell by 20 %", "up 50 %". */
static bool read_change(struct reading *r, struct mfu_claim_number *n)
{
    const char *p = mfu_claim_blanks(n->end), *end = n->end;
    struct mfu_claim_number any = *n;
    struct match m = {.kind = -1}, behind;
    int role = role_of(p), sign = role & MORE ? 1 : role & LESS ? -1 : 0, otherwise = -1;
    double v = n->value * n->factor, half = n->half * n->factor, value;
    struct mfu_interval in = {v - half, v + half};
    struct mfu_claim *c;
    char said[80];

    if (sign != 0) {
        otherwise = role & SPEED ? MFU_Q_TOKENS_PER_S : role & COST ? MFU_Q_COST : -1;
        end = word_end(p);
    } else
        sign = n->roles & UP ? 1 : n->roles & DOWN ? -1 : 0;
    if (!n->times && !(n->percent && sign))
        return false;
    any.times = true;
    m = phrase_behind(r, end, &any);
    if (!(role & (MORE | LESS)) && m.kind >= 0 && n->times && (mfu_quantity_rows[m.kind].traits & MFU_Q_COUNTED)
        && n->whole && mfu_claim_blanks(n->end) == m.begin) { /* 8x H100 */
        n->times = false;
        n->bare = true;
        state(r, n, m.kind, MFU_BEFORE, m, m.end);
        return true;
    }
    if (otherwise >= 0 && m.kind >= 0 && mfu_quantity_rows[m.kind].traits & MFU_Q_SETUP)
        m.kind = -1; /* "4x faster on 8 GPUs", "faster with the same model" */
    behind = m;
    if (m.kind < 0 && isalpha((unsigned char)r->t.claim[r->t.from[n->at - r->t.text]]) && v == 1
        && isalpha((unsigned char)*p) && role == 0) /* "on the same cluster" */
        return true;
    if (!(role & (MORE | LESS)) && n->roles & (UP | DOWN)) /* "fell by 20 %": what stands before did */
        m.kind = -1;
    if (m.kind < 0 && otherwise < 0)
        m = phrase_before(r, n->at, &any, true);
    if (m.kind < 0 && r->topic < 0 && mfu_claim_blanks(end) == behind.begin) /* "saves 30 % memory" */
        m = behind;
    if (m.kind >= 0 && mfu_quantity_rows[m.kind].traits & MFU_Q_COMPLEMENT) /* "21 % less time" */
        m.kind = r->topic >= 0 && mfu_quantity_rows[r->topic].dim == MFU_SECONDS ? r->topic : MFU_Q_STEP_TIME;
    if (m.kind < 0)
        m = (struct match){.kind = otherwise >= 0 ? otherwise
                               : n->roles & SPEED ? MFU_Q_TOKENS_PER_S
                               : n->roles & (UP | DOWN) || n == &r->factor
                                   || (sign != 0 && r->topic >= 0 && stated(r->audit, r->topic, MFU_AFTER))
                               ? r->topic
                               : -1,
                           .begin = n->at,
                           .end = end};
    if (m.kind < 0)
        return false;
    if (n->percent && !(role & (MORE | LESS)) && mfu_quantity_rows[m.kind].dim == MFU_RATIO)
        return false; /* of it, or so many points */
    in.low = fmax(in.low, 0);
    value = v;
    if (n->percent) {
        value = 1 + sign * v;
        in = sign > 0 ? (struct mfu_interval){1 + in.low, 1 + in.high}
                      : (struct mfu_interval){fmax(0, 1 - in.high), fmax(0, 1 - in.low)};
        if (otherwise >= 0 && sign > 0 && v < 1) /* time or rate: both are said so */
            in.high = fmax(in.high, 1 / (1 - v));
        if (otherwise >= 0 && sign < 0)
            in.high = fmax(in.high, 1 / (1 + v));
    } else if (sign < 0) {
        value = 1 / v;
        in = (struct mfu_interval){1 / in.high, in.low > 0 ? 1 / in.low : INFINITY};
    }
    if (value == 1 && n->times)
        in = (struct mfu_interval){0.995, 1.005};
    m.begin = m.begin < n->at ? m.begin : n->at;
    m.end = m.end > end ? m.end : end;
    in = soften(n, value, in);
    c = mfu_claim_add(r->audit, m.kind, MFU_CHANGE, in.low, in.high, "stated", "%s",
                      mfu_claim_text_quote(&r->t, m.begin, m.end, said, sizeof said));
    if (!c)
        return true;
    c->value = value;
    r->topic = m.kind;
    use(r, m.begin, m.end);
    return true;
}

/* A second number behind "->", "to" or "-": a change or a range. */
static bool read_second(const struct mfu_claim_number *n, struct mfu_claim_number *b, bool *changes)
{
    const char *p = mfu_claim_blanks(n->end);

    if (strncmp(p, "->", 2) == 0) {
        *changes = true;
        p += 2;
    } else if (strncmp(p, "to ", 3) == 0) {
        *changes = (n->roles & (FROM | UP | DOWN)) != 0;
        p += 3;
    } else if (*p == '-' && p == n->end) {
        *changes = false;
        p++;
    } else
        return false;
    p = mfu_claim_blanks(p);
    while (role_of(p) & ABOUT)
        p = mfu_claim_blanks(word_end(p));
    return isdigit((unsigned char)*p) && mfu_claim_number(p, p, b)
        && !(*changes && (b->value > 1e4 * n->value || n->value > 1e4 * b->value)); /* "D=26e9 -> 2e20 FLOP" */
}

static bool same_unit(struct mfu_claim_number *a, struct mfu_claim_number *b)
{
    if (a->bare && !b->bare) {
        a->factor = b->factor;
        a->dim = b->dim;
        a->percent = b->percent;
        a->times = b->times;
        a->any_flop = b->any_flop;
        a->kilo = b->kilo;
        a->bare = false;
        a->whole = b->whole;
        if (a->percent)
            a->half = fmin(a->half, 0.5);
    }
    return a->dim == b->dim && a->bare == b->bare && a->times == b->times;
}

/* "312 TFLOP/s, we measured 187": where nothing is counted, the unit is that of the last figure, if that is of its size. */
static bool leave_out_unit(const struct reading *r, struct mfu_claim_number *n)
{
    const char *behind = mfu_claim_blanks(n->end);

    if (!n->bare || r->last.dim != MFU_FLOP_PER_S || n->value > 5 * r->last.value || r->last.value > 20 * n->value
        || mfu_claim_counted(behind) || *behind == '/')
        return false;
    return same_unit(
        n,
        &(struct mfu_claim_number){
            .factor = r->last.factor, .dim = r->last.dim, .any_flop = r->last.any_flop, .whole = n->whole});
}

/* The number behind "of" or "out of": a whole. */
static bool read_whole(const struct reading *r, const struct mfu_claim_number *n, struct mfu_claim_number *whole)
{
    const char *p = mfu_claim_blanks(n->end);

    if (mfu_claim_stands(p, "out", 3))
        p = mfu_claim_blanks(word_end(p));
    if (!mfu_claim_stands(p, "of", 2))
        return false;
    for (int i = 0; i < 3 && role_of(p) & (BEHIND | ONE_OF); i++)
        p = mfu_claim_blanks(word_end(p));
    if (!mfu_claim_number(r->t.text, p, whole))
        return false;
    leave_out_unit(r, whole);
    return true;
}

/* What was said of a part and its whole, "90 ms of a step of 600 ms, 15 %", or of the whole and the share. */
static int kind_of_share(struct reading *r, const struct mfu_claim_number *n)
{
    for (size_t i = 0; i < N(shares); i++) {
        bool part = stated(r->audit, shares[i].part, MFU_BEFORE), share = stated(r->audit, shares[i].share, MFU_BEFORE);
        bool known = r->gpu[0] && shares[i].whole == MFU_Q_PEAK && part;

        if ((!known && !stated(r->audit, shares[i].whole, MFU_BEFORE)) || part == share)
            continue;
        if (part ? n->percent : !n->bare && n->dim == mfu_quantity_rows[shares[i].part].dim)
            return part ? shares[i].share : shares[i].part;
    }
    return -1;
}

/* "90 ms of a 600 ms step", "28 GB of 112 GB of states per GPU", "15 % of 312 TFLOP/s": a part or a share, and the
 * whole. */
static const char *take_part(struct reading *r, struct mfu_claim_number *n, struct match m)
{
    struct mfu_claim_number whole;
    struct match behind;
    int part = -1, all = -1;
    size_t last = 0; /* row; of those that could be, one whose part was told, else the last */

    if (n->times || !read_whole(r, n, &whole)
        || (n->percent ? whole.bare : !same_unit(&whole, n) && !same_unit(n, &whole)))
        return NULL;
    behind = phrase_behind(r, whole.end, &whole);
    if (behind.kind == MFU_Q_MEMORY) /* "of 24 GB used" */
        behind.kind = -1;
    if (m.kind < 0 && n->percent)
        m = phrase_of_clause(r, n->at, n);
    for (size_t i = 0; i < N(shares); i++) {
        int kind = n->percent ? shares[i].share : shares[i].part;

        if (mfu_quantity_rows[shares[i].whole].dim == whole.dim && (behind.kind < 0 || behind.kind == shares[i].whole)
            && (m.kind < 0 || m.kind == kind)
            && (part < 0 || !n->percent || !stated(r->audit, shares[last].part, MFU_BEFORE))) {
            last = i;
            part = kind;
            all = shares[i].whole;
        }
    }
    for (size_t i = 0; i < N(scopes) && !n->percent && part < 0 && behind.kind >= 0; i++)
        if (behind.kind == scopes[i].one && mfu_quantity_rows[scopes[i].one].dim == n->dim) {
            part = scopes[i].one;
            all = scopes[i].all;
        }
    if (part < 0)
        return NULL;
    state(r, n, part, MFU_BEFORE, m, n->end);
    if (behind.kind < 0)
        behind = (struct match){.begin = whole.at, .end = whole.end};
    r->whole = true;
    state(r, &whole, all, MFU_BEFORE, behind, whole.end);
    r->whole = false;
    return whole.end;
}

/* "Each step processes 4M tokens": what is counted of one of them, where there is a name for that. */
static int kind_of_each(const struct reading *r, const struct mfu_claim_number *n, const struct match *m)
{
    size_t length = (size_t)(m->end - m->begin);

    for (const char *p = n->at, *word; (word = mfu_claim_back(&r->t, p)) < p && !strchr(".;:,", *word); p = word) {
        const char *noun = mfu_claim_counted(word), *one = mfu_claim_back(&r->t, word);

        if (!noun || !((role_of(one) | role_of(mfu_claim_back(&r->t, one))) & ONE_OF))
            continue;
        for (int k = 0; k < MFU_Q_COUNT; k++)
            for (const char *phrase = mfu_quantity_rows[k].phrases; *phrase; phrase += *phrase == '|') {
                size_t all = strcspn(phrase, "|");

                if (all == length + 1 + strlen(noun) && strncmp(phrase, m->begin, length) == 0 && phrase[length] == '/'
                    && strncmp(phrase + length + 1, noun, strlen(noun)) == 0 && suits(k, "", n))
                    return k;
                phrase += all;
            }
    }
    return -1;
}

/* What has no phrase of its own: it goes on with what the claim was about, or its unit says it. */
static int kind_of_unit(const struct reading *r, const struct mfu_claim_number *n, bool changes)
{
    struct match here = {.begin = n->at, .end = n->end};
    bool all = false, scoped = scope_of(r, &here, &all) > 0;

    for (size_t i = 0; i < N(scopes) && r->topic >= 0; i++)
        if (scoped && (r->topic == scopes[i].one || r->topic == scopes[i].all) && suits(r->topic, "", n))
            return r->topic;
    if (r->topic >= 0 && (changes || (n->roles | role_of(mfu_claim_blanks(n->end))) & (FROM | AFTER))
        && suits(r->topic, "", n))
        return r->topic;
    for (size_t i = 0; i < N(of_parameters); i++)
        if (r->topic == of_parameters[i].one && n->dim == MFU_BYTES)
            return of_parameters[i].all;
    if (n->money)
        return MFU_Q_COST;
    if (n->bare || goes_on(word_end(mfu_claim_blanks(n->end)))) /* "1.6B tokens/hour" */
        return -1;
    if (n->dim == MFU_BYTES && scoped && all)
        return MFU_Q_CAPACITY;
    if (n->dim == MFU_BYTES && !r->training && !(r->topic == MFU_Q_MEMORY))
        for (int i = 0; i < r->audit->n_claims; i++)
            if (r->audit->claims[i].kind == MFU_Q_WEIGHT_BYTES) /* "70B in fp16 takes 140 GB" */
                return MFU_Q_WEIGHTS;
    if (n->dim == MFU_SECONDS && stated(r->audit, MFU_Q_STEP_TIME, MFU_BEFORE)
        && mfu_claim_stands(mfu_claim_back(&r->t, n->at), "which", 5)) /* "3 s, of which 0.4 s" */
        return MFU_Q_PART_TIME;
    for (size_t i = 0; i < N(by_unit); i++)
        if (by_unit[i].dim == n->dim && n->value * n->factor >= by_unit[i].least)
            return by_unit[i].kind;
    return -1;
}

/* What a factor of a product is by what stands before it; -1: nothing. */
static int kind_of_factor(const struct reading *r)
{
    for (size_t i = 0; r->audit->n_claims > 0 && i < N(factors); i++)
        if (r->audit->claims[r->audit->n_claims - 1].kind == factors[i].kind)
            return factors[i].next;
    return -1;
}

/* "187 TFLOP/s (60 %)", "from 1.9 to 2.5 it/s (+32 %)": a share of what stands right before, or its change. */
static bool take_aside(struct reading *r, struct mfu_claim_number *n)
{
    const char *p = mfu_claim_back(&r->t, n->at);
    const struct mfu_claim *last = r->audit->n_claims > 0 ? &r->audit->claims[r->audit->n_claims - 1] : NULL;
    int sign = *p == '+' ? 1 : *p == '-' ? -1 : 0;
    struct match m = {.begin = n->at, .end = n->end, .kind = -1};

    if (sign != 0)
        p = mfu_claim_back(&r->t, p);
    if (!n->percent || !last || phrase_behind(r, n->end, n).kind >= 0)
        return false;
    if (*p != '(')
        return false;
    if (last->state == MFU_AFTER && last->kind == r->topic) {
        n->roles |=
            sign < 0 || (sign == 0 && last->value < stated(r->audit, last->kind, MFU_BEFORE)->value) ? DOWN : UP;
        return read_change(r, n);
    }
    for (size_t i = 0; i < N(shares); i++)
        if (shares[i].part == last->kind)
            m.kind = shares[i].share;
    if (m.kind >= 0)
        state(r, n, m.kind, last->state, m, n->end);
    return m.kind >= 0;
}

static const char *take_number(struct reading *r, struct mfu_claim_number *n)
{
    struct mfu_claim_number second = {0};
    bool changes = false, two;
    const struct mfu_claim_number *last;
    const char *end;
    struct match m = {.kind = -1};

    if (!n->bare && n->dim == MFU_FLOP_PER_S)
        r->last = *n;
    n->roles = roles_before(r, n->at);
    end = mfu_claim_blanks(n->end);
    if (n->times && strncmp(n->end - 2, " x ", 3) == 0 && role_of(end) == 0
        && !mfu_claim_counted(end)) { /* "TP 4 x PP 8" */
        struct mfu_claim_number any = *n;

        any.times = false;
        any.bare = true;
        if (phrase_before(r, n->at, &any, false).kind >= 0) {
            *n = any;
            n->end -= 2;
        }
    }
    two = read_second(n, &second, &changes);
    if (two && strncmp(end, "->", 2) == 0) { /* "seq 1024 -> 8192 tokens per step": two things, not one that changes */
        struct match own = phrase_before(r, n->at, n, false), behind = phrase_behind(r, second.end, &second);

        two = own.kind < 0 || behind.kind < 0 || behind.kind == own.kind || mfu_claim_blanks(second.end) != behind.begin
            || mfu_quantity_rows[own.kind].dim == MFU_RATIO;
    }
    two = two && same_unit(n, &second);
    changes |= r->factor.times;
    last = two ? &second : n;
    if (n->roles & NOT) /* "not 40 %": nothing is said of what it is */
        return last->end;
    if (!two && (take_aside(r, n) || read_change(r, n)))
        return n->end;
    if (n->times) {
        r->factor = *n; /* "doubled from 11k to 22k tokens/s" */
        return n->end;
    }
    m = phrase_before(r, n->at, last, changes);
    if (m.kind >= 0
        && ((two && mfu_quantity_rows[m.kind].dim == MFU_RATIO && last->bare
             && last->value > 1)                           /* "scaling 1 -> 4 nodes" */
            || memchr(m.end, ':', (size_t)(n->at - m.end)) /* "energy: 1000 GPU hours", "an epoch is 1000 steps" */
            || n->money
            || (last->bare && mfu_quantity_rows[m.kind].dim != MFU_RATIO
                && !(role_of(mfu_claim_back(&r->t, n->at)) & BEHIND) && mfu_claim_counted(mfu_claim_blanks(last->end))
                && mfu_claim_letter(*mfu_claim_back(&r->t, n->at)) && mfu_claim_back(&r->t, n->at) >= m.end))) {
        struct match behind = phrase_behind(r, last->end, last);

        m = behind.kind >= 0 ? behind : m;
    }
    if (m.kind >= 0 && last->dim != MFU_RATIO && m.end < n->at && mfu_claim_letter(*mfu_claim_back(&r->t, n->at))
        && mfu_claim_back(&r->t, n->at) >= m.end) { /* "tokens at 4k context" */
        struct match near = {.kind = -1};
        const char *p = mfu_claim_blanks(last->end);

        best_phrase(r, p, false, true, last, true, &near);
        if (near.kind >= 0 && *near.begin != '/' && !isdigit((unsigned char)*mfu_claim_blanks(near.end))
            && !strchr(":=(", *mfu_claim_blanks(near.end)) && !mfu_claim_stands(mfu_claim_blanks(near.end), "of", 2))
            m = near;
    }
    if (!two && (end = take_part(r, n, m)))
        return end;
    if (m.kind < 0 && !(n->bare && strncmp(n->end, " x ", 3) == 0))
        m = phrase_behind(r, last->end, last);
    if ((m.kind < 0 || m.kind == MFU_Q_GPUS || n->of_tokens) && mfu_claim_is_factor(n->at) && n->bare
        && kind_of_factor(r) >= 0) /* 8 nodes x 8 GPUs */
        m.kind = kind_of_factor(r);
    if (m.kind == MFU_Q_STATE_BYTES) { /* "Adam states take 8 bytes per parameter" */
        struct mfu_claim_number any = *last;
        struct match part;

        any.end = mfu_claim_blanks(""), any.value = 1, any.factor = 1e9;
        part = phrase_of_clause(r, n->at, &any);
        for (size_t i = 0; i < N(of_parameters); i++)
            if (part.kind == of_parameters[i].all)
                m.kind = of_parameters[i].one;
    }
    if (m.kind >= 0 && m.begin >= last->end && kind_of_each(r, last, &m) >= 0)
        m.kind = kind_of_each(r, last, &m);
    if (m.kind < 0 || (m.kind == MFU_Q_UNTOUCHED && kind_of_share(r, last) >= 0)) /* "60 of 400 ms, 15 % of the step" */
        m.kind = kind_of_share(r, last);
    if (m.kind < 0)
        m = phrase_of_clause(r, n->at, last);
    r->guessed = m.kind < 0;
    if (m.kind < 0 && !two)
        leave_out_unit(r, n);
    if (m.kind < 0 && !goes_on(last->end))
        m.kind = kind_of_unit(r, last, changes);
    if (m.kind < 0)
        return last->end;
    if (!m.begin)
        m.begin = n->at, m.end = last->end;
    if (two && changes) {
        state(r, n, m.kind, MFU_BEFORE, m, last->end);
        second.at = n->at;
        state(r, &second, m.kind, MFU_AFTER, m, last->end);
        r->topic = m.kind;
        if (r->factor.times)
            read_change(r, &r->factor);
        r->factor.times = false;
    } else if (two && second.value >= n->value) { /* a range: its middle, as wide as it is */
        n->half = 0.5 * (second.value - n->value) + second.half;
        n->value = 0.5 * (second.value + n->value);
        n->whole = false;
        state(r, n, m.kind, MFU_BEFORE, m, last->end);
    } else {
        state(r, n, m.kind, MFU_BEFORE, m, last->end);
        if ((n->roles | (m.begin < n->at ? roles_before(r, m.begin) : 0)) & KEEPS)
            state(r, n, m.kind, MFU_AFTER, m, last->end);
    }
    return last->end;
}

/* ---- what a model brings -------------------------------------------------------- */

/* Plans the model, with the sequence that was stated. */
static bool plan_model(const struct reading *r, const struct mfu_model *model, const struct mfu_scenario *start,
                       struct mfu_plan *p, struct mfu_error *err)
{
    struct mfu_scenario s = mfu_scenario_start(model, start->gpu);
    const struct mfu_claim *seq = stated(r->audit, MFU_Q_SEQ, MFU_BEFORE);
    char text[32];

    snprintf(text, sizeof text, "%.0f", seq ? seq->value : 0);
    if (seq)
        mfu_scenario_set(&s, "seq", text, err);
    return mfu_plan_make(p, &s, err) == 0;
}

static bool has_size(const struct mfu_plan *p, const struct mfu_claim *params)
{
    return p->program.params >= 0.97 * params->in.low && p->program.params <= 1.03 * params->in.high;
}

/* "GPT-2 1.5B" is not gpt2 but gpt2-xl: of the sizes of one name that which is stated. */
static const struct mfu_model *find_size(const struct reading *r, const struct mfu_scenario *start,
                                         const struct mfu_claim *params, struct mfu_error *err)
{
    size_t n, length = strlen(r->model->slug);
    const char *const *names = mfu_catalog_models(r->catalog, &n);
    struct mfu_plan *p = calloc(1, sizeof *p);
    const struct mfu_model *found = NULL;

    for (size_t i = 0; p && !found && i < n; i++) {
        const struct mfu_model *m = strncmp(names[i], r->model->slug, length) == 0 && names[i][length] == '-'
            ? mfu_catalog_model(r->catalog, names[i], NULL)
            : NULL;

        if (m && plan_model(r, m, start, p, err)) {
            found = has_size(p, params) ? m : NULL;
            mfu_plan_release(p);
        }
    }
    free(p);
    return found;
}

/* "gemma-2b" has 2.5B: what its name says, if that is near. */
static double nominal_size(const char *slug, double params)
{
    for (const char *p = slug; *p; p++) {
        char *end;
        double size = isdigit((unsigned char)*p) ? strtod(p, &end) : 0;

        if (size > 0 && (*end == 'b' || *end == 'm') && !isalnum((unsigned char)end[1])) {
            size *= *end == 'b' ? 1e9 : 1e6;
            return size > 0.75 * params && size < 1.25 * params ? size : params;
        }
    }
    return params;
}

static int add_model(struct reading *r, const struct mfu_scenario *start, struct mfu_error *error)
{
    struct mfu_plan *p = calloc(1, sizeof *p);
    struct mfu_convention list[MFU_CONVENTIONS_MAX];
    const struct mfu_claim *params = stated(r->audit, MFU_Q_PARAMS, MFU_BEFORE);
    const struct mfu_model *size = NULL;
    struct mfu_error err = {0};
    double low = INFINITY, high = 0, called;
    bool planned = p && plan_model(r, r->model, start, p, &err);

    if (planned && params && !has_size(p, params) && (size = find_size(r, start, params, &err))) {
        mfu_plan_release(p);
        r->model = size;
        planned = plan_model(r, size, start, p, &err);
    }
    if (planned && (params = stated(r->audit, MFU_Q_PARAMS, MFU_BEFORE)) && p->program.params > 0.94 * params->value
        && p->program.params < 1.06 * params->value) { /* "Phi-2 2.7B" has 2.78 */
        struct mfu_claim *nominal = &r->audit->claims[params - r->audit->claims];

        nominal->in.low = fmin(nominal->in.low, p->program.params * 0.995);
        nominal->in.high = fmax(nominal->in.high, p->program.params * 1.005);
    }
    if (!p)
        mfu_fail(&err, MFU_ENOMEM, "out of memory");
    else if (planned) {
        size_t n = mfu_conventions(p, list);
        for (size_t i = 0; i < n; i++)
            if (strcmp(list[i].name, "hfu") != 0) {
                low = fmin(low, list[i].flops_per_token);
                high = fmax(high, list[i].flops_per_token);
            }
        called = fmin(nominal_size(r->model->slug, p->program.params), p->program.params);
        mfu_claim_add(r->audit, MFU_Q_PARAMS, MFU_BEFORE, fmin(called, p->program.params * 0.995),
                      fmax(nominal_size(r->model->slug, p->program.params), p->program.params * 1.005), "catalog", "%s",
                      r->model->slug);
        mfu_claim_add(r->audit, MFU_Q_ACTIVE, MFU_BEFORE, fmin(fmin(called, low / 6), p->program.active_params * 0.995),
                      p->program.active_params * 1.005, "catalog", "%s, by any convention", r->model->slug);
        if (high > 0)
            mfu_claim_add(r->audit, MFU_Q_FLOP_PER_TOKEN, MFU_BEFORE, low, high, "catalog", "%s, by any convention",
                          r->model->slug);
        if (!stated(r->audit, MFU_Q_SEQ, MFU_BEFORE))
            mfu_claim_add(r->audit, MFU_Q_SEQ, MFU_BEFORE, p->config.seq, p->config.seq, "assumed", "%s's own",
                          r->model->slug);
        mfu_plan_release(p);
    }
    free(p);
    return err.code == MFU_ENOMEM ? mfu_fail(error, MFU_ENOMEM, "out of memory") : 0;
}

/* ---- all of it -------------------------------------------------------------------- */

struct mfu_claim *mfu_claim_add(struct mfu_audit *a, int kind, enum mfu_claim_state s, double low, double high,
                                const char *from, const char *format, ...)
{
    struct mfu_claim *c;
    va_list arguments;

    if (a->n_claims == MFU_CLAIMS || !(low >= 0) || !(high >= low))
        return NULL;
    c = &a->claims[a->n_claims++];
    *c = (struct mfu_claim){
        .kind = kind, .state = s, .in = {low, high}, .value = low == high ? low : (double)NAN, .from = from};
    va_start(arguments, format);
    vsnprintf(c->text, sizeof c->text, format, arguments);
    va_end(arguments);
    return c;
}

static bool is_hyphen(char c)
{
    return c == '-' || c == '_';
}

/* Words that nobody understood, as they were written; small ones, names and punctuation left out. */
static void list_rest(struct reading *r)
{
    char *to = r->audit->unread, said[80];
    size_t n = 0;

    for (const char *p = r->t.text; *p;) {
        size_t length = strcspn(p, " ,;:()");
        bool small = length == 0 || r->t.used[p - r->t.text] || role_of(p) != 0 || strncmp(p, "->", 2) == 0
            || mfu_claim_stands(p, "gpu", 3) || mfu_claim_stands(p, "model", 5);

        while (!small && p[length] == ' ' && is_hyphen(r->t.claim[r->t.to[p + length - 1 - r->t.text]]))
            length += 1 + strcspn(p + length + 1, " ,;:()");
        mfu_claim_text_quote(&r->t, p, p + length, said, sizeof said);
        if (!small && n + strlen(said) + 3 < sizeof r->audit->unread)
            n += (size_t)snprintf(to + n, sizeof r->audit->unread - n, "%s%s", n > 0 ? "; " : "", said);
        p += length + (p[length] != '\0');
    }
}

/* An outcome that is told once, where others change, is that afterwards; what words say may be.  One that changes is
 * what it is likeliest to be. */
static void place_single(struct mfu_audit *a, int words)
{
    bool changes = false;

    for (int i = 0; i < a->n_claims; i++)
        changes |= a->claims[i].state != MFU_BEFORE;
    for (int i = 0; changes && i < a->n_claims; i++) {
        struct mfu_claim *c = &a->claims[i];
        bool both = false;

        for (int k = 0; k < a->n_claims; k++)
            if (k != i && a->claims[k].kind == c->kind && a->claims[k].state != c->state) {
                both |= a->claims[k].state == MFU_AFTER;
                if (c->kind != MFU_Q_ACHIEVED || strcmp(c->text, a->claims[k].text) == 0) /* "400 of 989 TFLOP/s" */
                    c->n_readings = 0;
            }
        if (i < words && c->n_readings < MFU_READINGS)
            c->readings[c->n_readings++] = (struct mfu_claim_reading){c->kind, MFU_AFTER};
        else if (c->state == MFU_BEFORE && !both && !(mfu_quantity_rows[c->kind].traits & MFU_Q_SETUP))
            c->state = MFU_AFTER;
    }
}

/* Two sizes where nothing changes: of much more the lesser part is trained. */
static void place_adapter(struct mfu_audit *a)
{
    struct mfu_claim *all = stated(a, MFU_Q_PARAMS, MFU_BEFORE), *part = stated(a, MFU_Q_PARAMS, MFU_AFTER);

    for (int i = 0; i < a->n_claims; i++)
        if (a->claims[i].state == MFU_CHANGE || (a->claims[i].state == MFU_AFTER && &a->claims[i] != part)
            || a->claims[i].kind == MFU_Q_TRAINABLE)
            return;
    if (!all || !part)
        return;
    part->state = MFU_BEFORE;
    (part->value < all->value ? part : all)->kind = MFU_Q_TRAINABLE;
}

/* "FP8 has 1979 TFLOP/s, bf16 989": the peak of another type than the one that is computed in is compared by itself. */
static void compare_peaks(struct reading *r)
{
    for (int i = 0; r->gpu[0] && i < r->audit->n_claims; i++) {
        struct mfu_claim *c = &r->audit->claims[i];
        enum mfu_peak peak = r->peak;
        long near = 60;

        if (c->kind != MFU_Q_PEAK || c->at == 0)
            continue;
        for (size_t k = 0; k < N(precisions); k++)
            for (char *p = r->t.text; (p = find_word(r, p, precisions[k].word)); p++)
                if (precisions[k].peak != MFU_PEAK_COUNT && p < r->t.text + c->at && r->t.text + c->at - p < near) {
                    near = r->t.text + c->at - p;
                    peak = precisions[k].peak;
                }
        if (peak == r->peak || !(r->gpu[0]->peak_flops[peak] > 0)
            || mfu_audit_claims(r->audit, MFU_Q_COMPUTED, MFU_BEFORE))
            continue;
        c->kind = MFU_Q_COMPUTED;
        c->state = MFU_BEFORE;
        c->n_readings = 0;
        mfu_claim_add(r->audit, MFU_Q_COMPUTED, MFU_BEFORE, 0.995 * r->gpu[0]->peak_flops[peak],
                      1.005 * r->gpu[0]->peak_flops[peak], "catalog", "%s, %s", r->gpu[0]->slug, mfu_peak_names[peak]);
    }
}

/* A peak binds what is achieved or used of it: where neither is told beside it, "deliver 400 TFLOP/s" is none; nor where
 * the card has its own. */
static void drop_peaks(struct reading *r)
{
    int achieved = 0, used = 0;

    for (int i = 0; i < r->audit->n_claims; i++) {
        achieved += r->audit->claims[i].kind == MFU_Q_ACHIEVED;
        used += r->audit->claims[i].kind == MFU_Q_MFU;
    }
    for (int i = 0; i < r->audit->n_claims && achieved < 2 && (used > 0) == (r->gpu[0] != NULL); i++) {
        struct mfu_claim *c = &r->audit->claims[i];
        int n = 0;

        for (int k = 0; k < c->n_readings; k++)
            if (c->readings[k].kind != MFU_Q_PEAK)
                c->readings[n++] = c->readings[k];
        c->n_readings = n;
    }
}

/* "fits a 24 GB card": there is one. */
static void count_one(struct reading *r)
{
    bool found = stated(r->audit, MFU_Q_GPUS, MFU_BEFORE);
    char said[80];

    for (const char *p = r->t.text + 1, *word, *end; !found && *p; p++) {
        struct mfu_claim_number size;

        if (!find_here(p, "a") && !find_here(p, "an") && !find_here(p, "one") && !find_here(p, "single"))
            continue;
        word = mfu_claim_blanks(word_end(p));
        if (mfu_claim_number(r->t.text, word, &size) && size.dim == MFU_BYTES)
            word = mfu_claim_blanks(size.end);
        end = word_end(word);
        if (find_here(word, "gpu")
            && (!isalpha((unsigned char)*mfu_claim_blanks(end)) || role_of(mfu_claim_blanks(end)) != 0))
            found = mfu_claim_add(r->audit, MFU_Q_GPUS, MFU_BEFORE, 1, 1, "assumed", "%s",
                                  mfu_claim_text_quote(&r->t, p, end, said, sizeof said));
    }
}

/* What is computed in a type for which the card has no arithmetic has no peak. */
static void add_gpus(struct reading *r)
{
    bool computes = stated(r->audit, MFU_Q_ACHIEVED, MFU_BEFORE) || stated(r->audit, MFU_Q_MFU, MFU_BEFORE);

    for (int i = 0; i < 2; i++)
        if (r->gpu[i])
            add_gpu(r, r->gpu[i], i == 0 ? MFU_BEFORE : MFU_AFTER);
    if (r->gpu[0] && computes && r->peak != MFU_PEAK_BF16 && !(r->gpu[0]->peak_flops[r->peak] > 0))
        mfu_claim_add(r->audit, MFU_Q_PEAK, MFU_BEFORE, 0, 0, "catalog", "no %s on %s", mfu_peak_names[r->peak],
                      r->gpu[0]->slug);
}

int mfu_claim_read(struct mfu_catalog *catalog, const struct mfu_scenario *start, const char *text, struct mfu_audit *a,
                   struct mfu_error *err)
{
    struct reading *r;
    bool *taken;
    int status = 0, words;

    if (strlen(text) > MFU_CLAIM_LONGEST)
        return mfu_fail(err, MFU_EINPUT, "a claim is no longer than %d characters", MFU_CLAIM_LONGEST);
    r = calloc(1, sizeof *r);
    taken = calloc(MFU_CLAIM_ROOM, sizeof *taken);
    if (!r || !taken) {
        free(r);
        free(taken);
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    }
    r->audit = a;
    r->catalog = catalog;
    r->topic = -1;
    mfu_claim_text_start(&r->t, text);
    find_names(r);
    mfu_claim_text_words(&r->t);
    for (const char *p = r->t.text; *p; p = *p ? word_end(p) : p)
        r->training |= (role_of(p) & TRAINS) != 0;
    a->several = strstr(r->t.text, "each gpu") != NULL || strstr(r->t.text, "/gpu") != NULL;
    find_ways(r, taken);
    find_precisions(r, taken);
    words = a->n_claims;
    mfu_claim_equations(a, &r->t, taken);
    for (const char *p = r->t.text; *p;) {
        struct mfu_claim_number n;

        if ((isdigit((unsigned char)*p) || *p == '$') && !taken[p - r->t.text] && mfu_claim_number(r->t.text, p, &n))
            p = take_number(r, &n);
        else
            p++;
    }
    for (size_t i = 0; i < MFU_CLAIM_ROOM; i++)
        r->t.used[i] |= taken[i];
    mfu_claim_units(a, &r->t);
    count_one(r);
    add_gpus(r);
    if (r->model)
        status = add_model(r, start, err);
    place_adapter(a);
    if (stated(a, MFU_Q_KV, MFU_BEFORE) && stated(a, MFU_Q_BATCH, MFU_BEFORE)) /* the batch is what is served at once */
        stated(a, MFU_Q_BATCH, MFU_BEFORE)->kind = MFU_Q_KV_SEQUENCES;
    place_single(a, words);
    drop_peaks(r);
    compare_peaks(r);
    if (strstr(r->t.text, "model state") && !mfu_audit_claims(a, MFU_Q_STATE_BYTES, MFU_BEFORE))
        mfu_claim_add(a, MFU_Q_STATE_BYTES, MFU_BEFORE, 8, 20, "assumed", "Adam, some of it in 16 bits");
    list_rest(r);
    free(taken);
    free(r);
    return status;
}
