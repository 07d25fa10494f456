/* Inside src/probe: reading one environment from its interpreter or its folder. */
#ifndef ORTFIT_PROBE_PYFIND_H
#define ORTFIT_PROBE_PYFIND_H

#include "probe/python.h"

/* The environment of an interpreter; python is an absolute path as the user would type it. It need
 * not exist when prefix is given (a tree that was copied without it). NULL: nothing there looks
 * like an environment. */
struct pyenv_work *pyfind_open(struct snapshot *s, const char *python, const char *prefix,
                               const char *why);
/* The environment of a folder: its bin/python, or what it holds without one. NULL: it is none. */
struct pyenv_work *pyfind_folder(struct snapshot *s, const char *dir, const char *why);
/* Is this file an interpreter (or a link to one) rather than a script? */
bool pyfind_is_script(struct snapshot *s, const char *file);

#endif
