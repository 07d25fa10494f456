#include "base/path.h"

#include <stdbool.h>
#include <string.h>

const char *path_join(struct arena *a, const char *dir, const char *name)
{
    if (name[0] == '/' || dir[0] == '\0')
        return arena_strdup(a, name);
    size_t n = strlen(dir);
    return arena_concat(a, dir, dir[n - 1] == '/' ? "" : "/", name);
}

const char *path_dir(struct arena *a, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return ".";
    if (slash == path)
        return "/";
    return arena_strndup(a, path, (size_t)(slash - path));
}

const char *path_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Takes the last component back, unless it is the root or a ".." that had to stay. */
static size_t drop_last(const char *clean, size_t used, size_t floor)
{
    while (used > floor && clean[used - 1] != '/')
        used--;
    return used > floor ? used - 1 : used;
}

const char *path_clean(struct arena *a, const char *path)
{
    size_t used = 0;
    char *clean = arena_alloc(a, strlen(path) + 2);
    bool absolute = path[0] == '/';
    size_t floor = 0; /* ".." that were kept in a relative path cannot be taken back */
    for (const char *p = path; *p;) {
        size_t len = strcspn(p, "/");
        bool up = len == 2 && p[0] == '.' && p[1] == '.';
        bool here = len == 0 || (len == 1 && p[0] == '.');
        if (up && (absolute || used > floor)) {
            used = drop_last(clean, used, floor);
        } else if (!here) {
            if (used > 0 || absolute)
                clean[used++] = '/';
            memcpy(clean + used, p, len);
            used += len;
            floor = up ? used : floor;
        }
        p += len + (p[len] == '/');
    }
    if (used == 0)
        clean[used++] = absolute ? '/' : '.';
    clean[used] = '\0';
    return clean;
}
