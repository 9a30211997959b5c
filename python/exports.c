/* exports.c - the shared library is the archive; a target needs a file of its own. */
typedef int mfuplan_nothing;
