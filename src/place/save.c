/* The record of a place: what was asked and what was answered, as JSON. load.c reads it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/jsonw.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "place/internal.h"

const char *const place_part_names[TEXT_PARTS] = {
    [TEXT_WHOLE] = "whole",
    [TEXT_HEADERS] = "headers",
    [TEXT_ORT_RECORD] = "ort-record",
    [TEXT_FIRST_LINE] = "first-line",
    [TEXT_VERSION_LINES] = "version-lines",
    [TEXT_DPKG_GPU] = "dpkg-gpu",
    [TEXT_PCI_NVIDIA] = "pci-nvidia",
    [TEXT_LDCACHE] = "ld-cache",
};

static void put_str(struct json *to, const char *key, const char *s)
{
    json_key(to, key);
    json_text(to, s);
}

static void put_error(struct json *to, int error)
{
    const char *name = strerrorname_np(error);
    json_key(to, "error");
    if (name)
        json_str(to, name);
    else
        json_int(to, error);
}

/* JSON readers hold integers in 64 bits with sign; the bits are what counts. */
static void put_u64(struct json *to, const char *key, uint64_t n)
{
    json_kint(to, key, (int64_t)n);
}

static void put_info(struct json *to, const char *key, const struct file_info *info)
{
    json_key(to, key);
    json_obj_inline(to);
    if (info->error) {
        put_error(to, info->error);
    } else {
        json_kstr(to, "t", (const char *[]){ "-", "f", "d", "l", "o" }[info->type]);
        put_u64(to, "size", info->size_bytes);
        put_u64(to, "dev", info->dev);
        put_u64(to, "ino", info->ino);
        put_u64(to, "mode", info->mode);
        json_kint(to, "mtime", info->mtime_s);
    }
    json_obj_end(to);
}

static bool same_info(const struct file_info *a, const struct file_info *b)
{
    return a == b || (a->error == b->error && a->type == b->type && a->size_bytes == b->size_bytes && a->dev == b->dev &&
                      a->ino == b->ino && a->mode == b->mode && a->mtime_s == b->mtime_s);
}

static void put_name(struct json *to, const char *key, const struct name_answer *a)
{
    json_key(to, key);
    json_obj_inline(to);
    if (a->error)
        put_error(to, a->error);
    else
        put_str(to, "at", a->name);
    json_obj_end(to);
}

/* The names by their type, each type's in order: one value a name keeps large folders small. */
static void put_list(struct json *to, const struct listing *list)
{
    static const char *const letters[] = { "-", "f", "d", "l", "o" };
    json_key(to, "list");
    json_obj_inline(to);
    if (list->error)
        put_error(to, list->error);
    for (size_t type = 0; type < ARRAY_LEN(letters); type++) {
        bool begun = false;
        for (size_t i = 0; i < list->n; i++) {
            if (list->at[i].type != (enum file_type)type)
                continue;
            if (!begun) {
                json_key(to, letters[type]);
                json_arr_inline(to);
                begun = true;
            }
            json_text(to, list->at[i].name);
        }
        if (begun)
            json_arr_end(to);
    }
    if (list->cut)
        json_kbool(to, "cut", true);
    json_obj_end(to);
}

static void put_texts(struct json *to, const struct entry *e)
{
    bool begun = false;
    for (size_t i = 0; i < TEXT_PARTS; i++) {
        const struct text *t = e->text[i];
        if (!t)
            continue;
        if (!begun) {
            json_key(to, "text");
            json_obj_inline(to);
            begun = true;
        }
        json_key(to, place_part_names[i]);
        json_obj_inline(to);
        if (t->error) {
            put_error(to, t->error);
        } else {
            json_key(to, "at");
            json_bytes(to, t->at, t->len);
            if (t->cut)
                json_kbool(to, "cut", true);
        }
        json_obj_end(to);
    }
    if (begun)
        json_obj_end(to);
}

static void put_elf(struct json *to, const struct place_elf *a, const struct elf_asked *asked)
{
    json_key(to, "elf");
    if (!a->error) {
        elf_save(a->elf, asked, to);
        return;
    }
    json_obj_inline(to);
    put_error(to, a->error);
    json_obj_end(to);
}

static void put_gpu(struct json *to, const struct place_gpu_code *a)
{
    json_key(to, "gpu");
    json_obj_inline(to);
    if (a->error) {
        put_error(to, a->error);
    } else {
        put_u64(to, "containers", a->code.containers);
        json_key(to, "arch");
        json_arr_inline(to);
        for (size_t i = 0; i < a->code.n_arch; i++) {
            const struct gpu_arch *g = &a->code.arch[i];
            json_arr_inline(to);
            json_int(to, g->number);
            json_bool(to, g->ptx);
            json_bool(to, g->specific);
            json_int(to, g->containers);
            json_arr_end(to);
        }
        json_arr_end(to);
        if (a->code.truncated)
            json_kbool(to, "truncated", true);
    }
    json_obj_end(to);
}

static void put_sha(struct json *to, const struct sha_answer *a)
{
    json_key(to, "sha256");
    json_obj_inline(to);
    put_u64(to, "max", a->max_bytes);
    if (a->digest.error)
        put_error(to, a->digest.error);
    else
        json_kstr(to, "hex", a->digest.name);
    json_obj_end(to);
}

static bool asked_at_all(const struct entry *e)
{
    bool any = e->stat || e->lstat || e->link || e->real || e->list || e->elf || e->gpu || e->sha;
    for (size_t i = 0; i < TEXT_PARTS && !any; i++)
        any = e->text[i] != NULL;
    return any;
}

static void put_entry(struct json *to, const struct entry *e, const struct elf_asked *asked)
{
    json_obj_inline(to);
    put_str(to, "path", e->path);
    if (e->stat)
        put_info(to, "stat", e->stat);
    if (e->lstat && e->stat && same_info(e->lstat, e->stat))
        json_kbool(to, "lstat", true); /* the same */
    else if (e->lstat)
        put_info(to, "lstat", e->lstat);
    if (e->link)
        put_name(to, "link", e->link);
    if (e->real)
        put_name(to, "real", e->real);
    if (e->list)
        put_list(to, e->list);
    put_texts(to, e);
    if (e->elf)
        put_elf(to, e->elf, asked);
    if (e->gpu)
        put_gpu(to, e->gpu);
    if (e->sha)
        put_sha(to, e->sha);
    json_obj_end(to);
}

static void put_machine(struct json *to, const struct place_machine *m)
{
    json_key(to, "machine");
    json_obj(to);
    put_str(to, "arch", m->arch);
    put_u64(to, "isa_usable", m->isa_usable);
    put_str(to, "platform", m->platform);
    put_u64(to, "hwcap2", m->hwcap2);
    put_u64(to, "page_size", m->page_size_bytes);
    put_str(to, "hostname", m->hostname);
    put_str(to, "user", m->user);
    put_str(to, "home", m->home);
    put_u64(to, "uid", m->uid);
    json_kint(to, "now", m->now_s);
    json_obj_end(to);
}

struct entries {
    VEC(const struct entry *);
};

static int by_path(const void *a, const void *b)
{
    return strcmp((*(const struct entry *const *)a)->path, (*(const struct entry *const *)b)->path);
}

static void put_entries(struct json *to, const struct place *p)
{
    struct entries all = { 0 };
    struct elf_asked *asked = elf_asked_new();
    for (const struct entry *e = p->entries; e; e = e->hh.next) {
        if (!asked_at_all(e))
            continue;
        vec_push(&all, e);
        if (e->elf && e->elf->elf)
            elf_asked_add(asked, e->elf->elf);
    }
    if (all.n > 0)
        qsort(all.at, all.n, sizeof(*all.at), by_path);
    json_key(to, "files");
    json_arr(to);
    for (size_t i = 0; i < all.n; i++)
        put_entry(to, all.at[i], asked);
    json_arr_end(to);
    elf_asked_free(asked);
    vec_done(&all);
}

void place_write(struct place *p, struct json *to)
{
    json_kstr(to, "kind", (const char *[]){ "live", "root", "snapshot" }[p->kind]);
    put_str(to, "name", p->name);
    put_str(to, "cwd", p->cwd);
    put_machine(to, place_machine(p));
    json_key(to, "env");
    json_arr(to);
    for (const struct env_entry *v = p->env; v; v = v->hh.next) {
        json_obj_inline(to);
        put_str(to, "name", v->name);
        put_str(to, "value", v->value);
        json_obj_end(to);
    }
    json_arr_end(to);
    json_key(to, "calls");
    json_arr(to);
    for (const struct call_entry *c = p->calls; c; c = c->hh.next) {
        if (c->text.known == KNOWN_NOT_LOOKED)
            continue;
        json_obj_inline(to);
        put_str(to, "name", c->name);
        json_kbool(to, "ok", c->text.known == KNOWN_PRESENT);
        json_key(to, "at");
        json_bytes(to, c->text.at, c->text.len);
        if (c->text.cut)
            json_kbool(to, "cut", true);
        json_obj_end(to);
    }
    json_arr_end(to);
    put_entries(to, p);
}

char *place_record(struct place *p, size_t *ret_len)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    if (!f)
        out_of_memory();
    struct json j;
    json_begin(&j, f, false);
    json_obj_inline(&j);
    place_write(p, &j);
    json_obj_end(&j);
    json_end(&j);
    if (fclose(f) != 0)
        out_of_memory();
    if (ret_len)
        *ret_len = len;
    return text;
}

void place_save(struct place *p, bool redact, struct json *to)
{
    if (redact)
        place_write_redacted(p, to);
    else
        place_write(p, to);
}
