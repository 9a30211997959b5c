/*
 * conv - a convolution over the positions of a sample: an image's pixels, a sound's frames.
 *
 *     forward   [positions out, width] = [., taps x in / groups] [., width]
 *     dgrad     [positions in, in]     = [., taps x width / groups] [., in]
 *     wgrad     [width, taps x in / groups], over positions out
 *
 * Implicit products: the windows are never written, so that traffic is that of input, result and weight.
 * A row is a position, its columns are the channels.  cuDNN's tensor-core kernels want them so in memory
 * (channels last); otherwise each pass copies its two operands there and back.  Without an input it reads
 * what the loader brings.  A weight that is standardised (BiT) passes through a norm of its own first.  Groups of many
 * channels have no such kernels in channels last (cuDNN 8.3 on GeForce of Ampere): both tensors of a pass go to fp32 in
 * the other layout and back, by a kernel that is slow.
 *
 * In fp32, on the CUDA cores, cuDNN takes Winograd's way through windows of 3 x 3 with a stride of one: four results come from
 * sixteen products instead of 36 (F(2x2, 3x3); Lavin and Gray 2015, arXiv 1509.09308), so that the arithmetic is that of
 * sixteen products of a quarter of the positions.  The gradient of the weight has none (cudnn.h: "not implemented" beside
 * CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD).
 */
#include <math.h>
#include <stddef.h>

#include "descriptor/gpu.h"
#include "graph/builder.h"
#include "scenario/setting.h"

enum { WIDTH, TAPS, STRIDE, GROUPS, BIAS, CHANNELS, POSITIONS, CHANNELS_LAST, CAUSAL, STANDARDISED, RESIZED };
enum { SAVED_INPUT, SAVED_WEIGHT };

static double channels(const struct mfu_operation *op)
{
    return op->in_width[0] > 0 ? op->in_width[0] : op->attribute[CHANNELS];
}

static struct mfu_weights params(const struct mfu_operation *op)
{
    double weight = op->attribute[WIDTH] * op->attribute[TAPS] * channels(op) / op->attribute[GROUPS];
    double bias = op->attribute[BIAS] > 0 ? op->attribute[WIDTH] : 0;

    if (op->attribute[STANDARDISED] > 1)
        weight += op->attribute[WIDTH];
    return (struct mfu_weights){.weight = weight, .bias = bias, .active = weight + bias};
}

/* Bytes of a tensor of that many rows and columns, as they are multiplied. */
static double bytes(const struct mfu_builder *s, double rows, double columns)
{
    return rows * columns * mfu_type_bytes[s->numerics.compute];
}

#define WINOGRAD_TAPS 9      /* of its windows, */
#define WINOGRAD_RESULTS 4   /* that give so many results together, */
#define WINOGRAD_PRODUCTS 16 /* of so many products */

/* How one pass multiplies. */
struct way {
    enum mfu_peak math;
    bool winograd;
    bool of_weight; /* gives the weight's gradient */
};

/* Of a pass; the weight's gradient has no Winograd.  TF32 only allows tensor cores: cuDNN takes what needs less time, here that of the
 * arithmetic by the card's peaks. */
static struct way way(const struct mfu_builder *s, const struct mfu_node *n, bool of_weight)
{
    const struct mfu_gpu *gpu = s->config->gpu;
    bool winograd = !of_weight && n->op->attribute[TAPS] == WINOGRAD_TAPS && n->op->attribute[STRIDE] == 1
        && n->op->attribute[GROUPS] == 1;
    double fewer = winograd ? (double)(WINOGRAD_TAPS * WINOGRAD_RESULTS) / WINOGRAD_PRODUCTS : 1;
    bool fp32 = s->numerics.math == MFU_PEAK_FP32
        || (s->numerics.math == MFU_PEAK_TF32 && gpu
            && gpu->peak_flops[MFU_PEAK_TF32] <= fewer * gpu->peak_flops[MFU_PEAK_FP32]);

    return (struct way){fp32 ? MFU_PEAK_FP32 : s->numerics.math, fp32 && winograd, of_weight};
}

/* Windows of channels that do not meet, but of a mixer's, which has a kernel of its own (causal_conv1d). */
static bool depthwise(const struct mfu_node *n)
{
    return !(n->op->attribute[CAUSAL] > 0) && n->op->attribute[GROUPS] > 1
        && n->op->attribute[GROUPS] == channels(n->op) && n->op->attribute[GROUPS] == n->op->attribute[WIDTH];
}

#define FIRST_DEPTHWISE                                                                                                \
    2022 /* year of PyTorch 1.11: of fp16 cuDNN has all of these but in channels last, too (#58749) */
#define FIRST_UNROLLED 2025 /* and of those of 5 x 5 of its own (2.4 and 2.5, #125362, #129609) */
#define SMALL_TAPS 9
#define MIDDLE_TAPS 25

/* Which kernel has these windows (torch 2.6 native/Convolution.cpp: use_cudnn_depthwise; native/cuda/DepthwiseConv2d.cu:
 * sizes of its templates, of which the weight's gradient has none). */
static enum mfu_depthwise window(const struct mfu_builder *s, const struct mfu_node *n, bool of_weight)
{
    double year = s->config->setting[MFU_S_SOFTWARE], taps = n->op->attribute[TAPS];
    bool half = mfu_type_bytes[s->numerics.compute] == 2, fp16 = s->numerics.math == MFU_PEAK_FP16;
    bool cudnn = n->op->attribute[CHANNELS_LAST] > 0
        || (fp16 && taps <= (year > 0 && year < FIRST_DEPTHWISE ? SMALL_TAPS : MIDDLE_TAPS));

    if (!depthwise(n))
        return MFU_NOT_DEPTHWISE;
    return half && cudnn                                                         ? MFU_DEPTHWISE_HALF
        : of_weight                                                              ? MFU_DEPTHWISE_GRADIENT
        : taps <= (year > 0 && year < FIRST_UNROLLED ? SMALL_TAPS : MIDDLE_TAPS) ? MFU_DEPTHWISE_UNROLLED
                                                                                 : MFU_DEPTHWISE_LOOPED;
}

/* A product that reads and writes whole tensors instead of windows; channels are filled up to eight. */
static struct mfu_kernel product(const struct mfu_builder *s, const struct mfu_node *n, double m, double width,
                                 double k, struct way way, double read, double written)
{
    double groups = n->op->attribute[GROUPS], e = mfu_type_bytes[s->numerics.compute];
    struct mfu_kernel g = way.winograd
        ? mfu_kernel_gemm(way.math, m / WINOGRAD_RESULTS, width, k / WINOGRAD_TAPS, WINOGRAD_PRODUCTS, e, e, false)
        : mfu_kernel_gemm(way.math, m, width / groups, k, groups, e, e, false);

    g.winograd = way.winograd;
    g.depthwise = window(s, n, way.of_weight);
    g.read_bytes = read;
    g.write_bytes = written;
    g.aligned = true;
    return g;
}

/* Channels of a group above which cuDNN has no fp16 kernels in channels last; weight gradients need theirs from fewer on.
 * The kernels that stand in are seen in pytorch#54324 (cuDNN 8.0); which groups have their own is only seen in the times of
 * timm's models on an RTX 3090 (PyTorch 1.12), in no kernel's.  Groups of up to 32 channels are fast on V100 and A100
 * (NVIDIA DeepLearningExamples, ResNeXt), and cuDNN 8.7 is faster (pytorch#95604). */
#define WIDEST_GROUP 32
#define WIDEST_GROUP_WGRAD 8
#define FIRST_WIDE_GROUPS 2023 /* year of PyTorch 2.0, whose cuDNN is 8.7 */
#define WITHOUT_THEM 8.6       /* compute capability */

static bool lacks_kernel(const struct mfu_builder *s, const struct mfu_node *n, double widest)
{
    const struct mfu_gpu *gpu = s->config->gpu;
    double year = s->config->setting[MFU_S_SOFTWARE], groups = n->op->attribute[GROUPS];

    return groups > 1 && channels(n->op) / groups > widest && gpu && gpu->compute_capability == WITHOUT_THEM
        && mfu_type_bytes[s->numerics.compute] == 2 && year > 0 && year < FIRST_WIDE_GROUPS;
}

/* To the layout of the kernel and back: both tensors of a pass, read and written. */
static void transpose(struct mfu_builder *s, const struct mfu_node *n, const char *suffix, struct way way, int a, int b,
                      double widest)
{
    double elements = mfu_view_elements(s, a) + mfu_view_elements(s, b);
    double both = elements * mfu_type_bytes[s->numerics.compute];
    bool last = n->op->attribute[CHANNELS_LAST] > 0;

    if (way.math == MFU_PEAK_FP32 || depthwise(n) || (last && !lacks_kernel(s, n, widest)))
        return;
    if (last) {
        both = elements * mfu_type_bytes[MFU_F32];
        MFU_EMIT(s, MFU_NO_VIEWS, MFU_NO_VIEWS, .suffix = suffix, .kind = MFU_COPY, .traffic = MFU_C_DRAM_TRANSPOSE,
                 .extra_read_bytes = both + elements * mfu_type_bytes[s->numerics.compute], .temporary_bytes = both,
                 .launches = 2);
        return;
    }
    MFU_EMIT(s, MFU_NO_VIEWS, MFU_NO_VIEWS, .suffix = suffix, .kind = MFU_COPY, .extra_read_bytes = 2 * both,
             .temporary_bytes = both, .launches = 2);
}

static int input(struct mfu_builder *s, struct mfu_node *n)
{
    double rows = s->config->batch * n->op->attribute[POSITIONS], columns = channels(n->op);

    if (n->in[0] != MFU_TOKENS_IN)
        return mfu_autocast(s, mfu_node_input(s, n, 0));
    return mfu_autocast(s, mfu_tensor_loaded(s, rows, columns, n->op->attribute[RESIZED] > 0));
}

/* The norm of the weight over each channel of the result: so many passes over it, in fp32 under autocast
 * (timm 0.6.5 layers/std_conv.py: F.batch_norm of the weight). */
static void standardise(struct mfu_builder *s, const struct mfu_node *n, const char *suffix, int out, double passes)
{
    if (n->op->attribute[STANDARDISED] > 0)
        MFU_EMIT(s, MFU_NO_VIEWS, MFU_LIST(out != MFU_NO_VIEW, &out), .suffix = suffix, .kind = MFU_NORM,
                 .extra_read_bytes =
                     (passes - (out != MFU_NO_VIEW)) * params(n->op).weight * mfu_type_bytes[s->numerics.weight],
                 .launches = 2);
}

/* Positions that are computed after the ends of sequences: torch pads both ends. */
static double past(const struct mfu_builder *s, const struct mfu_node *n)
{
    return n->op->attribute[CAUSAL] > 0 ? s->config->batch * (n->op->attribute[TAPS] - 1) : 0;
}

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    int x = input(s, n), w = mfu_node_weight(s, n, 0);
    double stride = n->op->attribute[STRIDE], width = n->op->attribute[WIDTH],
           rows = mfu_strided_rows(s, mfu_view_rows(s, x), stride, n->op->attribute[TAPS] == stride) + past(s, n);
    double in = channels(n->op), k = in / n->op->attribute[GROUPS] * n->op->attribute[TAPS];
    struct way by = way(s, n, false);
    struct mfu_kernel g;
    int made = MFU_NO_VIEW;

    if (n->op->attribute[BIAS] > 0)
        mfu_node_weight(s, n, 1);
    if (n->op->attribute[STANDARDISED] > 0 && !s->numerics.autocast) /* else it is the copy of autocast */
        w = made = mfu_tensor_new(s, 1, k * width, s->numerics.weight, MFU_PART_ACTIVATIONS);
    MFU_SAVE(n, x, w);
    if (mfu_last_recomputed(s, n))
        return;
    standardise(s, n, "standardise", made, 3);
    n->out = mfu_tensor_new(s, rows, width, s->numerics.compute, MFU_PART_ACTIVATIONS);
    transpose(s, n, "transpose", by, x, n->out, WIDEST_GROUP);
    g = product(s, n, rows, width, k, by,
                bytes(s, fmin(mfu_view_rows(s, x), rows * n->op->attribute[TAPS]), in) + bytes(s, k, width),
                bytes(s, rows, width));
    mfu_emit_kernel(s, &g, "", 0, 2, (int[]){x, w}, 1, &n->out);
    if (past(s, n) > 0)
        n->out = mfu_view_slice(s, n->out, rows - past(s, n), width);
}

/* The gradient of all positions that were computed. */
static int backward_input(struct mfu_builder *s, const struct mfu_node *n)
{
    int g = mfu_autocast(s, n->gradient);

    return past(s, n) == 0
        ? g
        : mfu_emit_laid(s, "pad", 2, mfu_view_rows(s, g) + past(s, n), mfu_view_columns(s, g), 1, &g);
}

/* convolution_backward() holds input and weight whichever gradients it is to give (derivatives.yaml). */
static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    int x = n->saved[SAVED_INPUT], w = n->saved[SAVED_WEIGHT], g = backward_input(s, n), dx, dw;
    double rows = mfu_view_rows(s, g), width = n->op->attribute[WIDTH], groups = n->op->attribute[GROUPS];
    double in = channels(n->op), k = in / groups * n->op->attribute[TAPS];
    double all = bytes(s, mfu_view_rows(s, x), in) + bytes(s, rows, width) + bytes(s, k, width);
    struct way by = way(s, n, false), plain = way(s, n, true);
    struct mfu_kernel p;

    if (n->op->attribute[BIAS] > 0 && mfu_trains(s, n, 1))
        mfu_param_grad_add(s, n, 1, mfu_emit_columns_sum(s, "bias_grad", g, width, s->numerics.compute));
    if (mfu_wants_gradient(s, n, 0)) {
        dx = mfu_tensor_new(s, mfu_view_rows(s, x), in, s->numerics.compute, MFU_PART_ACTIVATIONS);
        transpose(s, n, "dgrad.transpose", by, g, dx, WIDEST_GROUP);
        p = product(s, n, rows, in, width / groups * n->op->attribute[TAPS], by,
                    all - bytes(s, mfu_view_rows(s, x), in), bytes(s, mfu_view_rows(s, x), in));
        mfu_emit_kernel(s, &p, "dgrad", 0, 2, (int[]){g, w}, 1, &dx);
        mfu_tensor_extend(s, x);
        mfu_grad_add(s, n, 0, dx);
    }
    if (!mfu_trains(s, n, 0))
        return;
    dw = mfu_tensor_new(s, 1, k * width, s->numerics.compute, MFU_PART_GRADIENTS);
    transpose(s, n, "wgrad.transpose", plain, g, x, WIDEST_GROUP_WGRAD);
    p = product(s, n, k, width, rows, plain, all, bytes(s, k, width));
    mfu_emit_kernel(s, &p, "wgrad", 0, 2, (int[]){g, x}, 1, &dw);
    mfu_tensor_extend(s, w);
    standardise(s, n, "dstandardise", MFU_NO_VIEW, 5);
    mfu_param_grad_add(s, n, 0, dw);
}

const struct mfu_primitive mfu_primitive_conv = {
    .name = "conv",
    .summary = "a convolution over the positions of a sample",
    .attributes =
        {
            [WIDTH] = {"width", NULL, NULL, "channels of the result", 1},
            [TAPS] = {"taps", "1", NULL, "positions of a window: the square of an image's kernel size", 1},
            [STRIDE] = {"stride", "1", NULL, "positions read for one that is written: the square of an image's stride",
                        1},
            [GROUPS] = {"groups", "1", NULL, "parts of the channels that do not meet; as many as channels: depthwise",
                        1},
            [BIAS] = {"bias", "0", NULL, "whether a bias is added"},
            [CHANNELS] = {"channels", "3", NULL, "of raw input"},
            [POSITIONS] = {"positions", "0", NULL, "of raw input, in a sample"},
            [CHANNELS_LAST] = {"channels_last", "1", NULL, "whether a position's channels lie beside each other"},
            [CAUSAL] = {"causal", "0", NULL,
                        "whether a window ends at its position: the positions after the last are cut off"},
            [STANDARDISED] = {"standardised", "0", NULL,
                              "whether the weight is made to have mean 0 and variance 1; 2: and multiplied by a "
                              "learned number per channel"},
            [RESIZED] = {"resized", "0", NULL, "whether the model's code makes the raw input of the loaded one"},
        },
    .inputs = {0, 1},
    .traits = MFU_READS_BESIDE | MFU_MULTIPLIES,
    .split_columns = 1u << WIDTH | 1u << GROUPS, /* where channels do not meet */
    .width = MFU_WIDTH_OF(WIDTH),
    .params = params,
    .forward = forward,
    .backward = backward,
};
