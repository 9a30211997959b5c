/*
 * once.h - what is worked out at its first use, by whichever thread comes first; where there are no threads, by the only one.
 */
#ifndef MFU_ONCE_H
#define MFU_ONCE_H

#ifdef __wasi__
#define MFU_ONCE(work)                                                                                                 \
    do {                                                                                                               \
        static int done_;                                                                                              \
        if (!done_++)                                                                                                  \
            work();                                                                                                    \
    } while (0)
#else
#include <pthread.h>
#define MFU_ONCE(work)                                                                                                 \
    do {                                                                                                               \
        static pthread_once_t once_ = PTHREAD_ONCE_INIT;                                                               \
        pthread_once(&once_, work);                                                                                    \
    } while (0)
#endif

#endif
