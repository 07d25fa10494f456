/* fatbin_read on small ELF files that this test writes. */
#include <elf.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "elf/fatbin.h"

#define BASE 0x200u /* where the code lies in the file */

struct builder {
    unsigned char at[16384];
    size_t n;
};

static void put(struct builder *b, const void *from, size_t n)
{
    assert_true(n <= sizeof(b->at) - b->n);
    memcpy(b->at + b->n, from, n);
    b->n += n;
}

static void put_zeros(struct builder *b, size_t n)
{
    static const unsigned char zeros[512];
    put(b, zeros, n);
}

struct piece {
    uint16_t kind;
    uint32_t arch;
    uint64_t flags;
    uint32_t payload;
};

/* A container of those entries; its size says `extra` bytes more than there are. */
static void put_container(struct builder *b, const struct piece *p, size_t n, uint64_t extra)
{
    uint32_t magic = 0xBA55ED50;
    uint16_t version = 1, head = 16;
    uint64_t size = extra;
    for (size_t i = 0; i < n; i++)
        size += 64 + p[i].payload;
    put(b, &magic, 4);
    put(b, &version, 2);
    put(b, &head, 2);
    put(b, &size, 8);
    for (size_t i = 0; i < n; i++) {
        unsigned char entry[64] = { 0 };
        uint32_t entry_head = 64;
        uint64_t payload = p[i].payload;
        memcpy(entry, &p[i].kind, 2);
        memcpy(entry + 4, &entry_head, 4);
        memcpy(entry + 8, &payload, 8);
        memcpy(entry + 28, &p[i].arch, 4);
        memcpy(entry + 40, &p[i].flags, 8);
        put(b, entry, sizeof(entry));
        for (uint32_t k = 0; k < p[i].payload; k++)
            put(b, "\x5a", 1);
    }
    while (b->n % 8)
        put(b, "", 1);
}

/* An ELF file with the code at BASE, in one read-only segment, and sections of those names over it (equal parts). */
static int write_elf(const struct builder *code, const char *const *sections, size_t n_sections)
{
    unsigned char *file = calloc(1, BASE + code->n + 4096);
    Elf64_Ehdr h = {
        .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
        .e_type = ET_DYN,
        .e_machine = EM_X86_64,
        .e_version = EV_CURRENT,
        .e_phoff = sizeof(Elf64_Ehdr),
        .e_phentsize = sizeof(Elf64_Phdr),
        .e_phnum = 1,
        .e_ehsize = sizeof(Elf64_Ehdr),
    };
    Elf64_Phdr load = {
        .p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = BASE + code->n, .p_memsz = BASE + code->n
    };
    memcpy(file + BASE, code->at, code->n);
    size_t n = BASE + code->n;
    if (n_sections) {
        Elf64_Shdr table[8] = { 0 };
        size_t names = n, part = code->n / n_sections;
        n++;
        for (size_t i = 0; i < n_sections; i++) {
            table[1 + i] = (Elf64_Shdr){
                .sh_name = (Elf64_Word)(n - names),
                .sh_type = SHT_PROGBITS,
                .sh_offset = BASE + i * part,
                .sh_size = part,
            };
            strncpy((char *)file + n, sections[i], 40);
            n += strlen(sections[i]) + 1;
        }
        table[1 + n_sections] =
            (Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_offset = names, .sh_size = n - names };
        h.e_shoff = n;
        h.e_shentsize = sizeof(Elf64_Shdr);
        h.e_shnum = (Elf64_Half)(n_sections + 2);
        h.e_shstrndx = (Elf64_Half)(n_sections + 1);
        memcpy(file + n, table, sizeof(Elf64_Shdr) * h.e_shnum);
        n += sizeof(Elf64_Shdr) * h.e_shnum;
    }
    memcpy(file, &h, sizeof(h));
    memcpy(file + sizeof(h), &load, sizeof(load));
    int fd = memfd_create("fatbin", MFD_CLOEXEC);
    assert_int_equal(write(fd, file, n), (ssize_t)n);
    free(file);
    return fd;
}

static const char *const nv_fatbin[] = { ".nv_fatbin" };
static const struct piece both_kinds[] = {
    { 2, 80, 0, 24 },     { 2, 90, 0x100000, 100 }, { 1, 90, 0x2000, 7 },
    { 2, 80, 0x2000, 8 }, { 9, 70, 0, 8 },
};

static struct gpu_code read_code(int fd, struct arena *a)
{
    struct gpu_code c;
    struct err e = { 0 };
    if (fatbin_read(fd, a, &c, &e) < 0)
        fail_msg("%s", e.text);
    return c;
}

static void assert_arch(const struct gpu_code *c, size_t i, bool ptx, uint32_t number,
                        bool specific, uint32_t containers)
{
    assert_true(i < c->n_arch);
    assert_int_equal(c->arch[i].ptx, ptx);
    assert_int_equal(c->arch[i].number, number);
    assert_int_equal(c->arch[i].specific, specific);
    assert_int_equal(c->arch[i].containers, containers);
}

static void test_counts(void **state)
{
    (void)state;
    struct arena a = { 0 };
    struct builder b = { 0 };
    put_container(&b, both_kinds, ARRAY_LEN(both_kinds), 0);
    put_container(&b, both_kinds, 1, 0);
    put_zeros(&b, 64); /* between containers */
    put_container(&b, both_kinds + 1, 2, 0);
    put_zeros(&b, 40);
    cleanup_(closep) int fd = write_elf(&b, nv_fatbin, 1);
    struct gpu_code c = read_code(fd, &a);
    assert_int_equal(c.containers, 3);
    assert_false(c.truncated);
    assert_int_equal(c.n_arch, 3);           /* of the unknown kind nothing is said */
    assert_arch(&c, 0, false, 80, false, 2); /* twice in one container counts once */
    assert_arch(&c, 1, false, 90, true, 2);
    assert_arch(&c, 2, true, 90, false, 2);
    arena_done(&a);
}

static void test_two_sections(void **state)
{
    (void)state;
    struct arena a = { 0 };
    struct builder b = { 0 };
    put_container(&b, both_kinds, 2, 0);
    put_container(&b, both_kinds, 2, 0);
    static const char *const names[] = { ".nv_fatbin", "__nv_relfatbin" };
    static const char *const others[] = { ".nv_fatbin", ".rodata" };
    cleanup_(closep) int fd = write_elf(&b, names, 2);
    struct gpu_code c = read_code(fd, &a);
    assert_int_equal(c.containers, 2);
    cleanup_(closep) int other = write_elf(&b, others, 2);
    c = read_code(other, &a);
    assert_int_equal(c.containers, 1);
    arena_done(&a);
}

static void test_no_sections(void **state)
{
    (void)state;
    struct arena a = { 0 };
    struct builder b = { 0 };
    put(&b, "something else before it", 24);
    put_container(&b, both_kinds, 3, 0);
    put_container(&b, both_kinds, 1, 0);
    put(&b, "something else behind it", 24);
    cleanup_(closep) int fd = write_elf(&b, NULL, 0);
    struct gpu_code c = read_code(fd, &a);
    assert_int_equal(c.containers, 2);
    assert_false(c.truncated);
    assert_arch(&c, 0, false, 80, false, 2);
    arena_done(&a);
}

static void test_none(void **state)
{
    (void)state;
    struct arena a = { 0 };
    struct builder b = { 0 };
    put_zeros(&b, 256);
    static const char *const names[] = { ".rodata" };
    cleanup_(closep) int fd = write_elf(&b, names, 1);
    struct gpu_code c = read_code(fd, &a);
    assert_int_equal(c.containers, 0);
    assert_int_equal(c.n_arch, 0);
    assert_false(c.truncated);
    cleanup_(closep) int empty = memfd_create("empty", MFD_CLOEXEC);
    c = read_code(empty, &a);
    assert_int_equal(c.containers, 0);
    struct err e = { 0 };
    cleanup_(closep) int dir = open("/", O_RDONLY | O_CLOEXEC);
    assert_int_equal(fatbin_read(dir, &a, &c, &e), -ERR_READ);
    arena_done(&a);
}

static void test_lies(void **state)
{
    (void)state;
    struct arena a = { 0 };
    /* a container that says it is longer than the section */
    struct builder b = { 0 };
    put_container(&b, both_kinds, 2, 0);
    put_container(&b, both_kinds, 1, UINT64_C(1) << 40);
    cleanup_(closep) int fd = write_elf(&b, nv_fatbin, 1);
    struct gpu_code c = read_code(fd, &a);
    assert_true(c.truncated);
    assert_int_equal(c.containers, 2);
    assert_arch(&c, 0, false, 80, false, 2); /* what was read is kept */

    /* an entry that says it is longer than its container */
    struct builder d = { 0 };
    struct piece p = both_kinds[0];
    put_container(&d, &p, 1, 0);
    uint64_t huge = UINT64_MAX - 8;
    memcpy(d.at + 16 + 8, &huge, 8);
    put_container(&d, both_kinds, 1, 0);
    cleanup_(closep) int second = write_elf(&d, nv_fatbin, 1);
    c = read_code(second, &a);
    assert_true(c.truncated);
    assert_int_equal(c.containers, 2);
    assert_arch(&c, 0, false, 80, false, 1);

    /* garbage between containers */
    struct builder g = { 0 };
    put_container(&g, both_kinds, 1, 0);
    put(&g, "garbage!garbage!", 16);
    put_container(&g, both_kinds, 1, 0);
    cleanup_(closep) int third = write_elf(&g, nv_fatbin, 1);
    c = read_code(third, &a);
    assert_true(c.truncated);
    assert_int_equal(c.containers, 2);

    /* a cut file */
    assert_int_equal(ftruncate(third, BASE + 20), 0);
    c = read_code(third, &a);
    assert_int_equal(c.n_arch, 0);
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),      cmocka_unit_test(test_two_sections),
        cmocka_unit_test(test_no_sections), cmocka_unit_test(test_none),
        cmocka_unit_test(test_lies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
