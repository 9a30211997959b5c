/*
 * no_driver.c - a libcuda.so.1 without a GPU, for cudnn_plans.c.
 *
 * cuDNN compiles kernels for a GPU that is not there, but wants a driver to
 * load what it compiled.  This one takes everything and keeps nothing; what
 * would need a GPU fails as it does in the toolkit's own stub of the driver.
 */
enum { CUDA_SUCCESS = 0, CUDA_ERROR_STUB_LIBRARY = 34 };

static int nothing; /* what every handle points to */

#define TAKES(name)                                                                                                    \
    int name(void **handle);                                                                                           \
    int name(void **handle)                                                                                            \
    {                                                                                                                  \
        *handle = &nothing;                                                                                            \
        return CUDA_SUCCESS;                                                                                           \
    }
#define FAILS(name)                                                                                                    \
    int name(void);                                                                                                    \
    int name(void)                                                                                                     \
    {                                                                                                                  \
        return CUDA_ERROR_STUB_LIBRARY;                                                                                \
    }

TAKES(cuLibraryLoadData)
TAKES(cuLibraryGetKernel)
TAKES(cuKernelGetFunction)
TAKES(cuModuleLoadData)
TAKES(cuModuleGetFunction)

/* All that cuDNN 9.8 to 9.28 look up. */
FAILS(cuCtxGetCurrent)
FAILS(cuCtxGetLimit)
FAILS(cuCtxPopCurrent)
FAILS(cuCtxPushCurrent)
FAILS(cuDeviceGet)
FAILS(cuDeviceGetCount)
FAILS(cuDriverGetVersion)
FAILS(cuGetErrorName)
FAILS(cuGetErrorString)
FAILS(cuInit)
FAILS(cuKernelGetAttribute)
FAILS(cuKernelSetAttribute)
FAILS(cuLaunchCooperativeKernel)
FAILS(cuLaunchKernel)
FAILS(cuLaunchKernelEx)
FAILS(cuLibraryLoadFromFile)
FAILS(cuLibraryUnload)
FAILS(cuLinkAddData)
FAILS(cuLinkComplete)
FAILS(cuLinkCreate)
FAILS(cuLinkDestroy)
FAILS(cuModuleUnload)
FAILS(cuOccupancyMaxPotentialClusterSize)
FAILS(cuStreamGetCtx)
FAILS(cuTensorMapEncodeIm2col)
FAILS(cuTensorMapEncodeTiled)
