/*
 * mesh.c - how ranks are laid out: axes of parallelism over the GPUs of a cluster.
 */
#include "parallel/mesh.h"

#include <math.h>

const char *const mfu_axis_names[MFU_AXIS_COUNT] = {
    [MFU_AXIS_TP] = "tp",
    [MFU_AXIS_CP_HEADS] = "cp_heads",
    [MFU_AXIS_CP] = "cp",
    [MFU_AXIS_DP] = "dp",
    [MFU_AXIS_REPLICA] = "dp_replicate",
    [MFU_AXIS_PP] = "pp",
    [MFU_AXIS_EP] = "ep",
    [MFU_AXIS_ETP] = "etp",
    [MFU_AXIS_EDP] = "edp",
};

struct mfu_mesh mfu_mesh_start(void)
{
    struct mfu_mesh m = {
        .order = {{MFU_AXIS_TP, MFU_AXIS_CP_HEADS, MFU_AXIS_CP, MFU_AXIS_DP, MFU_AXIS_REPLICA, MFU_AXIS_PP},
                  {MFU_AXIS_ETP, MFU_AXIS_EP, MFU_AXIS_EDP, MFU_AXIS_REPLICA, MFU_AXIS_PP, MFU_AXIS_COUNT}}};

    for (int i = 0; i < MFU_AXIS_COUNT; i++)
        m.ranks[i] = 1;
    return m;
}

double mfu_mesh_ranks(const struct mfu_mesh *m)
{
    double ranks = 1;

    for (int i = 0; i < MFU_MESH_AXES; i++)
        ranks *= m->ranks[m->order[0][i]];
    return ranks;
}

struct mfu_group mfu_mesh_group(const struct mfu_mesh *m, unsigned axes, double unit_gpus)
{
    struct mfu_group g = {.ranks = 1, .local = 1, .extent = 1};
    double stride = 1, ranks = mfu_mesh_ranks(m);
    const unsigned char *order = m->order[(axes & MFU_AXES_EXPERTS) != 0];

    for (int i = 0; i < MFU_MESH_AXES && order[i] < MFU_AXIS_COUNT; i++) {
        double size = m->ranks[order[i]];

        if ((axes & MFU_AXIS_BIT(order[i])) && size > 1) {
            if (g.ranks == 1)
                g.stride = stride;
            g.ranks *= size;
            /* Positions along an axis of this stride and size within a unit of GPUs: all, those
             * that fit, or this rank alone. */
            g.local *= fmin(size, fmax(1, floor(unit_gpus / stride)));
            g.extent += (size - 1) * stride;
        }
        stride *= size;
    }
    g.stride = fmax(g.stride, 1);
    g.units = g.ranks / g.local;
    g.sharing = fmin(ranks, unit_gpus) / g.local;
    return g;
}

struct mfu_group mfu_group_of(double ranks, double unit_gpus)
{
    double local = fmin(ranks, unit_gpus);

    return (struct mfu_group){
        .ranks = ranks, .stride = 1, .local = local, .units = ranks / local, .sharing = 1, .extent = ranks};
}

struct mfu_group mfu_group_on(double ranks, double nodes, double node_gpus, double unit_gpus)
{
    double units = ceil(nodes * node_gpus / unit_gpus);

    return (struct mfu_group){
        .ranks = ranks, .stride = 1, .local = ranks / units, .units = units, .sharing = 1, .extent = nodes * node_gpus};
}
