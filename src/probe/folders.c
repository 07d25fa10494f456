#include "probe/folders.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "probe/look.h"

#define FOLDERS_MAX 256
#define CONF_FILES_MAX 64
#define PATH_MAX_LEN 4096

/* /usr first: where /lib is a link to usr/lib, the real name is the one to show. */
static const char *const default_folders[] = {
    "/usr/lib/x86_64-linux-gnu",
    "/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/lib64",
    "/usr/lib",
    "/lib",
};

static const char *const driver_folders[] = {
    "/usr/lib/wsl/lib",
    "/usr/local/nvidia/lib64",
    "/usr/local/nvidia/lib",
    "/usr/lib/x86_64-linux-gnu/nvidia/current",
    "/usr/lib/aarch64-linux-gnu/tegra",
    "/usr/lib/aarch64-linux-gnu/nvidia",
    "/usr/lib64/nvidia",
    "/usr/lib/nvidia",
    "/run/opengl-driver/lib",
    "/home/kubernetes/bin/nvidia/lib64",
};

bool folders_add(struct snapshot *s, struct lib_folders *to, const char *path, enum folder_via via,
                 const char *source)
{
    if (to->n >= FOLDERS_MAX)
        return false;
    const struct file_info *info = place_stat(s->place, path);
    if (info->known == KNOWN_FAILED && info->error != EACCES)
        fact_unread(s, NULL, "loader.folder", path, info->error); /* EACCES: the loader may not look there either */
    if (info->known != KNOWN_PRESENT || info->type != FILE_DIR)
        return false;
    for (size_t i = 0; i < to->n; i++)
        if (to->at[i].ino == info->ino && to->at[i].dev == info->dev)
            return false;
    struct lib_folder folder = {
        .path = arena_strdup(&s->arena, path),
        .via = via,
        .source = source,
        .dev = info->dev,
        .ino = info->ino,
    };
    vec_push(to, folder);
    return true;
}

static void add_env(struct snapshot *s, struct lib_folders *to)
{
    const char *paths = place_getenv(s->place, "LD_LIBRARY_PATH");
    while (paths && *paths) {
        size_t len = strcspn(paths, ":;");
        if (len > 0 && len < PATH_MAX_LEN && !memchr(paths, '$', len)) {
            const char *path = place_absolute(s->place, arena_strndup(&s->arena, paths, len));
            folders_add(s, to, path, FOLDER_ENV, "LD_LIBRARY_PATH");
        }
        paths += len;
        paths += *paths ? 1 : 0;
    }
}

static void add_conf_file(struct snapshot *s, struct lib_folders *to, const char *file)
{
    const struct text *t = place_text(s->place, file, TEXT_WHOLE);
    for (struct look_line line = { 0 }; look_next_line(t, &line);) {
        const char *comment = memchr(line.at, '#', line.len);
        size_t len = comment ? (size_t)(comment - line.at) : line.len;
        if (len == 0 || len >= PATH_MAX_LEN)
            continue;
        const char *path = look_trim(s, line.at, len);
        if (*path == '/')
            folders_add(s, to, path, FOLDER_CONF, look_source(s, file, line.number));
    }
}

/* ldconfig follows include lines; every distribution has exactly the one for ld.so.conf.d/ *.conf.
 */
static void add_conf(struct snapshot *s, struct lib_folders *to)
{
    const char *dir = "/etc/ld.so.conf.d";
    add_conf_file(s, to, "/etc/ld.so.conf");
    const struct listing *list = place_list(s->place, dir);
    if (list->known != KNOWN_PRESENT)
        return;
    size_t n = 0;
    for (size_t i = 0; i < list->n && n < CONF_FILES_MAX; i++) {
        const char *name = list->at[i].name;
        if (!str_ends(name, ".conf") || name[0] == '.')
            continue;
        add_conf_file(s, to, path_join(&s->arena, dir, name));
        n++;
    }
}

static bool is_nvidia(const char *name)
{
    static const char *const stems[] = { "libcublas", "libcudart.", "libcudnn", "libcufft.", "libcurand.", "libnvrtc.",
                                         "libnvinfer", "libcuda.", "libnvidia-ml." };
    for (size_t i = 0; i < ARRAY_LEN(stems); i++)
        if (str_starts(name, stems[i]))
            return true;
    return false;
}

/* The cache may hold folders that ld.so.conf does not name, or no more. Its strings are enough here: which entry
 * serves a name is the loader's business. */
static void add_cache(struct snapshot *s, struct lib_folders *to)
{
    static const char file[] = "/etc/ld.so.cache";
    const struct text *t = place_text(s->place, file, TEXT_LDCACHE);
    if (t->known != KNOWN_PRESENT)
        return;
    const char *last = "";
    for (const char *p = t->at, *end = t->at + t->len; p < end;) {
        const char *slash = memchr(p, '/', (size_t)(end - p));
        if (!slash)
            break;
        size_t len = strnlen(slash, (size_t)(end - slash));
        const char *name = len < PATH_MAX_LEN && slash + len < end ? path_base(slash) : "";
        p = slash + len;
        if (!is_nvidia(name))
            continue;
        const char *dir = path_dir(&s->arena, slash);
        if (!str_eq(dir, last))
            folders_add(s, to, dir, FOLDER_CACHE, file);
        last = dir;
    }
}

void folders_find(struct snapshot *s, struct lib_folders *ret)
{
    add_env(s, ret);
    add_cache(s, ret);
    add_conf(s, ret);
    for (size_t i = 0; i < ARRAY_LEN(default_folders); i++)
        folders_add(s, ret, default_folders[i], FOLDER_DEFAULT, "default folder");
    for (size_t i = 0; i < ARRAY_LEN(driver_folders); i++)
        folders_add(s, ret, driver_folders[i], FOLDER_KNOWN, "folder of drivers");
}
