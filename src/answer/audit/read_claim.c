/*
 * read_claim.c - a claim from its first word to its last: the order in which it is read, and what the figures
 * mean together.  What is left over is listed.
 */
#include "answer/audit/reading.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/audit/arithmetic.h"
#include "base/error.h"

#define A_STEP 1e8 /* tokens: no run has so few, and hardly a step so many */
#define N(list) (sizeof(list) / sizeof(list)[0])

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

/* Whether a number is that of an amount, and no name or setting of something else. */
static bool is_amount(const struct mfu_claim_number *n)
{
    const char *behind = mfu_claim_blanks(n->end);

    return n->money || n->percent || n->times || n->of_tokens || n->of_sequences || n->dim == MFU_PARAMS
        || (!n->bare && n->dim != MFU_COUNT) || (mfu_claim_counted(behind) && n->bare);
}

/* Words that nobody understood, as they were written; small ones, names and punctuation left out. */
static void list_rest(struct mfu_reading *r)
{
    char *to = r->audit->unread, said[80];
    size_t n = 0;

    for (const char *p = r->t.text; *p;) {
        size_t length = strcspn(p, " ,;:()");
        struct mfu_claim_number figure;
        bool small = length == 0 || r->t.used[p - r->t.text] || mfu_claim_role(p) != 0 || strncmp(p, "->", 2) == 0
            || mfu_claim_stands(p, "gpu", 3) || mfu_claim_stands(p, "model", 5);

        if (!small && !r->audit->unread_figure[0] && strchr("0123456789$", r->t.claim[r->t.from[p - r->t.text]])
            && mfu_claim_number(r->t.text, p, &figure) && is_amount(&figure))
            mfu_claim_text_quote(&r->t, p, figure.end, r->audit->unread_figure, sizeof r->audit->unread_figure);
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
    struct mfu_claim *gpus = mfu_claim_stated(a, MFU_Q_GPUS, MFU_BEFORE);
    bool changes = false;

    if (mfu_audit_claims(a, MFU_Q_SCALING, MFU_BEFORE) && gpus && !mfu_audit_claims(a, MFU_Q_GPUS, MFU_AFTER)
        && !mfu_audit_claims(a, MFU_Q_GPUS, MFU_CHANGE)) { /* "6.4x on 8 GPUs, 80 % efficiency": of one */
        gpus->state = MFU_AFTER;
        mfu_claim_add(a, MFU_Q_GPUS, MFU_BEFORE, 1, 1, "assumed", "one");
    }
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

// clang-format off
/* What a figure is where another one is told beside it, or is not. */
static const struct { int kind, beside, is; bool told; } besides[] = {
    {MFU_Q_BATCH, MFU_Q_KV, MFU_Q_KV_SEQUENCES, true}, {MFU_Q_COMPUTE_TIME, MFU_Q_STEP_TIME, MFU_Q_STEP_TIME, false}};

/* What goes without saying where one is told and the other is not: a bubble has stages, and micro-batches. */
static const struct { int told, untold, is; double low, high; } implied[] = {
    {MFU_Q_FREE, MFU_Q_FULL, MFU_Q_FULL, 1, 1}, {MFU_Q_BUBBLE, MFU_Q_PP, MFU_Q_PP, 2, 1e4}, {MFU_Q_BUBBLE, MFU_Q_ACCUM, MFU_Q_ACCUM, 1, 1e6}, {MFU_Q_KV_HEADS, MFU_Q_HEADS, MFU_Q_HEAD_GROUP, 1, 128}};

/* What two figures of one quantity are where nothing changes and `beside` is told: the lesser is that of a part. */
static const struct { int kind, lesser, greater, beside; } pairs[] = {
    {MFU_Q_PARAMS, MFU_Q_TRAINABLE, MFU_Q_PARAMS, MFU_Q_PARAMS}, {MFU_Q_TOKENS, MFU_Q_CORPUS, MFU_Q_TOKENS, MFU_Q_EPOCHS},
    {MFU_Q_TOKENS_PER_S, MFU_Q_TOKENS_PER_S_GPU, MFU_Q_TOKENS_PER_S, MFU_Q_GPUS}, {MFU_Q_POWER, MFU_Q_POWER, MFU_Q_POWER_ALL, MFU_Q_GPUS},
    {MFU_Q_CAPACITY, MFU_Q_CAPACITY, MFU_Q_CAPACITY_ALL, MFU_Q_GPUS}, {MFU_Q_PRICE, MFU_Q_PRICE, MFU_Q_PRICE_ALL, MFU_Q_GPUS},
    {MFU_Q_ACHIEVED, MFU_Q_ACHIEVED, MFU_Q_ACHIEVED_ALL, MFU_Q_GPUS}, {MFU_Q_BATCH, MFU_Q_BATCH, MFU_Q_GLOBAL_BATCH, MFU_Q_ACCUM}};
// clang-format on

static void place_beside(struct mfu_audit *a)
{
    struct mfu_claim *tokens = mfu_claim_stated(a, MFU_Q_TOKENS, MFU_BEFORE);

    for (size_t i = 0; i < N(besides); i++) {
        struct mfu_claim *c = mfu_claim_stated(a, besides[i].kind, MFU_BEFORE);

        if (c && mfu_audit_claims(a, besides[i].beside, MFU_BEFORE) == besides[i].told)
            c->kind = besides[i].is;
    }
    for (int i = 0; mfu_claim_stated(a, MFU_Q_CHECKPOINT, MFU_BEFORE) && i < a->n_claims; i++) /* "with both moments" */
        if (a->claims[i].kind == MFU_Q_OPTIMIZER_BYTES)
            a->claims[i].kind = MFU_Q_SAVED_BYTES;
    for (int i = 0; i < a->n_claims; i++) /* "16 bytes per parameter, so 7B need 112 GB" */
        if (a->claims[i].kind == MFU_Q_MEMORY && a->claims[i].guessed
            && mfu_claim_stated(a, MFU_Q_STATE_BYTES, a->claims[i].state)) {
            a->claims[i].n_readings = !a->claims[i].follows;
            a->claims[i].readings[0] = (struct mfu_claim_reading){MFU_Q_MEMORY, a->claims[i].state};
            a->claims[i].kind = MFU_Q_STATES;
        }
    for (size_t i = 0; i < N(implied); i++)
        if (mfu_claim_stated(a, implied[i].told, MFU_BEFORE) && !mfu_claim_stated(a, implied[i].untold, MFU_BEFORE))
            mfu_claim_add(a, implied[i].is, MFU_BEFORE, implied[i].low, implied[i].high, "assumed", "%s with %s",
                          mfu_quantity_rows[implied[i].is].name, mfu_quantity_rows[implied[i].told].name);
    if (tokens && tokens->in.high < A_STEP && mfu_audit_claims(a, MFU_Q_STEP_TIME, MFU_BEFORE)
        && !mfu_audit_claims(a, MFU_Q_TOKENS_PER_STEP, MFU_BEFORE)) /* "45 s per step at 4M tokens" */
        tokens->kind = MFU_Q_TOKENS_PER_STEP;
    for (int i = 0; i < a->n_claims; i++) /* there are several only where they are counted */
        if ((a->claims[i].kind == MFU_Q_CAPACITY || a->claims[i].kind == MFU_Q_PRICE)
            && !mfu_claim_stated(a, MFU_Q_GPUS, MFU_BEFORE))
            a->claims[i].n_readings = 0;
}

/* Whether something but a second figure says that there is a before and an after. */
static bool is_witnessed(const struct mfu_audit *a)
{
    int seconds = 0;

    for (int i = 0; i < a->n_claims; i++) {
        if (a->claims[i].kind == MFU_Q_SCALING || (a->claims[i].state != MFU_BEFORE && !a->claims[i].inferred))
            return true;
        seconds += a->claims[i].inferred && !(mfu_quantity_rows[a->claims[i].kind].traits & MFU_Q_COUNTED);
    }
    return seconds > 1; /* "31 GB with batch 4, 43 GB with batch 8" */
}

/* What a second figure is, that no word says to be what is now. */
static void place_pairs(struct mfu_audit *a)
{
    bool witnessed = is_witnessed(a);

    for (size_t i = 0; i < N(pairs) && !witnessed; i++) {
        struct mfu_claim *first = mfu_claim_stated(a, pairs[i].kind, MFU_BEFORE),
                         *second = mfu_claim_stated(a, pairs[i].kind, MFU_AFTER),
                         *beside = mfu_claim_stated(a, pairs[i].beside, MFU_BEFORE);

        if (!first || !second || !beside || !(beside->value > 1)
            || (pairs[i].lesser != pairs[i].kind && mfu_audit_claims(a, pairs[i].lesser, MFU_BEFORE))
            || (pairs[i].greater != pairs[i].kind && mfu_audit_claims(a, pairs[i].greater, MFU_BEFORE)))
            continue;
        second->state = MFU_BEFORE;
        second->inferred = false;
        first->n_readings = second->n_readings = 0;
        (second->value < first->value ? second : first)->kind = pairs[i].lesser;
        (second->value < first->value ? first : second)->kind = pairs[i].greater;
    }
    for (int i = 0; witnessed && i < a->n_claims; i++)
        a->claims[i].inferred = false;
}

/* Whether the word begins here. */
static bool find_here(const char *p, const char *word)
{
    return !mfu_claim_letter(p[-1]) && mfu_claim_stands(p, word, strlen(word));
}

/* What only its unit said of a figure is not what it is in an equation. */
static void drop_operands(struct mfu_reading *r)
{
    struct mfu_audit *a = r->audit;
    int n = 0;

    for (int i = 0; i < a->n_claims; i++) {
        a->claims[i].computed |= a->claims[i].at > 0 && r->t.operand[a->claims[i].at];
        if (!(a->claims[i].guessed && a->claims[i].kind != MFU_Q_PARAMS && a->claims[i].at > 0
              && r->t.operand[a->claims[i].at]))
            a->claims[n++] = a->claims[i];
    }
    a->n_claims = n;
    for (size_t i = 0; i < MFU_CLAIM_ROOM; i++)
        r->t.used[i] |= r->t.taken[i];
}

/* "fits a 24 GB card": there is one. */
static void count_one(struct mfu_reading *r)
{
    bool found = mfu_claim_stated(r->audit, MFU_Q_GPUS, MFU_BEFORE);
    char said[80];

    for (const char *p = r->t.text + 1, *word, *end; !found && *p; p++) {
        struct mfu_claim_number size;

        if (!find_here(p, "a") && !find_here(p, "an") && !find_here(p, "one") && !find_here(p, "single"))
            continue;
        word = mfu_claim_blanks(mfu_claim_word_end(p));
        if (mfu_claim_number(r->t.text, word, &size) && size.dim == MFU_BYTES)
            word = mfu_claim_blanks(size.end);
        end = mfu_claim_word_end(word);
        if (find_here(word, "gpu")
            && (!isalpha((unsigned char)*mfu_claim_blanks(end)) || mfu_claim_role(mfu_claim_blanks(end)) != 0))
            found = mfu_claim_add(r->audit, MFU_Q_GPUS, MFU_BEFORE, 1, 1, "assumed", "%s",
                                  mfu_claim_text_quote(&r->t, p, end, said, sizeof said));
    }
}

int mfu_claim_read(struct mfu_catalog *catalog, const struct mfu_scenario *start, const char *text, struct mfu_audit *a,
                   struct mfu_error *err)
{
    struct mfu_reading *r;
    int status = 0, words;

    if (strlen(text) > MFU_CLAIM_LONGEST)
        return mfu_fail(err, MFU_EINPUT, "a claim is no longer than %d characters", MFU_CLAIM_LONGEST);
    r = calloc(1, sizeof *r);
    if (!r)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    r->audit = a;
    r->catalog = catalog;
    r->topic = -1;
    mfu_claim_text_start(&r->t, text);
    mfu_claim_find_names(r);
    mfu_claim_text_words(&r->t);
    for (const char *p = r->t.text; *p; p = *p ? mfu_claim_word_end(p) : p)
        r->training |= (mfu_claim_role(p) & MFU_W_TRAINS) != 0;
    a->several = strstr(r->t.text, "each gpu") != NULL || strstr(r->t.text, "/gpu") != NULL;
    mfu_claim_find_ways(r);
    mfu_claim_find_precisions(r);
    mfu_claim_find_shapes(r);
    words = a->n_claims;
    mfu_claim_equations(a, &r->t);
    for (const char *p = r->t.text; *p;) {
        struct mfu_claim_number n;

        if ((isdigit((unsigned char)*p) || *p == '$') && !r->t.taken[p - r->t.text]
            && mfu_claim_number(r->t.text, p, &n))
            p = mfu_claim_take_number(r, &n);
        else
            p++;
    }
    drop_operands(r);
    mfu_claim_units(a, &r->t);
    count_one(r);
    mfu_claim_add_gpus(r);
    if (r->model)
        status = mfu_claim_add_model(r, start, err);
    mfu_claim_place_shapes(r);
    place_pairs(a);
    place_beside(a);
    place_single(a, words);
    mfu_claim_drop_peaks(r);
    mfu_claim_compare_peaks(r);
    if (strstr(r->t.text, "model state") && !mfu_audit_claims(a, MFU_Q_STATE_BYTES, MFU_BEFORE))
        mfu_claim_add(a, MFU_Q_STATE_BYTES, MFU_BEFORE, 8, 20, "assumed", "Adam, some of it in 16 bits");
    list_rest(r);
    free(r);
    return status;
}
