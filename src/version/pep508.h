/*
 * Requirements as METADATA has them (PEP 508 and the older form with parentheses), and their
 * markers. Nothing here allocates; parsed requirements borrow the text they were parsed from.
 */
#ifndef ORTFIT_VERSION_PEP508_H
#define ORTFIT_VERSION_PEP508_H

#include <stdbool.h>
#include <stddef.h>

#include "version/pep440.h"
#include "version/tag.h"

#define REQUIREMENT_EXTRAS 16
#define MARKER_DEPTH 32 /* deepest parentheses that are read */

struct requirement {
    struct slice name;
    struct slice extra[REQUIREMENT_EXTRAS];
    size_t n_extras;
    struct slice spec;   /* ">=1.21,<2"; len 0: any version */
    struct slice url;    /* name @ url; len 0: none */
    struct slice marker; /* behind the semicolon; len 0: always */
};
/* False: malformed, or more extras than are read. Specifier and marker have been checked. */
bool requirement_parse_n(const char *text, size_t len, struct requirement *ret);
bool requirement_parse(const char *text, struct requirement *ret);
/* Does this version satisfy it? Pre-releases allowed, since the question is asked of what is
 * installed. */
bool requirement_satisfied(const struct requirement *r, const char *version);

/* PEP 503: lower case, runs of - _ . become one -. At most room - 1 bytes; returns buf. */
const char *name_normalise_n(const char *name, size_t len, char *buf, size_t room);
const char *name_normalise(const char *name, char *buf, size_t room);
/* Equal after normalising. */
bool name_same(const char *a, const char *b);
bool name_same_n(struct slice a, const char *b);

/* Values of the marker variables. NULL: not known. */
struct marker_env {
    const char *os_name;             /* "posix", "nt" */
    const char *sys_platform;        /* "linux", "win32" */
    const char *platform_machine;    /* "x86_64", "AMD64" */
    const char *platform_python_implementation; /* "CPython" */
    const char *platform_release, *platform_version;
    const char *platform_system;     /* "Linux", "Windows" */
    const char *python_version;      /* "3.11" */
    const char *python_full_version; /* "3.11.7" */
    const char *implementation_name; /* "cpython" */
    const char *implementation_version;
    const char *extra;               /* the extra asked for; "" none */
};
/* Zero is "unknown": a variable that decides it is not known. */
enum marker { MARKER_UNKNOWN, MARKER_FALSE, MARKER_TRUE, MARKER_INVALID };
/* marker as in the requirement; empty is true. Invalid: malformed, or an operator that text does
 * not have. */
enum marker marker_eval_n(const char *text, size_t len, const struct marker_env *env);
enum marker marker_eval(const char *text, const struct marker_env *env);

#endif
