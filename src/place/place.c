#include "place/internal.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/xalloc.h"

enum { CALL_BYTES = 1024 * 1024, OPEN_FOREIGN = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY };
/* Every read is capped, their number is not: a small tree of links can show one big file a million times. */
#define KEPT_MAX ((size_t)512 * 1024 * 1024)

struct place *place_new(enum place_kind kind, const char *name)
{
    struct place *p = xcalloc(1, sizeof(*p));
    p->kind = kind;
    p->root_fd = -1;
    p->kept_max = KEPT_MAX;
    p->name = arena_strdup(&p->arena, name);
    return p;
}

void place_free(struct place *p)
{
    if (!p)
        return;
    for (struct entry *e = p->entries; e; e = e->hh.next)
        if (e->elf && e->elf->elf)
            elf_done((struct elf *)(uintptr_t)e->elf->elf);
    HASH_CLEAR(hh, p->entries);
    HASH_CLEAR(hh, p->env);
    HASH_CLEAR(hh, p->calls);
    if (p->root_fd >= 0)
        (void)close(p->root_fd);
    arena_done(&p->arena);
    free(p);
}

enum place_kind place_kind(const struct place *p)
{
    return p->kind;
}

const char *place_name(const struct place *p)
{
    return p->name;
}

struct arena *place_arena(struct place *p)
{
    return &p->arena;
}

const char *place_cwd(const struct place *p)
{
    return p->cwd;
}

void place_set_cwd(struct place *p, const char *dir)
{
    p->cwd = arena_strdup(&p->arena, dir);
}

const char *place_absolute(struct place *p, const char *path)
{
    return path[0] == '/' ? path : path_join(&p->arena, p->cwd, path);
}

/* ---- environment ---- */

struct env_entry *place_env_entry(struct place *p, const char *name)
{
    struct env_entry *v;
    HASH_FIND_STR(p->env, name, v);
    if (v)
        return v;
    v = arena_new(&p->arena, struct env_entry);
    v->name = arena_strdup(&p->arena, name);
    HASH_ADD_KEYPTR(hh, p->env, v->name, strlen(v->name), v);
    return v;
}

const char *place_getenv(struct place *p, const char *name)
{
    struct env_entry *v;
    HASH_FIND_STR(p->env, name, v);
    if (v)
        return v->value;
    const char *value = p->kind == PLACE_LIVE ? getenv(name) : NULL;
    if (p->kind == PLACE_SNAPSHOT)
        return NULL;
    v = place_env_entry(p, name);
    v->value = value ? arena_strdup(&p->arena, value) : NULL;
    return v->value;
}

void place_setenv(struct place *p, const char *name, const char *value_or_null)
{
    struct env_entry *v = place_env_entry(p, name);
    v->value = value_or_null ? arena_strdup(&p->arena, value_or_null) : NULL;
}

/* ---- the table ---- */

/* Leaves out "//" and "/./" inside; a trailing slash or dot stays, since it asks for a folder. False: too long. */
static bool plain_path(struct place *p, const char *path, char buf[PATH_MAX], size_t *ret_len)
{
    if (path[0] != '/')
        path = place_absolute(p, path);
    if (strnlen(path, PATH_MAX) >= PATH_MAX)
        return false;
    size_t n = 0;
    for (const char *s = path; *s; s++) {
        if (n > 0 && buf[n - 1] == '/') {
            if (*s == '/')
                continue;
            if (s[0] == '.' && s[1] == '/')
                continue; /* the slash that follows is dropped by the line above */
        }
        buf[n++] = *s;
    }
    buf[n] = '\0';
    *ret_len = n;
    return n > 0;
}

struct entry *place_entry(struct place *p, const char *path)
{
    char buf[PATH_MAX];
    size_t n;
    if (!plain_path(p, path, buf, &n))
        return NULL;
    struct entry *e;
    HASH_FIND(hh, p->entries, buf, n, e);
    if (e)
        return e;
    e = arena_new(&p->arena, struct entry);
    e->path = arena_strndup(&p->arena, buf, n);
    HASH_ADD_KEYPTR(hh, p->entries, e->path, n, e);
    return e;
}

enum known place_known_of(int error)
{
    if (error == 0)
        return KNOWN_PRESENT;
    return error == ENOENT || error == ENOTDIR ? KNOWN_ABSENT : KNOWN_FAILED;
}

/* The same for an answer of the backing, which may also have failed for want of something of our own. */
static enum known known_of(struct place *p, const struct entry *e, int error)
{
    if (!p->short_errno && (error == EMFILE || error == ENFILE || error == ENOMEM)) {
        p->short_errno = error;
        p->short_path = e->path;
    }
    return place_known_of(error);
}

int place_complete(const struct place *p, struct err *e)
{
    if (!p->short_errno)
        return 0;
    if (p->arena.total_bytes >= p->kept_max)
        return err_set(e, ERR_LIMIT, "'%s' holds more than %zu MiB that would have to be kept", p->name,
                       p->kept_max >> 20);
    return err_set(e, ERR_READ, "cannot open '%s': %s", p->short_path, strerror(p->short_errno));
}

/* Errors that say nothing of what is there. */
static bool is_damage(int error)
{
    static const int damage[] = { EIO, ESTALE, ETIMEDOUT, EREMOTEIO, EUCLEAN, EBADMSG, ENOTCONN, EHOSTDOWN };
    for (size_t i = 0; i < ARRAY_LEN(damage); i++)
        if (error == damage[i])
            return true;
    return false;
}

/* The errno of an answer, 0 where it was not asked for. */
#define ERROR_OF(answer) ((answer) ? (answer)->error : 0)

/* What was opened before or after was there all the time, so a failure beside it is damage too. */
static int damage_beside(const struct entry *e)
{
    bool there = (e->stat && e->stat->known == KNOWN_PRESENT) || (e->elf && e->elf->known == KNOWN_PRESENT);
    if (there && e->real && e->real->known == KNOWN_FAILED)
        return e->real->error;
    if (there && e->stat && e->stat->known == KNOWN_FAILED)
        return e->stat->error;
    return 0;
}

static int damage_of(const struct entry *e)
{
    const int errors[] = { ERROR_OF(e->stat), ERROR_OF(e->lstat), ERROR_OF(e->link), ERROR_OF(e->real),
                           ERROR_OF(e->list), ERROR_OF(e->elf),   ERROR_OF(e->gpu),
                           e->sha ? e->sha->digest.error : 0 };
    for (size_t i = 0; i < ARRAY_LEN(errors); i++)
        if (is_damage(errors[i]))
            return errors[i];
    for (size_t i = 0; i < TEXT_PARTS; i++)
        if (is_damage(ERROR_OF(e->text[i])))
            return e->text[i]->error;
    return damage_beside(e);
}

const char *place_damage(const struct place *p, int *ret_error)
{
    const struct entry *first = NULL;
    for (const struct entry *e = p->entries; e; e = e->hh.next)
        if (damage_of(e) && (!first || strcmp(e->path, first->path) < 0))
            first = e;
    if (!first)
        return NULL;
    *ret_error = damage_of(first);
    return first->path;
}

/* The errno with which every following access to the path itself fails, or 0. */
static int absent_itself(const struct entry *e)
{
    if (e->lstat && e->lstat->known == KNOWN_ABSENT)
        return e->lstat->error;
    if (e->stat && e->stat->known == KNOWN_ABSENT)
        return e->stat->error;
    if (e->elf && e->elf->known == KNOWN_ABSENT)
        return e->elf->error;
    if (e->list && e->list->error == ENOENT) /* its ENOTDIR speaks of a file that exists */
        return ENOENT;
    if (e->gpu && e->gpu->known == KNOWN_ABSENT)
        return e->gpu->error;
    for (size_t i = 0; i < TEXT_PARTS; i++)
        if (e->text[i] && e->text[i]->known == KNOWN_ABSENT)
            return e->text[i]->error;
    return 0;
}

/* The errno of a path below e, when what is known of e decides it; or 0. */
static int absent_below(const struct entry *e)
{
    int error = absent_itself(e);
    if (error)
        return error;
    if (e->list && e->list->error == ENOTDIR)
        return ENOTDIR;
    if (e->stat && e->stat->known == KNOWN_PRESENT && e->stat->type != FILE_DIR)
        return ENOTDIR;
    return 0;
}

/* As the kernel: a path whose leading part is absent is absent in the same way. Looks two folders up, which is
 * where the loader's folders with hwcaps below them are known from. */
static int absent_above(struct place *p, const struct entry *e)
{
    size_t n = e->hh.keylen;
    for (int up = 0; up < 2; up++) {
        while (n > 0 && e->path[n - 1] != '/')
            n--;
        if (n <= 1)
            return 0;
        n--;
        struct entry *dir;
        HASH_FIND(hh, p->entries, e->path, n, dir);
        int error = dir ? absent_below(dir) : 0;
        if (error)
            return error;
    }
    return 0;
}

static int absent(struct place *p, const struct entry *e)
{
    int error = absent_itself(e);
    return error ? error : absent_above(p, e);
}

/* What an access that is not in the table starts from: an errno known already, or whether to ask the backing. */
struct question {
    struct entry *entry;
    int error;  /* not 0: known without asking */
    bool ask;   /* the backing must be asked */
};

static struct question question_of(struct place *p, struct entry *e, bool through_link)
{
    int error = through_link ? absent(p, e) : absent_above(p, e);
    if (!error && p->backing && p->arena.total_bytes >= p->kept_max)
        error = ENOMEM;
    return (struct question){ .entry = e, .error = error, .ask = error == 0 && p->backing };
}

/* ---- stat, links ---- */

static const struct file_info info_too_long = { .known = KNOWN_FAILED, .error = ENAMETOOLONG };
static const struct file_info info_unknown = { .known = KNOWN_NOT_LOOKED };

static enum file_type type_of(mode_t mode)
{
    if (S_ISREG(mode))
        return FILE_REGULAR;
    if (S_ISDIR(mode))
        return FILE_DIR;
    return S_ISLNK(mode) ? FILE_LINK : FILE_OTHER;
}

static void fill_info(const struct stat *st, struct file_info *ret)
{
    *ret = (struct file_info){
        .known = KNOWN_PRESENT,
        .type = type_of(st->st_mode),
        .size_bytes = (uint64_t)st->st_size,
        .dev = st->st_dev,
        .ino = st->st_ino,
        .mode = st->st_mode & 07777u,
        .mtime_s = st->st_mtim.tv_sec,
    };
}

static void keep_info(struct place *p, struct entry *e, const struct stat *st)
{
    if (e->stat)
        return;
    e->stat = arena_new(&p->arena, struct file_info);
    fill_info(st, e->stat);
}

static const struct file_info *info_of(struct place *p, const char *path, bool follow)
{
    struct entry *e = place_entry(p, path);
    if (!e)
        return &info_too_long;
    struct file_info **slot = follow ? &e->stat : &e->lstat;
    if (*slot)
        return *slot;
    /* What is no link is the same seen from both sides. */
    const struct file_info *other = follow ? e->lstat : NULL;
    if (other && other->known == KNOWN_PRESENT && other->type != FILE_LINK) {
        e->stat = e->lstat;
        return e->stat;
    }
    struct question q = question_of(p, e, follow);
    if (!q.error && !q.ask)
        return &info_unknown;
    struct file_info *info = arena_new(&p->arena, struct file_info);
    struct stat st;
    int error = q.error ? q.error : -p->backing->stat(p, e->path, follow, &st);
    if (error == 0)
        fill_info(&st, info);
    info->known = known_of(p, e, error);
    info->error = error;
    *slot = info;
    return info;
}

const struct file_info *place_stat(struct place *p, const char *path)
{
    return info_of(p, path, true);
}

const struct file_info *place_lstat(struct place *p, const char *path)
{
    return info_of(p, path, false);
}

bool place_exists(struct place *p, const char *path)
{
    return place_stat(p, path)->known == KNOWN_PRESENT;
}

bool place_is_dir(struct place *p, const char *path)
{
    const struct file_info *info = place_stat(p, path);
    return info->known == KNOWN_PRESENT && info->type == FILE_DIR;
}

static const char *answer_name(struct place *p, const struct entry *e, struct name_answer **slot, int error,
                               const char *name)
{
    struct name_answer *a = arena_new(&p->arena, struct name_answer);
    a->known = known_of(p, e, error);
    a->error = error;
    a->name = error ? NULL : arena_strdup(&p->arena, name);
    *slot = a;
    return a->name;
}

const char *place_readlink(struct place *p, const char *path)
{
    struct entry *e = place_entry(p, path);
    if (!e)
        return NULL;
    if (e->link)
        return e->link->name;
    struct question q = question_of(p, e, false);
    if (!q.error && e->lstat && e->lstat->known == KNOWN_PRESENT && e->lstat->type != FILE_LINK)
        q.error = EINVAL;
    if (!q.error && e->lstat && e->lstat->known == KNOWN_ABSENT)
        q.error = e->lstat->error;
    if (!q.error && !q.ask)
        return NULL;
    char buf[PATH_MAX];
    int error = q.error ? q.error : -p->backing->readlink(p, e->path, buf);
    return answer_name(p, e, &e->link, error, buf);
}

const char *place_realpath(struct place *p, const char *path)
{
    struct entry *e = place_entry(p, path);
    if (!e)
        return NULL;
    if (e->real)
        return e->real->name;
    struct question q = question_of(p, e, true);
    if (!q.error && !q.ask)
        return NULL;
    char buf[PATH_MAX];
    int error = q.error ? q.error : -p->backing->realpath(p, e->path, buf);
    return answer_name(p, e, &e->real, error, buf);
}

/* ---- contents ---- */

/* 0, or the errno that stands for "no file to read". */
static int regular(const struct stat *st)
{
    if (S_ISREG(st->st_mode))
        return 0;
    return S_ISDIR(st->st_mode) ? EISDIR : EINVAL;
}

/* Opening a device acts on it: a watchdog starts to count, a tape rewinds. A root folder may hold nodes that a stranger
 * put there (an image that root unpacked), so below one a file is looked at before it is opened. The live machine is
 * spared the two calls a file: there we open by the names by which Python, pip and the loader open the same files. */
static int open_foreign(struct place *p, struct entry *e)
{
    if (p->kind == PLACE_ROOT) {
        const struct file_info *info = info_of(p, e->path, true);
        if (info->error)
            return -info->error;
        if (info->type == FILE_OTHER)
            return -EINVAL;
    }
    return p->backing->open(p, e->path, OPEN_FOREIGN);
}

/* Opens the entry's file for reading; a descriptor or -errno. A FIFO or device is never waited for nor read. What
 * fstat tells is kept, so that a later place_stat is free. */
static int open_regular(struct place *p, struct entry *e, struct stat *ret)
{
    int fd = open_foreign(p, e);
    if (fd < 0)
        return fd;
    int error = RETRY(fstat(fd, ret)) == 0 ? 0 : errno;
    if (!error) {
        keep_info(p, e, ret);
        error = regular(ret);
    }
    if (!error)
        return fd;
    (void)close(fd);
    return -error;
}

/* elf_read looks at the file itself; only when it would not is it worth a call to know why. */
static int why_unread(int fd)
{
    struct stat st;
    if (RETRY(fstat(fd, &st)) != 0)
        return errno;
    int error = regular(&st);
    return error ? error : EIO;
}

const struct listing *place_list(struct place *p, const char *path)
{
    static const struct listing too_long = { .known = KNOWN_FAILED, .error = ENAMETOOLONG };
    static const struct listing unknown = { .known = KNOWN_NOT_LOOKED };
    struct entry *e = place_entry(p, path);
    if (!e)
        return &too_long;
    if (e->list)
        return e->list;
    struct question q = question_of(p, e, true);
    if (!q.error && e->stat && e->stat->known == KNOWN_PRESENT && e->stat->type != FILE_DIR)
        q.error = ENOTDIR;
    if (!q.error && !q.ask)
        return &unknown;
    struct listing *list = arena_new(&p->arena, struct listing);
    if (q.error)
        list->error = q.error;
    else
        place_read_list(p, e->path, list);
    list->known = known_of(p, e, list->error);
    e->list = list;
    return list;
}

const struct text *place_text(struct place *p, const char *path, enum text_part part)
{
    static const struct text too_long = { .known = KNOWN_FAILED, .error = ENAMETOOLONG, .at = "" };
    static const struct text unknown = { .known = KNOWN_NOT_LOOKED, .at = "" };
    struct entry *e = place_entry(p, path);
    if (!e)
        return &too_long;
    if (e->text[part])
        return e->text[part];
    struct question q = question_of(p, e, true);
    if (!q.error && !q.ask)
        return &unknown;
    struct text *text = arena_new(&p->arena, struct text);
    *text = (struct text){ .at = "", .error = q.error };
    if (!q.error) {
        struct stat st;
        cleanup_(closep) int fd = open_regular(p, e, &st);
        if (fd < 0)
            text->error = -fd;
        else
            place_read_text(p, fd, (uint64_t)st.st_size, part, text);
    }
    text->known = known_of(p, e, text->error);
    e->text[part] = text;
    return text;
}

const struct place_elf *place_elf(struct place *p, const char *path)
{
    static const struct place_elf too_long = { .known = KNOWN_FAILED, .error = ENAMETOOLONG };
    static const struct place_elf unknown = { .known = KNOWN_NOT_LOOKED };
    struct entry *e = place_entry(p, path);
    if (!e)
        return &too_long;
    if (e->elf)
        return e->elf;
    struct question q = question_of(p, e, true);
    if (!q.error && !q.ask)
        return &unknown;
    struct place_elf *a = arena_new(&p->arena, struct place_elf);
    a->error = q.error;
    if (!q.error) {
        cleanup_(closep) int fd = open_foreign(p, e);
        struct elf *elf = NULL;
        if (fd < 0)
            a->error = -fd;
        else if (elf_read(fd, &p->arena, &elf, NULL) < 0)
            a->error = why_unread(fd);
        a->elf = elf;
    }
    a->known = known_of(p, e, a->error);
    e->elf = a;
    return a;
}

const struct place_gpu_code *place_gpu_code(struct place *p, const char *path)
{
    static const struct place_gpu_code too_long = { .known = KNOWN_FAILED, .error = ENAMETOOLONG };
    static const struct place_gpu_code unknown = { .known = KNOWN_NOT_LOOKED };
    struct entry *e = place_entry(p, path);
    if (!e)
        return &too_long;
    if (e->gpu)
        return e->gpu;
    struct question q = question_of(p, e, true);
    if (!q.error && !q.ask)
        return &unknown;
    struct place_gpu_code *a = arena_new(&p->arena, struct place_gpu_code);
    a->error = q.error;
    if (!q.error) {
        struct stat st;
        cleanup_(closep) int fd = open_regular(p, e, &st);
        if (fd < 0)
            a->error = -fd;
        else if (fatbin_read(fd, &p->arena, &a->code, NULL) < 0)
            a->error = EIO;
    }
    a->known = known_of(p, e, a->error);
    e->gpu = a;
    return a;
}

const char *place_sha256(struct place *p, const char *path, uint64_t max_bytes)
{
    struct entry *e = place_entry(p, path);
    if (!e)
        return NULL;
    /* EFBIG is only an answer up to the limit that was asked with. */
    if (e->sha && (e->sha->digest.error != EFBIG || max_bytes <= e->sha->max_bytes || !p->backing))
        return e->sha->digest.name;
    struct question q = question_of(p, e, true);
    if (!q.error && !q.ask)
        return NULL;
    char hex[65];
    int error = q.error;
    if (!error) {
        struct stat st;
        cleanup_(closep) int fd = open_regular(p, e, &st);
        if (fd < 0)
            error = -fd;
        else if ((uint64_t)st.st_size > max_bytes)
            error = EFBIG;
        else
            error = -place_digest(fd, max_bytes, hex);
    }
    struct sha_answer *a = arena_new(&p->arena, struct sha_answer);
    *a = (struct sha_answer){ .max_bytes = max_bytes };
    a->digest = (struct name_answer){ .known = known_of(p, e, error), .error = error };
    if (!error)
        a->digest.name = arena_strdup(&p->arena, hex);
    e->sha = a;
    return a->digest.name;
}

/* ---- machine and calls ---- */

const struct place_machine *place_machine(struct place *p)
{
    if (!p->machine) {
        p->machine = arena_new(&p->arena, struct place_machine);
        if (p->kind != PLACE_SNAPSHOT)
            place_see_machine(p, p->machine);
    }
    return p->machine;
}

struct call_entry *place_call_entry(struct place *p, const char *name)
{
    struct call_entry *c;
    HASH_FIND_STR(p->calls, name, c);
    if (c)
        return c;
    c = arena_new(&p->arena, struct call_entry);
    c->name = arena_strdup(&p->arena, name);
    c->text.at = "";
    HASH_ADD_KEYPTR(hh, p->calls, c->name, strlen(c->name), c);
    return c;
}

const struct text *place_call(struct place *p, const char *name, void (*run)(int out_fd), int timeout_ms)
{
    struct call_entry *c = place_call_entry(p, name);
    if (c->text.known != KNOWN_NOT_LOOKED || p->kind != PLACE_LIVE)
        return &c->text;
    struct str out = { 0 };
    struct err e = { 0 };
    bool cut = false;
    int r = proc_call(run, timeout_ms, CALL_BYTES, &out, &cut, &e);
    c->text.known = r < 0 ? KNOWN_FAILED : KNOWN_PRESENT;
    c->text.len = r < 0 ? strlen(e.text) : out.len;
    char *at = arena_alloc(&p->arena, c->text.len + 1);
    memcpy(at, r < 0 ? e.text : str_get(&out), c->text.len);
    at[c->text.len] = '\0';
    c->text.at = at;
    c->text.cut = cut;
    str_done(&out);
    return &c->text;
}

/* A note is kept among the calls: both are texts under a name that no path is. */
void place_note(struct place *p, const char *name, const char *value)
{
    struct call_entry *c = place_call_entry(p, arena_printf(&p->arena, "note %s", name));
    c->text = (struct text){ .known = KNOWN_PRESENT, .at = arena_strdup(&p->arena, value), .len = strlen(value) };
}

const char *place_noted(struct place *p, const char *name)
{
    const struct call_entry *c = place_call_entry(p, arena_printf(&p->arena, "note %s", name));
    return c->text.known == KNOWN_PRESENT ? c->text.at : NULL;
}
