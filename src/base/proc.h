/* Work that may crash or hang, done in a child process with a time limit. */
#ifndef ORTFIT_BASE_PROC_H
#define ORTFIT_BASE_PROC_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

/* Forks; the child runs run(out_fd) with stdin, stdout and stderr on /dev/null and exits. What it
 * writes to out_fd is appended to ret, max_bytes at most (*ret_cut: there was more; the child is
 * then ended). ERR_CHILD, with the reason alone as text: "timed out after 2.0 s", "crashed (signal
 * 11)", "exited with 3". ret then holds what came before. The child is gone when this returns. */
int proc_call(void (*run)(int out_fd), int timeout_ms, size_t max_bytes, struct str *ret,
              bool *ret_cut, struct err *e);

#endif
