/*
 * printable.c - text that others wrote, made safe to show.
 */
#include "base/printable.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

size_t mfu_utf8_character(const char *p, size_t left, uint32_t *code)
{
    static const struct {
        unsigned char mask, lead;
        uint32_t least; /* shorter forms exist below it */
    } forms[] = {{0xE0, 0xC0, 0x80}, {0xF0, 0xE0, 0x800}, {0xF8, 0xF0, 0x10000}};
    const unsigned char *u = (const unsigned char *)p;

    if (left > 0 && u[0] < 0x80) { /* most are */
        if (code)
            *code = u[0];
        return 1;
    }
    for (size_t n = 2; n <= 4 && n <= left; n++) {
        uint32_t c = u[0] & (unsigned char)~forms[n - 2].mask;
        size_t i = 1;

        if ((u[0] & forms[n - 2].mask) != forms[n - 2].lead)
            continue;
        for (; i < n && (u[i] & 0xC0) == 0x80; i++)
            c = c << 6 | (u[i] & 0x3F);
        if (i < n || c < forms[n - 2].least || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000))
            return 0;
        if (code)
            *code = c;
        return n;
    }
    return 0;
}

bool mfu_is_control(uint32_t c)
{
    return c < 0x20 || (c >= 0x7F && c < 0xA0) /* C0, DEL, C1 */
        || c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x2028 && c <= 0x202E)
        || (c >= 0x2066 && c <= 0x2069); /* separators and marks of direction */
}

bool mfu_has_control(const char *text)
{
    uint32_t code = 0;

    for (size_t n; *text; text += n > 0 ? n : 1, code = 0)
        if ((n = mfu_utf8_character(text, strnlen(text, 4), &code)) > 0 && mfu_is_control(code))
            return true;
    return false;
}

/* One character of `from` at `to`, as it may be shown; returns how many bytes of
 * `from` that were and adds to *n how many it has written. */
static size_t show(char *to, size_t *n, const char *from)
{
    uint32_t code = 0;
    size_t length = mfu_utf8_character(from, strnlen(from, 4), &code);

    if (length > 0 && !mfu_is_control(code)) {
        memmove(to, from, length);
        *n += length;
    } else {
        *to = code == '\t' ? ' ' : '?';
        ++*n;
    }
    return length > 0 ? length : 1;
}

const char *mfu_printable(char *buf, size_t size, const char *text)
{
    size_t n = 0;

    while (*text && n + 1 < size) {
        char one[4];
        size_t width = 0, used = show(one, &width, text);

        if (n + width >= size)
            break;
        memcpy(buf + n, one, width);
        n += width;
        text += used;
    }
    buf[n] = '\0';
    return buf;
}

char *mfu_printable_in_place(char *text)
{
    size_t n = 0;

    for (const char *from = text; *from;)
        from += show(text + n, &n, from);
    text[n] = '\0';
    return text;
}

/* ---- a stream ------------------------------------------------------------ */

#define LONGEST 24 /* bytes of a character, or of ESC [ 38;5;123 m */

struct filter {
    FILE *to;
    const enum mfu_safe *how;
    char held[LONGEST]; /* the beginning of what ends in a later write */
    size_t n_held;
    int failed; /* errno of a write that did; 0: none */
    const struct mfu_word *const *words;
    char word[MFU_WORD_MAX]; /* what may become one that is exchanged */
    size_t n_word;
    char before; /* the character in front of it */
    int gap;     /* columns that words of this cell were shorter than what they stand for; negative: longer */
};

/* ---- words that are exchanged -------------------------------------------- */

static bool is_of_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-';
}

static void drop(struct filter *f, size_t n)
{
    f->before = f->word[n - 1];
    f->n_word -= n;
    memmove(f->word, f->word + n, f->n_word);
}

/* Two blanks end a cell of a table: what follows keeps its place. */
static bool keep_place(struct filter *f, bool last)
{
    if (*f->word == '\n')
        f->gap = 0;
    if (f->gap == 0 || *f->word != ' ')
        return true;
    if (f->n_word < 2)
        return last;
    if (f->word[1] == ' ' && f->gap > 0) {
        fprintf(f->to, "%*s", f->gap, "");
        f->gap = 0;
    } else if (f->word[1] == ' ') {
        f->gap++;
        drop(f, 1);
        return keep_place(f, last);
    }
    return true;
}

/* Whether the first `n` characters that are held are somebody's name for a thing: quoted, or a part of a path. */
static bool is_named(const struct filter *f, size_t n)
{
    char next = n < f->n_word ? f->word[n] : ' ', after = n + 1 < f->n_word ? f->word[n + 1] : ' ';

    return (f->before && strchr("/'\"", f->before)) || next == '/' || (next == '.' && is_of_word(after));
}

/* Writes the first word or character that is held; false: it may go on. */
static bool let_go(struct filter *f, bool last)
{
    const struct mfu_word *found = NULL;

    if (!keep_place(f, last))
        return false;
    for (const struct mfu_word *w = *f->words; w && w->ours && !found && !is_of_word(f->before); w++) {
        size_t n = strlen(w->ours), same = n < f->n_word ? n : f->n_word;

        if (!w->theirs || memcmp(w->ours, f->word, same) != 0)
            continue;
        if (f->n_word <= n + (f->n_word > n && f->word[n] == '.') && !last)
            return false;
        if (f->n_word >= n && (f->n_word == n || !is_of_word(f->word[n])) && !is_named(f, n))
            found = w;
    }
    if (!found) {
        putc(f->word[0], f->to);
        drop(f, 1);
        return true;
    }
    fputs(found->theirs, f->to);
    f->gap += (int)strlen(found->ours) - (int)strlen(found->theirs);
    drop(f, strlen(found->ours));
    return true;
}

static void end_words(struct filter *f)
{
    while (f->n_word > 0)
        let_go(f, true);
    f->before = 0;
}

static void put_plain(struct filter *f, const char *p, size_t n)
{
    if (!f->words || !*f->words) {
        fwrite(p, 1, n, f->to);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        f->word[f->n_word++] = p[i];
        while (f->n_word > 0 && let_go(f, f->n_word == sizeof f->word))
            ;
    }
}

void mfu_words_exchange(char *text, size_t size, const struct mfu_word *words)
{
    char *exchanged = NULL;
    size_t n;
    struct filter f = {.to = words ? open_memstream(&exchanged, &n) : NULL, .words = &words};

    if (!f.to)
        return;
    put_plain(&f, text, strlen(text));
    end_words(&f);
    if (fclose(f.to) == 0)
        snprintf(text, size, "%s", exchanged);
    free(exchanged);
}

/* ---- what is safe -------------------------------------------------------- */

/* The length of a colour at `p`; 0: none; `left` + 1: it may go on. */
static size_t colour(const char *p, size_t left)
{
    size_t n = 1;

    if (left > 1 && p[1] != '[')
        return 0;
    for (n = 2; n < left && n < LONGEST - 1; n++)
        if (p[n] == 'm')
            return n + 1;
        else if (!strchr("0123456789;", p[n]))
            return 0;
    return n < LONGEST - 1 ? left + 1 : 0;
}

/* Whether the bytes can be the beginning of one character. */
static bool may_go_on(const char *p, size_t left)
{
    unsigned char lead = (unsigned char)*p;
    size_t whole = lead >= 0xF0 && lead < 0xF5 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 1;

    if (lead >= 0xF5 || left >= whole)
        return false;
    for (size_t i = 1; i < left; i++)
        if (((unsigned char)p[i] & 0xC0) != 0x80)
            return false;
    return true;
}

static void put_control(const struct filter *f, uint32_t code)
{
    if (*f->how == MFU_SAFE_JSON)
        fprintf(f->to, "\\u%04x", (unsigned)code);
    else
        putc('?', f->to);
}

/* Writes what stands at `p`; returns how many bytes that were, 0 if it is not
 * complete. */
static size_t pass(const struct filter *f, const char *p, size_t left, bool last)
{
    uint32_t code = 0;
    size_t n;

    if (*p == '\033' && *f->how == MFU_SAFE_COLOURS && (n = colour(p, left)) > 0) {
        if (n <= left)
            return fwrite(p, 1, n, f->to), n;
        if (!last)
            return 0;
    }
    n = mfu_utf8_character(p, left, &code);
    if (n == 0 && !last && may_go_on(p, left))
        return 0;
    if (n > 0 && (!mfu_is_control(code) || code == '\n' || code == '\t'))
        return fwrite(p, 1, n, f->to), n;
    put_control(f, n > 0 ? code : 0xFFFD);
    return n > 0 ? n : 1;
}

/* Whether eight bytes are ' ' to '~' each: none has its highest bit, none falls below ' ' or is DEL. */
static bool all_plain(const char *p)
{
    const uint64_t ones = 0x0101010101010101, tops = ones << 7;
    uint64_t x;

    memcpy(&x, p, sizeof x);
    return !((x | (x - ones * ' ') | (x + ones)) & tops);
}

static void pass_all(struct filter *f, const char *p, size_t size, bool last)
{
    while (size > 0) {
        /* Runs of plain text, which is nearly all of it, at once. */
        size_t plain = 0, n;

        for (size_t step = 1; step > 0 && plain < size; plain += step)
            step = plain + 8 <= size && all_plain(p + plain)               ? 8
                : (p[plain] >= ' ' && p[plain] < 0x7F) || p[plain] == '\n' ? 1
                                                                           : 0;
        put_plain(f, p, plain);
        p += plain;
        size -= plain;
        if (size == 0)
            return;
        end_words(f);
        if ((n = pass(f, p, size, last)) == 0) {
            f->n_held = size < LONGEST ? size : LONGEST;
            memcpy(f->held, p, f->n_held);
            return;
        }
        p += n;
        size -= n;
    }
}

static ssize_t filter_write(void *cookie, const char *bytes, size_t size)
{
    struct filter *f = cookie;
    size_t used = 0;

    while (f->n_held > 0 && used < size) { /* byte by byte until it is complete */
        char text[LONGEST + 1];
        size_t n = f->n_held;

        memcpy(text, f->held, n);
        text[n++] = bytes[used++];
        f->n_held = 0;
        pass_all(f, text, n, n >= LONGEST);
    }
    pass_all(f, bytes + used, size - used, false);
    if (fflush(f->to) == 0 && !ferror(f->to))
        return (ssize_t)size;
    f->failed = errno ? errno : EIO;
    return 0;
}

static int filter_close(void *cookie)
{
    struct filter *f = cookie;
    size_t n = f->n_held;
    int status;

    f->n_held = 0;
    pass_all(f, f->held, n, true);
    end_words(f);
    status = fflush(f->to);
    if (f->failed) { /* of an earlier write, that fclose() says nothing of */
        errno = f->failed;
        status = -1;
    }
    free(f);
    return status;
}

FILE *mfu_safe_stream(FILE *to, const enum mfu_safe *how, const struct mfu_word *const *words)
{
    struct filter *f = calloc(1, sizeof *f);
    FILE *out = NULL;

    if (f) {
        f->to = to;
        f->how = how;
        f->words = words;
        out = fopencookie(f, "w", (cookie_io_functions_t){.write = filter_write, .close = filter_close});
    }
    if (!out)
        free(f);
    return out;
}
