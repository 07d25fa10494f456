#include "load/ort.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "kb/kb.h"
#include "load/python.h"
#include "version/driver.h"
#include "version/pep440.h"

#define SHARED_NAME "libonnxruntime_providers_shared.so"

struct player {
    const struct snapshot *s;
    const struct target *t;
    const struct ort_install *ort;
    const struct kb_ort *kb;
    enum ort_provider provider;
    int cuda_major;
    bool full_path; /* the provider is opened by its full path */
    struct arena *a;
    struct load_process *proc;
    struct ort_try *try;
    struct {
        VEC(struct load_need);
    } needs;
};

static const char *provider_file(const struct player *p)
{
    return p->provider == ORT_PROVIDER_TENSORRT ? p->ort->tensorrt : p->ort->cuda;
}

static const char *provider_name(const struct player *p)
{
    return p->provider == ORT_PROVIDER_TENSORRT ? "libonnxruntime_providers_tensorrt.so"
                                                : "libonnxruntime_providers_cuda.so";
}

/* Who calls dlopen for the providers: the pybind module holds the runtime in every wheel. */
static const char *runtime_file(const struct player *p)
{
    return p->t->kind == TARGET_ENV ? p->ort->pybind : p->ort->runtime;
}

static void keep_text(struct player *p, const char **ret, const char *text)
{
    *ret = text ? arena_strdup(p->a, text) : NULL;
}

/* The process that played it is gone when the needs are read. */
static struct load_need need_dup(struct player *p, const struct load_need *n)
{
    struct load_need made = *n;
    keep_text(p, &made.name, n->name);
    keep_text(p, &made.needed_by, n->needed_by);
    keep_text(p, &made.path, n->path);
    keep_text(p, &made.problem, n->problem);
    const char **searched = n->n_searched ? arena_alloc(p->a, n->n_searched * sizeof(*searched))
                                          : NULL;
    for (size_t i = 0; i < n->n_searched; i++)
        keep_text(p, &searched[i], n->searched[i]);
    made.searched = searched;
    return made;
}

static void needs_add(struct player *p, const struct load_result *r)
{
    for (size_t i = 0; i < r->n_needs; i++) {
        const struct load_need *n = &r->needs[i];
        /* The provider's own file is the question, not a need, unless it is what fails. */
        if (!n->needed_by && n->status == LOAD_FOUND)
            continue;
        bool seen = false;
        for (size_t k = 0; k < p->needs.n; k++)
            seen |= str_eq(p->needs.at[k].name, n->name);
        if (!seen)
            vec_push(&p->needs, need_dup(p, n));
    }
}

static void answer(struct player *p, const struct load_result *r)
{
    p->try->loads = !r->known ? ANSWER_UNKNOWN : r->loads ? ANSWER_YES : ANSWER_NO;
    if (!r->loads)
        keep_text(p, &p->try->error, r->error);
}

/* Up to 1.15: six libraries by bare name and global, at import; if one fails, the provider is never
 * tried. */
static int play_ld_preload(struct player *p, bool *ret_failed, struct err *e)
{
    *ret_failed = false;
    for (size_t i = 0; i < p->ort->n_ld_preload; i++) {
        struct load_result r;
        int code = load_dlopen(p->proc, p->ort->ld_preload[i], NULL,
                               LOAD_FLAG_GLOBAL | LOAD_FLAG_EXPLORE | LOAD_FLAG_NO_SYMBOLS, &r, e);
        if (code < 0)
            return code;
        for (size_t k = 0; k < r.n_needs; k++) {
            /* Here the opened library is itself a need of the provider. */
            struct load_need n = need_dup(p, &r.needs[k]);
            if (!n.needed_by)
                keep_text(p, &n.needed_by, path_join(p->a, p->ort->dir, "capi/_ld_preload.py"));
            if (n.rule == LOAD_AS_GIVEN)
                n.rule = LOAD_NO_RULE;
            bool seen = false;
            for (size_t m = 0; m < p->needs.n; m++)
                seen |= str_eq(p->needs.at[m].name, n.name);
            if (!seen)
                vec_push(&p->needs, n);
        }
        if (r.known && r.loads)
            continue;
        if (!*ret_failed)
            answer(p, &r);
        *ret_failed = true;
    }
    return 0;
}

static int play_import(struct player *p, bool *ret_stop, struct err *e)
{
    *ret_stop = false;
    struct load_result r;
    int code;
    if (p->ort->has_ld_preload && p->ort->n_ld_preload) {
        code = play_ld_preload(p, ret_stop, e);
        if (code < 0)
            return code;
    }
    const char *file = runtime_file(p);
    if (!file)
        return 0;
    code = load_dlopen(p->proc, file, NULL, LOAD_FLAG_NO_SYMBOLS, &r, e);
    if (code < 0)
        return code;
    if (r.known && !r.loads) {
        p->try->import_fails = true;
        answer(p, &r);
        needs_add(p, &r);
        *ret_stop = true;
    }
    return 0;
}

static int open_one(struct player *p, const char *file, const char *name, unsigned flags,
                    struct load_result *r, struct err *e)
{
    const char *caller = runtime_file(p);
    if (p->full_path && file)
        return load_dlopen(p->proc, file, caller, flags, r, e);
    return load_dlopen(p->proc, name, caller, flags, r, e);
}

static int play_provider(struct player *p, struct err *e)
{
    struct load_result r;
    int code = open_one(p, p->ort->shared, SHARED_NAME, LOAD_FLAG_GLOBAL | LOAD_FLAG_EXPLORE, &r,
                        e);
    if (code < 0)
        return code;
    needs_add(p, &r);
    if (!r.known || !r.loads) {
        answer(p, &r);
        return 0;
    }
    code = open_one(p, provider_file(p), provider_name(p), LOAD_FLAG_EXPLORE, &r, e);
    if (code < 0)
        return code;
    needs_add(p, &r);
    answer(p, &r);
    if (r.n_map)
        keep_text(p, &p->try->provider_path, r.map[0]);
    else
        keep_text(p, &p->try->provider_path, provider_file(p));
    return 0;
}

/* From 1.28 on: opened at the first node that wants them. */
static int play_lazy(struct player *p, struct err *e)
{
    if (!p->kb || p->provider != ORT_PROVIDER_CUDA)
        return 0;
    const char *caller = p->try->loads == ANSWER_YES ? p->try->provider_path : NULL;
    for (const char *const *name = p->kb->lazy; *name; name++) {
        struct load_result r;
        int code = load_dlopen(p->proc, *name, caller, LOAD_FLAG_NO_SYMBOLS | LOAD_FLAG_EXPLORE, &r,
                               e);
        if (code < 0)
            return code;
        struct load_need n = { .name = *name, .status = r.known ? LOAD_LAZY : LOAD_UNKNOWN };
        keep_text(p, &n.needed_by, p->try->provider_path);
        for (size_t i = 0; i < r.n_needs; i++)
            if (!r.needs[i].needed_by) {
                struct load_need root = need_dup(p, &r.needs[i]);
                n.rule = r.loads ? root.rule : LOAD_NO_RULE;
                n.searched = root.searched;
                n.n_searched = root.n_searched;
            }
        if (r.known && r.loads && r.n_map)
            keep_text(p, &n.path, r.map[0]);
        vec_push(&p->needs, n);
    }
    return 0;
}

/* Made for another CUDA major though the name is right: told by the copy's owner, which the probe
 * found out. */
static void mark_flavours(struct player *p)
{
    for (size_t i = 0; i < p->needs.n; i++) {
        struct load_need *n = &p->needs.at[i];
        if (n->status != LOAD_FOUND || !n->path || !p->cuda_major || !kb_soname_ambiguous(n->name))
            continue;
        const char *real = place_realpath(p->s->place, place_absolute(p->s->place, n->path));
        for (size_t k = 0; real && k < p->s->copies.n; k++) {
            const struct lib_copy *c = &p->s->copies.at[k];
            if (c->cuda_major == 0 || !str_eq(c->soname, n->name))
                continue;
            const char *copy = place_realpath(p->s->place, c->path);
            if (!copy || !str_eq(copy, real))
                continue;
            if (c->cuda_major != p->cuda_major) {
                n->status = LOAD_WRONG_FLAVOUR;
                n->problem = arena_printf(p->a, "made for CUDA %d%s%s", c->cuda_major,
                                          c->owner ? ": " : "", c->owner ? c->owner : "");
            }
            break;
        }
    }
}

static void read_cuda_major(struct player *p)
{
    for (size_t i = 0; i < p->needs.n && !p->cuda_major; i++) {
        const struct kb_library *lib = kb_library_find(p->needs.at[i].name);
        if (lib && lib->cuda_first && lib->cuda_first == lib->cuda_last)
            p->cuda_major = lib->cuda_first;
    }
    if (!p->cuda_major && p->kb)
        p->cuda_major = p->kb->cuda_major;
}

static int play(struct player *p, enum ort_condition condition, struct err *e)
{
    bool stop = false;
    int code = 0;
    if (condition == ORT_AFTER_TORCH) {
        const char *error = NULL;
        code = python_import_torch(p->s, p->t->env, p->proc, p->a, &error, e);
        if (code == 0 && error) {
            p->try->loads = ANSWER_NO;
            p->try->error = arena_printf(p->a, "import torch fails: %s", error);
            return 0;
        }
    }
    if (code == 0)
        code = play_import(p, &stop, e);
    if (code == 0 && !stop && condition == ORT_AFTER_PRELOAD_DLLS) {
        int major = p->ort->cuda_built ? cuda_parse(p->ort->cuda_built) / 1000
                    : p->kb            ? p->kb->cuda_major
                                       : 0;
        code = major ? python_preload_dlls(p->s, p->ort, major, p->proc, e) : 0;
    }
    if (code == 0 && !stop)
        code = play_provider(p, e);
    if (code == 0 && !stop)
        code = play_lazy(p, e);
    return code;
}

static bool applies(const struct player *p, enum ort_condition condition)
{
    switch (condition) {
    case ORT_AS_IS:
        return true;
    case ORT_AFTER_TORCH:
        return p->t->env && p->t->env->torch && p->t->env->torch_dir;
    case ORT_AFTER_PRELOAD_DLLS:
        return p->t->env && p->ort->has_preload_dlls;
    case ORT_CONDITIONS:
        break;
    }
    return false;
}

static bool opens_by_full_path(const struct player *p)
{
    if (p->kb && p->kb->opened_by != KB_OPEN_UNKNOWN)
        return p->kb->opened_by == KB_OPEN_FULL_PATH;
    return p->ort->version && pep440_compare_text(p->ort->version, "1.24") >= 0;
}

/* The interpreter where it is a program: a script or a damaged file in its place starts another,
 * which is not known, so it is taken for a plain one. */
static const char *interpreter(const struct player *p)
{
    const char *exe = p->t->exe ? p->t->exe : p->t->env ? p->t->env->exe : NULL;
    if (!exe)
        return NULL;
    const struct place_elf *file = place_elf(p->s->place, place_absolute(p->s->place, exe));
    if (file->known == KNOWN_NOT_LOOKED)
        return exe;
    if (file->known != KNOWN_PRESENT)
        return NULL;
    enum elf_problem problem = file->elf->problem;
    bool program = problem == ELF_FINE || problem == ELF_PIE || problem == ELF_EXECUTABLE ||
                   problem == ELF_NOOPEN;
    return program ? exe : NULL;
}

int ort_predict(const struct snapshot *s, const struct target *t, enum ort_provider provider,
                struct arena *a, struct ort_prediction *ret, struct err *e)
{
    *ret = (struct ort_prediction){ .target = t };
    struct player p = { .s = s, .t = t, .ort = t->ort, .provider = provider, .a = a };
    p.kb = t->ort->version ? kb_ort_find(t->ort->version) : NULL;
    p.full_path = opens_by_full_path(&p);
    if (!provider_file(&p)) {
        /* A CPU build, or half an installation: there is nothing to open, whatever comes first. */
        for (int c = 0; c < ORT_CONDITIONS; c++) {
            ret->tries[c].applies = applies(&p, (enum ort_condition)c);
            ret->tries[c].loads = ANSWER_NO;
            ret->tries[c].error = "the provider's library is not part of this installation";
        }
        return 0;
    }
    for (int c = 0; c < ORT_CONDITIONS; c++) {
        p.try = &ret->tries[c];
        p.try->applies = applies(&p, (enum ort_condition)c);
        if (!p.try->applies)
            continue;
        struct load_config config = { .exe = t->exe && t->kind != TARGET_ENV ? t->exe
                                                                             : interpreter(&p),
                                      .library_path = place_getenv(s->place, "LD_LIBRARY_PATH"),
                                      .preload = place_getenv(s->place, "LD_PRELOAD"),
                                      .tunables = place_getenv(s->place, "GLIBC_TUNABLES") };
        int code = load_process_new(s->place, &config, &p.proc, e);
        if (code == 0)
            code = play(&p, (enum ort_condition)c, e);
        if (code == 0) {
            read_cuda_major(&p);
            mark_flavours(&p);
            struct load_need *kept = arena_alloc(a, (p.needs.n ? p.needs.n : 1) * sizeof(*kept));
            if (p.needs.n)
                memcpy(kept, p.needs.at, p.needs.n * sizeof(*kept));
            p.try->needs = kept;
            p.try->n_needs = p.needs.n;
        }
        vec_done(&p.needs);
        load_process_free(STEAL(p.proc));
        if (code < 0)
            return code;
    }
    return 0;
}
