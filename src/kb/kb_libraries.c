/* Sonames, the packages that bring them, and what a name gives away. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "kb/kb.h"
#include "kb/tables.h"
#include "version/pep440.h"
#include "version/pep508.h"

KB_AT(kb_library_at, libraries, kb_library)
KB_AT(kb_wheel_at, wheels, kb_wheel)
KB_AT(kb_wheel_version_at, wheel_versions, kb_wheel_version)
KB_AT(kb_soname_at, sonames, kb_soname)

/* --- names --- */

static const struct {
    enum kb_family family;
    const char *name;
    const char *stem[6]; /* of file names, without lib and version */
} families[] = {
    { KB_FAMILY_CUDART, "CUDA runtime", { "cudart" } },
    { KB_FAMILY_CUBLAS, "cuBLAS", { "cublas", "cublasLt", "nvblas" } },
    { KB_FAMILY_CUFFT, "cuFFT", { "cufft", "cufftw" } },
    { KB_FAMILY_CURAND, "cuRAND", { "curand" } },
    { KB_FAMILY_CUSOLVER, "cuSOLVER", { "cusolver", "cusolverMg" } },
    { KB_FAMILY_CUSPARSE, "cuSPARSE", { "cusparse" } },
    { KB_FAMILY_NVRTC, "NVRTC", { "nvrtc", "nvrtc-builtins" } },
    { KB_FAMILY_NVJITLINK, "nvJitLink", { "nvJitLink" } },
    { KB_FAMILY_CUDNN, "cuDNN", { "cudnn" } },
    { KB_FAMILY_TENSORRT, "TensorRT", { "nvinfer", "nvonnxparser", "nvparsers" } },
    { KB_FAMILY_NCCL, "NCCL", { "nccl" } },
    { KB_FAMILY_DRIVER,
      "NVIDIA driver",
      { "cuda", "nvidia-ml", "nvcuda", "nvidia-ptxjitcompiler" } },
};

const char *kb_family_name(enum kb_family family)
{
    for (size_t i = 0; i < ARRAY_LEN(families); i++)
        if (families[i].family == family)
            return families[i].name;
    return "unknown library";
}

/* Where the version begins in libcublasLt.so.12, cublasLt64_12.dll, nvinfer_10.dll; 0: not a
 * library name. */
static size_t stem_end(const char *soname)
{
    const char *so = strstr(soname, ".so");
    if (so && (so[3] == '.' || so[3] == '\0'))
        return (size_t)(so - soname);
    const char *dll = strstr(soname, ".dll");
    if (!dll || dll[4])
        return 0;
    const char *end = dll;
    while (end > soname && end[-1] >= '0' && end[-1] <= '9')
        end--;
    if (end > soname && end[-1] == '_')
        end--;
    if (end - soname > 2 && end[-2] == '6' && end[-1] == '4')
        end -= 2;
    return (size_t)(end - soname);
}

enum kb_family kb_soname_family(const char *soname)
{
    size_t len = stem_end(soname);
    const char *stem = soname;
    if (len > 3 && str_starts(soname, "lib")) {
        stem += 3;
        len -= 3;
    }
    for (size_t i = 0; i < ARRAY_LEN(families); i++)
        for (size_t k = 0; k < ARRAY_LEN(families[i].stem) && families[i].stem[k]; k++) {
            const char *known = families[i].stem[k];
            size_t n = strlen(known);
            bool split =
                families[i].family == KB_FAMILY_CUDNN || families[i].family == KB_FAMILY_TENSORRT;
            if (len >= n && strncmp(stem, known, n) == 0 && (len == n || (split && stem[n] == '_')))
                return families[i].family;
        }
    return KB_FAMILY_UNKNOWN;
}

const struct kb_library *kb_library_find(const char *soname)
{
    for (size_t i = 0; i < kbt_libraries_n; i++)
        if (strcmp(kbt_libraries[i].soname, soname) == 0)
            return &kbt_libraries[i];
    return NULL;
}

static bool library_serves(const struct kb_library *l, int cuda_major)
{
    return l->cuda_first && l->cuda_first <= cuda_major && cuda_major <= l->cuda_last;
}

const char *kb_soname_for_cuda(const char *soname, int cuda_major)
{
    size_t len = stem_end(soname);
    const struct kb_library *own = kb_library_find(soname);
    if (own && library_serves(own, cuda_major))
        return own->soname;
    for (size_t i = 0; len && i < kbt_libraries_n; i++) {
        const struct kb_library *l = &kbt_libraries[i];
        if (stem_end(l->soname) == len && strncmp(l->soname, soname, len) == 0 &&
            str_ends(l->soname, ".dll") == str_ends(soname, ".dll") &&
            library_serves(l, cuda_major))
            return l->soname;
    }
    return NULL;
}

bool kb_soname_ambiguous(const char *soname)
{
    const struct kb_library *l = kb_library_find(soname);
    return l && l->cuda_first < l->cuda_last;
}

/* --- packages --- */

/* Asked for every distribution of an environment: normalised once, then compared as it stands in the table. */
const struct kb_wheel *kb_wheel_find(const char *package)
{
    char name[128];
    name_normalise(package, name, sizeof(name));
    for (size_t i = 0; i < kbt_wheels_n; i++)
        if (str_eq(name, kbt_wheels[i].package))
            return &kbt_wheels[i];
    return NULL;
}

static bool published(const struct kb_wheel_version *v, const struct pep440_spec *spec, int as_of)
{
    struct pep440 parsed;
    return v->yanked != KB_YES && (!as_of || !v->date || v->date <= as_of) &&
           pep440_parse(v->version, &parsed) && pep440_spec_matches(spec, &parsed, false);
}

const struct kb_wheel_version *kb_wheel_newest(const char *package, const char *spec, int as_of)
{
    struct pep440_spec parsed;
    const struct kb_wheel *wheel = kb_wheel_find(package);
    if (!pep440_spec_parse(spec ? spec : "", &parsed) || (wheel && wheel->placeholder == KB_YES))
        return NULL;
    const struct kb_wheel_version *best = NULL;
    for (size_t i = 0; i < kbt_wheel_versions_n; i++) {
        const struct kb_wheel_version *v = &kbt_wheel_versions[i];
        if (name_same(package, v->package) && published(v, &parsed, as_of) &&
            (!best || pep440_compare_text(v->version, best->version) > 0))
            best = v;
    }
    return best;
}

const struct kb_wheel_version *kb_wheel_version_find(const char *package, const char *version)
{
    for (size_t i = 0; i < kbt_wheel_versions_n; i++) {
        const struct kb_wheel_version *v = &kbt_wheel_versions[i];
        if (name_same(package, v->package) && pep440_same_public(version, v->version))
            return v;
    }
    return NULL;
}

const struct kb_soname *kb_soname_find_in(const char *manager, const char *soname, int cuda_major)
{
    for (size_t i = 0; i < kbt_sonames_n; i++) {
        const struct kb_soname *s = &kbt_sonames[i];
        if (s->cuda_major == cuda_major && strcmp(s->soname, soname) == 0 &&
            strcmp(s->manager, manager) == 0)
            return s;
    }
    return NULL;
}

const struct kb_soname *kb_soname_find(const char *soname, int cuda_major)
{
    return kb_soname_find_in("pip", soname, cuda_major);
}

int kb_package_cuda_major(const char *package)
{
    char name[128];
    name_normalise(package, name, sizeof(name));
    const struct kb_wheel *wheel = kb_wheel_find(name);
    if (wheel)
        return wheel->cuda_major;
    const char *cu = strrchr(name, '-');
    if (!cu || !str_starts(cu, "-cu") || cu[3] < '1' || cu[3] > '9' || cu[4] < '0' || cu[4] > '9' ||
        cu[5])
        return 0;
    return (cu[3] - '0') * 10 + (cu[4] - '0');
}

/* The bounds inside a cuDNN major between which its releases serve a compute capability. */
static bool cudnn_bounds(int cudnn_major, int cuda_major, int cc, const char **ret_from,
                         const char **ret_below)
{
    bool known = false, served = false;
    for (size_t i = 0; i < kbt_cudnn_n; i++) {
        const struct kb_cudnn *row = &kbt_cudnn[i];
        struct pep440 first;
        if (row->cuda_major != cuda_major || !pep440_parse(row->first, &first) ||
            first.release[0] != (uint64_t)cudnn_major)
            continue;
        bool serves = cc >= row->cc_first && (!row->cc_last || cc <= row->cc_last);
        if (serves && !served && known)
            *ret_from = row->first;
        if (!serves && served) {
            *ret_below = row->first;
            break;
        }
        known = true;
        served |= serves;
    }
    return served || !known;
}

bool kb_soname_spec(const char *soname, int cuda_major, int cc, char *ret_spec, size_t room)
{
    const struct kb_soname *row = kb_soname_find(soname, cuda_major);
    const struct kb_library *library = kb_library_find(soname);
    const char *from = NULL, *below = NULL;
    if (!row || !row->spec)
        return false;
    if (cc && library && library->family == KB_FAMILY_CUDNN &&
        !cudnn_bounds(library->major, cuda_major, cc, &from, &below))
        return false;

    const char *comma = strchr(row->spec, ',');
    cleanup_(str_done) struct str spec = { 0 };
    if (from)
        str_addf(&spec, ">=%s", from);
    else
        str_addn(&spec, row->spec, comma ? (size_t)(comma - row->spec) : strlen(row->spec));
    if (below)
        str_addf(&spec, ",<%s", below);
    else if (comma)
        str_add(&spec, comma);
    if (spec.len >= room || !kb_wheel_newest(row->package, str_get(&spec), 0))
        return false;
    (void)snprintf(ret_spec, room, "%s", str_get(&spec));
    return true;
}
