/* Every copy of an NVIDIA library that lies where somebody might have meant it to be found. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "kb/kb.h"
#include "probe/folders.h"
#include "probe/look.h"
#include "probe/seen.h"
#include "probe/shelf.h"

#define SHELVES_MAX 512
#define COPIES_MAX 4096
#define OWNERS_MAX 1024
#define SMALL_DIR_BYTES 8192 /* a folder of this size holds some hundred names at most */
#define NAME_ROOM 128

struct shelves {
    VEC(struct shelf);
};

/* --- which folders --------------------------------------------------------------------------- */

static void shelf_add(struct snapshot *s, struct shelves *to, struct shelf shelf)
{
    const struct file_info *info = place_stat(s->place, shelf.dir);
    if (info->known != KNOWN_PRESENT || info->type != FILE_DIR || to->n >= SHELVES_MAX)
        return;
    for (size_t i = 0; i < to->n; i++)
        if (to->at[i].ino == info->ino && to->at[i].dev == info->dev)
            return;
    shelf.dev = info->dev;
    shelf.ino = info->ino;
    shelf.many_files = shelf.many_files || info->size_bytes > SMALL_DIR_BYTES;
    vec_push(to, shelf);
}

/* "/x/site-packages/nvidia/cudnn/lib" into site and folder; false when it is no folder of that
 * form. */
static bool split_wheel_dir(struct snapshot *s, const char *dir, const char **ret_site,
                            const char **ret_folder)
{
    const char *at = NULL;
    for (const char *next = strstr(dir, "/nvidia/"); next; next = strstr(next + 1, "/nvidia/"))
        at = next;
    const char *part = at ? at + strlen("/nvidia/") : NULL;
    const char *slash = part ? strchr(part, '/') : NULL;
    if (!slash || slash == part || !str_eq(slash, "/lib"))
        return false;
    *ret_site = arena_strndup(&s->arena, dir, (size_t)(at - dir));
    *ret_folder = at + 1;
    return true;
}

struct dist_list {
    VEC(const struct dist *);
};

/* Few of an environment's distributions can own a shelf; a hostile one may have very many that could. */
static void find_owners(const struct pyenv *env, struct dist_list *ret)
{
    for (size_t i = 0; i < env->n_dists && ret->n < OWNERS_MAX; i++)
        if (str_starts(env->dists[i]->name, "nvidia-") || str_starts(env->dists[i]->name, "tensorrt"))
            vec_push(ret, env->dists[i]);
}

static void add_wheel(struct snapshot *s, struct shelves *to, const struct dist_list *owners, struct shelf shelf)
{
    shelf.kind = SHELF_WHEEL;
    shelf_owners(s, &shelf, owners->at, owners->n);
    shelf_add(s, to, shelf);
}

static void add_wheels(struct snapshot *s, struct shelves *to, const struct pyenv *env)
{
    static const char *const folders[] = { "tensorrt_libs", "tensorrt" };
    struct dist_list owners = { 0 };
    struct names sites = { 0 }; /* where TensorRT was looked for */
    find_owners(env, &owners);
    for (size_t i = 0; i < env->n_nvidia_dirs; i++) {
        struct shelf shelf = { .dir = env->nvidia_dirs[i], .env = env };
        if (split_wheel_dir(s, shelf.dir, &shelf.site, &shelf.folder))
            add_wheel(s, to, &owners, shelf);
    }
    for (size_t i = 0; i < owners.n; i++) {
        const char *site = owners.at[i]->site;
        if (!str_starts(owners.at[i]->name, "tensorrt") || names_has(&sites, site))
            continue;
        vec_push(&sites, site);
        for (size_t k = 0; k < ARRAY_LEN(folders); k++)
            add_wheel(s, to, &owners,
                      (struct shelf){ .env = env,
                                      .site = site,
                                      .folder = folders[k],
                                      .dir = path_join(&s->arena, site, folders[k]) });
    }
    vec_done(&owners);
    vec_done(&sites);
}

static void add_torch(struct snapshot *s, struct shelves *to, const struct pyenv *env)
{
    if (!env->torch_dir)
        return;
    struct shelf shelf = { .kind = SHELF_TORCH,
                           .env = env,
                           .dir = path_join(&s->arena, env->torch_dir, "lib") };
    if (env->torch && env->torch->version)
        shelf.owner = arena_printf(&s->arena, "torch %s", env->torch->version);
    if (env->torch_cuda) {
        shelf.cuda_major = look_number(env->torch_cuda);
        shelf.cuda_by = arena_printf(&s->arena, "torch for CUDA %s", env->torch_cuda);
    }
    shelf_add(s, to, shelf);
}

static void add_conda(struct snapshot *s, struct shelves *to, const struct pyenv *env)
{
    if (env->kind != ENV_CONDA)
        return;
    struct shelf shelf = {
        .kind = SHELF_CONDA,
        .env = env,
        .dir = path_join(&s->arena, env->prefix, "lib"),
        .owner = arena_printf(&s->arena, "conda environment %s", env->prefix),
        .cuda_major = seen_conda_cuda_major(s, env->prefix),
        .cuda_by = "cuda-version of the conda environment",
        .many_files = true,
    };
    shelf_add(s, to, shelf);
}

static void add_toolkits(struct snapshot *s, struct shelves *to)
{
    static const char *const folders[] = { "lib64", "targets/x86_64-linux/lib",
                                           "targets/aarch64-linux/lib", "targets/sbsa-linux/lib",
                                           "lib" };
    for (size_t i = 0; i < s->components.n; i++) {
        const struct component *c = &s->components.at[i];
        if (!str_eq(c->how, "toolkit"))
            continue;
        struct shelf shelf = { .kind = SHELF_TOOLKIT, .owner = path_base(c->path) };
        if (c->version) {
            shelf.cuda_major = look_number(c->version);
            shelf.cuda_by = arena_printf(&s->arena, "folder %s", c->path);
        }
        for (size_t k = 0; k < ARRAY_LEN(folders); k++) {
            shelf.dir = path_join(&s->arena, c->path, folders[k]);
            /* Debian's /usr/lib/cuda/lib64 is a link into the system's folder: dpkg knows more of
             * that. */
            const char *real = place_realpath(s->place, shelf.dir);
            if (real && str_starts(real, c->path))
                shelf_add(s, to, shelf);
        }
    }
}

static bool is_system(const char *dir)
{
    static const char *const folders[] = { "/usr/lib/x86_64-linux-gnu",
                                           "/usr/lib/aarch64-linux-gnu",
                                           "/usr/lib64",
                                           "/lib/x86_64-linux-gnu",
                                           "/lib/aarch64-linux-gnu",
                                           "/lib64",
                                           "/usr/lib",
                                           "/lib" };
    for (size_t i = 0; i < ARRAY_LEN(folders); i++)
        if (str_eq(dir, folders[i]))
            return true;
    return false;
}

static bool is_other_class(const char *dir)
{
    return str_ends(dir, "/lib32") || str_ends(dir, "/libx32") || str_ends(dir, "/i386-linux-gnu");
}

/* "nvidia_cudnn_cu12-9.10.2.21.dist-info" as a distribution of site; NULL: it is none of NVIDIA's.
 */
static const struct dist *dist_of_name(struct snapshot *s, const char *site, const char *name)
{
    const char *dash = strchr(name, '-');
    if (!str_starts(name, "nvidia_") || !str_ends(name, ".dist-info") || !dash)
        return NULL;
    struct dist *d = arena_new(&s->arena, struct dist);
    char *normal = arena_strndup(&s->arena, name, (size_t)(dash - name));
    for (char *c = normal; *c; c++)
        *c = *c == '_' ? '-' : (char)tolower((unsigned char)*c);
    d->name = normal;
    d->version = arena_strndup(&s->arena, dash + 1, strlen(dash + 1) - strlen(".dist-info"));
    d->path = path_join(&s->arena, site, name);
    d->site = site;
    return d;
}

/* LD_LIBRARY_PATH often names the wheels of an environment that is not the one in use. */
static void add_foreign_wheel(struct snapshot *s, struct shelves *to, struct shelf shelf)
{
    struct dist_list all = { 0 };
    const struct listing *list = place_list(s->place, shelf.site);
    for (size_t i = 0; list->known == KNOWN_PRESENT && i < list->n && all.n < OWNERS_MAX; i++) {
        const struct dist *d = dist_of_name(s, shelf.site, list->at[i].name);
        if (d)
            vec_push(&all, d);
    }
    add_wheel(s, to, &all, shelf);
    vec_done(&all);
}

static bool have_dir(struct snapshot *s, const struct shelves *in, const char *dir)
{
    const struct file_info *info = place_stat(s->place, dir);
    for (size_t i = 0; info->known == KNOWN_PRESENT && i < in->n; i++)
        if (in->at[i].ino == info->ino && in->at[i].dev == info->dev)
            return true;
    return false;
}

static void add_loader_folders(struct snapshot *s, struct shelves *to)
{
    struct lib_folders folders = { 0 };
    folders_find(s, &folders);
    folders_add(s, &folders, "/opt/tensorrt/lib", FOLDER_KNOWN, "known folder");
    folders_add(s, &folders, "/usr/local/tensorrt/lib", FOLDER_KNOWN, "known folder");
    for (size_t i = 0; i < s->targets.n; i++) {
        const struct target *t = &s->targets.at[i];
        const char *file = t->kind == TARGET_ENV || !t->ort ? NULL
                           : t->ort->cuda                   ? t->ort->cuda
                                                            : t->ort->runtime;
        if (file)
            folders_add(s, &folders, path_dir(&s->arena, file), FOLDER_KNOWN, file);
    }
    for (size_t i = 0; i < folders.n; i++) {
        struct shelf shelf = { .kind = SHELF_LOOSE, .dir = folders.at[i].path };
        if (is_other_class(shelf.dir) || have_dir(s, to, shelf.dir))
            continue;
        if (split_wheel_dir(s, shelf.dir, &shelf.site, &shelf.folder)) {
            add_foreign_wheel(s, to, shelf);
            continue;
        }
        if (is_system(shelf.dir))
            shelf.kind = SHELF_SYSTEM;
        shelf_add(s, to, shelf);
    }
    vec_done(&folders);
}

/* Archives of cuDNN, TensorRT and toolkits are often unpacked below /opt. */
static void add_opt(struct snapshot *s, struct shelves *to)
{
    static const char *const words[] = { "cuda", "cudnn", "tensorrt", "onnxruntime" };
    static const char *const folders[] = { "lib64", "lib" };
    const struct listing *list = place_list(s->place, "/opt");
    for (size_t i = 0; list->known == KNOWN_PRESENT && i < list->n; i++)
        for (size_t k = 0; k < ARRAY_LEN(words); k++) {
            if (!strcasestr(list->at[i].name, words[k]))
                continue;
            const char *dir = path_join(&s->arena, "/opt", list->at[i].name);
            for (size_t f = 0; f < ARRAY_LEN(folders); f++)
                shelf_add(s, to,
                          (struct shelf){ .kind = SHELF_LOOSE,
                                          .dir = path_join(&s->arena, dir, folders[f]) });
            break;
        }
}

/* --- what lies on them ----------------------------------------------------------------------- */

/* The soname that a file name stands for: itself, or what is left of libcudnn.so.9.10.2. Libraries
 * with a hash or a second word in their names (libcudart-e409450e.so.11.0,
 * libnvrtc-builtins.so.12.4) satisfy nobody else's need. False: not a library that matters. */
static bool soname_of(const char *name, char *buf, size_t room)
{
    const char *version = look_soname_version(name);
    if (!version || strlen(name) >= room || !str_starts(name, "lib"))
        return false;
    const char *dash = memchr(name, '-', (size_t)(version - name));
    if ((dash && !str_starts(name, "libnvidia-ml.")) || !shelf_wants(kb_soname_family(name)) ||
        str_starts(name, "libcufftw.") || str_starts(name, "libnvblas."))
        return false;
    memcpy(buf, name, strlen(name) + 1);
    if (kb_library_find(name))
        return true;
    char *end = buf + (version - name) + strspn(version, "0123456789");
    /* These two had a minor number in their sonames until CUDA 11. */
    static const struct {
        const char *stem, *soname;
    } odd[] = {
        { "libcudart.so.11.", "libcudart.so.11.0" },
        { "libnvrtc.so.11.", "libnvrtc.so.11.2" },
    };
    for (size_t i = 0; i < ARRAY_LEN(odd); i++)
        if (str_starts(name, odd[i].stem)) {
            memcpy(buf, odd[i].soname, strlen(odd[i].soname) + 1);
            return true;
        }
    *end = '\0';
    return true;
}

/* The shelf that a link to an absolute path leads to, so that /usr/local/lib/libcudart.so.13 is
 * known as the toolkit's. */
static const struct shelf *shelf_behind(struct snapshot *s, const struct shelves *shelves,
                                        const char *path)
{
    const char *real = place_realpath(s->place, path);
    const struct file_info *info = real ? place_stat(s->place, path_dir(&s->arena, real)) : NULL;
    for (size_t i = 0; info && info->known == KNOWN_PRESENT && i < shelves->n; i++)
        if (shelves->at[i].ino == info->ino && shelves->at[i].dev == info->dev)
            return &shelves->at[i];
    return NULL;
}

/* type as the listing has it: a regular file needs no further look. */
static void copy_add(struct snapshot *s, const struct shelves *shelves, const struct shelf *shelf,
                     const char *name, const char *soname, enum file_type type)
{
    if (s->copies.n >= COPIES_MAX)
        return;
    const char *path = path_join(&s->arena, shelf->dir, name);
    const char *target = type == FILE_REGULAR ? NULL : place_readlink(s->place, path);
    if (type != FILE_REGULAR) {
        const struct file_info *info = place_stat(s->place, path);
        if (info->known != KNOWN_PRESENT || info->type != FILE_REGULAR)
            return;
    }
    /* Where 32-bit libraries may lie as well, the loader passes over them. */
    if (shelf->kind == SHELF_SYSTEM || shelf->kind == SHELF_LOOSE) {
        const struct place_elf *file = place_elf(s->place, path);
        if (file->known == KNOWN_PRESENT && elf_problem_skipped(file->elf->problem))
            return;
    }
    const char *version = look_soname_version(target ? path_base(target) : name);
    const char *plain = look_soname_version(soname);
    if (version && (!plain || str_eq(version, plain)))
        version = NULL;
    struct lib_copy copy = {
        .soname = arena_strdup(&s->arena, soname),
        .path = path,
        .version = version ? arena_strdup(&s->arena, version) : NULL,
    };
    const struct shelf *behind =
        target && strchr(target, '/') ? shelf_behind(s, shelves, path) : NULL;
    shelf_judge(s, behind ? behind : shelf, &copy);
    vec_push(&s->copies, copy);
}

static int entry_order(const void *name, const void *entry)
{
    return strcmp(name, ((const struct dir_entry *)entry)->name);
}

static void read_listed(struct snapshot *s, const struct shelves *shelves,
                        const struct shelf *shelf)
{
    const struct listing *list = place_list(s->place, shelf->dir);
    char soname[NAME_ROOM];
    if (list->known == KNOWN_FAILED)
        fact_unread(s, shelf->env, "libraries", shelf->dir, list->error);
    for (size_t i = 0; list->known == KNOWN_PRESENT && i < list->n; i++) {
        const char *name = list->at[i].name;
        if (!soname_of(name, soname, sizeof(soname)))
            continue;
        /* The full name behind a link of the soname is the same copy. */
        if (!str_eq(name, soname) &&
            bsearch(soname, list->at, list->n, sizeof(*list->at), entry_order))
            continue;
        copy_add(s, shelves, shelf, name, soname, list->at[i].type);
    }
}

static void read_named(struct snapshot *s, const struct shelves *shelves, const struct shelf *shelf)
{
    const struct kb_library *row;
    for (size_t i = 0; (row = kb_library_at(i)); i++)
        if (row->os == KB_OS_LINUX && shelf_wants(row->family) &&
            place_exists(s->place, path_join(&s->arena, shelf->dir, row->soname)))
            copy_add(s, shelves, shelf, row->soname, row->soname, FILE_NONE);
}

static void read_stub(struct snapshot *s, const struct shelf *shelf)
{
    const char *path = path_join(&s->arena, shelf->dir, "stubs/libcuda.so");
    if (s->copies.n >= COPIES_MAX || !place_exists(s->place, path))
        return;
    struct lib_copy copy = {
        .soname = "libcuda.so.1", .path = path, .owner = shelf->owner, .stub = true
    };
    vec_push(&s->copies, copy);
}

/* --- what is known only of all together ------------------------------------------------------ */

static bool same_folder(const char *a, const char *b)
{
    size_t n = (size_t)(path_base(a) - a);
    return n == (size_t)(path_base(b) - b) && strncmp(a, b, n) == 0;
}

/* libcudnn.so.9 is a small front that tells nothing by itself; those it opens lie beside it and do
 * tell. */
static void share_flavour(struct snapshot *s, size_t first)
{
    for (size_t i = first; i < s->copies.n; i++) {
        struct lib_copy *open = &s->copies.at[i];
        enum kb_family family = kb_soname_family(open->soname);
        if (open->cuda_major != 0 || (family != KB_FAMILY_CUDNN && family != KB_FAMILY_TENSORRT))
            continue;
        for (size_t k = first; k < s->copies.n; k++) {
            const struct lib_copy *told = &s->copies.at[k];
            if (told->cuda_major == 0 || kb_soname_family(told->soname) != family ||
                !same_folder(open->path, told->path))
                continue;
            open->cuda_major = told->cuda_major;
            open->cuda_by = arena_printf(&s->arena, "%s beside it", told->soname);
            break;
        }
    }
}

/* The header of the same toolkit knows the version that a file without a long name does not. */
static void version_by_header(struct snapshot *s)
{
    for (size_t i = 0; i < s->copies.n; i++) {
        struct lib_copy *copy = &s->copies.at[i];
        if (copy->version || copy->stub || kb_soname_family(copy->soname) != KB_FAMILY_CUDNN ||
            !copy->owner)
            continue;
        for (size_t k = 0; k < s->components.n; k++) {
            const struct component *c = &s->components.at[k];
            if (!c->path)
                continue;
            const char *include = strstr(c->path, "/include/");
            if (!str_eq(c->how, "header") || !str_eq(c->kind, "cudnn") || !include ||
                strncmp(copy->path, c->path, (size_t)(include - c->path)) != 0)
                continue;
            copy->version = c->version;
            break;
        }
    }
}

/* The one file of each component that stands for it. */
static const struct front {
    const char *prefix, *kind;
} fronts[] = {
    { "libcudnn.so.", "cudnn" },
    { "libnvinfer.so.", "tensorrt" },
    { "libcudart.so.", "cuda" },
};

static void components_of_copies(struct snapshot *s)
{
    for (size_t i = 0; i < s->copies.n; i++) {
        const struct lib_copy *copy = &s->copies.at[i];
        const char *package = copy->owner;
        /* Wheels have their own components; a toolkit's cudart is the toolkit. */
        if (copy->stub ||
            (package && (str_starts(package, "nvidia-") || str_starts(package, "tensorrt"))))
            continue;
        for (size_t k = 0; k < ARRAY_LEN(fronts); k++) {
            if (!str_starts(copy->soname, fronts[k].prefix) ||
                (str_eq(fronts[k].kind, "cuda") && package && str_starts(package, "cuda")))
                continue;
            struct component c = {
                .kind = fronts[k].kind,
                .version = copy->version ? copy->version : look_soname_version(copy->soname),
                .path = copy->path,
                .how = "library",
                .package = package,
            };
            look_component(s, &c, copy->path);
        }
    }
}

static const char *wheel_kind(const char *name)
{
    if (str_starts(name, "nvidia-cudnn-cu"))
        return "cudnn";
    if (str_starts(name, "nvidia-cuda-runtime"))
        return "cuda";
    if (str_eq(name, "tensorrt") || shelf_is_tensorrt(name))
        return "tensorrt";
    return NULL;
}

static void components_of_wheels(struct snapshot *s)
{
    for (size_t k = 0; k < s->envs.n; k++)
        for (size_t i = 0; i < s->envs.at[k]->n_dists; i++) {
            const struct dist *d = s->envs.at[k]->dists[i];
            const char *kind = wheel_kind(d->name);
            if (!kind)
                continue;
            struct component c = {
                .kind = kind,
                .version = d->version,
                .path = d->path,
                .how = "wheel",
                .package = d->name,
            };
            look_component(s, &c, d->path);
        }
}

/* dpkg's status file is worth its reading only where one of its libraries or headers was met. */
static bool has_packaged(const struct snapshot *s, const struct shelves *shelves)
{
    for (size_t i = 0; i < s->components.n; i++)
        if (str_eq(s->components.at[i].how, "header") &&
            str_starts(s->components.at[i].path, "/usr/include/"))
            return true;
    for (size_t i = 0; i < s->copies.n; i++) {
        if (kb_soname_family(s->copies.at[i].soname) == KB_FAMILY_DRIVER)
            continue;
        for (size_t k = 0; k < shelves->n; k++)
            if (shelves->at[k].kind == SHELF_SYSTEM &&
                str_starts(s->copies.at[i].path, shelves->at[k].dir) &&
                s->copies.at[i].path[strlen(shelves->at[k].dir)] == '/')
                return true;
    }
    return false;
}

void probe_copies(struct snapshot *s)
{
    struct shelves shelves = { 0 };
    seen_conda(s);
    for (size_t i = 0; i < s->envs.n; i++) {
        add_wheels(s, &shelves, s->envs.at[i]);
        add_torch(s, &shelves, s->envs.at[i]);
        add_conda(s, &shelves, s->envs.at[i]);
    }
    add_toolkits(s, &shelves);
    add_loader_folders(s, &shelves);
    add_opt(s, &shelves);
    for (size_t i = 0; i < shelves.n; i++) {
        size_t first = s->copies.n;
        if (shelves.at[i].many_files)
            read_named(s, &shelves, &shelves.at[i]);
        else
            read_listed(s, &shelves, &shelves.at[i]);
        share_flavour(s, first);
        read_stub(s, &shelves.at[i]);
    }
    if (has_packaged(s, &shelves))
        seen_packages(s);
    vec_done(&shelves);
    version_by_header(s);
    components_of_copies(s);
    components_of_wheels(s);
}
