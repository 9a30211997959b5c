/* test_calibrate.c - what becomes of measured runs and samples, one after the other. */
#include "near.h"
#include "scratch.h"

#include "answer/fit/calibrate.h"
#include "base/error.h"
#include "descriptor/catalog.h"
#include "descriptor/gpu.h"
#include "plan/plan.h"
#include "scenario/scenario.h"

struct place {
    struct scratch files;
    struct mfu_catalog *catalog;
    const struct mfu_gpu *gpu;
    char folder[80];
};

static int set_up(void **state)
{
    struct place *p = calloc(1, sizeof *p);
    struct mfu_error err = {0};

    scratch_begin(&p->files);
    snprintf(p->folder, sizeof p->folder, "%s", scratch_folder(&p->files, "kept"));
    p->catalog = mfu_catalog_open(MFUPLAN_SOURCE_DIR, p->folder, &err);
    p->gpu = p->catalog ? mfu_catalog_gpu(p->catalog, "rtx4070", &err) : NULL;
    *state = p;
    return p->gpu ? 0 : -1;
}

static int tear_down(void **state)
{
    struct place *p = *state;
    char path[120];

    snprintf(path, sizeof path, "%s/rtx4070.yaml", p->folder);
    remove(path);
    mfu_catalog_free(p->catalog);
    scratch_end(&p->files);
    free(p);
    return 0;
}

static struct mfu_calibrated *calibrate(struct place *p, const char *path, struct mfu_error *err)
{
    struct mfu_calibrate_input in = {.catalog = p->catalog, .gpu = p->gpu, .paths = &path, .n_paths = 1};

    return mfu_calibrate(&in, err);
}

/* Steps of three configurations that all took `times` as long as they do. */
static const char *three_runs(struct place *p, double times, int n)
{
    static const struct {
        const char *shape;
        double ms;
    } rows[] = {{"12,12,768,50304,8,64", 9340}, {"12,12,384,50304,16,32", 3910}, {"12,12,768,50304,4,1", 82}};
    char text[1024], name[32];
    int used = snprintf(text, sizeof text,
                        "gpu,family,seq_len,n_layer,n_head,n_embd,vocab,micro_batch,grad_accum,"
                        "step_time_ms,precision,compile,optimizer,attention,bias\n");

    for (int i = 0; i < n; i++)
        used += snprintf(text + used, sizeof text - (size_t)used,
                         "rtx4070,gpt2,1024,%s,%.0f,bf16-amp,torch.compile,adamw-fused,flash2,0\n", rows[i].shape,
                         times * rows[i].ms);
    snprintf(name, sizeof name, "runs-%d-%.0f.csv", n, 100 * times);
    return scratch_file(&p->files, name, text);
}

/* A dozen matrix products at one rate. */
/* In a machine with that processor; "": not stated. */
static const char *samples_beside(struct place *p, double flops, const char *cpu)
{
    char text[2048];
    int used = snprintf(text, sizeof text, "mfuplan_samples: 1\ngpu: {name: rtx4070}\n%s%s\nsamples:\n",
                        *cpu ? "cpu: " : "", cpu);

    for (int i = 0; i < 12; i++) {
        double m = i % 2 ? 2048 : 8192, n = 2048 << i % 3, k = i % 4 < 2 ? 1024 : 4096;

        used += snprintf(text + used, sizeof text - (size_t)used,
                         "  - {probe: gemm, m: %.0f, n: %.0f, k: %.0f, dtype: bf16, seconds: %.6g}\n", m, n, k,
                         2 * m * n * k / flops);
    }
    return scratch_file(&p->files, "samples.yaml", text);
}

static const char *samples(struct place *p, double flops)
{
    return samples_beside(p, flops, "");
}

static void runs_of_a_slow_card_are_believed(void **state)
{
    static const double times[] = {1, 1.4, 1.6, 2, 3};
    double before = 2;

    for (size_t i = 0; i < LENGTH(times); i++) {
        struct mfu_error err = {0};
        struct mfu_calibrated *c = calibrate(*state, three_runs(*state, times[i], 3), &err);

        if (!c)
            fail_msg("%g times: %s", times[i], err.text);
        assert_true(c->fit.all.mape < 0.08);
        assert_true(c->fit.value[MFU_C_GEMM_EFFICIENCY] < before);
        before = c->fit.value[MFU_C_GEMM_EFFICIENCY];
        mfu_calibrated_free(c);
    }
}

struct sourced {
    const char *source;
    double times; /* as long as on one GPU as it is */
    int gpus;
};

/* A calibration by these runs, by their sources or as if all were of one. */
static struct mfu_calibrated *calibrate_by_source(struct place *p, const struct sourced *runs, size_t n, bool told)
{
    struct mfu_error err = {0};
    struct mfu_calibrated *c;
    char text[2048];
    int used = snprintf(text, sizeof text,
                        "source,gpu,n_gpus,sharding,family,seq_len,n_layer,n_head,n_embd,vocab,micro_batch,grad_accum,"
                        "step_time_ms,precision,compile,optimizer,attention,bias\n");

    for (size_t i = 0; i < n; i++)
        used += snprintf(text + used, sizeof text - (size_t)used,
                         "%s,rtx4070,%d,%s,gpt2,1024,12,12,768,50304,%zu,64,%.0f,bf16-amp,torch.compile,adamw-fused,"
                         "flash2,0\n",
                         told ? runs[i].source : "all", runs[i].gpus, runs[i].gpus > 1 ? "ddp" : "none",
                         4 + 2 * (i % 3), runs[i].times * 9340. / 8 * (double)(4 + 2 * (i % 3)));
    if (!(c = calibrate(p, scratch_file(&p->files, told ? "told.csv" : "pooled.csv", text), &err)))
        fail_msg("%s", err.text);
    assert_int_equal(c->n_runs, n);
    return c;
}

/* Six slow runs of one source beside one each of three others: pooled they make the card slow, told apart hardly. */
static void many_runs_of_a_source_are_one_source(void **state)
{
    static const struct sourced runs[] = {{"a", 1.3, 1}, {"a", 1.3, 1}, {"a", 1.3, 1}, {"a", 1.3, 1}, {"a", 1.3, 1},
                                          {"a", 1.3, 1}, {"b", 1, 1},   {"c", 1, 1},   {"d", 1, 1}};
    double efficiency[2];

    for (int told = 0; told < 2; told++) {
        struct mfu_calibrated *c = calibrate_by_source(*state, runs, LENGTH(runs), told);

        assert_int_equal(c->fit.n_classes, 1); /* residuals are listed by kind, not by source */
        efficiency[told] = c->fit.value[MFU_C_GEMM_EFFICIENCY];
        mfu_calibrated_free(c);
    }
    assert_true(efficiency[1] > 1.05 * efficiency[0]);
}

/* What is slow about two others' systems is nothing of a third; what is slow about one's own stays so. */
static void a_system_is_its_owners(void **state)
{
    static const struct sourced runs[] = {{"a", 1.3, 2}, {"a", 1.3, 2}, {"a", 1.3, 2},
                                          {"b", 1.3, 2}, {"b", 1.3, 2}, {"b", 1.3, 2}};

    for (int told = 0; told < 2; told++) {
        struct mfu_calibrated *c = calibrate_by_source(*state, runs, LENGTH(runs), told);

        if (told)
            assert_true(c->fit.value[MFU_C_SYSTEM] == 1);
        else
            assert_true(c->fit.value[MFU_C_SYSTEM] > 1.02);
        mfu_calibrated_free(c);
    }
}

/* What runs on one GPU say of a card, a run of the same sources on two, about which less is known, does not take back. */
static void a_run_on_two_takes_nothing_from_those_on_one(void **state)
{
    static const struct sourced runs[] = {{"a", 1.3, 1}, {"a", 1.3, 1}, {"b", 1.3, 1}, {"b", 1.3, 1}, {"c", 1.3, 1},
                                          {"c", 1.3, 1}, {"a", 1.3, 2}, {"b", 1.3, 2}, {"c", 1.3, 2}};
    double efficiency[2];

    for (int two = 0; two < 2; two++) {
        struct mfu_calibrated *c = calibrate_by_source(*state, runs, two ? LENGTH(runs) : LENGTH(runs) - 3, true);

        efficiency[two] = c->fit.value[MFU_C_GEMM_EFFICIENCY];
        mfu_calibrated_free(c);
    }
    assert_true(efficiency[1] <= 1.001 * efficiency[0]);
}

static void one_run_is_believed_or_refused(void **state)
{
    static const struct {
        double times;
        bool taken;
    } rows[] = {{1.2, true}, {1.5, true}, {4, false}, {20, false}};

    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_error err = {0};
        struct mfu_calibrated *c = calibrate(*state, three_runs(*state, rows[i].times, 1), &err);

        if (!c != !rows[i].taken)
            fail_msg("%g times: %s", rows[i].times, c ? "believed" : err.text);
        if (c)
            assert_true(c->fit.all.mape < 0.05);
        else
            assert_non_null(strstr(err.text, "more than one measurement can explain"));
        mfu_calibrated_free(c);
    }
}

/* GPT-2 of 4 and 8 sequences; a milliseconds of 0 ends the rows. */
static struct mfu_calibrated *short_steps(struct place *p, const char *name, double four, double eight,
                                          struct mfu_error *err)
{
    char text[512];
    int used = snprintf(text, sizeof text,
                        "gpu,model,n_gpus,micro_batch,grad_accum,seq_len,precision,compile,sharding,"
                        "step_time_ms\nrtx4070,gpt2,1,4,1,1024,bf16-amp,torch.compile,none,%g\n",
                        four);

    if (eight > 0)
        snprintf(text + used, sizeof text - (size_t)used, "rtx4070,gpt2,1,8,1,1024,bf16-amp,torch.compile,none,%g\n",
                 eight);
    return calibrate(p, scratch_file(&p->files, name, text), err);
}

/* 100 and 191 ms are predicted; of what is beyond, one step does not say whether it
 * grows with the batch. */
static void a_constant_needs_steps_of_two_sizes(void **state)
{
    struct mfu_error err = {0};
    struct mfu_calibrated *c = short_steps(*state, "one.csv", 160, 0, &err);
    double usual = 4e-3;

    if (!c)
        fail_msg("%s", err.text);
    assert_near(c->fit.value[MFU_C_STEP_CONSTANT], usual, 1e-9);
    assert_true(c->fit.all.mape < 0.05);
    mfu_calibrated_free(c);

    c = short_steps(*state, "long.csv", 300, 0, &err);
    assert_null(c);
    assert_non_null(strstr(err.text, "more than one measurement can explain"));

    c = short_steps(*state, "proportion.csv", 160, 310, &err);
    assert_non_null(c);
    assert_true(c->fit.value[MFU_C_STEP_CONSTANT] < 3 * usual);
    assert_true(c->fit.all.mape < 0.08);
    mfu_calibrated_free(c);

    c = short_steps(*state, "constant.csv", 150, 240, &err);
    assert_non_null(c);
    assert_true(c->fit.value[MFU_C_STEP_CONSTANT] > 0.035 && c->fit.value[MFU_C_STEP_CONSTANT] < 0.075);
    assert_true(c->fit.all.mape < 0.05);
    mfu_calibrated_free(c);
}

/* Sequences that compute for 8 to 20 ms, and so many seconds that each took. */
static struct mfu_calibrated *sequences_of(struct place *p, const char *name, const double seconds[3],
                                           struct mfu_error *err)
{
    static const char *const shapes[] = {"12,12,768,50304,8,64", "12,12,384,50304,16,32", "12,12,768,50304,4,1"};
    static const int sequences[] = {8 * 64, 16 * 32, 4};
    char text[1024];
    int used = snprintf(text, sizeof text,
                        "gpu,family,seq_len,n_layer,n_head,n_embd,vocab,micro_batch,grad_accum,"
                        "step_time_ms,precision,compile,optimizer,attention,bias\n");

    for (int i = 0; i < 3; i++)
        used += snprintf(text + used, sizeof text - (size_t)used,
                         "rtx4070,gpt2,1024,%s,%.0f,bf16-amp,torch.compile,adamw-fused,flash2,0\n", shapes[i],
                         1e3 * sequences[i] * seconds[i]);
    return calibrate(p, scratch_file(&p->files, name, text), err);
}

static void keep(struct place *p, struct mfu_calibrated *c)
{
    struct mfu_error err = {0};

    assert_non_null(c);
    assert_int_equal(mfu_calibration_write(p->folder, &c->file, &err), 0);
    mfu_catalog_refresh(p->catalog);
    assert_non_null(p->gpu = mfu_catalog_gpu(p->catalog, "rtx4070", &err));
    mfu_calibrated_free(c);
}

/* Sequences that take as long as each other whatever they compute wait for their loader, of which nothing follows for
 * the card; such that agree on nothing are refused. */
static void a_loader_is_what_equal_sequences_wait_for(void **state)
{
    static const char *const loaders[] = {"0.1", "500"};
    static struct mfu_plan plan;
    struct place *p = *state;
    struct mfu_error err = {0};
    struct mfu_calibrated *c = sequences_of(p, "equal.csv", (double[]){0.21, 0.2, 0.19}, &err);
    double low_s[LENGTH(loaders)], high_s[LENGTH(loaders)];

    if (!c)
        fail_msg("%s", err.text);
    assert_non_null(mfu_calibrated_loader(c));
    for (int i = 0; i < MFU_COEFFICIENT_COUNT; i++)
        assert_true(isnan(c->file.coefficients.value[i]) == (i != MFU_C_HOST_LOADER));
    assert_near(c->fit.value[MFU_C_HOST_LOADER], 0.2, 0.05);
    assert_int_equal(c->fit.n_kept, 1);
    assert_true(c->fit.all.mape < 0.06);
    for (int calibrated = 0; calibrated < 2; calibrated++) { /* a loader that is stated: the same plan as before */
        for (size_t i = 0; i < LENGTH(loaders); i++) {
            struct mfu_scenario s = mfu_scenario_start(mfu_catalog_model(p->catalog, "gpt2", NULL), p->gpu);

            assert_int_equal(mfu_scenario_set(&s, "dataloader_ms", loaders[i], NULL), 0);
            assert_int_equal(mfu_plan_make(&plan, &s, NULL), 0);
            if (calibrated) {
                assert_near(plan.step.low_s, low_s[i], 1e-12);
                assert_near(plan.step.high_s, high_s[i], 1e-12);
            }
            low_s[i] = plan.step.low_s;
            high_s[i] = plan.step.high_s;
        }
        if (!calibrated)
            keep(p, c);
    }
    mfu_plan_release(&plan);
    c = sequences_of(p, "any.csv", (double[]){0.2, 0.03, 0.9}, &err);
    assert_null(c);
}

/* Host times from runs alone are of the host that is usual beside the card, as their fit had it; those of probes, which name
 * the processor, are that host's own. */
static void runs_say_of_no_processor(void **state)
{
    static const char *const processors[] = {NULL, "", "AMD EPYC 7763"};
    static struct mfu_plan plan;
    struct place *p = *state;
    struct mfu_gpu gpu = *p->gpu;
    double step_s[LENGTH(processors)];

    assert_true(gpu.coefficients.value[MFU_C_HOST_THREAD] < 0.8);
    for (size_t i = 0; i < LENGTH(processors); i++) {
        struct mfu_scenario s = mfu_scenario_start(mfu_catalog_model(p->catalog, "gpt2", NULL), &gpu);

        if (processors[i]) {
            gpu.coefficients.origin[MFU_C_DISPATCH_EAGER] = MFU_FROM_CALIBRATION;
            snprintf(gpu.calibrated.key.cpu, sizeof gpu.calibrated.key.cpu, "%s", processors[i]);
        }
        assert_int_equal(mfu_scenario_set(&s, "seq", "64", NULL), 0);
        assert_int_equal(mfu_scenario_set(&s, "runtime", "eager", NULL), 0);
        assert_int_equal(mfu_plan_make(&plan, &s, NULL), 0);
        step_s[i] = plan.step.time_s;
    }
    mfu_plan_release(&plan);
    assert_near(step_s[1], step_s[0], 1e-12);
    assert_true(step_s[2] > 1.01 * step_s[0]);
}

/* Steps of one card and of eight that exchange through the host: NVLink, which
 * the card does not have, stays what it was. */
static void what_nothing_used_does_not_move(void **state)
{
    struct place *p = *state;
    struct mfu_error err = {0};
    struct mfu_calibrated *c = calibrate(
        p,
        scratch_file(&p->files, "two.csv",
                     "gpu,model,n_gpus,micro_batch,seq_len,precision,compile,sharding,step_time_ms\n"
                     "rtx4070,gpt2,1,4,1024,bf16-amp,eager,none,90\nrtx4070,gpt2,2,4,1024,bf16-amp,eager,ddp,100\n"),
        &err);

    assert_non_null(c);
    for (int i = 0; i < c->fit.n_rows; i++)
        assert_true(c->fit.rows[i].id != MFU_C_LINK_NVLINK && c->fit.rows[i].id != MFU_C_LINK_PCIE);
    mfu_calibrated_free(c);
    assert_true(mfu_coefficient_rows[MFU_C_LINK_NVLINK].most == 1 && mfu_coefficient_rows[MFU_C_LINK_HOST].most == 1);

    c = calibrate(p,
                  scratch_file(&p->files, "three.csv",
                               "gpu,model,n_gpus,micro_batch,seq_len,precision,compile,step_time_ms\n"
                               "rtx4070,gpt2,1,4,1024,bf16-amp,eager,90\nrtx4070,gpt2,,4,,,,90\nrtx4070,gpt2,8,4,1024,"
                               "bf16-amp,eager,90\n"),
                  &err);
    assert_null(c);
    assert_non_null(strstr(err.text, "do not agree"));
}

static void why_nothing_is_left_is_said(void **state)
{
    struct place *p = *state;
    struct mfu_error err = {0};

    assert_null(calibrate(p,
                          scratch_file(&p->files, "network.yaml",
                                       "mfuplan_samples: 1\ngpu: {name: rtx4070}\nsamples:\n"
                                       "  - {probe: all_reduce, gpus: 16, nodes: 2, bytes: 1e6, seconds: 9e-5}\n"
                                       "  - {probe: all_gather, gpus: 16, nodes: 2, bytes: 1e6, seconds: 7e-5}\n"),
                          &err));
    assert_string_equal(err.text,
                        "there is nothing to calibrate from: 2 left out; the last: "
                        "no law of a network: 'all_gather' over 2 nodes");

    for (int i = 0; i < 3; i++) {
        static const char *const open[][2] = {
            {"rtx4070,gpt2,1,,1024,bf16-amp,eager,90,\n", "the micro-batch is not stated"},
            {"rtx4070,gpt2,1,4,1024,bf16-amp,somebodys loop,90,\n", "the program is not known"},
            {"rtx4070,gpt2,1,4,1024,bf16-amp,eager,,40\n", "an MFU without its mfu_convention"}};
        char text[256];

        snprintf(text, sizeof text, "gpu,model,n_gpus,micro_batch,seq_len,precision,compile,step_time_ms,mfu_pct\n%s",
                 open[i][0]);
        assert_null(calibrate(p, scratch_file(&p->files, "open.csv", text), &err));
        assert_non_null(strstr(err.text, open[i][1]));
    }
}

/* A log of a run that cannot have run as it was read. */
static void an_impossible_log_is_refused(void **state)
{
    struct place *p = *state;
    struct mfu_error err = {0};
    struct mfu_scenario scenario = mfu_scenario_start(mfu_catalog_model(p->catalog, "gpt2", &err), p->gpu);
    const char *path = MFUPLAN_SOURCE_DIR "/tests/data/logs/trainer_state.json";
    struct mfu_calibrate_input in = {
        .catalog = p->catalog, .gpu = p->gpu, .scenario = &scenario, .paths = &path, .n_paths = 1};

    scenario.model_given = true;
    assert_null(mfu_calibrate(&in, &err));
    assert_non_null(strstr(err.text, "it ran, so a setting is another"));
}

static void samples_of_a_slow_card_are_believed(void **state)
{
    struct mfu_error err = {0};
    struct mfu_calibrated *c = calibrate(*state, samples(*state, 30e12), &err);

    assert_non_null(c);
    assert_true(c->fit.all.mape < 0.06);
    assert_near(c->fit.value[MFU_C_GEMM_EFFICIENCY], 0.49, 0.1);
    mfu_calibrated_free(c);
}

/* Runs after samples keep what the samples know, and take their own back. */
static void the_second_kind_starts_from_the_first(void **state)
{
    struct place *p = *state;
    struct mfu_error err = {0};
    struct mfu_calibration stored;
    struct mfu_calibrated *c;
    double probed, sigma;

    c = calibrate(p, samples(p, 45e12), &err);
    assert_non_null(c);
    assert_string_equal(c->file.from, "probe");
    assert_string_equal(c->file.base.from, "");
    probed = c->file.coefficients.value[MFU_C_GEMM_EFFICIENCY];
    sigma = c->file.coefficients.sigma[MFU_C_GEMM_EFFICIENCY];
    keep(p, c);
    for (int again = 0; again < 2; again++) {
        c = calibrate(p, three_runs(p, 1.05 + again / 100., 3), &err);
        if (!c)
            fail_msg("%s", err.text);
        assert_string_equal(c->file.from, "probe, runs");
        assert_string_equal(c->file.base.from, "probe");
        assert_true(c->file.samples == 15 && c->file.base.samples == 12);
        assert_string_equal(c->replaces, again ? "runs" : "");
        assert_near(c->file.coefficients.value[MFU_C_GEMM_EFFICIENCY], probed, 5 * sigma);
        keep(p, c);
    }
    assert_int_equal(mfu_calibration_read(p->folder, "rtx4070", &stored, &err), 0);
    assert_string_equal(stored.base.from, "probe");
    assert_near(stored.base.coefficients.value[MFU_C_GEMM_EFFICIENCY], probed, 1e-6);
    assert_int_equal(mfu_calibration_forget(p->folder, "rtx4070", &err), 0);
    c = calibrate(p, three_runs(p, 1.1, 3), &err);
    assert_non_null(c);
    assert_string_equal(c->file.base.from, "");
    assert_string_equal(c->file.from, "runs");
    mfu_calibrated_free(c);
}

/* What was measured beside another processor is another machine's: nothing starts from it, and the plan says whose
 * the calibration is that is in force. */
static void another_host_is_another_machine(void **state)
{
    struct place *p = *state;
    struct mfu_error err = {0};
    struct mfu_calibrated *c = calibrate(p, samples_beside(p, 45e12, "Threadripper"), &err);

    assert_non_null(c);
    assert_string_equal(c->file.key.cpu, "Threadripper");
    keep(p, c);
    assert_string_equal(p->gpu->calibrated.key.cpu, "Threadripper");
    assert_true(p->gpu->calibrated.date[0] != '\0');
    c = calibrate(p, three_runs(p, 1.05, 3), &err); /* do not say whose: the same */
    assert_non_null(c);
    assert_string_equal(c->file.base.from, "probe");
    assert_string_equal(c->file.key.cpu, "Threadripper");
    mfu_calibrated_free(c);
    assert_int_equal(mfu_calibration_forget(p->folder, "rtx4070", &err), 0);
    mfu_catalog_refresh(p->catalog);
    assert_non_null(p->gpu = mfu_catalog_gpu(p->catalog, "rtx4070", &err));
    keep(p, calibrate(p, three_runs(p, 1.05, 3), &err)); /* of a machine that is not stated */
    for (int another = 0; another < 2; another++) {
        c = calibrate(p, samples_beside(p, 45e12, another ? "Xeon" : "Threadripper"), &err);
        assert_non_null(c);
        assert_string_equal(c->file.base.from, another ? "" : "runs");
        assert_string_equal(c->replaces, another ? "probe, runs" : "");
        keep(p, c);
    }
    assert_string_equal(p->gpu->calibrated.key.cpu, "Xeon");
    assert_int_equal(mfu_calibration_forget(p->folder, "rtx4070", &err), 0);
}

/* A machine with two cards of one kind. */
static void this_machine(struct mfu_calibration_key *key)
{
    *key = (struct mfu_calibration_key){.host = "here", .cpu = "EPYC", .driver = "580.1", .device = "aaaa bbbb"};
}

/* That of this machine and card is in force, else the newest of the nearest, which says so; the user may name one; an old
 * file, which names no machine, is this machine's. */
static void the_calibration_of_this_machine_is_taken(void **state)
{
    static const struct {
        struct mfu_calibration_key key;
        const char *name, *date, *in_force;
        unsigned differs;
    } rows[] = {
        {{"far", "Xeon", "550.1", "cccc"},
         "far-old",
         "2026-01-01",
         "far-old",
         MFU_OTHER_HOST | MFU_OTHER_CARD | MFU_OTHER_CPU | MFU_OTHER_DRIVER},
        {{"far", "Xeon", "550.1", "cccc"},
         "far",
         "2026-02-01",
         "far",
         MFU_OTHER_HOST | MFU_OTHER_CARD | MFU_OTHER_CPU | MFU_OTHER_DRIVER},
        {{"here", "EPYC", "550.1", "bbbb"}, "before", "2025-01-01", "before", MFU_OTHER_DRIVER},
        {{"renamed", "EPYC", "580.1", "bbbb"}, "mine", "2024-01-01", "mine", 0},
        {{"far", "EPYC", "580.1", "dddd"}, "near", "2026-03-01", "mine", 0},
        {{.host = ""}, "unknown", "2026-01-01", "unknown", 0},
    };
    struct place *p = *state;
    struct mfu_error err = {0};
    struct mfu_catalog *c = mfu_catalog_open(MFUPLAN_SOURCE_DIR, p->folder, &err);
    const struct mfu_gpu *gpu;
    char path[120];

    mfu_catalog_ask_here(c, this_machine);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_calibration made = {.gpu = "rtx4070", .key = rows[i].key};

        mfu_coefficients_clear(&made.coefficients);
        mfu_coefficients_clear(&made.base.coefficients);
        snprintf(made.name, sizeof made.name, "%s", rows[i].name);
        snprintf(made.date, sizeof made.date, "%s", rows[i].date);
        made.coefficients.value[MFU_C_GEMM_EFFICIENCY] = 0.5 + 0.01 * (double)i;
        made.coefficients.sigma[MFU_C_GEMM_EFFICIENCY] = 0.01;
        assert_int_equal(mfu_calibration_write(p->folder, &made, &err), 0);
        mfu_catalog_refresh(c);
        assert_non_null(gpu = mfu_catalog_gpu(c, "rtx4070", &err));
        assert_string_equal(gpu->calibrated.name, rows[i].in_force);
        assert_int_equal(gpu->calibrated.differs, rows[i].differs);
    }
    assert_int_equal(mfu_catalog_use(c, "far-old", &err), 0);
    assert_non_null(gpu = mfu_catalog_gpu(c, "rtx4070", &err));
    assert_string_equal(gpu->calibrated.name, "far-old");
    assert_near(gpu->coefficients.value[MFU_C_GEMM_EFFICIENCY], 0.5, 1e-12);
    assert_int_equal(mfu_catalog_use(c, "nowhere", &err), -1);
    assert_int_equal(mfu_catalog_use(c, NULL, &err), 0);
    assert_string_equal(mfu_catalog_gpu(c, "rtx4070", &err)->calibrated.name, "unknown");
    mfu_catalog_free(c);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        snprintf(path, sizeof path, "%s/%s.yaml", p->folder, rows[i].name);
        remove(path);
    }
}

/* A name is not enough: two sizes of a card share one, and a part of a card has fewer SMs. */
static void samples_are_of_a_card_with_their_figures(void **state)
{
    static const struct {
        const char *gpu, *slug; /* NULL: refused */
    } rows[] = {
        {"{name: NVIDIA GeForce RTX 4070, sms: 46, compute_capability: 8.9, memory_bytes: 12.6e9}", "rtx4070"},
        {"{name: NVIDIA GeForce RTX 4060 Ti, sms: 34, compute_capability: 8.9, memory_bytes: 17.1e9}",
         "rtx4060ti-16gb"},
        {"{name: NVIDIA GeForce RTX 4060 Ti, sms: 34, compute_capability: 8.9, memory_bytes: 8.58e9}", "rtx4060ti-8gb"},
        {"{name: NVIDIA H100 80GB HBM3, sms: 132, compute_capability: 9.0, memory_bytes: 85e9}", "h100-sxm"},
        {"{name: NVIDIA H100 80GB HBM3, sms: 16, compute_capability: 9.0, memory_bytes: 10.6e9}", NULL},
        {"{name: A new card, sms: 999, compute_capability: 99.9}", NULL},
    };
    struct place *p = *state;

    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_error err = {0};
        struct mfu_calibrated *c;
        char text[1024];

        snprintf(
            text, sizeof text,
            "mfuplan_samples: 1\ngpu: %s\nsamples:\n"
            "  - {probe: launch, kind: eager, seconds: 9e-6}\n  - {probe: launch, kind: backward, seconds: 6e-6}\n",
            rows[i].gpu);
        c = calibrate(p, scratch_file(&p->files, "of.yaml", text), &err);
        if (!c != !rows[i].slug || (c && strcmp(c->gpu->slug, rows[i].slug) != 0))
            fail_msg("%s: %s", rows[i].gpu, c ? c->gpu->slug : err.text);
        mfu_calibrated_free(c);
    }
}

/* A folder of ground-truth is what is in it: its runs, of the GPU that machine.yaml names. */
static void a_folder_is_its_files(void **state)
{
    struct place *p = *state;
    struct mfu_error err = {0};
    const char *folder = scratch_folder(&p->files, "truth"), *runs = three_runs(p, 1.2, 3);
    struct mfu_calibrated *one = calibrate(p, runs, &err), *all;
    char text[4096] = "";
    FILE *f = fopen(runs, "r");

    assert_null(calibrate(p, folder, &err));
    assert_non_null(strstr(err.text, "neither"));
    assert_true(f && fread(text, 1, sizeof text - 1, f) > 0);
    fclose(f);
    scratch_file(&p->files, "truth/runs.csv", text);
    scratch_file(&p->files, "truth/machine.yaml",
                 "mfuplan_samples: 1\ngpu: {name: NVIDIA GeForce RTX 4070}\nsamples: []\n");
    all = calibrate(p, folder, &err);
    assert_true(one && all);
    assert_int_equal(all->n_runs, 3);
    for (int i = 0; i < MFU_COEFFICIENT_COUNT; i++)
        if (isfinite(one->fit.value[i]))
            assert_near(all->fit.value[i], one->fit.value[i], 1e-9);
    mfu_calibrated_free(one);
    mfu_calibrated_free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(runs_of_a_slow_card_are_believed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_runs_of_a_source_are_one_source, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_system_is_its_owners, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_run_on_two_takes_nothing_from_those_on_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_run_is_believed_or_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_constant_needs_steps_of_two_sizes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_loader_is_what_equal_sequences_wait_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(runs_say_of_no_processor, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_nothing_used_does_not_move, set_up, tear_down),
        cmocka_unit_test_setup_teardown(why_nothing_is_left_is_said, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_impossible_log_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(samples_of_a_slow_card_are_believed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_host_is_another_machine, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_calibration_of_this_machine_is_taken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(samples_are_of_a_card_with_their_figures, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_second_kind_starts_from_the_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_folder_is_its_files, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
