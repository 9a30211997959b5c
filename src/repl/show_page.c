/*
 * show_page.c - texts in paragraphs, as wide as the window.
 */
#include "repl/show_page.h"

#include <stdlib.h>
#include <string.h>

#include "report/text/text.h"

#define WIDEST 88 /* cells: longer lines are hard to read */

void mfu_subject_of_session(struct mfu_session *s, struct mfu_subject *subject, struct mfu_error *problem)
{
    mfu_error_clear(problem);
    mfu_subject_change(subject, &s->memory.now, mfu_session_plan(s, problem) == 0 ? &s->plan : NULL);
    s->lost |= problem->code == MFU_ENOMEM;
}

/* Whether a line goes on with the paragraph before. */
static bool goes_on(const char *line)
{
    return *line && *line != '\n' && strncmp(line, "    ", 4) != 0 && strncmp(line, "- ", 2) != 0;
}

/* Lines up to the end of the paragraph, joined with blanks. */
static char *paragraph(const char **text)
{
    size_t size = strlen(*text) + 1, n = 0;
    char *joined = malloc(size);
    const char *p = *text;

    while (joined) {
        size_t length = strcspn(p, "\n");

        p += strspn(p, " ") < length ? strspn(p, " ") : 0;
        length = strcspn(p, "\n");
        memcpy(joined + n, p, length);
        n += length;
        p += length + (p[length] == '\n');
        if (!goes_on(p))
            break;
        joined[n++] = ' ';
    }
    if (joined)
        joined[n] = '\0';
    *text = p;
    return joined;
}

void mfu_plain_blanks(char *text)
{
    char *to = text;

    for (; *text; *to++ = *text++)
        if (strncmp(text, MFU_NO_BREAK, strlen(MFU_NO_BREAK)) == 0)
            *(text += strlen(MFU_NO_BREAK) - 1) = ' ';
    *to = '\0';
}

static void put(FILE *out, const struct mfu_term *term, const char *text)
{
    while (*text) {
        char *joined;

        if (*text == '\n' || strncmp(text, "    ", 4) == 0) {
            size_t n = strcspn(text, "\n");

            fprintf(out, "%.*s\n", (int)n, text);
            text += n + (text[n] == '\n');
            continue;
        }
        if (!(joined = paragraph(&text))) {
            mfu_term_lose(term);
            return;
        }
        mfu_print_wrapped(out, term, 0, strncmp(joined, "- ", 2) == 0 ? 2 : 0, joined);
        free(joined);
    }
}

void mfu_put_page(FILE *out, const struct mfu_term *term, const char *text)
{
    struct mfu_term page = *term;
    char *broken = NULL;
    size_t size = 0;
    FILE *lines = open_memstream(&broken, &size);

    if (!lines) {
        mfu_term_lose(term);
        return;
    }
    if (page.width > WIDEST)
        page.width = WIDEST;
    put(lines, &page, text);
    if (fclose(lines) != 0) {
        mfu_term_lose(term);
        free(broken);
        return;
    }
    mfu_plain_blanks(broken); /* once the lines are broken */
    fputs(broken, out);
    free(broken);
}
