/*
 * clusters.h - classes in clusters by how frequent they are: their numbers, widths and rows (adaptive embedding and softmax).
 *
 * The first cluster holds the frequent classes; each after it is narrower by `divisor`.  NVIDIA's DeepLearningExamples 729963dd,
 * PyTorch/LanguageModeling/Transformer-XL/pytorch: mem_transformer.py and utils/proj_adaptive_softmax.py.
 */
#ifndef MFU_CLUSTERS_H
#define MFU_CLUSTERS_H

#include <math.h>

#include "graph/builder.h"

#define MFU_CLUSTERS 4
enum {
    MFU_CLUSTER_CLASSES,
    MFU_CLUSTER_SHARES = MFU_CLUSTER_CLASSES + MFU_CLUSTERS,
    MFU_CLUSTER_DIVISOR = MFU_CLUSTER_SHARES + MFU_CLUSTERS,
    MFU_CLUSTER_WIDTH /* of the model's rows */
};
#define MFU_CLUSTER_ATTRIBUTES                                                                                         \
    {"classes_0", NULL, NULL, "frequent ones"}, {"classes_1", NULL, NULL, "of the first cluster of rare ones"},        \
        {"classes_2", NULL, NULL, "of the second"}, {"classes_3", NULL, NULL, "of the third"},                         \
        {"share_0", NULL, NULL, "of the tokens, in the frequent classes"},                                             \
        {"share_1", NULL, NULL, "in the first cluster of rare ones"}, {"share_2", NULL, NULL, "in the second"},        \
        {"share_3", NULL, NULL, "in the third"},                                                                       \
        {"divisor", "1", NULL, "by which a cluster is narrower than the one before", 1},                               \
    {                                                                                                                  \
        "width", NULL, NULL, "elements of a row of the model", 1                                                       \
    }

/* Classes of the i-th cluster, and the width of their rows. */
static inline double mfu_cluster_classes(const struct mfu_operation *op, int i)
{
    return op->attribute[MFU_CLUSTER_CLASSES + i];
}

static inline double mfu_cluster_width(const struct mfu_operation *op, int i)
{
    return op->attribute[MFU_CLUSTER_WIDTH] / pow(op->attribute[MFU_CLUSTER_DIVISOR], i);
}

/* Whether clusters are tables of their own, with a projection each to the model's width. */
static inline bool mfu_clusters_apart(const struct mfu_operation *op)
{
    return op->attribute[MFU_CLUSTER_DIVISOR] > 1;
}

/* Of so many rows, those of the i-th cluster. */
static inline double mfu_cluster_rows(const struct mfu_operation *op, int i, double rows)
{
    return rows * op->attribute[MFU_CLUSTER_SHARES + i];
}

/* Elements of the tables, and of their projections. */
static inline double mfu_cluster_elements(const struct mfu_operation *op)
{
    double n = 0;

    for (int i = 0; i < MFU_CLUSTERS; i++)
        n += mfu_cluster_width(op, i)
            * (mfu_cluster_classes(op, i) + (mfu_clusters_apart(op) ? op->attribute[MFU_CLUSTER_WIDTH] : 0));
    return n;
}

/* A new view of so many rows, by `launches` launches and `passes` over it; of the loss, or a copy. */
static inline int mfu_cluster_emit(struct mfu_builder *s, const char *suffix, bool loss, enum mfu_type type,
                                   double rows, double columns, double launches, double passes, int n_in, const int *in)
{
    int out = mfu_tensor_new(s, rows, columns, type, loss ? MFU_PART_LOGITS_LOSS : MFU_PART_ACTIVATIONS);

    mfu_emit(s,
             &(struct mfu_emission){.suffix = suffix,
                                    .kind = loss ? MFU_LOSS : MFU_COPY,
                                    .traffic = loss ? MFU_C_DRAM_POINTWISE : MFU_C_DRAM_IRREGULAR,
                                    .fusion = MFU_ALONE,
                                    .flops = passes * rows * columns,
                                    .launches = launches,
                                    .reread_bytes = (passes - 1) * rows * columns * mfu_type_bytes[type]},
             n_in, in, 1, &out);
    return out;
}

/* The indices of a cluster's rows: two comparisons, nonzero() in three launches, the targets among them, a difference. */
static inline void mfu_cluster_indices(struct mfu_builder *s, double rows)
{
    mfu_cluster_emit(s, "indices", false, MFU_I64, rows, 1, 8, 1, 0, NULL);
}

/* A gradient of part of the weight, in its type, where all of it lies. */
static inline void mfu_cluster_gradient(struct mfu_builder *s, int part, int all)
{
    int slice = mfu_view_slice(s, all, mfu_view_rows(s, part), mfu_view_columns(s, part));

    mfu_emit(s,
             &(struct mfu_emission){
                 .suffix = "cast", .kind = MFU_CAST, .traffic = MFU_C_DRAM_POINTWISE, .fusion = MFU_MAP, .cast = true},
             1, &part, 1, &slice);
}

#endif
