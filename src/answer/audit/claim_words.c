/* claim_words.c - the small words of claims and what each says, one row per role. */
#include "answer/audit/reading.h"

#include <string.h>

#include "base/once.h"

// clang-format off
static const struct { int roles; const char *words; } roles[] = {
    {MFU_W_BETWEEN, "is|was|were|are|be|only|at|to|it|by|went|that|and|=|:|(|)|logged|full|with|on|just|so|which|take|took|need|needed|use|used|require|required|"
              "occupy|consume|get|got|reach|reached|give|mean|have|has|had|do|per|measured|reported|still|alone|reduce|deliver|peak|cover|corresponding|correspond|now|or|"
              "show|report|say|read|print|list"},
    {MFU_W_BETWEEN | MFU_W_BEHIND, "of|the|a|an|-|for|in|its|their|our|theoretical|possible|maximum|max|rated|nominal"}, {MFU_W_BEHIND | MFU_W_TRAINS, "training"},
    {MFU_W_BETWEEN | MFU_W_ABOUT, "about|~|around|roughly|approximately|some|approx|circa|ca"}, {MFU_W_BETWEEN | MFU_W_NEARLY, "nearly|almost"},
    {MFU_W_BETWEEN | MFU_W_LEAST | MFU_W_MORE, "more"}, {MFU_W_BETWEEN | MFU_W_LEAST, "least|above|exceed|exceeding|exceeded|beyond"},
    {MFU_W_BETWEEN | MFU_W_MOST | MFU_W_LESS, "less|fewer"}, {MFU_W_BETWEEN | MFU_W_MOST, "most|under|below|upto"}, {MFU_W_BETWEEN | MFU_W_NOT, "no|not|never|cannot|without"},
    {MFU_W_BETWEEN | MFU_W_FROM, "from|instead|than|versus|vs|rather"}, {MFU_W_FROM, "before|previously|originally"}, {MFU_W_AFTER, "after|afterward|now"},
    {MFU_W_BETWEEN | MFU_W_UP, "rise|rose|increased|increase|improved|improve|grew|raised|up|gained|jumped"},
    {MFU_W_BETWEEN | MFU_W_DOWN, "fell|fall|dropped|drop|decreased|decrease|reduced|reduce|shrank|shrink|cut|down|lowered"}, {MFU_W_BETWEEN | MFU_W_DOWN | MFU_W_SPEED, "slowed|slow"}, {MFU_W_BETWEEN | MFU_W_UP | MFU_W_SPEED, "sped"},
    {MFU_W_BETWEEN | MFU_W_DOWN, "saving|save|reduction|decline"}, {MFU_W_BETWEEN | MFU_W_UP, "gain"},
    {MFU_W_MORE, "higher|larger|longer|bigger|increase|gain|improvement|jump|rise|boost"}, {MFU_W_LESS, "lower|smaller|shorter|reduction|drop|decrease|saving|cut|decline|regression|degradation"},
    {MFU_W_MORE | MFU_W_SPEED, "faster|speedup"}, {MFU_W_LESS | MFU_W_SPEED, "slower|slowdown"}, {MFU_W_LESS | MFU_W_COST, "cheaper"},
    {MFU_W_BETWEEN | MFU_W_KEEPS, "stayed|stay|remained|remain|kept|keep|keeping"}, {MFU_W_ONE_OF, "each|every|one|single"},
    {MFU_W_HENCE, "so|ie|thus|hence|therefore|must"}, {MFU_W_EQUALS, "=|that|which|or|mean"},
    {MFU_W_TRAINS, "mfu|hfu|adam|adamw|sgd|lora|qlora|batch|ddp|mixed"}};
// clang-format on

#define N(list) (sizeof(list) / sizeof(list)[0])

const char *mfu_claim_word_end(const char *p)
{
    if (*p && !mfu_claim_letter(*p))
        return p + 1;
    while (mfu_claim_letter(*p))
        p++;
    return p;
}

/* The words of the table, one by one: a claim asks for some thousand. */
static struct {
    const char *word;
    size_t n;
    int roles;
} words[N(roles) * 64]; /* more than twice as many as there are */
static size_t n_words;

static void part_words(void)
{
    for (size_t i = 0; i < N(roles); i++)
        for (const char *w = roles[i].words, *end; *w && n_words < N(words); w = end + (*end == '|')) {
            end = strchrnul(w, '|');
            words[n_words].word = w;
            words[n_words].n = (size_t)(end - w);
            words[n_words++].roles = roles[i].roles;
        }
}

int mfu_claim_role(const char *p)
{
    size_t n = (size_t)(mfu_claim_word_end(p) - p);
    int all = 0;

    MFU_ONCE(part_words);
    for (size_t i = 0; n > 0 && i < n_words; i++)
        if (words[i].n == n && *words[i].word == *p && memcmp(words[i].word, p, n) == 0)
            all |= words[i].roles;
    return all;
}

int mfu_claim_roles_before(const struct mfu_claim_text *t, const char *p)
{
    int all = 0;
    bool by = false;

    for (int i = 0; i < 6; i++) {
        const char *word = mfu_claim_back(t, p);
        int role = word < p ? mfu_claim_role(word) : 0;

        by |= i == 0 && mfu_claim_stands(word, "by");
        if (i > 0 && i < 3
            && mfu_claim_stands(mfu_claim_blanks(mfu_claim_word_end(word)), "of")) /* "an improvement of 50 %" */
            role |= role & MFU_W_MORE ? MFU_W_BETWEEN | MFU_W_UP : role & MFU_W_LESS ? MFU_W_BETWEEN | MFU_W_DOWN : 0;
        if (!(role & MFU_W_BETWEEN) && !(by && i < 3 && mfu_alpha(*word))) /* "cut memory by 30 %" */
            break;
        all |= role & MFU_W_BETWEEN ? role : 0;
        p = word;
    }
    if (all & (MFU_W_LEAST | MFU_W_MOST)) {
        all &= ~MFU_W_FROM; /* "more than" */
        if (all & MFU_W_NOT)
            all = (all & ~(MFU_W_LEAST | MFU_W_MOST | MFU_W_NOT)) | (all & MFU_W_LEAST ? MFU_W_MOST : MFU_W_LEAST);
    }
    return all;
}

size_t mfu_claim_one_of(const char *list, const char *p)
{
    for (const char *w = list; *w; w += *w == '|') {
        size_t n = strcspn(w, "|");

        if (strncmp(p, w, n) == 0 && !(mfu_claim_letter(w[n - 1]) && mfu_claim_letter(p[n])))
            return n;
        w += n;
    }
    return 0;
}

char *mfu_claim_find_word(const struct mfu_claim_text *t, char *p, const char *word)
{
    for (; (p = strstr(p, word)); p++)
        if ((p == t->text || !mfu_claim_letter(p[-1])) && mfu_claim_stands(p, word))
            return p;
    return NULL;
}

char *mfu_claim_says(const struct mfu_claim_text *t, const char *word)
{
    return mfu_claim_find_word(t, (char *)t->text, word);
}

const char *mfu_claim_skip_about(const char *p, bool *about)
{
    *about = false;
    for (p = mfu_claim_blanks(p); mfu_claim_role(p) & MFU_W_ABOUT; p = mfu_claim_blanks(p + (*p == '.'))) {
        *about = true;
        p = mfu_claim_word_end(p);
    }
    return p;
}

const char *mfu_claim_subject(const struct mfu_claim_text *t, const char *p)
{
    for (p = mfu_claim_back(t, p); mfu_claim_role(p) & MFU_W_BETWEEN && mfu_claim_back(t, p) < p;)
        p = mfu_claim_back(t, p);
    return p;
}
