/*
 * buckets.h - micro-batches that differ: pictures of several sizes (aspect-ratio buckets), or sequences padded to the
 * longest of their batch.
 *
 * Each size is planned by itself.  A step is that of the slowest rank, since ranks draw micro-batches by themselves, and the
 * card must hold the largest.  Where ranks accumulate without sums in between, they wait less than this says.  Not modelled:
 * what the allocator keeps cached of other sizes, and gives back before it fails.
 */
#ifndef MFU_BUCKETS_H
#define MFU_BUCKETS_H

#include "plan/option.h"
#include "plan/simulation.h"

#define MFU_MOST_BUCKETS 64 /* chosen */

struct mfu_buckets_options {
    double images; /* of an epoch; NAN: nobody said */
    double step;   /* pixels, of which edges are multiples where sizes are made */
};
extern const struct mfu_command_option mfu_buckets_option_rows[];
extern const size_t mfu_buckets_option_count;

struct mfu_bucket {
    double width, height, share;  /* pixels, NAN of sequences; of the samples */
    double tokens, memory_bytes;  /* of a sample; as nvidia-smi shows them */
    double step_s, low_s, high_s; /* if all ranks drew it */
    double fits;                  /* 1, 0, or NAN: nobody can say */
};

struct mfu_buckets {
    struct mfu_buckets_options options;
    struct mfu_bucket row[MFU_MOST_BUCKETS];
    size_t n, largest;                   /* the one that takes the most memory */
    double memory_bytes, memory_tokens;  /* of that, or of sequences as long as seq; tokens of such a sample */
    double step_s, low_s, high_s;        /* 90 % */
    double waits_s;                      /* of that: for the slowest rank */
    double tokens, samples_per_s;        /* of a sample, in the mean; of all ranks */
    double fits, capacity_bytes;         /* whether all do */
    double partial_batches, left_images; /* of an epoch: micro-batches that are not full, and what is in them */
    double epoch_s;                      /* with those; NAN: nobody said how many pictures */
};

/* The sizes that `text` lists, WIDTHxHEIGHT:SHARE with commas between (shares are of their sum, and alike where none is
 * said), or so many of the scenario's area, the nearest to a square first; of a model without height and width LENGTH:SHARE,
 * or so many lengths that are as likely, of batches by doc_len, doc_sigma, too_long and padding.  Each is planned and
 * simulated, and the scenario itself where lengths follow from it, which must hold the longest.  `plan` and `simulation` are
 * workspaces, zeroed or used before.  Refuses models of neither, a spread that nobody set, and what cannot be planned. */
int mfu_buckets_plan(const struct mfu_scenario *, const char *text, const struct mfu_buckets_options *,
                     struct mfu_plan *plan, struct mfu_simulation *simulation, struct mfu_buckets *,
                     struct mfu_error *);

#endif
