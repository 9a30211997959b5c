/* test_parallel.c - ranks over machines: groups, the roads between them, and what NCCL makes of those. */
#include "catalog.h"
#include "owned.h"
#include "near.h"
#include "plans.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost/collective.h"
#include "cost/sample.h"
#include "descriptor/gpu.h"
#include "graph/shard.h"
#include "plan/exchanges.h"
#include "scenario/setting.h"

static void megatron_s_order_puts_tensor_parallelism_into_a_machine(void **state)
{
    struct mfu_mesh m = mfu_mesh_start();
    struct mfu_group g;

    (void)state;
    m.ranks[MFU_AXIS_TP] = 4;
    m.ranks[MFU_AXIS_DP] = 8;
    m.ranks[MFU_AXIS_PP] = 2;
    assert_near(mfu_mesh_ranks(&m), 64, 0);
    g = mfu_mesh_group(&m, MFU_AXIS_BIT(MFU_AXIS_TP), 8);
    assert_true(g.ranks == 4 && g.stride == 1 && g.local == 4 && g.units == 1 && g.sharing == 2 && g.extent == 4);
    g = mfu_mesh_group(&m, MFU_AXIS_BIT(MFU_AXIS_DP), 8);
    assert_true(g.ranks == 8 && g.stride == 4 && g.local == 2 && g.units == 4 && g.sharing == 4 && g.extent == 29);
    g = mfu_mesh_group(&m, MFU_AXIS_BIT(MFU_AXIS_PP), 8);
    assert_true(g.ranks == 2 && g.stride == 32 && g.local == 1 && g.units == 2 && g.sharing == 8);
}

/* What a rank's products with experts' weights compute in a step; what leaves for sums over `axes`. */
static double expert_flops(const struct mfu_plan *p)
{
    double flops = 0;

    for (int k = 0; k < p->program.n_segments; k++)
        for (int i = p->program.segments[k].first; i < p->program.segments[k].first + p->program.segments[k].count; i++)
            if (p->program.launches[i].work->kernel.kind == MFU_GEMM
                && strncmp(p->program.launches[i].op, "moe.", 4) == 0
                && strncmp(p->program.launches[i].suffix, "router", 6) != 0)
                flops += mfu_plan_times(p, &p->program.segments[k]) * p->program.launches[i].work->kernel.flops;
    return flops;
}

static double summed_bytes(const struct mfu_plan *p, unsigned axes)
{
    double bytes = 0;

    for (int k = 0; k < p->program.n_segments; k++)
        for (int i = p->program.segments[k].first; i < p->program.segments[k].first + p->program.segments[k].count;
             i++) {
            const struct mfu_launch *l = &p->program.launches[i];

            if (l->work->collective.axes == axes
                && (l->work->collective.kind == MFU_ALL_REDUCE || l->work->collective.kind == MFU_REDUCE_SCATTER))
                bytes +=
                    mfu_plan_times(p, &p->program.segments[k]) * l->work->kernel.launches * l->work->collective.bytes;
        }
    return bytes;
}

/* However experts are spread: all ranks together hold each of them as often as there are copies, compute for each token
 * what one GPU does, and sum each gradient once over those copies. */
static void experts_are_shared_without_loss_or_gain(void **state)
{
    static const char *const models[] = {"mixtral-8x7b", "qwen3-30b-a3b", "deepseek-v2-lite"};
    static const struct {
        const char *tp, *etp, *ep, *dp, *cp, *zero, *trainer;
    } layouts[] = {{"1", "1", "8", "8", "1", "0", "megatron-te"}, {"2", "2", "2", "4", "1", "1", "megatron-te"},
                   {"2", "1", "8", "4", "1", "0", "megatron-te"}, {"4", "1", "4", "2", "1", "1", "megatron-bridge"},
                   {"1", "2", "2", "8", "1", "1", "megatron-te"}, {"2", "1", "8", "2", "2", "0", "megatron-te"},
                   {"2", "1", "4", "4", "1", "3", "torchtitan"},  {"1", "1", "4", "2", "4", "2", "ddp"}};
    PLAN one = {0}, p = {0};

    (void)state;
    for (size_t m = 0; m < sizeof models / sizeof *models; m++)
        for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
            const char *trainer = layouts[i].trainer, *runtime = strstr(trainer, "megatron") ? "fused" : "eager";
            double tp = atof(layouts[i].tp), cp = atof(layouts[i].cp), dp = atof(layouts[i].dp),
                   ep = atof(layouts[i].ep);
            double etp = atof(layouts[i].etp), copies = tp * cp * dp / (ep * etp);

            plan(&one, "h100-sxm", models[m], (const char *[]){"runtime", runtime, "seq", "1024", NULL});
            plan(&p, "h100-sxm", models[m],
                 (const char *[]){"tp",      layouts[i].tp,   "sp",      tp > 1 ? "on" : "off",
                                  "etp",     layouts[i].etp,  "ep",      layouts[i].ep,
                                  "dp",      layouts[i].dp,   "cp",      layouts[i].cp,
                                  "zero",    layouts[i].zero, "trainer", trainer,
                                  "runtime", runtime,         "seq",     "1024",
                                  NULL});
            assert_near(p.program.expert_params * ep * etp, one.program.expert_params, 1e-9);
            assert_near(expert_flops(&p) * tp * cp * dp, expert_flops(&one) * dp, 1e-9);
            assert_near(mfu_mesh_group(&p.program.mesh, MFU_AXES_EXPERT_DATA, 8).ranks, copies, 0);
            assert_near(summed_bytes(&p, MFU_AXES_EXPERT_DATA),
                        copies > 1 ? p.program.expert_trained * p.program.gradient_bytes : 0, 1e-9);
            assert_near(summed_bytes(&p, MFU_AXES_DATA),
                        (p.program.rank_trained - p.program.expert_trained) * p.program.gradient_bytes, 1e-9);
        }
}

/* What the scans of a micro-step compute, and their convolutions write. */
static double scanned(const struct mfu_plan *p, double *convolved)
{
    double flops = 0;

    *convolved = 0;
    for (int k = 0; k < p->program.n_segments; k++) {
        const struct mfu_segment *seg = &p->program.segments[k];

        for (int i = seg->first; i < seg->first + seg->count; i++) {
            const struct mfu_launch *l = &p->program.launches[i];

            if (strstr(l->op, "mixer.scan"))
                flops += seg->repeat * l->work->kernel.flops;
            if (strstr(l->op, "mixer.conv"))
                *convolved += seg->repeat * l->work->kernel.write_bytes;
        }
    }
    return flops;
}

static bool leaves_out_scans(const struct mfu_plan *p)
{
    const char *what;

    for (int i = 0; (what = mfu_plan_left_out(p, i)); i++)
        if (strstr(what, "scan"))
            return true;
    return false;
}

/* Megatron's Mamba mixer has whole heads and whole groups of them at each tensor rank; where these do not divide, all of it. */
static void scans_are_split_by_heads(void **state)
{
    static const struct {
        const char *model, *trainer, *tp;
        bool split;
    } rows[] = {{"nemotron-3-nano-30b-a3b", "megatron-te", "2", true},
                {"nemotron-3-nano-30b-a3b", "megatron-bridge", "8", true},
                {"nemotron-3-nano-30b-a3b", "torchtitan", "2", false},
                {"mamba2-1.3b", "megatron-te", "2", false}}; /* one group */
    PLAN one = {0}, p = {0};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double tp = rows[i].split ? atof(rows[i].tp) : 1, convolved[2], flops;
        struct mfu_scenario s;

        plan(&one, "h100-sxm", rows[i].model, (const char *[]){"trainer", rows[i].trainer, NULL});
        plan(&p, "h100-sxm", rows[i].model,
             (const char *[]){"trainer", rows[i].trainer, "tp", rows[i].tp, "sp", "off", NULL});
        flops = scanned(&one, &convolved[1]);
        assert_near(scanned(&p, &convolved[0]) * tp, flops, 1e-9);
        assert_near(convolved[0] * tp, convolved[1], 0.01); /* but for what is read beside */
        assert_int_equal(leaves_out_scans(&p), !rows[i].split);
        s = p.scenario;
        assert_int_equal(mfu_scenario_set(&s, "sp", "on", NULL), 0);
        assert_int_equal(mfu_plan_make(&p, &s, NULL), rows[i].split ? 0 : -1);
        if (rows[i].split) /* of gathered rows */
            assert_near(scanned(&p, &convolved[0]) * tp, flops, 1e-9);
    }
}

/* What a recurrence hands on comes from all tokens before, of which each rank would have some; one rank has all. */
static void recurrences_read_whole_sequences(void **state)
{
    static const char *const models[] = {"gla-1.3b", "rwkv7-1.5b", "jamba-v0.1", "mamba-2.8b", "mamba2-1.3b"};
    static const char *const trainers[] = {"megatron-te", "torchtitan"};
    PLAN p = {0};

    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        for (size_t k = 0; k < sizeof trainers / sizeof *trainers; k++) {
            struct mfu_error err = {0};
            struct mfu_scenario s;

            plan(&p, "h100-sxm", models[i], (const char *[]){"trainer", trainers[k], "tp", "2", NULL});
            assert_true(p.config.setting[MFU_S_SP] == 0 && leaves_out_scans(&p));
            s = p.scenario;
            assert_int_equal(mfu_scenario_set(&s, "sp", "on", NULL), 0);
            assert_int_equal(mfu_plan_make(&p, &s, &err), -1);
            assert_non_null(strstr(err.text, "set sp off"));
        }
    plan(&p, "h100-sxm", "nemotron-3-nano-30b-a3b",
         (const char *[]){"trainer", "megatron-te", "sp", "on", "dp", "2", "ep", "2", NULL});
}

/* Experts that are split as all else is, which Megatron does where nothing is said. */
static void ranks_of_experts_are_those_of_all_else_by_default(void **state)
{
    PLAN p = {0}, same = {0};

    (void)state;
    plan(&p, "h100-sxm", "mixtral-8x7b",
         (const char *[]){"tp", "4", "sp", "on", "ep", "2", "dp", "4", "trainer", "megatron-te", NULL});
    plan(&same, "h100-sxm", "mixtral-8x7b",
         (const char *[]){"tp", "4", "sp", "on", "ep", "2", "dp", "4", "etp", "4", "trainer", "megatron-te", NULL});
    assert_near(p.config.setting[MFU_S_ETP], 4, 0);
    assert_near(p.step.time_s, same.step.time_s, 0);
    assert_near(p.memory.reserved_bytes, same.memory.reserved_bytes, 0);
    plan(&p, "h100-sxm", "mixtral-8x7b",
         (const char *[]){"tp", "4", "sp", "on", "ep", "8", "dp", "4", "trainer", "torchtitan", NULL});
    assert_near(p.config.setting[MFU_S_ETP], 1, 0); /* whole experts over tensor ranks, too */
}

static void topology_of(const char *gpu_name, const char *cluster, struct mfu_machine *m)
{
    const struct mfu_gpu *gpu = mfu_catalog_gpu(catalog, gpu_name, NULL);

    assert_non_null(gpu);
    mfu_machine_of(gpu, gpu->coefficients.value, m);
    if (cluster)
        mfu_topology_make(mfu_catalog_cluster(catalog, cluster, NULL), gpu, gpu->coefficients.value,
                          gpu->coefficients.sigma, &m->topology);
}

static void uplinks_slow_those_who_cross_them(void **state)
{
    struct mfu_machine m;
    struct mfu_group pod = mfu_group_of(3072, 8), two = mfu_group_of(6144, 8);
    struct mfu_road a, b;

    (void)state;
    topology_of("h100-sxm", "meta-24k", &m);
    a = mfu_road_of(&m.topology, &pod);
    b = mfu_road_of(&m.topology, &two);
    assert_int_equal(a.level, 1);
    assert_int_equal(b.level, 2);
    assert_true(b.far_bytes_s < a.network_bytes_s / 7); /* where all send to all; of neighbours few cross */
    assert_true(b.network_bytes_s > b.far_bytes_s && b.network_bytes_s <= a.network_bytes_s);
}

static void a_bridge_joins_two_and_a_switch_all(void **state)
{
    struct mfu_machine bridged, plain, board;
    struct mfu_group two = mfu_group_of(2, 2), eight = mfu_group_of(8, 8);

    (void)state;
    topology_of("rtx3090", "rtx3090-2-bridge", &bridged);
    topology_of("rtx3090", "rtx3090-2", &plain);
    topology_of("h100-sxm", NULL, &board);
    assert_true(mfu_road_of(&bridged.topology, &two).nvlink);
    assert_false(mfu_road_of(&plain.topology, &two).nvlink);
    assert_true(mfu_road_of(&bridged.topology, &two).fabric_bytes_s
                > 3 * mfu_road_of(&plain.topology, &two).fabric_bytes_s);
    assert_string_equal(mfu_road_name(&plain.topology, &(struct mfu_road){0}), "PCIe through the host");
    assert_true(mfu_road_of(&board.topology, &eight).nvlink);
    assert_near(board.topology.gpu_nics, 1, 0);
}

static void a_rack_of_nvlink_is_one_unit(void **state)
{
    struct mfu_machine m;
    struct mfu_group trays = mfu_group_on(72, 18, 4, 72), racks = mfu_group_on(144, 36, 4, 72);

    (void)state;
    topology_of("gb200", NULL, &m);
    assert_true(trays.units == 1 && racks.units == 2 && racks.local == 72);
    assert_int_equal(mfu_road_of(&m.topology, &trays).level, 0);
    assert_true(mfu_collective_s(&m, &racks, MFU_ALL_GATHER, 1e9) > mfu_collective_s(&m, &trays, MFU_ALL_GATHER, 1e9));
}

/* Small messages take the way of least latency, large ones that of most bandwidth. */
static void the_algorithm_follows_the_size(void **state)
{
    struct mfu_machine m;
    struct mfu_group node = mfu_group_of(8, 8), four = mfu_group_of(4, 8), nodes = mfu_group_of(16, 8);
    struct mfu_collective_price p;

    (void)state;
    topology_of("h100-sxm", NULL, &m);
    p = mfu_collective_price(&m, &node, MFU_ALL_REDUCE, 1024);
    assert_true(p.algorithm == MFU_RING && p.protocol == MFU_LL);
    assert_int_equal(mfu_collective_price(&m, &node, MFU_ALL_REDUCE, 1e9).algorithm, MFU_NVLS);
    assert_int_equal(mfu_collective_price(&m, &four, MFU_ALL_REDUCE, 1e9).algorithm, MFU_RING);
    p = mfu_collective_price(&m, &nodes, MFU_ALL_REDUCE, 1024);
    assert_true(p.algorithm == MFU_TREE && p.protocol == MFU_LL);
    assert_int_equal(mfu_collective_price(&m, &nodes, MFU_ALL_REDUCE, 1e9).algorithm, MFU_NVLS_TREE);
    assert_true(isnan(mfu_collective_price_by(&m, &node, MFU_ALL_GATHER, 1e6, MFU_TREE).time_s));
    m.topology.reduces = true;
    nodes = mfu_group_of(64, 8);
    assert_int_equal(mfu_collective_price(&m, &nodes, MFU_ALL_REDUCE, 1e10).algorithm, MFU_SHARP);
}

static void bus_factors_are_those_of_nccl_tests(void **state)
{
    (void)state;
    assert_near(mfu_bus_factor(MFU_ALL_REDUCE, 8), 1.75, 1e-12);
    assert_near(mfu_bus_factor(MFU_ALL_GATHER, 8), 0.875, 1e-12);
    assert_near(mfu_bus_factor(MFU_SEND, 8), 1, 0);
}

/* What the links of a group carry together is what the algorithm sends: nothing is lost
 * between fabric and network, and a group inside a unit needs no network. */
static void what_ranks_send_goes_over_one_link_or_the_other(void **state)
{
    static const enum mfu_collective_kind kinds[] = {MFU_ALL_GATHER, MFU_REDUCE_SCATTER, MFU_ALL_TO_ALL, MFU_SEND};
    static const double ranks[][2] = {{2, 1}, {8, 1}, {16, 2}, {64, 8}, {4, 4}}; /* and units */
    struct mfu_machine m;

    (void)state;
    topology_of("h100-sxm", NULL, &m);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        for (size_t k = 0; k < sizeof ranks / sizeof ranks[0]; k++) {
            struct mfu_group g = mfu_group_on(ranks[k][0], ranks[k][1], 8, 8);
            struct mfu_traffic sent = mfu_collective_traffic(&m, &g, kinds[i], 1e9);

            assert_near(sent.fabric_bytes + sent.nic_bytes, 1e9 * mfu_bus_factor(kinds[i], ranks[k][0]), 1e-9);
            assert_true(g.units > 1 ? sent.nic_bytes > 0 : sent.nic_bytes == 0);
        }
}

/* Ranks that do the same are one rank: a plan of 64 times as many GPUs builds no more, and
 * what each of them sends in its node stays the same. */
static void a_plan_of_more_replicas_is_no_larger(void **state)
{
    static const char *const few[] = {"gpus", "256", "tp", "8", "pp", "4", "accum", "8", "zero", "1", NULL};
    static const char *const many[] = {"gpus", "16384", "tp", "8", "pp", "4", "accum", "8", "zero", "1", NULL};
    PLAN a = {0}, b = {0};
    struct mfu_exchange x[MFU_MOST_EXCHANGES], y[MFU_MOST_EXCHANGES];
    int n, found = 0;

    (void)state;
    plan(&a, "h100-sxm", "llama-3-70b", few);
    plan(&b, "h100-sxm", "llama-3-70b", many);
    assert_true(a.program.n_launches == b.program.n_launches && a.program.n_tensors == b.program.n_tensors);
    assert_true(a.program.n_segments == b.program.n_segments && a.n_stages == b.n_stages);
    n = mfu_exchanges(&a, x);
    assert_int_equal(n, mfu_exchanges(&b, y));
    assert_true(n >= 3); /* tp, dp and pp */
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++) { /* those that add the most come first: other ones with more GPUs */
            if (strcmp(x[i].group, y[k].group) != 0 || x[i].calls != y[k].calls)
                continue;
            assert_near(x[i].fabric_bytes, y[k].fabric_bytes, 1e-9);
            assert_true(x[i].nodes <= y[k].nodes && x[i].exposed_s <= y[k].exposed_s * (1 + 1e-9));
            found++;
        }
    assert_int_equal(found, n);
}

/* What the step waits for is shared out among the exchanges, without rest but the copies that are made for them. */
static void exchanges_add_up(void **state)
{
    static const char *const layouts[][11] = {
        {"gpus", "8", NULL},
        {"gpus", "64", "zero", "3", NULL},
        {"gpus", "64", "tp", "8", "sp", "on", NULL},
        {"gpus", "64", "tp", "4", "pp", "4", "accum", "8", NULL},
        {"gpus", "32", "cp", "4", "zero", "1", NULL},
    };
    static struct mfu_plan p;

    (void)state;
    for (size_t i = 0; i < LENGTH(layouts); i++) {
        struct mfu_exchange x[MFU_MOST_EXCHANGES];
        double sum = 0;

        plan(&p, "h100-sxm", "llama-3-8b", layouts[i]);
        for (int k = 0, n = mfu_exchanges(&p, x); k < n; k++)
            sum += x[k].exposed_s;
        for (int k = 0; k < p.program.n_segments; k++)
            for (int l = p.program.segments[k].first, end = l + p.program.segments[k].count; l < end; l++)
                if (p.program.launches[l].communicates && p.program.launches[l].work->collective.axes == 0)
                    sum += mfu_plan_times(&p, &p.program.segments[k]) * p.pricing.prices[l].time_s;
        assert_near(sum, p.step.communication_exposed_s, 1e-6);
        mfu_plan_release(&p);
    }
}

/* A larger vocabulary is held once, by the chunk that has the head, however many the rank has. */
static void a_head_is_kept_by_its_own_chunk(void **state)
{
    static struct mfu_plan p;
    double last[2][2];

    (void)state;
    for (int chunks = 0; chunks < 2; chunks++)
        for (int words = 0; words < 2; words++) {
            const char *const set[] = {"gpus",       "4",
                                       "pp",         "4",
                                       "accum",      "8",
                                       "trainer",    "megatron-te",
                                       "vpp",        chunks ? "4" : "1",
                                       "vocab_size", words ? "256000" : "128000",
                                       NULL};

            plan(&p, "b200", "llama-3-8b", set);
            last[chunks][words] = p.stages[3].memory.peak.bytes;
            mfu_plan_release(&p);
        }
    assert_near(last[1][1] - last[1][0], last[0][1] - last[0][0], 0.001);
}

/* Stages are even in all layers, whatever stands before the section that is cut. */
static void dense_layers_count_among_a_stage_s(void **state)
{
    static const char *const set[] = {"gpus", "4", "pp", "4", "accum", "8", "n_layer", "12", "n_dense", "2", NULL};
    PLAN p = {0};

    (void)state;
    plan(&p, "b200", "deepseek-v3", set);
    assert_near(p.stages[0].layers, 1, 0);
    for (int i = 1; i < 4; i++)
        assert_near(p.stages[i].layers, 3, 0);
}

/* Of a row that visits an expert: what enters, gate, up and their product; not what leaves, whose weight was in the product. */
static void megatron_keeps_nothing_behind_an_expert(void **state)
{
    static struct mfu_plan p;
    double kept[2], rows = 0, width = 0;

    (void)state;
    for (int more = 0; more < 2; more++) {
        const char *const set[] = {"gpus",           "2", "pp", "2", "accum", "4", "trainer", "megatron-te", "top_k",
                                   more ? "8" : "4", NULL};

        plan(&p, "b200", "qwen3-30b-a3b", set);
        kept[more] = p.stages[0].kept_bytes;
        rows = p.config.tokens * p.stages[0].layers * 4;
        width = mfu_config_dim(&p.config, "n_embd") + 3 * mfu_config_dim(&p.config, "expert_ff");
        mfu_plan_release(&p);
    }
    assert_near(kept[1] - kept[0], 2 * rows * width, 0.001);
}

/* What attention and its products compute in a step at one rank; what they exchange but the result's sum. */
static double attention_flops(const struct mfu_plan *p, double *gathered)
{
    double flops = 0;

    *gathered = 0;
    for (int k = 0; k < p->program.n_segments; k++)
        for (int i = p->program.segments[k].first; i < p->program.segments[k].first + p->program.segments[k].count;
             i++) {
            const struct mfu_launch *l = &p->program.launches[i];
            double times = mfu_plan_times(p, &p->program.segments[k]);

            if (strncmp(l->op, "attn.", 5) != 0)
                continue;
            flops += l->work->kernel.kind == MFU_GEMM || l->work->kernel.kind == MFU_FUSED_ATTENTION
                ? times * l->work->kernel.flops
                : 0;
            if (l->work->collective.axes && strcmp(l->op, "attn.o") != 0)
                *gathered += times * l->work->kernel.launches * l->work->collective.bytes;
        }
    return flops;
}

/* With more tensor ranks than heads of keys, each has its part of all weights, attends with its own queries, and all that
 * the products give is gathered once, as its gradient is added up once. */
static void ranks_share_heads_of_keys(void **state)
{
    static const char *const set[][3] = {
        {"starcoder", "1", "4"}, {"starcoder", "1", "8"}, {"llama-3-70b", "4", "8"}, {"llama-3-70b", "2", "16"}};
    static struct mfu_plan one, p;

    (void)state;
    for (size_t i = 0; i < sizeof set / sizeof *set; i++) {
        double tp = atof(set[i][2]), gathered, none, whole, width;
        const char *const settings[] = {"trainer", "megatron-te", "n_layer", "4", "n_kv_head",
                                        set[i][1], "tp",          set[i][2], NULL};

        plan(&p, "h100-sxm", set[i][0], settings);
        plan(&one, "h100-sxm", set[i][0],
             (const char *const[]){"trainer", "megatron-te", "n_layer", "4", "n_kv_head", set[i][1], NULL});
        whole = attention_flops(&one, &none);
        assert_near(tp * attention_flops(&p, &gathered), whole, 1e-9);
        width = mfu_config_dim(&p.config, "head_dim")
            * (mfu_config_dim(&p.config, "n_head") + 2 * mfu_config_dim(&p.config, "n_kv_head"));
        assert_near(gathered, 2 * 4 * p.config.tokens * width * 2, 1e-9); /* both ways, of two bytes */
        assert_near(none, 0, 0);
        mfu_plan_release(&p);
        mfu_plan_release(&one);
    }
}

/* What every tensor rank computes (MLA's products down, a router) is model FLOP once. */
static void ranks_count_a_product_once(void **state)
{
    static const char *const models[] = {"deepseek-v2-lite", "qwen3-30b-a3b", "llama-3-8b"};

    (void)state;
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        static struct mfu_plan p;
        double flops = 0, computed = 0;

        for (int i = 0; i < 4; i++) {
            plan(&p, "h100-sxm", models[m],
                 (const char *const[]){"tp", i ? "4" : "1", "sp", i > 1 ? "on" : "off", "pp", i > 2 ? "2" : "1",
                                       "accum", "2", NULL});
            if (i == 0)
                flops = p.mfu.model_flops, computed = p.mfu.hardware_flops;
            assert_near(p.mfu.model_flops, flops, 1e-9);
            assert_true(i == 1 && m < 2 ? p.mfu.hardware_flops > computed * 1.0001
                                        : p.mfu.hardware_flops < computed * (1 + 1e-9));
            mfu_plan_release(&p);
        }
    }
}

/* However many experts a token visits, and whatever a model calls that: one copy of it goes to each node, at most. */
static void a_token_goes_to_each_node_once(void **state)
{
    static struct mfu_plan p;
    double bytes[2];

    (void)state;
    for (int dense = 0; dense < 2; dense++) { /* one expert, or all 16 */
        bytes[dense] = 0;
        plan(&p, "h100-sxm", "llama-4-scout-text",
             (const char *const[]){"trainer", "megatron-bridge", "gpus", "16", "ep", "16", "dense_experts",
                                   dense ? "1" : "0", NULL});
        for (int i = 0; i < p.program.n_launches; i++)
            if (p.program.launches[i].work->collective.kind == MFU_ALL_TO_ALL)
                bytes[dense] = fmax(bytes[dense], p.program.launches[i].work->collective.bytes);
        mfu_plan_release(&p);
    }
    assert_near(bytes[1], 2 * bytes[0], 0.01); /* of 2 nodes */
}

static void a_norm_over_all_heads_is_refused(void **state)
{
    static const char *const models[] = {"olmo-2-7b", "olmoe-1b-7b", "minimax-m2",
                                         "qwen3-8b",  "llama-3-8b",  "bamba-9b"};

    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct mfu_scenario s =
            mfu_scenario_start(mfu_catalog_model(catalog, models[i], NULL), mfu_catalog_gpu(catalog, "h100-sxm", NULL));
        struct mfu_error err = {0};
        static struct mfu_plan p;

        s.gpu_given = s.model_given = true;
        assert_int_equal(mfu_scenario_set(&s, "tp", "2", &err), 0);
        if (i >= 3) {
            assert_int_equal(mfu_plan_make(&p, &s, &err), 0);
            mfu_plan_release(&p);
            continue;
        }
        assert_true(mfu_plan_make(&p, &s, &err) < 0);
        assert_non_null(strstr(err.text, "spans all heads"));
    }
}

/* Layers of one model may differ: all of them can be split over the ranks, and each stage gets what the one before has. */
static void what_ranks_cannot_share_is_refused(void **state)
{
    static const struct {
        const char *model, *key, *value, *refusal; /* NULL: it is planned */
    } rows[] = {{"gemma-4-31B", "tp", "4", NULL},
                {"gemma-4-31B", "tp", "8", "the 4 kv_heads"},
                {"gemma-4-26B-A4B", "tp", "4", "the 2 kv_heads"},
                {"gemma-4-31B", "pp", "2", NULL}, /* its second table of embeddings is left out, and nobody reads it */
                {"gemma-4-e4b", "pp", "2", "read ple_all"},
                {"resnet-50", "pp", "2", "hand on 196 rows"},
                {"swin-tiny-224", "pp", "2", "hand on 196 rows"},
                {"davit-tiny", "pp", "2", "hand on 196 rows"},
                {"maxvit-tiny-tf", "pp", "2", "hand on 196 rows"},
                {"vit-b-16", "pp", "2", NULL},
                {"gpt2", "pp", "2", NULL},
                {"albert-base-v2", "tp", "2", NULL},
                {"albert-base-v2", "pp", "2", "have one set of weights"},
                {"albert-base-v2", "zero", "3", "have one set of weights"},
                {"albert-base-v2", "trainable_layers", "2", "have one set of weights"}};
    static struct mfu_plan p;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct mfu_scenario s = mfu_scenario_start(mfu_catalog_model(catalog, rows[i].model, NULL),
                                                   mfu_catalog_gpu(catalog, "h100-sxm", NULL));
        struct mfu_error err = {0};

        s.gpu_given = s.model_given = true;
        assert_int_equal(mfu_scenario_set(&s, "gpus", rows[i].value, &err), 0);
        assert_int_equal(mfu_scenario_set(&s, rows[i].key, rows[i].value, &err), 0);
        if (mfu_plan_make(&p, &s, &err) == 0) {
            mfu_plan_release(&p);
            assert_null(rows[i].refusal);
        } else if (!rows[i].refusal || !strstr(err.text, rows[i].refusal)) {
            fail_msg("%s %s %s: %s", rows[i].model, rows[i].key, rows[i].value, err.text);
        }
    }
}

/* Whatever the layout: it is refused, or the GPUs of each process stand in its machine and hold whole layers. */
static void one_process_stays_in_its_machine(void **state)
{
    static const char *const gpus[] = {"4", "16", "24", "64"}, *const pp[] = {"2", "3", "4", "8", "16"},
                             *const also[][2] = {{"zero", "0"}, {"zero", "1"}, {"tp", "2"}, {"nodes", "8"}};
    int planned = 0, refused = 0;

    (void)state;
    for (size_t i = 0; i < 4 * 5 * 4; i++) {
        struct mfu_scenario s = mfu_scenario_start(mfu_catalog_model(catalog, "llama-2-7b", NULL),
                                                   mfu_catalog_gpu(catalog, "a100-80gb-sxm", NULL));
        const char *const *more = also[i / 20];
        struct mfu_config c;
        struct mfu_error err = {0};
        struct mfu_group g;
        struct mfu_mesh m;

        s.gpu_given = s.model_given = true;
        assert_int_equal(mfu_scenario_set(&s, "schedule", "sequential", &err), 0);
        assert_int_equal(mfu_scenario_set(&s, "gpus", gpus[i % 4], &err), 0);
        assert_int_equal(mfu_scenario_set(&s, "pp", pp[i / 4 % 5], &err), 0);
        assert_int_equal(mfu_scenario_set(&s, more[0], more[1], &err), 0);
        if (mfu_scenario_resolve(&s, &c, &err) < 0) {
            refused++;
            continue;
        }
        planned++;
        m = mfu_mesh_of(&c);
        g = mfu_mesh_group(&m, MFU_AXIS_BIT(MFU_AXIS_PP), c.ranks / c.setting[MFU_S_NODES]);
        assert_near(g.units, 1, 0);
        assert_near(c.setting[MFU_S_TP] * c.setting[MFU_S_CP] * fmax(c.setting[MFU_S_ZERO], 1), 1, 0);
    }
    assert_true(planned >= 15 && refused >= 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_share_heads_of_keys),
        cmocka_unit_test(ranks_count_a_product_once),
        cmocka_unit_test(a_token_goes_to_each_node_once),
        cmocka_unit_test(a_norm_over_all_heads_is_refused),
        cmocka_unit_test(what_ranks_cannot_share_is_refused),
        cmocka_unit_test(one_process_stays_in_its_machine),
        cmocka_unit_test(megatron_s_order_puts_tensor_parallelism_into_a_machine),
        cmocka_unit_test(experts_are_shared_without_loss_or_gain),
        cmocka_unit_test(scans_are_split_by_heads),
        cmocka_unit_test(recurrences_read_whole_sequences),
        cmocka_unit_test(ranks_of_experts_are_those_of_all_else_by_default),
        cmocka_unit_test(uplinks_slow_those_who_cross_them),
        cmocka_unit_test(a_bridge_joins_two_and_a_switch_all),
        cmocka_unit_test(a_rack_of_nvlink_is_one_unit),
        cmocka_unit_test(the_algorithm_follows_the_size),
        cmocka_unit_test(bus_factors_are_those_of_nccl_tests),
        cmocka_unit_test(a_plan_of_more_replicas_is_no_larger),
        cmocka_unit_test(exchanges_add_up),
        cmocka_unit_test(a_head_is_kept_by_its_own_chunk),
        cmocka_unit_test(dense_layers_count_among_a_stage_s),
        cmocka_unit_test(megatron_keeps_nothing_behind_an_expert),
        cmocka_unit_test(what_ranks_send_goes_over_one_link_or_the_other),
    };

    return cmocka_run_group_tests(tests, open_catalog, close_catalog);
}
