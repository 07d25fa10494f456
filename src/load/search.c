/* Where a name is looked for: dynamic string tokens, lists of folders, their subfolders, and one candidate file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/str.h"
#include "load/cache.h"
#include "load/process.h"

/* What ldconfig writes beside a library of this machine: ELF for libc6, and the ABI (glibc's cache format). */
#ifdef __aarch64__
#define CACHE_ID 0xa03
#else
#define CACHE_ID 0x303
#endif

static bool is_word(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* Length of the token called name at text (behind its '$'), braces included; 0: another one. */
static size_t token_length(const char *text, const char *name)
{
    bool braces = text[0] == '{';
    size_t n = strlen(name);
    if (braces)
        text++;
    if (strncmp(text, name, n) != 0)
        return 0;
    if (braces)
        return text[n] == '}' ? n + 2 : 0;
    return is_word(text[n]) ? 0 : n;
}

const char *search_absolute(struct load_process *proc, const char *path)
{
    return path[0] == '/' ? path : path_join(&proc->arena, proc->cwd, path);
}

const char *search_origin(struct load_process *proc, struct object *o)
{
    if (o->origin)
        return o->origin;
    if (o->is_main) {
        o->origin = proc->exe_origin;
    } else if (o->name[0]) {
        const char *full = o->name;
        if (full[0] != '/')
            full = arena_printf(&proc->arena, "%s%s%s", proc->cwd, str_ends(proc->cwd, "/") ? "" : "/", o->name);
        size_t end = (size_t)(strrchr(full, '/') - full);
        o->origin = arena_strndup(&proc->arena, full, end ? end : 1);
    }
    return o->origin;
}

/* Programs with more rights than their user accept $ORIGIN only as the first component of the main program's path,
 * and only when it then lies below a system folder. */
static bool is_trusted(struct load_process *proc, const char *path)
{
    const char *clean = path_clean(&proc->arena, path);
    for (size_t i = 0; proc->libc.system_dirs[i]; i++) {
        size_t n = strlen(proc->libc.system_dirs[i]) - 1;
        if (strncmp(clean, proc->libc.system_dirs[i], n) == 0 && (clean[n] == '/' || !clean[n]))
            return true;
    }
    return false;
}

const char *search_expand(struct load_process *proc, struct object *o, const char *text)
{
    if (!strchr(text, '$'))
        return text;
    struct str out = { 0 };
    bool check = false, dropped = false;
    for (const char *at = text; *at && !dropped;) {
        if (*at != '$') {
            str_addc(&out, *at++);
            continue;
        }
        at++;
        const char *value = NULL;
        size_t n;
        if ((n = token_length(at, "ORIGIN")) != 0) {
            bool first = at == text + 1 && (at[n] == '\0' || at[n] == '/');
            value = proc->secure && !first ? NULL : search_origin(proc, o);
            check = proc->secure && o->is_main;
        } else if ((n = token_length(at, "PLATFORM")) != 0) {
            value = proc->libc.platform;
        } else if ((n = token_length(at, "LIB")) != 0) {
            value = proc->libc.lib;
        }
        if (n == 0) {
            str_addc(&out, '$');
        } else if (value && out.len < PROCESS_MAX_PATH) {
            str_add(&out, value);
            at += n;
        } else {
            dropped = true;
        }
    }
    const char *result = dropped ? "" : arena_strdup(&proc->arena, str_get(&out));
    str_done(&out);
    return check && *result && !is_trusted(proc, result) ? "" : result;
}

/* The one struct of this folder. */
static struct dir *dir_of(struct load_process *proc, const char *path, size_t len)
{
    for (size_t i = 0; i < proc->dirs.n; i++)
        if (proc->dirs.at[i]->len == len && memcmp(proc->dirs.at[i]->path, path, len) == 0)
            return proc->dirs.at[i];
    struct dir *d = arena_new(&proc->arena, struct dir);
    char *copy = arena_alloc(&proc->arena, len + 2);
    memcpy(copy, path, len);
    copy[len] = '\0';
    d->path = copy;
    d->len = len;
    vec_push(&proc->dirs, d);
    return d;
}

static void list_add(struct load_process *proc, struct dirlist *list, const char *element)
{
    size_t len = strlen(element);
    while (len > 1 && element[len - 1] == '/')
        len--;
    const char *path = element;
    if (len > 0 && element[len - 1] != '/') {
        path = arena_printf(&proc->arena, "%.*s/", (int)len, element);
        len++;
    }
    struct dir *d = dir_of(proc, path, len);
    for (size_t i = 0; i < list->n; i++)
        if (list->at[i] == d)
            return;
    list->at[list->n++] = d;
}

struct dirlist search_list(struct load_process *proc, struct object *o, const char *text, const char *separators)
{
    struct dirlist list = { NULL, 0 };
    if (!*text)
        return list;
    size_t n = 1;
    for (const char *at = text; *at; at++)
        if (strchr(separators, *at))
            n++;
    if (n > PROCESS_MAX_LIST)
        n = PROCESS_MAX_LIST;
    list.at = arena_alloc(&proc->arena, n * sizeof(struct dir *));
    for (const char *at = text; n > 0; n--) {
        size_t len = strcspn(at, separators);
        const char *element = arena_strndup(&proc->arena, at, len);
        const char *full = search_expand(proc, o, element);
        if (!*element || *full)
            list_add(proc, &list, full);
        at += len + (at[len] ? 1 : 0);
    }
    return list;
}

/* Does the folder path (final slash included) exist? A missing one leaves its errno. */
static enum dir_state see_dir(struct load_process *proc, const char *path, size_t len, int *error)
{
    const char *plain = arena_strndup(&proc->arena, path, len > 1 ? len - 1 : len);
    const struct file_info *info = place_stat(proc->place, plain);
    if (info->known == KNOWN_NOT_LOOKED)
        proc->unknown = true;
    if (info->known == KNOWN_PRESENT && info->type == FILE_DIR)
        return DIR_THERE;
    *error = info->known == KNOWN_PRESENT ? ENOTDIR : info->known == KNOWN_NOT_LOOKED ? ENOENT : info->error;
    return DIR_ABSENT;
}

static int compare_name(const void *key, const void *entry)
{
    return strcmp(key, ((const struct dir_entry *)entry)->name);
}

/* Is it known without another look that the folder has nothing of this name? */
static bool surely_lacks(const struct dir *d, const char *name)
{
    if (!d->names || str_eq(name, ".") || str_eq(name, ".."))
        return false;
    return d->names->n == 0 || !bsearch(name, d->names->at, d->names->n, sizeof(*d->names->at), compare_name);
}

/* Looks at the folder itself; a small one is read. */
static void see_base(struct load_process *proc, struct dir *d, size_t base)
{
    d->top[base] = (unsigned char)see_dir(proc, d->path, d->len, &d->top_error[base]);
    const char *plain = arena_strndup(&proc->arena, d->path, d->len > 1 ? d->len - 1 : d->len);
    if (d->top[base] != DIR_THERE || place_stat(proc->place, plain)->size_bytes > PROCESS_SMALL_DIR)
        return;
    for (size_t i = 0; i < proc->system_dirs.n; i++)
        if (proc->system_dirs.at[i] == d)
            return;
    const struct listing *names = place_list(proc->place, plain);
    if (names->known == KNOWN_PRESENT && !names->cut)
        d->names = names;
}

/* Is there a folder dir + caps[cap]? Like the loader it asks once a process and then leaves missing ones out; unlike
 * it, a missing first component settles all that lies below. */
static bool dir_exists(struct load_process *proc, struct dir *d, size_t cap)
{
    if (d->path[0] != '/')
        return true;
    if (d->state[cap] != DIR_UNKNOWN)
        return d->state[cap] == DIR_THERE;
    size_t base = proc->n_caps - 1, top = proc->cap_top[cap];
    if (d->top[base] == DIR_UNKNOWN)
        see_base(proc, d, base);
    size_t asked = base;
    if (d->top[base] == DIR_THERE && cap != base) {
        if (d->top[top] == DIR_UNKNOWN) {
            size_t n = strcspn(proc->caps[top], "/") + 1;
            const char *path = arena_printf(&proc->arena, "%s%.*s", d->path, (int)n, proc->caps[top]);
            d->top_error[top] = ENOENT;
            if (surely_lacks(d, arena_strndup(&proc->arena, proc->caps[top], n - 1)))
                d->top[top] = DIR_ABSENT;
            else
                d->top[top] = (unsigned char)see_dir(proc, path, d->len + n, &d->top_error[top]);
        }
        asked = top;
    }
    unsigned char state = d->top[asked];
    int error = d->top_error[asked];
    if (state == DIR_THERE && cap != base && strchr(proc->caps[cap], '/')[1]) {
        const char *path = arena_concat(&proc->arena, d->path, proc->caps[cap], "");
        state = (unsigned char)see_dir(proc, path, strlen(path), &error);
    }
    d->state[cap] = state;
    if (state == DIR_ABSENT)
        proc->error_number = error;
    return state == DIR_THERE;
}

/* The loader opens folders, FIFOs and devices as it opens files, and reads. */
static void not_a_file(struct load_process *proc, const char *path, int error, struct search_found *found)
{
    found->fatal = path;
    if (error == EISDIR) {
        load_fail(proc, EISDIR, path, "cannot read file data");
        return;
    }
    const char *real = place_realpath(proc->place, search_absolute(proc, path));
    if (real && str_eq(real, "/dev/null"))
        load_fail(proc, 0, path, "file too short");
    else if (real && str_starts(real, "/dev/"))
        load_fail(proc, 0, path, "invalid ELF header");
    else
        load_abort(proc, "'%s' is no regular file, reading it may never end", path);
}

bool search_open(struct load_process *proc, const char *path, enum load_rule rule, struct search_found *found)
{
    if (strlen(path) >= PROCESS_MAX_PATH) {
        proc->error_number = ENAMETOOLONG;
        return false;
    }
    if (!*path) {
        proc->error_number = ENOENT;
        return false;
    }
    const struct place_elf *file = place_elf(proc->place, search_absolute(proc, path));
    if (file->known != KNOWN_PRESENT) {
        if (file->known == KNOWN_NOT_LOOKED)
            proc->unknown = true;
        proc->error_number = file->known == KNOWN_NOT_LOOKED ? ENOENT : file->error;
        if (file->known == KNOWN_FAILED && (file->error == EISDIR || file->error == EINVAL))
            not_a_file(proc, path, file->error, found);
        return false;
    }
    enum elf_problem problem = file->elf->problem;
    proc->error_number = 0;
    if (problem != ELF_FINE && elf_problem_skipped(problem)) {
        proc->error_number = ENOENT;
        if (problem == ELF_WRONG_CLASS)
            found->other_class = true;
        return false;
    }
    if (problem != ELF_FINE && problem < ELF_BAD_ALIGN) {
        found->fatal = path;
        load_fail(proc, 0, path, "%s", elf_problem_text(problem));
        return false;
    }
    found->path = path;
    found->elf = file->elf;
    found->rule = rule;
    return true;
}

static void note_searched(struct load_process *proc, struct search_found *found, enum load_rule rule, const char *where)
{
    if (!found->searched)
        return;
    const char *dir = *where ? path_clean(&proc->arena, where) : ".";
    const char *text = arena_concat(&proc->arena, load_rule_text(rule), " ", dir);
    for (size_t i = 0; i < found->searched->n; i++)
        if (str_eq(found->searched->at[i], text))
            return;
    vec_push(found->searched, text);
}

/* A setuid bit is asked of what LD_PRELOAD brings into a program with more rights than its user. */
static bool preload_allowed(struct load_process *proc, const char *path, struct load_mode mode)
{
    if (!mode.preload || !proc->secure)
        return true;
    const struct file_info *info = place_stat(proc->place, search_absolute(proc, path));
    return info->known == KNOWN_PRESENT && (info->mode & 04000);
}

/* Looks through one list. True: found, or the search is over because of found->fatal. */
static bool search_dirs(struct load_process *proc, const struct dirlist *list, const char *name, enum load_rule rule,
                        struct load_mode mode, struct search_found *found)
{
    for (size_t i = 0; i < list->n; i++) {
        struct dir *d = list->at[i];
        bool any = false;
        note_searched(proc, found, rule, d->path);
        for (size_t cap = 0; cap < proc->n_caps; cap++) {
            if (!dir_exists(proc, d, cap))
                continue;
            any = true;
            if (cap == proc->n_caps - 1 && surely_lacks(d, name)) {
                proc->error_number = ENOENT;
                continue;
            }
            const char *path = arena_concat(&proc->arena, d->path, proc->caps[cap], name);
            bool opened = search_open(proc, path, rule, found);
            if (found->fatal)
                return true;
            if (opened && preload_allowed(proc, path, mode))
                return true;
            if (opened)
                proc->error_number = ENOENT;
            found->path = NULL;
        }
        if (any && proc->error_number != ENOENT && proc->error_number != EACCES)
            return false;
    }
    return false;
}

static const struct dirlist *rpath_of(struct load_process *proc, struct object *o)
{
    if (!o->rpath_done) {
        o->rpath_done = true;
        if (o->elf && o->elf->rpath && !o->elf->runpath)
            o->rpath = search_list(proc, o, o->elf->rpath, ":");
    }
    return &o->rpath;
}

static const struct dirlist *runpath_of(struct load_process *proc, struct object *o)
{
    if (!o->runpath_done) {
        o->runpath_done = true;
        if (o->elf && o->elf->runpath)
            o->runpath = search_list(proc, o, o->elf->runpath, ":");
    }
    return &o->runpath;
}

static bool search_rpaths(struct load_process *proc, struct object *loader, const char *name, struct load_mode mode,
                          struct search_found *found)
{
    bool did_main = false;
    for (struct object *o = loader; o; o = o->loader) {
        const struct dirlist *list = rpath_of(proc, o);
        if (list->n == 0)
            continue;
        if (search_dirs(proc, list, name, LOAD_RPATH, mode, found))
            return true;
        did_main = did_main || o == proc->main;
    }
    return !did_main && search_dirs(proc, rpath_of(proc, proc->main), name, LOAD_RPATH, mode, found);
}

static struct cache *cache_of(struct load_process *proc)
{
    if (!proc->cache_tried) {
        proc->cache_tried = true;
        const struct text *text = place_text(proc->place, "/etc/ld.so.cache", TEXT_LDCACHE);
        if (text->known == KNOWN_NOT_LOOKED || (text->known == KNOWN_PRESENT && text->cut))
            proc->unknown = true;
        if (text->known == KNOWN_PRESENT)
            proc->cache = cache_open(&proc->arena, text->at, text->len);
        else
            proc->error_number = text->known == KNOWN_NOT_LOOKED ? ENOENT : text->error;
    }
    return proc->cache;
}

static bool search_cache(struct load_process *proc, const char *name, bool nodeflib, struct search_found *found)
{
    struct cache *cache = cache_of(proc);
    if (found->searched)
        vec_push(found->searched, "cache /etc/ld.so.cache");
    if (!cache)
        return false;
    const char *levels[8];
    size_t n_levels = 0;
    for (size_t i = 0; i < proc->n_caps && n_levels < 8; i++)
        if (str_starts(proc->caps[i], "glibc-hwcaps/")) {
            const char *level = proc->caps[i] + strlen("glibc-hwcaps/");
            levels[n_levels++] = arena_strndup(&proc->arena, level, strlen(level) - 1);
        }
    const struct place_machine *m = place_machine(proc->place);
    bool haswell = proc->libc.platform && str_eq(proc->libc.platform, "haswell");
    bool phi = proc->libc.platform && str_eq(proc->libc.platform, "xeon_phi");
    struct cache_want want = {
        .flags = CACHE_ID,
        .hwcap = 2 | (haswell && (m->isa_usable & 8) ? 4 : 0),
        .platform = haswell ? UINT64_C(1) << 50 : phi ? UINT64_C(1) << 51 : UINT64_MAX,
        .levels = levels,
        .n_levels = n_levels,
        .isa_usable = m->isa_usable,
    };
    const char *path = cache_find(cache, name, &want);
    for (size_t i = 0; path && nodeflib && proc->libc.system_dirs[i]; i++)
        if (str_starts(path, proc->libc.system_dirs[i]))
            path = NULL;
    return path && (search_open(proc, path, LOAD_CACHE, found) || found->fatal);
}

void search_name(struct load_process *proc, struct object *loader, const char *name, struct load_mode mode,
                 struct search_found *found)
{
    struct object *o = loader ? loader : proc->main;
    bool has_runpath = o->elf && o->elf->runpath;
    if (!has_runpath && search_rpaths(proc, o, name, mode, found))
        return;
    if (search_dirs(proc, &proc->env_dirs, name, LOAD_LIBRARY_PATH, mode, found))
        return;
    if (search_dirs(proc, runpath_of(proc, o), name, LOAD_RUNPATH, mode, found))
        return;
    bool nodeflib = o->elf && o->elf->nodeflib;
    if (!(mode.preload && proc->secure) && search_cache(proc, name, nodeflib, found))
        return;
    if (!nodeflib)
        (void)search_dirs(proc, &proc->system_dirs, name, LOAD_DEFAULT, mode, found);
}
