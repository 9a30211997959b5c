/*
 * prompt.c - Readline once more, as line.c has set it up.
 */
#include "repl/prompt.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <readline/readline.h>

char *mfu_ask(const char *prompt)
{
    char *line = (fflush(NULL), readline(prompt));
    size_t n, blank = 0;

    if (!line)
        return NULL;
    for (n = strlen(line); n > 0 && isspace((unsigned char)line[n - 1]);)
        line[--n] = '\0';
    while (isspace((unsigned char)line[blank]))
        blank++;
    if (blank > 0)
        memmove(line, line + blank, n - blank + 1);
    return line;
}
