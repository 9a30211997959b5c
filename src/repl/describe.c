/*
 * describe.c - GPUs and models: one line, everything, and lists of names.
 */
#include "repl/describe.h"

#include <math.h>
#include <string.h>

#include "descriptor/yaml.h"
#include "report/report.h"
#include "repl/output.h"
#include "scenario/keys.h"

/* " 8 x 50 GB/s": the NICs of a node. */
static const char *nics_of(char text[MFU_QUANTITY_MAX], const struct mfu_cluster *k)
{
    char rate[MFU_QUANTITY_MAX];

    snprintf(text, MFU_QUANTITY_MAX, " %.0f x %.14s", k->nics,
             mfu_quantity_format(rate, k->nic_bytes_s, MFU_BYTES_PER_S));
    return text;
}

/* ---- one line ------------------------------------------------------------ */

void mfu_say_gpu(struct mfu_session *s, const struct mfu_gpu *g)
{
    bool verified = g->capacity_bytes > 0;
    char memory[MFU_QUANTITY_MAX], bandwidth[MFU_QUANTITY_MAX], peak[MFU_QUANTITY_MAX];

    mfu_quantity_format(memory,
                        verified                     ? g->capacity_bytes
                            : g->smi_total_bytes > 0 ? g->smi_total_bytes
                                                     : g->size_bytes,
                        MFU_BYTES);
    mfu_quantity_format(bandwidth, g->bandwidth_bytes_s, MFU_BYTES_PER_S);
    mfu_quantity_format(peak, g->peak_flops[MFU_PEAK_BF16], MFU_FLOP_PER_S);
    mfu_print_note(s, "%s: %s %s, bandwidth %s, dense bf16 %s", g->name, memory, verified ? "for a process" : "in all",
                   bandwidth, g->peak_flops[MFU_PEAK_BF16] == 0 ? "none" : peak);
}

void mfu_say_cluster(struct mfu_session *s, const struct mfu_scenario *scenario)
{
    const struct mfu_cluster *cluster = mfu_scenario_cluster(scenario);
    struct mfu_cluster k;
    char rate[MFU_QUANTITY_MAX];

    if (!scenario->gpu)
        return;
    mfu_cluster_with(cluster, scenario->gpu, &k);
    mfu_print_note(s, "cluster %s%s%s: %.0f GPUs a node (%s)%s%s%s", cluster ? cluster->slug : "unknown",
                   cluster && !scenario->cluster ? ", usual for " : "",
                   cluster && !scenario->cluster ? scenario->gpu->slug : "", k.node_gpus, mfu_fabric_names[k.fabric],
                   k.networked ? ", " : "", k.networked ? mfu_network_names[k.network] : "",
                   k.networked ? nics_of(rate, &k) : "");
}

void mfu_say_model(struct mfu_session *s, const struct mfu_model *m)
{
    struct mfu_error problem = {0};
    char params[MFU_QUANTITY_MAX] = "unknown";
    const struct mfu_config *c = &s->plan.config;

    if (s->json || s->quiet)
        return;
    if (mfu_session_plan(s, &problem) < 0) {
        s->lost |= problem.code == MFU_ENOMEM;
        mfu_print_note(s, "%s: parameters cannot be counted yet", m->name);
        return;
    }
    mfu_quantity_format(params, s->plan.program.params, MFU_PARAMS);
    mfu_print_note(s, "%s: %s parameters, n_layer %.0f, n_embd %.0f, seq %.0f", m->name, params,
                   mfu_config_dim(c, "n_layer"), mfu_config_dim(c, "n_embd"), c->seq);
}

/* ---- JSON ---------------------------------------------------------------- */

json_t *mfu_gpu_json(const struct mfu_gpu *g)
{
    json_t *peaks = json_object();

    for (int i = 0; i < MFU_PEAK_COUNT; i++)
        json_object_set_new(peaks, mfu_peak_names[i], mfu_json_number(g->peak_flops[i]));
    return json_pack("{s:o, s:o, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "gpu", mfu_json_text(g->slug),
                     "name", mfu_json_text(g->name), "architecture", g->architecture, "family", g->family,
                     "compute_capability", mfu_json_number(g->compute_capability), "sms", mfu_json_number(g->sms),
                     "size_bytes", mfu_json_number(g->size_bytes), "capacity_bytes", mfu_json_number(g->capacity_bytes),
                     "bandwidth_bytes_s", mfu_json_number(g->bandwidth_bytes_s), "l2_bytes",
                     mfu_json_number(g->l2_bytes), "power_w", mfu_json_number(g->power_w), "peak_flops", peaks, "path",
                     mfu_json_text(g->path));
}

json_t *mfu_cluster_json(const struct mfu_scenario *scenario)
{
    const struct mfu_cluster *cluster = mfu_scenario_cluster(scenario);
    json_t *levels = json_array(), *gpus = json_array();
    struct mfu_cluster k;

    mfu_cluster_with(cluster, scenario->gpu, &k);
    for (int i = 0; i < k.n_gpus; i++)
        json_array_append_new(gpus, mfu_json_text(k.gpu[i]));
    for (int i = 0; i < k.n_levels; i++)
        json_array_append_new(
            levels,
            json_pack("{s:f, s:f}", "nodes", k.level[i].nodes, "oversubscription", k.level[i].oversubscription));
    return json_pack("{s:o, s:o, s:b, s:o, s:o, s:o, s:s, s:s, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o}",
                     "name", mfu_json_text(k.slug), "title", mfu_json_text(k.name), "usual",
                     cluster && !scenario->cluster, "gpus", gpus, "node_gpus", mfu_json_number(k.node_gpus),
                     "domain_gpus", mfu_json_number(k.domain_gpus), "fabric", mfu_fabric_names[k.fabric], "network",
                     k.networked ? mfu_network_names[k.network] : "none", "nics", mfu_json_number(k.nics),
                     "nic_bytes_s", mfu_json_number(k.nic_bytes_s), "hop_s", mfu_json_number(k.hop_s),
                     "host_memory_bytes", mfu_json_number(k.host_memory_bytes), "reduces", k.reduces, "levels", levels,
                     "gpu_mtbf_s", mfu_json_number(k.gpu_mtbf_s), "write_bytes_s", mfu_json_number(k.write_bytes_s),
                     "read_bytes_s", mfu_json_number(k.read_bytes_s), "path", mfu_json_text(k.path));
}

json_t *mfu_model_json(struct mfu_session *s, const struct mfu_model *m)
{
    json_t *dims = json_object(), *params = NULL;
    struct mfu_error problem = {0};
    struct mfu_config config;

    mfu_scenario_resolve(&s->memory.now, &config, NULL);
    for (int i = 0; i < m->n_dims; i++)
        json_object_set_new(dims, m->dims[i].name, mfu_json_number(config.dim[i]));
    if (mfu_session_plan(s, &problem) == 0)
        params = mfu_json_number(s->plan.program.params);
    else if (problem.code == MFU_ENOMEM)
        s->lost = true;
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "model", mfu_json_text(m->slug), "name",
                     mfu_json_text(m->name), "family", mfu_json_text(m->family), "params",
                     params ? params : json_null(), "dims", dims, "source", mfu_json_text(m->source), "path",
                     mfu_json_text(m->path));
}

/* ---- everything ---------------------------------------------------------- */

#define INDENT 20 /* where values stand */

/* Text of any length behind a label, wrapped to the window. */
static void put_text(struct mfu_session *s, const char *label, const char *text)
{
    char safe[512];

    fprintf(s->out, "%-*s", INDENT, label);
    mfu_wrap(s->out, &s->term, INDENT, INDENT, mfu_printable(safe, sizeof safe, text));
}

static void put(struct mfu_session *s, const char *label, double value, enum mfu_dim dim)
{
    char text[MFU_QUANTITY_MAX];

    fprintf(s->out, "%-20s%s\n", label, mfu_quantity_format(text, value, dim));
}

/* The texts below `sources:` of the file, or its one `source:`. */
static void put_sources(struct mfu_session *s, const char *path)
{
    struct mfu_yaml *yaml = mfu_yaml_read(path, NULL);
    struct mfu_yaml_node *root = yaml ? mfu_yaml_root(yaml) : NULL, *node = NULL;

    if (root && mfu_node_type(root) == MFU_MAPPING)
        node = mfu_node_find(root, "sources");
    for (size_t i = 0; node && mfu_node_type(node) == MFU_MAPPING && i < mfu_node_count(node); i++) {
        const char *text = mfu_node_text(yaml, mfu_node_value(node, i));
        char label[40];

        snprintf(label, sizeof label, "source of %.28s", mfu_node_key(yaml, node, i));
        if (text)
            put_text(s, label, text);
    }
    mfu_yaml_free(yaml);
}

/* What is not known is left out: most files leave much open. */
static void put_known(struct mfu_session *s, const char *label, double value, enum mfu_dim dim)
{
    if (isfinite(value))
        put(s, label, value, dim);
}

void mfu_show_cluster(struct mfu_session *s, const struct mfu_scenario *scenario)
{
    const struct mfu_cluster *cluster = mfu_scenario_cluster(scenario);
    char text[144], rate[MFU_QUANTITY_MAX];
    struct mfu_cluster k;

    mfu_cluster_with(cluster, scenario->gpu, &k);
    snprintf(text, sizeof text, "%s%s%.48s", k.slug[0] ? k.slug : "none",
             cluster && !scenario->cluster ? ", usual for " : "",
             cluster && !scenario->cluster ? scenario->gpu->slug : "");
    put_text(s, "cluster", text);
    put_text(s, "name", k.name);
    put(s, "GPUs of a node", k.node_gpus, MFU_COUNT);
    if (k.domain_gpus > k.node_gpus)
        put(s, "GPUs of the fabric", k.domain_gpus, MFU_COUNT);
    put_text(s, "fabric", mfu_fabric_names[k.fabric]);
    if (k.host[0])
        put_text(s, "host", k.host);
    put_known(s, "host memory", k.host_memory_bytes, MFU_BYTES);
    put_known(s, "host bandwidth", k.host_bandwidth_bytes_s, MFU_BYTES_PER_S);
    if (k.networked) {
        snprintf(text, sizeof text, "%s%s a node%s", mfu_network_names[k.network], nics_of(rate, &k),
                 k.reduces ? ", adds up in its switches" : "");
        put_text(s, "network", text);
    } else
        put_text(s, "network", "unknown");
    put_known(s, "latency of a hop", k.hop_s, MFU_SECONDS);
    for (int i = 0; i < k.n_levels; i++) {
        snprintf(text, sizeof text, "joins %.0f nodes, 1:%g above", k.level[i].nodes, k.level[i].oversubscription);
        put_text(s, "switches", text);
    }
    if (isfinite(k.gpu_mtbf_s)) {
        snprintf(text, sizeof text, "one GPU in %.0f days", k.gpu_mtbf_s / 86400);
        put_text(s, "failures", text);
    }
    put_known(s, "storage, write", k.write_bytes_s, MFU_BYTES_PER_S);
    put_known(s, "storage, read", k.read_bytes_s, MFU_BYTES_PER_S);
    if (k.note[0])
        put_text(s, "note", k.note);
    if (cluster)
        put_sources(s, k.path);
}

void mfu_show_gpu(struct mfu_session *s, const struct mfu_gpu *g)
{
    put_text(s, "gpu", g->slug);
    put_text(s, "name", g->name);
    fprintf(s->out, "%-20s%s %s, family %s, compute capability %.1f\n", "architecture", g->architecture,
            *g->chip ? g->chip : "(chip unknown)", g->family, g->compute_capability);
    put(s, "sms", g->sms, MFU_COUNT);
    put(s, "tensor cores", g->tensor_cores, MFU_COUNT);
    put(s, "base clock", g->base_hz, MFU_HERTZ);
    put(s, "boost clock", g->boost_hz, MFU_HERTZ);
    put(s, "clock of the peaks", g->tensor_hz, MFU_HERTZ);
    put(s, "highest observed", g->max_observed_hz, MFU_HERTZ);
    for (int i = 0; i < MFU_PEAK_COUNT; i++) {
        char label[32];

        snprintf(label, sizeof label, "peak %s", mfu_peak_names[i]);
        if (g->peak_flops[i] == 0)
            fprintf(s->out, "%-20s%s\n", label, "none");
        else
            put(s, label, g->peak_flops[i], MFU_FLOP_PER_S);
    }
    if (*g->peak_capped)
        put_text(s, "peaks capped", g->peak_capped);
    put_text(s, "memory type", *g->memory_type ? g->memory_type : "unknown");
    put(s, "bus width in bits", g->bus_bits, MFU_COUNT);
    put(s, "bandwidth", g->bandwidth_bytes_s, MFU_BYTES_PER_S);
    fprintf(s->out, "%-20s%.4g GB\n", "size as sold", g->size_bytes / 1e9);
    put(s, "nvidia-smi total", g->smi_total_bytes, MFU_BYTES);
    put(s, "capacity", g->capacity_bytes, MFU_BYTES);
    put(s, "L2 cache", g->l2_bytes, MFU_BYTES);
    put(s, "L1 and shared of SM", g->unified_l1_bytes, MFU_BYTES);
    put(s, "shared of SM", g->shared_bytes, MFU_BYTES);
    put(s, "shared of a block", g->shared_block_bytes, MFU_BYTES);
    put(s, "registers of SM", g->registers_bytes, MFU_BYTES);
    put(s, "threads of SM", g->max_threads, MFU_COUNT);
    put(s, "warps of SM", g->max_warps, MFU_COUNT);
    put(s, "blocks of SM", g->max_blocks, MFU_COUNT);
    put(s, "board power", g->power_w, MFU_WATTS);
    put_text(s, "PCIe", *g->pcie ? g->pcie : "unknown");
    if (g->nvlink_bytes_s == 0)
        fprintf(s->out, "%-20s%s\n", "NVLink", "none");
    else
        put(s, "NVLink", g->nvlink_bytes_s, MFU_BYTES_PER_S);
    put_text(s, "peer access", *g->peer ? g->peer : "unknown");
    put(s, "GPUs of a node", g->node_gpus, MFU_COUNT);
    put(s, "measured bf16", g->measured_bf16_flops, MFU_FLOP_PER_S);
    put(s, "measured fp16", g->measured_fp16_flops, MFU_FLOP_PER_S);
    put(s, "measured copy", g->measured_copy_bytes_s, MFU_BYTES_PER_S);
    put_text(s, "confidence", *g->confidence ? g->confidence : "unknown");
    if (*g->note)
        put_text(s, "note", g->note);
    put_sources(s, g->path);
    put_text(s, "file", g->path);
}

void mfu_show_model(struct mfu_session *s, const struct mfu_model *m)
{
    struct mfu_config config;

    mfu_scenario_resolve(&s->memory.now, &config, NULL);
    put_text(s, "model", m->slug);
    put_text(s, "name", m->name);
    put_text(s, "family", *m->family ? m->family : "unknown");
    if (mfu_session_plan(s, NULL) == 0)
        fprintf(s->out, "%-20s%.0f\n", "parameters", s->plan.program.params);
    if (isfinite(m->published_params))
        fprintf(s->out, "%-20s%.0f as the file stands\n", "published", m->published_params);
    else
        fprintf(s->out, "%-20s%s\n", "published", "unknown");
    for (int i = 0; i < m->n_dims; i++) {
        char value[MFU_QUANTITY_MAX];
        struct mfu_key key = {MFU_KEY_DIM, i};

        mfu_key_format(value, &s->memory.now, key, config.dim[i]);
        if (config.dim_origin[i] == MFU_ORIGIN_MODEL)
            fprintf(s->out, "%-20s%s\n", m->dims[i].name, value);
        else
            fprintf(s->out, "%-20s%-12s%s%s\n", m->dims[i].name, value,
                    config.dim_origin[i] == MFU_ORIGIN_USER ? "set; the file says " : "= ", m->dims[i].text);
    }
    for (int i = 0; i < m->n_sections; i++) {
        char label[64];

        snprintf(label, sizeof label, "section %.40s", m->sections[i].name);
        fprintf(s->out, "%-20s%d operations%s\n", label, m->sections[i].count,
                m->sections[i].repeat ? ", repeated" : "");
    }
    if (*m->note)
        put_text(s, "note", m->note);
    put_text(s, "source", *m->source ? m->source : "unknown");
    put_text(s, "file", m->path);
}

/* ---- lists --------------------------------------------------------------- */

static void put_columns(struct mfu_session *s, const char *const *names, size_t n, const char *chosen)
{
    size_t widest = 1, columns, rows;

    for (size_t i = 0; i < n; i++)
        if (strlen(names[i]) > widest)
            widest = strlen(names[i]);
    columns = (size_t)s->term.width / (widest + 3);
    if (columns == 0)
        columns = 1;
    rows = (n + columns - 1) / columns;
    for (size_t row = 0; row < rows; row++)
        for (size_t i = row; i < n; i += rows) {
            bool last = i + rows >= n;

            fprintf(s->out, "%c %-*s%s", strcmp(names[i], chosen) == 0 ? '*' : ' ', last ? 0 : (int)widest, names[i],
                    last ? "\n" : " ");
        }
}

int mfu_list_names(struct mfu_session *s, const char *command, const char *noun, const char *const *names, size_t n,
                   const char *chosen, struct mfu_error *err)
{
    if (s->json) {
        json_t *list = json_array();

        for (size_t i = 0; i < n; i++)
            json_array_append_new(list, mfu_json_text(names[i]));
        return mfu_answer(s, json_pack("{s:s, s:i, s:o}", "command", command, "schema", 1, noun, list), err);
    }
    put_columns(s, names, n, chosen);
    return 0;
}
