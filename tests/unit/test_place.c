/* The live place: answers, what is never read, what is kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "place/internal.h"
#include "tree.h"

struct fixture {
    char *dir;
    struct place *place;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    f->dir = tree_new();
    if (place_open_live(&f->place, NULL) != 0)
        return -1;
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    place_free(f->place);
    tree_remove(f->dir);
    free(f);
    return 0;
}

static void test_stat(void **state)
{
    struct fixture *f = *state;
    tree_file(f->dir, "a/file", "12345");
    tree_link(f->dir, "to-file", "a/file");
    tree_link(f->dir, "to-dir", "a");
    tree_link(f->dir, "dangling", "nowhere");
    tree_link(f->dir, "loop", "loop");
    const struct {
        const char *name;
        enum known stat, lstat;
        int stat_error;
        enum file_type stat_type, lstat_type;
        const char *link, *real;
    } cases[] = {
        { "a/file", KNOWN_PRESENT, KNOWN_PRESENT, 0, FILE_REGULAR, FILE_REGULAR, NULL, "a/file" },
        { "a", KNOWN_PRESENT, KNOWN_PRESENT, 0, FILE_DIR, FILE_DIR, NULL, "a" },
        { "a//./file", KNOWN_PRESENT, KNOWN_PRESENT, 0, FILE_REGULAR, FILE_REGULAR, NULL, "a/file" },
        { "a/../a/file", KNOWN_PRESENT, KNOWN_PRESENT, 0, FILE_REGULAR, FILE_REGULAR, NULL, "a/file" },
        { "a/", KNOWN_PRESENT, KNOWN_PRESENT, 0, FILE_DIR, FILE_DIR, NULL, "a" },
        { "a/.", KNOWN_PRESENT, KNOWN_PRESENT, 0, FILE_DIR, FILE_DIR, NULL, "a" },
        { "a/file/", KNOWN_ABSENT, KNOWN_ABSENT, ENOTDIR, FILE_NONE, FILE_NONE, NULL, NULL },
        { "a/file/.", KNOWN_ABSENT, KNOWN_ABSENT, ENOTDIR, FILE_NONE, FILE_NONE, NULL, NULL },
        { "a/file/x", KNOWN_ABSENT, KNOWN_ABSENT, ENOTDIR, FILE_NONE, FILE_NONE, NULL, NULL },
        { "to-file", KNOWN_PRESENT, KNOWN_PRESENT, 0, FILE_REGULAR, FILE_LINK, "a/file", "a/file" },
        { "to-dir", KNOWN_PRESENT, KNOWN_PRESENT, 0, FILE_DIR, FILE_LINK, "a", "a" },
        { "to-dir/", KNOWN_PRESENT, KNOWN_PRESENT, 0, FILE_DIR, FILE_DIR, NULL, "a" },
        { "to-dir/file", KNOWN_PRESENT, KNOWN_PRESENT, 0, FILE_REGULAR, FILE_REGULAR, NULL, "a/file" },
        { "dangling", KNOWN_ABSENT, KNOWN_PRESENT, ENOENT, FILE_NONE, FILE_LINK, "nowhere", NULL },
        { "loop", KNOWN_FAILED, KNOWN_PRESENT, ELOOP, FILE_NONE, FILE_LINK, "loop", NULL },
        { "none", KNOWN_ABSENT, KNOWN_ABSENT, ENOENT, FILE_NONE, FILE_NONE, NULL, NULL },
        { "none/none", KNOWN_ABSENT, KNOWN_ABSENT, ENOENT, FILE_NONE, FILE_NONE, NULL, NULL },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *path = tree_path(f->dir, cases[i].name);
        const struct file_info *st = place_stat(f->place, path), *lst = place_lstat(f->place, path);
        if (st->known != cases[i].stat || lst->known != cases[i].lstat || st->error != cases[i].stat_error ||
            st->type != cases[i].stat_type || lst->type != cases[i].lstat_type)
            fail_msg("%s: stat %d %d %d lstat %d %d", cases[i].name, st->known, st->error, st->type, lst->known,
                     lst->type);
        const char *link = place_readlink(f->place, path), *real = place_realpath(f->place, path);
        const char *want = cases[i].real ? tree_path(f->dir, cases[i].real) : NULL;
        if (!link != !cases[i].link || (link && strcmp(link, cases[i].link) != 0) || !real != !want ||
            (real && strcmp(real, want) != 0))
            fail_msg("%s: link %s real %s", cases[i].name, link ? link : "-", real ? real : "-");
        assert_ptr_equal(place_stat(f->place, path), st); /* kept */
    }
    struct stat st;
    assert_int_equal(stat(tree_path(f->dir, "a/file"), &st), 0);
    const struct file_info *info = place_stat(f->place, tree_path(f->dir, "to-file"));
    assert_int_equal(info->size_bytes, 5);
    assert_int_equal(info->ino, st.st_ino);
    assert_int_equal(info->dev, st.st_dev);
    assert_int_equal(info->mode, st.st_mode & 07777);
    assert_int_equal(info->mtime_s, st.st_mtim.tv_sec);
    assert_true(place_exists(f->place, tree_path(f->dir, "to-file")));
    assert_true(place_is_dir(f->place, tree_path(f->dir, "to-dir")));
    assert_false(place_is_dir(f->place, tree_path(f->dir, "to-file")));
}

/* What was seen stays, and what it decides is not asked again. */
static void test_remembers(void **state)
{
    struct fixture *f = *state;
    tree_file(f->dir, "file", "old");
    char later[3][4200];
    (void)snprintf(later[0], sizeof(later[0]), "%s/later", f->dir);
    (void)snprintf(later[1], sizeof(later[1]), "%s/later/x", f->dir);
    (void)snprintf(later[2], sizeof(later[2]), "%s/file", f->dir);
    assert_false(place_exists(f->place, later[0]));
    assert_string_equal(place_text(f->place, later[2], TEXT_WHOLE)->at, "old");
    tree_file(f->dir, "later/x", "new");
    tree_file(f->dir, "file", "newer");
    assert_int_equal(place_text(f->place, later[1], TEXT_WHOLE)->error, ENOENT);
    assert_int_equal(place_lstat(f->place, later[1])->error, ENOENT);
    assert_int_equal(place_elf(f->place, later[1])->error, ENOENT);
    assert_int_equal(place_list(f->place, later[0])->error, ENOENT);
    assert_null(place_realpath(f->place, later[1]));
    assert_string_equal(place_text(f->place, later[2], TEXT_WHOLE)->at, "old");
    assert_int_equal(place_stat(f->place, later[2])->size_bytes, 3); /* seen when it was read */
}

static void expect_unread(struct place *p, const char *path, int error)
{
    (void)alarm(20); /* whoever waits for a FIFO waits forever */
    const struct place_elf *elf = place_elf(p, path);
    const struct text *text = place_text(p, path, TEXT_WHOLE);
    const struct text *record = place_text(p, path, TEXT_ORT_RECORD);
    const struct place_gpu_code *gpu = place_gpu_code(p, path);
    (void)alarm(0);
    if (elf->known != KNOWN_FAILED || elf->error != error || elf->elf || text->known != KNOWN_FAILED ||
        text->error != error || record->error != error || gpu->error != error || text->len != 0)
        fail_msg("%s: elf %d %d text %d %d gpu %d", path, elf->known, elf->error, text->known, text->error,
                 gpu->error);
    assert_null(place_sha256(p, path, UINT64_MAX));
}

static void test_never_reads_what_is_no_file(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(mkfifo(tree_path(f->dir, "fifo"), 0644), 0);
    tree_link(f->dir, "to-fifo", "fifo");
    tree_link(f->dir, "zero", "/dev/zero");
    tree_link(f->dir, "tty", "/dev/ptmx");
    tree_dir(f->dir, "folder");
    struct sockaddr_un name = { .sun_family = AF_UNIX };
    (void)snprintf(name.sun_path, sizeof(name.sun_path), "%s/socket", f->dir);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&name, sizeof(name)), 0);
    (void)close(fd);
    expect_unread(f->place, tree_path(f->dir, "fifo"), EINVAL);
    expect_unread(f->place, tree_path(f->dir, "to-fifo"), EINVAL);
    expect_unread(f->place, tree_path(f->dir, "zero"), EINVAL);
    expect_unread(f->place, tree_path(f->dir, "folder"), EISDIR);
    expect_unread(f->place, tree_path(f->dir, "socket"), ENXIO);
    assert_int_equal(place_list(f->place, tree_path(f->dir, "fifo"))->error, ENOTDIR);
}

static void test_unreadable(void **state)
{
    struct fixture *f = *state;
    tree_file(f->dir, "closed/file", "x");
    tree_file(f->dir, "secret", "x");
    assert_int_equal(chmod(tree_path(f->dir, "closed"), 0), 0);
    assert_int_equal(chmod(tree_path(f->dir, "secret"), 0), 0);
    uid_t was = geteuid();
    if (was == 0 && seteuid(65534) != 0)
        skip();
    const char *closed = tree_path(f->dir, "closed"), *secret = tree_path(f->dir, "secret");
    const struct listing *list = place_list(f->place, closed);
    const struct file_info *inside = place_stat(f->place, tree_path(f->dir, "closed/file"));
    const struct text *text = place_text(f->place, secret, TEXT_WHOLE);
    const struct place_elf *elf = place_elf(f->place, secret);
    if (was == 0)
        assert_int_equal(seteuid(was), 0);
    assert_int_equal(chmod(closed, 0755), 0);
    assert_int_equal(list->known, KNOWN_FAILED);
    assert_int_equal(list->error, EACCES);
    assert_int_equal(inside->known, KNOWN_FAILED);
    assert_int_equal(text->error, EACCES);
    assert_int_equal(elf->known, KNOWN_FAILED);
    assert_int_equal(elf->error, EACCES);
}

static void test_list(void **state)
{
    struct fixture *f = *state;
    tree_file(f->dir, "d/b", "");
    tree_file(f->dir, "d/B", "");
    tree_file(f->dir, "d/a.txt", "");
    tree_dir(f->dir, "d/\xff\xfe");
    tree_link(f->dir, "d/link", "b");
    assert_int_equal(mkfifo(tree_path(f->dir, "d/pipe"), 0644), 0);
    tree_dir(f->dir, "empty");
    const struct listing *list = place_list(f->place, tree_path(f->dir, "d"));
    const struct {
        const char *name;
        enum file_type type;
    } want[] = { { "B", FILE_REGULAR },  { "a.txt", FILE_REGULAR }, { "b", FILE_REGULAR },
                 { "link", FILE_LINK }, { "pipe", FILE_OTHER },    { "\xff\xfe", FILE_DIR } };
    assert_int_equal(list->known, KNOWN_PRESENT);
    assert_false(list->cut);
    assert_int_equal(list->n, sizeof(want) / sizeof(want[0]));
    for (size_t i = 0; i < list->n; i++) {
        assert_string_equal(list->at[i].name, want[i].name);
        assert_true(list->at[i].type == want[i].type || list->at[i].type == FILE_NONE);
    }
    list = place_list(f->place, tree_path(f->dir, "empty"));
    assert_int_equal(list->known, KNOWN_PRESENT);
    assert_int_equal(list->n, 0);
    assert_int_equal(place_list(f->place, tree_path(f->dir, "none"))->error, ENOENT);
    assert_int_equal(place_list(f->place, tree_path(f->dir, "d/b"))->known, KNOWN_ABSENT);
}

static void test_many_files(void **state)
{
    (void)state;
    char *memory = access("/dev/shm", W_OK) == 0 ? tree_new_in("/dev/shm") : tree_new();
    tree_dir(memory, "many");
    int dir = open(tree_path(memory, "many"), O_PATH | O_CLOEXEC);
    const int steps[] = { 100000, 200000, 200007 };
    int made = 0;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        for (; made < steps[i]; made++) {
            char name[32];
            (void)snprintf(name, sizeof(name), "f%06d", made);
            int fd = openat(dir, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
            assert_true(fd >= 0);
            (void)close(fd);
        }
        struct place *p;
        assert_int_equal(place_open_live(&p, NULL), 0);
        const struct listing *list = place_list(p, tree_path(memory, "many"));
        assert_int_equal(list->n, steps[i] > 200000 ? 200000 : steps[i]);
        assert_int_equal(list->cut, steps[i] > 200000);
        if (!list->cut) {
            assert_string_equal(list->at[0].name, "f000000");
            assert_string_equal(list->at[99999].name, "f099999");
        }
        place_free(p);
    }
    (void)close(dir);
    tree_remove(memory);
}

static void expect_text(struct fixture *f, const char *content, size_t n, enum text_part part, const char *want,
                        size_t want_n, bool cut)
{
    static unsigned count;
    char name[32];
    (void)snprintf(name, sizeof(name), "text%u", count++);
    tree_bytes(f->dir, name, content, n);
    const struct text *t = place_text(f->place, tree_path(f->dir, name), part);
    assert_int_equal(t->known, KNOWN_PRESENT);
    if (t->len != want_n || memcmp(t->at, want, want_n) != 0 || t->at[t->len] != '\0' || t->cut != cut)
        fail_msg("part %d of '%.60s': %zu bytes '%.60s' cut %d, not %zu '%.60s'", (int)part, content, t->len, t->at,
                 t->cut, want_n, want);
}

static const struct part_case {
    enum text_part part;
    const char *content, *want;
} part_cases[] = {
    { TEXT_WHOLE, "", "" },
    { TEXT_WHOLE, "a\nb", "a\nb" },
    { TEXT_HEADERS, "Name: x\nVersion: 1\n\nBody\n", "Name: x\nVersion: 1\n" },
    { TEXT_HEADERS, "Name: x\r\nVersion: 1\r\n\r\nBody\r\n", "Name: x\r\nVersion: 1\r\n" },
    { TEXT_HEADERS, "Name: x", "Name: x" },
    { TEXT_HEADERS, "\nName: x\n", "" },
    { TEXT_HEADERS, "", "" },
    { TEXT_FIRST_LINE, "one\ntwo\n", "one\n" },
    { TEXT_FIRST_LINE, "one", "one" },
    { TEXT_FIRST_LINE, "\ntwo", "\n" },
    { TEXT_ORT_RECORD,
      "numpy/a.py,sha256=x,1\nonnxruntime/capi/a.so,sha256=y,2\nxonnxruntime/b,,\nonnxruntime_gpu-1.dist-info/RECORD,,",
      "onnxruntime/capi/a.so,sha256=y,2\nonnxruntime_gpu-1.dist-info/RECORD,," },
    { TEXT_VERSION_LINES, "/* x */\n#define CUDNN_MAJOR 9\n#include <x>\ncuda_version = '12'\n__version__ = '1'\n",
      "#define CUDNN_MAJOR 9\ncuda_version = '12'\n__version__ = '1'\n" },
    { TEXT_VERSION_LINES, "VERSION 3", "VERSION 3" },
    { TEXT_DPKG_GPU,
      "Package: bash\nStatus: install ok installed\nVersion: 5\n\n"
      "Package: libcudnn9-cuda-12\nStatus: install ok installed\nPriority: optional\nDescription: nvidia\n more\nVersion: 9.1\n\n"
      "Package: tzdata\nDescription: no cuda here\nVersion: 1\n\nPackage: nvidia-driver\nVersion: 2",
      "Package: libcudnn9-cuda-12\nStatus: install ok installed\nVersion: 9.1\n\nPackage: nvidia-driver\nVersion: 2\n" },
    { TEXT_PCI_NVIDIA,
      "# c\n10dd  Other\n\t0001  no\n10de  NVIDIA Corporation\n\t20b0  GA100 [A100]\n\t\t10de 1450  sub\n# c\n\t27b8  AD104GL [L4]\n10df  Emulex\n\tffff  no\n10de x\n\t1111  no\n",
      "\t20b0  GA100 [A100]\n\t27b8  AD104GL [L4]\n" },
};

static void test_text_parts(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof(part_cases) / sizeof(part_cases[0]); i++) {
        const struct part_case *c = &part_cases[i];
        expect_text(f, c->content, strlen(c->content), c->part, c->want, strlen(c->want), false);
    }
    static const char binary[] = "a\0b\xff\nonnxruntime\0x\n";
    expect_text(f, binary, sizeof(binary) - 1, TEXT_WHOLE, binary, sizeof(binary) - 1, false);
    expect_text(f, binary, sizeof(binary) - 1, TEXT_ORT_RECORD, "onnxruntime\0x\n", 14, false);
}

static void test_text_caps(void **state)
{
    struct fixture *f = *state;
    size_t n = 5 * 1024 * 1024;
    char *big = malloc(n);
    memset(big, 'v', n);
    expect_text(f, big, 256 * 1024, TEXT_WHOLE, big, 256 * 1024, false);
    expect_text(f, big, 256 * 1024 + 1, TEXT_WHOLE, big, 256 * 1024, true);
    expect_text(f, big, 4096, TEXT_FIRST_LINE, big, 4096, false);
    expect_text(f, big, 4097, TEXT_FIRST_LINE, big, 4096, true);
    expect_text(f, big, n, TEXT_HEADERS, big, 64 * 1024, true);
    /* A line longer than the buffer counts by its beginning, and the next one is whole again. */
    memcpy(big, "onnxruntime", 11);
    big[100 * 1024] = '\n';
    memcpy(big + 100 * 1024 + 1, "onnxruntime/x\n", 14);
    char *want = malloc(64 * 1024 + 14);
    memcpy(want, big, 64 * 1024);
    memcpy(want + 64 * 1024, "onnxruntime/x\n", 14);
    expect_text(f, big, 100 * 1024 + 15, TEXT_ORT_RECORD, want, 64 * 1024 + 14, true);
    /* Lines around the buffer's edges. */
    for (size_t i = 0; i < n; i++)
        big[i] = i % 61 == 60 ? '\n' : "onnxruntime/"[i % 61 % 12];
    size_t kept = (1024 * 1024 / 61 + 1) * 61; /* of what is picked out, by whole lines */
    expect_text(f, big, n, TEXT_ORT_RECORD, big, kept, true);
    /* One line of five is wanted: as much is read as may be. */
    size_t limit = 4 * 1024 * 1024, picked = 0;
    char *some = malloc(limit);
    for (size_t i = 0; i + 61 <= limit; i += 61)
        if (i / 61 % 5 == 0) {
            memcpy(some + picked, big + i, 61);
            picked += 61;
        } else {
            big[i] = 'x';
        }
    big[limit / 61 * 61] = 'x';
    expect_text(f, big, limit, TEXT_ORT_RECORD, some, picked, false);
    expect_text(f, big, limit + 1, TEXT_ORT_RECORD, some, picked, true);
    free(some);
    free(want);
    free(big);
}

static void test_proc_files_have_no_size(void **state)
{
    struct fixture *f = *state;
    const struct text *t = place_text(f->place, "/proc/self/status", TEXT_WHOLE);
    assert_int_equal(t->known, KNOWN_PRESENT);
    assert_non_null(strstr(t->at, "VmPeak"));
    assert_string_equal(place_text(f->place, "/proc/self/comm", TEXT_FIRST_LINE)->at, "test_place\n");
    assert_null(place_sha256(f->place, "/proc/self/status", 16)); /* fstat says 0 bytes */
    assert_non_null(place_sha256(f->place, "/proc/self/status", 100000));
}

/* Without descriptors of our own nothing is said of the place. */
static void test_out_of_descriptors(void **state)
{
    struct fixture *f = *state;
    struct err e = { 0 };
    const char *path = tree_path(f->dir, "a");
    tree_file(f->dir, "a", "1");
    assert_int_equal(place_text(f->place, tree_path(f->dir, "none"), TEXT_WHOLE)->known, KNOWN_ABSENT);
    assert_int_equal(place_complete(f->place, &e), 0);
    struct rlimit before, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    const struct text *t = place_text(f->place, path, TEXT_WHOLE);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(t->known, KNOWN_FAILED);
    assert_int_equal(t->error, EMFILE);
    assert_int_equal(place_complete(f->place, &e), -ERR_READ);
    assert_non_null(strstr(e.text, path));
    assert_non_null(strstr(e.text, strerror(EMFILE)));
}

static void test_keeps_no_more_than_it_may(void **state)
{
    struct fixture *f = *state;
    struct err e = { 0 };
    char *big = calloc(1, 200001);
    memset(big, 'x', 200000);
    tree_file(f->dir, "big", big);
    free(big);
    f->place->kept_max = 2u << 20;
    int failed = 0;
    for (int i = 0; i < 20; i++) {
        char name[8];
        (void)snprintf(name, sizeof(name), "l%d", i);
        tree_link(f->dir, name, "big");
        const struct text *t = place_text(f->place, tree_path(f->dir, name), TEXT_WHOLE);
        failed += t->known == KNOWN_FAILED && t->error == ENOMEM;
    }
    assert_in_range(failed, 5, 12);
    assert_int_equal(place_complete(f->place, &e), -ERR_LIMIT);
    assert_non_null(strstr(e.text, "2 MiB"));
}

static void test_sha256(void **state)
{
    struct fixture *f = *state;
    char *million = malloc(1000000);
    memset(million, 'a', 1000000);
    tree_file(f->dir, "empty", "");
    tree_file(f->dir, "abc", "abc");
    tree_bytes(f->dir, "million", million, 1000000);
    tree_bytes(f->dir, "block", million, 64);
    tree_bytes(f->dir, "block-1", million, 55);
    tree_bytes(f->dir, "block+1", million, 56);
    free(million);
    const struct {
        const char *name, *hex;
    } cases[] = {
        { "empty", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
        { "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
        { "million", "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0" },
        { "block", "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb" },
        { "block-1", "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318" },
        { "block+1", "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(place_sha256(f->place, tree_path(f->dir, cases[i].name), 1000000), cases[i].hex);
    tree_file(f->dir, "abcd", "abcd");
    const char *path = tree_path(f->dir, "abcd");
    assert_null(place_sha256(f->place, path, 3));
    assert_null(place_sha256(f->place, path, 2));
    assert_string_equal(place_sha256(f->place, path, 4),
                        "88d4266fd4e6338d13b845fcf289579d209c897823b9217da3e161936f031589");
    assert_null(place_sha256(f->place, tree_path(f->dir, "none"), 4));
}

static void test_env_and_cwd(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(setenv("ORTFIT_TEST_A", "one", 1), 0);
    assert_int_equal(unsetenv("ORTFIT_TEST_B"), 0);
    assert_string_equal(place_getenv(f->place, "ORTFIT_TEST_A"), "one");
    assert_null(place_getenv(f->place, "ORTFIT_TEST_B"));
    place_setenv(f->place, "ORTFIT_TEST_A", NULL);
    place_setenv(f->place, "ORTFIT_TEST_B", "two");
    assert_null(place_getenv(f->place, "ORTFIT_TEST_A"));
    assert_string_equal(place_getenv(f->place, "ORTFIT_TEST_B"), "two");

    char cwd[4096];
    assert_non_null(getcwd(cwd, sizeof(cwd)));
    assert_string_equal(place_cwd(f->place), cwd);
    tree_file(f->dir, "here/x", "hello");
    place_set_cwd(f->place, tree_path(f->dir, "here"));
    assert_string_equal(place_absolute(f->place, "x"), tree_path(f->dir, "here/x"));
    assert_string_equal(place_absolute(f->place, "/x"), "/x");
    assert_string_equal(place_text(f->place, "x", TEXT_WHOLE)->at, "hello");
}

static void test_long_paths(void **state)
{
    struct fixture *f = *state;
    char path[5000];
    memset(path, 'a', sizeof(path));
    path[0] = '/';
    path[sizeof(path) - 1] = '\0';
    assert_int_equal(place_stat(f->place, path)->error, ENAMETOOLONG);
    assert_int_equal(place_elf(f->place, path)->error, ENAMETOOLONG);
    assert_int_equal(place_text(f->place, path, TEXT_WHOLE)->error, ENAMETOOLONG);
    assert_int_equal(place_list(f->place, path)->error, ENAMETOOLONG);
    assert_null(place_realpath(f->place, path));
    assert_null(place_readlink(f->place, path));
    path[300] = '\0';
    assert_int_equal(place_stat(f->place, path)->error, ENAMETOOLONG);
    assert_int_equal(place_stat(f->place, path)->known, KNOWN_FAILED);
}

/* The loader's own opinion of the processor. */
static void test_machine(void **state)
{
    struct fixture *f = *state;
    const struct place_machine *m = place_machine(f->place);
    assert_int_equal(m->known, KNOWN_PRESENT);
    assert_int_equal(m->page_size_bytes, sysconf(_SC_PAGESIZE));
    assert_int_equal(m->uid, getuid());
    assert_non_null(m->hostname);
#ifdef __x86_64__
    assert_string_equal(m->arch, "x86_64");
    FILE *help = popen("/lib64/ld-linux-x86-64.so.2 --help 2>/dev/null", "re");
    char line[400];
    unsigned said = 1, rows = 0;
    while (help && fgets(line, sizeof(line), help))
        for (unsigned level = 2; level <= 4; level++) {
            char name[20];
            (void)snprintf(name, sizeof(name), "  x86-64-v%u", level);
            if (strncmp(line, name, strlen(name)) != 0)
                continue;
            rows++;
            if (strstr(line, "supported"))
                said |= 1u << (level - 1);
        }
    if (help)
        (void)pclose(help);
    if (rows != 3) {
        print_message("this loader does not list the levels, not compared\n");
        return;
    }
    assert_int_equal(m->isa_usable, said);
#endif
}

static void run_hello(int fd)
{
    if (write(fd, "hello", 5) != 5)
        _exit(1);
}

static void run_abort(int fd)
{
    (void)fd;
    abort();
}

static void test_call(void **state)
{
    struct fixture *f = *state;
    const struct text *t = place_call(f->place, "hello", run_hello, 20000);
    assert_int_equal(t->known, KNOWN_PRESENT);
    assert_string_equal(t->at, "hello");
    assert_ptr_equal(place_call(f->place, "hello", run_abort, 20000), t); /* kept by its name */
    t = place_call(f->place, "abort", run_abort, 20000);
    assert_int_equal(t->known, KNOWN_FAILED);
    assert_string_equal(t->at, "crashed (signal 6)");
}

static void test_elf(void **state)
{
    struct fixture *f = *state;
    const struct place_elf *self = place_elf(f->place, "/proc/self/exe");
    assert_int_equal(self->known, KNOWN_PRESENT);
    /* A program: nothing is wrong with it but that. */
    assert_true(self->elf->problem == ELF_PIE || self->elf->problem == ELF_EXECUTABLE);
    assert_true(self->elf->n_needed > 0);
    assert_int_equal(self->elf->ino, place_stat(f->place, "/proc/self/exe")->ino);
    tree_file(f->dir, "text", "no ELF at all, but long enough to hold a header of one, if it were one: 64 bytes\n");
    tree_file(f->dir, "empty", "");
    assert_int_equal(place_elf(f->place, tree_path(f->dir, "text"))->elf->problem, ELF_BAD_MAGIC);
    assert_int_equal(place_elf(f->place, tree_path(f->dir, "empty"))->elf->problem, ELF_TOO_SHORT);
    const struct place_gpu_code *gpu = place_gpu_code(f->place, "/proc/self/exe");
    assert_int_equal(gpu->known, KNOWN_PRESENT);
    assert_int_equal(gpu->code.containers, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown((f), set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_stat),        TEST(test_remembers), TEST(test_never_reads_what_is_no_file),
        TEST(test_unreadable),  TEST(test_list),      TEST(test_many_files),
        TEST(test_text_parts),  TEST(test_text_caps), TEST(test_proc_files_have_no_size),
        TEST(test_sha256),      TEST(test_env_and_cwd), TEST(test_long_paths),
        TEST(test_machine),     TEST(test_call),      TEST(test_elf),
        TEST(test_out_of_descriptors), TEST(test_keeps_no_more_than_it_may),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
