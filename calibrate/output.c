/*
 * output.c - writing the samples.
 */
#include "output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "blas.h"
#include "nvml.h"

void mfu_output_hash(const void *bytes, size_t n, char hash[17])
{
    const unsigned char *p = bytes;
    uint64_t h = 0xcbf29ce484222325u;

    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * 0x100000001b3u;
    snprintf(hash, 17, "%016" PRIx64, h);
}

/* Begins the comment that says which probes are whole, and how many samples these are: --resume reads it. */
#define COMPLETE "# whole:"
#define COMPLETE_QUICK "# whole of --quick:"

/* A plain scalar within {}: what YAML would read as its own becomes a blank. */
static void plain(const char *text, char *to, size_t size)
{
    size_t n = strlen(text);

    if (n >= size)
        n = size - 1;
    for (size_t i = 0; i < n; i++)
        to[i] = text[i] < ' ' || strchr(",:{}[]#&*!|>'\"%@`\\", text[i]) ? ' ' : text[i];
    to[n] = '\0';
}

/* "13.0" */
static void version_text(int version, char *to, size_t size)
{
    snprintf(to, size, "%d.%d", version / 1000, version % 1000 / 10);
}

/* The machine's processor, as torch_kernels.py names it: what was measured beside another is another machine's.
 * "": /proc/cpuinfo does not say. */
static void cpu_name(char *to, size_t size)
{
    FILE *f = fopen("/proc/cpuinfo", "r");
    char line[512];

    *to = '\0';
    while (f && !*to && fgets(line, sizeof line, f)) {
        const char *colon = strchr(line, ':');

        if (!colon || strncmp(line, "model name", strlen("model name")) != 0)
            continue;
        colon += 1 + strspn(colon + 1, " \t");
        snprintf(to, size, "%.*s", (int)strcspn(colon, "\n\"\\"), colon);
    }
    if (f)
        fclose(f);
}

void mfu_output_print(const struct mfu_bench *b, FILE *f, const char *date)
{
    char name[sizeof b->gpu.name];
    char hash[17], cuda[16], driver[80], cpu[80], host[64] = "";
    int clock_khz = 0;
    int version = 0;

    plain(b->gpu.name, name, sizeof name);
    mfu_output_hash(&b->gpu.uuid, sizeof b->gpu.uuid, hash);
    version_text(CUDART_VERSION, cuda, sizeof cuda);
    snprintf(driver, sizeof driver, "%s", mfu_nvml_driver(b->nvml));
    if (!driver[0] && cudaDriverGetVersion(&version) == cudaSuccess)
        version_text(version, driver, sizeof driver);
    cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, b->device);

    fprintf(f,
            "# Written by mfuplan-calibrate.  Seconds are medians; bytes are read + written.\n"
            "mfuplan_samples: 1\n%s%s; %zu\n",
            b->quick ? COMPLETE_QUICK : COMPLETE, b->complete, b->n_complete);
    fprintf(f,
            "gpu: {name: %s, uuid_hash: \"%s\", compute_capability: %d.%d, sms: %d, memory_bytes: %zu, "
            "l2_bytes: %d, clock_mhz: %.0f, power_w: %.0f}\n",
            name, hash, b->gpu.major, b->gpu.minor, b->gpu.multiProcessorCount, b->gpu.totalGlobalMem,
            b->gpu.l2CacheSize, clock_khz / 1000.0, mfu_nvml_power_limit_w(b->nvml));
    cpu_name(cpu, sizeof cpu);
    if (gethostname(host, sizeof host) != 0)
        host[0] = '\0';
    host[sizeof host - 1] = '\0';
    fprintf(f, "host: \"%s\"\ncpu: \"%s\"\ndriver: \"%s\"\ncuda: \"%s\"\ncublas: \"%s\"\ndate: %s\n", host, cpu, driver,
            cuda, b->blas ? mfu_blas_version(b->blas) : "", date);
    fprintf(f, b->n_samples ? "samples:\n" : "samples: []\n");
    for (size_t i = 0; i < b->n_samples; i++)
        fprintf(f, "  - {%s}\n", b->samples[i]);
}

int mfu_output_write(struct mfu_bench *b, const char *path)
{
    char beside[4096];
    char date[32] = "";
    time_t now = time(NULL);
    struct tm t;
    FILE *f;
    int failed;

    if ((size_t)snprintf(beside, sizeof beside, "%s.%ld.tmp", path, (long)getpid()) >= sizeof beside)
        return mfu_bench_fail(b, "the name of the file is too long");
    f = fopen(beside, "w");
    if (!f)
        return mfu_bench_fail(b, "%s: %s", beside, strerror(errno));
    if (localtime_r(&now, &t))
        strftime(date, sizeof date, "%Y-%m-%d", &t);
    mfu_output_print(b, f, date);
    failed = ferror(f) || fflush(f) != 0 || fsync(fileno(f)) != 0;
    failed = fclose(f) != 0 || failed;
    if (failed || rename(beside, path) != 0) {
        int number = errno;

        unlink(beside);
        return mfu_bench_fail(b, "%s: %s", path, strerror(number));
    }
    return 0;
}

void mfu_output_complete(struct mfu_bench *b, const char *probe)
{
    size_t n = strlen(b->complete);

    snprintf(b->complete + n, sizeof b->complete - n, " %s", probe);
    b->n_complete = b->n_samples;
}

bool mfu_output_has(const struct mfu_bench *b, const char *probe)
{
    size_t n = strlen(probe);

    for (const char *at = b->complete; (at = strstr(at, probe)); at += n)
        if (at > b->complete && at[-1] == ' ' && (at[n] == ' ' || !at[n]))
            return true;
    return false;
}

/* A line of the file, its sample without what print() writes around it. */
static int take_line(struct mfu_bench *b, char *line, const char *hash, bool *same, bool *counted)
{
    static const char before[] = "  - {";
    const char *own = b->quick ? COMPLETE_QUICK : COMPLETE, *other = b->quick ? COMPLETE : COMPLETE_QUICK;
    size_t n = strlen(line), begin = sizeof before - 1;

    if (strncmp(line, other, strlen(other)) == 0)
        return mfu_bench_fail(b, "samples taken with%s --quick: go on with%s it", b->quick ? "out" : "",
                              b->quick ? "out" : "");
    if (strncmp(line, own, strlen(own)) == 0) {
        *counted = true;
        sscanf(line + strlen(own), "%255[^;];%zu", b->complete, &b->n_complete);
    }
    if (strncmp(line, "gpu: ", 5) == 0)
        *same = strstr(line, hash) != NULL;
    if (strncmp(line, before, begin) == 0 && !*counted) /* an older version's, or PyTorch's: they would be lost */
        return mfu_bench_fail(b, "samples in front of which no line '%s' says how many probes are whole", COMPLETE);
    if (b->n_samples == b->n_complete || n < begin + 3 || strncmp(line, before, begin) != 0 || line[n - 2] != '}')
        return 0;
    line[n - 2] = '\0';
    return mfu_bench_keep(b, line + begin);
}

int mfu_output_resume(struct mfu_bench *b, const char *path)
{
    FILE *f = fopen(path, "r");
    char line[1024], hash[17];
    bool same = false, counted = false;
    int status = 0;

    if (!f)
        return errno == ENOENT ? 0 : mfu_bench_fail(b, "%s: %s", path, strerror(errno));
    mfu_output_hash(&b->gpu.uuid, sizeof b->gpu.uuid, hash);
    while (status == 0 && fgets(line, sizeof line, f))
        status = take_line(b, line, hash, &same, &counted);
    fclose(f);
    if (status == 0 && (!same || b->n_samples != b->n_complete))
        status = mfu_bench_fail(b, "%s: these are not samples of this GPU", path);
    return status;
}
