/* test_report.c - how answers look, on paper and in JSON. */
#include "plans.h"
#include "owned.h"

#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>

#include "answer/validate/validate.h"
#include "answer/fields/fields.h"
#include "descriptor/maker.h"
#include "report/json/json.h"
#include "report/report.h"
#include "report/text/text.h"

static const struct {
    const char *gpu, *model, *settings[9];
} runs[] = {
    {"rtx4070", "gpt2", {"batch", "8", "accum", "64", "runtime", "compile"}},
    {"rtx4070", "gpt2", {"batch", "16", "vram_reserved", "2GB", "dataloader_ms", "9000"}},
    {"h100-sxm", "llama-2-7b", {"checkpoint", "full", "precision", "bf16-pure"}},
    {"a100-40gb-sxm", "gpt2", {"runtime", "llmc"}},
    {"h100-sxm", "gpt2", {"n_layer", "1", "attention", "math", "seq", "64", "n_embd", "96"}},
};

/* ---- text --------------------------------------------------------------- */

static int kernels(FILE *out, const struct mfu_term *t, const struct mfu_plan *p)
{
    return mfu_text_kernels(out, t, p);
}
static int roofline(FILE *out, const struct mfu_term *t, const struct mfu_plan *p)
{
    return mfu_text_roofline(out, t, p);
}
static int whole(FILE *out, const struct mfu_term *t, const struct mfu_plan *p)
{
    mfu_text_plan(out, t, p);
    return 0;
}
static int memory(FILE *out, const struct mfu_term *t, const struct mfu_plan *p)
{
    mfu_text_memory(out, t, p);
    return 0;
}
static int step(FILE *out, const struct mfu_term *t, const struct mfu_plan *p)
{
    mfu_text_step(out, t, p);
    return 0;
}
static int mfu(FILE *out, const struct mfu_term *t, const struct mfu_plan *p)
{
    mfu_text_mfu(out, t, p);
    return 0;
}

typedef int text_fn(FILE *, const struct mfu_term *, const struct mfu_plan *);
static text_fn *const texts[] = {whole, memory, kernels, roofline, step, mfu};

static char *text_of(text_fn *fn, const struct mfu_term *t, const struct mfu_plan *p)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    assert_int_equal(fn(out, t, p), 0);
    fclose(out);
    return text;
}

static int lines(const char *text)
{
    int n = 0;

    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static int widest_line(const char *text)
{
    int widest = 0, width = 0;

    for (; *text; text++) {
        width = *text == '\n' ? 0 : width + (((unsigned char)*text & 0xc0) != 0x80);
        widest = width > widest ? width : widest;
    }
    return widest;
}

static void text_stays_within_the_window(void **state)
{
    static const int widths[] = {40, 50, 64, 80, 100, 120, 200};
    PLAN p = {0};

    (void)state;
    for (size_t r = 0; r < LENGTH(runs); r++) {
        plan(&p, runs[r].gpu, runs[r].model, runs[r].settings);
        for (size_t w = 0; w < LENGTH(widths); w++)
            for (size_t i = 0; i < LENGTH(texts); i++)
                for (int utf8 = 0; utf8 < 2; utf8++) {
                    struct mfu_term t = {.width = widths[w], .height = 24, .utf8 = utf8};
                    char *text = text_of(texts[i], &t, &p);

                    if (widest_line(text) > widths[w])
                        fail_msg("%d columns:\n%s", widths[w], text);
                    for (const char *c = text; *c && !utf8; c++)
                        assert_true((unsigned char)*c < 0x80);
                    assert_null(strstr(text, "nan "));
                    assert_null(strstr(text, "inf "));
                    if (strstr(text, " \n"))
                        fail_msg("blanks at the end of a line:\n%s", text);
                    assert_int_equal(text[strlen(text) - 1], '\n');
                    free(text);
                }
    }
}

static void a_plan_is_one_screen(void **state)
{
    struct mfu_term t = {.width = 80, .height = 24, .utf8 = true};
    PLAN p = {0};

    (void)state;
    for (size_t r = 0; r < LENGTH(runs); r++) {
        char *text;

        plan(&p, runs[r].gpu, runs[r].model, runs[r].settings);
        text = text_of(whole, &t, &p);
        if (lines(text) > 22)
            fail_msg("%d lines:\n%s", lines(text), text);
        free(text);
    }
}

static void colour_only_repeats(void **state)
{
    struct mfu_term plain = {.width = 80, .height = 24, .utf8 = true}, colored = plain;
    PLAN p = {0};

    (void)state;
    colored.color = true;
    plan(&p, runs[1].gpu, runs[1].model, runs[1].settings);
    for (size_t i = 0; i < LENGTH(texts); i++) {
        char *a = text_of(texts[i], &plain, &p), *b = text_of(texts[i], &colored, &p), *to = b;

        assert_non_null(strstr(b, "\033["));
        for (const char *from = b; *from;)
            if (*from == '\033')
                from = strchr(from, 'm') + 1;
            else
                *to++ = *from++;
        *to = '\0';
        assert_string_equal(a, b);
        free(a);
        free(b);
    }
}

/* The bar of a plan has a mark of its own for every part. */
static void parts_have_marks_of_their_own(void **state)
{
    (void)state;
    for (int utf8 = 0; utf8 < 2; utf8++)
        for (int i = 0; i < MFU_PART_COUNT + 4; i++) /* and what is outside the allocator */
            for (int j = 0; j < i; j++) {
                char *mark[2];

                for (int k = 0; k < 2; k++) {
                    struct mfu_term t = {.width = 80, .height = 24, .utf8 = utf8};
                    size_t size;
                    FILE *out = open_memstream(&mark[k], &size);

                    mfu_text_mark(out, &t, k ? i : j);
                    fclose(out);
                }
                assert_string_not_equal(mark[0], mark[1]);
                free(mark[0]);
                free(mark[1]);
            }
}

static void the_plan_says_what_matters(void **state)
{
    struct mfu_term t = {.width = 80, .height = 24, .utf8 = false};
    PLAN p = {0};
    char *text;

    (void)state;
    plan(&p, runs[0].gpu, runs[0].model, runs[0].settings);
    text = text_of(whole, &t, &p);
    assert_non_null(strstr(text, "GeForce RTX 4070, 12 GB"));
    assert_non_null(strstr(text, "= 524288 tokens/step"));
    assert_non_null(strstr(text, "58.3 TFLOP/s (bf16, dense)"));
    assert_non_null(strstr(text, "312 TFLOP/s"));
    assert_non_null(strstr(text, "fits"));
    assert_null(strstr(text, "note"));
    free(text);
    text = text_of(mfu, &t, &p);
    assert_non_null(strstr(text, "46 SMs x 512 FLOP per clock x 2.475 GHz"));
    free(text);

    p.scenario.gpu_given = false;
    p.memory.capacity_assumed = true;
    text = text_of(whole, &t, &p);
    assert_non_null(strstr(text, "no GPU chosen (gpu NAME): rtx4070"));
    assert_non_null(strstr(text, "capacity estimated"));
    free(text);

    plan(&p, runs[1].gpu, runs[1].model, runs[1].settings);
    text = text_of(whole, &t, &p);
    assert_non_null(strstr(text, "does not fit: "));
    assert_non_null(strstr(text, "other processes"));
    assert_non_null(strstr(text, "input: the loader takes 9 s"));
    assert_non_null(strchr(text, '!'));
    free(text);
}

/* ---- JSON --------------------------------------------------------------- */

static void assert_keys(const json_t *o, const char *const *keys)
{
    for (; *keys; keys++)
        if (!json_object_get(o, *keys))
            fail_msg("there is no \"%s\"", *keys);
}

static void numbers_are_whole_or_real_or_null(void **state)
{
    static const struct {
        double value;
        const char *text;
    } rows[] = {
        {0, "0"},
        {-0.0, "0"},
        {8, "8"},
        {0.5, "0.5"},
        {3.12e14, "312000000000000"},
        {NAN, "null"},
        {INFINITY, "null"},
        {-3, "-3"},
        {0x1p60, "1.15292150460685e18"},
        {-123.25, "-123.25"},
        {1e-5, "1e-5"},
        {0.0001220703125, "0.0001220703125"},
        {99999999999999.5, "99999999999999.5"},
        {999999999999.9999, "1000000000000.0"},
        {0.99999999999999999, "1"},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char text[MFU_JSON_NUMBER];

        assert_string_equal(mfu_json_number(rows[i].value, text), rows[i].text);
    }
    for (int i = 0; i < 200000; i++) { /* as jansson writes them, whatever they are */
        uint64_t bits = (uint64_t)i * 0x9e3779b97f4a7c15;
        double x = i % 2 ? ldexp((double)bits, (int)(bits % 130) - 90) : (double)(bits % 1000000007) / 1000;
        json_t *real = x == floor(x) && x < 0x1p53 ? json_integer((json_int_t)x) : json_real(x);
        char *theirs = json_dumps(real, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15)), ours[MFU_JSON_NUMBER];

        assert_string_equal(mfu_json_number(x, ours), theirs);
        free(theirs);
        json_decref(real);
    }
}

static void plan_has_everything_that_the_interface_names(void **state)
{
    static const char *const top[] = {"command", "schema", "scenario", "params", "memory",
                                      "step",    "mfu",    "bound",    "fits",   NULL};
    static const char *const scenario[] = {"gpu",
                                           "model",
                                           "batch",
                                           "accum",
                                           "precision",
                                           "runtime",
                                           "attention",
                                           "checkpoint",
                                           "optimizer",
                                           "grad_clip",
                                           "cuda_graphs",
                                           "gpus",
                                           "nodes",
                                           "dp",
                                           "tp",
                                           "pp",
                                           "vpp",
                                           "cp",
                                           "ep",
                                           "sp",
                                           "zero",
                                           "vram_reserved",
                                           "dataloader_ms",
                                           "clock_mhz",
                                           "power_w",
                                           "n_layer",
                                           "n_embd",
                                           "seq",
                                           "vocab_size",
                                           NULL};
    static const char *const params[] = {"total", "trainable", "non_embedding", "active", NULL};
    static const char *const memory_keys[] = {
        "fits",           "capacity_bytes", "parts",   "peak_allocated_bytes", "peak_reserved_bytes", "context_bytes",
        "smi_used_bytes", "fill",           "peak_at", "capacity_assumed",     "peak_tensors",        NULL};
    static const char *const step_keys[] = {
        "step_time_s",     "step_time_low_s", "step_time_high_s",        "forward_s",
        "backward_s",      "optimizer_s",     "communication_exposed_s", "idle_s",
        "tokens_per_step", "tokens_per_s",    "samples_per_s",           NULL};
    static const char *const mfu_keys[] = {
        "mfu",         "hfu", "peak_flops", "model_flops_per_step", "hardware_flops_per_step", "achieved_flops",
        "conventions", NULL};
    PLAN p = {0};
    json_t *o;

    (void)state;
    plan(&p, runs[0].gpu, runs[0].model, runs[0].settings);
    o = mfu_json(&mfu_record_plan, &p);
    assert_keys(o, top);
    assert_keys(json_object_get(o, "scenario"), scenario);
    assert_keys(json_object_get(o, "params"), params);
    assert_keys(json_object_get(o, "memory"), memory_keys);
    assert_keys(json_object_get(o, "step"), step_keys);
    assert_keys(json_object_get(o, "mfu"), mfu_keys);
    assert_string_equal(json_string_value(json_object_get(json_object_get(o, "scenario"), "gpu")), "rtx4070");
    assert_string_equal(json_string_value(json_object_get(json_object_get(o, "scenario"), "precision")), "bf16");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(o, "params"), "total")), 124373760);
    json_decref(o);
}

static void parts_are_a_partition_in_whole_bytes(void **state)
{
    static const char *const names[] = {"weights",     "gradients",   "optimizer", "ema",           "weight_casts",
                                        "activations", "logits_loss", "workspace", "communication", "other"};
    PLAN p = {0};

    (void)state;
    for (size_t r = 0; r < LENGTH(runs); r++) {
        json_t *o, *parts, *alive;
        json_int_t sum = 0, peak;

        plan(&p, runs[r].gpu, runs[r].model, runs[r].settings);
        o = mfu_json(&mfu_record_memory, &p);
        assert_string_equal(json_string_value(json_object_get(o, "command")), "memory");
        parts = json_object_get(o, "parts");
        assert_int_equal(json_array_size(parts), LENGTH(names));
        for (size_t i = 0; i < LENGTH(names); i++) {
            json_t *part = json_array_get(parts, i);

            assert_string_equal(json_string_value(json_object_get(part, "name")), names[i]);
            assert_true(json_is_integer(json_object_get(part, "bytes")));
            assert_true(json_integer_value(json_object_get(part, "bytes")) >= 0);
            sum += json_integer_value(json_object_get(part, "bytes"));
        }
        peak = json_integer_value(json_object_get(o, "peak_allocated_bytes"));
        assert_true(llabs(sum - peak) <= 1);
        alive = json_object_get(o, "peak_tensors");
        assert_true(json_array_size(alive) <= 12);
        for (size_t i = 1; i < json_array_size(alive); i++) {
            json_t *a = json_array_get(alive, i - 1), *b = json_array_get(alive, i);

            assert_true(json_number_value(json_object_get(a, "bytes")) * json_number_value(json_object_get(a, "copies"))
                        >= json_number_value(json_object_get(b, "bytes"))
                            * json_number_value(json_object_get(b, "copies")));
        }
        json_decref(o);
    }
}

static void kernels_have_every_key_and_sum_up(void **state)
{
    static const char *const keys[] = {"name",  "phase",     "kind",          "count",       "m",
                                       "n",     "k",         "flops",         "bytes",       "intensity",
                                       "bound", "time_s",    "share",         "flops_per_s", "bytes_per_s",
                                       "waves", "sm_active", "tensor_active", "dram_active", NULL};
    static const char *const roof_keys[] = {"name", "intensity", "flops_per_s", "share", "bound", NULL};
    PLAN p = {0};
    json_t *o, *row;
    size_t i;
    double sum = 0;

    (void)state;
    plan(&p, runs[0].gpu, runs[0].model, runs[0].settings);
    o = mfu_json(&mfu_record_kernels, &p);
    json_array_foreach(json_object_get(o, "kernels"), i, row)
    {
        assert_keys(row, keys);
        sum += json_number_value(json_object_get(row, "time_s"));
    }
    assert_near(sum, json_number_value(json_object_get(o, "total_time_s")), 1e-12);
    json_decref(o);

    o = mfu_json(&mfu_record_roofline, &p);
    assert_true(json_array_size(json_object_get(o, "ceilings")) >= 3);
    assert_near(json_number_value(json_object_get(o, "ridge")), 58.3e12 / 504e9, 1e-3);
    json_array_foreach(json_object_get(o, "kernels"), i, row) assert_keys(row, roof_keys);
    json_decref(o);
}

static void step_and_mfu_stand_alone(void **state)
{
    PLAN p = {0};
    json_t *o;

    (void)state;
    plan(&p, runs[0].gpu, runs[0].model, runs[0].settings);
    o = mfu_json(&mfu_record_step, &p);
    assert_string_equal(json_string_value(json_object_get(o, "command")), "step");
    assert_near(json_number_value(json_object_get(o, "step_time_s")), p.step.time_s, 1e-14);
    json_decref(o);
    o = mfu_json(&mfu_record_mfu, &p);
    assert_string_equal(json_string_value(json_object_get(o, "command")), "mfu");
    assert_near(json_number_value(json_object_get(o, "mfu")), p.mfu.mfu, 1e-14);
    json_decref(o);
}

/* ---- validation --------------------------------------------------------- */

static void validation_lists_every_row(void **state)
{
    struct mfu_validated rows[] = {
        {.id = "a",
         .source = "paper",
         .gpu = "h100-sxm",
         .runtime = "fused",
         .sharding = "none",
         .measured_step_s = 1,
         .predicted_step_s = 1.1,
         .low_s = 0.9,
         .high_s = 1.3,
         .error = 0.1,
         .measured_allocated_bytes = NAN,
         .predicted_allocated_bytes = 2e9,
         .measured_reserved_bytes = NAN,
         .predicted_reserved_bytes = 3e9,
         .ran = 1,
         .fits = 1,
         .assumed = "runtime=fused for te; accum=1"},
        {.id = "b",
         .gpu = "h100-sxm",
         .measured_step_s = NAN,
         .predicted_step_s = NAN,
         .low_s = NAN,
         .high_s = NAN,
         .error = NAN,
         .ran = -1,
         .skipped = "several GPUs"},
        {.id = "c",
         .gpu = "h100-sxm",
         .measured_step_s = NAN,
         .predicted_step_s = NAN,
         .low_s = NAN,
         .high_s = NAN,
         .error = NAN,
         .ran = -1,
         .skipped = "several GPUs"},
    };
    struct mfu_validation v = {
        .rows = rows,
        .n_rows = 3,
        .n_skipped = 2,
        .ran = 1,
        .ran_called_fit = 1,
        .step = {.n = 1, .mape = 0.1, .median = 0.1, .bias = 0.1, .p90 = 0.1, .worst_id = "a", .coverage90 = 1},
        .baseline = {.n = 0}};
    struct mfu_term t = {.width = 60, .height = 24};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    json_t *o = mfu_json(&mfu_record_validate, &v), *summary, *row;

    (void)state;
    row = json_array_get(json_object_get(o, "rows"), 0);
    assert_int_equal(json_array_size(json_object_get(row, "assumed")), 2);
    assert_true(json_is_null(json_object_get(row, "skipped")));
    assert_true(json_is_null(json_object_get(row, "measured_allocated_bytes")));
    row = json_array_get(json_object_get(o, "rows"), 1);
    assert_string_equal(json_string_value(json_object_get(row, "skipped")), "several GPUs");
    assert_true(json_is_null(json_object_get(row, "ran")));
    summary = json_object_get(o, "summary");
    assert_near(json_number_value(json_object_get(json_object_get(summary, "step"), "mape")), 0.1, 0);
    assert_true(json_is_null(json_object_get(json_object_get(summary, "memory_allocated"), "mape")));
    assert_int_equal(json_integer_value(json_object_get(json_object_get(summary, "fits"), "ran_called_fit")), 1);
    assert_int_equal(json_integer_value(json_object_get(summary, "skipped")), 2);
    json_decref(o);

    mfu_text_validation(out, &t, &v);
    fclose(out);
    assert_non_null(strstr(text, "3 rows: 1 predicted, 2 skipped."));
    assert_non_null(strstr(text, "several GPUs"));
    assert_non_null(strstr(text, "10.0 %"));
    assert_true(widest_line(text) <= 60);
    free(text);
}

/* ---- the pieces --------------------------------------------------------- */

static void bars_have_eighths_or_hashes(void **state)
{
    static const struct {
        double share;
        bool utf8;
        const char *bar;
    } rows[] = {
        {0.5, false, "####"},   {0.5, true, "\u2588\u2588\u2588\u2588"},
        {0, true, ""},          {1. / 64, true, "\u258f"},
        {2, false, "########"}, {-1, true, ""},
        {NAN, false, ""},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_term t = {.width = 80, .utf8 = rows[i].utf8};
        char *text = NULL;
        size_t size;
        FILE *out = open_memstream(&text, &size);

        assert_int_equal(mfu_text_bar(out, &t, rows[i].share, 8), mfu_text_width(rows[i].bar));
        fclose(out);
        assert_string_equal(text, rows[i].bar);
        free(text);
    }
}

/* Each line of the block behind the first empty line has its share in one column; what a meter hides may go on below it. */
static void check_columns(const char *gpu, const char *text)
{
    const char *line = strstr(text, "\n\n");
    size_t column = 0;

    assert_non_null(line);
    for (line += 2; *line && *line != '\n'; line = strchr(line, '\n') + 1) {
        size_t at = strcspn(line, "%");

        if (*line == ' ' || strncmp(line, "power", 5) == 0) /* which may be unknown */
            continue;
        column = column ? column : at;
        if (at != column)
            fail_msg("%s: %zu, not %zu: %.60s", gpu, at, column, line);
    }
    assert_true(column > 0);
}

static void meters_of_all_makers_stand_in_columns(void **state)
{
    static const char *const gpus[] = {"h100-sxm", "mi300x", "m4-max", "max-1550", "gaudi3"};
    PLAN p = {0};

    (void)state;
    for (size_t i = 0; i < LENGTH(gpus); i++) {
        struct mfu_term t = {.width = 100};
        char *text = NULL;
        size_t size;
        FILE *out = open_memstream(&text, &size);

        plan(&p, gpus[i], "gpt2", NULL);
        t.words = mfu_maker(p.config.gpu->vendor)->words;
        mfu_text_metrics(out, &t, &p);
        fclose(out);
        check_columns(gpus[i], text);
        free(text);
    }
}

/* What limits a step is said in sentences, whatever comes first in them. */
static void what_bounds_a_step_is_said_in_sentences(void **state)
{
    static const char *const loader_ms[] = {"0", "500"};
    PLAN p = {0};

    (void)state;
    for (size_t i = 0; i < LENGTH(loader_ms); i++) {
        struct mfu_term t = {.width = 1000};
        char *text = NULL;
        size_t size;
        FILE *out = open_memstream(&text, &size);

        plan(&p, "h100-sxm", "gpt2", (const char *[]){"batch", "1", "seq", "128", "dataloader_ms", loader_ms[i], NULL});
        assert_int_equal(p.limit, i ? MFU_LIMIT_INPUT : MFU_LIMIT_LAUNCH);
        mfu_text_plan(out, &t, &p);
        fclose(out);
        for (const char *at = strstr(text, "\nbound"); (at = strstr(at, ". "));)
            assert_false(*(at += 2) >= 'a' && *at <= 'z');
        free(text);
    }
}

/* What no token has, no convention of language models counts. */
static void conventions_are_those_of_models_with_tokens(void **state)
{
    static const char *const models[] = {"gpt2", "resnet-50"};
    PLAN p = {0};

    (void)state;
    for (size_t i = 0; i < LENGTH(models); i++) {
        json_t *o;

        plan(&p, "h100-sxm", models[i], NULL);
        o = mfu_json(&mfu_record_mfu, &p);
        assert_int_equal(json_array_size(json_object_get(o, "conventions")) > 0, i == 0);
        json_decref(o);
    }
}

static void widths_count_characters(void **state)
{
    char buf[16];

    (void)state;
    assert_int_equal(mfu_text_width(""), 0);
    assert_int_equal(mfu_text_width("8 \u00d7 4"), 5);
    /* As the C library counts them where it knows UTF-8, and the same where it does not. */
    for (uint32_t c = 0x20; c < 0xD7A4; c = c == 0x52F ? 0x1E00 : c == 0x1FFF ? 0x3041 : c == 0xA4C6 ? 0xAC00 : c + 1) {
        char text[5] = {0};
        wchar_t wide = (wchar_t)c;
        mbstate_t how = {0};
        int want;

        assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
        want = wcwidth(wide);
        if (!iswalpha((wint_t)wide) || want < 1 || wcrtomb(text, wide, &how) > 4)
            continue;
        assert_non_null(setlocale(LC_CTYPE, "C"));
        if (mfu_text_width(text) != want)
            fail_msg("U+%04X: %d, not %d columns", (unsigned)c, mfu_text_width(text), want);
    }
    assert_int_equal(mfu_text_width("e\u0301"), 1);
    assert_int_equal(mfu_text_width("\xff\xfe"), 2);
    assert_string_equal(mfu_percent_format(buf, 0.1234), "12.3 %");
    assert_string_equal(mfu_percent_format(buf, NAN), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_stays_within_the_window),
        cmocka_unit_test(a_plan_is_one_screen),
        cmocka_unit_test(colour_only_repeats),
        cmocka_unit_test(parts_have_marks_of_their_own),
        cmocka_unit_test(the_plan_says_what_matters),
        cmocka_unit_test(numbers_are_whole_or_real_or_null),
        cmocka_unit_test(plan_has_everything_that_the_interface_names),
        cmocka_unit_test(parts_are_a_partition_in_whole_bytes),
        cmocka_unit_test(kernels_have_every_key_and_sum_up),
        cmocka_unit_test(step_and_mfu_stand_alone),
        cmocka_unit_test(validation_lists_every_row),
        cmocka_unit_test(bars_have_eighths_or_hashes),
        cmocka_unit_test(widths_count_characters),
        cmocka_unit_test(meters_of_all_makers_stand_in_columns),
        cmocka_unit_test(what_bounds_a_step_is_said_in_sentences),
        cmocka_unit_test(conventions_are_those_of_models_with_tokens),
    };

    return cmocka_run_group_tests(tests, open_catalog, close_catalog);
}
