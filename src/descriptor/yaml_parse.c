/*
 * yaml_parse.c - text to nodes.
 *
 * The text is checked byte by byte, then libfyaml turns it into events, and
 * the events become a tree of our own in an arena.  Events rather than
 * libfyaml's documents: nothing is built beyond our limits, what we refuse is
 * refused where it stands, and every node has its line and column.
 */
#include <ctype.h>
#include <libfyaml.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/printable.h"
#include "descriptor/yaml.h"
#include "descriptor/yaml_tree.h"

#define DEEPEST 32       /* levels (chosen) */
#define MOST_NODES 20000 /* a real descriptor has 150 */

/* The bytes, before libfyaml sees them ----------------------------------- */

/* What must not stand in a file: all that terminals obey but line ends and tabs. */
static bool is_control(uint32_t code)
{
    return mfu_is_control(code) && code != '\n' && code != '\t' && code != '\r';
}

static bool is_blank(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!isspace((unsigned char)text[i]))
            return false;
    return true;
}

/* Whether a line begins so: blanks and the marks of list items, keys and values. */
static bool is_margin(unsigned char c)
{
    return c == ' ' || c == '\t' || c == '-' || c == '?' || c == ':';
}

static int check_bytes(const char *name, const char *text, size_t length, struct mfu_error *err)
{
    const unsigned char *s = (const unsigned char *)text;
    int line = 1, column = 1;
    bool margin = true, tab = false; /* among the blanks just before */
    uint32_t code = 0;

    if (length > MFU_YAML_LARGEST)
        return mfu_fail_at(err, name, 0, 0, "larger than 1 MiB, which no descriptor is");
    for (size_t i = 0, n; i < length; i += n) {
        n = mfu_utf8_character(text + i, length - i, &code);
        if (n == 0 || (code < 0x80 && is_control(code)))
            return mfu_fail_at(err, name, line, column,
                               "byte 0x%02X is not text; is this a "
                               "YAML or JSON file?",
                               s[i]);
        if (is_control(code))
            return mfu_fail_at(err, name, line, column, "U+%04X is a control character, which no text needs",
                               (unsigned)code);
        if (s[i] == '%' && column == 1) {
            /* A `%` within a text that begins a line is no loss either. */
            return mfu_fail_at(err, name, line, column, "directives (%%...) are not read here");
        }
        if (tab && (s[i] == ':' || s[i] == '?' || (s[i] == '-' && (i + 1 == length || isspace(s[i + 1]))))) {
            /* libfyaml 0.7.12 frees an indentation twice on "a:? s:\t:  ?\nb:? q:\t: ? q:\t: ?" and ": ? q:\t::". */
            return mfu_fail_at(err, name, line, column, "a tab stands before '%c': YAML indents with blanks", s[i]);
        }
        if (margin && s[i] == '?' && (i + 1 == length || isspace(s[i + 1]))) {
            /* libfyaml 0.7.12 crashes on "? a:\t:". */
            return mfu_fail_at(err, name, line, column,
                               "keys are written as 'key: value' here, "
                               "not behind a '?'");
        }
        tab = s[i] == '\t' || (tab && s[i] == ' ');
        margin = s[i] == '\n' || s[i] == '\r' || (margin && is_margin(s[i]));
        column++;
        if (s[i] == '\n') {
            line++;
            column = 1;
        }
    }
    return 0;
}

/* Takes memory and gives it back, for small allocations of libfyaml that it must not fail in. */
static bool has_room(size_t bytes)
{
    void *volatile room = malloc(bytes);
    bool there = room != NULL;

    free(room);
    return there;
}

/* From events to nodes --------------------------------------------------- */

struct reader {
    struct mfu_yaml *yaml;
    struct fy_parser *parser;
    struct fy_diag *diag;
    size_t nodes;
    int line, column; /* of the last node that has a place */
    struct mfu_error *err;
};

/* Fails at a mark of libfyaml, which counts from zero; what is not written at
 * all has none and counts as being where the last node was. */
static int fail_at(struct reader *r, const struct fy_mark *mark, const char *problem)
{
    return mfu_fail_at(r->err, r->yaml->name, mark ? mark->line + 1 : r->line, mark ? mark->column + 1 : r->column,
                       "%s", problem);
}

/* What libfyaml found, in its words and our form. */
static int fail_as_told(struct reader *r)
{
    void *position = NULL;
    struct fy_diag_error *e = fy_diag_errors_iterate(r->diag, &position);
    char text[160];
    size_t n;

    while (e && e->type != FYET_ERROR)
        e = fy_diag_errors_iterate(r->diag, &position);
    if (!e || !e->msg)
        return fail_at(r, NULL, "not valid YAML, or out of memory");
    snprintf(text, sizeof text, "%s", e->msg);
    n = strlen(text);
    while (n > 0 && (isspace((unsigned char)text[n - 1]) || text[n - 1] == '.'))
        text[--n] = '\0';
    if (!isupper((unsigned char)text[1]))
        text[0] = (char)tolower((unsigned char)text[0]);
    return mfu_fail_at(r->err, r->yaml->name, e->line > 0 ? e->line : 0, e->line > 0 && e->column > 0 ? e->column : 0,
                       "not valid YAML: %s", text);
}

/* The next event, or NULL with `err` set. */
static struct fy_event *next_event(struct reader *r)
{
    struct fy_event *event = fy_parser_parse(r->parser);

    if (event && !fy_parser_get_stream_error(r->parser))
        return event;
    if (event)
        fy_parser_event_free(r->parser, event);
    fail_as_told(r);
    return NULL;
}

/* What a descriptor must not contain, although YAML has it. */
static int refuse_extras(struct reader *r, struct fy_event *event)
{
    const struct fy_mark *mark = fy_event_start_mark(event);

    if (event->type == FYET_ALIAS)
        return fail_at(r, mark,
                       "aliases (*name) are not read here; "
                       "write the value out");
    if (fy_event_get_anchor_token(event))
        return fail_at(r, fy_token_start_mark(fy_event_get_anchor_token(event)), "anchors (&name) are not read here");
    if (fy_event_get_tag_token(event))
        return fail_at(r, fy_token_start_mark(fy_event_get_tag_token(event)), "tags (!name) are not read here");
    return 0;
}

static int take_text(struct reader *r, struct fy_event *event, struct mfu_yaml_node *node)
{
    struct fy_token *token = event->scalar.value;
    enum fy_scalar_style style = fy_token_scalar_style(token);
    size_t length = 0;
    const struct fy_mark *from = fy_event_start_mark(event), *to = fy_event_end_mark(event);
    const char *text = "";

    /* Without memory its text is "".  "\L" is three bytes. */
    if (token && !has_room(4096 + 2 * (to->input_pos - from->input_pos)))
        return mfu_fail(r->err, MFU_ENOMEM, "out of memory");
    if (token && !(text = fy_token_get_text(token, &length)))
        return fail_as_told(r);
    for (size_t i = 0, n; i < length; i += n) { /* "\x9b" is one only now */
        uint32_t code = 0;

        n = mfu_utf8_character(text + i, length - i, &code);
        if (n == 0 || is_control(code) || code == '\r')
            return fail_at(r, fy_event_start_mark(event), "a text must not contain control characters");
    }
    node->style = !token || style == FYSS_PLAIN                      ? MFU_PLAIN
        : style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED ? MFU_QUOTED
                                                                     : MFU_BLOCK;
    node->text = mfu_arena_copy(&r->yaml->arena, text, length);
    if (!node->text)
        return mfu_fail(r->err, MFU_ENOMEM, "out of memory");
    return 0;
}

/* The node that begins with `event`, its members still to be read. */
static struct mfu_yaml_node *begin_node(struct reader *r, struct fy_event *event, int depth)
{
    const struct fy_mark *mark = fy_event_start_mark(event);
    struct mfu_yaml_node *node;

    if (refuse_extras(r, event) < 0)
        return NULL;
    if (depth > DEEPEST) {
        fail_at(r, mark, "nested more than 32 deep");
        return NULL;
    }
    if (++r->nodes > MOST_NODES) {
        fail_at(r, mark, "more than 20000 values");
        return NULL;
    }
    node = mfu_arena_alloc(&r->yaml->arena, 1, sizeof *node);
    if (!node) {
        mfu_fail(r->err, MFU_ENOMEM, "out of memory");
        return NULL;
    }
    if (mark) {
        r->line = mark->line + 1;
        r->column = mark->column + 1;
    }
    node->line = r->line;
    node->column = r->column;
    node->type = event->type == FYET_MAPPING_START ? MFU_MAPPING
        : event->type == FYET_SEQUENCE_START       ? MFU_SEQUENCE
                                                   : MFU_SCALAR;
    if (event->type == FYET_SCALAR && take_text(r, event, node) < 0)
        return NULL;
    return node;
}

/* Makes the list of members an array. */
static int finish_members(struct reader *r, struct mfu_yaml_node *node, struct mfu_yaml_node *first)
{
    if (node->count == 0)
        return 0;
    node->members = mfu_arena_alloc(&r->yaml->arena, node->count, sizeof *node->members);
    if (!node->members)
        return mfu_fail(r->err, MFU_ENOMEM, "out of memory");
    for (size_t i = 0; first; first = first->next)
        node->members[i++] = first;
    return 0;
}

static int refuse_duplicates(struct reader *r, struct mfu_yaml_node *mapping)
{
    struct mfu_yaml_node **m = mapping->members;

    for (size_t i = 1; i < mapping->count; i++)
        for (size_t j = 0; j < i; j++)
            if (m[i]->key_hash == m[j]->key_hash && strcmp(m[i]->key, m[j]->key) == 0)
                return mfu_fail_at(r->err, r->yaml->name, m[i]->key_line, m[i]->key_column,
                                   "'%.80s' is given twice, first in "
                                   "line %d",
                                   m[i]->key, m[j]->key_line);
    return 0;
}

static struct mfu_yaml_node *read_node(struct reader *, struct fy_event *, int depth);

/* A member of a mapping, from the event of its key. */
static struct mfu_yaml_node *read_pair(struct reader *r, struct fy_event *event, int depth)
{
    struct mfu_yaml_node *key = read_node(r, event, depth), *value;

    if (!key)
        return NULL;
    if (key->type != MFU_SCALAR || key->style == MFU_BLOCK) {
        mfu_fail(r->err, MFU_EINPUT, "a key must be a word");
        mfu_error_at(r->err, r->yaml->name, key->line, key->column);
        return NULL;
    }
    event = next_event(r);
    value = event ? read_node(r, event, depth) : NULL;
    if (!value)
        return NULL;
    value->key = key->text;
    value->key_hash = mfu_hash_text(MFU_HASH, key->text);
    value->key_line = key->line;
    value->key_column = key->column;
    return value;
}

/* Reads the node that begins with `event`, which it releases. */
static struct mfu_yaml_node *read_node(struct reader *r, struct fy_event *event, int depth)
{
    struct mfu_yaml_node *node = begin_node(r, event, depth);
    struct mfu_yaml_node *first = NULL, **end = &first;

    fy_parser_event_free(r->parser, event);
    if (!node || node->type == MFU_SCALAR)
        return node;
    for (;;) {
        struct mfu_yaml_node *member;

        event = next_event(r);
        if (!event)
            return NULL;
        if (event->type == FYET_MAPPING_END || event->type == FYET_SEQUENCE_END)
            break;
        member = node->type == MFU_MAPPING ? read_pair(r, event, depth + 1) : read_node(r, event, depth + 1);
        if (!member)
            return NULL;
        *end = member;
        end = &member->next;
        node->count++;
    }
    fy_parser_event_free(r->parser, event);
    if (finish_members(r, node, first) < 0 || (node->type == MFU_MAPPING && refuse_duplicates(r, node) < 0))
        return NULL;
    return node;
}

/* The whole stream, which must be one document. */
static int read_stream(struct reader *r)
{
    for (;;) {
        struct fy_event *event = next_event(r);
        enum fy_event_type type = event ? event->type : FYET_NONE;
        bool first = r->yaml->root == NULL;
        int result = 0;

        if (!event)
            return -1;
        if (type == FYET_STREAM_START || type == FYET_DOCUMENT_END || type == FYET_STREAM_END
            || (type == FYET_DOCUMENT_START && first)) {
            /* nothing to note */
        } else if (type == FYET_DOCUMENT_START) {
            result = fail_at(r, fy_event_start_mark(event), "a second document begins here; one file is one");
        } else {
            r->yaml->root = read_node(r, event, 1);
            event = NULL;
            result = r->yaml->root ? 0 : -1;
        }
        if (event)
            fy_parser_event_free(r->parser, event);
        if (result < 0)
            return -1;
        if (type == FYET_STREAM_END)
            break;
    }
    if (!r->yaml->root)
        return fail_at(r, NULL, "nothing is written in it");
    return 0;
}

/* Documents -------------------------------------------------------------- */

static void say_nothing(struct fy_diag *diag, void *user, const char *text, size_t length)
{
    (void)diag, (void)user, (void)text, (void)length;
}

/* libfyaml made silent: errors are kept for us, all else goes nowhere. */
static struct fy_diag *quiet_diag(void)
{
    struct fy_diag_cfg config;
    struct fy_diag *diag;

    fy_diag_cfg_default(&config);
    config.fp = NULL;
    config.output_fn = say_nothing;
    config.level = FYET_ERROR;
    diag = fy_diag_create(&config);
    if (diag)
        fy_diag_set_collect_errors(diag, true);
    return diag;
}

/* Lets libfyaml read text[0..length) into r->yaml. */
static int parse(struct reader *r, const char *text, size_t length)
{
    struct fy_parse_cfg config = {
        .flags = FYPCF_QUIET | FYPCF_COLLECT_DIAG | FYPCF_JSON_NONE | FYPCF_SLOPPY_FLOW_INDENTATION,
    };
    int result = -1;

    r->diag = quiet_diag();
    config.diag = r->diag;
    r->parser = r->diag ? fy_parser_create(&config) : NULL;
    /* Before 0.9.6 it crashes when one of fy_parse_input_append()'s two allocations fails, 400 bytes in 0.7.12: it looks
     * whether another pointer is null. */
    if (!r->parser || !has_room(4096) || fy_parser_set_string(r->parser, text, length) < 0)
        mfu_fail(r->err, MFU_ENOMEM, "out of memory");
    else
        result = read_stream(r);
    fy_parser_destroy(r->parser);
    fy_diag_destroy(r->diag);
    return result;
}

int mfu_yaml_fill(struct mfu_yaml *yaml, const char *text, size_t length, struct mfu_error *err)
{
    struct reader r = {.yaml = yaml, .err = err};

    if (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        text += 3; /* a byte order mark says nothing */
        length -= 3;
    }
    if (check_bytes(yaml->name, text, length, err) < 0)
        return -1;
    if (is_blank(text, length))
        return mfu_fail_at(err, yaml->name, 0, 0, "nothing is written in it");
    return parse(&r, text, length);
}
