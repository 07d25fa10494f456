/* Small readers that the probes of the machine share. Texts live in the snapshot's arena. */
#ifndef ORTFIT_PROBE_LOOK_H
#define ORTFIT_PROBE_LOOK_H

#include <stdbool.h>
#include <stddef.h>

#include "probe/snapshot.h"

/* One line of a text, without its newline; it borrows from the text. */
struct look_line {
    const char *at;
    size_t len;
    size_t number; /* from 1 */
};

/* Walks the lines of a text; *line starts zeroed. False: no further one. */
bool look_next_line(const struct text *t, struct look_line *line);
/* The first line of a small file, blanks cut off on both sides; NULL when there is no such file or
 * it is empty. */
const char *look_first_line(struct snapshot *s, const char *path);
/* "path:7", as facts name their source. */
const char *look_source(struct snapshot *s, const char *path, size_t line);
/* The text from at, len bytes, with blanks cut off on both sides and bytes that are not printable
 * made '?'. */
const char *look_trim(struct snapshot *s, const char *at, size_t len);

/* "9.10.2" of "libcudnn.so.9.10.2"; NULL without ".so." or when what follows is not digits and
 * dots. */
const char *look_soname_version(const char *file_name);
/* The first word of the text that is a driver number ("550.54.14"): two parts at least, the first
 * above 99. NULL: none. */
const char *look_driver_number(struct snapshot *s, const char *text);

/* 12 of "12.4.1"; 0 when it does not begin with a number from 1 to 99. */
int look_number(const char *text);

/* Value of "#define NAME 9", followed through one other define of the same text. Negative: not
 * there. */
int look_define(const struct text *t, const char *name);

/* The same path when it exists, else NULL. */
const char *look_if_exists(struct snapshot *s, const char *path);

/* Adds a component and its fact. Texts other than kind and how are copied; version, path, package
 * may be NULL. */
void look_component(struct snapshot *s, const struct component *c, const char *source);

#endif
