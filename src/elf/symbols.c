#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "elf/dynamic.h"
#include "elf/record.h"

/* Bounds, far above all real files, of what one question may cost. */
#define MAX_STRING (1u << 20)
#define MAX_CHAIN 65536u

uint32_t elf_hash_gnu(const char *name)
{
    uint32_t h = 5381;
    for (const unsigned char *c = (const unsigned char *)name; *c; c++)
        h = h * 33 + *c;
    return h;
}

uint32_t elf_hash_sysv(const char *name)
{
    uint32_t h = 0;
    for (const unsigned char *c = (const unsigned char *)name; *c; c++) {
        h = (h << 4) + *c;
        h ^= (h >> 24) & 0xf0;
    }
    return h & 0x0fffffff;
}

const char *dynamic_string(const struct elf_symbols *s, uint64_t offset)
{
    if (!s->dyn.has[DYN_STRTAB])
        return NULL;
    struct span from = { NULL, 0 };
    if (offset < s->strings.left)
        from = (struct span){ s->strings.at + offset, s->strings.left - (size_t)offset };
    else /* the loader adds and reads, wherever that leads to */
        (void)image_at(&s->image, s->dyn.value[DYN_STRTAB] + offset, &from);
    if (from.left > MAX_STRING)
        from.left = MAX_STRING;
    return span_string(from, 0);
}

static bool symbol_at(const struct elf_symbols *s, uint32_t i, Elf64_Sym *ret)
{
    return span_copy(s->symbols, (size_t)i * sizeof(*ret), ret, sizeof(*ret));
}

static bool u32_at(struct span s, uint64_t i, uint32_t *ret)
{
    return span_copy(s, (size_t)i * sizeof(*ret), ret, sizeof(*ret));
}

static bool visible(const Elf64_Sym *sym)
{
    unsigned v = ELF64_ST_VISIBILITY(sym->st_other);
    return v != STV_HIDDEN && v != STV_INTERNAL;
}

static bool bound(const Elf64_Sym *sym)
{
    unsigned b = ELF64_ST_BIND(sym->st_info);
    return b == STB_GLOBAL || b == STB_WEAK || b == STB_GNU_UNIQUE;
}

/* One lookup in one file. */
struct lookup {
    const char *name;
    size_t name_len;
    const char *version; /* NULL: none wanted */
    uint32_t version_hash;
    bool address, any_version;
    unsigned others; /* versioned definitions met while no version is wanted */
    Elf64_Sym other;
};

enum match { MATCH_NO, MATCH_YES, MATCH_BROKEN };

static const unsigned allowed_types = 1u << STT_NOTYPE | 1u << STT_OBJECT | 1u << STT_FUNC |
                                      1u << STT_COMMON | 1u << STT_TLS | 1u << STT_GNU_IFUNC;

/* Is this the version that the lookup wants? */
static bool version_fits(const struct elf_symbols *s, struct lookup *l, const Elf64_Sym *sym,
                         uint16_t versym)
{
    static const struct version none;
    unsigned index = versym & 0x7fff;
    if (l->any_version)
        return !(versym & 0x8000);
    if (!l->version) {
        if (index < 3)
            return true;
        /* A single versioned definition will do when there is no other. */
        if (!(versym & 0x8000) && l->others++ == 0)
            l->other = *sym;
        return false;
    }
    const struct version *v = index < s->n_versions ? &s->versions[index] : &none;
    if (v->hash == l->version_hash && v->name && strcmp(v->name, l->version) == 0)
        return true;
    return v->hash == 0 && !(versym & 0x8000);
}

static enum match check(const struct elf_symbols *s, struct lookup *l, uint32_t i, Elf64_Sym *sym)
{
    if (!symbol_at(s, i, sym))
        return MATCH_BROKEN;
    unsigned type = ELF64_ST_TYPE(sym->st_info);
    if (sym->st_value == 0 && sym->st_shndx != SHN_ABS && type != STT_TLS)
        return MATCH_NO;
    if ((sym->st_shndx == SHN_UNDEF && !l->address) || !(allowed_types >> type & 1))
        return MATCH_NO;
    struct span name;
    if (!span_part(s->strings, sym->st_name, l->name_len + 1, &name)) {
        if (!dynamic_string(s, sym->st_name))
            return MATCH_BROKEN;
        return MATCH_NO;
    }
    if (memcmp(name.at, l->name, l->name_len + 1) != 0)
        return MATCH_NO;
    if (s->n_versions == 0 || !s->dyn.has[DYN_VERSYM])
        return MATCH_YES;
    uint16_t versym;
    if (!span_copy(s->versym, (size_t)i * 2, &versym, sizeof(versym)))
        return MATCH_BROKEN;
    return version_fits(s, l, sym, versym) ? MATCH_YES : MATCH_NO;
}

/* Most files do not have the symbol, and one word of their filter says so. */
static bool filtered_out(const struct elf_symbols *s, uint32_t hash)
{
    if (!s->gnu_hash || s->bloom.left == 0)
        return false;
    uint64_t word;
    memcpy(&word, s->bloom.at + (size_t)(hash / 64 & (s->n_bloom - 1)) * 8, sizeof(word));
    return !(word >> (hash & 63) & word >> (hash >> (s->bloom_shift & 31) & 63) & 1);
}

static enum match find_gnu(const struct elf_symbols *s, struct lookup *l, uint32_t hash,
                           Elf64_Sym *ret)
{
    uint32_t at;
    if (s->bloom.left == 0)
        return MATCH_BROKEN; /* the filter, or what follows it, runs out of the file */
    if (filtered_out(s, hash))
        return MATCH_NO;
    if (!u32_at(s->buckets, hash % s->n_buckets, &at))
        return MATCH_BROKEN;
    if (at == 0)
        return MATCH_NO;
    if (at < s->first_hashed)
        return MATCH_BROKEN;
    unsigned steps = 0;
    for (uint32_t h; steps < MAX_CHAIN && u32_at(s->chains, at - s->first_hashed, &h);
         at++, steps++) {
        if ((h ^ hash) >> 1 == 0) {
            enum match m = check(s, l, at, ret);
            if (m != MATCH_NO)
                return m;
        }
        if (h & 1)
            return MATCH_NO;
        if (at == UINT32_MAX)
            break;
    }
    return MATCH_BROKEN;
}

static enum match find_sysv(const struct elf_symbols *s, struct lookup *l, uint32_t hash,
                            Elf64_Sym *ret)
{
    uint32_t at;
    if (!u32_at(s->buckets, hash % s->n_buckets, &at))
        return MATCH_BROKEN;
    /* A chain with a loop in it never ends for the loader. */
    for (unsigned steps = MAX_CHAIN; at != STN_UNDEF; steps--) {
        enum match m = check(s, l, at, ret);
        if (m != MATCH_NO)
            return m;
        if (steps == 0 || !u32_at(s->chains, at, &at))
            return MATCH_BROKEN;
    }
    return MATCH_NO;
}

/* ret_sym: the definition when the answer is yes. */
static enum elf_answer answer(const struct elf_symbols *s, struct lookup *l, uint32_t hash,
                              Elf64_Sym *ret_sym)
{
    if (s->n_buckets == 0)
        return ELF_NO;
    Elf64_Sym sym = { 0 };
    enum match m =
        s->gnu_hash ? find_gnu(s, l, hash, &sym) : find_sysv(s, l, elf_hash_sysv(l->name), &sym);
    if (m == MATCH_BROKEN || s->image.shrunk)
        return ELF_UNKNOWN;
    if (m == MATCH_NO) {
        if (l->others != 1)
            return ELF_NO;
        sym = l->other;
    }
    *ret_sym = sym;
    return visible(&sym) && bound(&sym) ? ELF_YES : ELF_NO;
}

#define MAX_QUERIES 4096u

static void remember(struct elf_symbols *s, const char *name, const char *version,
                     enum elf_answer answer)
{
    for (size_t i = s->queries.n; i-- > 0;) {
        const struct query *q = &s->queries.at[i];
        if (strcmp(q->name, name) == 0 &&
            (version ? q->version && strcmp(q->version, version) == 0 : !q->version))
            return;
    }
    if (s->queries.n < MAX_QUERIES)
        vec_push(&s->queries,
                 (struct query){ xstrdup(name), version ? xstrdup(version) : NULL, answer });
}

static enum elf_answer resolve(struct elf_symbols *s, const struct elf_undef *u, Elf64_Sym *ret_sym)
{
    s->any_version_asked = s->any_version_asked || u->any_version;
    if (!s->ready || (filtered_out(s, u->hash) && !s->image.shrunk))
        return ELF_NO;
    versions_read(s);
    struct lookup l = { .name = u->name,
                        .name_len = u->name_len,
                        .version = u->version,
                        .version_hash = u->version_hash,
                        .address = u->address,
                        .any_version = u->any_version };
    return answer(s, &l, u->hash, ret_sym);
}

enum elf_answer elf_defines(const struct elf *elf, const char *name, const char *version)
{
    struct elf_symbols *s = elf->symbols;
    if (!s)
        return ELF_UNKNOWN;
    if (s->recorded)
        return recorded_defines(s->recorded, name, version);
    struct elf_undef u = {
        .name = name,
        .version = version,
        .name_len = strlen(name),
        .hash = elf_hash_gnu(name),
        .version_hash = version ? elf_hash_sysv(version) : 0,
    };
    Elf64_Sym sym;
    enum elf_answer a = resolve(s, &u, &sym);
    remember(s, name, version, a);
    return a;
}

enum elf_answer elf_resolves(const struct elf *elf, const struct elf_undef *u)
{
    struct elf_symbols *s = elf->symbols;
    if (!s)
        return ELF_UNKNOWN;
    Elf64_Sym sym;
    return s->recorded ? recorded_resolves(s->recorded, u) : resolve(s, u, &sym);
}

bool elf_resolves_indirectly(const struct elf *elf, const struct elf_undef *u)
{
    struct elf_symbols *s = elf->symbols;
    Elf64_Sym sym;
    if (s && s->recorded)
        return recorded_indirect(s->recorded, u);
    return s && resolve(s, u, &sym) == ELF_YES && ELF64_ST_TYPE(sym.st_info) == STT_GNU_IFUNC;
}

/* Bounds for what one file may want of others; torch's largest library wants 9,000 symbols, in 1 MB of names. */
#define MAX_SYMBOLS (1u << 22)
#define MAX_UNDEFS (1u << 20)
#define MAX_NAMES_BYTES (UINT64_C(64) << 20)
#define MAX_NAMELESS 256u

/* How many symbols can be undefined ones: those before the hashed ones, else all that DT_HASH counts, else as many
 * as relocations name. */
static uint32_t undefined_end(const struct elf_symbols *s)
{
    uint64_t most = s->symbols.left / sizeof(Elf64_Sym);
    uint64_t n;
    if (s->gnu_hash && s->n_buckets > 1 && s->first_hashed > 1)
        n = s->first_hashed;
    else if (s->n_chain > 0)
        n = s->n_chain;
    else
        n = relocs_symbol_end(s);
    if (n > most)
        n = most;
    return n < MAX_SYMBOLS ? (uint32_t)n : MAX_SYMBOLS;
}

static struct version version_of(const struct elf_symbols *s, uint32_t i)
{
    uint16_t versym;
    if (!s->dyn.has[DYN_VERSYM] || !span_copy(s->versym, (size_t)i * 2, &versym, sizeof(versym)) ||
        (versym & 0x7fff) >= s->n_versions)
        return (struct version){ 0 };
    return s->versions[versym & 0x7fff];
}

/* Length and hash in one pass; the name is known to end. */
static void measure(struct elf_undef *u)
{
    uint32_t h = 5381;
    const unsigned char *c = (const unsigned char *)u->name;
    for (; *c; c++)
        h = h * 33 + *c;
    u->hash = h;
    u->name_len = (size_t)((const char *)c - u->name);
}

static void undefs_read(struct elf_symbols *s)
{
    if (s->undefs_read || !s->ready || s->recorded)
        return;
    s->undefs_read = true;
    versions_read(s);

    struct {
        VEC(struct elf_undef);
    } list = { 0 };
    uint32_t end = undefined_end(s);
    s->undef_of = xcalloc((size_t)end + 1, sizeof(*s->undef_of));
    s->n_undef_of = end;
    uint64_t bytes = 0;
    unsigned nameless = 0;
    Elf64_Sym sym;
    for (uint32_t i = 1; i < end && symbol_at(s, i, &sym); i++) {
        if (sym.st_shndx != SHN_UNDEF || sym.st_name == 0 || !bound(&sym) || !visible(&sym))
            continue;
        const char *name = dynamic_string(s, sym.st_name);
        if (!name && ++nameless > MAX_NAMELESS)
            break;
        if (!name)
            continue;
        struct version v = version_of(s, i);
        struct elf_undef u = {
            .name = name,
            .version = v.hash ? v.name : NULL,
            .version_file = v.hash ? v.file : NULL,
            .weak = ELF64_ST_BIND(sym.st_info) == STB_WEAK,
            .version_hash = v.hash,
        };
        measure(&u);
        bytes += u.name_len;
        if (list.n == MAX_UNDEFS || bytes > MAX_NAMES_BYTES)
            break;
        vec_push(&list, u);
        s->undef_of[i] = (uint32_t)list.n;
    }
    s->undefs = list.at;
    s->n_undefs = list.n;
}

size_t elf_undefs(const struct elf *elf, const struct elf_undef **ret)
{
    *ret = NULL;
    if (!elf->symbols)
        return 0;
    undefs_read(elf->symbols);
    *ret = elf->symbols->undefs;
    return elf->symbols->n_undefs;
}
