/* Reading files with a cap. Nothing here keeps a file open or maps it. */
#ifndef ORTFIT_BASE_IO_H
#define ORTFIT_BASE_IO_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

/* The call again while a signal cut it short. */
#define RETRY(call)                             \
    __extension__({                             \
        __typeof__(call) retried_;              \
        do                                      \
            retried_ = (call);                  \
        while (retried_ < 0 && errno == EINTR); \
        retried_;                               \
    })

/* Appends what fd still holds, max_bytes at most (*ret_cut: there was more). size_bytes is what
 * fstat said, 0 when it does not say (/proc): a file of that size takes one read. 0 or -errno; what
 * was read stays in ret. */
int io_read(int fd, uint64_t size_bytes, size_t max_bytes, struct str *ret, bool *ret_cut);

/* Gives line after line (with its newline, except a last one that has none) to take until it says
 * false. Reads max_bytes at most, `first` of them in the first read; of a line longer than 64 KiB
 * only the beginning is given. *ret_cut: something was left out for either reason. 0 or -errno. */
int io_lines(int fd, uint64_t size_bytes, size_t first, size_t max_bytes,
             bool (*take)(void *ctx, const char *line, size_t n), void *ctx, bool *ret_cut);

/* A whole file that a person named. ERR_READ: cannot be read or is no regular file; ERR_LIMIT:
 * larger than max_bytes. ret must be empty; on failure it stays so. */
int io_read_file(const char *path, size_t max_bytes, struct str *ret, struct err *e);

#endif
