/* ONNX Runtime's own way of opening its CUDA (or TensorRT) provider, played on a predicted process:
 * providers_shared first and global, then the provider by bare name (up to 1.23) or full path
 * (from 1.24); _ld_preload.py up to 1.15; libraries opened lazily from 1.28 on (cuDNN, cuFFT).
 * Source: traces of the real loader on real wheels (docs/loader.md says which). */
#ifndef ORTFIT_LOAD_ORT_H
#define ORTFIT_LOAD_ORT_H

#include "load/load.h"
#include "probe/snapshot.h"

enum answer { ANSWER_UNKNOWN, ANSWER_NO, ANSWER_YES };

/* What people do before the first session. */
enum ort_condition { ORT_AS_IS, ORT_AFTER_TORCH, ORT_AFTER_PRELOAD_DLLS, ORT_CONDITIONS };

struct ort_try {
    enum answer loads;
    bool applies;              /* false: no torch here, or no preload_dlls in this version */
    const char *error;         /* the loader's text; NULL when it loads */
    const char *provider_path; /* the provider file that would be opened (an alien one on
                                  LD_LIBRARY_PATH counts) */
    const struct load_need
        *needs; /* of providers_shared and the provider, each soname once; lazily opened ones
                 * at the end with status LOAD_LAZY, path NULL when they are not reachable */
    size_t n_needs;
    bool import_fails; /* the pybind module itself cannot be loaded */
};

struct ort_prediction {
    const struct target *target;
    struct ort_try tries[ORT_CONDITIONS];
};

enum ort_provider { ORT_PROVIDER_CUDA, ORT_PROVIDER_TENSORRT };

/* a: where the results live. The CUDA libraries' flavour (made for another CUDA major under the
 * same soname) is told from the snapshot's copies: such needs get LOAD_WRONG_FLAVOUR, which does
 * not make `loads` no. */
int ort_predict(const struct snapshot *s, const struct target *t, enum ort_provider provider,
                struct arena *a, struct ort_prediction *ret, struct err *e);

#endif
