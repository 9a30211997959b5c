/*
 * watch.c - a run that is going on, beside its plan: its log as it grows, its GPU's meters.
 *
 * What is measured so far is handed to the same comparison as a finished log (answer/observe), again and again;
 * a symptom is told when it first shows, and all of it at the end.
 */
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "answer/fields/fields.h"
#include "answer/observe/observe.h"
#include "repl/command.h"
#include "repl/completers.h"
#include "repl/environment.h"
#include "repl/line.h"
#include "repl/local_gpu.h"
#include "repl/output.h"
#include "report/report.h"
#include "report/text/text.h"

#define MOST_SOURCES 64
#define EVERY_S 5
#define READING_S 1 /* between readings of the driver's meters */
#define MOST_PIPE (64L << 20)
#define CODES 24

struct watched {
    struct mfu_session *session;
    const char *logs[MOST_SOURCES + 1], *meters[MOST_SOURCES + 1];
    int n_logs, n_meters;
    int pipe; /* what comes through standard input is kept in this file; -1: nothing does */
    bool pipe_ended, kinds_known;
    char pipe_path[40];
    long piped;
    char paths[MOST_SOURCES][MFU_PATH_MAX];
    int n_paths;
    struct nvml *driver;
    struct mfu_log readings; /* of the driver */
    unsigned long long limits;
    off_t seen; /* bytes of all files when they were read last */
    size_t n_read;
    const char *told[CODES]; /* symptoms */
    int n_told;
    struct mfu_observation *last;
};

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- sources ---------------------------------------------------------------- */

/* Takes what has come through the pipe. */
static void drain(struct watched *w)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    char text[65536];

    while (w->pipe >= 0 && !w->pipe_ended && poll(&in, 1, 0) > 0) {
        ssize_t n = read(STDIN_FILENO, text, sizeof text);

        w->pipe_ended = n <= 0 || w->piped + n > MOST_PIPE || write(w->pipe, text, (size_t)n) != n;
        w->piped += n > 0 ? n : 0;
    }
}

static off_t bytes_of(const struct watched *w)
{
    struct stat info;
    off_t sum = 0;

    for (int i = 0; i < w->n_paths; i++)
        if (stat(w->paths[i], &info) == 0)
            sum += info.st_size;
    return sum;
}

/* Logs of steps and tables of meters, by what the files are so far: in kinds_known, whether all say it.  Fails when out
 * of memory. */
static int sort_sources(struct watched *w, struct mfu_error *err)
{
    struct mfu_log *log = malloc(sizeof *log);
    bool all = true;

    if (!log)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    mfu_error_clear(err);
    w->n_logs = w->n_meters = 0;
    for (int i = 0; i < w->n_paths && err->code != MFU_ENOMEM; i++) {
        const struct mfu_log_format *format = NULL;
        bool can = mfu_log_read(log, w->paths[i], &format, err) == 0 && log->n_records > 0;

        mfu_log_release(log);
        if (can && format->meters)
            w->meters[w->n_meters++] = w->paths[i];
        else if (can)
            w->logs[w->n_logs++] = w->paths[i];
        all &= can;
    }
    w->logs[w->n_logs] = w->meters[w->n_meters] = NULL;
    w->kinds_known = all;
    free(log);
    return err->code == MFU_ENOMEM ? -1 : 0;
}

static int add_source(struct watched *w, const char *word, struct mfu_error *err)
{
    char buffer[MFU_PATH_MAX];
    struct stat info;

    if (w->n_paths == MOST_SOURCES)
        return mfu_fail(err, MFU_EINPUT, "more than %d files", MOST_SOURCES);
    if (strcmp(word, "-") == 0) {
        if (w->session->interactive || w->pipe >= 0)
            return mfu_fail(err, MFU_EINPUT, "-: what is piped into mfuplan, once: PROGRAM | mfuplan -e 'watch -'");
        if ((w->pipe = memfd_create("watched", MFD_CLOEXEC)) < 0)
            return mfu_fail(err, MFU_EIO, "what is piped cannot be kept");
        snprintf(w->paths[w->n_paths++], MFU_PATH_MAX, "/proc/self/fd/%d", w->pipe);
        return 0;
    }
    snprintf(w->paths[w->n_paths], MFU_PATH_MAX, "%s", mfu_session_path(w->session, word, buffer));
    if (stat(w->paths[w->n_paths++], &info) < 0 || !S_ISREG(info.st_mode))
        return mfu_fail(err, MFU_EINPUT, "'%.200s' is no file", word);
    return 0;
}

static void read_driver(struct watched *w)
{
    struct mfu_gpu_meters m;
    double figures[MFU_FIGURE_COUNT];

    if (!w->driver || mfu_local_read(w->driver, &m) < 0)
        return;
    mfu_log_clear(figures);
    mfu_log_figure(figures, MFU_FIGURE_UTILIZATION, m.utilization);
    mfu_log_figure(figures, MFU_FIGURE_SMI_USED, m.memory_bytes);
    mfu_log_figure(figures, MFU_FIGURE_POWER, m.power_w);
    mfu_log_figure(figures, MFU_FIGURE_CLOCK, m.clock_hz);
    mfu_log_reading(&w->readings, figures);
    w->limits |= m.limits;
}

/* ---- comparing --------------------------------------------------------------- */

/* What the meters read, as figures are given by hand; the steady values of the log win. */
static int put_meters(const struct mfu_log *log, char *text, size_t size, struct mfu_error *err)
{
    static const struct {
        int figure;
        const char *key;
    } rows[] = {{MFU_FIGURE_UTILIZATION, "utilization"},
                {MFU_FIGURE_SM_ACTIVE, "sm_active"},
                {MFU_FIGURE_TENSOR_ACTIVE, "tensor_active"},
                {MFU_FIGURE_DRAM_ACTIVE, "dram_active"},
                {MFU_FIGURE_POWER, "power"},
                {MFU_FIGURE_SMI_USED, "memory_used"}};
    struct mfu_observation *o = calloc(1, sizeof *o);
    size_t used = strlen(text);

    if (!o)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    mfu_observe_steady(log, o);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (!isnan(o->figure[rows[i].figure]) && !strstr(text, rows[i].key) && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s %.9g ", rows[i].key, o->figure[rows[i].figure]);
    free(o);
    return 0;
}

static struct mfu_observation *compare(struct watched *w, struct mfu_error *err)
{
    struct mfu_observe_request request = {.log = w->n_logs ? w->logs[0] : NULL, .more = w->logs + (w->n_logs > 0)};
    struct mfu_log *tables = calloc((size_t)w->n_meters + 1, sizeof *tables);
    const struct mfu_log_format *format;
    struct mfu_observation *o = NULL;
    char figures[400] = "";
    int status = tables ? 0 : mfu_fail(err, MFU_ENOMEM, "out of memory");

    for (int i = 0; status == 0 && i < w->n_meters; i++)
        if (mfu_log_read(&tables[i], w->meters[i], &format, err) == 0)
            status = put_meters(&tables[i], figures, sizeof figures, err);
        else if (err->code == MFU_ENOMEM)
            status = -1;
    if (status == 0)
        status = put_meters(&w->readings, figures, sizeof figures, err);
    request.figures = *figures ? figures : NULL;
    if (status == 0 && (request.log || request.figures))
        o = mfu_observe(w->session->catalog, &w->session->memory.now, &request, err);
    else if (status == 0)
        mfu_fail(err, MFU_EINPUT, "nothing was measured");
    for (int i = 0; o && i < w->n_meters; i++)
        mfu_observe_drifts(o, &tables[i]);
    if (o)
        mfu_observe_drifts(o, &w->readings);
    for (int i = 0; tables && i < w->n_meters; i++)
        mfu_log_release(&tables[i]);
    free(tables);
    return o;
}

/* A symptom when it first shows. */
static void tell_symptoms(struct watched *w, const struct mfu_observation *o)
{
    for (int i = 0; i < o->n_findings; i++) {
        char text[640];
        bool known = false;

        for (int k = 0; k < w->n_told; k++)
            known |= strcmp(w->told[k], o->findings[i].code) == 0;
        if (known || w->n_told == CODES)
            continue;
        w->told[w->n_told++] = o->findings[i].code;
        snprintf(text, sizeof text, "%s: %s.", o->findings[i].code, o->findings[i].message);
        fputs("          ", w->session->out);
        mfu_print_wrapped(w->session->out, &w->session->term, 10, 12, text);
    }
}

/* Compares again if there is more than there was. */
static void look(struct watched *w, struct mfu_error *err)
{
    struct mfu_observation *o;
    off_t bytes = bytes_of(w);
    char stamp[16];
    time_t t = time(NULL);
    struct tm local;

    if (w->last && bytes == w->seen && w->readings.n_records == w->n_read)
        return;
    w->seen = bytes;
    w->n_read = w->readings.n_records;
    if ((!w->kinds_known && sort_sources(w, err) < 0) || !(o = compare(w, err)))
        return; /* not yet */
    mfu_observation_free(w->last);
    w->last = o;
    if (w->session->json || w->session->quiet)
        return;
    strftime(stamp, sizeof stamp, "%H:%M:%S", localtime_r(&t, &local));
    mfu_text_watched(w->session->out, &w->session->term, o, stamp);
    tell_symptoms(w, o);
    fflush(w->session->out);
}

static int summarise(struct watched *w, struct mfu_error *err)
{
    struct mfu_session *s = w->session;
    const char *limit = mfu_local_limit(w->limits);

    if (!w->last || err->code == MFU_ENOMEM)
        return -1; /* the reason is known */
    mfu_error_clear(err);
    if (s->json)
        return mfu_answer(s, &mfu_record_observe, w->last, err);
    fputc('\n', s->out);
    mfu_text_observation(s->out, &s->term, w->last);
    if (w->readings.n_records > 0 && *limit)
        fprintf(s->out, "  Note: clocks were held down by %s.\n", limit);
    return 0;
}

/* ---- the command -------------------------------------------------------------- */

static int read_words(struct watched *w, int argc, char **argv, double *every, double *until, struct mfu_error *err)
{
    for (int i = 1; i < argc; i++) {
        double *into = strcmp(argv[i], "for") == 0 ? until : strcmp(argv[i], "every") == 0 ? every : NULL;

        if (into && i + 1 < argc) {
            if (mfu_quantity_parse(argv[++i], MFU_SECONDS, into, err) < 0)
                return mfu_error_caret(w->session, err, i);
        } else if (add_source(w, argv[i], err) < 0)
            return mfu_error_caret(w->session, err, i);
    }
    return 0;
}

static int watch(struct watched *w, double every, double until_s, struct mfu_error *err)
{
    double begin = now_s(), looked = -INFINITY, read = -INFINITY;

    for (;;) {
        double at = now_s();
        bool end = mfu_line_stopping() || at - begin >= until_s || w->session->broken;

        drain(w);
        end |= w->pipe_ended && w->n_paths == 1;
        if (at - read >= fmin(READING_S, every)) {
            read_driver(w);
            read = at;
        }
        if (end || at - looked >= every) {
            look(w, err);
            /* A file that takes long to read is read less often. */
            looked = now_s() + 10 * (now_s() - at);
        }
        if (ferror(w->session->out))
            return 0; /* nobody reads any more */
        if (end)
            return summarise(w, err);
        poll(&(struct pollfd){.fd = STDIN_FILENO, .events = w->pipe >= 0 ? POLLIN : 0}, w->pipe >= 0 && !w->pipe_ended,
             100);
    }
}

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    struct watched *w = calloc(1, sizeof *w);
    struct sigaction before;
    double every = EVERY_S, until_s = INFINITY;
    int status;

    if (!w)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    w->session = s;
    w->pipe = -1;
    mfu_log_start(&w->readings, "");
    mfu_line_catch(&before);
    status = read_words(w, argc, argv, &every, &until_s, err);
    if (status == 0)
        w->driver = mfu_local_open(mfu_environment_nvml());
    if (status == 0 && w->n_paths == 0 && !w->driver)
        status =
            mfu_fail(err, MFU_EINPUT,
                     "this computer has no GPU that a driver knows: name a log that grows, or pipe nvidia-smi's or "
                     "dcgmi's table into `watch -`");
    if (status == 0)
        status = watch(w, fmax(every, 0.05), until_s, err);
    sigaction(SIGINT, &before, NULL);
    mfu_line_interrupted(); /* this Ctrl-C has done what it was for */
    mfu_local_close(w->driver);
    mfu_log_release(&w->readings);
    mfu_observation_free(w->last);
    if (w->pipe >= 0)
        close(w->pipe);
    free(w);
    return status;
}

const struct mfu_command mfu_command_watch = {
    .name = "watch",
    .usage = "[FILE ... | -] [every TIME] [for TIME]",
    .group = "look closer",
    .summary = "a job beside its plan",
    .help = "Shows what a run does beside what it should do, as it goes on: the log that it\n"
            "writes, a table of nvidia-smi or dcgmi, and the meters of this computer's GPUs\n"
            "through its driver.  Predicted figures stand in parentheses.  A symptom is told\n"
            "when it first shows, with its cause; Ctrl-C ends with a summary, as `observe`\n"
            "gives it.  `-` is what is piped into mfuplan.\n"
            "\n"
            "    watch\n"
            "    watch train.log every 10s\n"
            "    watch train.log meters.csv for 10min\n"
            "\n"
            "    dcgmi dmon -e 1001,1002,1004,1005,155 | mfuplan -e 'gpu h100; watch -'\n"
            "    nvidia-smi --query-gpu=timestamp,utilization.gpu,memory.used,power.draw \\\n"
            "        --format=csv -l 1 | mfuplan -e 'gpu h100; watch -'",
    .least_args = 0,
    .most_args = -1,
    .offer = {mfu_offer_files},
    .answers = MFU_ANSWERS(&mfu_record_observe),
    .run = run,
};
