#include "load/python.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "version/driver.h"
#include "version/pep440.h"

#define QUIET (LOAD_FLAG_NO_SYMBOLS)

/* torch's list of CUDA libraries: nvidia/<folder>/lib, and nvidia/cu<major>/lib from CUDA 13 on. */
static const struct torch_row {
    const char *folder, *stem;
    bool after_failure; /* opened when libtorch_global_deps.so does not load */
    const char *since;  /* opened also after it has loaded, from this torch on; NULL: never */
} torch_rows[] = {
    { "cublas", "libcublasLt.so.", false, "2.11" },
    { "cublas", "libcublas.so.", true, "2.11" },
    { "cudnn", "libcudnn.so.", true, "2.11" },
    { "cuda_nvrtc", "libnvrtc.so.", true, "2.6" },
    { "cuda_nvrtc", "libnvrtc-builtins.so.", false, "2.11" },
    { "cuda_runtime", "libcudart.so.", true, "2.11" },
    { "cuda_cupti", "libcupti.so.", true, "2.11" },
    { "cufft", "libcufft.so.", true, "2.11" },
    { "curand", "libcurand.so.", true, NULL },
    { "nvjitlink", "libnvJitLink.so.", true, "2.6" },
    { "cusparse", "libcusparse.so.", true, "2.11" },
    { "cusparselt", "libcusparseLt.so.", true, "2.11" },
    { "cusolver", "libcusolver.so.", true, "2.11" },
    { "nccl", "libnccl.so.", true, "2.11" },
    { "nvshmem", "libnvshmem_host.so.", false, "2.11" },
    { "cufile", "libcufile.so.", false, "2.11" },
};

/* The first file of dir that the glob stem + "*[0-9]" matches, or NULL. */
static const char *match_in(struct place *p, const char *dir, const char *stem)
{
    const struct listing *l = place_list(p, dir);
    for (size_t i = 0; l->known == KNOWN_PRESENT && i < l->n; i++) {
        const char *name = l->at[i].name;
        size_t n = strlen(name);
        if (str_starts(name, stem) && name[n - 1] >= '0' && name[n - 1] <= '9')
            return path_join(place_arena(p), dir, name);
    }
    return NULL;
}

static const char *find_wheel(struct place *p, const struct pyenv *env, const struct torch_row *row)
{
    struct arena *a = place_arena(p);
    int major = env->torch_cuda ? cuda_parse(env->torch_cuda) / 1000 : 0;
    for (size_t i = 0; i < env->n_sys_path; i++) {
        /* nvidia_dirs tells which folders exist, so that nothing is listed in vain. */
        const char *own = arena_printf(a, "%s/nvidia/%s/lib", env->sys_path[i], row->folder);
        const char *shared = arena_printf(a, "%s/nvidia/cu%d/lib", env->sys_path[i], major);
        for (size_t k = 0; k < env->n_nvidia_dirs; k++) {
            const char *found = str_eq(env->nvidia_dirs[k], own) ? match_in(p, own, row->stem)
                                                                 : NULL;
            if (found)
                return found;
        }
        for (size_t k = 0; k < env->n_nvidia_dirs; k++) {
            const char *found = str_eq(env->nvidia_dirs[k], shared) ? match_in(p, shared, row->stem)
                                                                    : NULL;
            if (found)
                return found;
        }
    }
    return NULL;
}

static int preload_rows(const struct snapshot *s, const struct pyenv *env, bool failed,
                        struct load_process *proc, struct err *e)
{
    for (size_t i = 0; i < ARRAY_LEN(torch_rows); i++) {
        const struct torch_row *row = &torch_rows[i];
        if (failed ? !row->after_failure
                   : !row->since || pep440_compare_text(env->torch->version, row->since) < 0)
            continue;
        const char *file = find_wheel(s->place, env, row);
        struct load_result ignored;
        int r = file ? load_dlopen(proc, file, NULL, QUIET, &ignored, e) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

static const char *extension_module(struct place *p, const char *dir)
{
    const struct listing *l = place_list(p, dir);
    for (size_t i = 0; l->known == KNOWN_PRESENT && i < l->n; i++)
        if (str_starts(l->at[i].name, "_C.") && str_ends(l->at[i].name, ".so"))
            return path_join(place_arena(p), dir, l->at[i].name);
    return NULL;
}

int python_import_torch(const struct snapshot *s, const struct pyenv *env,
                        struct load_process *proc, struct arena *a, const char **ret_error,
                        struct err *e)
{
    struct load_result result;
    const char *deps = path_join(a, env->torch_dir, "lib/libtorch_global_deps.so");
    *ret_error = NULL;
    if (place_exists(s->place, deps)) {
        int r = load_dlopen(proc, deps, NULL, LOAD_FLAG_GLOBAL | QUIET, &result, e);
        if (r == 0)
            r = preload_rows(s, env, !result.loads, proc, e);
        if (r == 0 && !result.loads)
            r = load_dlopen(proc, deps, NULL, LOAD_FLAG_GLOBAL | QUIET, &result, e);
        if (r < 0)
            return r;
        if (result.known && !result.loads) {
            *ret_error = result.error;
            return 0;
        }
    }
    const char *module = extension_module(s->place, env->torch_dir);
    int r = module ? load_dlopen(proc, module, NULL, QUIET, &result, e) : 0;
    if (r == 0 && module && result.known && !result.loads)
        *ret_error = result.error;
    return r;
}

/* preload_dlls opens these, in this order, below the folder that holds onnxruntime/; %d is the CUDA
 * major. */
static const struct preload_row {
    const char *folder; /* up to CUDA 12 */
    const char *shared; /* from CUDA 13 on */
    const char *name;   /* NULL: cuFFT, whose number runs one behind CUDA's */
} preload_table[] = {
    { "cublas", "cu", "libcublasLt.so.%d" },
    { "cublas", "cu", "libcublas.so.%d" },
    { "cuda_nvrtc", "cu", "libnvrtc.so.%d" },
    { "curand", "cu", "libcurand.so.10" },
    { "cufft", "cu", NULL },
    { "cuda_runtime", "cu", "libcudart.so.%d" },
    { "cudnn", "cudnn", "libcudnn.so.9" },
};

static const char *preload_name(const struct preload_row *row, int cuda_major, struct arena *a)
{
    if (!row->name)
        return arena_printf(a, "libcufft.so.%d", cuda_major - 1);
    const char *number = strstr(row->name, "%d");
    return number ? arena_printf(a, "%.*s%d", (int)(number - row->name), row->name, cuda_major)
                  : row->name;
}

int python_preload_dlls(const struct snapshot *s, const struct ort_install *ort, int cuda_major,
                        struct load_process *proc, struct err *e)
{
    struct arena *a = place_arena(s->place);
    const char *site = path_dir(a, ort->dir);
    bool opened[ARRAY_LEN(preload_table)] = { false };
    struct load_result result;
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(preload_table); i++) {
        const struct preload_row *row = &preload_table[i];
        const char *name = preload_name(row, cuda_major, a);
        const char *file = cuda_major >= 13 && str_eq(row->shared, "cu")
                               ? arena_printf(a, "%s/nvidia/cu%d/lib/%s", site, cuda_major, name)
                               : arena_printf(a, "%s/nvidia/%s/lib/%s", site, row->folder, name);
        if (!place_exists(s->place, file))
            continue;
        r = load_dlopen(proc, file, NULL, QUIET, &result, e);
        opened[i] = r == 0 && result.loads;
    }
    /* What no wheel brought is asked of the loader under its bare name, after all that the wheels
     * have. */
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(preload_table); i++)
        if (!opened[i])
            r = load_dlopen(proc, preload_name(&preload_table[i], cuda_major, a), NULL, QUIET,
                            &result, e);
    return r;
}
