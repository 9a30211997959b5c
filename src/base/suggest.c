/*
 * suggest.c - "did you mean": the nearest known names.
 *
 * The distance counts the keys that someone has to retype: letters left out,
 * put in or replaced, and neighbours swapped, each count one (Damerau and
 * Levenshtein).  Names are compared as they sound: folded to small letters
 * without '-', '_' and blanks.
 */
#include "base/suggest.h"

#include <ctype.h>
#include <stdlib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LONGEST 96 /* letters; longer words get no suggestion */
#define SHORTEST_PART                                                                                                  \
    4 /* letters of a name's beginning that a slip may be of (chosen: shorter ones are like any word) */

/* The next letter that matters, folded; '\0' at the end. */
static int next_letter(const char **name)
{
    while (**name == '-' || **name == '_' || **name == ' ' || **name == '\t')
        ++*name;
    return **name ? tolower((unsigned char)*(*name)++) : '\0';
}

int mfu_same_name(const char *a, const char *b)
{
    for (;;) {
        int x = next_letter(&a), y = next_letter(&b);

        if (x != y)
            return 0;
        if (x == '\0')
            return 1;
    }
}

bool mfu_next_word(const char **words, char *word, size_t size)
{
    const char *begin = *words + strspn(*words, " ");
    size_t n = strcspn(begin, " "), room = n < size ? n : size - 1;

    memcpy(word, begin, room);
    word[room] = '\0';
    *words = begin + n + strspn(begin + n, " ");
    return n > 0;
}

bool mfu_is_among(const char *words, const char *name)
{
    char word[LONGEST];

    while (words && mfu_next_word(&words, word, sizeof word))
        if (mfu_same_name(word, name))
            return true;
    return false;
}

/* The same without points, which nobody need type: "qwen25-7b" is Qwen2.5-7B. */
static int next_typed(const char **name)
{
    int c;

    do
        c = next_letter(name);
    while (c == '.');
    return c;
}

/* Writes the letters that matter; returns how many, LONGEST if too many. */
static int fold(char folded[LONGEST], const char *name)
{
    int length = 0, c;

    while ((c = next_typed(&name)) && length < LONGEST)
        folded[length++] = (char)c;
    return length;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/*
 * The distance between a[0..m) and b[0..n), or more than `limit` when it is more.
 * A cell of the usual table needs only the three rows that end here:
 *
 *     above[j-2]                      swap: a[i-2] a[i-1] = b[j-1] b[j-2]
 *                 over[j-1] over[j]   replace (or keep), leave out
 *                 row[j-1]  row[j]    put in
 *
 * Cells further than `limit` from the diagonal are beyond it: they are not
 * worked out.
 */
static int distance(const char *a, int m, const char *b, int n, int limit)
{
    int rows[3][LONGEST + 2];
    int *above = rows[0], *over = rows[1], *row = rows[2];

    for (int j = 0; j <= n; j++)
        over[j] = above[j] = j;
    for (int i = 1; i <= m; i++) {
        int first = i - limit > 1 ? i - limit : 1, last = least(i + limit, n);
        int *spare = above, nearest = row[first - 1] = first == 1 ? i : limit + 1;

        for (int j = first; j <= last; j++) {
            int d = over[j - 1] + (a[i - 1] != b[j - 1]);

            d = least(d, least(over[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d = least(d, above[j - 2] + 1);
            row[j] = d;
            nearest = least(nearest, d);
        }
        row[last + 1] = limit + 1; /* the next row looks one further */
        if (nearest > limit)
            return limit + 1;
        above = over;
        over = row;
        row = spare;
    }
    return over[n];
}

/* Whether the parts of what was typed, two or more, are parts of the name, in this order: "olmo-2-13b" of
 * OLMo-2-1124-13B. */
static bool leaves_parts_out(const char *typed, const char *name)
{
    static const char between[] = "-_ ";

    if (!strpbrk(typed, between))
        return false;
    while (*typed) {
        size_t n = strcspn(typed, between), m = strcspn(name, between);

        for (; *name && (m != n || strncasecmp(typed, name, n) != 0); m = strcspn(name, between)) {
            name += m;
            name += *name != '\0';
        }
        if (!*name)
            return false;
        typed += n + strspn(typed + n, between);
        name += m + strspn(name + m, between);
    }
    return true;
}

/* The distance of a word to the nearest beginning of a name that ends with one of its parts: "lama3" is one letter from
 * Llama-3-8B; more than `limit`: none is so near. */
static int distance_to_parts(const char *word, int length, const char *name, const char *folded, int limit)
{
    int nearest = limit + 1, n = 0;

    for (const char *at = name; next_typed(&at); n++)
        if (*at && strchr("-_ .", *at) && abs(n + 1 - length) <= limit && n + 1 >= SHORTEST_PART)
            nearest = least(nearest, distance(word, length, folded, n + 1, limit));
    return nearest;
}

/* How good a match `name` is: 0 is the word itself, 1 a word that it begins or whose parts it has, 2 d one at distance d,
 * 2 d + 1 one of which a beginning is, and beyond 2 limit + 1 is too far.  Who slips more than once has the first letter
 * right: "xlnet" is no slip of hgnet. */
static int rank(const char *typed, const char *word, int length, const char *name, int limit)
{
    char folded[LONGEST];
    int n = fold(folded, name), slips = *folded == *word ? limit : least(limit, 1), whole;

    if (n >= length && memcmp(folded, word, (size_t)length) == 0)
        return n > length;
    if (leaves_parts_out(typed, name))
        return 1;
    whole = abs(n - length) <= slips ? distance(word, length, folded, n, slips) : slips + 1; /* also spares the table */
    whole = least(2 * whole, 2 * distance_to_parts(word, length, name, folded, slips) + 1);
    return whole > 2 * slips + 1 ? 2 * limit + 2 : whole;
}

/* Of names that begin with the word, or nearly so, the shortest is the nearest: it says least that was not typed. */
static bool is_nearer(int r, const char *name, int rank_of, const char *than)
{
    return r < rank_of || (r == rank_of && r % 2 == 1 && strlen(name) < strlen(than));
}

size_t mfu_suggest(const char *typed, const char *const *names, size_t n, const char **best, size_t max)
{
    char word[LONGEST];
    int length = fold(word, typed);
    int limit = least(1 + length / 4,
                      length > 3 ? (length - 1) / 2 : 1); /* a slip per four letters, and one; fewer than half */
    int ranks[LONGEST];
    size_t found = 0;

    if (length == 0 || length == LONGEST)
        return 0;
    if (limit >= length)
        limit = length - 1; /* something must have been right */
    max = max < LONGEST ? max : LONGEST;
    for (size_t i = 0; i < n && max > 0; i++) {
        int r = rank(typed, word, length, names[i], found < max ? limit : least(limit, ranks[found - 1] / 2)), k;
        size_t at = found;

        if (r > 2 * limit + 1 || (found == max && !is_nearer(r, names[i], ranks[found - 1], best[found - 1])))
            continue;
        for (; at > 0 && is_nearer(r, names[i], ranks[at - 1], best[at - 1]); at--)
            ;
        found += found < max;
        for (k = (int)found - 1; k > (int)at; k--) {
            ranks[k] = ranks[k - 1];
            best[k] = best[k - 1];
        }
        ranks[at] = r;
        best[at] = names[i];
        if (max == 1 && r == 0)
            break;
    }
    return found;
}

bool mfu_suggests_rather(const char *typed, const char *name, const char *than)
{
    char word[LONGEST];
    int length = fold(word, typed);

    return length < LONGEST && rank(typed, word, length, name, length) < rank(typed, word, length, than, length);
}

int(mfu_error_nearest)(struct mfu_error *err, const char *typed, const char *const *names, size_t n)
{
    const char *best;

    if (err && mfu_suggest(typed, names, n, &best, 1) > 0)
        mfu_error_suggest(err, best);
    return -1;
}

const char *mfu_names_list(char *text, size_t size, const char *const *names, size_t n)
{
    static const char more[] = ", ...";
    size_t used = 0;

    *text = '\0';
    for (size_t i = 0; i < n; i++) {
        const char *between = i == 0 ? "" : i + 1 == n ? " or " : ", ";
        size_t needed = strlen(between) + strlen(names[i]);

        if (used + needed + (i + 1 < n ? sizeof more : 1) > size) {
            snprintf(text + used, size - used, "%s", more);
            return text;
        }
        used += (size_t)snprintf(text + used, size - used, "%s%s", between, names[i]);
    }
    return text;
}

size_t mfu_names_count(const char *const *names)
{
    size_t n = 0;

    while (names[n])
        n++;
    return n;
}
