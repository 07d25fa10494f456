/* Libraries that the provider wants: missing, of another major, out of the loader's reach, mixed or
 * damaged. */
#include "judge/judge.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"

/* What a missing library means, by what lies elsewhere on the machine. The order is the order of
 * the findings. */
enum lack {
    LACK_OTHER_CUDA,
    LACK_OTHER_CUDNN,
    LACK_NOWHERE,
    LACK_NO_CUDNN,
    LACK_ELSEWHERE,
    LACK_UNREADABLE,
    LACKS
};

struct lack_kind {
    const char *cause, *title;
};

static const struct lack_kind lack_kinds[LACKS] = {
    [LACK_OTHER_CUDA] = { "cuda-major-mismatch",
                          "the build wants CUDA %d; this machine has another major" },
    [LACK_OTHER_CUDNN] = { "cudnn-major-mismatch",
                           "the build wants cuDNN %d; this machine has another major" },
    [LACK_NOWHERE] = { "cuda-runtime-missing",
                       "CUDA %d libraries that the provider needs are not on this machine" },
    [LACK_NO_CUDNN] = { "cudnn-missing", "cuDNN %d for this CUDA is not on this machine" },
    [LACK_ELSEWHERE] = { "library-not-on-search-path",
                         "the libraries are here, but the loader does not search there" },
    [LACK_UNREADABLE] = { "not-readable", "the libraries are here, but cannot be read" },
};

/* Why nobody can open the copy, not even where the loader searches; NULL: it can be opened. */
static const char *unreadable(const struct judgement *j, const struct lib_copy *copy)
{
    const struct place_elf *file = copy ? place_elf(j->s->place, copy->path) : NULL;
    return file && file->known == KNOWN_FAILED ? strerror(file->error) : NULL;
}

static enum lack classify(const struct judgement *j, const struct load_need *n)
{
    bool cudnn = kb_soname_family(n->name) == KB_FAMILY_CUDNN;
    const struct lib_copy *copy = judge_copy_of(j, n->name, j->cuda_major);
    if (copy)
        return unreadable(j, copy) ? LACK_UNREADABLE : LACK_ELSEWHERE;
    if (cudnn)
        return judge_other_major(j, n->name) ? LACK_OTHER_CUDNN : LACK_NO_CUDNN;
    if (judge_other_major(j, n->name) || judge_copy_of(j, n->name, 0))
        return LACK_OTHER_CUDA;
    return LACK_NOWHERE;
}

/* TensorRT counts where a copy lies here: then it is a matter of the search path as with any other.
 */
static bool is_library_of_cuda(const struct judgement *j, const struct load_need *n)
{
    enum kb_family family = kb_soname_family(n->name);
    return family == KB_FAMILY_TENSORRT ? judge_copy_of(j, n->name, j->cuda_major) != NULL
                                        : family != KB_FAMILY_UNKNOWN && family != KB_FAMILY_DRIVER;
}

static const char *try_provider(const struct judgement *j)
{
    const char *opened = j->p->tries[ORT_AS_IS].provider_path;
    if (opened)
        return opened;
    return j->provider == ORT_PROVIDER_TENSORRT ? j->ort->tensorrt : j->ort->cuda;
}

/* One evidence a library: who needs it, where it was looked for, where a copy lies. */
static void tell_missing(const struct judgement *j, struct finding *f, const struct load_need *n)
{
    const struct lib_copy *copy = judge_copy_of(j, n->name, j->cuda_major);
    const struct lib_copy *other = copy ? NULL : judge_copy_of(j, n->name, 0);
    if (!copy && !other)
        other = judge_other_major(j, n->name);
    /* Most are needed by the provider itself; only others are worth a word. */
    const char *provider = try_provider(j);
    const char *by = n->needed_by && provider &&
                             !str_eq(path_base(n->needed_by), path_base(provider))
                         ? say(j, "needed by %s; ", path_base(n->needed_by))
                         : "";
    const char *where;
    if (unreadable(j, copy))
        where = say(j, "%s%s cannot be read: %s", by, copy->path, unreadable(j, copy));
    else if (copy)
        where = say(j, "%snot searched: %s%s%s%s", by, path_dir(&j->out->arena, copy->path),
                    copy->owner ? " (" : "", copy->owner ? copy->owner : "",
                    copy->owner ? ")" : "");
    else if (other && str_eq(other->soname, n->name))
        where = say(j, "%sone made for CUDA %d is in %s", by, other->cuda_major,
                    path_dir(&j->out->arena, other->path));
    else if (other)
        where = say(j, "%shere instead: %s", by, other->path);
    else
        where = say(j, "%snot on this machine", by);
    struct str searched = { 0 };
    for (size_t i = 0; i < n->n_searched; i++)
        str_addf(&searched, "%s%s", i ? ", " : "searched ", n->searched[i]);
    finding_evidence(j->out, f, n->name, where,
                     searched.len ? str_get(&searched) : "predicted loader");
    str_done(&searched);
}

/* How the loader comes to reach them once they are there: the least intrusive way that this release
 * has. */
static void want_reach(const struct judgement *j, struct finding *f, const char *dirs,
                       bool installing)
{
    bool env = j->env != NULL;
    /* preload_dlls() comes with the module that then cannot be imported */
    if (env && j->ort->has_preload_dlls && !j->p->tries[ORT_AS_IS].import_fails &&
        (installing || judge_try_fits(&j->p->tries[ORT_AFTER_PRELOAD_DLLS]))) {
        finding_want(
            j->out, f,
            &(struct want){ .kind = WANT_PRELOAD_DLLS, .why = "before the first session" });
        return;
    }
    if (env && !installing && judge_try_fits(&j->p->tries[ORT_AFTER_TORCH])) {
        finding_want(
            j->out, f,
            &(struct want){ .kind = WANT_IMPORT_TORCH,
                            .why = "before the first session: torch loads the same libraries" });
        return;
    }
    if (dirs[0])
        finding_want(j->out, f,
                     &(struct want){ .kind = WANT_LIBRARY_PATH,
                                     .name = dirs,
                                     .why = "where the process is started" });
}

static const char *site_of(const struct judgement *j)
{
    return path_dir(&j->out->arena, j->ort->dir);
}

/* Do the extras of this release bring every one of these? */
static bool extras_bring(const struct judgement *j, const struct load_need *const *lacking,
                         size_t n)
{
    if (!j->kb || !j->ort->package || !str_eq(j->ort->package, "onnxruntime-gpu"))
        return false;
    const struct kb_extra *extras[] = { kb_extra_find(j->kb->version, "cuda"),
                                        kb_extra_find(j->kb->version, "cudnn") };
    for (size_t i = 0; i < n; i++) {
        bool brought = false;
        for (size_t k = 0; k < ARRAY_LEN(extras); k++) {
            if (!extras[k] || extras[k]->installable == KB_NO)
                return false;
            for (const char *const *b = extras[k]->brings; *b; b++)
                brought |= str_eq(*b, lacking[i]->name);
        }
        if (!brought)
            return false;
    }
    return n > 0;
}

/* "libcublas-{major}-{minor}": the newest minor of that CUDA, which any driver of its major serves.
 */
static const char *apt_name(const struct judgement *j, const char *package)
{
    const char *at = strstr(package, "{major}-{minor}");
    int newest = j->cuda_major * 1000;
    for (size_t i = 0; kb_toolkit_at(i); i++)
        if (kb_toolkit_at(i)->cuda / 1000 == j->cuda_major && kb_toolkit_at(i)->cuda > newest)
            newest = kb_toolkit_at(i)->cuda;
    return at ? say(j, "%.*s%d-%d", (int)(at - package), package, newest / 1000, newest % 1000 / 10)
              : package;
}

static bool has_apt(const struct judgement *j)
{
    const char *distro = j->s->distro;
    return distro && (str_starts(distro, "ubuntu") || str_starts(distro, "debian"));
}

/* One requirement a package, though a package brings several libraries. */
static size_t want_wheels(const struct judgement *j, struct finding *f,
                          const struct load_need *const *lacking, size_t n, struct str *dirs)
{
    bool conda = j->env && str_eq(j->env->installer, "conda");
    const char *manager = j->env ? (conda ? "conda" : "pip") : "apt";
    if (!j->env && !has_apt(j))
        return 0;
    struct str seen = { 0 };
    size_t made = 0;
    for (size_t i = 0; i < n; i++) {
        const struct kb_soname *row = kb_soname_find_in(manager, lacking[i]->name, j->cuda_major);
        if (!row)
            continue;
        const char *package = j->env ? row->package : apt_name(j, row->package);
        if (!str_list_has(str_get(&seen), package, strlen(package))) {
            str_list_add(&seen, package);
            char spec[96];
            bool pip = str_eq(manager, "pip") &&
                       kb_soname_spec(row->soname, j->cuda_major, j->cc, spec, sizeof(spec));
            finding_want(
                j->out, f,
                &(struct want){
                    .kind = WANT_PACKAGE,
                    .name = package,
                    .spec = pip ? spec : row->spec,
                    .manager = j->env ? NULL : "apt",
                    .why = say(j,
                               j->env ? "brings %s" : "brings %s; of NVIDIA's package repository",
                               row->soname) });
            made++;
        }
        if (row->folder && j->env)
            str_list_add(dirs, path_join(&j->out->arena, site_of(j), row->folder));
    }
    str_done(&seen);
    return made;
}

static void want_installed(const struct judgement *j, struct finding *f,
                           const struct load_need *const *lacking, size_t n)
{
    struct str dirs = { 0 };
    if (j->env)
        for (size_t i = 0; i < j->env->n_nvidia_dirs; i++)
            str_list_add(&dirs, j->env->nvidia_dirs[i]);
    bool conda = j->env && str_eq(j->env->installer, "conda"), cudnn = false;
    for (size_t i = 0; i < n; i++)
        cudnn |= kb_soname_family(lacking[i]->name) == KB_FAMILY_CUDNN;
    if (j->env && !conda && n > 2 && extras_bring(j, lacking, n)) {
        finding_want(j->out, f,
                     &(struct want){ .kind = WANT_PACKAGE,
                                     .name = "onnxruntime-gpu",
                                     .extras = "cuda,cudnn",
                                     .spec = say(j, "==%s", j->kb->version),
                                     .why = say(j, "brings CUDA %d and cuDNN %d from wheels",
                                                j->cuda_major, j->cudnn_major) });
        judge_want_cudnn(j, f, j->cuda_major, j->cudnn_major);
        cudnn = true;
    } else if (want_wheels(j, f, lacking, n, &dirs) == 0) {
        want_plain(j, f,
                   say(j, "install CUDA %d%s", j->cuda_major,
                       j->cudnn_major ? say(j, " and cuDNN %d", j->cudnn_major) : ""));
    }
    if (j->env && !conda && cudnn)
        judge_want_no_other_cudnn(j, f, j->cuda_major);
    if (j->env && !conda)
        want_reach(j, f, str_get(&dirs), true);
    str_done(&dirs);
}

/* A copy whose owner says that it is for the wanted CUDA, while the loader would take another. */
static const struct lib_copy *right_copy(const struct judgement *j, const struct load_need *n)
{
    const struct lib_copy *c = n->status == LOAD_WRONG_FLAVOUR
                                   ? judge_copy_of(j, n->name, j->cuda_major)
                                   : NULL;
    return c && c->cuda_major == j->cuda_major ? c : NULL;
}

/* The folders of what is missing, and of what the loader would take from the wrong place. */
static void want_searched(const struct judgement *j, struct finding *f,
                          const struct load_need *const *lacking, size_t n)
{
    const struct ort_try *try = &j->p->tries[ORT_AS_IS];
    struct str dirs = { 0 };
    for (size_t i = 0; i < n; i++) {
        const struct lib_copy *c = judge_copy_of(j, lacking[i]->name, j->cuda_major);
        if (c)
            str_list_add(&dirs, path_dir(&j->out->arena, c->path));
    }
    for (size_t i = 0; i < try->n_needs; i++) {
        const struct lib_copy *c = right_copy(j, &try->needs[i]);
        if (c)
            str_list_add(&dirs, path_dir(&j->out->arena, c->path));
    }
    want_reach(j, f, str_get(&dirs), false);
    str_done(&dirs);
}

struct lacking {
    VEC(const struct load_need *);
};

/* The finding whose fix replaces the build, so that libraries for this one would be in vain; NULL:
 * none. */
static const char *replaced_by(const struct judgement *j)
{
    static const struct {
        const char *cause, *text;
    } replacing[] = {
        { "driver-too-old",
          "goes with driver-too-old: this driver does not serve these libraries" },
        { "gpu-arch-unsupported", "goes with gpu-arch-unsupported: another build takes its place" },
        { "torch-ort-mismatch",
          "goes with torch-ort-mismatch: other packages of CUDA or cuDNN would break torch" },
    };
    for (size_t i = 0; i < ARRAY_LEN(replacing); i++) {
        const struct finding *f = findings_of(j->out, replacing[i].cause);
        for (size_t k = 0; f && k < f->wants.n; k++)
            if (f->wants.at[k].kind == WANT_PACKAGE)
                return replacing[i].text;
    }
    const struct finding *torch = findings_of(j->out, "torch-ort-mismatch");
    return torch && torch->severity == SEVERITY_ERROR ? replacing[2].text : NULL;
}

static bool wants_package(const struct finding *f, const char *package)
{
    for (size_t i = 0; i < f->wants.n; i++) {
        const struct want *w = &f->wants.at[i];
        if (w->kind == WANT_PACKAGE &&
            ((w->extras && strstr(w->extras, "cuda")) || str_eq(w->name, package)))
            return true;
    }
    return false;
}

/* The cause of an earlier finding whose packages bring all of these already; NULL: none. */
static const char *brought_by(const struct judgement *j, const struct load_need *const *lacking,
                              size_t n)
{
    const char *manager = j->env && str_eq(j->env->installer, "conda") ? "conda" : "pip";
    for (size_t i = 0; i + 1 < j->out->n && n > 0; i++) {
        bool all = true;
        for (size_t k = 0; k < n && all; k++) {
            const struct kb_soname *row = kb_soname_find_in(manager, lacking[k]->name,
                                                            j->cuda_major);
            all = row && wants_package(j->out->at[i], row->package);
        }
        if (all)
            return j->out->at[i]->cause;
    }
    return NULL;
}

static void report_lack(const struct judgement *j, enum lack kind, const struct lacking *l)
{
    assert(l->at);
    bool cudnn = kind == LACK_OTHER_CUDNN || kind == LACK_NO_CUDNN;
    char title[160];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    (void)snprintf(title, sizeof(title), lack_kinds[kind].title,
                   cudnn ? j->cudnn_major : j->cuda_major);
#pragma GCC diagnostic pop
    struct finding *f = finding_add(j->out, lack_kinds[kind].cause, SEVERITY_ERROR, title);
    for (size_t i = 0; i < l->n; i++)
        tell_missing(j, f, l->at[i]);
    const char *with = kind == LACK_ELSEWHERE ? NULL : replaced_by(j);
    if (kind == LACK_UNREADABLE)
        want_plain(
            j, f,
            "make the files readable for those who run the program (chmod a+rX), or install them anew as that user");
    else if (with)
        want_plain(j, f, with);
    else if (kind == LACK_ELSEWHERE)
        want_searched(j, f, l->at, l->n);
    else if (brought_by(j, l->at, l->n))
        want_plain(j, f, say(j, "goes with the fix of %s", brought_by(j, l->at, l->n)));
    else
        want_installed(j, f, l->at, l->n);
}

static void lacking_add(struct lacking *to, const struct load_need *n)
{
    vec_push(to, n);
}

static void move_all(struct lacking *from, struct lacking *to)
{
    assert(from->at || from->n == 0);
    for (size_t i = 0; i < from->n; i++)
        lacking_add(to, from->at[i]);
    vec_done(from);
}

static const struct dist *installed(const struct judgement *j, const char *name, size_t len)
{
    for (size_t i = 0; j->env && i < j->env->n_dists; i++)
        if (strlen(j->env->dists[i]->name) == len &&
            strncmp(j->env->dists[i]->name, name, len) == 0)
            return j->env->dists[i];
    return NULL;
}

/* The cuDNN wheel for this build, where one for another CUDA is installed too: both write
 * nvidia/cudnn/lib. NULL: they are not both here. */
static const struct dist *cudnn_beside_other(const struct judgement *j)
{
    const char *name = say(j, "nvidia-cudnn-cu%d", j->cuda_major);
    return judge_other_cudnn(j, j->cuda_major) ? installed(j, name, strlen(name)) : NULL;
}

void judge_cudnn_twins(const struct judgement *j)
{
    const struct dist *own = cudnn_beside_other(j);
    const struct dist *other = judge_other_cudnn(j, j->cuda_major);
    const struct lib_copy *top = NULL;
    const char *soname = say(j, "libcudnn.so.%d", j->cudnn_major);
    for (size_t i = 0; own && i < j->s->copies.n && !top; i++)
        if (str_eq(j->s->copies.at[i].soname, soname) &&
            str_starts(j->s->copies.at[i].path, site_of(j)))
            top = &j->s->copies.at[i];
    if (!own || !own->version || !top || !top->owner)
        return;
    bool right = top->cuda_major == j->cuda_major, lazy = false;
    const struct ort_try *try = &j->p->tries[ORT_AS_IS];
    for (size_t i = 0; i < try->n_needs; i++)
        lazy |= try->needs[i].status == LOAD_LAZY && str_eq(try->needs[i].name, soname);
    struct finding *f = finding_add(
        j->out, "library-conflict", right || lazy ? SEVERITY_WARNING : SEVERITY_ERROR,
        say(j, "%s and %s write the same folder; the files of %.*s are on top", own->name,
            other->name, (int)strcspn(top->owner, " "), top->owner));
    finding_evidence(j->out, f, own->name, own->version, own->path);
    finding_evidence(j->out, f, other->name, other->version, other->path);
    finding_evidence(j->out, f, soname, top->owner, top->path);
    judge_want_no_other_cudnn(j, f, j->cuda_major);
    finding_want(j->out, f,
                 &(struct want){ .kind = WANT_PACKAGE,
                                 .name = own->name,
                                 .force = true,
                                 .spec = say(j, "==%s", own->version),
                                 .why = "its files anew: the removal takes shared ones along" });
    if (!right && !lazy)
        want_reach(j, f, path_dir(&j->out->arena, top->path), true);
}

/* The loader gives no rule for what it did not take. */
static bool on_library_path(const struct judgement *j, const char *path)
{
    const char *paths = place_getenv(j->s->place, "LD_LIBRARY_PATH");
    const char *dir = path_dir(&j->out->arena, path);
    return paths && str_list_has(paths, dir, strlen(dir));
}

/* Where the import itself fails the loader comes no further; what the provider needs is known of
 * the release. What lies neither here nor in a folder that the loader may search is lacking, too.
 */
static void add_unasked(const struct judgement *j, struct lacking *lacks)
{
    const struct ort_try *try = &j->p->tries[ORT_AS_IS];
    for (const char *const *name = j->kb->needs; *name; name++) {
        const struct lib_copy *c = judge_copy_of(j, *name, j->cuda_major);
        bool wheel = c && j->env && str_starts(c->path, j->env->prefix) &&
                     !on_library_path(j, c->path);
        bool asked = judge_is_driver_library(*name) || (c && !wheel);
        for (size_t i = 0; i < try->n_needs && !asked; i++)
            asked = str_eq(try->needs[i].name, *name);
        if (asked)
            continue;
        struct load_need *n = arena_new(&j->out->arena, struct load_need);
        *n = (struct load_need){ .name = *name, .status = LOAD_MISSING };
        if (is_library_of_cuda(j, n))
            lacking_add(&lacks[classify(j, n)], n);
    }
}

void judge_libraries(const struct judgement *j)
{
    bool twins = cudnn_beside_other(j) != NULL; /* judge_cudnn_twins tells of them */
    const struct ort_try *try = &j->p->tries[ORT_AS_IS];
    struct lacking lacks[LACKS] = { 0 };
    for (size_t i = 0; i < try->n_needs; i++)
        if (try->needs[i].status == LOAD_MISSING && is_library_of_cuda(j, &try->needs[i]))
            lacking_add(&lacks[classify(j, &try->needs[i])], &try->needs[i]);
    if (try->import_fails && j->kb &&
        (lacks[LACK_NOWHERE].n || lacks[LACK_OTHER_CUDA].n || lacks[LACK_ELSEWHERE].n))
        add_unasked(j, lacks);
    if (twins)
        lacks[LACK_NO_CUDNN].n = 0;
    /* One command brings both, so one finding speaks of both. */
    if (lacks[LACK_NOWHERE].n)
        move_all(&lacks[LACK_NO_CUDNN], &lacks[LACK_NOWHERE]);
    for (int kind = 0; kind < LACKS; kind++) {
        if (lacks[kind].n)
            report_lack(j, (enum lack)kind, &lacks[kind]);
        vec_done(&lacks[kind]);
    }
}

void judge_tensorrt(const struct judgement *j)
{
    const struct ort_try *try = &j->p->tries[ORT_AS_IS];
    struct finding *f = NULL;
    for (size_t i = 0; i < try->n_needs; i++) {
        const struct load_need *n = &try->needs[i];
        if (n->status != LOAD_MISSING || kb_soname_family(n->name) != KB_FAMILY_TENSORRT ||
            is_library_of_cuda(j, n))
            continue;
        const struct lib_copy *other = judge_copy_of(j, n->name, 0) ? NULL
                                                                    : judge_other_major(j, n->name);
        if (!f)
            f = finding_add(
                j->out, other ? "tensorrt-mismatch" : "tensorrt-missing", SEVERITY_ERROR,
                other ? "the build wants another TensorRT major than this machine has"
                      : "TensorRT, which the TensorRT provider needs, is not on this machine");
        tell_missing(j, f, n);
    }
    if (!f)
        return;
    int major = j->kb ? j->kb->tensorrt_major : 0;
    if (major && j->env)
        finding_want(
            j->out, f,
            &(struct want){ .kind = WANT_PACKAGE,
                            .name = say(j, "tensorrt-cu%d", j->cuda_major),
                            .spec = say(j, ">=%d,<%d", major, major + 1),
                            .why = say(j, "TensorRT %d, which this release is built for", major) });
    if (major && j->env)
        finding_want(
            j->out, f,
            &(struct want){ .kind = WANT_LIBRARY_PATH,
                            .why = "where the process is started",
                            .name = j->env->tensorrt_dir
                                        ? j->env->tensorrt_dir
                                        : path_join(&j->out->arena, site_of(j), "tensorrt_libs") });
    else
        want_plain(j, f, "install the TensorRT that the build needs");
}

/* Copies of the right flavour come to be searched first; what has none is installed. */
static void want_right_flavour(const struct judgement *j, struct finding *f)
{
    const struct ort_try *try = &j->p->tries[ORT_AS_IS];
    const struct finding *torch = findings_of(j->out, "torch-ort-mismatch");
    if (torch && torch->severity == SEVERITY_ERROR) {
        want_plain(j, f, "goes with the fix of torch-ort-mismatch");
        return;
    }
    struct lacking l = { 0 };
    for (size_t i = 0; i < try->n_needs; i++)
        if (try->needs[i].status == LOAD_WRONG_FLAVOUR && !right_copy(j, &try->needs[i]))
            vec_push(&l, &try->needs[i]);
    const char *brought = brought_by(j, l.at, l.n);
    if (brought)
        want_plain(j, f, say(j, "goes with the fix of %s", brought));
    else if (l.n)
        want_installed(j, f, l.at, l.n);
    else if (findings_of(j->out, "library-not-on-search-path"))
        want_plain(j, f, "goes with the fix of library-not-on-search-path");
    else if (findings_of(j->out, "cuda-major-mismatch"))
        want_plain(j, f, "goes with the fix of cuda-major-mismatch");
    else
        want_searched(j, f, NULL, 0);
    vec_done(&l);
}

/* Same soname, made for another CUDA major: the loader is content, the process is not. */
void judge_flavours(const struct judgement *j)
{
    static const char *const when[] = { "as is", "after import torch", "after preload_dlls()" };
    struct finding *f = NULL;
    bool twins = cudnn_beside_other(j) != NULL;
    for (int c = 0; c < ORT_CONDITIONS; c++) {
        const struct ort_try *try = &j->p->tries[c];
        for (size_t i = 0; try->applies && i < try->n_needs; i++) {
            const struct load_need *n = &try->needs[i];
            if (n->status != LOAD_WRONG_FLAVOUR ||
                (twins && kb_soname_family(n->name) == KB_FAMILY_CUDNN))
                continue;
            if (!f)
                f = finding_add(
                    j->out, "library-conflict", c == ORT_AS_IS ? SEVERITY_ERROR : SEVERITY_WARNING,
                    say(j,
                        "a library made for another CUDA would be taken: the name is the same as for CUDA %d",
                        j->cuda_major));
            finding_evidence(j->out, f, n->name,
                             say(j, "%s: %s", when[c], n->path ? n->path : "loaded before"),
                             n->problem ? n->problem : "owner of the file");
        }
    }
    if (!f)
        return;
    want_right_flavour(j, f);
}

/* soname: what it is known by, NULL: any. */
static const struct lib_copy *copy_at(const struct judgement *j, const char *path,
                                      const char *soname)
{
    const char *real = path ? place_realpath(j->s->place, place_absolute(j->s->place, path)) : NULL;
    for (size_t i = 0; real && i < j->s->copies.n; i++) {
        const struct lib_copy *c = &j->s->copies.at[i];
        const char *its = !soname || str_eq(c->soname, soname)
                              ? place_realpath(j->s->place, c->path)
                              : NULL;
        if (its && str_eq(its, real))
            return c;
    }
    return NULL;
}

/* Major, minor and patch alike: a wheel's fourth number and a package's revision say nothing of the
 * library. */
static bool same_release(const char *a, const char *b)
{
    for (int part = 0; part < 3; part++) {
        size_t n = strcspn(a, "."), m = strcspn(b, ".");
        if (n != m || memcmp(a, b, n) != 0)
            return false;
        if (!a[n] || !b[m])
            return true;
        a += n + 1;
        b += m + 1;
    }
    return true;
}

/* cuDNN's libraries refuse to work with those of another release
 * (CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH). */
void judge_cudnn_mix(const struct judgement *j)
{
    const struct ort_try *try = judge_best_try(j);
    const struct lib_copy *first = NULL;
    struct finding *f = NULL;
    for (size_t i = 0; try && i < try->n_needs; i++) {
        const struct load_need *n = &try->needs[i];
        const struct lib_copy *c = kb_soname_family(n->name) == KB_FAMILY_CUDNN
                                       ? copy_at(j, n->path, n->name)
                                       : NULL;
        if (!c || !c->version)
            continue;
        if (!first) {
            first = c;
            continue;
        }
        if (same_release(first->version, c->version))
            continue;
        if (!f) {
            f = finding_add(j->out, "library-conflict", SEVERITY_ERROR,
                            "libraries of two releases of cuDNN would be taken together");
            finding_evidence(
                j->out, f, first->soname,
                say(j, "%s in %s", first->version, path_dir(&j->out->arena, first->path)),
                first->owner);
            want_plain(j, f,
                       say(j,
                           "take all of cuDNN from one folder: %s first on LD_LIBRARY_PATH, or the "
                           "other copy gone",
                           path_dir(&j->out->arena, first->path)));
        }
        finding_evidence(j->out, f, n->name,
                         say(j, "%s in %s", c->version, path_dir(&j->out->arena, c->path)),
                         c->owner);
    }
}

/* The distribution in this environment whose file that is, NULL: none. */
static const struct dist *owner_of(const struct judgement *j, const char *path)
{
    if (j->env && j->ort->package && path[0] == '/' && str_starts(path, j->ort->dir))
        return installed(j, j->ort->package, strlen(j->ort->package));
    const struct lib_copy *c = copy_at(j, path, NULL);
    return c && c->owner ? installed(j, c->owner, strcspn(c->owner, " ")) : NULL;
}

static void want_good_file(const struct judgement *j, struct finding *f, const struct load_need *n)
{
    const struct dist *owner = n->path ? owner_of(j, n->path) : NULL;
    if (owner && owner->version)
        finding_want(j->out, f,
                     &(struct want){ .kind = WANT_PACKAGE,
                                     .name = owner->name,
                                     .force = true,
                                     .spec = say(j, "==%s", owner->version),
                                     .why = "its files anew" });
    else if (n->path && (n->rule == LOAD_LIBRARY_PATH || on_library_path(j, n->path)))
        finding_want(j->out, f,
                     &(struct want){ .kind = WANT_UNSET_PATH,
                                     .name = path_dir(&j->out->arena, n->path),
                                     .why = "the folder that holds it" });
    else
        want_plain(j, f,
                   say(j, "install the package that owns %s again", n->path ? n->path : n->name));
}

void judge_bad_files(const struct judgement *j)
{
    if (findings_of(j->out, "exec-stack-refused"))
        return; /* that file is whole */
    const struct ort_try *try = &j->p->tries[ORT_AS_IS];
    struct finding *f = NULL;
    for (size_t i = 0; i < try->n_needs; i++) {
        const struct load_need *n = &try->needs[i];
        bool version = n->status == LOAD_BAD_VERSION &&
                       !(n->problem && strstr(n->problem, "`GLIBC"));
        if (n->status != LOAD_BAD_FILE && n->status != LOAD_WRONG_CLASS && !version)
            continue;
        if (!f)
            f = finding_add(j->out, "library-conflict", SEVERITY_ERROR,
                            "a file that cannot serve stands where the loader looks first");
        finding_evidence(j->out, f, n->name, n->problem ? n->problem : load_status_text(n->status),
                         n->path);
        want_good_file(j, f, n);
    }
    if (f || !try->error || !strstr(try->error, "undefined symbol"))
        return;
    f = finding_add(j->out, "library-conflict", SEVERITY_ERROR,
                    "the libraries found do not belong to one release");
    finding_evidence(j->out, f, "the loader would say", try->error, try->provider_path);
    want_plain(j, f, "take all libraries of one release from one package");
}

void judge_provider_files(const struct judgement *j)
{
    bool trt = j->provider == ORT_PROVIDER_TENSORRT;
    const struct {
        const char *name, *path;
    } files[] = {
        { "libonnxruntime_providers_shared.so", j->ort->shared },
        { trt ? "libonnxruntime_providers_tensorrt.so" : "libonnxruntime_providers_cuda.so",
          trt ? j->ort->tensorrt : j->ort->cuda },
    };
    struct finding *f = NULL;
    for (size_t i = 0; i < ARRAY_LEN(files) && !findings_of(j->out, "provider-library-missing");
         i++) {
        if (files[i].path)
            continue;
        if (!f)
            f = finding_add(j->out, "provider-library-missing", SEVERITY_ERROR,
                            "a library of ONNX Runtime itself is missing");
        finding_evidence(j->out, f, files[i].name, "not there", j->ort->dir);
    }
    if (!f)
        return;
    if (j->env && j->ort->package && j->ort->version)
        finding_want(j->out, f,
                     &(struct want){ .kind = WANT_PACKAGE,
                                     .name = j->ort->package,
                                     .force = true,
                                     .spec = say(j, "==%s", j->ort->version),
                                     .why = "all of its files anew" });
    else
        finding_want(
            j->out, f,
            &(struct want){ .kind = WANT_FILE,
                            .name = j->ort->dir,
                            .why = "copy it there from the GPU archive of the same release" });
}

/* From 1.28 on cuDNN and cuFFT are opened at the first node that wants them: the provider loads,
 * the model may not run. */
void judge_lazy_libraries(const struct judgement *j)
{
    const struct ort_try *try = judge_best_try(j);
    if (!try)
        return; /* what is missing to load comes first, and its fix brings these too */
    struct finding *f = NULL;
    struct lacking l = { 0 };
    for (size_t i = 0; i < try->n_needs; i++) {
        const struct load_need *n = &try->needs[i];
        if (n->status != LOAD_LAZY || n->path)
            continue;
        bool cudnn = kb_soname_family(n->name) == KB_FAMILY_CUDNN;
        if (!f)
            f = finding_add(j->out, cudnn ? "cudnn-missing" : "cuda-runtime-missing",
                            SEVERITY_WARNING,
                            say(j, "the provider loads, but nodes that use %s will fail",
                                kb_family_name(kb_soname_family(n->name))));
        tell_missing(j, f, n);
        vec_push(&l, n);
    }
    if (f && l.n) {
        bool here = judge_copy_of(j, l.at[0]->name, j->cuda_major) != NULL;
        if (here)
            want_searched(j, f, l.at, l.n);
        else
            want_installed(j, f, l.at, l.n);
    }
    vec_done(&l);
}

/* Libraries that are no NVIDIA library: ONNX Runtime's own beside it, and the system's. */
static void tell_other(const struct judgement *j, struct finding *f, const struct load_need *n)
{
    struct str searched = { 0 };
    for (size_t i = 0; i < n->n_searched; i++)
        str_addf(&searched, "%s%s", i ? ", " : "searched ", n->searched[i]);
    finding_evidence(j->out, f, n->name,
                     n->needed_by ? say(j, "needed by %s", path_base(n->needed_by))
                                  : "opened by ONNX Runtime",
                     searched.len ? str_get(&searched) : "predicted loader");
    str_done(&searched);
}

/* Where the loader ends the process, its words name the file. */
static const char *file_named(const struct judgement *j, const char *error)
{
    const struct ort_try *try = &j->p->tries[ORT_AS_IS];
    const char *const own[] = { try->provider_path, j->ort->cuda, j->ort->tensorrt, j->ort->shared,
                                j->ort->pybind };
    for (size_t i = 0; i < ARRAY_LEN(own); i++)
        if (own[i] && strstr(error, own[i]))
            return own[i];
    for (size_t i = 0; i < try->n_needs; i++)
        if (try->needs[i].path && strstr(error, try->needs[i].path))
            return try->needs[i].path;
    return NULL;
}

/* The program does not even start: that comes before all that its ONNX Runtime may lack. */
void judge_unreached_runtime(const struct judgement *j)
{
    if (!j->ort->unreached)
        return;
    struct finding *f = finding_add(
        j->out, "library-not-on-search-path", SEVERITY_ERROR,
        say(j, "the program links %s, which the loader does not find", j->ort->unreached));
    finding_evidence(j->out, f, j->ort->unreached, say(j, "not searched: %s", j->ort->runtime),
                     j->t->exe);
    finding_want(j->out, f,
                 &(struct want){ .kind = WANT_LIBRARY_PATH,
                                 .name = path_dir(&j->out->arena, j->ort->runtime),
                                 .why = "where the process is started" });
}

/* No failure stays without a word. */
void judge_rest(const struct judgement *j)
{
    const struct ort_try *try = &j->p->tries[ORT_AS_IS];
    struct finding *f = NULL;
    bool own = false;
    if (try->loads != ANSWER_NO || findings_any_error(j->out))
        return;
    for (size_t i = 0; i < try->n_needs; i++) {
        const struct load_need *n = &try->needs[i];
        if (n->status != LOAD_MISSING || judge_is_driver_library(n->name))
            continue;
        own = str_starts(n->name, "libonnxruntime");
        if (!f)
            f = finding_add(
                j->out, own ? "library-not-on-search-path" : "system-library-missing",
                SEVERITY_ERROR,
                own ? "ONNX Runtime's own provider libraries lie beside it, but the loader does not search there"
                    : "a library of the system that the provider needs is not on this machine");
        tell_other(j, f, n);
    }
    if (f && own) {
        finding_want(j->out, f,
                     &(struct want){ .kind = WANT_LIBRARY_PATH,
                                     .name = j->ort->dir,
                                     .why = "where the process is started" });
    } else if (f) {
        want_plain(j, f, "install the distribution's package that brings it");
    } else if (try->error && !findings_of(j->out, "driver-missing")) {
        struct load_need damaged = { .path = file_named(j, try->error) };
        damaged.name = damaged.path ? path_base(damaged.path) : NULL;
        f = finding_add(j->out, "library-conflict", SEVERITY_ERROR,
                        damaged.path ? "a damaged file: the loader would end the process"
                                     : "the loader refuses the provider");
        finding_evidence(j->out, f, "the loader would say", try->error,
                         damaged.path ? damaged.path : try->provider_path);
        if (damaged.path)
            want_good_file(j, f, &damaged);
        else
            want_plain(j, f, "see the closure: ortfit check --verbose");
    }
}
