/*
 * test_compare_trace.c - a trace beside the plan: what was put into it is found again.
 *
 * tests/data/traces/make.py recorded the one on the CPU and made the other of it.
 */
#include "near.h"

#include <jansson.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "answer/trace/compare_trace.h"
#include "answer/trace/read_recording.h"
#include "base/error.h"
#include "scenarios.h"
#include "scratch.h"

#define TRACES MFUPLAN_SOURCE_DIR "/tests/data/traces/"
#define MODEL "n_layer 1 n_embd 64 n_head 2 seq 64 vocab_size 128 batch 2 precision fp32 grad_clip 0"

static struct mfu_plan plan;
static struct mfu_simulation simulation;
static struct mfu_trace_comparison c;

static int release(void **state)
{
    mfu_simulation_release(&simulation);
    mfu_plan_release(&plan);
    return close_catalog(state);
}

static void compare(const char *path)
{
    struct mfu_scenario s = scenario_of("h100-sxm", "gpt2", MODEL);
    struct mfu_error err = {0};

    if (mfu_compare_trace(&s, path, &plan, &simulation, &c, &err) < 0)
        fail_msg("%s: %s", path, err.text);
}

static const struct mfu_aligned *row(const struct mfu_aligned *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    fail_msg("no row %s", name);
    return NULL;
}

static const struct mfu_aligned *kernel(const char *name)
{
    return row(c.alignment->kernels, c.alignment->n_kernels, name);
}

/* The trace of the GPU with the last line that has `text` replaced: `by` NULL: left out; else what
 * stands there instead of `text`. */
static void compare_changed(const char *text, const char *by)
{
    char *all = calloc(1, 1 << 20), *changed = calloc(1, 1 << 20), *last = NULL;
    FILE *in = fopen(TRACES "gpu.json", "r");
    SCRATCH s = scratch_new();

    assert_true(all && changed && in && fread(all, 1, (1 << 20) - 1, in) > 0);
    fclose(in);
    for (char *p = all; (p = strstr(p, text)); p++)
        last = p;
    assert_non_null(last);
    if (by)
        snprintf(changed, 1 << 20, "%.*s%s%s", (int)(last - all), all, by, last + strlen(text));
    else {
        char *line = last, *end = strchr(last, '\n') + 1;

        while (line[-1] != '\n')
            line--;
        snprintf(changed, 1 << 20, "%.*s%s", (int)(line - all), all, end);
    }
    compare(scratch_file(&s, "t.json", changed));
    free(all);
    free(changed);
}

/* PyTorch's own trace: every product has its launch, and all but little of the time. */
static void test_cpu(void **state)
{
    const struct mfu_aligned *gemm;

    (void)state;
    compare(TRACES "cpu.json");
    assert_true(c.on_cpu && isnan(c.busy_s) && isnan(c.recoverable_s));
    assert_int_equal(c.steps, 2);
    gemm = row(c.alignment->kinds, c.alignment->n_kinds, "gemm");
    assert_true(gemm->count == gemm->measured_count && gemm->count == 15);
    assert_true(c.alignment->runs[0].matched > 0.9);
    for (size_t i = 0; i < c.alignment->n_kernels; i++)
        assert_true(c.alignment->kernels[i].recoverable_s == 0);
    mfu_trace_comparison_release(&c);
}

/* The gaps that were put in, by cause; with the kernels they are the step. */
static void test_gaps(void **state)
{
    double sum = 0;

    (void)state;
    compare(TRACES "gpu.json");
    assert_false(c.on_cpu);
    assert_string_equal(c.device, "NVIDIA H100 80GB HBM3");
    assert_near(c.gaps[MFU_GAP_LOADER].measured_s, 3e-3, 0.01);
    assert_near(c.gaps[MFU_GAP_SYNC].measured_s, 1e-3, 0.02);
    assert_near(c.gaps[MFU_GAP_HOST].measured_s, 2e-3, 0.02);
    assert_near(c.gaps[MFU_GAP_EXPOSED].measured_s, 500e-6, 0.001);
    for (int i = 0; i < MFU_GAP_EXPOSED; i++)
        sum += c.gaps[i].measured_s;
    assert_near(sum + c.busy_s, c.step_s, 1e-6);
    mfu_trace_comparison_release(&c);
}

static void test_kernels(void **state)
{
    double took, could;

    (void)state;
    compare(TRACES "gpu.json");
    assert_string_equal(kernel("h.mlp.gelu")->status, "slow"); /* 20 us each */
    took = c.busy_s;
    could = c.recoverable_s;
    mfu_trace_comparison_release(&c);

    compare_changed("void at::native::kernel<gelu>", NULL);
    assert_string_equal(kernel("h.mlp.gelu")->status, "missing");
    assert_near(c.busy_s, took - 20e-6, 1e-6);
    mfu_trace_comparison_release(&c);

    compare_changed("\"dur\":500.0", "\"dur\":900.0");      /* the collective */
    assert_near(c.recoverable_s, could + 2 * 400e-6, 1e-6); /* as a kernel that nobody planned, and exposed */
    mfu_trace_comparison_release(&c);

    compare_changed("\"cat\":\"kernel\",\"name\":\"nccl", "\"cat\":\"kernel\",\"name\":\"void something_else");
    assert_true(c.gaps[MFU_GAP_EXPOSED].measured_s == 0);
    mfu_trace_comparison_release(&c);
}

static void execute(sqlite3 *db, const char *sql)
{
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
}

/* "[[2, 64], []]", as emit_nvtx writes sizes. */
static void write_nvtx(const json_t *event, char *text, size_t size)
{
    const json_t *args = json_object_get(event, "args"), *dims = json_object_get(args, "Input Dims"), *tensor, *x;
    size_t n = (size_t)snprintf(text, size, "%s, op_id = 3", json_string_value(json_object_get(event, "name"))), i, k;

    if (json_array_size(dims) == 0)
        return;
    n += (size_t)snprintf(text + n, size - n, ", sizes = [");
    json_array_foreach(dims, i, tensor)
    {
        n += (size_t)snprintf(text + n, size - n, i ? ", [" : "[");
        json_array_foreach(tensor, k, x) n +=
            (size_t)snprintf(text + n, size - n, k ? ", %.0f" : "%.0f", json_number_value(x));
        n += (size_t)snprintf(text + n, size - n, "]");
    }
    snprintf(text + n, size - n, "], input_op_ids = [(2,0)]");
}

/* What Nsight Systems would have exported of the trace of the GPU: the tables that it has, with its columns that are
 * read; kernels of another GPU beside them. */
static void export_nsys(const char *path)
{
    static const struct {
        const char *category, *sql;
        bool nvtx;
    } tables[] = {
        {"kernel", "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?1, ?2, 0, 0x1092000000, ?3, ?4)", false},
        {"cuda_runtime", "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?1, ?2, 0x1092001092, ?3, ?4)", false},
        {"cpu_op", "INSERT INTO NVTX_EVENTS VALUES (?1, ?2, 59, NULL, 0x1092001092, ?4)", true},
        {"user_annotation", "INSERT INTO NVTX_EVENTS VALUES (?1, ?2, 59, ?5, 0x1092001092, NULL)", true},
    };
    json_t *root = json_load_file(TRACES "gpu.json", 0, NULL), *o;
    sqlite3 *db;
    size_t i;
    int texts = 0;

    assert_non_null(root);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    execute(db,
            "BEGIN; CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);"
            "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, \"end\" INT, deviceId INT, globalPid INT,"
            " correlationId INT, demangledName INT);"
            "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, \"end\" INT, globalTid INT, correlationId INT,"
            " nameId INT);"
            "CREATE TABLE NVTX_EVENTS (start INT, \"end\" INT, eventType INT, text TEXT, globalTid INT, textId INT);"
            "CREATE TABLE TARGET_INFO_GPU (id INT, name TEXT);"
            "INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H100 80GB HBM3');"
            "INSERT INTO NVTX_EVENTS VALUES (0, NULL, 34, 'a mark', 0x1092001092, NULL);"
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (0, 9000000000, 1, 0x2092000000, 1, 0)");
    json_array_foreach(json_object_get(root, "traceEvents"), i, o)
    {
        const char *category = json_string_value(json_object_get(o, "cat"));
        double begin = 1e3 * json_number_value(json_object_get(o, "ts")),
               takes = 1e3 * json_number_value(json_object_get(o, "dur"));

        for (size_t k = 0; k < LENGTH(tables); k++) {
            sqlite3_stmt *row;
            char text[512];

            if (!category || strcmp(category, tables[k].category) != 0)
                continue;
            if (strcmp(category, "cpu_op") == 0)
                takes -= 3000; /* the trace's are made 12 us long, with 10 us between them */
            if (tables[k].nvtx)
                write_nvtx(o, text, sizeof text);
            else
                snprintf(text, sizeof text, "%s", json_string_value(json_object_get(o, "name")));
            assert_int_equal(sqlite3_prepare_v2(db, "INSERT INTO StringIds VALUES (?1, ?2)", -1, &row, NULL),
                             SQLITE_OK);
            sqlite3_bind_int(row, 1, ++texts);
            sqlite3_bind_text(row, 2, text, -1, SQLITE_STATIC);
            assert_int_equal(sqlite3_step(row), SQLITE_DONE);
            sqlite3_finalize(row);
            assert_int_equal(sqlite3_prepare_v2(db, tables[k].sql, -1, &row, NULL), SQLITE_OK);
            sqlite3_bind_int64(row, 1, (sqlite3_int64)(begin + 0.5));
            sqlite3_bind_int64(row, 2, (sqlite3_int64)(begin + takes + 0.5));
            sqlite3_bind_double(row, 3, json_number_value(json_object_get(json_object_get(o, "args"), "correlation")));
            sqlite3_bind_int(row, 4, texts);
            if (strcmp(category, "user_annotation") == 0)
                sqlite3_bind_text(row, 5, json_string_value(json_object_get(o, "name")), -1, SQLITE_STATIC);
            assert_int_equal(sqlite3_step(row), SQLITE_DONE);
            sqlite3_finalize(row);
        }
    }
    execute(db, "COMMIT");
    sqlite3_close(db);
    json_decref(root);
}

/* A step is the same, whoever recorded it. */
static void test_nsys(void **state)
{
    struct mfu_trace_comparison kineto;
    SCRATCH folder = scratch_new();
    const char *path;

    (void)state;
    path = scratch_note(&folder, "step.sqlite");
    export_nsys(path);
    compare(TRACES "gpu.json");
    kineto = c;
    compare(path);
    assert_false(c.on_cpu);
    assert_string_equal(c.device, kineto.device);
    assert_int_equal(c.steps, kineto.steps);
    assert_near(c.step_s, kineto.step_s, 1e-6);
    assert_near(c.busy_s, kineto.busy_s, 1e-6);
    assert_near(c.recoverable_s, kineto.recoverable_s, 0.01); /* types of tensors are not in it */
    for (int i = 0; i < MFU_GAP_COUNT; i++) {
        assert_near(c.gaps[i].count, kineto.gaps[i].count, 0);
        assert_near(c.gaps[i].measured_s + 1, kineto.gaps[i].measured_s + 1, 1e-6);
    }
    assert_int_equal(c.alignment->n_kernels, kineto.alignment->n_kernels);
    for (size_t i = 0; i < c.alignment->n_kernels; i++) {
        const struct mfu_aligned *a = &c.alignment->kernels[i], *b = kineto.alignment->kernels;

        while (strcmp(a->name, b->name) != 0 || strcmp(a->phase, b->phase) != 0)
            assert_true(++b < kineto.alignment->kernels + kineto.alignment->n_kernels);
        assert_string_equal(a->status, b->status);
        assert_near(a->measured_count, b->measured_count, 0);
    }
    mfu_trace_comparison_release(&kineto);
    mfu_trace_comparison_release(&c);
}

/* A database of something else, one that is torn, one whose tables are none. */
static void test_other_databases(void **state)
{
    static const struct {
        const char *sql, *says;
    } wrong[] = {
        {"CREATE TABLE t (x)", "nsys profile"},
        {"CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT 1", "nsys profile"},
        {"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (x)", "can be read"},
        {"CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT); CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, "
         "\"end\", deviceId, globalPid, correlationId, demangledName)",
         "no kernel"}};

    (void)state;
    for (size_t i = 0; i <= LENGTH(wrong); i++) {
        struct mfu_error err = {0};
        struct mfu_recording k;
        struct scratch folder;
        const char *path;
        sqlite3 *db;

        scratch_begin(&folder);
        if (i < LENGTH(wrong)) {
            path = scratch_note(&folder, "t.sqlite");
            assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
            execute(db, wrong[i].sql);
            sqlite3_close(db);
        } else
            path = scratch_file(&folder, "t.sqlite", "SQLite format 3");
        assert_int_equal(mfu_recording_read(path, &k, &err), -1);
        assert_non_null(strstr(err.text, i < LENGTH(wrong) ? wrong[i].says : "no JSON"));
        mfu_recording_release(&k);
        scratch_end(&folder);
    }
}

static void test_refusals(void **state)
{
    static const struct {
        const char *text, *says;
        int line;
    } wrong[] = {{"{\"traceEvents\": [\n  {\"ph\": }]}", "no JSON", 2},
                 {"{}", "traceEvents", 0},
                 {"{\"traceEvents\": []}", "no kernel", 0},
                 {"7", "no JSON", 1}};
    struct mfu_scenario s = scenario_of("h100-sxm", "gpt2", MODEL " accum 2");
    struct mfu_error err = {0};

    (void)state;
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        struct scratch folder;
        struct mfu_recording k;

        scratch_begin(&folder);
        err = (struct mfu_error){0};
        assert_int_equal(mfu_recording_read(scratch_file(&folder, "t.json", wrong[i].text), &k, &err), -1);
        assert_non_null(strstr(err.text, wrong[i].says));
        assert_int_equal(err.line, wrong[i].line);
        mfu_recording_release(&k);
        scratch_end(&folder);
    }
    assert_int_equal(mfu_compare_trace(&s, TRACES "gpu.json", &plan, &simulation, &c, &err), -1);
    assert_non_null(strstr(err.text, "accum 1"));
    mfu_trace_comparison_release(&c);
}

/* Products of another model are told by their shapes. */
static void other_shapes(void **state)
{
    (void)state;
    compare(TRACES "gpu.json");
    assert_true(c.alignment->runs[0].products_s > 0);
    assert_near(c.alignment->runs[0].other_shape_s, 0, 0);
    mfu_trace_comparison_release(&c);
    {
        struct mfu_scenario s = scenario_of("h100-sxm", "gpt2", "batch 2");

        assert_int_equal(mfu_compare_trace(&s, TRACES "gpu.json", &plan, &simulation, &c, NULL), 0);
    }
    assert_true(c.alignment->runs[0].other_shape_s > 0.5 * c.alignment->runs[0].products_s);
    mfu_trace_comparison_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(other_shapes), cmocka_unit_test(test_cpu),
                                       cmocka_unit_test(test_gaps),    cmocka_unit_test(test_kernels),
                                       cmocka_unit_test(test_nsys),    cmocka_unit_test(test_other_databases),
                                       cmocka_unit_test(test_refusals)};

    return cmocka_run_group_tests(tests, open_catalog, release);
}
