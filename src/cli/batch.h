/* One line of a batch file: a JSON object of wishes, or flags as on the command line. */
#ifndef ORTFIT_CLI_BATCH_H
#define ORTFIT_CLI_BATCH_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

#define BATCH_WISHES 24

struct batch_wish {
    const char *name, *value; /* in the arena; the name is as the flag's, without dashes */
};
/* Names are not checked here. ERR_USAGE or ERR_FORMAT for a line that is neither; *ret_n is at most BATCH_WISHES. */
int batch_read(const char *line, size_t n, struct arena *a, struct batch_wish *ret, size_t *ret_n, struct err *e);

#endif
