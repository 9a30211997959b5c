/*
 * describe.c - GPUs and models: one line, everything, and lists of names.
 */
#include "repl/describe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "graph/graph.h"
#include "descriptor/yaml.h"
#include "read/config/import.h"
#include "read/logs/log_format.h"
#include "repl/output.h"
#include "report/text/text.h"
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
    char params[MFU_QUANTITY_MAX];
    struct mfu_program counted = {0};
    struct mfu_config c;

    if (s->json || s->quiet)
        return;
    if (mfu_scenario_resolve(&s->memory.now, &c, &problem) < 0 || mfu_graph_count(&c, &counted, &problem) < 0) {
        s->lost |= problem.code == MFU_ENOMEM;
        mfu_print_note(s, "%s: parameters cannot be counted yet", m->name);
    } else {
        mfu_quantity_format(params, counted.params, MFU_PARAMS);
        mfu_print_note(s, "%s: %s parameters, n_layer %.0f, n_embd %.0f, seq %.0f", m->name, params,
                       mfu_config_dim(&c, "n_layer"), mfu_config_dim(&c, "n_embd"), c.seq);
    }
    mfu_program_free(&counted);
}

/* ---- answers ------------------------------------------------------------- */

// clang-format off
static const char *peak_at(const void *gpu, size_t i, struct mfu_value *v)
{
    if (i >= MFU_PEAK_COUNT)
        return NULL;
    mfu_value_number(v, ((const struct mfu_gpu *)gpu)->peak_flops[i]);
    return mfu_peak_names[i];
}

#define GPU(X) \
    X(TEXT,   gpu,                0,               g->slug,               "as it is chosen") \
    X(TEXT,   name,               0,               g->name,               "as it is sold") \
    X(TEXT,   architecture,       0,               g->architecture,       "Ada, Hopper ...") \
    X(TEXT,   family,             0,               g->family,             "the file of its coefficients") \
    X(TEXT,   isa,                0,               g->isa,                "instruction set, where there is no compute capability") \
    X(NUMBER, compute_capability, MFU_COUNT,       g->compute_capability, "of CUDA") \
    X(NUMBER, sms,                MFU_COUNT,       g->sms,                "streaming multiprocessors") \
    X(NUMBER, size_bytes,         MFU_BYTES,       g->size_bytes,         "memory as it is sold") \
    X(NUMBER, capacity_bytes,     MFU_BYTES,       g->capacity_bytes,     "memory that it reports; null: not verified") \
    X(NUMBER, bandwidth_bytes_s,  MFU_BYTES_PER_S, g->bandwidth_bytes_s,  "of its memory") \
    X(NUMBER, l2_bytes,           MFU_BYTES,       g->l2_bytes,           "L2 cache") \
    X(NUMBER, power_w,            MFU_WATTS,       g->power_w,            "of the board") \
    X(MAP,    peak_flops,         0, (v->object = g, v->entry = peak_at), "dense peak by precision, FLOP/s") \
    X(TEXT,   path,               0,               g->path,               "its file")
MFU_FIELDS(gpu, const struct mfu_gpu *g, GPU)
const struct mfu_record mfu_record_gpu = MFU_RECORD(gpu, .command = "gpu");

static const char *dim_at(const void *answer, size_t i, struct mfu_value *v)
{
    const struct mfu_model_answer *a = answer;

    if (i >= (size_t)a->model->n_dims)
        return NULL;
    mfu_value_number(v, a->config.dim[i]);
    return a->model->dims[i].name;
}

struct mfu_cluster_answer mfu_cluster_answer(const struct mfu_scenario *scenario)
{
    struct mfu_cluster_answer a = {.usual = mfu_scenario_cluster(scenario) && !scenario->cluster};

    mfu_cluster_with(mfu_scenario_cluster(scenario), scenario->gpu, &a.cluster);
    return a;
}

#define LEVEL(X) \
    X(NUMBER, nodes,            MFU_COUNT, l->nodes,            "that it joins") \
    X(NUMBER, oversubscription, MFU_COUNT, l->oversubscription, "of its uplinks")
MFU_PART_RECORD(level, const struct mfu_switch_level *l, LEVEL)

#define CLUSTER(X) \
    X(TEXT,   cluster,           0, a->cluster.slug,                "as it is chosen") \
    X(TEXT,   name,              0, a->cluster.name,                "as it is called") \
    X(FLAG,   usual,             0, a->usual,                       "it was not chosen, but is usual for the GPU") \
    X(LIST,   gpus,              &mfu_record_words, (a->cluster.gpu, a->cluster.n_gpus), "that it is built with; none: any") \
    X(NUMBER, node_gpus,         MFU_COUNT, a->cluster.node_gpus,   "of a machine") \
    X(NUMBER, domain_gpus,       MFU_COUNT, a->cluster.domain_gpus, "that the fabric joins") \
    X(TEXT,   fabric,            0, mfu_fabric_names[a->cluster.fabric], "how the GPUs of a machine reach each other") \
    X(TEXT,   network,           0, a->cluster.networked ? mfu_network_names[a->cluster.network] : NULL, "between machines") \
    X(NUMBER, nics,              MFU_COUNT, a->cluster.nics,        "of a machine") \
    X(NUMBER, nic_bytes_s,       MFU_BYTES_PER_S, a->cluster.nic_bytes_s, "of one, one direction") \
    X(NUMBER, hop_s,             MFU_SECONDS, a->cluster.hop_s,     "latency between machines; null: that of the technology") \
    X(FLAG,   reduces,           0, a->cluster.reduces,             "switches of the network add up") \
    X(LIST,   levels,            &level, (a->cluster.level, a->cluster.n_levels), "of switches") \
    X(NUMBER, host_memory_bytes, MFU_BYTES, a->cluster.host_memory_bytes, "of a machine") \
    X(NUMBER, gpu_mtbf_s,        MFU_SECONDS, a->cluster.gpu_mtbf_s, "mean time between failures of a GPU") \
    X(NUMBER, write_bytes_s,     MFU_BYTES_PER_S, a->cluster.write_bytes_s, "of the storage, all writers together") \
    X(NUMBER, read_bytes_s,      MFU_BYTES_PER_S, a->cluster.read_bytes_s, "of the storage, all readers together") \
    X(TEXT,   path,              0, a->cluster.path,                "its file")
MFU_FIELDS(cluster, const struct mfu_cluster_answer *a, CLUSTER)
const struct mfu_record mfu_record_cluster = MFU_RECORD(cluster, .command = "cluster");

#define MODEL(X) \
    X(TEXT,   model,  0,          a->model->slug,   "as it is chosen") \
    X(TEXT,   name,   0,          a->model->name,   "as it is published") \
    X(TEXT,   family, 0,          a->model->family, "gpt2, llama ...") \
    X(NUMBER, params, MFU_PARAMS, a->params,        "parameters; null: they cannot be counted yet") \
    X(MAP,    dims,   0, (v->object = a, v->entry = dim_at), "dimensions as they are resolved") \
    X(TEXT,   source, 0,          a->model->source, "of its dimensions") \
    X(TEXT,   path,   0,          a->model->path,   "its file")
MFU_FIELDS(model, const struct mfu_model_answer *a, MODEL)
const struct mfu_record mfu_record_model = MFU_RECORD(model, .command = "model");
// clang-format on

struct mfu_model_answer mfu_model_answer(struct mfu_session *s)
{
    struct mfu_model_answer a = {.model = s->memory.now.model, .params = NAN};
    struct mfu_error problem = {0};

    mfu_scenario_resolve(&s->memory.now, &a.config, NULL);
    if (mfu_plan_make(&s->plan, &s->memory.now, &problem) == 0)
        a.params = s->plan.program.params;
    else if (problem.code == MFU_ENOMEM)
        s->lost = true;
    return a;
}

/* ---- everything ---------------------------------------------------------- */

#define INDENT 20 /* where values stand */

/* Text of any length behind a label, wrapped to the window. */
static void put_text(struct mfu_session *s, const char *label, const char *text)
{
    char safe[512];

    fprintf(s->out, "%-*s", INDENT, label);
    mfu_print_wrapped(s->out, &s->term, INDENT, INDENT, mfu_printable(safe, sizeof safe, text));
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
        const char *text = mfu_node_text(mfu_node_value(node, i));
        char label[40];

        snprintf(label, sizeof label, "source of %.28s", mfu_node_key(node, i));
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
    if (g->calibrated.date[0])
        put_text(s, "calibrated on", g->calibrated.date);
    fprintf(s->out, "%-20s%s %s, family %s, %s\n", "architecture", g->architecture,
            *g->chip ? g->chip : "(chip unknown)", g->family, mfu_gpu_generation((char[32]){0}, g));
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
    if (mfu_plan_make(&s->plan, &s->memory.now, NULL) == 0)
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

// clang-format off
#define NAMES(X, noun, what) X(LIST, noun, &mfu_record_strings, (l->names, l->n), "names of all " what)
#define GPUS(X) NAMES(X, gpus, "GPUs")
MFU_FIELDS(gpus, const struct mfu_name_list *l, GPUS)
const struct mfu_record mfu_record_gpus = MFU_RECORD(gpus, .command = "gpu", .rows = "gpus");

#define CLUSTERS(X) NAMES(X, clusters, "clusters")
MFU_FIELDS(clusters, const struct mfu_name_list *l, CLUSTERS)
const struct mfu_record mfu_record_clusters = MFU_RECORD(clusters, .command = "cluster", .rows = "clusters");

#define MODELS(X) NAMES(X, models, "models")
MFU_FIELDS(models, const struct mfu_name_list *l, MODELS)
const struct mfu_record mfu_record_models = MFU_RECORD(models, .command = "model", .rows = "models");
// clang-format on

int mfu_list_names(struct mfu_session *s, const struct mfu_record *record, const struct mfu_name_list *list,
                   const char *chosen, struct mfu_error *err)
{
    if (s->json)
        return mfu_answer(s, record, list, err);
    put_columns(s, list->names, list->n, chosen);
    return 0;
}

/* ---- files ----------------------------------------------------------------- */

static bool read_as_model(struct mfu_session *s, const char *path)
{
    return mfu_catalog_model(s->catalog, path, NULL) != NULL;
}

static bool read_as_settings(struct mfu_session *s, const char *path)
{
    struct mfu_import *m = calloc(1, sizeof *m);
    bool can = false;

    if (m) {
        m->catalog = s->catalog;
        m->start = &s->memory.now;
        can = mfu_import_read(m, path, NULL, NULL) == 0;
        mfu_import_release(m);
    }
    free(m);
    return can;
}

static bool read_as_log(struct mfu_session *s, const char *path)
{
    struct mfu_log *log = malloc(sizeof *log);
    const struct mfu_log_format *format;
    bool can = log && mfu_log_read(log, path, &format, NULL) == 0 && log->n_records > 0;

    (void)s;
    if (log)
        mfu_log_release(log);
    free(log);
    return can;
}

int mfu_suggest_reader(struct mfu_session *s, const char *own, const char *word, const char *path,
                       struct mfu_error *err)
{
    static const struct {
        const char *command;
        bool (*reads)(struct mfu_session *, const char *path);
    } readers[] = {{"model", read_as_model}, {"import", read_as_settings}, {"observe", read_as_log}};
    char line[96], slash[MFU_PATH_MAX];
    struct stat info;

    if (!err || err->code != MFU_EINPUT || err->line > 0 || err->suggestion[0] || stat(path, &info) < 0
        || !S_ISREG(info.st_mode))
        return -1;
    snprintf(slash, sizeof slash, "%s%s", strchr(path, '/') ? "" : "./", path);
    for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++)
        if (strcmp(readers[i].command, own) != 0 && readers[i].reads(s, slash)) {
            snprintf(line, sizeof line, "%s %.80s", readers[i].command, word);
            return mfu_error_suggest(err, line);
        }
    return -1;
}
