/* test_rollout.c - prefill and decode: bytes of the cache, laws of time, measured rows. */
#include "near.h"

#include "answer/validate/validate.h"
#include "plan/rollout.h"
#include "scenarios.h"
#include "scratch.h"

static struct mfu_plan plan;

static int release(void **state)
{
    mfu_plan_release(&plan);
    return close_catalog(state);
}

static struct mfu_rollout_options options(double prompt, double answer, double sequences)
{
    struct mfu_rollout_options o = mfu_rollout_defaults();

    o.prompt = prompt;
    o.answer = answer;
    o.sequences = sequences;
    return o;
}

static struct mfu_rollout rollout(const char *gpu, const char *model, const char *settings,
                                  const struct mfu_rollout_options *o)
{
    struct mfu_scenario s = scenario_of(gpu, model, settings);
    struct mfu_rollout r;
    struct mfu_error err = {0};

    if (mfu_rollout(&s, o, &plan, &r, &err) < 0)
        fail_msg("%s", err.text);
    return r;
}

static void cache_holds_keys_and_values(void **state)
{
    struct mfu_rollout_options o = options(512, 512, 4);
    struct mfu_rollout r = rollout("h100-sxm", "llama-3-8b", "", &o), half;

    (void)state;
    assert_near(r.kv_token_bytes, 2. * 32 * 8 * 128 * 2, 1e-12);
    assert_near(r.kv_bytes, 4 * 1024 * r.kv_token_bytes, 1e-12);
    assert_near(r.weight_bytes, 2 * 8030261248., 1e-6);
    half = rollout("h100-sxm", "llama-3-8b", "gpus 2 tp 2", &o);
    assert_near(half.kv_token_bytes, r.kv_token_bytes / 2, 1e-12);
    o.kv = MFU_HELD_FP8;
    half = rollout("h100-sxm", "llama-3-8b", "", &o);
    assert_near(half.kv_token_bytes, r.kv_token_bytes / 2, 1e-12);
    assert_true(half.most_sequences >= 2 * r.most_sequences && half.most_sequences <= 2 * r.most_sequences + 1);
    o.kv = MFU_HELD_BF16;
    r = rollout("h100-sxm", "mistral-7b", "window 100", &o); /* a window forgets */
    assert_near(r.kv_bytes, 4 * 100 * r.kv_token_bytes, 1e-12);
    /* without grouped heads and tied: 2 L d */
    r = rollout("a100-80gb-sxm", "gpt2", "", &o);
    assert_near(r.kv_token_bytes, 2. * 12 * 768 * 2, 1e-12);
}

static void as_many_as_fit(void **state)
{
    struct mfu_rollout_options o = options(1000, 1000, 0);
    struct mfu_rollout r = rollout("rtx4090", "llama-3.2-3b", "", &o);

    (void)state;
    assert_true(r.fits && r.sequences == r.most_sequences && r.sequences > 1);
    assert_true(r.weight_bytes + r.kv_bytes + r.activation_bytes + r.context_bytes < r.capacity_bytes);
    o.sequences = r.sequences + 1;
    assert_false(rollout("rtx4090", "llama-3.2-3b", "", &o).fits);
    o.most = 2;
    o.sequences = 0;
    assert_near(rollout("rtx4090", "llama-3.2-3b", "", &o).sequences, 2, 0);
    assert_false(rollout("rtx4090", "llama-3-70b", "", &o).fits);
}

/* Nothing is faster than reading all weights and the cache once a step, or than the peak. */
static void physics_bounds_every_rate(void **state)
{
    static const char *const gpus[] = {"a100-80gb-sxm", "h100-sxm", "rtx4090", "b200"};

    (void)state;
    for (size_t g = 0; g < sizeof gpus / sizeof *gpus; g++)
        for (double n = 1; n <= 256; n *= 16) {
            struct mfu_rollout_options o = options(2048, 256, n);
            struct mfu_rollout r = rollout(gpus[g], "llama-3.2-1b", "", &o);
            const struct mfu_gpu *gpu = plan.config.gpu;
            double read = r.weight_bytes + n * r.kv_token_bytes * (o.prompt + o.answer / 2);
            double flops = 2 * 973e6 * o.prompt; /* of the linears in layers */

            assert_true(r.token_s > read / gpu->bandwidth_bytes_s);
            assert_true(r.first_token_s > flops / gpu->peak_flops[MFU_PEAK_BF16]);
            assert_true(r.low_s < r.seconds && r.seconds < r.high_s);
            assert_near(r.answer_tokens, n * o.answer, 1e-9);
        }
}

static void laws_of_time(void **state)
{
    struct mfu_rollout_options o = options(1024, 512, 1);
    struct mfu_rollout one = rollout("a100-80gb-sxm", "qwen2.5-7b", "", &o), other;

    (void)state;
    o.sequences = 64; /* longer steps, more tokens */
    other = rollout("a100-80gb-sxm", "qwen2.5-7b", "", &o);
    assert_true(other.token_s > one.token_s && other.tokens_per_s > 20 * one.tokens_per_s);
    o = options(16384, 512, 1); /* a longer cache */
    other = rollout("a100-80gb-sxm", "qwen2.5-7b", "", &o);
    assert_true(other.token_s > one.token_s && other.first_token_s > 10 * one.first_token_s);
    o = options(1024, 512, 1);
    o.weights = MFU_HELD_INT4; /* fewer bytes, not four times as fast */
    other = rollout("a100-80gb-sxm", "qwen2.5-7b", "", &o);
    assert_true(other.token_s < 0.75 * one.token_s && other.token_s > 0.25 * one.token_s);
    o.weights = MFU_HELD_BF16;
    o.sender = MFU_SENDER_GENERATE; /* the host decides, whatever the width */
    other = rollout("a100-80gb-sxm", "qwen2.5-7b", "", &o);
    assert_int_equal(other.decode_limit, MFU_LIMIT_LAUNCH);
    assert_true(other.token_s > one.token_s);
    o = options(1024, 512, 64);
    one = rollout("a100-80gb-sxm", "qwen2.5-7b", "", &o);
    o.shortest = 0; /* half of the tokens, in more than half of the time */
    other = rollout("a100-80gb-sxm", "qwen2.5-7b", "", &o);
    assert_near(other.answer_tokens, one.answer_tokens / 2, 0.02);
    assert_true(other.seconds < one.seconds && other.tokens_per_s < one.tokens_per_s);
    o = options(1024, 512, 1); /* training settings play no part */
    one = rollout("a100-80gb-sxm", "qwen2.5-7b", "", &o);
    other = rollout("a100-80gb-sxm", "qwen2.5-7b", "batch 8 accum 4 runtime compile checkpoint full lora 16", &o);
    assert_near(other.seconds, one.seconds, 0);
}

static void what_is_not_modelled_is_refused(void **state)
{
    struct mfu_rollout_options o = options(512, 512, 1);
    struct mfu_scenario s = scenario_of("h100-sxm", "llama-3-8b", "gpus 2 pp 2 accum 4");
    struct mfu_rollout r;
    struct mfu_error err = {0};

    (void)state;
    assert_int_equal(mfu_rollout(&s, &o, &plan, &r, &err), -1);
    assert_non_null(strstr(err.text, "pp"));
    s = scenario_of("h100-sxm", "rwkv7-1.5b", "");
    assert_int_equal(mfu_rollout(&s, &o, &plan, &r, &err), -1);
    assert_non_null(strstr(err.text, "causal"));
    s = scenario_of("h100-sxm", "bert-base", "");
    assert_int_equal(mfu_rollout(&s, &o, &plan, &r, &err), -1);
    assert_non_null(strstr(err.text, "writes no text"));
    s = scenario_of("m4-max", "gpt2", ""); /* the engine is named, not a runtime that nobody set */
    assert_int_equal(mfu_rollout(&s, &o, &plan, &r, &err), -1);
    assert_non_null(strstr(err.text, "engine"));
}

static void measured_rows(void **state)
{
    static const char text[] =
        "id,source,engine,gpu,tp,pp,model,weight_dtype,kv_dtype,isl,osl,batch,out_tok_s,ttft_ms\n"
        "a,s,vllm,a100-80gb-sxm,1,1,Qwen2.5-7B-Instruct,bf16,bf16,1,2048,1,84.3,\n"
        "b,s,engine,h100-sxm,1,1,LLaMA v3.1 8B,fp8,fp8,1000,1000,,15244.78,\n"
        "c,s,engine,h100-sxm,1,1,GPT-J 6B,fp8,fp8,2048,1,1,,29\n"
        "d,s,engine,h100-sxm,1,1,No such model,fp8,fp8,128,1,1,,7\n"
        "e,s,engine,h100-sxm,1,2,LLaMA v3.1 8B,fp8,fp8,128,1,1,,7\n"
        "f,s,engine,h100-sxm,1,1,LLaMA v3.1 8B,fp8,fp8,long,1,1,,7\n"
        "g,s,engine,h100-sxm,1,1,LLaMA v3.1 8B,fp9,fp8,128,1,1,,7\n"
        "h,s,engine,h100-sxm,1,1,LLaMA v3.1 8B,fp8,fp8,128,1,1,,\n";
    static const char *const skipped[] = {"No such", "pipeline", "isl", "fp9", "neither"};
    struct mfu_error err = {0};
    struct mfu_validation *all;
    SCRATCH s = scratch_new();

    (void)state;
    all = mfu_validate(catalog, scratch_file(&s, "rates.csv", text), &err);
    assert_non_null(all);
    assert_int_equal(all->n_rows, 8);
    assert_int_equal(all->step.n, 3);
    assert_near(all->rows[0].measured_step_s, 1 / 84.3, 1e-12);
    assert_near(all->rows[2].measured_step_s, 0.029, 1e-12);
    for (int i = 0; i < 3; i++) {
        assert_true(fabs(all->rows[i].error) < 0.3);
        assert_true(all->rows[i].low_s < all->rows[i].predicted_step_s);
    }
    assert_non_null(strstr(all->rows[1].assumed, "as many"));
    for (int i = 0; i < 5; i++)
        if (!strstr(all->rows[3 + i].skipped, skipped[i]))
            fail_msg("'%s' has no '%s'", all->rows[3 + i].skipped, skipped[i]);
    mfu_validation_free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cache_holds_keys_and_values),     cmocka_unit_test(as_many_as_fit),
        cmocka_unit_test(physics_bounds_every_rate),       cmocka_unit_test(laws_of_time),
        cmocka_unit_test(what_is_not_modelled_is_refused), cmocka_unit_test(measured_rows),
    };

    return cmocka_run_group_tests(tests, open_catalog, release);
}
