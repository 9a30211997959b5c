/*
 * methods.h - the methods of fine-tuning, one function each: the operations of its forward pass, from which backward follows
 * (graph/adapter_tape.h).
 */
#ifndef MFU_METHODS_H
#define MFU_METHODS_H

#include "graph/adapter_tape.h"
#include "scenario/adapter.h"

/* X(identifier of MFU_ADAPTER_METHODS, function); those that differ in a step share one. */
#define MFU_METHOD_STEPS(X)                                                                                            \
    X(FOURIERFT, fourierft)                                                                                            \
    X(WAVEFT, waveft)                                                                                                  \
    X(VBLORA, vblora)                                                                                                  \
    X(RANDLORA, randlora)                                                                                              \
    X(ROAD, road)                                                                                                      \
    X(C3A, c3a)                                                                                                        \
    X(OFT, oft)                                                                                                        \
    X(BOFT, boft)                                                                                                      \
    X(HRA, hra)                                                                                                        \
    X(SHIRA, shira)                                                                                                    \
    X(DELORA, delora)                                                                                                  \
    X(HIRA, hira)                                                                                                      \
    X(GRALORA, gralora)                                                                                                \
    X(PVERA, vera)                                                                                                     \
    X(VERA, vera)                                                                                                      \
    X(MISS, miss)                                                                                                      \
    X(MISS_MINI, miss)                                                                                                 \
    X(ADALORA, adalora)                                                                                                \
    X(LOHA, loha)                                                                                                      \
    X(LOKR, lokr)                                                                                                      \
    X(IA3, ia3)                                                                                                        \
    X(ROAD_2, road)                                                                                                    \
    X(LORA_FA, half_pair)                                                                                              \
    X(MICA, half_pair)                                                                                                 \
    X(BEFT, beft)                                                                                                      \
    X(DEFT, deft)                                                                                                      \
    X(PARA, deft)                                                                                                      \
    X(GLORA, glora)                                                                                                    \
    X(GLORA_VECTOR, glora)                                                                                             \
    X(PEANUT, peanut)                                                                                                  \
    X(PSOFT, psoft)                                                                                                    \
    X(TINYLORA, tinylora)                                                                                              \
    X(TINYLORA_TIED, tinylora)                                                                                         \
    X(UNILORA, unilora)

#define X(id, name) mfu_adapter_method_fn mfu_method_##name;
MFU_METHOD_STEPS(X)
#undef X

#endif
