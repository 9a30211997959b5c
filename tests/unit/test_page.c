/* test_page.c - texts whose figures are computed, and all pages there are. */
#include "near.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "report/words/template.h"
#include "answer/metric/table.h"
#include "plan/simulation.h"
#include "base/error.h"
#include "descriptor/catalog.h"
#include "report/words/pages.h"
#include "scenario/setting.h"

static struct mfu_catalog *catalog;
static struct mfu_scenario scenario;
static struct mfu_plan plan;
static struct mfu_simulation simulation;
static struct mfu_subject subject;

static void plan_it(const char *gpu, const char *model, const char *const *pairs)
{
    struct mfu_error err = {0};

    scenario = mfu_scenario_start(mfu_catalog_model(catalog, model, NULL), mfu_catalog_gpu(catalog, gpu, NULL));
    for (; pairs && *pairs; pairs += 2)
        assert_int_equal(mfu_scenario_set(&scenario, pairs[0], pairs[1], &err), 0);
    if (mfu_plan_make(&plan, &scenario, &err) < 0 || mfu_simulate(&plan, false, &simulation, &err) < 0)
        fail_msg("%s on %s: %s", model, gpu, err.text);
    memset(&subject, 0, sizeof subject);
    mfu_subject_change(&subject, &scenario, &plan);
}

static int set_up(void **state)
{
    (void)state;
    catalog = mfu_catalog_open(MFUPLAN_SOURCE_DIR, NULL, NULL);
    return catalog ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    mfu_plan_release(&plan);
    mfu_simulation_release(&simulation);
    mfu_catalog_free(catalog);
    return 0;
}

/* The text with its figures; the caller frees it. */
static char *filled(const char *text)
{
    struct mfu_error err = {0};
    char *result = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&result, &size);

    assert_non_null(out);
    if (mfu_page_fill(&subject, text, out, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    fclose(out);
    return result;
}

static void comes_out_as(const char *text, const char *wanted)
{
    char *got = filled(text);

    assert_string_equal(got, wanted);
    free(got);
}

static void figures_have_their_unit(void **state)
{
    static const char *const pairs[] = {"runtime", "compile", "batch", "8", "precision", "bf16-pure", NULL};

    (void)state;
    plan_it("h100-sxm", "gpt2", pairs);
    comes_out_as("{batch} x {seq}", "8 x 1024");
    comes_out_as("{sms} SMs", "132 SMs");
    comes_out_as("{1/4|%} {2^30|B} {1/1000|s} {1e12|FLOP/s}",
                 "25" MFU_NO_BREAK "% 1" MFU_NO_BREAK "GiB 1" MFU_NO_BREAK "ms 1" MFU_NO_BREAK "TFLOP/s");
    comes_out_as("{runtime} {precision} {gpu}", "compile bf16-pure H100" MFU_NO_BREAK "SXM5" MFU_NO_BREAK "80GB");
    comes_out_as("no braces", "no braces");
}

static void conditions_choose(void **state)
{
    static const char *const pairs[] = {"runtime", "compile", NULL};

    (void)state;
    plan_it("h100-sxm", "gpt2", pairs);
    comes_out_as("{runtime == compile ? yes : no}", "yes");
    comes_out_as("{runtime == eager ? yes : no}", "no");
    comes_out_as("{runtime == bf16 ? yes : no}", "no"); /* another setting's choice */
    comes_out_as("{batch > 1 ? many}.", ".");
    comes_out_as("{batch == 1 ? {sms > 100 ? large: {sms} : small} : many}", "large: 132");
    comes_out_as("{fits ? It fits. : }", "It fits.");
}

/* A word that several settings may be belongs to the one that is compared with it. */
static void a_word_is_of_the_setting_before_it(void **state)
{
    static const char *const pairs[] = {"lora", "16", "ema", "lerp", NULL};
    struct mfu_error err = {0};

    (void)state;
    plan_it("h100-sxm", "gpt2", pairs);
    for (int i = 0; i < MFU_SETTING_COUNT; i++)
        for (int k = 0; mfu_settings[i].choices && mfu_settings[i].choices[k]; k++) {
            char text[128];
            struct mfu_question *q;
            bool is = plan.config.setting[i] == k;

            if (mfu_scenario_key(&scenario, mfu_settings[i].choices[k], NULL).kind != MFU_KEY_NONE
                || strpbrk(mfu_settings[i].choices[k], "-.") || isdigit((unsigned char)*mfu_settings[i].choices[k]))
                continue; /* `lora` is a number, `bf16-pure` a difference, `16bit` neither */
            snprintf(text, sizeof text, "{%s == %s ? yes : no}", mfu_settings[i].key, mfu_settings[i].choices[k]);
            comes_out_as(text, is ? "yes" : "no");
            snprintf(text, sizeof text, "%s == %s", mfu_settings[i].key, mfu_settings[i].choices[k]);
            q = mfu_question_compile(&scenario, text, &err);
            assert_non_null(q);
            if ((mfu_question_ask(q, &plan) > 0) != is)
                fail_msg("%s", text);
            mfu_question_free(q);
        }
}

/* {... with KEY=VALUE}: what a plan of its own says. */
static void other_scenarios_are_planned(void **state)
{
    static const char *const pairs[] = {"batch", "2", "accum", "4", NULL};
    static const char *const sharded[] = {"batch", "2", "accum", "4", "gpus", "8", "zero", "2", NULL};
    struct mfu_error err = {0};
    struct mfu_figured f;
    double bytes, step_s;

    (void)state;
    plan_it("h100-sxm", "gpt2", sharded);
    bytes = plan.memory.peak.parts[MFU_PART_GRADIENTS];
    step_s = plan.step.time_s;
    plan_it("h100-sxm", "gpt2", pairs);
    assert_int_equal(mfu_subject_figure(&subject, "gradients_bytes with gpus=4*batch zero=2|B", &f, &err), 0);
    assert_near(f.value, bytes, 1e-12);
    assert_int_equal(mfu_subject_figure(&subject, "step_time_s with gpus=8 dp=gpus zero=2", &f, &err), 0);
    assert_near(f.value, step_s, 1e-12);
    assert_int_equal(f.dim, MFU_SECONDS);
    comes_out_as("{batch with batch=7} {batch} {accum}", "7 2 4");
    comes_out_as("{batch with accum=if(accum>1,accum,8)}", "2");
    comes_out_as("{step_time_s with tp=7}", "unknown"); /* which cannot be planned */
    assert_int_equal(mfu_subject_figure(&subject, "mfu with nothing=2", &f, &err), -1);
    assert_int_equal(mfu_subject_figure(&subject, "mfu with batch", &f, &err), -1);
}

/* What ZeRO holds is what its own plan says, whatever is planned now. */
static void sharding_is_explained_from_plans(void **state)
{
    static const char *const pairs[] = {"accum", "4", "gpus", "8", "runtime", "compile", "zero", NULL, NULL};

    (void)state;
    for (int zero = 0; zero <= 3; zero++) {
        char *text, line[MFU_QUANTITY_MAX + 32], figure[MFU_QUANTITY_MAX], stage[2] = {(char)('0' + zero), '\0'};
        const char *own[LENGTH(pairs)];
        const double *parts = plan.memory.peak.parts;

        memcpy(own, pairs, sizeof own);
        own[7] = stage;
        plan_it("h100-sxm", "llama-3-8b", own);
        for (size_t i = 0; mfu_page_any("terms", i); i++) {
            const struct mfu_page *page = mfu_page_any("terms", i);

            if (strcmp(page->name, "zero") != 0)
                continue;
            mfu_quantity_format(figure, parts[MFU_PART_WEIGHTS] + parts[MFU_PART_GRADIENTS] + parts[MFU_PART_OPTIMIZER],
                                MFU_BYTES);
            for (char *blank; (blank = strchr(figure, ' '));)
                *blank = '~';
            snprintf(line, sizeof line, "%s   %s,",
                     zero == 0       ? "DDP   "
                         : zero == 1 ? "ZeRO 1"
                         : zero == 2 ? "ZeRO 2"
                                     : "ZeRO 3",
                     figure);
            text = filled(mfu_page_body(page));
            for (char *at; (at = strstr(text, MFU_NO_BREAK));) {
                *at = '~';
                memmove(at + 1, at + 2, strlen(at + 2) + 1);
            }
            if (!strstr(text, line))
                fail_msg("%s: no '%s' in\n%s", page->language, line, text);
            free(text);
        }
    }
}

/* What is computed again depends on the runtime: in llm.c no product is. */
static void checkpointing_is_explained_by_the_runtime(void **state)
{
    static const char *const runtimes[] = {"llmc", "eager", "compile", "fused"};

    (void)state;
    for (size_t r = 0; r < LENGTH(runtimes); r++) {
        const char *pairs[] = {"batch", "8", "accum", "4", "runtime", runtimes[r], "checkpoint", "full", NULL};
        bool llmc = strcmp(runtimes[r], "llmc") == 0;
        char *figure;

        plan_it("h100-sxm", "gpt2", pairs);
        assert_int_equal(plan.mfu.hfu > plan.mfu.mfu, !llmc);
        figure = filled("{hardware_flops_per_step/model_flops_per_step - 1|%}");
        pairs[7] = "none";
        plan_it("h100-sxm", "gpt2", pairs);
        for (size_t i = 0; mfu_page_any("terms", i); i++) {
            const struct mfu_page *page = mfu_page_any("terms", i);
            char *text, *full;

            if (strcmp(page->name, "checkpointing") != 0)
                continue;
            text = filled(mfu_page_body(page));
            full = strstr(text, "\n    full ");
            assert_non_null(full);
            if (!strstr(full, figure) || !strstr(text, "-r 1") == llmc)
                fail_msg("%s, %s: %s in\n%s", page->language, runtimes[r], figure, text);
            free(text);
        }
        free(figure);
    }
}

static void notes_stay_when_the_plan_changes(void **state)
{
    struct mfu_error err = {0};
    struct mfu_note note;

    (void)state;
    plan_it("h100-sxm", "gpt2", NULL);
    assert_int_equal(mfu_subject_note(&subject, "before", "step_time_s", &err), 0);
    note = subject.notes[0];
    plan_it("t4", "gpt2", NULL);
    subject.notes[subject.n_notes++] = note;
    comes_out_as("{before < step_time_s ? slower : faster}", "slower");
    assert_int_equal(mfu_subject_note(&subject, "before", "2", &err), 0);
    assert_int_equal(subject.n_notes, 1);
    comes_out_as("{before}", "2");
}

static void without_a_plan_nothing_is_claimed(void **state)
{
    (void)state;
    plan_it("h100-sxm", "gpt2", NULL);
    mfu_subject_change(&subject, &scenario, NULL);
    comes_out_as("{mfu} {batch}{mfu > 1% ? good : bad}{fits ? fits : does not}", "unknown 1");
}

static void mistakes_are_named(void **state)
{
    static const char *const wrong[] = {"{mfuu}", "{mfu", "{mfu|cm}", "{}", "{1 +}", "{batch > 0 ? a : {nonsense}}"};
    struct mfu_error err = {0};
    FILE *out = fopen("/dev/null", "w");

    (void)state;
    plan_it("h100-sxm", "gpt2", NULL);
    assert_non_null(out);
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        mfu_error_clear(&err);
        assert_int_equal(mfu_page_fill(&subject, wrong[i], out, &err), -1);
        assert_true(err.text[0] != '\0');
    }
    fclose(out);
}

/* What a text says that is no figure: for comparing languages. */
static size_t count(const char *text, const char *what)
{
    size_t n = 0;

    for (; (text = strstr(text, what)); text++)
        n++;
    return n;
}

static void every_term_has_figures_of_any_scenario(void **state)
{
    static const struct {
        const char *gpu, *model, *pairs[10];
    } rows[] = {
        {"rtx4070", "gpt2", {NULL}},
        {"t4", "bert-large", {NULL}},
        {"h100-sxm", "mixtral-8x7b", {"checkpoint", "full", "runtime", "fused", NULL}},
        {"a100-80gb-sxm", "llama-3-8b", {"gpus", "8", "dp", "8", "accum", "4", NULL}},
        {"b200", "gemma-2-2b", {"dataloader_ms", "50", "cuda_graphs", "on", "precision", "fp8", NULL}},
        {"h100-sxm", "mamba2-1.3b", {"batch", "2", NULL}},
        {"h200-sxm", "deepseek-v2-lite", {"gpus", "8", "ep", "8", "accum", "4", NULL}},
        {"a100-80gb-sxm", "gpt2-large", {"ema", "loop", NULL}},
        {"rtx4090", "llama-3-8b", {"lora", "16", "base_precision", "nf4", "optimizer", "paged-adam8bit", NULL}},
    };
    const struct mfu_page *p;

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        plan_it(rows[i].gpu, rows[i].model, rows[i].pairs);
        for (size_t k = 0; (p = mfu_page_any("terms", k)); k++) {
            char *text = filled(mfu_page_body(p));

            if (strstr(text, "unknown") || strchr(text, '{') || strchr(text, '}') || strlen(text) < 100)
                fail_msg("%s/%s with %s on %s: %s", p->language, p->name, rows[i].model, rows[i].gpu, text);
            free(text);
        }
    }
}

static void a_page_has_a_head_and_exists_in_english(void **state)
{
    const struct mfu_page *p, *english;
    char text[512];

    (void)state;
    for (size_t i = 0; (p = mfu_page_any("terms", i)); i++) {
        assert_true(*mfu_page_term(p, text, sizeof text) && *mfu_page_summary(p, text, sizeof text));
        english = NULL;
        for (size_t k = 0; (english = mfu_page_at("terms", "en", k)) && strcmp(english->name, p->name) != 0; k++)
            ;
        if (!english)
            fail_msg("%s/%s has no English page", p->language, p->name);
    }
    for (size_t i = 0; (p = mfu_page_any("lessons", i)); i++) {
        size_t k = 0;

        while ((english = mfu_page_at("lessons", "en", k)) && strcmp(english->name, p->name) != 0)
            k++;
        if (!english)
            fail_msg("%s/%s has no English page", p->language, p->name);
        assert_int_equal(count(p->text, "\n> "), count(english->text, "\n> "));
        assert_int_equal(count(p->text, "\n? "), count(english->text, "\n? "));
        assert_int_equal(count(p->text, "\n= "), count(english->text, "\n= "));
    }
}

static void the_language_is_that_of_the_locale(void **state)
{
    char language[3];

    (void)state;
    assert_string_equal(mfu_page_language("de_AT.UTF-8", language), "de");
    assert_string_equal(mfu_page_language("fr", language), "fr");
    assert_string_equal(mfu_page_language("C.UTF-8", language), "en");
    assert_string_equal(mfu_page_language("POSIX", language), "en");
    assert_string_equal(mfu_page_language("", language), "en");
    /* A page that is not translated is English. */
    assert_string_equal(mfu_page_at("terms", "xx", 0)->language, "en");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_have_their_unit),
        cmocka_unit_test(conditions_choose),
        cmocka_unit_test(a_word_is_of_the_setting_before_it),
        cmocka_unit_test(other_scenarios_are_planned),
        cmocka_unit_test(sharding_is_explained_from_plans),
        cmocka_unit_test(checkpointing_is_explained_by_the_runtime),
        cmocka_unit_test(notes_stay_when_the_plan_changes),
        cmocka_unit_test(without_a_plan_nothing_is_claimed),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(every_term_has_figures_of_any_scenario),
        cmocka_unit_test(a_page_has_a_head_and_exists_in_english),
        cmocka_unit_test(the_language_is_that_of_the_locale),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
