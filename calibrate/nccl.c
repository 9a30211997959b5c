/*
 * nccl.c - loading NCCL.
 */
#include "nccl.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

int mfu_nccl_open(struct mfu_nccl *n)
{
    const struct {
        void *pointer;
        const char *name;
    } functions[] = {
        {&n->new_id, "ncclGetUniqueId"},
        {&n->init_rank, "ncclCommInitRank"},
        {&n->init_all, "ncclCommInitAll"},
        {&n->destroy, "ncclCommDestroy"},
        {&n->start, "ncclGroupStart"},
        {&n->end, "ncclGroupEnd"},
        {&n->all_reduce, "ncclAllReduce"},
        {&n->all_gather, "ncclAllGather"},
        {&n->reduce_scatter, "ncclReduceScatter"},
    };

    memset(n, 0, sizeof *n);
    n->library = dlopen("libnccl.so.2", RTLD_NOW);
    if (!n->library)
        return -1;
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void *found = dlsym(n->library, functions[i].name);

        if (!found) {
            mfu_nccl_close(n);
            return -1;
        }
        memcpy(functions[i].pointer, &found, sizeof found); /* POSIX lets a function lie in a void * */
    }
    return 0;
}

void mfu_nccl_close(struct mfu_nccl *n)
{
    if (n->library)
        dlclose(n->library);
    memset(n, 0, sizeof *n);
}
