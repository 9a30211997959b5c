/*
 * claim_aside.c - numbers that are no quantities of a run: years, versions, scores, and settings that no identity has.
 *
 * They are set aside before anything is bound, so that no unit word near them makes tokens of a year.
 */
#include "answer/audit/reading.h"

#include <string.h>

// clang-format off
/* What a number right behind is that of; the last: right before, too. */
static const char *const versions = "pytorch|torch|cuda|cudnn|nccl|driver|python|version|release|megatron|megatron core|core|deepspeed|vllm|triton|jax|transformers|ubuntu|apache|table|figure|fig|section|appendix|chapter|round|attempt";
static const char *const settings = "loss|lr|learning rate|dropout|seed|beta1|beta2|warmup|weight decay|alpha|temperature|top p|theta|eps|epsilon|clip|clipping|momentum|max num seqs|gpu memory utilisation";
static const char *const scores = "loss curve|loss is|curve|quality|convergence|perplexity|ppl|wer|cer|bleu|rouge|fid|mmlu|gsm8k|humaneval|top 1|top 5|accuracy|test accuracy|validation accuracy|score|f1|auc|elo|win rate";
static const char *const months = "january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|nov|dec";
// clang-format on

/* Whether one of a list ends at `p`. */
static bool one_before(const struct mfu_reading *r, const char *list, const char *p)
{
    for (const char *begin = p - 1; begin > r->t.text && p - begin < 40; begin--)
        if (!mfu_claim_letter(begin[-1]) && mfu_claim_one_of(list, begin) == (size_t)(p - begin))
            return true;
    return false;
}

/* The same before small words, and so many others; a setting is one thing, of which "clips" are several. */
static bool stands_before(const struct mfu_reading *r, const char *list, const char *p, int words)
{
    const char *text = r->t.text;

    for (int i = 0; i < 5; i++) {
        const char *word = mfu_claim_back(&r->t, p);

        while (p > text && p[-1] == ' ')
            p--;
        if (one_before(r, list, p))
            return list != settings || p[-1] == 's' || r->t.claim[r->t.to[p - 1 - text] - 1] != 's';
        if (word >= p || mfu_digit(*word) || strchr(".;,", *word)
            || (!(mfu_claim_role(word) & MFU_W_BETWEEN) && words-- == 0))
            return false;
        p = word;
    }
    return false;
}

static bool is_year(const struct mfu_reading *r, const struct mfu_claim_number *n)
{
    const char *before = mfu_claim_back(&r->t, n->at), *behind = mfu_claim_blanks(n->end);

    if (!n->bare || !n->whole || n->end - n->at != 4 || n->value < 1990 || n->value > 2039)
        return false;
    return mfu_claim_one_of(months, before) > 0
        || ((mfu_claim_stands(before, "in") || mfu_claim_stands(before, "since")) && !mfu_alpha(*behind)
            && *behind != '/');
}

void mfu_claim_doubt(struct mfu_reading *r, const char *from, const char *to)
{
    mfu_claim_text_quote(&r->t, from, to, r->audit->unread_figure, sizeof r->audit->unread_figure);
}

/* "we freed 21 GB": a difference, of which no identity knows. */
static bool is_freed(const struct mfu_reading *r, const char *p)
{
    char said[8];

    p = mfu_claim_subject(&r->t, p);
    mfu_claim_text_quote(&r->t, p, mfu_claim_word_end(p), said, sizeof said);
    return strcmp(said, "freed") == 0 || strcmp(said, "frees") == 0;
}

void mfu_claim_set_aside(struct mfu_reading *r)
{
    for (const char *p = r->t.text + 1; *p;) {
        struct mfu_claim_number n;
        const char *behind;
        size_t groups;
        bool one;

        size_t score = mfu_claim_letter(p[-1]) ? 0 : mfu_claim_one_of(scores, p);

        if (score > 0) { /* its digits are no figure */
            mfu_claim_take(&r->t, p, p + score);
            p += score;
            continue;
        }
        if (!mfu_digit(*p) || !mfu_claim_number(r->t.text, p, &n)) {
            p++;
            continue;
        }
        behind = mfu_claim_blanks(n.end);
        if ((groups = mfu_claim_groups(r->t.claim, r->t.claim + r->t.from[p - r->t.text], &one)) > 0 && !one) {
            const char *end = p;

            while (*end && r->t.to[end - r->t.text] <= r->t.from[p - r->t.text] + groups)
                end++;
            mfu_claim_doubt(r, p, end);
            mfu_claim_take(&r->t, p, end);
            p = end;
            continue;
        }
        if (n.dim == MFU_BYTES && is_freed(r, n.at))
            mfu_claim_doubt(r, n.at, n.end);
        if (((n.bare || n.percent)
             && (mfu_claim_one_of(scores, behind) > 0 || stands_before(r, scores, n.at, n.percent ? 0 : 2)
                 || (n.bare
                     && (mfu_claim_one_of(months, mfu_claim_back(&r->t, n.at)) > 0
                         || stands_before(r, settings, n.at, 0)))))
            || (n.bare && mfu_claim_one_of(versions, mfu_claim_back(&r->t, n.at)) > 0) || is_year(r, &n))
            mfu_claim_take(&r->t, n.at, n.end);
        else if (n.bare && mfu_claim_stands(mfu_claim_back(&r->t, n.at), "every")
                 && mfu_claim_stands(behind, "step")) /* "a checkpoint every 500 steps": a factor, no run */
            r->t.taken[n.at - r->t.text] = r->t.operand[n.at - r->t.text] = true;
        else if (n.times && n.value == 1 /* "the loss is unchanged", "the same loss" */
                 && (stands_before(r, scores, n.at, 0) || mfu_claim_one_of(scores, behind) > 0))
            mfu_claim_take(&r->t, n.at, n.end);
        p = n.end;
    }
}
