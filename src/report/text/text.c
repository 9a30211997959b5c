/*
 * text.c - bars, tables and paragraphs.
 */
#include "report/text/text.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/printable.h"

#define NARROWEST 40
#define WIDEST 120
#define COLUMN_GAP 2
#define SHORTEST_BAR 8
#define LONGEST_BAR 30
#define SHORTEST_NAME 14
#define SHORTEST_WRAPPED 14

int mfu_text_columns(const struct mfu_term *t)
{
    return t->width < NARROWEST ? NARROWEST : t->width > WIDEST ? WIDEST : t->width;
}

/* Ranges of characters that are not one column wide (Unicode's EastAsianWidth: W, F; general categories Mn, Me, Cf). */
static const struct {
    uint32_t first, last;
    int columns;
} widths_of[] = {
    {0x0300, 0x036F, 0},   {0x1100, 0x115F, 2},   {0x1AB0, 0x1AFF, 0},   {0x1DC0, 0x1DFF, 0},   {0x200B, 0x200F, 0},
    {0x2028, 0x202E, 0},   {0x2060, 0x206F, 0},   {0x20D0, 0x20F0, 0},   {0x2E80, 0x303E, 2},   {0x3041, 0xA4CF, 2},
    {0xA960, 0xA97C, 2},   {0xAC00, 0xD7A3, 2},   {0xF900, 0xFAFF, 2},   {0xFE00, 0xFE0F, 0},   {0xFE10, 0xFE19, 2},
    {0xFE20, 0xFE2F, 0},   {0xFE30, 0xFE6F, 2},   {0xFEFF, 0xFEFF, 0},   {0xFF00, 0xFF60, 2},   {0xFFE0, 0xFFE6, 2},
    {0x16FE0, 0x1B2FF, 2}, {0x1F300, 0x1F64F, 2}, {0x1F900, 0x1F9FF, 2}, {0x20000, 0x3FFFD, 2},
};

/* The bytes of the first character, and the columns that it takes: two where it is Chinese.  A byte that is no UTF-8
 * takes one.  The same in every locale: pictures are laid out by it, too. */
static size_t first_character(const char *text, int *columns)
{
    uint32_t code = 0;
    size_t n = mfu_utf8_character(text, strnlen(text, 4), &code);

    *columns = n == 0 || (code >= 0x20 && code < 0x7F) || code >= 0xA0;
    for (size_t i = 0; code >= widths_of[0].first && i < sizeof widths_of / sizeof widths_of[0]; i++)
        if (code >= widths_of[i].first && code <= widths_of[i].last)
            *columns = widths_of[i].columns;
    return n > 0 ? n : 1;
}

int mfu_width(const char *text, size_t bytes)
{
    int n = 0, columns;

    for (size_t i = 0; i < bytes && text[i]; n += columns)
        i += first_character(text + i, &columns);
    return n;
}

void mfu_print_wrapped(FILE *out, const struct mfu_term *term, int used, int indent, const char *text)
{
    size_t size = 2 * strlen(text) + 1;
    char *exchanged = term->words ? malloc(size) : NULL;
    int at = used;
    bool fresh = true; /* nothing stands in this line yet */

    if (exchanged) {
        mfu_words_exchange(strcpy(exchanged, text), size, term->words);
        text = exchanged;
    }

    for (const char *p = text; *p;) {
        size_t n = strcspn(p, " ");
        int width = mfu_width(p, n);

        if (!fresh && at + 1 + width >= term->width) {
            fprintf(out, "\n%*s", indent, "");
            at = indent;
            fresh = true;
        }
        at += width + !fresh;
        if (!fresh)
            putc(' ', out);
        fwrite(p, 1, n, out);
        fresh = false;
        p += n;
        p += strspn(p, " ");
    }
    putc('\n', out);
    free(exchanged);
}

int mfu_text_width(const char *text)
{
    return mfu_width(text, strlen(text));
}

void mfu_term_lose(const struct mfu_term *t)
{
    if (t->lost)
        *t->lost = true;
}

const char *mfu_text_times(const struct mfu_term *t)
{
    return t->utf8 ? "\u00d7" : "x";
}

void mfu_text_put(FILE *out, const struct mfu_term *t, int style, const char *text)
{
    static const char *const codes[MFU_HUES] = {[MFU_PLAIN] = "",  [MFU_STRONG] = "1", [MFU_FAINT] = "2",
                                                [MFU_GOOD] = "32", [MFU_BAD] = "1;31", [MFU_WARN] = "33"};
    static const char *const hues[] = {"36", "35", "34", "33", "32", "31"};
    const char *code =
        style < MFU_HUES ? codes[style] : hues[(size_t)(style - MFU_HUES) % (sizeof hues / sizeof hues[0])];

    if (t->color && *code)
        fprintf(out, "\033[%sm%s\033[0m", code, text);
    else
        fputs(text, out);
}

static void repeat(FILE *out, const char *text, int n)
{
    while (n-- > 0)
        fputs(text, out);
}

/* ---- bars --------------------------------------------------------------- */

/* Length of a bar in eighths of a column. */
static int eighths_of(const struct mfu_term *t, double share, int cells)
{
    double filled = share > 0 ? fmin(share, 1) * cells : 0;

    return t->utf8 ? (int)(filled * 8 + 0.5) : 8 * (int)(filled + 0.5);
}

int mfu_text_bar(FILE *out, const struct mfu_term *t, double share, int cells)
{
    static const char *const eighths[] = {"", "\u258f", "\u258e", "\u258d", "\u258c", "\u258b", "\u258a", "\u2589"};
    int n = eighths_of(t, share, cells);

    repeat(out, t->utf8 ? "\u2588" : "#", n / 8);
    fputs(eighths[n % 8], out);
    return n / 8 + (n % 8 > 0);
}

/* As many that differ without colours as a bar has parts. */
static const char *mark(const struct mfu_term *t, int i)
{
    static const char *const blocks[] = {"\u2588", "\u2593", "\u2592", "\u259a", "\u2584", "\u258c", "\u2591",
                                         "\u259e", "\u2580", "\u2590", "\u2599", "\u259c", "\u259f", "\u259b"};
    static const char *const ascii[] = {"#", "=", "+", "%", "o", "*", "-", "x", "@", "&", "$", "?", "~", ":"};
    enum { MARKS = sizeof ascii / sizeof ascii[0] };
    _Static_assert(sizeof blocks == sizeof ascii, "a mark has two forms");

    return (t->utf8 ? blocks : ascii)[i % MARKS];
}

void mfu_text_mark(FILE *out, const struct mfu_term *t, int i)
{
    mfu_text_put(out, t, MFU_HUES + i, mark(t, i));
}

void mfu_text_stack(FILE *out, const struct mfu_term *t, const double *amounts, int n, double whole, double limit,
                    int cells)
{
    double sum = 0;
    int at = 0;

    for (int i = 0; i < n; i++) {
        int end;

        sum += amounts[i];
        end = whole > 0 ? (int)fmin(sum / whole * cells + 0.5, cells) : 0;
        for (; at < end; at++)
            if (limit > 0 && (at + 0.5) / cells * whole > limit)
                mfu_text_put(out, t, MFU_BAD, "!");
            else
                mfu_text_mark(out, t, i);
    }
    for (; at < cells; at++)
        mfu_text_put(out, t, MFU_FAINT, t->utf8 ? "\u00b7" : ".");
}

/* ---- paragraphs --------------------------------------------------------- */

struct mfu_flow mfu_flow_start(FILE *out, const struct mfu_term *t, const char *label, int indent)
{
    struct mfu_flow f = {.out = out, .term = t, .indent = indent, .column = indent, .empty = true, .between = "   "};
    int width = mfu_text_width(label);

    mfu_text_put(out, t, MFU_STRONG, label);
    repeat(out, " ", indent - width);
    return f;
}

void mfu_flow_break(struct mfu_flow *f)
{
    if (f->empty)
        return;
    fputc('\n', f->out);
    repeat(f->out, " ", f->indent);
    f->column = f->indent;
    f->empty = true;
}

void mfu_flow_end(struct mfu_flow *f)
{
    fputc('\n', f->out);
    f->column = 0;
}

/* Moves to where something of this width can stand. */
static void make_room(struct mfu_flow *f, int width, const char *between)
{
    int gap = mfu_text_width(between);

    if (!f->empty && f->column + gap + width > mfu_text_columns(f->term))
        mfu_flow_break(f);
    if (!f->empty) {
        fputs(between, f->out);
        f->column += gap;
    }
    f->column += width;
    f->empty = false;
}

/* A number and its unit stay together: the blank after a digit is no place to
 * break a line. */
static char *next_word(char **rest)
{
    char *word = *rest + strspn(*rest, " "), *end = word + strcspn(word, " ");

    if (end > word && isdigit((unsigned char)end[-1]) && *end == ' ' && end[1] != ' ')
        end += 1 + strcspn(end + 1, " ");
    *rest = end + (*end == ' ');
    *end = '\0';
    return *word ? word : NULL;
}

static void words(struct mfu_flow *f, int style, char *text, const char *between)
{
    char *rest = text;

    for (char *word; (word = next_word(&rest)) != NULL; between = " ") {
        make_room(f, mfu_text_width(word), between);
        mfu_text_put(f->out, f->term, style, word);
    }
}

static void piece(struct mfu_flow *f, int style, int marked, const char *format, va_list args)
{
    char text[256];
    int width;

    vsnprintf(text, sizeof text, format, args);
    mfu_words_exchange(text, sizeof text, f->term->words);
    width = mfu_text_width(text) + (marked >= 0 ? 2 : 0);
    if (width > mfu_text_columns(f->term) - f->indent) {
        words(f, style, text, f->between);
        return;
    }
    make_room(f, width, f->between);
    if (marked >= 0) {
        mfu_text_mark(f->out, f->term, marked);
        fputc(' ', f->out);
    }
    mfu_text_put(f->out, f->term, style, text);
}

void mfu_flow_piece(struct mfu_flow *f, int style, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    piece(f, style, -1, format, args);
    va_end(args);
}

void mfu_flow_marked(struct mfu_flow *f, int i, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    piece(f, MFU_PLAIN, i, format, args);
    va_end(args);
}

void mfu_flow_words(struct mfu_flow *f, int style, const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    mfu_words_exchange(text, sizeof text, f->term->words);
    words(f, style, text, " ");
}

void mfu_paragraph(FILE *out, const struct mfu_term *t, const char *label, int indent, int style, const char *format,
                   ...)
{
    struct mfu_flow f = mfu_flow_start(out, t, label, indent);
    char text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    mfu_words_exchange(text, sizeof text, t->words);
    words(&f, style, text, " ");
    mfu_flow_end(&f);
}

/* ---- tables ------------------------------------------------------------- */

const char *mfu_text_percent(char buf[16], double share, bool sign)
{
    if (isfinite(share))
        snprintf(buf, 16, sign ? "%+.1f %%" : "%.1f %%", 100 * share);
    else
        snprintf(buf, 16, "-");
    return buf;
}

/* The row that is being filled, or NULL when out of memory. */
static struct mfu_table_row *row_to_fill(struct mfu_table *t)
{
    if (t->failed)
        return NULL;
    if (t->n_rows == t->cap) {
        int cap = t->cap;

        if (!MFU_ROOM(t->rows, t->n_rows + 1, t->cap)) {
            t->failed = true;
            return NULL;
        }
        memset(t->rows + cap, 0, (size_t)(t->cap - cap) * sizeof *t->rows);
    }
    return &t->rows[t->n_rows];
}

void mfu_table_cells(struct mfu_table *t, const char *format, ...)
{
    char text[MFU_TABLE_COLUMNS * MFU_CELL], *rest = text;
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (char *cell; (cell = strsep(&rest, "\t"));) {
        struct mfu_table_row *row = row_to_fill(t);

        if (!row)
            return;
        if (t->columns[t->next].bar)
            row->share = strtod(cell, NULL);
        else
            snprintf(row->cell[t->next], MFU_CELL, "%s", mfu_printable_in_place(cell));
        if (++t->next == t->n_columns) {
            t->next = 0;
            t->n_rows++;
        }
    }
}

void mfu_table_rule(struct mfu_table *t)
{
    struct mfu_table_row *row = row_to_fill(t);

    if (row)
        row->rule = true;
}

/* Widths of the columns; 0: left out. */
static void choose_widths(const struct mfu_table *t, int room, int *widths)
{
    int sum = -COLUMN_GAP, n_bars = 0, excess;

    for (int c = 0; c < t->n_columns; c++) {
        widths[c] = t->columns[c].bar ? SHORTEST_BAR : mfu_text_width(t->columns[c].title);
        for (int i = 0; i < t->n_rows && !t->columns[c].bar; i++) {
            int w = mfu_text_width(t->rows[i].cell[c]);

            if (w > widths[c])
                widths[c] = w;
        }
        sum += widths[c] + COLUMN_GAP;
    }
    if (sum > room) { /* long names are cut first, a little */
        int least = room * 35 / 100 > 24 ? room * 35 / 100 : 24;
        int width = widths[0] - (sum - room) > least ? widths[0] - (sum - room) : least;

        if (width < widths[0]) {
            sum -= widths[0] - width;
            widths[0] = width;
        }
    }
    while (sum > room) { /* then the least important columns go */
        int worst = -1;

        for (int c = 0; c < t->n_columns; c++)
            if (widths[c] && t->columns[c].rank > 0 && (worst < 0 || t->columns[c].rank > t->columns[worst].rank))
                worst = c;
        if (worst < 0)
            break;
        if (t->columns[worst].wraps && widths[worst] - (sum - room) >= SHORTEST_WRAPPED) {
            widths[worst] -= sum - room;
            return;
        }
        sum -= widths[worst] + COLUMN_GAP;
        widths[worst] = 0;
    }
    if ((excess = sum - room) > 0)
        widths[0] = widths[0] - excess < SHORTEST_NAME ? SHORTEST_NAME : widths[0] - excess;
    for (int c = 0; c < t->n_columns; c++)
        n_bars += t->columns[c].bar && widths[c];
    for (int c = 0; c < t->n_columns && room > sum; c++)
        if (t->columns[c].bar && widths[c]) {
            widths[c] += (room - sum) / n_bars;
            if (widths[c] > LONGEST_BAR)
                widths[c] = LONGEST_BAR;
        }
}

/* Writes at most `width` columns of the text, marking a cut. */
static void put_cut(FILE *out, const struct mfu_term *t, const char *text, int width)
{
    int n = 0, columns;

    if (mfu_text_width(text) <= width) {
        fputs(text, out);
        return;
    }
    for (size_t bytes; *text; text += bytes) {
        bytes = first_character(text, &columns);
        if ((n += columns) > width - 1)
            break;
        fwrite(text, 1, bytes, out);
    }
    fputs(t->utf8 ? "\u2026" : "~", out);
}

/* `row` NULL: the titles. */
static void print_row(FILE *out, const struct mfu_term *term, const struct mfu_table *t,
                      const struct mfu_table_row *row, const int *widths)
{
    int blanks = 0; /* still to be written, if anything follows */

    for (int c = 0; c < t->n_columns; c++) {
        const char *text = row ? row->cell[c] : t->columns[c].title;
        bool bar = row && t->columns[c].bar;
        int width = mfu_text_width(text), free = width < widths[c] ? widths[c] - width : 0;

        if (!widths[c])
            continue;
        if (bar ? eighths_of(term, row->share, widths[c]) > 0 : width > 0) {
            repeat(out, " ", blanks + (bar || t->columns[c].left ? 0 : free));
            if (bar)
                free = widths[c] - mfu_text_bar(out, term, row->share, widths[c]);
            else if (row)
                put_cut(out, term, text, widths[c]);
            else
                mfu_text_put(out, term, MFU_FAINT, text);
            blanks = bar || t->columns[c].left ? free : 0;
        } else {
            blanks += widths[c];
        }
        blanks += COLUMN_GAP;
    }
    fputc('\n', out);
}

/* The part of a text that fits in `width`, in bytes: whole words if there are blanks. */
static size_t fitting(const char *text, int width)
{
    size_t fits = 0, n = 0;
    int sum = 0, columns;

    if (mfu_text_width(text) <= width)
        return strlen(text);
    for (; text[n]; n += first_character(text + n, &columns), sum += columns)
        if (text[n] == ' ' && sum <= width)
            fits = n;
    return fits;
}

/* A row, and what of its long cell goes on below. */
static void print_wrapped(FILE *out, const struct mfu_term *term, const struct mfu_table *t, struct mfu_table_row row,
                          const int *widths)
{
    int c = 0;
    size_t n;

    while (c < t->n_columns && !(t->columns[c].wraps && widths[c]))
        c++;
    n = c < t->n_columns ? fitting(row.cell[c], widths[c]) : 0;
    if (n > 0 && row.cell[c][n]) {
        struct mfu_table_row below = {0};

        snprintf(below.cell[c], MFU_CELL, "%s", row.cell[c] + n + 1);
        row.cell[c][n] = '\0';
        print_row(out, term, t, &row, widths);
        print_wrapped(out, term, t, below, widths);
    } else
        print_row(out, term, t, &row, widths);
}

void mfu_table_below(FILE *out, const struct mfu_term *term, struct mfu_table *t)
{
    if (t->n_rows > 0)
        fputc('\n', out);
    mfu_table_print(out, term, t);
}

void mfu_table_print(FILE *out, const struct mfu_term *term, struct mfu_table *t)
{
    int widths[MFU_TABLE_COLUMNS] = {0}, sum = -COLUMN_GAP;
    bool titles = false;

    if (t->failed)
        mfu_term_lose(term);
    for (int i = 0; i < t->n_rows && term->words; i++)
        for (int c = 0; c < t->n_columns; c++)
            mfu_words_exchange(t->rows[i].cell[c], MFU_CELL, term->words);
    choose_widths(t, mfu_text_columns(term), widths);
    for (int c = 0; c < t->n_columns; c++) {
        titles |= t->columns[c].title[0] != '\0';
        sum += widths[c] ? widths[c] + COLUMN_GAP : 0;
        t->shown[c] = widths[c] > 0;
    }
    if (titles && t->n_rows > 0)
        print_row(out, term, t, NULL, widths);
    for (int i = 0; i < t->n_rows; i++) {
        if (t->rows[i].rule) {
            repeat(out, term->utf8 ? "\u2500" : "-", sum);
            fputc('\n', out);
        }
        print_wrapped(out, term, t, t->rows[i], widths);
    }
    free(t->rows);
    t->rows = NULL;
    t->n_rows = t->cap = t->next = 0;
}
