/* sys.path as an interpreter would build it: the first entries as CPython's getpath does, the rest
 * as site.py. What Debian and Fedora patch into site.py is told apart by where their packages
 * lie. */
#include <string.h>

#include "base/path.h"
#include "base/str.h"
#include "probe/look.h"
#include "probe/python.h"

#define PATH_ENTRIES_MAX 1024
#define PTH_FILES_MAX 4096
#define PTH_NOTES_MAX 256

struct pypath {
    struct snapshot *s;
    struct pyenv_work *w;
    struct names path;
    struct names sites;
    struct names done; /* site folders whose .pth files were read */
    struct {
        VEC(struct pth_note);
    } notes;
    bool debian, fedora, user_site;
};

/* Python compares the texts, not the folders: two spellings of one folder stay two entries. */
static bool path_add(struct pypath *b, const char *dir, bool site)
{
    if (b->path.n >= PATH_ENTRIES_MAX || names_has(&b->path, dir))
        return false;
    vec_push(&b->path, dir);
    if (site)
        vec_push(&b->sites, dir);
    return true;
}

static const char *path_absolute(struct snapshot *s, const char *path)
{
    return path_clean(&s->arena, place_absolute(s->place, path));
}

static void pth_line(struct pypath *b, const char *dir, const char *file,
                     const struct look_line *line)
{
    struct snapshot *s = b->s;
    size_t len = line->len;
    while (len > 0 && strchr(" \t\r\f\v", line->at[len - 1]))
        len--;
    if (len == 0 || line->at[0] == '#' || memchr(line->at, '\0', len))
        return;
    if (line->len > 7 && memcmp(line->at, "import", 6) == 0 &&
        (line->at[6] == ' ' || line->at[6] == '\t')) {
        if (b->notes.n < PTH_NOTES_MAX)
            vec_push(&b->notes, (struct pth_note){ look_source(s, file, line->number),
                                                   look_trim(s, line->at, len > 200 ? 200 : len) });
        return;
    }
    const char *entry =
        path_clean(&s->arena, path_join(&s->arena, dir, arena_strndup(&s->arena, line->at, len)));
    if (!names_has(&b->path, entry) && place_exists(s->place, entry))
        path_add(b, entry, true);
}

static void pth_read(struct pypath *b, const char *dir, const char *name)
{
    const char *file = path_join(&b->s->arena, dir, name);
    const struct text *t = place_text(b->s->place, file, TEXT_WHOLE);
    if (t->known != KNOWN_PRESENT)
        return;
    struct text rest = *t;
    if (rest.len >= 3 && memcmp(rest.at, "\xef\xbb\xbf", 3) == 0 && b->w->env.minor >= 13) {
        rest.at += 3;
        rest.len -= 3;
    }
    struct look_line line = { 0 };
    while (look_next_line(&rest, &line))
        pth_line(b, dir, file, &line);
}

/* site.addsitedir, for a folder that must exist. */
static void site_add(struct pypath *b, const char *dir)
{
    dir = path_clean(&b->s->arena, dir);
    if (names_has(&b->done, dir))
        return;
    const struct listing *l = place_list(b->s->place, dir);
    if (l->known != KNOWN_PRESENT && l->known != KNOWN_FAILED)
        return;
    path_add(b, dir, true);
    vec_push(&b->done, dir);
    size_t files = 0;
    for (size_t i = 0; i < l->n && files < PTH_FILES_MAX; i++) {
        const char *name = l->at[i].name;
        if (!str_ends(name, ".pth") || (name[0] == '.' && b->w->env.minor >= 13))
            continue;
        pth_read(b, dir, name);
        files++;
    }
}

/* site.getsitepackages for one prefix, each folder added where it exists. */
static void prefix_add(struct pypath *b, const char *prefix)
{
    struct arena *a = &b->s->arena;
    const char *name = b->w->lib_name;
    if (!prefix)
        return;
    if (b->debian) {
        if (b->w->env.kind == ENV_VENV)
            site_add(b, arena_printf(a, "%s/lib/%s/site-packages", prefix, name));
        site_add(b, arena_printf(a, "%s/local/lib/%s/dist-packages", prefix, name));
        site_add(b, arena_printf(a, "%s/lib/python3/dist-packages", prefix));
        site_add(b, arena_printf(a, "%s/lib/%s/dist-packages", prefix, name));
        return;
    }
    if (!str_eq(b->w->platlib, "lib"))
        site_add(b, arena_printf(a, "%s/%s/%s/site-packages", prefix, b->w->platlib, name));
    site_add(b, arena_printf(a, "%s/lib/%s/site-packages", prefix, name));
}

static const char *user_base(struct snapshot *s)
{
    const char *base = place_getenv(s->place, "PYTHONUSERBASE");
    if (base && *base)
        return path_absolute(s, base);
    const char *home = place_getenv(s->place, "HOME");
    if (!home || !*home)
        home = place_machine(s->place)->home;
    /* in a container the user is root unless something says otherwise */
    if (!home && place_is_tree(s))
        home = "/root";
    return home && home[0] == '/' ? path_join(&s->arena, home, ".local") : NULL;
}

static void user_site_add(struct pypath *b)
{
    const char *base = b->user_site ? user_base(b->s) : NULL;
    if (base)
        site_add(b, arena_printf(&b->s->arena, "%s/lib/%s/site-packages", base, b->w->lib_name));
}

/* The entries that the interpreter itself puts before site.py runs. */
static void first_entries(struct pypath *b)
{
    struct snapshot *s = b->s;
    struct pyenv_work *w = b->w;
    const char *given = place_getenv(s->place, "PYTHONPATH");
    while (given && *given && b->path.n < PATH_ENTRIES_MAX) {
        size_t n = strcspn(given, ":");
        path_add(b, path_absolute(s, n ? arena_strndup(&s->arena, given, n) : "."), true);
        given += n;
        if (*given == ':' && !*++given) /* an empty last element counts */
            path_add(b, path_absolute(s, "."), true);
    }
    if (!w->stdlib_prefix)
        return;
    const char *lib = arena_printf(
        &s->arena, "%s/%s", str_eq(w->stdlib_prefix, "/") ? "" : w->stdlib_prefix, w->platlib);
    const char *t = str_ends(w->lib_name, "t") ? "t" : "";
    path_add(b, arena_printf(&s->arena, "%s/python%d%d%s.zip", lib, w->env.major, w->env.minor, t),
             false);
    path_add(b, arena_printf(&s->arena, "%s/%s", lib, w->lib_name), false);
    path_add(b, arena_printf(&s->arena, "%s/%s/lib-dynload", lib, w->lib_name), false);
}

static void patches_tell(struct pypath *b)
{
    const char *base = b->w->env.base_prefix;
    if (!base || !(str_eq(base, "/usr") || str_eq(base, "/")))
        return;
    if (str_eq(b->w->platlib, "lib64"))
        b->fedora = true;
    else
        b->debian = place_is_dir(b->s->place, "/usr/lib/python3/dist-packages") ||
                    place_exists(b->s->place, "/etc/debian_version");
}

static void site_entries(struct pypath *b)
{
    const struct pyenv *env = &b->w->env;
    bool venv = env->kind == ENV_VENV;
    if (venv)
        prefix_add(b, env->prefix);
    bool system = !venv || b->w->cfg_system_site;
    const char *no_user = place_getenv(b->s->place, "PYTHONNOUSERSITE");
    b->user_site = system && !(no_user && *no_user);
    user_site_add(b);
    if (!system)
        return;
    if (b->fedora && b->user_site)
        prefix_add(b, "/usr/local");
    prefix_add(b, env->prefix);
    prefix_add(b, env->base_prefix);
}

const char *const *names_keep(struct snapshot *s, const struct names *names)
{
    const char **kept = arena_alloc(&s->arena, (names->n + 1) * sizeof *kept);
    for (size_t i = 0; i < names->n; i++)
        kept[i] = names->at[i];
    kept[names->n] = NULL;
    return kept;
}

void pypath_build(struct snapshot *s, struct pyenv_work *w)
{
    struct pypath b = { .s = s, .w = w };
    if (w->lib_name) {
        first_entries(&b);
        patches_tell(&b);
        site_entries(&b);
    }
    w->env.sys_path = names_keep(s, &b.path);
    w->env.n_sys_path = b.path.n;
    w->sites = names_keep(s, &b.sites);
    w->n_sites = b.sites.n;
    struct pth_note *notes = arena_alloc(&s->arena, (b.notes.n + 1) * sizeof *notes);
    for (size_t i = 0; i < b.notes.n; i++)
        notes[i] = b.notes.at[i];
    w->notes = notes;
    w->n_notes = b.notes.n;
    vec_done(&b.path);
    vec_done(&b.sites);
    vec_done(&b.done);
    vec_done(&b.notes);
}
