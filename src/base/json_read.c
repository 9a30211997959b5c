/*
 * json_read.c - JSON as a tree, and back.
 *
 * Where memory fails, Jansson 2.14's reader goes on with a piece of a text, and writes past the end of another
 * (lex_save() takes no notice of strbuffer_append_byte()).  So it never fails while Jansson reads: what malloc() has no
 * room for lies in memory that was set aside before; then the text ends, and the answer is that memory ran out.
 */
#include "base/json_read.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/list.h"
#include "base/once.h"

/* What Jansson is given at once, and what it may ask for to read it: a list or an object for each byte. */
#define PIECE 1024
#define FOR_A_PIECE (256 * (size_t)PIECE)

/* Set aside on this thread while it reads; `at`: from where on nothing lies there; moved on once memory ran out. */
static _Thread_local struct {
    char *begin, *at, *end;
} aside;

/* What a program that uses us as a library had told Jansson, or malloc() and free(). */
static json_malloc_t allocate;
static json_free_t release;

static void *reserve(size_t n)
{
    void *p = allocate(n);

    if (p || !aside.begin || (size_t)(aside.end - aside.at) < n)
        return p;
    p = aside.at;
    aside.at += (n + 15) / 16 * 16;
    if (aside.at > aside.end)
        aside.at = aside.end;
    return p;
}

static void give_back(void *p)
{
    if (!aside.begin || (char *)p < aside.begin || (char *)p >= aside.end)
        release(p);
}

static void reserve_for_all(void)
{
    json_get_alloc_funcs(&allocate, &release);
    json_set_alloc_funcs(reserve, give_back);
}

struct source {
    const char *at, *end;
};

/* Jansson's next piece of a text; none once memory ran out. */
static size_t next_piece(void *to, size_t room, void *from)
{
    struct source *s = from;
    size_t n = (size_t)(s->end - s->at);

    if (aside.at > aside.begin)
        return 0;
    n = n < room ? n : room;
    n = n < PIECE ? n : PIECE;
    memcpy(to, s->at, n);
    s->at += n;
    return n;
}

json_t *mfu_json_read(const char *text, size_t length, size_t flags, struct mfu_error *err)
{
    /* A text that grows is copied into one twice as long. */
    size_t size = FOR_A_PIECE + 4 * length;
    struct source source = {text, text + length};
    json_error_t wrong;
    json_t *value;

    MFU_ONCE(reserve_for_all);
    aside.begin = aside.at = malloc(size);
    if (!aside.begin) {
        mfu_fail(err, MFU_ENOMEM, "out of memory");
        return NULL;
    }
    aside.end = aside.begin + size;
    value = json_load_callback(next_piece, &source, flags, &wrong);
    if (aside.at > aside.begin) {
        json_decref(value);
        value = NULL;
        mfu_fail(err, MFU_ENOMEM, "out of memory");
    } else if (!value) {
        mfu_fail(err, MFU_EINPUT, "no JSON: %s", wrong.text);
        mfu_error_at(err, NULL, wrong.line, wrong.column);
    }
    free(aside.begin);
    aside.begin = NULL;
    return value;
}

/* ---- and back ------------------------------------------------------------- */

struct written {
    char *text;
    size_t n, cap;
    bool failed;
};

/* Jansson does not look at every result: once failed, nothing more is written. */
static int append(const char *bytes, size_t n, void *to)
{
    struct written *w = to;

    w->failed |= !MFU_ROOM(w->text, w->n + n + 1, w->cap);
    if (w->failed)
        return -1;
    memcpy(w->text + w->n, bytes, n);
    w->n += n;
    w->text[w->n] = '\0';
    return 0;
}

char *mfu_json_dumps(const json_t *json, size_t flags)
{
    struct written w = {0};

    if (json_dump_callback(json, append, &w, flags) == 0 && !w.failed)
        return w.text;
    free(w.text);
    return NULL;
}
