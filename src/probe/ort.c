/* ONNX Runtime in a Python environment: its files, what its own Python files say (read as text),
 * who owns it. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "probe/look.h"
#include "probe/python.h"
#include "version/pep440.h"

#define PRELOADS_MAX 64

/* --- texts of Python files --- */

/* name = 'value' at the beginning of a line; NULL: no such line. */
static const char *assigned(struct snapshot *s, const struct text *t, const char *name,
                            size_t *ret_line)
{
    size_t n = strlen(name);
    struct look_line line = { 0 };
    while (look_next_line(t, &line)) {
        if (line.len <= n || memcmp(line.at, name, n) != 0)
            continue;
        const char *end = line.at + line.len, *at = line.at + n;
        while (at < end && (*at == ' ' || *at == '\t'))
            at++;
        if (at >= end || *at != '=')
            continue;
        for (at++; at < end && (*at == ' ' || *at == '\t'); at++)
            ;
        if (at >= end || (*at != '\'' && *at != '"'))
            continue;
        const char *close = memchr(at + 1, *at, (size_t)(end - at - 1));
        if (!close)
            continue;
        *ret_line = line.number;
        return look_trim(s, at + 1, (size_t)(close - at - 1));
    }
    return NULL;
}

/* _ld_preload.py: a try block of CDLL("soname") calls for CUDA, then perhaps one for TensorRT; the
 * variable that its except branch sets tells which. */
static void preload_read(struct snapshot *s, const struct pyenv *env, struct ort_install *o)
{
    const char *file = path_join(&s->arena, o->dir, "capi/_ld_preload.py");
    const struct text *t = place_text(s->place, file, TEXT_WHOLE);
    if (t->known == KNOWN_FAILED)
        fact_unread(s, env, "ort.ld_preload", file, t->error);
    struct names block = { 0 };
    struct look_line line = { 0 };
    while (look_next_line(t, &line)) {
        const char *text = look_trim(s, line.at, line.len > 1000 ? 1000 : line.len);
        if (text[0] == '#')
            continue;
        const char *call = strstr(text, "CDLL(");
        if (call && (call[5] == '"' || call[5] == '\'')) {
            size_t n = strcspn(call + 6, "\"'");
            if (n > 0 && block.n < PRELOADS_MAX)
                vec_push(&block, arena_strndup(&s->arena, call + 6, n));
        } else if (strstr(text, "ORT_TENSORRT_UNAVAILABLE")) {
            o->ld_preload_tensorrt = names_keep(s, &block);
            o->n_ld_preload_tensorrt = block.n;
            block.n = 0;
        } else if (strstr(text, "ORT_CUDA_UNAVAILABLE")) {
            o->ld_preload = names_keep(s, &block);
            o->n_ld_preload = block.n;
            block.n = 0;
        }
    }
    if (block.n && !o->n_ld_preload) {
        o->ld_preload = names_keep(s, &block);
        o->n_ld_preload = block.n;
    }
    o->has_ld_preload = o->n_ld_preload + o->n_ld_preload_tensorrt > 0;
    vec_done(&block);
}

/* --- files --- */

/* The pybind module that this Python would import: its own tag, else one without a tag. */
static int pybind_rank(const char *name, const char *python)
{
    static const char stem[] = "onnxruntime_pybind11_state";
    if (!str_starts(name, stem) || !str_ends(name, ".so"))
        return 0;
    const char *tag = name + sizeof stem - 1;
    if (str_eq(tag, ".so") || str_starts(tag, ".abi3"))
        return 2;
    if (!python)
        return 1;
    size_t n = strlen(python);
    return tag[0] == '.' && strncmp(tag + 1, python, n) == 0 &&
                   (tag[n + 1] == '-' || tag[n + 1] == '.')
             ? 3
             : 0;
}

/* libonnxruntime.so.1.22.0 before libonnxruntime.so.1 before libonnxruntime.so, newer before
 * older. */
static bool runtime_better(const char *name, const char *than)
{
    if (!than)
        return true;
    return strlen(name) != strlen(than) && (str_starts(name, than) || str_starts(than, name))
             ? strlen(name) > strlen(than)
             : pep440_compare_text(name + strlen("libonnxruntime.so"),
                                   than + strlen("libonnxruntime.so")) > 0;
}

void ort_files_find(struct snapshot *s, const char *dir, const char *python, struct ort_install *o)
{
    static const struct {
        const char *name;
        size_t slot;
    } providers[] = {
        { "libonnxruntime_providers_shared.so", offsetof(struct ort_install, shared) },
        { "libonnxruntime_providers_cuda.so", offsetof(struct ort_install, cuda) },
        { "libonnxruntime_providers_tensorrt.so", offsetof(struct ort_install, tensorrt) },
    };
    const struct listing *l = place_list(s->place, dir);
    const char *pybind = NULL, *runtime = NULL;
    int best = 0;
    /* A folder that cannot be listed may still be opened by name, and that is all the loader does. */
    for (size_t k = 0; l->known == KNOWN_FAILED && k < ARRAY_LEN(providers); k++) {
        const char *file = path_join(&s->arena, dir, providers[k].name);
        if (place_stat(s->place, file)->known != KNOWN_ABSENT)
            *(const char **)((char *)o + providers[k].slot) = file;
    }
    for (size_t i = 0; i < l->n; i++) {
        const char *name = l->at[i].name;
        int rank = pybind_rank(name, python);
        if (rank > best) {
            best = rank;
            pybind = name;
        } else if ((str_eq(name, "libonnxruntime.so") || str_starts(name, "libonnxruntime.so.")) &&
                   runtime_better(name, runtime)) {
            runtime = name;
        }
        for (size_t k = 0; k < ARRAY_LEN(providers); k++)
            if (str_eq(name, providers[k].name))
                *(const char **)((char *)o + providers[k].slot) = path_join(&s->arena, dir, name);
    }
    if (pybind)
        o->pybind = path_join(&s->arena, dir, pybind);
    if (runtime && !o->runtime)
        o->runtime = path_join(&s->arena, dir, runtime);
}

/* GPU code stands in a thousand and more places of a large file. It is read where a GPU is there to be held against
 * it, and for those who write everything down. */
static void code_read(struct snapshot *s, struct ort_install *o, const char *key)
{
    if (!o->cuda || (s->gpus.n == 0 && !s->everything))
        return;
    const struct place_gpu_code *code = place_gpu_code(s->place, o->cuda);
    if (code->known != KNOWN_PRESENT) {
        o->code_fact =
            fact_add(s, code->known, key,
                     code->known == KNOWN_FAILED ? strerror(code->error) : NULL, o->cuda);
        return;
    }
    o->code = code->code;
    struct str text = { 0 };
    for (size_t i = 0; i < o->code.n_arch; i++) {
        const struct gpu_arch *g = &o->code.arch[i];
        str_addf(&text, "%s%s_%u%s", i ? " " : "", g->ptx ? "compute" : "sm", g->number,
                 g->specific ? "a" : "");
    }
    o->code_fact =
        fact_add(s, o->code.n_arch ? KNOWN_PRESENT : KNOWN_ABSENT, key,
                 o->code.n_arch ? str_get(&text) : NULL,
                 arena_printf(&s->arena, "%s, %u fatbin containers", o->cuda, o->code.containers));
    str_done(&text);
}

/* --- the installation --- */

static const char *python_tag(struct snapshot *s, const struct pyenv *env)
{
    const char *lib = pyenv_work(env)->lib_name;
    if (!env->major)
        return NULL;
    return arena_printf(&s->arena, "cpython-%d%d%s", env->major, env->minor,
                        lib && str_ends(lib, "t") ? "t" : "");
}

/* The folder that `import onnxruntime` takes: the first on sys.path with an __init__.py; without
 * one anywhere, what is left of an installation. */
static const char *site_find(struct snapshot *s, const struct pyenv_work *w)
{
    struct arena *a = &s->arena;
    const char *rest = NULL;
    for (size_t i = 0; i < w->n_sites; i++) {
        const char *dir = path_join(a, w->sites[i], "onnxruntime");
        const struct file_info *info = place_stat(s->place, dir);
        if (info->known == KNOWN_FAILED)
            fact_unread(s, &w->env, "ort.folder", dir, info->error);
        if (info->type != FILE_DIR)
            continue;
        info = place_stat(s->place, path_join(a, dir, "__init__.py"));
        if (info->known == KNOWN_PRESENT ||
            (info->known == KNOWN_FAILED && fact_unread(s, &w->env, "ort.folder", dir, info->error)))
            return w->sites[i];
        if (!rest && place_is_dir(s->place, path_join(a, dir, "capi")))
            rest = w->sites[i];
    }
    return rest;
}

void ort_build_read(struct snapshot *s, const char *capi, struct ort_install *o,
                    const char **ret_package, const char **ret_version)
{
    size_t line = 0;
    const struct text *t =
        place_text(s->place, path_join(&s->arena, capi, "build_and_package_info.py"), TEXT_WHOLE);
    *ret_package = assigned(s, t, "package_name", &line);
    *ret_version = assigned(s, t, "__version__", &line);
    o->cuda_built = assigned(s, t, "cuda_version", &line);
}

static void texts_read(struct snapshot *s, const struct pyenv *env, struct ort_install *o,
                       const char **ret_build_package, const char **ret_version)
{
    size_t line = 0;
    ort_build_read(s, path_join(&s->arena, o->dir, "capi"), o, ret_build_package, ret_version);
    const struct text *init =
        place_text(s->place, path_join(&s->arena, o->dir, "__init__.py"), TEXT_WHOLE);
    if (!*ret_version)
        *ret_version = assigned(s, init, "__version__", &line);
    o->has_preload_dlls = init->known == KNOWN_PRESENT &&
                          memmem(init->at, init->len, "def preload_dlls(", 17) != NULL;
    preload_read(s, env, o);
}

static const struct ort_install *install_read(struct snapshot *s, const struct pyenv_work *w,
                                              bool deep, const char *key)
{
    const char *site = site_find(s, w);
    if (!site)
        return NULL;
    struct ort_install *o = arena_new(&s->arena, struct ort_install);
    o->dir = path_join(&s->arena, site, "onnxruntime");
    const char *capi = path_join(&s->arena, o->dir, "capi");
    ort_files_find(s, capi, python_tag(s, &w->env), o);
    const struct listing *files = place_list(s->place, capi);
    if (files->known == KNOWN_FAILED)
        fact_unread(s, &w->env, "ort.files", capi, files->error);
    const char *build_package, *version;
    texts_read(s, &w->env, o, &build_package, &version);
    struct ort_owner owner;
    ort_owner_find(s, w, site, build_package, deep, &owner);
    o->files = owner.files;
    o->dists = owner.dists;
    o->n_dists = owner.n_dists;
    o->package = owner.top ? owner.top->name : build_package;
    o->version = owner.top && owner.top->version ? owner.top->version : version;
    const char *its =
        o->version ? arena_printf(&s->arena, "%s/capi/libonnxruntime.so.%s", o->dir, o->version)
                   : NULL;
    if (o->runtime && its && place_exists(s->place, its)) /* another one may be left over */
        o->runtime = its;
    o->ownership =
        fact_add(s, owner.n_dists ? KNOWN_PRESENT : KNOWN_ABSENT, fact_key(s, "%s.ownership", key),
                 owner.n_dists ? owner.text : NULL, owner.source);
    ort_facts(s, o, key, owner.source);
    return o;
}

void ort_facts(struct snapshot *s, struct ort_install *o, const char *key, const char *source)
{
    static const char *const states[] = { [ORT_FILES_UNKNOWN] = "unknown",
                                          [ORT_FILES_ITS_OWN] = "its own",
                                          [ORT_FILES_MIXED] = "mixed",
                                          [ORT_FILES_INCOMPLETE] = "incomplete" };
    const struct {
        const char *name, *value, *source;
    } rows[] = {
        { "package", o->package, source },
        { "version", o->version, source },
        { "files", states[o->files], source },
        { "pybind", o->pybind ? path_base(o->pybind) : NULL, o->pybind ? o->pybind : o->dir },
        { "runtime", o->runtime ? path_base(o->runtime) : NULL, o->runtime ? o->runtime : o->dir },
        { "shared", o->shared ? path_base(o->shared) : NULL, o->shared ? o->shared : o->dir },
        { "cuda", o->cuda ? path_base(o->cuda) : NULL, o->cuda ? o->cuda : o->dir },
        { "tensorrt", o->tensorrt ? path_base(o->tensorrt) : NULL,
          o->tensorrt ? o->tensorrt : o->dir },
        { "cuda_built", o->cuda_built, "build_and_package_info.py" },
        { "preload_dlls", o->has_preload_dlls ? "yes" : NULL, "__init__.py" },
    };
    fact_add(s, KNOWN_PRESENT, fact_key(s, "%s.dir", key), o->dir, o->dir);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        fact_add(s, rows[i].value ? KNOWN_PRESENT : KNOWN_ABSENT,
                 fact_key(s, "%s.%s", key, rows[i].name), rows[i].value, rows[i].source);
    for (size_t i = 0; i < o->n_ld_preload; i++)
        fact_add(s, KNOWN_PRESENT, fact_key(s, "%s.ld_preload.%zu", key, i), o->ld_preload[i],
                 "_ld_preload.py");
    code_read(s, o, fact_key(s, "%s.gpu_code", key));
}

int probe_ort(struct snapshot *s, const struct probe_request *want, struct err *e)
{
    for (size_t i = 0; i < s->envs.n; i++) {
        struct pyenv_work *w = pyenv_work(s->envs.at[i]);
        const char *key = fact_key(s, "ort.%zu", i);
        w->env.ort = install_read(s, w, want->deep, key);
        if (!w->env.ort)
            fact_add(s, KNOWN_ABSENT, key, NULL, w->env.prefix);
    }
    if (want->library)
        return target_library(s, want->library, e);
    if (want->program && !program_python(s, want->program))
        return target_program(s, want->program, e);
    bool any = want->python != NULL || want->program != NULL;
    for (size_t i = 0; i < s->envs.n; i++)
        any |= s->envs.at[i]->ort != NULL;
    if (!any)
        (void)target_usual(s);
    for (size_t i = 0; i < s->envs.n; i++) {
        const struct pyenv *env = s->envs.at[i];
        vec_push(&s->targets,
                 (struct target){ .kind = TARGET_ENV,
                                  .env = env,
                                  .ort = env->ort,
                                  .exe = env->exe,
                                  .given = want->python ? want->python : want->program });
    }
    return 0;
}
