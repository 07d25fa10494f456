/* Inside src/probe: a folder in which copies of NVIDIA's libraries lie, and what the folder says of
 * them. */
#ifndef ORTFIT_PROBE_SHELF_H
#define ORTFIT_PROBE_SHELF_H

#include <stdbool.h>
#include <stdint.h>

#include "kb/kb.h"
#include "probe/snapshot.h"

enum shelf_kind {
    SHELF_LOOSE,   /* named by LD_LIBRARY_PATH, ld.so.conf or known to us, and nothing more is known
                    */
    SHELF_WHEEL,   /* nvidia/<part>/lib or tensorrt_libs below a folder of sys.path */
    SHELF_TORCH,   /* torch/lib */
    SHELF_TOOLKIT, /* of /usr/local/cuda-X and the like */
    SHELF_CONDA,   /* lib of a conda environment */
    SHELF_SYSTEM,  /* of the distribution: dpkg knows */
};

struct shelf {
    enum shelf_kind kind;
    const char *dir;
    const struct pyenv *env;         /* whose, or NULL */
    const char *folder;              /* SHELF_WHEEL: as wheels name it, "nvidia/cudnn/lib" */
    const char *site;                /* SHELF_WHEEL: "/x/lib/python3.11/site-packages" */
    const struct dist *const *dists; /* SHELF_WHEEL: those that may own what lies here */
    size_t n_dists;
    const char *owner; /* the other kinds: "cuda-13.0", "torch 2.4.1"; NULL: none */
    int cuda_major;    /* what the folder says; 0: nothing */
    const char *cuda_by;
    bool many_files; /* ask for names rather than list it */
    uint64_t dev, ino;
};

/* Libraries that ONNX Runtime can need, the driver's included. */
bool shelf_wants(enum kb_family family);
/* The wheels that bring TensorRT's libraries: tensorrt-cu12-libs. */
bool shelf_is_tensorrt(const char *dist_name);

/* Completes a copy whose soname, path and (by its file name) version are set: owner, version, CUDA
 * major. */
void shelf_judge(struct snapshot *s, const struct shelf *shelf, struct lib_copy *copy);

/* The distributions in site whose wheels bring this folder, of those in all. A new list in the
 * arena. */
void shelf_owners(struct snapshot *s, struct shelf *shelf, const struct dist *const *all,
                  size_t n_all);

#endif
