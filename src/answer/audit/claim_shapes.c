/*
 * claim_shapes.c - sizes that are told as a shape, "4096x11008": what their product is depends on the noun.
 *
 * A product of matrices has three sizes, a matrix or an embedding two.  The one figure of the sentence that such a
 * thing has is its own; where there are two of a kind, or it is told of several, nothing is bound.
 */
#include "answer/audit/reading.h"

#include <stdlib.h>
#include <string.h>

#define SIZES 4

// clang-format off
static const char products[] = "matrix multiplication|matrix multiply|matrix product|matmul|gemm";
static const char embeddings[] = "unembedding|vocabulary|embedding|lm head|vocab|wte";
static const char matrices[] = "linear layer|projection|adapter|matrix|linear|weight|lora";
/* What is told of several, or of more than one pass. */
static const char several[] = "backward|across|/layer|/block|every|total|layer|block|both|all";

/* What has no shape: so many sequences of so many tokens. */
static const char counted[] = "sequence|sample|token|image|step|node|gpu";

// clang-format on

static bool any_of(const char *list, const char *from, const char *end)
{
    for (const char *p = from; p < end; p++)
        if ((!mfu_claim_letter(p[-1]) || !mfu_claim_letter(*p)) && mfu_claim_one_of(list, p))
            return true;
    return false;
}

/* Sizes between "x" or "by", one behind the other; behind the last. */
static const char *read_sizes(const char *p, double size[SIZES], int *n)
{
    for (*n = 0; *n < SIZES && mfu_digit(*p); p = mfu_claim_blanks(p)) {
        char *end;

        size[(*n)++] = (double)strtoull(p, &end, 10);
        p = mfu_claim_blanks(end);
        if (*p == '(' || *p == ')')
            p = mfu_claim_blanks(p + 1);
        if (*p != 'x' && !mfu_claim_stands(p, "by") && !mfu_claim_stands(p, "time"))
            return end;
        p = mfu_claim_blanks(*p == 'x' ? p + 1 : mfu_claim_word_end(p));
        p += *p == '(';
    }
    return p;
}

static void size(struct mfu_reading *r, int kind, double value)
{
    if (!mfu_claim_told(r->audit, kind))
        mfu_claim_add(r->audit, kind, MFU_BEFORE, value, value, "stated", "%s %.0f", mfu_quantity_rows[kind].name,
                      value);
}

/* The sentence around `p`. */
static void sentence(const struct mfu_reading *r, const char **from, const char **end)
{
    while (*from > r->t.text + 1 && !strchr(";:", (*from)[-1]) && !((*from)[-1] == ' ' && (*from)[-2] == '.'))
        --*from;
    while (**end && !strchr(";:", **end) && !((*end)[0] == '.' && (*end)[1] == ' '))
        ++*end;
}

void mfu_claim_find_shapes(struct mfu_reading *r)
{
    for (const char *p = r->t.text + 1, *behind; *p; p = behind) {
        double of[SIZES];
        const char *from = p, *end = p;
        bool embedding;
        int n;

        behind = p + 1;
        if (!mfu_digit(*p) || mfu_claim_letter(p[-1]) || p[-1] == '.')
            continue;
        behind = read_sizes(p, of, &n);
        if (n == 2 && of[0] == of[1] && mfu_claim_stands(mfu_claim_blanks(behind), "sequence")
            && mfu_claim_says(&r->t, "patch")) { /* "a 1024x1024 image" */
            size(r, MFU_Q_IMAGE, of[0]);
            mfu_claim_use(&r->t, p, behind);
            mfu_claim_take(&r->t, p, behind);
        }
        if (n < 2 || any_of(counted, behind, behind + 2) || mfu_claim_letter(*behind)
            || (*behind == '.' && mfu_digit(behind[1])))
            continue;
        sentence(r, &from, &end);
        embedding = any_of(embeddings, from, end);
        if (any_of(products, from, end)) {
            if (n != 3 && !(n == 4 && of[1] == of[2]))
                continue;
            size(r, MFU_Q_ROWS, of[0]);
            size(r, MFU_Q_INNER, of[1]);
            size(r, MFU_Q_COLUMNS, of[n - 1]);
        } else if (n == 2 && (embedding || any_of(matrices, from, end))) {
            size(r, MFU_Q_ROWS, of[0]);
            size(r, MFU_Q_COLUMNS, of[1]);
            if (embedding) {
                size(r, MFU_Q_VOCAB, of[0] > of[1] ? of[0] : of[1]);
                size(r, MFU_Q_N_EMBD, of[0] > of[1] ? of[1] : of[0]);
            }
        } else
            continue;
        mfu_claim_use(&r->t, p, behind);
        mfu_claim_take(&r->t, p, behind);
        if (!any_of(several, from, end))
            r->thing = n > 2                                       ? MFU_OF_PRODUCT
                : mfu_claim_find_word(&r->t, (char *)from, "rank") ? MFU_OF_ADAPTER
                : embedding                                        ? MFU_OF_EMBEDDING
                                                                   : MFU_OF_MATRIX;
    }
}
