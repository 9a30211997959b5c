/*
 * ranks.c - how processes find each other through files.
 *
 * Rank r says hello in the file MEET.r:
 *
 *     <its own random number> <number of the list that it has seen> <node>
 *
 * Rank 0 answers in the file MEET with a list of all, under a new number
 * whenever a hello has changed, and calls it open once every hello names that
 * number:
 *
 *     <number of the list> open|closed <word of rank 0, in hexadecimal>
 *     <random number of rank 1> <node>
 *     ...
 *
 * A file of an earlier run holds other random numbers, so nobody believes it.
 * Files are replaced by renaming: what is read is whole, on NFS as well.
 */
#include "ranks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define LONGEST_NAME 4096
#define LONGEST_WORD 1024
#define PAUSE_NS 20000000
#define MOST_RANKS 65536

struct hello {
    uint64_t number, seen;
    char node[64];
};

/* ---- what the launcher says ---------------------------------------------- */

/* A whole number of the environment: -1 if there is none, -2 if it is odd. */
static long variable(const char *name)
{
    const char *text = name ? getenv(name) : NULL;
    char *end;
    long x;

    if (!text)
        return -1;
    x = strtol(text, &end, 10);
    return end == text || *end || x < 0 || x > MOST_RANKS ? -2 : x;
}

/* The kernel's number of this boot tells machines apart, also in containers
 * that share a name. */
static void name_node(char *node, size_t size)
{
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");
    int read = f ? fscanf(f, "%63s", node) : 0;

    if (f)
        fclose(f);
    if (read != 1 && gethostname(node, size) != 0)
        snprintf(node, size, "here");
    node[size - 1] = '\0';
}

int mfu_ranks_from_environment(struct mfu_ranks *r, char *why, size_t size)
{
    static const struct {
        const char *rank, *size, *local;
    } launchers[] = {
        {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
        {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
        {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"},
        {"RANK", "WORLD_SIZE", "LOCAL_RANK"},
    };

    *r = (struct mfu_ranks){.size = 1, .nodes = 1};
    name_node(r->node, sizeof r->node);
    for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++) {
        const long rank = variable(launchers[i].rank);
        const long all = variable(launchers[i].size);
        const long local = variable(launchers[i].local);

        if (rank == -1 || all == -1)
            continue;
        if (rank < 0 || all < 1 || rank >= all || local == -2) {
            snprintf(why, size, "%s and %s do not say which of how many processes this is", launchers[i].rank,
                     launchers[i].size);
            return -1;
        }
        r->rank = (int)rank;
        r->size = (int)all;
        r->local = (int)(local >= 0 ? local : rank);
        return 0;
    }
    return 0;
}

/* ---- files --------------------------------------------------------------- */

/* MEET for rank 0, MEET.r for the others. */
static void file_of(const struct mfu_ranks *r, int rank, char *name)
{
    if (rank == 0)
        snprintf(name, LONGEST_NAME, "%s", r->meet);
    else
        snprintf(name, LONGEST_NAME, "%s.%d", r->meet, rank);
}

/* The temporary file that becomes this rank's; NULL and why not. */
static FILE *begin(const struct mfu_ranks *r, char *beside, char *why, size_t size)
{
    FILE *f;

    file_of(r, r->rank, beside);
    snprintf(beside + strlen(beside), LONGEST_NAME - strlen(beside), ".new");
    f = fopen(beside, "w");
    if (!f)
        snprintf(why, size, "%.200s cannot be written: %s", beside, strerror(errno));
    return f;
}

static int finish(const struct mfu_ranks *r, FILE *f, const char *beside, char *why, size_t size)
{
    char name[LONGEST_NAME];
    int failed = ferror(f);

    file_of(r, r->rank, name);
    failed = fclose(f) != 0 || failed;
    if (!failed && rename(beside, name) == 0)
        return 0;
    snprintf(why, size, "%.200s cannot be written: %s", name, strerror(errno));
    unlink(beside);
    return -1;
}

static uint64_t new_number(void)
{
    uint64_t number;

    while (getrandom(&number, sizeof number, 0) != sizeof number)
        ;
    return number | 1; /* never 0, which stands for none */
}

static int say_hello(const struct mfu_ranks *r, const struct hello *mine, char *why, size_t size)
{
    char beside[LONGEST_NAME];
    FILE *f = begin(r, beside, why, size);

    if (!f)
        return -1;
    fprintf(f, "%016" PRIx64 " %016" PRIx64 " %s\n", mine->number, mine->seen, mine->node);
    return finish(r, f, beside, why, size);
}

static bool read_hello(const struct mfu_ranks *r, int rank, struct hello *h)
{
    char name[LONGEST_NAME];
    FILE *f;
    int fields;

    file_of(r, rank, name);
    f = fopen(name, "r");
    if (!f)
        return false;
    fields = fscanf(f, "%16" SCNx64 " %16" SCNx64 " %63s", &h->number, &h->seen, h->node);
    fclose(f);
    return fields == 3;
}

static int write_list(const struct mfu_ranks *r, const struct hello *list, bool open, const void *word, size_t n,
                      char *why, size_t size)
{
    const unsigned char *byte = word;
    char beside[LONGEST_NAME];
    FILE *f = begin(r, beside, why, size);

    if (!f)
        return -1;
    fprintf(f, "%016" PRIx64 " %s ", list[0].number, open ? "open" : "closed");
    for (size_t i = 0; i < n; i++)
        fprintf(f, "%02x", byte[i]);
    fprintf(f, "\n");
    for (int i = 1; i < r->size; i++)
        fprintf(f, "%016" PRIx64 " %s\n", list[i].number, list[i].node);
    return finish(r, f, beside, why, size);
}

/* The list of rank 0, if this rank is on it as it is now. */
static bool read_list(const struct mfu_ranks *r, const struct hello *mine, uint64_t *number, bool *open, void *word,
                      size_t n)
{
    unsigned char *byte = word;
    char name[LONGEST_NAME], hex[2 * LONGEST_WORD + 1], state[8], node[64];
    bool listed = false;
    FILE *f;

    file_of(r, 0, name);
    f = fopen(name, "r");
    if (!f)
        return false;
    if (fscanf(f, "%16" SCNx64 " %7s %2048s", number, state, hex) == 3 && strlen(hex) == 2 * n) {
        uint64_t other = 0;

        for (int i = 1; i <= r->rank && fscanf(f, "%16" SCNx64 " %63s", &other, node) == 2; i++)
            listed = i == r->rank && other == mine->number;
    }
    fclose(f);
    if (!listed)
        return false;
    *open = strcmp(state, "open") == 0;
    for (size_t i = 0; i < n; i++) {
        unsigned value = 0;

        if (sscanf(hex + 2 * i, "%2x", &value) != 1)
            return false;
        byte[i] = (unsigned char)value;
    }
    return true;
}

static void take_back(const struct mfu_ranks *r)
{
    char name[LONGEST_NAME];

    file_of(r, r->rank, name);
    unlink(name);
}

/* ---- the two sides ------------------------------------------------------- */

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Whether to look again; else why not. */
static bool wait_more(const struct mfu_ranks *r, int here, double until, const volatile int *stop, char *why,
                      size_t size)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};

    if (*stop)
        snprintf(why, size, "interrupted");
    else if (now_s() < until)
        return nanosleep(&pause, NULL) == 0 || errno == EINTR;
    else if (r->rank == 0)
        snprintf(why, size, "only %d of %d processes came to %.200s; --meet names a file that all of them see", here,
                 r->size, r->meet);
    else
        snprintf(why, size, "rank 0 did not come to %.200s; --meet names a file that all processes see", r->meet);
    return false;
}

static int count_nodes(const struct hello *list, int n)
{
    int nodes = 0;

    for (int i = 0; i < n; i++) {
        int first = 0;

        while (strcmp(list[first].node, list[i].node) != 0)
            first++;
        nodes += first == i;
    }
    return nodes;
}

/* Rank 0: fills `list` with the newest hellos; how many there are, how many of
 * them have seen the list, and whether one is new. */
static int gather(const struct mfu_ranks *r, struct hello *list, int *seen, bool *changed)
{
    int here = 1;

    *seen = 1;
    *changed = false;
    for (int i = 1; i < r->size; i++) {
        struct hello h;

        if (!read_hello(r, i, &h))
            continue;
        here++;
        *changed = *changed || h.number != list[i].number;
        *seen += h.seen == list[0].number;
        list[i] = h;
    }
    return here;
}

static int lead(struct mfu_ranks *r, const void *word, size_t n, double until, const volatile int *stop, char *why,
                size_t size)
{
    struct hello *list = calloc((size_t)r->size, sizeof *list);
    int status = -1;

    if (!list) {
        snprintf(why, size, "out of memory");
        return -1;
    }
    list[0].number = new_number(); /* of a list that nobody has seen */
    snprintf(list[0].node, sizeof list[0].node, "%s", r->node);
    for (;;) {
        bool changed;
        int seen;
        const int here = gather(r, list, &seen, &changed);

        if (here == r->size && seen == r->size) {
            status = write_list(r, list, true, word, n, why, size);
            break;
        }
        if (here == r->size && changed) {
            list[0].number = new_number();
            if (write_list(r, list, false, word, n, why, size) < 0)
                break;
        }
        if (!wait_more(r, here, until, stop, why, size))
            break;
    }
    r->nodes = count_nodes(list, r->size);
    free(list);
    if (status < 0)
        mfu_ranks_part(r);
    return status;
}

static int follow(struct mfu_ranks *r, void *word, size_t n, double until, const volatile int *stop, char *why,
                  size_t size)
{
    struct hello mine = {.number = new_number()};
    uint64_t number;
    bool open;

    snprintf(mine.node, sizeof mine.node, "%s", r->node);
    if (say_hello(r, &mine, why, size) < 0)
        return -1;
    for (;;) {
        if (read_list(r, &mine, &number, &open, word, n)) {
            if (open && number == mine.seen)
                return 0;
            if (number != mine.seen) {
                mine.seen = number;
                if (say_hello(r, &mine, why, size) < 0)
                    return -1;
            }
        }
        if (!wait_more(r, 0, until, stop, why, size)) {
            take_back(r);
            return -1;
        }
    }
}

int mfu_ranks_meet(struct mfu_ranks *r, void *word, size_t n, double patience_s, const volatile int *stop, char *why,
                   size_t size)
{
    const double until = now_s() + patience_s;

    if (n == 0 || n > LONGEST_WORD) {
        snprintf(why, size, "a word of %zu bytes cannot be passed on", n);
        return -1;
    }
    if (r->size == 1)
        return 0;
    return r->rank == 0 ? lead(r, word, n, until, stop, why, size) : follow(r, word, n, until, stop, why, size);
}

void mfu_ranks_part(const struct mfu_ranks *r)
{
    char name[LONGEST_NAME];

    for (int i = 0; i < r->size && r->rank == 0 && r->size > 1; i++) {
        file_of(r, i, name);
        unlink(name);
    }
}
