/*
 * shell.c - other programs at the prompt, and answers that go elsewhere.
 *
 * session->out is exchanged while one command runs; what it writes is made safe as on
 * the terminal, without colours and pages.
 */
#include "repl/shell.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "repl/output.h"

int mfu_shell_check(const struct mfu_session *s, struct mfu_error *err)
{
    if (s->shell || (s->interactive && s->depth == 0))
        return 0;
    return mfu_fail(err, MFU_EINPUT, "programs are started from the keyboard only, or with --shell");
}

static int check_status(int status, struct mfu_error *err)
{
    if (status == -1)
        return mfu_fail(err, MFU_EIO, "the shell cannot be started: %s", strerror(errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
        return mfu_fail(err, MFU_EIO, "exit status %d", WEXITSTATUS(status));
    return 0;
}

int mfu_shell_run(struct mfu_session *s, const char *line, struct mfu_error *err)
{
    void (*old)(int);
    int status;

    if (mfu_shell_check(s, err) < 0)
        return -1;
    fflush(NULL);
    old = signal(SIGPIPE, SIG_DFL); /* inherited by what is started now */
    status = system(line);          /* ignores SIGINT meanwhile */
    signal(SIGPIPE, old);
    return check_status(status, err);
}

/* Exchanges session->out for a stream that writes to `to` what is safe. */
static int divert(struct mfu_session *s, FILE *to, struct mfu_diversion *d, struct mfu_error *err)
{
    FILE *safe = mfu_safe_stream(to, &s->safe, &s->words);

    if (!safe)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    d->out = s->out;
    d->term = s->term;
    d->safe = s->safe;
    s->out = safe;
    s->term.tty = s->term.color = false;
    if (s->safe == MFU_SAFE_COLOURS)
        s->safe = MFU_SAFE_TEXT;
    return 0;
}

int mfu_divert_to_program(struct mfu_session *s, const char *line, struct mfu_diversion *d, struct mfu_error *err)
{
    void (*old)(int);

    *d = (struct mfu_diversion){0};
    if (mfu_shell_check(s, err) < 0)
        return -1;
    if (!line[strspn(line, " \t")])
        return mfu_fail(err, MFU_EINPUT, "expected a program behind '|'");
    fflush(NULL);
    old = signal(SIGPIPE, SIG_DFL); /* inherited by what is started now */
    d->program = popen(line, "w");
    signal(SIGPIPE, old);
    if (!d->program)
        return check_status(-1, err);
    if (divert(s, d->program, d, err) == 0)
        return 0;
    pclose(d->program);
    return -1;
}

int mfu_divert_to_file(struct mfu_session *s, const char *how, const char *path, struct mfu_diversion *d,
                       struct mfu_error *err)
{
    *d = (struct mfu_diversion){0};
    if (strcmp(how, ">>") == 0) {
        if (!(d->added = fopen(path, "ae")))
            return mfu_fail(err, MFU_EIO, "%.200s: %s", path, strerror(errno));
        if (divert(s, d->added, d, err) == 0)
            return 0;
        fclose(d->added);
        return -1;
    }
    if (mfu_may_replace(s, path, strcmp(how, ">!") == 0, ">> adds to it, >! replaces it", err) < 0
        || mfu_atomic_file_open(&d->atomic, path, err) < 0)
        return -1;
    if (divert(s, d->atomic.out, d, err) == 0)
        return 0;
    mfu_atomic_file_drop(&d->atomic);
    return -1;
}

int mfu_divert_end(struct mfu_session *s, struct mfu_diversion *d, int status, struct mfu_error *err)
{
    bool whole = fclose(s->out) == 0;
    int why = errno;
    void (*old)(int);

    s->out = d->out;
    s->term = d->term;
    s->safe = d->safe;
    if (d->program) {                  /* that it has read enough, or found nothing, is no failure */
        old = signal(SIGINT, SIG_IGN); /* Ctrl-C is the program's */
        if (WEXITSTATUS(pclose(d->program)) == 127 && status == 0)
            status = mfu_fail(err, MFU_EIO, "the shell found no such program");
        signal(SIGINT, old);
        return status;
    }
    if (!whole && status == 0)
        status = mfu_fail(err, MFU_EIO, "the file: %s", strerror(why));
    if (d->added) {
        if (fclose(d->added) != 0 && status == 0)
            status = mfu_fail(err, MFU_EIO, "the file: %s", strerror(errno));
    } else if (status < 0)
        mfu_atomic_file_drop(&d->atomic);
    else if ((status = mfu_atomic_file_close(&d->atomic, err)) == 0)
        mfu_has_written(s, d->atomic.real);
    return status;
}
