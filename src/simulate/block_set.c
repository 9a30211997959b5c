/*
 * block_set.c - free blocks in order of size, then address.
 */
#include "simulate/block_set.h"

#include <stdlib.h>

#include "base/list.h"

void mfu_block_set_release(struct mfu_block_set *s)
{
    for (int b = 0; b < s->n_bins; b++)
        free(s->bins[b].entries);
    free(s->bins);
    *s = (struct mfu_block_set){0};
}

void mfu_block_set_clear(struct mfu_block_set *s)
{
    for (int b = 1; b < s->n_bins; b++) {
        s->bins[b].begin = s->bins[b].room / 2;
        s->bins[b].n = 0;
    }
    memset(s->classes, 0, sizeof s->classes);
}

int mfu_block_set_bin(struct mfu_block_set *s, int class)
{
    if (!MFU_ROOM(s->bins, s->n_bins + 2, s->room))
        return 0;
    if (s->n_bins == 0)
        s->bins[s->n_bins++] = (struct mfu_block_bin){0};
    s->bins[s->n_bins] = (struct mfu_block_bin){.class = class};
    return s->bin_of[class] = (short)s->n_bins++;
}

bool mfu_block_bin_widen(struct mfu_block_bin *bin)
{
    int begin;

    if (!MFU_ROOM(bin->entries, 2 * (bin->n + 2), bin->room))
        return false;
    begin = (bin->room - bin->n) / 2;
    memmove(&bin->entries[begin], &bin->entries[bin->begin], (size_t)bin->n * sizeof bin->entries[0]);
    bin->begin = begin;
    return true;
}

struct mfu_block_place mfu_block_set_next(const struct mfu_block_set *s, struct mfu_block_place at)
{
    const struct mfu_block_bin *bin = &s->bins[at.bin];

    return at.slot > bin->begin ? (struct mfu_block_place){at.bin, at.slot - 1} : mfu_block_set_from(s, bin->class + 1);
}

struct mfu_block_place mfu_block_set_last(const struct mfu_block_set *s)
{
    for (int w = MFU_BLOCK_CLASSES / 64 - 1; w >= 0; w--)
        if (s->classes[w]) {
            int bin = s->bin_of[64 * w + 63 - __builtin_clzll(s->classes[w])];

            return (struct mfu_block_place){bin, s->bins[bin].begin};
        }
    return (struct mfu_block_place){0};
}
