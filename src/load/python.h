/* What Python code opens before ONNX Runtime's provider: import torch and
 * onnxruntime.preload_dlls(), played on a predicted process. Sources: torch/__init__.py
 * (_load_global_deps, _preload_cuda_deps) of 2.4 to 2.15 and onnxruntime/__init__.py (preload_dlls)
 * of 1.21 to 1.31, read in the wheels. */
#ifndef ORTFIT_LOAD_PYTHON_H
#define ORTFIT_LOAD_PYTHON_H

#include "load/load.h"
#include "probe/snapshot.h"

/* ret_error: the loader's text when import torch itself would fail, else NULL; in a. */
int python_import_torch(const struct snapshot *s, const struct pyenv *env,
                        struct load_process *proc, struct arena *a, const char **ret_error,
                        struct err *e);
/* Files that are not there or do not load are passed over, as preload_dlls does. cuda_major: what
 * it was built for. */
int python_preload_dlls(const struct snapshot *s, const struct ort_install *ort, int cuda_major,
                        struct load_process *proc, struct err *e);

#endif
