#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "elf/reader.h"
#include "elf/record.h"

/* The loader reads this much of a file at once and looks for the program headers in it first. */
#define FIRST_READ 832u
/* Bounds that no real file comes near; the loader has none. */
#define MAX_PROGRAM_HEADERS 4096u
#define MAX_SEGMENTS 128u

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#else
#define OWN_MACHINE EM_NONE
#endif

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

/* Debian's loader passes a file for another machine over
 * (whatever else its identification says), others only a sound one. */
static enum elf_problem check_identity(const Elf64_Ehdr *h)
{
    enum elf_problem p = check_ident(h->e_ident);
    bool other =
        p != ELF_FINE && p != ELF_BAD_MAGIC && p != ELF_WRONG_CLASS && h->e_machine != OWN_MACHINE;
    return other ? ELF_WRONG_MACHINE : p;
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
        return h->e_phoff + n < h->e_phoff && h->e_phoff + n <= FIRST_READ ? ELF_DAMAGED
                                                                           : ELF_BAD_PHOFF;
    if (n > 0 && (h->e_phoff > r->file.left ||
                  !span_part(r->file, (size_t)h->e_phoff, (size_t)n, &r->phdrs)))
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

/* Until 2.34 the loader held segments to their own alignment. */
static enum elf_problem older_alignment(const Elf64_Phdr *p)
{
    if (p->p_align & (IMAGE_PAGE - 1))
        return ELF_BAD_ALIGN;
    return (p->p_vaddr - p->p_offset) & (p->p_align - 1) ? ELF_BAD_OFFSET : ELF_FINE;
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
            if (elf->older_problem == ELF_FINE)
                elf->older_problem = older_alignment(&p);
            if ((p.p_vaddr - p.p_offset) & (IMAGE_PAGE - 1))
                return ELF_BAD_PAGE_ALIGN;
            if (r->s->image.n_segments == MAX_SEGMENTS)
                return ELF_DAMAGED;
            add_segment(r, &p);
            if ((p.p_align & (p.p_align - 1)) == 0 && p.p_align > r->align)
                r->align = p.p_align;
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

/* Addresses of a process end here; a mapping that is longer fails. */
#define ADDRESS_END (UINT64_C(1) << 47)
/* Anonymous memory beyond what a machine has is refused; how much that is differs, this is beyond all. */
#define MEMORY_END (UINT64_C(1) << 40)

/* The loader maps the segments one by one and clears the rest of the last page of each. */
static enum elf_problem check_mapping(const struct reader *r)
{
    const struct image *img = &r->s->image;
    const struct segment *first = &img->segments[0], *last = &img->segments[img->n_segments - 1];
    uint64_t length = last->mem_end - first->start;
    if (length == 0 || length >= ADDRESS_END ||
        (r->align > IMAGE_PAGE && r->align >= ADDRESS_END / 2))
        return ELF_MAP_FAILED;
    bool holes = false;
    for (size_t i = 1; i < img->n_segments; i++)
        holes = holes || img->segments[i - 1].map_end != img->segments[i].start;
    if (holes && last->start < first->map_end)
        return ELF_BAD_PAGE_ALIGN;

    for (size_t i = 0; i < img->n_segments; i++) {
        const struct segment *s = &img->segments[i];
        if (s->offset > INT64_MAX - (s->map_end - s->start) || s->map_end - s->start >= ADDRESS_END)
            return ELF_MAP_FAILED;
        if (s->map_end > page_up(last->mem_end))
            return ELF_DAMAGED; /* mapped over what happens to lie behind */
        if (s->mem_end <= s->data_end)
            continue;
        if (page_up(s->data_end) != s->data_end &&
            s->offset + (page_down(s->data_end) - s->start) >= img->length)
            return ELF_CUT;
        if (s->mem_end > page_up(s->data_end) && s->mem_end - page_up(s->data_end) > MEMORY_END)
            return ELF_ZERO_FILL;
    }
    return ELF_FINE;
}

/* PT_INTERP: the kernel's business, read for programs. */
static void read_interp(struct reader *r)
{
    Elf64_Phdr p;
    for (size_t i = 0; phdr_at(r, i, &p); i++) {
        struct span part;
        if (p.p_type != PT_INTERP || p.p_filesz == 0 || p.p_filesz > 4096 ||
            p.p_offset > r->file.left ||
            !span_part(r->file, (size_t)p.p_offset, (size_t)p.p_filesz, &part))
            continue;
        r->elf->interp = arena_strndup(r->arena, (const char *)part.at,
                                       strnlen((const char *)part.at, part.left));
        return;
    }
}

/* With a PT_PHDR the loader reads the program headers again where that says they are. */
static enum elf_problem check_phdr_address(const struct reader *r)
{
    if (!r->has_phdr)
        return ELF_FINE;
    switch (image_range(&r->s->image, r->phdr_address, r->phdrs.left)) {
    case SPOT_NOWHERE:
        return ELF_DAMAGED;
    case SPOT_CUT:
        return ELF_CUT;
    default:
        return ELF_FINE;
    }
}

static void read_loadable(struct reader *r)
{
    struct elf *elf = r->elf;
    enum elf_problem p = scan_segments(r);
    if (p == ELF_FINE)
        p = check_segments(r);
    if (p == ELF_FINE || p == ELF_EXECUTABLE)
        read_interp(r);
    if (p != ELF_FINE)
        set_problem(elf, p);
    if ((p != ELF_FINE && p != ELF_EXECUTABLE) || !r->has_dynamic || r->empty_dynamic)
        return;
    p = check_mapping(r);
    if (p != ELF_FINE) {
        set_problem(elf, p);
        return;
    }
    read_dynamic(r);
    set_problem(elf, check_phdr_address(r));
    set_problem(elf, read_isa(r));
    if (!elf_opens(elf))
        return;
    r->s->ready = true;
    find_crash(r);
}

static void read_file(struct reader *r)
{
    struct elf *elf = r->elf;
    r->file = image_file(&r->s->image);
    if (r->file.left >= EI_NIDENT)
        memcpy(&r->head, r->file.at,
               r->file.left < sizeof(r->head) ? r->file.left : sizeof(r->head));
    if (r->file.left < sizeof(r->head)) {
        set_problem(elf, ELF_TOO_SHORT);
        return;
    }
    enum elf_problem p = check_identity(&r->head);
    if (p != ELF_BAD_MAGIC)
        foreign_identity(elf, &r->head);
    if (p != ELF_FINE) {
        set_problem(elf, p);
        return;
    }
    p = check_header(r);
    r->s->machine = r->head.e_machine;
    if (p == ELF_FINE)
        read_loadable(r);
    else
        set_problem(elf, p);
}

/* Texts that the kernel makes up (/proc) have no size, but the loader reads them as it reads any file. */
static bool has_hidden_text(int fd)
{
    unsigned char first[sizeof(Elf64_Ehdr)];
    return pread(fd, first, sizeof(first), 0) == (ssize_t)sizeof(first) &&
           memcmp(first, ELFMAG, SELFMAG) != 0;
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
    if (elf->size_bytes == 0 && has_hidden_text(fd))
        set_problem(elf, ELF_BAD_MAGIC);
    read_file(&r);
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
    struct elf_symbols *s = elf->symbols;
    image_unmap(&s->image);
    for (size_t i = 0; i < s->queries.n; i++) {
        free(s->queries.at[i].name);
        free(s->queries.at[i].version);
    }
    vec_done(&s->queries);
    free(s->versions);
    free(s->undefs);
    free(s->undef_of);
    recorded_free(s->recorded);
    elf->symbols = NULL;
}
