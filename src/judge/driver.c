/* The driver and the GPU: there, new enough, of one version, visible, and served by the code in the
 * build. */
#include "judge/judge.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "version/driver.h"

static bool present(const struct fact *f)
{
    return f && f->known == KNOWN_PRESENT;
}

static void tell(const struct judgement *j, struct finding *f, const struct fact *fact,
                 const char *what)
{
    if (!fact)
        return;
    static const char *const known[] = { "not looked at", "not there", "", "cannot be read" };
    finding_evidence(j->out, f, what, present(fact) ? fact->value : known[fact->known],
                     fact->source);
}

/* A tree without a living /proc (an image, an unpacked archive) says nothing of the driver it will
 * meet. */
static bool driver_may_come_later(const struct judgement *j)
{
    return place_kind(j->s->place) != PLACE_LIVE && !present(j->s->driver.kernel_module) &&
           place_stat(j->s->place, "/proc/version")->known != KNOWN_FAILED &&
           !place_exists(j->s->place, "/proc/version") && !place_exists(j->s->place, "/proc/self");
}

static void want_driver(const struct judgement *j, struct finding *f)
{
    const struct kb_floor *floor = j->cuda_major ? kb_driver_floor(j->cuda_major, KB_OS_LINUX)
                                                 : NULL;
    if (j->s->driver.container)
        finding_want(
            j->out, f,
            &(struct want){ .kind = WANT_GPU_ACCESS, .why = "the driver comes from the host" });
    const struct fact *module = j->s->driver.kernel_module;
    if (present(module) && (!floor || driver_compare_text(module->value, floor->driver) >= 0)) {
        if (!j->s->driver.container)
            want_plain(j, f,
                       say(j, "install the user libraries (libcuda.so.1) of driver %s, whose kernel "
                              "module is loaded", module->value));
        return;
    }
    finding_want(j->out, f,
                 &(struct want){
                     .kind = WANT_DRIVER,
                     .name = floor ? floor->driver : NULL,
                     .why = floor ? say(j, "install driver %s or later%s, as CUDA %d needs", floor->driver,
                                        j->s->driver.container ? " on the host" : "", j->cuda_major)
                                  : "install the NVIDIA driver of your distribution" });
}

/* libcuda.so.1 lies on the machine (WSL, a driver's own folder), yet the loader does not reach it. Where no library needs
 * it by its name, the CUDA runtime opens it. */
static bool driver_library_unreached(const struct judgement *j)
{
    const struct driver *d = &j->s->driver;
    const struct ort_try *try = judge_best_try(j);
    const struct load_need *need = NULL;
    const char *here = d->libcuda_elsewhere ? d->libcuda_elsewhere : d->libcuda_path;
    for (size_t i = 0; try && !need && i < try->n_needs; i++)
        if (try->needs[i].status == LOAD_MISSING && str_starts(try->needs[i].name, "libcuda.so"))
            need = &try->needs[i];
    if (!here || (!need && !d->libcuda_elsewhere))
        return false;
    struct finding *f = finding_add(
        j->out, "library-not-on-search-path", SEVERITY_ERROR,
        "the driver's libcuda.so.1 is here, but the loader does not search there");
    finding_evidence(j->out, f, need ? need->name : "libcuda.so.1",
                     say(j, "needed by %s; not searched: %s",
                         !need             ? "the CUDA runtime"
                         : need->needed_by ? path_base(need->needed_by)
                                           : "the provider",
                         here),
                     "predicted loader");
    finding_want(j->out, f,
                 &(struct want){ .kind = WANT_LIBRARY_PATH,
                                 .name = path_dir(&j->out->arena, here),
                                 .why = "where the process is started" });
    return true;
}

static void judge_missing(const struct judgement *j)
{
    const struct driver *d = &j->s->driver;
    bool later = driver_may_come_later(j);
    struct finding *f = finding_add(
        j->out, "driver-missing", later ? SEVERITY_WARNING : SEVERITY_ERROR,
        later ? "no NVIDIA driver in this tree; it comes from the machine that runs it"
        : present(d->kernel_module)
            ? "the kernel module is loaded, but the driver's libcuda.so.1 is missing here"
        : d->container ? "no NVIDIA driver in this container"
                       : "no NVIDIA driver on this machine");
    tell(j, f, d->kernel_module, "kernel module");
    tell(j, f, d->libcuda, "libcuda.so.1");
    if (d->stub_path)
        finding_evidence(j->out, f, "stub libcuda.so.1", "for linking only: CUDA failure 34",
                         d->stub_path);
    const struct kb_floor *floor = j->cuda_major ? kb_driver_floor(j->cuda_major, KB_OS_LINUX)
                                                 : NULL;
    if (floor)
        finding_evidence(j->out, f, "needed",
                         say(j, "driver %s or later for CUDA %d", floor->driver, j->cuda_major),
                         floor->prov.source->text);
    want_driver(j, f);
}

const char *judge_compat_version(const struct snapshot *s)
{
    return s->driver.compat_dir && present(s->driver.libcuda) && present(s->driver.kernel_module)
               ? s->driver.libcuda->value
               : NULL;
}

static bool any_geforce(const struct snapshot *s)
{
    for (size_t i = 0; i < s->gpus.n; i++)
        if (s->gpus.at[i].name && strstr(s->gpus.at[i].name, "GeForce"))
            return true;
    return false;
}

bool judge_compat_works(const struct snapshot *s)
{
    const char *version = judge_compat_version(s);
    const struct kb_compat *row = version ? kb_compat_find(
                                                kb_driver_native_cuda(version),
                                                driver_branch(s->driver.kernel_module->value))
                                          : NULL;
    return row && row->works == KB_YES && !any_geforce(s);
}

/* Before the libraries: those of a CUDA that the driver does not serve need not be installed. */
void judge_driver_age(const struct judgement *j)
{
    const struct driver *d = &j->s->driver;
    const struct kb_floor *floor = j->cuda_major ? kb_driver_floor(j->cuda_major, KB_OS_LINUX)
                                                 : NULL;
    const char *version = judge_compat_works(j->s) ? judge_compat_version(j->s) : d->version;
    if (!version || !floor || driver_compare_text(version, floor->driver) >= 0)
        return;
    int native = kb_driver_native_cuda(version);
    char cuda[16];
    struct finding *f = finding_add(j->out, "driver-too-old", SEVERITY_ERROR,
                                    say(j, "driver %s is too old for CUDA %d: it needs %s", version,
                                        j->cuda_major, floor->driver));
    finding_evidence(j->out, f, "driver", version,
                     present(d->kernel_module) ? d->kernel_module->source : "libcuda.so.1");
    finding_evidence(j->out, f, "needed",
                     say(j, "%s for CUDA %d%s%s", floor->driver, j->cuda_major,
                         native ? "; this driver knows CUDA " : "",
                         native ? cuda_text(native, cuda, sizeof(cuda)) : ""),
                     floor->prov.source->text);
    const struct kb_ort *row = judge_choose_ort(j, 0, NULL);
    /* an older build would leave torch, which needs the same driver, without its partner */
    bool with_torch = j->env && j->env->torch_cuda &&
                      cuda_parse(j->env->torch_cuda) / 1000 == j->cuda_major;
    if (with_torch)
        finding_evidence(j->out, f, "torch", say(j, "is built for CUDA %d, too", j->cuda_major),
                         j->env->torch_dir);
    if (row && row->cuda_major < j->cuda_major && j->env && !with_torch)
        judge_want_release(
            j, f, row,
            say(j, "the newest build that this driver serves (CUDA %d); or a driver from %s on",
                row->cuda_major, floor->driver));
    else
        want_driver(j, f);
}

static void stub_in_front(const struct judgement *j)
{
    const char *stub = j->s->driver.stub_path;
    struct finding *f = finding_add(j->out, "driver-library-mismatch", SEVERITY_ERROR,
                                    "a stub of libcuda.so.1 stands in front of the driver's own");
    finding_evidence(j->out, f, "libcuda.so.1", "a stub for linking: CUDA failure 34", stub);
    finding_want(j->out, f,
                 &(struct want){ .kind = WANT_UNSET_PATH,
                                 .name = path_dir(&j->out->arena, stub),
                                 .why = "the stubs folder" });
}

/* cuda-compat: a newer user library on an older kernel module, for data-center GPUs and listed
 * branches only. */
static void compat_in_use(const struct judgement *j)
{
    const struct driver *d = &j->s->driver;
    const char *version = judge_compat_version(j->s);
    const struct kb_compat *row = kb_compat_find(kb_driver_native_cuda(version),
                                                 driver_branch(d->kernel_module->value));
    bool consumer = any_geforce(j->s);
    bool refused = row && row->works == KB_NO && row->needless != KB_YES;
    if (!consumer && !refused)
        return;
    struct finding *f = finding_add(
        j->out, "forward-compat-unsupported", SEVERITY_ERROR,
        consumer
            ? "forward compatibility (cuda-compat) is refused on GeForce GPUs: CUDA failure 804"
            : "this cuda-compat does not work on this driver branch");
    finding_evidence(j->out, f, "cuda-compat", version, d->compat_dir);
    tell(j, f, d->kernel_module, "kernel module");
    if (refused)
        finding_evidence(j->out, f, "rule", "not compatible", row->prov.source->text);
    finding_want(j->out, f,
                 &(struct want){ .kind = WANT_UNSET_PATH,
                                 .name = d->compat_dir,
                                 .why = "the driver's own libcuda.so.1 serves then" });
}

static void judge_mismatch(const struct judgement *j)
{
    const struct driver *d = &j->s->driver;
    bool module = present(d->kernel_module);
    bool differ = module && d->library_version &&
                  driver_compare_text(d->kernel_module->value, d->library_version) != 0;
    bool nvml_says = d->nvml && d->nvml->known == KNOWN_FAILED && d->nvml->value &&
                     strstr(d->nvml->value, "mismatch");
    if (d->stub_path && module) {
        stub_in_front(j);
        return;
    }
    const char *compat = judge_compat_version(j->s);
    if (compat) {
        if (driver_compare_text(d->kernel_module->value, compat) != 0)
            compat_in_use(j);
        return;
    }
    if (!differ && !nvml_says)
        return;
    struct finding *f = finding_add(
        j->out, "driver-library-mismatch", SEVERITY_ERROR,
        "kernel module and user library of the driver have different versions");
    tell(j, f, d->kernel_module, "kernel module");
    finding_evidence(j->out, f, "library", d->library_version ? d->library_version : d->nvml->value,
                     d->libcuda_path ? d->libcuda_path : "NVML");
    finding_want(j->out, f,
                 &(struct want){
                     .kind = WANT_REBOOT,
                     .why = d->container
                                ? "start the container anew, so that it gets the host's libraries"
                                : "after an upgrade: load the new kernel module (reboot)" });
}

/* The driver makes this node on demand on a host, for who may; in a container it is there or it is
 * not. */
static void judge_uvm(const struct judgement *j)
{
    const struct driver *d = &j->s->driver;
    if (!d->device_nodes || d->uvm_node || d->wsl || d->jetson)
        return;
    struct finding *f = finding_add(
        j->out, "driver-unknown-error", d->container ? SEVERITY_ERROR : SEVERITY_WARNING,
        d->container ? "/dev/nvidia-uvm was not given to this container: CUDA failure 999"
                     : "/dev/nvidia-uvm is not there: CUDA may fail with 999");
    finding_evidence(j->out, f, "/dev/nvidia-uvm", "not there", "/dev");
    if (d->container)
        finding_want(j->out, f,
                     &(struct want){ .kind = WANT_GPU_ACCESS,
                                     .why = "that gives all nodes, not single devices" });
    else
        want_plain(j, f, "as root, once: nvidia-modprobe -u -c=0");
}

void judge_driver(const struct judgement *j)
{
    const struct driver *d = &j->s->driver;
    if (d->known == KNOWN_NOT_LOOKED) {
        /* nothing to say of it unless it is all that is missing */
        const struct ort_try *try = judge_best_try(j);
        if (try && try->loads == ANSWER_NO && driver_may_come_later(j))
            judge_missing(j);
        return;
    }
    if (d->known == KNOWN_FAILED || driver_library_unreached(j)) /* FAILED: judge_unread tells it */
        return;
    bool unread = d->libcuda &&
                  d->libcuda->known == KNOWN_FAILED; /* there, and told by judge_unread */
    bool library = d->libcuda_path != NULL || present(d->libcuda) || unread;
    if (d->known != KNOWN_PRESENT || (!library && !present(d->nvml))) {
        judge_missing(j);
        return;
    }
    judge_mismatch(j);
    judge_uvm(j);
    if (d->nvml && d->nvml->known == KNOWN_FAILED &&
        !findings_of(j->out, "driver-library-mismatch") && !findings_of(j->out, "driver-missing")) {
        struct finding *f = finding_add(j->out, "driver-unknown-error", SEVERITY_WARNING,
                                        "the driver does not answer as it should");
        tell(j, f, d->nvml, "NVML");
        finding_evidence(j->out, f, "reason", d->nvml->value, d->nvml->source);
        want_plain(j, f, "see what nvidia-smi and the kernel log (dmesg) say of the driver");
    }
}

/* An empty list or one that begins with an invalid number hides every GPU (CUDA programming guide,
 * CUDA_VISIBLE_DEVICES). */
static bool hides_all(const char *value)
{
    return value && (value[0] == '\0' || str_starts(value, "-1") || str_eq(value, "none") ||
                     str_eq(value, "void") || str_eq(value, "NoDevFiles"));
}

/* A number that no GPU here has ends the list. */
static bool names_none(const struct snapshot *s, const char *value)
{
    size_t digits = value ? strspn(value, "0123456789") : 0;
    if (digits == 0 || s->gpus.n == 0 || s->gpus_known != KNOWN_PRESENT ||
        (value[digits] != '\0' && value[digits] != ','))
        return false;
    return digits > 3 || strtoul(value, NULL, 10) >= s->gpus.n;
}

/* The driver makes the nodes on demand on a host, for who may; a container has what it was given. */
static bool nodes_absent(const struct judgement *j)
{
    const struct driver *d = &j->s->driver;
    if (d->device_nodes || d->wsl || d->jetson || present(d->nvml) || !present(d->kernel_module))
        return false;
    for (size_t i = 0; i < j->s->facts.n; i++)
        if (str_eq(j->s->facts.at[i]->key, "driver.devices"))
            return j->s->facts.at[i]->known == KNOWN_ABSENT;
    return false;
}

static void nodes_on_host(const struct judgement *j)
{
    struct finding *f = finding_add(j->out, "no-gpu-visible", SEVERITY_WARNING,
                                    "no /dev/nvidia* is there: CUDA may fail with 100");
    finding_evidence(j->out, f, "/dev/nvidia0, /dev/nvidiactl", "not there", "/dev");
    want_plain(j, f, "as root, once: nvidia-modprobe -c=0 -u");
}

static bool hidden_by_cuda(const struct judgement *j)
{
    const char *cuda = place_getenv(j->s->place, "CUDA_VISIBLE_DEVICES");
    if (!hides_all(cuda) && !names_none(j->s, cuda))
        return false;
    struct finding *f = finding_add(j->out, "no-gpu-visible", SEVERITY_ERROR,
                                    "CUDA_VISIBLE_DEVICES hides every GPU: CUDA failure 100");
    finding_evidence(j->out, f, "CUDA_VISIBLE_DEVICES", cuda[0] ? cuda : "(empty)",
                     "environment");
    if (!hides_all(cuda))
        finding_evidence(j->out, f, "GPUs", say(j, "%zu, numbered from 0", j->s->gpus.n),
                         j->s->gpus.at[0].fact ? j->s->gpus.at[0].fact->source : NULL);
    want_plain(j, f, "unset CUDA_VISIBLE_DEVICES, or set it to the GPU's number");
    return true;
}

void judge_gpu_visible(const struct judgement *j)
{
    const struct driver *d = &j->s->driver;
    if (d->known != KNOWN_PRESENT || findings_of(j->out, "driver-missing"))
        return;
    if (hidden_by_cuda(j))
        return;
    bool none = j->s->gpus.n == 0 &&
                (j->s->gpus_known == KNOWN_ABSENT || j->s->gpus_known == KNOWN_PRESENT);
    bool no_nodes = nodes_absent(j);
    bool hidden = d->container && (hides_all(d->visible_devices) || no_nodes);
    if (!none && !hidden) {
        if (no_nodes)
            nodes_on_host(j);
        return;
    }
    struct finding *f = finding_add(
        j->out, "no-gpu-visible", SEVERITY_ERROR,
        d->container ? "the driver is here, but no GPU was given to this container"
                     : "the driver is here, but it shows no GPU");
    if (none)
        finding_evidence(j->out, f, "GPUs", "none",
                         j->s->gpus_known == KNOWN_ABSENT ? "NVML, /proc/driver/nvidia/gpus, PCI"
                                                          : "NVML");
    if (no_nodes)
        finding_evidence(j->out, f, "/dev/nvidia0, /dev/nvidiactl", "not there", "/dev");
    if (d->visible_devices)
        finding_evidence(j->out, f, "NVIDIA_VISIBLE_DEVICES",
                         d->visible_devices[0] ? d->visible_devices : "(empty)", "environment");
    finding_want(j->out, f,
                 &(struct want){ .kind = d->container ? WANT_GPU_ACCESS : WANT_PLAIN,
                                 .why = d->container ? "start it with a GPU"
                                                     : "see what lspci and nvidia-smi -L show" });
}

/* A GPU whose compute mode lets nobody in. */
void judge_compute_mode(const struct judgement *j)
{
    for (size_t i = 0; i < j->s->gpus.n; i++) {
        const char *key = say(j, "gpu.%zu.compute_mode", i);
        for (size_t k = 0; k < j->s->facts.n; k++) {
            const struct fact *fact = j->s->facts.at[k];
            if (!present(fact) || !str_eq(fact->key, key) || !str_eq(fact->value, "prohibited"))
                continue;
            struct finding *f = finding_add(
                j->out, "gpu-busy", j->s->gpus.n == 1 ? SEVERITY_ERROR : SEVERITY_WARNING,
                say(j, "GPU %zu is in compute mode 'prohibited': CUDA failure 46", i));
            finding_evidence(j->out, f, "compute mode", fact->value, fact->source);
            want_plain(j, f, say(j, "as root: nvidia-smi -i %zu -c DEFAULT", i));
        }
    }
}

static enum kb_cover cover_of(const struct judgement *j, int cc)
{
    /* The row knows which architectures are in a part of the kernels only; what lies there outranks
     * it. */
    const struct kb_gpu_code *row = j->kb ? kb_ort_gpu_code(j->kb->version, KB_LINUX_X86_64) : NULL;
    if (j->ort->code.containers == 0)
        return row ? kb_gpu_code_cover(row, cc) : KB_COVER_UNKNOWN;
    struct kb_sm cubins[64] = { 0 }, ptx[64] = { 0 };
    size_t n_cubins = 0, n_ptx = 0;
    for (size_t i = 0; i < j->ort->code.n_arch; i++) {
        const struct gpu_arch *a = &j->ort->code.arch[i];
        struct kb_sm sm = { (int)a->number, a->specific ? 'a' : 0 };
        if (a->ptx && n_ptx + 1 < ARRAY_LEN(ptx))
            ptx[n_ptx++] = sm;
        else if (!a->ptx && n_cubins + 1 < ARRAY_LEN(cubins))
            cubins[n_cubins++] = sm;
    }
    enum kb_cover read = kb_cover(cubins, ptx, cc);
    if (read != KB_COVER_NONE && row && kb_gpu_code_cover(row, cc) == KB_COVER_PARTIAL)
        return KB_COVER_PARTIAL;
    return read;
}

static const char *arch_list(const struct judgement *j)
{
    struct str text = { 0 };
    for (size_t i = 0; i < j->ort->code.n_arch; i++) {
        const struct gpu_arch *a = &j->ort->code.arch[i];
        str_addf(&text, "%s%s_%u%s", i ? " " : "", a->ptx ? "compute" : "sm", a->number,
                 a->specific ? "a" : "");
    }
    const char *kept = arena_strdup(&j->out->arena, str_get(&text));
    str_done(&text);
    return kept;
}

static void want_covering(const struct judgement *j, struct finding *f, int cc)
{
    const struct kb_ort *better = judge_choose_ort(j, j->cuda_major, NULL);
    if (!better)
        better = judge_choose_ort(j, 0, NULL);
    if (better && j->env)
        judge_want_release(
            j, f, better,
            say(j, "the newest build with code for it (CUDA %d)", better->cuda_major));
    else
        want_plain(j, f, say(j, "build ONNX Runtime with CMAKE_CUDA_ARCHITECTURES=%d", cc));
}

/* How the build fails this GPU, or NULL when it serves it. */
static const char *lacking_code(const struct judgement *j, const struct gpu *g)
{
    if (g->cc == 0)
        return NULL;
    switch (cover_of(j, g->cc)) {
    case KB_COVER_NONE:
        return "no GPU code";
    case KB_COVER_PARTIAL:
        return "code for a part of its kernels only";
    case KB_COVER_PTX: {
        const struct kb_gpu_code *row = j->kb ? kb_ort_gpu_code(j->kb->version, KB_LINUX_X86_64)
                                              : NULL;
        int native = j->s->driver.version ? kb_driver_native_cuda(j->s->driver.version) : 0;
        return row && row->ptx_cuda && native && native < row->ptx_cuda
                   ? "only PTX that this driver cannot compile"
                   : NULL;
    }
    case KB_COVER_UNKNOWN:
    case KB_COVER_CUBIN:
        break;
    }
    return NULL;
}

void judge_gpu_code(const struct judgement *j)
{
    for (size_t i = 0; i < j->s->gpus.n; i++) {
        const struct gpu *g = &j->s->gpus.at[i];
        const char *lack = lacking_code(j, g);
        if (!lack)
            continue;
        const struct kb_gpu_code *row = j->kb ? kb_ort_gpu_code(j->kb->version, KB_LINUX_X86_64)
                                              : NULL;
        struct finding *f = finding_add(
            j->out, "gpu-arch-unsupported", SEVERITY_ERROR,
            say(j, "the build has %s for %s (compute capability %d.%d): CUDA failure 209", lack,
                g->name ? g->name : "this GPU", g->cc / 10, g->cc % 10));
        finding_evidence(j->out, f, "GPU", say(j, "%s, sm_%d", g->name ? g->name : "?", g->cc),
                         g->fact ? g->fact->source : NULL);
        finding_evidence(j->out, f, "code in the provider",
                         j->ort->code.n_arch ? arch_list(j) : "see the release's row",
                         j->ort->code_fact ? j->ort->code_fact->source
                         : row             ? row->prov.source->text
                                           : NULL);
        want_covering(j, f, g->cc);
        return;
    }
}

void judge_cudnn_gpu(const struct judgement *j)
{
    const struct ort_try *try = judge_best_try(j);
    if (!try || j->cc == 0 ||
        findings_of(j->out, "gpu-arch-unsupported")) /* another build brings another cuDNN */
        return;
    for (size_t i = 0; i < try->n_needs; i++) {
        const struct load_need *n = &try->needs[i];
        if (kb_soname_family(n->name) != KB_FAMILY_CUDNN || !n->path)
            continue;
        for (size_t k = 0; k < j->s->copies.n; k++) {
            const struct lib_copy *c = &j->s->copies.at[k];
            if (!c->version || !str_eq(c->soname, n->name) ||
                !str_eq(path_base(c->path), path_base(n->path)) || !str_eq(c->path, n->path))
                continue;
            const struct kb_cudnn *row = kb_cudnn_dropped(j->cc, c->version, j->cuda_major);
            if (!row)
                return;
            struct finding *f = finding_add(j->out, "gpu-arch-unsupported", SEVERITY_ERROR,
                                            say(j,
                                                "cuDNN %s has no code for compute capability %d.%d",
                                                c->version, j->cc / 10, j->cc % 10));
            finding_evidence(
                j->out, f, n->name,
                say(j, "%s%s%s", c->version, c->owner ? " of " : "", c->owner ? c->owner : ""),
                c->path);
            finding_evidence(j->out, f, "rule", row->note ? row->note : "dropped architectures",
                             row->prov.source->text);
            char spec[96];
            const struct kb_soname *package = kb_soname_find(n->name, j->cuda_major);
            if (package && kb_soname_spec(n->name, j->cuda_major, j->cc, spec, sizeof(spec)))
                finding_want(j->out, f,
                             &(struct want){ .kind = WANT_PACKAGE,
                                             .name = package->package,
                                             .spec = spec,
                                             .why = "the newest cuDNN that still serves it" });
            return;
        }
    }
}
