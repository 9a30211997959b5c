/*
 * builder.h - building the program of a training step, operation by operation.
 *
 * A primitive describes its forward and backward pass with the functions
 * below: views (tensors with a shape and type), launches that read and write
 * them, gradients given to inputs and parameters.  It is written once, as
 * PyTorch would run it eagerly; what a compiler or hand-written kernels make
 * of it is the business of the runtime's lowering (runtime.h, fuse.c).
 */
#ifndef MFU_BUILDER_H
#define MFU_BUILDER_H

#include "base/list.h"
#include "graph/numerics.h"
#include "graph/program.h"
#include "graph/runtime.h"
#include "scenario/scenario.h"

struct mfu_error;
struct mfu_base_row;
struct mfu_layer;

#define MFU_SAVED 24 /* results that one operation keeps for backward, at most */
#define MFU_NO_VIEW (-1)
#define MFU_SEEN_CASTS 16  /* launches back a compiler finds the same cast */
#define MFU_WORK_BITS 8    /* as many lists: programs have some hundred works */
#define MFU_TOKENS_IN (-1) /* an embedding's input: token indices */

/* The input of attention that is a node of learned keys and values, and where the node's `saved` holds keys and values
 * with those before them: in backward, their gradients. */
#define MFU_PREFIX (MFU_INPUTS - 1)
#define MFU_PREFIXED (MFU_SAVED - 2)

/* How an operation is split over a tensor-parallel group. */
enum mfu_split {
    MFU_SPLIT_NONE,    /* every rank does all of it (or its tokens) */
    MFU_SPLIT_COLUMNS, /* enters: reads a whole tensor, makes a part of the columns */
    MFU_SPLIT_WITHIN,  /* works on the columns (heads) that it is given */
    MFU_SPLIT_ROWS     /* leaves: reads a part, makes a partial sum */
};

/* One operation of the step: a model op, once per traced layer. */
struct mfu_node {
    const struct mfu_operation *op;
    const struct mfu_model_op *source;
    const char *section;
    int in[MFU_INPUTS];   /* nodes, or MFU_TOKENS_IN */
    int out;              /* view of the result */
    int saved[MFU_SAVED]; /* views that backward needs; free to use */
    int n_saved;
    bool spills;    /* one more was to be kept */
    int recomputed; /* 1 + the module of checkpoint selective that it is of; -1: the model's code does; 0: none */
    bool again;     /* out was computed a second time, for backward */
    int backward;   /* its first launch there; 0: it has none */
    int gradient;   /* view of d loss / d out, or MFU_NO_VIEW */
    bool requires_gradient;       /* something before it trains */
    bool replaced;                /* by its adapter, behind it */
    int partial;                  /* what readers that are split gave of it: to be summed over their ranks, */
    bool summed_beside;           /* while a product makes the gradient of the reader's weight */
    int shard;                    /* out, or its quantised copy, as ranks send it to one another */
    int keys;                     /* of all ranks of a context group, while its attention runs */
    int gathered, gathered_again; /* that with the tokens of all ranks, or MFU_NO_VIEW */
    int parameter[2];             /* its weight (maybe shared) and bias, or -1 */
};

/* A weight (or bias): memory and gradient are shared by all that use it. */
struct mfu_parameter {
    double elements;
    int cast;         /* its copy in the compute type, or MFU_NO_VIEW */
    int quantised[2]; /* instead of it: as it is, and transposed */
    int gradient;     /* contribution that waits for others */
    int users, given; /* ops that use it; gradients received */
    enum mfu_type type;
    const struct mfu_base_row *packed; /* how it is held; NULL: as its type says */
    double packed_bytes;               /* of one weight then */
    bool trains;
    bool unreached; /* it may train, and no gradient reaches it */
    bool borrowed;  /* a place that another op's weight fills (tied) */
};

/* What is kept of every parameter between micro-steps. */
enum mfu_state { MFU_STATE_WEIGHT, MFU_STATE_GRADIENT, MFU_STATE_OPTIMIZER, MFU_STATE_COUNT };

struct mfu_builder {
    struct mfu_program *program;
    const struct mfu_config *config;
    const struct mfu_runtime *runtime;
    bool whole_norms;   /* RMSNorm and rotary are single kernels, of the runtime, the trainer or a package */
    bool whole_scans;   /* a recurrence over tokens is a few kernels, of mamba-ssm or flash-linear-attention */
    bool whole_gates;   /* so are an activation and its product with the gate, whose gradients replace what is kept */
    bool eager_outside; /* what is in no layer is not compiled, */
    bool eager_loss;    /* nor is the loss */
    bool whole_softmax; /* and the softmax of attention and loss, of the runtime or the trainer */
    struct mfu_numerics numerics;
    struct mfu_layout state[MFU_STATE_COUNT]; /* of all parameters alike */
    bool frozen_parts;                        /* not all of the model trains */
    int prefix;                               /* the node of learned keys and values, or MFU_TOKENS_IN */
    double shared_adapters;                   /* bytes of frozen matrices that all adapters multiply by, */
    double shared_trained;                    /* and elements of one that trains */
    double trained_bytes;                     /* of a trained parameter, in the mean */
    bool left_out[MFU_MAX_OPS];               /* `when` is 0, or it only chooses an input */
    unsigned char passes[MFU_MAX_OPS];        /* which input then stands for it */
    unsigned char section_of[MFU_MAX_OPS];    /* the section that it is in */
    struct mfu_operation received;            /* what a pipeline stage gets from the one before */
    int stage, stages;                        /* ranks of the pipeline: this one, from 0; all */
    enum mfu_split split[2 * MFU_MAX_OPS];    /* of the model's, then of their adapters; without one, that of the op */
    bool summed[MFU_MAX_OPS][2]; /* weight, bias: tensor ranks have a copy each, and a part of its gradient */
    bool shares[MFU_MAX_OPS];    /* its result is gathered, since ranks share heads of keys */
    bool routed[MFU_MAX_OPS];    /* its result lies in the order of experts */
    struct mfu_node *nodes;
    struct mfu_parameter *parameters;
    int n_nodes, n_parameters, cap_nodes, cap_parameters;
    enum mfu_phase phase;
    const char *section;
    int node; /* whose kernels are being appended, or -1 */

    bool referring;   /* the forward pass of a reference model, without gradients */
    bool apart;       /* the pass of a frozen model of its own (mfu_apart()) */
    bool recomputing; /* a forward pass within backward */
    int last_saver;   /* last node that a layer computed again must reach; -1: none is */
    bool selective;   /* some library calls keep their results: */
    struct {
        int node, view; /* MFU_NO_VIEW: not this one */
    } * kept;
    int n_kept, cap_kept, next_kept, n_gemms;

    const char *logits_section; /* where the loss is, */
    double logits_width;        /* and what it reads */
    int old_logits;             /* of the micro-step before, or MFU_NO_VIEW */
    double loaded_bytes;        /* of a micro-batch of raw input: images, features, */
    int loaded[MFU_INPUTS];     /* which the trainer's loop names until it has the next; */
    int n_loaded;               /* so many */
    int returned;               /* logits that the model returns as they are, or MFU_NO_VIEW */
    int fp32_outputs;           /* logits that are made fp32 when the model has returned, or MFU_NO_VIEW */

    struct {
        int node, view;
    } * deferred; /* gradients added at the end */
    int n_deferred, cap_deferred;
    struct mfu_unit {
        double layers; /* of a section that repeats, at this rank; each is gathered by itself (FSDP): */
        double params, trained, experts, expert_trained;
    } unit[MFU_MAX_SECTIONS];
    double image_tokens;                     /* of a sequence that has no place for them, or no whole ones; -1: none */
    const struct mfu_model_op *out_of_reach; /* of another stage, that a layer of this one reads; NULL: none */
    struct mfu_layer *layers;                /* that are traced (layers.h) */
    int n_layers, cap_layers, layer;         /* the one that is being traced */
    bool counted;                            /* one layer stands for several */
    bool copies;                             /* some layers are copied (copies.h), */
    int reach, edge;    /* and name what is in so many before and behind them, at most; so many differ at either end */
    bool extends_early; /* in the segment at hand a tensor was to stay until the launch before its first */
    bool uneven;        /* the second layer of a section is not like the first */
    struct mfu_launch *merged; /* what a pass makes of the list, until it takes its place */
    int cap_merged;
    int *moved, cap_moved; /* where a pass that puts launches between others moves each of them; */
    struct mfu_put {
        int before; /* an old one */
        struct mfu_launch launch;
    } * put;                    /* those, until it is done, */
    int n_put, cap_put, n_read; /* and how many of the old it has read; */
    int n_written;              /* of a folded program all launches are written to `merged`, as they are then */
    int *ends, n_ends;          /* room in the program's arena for so many views of launches */
    int newest_work[1
                    << MFU_WORK_BITS]; /* works in lists by their hash: one behind the number of the newest, 0: none */
    bool failed;                       /* memory ran out */
    /* Of the model, then their adapters; what is here is worked out before it is read. */
    struct mfu_operation operations[2 * MFU_MAX_OPS];
};

/* ---- views ---- */
int mfu_tensor_new(struct mfu_builder *, double rows, double columns, enum mfu_type, enum mfu_part);
/* Raw input of a micro-batch, in the type of weights: as the trainer's loop loads it, or what the model's code makes of that in
 * another size. */
int mfu_tensor_loaded(struct mfu_builder *, double rows, double columns, bool resized);
/* A look at (part of) a tensor. */
int mfu_view_as(struct mfu_builder *, int tensor, double rows, double columns, enum mfu_type);
int mfu_view_slice(struct mfu_builder *, int view, double rows, double columns);
static inline enum mfu_type mfu_view_type(const struct mfu_builder *s, int view)
{
    return s->program->views[view].type;
}
static inline double mfu_view_rows(const struct mfu_builder *s, int view)
{
    return s->program->views[view].rows;
}
static inline double mfu_view_columns(const struct mfu_builder *s, int view)
{
    return s->program->views[view].columns;
}
static inline double mfu_view_elements(const struct mfu_builder *s, int view)
{
    return mfu_view_rows(s, view) * mfu_view_columns(s, view);
}
static inline double mfu_view_bytes(const struct mfu_builder *s, int view)
{
    return mfu_view_elements(s, view) * mfu_type_bytes[mfu_view_type(s, view)];
}
/* An activation of the shape and type of a view. */
static inline int mfu_tensor_like(struct mfu_builder *s, int view)
{
    return mfu_tensor_new(s, mfu_view_rows(s, view), mfu_view_columns(s, view), mfu_view_type(s, view),
                          MFU_PART_ACTIVATIONS);
}
/* Makes room for one more in a list that keeps its memory between programs; for as many as are wanted. */
#define ROOM(s, list, n, cap) ROOM_FOR(s, list, (n) + 1, cap)
#define ROOM_FOR(s, list, n, cap) (MFU_ROOM(list, n, cap) || ((s)->failed = true, false))
/* The sign of a - b.  Whoever decides something by sizes asks here: the difference is
 * noted where layers are counted, since another batch may have another (scale.h). */
static inline int mfu_compare(struct mfu_builder *s, double a, double b)
{
    struct mfu_program *p = s->program;

    if (s->counted && ROOM(s, p->compared, p->n_compared, p->cap_compared))
        p->compared[p->n_compared++] = a - b;
    return (a > b) - (a < b);
}

/* The view needs to stay until here. */
void mfu_tensor_extend(struct mfu_builder *, int view);
/* The view outlives the micro-step. */
void mfu_tensor_retain(struct mfu_builder *, int view);

/* ---- launches ---- */
/* What is not said: a kernel by itself, once, with the traffic of pointwise kernels and the name of its operation. */
struct mfu_emission {
    const char *suffix;
    enum mfu_kind kind;
    enum mfu_coefficient traffic;
    enum mfu_fusion fusion;
    double flops;
    double extra_read_bytes, temporary_bytes;
    double reread_bytes; /* later passes over rows that were read once */
    double launches;
    bool random, cast;
};
/* Reads `in` and writes `out` (MFU_NO_VIEW entries are passed over): MFU_EMIT(s, MFU_VIEWS(a, b), MFU_VIEWS(sum), .suffix = "add",
 * .kind = MFU_POINTWISE).  MFU_LIST has those of a list. */
void mfu_emit(struct mfu_builder *, const struct mfu_emission *, int n_in, const int *in, int n_out, const int *out);
#define MFU_EMIT(s, in, out, ...) mfu_emit(s, &(struct mfu_emission){__VA_ARGS__}, in, out)
#define MFU_VIEWS(...)                                                                                                 \
    (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), (int[])                                                         \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }
#define MFU_LIST(n, list) n, list
#define MFU_NO_VIEWS 0, NULL
/* The same for a kernel whose traffic is given. */
void mfu_emit_kernel(struct mfu_builder *, const struct mfu_kernel *, const char *suffix, double temporary_bytes,
                     int n_in, const int *in, int n_out, const int *out);

/* Rows of experts for each token that visits `top_k` of them: as many, or as there are places for where these are fewer,
 * or computed filled or not (a row of an expert that is not whole is left out). */
double mfu_routed_rows(const struct mfu_builder *, double top_k);

/* Rows of which one in `stride` is written: of pictures as high as wide, an edge is rounded up, or down where windows do not
 * overlap (`whole`); of sounds, a sample is. */
double mfu_strided_rows(const struct mfu_builder *, double rows, double stride, bool whole);

/* `calls` collectives of `bytes` each, which nothing runs beside: from one view to
 * another (MFU_NO_VIEW: of no tensor of the graph). */
void mfu_emit_collective(struct mfu_builder *, enum mfu_collective_kind, unsigned axes, double bytes, double calls,
                         int in, int out);

/* A new view of the shape of `a` with one pointwise kernel over a (and b, c). */
int mfu_emit_pointwise(struct mfu_builder *, const char *suffix, enum mfu_type, double flops_per_element, int a, int b,
                       int c);
/* The same over a and b alone, in fp32 where one of them is. */
int mfu_emit_map(struct mfu_builder *, const char *suffix, double flops_per_element, int a, int b);
/* The same where b is spread over rows or columns, or the layout changes: no
 * wide loads. */
int mfu_emit_broadcast(struct mfu_builder *, const char *suffix, enum mfu_type, double flops_per_element, int a, int b);
/* Elements zeroed at random, and the mask of a byte each that backward reads. */
int mfu_emit_dropout(struct mfu_builder *, const char *suffix, int view, int *mask);
/* The gradient of what is added to all rows: the sum of the view's rows, `elements` numbers. */
int mfu_emit_columns_sum(struct mfu_builder *, const char *suffix, int view, double elements, enum mfu_type);
/* Several views laid out as one, or one anew, by so many launches. */
void mfu_emit_copy(struct mfu_builder *, const char *suffix, double launches, int n_in, const int *in, int out);
/* The same, as a new view of so many rows and columns in the type of the first. */
int mfu_emit_laid(struct mfu_builder *, const char *suffix, double launches, double rows, double columns, int n_in,
                  const int *in);
/* Rows of a table of weights, one for each index, as a new view. */
int mfu_emit_gather(struct mfu_builder *, double rows, double width, enum mfu_type);
/* The gradient of the table: zeros, and the sums of the rows that equal indices give, by so many indices sorted and their
 * segments (four int64 for each). */
void mfu_emit_scatter(struct mfu_builder *, double indices, int gradient, int table);
/* So many rows like those of `a`, put together from it and, unless MFU_NO_VIEW, from what `b` says or has. */
int mfu_emit_rows(struct mfu_builder *, const char *suffix, double rows, int a, int b);
/* The view in another type: itself, or a new one and a cast kernel. */
int mfu_emit_cast(struct mfu_builder *, int view, enum mfu_type);
/* Whether the operands of that product are quantised: all but the head's. */
bool mfu_quantises(const struct mfu_builder *, const struct mfu_node *);

/* fp8 multiplies quantised copies: each operand is read, and written once as it
 * is and once transposed (TransformerEngine, Hopper); these are the copies.  Runtimes that cast
 * once make one pair for all that multiply the view (layernorm_linear.py and layernorm_mlp.py @d0067d0:
 * one input_quantizer for the joint q, k, v and for gate and up; Inductor by its common subexpressions).  `both`: backward
 * multiplies it, too, for the gradient of a weight that trains. */
void mfu_emit_quantise(struct mfu_builder *, const char *suffix, int view, bool both, int copies[2]);
/* A matrix product; in selective recomputation its result may be a kept one.
 * Returns the view of the result. */
int mfu_emit_matmul(struct mfu_builder *, const char *suffix, enum mfu_peak, double m, double n, double k, double batch,
                    int a, int b, int out);

/* The same where the rows that are summed over, k of them, are those of both operands: tokens, as in a gradient of weights. */
int mfu_emit_weight_gradient(struct mfu_builder *, const char *suffix, enum mfu_peak, double m, double n, double k,
                             double batch, int a, int b, int out);

/* Inductor pads operands whose rows are not multiples of 16 bytes. */
void mfu_gemm_align(struct mfu_builder *, struct mfu_kernel *gemm);

/* Of an operation whose weights are those of experts, how many a rank has; 0: it has none. */
double mfu_experts_of(const struct mfu_operation *);

/* ---- nodes ---- */
/* How the node's operation is split. */
static inline enum mfu_split mfu_node_split(const struct mfu_builder *s, const struct mfu_node *n)
{
    return n->op == &s->received ? MFU_SPLIT_NONE : s->split[n->op - s->operations];
}
/* Whether the node is split and its i-th input is not: with sequence parallelism it reads the tokens of all ranks, and the
 * gradient that it gives is a partial sum. */
bool mfu_enters_split(const struct mfu_builder *, const struct mfu_node *, int i);
/* Whether the operation has a trait. */
static inline bool mfu_is(const struct mfu_operation *op, enum mfu_trait trait)
{
    return (op->primitive->traits & trait) != 0;
}
/* Whether one kernel computes this activation and the product that it is the first factor of. */
bool mfu_is_gate(const struct mfu_builder *, const struct mfu_node *activation);
/* Whether such an activation is a gate's: GELU and SiLU. */
bool mfu_activation_gates(const struct mfu_operation *);
/* The view that the node's i-th input produced (token indices: MFU_NO_VIEW). */
int mfu_node_input(struct mfu_builder *, const struct mfu_node *, int i);
int mfu_node_save(struct mfu_node *, int view); /* returns view */
/* Several, one behind the other. */
void mfu_node_saves(struct mfu_node *, int count, const int *views);
#define MFU_SAVE(node, ...) mfu_node_saves(node, sizeof(int[]){__VA_ARGS__} / sizeof(int), (const int[]){__VA_ARGS__})
/* Where some rows of the node's weight, a table, train by themselves (parameter 1): a copy of the table that has them; from the
 * gradient of that, which ends here, theirs. */
#define MFU_TRAINED_ROWS "trained"
int mfu_emit_table(struct mfu_builder *, struct mfu_node *, double rows, double columns);
void mfu_emit_table_gradient(struct mfu_builder *, struct mfu_node *, double trained, int table);
/* Such rows of an operation; 0: none. */
double mfu_trained_rows(const struct mfu_operation *);
/* Type that autocast gives to a matmul's input: a cast, or the view itself. */
int mfu_autocast(struct mfu_builder *, int view);
/* Whether something that the i-th input is made of trains; whether the node's weight
 * (0) or bias (1) does. */
bool mfu_wants_gradient(const struct mfu_builder *, const struct mfu_node *, int i);
/* Whether learned keys and values stand before those of the node. */
static inline bool mfu_has_prefix(const struct mfu_builder *s, const struct mfu_node *n)
{
    return s->prefix != MFU_TOKENS_IN && !s->referring && n->op->primitive->key_elements
        && n->in[MFU_PREFIX] == s->prefix;
}
bool mfu_trains(const struct mfu_builder *, const struct mfu_node *, int which);
/* The type of adapters' weights. */
enum mfu_type mfu_adapter_type(const struct mfu_builder *);
/* Adds to the gradient of the node's i-th input, cast to the input's type. */
void mfu_grad_add(struct mfu_builder *, struct mfu_node *, int i, int view);
/* Adds a view to the gradient that is there (or MFU_NO_VIEW); returns their sum. */
int mfu_grad_sum(struct mfu_builder *, int gradient, int view);

/* Whether the node's result is (or becomes) the logits; in how many pieces
 * these are computed (loss_chunks), 1 for other nodes. */
bool mfu_makes_logits(const struct mfu_builder *, const struct mfu_node *);

/* Whether the tokens of all sequences lie beside each other, which a loop of one's own has sequence by sequence: the model
 * hands over logits that it laid out anew, and gets their gradient the other way round (Megatron-LM d98e8a64, core/models/
 * gpt/gpt_model.py: logits.transpose(0, 1).contiguous()). */
bool mfu_tokens_first(const struct mfu_builder *);
double mfu_logits_chunks(const struct mfu_builder *, const struct mfu_node *);
/* The caller holds the logits until the next forward pass has new ones. */
void mfu_keep_logits(struct mfu_builder *, int logits);

/* Selective checkpointing: when recomputing, the result that was kept of this
 * library call, or MFU_NO_VIEW; in forward, offers a result for keeping (every
 * attention, every second matrix product, as torchtitan does; or all, and a budget chooses). */
int mfu_kept_result(struct mfu_builder *);
void mfu_offer_result(struct mfu_builder *, int view, bool matmul);
/* Whether forward drops the node's result, and backward of its readers makes it anew from what the node read. */
bool mfu_result_dropped(const struct mfu_builder *, int node);
/* Recomputation ends here: only what this node saves is still needed. */
bool mfu_last_recomputed(const struct mfu_builder *, const struct mfu_node *);

/* ---- parameters ---- */
/* The node's weight in the compute type (autocast: a cast copy, made once per
 * forward and kept while it is needed; quantised: made each time). `which`: 0 weight,
 * 1 bias. */
int mfu_node_weight(struct mfu_builder *, struct mfu_node *, int which);
/* In backward: the view that forward saved, or, of a quantised weight, a new one. */
int mfu_node_weight_again(struct mfu_builder *, struct mfu_node *, int saved);
/* The same for a product in fp8: as it is, and by columns.  Megatron quantises once for all micro-steps, or, where the
 * weight lies quantised, transposes. */
void mfu_node_weight_quantised(struct mfu_builder *, struct mfu_node *, int copies[2]);
/* The weight in its own type, for reading by norms and embeddings. */
void mfu_param_grad_add(struct mfu_builder *, struct mfu_node *, int which, int view);
/* The kernel just appended added to the gradient buffer itself. */
void mfu_gradient_in_place(struct mfu_builder *, struct mfu_node *);

/* The share of weights, gradients or optimizer states that this rank holds. */
double mfu_state_share(const struct mfu_builder *, enum mfu_state);
/* Parameters of which this rank holds the state. */
double mfu_state_params(const struct mfu_builder *, enum mfu_state);
/* Bytes of the weights that this rank holds; bytes of a trained parameter, in the mean
 * (of `type` where all train). */
double mfu_state_bytes(const struct mfu_builder *, enum mfu_state);
double mfu_trained_bytes(const struct mfu_builder *, enum mfu_type);
/* Bytes of a trained weight as forward reads it, in the mean. */
double mfu_weight_bytes(const struct mfu_builder *);
/* Whether weights of linears lie quantised and are gathered so. */
bool mfu_weights_sent_as_held(const struct mfu_builder *);
/* FSDP: each of several GPUs holds a part of every weight, in fp32. */
bool mfu_fully_sharded(const struct mfu_builder *);
/* Whether a gradient leaves for its owner, or for the host, as soon as it is complete. */
bool mfu_gradients_leave(const struct mfu_builder *);
/* Whether sharded gradients are added up whole, in the type of their sum, until the last micro-step; shards are there
 * only then. */
bool mfu_gradients_wait_whole(const struct mfu_builder *);
/* Bytes of a gradient as it is summed. */
double mfu_summed_bytes(const struct mfu_builder *);
/* Whether gradients stay after the update, so that every micro-step adds to them. */
bool mfu_gradients_kept(const struct mfu_builder *);
/* Whether a product adds its weight gradient to what earlier micro-steps left, in its own kernel. */
bool mfu_products_add(const struct mfu_builder *);
bool mfu_gradients_offloaded(const struct mfu_builder *);
/* Bytes of a gradient as the CPU's optimizer reads it. */
double mfu_host_gradient_bytes(const struct mfu_builder *);
/* The share of a rank's weights that are on NVMe drives and not in the host's memory. */
double mfu_driven_share(const struct mfu_builder *);
/* The share of the elements that train whose gradients are large enough to be written there. */
double mfu_swapped_gradients(const struct mfu_builder *);
/* Whether a rank holds its part of the weights as masters alone. */
bool mfu_shards_are_masters(const struct mfu_builder *);

#endif
