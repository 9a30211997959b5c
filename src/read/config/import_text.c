/*
 * import_text.c - taking files of other programs apart: assignments, command
 * lines, trees.  None of them is a full parser of its language; what they do
 * not take apart is an entry of its own, which says so later.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "read/config/import.h"
#include "base/error.h"
#include "descriptor/yaml.h"

static bool in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

/* ---- assignments --------------------------------------------------------- */

/* The end of a value: a comment, or the end of the line, outside of quotes. */
static size_t value_length(const char *p)
{
    char quote = '\0';
    size_t n = 0;

    for (; p[n] && p[n] != '\n'; n++)
        if (quote)
            quote = p[n] == quote ? '\0' : quote;
        else if (p[n] == '"' || p[n] == '\'')
            quote = p[n];
        else if (p[n] == '#')
            break;
    while (n > 0 && isspace((unsigned char)p[n - 1]))
        n--;
    return n;
}

/* A value without its quotes, if it is one text in quotes. */
static void unquote(const char **value, size_t *n)
{
    char quote = *n >= 2 ? **value : '\0';

    if ((quote == '"' || quote == '\'') && (*value)[*n - 1] == quote && !memchr(*value + 1, quote, *n - 2)) {
        ++*value;
        *n -= 2;
    }
}

/* Where a text in three quotes ends: behind them; NULL when it does not begin here. */
static const char *documentation(const char *p)
{
    const char *end;

    if (strncmp(p, "\"\"\"", 3) != 0 && strncmp(p, "'''", 3) != 0)
        return NULL;
    end = strstr(p + 3, strncmp(p, "'''", 3) == 0 ? "'''" : "\"\"\"");
    return end ? end + 3 : p + strlen(p);
}

/* A list goes on until its brackets are closed. */
static size_t list_length(const char *p)
{
    int depth = 0;

    for (size_t n = 0; p[n]; n++) {
        depth += p[n] == '[' || p[n] == '{';
        depth -= p[n] == ']' || p[n] == '}';
        if (depth == 0)
            return n + 1;
    }
    return strlen(p);
}

static void add_assignment(struct mfu_import *m, const char *section, const char *name, size_t length,
                           const char *value, size_t size, int line)
{
    char full[200];

    unquote(&value, &size);
    snprintf(full, sizeof full, "%s%s%.*s", section, *section ? "." : "", (int)(length < 100 ? length : 100), name);
    mfu_import_add(m, full, strlen(full), value, size, line);
}

int mfu_import_assignments(struct mfu_import *m, const char *path, const char *text, struct mfu_error *err)
{
    char section[96] = "";
    int line = 1;

    for (const char *p = text, *next; *p && !m->failed; p = next) {
        size_t blank = strspn(p, " \t"), n, size;
        const char *q = p + blank, *equals, *end;

        next = p + strcspn(p, "\n");
        n = 0;
        while (in_name(q[n]))
            n++;
        equals = q + n + strspn(q + n, " \t");
        if ((end = documentation(q)))
            next = end + strcspn(end, "\n");
        else if (*q == '[') {
            snprintf(section, sizeof section, "%.*s", (int)strcspn(q + 1, "]\n"), q + 1);
        } else if (n > 0 && *equals == '=' && equals[1] != '=') {
            const char *value = equals + 1 + strspn(equals + 1, " \t");

            size = *value == '[' || *value == '{' ? list_length(value) : value_length(value);
            if (value + size > next)
                next = value + size + strcspn(value + size, "\n");
            add_assignment(m, section, q, n, value, size, line);
        } else if (*q != '#' && *q != '\n' && *q != '\r' && *q)
            mfu_import_add(m, q, value_length(q), "", 0, line);
        for (const char *c = p; c < next; c++)
            line += *c == '\n';
        line += *next == '\n';
        next += *next == '\n';
    }
    return m->failed ? mfu_import_fail(m, path, err) : 0;
}

/* ---- command lines ------------------------------------------------------- */

/* The value of a shell variable that was set before, or NULL. */
static const struct mfu_entry *variable(struct mfu_import *m, const char *name, size_t n)
{
    for (int i = m->n - 1; i >= 0; i--)
        if (m->entries[i].name[0] == '$' && strlen(m->entries[i].name) == n + 1
            && strncmp(m->entries[i].name + 1, name, n) == 0)
            return &m->entries[i];
    return NULL;
}

/* A word while it is put together. */
struct word {
    char *text;
    size_t n, size;
};

static void append(struct word *w, const char *text, size_t n)
{
    for (; n > 0 && w->n + 1 < w->size; n--)
        w->text[w->n++] = *text++;
    w->text[w->n] = '\0';
}

/* $NAME, ${NAME} and ${NAME:-otherwise} at `p` become what was set before; returns
 * the last character that belongs to it, or NULL where no variable stands. */
static const char *append_variable(struct mfu_import *m, const char *p, struct word *w)
{
    bool braces = p[0] == '$' && p[1] == '{';
    const char *name = p + 1 + braces, *end, *otherwise;
    const struct mfu_entry *v;
    size_t n = 0;

    if (*p != '$') /* first: what follows is looked at once, not from each of its characters */
        return NULL;
    while (isalnum((unsigned char)name[n]) || name[n] == '_')
        n++;
    if (n == 0)
        return NULL;
    v = variable(m, name, n);
    end = name + n;
    otherwise = braces && end[0] == ':' && end[1] == '-' ? end + 2 : NULL;
    if (braces && (otherwise || *end == '}'))
        end += strcspn(end, "}\n");
    else
        end--;
    if (v)
        append(w, v->value, strlen(v->value));
    else if (otherwise) {
        size_t length = (size_t)(end - otherwise);

        unquote(&otherwise, &length);
        append(w, otherwise, length);
    } else {
        append(w, "$", 1);
        append(w, name, n);
    }
    return *end == '\n' || !*end ? end - 1 : end;
}

/* Copies a word: quotes go, variables are put in, $((4*2)) becomes 4*2. */
static const char *read_word(struct mfu_import *m, const char *p, char *word, size_t size)
{
    struct word w = {.text = word, .size = size};
    char quote = '\0';
    int depth = 0;

    *word = '\0';
    for (; *p && w.n + 1 < size; p++) {
        const char *end;

        if (*p == '\\' && p[1] == '\n' && !quote)
            break;
        if (*p == '\\' && p[1] == '\n')
            continue; /* the line goes on, and so does the text */
        if (!quote && depth == 0 && isspace((unsigned char)*p))
            break;
        if (strncmp(p, "$((", 3) == 0) {
            depth++;
            p += 2;
        } else if (depth > 0 && p[0] == ')' && p[1] == ')') {
            depth--;
            p++;
        } else if ((*p == '"' || *p == '\'') && (!quote || quote == *p))
            quote = quote ? '\0' : *p;
        else if (quote != '\'' && (end = append_variable(m, p, &w)))
            p = end;
        else
            append(&w, p, 1);
    }
    return p;
}

/* --name, -n; not -1. */
static bool is_option(const char *word)
{
    return word[0] == '-' && (word[1] == '-' ? word[2] != '\0' : isalpha((unsigned char)word[1]) != 0);
}

static const char *skip(const char *p, int *line)
{
    for (;; p++) {
        if (*p == '#') /* at the beginning of a word */
            p += strcspn(p, "\n");
        if (*p == '\n')
            ++*line;
        if (!*p || (!isspace((unsigned char)*p) && !(*p == '\\' && (p[1] == '\n' || p[1] == '\r'))))
            return p;
    }
}

#define WORD 4096 /* older scripts keep all arguments in one variable */

static void take_words(struct mfu_import *m, const char *text, int line, int depth);

/* NAME=value; a value that holds options is taken apart here, and not where the
 * variable is used. */
static void add_variable(struct mfu_import *m, const char *word, size_t n, int line, int depth)
{
    const char *value = word + n + 1;
    bool options = is_option(value + strspn(value, " \t\n"));
    char name[100];
    struct mfu_entry *e;

    snprintf(name, sizeof name, "$%.*s", (int)(n < 90 ? n : 90), word);
    if ((e = mfu_import_add(m, name, strlen(name), value, options ? 0 : strlen(value), line)))
        e->fate = MFU_IGNORED;
    if (options)
        take_words(m, value, line, depth + 1);
}

/* --name, --name=value or "--name value ..."; returns the option if a value may follow. */
static struct mfu_entry *add_option(struct mfu_import *m, const char *word, int line, int depth)
{
    size_t n = strcspn(word, "= \t\n");

    if (word[n] && word[n] != '=' && depth < 3) {
        take_words(m, word, line, depth + 1);
        return NULL;
    }
    if (word[n])
        mfu_import_add(m, word, n, word + n + 1, strlen(word + n + 1), line);
    return word[n] ? NULL : mfu_import_add(m, word, n, "", 0, line);
}

/* Whether an option takes all words up to the next one (argparse's nargs="+"). */
static bool takes_list(const struct mfu_import *m, const struct mfu_entry *e)
{
    for (const char *const *list = m->format->lists; list && *list; list++)
        if (strcmp(*list, e->name) == 0)
            return true;
    return false;
}

/* && || ; | & > 2>&1: what follows belongs to no option. */
static bool is_operator(const char *word)
{
    word += strspn(word, "0123456789");
    return *word && strchr("&|;<>", *word);
}

/* ${ARRAY[@]}, $@: options that are read where the array is written. */
static bool is_expansion(const char *word)
{
    if (*word != '$')
        return false;
    word += strspn(word, "${");
    return *word == '@' || *word == '*' || strstr(word, "[@]") || strstr(word, "[*]");
}

/* The length of NAME= or NAME+= before the bracket of a list of bash; 0: none. */
static size_t array_name(const char *word)
{
    size_t n = 0;

    while (isalnum((unsigned char)word[n]) || word[n] == '_')
        n++;
    if (n == 0)
        return 0;
    n += word[n] == '+';
    return word[n] == '=' && word[n + 1] == '(' ? n + 1 : 0;
}

static void take_words(struct mfu_import *m, const char *text, int line, int depth)
{
    struct mfu_entry *last = NULL; /* an option that may take this word */
    char word[WORD] = "", list[2 * WORD];

    for (const char *p = skip(text, &line); *p && !m->failed && depth < 4; p = skip(p, &line)) {
        const char *from = p;
        size_t n = 0, array;
        int here = line;
        bool ends;

        p = read_word(m, p, word, sizeof word);
        for (const char *c = from; c < p; c++)
            line += *c == '\n';
        if (p == from)
            p++;
        if ((array = array_name(word)) > 0) {
            memmove(word, word + array + 1, strlen(word + array + 1) + 1);
            last = NULL;
        }
        while (isalnum((unsigned char)word[n]) || word[n] == '_')
            n++;
        ends = *word && (word[strlen(word) - 1] == ';' || (word[strlen(word) - 1] == ')' && !strchr(word, '(')));
        if (ends)
            word[strlen(word) - 1] = '\0'; /* the end of a list of bash, or of a command */
        if (is_option(word))
            last = add_option(m, word, here, depth);
        else if (last && *word && !is_operator(word) && !is_expansion(word)) {
            snprintf(list, sizeof list, "%s%s%s", last->value, *last->value ? "," : "", word);
            last->value = mfu_arena_copy(&m->arena, list, strlen(list));
            m->failed |= !last->value;
            last = takes_list(m, last) ? last : NULL;
        } else {
            if (n > 0 && word[n] == '=')
                add_variable(m, word, n, here, depth);
            last = NULL;
        }
        if (ends)
            last = NULL;
    }
}

int mfu_import_arguments(struct mfu_import *m, const char *path, const char *text, struct mfu_error *err)
{
    take_words(m, text, 1, 0);
    return m->failed ? mfu_import_fail(m, path, err) : 0;
}

/* ---- trees --------------------------------------------------------------- */

#define DEEPEST 16 /* levels of a tree (chosen) */

static void add_node(struct mfu_import *m, struct mfu_yaml *yaml, struct mfu_yaml_node *node, const char *name,
                     int depth)
{
    struct mfu_error place = {0};
    char longer[256];

    if (depth > DEEPEST || m->failed)
        return;
    if (mfu_node_type(node) == MFU_MAPPING) {
        for (size_t i = 0; i < mfu_node_count(node); i++) {
            snprintf(longer, sizeof longer, "%.180s%s%.60s", name, *name ? "." : "", mfu_node_key(node, i));
            add_node(m, yaml, mfu_node_value(node, i), longer, depth + 1);
        }
        return;
    }
    if (mfu_node_type(node) == MFU_SEQUENCE && mfu_node_count(node) > 0) {
        for (size_t i = 0; i < mfu_node_count(node) && i < 100; i++) {
            snprintf(longer, sizeof longer, "%.230s[%zu]", name, i);
            add_node(m, yaml, mfu_node_item(node, i), longer, depth + 1);
        }
        return;
    }
    mfu_fail(&place, MFU_EINPUT, "-");
    mfu_node_error(yaml, node, &place);
    if (mfu_node_absent(node))
        mfu_import_add(m, name, strlen(name), "null", 4, place.line);
    else if (mfu_node_type(node) == MFU_SEQUENCE)
        mfu_import_add(m, name, strlen(name), "[]", 2, place.line);
    else
        mfu_import_add(m, name, strlen(name), mfu_node_text(node), strlen(mfu_node_text(node)), place.line);
}

int mfu_import_tree(struct mfu_import *m, const char *path, const char *text, struct mfu_error *err)
{
    struct mfu_yaml *yaml = mfu_yaml_parse(path, text, strlen(text), err);

    if (!yaml)
        return -1;
    if (mfu_node_type(mfu_yaml_root(yaml)) != MFU_MAPPING)
        mfu_fail(err, MFU_EINPUT, "%s: is no mapping of names to values", path);
    else
        add_node(m, yaml, mfu_yaml_root(yaml), "", 0);
    if (mfu_node_type(mfu_yaml_root(yaml)) != MFU_MAPPING || m->failed) {
        if (m->failed)
            mfu_import_fail(m, path, err);
        mfu_yaml_free(yaml);
        return -1;
    }
    mfu_yaml_free(yaml);
    return 0;
}
