/*
 * pickle.h - trees in the form that Python's pickle.load reads.
 *
 * Protocol 2, and of its operations only those that the page behind
 * pytorch.org/memory_viz knows, too (torch/utils/viz/MemoryViz.js reads pickles
 * by itself): dictionaries, lists, strings, integers below 2^63, floats, bools.
 * Lists and dictionaries grow by a thousand at a time, as Python writes them:
 * the page hands each batch to one call.
 */
#ifndef MFU_PICKLE_H
#define MFU_PICKLE_H

#include "report/export/stream_writer.h"

extern const struct mfu_writer_form mfu_writer_pickle;

#endif
