#include "elf/fatbin.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/vec.h"

#define CONTAINER_MAGIC 0xBA55ED50u
#define CONTAINER_HEAD 16u
#define ENTRY_HEAD 64u
#define KIND_PTX 1u
#define KIND_CUBIN 2u
#define FLAG_SPECIFIC 0x100000u

/* Bounds far above any real library (the largest seen has 1,500 containers). */
#define MAX_NAMES_BYTES (1u << 20)
#define MAX_HEADERS 1000000u /* containers and entries read, over the whole file */
#define MAX_SEARCHED_BYTES (UINT64_C(512) << 20) /* likewise */
#define MAX_ARCH 128u
#define CHUNK 65536u

/* The arch list of a library is short: about 10 entries. */
struct arch_list {
    VEC(struct gpu_arch);
};

struct fatbin {
    int fd;
    int error; /* errno of a read that failed: then nothing is known */
    uint64_t size_bytes;
    unsigned headers;        /* read so far */
    uint64_t searched_bytes; /* so far */
    struct gpu_code code;
    struct arch_list arch, here; /* of the library; of the container at hand */
    unsigned char *chunk;        /* CHUNK bytes, for searching; allocated at first need */
};

static bool read_at(struct fatbin *f, uint64_t at, void *to, size_t n)
{
    if (at > f->size_bytes || n > f->size_bytes - at)
        return false;
    ssize_t r = RETRY(pread(f->fd, to, n, (off_t)at));
    if (r < 0)
        f->error = errno;
    return r == (ssize_t)n;
}

static uint16_t u16(const unsigned char *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t u32(const unsigned char *p)
{
    return (uint32_t)u16(p) | (uint32_t)u16(p + 2) << 16;
}

static uint64_t u64(const unsigned char *p)
{
    return u32(p) | (uint64_t)u32(p + 4) << 32;
}

static void note_entry(struct arch_list *list, const struct gpu_arch *a, uint32_t add)
{
    for (size_t i = 0; i < list->n; i++) {
        struct gpu_arch *known = &list->at[i];
        if (known->number != a->number || known->ptx != a->ptx || known->specific != a->specific)
            continue;
        known->containers += add;
        return;
    }
    if (list->n == MAX_ARCH)
        return;
    struct gpu_arch new = *a;
    new.containers = add ? add : 1;
    vec_push(list, new);
}

/* One container at offset `at`, of which its head was read; false when an entry points outside of it. */
static bool read_container(struct fatbin *f, uint64_t at, uint64_t end)
{
    f->here.n = 0;
    bool whole = true;
    while (at < end) {
        unsigned char head[ENTRY_HEAD];
        if (end - at < ENTRY_HEAD || ++f->headers > MAX_HEADERS ||
            !read_at(f, at, head, sizeof(head))) {
            whole = false;
            break;
        }
        uint64_t head_size = u32(head + 4), payload = u64(head + 8);
        if (head_size < ENTRY_HEAD || head_size > end - at || payload > end - at - head_size) {
            whole = false;
            break;
        }
        unsigned kind = u16(head);
        struct gpu_arch a = {
            .number = u32(head + 28),
            .ptx = kind == KIND_PTX,
            .specific = (u64(head + 40) & FLAG_SPECIFIC) != 0,
        };
        if (kind == KIND_PTX || kind == KIND_CUBIN)
            note_entry(&f->here, &a, 0);
        at += head_size + payload;
    }
    for (size_t i = 0; i < f->here.n; i++)
        note_entry(&f->arch, &f->here.at[i], 1);
    f->code.containers++;
    return whole;
}

static bool all_zero(const unsigned char *p, size_t n)
{
    return n == 0 || (p[0] == 0 && memcmp(p, p + 1, n - 1) == 0);
}

/* The next 8-aligned magic in [at, end). ret_gap: what was passed over is not all zeros. */
static bool find_magic(struct fatbin *f, uint64_t at, uint64_t end, uint64_t *ret_at, bool *ret_gap)
{
    *ret_gap = false;
    if (!f->chunk)
        f->chunk = xmalloc(CHUNK);
    while (at < end && end - at >= CONTAINER_HEAD && f->searched_bytes < MAX_SEARCHED_BYTES) {
        size_t n = end - at < CHUNK ? (size_t)(end - at) : CHUNK;
        f->searched_bytes += n;
        if (!read_at(f, at, f->chunk, n))
            break;
        for (size_t i = 0; i + 4 <= n; i += 8) {
            if (u32(f->chunk + i) == CONTAINER_MAGIC) {
                *ret_at = at + i;
                return true;
            }
            if (!*ret_gap && !all_zero(f->chunk + i, n - i < 8 ? n - i : 8))
                *ret_gap = true;
        }
        at += n & ~(size_t)7;
        if (n < CHUNK)
            break;
    }
    return false;
}

/* From container to container; they begin at multiples of 8 and may have zeros between them. */
static void read_region(struct fatbin *f, uint64_t at, uint64_t end)
{
    if (end > f->size_bytes) {
        f->code.truncated = true;
        end = f->size_bytes;
    }
    while (at < end && end - at >= CONTAINER_HEAD) {
        unsigned char head[CONTAINER_HEAD];
        if (++f->headers > MAX_HEADERS || !read_at(f, at, head, sizeof(head))) {
            f->code.truncated = true;
            return;
        }
        if (u32(head) != CONTAINER_MAGIC) {
            uint64_t next;
            bool gap;
            bool found = find_magic(f, at, end, &next, &gap);
            f->code.truncated = f->code.truncated || gap;
            if (!found)
                return;
            at = next;
            continue;
        }
        uint64_t head_size = u16(head + 6), payload = u64(head + 8);
        if (head_size < CONTAINER_HEAD || head_size > end - at) {
            f->code.truncated = true;
            at += 8;
            continue;
        }
        uint64_t left = end - at - head_size;
        bool whole =
            read_container(f, at + head_size, at + head_size + (payload < left ? payload : left));
        if (!whole || payload > left)
            f->code.truncated = true;
        if (payload > left)
            return;
        at += head_size + payload;
        at = (at + 7) & ~UINT64_C(7);
    }
}

static bool is_fatbin_section(const char *name, size_t n)
{
    static const char *const names[] = { ".nv_fatbin", "__nv_relfatbin" };
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strlen(names[i]) == n && memcmp(names[i], name, n) == 0)
            return true;
    return false;
}

/* Says false when the section headers are missing or make no sense. */
static bool read_sections(struct fatbin *f, const Elf64_Ehdr *h)
{
    if (h->e_shoff == 0 || h->e_shentsize != sizeof(Elf64_Shdr) || h->e_shnum == 0 ||
        h->e_shstrndx >= h->e_shnum)
        return false;
    size_t n = (size_t)h->e_shnum * sizeof(Elf64_Shdr);
    if (h->e_shoff > f->size_bytes || n > f->size_bytes - h->e_shoff)
        return false;
    cleanup_(freep) char *table = xmalloc(n);
    if (!read_at(f, h->e_shoff, table, n))
        return false;

    Elf64_Shdr names_section;
    memcpy(&names_section, table + h->e_shstrndx * sizeof(Elf64_Shdr), sizeof(names_section));
    uint64_t n_names = names_section.sh_size;
    if (n_names == 0 || n_names > MAX_NAMES_BYTES || names_section.sh_type != SHT_STRTAB)
        return false;
    cleanup_(freep) char *names = xmalloc((size_t)n_names);
    if (!read_at(f, names_section.sh_offset, names, (size_t)n_names))
        return false;

    for (size_t i = 0; i < h->e_shnum; i++) {
        Elf64_Shdr s;
        memcpy(&s, table + i * sizeof(s), sizeof(s));
        if (s.sh_type != SHT_PROGBITS || s.sh_name >= n_names)
            continue;
        size_t len = strnlen(names + s.sh_name, (size_t)n_names - s.sh_name);
        if (!is_fatbin_section(names + s.sh_name, len))
            continue;
        if (s.sh_size > UINT64_MAX - s.sh_offset || s.sh_offset > f->size_bytes)
            f->code.truncated = true;
        else
            read_region(f, s.sh_offset, s.sh_offset + s.sh_size);
    }
    return true;
}

/* Without section headers: the first container in each read-only segment, and those right behind it. */
static void read_segments(struct fatbin *f, const Elf64_Ehdr *h)
{
    if (h->e_phentsize != sizeof(Elf64_Phdr))
        return;
    for (size_t i = 0; i < h->e_phnum; i++) {
        Elf64_Phdr p;
        if (!read_at(f, h->e_phoff + i * sizeof(p), &p, sizeof(p)))
            return;
        if (p.p_type != PT_LOAD || (p.p_flags & PF_W) || p.p_offset > f->size_bytes)
            continue;
        uint64_t left = f->size_bytes - p.p_offset;
        uint64_t end = p.p_offset + (p.p_filesz < left ? p.p_filesz : left);
        uint64_t at = (p.p_offset + 7) & ~UINT64_C(7);
        bool gap;
        if (at >= end || !find_magic(f, at, end, &at, &gap))
            continue;
        bool truncated = f->code.truncated;
        read_region(f, at, end);
        /* what follows the last container is other data here, which says nothing */
        f->code.truncated = truncated;
    }
}

static int by_kind(const void *a, const void *b)
{
    const struct gpu_arch *x = a, *y = b;
    if (x->ptx != y->ptx)
        return x->ptx ? 1 : -1;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return (int)x->specific - (int)y->specific;
}

int fatbin_read(int fd, struct arena *a, struct gpu_code *ret, struct err *e)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return err_set(e, ERR_READ, "cannot stat the file: %s", strerror(errno));
    if (!S_ISREG(st.st_mode))
        return err_set(e, ERR_READ, "not a regular file");

    struct fatbin f = { .fd = fd, .size_bytes = (uint64_t)st.st_size };
    /* A header here, a header 100 KiB on: reading ahead would read the whole file. */
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
    Elf64_Ehdr h;
    if (read_at(&f, 0, &h, sizeof(h)) && memcmp(h.e_ident, ELFMAG, SELFMAG) == 0 &&
        h.e_ident[EI_CLASS] == ELFCLASS64 && h.e_ident[EI_DATA] == ELFDATA2LSB &&
        !read_sections(&f, &h))
        read_segments(&f, &h);
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_NORMAL);
    if (!f.error) {
        *ret = f.code;
        ret->n_arch = f.arch.n;
    }
    if (!f.error && f.arch.n) {
        qsort(f.arch.at, f.arch.n, sizeof(*f.arch.at), by_kind);
        struct gpu_arch *arch = arena_alloc(a, f.arch.n * sizeof(*arch));
        memcpy(arch, f.arch.at, f.arch.n * sizeof(*arch));
        ret->arch = arch;
    }
    vec_done(&f.arch);
    vec_done(&f.here);
    free(f.chunk);
    return f.error ? err_set(e, ERR_READ, "cannot read the file: %s", strerror(f.error)) : 0;
}
