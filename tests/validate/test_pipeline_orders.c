/*
 * What each rank runs, against the trainers' own code: PyTorch's schedules and
 * DeepSeek's DualPipe (tests/oracle/pipeline_orders.py).
 */
#include "near.h"
#include "owned.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/csv.h"
#include "base/error.h"
#include "orders.h"

static const char *const passes[] = {"F", "B", "W", "BW", "FBW"};

static void write_order(const struct mfu_pipeline_layout *layout, int rank, char *text, size_t size)
{
    int n;
    uint16_t *all = mfu_written_out(layout, rank, &n);
    size_t at = 0;

    *text = '\0';
    for (int i = 0; i < n; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%s%d", i ? " " : "", passes[all[i] % MFU_PASS_COUNT],
                               all[i] / MFU_PASS_COUNT);
    free(all);
}

static void every_order_is_the_trainers(void **state)
{
    static char text[1 << 16];
    ARENA arena = {0};
    struct mfu_error err = {0};
    struct mfu_csv csv;

    (void)state;
    assert_int_equal(mfu_csv_read(MFUPLAN_SOURCE_DIR "/tests/oracle/pipeline_orders.csv", &arena, &csv, &err), 0);
    assert_true(csv.n_rows > 200);
    for (size_t i = 0; i < csv.n_rows; i++) {
        char *const *cell = csv.cells + i * csv.n_columns;
        struct mfu_pipeline_layout layout = {.schedule = schedule_named(cell[1]),
                                             .pp = atoi(cell[2]),
                                             .vpp = atoi(cell[3]),
                                             .microbatches = atoi(cell[4])};

        /* PyTorch's groups, which are Megatron-LM's when pp divides the microbatches. */
        if (layout.microbatches % layout.pp != 0)
            layout.group =
                layout.microbatches / (layout.microbatches > layout.pp ? layout.microbatches / layout.pp : 1);
        assert_non_null(layout.schedule);
        assert_int_equal(mfu_pipeline_check(&layout, &err), 0);
        write_order(&layout, atoi(cell[5]), text, sizeof text);
        if (strcmp(text, cell[6]) != 0)
            print_error("%s pp %s vpp %s, %s microbatches, rank %s:\n", cell[1], cell[2], cell[3], cell[4], cell[5]);
        assert_string_equal(text, cell[6]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_order_is_the_trainers)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
