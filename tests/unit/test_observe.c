/* test_observe.c - logs of every format, and what observe makes of them.
 *
 * The logs in tests/data/logs were written from the figures of two runs on a
 * 12 GB card: n_embd 768, 9 330 to 9 350 ms, 15.4 %; n_embd 384, 3 900 to
 * 3 920 ms, 12.9 %. */
#include "observing.h"

#include <stdlib.h>
#include <unistd.h>

/* ---- the two runs ---------------------------------------------------------- */

static void the_wide_run(void **state)
{
    struct mfu_observation *o = observe(LOGS "nanogpt-train1.log", NULL);
    const struct mfu_finding *f = found(o, "mfu-convention");

    (void)state;
    assert_string_equal(o->source, "nanogpt-log");
    assert_int_equal(o->lines_used, 54);
    assert_int_equal(dropped(o, "warm-up"), 5);
    assert_int_equal(dropped(o, "evaluation"), 1);
    assert_near(understood(o, "batch"), 8, 0);
    assert_near(understood(o, "accum"), 64, 0);
    assert_near(understood(o, "n_embd"), 768, 0);
    assert_near(understood(o, "runtime"), MFU_COMPILE, 0);
    assert_near(o->tokens_per_step, 524288, 0);
    assert_near(o->figure[MFU_FIGURE_TIME], 9.34, 0.002);
    assert_near(o->figure[MFU_FIGURE_MFU], 0.154, 0.003);
    assert_near(o->figure[MFU_FIGURE_TOKENS_PER_S], 56.1e3, 0.002);
    assert_true(o->spread > 0 && o->spread < 0.002);
    assert_non_null(f);
    assert_near(f->peak_flops, 312e12, 0);
    assert_near(f->mfu, 0.822, 0.005);
    assert_non_null(strstr(f->message, "A100"));
    assert_null(found(o, "size-contradiction"));
    assert_null(found(o, "slower-than-predicted"));
}

static void the_narrow_run_and_its_size(void **state)
{
    struct mfu_observation *o = observe(LOGS "nanogpt-train2.log", NULL);

    (void)state;
    assert_near(understood(o, "batch"), 16, 0);
    assert_near(understood(o, "accum"), 32, 0);
    assert_near(understood(o, "n_embd"), 384, 0);
    assert_near(o->figure[MFU_FIGURE_TIME], 3.91, 0.003);
    assert_near(o->figure[MFU_FIGURE_TOKENS_PER_S], 134.1e3, 0.003);
    assert_near(found(o, "mfu-convention")->mfu, 0.69, 0.01);
    assert_null(found(o, "size-contradiction")); /* 40.59M, as it says itself */

    o = observe(LOGS "nanogpt-train2.log", "params 33M");
    assert_non_null(found(o, "size-contradiction"));
    assert_near(found(o, "size-contradiction")->implied_params, 40.6e6, 0.01);
    assert_near(found(o, "size-contradiction")->stated_params, 33e6, 0);
}

static void by_hand(void **state)
{
    struct mfu_observation *o = observe(NULL, "step_ms 9340 mfu 15.4 batch 8 accum 64 runtime compile");

    (void)state;
    assert_string_equal(o->source, "figures");
    assert_string_equal(o->convention, "nanogpt");
    assert_false(o->convention_assumed);
    assert_near(found(o, "mfu-convention")->mfu, 0.822, 0.005);

    /* Without the width: time and MFU say it, and that 33 M is wrong. */
    o = observe(NULL, "step_ms 3910 mfu 12.9 batch 16 accum 32 n_layer 12 params 33M runtime compile");
    assert_near(understood(o, "n_embd"), 384, 0);
    assert_near(found(o, "size-contradiction")->implied_params, 40.6e6, 0.01);

    /* A log that says 163 %: an H100 whose tokens are divided by an A100's peak. */
    o = observe_on("h100-sxm", NULL, NULL, "mfu 163% batch 8 accum 64 runtime compile");
    assert_near(found(o, "mfu-convention")->mfu, 1.63 * 312 / 989.4, 0.01);
}

static void ways_to_write_a_pair(void **state)
{
    static const char *const same[] = {"step_ms 9340 mfu 15.4% batch 8 accum 64",
                                       "step time: 9.34 s, MFU: 15.4 %, batch = 8, accum = 64",
                                       "step_time_ms=9340 mfu=0.154 batch=8 accum=64",
                                       "time 9340ms mfu 15.4 batch_size 8 gradient_accumulation_steps 64",
                                       "tokens/s 56134 mfu 15.4 batch 8 accum 64",
                                       "tok/sec 56,134 mfu_pct 15.4 batch 8 tokens_per_step 524288"};

    (void)state;
    for (size_t i = 0; i < LENGTH(same); i++) {
        struct mfu_observation *o = observe(NULL, same[i]);

        assert_near(o->figure[MFU_FIGURE_TIME], 9.34, 1e-4);
        assert_near(o->figure[MFU_FIGURE_MFU], 0.154, 1e-9);
        assert_near(understood(o, "batch"), 8, 0);
        assert_near(understood(o, "accum"), 64, 0);
    }
}

/* ---- the other formats ------------------------------------------------------ */

static void other_formats(void **state)
{
    static const struct {
        const char *gpu, *file, *source, *convention;
        double batch, accum, seq, time_s;
        size_t used;
    } rows[] = {
        {"rtx4070", "llmc-train1.log", "llmc-log", "llm.c", 8, 64, 1024, 9.34, 38},
        {"h100-sxm", "nanochat.log", "nanochat-log", "torchtitan", 32, 8, 2048, 3.94, 38},
        {"rtx4070", "torchtitan.log", "torchtitan-log", "torchtitan", 8, 1, 1024, 0.159, 29},
        {"rtx4070", "megatron-train1.log", "megatron-log", "megatron", 8, 64, 1024, 9.34, 28},
        {"rtx4070", "trainer_state.json", "huggingface-log", NULL, 8, 64, 1024, 9.34, 1},
        {"rtx4070", "huggingface-console.log", "huggingface-log", NULL, 8, 64, 1024, 9.34, 1},
        {"rtx4070", "by-hand.txt", "key-value-log", "nanogpt", 8, 64, 1024, 9.34, 1},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char path[300];
        struct mfu_observation *o;

        snprintf(path, sizeof path, LOGS "%s", rows[i].file);
        o = observe_on(rows[i].gpu, path, NULL, rows[i].convention ? NULL : "model gpt2");
        assert_string_equal(o->source, rows[i].source);
        if (rows[i].convention)
            assert_string_equal(o->convention, rows[i].convention);
        assert_near(o->plan.config.batch, rows[i].batch, 0);
        assert_near(o->plan.config.accum, rows[i].accum, 0);
        assert_near(o->plan.config.seq, rows[i].seq, 0);
        assert_near(o->figure[MFU_FIGURE_TIME], rows[i].time_s, 0.005);
        assert_int_equal(o->lines_used, rows[i].used);
        assert_true(o->predicted);
        assert_null(found(o, "size-contradiction"));
    }
}

static void what_each_format_says(void **state)
{
    struct mfu_observation *o = observe(LOGS "llmc-train1.log", NULL);

    (void)state;
    assert_near(o->peak_flops, 58.3e12, 1e-9);
    assert_near(o->mfu, 0.823, 0.005);
    assert_near(o->figure[MFU_FIGURE_SMI_USED], 7012 * 0x1p20, 0);
    assert_int_equal(o->plan.config.runtime, MFU_LLMC);
    assert_int_equal(dropped(o, "evaluation"), 1);

    o = observe(LOGS "torchtitan.log", NULL);
    assert_near(o->peak_flops, 312e12, 0); /* its table does not know the card */
    assert_near(o->figure[MFU_FIGURE_RESERVED], 7.32 * 0x1p30, 1e-9);
    assert_near(understood(o, "d_ff"), 2048, 0);
    assert_int_equal(dropped(o, "checkpoint"), 1);

    o = observe(LOGS "megatron-train1.log", NULL);
    assert_near(o->figure[MFU_FIGURE_FLOPS], 44.8e12, 0.005);
    assert_near(o->mfu, 0.823, 0.005);

    o = observe(LOGS "by-hand.log", "batch 8 runtime compile");
    assert_int_equal(o->n_compared, 12); /* every figure that it has */
    assert_near(o->figure[MFU_FIGURE_LOADER], 0.012, 1e-9);

    o = observe(LOGS "nanochat.log", NULL); /* on a card that cannot be it */
    assert_non_null(found(o, "faster-than-predicted"));
    assert_true(o->mfu > 1);
}

static void a_config_beside_the_log(void **state)
{
    struct mfu_observation *o = observe(LOGS "nanogpt-lines.log", NULL);

    (void)state;
    assert_near(understood(o, "batch"), 16, 0);
    assert_near(understood(o, "accum"), 32, 0);
    assert_near(understood(o, "n_embd"), 384, 0);
    assert_int_equal(dropped(o, "warm-up"), 5);
    o = observe_on("rtx4070", LOGS "nanogpt-train1.log", LOGS "nanogpt-lines.py", NULL);
    assert_near(understood(o, "batch"), 8, 0); /* the log's word is the last */
}

/* ---- steady state ------------------------------------------------------------ */

static void windows_are_dropped_without_a_word(void **state)
{
    SCRATCH s = scratch_new();
    char text[8192];
    size_t used = 0;
    struct mfu_observation *o;

    (void)state;
    for (int i = 0; i < 100; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "step %d step_ms %d\n", i,
                                 i < 3             ? 9000 - 2000 * i
                                     : i % 25 == 0 ? 1800
                                     : i == 60     ? 1500
                                                   : 1000 + i % 3);
    o = observe(scratch_file(&s, "run.log", text), NULL);
    assert_int_equal(dropped(o, "warm-up"), 3);
    assert_int_equal(dropped(o, "evaluation") + dropped(o, "outlier"), 4);
    assert_int_equal(o->lines_used, 93);
    assert_near(o->figure[MFU_FIGURE_TIME], 1.001, 1e-9);
}

/* ---- findings ---------------------------------------------------------------- */

static void gaps_have_candidates(void **state)
{
    struct mfu_observation *o = observe(NULL, "step_ms 14000 batch 8 accum 64 runtime compile");

    (void)state;
    assert_non_null(found(o, "slower-than-predicted"));
    assert_true(o->n_candidates > 0);
    for (int i = 0; i < o->n_candidates; i++)
        assert_true(o->candidates[i].share > 0 && o->candidates[i].confirm && o->candidates[i].change[0]);

    for (int i = 0; i < 2; i++) { /* what rules is named */
        const char *loader = i ? "dataloader_ms 1e4" : "host.loader 1";
        char figures[80];

        snprintf(figures, sizeof figures, "step_ms 640000 batch 8 accum 64 runtime compile %s", loader);
        o = observe(NULL, figures);
        assert_non_null(found(o, "input-bound"));
        assert_int_equal(strncmp(found(o, "input-bound")->message, loader, strcspn(loader, " ")), 0);
    }
    o = observe(NULL, "step_ms 14000 loader_ms 4000 batch 8 accum 64 runtime compile");
    assert_non_null(found(o, "input-bound"));
    assert_non_null(strstr(o->candidates[0].change, "loader"));

    o = observe(NULL, "step_ms 18000 batch 8 accum 64 runtime compile utilization 55");
    assert_non_null(found(o, "launch-bound"));

    o = observe(NULL, "step_ms 9340 batch 8 accum 64 runtime compile utilization 55"); /* an MFU of 82 % */
    assert_null(found(o, "launch-bound"));

    o = observe(NULL, "step_ms 9340 batch 8 accum 64 runtime compile memory_used 11.3GiB");
    assert_non_null(found(o, "memory-pressure"));
}

static void parallel_runs_keep_their_figures(void **state)
{
    struct mfu_observation *o = observe(NULL, "step_ms 1300 mfu 40 batch 8 accum 8 gpus 64 nodes 8 tp 2");

    (void)state;
    assert_true(o->predicted);
    assert_near(o->figure[MFU_FIGURE_TIME], 1.3, 1e-9);
}

/* ---- what cannot be read ------------------------------------------------------ */

static void refusals(void **state)
{
    SCRATCH s = scratch_new();

    (void)state;
    refused("/nonexistent.log", NULL, "No such file");
    refused("/dev/null", NULL, "not a regular file");
    refused(scratch_file(&s, "empty", ""), NULL, "empty");
    refused(scratch_file(&s, "prose", "nothing to see\n"), NULL, "nanoGPT");
    refused(
        scratch_file(&s, "nan", "iter 0: loss nan, time nanms, mfu nan%\niter 1: loss 1, time -5ms, mfu -100.00%\n"),
        NULL, "no usable step");
    refused(
        scratch_file(&s, "two",
                     "Overriding: batch_size = 8\niter 0: loss 1, time 9ms, mfu 1.00%\nOverriding: batch_size = 9\n"),
        NULL, "two runs");
    refused(LOGS "nanogpt-contradictory.log", NULL, "contradictory");
    refused(LOGS "nanogpt-train1.log", "batch 16", "the log says 8");
    refused(NULL, "stepp_ms 12", "neither a figure");
    refused(NULL, "step_ms fast", "expected");
    refused(NULL, "batch 8", "no figure");
    refused(NULL, "memory_allocated 7.4", "expected");
    refused(NULL, "step_ms 100 tokens_per_s 1M batch 8 accum 4", "contradictory");
}

static void long_lines_and_colours(void **state)
{
    SCRATCH s = scratch_new();
    size_t size = 300000;
    char *text = malloc(size + 200);
    struct mfu_observation *o;

    (void)state;
    assert_non_null(text);
    memset(text, 'x', size);
    strcpy(text + size, "\n\033[32miter 7: loss 3.1, time 9340.00ms, mfu 15.40%\033[39m\r\n");
    o = observe(scratch_file(&s, "long.log", text), NULL);
    assert_int_equal(o->lines_used, 1);
    assert_int_equal(o->first_line, 2);
    free(text);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_wide_run),
        cmocka_unit_test(the_narrow_run_and_its_size),
        cmocka_unit_test(by_hand),
        cmocka_unit_test(ways_to_write_a_pair),
        cmocka_unit_test(other_formats),
        cmocka_unit_test(what_each_format_says),
        cmocka_unit_test(a_config_beside_the_log),
        cmocka_unit_test(windows_are_dropped_without_a_word),
        cmocka_unit_test(gaps_have_candidates),
        cmocka_unit_test(parallel_runs_keep_their_figures),
        cmocka_unit_test(refusals),
        cmocka_unit_test(long_lines_and_colours),
    };

    return cmocka_run_group_tests(tests, open_catalog, close_observing);
}
