#include <string.h>

#include "elf/reader.h"

/* Bounds that no real file comes near; the loader has none. */
#define MAX_DYNAMIC 65536u
#define MAX_STRINGS_BYTES (4u << 20)

/* Copies a string of the file; NULL when the file names more text than any real one. */
static const char *own_string(struct reader *r, const char *s)
{
    size_t n = strnlen(s, MAX_STRINGS_BYTES);
    if (n >= MAX_STRINGS_BYTES - r->strings_bytes)
        return NULL;
    r->strings_bytes += n;
    return arena_strndup(r->arena, s, n);
}

/* What becomes of a loader that reads there. */
static enum elf_problem problem_of(enum spot spot)
{
    return spot == SPOT_CUT ? ELF_CUT : ELF_DAMAGED;
}

static void flags_of(struct elf *elf, const struct dynamic *d)
{
    uint64_t flags = d->has[DYN_FLAGS] ? d->value[DYN_FLAGS] : 0;
    uint64_t flags_1 = d->has[DYN_FLAGS_1] ? d->value[DYN_FLAGS_1] : 0;
    elf->symbolic = d->has[DYN_SYMBOLIC] || (flags & DF_SYMBOLIC);
    elf->textrel = d->has[DYN_TEXTREL] || (flags & DF_TEXTREL);
    elf->bind_now = d->has[DYN_BIND_NOW] || (flags & DF_BIND_NOW) || (flags_1 & DF_1_NOW);
    elf->static_tls = (flags & DF_STATIC_TLS) != 0;
    elf->pie = (flags_1 & DF_1_PIE) != 0;
    elf->noopen = (flags_1 & DF_1_NOOPEN) != 0;
    elf->nodeflib = (flags_1 & DF_1_NODEFLIB) != 0;
    elf->relr = d->has[DYN_RELR];
    elf->has_init_code =
        d->has[DYN_INIT] || (d->has[DYN_INIT_ARRAY] && d->value[DYN_INIT_ARRAYSZ] > 0);
}

static int dyn_of_tag(int64_t tag)
{
    switch (tag) {
#define X(name, tag_)                                                                              \
    case tag_:                                                                                     \
        return name;
        DYN_TABLE(X)
#undef X
    default:
        return -1;
    }
}

/* One pass over the dynamic section; it ends at DT_NULL, whatever its segment says of its size. */
static enum elf_problem scan_dynamic(struct reader *r, struct span *ret_entries)
{
    struct dynamic *d = &r->s->dyn;
    enum spot spot = image_at(&r->s->image, r->dynamic, ret_entries);
    if (spot == SPOT_ZERO)
        return ELF_FINE; /* DT_NULL at once */
    if (spot != SPOT_FILE)
        return problem_of(spot);

    for (size_t i = 0; i < MAX_DYNAMIC; i++) {
        Elf64_Dyn dyn;
        bool whole = span_copy(*ret_entries, i * sizeof(dyn), &dyn, sizeof(dyn));
        if (!whole) {
            spot = image_at(&r->s->image, r->dynamic + (i + 1) * sizeof(dyn) - 1, NULL);
            if (spot != SPOT_ZERO)
                return problem_of(spot);
        }
        if (!whole || dyn.d_tag == DT_NULL) {
            ret_entries->left = i * sizeof(dyn);
            return ELF_FINE;
        }
        int slot = dyn_of_tag(dyn.d_tag);
        if (slot < 0)
            continue;
        d->has[slot] = true;
        d->value[slot] = dyn.d_un.d_val;
    }
    return ELF_DAMAGED;
}

/* Sizes that the loader asserts. Both machines that we read know RELA only. */
static bool sizes_right(const struct dynamic *d)
{
    if (d->has[DYN_PLTREL] && d->value[DYN_PLTREL] != DT_RELA)
        return false;
    if (d->has[DYN_RELA] && (!d->has[DYN_RELAENT] || d->value[DYN_RELAENT] != sizeof(Elf64_Rela)))
        return false;
    if (d->has[DYN_RELR] && (!d->has[DYN_RELRENT] || d->value[DYN_RELRENT] != sizeof(Elf64_Relr)))
        return false;
    return true;
}

struct name_lists {
    struct names needed, filters;
    struct {
        VEC(struct elf_filter);
    } info; /* of each filter */
};

/* DT_NEEDED, DT_AUXILIARY and DT_FILTER in their order. */
static bool collect_names(struct reader *r, struct span entries, struct name_lists *l)
{
    Elf64_Dyn dyn;
    for (size_t i = 0; span_copy(entries, i * sizeof(dyn), &dyn, sizeof(dyn)); i++) {
        if (dyn.d_tag != DT_NEEDED && dyn.d_tag != DT_AUXILIARY && dyn.d_tag != DT_FILTER)
            continue;
        const char *name = dynamic_string(r->s, dyn.d_un.d_val);
        if (name)
            name = own_string(r, name);
        if (!name)
            return false;
        if (dyn.d_tag == DT_NEEDED) {
            vec_push(&l->needed, name);
        } else {
            vec_push(&l->filters, name);
            vec_push(&l->info, (struct elf_filter){ dyn.d_tag == DT_AUXILIARY, l->needed.n });
        }
    }
    return true;
}

static const void *own_array(struct arena *a, const void *at, size_t n, size_t size_bytes)
{
    void *to = arena_alloc(a, (n ? n : 1) * size_bytes);
    if (n)
        memcpy(to, at, n * size_bytes);
    return to;
}

static bool collect_string(struct reader *r, enum dyn which, const char **ret)
{
    if (!r->s->dyn.has[which])
        return true;
    const char *name = dynamic_string(r->s, r->s->dyn.value[which]);
    if (name)
        *ret = own_string(r, name);
    return *ret != NULL;
}

static enum elf_problem read_names(struct reader *r, struct span entries)
{
    struct elf *elf = r->elf;
    struct name_lists l = { 0 };
    bool all = collect_names(r, entries, &l);
    /* looked at only when another name is searched */
    (void)collect_string(r, DYN_SONAME, &elf->soname);
    all = collect_string(r, DYN_RPATH, &elf->rpath) && all;
    all = collect_string(r, DYN_RUNPATH, &elf->runpath) && all;

    elf->n_needed = l.needed.n;
    elf->needed = own_array(r->arena, l.needed.at, l.needed.n, sizeof(*l.needed.at));
    elf->n_filters = l.filters.n;
    elf->filters = own_array(r->arena, l.filters.at, l.filters.n, sizeof(*l.filters.at));
    elf->filter_info = own_array(r->arena, l.info.at, l.info.n, sizeof(*l.info.at));
    vec_done(&l.needed);
    vec_done(&l.filters);
    vec_done(&l.info);
    if (all)
        return ELF_FINE;
    return problem_of(
        image_at(&r->s->image, r->s->dyn.value[DYN_STRTAB] + r->s->strings.left, NULL));
}

struct need_list {
    struct reader *r;
    bool too_long;
    VEC(struct elf_verneed);
    unsigned first_record_version;
    unsigned highest; /* version index; 0: none but local and global */
};

static bool list_needed(void *ctx, const struct need_record *n)
{
    struct need_list *l = ctx;
    const char *file = NULL;
    if (l->n == 0)
        l->first_record_version = n->record_version;
    else if (strcmp(l->at[l->n - 1].file, n->file) == 0)
        file = l->at[l->n - 1].file;
    if (!file)
        file = own_string(l->r, n->file);
    struct elf_verneed v = { file, own_string(l->r, n->name), n->hash,
                             (n->flags & VER_FLG_WEAK) != 0 };
    if (!v.file || !v.version) {
        l->too_long = true;
        return false;
    }
    vec_push(l, v);
    if ((n->other & 0x7fffu) > l->highest)
        l->highest = n->other & 0x7fffu;
    return true;
}

struct definition_list {
    struct reader *r;
    bool too_long;
    struct names names;
    struct {
        VEC(uint32_t);
    } hashes;
    size_t good; /* how many come before a record of another version */
    unsigned bad_version;
    unsigned highest;
};

static bool list_defined(void *ctx, const struct def_record *d)
{
    struct definition_list *l = ctx;
    const char *name = own_string(l->r, d->name);
    if (!name) {
        l->too_long = true;
        return false;
    }
    if (d->record_version != 1 && !l->bad_version) {
        l->bad_version = d->record_version ? d->record_version : UINT16_MAX + 1u;
        l->good = l->names.n;
    }
    vec_push(&l->names, name);
    vec_push(&l->hashes, d->hash);
    if ((d->index & 0x7fffu) > l->highest)
        l->highest = d->index & 0x7fffu;
    return true;
}

/* Broken chains are met only after everything is mapped. */
static void read_versions(struct reader *r)
{
    struct elf *elf = r->elf;
    struct need_list needs = { .r = r };
    bool whole = versions_needed(r->s, list_needed, &needs) && !needs.too_long;
    elf->n_verneed = needs.n;
    elf->verneed = own_array(r->arena, needs.at, needs.n, sizeof(*needs.at));
    elf->verneed_version = needs.first_record_version;
    vec_done(&needs);

    struct definition_list defs = { .r = r };
    whole = versions_defined(r->s, list_defined, &defs) && !defs.too_long && whole;
    elf->n_verdef = defs.names.n;
    elf->verdef = own_array(r->arena, defs.names.at, defs.names.n, sizeof(*defs.names.at));
    elf->verdef_hash = own_array(r->arena, defs.hashes.at, defs.hashes.n, sizeof(*defs.hashes.at));
    elf->n_verdef_good = defs.bad_version ? defs.good : defs.names.n;
    elf->verdef_bad_version = defs.bad_version > UINT16_MAX ? 0 : defs.bad_version;
    vec_done(&defs.names);
    vec_done(&defs.hashes);

    bool indexed = needs.highest > 0 || defs.highest > 0;
    elf->has_versym = indexed && r->s->dyn.has[DYN_VERSYM];
    if (!whole || (indexed && !r->s->dyn.has[DYN_VERSYM]))
        elf->crash = ELF_CRASH_VERSIONS;
}

static enum elf_problem read_gnu_hash(struct elf_symbols *s)
{
    struct span table;
    uint32_t head[4];
    enum spot spot = image_at(&s->image, s->dyn.value[DYN_GNU_HASH], &table);
    if (spot == SPOT_ZERO) /* no buckets: nothing defined */
        return ELF_FINE;
    if (!span_copy(table, 0, head, sizeof(head)))
        return problem_of(spot);
    if (head[2] & (head[2] - 1))
        return ELF_DAMAGED; /* asserted */
    s->gnu_hash = true;
    s->n_buckets = head[0];
    s->first_hashed = head[1];
    s->n_bloom = head[2];
    s->bloom_shift = head[3];
    /* A table that runs out of its segment is met at a lookup, not before: then these stay empty. */
    struct span rest = { table.at + sizeof(head), table.left - sizeof(head) };
    if (span_take(&rest, (size_t)s->n_bloom * 8, &s->bloom) &&
        span_take(&rest, (size_t)s->n_buckets * 4, &s->buckets))
        s->chains = rest;
    return ELF_FINE;
}

static enum elf_problem read_sysv_hash(struct elf_symbols *s)
{
    struct span table;
    uint32_t head[2];
    enum spot spot = image_at(&s->image, s->dyn.value[DYN_HASH], &table);
    if (spot == SPOT_ZERO)
        return ELF_FINE;
    if (!span_copy(table, 0, head, sizeof(head)))
        return s->dyn.has[DYN_GNU_HASH] ? ELF_FINE : problem_of(spot);
    s->n_chain = head[1];
    if (s->dyn.has[DYN_GNU_HASH])
        return ELF_FINE; /* the loader then never looks here */
    s->n_buckets = head[0];
    struct span rest = { table.at + sizeof(head), table.left - sizeof(head) };
    if (span_take(&rest, (size_t)s->n_buckets * 4, &s->buckets))
        s->chains = rest;
    return ELF_FINE;
}

static enum elf_problem find_tables(struct elf_symbols *s)
{
    const struct dynamic *d = &s->dyn;
    if (d->has[DYN_STRTAB])
        (void)image_at(&s->image, d->value[DYN_STRTAB], &s->strings);
    if (d->has[DYN_SYMTAB])
        (void)image_at(&s->image, d->value[DYN_SYMTAB], &s->symbols);
    if (d->has[DYN_VERSYM])
        (void)image_at(&s->image, d->value[DYN_VERSYM], &s->versym);
    enum elf_problem p = ELF_FINE;
    if (d->has[DYN_GNU_HASH])
        p = read_gnu_hash(s);
    if (p == ELF_FINE && d->has[DYN_HASH])
        p = read_sysv_hash(s);
    return p;
}

/* The loader relocates the section's own pointers in place unless PT_DYNAMIC says that it is read-only. */
static bool pointers_writable(const struct reader *r)
{
    if (r->s->dyn.readonly)
        return true;
    const struct image *img = &r->s->image;
    for (size_t i = img->n_segments; i-- > 0;)
        if (r->dynamic >= img->segments[i].start && r->dynamic < page_up(img->segments[i].mem_end))
            return (img->segments[i].flags & PF_W) != 0;
    return true;
}

void read_dynamic(struct reader *r)
{
    struct span entries;
    enum elf_problem p = scan_dynamic(r, &entries);
    if (p == ELF_FINE && (!sizes_right(&r->s->dyn) || !pointers_writable(r)))
        p = ELF_DAMAGED;
    if (p != ELF_FINE) {
        set_problem(r->elf, p);
        return;
    }
    flags_of(r->elf, &r->s->dyn);
    if (r->elf->pie)
        set_problem(r->elf, ELF_PIE);
    else if (r->elf->noopen)
        set_problem(r->elf, ELF_NOOPEN);

    p = find_tables(r->s);
    if (p == ELF_FINE)
        p = read_names(r, entries);
    if (p != ELF_FINE)
        set_problem(r->elf, p);
    else
        read_versions(r);
}
