/* A root folder: openat2 keeps every path inside it, or the walker where there is no openat2. */
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "place/internal.h"

static int in_root(int root_fd, const char *path, int flags)
{
    struct open_how how = {
        .flags = (uint64_t)(unsigned)flags,
        .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
    };
    /* EAGAIN: something was renamed meanwhile, and the kernel could not be sure of "..". */
    for (int i = 0; i < 8; i++) {
        int fd = (int)RETRY(syscall(SYS_openat2, root_fd, path, &how, sizeof(how)));
        if (fd >= 0)
            return fd;
        if (errno != EAGAIN)
            break;
    }
    return -errno;
}

static int root_open(const struct place *p, const char *path, int flags)
{
    return p->walker ? place_walk(p->root_fd, path, flags, NULL) : in_root(p->root_fd, path, flags);
}

static int root_stat(const struct place *p, const char *path, bool follow, struct stat *ret)
{
    cleanup_(closep) int fd = root_open(p, path, O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW));
    if (fd < 0)
        return fd;
    return RETRY(fstat(fd, ret)) == 0 ? 0 : -errno;
}

static int root_readlink(const struct place *p, const char *path, char buf[PATH_MAX])
{
    cleanup_(closep) int fd = root_open(p, path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return fd;
    ssize_t n = RETRY(readlinkat(fd, "", buf, PATH_MAX));
    if (n < 0)
        return errno == ENOENT ? -EINVAL : -errno; /* ENOENT: the descriptor is no link */
    if (n >= PATH_MAX)
        return -ENAMETOOLONG;
    buf[n] = '\0';
    return 0;
}

/* Always by walking: the kernel's own words for a descriptor depend on mounts and on how the root was named. */
static int root_realpath(const struct place *p, const char *path, char buf[PATH_MAX])
{
    cleanup_(closep) int fd = place_walk(p->root_fd, path, O_PATH | O_CLOEXEC, buf);
    return fd < 0 ? fd : 0;
}

const struct backing place_backing_root = { root_open, root_stat, root_readlink, root_realpath };

int place_open_root(const char *dir, struct place **ret, struct err *e)
{
    int fd = RETRY(open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (fd < 0)
        return err_set(e, errno == ENOENT ? ERR_NOT_FOUND : ERR_READ, "cannot use '%s' as root: %s", dir,
                       strerror(errno));
    struct place *p = place_new(PLACE_ROOT, dir);
    p->backing = &place_backing_root;
    p->root_fd = fd;
    place_set_cwd(p, "/");
    cleanup_(closep) int try = in_root(fd, ".", O_PATH | O_CLOEXEC);
    p->walker = try < 0; /* ENOSYS before Linux 5.6, EPERM under old seccomp filters */
    *ret = p;
    return 0;
}
