/* Files written down in snapshots, and rebuilt from them. */
#include "elf/record.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/jsonw.h"
#include "base/vec.h"
#include "elf/elf.h"

/* A name with the version wanted of it. */
struct wish {
    struct elf_undef u; /* weak and version_file unused */
};

struct wishes {
    VEC(struct wish);
};

struct elf_asked {
    struct wishes wishes;
    bool sorted;
};

struct want_list {
    VEC(struct elf_want);
};

struct recorded {
    bool cut;
    size_t relocs_size;
    /* sorted; a name is in one of the first three at most */
    struct wishes defines, indirect, addresses, any_version, lacks, breaks;
    struct want_list now, lazy;
};

static int compare_text(const char *a, const char *b)
{
    if (!a || !b)
        return a ? 1 : b ? -1 : 0;
    return strcmp(a, b);
}

static int compare_wish(const void *a, const void *b)
{
    const struct elf_undef *x = &((const struct wish *)a)->u, *y = &((const struct wish *)b)->u;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    int c = strcmp(x->name, y->name);
    return c ? c : compare_text(x->version, y->version);
}

static void wishes_sort(struct wishes *w)
{
    if (w->n == 0)
        return;
    qsort(w->at, w->n, sizeof(*w->at), compare_wish);
    size_t kept = 1;
    for (size_t i = 1; i < w->n; i++)
        if (compare_wish(&w->at[i], &w->at[kept - 1]) != 0)
            w->at[kept++] = w->at[i];
    w->n = kept;
}

static struct wish wish_of(const char *name, const char *version)
{
    return (struct wish){ .u = {
                              .name = name,
                              .version = version,
                              .name_len = strlen(name),
                              .hash = elf_hash_gnu(name),
                              .version_hash = version ? elf_hash_sysv(version) : 0,
                          } };
}

static bool wishes_hold(const struct wishes *w, const char *name, const char *version)
{
    struct wish key = wish_of(name, version);
    return w->n > 0 && bsearch(&key, w->at, w->n, sizeof(*w->at), compare_wish) != NULL;
}

struct elf_asked *elf_asked_new(void)
{
    return xcalloc(1, sizeof(struct elf_asked));
}

void elf_asked_add(struct elf_asked *set, const struct elf *elf)
{
    if (!elf || !elf->symbols || !elf->symbols->undefs_read)
        return;
    const struct elf_undef *undefs;
    size_t n = elf_undefs(elf, &undefs);
    for (size_t i = 0; i < n; i++)
        vec_push(&set->wishes, (struct wish){ undefs[i] });
    set->sorted = false;
}

void elf_asked_free(struct elf_asked *set)
{
    if (!set)
        return;
    vec_done(&set->wishes);
    free(set);
}

enum elf_answer recorded_defines(const struct recorded *r, const char *name, const char *version)
{
    if (wishes_hold(&r->defines, name, version) || wishes_hold(&r->indirect, name, version))
        return ELF_YES;
    return wishes_hold(&r->lacks, name, version) ? ELF_NO : ELF_UNKNOWN;
}

enum elf_answer recorded_resolves(const struct recorded *r, const struct elf_undef *u)
{
    if (u->any_version)
        return wishes_hold(&r->any_version, u->name, u->version) ? ELF_YES : ELF_NO;
    if (wishes_hold(&r->defines, u->name, u->version) || recorded_indirect(r, u))
        return ELF_YES;
    if (u->address && wishes_hold(&r->addresses, u->name, u->version))
        return ELF_YES;
    return wishes_hold(&r->breaks, u->name, u->version) ? ELF_UNKNOWN : ELF_NO;
}

bool recorded_indirect(const struct recorded *r, const struct elf_undef *u)
{
    return wishes_hold(&r->indirect, u->name, u->version);
}

bool recorded_wants(const struct recorded *r, bool lazy,
                    bool (*each)(void *ctx, const struct elf_want *w), void *ctx)
{
    const struct want_list *list = lazy ? &r->lazy : &r->now;
    for (size_t i = 0; i < list->n; i++)
        if (!each(ctx, &list->at[i]))
            return false;
    return true;
}

size_t recorded_relocs_size(const struct recorded *r)
{
    return r->relocs_size;
}

bool recorded_is_cut(const struct recorded *r)
{
    return r->cut;
}

void recorded_free(struct recorded *r)
{
    if (!r)
        return;
    vec_done(&r->defines);
    vec_done(&r->addresses);
    vec_done(&r->indirect);
    vec_done(&r->any_version);
    vec_done(&r->lacks);
    vec_done(&r->breaks);
    vec_done(&r->now);
    vec_done(&r->lazy);
    free(r);
}

/* ---- the plain fields, as a table for writing and reading ---- */

enum field_kind { FIELD_U64, FIELD_UINT, FIELD_U16, FIELD_U8, FIELD_BOOL, FIELD_TEXT, FIELD_SIZE };

struct field {
    const char *key;
    enum field_kind kind;
    size_t offset;
};

/* clang-format off */
#define FIELD(member, kind) { #member, kind, offsetof(struct elf, member) }
static const struct field fields[] = {
    FIELD(size_bytes, FIELD_U64),       FIELD(dev, FIELD_U64),
    FIELD(ino, FIELD_U64),              FIELD(elf_class, FIELD_U8),
    FIELD(data, FIELD_U8),              FIELD(machine, FIELD_U16),
    FIELD(type, FIELD_U16),             FIELD(pie, FIELD_BOOL),
    FIELD(nodeflib, FIELD_BOOL),        FIELD(noopen, FIELD_BOOL),
    FIELD(symbolic, FIELD_BOOL),        FIELD(bind_now, FIELD_BOOL),
    FIELD(textrel, FIELD_BOOL),         FIELD(static_tls, FIELD_BOOL),
    FIELD(relr, FIELD_BOOL),            FIELD(interp, FIELD_TEXT),
    FIELD(soname, FIELD_TEXT),          FIELD(rpath, FIELD_TEXT),
    FIELD(runpath, FIELD_TEXT),         FIELD(n_verdef_good, FIELD_SIZE),
    FIELD(verdef_bad_version, FIELD_UINT), FIELD(verneed_version, FIELD_UINT),
    FIELD(has_versym, FIELD_BOOL),      FIELD(tls_size_bytes, FIELD_U64),
    FIELD(tls_align, FIELD_U64),        FIELD(isa_needed, FIELD_UINT),
    FIELD(has_init_code, FIELD_BOOL),
};
/* clang-format on */

static uint64_t field_number(const struct field *f, const void *at)
{
    switch (f->kind) {
    case FIELD_U64:
        return *(const uint64_t *)at;
    case FIELD_SIZE:
        return *(const size_t *)at;
    case FIELD_UINT:
        return *(const unsigned *)at;
    case FIELD_U16:
        return *(const uint16_t *)at;
    case FIELD_U8:
        return *(const unsigned char *)at;
    case FIELD_BOOL:
        return *(const bool *)at;
    default:
        return 0;
    }
}

static void field_set(const struct field *f, void *at, uint64_t n)
{
    switch (f->kind) {
    case FIELD_U64:
        *(uint64_t *)at = n;
        break;
    case FIELD_SIZE:
        *(size_t *)at = (size_t)n;
        break;
    case FIELD_UINT:
        *(unsigned *)at = (unsigned)n;
        break;
    case FIELD_U16:
        *(uint16_t *)at = (uint16_t)n;
        break;
    case FIELD_U8:
        *(unsigned char *)at = (unsigned char)n;
        break;
    case FIELD_BOOL:
        *(bool *)at = n != 0;
        break;
    default:
        break;
    }
}

static void save_text(struct json *to, const char *key, const char *text)
{
    json_key(to, key);
    json_text(to, text);
}

/* Zeros, false and NULL are left out. */
static void save_fields(const struct elf *elf, struct json *to)
{
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        const struct field *f = &fields[i];
        const char *at = (const char *)elf + f->offset;
        if (f->kind == FIELD_TEXT) {
            const char *text = *(const char *const *)(const void *)at;
            if (text)
                save_text(to, f->key, text);
            continue;
        }
        uint64_t n = field_number(f, at);
        if (n && f->kind == FIELD_BOOL)
            json_kbool(to, f->key, true);
        else if (n)
            /* readers of JSON know 64 bits with a sign; taken back the same way */
            json_kint(to, f->key, (int64_t)n);
    }
}

static void save_lists(const struct elf *elf, struct json *to)
{
    if (elf->n_needed) {
        json_key(to, "needed");
        json_arr_inline(to);
        for (size_t i = 0; i < elf->n_needed; i++)
            json_text(to, elf->needed[i]);
        json_arr_end(to);
    }
    if (elf->n_filters) {
        json_key(to, "filters");
        json_arr_inline(to);
        for (size_t i = 0; i < elf->n_filters; i++) {
            json_arr_inline(to);
            json_text(to, elf->filters[i]);
            json_bool(to, elf->filter_info[i].optional);
            json_uint(to, elf->filter_info[i].needed_before);
            json_arr_end(to);
        }
        json_arr_end(to);
    }
    if (elf->n_verneed) {
        json_key(to, "verneed");
        json_arr_inline(to);
        for (size_t i = 0; i < elf->n_verneed; i++) {
            json_arr_inline(to);
            json_text(to, elf->verneed[i].file);
            json_text(to, elf->verneed[i].version);
            json_uint(to, elf->verneed[i].hash);
            json_bool(to, elf->verneed[i].weak);
            json_arr_end(to);
        }
        json_arr_end(to);
    }
    if (elf->n_verdef) {
        json_key(to, "verdef");
        json_arr_inline(to);
        for (size_t i = 0; i < elf->n_verdef; i++) {
            json_arr_inline(to);
            json_text(to, elf->verdef[i]);
            json_uint(to, elf->verdef_hash[i]);
            json_arr_end(to);
        }
        json_arr_end(to);
    }
}

/* ---- symbols ---- */

static void save_undefs(const struct elf *elf, struct json *to)
{
    const struct elf_undef *undefs;
    size_t n = elf_undefs(elf, &undefs);
    json_key(to, "undefs");
    json_arr_inline(to);
    for (size_t i = 0; i < n; i++) {
        const struct elf_undef *u = &undefs[i];
        json_arr_inline(to);
        json_text(to, u->name);
        if (u->version || u->weak)
            json_text(to, u->version);
        if (u->version_file || u->weak)
            json_text(to, u->version_file);
        if (u->weak)
            json_bool(to, true);
        json_arr_end(to);
    }
    json_arr_end(to);
}

/* Of all that relocations want, the first of each kind. */
struct want_filter {
    const struct elf_undef *undefs;
    size_t n_undefs;
    uint16_t *seen; /* of each undefined symbol: a bit a kind, once for calls and once for others */
    struct want_list list;
};

static bool keep_want(void *ctx, const struct elf_want *w)
{
    struct want_filter *f = ctx;
    if (w->symbol) {
        uint16_t *seen = &f->seen[w->symbol - f->undefs];
        unsigned bit = (unsigned)w->kind + (w->call ? 8 : 0);
        if (*seen >> bit & 1)
            return true;
        *seen = (uint16_t)(*seen | 1u << bit);
    } else {
        for (size_t i = f->list.n; i-- > 0;)
            if (f->list.at[i].kind == w->kind && f->list.at[i].type == w->type &&
                !f->list.at[i].symbol)
                return true;
    }
    vec_push(&f->list, *w);
    return true;
}

static void save_wants(const struct elf *elf, bool lazy, const char *key, struct json *to)
{
    struct want_filter f = { 0 };
    f.n_undefs = elf_undefs(elf, &f.undefs);
    f.seen = xcalloc(f.n_undefs + 1, sizeof(*f.seen));
    if (elf->symbols->recorded)
        (void)recorded_wants(elf->symbols->recorded, lazy, keep_want, &f);
    else
        (void)relocs_walk(elf->symbols, lazy, keep_want, &f);
    json_key(to, key);
    json_arr_inline(to);
    for (size_t i = 0; i < f.list.n; i++) {
        const struct elf_want *w = &f.list.at[i];
        json_arr_inline(to);
        json_uint(to, (unsigned)w->kind);
        json_int(to, w->symbol ? (int64_t)(w->symbol - f.undefs) : -1);
        json_uint(to, w->type);
        if (w->call || w->plt)
            json_bool(to, w->call);
        if (w->plt)
            json_bool(to, true);
        json_arr_end(to);
    }
    json_arr_end(to);
    vec_done(&f.list);
    free(f.seen);
}

/* What the file says to a name asked: yes, yes by an indirect function, an address only, or that the look-up breaks. */
enum reply { REPLY_NO, REPLY_YES, REPLY_INDIRECT, REPLY_ADDRESS, REPLY_BROKEN };

static enum reply reply_to(const struct elf *elf, struct elf_undef u)
{
    u.address = u.any_version = false;
    enum elf_answer a = elf_resolves(elf, &u);
    if (a == ELF_YES)
        return elf_resolves_indirectly(elf, &u) ? REPLY_INDIRECT : REPLY_YES;
    if (a != ELF_NO)
        return REPLY_BROKEN;
    u.address = true;
    return elf_resolves(elf, &u) == ELF_YES ? REPLY_ADDRESS : REPLY_NO;
}

static void save_wish(const struct elf_undef *u, struct json *to)
{
    json_arr_inline(to);
    json_text(to, u->name);
    if (u->version)
        json_text(to, u->version);
    json_arr_end(to);
}

/* The names with that reply; no key when there are none. */
static void save_replies(const struct wishes *asked, const unsigned char *replies, enum reply which,
                         const char *key, struct json *to)
{
    bool begun = false;
    for (size_t i = 0; i < asked->n; i++) {
        if (replies[i] != which)
            continue;
        if (!begun) {
            json_key(to, key);
            json_arr_inline(to);
            begun = true;
        }
        save_wish(&asked->at[i].u, to);
    }
    if (begun)
        json_arr_end(to);
}

/* Names asked by elf_defines alone: what is not written of those would be unknown, so absence is written too. */
static void save_lacks(const struct elf *elf, struct json *to)
{
    const struct elf_symbols *s = elf->symbols;
    struct wishes lacks = { 0 };
    if (s->recorded)
        for (size_t i = 0; i < s->recorded->lacks.n; i++)
            vec_push(&lacks, s->recorded->lacks.at[i]);
    for (size_t i = 0; i < s->queries.n; i++)
        if (s->queries.at[i].answer == ELF_NO)
            vec_push(&lacks, wish_of(s->queries.at[i].name, s->queries.at[i].version));
    wishes_sort(&lacks);
    if (lacks.n) {
        json_key(to, "lacks");
        json_arr_inline(to);
        for (size_t i = 0; i < lacks.n; i++)
            save_wish(&lacks.at[i].u, to);
        json_arr_end(to);
    }
    vec_done(&lacks);
}

static void add_recorded(const struct recorded *r, struct wishes *all)
{
    const struct wishes *known[] = { &r->defines, &r->indirect, &r->addresses, &r->any_version,
                                     &r->breaks };
    for (size_t k = 0; k < ARRAY_LEN(known); k++)
        for (size_t i = 0; i < known[k]->n; i++)
            vec_push(all, known[k]->at[i]);
}

static void save_symbols(const struct elf *elf, struct elf_asked *asked, struct json *to)
{
    const struct elf_symbols *s = elf->symbols;
    json_kint(to, "relocs_size", (int64_t)elf_relocs_size(elf));
    json_kbool(to, "cut", elf_is_cut(elf));
    if (s->undefs_read)
        save_undefs(elf, to);
    if (s->undefs_read && s->wants_asked) {
        save_wants(elf, false, "wants", to);
        save_wants(elf, true, "wants_lazy", to);
    }

    struct wishes all = { 0 };
    if (!asked->sorted)
        wishes_sort(&asked->wishes);
    asked->sorted = true;
    for (size_t i = 0; i < asked->wishes.n; i++)
        vec_push(&all, asked->wishes.at[i]);
    for (size_t i = 0; i < s->queries.n; i++)
        vec_push(&all, wish_of(s->queries.at[i].name, s->queries.at[i].version));
    if (s->recorded)
        add_recorded(s->recorded, &all);
    wishes_sort(&all);
    unsigned char *replies = xcalloc(all.n + 1, 1);
    for (size_t i = 0; i < all.n; i++)
        replies[i] = (unsigned char)reply_to(elf, all.at[i].u);
    save_replies(&all, replies, REPLY_YES, "defines", to);
    save_replies(&all, replies, REPLY_INDIRECT, "indirect", to);
    save_replies(&all, replies, REPLY_ADDRESS, "addresses", to);
    save_replies(&all, replies, REPLY_BROKEN, "breaks", to);
    if (s->any_version_asked) {
        for (size_t i = 0; i < all.n; i++) {
            struct elf_undef u = all.at[i].u;
            u.any_version = true;
            replies[i] = elf_resolves(elf, &u) == ELF_YES ? REPLY_YES : REPLY_NO;
        }
        save_replies(&all, replies, REPLY_YES, "any_version", to);
    }
    free(replies);
    vec_done(&all);
    save_lacks(elf, to);
}

static const char *const crashes[] = {
    [ELF_NO_CRASH] = "", [ELF_CRASH_VERSIONS] = "versions", [ELF_CRASH_INIT] = "init"
};
static const char *const stacks[] = {
    [ELF_STACK_UNSAID] = "", [ELF_STACK_PLAIN] = "plain", [ELF_STACK_EXEC] = "exec"
};

void elf_save(const struct elf *elf, const struct elf_asked *asked, struct json *to)
{
    struct elf_asked none = { .sorted = true };
    json_obj_inline(to);
    if (elf->problem != ELF_FINE)
        json_kstr(to, "problem", elf_problem_name(elf->problem));
    if (elf->older_problem != ELF_FINE)
        json_kstr(to, "older_problem", elf_problem_name(elf->older_problem));
    if (elf->crash != ELF_NO_CRASH)
        json_kstr(to, "crash", crashes[elf->crash]);
    if (elf->exec_stack != ELF_STACK_UNSAID)
        json_kstr(to, "stack", stacks[elf->exec_stack]);
    save_fields(elf, to);
    save_lists(elf, to);
    if (elf->symbols && elf->symbols->ready)
        save_symbols(elf, asked ? (struct elf_asked *)(uintptr_t)asked : &none, to);
    json_obj_end(to);
}

/* ---- rebuilding ---- */

static int malformed(const char *what, struct err *e)
{
    return err_set(e, ERR_FORMAT, "the record of an ELF file has a malformed '%s'", what);
}

/* A text as json_text writes it, in the arena; NULL: it is none. Names in a file may hold any bytes but NUL. */
static const char *load_text(const json_t *v, struct arena *a)
{
    struct str bytes = { 0 };
    const char *text = NULL;
    if (jsonr_bytes(v, &bytes) && !memchr(str_get(&bytes), '\0', bytes.len))
        text = arena_strndup(a, str_get(&bytes), bytes.len);
    str_done(&bytes);
    return text;
}

static const char *text_at(const json_t *array, size_t i, struct arena *a)
{
    return load_text(json_array_get(array, i), a);
}

static bool number_at(const json_t *array, size_t i, uint64_t max, uint64_t *ret)
{
    const json_t *n = json_array_get(array, i);
    if (!json_is_integer(n) || json_integer_value(n) < 0 || (uint64_t)json_integer_value(n) > max)
        return false;
    *ret = (uint64_t)json_integer_value(n);
    return true;
}

static int load_fields(const json_t *from, struct arena *a, struct elf *elf, struct err *e)
{
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        const struct field *f = &fields[i];
        const json_t *value = json_object_get(from, f->key);
        char *at = (char *)elf + f->offset;
        if (!value)
            continue;
        const char *text = f->kind == FIELD_TEXT ? load_text(value, a) : NULL;
        if (text)
            *(const char **)(void *)at = text;
        else if (f->kind == FIELD_BOOL && json_is_boolean(value))
            field_set(f, at, json_is_true(value));
        else if (f->kind != FIELD_TEXT && f->kind != FIELD_BOOL && json_is_integer(value))
            field_set(f, at, (uint64_t)json_integer_value(value));
        else
            return malformed(f->key, e);
    }
    return 0;
}

static int load_word(const json_t *from, const char *key, const char *const *words, size_t n,
                     unsigned *ret, struct err *e)
{
    const char *word = jsonr_str(from, key);
    *ret = 0;
    if (!word)
        return 0;
    for (unsigned i = 1; i < n; i++)
        if (strcmp(words[i], word) == 0) {
            *ret = i;
            return 0;
        }
    return malformed(key, e);
}

static int load_needed(const json_t *from, struct arena *a, struct elf *elf, struct err *e)
{
    const json_t *needed = jsonr_array(from, "needed"), *filters = jsonr_array(from, "filters");
    size_t n = json_array_size(needed), n_filters = json_array_size(filters);
    const char **names = arena_alloc(a, (n + 1) * sizeof(*names));
    const char **filter_names = arena_alloc(a, (n_filters + 1) * sizeof(*filter_names));
    struct elf_filter *info = arena_alloc(a, (n_filters + 1) * sizeof(*info));
    for (size_t i = 0; i < n; i++) {
        names[i] = text_at(needed, i, a);
        if (!names[i])
            return malformed("needed", e);
    }
    for (size_t i = 0; i < n_filters; i++) {
        const json_t *f = json_array_get(filters, i);
        uint64_t before;
        filter_names[i] = text_at(f, 0, a);
        if (!filter_names[i] || !json_is_boolean(json_array_get(f, 1)) ||
            !number_at(f, 2, n, &before))
            return malformed("filters", e);
        info[i] = (struct elf_filter){ json_is_true(json_array_get(f, 1)), (size_t)before };
    }
    elf->needed = names;
    elf->n_needed = n;
    elf->filters = filter_names;
    elf->filter_info = info;
    elf->n_filters = n_filters;
    return 0;
}

static int load_versions(const json_t *from, struct arena *a, struct elf *elf, struct err *e)
{
    const json_t *needs = jsonr_array(from, "verneed"), *defs = jsonr_array(from, "verdef");
    size_t n = json_array_size(needs), n_defs = json_array_size(defs);
    struct elf_verneed *verneed = arena_alloc(a, (n + 1) * sizeof(*verneed));
    const char **verdef = arena_alloc(a, (n_defs + 1) * sizeof(*verdef));
    uint32_t *hashes = arena_alloc(a, (n_defs + 1) * sizeof(*hashes));
    uint64_t hash;
    for (size_t i = 0; i < n; i++) {
        const json_t *v = json_array_get(needs, i);
        const char *file = text_at(v, 0, a), *version = text_at(v, 1, a);
        if (!file || !version || !number_at(v, 2, UINT32_MAX, &hash))
            return malformed("verneed", e);
        verneed[i] = (struct elf_verneed){ file, version, (uint32_t)hash,
                                           json_is_true(json_array_get(v, 3)) };
    }
    for (size_t i = 0; i < n_defs; i++) {
        const json_t *v = json_array_get(defs, i);
        verdef[i] = text_at(v, 0, a);
        if (!verdef[i] || !number_at(v, 1, UINT32_MAX, &hash))
            return malformed("verdef", e);
        hashes[i] = (uint32_t)hash;
    }
    elf->verneed = verneed;
    elf->n_verneed = n;
    elf->verdef = verdef;
    elf->verdef_hash = hashes;
    elf->n_verdef = n_defs;
    if (elf->n_verdef_good > n_defs)
        return malformed("n_verdef_good", e);
    return 0;
}

static int load_undefs(const json_t *list, struct arena *a, struct elf_symbols *s, struct err *e)
{
    size_t n = json_array_size(list);
    s->undefs = xcalloc(n + 1, sizeof(*s->undefs));
    s->n_undefs = n;
    for (size_t i = 0; i < n; i++) {
        const json_t *u = json_array_get(list, i);
        const char *name = text_at(u, 0, a);
        if (!name)
            return malformed("undefs", e);
        s->undefs[i] = wish_of(name, text_at(u, 1, a)).u;
        s->undefs[i].version_file = text_at(u, 2, a);
        s->undefs[i].weak = json_is_true(json_array_get(u, 3));
    }
    return 0;
}

static int load_wishes(const json_t *from, const char *key, struct arena *a, struct wishes *ret,
                       struct err *e)
{
    const json_t *list = jsonr_array(from, key);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *w = json_array_get(list, i);
        const char *name = text_at(w, 0, a);
        if (!name)
            return malformed(key, e);
        vec_push(ret, wish_of(name, text_at(w, 1, a)));
    }
    wishes_sort(ret);
    return 0;
}

static int load_wants(const json_t *from, const char *key, const struct elf_symbols *s,
                      struct want_list *ret, struct err *e)
{
    const json_t *list = jsonr_array(from, key);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *w = json_array_get(list, i);
        uint64_t kind, type;
        json_int_t undef = json_integer_value(json_array_get(w, 1));
        if (!number_at(w, 0, ELF_WANT_INDIRECT, &kind) || !number_at(w, 2, UINT32_MAX, &type) ||
            undef < -1 || undef >= (json_int_t)s->n_undefs)
            return malformed(key, e);
        vec_push(ret, (struct elf_want){
                          .kind = (enum elf_want_kind)kind,
                          .symbol = undef < 0 ? NULL : &s->undefs[undef],
                          .type = (uint32_t)type,
                          .call = json_is_true(json_array_get(w, 3)),
                          .plt = json_is_true(json_array_get(w, 4)),
                      });
    }
    return 0;
}

static int load_symbols(const json_t *from, struct arena *a, struct elf_symbols *s, struct err *e)
{
    struct recorded *r = s->recorded = xcalloc(1, sizeof(*r));
    int64_t size = jsonr_int(from, "relocs_size", 0);
    r->relocs_size = size < 0 ? 0 : (size_t)size;
    r->cut = jsonr_bool(from, "cut");
    s->ready = true;

    const json_t *undefs = jsonr_array(from, "undefs");
    int rc = load_undefs(undefs, a, s, e);
    s->undefs_read = undefs != NULL;
    s->wants_asked = jsonr_array(from, "wants") != NULL;
    if (rc == 0)
        rc = load_wants(from, "wants", s, &r->now, e);
    if (rc == 0)
        rc = load_wants(from, "wants_lazy", s, &r->lazy, e);
    if (rc == 0)
        rc = load_wishes(from, "defines", a, &r->defines, e);
    if (rc == 0)
        rc = load_wishes(from, "indirect", a, &r->indirect, e);
    if (rc == 0)
        rc = load_wishes(from, "addresses", a, &r->addresses, e);
    if (rc == 0)
        rc = load_wishes(from, "any_version", a, &r->any_version, e);
    s->any_version_asked = r->any_version.n > 0;
    if (rc == 0)
        rc = load_wishes(from, "lacks", a, &r->lacks, e);
    if (rc == 0)
        rc = load_wishes(from, "breaks", a, &r->breaks, e);
    return rc;
}

int elf_load(const struct json_t *from, struct arena *a, struct elf **ret, struct err *e)
{
    if (!json_is_object(from))
        return err_set(e, ERR_FORMAT, "the record of an ELF file is no object");
    struct elf *elf = arena_new(a, struct elf);
    const char *problem = jsonr_str(from, "problem");
    if (problem) {
        elf->problem = elf_problem_of_name(problem);
        if (elf->problem == ELF_FINE)
            return malformed("problem", e);
    }
    const char *older = jsonr_str(from, "older_problem");
    elf->older_problem = older ? elf_problem_of_name(older) : ELF_FINE;
    unsigned word;
    int rc = load_word(from, "crash", crashes, ARRAY_LEN(crashes), &word, e);
    elf->crash = (enum elf_crash)word;
    if (rc == 0)
        rc = load_word(from, "stack", stacks, ARRAY_LEN(stacks), &word, e);
    elf->exec_stack = (enum elf_exec_stack)word;
    if (rc == 0)
        rc = load_fields(from, a, elf, e);
    if (rc == 0)
        rc = load_needed(from, a, elf, e);
    if (rc == 0)
        rc = load_versions(from, a, elf, e);
    if (rc == 0 && json_object_get(from, "relocs_size")) {
        elf->symbols = arena_new(a, struct elf_symbols);
        rc = load_symbols(from, a, elf->symbols, e);
    }
    if (rc < 0) {
        elf_done(elf);
        return rc;
    }
    *ret = elf;
    return 0;
}
