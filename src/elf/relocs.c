/* What a file's relocations want of the loader, in the order in which it applies them. */
#include <stdlib.h>

#include "base/xalloc.h"
#include "elf/reader.h"
#include "elf/record.h"

/* 384 MB of relocations; the largest real libraries have 50 MB. */
#define MAX_RELOCS (UINT64_C(16) << 20)

struct range {
    struct span bytes;
    uint64_t address, size_bytes; /* as the dynamic section says; bytes may be fewer */
    uint64_t relative;            /* how many at its start need no symbol */
    bool plt;
};

/* DT_RELA, then DT_JMPREL. */
static size_t ranges(const struct elf_symbols *s, struct range ret[2])
{
    const struct dynamic *d = &s->dyn;
    size_t n = 0;
    if (d->has[DYN_RELA] && d->value[DYN_RELA] != 0)
        ret[n++] = (struct range){
            .address = d->value[DYN_RELA],
            .size_bytes = d->value[DYN_RELASZ],
            .relative = d->has[DYN_RELACOUNT] ? d->value[DYN_RELACOUNT] : 0,
        };
    if (d->has[DYN_PLTREL])
        ret[n++] = (struct range){ .address = d->value[DYN_JMPREL],
                                   .size_bytes = d->value[DYN_PLTRELSZ],
                                   .plt = true };
    /* Where the second is the end of the first, it is done once. */
    if (n == 2 && ret[0].address + ret[0].size_bytes == ret[1].address + ret[1].size_bytes &&
        ret[0].size_bytes >= ret[1].size_bytes)
        ret[0].size_bytes -= ret[1].size_bytes;
    for (size_t i = 0; i < n; i++) {
        (void)image_at(&s->image, ret[i].address, &ret[i].bytes);
        if (ret[i].bytes.left > ret[i].size_bytes)
            ret[i].bytes.left = (size_t)ret[i].size_bytes;
    }
    return n;
}

static bool rela_at(const struct range *r, uint64_t i, Elf64_Rela *ret)
{
    return i < MAX_RELOCS && span_copy(r->bytes, (size_t)i * sizeof(*ret), ret, sizeof(*ret));
}

/* The relocation types of a machine by what they want. */
struct type_row {
    uint16_t machine;
    uint32_t none, relative, relative_2, indirect, jump_slot, tls_offset, tls_descriptor;
    uint64_t known; /* other types that the loader knows: bit (type - first_known) */
    uint32_t first_known;
};

#define BIT(type, first) (UINT64_C(1) << ((type) - (first)))
static const struct type_row types[] = {
    { EM_X86_64, R_X86_64_NONE, R_X86_64_RELATIVE, R_X86_64_RELATIVE64, R_X86_64_IRELATIVE,
      R_X86_64_JUMP_SLOT, R_X86_64_TPOFF64, R_X86_64_TLSDESC,
      BIT(R_X86_64_64, 0) | BIT(R_X86_64_PC32, 0) | BIT(R_X86_64_COPY, 0) |
          BIT(R_X86_64_GLOB_DAT, 0) | BIT(R_X86_64_JUMP_SLOT, 0) | BIT(R_X86_64_32, 0) |
          BIT(R_X86_64_DTPMOD64, 0) | BIT(R_X86_64_DTPOFF64, 0) | BIT(R_X86_64_SIZE32, 0) |
          BIT(R_X86_64_SIZE64, 0),
      0 },
    { EM_AARCH64, R_AARCH64_NONE, R_AARCH64_RELATIVE, R_AARCH64_RELATIVE, R_AARCH64_IRELATIVE,
      R_AARCH64_JUMP_SLOT, R_AARCH64_TLS_TPREL, R_AARCH64_TLSDESC,
      BIT(R_AARCH64_COPY, 1024) | BIT(R_AARCH64_GLOB_DAT, 1024) | BIT(R_AARCH64_JUMP_SLOT, 1024) |
          BIT(R_AARCH64_TLS_DTPMOD, 1024) | BIT(R_AARCH64_TLS_DTPREL, 1024),
      1024 },
};

static const struct type_row *types_of(const struct elf_symbols *s)
{
    return s->machine == EM_AARCH64 ? &types[1] : &types[0];
}

static bool is_plain(const struct type_row *t, uint32_t type)
{
    return type == t->none || type == t->relative || type == t->relative_2 || type == t->indirect;
}

/* What applying one relocation wants, besides the symbol's definition. */
static enum elf_want_kind kind_of(const struct type_row *t, uint32_t type, bool lazy)
{
    if (type == t->tls_descriptor)
        return ELF_WANT_TLS_DESCRIPTOR;
    if (type == t->indirect)
        return ELF_WANT_INDIRECT;
    if (lazy)
        return type == t->jump_slot ? ELF_WANT_NOTHING : ELF_WANT_BAD_TYPE;
    if (is_plain(t, type))
        return ELF_WANT_NOTHING;
    if (type == t->tls_offset)
        return ELF_WANT_STATIC_TLS;
    if (type == R_AARCH64_ABS64 && t->machine == EM_AARCH64)
        return ELF_WANT_SYMBOL;
    uint32_t bit = type - t->first_known;
    return bit < 64 && (t->known >> bit & 1) ? ELF_WANT_SYMBOL : ELF_WANT_BAD_TYPE;
}

static bool gone(const struct elf_symbols *s, uint64_t address, uint64_t n)
{
    enum spot spot = image_range(&s->image, address, n);
    return spot == SPOT_CUT || spot == SPOT_NOWHERE;
}

struct walk {
    const struct elf_symbols *s;
    const struct type_row *types;
    bool lazy; /* in the range at hand */
    bool (*each)(void *ctx, const struct elf_want *w);
    void *ctx;
};

static bool tell(const struct walk *w, enum elf_want_kind kind, const struct elf_undef *symbol,
                 uint32_t type)
{
    bool x86_tls =
        w->types->machine == EM_X86_64 && (type == R_X86_64_DTPMOD64 || type == R_X86_64_DTPOFF64);
    struct elf_want want = {
        .kind = kind,
        .symbol = symbol,
        .type = type,
        .plt = w->lazy,
        .call = x86_tls || type == w->types->jump_slot || type == w->types->tls_offset ||
                type == w->types->tls_descriptor,
    };
    return w->each(w->ctx, &want);
}

/* One relocation. False: the caller has seen enough, or nothing can come after. */
static bool apply(const struct walk *w, const Elf64_Rela *rela)
{
    const struct elf_symbols *s = w->s;
    uint32_t type = (uint32_t)ELF64_R_TYPE(rela->r_info);
    uint64_t number = ELF64_R_SYM(rela->r_info);
    if (type == w->types->none && !w->lazy)
        return true;

    enum elf_want_kind kind = kind_of(w->types, type, w->lazy);
    const struct elf_undef *symbol = NULL;
    bool none = kind == ELF_WANT_NOTHING || kind == ELF_WANT_INDIRECT;
    if (!none && number < s->n_undef_of && s->undef_of[number] != 0)
        symbol = &s->undefs[s->undef_of[number] - 1];
    /* A type that it does not know is found out after the symbol was looked up. */
    if (kind == ELF_WANT_BAD_TYPE && symbol && !w->lazy && !tell(w, ELF_WANT_SYMBOL, symbol, type))
        return false;
    bool quiet = kind == ELF_WANT_NOTHING || (kind == ELF_WANT_SYMBOL && !symbol);
    if (!quiet && !tell(w, kind, symbol, type))
        return false;
    if (kind != ELF_WANT_BAD_TYPE && gone(s, rela->r_offset, 8)) {
        (void)tell(w, ELF_WANT_CRASH, NULL, type);
        return false;
    }
    return true;
}

static bool walk_range(struct walk *w, const struct range *r, bool lazy, bool cut)
{
    Elf64_Rela rela;
    w->lazy = lazy && r->plt;
    for (uint64_t i = cut ? 0 : r->relative; rela_at(r, i, &rela); i++)
        if (!apply(w, &rela))
            return false;
    if (r->bytes.left >= r->size_bytes)
        return true;
    (void)tell(w, ELF_WANT_CRASH, NULL, 0); /* the table itself goes on where nothing is */
    return false;
}

/* Entries of the dynamic section that the loader takes for granted. */
static bool tables_missing(const struct dynamic *d)
{
    return (d->has[DYN_RELA] && d->value[DYN_RELA] && !d->has[DYN_RELASZ]) ||
           (d->has[DYN_PLTREL] && (!d->has[DYN_JMPREL] || !d->has[DYN_PLTRELSZ])) ||
           !d->has[DYN_SYMTAB]; /* read even when there is nothing to relocate: measured */
}

/* Lazy binding begins with a look at the second word of the PLT's table, and writes it when it is not 0 already. */
static bool table_of_calls_missing(const struct elf_symbols *s)
{
    const struct dynamic *d = &s->dyn;
    if (!d->has[DYN_JMPREL])
        return false;
    return !d->has[DYN_PLTGOT] || image_range(&s->image, d->value[DYN_PLTGOT] + 8, 16) != SPOT_FILE;
}

/* DT_RELR: addresses, each followed by bitmaps of the words behind it. They want nothing but their place. */
static bool relr_crashes(const struct elf_symbols *s)
{
    const struct dynamic *d = &s->dyn;
    if (!d->has[DYN_RELR])
        return false;
    struct span table;
    (void)image_at(&s->image, d->value[DYN_RELR], &table);
    uint64_t where = 0, entry;
    for (size_t i = 0; i < d->value[DYN_RELRSZ] / sizeof(entry); i++) {
        if (i > MAX_RELOCS || !span_copy(table, i * sizeof(entry), &entry, sizeof(entry)))
            return true;
        if (!(entry & 1)) {
            if (gone(s, entry, 8))
                return true;
            where = entry + 8;
            continue;
        }
        uint64_t at = where;
        for (uint64_t bits = entry >> 1; bits; bits >>= 1, at += 8)
            if ((bits & 1) && gone(s, at, 8))
                return true;
        where += 63 * 8;
    }
    return false;
}

static bool image_is_cut(const struct image *img)
{
    for (size_t i = 0; i < img->n_segments; i++) {
        const struct segment *s = &img->segments[i];
        if (s->data_end > s->start &&
            s->offset + page_down(s->data_end - 1 - s->start) >= img->length)
            return true;
    }
    return false;
}

bool relocs_walk(const struct elf_symbols *s, bool lazy,
                 bool (*each)(void *ctx, const struct elf_want *w), void *ctx)
{
    struct walk w = { .s = s, .types = types_of(s), .each = each, .ctx = ctx };
    bool cut = image_is_cut(&s->image);
    if (tables_missing(&s->dyn) || (cut && relr_crashes(s)) || (lazy && table_of_calls_missing(s)))
        return tell(&w, ELF_WANT_CRASH, NULL, 0);
    struct range range[2];
    size_t n = ranges(s, range);
    for (size_t r = 0; r < n; r++)
        if (!walk_range(&w, &range[r], lazy, cut))
            return false;
    return true;
}

bool elf_wants(const struct elf *elf, bool lazy, bool (*each)(void *ctx, const struct elf_want *w),
               void *ctx)
{
    const struct elf_undef *undefs;
    struct elf_symbols *s = elf->symbols;
    if (!s)
        return true;
    (void)elf_undefs(elf, &undefs);
    lazy = lazy && !elf->bind_now;
    if (s->recorded)
        return recorded_wants(s->recorded, lazy, each, ctx);
    s->wants_asked = true;
    return relocs_walk(s, lazy, each, ctx);
}

size_t elf_relocs_size(const struct elf *elf)
{
    const struct elf_symbols *s = elf->symbols;
    if (!s)
        return 0;
    if (s->recorded)
        return recorded_relocs_size(s->recorded);
    struct range range[2];
    size_t n = ranges(s, range), size = 0;
    for (size_t r = 0; r < n; r++) {
        size_t skip = range[r].bytes.left / sizeof(Elf64_Rela);
        if (range[r].relative < skip)
            skip = (size_t)range[r].relative;
        size += range[r].bytes.left - skip * sizeof(Elf64_Rela);
    }
    return size;
}

bool elf_is_cut(const struct elf *elf)
{
    const struct elf_symbols *s = elf->symbols;
    if (!s)
        return false;
    return s->recorded ? recorded_is_cut(s->recorded) : image_is_cut(&s->image);
}

uint64_t relocs_symbol_end(const struct elf_symbols *s)
{
    struct range range[2];
    size_t n = ranges(s, range);
    uint64_t end = 0;
    for (size_t r = 0; r < n; r++) {
        Elf64_Rela rela;
        for (uint64_t i = range[r].relative; rela_at(&range[r], i, &rela); i++)
            if (ELF64_R_SYM(rela.r_info) >= end)
                end = ELF64_R_SYM(rela.r_info) + 1;
    }
    return end;
}

/* Constructors that lie on lost pages: DT_INIT, and what relative relocations put into DT_INIT_ARRAY. */
static bool init_is_gone(const struct elf_symbols *s)
{
    const struct dynamic *d = &s->dyn;
    if (d->has[DYN_INIT] && gone(s, d->value[DYN_INIT], 1))
        return true;
    uint64_t array = d->value[DYN_INIT_ARRAY],
             size = d->has[DYN_INIT_ARRAY] ? d->value[DYN_INIT_ARRAYSZ] : 0;
    struct range range[2];
    size_t n = size ? ranges(s, range) : 0;
    if (n == 0 || range[0].plt)
        return false;
    Elf64_Rela rela;
    for (uint64_t i = 0; rela_at(&range[0], i, &rela); i++)
        if (rela.r_offset - array < size && ELF64_R_TYPE(rela.r_info) == types_of(s)->relative &&
            gone(s, (uint64_t)rela.r_addend, 1))
            return true;
    return false;
}

void find_crash(struct reader *r)
{
    if (r->elf->crash == ELF_NO_CRASH && image_is_cut(&r->s->image) && init_is_gone(r->s))
        r->elf->crash = ELF_CRASH_INIT;
}

struct first {
    const struct elf_undef *undefs, *found;
    const unsigned char *missing;
};

static bool is_missing(void *ctx, const struct elf_want *w)
{
    struct first *f = ctx;
    if (w->kind == ELF_WANT_CRASH)
        return false;
    if (!w->symbol || !f->missing[w->symbol - f->undefs])
        return true;
    f->found = w->symbol;
    return false;
}

const struct elf_undef *elf_first_unresolved(const struct elf *elf, bool lazy,
                                             bool (*missing)(void *ctx, const struct elf_undef *u),
                                             void *ctx)
{
    struct first f = { 0 };
    size_t n = elf_undefs(elf, &f.undefs);
    if (n == 0)
        return NULL;

    /* Mostly nothing is missing, and then no relocation need be read. */
    bool any = false;
    unsigned char *map = xcalloc(n, 1);
    for (size_t i = 0; i < n; i++) {
        map[i] = missing(ctx, &f.undefs[i]);
        any = any || map[i];
    }
    f.missing = map;
    if (any)
        (void)elf_wants(elf, lazy, is_missing, &f);
    free(map);
    return f.found;
}
