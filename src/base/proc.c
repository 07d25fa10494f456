#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"

static int64_t now_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

__attribute__((noreturn)) static void child(void (*run)(int out_fd), int out_fd, pid_t parent)
{
    /* Whatever handlers we have are for our own faults: here a fault must end the process. */
    static const int faults[] = { SIGSEGV, SIGBUS,  SIGFPE,  SIGILL, SIGABRT,
                                  SIGTRAP, SIGPIPE, SIGTERM, SIGINT };
    for (size_t i = 0; i < ARRAY_LEN(faults); i++)
        (void)signal(faults[i], SIG_DFL);
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127);
    (void)setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
    /* out_fd may be one of 0..2 when the caller had them closed. */
    int out = fcntl(out_fd, F_DUPFD_CLOEXEC, 3);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (out < 0 || null < 0)
        _exit(126);
    for (int fd = 0; fd <= 2; fd++)
        if (dup2(null, fd) < 0)
            _exit(126);
    run(out);
    _exit(0);
}

enum outcome { ENDED, TIMED_OUT, FULL };

/* Collects until the child has closed the pipe or has ended (a grandchild may keep the pipe), or
 * time is up. */
static enum outcome collect(int pipe_fd, int pid_fd, int64_t deadline, size_t max_bytes,
                            struct str *ret)
{
    size_t total = 0;
    for (;;) {
        int64_t left = deadline - now_ms();
        if (left <= 0)
            return TIMED_OUT;
        struct pollfd fds[2] = { { .fd = pipe_fd, .events = POLLIN },
                                 { .fd = pid_fd, .events = POLLIN } };
        int n = poll(fds, 2, left > 60000 ? 60000 : (int)left);
        if (n < 0 && errno != EINTR)
            return ENDED;
        if (n <= 0)
            continue;
        char buf[16 * 1024];
        ssize_t r = read(pipe_fd, buf, sizeof(buf));
        if (r == 0 || (r < 0 && errno != EAGAIN && errno != EINTR))
            return ENDED;
        if (r < 0) {
            if (fds[1].revents)
                return ENDED;
            continue;
        }
        size_t keep = (size_t)r < max_bytes - total ? (size_t)r : max_bytes - total;
        str_addn(ret, buf, keep);
        total += keep;
        if (keep < (size_t)r)
            return FULL;
    }
}

/* Waits for the child until the deadline; false: still running. The pipe may close long before the
 * end. */
static bool reap(pid_t pid, int64_t deadline, int *ret_status)
{
    for (long pause_ns = 100000;; pause_ns = pause_ns < 10000000 ? pause_ns * 2 : pause_ns) {
        pid_t r = waitpid(pid, ret_status, WNOHANG);
        if (r == pid || (r < 0 && errno != EINTR))
            return true;
        if (now_ms() >= deadline)
            return false;
        (void)nanosleep(&(struct timespec){ 0, pause_ns }, NULL);
    }
}

int proc_call(void (*run)(int out_fd), int timeout_ms, size_t max_bytes, struct str *ret,
              bool *ret_cut, struct err *e)
{
    *ret_cut = false;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_set(e, ERR_CHILD, "no pipe: %s", strerror(errno));
    cleanup_(closep) int in = ends[0];
    (void)fcntl(in, F_SETFL, O_NONBLOCK);
    int64_t deadline = now_ms() + timeout_ms;
    pid_t self = getpid(), pid = fork();
    if (pid == 0) {
        (void)close(in);
        child(run, ends[1], self);
    }
    (void)close(ends[1]);
    if (pid < 0)
        return err_set(e, ERR_CHILD, "cannot fork: %s", strerror(errno));
    cleanup_(closep) int pid_fd = (int)syscall(SYS_pidfd_open, pid,
                                               0); /* from Linux 5.3; -1 is ignored by poll */

    enum outcome how = collect(in, pid_fd, deadline, max_bytes, ret);
    *ret_cut = how == FULL;
    int status = 0;
    bool gone = how == ENDED && reap(pid, deadline, &status);
    if (!gone) {
        (void)kill(pid, SIGKILL);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            continue;
        if (how == FULL)
            return 0;
        return err_set(e, ERR_CHILD, "timed out after %d.%d s", timeout_ms / 1000,
                       timeout_ms % 1000 / 100);
    }
    if (WIFSIGNALED(status))
        return err_set(e, ERR_CHILD, "crashed (signal %d)", WTERMSIG(status));
    if (WEXITSTATUS(status) != 0)
        return err_set(e, ERR_CHILD, "exited with %d", WEXITSTATUS(status));
    return 0;
}
