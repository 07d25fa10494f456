/* The whole program with its system calls in our hand: runs it again and again, each time with another call failing.
 *
 *     fault count -- ARG...                        how many calls the run makes
 *     fault each ERRNOS FIRST STEP -- ARG...       the n-th call fails once, n = FIRST, FIRST + STEP, ... to the last
 *     fault from ERRNOS FIRST STEP -- ARG...       so do all behind it
 *     fault openat2 ERRNO -- ARG...                one run, every openat2 fails (ENOSYS: a kernel without it)
 *
 * ERRNOS is a list (EIO,EMFILE) that is gone through in turn. A call gets what it can fail with: EINTR and EACCES only
 * where the kernel says so, EMFILE only where a descriptor is made; else EIO. Standard output has a JSON line for each
 * run; an answer that was there before is named by its number ("same"). The last line has the number of runs. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/jsonw.h"
#include "base/str.h"
#include "base/vec.h"

#undef main /* the program's own main is called ortfit_main here */
int ortfit_main(int argc, char **argv);

enum { HANG_S = 20, OUTPUT_MAX = 16 * 1024 * 1024 };

/* Shared with the child, which counts and fails. */
struct plan {
    long n;       /* calls so far */
    long fail_at; /* 0: none */
    bool on;      /* inside the program */
    bool from;    /* all from there on */
    bool openat2_only;
    int want, error;          /* what the call shall fail with, and what it did */
    char call[16], path[512]; /* what failed first */
};
static struct plan *plan;

enum { MAKES_FD = 1, BY_PATH = 2, MAY_WAIT = 4 };

static int possible(int error, int kind)
{
    bool fits = error == EMFILE || error == ENFILE ? (kind & MAKES_FD) != 0
                : error == EACCES                  ? (kind & BY_PATH) != 0
                : error == EINTR                   ? (kind & MAY_WAIT) != 0
                                                   : true;
    return fits ? error : EIO;
}

/* Whether this call is to fail; errno is then set. */
static bool fails(const char *call, const char *path, int kind)
{
    if (!plan || !plan->on)
        return false;
    if (plan->openat2_only) {
        errno = plan->want;
        return str_eq(call, "openat2");
    }
    long n = ++plan->n;
    if (plan->fail_at == 0 || n < plan->fail_at || (n > plan->fail_at && !plan->from))
        return false;
    if (n == plan->fail_at) {
        (void)snprintf(plan->call, sizeof(plan->call), "%s", call);
        (void)snprintf(plan->path, sizeof(plan->path), "%s", path);
        plan->error = possible(plan->want, kind);
    }
    errno = possible(plan->want, kind);
    return true;
}

/* The file behind a descriptor, for the report. */
static const char *name_of(int fd)
{
    static char name[512];
    char link[64];
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = plan && plan->on && plan->n + 1 == plan->fail_at ? readlink(link, name, sizeof(name) - 1) : 0;
    name[n > 0 ? n : 0] = '\0';
    return name;
}

/* ---- the calls; the linker sends the program's here (--wrap) ---- */

#define WRAP(type, name, params, args, path, kind, failure) \
    type __real_##name params;                        \
    type __wrap_##name params;                        \
    type __wrap_##name params                         \
    {                                                 \
        if (fails(#name, path, kind))                 \
            return failure;                           \
        return __real_##name args;                    \
    }

WRAP(int, fstat64, (int fd, void *st), (fd, st), name_of(fd), 0, -1)
WRAP(int, fstatat64, (int dir, const char *path, void *st, int flags), (dir, path, st, flags), path, BY_PATH, -1)
WRAP(int, fstatfs64, (int fd, void *fs), (fd, fs), name_of(fd), 0, -1)
WRAP(ssize_t, getdents64, (int fd, void *buf, size_t n), (fd, buf, n), name_of(fd), MAY_WAIT, -1)
WRAP(ssize_t, read, (int fd, void *buf, size_t n), (fd, buf, n), name_of(fd), MAY_WAIT, -1)
WRAP(ssize_t, pread64, (int fd, void *buf, size_t n, int64_t at), (fd, buf, n, at), name_of(fd), MAY_WAIT, -1)
WRAP(ssize_t, readlinkat, (int dir, const char *path, char *buf, size_t n), (dir, path, buf, n),
     *path ? path : name_of(dir), BY_PATH, -1)
WRAP(void *, mmap64, (void *at, size_t n, int prot, int flags, int fd, int64_t offset),
     (at, n, prot, flags, fd, offset), name_of(fd), 0, MAP_FAILED)
WRAP(char *, realpath, (const char *path, char *buf), (path, buf), path, BY_PATH, NULL)
WRAP(char *, getcwd, (char *buf, size_t n), (buf, n), "", BY_PATH, NULL)
WRAP(FILE *, fopen64, (const char *path, const char *mode), (path, mode), path, MAKES_FD | BY_PATH, NULL)
WRAP(int, pipe2, (int ends[2], int flags), (ends, flags), "", MAKES_FD, -1)
WRAP(pid_t, fork, (void), (), "", 0, -1)

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...)
{
    return fails("open", path, MAKES_FD | BY_PATH | MAY_WAIT) ? -1 : __real_open64(path, flags, 0666);
}

int __real_openat64(int dir, const char *path, int flags, ...);
int __wrap_openat64(int dir, const char *path, int flags, ...);
int __wrap_openat64(int dir, const char *path, int flags, ...)
{
    return fails("openat", path, MAKES_FD | BY_PATH | MAY_WAIT) ? -1 : __real_openat64(dir, path, flags, 0666);
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
    long a[4];
    va_list ap;
    va_start(ap, number);
    for (size_t i = 0; i < ARRAY_LEN(a); i++)
        a[i] = va_arg(ap, long);
    va_end(ap);
    if (number == SYS_openat2 ? fails("openat2", (const char *)a[1], MAKES_FD | BY_PATH | MAY_WAIT)
                              : fails("syscall", "", MAKES_FD))
        return -1;
    return __real_syscall(number, a[0], a[1], a[2], a[3]);
}

/* A snapshot holds the time; answers are compared. */
time_t __wrap_time(time_t *ret);
time_t __wrap_time(time_t *ret)
{
    if (ret)
        *ret = 1796083200;
    return 1796083200;
}

/* ---- runs ---- */

struct answer {
    int code, signal; /* signal SIGALRM: it hung */
    struct str out, err;
};

static void slurp(int fd, struct str *ret)
{
    char buf[16 * 1024];
    ssize_t n;
    (void)lseek(fd, 0, SEEK_SET);
    while (ret->len < OUTPUT_MAX && (n = __real_read(fd, buf, sizeof(buf))) > 0)
        str_addn(ret, buf, (size_t)n);
}

static void answer_done(struct answer *a)
{
    str_done(&a->out);
    str_done(&a->err);
}

/* One run of the program in a child. False: the child could not be started. */
static bool run(int argc, char **argv, struct answer *ret)
{
    *ret = (struct answer){ 0 };
    cleanup_(closep) int out = memfd_create("out", 0);
    cleanup_(closep) int err = memfd_create("err", 0);
    (void)fflush(stdout); /* or the child would write it once more */
    pid_t pid = out >= 0 && err >= 0 ? __real_fork() : -1;
    if (pid < 0)
        return false;
    if (pid == 0) {
        if (dup2(out, 1) < 0 || dup2(err, 2) < 0)
            _exit(127);
        (void)alarm(HANG_S);
        plan->on = true;
        int code = ortfit_main(argc, argv);
        plan->on = false;
        exit(code);
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0)
        continue;
    plan->on = false;
    ret->code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    ret->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    slurp(out, &ret->out);
    slurp(err, &ret->err);
    return true;
}

static uint64_t hash(uint64_t h, const struct str *s)
{
    for (size_t i = 0; i < s->len; i++)
        h = (h ^ (unsigned char)s->at[i]) * UINT64_C(1099511628211);
    return (h ^ 0xff) * UINT64_C(1099511628211);
}

struct seen {
    VEC(uint64_t);
};

/* The number of this answer; seen->n before the call: a new one. */
static size_t number_of(struct seen *seen, const struct answer *a)
{
    uint64_t h = hash(hash(UINT64_C(14695981039346656037) + (unsigned)a->code + 1000u * (unsigned)a->signal, &a->out), &a->err);
    for (size_t i = 0; i < seen->n; i++)
        if (seen->at[i] == h)
            return i;
    vec_push(seen, h);
    return seen->n - 1;
}

/* same: the number of an earlier answer, or -1. */
static void say(const struct answer *a, long same)
{
    struct json j;
    json_begin(&j, stdout, false);
    json_obj_inline(&j);
    json_kint(&j, "n", plan->fail_at);
    json_kstr(&j, "errno", strerrorname_np(plan->error));
    json_kstr(&j, "call", plan->call);
    json_kstr(&j, "path", plan->path);
    if (same >= 0) {
        json_kint(&j, "same", same);
        json_obj_end(&j);
        json_end(&j);
        return;
    }
    json_kint(&j, "code", a->code);
    json_kint(&j, "signal", a->signal);
    json_key(&j, "out");
    json_strn(&j, str_get(&a->out), a->out.len);
    json_key(&j, "err");
    json_strn(&j, str_get(&a->err), a->err.len);
    json_obj_end(&j);
    json_end(&j);
}

static int error_of(const char *name)
{
    for (int n = 1; n < 256; n++)
        if (strerrorname_np(n) && str_eq(strerrorname_np(n), name))
            return n;
    fprintf(stderr, "fault: no such errno: '%s'\n", name);
    exit(2);
}

struct errors {
    VEC(int);
};

static void split_errors(char *list, struct errors *ret)
{
    for (char *word; (word = strsep(&list, ","));)
        vec_push(ret, error_of(word));
}

/* The runs of `each` and `from`. Ends at the first n that the program does not reach. */
static long all(const struct errors *errors, bool from, long first, long step, int argc, char **argv)
{
    struct seen seen = { 0 };
    long runs = 0;
    for (long n = first;; n += step, runs++) {
        struct answer a;
        *plan = (struct plan){ .fail_at = n, .from = from, .want = errors->at[(size_t)runs % errors->n] };
        if (!run(argc, argv, &a)) {
            perror("fault");
            exit(2);
        }
        bool reached = plan->n >= n;
        size_t before = seen.n, number = reached ? number_of(&seen, &a) : 0;
        if (reached)
            say(&a, number < before ? (long)number : -1);
        answer_done(&a);
        if (!reached) {
            vec_done(&seen);
            return runs;
        }
    }
}

int main(int argc, char **argv)
{
    int at = 1;
    while (at < argc && !str_eq(argv[at], "--"))
        at++;
    const char *mode = argc > 1 ? argv[1] : "";
    plan = mmap(NULL, sizeof(*plan), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (plan == MAP_FAILED || at >= argc) {
        fputs("usage: see fault.c\n", stderr);
        return 2;
    }
    argv[at] = (char *)(uintptr_t)"ortfit";
    if (str_eq(mode, "count") || (str_eq(mode, "openat2") && at == 3)) {
        struct answer a;
        *plan = (struct plan){ .openat2_only = at == 3, .want = at == 3 ? error_of(argv[2]) : 0 };
        if (!run(argc - at, argv + at, &a))
            return 2;
        plan->fail_at = plan->n;
        say(&a, -1);
        answer_done(&a);
        return 0;
    }
    if (at != 5 || !(str_eq(mode, "each") || str_eq(mode, "from")))
        return 2;
    struct errors errors = { 0 };
    split_errors(argv[2], &errors);
    long runs = all(&errors, str_eq(mode, "from"), strtol(argv[3], NULL, 10), strtol(argv[4], NULL, 10), argc - at,
                    argv + at);
    printf("{\"runs\":%ld}\n", runs);
    vec_done(&errors);
    return 0;
}
