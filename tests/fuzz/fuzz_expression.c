/*
 * fuzz_expression.c - no text makes the evaluator misbehave.
 *
 * The first byte chooses the dimension of bare literals, the rest is the text.
 * Names a to h are known.  What is refused has a reason, and a place within
 * the text; what is compiled reads only known slots, has the same value each
 * time, and the same value when it stands in brackets.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/expression.h"

#define REQUIRE(law) ((law) ? (void)0 : abort())

static const double values[] = {0, 1, -1, 0.5, 768, 1e12, -INFINITY, NAN};

#define N_VALUES ((int)(sizeof values / sizeof values[0]))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int resolve(void *context, const char *name, struct mfu_error *err)
{
    (void)context;
    if (name[0] >= 'a' && name[0] < 'a' + N_VALUES && name[1] == '\0')
        return name[0] - 'a';
    return mfu_fail(err, MFU_EINPUT, "'%s' is not a name", name);
}

static int alike(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* Computing with names is computing with their values, and brackets around it
 * all change nothing, unless they are one level too many. */
static void check_value(struct mfu_arena *arena, const char *text, const struct mfu_expression *e, enum mfu_dim dim)
{
    double value = mfu_expression_eval(e, values), constant;
    size_t length = strlen(text);
    struct mfu_expression *same;
    char *bracketed;
    int slots[N_VALUES];
    size_t n = mfu_expression_slots(e, slots, N_VALUES);

    REQUIRE(n <= N_VALUES);
    for (size_t i = 0; i < n; i++)
        REQUIRE(slots[i] >= 0 && slots[i] < N_VALUES);
    REQUIRE(alike(mfu_expression_eval(e, values), value));
    if (mfu_expression_constant(e, &constant))
        REQUIRE(n == 0 && alike(constant, value));
    else
        REQUIRE(n > 0);
    bracketed = mfu_arena_alloc(arena, length + 3, 1);
    if (!bracketed)
        return;
    snprintf(bracketed, length + 3, "(%s)", text);
    same = mfu_expression_compile(arena, bracketed, dim, resolve, NULL, NULL);
    if (same)
        REQUIRE(alike(mfu_expression_eval(same, values), value));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum mfu_dim dim = size ? data[0] % MFU_DIM_END : MFU_COUNT;
    struct mfu_arena arena = {0};
    struct mfu_error err = {0};
    struct mfu_expression *e;
    char *text = calloc(1, size + 1);

    if (!text)
        return 0;
    if (size)
        memcpy(text, data + 1, size - 1);
    e = mfu_expression_compile(&arena, text, dim, resolve, NULL, &err);
    if (e) {
        REQUIRE(err.text[0] == '\0');
        check_value(&arena, text, e, dim);
    } else {
        REQUIRE(err.text[0] != '\0' && err.column >= 0);
        REQUIRE((size_t)err.column <= strlen(text) + 1);
    }
    mfu_arena_free(&arena);
    free(text);
    return 0;
}
