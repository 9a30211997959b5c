/*
 * The allocator under a million random operations: whatever is asked of it, in
 * whatever order, its books are right.  The seed is printed; MFUPLAN_SEED
 * repeats a run.
 */
#include "near.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/error.h"
#include "allocator_check.h"
#include "simulate/allocator.h"

#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

#define OPERATIONS 150000 /* of each row below */
#define CHECK_EVERY 300
#define LIVE_MAX 3000

static uint64_t seed, state;

static uint64_t any(uint64_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 24) % below;
}

/* Mostly small, sometimes huge, often the same again. */
static uint64_t any_size(void)
{
    static const uint64_t common[] = {1,        512,      513,      4096,    MIB, MIB + 1, 2 * MIB, 10 * MIB - 512,
                                      10 * MIB, 20 * MIB, 25 * MIB, 38597376};
    switch (any(5)) {
    case 0: return common[any(LENGTH(common))];
    case 1: return 1 + any(64 * MIB);
    case 2: return 1 + any(4 * MIB);
    default: return 1 + any((uint64_t)1 << any(22));
    }
}

struct live {
    uint64_t bytes;
    int handle, stream;
};

static struct live live[LIVE_MAX];
static int n_live;

/* What the view shows. */
struct seen {
    uint64_t reserved, allocated, active, end, in_segment;
    long allocations;
    int segment;
    bool wrong;
};

static void look(void *context, const struct mfu_block_view *b)
{
    struct seen *seen = context;

    if (b->segment != seen->segment) {
        seen->wrong |= b->segment != seen->segment + 1 || seen->in_segment != 0;
        seen->in_segment = b->segment_bytes;
        seen->segment = b->segment;
        seen->wrong |= b->address < seen->end;
    } else {
        seen->wrong |= b->address != seen->end;
    }
    seen->end = b->address + b->size;
    seen->in_segment -= b->size;
    seen->reserved += b->size;
    seen->active += b->active ? b->size : 0;
    seen->allocated += b->handle >= 0 ? b->size : 0;
    seen->allocations += b->handle >= 0;
    seen->wrong |= b->handle >= 0 && !b->active;
}

static void holds(const struct mfu_allocator *a)
{
    const struct mfu_allocator_stats *s = mfu_allocator_stats(a);
    struct seen seen = {.segment = -1};
    const char *wrong = allocator_check(a);
    uint64_t requested = 0;

    if (wrong)
        print_error("MFUPLAN_SEED=%llu: %s\n", (unsigned long long)seed, wrong);
    assert_null(wrong);
    mfu_allocator_each(a, look, &seen);
    assert_false(seen.wrong);
    assert_int_equal(seen.reserved, s->reserved_bytes);
    assert_int_equal(seen.active, s->allocated_bytes);
    assert_int_equal(seen.allocated, s->allocated_bytes);
    assert_int_equal(seen.allocations, n_live);
    assert_int_equal(s->mallocs - s->frees, n_live);
    for (int i = 0; i < n_live; i++)
        requested += live[i].bytes;
    assert_true(requested <= s->requested_bytes);
}

static void drop(struct mfu_allocator *a, int i)
{
    mfu_allocator_free(a, live[i].handle);
    live[i] = live[--n_live];
}

static void one_operation(struct mfu_allocator *a, int streams, int wanted)
{
    uint64_t what = any(10000);

    if (what < 10) {
        mfu_allocator_empty_cache(a);
    } else if (what < 12) { /* the end of a step: much goes at once */
        for (int n = (int)any(1500); n > 0 && n_live; n--)
            drop(a, (int)any((uint64_t)n_live));
    } else if (n_live < wanted && what < 6000) {
        struct live x = {.bytes = any_size(), .stream = (int)any((uint64_t)streams)};
        long ooms = mfu_allocator_stats(a)->ooms;

        x.handle = mfu_allocator_malloc(a, x.bytes, x.stream);
        assert_true(x.handle > 0 || x.handle == -1);
        assert_int_equal(mfu_allocator_stats(a)->ooms - ooms, x.handle == -1);
        if (x.handle > 0)
            live[n_live++] = x;
    } else if (n_live) {
        drop(a, (int)any((uint64_t)n_live));
    }
}

static void its_books_are_right(void **unused)
{
    static const struct {
        struct mfu_allocator_options options;
        int streams, wanted;
    } rows[] = {
        {{0}, 1, LIVE_MAX},
        {{.capacity_bytes = 2 * GIB}, 3, 400},
        {{.capacity_bytes = 2 * GIB, .max_split_size_bytes = 21 * MIB}, 2, 400},
        {{.capacity_bytes = 3 * GIB, .roundup_power2_divisions = 4}, 2, 600},
        {{.capacity_bytes = 2 * GIB, .garbage_collection_threshold = 0.6}, 2, 500},
        {{.expandable_segments = true}, 2, LIVE_MAX},
        {{.capacity_bytes = 2 * GIB + 5 * MIB, .expandable_segments = true}, 3, 400},
        {{.capacity_bytes = GIB,
          .expandable_segments = true,
          .max_split_size_bytes = 32 * MIB,
          .garbage_collection_threshold = 0.8,
          .roundup_power2_divisions = 8},
         2,
         200},
    };

    (void)unused;
    for (size_t r = 0; r < LENGTH(rows); r++) {
        struct mfu_error err;
        struct mfu_allocator *a = mfu_allocator_new(&rows[r].options, &err);
        const struct mfu_allocator_stats *s;

        assert_non_null(a);
        s = mfu_allocator_stats(a);
        n_live = 0;
        for (int i = 0; i < OPERATIONS; i++) {
            one_operation(a, rows[r].streams, rows[r].wanted);
            if (i % CHECK_EVERY == 0)
                holds(a);
        }
        holds(a);

        /* With everything freed all of it goes back, whatever came before. */
        while (n_live)
            drop(a, n_live - 1);
        assert_int_equal(s->allocated_bytes, 0);
        mfu_allocator_empty_cache(a);
        assert_null(allocator_check(a));
        assert_int_equal(s->reserved_bytes, 0);
        assert_int_equal(s->requested_bytes, 0);
        assert_int_equal(inactive_split(a), 0);
        assert_int_equal(s->cuda_mallocs > 0 && s->segments == 0, true);
        if (rows[r].options.capacity_bytes) /* else the row tests less than it should */
            assert_true(s->ooms > 0 && s->retries > s->ooms);
        print_message("%zu: %ld mallocs, %ld from the driver, %ld retries, %ld ooms\n", r, s->mallocs, s->cuda_mallocs,
                      s->retries, s->ooms);
        mfu_allocator_release(a);
    }
}

/* The same operations have the same result, addresses included, in a new allocator and in one that begins anew. */
static void it_is_repeatable(void **unused)
{
    static const struct mfu_allocator_options options = {.capacity_bytes = 2 * GIB};
    struct mfu_allocator *a = mfu_allocator_new(&options, NULL);
    struct mfu_allocator_stats stats[3];
    uint64_t sums[3] = {0}, begin = state;

    (void)unused;
    assert_non_null(a);
    for (int k = 0; k < 3; k++) {
        if (k == 1) {
            mfu_allocator_release(a);
            assert_non_null(a = mfu_allocator_new(&options, NULL));
        } else if (k == 2) {
            assert_int_equal(mfu_allocator_restart(a, &options, NULL), 0);
        }
        state = begin;
        n_live = 0;
        for (int i = 0; i < 20000; i++) {
            one_operation(a, 2, 300);
            if (n_live)
                sums[k] = sums[k] * 31 + mfu_allocator_address(a, live[n_live - 1].handle);
        }
        stats[k] = *mfu_allocator_stats(a);
        assert_memory_equal(&stats[0], &stats[k], sizeof stats[0]);
        assert_int_equal(sums[0], sums[k]);
    }
    mfu_allocator_release(a);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_books_are_right),
        cmocka_unit_test(it_is_repeatable),
    };
    const char *given = getenv("MFUPLAN_SEED");

    seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
    state = seed;
    printf("MFUPLAN_SEED=%llu\n", (unsigned long long)seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
