/*
 * processor.h - the CPU beside the GPUs, one thread of which runs Python, autograd and launches.
 *
 * What a launch or a layer takes the host is in proportion to the time of one thread: a processor is one figure, PassMark's
 * single-thread rating.  Plain numbers are PassMark's list of August 2022; those in G6() Geekbench 6's single-core score
 * of newer ones in that scale: 161 processors are in both, .61 of each other and 9 % apart (lainbo/cpu-mark 0671910,
 * 48c7b97).  Averages of a few reports are left out (8480: the 8470, of the same core and turbo).  A processor that is not
 * here has `cpu_mark`.
 */
#ifndef MFU_PROCESSOR_H
#define MFU_PROCESSOR_H

#define G6(points) ((points) / 0.61)

/* X(name: a word of the maker's name, then the model's; rating) */
// clang-format off
#define MFU_PROCESSORS(X) \
    X("unknown", 0) X("epyc-7302", 2024) X("epyc-7402", 2081) X("epyc-7502", 1843) X("epyc-7702", 2097) \
    X("epyc-7742", 2145) X("epyc-7r32", 1922) X("epyc-7313", 2628) X("epyc-7413", 2217) X("epyc-7513", 2447) \
    X("epyc-7543", 2563) X("epyc-7713", 2727) X("epyc-7763", 2576) X("epyc-7b13", 2564) X("epyc-7j13", 2387) \
    X("epyc-75f3", 2775) X("epyc-9124", G6(1970)) X("epyc-9334", G6(1926)) X("epyc-9354", G6(1934)) \
    X("epyc-9454", G6(1728)) X("epyc-9534", G6(2087)) X("epyc-9554", G6(2013)) X("epyc-9654", G6(1984)) \
    X("epyc-9355", G6(2640)) X("epyc-9555", G6(2857)) X("epyc-9575f", G6(2798)) X("epyc-9655", G6(2837)) \
    X("epyc-9755", G6(2497)) X("xeon-e5-2680v4", 1965) X("xeon-e5-2686v4", 1613) X("xeon-e5-2690v4", 1983) \
    X("xeon-e5-2698v4", 2141) X("xeon-e5-2699v4", 1911) X("xeon-6130", 1880) X("xeon-6148", 2184) \
    X("xeon-6226r", 2305) X("xeon-6230", 2285) X("xeon-6248", 2290) X("xeon-6326", 2356) X("xeon-6330", 2034) \
    X("xeon-6342", 2453) X("xeon-6348", 2455) X("xeon-6430", G6(1753)) X("xeon-6448y", G6(2136)) \
    X("xeon-8168", 2138) X("xeon-8171m", 2222) X("xeon-8175m", 1903) X("xeon-8259cl", 1863) \
    X("xeon-8268", 2167) X("xeon-8275cl", 2386) X("xeon-8280", 2011) X("xeon-8358", 2382) X("xeon-8375c", 2439) \
    X("xeon-8380", 2385) X("xeon-8462y", G6(1994)) X("xeon-8468", G6(2018)) X("xeon-8470", G6(1902)) \
    X("xeon-8480", G6(1902)) X("xeon-8481c", G6(1898)) X("xeon-8490h", G6(1842)) X("xeon-8558", G6(1725)) \
    X("xeon-8568y", G6(1959)) X("xeon-8570", G6(1930)) X("xeon-6774p", G6(1958)) X("xeon-6960p", G6(1811)) \
    X("threadripper-3960x", 2677) X("threadripper-3970x", 2691) X("threadripper-3990x", 2564) \
    X("threadripper-3955wx", 2696) X("threadripper-3975wx", 2662) X("threadripper-3995wx", 2602) \
    X("threadripper-5955wx", 3339) X("threadripper-5965wx", 3341) X("threadripper-5975wx", 3321) \
    X("threadripper-5995wx", 3276) X("threadripper-7960x", G6(3337)) X("threadripper-7970x", G6(2942)) \
    X("threadripper-7980x", G6(2828)) X("threadripper-7975wx", G6(2687)) X("threadripper-7995wx", G6(2780)) \
    X("ryzen-3600", 2571) X("ryzen-3700x", 2666) X("ryzen-3900x", 2709) X("ryzen-3950x", 2710) \
    X("ryzen-5600x", 3357) X("ryzen-5800x", 3449) X("ryzen-5900x", 3469) X("ryzen-5950x", 3467) \
    X("ryzen-7600x", G6(2759)) X("ryzen-7700x", G6(2824)) X("ryzen-7800x3d", G6(2607)) \
    X("ryzen-7900x", G6(2942)) X("ryzen-7950x", G6(3068)) X("ryzen-9700x", G6(3333)) \
    X("ryzen-9800x3d", G6(3316)) X("ryzen-9900x", G6(3342)) X("ryzen-9950x", G6(3419)) X("i7-6700k", 2521) \
    X("i7-7700k", 2731) X("i7-8700k", 2759) X("i7-9700k", 2896) X("i7-10700k", 3071) X("i7-12700k", 4057) \
    X("i7-13700k", G6(2943)) X("i7-14700k", G6(3019)) X("i9-7900x", 2584) X("i9-9900k", 2955) \
    X("i9-10900k", 3164) X("i9-10980xe", 2675) X("i9-11900k", 3519) X("i9-12900k", 4214) \
    X("i9-13900k", G6(3034)) X("i9-14900k", G6(3169)) X("ultra-285k", G6(3380))
// clang-format on

#define MFU_ONE_MORE(...) +1
enum { MFU_CPU_UNKNOWN, MFU_PROCESSOR_COUNT = 0 MFU_PROCESSORS(MFU_ONE_MORE) };

extern const double mfu_processor_marks[MFU_PROCESSOR_COUNT]; /* 0: unknown */
extern const char *const mfu_processor_names[MFU_PROCESSOR_COUNT + 1];

/* The one that other people's text names ("2x EPYC 7742", "Intel(R) Xeon(R) CPU E5-2698 v4 @ 2.20GHz"); of several
 * the one with the longest name, so that "6226R" is no 6226.  MFU_CPU_UNKNOWN if none is there. */
int mfu_processor_find(const char *text);

/* The host's times (dispatch.*, host.*) are of servers of 2020 to 2023: EPYC 7742 and 7763, Xeon 8275CL to 8480. */
#define MFU_PROCESSOR_USUAL 2400

#endif
