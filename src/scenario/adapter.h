/*
 * adapter.h - frozen weights: in which form they are held, and what trains beside
 * them; a row each.
 *
 * Sources: peft 0.21 tuners/lora/layer.py and dora.py (kernel by kernel);
 * bitsandbytes 0.50 functional.py (blocks of 64, if not told otherwise, with an fp32
 * maximum, nested: int8 maxima in blocks of 256) and autograd/_functions.py (MatMul4Bit: the weight
 * is dequantised in forward and again in backward, the input is not kept);
 * torchtune modules/peft/lora.py; unsloth kernels/fast_lora.py; AutoGPTQ 0.7 qlinear_cuda_old.py (what has no desc_act:
 * plain PyTorch, whose product keeps the weight that it multiplied).
 */
#ifndef MFU_ADAPTER_H
#define MFU_ADAPTER_H

#include <stdbool.h>

/* X(identifier, name, fields).  A weight of a linear in the layers has `code` bytes, a block of them `scale` bytes more
 * (double quantisation: a byte, and an fp32 or 16-bit maximum of 256 such bytes, a number that both programs fix); what is
 * not quantised has 16 bits.  A dequantisation reads that and writes 16 bits, in `kernels` launches. */
#define MFU_BASES(X)                                                                                                   \
    X(BASE_AS_TRAINED, "as-trained", .meaning = "in the precision of the run", .aliases = "none same")                 \
    X(BASE_FP32, "fp32", .wide = true, .aliases = "float32")                                                           \
    X(BASE_16BIT, "bf16", .half = true, .aliases = "fp16 16bit bfloat16 float16")                                      \
    X(BASE_INT8, "int8", .meaning = "8 bits (bitsandbytes)", .half = true, .quantised = true, .code = 1,               \
      .block = 4096, .scale = 4, .kernels = 1, .kbit = true, .aliases = "8bit bnb8 load_in_8bit llm.int8 bnb.int8")    \
    X(BASE_NF4, "nf4", .meaning = "4 bits (bitsandbytes, QLoRA)", .half = true, .quantised = true, .code = 0.5,        \
      .block = 64, .scale = 4, .kernels = 1, .kbit = true, .four_bit = true,                                           \
      .aliases = "4bit bnb4 load_in_4bit bnb.nf4 normalfloat")                                                         \
    X(BASE_NF4_DOUBLE, "nf4-double", .meaning = "4 bits, scales in 8 (QLoRA)", .half = true, .quantised = true,        \
      .code = 0.5, .block = 64, .scale = 1 + 4. / 256, .kernels = 3, .kbit = true, .four_bit = true,                   \
      .aliases = "nf4-dq bnb.nf4-dq")                                                                                  \
    X(BASE_FP4, "fp4", .meaning = "4-bit floats (bitsandbytes)", .half = true, .quantised = true, .code = 0.5,         \
      .block = 64, .scale = 4, .kernels = 1, .kbit = true, .four_bit = true, .aliases = "bnb.fp4")                     \
    X(BASE_TORCHAO_NF4, "torchao-nf4", .meaning = "4 bits (torchao, torchtune)", .half = true, .quantised = true,      \
      .code = 0.5, .block = 64, .scale = 1 + 2. / 256, .kernels = 3, .four_bit = true)                                 \
    X(BASE_INT4, "int4", .meaning = "4-bit integers (GPTQ, AWQ)", .half = true, .quantised = true, .code = 0.5,        \
      .block = 128, .scale = 2.5, .unpacks = true, .four_bit = true, .aliases = "gptq awq gptq-int4")                  \
    X(BASE_GPTQ_INT8, "gptq-int8", .meaning = "8-bit integers (GPTQ)", .half = true, .quantised = true, .code = 1,     \
      .block = 128, .scale = 3, .unpacks = true, .aliases = "int8-gptq gptq8")

enum mfu_base {
#define X(id, ...) MFU_##id,
    MFU_BASES(X)
#undef X
        MFU_BASE_COUNT
};

struct mfu_base_row {
    const char *name;
    const char *meaning;              /* in a few words */
    const char *aliases, *stands_for; /* as of mfu_precisions */
    bool half;                        /* what is not quantised has 16 bits */
    bool wide;                        /* all has 32 */
    bool quantised;                   /* dequantised for each product */
    bool four_bit;
    bool kbit;      /* bitsandbytes: peft's prepare_model_for_kbit_training makes the rest fp32 */
    bool unpacks;   /* by PyTorch's own pointwise kernels, of which backward keeps the result */
    double code;    /* bytes of one weight of a linear */
    double block;   /* weights that share a scale: as the program has it, where quant_block says nothing */
    double scale;   /* bytes of it, with a zero point and its part in a scale of scales */
    double kernels; /* that a dequantisation launches */
};

/* Fine-tuning methods of peft 0.21.2.  X(identifier, name, where, fields); sources: tuners/METHOD/layer.py and config.py,
 * peft_model.py for virtual tokens.  `size` is peft's default of what sizes the method: a rank, or virtual tokens. */
enum mfu_adapter_place {
    MFU_ADAPTS_NOTHING, /* weights of the model train, as copies */
    MFU_ADAPTS_RESULT,  /* something is added to a product's result */
    MFU_ADAPTS_SCALE,   /* a product's result, or of some its input, is multiplied by a vector */
    MFU_ADAPTS_INPUT,   /* a product's input is made another */
    MFU_ADAPTS_WEIGHT,  /* a product with a weight of its own stands in place of one */
    MFU_ADAPTS_TOKENS,  /* learned tokens stand before those of each sequence */
    MFU_ADAPTS_KEYS     /* learned keys and values stand before those of each layer */
};
enum mfu_adapter_form {
    MFU_FORM_PAIR,
    MFU_FORM_STEPS /* as graph/methods/ writes them */
};
/* Settings that only some methods read. */
enum mfu_adapter_setting {
    MFU_TAKES_TARGETS = 1 << 0,
    MFU_TAKES_DROPOUT = 1 << 1,
    MFU_TAKES_DORA = 1 << 2,
    MFU_TAKES_FACTOR = 1 << 3,
    MFU_TAKES_ENCODER = 1 << 4,
    MFU_TAKES_INPUTS = 1 << 5,
    MFU_TAKES_LAYERS = 1 << 6, /* it adapts some layers alone */
    MFU_TAKES_BLOCKS = 1 << 7,
    MFU_TAKES_ROWS = 1 << 8, /* of the table of tokens */
    MFU_TAKES_EACH = MFU_TAKES_TARGETS | MFU_TAKES_LAYERS,
    MFU_TAKES_EACH_AND_DROPOUT = MFU_TAKES_EACH | MFU_TAKES_DROPOUT
};

#define MFU_ADAPTER_METHODS(X)                                                                                         \
    X(METHOD_NONE, "none", .aliases = "off")                                                                           \
    X(METHOD_LORA, "lora", .place = MFU_ADAPTS_RESULT, .size = 8,                                                      \
      .takes = MFU_TAKES_EACH_AND_DROPOUT | MFU_TAKES_DORA | MFU_TAKES_ROWS, .aliases = "qlora",                       \
      .says = "two narrow matrices beside each target: two products more forward, four backward")                      \
    X(METHOD_ADALORA, "adalora", .place = MFU_ADAPTS_RESULT, .form = MFU_FORM_STEPS, .size = 12,                       \
      .takes = MFU_TAKES_EACH_AND_DROPOUT,                                                                             \
      .says = "three factors beside each target, whose ranks are pruned on the way")                                   \
    X(METHOD_VERA, "vera", .place = MFU_ADAPTS_RESULT, .form = MFU_FORM_STEPS, .size = 256,                            \
      .takes = MFU_TAKES_EACH_AND_DROPOUT,                                                                             \
      .says =                                                                                                          \
          "two vectors beside each target, around random matrices that all share and that are multiplied with, too")   \
    X(METHOD_MISS, "miss", .place = MFU_ADAPTS_RESULT, .form = MFU_FORM_STEPS, .size = 64,                             \
      .takes = MFU_TAKES_EACH_AND_DROPOUT, .stands_for = "bone",                                                       \
      .says = "one matrix beside each target, which multiplies sums of its input: one product more")                   \
    X(METHOD_MISS_MINI, "miss-mini", .place = MFU_ADAPTS_RESULT, .form = MFU_FORM_STEPS, .size = 64,                   \
      .takes = MFU_TAKES_EACH_AND_DROPOUT, .says = "MiSS whose matrix is a square block, repeated over the columns")   \
    X(METHOD_LOHA, "loha", .place = MFU_ADAPTS_RESULT, .form = MFU_FORM_STEPS, .size = 8, .takes = MFU_TAKES_EACH,     \
      .says = "four narrow matrices of each target, made a whole weight in every pass")                                \
    X(METHOD_LOKR, "lokr", .place = MFU_ADAPTS_RESULT, .form = MFU_FORM_STEPS, .size = 8,                              \
      .takes = MFU_TAKES_EACH | MFU_TAKES_FACTOR,                                                                      \
      .says = "two factors of each target, whose Kronecker product is made a whole weight in every pass")              \
    X(METHOD_FOURIERFT, "fourierft", .place = MFU_ADAPTS_RESULT, .form = MFU_FORM_STEPS, .size = 1000,                 \
      .takes = MFU_TAKES_EACH,                                                                                         \
      .says = "numbers of a spectrum of each target, transformed to a whole weight in every pass")                     \
    X(METHOD_WAVEFT, "waveft", .place = MFU_ADAPTS_RESULT, .form = MFU_FORM_STEPS, .size = 2592,                       \
      .takes = MFU_TAKES_EACH,                                                                                         \
      .says = "numbers of a wavelet spectrum of each target, transformed to a whole weight in every pass")             \
    X(METHOD_VBLORA, "vblora", .place = MFU_ADAPTS_RESULT, .form = MFU_FORM_STEPS, .size = 4,                          \
      .takes = MFU_TAKES_EACH_AND_DROPOUT,                                                                             \
      .says = "two narrow matrices beside each target, made in every pass of one bank of vectors")                     \
    X(METHOD_RANDLORA, "randlora", .place = MFU_ADAPTS_RESULT, .form = MFU_FORM_STEPS, .size = 32, .coarser = true,    \
      .takes = MFU_TAKES_EACH_AND_DROPOUT,                                                                             \
      .says = "factors of random bases of full rank: two products as large as the target's")                           \
    X(METHOD_ROAD, "road", .place = MFU_ADAPTS_RESULT, .form = MFU_FORM_STEPS, .size = 1, .unsized = true,             \
      .takes = MFU_TAKES_EACH, .says = "rotations of pairs of columns: no product more, only passes over memory")      \
    X(METHOD_C3A, "c3a", .place = MFU_ADAPTS_RESULT, .form = MFU_FORM_STEPS, .size = 256, .coarser = true,             \
      .takes = MFU_TAKES_EACH, .says = "circulant blocks beside each target, multiplied as Fourier transforms")        \
    X(METHOD_OFT, "oft", .place = MFU_ADAPTS_INPUT, .form = MFU_FORM_STEPS, .size = 32,                                \
      .takes = MFU_TAKES_EACH | MFU_TAKES_BLOCKS,                                                                      \
      .says = "rotations of blocks of each target's input: one batched product more")                                  \
    X(METHOD_BOFT, "boft", .place = MFU_ADAPTS_WEIGHT, .form = MFU_FORM_STEPS, .size = 4,                              \
      .takes = MFU_TAKES_EACH | MFU_TAKES_BLOCKS,                                                                      \
      .says = "rotations of blocks of each target's input, made a whole matrix in every pass")                         \
    X(METHOD_HRA, "hra", .place = MFU_ADAPTS_WEIGHT, .form = MFU_FORM_STEPS, .size = 8, .takes = MFU_TAKES_EACH,       \
      .says = "reflections of each target's weight, made a new one in every pass")                                     \
    X(METHOD_SHIRA, "shira", .place = MFU_ADAPTS_WEIGHT, .form = MFU_FORM_STEPS, .size = 32, .takes = MFU_TAKES_EACH,  \
      .says = "some elements of each target's weight, of which backward needs a whole copy")                           \
    X(METHOD_DELORA, "delora", .place = MFU_ADAPTS_RESULT, .form = MFU_FORM_STEPS, .size = 8,                          \
      .takes = MFU_TAKES_EACH_AND_DROPOUT, .says = "LoRA whose rows are divided by their norms")                       \
    X(METHOD_HIRA, "hira", .place = MFU_ADAPTS_RESULT, .form = MFU_FORM_STEPS, .size = 32,                             \
      .takes = MFU_TAKES_EACH_AND_DROPOUT,                                                                             \
      .says = "two narrow matrices whose product multiplies each target's weight in every pass")                       \
    X(METHOD_GRALORA, "gralora", .place = MFU_ADAPTS_RESULT, .form = MFU_FORM_STEPS, .size = 32,                       \
      .takes = MFU_TAKES_EACH_AND_DROPOUT, .says = "LoRA in blocks: two batched products beside each target")          \
    X(METHOD_PVERA, "pvera", .place = MFU_ADAPTS_RESULT, .form = MFU_FORM_STEPS, .size = 256,                          \
      .takes = MFU_TAKES_EACH_AND_DROPOUT, .says = "VeRA whose narrow result is sampled from a mean and a variance")   \
    X(METHOD_IA3, "ia3", .place = MFU_ADAPTS_SCALE, .form = MFU_FORM_STEPS, .size = 1, .unsized = true,                \
      .takes = MFU_TAKES_EACH | MFU_TAKES_INPUTS,                                                                      \
      .says = "a factor of each column: no product more, only passes over memory")                                     \
    X(METHOD_ROAD_2, "road-2", .place = MFU_ADAPTS_RESULT, .form = MFU_FORM_STEPS, .size = 1, .unsized = true,         \
      .takes = MFU_TAKES_EACH, .aliases = "road_2", .says = "RoAd with an angle and a factor of each column")          \
    X(METHOD_LORA_FA, "lora-fa", .place = MFU_ADAPTS_RESULT, .form = MFU_FORM_STEPS, .size = 8,                        \
      .takes = MFU_TAKES_EACH_AND_DROPOUT, .aliases = "lorafa lora_fa",                                                \
      .says = "LoRA whose first matrix does not train: backward needs its narrow result, not its input")               \
    X(METHOD_MICA, "mica", .place = MFU_ADAPTS_RESULT, .form = MFU_FORM_STEPS, .size = 8,                              \
      .takes = MFU_TAKES_EACH_AND_DROPOUT, .says = "LoRA whose second matrix does not train")                          \
    X(METHOD_BEFT, "beft", .place = MFU_ADAPTS_RESULT, .form = MFU_FORM_STEPS, .size = 1, .unsized = true,             \
      .takes = MFU_TAKES_EACH, .says = "a number added to each column of a target's result")                           \
    X(METHOD_DEFT, "deft", .place = MFU_ADAPTS_RESULT, .form = MFU_FORM_STEPS, .size = 8,                              \
      .takes = MFU_TAKES_EACH_AND_DROPOUT,                                                                             \
      .says = "some directions of each target's result, taken out and replaced in fp32: four products more")           \
    X(METHOD_PARA, "para", .place = MFU_ADAPTS_RESULT, .form = MFU_FORM_STEPS, .size = 8, .takes = MFU_TAKES_EACH,     \
      .says = "some directions of each target's result, taken out in fp32: two products more")                         \
    X(METHOD_GLORA, "glora", .place = MFU_ADAPTS_RESULT, .form = MFU_FORM_STEPS, .size = 8, .takes = MFU_TAKES_EACH,   \
      .says = "two pairs of matrices that make a new weight in every pass, beside the target's own product")           \
    X(METHOD_GLORA_VECTOR, "glora-vector", .place = MFU_ADAPTS_RESULT, .form = MFU_FORM_STEPS, .size = 1,              \
      .unsized = true, .takes = MFU_TAKES_EACH, .says = "GLoRA with two factors of each row")                          \
    X(METHOD_PEANUT, "peanut", .place = MFU_ADAPTS_RESULT, .form = MFU_FORM_STEPS, .size = 32,                         \
      .takes = MFU_TAKES_EACH, .says = "two matrices that make of each target's weight another, in every pass")        \
    X(METHOD_PSOFT, "psoft", .place = MFU_ADAPTS_RESULT, .form = MFU_FORM_STEPS, .size = 32,                           \
      .takes = MFU_TAKES_EACH_AND_DROPOUT,                                                                             \
      .says = "a rotation between two fixed matrices beside each target: three products more, in fp32")                \
    X(METHOD_TINYLORA, "tinylora", .place = MFU_ADAPTS_RESULT, .form = MFU_FORM_STEPS, .size = 2, .of_frozen = true,   \
      .takes = MFU_TAKES_EACH_AND_DROPOUT,                                                                             \
      .says = "64 numbers between two fixed matrices beside each target: three narrow products more")                  \
    X(METHOD_TINYLORA_TIED, "tinylora-tied", .place = MFU_ADAPTS_RESULT, .form = MFU_FORM_STEPS, .size = 2,            \
      .of_frozen = true, .takes = MFU_TAKES_EACH_AND_DROPOUT,                                                          \
      .says = "TinyLoRA whose 64 numbers are the same of all targets")                                                 \
    X(METHOD_UNILORA, "unilora", .place = MFU_ADAPTS_RESULT, .form = MFU_FORM_STEPS, .size = 4, .of_frozen = true,     \
      .takes = MFU_TAKES_EACH_AND_DROPOUT,                                                                             \
      .says = "two narrow matrices beside each target, looked up in one vector of 256 numbers")                        \
    X(METHOD_LN_TUNING, "ln-tuning", .size = 1, .unsized = true, .trains_norms = true, .takes = MFU_TAKES_LAYERS,      \
      .aliases = "ln_tuning", .says = "the norms, as copies: no product more")                                         \
    X(METHOD_PROMPT, "prompt-tuning", .place = MFU_ADAPTS_TOKENS, .size = 20, .aliases = "prompt_tuning",              \
      .says = "tokens before those of each sequence: every layer and the loss have more of them")                      \
    X(METHOD_P_TUNING, "p-tuning", .place = MFU_ADAPTS_TOKENS, .size = 20, .encoder = true,                            \
      .takes = MFU_TAKES_ENCODER, .aliases = "p_tuning ptuning",                                                       \
      .says = "tokens that an MLP makes, before those of each sequence: every layer and the loss have more of them")   \
    X(METHOD_PREFIX, "prefix-tuning", .place = MFU_ADAPTS_KEYS, .size = 20, .takes = MFU_TAKES_ENCODER,                \
      .aliases = "prefix_tuning prefixtuning",                                                                         \
      .says = "keys and values before those of each layer: attention reads more, under a mask, which takes it off "    \
              "the flash kernel")

enum mfu_adapter_method {
#define X(id, ...) MFU_##id,
    MFU_ADAPTER_METHODS(X)
#undef X
        MFU_METHOD_COUNT
};

struct mfu_method_row {
    const char *name;
    const char *aliases, *stands_for;
    enum mfu_adapter_place place;
    enum mfu_adapter_form form; /* of what is added */
    double size;
    bool unsized;      /* nothing sizes it: 1 */
    bool coarser;      /* a larger size trains less */
    bool of_frozen;    /* the size is of what does not train */
    bool trains_norms; /* of the model */
    bool encoder;      /* learned tokens pass an MLP, whatever prompt_encoder says */
    unsigned takes;    /* bits of enum mfu_adapter_setting */
    const char *says;  /* what trains, and what that costs */
};
/* Whether what is learned stands before the sequences, not at each target. */
static inline bool mfu_method_precedes(const struct mfu_method_row *m)
{
    return m->place == MFU_ADAPTS_TOKENS || m->place == MFU_ADAPTS_KEYS;
}
extern const struct mfu_method_row mfu_methods[MFU_METHOD_COUNT];
extern const char *const mfu_method_names[MFU_METHOD_COUNT + 1]; /* and NULL */

extern const struct mfu_base_row mfu_bases[MFU_BASE_COUNT];
extern const char *const mfu_base_names[MFU_BASE_COUNT + 1]; /* and NULL */

/* X(identifier, name, fields) */
#define MFU_ADAPTER_KERNELS(X)                                                                                         \
    X(ADAPTER_PEFT, "peft", .casts = true, .aliases = "hf trl")                                                        \
    X(ADAPTER_PLAIN, "plain", .half_adapters = true, .aliases = "torchtune litgpt")                                    \
    X(ADAPTER_FUSED, "fused", .half_adapters = true, .fused = true, .aliases = "unsloth automodel triton")

enum mfu_adapter_kind {
#define X(id, ...) MFU_##id,
    MFU_ADAPTER_KERNELS(X)
#undef X
        MFU_ADAPTER_KIND_COUNT
};

struct mfu_adapter_row {
    const char *name;
    const char *aliases, *stands_for;
    bool casts;         /* the input becomes what the adapter is, the sum what the base's result is */
    bool half_adapters; /* adapters have 16 bits unless they are told otherwise */
    bool fused;         /* one kernel adds the scaled product; products that share an input keep one */
};
extern const struct mfu_adapter_row mfu_adapters[MFU_ADAPTER_KIND_COUNT];
extern const char *const mfu_adapter_names[MFU_ADAPTER_KIND_COUNT + 1]; /* and NULL */
extern const char *const mfu_adapter_types[];                           /* fp32, 16bit, NULL */

#endif
