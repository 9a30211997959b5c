/*
 * bind.c - which quantities a figure may be: those of its unit, the nearer their words the likelier.
 *
 * Words on both sides are looked at as far as the sentence goes; each one that stands between costs, most
 * another figure.  What no word says, the unit does.  All that is nearly as likely stays, and is judged.
 */
#include "answer/audit/reading.h"

#include <math.h>
#include <string.h>

#include "base/once.h"

#define BESIDE 10.      /* what a phrase right beside the number scores, */
#define FAR 3.5         /* and one of which nothing is believed */
#define BY_UNIT 4.      /* what only the unit says */
#define LED 0.001       /* marks a phrase that always stands before */
#define WEAK 7.         /* a phrase that is only a unit */
#define MARGIN 4.       /* what is less likely than the likeliest by so much is not */
#define SURE 1.         /* the same where the likeliest is right beside the number */
#define A_PARAMETER 24  /* bytes: nothing that is kept of all is so small */
#define A_WEIGHT 4      /* bytes: nothing that is kept for training is so small */
#define A_RUN 1e9       /* tokens: no run that is told of by its size has fewer */
#define MOST_WATTS 2000 /* no GPU draws more: what does is several */

#define N(list) (sizeof(list) / sizeof(list)[0])

// clang-format off
static const struct pair { int one, all; } scopes[] /* what one GPU has, and all of them */ = {
    {MFU_Q_TOKENS_PER_S_GPU, MFU_Q_TOKENS_PER_S}, {MFU_Q_SAMPLES_PER_S_GPU, MFU_Q_SAMPLES_PER_S}, {MFU_Q_ACHIEVED, MFU_Q_ACHIEVED_ALL},
    {MFU_Q_BATCH, MFU_Q_GLOBAL_BATCH}, {MFU_Q_CAPACITY, MFU_Q_CAPACITY_ALL}, {MFU_Q_STATES, MFU_Q_STATES_ALL}, {MFU_Q_POWER, MFU_Q_POWER_ALL}, {MFU_Q_TOKENS_PER_STEP_GPU, MFU_Q_TOKENS_PER_STEP}, {MFU_Q_WEIGHTS, MFU_Q_WEIGHTS_ALL}, {MFU_Q_MEMORY, MFU_Q_MEMORY_ALL}},
    of_parameters[] = { /* what a parameter has, and all of them */
    {MFU_Q_STATE_BYTES, MFU_Q_STATES}, {MFU_Q_WEIGHT_BYTES, MFU_Q_WEIGHTS}, {MFU_Q_GRADIENT_BYTES, MFU_Q_GRADIENTS}, {MFU_Q_OPTIMIZER_BYTES, MFU_Q_OPTIMIZER_STATES}};

/* What else a figure may be where its words do not say which; `flop`: only where it has the unit of both, from this size on; -1: only by its size. */
static const struct { int kind, other; double flop; } readings[] = {
    {MFU_Q_TOKENS_PER_S, MFU_Q_TOKENS_PER_S_GPU, 0}, {MFU_Q_SAMPLES_PER_S, MFU_Q_SAMPLES_PER_S_GPU, 0}, {MFU_Q_ACHIEVED, MFU_Q_FLOP, 1e17},
    {MFU_Q_ACHIEVED, MFU_Q_PEAK, 0}, {MFU_Q_ACHIEVED, MFU_Q_ACHIEVED_ALL, 0}, {MFU_Q_PEAK, MFU_Q_ACHIEVED, 0}, {MFU_Q_FLOP, MFU_Q_FLOP_PER_TOKEN, 0},
    {MFU_Q_FLOP, MFU_Q_ACHIEVED, 1}, {MFU_Q_FLOP_PER_TOKEN, MFU_Q_FLOP, 0}, {MFU_Q_FLOP_PER_TOKEN, MFU_Q_ACHIEVED, 1},
    {MFU_Q_TOKENS, MFU_Q_TOKENS_PER_STEP, -1}, {MFU_Q_TOKENS, MFU_Q_SEQ, -1}, {MFU_Q_SAMPLES, MFU_Q_BATCH, -1}, {MFU_Q_SAMPLES, MFU_Q_GLOBAL_BATCH, -1}, {MFU_Q_STATES, MFU_Q_STATES_ALL, 0}, {MFU_Q_WEIGHTS, MFU_Q_WEIGHTS_ALL, 0}, {MFU_Q_BUBBLE, MFU_Q_BUBBLE_RATIO, 0}, {MFU_Q_BATCH, MFU_Q_GLOBAL_BATCH, 0}, {MFU_Q_BATCH, MFU_Q_TOKENS_PER_STEP, 0}, {MFU_Q_GLOBAL_BATCH, MFU_Q_TOKENS_PER_STEP, 0}, {MFU_Q_MEMORY, MFU_Q_MEMORY_ALL, 0}, {MFU_Q_PRICE, MFU_Q_PRICE_ALL, 0}, {MFU_Q_POWER_ALL, MFU_Q_NODE_POWER, 0}, {MFU_Q_CAPACITY, MFU_Q_CAPACITY_ALL, 0}};

/* A number with a unit and no phrase, from a size on. */
static const struct { enum mfu_dim dim; double least; int kind; } by_unit[] = {
    {MFU_BYTES, 1e6, MFU_Q_MEMORY}, {MFU_FLOP_PER_S, 0, MFU_Q_ACHIEVED}, {MFU_FLOP, 1e17, MFU_Q_FLOP}, {MFU_FLOP, 0, MFU_Q_FLOP_PER_TOKEN},
    {MFU_SECONDS, 60, MFU_Q_DURATION}, {MFU_SECONDS, 0, MFU_Q_STEP_TIME}, {MFU_WATTS, 0, MFU_Q_POWER}, {MFU_PARAMS, 1e6, MFU_Q_PARAMS}};

/* What a figure is beside sizes, by what has them: "a 4096x11008 projection". */
static const struct { enum mfu_dim dim; int is[MFU_OF_MATRIX + 1]; } shaped[] = {
    {MFU_FLOP, {0, MFU_Q_MATMUL, 0, 0, 0}}, {MFU_SECONDS, {0, MFU_Q_MATMUL_TIME, 0, 0, 0}}, {MFU_PARAMS, {0, 0, MFU_Q_ADAPTER, MFU_Q_EMBEDDING, MFU_Q_MATRIX}}, {MFU_BYTES, {0, 0, 0, MFU_Q_MATRIX_BYTES, MFU_Q_MATRIX_BYTES}}};

/* What a factor behind another is: "batch 8 x 1024". */
static const struct { int kind, next; } factors[] = {
    {MFU_Q_BATCH, MFU_Q_SEQ}, {MFU_Q_GLOBAL_BATCH, MFU_Q_SEQ}, {MFU_Q_NODES, MFU_Q_NODE_GPUS}, {MFU_Q_N_LAYER, MFU_Q_N_EMBD}, {MFU_Q_HEADS, MFU_Q_HEAD_DIM}, {MFU_Q_KV_HEADS, MFU_Q_HEAD_DIM}};

/* A part, the whole and its share; the last of a dimension: of parts that have no name. */
static const struct { int part, whole, share; } shares[] = {
    {MFU_Q_FORWARD_TIME, MFU_Q_STEP_TIME, MFU_Q_FORWARD}, {MFU_Q_BACKWARD_TIME, MFU_Q_STEP_TIME, MFU_Q_BACKWARD},
    {MFU_Q_OPTIMIZER_TIME, MFU_Q_STEP_TIME, MFU_Q_OPTIMIZER}, {MFU_Q_COMMUNICATION_TIME, MFU_Q_STEP_TIME, MFU_Q_COMMUNICATION},
    {MFU_Q_COMPUTE_TIME, MFU_Q_STEP_TIME, MFU_Q_COMPUTE}, {MFU_Q_LOST_TIME, MFU_Q_DURATION, MFU_Q_LOST}, {MFU_Q_PART_TIME, MFU_Q_STEP_TIME, MFU_Q_UNTOUCHED}, {MFU_Q_ACTIVE, MFU_Q_PARAMS, MFU_Q_ACTIVE_SHARE}, {MFU_Q_TRAINABLE, MFU_Q_PARAMS, MFU_Q_TRAINABLE_SHARE},
    {MFU_Q_ACHIEVED, MFU_Q_PEAK, MFU_Q_MFU}, {MFU_Q_MEMORY, MFU_Q_CAPACITY, MFU_Q_FILL}};
// clang-format on

static int other_of(const struct pair *list, size_t n, int kind, bool all)
{
    for (size_t i = 0; i < n; i++)
        if (kind == list[i].one || kind == list[i].all)
            return all ? list[i].all : list[i].one;
    return -1;
}

/* Whether the figure has the size of a quantity, or of what else it may be. */
static bool is_possible(int kind, const struct mfu_claim_number *n)
{
    double low = (n->value - n->half) * n->factor, high = (n->value + n->half) * n->factor;
    bool possible = high >= mfu_quantity_rows[kind].least && low <= mfu_quantity_rows[kind].most;

    for (size_t i = 0; i < N(readings) && !possible; i++)
        possible = readings[i].kind == kind && high >= mfu_quantity_rows[readings[i].other].least
            && low <= mfu_quantity_rows[readings[i].other].most;
    return possible;
}

/* Behind a unit stands more of it, "KB/token": what has none is left to arithmetic.c. */
static bool goes_on(const char *end)
{
    return *end == '/' && mfu_alpha(end[1]) && !mfu_claim_stands(end, "/gpu") && !mfu_claim_stands(end, "/step")
        && !mfu_claim_stands(end, "/batch") && !mfu_claim_stands(end, "/allreduce");
}

/* Whether the number has the unit and the size of the quantity. */
static bool suits(int kind, const char *phrase, const struct mfu_claim_number *n)
{
    enum mfu_dim dim = mfu_dim_of(kind);
    const char *behind = mfu_claim_blanks(n->end);
    bool count = dim == MFU_COUNT || dim == MFU_PARAMS || dim == MFU_TOKENS;

    if (n->times)
        return kind != MFU_Q_PRICE;
    if (n->dim == MFU_FLOP && mfu_claim_stands(n->end, "/byte"))
        return kind == MFU_Q_INTENSITY || kind == MFU_Q_RIDGE;
    if (dim != MFU_RATIO && !is_possible(kind, n))
        return false;
    if (kind == MFU_Q_TOKENS && strncmp(phrase, "training", 8) == 0 && n->value * n->factor < 1e6)
        return false;
    if (kind == MFU_Q_TOKENS_PER_STEP && n->bare && !n->of_tokens && n->value < 1e4)
        return false;
    if (mfu_claim_stands(mfu_claim_blanks(n->end), "parameter") && dim != MFU_PARAMS && !strstr(phrase, "parameter"))
        return false;
    if (n->bare
        && (kind == MFU_Q_MATRIX || kind == MFU_Q_ADAPTER || kind == MFU_Q_EMBEDDING || kind == MFU_Q_MLP
            || kind == MFU_Q_BLOCK_PARAMS))
        return false;
    if (n->energy || kind == MFU_Q_ENERGY)
        return n->energy && kind == MFU_Q_ENERGY;
    if (n->money)
        return kind == MFU_Q_COST || kind == MFU_Q_PRICE || kind == MFU_Q_TOKEN_PRICE;
    if (kind == MFU_Q_PRICE || kind == MFU_Q_TOKEN_PRICE || kind == MFU_Q_COST)
        return false;
    if (n->bare || n->dim == MFU_PARAMS)
        return (count && (!n->of_tokens || dim == MFU_TOKENS || (dim == MFU_COUNT && strncmp(phrase, "token", 5) == 0))
                && !(n->of_sequences && dim == MFU_TOKENS))
            || (n->bare && dim == MFU_RATIO && n->value <= 100 && !mfu_claim_counted(behind)
                && !(mfu_alpha(*behind) && mfu_claim_role(behind) == 0)) /* "two moments" */
            || strncmp(phrase, "byte", 4) == 0 || strncmp(phrase, "flop", 4) == 0;
    return dim == n->dim
        || (n->any_flop
            && (dim == MFU_FLOP_PER_S || (dim == MFU_FLOP && (kind != MFU_Q_FLOP || n->value * n->factor >= 1e17))));
}

/* ---- candidates ------------------------------------------------------------------------ */

void mfu_told_may_be(struct mfu_told *f, int kind, double score, const char *begin, const char *end)
{
    int at = 0;

    for (int i = 0; i < f->n_slots; i++)
        if (f->slots[i].kind == kind) {
            if (f->slots[i].score >= score)
                return;
            memmove(&f->slots[i], &f->slots[i + 1], (size_t)(--f->n_slots - i) * sizeof f->slots[0]);
            break;
        }
    while (at < f->n_slots && f->slots[at].score >= score)
        at++;
    if (at == MFU_SLOTS)
        return;
    f->n_slots += f->n_slots < MFU_SLOTS;
    memmove(&f->slots[at + 1], &f->slots[at], (size_t)(f->n_slots - 1 - at) * sizeof f->slots[0]);
    f->slots[at] = (struct mfu_slot){kind, score, begin, end};
}

/* Whether it is a part of a step. */
static bool is_part(int kind)
{
    for (size_t i = 0; i < N(shares); i++)
        if (shares[i].part == kind && mfu_dim_of(kind) == MFU_SECONDS)
            return true;
    return false;
}

/* Whether a factor stands before: "2.0x the batch". */
static bool is_multiple(const struct mfu_reading *r, const char *p)
{
    const char *word = mfu_claim_back(&r->t, p);

    if (mfu_claim_role(word) & MFU_W_BEHIND)
        word = mfu_claim_back(&r->t, word);
    return mfu_digit(*word) && mfu_claim_word_end(word)[-1] == 'x';
}

/* Whether the claim has a word for it: "doubled". */
static bool is_spelled(const struct mfu_reading *r, const char *p)
{
    return mfu_alpha(r->t.claim[r->t.from[p - r->t.text]]);
}

/* Whether it has the name of a thing there, "4090", and no word for its kind. */
static bool is_named(const struct mfu_reading *r, const char *from, const char *to)
{
    char said[40];

    return strpbrk(mfu_claim_text_quote(&r->t, from, to, said, sizeof said), "0123456789") != NULL;
}

/* How surely a phrase is that of the number that stands before it. */
static double is_owned(const struct mfu_reading *r, const char *p)
{
    for (int i = 0; i < 2; i++) {
        const char *word = mfu_claim_back(&r->t, p);

        if (mfu_digit(*word) || *word == '%')
            return mfu_claim_word_end(word)[-1] == 'x' ? 0 : i == 0 ? 6.5 : 2.5;
        if (!r->t.used[word - r->t.text] && !(mfu_claim_role(word) & MFU_W_BEHIND))
            return 0;
        p = word;
    }
    return 0;
}

/* Whether it is what a percentage before it is of: "half of peak: 140 TFLOP/s". */
static bool is_whole(const struct mfu_reading *r, const char *p)
{
    const char *of = mfu_claim_back(&r->t, p);

    return mfu_claim_stands(of, "of") && *mfu_claim_back(&r->t, of) == '%';
}

/* Whether it says no more than what is counted. */
static bool is_unit(const char *phrase, size_t length)
{
    return mfu_claim_one_of("parameter|token|sequence", phrase) == length;
}

/* The phrases of all quantities, one by one, which a claim is compared with some hundred times. */
#define X(id, name, dim, traits, least, most, from, to, phrases) +sizeof phrases
static struct phrase {
    const char *words;
    size_t length;
    int kind;
    char mark;                        /* how it may stand; '\0': anyhow */
} phrases[(0 MFU_QUANTITIES(X)) / 2]; /* each is a letter and an end, at least */
#undef X
static size_t n_phrases;

static void part_phrases(void)
{
    for (int k = 0; k < MFU_Q_COUNT; k++)
        for (const char *p = mfu_quantity_rows[k].phrases, *end; *p; p = end + (*end == '|')) {
            char mark = strchr("<>=", *p) ? *p++ : '\0';

            end = strchrnul(p, '|');
            phrases[n_phrases++] = (struct phrase){p, (size_t)(end - p), k, mark};
        }
}

/* The longest phrases that end at `p` (before) or begin there; `near`: right beside the number.  How long they are. */
static size_t look(const struct mfu_reading *r, struct mfu_told *f, const char *p, bool before, bool near, double score)
{
    const struct mfu_claim_number *n = &f->n;
    const char *back = mfu_claim_back(&r->t, n->at);
    struct mfu_slot best[MFU_SLOTS];
    size_t longest = 0;
    int count = 0;

    if (before && p == r->t.text)
        return 0;
    MFU_ONCE(part_phrases);
    for (const struct phrase *x = phrases; x < phrases + n_phrases; x++)
        if (before ? p[-1] == x->words[x->length - 1] : *p == *x->words) {
            int k = x->kind;
            char mark = x->mark;
            size_t length = x->length;
            const char *words = x->words, *begin = before ? p - length : p, *end = begin + length;

            if (length < longest || (mark == '>' && before) || (mark == '<' && !before && !n->times)
                || (n->times && k == MFU_Q_PEAK)
                || (mark == '=' && before && !near && (score < BESIDE - 0.5 || k != MFU_Q_GPUS)) || begin < r->t.text
                || *begin != *words || strncmp(begin, words, length) != 0
                || (mark == '=' && before && n->times && !(is_spelled(r, n->at) && !is_named(r, begin, end)))
                || (*words != '/' && begin > r->t.text && begin[-1] == '/')
                || (!before && k == MFU_Q_GPUS && mfu_claim_stands(end, " hour"))
                || (before && !near && n->bare && mfu_claim_stands(mfu_claim_blanks(n->end), "gpu")
                    && !(mfu_traits_of(k) & MFU_Q_COUNTED))
                || (k == MFU_Q_CAPACITY && !before && score < BESIDE - 1) /* "uses 7.5 GB on a 4070" */
                || (goes_on(n->end) && begin != n->end) || (!before && goes_on(end))
                || (!before && n->bare && mfu_dim_of(k) == MFU_RATIO)             /* "35 were lost" */
                || (before && n->bare && is_unit(words, length) && *words != 's') /* what is counted comes later */
                || (mark == '>' && mfu_dim_of(k) == MFU_RATIO                     /* 37 % of the A100's 312 */
                    && mfu_digit(*mfu_claim_blanks(end)))
                || (mark == '<' && n->times && memchr(words, ' ', length)) /* 8x gpu with */
                || (mfu_claim_letter(words[length - 1]) && mfu_claim_letter(*end))
                || (begin > r->t.text && mfu_claim_letter(*begin) && mfu_claim_letter(begin[-1])) || !suits(k, words, n)
                || (k == MFU_Q_NVLINK && !r->gpu[0]))
                continue;
            count = length > longest ? 0 : count;
            longest = length;
            if (count < MFU_SLOTS)
                best[count++] = (struct mfu_slot){k, mark == '<' ? score + LED : score, begin, end};
        }
    for (int i = 0; i < count; i++) {
        const char *beyond = mfu_claim_blanks(best[i].end);
        bool label = !before && *beyond && *best[i].begin != '/'
            && (*beyond == '=' || (*beyond == ':' && !(near && n->bare)) || mfu_digit(*beyond)),
             ratio = mfu_dim_of(best[i].kind) == MFU_RATIO;
        double s = score + fmin(2, 0.1 * (double)longest);

        if (before && (!strchr("=:", *back) || is_whole(r, best[i].begin)) && best[i].score == score)
            s -= is_owned(r, best[i].begin);
        if (before && r->t.used[best[i].end - 1 - r->t.text] && !n->times && !is_multiple(r, best[i].begin))
            s -= 3.5; /* somebody's, but maybe of both */
        if (best[i].score > score && !n->times)
            s += near ? 1 : longest <= 6 ? -4 : 0;
        s -= label ? 3 : 0; /* that of the number behind it */
        if (n->bare && ratio && *back != '=' && n->value > 1)
            s -= 3; /* a count, most likely */
        else if (near && !label && !ratio && !n->times && (before ? *back != ':' : n->bare))
            s += 1.5; /* what is counted, or set */
        if (best[i].kind == MFU_Q_UNTOUCHED)
            s -= 3; /* of which the part has no name */
        if (n->times && (ratio || is_part(best[i].kind)))
            s -= 1.2;
        if (!before && near && memchr(best[i].begin, '/', longest))
            s += *best[i].begin != '/' ? 2 : 0;
        if (is_unit(best[i].begin, longest))
            s = fmin(s, WEAK);
        mfu_told_may_be(f, best[i].kind, s, best[i].begin, best[i].end);
    }
    return longest;
}

static bool ends_sentence(const char *p)
{
    return *p == ';' || (*p == '.' && (p[1] == ' ' || !p[1]));
}

static void look_before(const struct mfu_reading *r, struct mfu_told *f, double pace)
{
    double score = BESIDE;
    bool near = true;
    const char *p = f->n.at, *word;

    for (; score > FAR; p = word) {
        size_t length;
        int role;

        while (p > r->t.text && p[-1] == ' ')
            p--;
        if ((length = look(r, f, p, true, near, score)) > 0) {
            word = p - length;
            score -= 1;
            near = false;
            continue;
        }
        word = mfu_claim_back(&r->t, p);
        if (word >= p || ends_sentence(word))
            break;
        if (mfu_digit(*word) && word - 2 > r->t.text && word[-1] == '.' && mfu_digit(word[-2]))
            for (word -= 2; word > r->t.text && mfu_digit(word[-1]); word--)
                ;
        if (*word == ')')
            for (const char *open = word; open > r->t.text; open--)
                if (*open == '(') {
                    word = open;
                    break;
                }
        role = mfu_claim_role(word);
        near &= *word == '=' || *word == ':';
        score -= pace
            * (mfu_digit(*word)           ? is_spelled(r, word) ? 0.2 : 2.5
                   : *word == ','         ? 1.2
                   : *word == ':'         ? 0.5
                   : strchr("=(", *word)  ? 0.1
                   : role & MFU_W_BETWEEN ? 0.2
                                          : 1);
    }
}

static void look_behind(const struct mfu_reading *r, struct mfu_told *f)
{
    double score = BESIDE;

    for (const char *p = mfu_claim_blanks(f->n.end); score > FAR; p = mfu_claim_blanks(mfu_claim_word_end(p))) {
        int role = mfu_claim_role(p);
        struct mfu_claim_number size;
        size_t length;

        if (f->n.bare && p == mfu_claim_blanks(f->n.end) && mfu_claim_number(r->t.text, p, &size)
            && size.dim == MFU_BYTES)
            p = mfu_claim_blanks(size.end); /* two 80 GB GPUs */
        if ((length = look(r, f, p, false, p == mfu_claim_blanks(f->n.end), score)) > 0) {
            p += length - 1; /* whose last letter is a word to skip */
            score -= 1.5;
            continue;
        }
        if (!*p || strchr(",;:()=+-", *p) || (*p == '.' && !mfu_digit(p[1])) || mfu_digit(*p))
            break;
        if (mfu_claim_stands(p, "and") || role & MFU_W_FROM)
            break;
        score -= role & MFU_W_BEHIND ? 0.2 : 2;
    }
    if (f->n.bare && goes_on(f->n.end))
        return;
    for (const char *p = mfu_claim_blanks(f->n.end), *end = p; mfu_alpha(*end) && end < p + 40;
         end = mfu_claim_blanks(mfu_claim_word_end(end))) { /* "128 KiB of KV cache/token" */
        const char *behind = mfu_claim_word_end(end);

        if (goes_on(behind) && !f->n.bare) {
            look(r, f, behind, false, true, BESIDE + 1);
            break;
        }
    }
}

/* What is said of each of what is counted, where there is a name for that: "each step has 4M tokens". */
static void look_each(const struct mfu_reading *r, struct mfu_told *f)
{
    for (const char *p = f->n.at, *word; (word = mfu_claim_back(&r->t, p)) < p && !strchr(".;:,", *word); p = word) {
        const char *one = mfu_claim_back(&r->t, word);
        struct mfu_slot said = {.begin = NULL};
        size_t length, noun = mfu_claim_counted(word);

        for (int i = 0; i < f->n_slots && !said.begin; i++)
            if (f->slots[i].begin >= f->n.end)
                said = f->slots[i];
        length = (size_t)(said.end - said.begin);
        if (!noun || !said.begin
            || !((mfu_claim_role(one) | mfu_claim_role(mfu_claim_back(&r->t, one))) & MFU_W_ONE_OF))
            continue;
        for (const struct phrase *x = phrases; x < phrases + n_phrases; x++)
            if (x->length == length + 1 + noun && x->words[length] == '/' && strncmp(x->words, said.begin, length) == 0
                && strncmp(x->words + length + 1, word, noun) == 0 && suits(x->kind, "", &f->n))
                mfu_told_may_be(f, x->kind, fmax(said.score + 1, BESIDE), said.begin, said.end);
    }
}

/* Whether a KV cache is told of before. */
static bool is_of_cache(const struct mfu_reading *r, const char *p)
{
    const char *cache = mfu_claim_says(&r->t, "kv cache");

    return cache && cache < p;
}

/* What a whole sentence is about: its bytes and parameters are of that. */
static void look_at_subject(const struct mfu_reading *r, struct mfu_told *f)
{
    const char *from = f->n.at, *verb = mfu_claim_back(&r->t, f->n.at);
    double top = f->n_slots > 0 ? f->slots[0].score : 0;

    if (f->n.bare || f->n.percent || f->n.times
        || (top > WEAK
            && !(f->slots[0].begin < f->n.at && mfu_claim_one_of("is|are|was|take|need|occupy|weigh", verb) > 0)))
        return;
    while (from > r->t.text && !ends_sentence(from - 1))
        from--;
    if (mfu_claim_told(r->audit, MFU_Q_N_LAYER)) /* one of several things that are told of a model */
        for (const char *p = from; p < f->n.at; p++)
            from = strchr(",:", *p) ? p + 1 : from;
    for (const struct phrase *x = phrases; x < phrases + n_phrases; x++)
        for (const char *p = from; mfu_traits_of(x->kind) & MFU_Q_THING && x->mark != '>' && p < f->n.at; p++) {
            if (strncmp(p, x->words, x->length) != 0 || mfu_claim_letter(p[-(p > r->t.text)])
                || mfu_claim_letter(p[x->length]) || !suits(x->kind, "", &f->n))
                continue;
            if (top <= WEAK)
                mfu_told_may_be(f, x->kind, WEAK + 0.1 * (double)x->length, f->n.at, f->n.end);
            else if (mfu_claim_blanks(mfu_claim_word_end(mfu_claim_blanks(from))) >= p) /* "The checkpoint of" */
                mfu_told_may_be(f, x->kind, top + 2, f->n.at, f->n.end);
        }
}

/* "on an H100 80GB", "an A100 (40 GB)" */
static bool is_behind_gpu(const struct mfu_reading *r, const char *p)
{
    p = mfu_claim_back(&r->t, p);
    if (*p == '(' && (p = mfu_claim_back(&r->t, p)) && !r->t.used[p - r->t.text] && mfu_claim_word_end(p) - p < 4
        && mfu_claim_stands(mfu_claim_back(&r->t, p), "gpu")) /* "4060 Ti (16 GB)" */
        return true;
    return mfu_claim_stands(p, "gpu") || (mfu_claim_stands(p, "node") && r->gpu[0]);
}

bool mfu_claim_is_collective(const struct mfu_claim_text *t)
{
    return strstr(t->text, "gather") || strstr(t->text, "allreduce") || strstr(t->text, "reduce scatter");
}

/* "680,000 hours of audio", "30-second windows": what lasts so long is no run, nor a step. */
static bool is_of_other(const struct mfu_reading *r, const struct mfu_claim_number *n)
{
    const char *noun = mfu_claim_blanks(n->end), *end;
    char said[80];
    bool of = mfu_claim_stands(noun, "of");

    if (of)
        noun = mfu_claim_blanks(noun + 2);
    end = mfu_claim_word_end(noun);
    return mfu_alpha(*noun) && end > noun + 3 && !mfu_claim_stands(noun, "month") && !r->t.used[noun - r->t.text]
        && mfu_claim_role(noun) == 0
        && (of || strchr(mfu_claim_text_quote(&r->t, n->at, n->end, said, sizeof said), '-'));
}

/* Whether it is a model at rest that is spoken of, which has no gradients. */
static bool is_of_weights(const struct mfu_reading *r)
{
    return !r->training && !mfu_claim_says(&r->t, "gradient");
}

/* What goes without words: the unit, a factor of a product, money. */
static void look_at_unit(const struct mfu_reading *r, struct mfu_told *f)
{
    const struct mfu_claim_number *n = &f->n;
    bool known = false;

    if (goes_on(n->end) || (n->dim == MFU_PARAMS && goes_on(mfu_claim_word_end(mfu_claim_blanks(n->end)))))
        return;
    if (n->money)
        mfu_told_may_be(f, MFU_Q_COST, BY_UNIT + 1, n->at, n->end);
    if (n->energy)
        mfu_told_may_be(f, MFU_Q_ENERGY, BESIDE, n->at, n->end);
    if (n->bare || n->percent || n->times || n->money || n->energy)
        return;
    if (mfu_claim_is_collective(&r->t) && (n->dim == MFU_SECONDS || n->dim == MFU_BYTES_PER_S))
        known = true,
        mfu_told_may_be(f, n->dim == MFU_SECONDS ? MFU_Q_COMMUNICATION_TIME : MFU_Q_LINK, BY_UNIT, n->at, n->end);
    for (size_t i = 0; i < N(shaped); i++)
        if (shaped[i].dim == n->dim && shaped[i].is[r->thing] > 0)
            mfu_told_may_be(f, shaped[i].is[r->thing], BESIDE + 5, n->at, n->end);
    if (n->dim == MFU_BYTES && is_behind_gpu(r, n->at)
        && !(*mfu_claim_back(&r->t, n->at) == '(' && mfu_claim_told(r->audit, MFU_Q_CAPACITY)))
        mfu_told_may_be(f, MFU_Q_CAPACITY, BESIDE, n->at, n->end);
    if (n->dim == MFU_BYTES && is_of_cache(r, n->at))
        known = true, mfu_told_may_be(f, MFU_Q_KV, BY_UNIT + 2, n->at, n->end);
    else if (n->dim == MFU_BYTES && is_of_weights(r)
             && (mfu_claim_has(r->audit, MFU_Q_WEIGHT_BYTES) || mfu_claim_has(r->audit, MFU_Q_WEIGHT_BITS)))
        known = true, mfu_told_may_be(f, MFU_Q_WEIGHTS, BY_UNIT + 1, n->at, n->end); /* "70B in fp16 takes 140 GB" */
    if (n->dim == MFU_BYTES_PER_S && r->gpu[0] && !known)
        mfu_told_may_be(f, MFU_Q_BANDWIDTH, BY_UNIT, n->at, n->end);
    if (n->dim == MFU_SECONDS && is_of_other(r, n))
        return;
    if (n->dim == MFU_PARAMS && mfu_claim_told(r->audit, MFU_Q_PARAMS) && n->value * n->factor >= A_RUN)
        mfu_told_may_be(f, MFU_Q_TOKENS, BY_UNIT + 1, n->at, n->end); /* "8B parameters x 15T" */
    for (size_t i = 0; i < N(by_unit) && !known; i++)
        if (by_unit[i].dim == n->dim && n->value * n->factor >= by_unit[i].least) {
            mfu_told_may_be(f, by_unit[i].kind, BY_UNIT, n->at, n->end);
            break;
        }
}

/* Of one GPU or of all: behind a figure and its phrase, or before them.  0: not said; else characters behind it. */
static int scope_of(const struct mfu_reading *r, const char *begin, const char *end, bool *all)
{
    const char *p = end;

    for (int i = 0; i < 4 && *p && !strchr(",;:+", *p) && !mfu_digit(*p); i++) {
        *all = mfu_claim_stands(p, "total");
        if (*all || mfu_claim_stands(p, "/gpu"))
            return (int)(mfu_claim_word_end(p + 1) - end);
        p = mfu_claim_blanks(mfu_claim_word_end(p));
    }
    p = begin;
    for (int i = 0; i < 3; i++) {
        const char *word = mfu_claim_back(&r->t, p);

        *all = mfu_claim_stands(word, "total");
        if (r->t.used[word - r->t.text])
            break;
        if (*all || (mfu_claim_stands(word, "gpu") && word > r->t.text && word[-1] == '/'))
            return 1;
        if (word >= p || !(mfu_claim_letter(*word) || *word == '=') || mfu_digit(*word))
            break;
        p = word;
    }
    return 0;
}

void mfu_told_find(struct mfu_reading *r, struct mfu_told *f)
{
    const struct mfu_claim *last = mfu_claim_last(r->audit);
    bool all = false;
    bool factor = mfu_claim_is_factor(f->n.at) && f->n.bare;
    struct mfu_claim_number next;

    look_before(r, f, 1);
    look_behind(r, f);
    if (f->n_slots == 0 && f->n.percent
        && (!mfu_alpha(*mfu_claim_blanks(f->n.end)) || mfu_claim_role(mfu_claim_blanks(f->n.end)) != 0))
        look_before(r, f, 0.3);
    if ((f->n.bare || f->n.dim == MFU_PARAMS) && goes_on(mfu_claim_word_end(mfu_claim_blanks(f->n.end)))
        && (f->n_slots == 0 || f->slots[0].begin < f->n.end)) { /* "86M tokens/day" */
        f->n_slots = 0;
        return;
    }
    look_each(r, f);
    look_at_unit(r, f);
    look_at_subject(r, f);
    if (f->n.bare && f->n.whole && strncmp(f->n.end, " x ", 3) == 0 && mfu_claim_number(r->t.text, f->n.end + 3, &next)
        && next.of_tokens)
        mfu_told_may_be(f, MFU_Q_BATCH, BESIDE, f->n.at, f->n.end); /* "8 x 2048 tokens" */
    for (size_t i = 0; factor && last && i < N(factors); i++)
        if (last->kind == factors[i].kind)
            mfu_told_may_be(f, factors[i].next, BESIDE + 1.9, f->n.at, f->n.end);
    if (r->topic >= 0 && suits(r->topic, "", &f->n) && !f->n.times && !f->n.bare
        && !(f->n.dim == MFU_PARAMS && goes_on(mfu_claim_word_end(mfu_claim_blanks(f->n.end))))) {
        mfu_told_may_be(f, r->topic, BY_UNIT + 0.5, f->n.at, f->n.end);
        if (r->topic == MFU_Q_CAPACITY && last && f->n.value * f->n.factor > last->in.high)
            mfu_told_may_be(f, MFU_Q_CAPACITY_ALL, BY_UNIT + 0.4, f->n.at, f->n.end);
    }
    if (f->n.bare && scope_of(r, f->n.at, f->n.end, &all)) { /* "37.5 per GPU", "256 in total" */
        if (r->topic >= 0 && other_of(scopes, N(scopes), r->topic, all) >= 0)
            mfu_told_may_be(f, other_of(scopes, N(scopes), r->topic, all), BESIDE + 3, f->n.at, f->n.end);
        if (all && mfu_claim_told(r->audit, MFU_Q_NODE_GPUS))
            mfu_told_may_be(f, MFU_Q_GPUS, BESIDE + 3, f->n.at, f->n.end);
    }
    if (f->n.bare && f->n.whole && mfu_claim_stands(mfu_claim_back(&r->t, f->n.at), "on")
        && !mfu_alpha(*mfu_claim_blanks(f->n.end)))
        mfu_told_may_be(f, MFU_Q_GPUS, BESIDE + 3, f->n.at, f->n.end); /* "on one GPU ..., on 256" */
    for (size_t i = 0; r->topic >= 0 && i < N(readings); i++)          /* "1024 sequences or 4.2M tokens" */
        if (readings[i].kind == r->topic && suits(readings[i].other, "", &f->n) && !suits(r->topic, "", &f->n)
            && mfu_claim_role(mfu_claim_back(&r->t, f->n.at)) & (MFU_W_HENCE | MFU_W_EQUALS))
            mfu_told_may_be(f, readings[i].other, BESIDE - 1, f->n.at, f->n.end);
    if (mfu_claim_stands(mfu_claim_back(&r->t, f->n.at), "which") && r->topic >= 0)
        for (size_t i = N(shares); i-- > 0;)
            if (shares[i].whole == r->topic && mfu_dim_of(r->topic) == f->n.dim) {
                mfu_told_may_be(f, shares[i].part, BESIDE - 1, f->n.at, f->n.end);
                break;
            }
    for (size_t i = 0; i < N(shares); i++) { /* a share of what is told, or its whole */
        bool part = mfu_claim_told(r->audit, shares[i].part), share = mfu_claim_told(r->audit, shares[i].share);
        bool whole = mfu_claim_told(r->audit, shares[i].whole)
            || (r->gpu[0] && (shares[i].whole == MFU_Q_PEAK || shares[i].whole == MFU_Q_CAPACITY) && part);

        if (whole && part != share && (part ? f->n.percent : !f->n.bare && f->n.dim == mfu_dim_of(shares[i].part)))
            mfu_told_may_be(f, part ? shares[i].share : shares[i].part,
                            (part && *mfu_claim_back(&r->t, f->n.at) == '(' ? BESIDE : BY_UNIT + 1) - 0.1 * (double)i,
                            f->n.at, f->n.end);
        if (part && f->n.percent && last
            && (last->kind == shares[i].part || (last->kind == shares[i].whole && last[-1].kind == shares[i].part)))
            mfu_told_may_be(f, shares[i].share, BESIDE - 1, f->n.at, f->n.end);
    }
}

void mfu_told_part_of(const struct mfu_reading *r, struct mfu_told *part, struct mfu_told *whole)
{
    int last = -1, before = mfu_claim_last(r->audit) ? mfu_claim_last(r->audit)->kind : -1;
    bool named = false;

    const struct mfu_slot *own = whole->n_slots > 0 ? &whole->slots[0] : NULL;

    if (!part->n.percent && own && own->begin >= whole->n.end
        && other_of(scopes, N(scopes), own->kind, false) == own->kind) { /* "28 GB of 112 GB of states per GPU" */
        mfu_told_may_be(part, own->kind, BESIDE + 4, part->n.at, part->n.end);
        mfu_told_may_be(whole, other_of(scopes, N(scopes), own->kind, true), BESIDE + 4, whole->n.at, whole->n.end);
        return;
    }
    for (size_t i = 0; i < N(shares); i++) {
        int kind = part->n.percent ? shares[i].share : shares[i].part;

        if (mfu_dim_of(shares[i].whole) != whole->n.dim
            || whole->n.value * whole->n.factor > mfu_quantity_rows[shares[i].whole].most)
            continue;
        for (int k = 0; k < part->n_slots + whole->n_slots; k++) {
            const struct mfu_slot *x = k < part->n_slots ? &part->slots[k] : &whole->slots[k - part->n_slots];

            named |= (x->kind == kind || x->kind == shares[i].part) && x->begin != part->n.at && x->begin != whole->n.at
                && kind != MFU_Q_MEMORY && kind != MFU_Q_UNTOUCHED && (last = (int)i) >= 0;
        }
        named |= part->n.percent && before == shares[i].part;
        if (!named || before == shares[i].part)
            last = (int)i;
    }
    if (last < 0)
        return;
    if (!(part->n_slots > 0 && part->slots[0].score > BESIDE - 0.7 && part->slots[0].begin < part->n.at
          && mfu_dim_of(part->slots[0].kind) == whole->n.dim
          && !is_part(part->slots[0].kind))) /* "reserved 30 GB of 24 GB" */
        mfu_told_may_be(part, part->n.percent ? shares[last].share : shares[last].part, BESIDE + 3, part->n.at,
                        part->n.end);
    mfu_told_may_be(whole, shares[last].whole, BESIDE + 3, whole->n.at, whole->n.end);
}

/* ---- claims ----------------------------------------------------------------------------- */

struct mfu_interval mfu_claim_soften(const struct mfu_claim_number *n, double value, struct mfu_interval in)
{
    if (n->roles & (MFU_W_ABOUT | MFU_W_NEARLY))
        in.low = fmin(in.low, 0.9 * value);
    if (n->roles & MFU_W_ABOUT)
        in.high = fmax(in.high, 1.1 * value);
    if (n->roles & MFU_W_LEAST)
        in.high = INFINITY;
    if (n->roles & MFU_W_MOST)
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
    if ((kind == MFU_Q_PRICE || kind == MFU_Q_TOKEN_PRICE) && n->whole) /* $2 is no $1.50 */
        half = fmin(half, 0.02 * n->value);
    if (kind == MFU_Q_STEPS_PER_EPOCH && exact) /* the last batch is left out, or not full */
        half = 1;
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
    in = mfu_claim_soften(n, *value, in);
    if (row->traits & MFU_Q_COMPLEMENT) {
        in = (struct mfu_interval){fmax(0, 1 - in.high), fmax(0, 1 - in.low)};
        *value = 1 - *value;
    }
    return in;
}

struct mfu_claim *mfu_claim_stated(struct mfu_audit *a, int kind, enum mfu_claim_state s)
{
    for (int i = 0; i < a->n_claims; i++)
        if (a->claims[i].kind == kind && a->claims[i].state == s && strcmp(a->claims[i].from, "stated") == 0
            && !isnan(a->claims[i].value))
            return &a->claims[i];
    return NULL;
}

struct mfu_claim *mfu_claim_last(struct mfu_audit *a)
{
    return a->n_claims > 0 ? &a->claims[a->n_claims - 1] : NULL;
}

struct mfu_claim *mfu_claim_told(struct mfu_audit *a, int kind)
{
    return mfu_claim_stated(a, kind, MFU_BEFORE);
}

/* Whether it is told as a result. */
static bool follows(const struct mfu_reading *r, const char *p)
{
    for (int i = 0; i < 6; i++) {
        const char *word = mfu_claim_back(&r->t, p);

        if (mfu_claim_role(word) & MFU_W_HENCE || (*word == '>' && word[-1] == '-'))
            return true;
        if (word >= p || mfu_digit(*word) || strchr(";:", *word))
            return false;
        p = word;
    }
    return false;
}

/* "3,640 PFLOP/s-days, or 3.14e23 FLOP": a figure right behind a comma and a word that says so. */
static bool is_same_again(const struct mfu_reading *r, int kind, const char *p)
{
    const char *word = mfu_claim_back(&r->t, p);

    if (kind == MFU_Q_TOKENS && mfu_claim_told(r->audit, MFU_Q_EPOCHS)) /* of one epoch, and of all */
        return false;
    return !(mfu_traits_of(kind) & MFU_Q_COUNTED) && mfu_claim_role(word) & (MFU_W_HENCE | MFU_W_EQUALS)
        && strchr(",(", *mfu_claim_back(&r->t, word));
}

/* "8-bit Adam takes 2 bytes per parameter": of its own, or of all that is kept. */
static bool is_of_optimizer(const struct mfu_reading *r, const char *p)
{
    for (const char *word; (word = mfu_claim_back(&r->t, p)) < p && !strchr(".;", *word); p = word)
        if (mfu_claim_stands(word, "adam") || mfu_claim_stands(word, "adamw") || mfu_claim_stands(word, "optimizer"))
            return true;
    return false;
}

static void add_reading(struct mfu_claim *c, const struct mfu_claim_number *n, int kind, double cost, bool any)
{
    const struct mfu_quantity_row *row = &mfu_quantity_rows[kind];
    struct mfu_claim_reading x = {.kind = kind, .cost = cost};

    x.in = interval_of(n, kind, &x.value);
    if ((!any && (x.in.low > row->most || x.in.high < row->least)) || c->kind == kind)
        return;
    for (int i = 0; i < c->n_readings; i++)
        if (c->readings[i].kind == kind)
            return;
    if (c->kind < 0) {
        c->kind = kind;
        c->in = x.in;
        c->value = x.value;
    } else if (c->n_readings < MFU_READINGS)
        c->readings[c->n_readings++] = x;
}

/* What was told of it already, and differs, is not likely to be told again. */
static void rank(const struct mfu_reading *r, struct mfu_told *f, enum mfu_claim_state s)
{
    struct mfu_slot slots[MFU_SLOTS];
    int n = f->n_slots;
    double value;
    bool all, scoped = scope_of(r, f->n.at, f->n.end, &all) > 0 && !all;

    memcpy(slots, f->slots, sizeof slots);
    f->n_slots = 0;
    for (int i = 0; i < n; i++) {
        const struct mfu_claim *c = mfu_claim_told(r->audit, slots[i].kind);
        struct mfu_interval in = interval_of(&f->n, slots[i].kind, &value);
        bool again =
            s == MFU_BEFORE && c && !(f->n.roles & MFU_W_FROM) && (in.low >= c->in.high || in.high <= c->in.low);

        mfu_told_may_be(f, slots[i].kind,
                        slots[i].score
                            - (again && !(scoped && other_of(scopes, N(scopes), slots[i].kind, false) >= 0) ? 3 : 0),
                        slots[i].begin, slots[i].end);
    }
}

struct mfu_claim *mfu_told_claim(struct mfu_reading *r, struct mfu_told *f, enum mfu_claim_state s)
{
    const struct mfu_claim_number *n = &f->n;
    struct mfu_claim first = {.kind = -1}, *c, *other;
    const struct mfu_claim *last;
    bool all = false, flat = true, inferred = false, scoped = false;
    const char *begin = n->at, *end = n->end;
    int behind;
    double margin;
    char said[80];

    rank(r, f, s);
    if (f->n_slots == 0)
        return NULL;
    begin = f->slots[0].begin < begin ? f->slots[0].begin : begin;
    end = f->slots[0].end > end ? f->slots[0].end : end;
    margin = f->slots[0].score > BESIDE - 0.7 ? SURE : f->slots[0].score == WEAK ? 2 : MARGIN;
    for (int i = 0; i < f->n_slots && f->slots[i].score > f->slots[0].score - margin; i++) {
        const struct mfu_slot *x = &f->slots[i];
        int kind = x->kind, scope;
        const char *from = x->begin < n->at ? x->begin : n->at, *to = x->end > n->end ? x->end : n->end;
        double cost = f->slots[0].score - x->score;
        bool phrase = x->begin != n->at, open = true;

        if (n->dim == MFU_BYTES && n->value * n->factor <= A_PARAMETER
            && other_of(of_parameters, N(of_parameters), kind, false) >= 0)
            kind = other_of(of_parameters, N(of_parameters), kind, false); /* "4 bytes weights + 4 bytes gradients" */
        if (n->dim == MFU_BYTES && other_of(of_parameters, N(of_parameters), kind, false) == kind
            && n->value * n->factor > mfu_quantity_rows[kind].most)
            kind = MFU_Q_STATE_BYTES;
        if (kind == MFU_Q_STATE_BYTES && n->value * n->factor <= A_WEIGHT && is_of_weights(r)
            && !is_of_optimizer(r, n->at))
            kind = MFU_Q_WEIGHT_BYTES; /* "in bf16, 2 bytes per parameter" */
        if (kind == MFU_Q_SEQUENCE_BYTES && is_of_cache(r, n->at))
            kind = MFU_Q_KV;
        scope = scope_of(r, from, to, &all);
        if (scope > 0 && !f->whole && other_of(scopes, N(scopes), kind, all) >= 0) {
            kind = other_of(scopes, N(scopes), kind, all);
            open = false;
            if (i == 0)
                end += scope > 1 ? scope : 0;
        }
        if (kind == MFU_Q_POWER && (n->value - n->half) * n->factor > MOST_WATTS)
            kind = MFU_Q_POWER_ALL;
        if (kind == MFU_Q_PRICE
            && (memmem(from, (size_t)(to - from), "gpu", 3) || mfu_claim_stands(mfu_claim_blanks(n->end), "/gpu")))
            open = false;
        flat = i == 0 ? open : flat;
        scoped |= i == 0 && scope > 0 && !all;
        if (x->score <= BY_UNIT && f->slots[0].score > BY_UNIT + 1 && first.kind >= 0)
            break;
        add_reading(&first, n, kind, cost, false);
        for (size_t k = 0; k < N(readings); k++)
            if (readings[k].kind == kind
                && ((((open && !f->whole) || first.kind < 0)
                     && (first.kind == kind || first.kind < 0 || first.n_readings > 0))
                    || readings[k].other == MFU_Q_PEAK)
                && !mfu_claim_stands(from, "micro") && !mfu_claim_stands(from, "mbs")
                && !(readings[k].flop < 0 && x->score > WEAK)
                && (readings[k].flop <= 0 || (n->any_flop && !phrase && n->value * n->factor >= readings[k].flop)))
                add_reading(&first, n, readings[k].other,
                            cost
                                + (readings[k].flop >= 0                                      ? 1
                                       : n->value * n->factor < mfu_quantity_rows[kind].least ? 0.2
                                                                                              : 2.5),
                            false);
    }
    if (first.kind < 0)
        add_reading(&first, n, f->slots[0].kind, 0, true);
    last = mfu_claim_last(r->audit);
    if (first.kind == MFU_Q_STATE_BYTES && is_of_optimizer(r, n->at))
        add_reading(&first, n, MFU_Q_OPTIMIZER_BYTES, 1, false);
    if (last && last->kind == MFU_Q_STATE_BYTES && last->n_readings > 0 && n->dim == MFU_BYTES)
        add_reading(&first, n, MFU_Q_OPTIMIZER_STATES, 1, false);
    behind = mfu_claim_role(mfu_claim_blanks(end));
    other = mfu_claim_told(r->audit, first.kind);
    if (other && scoped && other->in.low > first.in.high && other->flat
        && other_of(scopes, N(scopes), first.kind, false) == first.kind) {
        other->kind =
            other_of(scopes, N(scopes), first.kind, true); /* "80k tokens/s, 10k per GPU": the first is that of all */
        other->n_readings = 0;
        other = NULL;
    }
    if (s == MFU_BEFORE && other && mfu_claim_stated(r->audit, first.kind, MFU_AFTER) && !r->audit->unread_figure[0]
        && !(mfu_traits_of(first.kind) & (MFU_Q_SETUP | MFU_Q_WHOLE)) && first.value != other->value)
        mfu_claim_doubt(r, begin, end); /* a third */
    if (s == MFU_BEFORE && other && last && last->kind == first.kind && first.value < other->value
        && mfu_claim_stands(mfu_claim_back(&r->t, n->at), "to")) /* "cuts 26 GB of weights to 13 GB" */
        s = MFU_AFTER;
    if (s == MFU_BEFORE && other) {
        if ((n->roles | behind) & MFU_W_FROM)
            other->state = MFU_AFTER;
        else if (first.value != other->value && (first.in.low >= other->in.high || first.in.high <= other->in.low)
                 && !is_same_again(r, first.kind, n->at))
            s = MFU_AFTER, inferred = true;
    }
    c = mfu_claim_add(r->audit, first.kind, s, first.in.low, first.in.high, "stated", "%s",
                      mfu_claim_text_quote(&r->t, begin, end, said, sizeof said));
    if (!c)
        return NULL;
    c->value = first.value;
    c->at = (int)(n->at - r->t.text);
    c->guessed = f->slots[0].score <= WEAK;
    c->flat = flat;
    c->inferred = inferred;
    c->follows = follows(r, n->at);
    c->n_readings = first.n_readings;
    memcpy(c->readings, first.readings, sizeof c->readings);
    for (int i = 0; i < c->n_readings; i++)
        c->readings[i].state = s;
    if (!(mfu_traits_of(c->kind) & MFU_Q_COUNTED)) /* how many is no subject */
        r->topic = c->kind;
    mfu_claim_use(&r->t, begin, end);
    return c;
}
