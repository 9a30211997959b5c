/*
 * Laws of offload: bytes leave the GPU and are in the host's memory; copies take their
 * time, and kernels hide what they can.
 */
#include "../unit/any_scenario.h"

#include "cost/collective.h"
#include "graph/graph.h"
#include "plan/exchanges.h"
#include "plan/simulation.h"

#define TRIES 120

static struct mfu_plan plan, other;
static struct mfu_program unrolled;

/* Bytes of a step that go one way. */
static double moved(const struct mfu_program *p, enum mfu_collective_kind way)
{
    double bytes = 0;

    for (int k = 0; k < p->n_segments; k++)
        for (int i = p->segments[k].first; i < p->segments[k].first + p->segments[k].count; i++)
            if (p->launches[i].work->collective.kind == way)
                bytes += mfu_segment_times(p, &p->segments[k]) * p->launches[i].work->kernel.launches
                    * p->launches[i].work->collective.bytes;
    return bytes;
}

static double host_s(const struct mfu_plan *p)
{
    struct mfu_exchange list[MFU_MOST_EXCHANGES];

    for (int i = 0, n = mfu_exchanges(p, list); i < n; i++)
        if (strcmp(list[i].group, "host") == 0)
            return list[i].time_s;
    return 0;
}

/* The next scenario, which offloads nothing. */
static struct mfu_scenario whole(void)
{
    static const enum mfu_setting_id moved[] = {MFU_S_OFFLOAD_OPTIMIZER, MFU_S_OFFLOAD_PARAMS,
                                                MFU_S_OFFLOAD_ACTIVATIONS, MFU_S_NVME_OPTIMIZER, MFU_S_NVME_PARAMS};
    struct mfu_scenario s;

    next(&s, &plan);
    for (size_t i = 0; i < sizeof moved / sizeof moved[0]; i++)
        s.setting[moved[i]] = 0;
    return s;
}

/* What a plan of this scenario says, in `plan` without offload and in `other` with. */
static bool both(const char *key)
{
    struct mfu_scenario s = whole();

    return mfu_plan_make(&plan, &s, NULL) == 0 && replan_as(&other, &s, key, "on");
}

static void optimizers_leave_as_a_whole(void **unused)
{
    int n = 0;

    (void)unused;
    for (int i = 0; i < TRIES; i++) {
        const double *without = plan.program.constant_bytes, *with = other.program.constant_bytes;

        if (!both("offload_optimizer") || plan.config.setting[MFU_S_ZERO] != other.config.setting[MFU_S_ZERO])
            continue;
        n++;
        HOLDS(with[MFU_PART_OPTIMIZER] == 0);
        HOLDS_NEAR(other.program.host_bytes[MFU_PART_OPTIMIZER], without[MFU_PART_OPTIMIZER], EXACT);
        HOLDS(other.program.host_bytes[MFU_PART_GRADIENTS] > 0);
        /* Buffers of gradients stay, and are zeroed. */
        HOLDS(other.step.optimizer_s == 0 || other.config.setting[MFU_S_EMA] > 0
              || other.program.constant_bytes[MFU_PART_GRADIENTS] > 0);
        /* Each gradient arrives, each new weight returns. */
        HOLDS(moved(&other.program, MFU_TO_HOST) >= other.program.host_bytes[MFU_PART_GRADIENTS] * (1 - EXACT) / 1.5);
        if (other.config.accum == 1)
            HOLDS_NEAR(moved(&other.program, MFU_FROM_HOST),
                       plan.program.rank_trained * mfu_type_bytes[MFU_F16] * (plan.program.weight_bytes / 2)
                           * (other.program.host_bytes[MFU_PART_WEIGHTS]
                              / (plan.program.rank_trained * plan.program.weight_bytes)),
                       1e-6);
        HOLDS(other.step.time_s >= host_s(&other) * (1 - 1e-6) - other.step.forward_s - other.step.backward_s);
    }
    assert_true(n > 10);
}

/* What layers save is on the way as often as it is needed, and no longer on the GPU. */
static void activations_go_and_return(void **unused)
{
    int n = 0;

    (void)unused;
    for (int i = 0; i < TRIES; i++) {
        double sent, came;

        if (!both("offload_activations"))
            continue;
        sent = moved(&other.program, MFU_TO_HOST);
        came = moved(&other.program, MFU_FROM_HOST);
        n += sent > 0;
        HOLDS_NEAR(sent, other.program.accum * other.program.host_bytes[MFU_PART_ACTIVATIONS], 1e-6);
        HOLDS(came <= sent * (1 + EXACT));
        HOLDS(other.memory.peak.bytes <= plan.memory.peak.bytes * (1 + 1e-6));
        HOLDS_NEAR(plan.sums.time_s[MFU_FORWARD], other.sums.time_s[MFU_FORWARD], 0.05);
        HOLDS(mfu_saved_bytes(&other.program) <= mfu_saved_bytes(&plan.program));
        HOLDS(mfu_saved_bytes(&plan.program) - mfu_saved_bytes(&other.program)
              <= sent / other.program.accum * (1 + EXACT));
    }
    assert_true(n > 10);
}

/* Elements travel, not the blocks that hold them: of an equal number of copies, as many more with each more in a batch. */
static void what_travels_is_proportional(void **unused)
{
    static struct mfu_plan at[3];
    int n = 0;

    (void)unused;
    for (int i = 0; i < TRIES; i++) {
        double sent[3], copies[3];
        struct mfu_scenario s;
        bool planned = true;

        next(&s, &plan);
        mfu_scenario_set(&s, "offload_activations", "on", NULL);
        for (int k = 0; k < 3; k++) {
            planned = planned && replan(&at[k], &s, "batch", 7 + k);
            sent[k] = moved(&at[k].program, MFU_TO_HOST);
            copies[k] = at[k].program.n_launches;
        }
        if (!planned || mfu_checkpoints[plan.config.checkpoint].by_budget || copies[0] != copies[2]
            || copies[0] != copies[1] || joins_batch(plan.config.model))
            continue;
        n++;
        HOLDS_NEAR(sent[2] - sent[1], sent[1] - sent[0], 1e-6);
    }
    assert_true(n > 10);
    for (int k = 0; k < 3; k++)
        mfu_plan_release(&at[k]);
}

/* A layer that stands for several moves as much as those do, and keeps as much on the GPU. */
static void counted_layers_are_like_unrolled_ones(void **unused)
{
    static const char *const keys[] = {"offload_optimizer", "offload_params", "offload_activations"};
    int n = 0;

    (void)unused;
    for (int i = 0; i < TRIES; i++) {
        struct mfu_peak_memory peak;

        if (!both(keys[i % 3]) || mfu_config_dim(&other.config, "n_layer") > 40)
            continue;
        n++;
        assert_int_equal(mfu_graph_build(&other.config, MFU_LAYERS_COPIED, &unrolled, NULL), 0);
        assert_int_equal(mfu_lifetime_peak(&unrolled, false, &peak), 0);
        for (int way = MFU_TO_HOST; way < MFU_TRANSFER_COUNT; way++)
            HOLDS_NEAR(moved(&other.program, (enum mfu_collective_kind)way),
                       moved(&unrolled, (enum mfu_collective_kind)way), 1e-6);
        HOLDS_NEAR(other.memory.peak.bytes, peak.bytes, 0.02);
        for (int k = 0; k < MFU_PART_COUNT; k++)
            HOLDS_NEAR(other.program.host_bytes[k], unrolled.host_bytes[k], 1e-6);
    }
    assert_true(n > 10);
}

/* Every copy is made before it is needed: a launch reads no tensor that is not there. */
static void what_is_read_is_there(void **unused)
{
    (void)unused;
    for (int i = 0; i < TRIES / 2; i++) {
        const struct mfu_program *p = &unrolled;

        if (!both("offload_activations") || mfu_config_dim(&other.config, "n_layer") > 40
            || mfu_runtimes[other.config.runtime].fuse) /* what a compiler merged names what it no longer needs */
            continue;
        assert_int_equal(mfu_graph_build(&other.config, MFU_LAYERS_COPIED, &unrolled, NULL), 0);
        for (int k = 0; k < p->n_launches; k++)
            for (int v = 0; v < p->launches[k].n_in; v++) {
                const struct mfu_tensor *t = &p->tensors[p->views[p->launches[k].in[v]].tensor];

                HOLDS(t->born <= k && t->last >= k);
            }
    }
}

/* A faster link costs no time; where nothing hides, the step is as long as the copies. */
static void links_take_their_time(void **unused)
{
    (void)unused;
    for (int i = 0; i < TRIES / 2; i++) {
        struct mfu_scenario s = {0};
        double before_s;

        if (!both("offload_optimizer"))
            continue;
        s = other.scenario;
        before_s = other.step.time_s;
        if (!replan(&other, &s, "link.pinned", 0.2))
            continue;
        HOLDS(other.step.time_s >= before_s * (1 - EXACT));
        if (other.config.setting[MFU_S_DATALOADER_MS] == 0 && replan(&other, &s, "host.adam", 0.05))
            HOLDS(other.step.time_s > before_s);
    }
}

/* By the name of what is offloaded, too; refused where nothing could do it. */
static void words_and_refusals(void **unused)
{
    struct mfu_scenario s =
        mfu_scenario_start(mfu_catalog_model(catalog, "gpt2", NULL), mfu_catalog_gpu(catalog, "h100-sxm", NULL));
    struct mfu_config c;
    struct mfu_error err = {0};

    (void)unused;
    assert_int_equal(mfu_scenario_set(&s, "offload", "params", &err), 0);
    assert_int_equal(mfu_scenario_resolve(&s, &c, &err), 0);
    assert_true(c.setting[MFU_S_ZERO] == 3 && c.setting[MFU_S_OFFLOAD_OPTIMIZER] == 1);
    assert_true(c.setting[MFU_S_OFFLOAD_ACTIVATIONS] == 0);
    assert_int_equal(mfu_scenario_set(&s, "activation_offloading", "true", &err), 0);
    assert_int_equal(mfu_scenario_set(&s, "offload", "weights", &err), -1);
    assert_int_equal(mfu_scenario_set(&s, "optimizer", "muon", &err), 0);
    assert_int_equal(mfu_scenario_resolve(&s, &c, &err), -1);
    assert_non_null(strstr(err.text, "muon runs on GPUs only"));
    assert_int_equal(mfu_scenario_set(&s, "optimizer", "adamw", &err), 0);
    assert_int_equal(mfu_scenario_set(&s, "zero", "1", &err), 0);
    assert_int_equal(mfu_scenario_resolve(&s, &c, &err), -1);
    assert_non_null(strstr(err.text, "zero 3"));

    s = mfu_scenario_start(s.model, s.gpu);
    assert_int_equal(mfu_scenario_set(&s, "trainer", "deepspeed", &err), 0);
    assert_int_equal(mfu_scenario_set(&s, "offload_optimizer_device", "nvme", &err), 0);
    assert_int_equal(mfu_scenario_resolve(&s, &c, &err), 0);
    assert_true(c.setting[MFU_S_NVME_OPTIMIZER] == 1 && c.setting[MFU_S_OFFLOAD_OPTIMIZER] == 1);
    assert_int_equal(mfu_scenario_set(&s, "offload_optimizer", "off", &err), 0);
    assert_int_equal(mfu_scenario_resolve(&s, &c, &err), -1);
    assert_non_null(strstr(err.text, "set offload_optimizer on"));
    assert_int_equal(mfu_scenario_set(&s, "offload_optimizer_device", "cpu", &err), 0);
    assert_int_equal(mfu_scenario_resolve(&s, &c, &err), 0);
    assert_true(c.setting[MFU_S_NVME_OPTIMIZER] == 0 && c.setting[MFU_S_OFFLOAD_OPTIMIZER] == 1);
}

/* A GPU with NVLink-C2C copies at its rate; a machine's memory may be too small. */
static void hosts_are_part_of_the_answer(void **unused)
{
    const char *const links[] = {"gh200-96gb", "h100-sxm", "rtx3090"};
    double rate = INFINITY;

    (void)unused;
    for (size_t i = 0; i < 3; i++) {
        struct mfu_scenario s =
            mfu_scenario_start(mfu_catalog_model(catalog, "gpt2-xl", NULL), mfu_catalog_gpu(catalog, links[i], NULL));

        assert_true(replan_as(&other, &s, "offload_optimizer", "on"));
        assert_true(other.machine.topology.pinned < rate);
        rate = other.machine.topology.pinned;
    }
    {
        struct mfu_scenario s = mfu_scenario_start(mfu_catalog_model(catalog, "llama-3-70b", NULL),
                                                   mfu_catalog_gpu(catalog, "v100-32gb-sxm", NULL));

        s.cluster = mfu_catalog_cluster(catalog, "dgx-1", NULL);
        assert_non_null(s.cluster);
        assert_int_equal(mfu_scenario_set(&s, "checkpoint", "full", NULL), 0);
        assert_int_equal(mfu_scenario_set(&s, "precision", "fp16", NULL), 0);
        assert_true(replan_as(&other, &s, "offload_params", "on"));
        assert_true(other.memory.host_node_bytes > other.memory.host_capacity_bytes);
        assert_true(mfu_plan_fits(&other) == 0);
    }
}

/* What would be in the host's memory is on its drives, is read and written once a step (gradients the other way round),
 * and takes their time; a pipeline saves at most the CPU's
 * update and the copies behind it.  Weights that all find room in the CPU's memory never
 * see a drive. */
static void drives_carry_what_the_host_would(void **unused)
{
    int n = 0;

    (void)unused;
    for (int i = 0; i < TRIES; i++) {
        const double *drive = other.program.drive_bytes;
        struct mfu_scenario s = whole();
        double bytes, time_s, serial_s, least_s, states;

        mfu_scenario_set(&s, "trainer", "deepspeed", NULL);
        mfu_scenario_set(&s, "zero", "3", NULL);
        mfu_scenario_set(&s, "offload_optimizer", "on", NULL);
        if (mfu_plan_make(&plan, &s, NULL) < 0 || !replan_as(&other, &s, "nvme_optimizer", "on"))
            continue;
        n++;
        HOLDS_NEAR(drive[MFU_PART_OPTIMIZER], plan.program.host_bytes[MFU_PART_OPTIMIZER], EXACT);
        HOLDS(drive[MFU_PART_GRADIENTS] <= plan.program.host_bytes[MFU_PART_GRADIENTS]);
        HOLDS(other.memory.peak.bytes >= plan.memory.peak.bytes * (1 - EXACT));
        states = drive[MFU_PART_OPTIMIZER];
        bytes = states + drive[MFU_PART_GRADIENTS];
        HOLDS_NEAR(moved(&other.program, MFU_FROM_DRIVE), bytes, 1e-6);
        HOLDS_NEAR(moved(&other.program, MFU_TO_DRIVE), bytes,
                   0.006); /* but what forward never uses: the end of LLaVA's tower */
        HOLDS_NEAR(moved(&other.program, MFU_HOST_UPDATE), moved(&plan.program, MFU_HOST_UPDATE), 1e-6);
        least_s =
            bytes / other.machine.topology.nvme_read + drive[MFU_PART_OPTIMIZER] / other.machine.topology.nvme_write;
        serial_s = other.step.time_s;
        HOLDS(serial_s >= least_s * (1 - EXACT));
        s = other.scenario;
        mfu_scenario_set(&s, "sub_group_size", "1000000", NULL);
        time_s = serial_s;
        for (int k = 1; k <= 3; k++) {
            s.setting[MFU_S_NVME_PIPELINE] = k;
            s.setting_given[MFU_S_NVME_PIPELINE] = true;
            if (mfu_plan_make(&other, &s, NULL) < 0)
                continue;
            HOLDS_NEAR(moved(&other.program, MFU_FROM_DRIVE), bytes, 1e-6);
            HOLDS(other.step.time_s <= serial_s * (1 + 1e-3) + 5e-3);
            HOLDS(other.step.time_s >= least_s * (1 - EXACT));
            time_s = fmin(time_s, other.step.time_s);
        }
        HOLDS(serial_s - time_s <= moved(&other.program, MFU_HOST_UPDATE)
                      / (other.machine.topology.host_memory * other.machine.c[MFU_C_HOST_ADAM])
                  + moved(&other.program, MFU_FROM_HOST) / other.machine.topology.pinned + 1e-3 * serial_s + 5e-3);
        if (!replan_as(&plan, &s, "offload_params", "on") || !replan_as(&other, &plan.scenario, "nvme_params", "on"))
            continue;
        HOLDS_NEAR(drive[MFU_PART_OPTIMIZER], states, EXACT); /* masters are no weights */
        HOLDS(drive[MFU_PART_WEIGHTS] <= plan.program.host_bytes[MFU_PART_WEIGHTS] * (1 + EXACT));
        HOLDS(moved(&other.program, MFU_FROM_DRIVE) >= moved(&plan.program, MFU_FROM_DRIVE));
        s = other.scenario;
        if (replan(&other, &s, "max_in_cpu", 1e13)) {
            HOLDS(drive[MFU_PART_WEIGHTS] == 0);
            HOLDS_NEAR(other.step.time_s, plan.step.time_s, 1e-6);
        }
    }
    assert_true(n > 10);
}

static int close_all(void **state_)
{
    mfu_plan_release(&plan);
    mfu_plan_release(&other);
    mfu_program_free(&unrolled);
    return close_any(state_);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(optimizers_leave_as_a_whole),
        cmocka_unit_test(activations_go_and_return),
        cmocka_unit_test(what_travels_is_proportional),
        cmocka_unit_test(counted_layers_are_like_unrolled_ones),
        cmocka_unit_test(what_is_read_is_there),
        cmocka_unit_test(links_take_their_time),
        cmocka_unit_test(words_and_refusals),
        cmocka_unit_test(hosts_are_part_of_the_answer),
        cmocka_unit_test(drives_carry_what_the_host_would),
    };

    return cmocka_run_group_tests(tests, open_any, close_all);
}
