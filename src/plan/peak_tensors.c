/*
 * peak_tensors.c - the largest tensors at the peak of memory.
 */
#include "plan/peak_tensors.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"

#define ALIVE_MAX 256 /* of all; there are about 20 per layer traced */

static bool same(const struct mfu_alive *a, const struct mfu_alive *b)
{
    return a->bytes == b->bytes && a->phase == b->phase && a->part == b->part
        && strcmp(a->name_section, b->name_section) == 0 && strcmp(a->name_op, b->name_op) == 0
        && strcmp(a->name_suffix, b->name_suffix) == 0;
}

/* What each of equal layers hands to the next dies in another place than it was born: by one name it is born too often, by
 * another it dies so. */
static void settle(struct mfu_alive *all, size_t n)
{
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < n && all[k].copies < 0; i++)
            if (all[i].copies > 0 && all[i].bytes == all[k].bytes && all[i].part == all[k].part) {
                double taken = fmin(all[i].copies, -all[k].copies);

                all[i].copies -= taken;
                all[k].copies += taken;
            }
}

int mfu_peak_tensors(const struct mfu_plan *p, struct mfu_alive *list, size_t max)
{
    struct mfu_alive all[ALIVE_MAX];
    size_t merged = 0;
    int n;

    if (p->n_stages > 0 && p->stages[p->shown_stage].same != p->stages[p->worst_stage].same)
        return 0;
    n = mfu_lifetime_alive(&p->program, &p->memory.peak, all, ALIVE_MAX);
    if (n < 0)
        return -1;
    for (int i = 0; i < n; i++) {
        size_t k = 0;

        while (k < merged && !same(&all[k], &all[i]))
            k++;
        if (k < merged)
            all[k].copies += all[i].copies;
        else
            all[merged++] = all[i];
    }
    settle(all, merged);
    qsort(all, merged, sizeof all[0], mfu_alive_larger);
    while (merged > 0 && !(all[merged - 1].copies > 0))
        merged--;
    if (merged > max)
        merged = max;
    memcpy(list, all, merged * sizeof all[0]);
    return (int)merged;
}

const char *mfu_peak_tensor_name(const struct mfu_alive *a, char *buf, size_t size)
{
    struct mfu_launch l = {.section = a->name_section, .op = a->name_op, .suffix = a->name_suffix};

    return mfu_launch_name(&l, buf, size);
}
