/*
 * workers.c - threads that live as long as one call.
 */
#include "base/workers.h"

#include <pthread.h>
#include <unistd.h>

int mfu_workers_count(int wanted)
{
    long n = wanted > 0 ? wanted : sysconf(_SC_NPROCESSORS_ONLN);

    return n < 1 ? 1 : n > MFU_WORKERS_MAX ? MFU_WORKERS_MAX : (int)n;
}

struct worker {
    pthread_t thread;
    void (*work)(void *context, int worker);
    void *context;
    int number;
};

static void *start(void *worker)
{
    const struct worker *w = worker;

    w->work(w->context, w->number);
    return NULL;
}

int mfu_workers_run(int n, void (*work)(void *context, int worker), void *context)
{
    struct worker workers[MFU_WORKERS_MAX];
    int started = 1;

    for (; started < n && started < MFU_WORKERS_MAX; started++) {
        workers[started] = (struct worker){.work = work, .context = context, .number = started};
        if (pthread_create(&workers[started].thread, NULL, start, &workers[started]) != 0)
            break;
    }
    work(context, 0);
    for (int i = 1; i < started; i++)
        pthread_join(workers[i].thread, NULL);
    return started;
}
