/*
 * text.h - bars, tables and paragraphs for people; for report/text_*.c.
 *
 * Everything here follows the terminal: characters (UTF-8 or ASCII), colour,
 * and width.  Colour only repeats what the text says.  When the window is
 * narrow, tables leave out columns (the largest `rank` first), bars go, and
 * paragraphs wrap.
 */
#ifndef MFU_REPORT_TEXT_H
#define MFU_REPORT_TEXT_H

#include <stdbool.h>
#include <stdio.h>

#include "report/text/term.h"

/* Columns that reports use: the window, within 40 to 120. */
int mfu_text_columns(const struct mfu_term *);

/* Columns that a UTF-8 text takes. */
int mfu_text_width(const char *);

/* Writes words, broken where the window ends and continued `indent` cells from
 * its left; `used` cells of the line are taken already.  Ends the line. */
void mfu_print_wrapped(FILE *, const struct mfu_term *, int used, int indent, const char *text);

enum mfu_style { MFU_PLAIN, MFU_STRONG, MFU_FAINT, MFU_GOOD, MFU_BAD, MFU_WARN, MFU_HUES };

/* Writes text in a style. MFU_HUES + i: one of some colours to tell things
 * apart. */
void mfu_text_put(FILE *, const struct mfu_term *, int style, const char *text);

/* "×" or "x". */
const char *mfu_text_times(const struct mfu_term *);

/* ---- bars --------------------------------------------------------------- */

/* A bar of `share` (0..1) of `cells` columns; returns how many it took. */
int mfu_text_bar(FILE *, const struct mfu_term *, double share, int cells);

/* A bar of several amounts next to each other; the mark of the i-th is what
 * its legend shows.  Beyond `limit` (0: none) the bar is drawn with '!'. */
void mfu_text_stack(FILE *, const struct mfu_term *, const double *amounts, int n, double whole, double limit,
                    int cells);
void mfu_text_mark(FILE *, const struct mfu_term *, int i);

/* ---- paragraphs --------------------------------------------------------- */

/* Pieces in a row, on a new line where they do not fit. */
struct mfu_flow {
    FILE *out;
    const struct mfu_term *term;
    int indent, column;
    bool empty;          /* nothing on this line yet */
    const char *between; /* pieces of a line: three blanks, or this */
};

/* Begins with a label in a column of `indent`. */
struct mfu_flow mfu_flow_start(FILE *, const struct mfu_term *, const char *label, int indent);

/* A piece that stays together, `between` after the one before. */
void mfu_flow_piece(struct mfu_flow *, int style, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The same with the mark of a bar in front. */
void mfu_flow_marked(struct mfu_flow *, int i, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Words, each of which may begin a line. */
void mfu_flow_words(struct mfu_flow *, int style, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Words of one style that stand alone, behind a label in a column of `indent`. */
void mfu_paragraph(FILE *, const struct mfu_term *, const char *label, int indent, int style, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

void mfu_flow_break(struct mfu_flow *); /* go on in a new line */
void mfu_flow_end(struct mfu_flow *);

/* One collective by itself. */
struct mfu_single_kernel;
void mfu_text_collective(FILE *, const struct mfu_term *, const struct mfu_single_kernel *);

/* ---- tables ------------------------------------------------------------- */

#define MFU_TABLE_COLUMNS 12
#define MFU_CELL 112

struct mfu_column {
    const char *title;
    bool left;  /* aligned; numbers are aligned to the right */
    bool bar;   /* its cells are shares, drawn as bars */
    int rank;   /* 0: always shown; the largest goes first */
    bool wraps; /* long cells go on in lines below rather than that the column goes */
};

struct mfu_table {
    const struct mfu_column *columns;
    int n_columns;
    struct mfu_table_row {
        char cell[MFU_TABLE_COLUMNS][MFU_CELL];
        double share; /* of the bar */
        bool rule;    /* a line above */
    } * rows;
    int n_rows, cap, next;         /* next: cell to be filled */
    bool failed;                   /* out of memory: what is there is printed */
    bool shown[MFU_TABLE_COLUMNS]; /* once it is printed: the columns that there was room for */
};
#define MFU_TABLE(c)                                                                                                   \
    {                                                                                                                  \
        .columns = (c), .n_columns = (int)(sizeof(c) / sizeof(c)[0])                                                   \
    }

/* Cells, parted by tabs in the format, are filled from left to right; a full row begins the next.  That of
 * a bar is a share. */
void mfu_table_cells(struct mfu_table *, const char *format, ...) __attribute__((format(printf, 2, 3)));
void mfu_table_rule(struct mfu_table *); /* above the row to come */

/* "12.3 %", with a sign if that matters; "-" where it is unknown.  Returns buf. */
const char *mfu_text_percent(char buf[16], double share, bool sign);

/* Prints a table that has rows, and gives its memory back. */
void mfu_table_print(FILE *, const struct mfu_term *, struct mfu_table *);
/* The same behind an empty line. */
void mfu_table_below(FILE *, const struct mfu_term *, struct mfu_table *);

#endif
