/*
 * loss - cross-entropy of logits [rows, classes].
 *
 * PyTorch runs log_softmax (saved) and nll_loss; under autocast from 16-bit
 * logits the first stays in 16 bits and the second reads an fp32 copy.
 * `upcast` is logits.float() first, as Hugging Face and torchtitan do.
 * Backward: d nll is a tensor of zeros with one element set per row, then
 * log_softmax' writes d logits.  llm.c does all of it in place in one kernel,
 * Megatron in place in fp32, by one kernel for each line.
 * Objectives of two answers need log-probabilities instead, and those of the reference model.
 * The mean of squares (kind mse) reads the target beside its input, in fp32.
 */
#include <math.h>
#include <stddef.h>

#include "graph/builder.h"
#include "scenario/setting.h"

enum { UPCAST, KEEP_LOGITS, KIND, FP32_OUTPUTS };
#define BIASED 2 /* UPCAST: an fp32 buffer is added */
enum { CROSS_ENTROPY, MSE };
static const char *const kinds[] = {"cross_entropy", "mse", NULL};
enum { SAVED_LOG_PROBABILITIES, SAVED_NLL_INPUT };

static void row_kernel(struct mfu_builder *s, const char *suffix, double flops_per_element, double passes,
                       double launches, int n_in, const int *in, int out)
{
    int x = in[0];

    MFU_EMIT(s, MFU_LIST(n_in, in), MFU_VIEWS(out), .suffix = suffix, .kind = MFU_LOSS, .fusion = MFU_ROW,
             .flops = flops_per_element * mfu_view_elements(s, x), .launches = launches,
             .reread_bytes = (passes - 1) * mfu_view_bytes(s, x));
}

static int like(struct mfu_builder *s, int view, enum mfu_type type)
{
    return mfu_tensor_new(s, mfu_view_rows(s, view), mfu_view_columns(s, view), type, MFU_PART_LOGITS_LOSS);
}

/* PyTorch's F.cross_entropy of `x` into `out`, and what backward would need. */
static void cross_entropy(struct mfu_builder *s, int x, const char *softmax, const char *pick, int out,
                          int *log_probabilities, int *nll)
{
    *log_probabilities = like(s, x, mfu_view_type(s, x));
    row_kernel(s, softmax, 5, 3, 1, 1, &x, *log_probabilities); /* maximum, sum, result */
    *nll = s->numerics.widens ? mfu_emit_cast(s, *log_probabilities, MFU_F32) : *log_probabilities;
    MFU_EMIT(s, MFU_NO_VIEWS, MFU_VIEWS(out), /* one 32-byte sector of each row */ .suffix = pick, .kind = MFU_LOSS,
             .fusion = MFU_ROW, .flops = mfu_view_rows(s, x), .launches = 2,
             .extra_read_bytes = 32 * mfu_view_rows(s, x));
    mfu_tensor_extend(s, *nll);
}

/* What trainers compute beside the loss, without gradients: a cross-entropy
 * each (Composer's LanguageCrossEntropy, LanguagePerplexity). */
static void metrics(struct mfu_builder *s, int logits)
{
    for (int i = 0; i < s->config->setting[MFU_S_TRAIN_METRICS] && !s->recomputing; i++) {
        int out = mfu_tensor_new(s, mfu_view_rows(s, logits), 1, MFU_F32, MFU_PART_LOGITS_LOSS), unused[2];

        cross_entropy(s, logits, "metric", "metric_nll", out, &unused[0], &unused[1]);
    }
}

static int in_place(struct mfu_builder *s, const char *suffix, int x)
{
    int out = mfu_view_slice(s, x, mfu_view_rows(s, x), mfu_view_columns(s, x));

    row_kernel(s, suffix, 1, 1, 1, 1, &x, out);
    return out;
}

static void over_rows(struct mfu_builder *s, const char *suffix, int x)
{
    row_kernel(s, suffix, 1, 1, 1, 1, &x, mfu_tensor_new(s, mfu_view_rows(s, x), 1, MFU_F32, MFU_PART_LOGITS_LOSS));
}

/* Whether the loss is Megatron's, whose classes may be split. */
static bool is_parallel(const struct mfu_builder *s)
{
    return (s->whole_softmax && !s->eager_loss) || s->config->setting[MFU_S_LOSS_FUSION] != MFU_LOSS_UNFUSED;
}

/* Whether the model hands fp32 logits to the loss. */
static bool upcasts(const struct mfu_builder *s, const struct mfu_node *n)
{
    return n->op->attribute[UPCAST] == 1 || (n->op->attribute[UPCAST] > 0 && s->numerics.widens);
}

/* What backward needs: an fp32 copy that becomes the softmax where it lies, a kernel for each line, or with max and
 * float(), sub, exp and sum merged (Megatron-LM d98e8a64, tensor_parallel/cross_entropy.py, as since 2020, and
 * fusions/fused_cross_entropy.py); of TransformerEngine the gradient, where the logits were (d0067d0d,
 * pytorch/cross_entropy.py); the logits (flash-attn 2.6, losses/cross_entropy.py, inplace_backward). */
static int parallel_cross_entropy(struct mfu_builder *s, const struct mfu_node *n, int logits)
{
    double fusion = s->config->setting[MFU_S_LOSS_FUSION];
    int x;

    if (fusion == MFU_LOSS_TE) {
        x = mfu_view_slice(s, logits, mfu_view_rows(s, logits), mfu_view_columns(s, logits));
        row_kernel(s, "", 8, 2, 2, 1, &logits, x);
        return x;
    }
    if (fusion == MFU_LOSS_FLASH) {
        x = upcasts(s, n) ? mfu_emit_cast(s, logits, MFU_F32) : logits;
        over_rows(s, "", x);
        return x;
    }
    if (fusion == MFU_LOSS_NATIVE) {
        x = like(s, logits, MFU_F32);
        row_kernel(s, "maximum", 1, 1, 1, 1, &logits, x);
        x = in_place(s, "exp", x);
    } else {
        x = mfu_emit_cast(s, logits, MFU_F32);
        over_rows(s, "maximum", x);
        x = in_place(s, "exp", in_place(s, "subtract", x));
        over_rows(s, "sum", x);
    }
    return in_place(s, "divide", x);
}

static void forward_loss(struct mfu_builder *s, struct mfu_node *n, int logits)
{
    int x, log_probabilities, nll;

    if (s->runtime->fused_loss) { /* d logits over the logits */
        int d = mfu_view_slice(s, logits, mfu_view_rows(s, logits), mfu_view_columns(s, logits));

        row_kernel(s, "", 8, 1, 1, 1, &logits, d);
        mfu_node_save(n, d);
        mfu_tensor_retain(s, n->out);
        return;
    }
    if (is_parallel(s)) {
        mfu_node_save(n, parallel_cross_entropy(s, n, logits));
        return;
    }
    x = upcasts(s, n) ? mfu_emit_cast(s, logits, MFU_F32) : logits;
    cross_entropy(s, x, "log_softmax", "nll", n->out, &log_probabilities, &nll);
    mfu_tensor_retain(s, n->out); /* the caller wants it */
    MFU_SAVE(n, log_probabilities, nll);
}

static const struct mfu_objective_row *objective(const struct mfu_builder *s)
{
    return &mfu_objectives[(int)s->config->setting[MFU_S_OBJECTIVE]];
}

#define ENTROPY_ROWS 128 /* at once */

/* Entropies without gradients (TRL 1.10, entropy_from_logits()): the answers of several sequences are copied to lie
 * beside each other, then log_softmax, exp and their product, some rows at a time. */
static void entropy(struct mfu_builder *s, int logits)
{
    double rows = mfu_view_rows(s, logits), columns = mfu_view_columns(s, logits),
           bytes = mfu_type_bytes[mfu_view_type(s, logits)];
    int out = mfu_tensor_new(s, rows, 1, mfu_view_type(s, logits), MFU_PART_LOGITS_LOSS);
    bool copied = s->config->batch > 1;

    MFU_EMIT(s, MFU_VIEWS(logits), MFU_VIEWS(out), .suffix = "entropy", .kind = MFU_LOSS, .flops = 9 * rows * columns,
             .launches = copied + 4 * ceil(rows / ENTROPY_ROWS),
             .reread_bytes = (2 * copied + 9) * rows * columns * bytes,
             .temporary_bytes = ((copied ? rows : 0) + 3 * fmin(rows, ENTROPY_ROWS)) * columns * bytes);
}

/* Log-probabilities of tokens, a sequence at a time (TRL 1.10, f2cd5771, selective_log_softmax(): log_softmax of 16-bit
 * logits, whose last result Python holds while the next is made; of fp32 logits, which accelerate makes of what autocast
 * leaves, logsumexp, of whose backward they are the input).  What is saved, or MFU_NO_VIEW. */
static int log_probabilities(struct mfu_builder *s, const struct mfu_node *n, int logits)
{
    double all = mfu_view_elements(s, logits), row;
    bool wide;
    int out[2] = {n->out, MFU_NO_VIEW};

    if (n->op->attribute[FP32_OUTPUTS] > 0 && s->numerics.widens)
        logits = mfu_emit_cast(s, logits, MFU_F32);
    if (objective(s)->entropy)
        logits = in_place(s, "temperature", logits);
    wide = mfu_view_type(s, logits) == MFU_F32;
    row = all / s->config->batch * mfu_type_bytes[mfu_view_type(s, logits)];
    if (!wide && !s->referring)
        out[1] = like(s, logits, mfu_view_type(s, logits));
    MFU_EMIT(s, MFU_VIEWS(logits), MFU_LIST(out[1] == MFU_NO_VIEW ? 1 : 2, out),
             .suffix = wide ? "logsumexp" : "log_softmax", .kind = MFU_LOSS, .fusion = MFU_ROW, .flops = 5 * all,
             .launches = 3 * s->config->batch,
             .temporary_bytes = wide ? row
                 : s->referring      ? 2 * row
                                     : 0);
    if (objective(s)->entropy)
        entropy(s, logits);
    else if (!s->referring)
        s->returned = logits; /* until the reference's are there */
    return s->referring ? MFU_NO_VIEW : wide ? logits : out[1];
}

/* Whether the loss compares the log-probabilities of two answers, as TRL's trainers compute it. */
static bool compares(const struct mfu_builder *s)
{
    return mfu_objectives[(int)s->config->setting[MFU_S_OBJECTIVE]].log_probabilities && !s->runtime->fused_loss
        && !is_parallel(s) && s->config->setting[MFU_S_LOSS_CHUNKS] == 1;
}

/* A pass over all elements, a sequence at a time. */
static int pass(struct mfu_builder *s, const char *suffix, double temporary_bytes, int x, int out)
{
    MFU_EMIT(s, MFU_VIEWS(x), MFU_VIEWS(out), .suffix = suffix, .kind = MFU_LOSS, .fusion = MFU_ROW,
             .flops = mfu_view_elements(s, out), .launches = s->config->batch, .temporary_bytes = temporary_bytes);
    return out;
}

/* The gradients of all sequences, one tensor of them, that of the picked ones beside it, and that of the last
 * token's logits, which nobody reads. */
static int log_probabilities_grad(struct mfu_builder *s, int saved, int logits)
{
    bool wide = mfu_view_type(s, saved) == MFU_F32;
    double rows = mfu_view_rows(s, saved), columns = mfu_view_columns(s, saved);
    enum mfu_type type = mfu_view_type(s, saved);
    int d = wide ? like(s, saved, type) : mfu_view_slice(s, saved, rows, columns);

    /* Exponentials and their products, of one sequence. */
    d = pass(s, wide ? "logsumexp_grad" : "log_softmax_grad",
             wide ? 2 * rows / s->config->batch * columns * mfu_type_bytes[type] : 0, saved, d);
    d = pass(s, "stack", 0, d, like(s, d, type));
    if (wide) {
        int picked = like(s, d, type), in[2] = {d, picked}, sum = mfu_view_slice(s, d, rows, columns);

        pass(s, "gather_grad", 0, MFU_NO_VIEW, picked);
        row_kernel(s, "add", 1, 1, 1, 2, in, sum);
        d = sum;
    }
    d = pass(s, "slice_grad", 0, d, like(s, d, type));
    if (objective(s)->entropy) { /* logits.div_() wrote into a view: CopySlices copies the gradient, and its slice */
        int whole = pass(s, "copy_grad", 0, d, like(s, d, type)),
            of[2] = {pass(s, "clone_grad", 0, whole, like(s, d, type)), d};

        row_kernel(s, "temperature_grad", 1, 1, 1, 2, of, like(s, d, type));
        d = in_place(s, "put_grad", whole);
    }
    return mfu_emit_cast(s, d, mfu_view_type(s, logits));
}

static void squares(struct mfu_builder *s, const char *suffix, int x, int out)
{
    double elements = mfu_view_elements(s, x);

    MFU_EMIT(s, MFU_VIEWS(x), MFU_VIEWS(out), .suffix = suffix, .kind = MFU_LOSS, .fusion = MFU_MAP,
             .flops = 3 * elements, .extra_read_bytes = elements * mfu_type_bytes[MFU_F32]);
}

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    int logits = mfu_node_input(s, n, 0);

    n->out = mfu_tensor_new(s, mfu_view_rows(s, logits), 1, MFU_F32, MFU_PART_LOGITS_LOSS);
    if (n->op->attribute[KIND] == MSE) {
        logits = mfu_node_save(n, mfu_emit_cast(s, logits, MFU_F32));
        squares(s, "squares", logits, like(s, logits, MFU_F32));
        row_kernel(s, "mean", 1, 1, 1, 1, &logits, n->out);
        return;
    }
    if (mfu_tokens_first(s))
        logits = mfu_emit_laid(s, "transpose", 1, mfu_view_rows(s, logits), mfu_view_columns(s, logits), 1, &logits);
    if (s->referring || compares(s)) {
        mfu_node_save(n, log_probabilities(s, n, logits));
        if (!s->referring)
            mfu_tensor_retain(s, n->out);
        return;
    }
    if (n->op->attribute[UPCAST] >= BIASED && s->numerics.widens) /* the model's logits = logits + bias */
        logits = mfu_emit_cast(s, logits, MFU_F32);
    forward_loss(s, n, logits);
    if (n->op->attribute[FP32_OUTPUTS] == 0 || !s->numerics.widens)
        s->returned = logits;
    else if (s->runtime->scopes)
        s->fp32_outputs = logits;
    if (n->op->attribute[KEEP_LOGITS] > 0)
        mfu_keep_logits(s, logits);
    metrics(s, logits);
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    int logits = mfu_node_input(s, n, 0), log_probabilities = n->saved[SAVED_LOG_PROBABILITIES];
    int d, in[2];

    if (n->op->attribute[KIND] == MSE) {
        d = like(s, log_probabilities, MFU_F32);
        squares(s, "grad", n->saved[0], d);
        mfu_grad_add(s, n, 0, mfu_emit_cast(s, d, mfu_view_type(s, logits)));
        return;
    }
    if (s->runtime->fused_loss) {
        mfu_grad_add(s, n, 0, n->saved[0]);
        return;
    }
    if (compares(s)) {
        mfu_grad_add(s, n, 0, log_probabilities_grad(s, n->saved[0], logits));
        return;
    }
    if (is_parallel(s)) { /* times the loss's own */
        d = in_place(s, "grad", n->saved[0]);
        mfu_grad_add(s, n, 0, mfu_emit_cast(s, d, mfu_view_type(s, logits)));
        return;
    }
    if (s->runtime->gradients_at_end && n->op->attribute[KEEP_LOGITS] > 0) {
        /* The compiled graph also returned the logits: autograd hands it a
         * gradient of zeros for them. */
        int zeros = like(s, logits, mfu_view_type(s, logits));

        MFU_EMIT(s, MFU_NO_VIEWS, MFU_VIEWS(zeros), .suffix = "zeros", .kind = MFU_LOSS);
        n->gradient = zeros;
    }
    d = like(s, n->saved[SAVED_NLL_INPUT], mfu_view_type(s, n->saved[SAVED_NLL_INPUT]));
    MFU_EMIT(s, MFU_NO_VIEWS, MFU_VIEWS(d), .suffix = "nll_grad", .kind = MFU_LOSS, .fusion = MFU_MAP,
             .launches = 2 /* zeros, then one element per row */);
    mfu_tensor_extend(s, n->saved[SAVED_NLL_INPUT]);
    d = mfu_emit_cast(s, d, mfu_view_type(s, log_probabilities));
    in[0] = d, in[1] = log_probabilities;
    d = like(s, d, mfu_view_type(s, d));
    row_kernel(s, "log_softmax_grad", 4, 2, 1, 2, in, d); /* sum, result */
    d = mfu_emit_cast(s, d, mfu_view_type(s, logits));
    if (n->gradient != MFU_NO_VIEW) {
        int sum = mfu_view_slice(s, d, mfu_view_rows(s, d), mfu_view_columns(s, d));

        in[0] = d, in[1] = n->gradient;
        MFU_EMIT(s, MFU_LIST(2, in), MFU_VIEWS(sum), .suffix = "add", .kind = MFU_LOSS, .fusion = MFU_MAP);
        d = sum;
    }
    mfu_grad_add(s, n, 0, d);
}

const struct mfu_primitive mfu_primitive_loss = {
    .name = "loss",
    .summary = "cross-entropy of the logits, or mean of squares",
    .attributes =
        {
            [UPCAST] = {"upcast", "0", NULL,
                        "whether the logits are made fp32 first; 2: under autocast, by an fp32 buffer that is added"},
            [KEEP_LOGITS] = {"keep_logits", "0", NULL,
                             "whether the caller keeps the logits until the next forward pass"},
            [FP32_OUTPUTS] = {"fp32_outputs", "0", NULL, "whether 16-bit outputs leave autocast as fp32 (accelerate)"},
            [KIND] = {"kind", "cross_entropy", kinds, "of what"},
        },
    .inputs = {1, 1},
    .traits = MFU_ENDS_IN_LOSS,
    .width = MFU_WIDTH_ONE,
    .forward = forward,
    .backward = backward,
};
