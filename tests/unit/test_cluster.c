/* test_cluster.c - the machines that GPUs stand in, and the slips that their files must not have. */
#include "catalog.h"
#include "near.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "descriptor/cluster.h"
#include "descriptor/gpu.h"
#include "descriptor/yaml.h"

static const char box[] = "name: Box\n"
                          "gpu: [h100-sxm, h200-sxm]\n"
                          "node: {gpus: 8, fabric: nvswitch, host_memory: 2TB}\n"
                          "network:\n"
                          "  technology: infiniband\n"
                          "  nics: 8\n"
                          "  rate: 400Gbit/s\n"
                          "  levels: [{nodes: 32}, {nodes: 128, oversubscription: 3}]\n"
                          "failures: {gpu_mtbf: 2000 d}\n"
                          "sources: {node: a, network: b, failures: c}\n";

static int parse(const char *text, struct mfu_cluster *c, struct mfu_error *err)
{
    struct mfu_yaml *yaml = mfu_yaml_parse("gpus/clusters/box.yaml", text, strlen(text), err);
    int result = yaml ? mfu_cluster_parse(yaml, c, err) : -1;

    mfu_yaml_free(yaml);
    return result;
}

static void what_is_said_is_read_and_the_rest_is_unknown(void **state)
{
    struct mfu_cluster c;
    struct mfu_error err = {0};

    (void)state;
    assert_int_equal(parse(box, &c, &err), 0);
    assert_string_equal(c.slug, "box");
    assert_true(c.n_gpus == 2 && c.networked && !c.reduces && c.n_levels == 2);
    assert_int_equal(c.fabric, MFU_FABRIC_NVSWITCH);
    assert_int_equal(c.network, MFU_NETWORK_INFINIBAND);
    assert_near(c.nic_bytes_s, 50e9, 1e-12);
    assert_near(c.host_memory_bytes, 2e12, 1e-12);
    assert_near(c.gpu_mtbf_s, 2000 * 86400.0, 1e-12);
    assert_near(c.level[0].oversubscription, 1, 0);
    assert_near(c.level[1].oversubscription, 3, 0);
    assert_true(isnan(c.hop_s) && isnan(c.domain_gpus) && isnan(c.write_bytes_s));
}

static void slips_are_refused_where_they_stand(void **state)
{
    // clang-format off
    static const struct { const char *from, *to, *part, *suggestion; int line; } rows[] = {
        {"nvswitch", "nvswich", "node.fabric: unknown: 'nvswich'", "nvswitch", 3},
        {"infiniband", "infinband", "network.technology: unknown", "infiniband", 5},
        {"  technology: infiniband\n", "", "network.technology: is missing", "", 5},
        {"nics: 8", "nic: 8", "unknown key 'nic'", "nics", 6},
        {"400Gbit/s", "400GB/s", "'400GB/s' is outside", "", 7},
        {"nodes: 128", "nodes: 16", "16 nodes are not more than the 32", "", 8},
        {"gpus: 8, fabric", "gpus: 8, domain: 12, fabric", "12 is not a multiple of the 8 GPUs", "", 3},
        {"fabric: nvswitch", "fabric: pcie, domain: 16", "only NVLink switches join", "", 3},
        {"fabric: nvswitch", "fabric: nvlink-mesh", "a mesh needs peers", "", 3},
        {", failures: c", "", "sources.failures is missing", "", 10},
        {"node: {gpus: 8, fabric: nvswitch, host_memory: 2TB}\n", "", "'node' is missing", "", 1},
    };
    // clang-format on

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char text[1024];
        const char *at = strstr(box, rows[i].from);
        struct mfu_error err = {0};
        struct mfu_cluster c;

        assert_non_null(at);
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - box), box, rows[i].to, at + strlen(rows[i].from));
        assert_int_equal(parse(text, &c, &err), -1);
        if (!strstr(err.text, rows[i].part) || err.line != rows[i].line
            || strcmp(err.suggestion, rows[i].suggestion) != 0)
            fail_msg("%s -> %s:%d:%d: %s (%s)", rows[i].to, err.file, err.line, err.column, err.text, err.suggestion);
        assert_true(err.column > 0);
    }
}

static void every_cluster_can_be_read_and_names_gpus_that_there_are(void **state)
{
    size_t n;
    const char *const *names = mfu_catalog_clusters(catalog, &n);

    (void)state;
    assert_true(n >= 20);
    for (size_t i = 0; i < n; i++) {
        struct mfu_error err = {0};
        const struct mfu_cluster *c = mfu_catalog_cluster(catalog, names[i], &err);

        if (!c)
            fail_msg("%s:%d:%d: %s", err.file, err.line, err.column, err.text);
        for (int g = 0; g < c->n_gpus; g++)
            if (!mfu_catalog_gpu(catalog, c->gpu[g], &err))
                fail_msg("%s: %s", names[i], err.text);
        assert_ptr_equal(c, mfu_catalog_cluster(catalog, c->name, &err));
    }
}

static void every_gpu_has_a_usual_cluster_that_is_built_with_it(void **state)
{
    size_t n;
    const char *const *names = mfu_catalog_gpus(catalog, &n);

    (void)state;
    for (size_t i = 0; i < n; i++) {
        const struct mfu_gpu *gpu = mfu_catalog_gpu(catalog, names[i], NULL);
        struct mfu_cluster k;

        if (!gpu->usual || !mfu_cluster_has(gpu->usual, gpu))
            fail_msg("%s: %s", names[i], gpu->usual ? gpu->usual->slug : "no usual cluster");
        mfu_cluster_with(gpu->usual, gpu, &k);
        assert_true(k.fabric < MFU_FABRIC_OWN && k.node_gpus >= 1 && k.domain_gpus >= k.node_gpus);
    }
}

static void a_wrong_name_gets_the_nearest(void **state)
{
    struct mfu_error err = {0};

    (void)state;
    assert_null(mfu_catalog_cluster(catalog, "dgx-h10", &err));
    assert_string_equal(err.suggestion, "dgx-h100");
    assert_null(mfu_catalog_cluster(catalog, "rtx4070", &err));
    assert_non_null(strstr(err.text, "it is a GPU"));
    assert_non_null(mfu_catalog_cluster(catalog, "P5.48xlarge", &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_said_is_read_and_the_rest_is_unknown),
        cmocka_unit_test(slips_are_refused_where_they_stand),
        cmocka_unit_test(every_cluster_can_be_read_and_names_gpus_that_there_are),
        cmocka_unit_test(every_gpu_has_a_usual_cluster_that_is_built_with_it),
        cmocka_unit_test(a_wrong_name_gets_the_nearest),
    };

    return cmocka_run_group_tests(tests, open_catalog, close_catalog);
}
