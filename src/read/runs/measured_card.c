/*
 * measured_card.c - which GPU, and which network, a row of a table of runs means.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "descriptor/catalog.h"
#include "descriptor/cluster.h"
#include "descriptor/gpu.h"
#include "parallel/topology.h"
#include "read/runs/measured_reading.h"
#include "read/runs/measured_run.h"

/* Ampere: bf16 and FlashAttention-2. */
#define LEAST_CAPABILITY 8.0

/* Of cards that nothing is said of. */
#define USUAL_GB 80.0

/* Gigabytes of a card that is known by nothing else: "48 GB card", "2x24 GB class"; NAN. */
static double size_in(const char *text)
{
    return mfu_number_before(text, "GB card|GB cards|GB class");
}

/* Where the row has figures of memory and no card: the first of the catalog with as much memory as is stated, which decides
 * what fits; else with the usual 80 GB, or more where more was measured, and whether it fits is not compared.  Of memory a
 * card decides little but its size; of the time it decides all. */
static bool choose_card(struct mfu_row *r, double measured_gib)
{
    double stated = size_in(mfu_row_cell(r, "gpu")), gb;
    size_t n;
    const char *const *names = mfu_catalog_gpus(r->catalog, &n);

    if (isnan(stated))
        stated = size_in(mfu_row_cell(r, "mem_as_printed"));
    if (isnan(stated))
        stated = size_in(mfu_row_cell(r, "notes"));
    if (isnan(stated) && (isnan(measured_gib) || mfu_row_of_memory_alone(r)))
        return false;
    gb = isnan(stated) ? fmax(USUAL_GB, measured_gib * 0x1p30 / 1e9) : stated;
    for (size_t i = 0; i < n; i++) {
        const struct mfu_gpu *gpu = mfu_catalog_gpu(r->catalog, names[i], NULL);
        double has = gpu ? round(gpu->size_bytes / 1e9) : 0;

        if (gpu && gpu->compute_capability >= LEAST_CAPABILITY && gpu->pcie[0]
            && (has == gb || (gb > USUAL_GB && has > gb && isnan(stated)))) {
            mfu_row_assume(r,
                           isnan(stated) ? "gpu=%s: not stated, and memory is compared alone"
                                         : "gpu=%s: its memory is as large as stated",
                           gpu->slug);
            r->run->scenario.gpu = gpu;
            r->run->card = isnan(stated) ? MFU_CARD_OPEN : MFU_CARD_OF_SIZE;
            return true;
        }
    }
    return false;
}

/* A name in its parts: "NVIDIA H100-SXM5-80GB" is h100, sxm5 and 80. */
struct parts {
    char core[64]; /* words joined by dashes */
    char form[8];  /* of the board: "sxm4", "pcie"; "": not said */
    double gb;     /* NAN: not said */
    double watts;  /* likewise */
};

/* Whether the word is a count of cards ("8x", "x8"). */
static bool is_count(const char *word)
{
    size_t digits = strspn(word, "0123456789");

    return (digits > 0 && strcmp(word + digits, "x") == 0)
        || (*word == 'x' && word[1] && word[1 + strspn(word + 1, "0123456789")] == '\0');
}

/* The letters of a card's name without how many there are: 4 of "a100x8". */
static size_t uncounted(const char *name)
{
    const char *x = strrchr(name, 'x');

    return x && x > name && isdigit((unsigned char)x[-1]) && x[1] && !x[1 + strspn(x + 1, "0123456789")]
        ? (size_t)(x - name)
        : strlen(name);
}

/* `aside`: in parentheses, where what is no memory, board or power says nothing of the card. */
static void take_part(struct parts *p, const char *word, bool aside)
{
    /* Of makers, of brands that no two cards differ by, of memory and of racks. */
    static const char *const nothing[] = {"nvidia",   "amd",          "tesla", "geforce", "instinct", "radeon", "gpu",
                                          "gpus",     "tensor",       "core",  "oam",     "hbm2",     "hbm2e",  "hbm3",
                                          "hbm3e",    "gddr5",        "gddr6", "gddr6x",  "gddr7",    "nvl72",  "nvl36",
                                          "nvl4",     "nvlink",       "x",     "card",    "cards",    "single", "one",
                                          "consumer", "professional", "ram",   "vram",    "memory",   "with",   NULL};
    static const char *const forms[] = {"sxm", "sxm2", "sxm3", "sxm4", "sxm5", "pcie", "nvl", NULL};
    static const char *const systems[] = {"dgx", "hgx", NULL}; /* of boards that are SXM */
    static const char *const watts[] = {"w", "watt", "watts", NULL}, *const gigabytes[] = {"g", "gb", "gib", NULL};
    size_t n = strlen(p->core), end = strspn(word, "0123456789.");

    if (end && mfu_is_one_of(word + end, watts))
        p->watts = strtod(word, NULL);
    else if (end && mfu_is_one_of(word + end, gigabytes))
        p->gb = strtod(word, NULL);
    else if (mfu_is_one_of(word, forms) || (mfu_is_one_of(word, systems) && !*p->form))
        snprintf(p->form, sizeof p->form, "%.7s", mfu_is_one_of(word, systems) ? "sxm" : word);
    else if (!aside && !mfu_is_one_of(word, nothing) && !is_count(word)) {
        const char *name = strchr(word, 'x');

        if (!name || name == word || (size_t)(name - word) != strspn(word, "0123456789")
            || !isalpha((unsigned char)name[1]))
            name = word; /* "8xH100" */
        else
            name++;
        snprintf(p->core + n, sizeof p->core - n, "%s%.*s", n ? "-" : "", (int)uncounted(name), name);
    }
}

/* Whether a number counts cards ("4 x RTX 4090", "3090 x 4": the smaller of two) or the machines that a maker made before
 * ("DGX-2 V100"). */
static bool is_number_of(const struct parts *p, const char *word, const char *before, const char *behind)
{
    bool times = strncasecmp(behind, " x ", 3) == 0;
    char *end;
    double other = times ? strtod(behind + 3, &end) : NAN;

    if (word[strspn(word, "0123456789")])
        return false;
    if (*p->core)
        return strcmp(before, "x") == 0;
    return (times && (end == behind + 3 || isalnum((unsigned char)*end) || strtod(word, NULL) < other))
        || (*p->form && !word[1]);
}

/* How many cards a cell says: "8xH100", "4 x 3090", "RTX 3090 x2"; NAN: it does not. */
static double count_in(const char *name)
{
    const char *x = strrchr(name, 'x');
    char *end;
    double n = strtod(name, &end);

    end += strspn(end, " ");
    if (isdigit((unsigned char)*name) && tolower((unsigned char)*end) == 'x') {
        end += 1 + strspn(end + 1, " ");
        return isdigit((unsigned char)*end) ? fmin(n, strtod(end, NULL)) : isalpha((unsigned char)*end) ? n : NAN;
    }
    return x && x > name && (x[-1] == ' ' || isdigit((unsigned char)x[-1]))
            && isdigit((unsigned char)x[1 + strspn(x + 1, " ")]) && !strcasestr(name, "pcie")
        ? strtod(x + 1, NULL)
        : NAN;
}

/* The unit that stands apart behind a number ("80 GB", "350 watt"); NULL: none does. */
static const char *unit_behind(const char *text)
{
    static const char *const units[] = {"gb", "gib", "w", "watt", "watts"};

    for (size_t i = 0; i < sizeof units / sizeof *units && *text == ' '; i++)
        if (strncasecmp(text + 1, units[i], strlen(units[i])) == 0
            && !isalnum((unsigned char)text[1 + strlen(units[i])]))
            return units[i];
    return NULL;
}

static void take_apart(struct parts *p, const char *text)
{
    char word[32], before[32] = "";
    bool aside = false;

    *p = (struct parts){.gb = NAN, .watts = NAN};
    while (*text) {
        const char *unit;
        size_t n = 0;

        for (; isalnum((unsigned char)*text) || *text == '.'; text++)
            if (n + 1 < sizeof word)
                word[n++] = (char)tolower((unsigned char)*text);
        word[n] = '\0';
        if (n > 0 && strspn(word, "0123456789") == n && (unit = unit_behind(text))) {
            snprintf(word + n, sizeof word - n, "%s", unit);
            text += 1 + strlen(unit);
        }
        if (*word && !is_number_of(p, word, before, text))
            take_part(p, word, aside);
        memcpy(before, word, sizeof before);
        for (; *text && !isalnum((unsigned char)*text); text++)
            aside = *text == '(' || (aside && *text != ')');
    }
}

/* Whether the card has the memory and the board that were named. */
static bool suits(const struct mfu_gpu *gpu, const struct parts *p)
{
    bool sxm = strstr(gpu->slug, "sxm") != NULL, pcie = strstr(gpu->slug, "pcie") || strstr(gpu->slug, "nvl");

    if (!isnan(p->gb) && fabs(gpu->size_bytes / 1e9 / p->gb - 1) > 0.08) /* GB or GiB */
        return false;
    if (*p->form && strstr(gpu->slug, "nvl") && strcmp(p->form, "nvl") != 0)
        return false;
    return !*p->form || (strncmp(p->form, "sxm", 3) == 0 ? !pcie : !sxm);
}

/* "rtx-titan" for titan-rtx, and back; false: these are no two words. */
static bool swap_words(struct parts *p)
{
    const char *dash = strchr(p->core, '-');
    char swapped[sizeof p->core];

    if (!dash || strchr(dash + 1, '-'))
        return false;
    snprintf(swapped, sizeof swapped, "%s-%.*s", dash + 1, (int)(dash - p->core), p->core);
    memcpy(p->core, swapped, sizeof swapped);
    return true;
}

/* The card of such parts, by any order in which its file may have them; where the power of a board is said, first one that
 * has it.  NULL: there is none. */
static const struct mfu_gpu *card_of(const struct mfu_row *r, const struct parts *p)
{
    static const char *const brands[] = {"", "rtx-", "gtx-"};
    const char *forms[] = {p->form, *p->form ? "sxm" : "", *p->form ? "" : "sxm", *p->form ? "" : "pcie"};
    const struct mfu_gpu *gpu, *first = NULL;
    char name[128], gb[16] = "";

    if (!*p->core)
        return NULL;
    if (!isnan(p->gb))
        snprintf(gb, sizeof gb, "-%.0fgb", p->gb);
    for (size_t b = 0; b < sizeof brands / sizeof *brands; b++)
        for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
            for (int order = 0; order < 4; order++) {
                const char *form = order == 3 ? "" : forms[f], *dash = *form ? "-" : "";

                if (f == 1 && *p->form && strncmp(p->form, "sxm", 3) != 0)
                    continue;
                snprintf(name, sizeof name, "%s%s%s%s%s%s", brands[b], p->core, order == 0 ? gb : "", dash, form,
                         order == 1 ? gb : "");
                gpu = mfu_catalog_gpu(r->catalog, name, NULL);
                if (!gpu || !suits(gpu, p))
                    continue;
                if (!(p->watts > 0) || gpu->power_w == p->watts)
                    return gpu;
                if (!first)
                    first = gpu;
            }
    return first;
}

/* What accelerators are called that are no GPUs, as a word or its beginning. */
static const char *other_machine(const char *name)
{
    static const char *const others[] = {"TPU",      "Trainium", "trn1", "trn2",      "Ascend",
                                         "Cerebras", "CS-2",     "IPU",  "Graphcore", "SambaNova"};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const char *at = strcasestr(name, others[i]);

        if (at && (at == name || !isalnum((unsigned char)at[-1])))
            return others[i];
    }
    return NULL;
}

/* A cluster of the catalog, or a cloud's machine, in a name or behind it in parentheses: "DGX A100 80GB",
 * "H100 (p5.48xlarge)". */
static const struct mfu_cluster *cluster_in(const struct mfu_row *r, const char *name)
{
    const char *inside = strchr(name, '(');
    const struct mfu_cluster *k;
    char word[64];

    if ((k = mfu_catalog_cluster(r->catalog, name, NULL)) || !inside)
        return k;
    snprintf(word, sizeof word, "%.*s", (int)strcspn(inside + 1, ")"), inside + 1);
    return *word ? mfu_catalog_cluster(r->catalog, word, NULL) : NULL;
}

/* The first card of a cluster that suits; Amazon's p4de and p5e and Azure's ND A100 v4 of 80 GB have the larger memories. */
static const struct mfu_gpu *card_in(const struct mfu_row *r, const struct mfu_cluster *k, const char *name)
{
    static const struct {
        const char *machine;
        double gb;
    } machines[] = {{"p4d.", 40}, {"p4de", 80}, {"nd96asr", 40}, {"nd96ams", 80}, {"p5.", 80}, {"p5e", 141}};
    struct parts p;

    take_apart(&p, name);
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
        if (strcasestr(name, machines[i].machine))
            p.gb = machines[i].gb;
    for (int i = 0; i < k->n_gpus; i++) {
        const struct mfu_gpu *gpu = mfu_catalog_gpu(r->catalog, k->gpu[i], NULL);

        if (gpu && suits(gpu, &p))
            return gpu;
    }
    return NULL;
}

/* What stands before and behind the size of memory in a card's name, of which `skip` is left out; NULL: it has no size. */
static const char *size_part(const char *slug, size_t *skip)
{
    for (const char *p = strchr(slug, '-'); p; p = strchr(p + 1, '-')) {
        *skip = 1 + strspn(p + 1, "0123456789");
        if (*skip > 1 && strncmp(p + *skip, "gb", 2) == 0 && (!p[*skip + 2] || p[*skip + 2] == '-')) {
            *skip += 2;
            return p;
        }
    }
    return NULL;
}

/* The same card with the next larger memory, where its names say the size; NULL: there is none. */
static const struct mfu_gpu *larger_of(const struct mfu_row *r, const struct mfu_gpu *gpu)
{
    size_t n, skip, other_skip;
    const char *const *names = mfu_catalog_gpus(r->catalog, &n), *size = size_part(gpu->slug, &skip), *other_size;
    const struct mfu_gpu *larger = NULL, *other;

    for (size_t i = 0; size && i < n; i++)
        if ((other_size = size_part(names[i], &other_skip)) && other_size - names[i] == size - gpu->slug
            && strncmp(names[i], gpu->slug, (size_t)(size - gpu->slug)) == 0
            && strcmp(other_size + other_skip, size + skip) == 0
            && (other = mfu_catalog_gpu(r->catalog, names[i], NULL)) && other->size_bytes > gpu->size_bytes
            && (!larger || other->size_bytes < larger->size_bytes))
            larger = other;
    return larger;
}

/* Boards of less power than the usual ones, at PyTorch's developers, whose tables do not say so: pytorch/torchtitan @b5bcd76c
 * benchmarks/llama3_h100_202412_torchtitan.md (96 GB, 2.4 TB/s, 500 W), pytorch/ao @36027d8 torchao/testing/training/
 * roofline_utils.py ("custom to Meta's H100 variant": 2.4 TB/s) for what its tables call H100; pytorch/helion#347,
 * benchmarks/run_input_shard.sh: 500 W for an H100, 750 W for a B200. */
static const struct {
    const char *core, *gpu;
    double limited_w; /* where a row says that power is limited, not to what; 0: the card has that limit */
} developers[] = {{"h100", "h100-sxm-96gb", 0}, {"b200", "b200", 750}};

/* Takes that card for a row of theirs which names neither memory nor power nor another form; watts: where only these
 * differ, they.  Who reports an issue there has a card of his own. */
static void choose_developers(struct mfu_row *r, struct parts *p)
{
    static const char *const theirs[] = {"pytorch/", "meta-pytorch/", "torchao", "TorchTitan"},
                             *const users[] = {"#", "issue", "discuss"};
    const char *source = mfu_row_cell(r, "source"), *notes = mfu_row_cell(r, "notes");
    struct mfu_scenario *s = &r->run->scenario;
    bool by_them = false;

    for (size_t i = 0; i < sizeof theirs / sizeof *theirs; i++)
        by_them = by_them || strncasecmp(source, theirs[i], strlen(theirs[i])) == 0;
    for (size_t i = 0; i < sizeof users / sizeof *users; i++)
        by_them = by_them && !strcasestr(source, users[i]);
    for (size_t i = 0; by_them && i < sizeof developers / sizeof *developers; i++) {
        const struct mfu_gpu *gpu = mfu_catalog_gpu(r->catalog, developers[i].gpu, NULL);

        if (!gpu || strcmp(p->core, developers[i].core) != 0 || !isnan(p->gb) || !isnan(p->watts)
            || (*p->form && strncmp(p->form, "sxm", 3) != 0))
            continue;
        if (developers[i].limited_w > 0 && mfu_says(notes, "power-limited"))
            p->watts = developers[i].limited_w;
        if (gpu != s->gpu)
            mfu_row_assume(r, "gpu=%s: that of PyTorch's developers", gpu->slug);
        s->gpu = gpu;
    }
}

/* A limit of the board's power that stands beside its name: "H100 500W". */
static bool set_power(struct mfu_row *r, double watts)
{
    if (!(watts > 0) || watts == r->run->scenario.gpu->power_w)
        return true;
    return mfu_row_take(r, "power_w=%g, by the GPU", watts);
}

/* The card that its maker's name, or the parentheses, keep from being found: "RTX 6000 Ada Generation", "DGX Spark (GB10)". */
static const struct mfu_gpu *named_otherwise(const struct mfu_row *r, const char *name)
{
    const struct mfu_gpu *gpu;
    char text[96];

    snprintf(text, sizeof text, "nvidia %s", name);
    if ((gpu = mfu_catalog_gpu(r->catalog, text, NULL)))
        return gpu;
    snprintf(text, sizeof text, "%.*s", (int)strcspn(name, "("), name);
    text[strlen(text) - (*text && text[strlen(text) - 1] == ' ')] = '\0';
    return strchr(name, '(') ? mfu_catalog_gpu(r->catalog, text, NULL) : NULL;
}

bool mfu_row_choose_gpu(struct mfu_row *r)
{
    const char *name = mfu_row_cell(r, "gpu"), *slug = name;
    struct mfu_error err = {0};
    struct mfu_scenario *s = &r->run->scenario;
    double measured_gib = fmax(mfu_cell_number(r, "mem_allocated_gib"), mfu_cell_number(r, "mem_reserved_gib"));
    const struct mfu_cluster *k;
    struct parts parts;

    take_apart(&parts, name);
    if (*parts.core == '\0' && (*slug == '\0' || !isnan(size_in(name)))) /* "24 GB card" */
        return choose_card(r, measured_gib) || mfu_row_skip(r, "the GPU is not stated");
    if (strcasecmp(slug, "cpu") == 0)
        return mfu_row_skip(r, "measured on a CPU");
    if (other_machine(name))
        return mfu_row_skip(r, "gpu '%.40s' is no GPU: %s is not modelled", name, other_machine(name));
    if (strchr(name, '/') || mfu_names_file(name))
        return mfu_row_skip(r, "gpu '%.60s': one card is expected", name);
    s->gpu = mfu_catalog_gpu(r->catalog, slug, &err);
    if (!s->gpu && (k = cluster_in(r, name)) && (s->gpu = card_in(r, k, name))) {
        mfu_row_assume(r, "cluster=%s for %s", k->slug, name);
        s->cluster = k;
    }
    if (!s->gpu)
        s->gpu = card_of(r, &parts);
    if (!s->gpu && swap_words(&parts))
        s->gpu = card_of(r, &parts);
    if (!s->gpu)
        s->gpu = named_otherwise(r, name);
    if (!s->gpu && err.suggestion[0])
        return mfu_row_skip(r, "gpu: %s: did you mean %s?", err.text, err.suggestion);
    if (!s->gpu)
        return mfu_row_skip(r, "gpu: %s", err.text);
    if (isnan(parts.gb) && !strstr(name, "p4d"))
        r->larger = larger_of(r, s->gpu);
    if (r->larger && measured_gib > s->gpu->size_bytes / 1e9) {
        s->gpu = r->larger;
        r->larger = NULL;
    }
    if (!mfu_same_letters(s->gpu->slug, name))
        mfu_row_assume(r, "gpu=%s for %s", s->gpu->slug, name);
    if (count_in(name) >= 1 && mfu_cell_empty(r, "n_gpus") && !*mfu_csv_get(r->csv, r->row, "nodes")) {
        char count[16];

        snprintf(count, sizeof count, "%.0f", count_in(name));
        mfu_row_fill_cell(r, "n_gpus", count);
    }
    choose_developers(r, &parts);
    return set_power(r, parts.watts);
}

/* Rates of networks by their names, in Gbit/s of a port (InfiniBand Trade Association; Intel's Omni-Path 100; HPE's
 * Slingshot 11; Amazon's EFA of p4d). */
static const struct {
    const char *name;
    double gbit;
} networks[] = {{"FDR", 56},        {"EDR", 100}, {"HDR", 200},       {"NDR", 400},        {"XDR", 800},
                {"Omni-Path", 100}, {"OPA", 100}, {"Slingshot", 200}, {"ConnectX-7", 400}, {"ConnectX-6", 200}};

/* Behind the name of a network that stands by itself or behind a count ("4xHDR100"); NULL: it does not. */
static const char *behind_name(const char *text, const char *name)
{
    size_t n = strlen(name);

    for (const char *p = strcasestr(text, name); p; p = strcasestr(p + 1, name))
        if ((p == text || !isalpha((unsigned char)p[-1]) || tolower((unsigned char)p[-1]) == 'x')
            && !isalpha((unsigned char)p[n]))
            return p + n;
    return NULL;
}

#define MOST_PORTS 64

/* The number before or behind an x that is no rate: "8x200g", "HDR x8"; NAN. */
static double ports(const char *text)
{
    for (const char *p = text; (p = strchr(p, 'x')); p++) {
        const char *first = p;
        double n;

        while (first > text && (isdigit((unsigned char)first[-1]) || (first[-1] == ' ' && first == p)))
            first--;
        if ((first == text || !isalnum((unsigned char)first[-1])) && sscanf(first, "%lf", &n) == 1 && first < p)
            return n <= MOST_PORTS ? n : NAN;
        if ((p == text || !isalnum((unsigned char)p[-1])) && isdigit((unsigned char)p[1])
            && sscanf(p + 1, "%lf", &n) == 1)
            return n <= MOST_PORTS ? n : NAN;
    }
    return NAN;
}

/* A number without a unit is a rate from here to there (chosen): Slingshot 11 has no 11 Gbit/s. */
#define LEAST_RATE 25
#define MOST_RATE 1e4

/* "GB/s", "GiB/s", "GBps", "Tbyte/s"; "Gbps" and "Gb/s" are bits, and so is what does not say ("200G"). */
static bool in_bytes(const char *unit)
{
    unit += unit[1] == 'i' ? 2 : 1;
    return strncasecmp(unit, "byte", 4) == 0 || (*unit == 'B' && (unit[1] == '/' || unit[1] == 'p'));
}

/* The Gbit/s that are written out, with a unit, else without ("200g", "1600gbps", "3.2 Tbps", "100"); NAN: none. */
static double rate_in(const char *text)
{
    double alone = NAN;

    for (const char *p = text; *p; p++) {
        double number;
        int end = 0;

        if (!isdigit((unsigned char)*p) || (p > text && (isalnum((unsigned char)p[-1]) && p[-1] != 'x')))
            continue;
        if (sscanf(p, "%lf%n", &number, &end) != 1)
            continue;
        p += end;
        while (*p == ' ')
            p++;
        if (tolower((unsigned char)*p) == 't' || tolower((unsigned char)*p) == 'g')
            return number * (tolower((unsigned char)*p) == 't' ? 1000 : 1) * (in_bytes(p) ? 8 : 1);
        if (isnan(alone) && number >= LEAST_RATE && number <= MOST_RATE && *p != 'x')
            alone = number;
        p--;
    }
    return alone;
}

/* Bytes per second of a node's NICs; NAN: the text does not say.  A rate alone is the node's ("25 Gbps"), unless it is
 * that of a port of a technology that is named, too ("400G RoCE"): nothing says how many ports there are. */
static double node_rate(const char *text, double gpus)
{
    double number = ports(text), gbit = rate_in(text);
    bool port = gbit == 100 || gbit == 200 || gbit == 400 || gbit == 800;
    bool named = port && !strcasestr(text, "node")
        && (behind_name(text, "IB") || strcasestr(text, "InfiniBand") || strcasestr(text, "RoCE"));

    for (size_t i = 0; i < sizeof networks / sizeof *networks && isnan(gbit); i++) {
        const char *behind = behind_name(text, networks[i].name);

        if (behind) {
            gbit = isdigit((unsigned char)*behind) ? strtod(behind, NULL) : networks[i].gbit; /* "HDR100" */
            named = true;
        }
    }
    if (strcasestr(text, "per GPU") || strcasestr(text, "/GPU"))
        number = gpus;
    if (isnan(number) && named)
        return NAN;
    return (isnan(number) ? 1 : number) * gbit / 8 * 1e9;
}

#define USUAL_GPUS 8 /* of a node in a network */

/* A cluster of this GPU that the notes name; NULL: none. */
static const struct mfu_cluster *cluster_in_notes(const struct mfu_row *r)
{
    size_t n;
    const char *const *names = mfu_catalog_clusters(r->catalog, &n);

    for (size_t i = 0; i < n; i++) {
        const struct mfu_cluster *k = mfu_catalog_cluster(r->catalog, names[i], NULL);

        if (k && mfu_cluster_has(k, r->run->scenario.gpu) && mfu_has_word(mfu_row_cell(r, "notes"), k->name))
            return k;
    }
    return NULL;
}

#define MOST_SLOTS 16 /* for cards in one machine (AWS p2.16xlarge) */

/* A machine of cards in slots is built with as many as one likes; one whose GPUs have switches of their own is not. */
static bool is_built_so(const struct mfu_cluster *k, double gpus)
{
    return k->fabric >= MFU_FABRIC_BRIDGE && gpus <= MOST_SLOTS;
}

/* Machines with fewer GPUs than the cluster's, or with more slots; else what is said to be in one machine must be in one of the
 * cluster's. */
static bool set_nodes(struct mfu_row *r)
{
    const struct mfu_scenario *s = &r->run->scenario;
    double gpus = mfu_cell_number(r, "n_gpus"), each = mfu_cell_number(r, "gpus_per_node");
    struct mfu_cluster k;

    mfu_cluster_with(s->cluster ? s->cluster : s->gpu->usual, s->gpu, &k);
    if (each > k.node_gpus && gpus > k.domain_gpus && is_built_so(&k, each)) {
        mfu_row_assume(r, "machines of %.0f GPUs, by gpus_per_node", each);
        k.node_gpus = k.domain_gpus = each;
        r->run->machine = k;
        r->run->scenario.cluster = &r->run->machine;
        return true;
    }
    if (gpus <= each && gpus > k.domain_gpus)
        return mfu_row_skip(r, "gpus_per_node %.0f: machines of %s have %.0f", each, s->gpu->slug, k.node_gpus);
    if (each > k.node_gpus && gpus > k.domain_gpus)
        mfu_row_assume(r, "gpus_per_node %.0f: machines of %s have %.0f", each, s->gpu->slug, k.node_gpus);
    return !(each < k.node_gpus) || !(gpus > each) || fmod(gpus, each) != 0 || !k.networked
        || mfu_row_take(r, "nodes=%.0f: of %.0f GPUs each", gpus / each, each);
}

/* The cluster of this GPU whose network is nearest to the stated one; without, that which the notes name, or its usual
 * one. */
static void choose_cluster(struct mfu_row *r)
{
    const char *text = mfu_row_cell(r, "inter_link"), *const * names;
    double best = INFINITY, gpus = mfu_cell_number(r, "gpus_per_node"), rate;
    size_t n;

    if (isnan(gpus))
        gpus = USUAL_GPUS;
    rate = node_rate(text, gpus);

    if (!(mfu_cell_number(r, "n_gpus") > gpus))
        return;
    if (mfu_cell_empty(r, "inter_link")) {
        const struct mfu_cluster *named = r->run->scenario.cluster ? NULL : cluster_in_notes(r);

        if (named) {
            mfu_row_assume(r, "cluster=%s, by the notes", named->slug);
            r->run->scenario.cluster = named;
        }
        return;
    }
    if (isnan(rate)) {
        if (!r->run->scenario.cluster)
            mfu_row_assume(r, "cluster: the usual one, %.40s says no rate of a node", text);
        return;
    }
    names = mfu_catalog_clusters(r->catalog, &n);
    for (size_t i = 0; i < n; i++) {
        const struct mfu_cluster *k = mfu_catalog_cluster(r->catalog, names[i], NULL);
        double each = k && k->node_gpus >= 1 ? gpus / k->node_gpus
                                             : 1, /* NICs of as many GPUs, of a machine like it first */
            far = k && k->networked ? fabs(log(each * k->nics * k->nic_bytes_s / rate)) + 0.01 * fabs(log(each))
                                    : INFINITY;

        /* Of a technology that is not said so much comes as is stated, or about that. */
        if (k && k->networked && !strcasestr(text, mfu_network_names[k->network]))
            far += 0.1 - log(r->run->scenario.gpu->coefficients.value[mfu_network_rate(k->network)]);
        if (k && mfu_cluster_has(k, r->run->scenario.gpu) && far < best) {
            best = far;
            r->run->scenario.cluster = k;
        }
    }
    if (best < INFINITY)
        mfu_row_assume(r, "cluster=%s for %s", r->run->scenario.cluster->slug, text);
}

bool mfu_row_choose_cluster(struct mfu_row *r)
{
    choose_cluster(r);
    return set_nodes(r);
}
