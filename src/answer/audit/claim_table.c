/*
 * claim_table.c - cells of tables as words: each is what its column's head says of it.
 *
 * A table within a text, "| GPUs | samples/s | | 1 | 310 | | 64 | 12,900 |", or a list, "GPUs / step: 64 / 8 s; 128 / 4 s",
 * is told row by row.  Where a text goes on behind it, or no row binds anything by itself, it is told from the first
 * row to another: that of which the text speaks, else the last.
 */
#include "answer/audit/audit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define COLUMNS 64
#define ROWS 64 /* in a line; of a table of lines as many as it has */

/* The next cell of a line, which is cut there; NULL behind the last. */
static char *next_cell(char **p, char between)
{
    char *cell = strsep(p, (char[]){between, '\0'});

    if (!cell)
        return NULL;
    cell += strspn(cell, " ");
    for (size_t n = strlen(cell); n > 0 && (cell[n - 1] == ' ' || cell[n - 1] == '\r'); n--)
        cell[n - 1] = '\0';
    return cell;
}

/* "MFU (%)" over "38" is "MFU 38 %". */
static void put(char *told, size_t size, const char *comma, const char *head, const char *cell)
{
    size_t n = strlen(told), name = strcspn(head, "([");
    const char *unit = head + name + (head[name] != '\0');
    bool figure = strpbrk(unit, "0123456789") != NULL; /* of its own: "file (8.03B model)" */

    if (*cell == '\0' || strcmp(cell, "-") == 0)
        return;
    if (cell[strspn(cell, "0123456789.,$~ ")] != '\0' && strspn(cell, "0123456789") == 0
        && strncmp(cell, "from ", 5) != 0) /* a name */
        snprintf(told + n, size - n, "%s%s", comma, cell);
    else if (strncmp(head, "s/", 2) == 0 || strncmp(head, "ms/", 3) == 0) /* a unit */
        snprintf(told + n, size - n, "%s%s %s", comma, cell, head);
    else
        snprintf(told + n, size - n, "%s%.*s %s%s %.*s", comma, (int)name, head, cell, figure ? "," : "",
                 (int)strcspn(unit, ")]"), unit);
}

static bool is_figure(const char *cell)
{
    return *cell && strspn(cell, "0123456789.,$~%kKMBT ") == strlen(cell) && strpbrk(cell, "0123456789");
}

/* Whether the text has the figure as a word. */
static bool speaks_of(const char *text, const char *figure)
{
    size_t n = strlen(figure);

    for (const char *p = text; (p = strstr(p, figure)); p++)
        if ((p == text || strchr(" (", p[-1])) && !strchr("0123456789.,", p[n] ? p[n] : ' '))
            return true;
    return false;
}

struct table {
    char *copy;
    const char *(*cell)[COLUMNS]; /* the first row: heads */
    int rows, columns;
    int prefix;       /* characters before it, */
    const char *rest; /* and what is said behind it */
};

static bool starts_figure(const char *cell)
{
    return strchr("0123456789$~", *cell) != NULL;
}

/* A row in each line, or between ";", cells between bars; or a line of names with commas, and those below it. */
static bool read_lines(struct table *t, const char *text)
{
    char *rest = t->copy, *bar = strchr(rest, '|'), *line, between = bar ? '|' : ',';
    bool lines = strchr(text, '\n') != NULL;

    t->rest = "";
    if (!(lines || (bar && strchr(bar, ';') && !strstr(bar, "| ;")))
        || (!bar && strcspn(text, ",") > strcspn(text, "\n")))
        return false;
    while ((line = strsep(&rest, lines ? "\n" : ";"))) {
        char *cells = line + strspn(line, " \r"), *cell;
        size_t n = strlen(cells);

        if (!strchr(line, between)) {
            if (t->rows > 0 && n > 0)
                t->rest = cells;
            continue;
        }
        if (strspn(line, "-|: \r") == n)
            continue;
        t->prefix = t->rows == 0 ? (int)(line - t->copy) : t->prefix;
        while (n > 0 && strchr("| \r", cells[n - 1]))
            cells[--n] = '\0';
        cells += *cells == between;
        for (int i = 0; i < COLUMNS && (cell = next_cell(&cells, between)); i++)
            t->cell[t->rows][i] = cell;
        for (int i = 0; t->rows == 0 && i < COLUMNS && t->cell[0][i]; i++) /* "step 1 | loss 2.3" is no head */
            if (strcspn(t->cell[0][i], "0123456789") < strcspn(t->cell[0][i], "(["))
                return false;
        for (t->rows++; t->columns < COLUMNS && t->cell[0][t->columns];)
            t->columns++;
        for (int i = 0; i < t->columns; i++) /* a row that is short */
            t->cell[t->rows - 1][i] = t->cell[t->rows - 1][i] ? t->cell[t->rows - 1][i] : "";
        for (int i = t->columns; i < COLUMNS; i++)
            t->cell[t->rows - 1][i] = NULL;
    }
    return t->rows > 1;
}

/* Cells between bars; rows end where a cell is empty or a mark, else where there are as many cells as heads. */
static bool read_bars(struct table *t, const char *text)
{
    const char *first = strchr(text, '|'), *last = strrchr(text, '|');
    char *all[ROWS * COLUMNS], *rest = t->copy, *cell;
    bool marks = false;
    int n = 0, heads = 0;

    if (!first || memchr(first, '\n', (size_t)(last - first)))
        return false;
    t->prefix = (int)(first - text);
    t->rest = last + 1 + strspn(last + 1, " .");
    if (strlen(t->rest) > 0 && strlen(t->rest) < 12 && starts_figure(t->rest)) /* the last cell */
        t->rest = "";
    else
        t->copy[last - text] = '\0';
    for (int i = 0; n < ROWS * COLUMNS && (cell = next_cell(&rest, '|')); i++) {
        bool mark = strspn(cell, "-:;> ") == strlen(cell) || strcmp(cell, "\xe2\x86\x92") == 0;

        if (mark && n > 0)
            marks = true, all[n++] = NULL;
        else if (!mark && i > 0)
            all[n++] = cell;
    }
    if (n == 0)
        return false;
    while (heads < n && all[heads] && !starts_figure(all[heads]))
        heads++;
    if (!marks && heads > 0 && n % heads != 0
        && (n + 1) % (heads + 1) == 0) { /* "Weak scaling | nodes ...": a head, too */
        t->cell[0][t->columns++] = t->copy;
        t->prefix = 0;
        heads++;
    }
    for (int i = 0; i < n; i++) {
        if (!marks && t->columns == heads)
            t->rows++, t->columns = 0;
        if (!all[i] && t->columns > 0)
            t->rows++, t->columns = 0;
        if (t->rows == ROWS || t->columns == COLUMNS)
            return false;
        if (all[i])
            t->cell[t->rows][t->columns++] = all[i];
    }
    t->rows += t->columns > 0;
    for (t->columns = 0; t->columns < COLUMNS && t->cell[1][t->columns];)
        t->columns++;
    if (marks && t->prefix > 0 && t->columns > 1 && !t->cell[0][t->columns - 1]) { /* "Quant | bits || F16 | 16" */
        memmove(&t->cell[0][1], &t->cell[0][0], (size_t)(t->columns - 1) * sizeof t->cell[0][0]);
        t->cell[0][0] = t->copy;
        t->prefix = 0;
    }
    return true;
}

/* "a / b / c" into cells of a row, or (down) of a column below its head; how many. */
static int read_slashes(struct table *t, char *from, int i, bool down)
{
    int n = 0;

    for (char *next; from && n < ROWS - 1; from = next, n++) {
        if ((next = strstr(from, " / ")))
            *next = '\0', next += 3;
        *(down ? &t->cell[n + 1][i] : &t->cell[i][n]) = next_cell(&from, '\0');
    }
    return n;
}

/* "GPUs / step: 64 / 8.1 s; 128 / 4.2 s", or "GPUs: 64 / 128; step: 8.1 s / 4.2 s". */
static bool read_lists(struct table *t, const char *text)
{
    char *rest = t->copy, *part, *colon = strchr(rest, ':'), *slash = strstr(rest, " / ");
    bool down = slash > colon;
    int n = 0, parts = 0;

    if (!colon || !slash || strchr(text, '\n'))
        return false;
    for (char *p = rest; p < (down ? colon : slash); p++)
        if (*p == '.' && p[1] == ' ')
            t->prefix = (int)(p + 2 - t->copy);
    rest += t->prefix;
    t->rest = "";
    if (!down)
        *colon = ';'; /* the heads are a row, too */
    for (; parts < ROWS - 1 && (part = next_cell(&rest, ';')); parts++) {
        int was = n;

        if (*part && part[strlen(part) - 1] == '.')
            part[strlen(part) - 1] = '\0';
        if (down && !(t->cell[0][parts] = strsep(&part, ":"), part))
            return false;
        n = read_slashes(t, part + strspn(part, " "), parts, down);
        if ((was > 0 && n != was) || n < 2)
            return false;
    }
    t->rows = down ? n + 1 : parts;
    t->columns = down ? parts : n;
    return true;
}

/* One row in words, or from the first to that row. */
static char *tell(const struct table *t, const char *text, int row, bool pair)
{
    size_t room = 8 * (strlen(text) + 1); /* of a cell: its head, itself and the first row's */
    char *told = calloc(1, room);

    if (told)
        snprintf(told, room, "%.*s", t->prefix, text);
    for (int i = 0; told && i < t->columns; i++) {
        bool two = pair && strcmp(t->cell[1][i], t->cell[row][i]) != 0;
        char both[100];

        if (two && !(is_figure(t->cell[1][i]) && is_figure(t->cell[row][i])))
            continue;
        if (two)
            snprintf(both, sizeof both, "from %s to %s", t->cell[1][i], t->cell[row][i]);
        put(told, room, i > 0 ? ", " : "", t->cell[0][i], two ? both : t->cell[row][i]);
    }
    if (told && *t->rest)
        snprintf(told + strlen(told), room - strlen(told), ", %s", t->rest);
    for (char *p = told ? strpbrk(told, "\r\n") : NULL; p; p = strpbrk(p, "\r\n"))
        *p = ' ';
    return told;
}

char *mfu_table_spell(const char *text, int row, bool pair, struct mfu_error *err)
{
    static bool (*const readers[])(struct table *, const char *) = {read_lines, read_bars, read_lists};
    struct table t = {.copy = strdup(text)};
    const char *(*cell)[COLUMNS];
    char *told = NULL;
    bool read = false, telling = false;
    size_t room = ROWS;

    for (const char *p = text; (p = strpbrk(p, "\n;")); p++)
        room++;
    cell = calloc(room, sizeof *cell);
    for (size_t i = 0; t.copy && cell && !read && i < sizeof readers / sizeof readers[0]; i++) {
        t = (struct table){.copy = strcpy(t.copy, text), .cell = memset(cell, 0, room * sizeof *cell)};
        read = readers[i](&t, text);
    }
    for (int r = 0; read && r < t.rows; r++)
        for (int i = 0; i < COLUMNS; i++)
            read &= (t.cell[r][i] != NULL) == (i < t.columns);
    if (read && t.rows > 1 && t.columns > 1 && *t.rest && row == 1) {
        int second = t.rows - 1;

        for (int i = 2; i < t.rows; i++)
            second = is_figure(t.cell[i][0]) && speaks_of(t.rest, t.cell[i][0]) ? i : second;
        telling = true;
        told = tell(&t, text, second, true);
    } else if (read && t.columns > 1 && !*t.rest && row < t.rows && row > pair) {
        telling = true;
        told = tell(&t, text, row, pair);
    }
    if (!t.copy || !cell || (telling && !told))
        mfu_fail(err, MFU_ENOMEM, "out of memory");
    free(t.copy);
    free(cell);
    return told;
}
