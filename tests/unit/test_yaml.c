/* test_yaml.c - what people write, with places; and what is refused, quietly. */
#include "near.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "descriptor/yaml.h"

static struct mfu_yaml *parse(const char *text, struct mfu_error *err)
{
    return mfu_yaml_parse("x.yaml", text, strlen(text), err);
}

/* The same for a text that must be accepted. */
static struct mfu_yaml *accepted(const char *text)
{
    struct mfu_error err = {0};
    struct mfu_yaml *yaml = parse(text, &err);

    if (!yaml)
        print_error("%s:%d:%d: %s\n", err.file, err.line, err.column, err.text);
    assert_non_null(yaml);
    return yaml;
}

static void a_document_is_a_tree_in_the_order_of_the_file(void **state)
{
    struct mfu_yaml *yaml = accepted("name: A \"B\"\n"
                                     "list: [1, two, 'three']\n"
                                     "map: {x: 1, y: null}\n"
                                     "long: >-\n  one\n  two\n");
    struct mfu_yaml_node *root = mfu_yaml_root(yaml), *list, *map;

    (void)state;
    assert_int_equal(mfu_node_type(root), MFU_MAPPING);
    assert_int_equal(mfu_node_count(root), 4);
    assert_string_equal(mfu_node_key(root, 0), "name");
    assert_null(mfu_node_key(root, 4));
    assert_null(mfu_node_value(root, 4));
    assert_string_equal(mfu_node_text(mfu_node_value(root, 0)), "A \"B\"");
    list = mfu_node_find(root, "list");
    assert_int_equal(mfu_node_type(list), MFU_SEQUENCE);
    assert_string_equal(mfu_node_text(mfu_node_item(list, 2)), "three");
    assert_null(mfu_node_item(list, 3));
    assert_null(mfu_node_text(list));
    assert_null(mfu_node_find(list, "x"));
    map = mfu_node_find(root, "map");
    assert_false(mfu_node_absent(mfu_node_find(map, "x")));
    assert_true(mfu_node_absent(mfu_node_find(map, "y")));
    assert_null(mfu_node_find(map, "z"));
    assert_string_equal(mfu_node_text(mfu_node_find(root, "long")), "one two");
    mfu_yaml_free(yaml);
    mfu_yaml_free(NULL);
}

static void json_is_read_as_well(void **state)
{
    struct mfu_yaml *yaml = accepted("{\n\t\"a\": null, \"b\": [1e-5, true],\n"
                                     "\"s\": \"x\\/y\", \"c\": {\"d\": -1}\n}\n");
    struct mfu_yaml_node *root = mfu_yaml_root(yaml), *b = mfu_node_find(root, "b");
    double value;

    (void)state;
    assert_true(mfu_node_absent(mfu_node_find(root, "a")));
    assert_int_equal(mfu_node_quantity(yaml, mfu_node_item(b, 0), MFU_COUNT, &value, NULL), 0);
    assert_near(value, 1e-5, 1e-12);
    assert_int_equal(mfu_node_bool(mfu_node_item(b, 1)), 1);
    assert_int_equal(mfu_node_bool(mfu_node_item(b, 0)), -1);
    assert_string_equal(mfu_node_text(mfu_node_find(root, "s")), "x/y");
    mfu_yaml_free(yaml);
}

static void a_refusal_names_the_place_and_the_reason(void **state)
{
    // clang-format off
    static const struct { const char *text, *part; int line, column; } rows[] = {
        {"", "nothing is written", 0, 0},
        {" \n\n", "nothing is written", 0, 0},
        {"# only this\n", "nothing is written", 0, 0},
        {"a: 1\nb: 2\na: 3\n", "'a' is given twice, first in line 1", 3, 1},
        {"a: {b: 1, b: 2}", "'b' is given twice", 1, 11},
        {"a: &x 1\n", "anchors", 1, 5},
        {"a: 1\nb: *x\n", "aliases", 2, 5},
        {"a: !!int 1\n", "tags", 1, 4},
        {"%YAML 1.2\n---\na: 1\n", "directives", 1, 1},
        {"a: 1\n - ? b:\t: 2\n", "not behind a '?'", 2, 4},        /* libfyaml 0.7.12 crashed */
        {"a: 1\n---\nb: 2\n", "second document", 2, 1},
        {"a: 1\n  b: 2\n", "not valid YAML", 1, 4},
        {"a: [1, 2\nb: 1\n", "not valid YAML", 3, 1},
        {"a: 'x\n", "not valid YAML", 1, 5},
        {"a:\n\tb: 1\n", "not valid YAML", 2, 1},
        {"a: b: c\n", "not valid YAML", 1, 5},
        {"[a]: 1\n", "a key must be a word", 1, 1},
        {"a: \xff\n", "byte 0xFF is not text", 1, 4},
        {"a: \xc0\xaf\n", "byte 0xC0 is not text", 1, 4},
        {"a: \xed\xa0\x80\n", "byte 0xED is not text", 1, 4},
        {"a: \x1b[31m\n", "byte 0x1B is not text", 1, 4},
        {"a: \"\\e[31m\"\n", "control characters", 1, 5},
        {"a: \"\\0\"\n", "control characters", 1, 5},
    };
    // clang-format on
    struct mfu_error err;

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        mfu_error_clear(&err);
        if (parse(rows[i].text, &err) || !strstr(err.text, rows[i].part) || err.line != rows[i].line
            || err.column != rows[i].column)
            fail_msg("%s: %d:%d: %s", rows[i].text, err.line, err.column, err.text);
        assert_string_equal(err.file, "x.yaml");
        assert_true(err.code != MFU_OK);
    }
    assert_null(mfu_yaml_parse("x.yaml", "a: \0b", 6, &err));
    assert_non_null(strstr(err.text, "byte 0x00"));
}

/* `n` times `text`, then `end`. */
static char *repeated(const char *text, size_t n, const char *end)
{
    size_t length = strlen(text);
    char *all = malloc(n * length + strlen(end) + 1);

    assert_non_null(all);
    for (size_t i = 0; i < n; i++)
        memcpy(all + i * length, text, length);
    strcpy(all + n * length, end);
    return all;
}

static void what_is_too_much_is_refused_in_time(void **state)
{
    // clang-format off
    static const struct { const char *text; size_t n; const char *end, *part; } rows[] = {
        {"[", 32, "", "not valid YAML"},        {"[", 33, "", "more than 32 deep"},
        {"[", 1 << 20, "", "more than 32 deep"}, {"{", 1 << 20, "", "more than 32 deep"},
        {"- ", 500000, "", "more than 32 deep"}, {"? ", 500000, "", "not behind a '?'"},
        {"[:", 500000, "", "more than 32 deep"}, {"[? ", 300000, "", "more than 32 deep"},
        {"- 1\n", 20001, "", "more than 20000 values"},
        {"&a ", 300000, "", "anchors"},          {"! ", 500000, "", "tags"},
        {"x", (1 << 20) + 1, "", "larger than 1 MiB"},
        {"%TAG !a! tag:x\n", 60000, "---\na: 1\n", "directives"},
        {"--- a\n", 100000, "", "second document"},
    };
    // clang-format on
    struct mfu_error err;

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char *text = repeated(rows[i].text, rows[i].n, rows[i].end);

        mfu_error_clear(&err);
        if (parse(text, &err) || !strstr(err.text, rows[i].part))
            fail_msg("%zu of '%s': %s", rows[i].n, rows[i].text, err.text);
        free(text);
    }
}

static void quantities_say_what_was_expected(void **state)
{
    struct mfu_yaml *yaml = accepted("size: 12GB\nodd: eighty\nnone:\nlist: [1]\n"
                                     "quoted: 'x'\n");
    struct mfu_yaml_node *root = mfu_yaml_root(yaml);
    struct mfu_error err = {0};
    double value = 0;

    (void)state;
    assert_int_equal(mfu_node_quantity(yaml, mfu_node_find(root, "size"), MFU_BYTES, &value, &err), 0);
    assert_near(value, 12e9, 1e-12);
    assert_int_equal(mfu_node_quantity(yaml, mfu_node_find(root, "odd"), MFU_BYTES, &value, &err), -1);
    assert_string_equal(err.text, "'eighty' is not a size such as 80GiB or 512MB");
    assert_int_equal(err.line, 2);
    assert_int_equal(err.column, 6);
    assert_int_equal(mfu_node_quantity(yaml, mfu_node_find(root, "none"), MFU_BYTES, &value, &err), -1);
    assert_non_null(strstr(err.text, "not nothing"));
    assert_int_equal(err.line, 3);
    assert_int_equal(mfu_node_quantity(yaml, mfu_node_find(root, "list"), MFU_COUNT, &value, &err), -1);
    assert_non_null(strstr(err.text, "not a list"));
    assert_near(value, 12e9, 1e-12);

    /* A column within the text becomes one within the line. */
    mfu_fail(&err, MFU_EINPUT, "odd");
    err.column = 3;
    mfu_node_error(yaml, mfu_node_find(root, "odd"), &err);
    assert_int_equal(err.column, 8);
    mfu_fail(&err, MFU_EINPUT, "odd");
    err.column = 1;
    mfu_node_error(yaml, mfu_node_find(root, "quoted"), &err);
    assert_int_equal(err.line, 5);
    assert_int_equal(err.column, 10);
    mfu_yaml_free(yaml);
}

struct thing {
    char name[8];
    double size, share;
};

static const struct mfu_field thing_fields[] = {
    {"name", MFU_FIELD_TEXT, .offset = offsetof(struct thing, name), .size = 8, .required = 1},
    {"size", .dim = MFU_BYTES, .offset = offsetof(struct thing, size)},
    {"share", .dim = MFU_RATIO, .offset = offsetof(struct thing, share), .least = 0, .most = 1},
    {.key = NULL},
};

static int read_thing(const char *text, struct thing *thing, struct mfu_error *err)
{
    static const char *const others[] = {"extra", NULL};
    struct mfu_yaml *yaml = accepted(text);
    int result = mfu_node_fields(yaml, mfu_yaml_root(yaml), thing_fields, others, thing, err);

    mfu_yaml_free(yaml);
    return result;
}

static void fields_fill_a_struct(void **state)
{
    struct thing thing = {.size = NAN, .share = NAN};
    struct mfu_error err = {0};

    (void)state;
    assert_int_equal(read_thing("name: seven_7\nshare: 0%\nextra: [1]\n", &thing, &err), 0);
    assert_string_equal(thing.name, "seven_7");
    assert_true(thing.share == 0);
    assert_true(isnan(thing.size)); /* absent: as it was */
}

static void fields_that_are_wrong_are_refused_by_name(void **state)
{
    // clang-format off
    static const struct { const char *text, *message, *suggestion; int line, column; } rows[] = {
        {"size: 1GB", "'name' is missing", "", 1, 1},
        {"name: x\nsiez: 1GB", "unknown key 'siez'", "size", 2, 1},
        {"name: x\nextar: 1", "unknown key 'extar'", "extra", 2, 1},
        {"name: x\nsize: 0", "size: '0' is not above zero", "", 2, 7},
        {"name: x\nsize: many", "size: 'many' is not a size such as 80GiB or 512MB", "", 2, 7},
        {"name: x\nshare: 101%", "share: '101%' is outside 0 %..100 %", "", 2, 8},
        {"name: eight_88", "name: a text of 8 bytes, where 7 fit", "", 1, 7},
        {"name: [x]", "name: expected a text", "", 1, 7},
        {"name:", "name: expected a text", "", 1, 1},
        {"[1]", "expected a mapping of keys to values", "", 1, 1},
        {"word", "expected a mapping of keys to values", "", 1, 1},
    };
    // clang-format on
    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct thing thing;
        struct mfu_error err = {0};

        assert_int_equal(read_thing(rows[i].text, &thing, &err), -1);
        assert_string_equal(err.text, rows[i].message);
        assert_string_equal(err.suggestion, rows[i].suggestion);
        assert_int_equal(err.line, rows[i].line);
        assert_int_equal(err.column, rows[i].column);
    }
}

static void files_that_are_none_are_refused(void **state)
{
    char folder[] = "/tmp/mfu-yaml-XXXXXX", path[64];
    struct mfu_error err = {0};
    struct mfu_yaml *yaml;
    FILE *f;

    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_null(mfu_yaml_read(folder, &err));
    assert_string_equal(err.text, "cannot be read: this is a folder, not a file");
    assert_string_equal(err.file, folder);
    snprintf(path, sizeof path, "%s/a.yaml", folder);
    assert_null(mfu_yaml_read(path, &err));
    assert_non_null(strstr(err.text, "cannot be read"));
    assert_int_equal(err.code, MFU_EIO);
    assert_null(mfu_yaml_read("/dev/zero", &err));
    f = fopen(path, "w");
    assert_non_null(f);
    fputs("\xEF\xBB\xBF"
          "a: 1\r\nb: 2\r\n",
          f);
    fclose(f);
    yaml = mfu_yaml_read(path, &err);
    assert_non_null(yaml);
    assert_string_equal(mfu_yaml_name(yaml), path);
    assert_string_equal(mfu_node_text(mfu_node_find(mfu_yaml_root(yaml), "b")), "2");
    mfu_yaml_free(yaml);
    remove(path);
    rmdir(folder);
}

/* Runs everything that is refused with stderr and stdout in files. */
static void the_parser_says_nothing(void **state)
{
    char path[] = "/tmp/mfu-quiet-XXXXXX";
    int kept[2] = {dup(1), dup(2)}, quiet = mkstemp(path);
    struct stat info;

    assert_true(quiet >= 0 && kept[0] >= 0 && kept[1] >= 0);
    fflush(NULL);
    dup2(quiet, 1);
    dup2(quiet, 2);
    a_refusal_names_the_place_and_the_reason(state);
    what_is_too_much_is_refused_in_time(state);
    files_that_are_none_are_refused(state);
    fflush(NULL);
    dup2(kept[0], 1);
    dup2(kept[1], 2);
    assert_int_equal(fstat(quiet, &info), 0);
    assert_int_equal(info.st_size, 0);
    close(kept[0]);
    close(kept[1]);
    close(quiet);
    remove(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_document_is_a_tree_in_the_order_of_the_file),
        cmocka_unit_test(json_is_read_as_well),
        cmocka_unit_test(a_refusal_names_the_place_and_the_reason),
        cmocka_unit_test(what_is_too_much_is_refused_in_time),
        cmocka_unit_test(quantities_say_what_was_expected),
        cmocka_unit_test(fields_fill_a_struct),
        cmocka_unit_test(fields_that_are_wrong_are_refused_by_name),
        cmocka_unit_test(files_that_are_none_are_refused),
        cmocka_unit_test(the_parser_says_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
