/*
 * run_calibrate.c - running mfuplan-calibrate.
 */
#include "repl/run_calibrate.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "graph/program.h"

#define PROGRAM "mfuplan-calibrate"

static bool runs(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

/* Beside the program that runs, or where it is built or installed. */
static bool near_by(char *path, size_t size)
{
    static const char *const places[] = {PROGRAM,
                                         "calibrate/" PROGRAM,
                                         "../libexec/mfuplan/" PROGRAM,
                                         "../libexec/" PROGRAM,
                                         "../lib/mfuplan/" PROGRAM,
                                         "../calibrate/" PROGRAM};
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    char *slash;

    if (n <= 0)
        return false;
    self[n] = '\0';
    if (!(slash = strrchr(self, '/')))
        return false;
    *slash = '\0';
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        int length = snprintf(path, size, "%s/%s", self, places[i]);

        if (length > 0 && (size_t)length < size && runs(path))
            return true;
    }
    return false;
}

static bool in_path(char *path, size_t size)
{
    const char *list = getenv("PATH");

    for (const char *at = list; at && *at; at += strcspn(at, ":"), at += *at == ':') {
        int n = (int)strcspn(at, ":"), length = snprintf(path, size, "%.*s/%s", n, at, PROGRAM);

        if (n > 0 && length > 0 && (size_t)length < size && runs(path))
            return true;
    }
    return false;
}

static int find_program(char *path, size_t size, struct mfu_error *err)
{
    const char *named = getenv("MFUPLAN_CALIBRATE");

    if (named && *named) {
        int n = snprintf(path, size, "%s", named);

        if (n > 0 && (size_t)n < size && runs(path))
            return 0;
        return mfu_fail(err, MFU_EIO, "MFUPLAN_CALIBRATE: '%.200s' is no program", named);
    }
    /* The devices of the driver, natively and under WSL. */
    if (access("/dev/nvidiactl", F_OK) != 0 && access("/dev/dxg", F_OK) != 0)
        return mfu_fail(err, MFU_EIO,
                        "there is no NVIDIA GPU here, or its driver is not loaded (no /dev/nvidiactl); "
                        "`calibrate from FILE` takes what was measured elsewhere");
    if (near_by(path, size) || in_path(path, size))
        return 0;
    return mfu_fail(err, MFU_EIO,
                    PROGRAM
                    " is not installed: it is built where the CUDA toolkit is found; "
                    "torch_kernels.py measures with PyTorch alone, and `calibrate from FILE` takes what it wrote");
}

/* Where the samples go: beside the calibrations, one file a run. */
static int choose_output(const char *calibrations, char *path, size_t size, struct mfu_error *err)
{
    char folder[MFU_PATH_MAX], stamp[32] = "now";
    time_t now = time(NULL);
    struct tm tm;

    if (!calibrations)
        return mfu_fail(err, MFU_EINPUT, "calibrations are switched off (MFUPLAN_CALIBRATIONS is empty)");
    snprintf(folder, sizeof folder, "%s", calibrations);
    if (gmtime_r(&now, &tm))
        strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &tm);
    for (char *p = folder + 1; (p = strchr(p, '/')); p++) {
        *p = '\0';
        mkdir(folder, 0777);
        *p = '/';
    }
    mkdir(folder, 0777);
    if ((size_t)snprintf(path, size, "%s/samples", folder) >= size)
        return mfu_fail(err, MFU_EINPUT, "the path of the samples is too long");
    if (mkdir(path, 0777) < 0 && errno != EEXIST)
        return mfu_fail(err, MFU_EIO, "%.200s cannot be made: %s", path, strerror(errno));
    if ((size_t)snprintf(path, size, "%s/samples/%s.yaml", folder, stamp) >= size)
        return mfu_fail(err, MFU_EINPUT, "the path of the samples is too long");
    return 0;
}

static bool same_shape(const struct mfu_kernel *a, const struct mfu_kernel *b)
{
    return mfu_kind_is_gemm(b->kind) && b->batch == 1 && a->m == b->m && a->n == b->n && a->k == b->k
        && a->math == b->math;
}

/* The different matrix products of a step, a line "m n k dtype" each. */
static int write_shapes(const char *path, const struct mfu_program *p, struct mfu_error *err)
{
    FILE *f = fopen(path, "w");

    for (int i = 0; f && i < p->n_launches; i++) {
        const struct mfu_kernel *k = &p->launches[i].work->kernel;
        int first = 0;

        while (!same_shape(k, &p->launches[first].work->kernel) && first < i)
            first++;
        if (first == i && mfu_kind_is_gemm(k->kind) && k->batch == 1)
            fprintf(f, "%.0f %.0f %.0f %s\n", k->m, k->n, k->k, mfu_peak_names[k->math]);
    }
    if (!f || fclose(f) != 0)
        return mfu_fail(err, MFU_EIO, "%.200s cannot be written: %s", path, strerror(errno));
    return 0;
}

/* The child's status, as wait() tells it; -1 with errno. */
static int run(const char *program, const char *output, const char *shapes, int quick, const char *device)
{
    const char *argv[9] = {program, "--output", output};
    int n = 3;
    void (*old)(int) = signal(SIGINT, SIG_IGN); /* the child stops measuring; we go on */
    int status = -1, problem = 0;
    pid_t child;

    if (shapes[0]) {
        argv[n++] = "--shapes";
        argv[n++] = shapes;
    }
    if (quick)
        argv[n++] = "--quick";
    if (device) {
        argv[n++] = "--device";
        argv[n++] = device;
    }
    fflush(NULL);
    child = fork();
    if (child == 0) {
        signal(SIGINT, SIG_DFL);
        dup2(STDERR_FILENO, STDOUT_FILENO); /* standard output is for answers */
        execv(program, (char *const *)argv);
        _exit(127);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (child < 0) {
        problem = errno;
        status = -1;
    }
    signal(SIGINT, old);
    errno = problem;
    return status;
}

int mfu_probe_run(const char *calibrations, char *path, size_t size, int quick, const char *device,
                  const struct mfu_program *step, struct mfu_error *err)
{
    char program[PATH_MAX], shapes[PATH_MAX + 8] = "";
    struct stat info;
    int status;

    if (find_program(program, sizeof program, err) < 0 || choose_output(calibrations, path, size, err) < 0)
        return -1;
    if (step) {
        snprintf(shapes, sizeof shapes, "%s.shapes", path);
        if (write_shapes(shapes, step, err) < 0)
            return -1;
    }
    status = run(program, path, shapes, quick, device);
    if (step)
        unlink(shapes);
    if (status < 0)
        return mfu_fail(err, MFU_EIO, "%.200s cannot be started: %s", program, strerror(errno));
    if (stat(path, &info) == 0 && info.st_size > 0)
        return 0; /* whatever it was that ended it */
    if (WIFSIGNALED(status))
        return mfu_fail(err, MFU_EIO, PROGRAM " was ended by signal %d before it had measured anything",
                        WTERMSIG(status));
    return mfu_fail(err, MFU_EIO, PROGRAM " measured nothing (status %d)", WEXITSTATUS(status));
}
