/*
 * measured_reading.h - a row of a table of runs while it is read; for
 * measured_*.c.
 */
#ifndef MFU_MEASURED_READING_H
#define MFU_MEASURED_READING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "scenario/setting.h"

struct mfu_catalog;
struct mfu_csv;
struct mfu_gpu;
struct mfu_measured_run;

#define MFU_MOST_SAID 160 /* of a cell */
#define MFU_MOST_FILLED                                                                                                \
    64 /* columns of which another may say something, or whose numbers are written with more than digits */

/* Pieces of head and loss that are as small beside all else as cut cross-entropy, which never holds the logits. */
#define MFU_CUT_CROSS_ENTROPY "64"

struct mfu_row {
    struct mfu_catalog *catalog;
    const struct mfu_csv *csv;
    size_t row;
    struct mfu_measured_run *run;
    char method[48]; /* what trains, without the software that its column names */
    /* What that column says in parentheses: */
    char targets[64], rank[16], quant[32]; /* as the columns of adapters, */
    char software[64];                     /* else words of software */
    const struct mfu_gpu *larger; /* the same card with more memory, where its size is not stated; NULL: none */
    bool group_open;              /* it is not stated how many GPUs hold a copy, of several: those of a node */
    bool year_open;               /* the year of its software is not stated, and no other program's is usual */
    int least_year;               /* of the newest thing that is named; 0: nothing has a year */
    bool model_named;             /* the model is the one that the row names, no other of its family */
    bool loader_open;             /* nor whether images are decoded beside the training, */
    bool overlap_open;            /* nor whether messages of the optimizer's states run beside what is computed */
    bool batch_of_tokens;         /* the micro-batch is a number of tokens, whatever the length of sequences */
    struct {
        const char *column;
        char text[MFU_MOST_SAID];
    } filled[MFU_MOST_FILLED]; /* cells as prose, or words in another column, have them */
    int n_filled;
    char failed
        [2048]; /* the notes of a run that its memory did not suffice for: what "gives OOM" there is what it ran */
};

/* The cell as it stands, or as mfu_row_fill() has it; "" where there is none. */
const char *mfu_row_cell(const struct mfu_row *, const char *column);

/* Says what a cell is, whatever stands there. */
void mfu_row_fill_cell(struct mfu_row *, const char *column, const char *text);

/* Makes plain numbers of those that are written as people do ("72,400", "9.1k", "~45%"), before anything else is read. */
void mfu_row_read_numbers(struct mfu_row *);

/* The number that is the whole cell; NAN where nothing is stated ("", "-",
 * "N/A" and the like) or what is stated is no number. */
double mfu_cell_number(const struct mfu_row *, const char *column);

/* Whether the cell states nothing. */
bool mfu_cell_empty(const struct mfu_row *, const char *column);

/* Whether an MLP's words say a gate: swiglu, geglu, glu. */
bool mfu_is_gated(const char *mlp);

/* Whether a text names a file, of which a table opens none. */
bool mfu_names_file(const char *text);

/* Whether the cell is this word, whatever its capitals, blanks and dashes. */
bool mfu_cell_is(const struct mfu_row *, const char *column, const char *word);

/* The same of two words. */
bool mfu_same_letters(const char *, const char *);

/* Adds to what was filled in, mapped or left unused. */
void mfu_row_assume(struct mfu_row *, const char *format, ...) MFU_PRINTF(2, 3);

/* Says why the row cannot be modelled; the first reason stays.  Returns false. */
bool mfu_row_skip(struct mfu_row *, const char *format, ...) MFU_PRINTF(2, 3);

/* Sets a key of the row's scenario; where that is not possible the row is skipped, and false returned. */
bool mfu_row_set(struct mfu_row *, const char *key, const char *value);
bool mfu_row_set_number(struct mfu_row *, const char *key, double value);

/* The same by a note of what the row does not state so, "KEY=VALUE" and why: "sp=on, usual for Megatron".  The value has no
 * blank, and none of ":," at its end. */
bool mfu_row_take(struct mfu_row *, const char *format, ...) MFU_PRINTF(2, 3);

/* The choice of a setting, from the `first` on, of which a text begins with a name, the longest, and behind that; NULL: none.  The
 * first choice that a cell affirms by words of its own; -1: none. */
const char *mfu_choice_at(enum mfu_setting_id, int first, const char *text, int *choice);
int mfu_row_choice_in(enum mfu_setting_id, const char *text);

/* Words are the same whatever their capitals and what joins them: blanks, dashes, underscores, nothing.  A text takes what it
 * names so: */
enum mfu_stance {
    MFU_AFFIRMED,
    MFU_DENIED,   /* "no", "without" ... before it, "off", "excluded", "= 0" ... behind it */
    MFU_COMPARED, /* "faster than", "vs", "instead of" ... before it */
    MFU_OPEN      /* "not stated", "unknown" ... behind it */
};
enum mfu_stance mfu_stance(const char *text, const char *at, const char *end);

/* Takes the words out of a text by which what stands before them ran out of memory. */
void mfu_forget_errors(char *text);

/* Where a text goes on behind a phrase that it begins with, the longest of those apart by '|'; NULL: none.  Phrases are so in all
 * that follows. */
const char *mfu_behind(const char *text, const char *phrases);

/* A cell as far as it is affirmed: "zero3 (no offload)" is "zero3 (          )". */
const char *mfu_affirmed(char to[MFU_MOST_SAID], const char *text);

/* Whether a word stands in a text, of which a letter may be no part of a longer one ("zero" in "zero2"); where it is affirmed. */
bool mfu_has_word(const char *text, const char *word);
bool mfu_says_word(const char *text, const char *word);

/* What a word of a column stands for in tables of runs, with a note of what is assumed; NULL: nothing that is known.  Whether it
 * stands for anything.  `column` may name words of a kind of rows. */
const char *mfu_row_word(struct mfu_row *, const char *column, const char *text);
bool mfu_row_has_word(const char *column, const char *text);

/* The choice that all words of a text are, with those in parentheses: "bf16 (pure)", "adamw (8bit)"; -1: none. */
int mfu_row_choice_of_all(enum mfu_setting_id, const char *text, bool *stands_for);

/* In which form a text says that frozen weights are held: "nf4 + double quantization", "bnb.nf4"; NULL: it does not. */
const char *mfu_base_in(const char *text);

/* Sets a key to what the cell of a column means: by `words` (as mfu_row_word() has them), else by the names that the choices
 * of the key have elsewhere.  False: the row is skipped. */
bool mfu_row_translate(struct mfu_row *, const char *column, enum mfu_setting_id, const char *words);

/* A property that prose names: a setting here, or one that is not modelled.  A phrase counts where it stands as words of its
 * own and nothing before it denies it. */
struct mfu_said {
    const char *phrase;
    const char *key, *value; /* what it sets, NULL: as many as are said; key NULL: it cannot be modelled */
    const char *what;        /* what is not modelled, */
    enum { MFU_ALWAYS, MFU_UNLESS_ADAPTER, MFU_UNLESS_OFFLOAD } unless; /* columns say it, or an offload is modelled */
};
extern const struct mfu_said mfu_said[];
extern const size_t mfu_said_count;

/* Whether a text affirms a phrase, as words of its own; whether it only denies it; the first place from `from` on that affirms it, NULL: none, and
 * where the text goes on behind it; the number there ("vocab ~250k"), NAN: none; the column that affirms it, NULL: none. */
bool mfu_says(const char *text, const char *phrase);
bool mfu_says_not(const char *text, const char *phrase);
const char *mfu_place_said(const char *text, const char *from, const char *phrase, const char **end);
const char *mfu_behind_said(const char *text, const char *phrase);
double mfu_number_said(const char *text, const char *phrase);

/* The number before a phrase ("48 GB card"); NAN: none.  How many of it: "MTP 2", "MTP depth = 2", "2 MTP layers"; 1: it is not said; NAN: the phrase is not affirmed. */
double mfu_number_before(const char *text, const char *phrase);
double mfu_count_said(const char *text, const char *phrase);
const char *mfu_where_said(const struct mfu_row *, const char *phrase);

/* Whether any column of prose denies a phrase, and none affirms it. */
bool mfu_row_denies(const struct mfu_row *, const char *phrase);

/* Whether a clause affirms both, perhaps as parts of longer words: "overlapped grad-reduce/param-gather" and
 * "--overlap_param_gather" have "overlap" and "param gather". */
bool mfu_says_together(const char *text, const char *one, const char *other);
bool mfu_row_says_together(const struct mfu_row *, const char *one, const char *other); /* in any column of prose */

/* Takes degrees that stand in the cell of the sharding into their columns: "FSDP2 TP2", "TP=8, PP=4", "8-way tensor parallel". */
void mfu_row_take_degrees(struct mfu_row *);

/* Fills empty cells by what notes and name say: how attention is computed, what is computed again, what is sharded, what
 * compiles, precision and optimizer; and by words that stand in the cell of another column ("FSDP TP2" of the sharding, "nf4" of the
 * precision), which then has the rest. */
void mfu_row_fill(struct mfu_row *);

/* Whether the card and the model can have what is usual; so, too, where the run cannot be anyway, for other reasons. */
bool mfu_row_possible(const struct mfu_row *, const char *key, const char *value);

/* Sets what prose says.  False: the row is skipped. */
bool mfu_row_set_said(struct mfu_row *);

/* The method that adapts, without its software; of the model's name where the column is empty. */
const char *mfu_row_method(const struct mfu_row *);

/* The trainer that the row names in any of its cells, where it is more than a loop around DDP; -1. */
int mfu_row_stated_trainer(const struct mfu_row *);

/* What runs the model, by the column of the software, else by the framework's; "": nothing says. */
const char *mfu_row_stack(const struct mfu_row *);

/* Sets of which year the run's software is, where anything says so.  Whether it is known to be of a time before a
 * year. */
bool mfu_row_set_year(struct mfu_row *);
bool mfu_row_is_before(const struct mfu_row *, double year);

/* The month in which PyTorch 2.0 was released, the first with a fused attention of its own; whether the run is older. */
#define MFU_FIRST_FUSED_ATTENTION "2023-03"
bool mfu_row_before_fused_attention(const struct mfu_row *);

/* Whether the column of the precision says "bf16" and no more, which may be autocast's or that of the weights. */
bool mfu_row_says_bf16_alone(const struct mfu_row *);

/* The first month ("2024-05") that a text names; NULL: none. */
const char *mfu_first_month(const char *text);

/* Set what the row's program does that no column says: the program in the column of the software, or in words (the trainer
 * first, what else it does once the columns are read), words of software, of those behind the method, what DeepSpeed does, what transformers' code computes and
 * sequence parallelism where it is usual.  False: the row is skipped. */
bool mfu_row_set_program(struct mfu_row *, bool late);
bool mfu_row_set_software_words(struct mfu_row *, const char *column, const char *words);
bool mfu_row_set_beside_method(struct mfu_row *);
bool mfu_row_set_engine(struct mfu_row *);
bool mfu_row_set_transformers(struct mfu_row *);
bool mfu_row_set_usual_sp(struct mfu_row *);

/* Whether a text is an option that is on, 1, or off, 0: "grad_cp=1", "fsdp_cpu_offload: true"; -1: it is none. */
int mfu_option_in(const char *text);

/* What usual words for sharding say, in words of ours; NULL: nothing that is known. */
const char *mfu_sharding_in(const char *text);

/* The framework beside PyTorch and C that a text names, whose kernels are others; NULL: none. */
const char *mfu_other_stack_in(const char *text);

/* Whether XLA compiles what the row ran, by the software's columns, or by what the source or the notes name. */
bool mfu_row_on_xla(const struct mfu_row *);

/* Whether the text is one of the words, which end with NULL, whatever its capitals. */
bool mfu_is_one_of(const char *text, const char *const *words);

/* Whether it may stand in a word: a letter, a digit, '_'. */
bool mfu_in_word(char);

/* Whether no time is measured, only what fits. */
bool mfu_row_of_memory_alone(const struct mfu_row *);

/* Chooses the scenario's GPU: by a name of the catalog, else by what card, board and memory the words say; a cluster's name
 * or a cloud's machine sets both.  False: the row is skipped. */
bool mfu_row_choose_gpu(struct mfu_row *);

/* The cluster of this GPU whose network is nearest to the stated one; without, its usual one. */
bool mfu_row_choose_cluster(struct mfu_row *);

/* How many GPUs there were, in what arrangement, and the batch of each, with what the notes say of them.  False: the row is
 * skipped. */
bool mfu_row_set_layout(struct mfu_row *);

/* Chooses the scenario's model: the graph of the stated family; the catalog's model of that name for what else the row
 * leaves empty.  False: the row is skipped. */
bool mfu_row_choose_model(struct mfu_row *);

/* Sets the model's dimensions, and what an encoder learns; once the layout is known, what the program makes of the vocabulary
 * and of heads that tensor ranks share.  False: the row is skipped. */
bool mfu_row_set_dims(struct mfu_row *);
bool mfu_row_split_dims(struct mfu_row *);

/* Reads the method that adapts; sets adapters, what they sit on and what is trained beside them.  False: the row is skipped. */
void mfu_row_read_method(struct mfu_row *);
bool mfu_row_set_adapters(struct mfu_row *);

/* Lists what the row leaves open in its run. */
void mfu_row_leave_open(struct mfu_row *);

/* Whether two figures differ by more, relative; no where one is not stated. */
bool mfu_figures_differ(double, double, double by);

/* Whether every number that the model needs is one, and in its range; else the
 * row is skipped.  Those that are only compared are noted and not used. */
bool mfu_row_check_numbers(struct mfu_row *);

/* Whether a table of runs has a column of this name. */
bool mfu_measured_is_column(const char *name);

/* Compares what the row says of blocks, links and memory with what its scenario
 * is; false: it is skipped, since the two are different machines. */
bool mfu_row_check_words(struct mfu_row *);

/* Groups of GPUs that train on sequences of their own, by these settings. */
double mfu_row_replicas(const double *setting);

/* Notes what the row states twice and differently. */
void mfu_row_check_twice(struct mfu_row *);

#endif
