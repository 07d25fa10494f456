/* The names in a folder, by getdents64: no seekdir state, no stat of the entries. */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/vec.h"
#include "place/internal.h"

enum { LIST_CAP = 200 * 1000, LIST_BUFFER = 32 * 1024 };

struct names_read {
    VEC(struct dir_entry);
};

int place_sort_names(const void *a, const void *b)
{
    return strcmp(((const struct dir_entry *)a)->name, ((const struct dir_entry *)b)->name);
}

static enum file_type type_of_dirent(unsigned char type)
{
    switch (type) {
    case DT_UNKNOWN:
        return FILE_NONE;
    case DT_REG:
        return FILE_REGULAR;
    case DT_DIR:
        return FILE_DIR;
    case DT_LNK:
        return FILE_LINK;
    default:
        return FILE_OTHER;
    }
}

/* Takes over the names of one buffer; false at the cap. */
static bool take_names(struct arena *a, const char *buf, size_t n, struct names_read *names)
{
    for (size_t at = 0; at < n;) {
        const struct dirent64 *d = (const struct dirent64 *)(const void *)(buf + at);
        at += d->d_reclen;
        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
            continue;
        if (names->n == LIST_CAP)
            return false;
        vec_push(names, (struct dir_entry){ arena_strdup(a, d->d_name), type_of_dirent(d->d_type) });
    }
    return true;
}

void place_read_list(struct place *p, const char *path, struct listing *ret)
{
    cleanup_(closep) int fd =
        p->backing->open(p, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        *ret = (struct listing){ .known = place_known_of(-fd), .error = -fd };
        return;
    }
    struct names_read names = { 0 };
    _Alignas(struct dirent64) char buf[LIST_BUFFER];
    ssize_t n;
    bool more = true;
    while (more && (n = RETRY(getdents64(fd, buf, sizeof(buf)))) > 0)
        more = take_names(&p->arena, buf, (size_t)n, &names);
    int error = more && n < 0 ? errno : 0;
    *ret = (struct listing){ .known = place_known_of(error), .error = error, .cut = !more };
    if (names.n > 0 && !error) {
        qsort(names.at, names.n, sizeof(*names.at), place_sort_names);
        struct dir_entry *at = arena_alloc(&p->arena, names.n * sizeof(*at));
        memcpy(at, names.at, names.n * sizeof(*at));
        ret->at = at;
        ret->n = names.n;
    }
    vec_done(&names);
}
