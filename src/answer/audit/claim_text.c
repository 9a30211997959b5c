/* claim_text.c - spellings: rows of what is written instead of what. */
#include "answer/audit/reading.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N(list) (sizeof(list) / sizeof(list)[0])

struct spelling {
    const char *to, *from; /* from: "|" between */
};

// clang-format off
static const struct spelling signs[] = {
    {" -> ", "\xe2\x86\x92|=>"}, {"x", "\xc3\x97"}, {"u", "\xc2\xb5|\xce\xbc"}, {" ", "\xc2\xa0|\xe2\x80\xaf|\t|\n|\r"},
    {"-", "\xe2\x80\x93|\xe2\x80\x91"}, {" - ", "\xe2\x80\x94"}, {"~", "\xe2\x89\x88"}, {" at least ", "\xe2\x89\xa5|>="}, {" at most ", "\xe2\x89\xa4|<="},
    {" not", "n't|n\xe2\x80\x99t"}, {" ", "'s |\xe2\x80\x99s "}, {"$", "\xe2\x82\xac|\xc2\xa3"}, {" x ", " * |\xc2\xb7|\xe2\x8b\x85"}, {"  ", "*|`|\""}};

/* Whole words, in this order. */
static const struct spelling words[] = {
    {"is", "adds up to|add up to|comes to|come to|amounts to|amount to|adds to"}, {"at", "@"}, {"efficiency", "eff.|eff"}, {"frame/s", "fps"}, {"of", "average of|mean of"}, {"them", "of them"}, {" per s", "every s|every second|each second"},
    {"per token", "per trained token|per training token|per generated token"}, {"piece", "safetensor shard|safetensors shard|weight shard|checkpoint shard"},
    {";", "but|while|whereas|although|though"}, {"1.00x", "the same|unchanged|same|identical|constant|fixed"}, {"2.0x", "double|doubled|doubling|twice"}, {"3.0x", "triple|tripled|tripling"}, {"4.0x", "quadruple|quadrupled|quadrupling"},
    {"active", "active per token|activated per token|active for each token"}, {"flop per token", "flop a token|flop each token"}, {"token", "output token|input token|prompt token|generated token|completion token"},
    {"0.5 million", "half a million|half million"}, {"0.5 billion", "half a billion"}, {"0.5 trillion", "half a trillion"}, {"6", "half a dozen"},
    {"1 million", "a million|one million"}, {"1 billion", "a billion|one billion"}, {"1 trillion", "a trillion|one trillion"}, {"1 thousand", "a thousand|one thousand"}, {"100", "a hundred|one hundred"}, {"12", "a dozen|one dozen"}, {"2 week", "a fortnight|fortnight"},
    {"2.0x", "twofold"}, {"3.0x", "threefold"}, {"4.0x", "fourfold"}, {"5.0x", "fivefold"}, {"10.0x", "tenfold"}, {"20%", "a fifth|one fifth"}, {"10%", "a tenth|one tenth"}, {"ms", "millisecond|msec"}, {"us", "microsecond|usec"}, {"s", "sec"}, {"hour", "hr|hrs"}, {"year", "yr|yrs"}, {"w", "watt"}, {"kw", "kilowatt"}, {"mw", "megawatt"}, {"kb", "kilobyte"}, {"mb", "megabyte"}, {"gb", "gigabyte|gig"}, {"tb", "terabyte"}, {"vram", "video memory|graphics memory|gpu memory|gpu ram|device memory"}, {"node", "instance|workstation"}, {"%", "per cent"},
    {"33%", "one third|a third"}, {"67%", "two third"}, {"25%", "a quarter|one quarter"}, {"75%", "three quarter"}, {"by 50%", "by half"},
    {"50% of", "half of"}, {"0.50x", "halve|halved|halving"}, {"0.50x the", "half the"},
    {"1 epoch", "one epoch|a single epoch"}, {"1 hour", "one hour"}, {"1 min", "one minute|a minute"}, {"epoch", "pass over|passe over|passe through|pass through"}, {"1 day", "one day"}, {"1 week", "one week|a week"}, {"1 month", "one month"}, {"1 year", "one year"}, {"for 1 day", "for a day"}, {"in 1 day", "in a day"}, {"for 1 month", "for a month"}, {"in 1 month", "in a month"}, {"for 1 hour", "for an hour"}, {"in 1 hour", "in an hour"}, {"0.5", "half a|half an"}, {"/day", "a day|/d"}, {"/kwh", "a kwh|each kwh|/kw h"}, {"kwh", "kw h|kilowatt hour"},
    {"", "only|just|merely|already|also|even|easily|comfortably|barely|simply|actually|really|basically|exactly|precisely"}, {"ie", "i.e.|i.e"}, {"+", "plus"}, {"allreduce", "all reduce|all reducing|all reduced"}, {"forward", "fwd"}, {"backward", "bwd"}, {"step time", "latency|iteration time"}, {"dollar", "buck|usd"}, {"gradient", "grad"}, {"/", "per"}, {"/hour", "an hour|/hr|/h"}, {"token", "tok"}, {"s", "sec|second"}, {"step/s", "it/s|its/s|iter/s|iteration/s|update/s"},
    {"", "of step is|of the step is|of the step goes to|of the time goes to|of the step time goes to"}, {"/step", "/it|/iter|/iteration|a step"}, {"step", "iteration|iter|update"}, {"gpu", "gpus|card|device|accelerator|chip|tpu"}, 
    {"node", "machine|server|dgx|hgx|box"}, {"", "per direction|each direction|/direction|each way"}, {"sequence", "sample|image|img|example"}, {"parameter", "param|params"}, {"/parameter", "a parameter"}, {"sequence/s", "sequence a s|sequence each s"}, {"token/s", "token a s|token each s"}, {"gflop mac", "gmac"}, {"total", "in total|altogether|aggregate|aggregated|combined|overall|in all|global|effective"},
    {"utilisation", "utilization|util|utilized|utilised"}, {"ffn", "mlp with hidden|mlp hidden|ffn hidden|mlp of hidden|intermediate size"}, {"allocated", "alloc"}, {"fp32 optimizer state", "two fp32 adam moment"}, {"optimizer state", "both adam moment|two adam moment|adam moment"}, {"optimizer", "optimiser"}, {"parallel", "parallelism"}, {"faster", "as fast|quicker"}, {"speedup", "speed up"},
    {"flop/s", "flops/s|flops/sec|flop/sec"}, {"flop/token", "flops/token"}, {"gpu hour", "gpu h|gpuh"}, {"rose to", "went up to"}, {"upto", "up to|as much as|as many as"},
    {"training", "trained|train|finetuning|finetune|fine tuning|fine tune|fine tuned"}, {"checkpointing", "recompute|recomputation|rematerialization|activation checkpointing|gradient checkpointing|activation recomputation"},
    {"zero 3", "zero stage 3|zero3|fsdp|fully sharded"}, {"4 bit", "int4|nf4|4bit"}, {"8 bit", "8bit"}, {"mixed", "mixed precision"}};

static const char *const ones[] = {"", "", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
static const char *const tens[] = {"", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"};
/* What a claim counts: "each" is for one of the last of them, "them" are those. */
static const char counted[] = "gpu hour|gpu|node|step|kernel|launch|expert|sequence|replica|parameter|epoch";
/* Weights, gradients and what the optimizer keeps, in a row, are the states of a model. */
static const char parts[] = "model state|optimizer state|adam state|weight|gradient|optimizer|adamw|adam";
// clang-format on

bool mfu_claim_letter(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static bool stands(const char *p, const char *word, size_t n)
{
    return n > 0 && strncmp(p, word, n) == 0 && !(mfu_claim_letter(word[n - 1]) && mfu_claim_letter(p[n]));
}

bool mfu_claim_stands(const char *p, const char *word)
{
    return stands(p, word, strlen(word));
}

void mfu_claim_use(struct mfu_claim_text *t, const char *from, const char *to)
{
    memset(t->used + (from - t->text), true, to > from ? (size_t)(to - from) : 0);
}

void mfu_claim_take(struct mfu_claim_text *t, const char *from, const char *to)
{
    memset(t->taken + (from - t->text), true, (size_t)(to - from));
}

const char *mfu_claim_back(const struct mfu_claim_text *t, const char *p)
{
    const char *end = p;

    while (p > t->text && p[-1] == ' ')
        p--;
    if (p == t->text)
        return end;
    for (p--; mfu_claim_letter(*p) && p > t->text && mfu_claim_letter(p[-1]);)
        p--;
    return p;
}

char *mfu_claim_text_replace(struct mfu_claim_text *t, char *at, size_t n, const char *by)
{
    size_t m = strlen(by), i = (size_t)(at - t->text), rest = strlen(at + n) + 1;
    unsigned short from = t->from[i],
                   to = t->to[i + n > 0 ? i + n - 1 : 0]; /* what is put in is of what stands before */

    if (i + m + rest > MFU_CLAIM_ROOM - 16)
        return at + n;
    memmove(at + m, at + n, rest);
    memmove(t->from + i + m, t->from + i + n, rest * sizeof *t->from);
    memmove(t->to + i + m, t->to + i + n, rest * sizeof *t->to);
    memcpy(at, by, m); /* NOLINT(bugprone-not-null-terminated-result): within a text */
    if (m == 0 && i > 0)
        t->to[i - 1] = to;
    for (size_t k = i; k < i + m; k++) {
        t->from[k] = from;
        t->to[k] = to;
    }
    return at + m;
}

const char *mfu_claim_text_quote(const struct mfu_claim_text *t, const char *from, const char *to, char *buf,
                                 size_t size)
{
    int begin = t->from[from - t->text], end = to > from ? t->to[to - 1 - t->text] : begin;

    while (end > begin && t->claim[end - 1] == ' ')
        end--;
    snprintf(buf, size, "%.*s", end > begin ? end - begin : 0, t->claim + begin);
    for (char *p = buf; *p; p++)
        if (isspace((unsigned char)*p))
            *p = ' ';
    return buf;
}

static void respell(struct mfu_claim_text *t, const struct spelling *row, bool whole)
{
    for (const char *from = row->from; *from; from += *from == '|') {
        size_t n = strcspn(from, "|");

        for (char *p = t->text; *p;) {
            bool here = *p == *from && strncmp(p, from, n) == 0
                && !(whole && mfu_claim_letter(*from) && p > t->text && mfu_claim_letter(p[-1]))
                && !(whole && !stands(p, from, n));

            p = here ? mfu_claim_text_replace(t, p, n, row->to) : p + 1;
        }
        from += n;
    }
}

/* 2,5, but not 8,16,32 and not 41,42 and 43. */
static bool is_decimal(const char *claim, const char *comma)
{
    size_t digits = strspn(comma + 1, "0123456789");
    const char *end = comma + 1 + digits, *from = comma;

    while (from > claim && mfu_digit(from[-1]))
        from--;
    return digits % 3 > 0 && !(*end == ',' && mfu_digit(end[1])) && !(from > claim && from[-1] == ',')
        && !(strncmp(end, " and ", 5) == 0 && mfu_digit(end[5]));
}

/* "Gb/s", "Gbps" and "GbE" are bits, "GB/s" and "GBps" bytes: only here is the case of the b known.  "gb/s" says neither,
 * and is left. */
static void spell_rates(struct mfu_claim_text *t)
{
    static const char *const rates[] = {"bps", "be", "b/s", "b/sec", "b/second", "b per s", "b per second"};

    for (char *p = t->text + 1; *p; p++) {
        const char *written = t->claim + t->from[p - t->text];

        if (!strchr("kmgt", *p) || !(mfu_digit(p[-1]) || (p[-1] == ' ' && mfu_digit(p[-2]))))
            continue;
        for (size_t i = 0; i < N(rates); i++)
            if (mfu_claim_stands(p + 1, rates[i])) {
                bool bytes = written[1] == 'B', said = i < 2 || isupper((unsigned char)written[0]);

                mfu_claim_text_replace(t, p + 1, strlen(rates[i]), bytes || !said ? "b/s" : "bit/s");
                break;
            }
    }
}

/* "3h20m" and "4:10" are hours, minutes and seconds. */
static void spell_times(struct mfu_claim_text *t)
{
    for (char *p = t->text + 1; *p; p++) {
        size_t first = strspn(p, "0123456789"), second;
        const char *names[] = {" h ", " min "};

        if (first == 0 || first > 3 || mfu_claim_letter(p[-1]) || strchr(".:", p[-1]) || !strchr("h:", p[first])
            || (second = strspn(p + first + 1, "0123456789")) == 0 || second > 2) {
            p += first > 0 ? first - 1 : 0;
            continue;
        }
        if (p[first] == 'h' && p[first + 1 + second] == 'm')
            mfu_claim_text_replace(t, p + first + 1 + second, 1, " min ");
        else if (p[first] == ':' && second == 2 && !strchr(":/", p[first + 3] ? p[first + 3] : ' ')
                 && !mfu_claim_letter(p[first + 3])) {
            mfu_claim_text_replace(t, p + first + 3, 0, " s ");
            names[0] = names[1];
        } else
            continue;
        mfu_claim_text_replace(t, p + first, 1, names[0]);
    }
}

/* Whether three numbers in a row are evenly spaced, or divide one another: "64 128 256". */
static bool is_series(const int *of, int n)
{
    for (int i = 0; i + 2 < n; i++)
        if (of[i + 1] - of[i] == of[i + 2] - of[i + 1]
            || ((of[i] % of[i + 1] == 0 || of[i + 1] % of[i] == 0)
                && (of[i + 1] % of[i + 2] == 0 || of[i + 2] % of[i + 1] == 0)))
            return true;
    return false;
}

size_t mfu_claim_groups(const char *claim, const char *p, bool *one)
{
    const char *end = p + strspn(p, "0123456789");
    int of[8] = {atoi(p)}, n = 1;

    if (end == p || end > p + 3 || of[0] == 0 || (p > claim && (mfu_claim_letter(p[-1]) || strchr(".,", p[-1])))
        || (p > claim + 1 && p[-1] == ' ' && mfu_digit(p[-2])))
        return 0;
    *one = false;
    for (; n < (int)N(of) && *end == ' ' && strspn(end + 1, "0123456789") == 3; end += 4) {
        *one |= end[1] == '0'; /* no number begins so */
        of[n++] = atoi(end + 1);
    }
    if (n < 3 || mfu_claim_letter(*end) || (*end == ' ' && mfu_digit(end[1])))
        return 0;
    *one = *one || (of[0] < 100 && !is_series(of, n));
    return (size_t)(end - p);
}

/* "bf16 weights (2 B)": bytes of what a parameter keeps, where those of "a model (2 B)" are billions. */
static bool is_of_part(const struct mfu_claim_text *t, const char *p)
{
    static const char *const kept[] = {"weight", "grad", "cop", "moment", "varianc", "state", "optim",
                                       "adam",   "bf16", "fp",  "int",    "master",  "tf32",  "sgd"};

    while (p > t->text && (p[-1] == ' ' || mfu_digit(p[-1]) || p[-1] == '.' || p[-1] == '('))
        p--;
    p = mfu_claim_back(t, p);
    for (size_t i = 0; i < N(kept); i++)
        if (strncmp(p, kept[i], strlen(kept[i])) == 0)
            return true;
    return false;
}

void mfu_claim_text_start(struct mfu_claim_text *t, const char *claim)
{
    const char *glued = claim; /* up to here, blanks stand within a number */
    size_t n = 0;
    bool one = false;

    memset(t, 0, sizeof *t);
    t->claim = claim;
    t->text[n++] = ' ';
    for (size_t i = 0; claim[i] && n < MFU_CLAIM_LONGEST + 1; i++) {
        const char *p = claim + i;

        if (*p == ',' && n > 1 && mfu_digit(t->text[n - 1]) && mfu_digit(p[1]) && mfu_digit(p[2]) && mfu_digit(p[3])
            && !mfu_digit(p[4]))
            continue;
        if (p >= glued)
            glued = p + mfu_claim_groups(claim, p, &one) * one;
        if (p < glued && *p == ' ')
            continue;
        if (*p == '*' && i > 0 && isalnum((unsigned char)p[-1]) && (mfu_digit(p[1]) || p[1] == '(')
            && n + 4 < MFU_CLAIM_ROOM) { /* 12*768 */
            for (const char *x = " x "; *x; x++) {
                t->text[n] = *x;
                t->from[n] = (unsigned short)i;
                t->to[n++] = (unsigned short)(i + 1);
            }
            continue;
        }
        t->text[n] = *p == '|' ? ',' : (char)tolower((unsigned char)*p);
        if (*p == ',' && n > 1 && mfu_digit(t->text[n - 1]) && is_decimal(claim, p))
            t->text[n] = '.';
        t->from[n] = (unsigned short)i;
        t->to[n++] = (unsigned short)(i + 1);
    }
    spell_rates(t);
    spell_times(t);
    for (char *p = t->text + 1; *p; p++)
        if (p[0] == ' ' && t->claim[t->from[p + 1 - t->text]] == 'B' && p[1] == 'b' && mfu_digit(p[-1])
            && (p[2] == '/' || (p[2] && strchr(")+", p[2]) && is_of_part(t, p))))
            p = mfu_claim_text_replace(t, p + 1, 1, "byte");
    for (size_t i = 0; i < N(signs); i++)
        respell(t, &signs[i], false);
    for (char *p = t->text + 1; *p; p++) /* 8xh100 */
        if (*p == 'x' && mfu_digit(p[-1]) && mfu_alpha(p[1]))
            p = mfu_claim_text_replace(t, p, 1, "x ") - 1;
        else if (*p == 'x' && mfu_digit(p[-1]) && mfu_digit(p[1])) { /* 8x80 GB */
            const char *unit = p + 1 + strspn(p + 1, "0123456789");

            if (mfu_claim_stands(unit + strspn(unit, " "), "gb"))
                p = mfu_claim_text_replace(t, p, 1, " gpu of ") - 1;
        }
}

/* "tp8", "bs32": a setting and its value. */
static void part_settings(struct mfu_claim_text *t)
{
    static const char *const names[] = {"tp", "pp", "dp", "cp", "ep", "bs", "mbs", "gbs", "vpp", "zero"};

    for (char *p = t->text + 1; *p; p++)
        for (size_t i = 0; i < N(names) && !mfu_claim_letter(p[-1]); i++)
            if (strncmp(p, names[i], strlen(names[i])) == 0 && mfu_digit(p[strlen(names[i])]))
                mfu_claim_text_replace(t, p + strlen(names[i]), 0, " ");
}

/* micro-batch, n_layer, 4-bit: words and numbers apart. */
static void part_words(struct mfu_claim_text *t)
{
    for (char *p = t->text + 1; *p; p++) {
        bool digit = mfu_digit(p[-1]);

        if ((*p == '-' || *p == '_') && isalnum((unsigned char)p[-1])
            && (mfu_alpha(p[1]) || (!digit && mfu_digit(p[1]))))
            *p = ' ';
    }
}

/* "eight", "twenty four" */
static void spell_counts(struct mfu_claim_text *t)
{
    char number[32], digits[8];

    for (size_t ten = N(tens); ten-- > 0; ten -= ten == 2)
        for (size_t one = ten > 0 ? 10 : N(ones); one-- > 0;) {
            const struct spelling row = {digits, number};
            bool both = ten > 0 && one > 0;

            snprintf(digits, sizeof digits, "%zu", 10 * ten + one);
            snprintf(number, sizeof number, "%s%s%s", tens[ten], both ? " " : "",
                     one == 1 && ten > 0 ? "one" : ones[one]);
            if (number[0])
                respell(t, &row, true);
        }
    for (char *p = t->text; (p = strstr(p, " million ")) || (p = NULL); p++) /* "my million images" */
        if (!mfu_digit(p[-1]) && strncmp(p - 4, " per", 4) != 0 && p[-1] != '/')
            p = mfu_claim_text_replace(t, p, 1, " 1 ");
    for (char *p = t->text; (p = strstr(p, " and a half")); p++)
        if (mfu_digit(p[-1]))
            mfu_claim_text_replace(t, p, strlen(" and a half"), ".5");
}

/* "240 frames a clip": so many in each. */
static void spell_each(struct mfu_claim_text *t)
{
    for (char *p = t->text; (p = strstr(p, " a ")); p++) {
        const char *unit = mfu_claim_back(t, p), *end = p + 3 + strspn(p + 3, "abcdefghijklmnopqrstuvwxyz");

        if (end > p + 4 && (!*end || strchr(",.;)", *end)) && mfu_alpha(*unit) && !mfu_claim_role(unit)
            && (mfu_digit(*mfu_claim_back(t, unit)) || unit[-1] == '/'))
            mfu_claim_text_replace(t, p, 3, "/");
    }
}

static void drop_plurals(struct mfu_claim_text *t)
{
    for (char *p = t->text; *p;) {
        char *end = p;

        while (mfu_alpha(*end))
            end++;
        if (end - p >= 4 && end[-1] == 's' && !strchr("siu", end[-2]) && strncmp(end - 4, "flop", 4) != 0
            && (p == t->text || !mfu_claim_letter(p[-1])) && !mfu_claim_letter(*end)
            && !(end - p >= 5 && strncmp(end - 5, "flops", 5) == 0)) {
            size_t n = end - p >= 5 && (strncmp(end - 4, "ches", 4) == 0 || strncmp(end - 4, "shes", 4) == 0) ? 2 : 1;

            end = mfu_claim_text_replace(t, end - n, n, "");
        }
        p = end + (end == p);
    }
}

size_t mfu_claim_counted(const char *p)
{
    return mfu_claim_one_of(counted, p);
}

/* The last thing counted before `p`, but for what stands right there. */
static const char *last_counted(const struct mfu_claim_text *t, const char *p)
{
    const char *q = mfu_claim_back(t, p);

    for (const char *word = mfu_claim_back(t, q); word < q; q = word, word = mfu_claim_back(t, word))
        if (mfu_claim_counted(word) && word[mfu_claim_counted(word)] != '/')
            return word;
    return NULL;
}

static void resolve(struct mfu_claim_text *t, const char *word, const char *before)
{
    size_t n = strlen(word);

    for (char *p = t->text + 1; *p; p++)
        if (mfu_claim_stands(p, word) && !mfu_claim_letter(p[-1]) && !strchr(".;:", *mfu_claim_back(t, p))) {
            const char *what = mfu_claim_counted(p + n + strspn(p + n, " ")) ? NULL : last_counted(t, p);
            char by[32];

            snprintf(by, sizeof by, "%s%.*s", before, what ? (int)mfu_claim_counted(what) : 0, what ? what : "");
            if (what)
                p = mfu_claim_text_replace(t, p, n, by) - 1;
        }
}

static void join_parts(struct mfu_claim_text *t)
{
    for (char *p = t->text + 1; *p; p++) {
        char *end = p, *next = p;
        bool optimizer = false, and = false;
        int n = 0;

        for (size_t length, gap; !mfu_claim_letter(p[-1]) && (length = mfu_claim_one_of(parts, next)) > 0; n++) {
            optimizer |= *next == 'o' || *next == 'a' || *next == 'm';
            end = next + length;
            gap = strspn(end, " ,+&"); /* ", and " */
            gap += gap > 0 && mfu_claim_stands(end + gap, "and") ? 4 : 0;
            if (gap == 0) {
                n++;
                break;
            }
            next = end + gap;
            and |= gap > 2;
        }
        if (n > 1 && optimizer && and)
            p = mfu_claim_text_replace(t, p, (size_t)(end - p), "model state") - 1;
    }
}

/* No blanks around "/". */
static void tighten(struct mfu_claim_text *t)
{
    for (char *p = t->text + 1; (p = strchr(p, '/')); p++) {
        for (; p[1] == ' '; mfu_claim_text_replace(t, p + 1, 1, ""))
            ;
        for (; p - 1 > t->text && p[-1] == ' '; p--)
            mfu_claim_text_replace(t, p - 1, 1, "");
    }
}

void mfu_claim_text_words(struct mfu_claim_text *t)
{
    part_settings(t);
    part_words(t);
    drop_plurals(t);
    for (size_t i = 0; i < N(words); i++) {
        respell(t, &words[i], true);
        if (strcmp(words[i].to, "/") == 0)
            tighten(t);
    }
    spell_counts(t);
    spell_each(t);
    for (char *p = t->text; (p = strstr(p, "  "));)
        mfu_claim_text_replace(t, p + 1, 1, "");
    for (char *p = t->text; (p = strstr(p, "node gpu")); p++)
        if (mfu_claim_stands(p, "node gpu"))
            mfu_claim_text_replace(t, p + 4, 4, "");
    resolve(t, "them", "");
    resolve(t, "each", "/");
    resolve(t, "apiece", "/");
    tighten(t);
    join_parts(t);
}
