/*
 * measured_layout.c - which GPUs a row of a table of runs had, how they shared the model, and the batch of each.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "read/runs/measured_reading.h"
#include "read/runs/measured_run.h"
#include "scenario/setting.h"

/* Words that begin with one that names a trainer ("deepspeed zero-3", "fsdp2"): that is set, and what is left returned. */
static const char *behind_trainer(struct mfu_row *r, const char *text)
{
    char word[32];
    int n = snprintf(word, sizeof word, "%.*s", (int)strcspn(text, " -_+"), text),
        trainer = mfu_setting_choice(MFU_S_TRAINER, word, NULL);

    if (trainer <= MFU_TRAINER_FSDP || !mfu_row_set(r, "trainer", mfu_trainer_names[trainer]))
        return text;
    return text[n] ? text + n + 1 : text;
}

/* "zero1 (group 8)", "fsdp2 (32)": so many GPUs hold a copy between them, where there are more. */
static bool set_group(struct mfu_row *r, const char *text)
{
    double group, replicas = mfu_row_replicas(r->run->scenario.setting);
    const char *inside = strchr(text, '(');
    if (!inside || (sscanf(inside, "(%lf)", &group) != 1 && sscanf(inside, "(group %lf)", &group) != 1) || !(group > 1)
        || group >= replicas || fmod(replicas, group) != 0)
        return true;
    return mfu_row_take(r, "dp_shard=%.0f for %s", group, text);
}

/* Who holds what, where there are several GPUs. */
static bool set_sharding(struct mfu_row *r)
{
    const char *text = mfu_row_cell(r, "sharding");
    const double replicas = mfu_row_replicas(r->run->scenario.setting);
    double copies, shards;

    if (mfu_cell_empty(r, "sharding") && strcasecmp(text, "none") != 0) {
        bool states = mfu_row_says_together(r, "param-gather", ""); /* where no rank updates all parameters */

        mfu_row_assume(r, states ? "sharding=zero1, by what is said" : "sharding=ddp");
        return mfu_row_set(r, "sharding", states ? "zero1" : "ddp");
    }
    if (mfu_same_letters(text, "fsdp"))
        mfu_row_assume(r, "sharding=fsdp-full for fsdp");
    if (!mfu_same_letters(text, "hsdp") && !mfu_same_letters(text, "hybrid_shard")) {
        const char *known = mfu_sharding_in(text), *own = behind_trainer(r, text);
        struct mfu_scenario try = r->run->scenario;

        if (!known || mfu_scenario_set(&try, "sharding", own, NULL) == 0)
            return mfu_row_set(r, "sharding", own);
        mfu_row_assume(r, "sharding=%s for %s", known, text);
        if (strcmp(known, "hsdp") != 0)
            return mfu_row_set(r, "sharding", known) && set_group(r, text);
    }
    if (sscanf(text, "%*[^0-9](%lf x %lf", &copies, &shards) != 2
        && sscanf(text, "%*[^0-9]%lf x %lf", &copies, &shards) != 2) {
        copies = mfu_number_said(text, "dp replicate|data parallel replicate degree|replicate|replicas");
        shards = mfu_number_said(text, "dp shard|data parallel shard degree|shard|shards|group|group size");
        copies = isnan(copies) ? replicas / shards : copies;
        shards = isnan(shards) ? replicas / copies : shards;
    }
    if (copies * shards == replicas)
        return mfu_row_set(r, "zero", "3") && mfu_row_take(r, "dp_shard=%.0f for %s", shards, text);
    if (copies * shards > 0)
        return mfu_row_skip(r, "sharding '%.60s': %.0f x %.0f ranks are not %.0f", text, copies, shards, replicas);
    if (mfu_cell_empty(r, "gpus_per_node"))
        return mfu_row_set(r, "zero", "3");
    r->group_open = true;
    return mfu_row_set(r, "zero", "3")
        && mfu_row_take(r, "dp_shard=%s: a copy for each node", mfu_row_cell(r, "gpus_per_node"));
}

/* ---- degrees in words ----------------------------------------------------- */

/* Axes over which GPUs share a run: the column, letters, and the word before "parallel"; longer words first. */
enum axis { VIRTUAL_STAGES, EXPERT_TENSOR, TENSOR, STAGES, CONTEXT, EXPERTS, ALL_RANKS, SEQUENCE, COPIES, AXES };
static const struct {
    const char *column, *letters, *word;
} axes[AXES] = {[VIRTUAL_STAGES] = {"vpp", "vpp|vp", "virtual pipeline"},
                [EXPERT_TENSOR] = {"etp", "etp", "expert tensor"},
                [TENSOR] = {"tp", "tp", "tensor"},
                [ALL_RANKS] = {"tp", "mp", "model"}, /* where nothing says of stages */
                [STAGES] = {"pp", "pp", "pipeline"},
                [CONTEXT] = {"cp", "cp", "context"},
                [EXPERTS] = {"ep", "ep", "expert"},
                [SEQUENCE] = {"sp", "sp", "sequence"},
                [COPIES] = {NULL, "dp", "data"}};

/* Where "8" or "8-way" ends; NULL: no number stands here, or one of several ("TP/PP = 2/4"). */
static const char *behind_way(const char *number)
{
    const char *end = number + strspn(number, "0123456789"), *way = mfu_behind(end, " way");

    return end == number || (*end == '/' && isdigit((unsigned char)end[1])) ? NULL
        : way && !isalpha((unsigned char)*way)                              ? way
                                                                            : end;
}

/* Whether a list of axes goes on to the word that they share: "tensor and pipeline parallelism". */
static bool leads_to_parallel(const char *at)
{
    for (; at; at = mfu_behind(at, "and|tensor|model|pipeline|sequence|context|expert|data")) {
        const char *way;

        at += strspn(at, " ,/+&-_");
        if ((way = behind_way(at))
            && strncasecmp(way - 3, "way", 3) == 0) /* "2-way tensor and 4-way pipeline parallelism" */
            at = way + strspn(way, " -");
        if (mfu_behind(at, "parallel"))
            return true;
    }
    return false;
}

/* Where a text goes on behind an axis: "TP", "tensor model parallel size"; NULL: it does not begin with it. */
static const char *behind_axis(const char *text, const char *at, enum axis axis)
{
    bool begins = at == text || !isalpha((unsigned char)at[-1])
        || (tolower((unsigned char)at[-1]) == 'x' && at > text + 1 && !isalpha((unsigned char)at[-2])); /* "TP2xPP2" */
    const char *end = begins ? mfu_behind(at, axes[axis].letters) : NULL, *more;

    if (end && !isalpha((unsigned char)*end))
        return end;
    if (!(end = begins ? mfu_behind(at, axes[axis].word) : NULL) || !leads_to_parallel(end))
        return NULL;
    more = mfu_behind(end,
                      " parallel| parallelism| parallel size| parallel degree| parallelism degree| model parallel| "
                      "model parallelism| model parallel size");
    return more ? more : end;
}

/* What stands from one place of a text to another of an axis: its number, of so many digits, behind or before it. */
struct place {
    char *from, *to;
    const char *number;
    size_t digits;
};

/* Goes back over blanks and dashes. */
static char *before_blanks(const char *text, char *at)
{
    while (at > text && strchr(" -", at[-1]))
        at--;
    return at;
}

/* The next place from `at` on at which a text affirms an axis, as it was before places were blanked. */
static bool next_place(const char *whole, char *text, char *at, enum axis axis, struct place *p)
{
    for (; *at; at++) {
        const char *end = behind_axis(text, at, axis), *way;
        char *before = before_blanks(text, at), *first;

        if (!end || mfu_stance(whole, whole + (at - text), whole + (end - text)) != MFU_AFFIRMED)
            continue;
        way = behind_way(end + strspn(end, " -_=:("));
        if (way && mfu_stance(whole, whole + (at - text), whole + (way - text)) == MFU_DENIED)
            continue; /* "TP=2 crashed" */
        *p = (struct place){at, text + (end - text), end + strspn(end, " -_=:("), 0};
        if (before - text > 3 && strncasecmp(before - 3, "way", 3) == 0) { /* "8-way TP" */
            first = before = before_blanks(text, before - 3);
            while (first > text && isdigit((unsigned char)first[-1]))
                first--;
            if (first < before)
                p->number = p->from = first;
        }
        p->digits = p->number > at && !way ? 0 : strspn(p->number, "0123456789");
        if (p->digits && p->number > at) {
            p->to = text + (way - text);
            p->to += tolower((unsigned char)*p->to) == 'x' && isalpha((unsigned char)p->to[1]);
        }
        return true;
    }
    return false;
}

/* Takes out words that say no more than that there are axes. */
static void drop_fillers(char *text)
{
    static const char words[] =
        "2d|3d|4d|5d|1f1b|hybrid parallelism|hybrid parallel|parallelism|parallel|and|with|ulysses";

    for (char *p = text; *p; p++) {
        const char *end = p == text || !isalnum((unsigned char)p[-1]) ? mfu_behind(p, words) : NULL;

        if (end && !isalnum((unsigned char)*end))
            memset(p, ' ', (size_t)(end - p));
    }
}

/* Beside other axes, copies of the model only say what is left ("TP4 DP2").  What has no number is not stated, unless the axis has a
 * column, which must agree; sequence parallelism is on beside tensor ranks. */
void mfu_row_take_degrees(struct mfu_row *r)
{
    const char *cell = mfu_row_cell(r, "sharding"), *known;
    char rest[MFU_MOST_SAID];
    bool found = false;
    size_t first;

    snprintf(rest, sizeof rest, "%s", cell);
    for (enum axis axis = 0; axis < AXES; axis++) {
        const char *column = axes[axis].column;
        struct place p = {.to = rest};

        known = mfu_sharding_in(rest);
        if (axis == COPIES && (!found || (known && strcmp(known, "ddp") != 0)))
            break; /* "fully sharded data parallel" */
        while (next_place(cell, rest, p.to, axis, &p)) {
            bool own = column && !mfu_cell_empty(r, column);
            char degree[8];

            if (column && (p.digits >= sizeof degree || (p.digits == 0 && !own && axis != SEQUENCE))) {
                mfu_row_skip(r, "sharding '%.40s': of how many GPUs is not stated (%s)", cell, column);
                continue;
            }
            if (own && p.digits && axis != SEQUENCE && strtod(p.number, NULL) != mfu_cell_number(r, column)) {
                mfu_row_skip(r, "sharding '%.40s' and %s '%.20s' contradict each other", cell, column,
                             mfu_row_cell(r, column));
                continue;
            }
            found = true;
            snprintf(degree, sizeof degree, "%.*s", (int)p.digits, p.digits ? p.number : "1");
            if (column && !own)
                mfu_row_fill_cell(r, column, p.digits ? degree : "1");
            memset(p.from, ' ', (size_t)(p.to - p.from));
        }
    }
    if (!found)
        return;
    if (!mfu_sharding_in(rest)) {
        mfu_affirmed(rest, rest);
        drop_fillers(rest);
    }
    for (first = 0; rest[first] && !isalnum((unsigned char)rest[first]);)
        first++;
    for (size_t n = strlen(rest); n > first && !isalnum((unsigned char)rest[n - 1]);)
        rest[--n] = '\0';
    mfu_row_fill_cell(r, "sharding", rest + first);
}

/* Degrees that the notes have, each from 1 to the number of GPUs; 0: not said. */
static void read_degrees(const char *notes, double gpus, double degree[AXES])
{
    char *rest = strdup(notes);

    memset(degree, 0, AXES * sizeof *degree);
    for (enum axis axis = 0; rest && axis < AXES; axis++)
        for (struct place p = {.to = rest}; next_place(notes, rest, p.to, axis, &p);) {
            double number = p.digits ? strtod(p.number, NULL) : 0;

            if (number >= 1 && number <= gpus)
                degree[axis] = number;
            memset(p.from, ' ', (size_t)(p.to - p.from));
        }
    free(rest);
}

/* How many ranks share a sequence by the words of a text, up to `gpus`; 0: it does not say. */
static double sequence_ranks_in(const char *text, double gpus)
{
    double ranks = mfu_number_said(
        text,
        "sequence parallel size|sequence parallel degree|sequence parallel|ulysses sequence parallel size|"
        "ulysses sequence parallel|ulysses sp size|ulysses sp|ulysses size|"
        "ulysses degree|ulysses|sp size|sp");

    return ranks > 1 && ranks <= gpus && ranks == floor(ranks) ? ranks : 0;
}

#define USUAL_NODE 8 /* GPUs, where the row does not say: as DGX and HGX machines have */

/* Ranks that share a sequence where it is not stated how many: all of a node, each with some of the heads where these are exchanged,
 * but so many that no rank is without one; 0: no number does. */
static double usual_sequence_ranks(const struct mfu_row *r, double gpus, bool ring)
{
    double heads = ring ? NAN : mfu_cell_number(r, "n_head"), global = mfu_cell_number(r, "global_batch"),
           stated = mfu_cell_number(r, "gpus_per_node"), node = stated >= 1 ? stated : USUAL_NODE, best = 0;

    for (double ranks = 2; ranks <= gpus && (best == 0 || ranks <= node); ranks++)
        if (fmod(gpus, ranks) == 0 && !(fmod(heads, ranks) > 0) && !(gpus / ranks > global))
            best = ranks;
    return best;
}

/* Ranks that share a sequence where no tensor ranks do, and no column of theirs says so: `sp` is then their number, which
 * DeepSpeed-Ulysses, xtuner, swift and verl call so; in a ring where that is said, else by heads, as these four do. */
static bool set_sequence_parallel(struct mfu_row *r, double gpus)
{
    static const char *const columns[] = {"attention", "sharding", "notes"};
    double ranks = mfu_cell_number(r, "sp");
    bool ring = false, usual;

    if (mfu_cell_number(r, "cp") > 1 || mfu_cell_number(r, "tp") > 1)
        return true;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        const char *text = mfu_row_cell(r, columns[i]);

        ring = ring || mfu_says(text, "ring attention") || (i == 0 && mfu_says_word(text, "ring"));
        if (!(ranks > 1))
            ranks = sequence_ranks_in(text, gpus);
    }
    if ((usual = !(ranks > 1) && (ring || mfu_says_word(mfu_row_cell(r, "attention"), "ulysses"))))
        ranks = usual_sequence_ranks(r, gpus, ring);
    if (!(ranks > 1) || fmod(gpus, ranks) != 0)
        return !usual
            || mfu_row_skip(r, "how many GPUs share a sequence is not stated, and no number divides heads and batch");
    return mfu_row_take(r, "cp=%.0f: ranks that share a sequence%s", ranks, usual ? ", of a node: not stated" : "")
        && mfu_row_take(r, "cp_comm_type=%s%s", ring ? "p2p" : "a2a", ring ? " for the ring" : ": its usual form");
}

/* What the notes say of the GPUs that hold one copy of the model, where no column says more: tensor ranks and stages, or all
 * together, of which tensor ranks are as many as a node has (Narayanan et al. 2021, arXiv 2104.04473, takeaway 1). */
static bool set_model_parallel(struct mfu_row *r, double gpus)
{
    double stated = mfu_cell_number(r, "gpus_per_node"), node = stated >= 1 ? stated : USUAL_NODE;
    double heads = mfu_cell_number(r, "n_head");
    double degree[AXES];
    long ranks, stages;

    read_degrees(mfu_row_cell(r, "notes"), gpus, degree);
    ranks = (long)degree[TENSOR];
    stages = (long)degree[STAGES];
    if (degree[CONTEXT] > 1 && mfu_cell_empty(r, "cp") && !(r->run->scenario.setting[MFU_S_CP] > 1)
        && !mfu_row_take(r, "cp=%.0f: by the notes", degree[CONTEXT]))
        return false;
    if (degree[EXPERTS] > 1 && mfu_cell_empty(r, "ep") && mfu_cell_number(r, "n_experts") > 1
        && !mfu_row_take(r, "ep=%.0f: by the notes", degree[EXPERTS]))
        return false;
    if ((!ranks && !stages && !(degree[ALL_RANKS] > 0)) || !mfu_cell_empty(r, "tp") || !mfu_cell_empty(r, "pp"))
        return true;
    r->run->layout_open = false;
    if (ranks || stages) {
        ranks += !ranks;
        stages += !stages;
        mfu_row_assume(r, "tp=%ld, pp=%ld, by the notes", ranks, stages);
    } else {
        long size = (long)degree[ALL_RANKS];

        for (ranks = (long)fmin((double)size, node);
             ranks > 1 && (size % ranks || (!isnan(heads) && fmod(heads, (double)ranks) != 0));)
            ranks--;
        stages = size / ranks;
        if (size > 1)
            mfu_row_assume(r,
                           "tp=%ld, pp=%ld: model-parallel size %ld by the notes, tensor ranks within a node of %.0f%s",
                           ranks, stages, size, node, stated >= 1 ? "" : ", the usual");
    }
    return mfu_row_set_number(r, "tp", (double)ranks) && mfu_row_set_number(r, "pp", (double)stages);
}

/* Whether ZeRO is stated, which one GPU has, too: 16-bit weights beside masters, hooks of stage 3. */
static bool is_zero(const struct mfu_row *r)
{
    const char *known = mfu_sharding_in(mfu_row_cell(r, "sharding"));

    return known && strncmp(known, "zero", 4) == 0;
}

/* Whether a stage has GPUs for ep alone, not for tensor ranks of each expert, too, which Megatron has by default. */
static bool ranks_share_no_expert(struct mfu_row *r, double gpus)
{
    double ep = mfu_cell_number(r, "ep"), tp = mfu_cell_number(r, "tp"),
           stage = gpus / fmax(1, mfu_cell_number(r, "pp"));

    if (!(ep > 1) || !(tp > 1) || !mfu_cell_empty(r, "etp") || fmod(stage, ep * tp) == 0 || fmod(stage, ep) != 0)
        return false;
    mfu_row_assume(r, "etp=1: ep %.0f and tp %.0f together do not divide a stage", ep, tp);
    return true;
}

/* How many GPUs, in what arrangement. */
static bool set_gpus(struct mfu_row *r, double gpus)
{
    if (!mfu_row_set_number(r, "gpus", gpus))
        return false;
    r->run->layout_open =
        gpus > 1 && mfu_cell_empty(r, "tp") && mfu_cell_empty(r, "pp") && mfu_cell_empty(r, "sharding");
    for (enum axis axis = 0; axis < SEQUENCE; axis++)
        if (mfu_cell_number(r, axes[axis].column) > 1
            && !mfu_row_set(r, axes[axis].column, mfu_row_cell(r, axes[axis].column)))
            return false;
    if (gpus > 1 && !set_sequence_parallel(r, gpus))
        return false;
    if (ranks_share_no_expert(r, gpus) && !mfu_row_set(r, "etp", "1"))
        return false;
    if ((gpus > 1 && !set_model_parallel(r, gpus)) || ((gpus > 1 || is_zero(r)) && !set_sharding(r)))
        return false;
    return mfu_cell_number(r, "tp") > 1 && mfu_cell_number(r, "sp") > 0 ? mfu_row_set(r, "sp", "on") : true;
}

/* Micro-steps by the tokens of a step; 1 where those are not stated. */
static double accum_of_tokens(const struct mfu_row *r, double micro, double gpus)
{
    double tokens = mfu_cell_number(r, "tokens_per_s") * mfu_cell_number(r, "step_time_ms") * 1e-3;
    double accum = round(tokens / (gpus * micro * mfu_cell_number(r, "seq_len")));

    return accum >= 1 ? accum : 1;
}

/* A micro-batch that is not stated: one sequence, and what else it may be is left open, unless a rank's step has one. */
static double one_of_a_step(struct mfu_row *r, double rank_batch)
{
    r->run->rank_batch = rank_batch;
    r->run->batch_open = rank_batch != 1;
    if (rank_batch == 1)
        mfu_row_assume(r, "batch=1: a step has one sequence for each rank");
    return isnan(rank_batch) || rank_batch == floor(rank_batch) ? 1 : rank_batch;
}

/* Microbatches of a pipeline of which only a rate is measured and no batch is stated.  One alone would leave all stages
 * but one idle: a batch that the stages divide is a rank's, in microbatches of one sequence, as torchtitan's
 * local_batch_size is; beside a smaller one nothing says how many there are. */
#define USUAL_FILL 8 /* microbatches for each stage (chosen) */

static double fill_pipeline(struct mfu_row *r, double *micro)
{
    double stages = mfu_cell_number(r, "pp"), batch = *micro;

    if (!r->run->batch_open && fmod(batch, stages) == 0) {
        *micro = 1;
        mfu_row_assume(r, "batch=1, accum=%.0f: micro_batch %.0f is that of a rank, which the pipeline cuts", batch,
                       batch);
        return batch;
    }
    r->run->fill_open = true;
    mfu_row_assume(r, "accum=%.0f: microbatches of the pipeline, not stated", USUAL_FILL * stages);
    return USUAL_FILL * stages;
}

bool mfu_row_set_layout(struct mfu_row *r)
{
    double micro = mfu_cell_number(r, "micro_batch"), accum = mfu_cell_number(r, "grad_accum");
    double global = mfu_cell_number(r, "global_batch"), gpus = mfu_cell_number(r, "n_gpus");
    double parts =
        fmax(1, mfu_cell_number(r, "tp")) * fmax(1, mfu_cell_number(r, "pp")) * fmax(1, mfu_cell_number(r, "cp"));

    if (isnan(gpus) && parts > 1)
        return mfu_row_skip(r, "the number of GPUs is not stated (n_gpus): tp, pp and cp make groups of %.0f", parts);
    if (isnan(gpus)) {
        gpus = 1;
        r->run->gpus_open = isnan(mfu_cell_number(r, "tokens_per_s")) && isnan(mfu_cell_number(r, "samples_per_s"));
        r->run->share_open = isnan(micro) && global > 0;
        if (!r->run->gpus_open) /* else it is said once it is known what holds the run */
            mfu_row_assume(r, "gpus=1");
    }
    if (isnan(accum) && isnan(global)) {
        accum = mfu_number_said(
            mfu_row_cell(r, "notes"),
            "gradient accumulation steps|gradient accumulation|grad accum|accumulation steps|update freq");
        if (accum >= 1)
            mfu_row_assume(r, "accum=%.0f, by the notes", accum);
    }
    if (!set_gpus(r, gpus))
        return false;
    gpus = mfu_row_replicas(r->run->scenario.setting); /* those that get sequences of their own */
    if (isnan(micro))
        micro = global / accum / gpus;
    if (isnan(micro))
        micro = one_of_a_step(r, global / gpus);
    if (micro != floor(micro))
        return mfu_row_skip(r, "global_batch %.0f over grad_accum and n_gpus: no whole micro-batch", global);
    if (isnan(accum) && global > 0)
        accum = fmax(1, round(global / micro / gpus));
    if (isnan(accum) && isnan(mfu_cell_number(r, "step_time_ms")) && mfu_cell_number(r, "pp") > 1)
        accum = fill_pipeline(r, &micro);
    if (isnan(accum)) {
        accum = accum_of_tokens(r, micro, gpus);
        if (!r->run->batch_open)
            mfu_row_assume(r, "accum=%.0f", accum);
    }
    return mfu_row_set_number(r, "batch", micro) && mfu_row_set_number(r, "accum", accum);
}
