/*
 * read_claim.c - numbers and the words beside them.
 *
 * A number belongs to the quantity whose phrase stands right before it or right behind
 * it, with nothing but small words between, and whose unit it has; the phrase before
 * comes first, since nobody else can mean it.  Cards and models are found by their
 * names in the catalog.  Nothing is guessed: what is left over is listed.
 */
#include "answer/audit/audit.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "descriptor/catalog.h"
#include "descriptor/gpu.h"
#include "plan/conventions.h"
#include "scenario/scenario.h"

#define TEXT_MAX 4096 /* bytes of one claim */

struct reading {
    struct mfu_audit *audit;
    struct mfu_catalog *catalog;
    char text[TEXT_MAX + 64];
    bool used[TEXT_MAX + 64]; /* of each byte: somebody understood it */
    const struct mfu_gpu *gpu[2];
    char called[2][64]; /* as the claim calls them */
    const struct mfu_model *model;
    enum mfu_peak peak;
    bool sparse;
};

/* ---- words ------------------------------------------------------------------- */

// clang-format off
/* What may stand between a number and its phrase. */
static const char *const fillers[] = {"", "is", "was", "are", "of", "only", "about", "a", "an", "the", "to", "at", "from", "by", "went", "up",
    "down", "rises", "rose", "falls", "fell", "increased", "increases", "improved", "improves", "dropped", "drops", "grew", "reached",
    "reaches", "around", "roughly", "nearly", "almost", "approximately", "some", "just", "per", "in", "take", "takes", "took", "that", "and", "=", ":",
    "~", "(", ")", "-", "logged", "each", "full", "over", "more", "than", "least", "most", "under", "below", "above", "for", "on", "with"};

/* And behind it. */
static const char *const joints[] = {"of", "the", "a", "an", "-", "training"};

/* Other spellings, put right before anything else is read. */
static const struct { const char *from, *to; } spellings[] = {
    {"\xe2\x86\x92", " -> "}, {"=>", " -> "}, {"\xc3\x97", "x"}, {"\xc2\xb5", "u"}, {"\xce\xbc", "u"}, {"\xc2\xa0", " "}, {"\xe2\x80\xaf", " "},
    {"\xe2\x80\x93", "-"}, {"\xe2\x89\x88", "~"}, {"\xe2\x89\xa5", " at least "}, {"\xe2\x89\xa4", " at most "}, {">=", " at least "}, {"<=", " at most "},
    {"\t", " "}, {"\n", " "}, {"\r", " "}, {"the same", "1.00x"}, {"unchanged", "1.00x"}, {" same ", " 1.00x "}, {"doubles", "2.0x"}, {"doubled", "2.0x"},
    {"twice", "2.0x"}, {"tripled", "3.0x"}, {"halves", "0.50x"}, {"halved", "0.50x"}, {"half the", "0.50x the"}, {"speed-up", "speedup"}};

/* Of a count: so many times as many. */
static const struct unit { const char *name; enum mfu_dim dim; double factor; } units[] = {
    {"%", MFU_RATIO, 0.01}, {"percent", MFU_RATIO, 0.01}, {"pct", MFU_RATIO, 0.01},
    {"x", MFU_COUNT, 1}, {"times", MFU_COUNT, 1}, {"-fold", MFU_COUNT, 1},
    {"kb", MFU_BYTES, 1e3}, {"mb", MFU_BYTES, 1e6}, {"gb", MFU_BYTES, 1e9}, {"tb", MFU_BYTES, 1e12},
    {"kib", MFU_BYTES, 0x1p10}, {"mib", MFU_BYTES, 0x1p20}, {"gib", MFU_BYTES, 0x1p30}, {"tib", MFU_BYTES, 0x1p40},
    {"us", MFU_SECONDS, 1e-6}, {"ms", MFU_SECONDS, 1e-3}, {"s", MFU_SECONDS, 1}, {"sec", MFU_SECONDS, 1}, {"second", MFU_SECONDS, 1},
    {"seconds", MFU_SECONDS, 1}, {"min", MFU_SECONDS, 60}, {"minutes", MFU_SECONDS, 60}, {"h", MFU_SECONDS, 3600}, {"hour", MFU_SECONDS, 3600},
    {"hours", MFU_SECONDS, 3600}, {"d", MFU_SECONDS, 86400}, {"day", MFU_SECONDS, 86400}, {"days", MFU_SECONDS, 86400},
    {"weeks", MFU_SECONDS, 604800}, {"months", MFU_SECONDS, 2629800},
    {"flop/s", MFU_FLOP_PER_S, 1}, {"flops/s", MFU_FLOP_PER_S, 1}, {"flop per second", MFU_FLOP_PER_S, 1}, {"flop", MFU_FLOP, 1},
    {"flops", MFU_FLOP_PER_S, 1}, {"w", MFU_WATTS, 1}, {"kw", MFU_WATTS, 1e3}};
static const struct { const char *name; double factor; } prefixes[] = {
    {"k", 1e3}, {"m", 1e6}, {"g", 1e9}, {"t", 1e12}, {"p", 1e15}, {"e", 1e18}, {"z", 1e21}, {"y", 1e24}};
static const struct { const char *name; double factor; } numerals[] = {
    {"k", 1e3}, {"m", 1e6}, {"mn", 1e6}, {"b", 1e9}, {"bn", 1e9}, {"t", 1e12}, {"thousand", 1e3}, {"million", 1e6}, {"billion", 1e9}, {"trillion", 1e12}};

/* A number with a unit and no phrase, from a size on. */
static const struct { enum mfu_dim dim; double least; int kind; } by_unit[] = {
    {MFU_BYTES, 0, MFU_Q_MEMORY}, {MFU_FLOP_PER_S, 0, MFU_Q_ACHIEVED}, {MFU_FLOP, 1e17, MFU_Q_FLOP}, {MFU_FLOP, 0, MFU_Q_FLOP_PER_TOKEN},
    {MFU_SECONDS, 3600, MFU_Q_DURATION}, {MFU_SECONDS, 0, MFU_Q_STEP_TIME}, {MFU_WATTS, 0, MFU_Q_POWER}, {MFU_PARAMS, 1e6, MFU_Q_PARAMS}};

/* After a factor or a percentage: which way, and of what if nothing is named. */
static const struct { const char *word; int sign, kind; } comparisons[] = {
    {"faster", 1, MFU_Q_TOKENS_PER_S}, {"slower", -1, MFU_Q_TOKENS_PER_S}, {"speedup", 1, MFU_Q_TOKENS_PER_S}, {"quicker", 1, MFU_Q_TOKENS_PER_S},
    {"cheaper", -1, MFU_Q_COST}, {"higher", 1, -1}, {"lower", -1, -1}, {"more", 1, -1}, {"less", -1, -1}, {"fewer", -1, -1}, {"larger", 1, -1},
    {"smaller", -1, -1}, {"longer", 1, -1}, {"shorter", -1, -1}, {"increase", 1, -1}, {"reduction", -1, -1}, {"drop", -1, -1}};

/* Ways of training and what they mean in figures. */
static const struct { const char *word; int kind; double low, high; } ways[] = {
    {"without recompute", MFU_Q_RECOMPUTE, 1, 1}, {"no recompute", MFU_Q_RECOMPUTE, 1, 1}, {"no checkpointing", MFU_Q_RECOMPUTE, 1, 1},
    {"full recompute", MFU_Q_RECOMPUTE, 1.25, 1.37}, {"full checkpointing", MFU_Q_RECOMPUTE, 1.25, 1.37}, {"full recomputation", MFU_Q_RECOMPUTE, 1.25, 1.37},
    {"full activation checkpointing", MFU_Q_RECOMPUTE, 1.25, 1.37}, {"selective recompute", MFU_Q_RECOMPUTE, 1, 1.1},
    {"qlora", MFU_Q_STATE_BYTES, 0.5, 1.5}, {"lora", MFU_Q_STATE_BYTES, 2, 5}, {"8-bit adam", MFU_Q_STATE_BYTES, 6, 14},
    {"adamw", MFU_Q_STATE_BYTES, 8, 20}, {"adam", MFU_Q_STATE_BYTES, 8, 20}, {"full fine-tuning", MFU_Q_STATE_BYTES, 4, 20},
    {"full fine-tune", MFU_Q_STATE_BYTES, 4, 20}, {"ddp", MFU_Q_SHARDS, 1, 1}, {"dense model", MFU_Q_ACTIVE_SHARE, 1, 1}};

static const struct { const char *word; enum mfu_peak peak; } arithmetic[] = {
    {"bf16", MFU_PEAK_BF16}, {"fp16", MFU_PEAK_FP16}, {"fp8", MFU_PEAK_FP8}, {"tf32", MFU_PEAK_TF32}, {"fp32", MFU_PEAK_FP32}, {"int8", MFU_PEAK_INT8},
    {"nvfp4", MFU_PEAK_NVFP4}, {"fp4", MFU_PEAK_NVFP4}};
// clang-format on

#define N(list) (sizeof(list) / sizeof(list)[0])

static bool letter(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Whether `word` stands at `p` and ends there. */
static bool stands(const char *p, const char *word, size_t n)
{
    return strncmp(p, word, n) == 0 && !(letter(word[n - 1]) && letter(p[n]));
}

static void use(struct reading *r, const char *from, const char *to)
{
    for (; from < to; from++)
        r->used[from - r->text] = true;
}

/* A phrase that nobody has understood yet; NULL: not there. */
static char *find_word(struct reading *r, const char *word)
{
    for (char *p = r->text; (p = strstr(p, word)); p++)
        if ((p == r->text || !letter(p[-1])) && stands(p, word, strlen(word)) && !r->used[p - r->text])
            return p;
    return NULL;
}

static void replace(struct reading *r, char *at, size_t n, const char *by)
{
    size_t m = strlen(by);

    if (strlen(r->text) - n + m > TEXT_MAX)
        return;
    memmove(at + m, at + n, strlen(at + n) + 1);
    memcpy(at, by, m);
}

static void spell(struct reading *r, const char *text)
{
    size_t n = 0;

    r->text[n++] = ' ';
    for (; *text && n < TEXT_MAX; text++)
        if (!(*text == ',' && n > 1 && isdigit((unsigned char)r->text[n - 1]) && isdigit((unsigned char)text[1])
              && isdigit((unsigned char)text[2]) && isdigit((unsigned char)text[3]) && !letter(text[4])))
            r->text[n++] = (char)tolower((unsigned char)*text);
    r->text[n] = '\0';
    for (size_t i = 0; i < N(spellings); i++)
        for (char *p = r->text; (p = strstr(p, spellings[i].from)); p += strlen(spellings[i].to))
            if (strlen(r->text) + 8 < TEXT_MAX)
                replace(r, p, strlen(spellings[i].from), spellings[i].to);
            else
                break;
    for (char *p = r->text + 1; *p; p++) /* 8xh100 */
        if (*p == 'x' && isdigit((unsigned char)p[-1]) && isalpha((unsigned char)p[1]))
            replace(r, p, 1, "x ");
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
    if (gpu->sms > 0 && state == MFU_BEFORE)
        mfu_claim_add(r->audit, MFU_Q_SMS, state, gpu->sms, gpu->sms, "catalog", "%s", gpu->slug);
}

/* Up to four words that the catalog knows; the text then says `as`. */
static bool find_name(struct reading *r, char **from, const char *as, bool (*take)(struct reading *, const char *))
{
    for (char *p = *from; *p; p++) {
        char name[64];

        if (p > r->text && (letter(p[-1]) || p[-1] == '.' || p[-1] == '-'))
            continue;
        for (int words = 4; words > 0; words--) {
            char *end = p;
            size_t n;

            for (int w = 0; w < words && *end; w++)
                end += (w > 0 && *end == ' '), end += strspn(end, "abcdefghijklmnopqrstuvwxyz0123456789._-");
            n = (size_t)(end - p);
            while (n > 0 && !letter(p[n - 1]))
                n--;
            if (n < 2 || n >= sizeof name || (letter(p[n]) && letter(p[n - 1])))
                continue;
            snprintf(name, sizeof name, "%.*s", (int)n, p);
            if (!strpbrk(name, "0123456789") || strstr(name, ".yaml") || strstr(name, ".yml") || strstr(name, ".json"))
                continue;
            if (!take(r, name) && (name[n - 1] != 's' || (name[n - 1] = '\0', !take(r, name))))
                continue;
            replace(r, p, n, as);
            *from = p + strlen(as);
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
    char *p = r->text, *than;

    while (find_name(r, &p, "model", take_model))
        ;
    p = r->text;
    while (find_name(r, &p, "gpu", take_gpu))
        ;
    while ((p = strstr(r->text, "gpu gpu"))) /* H100 GPUs */
        replace(r, p, 4, "");
    than = find_word(r, "than");
    if (r->gpu[1] && than && strstr(than, "gpu")) { /* faster on B than on A */
        const struct mfu_gpu *after = r->gpu[0];

        r->gpu[0] = r->gpu[1];
        r->gpu[1] = after;
    }
    r->peak = MFU_PEAK_BF16;
    for (size_t i = 0; i < N(arithmetic); i++)
        if ((p = find_word(r, arithmetic[i].word))) {
            r->peak = arithmetic[i].peak;
            use(r, p, p + strlen(arithmetic[i].word));
            break;
        }
    for (const char *const *w = (const char *const[]){"sparse", "sparsity", NULL}; *w; w++)
        if ((p = find_word(r, *w))) {
            r->sparse = true;
            use(r, p, p + strlen(*w));
        }
    for (size_t i = 0; i < N(ways); i++)
        if ((p = find_word(r, ways[i].word))) {
            mfu_claim_add(r->audit, ways[i].kind, MFU_BEFORE, ways[i].low, ways[i].high, "stated", "%s", ways[i].word);
            use(r, p, p + strlen(ways[i].word));
        }
    if (r->gpu[0])
        add_gpu(r, r->gpu[0], MFU_BEFORE);
    if (r->gpu[1])
        add_gpu(r, r->gpu[1], MFU_AFTER);
}

/* ---- numbers ------------------------------------------------------------------- */

struct number {
    const char *at, *digits_end, *end; /* end: behind the unit */
    double value, half;                /* of the last digit that was printed */
    double factor;
    enum mfu_dim dim;
    bool bare, whole, percent, times, money, any_flop, kilo;
};

static const char *skip_blanks(const char *p)
{
    return p + strspn(p, " ");
}

static void read_unit(struct number *n)
{
    const char *p = skip_blanks(n->end);

    for (size_t i = 0; i < N(units); i++) {
        size_t length = strlen(units[i].name);
        double factor = 1;
        size_t letters = 0;

        if (units[i].dim == MFU_FLOP || units[i].dim == MFU_FLOP_PER_S)
            for (size_t k = 0; k < N(prefixes); k++)
                if (p[0] == prefixes[k].name[0] && stands(p + 1, units[i].name, length)) {
                    factor = prefixes[k].factor;
                    letters = 1;
                }
        if (!stands(p + letters, units[i].name, length))
            continue;
        n->end = p + letters + length;
        n->dim = units[i].dim;
        n->factor = factor * units[i].factor;
        n->percent = n->dim == MFU_RATIO;
        n->times = n->dim == MFU_COUNT;
        n->any_flop = strcmp(units[i].name, "flops") == 0;
        n->bare = false;
        return;
    }
    for (size_t i = 0; i < N(numerals); i++)
        if (stands(p, numerals[i].name, strlen(numerals[i].name))) {
            n->end = p + strlen(numerals[i].name);
            n->factor = numerals[i].factor;
            n->dim = MFU_PARAMS;
            n->kilo = numerals[i].factor == 1e3;
            n->whole = n->bare = false;
            return;
        }
}

/* The number at `p`; false: there is none. */
static bool read_number(const char *text, const char *p, struct number *n)
{
    const char *digits = p + (*p == '$');
    size_t whole = strspn(digits, "0123456789"), decimals = 0, length = whole, zeros = 0;
    double scale = 1;
    char *end;

    if (p > text && (letter(p[-1]) || p[-1] == '.' || p[-1] == '$'))
        return false;
    if (whole == 0 || whole > 18)
        return false;
    *n = (struct number){.at = p, .money = *p == '$', .factor = 1, .bare = true, .dim = MFU_COUNT};
    n->value = strtod(digits, &end);
    if (digits[whole] == '.' && isdigit((unsigned char)digits[whole + 1])) {
        decimals = strspn(digits + whole + 1, "0123456789");
        length = whole + 1 + decimals;
    }
    n->whole = decimals == 0;
    n->end = digits + length;
    n->digits_end = n->end;
    if (end > n->end && isdigit((unsigned char)end[-1]) && !letter(*end)) { /* 3.8e25 */
        scale = pow(10, strtol(n->end + 1, NULL, 10));
        n->end = n->digits_end = end;
        n->whole = false;
    } else {
        char text_of[40];

        snprintf(text_of, sizeof text_of, "%.*s", (int)length, digits);
        n->value = strtod(text_of, NULL);
        if (strncmp(n->end, "x10^", 4) == 0 && isdigit((unsigned char)n->end[4])) {
            scale = pow(10, strtol(n->end + 4, &end, 10));
            n->value *= scale;
            n->end = n->digits_end = end;
            n->whole = false;
        }
    }
    if (!(fabs(n->value) < 1e30))
        return false;
    while (decimals == 0 && zeros + 2 < whole && digits[whole - 1 - zeros] == '0')
        zeros++;
    n->half = 0.5 * scale * pow(10, (double)zeros - (double)decimals);
    read_unit(n);
    if (n->percent)
        n->half = 0.5 * pow(10, -(double)decimals);
    return true;
}

/* ---- phrases ------------------------------------------------------------------- */

struct match {
    int kind;
    size_t length; /* of the phrase */
    const char *begin, *end;
};

static bool suits(int kind, const char *phrase, const struct number *n)
{
    enum mfu_dim dim = mfu_quantity_rows[kind].dim;
    bool count = dim == MFU_COUNT || dim == MFU_PARAMS || dim == MFU_TOKENS;

    if (n->times)
        return true;
    if (n->money)
        return kind == MFU_Q_COST || kind == MFU_Q_PRICE;
    if (kind == MFU_Q_PRICE)
        return false;
    if (n->bare || n->dim == MFU_PARAMS)
        return count || (n->bare && dim == MFU_RATIO && n->value <= 100) || strncmp(phrase, "bytes", 5) == 0
            || strncmp(phrase, "flop", 4) == 0;
    return dim == n->dim || (n->any_flop && dim == MFU_FLOP);
}

/* The longest phrase that ends at `p` (before) or begins there. */
static void best_phrase(const struct reading *r, const char *p, bool before, const struct number *n, bool again,
                        struct match *m)
{
    for (int k = 0; k < MFU_Q_COUNT; k++)
        for (const char *phrase = mfu_quantity_rows[k].phrases; *phrase; phrase += *phrase == '|') {
            size_t length = strcspn(phrase, "|"), skip = *phrase == '<' || *phrase == '>';
            const char *words = phrase + skip, *begin = before ? p - (length - skip) : p;

            if ((*phrase == '>' && before) || (*phrase == '<' && !before && !n->times)) {
                phrase += length;
                continue;
            }
            phrase += length;
            length -= skip;
            if (length <= m->length || begin < r->text || strncmp(begin, words, length) != 0
                || (letter(words[length - 1]) && letter(begin[length]))
                || (begin > r->text && letter(*begin) && letter(begin[-1])) || !suits(k, words, n))
                continue;
            if (!again && r->used[begin - r->text + (long)length - 1])
                continue;
            *m = (struct match){k, length, begin, begin + length};
        }
}

static const char *skip_joint(const char *p)
{
    p = skip_blanks(p);
    for (size_t i = 0; i < N(joints); i++)
        if (stands(p, joints[i], strlen(joints[i])))
            return p + strlen(joints[i]);
    return NULL;
}

static struct match phrase_behind(const struct reading *r, const char *p, const struct number *n)
{
    struct match m = {.kind = -1};
    struct number size;

    for (int i = 0; i < 4 && p && m.length == 0; i++) {
        best_phrase(r, skip_blanks(p), false, n, true, &m);
        if (m.length == 0 && read_number(r->text, skip_blanks(p), &size) && size.dim == MFU_BYTES) /* 992 80GB GPUs */
            best_phrase(r, skip_blanks(size.end), false, n, true, &m);
        p = skip_joint(p);
    }
    return m;
}

static const char *back_filler(const char *text, const char *p)
{
    while (p > text && p[-1] == ' ')
        p--;
    for (size_t i = 0; i < N(fillers); i++) {
        size_t length = strlen(fillers[i]);

        if (length > 0 && (size_t)(p - text) > length && strncmp(p - length, fillers[i], length) == 0
            && !(letter(fillers[i][0]) && letter(p[-(long)length - 1])))
            return p - length;
    }
    return NULL;
}

/* `again`: also one that is another number's. */
static struct match phrase_before(const struct reading *r, const char *p, const struct number *n, bool again)
{
    struct match m = {.kind = -1};

    for (int i = 0; i < 6 && p && p > r->text; i++) {
        while (p > r->text && p[-1] == ' ')
            p--;
        best_phrase(r, p, true, n, again, &m);
        p = back_filler(r->text, p);
        if (p && r->used[p - r->text] && !again)
            break;
    }
    return m;
}

/* ---- what a number means ----------------------------------------------------------- */

/* Whether the words before a number make it a bound, or soften it. */
static void soften(const struct reading *r, const struct number *n, double value, struct mfu_interval *in)
{
    static const char *const about[] = {"about ",  "~",       "around ",        "roughly ",
                                        "nearly ", "almost ", "approximately ", "some "};
    static const char *const least[] = {"at least ", "more than ", "over ", "above "};
    static const char *const most[] = {"at most ", "less than ", "under ", "below ", "up to "};
    const char *p = n->at;
    bool soft = false, low = false, high = false;

    for (size_t i = 0; i < N(about); i++)
        soft |=
            (size_t)(p - r->text) >= strlen(about[i]) && strncmp(p - strlen(about[i]), about[i], strlen(about[i])) == 0;
    for (size_t i = 0; i < N(least); i++)
        low |=
            (size_t)(p - r->text) >= strlen(least[i]) && strncmp(p - strlen(least[i]), least[i], strlen(least[i])) == 0;
    for (size_t i = 0; i < N(most); i++)
        high |= (size_t)(p - r->text) >= strlen(most[i]) && strncmp(p - strlen(most[i]), most[i], strlen(most[i])) == 0;
    if (soft) {
        in->low = fmin(in->low, 0.9 * value);
        in->high = fmax(in->high, 1.1 * value);
    }
    if (low)
        in->high = INFINITY;
    if (high)
        in->low = 0;
}

static struct mfu_interval interval_of(const struct reading *r, const struct number *n, int kind, double *value)
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
    if (kind == MFU_Q_CAPACITY) /* sold in GB, built in GiB */
        in.high *= 1.0738;
    soften(r, n, *value, &in);
    if (row->traits & MFU_Q_COMPLEMENT) {
        in = (struct mfu_interval){fmax(0, 1 - in.high), fmax(0, 1 - in.low)};
        *value = 1 - *value;
    }
    return in;
}

static bool already(const struct mfu_audit *a, int kind)
{
    for (int i = 0; i < a->n_claims; i++)
        if (a->claims[i].kind == kind && a->claims[i].state == MFU_BEFORE && strcmp(a->claims[i].from, "stated") == 0
            && !isnan(a->claims[i].value))
            return true;
    return false;
}

static void state(struct reading *r, const struct number *n, int kind, enum mfu_claim_state s, const struct match *m,
                  const char *end)
{
    double value;
    struct mfu_interval in = interval_of(r, n, kind, &value);
    const char *from = m->begin && m->begin < n->at ? m->begin : n->at;
    const char *to = m->end > end ? m->end : end;
    struct mfu_claim *c;

    if (s == MFU_BEFORE && already(r->audit, kind))
        s = MFU_AFTER;
    c = mfu_claim_add(r->audit, kind, s, in.low, in.high, "stated", "%.*s", (int)(to - from), from);
    if (!c)
        return;
    c->value = value;
    use(r, from, to);
}

/* "4x faster", "19 % higher tokens/s", "2x the MFU", "the MFU doubled". */
static bool read_change(struct reading *r, struct number *n)
{
    const char *p = skip_blanks(n->end), *end = n->end;
    struct number any = *n;
    struct match m = {.kind = -1};
    int sign = 0, otherwise = -1;
    double v = n->value * n->factor, half = n->half * n->factor, value;
    struct mfu_interval in = {v - half, v + half};
    struct mfu_claim *c;

    for (size_t i = 0; i < N(comparisons); i++)
        if (stands(p, comparisons[i].word, strlen(comparisons[i].word))) {
            sign = comparisons[i].sign;
            otherwise = comparisons[i].kind;
            end = p + strlen(comparisons[i].word);
        }
    if (!n->times && !(n->percent && sign))
        return false;
    any.times = true;
    m = phrase_behind(r, end, &any);
    if (sign == 0 && m.kind >= 0 && n->times && (mfu_quantity_rows[m.kind].traits & MFU_Q_COUNTED) && n->whole
        && skip_blanks(n->end) == m.begin) { /* 8x H100 */
        n->times = false;
        state(r, n, m.kind, MFU_BEFORE, &m, m.end);
        return true;
    }
    if (otherwise >= 0 && m.kind >= 0 && mfu_quantity_rows[m.kind].traits & MFU_Q_SETUP)
        m.kind = -1; /* "4x faster on 8 GPUs", "faster with the same model" */
    if (m.kind < 0 && otherwise < 0)
        m = phrase_before(r, n->at, &any, false);
    if (m.kind < 0 && otherwise >= 0)
        m = (struct match){.kind = otherwise, .begin = n->at, .end = end};
    if (m.kind < 0)
        return false;
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
    soften(r, n, value, &in);
    c = mfu_claim_add(r->audit, m.kind, MFU_CHANGE, in.low, in.high, "stated", "%.*s",
                      (int)((m.end > end ? m.end : end) - (m.begin < n->at ? m.begin : n->at)),
                      m.begin < n->at ? m.begin : n->at);
    if (!c)
        return true;
    c->value = value;
    use(r, m.begin < n->at ? m.begin : n->at, m.end > end ? m.end : end);
    return true;
}

/* A second number behind "->", "to" or "-": a change or a range. */
static bool read_second(const struct reading *r, const struct number *n, struct number *b, bool *changes)
{
    const char *p = skip_blanks(n->end), *before = n->at;

    while (before > r->text && before[-1] == ' ')
        before--;
    if (strncmp(p, "->", 2) == 0) {
        *changes = true;
        p += 2;
    } else if (strncmp(p, "to ", 3) == 0) {
        *changes = before - r->text >= 4 && strncmp(before - 4, "from", 4) == 0;
        p += 3;
    } else if (*p == '-' && p == n->end) {
        *changes = false;
        p++;
    } else
        return false;
    p = skip_blanks(p);
    if (*p == '~')
        p++;
    return isdigit((unsigned char)*p) && read_number(p, p, b);
}

static bool same_unit(struct number *a, struct number *b)
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

/* "15 % of 312 TFLOP/s", "90 % of 12 GB": the share is that of what follows. */
static int share_of(const struct reading *r, const struct number *n)
{
    const char *p = skip_blanks(n->end);
    struct number of;

    if (!n->percent || !stands(p, "of", 2))
        return -1;
    p = skip_blanks(p + 2);
    for (const char *const *w = (const char *const[]){"the ", "a ", "an ", NULL}; *w; w++)
        if (strncmp(p, *w, strlen(*w)) == 0)
            p += strlen(*w);
    if (!read_number(r->text, p, &of))
        return -1;
    return of.dim == MFU_BYTES ? MFU_Q_FILL : of.dim == MFU_FLOP_PER_S ? MFU_Q_MFU : -1;
}

static const char *take_number(struct reading *r, struct number *n)
{
    struct number second = {0};
    bool changes = false, two = read_second(r, n, &second, &changes) && same_unit(n, &second);
    const struct number *last = two ? &second : n;
    struct match m = {.kind = -1};

    if (!two && read_change(r, n))
        return n->end;
    if (n->times)
        return n->end;
    m = phrase_before(r, n->at, last, changes);
    if (m.kind >= 0 && memchr(m.end, ':', (size_t)(n->at - m.end))) { /* "energy: 1000 GPU hours" */
        struct match behind = phrase_behind(r, last->end, last);

        m = behind.kind >= 0 ? behind : m;
    }
    if (m.kind < 0 && share_of(r, last) >= 0)
        m = (struct match){.kind = share_of(r, last), .begin = n->at, .end = last->end};
    if (m.kind < 0)
        m = phrase_behind(r, last->end, last);
    if (m.kind < 0 && (!last->bare || last->money)) {
        if (last->money)
            m.kind = MFU_Q_COST;
        for (size_t i = 0; m.kind < 0 && i < N(by_unit); i++)
            if (by_unit[i].dim == last->dim && last->value * last->factor >= by_unit[i].least)
                m = (struct match){.kind = by_unit[i].kind, .begin = n->at, .end = last->end};
    }
    if (m.kind < 0)
        return last->end;
    if (!m.begin)
        m.begin = n->at, m.end = last->end;
    if (two && changes) {
        state(r, n, m.kind, MFU_BEFORE, &m, last->end);
        second.at = n->at;
        state(r, &second, m.kind, MFU_AFTER, &m, last->end);
    } else if (two && second.value >= n->value) { /* a range: its middle, as wide as it is */
        n->half = 0.5 * (second.value - n->value) + second.half;
        n->value = 0.5 * (second.value + n->value);
        n->whole = false;
        state(r, n, m.kind, MFU_BEFORE, &m, last->end);
    } else
        state(r, n, m.kind, MFU_BEFORE, &m, last->end);
    return last->end;
}

/* ---- what a model brings -------------------------------------------------------- */

static int add_model(struct reading *r, const struct mfu_scenario *start, struct mfu_error *error)
{
    struct mfu_plan *p = calloc(1, sizeof *p);
    struct mfu_scenario s = mfu_scenario_start(r->model, start->gpu);
    struct mfu_convention list[MFU_CONVENTIONS_MAX];
    struct mfu_error err = {0};
    double low = INFINITY, high = 0;

    for (int i = 0; i < r->audit->n_claims; i++) {
        const struct mfu_claim *c = &r->audit->claims[i];
        char text[32];

        snprintf(text, sizeof text, "%.0f", c->value);
        if (c->kind == MFU_Q_SEQ && c->state == MFU_BEFORE)
            mfu_scenario_set(&s, "seq", text, &err);
    }
    if (!p)
        mfu_fail(&err, MFU_ENOMEM, "out of memory");
    else if (mfu_plan_make(p, &s, &err) == 0) {
        size_t n = mfu_conventions(p, list);

        for (size_t i = 0; i < n; i++)
            if (strcmp(list[i].name, "hfu") != 0) {
                low = fmin(low, list[i].flops_per_token);
                high = fmax(high, list[i].flops_per_token);
            }
        mfu_claim_add(r->audit, MFU_Q_PARAMS, MFU_BEFORE, p->program.params * 0.995, p->program.params * 1.005,
                      "catalog", "%s", r->model->slug);
        mfu_claim_add(r->audit, MFU_Q_ACTIVE, MFU_BEFORE, fmin(low / 6, p->program.active_params * 0.995),
                      p->program.active_params * 1.005, "catalog", "%s, by any convention", r->model->slug);
        if (high > 0)
            mfu_claim_add(r->audit, MFU_Q_FLOP_PER_TOKEN, MFU_BEFORE, low, high, "catalog", "%s, by any convention",
                          r->model->slug);
        if (!already(r->audit, MFU_Q_SEQ))
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

/* Words that nobody understood, small ones and punctuation left out. */
static void list_rest(struct reading *r)
{
    char *to = r->audit->unread;
    size_t n = 0;

    for (const char *p = r->text; *p;) {
        size_t length = strcspn(p, " ,;\n()");
        bool small = length == 0 || r->used[p - r->text];

        for (size_t i = 0; i < N(fillers); i++)
            small |= strlen(fillers[i]) == length && strncmp(p, fillers[i], length) == 0;
        small |= strncmp(p, "->", 2) == 0 || stands(p, "gpu", 3) || stands(p, "model", 5); /* names that were found */
        if (!small && n + length + 3 < sizeof r->audit->unread)
            n += (size_t)snprintf(to + n, sizeof r->audit->unread - n, "%s%.*s", n > 0 ? "; " : "", (int)length, p);
        p += length + (p[length] != '\0');
    }
}

/* An outcome that is told once, where others change, is that afterwards. */
static void place_single(struct mfu_audit *a)
{
    bool changes = false;

    for (int i = 0; i < a->n_claims; i++)
        changes |= a->claims[i].state != MFU_BEFORE;
    for (int i = 0; changes && i < a->n_claims; i++) {
        struct mfu_claim *c = &a->claims[i];
        bool both = false;

        for (int k = 0; k < a->n_claims; k++)
            both |= k != i && a->claims[k].kind == c->kind && a->claims[k].state == MFU_AFTER;
        if (c->state == MFU_BEFORE && !both && !(mfu_quantity_rows[c->kind].traits & MFU_Q_SETUP))
            c->state = MFU_AFTER;
    }
}

int mfu_claim_read(struct mfu_catalog *catalog, const struct mfu_scenario *start, const char *text, struct mfu_audit *a,
                   struct mfu_error *err)
{
    struct reading *r;
    int status = 0;

    if (strlen(text) > TEXT_MAX / 2)
        return mfu_fail(err, MFU_EINPUT, "a claim is no longer than %d characters", TEXT_MAX / 2);
    if (!(r = calloc(1, sizeof *r)))
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    r->audit = a;
    r->catalog = catalog;
    spell(r, text);
    find_names(r);
    for (const char *p = r->text; *p;) {
        struct number n;

        if ((isdigit((unsigned char)*p) || *p == '$') && read_number(r->text, p, &n))
            p = take_number(r, &n);
        else
            p++;
    }
    if (r->model)
        status = add_model(r, start, err);
    place_single(a);
    list_rest(r);
    free(r);
    return status;
}
