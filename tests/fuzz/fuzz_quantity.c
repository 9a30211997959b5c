/*
 * fuzz_quantity.c - no text makes a quantity misbehave.
 *
 * The first byte chooses the dimension, the rest is the text.  What is refused
 * has a reason; what is read is finite, is read alike a second time and by
 * scan(), and survives being written and read again, to the digits shown.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/quantity.h"

#define REQUIRE(law) ((law) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_back(double first, enum mfu_dim dim)
{
    double shown = dim == MFU_RATIO ? 5.1e-3 : 5.1e-4, second, third;
    char text[MFU_QUANTITY_MAX], again[MFU_QUANTITY_MAX];
    struct mfu_error err = {0};

    mfu_quantity_format(text, first, dim);
    REQUIRE(strlen(text) < MFU_QUANTITY_MAX);
    REQUIRE(mfu_quantity_parse(text, dim, &second, &err) == 0);
    if (fabs(first) > 1e-290) /* less is written as nothing */
        REQUIRE(fabs(second - first) <= shown * fabs(first));
    /* What has been rounded once is not rounded further. */
    mfu_quantity_format(again, second, dim);
    REQUIRE(mfu_quantity_parse(again, dim, &third, &err) == 0);
    REQUIRE(fabs(third - second) <= 1e-12 * fabs(second));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum mfu_dim dim = size ? data[0] % MFU_DIM_END : MFU_COUNT;
    char *text = calloc(1, size + 1);
    struct mfu_error err = {0};
    double first, second;
    int used;

    if (!text)
        return 0;
    if (size)
        memcpy(text, data + 1, size - 1);
    if (mfu_quantity_parse(text, dim, &first, &err) < 0) {
        REQUIRE(err.text[0] != '\0');
    } else {
        REQUIRE(fabs(first) <= 1e30);
        REQUIRE(mfu_quantity_parse(text, dim, &second, NULL) == 0);
        REQUIRE(second == first);
        if (fabs(first) < 9e29) /* rounding up must stay in range */
            read_back(first, dim);
    }
    mfu_error_clear(&err);
    used = mfu_quantity_scan(text, dim, &second, &err);
    if (used < 0)
        REQUIRE(err.text[0] != '\0');
    else
        REQUIRE(used > 0 && (size_t)used <= strlen(text) && fabs(second) <= 1e30);
    free(text);
    return 0;
}
