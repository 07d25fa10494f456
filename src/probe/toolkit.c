/* CUDA toolkits, and the headers of cuDNN and TensorRT, outside of Python. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "base/str.h"
#include "probe/look.h"
#include "probe/seen.h"

#define TOOLKITS_MAX 64

/* --- where toolkits lie ---------------------------------------------------------------------- */

static void add_folder(struct snapshot *s, struct names *to, const char *path)
{
    const char *real = place_realpath(s->place, path);
    if (!real || to->n >= TOOLKITS_MAX || !place_is_dir(s->place, real))
        return;
    if (!names_has(to, real))
        vec_push(to, real);
}

static bool is_toolkit_name(const char *name)
{
    return str_eq(name, "cuda") || (str_starts(name, "cuda-") && isdigit((unsigned char)name[5]));
}

/* What the user's own variable or a distribution's folder names counts only when it looks like a
 * toolkit. */
static bool has_libraries(struct snapshot *s, const char *dir)
{
    static const char *const inside[] = { "lib64", "targets", "lib" };
    for (size_t i = 0; i < ARRAY_LEN(inside); i++)
        if (place_is_dir(s->place, path_join(&s->arena, dir, inside[i])))
            return true;
    return false;
}

static const char *const variables[] = { "CUDA_HOME", "CUDA_PATH", "CUDA_ROOT" };

void seen_toolkit_folders(struct snapshot *s, struct names *ret)
{
    static const char *const others[] = { "/usr/lib/cuda", "/opt/cuda" };
    const struct listing *list = place_list(s->place, "/usr/local");
    for (size_t i = 0; list->known == KNOWN_PRESENT && i < list->n; i++)
        if (is_toolkit_name(list->at[i].name))
            add_folder(s, ret, path_join(&s->arena, "/usr/local", list->at[i].name));
    for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
        const char *dir = place_getenv(s->place, variables[i]);
        if (dir && *dir == '/' && !str_eq(dir, "/") && !str_eq(dir, "/usr") &&
            has_libraries(s, dir))
            add_folder(s, ret, dir);
    }
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        add_folder(s, ret, others[i]);
}

/* --- their versions -------------------------------------------------------------------------- */

/* {"cuda": {"version": "12.4.1"}, ...} */
static const char *version_json(struct snapshot *s, const char *file)
{
    const struct text *t = place_text(s->place, file, TEXT_WHOLE);
    if (t->known != KNOWN_PRESENT)
        return NULL;
    cleanup_(jsonr_decref) json_t *root = NULL;
    if (jsonr_parse(t->at, t->len, &root, NULL) != 0)
        return NULL;
    const char *version = jsonr_str(jsonr_object(root, "cuda"), "version");
    return version ? look_trim(s, version, strlen(version)) : NULL;
}

/* "CUDA Version 10.2.89" */
static const char *version_txt(struct snapshot *s, const char *file)
{
    const char *line = look_first_line(s, file);
    const char *at = line ? strpbrk(line, "0123456789") : NULL;
    return at ? arena_strndup(&s->arena, at, strspn(at, "0123456789.")) : NULL;
}

/* "13.0" of /usr/local/cuda-13.0 */
static const char *version_of_folder(struct snapshot *s, const char *dir)
{
    const char *dash = strrchr(path_base(dir), '-');
    if (!dash || !isdigit((unsigned char)dash[1]) || dash[1 + strspn(dash + 1, "0123456789.")])
        return NULL;
    return arena_strdup(&s->arena, dash + 1);
}

static void see_toolkit(struct snapshot *s, const char *dir, const char *current)
{
    struct arena *a = &s->arena;
    const char *source = path_join(a, dir, "version.json");
    const char *version = version_json(s, source);
    if (!version) {
        source = path_join(a, dir, "version.txt");
        version = version_txt(s, source);
    }
    if (!version) {
        source = dir;
        version = version_of_folder(s, dir);
    }
    struct component c = {
        .kind = "cuda",
        .version = version,
        .path = dir,
        .how = "toolkit",
        .current = current && str_eq(current, dir),
    };
    look_component(s, &c, source);
}

/* A variable that points to nothing misleads builds and wrappers. */
static void see_variables(struct snapshot *s)
{
    for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
        const char *dir = place_getenv(s->place, variables[i]);
        if (!dir || !*dir)
            continue;
        bool there = *dir == '/' && place_is_dir(s->place, dir);
        fact_add(s, there ? KNOWN_PRESENT : KNOWN_FAILED,
                 arena_printf(&s->arena, "environment.%s", variables[i]),
                 there ? dir : arena_printf(&s->arena, "%s is no folder", dir), variables[i]);
    }
}

/* --- headers --------------------------------------------------------------------------------- */

/* A header whose defines give a version. Files are tried in order; the first that exists is read.
 */
static const struct header {
    const char *kind;
    const char *files[2];
    const char *defines[4];
} headers[] = {
    { "cudnn",
      { "cudnn_version.h", "cudnn.h" },
      { "CUDNN_MAJOR", "CUDNN_MINOR", "CUDNN_PATCHLEVEL" } },
    { "tensorrt",
      { "NvInferVersion.h" },
      { "NV_TENSORRT_MAJOR", "NV_TENSORRT_MINOR", "NV_TENSORRT_PATCH", "NV_TENSORRT_BUILD" } },
};

static const char *header_version(struct snapshot *s, const struct header *h, const struct text *t)
{
    const char *version = NULL;
    for (size_t i = 0; i < ARRAY_LEN(h->defines) && h->defines[i]; i++) {
        int n = look_define(t, h->defines[i]);
        if (n < 0)
            break;
        version = version ? arena_printf(&s->arena, "%s.%d", version, n)
                          : arena_printf(&s->arena, "%d", n);
    }
    return version;
}

/* Folders may be links to one another (Debian's /usr/lib/cuda/include): each real file once. */
static bool have_header(const struct snapshot *s, const char *real)
{
    for (size_t i = 0; i < s->components.n; i++)
        if (str_eq(s->components.at[i].how, "header") && str_eq(s->components.at[i].path, real))
            return true;
    return false;
}

static void see_header(struct snapshot *s, const struct header *h, const char *dir)
{
    for (size_t i = 0; i < ARRAY_LEN(h->files) && h->files[i]; i++) {
        const char *path = path_join(&s->arena, dir, h->files[i]);
        const struct text *t = place_text(s->place, path, TEXT_VERSION_LINES);
        if (t->known != KNOWN_PRESENT)
            continue;
        const char *real = place_realpath(s->place, path);
        if (have_header(s, real ? real : path))
            return;
        struct component c = {
            .kind = h->kind,
            .version = header_version(s, h, t),
            .path = real ? real : path,
            .how = "header",
        };
        look_component(s, &c, path);
        return;
    }
}

static void see_headers(struct snapshot *s, const char *dir)
{
    if (place_is_dir(s->place, dir))
        for (size_t i = 0; i < ARRAY_LEN(headers); i++)
            see_header(s, &headers[i], dir);
}

void probe_toolkit(struct snapshot *s)
{
    static const char *const include[] = {
        "/usr/include/x86_64-linux-gnu",
        "/usr/include/aarch64-linux-gnu",
        "/usr/include",
        "/usr/local/include",
        "/usr/local/tensorrt/include",
        "/opt/tensorrt/include",
    };
    struct names folders = { 0 };
    seen_toolkit_folders(s, &folders);
    const char *current = place_realpath(s->place, "/usr/local/cuda");
    for (size_t i = 0; i < folders.n; i++) {
        see_toolkit(s, folders.at[i], current);
        see_headers(s, path_join(&s->arena, folders.at[i], "include"));
    }
    for (size_t i = 0; i < ARRAY_LEN(include); i++)
        see_headers(s, include[i]);
    const struct listing *local = place_list(s->place, "/usr/local");
    if (local->known == KNOWN_FAILED)
        fact_add(s, KNOWN_FAILED, "cuda.toolkit", strerror(local->error), "/usr/local");
    else if (folders.n == 0)
        fact_add(s, KNOWN_ABSENT, "cuda.toolkit", NULL, "/usr/local/cuda*");
    vec_done(&folders);
    see_variables(s);
}
