/* base/proc: what a child writes, and every way in which it may not come to an end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/proc.h"

static double seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void say(int fd, const char *text)
{
    if (write(fd, text, strlen(text)) < 0)
        _exit(99);
}

static void run_plain(int fd)
{
    puts("this goes nowhere");
    fputs("nor this\n", stderr);
    say(fd, "one ");
    say(fd, "two");
}

static void run_silent(int fd)
{
    (void)fd;
}

static void run_crash(int fd)
{
    say(fd, "before");
    (void)raise(SIGSEGV);
}

static void run_abort(int fd)
{
    (void)fd;
    abort();
}

static void run_exit(int fd)
{
    (void)fd;
    _exit(3);
}

static void run_hang(int fd)
{
    say(fd, "got this far");
    for (;;)
        (void)pause();
}

static void run_closes_and_hangs(int fd)
{
    (void)close(fd);
    for (;;)
        (void)pause();
}

static void run_ignores_signals(int fd)
{
    (void)fd;
    sigset_t all;
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, NULL);
    for (;;)
        (void)pause();
}

static void run_endless(int fd)
{
    for (;;)
        say(fd, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
}

/* The grandchild keeps the pipe open long after the child is gone. */
static void run_leaves_a_grandchild(int fd)
{
    say(fd, "parent done");
    if (fork() == 0) {
        (void)sleep(20);
        _exit(0);
    }
}

static void run_reports_descriptors(int fd)
{
    static const char want[] = "/dev/null";
    for (int i = 0; i <= 2; i++) {
        struct stat st, null;
        if (fstat(i, &st) != 0 || stat(want, &null) != 0 || st.st_rdev != null.st_rdev)
            say(fd, "bad ");
    }
    say(fd, "done");
}

static const struct proc_case {
    const char *name;
    void (*run)(int fd);
    int timeout_ms;
    size_t max_bytes;
    const char *out, *error; /* error NULL: succeeds */
    bool cut;
} cases[] = {
    { "plain", run_plain, 20000, 100, "one two", NULL, false },
    { "silent", run_silent, 20000, 100, "", NULL, false },
    { "exactly full", run_plain, 20000, 7, "one two", NULL, false },
    { "cut", run_plain, 20000, 5, "one t", NULL, true },
    { "crash", run_crash, 20000, 100, "before", "crashed (signal 11)", false },
    { "abort", run_abort, 20000, 100, "", "crashed (signal 6)", false },
    { "exit", run_exit, 20000, 100, "", "exited with 3", false },
    { "hang", run_hang, 300, 100, "got this far", "timed out after 0.3 s", false },
    { "closes and hangs", run_closes_and_hangs, 300, 100, "", "timed out after 0.3 s", false },
    { "ignores signals", run_ignores_signals, 300, 100, "", "timed out after 0.3 s", false },
    { "endless", run_endless, 20000, 3, "aaa", NULL, true },
    { "grandchild", run_leaves_a_grandchild, 10000, 100, "parent done", NULL, false },
    { "descriptors", run_reports_descriptors, 20000, 100, "done", NULL, false },
};

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct proc_case *c = &cases[i];
        struct str out = { 0 };
        struct err e = { 0 };
        bool cut;
        double begin = seconds();
        int r = proc_call(c->run, c->timeout_ms, c->max_bytes, &out, &cut, &e);
        if (strcmp(str_get(&out), c->out) != 0 || (r == 0) != (c->error == NULL) || cut != c->cut ||
            (c->error && strcmp(e.text, c->error) != 0))
            fail_msg("%s: out '%s' error '%s' (%d) cut %d", c->name, str_get(&out), e.text, r, cut);
        assert_true(r == 0 || r == -(int)ERR_CHILD);
        if (seconds() - begin > 5)
            fail_msg("%s: took %.1f s", c->name, seconds() - begin);
        str_done(&out);
    }
    /* The children are gone and waited for. (Grandchildren are not ours.) */
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static int open_descriptors(void)
{
    int n = 0;
    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static void test_leaks_no_descriptor(void **state)
{
    (void)state;
    int before = open_descriptors();
    for (int i = 0; i < 3; i++) {
        struct str out = { 0 };
        bool cut;
        (void)proc_call(i ? run_crash : run_plain, 20000, 100, &out, &cut, NULL);
        str_done(&out);
    }
    assert_int_equal(open_descriptors(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_leaks_no_descriptor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
