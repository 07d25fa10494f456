/* Paths as text; nothing here looks at a file system. Results live in the arena. */
#ifndef ORTFIT_BASE_PATH_H
#define ORTFIT_BASE_PATH_H

#include "base/arena.h"

/* dir + "/" + name, without a doubled slash; name alone when it is absolute or dir is "". */
const char *path_join(struct arena *a, const char *dir, const char *name);
/* Everything before the last slash ("." when there is none, "/" for "/x"). */
const char *path_dir(struct arena *a, const char *path);
/* Points into path, after its last slash. */
const char *path_base(const char *path);
/* Removes "//", "/./" and trailing slashes, and ".." by text; for absolute paths only where no link
 * matters. */
const char *path_clean(struct arena *a, const char *path);

#endif
