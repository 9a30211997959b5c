/*
 * transcript.c - a test, its expected output and a tutorial in one file.
 */
#include "repl/transcript.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/input_file.h"
#include "repl/output.h"

static void put_answer(FILE *out, const char *text)
{
    while (*text) {
        size_t n = strcspn(text, "\n");

        fprintf(out, "%.*s\n", n ? (int)n : 1, n ? text : ".");
        text += n + (text[n] == '\n');
    }
}

/* Runs a line and prints what it had to say, errors in their place. */
static int run(struct mfu_session *s, const char *line, struct mfu_error *err)
{
    struct mfu_error problem = {0};
    char *text = NULL;
    size_t size = 0;
    FILE *both = open_memstream(&text, &size), *out = s->out, *errors = s->errors;

    if (!both)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    s->out = s->errors = both;
    if (mfu_eval(s, line, &problem) < 0)
        mfu_complain(s, &problem);
    fclose(both);
    s->out = out;
    s->errors = errors;
    put_answer(out, text);
    fflush(out); /* in the words of this answer */
    free(text);
    return 0;
}

int mfu_transcript(struct mfu_session *s, const char *path, struct mfu_error *err)
{
    FILE *in = mfu_input_open(path, err);
    char *line = NULL;
    size_t size = 0;
    ssize_t n;
    bool answer = false; /* in the lines that are replaced */
    int status = 0;

    if (!in)
        return mfu_error_at(err, path, 0, 0);
    s->term = (struct mfu_term){.width = 80, .height = 24}; /* the same everywhere */
    while (status == 0 && !s->quit && (n = getline(&line, &size, in)) >= 0) {
        bool command = strncmp(line, "> ", 2) == 0;

        if (n > MFU_LINE_MAX) {
            status = mfu_fail(err, MFU_EINPUT, "a line is longer than %d bytes", MFU_LINE_MAX);
            break;
        }
        if (n > 0 && line[n - 1] == '\n')
            line[n - 1] = '\0';
        answer = command || (answer && line[0] != '\0');
        if (command || !answer)
            fprintf(s->out, "%s\n", line);
        if (command)
            status = run(s, line + 2, err);
    }
    free(line);
    fclose(in);
    if (status == 0 && (fflush(s->out) != 0 || ferror(s->out)))
        return mfu_fail(err, MFU_EIO, "standard output: %s", strerror(errno));
    return status;
}
