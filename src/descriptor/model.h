/*
 * model.h - an architecture as data: named dimensions and lists of primitives.
 *
 *     dims:
 *       n_layer: 12
 *       n_embd: 768
 *       d_ff: 4*n_embd               # expressions over other dims, any order
 *     graph:
 *       - name: embed
 *         ops:
 *           - {op: embedding, name: wte, rows: vocab_size, width: n_embd}
 *       - name: h
 *         repeat: n_layer
 *         ops:
 *           - {op: norm, name: ln_1, kind: layer, bias: bias}
 *           - {op: linear, name: mlp.fc, width: d_ff, bias: bias}
 *           - {op: add, in: [input, mlp.proj]}
 *
 * A section that says `like: h` has the operations of that one (of this file, or of one that it extends), and
 * `with: {window: no_window}` reads other dims in them: layers that differ in a number.
 *
 * `shares: 1`: the layers of a section that repeats have one set of weights, that of the first.
 *
 * `whole: [height / 64]` at the top: what must be a whole number, or the sizes are refused; the nearest file's list holds.
 *
 * `module: 1`: a section that does not repeat is a module of its own (BertEmbeddings), whose variables go when it returns.
 *
 * What a section with `keep: 1` hands on is put on a pile, from which `kept`, as an input, takes the last: what the way down of
 * a U-Net leaves for the way up.
 *
 * `{op: carry, name: x, in: [first], next: last}` stands for `first` in the first layer of a repeated section, for
 * `last`, an op of the layer before, in the others; behind the section its name means that of the last layer.
 *
 * An op reads the one before it unless `in:` names others: ops of the same
 * section or of an earlier one that is not repeated, the last op of an earlier one that is, or `input`, what the
 * section itself was given.  `when: EXPR` leaves an op out (its input passes
 * through) when it is 0; `again: EXPR` has a fused function drop its result, and backward compute it anew.  `shares: NAME` uses the weight of an earlier op
 * (tied head).  The part of a name before the dot is the module that contains
 * the op: its argument stays alive until the module returns, as in PyTorch.
 *
 * `extends: gpt2` takes another file's graph and dims and replaces the dims
 * that are given.
 *
 * `tower: gemma-3-4b` beside `extends: gemma-2b` takes that file's inserted sections, dims and table of a config.json, and
 * extends the other in its place: towers of images that stand in front of several language models.  A file of the folder
 * towers/ is no model of its own: its sections stand before the first (`before:`).
 *
 * A section that says `apart: EXPR` is a frozen model that runs without gradients where EXPR is above 0, as an autoencoder
 * does whose latents nobody has cached: 1 in the 16 bits that the step computes in, if it does, 2 in fp32.  It is no part of
 * what MFU counts.
 *
 * A table of variants names models that differ in dims from the file alone, one in a line:
 *
 *     variants:
 *       resnet18d: {params: 11710312, deep: 1, bottleneck: 0}     # params: as published_params
 *       gluon_resnet18_v1d: resnet18d                             # another name of it
 */
#ifndef MFU_MODEL_H
#define MFU_MODEL_H

#include <stdint.h>

#include "base/arena.h"
#include "base/expression.h"
#include "descriptor/primitive.h"

struct mfu_error;
struct mfu_yaml;

#define MFU_MAX_DIMS 128        /* of one model */
#define MFU_MAX_OPS 1024        /* of one model, all sections */
#define MFU_MAX_SECTIONS 112    /* of one model */
#define MFU_MAX_WHOLE 16        /* expressions of one model that must be whole numbers */
#define MFU_MAX_NOT_MODELLED 16 /* things of a config.json */
#define MFU_SECTION_INPUT (-1)

/* A set of dims: bit i is dim i. */
__extension__ typedef unsigned __int128 mfu_dim_set;

struct mfu_model_dim {
    const char *name;
    const char *text;             /* the expression as written */
    struct mfu_expression *value; /* slots are dim numbers */
};

struct mfu_model_op {
    const struct mfu_primitive *primitive;
    const char *name;             /* unique in its section: "attn.qkv" */
    const char *module;           /* "attn", or NULL; equal ones are one string */
    int n_in, in[MFU_INPUTS];     /* op numbers, or MFU_SECTION_INPUT */
    int shares;                   /* op number, or -1 */
    int next;                     /* of a carry: what the layer after reads; else -1 */
    int module_kind;              /* what its weight is for: enum mfu_module_kind */
    struct mfu_expression *when;  /* or NULL: always */
    struct mfu_expression *again; /* whether backward makes its result anew; or NULL: it does not */
    struct mfu_expression *attribute[MFU_ATTRIBUTES];
};

struct mfu_model_section {
    const char *name;
    struct mfu_expression *repeat; /* or NULL: once */
    struct mfu_expression *apart;  /* or NULL: it is part of the model that trains */
    int first, count;              /* ops */
    bool shares;                   /* its layers have one set of weights */
    bool module;                   /* its variables are not those of the model's own forward() */
    bool of_n_layer;               /* how often it repeats follows from n_layer */
};

/* What must be a whole number. */
struct mfu_model_whole {
    const char *text; /* as written */
    struct mfu_expression *value;
};

struct mfu_model {
    char slug[48], path[256], name[80], family[32], source[200], note[320];
    double published_params;                        /* NAN: none published */
    double released;                                /* the year in which it was published; NAN: not known */
    const char *not_modelled[MFU_MAX_NOT_MODELLED]; /* what a config.json says and nothing reads */
    int n_not_modelled;
    double longest_seq;      /* of a config.json, that `seq` stops short of; 0: it does not */
    mfu_dim_set read_dims;   /* those that an expression reads, */
    mfu_dim_set decide_dims; /* and those on which more depends than sums of their products in the sizes of tables */
    int n_dims, n_sections, n_ops, n_whole;
    struct mfu_model_whole whole[MFU_MAX_WHOLE];
    struct mfu_model_dim dims[MFU_MAX_DIMS];
    short dim_order[MFU_MAX_DIMS]; /* each after the ones it depends on */
    struct mfu_model_section sections[MFU_MAX_SECTIONS];
    struct mfu_model_op ops[MFU_MAX_OPS];
    struct mfu_arena arena; /* texts and expressions */
};

/* Finds a dim by name, or -1 with a suggestion (`err` may be NULL). */
int mfu_model_dim_find(const struct mfu_model *, const char *name, struct mfu_error *err);

/* What its samples are where nobody counts their tokens: "images", "videos"; NULL: texts. */
const char *mfu_model_samples(const struct mfu_model *);

/* Whether it learns what the next token is: some operation passes on what came before, and no loss compares samples. */
bool mfu_model_writes(const struct mfu_model *);

/* Whether any of its operations mixes the tokens of a sequence by attention. */
bool mfu_model_has_attention(const struct mfu_model *);

/* The same as an mfu_resolve_fn, whose context is the model: for expressions
 * over its dims. */
int mfu_model_dim_resolve(void *model, const char *name, struct mfu_error *err);

/* How bare numbers of that dim are read: k is 1024 in lengths of sequences. */
enum mfu_dim mfu_model_dim_kind(const char *name);

/* Works out `decide_dims`, and of_n_layer of each section, after expressions were replaced. */
void mfu_model_find_deciding(struct mfu_model *);

/* The values of all dims (n_dims of them) as the file stands. */
void mfu_model_dim_values(const struct mfu_model *, double *values);

/* Works out `dim_order` after expressions were replaced.  -1 if dims depend on
 * each other in a circle, which are `circle`. */
int mfu_model_order_dims(struct mfu_model *, mfu_dim_set *circle, struct mfu_error *err);

/* Reads a model file.  `folder` is where `extends` looks, before the folder of
 * the file that says it; NULL: only there.  Dims, graph, family and the table
 * for config.json are inherited; name, source, note, aliases and
 * published_params are a file's own.  The model is freed with
 * mfu_model_free. */
struct mfu_model *mfu_model_read(const char *path, const char *folder, struct mfu_error *err);
struct mfu_model *mfu_model_parse(struct mfu_yaml *, const char *folder, struct mfu_error *err);
/* The same of a row of its table of variants; NULL: of the file as it stands. */
struct mfu_model *mfu_model_read_variant(const char *path, const char *variant, const char *folder,
                                         struct mfu_error *err);
void mfu_model_free(struct mfu_model *);

/* Reads a Hugging Face config.json: looks in `folder` for the model file whose
 * `huggingface.model_type` it states and fills that model's dims from it by
 * the file's own table:
 *
 *     huggingface:
 *       model_type: [llama]
 *       dims:                          # ours: theirs, first present one wins
 *         n_layer: num_hidden_layers   # or an entry of a list: depths.0
 *         n_kv_head: [num_key_value_heads, num_attention_heads]
 *         image: vision_config.image_size   # a key within
 *       defaults: {tied: 0}            # what the configuration class assumes
 *       where: {use_x: null}           # what else it says where several files know one type; null: that, or nothing
 *       towers: {pixtral: pixtral-12b} # files that describe the type where vision_config has another type
 *       architectures:                 # what the class that is trained has beside the body
 *         LlamaForSequenceClassification: {n_labels: classes}
 *       counts: {classes: id2label}    # dims that are numbers of entries; [key, word, ...]: of those that say one
 *                                      # (any: all), or of letters of a text; the first of several keys that is there
 *       usual: {moe_layer_freq: 1}     # values with which the file is right; any other is not modelled
 *       ignored: [rope_type]           # keys that change neither memory nor time
 *       nulls: {window: 0}             # what a null, or -1, means that is not "as assumed"
 *       words: {swish: silu}           # what their names of our choices are
 *
 * The tables of files that it extends hold where its own says nothing.  A key that no table reads
 * and that says something is not modelled (`not_modelled`): whether such a model fits is unknown.
 * A key that is null counts as absent.  What neither config.json nor the
 * defaults give stays as the file has it if that is an expression over dims
 * that are given, or 0 or 1; a size is refused rather than taken from another
 * model.  Name, slug and path are those of the config.json.  An unknown
 * model_type is refused with the list of the known ones. */
struct mfu_model *mfu_model_from_config(const char *path, const char *folder, struct mfu_error *err);

#endif
