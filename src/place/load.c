/* A place from its record. The file may be anything: whatever is not as save.c writes it is refused. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "place/internal.h"

enum { SCHEMA = 1, SNAPSHOT_BYTES = 64 * 1024 * 1024, ERRNO_MAX = 4095, LIST_MAX = 200 * 1000 };

/* Bytes as save.c wrote them. In the arena, NUL-ended; false when it is no such value. */
static bool take_bytes(struct arena *a, const json_t *v, const char **ret, size_t *ret_len)
{
    struct str bytes = { 0 };
    bool fine = jsonr_bytes(v, &bytes);
    if (fine) {
        *ret_len = bytes.len;
        char *at = arena_alloc(a, bytes.len + 1);
        memcpy(at, str_get(&bytes), bytes.len + 1);
        *ret = at;
    }
    str_done(&bytes);
    return fine;
}

/* The same for what must be a C string, and may be null when that is allowed. */
static bool take_str(struct arena *a, const json_t *from, const char *key, bool null_allowed, const char **ret)
{
    const json_t *v = json_object_get(from, key);
    if (null_allowed && (!v || json_is_null(v))) {
        *ret = NULL;
        return true;
    }
    size_t len;
    return take_bytes(a, v, ret, &len) && strlen(*ret) == len;
}

/* The errno of an answer, 0 when it has none, -1 when it is no errno. */
static int take_error(const json_t *from)
{
    const json_t *v = json_object_get(from, "error");
    if (!v)
        return 0;
    if (json_is_integer(v))
        return json_integer_value(v) > 0 && json_integer_value(v) <= ERRNO_MAX ? (int)json_integer_value(v) : -1;
    const char *want = json_string_value(v);
    for (int n = 1; want && n < 256; n++) {
        const char *name = strerrorname_np(n);
        if (name && str_eq(name, want))
            return n;
    }
    return -1;
}

static uint64_t take_u64(const json_t *from, const char *key)
{
    return (uint64_t)jsonr_int(from, key, 0);
}

static bool take_type(const char *letter, enum file_type *ret)
{
    static const char letters[] = "-fdlo";
    const char *at = letter && letter[0] && !letter[1] ? strchr(letters, letter[0]) : NULL;
    if (at)
        *ret = (enum file_type)(at - letters);
    return at != NULL;
}

static bool take_info(struct place *p, const json_t *v, struct file_info **ret)
{
    int error = take_error(v);
    if (!json_is_object(v) || error < 0)
        return false;
    struct file_info *info = arena_new(&p->arena, struct file_info);
    info->error = error;
    info->known = place_known_of(error);
    if (!error) {
        if (!take_type(jsonr_str(v, "t"), &info->type))
            return false;
        info->size_bytes = take_u64(v, "size");
        info->dev = take_u64(v, "dev");
        info->ino = take_u64(v, "ino");
        info->mode = (uint32_t)take_u64(v, "mode") & 07777u;
        info->mtime_s = jsonr_int(v, "mtime", 0);
    }
    *ret = info;
    return true;
}

static bool take_stat(struct place *p, const json_t *v, struct entry *e)
{
    return take_info(p, v, &e->stat);
}

static bool take_lstat(struct place *p, const json_t *v, struct entry *e)
{
    if (!json_is_true(v))
        return take_info(p, v, &e->lstat);
    e->lstat = e->stat;
    return e->stat != NULL;
}

static bool take_name(struct place *p, const json_t *v, struct name_answer **ret)
{
    int error = take_error(v);
    if (!json_is_object(v) || error < 0)
        return false;
    struct name_answer *a = arena_new(&p->arena, struct name_answer);
    a->error = error;
    a->known = place_known_of(error);
    *ret = a;
    return error || take_str(&p->arena, v, "at", false, &a->name);
}

static bool take_link(struct place *p, const json_t *v, struct entry *e)
{
    return take_name(p, v, &e->link);
}

static bool take_real(struct place *p, const json_t *v, struct entry *e)
{
    return take_name(p, v, &e->real);
}

static bool take_list(struct place *p, const json_t *v, struct entry *e)
{
    static const char *const letters[] = { "-", "f", "d", "l", "o" };
    int error = take_error(v);
    if (!json_is_object(v) || error < 0)
        return false;
    struct listing *list = arena_new(&p->arena, struct listing);
    *list = (struct listing){ .known = place_known_of(error), .error = error, .cut = jsonr_bool(v, "cut") };
    size_t n = 0;
    for (size_t type = 0; type < ARRAY_LEN(letters); type++)
        n += json_array_size(json_object_get(v, letters[type]));
    if (n > LIST_MAX)
        return false;
    struct dir_entry *at = arena_alloc(&p->arena, (n + 1) * sizeof(*at));
    for (size_t type = 0; type < ARRAY_LEN(letters); type++) {
        size_t i, len;
        json_t *name;
        json_array_foreach (json_object_get(v, letters[type]), i, name) {
            struct dir_entry *d = &at[list->n];
            if (!take_bytes(&p->arena, name, &d->name, &len) || strlen(d->name) != len)
                return false;
            d->type = (enum file_type)type;
            list->n++;
        }
    }
    qsort(at, list->n, sizeof(*at), place_sort_names);
    list->at = list->n > 0 ? at : NULL;
    e->list = list;
    return true;
}

static bool take_texts(struct place *p, const json_t *v, struct entry *e)
{
    if (!json_is_object(v))
        return false;
    for (size_t i = 0; i < TEXT_PARTS; i++) {
        const json_t *part = json_object_get(v, place_part_names[i]);
        if (!part)
            continue;
        int error = take_error(part);
        if (error < 0)
            return false;
        struct text *t = arena_new(&p->arena, struct text);
        *t = (struct text){ .known = place_known_of(error), .error = error, .at = "" };
        t->cut = jsonr_bool(part, "cut");
        if (!error && !take_bytes(&p->arena, json_object_get(part, "at"), &t->at, &t->len))
            return false;
        e->text[i] = t;
    }
    return true;
}

static bool take_elf(struct place *p, const json_t *v, struct entry *e)
{
    int error = take_error(v);
    if (error < 0)
        return false;
    struct place_elf *a = arena_new(&p->arena, struct place_elf);
    a->error = error;
    a->known = place_known_of(error);
    struct elf *elf = NULL;
    if (!error && elf_load(v, &p->arena, &elf, NULL) < 0)
        return false;
    a->elf = elf;
    e->elf = a;
    return true;
}

static bool take_arch(const json_t *v, struct gpu_arch *ret)
{
    const json_t *number = json_array_get(v, 0), *containers = json_array_get(v, 3);
    if (!json_is_integer(number) || !json_is_integer(containers))
        return false;
    *ret = (struct gpu_arch){
        .number = (uint32_t)json_integer_value(number),
        .ptx = json_is_true(json_array_get(v, 1)),
        .specific = json_is_true(json_array_get(v, 2)),
        .containers = (uint32_t)json_integer_value(containers),
    };
    return true;
}

static bool take_gpu(struct place *p, const json_t *v, struct entry *e)
{
    int error = take_error(v);
    if (!json_is_object(v) || error < 0)
        return false;
    struct place_gpu_code *a = arena_new(&p->arena, struct place_gpu_code);
    a->error = error;
    a->known = place_known_of(error);
    const json_t *arch = jsonr_array(v, "arch");
    size_t n = json_array_size(arch);
    struct gpu_arch *at = arena_alloc(&p->arena, (n + 1) * sizeof(*at));
    for (size_t i = 0; i < n; i++)
        if (!take_arch(json_array_get(arch, i), &at[i]))
            return false;
    a->code = (struct gpu_code){
        .containers = (uint32_t)take_u64(v, "containers"),
        .arch = n > 0 ? at : NULL,
        .n_arch = n,
        .truncated = jsonr_bool(v, "truncated"),
    };
    e->gpu = a;
    return true;
}

static bool take_sha(struct place *p, const json_t *v, struct entry *e)
{
    int error = take_error(v);
    if (!json_is_object(v) || error < 0)
        return false;
    struct sha_answer *a = arena_new(&p->arena, struct sha_answer);
    a->max_bytes = take_u64(v, "max");
    a->digest.error = error;
    a->digest.known = place_known_of(error);
    if (!error && !take_str(&p->arena, v, "hex", false, &a->digest.name))
        return false;
    e->sha = a;
    return error || strlen(a->digest.name) == 64;
}

/* In the order in which they are taken: lstat may refer to stat. */
static const struct member {
    const char *key;
    bool (*take)(struct place *p, const json_t *v, struct entry *e);
} members[] = {
    { "stat", take_stat }, { "lstat", take_lstat }, { "link", take_link },  { "real", take_real },
    { "list", take_list }, { "text", take_texts },  { "elf", take_elf },    { "gpu", take_gpu },
    { "sha256", take_sha },
};

static int take_entry(struct place *p, const json_t *v, size_t i, struct err *err)
{
    const char *path;
    if (!take_str(&p->arena, v, "path", false, &path) || path[0] != '/')
        return err_set(err, ERR_FORMAT, "files[%zu] has no absolute path", i);
    unsigned before = HASH_COUNT(p->entries);
    struct entry *e = place_entry(p, path);
    if (!e || HASH_COUNT(p->entries) == before)
        return err_set(err, ERR_FORMAT, "files[%zu]: path '%.200s' is too long or comes twice", i, path);
    for (size_t k = 0; k < ARRAY_LEN(members); k++) {
        const json_t *part = json_object_get(v, members[k].key);
        if (part && !members[k].take(p, part, e))
            return err_set(err, ERR_FORMAT, "files[%zu] ('%.200s') has a bad '%s'", i, path, members[k].key);
    }
    return 0;
}

static int take_machine(struct place *p, const json_t *v, struct err *e)
{
    struct place_machine *m = arena_new(&p->arena, struct place_machine);
    struct arena *a = &p->arena;
    if (!take_str(a, v, "arch", false, &m->arch) || !take_str(a, v, "platform", true, &m->platform) ||
        !take_str(a, v, "hostname", true, &m->hostname) || !take_str(a, v, "user", true, &m->user) ||
        !take_str(a, v, "home", true, &m->home))
        return err_set(e, ERR_FORMAT, "bad 'machine'");
    m->known = KNOWN_PRESENT;
    m->isa_usable = (unsigned)take_u64(v, "isa_usable");
    m->hwcap2 = take_u64(v, "hwcap2");
    m->page_size_bytes = take_u64(v, "page_size");
    m->uid = (uint32_t)take_u64(v, "uid");
    m->now_s = jsonr_int(v, "now", 0);
    p->machine = m;
    return 0;
}

static int take_env(struct place *p, const json_t *env, struct err *e)
{
    size_t i;
    json_t *v;
    json_array_foreach (env, i, v) {
        const char *name, *value;
        if (!take_str(&p->arena, v, "name", false, &name) || !take_str(&p->arena, v, "value", true, &value))
            return err_set(e, ERR_FORMAT, "bad env[%zu]", i);
        place_env_entry(p, name)->value = value;
    }
    return 0;
}

static int take_calls(struct place *p, const json_t *calls, struct err *e)
{
    size_t i, len;
    json_t *v;
    json_array_foreach (calls, i, v) {
        const char *name, *at;
        if (!take_str(&p->arena, v, "name", false, &name) ||
            !take_bytes(&p->arena, json_object_get(v, "at"), &at, &len))
            return err_set(e, ERR_FORMAT, "bad calls[%zu]", i);
        place_call_entry(p, name)->text = (struct text){
            .known = jsonr_bool(v, "ok") ? KNOWN_PRESENT : KNOWN_FAILED,
            .at = at,
            .len = len,
            .cut = jsonr_bool(v, "cut"),
        };
    }
    return 0;
}

static int take_place(struct place *p, const json_t *record, struct err *e)
{
    const char *cwd;
    if (!record)
        return err_set(e, ERR_FORMAT, "it has no 'place'");
    if (!take_str(&p->arena, record, "cwd", false, &cwd) || cwd[0] != '/')
        return err_set(e, ERR_FORMAT, "bad 'cwd'");
    p->cwd = cwd;
    int r = take_machine(p, jsonr_object(record, "machine"), e);
    if (r == 0)
        r = take_env(p, jsonr_array(record, "env"), e);
    if (r == 0)
        r = take_calls(p, jsonr_array(record, "calls"), e);
    const json_t *files = jsonr_array(record, "files");
    if (r == 0 && !files)
        r = err_set(e, ERR_FORMAT, "it has no 'files'");
    for (size_t i = 0; r == 0 && i < json_array_size(files); i++)
        r = take_entry(p, json_array_get(files, i), i, e);
    return r;
}

static int check_head(const json_t *doc, struct err *e)
{
    const json_t *schema = json_object_get(doc, "schema");
    if (!json_is_integer(schema))
        return err_set(e, ERR_FORMAT, "it is no snapshot: no 'schema'");
    if (json_integer_value(schema) > SCHEMA)
        return err_set(e, ERR_SCHEMA, "it has schema %lld and this ortfit reads %d; use a newer ortfit",
                       (long long)json_integer_value(schema), SCHEMA);
    const char *verb = jsonr_str(doc, "verb");
    if (json_integer_value(schema) < 1 || !verb || !str_eq(verb, "snapshot"))
        return err_set(e, ERR_FORMAT, "it is no snapshot: its 'verb' is '%.40s'", verb ? verb : "");
    return 0;
}

int place_load(const json_t *doc, const char *name, struct place **ret, struct err *e)
{
    int r = check_head(doc, e);
    if (r < 0)
        return r;
    struct place *p = place_new(PLACE_SNAPSHOT, name);
    r = take_place(p, jsonr_object(doc, "place"), e);
    if (r < 0)
        place_free(p);
    else
        *ret = p;
    return r;
}

int place_open_snapshot(const char *file, struct place **ret, struct err *e)
{
    cleanup_(jsonr_decref) json_t *doc = NULL;
    int r = jsonr_read_file(file, SNAPSHOT_BYTES, &doc, e);
    if (r < 0)
        return r;
    r = place_load(doc, file, ret, e);
    if (r < 0)
        err_while(e, "reading '%s'", file);
    return r;
}
