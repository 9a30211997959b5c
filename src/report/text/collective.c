/*
 * collective.c - one collective by itself, or a table of sizes, as nccl-tests have it.
 */

#include "descriptor/cluster.h"
#include "plan/single_kernel.h"
#include "report/report.h"
#include "report/text/text.h"

#define Q(value, dim) mfu_quantity_format((char[MFU_QUANTITY_MAX]){0}, value, dim)

/* "HGX H100 (usual for h100-sxm)": what the figures are of. */
static void where(struct mfu_flow *f, const struct mfu_single_kernel *k)
{
    const struct mfu_topology *t = &k->machine.topology;
    bool usual = k->cluster && k->cluster == k->gpu->usual;

    mfu_flow_words(f, MFU_PLAIN, "%s%s%s: %s", k->cluster ? k->cluster->name : "One machine",
                   usual ? ", usual for " : "", usual ? k->gpu->slug : "",
                   k->row.group.local > 1 ? mfu_fabric_names[t->fabric] : "one GPU");
    mfu_flow_words(f, MFU_PLAIN, k->row.group.local > 1 ? "in a node" : "a node");
    if (k->cluster && k->row.group.units > 1)
        mfu_flow_words(f, MFU_PLAIN, "and %.3g NICs of %s for %.0f GPUs (%s sustained).", t->unit_nics,
                       mfu_network_names[k->cluster->network], t->unit_gpus,
                       Q(k->price.road.network_bytes_s, MFU_BYTES_PER_S));
    else
        mfu_flow_words(f, MFU_PLAIN, "(%s sustained by each).", Q(k->price.road.fabric_bytes_s, MFU_BYTES_PER_S));
}

void mfu_text_collective(FILE *out, const struct mfu_term *t, const struct mfu_single_kernel *k)
{
    const struct mfu_kernel_row *row = &k->row;
    struct mfu_flow f = mfu_flow_start(out, t, "", 0);

    mfu_flow_words(&f, MFU_STRONG, "%s of %s: %s", k->title, k->gpu->name, Q(row->time_s, MFU_SECONDS));
    mfu_flow_words(&f, MFU_PLAIN, "(algbw %s, busbw %s): bound by %s.", Q(row->bytes_per_s, MFU_BYTES_PER_S),
                   Q(row->bytes_per_s * mfu_bus_factor(row->collective.kind, row->ranks), MFU_BYTES_PER_S),
                   row->price.bound == MFU_BOUND_LATENCY ? "latency"
                                                         : mfu_road_name(&k->machine.topology, &k->price.road));
    mfu_flow_end(&f);
    f = mfu_flow_start(out, t, "time", 12);
    mfu_flow_piece(&f, MFU_PLAIN, "latency %s", Q(k->overhead_s, MFU_SECONDS));
    mfu_flow_piece(&f, MFU_PLAIN, "wire %s", Q(k->memory_s, MFU_SECONDS));
    mfu_flow_piece(&f, MFU_PLAIN, "copy and ramp %s", Q(row->time_s - k->overhead_s - k->memory_s, MFU_SECONDS));
    mfu_flow_end(&f);
    mfu_paragraph(out, t, "NCCL", 12, MFU_PLAIN, "%s, protocol %s, is taken.", mfu_algorithm_names[row->algorithm],
                  mfu_protocol_names[row->protocol]);
    f = mfu_flow_start(out, t, "over", 12);
    where(&f, k);
    mfu_flow_end(&f);
}

void mfu_text_collectives(FILE *out, const struct mfu_term *t, const struct mfu_single_kernel *list, size_t n)
{
    static const struct mfu_column columns[] = {{"bytes", .rank = 0},        {"time", .rank = 0},
                                                {"algbw", .rank = 0},        {"busbw", .rank = 0},
                                                {"algorithm", .left = true}, {"protocol", .left = true}};
    struct mfu_table table = MFU_TABLE(columns);
    const struct mfu_single_kernel *k = &list[0];
    struct mfu_flow f = mfu_flow_start(out, t, "", 0);

    mfu_flow_words(&f, MFU_STRONG, "%s, %.0f GPUs on %.0f node%s of %s.", k->row.name, k->row.group.ranks, k->nodes,
                   k->nodes > 1 ? "s" : "", k->gpu->name);
    where(&f, k);
    mfu_flow_end(&f);
    for (size_t i = 0; i < n; i++) {
        const struct mfu_kernel_row *row = &list[i].row;

        mfu_table_cells(&table, "%.0f\t%s\t%s\t%s\t%s\t%s", row->bytes, Q(row->time_s, MFU_SECONDS),
                        Q(row->bytes_per_s, MFU_BYTES_PER_S),
                        Q(row->bytes_per_s * mfu_bus_factor(row->collective.kind, row->ranks), MFU_BYTES_PER_S),
                        mfu_algorithm_names[row->algorithm], mfu_protocol_names[row->protocol]);
    }
    mfu_table_print(out, t, &table);
}
