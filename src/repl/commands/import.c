#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "answer/fields/fields.h"
#include "answer/validate/validate.h"
#include "base/csv.h"
#include "base/quantity.h"
#include "descriptor/catalog.h"
#include "read/config/import.h"
#include "repl/assign.h"
#include "repl/command.h"
#include "repl/completers.h"
#include "repl/describe.h"
#include "repl/output.h"
#include "report/text/text.h"

/* ---- JSON ---------------------------------------------------------------- */

// clang-format off
#define ENTRY(X) \
    X(TEXT,         name,  0,         e->name,                               "in the file") \
    X(TEXT,         value, 0,         e->value,                              "in the file") \
    X(MAYBE_NUMBER, line,  MFU_COUNT, e->line > 0 ? e->line : (double)NAN,   "of the file, from 1") \
    X(MAYBE_TEXT,   key,   0,         e->key,                                "the setting that it became") \
    X(MAYBE_TEXT,   set,   0,         e->key ? e->set : NULL,                "the setting's value") \
    X(MAYBE_TEXT,   note,  0,         *e->note ? e->note : NULL,             "what to know of it")
MFU_PART_RECORD(entry, const struct mfu_entry *e, ENTRY)

static void make_entries(const struct mfu_import *m, enum mfu_fate fate, struct mfu_value *v)
{
    struct mfu_entry *list = mfu_value_own(v, (size_t)m->n, sizeof *list);
    size_t n = 0;

    for (int i = 0; list && i < m->n; i++)
        if (m->entries[i].fate == fate && m->entries[i].name[0] != '$')
            list[n++] = m->entries[i];
    v->n = n;
}

#define IMPORTED(X) \
    X(TEXT,      source,       0,      m->format->name,                     "whose configuration it is") \
    X(MADE_LIST, understood,   &entry, make_entries(m, MFU_UNDERSTOOD, v), "became settings") \
    X(MADE_LIST, assumed,      &entry, make_entries(m, MFU_ASSUMED, v), "became settings, although the file does not say so") \
    X(MADE_LIST, ignored,      &entry, make_entries(m, MFU_IGNORED, v), "makes no difference here") \
    X(MADE_LIST, not_modelled, &entry, make_entries(m, MFU_UNMODELLED, v), "makes a difference that is not predicted")
MFU_FIELDS(import, const struct mfu_import *m, IMPORTED)
static const struct mfu_record record = MFU_RECORD(import, .command = "import", .rows = "understood");
// clang-format on

/* ---- text ---------------------------------------------------------------- */

static int count(const struct mfu_import *m, enum mfu_fate fate)
{
    int n = 0;

    for (int i = 0; i < m->n; i++)
        n += m->entries[i].fate == fate && m->entries[i].name[0] != '$';
    return n;
}

/* "batch_size 8          batch 8" */
static void list_set(struct mfu_session *s, const struct mfu_import *m, enum mfu_fate fate)
{
    char safe[256];

    for (int i = 0; i < m->n; i++) {
        const struct mfu_entry *e = &m->entries[i];
        char text[300];
        int used;

        if (e->fate != fate)
            continue;
        snprintf(text, sizeof text, "%.60s %.40s", e->name, strcmp(e->name, e->key) == 0 && !e->line ? "" : e->value);
        mfu_printable(safe, sizeof safe, text);
        used = fprintf(s->out, "  %-38s %s %s", safe, e->key, e->set);
        if (*e->note) {
            fputs("  ", s->out);
            mfu_print_wrapped(s->out, &s->term, used + 2, 41, e->note);
        } else
            fputc('\n', s->out);
    }
}

/* One line per reason: "logging and files: wandb_log, out_dir". */
static void list_reasons(struct mfu_session *s, const struct mfu_import *m, enum mfu_fate fate)
{
    char *done = calloc((size_t)m->n + 1, 1), safe[256];

    s->lost |= !done;
    for (int i = 0; done && i < m->n; i++) {
        char *line = NULL;
        size_t size = 0;
        const char *note = m->entries[i].note;
        FILE *out;

        if (done[i] || m->entries[i].fate != fate || m->entries[i].name[0] == '$'
            || !(out = open_memstream(&line, &size)))
            continue;
        fprintf(out, "%s:", *note ? note : "no influence on time and memory");
        for (int k = i, first = 1; k < m->n; k++) {
            const struct mfu_entry *e = &m->entries[k];

            if (e->fate != fate || e->name[0] == '$' || strcmp(e->note, note) != 0)
                continue;
            done[k] = 1;
            fprintf(out, "%s %s", first ? "" : ",", mfu_printable(safe, sizeof safe, e->name));
            if (fate == MFU_UNMODELLED && *e->value)
                fprintf(out, " %.40s", mfu_printable(safe, sizeof safe, e->value));
            first = 0;
        }
        fclose(out);
        fputs("  ", s->out);
        mfu_print_wrapped(s->out, &s->term, 2, 4, mfu_printable_in_place(line));
        free(line);
    }
    free(done);
}

static void tell(struct mfu_session *s, const struct mfu_import *m)
{
    int understood = count(m, MFU_UNDERSTOOD), assumed = count(m, MFU_ASSUMED), ignored = count(m, MFU_IGNORED);
    int unmodelled = count(m, MFU_UNMODELLED);

    fprintf(s->out, "%s: %d understood, %d ignored, %d not modelled\n", m->title, understood, ignored, unmodelled);
    list_set(s, m, MFU_UNDERSTOOD);
    if (assumed > 0) {
        fprintf(s->out, "not in the file:\n");
        list_set(s, m, MFU_ASSUMED);
    }
    if (ignored > 0) {
        fprintf(s->out, "ignored:\n");
        list_reasons(s, m, MFU_IGNORED);
    }
    if (unmodelled > 0) {
        fprintf(s->out, "not modelled:\n");
        list_reasons(s, m, MFU_UNMODELLED);
    }
}

/* ---- a row of a table of runs ---------------------------------------------- */

static bool is_table(const char *name)
{
    size_t n = strlen(name);

    return strcmp(name, MFU_PUBLISHED_WORD) == 0 || (n > 4 && strcasecmp(name + n - 4, ".csv") == 0);
}

/* "step  measured 9.34 s, predicted 10.2 s" */
static void tell_pair(struct mfu_session *s, const char *what, double measured, double predicted, enum mfu_dim dim)
{
    char a[MFU_QUANTITY_MAX], b[MFU_QUANTITY_MAX];

    if (!isnan(measured) && !isnan(predicted))
        fprintf(s->out, "  %-10s measured %s, predicted %s: %+.0f %%\n", what, mfu_quantity_format(a, measured, dim),
                mfu_quantity_format(b, predicted, dim), 100 * (predicted / measured - 1));
}

static void tell_run(struct mfu_session *s, const struct mfu_validated *v)
{
    char safe[MFU_ASSUMED_TEXT];

    fprintf(s->out, "%s", mfu_printable(safe, sizeof safe, v->id));
    fprintf(s->out, "%s%s%s\n", *v->source ? ": " : "", mfu_printable(safe, sizeof safe, v->source),
            strlen(v->source) == sizeof v->source - 1 ? " ..." : ""); /* is cut */
    tell_pair(s, "step", v->measured_step_s, v->predicted_step_s, MFU_SECONDS);
    tell_pair(s, "allocated", v->measured_allocated_bytes, v->predicted_allocated_bytes, MFU_BYTES);
    tell_pair(s, "reserved", v->measured_reserved_bytes, v->predicted_reserved_bytes, MFU_BYTES);
    if (*v->skipped) {
        fputs("  not compared: ", s->out);
        mfu_print_wrapped(s->out, &s->term, 16, 4, mfu_printable(safe, sizeof safe, v->skipped));
    }
    if (*v->assumed) {
        fputs("  assumed: ", s->out);
        mfu_print_wrapped(s->out, &s->term, 11, 4, mfu_printable(safe, sizeof safe, v->assumed));
    }
}

static int import_run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    char buffer[MFU_PATH_MAX], gpus[32];
    const char *path = mfu_session_table(s, argv[1], buffer);
    struct mfu_measured_run run;
    struct mfu_validated v;
    struct mfu_scenario *next = &run.scenario;

    if (mfu_validate_row(s->catalog, path, argc > 2 ? argv[2] : NULL, &run, &v, err) < 0)
        return mfu_error_caret(s, err, argc > 2 ? 2 : 1);
    next->gpu_given = next->model_given = true;
    if (next->cluster == &run.machine) { /* which no file describes */
        next->cluster = mfu_catalog_cluster(s->catalog, run.machine.slug, NULL);
        snprintf(gpus, sizeof gpus, "%g", run.machine.node_gpus);
        mfu_scenario_leave_out(next, path, "gpus_per_node", gpus);
    }
    if (mfu_install(s, next, true, err) < 0)
        return -1;
    if (s->json)
        return mfu_answer(s, &mfu_record_imported_run, &v, err);
    tell_run(s, &v);
    return 0;
}

/* ---- the command ------------------------------------------------------------ */

static int import(struct mfu_session *s, struct mfu_import *m, int argc, char **argv, struct mfu_error *err)
{
    struct mfu_scenario now = s->memory.now, next = now;
    bool quiet = s->quiet;
    char buffer[MFU_PATH_MAX];
    const char *path = mfu_session_path(s, argv[1], buffer);
    int status;

    m->catalog = s->catalog;
    m->start = &now;
    if (mfu_import_read(m, path, argc > 2 ? argv[2] : NULL, err) < 0) {
        mfu_suggest_reader(s, "import", argv[1], path, err);
        mfu_session_suggest_table(argv[1], err);
        return mfu_error_caret(s, err, argc > 2 ? 2 : 1);
    }
    if (mfu_import_apply(m, &next, err) < 0)
        return -1;
    s->quiet = true; /* what changed is told once, below */
    status = mfu_install(s, &next, true, err);
    s->quiet = quiet;
    if (status < 0)
        return -1;
    if (s->json)
        return mfu_answer(s, &record, m, err);
    tell(s, m);
    return 0;
}

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    struct mfu_import *m = is_table(argv[1]) ? NULL : calloc(1, sizeof *m);
    int status = is_table(argv[1]) ? import_run(s, argc, argv, err)
        : m                        ? import(s, m, argc, argv, err)
                                   : mfu_fail(err, MFU_ENOMEM, "out of memory");

    if (m)
        mfu_import_release(m);
    free(m);
    return status;
}

/* Ids of a table, which is read when the first is asked for. */
static const char *offer_ids(struct mfu_session *s, const char *name, size_t i)
{
    struct mfu_csv *table = &s->typing.table;
    char path[MFU_PATH_MAX];

    if (i == 0 && mfu_csv_read(mfu_session_table(s, name, path), s->typing.arena, table, NULL) < 0)
        *table = (struct mfu_csv){0};
    return i < table->n_rows && *mfu_csv_get(table, i, "id") ? mfu_csv_get(table, i, "id") : NULL;
}

/* The first argument is a file, which Tab completes by itself. */
static const char *offer_second(struct mfu_session *s, size_t i)
{
    if (s->typing.argc > 1 && is_table(s->typing.argv[1]))
        return offer_ids(s, s->typing.argv[1], i);
    return i < mfu_import_format_count ? mfu_import_formats[i]->name : NULL;
}

const struct mfu_command mfu_command_import = {
    .name = "import",
    .usage = "FILE [FORMAT] | FILE.csv ID",
    .group = "describe",
    .summary = "another program's settings",
    .help = "Reads the configuration of a run from another program's file and sets what it\n"
            "says; then tells, name by name, what was understood, what was ignored since it\n"
            "changes neither time nor memory, and what is not modelled.  Which program it is\n"
            "follows from the file, or is said:\n"
            "\n"
            "    nanogpt      config/*.py of nanoGPT\n"
            "    llmc         a command line of llm.c's train_gpt2cu\n"
            "    torchtitan   a job's TOML\n"
            "    huggingface  TrainingArguments as JSON or YAML, axolotl, LLaMA-Factory\n"
            "    diffusion    diffusers' scripts, sd-scripts, SimpleTuner\n"
            "    accelerate   what `accelerate config` writes\n"
            "    deepspeed    a DeepSpeed configuration (JSON)\n"
            "    megatron     a Megatron-LM command line or script\n"
            "\n"
            "The card is never in such a file: choose it first.\n"
            "\n"
            "Of a table of measured runs, such as `validate` reads, the row of an id becomes\n"
            "the scenario, with its card, as `validate` plans it; what it assumes is told.\n"
            "The table `published` comes with mfuplan.\n"
            "\n"
            "    gpu rtx4070; import config/train_gpt2.py\n"
            "    import run.sh megatron\n"
            "    import runs.csv ID; why",
    .least_args = 1,
    .most_args = 2,
    .word = MFU_PUBLISHED_WORD,
    .offer = {mfu_offer_files, offer_second},
    .answers = MFU_ANSWERS(&record, &mfu_record_imported_run),
    .pages = true,
    .run = run,
};
