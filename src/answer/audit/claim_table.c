/*
 * claim_table.c - cells of tables as words: each is what its column's head says of it.
 *
 * A table within a text, "| GPUs | samples/s | | 1 | 310 | | 64 | 12,900 |", is told as a sentence: of one row what
 * each column has, of several from what to what; the second is that of which the text speaks, else the last.
 */
#include "answer/audit/audit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS 12
#define ROWS 24

char *mfu_table_cell(char **p, char between)
{
    char *cell = strsep(p, (char[]){between, '\0'});

    if (!cell)
        return NULL;
    cell += strspn(cell, " ");
    for (size_t n = strlen(cell); n > 0 && (cell[n - 1] == ' ' || cell[n - 1] == '\r'); n--)
        cell[n - 1] = '\0';
    return cell;
}

void mfu_table_put(char *claim, size_t size, const char *head, const char *cell)
{
    size_t n = strlen(claim), name = strcspn(head, "([");
    const char *unit = head + name + (head[name] != '\0');

    if (*cell == '\0' || strcmp(cell, "-") == 0)
        return;
    if (cell[strspn(cell, "0123456789.,$~ ")] != '\0' && strspn(cell, "0123456789") == 0
        && strncmp(cell, "from ", 5) != 0) /* a name */
        snprintf(claim + n, size - n, "%s%s", n > 0 ? ", " : "", cell);
    else if (strncmp(head, "s/", 2) == 0 || strncmp(head, "ms/", 3) == 0) /* a unit */
        snprintf(claim + n, size - n, "%s%s %s", n > 0 ? ", " : "", cell, head);
    else
        snprintf(claim + n, size - n, "%s%.*s %s %.*s", n > 0 ? ", " : "", (int)name, head, cell,
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

char *mfu_table_spell(const char *text)
{
    const char *first = strchr(text, '|'), *end = strrchr(text, '|');
    size_t longest = strlen(text) + 1, room = 8 * longest;
    char *copy = strdup(text), *told = calloc(1, room), *rest = copy, *cell;
    char *cells[ROWS][COLUMNS] = {{NULL}};
    int n[ROWS] = {0}, rows = 0, second;

    if (!first || !copy || !told || memchr(first, '\n', (size_t)(end - first)))
        goto none;
    copy[end - text] = '\0';
    rest = copy + (first - text) + 1;
    while ((cell = mfu_table_cell(&rest, '|')) && rows < ROWS) {
        if (*cell == '\0')
            rows += n[rows] > 0;
        else if (strspn(cell, "-: ") != strlen(cell) && n[rows] < COLUMNS)
            cells[rows][n[rows]++] = cell;
    }
    rows += rows < ROWS && n[rows] > 0;
    for (int i = 0; i < rows; i++)
        if (n[i] != n[0] || n[0] < 2 || rows < 2)
            goto none;
    second = rows - 1;
    for (int i = 2; i < rows; i++)
        second = is_figure(cells[i][0]) && speaks_of(end + 1, cells[i][0]) ? i : second;
    snprintf(told, room, "%.*s", (int)(first - text), text);
    for (int i = 0; i < n[0]; i++) {
        char claim[400] = "", pair[200];
        bool two = second > 1 && strcmp(cells[1][i], cells[second][i]) != 0;

        if (two && !(is_figure(cells[1][i]) && is_figure(cells[second][i])))
            continue;
        snprintf(pair, sizeof pair, "from %s to %s", cells[1][i], cells[second][i]);
        mfu_table_put(claim, sizeof claim, cells[0][i], two ? pair : cells[1][i]);
        if (strlen(told) + strlen(claim) + 3 < room)
            strcat(strcat(told, i > 0 ? ", " : ""), claim);
    }
    if (strlen(told) + strlen(end) + 2 < room)
        strcat(strcat(told, end[1] ? "," : ""), end + 1);
    free(copy);
    return told;
none:
    free(copy);
    free(told);
    return NULL;
}
