/* The loader predicted, on small roots: what dlopen would say, in which order, and why. tests/oracle holds the same
 * predictions against the real loader; here are the parts that it cannot see (rules, needs, glibc versions). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/xalloc.h"
#include "load/load.h"
#include "tree.h"

/* ---- a shared object of one page ---- */

struct object {
    const char *path;
    const char *soname, *rpath, *runpath;
    const char *needed[4];
    uint64_t flags_1;
    const char *verdef[3];      /* versions that it defines */
    const char *verneed[2];     /* file, version */
    bool exec_stack;
};

enum { FILE_SIZE = 4096, TEXT_AT = 1024, STRINGS_MAX = 1024 };

struct image {
    unsigned char at[FILE_SIZE];
    size_t strings, dynamic, end; /* offsets; addresses are the same */
    size_t n_strings, n_dynamic;
};

static uint64_t add_string(struct image *img, const char *s)
{
    uint64_t at = img->n_strings;
    memcpy(img->at + img->strings + at, s, strlen(s) + 1);
    img->n_strings += strlen(s) + 1;
    assert_true(img->n_strings < STRINGS_MAX);
    return at;
}

static void add_dyn(struct image *img, int64_t tag, uint64_t value)
{
    Elf64_Dyn d = { .d_tag = tag, .d_un.d_val = value };
    memcpy(img->at + img->dynamic + 16 * img->n_dynamic++, &d, sizeof(d));
}

static uint32_t sysv_hash(const char *s)
{
    uint32_t h = 0;
    for (; *s; s++) {
        h = (h << 4) + (unsigned char)*s;
        h ^= (h >> 24) & 0xf0;
        h &= 0x0fffffff;
    }
    return h;
}

static void put(struct image *img, const void *from, size_t n)
{
    memcpy(img->at + img->end, from, n);
    img->end += n;
}

static void add_versions(struct image *img, const struct object *o)
{
    size_t n = 0;
    while (n < 3 && o->verdef[n])
        n++;
    if (n) {
        add_dyn(img, DT_VERDEF, img->end);
        add_dyn(img, DT_VERDEFNUM, n);
    }
    for (size_t i = 0; i < n; i++) {
        Elf64_Verdef d = { .vd_version = 1, .vd_ndx = (Elf64_Half)(i + 2), .vd_cnt = 1, .vd_hash = sysv_hash(o->verdef[i]),
                           .vd_aux = sizeof(d), .vd_next = i + 1 < n ? sizeof(d) + sizeof(Elf64_Verdaux) : 0 };
        Elf64_Verdaux a = { .vda_name = (Elf64_Word)add_string(img, o->verdef[i]) };
        put(img, &d, sizeof(d));
        put(img, &a, sizeof(a));
    }
    if (!o->verneed[0])
        return;
    add_dyn(img, DT_VERNEED, img->end);
    add_dyn(img, DT_VERNEEDNUM, 1);
    Elf64_Verneed v = { .vn_version = 1, .vn_cnt = 1, .vn_file = (Elf64_Word)add_string(img, o->verneed[0]),
                        .vn_aux = sizeof(v) };
    Elf64_Vernaux a = { .vna_hash = sysv_hash(o->verneed[1]), .vna_other = 9,
                        .vna_name = (Elf64_Word)add_string(img, o->verneed[1]) };
    put(img, &v, sizeof(v));
    put(img, &a, sizeof(a));
}

static void write_object(const char *root, const struct object *o)
{
    struct image img = { .strings = 512, .dynamic = 512 + STRINGS_MAX, .n_strings = 1 };
    img.end = img.dynamic + 1024;
    for (size_t i = 0; i < 4 && o->needed[i]; i++)
        add_dyn(&img, DT_NEEDED, add_string(&img, o->needed[i]));
    if (o->soname)
        add_dyn(&img, DT_SONAME, add_string(&img, o->soname));
    if (o->rpath)
        add_dyn(&img, DT_RPATH, add_string(&img, o->rpath));
    if (o->runpath)
        add_dyn(&img, DT_RUNPATH, add_string(&img, o->runpath));
    if (o->flags_1)
        add_dyn(&img, DT_FLAGS_1, o->flags_1);
    add_versions(&img, o);
    add_dyn(&img, DT_STRTAB, img.strings);
    add_dyn(&img, DT_STRSZ, img.n_strings);
    add_dyn(&img, DT_SYMTAB, img.end);
    add_dyn(&img, DT_VERSYM, img.end + 24);
    Elf64_Phdr phdrs[] = {
        { .p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_filesz = FILE_SIZE, .p_memsz = FILE_SIZE, .p_align = 4096 },
        { .p_type = PT_DYNAMIC, .p_flags = PF_R | PF_W, .p_offset = img.dynamic, .p_vaddr = img.dynamic,
          .p_filesz = 16 * (img.n_dynamic + 1), .p_memsz = 16 * (img.n_dynamic + 1), .p_align = 8 },
        { .p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W | (o->exec_stack ? PF_X : 0), .p_align = 16 },
    };
    Elf64_Ehdr head = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
                        .e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = EV_CURRENT, .e_phoff = sizeof(head),
                        .e_ehsize = sizeof(head), .e_phentsize = sizeof(*phdrs), .e_phnum = ARRAY_LEN(phdrs) };
    memcpy(img.at, &head, sizeof(head));
    memcpy(img.at + sizeof(head), phdrs, sizeof(phdrs));
    tree_bytes(root, o->path, img.at, sizeof(img.at));
}

/* ---- a root with a C library of some version ---- */

struct fixture {
    char *root;
    struct place *place;
    struct load_process *proc;
};

static void make_root(struct fixture *f, const char *libc_version)
{
    f->root = tree_new();
    struct object ld = { .path = "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", .soname = "ld-linux-x86-64.so.2" };
    struct object libc = { .path = "lib/x86_64-linux-gnu/libc.so.6", .soname = "libc.so.6",
                           .needed = { "ld-linux-x86-64.so.2" }, .verdef = { "GLIBC_2.2.5", libc_version } };
    write_object(f->root, &ld);
    write_object(f->root, &libc);
    tree_link(f->root, "lib64/ld-linux-x86-64.so.2", "../lib/x86_64-linux-gnu/ld-linux-x86-64.so.2");
}

static void start(struct fixture *f, const struct load_config *config)
{
    struct err e = { 0 };
    if (place_open_root(f->root, &f->place, &e) < 0 || load_process_new(f->place, config, &f->proc, &e) < 0)
        fail_msg("%s", e.text);
    assert_null(load_process_error(f->proc));
}

static void stop(struct fixture *f)
{
    load_process_free(f->proc);
    place_free(f->place);
    tree_remove(f->root);
}

static struct load_result dlopen_(struct fixture *f, const char *name, const char *caller, unsigned flags)
{
    struct load_result r;
    struct err e = { 0 };
    if (load_dlopen(f->proc, name, caller, flags, &r, &e) < 0)
        fail_msg("%s", e.text);
    return r;
}

/* The map as one text: names separated by blanks. */
static void check_map(const struct load_result *r, const char *expected)
{
    struct str all = { 0 };
    for (size_t i = 0; i < r->n_map; i++)
        str_addf(&all, "%s%s", i ? " " : "", r->map[i]);
    if (r->error)
        fail_msg("%s", r->error);
    assert_string_equal(str_get(&all), expected);
    str_done(&all);
}

/* ---- one dlopen each ---- */

static const struct single {
    struct object objects[5];
    const char *library_path, *name, *error, *map;
} singles[] = {
    { .objects = { { "a/libA.so", .needed = { "libB.so.1" }, .rpath = "$ORIGIN/../b" },
                   { "b/libB.so.1", .needed = { "libC.so.1" } },
                   { "b/libC.so.1" } },
      .name = "/a/libA.so", .map = "/a/libA.so /a/../b/libB.so.1 /a/../b/libC.so.1" },
    { .objects = { { "a/libA.so", .needed = { "libB.so.1" }, .rpath = "/b" },
                   { "b/libB.so.1", .needed = { "libC.so.1" }, .runpath = "/nowhere" },
                   { "b/libC.so.1" } },
      .name = "/a/libA.so", .error = "libC.so.1: cannot open shared object file: No such file or directory" },
    { .objects = { { "a/libA.so", .needed = { "libB.so.1" }, .runpath = "/b" }, { "b/libB.so.1" }, { "c/libB.so.1" } },
      .library_path = "/c", .name = "/a/libA.so", .map = "/a/libA.so /c/libB.so.1" },
    { .objects = { { "a/libA.so", .needed = { "libB.so.1" } }, { "usr/lib/libB.so.1" } },
      .name = "/a/libA.so", .map = "/a/libA.so /usr/lib/libB.so.1" },
    { .objects = { { "a/libA.so", .needed = { "libB.so.1" }, .flags_1 = 0x800 }, { "usr/lib/libB.so.1" } },
      .name = "/a/libA.so", .error = "libB.so.1: cannot open shared object file" }, /* nothing was asked: no errno */
    { .objects = { { "a/libA.so", .flags_1 = 0x40 } },
      .name = "/a/libA.so", .error = "/a/libA.so: shared object cannot be dlopen()ed" },
    { .objects = { { "a/libA.so", .needed = { "libB.so.1" } }, { "b/x86-64/libB.so.1" }, { "c/tls/libB.so.1" } },
      .library_path = "/b:/c", .name = "/a/libA.so", .map = "/a/libA.so /c/tls/libB.so.1" },
    { .objects = { { "a/libA.so", .needed = { "libB.so.1" } }, { "b/libB.so.1" } },
      .library_path = "$PLATFORMx;/${LIB}:/b/", .name = "/a/libA.so", .map = "/a/libA.so /b/libB.so.1" },
    { .objects = { { "a/libA.so", .needed = { "libB.so.1", "libB.so" } },
                   { "lib/libB.so.1", .soname = "libB.so" } },
      .name = "/a/libA.so", .map = "/a/libA.so /lib/libB.so.1" },
    { .objects = { { "a/libA.so", .needed = { "libc.so.6" }, .verneed = { "libc.so.6", "GLIBC_2.99" } } },
      .name = "/a/libA.so",
      .error = "/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.99' not found (required by /a/libA.so)" },
    { .objects = { { "a/libA.so", .verneed = { "libother.so.1", "V1" } } },
      .name = "/a/libA.so",
      .error = "the loader would abort: Inconsistency detected by ld.so: dl-version.c: 204: _dl_check_map_versions: "
               "Assertion `needed != NULL' failed!" },
    { .name = "/nothing", .error = "/nothing: cannot open shared object file: No such file or directory" },
    { .name = "/lib", .error = "/lib: cannot read file data: Is a directory" },
};

static void test_singles(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(singles); i++) {
        const struct single *s = &singles[i];
        struct fixture f;
        make_root(&f, "GLIBC_2.36");
        for (size_t k = 0; k < ARRAY_LEN(s->objects) && s->objects[k].path; k++)
            write_object(f.root, &s->objects[k]);
        struct load_config config = { .library_path = s->library_path };
        start(&f, &config);
        struct load_result r = dlopen_(&f, s->name, NULL, 0);
        assert_true(r.known);
        assert_int_equal(r.loads, s->error == NULL);
        if (s->error) {
            assert_string_equal(r.error, s->error);
            assert_int_equal(r.n_map, 0);
        } else {
            check_map(&r, s->map);
        }
        stop(&f);
    }
}

/* ---- a life of several calls ---- */

static void test_failed_leaves_nothing(void **state)
{
    (void)state;
    struct fixture f;
    make_root(&f, "GLIBC_2.36");
    const struct object objects[] = {
        { "a/libA.so", .needed = { "libB.so.1", "libgone.so" }, .runpath = "/a" },
        { "a/libB.so.1", .soname = "libB.so.1" },
        { "a/libD.so", .needed = { "libB.so.1" } },
    };
    for (size_t i = 0; i < ARRAY_LEN(objects); i++)
        write_object(f.root, &objects[i]);
    struct load_config config = { 0 };
    start(&f, &config);
    assert_string_equal(dlopen_(&f, "/a/libA.so", NULL, 0).error,
                        "libgone.so: cannot open shared object file: No such file or directory");
    assert_null(load_process_has(f.proc, "libB.so.1"));
    assert_false(dlopen_(&f, "/a/libD.so", NULL, 0).loads);
    struct load_result r = dlopen_(&f, "/a/libB.so.1", NULL, 0);
    check_map(&r, "/a/libB.so.1");
    r = dlopen_(&f, "/a/libD.so", NULL, 0);
    check_map(&r, "/a/libD.so");
    assert_string_equal(load_process_has(f.proc, "libB.so.1"), "/a/libB.so.1");
    const char *const *map;
    assert_int_equal(load_process_map(f.proc, &map), 2);
    assert_string_equal(map[1], "/a/libD.so");
    stop(&f);
}

static void test_caller(void **state)
{
    (void)state;
    struct fixture f;
    make_root(&f, "GLIBC_2.36");
    const struct object objects[] = {
        { "a/libcaller.so", .runpath = "$ORIGIN/sub" },
        { "a/sub/libpart.so", .needed = { "libmore.so" } },
        { "a/sub/libmore.so" },
        { "a/sub/libalone.so" },
    };
    for (size_t i = 0; i < ARRAY_LEN(objects); i++)
        write_object(f.root, &objects[i]);
    struct load_config config = { 0 };
    start(&f, &config);
    const char *caller = dlopen_(&f, "/a/libcaller.so", NULL, 0).path;
    assert_false(dlopen_(&f, "libalone.so", NULL, 0).loads);
    struct load_result r = dlopen_(&f, "libalone.so", caller, 0);
    check_map(&r, "/a/sub/libalone.so");
    /* the caller's path does not serve what the file itself needs */
    assert_string_equal(dlopen_(&f, "libpart.so", caller, 0).error,
                        "libmore.so: cannot open shared object file: No such file or directory");
    struct err e = { 0 };
    assert_int_equal(load_dlopen(f.proc, "libalone.so", "/not/loaded.so", 0, &r, &e), -ERR_NOT_FOUND);
    stop(&f);
}

/* ---- what is told besides the verdict ---- */

static const struct load_need *need_of(const struct load_result *r, const char *name)
{
    for (size_t i = 0; i < r->n_needs; i++)
        if (str_eq(r->needs[i].name, name))
            return &r->needs[i];
    fail_msg("no need %s", name);
    return NULL;
}

static void test_explore(void **state)
{
    (void)state;
    struct fixture f;
    make_root(&f, "GLIBC_2.36");
    const struct object objects[] = {
        { "a/libA.so", .needed = { "libgone.so", "libB.so.1", "libbad.so", "libc.so.6" }, .runpath = "/a:/none" },
        { "a/libB.so.1", .needed = { "libgone2.so", "libD.so.1" } },
        { "usr/lib/libD.so.1", .needed = { "libc.so.6" }, .verneed = { "libc.so.6", "GLIBC_2.77" } },
    };
    for (size_t i = 0; i < ARRAY_LEN(objects); i++)
        write_object(f.root, &objects[i]);
    tree_file(f.root, "a/libbad.so", "no ELF file, but long enough to be looked at: 0123456789012345678901234567890");
    struct load_config config = { .library_path = "/llp" };
    start(&f, &config);
    struct load_result r = dlopen_(&f, "/a/libA.so", NULL, LOAD_FLAG_EXPLORE);
    assert_false(r.loads);
    assert_string_equal(r.error, "libgone.so: cannot open shared object file: No such file or directory");

    const struct load_need *n = need_of(&r, "libgone.so");
    assert_int_equal(n->status, LOAD_MISSING);
    assert_string_equal(n->needed_by, "/a/libA.so");
    static const char *const searched[] = { "ld-library-path /llp", "runpath /a", "runpath /none",
                                            "cache /etc/ld.so.cache", "default /lib/x86_64-linux-gnu",
                                            "default /usr/lib/x86_64-linux-gnu", "default /lib", "default /usr/lib" };
    assert_int_equal(n->n_searched, ARRAY_LEN(searched));
    for (size_t i = 0; i < ARRAY_LEN(searched); i++)
        assert_string_equal(n->searched[i], searched[i]);

    n = need_of(&r, "libB.so.1");
    assert_int_equal(n->status, LOAD_FOUND);
    assert_int_equal(n->rule, LOAD_RUNPATH);
    assert_string_equal(n->path, "/a/libB.so.1");
    n = need_of(&r, "libbad.so");
    assert_int_equal(n->status, LOAD_BAD_FILE);
    assert_string_equal(n->path, "/a/libbad.so");
    assert_string_equal(n->problem, "invalid ELF header");
    n = need_of(&r, "libgone2.so");
    assert_int_equal(n->status, LOAD_MISSING);
    assert_string_equal(n->needed_by, "/a/libB.so.1");
    n = need_of(&r, "libD.so.1");
    assert_int_equal(n->rule, LOAD_DEFAULT);
    n = need_of(&r, "libc.so.6");
    assert_int_equal(n->status, LOAD_BAD_VERSION);
    assert_string_equal(n->problem, "version `GLIBC_2.77' not found (required by /usr/lib/libD.so.1)");
    assert_null(load_process_has(f.proc, "libD.so.1"));
    stop(&f);
}

/* ---- differences between versions of glibc ---- */

static const struct versioned {
    const char *libc;
    bool exec_stack; /* refused at dlopen from 2.41 on */
    bool legacy;     /* tls/ and the like, until 2.36 */
} versions[] = {
    { "GLIBC_2.31", true, true },
    { "GLIBC_2.36", true, true },
    { "GLIBC_2.38", true, false },
    { "GLIBC_2.41", false, false },
};

static void test_versions(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
        struct fixture f;
        make_root(&f, versions[i].libc);
        const struct object objects[] = {
            { "a/libstack.so", .exec_stack = true },
            { "a/libA.so", .needed = { "libB.so.1" }, .runpath = "/b" },
            { "b/tls/libB.so.1" },
            { "b/libB.so.1" },
        };
        for (size_t k = 0; k < ARRAY_LEN(objects); k++)
            write_object(f.root, &objects[k]);
        struct load_config config = { 0 };
        start(&f, &config);
        struct load_result r = dlopen_(&f, "/a/libA.so", NULL, 0);
        check_map(&r, versions[i].legacy ? "/a/libA.so /b/tls/libB.so.1" : "/a/libA.so /b/libB.so.1");
        r = dlopen_(&f, "/a/libstack.so", NULL, 0);
        assert_int_equal(r.loads, versions[i].exec_stack);
        if (!versions[i].exec_stack)
            assert_string_equal(r.error, "/a/libstack.so: cannot enable executable stack as shared object requires: "
                                         "Invalid argument");
        stop(&f);
    }
}

/* ---- musl ---- */

static void test_musl(void **state)
{
    (void)state;
    struct fixture f = { .root = tree_new() };
    const struct object objects[] = {
        { "lib/ld-musl-x86_64.so.1", .soname = "libc.musl-x86_64.so.1" },
        { "a/libA.so", .needed = { "libB.so.1", "libc.so" }, .runpath = "/b" },
        { "b/libB.so.1", .needed = { "libC.so.1" } }, /* the folders of its parent serve it, RUNPATH or not */
        { "b/libC.so.1" },
        { "a/libD.so", .needed = { "libgone.so" } },
    };
    for (size_t i = 0; i < ARRAY_LEN(objects); i++)
        write_object(f.root, &objects[i]);
    struct load_config config = { 0 };
    start(&f, &config);
    struct load_result r = dlopen_(&f, "/a/libA.so", NULL, 0);
    check_map(&r, "/a/libA.so /b/libB.so.1 /b/libC.so.1");
    assert_string_equal(dlopen_(&f, "/a/libD.so", NULL, 0).error,
                        "Error loading shared library libgone.so: No such file or directory (needed by /a/libD.so)");
    assert_string_equal(dlopen_(&f, "libno.so", NULL, 0).error,
                        "Error loading shared library libno.so: No such file or directory");
    stop(&f);
}

static void test_texts(void **state)
{
    (void)state;
    assert_null(load_rule_text(LOAD_NO_RULE));
    assert_string_equal(load_rule_text(LOAD_LIBRARY_PATH), "ld-library-path");
    assert_string_equal(load_status_text(LOAD_UNKNOWN), "unknown");
    assert_string_equal(load_status_text(LOAD_LAZY), "lazy");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_singles),  cmocka_unit_test(test_failed_leaves_nothing), cmocka_unit_test(test_caller),
        cmocka_unit_test(test_explore),  cmocka_unit_test(test_versions),              cmocka_unit_test(test_musl),
        cmocka_unit_test(test_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
