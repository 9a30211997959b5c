/*
 * claim_kinds.c - what a figure says that has no phrase beside it: of each of what is counted, a factor of a
 * product, more of the same, or what its unit is mostly the unit of.
 */
#include "answer/audit/reading.h"

#include <ctype.h>
#include <string.h>

// clang-format off
/* A number with a unit and no phrase, from a size on. */
static const struct { enum mfu_dim dim; double least; int kind; } by_unit[] = {
    {MFU_BYTES, 1e6, MFU_Q_MEMORY}, {MFU_FLOP_PER_S, 0, MFU_Q_ACHIEVED}, {MFU_FLOP, 1e17, MFU_Q_FLOP}, {MFU_FLOP, 0, MFU_Q_FLOP_PER_TOKEN},
    {MFU_SECONDS, 60, MFU_Q_DURATION}, {MFU_SECONDS, 0, MFU_Q_STEP_TIME}, {MFU_WATTS, 0, MFU_Q_POWER}, {MFU_PARAMS, 1e6, MFU_Q_PARAMS}};

/* What a factor behind another is: "batch 8 x 1024". */
static const struct { int kind, next; } factors[] = {
    {MFU_Q_BATCH, MFU_Q_SEQ}, {MFU_Q_GLOBAL_BATCH, MFU_Q_SEQ}, {MFU_Q_NODES, MFU_Q_NODE_GPUS}, {MFU_Q_N_LAYER, MFU_Q_N_EMBD}, {MFU_Q_HEADS, MFU_Q_HEAD_DIM}, {MFU_Q_KV_HEADS, MFU_Q_HEAD_DIM}};
// clang-format on

#define N(list) (sizeof(list) / sizeof(list)[0])

bool mfu_claim_leave_out_unit(const struct mfu_reading *r, struct mfu_claim_number *n)
{
    const char *behind = mfu_claim_blanks(n->end);

    if (!n->bare || r->last.dim != MFU_FLOP_PER_S || n->value > 5 * r->last.value || r->last.value > 20 * n->value
        || mfu_claim_counted(behind) || *behind == '/')
        return false;
    return mfu_claim_same_unit(
        n,
        &(struct mfu_claim_number){
            .factor = r->last.factor, .dim = r->last.dim, .any_flop = r->last.any_flop, .whole = n->whole});
}

int mfu_kind_of_each(const struct mfu_reading *r, const struct mfu_claim_number *n, const struct mfu_phrase *m)
{
    size_t length = (size_t)(m->end - m->begin);

    for (const char *p = n->at, *word; (word = mfu_claim_back(&r->t, p)) < p && !strchr(".;:,", *word); p = word) {
        const char *noun = mfu_claim_counted(word), *one = mfu_claim_back(&r->t, word);

        if (!noun || !((mfu_claim_role(one) | mfu_claim_role(mfu_claim_back(&r->t, one))) & MFU_W_ONE_OF))
            continue;
        for (int k = 0; k < MFU_Q_COUNT; k++)
            for (const char *phrase = mfu_quantity_rows[k].phrases; *phrase; phrase += *phrase == '|') {
                size_t all = strcspn(phrase, "|");

                if (all == length + 1 + strlen(noun) && strncmp(phrase, m->begin, length) == 0 && phrase[length] == '/'
                    && strncmp(phrase + length + 1, noun, strlen(noun)) == 0 && mfu_phrase_suits(k, "", n))
                    return k;
                phrase += all;
            }
    }
    return -1;
}

/* "on an H100 80GB", "an A100 (40 GB)" */
static bool is_behind_gpu(const struct mfu_reading *r, const char *p)
{
    p = mfu_claim_back(&r->t, p);
    return mfu_claim_stands(*p == '(' ? mfu_claim_back(&r->t, p) : p, "gpu", 3);
}

/* Whether it is what a card has: "the RTX 4090 has 24 GB and 1008 GB/s". */
static bool is_of_card(const struct mfu_reading *r, const char *p)
{
    for (const char *word; (word = mfu_claim_back(&r->t, p)) < p; p = word) {
        if (mfu_claim_stands(word, "gpu", 3))
            return r->gpu[0] != NULL;
        if (!isdigit((unsigned char)*word) && !strchr(",:.", *word) && !r->t.used[word - r->t.text]
            && !(mfu_claim_role(word) & MFU_W_BETWEEN))
            return false;
    }
    return false;
}

bool mfu_claim_is_of_cache(const struct mfu_reading *r, const char *p)
{
    const char *cache = mfu_claim_find_word(&r->t, (char *)r->t.text, "kv cache");

    return cache && cache < p && !r->t.used[cache - r->t.text];
}

int mfu_kind_of_checkpoint(const struct mfu_reading *r, const char *p)
{
    static const char *const parts[] = {"lora", "adapter", "/gpu", "shard"};
    const char *checkpoint = mfu_claim_find_word(&r->t, (char *)r->t.text, "checkpoint");

    if (!checkpoint || checkpoint > p || mfu_claim_stated(r->audit, MFU_Q_CHECKPOINT, MFU_BEFORE))
        return -1;
    for (const char *q = checkpoint; q < p; q++)
        if (*q == ';' || (*q == '.' && q[1] == ' '))
            return -1;
    for (size_t i = 0; i < N(parts); i++)
        if (strstr(r->t.text, parts[i]))
            return MFU_Q_CHECKPOINT_PART;
    return MFU_Q_CHECKPOINT;
}

int mfu_kind_of_unit(const struct mfu_reading *r, const struct mfu_claim_number *n, bool changes)
{
    struct mfu_phrase here = {.begin = n->at, .end = n->end};
    bool all = false, scoped = mfu_phrase_scope(r, &here, &all) > 0;

    if (scoped && r->topic >= 0 && mfu_kind_of_scope(r->topic, false) >= 0 && mfu_phrase_suits(r->topic, "", n))
        return r->topic;
    if (r->topic >= 0 && (changes || (n->roles | mfu_claim_role(mfu_claim_blanks(n->end))) & (MFU_W_FROM | MFU_W_AFTER))
        && mfu_phrase_suits(r->topic, "", n))
        return r->topic;
    if (r->topic >= 0 && n->percent
        && (mfu_claim_role(mfu_claim_back(&r->t, n->at)) & (MFU_W_HENCE | MFU_W_EQUALS)
            || (n->roles & MFU_W_ABOUT && *mfu_claim_back(&r->t, mfu_claim_back(&r->t, n->at)) == ','))
        && mfu_phrase_suits(r->topic, "", n)) /* "3/11, i.e. 27 %" */
        return r->topic;
    if (r->topic >= 0 && n->dim == MFU_BYTES && mfu_kind_of_parameters(r->topic, false) == r->topic)
        return mfu_kind_of_parameters(r->topic, true);
    if (n->money)
        return MFU_Q_COST;
    if (n->bare && scoped && all && mfu_claim_stated(r->audit, MFU_Q_NODE_GPUS, MFU_BEFORE)) /* "256 in total" */
        return MFU_Q_GPUS;
    if (n->dim == MFU_BYTES_PER_S)
        return is_of_card(r, n->at) ? MFU_Q_BANDWIDTH : -1;
    if (n->bare || mfu_phrase_goes_on(mfu_claim_word_end(mfu_claim_blanks(n->end)))) /* "1.6B tokens/hour" */
        return -1;
    if (n->dim == MFU_BYTES && is_behind_gpu(r, n->at) && !mfu_claim_stated(r->audit, MFU_Q_CAPACITY, MFU_BEFORE))
        return MFU_Q_CAPACITY;
    if (n->dim == MFU_BYTES && scoped && all)
        return MFU_Q_CAPACITY;
    if (n->dim == MFU_BYTES && !r->training && !(r->topic == MFU_Q_MEMORY))
        for (int i = 0; i < r->audit->n_claims; i++)
            if (r->audit->claims[i].kind == MFU_Q_WEIGHT_BYTES) /* "70B in fp16 takes 140 GB" */
                return MFU_Q_WEIGHTS;
    if (n->dim == MFU_SECONDS && mfu_claim_stated(r->audit, MFU_Q_STEP_TIME, MFU_BEFORE)
        && mfu_claim_stands(mfu_claim_back(&r->t, n->at), "which", 5)) /* "3 s, of which 0.4 s" */
        return MFU_Q_PART_TIME;
    if (n->dim == MFU_SECONDS && mfu_claim_stated(r->audit, MFU_Q_DURATION, MFU_BEFORE)
        && mfu_claim_stands(mfu_claim_back(&r->t, n->at), "which", 5))
        return MFU_Q_LOST_TIME;
    if (n->dim == MFU_BYTES && mfu_claim_is_of_cache(r, n->at))
        return MFU_Q_KV;
    for (size_t i = 0; i < N(by_unit); i++)
        if (by_unit[i].dim == n->dim && n->value * n->factor >= by_unit[i].least)
            return by_unit[i].kind;
    return -1;
}

int mfu_kind_of_factor(const struct mfu_reading *r)
{
    for (size_t i = 0; r->audit->n_claims > 0 && i < N(factors); i++)
        if (r->audit->claims[r->audit->n_claims - 1].kind == factors[i].kind)
            return factors[i].next;
    return -1;
}
