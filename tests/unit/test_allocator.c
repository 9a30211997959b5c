/*
 * The rules of PyTorch's caching allocator, each on a sequence short enough to
 * be followed by hand (CUDACachingAllocator.cpp of PyTorch 2.6), and the trace
 * of a nanoGPT step against what an emulator and PyTorch itself found.
 */
#include "near.h"

#include "base/error.h"
#include "allocator_check.h"
#include "simulate/allocator.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

static struct mfu_allocator *start(struct mfu_allocator_options options)
{
    struct mfu_error err = {0};
    struct mfu_allocator *a = mfu_allocator_new(&options, &err);

    assert_string_equal(err.text, "");
    assert_non_null(a);
    return a;
}

static void finish(struct mfu_allocator *a)
{
    const char *wrong = allocator_check(a);

    if (wrong)
        print_error("%s\n", wrong);
    assert_null(wrong);
    mfu_allocator_release(a);
}

static int take(struct mfu_allocator *a, uint64_t bytes)
{
    int handle = mfu_allocator_malloc(a, bytes, 0);

    assert_true(handle > 0);
    return handle;
}

#define stats(a) (*mfu_allocator_stats(a))
#define address(a, handle) mfu_allocator_address(a, handle)

/* ---- Sizes -------------------------------------------------------------- */

static void sizes_are_rounded_to_512_bytes(void **state)
{
    static const uint64_t rows[][2] = {{1, 512}, {511, 512}, {512, 512}, {513, 1024}, {3 * KIB + 1, 3584}};

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_allocator *a = start((struct mfu_allocator_options){0});

        take(a, rows[i][0]);
        assert_int_equal(stats(a).allocated_bytes, rows[i][1]);
        assert_int_equal(stats(a).requested_bytes, rows[i][0]);
        finish(a);
    }
}

/* The source's own example: 1200 with 4 divisions lies between 1024 and 2048,
 * steps are 1024, 1280, 1536, 1792; here in KiB.  It applies beyond 4 * 512. */
static void sizes_are_rounded_to_parts_of_a_power_of_two(void **state)
{
    static const uint64_t rows[][2] = {
        {1200, 1536}, /* below 4 * 512: as always */
        {2048, 2048},
        {2049, 2560}, /* 2048 / 4 = 512 */
        {1200 * KIB, 1280 * KIB},
        {1280 * KIB, 1280 * KIB},
        {1280 * KIB + 1, 1536 * KIB},
        {1793 * KIB, 2048 * KIB},
        {20 * MIB, 20 * MIB},
        {21 * MIB, 24 * MIB},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_allocator *a = start((struct mfu_allocator_options){.roundup_power2_divisions = 4});

        take(a, rows[i][0]);
        assert_int_equal(stats(a).allocated_bytes, rows[i][1]);
        finish(a);
    }
}

static void segments_are_of_2_or_20_mib_or_of_the_size(void **state)
{
    static const struct {
        uint64_t bytes, segment, block;
    } rows[] = {
        {1, 2 * MIB, 512},
        {MIB, 2 * MIB, MIB}, /* the largest small one */
        {MIB + 1, 20 * MIB, MIB + 512},
        {10 * MIB - 512, 20 * MIB, 10 * MIB - 512},
        {10 * MIB, 10 * MIB, 10 * MIB},
        {10 * MIB + 1, 12 * MIB, 10 * MIB + 512},   /* 2 MiB - 512 are left: split */
        {11 * MIB - 512, 12 * MIB, 11 * MIB - 512}, /* 1 MiB + 512: split */
        {11 * MIB, 12 * MIB, 12 * MIB},             /* 1 MiB is left: handed out whole */
        {12 * MIB - 1, 12 * MIB, 12 * MIB},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_allocator *a = start((struct mfu_allocator_options){0});

        take(a, rows[i].bytes);
        assert_int_equal(stats(a).reserved_bytes, rows[i].segment);
        assert_int_equal(stats(a).allocated_bytes, rows[i].block);
        assert_int_equal(inactive_split(a), rows[i].segment - rows[i].block);
        assert_int_equal(stats(a).segments, 1);
        finish(a);
    }
}

static void nothing_is_a_handle_too(void **state)
{
    struct mfu_allocator *a = start((struct mfu_allocator_options){0});
    int none = mfu_allocator_malloc(a, 0, 0), x = take(a, 1);

    (void)state;
    assert_true(none >= 0);
    assert_int_equal(stats(a).mallocs, 1);
    assert_int_equal(address(a, none), 0);
    mfu_allocator_free(a, none);
    mfu_allocator_free(a, -1);
    mfu_allocator_free(a, 12345);
    assert_int_equal(stats(a).frees, 0);
    mfu_allocator_free(a, x);
    mfu_allocator_free(a, x); /* once is enough */
    assert_int_equal(stats(a).frees, 1);
    finish(a);
}

/* ---- Finding, splitting, merging ---------------------------------------- */

/* 2 MiB = 1 MiB + (1 MiB - 512) + 512: the last block is a remainder of exactly
 * 512 bytes, which the small pool still splits off. */
static void the_small_pool_splits_down_to_512_bytes(void **state)
{
    struct mfu_allocator *a = start((struct mfu_allocator_options){0});
    int x = take(a, MIB), y = take(a, MIB - 512), z = take(a, 1);

    (void)state;
    assert_int_equal(address(a, y), address(a, x) + MIB);
    assert_int_equal(address(a, z), address(a, x) + 2 * MIB - 512);
    assert_int_equal(stats(a).cuda_mallocs, 1);
    assert_int_equal(inactive_split(a), 0);
    finish(a);
}

/* Segments of 16, 12 and 14 MiB are cached.  11.5 MiB is served from 12 (0.5
 * MiB left: whole), 13.5 from 14; then 9 only finds the 16, and 7 are left. */
static void the_smallest_sufficient_block_is_taken(void **state)
{
    struct mfu_allocator *a = start((struct mfu_allocator_options){0});
    int x[3] = {take(a, 16 * MIB), take(a, 12 * MIB), take(a, 14 * MIB)};
    uint64_t at[3] = {address(a, x[0]), address(a, x[1]), address(a, x[2])};

    (void)state;
    for (int i = 0; i < 3; i++)
        mfu_allocator_free(a, x[i]);
    assert_int_equal(address(a, take(a, 11 * MIB + 512 * KIB)), at[1]);
    assert_int_equal(address(a, take(a, 13 * MIB + 512 * KIB)), at[2]);
    assert_int_equal(address(a, take(a, 9 * MIB)), at[0]);
    assert_int_equal(inactive_split(a), 7 * MIB);
    assert_int_equal(stats(a).allocated_bytes, (12 + 14 + 9) * MIB);
    assert_int_equal(stats(a).requested_bytes, 34 * MIB);
    assert_int_equal(stats(a).cuda_mallocs, 3);
    finish(a);
}

static void of_equal_blocks_the_lowest_is_taken(void **state)
{
    struct mfu_allocator *a = start((struct mfu_allocator_options){0});
    int x[5];
    uint64_t at[5];

    (void)state;
    for (int i = 0; i < 5; i++) {
        x[i] = take(a, 30 * MIB);
        at[i] = address(a, x[i]);
    }
    mfu_allocator_free(a, x[3]);
    mfu_allocator_free(a, x[1]);
    mfu_allocator_free(a, x[4]);
    assert_int_equal(address(a, take(a, 30 * MIB)), at[1]);
    assert_int_equal(address(a, take(a, 30 * MIB)), at[3]);
    finish(a);
}

/* Four blocks of 5 MiB fill a segment of 20.  Freed 2nd, 4th, 1st, 3rd: the
 * first and second make 10, the third joins 10 + 5 + 5 to the whole again. */
static void free_neighbours_are_merged(void **state)
{
    struct mfu_allocator *a = start((struct mfu_allocator_options){0});
    static const struct {
        int which;
        uint64_t inactive;
    } rows[] = {{1, 5}, {3, 10}, {0, 15}, {2, 0}};
    int x[4];

    (void)state;
    for (int i = 0; i < 4; i++)
        x[i] = take(a, 5 * MIB);
    assert_int_equal(stats(a).segments, 1);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        mfu_allocator_free(a, x[rows[i].which]);
        assert_int_equal(inactive_split(a), rows[i].inactive * MIB);
        assert_null(allocator_check(a));
    }
    take(a, 20 * MIB);
    assert_int_equal(stats(a).segments, 1);
    finish(a);
}

static void streams_and_pools_do_not_share(void **state)
{
    struct mfu_allocator *a = start((struct mfu_allocator_options){0});
    int x = mfu_allocator_malloc(a, 20 * MIB, 0);
    uint64_t at = address(a, x);

    (void)state;
    mfu_allocator_free(a, x);
    assert_int_not_equal(address(a, mfu_allocator_malloc(a, 20 * MIB, 7)), at);
    take(a, 1); /* not from 20 free MiB of the large pool */
    assert_int_equal(stats(a).reserved_bytes, 42 * MIB);
    assert_int_equal(address(a, take(a, 20 * MIB)), at);
    finish(a);
}

/* ---- Out of memory ------------------------------------------------------ */

/* On a card of 100 MiB 60 are cached.  First 30 of them are in use when 64 are
 * wanted: split blocks stay, and out of memory.  Then 30 are in use besides: no
 * block will do (60 < 64), nor cudaMalloc (10 left), the 60 go back, and 64 come. */
static void cached_segments_go_back_before_memory_is_out(void **state)
{
    struct mfu_allocator *a = start((struct mfu_allocator_options){.capacity_bytes = 100 * MIB});

    (void)state;
    mfu_allocator_free(a, take(a, 60 * MIB));
    take(a, 30 * MIB);
    assert_int_equal(stats(a).reserved_bytes, 60 * MIB);
    assert_int_equal(mfu_allocator_malloc(a, 64 * MIB, 0), -1);
    assert_int_equal(stats(a).retries, 1);
    assert_int_equal(stats(a).ooms, 1);
    assert_int_equal(stats(a).cuda_frees, 0);
    finish(a);

    a = start((struct mfu_allocator_options){.capacity_bytes = 100 * MIB});
    take(a, 30 * MIB);
    mfu_allocator_free(a, take(a, 60 * MIB));
    take(a, 64 * MIB);
    assert_int_equal(stats(a).retries, 1);
    assert_int_equal(stats(a).ooms, 0);
    assert_int_equal(stats(a).cuda_frees, 1);
    assert_int_equal(stats(a).reserved_bytes, 94 * MIB);
    assert_int_equal(stats(a).peak_reserved_bytes, 94 * MIB);
    finish(a);
}

static void the_message_is_pytorchs(void **state)
{
    struct mfu_allocator *a = start((struct mfu_allocator_options){.capacity_bytes = 23 * GIB});
    char text[768];

    (void)state;
    assert_string_equal(mfu_allocator_oom_message(a, text, sizeof text), "");
    mfu_allocator_describe_card(a, 24 * GIB, 512 * MIB);
    take(a, 20 * GIB);
    take(a, 3 * MIB); /* of a segment of 20 MiB */
    assert_int_equal(mfu_allocator_malloc(a, 3 * GIB + 1, 0), -1);
    /* 3 GiB + 1 byte: a segment of 3 GiB + 2 MiB. 23 GiB - (20 GiB + 20 MiB) are free. */
    assert_string_equal(
        mfu_allocator_oom_message(a, text, sizeof text),
        "CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 has a total capacity of 24.00 GiB of "
        "which 2.98 GiB is free. Including non-PyTorch memory, this process has 20.52 GiB memory in use. "
        "Of the allocated memory 20.00 GiB is allocated by PyTorch, and 17.00 MiB is reserved by PyTorch "
        "but unallocated. If reserved but unallocated memory is large try setting "
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for "
        "Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)");
    assert_int_equal(mfu_allocator_malloc(a, UINT64_MAX, 0), -1);
    assert_string_equal(mfu_allocator_oom_message(a, text, sizeof text),
                        "CUDA out of memory. Tried to allocate more than 1EB memory.");
    assert_string_equal(mfu_allocator_oom_message(a, text, 5), "CUDA");
    assert_int_equal(stats(a).ooms, 2);
    finish(a);
}

static void empty_cache_gives_back_what_is_not_split(void **state)
{
    struct mfu_allocator *a = start((struct mfu_allocator_options){0});
    int x = take(a, 5 * MIB), y = take(a, 5 * MIB), z = take(a, 1), big = take(a, 64 * MIB);

    (void)state;
    mfu_allocator_free(a, x);
    mfu_allocator_free(a, z);
    mfu_allocator_free(a, big);
    mfu_allocator_empty_cache(a); /* y keeps its 20 MiB */
    assert_int_equal(stats(a).reserved_bytes, 20 * MIB);
    assert_int_equal(stats(a).cuda_frees, 2);
    assert_int_equal(stats(a).peak_reserved_bytes, 86 * MIB);
    mfu_allocator_reset_peaks(a);
    assert_int_equal(stats(a).peak_reserved_bytes, 20 * MIB);
    assert_int_equal(stats(a).peak_allocated_bytes, 5 * MIB);
    mfu_allocator_free(a, y);
    mfu_allocator_empty_cache(a);
    assert_int_equal(stats(a).reserved_bytes, 0);
    assert_int_equal(stats(a).segments, 0);
    finish(a);
}

/* ---- Options ------------------------------------------------------------ */

/* m = 32 MiB.  Cached: one segment of 64. */
static void blocks_beyond_the_largest_split_are_set_apart(void **state)
{
    struct mfu_allocator *a = start((struct mfu_allocator_options){.max_split_size_bytes = 32 * MIB});
    int x = take(a, 64 * MIB);
    uint64_t at = address(a, x);

    (void)state;
    mfu_allocator_free(a, x);
    assert_int_not_equal(address(a, take(a, 16 * MIB)), at); /* 16 < m: not of a block >= m */
    assert_int_not_equal(address(a, take(a, 44 * MIB)), at); /* 64 >= 44 + 20: too much wasted */
    assert_int_equal(stats(a).reserved_bytes, (64 + 16 + 44) * MIB);
    x = take(a, 46 * MIB); /* 64 < 46 + 20: whole */
    assert_int_equal(address(a, x), at);
    assert_int_equal(stats(a).allocated_bytes, (16 + 44 + 64) * MIB);
    finish(a);
}

/* Only one candidate is looked at: for 30 MiB it is the 40 (>= m = 32), and the
 * search ends there; without m it is split. */
static void one_candidate_only(void **state)
{
    struct mfu_allocator *a = start((struct mfu_allocator_options){.max_split_size_bytes = 32 * MIB});
    int x[2] = {take(a, 40 * MIB), take(a, 24 * MIB)};

    (void)state;
    mfu_allocator_free(a, x[0]);
    mfu_allocator_free(a, x[1]);
    take(a, 30 * MIB); /* from the driver */
    take(a, 22 * MIB); /* of the 24 */
    assert_int_equal(stats(a).reserved_bytes, (40 + 24 + 30) * MIB);
    finish(a);
}

/* A card of 200 MiB, m = 32: cached are 40, 50, 60 and 24.  80 are wanted, 26
 * are left; no cached block is that large, so they go from the largest down:
 * 60, then 50 makes 110 >= 80.  The 40 and the 24 stay, nothing counts as retry. */
static void blocks_set_apart_are_the_first_to_go(void **state)
{
    static const uint64_t cached[] = {40, 50, 60, 24};
    struct mfu_allocator *a =
        start((struct mfu_allocator_options){.capacity_bytes = 200 * MIB, .max_split_size_bytes = 32 * MIB});
    int x[LENGTH(cached)];

    (void)state;
    for (size_t i = 0; i < LENGTH(cached); i++)
        x[i] = take(a, cached[i] * MIB);
    for (size_t i = 0; i < LENGTH(cached); i++)
        mfu_allocator_free(a, x[i]);
    take(a, 80 * MIB);
    assert_int_equal(stats(a).reserved_bytes, (40 + 24 + 80) * MIB);
    assert_int_equal(stats(a).cuda_frees, 2);
    assert_int_equal(stats(a).retries, 0);
    /* 100 more than the 56 left: 40 alone is not enough, all goes: a retry. */
    take(a, 100 * MIB);
    assert_int_equal(stats(a).reserved_bytes, 180 * MIB);
    assert_int_equal(stats(a).retries, 1);
    finish(a);
}

/* A card of 100 MiB, threshold 0.5: 50.  Ages are counted in searches.  The 20
 * are freed after 3 of them, the 16 after 7.  When 22 are wanted, the 8th, 66 are
 * reserved: 16 too many.  Ages are 5 and 1, 3 on average: the 20 go, and suffice.
 * When 24 are wanted, 68 are reserved: the 16 are all there is, though 18 are too
 * many. */
static void garbage_is_collected_by_age(void **state)
{
    struct mfu_allocator *a =
        start((struct mfu_allocator_options){.capacity_bytes = 100 * MIB, .garbage_collection_threshold = 0.5});
    int old = take(a, 20 * MIB), young = take(a, 16 * MIB), other = mfu_allocator_malloc(a, 30 * MIB, 1);

    (void)state;
    mfu_allocator_free(a, old);
    for (int i = 0; i < 4; i++) {
        mfu_allocator_free(a, other);
        other = mfu_allocator_malloc(a, 30 * MIB, 1);
    }
    mfu_allocator_free(a, young);
    assert_int_equal(stats(a).reserved_bytes, 66 * MIB);
    take(a, 22 * MIB);
    assert_int_equal(stats(a).cuda_frees, 1);
    assert_int_equal(stats(a).reserved_bytes, (16 + 30 + 22) * MIB);
    take(a, 24 * MIB);
    assert_int_equal(stats(a).cuda_frees, 2);
    assert_int_equal(stats(a).reserved_bytes, (30 + 22 + 24) * MIB);
    assert_int_equal(stats(a).retries, 0);
    finish(a);
}

static void impossible_options_are_refused(void **state)
{
    static const struct mfu_allocator_options rows[] = {
        {.roundup_power2_divisions = 3},        {.roundup_power2_divisions = -1},
        {.max_split_size_bytes = 20 * MIB - 1}, {.garbage_collection_threshold = 1},
        {.garbage_collection_threshold = -0.1}, {.garbage_collection_threshold = NAN},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_error err = {0};

        assert_null(mfu_allocator_new(&rows[i], &err));
        assert_int_equal(err.code, MFU_EINPUT);
        assert_true(err.text[0] != '\0');
    }
    mfu_allocator_release(NULL);
}

/* ---- Expandable segments ------------------------------------------------ */

/* 30 MiB map two pages of 20, 15 more need only one (10 are left over), at once
 * after them; everything freed becomes one block, of which 55 are taken. */
static void expandable_segments_grow_by_pages(void **state)
{
    struct mfu_allocator *a = start((struct mfu_allocator_options){.expandable_segments = true});
    int x = take(a, 30 * MIB), y = take(a, 15 * MIB), z;
    uint64_t at = address(a, x);

    (void)state;
    assert_int_equal(address(a, y), at + 30 * MIB);
    assert_int_equal(stats(a).reserved_bytes, 60 * MIB);
    assert_int_equal(stats(a).cuda_mallocs, 2);
    assert_int_equal(stats(a).segments, 0); /* PyTorch counts none */
    assert_int_equal(inactive_split(a), 0); /* nor these */
    mfu_allocator_free(a, x);
    mfu_allocator_free(a, y);
    z = take(a, 55 * MIB);
    assert_int_equal(address(a, z), at);
    assert_int_equal(stats(a).reserved_bytes, 60 * MIB);
    assert_int_equal(stats(a).allocated_bytes, 55 * MIB);
    take(a, 5 * MIB - 512); /* splits even the large pool down to 512 bytes */
    assert_int_equal(stats(a).allocated_bytes, 60 * MIB - 512);
    take(a, 1); /* small: pages of 2 MiB elsewhere */
    assert_int_equal(stats(a).reserved_bytes, 62 * MIB);
    finish(a);
}

/* 18 | 4 | 6 of two pages leave 12, with a hole after them; then the 18 are freed.
 * For 11 the 12 are the closest, but as they can grow the 18 count as smaller and
 * are taken.  For 9 there are only the 12, for 7 are left of the 18. */
static void best_fit_prefers_blocks_that_cannot_grow(void **state)
{
    struct mfu_allocator *a = start((struct mfu_allocator_options){.expandable_segments = true});
    int x = take(a, 18 * MIB);
    uint64_t at = address(a, x);

    (void)state;
    take(a, 4 * MIB);
    take(a, 6 * MIB);
    mfu_allocator_free(a, x);
    assert_int_equal(address(a, take(a, 11 * MIB)), at);
    assert_int_equal(address(a, take(a, 9 * MIB)), at + 28 * MIB);
    assert_int_equal(stats(a).reserved_bytes, 40 * MIB);
    finish(a);
}

/* A card of 100 MiB, five pages: 50 | 10 | 30 and 10 free.  The 50 are freed and
 * empty_cache unmaps pages 0 and 1, not page 2, which holds the first of the 10.
 * 45 then find no block, only the hole of 40 and the 10 free after it: pages 0 and
 * 1 come back.  5 | 10 are free then, in two pages that are in use. */
static void free_pages_are_unmapped_and_filled_again(void **state)
{
    struct mfu_allocator *a =
        start((struct mfu_allocator_options){.capacity_bytes = 100 * MIB, .expandable_segments = true});
    int x = take(a, 50 * MIB);
    uint64_t at = address(a, x);

    (void)state;
    take(a, 10 * MIB);
    take(a, 30 * MIB);
    assert_int_equal(stats(a).reserved_bytes, 100 * MIB);
    mfu_allocator_free(a, x);
    mfu_allocator_empty_cache(a);
    assert_int_equal(stats(a).reserved_bytes, 60 * MIB);
    assert_int_equal(stats(a).cuda_frees, 1);
    assert_int_equal(address(a, take(a, 45 * MIB)), at);
    assert_int_equal(stats(a).reserved_bytes, 100 * MIB);
    assert_int_equal(mfu_allocator_malloc(a, 20 * MIB, 0), -1);
    assert_int_equal(stats(a).ooms, 1);
    finish(a);
}

/* Another stream's free pages are unmapped when memory runs out. */
static void pages_move_between_streams(void **state)
{
    struct mfu_allocator *a =
        start((struct mfu_allocator_options){.capacity_bytes = 100 * MIB, .expandable_segments = true});

    (void)state;
    mfu_allocator_free(a, take(a, 80 * MIB));
    assert_true(mfu_allocator_malloc(a, 60 * MIB, 1) > 0);
    assert_int_equal(stats(a).retries, 1);
    assert_int_equal(stats(a).reserved_bytes, 60 * MIB);
    finish(a);
}

/* ---- The view ----------------------------------------------------------- */

struct seen {
    struct mfu_block_view blocks[8];
    int n;
};

static void note(void *context, const struct mfu_block_view *b)
{
    struct seen *seen = context;

    assert_true(seen->n < 8);
    seen->blocks[seen->n++] = *b;
}

static void the_view_is_in_order_of_address(void **state)
{
    struct mfu_allocator *a = start((struct mfu_allocator_options){0});
    struct seen seen = {0};
    int x = take(a, 3 * MIB), y = mfu_allocator_malloc(a, 1000, 5), z = take(a, 4 * MIB);

    (void)state;
    mfu_allocator_each(a, note, &seen);
    /* 20 MiB: x 3, z 4, 13 free; 2 MiB: y 1024, the rest. */
    assert_int_equal(seen.n, 5);
    for (int i = 0; i < 5; i++) {
        static const struct {
            int segment, stream;
            uint64_t size, requested;
            bool active;
        } rows[] = {
            {0, 0, 3 * MIB, 3 * MIB, true}, {0, 0, 4 * MIB, 4 * MIB, true},   {0, 0, 13 * MIB, 0, false},
            {1, 5, 1024, 1000, true},       {1, 5, 2 * MIB - 1024, 0, false},
        };
        assert_int_equal(seen.blocks[i].segment, rows[i].segment);
        assert_int_equal(seen.blocks[i].stream, rows[i].stream);
        assert_int_equal(seen.blocks[i].size, rows[i].size);
        assert_int_equal(seen.blocks[i].requested, rows[i].requested);
        assert_int_equal(seen.blocks[i].active, rows[i].active);
        assert_int_equal(seen.blocks[i].segment_bytes, (rows[i].segment ? 2 : 20) * MIB);
        assert_int_equal(seen.blocks[i].small, rows[i].segment == 1);
    }
    assert_int_equal(seen.blocks[0].handle, x);
    assert_int_equal(seen.blocks[1].handle, z);
    assert_int_equal(seen.blocks[3].handle, y);
    finish(a);
}

/* ---- A training step ---------------------------------------------------- */

/* nanoGPT (no bias, dropout 0, tied head), eager, bf16 autocast, fp32 weights,
 * flash attention, fused AdamW: every allocation in PyTorch's order.  The order
 * is that of traces of PyTorch 2.15 on fake tensors (tests/oracle). */
enum { LAYERS_MAX = 24 };

struct layer {
    int weight[6], gradient[6], state[6][3]; /* ln1, attn, proj, ln2, fc, fc2 */
    int mean1, rstd1, cast_attn, in_attn, qkv, out, lse, seed, offset, cast_proj, x1;
    int mean2, rstd2, cast_fc, in_fc, fc, gelu, cast_fc2, x2;
};

struct gpt {
    struct mfu_allocator *a;
    uint64_t layers, h, heads, vocab, T, N;
    uint64_t workspace_bytes;
    struct layer layer[LAYERS_MAX];
    int weight[3], gradient[3], state[3][3]; /* wte, wpe, ln_f */
    int workspace[2];
    int X, Y, next_X, next_Y, old_X, old_Y, logits, loss;
    int pos, x0, mean, rstd, cast_head, in_head, logp, logp32, total_weight;
};

static int make(struct gpt *g, uint64_t bytes)
{
    return take(g->a, bytes);
}

static void drop(struct gpt *g, int *handle)
{
    mfu_allocator_free(g->a, *handle);
    *handle = 0;
}

static uint64_t weight_bytes(const struct gpt *g, int which)
{
    const uint64_t in_h[6] = {1, 3 * g->h, g->h, 1, 4 * g->h, 4 * g->h};

    return 4 * g->h * in_h[which];
}

static uint64_t outer_bytes(const struct gpt *g, int which)
{
    return 4 * g->h * (which == 0 ? g->vocab : which == 1 ? g->T : 1);
}

static void set_up(struct gpt *g)
{
    for (int k = 0; k < 2; k++)
        g->weight[k] = make(g, outer_bytes(g, k));
    for (uint64_t i = 0; i < g->layers; i++)
        for (int k = 0; k < 6; k++)
            g->layer[i].weight[k] = make(g, weight_bytes(g, k));
    g->weight[2] = make(g, outer_bytes(g, 2));
    g->X = make(g, 8 * g->N);
    g->Y = make(g, 8 * g->N);
}

static int layer_norm(struct gpt *g, int *mean, int *rstd)
{
    int out = make(g, 4 * g->h * g->N);

    *mean = make(g, 4 * g->N);
    *rstd = make(g, 4 * g->N);
    return out;
}

static void forward(struct gpt *g)
{
    const uint64_t x = 2 * g->h * g->N, hh = g->h * g->h, VN = g->vocab * g->N;
    int tok, pos_emb, norm, y, logits, loss, scaled;

    g->pos = make(g, 8 * g->T);
    tok = make(g, 2 * x);
    pos_emb = make(g, 4 * g->h * g->T);
    g->x0 = make(g, 2 * x);
    for (uint64_t i = 0; i < g->layers; i++) {
        struct layer *l = &g->layer[i];

        norm = layer_norm(g, &l->mean1, &l->rstd1);
        l->cast_attn = make(g, 6 * hh);
        l->in_attn = make(g, x);
        if (!g->workspace[0])
            g->workspace[0] = make(g, g->workspace_bytes);
        l->qkv = make(g, 3 * x);
        l->out = make(g, x);
        l->lse = make(g, 4 * g->heads * g->N);
        l->seed = make(g, 16);
        l->offset = make(g, 8);
        l->cast_proj = make(g, 2 * hh);
        y = make(g, x);
        drop(g, &norm);
        l->x1 = make(g, 2 * x);
        drop(g, &y);
        norm = layer_norm(g, &l->mean2, &l->rstd2);
        l->cast_fc = make(g, 8 * hh);
        l->in_fc = make(g, x);
        l->fc = make(g, 4 * x);
        l->gelu = make(g, 4 * x);
        l->cast_fc2 = make(g, 8 * hh);
        y = make(g, x);
        drop(g, &norm);
        l->x2 = make(g, 2 * x);
        drop(g, &y);
    }
    norm = layer_norm(g, &g->mean, &g->rstd);
    g->cast_head = make(g, 2 * g->vocab * g->h);
    g->in_head = make(g, x);
    logits = make(g, 2 * VN);
    g->logp = make(g, 2 * VN);
    g->logp32 = make(g, 4 * VN);
    loss = make(g, 4);
    g->total_weight = make(g, 4);
    drop(g, &tok); /* forward() returns */
    drop(g, &pos_emb);
    drop(g, &norm);
    drop(g, &g->logits); /* and its results replace the old ones */
    drop(g, &g->loss);
    g->logits = logits;
    scaled = make(g, 4); /* loss / accum */
    drop(g, &loss);
    g->loss = scaled;
    g->old_X = g->X; /* the next batch; autograd holds this one */
    g->old_Y = g->Y;
    g->X = make(g, 8 * g->N);
    g->Y = make(g, 8 * g->N);
}

/* A finished fp32 gradient: becomes .grad, or is added to it. */
static void accumulate(struct gpt *g, int *gradient, int fresh)
{
    if (*gradient)
        drop(g, &fresh);
    else
        *gradient = fresh;
}

/* The bf16 gradient of a weight, cast to fp32, and so on. */
static void finish_weight(struct gpt *g, int half, uint64_t full_bytes, int *gradient)
{
    int full = make(g, full_bytes);

    drop(g, &half);
    accumulate(g, gradient, full);
}

/* Norm backward: frees the gradient that comes in and what was saved; returns
 * the one for its input. */
static int norm_backward(struct gpt *g, int in, int *input, int *mean, int *rstd, int *gradient)
{
    int out = make(g, 4 * g->h * g->N), weight = make(g, 4 * g->h);

    drop(g, &in);
    if (input)
        drop(g, input);
    drop(g, mean);
    drop(g, rstd);
    accumulate(g, gradient, weight);
    return out;
}

/* Casts the gradient of a bf16 linear's input to fp32. */
static int cast_back(struct gpt *g, int half)
{
    int full = make(g, 4 * g->h * g->N);

    drop(g, &half);
    return full;
}

static int block_backward(struct gpt *g, struct layer *l, int residual)
{
    const uint64_t x = 2 * g->h * g->N, hh = g->h * g->h;
    int half, in, out, dq, dk, dv, d, sums, norm;

    in = make(g, x); /* MLP down */
    half = make(g, 8 * hh);
    out = make(g, 4 * x);
    drop(g, &in);
    drop(g, &l->gelu);
    drop(g, &l->cast_fc2);
    finish_weight(g, half, 16 * hh, &l->gradient[5]);
    in = make(g, 4 * x); /* GELU */
    drop(g, &out);
    drop(g, &l->fc);
    half = make(g, 8 * hh); /* MLP up */
    out = make(g, x);
    drop(g, &in);
    drop(g, &l->in_fc);
    drop(g, &l->cast_fc);
    out = cast_back(g, out);
    finish_weight(g, half, 16 * hh, &l->gradient[4]);
    norm = norm_backward(g, out, &l->x1, &l->mean2, &l->rstd2, &l->gradient[3]);
    drop(g, &norm); /* added to the residual's, in place */

    in = make(g, x); /* attention out */
    half = make(g, 2 * hh);
    out = make(g, x);
    drop(g, &in);
    drop(g, &l->cast_proj);
    finish_weight(g, half, 4 * hh, &l->gradient[2]);
    dq = make(g, x); /* flash, with its scratch */
    dk = make(g, x);
    dv = make(g, x);
    d = make(g, 4 * g->heads * g->N);
    sums = make(g, 4 * g->h * g->N);
    drop(g, &d);
    drop(g, &sums);
    drop(g, &out);
    drop(g, &l->qkv);
    drop(g, &l->out);
    drop(g, &l->lse);
    drop(g, &l->seed);
    drop(g, &l->offset);
    in = make(g, 3 * x); /* joined, and attention in */
    drop(g, &dq);
    drop(g, &dk);
    drop(g, &dv);
    half = make(g, 6 * hh);
    out = make(g, x);
    drop(g, &in);
    drop(g, &l->in_attn);
    drop(g, &l->cast_attn);
    out = cast_back(g, out);
    finish_weight(g, half, 12 * hh, &l->gradient[1]);
    norm = norm_backward(g, out, NULL, &l->mean1, &l->rstd1, &l->gradient[0]);
    drop(g, &norm);
    return residual;
}

static void backward(struct gpt *g)
{
    const uint64_t x = 2 * g->h * g->N, VN = g->vocab * g->N;
    int one = make(g, 4), scaled = make(g, 4), d32, d16, dlogits, half, head, residual, fresh, scratch, in;

    drop(g, &one);
    d32 = make(g, 4 * VN);
    drop(g, &scaled);
    drop(g, &g->logp32);
    drop(g, &g->total_weight);
    drop(g, &g->old_Y);
    d16 = make(g, 2 * VN);
    drop(g, &d32);
    dlogits = make(g, 2 * VN);
    drop(g, &d16);
    drop(g, &g->logp);
    half = make(g, 2 * g->vocab * g->h);
    if (!g->workspace[1])
        g->workspace[1] = make(g, g->workspace_bytes);
    in = make(g, x);
    drop(g, &dlogits);
    drop(g, &g->in_head);
    drop(g, &g->cast_head);
    in = cast_back(g, in);
    head = make(g, 4 * g->vocab * g->h); /* waits for the embedding's */
    drop(g, &half);
    residual = norm_backward(g, in, &g->layer[g->layers - 1].x2, &g->mean, &g->rstd, &g->gradient[2]);
    for (uint64_t i = g->layers; i-- > 0;) {
        residual = block_backward(g, &g->layer[i], residual);
        drop(g, i > 0 ? &g->layer[i - 1].x2 : &g->x0);
    }
    scratch = make(g, 4 * g->h * g->T); /* summed over the batch */
    fresh = make(g, 4 * g->h * g->T);
    drop(g, &scratch);
    drop(g, &g->pos);
    accumulate(g, &g->gradient[1], fresh);
    scratch = make(g, 5 * 8 * g->N); /* indices sorted */
    fresh = make(g, 4 * g->vocab * g->h);
    drop(g, &scratch);
    drop(g, &residual);
    drop(g, &g->old_X);
    drop(g, &fresh);
    accumulate(g, &g->gradient[0], head);
}

static void adam(struct gpt *g, int *gradient, int state[3], uint64_t bytes)
{
    if (!state[0]) {
        state[0] = make(g, 4);
        state[1] = make(g, bytes);
        state[2] = make(g, bytes);
    }
    drop(g, gradient);
}

static void optimizer_step(struct gpt *g)
{
    int norms[6 * LAYERS_MAX + 3], n = 0, total;

    while (n < (int)(6 * g->layers + 3)) /* clip_grad_norm_ */
        norms[n++] = make(g, 4);
    total = make(g, 4 * (uint64_t)n);
    while (n > 0)
        drop(g, &norms[--n]);
    drop(g, &total);
    adam(g, &g->gradient[0], g->state[0], outer_bytes(g, 0));
    adam(g, &g->gradient[1], g->state[1], outer_bytes(g, 1));
    for (uint64_t i = 0; i < g->layers; i++)
        for (int k = 0; k < 6; k++)
            adam(g, &g->layer[i].gradient[k], g->layer[i].state[k], weight_bytes(g, k));
    adam(g, &g->gradient[2], g->state[2], outer_bytes(g, 2));
}

/* Peaks in GiB against the table of an independent emulator (its order of events
 * was simpler than the trace's; ours reserves the same within 0.1 %). */
static void a_step_of_nanogpt_needs_what_the_reference_says(void **state)
{
    static const struct {
        const char *name;
        uint64_t layers, h, heads, batch;
        int accum, steps, micro; /* measured: this micro-step of the last step, or all of it (0) */
        double allocated, reserved;
    } rows[] = {
        {"B 12, step 1, micro-step 1", 12, 768, 12, 12, 2, 1, 1, 11.49, 11.59},
        {"B 12, step 1, micro-step 2", 12, 768, 12, 12, 2, 1, 2, 11.95, 13.89},
        {"B 12, step 2, micro-step 1", 12, 768, 12, 12, 2, 2, 1, 12.41, 13.89},
        {"B 12, step 4, micro-step 2", 12, 768, 12, 12, 2, 4, 2, 12.87, 16.19},
        {"B 12, no accumulation", 12, 768, 12, 12, 1, 4, 1, 12.41, 13.89},
        {"B 4, accumulation 2", 12, 768, 12, 4, 2, 4, 0, 5.70, 6.71},
        {"medium, B 16, no accumulation", 24, 1024, 16, 16, 1, 4, 1, 27.47, 31.13},
    };

    (void)state;
    for (int expandable = 0; expandable < 2; expandable++)
        for (size_t r = 0; r < LENGTH(rows); r++) {
            struct gpt g = {
                .a = start((struct mfu_allocator_options){.expandable_segments = expandable}),
                .layers = rows[r].layers,
                .h = rows[r].h,
                .heads = rows[r].heads,
                .vocab = 50304,
                .T = 1024,
                .N = 1024 * rows[r].batch,
                .workspace_bytes = 8519680,
            };
            double allocated, reserved;

            set_up(&g);
            for (int step = 1; step <= rows[r].steps; step++) {
                for (int micro = 1; micro <= rows[r].accum; micro++) {
                    if (micro == rows[r].micro || micro == 1)
                        mfu_allocator_reset_peaks(g.a);
                    forward(&g);
                    backward(&g);
                    if (step == rows[r].steps && micro == rows[r].micro)
                        break;
                }
                if (step < rows[r].steps)
                    optimizer_step(&g);
            }
            allocated = (double)stats(g.a).peak_allocated_bytes / (double)GIB;
            reserved = (double)stats(g.a).peak_reserved_bytes / (double)GIB;
            print_message("%-30s %s allocated %6.2f (%5.2f), reserved %6.2f (%5.2f)\n", rows[r].name,
                          expandable ? "expandable" : "          ", allocated, rows[r].allocated, reserved,
                          rows[r].reserved);
            assert_near(allocated, rows[r].allocated, 0.01);
            /* The old logits split an expandable segment as well: what grows behind
             * them stays mapped. */
            if (expandable)
                assert_true(reserved < allocated * 1.2);
            else
                assert_near(reserved, rows[r].reserved, 0.10);
            finish(g.a);
        }
}

/* PyTorch 2.15 itself, fake tensors: gpt2-124m-bf16-flash-b8-a2 in
 * tests/oracle/torch_oracle.csv, without workspaces. Requested bytes, as blocks
 * of the large pool may be up to 1 MiB larger. */
static void the_trace_is_pytorchs(void **state)
{
    struct gpt g = {
        .a = start((struct mfu_allocator_options){0}),
        .layers = 12,
        .h = 768,
        .heads = 12,
        .vocab = 50304,
        .T = 1024,
        .N = 8 * 1024,
        .workspace_bytes = 512,
    };

    (void)state;
    set_up(&g);
    forward(&g);
    backward(&g);
    optimizer_step(&g);
    forward(&g);
    backward(&g);
    mfu_allocator_reset_peaks(g.a);
    forward(&g);
    assert_near((double)stats(g.a).peak_requested_bytes, 9173665280, 1e-4);
    backward(&g);
    assert_near((double)stats(g.a).peak_requested_bytes, 9944500224, 1e-4);
    assert_near((double)stats(g.a).requested_bytes, 2814292480, 1e-4);
    finish(g.a);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_rounded_to_512_bytes),
        cmocka_unit_test(sizes_are_rounded_to_parts_of_a_power_of_two),
        cmocka_unit_test(segments_are_of_2_or_20_mib_or_of_the_size),
        cmocka_unit_test(nothing_is_a_handle_too),
        cmocka_unit_test(the_small_pool_splits_down_to_512_bytes),
        cmocka_unit_test(the_smallest_sufficient_block_is_taken),
        cmocka_unit_test(of_equal_blocks_the_lowest_is_taken),
        cmocka_unit_test(free_neighbours_are_merged),
        cmocka_unit_test(streams_and_pools_do_not_share),
        cmocka_unit_test(cached_segments_go_back_before_memory_is_out),
        cmocka_unit_test(the_message_is_pytorchs),
        cmocka_unit_test(empty_cache_gives_back_what_is_not_split),
        cmocka_unit_test(blocks_beyond_the_largest_split_are_set_apart),
        cmocka_unit_test(one_candidate_only),
        cmocka_unit_test(blocks_set_apart_are_the_first_to_go),
        cmocka_unit_test(garbage_is_collected_by_age),
        cmocka_unit_test(impossible_options_are_refused),
        cmocka_unit_test(expandable_segments_grow_by_pages),
        cmocka_unit_test(best_fit_prefers_blocks_that_cannot_grow),
        cmocka_unit_test(free_pages_are_unmapped_and_filled_again),
        cmocka_unit_test(pages_move_between_streams),
        cmocka_unit_test(the_view_is_in_order_of_address),
        cmocka_unit_test(the_trace_is_pytorchs),
        cmocka_unit_test(a_step_of_nanogpt_needs_what_the_reference_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
