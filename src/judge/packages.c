/* Which packages are installed, and whether they belong together. */
#include "judge/judge.h"

#include <string.h>

#include "base/path.h"
#include "base/str.h"
#include "version/driver.h"
#include "version/metadata.h"
#include "version/pep440.h"
#include "version/pep508.h"
#include "version/tag.h"

/* The version to install: the GPU release among the installed ones, else the one on top, else the
 * newest that fits. */
static const struct kb_ort *wanted_release(const struct judgement *j, const char *gpu_version)
{
    int torch_major = j->env && j->env->torch_cuda ? cuda_parse(j->env->torch_cuda) / 1000 : 0;
    const struct kb_ort *row = judge_choose_ort(j, torch_major,
                                                gpu_version ? gpu_version : j->ort->version);
    return row ? row : judge_choose_ort(j, 0, gpu_version);
}

static void want_gpu_release(const struct judgement *j, struct finding *f, const char *gpu_version,
                             bool gpu_on_top)
{
    const struct kb_ort *row = wanted_release(j, gpu_version);
    if (!row) {
        want_plain(j, f,
                   "no release of onnxruntime-gpu is known to "
                   "fit this Python, glibc, driver and GPU");
        return;
    }
    bool same = gpu_version && pep440_same_public(row->version, gpu_version);
    bool by_pip = judge_by_conda(j) && same; /* conda calls its CUDA build onnxruntime */
    if (same && !gpu_on_top && !by_pip)      /* nothing else says what that build lacks */
        judge_want_release(
            j, f, row,
            say(j, "what it needs of CUDA %d and cuDNN %d", row->cuda_major, row->cudnn_major));
    /* without extras it is installed already: only laying down its files anew does something */
    struct want *plain = NULL;
    for (size_t i = 0; same && i < f->wants.n; i++)
        if (f->wants.at[i].kind == WANT_PACKAGE && !f->wants.at[i].extras &&
            str_eq(f->wants.at[i].name, "onnxruntime-gpu"))
            plain = &f->wants.at[i];
    if (plain)
        plain->force = true;
    else if (same)
        finding_want(j->out, f,
                     &(struct want){ .kind = WANT_PACKAGE,
                                     .name = "onnxruntime-gpu",
                                     .manager = by_pip ? "pip" : NULL,
                                     .force = true,
                                     .spec = say(j, "==%s", row->version),
                                     .why = "put the GPU build's files back on top" });
    else
        judge_want_release(
            j, f, row,
            say(j, "the GPU build: CUDA %d, cuDNN %d", row->cuda_major, row->cudnn_major));
}

/* Names of installed distributions that require `name`, to say what a removal leaves unsatisfied.
 */
static void warn_dependents(const struct judgement *j, struct finding *f, const char *name)
{
    if (!j->env)
        return;
    for (size_t i = 0; i < j->env->n_dists; i++) {
        const struct dist *d = j->env->dists[i];
        if (!d->path || str_eq(d->name, name))
            continue;
        const char *file = path_join(&j->out->arena, d->path,
                                     str_ends(d->path, ".egg-info") ? "PKG-INFO" : "METADATA");
        const struct text *t = place_text(j->s->place, file, TEXT_HEADERS);
        if (t->known != KNOWN_PRESENT || !memmem(t->at, t->len, name, strlen(name)))
            continue;
        struct metadata meta;
        metadata_parse(t->at, t->len, &j->out->arena, &meta);
        for (size_t k = 0; k < meta.n_requires_dist; k++) {
            struct requirement r;
            if (!requirement_parse(meta.requires_dist[k], &r) || !name_same_n(r.name, name) ||
                memmem(r.marker.at ? r.marker.at : "", r.marker.len, "extra", 5))
                continue;
            finding_evidence(
                j->out, f, d->name,
                say(j,
                    "requires %s: pip will list it again at its next upgrade, install that one with "
                    "--no-deps",
                    meta.requires_dist[k]),
                file);
            break;
        }
    }
}

/* What is left when one of two packages in the same folder was removed: its RECORD took files of
 * the other along. */
static void judge_gone_files(const struct judgement *j)
{
    if (j->ort->files != ORT_FILES_INCOMPLETE || !j->ort->package || !j->ort->version)
        return;
    struct finding *f = finding_add(
        j->out, "provider-library-missing", SEVERITY_ERROR,
        say(j, "files of %s are gone, as after removing another package of the same folder",
            j->ort->package));
    if (j->ort->ownership)
        finding_evidence(j->out, f, "files", j->ort->ownership->value, j->ort->ownership->source);
    finding_want(j->out, f,
                 &(struct want){ .kind = WANT_PACKAGE,
                                 .name = j->ort->package,
                                 .force = true,
                                 .spec = say(j, "==%s", j->ort->version),
                                 .why = "all of its files anew" });
}

/* In a conda environment the one package may be conda's and the other pip's. */
static const char *remover(const struct judgement *j, const struct dist *d)
{
    bool conda = d->build || (d->installer && str_eq(d->installer, "conda"));
    if (!j->env || j->env->kind != ENV_CONDA || conda == judge_by_conda(j))
        return NULL;
    return conda ? "conda" : "pip";
}

void judge_package_clash(const struct judgement *j)
{
    size_t owners = 0;
    const char *gpu_version = NULL;
    for (size_t i = 0; i < j->ort->n_dists; i++) {
        const struct kb_dist *d = kb_dist_find(j->ort->dists[i]->name);
        owners += !d || d->owns_package == KB_YES;
        if (judge_kind(j, j->ort->dists[i]->name) == KB_DIST_CUDA)
            gpu_version = j->ort->dists[i]->version;
    }
    if (owners < 2) {
        judge_gone_files(j);
        return;
    }
    bool gpu_on_top = judge_kind(j, j->ort->package) == KB_DIST_CUDA &&
                      j->ort->files != ORT_FILES_MIXED;
    const char *title =
        j->ort->files == ORT_FILES_MIXED
            ? say(j, "files of %zu packages are mixed in one onnxruntime folder", owners)
            : say(j, "%zu packages write the same folder; the files of %s are on top", owners,
                  j->ort->package ? j->ort->package : "one that is not known");
    struct finding *f = finding_add(j->out, "cpu-gpu-package-clash",
                                    gpu_on_top ? SEVERITY_WARNING : SEVERITY_ERROR, title);
    for (size_t i = 0; i < j->ort->n_dists; i++)
        finding_evidence(j->out, f, j->ort->dists[i]->name, j->ort->dists[i]->version,
                         j->ort->dists[i]->path);
    if (j->ort->ownership)
        finding_evidence(j->out, f, "files on top", j->ort->ownership->value,
                         j->ort->ownership->source);
    for (size_t i = 0; i < j->ort->n_dists; i++) {
        if (judge_kind(j, j->ort->dists[i]->name) == KB_DIST_CUDA)
            continue;
        finding_want(j->out, f,
                     &(struct want){ .kind = WANT_REMOVE,
                                     .name = j->ort->dists[i]->name,
                                     .manager = remover(j, j->ort->dists[i]),
                                     .why = "it writes the same folder as the GPU build" });
        warn_dependents(j, f, j->ort->dists[i]->name);
    }
    want_gpu_release(j, f, gpu_version, gpu_on_top);
}

/* The CPU archive, for programs without Python: its libonnxruntime.so takes no provider of CUDA. */
static void judge_cpu_runtime(const struct judgement *j)
{
    const char *version = j->ort->version ? j->ort->version : "";
    const struct place_machine *m = place_machine(j->s->place);
    const char *arch = m->arch && str_eq(m->arch, "aarch64") ? "aarch64" : "x64";
    struct finding *f = finding_add(
        j->out, "cpu-package-in-use", SEVERITY_ERROR,
        say(j, "this libonnxruntime.so%s%s is the CPU build", version[0] ? " " : "", version));
    finding_evidence(j->out, f, "OrtSessionOptionsAppendExecutionProvider_CUDA",
                     "not exported, as GPU builds do", j->ort->runtime);
    finding_want(j->out, f,
                 &(struct want){ .kind = WANT_FILE,
                                 .name = j->ort->dir,
                                 .why = say(j,
                                            "put all libraries of the GPU archive of the same "
                                            "release there (onnxruntime-linux-%s-gpu...%s%s.tgz)",
                                            arch, version[0] ? "-" : "", version) });
}

void judge_cpu_package(const struct judgement *j)
{
    if (j->ort->cpu_build) {
        judge_cpu_runtime(j);
        return;
    }
    if (j->ort->n_dists > 1 || !j->env)
        return;
    enum kb_dist_kind kind = judge_kind(j, j->ort->package);
    if (kind == KB_DIST_UNKNOWN || kind == KB_DIST_CUDA || (kind != KB_DIST_CPU && j->ort->cuda))
        return;
    if (kind == KB_DIST_CPU && j->ort->cuda && j->ort->n_dists == 0)
        return; /* a build of one's own that only bears the CPU package's name */
    struct finding *f = finding_add(j->out, "cpu-package-in-use", SEVERITY_ERROR,
                                    say(j, "%s %s has no CUDA provider", j->ort->package,
                                        j->ort->version ? j->ort->version : ""));
    finding_evidence(j->out, f, "package",
                     say(j, "%s %s", j->ort->package, j->ort->version ? j->ort->version : "?"),
                     j->ort->n_dists ? j->ort->dists[0]->path : j->ort->dir);
    finding_evidence(j->out, f, "libonnxruntime_providers_cuda.so",
                     j->ort->cuda ? j->ort->cuda : "not in the package", j->ort->dir);
    if (!judge_by_conda(j)) { /* conda replaces the one build by the other */
        finding_want(j->out, f,
                     &(struct want){ .kind = WANT_REMOVE,
                                     .name = j->ort->package,
                                     .why = "it writes the same folder as the GPU build" });
        warn_dependents(j, f, j->ort->package);
    }
    want_gpu_release(j, f, NULL, false);
}

static bool lacks_cudnn(const struct judgement *j)
{
    const struct ort_try *try = &j->p->tries[ORT_AS_IS];
    for (size_t i = 0; i < try->n_needs; i++)
        if (try->needs[i].status == LOAD_MISSING &&
            kb_soname_family(try->needs[i].name) == KB_FAMILY_CUDNN)
            return !judge_copy_of(j, try->needs[i].name, j->cuda_major);
    return false;
}

/* ">=2.4.0,<2.11.0": the releases of torch that share CUDA and cuDNN with this ONNX Runtime; NULL:
 * none is known. */
static const char *torch_spec(const struct judgement *j)
{
    const struct kb_torch *first = NULL, *row;
    for (size_t i = 0; (row = kb_torch_at(i)); i++) {
        bool fits = row->cuda_major == j->cuda_major && row->cudnn_major == j->cudnn_major;
        if (fits && !first)
            first = row;
        else if (first && !fits)
            return say(j, ">=%s,<%s", first->version, row->version);
    }
    return first ? say(j, ">=%s", first->version) : NULL;
}

/* The same CUDA, another cuDNN: one package brings the one or the other, torch pins its own. */
static void judge_torch_cudnn(const struct judgement *j, const struct kb_torch *torch)
{
    if (!torch || torch->cudnn_major == 0 || torch->cudnn_major == j->cudnn_major ||
        j->cudnn_major == 0 || !lacks_cudnn(j))
        return;
    struct finding *f = finding_add(j->out, "torch-ort-mismatch", SEVERITY_ERROR,
                                    say(j, "torch %s brings cuDNN %d, ONNX Runtime wants cuDNN %d",
                                        j->env->torch->version, torch->cudnn_major,
                                        j->cudnn_major));
    finding_evidence(
        j->out, f, "torch",
        say(j, "%s, pins cuDNN %s", j->env->torch->version, torch->cudnn ? torch->cudnn : "?"),
        torch->prov.source->text);
    finding_evidence(
        j->out, f, "onnxruntime-gpu",
        say(j, "%s, cuDNN %d", j->ort->version ? j->ort->version : "?", j->cudnn_major),
        j->needs_source);
    const char *spec = torch_spec(j);
    if (spec)
        finding_want(
            j->out, f,
            &(struct want){
                .kind = WANT_PACKAGE,
                .name = "torch",
                .spec = spec,
                .why = say(
                    j,
                    "built for CUDA %d with cuDNN %d; or keep this torch and put ONNX Runtime "
                    "into an environment of its own",
                    j->cuda_major, j->cudnn_major) });
    else
        want_plain(j, f, "put ONNX Runtime into an environment of its own");
}

/* torch and ONNX Runtime in one process share libcudnn.so.9 and libcurand.so.10 by name, whatever
 * CUDA they are for. */
void judge_torch_pair(const struct judgement *j)
{
    if (!j->env || !j->env->torch || !j->env->torch_cuda || j->cuda_major == 0)
        return;
    int torch_major = cuda_parse(j->env->torch_cuda) / 1000;
    const struct kb_torch *torch = kb_torch_find(j->env->torch->version);
    if (torch_major == j->cuda_major)
        judge_torch_cudnn(j, torch);
    if (torch_major == 0 || torch_major == j->cuda_major)
        return;
    int torch_cudnn = torch ? torch->cudnn_major : 0;
    bool same_name = torch_cudnn && torch_cudnn == j->cudnn_major;
    struct finding *f = finding_add(
        j->out, "torch-ort-mismatch", same_name ? SEVERITY_ERROR : SEVERITY_WARNING,
        same_name
            ? say(j,
                  "torch is built for CUDA %d, ONNX Runtime for CUDA %d, and both use libcudnn.so.%d",
                  torch_major, j->cuda_major, torch_cudnn)
            : say(j,
                  "torch is built for CUDA %d, ONNX Runtime for CUDA %d: they cannot share libraries",
                  torch_major, j->cuda_major));
    finding_evidence(j->out, f, "torch",
                     say(j, "%s, CUDA %s", j->env->torch->version, j->env->torch_cuda),
                     j->env->torch_dir);
    finding_evidence(j->out, f, "onnxruntime-gpu",
                     say(j, "%s, CUDA %d", j->ort->version ? j->ort->version : "?", j->cuda_major),
                     j->needs_source);
    const struct kb_ort *row = judge_choose_ort(j, torch_major, NULL);
    if (row)
        judge_want_release(j, f, row,
                           say(j, "the newest build for CUDA %d, which torch brings", torch_major));
    else
        want_plain(j, f,
                   say(j,
                       "install a torch built for CUDA %d (no onnxruntime-gpu for CUDA %d fits "
                       "this machine)",
                       j->cuda_major, torch_major));
}

void judge_numpy(const struct judgement *j)
{
    if (!j->env || !j->env->numpy || !j->ort->version)
        return;
    const struct kb_numpy_abi *row = kb_numpy_abi_find(j->ort->version);
    if (!row || row->abi != 1 || !pep440_matches(">=2", j->env->numpy->version))
        return;
    struct finding *f = finding_add(j->out, "numpy-abi-mismatch", SEVERITY_ERROR,
                                    say(j, "onnxruntime %s is built for NumPy 1; %s is installed",
                                        j->ort->version, j->env->numpy->version));
    finding_evidence(j->out, f, "numpy", j->env->numpy->version, j->env->numpy->path);
    finding_evidence(j->out, f, "onnxruntime", j->ort->version, row->prov.source->text);
    finding_want(j->out, f,
                 &(struct want){ .kind = WANT_PACKAGE,
                                 .name = "numpy",
                                 .spec = "<2",
                                 .why = "the last NumPy with that interface is 1.26" });
}

static const struct load_need *bad_version(const struct judgement *j, const char *prefix)
{
    const struct ort_try *try = &j->p->tries[ORT_AS_IS];
    for (size_t i = 0; i < try->n_needs; i++)
        if (try->needs[i].status == LOAD_BAD_VERSION && try->needs[i].problem &&
            strstr(try->needs[i].problem, prefix))
            return &try->needs[i];
    return NULL;
}

void judge_glibc(const struct judgement *j)
{
    const struct load_need *n = bad_version(j, "`GLIBC");
    const struct ort_try *try = &j->p->tries[ORT_AS_IS];
    const char *error = n ? n->problem
                        : try->import_fails && try->error && strstr(try->error, "`GLIBC")
                            ? try->error
                            : NULL;
    if (!error)
        return;
    struct finding *f = finding_add(
        j->out, "glibc-too-old", SEVERITY_ERROR,
        say(j, "this system's C or C++ library is older than the build needs (glibc %s here)",
            j->s->glibc ? j->s->glibc : "unknown"));
    finding_evidence(j->out, f, "the loader would say", error, n ? n->path : j->ort->pybind);
    const struct kb_ort *row = j->s->glibc ? judge_choose_ort(j, j->cuda_major, NULL) : NULL;
    if (row && !(j->ort->version && pep440_same_public(row->version, j->ort->version)))
        judge_want_release(j, f, row,
                           say(j, "the newest build that glibc %s can load", j->s->glibc));
    else
        want_plain(j, f, "use a newer system or container image (glibc 2.28 or later)");
}

void judge_exec_stack(const struct judgement *j)
{
    const char *error = j->p->tries[ORT_AS_IS].error;
    if (!error || !strstr(error, "executable stack"))
        return;
    struct finding *f = finding_add(
        j->out, "exec-stack-refused", SEVERITY_ERROR,
        say(j, "glibc %s refuses to load a library that wants an executable stack",
            j->s->glibc ? j->s->glibc : "2.41 or later"));
    finding_evidence(j->out, f, "the loader would say", error, j->ort->pybind);
    const struct kb_ort *row = judge_choose_ort(j, 0, NULL);
    if (row && row->exec_stack != KB_YES)
        judge_want_release(j, f, row, "a build without that mark");
    else
        want_plain(j, f, say(j, "clear the mark: patchelf --clear-execstack %s", j->ort->pybind));
}

static const char *tags_text(const struct judgement *j, const char *const *tags)
{
    struct str text = { 0 };
    for (size_t i = 0; tags[i]; i++)
        str_addf(&text, "%s%s", i ? " " : "", tags[i]);
    const char *kept = arena_strdup(&j->out->arena, str_get(&text));
    str_done(&text);
    return kept;
}

void judge_no_wheel(const struct judgement *j)
{
    struct judgement with = *j, without = *j;
    with.env = j->env ? j->env : j->s->envs.n ? j->s->envs.at[0] : NULL;
    without.env = NULL;
    if (!with.env || judge_choose_ort(&with, 0, NULL))
        return;
    const struct place_machine *m = place_machine(j->s->place);
    const struct kb_ort *other = judge_choose_ort(&without, 0, NULL);
    if (other) {
        struct finding *f = finding_add(
            j->out, "no-wheel-for-python", SEVERITY_WARNING,
            say(j, "no release of onnxruntime-gpu that fits here has a wheel for Python %d.%d",
                with.env->major, with.env->minor));
        finding_evidence(j->out, f, "Python", say(j, "%d.%d", with.env->major, with.env->minor),
                         with.env->python);
        finding_evidence(j->out, f, say(j, "wheels of %s", other->version),
                         tags_text(j, m->arch && str_eq(m->arch, "aarch64") ? other->py_aarch64
                                                                            : other->py_linux),
                         other->prov.source->text);
        want_plain(j, f,
                   say(j,
                       "make an environment with a Python that onnxruntime-gpu %s has a wheel for",
                       other->version));
        return;
    }
    struct finding *f = finding_add(
        j->out, "no-wheel-for-platform", SEVERITY_WARNING,
        j->s->musl ? "the wheels of onnxruntime-gpu are built for glibc; this system has musl"
                   : "no release of onnxruntime-gpu is known to fit this machine");
    finding_evidence(j->out, f, "machine", m->arch, "uname");
    finding_evidence(j->out, f, "C library",
                     j->s->musl    ? "musl"
                     : j->s->glibc ? say(j, "glibc %s", j->s->glibc)
                                   : "unknown",
                     NULL);
    if (j->cc)
        finding_evidence(j->out, f, "GPU",
                         say(j, "compute capability %d.%d", j->cc / 10, j->cc % 10), NULL);
    if (j->s->driver.version)
        finding_evidence(j->out, f, "driver", j->s->driver.version, NULL);
    want_plain(j, f,
               j->s->musl
                   ? "use an image with glibc (Debian, Ubuntu, a CUDA image)"
                   : "build ONNX Runtime from source, or use a machine that a release serves");
}
