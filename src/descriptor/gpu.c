/*
 * gpu.c - one GPU as its data sheet describes it.
 *
 * The tables say which keys there are, where their values go and what range is
 * believable; the checks below them catch what no range can: a sparse peak, a
 * figure in the wrong unit, one taken from the line above.
 */
#include "descriptor/gpu.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "descriptor/folder.h"
#include "descriptor/maker.h"
#include "descriptor/yaml.h"

#define DEEPEST_FAMILY 4    /* a family that extends one that extends ... */
#define PEAK_TOLERANCE 0.03 /* data sheets round to two or three digits */
#define NODE_GPUS 8         /* HGX boards, and the most PCIe slots that servers have */

const char *const mfu_peak_names[MFU_PEAK_COUNT] = {
#define X(id, name) [MFU_PEAK_##id] = name,
    MFU_PEAKS(X)
#undef X
};

const char *mfu_gpu_generation(char buf[32], const struct mfu_gpu *g)
{
    if (*g->isa)
        snprintf(buf, 32, "%s", g->isa);
    else
        snprintf(buf, 32, "compute capability %.1f", g->compute_capability);
    return buf;
}

/* The keys --------------------------------------------------------------- */

#define AT(field) .offset = offsetof(struct mfu_gpu, field)
#define TEXT(field) .type = MFU_FIELD_TEXT, AT(field), .size = sizeof((struct mfu_gpu *)NULL)->field
#define RANGE(low, high) .least = (low), .most = (high)
#define END                                                                                                            \
    {                                                                                                                  \
        .key = NULL                                                                                                    \
    }
// clang-format off

static const struct mfu_field top_fields[] = {
    {"name", TEXT(name), .required = 1},
    {"vendor", TEXT(vendor)},
    {"architecture", TEXT(architecture), .required = 1},
    {"chip", TEXT(chip)},
    {"family", TEXT(family), .required = 1},
    {"released", .dim = MFU_COUNT, AT(released), RANGE(1990, 2100)},
    {"compute_capability", .dim = MFU_COUNT, AT(compute_capability), RANGE(1, 100)},
    {"isa", TEXT(isa)},
    {"sms", .dim = MFU_COUNT, AT(sms), RANGE(1, 4096), .required = 1},
    {"tensor_cores", .dim = MFU_COUNT, AT(tensor_cores), RANGE(0, 65536)},
    {"confidence", TEXT(confidence)},
    {"note", TEXT(note)},
    END
};
static const char *const top_others[] = {
    "aliases", "clock", "fma_per_clock_per_sm", "peak", "memory", "sm", "board",
    "measured", "sources", "coefficients", NULL
};

#define CLOCK(name, field) {name, .dim = MFU_HERTZ, AT(field), RANGE(1e8, 1e10)}
static const struct mfu_field clock_fields[] = {
    CLOCK("base", base_hz), CLOCK("boost", boost_hz), CLOCK("tensor", tensor_hz),
    CLOCK("max_observed", max_observed_hz), END
};

#define FMA(name, i) {name, .dim = MFU_COUNT, AT(fma_per_clock_sm[i]), RANGE(1, 1e6)}
static const struct mfu_field fma_fields[] = {
    FMA("fp32", MFU_PEAK_FP32), FMA("tf32", MFU_PEAK_TF32),
    FMA("fp16", MFU_PEAK_FP16), FMA("fp16_acc16", MFU_PEAK_FP16_ACC16),
    FMA("bf16", MFU_PEAK_BF16), FMA("fp8", MFU_PEAK_FP8),
    FMA("fp8_acc16", MFU_PEAK_FP8_ACC16), FMA("int8", MFU_PEAK_INT8),
    FMA("nvfp4", MFU_PEAK_NVFP4), END
};

#define PEAK(name, i, must) {name, .dim = MFU_FLOP_PER_S, AT(peak_flops[i]), RANGE(1e9, 1e18), .required = must}
static const struct mfu_field peak_fields[] = {
    PEAK("fp32", MFU_PEAK_FP32, 1), PEAK("tf32", MFU_PEAK_TF32, 0),
    PEAK("fp16", MFU_PEAK_FP16, 0), PEAK("fp16_acc16", MFU_PEAK_FP16_ACC16, 0),
    PEAK("bf16", MFU_PEAK_BF16, 0), PEAK("fp8", MFU_PEAK_FP8, 0),
    PEAK("fp8_acc16", MFU_PEAK_FP8_ACC16, 0), PEAK("int8", MFU_PEAK_INT8, 0),
    PEAK("nvfp4", MFU_PEAK_NVFP4, 0),
    {"capped", TEXT(peak_capped)}, END
};

#define BYTES(name, field, low, high) {name, .dim = MFU_BYTES, AT(field), RANGE(low, high)}
static const struct mfu_field memory_fields[] = {
    {"type", TEXT(memory_type)},
    {"bus_bits", .dim = MFU_COUNT, AT(bus_bits), RANGE(8, 65536)},
    {"size", .dim = MFU_BYTES, AT(size_bytes), RANGE(1e8, 1e13), .required = 1},
    BYTES("smi_total", smi_total_bytes, 1e8, 1e13),
    BYTES("capacity", capacity_bytes, 1e8, 1e13),
    {"bandwidth", .dim = MFU_BYTES_PER_S, AT(bandwidth_bytes_s), RANGE(1e9, 1e15), .required = 1},
    BYTES("l2", l2_bytes, 1e4, 1e10), END
};

static const struct mfu_field sm_fields[] = {
    BYTES("unified_l1", unified_l1_bytes, 1024, 1e8),
    BYTES("shared_memory", shared_bytes, 1024, 1e8),
    BYTES("shared_memory_block", shared_block_bytes, 1024, 1e8),
    BYTES("registers", registers_bytes, 1024, 1e8),
    {"max_threads", .dim = MFU_COUNT, AT(max_threads), RANGE(32, 65536)},
    {"max_warps", .dim = MFU_COUNT, AT(max_warps), RANGE(1, 2048)},
    {"max_blocks", .dim = MFU_COUNT, AT(max_blocks), RANGE(1, 1024)}, END
};

static const struct mfu_field board_fields[] = {
    {"power", .dim = MFU_WATTS, AT(power_w), RANGE(1, 1e5)},
    {"pcie", TEXT(pcie)},
    {"nvlink", .dim = MFU_BYTES_PER_S, AT(nvlink_bytes_s), RANGE(0, 1e14)},
    {"peer", TEXT(peer)},
    {"node_gpus", .dim = MFU_COUNT, AT(node_gpus), RANGE(1, 1024)},
    {"mig_instances", .dim = MFU_COUNT, AT(mig_instances), RANGE(0, 64)}, END
};

static const struct mfu_field measured_fields[] = {
    {"bf16", .dim = MFU_FLOP_PER_S, AT(measured_bf16_flops), RANGE(1e9, 1e18)},
    {"fp16", .dim = MFU_FLOP_PER_S, AT(measured_fp16_flops), RANGE(1e9, 1e18)},
    {"copy", .dim = MFU_BYTES_PER_S, AT(measured_copy_bytes_s), RANGE(1e9, 1e15)},
    END
};
static const char *const measured_others[] = {"source", NULL};

/* The groups of a file. */
static const struct group {
    const char *key;
    const struct mfu_field *fields;
    const char *const *others;
    bool required, sourced;     /* `sources:` says where it comes from */
} groups[] = {
    {"clock", clock_fields, NULL, false, true},
    {"fma_per_clock_per_sm", fma_fields, NULL, false, false},
    {"peak", peak_fields, NULL, true, true},
    {"memory", memory_fields, NULL, true, true},
    {"sm", sm_fields, NULL, false, true},
    {"board", board_fields, NULL, false, true},
    {"measured", measured_fields, measured_others, false, false},
};
#define GROUPS (sizeof groups / sizeof groups[0])

// clang-format on

/* Everything unknown that a file need not say. */
static void forget(struct mfu_gpu *gpu)
{
    *gpu = (struct mfu_gpu){0};
    for (size_t g = 0; g < GROUPS; g++)
        for (const struct mfu_field *f = groups[g].fields; f->key; f++)
            if (f->type == MFU_FIELD_QUANTITY)
                *(double *)((char *)gpu + f->offset) = NAN;
    gpu->compute_capability = gpu->released = gpu->sms = gpu->tensor_cores = NAN;
    mfu_coefficients_clear(&gpu->coefficients);
}

/* What must hold --------------------------------------------------------- */

/* A file while it is being checked. */
struct check {
    struct mfu_yaml *yaml;
    struct mfu_yaml_node *root;
    const struct mfu_gpu *gpu;
    struct mfu_error *err;
};

/* The node of GROUP.KEY, or the nearest one that is written. */
static struct mfu_yaml_node *place(const struct check *c, const char *group, const char *key)
{
    struct mfu_yaml_node *g = mfu_node_find(c->root, group);
    struct mfu_yaml_node *node = g ? mfu_node_find(g, key) : NULL;

    return node ? node : g ? g : c->root;
}

/* Adds GROUP.KEY and its place to an error. */
static int fail_at(const struct check *c, const char *group, const char *key)
{
    mfu_within(c->err, "%s.%s", group, key);
    return mfu_node_error(c->yaml, place(c, group, key), c->err);
}

/* Whether `text` contains `word`, not as a part of a longer one. */
static bool mentions(const char *text, const char *word)
{
    size_t n = strlen(word);

    for (const char *p = text; (p = strstr(p, word)); p++)
        if ((p == text || !(isalnum((unsigned char)p[-1]) || p[-1] == '_')) && !isalnum((unsigned char)p[n])
            && p[n] != '_')
            return true;
    return false;
}

/* peak = 2 * SMs * FMA rate * clock, where all are known.  A sparse figure is
 * off by two, one that accumulates in fp16 on a GeForce card as well. */
static int check_peaks(const struct check *c)
{
    const struct mfu_gpu *gpu = c->gpu;

    for (int i = 0; i < MFU_PEAK_COUNT; i++) {
        double hz = i == MFU_PEAK_FP32 ? gpu->boost_hz : gpu->tensor_hz;
        double dense = 2 * gpu->sms * gpu->fma_per_clock_sm[i] * hz;
        double off = gpu->peak_flops[i] / dense - 1;
        char is[MFU_QUANTITY_MAX], want[MFU_QUANTITY_MAX];

        if (!(fabs(off) > PEAK_TOLERANCE) || mentions(gpu->peak_capped, mfu_peak_names[i]))
            continue; /* NAN, too: not known */
        mfu_fail(c->err, MFU_EINPUT,
                 "%s is not 2 * sms * fma_per_clock_per_sm * "
                 "%s clock (%s)%s",
                 mfu_quantity_format(is, gpu->peak_flops[i], MFU_FLOP_PER_S), i == MFU_PEAK_FP32 ? "boost" : "tensor",
                 mfu_quantity_format(want, dense, MFU_FLOP_PER_S),
                 off > 0.9 && off < 1.1 ? "; is it the sparse figure? the dense one is wanted"
                                        : "; if that is so, peak.capped must name it and say why");
        return fail_at(c, "peak", mfu_peak_names[i]);
    }
    return 0;
}

/* Fails unless a <= b; what is not known is not compared. */
static int check_order(const struct check *c, const char *group, const char *key, double a, double b, enum mfu_dim dim,
                       const char *than)
{
    char is[MFU_QUANTITY_MAX], most[MFU_QUANTITY_MAX];

    if (!(a > b))
        return 0;
    mfu_fail(c->err, MFU_EINPUT, "%s is more than %s (%s)", mfu_quantity_format(is, a, dim), than,
             mfu_quantity_format(most, b, dim));
    return fail_at(c, group, key);
}

static int check_memory(const struct check *c)
{
    const struct mfu_gpu *gpu = c->gpu;
    /* The GB on a box are GiB. */
    double box = 1.03 * gpu->size_bytes * (0x1p30 / 1e9);
    char size[MFU_QUANTITY_MAX], smi[MFU_QUANTITY_MAX];

    if (check_order(c, "memory", "capacity", gpu->capacity_bytes, gpu->smi_total_bytes, MFU_BYTES, "smi_total") < 0
        || check_order(c, "memory", "capacity", gpu->capacity_bytes, box, MFU_BYTES, "its size allows") < 0
        || check_order(c, "memory", "smi_total", gpu->smi_total_bytes, box, MFU_BYTES, "its size allows") < 0)
        return -1;
    if (!(gpu->smi_total_bytes < 0.8 * gpu->size_bytes))
        return 0;
    mfu_fail(c->err, MFU_EINPUT, "%s, but smi_total is only %s", mfu_quantity_format(size, gpu->size_bytes, MFU_BYTES),
             mfu_quantity_format(smi, gpu->smi_total_bytes, MFU_BYTES));
    return fail_at(c, "memory", "size");
}

static int check_rest(const struct check *c)
{
    const struct mfu_gpu *gpu = c->gpu;

    if (check_order(c, "clock", "base", gpu->base_hz, gpu->boost_hz, MFU_HERTZ, "boost") < 0
        || check_order(c, "sm", "shared_memory_block", gpu->shared_block_bytes, gpu->shared_bytes, MFU_BYTES,
                       "shared_memory")
            < 0
        || check_order(c, "sm", "shared_memory", gpu->shared_bytes, gpu->unified_l1_bytes, MFU_BYTES, "unified_l1") < 0
        || check_order(c, "sm", "max_warps", 32 * gpu->max_warps, gpu->max_threads, MFU_COUNT, "max_threads") < 0)
        return -1;
    return 0;
}

/* One entry of `sources:` that must say something. */
static int check_source(const struct check *c, struct mfu_yaml_node *sources, const char *key)
{
    if (mfu_node_find(sources, key))
        return 0;
    return mfu_node_fail(c->yaml, sources, c->err,
                         "sources.%s is missing: say where the figures "
                         "come from",
                         key);
}

/* Numbers without a source are rumours. */
static int check_sources(const struct check *c)
{
    struct mfu_yaml_node *sources = mfu_node_find(c->root, "sources");
    size_t n = sources ? mfu_node_count(sources) : 0;

    if (!sources || mfu_node_type(sources) != MFU_MAPPING)
        return mfu_node_fail(c->yaml, sources ? sources : c->root, c->err,
                             "'sources' is missing: at least peak and "
                             "memory, saying where the figures come from");
    for (size_t i = 0; i < n; i++) {
        struct mfu_yaml_node *node = mfu_node_value(sources, i);

        if (mfu_node_type(node) == MFU_SCALAR && !mfu_node_absent(node))
            continue;
        mfu_fail(c->err, MFU_EINPUT, "expected a text");
        mfu_within(c->err, "sources.%s", mfu_node_key(sources, i));
        return mfu_node_error(c->yaml, node, c->err);
    }
    for (size_t g = 0; g < GROUPS; g++)
        if (groups[g].sourced && mfu_node_find(c->root, groups[g].key) && check_source(c, sources, groups[g].key) < 0)
            return -1;
    if (!isnan(c->gpu->capacity_bytes))
        return check_source(c, sources, "capacity");
    return 0;
}

static int check_aliases(const struct check *c)
{
    struct mfu_yaml_node *aliases = mfu_node_find(c->root, "aliases");

    if (!aliases || mfu_node_check_texts(c->yaml, aliases, "names such as [a, b]", c->err) == 0)
        return 0;
    return mfu_within(c->err, "aliases");
}

/* Whose words and software the card has; NVIDIA's where nothing is said. */
static int check_vendor(const struct check *c)
{
    if (*c->gpu->vendor == '\0' || mfu_maker_check(c->gpu->vendor, c->err) == 0)
        return 0;
    mfu_within(c->err, "vendor");
    return mfu_node_error(c->yaml, mfu_node_find(c->root, "vendor"), c->err);
}

/* Coefficients ----------------------------------------------------------- */

/* Reads families/NAME.yaml over what is there, what it extends first. */
static int read_family(const char *families, const char *name, int depth, struct mfu_coefficients *c,
                       struct mfu_error *err)
{
    static const char *const others[] = {"coefficients", NULL};
    struct {
        char extends[48], description[320];
    } said = {"", ""};
    const struct mfu_field fields[] = {
        {"extends", MFU_FIELD_TEXT, .size = sizeof said.extends},
        {"description", MFU_FIELD_TEXT, .size = sizeof said.description, .offset = sizeof said.extends},
        END};
    char path[MFU_PATH_MAX];
    struct mfu_yaml *yaml;
    struct mfu_yaml_node *root, *mapping;
    int result = -1;

    if (!mfu_folder_name_ok(name) || depth > DEEPEST_FAMILY)
        return mfu_fail(err, MFU_EINPUT,
                        depth > DEEPEST_FAMILY ? "'%.40s' ends a chain of more than 4 families"
                                               : "'%.40s' cannot be the name of a family",
                        name);
    if (mfu_folder_path(path, families, name, ".yaml", err) < 0)
        return -1;
    if (!mfu_folder_has(path))
        return mfu_folder_unknown(families, "family", name, err);
    yaml = mfu_yaml_read(path, err);
    if (!yaml)
        return -1;
    root = mfu_yaml_root(yaml);
    if (mfu_node_fields(yaml, root, fields, others, &said, err) < 0)
        goto done;
    if (said.extends[0] && read_family(families, said.extends, depth + 1, c, err) < 0) {
        mfu_within(err, "extends");
        mfu_node_error(yaml, mfu_node_find(root, "extends"), err);
        goto done;
    }
    mapping = mfu_node_find(root, "coefficients");
    if (mapping && mfu_coefficients_read(yaml, mapping, MFU_FROM_FAMILY, c, err) < 0)
        goto done;
    result = 0;
done:
    mfu_yaml_free(yaml);
    return result;
}

/* Family first, then own; afterwards none may be missing. */
static int read_coefficients(struct mfu_yaml *yaml, const char *families, struct mfu_gpu *gpu, struct mfu_error *err)
{
    struct mfu_yaml_node *root = mfu_yaml_root(yaml);
    struct mfu_yaml_node *family = mfu_node_find(root, "family");
    struct mfu_yaml_node *own = mfu_node_find(root, "coefficients");
    int missing;

    if (families && read_family(families, gpu->family, 1, &gpu->coefficients, err) < 0) {
        /* An error inside the family's file has its place already. */
        if (err && err->file[0] == '\0')
            mfu_within(err, "family");
        return mfu_node_error(yaml, family, err);
    }
    if (own && mfu_coefficients_read(yaml, own, MFU_FROM_GPU, &gpu->coefficients, err) < 0)
        return -1;
    if (families && !mfu_coefficients_complete(&gpu->coefficients, &missing))
        return mfu_node_fail(yaml, family, err,
                             "family: neither '%s' nor this file gives a "
                             "value for the coefficient '%s'",
                             gpu->family, mfu_coefficient_rows[missing].name);
    return 0;
}

/* Files ------------------------------------------------------------------ */

static int read_groups(struct mfu_yaml *yaml, struct mfu_gpu *gpu, struct mfu_error *err)
{
    struct mfu_yaml_node *root = mfu_yaml_root(yaml);

    for (size_t g = 0; g < GROUPS; g++) {
        struct mfu_yaml_node *node = mfu_node_find(root, groups[g].key);

        if (!node && groups[g].required)
            return mfu_node_fail(yaml, root, err, "'%s' is missing", groups[g].key);
        if (node && mfu_node_fields(yaml, node, groups[g].fields, groups[g].others, gpu, err) < 0)
            return mfu_within(err, "%s", groups[g].key);
    }
    return 0;
}

int mfu_gpu_parse(struct mfu_yaml *yaml, const char *families, struct mfu_gpu *gpu, struct mfu_error *err)
{
    struct mfu_yaml_node *root = mfu_yaml_root(yaml);
    const struct check c = {yaml, root, gpu, err};

    forget(gpu);
    mfu_folder_slug(gpu->slug, sizeof gpu->slug, mfu_yaml_name(yaml));
    snprintf(gpu->path, sizeof gpu->path, "%s", mfu_yaml_name(yaml));
    if (mfu_node_fields(yaml, root, top_fields, top_others, gpu, err) < 0 || read_groups(yaml, gpu, err) < 0
        || check_aliases(&c) < 0 || check_vendor(&c) < 0 || check_peaks(&c) < 0 || check_memory(&c) < 0
        || check_rest(&c) < 0 || check_sources(&c) < 0)
        return -1;
    if (isnan(gpu->node_gpus))
        gpu->node_gpus = NODE_GPUS;
    return read_coefficients(yaml, families, gpu, err);
}

int mfu_gpu_read(const char *path, const char *families, struct mfu_gpu *gpu, struct mfu_error *err)
{
    char beside[MFU_PATH_MAX];
    struct mfu_yaml *yaml;
    int result;

    if (!families) {
        char folder[MFU_PATH_MAX];

        if (mfu_folder_of(folder, path, err) < 0 || mfu_folder_path(beside, folder, "families", "", err) < 0)
            return -1;
        families = beside;
    }
    yaml = mfu_yaml_read(path, err);
    if (!yaml)
        return -1;
    result = mfu_gpu_parse(yaml, families, gpu, err);
    mfu_yaml_free(yaml);
    return result;
}
