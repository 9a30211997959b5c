/*
 * emit.h - large trees of objects, written as they are walked through.
 *
 * A trace has a hundred thousand events: it is written down one by one, never
 * held.  The same walk writes JSON or (pickle.h) a Python pickle.
 *
 *     struct mfu_emit e;
 *     mfu_emit_begin(&e, out, &mfu_emit_json);
 *     mfu_emit_object(&e);
 *     mfu_emit_text(&e, "name", "h.attn.qkv");
 *     mfu_emit_array(mfu_emit_key(&e, "blocks"));
 *     ...
 *     mfu_emit_close(&e);
 *     mfu_emit_close(&e);
 *     mfu_emit_end(&e);
 *
 * Keys are string constants: a form may remember them by their address.
 * Errors of the stream stay in the stream, for whoever closes it.
 */
#ifndef MFU_EMIT_H
#define MFU_EMIT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define MFU_EMIT_DEPTH 12
#define MFU_EMIT_KEYS 64

struct mfu_emit;

struct mfu_emit_form {
    void (*begin)(struct mfu_emit *);
    void (*between)(struct mfu_emit *); /* before every value but the first */
    void (*open)(struct mfu_emit *, bool object);
    void (*close)(struct mfu_emit *, bool object);
    void (*key)(struct mfu_emit *, const char *);
    void (*text)(struct mfu_emit *, const char *);
    void (*integer)(struct mfu_emit *, int64_t);
    void (*number)(struct mfu_emit *, double);
    void (*boolean)(struct mfu_emit *, bool);
    void (*end)(struct mfu_emit *);
};

struct mfu_emit {
    FILE *out;
    const struct mfu_emit_form *form;
    int depth;
    struct { bool object; int64_t n; } level[MFU_EMIT_DEPTH];
    const char *keys[MFU_EMIT_KEYS];    /* that the form remembers */
    int n_keys;
};

extern const struct mfu_emit_form mfu_emit_json;

void mfu_emit_begin(struct mfu_emit *, FILE *, const struct mfu_emit_form *);
void mfu_emit_end(struct mfu_emit *);

void mfu_emit_object(struct mfu_emit *);
void mfu_emit_array(struct mfu_emit *);
void mfu_emit_close(struct mfu_emit *);         /* the innermost of them */

/* The next value belongs to this key; returns its argument. */
struct mfu_emit *mfu_emit_key(struct mfu_emit *, const char *key);

/* Members of an object, or with `key` NULL elements of an array.  A number that
 * is not finite is written as 0. */
void mfu_emit_text(struct mfu_emit *, const char *key, const char *text);
void mfu_emit_integer(struct mfu_emit *, const char *key, int64_t);
void mfu_emit_number(struct mfu_emit *, const char *key, double);
void mfu_emit_boolean(struct mfu_emit *, const char *key, bool);

#endif
