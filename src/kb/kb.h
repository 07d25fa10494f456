/*
 * The knowledge base: what is known of releases, libraries, drivers and GPUs.
 *
 * The rows live in the .tsv files of the top-level kb/ folder, compiled into constant tables by
 * tools/kb-compile. Nothing is parsed, allocated or opened at start, and nothing here can fail: a
 * query returns a row or NULL, and NULL means "not known", never "does not exist" unless its
 * comment says so. All rows and strings are constant and live as long as the program; callers free
 * nothing.
 *
 * Encodings, the same in every row:
 *   version      the text of the index ("1.23.2"); compare with version/pep440.h, never with strcmp
 *   driver       "525.60.13"; compare with version/driver.h
 *   cuda         major * 1000 + minor * 10, as cuDriverGetVersion has it: 12.8 is 12080; 0 unknown
 *   cc           compute capability major * 10 + minor, as sm numbers count: 8.6 is 86,
 *                12.0 is 120; 0 unknown
 *   date         year * 10000 + month * 100 + day: 20261026; 0 unknown
 *   list         NULL-terminated array of strings, itself never NULL (it may be empty)
 *   text         NULL where nothing is known or there is none; the field's comment says which
 */
#ifndef ORTFIT_KB_KB_H
#define ORTFIT_KB_KB_H

#include <stdbool.h>
#include <stddef.h>

enum kb_known { KB_UNKNOWN, KB_NO, KB_YES };
enum kb_os { KB_OS_ANY, KB_OS_LINUX, KB_OS_WINDOWS };
enum kb_platform { KB_PLATFORM_ANY, KB_LINUX_X86_64, KB_WIN_AMD64, KB_LINUX_AARCH64 };

/* How a row came to be known, strongest first. */
enum kb_confidence {
    KB_CONF_UNKNOWN,
    KB_CONF_BINARY,    /* read from the released file itself */
    KB_CONF_MEASURED,  /* seen by running it */
    KB_CONF_METADATA,  /* read from the package index or the package's metadata */
    KB_CONF_DOC,       /* the vendor's documentation */
    KB_CONF_SOURCE,    /* a source repository: build scripts, recipes, code */
    KB_CONF_ISSUE,     /* a maintainer or several users in an issue */
    KB_CONF_INFERENCE, /* follows from other rows; the source says from which */
};

struct kb_source {
    const char *id;   /* "ort-wheels": what the tables refer to */
    const char *kind; /* binary measured metadata doc source issue inference */
    const char *text; /* a sentence for people: what was read, where, which state */
    int date;         /* when it was read */
};

/* Where a row comes from. source is never NULL. */
struct kb_prov {
    const struct kb_source *source;
    int as_of;
    enum kb_confidence confidence;
};

/* --- ONNX Runtime --- */

enum kb_open {
    KB_OPEN_UNKNOWN,
    /* dlopen("libonnxruntime_providers_cuda.so") by the pybind module: search paths decide */
    KB_OPEN_BARE_NAME,
    /* dlopen("/.../capi/libonnxruntime_providers_cuda.so"): no caller chain */
    KB_OPEN_FULL_PATH,
};

enum kb_needs_by {
    KB_NEEDS_UNKNOWN,
    KB_NEEDS_DT_NEEDED,
    /* up to 1.15: DT_NEEDED is stripped, capi/_ld_preload.py opens them at import */
    KB_NEEDS_LD_PRELOAD_PY,
};

/* One release of onnxruntime-gpu on the public index; sonames and paths of linux x86_64. */
struct kb_ort {
    const char *version;
    int date;                         /* upload of the first linux wheel */
    const char *requires_python;      /* NULL: the index names none */
    const char *const *py_linux;      /* list of python tags: cp312, cp313t */
    const char *const *py_win;        /* list */
    const char *const *py_aarch64;    /* list; empty: no such wheel */
    const char *glibc_tag;            /* what pip asks for: lowest manylinux of the tag, "2.27" */
    const char *glibc_tag_aarch64;    /* NULL: no such wheel */
    const char *glibc_needed;         /* highest symbol version over all its libraries */
    const char *glibcxx_needed;       /* the same for GLIBCXX */
    int cuda;                         /* compiled with; any of the same major serves */
    int cuda_major;
    int cudnn_major;
    int tensorrt_major;
    const char *const *needs;         /* list: sonames that the CUDA provider cannot load without */
    enum kb_needs_by needs_by;
    const char *const *lazy;          /* list: sonames opened at the first node that wants them */
    const char *const *trt_needs;     /* list: the same for the TensorRT provider */
    const char *const *pybind_needs;  /* list: NVIDIA sonames that the Python module needs */
    const char *cuda_rpath;           /* DT_RPATH of the CUDA provider; NULL: none */
    const char *cuda_runpath;         /* DT_RUNPATH; NULL: none */
    enum kb_open opened_by;
    enum kb_known preload_dlls;       /* has onnxruntime.preload_dlls() */
    enum kb_known exec_stack;         /* the pybind module wants one: glibc 2.41 refuses it */
    const char *note;                 /* what is odd about it; NULL: nothing */
    struct kb_prov prov;
};

/* Rows are in ascending version order. i counts from 0; NULL past the end. */
const struct kb_ort *kb_ort_at(size_t i);
/* The release of this very version (PEP 440 equality, local label ignored); NULL: never on the
 * index. */
const struct kb_ort *kb_ort_find(const char *version);
/* The row of this version, else of the newest release not above it (1.20.1: 1.20.0), else of the
 * oldest. For releases that are on no index; NULL only when version is no version. */
const struct kb_ort *kb_ort_nearest(const char *version);
/* The newest release that meets all of these, or NULL. cuda_major, cudnn_major 0, py_tag NULL,
 * glibc NULL, spec NULL, as_of 0: any. spec is a PEP 440 specifier (">=1.20,<1.22"). */
struct kb_ort_wish {
    int cuda_major, cudnn_major;
    enum kb_platform platform; /* KB_PLATFORM_ANY: linux x86_64 */
    const char *py_tag;        /* "cp311" */
    const char *glibc;         /* "2.36" */
    const char *spec;
    int cc;                    /* its GPU code must cover this compute capability */
    int as_of;
};
const struct kb_ort *kb_ort_newest(const struct kb_ort_wish *wish);

/* What the metadata of a release asks of numpy: wheels of one release differ by platform and python
 * tag. */
struct kb_numpy {
    const char *version;
    enum kb_platform platform;
    const char *const *py; /* list of python tags */
    const char *spec;      /* ">=1.26.0" */
    struct kb_prov prov;
};
const struct kb_numpy *kb_numpy_find(const char *version, enum kb_platform platform,
                                     const char *py_tag);
const struct kb_numpy *kb_numpy_at(size_t i);

/* abi 1: built for NumPy 1, breaks with NumPy 2; 2: works with both. */
struct kb_numpy_abi {
    const char *version;
    int abi;
    struct kb_prov prov;
};
const struct kb_numpy_abi *kb_numpy_abi_find(const char *version);

/* One extra of one release, e.g. onnxruntime-gpu[cuda]==1.23.2. */
struct kb_extra {
    const char *version, *extra;
    const char *const *requires; /* list of PEP 508 requirements as its metadata has them */
    /* list: of the provider's needs and lazy sonames those that this extra brings, by its
     * dependencies too */
    const char *const *brings;
    enum kb_known installable;   /* KB_NO: it names packages that the index does not have */
    const char *note;
    struct kb_prov prov;
};
/* NULL: this release has no such extra. */
const struct kb_extra *kb_extra_find(const char *version, const char *extra);
const struct kb_extra *kb_extra_at(size_t i);

/* A name under which ONNX Runtime is distributed. */
enum kb_dist_kind {
    KB_DIST_UNKNOWN,
    KB_DIST_CPU,
    KB_DIST_CUDA,     /* has the CUDA provider */
    KB_DIST_OTHER_EP, /* another provider: DirectML, OpenVINO, QNN */
    KB_DIST_TRAINING,
    KB_DIST_PLUGIN,   /* sits beside onnxruntime and does not write its folder: genai */
};
struct kb_dist {
    const char *name; /* normalised: onnxruntime-gpu */
    const char *manager;   /* "pip" or "conda" */
    enum kb_dist_kind kind;
    enum kb_known owns_package; /* writes the import package onnxruntime/, so two of these overwrite
                                   each other */
    enum kb_known on_index;     /* on the public index at kb_date() */
    const char *note;
    struct kb_prov prov;
};
/* name in any spelling (PEP 503 normalised here). NULL: no distribution of ONNX Runtime is known by
 * that name. */
const struct kb_dist *kb_dist_find(const char *name); /* of pip */
const struct kb_dist *kb_dist_find_in(const char *manager, const char *name);
const struct kb_dist *kb_dist_at(size_t i);

/* A release of a distribution other than onnxruntime-gpu. */
struct kb_dist_release {
    const char *package, *version;
    int date;
    const char *requires_python;
    const char *const *py_linux; /* list of python tags, linux x86_64 */
    const char *const *py_win;
    const char *glibc_tag; /* lowest manylinux of the linux x86_64 wheels; NULL: no such wheel */
    struct kb_prov prov;
};
const struct kb_dist_release *kb_dist_release_find(const char *package, const char *version);
const struct kb_dist_release *kb_dist_release_at(size_t i);

/* A package index of its own, outside the public one, and what of ONNX Runtime it carries. */
struct kb_feed {
    const char *name; /* "onnxruntime-cuda-12" */
    const char *url;
    const char *ort;  /* PEP 440 specifier of the releases known there */
    int cuda;         /* 11080, 12020, ... */
    int cudnn_major;  /* 0 unknown */
    const char *note;
    struct kb_prov prov;
};
const struct kb_feed *kb_feed_at(size_t i);
/* The feed that carries this release for this CUDA major; NULL: none known. */
const struct kb_feed *kb_feed_find(const char *ort_version, int cuda_major);

/* --- GPU code --- */

/* suffix 'a': architecture-specific, serves exactly that cc. cc 0 ends a list. */
struct kb_sm {
    int cc;
    char suffix; /* 0, 'a' or 'f' */
};
struct kb_gpu_code {
    const char *version; /* of onnxruntime-gpu */
    enum kb_platform platform;
    const struct kb_sm *cubins;  /* list, in (nearly) all containers */
    const struct kb_sm *partial; /* list, in some containers only: general kernels lack it */
    const struct kb_sm *ptx;     /* list */
    const struct kb_sm *ptx_partial;
    int ptx_cuda; /* a driver must know this CUDA to compile the PTX; 0: no PTX or unknown */
    struct kb_prov prov; /* confidence KB_CONF_INFERENCE: not read itself, taken from a neighbour */
};
const struct kb_gpu_code *kb_ort_gpu_code(const char *version, enum kb_platform platform);
const struct kb_gpu_code *kb_gpu_code_at(size_t i);

enum kb_cover {
    KB_COVER_UNKNOWN, /* no rows, or cc 0 */
    KB_COVER_NONE,
    KB_COVER_PARTIAL, /* some kernels have code for it, others not: fails at some node */
    KB_COVER_PTX,     /* by compiling PTX at first use: the driver must know that PTX version */
    KB_COVER_CUBIN,
};
/* Does this code run on a GPU of this compute capability? A cubin serves its own major from its
 * minor up (an 'f' cubin too), an 'a' cubin exactly its cc; PTX serves its cc and everything above,
 * 'a' PTX exactly its cc. Lists end with cc 0; NULL is an empty list. Usable as well for lists read
 * from a file. */
enum kb_cover kb_cover(const struct kb_sm *cubins, const struct kb_sm *ptx, int cc);
/* The same for a row, partial lists considered. */
enum kb_cover kb_gpu_code_cover(const struct kb_gpu_code *code, int cc);

/* --- PyTorch --- */

struct kb_torch {
    const char *version; /* of the public index, linux x86_64 */
    int date;
    const char *requires_python;
    const char *const *py_linux; /* list */
    const char *glibc_tag;
    int cuda, cuda_major;
    int cudnn_major;             /* 0: cuDNN is linked in, no library of its own */
    const char *cudnn;           /* pinned version; NULL: no pin */
    const char *const *pins;     /* list of its NVIDIA requirements */
    const char *const *needs;    /* list: NVIDIA sonames that its libraries load */
    enum kb_known needs_known;   /* KB_NO: the wheel was not read, needs is empty */
    struct kb_prov prov;
};
/* A local label is ignored: "2.4.1+cu118" finds 2.4.1, whose CUDA is that of the public index. */
const struct kb_torch *kb_torch_find(const char *version);
const struct kb_torch *kb_torch_at(size_t i);
/* CUDA of a torch version with a local label: "2.4.1+cu118" is 11080. 0: no CUDA label ("+cpu"
 * gives -1). */
int kb_torch_label_cuda(const char *version);

/* --- libraries --- */

enum kb_family {
    KB_FAMILY_UNKNOWN,
    KB_FAMILY_CUDART,
    KB_FAMILY_CUBLAS, /* libcublas and libcublasLt */
    KB_FAMILY_CUFFT,
    KB_FAMILY_CURAND,
    KB_FAMILY_CUSOLVER,
    KB_FAMILY_CUSPARSE,
    KB_FAMILY_NVRTC,
    KB_FAMILY_NVJITLINK,
    KB_FAMILY_CUDNN,
    KB_FAMILY_TENSORRT,
    KB_FAMILY_NCCL,
    KB_FAMILY_DRIVER, /* libcuda.so.1, libnvidia-ml.so.1: belong to the driver, never to a wheel */
};
const char *kb_family_name(enum kb_family family); /* "cuBLAS" */

/* What a soname (or DLL name) says by itself. */
struct kb_library {
    const char *soname;
    enum kb_os os;
    enum kb_family family;
    int cuda_first, cuda_last; /* CUDA majors that use this name; 0, 0: the name does not tell */
    int major; /* of the library's own name: cuDNN 9, TensorRT 10, cuFFT 11; 0 none */
    struct kb_prov prov;
};
/* Exactly this name; NULL: not known. */
const struct kb_library *kb_library_find(const char *soname);
const struct kb_library *kb_library_at(size_t i);
/* Family of any soname, known or not, by its stem: "libcublas.so.99" is cuBLAS. */
enum kb_family kb_soname_family(const char *soname);
/* The same library's name for another CUDA major ("libcublasLt.so.11", 12 gives
 * "libcublasLt.so.12"); NULL: not known. */
const char *kb_soname_for_cuda(const char *soname, int cuda_major);
/* True when two CUDA majors use this very name, so that a file of the wrong one is taken silently.
 */
bool kb_soname_ambiguous(const char *soname);

/* A pip package that brings libraries. */
struct kb_wheel {
    const char *package;         /* "nvidia-cublas-cu12" */
    int cuda_major;              /* 0: none */
    enum kb_family family;
    const char *folder;          /* linux, below site-packages: "nvidia/cublas/lib" */
    const char *const *requires; /* list: names that the newest one pulls in */
    const char *newest;          /* newest final release that is not yanked */
    const char *read;            /* the release whose libraries were read */
    enum kb_known placeholder;   /* KB_YES: the name exists, nothing usable was released */
    const char *note;
    struct kb_prov prov;
};
const struct kb_wheel *kb_wheel_find(const char *package);
const struct kb_wheel *kb_wheel_at(size_t i);

struct kb_wheel_version {
    const char *package, *version;
    int date; /* 0 unknown */
    enum kb_known yanked;
    struct kb_prov prov;
};
/* Newest final, not yanked release of the package that meets spec (NULL: any), published by as_of
 * (0: any; releases of unknown date count as published). NULL: none. */
const struct kb_wheel_version *kb_wheel_newest(const char *package, const char *spec, int as_of);
/* Exactly this release; NULL: the index does not have it. */
const struct kb_wheel_version *kb_wheel_version_find(const char *package, const char *version);
const struct kb_wheel_version *kb_wheel_version_at(size_t i);

/* Which package brings a soname. */
struct kb_soname {
    const char *soname;
    int cuda_major;       /* the flavour */
    const char *manager;  /* "pip", "conda", "apt" */
    /* "nvidia-cudnn-cu12"; for apt it may hold the CUDA wanted: "libcublas-{major}-{minor}" */
    const char *package;
    const char *spec;     /* versions of the package that carry this soname: ">=9,<10"; NULL: any */
    const char *folder;   /* where the file lies in the wheel; NULL: not a wheel */
    struct kb_prov prov;
};
/* For pip. cuda_major is ONNX Runtime's. NULL: no package is known to bring it (libcuda.so.1: none
 * does). */
const struct kb_soname *kb_soname_find(const char *soname, int cuda_major);
/* For any manager. */
const struct kb_soname *kb_soname_find_in(const char *manager, const char *soname, int cuda_major);
const struct kb_soname *kb_soname_at(size_t i);
/* The package and the CUDA major of a file by the name of the package that owns it:
 * nvidia-cudnn-cu13 is 13, nvidia-cublas is 13, torch 0. 0: the name does not tell. */
int kb_package_cuda_major(const char *package);
/* Versions of the package that bring soname and serve a GPU of this compute capability (0: any):
 * for a V100 "libcudnn.so.9", 12 gives ">=9,<9.11". At least 64 bytes of room; false: no such
 * package, or no version serves. */
bool kb_soname_spec(const char *soname, int cuda_major, int cc, char *ret_spec, size_t room);

/* --- driver, CUDA, GPU --- */

/* The oldest driver on which programs of a CUDA major run (minor-version compatibility). */
struct kb_floor {
    int cuda_major;
    enum kb_os os;
    const char *driver;
    const char *note;
    struct kb_prov prov;
};
const struct kb_floor *kb_driver_floor(int cuda_major, enum kb_os os);

/* The driver that a toolkit release was paired with. */
struct kb_toolkit {
    int cuda;
    const char *release; /* "12.4 Update 1" */
    const char *driver_linux, *driver_windows; /* NULL: not bundled or not known */
    struct kb_prov prov;
};
const struct kb_toolkit *kb_toolkit_at(size_t i);

/* The CUDA that a driver knows by itself (nvidia-smi's "CUDA Version"). */
struct kb_branch {
    int branch; /* 550 */
    int cuda;   /* 12040 */
    const char *note;
    struct kb_prov prov;
};
const struct kb_branch *kb_branch_find(int branch);
const struct kb_branch *kb_branch_at(size_t i);
/* Newest CUDA native to this driver: that of the newest listed branch not above it (Windows numbers
 * run on inside a branch: 551.61 and 552.22 are of 550). 0: older than everything known, or no
 * driver number. */
int kb_driver_native_cuda(const char *driver);
/* The first driver branch whose native CUDA is at least this; NULL: none known. */
const struct kb_branch *kb_branch_for_cuda(int cuda);

/* Forward compatibility (Linux, data-center GPUs): does the cuda-compat package of this CUDA work
 * on this driver branch? */
struct kb_compat {
    int cuda;
    int branch;
    enum kb_known works;   /* KB_NO: refused */
    enum kb_known needless; /* KB_YES: the driver knows this CUDA by itself */
    struct kb_prov prov;
};
const struct kb_compat *kb_compat_find(int cuda, int branch);
const struct kb_compat *kb_compat_at(size_t i);

/* "8.6", "86", "sm_86", "sm_90a", "compute_86" to 86; 0: none of these. */
int kb_cc_parse(const char *text);

struct kb_arch {
    int cc;
    const char *name;    /* "Ampere" */
    int cuda_first;      /* first CUDA that lists it; 0: older than 11.7, where reading began */
    int cuda_last;       /* last CUDA that lists it; 0: still listed */
    int branch_last;     /* last driver branch for it; 0: still served */
    struct kb_prov prov;
};
const struct kb_arch *kb_arch_find(int cc);
const struct kb_arch *kb_arch_at(size_t i);

struct kb_gpu {
    const char *name; /* "GeForce RTX 4090", without the vendor */
    int cc;
    struct kb_prov prov;
};
/* name as NVML or pci.ids spell it: "NVIDIA L4", "Tesla V100-SXM2-16GB", "NVIDIA A100-SXM4-40GB".
 * The longest known name whose words all come in order is taken; NULL: none. */
const struct kb_gpu *kb_gpu_find(const char *name);
const struct kb_gpu *kb_gpu_at(size_t i);

struct kb_chip {
    const char *chip; /* "AD104" */
    int cc;
    int pci_first, pci_last; /* PCI device ids of vendor 10de; a chip may have several rows */
    struct kb_prov prov;
};
/* A pci.ids device name ("AD104GL [L4]", "GH100 [H100 PCIe]") or a bare chip name. NULL: chip not
 * known. */
const struct kb_chip *kb_chip_find(const char *pci_name);
/* By PCI device id, for machines without pci.ids. */
const struct kb_chip *kb_chip_by_pci_id(int device_id);
const struct kb_chip *kb_chip_at(size_t i);

/* --- cuDNN --- */

/* What a range of cuDNN releases serves. */
struct kb_cudnn {
    const char *first, *last; /* cuDNN versions, inclusive; last NULL: open */
    int cuda_major;
    int cc_first, cc_last;    /* compute capabilities served; 0: not said */
    const char *note;
    struct kb_prov prov;
};
const struct kb_cudnn *kb_cudnn_at(size_t i);
/* The row that speaks of this cuDNN for this CUDA major; NULL: nothing known. */
const struct kb_cudnn *kb_cudnn_find(const char *version, int cuda_major);
/* The row that says that this cuDNN has no code for this GPU; NULL: it has, or nothing is known
 * against it. */
const struct kb_cudnn *kb_cudnn_dropped(int cc, const char *version, int cuda_major);

/* --- what matching adds --- */

/* The newest opset and IR version that a minor line of ONNX Runtime accepts. */
struct kb_opset {
    const char *line; /* "1.23" */
    const char *onnx; /* the onnx release in it; NULL unknown */
    int opset;        /* of ai.onnx */
    int opset_ml;     /* of ai.onnx.ml */
    int ir;
    struct kb_prov prov;
};
/* The line of this release; NULL: not known. */
const struct kb_opset *kb_opset_find(const char *ort_version);
const struct kb_opset *kb_opset_at(size_t i);

/* One build of PyTorch: of the public index ("2.4.1"), or of PyTorch's own index with a local label
 * ("2.4.1+cu118"). Builds of the public index come first, both ascend. */
struct kb_torch_build {
    const char *torch;
    enum kb_platform platform;
    const char *const *py;       /* list */
    const char *glibc_tag;       /* NULL: not Linux */
    int cuda, cuda_major;        /* 0: carries no CUDA */
    int cudnn_major;             /* 0: linked in, or no CUDA */
    const char *cudnn;           /* NULL: not known */
    const struct kb_sm *cubins;  /* list; empty with CUDA: not known */
    struct kb_prov prov;
};
const struct kb_torch_build *kb_torch_build_at(size_t i);

/* A release of numpy and the Pythons that it has wheels for. */
struct kb_numpy_release {
    const char *version;
    const char *const *py_linux;
    const char *const *py_win;
    const char *const *py_aarch64;
    struct kb_prov prov;
};
const struct kb_numpy_release *kb_numpy_release_at(size_t i);

/* GPU code of the builds on a feed, as its build scripts name it; no row: not known. */
struct kb_feed_gpu_code {
    const char *name; /* of the feed */
    const char *ort;  /* PEP 440 specifier */
    enum kb_platform platform;
    const struct kb_sm *cubins;
    const struct kb_sm *ptx;
    int ptx_cuda;
    struct kb_prov prov;
};
const struct kb_feed_gpu_code *kb_feed_gpu_code_find(const char *feed, const char *ort_version,
                                                     enum kb_platform platform);
const struct kb_feed_gpu_code *kb_feed_gpu_code_at(size_t i);

/* --- rules --- */

/* A sentence that findings may quote, with its source: "exec-stack", "cudnn-major", "same-soname",
 * ... */
struct kb_rule {
    const char *id;
    const char *text;
    struct kb_prov prov;
};
const struct kb_rule *kb_rule_find(const char *id);
const struct kb_rule *kb_rule_at(size_t i);

/* --- images, conda, options, claims --- */

/* A tag of nvidia/cuda. */
struct kb_image {
    const char *tag; /* "12.4.1-cudnn-runtime-ubuntu22.04" */
    const char *cuda_release, *flavour, *os; /* "12.4.1", "runtime" or "devel", "ubuntu22.04" */
    enum kb_known cudnn_inside;
    int cudnn_major;           /* 0 unknown */
    const char *cudnn;         /* NULL: not known which of that major */
    enum kb_known end_of_life; /* its recipe was moved away: the tag may be gone */
    struct kb_prov prov;
};
const struct kb_image *kb_image_at(size_t i);

/* What of conda-forge (and of the pytorch channel, which its note says) is for which CUDA. */
struct kb_conda {
    const char *package, *versions; /* as people write them: "1.16.3", "1.19.x", "<=9.10.1.4" */
    const char *const *cuda;        /* list of CUDA majors or minors; empty: not said */
    int cudnn_major;
    const char *const *platforms;   /* list: linux-64 */
    const char *note;
    struct kb_prov prov;
};
const struct kb_conda *kb_conda_at(size_t i);

enum kb_scope {
    KB_SCOPE_UNKNOWN,
    KB_SCOPE_CUDA_PROVIDER,  /* options of CUDAExecutionProvider */
    KB_SCOPE_SESSION,        /* SessionOptions.add_session_config_entry */
    KB_SCOPE_PLUGIN_SESSION, /* the same, of the CUDA provider as a plugin; the built-in one ignores them */
    KB_SCOPE_RUN,            /* RunOptions.add_run_config_entry */
    KB_SCOPE_ENV,            /* environment variable */
};
struct kb_option {
    const char *name;
    enum kb_scope scope;
    const char *type;          /* bool int bytes enum bitmask pointer string list flag */
    const char *const *values; /* list; empty: any of the type */
    const char *default_value; /* NULL: not known */
    const char *since;         /* release of ONNX Runtime in words: "1.18", "1.4 or before"; NULL: not known */
    /* list: releases in whose libraries the name was read; of one that is missing nothing follows */
    const char *const *read_in;
    const char *note;
    struct kb_prov prov;
};
const struct kb_option *kb_option_at(size_t i);
const struct kb_option *kb_option_find(const char *name, enum kb_scope scope);

enum kb_verdict { KB_CLAIM_UNKNOWN, KB_CLAIM_RIGHT, KB_CLAIM_HALF, KB_CLAIM_WRONG };
/* A claim of common tables or advice, checked. */
struct kb_claim {
    const char *id, *claim, *said_by;
    enum kb_verdict verdict;
    const char *evidence;
    const char *const *decided_by; /* list: "ort/1.17.0/cuda=11.8", "rules/cuda-minor" */
    struct kb_prov prov;
};
const struct kb_claim *kb_claim_at(size_t i);

/* --- the whole --- */

/* Day of the newest row, "2026-12-01": what counts as published is judged by it. */
const char *kb_date(void);
const struct kb_source *kb_source_at(size_t i);
const struct kb_source *kb_source_find(const char *id);
const char *kb_confidence_name(enum kb_confidence confidence);
const char *kb_platform_name(enum kb_platform platform); /* "linux_x86_64" */

#endif
