#include "plan/fix.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"

#define ARGS_MAX 64

/* One row an installer: the words of its commands. %P is the interpreter, %E the environment's
 * folder. */
struct installer {
    const char *name;
    const char *install[8], *remove[8];
    const char *force[3]; /* added to install to lay down files that are there already */
    bool conda_specs;     /* name=1.2.* and "name>=1,<2" rather than PEP 440 with extras */
};

static const struct installer installers[] = {
    { "pip",
      { "%P", "-m", "pip", "install" },
      { "%P", "-m", "pip", "uninstall", "-y" },
      { "--force-reinstall", "--no-deps" },
      false },
    { "uv",
      { "uv", "pip", "install", "--python", "%P" },
      { "uv", "pip", "uninstall", "--python", "%P" },
      { "--reinstall", "--no-deps" },
      false },
    { "conda",
      { "conda", "install", "-y", "-p", "%E", "-c", "conda-forge" },
      { "conda", "remove", "-y", "--force", "-p", "%E" },
      { "--force-reinstall" },
      true },
    { "apt",
      { "apt-get", "install", "-y" },
      { "apt-get", "remove", "-y" },
      { "--reinstall" },
      true },
};

struct command {
    struct arena *a;
    const char *args[ARGS_MAX + 1];
    size_t n;
};

static void command_add(struct command *c, const char *arg)
{
    if (c->n < ARGS_MAX)
        c->args[c->n++] = arg;
}

static void command_words(struct command *c, const struct judgement *j, const char *const *words,
                          size_t max)
{
    for (size_t i = 0; i < max && words[i]; i++) {
        const char *w = words[i];
        if (str_eq(w, "%P"))
            w = j->env ? j->env->python : "python3";
        else if (str_eq(w, "%E"))
            w = j->env ? j->env->prefix : "/";
        command_add(c, w);
    }
}

/* A distribution's own Python refuses pip (PEP 668) unless told otherwise. */
static bool externally_managed(const struct judgement *j)
{
    if (!j->env || j->env->kind != ENV_SYSTEM)
        return false;
    const char *dir = arena_printf(&j->out->arena, "%s/lib/python%d.%d/EXTERNALLY-MANAGED",
                                   j->env->base_prefix, j->env->major, j->env->minor);
    return place_exists(j->s->place, dir);
}

/* The folder that holds the ONNX Runtime in use, where it is not one of the environment's own. */
static const char *site_outside(const struct judgement *j)
{
    const char *site = j->env && j->ort && j->ort->dir ? path_dir(&j->out->arena, j->ort->dir)
                                                       : NULL;
    return site && !str_starts(site, j->env->prefix) ? site : NULL;
}

/* Of the Python behind a virtual environment: pip can neither remove nor add to it from here, but
 * what is laid into the environment goes before it. */
static bool in_base(const struct judgement *j)
{
    const char *site = site_outside(j);
    return site && j->env->kind == ENV_VENV && j->env->base_prefix &&
           str_starts(site, j->env->base_prefix);
}

/* preload_dlls() searches beside the ONNX Runtime in use, so the wheels have to come there: below
 * the home folder with --user, into a folder of PYTHONPATH with --target. */
static void command_place(struct command *c, const struct judgement *j)
{
    const char *site = site_outside(j);
    const char *given = place_getenv(j->s->place, "PYTHONPATH");
    if (!site)
        return;
    if (in_base(j)) {
        if (str_eq(j->env->installer, "pip")) /* uv looks at nothing but the environment */
            command_add(c, "--ignore-installed");
    } else if (j->env->kind == ENV_SYSTEM &&
               strstr(site, arena_printf(&j->out->arena, "/.local/lib/python%d.%d/", j->env->major,
                                         j->env->minor))) {
        command_add(c, "--user");
    } else if (given && strstr(given, site)) {
        command_add(c, "--target");
        command_add(c, site);
        if (str_eq(j->env->installer, "pip"))
            command_add(c, "--upgrade");
    }
}

static bool has_dpkg(const struct judgement *j)
{
    return j->s->distro &&
           (str_starts(j->s->distro, "ubuntu") || str_starts(j->s->distro, "debian"));
}

static void fix_add(struct finding *f, struct fix made)
{
    vec_push(&f->fixes, made);
}

static bool has_pip(const struct pyenv *env)
{
    for (size_t i = 0; i < env->n_dists; i++)
        if (str_eq(env->dists[i]->name, "pip"))
            return true;
    return false;
}

/* Steps without which those of pip cannot run. */
static void plan_tool(const struct judgement *j, struct finding *f)
{
    const struct pyenv *env = j->env;
    bool pip = false;
    for (size_t i = 0; i < f->wants.n; i++)
        pip |= (f->wants.at[i].kind == WANT_PACKAGE || f->wants.at[i].kind == WANT_REMOVE) &&
               !f->wants.at[i].manager;
    if (!pip || !env)
        return;
    struct arena *a = &j->out->arena;
    if (env->kind == ENV_VENV && !env->exe)
        fix_add(f, (struct fix){ .why = arena_printf(a,
                                                     "the interpreter behind %s is gone: make the "
                                                     "environment anew (python%d.%d -m venv "
                                                     "--clear %s), then",
                                                     env->python, env->major, env->minor,
                                                     env->prefix) });
    if (!str_eq(env->installer, "pip") || has_pip(env))
        return;
    const char *const *words;
    if (env->kind == ENV_SYSTEM && has_dpkg(j)) {
        static const char *const apt[] = { "apt-get", "install", "-y", "python3-pip", NULL };
        words = apt;
    } else {
        const char **made = arena_alloc(a, 4 * sizeof(*made));
        made[0] = env->python;
        made[1] = "-m";
        made[2] = "ensurepip";
        made[3] = NULL;
        words = made;
    }
    fix_add(f, (struct fix){ .why = "pip is not installed here", .run = words });
}

static const struct installer *installer_of(const struct judgement *j, const struct want *w)
{
    const char *name = w->manager ? w->manager : j->env ? j->env->installer : "apt";
    for (size_t i = 0; i < ARRAY_LEN(installers); i++)
        if (name && str_eq(installers[i].name, name))
            return &installers[i];
    return &installers[0];
}

static const char *requirement(struct arena *a, const struct installer *with, const struct want *w)
{
    if (str_eq(with->name, "apt"))
        return w->name;
    const char *spec = w->spec ? w->spec : "";
    if (with->conda_specs)
        return arena_printf(a, "%s%s", w->name, str_starts(spec, "==") ? spec + 1 : spec);
    return w->extras ? arena_printf(a, "%s[%s]%s", w->name, w->extras, spec)
                     : arena_printf(a, "%s%s", w->name, spec);
}

enum pass { PASS_REMOVE, PASS_INSTALL, PASS_FORCE, PASSES };

static bool in_pass(const struct want *w, enum pass pass)
{
    switch (pass) {
    case PASS_REMOVE:
        return w->kind == WANT_REMOVE;
    case PASS_INSTALL:
        return w->kind == WANT_PACKAGE && !w->force;
    case PASS_FORCE:
        return w->kind == WANT_PACKAGE && w->force;
    case PASSES:
        break;
    }
    return false;
}

/* All wants of one kind in one command: one solve by the installer, one line for the person. */
static void plan_pass(const struct judgement *j, struct finding *f, enum pass pass)
{
    struct arena *a = &j->out->arena;
    struct command c = { .a = a };
    const char *why = NULL;
    for (size_t i = 0; i < f->wants.n; i++) {
        const struct want *w = &f->wants.at[i];
        if (!in_pass(w, pass) || (pass == PASS_REMOVE && in_base(j)))
            continue;
        const struct installer *with = installer_of(j, w);
        if (c.n == 0) {
            if (pass == PASS_REMOVE)
                command_words(&c, j, with->remove, ARRAY_LEN(with->remove));
            else
                command_words(&c, j, with->install, ARRAY_LEN(with->install));
            if (pass == PASS_FORCE)
                command_words(&c, j, with->force, ARRAY_LEN(with->force));
            if (str_eq(with->name, "pip") && externally_managed(j))
                command_add(&c, "--break-system-packages");
            if (pass != PASS_REMOVE && !with->conda_specs)
                command_place(&c, j);
        }
        command_add(&c, pass == PASS_REMOVE ? w->name : requirement(a, with, w));
        why = !why ? w->why : str_eq(why, w->why) ? why : arena_printf(a, "%s; %s", why, w->why);
    }
    if (c.n == 0)
        return;
    const char **argv = arena_alloc(a, (c.n + 1) * sizeof(*argv));
    memcpy(argv, c.args, c.n * sizeof(*argv));
    argv[c.n] = NULL;
    fix_add(f, (struct fix){ .why = why, .run = argv });
}

static void plan_rest(const struct judgement *j, struct finding *f, const struct want *w)
{
    struct arena *a = &j->out->arena;
    switch (w->kind) {
    case WANT_PACKAGE:
    case WANT_REMOVE:
    case WANT_REINSTALL:
        return;
    case WANT_PRELOAD_DLLS:
    case WANT_IMPORT_TORCH:
    case WANT_LIBRARY_PATH:
        return; /* one step for all findings, see reach */
    case WANT_UNSET_PATH:
        fix_add(f, (struct fix){ .why = arena_printf(a, "take %s off LD_LIBRARY_PATH: %s", w->name,
                                                     w->why) });
        return;
    case WANT_GPU_ACCESS:
        fix_add(f,
                (struct fix){ .why = arena_printf(a,
                                                  "start the container with --gpus all (Docker) or "
                                                  "--device nvidia.com/gpu=all (Podman): %s",
                                                  w->why) });
        return;
    case WANT_DRIVER:
    case WANT_REBOOT:
    case WANT_PLAIN:
        fix_add(f, (struct fix){ .why = w->why });
        return;
    case WANT_FILE:
        fix_add(f, (struct fix){ .why = arena_printf(a, "%s: %s", w->name, w->why) });
        return;
    }
}

/* How the process comes to its libraries is one thing for all findings: two exports of one variable
 * would undo each other, and preload_dlls() opens every wheel that is there. */
struct reach {
    const struct want *preload, *torch; /* NULL: not wanted */
    const char *path_why;
    struct str dirs;            /* folders for LD_LIBRARY_PATH, joined */
    const struct finding *told; /* the finding whose fix says it */
};

static void reach_dirs(struct reach *r, const char *joined, const char *except)
{
    for (const char *p = joined; *p;) {
        size_t len = strcspn(p, ":");
        bool left_out = except && str_starts(p, except);
        if (len && !left_out)
            str_list_addn(&r->dirs, p, len);
        p += len + (p[len] == ':');
    }
}

static bool wants_reach(const struct finding *f)
{
    for (size_t i = 0; i < f->wants.n; i++) {
        enum want_kind kind = f->wants.at[i].kind;
        if (kind == WANT_PRELOAD_DLLS || kind == WANT_IMPORT_TORCH || kind == WANT_LIBRARY_PATH)
            return true;
    }
    return false;
}

static void reach_collect(const struct judgement *j, const struct findings *f, struct reach *r)
{
    for (size_t i = 0; i < f->n; i++)
        for (size_t k = 0; k < f->at[i]->wants.n; k++) {
            const struct want *w = &f->at[i]->wants.at[k];
            if (w->kind == WANT_PRELOAD_DLLS && !r->preload)
                r->preload = w;
            if (w->kind == WANT_IMPORT_TORCH && !r->torch)
                r->torch = w;
        }
    /* What preload_dlls() finds below the folder of onnxruntime needs no path. */
    const char *wheels = r->preload ? path_join(&j->out->arena,
                                                path_dir(&j->out->arena, j->ort->dir), "nvidia/")
                                    : NULL;
    for (size_t i = 0; i < f->n; i++)
        for (size_t k = 0; k < f->at[i]->wants.n; k++) {
            const struct want *w = &f->at[i]->wants.at[k];
            if (w->kind != WANT_LIBRARY_PATH)
                continue;
            reach_dirs(r, w->name, wheels);
            r->path_why = r->path_why ? r->path_why : w->why;
        }
}

static void reach_tell(const struct judgement *j, struct reach *r, struct finding *f)
{
    struct arena *a = &j->out->arena;
    if (r->told) {
        fix_add(f, (struct fix){
                       .why = arena_printf(a, "goes with the last step of %s", r->told->cause) });
        return;
    }
    r->told = f;
    if (r->preload)
        fix_add(f, (struct fix){ .why = r->preload->why, .code = "onnxruntime.preload_dlls()" });
    else if (r->torch)
        fix_add(f, (struct fix){ .why = r->torch->why, .code = "import torch" });
    if (r->dirs.len == 0)
        return;
    const char *old = place_getenv(j->s->place, "LD_LIBRARY_PATH");
    const char *value = arena_printf(a, "%s%s%s", str_get(&r->dirs), old && old[0] ? ":" : "",
                                     old ? old : "");
    fix_add(f,
            (struct fix){ .why = r->path_why, .env_name = "LD_LIBRARY_PATH", .env_value = value });
}

void plan_fixes(const struct judgement *j, struct findings *f)
{
    struct reach reach = { 0 };
    reach_collect(j, f, &reach);
    for (size_t i = 0; i < f->n; i++) {
        struct finding *at = f->at[i];
        plan_tool(j, at);
        for (int pass = 0; pass < PASSES; pass++)
            plan_pass(j, at, (enum pass)pass);
        if (wants_reach(at))
            reach_tell(j, &reach, at);
        for (size_t k = 0; k < at->wants.n; k++)
            plan_rest(j, at, &at->wants.at[k]);
    }
    str_done(&reach.dirs);
}

void plan_install(struct judged *judged)
{
    struct judgement j = judged->j;
    j.env = j.env ? j.env : j.s->envs.n ? j.s->envs.at[0] : NULL;
    j.out = &judged->findings;
    const struct kb_ort *row = j.env ? judge_choose_ort(&j, 0, NULL) : NULL;
    if (!row)
        return;
    struct arena *a = &judged->findings.arena;
    struct finding f = { 0 };
    judge_want_release(&j, &f, row,
                       arena_printf(a, "the newest that fits: CUDA %d, cuDNN %d; published by %s",
                                    row->cuda_major, row->cudnn_major, kb_date()));
    plan_pass(&j, &f, PASS_INSTALL);
    struct fix *kept = arena_new(a, struct fix);
    *kept = f.fixes.at[0];
    judged->would_install = kept;
    vec_done(&f.wants);
    vec_done(&f.fixes);
}

static void quote(struct str *to, const char *arg)
{
    static const char safe[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,@+%";
    if (arg[0] && strspn(arg, safe) == strlen(arg)) {
        str_add(to, arg);
        return;
    }
    str_addc(to, '\'');
    for (const char *p = arg; *p; p++)
        str_add(to, *p == '\'' ? "'\\''" : (char[]){ *p, '\0' });
    str_addc(to, '\'');
}

const char *plan_shell_line(struct arena *a, const struct fix *fix)
{
    struct str line = { 0 };
    if (fix->run) {
        for (size_t i = 0; fix->run[i]; i++) {
            if (i)
                str_addc(&line, ' ');
            quote(&line, fix->run[i]);
        }
    } else if (fix->env_name) {
        str_addf(&line, "export %s=", fix->env_name);
        quote(&line, fix->env_value);
    } else if (fix->code) {
        str_add(&line, fix->code);
    }
    const char *kept = arena_strdup(a, str_get(&line));
    str_done(&line);
    return kept;
}
