/* The NVIDIA driver: its kernel module, its user libraries, its device nodes, and NVML's word. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "probe/folders.h"
#include "probe/look.h"
#include "probe/nvml.h"
#include "probe/seen.h"
#include "version/driver.h"

#define NVML_TIMEOUT_MS 5000

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 01:44:30 UTC 2024" */
static void see_kernel_module(struct snapshot *s)
{
    static const char *const files[] = { "/proc/driver/nvidia/version",
                                         "/sys/module/nvidia/version" };
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        const struct text *t = place_text(s->place, files[i], TEXT_FIRST_LINE);
        if (t->known == KNOWN_FAILED) {
            s->driver.kernel_module = fact_unread(s, NULL, "driver.kernel_module", files[i], t->error);
            if (s->driver.kernel_module)
                return;
        }
        const char *line = look_first_line(s, files[i]);
        if (!line)
            continue;
        const char *version = look_driver_number(s, line);
        s->driver.kernel_module = fact_add(
            s, version ? KNOWN_PRESENT : KNOWN_FAILED, "driver.kernel_module",
            version ? version : "no driver number in the line", look_source(s, files[i], 1));
        return;
    }
    /* A root tree has no /proc of its own: an empty one says nothing about the machine it will run
     * on. */
    static const char *const living[] = { "/proc/version", "/proc/1/cgroup" };
    bool looked = false;
    for (size_t i = 0; i < ARRAY_LEN(living) && !looked; i++) {
        const struct file_info *info = place_stat(s->place, living[i]);
        looked = info->known == KNOWN_PRESENT;
        if (info->known == KNOWN_FAILED && !s->driver.kernel_module)
            s->driver.kernel_module = fact_unread(s, NULL, "driver.kernel_module", living[i], info->error);
    }
    if (s->driver.kernel_module)
        return;
    s->driver.kernel_module = fact_add(s, looked ? KNOWN_ABSENT : KNOWN_NOT_LOOKED,
                                       "driver.kernel_module", NULL, files[0]);
    /* The free driver serves the card instead: CUDA cannot. */
    if (place_exists(s->place, "/sys/module/nouveau"))
        fact_add(s, KNOWN_PRESENT, "driver.nouveau", "loaded", "/sys/module/nouveau");
}

/* --- user libraries -------------------------------------------------------------------------- */

struct found_library {
    const char *path, *real; /* as searched, and the file behind it */
    const struct lib_folder *folder;
};

/* The first folder that has the name, as the loader would take it: it passes over files of another
 * class, and over what it may not look at; any other failure ends its search (*ret_failed). */
static bool find_library(struct snapshot *s, const struct lib_folders *folders, const char *soname,
                         bool reachable, struct found_library *ret, const struct fact **ret_failed)
{
    for (size_t i = 0; i < folders->n; i++) {
        const struct lib_folder *folder = &folders->at[i];
        if ((folder->via != FOLDER_KNOWN) != reachable)
            continue;
        const char *path = path_join(&s->arena, folder->path, soname);
        const struct file_info *info = place_stat(s->place, path);
        if (info->known == KNOWN_FAILED && info->error != EACCES) {
            *ret_failed = fact_unread(s, NULL, str_eq(soname, "libcuda.so.1") ? "driver.libcuda" : "driver.libnvidia_ml",
                                      path, info->error);
            if (*ret_failed)
                return false;
        }
        if (info->known != KNOWN_PRESENT || info->type != FILE_REGULAR)
            continue;
        const struct place_elf *file = place_elf(s->place, path);
        if (file->known == KNOWN_PRESENT && elf_problem_skipped(file->elf->problem))
            continue;
        const char *real = place_realpath(s->place, path);
        *ret = (struct found_library){ .path = path, .real = real ? real : path, .folder = folder };
        return true;
    }
    return false;
}

/* "550.54.14" of ".../libcuda.so.550.54.14"; NULL for libcuda.so.1, and libcuda.so.1.1 as WSL and
 * Jetson have it. */
static const char *version_of_file(struct snapshot *s, const char *real)
{
    const char *version = look_soname_version(path_base(real));
    return version ? look_driver_number(s, version) : NULL;
}

static bool has_component(const char *path, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = strstr(path, name); at; at = strstr(at + 1, name))
        if (at > path && at[-1] == '/' && at[len] == '/')
            return true;
    return false;
}

/* Reachable or not, the fact tells it; *ret_version is NULL where the file's name has none. */
static const struct fact *library_fact(struct snapshot *s, const char *key,
                                       const struct found_library *lib, const char **ret_version)
{
    const char *version = version_of_file(s, lib->real);
    *ret_version = version;
    return fact_add(s, KNOWN_PRESENT, key, version ? version : "its file name has no version",
                    arena_printf(&s->arena, "%s (%s)", lib->real, lib->folder->source));
}

/* A folder of the search that could not be looked at; NULL: all could. It may hold what no other one has. */
static const struct fact *unread_folder(const struct snapshot *s)
{
    for (size_t i = 0; i < s->unread.n; i++)
        if (str_eq(s->unread.at[i].fact->key, "loader.folder"))
            return s->unread.at[i].fact;
    return NULL;
}

static void see_libcuda(struct snapshot *s, const struct lib_folders *folders,
                        const char **ret_version)
{
    struct driver *d = &s->driver;
    struct found_library lib;
    *ret_version = NULL;
    if (find_library(s, folders, "libcuda.so.1", true, &lib, &d->libcuda)) {
        d->libcuda_path = lib.real;
        d->libcuda = library_fact(s, "driver.libcuda", &lib, ret_version);
        if (has_component(lib.real, "stubs")) {
            d->stub_path = lib.path;
            *ret_version = NULL;
            fact_add(s, KNOWN_PRESENT, "driver.stub", lib.real, lib.folder->source);
        } else if (has_component(lib.real, "compat")) {
            d->compat_dir = lib.folder->path;
            fact_add(s, KNOWN_PRESENT, "driver.compat_in_use", lib.real, lib.folder->source);
        }
        return;
    }
    if (d->libcuda)
        return;
    bool elsewhere = find_library(s, folders, "libcuda.so.1", false, &lib, &d->libcuda);
    if (!d->libcuda)
        d->libcuda = unread_folder(s);
    if (!d->libcuda)
        d->libcuda = fact_add(s, KNOWN_ABSENT, "driver.libcuda", NULL, "search folders of the loader");
    if (elsewhere) {
        d->libcuda_elsewhere = lib.path;
        (void)library_fact(s, "driver.libcuda_elsewhere", &lib, ret_version);
    }
}

static void see_libnvidia_ml(struct snapshot *s, const struct lib_folders *folders,
                             const char **ret_version)
{
    struct found_library lib;
    *ret_version = NULL;
    const struct fact **fact = &s->driver.libnvidia_ml;
    if (find_library(s, folders, "libnvidia-ml.so.1", true, &lib, fact) ||
        (!*fact && find_library(s, folders, "libnvidia-ml.so.1", false, &lib, fact)))
        s->driver.libnvidia_ml = library_fact(s, "driver.libnvidia_ml", &lib, ret_version);
    else if (!*fact)
        s->driver.libnvidia_ml =
            fact_add(s, KNOWN_ABSENT, "driver.libnvidia_ml", NULL, "search folders of the loader");
}

/* Toolkits bring forward-compatibility packages that no search path reaches until somebody says so.
 */
static void see_compat(struct snapshot *s)
{
    static const char *const files[] = { "compat/libcuda.so.1", "compat/lib/libcuda.so.1" };
    struct names toolkits = { 0 };
    seen_toolkit_folders(s, &toolkits);
    for (size_t i = 0; i < toolkits.n; i++)
        for (size_t k = 0; k < ARRAY_LEN(files); k++) {
            const char *real =
                place_realpath(s->place, path_join(&s->arena, toolkits.at[i], files[k]));
            if (!real)
                continue;
            const char *version = version_of_file(s, real);
            fact_add(s, KNOWN_PRESENT, "driver.compat",
                     version ? version : "its file name has no version", real);
            break;
        }
    vec_done(&toolkits);
}

/* --- device nodes ---------------------------------------------------------------------------- */

static size_t count_nodes(struct snapshot *s)
{
    const struct listing *list = place_list(s->place, "/dev");
    size_t n = 0;
    if (list->known == KNOWN_FAILED && fact_unread(s, NULL, "driver.devices", "/dev", list->error))
        return 1; /* nvidiactl is there: how many GPUs is open, none is not said */
    for (size_t i = 0; list->known == KNOWN_PRESENT && i < list->n; i++)
        if (str_starts(list->at[i].name, "nvidia") && isdigit((unsigned char)list->at[i].name[6]))
            n++;
    return n;
}

static void see_nodes(struct snapshot *s)
{
    static const char *const others[] = { "/dev/dxg", "/dev/nvhost-gpu", "/dev/nvgpu" };
    struct driver *d = &s->driver;
    d->uvm_node = place_exists(s->place, "/dev/nvidia-uvm");
    bool control = place_exists(s->place, "/dev/nvidiactl");
    size_t n = control ? count_nodes(s) : place_exists(s->place, "/dev/nvidia0");
    if (n > 0) {
        d->device_nodes = true;
        fact_add(s, KNOWN_PRESENT, "driver.devices",
                 arena_printf(&s->arena, "%zu GPU%s, %s, %s", n, n == 1 ? "" : "s",
                              control ? "nvidiactl" : "no nvidiactl",
                              d->uvm_node ? "nvidia-uvm" : "no nvidia-uvm"),
                 "/dev");
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if ((i == 0 || d->jetson) && place_exists(s->place, others[i])) {
            d->device_nodes = true;
            fact_add(s, KNOWN_PRESENT, "driver.devices", path_base(others[i]), others[i]);
            return;
        }
    bool looked = place_exists(s->place, "/dev/null");
    fact_add(s, looked ? KNOWN_ABSENT : KNOWN_NOT_LOOKED, "driver.devices", NULL, "/dev/nvidia*");
}

/* --- NVML ------------------------------------------------------------------------------------ */

static void see_nvml(struct snapshot *s, const struct probe_request *want)
{
    struct driver *d = &s->driver;
    const char *source = "nvmlSystemGetDriverVersion";
    struct nvml_answer answer = { 0 };
    if (d->libnvidia_ml->known != KNOWN_PRESENT) {
        d->nvml = fact_add(s, KNOWN_ABSENT, "driver.nvml", NULL, "libnvidia-ml.so.1");
        return;
    }
    if (!want->no_nvml)
        nvml_ask(s->place, &s->arena, NVML_TIMEOUT_MS, &answer);
    d->nvml_error = answer.error;
    d->nvml = fact_add(s, answer.known, "driver.nvml",
                       answer.known == KNOWN_PRESENT ? answer.driver : answer.reason, source);
    if (answer.cuda > 0) {
        char text[16];
        d->cuda_version =
            fact_add(s, KNOWN_PRESENT, "driver.cuda", cuda_text(answer.cuda, text, sizeof(text)),
                     "nvmlSystemGetCudaDriverVersion");
    }
    seen_nvml_gpus(s, &answer);
}

static bool present(const struct fact *f)
{
    return f && f->known == KNOWN_PRESENT;
}

static bool failed(const struct fact *f)
{
    return f && f->known == KNOWN_FAILED;
}

void probe_driver(struct snapshot *s, const struct probe_request *want)
{
    struct driver *d = &s->driver;
    struct lib_folders folders = { 0 };
    const char *libcuda = NULL, *libnvidia_ml = NULL;
    see_kernel_module(s);
    folders_find(s, &folders);
    see_libcuda(s, &folders, &libcuda);
    see_libnvidia_ml(s, &folders, &libnvidia_ml);
    vec_done(&folders);
    see_compat(s);
    see_nodes(s);
    see_nvml(s, want);
    if (!d->cuda_version)
        d->cuda_version =
            fact_add(s, KNOWN_NOT_LOOKED, "driver.cuda", NULL, "nvmlSystemGetCudaDriverVersion");

    /* libcuda of a compat package is newer than the driver on purpose, libnvidia-ml never is. */
    d->library_version = libnvidia_ml ? libnvidia_ml : d->compat_dir ? NULL : libcuda;
    if (present(d->kernel_module))
        d->version = d->kernel_module->value;
    else if (present(d->nvml))
        d->version = d->nvml->value;
    else
        d->version = d->library_version;
    bool any = present(d->kernel_module) || present(d->nvml) || present(d->libnvidia_ml) ||
               d->device_nodes || d->libcuda_elsewhere ||
               (present(d->libcuda) && !d->stub_path && !d->compat_dir);
    bool looked = d->kernel_module->known != KNOWN_NOT_LOOKED;
    bool unread = failed(d->kernel_module) || failed(d->libcuda) || failed(d->libnvidia_ml);
    d->known = any ? KNOWN_PRESENT : unread ? KNOWN_FAILED : looked ? KNOWN_ABSENT : KNOWN_NOT_LOOKED;
    fact_add(s, d->known, "driver", d->version,
             d->version ? "see driver.*" : d->known == KNOWN_FAILED ? "its files cannot be read" : "no sign of a driver");
}
