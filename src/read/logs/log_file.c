/*
 * log_file.c - the walk through a file: which format it is, and its lines one
 * by one.
 */
#include "read/logs/log_format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/input_file.h"

#define LARGEST (256L << 20)        /* bytes that are read */
#define LONGEST 65536               /* of a line */
#define LARGEST_BY_HAND (32L << 20) /* of pairs, which take longer */

struct lines {
    FILE *in;
    char *text;      /* of LONGEST bytes */
    long read, most; /* bytes */
    int line;
    size_t long_lines;
    bool truncated, binary;
};

/* Leaves out colours and what a progress bar has written over. */
static void clean(char *text)
{
    const char *from = text;
    char *to = text;

    while (*from) {
        if (*from == '\r') {
            if (from[1])
                to = text;
            from++;
        } else if (*from == 27) {
            from++;
            if (*from == '[') {
                from++;
                from += strspn(from, "0123456789;?");
                from += *from != '\0';
            }
        } else
            *to++ = *from++;
    }
    *to = '\0';
}

/* The next line, or NULL at the end. */
static const char *next_line(struct lines *l)
{
    size_t n = 0;
    bool skip = false;
    int c;

    while ((c = getc_unlocked(l->in)) != EOF) {
        if (++l->read > l->most) {
            l->truncated = true;
            return NULL;
        }
        if (c == '\0') {
            l->binary = true;
            return NULL;
        }
        if (c == '\n')
            break;
        if (n + 1 < LONGEST)
            l->text[n++] = (char)c;
        else
            skip = true;
    }
    if (c == EOF && n == 0)
        return NULL;
    l->line++;
    if (skip) {
        l->long_lines++;
        n = 0;
    }
    l->text[n] = '\0';
    clean(l->text);
    return l->text;
}

static int open_lines(struct lines *l, const char *path, struct mfu_error *err)
{
    *l = (struct lines){.most = LARGEST};
    if (!(l->in = mfu_input_open(path, err)))
        return mfu_within(err, "%.200s", path);
    if ((l->text = malloc(LONGEST)))
        return 0;
    fclose(l->in);
    return mfu_fail(err, MFU_ENOMEM, "out of memory");
}

static void close_lines(struct lines *l)
{
    fclose(l->in);
    free(l->text);
}

/* What lines look like, for those who have others. */
static int unknown(const char *path, const struct lines *l, struct mfu_error *err)
{
    char known[360] = "";
    size_t used = 0;

    if (l->binary)
        return mfu_fail(err, MFU_EINPUT, "%.200s: not a text file", path);
    if (l->line == 0)
        return mfu_fail(err, MFU_EINPUT, "%.200s: the file is empty", path);
    for (size_t i = 0; i < mfu_log_format_count && used < sizeof known; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", mfu_log_formats[i]->title);
    return mfu_fail(err, MFU_EINPUT, "%.200s: no line is a training step of a format that is known (%s)", path, known);
}

/* The format whose steps stand in the file: pairs by hand only if no other's. */
static const struct mfu_log_format *recognise(struct lines *l, struct mfu_log *by_hand)
{
    const struct mfu_log_format *fallback = NULL;
    const double *figure = by_hand->loose.figure;
    const char *line;

    while ((line = next_line(l)))
        for (size_t i = 0; i < mfu_log_format_count; i++) {
            const struct mfu_log_format *f = mfu_log_formats[i];

            if (!f->fallback) {
                if (f->recognise && f->recognise(line))
                    return f;
            } else if (!fallback && l->read < LARGEST_BY_HAND) {
                mfu_log_pairs(by_hand, line, false, NULL);
                if (by_hand->n_records > 0 || !isnan(figure[MFU_FIGURE_TIME]) || !isnan(figure[MFU_FIGURE_TOKENS_PER_S])
                    || !isnan(figure[MFU_FIGURE_MFU]))
                    fallback = f;
            }
        }
    return fallback;
}

/* What is left to do once all of a file is read. */
static int finish(struct mfu_log *log, const struct mfu_log_format *format, struct mfu_error *err)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): what was read has a format */
    if (format->finish)
        format->finish(log);
    mfu_log_settle(log);
    if (log->failed)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    if (!log->contradiction[0])
        return 0;
    return mfu_fail_at(err, log->path, log->contradiction_line, 0, "%s", log->contradiction);
}

/* The format of a file that is no text. */
static const struct mfu_log_format *recognise_bytes(FILE *in)
{
    unsigned char head[32];
    size_t n = fread(head, 1, sizeof head, in);

    rewind(in);
    for (size_t i = 0; i < mfu_log_format_count; i++)
        if (mfu_log_formats[i]->recognise_bytes && mfu_log_formats[i]->recognise_bytes((struct mfu_bytes){head, n}))
            return mfu_log_formats[i];
    return NULL;
}

static int read_bytes(struct mfu_log *log, const struct mfu_log_format *format, FILE *in, struct mfu_error *err)
{
    unsigned char *all = NULL, *more;
    size_t n = 0, room = 0, got = 1;

    while (got > 0 && n < LARGEST) {
        if (n == room) {
            room = room ? 2 * room : 1 << 16;
            if (!(more = realloc(all, room))) {
                free(all);
                return mfu_fail(err, MFU_ENOMEM, "out of memory");
            }
            all = more;
        }
        n += got = fread(all + n, 1, room - n, in);
    }
    log->truncated = got > 0;
    format->read_bytes(log, (struct mfu_bytes){all, n});
    free(all);
    return 0;
}

int mfu_log_read(struct mfu_log *log, const char *path, const struct mfu_log_format **format, struct mfu_error *err)
{
    struct lines l;
    const char *line;
    int status = 0;

    mfu_log_start(log, path);
    if (open_lines(&l, path, err) < 0)
        return -1;
    if ((*format = recognise_bytes(l.in))) {
        status = read_bytes(log, *format, l.in, err);
        close_lines(&l);
        return status < 0 ? -1 : finish(log, *format, err);
    }
    *format = recognise(&l, log);
    if (!*format && log->failed)
        status = mfu_fail(err, MFU_ENOMEM, "out of memory");
    mfu_log_release(log);
    mfu_log_start(log, path);
    if (status == 0 && (!*format || l.binary))
        status = unknown(path, &l, err);
    rewind(l.in);
    l.read = l.line = 0;
    l.long_lines = 0;
    l.truncated = false;
    if (*format && (*format)->fallback)
        l.most = LARGEST_BY_HAND;
    while (status == 0 && (line = next_line(&l))) {
        log->line = l.line;
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a file of no known format ends in unknown() */
        (*format)->read(log, line);
    }
    if (status == 0 && l.binary)
        status = mfu_fail(err, MFU_EINPUT, "%.200s: not a text file (a zero byte after line %d)", path, l.line);
    if (status == 0)
        status = finish(log, *format, err);
    log->long_lines = l.long_lines;
    log->truncated = l.truncated;
    close_lines(&l);
    return status;
}

int mfu_log_read_config(struct mfu_log *log, const char *path, struct mfu_error *err)
{
    struct lines l;
    const char *line;
    int status = 0;

    mfu_log_start(log, path);
    if (open_lines(&l, path, err) < 0)
        return -1;
    while ((line = next_line(&l)) && l.line <= 10000) {
        log->line = l.line;
        if (line[0] != '#' && line[0] != ' ' && line[0] != '\t')
            mfu_log_assignment(log, line);
    }
    if (l.binary)
        status = mfu_fail(err, MFU_EINPUT, "%.200s: not a text file", path);
    else if (log->n_settings == 0)
        status = mfu_fail(err, MFU_EINPUT, "%.200s: no setting such as 'batch_size = 12' stands in it", path);
    close_lines(&l);
    return status;
}
