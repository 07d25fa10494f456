#include "base/io.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/xalloc.h"

enum { LINE_MAX_BYTES = 64 * 1024, READ_STEP = 64 * 1024 };

/* A file that says its size ends there: a read that came back short and reached it needs no second
 * one. */
static bool at_end(uint64_t size_bytes, size_t total, size_t asked, size_t got)
{
    return got == 0 || (size_bytes > 0 && total >= size_bytes && got < asked);
}

int io_read(int fd, uint64_t size_bytes, size_t max_bytes, struct str *ret, bool *ret_cut)
{
    size_t total = 0;
    size_t step = size_bytes > 0 && size_bytes < max_bytes ? (size_t)size_bytes + 1 : READ_STEP;
    *ret_cut = false;
    for (;;) {
        size_t left = max_bytes - total;
        size_t ask = step < left + 1
                         ? step
                         : left + 1; /* one more than allowed tells that there is more */
        cleanup_(freep) char *piece = xmalloc(ask);
        ssize_t r = RETRY(read(fd, piece, ask));
        if (r < 0)
            return -errno;
        size_t got = (size_t)r, keep = got < left ? got : left;
        str_addn(ret, piece, keep);
        total += keep;
        if (got > left) {
            *ret_cut = true;
            return 0;
        }
        if (at_end(size_bytes, total, ask, got))
            return 0;
        step = READ_STEP;
    }
}

/* The lines that lie complete in buf; *used: how much of it they are. False: take has enough. */
static bool take_lines(const char *buf, size_t n, size_t *used,
                       bool (*take)(void *, const char *, size_t), void *ctx)
{
    const char *at = buf, *end = buf + n, *newline;
    bool more = true;
    while (more && at < end && (newline = memchr(at, '\n', (size_t)(end - at)))) {
        more = take(ctx, at, (size_t)(newline + 1 - at));
        at = newline + 1;
    }
    *used = (size_t)(at - buf);
    return more;
}

int io_lines(int fd, uint64_t size_bytes, size_t first, size_t max_bytes,
             bool (*take)(void *ctx, const char *line, size_t n), void *ctx, bool *ret_cut)
{
    cleanup_(freep) char *buf = xmalloc(LINE_MAX_BYTES);
    size_t held = 0, total = 0, step = first;
    bool skipping = false; /* inside a line that was too long */
    *ret_cut = false;
    for (;;) {
        size_t room = LINE_MAX_BYTES - held, left = max_bytes - total;
        size_t ask = step < room ? step : room;
        if (ask > left)
            ask = left;
        char beyond;
        ssize_t r = RETRY(read(fd, ask > 0 ? buf + held : &beyond, ask > 0 ? ask : 1));
        if (r < 0)
            return -errno;
        size_t got = ask > 0 ? (size_t)r : 0;
        total += got;
        bool end = at_end(size_bytes, total, ask, got);
        *ret_cut = *ret_cut || (ask == 0 && r > 0);
        held += got;
        size_t from = 0;
        if (skipping) {
            const char *newline = memchr(buf, '\n', held);
            from = newline ? (size_t)(newline + 1 - buf) : held;
            skipping = !newline;
        }
        size_t used;
        if (!take_lines(buf + from, held - from, &used, take, ctx))
            return 0;
        held -= from + used;
        memmove(buf, buf + from + used, held);
        if (end || held == LINE_MAX_BYTES) {
            *ret_cut = *ret_cut || !end;
            if (held > 0 && !take(ctx, buf, held))
                return 0;
            if (end)
                return 0;
            skipping = true;
            held = 0;
        }
        step = READ_STEP;
    }
}

int io_read_file(const char *path, size_t max_bytes, struct str *ret, struct err *e)
{
    cleanup_(closep) int fd = RETRY(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (fd < 0)
        return err_set(e, ERR_READ, "cannot open '%s': %s", path, strerror(errno));
    struct stat st;
    if (fstat(fd, &st) != 0)
        return err_set(e, ERR_READ, "cannot look at '%s': %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return err_set(e, ERR_READ, "cannot read '%s': not a regular file", path);
    bool cut = false;
    int r = io_read(fd, (uint64_t)st.st_size, max_bytes, ret, &cut);
    if (r == 0 && !cut)
        return 0;
    str_done(ret);
    if (r < 0)
        return err_set(e, ERR_READ, "cannot read '%s': %s", path, strerror(-r));
    return err_set(e, ERR_LIMIT, "'%s' is larger than %zu bytes", path, max_bytes);
}
