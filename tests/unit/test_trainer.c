/* test_trainer.c - what trainers overlap, what a system makes of everything, and which cached memory counts. */
#include "plans.h"
#include "owned.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/setting.h"

static void every_name_of_a_trainer_is_one_trainer(void **state)
{
    (void)state;
    for (int i = 0; i < MFU_TRAINER_COUNT; i++) {
        char words[128];

        assert_int_equal(mfu_setting_choice(MFU_S_TRAINER, mfu_trainers[i].name, NULL), i);
        snprintf(words, sizeof words, "%s", mfu_trainers[i].aliases ? mfu_trainers[i].aliases : "");
        for (char *rest = words, *word; (word = strtok_r(rest, " ", &rest));)
            assert_int_equal(mfu_setting_choice(MFU_S_TRAINER, word, NULL), i);
    }
}

static void a_trainer_brings_its_overlap_unless_that_is_set(void **state)
{
    PLAN p = {0};

    (void)state;
    for (int i = 0; i < MFU_TRAINER_COUNT; i++) {
        const struct mfu_trainer *t = &mfu_trainers[i];

        plan(&p, "h100-sxm", "llama-3-8b", (const char *[]){"gpus", "8", "trainer", t->name, NULL});
        assert_int_equal(p.config.setting[MFU_S_OVERLAP_GRAD_REDUCE], t->overlaps_reduce);
        assert_int_equal(p.config.setting[MFU_S_TP_OVERLAP], t->tp_overlap);
        assert_int_equal(p.config.setting[MFU_S_RUNTIME], t->runtime);
        plan(&p, "h100-sxm", "llama-3-8b",
             (const char *[]){"gpus", "8", "trainer", t->name, "tp_overlap", "products", NULL});
        assert_int_equal(p.config.setting[MFU_S_TP_OVERLAP], MFU_TP_PRODUCTS);
        plan(&p, "h100-sxm", "llama-3-8b", (const char *[]){"gpus", "8", "trainer", t->name, "software", "2020", NULL});
        assert_int_equal(p.config.setting[MFU_S_TP_OVERLAP],
                         t->tp_overlap_since > 2020 ? MFU_TP_IN_THE_WAY : t->tp_overlap);
    }
}

/* Megatron counts parameters of a bucket, whatever type their gradients are summed in, and more of them where more ranks
 * share a message. */
static void megatrons_buckets_count_parameters(void **state)
{
    PLAN p = {0};
    double wide;

    (void)state;
    for (int i = 0; i < MFU_TRAINER_COUNT; i++) {
        const struct mfu_trainer *t = &mfu_trainers[i];

        if (!(t->bucket_elements > 0))
            continue;
        plan(&p, "h100-sxm", "llama-3-8b",
             (const char *[]){"gpus", "8", "trainer", t->name, "precision", "bf16", NULL});
        wide = p.config.setting[MFU_S_GRAD_BUCKET];
        assert_float_equal(wide, 4 * t->bucket_elements, 1);
        plan(&p, "h100-sxm", "llama-3-8b",
             (const char *[]){"gpus", "8", "trainer", t->name, "precision", "bf16", "grad_reduce", "bf16", NULL});
        assert_float_equal(p.config.setting[MFU_S_GRAD_BUCKET], wide / 2, 1);
        plan(&p, "h100-sxm", "llama-3-8b",
             (const char *[]){"gpus", "1024", "tp", "2", "trainer", t->name, "precision", "bf16", NULL});
        assert_float_equal(p.config.setting[MFU_S_GRAD_BUCKET],
                           4 * fmax(t->bucket_elements, 512 * t->bucket_elements_rank), 1);
    }
}

/* torchtitan's tensor ranks have a part of the rows each, unless that is set or cannot be. */
static void tensor_ranks_split_rows_as_their_trainer_does(void **state)
{
    static const struct {
        const char *trainer, *model, *sp;
        bool splits;
    } rows[] = {{"torchtitan", "llama-3-8b", NULL, true}, {"torchtitan", "llama-3-8b", "off", false},
                {"torchtitan", "vit-b-16", NULL, false},  {"fsdp", "llama-3-8b", NULL, false},
                {"fsdp", "llama-3-8b", "on", true},       {"megatron-te", "llama-3-8b", NULL, false}};
    PLAN p = {0};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        plan(&p, "h100-sxm", rows[i].model,
             (const char *[]){"gpus", "8", "trainer", rows[i].trainer, "tp", "2", rows[i].sp ? "sp" : NULL, rows[i].sp,
                              NULL});
        assert_int_equal(p.config.setting[MFU_S_SP], rows[i].splits);
    }
    plan(&p, "h100-sxm", "llama-3-8b", (const char *[]){"gpus", "8", "trainer", "torchtitan", NULL});
    assert_int_equal(p.config.setting[MFU_S_SP], 0);
}

/* ZeRO 3's host handles each weight as often as its module runs: in backward once more where that is run again. */
static void weights_are_gathered_for_each_pass(void **state)
{
    static const struct {
        const char *checkpoint, *layers;
        double passes;
    } rows[] = {{"none", "0", 1}, {"full", "0", 2}, {"full", "3", 1.25}};
    PLAN p = {0};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double host_s[2][2];

        for (int slow = 0; slow < 2; slow++) {
            plan(&p, "a100-80gb-sxm", "gpt2",
                 (const char *[]){"trainer", "deepspeed", "zero", "3", "checkpoint", rows[i].checkpoint,
                                  "checkpoint_layers", rows[i].layers, "dispatch.zero", slow ? "4ms" : "3ms", NULL});
            host_s[slow][0] = p.dispatch_s[MFU_FORWARD] * p.sums.launches[MFU_FORWARD];
            host_s[slow][1] = p.dispatch_s[MFU_BACKWARD] * p.sums.launches[MFU_BACKWARD];
        }
        assert_near(host_s[1][0] - host_s[0][0], 1e-3 * p.program.weight_tensors, 1e-9);
        assert_near((host_s[1][1] - host_s[0][1]) / (host_s[1][0] - host_s[0][0]), rows[i].passes, 1e-9);
    }
}

/* A stage's host handles the weights of its own layers, and those once a step where they stay gathered. */
static void a_stage_gathers_its_own_weights(void **state)
{
    static const char *const stages[] = {"1", "4"};
    PLAN p = {0};

    (void)state;
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        double host_s[2];

        for (int slow = 0; slow < 2; slow++) {
            plan(&p, "a100-80gb-sxm", "gpt2",
                 (const char *[]){"gpus", "8", "trainer", "torchtitan", "zero", "3", "pp", stages[i], "accum", "8",
                                  "dispatch.zero", slow ? "4ms" : "3ms", NULL});
            host_s[slow] = p.dispatch_s[MFU_FORWARD] * p.sums.launches[MFU_FORWARD];
        }
        assert_near(host_s[1] - host_s[0], 1e-3 * p.program.weight_tensors / strtod(stages[i], NULL) * (i == 0 ? 8 : 1),
                    1e-9);
    }
}

/* The GPU waits for transformers' loop at each micro-step, in the sums and in the simulation, whoever is slower. */
static void the_loop_is_waited_for(void **state)
{
    PLAN p = {0};

    (void)state;
    for (int long_ones = 0; long_ones < 2; long_ones++) {
        double step_s[2], simulated_s[2];

        for (int loop = 0; loop < 2; loop++) {
            struct mfu_simulation s = {0};

            plan(&p, "a100-80gb-sxm", "gpt2",
                 (const char *[]){"accum", "4", "seq", long_ones ? "1024" : "16", "host.loop", "1ms", "loop",
                                  loop ? "transformers" : "plain", NULL});
            step_s[loop] = p.step.time_s;
            assert_int_equal(mfu_simulate(&p, false, &s, NULL), 0);
            simulated_s[loop] = p.step.time_s;
            mfu_simulation_release(&s);
        }
        assert_near(step_s[1] - step_s[0], 4e-3 * p.program.weight_tensors, 1e-9);
        assert_near(simulated_s[1] - simulated_s[0], 4e-3 * p.program.weight_tensors, 1e-9);
    }
}

/* Ranks wait for the last of them once a step, where they sum gradients beside backward: however many micro-steps there are
 * and whoever updates, in the sums and in the simulation; one GPU has nobody to wait for. */
static void ranks_are_waited_for_once(void **state)
{
    static const struct {
        const char *gpus, *zero, *accum, *trainer;
        double times;
    } rows[] = {{"8", "0", "1", "ddp", 1},       {"8", "0", "16", "ddp", 1}, {"8", "1", "2", "ddp", 1},
                {"16", "0", "4", "nanotron", 1}, {"8", "3", "1", "fsdp", 1}, {"1", "0", "1", "ddp", 0},
                {"8", "0", "4", "megatron", 0}};
    PLAN p = {0};

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        double step_s[2], simulated_s[2];

        for (int late = 0; late < 2; late++) {
            struct mfu_simulation s = {0};

            plan(&p, "a100-80gb-sxm", "gpt2",
                 (const char *[]){"gpus", rows[i].gpus, "trainer", rows[i].trainer, "zero", rows[i].zero, "accum",
                                  rows[i].accum, "host.ranks", late ? "90ms" : "0s", NULL});
            step_s[late] = p.step.time_s;
            assert_int_equal(mfu_simulate(&p, false, &s, NULL), 0);
            simulated_s[late] = p.step.time_s;
            mfu_simulation_release(&s);
        }
        assert_near(step_s[1] - step_s[0], 90e-3 * rows[i].times, 1e-9);
        assert_near(simulated_s[1] - simulated_s[0], 90e-3 * rows[i].times, 1e-9);
    }
}

/* Bytes that the kernels of a name write in a micro-step, and calls of them. */
static double written_by(const struct mfu_plan *p, const char *ending, double *calls)
{
    double bytes = 0;

    *calls = 0;
    for (int k = 0; k < p->program.n_segments; k++) {
        const struct mfu_segment *s = &p->program.segments[k];

        for (int i = s->first; i < s->first + s->count; i++) {
            const struct mfu_launch *l = &p->program.launches[i];
            char text[128];
            const char *name = mfu_launch_name(l, text, sizeof text);
            size_t n = strlen(name), m = strlen(ending);

            if (n < m || strcmp(name + n - m, ending) != 0)
                continue;
            bytes += s->repeat * l->work->kernel.write_bytes;
            *calls += s->repeat * l->work->kernel.launches;
        }
    }
    return bytes;
}

/* Before PyTorch 2.0 its zero_grad() wrote zeros, to which every micro-step adds, one kernel for each tensor; whoever has
 * a buffer of his own fills that with one. */
static void gradients_stayed_before_zero_grad_freed_them(void **state)
{
    static const char *const years[] = {"2022", "2023"}, *const accums[] = {"1", "4"};
    PLAN p = {0};

    (void)state;
    for (int t = 0; t < MFU_TRAINER_COUNT; t++)
        for (int y = 0; y < 2; y++)
            for (int a = 0; a < 2; a++) {
                bool plain = t == MFU_TRAINER_DDP, fills = plain && y == 0;
                const struct mfu_runtime *r = &mfu_runtimes[mfu_trainers[t].runtime];
                bool wide = mfu_trainers[t].adds_up_wide || r->gradient == MFU_GRADIENT_FP32;
                bool buffer = mfu_trainers[t].adds_up_wide || r->gemm_accumulates;
                double bytes, filled, added, calls, additions;

                plan(&p, "a100-80gb-sxm", "gpt2",
                     (const char *[]){"batch", "2", "seq", "256", "trainer", mfu_trainers[t].name, "software", years[y],
                                      "accum", accums[a], "optimizer", plain ? "sgd" : "adamw", NULL});
                bytes = 4 * p.program.rank_trained;
                filled = written_by(&p, "zero_grad", &calls);
                assert_int_equal(p.config.setting[MFU_S_ZERO_GRAD], fills ? MFU_ZERO_GRAD_FILL : MFU_ZERO_GRAD_FREE);
                assert_near(filled, fills ? bytes : buffer ? bytes / (wide ? 1 : 2) : 0, 1e-9);
                assert_near(calls, fills ? p.program.trained_tensors : buffer, 1e-9);
                if (!plain)
                    continue;
                added = written_by(&p, "accumulate", &additions);
                assert_near(added, fills ? bytes : bytes * (a ? 3. / 4 : 0), 1e-9);
                assert_near(additions, p.program.trained_tensors * (fills ? 1 : a ? 3. / 4 : 0), 1e-9);
                assert_near(p.program.constant_bytes[MFU_PART_GRADIENTS], fills || a ? bytes : 0, 1e-9);
            }
    for (int i = 0; i < 3; i++) {
        static const char *const others[][2] = {
            {"optimizer", "adamw"}, {"optimizer_in_backward", "on"}, {"zero_grad", "free"}};
        double calls;

        plan(&p, "a100-80gb-sxm", "gpt2",
             (const char *[]){"optimizer", "sgd", "software", "2022", others[i][0], others[i][1], NULL});
        assert_near(written_by(&p, "zero_grad", &calls), 0, 0);
    }
}

/* Transformer Engine gives attention to cuDNN from Hopper on, unless a kernel is chosen; PyTorch does not. */
static void transformer_engine_chooses_its_attention(void **state)
{
    static const struct {
        const char *gpu;
        bool cudnn;
    } cards[] = {{"a100-80gb-sxm", false}, {"h100-sxm", true}, {"b200", true}};
    PLAN p = {0};

    (void)state;
    for (size_t i = 0; i < sizeof cards / sizeof *cards; i++)
        for (int k = 0; k < MFU_TRAINER_COUNT; k++) {
            const struct mfu_trainer *t = &mfu_trainers[k];

            if (t->runtime == MFU_LLMC)
                continue;
            plan(&p, cards[i].gpu, "llama-3-8b", (const char *[]){"gpus", "8", "trainer", t->name, NULL});
            assert_int_equal(p.config.attention, cards[i].cudnn && t->transformer_engine ? MFU_CUDNN : MFU_FLASH);
            plan(&p, cards[i].gpu, "llama-3-8b",
                 (const char *[]){"gpus", "8", "trainer", t->name, "attention", "math", NULL});
            assert_int_equal(p.config.attention, MFU_MATH);
        }
}

/* Bytes that each logit moves, as the sources' lines count them (16-bit logits, fp32 copies), but for reading again. */
static void a_loss_moves_what_its_kernels_do(void **state)
{
    static const struct {
        const char *fusion;
        double bytes;
    } cases[] = {{"off", 52}, {"native", 36}, {"flash-attn", 24}, {"te", 8}};
    PLAN p = {0};
    double last_s = INFINITY;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double bytes = 0;

        plan(&p, "h100-sxm", "llama-3-8b",
             (const char *[]){"gpus", "8", "tp", "2", "zero", "1", "trainer", "megatron-te", "cross_entropy_fusion",
                              cases[i].fusion, NULL});
        for (int k = 0; k < p.program.n_launches; k++)
            if (strcmp(p.program.launches[k].op, "loss") == 0 && !p.program.launches[k].communicates)
                bytes += p.program.launches[k].work->kernel.read_bytes + p.program.launches[k].work->kernel.write_bytes;
        assert_near(bytes / (p.config.tokens * mfu_config_dim(&p.config, "vocab_size") / 2), cases[i].bytes, 0.01);
        assert_true(p.step.time_s < last_s);
        last_s = p.step.time_s;
    }
    plan(&p, "h100-sxm", "llama-3-8b", (const char *[]){"gpus", "8", "trainer", "megatron-te", NULL});
    assert_int_equal(p.config.setting[MFU_S_LOSS_FUSION], MFU_LOSS_UNFUSED);
    plan(&p, "h100-sxm", "llama-3-8b", (const char *[]){"gpus", "8", "runtime", "fused", NULL});
    assert_int_equal(p.config.setting[MFU_S_LOSS_FUSION], MFU_LOSS_FLASH);
}

/* Megatron-core's model in a loop of one's own lays out its logits anew for it, and their gradient twice, where the tokens of
 * several sequences lie beside each other; what surrounds TransformerEngine's kernels is not fused.  Nobody else's does. */
static void a_loop_of_ones_own_gets_logits_by_sequences(void **state)
{
    static const char *const copies[] = {"loss.transpose", "lm_head.wgrad_order", "lm_head.dgrad_order"};
    static const struct {
        const char *runtime, *trainer, *batch;
        bool copied, eager;
    } cases[] = {{"te", "megatron-te", "4", true, true},
                 {"te", "megatron-bridge", "2", true, true},
                 {"te", "megatron-te", "1", false, true},
                 {"te", "ddp", "4", false, false},
                 {"fused", "megatron-te", "4", false, false}};
    PLAN p = {0};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double calls, logits;

        plan(&p, "h100-sxm", "gpt2-medium",
             (const char *[]){"runtime", cases[i].runtime, "trainer", cases[i].trainer, "batch", cases[i].batch,
                              "precision", "bf16-pure", "dropout", "0.1", "bias", "1", NULL});
        logits = 2 * p.config.tokens * mfu_config_dim(&p.config, "vocab_size");
        for (size_t k = 0; k < sizeof copies / sizeof *copies; k++)
            assert_near(written_by(&p, copies[k], &calls), cases[i].copied ? logits : 0, 0);
        written_by(&p, "mlp.drop", &calls);
        assert_near(calls, cases[i].eager ? mfu_config_dim(&p.config, "n_layer") : 0, 0);
        written_by(&p, "mlp.fc.bias", &calls);
        assert_near(calls, cases[i].eager ? mfu_config_dim(&p.config, "n_layer") : 0, 0);
        written_by(&p, "attn.qkv.bias", &calls);
        assert_near(calls, 0, 0);
    }
    for (int again = 0; again < 2; again++) { /* which adds its biases even where its products are kept */
        double calls;

        plan(&p, "h100-sxm", "gpt2-medium",
             (const char *[]){"runtime", "te", "trainer", "megatron-te", "bias", "1", "checkpoint",
                              again ? "budget" : "full", NULL});
        written_by(&p, "mlp.fc.bias", &calls);
        assert_near(calls, 2 * mfu_config_dim(&p.config, "n_layer"), 0);
    }
}

/* The host is as long about a layer that runs again, however few layers and whatever is around them. */
static void layers_run_again_alike_however_few(void **state)
{
    static const char *const layers[] = {"2", "3", "12", "40"};
    PLAN p = {0};
    double share = 0;

    (void)state;
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        plan(&p, "a100-80gb-sxm", "gpt2",
             (const char *[]){"n_layer", layers[i], "trainer", "megatron", "checkpoint", "full", "accum", "4", NULL});
        share = i ? share : p.sums.again_kernels / p.sums.forward_kernels;
        assert_true(share > 0.8 && share <= 1);
        assert_near(p.sums.again_kernels / p.sums.forward_kernels, share, 1e-9);
    }
}

/* What a token sends once to a rank or node instead of once to each expert there: never more, the same where each
 * goes elsewhere; and they are laid out once less. */
static void a_flexible_dispatcher_sends_less(void **state)
{
    static const char *const layouts[][2] = {{"8", "2"}, {"8", "8"}, {"32", "32"}};
    PLAN p = {0};

    (void)state;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        double bytes[2], busy_s[2];

        for (int flex = 0; flex < 2; flex++) {
            plan(&p, "h100-sxm", "qwen3-30b-a3b",
                 (const char *[]){"gpus", layouts[i][0], "ep", layouts[i][1], "moe_dispatcher",
                                  flex ? "flex" : "alltoall", NULL});
            bytes[flex] = 0;
            for (int k = 0; k < p.program.n_launches; k++)
                if (p.program.launches[k].communicates && p.program.launches[k].work->collective.kind == MFU_ALL_TO_ALL)
                    bytes[flex] += p.program.launches[k].work->collective.bytes;
            busy_s[flex] = p.step.busy_s;
        }
        assert_true(bytes[1] > 0 && bytes[1] < bytes[0]);
        assert_true(bytes[1] > bytes[0] / 8); /* top_k */
        assert_true(busy_s[1] <= busy_s[0] * (1 + 1e-9));
    }
}

/* Megatron-Bridge's recipes send rows by DeepEP or HybridEP, but of models that they exchange on boxes, and where experts
 * have capacities; what is set stands. */
static void a_recipe_brings_its_dispatcher(void **state)
{
    static const struct {
        const char *gpu, *model, *key, *value;
        enum mfu_dispatcher wanted;
    } rows[] = {
        {"h100-sxm", "qwen3-30b-a3b", NULL, NULL, MFU_DISPATCH_FLEX},
        {"h100-sxm", "qwen3-30b-a3b", "capacity_factor", "1", MFU_DISPATCH_ALL_TO_ALL},
        {"h100-sxm", "qwen3-235b-a22b", NULL, NULL, MFU_DISPATCH_ALL_TO_ALL},
        {"h100-sxm", "qwen3-235b-a22b", "trainer", "megatron-te", MFU_DISPATCH_ALL_TO_ALL},
        {"h100-sxm", "qwen3-235b-a22b", "moe_dispatcher", "flex", MFU_DISPATCH_FLEX},
        {"gb200", "qwen3-235b-a22b", NULL, NULL, MFU_DISPATCH_FLEX},
        {"gb200", "qwen3-30b-a3b", "trainer", "megatron-te", MFU_DISPATCH_ALL_TO_ALL},
    };
    struct mfu_plan p = {0};

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        plan(
            &p, rows[i].gpu, rows[i].model,
            (const char *[]){"gpus", "64", "ep", "16", "trainer", "megatron-bridge", rows[i].key, rows[i].value, NULL});
        assert_int_equal(p.config.setting[MFU_S_DISPATCHER], rows[i].wanted);
    }
    mfu_plan_release(&p);
}

/* Where a token's experts are in four of eight groups, it goes to four nodes at most. */
static void a_router_of_groups_sends_to_few_nodes(void **state)
{
    static const char *const chosen[] = {"1", "4", "8"};
    PLAN p = {0};
    double bytes[LENGTH(chosen)];

    (void)state;
    for (size_t i = 0; i < LENGTH(chosen); i++) {
        plan(&p, "h100-sxm", "deepseek-v3",
             (const char *[]){"gpus", "64", "ep", "64", "moe_dispatcher", "flex", "top_groups", chosen[i], NULL});
        bytes[i] = 0;
        for (int k = 0; k < p.program.n_launches; k++)
            if (p.program.launches[k].work->collective.axes != 0
                && p.program.launches[k].work->collective.kind == MFU_ALL_TO_ALL)
                bytes[i] += p.program.launches[k].work->collective.bytes;
    }
    assert_near(bytes[1] / bytes[0], 4 * (1 - pow(0.75, 8)), 1e-9);
    assert_near(bytes[2] / bytes[0], 8 * (1 - pow(0.875, 8)), 1e-9);
}

/* A graph of all leaves the host nothing of layers, one of attention leaves it the experts. */
static void graphs_take_what_they_hold_from_the_host(void **state)
{
    static const char *const graphs[][2] = {{"off", "all"}, {"on", "attention"}, {"on", "all"}};
    PLAN p = {0};
    double last_s = INFINITY;

    (void)state;
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
        plan(&p, "b200", "qwen3-30b-a3b",
             (const char *[]){"gpus", "8", "ep", "8", "zero", "1", "seq", "512", "trainer", "megatron-bridge",
                              "cuda_graphs", graphs[i][0], "cuda_graph_scope", graphs[i][1], NULL});
        assert_true(p.step.time_s < last_s);
        last_s = p.step.time_s;
    }
}

/* The host launches each expert's products of forward again where these run again: of two linears beside four gradients. */
static void the_host_launches_experts_again(void **state)
{
    static const char *const checkpoints[] = {"none", "full"}, *const products[] = {"1ms", "2ms"};
    double host_s[2][2];
    PLAN p = {0};

    (void)state;
    for (int c = 0; c < 2; c++)
        for (int h = 0; h < 2; h++) {
            plan(&p, "b200", "qwen3-30b-a3b",
                 (const char *[]){"gpus", "8", "ep", "8", "trainer", "megatron-bridge", "host.product", products[h],
                                  "checkpoint", checkpoints[c], NULL});
            host_s[c][h] = p.step.host_s;
        }
    assert_near((host_s[1][1] - host_s[1][0]) / (host_s[0][1] - host_s[0][0]), 8. / 6, 1e-9);
}

/* The more runs beside products the less is in the way; kernels do not change, nor what is sent. */
static void what_runs_beside_products_is_less_in_the_way(void **state)
{
    static const char *const cards[] = {"a100-80gb-sxm", "h100-sxm", "l40s"};
    PLAN p = {0};

    (void)state;
    for (size_t card = 0; card < sizeof cards / sizeof *cards; card++)
        for (int sp = 0; sp < 2; sp++) {
            double last_s = INFINITY, busy_s = NAN;

            for (int overlap = 0; overlap < MFU_TP_OVERLAP_COUNT; overlap++) {
                plan(&p, cards[card], "llama-3-8b",
                     (const char *[]){"gpus", "8", "tp", "8", "batch", "4", "seq", "4096", "trainer", "megatron-te",
                                      "sp", sp ? "on" : "off", "tp_overlap", mfu_tp_overlap_names[overlap], NULL});
                if (overlap == MFU_TP_GRADIENTS || (sp && overlap == MFU_TP_PRODUCTS))
                    assert_true(p.step.communication_exposed_s < last_s);
                else
                    assert_true(p.step.communication_exposed_s <= last_s);
                assert_true(p.step.communication_exposed_s > 0);
                if (overlap > 0)
                    assert_near(p.step.busy_s, busy_s, 1e-9);
                last_s = p.step.communication_exposed_s;
                busy_s = p.step.busy_s;
            }
        }
}

static void a_system_scales_all_but_the_host_and_no_single_gpu(void **state)
{
    static const char *const layouts[][3] = {{"8", "8", "1"}, {"8", "1", "1"}, {"16", "2", "4"}};
    PLAN p = {0};
    double usual_s;

    (void)state;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        const char *settings[] = {"gpus",    layouts[i][0], "tp",     layouts[i][1], "pp", layouts[i][2],   "batch",
                                  "4",       "accum",       "16",     "zero",        "1",  "step.constant", "0",
                                  "trainer", "ddp",         "system", "1",           NULL};

        plan(&p, "h100-sxm", "llama-3-8b", settings);
        usual_s = p.step.time_s;
        settings[17] = "1.25";
        plan(&p, "h100-sxm", "llama-3-8b", settings);
        assert_near(p.step.time_s, 1.25 * usual_s, 0.01);
    }
    plan(&p, "h100-sxm", "gpt2", NULL);
    usual_s = p.step.time_s;
    plan(&p, "h100-sxm", "gpt2", (const char *[]){"system", "2", NULL});
    assert_near(p.step.time_s, usual_s, 1e-12);
}

/* Nobody has run it: the interval of a system of many is wider than that of the machine that its
 * coefficients are from. */
static void a_system_nobody_ran_is_less_sure(void **state)
{
    PLAN one = {0}, many = {0};

    (void)state;
    plan(&one, "h100-sxm", "llama-3-8b", (const char *[]){"trainer", "ddp", "batch", "2", NULL});
    plan(&many, "h100-sxm", "llama-3-8b",
         (const char *[]){"gpus", "64", "tp", "8", "trainer", "ddp", "batch", "2", NULL});
    assert_true(many.step.high_s / many.step.low_s > one.step.high_s / one.step.low_s);
}

/* Of a pipeline: more micro-batches in flight never fit better, verdict and probability agree, and between
 * sure and impossible lies a verdict that cached memory decides. */
static void cached_memory_of_a_pipeline_counts_in_part(void **state)
{
    PLAN p = {0};
    double last = 1;
    bool between = false;

    (void)state;
    for (int seq = 1024; seq <= 16384; seq += 256) {
        char text[16];

        snprintf(text, sizeof text, "%d", seq);
        plan(&p, "h100-sxm", "llama-2-7b",
             (const char *[]){"gpus", "8", "pp", "4", "dp", "2", "accum", "16", "zero", "1", "seq", text, NULL});
        assert_true(p.memory.fits == (p.memory.fits_probability >= 0.5));
        assert_true(p.memory.fits_probability <= last + 1e-9);
        assert_true(p.memory.fits == (p.memory.missing_bytes <= 0));
        between |= p.memory.fits_probability > 0.05 && p.memory.fits_probability < 0.95;
        last = p.memory.fits_probability;
    }
    assert_true(between && last < 0.05);
}

/* Host-bound, each collective waits for as many ranks as its group has; one GPU has none. */
static void checks_take_as_long_as_groups_are_large(void **state)
{
    static const char *const tp[] = {"1", "2", "4", "8"};
    double more_s[4];
    PLAN p = {0};

    (void)state;
    for (int i = 0; i < 4; i++)
        for (int on = 0; on < 2; on++) {
            plan(&p, "h100-sxm", "llama-3-8b",
                 (const char *[]){"gpus", tp[i], "tp", tp[i], "trainer", "nanotron", "distributed_debug",
                                  on ? "detail" : "info", "seq", "128", "accum", "8", NULL});
            more_s[i] = on ? p.step.time_s - more_s[i] : p.step.time_s;
        }
    assert_true(fabs(more_s[0]) < 1e-12);
    assert_true(more_s[1] > 0);
    assert_near(more_s[2], 2 * more_s[1], 0.05);
    assert_near(more_s[3], 2 * more_s[2], 0.05);
}

/* What NCCL still reads while the host is ahead, as it is once in a run, however slow it is: more for a stage that waits for
 * nobody, never more than the launches that queue up; nothing where collectives keep their tensors, and no more
 * than on average where hosts meet at every collective. */
static void freed_memory_comes_back_when_the_gpu_has_read_it(void **state)
{
    PLAN p = {0};
    struct mfu_memory_answer room = {.capacity_bytes = 1e15};
    const struct mfu_stage *first, *second;
    const char *settings[] = {"gpus",
                              "8",
                              "tp",
                              "4",
                              "sp",
                              "on",
                              "pp",
                              "2",
                              "accum",
                              "8",
                              "seq",
                              "4k",
                              "trainer",
                              "nanotron",
                              "software",
                              "2023",
                              "dispatch.eager",
                              "1us",
                              "host.nanotron",
                              "0s",
                              "batch",
                              "4",
                              NULL,
                              NULL,
                              NULL};

    (void)state;
    plan(&p, "h100-sxm", "llama-2-7b", settings);
    first = &p.stages[0], second = &p.stages[1];
    assert_true(first->withheld.pass[0].bytes > 0 && first->withheld.lead == 1);
    assert_near(first->memory.withheld_bytes, 2 * second->memory.withheld_bytes, 0.5);
    assert_true(first->memory.withheld_bytes < first->memory.most_withheld_bytes);
    assert_true(first->memory.least_withheld_bytes < first->memory.withheld_bytes);
    /* It comes back before the card is full. */
    assert_near(first->memory.loose_bytes + first->memory.withheld_bytes + first->memory.peak.bytes,
                first->memory.reserved_bytes, 0.5);
    mfu_withhold(&first->withheld, 1e6, 0, &room);
    assert_near(room.withheld_bytes, first->withheld.pass[0].bytes * first->withheld.pass[0].queued, 0.5);
    settings[19] = "1s"; /* host.nanotron: some other rank is late all the same */
    plan(&p, "h100-sxm", "llama-2-7b", settings);
    assert_true(p.stages[0].withheld.lead == 1 && p.stages[0].withheld.least_lead == 0);
    settings[22] = "distributed_debug", settings[23] = "detail"; /* hosts meet at each collective */
    plan(&p, "h100-sxm", "llama-2-7b", settings);
    assert_true(p.stages[0].withheld.lead == 0 && p.memory.withheld_bytes == 0);
    settings[19] = "0s", settings[15] = "2026"; /* software */
    plan(&p, "h100-sxm", "llama-2-7b", settings);
    assert_true(p.memory.withheld_bytes == 0 && p.memory.most_withheld_bytes == 0);
}

/* Where stages are cut by cost, all layers are there, none but the last stage is empty, and the first has as many
 * as any. */
static void stages_of_equal_cost_have_all_layers(void **state)
{
    static const char *const ranks[] = {"2", "4", "8", "16", "32"};
    PLAN p = {0};

    (void)state;
    for (int layers = 8; layers <= 40; layers += 4)
        for (int i = 0; i < 5 && atoi(ranks[i]) <= layers; i++) {
            char text[16];
            double sum = 0;

            snprintf(text, sizeof text, "%d", layers);
            plan(&p, "h100-sxm", "llama-3-8b",
                 (const char *[]){"gpus", ranks[i], "pp", ranks[i], "accum", "32", "trainer", "nanotron", "n_layer",
                                  text, NULL});
            for (int k = 0; k < p.n_stages; k++) {
                sum += p.stages[k].layers;
                assert_true(k == p.n_stages - 1 || p.stages[k].layers >= 1);
                assert_true(p.stages[k].layers <= p.stages[0].layers);
            }
            assert_true(sum == layers);
        }
}

/* Bytes of the sums of gradients of a step, per parameter. */
static double summed_bytes(const struct mfu_plan *p)
{
    const struct mfu_program *g = &p->program;
    double bytes = 0;

    for (int k = 0; k < g->n_segments; k++)
        for (int i = g->segments[k].first; i < g->segments[k].first + g->segments[k].count; i++) {
            const struct mfu_collective *c = &g->launches[i].work->collective;

            if (c->axes && (c->kind == MFU_ALL_REDUCE || c->kind == MFU_REDUCE_SCATTER))
                bytes += g->segments[k].repeat * g->launches[i].work->kernel.launches * c->bytes;
        }
    return bytes / g->params;
}

/* Sums in bf16 send half of those in fp32; the buffer that Megatron sums where it lies is half as large, what others
 * keep is as it was. */
static void sums_of_gradients_have_the_type_that_is_set(void **state)
{
    static const struct {
        const char *trainer, *zero;
        bool in_place;
    } cases[] = {
        {"megatron-te", "0", true}, {"megatron-te", "1", true}, {"torchtitan", "3", false}, {"nanotron", "0", false}};
    PLAN p = {0};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double bytes[2], held[2];

        for (int half = 0; half < 2; half++) {
            plan(&p, "h100-sxm", "llama-3.2-1b",
                 (const char *[]){"gpus", "8", "trainer", cases[i].trainer, "zero", cases[i].zero, "precision", "bf16",
                                  "grad_reduce", half ? "bf16" : "fp32", "accum", "2", NULL});
            bytes[half] = summed_bytes(&p);
            held[half] = p.program.constant_bytes[MFU_PART_GRADIENTS];
        }
        assert_near(bytes[1], bytes[0] / 2, 0.02);
        assert_near(held[1], cases[i].in_place ? held[0] / 2 : held[0], 0.001);
    }
}

/* Each of them for each rank. */
static void new_weights_are_copied_out_piece_by_piece(void **state)
{
    static const char *const gpus[] = {"2", "8", "64"};
    PLAN p = {0};
    double calls;

    (void)state;
    for (int i = 0; i < 3; i++) {
        plan(&p, "h100-sxm", "llama-3-8b", (const char *[]){"gpus", gpus[i], "trainer", "nanotron", "zero", "1", NULL});
        assert_near(written_by(&p, "copy_out", &calls), 3 * 2 * p.program.rank_trained, 1e-9);
        assert_true(calls == p.program.trained_tensors * strtod(gpus[i], NULL));
        assert_true(p.memory.peak.optimizer_peak_bytes > p.program.constant_bytes[MFU_PART_WEIGHTS] * 2);
        plan(&p, "h100-sxm", "llama-3-8b", (const char *[]){"gpus", gpus[i], "trainer", "nanotron", "zero", "0", NULL});
        written_by(&p, "copy_out", &calls);
        assert_true(calls == 0);
    }
}

/* Norms and routers see a rank's tokens with sequence parallelism, all of them without; biases of products whose partial
 * sums are scattered, too; norms of a head see a rank's heads in either case; positions all tokens. */
static void gradients_of_copies_are_summed_over_tensor_ranks(void **state)
{
    static const struct {
        const char *model;
        double norms, heads;
    } cases[] = {
        {"llama-3-8b", (2 * 32 + 1) * 4096, 0},
        {"distilgpt2", (2 * 6 + 1) * 2 * 768 + 6 * 2 * 768, 0}, /* with biases, of norms and of two products */
        {"qwen3-8b", (2 * 36 + 1) * 4096, 36 * 2 * 128},        /* norms of q and k */
        {"mixtral-8x7b", (2 * 32 + 1 + 32 * 8) * 4096, 0},      /* a router of 8 experts */
    };
    PLAN p = {0};

    (void)state;
    for (int sp = 0; sp < 2; sp++)
        for (size_t m = 0; m < sizeof cases / sizeof *cases; m++) {
            double bytes = 0, sum = cases[m].heads + (sp ? cases[m].norms : 0);

            plan(&p, "h100-sxm", cases[m].model,
                 (const char *[]){"gpus", "8", "tp", "4", "trainer", "megatron", "sp", sp ? "on" : "off", NULL});
            for (int k = 0; k < p.program.n_segments; k++)
                for (int i = 0; i < p.program.segments[k].count && p.program.segments[k].phase == MFU_OPTIMIZER_PHASE;
                     i++) {
                    const struct mfu_launch *l = &p.program.launches[p.program.segments[k].first + i];

                    bytes += l->communicates && l->work->collective.axes == MFU_AXIS_BIT(MFU_AXIS_TP)
                        ? l->work->collective.bytes
                        : 0;
                }
            assert_near(bytes, sum * 4.0, 1e-12);
        }
}

/* In a later micro-step each gradient of a weight is added once to what is there: by the product itself, or by a kernel
 * that writes the sums, behind a product that writes 16 bits and a cast where the trainer casts first; by a kernel, too, on
 * AMD's cards. */
static void weight_gradients_are_added_once(void **state)
{
    static const char *const years[] = {"2021", "2024", "2024"},
                             *const cards[] = {"a100-80gb-sxm", "h100-sxm", "mi300x"};
    PLAN p = {0};

    (void)state;
    for (int t = 0; t < MFU_TRAINER_COUNT; t++)
        for (int y = 0; y < 3; y++) {
            const struct mfu_trainer *of = &mfu_trainers[t];
            double apart, products, casts, calls, all;
            bool fused;

            if (!mfu_runtimes[of->runtime].half_weights)
                continue;
            plan(&p, cards[y], "llama-3-8b",
                 (const char *[]){"gpus", "8", "tp", "8", "accum", "4", "precision", "bf16", "trainer", of->name,
                                  "runtime", "fused", "software", years[y], NULL});
            fused = atof(years[y]) >= of->adds_apart_before && strcmp(cards[y], "mi300x") != 0;
            all = 4 * p.program.rank_trained;
            apart = written_by(&p, "accumulate", &calls);
            products = written_by(&p, "wgrad", &calls);
            casts = written_by(&p, "mlp.down.cast", &calls);
            if (p.config.runtime != MFU_FUSED || !(apart + products > all * 0.8))
                fail_msg("%s %s: %g + %g bytes of %g", of->name, years[y], apart, products, all);
            assert_true(fused ? apart < all * 0.2 : apart > all * 0.8);
            assert_true(fused || of->casts_sums == (casts > 0));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stage_gathers_its_own_weights),
        cmocka_unit_test(the_loop_is_waited_for),
        cmocka_unit_test(ranks_are_waited_for_once),
        cmocka_unit_test(freed_memory_comes_back_when_the_gpu_has_read_it),
        cmocka_unit_test(stages_of_equal_cost_have_all_layers),
        cmocka_unit_test(sums_of_gradients_have_the_type_that_is_set),
        cmocka_unit_test(checks_take_as_long_as_groups_are_large),
        cmocka_unit_test(every_name_of_a_trainer_is_one_trainer),
        cmocka_unit_test(weights_are_gathered_for_each_pass),
        cmocka_unit_test(a_trainer_brings_its_overlap_unless_that_is_set),
        cmocka_unit_test(megatrons_buckets_count_parameters),
        cmocka_unit_test(tensor_ranks_split_rows_as_their_trainer_does),
        cmocka_unit_test(gradients_stayed_before_zero_grad_freed_them),
        cmocka_unit_test(weight_gradients_are_added_once),
        cmocka_unit_test(transformer_engine_chooses_its_attention),
        cmocka_unit_test(a_loss_moves_what_its_kernels_do),
        cmocka_unit_test(a_loop_of_ones_own_gets_logits_by_sequences),
        cmocka_unit_test(layers_run_again_alike_however_few),
        cmocka_unit_test(a_router_of_groups_sends_to_few_nodes),
        cmocka_unit_test(a_flexible_dispatcher_sends_less),
        cmocka_unit_test(a_recipe_brings_its_dispatcher),
        cmocka_unit_test(graphs_take_what_they_hold_from_the_host),
        cmocka_unit_test(the_host_launches_experts_again),
        cmocka_unit_test(what_runs_beside_products_is_less_in_the_way),
        cmocka_unit_test(a_system_scales_all_but_the_host_and_no_single_gpu),
        cmocka_unit_test(a_system_nobody_ran_is_less_sure),
        cmocka_unit_test(cached_memory_of_a_pipeline_counts_in_part),
        cmocka_unit_test(new_weights_are_copied_out_piece_by_piece),
        cmocka_unit_test(gradients_of_copies_are_summed_over_tensor_ranks),
    };

    return cmocka_run_group_tests(tests, open_catalog, close_catalog);
}
