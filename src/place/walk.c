/* The component walker: openat2(RESOLVE_IN_ROOT) in user space. Every step opens one component with O_NOFOLLOW from
 * a descriptor, links are read and resolved by text, and ".." goes down again from the root along the resolved path:
 * no step is ever taken upwards, so that not even a folder that is moved meanwhile leads out. */
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/str.h"
#include "place/internal.h"

enum { WALK_LINKS = 40 };

struct walk {
    int root_fd;
    int at;           /* where we are, O_PATH */
    struct str done;  /* "/usr/lib": the resolved path of at; "" is the root */
    struct str rest;  /* what is left to walk */
    size_t rest_at;
    int links;
};

static void walk_done(struct walk *w)
{
    closep(&w->at);
    str_done(&w->done);
    str_done(&w->rest);
}

static void walk_to(struct walk *w, int fd)
{
    closep(&w->at);
    w->at = fd;
}

static int open_step(int fd, const char *name, int flags)
{
    int r = RETRY(openat(fd, name, flags | O_NOFOLLOW | O_CLOEXEC));
    return r < 0 ? -errno : r;
}

static int walk_root(struct walk *w)
{
    int fd = open_step(w->root_fd, ".", O_PATH | O_DIRECTORY);
    if (fd < 0)
        return fd;
    walk_to(w, fd);
    return 0;
}

/* Down again from the root along text that holds no links. */
static int walk_again(struct walk *w)
{
    int r = walk_root(w);
    for (char *at = w->done.at; r == 0 && at && *at;) {
        at++;
        size_t n = strcspn(at, "/");
        char kept = at[n];
        at[n] = '\0';
        int fd = open_step(w->at, at, O_PATH | O_DIRECTORY);
        at[n] = kept;
        at += n;
        if (fd < 0)
            r = fd;
        else
            walk_to(w, fd);
    }
    return r;
}

static int walk_up(struct walk *w)
{
    char *slash = w->done.at ? strrchr(w->done.at, '/') : NULL;
    if (!slash)
        return 0; /* ".." of the root is the root */
    str_cut(&w->done, (size_t)(slash - w->done.at));
    return walk_again(w);
}

/* The links below /proc/PID (exe, root, cwd, fd/N) do not mean what they say: openat2 refuses them, so do we. */
static int refuse_magic_link(const struct walk *w)
{
    struct statfs fs;
    if (RETRY(fstatfs(w->at, &fs)) != 0)
        return -errno;
    if (fs.f_type != PROC_SUPER_MAGIC)
        return 0;
    for (const char *s = str_get(&w->done); *s;) {
        s++;
        size_t n = strcspn(s, "/");
        if (n > 0 && strspn(s, "0123456789") >= n)
            return -ELOOP;
        s += n;
    }
    return 0;
}

/* Puts the link's text in front of what is left. */
static int walk_link(struct walk *w, int fd)
{
    int r = ++w->links > WALK_LINKS ? -ELOOP : refuse_magic_link(w);
    if (r < 0)
        return r;
    char text[PATH_MAX];
    ssize_t n = RETRY(readlinkat(fd, "", text, sizeof(text)));
    if (n < 0)
        return -errno;
    if (n == 0)
        return -ENOENT;
    struct str rest = { 0 };
    str_addn(&rest, text, (size_t)n);
    str_add(&rest, w->rest.at + w->rest_at);
    str_done(&w->rest);
    w->rest = rest;
    w->rest_at = 0;
    if (rest.len >= PATH_MAX)
        return -ENAMETOOLONG;
    if (text[0] != '/')
        return 0;
    str_cut(&w->done, 0);
    return walk_root(w);
}

/* One component. is_last: nothing but the name itself is left, so the caller's flags decide about a link and about
 * how to open. 1: opened with the caller's flags into *ret_fd; 0: go on. */
static int walk_step(struct walk *w, char *name, bool is_last, int flags, int *ret_fd)
{
    if (strcmp(name, "..") == 0) {
        int self = open_step(w->at, ".", O_PATH | O_DIRECTORY);
        if (self < 0)
            return self;
        (void)close(self);
        return walk_up(w);
    }
    if (strcmp(name, ".") == 0) {
        int self = open_step(w->at, ".", O_PATH | O_DIRECTORY);
        if (self < 0)
            return self;
        walk_to(w, self);
        return 0;
    }
    cleanup_(closep) int fd = open_step(w->at, name, O_PATH);
    if (fd < 0)
        return fd;
    struct stat st;
    if (RETRY(fstat(fd, &st)) != 0)
        return -errno;
    if (S_ISLNK(st.st_mode) && !(is_last && (flags & O_NOFOLLOW)))
        return walk_link(w, fd);
    str_addc(&w->done, '/');
    str_add(&w->done, name);
    if (is_last) {
        int opened = open_step(w->at, name, flags);
        if (opened < 0)
            return opened;
        *ret_fd = opened;
        return 1;
    }
    walk_to(w, fd);
    fd = -1; /* kept */
    return 0;
}

static int walk_all(struct walk *w, int flags, int *ret_fd)
{
    int r = walk_root(w);
    while (r == 0) {
        char *s = w->rest.at + w->rest_at;
        s += strspn(s, "/");
        if (!*s)
            break;
        size_t n = strcspn(s, "/");
        if (n > NAME_MAX)
            return -ENAMETOOLONG;
        char name[NAME_MAX + 1];
        memcpy(name, s, n);
        name[n] = '\0';
        w->rest_at = (size_t)(s + n - w->rest.at);
        bool is_last = s[n] == '\0'; /* "x/" is not: it asks for the folder that x leads to */
        r = walk_step(w, name, is_last, flags, ret_fd);
    }
    if (r != 0)
        return r;
    /* The path ended in "/", "." or "..": what we stand on, which must be a folder. */
    int fd = open_step(w->at, ".", (flags & ~O_NOFOLLOW) | O_DIRECTORY);
    if (fd < 0)
        return fd;
    *ret_fd = fd;
    return 1;
}

int place_walk(int root_fd, const char *path, int flags, char *ret_real)
{
    struct walk w = { .root_fd = root_fd, .at = -1 };
    str_add(&w.rest, path);
    str_add(&w.done, "");
    int fd = -1;
    int r = w.rest.len >= PATH_MAX ? -ENAMETOOLONG : walk_all(&w, flags, &fd);
    if (r == 1 && ret_real) {
        if (w.done.len >= PATH_MAX) {
            (void)close(fd);
            r = -ENAMETOOLONG;
        } else {
            memcpy(ret_real, w.done.len > 0 ? w.done.at : "/", w.done.len > 0 ? w.done.len + 1 : 2);
        }
    }
    walk_done(&w);
    return r == 1 ? fd : r;
}
