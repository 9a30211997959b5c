/*
 * main.c - options, and who is asking: keyboard, script, or -e.
 *
 *     mfuplan                     a conversation, or a script on standard input
 *     mfuplan FILE ...            scripts
 *     mfuplan -e 'CMD; CMD' ...   commands
 */
#include <errno.h>
#include <getopt.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/json_read.h"
#include "base/suggest.h"
#include "repl/command.h"
#include "repl/command_lookup.h"
#include "repl/assign.h"
#include "repl/environment.h"
#include "repl/kept.h"
#include "repl/language.h"
#include "repl/line.h"
#include "repl/program/manual.h"
#include "repl/program/mcp.h"
#include "repl/program/options.h"
#include "repl/session.h"
#include "repl/output.h"
#include "repl/transcript.h"
#include "report/json/json.h"
#include "report/words/pages.h"
#include "version.gen.h"

/* 0: all well.  1: a command failed.  2: the call was wrong.  3: a `check` was
 * not satisfied, so that `mfuplan plan.mfu && sbatch ...` works. */
enum { WELL, FAILED, MISUSED, UNMET };

/* What to run, in the order of the command line. */
struct job {
    bool command; /* of -e; else the name of a file */
    const char *text;
};

struct options {
    bool json, csv, quiet, ascii, no_color, no_calibration, shell, force;
    const char *data_dir, *transcript;
    struct job *jobs;
    int n_jobs;
};

static void add_job(struct options *o, bool command, const char *text)
{
    o->jobs[o->n_jobs++] = (struct job){command, text};
}

/* The end of what only tells: --help, --version and the like. */
static int told(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return WELL;
    if (errno != EPIPE)
        fprintf(stderr, "mfuplan: standard output: %s\n", strerror(errno));
    return FAILED;
}

static int tell_schema(void)
{
    static const struct mfu_record *const failure[] = {&mfu_record_error, NULL};
    const struct mfu_record *const **answers = calloc(mfu_command_count + 1, sizeof *answers);
    json_t *schema;
    char *text = NULL;
    int status = FAILED;

    for (size_t i = 0; answers && i < mfu_command_count; i++)
        answers[i] = mfu_commands[i]->answers;
    if (answers) {
        answers[mfu_command_count] = failure;
        schema = mfu_json_schema(answers, mfu_command_count + 1);
        text = mfu_json_dumps(schema, JSON_INDENT(1));
        json_decref(schema);
    }
    if (text) {
        fputs(text, stdout);
        status = told();
    } else
        fprintf(stderr, "mfuplan: out of memory\n");
    free(text);
    free(answers);
    return status;
}

/* Of the sources, not of the day on which they were compiled: the same bits twice. */
static void tell_version(void)
{
    puts("mfuplan " MFUPLAN_VERSION);
    if (*MFUPLAN_COMMIT)
        puts("commit " MFUPLAN_COMMIT "; models and GPUs of " MFUPLAN_DATA_DATE);
}

static int tell_completion(const char *shell)
{
    struct mfu_error err = {0};

    if (mfu_completion_write(stdout, shell))
        return told();
    mfu_fail(&err, MFU_EINPUT, "no completion is known for '%.60s'", shell);
    mfu_error_nearest(&err, shell, mfu_completion_shells, 3);
    fprintf(stderr, "mfuplan: %s; one of bash, zsh, fish\n", err.text);
    mfu_error_clear(&err);
    return MISUSED;
}

/* -1 to go on, else the exit status. */
static int read_options(int argc, char **argv, struct options *o)
{
    const char *argument;
    int option;

    while ((option = mfu_options_next(argc, argv, &argument)) != -1)
        switch (option) {
        case MFU_OPTION_COUNT: add_job(o, false, argument); break;
        case MFU_OPTION_EVAL: add_job(o, true, argument); break;
        case MFU_OPTION_QUIET: o->quiet = true; break;
        case MFU_OPTION_JSON: o->json = true; break;
        case MFU_OPTION_CSV: o->json = o->csv = true; break;
        case MFU_OPTION_SCHEMA: return tell_schema();
        case MFU_OPTION_ASCII: o->ascii = true; break;
        case MFU_OPTION_NO_CALIBRATION: o->no_calibration = true; break;
        case MFU_OPTION_SHELL: o->shell = true; break;
        case MFU_OPTION_FORCE: o->force = true; break;
        case MFU_OPTION_NO_COLOR: o->no_color = true; break;
        case MFU_OPTION_DATA_DIR: o->data_dir = argument; break;
        case MFU_OPTION_TRANSCRIPT: o->transcript = argument; break;
        case MFU_OPTION_MANUAL: mfu_manual_write(stdout); return told();
        case MFU_OPTION_COMPLETION: return tell_completion(argument);
        case MFU_OPTION_VERSION: tell_version(); return told();
        case MFU_OPTION_HELP: mfu_options_usage(stdout); return told();
        default: return MISUSED;
        }
    while (optind < argc)
        add_job(o, false, argv[optind++]); /* behind `--` */
    return -1;
}

/* ---- who is asking ------------------------------------------------------- */

/* `mfuplan plan` names a file; the command is `mfuplan -e plan`. */
static void suggest_command(struct mfu_error *err, const char *name)
{
    char text[64];

    snprintf(text, sizeof text, "mfuplan -e %.40s", name);
    mfu_error_suggest(err, text);
}

/* Stops at the first error: half a script is worse than none. */
static int run_jobs(struct mfu_session *s, const struct options *o)
{
    struct mfu_error err = {0};

    for (int i = 0; i < o->n_jobs && !s->quit; i++) {
        int status = o->jobs[i].command ? mfu_eval(s, o->jobs[i].text, &err) : mfu_run_file(s, o->jobs[i].text, &err);

        if (status < 0) {
            if (!o->jobs[i].command && access(o->jobs[i].text, F_OK) < 0 && mfu_command_find(o->jobs[i].text))
                suggest_command(&err, o->jobs[i].text);
            mfu_complain(s, &err);
            return err.code == MFU_EUNMET ? UNMET : FAILED;
        }
    }
    return WELL;
}

static void greet(struct mfu_session *s)
{
    if (s->quiet || s->json)
        return;
    fprintf(s->out, "mfuplan %s: %s on %s", MFUPLAN_VERSION, s->memory.now.model->slug, s->memory.now.gpu->slug);
    if (*s->local)
        fprintf(s->out, "; this computer has %s\n", s->local);
    else
        fprintf(s->out, "%s\n",
                s->memory.now.model_given || s->memory.now.gpu_given ? ""
                                                                     : ", since nothing else is chosen (model, gpu)");
    fprintf(s->out, "plan to begin, lesson to learn, help for more, Ctrl-D to leave\n");
}

/* What the terminal can show, and so what may be written to it. */
static void look_at_terminal(struct mfu_session *s, const struct options *o)
{
    s->term = mfu_environment_terminal(STDOUT_FILENO, o->no_color, o->ascii);
    s->term.lost = &s->lost;
    s->safe = o->json && !o->csv ? MFU_SAFE_JSON : s->term.color ? MFU_SAFE_COLOURS : MFU_SAFE_TEXT;
}

/* Names, paths and cells of tables come from elsewhere: nothing that a terminal
 * obeys reaches it, whichever command prints it. */
static int open_streams(struct mfu_session *s)
{
    static const enum mfu_safe text = MFU_SAFE_TEXT;

    s->out = mfu_safe_stream(stdout, &s->safe, &s->words);
    s->errors = mfu_safe_stream(stderr, &text, &s->words);
    if (!s->out || !s->errors)
        return -1;
    setvbuf(s->out, NULL, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, BUFSIZ);
    setvbuf(s->errors, NULL, _IONBF, 0);
    return 0;
}

static int open_session(struct mfu_session *s, const struct options *o, struct mfu_error *err)
{
    const char *named = o->data_dir ? NULL : mfu_environment_data_dir();
    char folder[MFU_PATH_MAX];
    const char *calibrations = o->no_calibration ? NULL : mfu_environment_calibrations(folder);
    const char *data = named ? named : o->data_dir;

    if (mfu_session_open(s, data, calibrations, err) == 0)
        return 0;
    return named && err->code == MFU_EIO ? mfu_within(err, "MFUPLAN_DATA_DIR") : -1;
}

/* What a conversation begins with: the GPU of this computer, what was kept, and the user's
 * own commands.  None of it is needed, and scripts have nothing of it. */
static void open_home(struct mfu_session *s)
{
    char path[MFU_PATH_MAX];
    struct mfu_error err = {0};
    bool quiet = s->quiet;
    int local;

    if (mfu_choose_local_gpu(s, &s->memory.now, &local, &err) == 0)
        snprintf(s->local, sizeof s->local, "%d x %s", local, s->memory.now.gpu->slug);
    else if (local > 0)
        mfu_warn(s, &err);
    mfu_error_clear(&err);
    if (mfu_environment_state(path, "MFUPLAN_KEPT", "kept"))
        mfu_kept_open(s, path);
    if (mfu_environment_rc(path)) {
        s->quiet = true;
        s->depth++;
        if (mfu_run_file(s, path, &err) < 0)
            mfu_complain(s, &err);
        s->depth--;
        s->quiet = quiet;
    }
    s->start = s->memory.now; /* what `reset` goes back to */
    s->memory.n_past = s->memory.n_future = 0;
}

/* Errors do not end a conversation, and do not fail it. */
static int converse(struct mfu_session *s, const struct options *o)
{
    struct mfu_error err = {0};
    char *line;

    open_home(s);
    greet(s);
    mfu_line_open(s);
    while (!s->quit && (line = mfu_line_read())) {
        look_at_terminal(s, o);
        if (mfu_eval(s, line, &err) < 0)
            mfu_complain(s, &err);
        free(line);
    }
    if (!s->quit)
        fputc('\n', isatty(STDOUT_FILENO) ? stdout : stderr); /* Ctrl-D stays at the prompt */
    mfu_line_close();
    if (mfu_line_ending()) {
        signal(mfu_line_ending(), SIG_DFL);
        raise(mfu_line_ending());
    }
    return WELL;
}

/* The terminal's characters; not LC_NUMERIC, numbers have a point.  A language
 * that is not installed (LANG=fr_FR.UTF-8 on a bare server) still says UTF-8. */
static void choose_characters(void)
{
    const char *name = getenv("LC_ALL");

    if (!name || !*name)
        name = getenv("LC_CTYPE");
    if (!name || !*name)
        name = getenv("LANG");
    if (!setlocale(LC_CTYPE, "") && name && (strcasestr(name, "UTF-8") || strcasestr(name, "utf8")))
        setlocale(LC_CTYPE, "C.UTF-8");
}

#define SMALL_BYTES ((uintptr_t)64 << 10) /* in small pages: what malloc touches before it is advised; chosen */
#define LARGE_BYTES ((uintptr_t)2 << 20)  /* of a large page of x86-64 */

/* A plan takes some megabytes: one large page costs less than the hundreds of small ones that it is otherwise asked
 * for one by one, and begins where most of them would.  What is freed stays at hand.  Behind it the heap grows by little:
 * long lists then lie apart, where they grow and go without leaving holes.  Chosen. */
static void take_large_pages(void)
{
#if defined __GLIBC__ && defined MADV_HUGEPAGE
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *begin, *first;

    sbrk((intptr_t)(-((uintptr_t)sbrk(0) + SMALL_BYTES) % LARGE_BYTES));
    begin = sbrk(0);
    mallopt(M_TOP_PAD, LARGE_BYTES + 4 * SMALL_BYTES);
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
    first = malloc(1);
    begin += -(uintptr_t)begin % page;
    if (first && (char *)sbrk(0) > begin)
        madvise(begin, (size_t)((char *)sbrk(0) - begin), MADV_HUGEPAGE);
    free(first);
    mallopt(M_TOP_PAD, 2 * SMALL_BYTES);
#endif
}

int main(int argc, char **argv)
{
    static struct mfu_session session; /* most of what is kept and undone is never touched */
    struct mfu_session *s = &session;
    struct options o = {0};
    struct mfu_error err = {0};
    int status;

    take_large_pages();
    choose_characters();
    signal(SIGPIPE, SIG_IGN);
    o.jobs = calloc((size_t)argc + 1, sizeof *o.jobs);
    if (!o.jobs) {
        fprintf(stderr, "mfuplan: out of memory\n");
        status = FAILED;
        goto done;
    }
    if ((status = read_options(argc, argv, &o)) >= 0)
        goto done;
    s->json = o.json;
    s->csv = o.csv;
    s->shell = o.shell;
    s->force = o.force;
    if (!o.json)
        mfu_translate_into(mfu_page_language(mfu_environment_locale(), (char[3]){0}));
    s->quiet = o.quiet;
    look_at_terminal(s, &o);
    if (open_streams(s) < 0) {
        fprintf(stderr, "mfuplan: out of memory\n");
        status = FAILED;
        goto done;
    }
    if (open_session(s, &o, &err) < 0) {
        mfu_complain(s, &err);
        status = o.data_dir && err.code == MFU_EIO ? MISUSED : FAILED; /* --data-dir names no such folder */
        goto done;
    }
    mfu_warn_calibration(s);
    if (o.transcript) {
        if ((status = mfu_transcript(s, o.transcript, &err) < 0 ? FAILED : WELL))
            mfu_complain(s, &err);
        goto done;
    }
    if (o.n_jobs == 1 && !o.jobs[0].command && strcmp(o.jobs[0].text, "mcp") == 0) {
        if ((status = mfu_mcp_serve(s, stdin, stdout, &err) < 0 ? FAILED : WELL))
            mfu_complain(s, &err);
        goto done;
    }
    s->interactive = o.n_jobs == 0 && isatty(STDIN_FILENO);
    if (o.n_jobs == 0)
        add_job(&o, false, "-");
    status = s->interactive ? converse(s, &o) : run_jobs(s, &o);

done:
    mfu_session_close(s);
    if (s->out)
        fclose(s->out);
    if (s->errors)
        fclose(s->errors);
    free(o.jobs);
    return status;
}
