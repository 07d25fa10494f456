/*
 * Which releases fit together: wishes in, every ONNX Runtime that fits out, or every minimal set of wishes that clash.
 *
 * The search is exact: all releases of the kb are tried against all values that a machine may have. Nothing here opens
 * a file or asks the machine.
 */
#ifndef ORTFIT_MATCH_MATCH_H
#define ORTFIT_MATCH_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "kb/kb.h"

#define MATCH_WISHES 16 /* most wishes of one query */

enum wish_kind {
    WISH_ORT,
    WISH_TORCH,
    WISH_CUDA,
    WISH_CUDNN,
    WISH_TENSORRT,
    WISH_DRIVER,
    WISH_GPU,
    WISH_PYTHON,
    WISH_GLIBC,
    WISH_OS,
    WISH_ARCH,
    WISH_NUMPY,
    WISH_OPSET,
    WISH_MODEL,
    WISH_AS_OF,
    WISH_KINDS
};
/* "ort": the flag without its dashes. */
const char *wish_name(enum wish_kind kind);
/* WISH_KINDS: no such wish. */
enum wish_kind wish_kind_of(const char *name);

/* What an ONNX model asks for; 0: it does not say. */
struct match_model {
    int64_t ir;
    int64_t opset, opset_ml; /* highest import of ai.onnx and of ai.onnx.ml */
};
/* Reads an ONNX file from its start: the graph is stepped over, external data is not touched, little is kept. fd stays
 * open and is the caller's. ERR_FORMAT: no model; ERR_READ. */
int match_model_read(int fd, struct match_model *ret, struct err *e);

struct match_wish {
    enum wish_kind kind;
    const char *value;
    const char *from;         /* where it was read when the user did not say it; NULL: the user said it */
    struct match_model model; /* WISH_MODEL */
};

enum match_channel { MATCH_PYPI, MATCH_FEED, MATCH_ALL };

struct match_query {
    struct match_wish wish[MATCH_WISHES];
    size_t n;
    enum match_channel channel;
    const char *installed_ort; /* kept where it fits; NULL: none */
};

/* Better is higher. */
enum match_sharing { MATCH_NONE, MATCH_SEPARATE, MATCH_SHARED };

/* One choice, and why it holds. Texts live in the arena that match_run was given. */
struct match_choice {
    const char *ort, *channel; /* "pypi", or the feed's name */
    const struct kb_feed *feed;  /* NULL: the public index */
    const char *torch, *torch_channel; /* NULL: no torch was asked for */
    bool torch_cuda;           /* torch carries CUDA: else there is nothing to share */
    enum match_sharing sharing;
    int cuda;                  /* as in kb.h */
    int cudnn_major;
    const char *cudnn;         /* ">=9,<9.11" */
    bool cudnn_optional;       /* opened at the first node that needs it */
    int tensorrt_major;
    const char *python;        /* "3.12" */
    const char *numpy;         /* "<2"; NULL: any */
    const char *driver_min;
    const char *platform;      /* "linux_x86_64" */
    const char *gpu_code;      /* "cubin", "ptx"; NULL: no GPU was asked for */
    const char *const *install; /* argv, NULL at the end */
    const char *then;          /* a line of code that is needed besides; NULL: none */
    const char *const *why;    /* sentences, NULL at the end */
};

struct match_because {
    const char *text, *rule, *source; /* rule: id of kb/rules.tsv; NULL: what a wish stands for */
};
struct match_conflict {
    unsigned wishes; /* bit i: wish i of the query */
    const struct match_because *because;
    size_t n_because;
};
struct match_alternative {
    const char *value, *best_ort;
};
struct match_nearest {
    const char *change, *from; /* "torch", "2.3.1" */
    const char *drop_best_ort; /* newest that fits without this wish */
    const struct match_alternative *alternatives;
    size_t n_alternatives;
};
struct match_feed_ort {
    const char *ort, *feed, *confidence;
    bool gpu_code_unknown;
};

struct match_answer {
    bool fits; /* there is a choice on the channel asked for, with torch sharing its libraries */
    struct { VEC(struct match_choice); } choices;   /* best first, different in kind */
    struct names ort_versions;                      /* ascending */
    struct names separate;                          /* with torch: only with libraries of their own */
    struct names by_ptx;                            /* of ort_versions: the driver compiles the GPU code first */
    struct names maybe;                             /* some of their GPU code lacks this GPU */
    struct { VEC(struct match_feed_ort); } feeds;   /* what other indexes have */
    struct { VEC(struct match_conflict); } conflicts;
    struct { VEC(struct match_nearest); } nearest;
    struct { VEC(unsigned); } smallest_changes;     /* sets of wishes, where no single one helps */
};
void match_answer_done(struct match_answer *answer);

/* What is known, laid out for the search; made once a run from the kb, lives in the arena. */
struct match_domain;
const struct match_domain *match_domain_new(struct arena *a);

/* ERR_UNKNOWN_RELEASE with the nearest known ones, ERR_USAGE for a wish that cannot be read; ret is then empty.
 * ret must be zeroed; free with match_answer_done. */
int match_run(const struct match_domain *d, const struct match_query *q, struct arena *a, struct match_answer *ret,
              struct err *e);
/* Only whether all wishes of the mask hold together, and with which releases; for tests and the oracle. */
enum match_sharing match_holds(const struct match_domain *d, const struct match_query *q, unsigned mask, struct err *e);

#endif
