/* One environment, read from its interpreter's place in the file system, pyvenv.cfg and folder
 * names. */
#include "probe/pyfind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "probe/look.h"

#define LEVELS_MAX 64

static const char *join(struct snapshot *s, const char *dir, const char *name)
{
    return path_join(&s->arena, dir, name);
}

static bool is_file(struct snapshot *s, const char *path)
{
    return place_stat(s->place, path)->type == FILE_REGULAR;
}

/* "python3.11" and "python3.13t" are versions; "python3", "python3-config" and "python3.11-dbg" are
 * not. */
static bool version_of_name(const char *name, int *ret_major, int *ret_minor)
{
    if (!str_starts(name, "python") || name[6] < '2' || name[6] > '9' || name[7] != '.')
        return false;
    char *end;
    if (name[8] < '0' || name[8] > '9')
        return false;
    long minor = strtol(name + 8, &end, 10);
    if (end - name > 11 || minor > 999 || !(*end == '\0' || (end[0] == 't' && end[1] == '\0')))
        return false;
    *ret_major = name[6] - '0';
    *ret_minor = (int)minor;
    return true;
}

static const char *cfg_value(struct snapshot *s, const struct look_line *line, const char *key)
{
    const char *eq = memchr(line->at, '=', line->len);
    if (!eq)
        return NULL;
    const char *name = look_trim(s, line->at, (size_t)(eq - line->at));
    if (strcasecmp(name, key) != 0)
        return NULL;
    return look_trim(s, eq + 1, line->len - (size_t)(eq + 1 - line->at));
}

static void cfg_read(struct snapshot *s, struct pyenv_work *w, const char *file)
{
    const struct text *t = place_text(s->place, file, TEXT_WHOLE);
    w->cfg = file;
    w->cfg_system_site = true; /* as site.py: only a line can say no */
    struct look_line line = { 0 };
    while (t->known == KNOWN_PRESENT && look_next_line(t, &line)) {
        if (line.len > 4096)
            continue;
        const char *v;
        if ((v = cfg_value(s, &line, "home")) && *v)
            w->cfg_home = path_clean(&s->arena, place_absolute(s->place, v));
        else if ((v = cfg_value(s, &line, "include-system-site-packages")))
            w->cfg_system_site = strcasecmp(v, "true") == 0;
        else if ((v = cfg_value(s, &line, "version")) || (v = cfg_value(s, &line, "version_info")))
            w->cfg_version = v;
        else if (cfg_value(s, &line, "uv"))
            w->cfg_uv = true;
    }
}

static bool version_from_cfg(struct pyenv_work *w)
{
    int major = 0, minor = 0;
    const char *v = w->cfg_version;
    if (!v || sscanf(v, "%2d.%3d", &major, &minor) != 2 || major < 2 || minor < 0)
        return false;
    w->env.major = major;
    w->env.minor = minor;
    return true;
}

/* The newest lib/pythonX.Y below a prefix; for interpreters whose file name has no version. */
static const char *version_from_lib(struct snapshot *s, struct pyenv_work *w, const char *prefix)
{
    static const char *const libs[] = { "lib", "lib64" };
    const char *best = NULL;
    for (size_t k = 0; prefix && !best && k < ARRAY_LEN(libs); k++) {
        const char *lib = join(s, prefix, libs[k]);
        const struct listing *l = place_list(s->place, lib);
        for (size_t i = 0; i < l->n; i++) {
            int major, minor;
            if (!version_of_name(l->at[i].name, &major, &minor) || major < 3)
                continue;
            const char *dir = join(s, lib, l->at[i].name);
            if (major * 1000 + minor < w->env.major * 1000 + w->env.minor ||
                !(is_file(s, join(s, dir, "os.py")) ||
                  place_is_dir(s->place, join(s, dir, "site-packages"))))
                continue;
            best = l->at[i].name;
            w->env.major = major;
            w->env.minor = minor;
            w->version_source = dir;
        }
    }
    return best;
}

static void version_find(struct snapshot *s, struct pyenv_work *w)
{
    const char *named[] = { w->env.exe, w->env.python };
    for (size_t i = 0; i < ARRAY_LEN(named); i++) {
        if (!named[i] || !version_of_name(path_base(named[i]), &w->env.major, &w->env.minor))
            continue;
        w->version_source = named[i];
        w->lib_name = path_base(named[i]);
        return;
    }
    if (version_from_cfg(w)) {
        w->version_source = w->cfg;
        w->lib_name = arena_printf(&s->arena, "python%d.%d", w->env.major, w->env.minor);
        return;
    }
    const char *beside = w->env.exe ? path_dir(&s->arena, path_dir(&s->arena, w->env.exe)) : NULL;
    w->lib_name = version_from_lib(s, w, beside);
    if (!w->lib_name)
        w->lib_name = version_from_lib(s, w, w->env.prefix);
}

/* From dir upwards, the first folder that holds the standard library, as getpath searches. */
static const char *stdlib_above(struct snapshot *s, struct pyenv_work *w, const char *dir)
{
    static const char *const libs[] = { "lib", "lib64" };
    for (unsigned level = 0; dir && level < LEVELS_MAX; level++) {
        for (size_t k = 0; k < ARRAY_LEN(libs); k++) {
            const char *root = str_eq(dir, "/") ? "" : dir;
            if (!is_file(s, arena_printf(&s->arena, "%s/%s/%s/os.py", root, libs[k], w->lib_name)))
                continue;
            w->platlib = libs[k];
            return dir;
        }
        if (str_eq(dir, "/"))
            return NULL;
        dir = path_dir(&s->arena, dir);
    }
    return NULL;
}

static void stdlib_find(struct snapshot *s, struct pyenv_work *w)
{
    const char *home = place_getenv(s->place, "PYTHONHOME");
    w->platlib = "lib";
    if (!w->lib_name)
        return;
    if (home && *home) {
        w->stdlib_prefix = path_clean(
            &s->arena,
            place_absolute(s->place, arena_strndup(&s->arena, home, strcspn(home, ":"))));
        return;
    }
    if (w->cfg_home)
        w->stdlib_prefix = stdlib_above(s, w, w->cfg_home);
    if (!w->stdlib_prefix && w->env.exe)
        w->stdlib_prefix = stdlib_above(s, w, path_dir(&s->arena, w->env.exe));
    if (!w->stdlib_prefix && !w->cfg)
        w->stdlib_prefix = stdlib_above(s, w, w->env.prefix);
}

/* Without a standard library in sight the names of the folders have to do. */
static const char *prefix_of(struct snapshot *s, const char *python)
{
    const char *dir = path_dir(&s->arena, python);
    return str_eq(path_base(dir), "bin") ? path_dir(&s->arena, dir) : dir;
}

static bool looks_like_one(struct snapshot *s, const struct pyenv_work *w)
{
    if (w->cfg || w->stdlib_prefix || w->env.kind == ENV_CONDA)
        return true;
    return w->lib_name && (place_is_dir(s->place, arena_printf(&s->arena, "%s/lib/%s/site-packages",
                                                               w->env.prefix, w->lib_name)) ||
                           (w->env.exe && str_starts(path_base(w->env.exe), "python")));
}

bool pyfind_is_script(struct snapshot *s, const char *file)
{
    const struct text *t = place_text(s->place, file, TEXT_FIRST_LINE);
    return t->known == KNOWN_PRESENT && t->len >= 2 && t->at[0] == '#' && t->at[1] == '!';
}

struct pyenv_work *pyfind_open(struct snapshot *s, const char *python, const char *prefix,
                               const char *why)
{
    struct arena *a = &s->arena;
    struct pyenv_work *w = arena_new(a, struct pyenv_work);
    python = path_clean(a, python);
    w->env.python = python;
    w->env.why = why;
    w->env.exe = place_realpath(s->place, python);
    const char *bin = path_dir(a, python), *above = path_dir(a, bin);
    const char *cfgs[] = { join(s, bin, "pyvenv.cfg"), join(s, above, "pyvenv.cfg") };
    for (size_t i = 0; i < ARRAY_LEN(cfgs) && !w->cfg; i++)
        if (is_file(s, cfgs[i]))
            cfg_read(s, w, cfgs[i]);
    w->env.prefix = w->cfg ? above
                  : prefix ? prefix
                           : prefix_of(s, w->env.exe ? w->env.exe : python);
    version_find(s, w);
    stdlib_find(s, w);
    if (w->cfg) {
        w->env.kind = ENV_VENV;
        w->env.base_prefix = w->stdlib_prefix ? w->stdlib_prefix
                           : w->cfg_home      ? path_dir(a, w->cfg_home)
                                              : NULL;
    } else {
        if (w->stdlib_prefix)
            w->env.prefix = w->stdlib_prefix;
        w->env.base_prefix = w->env.prefix;
        w->env.kind =
            place_is_dir(s->place, join(s, w->env.prefix, "conda-meta")) ? ENV_CONDA : ENV_SYSTEM;
    }
    return looks_like_one(s, w) ? w : NULL;
}

struct pyenv_work *pyfind_folder(struct snapshot *s, const char *dir, const char *why)
{
    static const char *const names[] = { "bin/python", "bin/python3", "python", "python3" };
    struct arena *a = &s->arena;
    dir = path_clean(a, dir);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *python = join(s, dir, names[i]);
        const struct file_info *info = place_lstat(s->place, python);
        if (info->type != FILE_REGULAR && info->type != FILE_LINK)
            continue;
        if (info->type == FILE_REGULAR && pyfind_is_script(s, python))
            continue;
        return pyfind_open(s, python, i < 2 ? dir : NULL, why);
    }
    /* no interpreter, yet perhaps what one would have seen: a tree copied without it */
    struct pyenv_work *w = pyfind_open(s, join(s, dir, "bin/python"), dir, why);
    return w && (w->cfg || w->lib_name || w->env.kind == ENV_CONDA) ? w : NULL;
}
