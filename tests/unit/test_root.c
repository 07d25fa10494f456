/* --root: nothing leads out, by openat2 and by the walker alike, and both give the same answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/inotify.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "place/internal.h"
#include "tree.h"

static const char *const links[][2] = {
    { "up", "../../../../../../../../etc/passwd" },
    { "deep/er/up", "../../../../etc/passwd" },
    { "abs", "/etc/passwd" },
    { "abs-dots", "/../../etc/passwd" },
    { "dotdot", ".." },
    { "slash", "/" },
    { "deep/slash", "//.//" },
    { "etc-link", "etc/" },
    { "rel-secret", "../secret" },
    { "loop1", "loop2" },
    { "loop2", "loop1" },
    { "self", "self" },
    { "self-dir", "self-dir/x" },
    { "dangling", "etc/none" },
    { "abs-dangling", "/none/x" },
    { "through-file", "etc/passwd/x" },
    { "file-slash", "etc/passwd/" },
    { "proc-root", "/proc/self/root/etc/passwd" },
    { "proc-cwd", "/proc/self/cwd" },
    { "fake-proc", "/proc2/self/root" },
};

/* name, errno of stat, real path */
static const struct walk_case {
    const char *path;
    int error;
    const char *real;
} cases[] = {
    { "/etc/passwd", 0, "/etc/passwd" },
    { "/", 0, "/" },
    { "/..", 0, "/" },
    { "/../../..", 0, "/" },
    { "/../etc/../../etc/passwd", 0, "/etc/passwd" },
    { "//etc//./passwd", 0, "/etc/passwd" },
    { "/etc", 0, "/etc" },
    { "/etc/", 0, "/etc" },
    { "/etc/.", 0, "/etc" },
    { "/etc/..", 0, "/" },
    { "/etc/passwd/", ENOTDIR, NULL },
    { "/etc/passwd/.", ENOTDIR, NULL },
    { "/etc/passwd/..", ENOTDIR, NULL },
    { "/etc/passwd/x", ENOTDIR, NULL },
    { "/none", ENOENT, NULL },
    { "/none/..", ENOENT, NULL },
    { "/none/../etc/passwd", ENOENT, NULL },
    { "/up", 0, "/etc/passwd" },
    { "/deep/er/up", 0, "/etc/passwd" },
    { "/deep/er/../er/up", 0, "/etc/passwd" },
    { "/abs", 0, "/etc/passwd" },
    { "/abs-dots", 0, "/etc/passwd" },
    { "/abs/", ENOTDIR, NULL },
    { "/dotdot", 0, "/" },
    { "/dotdot/etc/passwd", 0, "/etc/passwd" },
    { "/slash", 0, "/" },
    { "/slash/slash/deep/slash/etc", 0, "/etc" },
    { "/slash/..", 0, "/" },
    { "/etc-link", 0, "/etc" },
    { "/etc-link/passwd", 0, "/etc/passwd" },
    { "/etc-link/../etc/passwd", 0, "/etc/passwd" },
    { "/rel-secret", ENOENT, NULL },
    { "/loop1", ELOOP, NULL },
    { "/loop1/x", ELOOP, NULL },
    { "/self", ELOOP, NULL },
    { "/self-dir", ELOOP, NULL },
    { "/dangling", ENOENT, NULL },
    { "/abs-dangling", ENOENT, NULL },
    { "/through-file", ENOTDIR, NULL },
    { "/file-slash", ENOTDIR, NULL },
    { "/chain1", 0, "/etc/passwd" },   /* 40 links: the kernel's limit */
    { "/chain0", ELOOP, NULL },        /* 41 */
    { "/dir/l1/l2/file", 0, "/dir/b/c/file" },
    { "/dir/l1/../b/c/file", 0, "/dir/b/c/file" },
    { "/dir/l1/l2/../../l1", 0, "/dir/b" },
};

static char *make_tree(void)
{
    char *dir = tree_new();
    tree_file(dir, "secret", "secret");
    tree_file(dir, "root/etc/passwd", "inside");
    tree_file(dir, "root/dir/b/c/file", "file");
    tree_link(dir, "root/dir/l1", "b");
    tree_link(dir, "root/dir/b/l2", "../b/c");
    tree_dir(dir, "root/deep/er");
    char name[300], target[300];
    for (size_t i = 0; i < ARRAY_LEN(links); i++) {
        (void)snprintf(name, sizeof(name), "root/%s", links[i][0]);
        tree_link(dir, name, links[i][1]);
    }
    for (int i = 0; i <= 40; i++) {
        (void)snprintf(name, sizeof(name), "root/chain%d", i);
        (void)snprintf(target, sizeof(target), i == 40 ? "etc/passwd" : "chain%d", i + 1);
        tree_link(dir, name, target);
    }
    (void)snprintf(target, sizeof(target), "%s/secret", dir);
    tree_link(dir, "root/abs-secret", target);
    tree_link(dir, "root-link", "root");
    return dir;
}

static struct place *open_root(const char *dir, bool walker)
{
    struct place *p;
    struct err e = { 0 };
    if (place_open_root(dir, &p, &e) != 0)
        fail_msg("%s", e.text);
    if (walker)
        p->walker = true;
    else if (p->walker)
        print_message("no openat2 here: the walker is tested twice\n");
    return p;
}

static void check_cases(const char *dir, bool walker)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct place *p = open_root(dir, walker);
        const struct file_info *st = place_stat(p, cases[i].path);
        const char *real = place_realpath(p, cases[i].path);
        if (st->error != cases[i].error || !real != !cases[i].real || (real && strcmp(real, cases[i].real) != 0))
            fail_msg("%s (walker %d): errno %d, real %s", cases[i].path, walker, st->error, real ? real : "-");
        if (real)
            assert_true(st->ino == place_stat(p, real)->ino);
        place_free(p);
    }
}

static void test_stays_inside(void **state)
{
    (void)state;
    char *dir = make_tree();
    check_cases(tree_path(dir, "root"), false);
    check_cases(tree_path(dir, "root"), true);
    check_cases(tree_path(dir, "root-link"), true);
    check_cases(tree_path(dir, "root-link/."), false);
    for (int walker = 0; walker <= 1; walker++) {
        struct place *p = open_root(tree_path(dir, "root"), walker);
        assert_string_equal(place_text(p, "/up", TEXT_WHOLE)->at, "inside");
        assert_string_equal(place_text(p, "/abs", TEXT_WHOLE)->at, "inside");
        assert_string_equal(place_text(p, "/../../etc/passwd", TEXT_WHOLE)->at, "inside");
        assert_int_equal(place_text(p, "/rel-secret", TEXT_WHOLE)->error, ENOENT);
        assert_int_equal(place_text(p, "/abs-secret", TEXT_WHOLE)->error, ENOENT);
        assert_int_equal(place_text(p, "/../secret", TEXT_WHOLE)->error, ENOENT);
        assert_int_equal(place_text(p, "/proc-root", TEXT_WHOLE)->error, ENOENT);
        assert_int_equal(place_list(p, "/slash")->n, place_list(p, "/")->n);
        assert_string_equal(place_readlink(p, "/up"), links[0][1]);
        assert_null(place_readlink(p, "/etc"));
        assert_null(place_readlink(p, "/etc/passwd"));
        assert_int_equal(place_lstat(p, "/self")->type, FILE_LINK);
        assert_int_equal(place_lstat(p, "/etc-link")->type, FILE_LINK);
        assert_int_equal(place_lstat(p, "/etc-link/")->type, FILE_DIR);
        place_free(p);
    }
    tree_remove(dir);
}

/* Every answer of both ways, over every pair of names put together. */
static void compare(struct place *a, struct place *b, const char *path)
{
    const struct file_info *x[2] = { place_stat(a, path), place_lstat(a, path) };
    const struct file_info *y[2] = { place_stat(b, path), place_lstat(b, path) };
    for (int i = 0; i < 2; i++)
        if (x[i]->error != y[i]->error || x[i]->type != y[i]->type || x[i]->ino != y[i]->ino)
            fail_msg("%s: %s: openat2 %d %d, walker %d %d", path, i ? "lstat" : "stat", x[i]->error, x[i]->type,
                     y[i]->error, y[i]->type);
    const char *l = place_readlink(a, path), *m = place_readlink(b, path);
    if (!l != !m || (l && strcmp(l, m) != 0))
        fail_msg("%s: link %s, walker %s", path, l ? l : "-", m ? m : "-");
    const struct text *t = place_text(a, path, TEXT_FIRST_LINE), *u = place_text(b, path, TEXT_FIRST_LINE);
    if (t->error != u->error || strcmp(t->at, u->at) != 0)
        fail_msg("%s: text %d '%s', walker %d '%s'", path, t->error, t->at, u->error, u->at);
    const struct listing *d = place_list(a, path), *f = place_list(b, path);
    if (d->error != f->error || d->n != f->n)
        fail_msg("%s: list %d %zu, walker %d %zu", path, d->error, d->n, f->error, f->n);
}

static void test_walker_is_openat2(void **state)
{
    (void)state;
    char *dir = make_tree();
    struct place *a = open_root(tree_path(dir, "root"), false), *b = open_root(tree_path(dir, "root"), true);
    const struct listing *names = place_list(a, "/");
    assert_true(names->n > 50);
    static const char *const tails[] = { "", "/", "/.", "/..", "/etc/passwd", "/../secret", "/slash/etc", "/loop1" };
    for (size_t i = 0; i < names->n; i++)
        for (size_t k = 0; k < ARRAY_LEN(tails) + names->n; k++) {
            char path[300];
            const char *tail = k < ARRAY_LEN(tails) ? tails[k] : names->at[k - ARRAY_LEN(tails)].name;
            (void)snprintf(path, sizeof(path), "/%s%s%s", names->at[i].name, k < ARRAY_LEN(tails) ? "" : "/", tail);
            compare(a, b, path);
        }
    place_free(a);
    place_free(b);
    tree_remove(dir);
}

/* A real /proc below the root: its links lead anywhere unless they are refused. */
static void check_magic_links(const char *root)
{
    for (int walker = 0; walker <= 1; walker++) {
        struct place *p = open_root(root, walker);
        const char *paths[] = { "/proc/self/root", "/proc/self/root/etc/passwd", "/proc/self/cwd", "/proc/self/exe",
                                "/proc/thread-self/root", "/proc/self/fd/0" };
        for (size_t i = 0; i < ARRAY_LEN(paths); i++)
            if (place_stat(p, paths[i])->error != ELOOP)
                fail_msg("%s (walker %d): errno %d", paths[i], walker, place_stat(p, paths[i])->error);
        assert_int_equal(place_lstat(p, "/proc/self/root")->type, FILE_LINK);
        assert_int_equal(place_text(p, "/proc/self/root/etc/passwd", TEXT_WHOLE)->error, ELOOP);
        /* Plain links of /proc are just links. */
        assert_int_equal(place_stat(p, "/proc/self/status")->error, 0);
        assert_int_equal(place_stat(p, "/proc/mounts")->error, 0);
        place_free(p);
    }
}

static void test_magic_links(void **state)
{
    (void)state;
    check_magic_links("/");
}

static void test_proc_inside(void **state)
{
    (void)state;
    char *dir = make_tree();
    tree_dir(dir, "root/proc");
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
            mount("/proc", tree_path(dir, "root/proc"), NULL, MS_BIND, NULL) != 0)
            _exit(77);
        struct place *p[2] = { open_root(tree_path(dir, "root"), false), open_root(tree_path(dir, "root"), true) };
        int bad = 0;
        for (int i = 0; i < 2; i++) {
            bad += place_text(p[i], "/proc-root", TEXT_WHOLE)->error != ELOOP;
            bad += place_list(p[i], "/proc-cwd")->error != ELOOP;
            bad += place_text(p[i], "/proc/self/root/etc/passwd", TEXT_WHOLE)->error != ELOOP;
            bad += place_stat(p[i], "/proc/self/status")->error != 0;
        }
        _exit(bad);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    tree_remove(dir);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        print_message("no mount namespace here: /proc inside a root not tested\n");
        skip();
    }
    assert_int_equal(status, 0);
}

static void test_names_and_kinds(void **state)
{
    (void)state;
    char *dir = make_tree();
    struct place *p;
    struct err e = { 0 };
    assert_int_equal(place_open_root(tree_path(dir, "none"), &p, &e), -(int)ERR_NOT_FOUND);
    assert_non_null(strstr(e.text, "none"));
    assert_int_equal(place_open_root(tree_path(dir, "secret"), &p, &e), -(int)ERR_READ);
    p = open_root(tree_path(dir, "root"), false);
    assert_int_equal(place_kind(p), PLACE_ROOT);
    assert_string_equal(place_cwd(p), "/");
    assert_string_equal(place_name(p), tree_path(dir, "root"));
    assert_int_equal(setenv("ORTFIT_TEST_A", "one", 1), 0);
    assert_null(place_getenv(p, "ORTFIT_TEST_A")); /* ours is not its */
    place_setenv(p, "ORTFIT_TEST_A", "two");
    assert_string_equal(place_getenv(p, "ORTFIT_TEST_A"), "two");
    assert_null(place_machine(p)->user);
    assert_null(place_machine(p)->hostname);
    assert_int_equal(place_call(p, "x", NULL, 1000)->known, KNOWN_NOT_LOOKED);
    place_free(p);
    /* a root with nothing in it */
    tree_dir(dir, "bare");
    p = open_root(tree_path(dir, "bare"), false);
    assert_int_equal(place_text(p, "/etc/os-release", TEXT_WHOLE)->known, KNOWN_ABSENT);
    assert_int_equal(place_list(p, "/")->n, 0);
    place_free(p);
    tree_remove(dir);
}

/* Folders move while they are walked: an answer may be wrong then, but never from outside. */
static void test_moved_meanwhile(void **state)
{
    (void)state;
    char *dir = make_tree();
    tree_file(dir, "etc/passwd", "outside");
    tree_dir(dir, "root/a/b/c/d");
    tree_dir(dir, "park");
    char in[PATH_MAX], out[PATH_MAX];
    (void)snprintf(in, sizeof(in), "%s/root/a/b/c", dir);
    (void)snprintf(out, sizeof(out), "%s/park/c", dir);
    pid_t pid = fork();
    if (pid == 0)
        for (;;) {
            (void)rename(in, out);
            (void)rename(out, in);
        }
    unsigned seen = 0;
    for (int i = 0; i < 20000; i++) {
        int root = open(tree_path(dir, "root"), O_PATH | O_DIRECTORY | O_CLOEXEC);
        int fd = place_walk(root, "/a/b/c/d/../../../../etc/passwd", O_RDONLY | O_CLOEXEC, NULL);
        char text[16] = "";
        if (fd >= 0) {
            seen++;
            if (read(fd, text, sizeof(text) - 1) < 0 || strcmp(text, "inside") != 0)
                fail_msg("read '%s'", text);
            (void)close(fd);
        }
        (void)close(root);
    }
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    assert_true(seen > 0);
    tree_remove(dir);
}

/* A FIFO stands for a device node, which only root could make: neither is ever opened. */
static void test_opens_no_node(void **state)
{
    (void)state;
    char *dir = tree_new();
    struct place *p = NULL;
    tree_file(dir, "file", "1");
    assert_int_equal(mkfifo(tree_path(dir, "fifo"), 0644), 0);
    tree_link(dir, "to-fifo", "fifo");
    assert_int_equal(place_open_root(dir, &p, NULL), 0);
    cleanup_(closep) int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    assert_true(watch >= 0);
    assert_true(inotify_add_watch(watch, tree_path(dir, "fifo"), IN_OPEN) >= 0);
    static const char *const names[] = { "/fifo", "/to-fifo" };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        assert_int_equal(place_text(p, names[i], TEXT_WHOLE)->error, EINVAL);
        assert_int_equal(place_elf(p, names[i])->error, EINVAL);
        assert_int_equal(place_gpu_code(p, names[i])->error, EINVAL);
        assert_null(place_sha256(p, names[i], 100));
        assert_int_equal(place_list(p, names[i])->error, ENOTDIR);
    }
    char events[4096];
    assert_int_equal(read(watch, events, sizeof(events)), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(place_text(p, "/file", TEXT_WHOLE)->known, KNOWN_PRESENT);
    place_free(p);
    tree_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stays_inside), cmocka_unit_test(test_walker_is_openat2),
        cmocka_unit_test(test_magic_links),  cmocka_unit_test(test_proc_inside),
        cmocka_unit_test(test_names_and_kinds), cmocka_unit_test(test_moved_meanwhile),
        cmocka_unit_test(test_opens_no_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
