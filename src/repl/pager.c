/*
 * pager.c - long answers, a screen at a time.
 */
#include "repl/pager.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "repl/session.h"

static struct {
    FILE *out; /* what session->out was; NULL: not collecting */
    char *text;
    size_t size;
} pager;

static const char *program(void)
{
    const char *own = getenv("MFUPLAN_PAGER"), *any = getenv("PAGER");

    return own ? own : any && *any ? any : "less";
}

void mfu_pager_begin(struct mfu_session *s)
{
    const char *name = program(), *type = getenv("TERM");
    struct winsize size;

    if (!s->interactive || !s->term.tty || s->depth > 0 || !*name || strcmp(name, "cat") == 0 || !type
        || strcmp(type, "dumb") == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_row == 0)
        return; /* without a window size there is no page */
    pager.out = s->out;
    s->out = open_memstream(&pager.text, &pager.size);
    if (!s->out) {
        s->out = pager.out;
        pager.out = NULL;
    }
}

static int lines_of(const char *text)
{
    int n = 0;

    for (; (text = strchr(text, '\n')); text++)
        n++;
    return n;
}

/* Shows what is safe of it, or reports that it could not. */
static bool show(struct mfu_session *s, const char *text, size_t size)
{
    void (*old)(int) = signal(SIGINT, SIG_IGN); /* Ctrl-C is the pager's */
    FILE *to, *safe = NULL;
    int status;

    setenv("LESS", "FRX", 0);
    fflush(s->out);
    to = popen(program(), "w");
    if (to) {
        if ((safe = mfu_safe_stream(to, &s->safe, &s->words))) {
            fwrite(text, 1, size, safe);
            fclose(safe);
        }
        status = pclose(to);
    } else
        status = -1;
    signal(SIGINT, old);
    return status != -1 && status >> 8 != 127; /* 127: not found */
}

void mfu_pager_end(struct mfu_session *s)
{
    if (!pager.out)
        return;
    fclose(s->out);
    s->out = pager.out;
    pager.out = NULL;
    if (lines_of(pager.text) < s->term.height || !show(s, pager.text, pager.size))
        fwrite(pager.text, 1, pager.size, s->out);
    free(pager.text);
    pager.text = NULL;
}
