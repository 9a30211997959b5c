/* test_trace.c - files that are written as they are walked through: JSON,
 * pickles, traces and snapshots of a step made by hand. */
#include "near.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan/simulation.h"
#include "base/error.h"
#include "plan/memory_timeline.h"
#include "report/export/stream_writer.h"
#include "report/export/pickle.h"
#include "report/export/snapshot.h"
#include "report/export/trace.h"
#include "base/atomic_file.h"
#include "scratch.h"

/* ---- trees --------------------------------------------------------------- */

struct written {
    char *data;
    size_t size;
};

static void put_tree(struct mfu_writer *e)
{
    mfu_writer_object(e);
    mfu_writer_text(e, "name", "a \"b\"\\\n\xc3\xa9");
    mfu_writer_array(mfu_writer_key(e, "list"));
    mfu_writer_integer(e, NULL, 1);
    mfu_writer_number(e, NULL, 0.5);
    mfu_writer_number(e, NULL, 7);
    mfu_writer_number(e, NULL, NAN);
    mfu_writer_boolean(e, NULL, true);
    mfu_writer_object(e);
    mfu_writer_integer(e, "name", -3);
    mfu_writer_close(e);
    mfu_writer_array(e);
    mfu_writer_close(e);
    mfu_writer_close(e);
    mfu_writer_close(e);
}

static struct written write_tree(const struct mfu_writer_form *form, void put(struct mfu_writer *))
{
    struct written w = {0};
    FILE *out = open_memstream(&w.data, &w.size);
    struct mfu_writer e;

    assert_non_null(out);
    mfu_writer_begin(&e, out, form);
    put(&e);
    mfu_writer_end(&e);
    assert_int_equal(fclose(out), 0);
    return w;
}

static void json_says_what_was_put(void **state)
{
    struct written w = write_tree(&mfu_writer_json, put_tree);
    json_t *o = json_loads(w.data, 0, NULL), *list;

    (void)state;
    assert_non_null(o);
    assert_string_equal(json_string_value(json_object_get(o, "name")), "a \"b\"\\\n\xc3\xa9");
    list = json_object_get(o, "list");
    assert_int_equal(json_array_size(list), 7);
    assert_int_equal(json_integer_value(json_array_get(list, 0)), 1);
    assert_near(json_real_value(json_array_get(list, 1)), 0.5, 0);
    assert_true(json_is_integer(json_array_get(list, 2)));
    assert_true(json_is_null(json_array_get(list, 3))); /* not a number */
    assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 5), "name")), -3);
    assert_int_equal(json_array_size(json_array_get(list, 6)), 0);
    json_decref(o);
    free(w.data);
}

/* The bytes as Python's pickletools lists them. */
static void pickles_are_what_the_protocol_says(void **state)
{
    static const char expected[] =
        "\x80\x02}(X\x04\0\0\0nameq\0X\x09\0\0\0a \"b\"\\\n\xc3\xa9"
        "X\x04\0\0\0listq\x01](K\x01G\x3f\xe0\0\0\0\0\0\0K\x07N\x88}(h\0J\xfd\xff\xff\xffu](eeu.";
    struct written w = write_tree(&mfu_writer_pickle, put_tree);

    (void)state;
    assert_int_equal(w.size, sizeof expected - 1);
    assert_memory_equal(w.data, expected, w.size);
    free(w.data);
}

static void put_integers(struct mfu_writer *e)
{
    static const int64_t values[] = {255,
                                     256,
                                     65536,
                                     INT32_MAX,
                                     INT32_MIN,
                                     INT64_C(1) << 31,
                                     -(INT64_C(1) << 31) - 1,
                                     INT64_C(140737488355328),
                                     INT64_MAX,
                                     INT64_MIN};

    mfu_writer_array(e);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        mfu_writer_integer(e, NULL, values[i]);
    mfu_writer_close(e);
}

static void integers_take_the_bytes_they_need(void **state)
{
    static const char expected[] =
        "\x80\x02](K\xffM\0\x01J\0\0\x01\0J\xff\xff\xff\x7fJ\0\0\0\x80\x8a\x05\0\0\0\x80\0\x8a\x05\xff\xff\xff\x7f\xff"
        "\x8a\x07\0\0\0\0\0\x80\0\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f\x8a\x08\0\0\0\0\0\0\0\x80"
        "e.";
    struct written w = write_tree(&mfu_writer_pickle, put_integers);

    (void)state;
    assert_int_equal(w.size, sizeof expected - 1);
    assert_memory_equal(w.data, expected, w.size);
    free(w.data);
}

static void put_long_list(struct mfu_writer *e)
{
    mfu_writer_array(e);
    for (int i = 0; i < 2500; i++)
        mfu_writer_integer(e, NULL, 0);
    mfu_writer_close(e);
}

static void long_lists_come_in_batches(void **state)
{
    struct written w = write_tree(&mfu_writer_pickle, put_long_list);
    int batches = 0;

    (void)state;
    for (size_t i = 0; i < w.size; i++)
        batches += w.data[i] == 'e';
    assert_int_equal(batches, 3);
    assert_int_equal(w.size, 2 + 1 + 3 * 2 + 2 * 2500 + 1);
    free(w.data);
}

/* ---- files --------------------------------------------------------------- */

static void read_back(const char *path, char *buf, size_t size)
{
    FILE *f = fopen(path, "r");

    assert_non_null(f);
    buf[fread(buf, 1, size - 1, f)] = '\0';
    fclose(f);
}

static void a_file_appears_when_it_is_complete(void **state)
{
    struct scratch s;
    struct mfu_atomic_file f;
    struct mfu_error err;
    const char *path;
    char text[64];

    (void)state;
    scratch_begin(&s);
    path = scratch_file(&s, "old", "old");
    assert_int_equal(mfu_atomic_file_open(&f, path, &err), 0);
    fputs("new", f.out);
    read_back(path, text, sizeof text);
    assert_string_equal(text, "old");
    assert_int_equal(mfu_atomic_file_close(&f, &err), 0);
    read_back(path, text, sizeof text);
    assert_string_equal(text, "new");

    assert_int_equal(mfu_atomic_file_open(&f, path, &err), 0);
    fputs("never", f.out);
    mfu_atomic_file_drop(&f);
    read_back(path, text, sizeof text);
    assert_string_equal(text, "new");
    scratch_end(&s); /* fails if something was left behind */
}

static void a_link_stays_a_link(void **state)
{
    SCRATCH s = scratch_new();
    struct mfu_atomic_file f;
    const char *path, *link;
    char text[64];
    struct stat info;

    (void)state;
    path = scratch_file(&s, "file", "old");
    link = scratch_note(&s, "link");
    assert_int_equal(symlink(path, link), 0);
    assert_int_equal(mfu_atomic_file_open(&f, link, NULL), 0);
    fputs("new", f.out);
    assert_int_equal(mfu_atomic_file_close(&f, NULL), 0);
    assert_int_equal(lstat(link, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    read_back(path, text, sizeof text);
    assert_string_equal(text, "new");
}

static void what_cannot_be_written_is_said(void **state)
{
    static const char *const paths[] = {"", "/nowhere/file", "/tmp"};
    struct mfu_atomic_file f;
    struct mfu_error err;

    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        mfu_error_clear(&err);
        assert_int_equal(mfu_atomic_file_open(&f, paths[i], &err), -1);
        assert_true(strlen(err.text) > 0);
    }
    assert_int_equal(mfu_atomic_file_open(&f, "/dev/full", &err), 0);
    fputs("x", f.out);
    assert_int_equal(mfu_atomic_file_close(&f, &err), -1);
    assert_non_null(strstr(err.text, "No space left"));
}

/* ---- a step by hand ------------------------------------------------------ */

enum { LAUNCHES = 4, MIB = 1 << 20 };

static struct mfu_launch launches[LAUNCHES];
static struct mfu_work works[LAUNCHES];
static double seconds[LAUNCHES] = {1e-3, 2e-3, 1e-3, 1e-3};
static struct mfu_price prices[LAUNCHES];
static struct mfu_gpu gpu = {.slug = "card", .name = "A \"card\""};
static struct mfu_model model = {.slug = "net", .name = "Net"};

/* Forward and backward of two layers, an update; 4 micro-steps, of which the
 * third is left out. */
static struct mfu_event events[] = {
    {.launch = 0, .micro_step = 0, .issue_s = 0.000, .issued_s = 0.0001, .start_s = 0.0001, .end_s = 0.0011},
    {.launch = 1, .micro_step = 0, .issue_s = 0.0001, .issued_s = 0.0002, .start_s = 0.0011, .end_s = 0.0031},
    {.launch = 0, .micro_step = 1, .issue_s = 0.0002, .issued_s = 0.0003, .start_s = 0.0031, .end_s = 0.0041},
    {.launch = 1, .micro_step = 1, .issue_s = 0.0003, .issued_s = 0.0004, .start_s = 0.0041, .end_s = 0.0061},
    {.launch = 0, .micro_step = 3, .issue_s = 0.0034, .issued_s = 0.0035, .start_s = 0.0091, .end_s = 0.0101},
    {.launch = 1, .micro_step = 3, .issue_s = 0.0035, .issued_s = 0.0036, .start_s = 0.0101, .end_s = 0.0121},
    {.launch = 3,
     .micro_step = 3,
     .stream = MFU_STREAM_COMMUNICATION,
     .issue_s = 0.0036,
     .issued_s = 0.0036,
     .start_s = 0.0121,
     .end_s = 0.0131},
    {.launch = 2, .micro_step = -1, .issue_s = 0.0150, .issued_s = 0.0151, .start_s = 0.0151, .end_s = 0.0161},
};

static struct mfu_memory_sample samples[] = {
    {.launch = 0, .micro_step = 0, .phase = MFU_FORWARD, .allocated = 14 * MIB, .reserved = 20 * MIB},
    {.launch = 1, .micro_step = 0, .phase = MFU_BACKWARD, .allocated = 16 * MIB, .reserved = 20 * MIB},
    {.launch = 2, .micro_step = -1, .phase = MFU_OPTIMIZER_PHASE, .allocated = 12 * MIB, .reserved = 20 * MIB},
    {.launch = -1, .micro_step = -1, .phase = MFU_OPTIMIZER_PHASE, .allocated = 10 * MIB, .reserved = 20 * MIB},
};

static struct mfu_block_life lives[] = {
    {.address = 12 * MIB,
     .bytes = 4 * MIB,
     .born_sample = 0,
     .died_sample = 2,
     .part = MFU_PART_ACTIVATIONS,
     .section = "h",
     .op = "fc",
     .suffix = ""},
    {.address = 16 * MIB,
     .bytes = 2 * MIB,
     .born_sample = 1,
     .died_sample = -1,
     .part = MFU_PART_GRADIENTS,
     .section = "h",
     .op = "fc",
     .suffix = "wgrad"},
};

static struct mfu_block_view blocks[] = {
    {.segment = 0,
     .segment_bytes = 10 * MIB,
     .address = 2 * MIB,
     .size = 10 * MIB,
     .requested = 10 * MIB,
     .active = true},
    {.segment = 1, .segment_bytes = 10 * MIB, .address = 12 * MIB, .size = 10 * MIB, .handle = -1},
};

static void make_step(struct mfu_plan *p, struct mfu_simulation *s)
{
    memset(p, 0, sizeof *p);
    memset(s, 0, sizeof *s);
    for (int i = 0; i < LAUNCHES; i++) {
        works[i] = (struct mfu_work){.kernel = {.m = 64,
                                                .n = 64,
                                                .k = i < 2 ? 64 : 0,
                                                .batch = 1,
                                                .flops = 524288,
                                                .read_bytes = 16384,
                                                .write_bytes = 8192,
                                                .launches = 1}};
        launches[i] = (struct mfu_launch){
            .work = &works[i], .section = "h", .op = "fc", .suffix = i == 1 ? "wgrad" : "", .phase = (enum mfu_phase)i};
    }
    works[3] = (struct mfu_work){.collective = {.axes = MFU_AXES_DATA, .kind = MFU_ALL_REDUCE, .bytes = 1e6},
                                 .kernel = {.kind = MFU_COLLECTIVE, .read_bytes = 1e6, .launches = 1}};
    launches[3] = (struct mfu_launch){.work = &works[3],
                                      .section = "",
                                      .op = "",
                                      .suffix = "all_reduce",
                                      .phase = MFU_BACKWARD,
                                      .communicates = true,
                                      .stream = MFU_STREAM_COMMUNICATION};
    p->config.gpu = &gpu;
    p->config.model = &model;
    p->config.accum = 4;
    s->first = (struct mfu_program){.launches = launches, .n_launches = LAUNCHES, .accum = 1};
    s->first.constant_bytes[MFU_PART_WEIGHTS] = 10 * MIB;
    s->seconds = seconds;
    s->pricing.prices = prices;
    s->timeline =
        (struct mfu_timeline){.events = events, .n_events = sizeof events / sizeof events[0], .step_s = 0.0171};
    s->replay = (struct mfu_replay){.samples = samples,
                                    .n_samples = sizeof samples / sizeof samples[0],
                                    .lives = lives,
                                    .n_lives = sizeof lives / sizeof lives[0],
                                    .blocks = blocks,
                                    .n_blocks = sizeof blocks / sizeof blocks[0]};
}

static json_t *load(const char *path)
{
    json_error_t error;
    json_t *o = json_load_file(path, 0, &error);

    if (!o)
        fail_msg("%s:%d: %s", path, error.line, error.text);
    return o;
}

static json_t *find(json_t *events_of, const char *ph, const char *name, size_t nth)
{
    json_t *e;
    size_t i;

    json_array_foreach(events_of, i, e) if (strcmp(json_string_value(json_object_get(e, "ph")), ph) == 0
                                            && strcmp(json_string_value(json_object_get(e, "name")), name) == 0
                                            && nth-- == 0) return e;
    return NULL;
}

static double member(json_t *e, const char *key)
{
    return json_number_value(json_object_get(e, key));
}

static void a_trace_has_slices_waits_and_memory(void **state)
{
    struct mfu_plan p;
    struct mfu_simulation s;
    struct mfu_trace_facts facts;
    struct mfu_error err;
    SCRATCH folder = scratch_new();
    const char *path;
    json_t *o, *all, *e;

    (void)state;
    make_step(&p, &s);
    path = scratch_note(&folder, "trace.json");
    if (mfu_trace_write(path, &p, &s, &facts, &err) < 0)
        fail_msg("%s", err.text);
    o = load(path);
    all = json_object_get(o, "traceEvents");
    assert_int_equal(json_array_size(all), facts.events);
    assert_int_equal(facts.kernels, 8);
    assert_int_equal(facts.left_out, 1);
    /* The third micro-step, 3 ms, is taken out; the trace begins at 0. */
    assert_near(facts.span_s, 0.0141, 1e-9);
    e = find(all, "X", "h.fc", 1); /* the first dispatch, its kernel */
    assert_near(member(e, "ts"), 100, 1e-6);
    assert_near(member(e, "dur"), 1000, 1e-6);
    assert_near(member(json_object_get(e, "args"), "FLOP"), 524288, 0);
    assert_near(member(find(all, "X", "all_reduce", 0), "ts"), 9100, 1e-6);
    /* The optimizer was issued late, after the host had done nothing. */
    e = find(all, "X", "data or synchronisation", 0);
    assert_near(member(e, "ts"), 9100, 1e-6);
    assert_near(member(e, "dur"), 3000, 1e-6);
    e = find(all, "X", "data or synchronisation", 1); /* and does something at the end */
    assert_near(member(e, "ts"), 13100, 1e-6);
    assert_near(member(e, "dur"), 1000, 1e-6);
    assert_near(member(find(all, "X", "host", 0), "dur"), 100, 1e-6);
    assert_non_null(find(all, "i", "1 micro-step like the one before left out", 0));
    assert_near(member(json_object_get(find(all, "C", "reserved", 0), "args"), "bytes"), 20 * MIB, 0);
    assert_non_null(find(all, "s", "launch", 0));
    json_decref(o);
}

static void memory_has_a_course(void **state)
{
    struct mfu_plan p;
    struct mfu_simulation s;
    struct mfu_memory_timeline c;
    size_t chosen[2];
    char name[64];

    (void)state;
    make_step(&p, &s);
    assert_int_equal(mfu_memory_timeline_make(&s, &c, NULL), 0);
    assert_int_equal(c.n_spans, 3);
    assert_near(c.seconds, 4e-3, 1e-12);
    assert_near(c.points[1].time_s, 1e-3, 1e-12);
    assert_near(c.points[3].time_s, 4e-3, 1e-12);
    assert_near(c.points[1].parts[MFU_PART_ACTIVATIONS], 4 * MIB, 0);
    assert_near(c.points[1].parts[MFU_PART_GRADIENTS], 2 * MIB, 0);
    assert_near(c.points[3].parts[MFU_PART_GRADIENTS], 0, 0); /* zero_grad */
    assert_near(c.points[3].parts[MFU_PART_WEIGHTS], 10 * MIB, 0);
    assert_string_equal(mfu_memory_timeline_span_name(&c, 1, name, sizeof name), "backward");
    assert_int_equal(mfu_memory_timeline_thin(&c, 2, chosen), 2);
    assert_int_equal(chosen[0], 1); /* the highest of each half */
    assert_int_equal(chosen[1], 2);
    mfu_memory_timeline_release(&c);

    s.replay.n_samples = 0;
    assert_int_equal(mfu_memory_timeline_make(&s, &c, NULL), -1);
}

static void a_snapshot_holds_what_is_reserved(void **state)
{
    struct mfu_plan p;
    struct mfu_simulation s;
    struct mfu_snapshot_facts facts;
    struct mfu_error err;
    SCRATCH folder = scratch_new();
    const char *path;
    json_t *o, *segment;
    double total = 0, used = 0;
    size_t i;

    (void)state;
    make_step(&p, &s);
    path = scratch_note(&folder, "s.json");
    if (mfu_snapshot_write(path, &p, &s, &facts, &err) < 0)
        fail_msg("%s", err.text);
    o = load(path);
    json_array_foreach(json_object_get(o, "segments"), i, segment)
    {
        total += member(segment, "total_size");
        used += member(segment, "active_size");
    }
    assert_near(total, 20 * MIB, 0);
    assert_near(used, 10 * MIB, 0);
    assert_int_equal(facts.segments, 2);
    assert_int_equal(facts.blocks, 2);
    /* Segments and what stands; then two tensors that come and go. */
    assert_int_equal(json_array_size(json_array_get(json_object_get(o, "device_traces"), 0)),
                     json_array_size(json_object_get(o, "segments")) + 1 + 2 * 3);
    assert_int_equal(mfu_snapshot_write("s.txt", &p, &s, &facts, &err), -1);
    json_decref(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_says_what_was_put),
        cmocka_unit_test(pickles_are_what_the_protocol_says),
        cmocka_unit_test(integers_take_the_bytes_they_need),
        cmocka_unit_test(long_lists_come_in_batches),
        cmocka_unit_test(a_file_appears_when_it_is_complete),
        cmocka_unit_test(a_link_stays_a_link),
        cmocka_unit_test(what_cannot_be_written_is_said),
        cmocka_unit_test(a_trace_has_slices_waits_and_memory),
        cmocka_unit_test(memory_has_a_course),
        cmocka_unit_test(a_snapshot_holds_what_is_reserved),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
