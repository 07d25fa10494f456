/* src/elf on the files that meson built (arguments: elf-provider, then the fixtures in the order of meson.build). */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/jsonw.h"
#include "elf/elf.h"

static char **fixtures; /* argv */
enum { PROVIDER = 1, USER, USER_SYSV, USER_BOTH, WHOLE, WHOLE_SYSV, TLS, FIXTURES };

static struct elf *read_fd(int fd, struct arena *a)
{
    struct elf *elf = NULL;
    struct err e = { 0 };
    if (elf_read(fd, a, &elf, &e) < 0)
        fail_msg("elf_read: %s", e.text);
    return elf;
}

static struct elf *read_path(const char *path, struct arena *a)
{
    cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    return read_fd(fd, a);
}

/* Bytes of a file, to damage. */
struct bytes {
    unsigned char *at;
    size_t n;
};

static struct bytes slurp(const char *path)
{
    cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    struct bytes b = { malloc((size_t)st.st_size), (size_t)st.st_size };
    assert_int_equal(read(fd, b.at, b.n), (ssize_t)b.n);
    return b;
}

static int in_memory(const void *at, size_t n)
{
    int fd = memfd_create("elf", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, at, n), (ssize_t)n);
    return fd;
}

static const struct elf_undef *undef_named(const struct elf *elf, const char *name)
{
    const struct elf_undef *u, *found = NULL;
    size_t n = elf_undefs(elf, &u);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(u[i].name, name) != 0)
            continue;
        assert_null(found); /* each once */
        found = &u[i];
    }
    return found;
}

static void test_fields(void **state)
{
    (void)state;
    struct arena a = { 0 };
    struct elf *p = read_path(fixtures[PROVIDER], &a);
    assert_int_equal(p->problem, ELF_FINE);
    assert_string_equal(p->soname, "libprovider.so.1");
    assert_int_equal(p->n_needed, 0);
    assert_int_equal(p->n_verdef, 3);
    assert_string_equal(p->verdef[0], "libprovider.so.1");
    assert_string_equal(p->verdef[1], "V1");
    assert_string_equal(p->verdef[2], "V2");
    assert_int_equal(p->n_verdef_good, 3);
    assert_true(p->has_versym);
    assert_int_equal(p->type, ET_DYN);

    struct elf *u = read_path(fixtures[USER], &a);
    assert_string_equal(u->soname, "libuser.so.1");
    assert_string_equal(u->runpath, "$ORIGIN/x:/y");
    assert_null(u->rpath);
    assert_int_equal(u->n_needed, 1);
    assert_string_equal(u->needed[0], "libprovider.so.1");
    assert_int_equal(u->n_verneed, 1);
    assert_string_equal(u->verneed[0].file, "libprovider.so.1");
    assert_string_equal(u->verneed[0].version, "V2");
    assert_int_equal(u->verneed_version, 1);
    assert_false(u->bind_now || u->noopen || u->nodeflib || u->pie);
    assert_int_equal(u->exec_stack, ELF_STACK_PLAIN);

    struct elf *s = read_path(fixtures[USER_SYSV], &a);
    assert_string_equal(s->rpath, "/old");
    assert_null(s->runpath);
    assert_true(s->bind_now);

    struct elf *n = read_path(fixtures[USER_BOTH], &a);
    assert_int_equal(n->problem, ELF_NOOPEN);
    assert_true(n->noopen && n->nodeflib);
    assert_int_equal(n->exec_stack, ELF_STACK_EXEC);
    assert_string_equal(n->needed[0], "libprovider.so.1");

    struct elf *exe = read_path("/proc/self/exe", &a);
    assert_true(exe->problem == ELF_PIE || exe->problem == ELF_EXECUTABLE);
    assert_non_null(exe->interp);
    assert_true(exe->n_needed > 0);
    elf_done(p);
    elf_done(u);
    elf_done(s);
    elf_done(n);
    elf_done(exe);
    elf_done(NULL);
    arena_done(&a);
}

struct tls_wants {
    unsigned own, there, other;
};

static bool note_tls(void *ctx, const struct elf_want *w)
{
    struct tls_wants *seen = ctx;
    if (w->kind == ELF_WANT_STATIC_TLS && !w->symbol)
        seen->own++;
    else if (w->kind == ELF_WANT_STATIC_TLS && strcmp(w->symbol->name, "there") == 0)
        seen->there++;
    else
        seen->other++;
    return true;
}

static void test_tls(void **state)
{
    (void)state;
    struct arena a = { 0 };
    struct elf *t = read_path(fixtures[TLS], &a);
    assert_int_equal(t->problem, ELF_FINE);
    assert_int_equal(t->tls_size_bytes, sizeof(int));
    assert_int_equal(t->tls_align, sizeof(int));
    assert_true(t->static_tls);
    assert_int_equal(t->n_filters, 2);
    for (size_t i = 0; i < 2; i++) {
        bool auxiliary = strcmp(t->filters[i], "libauxiliary.so.1") == 0;
        assert_true(auxiliary || strcmp(t->filters[i], "libfilter.so.1") == 0);
        assert_int_equal(t->filter_info[i].optional, auxiliary);
        assert_int_equal(t->filter_info[i].needed_before, 0);
    }
#if defined(__x86_64__)
    assert_int_equal(t->isa_needed, 4); /* v3 */
    assert_true(t->relr);
#endif
    struct tls_wants seen = { 0 };
    assert_true(elf_wants(t, false, note_tls, &seen));
    assert_int_equal(seen.own, 1);
    assert_int_equal(seen.there, 1);
    assert_int_equal(seen.other, 0);
    elf_done(t);
    arena_done(&a);
}

static void test_defines(void **state)
{
    (void)state;
    static const struct {
        const char *name, *version;
        enum elf_answer answer;
    } rows[] = {
        { "both", "V1", ELF_YES },   { "both", "V2", ELF_YES },
        { "both", "V3", ELF_NO },    { "both", NULL, ELF_YES },
        { "old", "V1", ELF_YES },    { "old", "V2", ELF_NO },
        { "old", NULL, ELF_YES }, /* its version is the first after the base: what an old program means */
        { "new_", "V2", ELF_YES },   { "new_", NULL, ELF_YES }, /* the only one */
        { "new_", "V1", ELF_NO },    { "hidden_away", NULL, ELF_NO },
        { "", NULL, ELF_NO },        { "data_here", "V2", ELF_YES },
        { "pointer", NULL, ELF_NO }, { "nobody_has_this", NULL, ELF_NO },
    };
    struct arena a = { 0 };
    struct elf *p = read_path(fixtures[PROVIDER], &a);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (elf_defines(p, rows[i].name, rows[i].version) != rows[i].answer)
            fail_msg("%s@%s", rows[i].name, rows[i].version ? rows[i].version : "");

    static const int whole[] = { WHOLE, WHOLE_SYSV };
    for (size_t i = 0; i < ARRAY_LEN(whole); i++) {
        struct elf *w = read_path(fixtures[whole[i]], &a);
        assert_int_equal(elf_defines(w, "f", NULL), ELF_YES);
        assert_int_equal(elf_defines(w, "zeros", NULL), ELF_YES);
        /* a file without versions takes every one */
        assert_int_equal(elf_defines(w, "f", "ANY"), ELF_YES);
        assert_int_equal(elf_defines(w, "init", NULL), ELF_NO); /* local */
        assert_int_equal(elf_defines(w, "ff", NULL), ELF_NO);
        elf_done(w);
    }
    elf_done(p);
    arena_done(&a);
}

static void test_undefs(void **state)
{
    (void)state;
    static const int files[] = { USER, USER_SYSV, USER_BOTH };
    struct arena a = { 0 };
    struct elf *p = read_path(fixtures[PROVIDER], &a);
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        struct elf *u = read_path(fixtures[files[i]], &a);
        const struct elf_undef *undefs;
        assert_int_equal(elf_undefs(u, &undefs), 6);
        const struct elf_undef *both = undef_named(u, "both");
        assert_non_null(both);
        assert_string_equal(both->version, "V2");
        assert_string_equal(both->version_file, "libprovider.so.1");
        assert_false(both->weak);
        assert_int_equal(elf_resolves(p, both), ELF_YES);
        const struct elf_undef *maybe = undef_named(u, "maybe");
        assert_non_null(maybe);
        assert_true(maybe->weak);
        assert_null(maybe->version);
        const struct elf_undef *nobody = undef_named(u, "nobody_has_this");
        assert_non_null(nobody);
        assert_null(nobody->version);
        assert_int_equal(elf_resolves(p, nobody), ELF_NO);
        assert_null(undef_named(u, "use"));
        elf_done(u);
    }
    elf_done(p);
    arena_done(&a);
}

struct missing {
    const struct elf *provider;
};

static bool is_missing(void *ctx, const struct elf_undef *u)
{
    const struct missing *m = ctx;
    return !u->weak && elf_resolves(m->provider, u) != ELF_YES;
}

static void test_order(void **state)
{
    (void)state;
    struct arena a = { 0 };
    struct elf *p = read_path(fixtures[PROVIDER], &a);
    struct elf *lazy = read_path(fixtures[USER], &a);
    struct missing m = { .provider = p };
    /* data is relocated first, calls after it or, lazily, never */
    assert_string_equal(elf_first_unresolved(lazy, false, is_missing, &m)->name, "nobody_has_data");
    assert_string_equal(elf_first_unresolved(lazy, true, is_missing, &m)->name, "nobody_has_data");
    elf_done(lazy);
    elf_done(p);
    arena_done(&a);
}

static bool is_that(void *ctx, const struct elf_undef *u)
{
    return strcmp(u->name, ctx) == 0;
}

static bool is_nothing(void *ctx, const struct elf_undef *u)
{
    (void)ctx;
    (void)u;
    return false;
}

static void test_lazy(void **state)
{
    (void)state;
    struct arena a = { 0 };
    struct elf *lazy = read_path(fixtures[USER], &a), *now = read_path(fixtures[USER_SYSV], &a);
    char call[] = "nobody_has_this", data[] = "data_here";
    assert_non_null(elf_first_unresolved(lazy, false, is_that, call));
    assert_null(elf_first_unresolved(lazy, true, is_that, call));
    /* DF_BIND_NOW wins over lazy */
    assert_non_null(elf_first_unresolved(now, true, is_that, call));
    assert_non_null(elf_first_unresolved(lazy, true, is_that, data));
    assert_null(elf_first_unresolved(lazy, false, is_nothing, NULL));
    elf_done(lazy);
    elf_done(now);
    arena_done(&a);
}

/* Without any hash table a file defines nothing, and its wishes are known from its relocations. */
static void test_no_hash(void **state)
{
    (void)state;
    struct bytes b = slurp(fixtures[USER]);
    Elf64_Ehdr h;
    memcpy(&h, b.at, sizeof(h));
    for (size_t i = 0; i < h.e_phnum; i++) {
        Elf64_Phdr p;
        memcpy(&p, b.at + h.e_phoff + i * sizeof(p), sizeof(p));
        for (size_t k = 0; p.p_type == PT_DYNAMIC && k < p.p_filesz / sizeof(Elf64_Dyn); k++) {
            Elf64_Dyn d;
            memcpy(&d, b.at + p.p_offset + k * sizeof(d), sizeof(d));
            if (d.d_tag == DT_GNU_HASH || d.d_tag == DT_HASH)
                d.d_tag = DT_DEBUG;
            memcpy(b.at + p.p_offset + k * sizeof(d), &d, sizeof(d));
        }
    }
    struct arena a = { 0 };
    cleanup_(closep) int fd = in_memory(b.at, b.n);
    struct elf *u = read_fd(fd, &a);
    assert_int_equal(u->problem, ELF_FINE);
    assert_int_equal(elf_defines(u, "use", NULL), ELF_NO);
    const struct elf_undef *undefs;
    assert_int_equal(elf_undefs(u, &undefs), 6);
    elf_done(u);
    arena_done(&a);
    free(b.at);
}

/* The tests of the header, by a byte each. */
static void test_header(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        unsigned char value;
        enum elf_problem problem;
    } rows[] = {
        { 0, 0x7e, ELF_BAD_MAGIC },
        { EI_CLASS, ELFCLASS32, ELF_WRONG_CLASS },
        { EI_DATA, ELFDATA2MSB, ELF_BAD_DATA },
        { EI_VERSION, 2, ELF_BAD_IDENT_VERSION },
        { EI_OSABI, ELFOSABI_GNU, ELF_FINE },
        { EI_OSABI, ELFOSABI_FREEBSD, ELF_BAD_OSABI },
        { EI_ABIVERSION, 1, ELF_BAD_ABI_VERSION },
        { EI_PAD, 1, ELF_BAD_PADDING },
        { offsetof(Elf64_Ehdr, e_version), 2, ELF_BAD_VERSION },
        { offsetof(Elf64_Ehdr, e_machine), EM_386, ELF_WRONG_MACHINE },
        { offsetof(Elf64_Ehdr, e_type), ET_REL, ELF_NOT_DYN_OR_EXEC },
        { offsetof(Elf64_Ehdr, e_type), ET_EXEC, ELF_EXECUTABLE },
        { offsetof(Elf64_Ehdr, e_phentsize), 57, ELF_BAD_PHENTSIZE },
        { offsetof(Elf64_Ehdr, e_phoff) + 3, 1, ELF_BAD_PHDRS },
        { offsetof(Elf64_Ehdr, e_phoff) + 7, 0x80, ELF_BAD_PHOFF },
        { offsetof(Elf64_Ehdr, e_phnum), 0, ELF_NO_LOAD },
    };
    struct bytes b = slurp(fixtures[WHOLE]);
    struct arena a = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        unsigned char before = b.at[rows[i].at];
        b.at[rows[i].at] = rows[i].value;
        cleanup_(closep) int fd = in_memory(b.at, b.n);
        struct elf *elf = read_fd(fd, &a);
        if (elf->problem != rows[i].problem)
            fail_msg("byte %zu: %s", rows[i].at, elf_problem_name(elf->problem));
        elf_done(elf);
        b.at[rows[i].at] = before;
    }
    free(b.at);
    arena_done(&a);
    for (enum elf_problem p = ELF_TOO_SHORT; p <= ELF_DAMAGED; p++)
        assert_int_equal(elf_problem_of_name(elf_problem_name(p)), p);
    assert_int_equal(elf_problem_of_name("ELF_NO_SUCH"), ELF_FINE);
    assert_true(elf_problem_skipped(ELF_WRONG_CLASS) && elf_problem_skipped(ELF_WRONG_MACHINE));
    assert_false(elf_problem_skipped(ELF_TOO_SHORT));
}

/* Finds the program header of that type; its place in the file. */
static size_t phdr_place(const struct bytes *b, uint32_t type, size_t nth)
{
    Elf64_Ehdr h;
    memcpy(&h, b->at, sizeof(h));
    for (size_t i = 0; i < h.e_phnum; i++) {
        uint32_t t;
        memcpy(&t, b->at + h.e_phoff + i * sizeof(Elf64_Phdr), sizeof(t));
        if (t == type && nth-- == 0)
            return h.e_phoff + i * sizeof(Elf64_Phdr);
    }
    fail_msg("no program header of type %u", type);
    return 0;
}

static void test_segments(void **state)
{
    (void)state;
    struct arena a = { 0 };
    struct bytes b = slurp(fixtures[WHOLE]);
    static const struct {
        uint32_t type;
        size_t nth, member;
        uint64_t set;
        enum elf_problem problem;
    } rows[] = {
        { PT_LOAD, 1, offsetof(Elf64_Phdr, p_vaddr), 0x1008, ELF_BAD_PAGE_ALIGN },
        { PT_DYNAMIC, 0, offsetof(Elf64_Phdr, p_filesz), 0, ELF_NO_DYNAMIC },
        { PT_DYNAMIC, 0, offsetof(Elf64_Phdr, p_vaddr), 0, ELF_NO_DYNAMIC },
        { PT_LOAD, 3, offsetof(Elf64_Phdr, p_memsz), UINT64_C(1) << 50, ELF_MAP_FAILED },
        { PT_LOAD, 3, offsetof(Elf64_Phdr, p_memsz), UINT64_C(1) << 43, ELF_ZERO_FILL },
        { PT_LOAD, 3, offsetof(Elf64_Phdr, p_filesz), UINT64_C(1) << 30, ELF_DAMAGED },
        { PT_DYNAMIC, 0, offsetof(Elf64_Phdr, p_vaddr), UINT64_C(1) << 30, ELF_DAMAGED },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        size_t at = phdr_place(&b, rows[i].type, rows[i].nth) + rows[i].member;
        uint64_t before;
        memcpy(&before, b.at + at, sizeof(before));
        memcpy(b.at + at, &rows[i].set, sizeof(before));
        cleanup_(closep) int fd = in_memory(b.at, b.n);
        struct elf *elf = read_fd(fd, &a);
        if (elf->problem != rows[i].problem)
            fail_msg("row %zu: %s", i, elf_problem_name(elf->problem));
        elf_done(elf);
        memcpy(b.at + at, &before, sizeof(before));
    }
    free(b.at);
    arena_done(&a);
}

/* A segment aligned to more than its address fits: fine today, refused by glibc 2.34. */
static void test_older_loader(void **state)
{
    (void)state;
    static const struct {
        uint64_t align;
        enum elf_problem older;
    } rows[] = { { 0x1000, ELF_FINE }, { 0x200000, ELF_BAD_OFFSET }, { 8, ELF_BAD_ALIGN } };
    struct arena a = { 0 };
    struct bytes b = slurp(fixtures[WHOLE]);
    size_t at = phdr_place(&b, PT_LOAD, 3) + offsetof(Elf64_Phdr, p_align);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        memcpy(b.at + at, &rows[i].align, sizeof(rows[i].align));
        cleanup_(closep) int fd = in_memory(b.at, b.n);
        struct elf *elf = read_fd(fd, &a);
        assert_int_equal(elf->problem, ELF_FINE);
        assert_int_equal(elf_problem_in(elf, 0), ELF_FINE);
        assert_int_equal(elf_problem_in(elf, 36), ELF_FINE);
        assert_int_equal(elf_problem_in(elf, 34), rows[i].older);
        elf_done(elf);
    }
    free(b.at);
    arena_done(&a);
}

/* ---- the real loader as judge ---- */

static bool tell_want(void *ctx, const struct elf_want *w)
{
    char *text = ctx;
    if (w->kind == ELF_WANT_CRASH)
        strcpy(text, "crash");
    else if (w->symbol && !w->symbol->weak)
        snprintf(text, 200, "undefined symbol: %s", w->symbol->name);
    return text[0] == '\0';
}

/* What dlopen of that file, which needs no other, would say: "", "crash" or the text behind the name. */
static void predict(int fd, char text[200])
{
    struct arena a = { 0 };
    struct elf *elf = read_fd(fd, &a);
    text[0] = '\0';
    if (elf->problem == ELF_CUT || elf->problem == ELF_DAMAGED || elf->crash == ELF_CRASH_VERSIONS)
        strcpy(text, "crash");
    else if (elf->problem == ELF_WRONG_CLASS)
        strcpy(text, "wrong ELF class: ELFCLASS32");
    else if (elf->problem == ELF_WRONG_MACHINE)
        strcpy(text, "cannot open shared object file: No such file or directory");
    else if (elf->problem != ELF_FINE)
        snprintf(text, 200, "%s", elf_problem_text(elf->problem));
    else if (elf_wants(elf, false, tell_want, text) && elf->crash == ELF_CRASH_INIT)
        strcpy(text, "crash");
    elf_done(elf);
    arena_done(&a);
}

static void ask_loader(int fd, char text[200])
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char name[64];
        int null = open("/dev/null", O_WRONLY);
        (void)dup2(null, STDERR_FILENO);
        (void)dup2(null, STDOUT_FILENO);
        (void)signal(SIGBUS, SIG_DFL); /* cmocka would go on with the next test here */
        (void)signal(SIGSEGV, SIG_DFL);
        (void)signal(SIGFPE, SIG_DFL);
        (void)signal(SIGILL, SIG_DFL);
        snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
        const char *said = dlopen(name, RTLD_NOW) ? NULL : dlerror();
        const char *behind = said ? strstr(said, ": ") : NULL;
        if (said &&
            write(ends[1], behind ? behind + 2 : said, strlen(behind ? behind + 2 : said)) < 0)
            _exit(9);
        _exit(0);
    }
    close(ends[1]);
    ssize_t n = read(ends[0], text, 199);
    text[n > 0 ? n : 0] = '\0';
    close(ends[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        strcpy(text, "crash");
}

static void compare(const struct bytes *b, size_t n, const char *what)
{
    char said[200], predicted[200];
    cleanup_(closep) int fd = in_memory(b->at, n);
    ask_loader(fd, said);
    predict(fd, predicted);
    if (strcmp(said, predicted) != 0)
        fail_msg("%s: the loader says '%s', we say '%s'", what, said, predicted);
}

static void test_cut_files(void **state)
{
    (void)state;
    if (strcmp(gnu_get_libc_version(), "2.36") != 0) {
        print_message("skipped: measured on glibc 2.36, this is %s\n", gnu_get_libc_version());
        skip();
    }
    static const int files[] = { WHOLE, WHOLE_SYSV };
    for (size_t k = 0; k < ARRAY_LEN(files); k++) {
        struct bytes b = slurp(fixtures[files[k]]);
        char what[64];
        for (size_t n = 0; n <= b.n; n += n < 1024 ? 61 : 509) {
            snprintf(what, sizeof(what), "file %d cut to %zu", files[k], n);
            compare(&b, n, what);
        }
        for (size_t page = 4096; page <= b.n; page += 4096)
            for (size_t n = page - 1; n <= page + 1 && n <= b.n; n++) {
                snprintf(what, sizeof(what), "file %d cut to %zu", files[k], n);
                compare(&b, n, what);
            }
        compare(&b, b.n, "whole");
        free(b.at);
    }
}

static void test_header_bytes(void **state)
{
    (void)state;
    if (strcmp(gnu_get_libc_version(), "2.36") != 0) {
        print_message("skipped: measured on glibc 2.36, this is %s\n", gnu_get_libc_version());
        skip();
    }
    static const unsigned char values[] = { 0, 1, 2, 3, 4, 8, 62, 0xb7, 255 };
    struct bytes b = slurp(fixtures[WHOLE]);
    for (size_t at = 0; at < offsetof(Elf64_Ehdr, e_phnum); at++) {
        unsigned char before = b.at[at];
        for (size_t i = 0; i < ARRAY_LEN(values); i++) {
            char what[64];
            b.at[at] = values[i];
            snprintf(what, sizeof(what), "byte %zu set to %u", at, values[i]);
            compare(&b, b.n, what);
        }
        b.at[at] = before;
    }
    free(b.at);
}

/* ---- files that change or lie ---- */

static void test_shrinks(void **state)
{
    (void)state;
    struct bytes b = slurp(fixtures[WHOLE]);
    struct arena a = { 0 };
    cleanup_(closep) int fd = in_memory(b.at, b.n);
    struct elf *elf = read_fd(fd, &a);
    assert_int_equal(elf->problem, ELF_FINE);
    assert_int_equal(ftruncate(fd, 0), 0);
    const struct elf_undef *undefs;
    (void)elf_undefs(elf, &undefs); /* no signal */
    assert_int_equal(elf_defines(elf, "f", NULL), ELF_UNKNOWN);
    elf_done(elf);

    assert_int_equal(pwrite(fd, b.at, b.n, 0), (ssize_t)b.n);
    elf = read_fd(fd, &a); /* and the handler is gone and comes back */
    assert_int_equal(elf_defines(elf, "f", NULL), ELF_YES);
    elf_done(elf);
    free(b.at);
    arena_done(&a);
}

static void test_not_files(void **state)
{
    (void)state;
    struct arena a = { 0 };
    struct elf *elf = NULL;
    struct err e = { 0 };
    cleanup_(closep) int dir = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(elf_read(dir, &a, &elf, &e), -ERR_READ);
    assert_null(elf);
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(elf_read(ends[0], &a, &elf, NULL), -ERR_READ);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(elf_read(-1, &a, &elf, &e), -ERR_READ);
    cleanup_(closep) int empty = in_memory("", 0);
    elf = read_fd(empty, &a);
    assert_int_equal(elf->problem, ELF_TOO_SHORT);
    assert_int_equal(elf_defines(elf, "f", NULL), ELF_NO);
    elf_done(elf);
    cleanup_(closep) int text =
        in_memory("#!/bin/sh\necho this is no library, though it is long enough to be one\n", 68);
    elf = read_fd(text, &a);
    assert_int_equal(elf->problem, ELF_BAD_MAGIC);
    elf_done(elf);
    arena_done(&a);
}

/* Sets every word of a hash table behind its head; the walk must end. */
static void test_endless_chains(void **state)
{
    (void)state;
    static const struct {
        int file;
        int64_t tag;
    } rows[] = { { WHOLE, DT_GNU_HASH }, { WHOLE_SYSV, DT_HASH } };
    for (size_t k = 0; k < ARRAY_LEN(rows); k++) {
        struct bytes b = slurp(fixtures[rows[k].file]);
        size_t place = phdr_place(&b, PT_DYNAMIC, 0);
        Elf64_Phdr p;
        memcpy(&p, b.at + place, sizeof(p));
        uint64_t table = 0;
        for (size_t i = 0; i < p.p_filesz / sizeof(Elf64_Dyn); i++) {
            Elf64_Dyn d;
            memcpy(&d, b.at + p.p_offset + i * sizeof(d), sizeof(d));
            if (d.d_tag == rows[k].tag)
                table = d.d_un.d_ptr;
        }
        assert_true(table > 0);
        uint32_t head[4];
        memcpy(head, b.at + table, sizeof(head));
        bool gnu = rows[k].tag == DT_GNU_HASH;
        /* GNU: no chain has an end mark; System V: each chain leads to symbol 1 and from there to 1 again */
        size_t first = gnu ? 16 + (size_t)head[2] * 8 + (size_t)head[0] * 4 : 8,
               n = gnu ? 8 : (size_t)head[0] + head[1];
        for (size_t i = 0; i < n; i++) {
            uint32_t v;
            memcpy(&v, b.at + table + first + i * 4, 4);
            v = gnu ? v & ~1u : 1;
            memcpy(b.at + table + first + i * 4, &v, 4);
        }
        struct arena a = { 0 };
        cleanup_(closep) int fd = in_memory(b.at, b.n);
        struct elf *elf = read_fd(fd, &a);
        assert_int_not_equal(elf_defines(elf, "no such name", NULL), ELF_YES);
        assert_int_not_equal(elf_defines(elf, "ff", NULL), ELF_YES);
        elf_done(elf);
        arena_done(&a);
        free(b.at);
    }
}

/* ---- snapshots ---- */

static char *save(const struct elf *elf, const struct elf_asked *asked)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    struct json j;
    json_begin(&j, out, false);
    elf_save(elf, asked, &j);
    json_end(&j);
    fclose(out);
    return text;
}

static struct elf *rebuild(const char *text, struct arena *a)
{
    json_t *from = NULL;
    struct err e = { 0 };
    struct elf *elf = NULL;
    if (jsonr_parse(text, strlen(text), &from, &e) < 0 || elf_load(from, a, &elf, &e) < 0)
        fail_msg("%s\n%s", e.text, text);
    json_decref(from);
    return elf;
}

static bool count_want(void *ctx, const struct elf_want *w)
{
    (void)w;
    ++*(int *)ctx;
    return true;
}

static void test_record(void **state)
{
    (void)state;
    struct arena a = { 0 }, b = { 0 };
    struct elf_asked *asked = elf_asked_new();
    struct elf *elves[FIXTURES] = { 0 };
    int wants = 0;
    for (int i = PROVIDER; i < FIXTURES; i++) {
        const struct elf_undef *u;
        elves[i] = read_path(fixtures[i], &a);
        (void)elf_undefs(elves[i], &u);
        (void)elf_wants(elves[i], false, count_want, &wants);
        elf_asked_add(asked, elves[i]);
    }
    assert_int_equal(elf_defines(elves[PROVIDER], "not there", NULL), ELF_NO);
    for (int i = PROVIDER; i < FIXTURES; i++) {
        char *text = save(elves[i], asked);
        struct elf *again = rebuild(text, &b);
        char *second = save(again, asked);
        assert_string_equal(text, second);
        for (int k = PROVIDER; k < FIXTURES; k++) {
            const struct elf_undef *u;
            size_t n = elf_undefs(elves[k], &u);
            for (size_t s = 0; s < n; s++)
                assert_int_equal(elf_resolves(again, &u[s]), elf_resolves(elves[i], &u[s]));
        }
        assert_int_equal(again->problem, elves[i]->problem);
        assert_int_equal(again->n_needed, elves[i]->n_needed);
        assert_int_equal(elf_relocs_size(again), elf_relocs_size(elves[i]));
        char call[] = "nobody_has_this", data[] = "nobody_has_data";
        char *const names[] = { call, data };
        for (int lazy = 0; lazy < 2; lazy++)
            for (size_t s = 0; s < ARRAY_LEN(names); s++)
                assert_int_equal(elf_first_unresolved(again, lazy, is_that, names[s]) != NULL,
                                 elf_first_unresolved(elves[i], lazy, is_that, names[s]) != NULL);
        if (i == PROVIDER) {
            assert_int_equal(elf_defines(again, "not there", NULL), ELF_NO);
            assert_int_equal(elf_defines(again, "never asked", NULL), ELF_UNKNOWN);
            assert_int_equal(elf_defines(again, "both", "V2"), ELF_YES);
        }
        elf_done(again);
        free(text);
        free(second);
    }
    for (int i = PROVIDER; i < FIXTURES; i++)
        elf_done(elves[i]);
    elf_asked_free(asked);
    arena_done(&a);
    arena_done(&b);
}

static void test_bad_records(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "[]",
        "{\"problem\":\"ELF_NO_SUCH\"}",
        "{\"problem\":\"ELF_FINE\"}",
        "{\"size_bytes\":\"many\"}",
        "{\"soname\":3}",
        "{\"needed\":[3]}",
        "{\"filters\":[[\"x\",true,1]]}",
        "{\"verneed\":[[\"a\"]]}",
        "{\"verdef\":[[\"a\",-1]]}",
        "{\"n_verdef_good\":2}",
        "{\"relocs_size\":0,\"undefs\":[[3]]}",
        "{\"relocs_size\":0,\"undefs\":[[\"a\"]],\"wants\":[[1,1,0]]}",
        "{\"relocs_size\":0,\"undefs\":[[\"a\"]],\"wants\":[[99,0,0]]}",
        "{\"relocs_size\":0,\"defines\":[{}]}",
        "{\"crash\":\"often\"}",
    };
    struct arena a = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        json_t *from = NULL;
        struct err e = { 0 };
        struct elf *elf = NULL;
        assert_int_equal(jsonr_parse(texts[i], strlen(texts[i]), &from, &e), 0);
        if (elf_load(from, &a, &elf, &e) != -ERR_FORMAT)
            fail_msg("taken: %s", texts[i]);
        assert_null(elf);
        json_decref(from);
    }
    struct elf *elf = rebuild("{}", &a);
    assert_null(elf->symbols);
    assert_int_equal(elf_defines(elf, "f", NULL), ELF_UNKNOWN);
    elf_done(elf);
    arena_done(&a);
}

int main(int argc, char **argv)
{
    if (argc < FIXTURES) {
        fprintf(stderr, "usage: %s PROVIDER FIXTURE...\n", argv[0]);
        return 2;
    }
    fixtures = argv;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),         cmocka_unit_test(test_defines),
        cmocka_unit_test(test_undefs),         cmocka_unit_test(test_order),
        cmocka_unit_test(test_tls),            cmocka_unit_test(test_older_loader),
        cmocka_unit_test(test_lazy),           cmocka_unit_test(test_no_hash),
        cmocka_unit_test(test_header),         cmocka_unit_test(test_segments),
        cmocka_unit_test(test_cut_files),      cmocka_unit_test(test_header_bytes),
        cmocka_unit_test(test_shrinks),        cmocka_unit_test(test_not_files),
        cmocka_unit_test(test_endless_chains), cmocka_unit_test(test_record),
        cmocka_unit_test(test_bad_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
