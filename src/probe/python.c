/* Which Python environments there are: the one named, the active one, those of the working folder,
 * those on PATH; below a root folder those in the usual places. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "probe/look.h"
#include "probe/pyfind.h"

#define LEVELS_MAX 64
#define ENVS_MAX 64

/* Where trees and images keep environments; a trailing slash-star stands for every folder
 * inside. */
static const char *const usual_folders[] = {
    "/opt/venv",
    "/venv",
    "/.venv",
    "/app/.venv",
    "/app/venv",
    "/workspace/.venv",
    "/workspace/venv",
    "/code/.venv",
    "/srv/venv",
    "/usr/src/app/.venv",
    "/root/.venv",
    "/root/venv",
    "/opt/conda",
    "/opt/miniconda3",
    "/opt/miniforge3",
    "/opt/mambaforge",
    "/root/miniconda3",
    "/root/anaconda3",
    "/usr/local/*",
    "/opt/*",
    "/opt/conda/envs/*",
    "/opt/venvs/*",
    "/root/miniconda3/envs/*",
    "/root/.virtualenvs/*",
    "/root/.cache/pypoetry/virtualenvs/*",
    "/root/.pyenv/versions/*",
    "/root/.local/share/uv/python/*",
};
static const char *const usual_interpreters[] = { "/usr/local/bin/python3", "/usr/bin/python3",
                                                  "/usr/local/bin/python", "/usr/bin/python" };
/* Folders of a project, beside or above the working folder. */
static const char *const project_folders[] = { ".venv", "venv", ".pixi/envs/default" };

const char *fact_key(struct snapshot *s, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char key[512];
    int n = vsnprintf(key, sizeof key, fmt, args);
    va_end(args);
    return arena_strndup(&s->arena, key,
                         n < 0                    ? 0
                         : (size_t)n < sizeof key ? (size_t)n
                                                  : sizeof key - 1);
}

struct search {
    struct snapshot *s;
    struct {
        VEC(struct pyenv_work *);
    } found;
    struct names prefixes; /* real paths of what was found */
};

static bool keep(struct search *f, struct pyenv_work *w)
{
    if (!w || f->found.n >= ENVS_MAX)
        return false;
    const char *real = place_realpath(f->s->place, w->env.prefix);
    if (!real)
        real = w->env.prefix;
    for (size_t i = 0; i < f->prefixes.n; i++)
        if (str_eq(f->prefixes.at[i], real) && f->found.at[i]->env.minor == w->env.minor)
            return false;
    vec_push(&f->prefixes, real);
    vec_push(&f->found, w);
    return true;
}

static bool may_run(struct snapshot *s, const char *file)
{
    const struct file_info *info = place_stat(s->place, file);
    return info->type == FILE_REGULAR && (info->mode & 0111) != 0;
}

const char *program_find(struct snapshot *s, const char *name)
{
    struct arena *a = &s->arena;
    if (strchr(name, '/'))
        return path_clean(a, place_absolute(s->place, name));
    const char *path = place_getenv(s->place, "PATH");
    while (path && *path) {
        size_t n = strcspn(path, ":");
        const char *dir = place_absolute(s->place, n ? arena_strndup(a, path, n) : ".");
        const char *file = path_clean(a, path_join(a, dir, name));
        if (may_run(s, file))
            return file;
        path += n + (path[n] == ':');
    }
    return NULL;
}

/* An interpreter, perhaps through a pyenv shim. why is told on; NULL with a fact: a script that we
 * cannot follow. */
static struct pyenv_work *open_interpreter(struct snapshot *s, const char *file, const char *why)
{
    if (!pyfind_is_script(s, file))
        return pyfind_open(s, file, NULL, why);
    const char *by = "a script, and no shim of pyenv";
    if (str_eq(path_base(path_dir(&s->arena, file)), "shims")) {
        const char *target = pyenv_shim(s, file, &by);
        if (target && !pyfind_is_script(s, target))
            return pyfind_open(s, target, NULL, arena_printf(&s->arena, "%s (%s)", why, by));
    }
    fact_add(s, KNOWN_FAILED, "python.shim", arena_printf(&s->arena, "%s: not followed", by), file);
    return NULL;
}

static void search_path(struct search *f)
{
    static const char *const names[] = { "python3", "python" };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *file = program_find(f->s, names[i]);
        if (!file)
            continue;
        struct pyenv_work *w =
            open_interpreter(f->s, file, arena_printf(&f->s->arena, "%s on PATH", names[i]));
        if (w && w->env.major == 2)
            continue;
        keep(f, w);
        if (w)
            return;
    }
}

static void search_variable(struct search *f, const char *name)
{
    const char *dir = place_getenv(f->s->place, name);
    if (!dir || !*dir)
        return;
    struct pyenv_work *w = pyfind_folder(f->s, place_absolute(f->s->place, dir), name);
    if (!w)
        fact_add(f->s, KNOWN_ABSENT, fact_key(f->s, "python.%s", name), NULL,
                 arena_printf(&f->s->arena, "%s=%s", name, dir));
    else if (keep(f, w) && str_eq(name, "VIRTUAL_ENV"))
        w->fixed_first = true;
}

static void search_project(struct search *f)
{
    struct arena *a = &f->s->arena;
    const char *dir = path_clean(a, place_cwd(f->s->place));
    for (unsigned level = 0; level < LEVELS_MAX; level++) {
        for (size_t i = 0; i < ARRAY_LEN(project_folders); i++) {
            const char *folder = path_join(a, dir, project_folders[i]);
            if (place_is_dir(f->s->place, folder))
                keep(f, pyfind_folder(f->s, folder,
                                      arena_printf(a, "%s in %s", project_folders[i], dir)));
        }
        if (str_eq(dir, "/"))
            return;
        dir = path_dir(a, dir);
    }
}

/* The members of a folder that are environments by their looks: nothing else of it is opened. */
static void search_inside(struct search *f, const char *parent)
{
    struct arena *a = &f->s->arena;
    const struct listing *l = place_list(f->s->place, parent);
    for (size_t i = 0; i < l->n && i < 1000; i++) {
        if (l->at[i].type != FILE_DIR && l->at[i].type != FILE_NONE)
            continue;
        const char *dir = path_join(a, parent, l->at[i].name);
        const char *python = path_join(a, dir, "bin/python3");
        if (place_exists(f->s->place, path_join(a, dir, "pyvenv.cfg")) ||
            place_lstat(f->s->place, python)->known == KNOWN_PRESENT)
            keep(f, pyfind_folder(f->s, dir, dir));
    }
}

/* python3.12 beside a python3 that is 3.10: it has site folders of its own. */
static void search_versions(struct search *f, const char *bin)
{
    const struct listing *l = place_list(f->s->place, bin);
    for (size_t i = 0; i < l->n; i++) {
        const char *name = l->at[i].name;
        if (!str_starts(name, "python3.") || name[8 + strspn(name + 8, "0123456789t")] != '\0')
            continue;
        const char *file = path_join(&f->s->arena, bin, name);
        if (may_run(f->s, file) && !pyfind_is_script(f->s, file))
            keep(f, pyfind_open(f->s, file, NULL, file));
    }
}

static void search_root(struct search *f)
{
    struct snapshot *s = f->s;
    for (size_t i = 0; i < ARRAY_LEN(usual_folders); i++) {
        const char *folder = usual_folders[i];
        if (str_ends(folder, "/*"))
            search_inside(f, arena_strndup(&s->arena, folder, strlen(folder) - 2));
        else if (place_is_dir(s->place, folder))
            keep(f, pyfind_folder(s, folder, folder));
    }
    for (size_t i = 0; i < ARRAY_LEN(usual_interpreters); i++) {
        const char *file = usual_interpreters[i];
        if (place_lstat(s->place, file)->known == KNOWN_PRESENT && !pyfind_is_script(s, file)) {
            struct pyenv_work *w = pyfind_open(s, file, NULL, file);
            if (w && w->env.major != 2)
                keep(f, w);
        }
    }
    search_versions(f, "/usr/local/bin");
    search_versions(f, "/usr/bin");
}

bool place_is_tree(struct snapshot *s)
{
    /* a snapshot does not say of what kind of place it was; only search_root lists this folder */
    return place_kind(s->place) == PLACE_ROOT ||
           (place_kind(s->place) == PLACE_SNAPSHOT &&
            place_list(s->place, "/opt/venvs")->known != KNOWN_NOT_LOOKED);
}

/* Whatever its name, an interpreter is an ELF file that is called python or needs its library. */
static bool is_interpreter(struct snapshot *s, const char *file)
{
    const char *real = place_realpath(s->place, file);
    const struct elf *elf = real ? place_elf(s->place, real)->elf : NULL;
    if (!real || pyfind_is_script(s, file))
        return true; /* missing, or a shim: seen to later */
    if (!elf ||
        (elf->problem != ELF_FINE && elf->problem != ELF_EXECUTABLE && elf->problem != ELF_PIE))
        return false;
    for (size_t i = 0; i < elf->n_needed; i++)
        if (str_starts(path_base(elf->needed[i]), "libpython"))
            return true;
    return strstr(path_base(file), "py") || strstr(path_base(real), "py");
}

/* --python: a folder or an interpreter. */
static int search_named(struct search *f, const char *given, struct err *e)
{
    struct snapshot *s = f->s;
    struct arena *a = &s->arena;
    const char *path = place_absolute(s->place, given);
    const struct file_info *info = place_stat(s->place, path);
    if (info->known != KNOWN_PRESENT && !strchr(given, '/')) {
        const char *on_path = program_find(s, given);
        if (on_path) {
            path = on_path;
            info = place_stat(s->place, path);
        }
    }
    if (info->known == KNOWN_FAILED)
        return err_set(e, ERR_READ, "cannot look at '%s': %s", path, strerror(info->error));
    bool link = place_lstat(s->place, path)->known == KNOWN_PRESENT;
    if (info->known != KNOWN_PRESENT && !link)
        return err_set(
            e, ERR_NOT_FOUND,
            "no Python environment at '%s': no such file or folder; name an environment's "
            "folder or an interpreter",
            given);
    struct pyenv_work *w = NULL;
    if (info->type == FILE_DIR) {
        w = pyfind_folder(s, path, "--python");
        for (size_t i = 0; i < ARRAY_LEN(project_folders) && !w; i++) {
            const char *folder = path_join(a, path, project_folders[i]);
            if (place_is_dir(s->place, folder))
                w = pyfind_folder(s, folder, "--python");
        }
        if (!w && str_eq(path_base(path_clean(a, path)), "bin"))
            w = pyfind_folder(s, path_dir(a, path_clean(a, path)), "--python");
    } else if ((info->type == FILE_REGULAR || (info->known == KNOWN_ABSENT && link)) &&
               is_interpreter(s, path)) {
        w = open_interpreter(s, path, "--python");
    }
    if (!w)
        return err_set(e, ERR_NOT_FOUND,
                       "no Python environment at '%s': neither an interpreter nor a folder with "
                       "bin/python, pyvenv.cfg or conda-meta",
                       given);
    keep(f, w);
    return 0;
}

/* Is there an onnxruntime folder for this interpreter to import? */
static bool has_ort(struct snapshot *s, const struct pyenv_work *w)
{
    for (size_t i = 0; i < w->n_sites; i++)
        if (place_is_dir(s->place, path_join(&s->arena, w->sites[i], "onnxruntime")))
            return true;
    return false;
}

static void wheel_dirs(struct snapshot *s, struct pyenv_work *w)
{
    struct names dirs = { 0 };
    for (size_t i = 0; i < w->n_sites; i++) {
        const char *nvidia = path_join(&s->arena, w->sites[i], "nvidia");
        const struct listing *l = place_list(s->place, nvidia);
        if (l->known == KNOWN_FAILED)
            fact_unread(s, &w->env, "python.nvidia", nvidia, l->error);
        for (size_t k = 0; k < l->n && dirs.n < 1024; k++) {
            if (l->at[k].type == FILE_REGULAR || str_starts(l->at[k].name, "__"))
                continue;
            const char *lib = arena_printf(&s->arena, "%s/%s/lib", nvidia, l->at[k].name);
            if (place_is_dir(s->place, lib))
                vec_push(&dirs, lib);
        }
    }
    for (size_t i = 0; i < w->n_sites && !w->env.tensorrt_dir; i++)
        w->env.tensorrt_dir = look_if_exists(s, path_join(&s->arena, w->sites[i], "tensorrt_libs"));
    w->env.nvidia_dirs = names_keep(s, &dirs);
    w->env.n_nvidia_dirs = dirs.n;
    vec_done(&dirs);
}

static const char *word_of_line(struct snapshot *s, const struct look_line *line, const char *name)
{
    size_t n = strlen(name);
    if (line->len <= n || memcmp(line->at, name, n) != 0 || !strchr(" :=", line->at[n]))
        return NULL;
    const char *eq = memchr(line->at, '=', line->len);
    const char *end = line->at + line->len;
    const char *open = eq;
    while (open && open < end && *open != '\'' && *open != '"')
        open++;
    const char *close =
        open && open < end ? memchr(open + 1, *open, (size_t)(end - open - 1)) : NULL;
    return close ? look_trim(s, open + 1, (size_t)(close - open - 1)) : NULL;
}

/* torch/version.py: cuda: Optional[str] = '12.8' */
static void torch_read(struct snapshot *s, struct pyenv_work *w, size_t number)
{
    struct arena *a = &s->arena;
    for (size_t i = 0; i < w->n_sites && !w->env.torch_dir; i++) {
        const char *dir = path_join(a, w->sites[i], "torch");
        const char *file = path_join(a, dir, "version.py");
        const struct text *t = place_text(s->place, file, TEXT_WHOLE);
        if (t->known != KNOWN_PRESENT)
            continue;
        w->env.torch_dir = dir;
        struct look_line line = { 0 };
        while (look_next_line(t, &line)) {
            const char *cuda = word_of_line(s, &line, "cuda");
            const char *version = word_of_line(s, &line, "__version__");
            if (cuda) {
                w->env.torch_cuda = cuda;
                fact_add(s, KNOWN_PRESENT, fact_key(s, "python.%zu.torch_cuda", number), cuda,
                         look_source(s, file, line.number));
            } else if (version) {
                fact_add(s, KNOWN_PRESENT, fact_key(s, "python.%zu.torch", number), version,
                         look_source(s, file, line.number));
            }
        }
        if (!w->env.torch_cuda)
            fact_add(s, KNOWN_ABSENT, fact_key(s, "python.%zu.torch_cuda", number), NULL, file);
    }
}

static void installer_find(struct snapshot *s, struct pyenv_work *w, size_t number)
{
    const struct dist *ort = NULL;
    for (size_t i = 0; i < w->env.n_dists && !ort; i++)
        if (dist_is_ort(w->env.dists[i]->name))
            ort = w->env.dists[i];
    const char *by = ort ? ort->installer : NULL;
    bool pip = dists_find(&w->env, "pip") != NULL;
    const char *source = "default";
    w->env.installer = "pip";
    if (w->env.kind == ENV_CONDA && ((by && str_eq(by, "conda")) || (ort && ort->build) || !pip)) {
        w->env.installer = "conda";
        source = path_join(&s->arena, w->env.prefix, "conda-meta");
    } else if (by && str_eq(by, "uv")) {
        w->env.installer = "uv";
        source = path_join(&s->arena, ort->path, "INSTALLER");
    } else if (w->cfg_uv && !(by && str_eq(by, "pip"))) {
        w->env.installer = "uv";
        source = w->cfg;
    } else if (by) {
        source = path_join(&s->arena, ort->path, "INSTALLER");
    }
    fact_add(s, KNOWN_PRESENT, fact_key(s, "python.%zu.installer", number), w->env.installer,
             source);
    if (!pip)
        fact_add(s, KNOWN_ABSENT, fact_key(s, "python.%zu.dist.pip", number), NULL, w->env.prefix);
}

static void env_facts(struct snapshot *s, const struct pyenv_work *w, size_t number)
{
    static const char *const kinds[] = {
        [ENV_VENV] = "venv", [ENV_CONDA] = "conda", [ENV_SYSTEM] = "system"
    };
    const struct pyenv *env = &w->env;
    const struct {
        const char *name, *value, *source;
    } rows[] = {
        { "prefix", env->prefix, env->why },
        { "kind", kinds[env->kind], w->cfg ? w->cfg : env->prefix },
        { "base_prefix", env->base_prefix, w->cfg ? w->cfg : env->python },
        { "python", env->python, env->why },
        { "exe", env->exe, env->python },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        fact_add(s, rows[i].value ? KNOWN_PRESENT : KNOWN_ABSENT,
                 fact_key(s, "python.%zu.%s", number, rows[i].name), rows[i].value, rows[i].source);
    fact_add(s, env->major ? KNOWN_PRESENT : KNOWN_FAILED,
             fact_key(s, "python.%zu.version", number),
             env->major ? arena_printf(&s->arena, "%d.%d", env->major, env->minor)
                        : "no file or folder name tells it",
             w->version_source ? w->version_source : env->prefix);
    for (size_t i = 0; i < env->n_sys_path; i++)
        fact_add(s, KNOWN_PRESENT, fact_key(s, "python.%zu.sys_path.%zu", number, i),
                 env->sys_path[i], "getpath and site");
    for (size_t i = 0; i < w->n_notes; i++)
        fact_add(s, KNOWN_PRESENT, fact_key(s, "python.%zu.pth_code.%zu", number, i),
                 w->notes[i].text, w->notes[i].source);
    for (size_t i = 0; i < env->n_nvidia_dirs; i++)
        fact_add(s, KNOWN_PRESENT, fact_key(s, "python.%zu.nvidia_dir.%zu", number, i),
                 env->nvidia_dirs[i], env->nvidia_dirs[i]);
}

/* Chosen by the user, then those that have an onnxruntime, then the others; each group in the order
 * found. */
static void order(struct search *f)
{
    struct snapshot *s = f->s;
    for (int group = 0; group < 3; group++)
        for (size_t i = 0; i < f->found.n; i++) {
            struct pyenv_work *w = f->found.at[i];
            if (group == (w->fixed_first ? 0 : has_ort(s, w) ? 1 : 2))
                vec_push(&s->envs, &w->env);
        }
}

int probe_python(struct snapshot *s, const struct probe_request *want, struct err *e)
{
    struct search f = { .s = s };
    const char *named = want->python;
    if (!named && want->program)
        named = program_python(s, want->program);
    int r = 0;
    if (named) {
        r = search_named(&f, named, e);
    } else {
        search_variable(&f, "VIRTUAL_ENV");
        search_project(&f);
        search_variable(&f, "CONDA_PREFIX");
        search_path(&f);
        if (place_is_tree(s))
            search_root(&f);
        else if (may_run(s, "/usr/bin/python3"))
            keep(&f, pyfind_open(s, "/usr/bin/python3", NULL, "/usr/bin/python3"));
        if (f.found.n == 0)
            fact_add(s, KNOWN_ABSENT, "python", NULL,
                     "VIRTUAL_ENV, CONDA_PREFIX, .venv, PATH, /usr/bin/python3");
    }
    for (size_t i = 0; i < f.found.n; i++)
        pypath_build(s, f.found.at[i]);
    order(&f);
    for (size_t i = 0; i < s->envs.n; i++) {
        struct pyenv_work *w = pyenv_work(s->envs.at[i]);
        wheel_dirs(s, w);
        env_facts(s, w, i);
        dists_read(s, w);
        for (size_t k = 0; k < w->env.n_dists; k++)
            fact_add(s, KNOWN_PRESENT, fact_key(s, "python.%zu.dist.%s", i, w->env.dists[k]->name),
                     w->env.dists[k]->version ? w->env.dists[k]->version : "version unknown",
                     w->env.dists[k]->path);
        torch_read(s, w, i);
        installer_find(s, w, i);
    }
    vec_done(&f.found);
    vec_done(&f.prefixes);
    return r;
}
