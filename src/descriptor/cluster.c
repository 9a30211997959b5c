/*
 * cluster.c - the machines that GPUs stand in, and the network between them.
 */
#include "descriptor/cluster.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/suggest.h"
#include "descriptor/gpu.h"
#include "descriptor/yaml.h"

const char *const mfu_fabric_names[MFU_FABRIC_COUNT + 1] = {
    [MFU_FABRIC_NVSWITCH] = "nvswitch",
    [MFU_FABRIC_MESH] = "nvlink-mesh",
    [MFU_FABRIC_CUBE] = "nvlink-cube",
    [MFU_FABRIC_BRIDGE] = "nvlink-bridge",
    [MFU_FABRIC_PCIE_SWITCH] = "pcie-switch",
    [MFU_FABRIC_PCIE] = "pcie",
    [MFU_FABRIC_HOST] = "host",
    [MFU_FABRIC_OWN] = "own",
};
const char *const mfu_network_names[MFU_NETWORK_COUNT + 1] = {
    [MFU_NETWORK_INFINIBAND] = "infiniband", [MFU_NETWORK_ROCE] = "roce", [MFU_NETWORK_EFA] = "efa",
    [MFU_NETWORK_OMNI_PATH] = "omni-path",   [MFU_NETWORK_TCPX] = "tcpx", [MFU_NETWORK_ETHERNET] = "ethernet",
};

#define SLOWEST_BRIDGE 150e9 /* bytes/s of NVLink, both directions: less is a bridge of two GPUs */

/* ---- keys ---------------------------------------------------------------- */

#define AT(field) .offset = offsetof(struct mfu_cluster, field)
#define TEXT(field) .type = MFU_FIELD_TEXT, AT(field), .size = sizeof((struct mfu_cluster *)NULL)->field
#define RANGE(low, high) .least = (low), .most = (high)
#define END                                                                                                            \
    {                                                                                                                  \
        .key = NULL                                                                                                    \
    }
static const struct mfu_field top_fields[] = {{"name", TEXT(name), .required = 1}, {"note", TEXT(note)}, END};
static const char *const top_others[] = {"aliases",  "gpu",     "usual_for", "node", "network",
                                         "failures", "storage", "sources",   NULL};

static const struct mfu_field node_fields[] = {
    {"gpus", .dim = MFU_COUNT, AT(node_gpus), RANGE(1, 1024)},
    {"domain", .dim = MFU_COUNT, AT(domain_gpus), RANGE(1, 65536)},
    {"peers", .dim = MFU_COUNT, AT(peers), RANGE(1, 1024)},
    {"link", .dim = MFU_BYTES_PER_S, AT(link_bytes_s), RANGE(1e9, 1e13)},
    {"host", TEXT(host)},
    {"host_memory", .dim = MFU_BYTES, AT(host_memory_bytes), RANGE(1e9, 1e14)},
    {"host_bandwidth", .dim = MFU_BYTES_PER_S, AT(host_bandwidth_bytes_s), RANGE(1e9, 1e13)},
    {"nvme_read", .dim = MFU_BYTES_PER_S, AT(nvme_read_bytes_s), RANGE(1e8, 1e12)},
    {"nvme_write", .dim = MFU_BYTES_PER_S, AT(nvme_write_bytes_s), RANGE(1e8, 1e12)},
    END};
static const char *const node_others[] = {"fabric", NULL};

static const struct mfu_field network_fields[] = {
    {"nics", .dim = MFU_COUNT, AT(nics), RANGE(1, 1024), .required = 1},
    {"rate", .dim = MFU_BYTES_PER_S, AT(nic_bytes_s), RANGE(1e7, 2e11), .required = 1}, /* bits are not bytes */
    {"hop", .dim = MFU_SECONDS, AT(hop_s), RANGE(1e-7, 1e-1)},
    END};
static const char *const network_others[] = {"technology", "reduction", "levels", NULL};

static const struct mfu_field failure_fields[] = {
    {"gpu_mtbf", .dim = MFU_SECONDS, AT(gpu_mtbf_s), RANGE(1e4, 1e12), .required = 1}, END};
static const struct mfu_field storage_fields[] = {
    {"write", .dim = MFU_BYTES_PER_S, AT(write_bytes_s), RANGE(1e6, 1e15)},
    {"read", .dim = MFU_BYTES_PER_S, AT(read_bytes_s), RANGE(1e6, 1e15)},
    END};
static const char *const none[] = {NULL};

static const struct group {
    const char *key;
    const struct mfu_field *fields;
    const char *const *others;
    bool required;
} groups[] = {
    {"node", node_fields, node_others, true},
    {"network", network_fields, network_others, false},
    {"failures", failure_fields, none, false},
    {"storage", storage_fields, none, false},
};
#define GROUPS (sizeof groups / sizeof groups[0])

#define LEVEL(field) .offset = offsetof(struct mfu_switch_level, field)
static const struct mfu_field level_fields[] = {
    {"nodes", .dim = MFU_COUNT, LEVEL(nodes), RANGE(1, 1e6), .required = 1},
    {"oversubscription", .dim = MFU_COUNT, LEVEL(oversubscription), RANGE(1, 1000)},
    END};

static void forget(struct mfu_cluster *c)
{
    *c = (struct mfu_cluster){0};
    for (size_t g = 0; g < GROUPS; g++)
        for (const struct mfu_field *f = groups[g].fields; f->key; f++)
            if (f->type == MFU_FIELD_QUANTITY)
                *(double *)((char *)c + f->offset) = NAN;
}

/* ---- reading ------------------------------------------------------------- */

struct reader {
    struct mfu_yaml *yaml;
    struct mfu_yaml_node *root;
    struct mfu_cluster *cluster;
    struct mfu_error *err;
};

/* Adds GROUP.KEY and its place (or its group's) to an error. */
static int fail_at(const struct reader *r, const char *group, const char *key)
{
    struct mfu_yaml_node *g = mfu_node_find(r->root, group), *node = g && key ? mfu_node_find(g, key) : NULL;

    mfu_within(r->err, key ? "%s.%s" : "%s", group, key);
    return mfu_node_error(r->yaml, node ? node : g ? g : r->root, r->err);
}

/* GROUP.KEY as the number of its name among `names`, which end with NULL. */
static int read_choice(const struct reader *r, const char *group, const char *key, const char *const *names)
{
    struct mfu_yaml_node *g = mfu_node_find(r->root, group), *node = g ? mfu_node_find(g, key) : NULL;
    const char *text = node ? mfu_node_text(node) : NULL, *best;
    size_t n = 0;

    for (; names[n]; n++)
        if (text && mfu_same_name(names[n], text))
            return (int)n;
    if (!text)
        mfu_fail(r->err, MFU_EINPUT, "is missing");
    else if (mfu_fail(r->err, MFU_EINPUT, "unknown: '%.40s'", text) && mfu_suggest(text, names, n, &best, 1) > 0)
        mfu_error_suggest(r->err, best);
    return fail_at(r, group, key);
}

static int read_levels(const struct reader *r, struct mfu_yaml_node *levels)
{
    struct mfu_cluster *c = r->cluster;

    if (mfu_node_type(levels) != MFU_SEQUENCE || mfu_node_count(levels) > MFU_SWITCH_LEVELS) {
        mfu_fail(r->err, MFU_EINPUT, "expected at most %d levels such as [{nodes: 32, oversubscription: 1}]",
                 MFU_SWITCH_LEVELS);
        return fail_at(r, "network", "levels");
    }
    for (size_t i = 0; i < mfu_node_count(levels); i++) {
        struct mfu_switch_level *level = &c->level[c->n_levels++];
        struct mfu_yaml_node *node = mfu_node_item(levels, i);

        level->oversubscription = 1;
        if (mfu_node_fields(r->yaml, node, level_fields, none, level, r->err) < 0)
            return mfu_within(r->err, "network.levels");
        if (i > 0 && !(level->nodes > level[-1].nodes)) {
            mfu_fail(r->err, MFU_EINPUT, "%.0f nodes are not more than the %.0f of the level below", level->nodes,
                     level[-1].nodes);
            mfu_within(r->err, "network.levels");
            return mfu_node_error(r->yaml, node, r->err);
        }
    }
    return 0;
}

static int read_network(const struct reader *r)
{
    struct mfu_yaml_node *network = mfu_node_find(r->root, "network"), *node;
    struct mfu_cluster *c = r->cluster;
    int choice;

    if (!network)
        return 0;
    c->networked = true;
    if ((choice = read_choice(r, "network", "technology", mfu_network_names)) < 0)
        return -1;
    c->network = (enum mfu_network)choice;
    if (mfu_node_find(network, "reduction")) {
        static const char *const kinds[] = {"none", "sharp", NULL};

        if ((choice = read_choice(r, "network", "reduction", kinds)) < 0)
            return -1;
        c->reduces = choice == 1;
    }
    node = mfu_node_find(network, "levels");
    return node ? read_levels(r, node) : 0;
}

static int read_gpus(const struct reader *r)
{
    struct mfu_yaml_node *list = mfu_node_find(r->root, "gpu"), *usual = mfu_node_find(r->root, "usual_for"), *node;

    if (list && mfu_node_check_texts(r->yaml, list, "a GPU's name, or names such as [a, b]", r->err) < 0)
        return mfu_within(r->err, "gpu");
    if (usual && mfu_node_check_texts(r->yaml, usual, "names of GPUs such as [a, b]", r->err) < 0)
        return mfu_within(r->err, "usual_for");
    for (size_t i = 0; list && (node = mfu_node_each(list, i)); i++) {
        if (i == MFU_CLUSTER_GPUS) {
            mfu_fail(r->err, MFU_EINPUT, "more than %d GPUs", MFU_CLUSTER_GPUS);
            mfu_within(r->err, "gpu");
            return mfu_node_error(r->yaml, node, r->err);
        }
        snprintf(r->cluster->gpu[r->cluster->n_gpus++], sizeof r->cluster->gpu[0], "%s", mfu_node_text(node));
    }
    return 0;
}

/* ---- what must hold ------------------------------------------------------ */

static int check(const struct reader *r)
{
    const struct mfu_cluster *c = r->cluster;
    struct mfu_yaml_node *sources = mfu_node_find(r->root, "sources");

    if (!isnan(c->domain_gpus) && !(fmod(c->domain_gpus, c->node_gpus) == 0)) {
        mfu_fail(r->err, MFU_EINPUT, "%.0f is not a multiple of the %.0f GPUs of a node", c->domain_gpus, c->node_gpus);
        return fail_at(r, "node", "domain");
    }
    if (c->domain_gpus > c->node_gpus && c->fabric != MFU_FABRIC_NVSWITCH) {
        mfu_fail(r->err, MFU_EINPUT, "only NVLink switches join the GPUs of several nodes");
        return fail_at(r, "node", "domain");
    }
    if (c->fabric == MFU_FABRIC_MESH && isnan(c->peers)) {
        mfu_fail(r->err, MFU_EINPUT, "a mesh needs peers: how many others a GPU has NVLinks to");
        return fail_at(r, "node", "fabric");
    }
    for (size_t g = 0; g < GROUPS; g++)
        if (mfu_node_find(r->root, groups[g].key) && !(sources && mfu_node_find(sources, groups[g].key)))
            return mfu_node_fail(r->yaml, sources ? sources : r->root, r->err,
                                 "sources.%s is missing: say where the figures come from", groups[g].key);
    return 0;
}

int mfu_cluster_parse(struct mfu_yaml *yaml, struct mfu_cluster *c, struct mfu_error *err)
{
    const struct reader r = {yaml, mfu_yaml_root(yaml), c, err};
    struct mfu_yaml_node *aliases;
    int fabric = MFU_FABRIC_OWN;

    forget(c);
    mfu_folder_slug(c->slug, sizeof c->slug, mfu_yaml_name(yaml));
    snprintf(c->path, sizeof c->path, "%s", mfu_yaml_name(yaml));
    if (mfu_node_fields(yaml, r.root, top_fields, top_others, c, err) < 0)
        return -1;
    for (size_t g = 0; g < GROUPS; g++) {
        struct mfu_yaml_node *node = mfu_node_find(r.root, groups[g].key);

        if (!node && groups[g].required)
            return mfu_node_fail(yaml, r.root, err, "'%s' is missing", groups[g].key);
        if (node && mfu_node_fields(yaml, node, groups[g].fields, groups[g].others, c, err) < 0)
            return mfu_within(err, "%s", groups[g].key);
    }
    aliases = mfu_node_find(r.root, "aliases");
    if (aliases && mfu_node_check_texts(yaml, aliases, "names such as [a, b]", err) < 0)
        return mfu_within(err, "aliases");
    if (mfu_node_find(mfu_node_find(r.root, "node"), "fabric")
        && (fabric = read_choice(&r, "node", "fabric", mfu_fabric_names)) < 0)
        return -1;
    c->fabric = (enum mfu_fabric)fabric;
    return read_gpus(&r) < 0 || read_network(&r) < 0 ? -1 : check(&r);
}

int mfu_cluster_read(const char *path, struct mfu_cluster *c, struct mfu_error *err)
{
    struct mfu_yaml *yaml = mfu_yaml_read(path, err);
    int result;

    if (!yaml)
        return -1;
    result = mfu_cluster_parse(yaml, c, err);
    mfu_yaml_free(yaml);
    return result;
}

/* ---- from the GPU alone -------------------------------------------------- */

static enum mfu_fabric fabric_of(const struct mfu_gpu *gpu)
{
    bool nvlink = strstr(gpu->peer, "nvlink") != NULL;

    if (nvlink && gpu->nvlink_bytes_s > 0)
        return strstr(gpu->peer, "bridge") || gpu->nvlink_bytes_s < SLOWEST_BRIDGE ? MFU_FABRIC_BRIDGE
                                                                                   : MFU_FABRIC_NVSWITCH;
    return nvlink || strstr(gpu->peer, "pcie") ? MFU_FABRIC_PCIE : MFU_FABRIC_HOST;
}

void mfu_cluster_with(const struct mfu_cluster *cluster, const struct mfu_gpu *gpu, struct mfu_cluster *c)
{
    if (cluster) {
        *c = *cluster;
    } else {
        forget(c);
        snprintf(c->name, sizeof c->name, "one machine");
        c->fabric = MFU_FABRIC_OWN;
    }
    if (isnan(c->node_gpus))
        c->node_gpus = gpu->node_gpus;
    if (isnan(c->domain_gpus))
        c->domain_gpus = c->node_gpus;
    if (isnan(c->link_bytes_s))
        c->link_bytes_s = gpu->nvlink_bytes_s;
    if (c->fabric == MFU_FABRIC_OWN)
        c->fabric = fabric_of(gpu);
}

bool mfu_cluster_has(const struct mfu_cluster *c, const struct mfu_gpu *gpu)
{
    if (c->n_gpus == 0)
        return true;
    for (int i = 0; i < c->n_gpus; i++)
        if (mfu_same_name(c->gpu[i], gpu->slug))
            return true;
    return false;
}
