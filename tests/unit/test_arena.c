/* test_arena.c - memory that is released all at once. */
#include "near.h"
#include "owned.h"

#include <string.h>

#include "base/arena.h"

static void assert_zero(const unsigned char *room, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_int_equal(room[i], 0);
}

static void things_do_not_overlap_and_are_aligned_and_zero(void **state)
{
    ARENA arena = {0};
    unsigned char *all[300];

    (void)state;
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < LENGTH(all); i++) {
            all[i] = mfu_arena_alloc(&arena, i, 7);
            assert_non_null(all[i]);
            assert_int_equal((uintptr_t)all[i] % _Alignof(max_align_t), 0);
            assert_zero(all[i], 7 * i);
            memset(all[i], (int)(i % 255 + 1), 7 * i);
        }
        for (size_t i = 0; i < LENGTH(all); i++)
            for (size_t j = 0; j < 7 * i; j++)
                assert_int_equal(all[i][j], i % 255 + 1);
        mfu_arena_reset(&arena);
    }
}

static void more_than_there_is_gives_null(void **state)
{
    ARENA arena = {0};

    (void)state;
    assert_null(mfu_arena_alloc(&arena, SIZE_MAX / 2, 3));
    assert_null(mfu_arena_alloc(&arena, 1, SIZE_MAX));
    assert_null(mfu_arena_alloc(&arena, SIZE_MAX - 20, 1));
    assert_null(mfu_arena_copy(&arena, "", SIZE_MAX));
    assert_non_null(mfu_arena_alloc(&arena, 0, SIZE_MAX));
}

static void a_copy_ends_where_it_is_told_to(void **state)
{
    ARENA arena = {0};

    (void)state;
    assert_string_equal(mfu_arena_copy(&arena, "n_embd", 1), "n");
    assert_string_equal(mfu_arena_copy(&arena, "n_embd", 6), "n_embd");
    assert_string_equal(mfu_arena_copy(&arena, NULL, 0), "");
}

/* Once a plan fitted, the next one like it allocates nothing. */
static void a_reset_keeps_room_for_as_much_again(void **state)
{
    struct mfu_arena arena = {0};
    struct mfu_arena_block *block = NULL;

    (void)state;
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 1000; i++)
            assert_non_null(mfu_arena_alloc(&arena, 5, 100));
        if (round > 2)
            assert_ptr_equal(arena.blocks, block);
        block = arena.blocks;
        mfu_arena_reset(&arena);
    }
    mfu_arena_free(&arena);
    assert_null(arena.blocks);
    mfu_arena_free(&arena);
    mfu_arena_reset(&arena);
    assert_non_null(mfu_arena_alloc(&arena, 1, 1));
    mfu_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(things_do_not_overlap_and_are_aligned_and_zero),
        cmocka_unit_test(more_than_there_is_gives_null),
        cmocka_unit_test(a_copy_ends_where_it_is_told_to),
        cmocka_unit_test(a_reset_keeps_room_for_as_much_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
