/*
 * adapter_tape.h - adapters that are written as the operations of their forward pass: what they keep for backward and what
 * backward computes follow, as autograd's formulas say (PyTorch 2.15, derivatives.yaml).
 *
 * A method of fine-tuning is a function that names its weights and calls these operations on values.  It runs three times:
 * without a program, which counts its weights; in forward, which appends kernels; and in backward, where it only says again what
 * was done, before the steps are walked from the last to the first.
 */
#ifndef MFU_ADAPTER_TAPE_H
#define MFU_ADAPTER_TAPE_H

#include "graph/adapter_steps.h"

struct mfu_tape;

/* What an adapter does; returns its result. */
typedef int mfu_adapter_method_fn(struct mfu_tape *);

/* Of what it adapts: elements of an input and of an output row; its size. */
double mfu_tape_in(const struct mfu_tape *);
double mfu_tape_width(const struct mfu_tape *);
double mfu_tape_size(const struct mfu_tape *);
double mfu_tape_rows(const struct mfu_tape *);
/* Which method it is (enum mfu_adapter_method). */
int mfu_tape_method(const struct mfu_tape *);
/* Another setting of the method: the operation's attribute MFU_ADAPTER_INNER. */
double mfu_tape_setting(const struct mfu_tape *);
/* Of blocks that cut an input row: as many elements as the method's size, or so many blocks. */
double mfu_tape_block(const struct mfu_tape *);
/* b divides a, or the method does not suit. */
void mfu_tape_divides(struct mfu_tape *, double a, double b);
/* `some` of `all` elements are chosen: no more than there are, or the method does not suit (peft refuses it). */
void mfu_tape_holds(struct mfu_tape *, double all, double some);

/* Values: what the product reads and gives; a weight that trains (0 or 1: of which of two parameters it is a part) or one
 * that many adapters share; parameters or, of 4 bytes, other numbers of this adapter that stay as they are; the
 * frozen weight. */
int mfu_tape_input(struct mfu_tape *);
int mfu_tape_base(struct mfu_tape *);
int mfu_tape_weight(struct mfu_tape *, int parameter, double rows, double columns);
int mfu_tape_shared(struct mfu_tape *, bool trains, double rows, double columns);
int mfu_tape_kept(struct mfu_tape *, double rows, double columns);
int mfu_tape_fixed(struct mfu_tape *, double rows, double columns);
int mfu_tape_frozen(struct mfu_tape *);

/* Operations.  A value in another type; batch times [m, k] [k, n]; a * b and a + b, where b may be smaller; one kernel (or
 * `launches`) over a value that gives another, of which backward needs `saves` elements more (of 4 bytes). */
int mfu_tape_cast(struct mfu_tape *, int a, enum mfu_type);
int mfu_tape_product(struct mfu_tape *, int a, int b, double batch, double m, double n, double k);
int mfu_tape_times(struct mfu_tape *, int a, int b);
int mfu_tape_plus(struct mfu_tape *, int a, int b);
/* a times a number, or a tensor's of the adapter's type, which backward keeps; a += b, where a lies; the Kronecker product
 * of both. */
int mfu_tape_scale(struct mfu_tape *, int a, bool by_tensor);
int mfu_tape_add_in_place(struct mfu_tape *, int a, int b);
int mfu_tape_kron(struct mfu_tape *, int a, int b);
int mfu_tape_map(struct mfu_tape *, const char *suffix, int a, double rows, double columns, double launches,
                 double saves);
/* a W^T with W of [width, depth]. */
int mfu_tape_linear(struct mfu_tape *, int a, int weight, double width, double depth);
/* A value that is written anew and never trains. */
int mfu_tape_fill(struct mfu_tape *, const char *suffix, double rows, double columns, enum mfu_type);
/* A function with gradients of its own, of fp32, or of what autocast makes of both values.  `forward` gets the views of
 * both values, gives the view of the result and says what it keeps; `backward` gets the result's gradient and what was
 * kept, and gives both gradients. */
struct mfu_tape_function {
    int (*forward)(struct mfu_tape *, const int in[2], int keeps[2]);
    void (*backward)(struct mfu_tape *, int gradient, const int kept[2], int gradients[2]);
    bool autocast;
};
int mfu_tape_call(struct mfu_tape *, const struct mfu_tape_function *, int a, int b, double rows, double columns);
/* In such functions: a kernel, or so many launches, that reads a and b (or MFU_NO_VIEW) and writes fp32. */
int mfu_tape_pass(struct mfu_tape *, const char *suffix, double rows, double columns, double launches, int a, int b);
/* A product of fp32; of pairs of these that are complex numbers (FlopCounterMode counts one as a real product); of what
 * autocast makes of it. */
enum mfu_tape_math { MFU_TAPE_FP32, MFU_TAPE_COMPLEX, MFU_TAPE_AUTOCAST };
int mfu_tape_small(struct mfu_tape *, enum mfu_tape_math, double batch, double m, double n, double k, int a, int b,
                   int out);
/* What two weights multiply to. */
enum mfu_type mfu_tape_product_type(const struct mfu_tape *);
/* As autocast makes a factor. */
int mfu_tape_operand(struct mfu_tape *, int a);
/* Made the type of the adapter, or of a value. */
int mfu_tape_as_adapter(struct mfu_tape *, int a);
int mfu_tape_like(struct mfu_tape *, int a, int b);
/* Dropped, if lora_dropout says so. */
int mfu_tape_drop(struct mfu_tape *, int a);
/* The base's result and what is added to it, in its type; the same of a product with a whole weight. */
int mfu_tape_added(struct mfu_tape *, int base, int y);
int mfu_tape_beside(struct mfu_tape *, int weight);
/* Backward has it, though it reads it not. */
int mfu_tape_keep(struct mfu_tape *, int a);
/* A variable of the module lives until here. */
void mfu_tape_hold(struct mfu_tape *, int a);

/* For functions with gradients of their own: where their kernels go; the type of a value. */
struct mfu_builder *mfu_tape_builder(struct mfu_tape *);
enum mfu_type mfu_tape_type(const struct mfu_tape *, int a);

/* The primitive's functions: the elements of a method's weights, and its kernels. */
struct mfu_tape_weights {
    double weight[2]; /* that train */
    double kept;      /* that do not */
    double fixed;     /* of 4 bytes, of each adapter; no parameters */
    double shared, shared_trains;
    bool uneven; /* something does not divide what it must, or is more than there is */
};
struct mfu_tape_weights mfu_tape_count(mfu_adapter_method_fn *, const struct mfu_operation *);
void mfu_tape_forward(mfu_adapter_method_fn *method, struct mfu_builder *s, struct mfu_node *n);
void mfu_tape_backward(mfu_adapter_method_fn *method, struct mfu_builder *s, struct mfu_node *n);

#endif
