#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "answer/audit/audit.h"
#include "answer/fields/fields.h"
#include "base/error.h"
#include "base/input_file.h"
#include "repl/command.h"
#include "repl/completers.h"
#include "repl/output.h"
#include "report/report.h"

#define TEXT 65536 /* bytes of a file */

static int read_file(const char *path, char *text, struct mfu_error *err)
{
    FILE *in = mfu_input_open(path, err);
    size_t n;

    if (!in)
        return mfu_within(err, "%.200s", path);
    n = fread(text, 1, TEXT - 1, in);
    fclose(in);
    if (n == TEXT - 1)
        return mfu_fail(err, MFU_EINPUT, "more than %d bytes", TEXT - 2);
    text[n] = '\0';
    return 0;
}

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    char path[MFU_PATH_MAX], *text = calloc(1, TEXT);
    const char *file = mfu_session_path(s, argv[1], path);
    struct mfu_audits *a = NULL;
    struct stat st;
    int status = 0;
    size_t n = 0;

    if (!text)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    if (argc == 2 && stat(file, &st) == 0)
        status = read_file(file, text, err);
    else
        for (int i = 1; i < argc && n < TEXT; i++)
            n += (size_t)snprintf(text + n, TEXT - n, "%s%s", i > 1 ? " " : "", argv[i]);
    if (status == 0 && (a = mfu_audit(s->catalog, &s->memory.now, text, err)) && !s->json)
        mfu_text_audits(s->out, &s->term, a);
    else if (a)
        status = mfu_answer(s, &mfu_record_audit, a, err);
    free(text);
    if (!a)
        return mfu_error_caret(s, err, 1);
    mfu_audits_free(a);
    return status;
}

const struct mfu_command mfu_command_audit = {
    .name = "audit",
    .usage = "\"CLAIM\" | FILE",
    .group = "look closer",
    .summary = "a claim, taken apart",
    .help = "Takes a claim in words and figures apart: which identities bind its figures,\n"
            "what cannot be true together, and what would have to be true instead.  A figure\n"
            "may be off by its last printed digit.  Cards and models of the catalog bring\n"
            "theirs; what is not said to change does not, and one GPU is assumed where none\n"
            "is counted.  A figure that may mean several things (FLOPs, or tokens/s of one\n"
            "GPU or of all) means what can be.  What was not understood is listed.  A file\n"
            "has one claim, or a table (CSV or Markdown) with a line of names: each of its\n"
            "rows is audited.\n"
            "\n"
            "    audit \"MFU 20 -> 38 %, 4x faster, same model on H100\"\n"
            "    audit \"gpt2 on an RTX 4070: 56.1k tokens/s, MFU 15.4 %\"\n"
            "    audit table.csv",
    .least_args = 1,
    .most_args = -1,
    .compares = "always",
    .offer = {mfu_offer_files, mfu_offer_files},
    .answers = MFU_ANSWERS(&mfu_record_audit),
    .pages = true,
    .run = run,
};
