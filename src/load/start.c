/* How a process starts: the program, what LD_PRELOAD and /etc/ld.so.preload bring, and what they need. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "load/process.h"

enum { PRELOAD_NAME_MAX = 4096 }; /* longer names are passed over */

static const char *const plain_needed[] = { "libc.so.6" };
static const struct elf plain_program = { .needed = plain_needed, .n_needed = 1, .exec_stack = ELF_STACK_PLAIN };

static struct objects preload_one(struct load_process *proc, const char *name, struct objects all)
{
    struct load_mode mode = { .preload = true };
    if (!*name || strlen(name) >= PRELOAD_NAME_MAX || (proc->secure && strchr(name, '/')))
        return all;
    size_t before = proc->n_objects;
    struct object *o = walk_map(proc, proc->main, arena_strdup(&proc->arena, name), mode, NULL);
    if (!proc->aborts)
        proc->error = NULL; /* "cannot be preloaded ...: ignored." */
    if (o && proc->n_objects != before)
        vec_push(&all, o);
    return all;
}

static struct objects preload_list(struct load_process *proc, const char *text, const char *separators,
                                   struct objects all)
{
    while (*text && !proc->aborts) {
        size_t n = strcspn(text, separators);
        char *name = arena_strndup(&proc->arena, text, n);
        all = preload_one(proc, name, all);
        text += n + (text[n] ? 1 : 0);
    }
    return all;
}

/* /etc/ld.so.preload: names between blanks, newlines and colons; '#' starts a comment. The loader looks for the next
 * comment from the start again, over as many bytes as are left behind the last one. */
static struct objects preload_file(struct load_process *proc, struct objects all)
{
    const struct text *text = place_text(proc->place, "/etc/ld.so.preload", TEXT_WHOLE);
    if (text->known == KNOWN_NOT_LOOKED)
        proc->unknown = true;
    if (text->known != KNOWN_PRESENT || text->len == 0)
        return all;
    proc->preloads = true;
    char *copy = arena_alloc(&proc->arena, text->len + 1);
    memcpy(copy, text->at, text->len);
    copy[text->len] = '\0';
    for (size_t rest = text->len; rest > 0;) {
        char *at = memchr(copy, '#', rest);
        if (!at)
            break;
        rest -= (size_t)(at - copy);
        do {
            *at++ = ' ';
            rest--;
        } while (rest > 0 && *at != '\n');
    }
    return preload_list(proc, copy, ": \t\n", all);
}

/* ld.so stands where the search order has it. */
static void move_rtld(struct load_process *proc)
{
    struct object *rtld = proc->rtld, *before = NULL;
    for (size_t i = 1; i < proc->main->n_searchlist && !before; i++)
        if (proc->main->searchlist[i] == rtld)
            before = proc->main->searchlist[i - 1];
    if (!before)
        return;
    if (before == proc->main)
        before = proc->vdso;
    if (rtld->prev == before)
        return;
    rtld->prev->next = rtld->next;
    if (rtld->next)
        rtld->next->prev = rtld->prev;
    else
        proc->tail = rtld->prev;
    rtld->prev = before;
    rtld->next = before->next;
    before->next = rtld;
    if (rtld->next)
        rtld->next->prev = rtld;
    else
        proc->tail = rtld;
}

/* The static TLS block of the program's start, and the surplus that dlopen may use. */
static void lay_out_tls(struct load_process *proc)
{
    uint64_t used = 0, align = 64, gap = 0, gap_end = 0;
    for (struct object *o = proc->head; o; o = o->next) {
        if (!o->elf || o->elf->tls_size_bytes == 0)
            continue;
        o->tls_static = true;
        uint64_t size = o->elf->tls_size_bytes, a = o->elf->tls_align ? o->elf->tls_align : 1;
        if (a > align)
            align = a;
        /* into the newest gap that alignment left, else behind all */
        uint64_t end = (gap + size + a - 1) / a * a;
        if (gap_end - gap >= size && end <= gap_end) {
            gap = end;
            continue;
        }
        end = (used + size + a - 1) / a * a;
        if (end > used + size + (gap_end - gap)) {
            gap = used;
            gap_end = end - size;
        }
        used = end;
    }
    proc->tls_used = used;
    proc->tls_align = align;
    /* the surplus, and the thread's own struct behind it */
    proc->tls_size = (used + proc->tls_surplus + align - 1) / align * align + 2304;
}

static void start_failed(struct load_process *proc, const char *what)
{
    if (!proc->aborts)
        proc->error = arena_printf(&proc->arena, "the loader would abort: %s%s", what, proc->error);
    proc->start_error = proc->error;
}

static bool own_at_start(const struct load_process *proc, const struct object *o)
{
    return !proc->preloads || o->is_main || o->is_rtld || o->is_vdso || str_ends(o->name, "/libc.so.6");
}

static void check_start(struct load_process *proc, bool preloads)
{
    for (struct object *o = proc->head; o; o = o->next)
        if (!check_versions(proc, o)) {
            start_failed(proc, "");
            return;
        }
    if (!preloads)
        return;
    if (!check_isa(proc, proc->main)) {
        start_failed(proc, "");
        return;
    }
    proc->rtld->relocated = true;
    if (proc->libc_object)
        proc->libc_object->relocated = true; /* it comes first, whoever needs it */
    for (size_t i = proc->main->n_initfini; i-- > 0;) {
        struct object *o = proc->main->initfini[i];
        if (o->is_rtld || o->is_main || o == proc->libc_object)
            continue;
        if (!check_relocations(proc, o, !proc->bind_now)) {
            start_failed(proc, "symbol lookup error: ");
            return;
        }
    }
}

static void start_glibc(struct load_process *proc, const struct load_config *config, const struct elf *exe_elf)
{
    proc->main = walk_new(proc, "", "", NULL, exe_elf ? exe_elf : &plain_program);
    proc->main->is_main = true;
    proc->exec_stack = proc->main->elf->exec_stack != ELF_STACK_PLAIN;
    proc->vdso = walk_new(proc, "linux-vdso.so.1", "linux-vdso.so.1", NULL, NULL);
    proc->vdso->is_vdso = true;
    proc->vdso->soname = "linux-vdso.so.1";
    const struct place_elf *interp = place_elf(proc->place, proc->libc.interp);
    proc->rtld = walk_new(proc, proc->libc.interp, proc->libc.interp, NULL,
                          interp->known == KNOWN_PRESENT && interp->elf->problem == ELF_FINE ? interp->elf : NULL);
    proc->rtld->is_rtld = true;
    proc->rtld->soname = proc->libc.interp_name;
    if (interp->known == KNOWN_NOT_LOOKED)
        proc->unknown = true;

    const char *llp = proc->secure ? NULL : config->library_path;
    if (llp)
        proc->env_dirs = search_list(proc, proc->main, llp, ":;");
    struct dirlist *sys = &proc->system_dirs;
    struct str all = { 0 };
    for (size_t i = 0; proc->libc.system_dirs[i]; i++)
        str_addf(&all, "%s%s", i ? ":" : "", proc->libc.system_dirs[i]);
    *sys = search_list(proc, proc->main, str_get(&all), ":");
    str_done(&all);

    struct objects preloads = { 0 };
    proc->preloads = config->preload && *config->preload;
    if (proc->preloads)
        preloads = preload_list(proc, config->preload, " :", preloads);
    preloads = preload_file(proc, preloads);
    if (proc->aborts)
        start_failed(proc, "");
    else if (!walk_deps(proc, proc->main, preloads.at, preloads.n, (struct load_mode){ 0 }))
        start_failed(proc, "error while loading shared libraries: ");
    bool any = preloads.n > 0;
    vec_done(&preloads);
    if (proc->start_error)
        return;
    move_rtld(proc);
    for (size_t i = 0; i < proc->main->n_searchlist; i++) {
        proc->main->searchlist[i]->global = true;
        vec_push(&proc->globals, proc->main->searchlist[i]);
    }
    lay_out_tls(proc);
    check_start(proc, any);
    for (struct object *o = proc->head; o; o = o->next) {
        o->inited = o->relocated = o->versions_done = true;
        o->own = own_at_start(proc, o);
    }
}

/* The newest version that its libc.so.6 defines tells which glibc it is. */
static void find_version(struct load_process *proc)
{
    for (size_t i = 0; proc->libc.system_dirs[i] && !proc->libc.minor; i++) {
        const char *path = arena_printf(&proc->arena, "%slibc.so.6", proc->libc.system_dirs[i]);
        const struct place_elf *file = place_elf(proc->place, path);
        for (size_t v = 0; file->known == KNOWN_PRESENT && v < file->elf->n_verdef; v++) {
            const char *name = file->elf->verdef[v];
            if (!str_starts(name, "GLIBC_2."))
                continue;
            long minor = strtol(name + strlen("GLIBC_2."), NULL, 10);
            if (minor > proc->libc.minor && minor < 1000)
                proc->libc.minor = (int)minor;
        }
    }
}

/* The set-id bits give AT_SECURE when the user is not the file's owner already; root owns most. */
static bool is_setid(struct load_process *proc, const char *exe)
{
    const struct file_info *info = place_stat(proc->place, exe);
    if (info->known != KNOWN_PRESENT)
        return false;
    bool setuid = (info->mode & 04000) && place_machine(proc->place)->uid != 0;
    return setuid || (info->mode & 02010) == 02010;
}

static int open_exe(struct load_process *proc, const char *exe, const struct elf **ret, struct err *e)
{
    const char *path = search_absolute(proc, exe);
    const struct place_elf *file = place_elf(proc->place, path);
    if (file->known == KNOWN_NOT_LOOKED) {
        proc->unknown = true;
        return 0;
    }
    if (file->known != KNOWN_PRESENT)
        return err_set(e, ERR_NOT_FOUND, "cannot read the program '%s': %s", exe, strerror(file->error));
    enum elf_problem p = file->elf->problem;
    if (p != ELF_FINE && p != ELF_PIE && p != ELF_EXECUTABLE && p != ELF_NOOPEN)
        return err_set(e, ERR_FORMAT, "'%s' is no program for this machine: %s", exe, elf_problem_text(p));
    *ret = file->elf;
    const char *real = place_realpath(proc->place, path);
    proc->exe_origin = path_dir(&proc->arena, real ? real : path);
    proc->secure = proc->secure || is_setid(proc, path);
    return 0;
}

int load_process_new(struct place *p, const struct load_config *config, struct load_process **ret, struct err *e)
{
    struct load_process *proc = xcalloc(1, sizeof(*proc));
    proc->place = p;
    proc->secure = config->secure;
    proc->bind_now = config->bind_now;
    const char *cwd = config->cwd ? place_absolute(p, config->cwd) : place_cwd(p);
    const char *real = config->cwd ? place_realpath(p, cwd) : cwd;
    proc->cwd = real ? real : cwd;
    proc->exe_origin = "/usr/bin"; /* of a plain program, unless told */
    const struct elf *exe_elf = NULL;
    if (config->exe) {
        int rc = open_exe(proc, config->exe, &exe_elf, e);
        if (rc < 0) {
            load_process_free(proc);
            return rc;
        }
    }
    libc_find(proc, exe_elf);
    if (proc->libc.musl) {
        musl_start(proc, config, exe_elf);
    } else {
        find_version(proc);
        tunables_read(proc, proc->secure ? NULL : config->tunables);
        libc_caps(proc);
        start_glibc(proc, config, exe_elf);
    }
    proc->start_unknown = proc->unknown;
    *ret = proc;
    return 0;
}
