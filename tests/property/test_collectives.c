/*
 * Any mesh over any cluster, any collective: what must hold.  The seed is printed;
 * MFUPLAN_SEED repeats a run.
 */
#include "near.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cost/collective.h"
#include "cost/sample.h"
#include "descriptor/catalog.h"
#include "descriptor/gpu.h"

#define TRIALS 4000
#define EXACT 1e-9

static uint64_t seed, dice;
static struct mfu_catalog *catalog;

static uint64_t any(uint64_t below)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (dice >> 24) % below;
}

static struct mfu_mesh any_mesh(void)
{
    static const double sizes[] = {1, 1, 2, 2, 3, 4, 6, 8, 16};
    struct mfu_mesh m = mfu_mesh_start();

    for (int i = 0; i < MFU_MESH_AXES; i++) {
        int k = (int)any(MFU_MESH_AXES);
        unsigned char t = m.order[0][i];

        m.ranks[t] = sizes[any(LENGTH(sizes))];
        m.order[0][i] = m.order[0][k];
        m.order[0][k] = t;
    }
    /* Of the experts: the ranks of a stage, in two groups at most. */
    m.ranks[MFU_AXIS_ETP] = m.ranks[MFU_AXIS_TP];
    m.ranks[MFU_AXIS_EP] = m.ranks[any(2) ? MFU_AXIS_CP : MFU_AXIS_DP];
    m.ranks[MFU_AXIS_EDP] = m.ranks[MFU_AXIS_TP] * m.ranks[MFU_AXIS_CP_HEADS] * m.ranks[MFU_AXIS_CP]
        * m.ranks[MFU_AXIS_DP] / (m.ranks[MFU_AXIS_ETP] * m.ranks[MFU_AXIS_EP]);
    return m;
}

/* A machine of any cluster with the first of its GPUs. */
static void any_machine(struct mfu_machine *m, struct mfu_cluster *k)
{
    size_t n, n_gpus;
    const char *const *names = mfu_catalog_clusters(catalog, &n), *const *gpus = mfu_catalog_gpus(catalog, &n_gpus);
    const struct mfu_cluster *c = mfu_catalog_cluster(catalog, names[any(n)], NULL);
    const struct mfu_gpu *gpu;

    assert_non_null(c);
    gpu = mfu_catalog_gpu(catalog, c->n_gpus ? c->gpu[any((uint64_t)c->n_gpus)] : gpus[any(n_gpus)], NULL);
    assert_non_null(gpu);
    mfu_machine_of(gpu, gpu->coefficients.value, m);
    mfu_topology_make(c, gpu, gpu->coefficients.value, gpu->coefficients.sigma, &m->topology);
    mfu_cluster_with(c, gpu, k);
}

static bool aligned(const struct mfu_mesh *m)
{
    for (int i = 0; i < MFU_AXIS_COUNT; i++) /* EDP, too: a quotient of the others */
        if (log2(m->ranks[i]) != floor(log2(m->ranks[i])))
            return false;
    return true;
}

/* Every rank is in one group of a set of axes, and groups share a unit without gaps: in both layouts of the ranks. */
static void groups_partition_the_ranks(void **state)
{
    (void)state;
    for (int i = 0; i < TRIALS; i++) {
        struct mfu_mesh m = any_mesh();
        double unit = (double)(1u << any(5)), ranks = mfu_mesh_ranks(&m);

        for (int layout = 0; layout < 2; layout++) {
            unsigned all = 0;
            double product = 1;

            for (int k = 0; k < MFU_MESH_AXES && m.order[layout][k] < MFU_AXIS_COUNT; k++) {
                unsigned char a = m.order[layout][k];
                struct mfu_group g = mfu_mesh_group(&m, MFU_AXIS_BIT(a), unit);

                all |= MFU_AXIS_BIT(a);
                product *= g.ranks;
                assert_true(g.ranks == m.ranks[a] && g.local >= 1 && g.local <= unit && g.local <= g.ranks);
                assert_near(g.local * g.units, g.ranks, EXACT);
                assert_true(g.extent <= ranks && g.extent >= g.ranks);
            }
            assert_near(product, ranks, 0);
            for (unsigned axes = 0; axes <= MFU_AXES_ALL; axes++) {
                unsigned others = all & ~axes;
                struct mfu_group g = mfu_mesh_group(&m, axes, unit), rest = mfu_mesh_group(&m, others, unit);

                /* A set names its layout by an axis that is no other's. */
                if ((axes & ~all) || (layout == 1) != ((axes & MFU_AXES_EXPERTS) != 0)
                    || (layout == 1) != ((others & MFU_AXES_EXPERTS) != 0))
                    continue;
                assert_near(g.ranks * rest.ranks, ranks, 0);
                assert_true(g.local <= unit);
                if (aligned(&m)) /* as many groups in a unit as the other axes have positions there */
                    assert_near(g.sharing, rest.local, 0);
            }
        }
    }
}

/* What all groups of a unit take of its NICs together is what it has, at most. */
static void nics_are_shared_without_loss_or_gain(void **state)
{
    (void)state;
    for (int i = 0; i < TRIALS; i++) {
        struct mfu_machine m;
        struct mfu_cluster k;
        struct mfu_mesh mesh = any_mesh();
        struct mfu_group g;
        struct mfu_road r;
        double all;

        any_machine(&m, &k);
        g = mfu_mesh_group(&mesh, (unsigned)any(MFU_AXES_ALL + 1), m.topology.unit_gpus);
        r = mfu_road_of(&m.topology, &g);
        all = m.topology.unit_nics * m.topology.nic_bytes_s;
        if (g.units <= 1) {
            assert_true(r.level == 0 && r.network_bytes_s == 0);
            continue;
        }
        assert_true(r.network_bytes_s > 0 && r.network_bytes_s * g.sharing <= all * (1 + EXACT));
        if (r.level == 1 && mfu_mesh_ranks(&mesh) >= m.topology.unit_gpus && m.topology.gpu_nics >= 1)
            assert_near(r.network_bytes_s * g.sharing, all * fmax(0.2, 1 - m.topology.spread * log2(g.units)), EXACT);
    }
}

static void time_grows_with_bytes_along_the_way_that_is_taken(void **state)
{
    (void)state;
    for (int i = 0; i < TRIALS; i++) {
        struct mfu_machine m;
        struct mfu_cluster k;
        struct mfu_mesh mesh = any_mesh();
        enum mfu_collective_kind op = (enum mfu_collective_kind)(1 + any(MFU_COLLECTIVE_COUNT - 1));
        double bytes = exp2((double)any(360) / 10);
        struct mfu_collective_price p, more;
        struct mfu_group g;

        any_machine(&m, &k);
        g = mfu_mesh_group(&mesh, (unsigned)any(MFU_AXES_ALL + 1), m.topology.unit_gpus);
        p = mfu_collective_price(&m, &g, op, bytes);
        if (g.ranks <= 1) {
            assert_true(p.time_s == 0);
            continue;
        }
        if (g.units > 1 && !k.networked) {
            assert_true(isnan(p.time_s));
            continue;
        }
        if (!(p.time_s > 0 && isfinite(p.time_s) && p.latency_s > 0
              && p.latency_s + p.wire_s <= p.time_s * (1 + EXACT)))
            fail_msg("seed %llu: %s of %g bytes over %g ranks of %s: %g s", (unsigned long long)seed,
                     mfu_collective_names[op], bytes, g.ranks, k.slug, p.time_s);
        more = mfu_collective_price(&m, &g, op, 2 * bytes);
        if (more.algorithm == p.algorithm && more.protocol == p.protocol)
            assert_true(more.time_s > p.time_s && more.time_s < 2 * p.time_s * (1 + EXACT));
        assert_near(mfu_collective_price_by(&m, &g, op, bytes, p.algorithm).time_s, p.time_s, EXACT);
        for (int a = 0; a < MFU_ALGORITHM_COUNT; a++) {
            double alone = mfu_collective_price_by(&m, &g, op, bytes, (enum mfu_algorithm)a).time_s;

            /* In one machine NCCL takes what it expects to be the fastest, which may be wrong. */
            assert_true(isnan(alone) || alone >= p.time_s || (g.units <= 1 && m.topology.capability >= 7));
        }
        assert_true(mfu_collective_s(&m, &g, op, 0) == 0);
    }
}

/* A slower network, a longer hop, a busier NIC: never sooner. */
static void a_worse_network_is_never_faster(void **state)
{
    (void)state;
    for (int i = 0; i < TRIALS; i++) {
        struct mfu_machine m;
        struct mfu_cluster k;
        struct mfu_mesh mesh = any_mesh();
        enum mfu_collective_kind op = (enum mfu_collective_kind)(1 + any(MFU_COLLECTIVE_COUNT - 1));
        double bytes = exp2((double)any(360) / 10), time_s;
        struct mfu_group g;

        any_machine(&m, &k);
        g = mfu_mesh_group(&mesh, (unsigned)any(MFU_AXES_ALL + 1), m.topology.unit_gpus);
        time_s = mfu_collective_s(&m, &g, op, bytes);
        if (!(time_s > 0))
            continue;
        switch (any(3)) {
        case 0: m.topology.nic_bytes_s /= 2; break;
        case 1: m.topology.hop_s *= 2; break;
        default: g.sharing *= 2;
        }
        assert_true(mfu_collective_s(&m, &g, op, bytes) >= time_s * (1 - EXACT));
    }
}

static int set_up(void **state)
{
    const char *text = getenv("MFUPLAN_SEED");

    (void)state;
    seed = dice = text ? strtoull(text, NULL, 10) : (uint64_t)time(NULL);
    print_message("seed %llu\n", (unsigned long long)seed);
    catalog = mfu_catalog_open(MFUPLAN_SOURCE_DIR, NULL, NULL);
    return catalog ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    mfu_catalog_free(catalog);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_partition_the_ranks),
        cmocka_unit_test(nics_are_shared_without_loss_or_gain),
        cmocka_unit_test(time_grows_with_bytes_along_the_way_that_is_taken),
        cmocka_unit_test(a_worse_network_is_never_faster),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
