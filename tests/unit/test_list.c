/* test_list.c - lists grow, keep what they hold, and refuse what cannot be. */
#include "near.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/list.h"

static void what_was_there_stays(void **state)
{
    int *list = NULL, cap = 0, n = 0, grown = 0;

    (void)state;
    for (; n < 100000; n++) {
        int before = cap;

        assert_true(MFU_ROOM(list, n + 1, cap));
        assert_true(cap > n);
        grown += cap != before;
        list[n] = n;
    }
    for (int i = 0; i < n; i++)
        assert_int_equal(list[i], i);
    assert_true(grown <= 18); /* twice as long each time: linear in all */
    free(list);
}

static void many_at_once_fit(void **state)
{
    double *list = NULL;
    size_t cap = 0;

    (void)state;
    assert_true(MFU_ROOM(list, 1000, cap));
    assert_true(cap >= 1000);
    list[999] = 1;
    assert_true(MFU_ROOM(list, 1001, cap));
    assert_true(cap >= 2000);
    assert_true(MFU_ROOM(list, 5, cap));
    free(list);
}

static void too_many_leave_the_list_as_it_was(void **state)
{
    int *list = NULL, cap = 0;
    size_t large = 0;
    double *other = NULL;

    (void)state;
    assert_true(MFU_ROOM(list, 1, cap));
    list[0] = 7;
    assert_false(MFU_ROOM(list, (size_t)INT32_MAX + 1, cap));
    assert_int_equal(list[0], 7);
    assert_true(cap >= 1);
    assert_false(MFU_ROOM(other, SIZE_MAX, large));
    assert_null(other);
    assert_true(large == 0);
    free(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_there_stays),
        cmocka_unit_test(many_at_once_fit),
        cmocka_unit_test(too_many_leave_the_list_as_it_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
