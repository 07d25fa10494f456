/* The live machine: plain openat and fstatat. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "place/internal.h"

static int live_open(const struct place *p, const char *path, int flags)
{
    (void)p;
    int fd = RETRY(openat(AT_FDCWD, path, flags));
    return fd >= 0 ? fd : -errno;
}

static int live_stat(const struct place *p, const char *path, bool follow, struct stat *ret)
{
    (void)p;
    return RETRY(fstatat(AT_FDCWD, path, ret, follow ? 0 : AT_SYMLINK_NOFOLLOW)) == 0 ? 0 : -errno;
}

static int live_readlink(const struct place *p, const char *path, char buf[PATH_MAX])
{
    (void)p;
    ssize_t n = RETRY(readlinkat(AT_FDCWD, path, buf, PATH_MAX));
    if (n < 0)
        return -errno;
    if (n >= PATH_MAX)
        return -ENAMETOOLONG;
    buf[n] = '\0';
    return 0;
}

/* The kernel knows the resolved path of a descriptor: three calls instead of one a component. Where /proc is not
 * there, or the file has no path that we could see, realpath(3) walks. */
static int live_realpath(const struct place *p, const char *path, char buf[PATH_MAX])
{
    cleanup_(closep) int fd = live_open(p, path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return fd;
    char proc[40];
    (void)snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
    ssize_t n = readlinkat(AT_FDCWD, proc, buf, PATH_MAX);
    if (n > 0 && n < PATH_MAX && buf[0] == '/') {
        buf[n] = '\0';
        if (!strstr(buf, " (deleted)"))
            return 0;
    }
    return realpath(path, buf) ? 0 : -errno;
}

const struct backing place_backing_live = { live_open, live_stat, live_readlink, live_realpath };

int place_open_live(struct place **ret, struct err *e)
{
    char cwd[PATH_MAX];
    if (!getcwd(cwd, sizeof(cwd)) || cwd[0] != '/')
        (void)snprintf(cwd, sizeof(cwd), "/");
    (void)e;
    struct place *p = place_new(PLACE_LIVE, "this machine");
    p->backing = &place_backing_live;
    place_set_cwd(p, cwd);
    *ret = p;
    return 0;
}
