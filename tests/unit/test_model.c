/* test_model.c - architectures as data, and the slips that they must not have. */
#include "near.h"
#include "scratch.h"

#include "base/error.h"
#include "descriptor/model.h"
#include "descriptor/yaml.h"

static const char tiny[] = "name: Tiny\n"
                           "family: gpt\n"
                           "source: made up\n"
                           "published_params: 124439808\n"
                           "dims:\n"
                           "  d_ff: 4*n_embd\n"
                           "  n_layer: 12\n"
                           "  n_head: 12\n"
                           "  n_kv_head: n_head\n"
                           "  head_dim: n_embd/n_head\n"
                           "  n_embd: 768\n"
                           "  vocab_size: 50304\n"
                           "  seq: 1k\n"
                           "  bias: false\n"
                           "  dropout: 0\n"
                           "graph:\n"
                           "  - name: embed\n"
                           "    ops:\n"
                           "      - {op: embedding, name: wte, rows: vocab_size, width: n_embd}\n"
                           "      - {op: embedding, name: wpe, rows: seq, width: n_embd, index: position}\n"
                           "      - {op: add, in: [wte, wpe]}\n"
                           "      - {op: dropout, when: dropout > 0}\n"
                           "  - name: h\n"
                           "    repeat: n_layer\n"
                           "    ops:\n"
                           "      - {op: norm, name: ln_1, bias: bias}\n"
                           "      - {op: linear, name: attn.qkv, width: 3*n_embd, bias: true}\n"
                           "      - {op: attention, name: attn.core}\n"
                           "      - {op: linear, name: attn.proj, width: n_embd}\n"
                           "      - {op: add, in: [input, attn.proj]}\n"
                           "      - {op: norm, name: ln_2, kind: rms}\n"
                           "      - {op: linear, name: mlp.fc, width: d_ff}\n"
                           "      - {op: activation, name: mlp.act, kind: gelu_tanh}\n"
                           "      - {op: linear, name: mlp.proj, width: n_embd}\n"
                           "      - {op: add, in: [add, mlp.proj]}\n"
                           "  - name: head\n"
                           "    ops:\n"
                           "      - {op: norm, name: ln_f}\n"
                           "      - {op: linear, name: lm_head, width: vocab_size, shares: wte}\n"
                           "      - {op: loss}\n"
                           "huggingface:\n"
                           "  model_type: [gpt2, gpt_tiny]\n"
                           "  dims:\n"
                           "    n_layer: n_layer\n"
                           "    n_embd: [hidden_size, n_embd]\n"
                           "    d_ff: n_inner\n"
                           "    bias: use_bias\n"
                           "    dropout: resid_pdrop\n"
                           "  defaults: {n_layer: 6, d_ff: 3*n_embd, bias: true}\n";

/* Replaces the first `from` in the text by `to`. */
static char *with(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    char *all = malloc(strlen(text) + strlen(to) + 1);

    assert_non_null(at);
    assert_non_null(all);
    memcpy(all, text, (size_t)(at - text));
    strcpy(all + (at - text), to);
    strcat(all, at + strlen(from));
    return all;
}

static struct mfu_model *parse(const char *text, struct mfu_error *err)
{
    struct mfu_yaml *yaml = mfu_yaml_parse("models/tiny.yaml", text, strlen(text), err);
    struct mfu_model *m = yaml ? mfu_model_parse(yaml, NULL, err) : NULL;

    mfu_yaml_free(yaml);
    return m;
}

static struct mfu_model *accepted(const char *text)
{
    struct mfu_error err = {0};
    struct mfu_model *m = parse(text, &err);

    if (!m)
        fail_msg("%s:%d:%d: %s", err.file, err.line, err.column, err.text);
    return m;
}

static double value_of(const struct mfu_model *m, const char *dim)
{
    double values[MFU_MAX_DIMS];
    int i = mfu_model_dim_find(m, dim, NULL);

    assert_true(i >= 0);
    mfu_model_dim_values(m, values);
    return values[i];
}

/* An attribute of an op with the dims as the file has them. */
static double attribute(const struct mfu_model *m, int op, int i)
{
    double values[MFU_MAX_DIMS];

    assert_true(op < m->n_ops);
    mfu_model_dim_values(m, values);
    return mfu_expression_eval(m->ops[op].attribute[i], values);
}

static void dims_depend_on_each_other_in_any_order(void **state)
{
    struct mfu_model *m = accepted(tiny);
    struct mfu_error err = {0};

    (void)state;
    assert_string_equal(m->slug, "tiny");
    assert_string_equal(m->name, "Tiny");
    assert_string_equal(m->family, "gpt");
    assert_near(m->published_params, 124439808, 0);
    assert_int_equal(m->n_dims, 10);
    assert_string_equal(m->dims[0].name, "d_ff");
    assert_string_equal(m->dims[0].text, "4*n_embd");
    assert_near(value_of(m, "d_ff"), 3072, 0);
    assert_near(value_of(m, "n_kv_head"), 12, 0);
    assert_near(value_of(m, "head_dim"), 64, 0);
    assert_near(value_of(m, "seq"), 1024, 0);
    assert_true(value_of(m, "bias") == 0);
    assert_int_equal(mfu_model_dim_find(m, "n_emdb", &err), -1);
    assert_string_equal(err.text, "no dim is called 'n_emdb'");
    assert_string_equal(err.suggestion, "n_embd");
    mfu_model_free(m);
    mfu_model_free(NULL);
}

static void ops_read_the_one_before_unless_told_otherwise(void **state)
{
    struct mfu_model *m = accepted(tiny);
    const struct mfu_model_op *op = m->ops;

    (void)state;
    assert_int_equal(m->n_sections, 3);
    assert_int_equal(m->n_ops, 17);
    assert_null(m->sections[0].repeat);
    assert_non_null(m->sections[1].repeat);
    assert_int_equal(m->sections[1].first, 4);
    assert_int_equal(m->sections[1].count, 10);
    assert_int_equal(op[0].n_in, 0); /* wte */
    assert_int_equal(op[1].n_in, 0); /* wpe */
    assert_string_equal(op[2].name, "add");
    assert_int_equal(op[2].n_in, 2);
    assert_int_equal(op[2].in[0], 0);
    assert_int_equal(op[2].in[1], 1);
    assert_non_null(op[3].when);
    assert_null(op[2].when);
    assert_int_equal(op[4].in[0], MFU_SECTION_INPUT);
    assert_int_equal(op[5].in[0], 4);
    assert_string_equal(op[5].module, "attn");
    assert_null(op[4].module);
    assert_int_equal(op[8].in[0], MFU_SECTION_INPUT);
    assert_int_equal(op[8].in[1], 7);
    assert_string_equal(op[8].name, "add");
    assert_string_equal(op[13].name, "add2");
    assert_int_equal(op[13].in[0], 8);
    assert_int_equal(op[15].shares, 0); /* lm_head: wte */
    assert_int_equal(op[14].shares, -1);
    assert_string_equal(op[16].name, "loss");
    mfu_model_free(m);
}

static void attributes_are_numbers_expressions_or_choices(void **state)
{
    struct mfu_model *m = accepted(tiny);

    (void)state;
    assert_near(attribute(m, 0, 0), 50304, 0); /* wte: rows */
    assert_true(attribute(m, 0, 2) == 0);      /* index: token */
    assert_near(attribute(m, 1, 2), 1, 0);     /* index: position */
    assert_true(attribute(m, 4, 0) == 0);      /* ln_1: kind, as assumed */
    assert_near(attribute(m, 9, 0), 1, 0);     /* ln_2: rms */
    assert_near(attribute(m, 5, 0), 3 * 768, 0);
    assert_near(attribute(m, 5, 1), 1, 0);  /* bias: true */
    assert_near(attribute(m, 6, 0), 12, 0); /* heads: n_head, as assumed */
    assert_near(attribute(m, 6, 2), 64, 0);
    assert_near(attribute(m, 11, 0), 1, 0); /* gelu_tanh */
    assert_near(attribute(m, 2, 0), 0, 0);  /* add: into, as assumed */
    assert_null(m->ops[2].attribute[2]);
    mfu_model_free(m);
}

static void slips_are_refused_where_they_stand(void **state)
{
    // clang-format off
    static const struct { const char *from, *to, *message, *suggestion; int line, column; } rows[] = {
        {"name: Tiny\n", "", "'name' is missing", "", 1, 1},
        {"family:", "famly:", "unknown key 'famly'", "family", 2, 1},
        {"124439808", "1.5", "published_params: expected a whole number", "", 4, 19},
        {"n_layer: 12", "n layer: 12", "'n layer' cannot be the name of a dim: letters, digits and _, no word of expressions", "", 7, 3},
        {"n_layer: 12", "not: 12", "'not' cannot be the name of a dim: letters, digits and _, no word of expressions", "", 7, 3},
        {"n_layer: 12", "n_layer:", "n_layer: expected a number, true, false or an expression such as 4*n_embd", "", 7, 3},
        {"n_layer: 12", "n_layer: [12]", "n_layer: expected a number, true, false or an expression such as 4*n_embd", "", 7, 12},
        {"4*n_embd", "4*n_emb", "d_ff: no dim is called 'n_emb'", "n_embd", 6, 11},
        {"4*n_embd", "'4*(n_embd'", "d_ff: ')' is missing at the end", "", 6, 19},
        {"n_embd: 768", "n_embd: head_dim*n_head", "head_dim: depends on itself: head_dim -> n_embd -> head_dim", "", 10, 13},
        {"n_layer: 12", "n_layer: n_layer", "n_layer: depends on itself: n_layer -> n_layer", "", 7, 12},
        {"n_layer: 12", "n_layer: 1/0", "n_layer: '1/0' is not a number", "", 7, 12},
        {"{op: embedding, name: wte", "{op: embeding, name: wte", "no primitive is called 'embeding'", "embedding", 19, 14},
        {"{op: loss}", "loss", "expected an operation such as {op: linear, name: mlp.fc, width: d_ff}", "", 40, 9},
        {"rows: seq", "row: seq", "embedding 'wpe': unknown attribute 'row'", "rows", 20, 36},
        {", rows: seq", "", "embedding 'wpe': 'rows' is missing (entries of the table)", "", 20, 9},
        {"index: position", "index: positon", "embedding 'wpe': index: 'positon' is none of token, position or sequence", "position", 20, 69},
        {"index: position", "index: 1", "embedding 'wpe': index: '1' is none of token, position or sequence", "", 20, 69},
        {"width: d_ff", "width: d_fff", "linear 'mlp.fc': width: no dim is called 'd_fff'", "d_ff", 32, 43},
        {"bias: bias", "bias: bias +", "norm 'ln_1': bias: a value is missing at the end", "", 26, 44},
        {"in: [wte, wpe]", "in: [wte, wpa]", "add 'add': in: no operation above is called 'wpa'", "wpe", 21, 29},
        {"in: [wte, wpe]", "in: [wte]", "add 'add': reads 2 inputs, not 1", "", 21, 23},
        {"in: [wte, wpe]", "in: [wte, wpe, wte]", "add 'add': reads 2 inputs, not 3", "", 21, 34},
        {", in: [wte, wpe]", "", "add 'add': reads 2 inputs; name them, as in in: [input, mlp.proj]", "", 21, 9},
        {"in: [wte, wpe]", "in: [wte, input]", "add 'add': in: the first section is given nothing", "", 21, 29},
        {"in: [wte, wpe]", "in: [wte, dropout]", "add 'add': in: 'dropout' comes later; only what is above can be read", "", 21, 29},
        {"in: [add, mlp.proj]", "in: [add2, mlp.proj]", "add 'add2': in: 'add2' is this operation itself", "", 35, 24},
        {"name: ln_f}", "name: ln_f, in: mlp.fc}", "norm 'ln_f': in: 'mlp.fc' is in 'h', which is repeated; what comes out of that is 'input' of the section after it", "", 38, 36},
        {"name: wpe,", "name: wte,", "'wte' is already the name of another operation of this section", "", 20, 31},
        {"name: wpe,", "name: input,", "'input' cannot be the name of an operation", "", 20, 31},
        {"shares: wte", "shares: add", "linear 'lm_head': shares: add has no weight that could be shared", "", 39, 64},
        {"shares: wte", "shares: wtee", "linear 'lm_head': shares: no operation above is called 'wtee'", "wte", 39, 64},
        {"when: dropout > 0", "when: drop > 0", "dropout 'dropout': when: no dim is called 'drop'", "dropout", 22, 29},
        {"{op: embedding, name: wte, rows: vocab_size, width: n_embd}", "{op: norm}", "norm 'norm': there is nothing before it to read; a model begins with something like an embedding", "", 19, 9},
        {"- name: head", "- name: h", "a second section is called 'h'", "", 36, 11},
        {"repeat: n_layer", "repeat: n_layers", "repeat: no dim is called 'n_layers'", "n_layer", 24, 13},
        {"repeat: n_layer", "repat: n_layer", "unknown key 'repat'", "repeat", 24, 5},
        {"graph:", "garph:", "unknown key 'garph'", "graph", 16, 1},
        {"n_layer: n_layer\n", "n_layers: n_layer\n", "huggingface: dims: unknown dim 'n_layers'", "n_layer", 44, 5},
        {"d_ff: n_inner", "d_ff: {a: b}", "huggingface: dims: d_ff: expected a key of config.json, or several", "", 46, 11},
        {"d_ff: 3*n_embd", "d_ff: 3*n_emb", "huggingface: defaults: d_ff: no dim is called 'n_emb'", "n_embd", 49, 34},
        {"  model_type: [gpt2, gpt_tiny]\n", "", "huggingface: 'model_type' is missing", "", 42, 3},
        {"  dims:", "  where: [a]\n  dims:", "huggingface: where: expected a mapping such as {use_x: null, layer_types: [any, full]}", "", 43, 10},
        {"  dims:", "  where: foo\n  dims:", "huggingface: where: expected a mapping such as {use_x: null, layer_types: [any, full]}", "", 43, 10},
        {"  dims:", "  where: {a: {b: c}}\n  dims:", "huggingface: where: expected a mapping such as {use_x: null, layer_types: [any, full]}", "", 43, 14},
        {"  dims:", "  usual: [a]\n  dims:", "huggingface: usual: expected a mapping such as {act_fn: [silu, swish]}", "", 43, 10},
        {"  dims:", "  usual: {a: [[b]]}\n  dims:", "huggingface: usual: expected a mapping such as {act_fn: [silu, swish]}", "", 43, 15},
        {"  dims:", "  words: a\n  dims:", "huggingface: words: expected a mapping such as {gelu_new: gelu_tanh}", "", 43, 10},
        {"  dims:", "  towers: {a: [[b]]}\n  dims:", "huggingface: towers: expected a mapping such as {pixtral: pixtral-12b}", "", 43, 16},
        {"  dims:", "  text: [a]\n  dims:", "huggingface: text: expected a key such as text_config", "", 43, 9},
        {"  dims:", "  ignored: {a: b}\n  dims:", "huggingface: ignored: expected keys such as [rope_scaling]", "", 43, 12},
        {"  dims:", "  architectures: [a]\n  dims:", "huggingface: architectures: expected a mapping such as {LlamaForTokenClassification: {tied: 0}}", "", 43, 18},
        {"  dims:", "  text_defaults: {a: 1}\n  dims:", "huggingface: text_defaults: expected a mapping such as {llama: {tied: 0}}", "", 43, 22},
        {"name: wpe,", "name: kept,", "'kept' cannot be the name of an operation", "", 20, 31},
        {"- name: h\n", "- name: h\n    keep: 1\n", "keep: no operation behind it takes this as 'kept'", "", 24, 11},
        {"- name: h\n", "- name: h\n    keep: {a: [b]}\n", "keep: expected 1 or 0", "", 24, 11},
        {"- name: h\n", "- name: h\n    shares: 2\n", "shares: expected 1 or 0", "", 24, 13},
        {"- name: h\n", "- name: h\n    module: 1\n", "module: this section repeats, and each of its layers is a module as it is", "",
         24, 13},
        {"in: [input, attn.proj]", "in: [input, kept]", "add 'add': in: no operation above is called 'kept'", "", 30, 31},
        {"graph:", "whole: [n_embd / 2, n_emb / 2]\ngraph:", "whole: no dim is called 'n_emb'", "n_embd", 16, 21},
        {"graph:", "whole: {a: b}\ngraph:", "whole: expected expressions such as [height / 64]", "", 16, 8},
    };
    // clang-format on
    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char *text = with(tiny, rows[i].from, rows[i].to);
        struct mfu_error err = {0};
        struct mfu_model *m = parse(text, &err);

        if (m || strcmp(err.text, rows[i].message) != 0
            || (rows[i].line && (err.line != rows[i].line || err.column != rows[i].column)))
            fail_msg("%s -> %s: %d:%d: %s", rows[i].from, rows[i].to, err.line, err.column, err.text);
        assert_string_equal(err.suggestion, rows[i].suggestion);
        assert_string_equal(err.file, "models/tiny.yaml");
        mfu_model_free(m);
        free(text);
    }
}

static void too_much_is_refused(void **state)
{
    static char text[65536];
    struct mfu_error err = {0};
    size_t used = (size_t)snprintf(text, sizeof text, "name: x\ndims:\n");

    (void)state;
    for (int i = 0; i <= MFU_MAX_DIMS; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "  d%d: 1\n", i);
    assert_null(parse(text, &err));
    assert_string_equal(err.text, "more than 128 dims");
    assert_int_equal(err.line, 3 + MFU_MAX_DIMS);

    used = (size_t)snprintf(text, sizeof text,
                            "name: x\ndims: {a: 1}\ngraph:\n"
                            "- name: s\n  ops:\n");
    for (int i = 0; i <= MFU_MAX_OPS; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "  - {op: embedding, rows: a, width: a}\n");
    assert_null(parse(text, &err));
    assert_string_equal(err.text, "more than 1024 operations");

    used = (size_t)snprintf(text, sizeof text, "name: x\ndims: {a: 1}\ngraph:\n");
    for (int i = 0; i <= MFU_MAX_SECTIONS; i++)
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "- name: s%d\n  ops: [{op: embedding, rows: a, "
                                 "width: a}]\n",
                                 i);
    assert_null(parse(text, &err));
    assert_string_equal(err.text, "more than 112 sections");
}

static void a_child_replaces_dims_and_keeps_the_rest(void **state)
{
    struct mfu_error err = {0};
    struct mfu_model *m;
    SCRATCH s = scratch_new();
    const char *path;

    (void)state;
    scratch_file(&s, "tiny.yaml", tiny);
    scratch_file(&s, "small.yaml", "name: Small\nextends: tiny\ndims: {n_layer: 24}\n");
    path = scratch_file(&s, "large.yaml",
                        "name: Large\nextends: small\n"
                        "dims: {n_embd: window/4, n_head: 16, window: 4k}\n");
    m = mfu_model_read(path, s.folder, &err);
    if (!m)
        fail_msg("%s:%d: %s", err.file, err.line, err.text);
    assert_string_equal(m->slug, "large");
    assert_string_equal(m->name, "Large");
    assert_string_equal(m->family, "gpt"); /* inherited */
    assert_string_equal(m->source, "");    /* a file's own */
    assert_true(isnan(m->published_params));
    assert_int_equal(m->n_dims, 11);
    assert_near(value_of(m, "n_layer"), 24, 0);
    assert_near(value_of(m, "d_ff"), 4096, 0);
    assert_near(value_of(m, "head_dim"), 64, 0);
    assert_near(value_of(m, "window"), 4096, 0);
    assert_int_equal(m->n_ops, 17);
    mfu_model_free(m);

    path = scratch_file(&s, "flat.yaml",
                        "name: Flat\nextends: tiny\ngraph:\n- name: all\n  ops:\n"
                        "  - {op: embedding, rows: vocab_size, width: n_embd}\n");
    m = mfu_model_read(path, NULL, &err); /* looks beside the file */
    assert_non_null(m);
    assert_int_equal(m->n_ops, 1);
    assert_near(value_of(m, "n_layer"), 12, 0);
    mfu_model_free(m);
}

/* A section may be like one of the file that is extended, under dims of its own; the last that was kept is taken first. */
static void what_is_kept_is_taken_in_turn(void **state)
{
    struct mfu_error err = {0};
    struct mfu_model *m;
    SCRATCH s = scratch_new();
    const char *path;

    (void)state;
    scratch_file(&s, "block.yaml",
                 "name: Block\ndims: {wide: 4, deep: 2, to: wide, sort: 1}\ngraph:\n"
                 "- {name: start, ops: [{op: embedding, rows: 10, width: wide}]}\n"
                 "- {name: block, repeat: deep, ops: [{op: norm, kind: sort}, {op: linear, name: last, width: to}]}\n");
    path = scratch_file(
        &s, "way.yaml",
        "name: Way\nextends: block\ndims: {broad: 8, other: 7}\ngraph:\n"
        "- {name: start, keep: 1, ops: [{op: embedding, rows: 10, width: wide}]}\n"
        "- {name: down, keep: 1, repeat: deep, like: block, with: {to: broad, sort: other}}\n"
        "- {name: up, ops: [{op: columns, name: a, in: [input, kept], width: 0},"
        " {op: columns, name: b, in: [a, kept], width: 0}, {op: linear, name: c, in: [last], width: 1}]}\n");
    m = mfu_model_read(path, s.folder, &err);
    if (!m)
        fail_msg("%s:%d: %s", err.file, err.line, err.text);
    assert_int_equal(m->n_ops, 6);
    assert_near(attribute(m, 1, 0), 7, 0); /* a choice is a dim's number as well */
    assert_int_equal(m->ops[3].in[1], 2);  /* of the last of the layers, */
    assert_int_equal(m->ops[4].in[1], 0);  /* then the first section's */
    assert_int_equal(m->ops[5].in[0], 2);  /* which has a name, too */
    mfu_model_free(m);
    path = scratch_file(&s, "none.yaml",
                        "name: None\nextends: block\ngraph:\n"
                        "- {name: start, ops: [{op: embedding, rows: 10, width: wide}]}\n"
                        "- {name: up, ops: [{op: columns, in: [input, kept], width: 0}]}\n");
    assert_null(mfu_model_read(path, s.folder, &err));
    assert_non_null(strstr(err.text, "no operation above is called 'kept'"));
}

/* What a table is not is found by whoever looks for the file of a config.json, too. */
static void a_table_that_is_none_is_refused_on_the_way(void **state)
{
    static const char *const slips[] = {
        "where: [a]",
        "where: foo",
        "usual: [a]",
        "usual: {a: [[b]]}",
        "words: [a]",
        "towers: [a]",
        "text: [a]",
        "ignored: [[a]]",
        "architectures: [a]",
        "text_defaults: [a]",
        "text_defaults: {a: 1}",
        "towers: {a: [[b]]}",
    };
    SCRATCH s = scratch_new();
    const char *config;

    (void)state;
    config = scratch_file(&s, "config.json",
                          "{\"model_type\": \"gpt2\", \"n_embd\": 768, \"vision_config\": {\"model_type\": \"a\"}}");
    for (size_t i = 0; i < LENGTH(slips); i++) {
        struct mfu_error err = {0};
        char line[80], *text;

        snprintf(line, sizeof line, "huggingface:\n  %s\n", slips[i]);
        text = with(tiny, "huggingface:\n", line);
        scratch_file(&s, "tiny.yaml", text);
        if (mfu_model_from_config(config, s.folder, &err) || err.line != 42 || err.column < 8
            || !strstr(err.file, "tiny.yaml"))
            fail_msg("%s: %s:%d:%d: %s", slips[i], err.file, err.line, err.column, err.text);
        free(text);
    }
}

/* `keep: 0` keeps nothing. */
static void what_is_not_kept_is_not_taken(void **state)
{
    char *text = with(tiny, "- name: h\n", "- name: h\n    keep: 0\n");
    struct mfu_error err = {0};
    struct mfu_model *m = parse(text, &err);

    (void)state;
    if (!m)
        fail_msg("%s", err.text);
    mfu_model_free(m);
    free(text);
}

/* U-Nets of another shape than a file's are no model of ours: none is read as one of those. */
static void a_config_of_another_shape_is_refused(void **state)
{
    static const struct {
        const char *config, *from, *to, *part; /* of the error; NULL: none */
    } rows[] = {
        {"sd15", "\"act_fn\"", "\"act_fn\"", NULL},
        {"sd15", "\"act_fn\"", "\"mid_block_type\": \"UNetMidBlock2DCrossAttn\", \"act_fn\"", NULL},
        {"sd15", "\"act_fn\"", "\"mid_block_type\": null, \"act_fn\"",
         "stable-diffusion-1.5 has another mid_block_type"},
        {"sd15", "1280,", "", "stable-diffusion-1.5 has another block_out_channels"},
        {"sd15", "1280,", "1280, 1280,", "stable-diffusion-1.5 has another block_out_channels"},
        {"sd15", "\"CrossAttnDownBlock2D\"", "\"DownBlock2D\"", "stable-diffusion-1.5 has another down_block_types"},
        {"sd15", "\"CrossAttnDownBlock2D\",\n    \"CrossAttnDownBlock2D\"",
         "\"CrossAttnDownBlock2D\",\n    \"DownBlock2D\"", "stable-diffusion-1.5 has another down_block_types"},
        {"sd15", "\"CrossAttnUpBlock2D\"", "\"UpBlock2D\"", "stable-diffusion-1.5 has another up_block_types"},
        {"sdxl", "\"UNetMidBlock2DCrossAttn\"", "null", "stable-diffusion-xl has another mid_block_type"},
        {"sdxl", "\"CrossAttnUpBlock2D\"", "\"UpBlock2D\"", "stable-diffusion-xl has another up_block_types"},
    };
    SCRATCH s = scratch_new();

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_error err = {0};
        char path[300], json[4000], *text;
        struct mfu_model *m;
        FILE *f;

        snprintf(path, sizeof path, MFUPLAN_SOURCE_DIR "/tests/oracle/configs/%s.json", rows[i].config);
        assert_non_null(f = fopen(path, "r"));
        json[fread(json, 1, sizeof json - 1, f)] = '\0';
        fclose(f);
        text = with(json, rows[i].from, rows[i].to);
        m = mfu_model_from_config(scratch_file(&s, "unet.json", text), MFUPLAN_SOURCE_DIR "/models", &err);
        if (!rows[i].part != !!m || (!m && (!strstr(err.text, rows[i].part) || err.line != 2)))
            fail_msg("%s for %s: %d: %s", rows[i].to, rows[i].from, err.line, err.text);
        if (m)
            assert_int_equal(m->n_not_modelled, 0);
        mfu_model_free(m);
        free(text);
    }
}

/* One number for every size of maps, and a list whose later entries are not as usual. */
static void a_list_is_read_to_its_end(void **state)
{
    static const struct {
        const char *config, *to;
        double depth2, depth3;
        int not_modelled;
    } rows[] = {
        {"sdxl", "2", 2, 2, 0},
        {"sdxl", "[1, 2, 3]", 2, 3, 0},
        {"sd15", "[1, 1, 1, 1]", NAN, NAN, 0},
        {"sd15", "[1, 2, 3, 4]", NAN, NAN, 1},
        {"sd15", "2", NAN, NAN, 1},
    };
    SCRATCH s = scratch_new();

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        bool xl = rows[i].config[2] == 'x';
        struct mfu_error err = {0};
        struct mfu_model *m;
        char text[1000];

        snprintf(
            text, sizeof text,
            "{\"_class_name\": \"UNet2DConditionModel\", \"transformer_layers_per_block\": %s, "
            "\"attention_head_dim\": 8, %s}",
            rows[i].to,
            xl ? "\"addition_embed_type\": \"text_time\", \"projection_class_embeddings_input_dim\": 2816, "
                 "\"block_out_channels\": [320, 640, 1280], \"use_linear_projection\": true, "
                 "\"down_block_types\": [\"DownBlock2D\", \"CrossAttnDownBlock2D\", \"CrossAttnDownBlock2D\"], "
                 "\"up_block_types\": [\"CrossAttnUpBlock2D\", \"CrossAttnUpBlock2D\", \"UpBlock2D\"]"
               : "\"block_out_channels\": [320, 640, 1280, 1280], \"down_block_types\": [\"CrossAttnDownBlock2D\", "
                 "\"CrossAttnDownBlock2D\", \"CrossAttnDownBlock2D\", \"DownBlock2D\"], \"up_block_types\": "
                 "[\"UpBlock2D\", \"CrossAttnUpBlock2D\", \"CrossAttnUpBlock2D\", \"CrossAttnUpBlock2D\"]");
        m = mfu_model_from_config(scratch_file(&s, "unet.json", text), MFUPLAN_SOURCE_DIR "/models", &err);
        if (!m)
            fail_msg("%s: %s", text, err.text);
        assert_int_equal(m->n_not_modelled, rows[i].not_modelled);
        if (xl) {
            assert_near(value_of(m, "depth2"), rows[i].depth2, 0);
            assert_near(value_of(m, "depth3"), rows[i].depth3, 0);
        }
        mfu_model_free(m);
    }
}

static void chains_end(void **state)
{
    // clang-format off
    static const struct { const char *text, *part, *suggestion, *file; } rows[] = {
        {"name: A\nextends: tinny\n", "extends: no model is called 'tinny' in ", "tiny", "/a.yaml"},
        {"name: A\nextends: ../tiny\n", "extends: '../tiny' cannot be the name of a model file", "", "/a.yaml"},
        {"name: A\nextends: a\n", "extends: 'a' extends itself", "", "/a.yaml"},
        {"name: A\nextends: c6\n", "extends: 'c1' ends a chain of more than 5 files", "", "/c2.yaml"},
        {"name: A\nextends: odd\n", "unknown key 'dim'", "dims", "/odd.yaml"},
        {"name: A\ndims: {a: 1}\n", "'graph' is missing, and so is 'extends'", "", "/a.yaml"},
        {"name: A\n", "'dims' is missing", "", "/a.yaml"},
        {"name: A\nextends: tiny\ndims: {n_embd: d_ff}\n", "n_embd: depends on itself: d_ff -> n_embd -> d_ff", "", "/a.yaml"},
        {"name: A\nextends: tiny\ndims: {n_layers: 2}\n", "nothing reads the dim 'n_layers'", "n_layer", "/a.yaml"},
        {"name: A\nextends: tiny\ndims: {n_layer: 0}\n", "ok", "", ""},
        {"name: A\nextends: tiny\ndims: {n_head: 0}\n", "head_dim: 'n_embd/n_head' is not a number", "", "/tiny.yaml"},
    };
    // clang-format on
    SCRATCH s = scratch_new();

    (void)state;
    scratch_file(&s, "tiny.yaml", tiny);
    scratch_file(&s, "odd.yaml", "name: Odd\nextends: tiny\ndim: {}\n");
    scratch_file(&s, "c1.yaml", "name: C\nextends: tiny\n");
    scratch_file(&s, "c2.yaml", "name: C\nextends: c1\n");
    scratch_file(&s, "c3.yaml", "name: C\nextends: c2\n");
    scratch_file(&s, "c4.yaml", "name: C\nextends: c3\n");
    scratch_file(&s, "c5.yaml", "name: C\nextends: c4\n");
    scratch_file(&s, "c6.yaml", "name: C\nextends: c5\n");
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const char *path = scratch_file(&s, "a.yaml", rows[i].text);
        struct mfu_error err = {0};
        struct mfu_model *m = mfu_model_read(path, s.folder, &err);

        if (m)
            mfu_fail(&err, MFU_OK, "ok");

        if (!strstr(err.text, rows[i].part) || !strstr(err.file, rows[i].file))
            fail_msg("%s: %s:%d: %s", rows[i].text, err.file, err.line, err.text);
        assert_string_equal(err.suggestion, rows[i].suggestion);
        mfu_model_free(m);
    }
}

static void a_config_fills_the_dims_by_the_table(void **state)
{
    struct mfu_error err = {0};
    struct mfu_model *m;
    SCRATCH s = scratch_new();
    const char *path;

    (void)state;
    scratch_folder(&s, "models");
    scratch_file(&s, "models/a-child.yaml", "name: C\nextends: tiny\n");
    scratch_file(&s, "models/tiny.yaml", tiny);
    scratch_folder(&s, "my-model");
    path = scratch_file(&s, "my-model/config.json",
                        "{\n  \"model_type\": \"gpt_tiny\",\n"
                        "  \"hidden_size\": null, \"n_embd\": 1024,\n"
                        "  \"n_inner\": null, \"use_bias\": false,\n"
                        "  \"resid_pdrop\": 1e-1, \"vocab\": \"ignored\",\n"
                        "  \"rope_scaling\": {\"type\": [1, 2]}\n}\n");
    m = mfu_model_from_config(path, s.paths[0], &err);
    if (!m)
        fail_msg("%s:%d:%d: %s", err.file, err.line, err.column, err.text);
    assert_string_equal(m->slug, "my-model");
    assert_string_equal(m->path, path);
    assert_string_equal(m->family, "gpt");
    assert_true(isnan(m->published_params));
    assert_near(value_of(m, "n_embd"), 1024, 0);
    assert_near(value_of(m, "n_layer"), 6, 0);     /* as the class assumes */
    assert_near(value_of(m, "d_ff"), 3 * 1024, 0); /* null: the same */
    assert_true(value_of(m, "bias") == 0);         /* said, not assumed */
    assert_near(value_of(m, "dropout"), 0.1, 1e-12);
    assert_near(value_of(m, "vocab_size"), 50304, 0); /* not in the table */
    mfu_model_free(m);
}

static const char worded[] = "name: W\n"
                             "family: w\n"
                             "dims: {n: 8, act: 0, heads: 0, window: 5, classes: 2}\n"
                             "graph:\n"
                             "  - name: a\n"
                             "    ops:\n"
                             "      - {op: embedding, name: e, rows: n, width: n}\n"
                             "      - {op: activation, name: f, kind: act}\n"
                             "huggingface:\n"
                             "  model_type: [w]\n"
                             "  dims: {act: hidden_act, window: sliding_window}\n"
                             "  defaults: {window: 4, act: 1}\n"
                             "  architectures: {WForLabels: {heads: classes}}\n"
                             "  counts: {classes: id2label}\n"
                             "  nulls: {window: 0}\n"
                             "  words: {swish: silu}\n";

/* Words, heads, numbers of entries, and null where it does not mean "as assumed". */
static void a_config_is_read_whole(void **state)
{
    static const struct {
        const char *text;
        double act, window, heads;
    } rows[] = {
        {"{\"model_type\": \"w\"}", 1, 4, 0},
        {"{\"model_type\": \"w\", \"hidden_act\": \"relu\", \"sliding_window\": 7}", 3, 7, 0},
        {"{\"model_type\": \"w\", \"hidden_act\": \"swish\", \"sliding_window\": null}", 2, 0, 0},
        {"{\"model_type\": \"w\", \"sliding_window\": -1}", 1, 0, 0},
        {"{\"model_type\": \"w\", \"architectures\": [\"WForLabels\"]}", 1, 4, 2},
        {"{\"model_type\": \"w\", \"architectures\": [\"WModel\"], \"id2label\": {\"0\": \"a\"}}", 1, 4, 0},
        {"{\"model_type\": \"w\", \"architectures\": [\"WForLabels\"], \"id2label\": {\"0\": \"a\", \"1\": \"b\", "
         "\"2\": "
         "\"c\"}}",
         1, 4, 3},
    };
    struct mfu_error err = {0};
    SCRATCH s = scratch_new();

    (void)state;
    scratch_file(&s, "w.yaml", worded);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_model *m = mfu_model_from_config(scratch_file(&s, "config.json", rows[i].text), s.folder, &err);

        if (!m)
            fail_msg("%s: %s", rows[i].text, err.text);
        assert_near(value_of(m, "act"), rows[i].act, 0);
        assert_near(value_of(m, "window"), rows[i].window, 0);
        assert_near(value_of(m, "heads"), rows[i].heads, 0);
        mfu_model_free(m);
    }
    assert_null(mfu_model_from_config(
        scratch_file(&s, "config.json", "{\"model_type\": \"w\",\n\"hidden_act\": \"snake\"}"), s.folder, &err));
    assert_string_equal(err.text, "hidden_act: 'snake' is not known for act");
    assert_int_equal(err.line, 2);
}

static void configs_that_are_odd_are_refused(void **state)
{
    // clang-format off
    static const struct { const char *text, *part, *suggestion; int line, column; } rows[] = {
        {"{\"model_type\": \"gpt3\"}", "no model file knows the model_type 'gpt3', only 2 others", "gpt2", 1, 17},
        {"{\"model_type\": \"w_vl\", \"text_config\": {\"model_type\": \"gpt2\"}}", "its text_config alone, in a file by itself, is a 'gpt2'", "gpt2", 1, 17},
        {"{\"n_embd\": 1}", "'model_type' is missing; is this the config.json of", "", 1, 1},
        {"{\"model_type\": \"gpt2\"}", "'hidden_size' is missing, and nothing is assumed for it in ", "", 0, 0},
        {"[1]", "'model_type' is missing", "", 1, 1},
        {"{\"model_type\": [1]}", "'model_type' is missing", "", 1, 16},
        {"{\"model_type\": \"gpt2\",\n\"n_embd\": \"768\"}", "n_embd: expected a number, true, false or null", "", 2, 12},
        {"{\"model_type\": \"gpt2\",\n\"n_embd\": [768, 769]}", "n_embd: expected a number, true, false or null", "", 2, 11},
        {"{\"model_type\": \"gpt2\",\n\"n_embd\": {}}", "n_embd: expected a number, true, false or null", "", 2, 11},
        {"{\"model_type\": \"gpt2\",\n\"n_embd\": 768k}", "n_embd: expected a number, true, false or null", "", 2, 11},
        {"{\"model_type\": \"gpt2\",\n\"n_embd\": NaN}", "n_embd: expected a number, true, false or null", "", 2, 11},
        {"{\"model_type\": \"gpt2\",\n\"n_embd\": -768}", "n_embd: '-768' is below zero", "", 2, 11},
        {"{\"model_type\": \"gpt2\",\n\"n_embd\": 1e99}", "n_embd: '1e99' is too large", "", 2, 11},
        {"{\"model_type\": \"gpt2\",\n\"n_embd\": 1, \"n_embd\": 2}", "'n_embd' is given twice", "", 2, 15},
        {"{\"model_type\": \"gpt2\"", "not valid YAML", "", 0, 0},
    };
    // clang-format on
    SCRATCH s = scratch_new();

    (void)state;
    scratch_file(&s, "tiny.yaml", tiny);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const char *path = scratch_file(&s, "config.json", rows[i].text);
        struct mfu_error err = {0};

        if (mfu_model_from_config(path, s.folder, &err) || !strstr(err.text, rows[i].part)
            || (rows[i].line && (err.line != rows[i].line || err.column != rows[i].column)))
            fail_msg("%s: %d:%d: %s", rows[i].text, err.line, err.column, err.text);
        assert_string_equal(err.suggestion, rows[i].suggestion);
        assert_string_equal(err.file, path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dims_depend_on_each_other_in_any_order),
        cmocka_unit_test(ops_read_the_one_before_unless_told_otherwise),
        cmocka_unit_test(attributes_are_numbers_expressions_or_choices),
        cmocka_unit_test(slips_are_refused_where_they_stand),
        cmocka_unit_test(too_much_is_refused),
        cmocka_unit_test(a_child_replaces_dims_and_keeps_the_rest),
        cmocka_unit_test(what_is_kept_is_taken_in_turn),
        cmocka_unit_test(what_is_not_kept_is_not_taken),
        cmocka_unit_test(a_table_that_is_none_is_refused_on_the_way),
        cmocka_unit_test(a_config_of_another_shape_is_refused),
        cmocka_unit_test(a_list_is_read_to_its_end),
        cmocka_unit_test(chains_end),
        cmocka_unit_test(a_config_fills_the_dims_by_the_table),
        cmocka_unit_test(a_config_is_read_whole),
        cmocka_unit_test(configs_that_are_odd_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
