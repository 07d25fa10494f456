/* What the probes saw of a place, typed for the stages behind, and flat (facts) for people and scripts.
 * Everything lives in the snapshot's arena or in the place; nothing is freed one by one. */
#ifndef ORTFIT_PROBE_SNAPSHOT_H
#define ORTFIT_PROBE_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "place/place.h"

/* One thing seen: where, and whether it was looked for. */
struct fact {
    enum known known;
    const char *key;    /* "driver.kernel_module" */
    const char *value;  /* NULL unless PRESENT; for FAILED the reason */
    const char *source; /* "/proc/driver/nvidia/version:1", "nvmlSystemGetDriverVersion" */
};

struct facts {
    VEC(const struct fact *);
};

/* What could not be read though it decides: neither there nor absent. */
struct unread {
    const struct fact *fact;   /* FAILED, with the reason; source is the path */
    const struct pyenv *env;   /* whom it concerns; NULL: everyone */
};

/* A version read somewhere: of a toolkit, cuDNN, TensorRT, an NVIDIA library. */
struct component {
    const char *kind;    /* "cuda", "cudnn", "tensorrt" */
    const char *version; /* "13.0.88"; NULL when only its presence is known */
    const char *path;    /* folder or file it stands for: "/usr/local/cuda-13.0" */
    const char *how;     /* "toolkit", "header", "library", "wheel", "dpkg", "rpm", "conda" */
    const char *package; /* distribution or package that owns it ("nvidia-cudnn-cu12"), or NULL */
    const struct fact *fact;
    bool current;        /* /usr/local/cuda points here */
};

/* A copy of an NVIDIA library lying anywhere that was looked at, reachable by the loader or not. */
struct lib_copy {
    const char *soname;  /* by its DT_SONAME, else its file name: "libcudnn.so.9" */
    const char *path;
    const char *owner;   /* "nvidia-cudnn-cu12 9.10.2.21" (distribution), "cuda-13.0" (toolkit folder), or NULL */
    const char *version; /* "9.10.2.21", or NULL */
    int cuda_major;      /* what it is made for: 11, 12, 13; 0 unknown */
    const char *cuda_by; /* how cuda_major is known: "package nvidia-cudnn-cu12", "soname", "folder cuda-13.0"; NULL unknown */
    bool stub;           /* in a folder named stubs: for linking only */
};

struct gpu {
    const char *name;    /* "NVIDIA L4", or the chip's code name from pci.ids; NULL unknown */
    const char *pci;     /* "0000:01:00.0" or NULL */
    int cc;              /* compute capability * 10: 89; 0 unknown */
    uint64_t memory_bytes; /* 0 unknown */
    const struct fact *fact;
};

struct driver {
    enum known known;            /* is there any sign of a driver; FAILED: what would tell cannot be read */
    const struct fact *kernel_module; /* version of the loaded kernel module */
    const struct fact *libcuda;       /* libcuda.so.1 that default search would give: version from the real file's name */
    const struct fact *libnvidia_ml;
    const struct fact *nvml;          /* version said by NVML, or why it failed */
    const struct fact *cuda_version;  /* highest CUDA that the driver says to serve (NVML): "13.0" */
    const char *version;              /* the one to judge by: kernel module, else NVML, else library; NULL unknown */
    const char *libcuda_path;         /* real path of that libcuda.so.1 (a stub and a compat one too), or NULL */
    const char *libcuda_elsewhere;    /* libcuda.so.1 in a folder where drivers lie, when no search path reaches one; or NULL */
    const char *library_version;      /* user-space side (libnvidia-ml, else libcuda), to compare with the kernel module */
    const char *compat_dir;           /* a cuda-compat folder that the loader reaches, or NULL; libcuda is then newer on purpose */
    const char *stub_path;            /* a stub libcuda.so.1 that LD_LIBRARY_PATH or the cache would give, or NULL */
    bool device_nodes;                /* /dev/nvidia0.., /dev/dxg, or a Jetson's */
    bool uvm_node;                    /* /dev/nvidia-uvm: CUDA cannot start without it on a PC */
    bool wsl, jetson, container;
    const char *visible_devices;      /* NVIDIA_VISIBLE_DEVICES or NULL */
    const char *cuda_visible_devices; /* CUDA_VISIBLE_DEVICES or NULL; "" and "-1" hide every GPU */
    int nvml_error;                   /* what nvmlInit returned: 18 driver/library mismatch, 9 not loaded; 0 fine or not called */
};

struct dist {
    const char *name;     /* normalised as PEP 503: "onnxruntime-gpu" */
    const char *version;
    const char *path;     /* its .dist-info or .egg-info */
    const char *site;     /* the sys.path folder that holds it; the prefix for what only conda-meta knows */
    const char *installer; /* "pip", "uv", "conda", or NULL; read, as the next two, for the distributions that matter only */
    const char *const *requires; /* Requires-Dist, verbatim */
    size_t n_requires;
    const char *build;    /* conda's build text ("py311h5a1b2c3_200_cuda") where conda-meta has it, else NULL */
};

/* Which distribution's files really lie in onnxruntime/. MIXED: some are another distribution's.
 * INCOMPLETE: some are gone (what uninstalling one of two leaves behind). */
enum ort_files { ORT_FILES_UNKNOWN, ORT_FILES_ITS_OWN, ORT_FILES_MIXED, ORT_FILES_INCOMPLETE };

struct ort_install {
    const char *package;   /* the distribution whose files are on top: "onnxruntime-gpu"; NULL unknown */
    const char *version;   /* its version; from build info or version.py when no dist-info says */
    const char *dir;       /* ".../site-packages/onnxruntime" */
    const char *pybind;    /* ".../capi/onnxruntime_pybind11_state.cpython-311-x86_64-linux-gnu.so" or NULL */
    const char *runtime;   /* libonnxruntime.so.X: in capi/, or the --library file; NULL */
    const char *shared;    /* libonnxruntime_providers_shared.so or NULL */
    const char *cuda;      /* libonnxruntime_providers_cuda.so or NULL */
    const char *tensorrt;  /* or NULL */
    const char *cuda_built; /* cuda_version of build_and_package_info.py, or NULL */
    const char *unreached; /* the name by which a program links it, while the loader does not find it; NULL */
    bool cpu_build;        /* without Python: the runtime exports no function for CUDA */
    bool has_ld_preload;   /* _ld_preload.py that opens libraries (up to 1.15) */
    const char *const *ld_preload; /* the sonames it opens for CUDA, in order: one that fails switches CUDA off */
    size_t n_ld_preload;
    const char *const *ld_preload_tensorrt; /* the same for TensorRT, opened after those */
    size_t n_ld_preload_tensorrt;
    bool has_preload_dlls; /* from 1.21 */
    enum ort_files files;
    const struct dist *const *dists; /* every distribution that claims files in onnxruntime/ (by RECORD) */
    size_t n_dists;
    const struct fact *ownership; /* how it was decided: which file, which sizes */
    struct gpu_code code;  /* of the CUDA provider that is really there */
    const struct fact *code_fact;
};

enum env_kind { ENV_VENV, ENV_CONDA, ENV_SYSTEM };

struct pyenv {
    enum env_kind kind;
    const char *prefix;    /* sys.prefix */
    const char *base_prefix; /* sys.base_prefix */
    const char *python;    /* interpreter as the user runs it: "/x/.venv/bin/python" */
    const char *exe;       /* the real file behind it (its RPATH and $ORIGIN count) */
    int major, minor;      /* 3, 11; 0 unknown */
    const char *why;       /* how it was found: "--python", "VIRTUAL_ENV", ".venv in /x", "python3 on PATH" */
    const char *installer; /* "pip", "uv", "conda": what to speak in fixes */
    const char *const *sys_path; /* folders in order, as Python would build it */
    size_t n_sys_path;
    const struct dist *const *dists; /* first on sys.path wins; sorted by name */
    size_t n_dists;
    const struct ort_install *ort; /* NULL: no onnxruntime here */
    const struct dist *torch, *numpy; /* or NULL */
    const char *torch_cuda; /* of torch/version.py: "12.6"; NULL: none or CPU build */
    const char *torch_dir;  /* ".../torch" or NULL */
    const char *const *nvidia_dirs; /* nvidia/<part>/lib folders in sys.path order */
    size_t n_nvidia_dirs;
    const char *tensorrt_dir; /* ".../tensorrt_libs" of the TensorRT wheels, or NULL */
};

/* What is judged: an environment's ONNX Runtime, a bare library, or a program. */
enum target_kind { TARGET_ENV, TARGET_LIBRARY, TARGET_PROGRAM };

struct target {
    enum target_kind kind;
    const struct pyenv *env;        /* TARGET_ENV */
    const struct ort_install *ort;  /* NULL: none found */
    const char *exe;                /* the executable whose search paths count; NULL: a plain one */
    const char *given;              /* what the user named, or NULL */
};

struct snapshot {
    struct place *place; /* borrowed; must outlive the snapshot */
    struct arena arena;
    struct facts facts;
    struct { VEC(struct unread); } unread;
    struct driver driver;
    struct { VEC(struct gpu); } gpus;
    enum known gpus_known;
    struct { VEC(struct component); } components;
    struct { VEC(struct lib_copy); } copies;
    struct { VEC(const struct pyenv *); } envs; /* in order of preference; the first is judged unless --python says */
    struct { VEC(struct target); } targets;
    bool everything;     /* see struct probe_request */
    const char *glibc;   /* "2.36" of the place, or NULL */
    bool musl;
    const char *distro;  /* ID and VERSION_ID of os-release: "debian 12" or NULL */
};

/* What the user asked to look at. */
struct probe_request {
    const char *python;  /* --python: environment folder or interpreter; NULL */
    const char *library; /* --library */
    const char *program; /* PROGRAM */
    bool deep;           /* --deep: hash what sizes cannot tell, also large files */
    bool everything;     /* also what no rule of check asks for on this machine: show, snapshot */
    bool no_nvml;        /* tests, and snapshot's wish to start nothing */
};

/* Sees everything. A place that lacks things is no error; only bad requests are (a --python that is no
 * environment: ERR_NOT_FOUND). ret is initialised here; free with snapshot_done in every case. */
int snapshot_take(struct place *p, const struct probe_request *want, struct snapshot *ret, struct err *e);
void snapshot_done(struct snapshot *s);

/* The parts, each a file; they add to s. Order: machine, driver, gpu, toolkit, python, ort, copies. */
void probe_machine(struct snapshot *s);                                     /* os-release, glibc, musl, container, WSL, Jetson */
void probe_driver(struct snapshot *s, const struct probe_request *want);
void probe_gpu(struct snapshot *s);
void probe_toolkit(struct snapshot *s);                                     /* CUDA, cuDNN, TensorRT outside of Python */
int probe_python(struct snapshot *s, const struct probe_request *want, struct err *e); /* environments and distributions */
int probe_ort(struct snapshot *s, const struct probe_request *want, struct err *e);    /* ort_install of envs, libraries, programs -> targets */
void probe_copies(struct snapshot *s);                                      /* lib_copy list; components of wheels */

/* Adds a fact; texts are copied. value and source as printf would be made by the caller. Returns it. */
const struct fact *fact_add(struct snapshot *s, enum known known, const char *key, const char *value,
                            const char *source);
/* Adds the fact that path could not be read (error: errno), and that it decides: no verdict is `fits` without it.
 * NULL, and nothing added, for errors by which nothing is there for anyone: links in a circle, names too long. */
const struct fact *fact_unread(struct snapshot *s, const struct pyenv *env, const char *key, const char *path, int error);

#endif
