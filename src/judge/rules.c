/* The rules in order: what to mend first comes first. Then the verdict. */
#include "judge/judge.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "version/driver.h"
#include "version/pep440.h"
#include "version/tag.h"

/* Packages before libraries before paths, and libraries before drivers: a later step may be
 * needless once an earlier one is done. */
static const struct {
    judge_rule *rule;
    bool needs_gpu_build; /* only where the files on top are a GPU build */
} rules[] = {
    { judge_unreached_runtime, false },
    { judge_package_clash, false },
    { judge_cpu_package, false },
    { judge_exec_stack, false },
    { judge_glibc, false },
    { judge_numpy, false },
    { judge_provider_files, true },
    { judge_driver_age, true },
    { judge_gpu_code, true },
    { judge_torch_pair, true },
    { judge_cudnn_twins, true },
    { judge_bad_files, true },
    { judge_libraries, true },
    { judge_tensorrt, true },
    { judge_flavours, true },
    { judge_cudnn_mix, true },
    { judge_driver, true },
    { judge_gpu_visible, true },
    { judge_compute_mode, true },
    { judge_cudnn_gpu, true },
    { judge_lazy_libraries, true },
    { judge_unread, false },
    { judge_rest, true },
};

const char *verdict_text(enum verdict v)
{
    static const char *const texts[] = { "unknown", "fits", "does-not-fit" };
    return texts[v];
}

const char *answer_text(enum answer a)
{
    static const char *const texts[] = { "unknown", "no", "yes" };
    return texts[a];
}

bool judge_is_driver_library(const char *soname)
{
    return kb_soname_family(soname) == KB_FAMILY_DRIVER || str_starts(soname, "libcuda.so") ||
           str_starts(soname, "libnvidia-");
}

bool judge_try_fits(const struct ort_try *try)
{
    if (!try->applies)
        return false;
    if (try->loads == ANSWER_YES)
        return true;
    if (try->loads == ANSWER_UNKNOWN || try->import_fails)
        return false;
    bool any = false;
    for (size_t i = 0; i < try->n_needs; i++) {
        const struct load_need *n = &try->needs[i];
        if (n->status == LOAD_FOUND || n->status == LOAD_LAZY || n->status == LOAD_WRONG_FLAVOUR)
            continue;
        if (n->status != LOAD_MISSING || !judge_is_driver_library(n->name))
            return false;
        any = true;
    }
    return any;
}

const struct ort_try *judge_best_try(const struct judgement *j)
{
    static const enum ort_condition order[] = { ORT_AS_IS, ORT_AFTER_PRELOAD_DLLS,
                                                ORT_AFTER_TORCH };
    for (size_t i = 0; i < ARRAY_LEN(order); i++)
        if (judge_try_fits(&j->p->tries[order[i]]))
            return &j->p->tries[order[i]];
    return NULL;
}

/* Copies are found out once by the probe; the environment's own wheels are listed first there. */
const struct lib_copy *judge_copy_of(const struct judgement *j, const char *soname, int cuda_major)
{
    for (size_t i = 0; i < j->s->copies.n; i++) {
        const struct lib_copy *c = &j->s->copies.at[i];
        if (!c->stub && str_eq(c->soname, soname) &&
            (cuda_major == 0 || c->cuda_major == 0 || c->cuda_major == cuda_major))
            return c;
    }
    return NULL;
}

const struct lib_copy *judge_other_major(const struct judgement *j, const char *soname)
{
    const char *end = strstr(soname, ".so");
    if (!end)
        return NULL;
    size_t stem = (size_t)(end - soname) + 3;
    for (size_t i = 0; i < j->s->copies.n; i++) {
        const struct lib_copy *c = &j->s->copies.at[i];
        if (!c->stub && strncmp(c->soname, soname, stem) == 0 && c->soname[stem] == '.' &&
            !str_eq(c->soname, soname))
            return c;
    }
    return NULL;
}

int judge_driver_cuda_major(const struct snapshot *s)
{
    const struct driver *d = &s->driver;
    const char *version = judge_compat_works(s) ? judge_compat_version(s) : d->version;
    if (version) {
        int best = 0;
        for (int major = 11; major < 30; major++) {
            const struct kb_floor *floor = kb_driver_floor(major, KB_OS_LINUX);
            if (floor && driver_compare_text(version, floor->driver) >= 0)
                best = major;
        }
        return best;
    }
    if (d->cuda_version && d->cuda_version->known == KNOWN_PRESENT)
        return cuda_parse(d->cuda_version->value) / 1000;
    return 0;
}

static bool on_arm(const struct judgement *j)
{
    const struct place_machine *m = place_machine(j->s->place);
    return m->arch && str_eq(m->arch, "aarch64");
}

static bool release_fits(const struct judgement *j, const struct kb_ort *row, const char *py_tag,
                         int cuda_major)
{
    bool arm = on_arm(j);
    const char *glibc = arm ? row->glibc_tag_aarch64 : row->glibc_tag;
    const char *const *tags = arm ? row->py_aarch64 : row->py_linux;
    if (cuda_major && row->cuda_major != cuda_major)
        return false;
    if (j->s->musl || !tags[0] ||
        (j->s->glibc && glibc && glibc_minor(glibc) > glibc_minor(j->s->glibc)))
        return false;
    bool python = py_tag == NULL;
    for (; !python && *tags; tags++)
        python = str_eq(*tags, py_tag);
    if (!python)
        return false;
    if (j->cc == 0)
        return true;
    enum kb_cover cover = kb_gpu_code_cover(
        kb_ort_gpu_code(row->version, arm ? KB_LINUX_AARCH64 : KB_LINUX_X86_64), j->cc);
    return cover == KB_COVER_CUBIN || cover == KB_COVER_PTX || cover == KB_COVER_UNKNOWN;
}

const struct kb_ort *judge_choose_ort(const struct judgement *j, int cuda_major, const char *keep)
{
    int driver = judge_driver_cuda_major(j->s);
    if (cuda_major && driver && cuda_major > driver)
        return NULL;
    char tag[16];
    const char *py_tag = NULL;
    if (j->env && j->env->major) {
        struct wheel_target python = { .python_major = j->env->major,
                                       .python_minor = j->env->minor };
        py_tag = wheel_python_tag(&python, tag, sizeof(tag));
    }
    const struct kb_ort *best = NULL;
    for (size_t i = 0; kb_ort_at(i); i++) {
        const struct kb_ort *row = kb_ort_at(i);
        if (driver && row->cuda_major > driver)
            continue;
        if (!release_fits(j, row, py_tag, cuda_major))
            continue;
        if (keep && pep440_same_public(row->version, keep))
            return row;
        best = row; /* rows ascend */
    }
    return best;
}

/* The provider's own NEEDED entries outrank what is known of the release. */
static void read_needs(struct judgement *j)
{
    const struct ort_try *try = &j->p->tries[ORT_AS_IS];
    for (size_t i = 0; i < try->n_needs; i++) {
        const struct load_need *n = &try->needs[i];
        const struct kb_library *lib = kb_library_find(n->name);
        if (!lib)
            continue;
        if (lib->family == KB_FAMILY_CUDNN && j->cudnn_major == 0)
            j->cudnn_major = lib->major;
        if (lib->cuda_first && lib->cuda_first == lib->cuda_last && j->cuda_major == 0) {
            j->cuda_major = lib->cuda_first;
            j->needs_source = n->needed_by && try->provider_path ? try->provider_path
                                                                 : j->ort->cuda;
        }
    }
    if (j->cuda_major == 0 && j->kb) {
        j->cuda_major = j->kb->cuda_major;
        j->needs_source = j->kb->prov.source->text;
    }
    if (j->cuda_major == 0 && j->ort->cuda_built)
        j->cuda_major = cuda_parse(j->ort->cuda_built) / 1000;
    if (j->cudnn_major == 0 && j->kb)
        j->cudnn_major = j->kb->cudnn_major;
}

static int least_cc(const struct snapshot *s)
{
    int least = 0;
    for (size_t i = 0; i < s->gpus.n; i++)
        if (s->gpus.at[i].cc && (least == 0 || s->gpus.at[i].cc < least))
            least = s->gpus.at[i].cc;
    return least;
}

static bool copies_serve(const struct judgement *j, const struct kb_ort *row)
{
    for (const char *const *soname = row->needs; *soname; soname++)
        if (!judge_is_driver_library(*soname) && !judge_copy_of(j, *soname, row->cuda_major))
            return false;
    return row->needs[0] != NULL;
}

void judge_want_cudnn(const struct judgement *j, struct finding *f, int cuda_major, int cudnn_major)
{
    char spec[96];
    const char *soname = say(j, "libcudnn.so.%d", cudnn_major);
    const struct kb_soname *package = kb_soname_find(soname, cuda_major);
    if (j->cc == 0 || j->cc >= 75 || !package ||
        !kb_soname_spec(soname, cuda_major, j->cc, spec, sizeof(spec)))
        return;
    finding_want(
        j->out, f,
        &(struct want){ .kind = WANT_PACKAGE,
                        .name = package->package,
                        .spec = spec,
                        .why = say(j, "the last cuDNN with code for compute capability %d.%d",
                                   j->cc / 10, j->cc % 10) });
}

const struct dist *judge_other_cudnn(const struct judgement *j, int cuda_major)
{
    static const char stem[] = "nvidia-cudnn-cu";
    int torch = j->env && j->env->torch_cuda ? cuda_parse(j->env->torch_cuda) / 1000 : 0;
    for (size_t i = 0; j->env && i < j->env->n_dists; i++) {
        const struct dist *d = j->env->dists[i];
        int major = str_starts(d->name, stem) ? kb_package_cuda_major(d->name) : 0;
        if (major && major != cuda_major && major != torch)
            return d;
    }
    return NULL;
}

void judge_want_no_other_cudnn(const struct judgement *j, struct finding *f, int cuda_major)
{
    const struct dist *other = judge_other_cudnn(j, cuda_major);
    if (other)
        finding_want(j->out, f,
                     &(struct want){ .kind = WANT_REMOVE,
                                     .name = other->name,
                                     .why = say(j, "it writes the same folder as cuDNN for CUDA %d",
                                                cuda_major) });
}

bool judge_by_conda(const struct judgement *j)
{
    return j->env && j->env->installer && str_eq(j->env->installer, "conda");
}

enum kb_dist_kind judge_kind(const struct judgement *j, const char *package)
{
    const struct kb_dist *d = package ? kb_dist_find(package) : NULL;
    for (size_t i = 0; package && i < j->ort->n_dists; i++) {
        const struct dist *own = j->ort->dists[i];
        if (!str_eq(own->name, package) ||
            !(own->build || (own->installer && str_eq(own->installer, "conda"))) ||
            !kb_dist_find_in("conda", package))
            continue;
        bool cuda = own->build ? strstr(own->build, "cuda") != NULL : j->ort->cuda != NULL;
        return cuda ? KB_DIST_CUDA : KB_DIST_CPU;
    }
    return d ? d->kind : KB_DIST_UNKNOWN;
}

/* Do the libraries lie in the environment's own wheels, where the loader does not look? */
static bool in_wheels(const struct judgement *j, const struct kb_ort *row)
{
    const struct lib_copy *c = judge_copy_of(j, row->needs[0], row->cuda_major);
    return c && str_starts(c->path, j->env->prefix);
}

static bool wanted(const struct finding *f, const char *package)
{
    for (size_t i = 0; i < f->wants.n; i++)
        if (str_eq(f->wants.at[i].name ? f->wants.at[i].name : "", package))
            return true;
    return false;
}

/* One wheel at a time, for a release whose extras do not bring them. */
static void want_each_wheel(const struct judgement *j, struct finding *f, const struct kb_ort *row)
{
    struct str dirs = { 0 };
    for (const char *const *soname = row->needs; *soname; soname++) {
        const struct kb_soname *wheel = kb_soname_find(*soname, row->cuda_major);
        char spec[96];
        if (judge_is_driver_library(*soname) || !wheel ||
            judge_copy_of(j, *soname, row->cuda_major) || wanted(f, wheel->package) ||
            !kb_soname_spec(*soname, row->cuda_major, j->cc, spec, sizeof(spec)))
            continue;
        finding_want(j->out, f,
                     &(struct want){ .kind = WANT_PACKAGE,
                                     .name = wheel->package,
                                     .spec = spec,
                                     .why = say(j, "brings %s", *soname) });
        if (wheel->folder && j->ort && j->ort->dir)
            str_addf(&dirs, "%s%s/%s", dirs.len ? ":" : "", path_dir(&j->out->arena, j->ort->dir),
                     wheel->folder);
    }
    if (dirs.len && row->preload_dlls != KB_YES)
        finding_want(j->out, f,
                     &(struct want){ .kind = WANT_LIBRARY_PATH,
                                     .name = str_get(&dirs),
                                     .why = "where the process is started" });
    str_done(&dirs);
}

void judge_want_release(const struct judgement *j, struct finding *f, const struct kb_ort *row,
                        const char *why)
{
    if (judge_by_conda(j)) {
        finding_want(j->out, f,
                     &(struct want){ .kind = WANT_PACKAGE,
                                     .name = "onnxruntime",
                                     .spec = "=*=*cuda*",
                                     .why = "conda's CUDA build of the newest version that fits" });
        return;
    }
    if (!j->env) {
        want_plain(j, f, say(j, "take ONNX Runtime %s: %s", row->version, why));
        return;
    }
    const struct kb_extra *cuda = kb_extra_find(row->version, "cuda");
    bool serve = copies_serve(j, row), wheels = !serve && cuda && cuda->installable != KB_NO;
    finding_want(j->out, f,
                 &(struct want){ .kind = WANT_PACKAGE,
                                 .name = "onnxruntime-gpu",
                                 .spec = say(j, "==%s", row->version),
                                 .extras = wheels ? "cuda,cudnn" : NULL,
                                 .why = why });
    if (wheels) {
        judge_want_cudnn(j, f, row->cuda_major, row->cudnn_major);
        judge_want_no_other_cudnn(j, f, row->cuda_major);
    } else if (!serve) {
        want_each_wheel(j, f, row);
    }
    if (row->preload_dlls == KB_YES && (wheels || (serve && in_wheels(j, row))))
        finding_want(
            j->out, f,
            &(struct want){ .kind = WANT_PRELOAD_DLLS, .why = "before the first session" });
}

/* Nothing but the driver's own libraries is missing in a tree that no machine runs yet. */
static bool driver_alone_open(const struct judgement *j)
{
    const struct finding *driver = findings_of(j->out, "driver-missing");
    return driver && driver->severity == SEVERITY_WARNING &&
           judge_try_fits(&j->p->tries[ORT_AS_IS]);
}

static enum verdict verdict_of(const struct judgement *j)
{
    if (findings_any_error(j->out))
        return VERDICT_DOES_NOT_FIT;
    if (j->p->tries[ORT_AS_IS].loads == ANSWER_NO && driver_alone_open(j))
        return VERDICT_UNKNOWN;
    switch (j->p->tries[ORT_AS_IS].loads) {
    case ANSWER_YES:
        return judge_lacks_facts(j) ? VERDICT_UNKNOWN : VERDICT_FITS;
    case ANSWER_NO:
        return VERDICT_DOES_NOT_FIT;
    case ANSWER_UNKNOWN:
        break;
    }
    return VERDICT_UNKNOWN;
}

void judge_run(const struct snapshot *s, const struct target *t, const struct ort_prediction *p,
               enum ort_provider provider, struct judged *ret)
{
    *ret = (struct judged){ 0 };
    ret->j = (struct judgement){ .s = s,
                                 .t = t,
                                 .ort = t->ort,
                                 .env = t->env,
                                 .p = p,
                                 .provider = provider,
                                 .cc = least_cc(s),
                                 .out = &ret->findings };
    if (!t->ort) {
        judge_unread(&ret->j);
        if (t->kind == TARGET_ENV)
            judge_no_wheel(&ret->j);
        return;
    }
    enum kb_dist_kind kind = judge_kind(&ret->j, t->ort->package);
    bool gpu_build = kind == KB_DIST_CUDA || t->ort->cuda || (kind == KB_DIST_UNKNOWN && !t->env);
    if (kind == KB_DIST_CPU || t->ort->cpu_build)
        gpu_build = false;
    if (t->ort->version && gpu_build)
        ret->j.kb = kb_ort_find(t->ort->version);
    if (gpu_build)
        read_needs(&ret->j);
    for (size_t i = 0; i < ARRAY_LEN(rules); i++)
        if (gpu_build || !rules[i].needs_gpu_build)
            rules[i].rule(&ret->j);
    ret->verdict = verdict_of(&ret->j);
}

void judged_done(struct judged *j)
{
    findings_done(&j->findings);
}
