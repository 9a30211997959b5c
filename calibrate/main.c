/*
 * main.c - mfuplan-calibrate: options, progress, and the order of things.
 *
 * Exit status: 0 all well, 1 it could not measure (no GPU, no driver, no
 * cuBLAS, a kernel that computes wrong numbers), 2 the command line was wrong,
 * 130 interrupted; what was measured until then is in the file.
 */
#include <dlfcn.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "blas.h"
#include "nvml.h"
#include "output.h"
#include "selftest.h"
#include "shapes.h"

#define MOST_ROOM ((size_t)16 << 30)
#define GUESS_S 0.9 /* a point, before any was measured */
#define QUICK_GUESS_S 0.4

struct options {
    const struct mfu_probe *probe[32]; /* none: all */
    size_t n_probes;
    bool quick, resume;
    int device;
    const char *output;
    const char *shapes;
    const char *meet;
};

static int complain(const char *subject, const char *why)
{
    fprintf(stderr, "mfuplan-calibrate: %s%s%s\n", subject, *subject ? ": " : "", why);
    return 1;
}

static void on_interrupt(int number)
{
    (void)number;
    mfu_interrupted = 1;
}

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void list_probes(void)
{
    for (size_t i = 0; i < mfu_probe_count; i++)
        printf("%-15s %s\n", mfu_probes[i]->name, mfu_probes[i]->summary);
}

static const struct mfu_probe *find_probe(const char *name)
{
    for (size_t i = 0; i < mfu_probe_count; i++)
        if (strcmp(mfu_probes[i]->name, name) == 0)
            return mfu_probes[i];
    return NULL;
}

static void usage(FILE *f)
{
    fprintf(f,
            "usage: mfuplan-calibrate [--list] [--probe NAME]... [--quick] [--device N]\n"
            "                         [--output FILE.yaml] [--resume] [--shapes FILE]\n"
            "                         [--meet FILE] [--self-test]\n"
            "\n"
            "Measures this machine's GPU for mfuplan and writes the samples.\n"
            "\n"
            "  --list           name the probes\n"
            "  --probe NAME     run this one (again for more); without it, all\n"
            "  --quick          fewer sizes, about two minutes\n"
            "  --device N       CUDA's number of the GPU, from 0\n"
            "  --output FILE    default mfuplan-samples.yaml\n"
            "  --resume         go on with that file: probes that are whole in it are not repeated\n"
            "  --shapes FILE    products to measure too, lines of 'm n k dtype'\n"
            "  --meet FILE      where the processes of a launcher find each other: a file that\n"
            "                   all of them see; default: the output and '.meet'\n"
            "  --self-test      check what can be checked without a GPU\n"
            "\n"
            "Started once per GPU by a launcher, it measures the collectives over all of them:\n"
            "  mpirun -np 16 mfuplan-calibrate --output link.yaml\n"
            "  srun --ntasks 16 --gpus-per-node 8 mfuplan-calibrate --output link.yaml\n");
}

/* Says in one sentence why there is no such GPU to measure; 0 if there is.  Of
 * the processes of a launcher each takes the GPU of its number, or the only one
 * that it was given. */
static int look_for_gpu(struct mfu_bench *b, int device)
{
    char why[160];
    int count = 0;
    cudaError_t status;
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY);

    if (!driver)
        return complain("", "there is no NVIDIA driver on this machine (libcuda.so.1 was not found)");
    dlclose(driver);
    status = cudaGetDeviceCount(&count);
    if (status == cudaErrorInsufficientDriver) {
        snprintf(why, sizeof why, "the NVIDIA driver is older than CUDA %d.%d, which this program was built with",
                 CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
        return complain("", why);
    }
    if (status == cudaErrorNoDevice || (status == cudaSuccess && count == 0))
        return complain("", "there is no NVIDIA GPU that this process can use");
    if (status != cudaSuccess)
        return complain("the NVIDIA driver does not start", cudaGetErrorString(status));
    if (b->ranks.size > 1 && count > 1)
        device += b->ranks.local;
    b->device = device;
    if (device >= count) {
        snprintf(why, sizeof why, "there is no GPU %d: this machine has %d, counted from 0", device, count);
        return complain("", why);
    }
    return 0;
}

static int open_bench(struct mfu_bench *b, const struct options *o)
{
    char why[256], pci[32];
    size_t free_bytes, total;

    b->quick = o->quick;
    MFU_CUDA(b, cudaSetDevice(b->device));
    MFU_CUDA(b, cudaGetDeviceProperties(&b->gpu, b->device));
    if (10 * b->gpu.major + b->gpu.minor < MFUPLAN_OLDEST_CAPABILITY)
        return mfu_bench_fail(b, "%s has compute capability %d.%d; this program was built for %d.%d and newer",
                              b->gpu.name, b->gpu.major, b->gpu.minor, MFUPLAN_OLDEST_CAPABILITY / 10,
                              MFUPLAN_OLDEST_CAPABILITY % 10);
    if (o->resume && mfu_output_resume(b, o->output) < 0)
        return -1;
    MFU_CUDA(b, cudaStreamCreateWithFlags(&b->stream, cudaStreamNonBlocking));
    MFU_CUDA(b, cudaDeviceGetPCIBusId(pci, sizeof pci, b->device));
    b->nvml = mfu_nvml_open(pci);
    if (!b->nvml)
        complain("", "NVML does not answer: samples are without clocks and power");
    b->blas = mfu_blas_open(b->stream, why, sizeof why);
    if (!b->blas)
        return mfu_bench_fail(b, "%s", why);
    MFU_CUDA(b, cudaMemGetInfo(&free_bytes, &total));
    b->room_size = free_bytes / 10 * 8;
    if (b->room_size > MOST_ROOM)
        b->room_size = MOST_ROOM;
    MFU_CUDA(b, cudaMalloc((void **)&b->room, b->room_size));
    return 0;
}

static void close_bench(struct mfu_bench *b)
{
    cudaFree(b->room);
    mfu_blas_close(b->blas);
    mfu_nvml_close(b->nvml);
    if (b->stream)
        cudaStreamDestroy(b->stream);
    for (size_t i = 0; i < b->n_samples; i++)
        free(b->samples[i]);
    free(b->samples);
    free((void *)b->shapes);
}

/* How far it is, on standard error: a line that is overwritten on a terminal,
 * one per probe elsewhere. */
struct progress {
    double start;
    size_t done, total; /* points, of all probes */
    bool quick, terminal, silent;
};

static void show_progress(const struct progress *p, const struct mfu_probe *probe, size_t point, size_t points)
{
    const double each = p->done ? (now_s() - p->start) / (double)p->done : p->quick ? QUICK_GUESS_S : GUESS_S;
    const int left = (int)(each * (double)(p->total - p->done) + 0.5);

    if (p->silent)
        return;
    if (p->terminal)
        fprintf(stderr, "\r%-15s %3zu of %zu, %d:%02d left \033[K", probe->name, point + 1, points, left / 60,
                left % 60);
    else if (point == 0)
        fprintf(stderr, "%s: %zu points, %d:%02d left in all\n", probe->name, points, left / 60, left % 60);
}

static void end_line(const struct progress *p)
{
    if (p->terminal)
        fprintf(stderr, "\r\033[K");
}

/* Runs a probe: 0, or -1 if it found something wrong.  A point that does not
 * fit is no failure. */
static int run_probe(struct mfu_bench *b, const struct mfu_probe *probe, struct progress *p)
{
    const size_t points = probe->points(b);
    size_t skipped = 0;
    int status = 0;

    b->probe = probe->name;
    mfu_bench_clear(b);
    if (probe->check && probe->check(b) < 0) {
        end_line(p);
        complain(probe->name, b->error);
        p->total -= points;
        return -1;
    }
    for (size_t i = 0; i < points && !mfu_interrupted; i++) {
        int result;

        show_progress(p, probe, i, points);
        mfu_bench_clear(b);
        result = probe->run(b, i);
        p->done++;
        skipped += result == MFU_SKIPPED;
        if (result >= 0 || mfu_interrupted)
            continue;
        end_line(p);
        complain(probe->name, b->error);
        status = -1;
        if (cudaStreamSynchronize(b->stream) != cudaSuccess)
            return -1; /* the context is lost */
    }
    end_line(p);
    if (skipped)
        fprintf(stderr, "%s: %zu of %zu points do not fit this GPU\n", probe->name, skipped, points);
    return status;
}

/* The i-th probe: those that tell most of a step come first, since whoever interrupts wants them. */
static const struct mfu_probe *in_order(size_t i)
{
    static const char *const first[] = {"gemm", "memory", "launch"};
    const size_t n = sizeof first / sizeof first[0];

    if (i < n)
        return find_probe(first[i]);
    for (size_t k = 0, at = n; k < mfu_probe_count; k++) {
        bool named = false;

        for (size_t f = 0; f < n; f++)
            named |= strcmp(mfu_probes[k]->name, first[f]) == 0;
        if (!named && at++ == i)
            return mfu_probes[k];
    }
    return NULL;
}

/* The probes that can run here, after saying why others cannot.  Processes of a
 * launcher would be in each other's way at anything but what they do together. */
static size_t choose(const struct mfu_bench *b, const struct options *o, const struct mfu_probe **chosen)
{
    size_t n = 0;
    size_t candidates = o->n_probes ? o->n_probes : mfu_probe_count;

    for (size_t i = 0; i < candidates; i++) {
        const struct mfu_probe *p = o->n_probes ? o->probe[i] : in_order(i);
        const bool alone = b->ranks.size > 1 && !p->joint;
        const char *why = alone ? "measures one GPU: start it without a launcher" : p->skip ? p->skip(b) : NULL;

        if (alone && o->n_probes == 0)
            continue;
        if (!why && mfu_output_has(b, p->name))
            why = "it is in the file already";
        if (why && b->ranks.rank == 0)
            fprintf(stderr, "%s: left out: %s\n", p->name, why);
        if (!why)
            chosen[n++] = p;
    }
    return n;
}

static int measure(struct mfu_bench *b, const struct options *o)
{
    const struct mfu_probe *chosen[64];
    const size_t n = choose(b, o, chosen);
    struct progress p = {
        .start = now_s(), .quick = o->quick, .terminal = isatty(STDERR_FILENO), .silent = b->ranks.rank > 0};
    int status = 0;

    for (size_t i = 0; i < n; i++)
        p.total += chosen[i]->points(b);
    if (b->ranks.size > 1 && !p.silent)
        fprintf(stderr, "%d processes, %s: what they do together is measured\n", b->ranks.size, b->gpu.name);
    else if (!p.silent)
        fprintf(stderr, "%s, %zu probes, about %.0f min\n", b->gpu.name, n,
                (double)p.total * (o->quick ? QUICK_GUESS_S : GUESS_S) / 60 + 0.5);
    for (size_t i = 0; i < n && !mfu_interrupted; i++) {
        if (run_probe(b, chosen[i], &p) < 0)
            status = 1;
        else if (!mfu_interrupted)
            mfu_output_complete(b, chosen[i]->name);
        if (b->ranks.rank == 0 && mfu_output_write(b, o->output) < 0)
            return complain("", b->error);
        if (cudaStreamSynchronize(b->stream) != cudaSuccess)
            return complain("", "the GPU reported an error; the samples until then were kept");
    }
    if (n > 0 && !p.silent)
        fprintf(stderr, "%zu samples in %s%s\n", b->n_samples, o->output, mfu_interrupted ? " (interrupted)" : "");
    return mfu_interrupted ? 130 : status;
}

static int read_shapes(struct mfu_bench *b, const char *path)
{
    char why[160];
    struct mfu_shape *shapes;
    FILE *f = fopen(path, "r");
    int status;

    if (!f)
        return complain(path, strerror(errno));
    status = mfu_shapes_read(f, &shapes, &b->n_shapes, why, sizeof why);
    fclose(f);
    b->shapes = shapes;
    return status < 0 ? complain(path, why) : 0;
}

/* The command line: -1 to go on, else the exit status. */
static int parse(int argc, char **argv, struct options *o)
{
    enum { LIST = 256, PROBE, QUICK, DEVICE, OUTPUT, RESUME, SHAPES, MEET, SELF_TEST, HELP, VERSION };
    static const struct option names[] = {
        {"list", no_argument, NULL, LIST},           {"probe", required_argument, NULL, PROBE},
        {"quick", no_argument, NULL, QUICK},         {"device", required_argument, NULL, DEVICE},
        {"output", required_argument, NULL, OUTPUT}, {"resume", no_argument, NULL, RESUME},
        {"shapes", required_argument, NULL, SHAPES}, {"meet", required_argument, NULL, MEET},
        {"self-test", no_argument, NULL, SELF_TEST}, {"help", no_argument, NULL, HELP},
        {"version", no_argument, NULL, VERSION},     {NULL, 0, NULL, 0},
    };
    char *end;
    int option;

    while ((option = getopt_long(argc, argv, "h", names, NULL)) != -1) {
        switch (option) {
        case LIST: list_probes(); return 0;
        case PROBE:
            if (o->n_probes == sizeof o->probe / sizeof o->probe[0]
                || !(o->probe[o->n_probes++] = find_probe(optarg))) {
                fprintf(stderr, "mfuplan-calibrate: there is no probe '%s'; --list names them\n", optarg);
                return 2;
            }
            break;
        case QUICK: o->quick = true; break;
        case DEVICE:
            o->device = (int)strtol(optarg, &end, 10);
            if (*end || end == optarg || o->device < 0) {
                fprintf(stderr, "mfuplan-calibrate: --device: expected a number from 0, not '%s'\n", optarg);
                return 2;
            }
            break;
        case OUTPUT: o->output = optarg; break;
        case RESUME: o->resume = true; break;
        case SHAPES: o->shapes = optarg; break;
        case MEET: o->meet = optarg; break;
        case SELF_TEST: return mfu_self_test();
        case HELP:
        case 'h': usage(stdout); return 0;
        case VERSION: puts("mfuplan-calibrate " MFUPLAN_VERSION); return 0;
        default: usage(stderr); return 2;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "mfuplan-calibrate: unexpected '%s'\n", argv[optind]);
        return 2;
    }
    return -1;
}

/* Who else is there, and where they meet. */
static int read_ranks(struct mfu_bench *b, const struct options *o)
{
    struct mfu_ranks *r = &b->ranks;
    char why[160];
    int n;

    if (mfu_ranks_from_environment(r, why, sizeof why) < 0)
        return complain("", why);
    n = o->meet ? snprintf(r->meet, sizeof r->meet, "%s", o->meet)
                : snprintf(r->meet, sizeof r->meet, "%s.meet", o->output);
    return n > 0 && (size_t)n < sizeof r->meet ? 0 : complain("--meet", "the name of the file is too long, or empty");
}

int main(int argc, char **argv)
{
    struct options o = {.output = "mfuplan-samples.yaml"};
    struct mfu_bench b = {0};
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
    int status = parse(argc, argv, &o);

    if (status >= 0)
        return status;
    if (o.shapes && read_shapes(&b, o.shapes) != 0)
        return 1;
    status = read_ranks(&b, &o);
    if (status == 0)
        status = look_for_gpu(&b, o.device);
    if (status == 0) {
        sigaction(SIGINT, &action, NULL); /* a second Ctrl-C ends it at once */
        sigaction(SIGTERM, &action, NULL);
        status = open_bench(&b, &o) < 0 ? complain("", b.error) : measure(&b, &o);
    }
    close_bench(&b);
    return status;
}
