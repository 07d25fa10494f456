#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void fail(const char *what, const char *path)
{
    fprintf(stderr, "tree: %s '%s': %s\n", what, path, strerror(errno));
    abort();
}

char *tree_new(void)
{
    return tree_new_in("/tmp");
}

char *tree_new_in(const char *parent)
{
    char dir[PATH_MAX];
    (void)snprintf(dir, sizeof(dir), "%s/ortfit-test-XXXXXX", parent);
    if (!mkdtemp(dir) || chmod(dir, 0755) != 0)
        fail("mkdtemp", dir);
    char *real = realpath(dir, NULL);
    if (!real)
        fail("realpath", dir);
    return real;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

void tree_remove(char *dir)
{
    (void)nftw(dir, remove_one, 32, FTW_DEPTH | FTW_PHYS);
    free(dir);
}

const char *tree_path(const char *dir, const char *name)
{
    static char buf[8][PATH_MAX];
    static unsigned turn;
    char *at = buf[turn++ % 8];
    if (snprintf(at, PATH_MAX, "%s/%s", dir, name) >= PATH_MAX)
        abort();
    return at;
}

static void make_above(const char *path)
{
    char copy[PATH_MAX];
    (void)snprintf(copy, sizeof(copy), "%s", path);
    for (char *s = copy + 1; (s = strchr(s, '/')); *s++ = '/') {
        *s = '\0';
        if (mkdir(copy, 0755) != 0 && errno != EEXIST)
            fail("mkdir", copy);
    }
}

void tree_dir(const char *dir, const char *name)
{
    const char *path = tree_path(dir, name);
    make_above(path);
    if (mkdir(path, 0755) != 0 && errno != EEXIST)
        fail("mkdir", path);
}

void tree_bytes(const char *dir, const char *name, const void *at, size_t n)
{
    const char *path = tree_path(dir, name);
    make_above(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, at, n) != (ssize_t)n || close(fd) != 0)
        fail("write", path);
}

void tree_file(const char *dir, const char *name, const char *text)
{
    tree_bytes(dir, name, text, strlen(text));
}

void tree_link(const char *dir, const char *name, const char *target)
{
    const char *path = tree_path(dir, name);
    make_above(path);
    if (symlink(target, path) != 0)
        fail("symlink", path);
}
