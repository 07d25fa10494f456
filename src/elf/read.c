#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "elf/dynamic.h"

/* The loader reads this much of a file at once and looks for the program headers in it first. */
#define FIRST_READ 832u
/* Bounds that no real file comes near; the loader has none. */
#define MAX_PROGRAM_HEADERS 4096u
#define MAX_DYNAMIC 65536u
#define MAX_PATH_STRING (1u << 20)

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#else
#define OWN_MACHINE EM_NONE
#endif

struct reader {
    struct elf *elf;
    struct elf_symbols *s;
    struct arena *arena;
    Elf64_Ehdr head;
    struct span file, phdrs; /* phdrs: copied nowhere, read through span_copy */
    uint64_t dynamic, dynamic_segment_flags;
    bool has_dynamic, empty_dynamic, has_phdr;
    uint64_t phdr_address;
    struct names needed, filters;
    struct {
        VEC(struct elf_filter);
    } filter_info;
};

static void set_problem(struct elf *elf, enum elf_problem p)
{
    if (elf->problem == ELF_FINE)
        elf->problem = p;
}

/* The identification, in the order of the loader's own tests. */
static enum elf_problem check_ident(const unsigned char *id)
{
    static const unsigned char zeros[EI_NIDENT];
    if (memcmp(id, ELFMAG, SELFMAG) != 0)
        return ELF_BAD_MAGIC;
    if (id[EI_CLASS] != ELFCLASS64)
        return ELF_WRONG_CLASS;
    if (id[EI_DATA] != ELFDATA2LSB)
        return ELF_BAD_DATA;
    if (id[EI_VERSION] != EV_CURRENT)
        return ELF_BAD_IDENT_VERSION;
    if (id[EI_OSABI] != ELFOSABI_SYSV && id[EI_OSABI] != ELFOSABI_GNU)
        return ELF_BAD_OSABI;
    /* GNU's own ABI knows versions 1 to 3: unique symbols, indirect functions, absolute symbols. */
    if (id[EI_ABIVERSION] > (id[EI_OSABI] == ELFOSABI_GNU ? 3 : 0))
        return ELF_BAD_ABI_VERSION;
    if (memcmp(id + EI_PAD, zeros, EI_NIDENT - EI_PAD) != 0)
        return ELF_BAD_PADDING;
    return ELF_FINE;
}

static enum elf_problem check_header(struct reader *r)
{
    const Elf64_Ehdr *h = &r->head;
    if (h->e_version != EV_CURRENT)
        return ELF_BAD_VERSION;
    if (h->e_machine != OWN_MACHINE)
        return ELF_WRONG_MACHINE;
    if (h->e_type != ET_DYN && h->e_type != ET_EXEC)
        return ELF_NOT_DYN_OR_EXEC;
    if (h->e_phentsize != sizeof(Elf64_Phdr))
        return ELF_BAD_PHENTSIZE;

    uint64_t n = (uint64_t)h->e_phnum * sizeof(Elf64_Phdr);
    if (h->e_phoff > INT64_MAX)
        return h->e_phoff + n < h->e_phoff && h->e_phoff + n <= FIRST_READ ? ELF_DAMAGED : ELF_BAD_PHOFF;
    if (n > 0 && (h->e_phoff > r->file.left || !span_part(r->file, (size_t)h->e_phoff, (size_t)n, &r->phdrs)))
        return ELF_BAD_PHDRS;
    return ELF_FINE;
}

/* Looks into a file that is no 64-bit little-endian one just far enough to say what it is. */
static void foreign_identity(struct elf *elf, const Elf64_Ehdr *h)
{
    elf->elf_class = h->e_ident[EI_CLASS];
    elf->data = h->e_ident[EI_DATA];
    /* e_type and e_machine lie at the same place in both classes */
    elf->type = elf->data == ELFDATA2MSB ? __builtin_bswap16(h->e_type) : h->e_type;
    elf->machine = elf->data == ELFDATA2MSB ? __builtin_bswap16(h->e_machine) : h->e_machine;
}

static bool phdr_at(const struct reader *r, size_t i, Elf64_Phdr *ret)
{
    return span_copy(r->phdrs, i * sizeof(*ret), ret, sizeof(*ret));
}

static void add_segment(struct reader *r, const Elf64_Phdr *p)
{
    struct image *img = &r->s->image;
    img->segments[img->n_segments++] = (struct segment){
        .start = page_down(p->p_vaddr),
        .map_end = page_up(p->p_vaddr + p->p_filesz),
        .data_end = p->p_vaddr + p->p_filesz,
        .mem_end = p->p_vaddr + p->p_memsz,
        .offset = page_down(p->p_offset),
        .flags = p->p_flags,
    };
}

static enum elf_problem scan_segments(struct reader *r)
{
    struct elf *elf = r->elf;
    size_t n = r->phdrs.left / sizeof(Elf64_Phdr);
    if (n > MAX_PROGRAM_HEADERS)
        return ELF_DAMAGED;
    r->s->image.segments = arena_alloc(r->arena, (n ? n : 1) * sizeof(struct segment));

    Elf64_Phdr p;
    for (size_t i = 0; i < n && phdr_at(r, i, &p); i++) {
        switch (p.p_type) {
        case PT_DYNAMIC:
            if (p.p_filesz == 0) {
                r->empty_dynamic = true;
                break;
            }
            r->dynamic = p.p_vaddr;
            r->has_dynamic = p.p_vaddr != 0;
            r->s->dyn.readonly = !(p.p_flags & PF_W);
            break;
        case PT_PHDR:
            r->has_phdr = p.p_vaddr != 0;
            r->phdr_address = p.p_vaddr;
            break;
        case PT_LOAD:
            if ((p.p_vaddr - p.p_offset) & (IMAGE_PAGE - 1))
                return ELF_BAD_PAGE_ALIGN;
            add_segment(r, &p);
            break;
        case PT_TLS:
            if (p.p_memsz == 0)
                break;
            elf->tls_size_bytes = p.p_memsz;
            elf->tls_align = p.p_align;
            break;
        case PT_GNU_STACK:
            elf->exec_stack = p.p_flags & PF_X ? ELF_STACK_EXEC : ELF_STACK_PLAIN;
            break;
        default:
            break;
        }
    }
    return ELF_FINE;
}

/* What is checked once the program headers are read, before anything is mapped. */
static enum elf_problem check_segments(const struct reader *r)
{
    if (r->s->image.n_segments == 0)
        return ELF_NO_LOAD;
    if (r->head.e_type != ET_DYN)
        return ELF_EXECUTABLE;
    if (!r->has_dynamic || r->empty_dynamic)
        return ELF_NO_DYNAMIC;
    return ELF_FINE;
}

/* Behind the bytes of a segment the loader clears the rest of their last page. */
static enum elf_problem check_zeroing(const struct image *img)
{
    for (size_t i = 0; i < img->n_segments; i++) {
        const struct segment *s = &img->segments[i];
        if (s->mem_end <= s->data_end || page_up(s->data_end) == s->data_end)
            continue;
        uint64_t offset = s->offset + (page_down(s->data_end) - s->start);
        if (offset >= img->length)
            return ELF_CUT;
    }
    return ELF_FINE;
}

static const char *own_string(struct reader *r, const char *s)
{
    size_t n = strnlen(s, MAX_PATH_STRING);
    return arena_strndup(r->arena, s, n);
}

static void flags_of(struct elf *elf, const struct dynamic *d)
{
    uint64_t flags = d->has[DYN_FLAGS] ? d->value[DYN_FLAGS] : 0;
    uint64_t flags_1 = d->has[DYN_FLAGS_1] ? d->value[DYN_FLAGS_1] : 0;
    elf->symbolic = d->has[DYN_SYMBOLIC] || (flags & DF_SYMBOLIC);
    elf->textrel = d->has[DYN_TEXTREL] || (flags & DF_TEXTREL);
    elf->bind_now = d->has[DYN_BIND_NOW] || (flags & DF_BIND_NOW) || (flags_1 & DF_1_NOW);
    elf->static_tls = flags & DF_STATIC_TLS;
    elf->pie = flags_1 & DF_1_PIE;
    elf->noopen = flags_1 & DF_1_NOOPEN;
    elf->nodeflib = flags_1 & DF_1_NODEFLIB;
    elf->has_init_code = d->has[DYN_INIT] || (d->has[DYN_INIT_ARRAY] && d->value[DYN_INIT_ARRAYSZ] > 0);
}

static int dyn_of_tag(int64_t tag)
{
    switch (tag) {
#define X(name, tag_) \
    case tag_:        \
        return name;
        DYN_TABLE(X)
#undef X
    default:
        return -1;
    }
}

/* One pass over the dynamic section. Names are kept as offsets until the string table is known. */
static enum elf_problem scan_dynamic(struct reader *r, struct span *ret_entries)
{
    struct dynamic *d = &r->s->dyn;
    struct span entries;
    enum spot spot = image_at(&r->s->image, r->dynamic, &entries);
    *ret_entries = entries;
    if (spot == SPOT_CUT)
        return ELF_CUT;
    if (spot != SPOT_FILE)
        return spot == SPOT_ZERO ? ELF_FINE : ELF_DAMAGED;

    for (size_t i = 0; i < MAX_DYNAMIC; i++) {
        Elf64_Dyn dyn;
        if (!span_copy(entries, i * sizeof(dyn), &dyn, sizeof(dyn))) {
            spot = image_at(&r->s->image, r->dynamic + (i + 1) * sizeof(dyn) - 1, NULL);
            return spot == SPOT_ZERO ? ELF_FINE : spot == SPOT_CUT ? ELF_CUT : ELF_DAMAGED;
        }
        if (dyn.d_tag == DT_NULL) {
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

/* Conditions that the loader asserts. */
static bool sizes_right(const struct dynamic *d, uint16_t machine)
{
    (void)machine; /* both machines that we read know RELA only */
    if (d->has[DYN_PLTREL] && d->value[DYN_PLTREL] != DT_RELA)
        return false;
    if (d->has[DYN_RELA] && (!d->has[DYN_RELAENT] || d->value[DYN_RELAENT] != sizeof(Elf64_Rela)))
        return false;
    if (d->has[DYN_RELR] && (!d->has[DYN_RELRENT] || d->value[DYN_RELRENT] != sizeof(Elf64_Relr)))
        return false;
    return true;
}

/* DT_NEEDED, DT_AUXILIARY and DT_FILTER in their order. */
static bool collect_names(struct reader *r, struct span entries)
{
    Elf64_Dyn dyn;
    for (size_t i = 0; span_copy(entries, i * sizeof(dyn), &dyn, sizeof(dyn)); i++) {
        bool needed = dyn.d_tag == DT_NEEDED;
        if (!needed && dyn.d_tag != DT_AUXILIARY && dyn.d_tag != DT_FILTER)
            continue;
        const char *name = dynamic_string(r->s, dyn.d_un.d_val);
        if (!name)
            return false;
        name = own_string(r, name);
        if (needed)
            vec_push(&r->needed, name);
        if (needed)
            continue;
        vec_push(&r->filters, name);
        vec_push(&r->filter_info, (struct elf_filter){ dyn.d_tag == DT_AUXILIARY, r->needed.n });
    }
    return true;
}

static bool collect_string(struct reader *r, enum dyn which, const char **ret)
{
    if (!r->s->dyn.has[which])
        return true;
    const char *name = dynamic_string(r->s, r->s->dyn.value[which]);
    if (name)
        *ret = own_string(r, name);
    return name != NULL;
}

static enum elf_problem read_names(struct reader *r, struct span entries)
{
    struct elf *elf = r->elf;
    bool all = collect_names(r, entries);
    all = collect_string(r, DYN_SONAME, &elf->soname) && all;
    all = collect_string(r, DYN_RPATH, &elf->rpath) && all;
    all = collect_string(r, DYN_RUNPATH, &elf->runpath) && all;

    elf->n_needed = r->needed.n;
    elf->needed = arena_alloc(r->arena, (r->needed.n + 1) * sizeof(char *));
    elf->n_filters = r->filters.n;
    elf->filters = arena_alloc(r->arena, (r->filters.n + 1) * sizeof(char *));
    if (r->needed.n)
        memcpy((void *)(uintptr_t)elf->needed, r->needed.at, r->needed.n * sizeof(char *));
    if (r->filters.n)
        memcpy((void *)(uintptr_t)elf->filters, r->filters.at, r->filters.n * sizeof(char *));
    struct elf_filter *info = arena_alloc(r->arena, (r->filters.n + 1) * sizeof(*info));
    if (r->filters.n)
        memcpy(info, r->filter_info.at, r->filters.n * sizeof(*info));
    elf->filter_info = info;
    if (all)
        return ELF_FINE;
    uint64_t table = r->s->dyn.value[DYN_STRTAB];
    return image_at(&r->s->image, table, NULL) == SPOT_CUT || r->s->image.size_bytes < table ? ELF_CUT : ELF_DAMAGED;
}

struct version_list {
    struct reader *r;
    VEC(struct elf_verneed);
};

static bool list_needed(void *ctx, const struct need_record *n)
{
    struct version_list *list = ctx;
    const char *file = list->n && strcmp(list->at[list->n - 1].file, n->file) == 0 ? list->at[list->n - 1].file
                                                                                 : own_string(list->r, n->file);
    vec_push(list, (struct elf_verneed){ file, own_string(list->r, n->name), n->hash, n->flags & VER_FLG_WEAK });
    return true;
}

struct definition_list {
    struct reader *r;
    VEC(const char *);
    struct elf_verdef *defs;
};

static bool list_defined(void *ctx, const struct def_record *d)
{
    struct definition_list *list = ctx;
    vec_push(list, own_string(list->r, d->name));
    return true;
}

static void read_versions(struct reader *r)
{
    struct elf *elf = r->elf;
    struct version_list needs = { .r = r };
    bool whole = versions_needed(r->s, list_needed, &needs);
    elf->n_verneed = needs.n;
    if (needs.n) {
        struct elf_verneed *at = arena_alloc(r->arena, needs.n * sizeof(*at));
        memcpy(at, needs.at, needs.n * sizeof(*at));
        elf->verneed = at;
    }
    vec_done(&needs);

    struct definition_list defs = { .r = r };
    whole = versions_defined(r->s, list_defined, &defs) && whole;
    elf->n_verdef = defs.n;
    if (defs.n) {
        const char **at = arena_alloc(r->arena, defs.n * sizeof(*at));
        memcpy(at, defs.at, defs.n * sizeof(*at));
        elf->verdef = at;
    }
    vec_done(&defs);
    if (!whole)
        set_problem(elf, ELF_DAMAGED);
    elf->has_versym = r->s->dyn.has[DYN_VERSYM] && (elf->n_verneed || elf->n_verdef);
}

static bool read_gnu_hash(struct elf_symbols *s)
{
    struct span table;
    uint32_t head[4];
    (void)image_at(&s->image, s->dyn.value[DYN_GNU_HASH], &table);
    if (!span_copy(table, 0, head, sizeof(head)) || (head[2] & (head[2] - 1)))
        return false;
    s->n_buckets = head[0];
    s->first_hashed = head[1];
    s->n_bloom = head[2];
    s->bloom_shift = head[3];
    struct span rest = { table.at + sizeof(head), table.left - sizeof(head) };
    if (!span_take(&rest, (size_t)s->n_bloom * 8, &s->bloom) || !span_take(&rest, (size_t)s->n_buckets * 4, &s->buckets))
        return false;
    s->chains = rest;
    s->gnu_hash = true;
    return true;
}

static bool read_sysv_hash(struct elf_symbols *s)
{
    struct span table;
    uint32_t head[2];
    (void)image_at(&s->image, s->dyn.value[DYN_HASH], &table);
    if (!span_copy(table, 0, head, sizeof(head)))
        return false;
    s->n_chain = head[1];
    if (s->gnu_hash || s->dyn.has[DYN_GNU_HASH])
        return true;
    s->n_buckets = head[0];
    struct span rest = { table.at + sizeof(head), table.left - sizeof(head) };
    if (!span_take(&rest, (size_t)s->n_buckets * 4, &s->buckets))
        return false;
    s->chains = rest;
    return true;
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
    bool fine = true;
    if (d->has[DYN_GNU_HASH])
        fine = read_gnu_hash(s);
    if (d->has[DYN_HASH])
        fine = read_sysv_hash(s) && fine;
    return fine ? ELF_FINE : ELF_DAMAGED;
}

static void read_dynamic(struct reader *r)
{
    struct span entries;
    enum elf_problem p = scan_dynamic(r, &entries);
    if (p == ELF_FINE && !sizes_right(&r->s->dyn, r->head.e_machine))
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
    if (p != ELF_FINE) {
        set_problem(r->elf, p);
        return;
    }
    read_versions(r);
}

/* PT_INTERP: the kernel's business, read for programs. */
static void read_interp(struct reader *r)
{
    Elf64_Phdr p;
    for (size_t i = 0; phdr_at(r, i, &p); i++) {
        struct span part;
        if (p.p_type != PT_INTERP || p.p_filesz == 0 || p.p_filesz > 4096 || p.p_offset > r->file.left ||
            !span_part(r->file, (size_t)p.p_offset, (size_t)p.p_filesz, &part))
            continue;
        r->elf->interp = arena_strndup(r->arena, (const char *)part.at, strnlen((const char *)part.at, part.left));
        return;
    }
}

static bool property_levels(struct span note, unsigned *ret_isa);

/* The x86 level asked for in the GNU property note. Like the loader: PT_NOTE from the last to the first, only those
 * aligned to 8, the first with a property note decides. */
static void read_isa(struct reader *r)
{
    Elf64_Phdr p;
    for (size_t i = r->phdrs.left / sizeof(p); i-- > 0 && phdr_at(r, i, &p);) {
        struct span note;
        if (p.p_type != PT_NOTE || p.p_align != 8 || image_at(&r->s->image, p.p_vaddr, &note) != SPOT_FILE)
            continue;
        if (note.left > p.p_memsz)
            note.left = (size_t)p.p_memsz;
        if (property_levels(note, &r->elf->isa_needed))
            return;
    }
}

#define X86_ISA_1_NEEDED 0xc0008002u

static bool property_levels(struct span note, unsigned *ret_isa)
{
    Elf64_Nhdr n;
    for (size_t at = 0; span_copy(note, at, &n, sizeof(n));) {
        size_t desc = at + sizeof(n) + (((size_t)n.n_namesz + 3) & ~(size_t)3);
        char name[4];
        if (n.n_type == NT_GNU_PROPERTY_TYPE_0 && n.n_namesz == 4 && span_copy(note, at + sizeof(n), name, 4) &&
            memcmp(name, "GNU", 4) == 0) {
            struct span part;
            if (n.n_descsz < 8 || n.n_descsz % 8 || !span_part(note, desc, n.n_descsz, &part))
                return true;
            uint32_t head[2], last = 0;
            while (span_copy(part, 0, head, sizeof(head)) && head[0] >= last) {
                size_t n_data = ((size_t)head[1] + 7) & ~(size_t)7;
                if (head[1] > part.left - sizeof(head))
                    return true;
                if (head[0] == X86_ISA_1_NEEDED && head[1] == 4)
                    (void)span_copy(part, sizeof(head), ret_isa, 4);
                last = head[0];
                if (n_data > part.left - sizeof(head))
                    return true;
                part = (struct span){ part.at + sizeof(head) + n_data, part.left - sizeof(head) - n_data };
            }
            return true;
        }
        size_t next = (desc + n.n_descsz + 7) & ~(size_t)7;
        if (next <= at)
            return false;
        at = next;
    }
    return false;
}

static void read_loadable(struct reader *r)
{
    struct elf *elf = r->elf;
    enum elf_problem p = scan_segments(r);
    if (p == ELF_FINE)
        p = check_segments(r);
    if (p != ELF_FINE)
        set_problem(elf, p);
    if (p != ELF_FINE && p != ELF_EXECUTABLE)
        return;
    read_interp(r);
    if (!r->has_dynamic || r->empty_dynamic)
        return;
    p = check_zeroing(&r->s->image);
    if (p != ELF_FINE) {
        set_problem(elf, p);
        return;
    }
    read_dynamic(r);
    if (elf->problem == ELF_FINE || elf->problem == ELF_EXECUTABLE || elf->problem == ELF_PIE || elf->problem == ELF_NOOPEN)
        read_isa(r);
}

static void read_file(struct reader *r)
{
    struct elf *elf = r->elf;
    r->file = image_file(&r->s->image);
    if (r->file.left >= EI_NIDENT)
        memcpy(&r->head, r->file.at, r->file.left < sizeof(r->head) ? r->file.left : sizeof(r->head));
    if (r->file.left < sizeof(r->head)) {
        set_problem(elf, ELF_TOO_SHORT);
        return;
    }
    enum elf_problem p = check_ident(r->head.e_ident);
    if (p != ELF_BAD_MAGIC)
        foreign_identity(elf, &r->head);
    if (p != ELF_FINE) {
        set_problem(elf, p);
        return;
    }
    p = check_header(r);
    if (p == ELF_FINE)
        read_loadable(r);
    else
        set_problem(elf, p);
}

int elf_read(int fd, struct arena *a, struct elf **ret, struct err *e)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return err_set(e, ERR_READ, "cannot stat the file: %s", strerror(errno));
    if (!S_ISREG(st.st_mode))
        return err_set(e, ERR_READ, "not a regular file");

    struct elf *elf = arena_new(a, struct elf);
    elf->size_bytes = (uint64_t)st.st_size;
    elf->dev = (uint64_t)st.st_dev;
    elf->ino = (uint64_t)st.st_ino;
    elf->symbols = arena_new(a, struct elf_symbols);
    int rc = image_map(&elf->symbols->image, fd, elf->size_bytes, e);
    if (rc < 0)
        return rc;

    struct reader r = { .elf = elf, .s = elf->symbols, .arena = a };
    read_file(&r);
    vec_done(&r.needed);
    vec_done(&r.filters);
    vec_done(&r.filter_info);
    if (elf->symbols->image.shrunk) {
        elf_done(elf);
        return err_set(e, ERR_READ, "the file became shorter while it was read");
    }
    *ret = elf;
    return 0;
}

void elf_done(struct elf *elf)
{
    if (!elf || !elf->symbols)
        return;
    image_unmap(&elf->symbols->image);
    free(elf->symbols->versions);
    free(elf->symbols->undefs);
    free(elf->symbols->undef_of);
    elf->symbols = NULL;
}
