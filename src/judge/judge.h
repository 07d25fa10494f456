/* Facts and predicted closures -> findings: which causes stand in the way of the GPU provider, in
 * the order in which they should be mended. Rules are a table (rules.c), one file a family of
 * causes. */
#ifndef ORTFIT_JUDGE_JUDGE_H
#define ORTFIT_JUDGE_JUDGE_H

#include "judge/finding.h"
#include "kb/kb.h"
#include "load/ort.h"
#include "probe/snapshot.h"

enum verdict { VERDICT_UNKNOWN, VERDICT_FITS, VERDICT_DOES_NOT_FIT };

const char *verdict_text(enum verdict v); /* "does-not-fit" */
const char *answer_text(enum answer a);   /* "yes" */

/* What the rules look at; all borrowed. */
struct judgement {
    const struct snapshot *s;
    const struct target *t;
    const struct ort_install *ort; /* of the target; never NULL inside the rules */
    const struct pyenv *env;       /* NULL without Python */
    const struct ort_prediction *p;
    enum ort_provider provider;
    const struct kb_ort *kb;     /* the release's row, NULL when unknown */
    int cuda_major, cudnn_major; /* what the provider wants; 0 unknown */
    const char *needs_source;    /* where that was read: the provider file, or the kb */
    int cc;                      /* compute capability * 10 of the least GPU, 0 unknown */
    struct findings *out;
};

struct judged {
    enum verdict verdict;
    struct judgement j;
    struct findings findings;
    const struct fix *would_install; /* filled by plan_install: what to do where no ONNX Runtime was
                                        found; or NULL */
};

/* p: the prediction of the target (tries may be empty when the target has no ONNX Runtime: then the
 * verdict is unknown and there are no findings). s, t and p must outlive ret. Free with
 * judged_done. */
void judge_run(const struct snapshot *s, const struct target *t, const struct ort_prediction *p,
               enum ort_provider provider, struct judged *ret);
void judged_done(struct judged *j);

/* --- for the rules
 * ------------------------------------------------------------------------------------- */

/* What only words can say. */
static inline void want_plain(const struct judgement *j, struct finding *f, const char *why)
{
    finding_want(j->out, f, &(struct want){ .kind = WANT_PLAIN, .why = why });
}

/* A text that lives as long as the findings. */
#define say(j, ...) arena_printf(&(j)->out->arena, __VA_ARGS__)

typedef void judge_rule(const struct judgement *j);

judge_rule judge_cudnn_twins, judge_unreached_runtime, judge_package_clash, judge_cpu_package, judge_torch_pair, judge_numpy, judge_glibc,
    judge_exec_stack, judge_provider_files, judge_libraries, judge_tensorrt, judge_flavours,
    judge_cudnn_mix, judge_lazy_libraries, judge_bad_files, judge_driver_age, judge_driver,
    judge_gpu_visible, judge_compute_mode, judge_gpu_code, judge_cudnn_gpu, judge_unread,
    judge_rest;

/* Could something that decides about this target not be read? */
bool judge_lacks_facts(const struct judgement *j);

/* The release to advise when another one is needed: newest that fits Python, glibc, GPU, driver and
 * cuda_major (0: what torch or the driver allow). keep: the version to keep when it fits. NULL:
 * none fits. */
const struct kb_ort *judge_choose_ort(const struct judgement *j, int cuda_major, const char *keep);
/* Where no ONNX Runtime is: why no release would fit the first environment either, if so. */
void judge_no_wheel(const struct judgement *j);
/* What an installed package of ONNX Runtime is; conda has one name for CPU and CUDA builds. NULL:
 * KB_DIST_UNKNOWN. */
enum kb_dist_kind judge_kind(const struct judgement *j, const char *package);
/* Do conda's own packages serve this environment? */
bool judge_by_conda(const struct judgement *j);
/* Wants that release of onnxruntime-gpu, with all that it takes to work here: the wheels of CUDA
 * and cuDNN where this machine has none for it, a cuDNN with code for the GPU, the line
 * preload_dlls(). From conda: its CUDA build, in the version that conda finds to fit. why: one line
 * for people. */
void judge_want_release(const struct judgement *j, struct finding *f, const struct kb_ort *row,
                        const char *why);
/* Wants the newest cuDNN with code for a GPU that the newest has none for. */
void judge_want_cudnn(const struct judgement *j, struct finding *f, int cuda_major,
                      int cudnn_major);
/* The installed cuDNN wheel of another CUDA major than this: it writes the same folder. torch's own
 * is left out. NULL: none. */
const struct dist *judge_other_cudnn(const struct judgement *j, int cuda_major);
/* Wants that wheel gone before cuDNN of cuda_major is laid down. */
void judge_want_no_other_cudnn(const struct judgement *j, struct finding *f, int cuda_major);
/* Highest CUDA major that the driver serves, a cuda-compat folder in use counted; 0 unknown. */
int judge_driver_cuda_major(const struct snapshot *s);
/* Version of the cuda-compat library that stands in front of the driver's own, NULL: none does. */
const char *judge_compat_version(const struct snapshot *s);
/* Is this cuda-compat one that the driver's branch and every GPU here take? */
bool judge_compat_works(const struct snapshot *s);
/* The driver's own library, or one that comes with it. */
bool judge_is_driver_library(const char *soname);
/* A copy of soname made for cuda_major (0: any) that is no stub; the environment's own first. NULL:
 * none seen. */
const struct lib_copy *judge_copy_of(const struct judgement *j, const char *soname, int cuda_major);
/* A copy of the same library under another CUDA or cuDNN major's name. NULL: none seen. */
const struct lib_copy *judge_other_major(const struct judgement *j, const char *soname);
/* The first of as is, after preload_dlls, after torch that fits; NULL: none does. */
const struct ort_try *judge_best_try(const struct judgement *j);
/* Does it load in this condition, or lack nothing but the driver's libraries? */
bool judge_try_fits(const struct ort_try *try);

#endif
