/*
 * coefficient.h - the numbers that a data sheet does not print.
 *
 * A coefficient has a physical meaning, a unit, a range and a default with its
 * source and uncertainty.  The names are here; the values are data: one file
 * per architecture family (gpus/families/), overridden by the GPU's own file,
 * by a calibration, and by the user, in that order.
 */
#ifndef MFU_COEFFICIENT_H
#define MFU_COEFFICIENT_H

#include <stdbool.h>

#include "base/quantity.h"
#include "descriptor/attention_kinds.h"

struct mfu_error;
struct mfu_yaml_node;
struct mfu_yaml;

/* X(identifier, name, dimension, least, most, meaning) */
/* The four of a fused attention kind. */
#define MFU_ATTENTION_COEFFICIENTS(X, id, name, title, ...)                                                            \
    X(id##_D64, "attention." name ".d64", MFU_RATIO, 0.01, 2,                                                          \
      title ", forward, head_dim 64, long sequence: fraction of the peak of its precision")                            \
    X(id##_D128, "attention." name ".d128", MFU_RATIO, 0.01, 2, "the same, head_dim 128")                              \
    X(id##_HALF, "attention." name ".half", MFU_TOKENS, 0, 1e5,                                                        \
      "sequence length at which " title " runs at half speed")                                                         \
    X(id##_BACKWARD, "attention." name ".backward", MFU_RATIO, 0.01, 2,                                                \
      "FLOP rate of the backward pass relative to forward")
#define MFU_COEFFICIENTS(X)                                                                                            \
    X(GEMM_EFFICIENCY, "gemm.efficiency", MFU_RATIO, 0.01, 2,                                                          \
      "fraction of the dense tensor peak that a large 16-bit GEMM reaches while clocks hold (256x128 tile, long K)")   \
    X(GEMM_THROTTLE, "gemm.throttle", MFU_RATIO, 0, 5,                                                                 \
      "how much slower GEMMs get when the tensor cores are busy all the time and power settles")                       \
    X(GEMM_SETTLING, "gemm.settling", MFU_SECONDS, 0, 1e4,                                                             \
      "length of a GEMM that runs by itself at which half of gemm.throttle shows: how fast the board's power control " \
      "reacts")                                                                                                        \
    X(GEMM_TF32, "gemm.tf32", MFU_RATIO, 0.01, 2, "the same for TF32, relative to gemm.efficiency")                    \
    X(GEMM_FP32, "gemm.fp32", MFU_RATIO, 0.01, 2,                                                                      \
      "fraction of the fp32 peak that a large GEMM on the CUDA cores sustains")                                        \
    X(GEMM_FP8, "gemm.fp8", MFU_RATIO, 0.01, 2, "the same for fp8 and int8, relative to gemm.efficiency")              \
    X(GEMM_FP4, "gemm.fp4", MFU_RATIO, 0.01, 2, "the same for operands of four bits, relative to gemm.efficiency")     \
    X(GEMM_K0, "gemm.k0", MFU_COUNT, 0, 4096, "length of K that the prologue and epilogue of a GEMM tile cost")        \
    X(GEMM_I0, "gemm.i0", MFU_COUNT, 0, 1024, "operand intensity tm*tn/(tm+tn) at which a tile runs at half speed")    \
    X(GEMM_SPLIT, "gemm.split", MFU_SECONDS, 0, 1e-3, "fixed time of the extra reduction when K is split over blocks") \
    X(GEMM_EPILOGUE, "gemm.epilogue", MFU_RATIO, 0, 1,                                                                 \
      "share of a result's traffic beyond two bytes an element (sums in fp32, added to what was there) that the "      \
      "arithmetic of a 16-bit GEMM does not hide")                                                                     \
    X(GEMM_BANDWIDTH, "gemm.bandwidth", MFU_RATIO, 0.01, 1.5,                                                          \
      "fraction of the DRAM bandwidth that a memory-bound GEMM reaches; above 1 where L2 serves some")                 \
    X(GEMM_MISALIGNED, "gemm.misaligned", MFU_RATIO, 0.01, 1,                                                          \
      "speed of a 16-bit GEMM whose rows are not multiples of 16 bytes")                                               \
    X(GEMM_CLOCK, "gemm.clock", MFU_HERTZ, 0, 1e10,                                                                    \
      "clock that large tensor GEMMs run at while power allows it, where that is not the clock of the printed "        \
      "peak; 0: it is")                                                                                                \
    X(GEMM_POWER_CLOCK, "gemm.power_clock", MFU_HERTZ, 0, 1e11,                                                        \
      "clock that one watt of board power per SM feeds in large tensor GEMMs; it grows with the 0.6th power of the "   \
      "watts; 0: power is no limit")                                                                                   \
    X(GEMM_SOFTWARE, "gemm.software", MFU_RATIO, 0.5, 3,                                                               \
      "time of 16-bit GEMMs with the libraries of gemm.software_until and before relative to those of today")          \
    X(GEMM_SOFTWARE_UNTIL, "gemm.software_until", MFU_COUNT, 2000, 2100, "the last year of older libraries of GEMMs")  \
    MFU_FUSED_ATTENTION_KINDS(MFU_ATTENTION_COEFFICIENTS, X)                                                           \
    X(DRAM_ATTAIN, "dram.attain", MFU_RATIO, 0.01, 1,                                                                  \
      "fraction of the data sheet's DRAM bandwidth that the memory attains in a plain copy of large tensors; the "     \
      "classes below are relative to it")                                                                              \
    X(DRAM_POINTWISE, "dram.pointwise", MFU_RATIO, 0.01, 1.2,                                                          \
      "fraction of what the memory attains that pointwise kernels, casts and copies reach")                            \
    X(DRAM_IRREGULAR, "dram.irregular", MFU_RATIO, 0.01, 1.2,                                                          \
      "fraction that kernels without wide loads reach: casts between types, broadcast masks and scales, transposing "  \
      "copies")                                                                                                        \
    X(DRAM_DROPOUT, "dram.dropout", MFU_RATIO, 0.01, 1.2, "fraction that dropout reaches, which writes its mask, too") \
    X(DRAM_FUSED, "dram.fused", MFU_RATIO, 0.01, 1.2,                                                                  \
      "fraction that compiled pointwise and row-reduction kernels reach")                                              \
    X(DRAM_NORM, "dram.norm", MFU_RATIO, 0.01, 1.2,                                                                    \
      "fraction that eager LayerNorm/RMSNorm forward reaches, rows of at most 2048")                                   \
    X(DRAM_NORM_LONG, "dram.norm_long", MFU_RATIO, 0.01, 1.2, "the same of longer rows, which are read twice")         \
    X(DRAM_NORM_BACKWARD, "dram.norm_backward", MFU_RATIO, 0.01, 1.2,                                                  \
      "fraction that norm backward (input gradient) reaches")                                                          \
    X(DRAM_FUSED_NORM_BACKWARD, "dram.fused_norm_backward", MFU_RATIO, 0.01, 1.2,                                      \
      "the same of compiled and hand-written kernels, which sum over rows and leave sums of columns")                  \
    X(DRAM_SOFTMAX, "dram.softmax", MFU_RATIO, 0.01, 1.2,                                                              \
      "fraction that softmax and log-softmax reach, rows of more than 1024")                                           \
    X(DRAM_SOFTMAX_SHORT, "dram.softmax_short", MFU_RATIO, 0.01, 1.2,                                                  \
      "the same of shorter rows, which one block keeps in registers")                                                  \
    X(DRAM_REDUCTION, "dram.reduction", MFU_RATIO, 0.01, 1.2,                                                          \
      "fraction that column reductions (bias, gamma and beta gradients) reach")                                        \
    X(DRAM_EMBEDDING, "dram.embedding", MFU_RATIO, 0.01, 1.2, "fraction that embedding gathers and scatters reach")    \
    X(DRAM_OPTIMIZER, "dram.optimizer", MFU_RATIO, 0.01, 1.2, "fraction that fused optimizer kernels reach")           \
    X(DRAM_DEQUANTISE, "dram.dequantise", MFU_RATIO, 0.01, 1.2,                                                        \
      "fraction that kernels reach which make 16-bit weights of 4- and 8-bit ones")                                    \
    X(DRAM_TRANSPOSE, "dram.transpose", MFU_RATIO, 0.01, 1.2,                                                          \
      "fraction that cuDNN's generic transposition reaches, for convolutions that have no kernel in their layout")     \
    X(DRAM_CACHE, "dram.cache", MFU_RATIO, 0.01, 1.2,                                                                  \
      "fraction that attention of one token over a KV cache reaches, of many sequences")                               \
    X(DRAM_CHUNKS, "dram.chunks", MFU_RATIO, 0.01, 1.2,                                                                \
      "fraction that kernels of linear attention reach, which multiply small tiles between reads and writes")          \
    X(CACHE_HALF, "cache.half", MFU_COUNT, 0, 1e4,                                                                     \
      "sequences times key-value heads at which that is half: few of them fill few SMs")                               \
    X(DRAM_HALF, "dram.half", MFU_RATIO, 0.1, 1,                                                                       \
      "bandwidth of eager kernels on 16-bit elements relative to fp32: loads of four elements move half the bytes")    \
    X(RATE_POINTWISE, "rate.pointwise", MFU_COUNT, 0, 1000,                                                            \
      "elements per clock and SM that eager PyTorch's pointwise kernels keep in flight, of whatever size; 0: no "      \
      "limit")                                                                                                         \
    X(RATE_STRIDED, "rate.strided", MFU_COUNT, 0, 1000, "the same of kernels without wide loads: broadcasts")          \
    X(RATE_CAST, "rate.cast", MFU_COUNT, 0, 1000, "the same of casts, which look up the types for each element")       \
    X(RATE_COPIED, "rate.copied", MFU_COUNT, 0, 1000, "the same of copies that lay heads or columns out anew")         \
    X(RATE_NORM, "rate.norm", MFU_COUNT, 0, 1000, "the same of LayerNorm and RMSNorm")                                 \
    X(RATE_DEQUANTISE, "rate.dequantise", MFU_COUNT, 0, 1000,                                                          \
      "weights per clock and SM that are made 16-bit ones of 4- and 8-bit ones, whatever runs the step; 0: no limit")  \
    X(RATE_DEPTHWISE, "rate.depthwise", MFU_COUNT, 0, 1000,                                                            \
      "products per clock and SM of PyTorch's own kernels of depthwise convolutions, whose windows are loops; 0: no "  \
      "limit")                                                                                                         \
    X(RATE_DEPTHWISE_GRADIENT, "rate.depthwise_gradient", MFU_COUNT, 0, 1000, "the same of the weight's gradient")     \
    X(RATE_DEPTHWISE_HALF, "rate.depthwise_half", MFU_COUNT, 0, 1000,                                                  \
      "the same of cuDNN's kernels of 16 bits, mean of three passes")                                                  \
    X(RATE_DROPOUT, "rate.dropout", MFU_COUNT, 0, 1000,                                                                \
      "probabilities per clock and SM that a fused attention drops or keeps, random numbers drawn anew in backward; "  \
      "0: no limit")                                                                                                   \
    X(L2_SPEED, "l2.speed", MFU_RATIO, 1, 20, "L2 bandwidth relative to DRAM bandwidth")                               \
    X(L2_SHARE, "l2.share", MFU_RATIO, 0, 1, "share of L2 within which a kernel's working set is served from L2")      \
    X(KERNEL_OVERHEAD, "kernel.overhead", MFU_SECONDS, 0, 1e-3,                                                        \
      "time between two dependent kernels of a stream: drain, launch, fill")                                           \
    X(KERNEL_RAMP, "kernel.ramp", MFU_SECONDS, 0, 1e-3,                                                                \
      "what a kernel that is no GEMM takes besides, as far as it reads and writes DRAM: until the first loads arrive " \
      "and after the last")                                                                                            \
    X(DISPATCH_EAGER, "dispatch.eager", MFU_SECONDS, 0, 1e-2,                                                          \
      "host time to dispatch one forward kernel in eager PyTorch, with the modules around it")                         \
    X(DISPATCH_BARE, "dispatch.bare", MFU_SECONDS, 0, 1e-2,                                                            \
      "and one that no module and no gradient surrounds: an optimizer's, a copy")                                      \
    X(DISPATCH_BACKWARD, "dispatch.backward", MFU_SECONDS, 0, 1e-2,                                                    \
      "host time of one kernel of the autograd engine's backward")                                                     \
    X(DISPATCH_COMPILE, "dispatch.compile", MFU_SECONDS, 0, 1e-2, "host time of one kernel called from compiled code") \
    X(DISPATCH_C, "dispatch.c", MFU_SECONDS, 0, 1e-2, "host time of one kernel launched by a C program")               \
    X(DISPATCH_GRAPH, "dispatch.graph", MFU_SECONDS, 0, 1e-2, "time between two kernels of a CUDA graph")              \
    X(DISPATCH_ZERO, "dispatch.zero", MFU_SECONDS, 0, 1e-2,                                                            \
      "host time to gather and release one weight tensor in one pass of ZeRO 3")                                       \
    X(HOST_MEGATRON, "host.megatron", MFU_SECONDS, 0, 1,                                                               \
      "host time of a layer's forward in Megatron-LM without TransformerEngine: Python and launches; the step takes "  \
      "the longer of host and GPU")                                                                                    \
    X(HOST_TE, "host.te", MFU_SECONDS, 0, 1, "the same with TransformerEngine's modules")                              \
    X(HOST_EXPERTS, "host.experts", MFU_SECONDS, 0, 1,                                                                 \
      "what a layer with experts adds to it: routing, both exchanges, permutations, counts that the host waits for")   \
    X(HOST_PRODUCT, "host.product", MFU_SECONDS, 0, 1e-2, "and each product of an expert that is a kernel of its own") \
    X(HOST_NANOTRON, "host.nanotron", MFU_SECONDS, 0, 1, "the same in nanotron")                                       \
    X(HOST_NANOTRON_NODE, "host.nanotron.node", MFU_SECONDS, 0, 1,                                                     \
      "what each node but the first that the tensor group spans adds to it, forward and backward together, whatever "  \
      "the size of the messages")                                                                                      \
    X(HOST_BACKWARD, "host.backward", MFU_RATIO, 0, 10, "host time of a layer's backward relative to its forward")     \
    X(HOST_SOFTMAX, "host.softmax", MFU_SECONDS, 0, 1,                                                                 \
      "what a forward takes longer where heads times sequences of a rank are no multiple of 4, so that Megatron's "    \
      "fused softmax refuses")                                                                                         \
    X(HOST_MICRO, "host.micro", MFU_SECONDS, 0, 1,                                                                     \
      "host time of one microbatch beside its layers: loss, messages; in a pipeline whose host waits for the GPU "     \
      "after each message nothing hides it")                                                                           \
    X(HOST_POLL, "host.poll", MFU_SECONDS, 0, 10,                                                                      \
      "what a message from host to host takes where both look for its end after pauses: about a pause")                \
    X(HOST_CHECK, "host.check", MFU_SECONDS, 0, 1,                                                                     \
      "host time that each rank of a group in the same node adds to a collective that is checked before it runs "      \
      "(distributed_debug detail): a barrier that hears one rank after the other, and two gathers of what is about "   \
      "to "                                                                                                            \
      "run")                                                                                                           \
    X(HOST_CHECK_FAR, "host.check.far", MFU_SECONDS, 0, 1, "the same, a rank in another node")                         \
    X(HOST_ENGINE, "host.engine", MFU_SECONDS, 0, 1,                                                                   \
      "what an engine that replays CUDA graphs does between two decode steps: scheduler, sampler")                     \
    X(HOST_GENERATE, "host.generate", MFU_SECONDS, 0, 1,                                                               \
      "host time of a layer's forward in transformers' generate, which grows its cache as it goes")                    \
    X(HOST_QUANTISED, "host.quantised", MFU_RATIO, 0.1, 10, "that time with quantised linears, relative")              \
    X(HOST_LOOP, "host.loop", MFU_SECONDS, 0, 1e-2,                                                                    \
      "what the loop of transformers' Trainer takes for each weight tensor and micro-step, while the GPU waits")       \
    X(HOST_RANKS, "host.ranks", MFU_SECONDS, 0, 1,                                                                     \
      "what ranks wait for the last of them in a step, where gradients are summed beside backward")                    \
    X(HOST_THREAD, "host.thread", MFU_RATIO, 0.1, 10,                                                                  \
      "host times beside such a card, where no processor is known, relative to those of a server")                     \
    X(HOST_LOADER, "host.loader", MFU_SECONDS, 0, 100,                                                                 \
      "what the loader takes for a sequence, beside the GPU, where dataloader_ms does not say")                        \
    X(HOST_JPEG, "host.jpeg", MFU_SECONDS, 0, 100,                                                                     \
      "what a loader's worker takes to read, decode and crop a photograph (dataloader jpeg)")                          \
    X(STEP_CONSTANT, "step.constant", MFU_SECONDS, 0, 10,                                                              \
      "loader hand-over, host synchronisation and logging per optimizer step")                                         \
    X(LINK_NVLINK, "link.nvlink", MFU_RATIO, 0.01, 1,                                                                  \
      "fraction of NVLink's one-way bandwidth that ring collectives sustain")                                          \
    X(LINK_NVLS, "link.nvls", MFU_RATIO, 0, 1,                                                                         \
      "the same where NVLink switches add up and send out (NVLS): each GPU moves 1 + 1/n of the message; 0: there is " \
      "none")                                                                                                          \
    X(LINK_PCIE, "link.pcie", MFU_RATIO, 0.01, 1, "fraction of a PCIe slot's one-way bandwidth between two peers")     \
    X(LINK_HOST, "link.host", MFU_RATIO, 0.01, 1, "the same without peer access, through host memory")                 \
    X(LINK_PINNED, "link.pinned", MFU_RATIO, 0.01, 1,                                                                  \
      "fraction of the one-way bandwidth of a GPU's PCIe slot, or of NVLink-C2C, that copies from and to pinned "      \
      "memory of the host sustain")                                                                                    \
    X(LINK_PAGED, "link.paged", MFU_RATIO, 0.01, 1,                                                                    \
      "the same of pages that the driver moves away and back (CUDA's managed memory)")                                 \
    X(HOST_BANDWIDTH, "host.bandwidth", MFU_BYTES_PER_S, 1e9, 1e13,                                                    \
      "bandwidth of a machine's DRAM where no cluster's file states it; with NVLink-C2C that of the GPU's own CPU")    \
    X(HOST_ADAM, "host.adam", MFU_RATIO, 0.01, 1,                                                                      \
      "fraction of that bandwidth at which the CPU updates weights whose optimizer is offloaded")                      \
    X(NVME_READ, "host.nvme.read", MFU_BYTES_PER_S, 1e8, 1e12,                                                         \
      "rate at which a machine's NVMe drives are read together where no cluster's file states it")                     \
    X(NVME_WRITE, "host.nvme.write", MFU_BYTES_PER_S, 1e8, 1e12, "the same of writing")                                \
    X(LINK_SHARED, "link.shared", MFU_RATIO, 0.01, 1, "what more than two GPUs on one PCIe root keep of it")           \
    X(LINK_LATENCY, "link.latency", MFU_SECONDS, 0, 1e-2, "fixed time of a collective with protocol LL")               \
    X(LINK_STEP, "link.step", MFU_SECONDS, 0, 1e-2,                                                                    \
      "time of one step around the ring with protocol LL: an all-reduce over n GPUs takes 2 (n - 1) of them")          \
    X(LINK_RAMP, "link.ramp", MFU_SECONDS, 0, 1e-3,                                                                    \
      "time per square root of a byte until a collective's pipeline is full")                                          \
    X(LINK_LL, "link.ll", MFU_RATIO, 0.01, 1,                                                                          \
      "fraction of the rate that protocol LL keeps, which sends a flag with every 4 bytes")                            \
    X(LINK_LL_FULL, "link.ll.full", MFU_RATIO, 0, 10,                                                                  \
      "share by which latency grows with protocol LL until all threads of a block are at work")                        \
    X(LL128_STEP, "link.ll128.step", MFU_COUNT, 0, 100, "time of a step with protocol LL128, relative to link.step")   \
    X(SIMPLE_START, "link.simple.start", MFU_COUNT, 0, 100, "the same of protocol Simple, relative to link.latency")   \
    X(SIMPLE_STEP, "link.simple.step", MFU_COUNT, 0, 100, "the same of protocol Simple, relative to link.step")        \
    X(NVLS_START, "link.nvls.start", MFU_COUNT, 0, 100,                                                                \
      "fixed time of a collective inside the NVLink switches, relative to link.latency")                               \
    X(NVLS_RAMP, "link.nvls.ramp", MFU_COUNT, 0, 100, "the ramp there, relative to link.ramp")                         \
    X(LINK_COPY, "link.copy", MFU_RATIO, 0, 2,                                                                         \
      "time that a rank's own part takes with protocol Simple, relative to another's, which comes over the link")      \
    X(LINK_TREE, "link.tree", MFU_RATIO, 0.01, 1,                                                                      \
      "fraction of NVLink's one-way bandwidth that a tree's branches carry")                                           \
    X(NET_INFINIBAND, "net.infiniband", MFU_RATIO, 0.01, 1,                                                            \
      "fraction of an InfiniBand NIC's rate that collectives sustain between two nodes")                               \
    X(NET_INFINIBAND_HOP, "net.infiniband.hop", MFU_SECONDS, 0, 1,                                                     \
      "latency of a step from node to node over InfiniBand")                                                           \
    X(NET_ROCE, "net.roce", MFU_RATIO, 0.01, 1, "the same fraction for RDMA over Ethernet")                            \
    X(NET_ROCE_HOP, "net.roce.hop", MFU_SECONDS, 0, 1, "latency of a step over it")                                    \
    X(NET_EFA, "net.efa", MFU_RATIO, 0.01, 1, "the same fraction for EFA")                                             \
    X(NET_EFA_HOP, "net.efa.hop", MFU_SECONDS, 0, 1, "latency of a step over it")                                      \
    X(NET_OMNI_PATH, "net.omni-path", MFU_RATIO, 0.01, 1, "the same fraction for Omni-Path")                           \
    X(NET_OMNI_PATH_HOP, "net.omni-path.hop", MFU_SECONDS, 0, 1, "latency of a step over it")                          \
    X(NET_TCPX, "net.tcpx", MFU_RATIO, 0.01, 1, "the same fraction for GPUDirect-TCPX")                                \
    X(NET_TCPX_HOP, "net.tcpx.hop", MFU_SECONDS, 0, 1, "latency of a step over it")                                    \
    X(NET_ETHERNET, "net.ethernet", MFU_RATIO, 0.01, 1,                                                                \
      "the same fraction for TCP sockets, as far as the host keeps up")                                                \
    X(NET_ETHERNET_HOP, "net.ethernet.hop", MFU_SECONDS, 0, 1, "latency of a step over it")                            \
    X(NET_SOCKETS, "net.sockets", MFU_BYTES_PER_S, 1e6, 1e12,                                                          \
      "the most that the sockets of one NIC sustain, one direction")                                                   \
    X(NET_SPREAD, "net.spread", MFU_RATIO, 0, 0.5,                                                                     \
      "share of the rate that is lost with each doubling of nodes, where flows keep their paths (not EFA)")            \
    X(NET_SPREAD_LEAST, "net.spread.least", MFU_RATIO, 0, 1, "what such a network keeps of the rate on any nodes")     \
    X(NET_PIPELINE, "net.pipeline", MFU_COUNT, 0, 10,                                                                  \
      "how far a pipeline over the network stays from the best way to cut a message into pieces; 1: none")             \
    X(NET_TREE, "net.tree", MFU_RATIO, 0.01, 1,                                                                        \
      "fraction of the rate that a tree of more than two nodes keeps, with NVLS in each")                              \
    X(NET_SHARP, "net.sharp", MFU_RATIO, 0.01, 1,                                                                      \
      "fraction of the rate that an all-reduce inside the switches of the network (SHARP) sustains")                   \
    X(SYSTEM, "system", MFU_RATIO, 0.2, 5,                                                                             \
      "time of kernels and messages where several GPUs train together, relative to what the other coefficients say: "  \
      "cooling, power, the slowest card, neighbours on the network")                                                   \
    X(LINK_CONTENTION, "link.contention", MFU_RATIO, 0, 1,                                                             \
      "share of the overlap that compute loses to a collective beside it")                                             \
    X(ENGINE_BUCKET, "memory.engine_bucket", MFU_COUNT, 0, 1e12,                                                       \
      "gradients that DeepSpeed collects in one buffer (reduce_bucket_size)")                                          \
    X(NCCL_BYTES, "memory.nccl", MFU_BYTES, 0, 1e11,                                                                   \
      "buffers of NCCL communicators, outside the framework's allocator")                                              \
    X(CONTEXT_BYTES, "memory.context", MFU_BYTES, 0, 1e11, "CUDA context of a process, before any kernel is loaded")   \
    X(MODULE_BYTES, "memory.modules", MFU_BYTES, 0, 1e11, "kernels and library state that a training step loads")      \
    X(MODULES_AT_ONCE, "memory.modules_at_once", MFU_BYTES, 0, 1e11,                                                   \
      "the same where all kernels of the libraries are loaded at the start: before CUDA's lazy loading")               \
    X(CUBLAS_WORKSPACE, "memory.cublas_workspace", MFU_BYTES, 0, 1e10, "cuBLAS workspace of one handle and stream")    \
    X(RESERVED_EAGER, "memory.reserved_eager", MFU_RATIO, 1, 3,                                                        \
      "reserved over peak allocated of the caching allocator, eager")                                                  \
    X(RESERVED_COMPILE, "memory.reserved_compile", MFU_RATIO, 1, 3, "the same, compiled")                              \
    X(MEMORY_SIGMA, "memory.sigma", MFU_RATIO, 0, 1,                                                                   \
      "spread of the peak of live memory of real loops around that of the graph")                                      \
    X(MEMORY_SIGMA_COMPILE, "memory.sigma_compile", MFU_RATIO, 0, 1,                                                   \
      "the same, compiled: buffers of the compiler's own choosing")                                                    \
    X(MEMORY_SIGMA_RANKS, "memory.sigma_ranks", MFU_RATIO, 0, 1,                                                       \
      "the same beside it where several GPUs hold a part each: what trainers and NCCL keep between them")              \
    X(MEMORY_SIGMA_ADAPTERS, "memory.sigma_adapters", MFU_RATIO, 0, 1,                                                 \
      "the same beside it with frozen weights and adapters, whose trainers differ in what they keep")                  \
    X(MODEL_SIGMA, "model.sigma", MFU_RATIO, 0, 2,                                                                     \
      "spread of measured over predicted step times that the coefficients do not explain, compiled or hand-written "   \
      "runtimes")                                                                                                      \
    X(MODEL_SIGMA_EAGER, "model.sigma_eager", MFU_RATIO, 0, 2,                                                         \
      "the same for eager PyTorch, whose kernels and host vary more")                                                  \
    X(MODEL_SIGMA_ROLLOUT, "model.sigma_rollout", MFU_RATIO, 0, 2,                                                     \
      "spread of measured rates of inference around the prediction, coefficients apart")                               \
    X(MODEL_SIGMA_ADAPTERS, "model.sigma_adapters", MFU_RATIO, 0, 2,                                                   \
      "spread that adapters add: their code differs between releases, casts and clones of its own")                    \
    X(MODEL_SIGMA_IMAGES, "model.sigma_images", MFU_RATIO, 0, 2,                                                       \
      "spread that models of images add: their kernels are measured less, those of convolutions least")                \
    X(MODEL_SIGMA_RANKS, "model.sigma_ranks", MFU_RATIO, 0, 2,                                                         \
      "spread that several GPUs add, relative to the share of their exchanges")                                        \
    X(MODEL_SIGMA_DDP, "model.sigma_ddp", MFU_RATIO, 0, 2,                                                             \
      "spread that PyTorch's DDP adds to the micro-step which sums gradients")                                         \
    X(MODEL_EXCESS, "model.excess", MFU_RATIO, 0, 2,                                                                   \
      "what published compiled or hand-written runs take longer than their kernels and host, middle of the spread")    \
    X(MODEL_EXCESS_EAGER, "model.excess_eager", MFU_RATIO, 0, 2, "the same for eager PyTorch")                         \
    X(MODEL_EXCESS_DDP, "model.excess_ddp", MFU_RATIO, 0, 2,                                                           \
      "what PyTorch's DDP adds to the micro-step which sums gradients, middle of the spread")                          \
    X(MODEL_UNSEEN, "model.unseen", MFU_SECONDS, 0, 100,                                                               \
      "host time of a step that no list of kernels holds, at worst: synchronisation, logging, loss scaling, Python "   \
      "between steps")

enum mfu_coefficient {
#define X(id, ...) MFU_C_##id,
    MFU_COEFFICIENTS(X)
#undef X
        MFU_COEFFICIENT_COUNT
};

struct mfu_coefficient_row {
    const char *name;
    enum mfu_dim dim;
    double least, most;
    const char *meaning;
};

extern const struct mfu_coefficient_row mfu_coefficient_rows[MFU_COEFFICIENT_COUNT];

/* What a number given for a coefficient stands for: itself, or 0 ("there is none") below a million millionth of
 * the most, where a clock or a rate would be divided by to infinity. */
double mfu_coefficient_value(const struct mfu_coefficient_row *, double given);

/* From the family default to the user: later ones win. */
enum mfu_coefficient_origin { MFU_FROM_NOWHERE, MFU_FROM_FAMILY, MFU_FROM_GPU, MFU_FROM_CALIBRATION, MFU_FROM_USER };

/* Which of them are known together, and how their errors correlate (covariance.h). */
#define MFU_CORRELATED 96 /* the most */
struct mfu_correlations {
    unsigned char n, id[MFU_CORRELATED], place[MFU_COEFFICIENT_COUNT]; /* place: from 1; 0: it stands alone */
    float of[MFU_CORRELATED * (MFU_CORRELATED - 1) / 2];               /* below the diagonal */
};

struct mfu_coefficients {
    double value[MFU_COEFFICIENT_COUNT]; /* base units; NAN: unknown */
    double sigma[MFU_COEFFICIENT_COUNT]; /* relative standard deviation */
    struct mfu_correlations known_together;
    unsigned char origin[MFU_COEFFICIENT_COUNT];
    char source[MFU_COEFFICIENT_COUNT][128]; /* who says so */
};

/* Whether an earlier version had a coefficient of that name: files may still hold it, and it says nothing now. */
bool mfu_coefficient_is_withdrawn(const char *name);

/* The coefficient of that name, or -1 with a suggestion. */
int mfu_coefficient_find(const char *name, struct mfu_error *err);

/* All unknown. */
void mfu_coefficients_clear(struct mfu_coefficients *);

/* Reads a mapping NAME: {value: 0.8, sigma: 10%, source: text} over what is
 * there already.  All three must be given. */
int mfu_coefficients_read(struct mfu_yaml *, struct mfu_yaml_node *mapping, enum mfu_coefficient_origin,
                          struct mfu_coefficients *, struct mfu_error *err);

/* 1 if every coefficient has a value, else 0 and the first that has none. */
int mfu_coefficients_complete(const struct mfu_coefficients *, int *missing);

#endif
