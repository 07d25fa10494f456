/* What a pyenv shim would start: the version is chosen as `pyenv which` does, without running
 * it. */
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "probe/look.h"
#include "probe/python.h"
#include "version/pep440.h"

#define LEVELS_MAX 64

/* pyenv reads the first word of each line; comments and empty lines are passed over. */
static const char *version_file_read(struct snapshot *s, const char *file)
{
    const struct text *t = place_text(s->place, file, TEXT_WHOLE);
    if (t->known != KNOWN_PRESENT)
        return NULL;
    struct names versions = { 0 };
    struct look_line line = { 0 };
    while (look_next_line(t, &line) && versions.n < 64) {
        const char *text = look_trim(s, line.at, line.len > 1024 ? 1024 : line.len);
        size_t n = strcspn(text, " \t");
        if (n == 0 || text[0] == '#' || memchr(text, '/', n) ||
            (n == 2 && text[0] == '.' && text[1] == '.'))
            continue;
        vec_push(&versions, arena_strndup(&s->arena, text, n));
    }
    const char *all = NULL;
    for (size_t i = 0; i < versions.n; i++)
        all = all ? arena_printf(&s->arena, "%s:%s", all, versions.at[i]) : versions.at[i];
    vec_done(&versions);
    return all;
}

static const char *versions_wanted(struct snapshot *s, const char *root, const char **ret_why)
{
    const char *set = place_getenv(s->place, "PYENV_VERSION");
    if (set && *set) {
        *ret_why = "PYENV_VERSION";
        return set;
    }
    const char *starts[] = { place_getenv(s->place, "PYENV_DIR"), place_cwd(s->place) };
    for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
        if (!starts[i] || starts[i][0] != '/')
            continue;
        const char *dir = path_clean(&s->arena, starts[i]);
        for (unsigned level = 0; level < LEVELS_MAX; level++) {
            const char *file = path_join(&s->arena, dir, ".python-version");
            if (place_stat(s->place, file)->type == FILE_REGULAR) {
                *ret_why = file;
                return version_file_read(s, file);
            }
            if (str_eq(dir, "/"))
                break;
            dir = path_dir(&s->arena, dir);
        }
    }
    *ret_why = path_join(&s->arena, root, "version");
    return version_file_read(s, *ret_why);
}

/* The folder of this version: its exact name, else the newest installed one that begins with it. */
static const char *version_dir(struct snapshot *s, const char *root, const char *version)
{
    if (str_starts(version, "python-"))
        version += strlen("python-");
    const char *versions = path_join(&s->arena, root, "versions");
    const char *exact = path_join(&s->arena, versions, version);
    if (place_is_dir(s->place, exact))
        return exact;
    const struct listing *l = place_list(s->place, versions);
    const char *best = NULL;
    size_t n = strlen(version);
    for (size_t i = 0; i < l->n; i++) {
        const char *name = l->at[i].name;
        if (!str_starts(name, version) || name[n] != '.')
            continue;
        if (!best || pep440_compare_text(name, best) > 0)
            best = name;
    }
    return best ? path_join(&s->arena, versions, best) : NULL;
}

static const char *system_python(struct snapshot *s, const char *shims, const char *program)
{
    const char *path = place_getenv(s->place, "PATH");
    while (path && *path) {
        size_t n = strcspn(path, ":");
        const char *dir = path_clean(
            &s->arena, place_absolute(s->place, n ? arena_strndup(&s->arena, path, n) : "."));
        const char *file = path_join(&s->arena, dir, program);
        const struct file_info *info = place_stat(s->place, file);
        if (!str_eq(dir, shims) && info->type == FILE_REGULAR && (info->mode & 0111))
            return file;
        path += n + (path[n] == ':');
    }
    return NULL;
}

const char *pyenv_shim(struct snapshot *s, const char *shim, const char **ret_why)
{
    struct arena *a = &s->arena;
    const char *shims = path_dir(a, shim);
    const char *program = path_base(shim);
    const char *root = place_getenv(s->place, "PYENV_ROOT");
    if (!root || root[0] != '/')
        root = path_dir(a, shims);
    const char *origin = NULL;
    const char *wanted = versions_wanted(s, root, &origin);
    if (!wanted || !*wanted)
        wanted = "system";
    while (*wanted) {
        size_t n = strcspn(wanted, ":");
        const char *version = arena_strndup(a, wanted, n);
        wanted += n + (wanted[n] == ':');
        const char *file;
        if (str_eq(version, "system")) {
            file = system_python(s, shims, program);
        } else {
            const char *dir = n ? version_dir(s, root, version) : NULL;
            file = dir ? arena_printf(a, "%s/bin/%s", dir, program) : NULL;
        }
        if (file && place_stat(s->place, file)->type == FILE_REGULAR) {
            *ret_why = arena_printf(a, "pyenv %s, by %s", version, origin);
            return file;
        }
    }
    *ret_why =
        arena_printf(a, "a pyenv shim, and the version named by %s is not installed", origin);
    return NULL;
}
