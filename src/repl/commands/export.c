#include <stdio.h>
#include <string.h>

#include "report/json/json.h"
#include "answer/fields/fields.h"
#include "base/atomic_file.h"
#include "repl/command.h"
#include "repl/completers.h"
#include "repl/output.h"

/* One line: every setting as it was resolved, and the name it is kept under. */
static int put(FILE *out, const struct mfu_scenario *scenario, const char *name, struct mfu_error *err)
{
    struct mfu_config config;
    json_t *o;
    int failed;

    if (mfu_scenario_resolve(scenario, &config, err) < 0)
        return -1;
    o = mfu_json(&mfu_record_scenario, &config);
    failed = !o || (*name && json_object_set_new(o, "id", mfu_json_text(name)) < 0)
        || json_object_set_new(o, "written_by", json_string("mfuplan")) < 0
        || json_dumpf(o, out, JSON_COMPACT | JSON_REAL_PRECISION(15)) < 0 || fputc('\n', out) == EOF;
    json_decref(o);
    return failed && !ferror(out) ? mfu_fail(err, MFU_ENOMEM, "out of memory") : 0;
}

/* What is kept, and the scenario of the session unless it is one of them. */
static int put_all(struct mfu_session *s, FILE *out, int *count, struct mfu_error *err)
{
    const struct mfu_memory *m = &s->memory;
    bool there = false;

    *count = 0;
    for (int i = 0; i < m->n_kept; i++) {
        if (put(out, &m->kept[i].scenario, m->kept[i].name, err) < 0)
            return -1;
        there = there || memcmp(&m->kept[i].scenario, &m->now, sizeof m->now) == 0;
        ++*count;
    }
    if (there)
        return 0;
    ++*count;
    return put(out, &m->now, "", err);
}

struct exported {
    const char *file;
    int count;
};
// clang-format off
#define EXPORTED(X) \
    X(TEXT,   file,      0,         x->file,  "that was written") \
    X(NUMBER, scenarios, MFU_COUNT, x->count, "in it, one on a line")
MFU_FIELDS(export, const struct exported *x, EXPORTED)
static const struct mfu_record record = MFU_RECORD(export, .command = "export");
// clang-format on

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    struct mfu_atomic_file file;
    int count;

    (void)argc;
    if (strcmp(argv[1], "scenarios") != 0)
        return mfu_fail_word(s, err, 1, "'%s': expected scenarios", argv[1]);
    if (mfu_may_replace(s, argv[2], false, MFU_FORCE, err) < 0 || mfu_atomic_file_open(&file, argv[2], err) < 0)
        return mfu_error_caret(s, err, 2);
    if (put_all(s, file.out, &count, err) < 0) {
        mfu_atomic_file_drop(&file);
        return -1;
    }
    if (mfu_atomic_file_close(&file, err) < 0)
        return mfu_error_caret(s, err, 2);
    if (!s->json) {
        mfu_print_note(s, "wrote %s: %d scenario%s", argv[2], count, count == 1 ? "" : "s");
        return 0;
    }
    return mfu_answer(s, &record, &(struct exported){argv[2], count}, err);
}

const struct mfu_command mfu_command_export = {
    .name = "export",
    .usage = "scenarios FILE [--force]",
    .group = "session",
    .summary = "scenarios to measure",
    .help = "Writes the scenario and all that are kept, a JSON object of every setting on\n"
            "each line.  calibrate/torch_measure.py trains them with PyTorch on a GPU and\n"
            "writes the table that `validate` and `calibrate from` read.\n"
            "\n"
            "    keep small; set batch 16; keep large; export scenarios runs.jsonl",
    .writes = true,
    .least_args = 2,
    .most_args = 2,
    .word = "scenarios",
    .offer = {NULL, mfu_offer_files},
    .answers = MFU_ANSWERS(&record),
    .run = run,
};
