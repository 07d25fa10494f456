/* The process's life: how it starts, and dlopen in it. */
#include "load/load.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/str.h"
#include "load/process.h"

const char *load_rule_text(enum load_rule r)
{
    static const char *const texts[] = {
#define X(name, text) [name] = text,
        LOAD_RULE_TABLE(X)
#undef X
    };
    return r < sizeof(texts) / sizeof(*texts) ? texts[r] : NULL;
}

const char *load_status_text(enum load_status s)
{
    static const char *const texts[] = {
        [LOAD_UNKNOWN] = "unknown",
#define X(name, text) [name] = text,
        LOAD_STATUS_TABLE(X)
#undef X
    };
    return s < sizeof(texts) / sizeof(*texts) ? texts[s] : NULL;
}

void load_fail(struct load_process *proc, int number, const char *object, const char *fmt, ...)
{
    struct str text = { 0 };
    va_list ap;
    va_start(ap, fmt);
    char *problem = NULL;
    if (vasprintf(&problem, fmt, ap) < 0)
        problem = NULL;
    va_end(ap);
    if (object && *object)
        str_addf(&text, "%s: ", object);
    str_add(&text, problem ? problem : "out of memory");
    if (number)
        str_addf(&text, ": %s", strerror(number));
    free(problem);
    proc->last_error = arena_strdup(&proc->arena, str_get(&text));
    if (!proc->error)
        proc->error = proc->last_error;
    str_done(&text);
}

void load_abort(struct load_process *proc, const char *fmt, ...)
{
    if (proc->aborts)
        return;
    va_list ap;
    va_start(ap, fmt);
    char *text = NULL;
    if (vasprintf(&text, fmt, ap) < 0)
        text = NULL;
    va_end(ap);
    proc->last_error = arena_printf(&proc->arena, "the loader would abort: %s", text ? text : "");
    free(text);
    if (proc->error && proc->explore)
        return; /* the real call ends before that */
    proc->error = proc->last_error;
    proc->aborts = true;
}

const char *load_process_error(const struct load_process *proc)
{
    return proc->start_error;
}

void load_process_free(struct load_process *proc)
{
    if (!proc)
        return;
    for (struct object *o = proc->head; o; o = o->next)
        vec_done(&o->names);
    vec_done(&proc->globals);
    vec_done(&proc->dirs);
    vec_done(&proc->needs);
    arena_done(&proc->arena);
    free(proc);
}

const char *load_process_has(const struct load_process *proc, const char *soname)
{
    for (const struct object *o = proc->head; o; o = o->next)
        if (walk_knows_name(o, soname) || (o->soname && str_eq(o->soname, soname)))
            return o->name;
    return NULL;
}

size_t load_process_map(struct load_process *proc, const char *const **ret)
{
    const char **map = arena_alloc(&proc->arena, (proc->n_objects + 1) * sizeof(*map));
    size_t n = 0;
    for (const struct object *o = proc->head; o; o = o->next)
        if (!o->own)
            map[n++] = o->name;
    *ret = map;
    return n;
}

static void add_global(struct load_process *proc, struct object *root)
{
    for (size_t i = 0; i < root->n_searchlist; i++)
        if (!root->searchlist[i]->global) {
            root->searchlist[i]->global = true;
            vec_push(&proc->globals, root->searchlist[i]);
        }
}

/* Versions, CPU level, relocations of what a dlopen brought. */
static bool check_new(struct load_process *proc, struct object *root, unsigned flags)
{
    bool fine = true;
    for (size_t i = 0; i < root->n_searchlist && (fine || proc->explore); i++)
        if (!root->searchlist[i]->versions_done)
            fine = check_versions(proc, root->searchlist[i]) && fine;
    if (!fine || proc->error || !check_isa(proc, root))
        return false;
    for (size_t i = root->n_initfini; i-- > 0;) {
        struct object *o = root->initfini[i];
        if (o->relocated || (flags & LOAD_FLAG_NO_SYMBOLS))
            continue;
        if (!check_relocations(proc, o, (flags & LOAD_FLAG_LAZY) && !proc->bind_now))
            return false;
    }
    for (size_t i = root->n_initfini; i-- > 0;)
        if (!root->initfini[i]->inited && root->initfini[i]->elf && root->initfini[i]->elf->crash == ELF_CRASH_INIT) {
            load_abort(proc, "the constructors of '%s' lie behind its end", root->initfini[i]->name);
            return false;
        }
    return true;
}

/* Everything that dlopen does up to running initialisers. Returns the object, or NULL with proc->error. */
static struct object *open_object(struct load_process *proc, const char *name, struct object *caller, unsigned flags)
{
    struct load_mode mode = { .dlopen = true, .direct = true };
    struct load_need need = { .name = name };
    struct object *o = walk_map(proc, caller, name, mode, &need);
    if (need.status == LOAD_FOUND && need.rule == LOAD_NO_RULE)
        need.rule = LOAD_AS_GIVEN;
    vec_push(&proc->needs, need);
    if (!o)
        return NULL;
    mode.direct = false;
    if (!o->searchlist) {
        bool all = walk_deps(proc, o, NULL, 0, mode);
        if (!all && !proc->explore)
            return NULL;
        if (!check_new(proc, o, flags) || !all)
            return NULL;
    }
    if (flags & LOAD_FLAG_GLOBAL)
        add_global(proc, o);
    return o;
}

static void take_result(struct load_process *proc, struct object *o, struct load_result *ret)
{
    const char **map = arena_alloc(&proc->arena, (proc->n_objects + 1) * sizeof(*map));
    size_t n = 0;
    for (struct object *at = proc->head; at && o; at = at->next)
        if (!at->inited)
            map[n++] = at->name;
    if (o && n == 0)
        map[n++] = o->name;
    struct load_need *needs = arena_alloc(&proc->arena, (proc->needs.n + 1) * sizeof(*needs));
    if (proc->needs.n)
        memcpy(needs, proc->needs.at, proc->needs.n * sizeof(*needs));
    *ret = (struct load_result){
        .known = !proc->unknown && !proc->start_unknown,
        .loads = o != NULL,
        .error = proc->error,
        .aborts = proc->aborts,
        .path = o ? o->name : NULL,
        .map = map,
        .n_map = n,
        .needs = needs,
        .n_needs = proc->needs.n,
    };
}

/* Keeps what a successful call brought; takes away what a failed one did. */
static void settle(struct load_process *proc, bool loads)
{
    struct object *next;
    for (struct object *o = proc->head; o; o = next) {
        next = o->next;
        if (o->inited)
            continue;
        if (loads) {
            o->inited = o->relocated = o->versions_done = true;
            continue;
        }
        if (proc->libc_object == o)
            proc->libc_object = NULL;
        walk_remove(proc, o);
    }
}

int load_dlopen(struct load_process *proc, const char *name, const char *caller, unsigned flags,
                struct load_result *ret, struct err *e)
{
    struct object *from = proc->main;
    for (struct object *o = proc->head; caller && o; o = o->next)
        if (str_eq(o->name, caller))
            from = o;
    /* the same file may have been opened under another name ("/opt/app/bin/../lib/x.so") */
    const char *real = caller && from == proc->main ? place_realpath(proc->place, search_absolute(proc, caller)) : NULL;
    for (struct object *o = proc->head; real && o && from == proc->main; o = o->next) {
        const char *its = o->elf && !o->is_main ? place_realpath(proc->place, search_absolute(proc, o->name)) : NULL;
        if (its && str_eq(its, real))
            from = o;
    }
    if (caller && from == proc->main)
        return err_set(e, ERR_NOT_FOUND, "'%s' is not loaded, so it can open nothing", caller);
    proc->error = NULL;
    proc->aborts = proc->unknown = false;
    proc->explore = flags & LOAD_FLAG_EXPLORE;
    proc->needs.n = 0;
    if (proc->start_error) {
        proc->error = proc->start_error;
        proc->aborts = true;
        take_result(proc, NULL, ret);
        return 0;
    }
    uint64_t tls_used = proc->tls_used, tls_optional = proc->tls_optional;
    bool exec_stack = proc->exec_stack;
    struct object *o = NULL;
    if (!proc->libc.musl)
        o = open_object(proc, arena_strdup(&proc->arena, name), from, flags);
    else
        o = musl_dlopen(proc, arena_strdup(&proc->arena, name), from, flags);
    take_result(proc, o, ret);
    settle(proc, o != NULL);
    if (!o) {
        proc->tls_used = tls_used;
        proc->tls_optional = tls_optional;
        proc->exec_stack = exec_stack;
    }
    return 0;
}
