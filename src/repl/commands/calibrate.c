#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "answer/fit/calibrate.h"
#include "answer/fit/narrow.h"
#include "base/arena.h"
#include "repl/command.h"
#include "repl/completers.h"
#include "repl/pager.h"
#include "repl/run_calibrate.h"
#include "repl/output.h"
#include "report/report.h"
#include "answer/fields/fields.h"

/* ---- the GPU's calibration in this session -------------------------------- */

static void exchange(struct mfu_scenario *s, const char *slug, const struct mfu_gpu *gpu)
{
    if (s->gpu && strcmp(s->gpu->slug, slug) == 0)
        s->gpu = gpu;
}

/* The GPU again, now that its calibrations have changed. */
static int take_over(struct mfu_session *s, const struct mfu_gpu *old, struct mfu_error *err)
{
    struct mfu_memory *m = &s->memory;
    const struct mfu_gpu *gpu;

    mfu_catalog_refresh(s->catalog);
    gpu = mfu_catalog_gpu(s->catalog, old->path, err);
    if (!gpu)
        return -1;
    mfu_warn_calibration(s);
    exchange(&m->now, old->slug, gpu);
    exchange(&s->start, old->slug, gpu);
    for (int i = 0; i < m->n_past; i++)
        exchange(&m->past[i], old->slug, gpu);
    for (int i = 0; i < m->n_future; i++)
        exchange(&m->future[i], old->slug, gpu);
    for (int i = 0; i < m->n_kept; i++)
        exchange(&m->kept[i].scenario, old->slug, gpu);
    return 0;
}

/* ---- the forms of the command -------------------------------------------- */

static int fit(struct mfu_session *s, const char *const *paths, int n, bool anyway, struct mfu_error *err)
{
    struct mfu_calibrate_input in = {
        .catalog = s->catalog, .gpu = s->memory.now.gpu, .scenario = &s->memory.now, .paths = paths, .n_paths = n};
    struct mfu_calibrated *c = mfu_calibrate(&in, err);
    int status = -1;

    if (!c)
        return -1;
    if (c->fit.n_kept == 0)
        status =
            mfu_fail(err, MFU_EINPUT, "nothing can be learnt from %zu measurement%s: all coefficients stay as they are",
                     c->n_samples + c->n_runs, c->n_samples + c->n_runs == 1 ? "" : "s");
    else if (c->fit.doubt > MFU_FIT_INCREDIBLE && !anyway)
        status =
            mfu_fail(err, MFU_EINPUT,
                     "these measurements contradict what is known of a %s by up to %.0f of its standard errors: was "
                     "it limited, shared, or another one?  nothing was kept; --anyway at the end keeps it",
                     c->gpu->slug, MFU_FIT_SURE * c->fit.doubt);
    else if (mfu_calibration_write(mfu_catalog_calibrations(s->catalog), &c->file, err) == 0
             && take_over(s, c->gpu, err) == 0) {
        status = 0;
        if (s->json)
            status = mfu_answer(s, &mfu_record_calibrate, c, err);
        else {
            mfu_pager_begin(s);
            mfu_text_calibrated(s->out, &s->term, c);
            mfu_pager_end(s);
            mfu_print_note(s, "%s is calibrated from now on; `calibrate forget` takes it back", c->gpu->slug);
            if (mfu_catalog_gpu(s->catalog, c->gpu->path, NULL)->calibrated.differs)
                mfu_print_note(s, "it is of another machine than this one");
        }
    }
    mfu_calibrated_free(c);
    return status;
}

static int measure(struct mfu_session *s, int quick, const char *device, bool anyway, struct mfu_error *err)
{
    char path[PATH_MAX];
    const char *paths[] = {path};
    /* Any scenario has products of its own; one that cannot be planned has none. */
    bool planned = mfu_plan_make(&s->plan, &s->memory.now, NULL) == 0;

    if (mfu_probe_run(mfu_catalog_calibrations(s->catalog), path, sizeof path, quick, device,
                      planned ? &s->plan.program : NULL, err)
        < 0)
        return -1;
    mfu_print_note(s, "samples in %s", path);
    return fit(s, paths, 1, anyway, err);
}

static int narrow(struct mfu_session *s, struct mfu_error *err)
{
    struct mfu_narrow a;

    if (mfu_narrow(&s->memory.now, &a, err) < 0)
        return -1;
    if (s->json)
        return mfu_answer(s, &mfu_record_narrow, &a, err);
    mfu_text_narrow(s->out, &s->term, &a);
    return 0;
}

static int list(struct mfu_session *s, struct mfu_error *err)
{
    const char *folder = mfu_catalog_calibrations(s->catalog);
    struct mfu_arena arena = {0};
    struct mfu_calibration *all, newest;
    const char *const *names;
    size_t n, kept = 0;
    int status = mfu_calibration_names(folder, &arena, &names, &n, err);

    all = status == 0 ? mfu_arena_alloc(&arena, n + 1, sizeof *all) : NULL;
    if (status == 0 && !all)
        status = mfu_fail(err, MFU_ENOMEM, "out of memory");
    for (size_t i = 0; status == 0 && i < n; i++) {
        struct mfu_error problem = {0};

        if (mfu_calibration_read(folder, names[i], &all[kept], &problem) == 0) {
            struct mfu_calibration_choice choice = mfu_catalog_choice(s->catalog, all[kept].gpu);

            all[kept].in_force = mfu_calibration_find(&choice, &newest) && strcmp(newest.name, names[i]) == 0;
            kept++;
        } else
            mfu_warn(s, &problem);
    }
    if (status == 0 && s->json)
        status = mfu_answer(s, &mfu_record_calibrations, &(struct mfu_calibrations_answer){all, kept}, err);
    else if (status == 0 && kept == 0)
        mfu_print_note(s, "no GPU is calibrated");
    else if (status == 0)
        mfu_text_calibrations(s->out, &s->term, all, kept);
    mfu_arena_free(&arena);
    return status;
}

// clang-format off
#define FORGOTTEN(X) X(TEXT, forgotten, 0, name, "the calibration that was removed")
MFU_FIELDS(forgotten, const char *name, FORGOTTEN)
static const struct mfu_record forgotten_record = MFU_RECORD(forgotten, .command = "calibrate");
// clang-format on

static int forget(struct mfu_session *s, const char *name, struct mfu_error *err)
{
    if (mfu_calibration_forget(mfu_catalog_calibrations(s->catalog), name, err) < 0
        || mfu_catalog_use(s->catalog, NULL, err) < 0 || take_over(s, s->memory.now.gpu, err) < 0)
        return -1;
    mfu_print_note(s, "%s is forgotten", name);
    return s->json ? mfu_answer(s, &forgotten_record, name, err) : 0;
}

/* NULL: those of this machine. */
static int use(struct mfu_session *s, const char *name, struct mfu_error *err)
{
    const struct mfu_gpu *gpu = s->memory.now.gpu;

    if (mfu_catalog_use(s->catalog, name, err) < 0 || take_over(s, gpu, err) < 0)
        return -1;
    return list(s, err);
}

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    const struct mfu_gpu *now = s->memory.now.gpu;
    const char *word, *device = NULL;
    bool anyway = argc > 1 && strcmp(argv[argc - 1], "--anyway") == 0, quick;

    argc -= anyway;
    quick = argc > 1 && strcmp(argv[1], "quick") == 0;
    word = argc > 1 ? argv[1] : "";
    if (argc == 3 + quick && strcmp(argv[1 + quick], "device") == 0) {
        device = argv[2 + quick];
        if (!*device || strspn(device, "0123456789") != strlen(device))
            return mfu_fail_word(s, err, 2 + quick, "expected CUDA's number of a GPU, from 0");
    }
    if (device || argc == 1 + quick)
        return measure(s, quick, device, anyway, err);
    if (strcmp(word, "from") == 0 && argc > 2)
        return fit(s, (const char *const *)argv + 2, argc - 2, anyway, err);
    if (strcmp(word, "plan") == 0 && argc == 2)
        return narrow(s, err);
    if (strcmp(word, "list") == 0 && argc == 2)
        return list(s, err);
    if (strcmp(word, "forget") == 0 && argc <= 3)
        return forget(s, argc == 3 ? argv[2] : *now->calibrated.name ? now->calibrated.name : now->slug, err);
    if (strcmp(word, "use") == 0 && argc <= 3)
        return use(s, argv[2], err);
    return mfu_fail_word(s, err, 1,
                         strcmp(word, "from") == 0
                             ? "'from' wants files: samples (.yaml), measured runs (.csv) or training logs"
                             : "expected quick, device N, from FILE ..., plan, list, use [NAME] or forget [NAME]");
}

static const char *forms(struct mfu_session *s, size_t i)
{
    static const char *const words[] = {"device", "forget", "from", "list", "plan", "quick", "use"};

    (void)s;
    return i < sizeof words / sizeof words[0] ? words[i] : NULL;
}

const struct mfu_command mfu_command_calibrate = {
    .name = "calibrate",
    .usage = "[from FILE|plan|list|use|forget] [--anyway]",
    .group = "look closer",
    .summary = "fit it to your GPU",
    .help = "Measures the GPU that is here with mfuplan-calibrate, the matrix products of the\n"
            "current scenario among others, and fits the coefficients of its cost model;\n"
            "Ctrl-C ends the measuring, and what was measured counts.  `calibrate quick` is\n"
            "shorter; of several GPUs `device 1` names the second.\n"
            "`calibrate from` fits to files: samples (.yaml) of torch_kernels.py, which times\n"
            "what PyTorch runs, kernel by kernel, or of mfuplan-calibrate;\n"
            "runs of the current GPU as `validate` reads them (.csv); training logs as\n"
            "`observe` reads them, for which the current scenario is what they do not state;\n"
            "or a folder of ground-truth, which has runs and samples.\n"
            "Two or three measured runs of any configuration improve the prediction of all\n"
            "others.\n"
            "\n"
            "Samples after runs, or runs after samples, start from what is there; the same\n"
            "kind again replaces it.\n"
            "\n"
            "`calibrate plan` says which few measurements would shrink the interval of the\n"
            "current scenario most, and to what.\n"
            "\n"
            "Measurements that contradict what is known of the GPU are refused, unless\n"
            "--anyway ends the line.\n"
            "\n"
            "The result is kept for this user and used for this GPU from then on.  It\n"
            "belongs to a card, its driver and its host: a plan takes that of this machine,\n"
            "else the newest of another, and says so; `calibrate use NAME` takes another,\n"
            "`calibrate use` that of this machine again.  `show coefficients` tells which\n"
            "numbers it moved, `calibrate list` what there is; `calibrate forget` removes it.\n"
            "\n"
            "    calibrate\n"
            "    calibrate quick device 1\n"
            "    calibrate from samples.yaml\n"
            "    calibrate from runs.csv\n"
            "    calibrate from train1.log train2.log\n"
            "    calibrate from h200.truth\n"
            "    calibrate forget rtx4070",
    .most_args = -1,
    .offer = {forms, mfu_offer_files},
    .answers = MFU_ANSWERS(&mfu_record_calibrate, &mfu_record_narrow, &mfu_record_calibrations, &forgotten_record),
    .run = run,
};
