/*
 * measured_prose.c - what a text says: phrases that it affirms, not those that it denies, compares with or leaves open.
 *
 * Words are the same whatever their capitals and whatever joins them: blanks, dashes, underscores, nothing.  Marks part
 * a text into clauses; what is said in one bears on no other.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "read/runs/measured_reading.h"
#include "scenario/setting.h"

bool mfu_in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

const char *mfu_behind(const char *text, const char *phrases)
{
    const char *longest = NULL;

    for (const char *p = phrases, *at = text;; p++) {
        if (*p == '\0' || *p == '|') {
            longest = at && (!longest || at > longest) ? at : longest;
            at = text;
        } else if (at && strchr(" -_+", *p)) {
            at += strspn(at, *p == '+' ? " -_+" : " -_");
        } else if (at)
            at = tolower((unsigned char)*at) == tolower((unsigned char)*p) ? at + 1 : NULL;
        if (*p == '\0')
            return longest;
    }
}

/* Whether a character that passes a test stands on both sides of this one. */
static bool between(const char *text, const char *at, int (*test)(int))
{
    return at > text && test((unsigned char)at[-1]) && test((unsigned char)at[1]);
}

/* Whether a clause ends here: not at the points of "2.5", "llm.c" and "vs.", nor at the comma of "1,024". */
static bool ends_clause(const char *text, const char *at)
{
    switch (*at) {
    case '.': return !between(text, at, isalnum) && !(at - text >= 2 && strncasecmp(at - 2, "vs", 2) == 0);
    case ',': return !between(text, at, isdigit);
    case '-': return at > text && at[-1] == ' ' && at[1] == ' ';
    default:
        return !*at || strchr(";:=()+|\n", *at) || strncmp(at, "\xE2\x80\x93", 3) == 0
            || strncmp(at, "\xE2\x80\x94", 3) == 0;
    }
}

/* ---- words beside a phrase ---- */

#define MOST_WORDS 32 /* on one side of a phrase, so that long lists take no longer */

/* Words of a clause in the order in which they stand: those before a place, of which the last is the nearest, or behind it. */
struct words {
    int n;
    struct {
        const char *from, *to;
    } at[MOST_WORDS];
};

/* Whether it stands in a word of a clause: "isn't" is one. */
static bool in_this(const char *text, const char *at)
{
    return mfu_in_word(*at) || (*at == '\'' && between(text, at, isalpha));
}

/* The words before a place, an option's '_' left out ("no_fsdp", "disable_ac"); *begin: where their clause begins. */
static struct words words_before(const char *text, const char *at, const char **begin)
{
    struct words w = {0};

    while (w.n < MOST_WORDS) {
        const char *to;

        while (at > text && !in_this(text, at - 1) && !ends_clause(text, at - 1))
            at--;
        for (to = at; at > text && in_this(text, at - 1);)
            at--;
        if (at == to)
            break;
        memmove(w.at + 1, w.at, (size_t)w.n++ * sizeof *w.at);
        w.at[0].from = at;
        w.at[0].to = to - (to > at + 1 && to[-1] == '_');
    }
    *begin = at;
    return w;
}

static struct words words_behind(const char *text, const char *at)
{
    struct words w = {0};

    while (w.n < MOST_WORDS) {
        while (!in_this(text, at) && !ends_clause(text, at))
            at++;
        w.at[w.n].from = at;
        while (in_this(text, at))
            at++;
        if (at == w.at[w.n].from)
            break;
        w.at[w.n++].to = at;
    }
    return w;
}

/* Whether a word is one of a list, apart by '|', that ends before a blank or a sign of a pattern: "~n't" is any
 * that ends so, "." any, "#" a number, "^" none at all. */
static bool among(const char *list, const char *word, const char *to)
{
    size_t n = (size_t)(to - word), m;

    for (;; list += m + 1) {
        m = strcspn(list, "| ?*+");
        if (*list == '^'       ? n == 0
                : n == 0       ? false
                : *list == '.' ? true
                : *list == '#' ? isdigit((unsigned char)*word) != 0
                : *list == '~' ? n >= m && strncasecmp(to - (m - 1), list + 1, m - 1) == 0
                               : n == m && strncasecmp(word, list, n) == 0)
            return true;
        if (list[m] != '|')
            return false;
    }
}

static bool is_one(const struct words *w, int i, const char *list)
{
    return i >= 0 && i < w->n ? among(list, w->at[i].from, w->at[i].to) : among(list, list, list);
}

/* The word behind those from the i-th on that a pattern has: lists of words, apart by blanks, of which one is there, perhaps ("?"), as
 * often as it is ("*"), at least once ("+"), or none ("!" before it); -1: other words stand there. */
static int matched(const char *pattern, const struct words *w, int i)
{
    for (const char *end; *pattern; pattern = end + (*end == ' ')) {
        bool absent = *pattern == '!', is = is_one(w, i, pattern += absent);

        end = pattern + strcspn(pattern, " ");
        if (is ? absent : !absent && !strchr("?*", end[-1]))
            return -1;
        i += is;
        while (is && strchr("*+", end[-1]) && is_one(w, i, pattern))
            i++;
    }
    return i;
}

/* Whether the words that end with the i-th are those of a pattern, one for each of its lists. */
static bool ends_in(const char *pattern, const struct words *w, int i)
{
    int from = i;

    for (const char *p = pattern; *p; p++)
        from -= *p == ' ';
    return matched(pattern, w, from) == i + 1;
}

#define NOT "not|never|cannot|~n't"
#define IS "is|are|was|were|being|been|left|turned|switched|stays"
/* Words that say no more than of what a thing is. */
#define PART                                                                                                           \
    "weights|weight|loss|losses|layers|layer|heads|head|modules|module|adapters|adapter|kernels|kernel|attention|"     \
    "backend"
#define FAILS "oom|ooms|oomed|failed|fails|crashed|crashes"
#define ENDS_IN_ERROR                                                                                                  \
    "gives|gave|gets|got|goes|went|causes|caused|throws|threw|raises|raised|hits|hit|runs|ran|leads|led "              \
    "an|a|the|to|into|out|of|cuda* oom|ooms|error|errors|memory|nan|nans|exception|exceptions|crash|crashes|segfault"
#define ABSENT                                                                                                         \
    "off|disabled|excluded|omitted|unused|removed|skipped|replaced|absent|inactive|unsupported|hung|hangs|broken"
#define USED "used|enabled|applied|included|counted|modelled|set|active|on|supported|available|installed|needed"
#define WORK "work|build|run|fit|compile|converge|load|start|train"

struct said_beside {
    enum mfu_stance stance;
    const char *words;
};
static const char not_done[] = NOT; /* denies what is done, the other denials a thing */

/* How words before a phrase take it: the first row of the nearest words that have one. */
static const struct said_beside said_before[] = {
    {MFU_COMPARED, "than|vs|versus|unlike|against|outperform|outperforms|beat|beats|compare|compares|comparing"},
    {MFU_COMPARED, "tried|trying|replaces|replaced|replacing"},
    {MFU_COMPARED, "compared|comparison|relative|similar to|with|against|of|between"},
    {MFU_COMPARED, "instead|place of"},
    {MFU_COMPARED, "switching|switched|switch|moving|moved|move|going|went|coming|changed|changing from"},
    {MFU_COMPARED, "converted|ported|migrated|upgraded from"},
    {MFU_AFFIRMED, FAILS "|impossible without"}, /* it fails without what the run then has */
    {MFU_AFFIRMED, NOT " fit|work|run|train|possible without"},
    {MFU_AFFIRMED, "of memory without"},
    {MFU_DENIED, "turn|turns|turned|turning|switch|switched|switching off"},
    {MFU_DENIED, "^|we|i|they disabled|removed"}, /* not "dropout disabled / FSDP" */
    {MFU_DENIED, "no|without|non|before|disable|disabling|removing"},
    {MFU_DENIED, "w o"},
    {MFU_DENIED, not_done},
    {MFU_AFFIRMED, "but|so|then|while|instead|only|just"},
};

/* How words behind it do: the first row. */
static const struct said_beside said_behind[] = {
    {MFU_AFFIRMED, IS "+ tried first|initially? and|then|but kept|used|adopted"},
    {MFU_DENIED, ENDS_IN_ERROR},
    {MFU_DENIED, IS "* " ABSENT "|converted|ported|" FAILS " !from"}, /* not "excluded from the count" */
    {MFU_DENIED, IS "+ none !from"},
    {MFU_DENIED, "was|were slower|worse|tried !from"},
    {MFU_DENIED, IS "+ " NOT " .?"},
    {MFU_DENIED, "isn't|aren't|wasn't|weren't .?"},
    {MFU_DENIED, IS "* " NOT " " USED}, /* "FSDP not DDP" has FSDP, */
    {MFU_DENIED, "does|do|did|could|can? " NOT " be .?"},
    {MFU_DENIED, "does|do|did|could|can? " NOT " " WORK}, /* and so has "FSDP does not change that" */
    {MFU_COMPARED, "is|are slower|worse"},
    {MFU_COMPARED, "of the|their|its|our|his|her paper|report|article|appendix"}, /* a page there */
};

/* What parts it from another, or is no fact; of cells nothing, which are about the run, whatever that is compared with. */
static const char compared[] = "baseline|baselines|reference|comparison|vs|versus|would|could|might";

/* Errors that a run ended in. */
static const char *const errors[] = {ENDS_IN_ERROR, FAILS, "does|did|would not fit", "doesn't|didn't|wouldn't fit"};

#define FAR 3  /* words behind which a denial says nothing of a phrase */
#define NEAR 2 /* the same of what compares */

/* The row of words before a phrase that end with the i-th, with `counted` words between; NULL: none. */
static const struct said_beside *row_before(const struct words *w, int i, int counted)
{
    for (size_t k = 0; k < sizeof said_before / sizeof *said_before; k++)
        if (counted < (said_before[k].stance == MFU_COMPARED ? NEAR : FAR) && ends_in(said_before[k].words, w, i))
            return &said_before[k];
    return NULL;
}

/* How the words before `at` in its clause take what stands there; of two behind "or" both are denied. */
static enum mfu_stance stance_before(const char *text, const char *at)
{
    const char *begin;
    struct words w = words_before(text, at, &begin);
    int counted = 0, behind_with = FAR; /* of the words that count, those behind "with" */

    for (int i = w.n - 1; i >= 0 && counted < FAR; i--) {
        const struct said_beside *row = row_before(&w, i, counted);

        if (row) /* "without recomputation with FSDP" has FSDP, "not trained with FSDP" has not */
            return row->stance == MFU_DENIED && row->words != not_done && counted > behind_with ? MFU_AFFIRMED
                                                                                                : row->stance;
        if (behind_with == FAR && is_one(&w, i, "with|using|uses|plus"))
            behind_with = counted;
        counted =
            is_one(&w, i, "or|nor") ? 0 : counted + !is_one(&w, i, "#|a|an|the|on|in|into|any|of|by|and|with|using");
    }
    if (counted >= FAR || begin == text || !strchr(":=", begin[-1]))
        return MFU_AFFIRMED;
    w = words_before(text, begin - 1, &begin); /* the label */
    return is_one(&w, w.n - 1, "baseline|baselines|reference|compared")       ? MFU_COMPARED
        : is_one(&w, w.n - 1, "without|excluded|disabled|off|unused|omitted") ? MFU_DENIED
                                                                              : MFU_AFFIRMED;
}

#define MOST_BEHIND 100 /* letters of a clause: long ones take no longer */

/* Whether the clause goes on with words by which it is not known: "(act_ckpt/offload left empty)", "recomputation: unknown". */
static bool left_open(const char *text, const char *at)
{
    at += strspn(at, " ");
    at += *at && strchr(":=(", *at);
    for (int n = 0; n < MOST_BEHIND && !ends_clause(text, at); n++, at++)
        if (mfu_behind(at, "left empty|not stated|not restated|not given|not known|unknown"))
            return true;
    return false;
}

/* Where the value behind a mark ends that turns off what stands before it: "=0", ": off", " (disabled)"; NULL: none does. */
static const char *value_off(const char *text, const char *mark)
{
    const char *from = mark + 1 + strspn(mark + 1, " "), *end = from, *to;
    char word[16];

    while (!ends_clause(text, end) && !(*mark == '=' && *end == ' '))
        end++;
    for (to = end; to > from && to[-1] == ' ';)
        to--;
    snprintf(word, sizeof word, "%.*s", (int)(to - from), from);
    return among("off|disabled|none|unused|never", from, to) || mfu_switch_in(word) == 0 ? end : NULL;
}

/* Behind a number of what stands before `at`: of a version, or how many there are; `marks` may stand between. */
static const char *behind_number(const char *at, const char *marks)
{
    const char *number = at + strspn(at, marks), *end = number + strspn(number, "0123456789.");

    end -= end > number && end[-1] == '.';
    return end > number && !mfu_in_word(*end) ? end : at;
}

/* How what goes on behind a phrase takes it; *end: behind the words that say so. */
static enum mfu_stance stance_behind(const char *text, const char *at, bool cell, const char **end)
{
    const char *mark;
    struct words w;
    int first;

    at = behind_number(at, " -_v");
    mark = at + strspn(at, " ");
    if (*mark && strchr(":=(?", *mark)) {
        if ((*end = value_off(text, mark)))
            return MFU_DENIED;
        at = behind_number(mark + 1, *mark == '=' ? "" : " ");
        cell = cell || *mark != '='; /* "FSDP (vs DDP)" */
    }
    w = words_behind(text, at);
    first = matched("#|" PART "*", &w, 0);
    for (size_t k = 0; k < sizeof said_behind / sizeof *said_behind; k++) {
        int n = matched(said_behind[k].words, &w, first);

        if (n > 0) {
            *end = w.at[n - 1].to;
            return said_behind[k].stance;
        }
    }
    return !cell && matched(compared, &w, first) > 0 ? MFU_COMPARED : MFU_AFFIRMED;
}

/* Where the words end of an error that a run ended in, where they begin here; `who`: behind who did; NULL: others do. */
static const char *behind_error(const char *text, const char *at, bool who)
{
    struct words w = words_behind(text, at);

    who = who && is_one(&w, 0, "it|this|we|training");
    for (size_t k = 0; k < sizeof errors / sizeof *errors; k++) {
        int n = matched(errors[k], &w, who);

        if (n > 0)
            return w.at[n - 1].to;
    }
    return NULL;
}

void mfu_forget_errors(char *text)
{
    for (char *p = text; *p; p++) {
        const char *end = mfu_in_word(*p) && (p == text || !mfu_in_word(p[-1])) ? behind_error(text, p, false) : NULL;

        memset(p, ' ', end ? (size_t)(end - p) : 0);
    }
}

/* How a text takes what it names; a cell is about the run, whatever that is compared with. */
static enum mfu_stance stance_of(const char *text, const char *at, const char *end, bool cell)
{
    enum mfu_stance stance = stance_before(text, at);
    const char *behind_it;

    if (stance == MFU_DENIED && behind_error(text, end, true)) /* "without recomputation it runs out of memory" */
        return MFU_AFFIRMED;
    return stance != MFU_AFFIRMED ? stance
        : left_open(text, end)    ? MFU_OPEN
                                  : stance_behind(text, end, cell, &behind_it);
}

enum mfu_stance mfu_stance(const char *text, const char *at, const char *end)
{
    return stance_of(text, at, end, false);
}

/* Whether a word begins here, perhaps behind a number ("80GB card", "23.10_NGC") or what options begin with ("use_flash_attn"). */
static bool begins_word(const char *text, const char *at)
{
    const char *before = at > text && at[-1] == '_' ? at - 1 : at, *from = before;

    while (from > text && mfu_in_word(from[-1]))
        from--;
    return at == text || !mfu_in_word(at[-1])
        || (before < at && among("use|enable|with|apply|fsdp|full|no|disable|without", from, before))
        || (isalpha((unsigned char)*at) && before > text && isdigit((unsigned char)before[-1]));
}

/* Whether a word ends here, of which a number behind it may be a version: "flash_attention_2", not "paged_adamw_8bit". */
static bool ends_word(const char *at)
{
    size_t digits = *at == '_' ? strspn(at + 1, "0123456789") : 0;

    return !mfu_in_word(*at) || (digits > 0 && !mfu_in_word(at[1 + digits]));
}

/* The first place from `from` on at which a phrase is taken so, as words of its own; NULL: none.  *end: behind it. */
static const char *place_of(const char *text, const char *from, const char *phrase, enum mfu_stance stance,
                            const char **end)
{
    bool first[256] = {false}; /* letters of the phrases */

    for (size_t i = 0; phrase[i]; i++)
        if (i == 0 || phrase[i - 1] == '|')
            first[(unsigned char)tolower((unsigned char)phrase[i])] = true;
    for (const char *p = from; *p; p++)
        if (first[(unsigned char)tolower((unsigned char)*p)] && begins_word(text, p) && (*end = mfu_behind(p, phrase))
            && (ends_word(*end) || strchr(" -_=", (*end)[-1])) && mfu_stance(text, p, *end) == stance)
            return p;
    return NULL;
}

const char *mfu_place_said(const char *text, const char *from, const char *phrase, const char **end)
{
    return place_of(text, from, phrase, MFU_AFFIRMED, end);
}

const char *mfu_behind_said(const char *text, const char *phrase)
{
    const char *end;

    return mfu_place_said(text, text, phrase, &end) ? end : NULL;
}

bool mfu_says(const char *text, const char *phrase)
{
    return mfu_behind_said(text, phrase) != NULL;
}

bool mfu_says_not(const char *text, const char *phrase)
{
    const char *end;

    return place_of(text, text, phrase, MFU_DENIED, &end) && !mfu_says(text, phrase);
}

#define MOST_NUMBER 1e9 /* of what prose counts: what is larger is none of these */

double mfu_number_said(const char *text, const char *phrase)
{
    for (const char *end, *p = text; (p = place_of(text, p, phrase, MFU_AFFIRMED, &end)); p = end) {
        char *behind;
        double x;

        end += strspn(end, " ~=:_(");
        end += *end == '-' && mfu_in_word(end[-1]) && end[-1] != '_'; /* a dash that joins, not a sign */
        x = isdigit((unsigned char)*end) ? strtod(end, &behind) : 0;
        if (x > 0 && x <= MOST_NUMBER && (strchr("kK", *behind) || strchr(" ,;.)/", *behind)))
            return *behind == 'k' || *behind == 'K' ? 1000 * x : x;
    }
    return NAN;
}

double mfu_number_before(const char *text, const char *phrase)
{
    const char *end, *at = mfu_place_said(text, text, phrase, &end), *from;
    double x;

    while (at && at > text && strchr(" -_", at[-1]))
        at--;
    for (from = at; from && from > text && (isdigit((unsigned char)from[-1]) || from[-1] == '.');)
        from--;
    x = from < at && (from == text || from[-1] == 'x' || !mfu_in_word(from[-1])) ? strtod(from, NULL) : NAN;
    if (from > text && from < at && from[-1] == '-' && (from - 1 == text || !mfu_in_word(from[-2])))
        return NAN; /* a sign */
    return x <= MOST_NUMBER ? x : NAN;
}

double mfu_count_said(const char *text, const char *phrase)
{
    const char *end, *at = mfu_place_said(text, text, phrase, &end), *to;
    struct words w = {0};
    double before = NAN;

    if (!at)
        return NAN;
    w = words_behind(text, end);
    if (is_one(&w, 0, "layer|layers|head|heads|module|modules|depth")) {
        before = mfu_number_before(text, phrase);
        end = w.at[0].to;
    }
    end += strspn(end, " =:-_");
    to = end + strspn(end, "0123456789");
    return to > end && ends_clause(text, to + strspn(to, " ")) ? fmin(strtod(end, NULL), MOST_NUMBER)
        : before >= 1                                          ? before
                                                               : 1;
}

const char *mfu_affirmed(char to[MFU_MOST_SAID], const char *text)
{
    char given[MFU_MOST_SAID];

    snprintf(given, sizeof given, "%s", text);
    memcpy(to, given, sizeof given);
    for (const char *p = given, *end; *p; p = end + (end == p)) {
        const char *from = p, *off, *begin;
        const struct said_beside *denial;
        struct words w;

        for (end = p; mfu_in_word(*end);)
            end++;
        if (end == p)
            continue;
        w = words_before(given, end, &begin);
        denial = row_before(&w, w.n - 1, NEAR);
        if (stance_behind(given, end, true, &off) == MFU_AFFIRMED)
            off = NULL;
        if (off && strchr(":=?", end[strspn(end, " ")])) /* "full shard: no" */
            from = begin;
        if (off || (denial && denial->stance == MFU_DENIED) || stance_of(given, from, end, true) != MFU_AFFIRMED)
            memset(to + (from - given), ' ', (size_t)((off ? off : end) - from));
    }
    return to;
}

/* Whether a name of a class goes on with a word of its own, of three letters at least: "FSDPStrategy", "FullyShardedDDP". */
static bool is_next_word(const char *at)
{
    return isupper((unsigned char)*at) && isalpha((unsigned char)at[1]) && isalpha((unsigned char)at[2])
        && (islower((unsigned char)at[-1]) || islower((unsigned char)at[1]));
}

/* Whether a word of capitals begins here within a name: "MegatronFSDP", not "NoFSDP". */
static bool begins_within(const char *text, const char *at)
{
    const char *from = at;

    while (from > text && isalpha((unsigned char)from[-1]))
        from--;
    return from < at && islower((unsigned char)at[-1]) && isupper((unsigned char)*at) && isupper((unsigned char)at[1])
        && !among("no|non|not|without|pre", from, at);
}

/* Where a phrase stands, of which a letter may be no part of a longer word: "zero" in "zero2"; NULL: nowhere. */
static const char *word_at(const char *text, const char *word)
{
    for (const char *p = text; *p; p++) {
        bool begins = p == text || !isalpha((unsigned char)p[-1]) || begins_within(text, p);
        const char *end = begins ? mfu_behind(p, word) : NULL;

        if (end && (!isalpha((unsigned char)*end) || (end > p && is_next_word(end))))
            return p;
    }
    return NULL;
}

bool mfu_has_word(const char *text, const char *word)
{
    return word_at(text, word) != NULL;
}

bool mfu_says_word(const char *text, const char *word)
{
    char own[MFU_MOST_SAID];

    return mfu_has_word(mfu_affirmed(own, text), word);
}

/* Whether a text has a phrase, perhaps as a part of a longer word. */
static bool contains(const char *text, const char *phrase)
{
    while (*text && !mfu_behind(text, phrase))
        text++;
    return *text != '\0' || *phrase == '\0';
}

bool mfu_says_together(const char *text, const char *one, const char *other)
{
    for (const char *end; *text; text = *end ? end + 1 : end) {
        char part[MFU_MOST_SAID], own[MFU_MOST_SAID];
        const char *behind_it;

        for (end = text; *end && !ends_clause(text, end);)
            end++;
        if (end == text)
            continue;
        snprintf(part, sizeof part, "%.*s", (int)(end - text), text);
        if (!(*end && stance_behind(text, end, true, &behind_it) == MFU_DENIED)
            && contains(mfu_affirmed(own, part), one) && contains(own, other))
            return true;
    }
    return false;
}
