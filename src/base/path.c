#include "base/path.h"

#include <string.h>

const char *path_join(struct arena *a, const char *dir, const char *name)
{
    if (name[0] == '/' || dir[0] == '\0')
        return arena_strdup(a, name);
    size_t n = strlen(dir);
    return arena_printf(a, dir[n - 1] == '/' ? "%s%s" : "%s/%s", dir, name);
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

const char *path_clean(struct arena *a, const char *path)
{
    size_t n = strlen(path), used = 0;
    char *clean = arena_alloc(a, n + 2);
    int absolute = path[0] == '/';
    size_t floor = 0; /* ".." that were kept in a relative path cannot be taken back */
    for (const char *p = path; *p;) {
        size_t len = strcspn(p, "/");
        if (len == 2 && p[0] == '.' && p[1] == '.' && (absolute || used > floor)) {
            while (used > floor && clean[used - 1] != '/')
                used--;
            if (used > floor)
                used--;
        } else if (len > 0 && !(len == 1 && p[0] == '.')) {
            if (used > 0 || absolute)
                clean[used++] = '/';
            memcpy(clean + used, p, len);
            used += len;
            if (len == 2 && p[0] == '.' && p[1] == '.')
                floor = used;
        }
        p += len;
        if (*p == '/')
            p++;
    }
    if (used == 0)
        clean[used++] = absolute ? '/' : '.';
    clean[used] = '\0';
    return clean;
}
