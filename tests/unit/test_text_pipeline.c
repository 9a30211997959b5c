/* test_text_pipeline.c - schedules drawn with characters. */
#include "near.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/text/pipeline.h"
#include "report/text/text.h"
#include "orders.h"
#include "simulate/pipeline.h"

static const double ones[] = {1, 1, 1, 1, 1, 1, 1, 1};

/* The picture of a schedule with equal stages; the caller frees it. */
static char *drawn(const struct mfu_term *t, const char *schedule, int pp, int vpp, int microbatches, double from,
                   double to, int columns)
{
    struct mfu_error err = {0};
    struct mfu_pipeline *pipeline = mfu_pipeline_new(&err);
    struct mfu_pipeline_layout l = {schedule_named(schedule), pp, vpp, microbatches, .group = 0};
    struct mfu_pipeline_step step;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_int_equal(mfu_pipeline_run(pipeline, &l, &(struct mfu_pipeline_costs){.f_s = ones, .b_s = ones, .w_s = ones},
                                      MFU_PIPELINE_RECORD, &step, &err),
                     0);
    mfu_text_pipeline(out, t, &step, from, to > 0 ? to : step.makespan_s, columns);
    fclose(out);
    mfu_pipeline_free(pipeline);
    return text;
}

static const struct mfu_term plain = {.width = 80, .height = 24};

static void blocks_have_letters_and_numbers(void **state)
{
    char *text = drawn(&plain, "zb-h1", 2, 1, 2, 0, 0, 9 + 14);

    (void)state;
    assert_string_equal(text,
                        "stage 1 |F1F2..I1W1I2W2\n"
                        "stage 2 |..F1I1F2I2W1W2\n"
                        "F forward   I gradient of the input   W gradients of the weights\n"
                        ". idle, 14.3 %   a column: 500 ms\n");
    free(text);
    text = drawn(&plain, "1f1b", 2, 1, 2, 0, 0, 9 + 36);
    assert_non_null(strstr(text, "stage 1 |F1--F2--........B1------....B2------\n"));
    assert_non_null(strstr(text, "stage 2 |....F1--B1------F2--B2------........\n"));
    free(text);
}

/* Columns longer than blocks show what takes most of them. */
static void narrow_pictures_keep_the_shares(void **state)
{
    char *text = drawn(&plain, "gpipe", 2, 1, 8, 0, 0, 9 + 9);

    (void)state;
    assert_non_null(strstr(text, "stage 1 |FFF.BBBBB\n"));
    free(text);
}

static void chunks_and_merged_passes(void **state)
{
    char *text = drawn(&plain, "dualpipev", 1, 2, 2, 0, 0, 9 + 24);

    (void)state;
    assert_non_null(strstr(text, "stage 1 |F1f1F2b1--x2----b2--I2W2\n"));
    assert_non_null(strstr(text, "X forward merged with backward"));
    assert_non_null(strstr(text, "small letters: odd chunks"));
    free(text);
}

/* A part of the step is what the whole shows there; blocks that it cuts begin with their letter. */
static void a_part_of_the_step(void **state)
{
    char *text = drawn(&plain, "1f1b", 2, 1, 4, 3, 9, 9 + 12);

    (void)state;
    assert_non_null(strstr(text, "stage 1 |..B1--F3B2--\n"));
    assert_non_null(strstr(text, "stage 2 |B1F2B2--F3B3\n"));
    free(text);
}

/* No line is wider than asked for, in any character set. */
static void rows_have_the_width(void **state)
{
    const struct mfu_term fine = {.utf8 = true, .width = 80, .height = 24};

    (void)state;
    for (int columns = 13; columns <= 120; columns += 9)
        for (size_t i = 0; i < mfu_schedule_count; i++) {
            char *text =
                drawn(i % 2 ? &fine : &plain, mfu_schedules[i]->name, 2, mfu_schedules[i]->least_vpp, 6, 0, 0, columns);
            char *line = strtok(text, "\n");

            for (int rank = 0; rank < 2; rank++, line = strtok(NULL, "\n")) {
                assert_true(strncmp(line, "stage", 5) == 0);
                assert_int_equal(mfu_text_width(line), columns);
            }
            free(text);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_have_letters_and_numbers),
        cmocka_unit_test(narrow_pictures_keep_the_shares),
        cmocka_unit_test(chunks_and_merged_passes),
        cmocka_unit_test(a_part_of_the_step),
        cmocka_unit_test(rows_have_the_width),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
