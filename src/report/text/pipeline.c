/* pipeline.c - a step of a pipeline drawn with characters. */
#include "report/text/pipeline.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/quantity.h"
#include "report/text/text.h"
#include "simulate/pipeline.h"
#include "base/short.h"

#define MOST_COLUMNS 400
#define LEAST_COLUMNS 4

/* As PyTorch calls them: I is the input's part of B. */
static const char letters[MFU_PASS_COUNT] = {
    [MFU_PASS_F] = 'F', [MFU_PASS_BW] = 'B', [MFU_PASS_B] = 'I', [MFU_PASS_W] = 'W', [MFU_PASS_FBW] = 'X'};

/* What a column shows: the event that covers most of it. */
struct cell {
    int event; /* of the step; -1: idle */
    double most_s, covered_s;
};

static void cover(struct cell *cells, int n, double cell_s, double from_s, const struct mfu_pipeline_event *e,
                  int number)
{
    double start = (e->start_s - from_s) / cell_s, end = (e->end_s - from_s) / cell_s;

    for (int x = start > 0 ? (int)start : 0; x < n && x < end; x++) {
        double s = (fmin(end, x + 1) - fmax(start, x)) * cell_s;

        cells[x].covered_s += s;
        if (s > cells[x].most_s * (1 + 1e-9)) {
            cells[x].most_s = s;
            cells[x].event = number;
        }
    }
}

static char letter_of(const struct mfu_pipeline_event *e)
{
    char letter = letters[e->pass];

    return e->chunk % 2 ? (char)tolower((unsigned char)letter) : letter;
}

/* A block of `length` columns: "F12-". */
static void put_block(FILE *out, const struct mfu_term *t, const struct mfu_pipeline_event *e, int length)
{
    char text[MOST_COLUMNS + 16], number[16];
    int digits = snprintf(number, sizeof number, "%d", e->microbatch + 1);

    memset(text, '-', (size_t)length);
    text[0] = letter_of(e);
    if (digits < length)
        memcpy(text + 1, number, (size_t)digits);
    text[length] = '\0';
    mfu_text_put(out, t, MFU_HUES + (int)e->pass, text);
}

static void put_row(FILE *out, const struct mfu_term *t, const struct mfu_pipeline_step *step, const struct cell *cells,
                    int n)
{
    for (int x = 0, length; x < n; x += length) {
        for (length = 1; x + length < n && cells[x + length].event == cells[x].event; length++)
            ;
        if (cells[x].event >= 0)
            put_block(out, t, &step->events[cells[x].event], length);
        for (int i = 0; i < length && cells[x].event < 0; i++)
            mfu_text_put(out, t, MFU_FAINT, t->utf8 ? "\u00b7" : ".");
    }
    fputc('\n', out);
}

static void put_words(FILE *out, const struct mfu_term *t, const struct mfu_pipeline_step *step, double cell_s,
                      const bool *seen)
{
    struct mfu_flow f = mfu_flow_start(out, t, "", 0);

    for (int pass = 0; pass < MFU_PASS_COUNT; pass++)
        if (seen[pass])
            mfu_flow_piece(&f, MFU_HUES + pass, "%c %s", letters[pass], mfu_pass_names[pass]);
    if (step->n_chunks > 1)
        mfu_flow_piece(&f, MFU_PLAIN, "small letters: odd chunks");
    mfu_flow_piece(&f, MFU_FAINT, "%s idle, %s", t->utf8 ? "\u00b7" : ".",
                   mfu_percent_format((char[16]){0}, step->bubble));
    mfu_flow_piece(&f, MFU_PLAIN, "a column: %s", Q(cell_s, MFU_SECONDS));
    mfu_flow_end(&f);
}

void mfu_text_pipeline(FILE *out, const struct mfu_term *t, const struct mfu_pipeline_step *step, double from_s,
                       double to_s, int columns)
{
    struct cell cells[MOST_COLUMNS];
    bool seen[MFU_PASS_COUNT] = {false};
    int label = snprintf(NULL, 0, "stage %d ", step->n_ranks), n = columns - label - 1;
    double cell_s;

    n = n < LEAST_COLUMNS ? LEAST_COLUMNS : n > MOST_COLUMNS ? MOST_COLUMNS : n;
    cell_s = (to_s - from_s) / n;
    if (!(cell_s > 0))
        return;
    for (int rank = 0; rank < step->n_ranks; rank++) {
        for (int x = 0; x < n; x++)
            cells[x] = (struct cell){.event = -1};
        for (size_t i = 0; i < step->n_events; i++) {
            const struct mfu_pipeline_event *e = &step->events[i];

            if (e->rank != rank || e->end_s <= from_s || e->start_s >= to_s)
                continue;
            cover(cells, n, cell_s, from_s, e, (int)i);
            seen[e->pass] = true;
        }
        for (int x = 0; x < n; x++)
            if (cell_s - cells[x].covered_s > cells[x].most_s)
                cells[x].event = -1;
        fprintf(out, "stage %-*d%s", label - 6, rank + 1, t->utf8 ? "\u2502" : "|");
        put_row(out, t, step, cells, n);
    }
    put_words(out, t, step, cell_s, seen);
}
