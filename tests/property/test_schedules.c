/*
 * Laws of plans under every schedule: no layer is lost, a step takes at least the work
 * of its busiest rank, schedules differ in bubbles and memory and in nothing else.
 */
#include "near.h"

#include <stdio.h>
#include <string.h>

#include "plan/exchanges.h"
#include "plans.h"
#include "scenario/setting.h"

static struct mfu_plan one;

static void plan_with(const char *schedule, const char *accum, const char *layers)
{
    plan(&one, "a100-80gb-sxm", "gpt2-medium",
         (const char *const[]){"pp", "4", "schedule", schedule, "accum", accum, "n_layer", layers, "runtime", "fused",
                               NULL});
}

static void every_schedule_plans_every_layer(void **state)
{
    double flops = 0;

    (void)state;
    for (size_t i = 0; i < mfu_schedule_count; i++) {
        const struct mfu_schedule *s = mfu_schedules[i];
        double layers = 0, copies = s->placement == MFU_PLACE_DUAL ? 2 : 1;

        plan_with(s->name, "16", "24");
        for (int k = 0; k < one.n_stages; k++) {
            layers += one.stages[k].layers;
            assert_true(one.step.time_s
                        >= one.config.accum / copies * (one.stages[k].forward_s + one.stages[k].backward_s));
            assert_true(one.stages[k].memory.peak.bytes <= one.memory.peak.bytes);
        }
        assert_int_equal(one.n_stages, 4);
        assert_near(layers, 24 * copies, 1e-12);
        assert_true(one.bubble >= 0 && one.bubble < (strcmp(s->name, "sequential") == 0 ? 0.8 : 0.5));
        if (i > 0)
            assert_near(one.mfu.model_flops, flops, 1e-9);
        flops = one.mfu.model_flops;
        assert_near(one.step.tokens, 16 * 1024, 1e-12);
    }
}

static double bubble_of(const char *schedule)
{
    plan_with(schedule, "16", "24");
    return one.bubble;
}

static double memory_of(const char *schedule)
{
    plan_with(schedule, "16", "24");
    return one.memory.peak.bytes;
}

static void zero_bubble_trades_memory_for_time(void **state)
{
    (void)state;
    assert_true(bubble_of("zb-h1") < bubble_of("1f1b"));
    assert_true(bubble_of("interleaved") < bubble_of("1f1b"));
    assert_true(bubble_of("zb-v") < bubble_of("1f1b"));
    assert_near(bubble_of("gpipe"), bubble_of("1f1b"), 0.05);
    assert_near(bubble_of("sequential"), 0.75, 0.05); /* of four, one works */
    assert_true(memory_of("sequential") < memory_of("1f1b"));
    assert_true(memory_of("gpipe") > memory_of("zb-h2"));
    assert_true(memory_of("zb-h2") > memory_of("1f1b"));
    assert_true(memory_of("interleaved") > memory_of("1f1b"));
    assert_true(memory_of("dualpipe") > memory_of("dualpipev")); /* parameters twice */
}

/* Chunks send vpp times as many messages, which cost a step something where they do not travel beside compute, as
 * Megatron's did not before October 2023. */
static void messages_in_the_way_cost_chunks_most(void **state)
{
    double times[2];

    (void)state;
    for (int off = 0; off < 2; off++) {
        plan(&one, "a100-80gb-sxm", "gpt2-medium",
             (const char *const[]){"pp", "4", "schedule", "interleaved", "accum", "16", "runtime", "fused",
                                   "overlap_p2p", off ? "off" : "on", NULL});
        times[off] = one.step.time_s;
    }
    assert_true(times[1] > times[0]);
    plan(&one, "a100-80gb-sxm", "gpt2-medium",
         (const char *const[]){"pp", "4", "schedule", "1f1b", "accum", "16", "overlap_p2p", "off", NULL});
    times[0] = one.step.time_s;
    plan(&one, "a100-80gb-sxm", "gpt2-medium",
         (const char *const[]){"pp", "4", "schedule", "1f1b", "accum", "16", NULL});
    assert_near(one.step.time_s, times[0], 0); /* which waits for each message anyway */
    plan(&one, "a100-80gb-sxm", "gpt2-medium",
         (const char *const[]){"pp", "4", "schedule", "interleaved", "accum", "16", "software", "2023", NULL});
    assert_near(one.config.setting[MFU_S_OVERLAP_P2P], 0, 0);
}

static double exposed_of_experts(void)
{
    struct mfu_exchange list[MFU_MOST_EXCHANGES];
    double sum_s = 0;

    for (int n = mfu_exchanges(&one, list); n-- > 0;)
        sum_s += strcmp(list[n].group, "ep") == 0 ? list[n].exposed_s : 0;
    return sum_s;
}

/* Beside another microbatch messages of experts are in the way as far as nothing computes meanwhile: less of them, and
 * never more time; all of them where a step has one microbatch. */
static void messages_of_experts_hide_beside_another_microbatch(void **state)
{
    static const char *const pipelines[][3] = {{"1", "1f1b", "1"},
                                               {"1", "1f1b", "8"},
                                               {"2", "interleaved", "8"},
                                               {"4", "dualpipe", "8"},
                                               {"2", "dualpipev", "8"}};
    static const char *const layouts[][2] = {{"4", "off"}, {"16", "off"}, {"16", "on"}};

    (void)state;
    for (size_t i = 0; i < LENGTH(pipelines); i++)
        for (size_t k = 0; k < LENGTH(layouts); k++) {
            double time_s[2], exposed_s[2];

            for (int on = 0; on < 2; on++) {
                plan(&one, "h100-sxm", "qwen3-30b-a3b",
                     (const char *const[]){"dp", "16", "ep", layouts[k][0], "fp8_dispatch", layouts[k][1], "pp",
                                           pipelines[i][0], "schedule", pipelines[i][1], "accum", pipelines[i][2],
                                           "runtime", "fused", "trainer", "megatron", "overlap_moe", on ? "on" : "off",
                                           NULL});
                time_s[on] = one.step.time_s;
                exposed_s[on] = exposed_of_experts();
            }
            if (pipelines[i][2][0] == '1') {
                assert_near(time_s[1], time_s[0], 0);
                continue;
            }
            assert_true(exposed_s[1] < exposed_s[0] && time_s[1] < time_s[0]);
            assert_true(time_s[0] - time_s[1] <= (exposed_s[0] - exposed_s[1]) * 1.2);
        }
}

static void plan_experts(const char *load, const char *capacity, const char *pad)
{
    plan(&one, "h100-sxm", "qwen3-30b-a3b",
         (const char *const[]){"gpus", "16", "ep", "16", "runtime", "fused", "trainer", "megatron", "expert_load", load,
                               "capacity_factor", capacity, "pad_experts", pad, NULL});
}

/* The fullest rank sets the pace; what has no place does not; padded experts are alike, as long as their places, which
 * are no work of the model. */
static void the_fullest_experts_set_the_pace(void **state)
{
    double even_s, fuller_s, model_flops, bytes;

    (void)state;
    plan_experts("1", "0", "off");
    even_s = one.step.time_s;
    model_flops = one.mfu.model_flops;
    bytes = one.memory.peak.bytes;
    plan_experts("1.5", "0", "off");
    fuller_s = one.step.time_s;
    assert_true(fuller_s > even_s && fuller_s < 1.5 * even_s);
    assert_near(one.mfu.model_flops, model_flops, 0);
    plan_experts("1.5", "1", "off");
    assert_near(one.step.time_s, even_s, 1e-12);
    plan_experts("1.5", "1.2", "off");
    assert_true(one.step.time_s > even_s && one.step.time_s < fuller_s);
    plan_experts("1.5", "1", "on");
    assert_near(one.step.time_s, even_s, 1e-12);
    for (int half = 0; half < 2; half++) {
        plan_experts("1.5", half ? "0.5" : "1.5", "on");
        assert_true(half ? one.step.time_s < even_s : one.step.time_s > even_s);
        assert_true(half ? one.memory.peak.bytes < bytes : one.memory.peak.bytes > bytes);
        assert_near(one.mfu.model_flops, model_flops, 1e-9);
        assert_true(half ? one.mfu.hardware_flops < model_flops : one.mfu.hardware_flops > model_flops);
    }
}

/* While the fullest rank computes, nothing hides that the others wait, merged or not. */
static void nothing_hides_the_fullest_experts(void **state)
{
    double time_s[2], routed_s = 0;

    (void)state;
    for (int full = 0; full < 2; full++) {
        plan(&one, "h100-sxm", "qwen3-30b-a3b",
             (const char *const[]){"gpus", "16", "ep", "16", "accum", "8", "runtime", "fused", "trainer", "megatron",
                                   "overlap_moe", "on", "expert_load", full ? "4" : "1", NULL});
        time_s[full] = one.step.time_s;
    }
    for (int k = 0; k < one.program.n_segments; k++)
        for (int i = one.program.segments[k].first; i < one.program.segments[k].first + one.program.segments[k].count;
             i++)
            if (one.program.launches[i].routed && !one.program.launches[i].communicates
                && strcmp(one.program.launches[i].op, "moe.route") != 0)
                routed_s += mfu_plan_times(&one, &one.program.segments[k]) * one.pricing.prices[i].time_s;
    assert_true(routed_s > 0 && time_s[1] - time_s[0] > 0.99 * (one.config.experts.load - 1) * routed_s);
}

/* Nothing is exposed for longer than it takes, whoever shards, overlaps or waits; together not more than the step has. */
static void what_is_exposed_is_a_part_of_its_time(void **state)
{
    static const char *const trainers[] = {"ddp", "torchtitan", "megatron-bridge", "nanotron"};
    static const char *const stages[] = {"0", "1", "2", "3"};
    struct mfu_exchange list[MFU_MOST_EXCHANGES];

    (void)state;
    for (size_t i = 0; i < mfu_schedule_count; i++)
        for (size_t k = 0; k < LENGTH(trainers) * LENGTH(stages); k++) {
            double sum_s = 0;

            plan(&one, "a100-80gb-sxm", "gpt2-medium",
                 (const char *const[]){"pp", "4", "schedule", mfu_schedules[i]->name, "accum", "8", "dp", "4", "zero",
                                       stages[mfu_schedules[i]->one_process ? 0 : k / LENGTH(trainers)], "trainer",
                                       trainers[k % LENGTH(trainers)], NULL});
            for (int n = mfu_exchanges(&one, list); n-- > 0;) {
                assert_true(list[n].exposed_s <= list[n].time_s * (1 + 1e-9));
                sum_s += list[n].exposed_s;
            }
            assert_true(sum_s <= one.step.communication_exposed_s * (1 + 1e-9));
        }
}

/* Where layers do not divide but do with two more, embedding and head count as one each. */
static void ends_count_as_layers(void **state)
{
    (void)state;
    plan_with("1f1b", "16", "22");
    assert_near(one.stages[0].layers, 5, 1e-12);
    assert_near(one.stages[1].layers, 6, 1e-12);
    assert_near(one.stages[3].layers, 5, 1e-12);
    plan_with("1f1b", "16", "23"); /* what is left over goes to the first */
    assert_near(one.stages[0].layers, 6, 1e-12);
    assert_near(one.stages[3].layers, 5, 1e-12);
    assert_true(one.config.setting[MFU_S_FIRST_STAGE_LESS] == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_schedule_plans_every_layer),
        cmocka_unit_test(zero_bubble_trades_memory_for_time),
        cmocka_unit_test(messages_in_the_way_cost_chunks_most),
        cmocka_unit_test(the_fullest_experts_set_the_pace),
        cmocka_unit_test(nothing_hides_the_fullest_experts),
        cmocka_unit_test(messages_of_experts_hide_beside_another_microbatch),
        cmocka_unit_test(what_is_exposed_is_a_part_of_its_time),
        cmocka_unit_test(ends_count_as_layers),
    };
    int failed = cmocka_run_group_tests(tests, open_catalog, close_catalog);

    mfu_plan_release(&one);
    return failed;
}
