/* Whose a library is, and for which CUDA it was made: by its owner, its name, its folder, its
 * package, its content. */
#include "probe/shelf.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "probe/look.h"
#include "probe/seen.h"
#include "version/pep440.h"

#define DIST_ROOM 128

bool shelf_wants(enum kb_family family)
{
    switch (family) {
    case KB_FAMILY_CUDART:
    case KB_FAMILY_CUBLAS:
    case KB_FAMILY_CUFFT:
    case KB_FAMILY_CURAND:
    case KB_FAMILY_NVRTC:
    case KB_FAMILY_NVJITLINK:
    case KB_FAMILY_CUDNN:
    case KB_FAMILY_TENSORRT:
    case KB_FAMILY_DRIVER:
        return true;
    default:
        return false;
    }
}

/* --- wheels ---------------------------------------------------------------------------------- */

/* "cuda_runtime" of nvidia-cuda-runtime-cu12, for packages that the kb does not know. */
static bool named_after(const char *name, const char *folder)
{
    char part[DIST_ROOM];
    if (!str_starts(name, "nvidia-") || strlen(name) >= sizeof(part))
        return false;
    memcpy(part, name + 7, strlen(name + 7) + 1);
    char *flavour = strrchr(part, '-');
    if (flavour && str_starts(flavour, "-cu") && isdigit((unsigned char)flavour[3]))
        *flavour = '\0';
    for (char *c = part; *c; c++)
        *c = *c == '-' ? '_' : *c;
    size_t len = strlen(part);
    return str_starts(folder, "nvidia/") && strncmp(folder + 7, part, len) == 0 &&
           folder[7 + len] == '/';
}

bool shelf_is_tensorrt(const char *name)
{
    return str_starts(name, "tensorrt") && (str_ends(name, "-libs") || str_ends(name, "_libs"));
}

static bool may_own(const struct dist *d, const char *folder)
{
    if (str_eq(folder, "tensorrt_libs"))
        return shelf_is_tensorrt(d->name);
    if (str_eq(folder, "tensorrt"))
        return str_eq(d->name, "tensorrt");
    const struct kb_wheel *w = str_starts(d->name, "nvidia-") ? kb_wheel_find(d->name) : NULL;
    return w && w->folder ? str_eq(w->folder, folder) : named_after(d->name, folder);
}

void shelf_owners(struct snapshot *s, struct shelf *shelf, const struct dist *const *all,
                  size_t n_all)
{
    struct {
        VEC(const struct dist *);
    } mine = { 0 };
    for (size_t i = 0; i < n_all; i++)
        if (all[i]->name && str_eq(all[i]->site, shelf->site) && may_own(all[i], shelf->folder))
            vec_push(&mine, all[i]);
    shelf->n_dists = mine.n;
    if (mine.n > 0) {
        const struct dist **kept = arena_alloc(&s->arena, mine.n * sizeof(*kept));
        memcpy(kept, mine.at, mine.n * sizeof(*kept));
        shelf->dists = kept;
    }
    vec_done(&mine);
}

/* Does the distribution's RECORD list the file with just its size? Where two wheels write the same
 * folder, the one whose sizes are there came last. */
static bool record_fits(struct snapshot *s, const struct dist *d, const char *name_in_site,
                        uint64_t size_bytes)
{
    const struct text *t =
        place_text(s->place, path_join(&s->arena, d->path, "RECORD"), TEXT_WHOLE);
    size_t len = strlen(name_in_site);
    for (struct look_line line = { 0 }; look_next_line(t, &line);) {
        if (line.len <= len || strncmp(line.at, name_in_site, len) != 0 || line.at[len] != ',')
            continue;
        const char *comma = memrchr(line.at, ',', line.len);
        return strtoull(comma + 1, NULL, 10) == size_bytes;
    }
    return false;
}

/* *ret_n: how many could own it; the one that does, or NULL when that stays open. */
static const struct dist *wheel_owner(struct snapshot *s, const struct shelf *shelf,
                                      const struct lib_copy *copy, size_t *ret_n)
{
    enum kb_family family = kb_soname_family(copy->soname);
    const struct dist *only = NULL;
    *ret_n = 0;
    for (size_t i = 0; i < shelf->n_dists; i++) {
        const struct kb_wheel *w = kb_wheel_find(shelf->dists[i]->name);
        if (w && w->family != KB_FAMILY_UNKNOWN && family != KB_FAMILY_UNKNOWN &&
            w->family != family)
            continue;
        only = shelf->dists[i];
        ++*ret_n;
    }
    if (*ret_n < 2)
        return only;
    const char *in_site = path_join(&s->arena, shelf->folder, path_base(copy->path));
    const struct file_info *info = place_stat(s->place, copy->path);
    size_t fits = 0;
    for (size_t i = 0; i < shelf->n_dists; i++) {
        const struct kb_wheel *w = kb_wheel_find(shelf->dists[i]->name);
        if (w && w->family != KB_FAMILY_UNKNOWN && w->family != family)
            continue;
        if (info->known == KNOWN_PRESENT &&
            record_fits(s, shelf->dists[i], in_site, info->size_bytes)) {
            only = shelf->dists[i];
            fits++;
        }
    }
    return fits == 1 ? only : NULL;
}

static void judge_wheel(struct snapshot *s, const struct shelf *shelf, struct lib_copy *copy)
{
    size_t n;
    const struct dist *d = wheel_owner(s, shelf, copy, &n);
    if (!d)
        return;
    copy->owner = d->version ? arena_printf(&s->arena, "%s %s", d->name, d->version) : d->name;
    if (d->version)
        copy->version = d->version;
    if (copy->cuda_major == 0 && (copy->cuda_major = kb_package_cuda_major(d->name)) != 0)
        copy->cuda_by = arena_printf(
            &s->arena, n > 1 ? "package %s, by the sizes in its RECORD" : "package %s", d->name);
}

/* --- content --------------------------------------------------------------------------------- */

/* Exact sonames among what the file needs: libcudnn_ops_infer.so.8 needs libcublas.so.11. */
static int major_of_needed(const struct elf *elf)
{
    for (size_t i = 0; i < elf->n_needed; i++) {
        const struct kb_library *row = kb_library_find(elf->needed[i]);
        if (row && row->cuda_first != 0 && row->cuda_first == row->cuda_last)
            return row->cuda_first;
    }
    return 0;
}

/* cuDNN's own RUNPATH names the folders of the wheels it works with: ../../cu13/lib for CUDA 13,
 * ../../nvrtc/lib for CUDA 11. That of CUDA 12 (../../cuda_nvrtc/lib alone) could be an early one
 * for CUDA 13, which began with 9.12. */
static int major_of_runpath(const struct elf *elf, const char *version)
{
    if (!elf->runpath)
        return 0;
    if (strstr(elf->runpath, "/cu13/lib"))
        return 13;
    if (strstr(elf->runpath, "/../nvrtc/lib"))
        return 11;
    if (strstr(elf->runpath, "/cuda_nvrtc/lib") && version &&
        pep440_compare_text(version, "9.12") < 0)
        return 12;
    return 0;
}

/* cuRAND keeps its soname, but each of its releases belongs to one CUDA. */
static int major_of_curand(const char *version)
{
    static const struct {
        const char *package;
        int cuda_major;
    } packages[] = {
        { "nvidia-curand-cu11", 11 },
        { "nvidia-curand-cu12", 12 },
        { "nvidia-curand", 13 },
    };
    for (size_t i = 0; i < ARRAY_LEN(packages) && version; i++)
        if (kb_wheel_version_find(packages[i].package, version))
            return packages[i].cuda_major;
    return 0;
}

/* CUDA 13 cannot make code below sm_75 any more, CUDA 12 none below sm_50. What is newer may come
 * from several. */
static int major_of_code(const struct gpu_code *code)
{
    uint32_t lowest = UINT32_MAX;
    for (size_t i = 0; i < code->n_arch; i++) {
        if (!code->arch[i].ptx && (code->arch[i].number == 110 || code->arch[i].number == 88))
            return 13;
        lowest = code->arch[i].number < lowest ? code->arch[i].number : lowest;
    }
    return lowest < 50 ? 11 : 0;
}

static void judge_content(struct snapshot *s, struct lib_copy *copy, enum kb_family family)
{
    const char *how = NULL;
    int major = 0;
    if (family == KB_FAMILY_CURAND && (major = major_of_curand(copy->version)) != 0)
        how = "its version";
    const struct place_elf *file = major ? NULL : place_elf(s->place, copy->path);
    bool readable = file && file->known == KNOWN_PRESENT && file->elf->problem == ELF_FINE;
    if (readable && (major = major_of_needed(file->elf)) != 0)
        how = "the libraries it needs";
    if (readable && major == 0 && family == KB_FAMILY_CUDNN &&
        (major = major_of_runpath(file->elf, copy->version)) != 0)
        how = "its RUNPATH";
    if (readable && major == 0 && family == KB_FAMILY_CURAND) {
        const struct place_gpu_code *code = place_gpu_code(s->place, copy->path);
        if (code->known == KNOWN_PRESENT && (major = major_of_code(&code->code)) != 0)
            how = "its GPU code";
    }
    copy->cuda_major = major;
    copy->cuda_by = how;
}

/* --- all together ---------------------------------------------------------------------------- */

void shelf_judge(struct snapshot *s, const struct shelf *shelf, struct lib_copy *copy)
{
    enum kb_family family = kb_soname_family(copy->soname);
    const struct kb_library *row = kb_library_find(copy->soname);
    if (row && row->cuda_first != 0 && row->cuda_first == row->cuda_last) {
        copy->cuda_major = row->cuda_first;
        copy->cuda_by = "soname";
    }
    if (shelf->kind == SHELF_WHEEL)
        judge_wheel(s, shelf, copy);
    else
        copy->owner = shelf->owner;
    if (copy->cuda_major != 0 || family == KB_FAMILY_DRIVER)
        return;
    if (shelf->kind == SHELF_SYSTEM) {
        const char *package = NULL;
        copy->cuda_major = seen_package_cuda_major(s, copy->soname, &package);
        if (copy->cuda_major != 0)
            copy->cuda_by = arena_printf(&s->arena, "dpkg package %s", package);
    } else if (shelf->kind != SHELF_WHEEL) {
        copy->cuda_major = shelf->cuda_major;
        copy->cuda_by = shelf->cuda_major ? shelf->cuda_by : NULL;
    }
    if (copy->cuda_major == 0)
        judge_content(s, copy, family);
}
