/*
 * claim_phrases.c - the phrase that says what a number is: right before it or right behind it.
 *
 * Nothing but small words may stand between, and the number has the unit of what the phrase names; the
 * phrase before comes first, since nobody else can mean it.  A unit that goes on ("KB/token") is only that
 * of a phrase that does: what has none is left to arithmetic.c.
 */
#include "answer/audit/reading.h"

#include <ctype.h>
#include <string.h>

bool mfu_phrase_goes_on(const char *end)
{
    return *end == '/' && isalpha((unsigned char)end[1]) && !mfu_claim_stands(end, "/gpu", 4)
        && !mfu_claim_stands(end, "/step", 5) && !mfu_claim_stands(end, "/batch", 6)
        && !mfu_claim_stands(end, "/all", 4);
}

bool mfu_phrase_suits(int kind, const char *phrase, const struct mfu_claim_number *n)
{
    const struct mfu_quantity_row *row = &mfu_quantity_rows[kind];
    enum mfu_dim dim = row->dim;
    bool count = dim == MFU_COUNT || dim == MFU_PARAMS || dim == MFU_TOKENS;

    if (n->times)
        return kind != MFU_Q_PRICE;
    if (dim != MFU_RATIO && !mfu_kind_is_doubtful(kind)
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

void mfu_phrase_here(const struct mfu_reading *r, const char *p, bool before, bool near,
                     const struct mfu_claim_number *n, bool again, struct mfu_phrase *m)
{
    for (int k = 0; k < MFU_Q_COUNT; k++)
        for (const char *phrase = mfu_quantity_rows[k].phrases; *phrase; phrase += *phrase == '|') {
            char mark = *phrase;
            size_t skip = mark == '<' || mark == '>' || mark == '=', length = strcspn(phrase, "|") - skip;
            const char *words = phrase + skip, *begin = before ? p - length : p;

            phrase = words + length;
            if ((mark == '>' && before) || (before && begin > r->t.text && begin[-1] == '/')
                || (!before && k == MFU_Q_GPUS && mfu_claim_stands(begin + length, " hour", 5))
                || (mark == '<' && !before && !n->times) || (mark == '=' && before && !near) || length <= m->length
                || begin < r->t.text || (mfu_phrase_goes_on(n->end) && begin != n->end)
                || (!before && mfu_phrase_goes_on(begin + length)) || strncmp(begin, words, length) != 0
                || (mark == '>' && mfu_quantity_rows[k].dim == MFU_RATIO /* 37 % of the A100's 312 */
                    && isdigit((unsigned char)*mfu_claim_blanks(begin + length)))
                || (mark == '<' && n->times && memchr(words, ' ', length)) /* 8x gpu with */
                || (mfu_claim_letter(words[length - 1]) && mfu_claim_letter(begin[length]))
                || (begin > r->t.text && mfu_claim_letter(*begin) && mfu_claim_letter(begin[-1]))
                || !mfu_phrase_suits(k, words, n)
                || (!before && strchr(":=", begin[length]) && begin[length]
                    && strchr(":=", *mfu_claim_back(&r->t, n->at))) /* a label of what follows */
                || (!again && r->t.used[begin - r->t.text + (long)length - 1]))
                continue;
            *m = (struct mfu_phrase){k, length, begin, begin + length};
        }
}

/* "128 KiB of KV cache/token": of what is counted of each, whatever it is; at most three words before it. */
static void find_rest(const struct mfu_reading *r, const char *p, const struct mfu_claim_number *n,
                      struct mfu_phrase *m)
{
    const char *end = p;

    for (int i = 0; i < 3 && isalpha((unsigned char)*mfu_claim_blanks(end)) && *end != '/'; i++)
        end = mfu_claim_word_end(mfu_claim_blanks(end));
    if (end > p && mfu_phrase_goes_on(end) && !n->bare)
        mfu_phrase_here(r, end, false, true, n, true, m);
}

struct mfu_phrase mfu_phrase_behind(const struct mfu_reading *r, const char *p, const struct mfu_claim_number *n)
{
    struct mfu_phrase m = {.kind = -1};
    struct mfu_claim_number size;
    int strange =
        0; /* words, of which one may stand before the phrase of what has a unit: "at the same raw throughput" */

    p = mfu_claim_blanks(p);
    for (int i = 0; i < 4 && m.length == 0; i++) {
        mfu_phrase_here(r, p, false, i == 0, n, true, &m);
        if (m.length == 0)
            find_rest(r, p, n, &m);
        if (m.length == 0 && mfu_claim_number(r->t.text, p, &size) && size.dim == MFU_BYTES) /* 992 80GB GPUs */
            mfu_phrase_here(r, mfu_claim_blanks(size.end), false, false, n, true, &m);
        if (!(mfu_claim_role(p) & MFU_W_BEHIND) && !(n->percent && mfu_claim_stands(p, "is", 2))
            && (mfu_claim_role(p) != 0 || !isalpha((unsigned char)*p) || *p == 'x' || strange++ > 0))
            break;
        p = mfu_claim_blanks(mfu_claim_word_end(p));
    }
    return m;
}

struct mfu_phrase mfu_phrase_before(const struct mfu_reading *r, const char *p, const struct mfu_claim_number *n,
                                    bool again)
{
    struct mfu_phrase m = {.kind = -1};
    bool near = true;

    for (int i = 0; i < 6; i++) {
        const char *word;

        while (p > r->t.text && p[-1] == ' ')
            p--;
        mfu_phrase_here(r, p, true, near, n, again, &m);
        word = mfu_claim_back(&r->t, p);
        if (word >= p || !(mfu_claim_role(word) & MFU_W_BETWEEN) || (r->t.used[word - r->t.text] && !again))
            break;
        near &= *word == '=' || *word == ':';
        p = word;
    }
    return m;
}

struct mfu_phrase mfu_phrase_of_clause(const struct mfu_reading *r, const char *p, const struct mfu_claim_number *n)
{
    struct mfu_phrase m = {.kind = -1};
    int words = n->bare || n->dim == MFU_PARAMS ? 4 : 40;

    for (const char *word; m.kind < 0 && words-- > 0 && (word = mfu_claim_back(&r->t, p)) < p && *word != ';'
         && !(*word == '.' && !isdigit((unsigned char)word[1])) && !(*word == ':' && n->bare)
         && !(n->bare && (*word == ',' || isdigit((unsigned char)*word)));
         p = word)
        mfu_phrase_here(r, mfu_claim_word_end(word), true, false, n, false, &m);
    return m;
}

int mfu_phrase_scope(const struct mfu_reading *r, const struct mfu_phrase *m, bool *all)
{
    const char *p = m->end;

    for (int i = 0; i < 4 && *p && !strchr(",;:+", *p) && !isdigit((unsigned char)*p); i++) {
        *all = mfu_claim_stands(p, "total", 5);
        if (*all || mfu_claim_stands(p, "/gpu", 4))
            return (int)(mfu_claim_word_end(p + 1) - m->end);
        p = mfu_claim_blanks(mfu_claim_word_end(p));
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
