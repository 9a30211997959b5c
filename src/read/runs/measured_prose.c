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

/* The word that ends before `at` in its clause; false: the clause begins there, at *from. */
static bool word_before(const char *text, const char *at, const char **from, const char **to)
{
    while (at > text && !mfu_in_word(at[-1]) && !ends_clause(text, at - 1))
        at--;
    *from = *to = at;
    while (*from > text && mfu_in_word((*from)[-1]))
        --*from;
    return *from < *to;
}

/* Whether a word from `at` to `end` is one of a list, apart by blanks. */
static bool among(const char *list, const char *at, const char *end)
{
    for (size_t n; *list; list += n, list += *list == ' ')
        if ((n = strcspn(list, " ")) == (size_t)(end - at) && strncasecmp(at, list, n) == 0)
            return true;
    return false;
}

/* Of a thing, perhaps as the first word of an option ("no_", "disable_"), and of what is done: "without recomputation with FSDP" has FSDP, "not trained with FSDP" has not. */
static bool denies_a_thing(const char *text, const char *at, const char *end)
{
    const char *from, *to;

    end -= end > at && end[-1] == '_' && (end - at == 3 || end - at == 8);
    if (among("off", at, end)) /* "turning off FSDP" */
        return word_before(text, at, &from, &to)
            && among("turn turns turned turning switch switched switching", from, to);
    if (among("disabled removed", at, end)) /* "we removed FSDP", not "dropout disabled / FSDP" */
        return !word_before(text, at, &from, &to) || among("we i they", from, to);
    return among("no without non before disable disabling removing", at, end)
        || (among("o", at, end) && at - text >= 2 && strncasecmp(at - 2, "w/", 2) == 0);
}

static bool denies(const char *text, const char *at, const char *end)
{
    return denies_a_thing(text, at, end) || among("not never cannot", at, end)
        || (end - at == 1 && at - text >= 2 && strncasecmp(at - 2, "n't", 3) == 0);
}

/* Whether what ends at `end` is said of something else: "than", "compared with", "instead of", "tried"; of what was before or was made into
 * another: "converted from". */
static bool compares(const char *text, const char *at, const char *end)
{
    const char *from, *to;

    return among("than vs versus unlike against outperform outperforms beat beats compare compares comparing tried "
                 "trying "
                 "replaces replaced replacing",
                 at, end)
        || (word_before(text, at, &from, &to)
            && mfu_behind(from,
                          "compared to|compared with|compared against|comparison to|comparison with|comparison of|"
                          "comparison between|relative to|similar to|instead of|place of|switching from|switched from|"
                          "switch from|moving from|moved from|move from|going from|went from|coming from|changed from|"
                          "changing from|converted from|ported from|migrated from|upgraded from")
                == end);
}

/* Whether it fails without what is denied at `at`: "OOMs without recomputation" and "does not fit without it" have it. */
static bool needs(const char *text, const char *at, const char *end)
{
    const char *from, *to, *before, *behind;

    if (!among("without", at, end) || !word_before(text, at, &from, &to))
        return false;
    if (among("oom ooms oomed fails failed crashes crashed impossible", from, to))
        return true;
    return word_before(text, from, &before, &behind)
        && ((among("fit work run train possible", from, to) && denies(text, before, behind))
            || (among("memory", from, to) && among("of", before, behind)));
}

#define FAR 3          /* words behind which a denial says nothing of a phrase */
#define NEAR 2         /* the same of what compares */
#define MOST_BEFORE 32 /* words in all, so that long lists take no longer */

/* How the words before `at` in its clause take what stands there; of two behind "or" both are denied. */
static enum mfu_stance stance_before(const char *text, const char *at)
{
    const char *from, *to, *label, *end;
    int words = 0, behind_with = FAR; /* of the words that count, those behind "with" */

    for (int all = 0; words < FAR && all < MOST_BEFORE && word_before(text, at, &from, &to); at = from, all++) {
        if (words < NEAR && compares(text, from, to))
            return MFU_COMPARED;
        if (needs(text, from, to))
            return MFU_AFFIRMED;
        if (denies(text, from, to))
            return denies_a_thing(text, from, to) && words > behind_with ? MFU_AFFIRMED : MFU_DENIED;
        if (among("but so then while instead only just", from, to))
            return MFU_AFFIRMED;
        if (behind_with == FAR && among("with using uses plus", from, to))
            behind_with = words;
        words = among("or nor", from, to) ? 0
                                          : words
                + !(isdigit((unsigned char)*from) || among("a an the on in into any of by and with using", from, to));
    }
    if (words >= FAR || from == text || !strchr(":=", from[-1]) || !word_before(text, from - 1, &label, &end))
        return MFU_AFFIRMED;
    return among("baseline baselines reference compared", label, end)       ? MFU_COMPARED
        : among("without excluded disabled off unused omitted", label, end) ? MFU_DENIED
                                                                            : MFU_AFFIRMED;
}

/* The word that begins behind `at` in its clause; false, and no word: the clause ends there. */
static bool word_behind(const char *text, const char *at, const char **from, const char **to)
{
    while (!mfu_in_word(*at) && !ends_clause(text, at))
        at++;
    *from = *to = at;
    while (mfu_in_word(**to))
        ++*to;
    return *from < *to;
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
    return among("off disabled none unused never", from, to) || mfu_switch_in(word) == 0 ? end : NULL;
}

/* Words that say no more than of what or of which version a thing is. */
static const char of_parts[] = "weights weight loss losses layers layer heads head modules module adapters adapter "
                               "kernels kernel attention backend";

/* What a thing does that the run did not have, or no longer has; and what it gives, goes or runs into where that is an error. */
static const char fails[] =
    "off disabled excluded omitted unused removed skipped replaced absent inactive failed fails unsupported "
    "crashed crashes hung hangs oomed ooms broken converted ported";

/* Where "gives OOM", "runs out of memory", "ran into errors" end; NULL: at `at` stands none of it. */
static const char *error_behind(const char *text, const char *at)
{
    const char *from, *to,
        *end = mfu_behind(
            at + strspn(at, " "),
            "gives|gave|gets|got|goes|went|causes|caused|throws|threw|raises|raised|hits|hit|runs|ran|leads to|led to");

    if (!end || mfu_in_word(*end))
        return NULL;
    while (word_behind(text, end, &from, &to) && among("an a the to into out of cuda", from, to))
        end = to;
    return among("oom ooms error errors memory nan nans exception exceptions crash crashes segfault", from, to) ? to
                                                                                                                : NULL;
}

/* Whether the clause goes on with who fails: "without recomputation it runs out of memory". */
static bool fails_behind(const char *text, const char *at)
{
    const char *from, *to;

    return word_behind(text, at, &from, &to) && among("it this we training", from, to)
        && (error_behind(text, to)
            || (word_behind(text, to, &from, &to) && among("oom ooms oomed failed fails crashed crashes", from, to)));
}

void mfu_forget_errors(char *text)
{
    static const char unfit[] = "does not fit|doesn't fit|did not fit|didn't fit|would not fit|wouldn't fit";

    for (char *p = text; *p; p++) {
        const char *from, *to, *end = p == text || !mfu_in_word(p[-1]) ? error_behind(text, p) : NULL;

        if (!end && (p == text || !mfu_in_word(p[-1])))
            end = mfu_behind(p, unfit);
        if (!end && (p == text || !mfu_in_word(p[-1])) && word_behind(text, p, &from, &to) && from == p
            && among("oom ooms oomed failed fails crashed crashes", from, to))
            end = to;
        memset(p, ' ', end ? (size_t)(end - p) : 0);
    }
}

/* Where the words end by which what stands before `at` is off: by a value, or " off", " is off", " weights excluded", " not used",
 * " crashed"; NULL: it is on. */
static const char *off_behind(const char *text, const char *at)
{
    const char *from, *to, *end, *value = at + strspn(at, " -_v");
    bool verb = false, past = false, does = false, not = false;

    value += strspn(value, "0123456789."); /* of a version, or how many there are */
    value -= value > at && value[-1] == '.';
    at = value > at && isdigit((unsigned char)value[-1]) ? value : at;
    value = at + strspn(at, " ");
    if (*value && strchr(":=(?", *value)) {
        if ((end = value_off(text, value)))
            return end;
        at = value + 1;
    }
    if (word_behind(text, at, &from, &to) && among(of_parts, from, to))
        word_behind(text, to, &from, &to);
    if (from < to && (end = error_behind(text, from)))
        return end;
    for (; among("is are was were being been left turned switched stays", from, to); verb = true) {
        past |= among("was were", from, to);
        word_behind(text, to, &from, &to);
    }
    if ((does = among("does do did could can", from, to) && strncmp(to, "'t", 2) != 0))
        word_behind(text, to, &from, &to);
    does |= among("doesn don didn couldn can cannot", from, to);
    if ((not = among("not never cannot", from, to)
             || (among("isn aren wasn weren doesn don didn couldn can", from, to) && strncmp(to, "'t", 2) == 0))) {
        verb |= *to == '\'';
        word_behind(text, to + (*to == '\'' ? 2 : 0), &from, &to);
    }
    if (not &&does && among("be", from, to)) {
        does = false;
        verb = word_behind(text, to, &from, &to);
    }
    if (not || from == to) { /* "FSDP not DDP" has FSDP, and so has "FSDP does not change that" */
        bool off = does
            ? among("work build run fit compile converge load start train", from, to)
            : verb
                || among(
                    "used enabled applied included counted modelled set active on supported available installed needed",
                    from, to);

        return not &&off ? to : NULL;
    }
    if (!among(fails, from, to) && !(verb && among("none", from, to))
        && !(past && among("slower worse tried", from, to)))
        return NULL;
    /* "excluded from the count": it runs all the same */
    return word_behind(text, to, &value, &end) && among("from", value, end) ? NULL : to;
}

/* How a cell takes what it names: it is about the run, whatever that is compared with. */
static enum mfu_stance stance_in_cell(const char *text, const char *at, const char *end)
{
    enum mfu_stance before = stance_before(text, at);

    return before == MFU_DENIED && fails_behind(text, end) ? MFU_AFFIRMED
        : before != MFU_AFFIRMED                           ? before
        : left_open(text, end)                             ? MFU_OPEN
        : off_behind(text, end)                            ? MFU_DENIED
                                                           : MFU_AFFIRMED;
}

/* Whether what ends here is one side of a comparison, or no fact: "ZeRO-3 baseline", "FSDP vs DDP", "FP8 would be faster". */
static bool compared_behind(const char *text, const char *end)
{
    const char *from, *to;

    while (word_behind(text, end + strspn(end, "_"), &from, &to)
           && (isdigit((unsigned char)*from) || among(of_parts, from, to)))
        end = to;
    return among("baseline baselines reference comparison vs versus would could might", from, to);
}

enum mfu_stance mfu_stance(const char *text, const char *at, const char *end)
{
    enum mfu_stance stance = stance_in_cell(text, at, end);

    return stance == MFU_AFFIRMED && compared_behind(text, end) ? MFU_COMPARED : stance;
}

/* Whether a word begins here, perhaps behind a number ("80GB card", "23.10_NGC") or what options begin with ("use_flash_attn"). */
static bool begins_word(const char *text, const char *at)
{
    const char *before = at > text && at[-1] == '_' ? at - 1 : at, *from = before;

    while (from > text && mfu_in_word(from[-1]))
        from--;
    return at == text || !mfu_in_word(at[-1])
        || (before < at && among("use enable with apply fsdp full no disable without", from, before))
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
    const char *end, *at = mfu_place_said(text, text, phrase, &end), *from, *to;
    bool parts =
        at && word_behind(text, end, &from, &to) && among("layer layers head heads module modules depth", from, to);
    double before = parts ? mfu_number_before(text, phrase) : NAN;

    if (!at)
        return NAN;
    from = parts ? to : end;
    from += strspn(from, " =:-_");
    to = from + strspn(from, "0123456789");
    return to > from && ends_clause(text, to + strspn(to, " ")) ? fmin(strtod(from, NULL), MOST_NUMBER)
        : before >= 1                                           ? before
                                                                : 1;
}

const char *mfu_affirmed(char to[MFU_MOST_SAID], const char *text)
{
    char given[MFU_MOST_SAID];

    snprintf(given, sizeof given, "%s", text);
    memcpy(to, given, sizeof given);
    for (char *p = given; *p;) {
        const char *end = p, *off;
        char *from = p;
        bool denial;

        while (mfu_in_word(*end))
            end++;
        if (end == p) {
            p++;
            continue;
        }
        p += end - p;
        denial = denies(given, from, end);
        off = off_behind(given, end);
        if (off && *(end + strspn(end, " ")) && strchr(":=?", end[strspn(end, " ")])) /* "full shard: no" */
            while (from > given && !ends_clause(given, from - 1))
                from--;
        if (off || denial || stance_in_cell(given, from, end) != MFU_AFFIRMED)
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

/* Where a phrase stands, of which a letter may be no part of a longer word: "zero" in "zero2"; NULL: nowhere. */
static const char *word_at(const char *text, const char *word)
{
    for (const char *p = text; *p; p++) {
        const char *end = p == text || !isalpha((unsigned char)p[-1]) ? mfu_behind(p, word) : NULL;

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

        for (end = text; *end && !ends_clause(text, end);)
            end++;
        if (end == text)
            continue;
        snprintf(part, sizeof part, "%.*s", (int)(end - text), text);
        if (!(*end && off_behind(text, end)) && contains(mfu_affirmed(own, part), one) && contains(own, other))
            return true;
    }
    return false;
}
