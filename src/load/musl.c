/* musl's loader (1.1.20 and later): one list of search folders for all, names known only by the file they were found
 * under, symbols looked up without versions, libc and ld.so one object. */
#include <assert.h>
#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "load/process.h"

enum {
    MUSL_NAME_MAX = 255,
    MUSL_PATH_BUFFER = 512, /* a found path that is not shorter is never tried */
};

/* strerror in musl's words. */
static const char *musl_strerror(int number)
{
    static const struct {
        int number;
        const char *text;
    } texts[] = {
        { 0, "No error information" },
        { ENOENT, "No such file or directory" },
        { ENOEXEC, "Exec format error" },
        { ELOOP, "Symbolic link loop" },
        { EACCES, "Permission denied" },
        { ENOTDIR, "Not a directory" },
        { ENAMETOOLONG, "Filename too long" },
        { EINVAL, "Invalid argument" },
        { EISDIR, "Is a directory" },
        { ENOMEM, "Out of memory" },
        { ENXIO, "No such device or address" },
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (texts[i].number == number)
            return texts[i].text;
    return strerror(number);
}

static const struct elf *musl_open(struct load_process *proc, const char *path)
{
    const struct place_elf *file = place_elf(proc->place, search_absolute(proc, path));
    if (file->known == KNOWN_NOT_LOOKED)
        proc->unknown = true;
    if (file->known != KNOWN_PRESENT) {
        proc->error_number = file->known == KNOWN_NOT_LOOKED ? ENOENT : file->error;
        const char *real = file->error == EINVAL ? place_realpath(proc->place, search_absolute(proc, path)) : NULL;
        if (real && str_starts(real, "/dev/"))
            proc->error_number = ENOEXEC; /* it is read, and is no ELF file */
        else if (file->known == KNOWN_FAILED && file->error == EINVAL)
            load_abort(proc, "'%s' is no regular file, reading it may never end", path);
        return NULL;
    }
    return file->elf;
}

enum opened { OPENED_NONE, OPENED_FILE, OPENED_OVER };

/* The first file of this name along a list of folders; any error but a few ends the whole search. */
static enum opened path_open(struct load_process *proc, const char *name, const char *list, const char **ret_path,
                             const struct elf **ret_elf)
{
    for (;;) {
        list += strspn(list, ":\n");
        size_t n = strcspn(list, ":\n");
        if (n == 0)
            return OPENED_NONE;
        const char *path = arena_printf(&proc->arena, "%.*s/%s", (int)n, list, name);
        list += n;
        if (strlen(path) >= MUSL_PATH_BUFFER)
            continue;
        *ret_path = path;
        *ret_elf = musl_open(proc, path);
        if (*ret_elf)
            return OPENED_FILE;
        switch (proc->error_number) {
        case ENOENT:
        case ENOTDIR:
        case EACCES:
        case ENAMETOOLONG:
            break;
        default:
            return OPENED_OVER;
        }
    }
}

/* DT_RUNPATH, else DT_RPATH, with $ORIGIN put in; NULL: none, or one with another token. */
static const char *fixed_rpath(struct load_process *proc, struct object *o)
{
    const char *text = !o->elf ? NULL : o->elf->runpath ? o->elf->runpath : o->elf->rpath;
    if (!text || !strchr(text, '$'))
        return text;
    const char *from = o->is_main ? arena_printf(&proc->arena, "%s/", proc->exe_origin) : o->name;
    const char *slash = strrchr(from, '/');
    size_t n = slash ? (size_t)(slash - from) : 1;
    if (!slash)
        from = ".";
    if (proc->secure && (o->is_main || *from != '/'))
        return NULL;
    struct str out = { 0 };
    bool fine = true;
    for (const char *at = text; *at && fine;) {
        size_t plain = strcspn(at, "$");
        str_addn(&out, at, plain);
        at += plain;
        if (!*at)
            break;
        bool braces = str_starts(at, "${ORIGIN}");
        fine = (braces || str_starts(at, "$ORIGIN")) && out.len < (size_t)PROCESS_MAX_PATH * 16;
        if (fine) {
            str_addn(&out, from, n);
            at += braces ? 9 : 7;
        }
    }
    const char *result = fine ? arena_strdup(&proc->arena, str_get(&out)) : NULL;
    str_done(&out);
    return result;
}

/* The system's list: /etc/ld-musl-ARCH.path beside the loader's root, else the built-in one. */
static const char *system_path(struct load_process *proc)
{
    if (proc->musl_path)
        return proc->musl_path;
    const char *interp = proc->libc.interp, *last = strrchr(interp, '/'), *before = interp;
    for (const char *at = interp; last && at < last; at++)
        if (*at == '/')
            before = at;
    const char *base = path_base(interp);
    const char *arch = str_starts(base, "ld-musl-") ? base + strlen("ld-musl-") : base;
    const char *file = arena_printf(&proc->arena, "%.*s/etc/ld-musl-%.*s.path", (int)(before - interp), interp,
                                    (int)strcspn(arch, "."), arch);
    const struct text *text = place_text(proc->place, file, TEXT_WHOLE);
    proc->musl_path = "/lib:/usr/local/lib:/usr/lib";
    if (text->known == KNOWN_NOT_LOOKED)
        proc->unknown = true;
    if (text->known == KNOWN_PRESENT)
        proc->musl_path = text->at ? text->at : "";
    else if (text->known == KNOWN_FAILED || text->error == ENOTDIR)
        proc->musl_path = "";
    if (text->known != KNOWN_PRESENT)
        proc->error_number = text->error;
    return proc->musl_path;
}

static bool is_reserved(const char *name)
{
    static const char *const parts[] = { "libc.", "libpthread.", "librt.", "libm.", "libdl.", "libutil.", "libxnet." };
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (str_starts(name, parts[i]))
            return true;
    return false;
}

static enum opened search(struct load_process *proc, const char *name, struct object *needed_by,
                          const char **ret_path, const struct elf **ret_elf, enum load_rule *ret_rule)
{
    enum opened r = OPENED_NONE;
    *ret_rule = LOAD_LIBRARY_PATH;
    if (proc->musl_env)
        r = path_open(proc, name, proc->musl_env, ret_path, ret_elf);
    for (struct object *o = needed_by; r == OPENED_NONE && o; o = o->loader) {
        const char *list = fixed_rpath(proc, o);
        *ret_rule = o->elf && o->elf->runpath ? LOAD_RUNPATH : LOAD_RPATH;
        if (list)
            r = path_open(proc, name, list, ret_path, ret_elf);
    }
    if (r == OPENED_NONE) {
        *ret_rule = LOAD_DEFAULT;
        r = path_open(proc, name, system_path(proc), ret_path, ret_elf);
    }
    return r;
}

/* What is wrong with the file, as musl would meet it: it looks at little more than the program headers. */
static bool check_file(struct load_process *proc, const char *path, const struct elf *elf)
{
    switch (elf->problem) {
    case ELF_FINE:
    case ELF_PIE:
    case ELF_NOOPEN:
    case ELF_EXECUTABLE:
        return true;
    case ELF_BAD_PHOFF:
        proc->error_number = EINVAL;
        return false;
    case ELF_NO_LOAD:
    case ELF_ZERO_FILL:
        proc->error_number = ENOMEM;
        return false;
    case ELF_CUT:
    case ELF_DAMAGED:
        load_abort(proc, "'%s' is damaged: %s", path, elf_problem_text(elf->problem));
        return false;
    default:
        proc->error_number = ENOEXEC;
        return false;
    }
}

static struct object *load_library(struct load_process *proc, const char *name, struct object *needed_by);

/* The file of a found path: the same one under another name, a second libc, or a new object. */
static struct object *take_file(struct load_process *proc, const char *path, const struct elf *elf,
                                struct object *needed_by, enum load_rule rule, bool searched)
{
    for (struct object *o = proc->head->next; o; o = o->next)
        if (o->has_id && o->elf->dev == elf->dev && o->elf->ino == elf->ino) {
            if (!o->soname && searched)
                o->soname = path_base(o->name);
            return o;
        }
    if (!check_file(proc, path, elf))
        return NULL;
    if (elf_defines(elf, "__libc_start_main", NULL) == ELF_YES && elf_defines(elf, "stdin", NULL) == ELF_YES)
        return load_library(proc, "libc.so", needed_by);
    if (proc->n_objects >= PROCESS_MAX_OBJECTS) {
        proc->error_number = ENOMEM;
        return NULL;
    }
    struct object *o = walk_new(proc, path, path, needed_by, elf);
    o->soname = searched ? path_base(path) : NULL;
    o->has_id = true;
    o->rule = rule;
    return o;
}

static struct object *load_library(struct load_process *proc, const char *name, struct object *needed_by)
{
    if (!*name) {
        proc->error_number = EINVAL;
        return NULL;
    }
    if (is_reserved(name) || str_eq(name, proc->libc.interp) || str_eq(name, "linux-gate.so.1"))
        return proc->rtld;
    const char *path = name;
    const struct elf *elf = NULL;
    enum load_rule rule = LOAD_AS_GIVEN;
    bool searched = !strchr(name, '/');
    if (!searched) {
        elf = musl_open(proc, name);
    } else {
        for (struct object *o = proc->head->next; o; o = o->next)
            if (o->soname && str_eq(o->soname, name))
                return o;
        if (strlen(name) > MUSL_NAME_MAX)
            return NULL;
        if (search(proc, name, needed_by, &path, &elf, &rule) != OPENED_FILE)
            return NULL;
    }
    return elf ? take_file(proc, path, elf, needed_by, rule, searched) : NULL;
}

static void note_need(struct load_process *proc, const char *name, const struct object *by, const struct object *o)
{
    for (size_t i = 0; i < proc->needs.n; i++)
        if (str_eq(proc->needs.at[i].name, name))
            return;
    struct load_need need = { .name = name, .needed_by = by && !by->is_main ? by->name : NULL };
    need.status = o ? LOAD_FOUND : proc->error_number == ENOEXEC ? LOAD_BAD_FILE : LOAD_MISSING;
    need.rule = !o ? LOAD_NO_RULE : o->inited ? LOAD_ALREADY : o->rule;
    need.path = o ? o->name : NULL;
    need.elf = o ? o->elf : NULL;
    need.problem = o ? NULL : musl_strerror(proc->error_number);
    vec_push(&proc->needs, need);
}

/* The direct dependencies of one object. */
static bool load_direct(struct load_process *proc, struct object *o)
{
    if (o->initfini || !o->elf)
        return true;
    bool fine = true;
    struct object **deps = arena_alloc(&proc->arena, (o->elf->n_needed + 1) * sizeof(*deps));
    size_t n = 0;
    for (size_t i = 0; i < o->elf->n_needed && (fine || proc->explore); i++) {
        const char *name = o->elf->needed[i];
        struct object *dep = load_library(proc, name, o);
        if (!dep && !proc->error)
            load_fail(proc, 0, NULL, "Error loading shared library %s: %s (needed by %s)", name,
                      musl_strerror(proc->error_number), o->is_main ? proc->musl_exe : o->name);
        note_need(proc, name, o, dep);
        fine = fine && dep;
        if (dep)
            deps[n++] = dep;
    }
    o->initfini = deps;
    o->n_initfini = n;
    return fine;
}

static bool load_all(struct load_process *proc, struct object *from)
{
    bool fine = true;
    for (struct object *o = from; o && (fine || proc->explore); o = o->next)
        fine = load_direct(proc, o) && fine;
    return fine && !proc->error;
}

/* The object and all below it, breadth-first. */
static void build_list(struct load_process *proc, struct object *root)
{
    if (root->searchlist)
        return;
    struct object **list = arena_alloc(&proc->arena, (proc->n_objects + 2) * sizeof(*list));
    size_t n = 0;
    list[n++] = root;
    root->reserved = true;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < list[i]->n_initfini; k++)
            if (!list[i]->initfini[k]->reserved) {
                list[i]->initfini[k]->reserved = true;
                list[n++] = list[i]->initfini[k];
            }
    for (size_t i = 0; i < n; i++)
        list[i]->reserved = false;
    root->searchlist = list;
    root->n_searchlist = n;
}

struct musl_relocation {
    struct load_process *proc;
    struct object *o;
    const struct object *root;
    bool calls; /* this pass: DT_JMPREL, which musl does first */
    bool lazy;
    const char *name; /* the symbol looked up last: musl names it even where the relocation has none */
};

static struct object *find_symbol(struct musl_relocation *r, const struct elf_undef *u, bool *unknown)
{
    struct elf_undef plain = *u;
    plain.version = NULL;
    plain.any_version = true;
    for (size_t i = 0; i < r->proc->globals.n + r->root->n_searchlist; i++) {
        size_t n = r->proc->globals.n;
        struct object *o = i < n ? r->proc->globals.at[i] : r->root->searchlist[i - n];
        enum elf_answer answer = o->elf && o->elf->symbols ? elf_resolves(o->elf, &plain) : ELF_NO;
        if (answer == ELF_YES && !elf_resolves_indirectly(o->elf, &plain))
            return o; /* a function chosen by a resolver is none for musl */
        *unknown = *unknown || answer == ELF_UNKNOWN;
    }
    return NULL;
}

static bool is_call(uint32_t type)
{
    return type == R_X86_64_JUMP_SLOT || type == R_AARCH64_JUMP_SLOT;
}

/* RTLD_LAZY may leave these to a later dlopen that brings the symbol. */
static bool is_postponable(uint32_t type)
{
    return is_call(type) || type == R_X86_64_GLOB_DAT || type == R_AARCH64_GLOB_DAT;
}

/* Known to glibc only. */
static bool is_unsupported(uint32_t type)
{
    return type == R_X86_64_IRELATIVE || type == R_AARCH64_IRELATIVE || type == R_X86_64_32 || type == R_X86_64_SIZE32 || type == R_X86_64_SIZE64;
}

static bool on_want(void *ctx, const struct elf_want *w)
{
    struct musl_relocation *r = ctx;
    assert(r->o);
    if (w->kind == ELF_WANT_CRASH) {
        load_abort(r->proc, "relocation of '%s' outside of what is mapped", r->o->name);
        return false;
    }
    if (is_call(w->type) != r->calls)
        return true;
    bool unknown = false;
    if (w->symbol)
        r->name = w->symbol->name;
    struct object *from = w->symbol ? find_symbol(r, w->symbol, &unknown) : r->o;
    if (!from && unknown)
        r->proc->unknown = true;
    else if (!from && w->symbol && !w->symbol->weak && !(r->lazy && is_postponable(w->type))) {
        load_fail(r->proc, 0, NULL, "Error relocating %s: %s: symbol not found", r->o->name, w->symbol->name);
        return false;
    }
    if (w->kind == ELF_WANT_BAD_TYPE || is_unsupported(w->type)) {
        load_fail(r->proc, 0, NULL, "Error relocating %s: unsupported relocation type %u", r->o->name, w->type);
        return false;
    }
    if (w->kind == ELF_WANT_STATIC_TLS && from && !from->tls_static && from->elf && from->elf->tls_size_bytes) {
        load_fail(r->proc, 0, NULL, "Error relocating %s: %s: initial-exec TLS resolves to dynamic definition in %s",
                  r->o->name, r->name, from->name);
        return false;
    }
    return true;
}

static bool relocate(struct load_process *proc, struct object *root, bool lazy)
{
    for (struct object *o = root; o; o = o->next) {
        if (o->relocated || !o->elf || !o->elf->symbols)
            continue;
        struct musl_relocation r = { .proc = proc, .o = o, .root = root, .lazy = lazy && !o->elf->bind_now };
        for (int pass = 0; pass < 2; pass++) {
            r.calls = pass == 0;
            r.name = "(null)";
            if (!elf_wants(o->elf, false, on_want, &r))
                return false;
        }
        o->relocated = true;
    }
    return true;
}

static void add_globals(struct load_process *proc, struct object *o)
{
    if (o->global)
        return;
    o->global = true;
    vec_push(&proc->globals, o);
}

static void preload(struct load_process *proc, const char *list)
{
    while (*list) {
        while (*list == ':' || isspace((unsigned char)*list))
            list++;
        size_t n = 0;
        while (list[n] && list[n] != ':' && !isspace((unsigned char)list[n]))
            n++;
        if (n)
            (void)load_library(proc, arena_strndup(&proc->arena, list, n), NULL);
        list += n;
    }
}

void musl_start(struct load_process *proc, const struct load_config *config, const struct elf *exe_elf)
{
    static const char *const needed[] = { "libc.so" };
    static const struct elf plain = { .needed = needed, .n_needed = 1 };
    proc->musl_exe = config->exe ? config->exe : "a.out";
    proc->musl_env = proc->secure ? NULL : config->library_path;
    proc->main = walk_new(proc, "", "", NULL, exe_elf ? exe_elf : &plain);
    proc->main->is_main = true;
    const struct place_elf *interp = place_elf(proc->place, proc->libc.interp);
    const struct elf *libc = interp->known == KNOWN_PRESENT && interp->elf->problem == ELF_FINE ? interp->elf : NULL;
    /* ld.so is in the list from the start: every program needs libc */
    proc->rtld = walk_new(proc, proc->libc.interp, proc->libc.interp, NULL, libc);
    proc->rtld->is_rtld = true;
    proc->preloads = config->preload && *config->preload && !proc->secure;
    if (proc->preloads)
        preload(proc, config->preload);
    if (!load_all(proc, proc->head))
        proc->start_error = proc->aborts ? proc->error
                                         : arena_printf(&proc->arena, "the loader would abort: %s", proc->error);
    for (struct object *o = proc->head; o; o = o->next) {
        add_globals(proc, o);
        o->inited = o->relocated = o->tls_static = true;
        o->own = !proc->preloads || o->is_main || o->is_rtld;
    }
    build_list(proc, proc->main);
}

struct object *musl_dlopen(struct load_process *proc, const char *name, struct object *caller, unsigned flags)
{
    (void)caller; /* names are searched for as the program itself would */
    struct object *o = load_library(proc, name, proc->main);
    if (!o && !proc->error)
        load_fail(proc, 0, NULL, "Error loading shared library %s: %s", name, musl_strerror(proc->error_number));
    note_need(proc, name, NULL, o);
    if (!o || proc->error || !load_all(proc, o))
        return NULL;
    build_list(proc, o);
    if (!(flags & LOAD_FLAG_NO_SYMBOLS) && !o->relocated && !relocate(proc, o, flags & LOAD_FLAG_LAZY))
        return NULL;
    for (size_t i = 0; i < o->n_searchlist && (flags & LOAD_FLAG_GLOBAL); i++)
        add_globals(proc, o->searchlist[i]);
    return o;
}
