/*
 * Wheel file names and their tags (PEP 425, 427, 600): does a wheel install on a Python of a
 * machine? Nothing here allocates.
 */
#ifndef ORTFIT_VERSION_TAG_H
#define ORTFIT_VERSION_TAG_H

#include <stdbool.h>
#include <stddef.h>

struct slice {
    const char *at;
    size_t len;
};

/* name-version(-build)?-python-abi-platform.whl; parts borrow from the text. */
struct wheel_file {
    struct slice name, version, build, python, abi, platform;
};
bool wheel_file_parse(const char *file_name, struct wheel_file *ret);

/* The Python that wants to install. */
struct wheel_target {
    int python_major, python_minor; /* 3, 11 */
    bool free_threaded;             /* cp313t */
    const char *os;                 /* "linux", "windows", "macos" */
    const char *arch;               /* "x86_64", "aarch64", "amd64" (also "x86_64" on Windows) */
    int glibc_minor;                /* 36 of glibc 2.36; 0: not glibc or unknown */
    int musl_minor;                 /* 2 of musl 1.2; 0: not musl */
};
/* tag is "cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64": any combination of its sets may
 * fit. */
bool wheel_tag_fits(const char *tag, const struct wheel_target *target);
/* Does one of the python tags "cp311", "cp313t", "py3", "abi3" of a kb list serve this Python? */
bool wheel_python_fits(const char *python_tag, const struct wheel_target *target);
/* "cp311" or "cp313t" for the target; buf of at least 16 bytes; returns buf. */
const char *wheel_python_tag(const struct wheel_target *target, char *buf, size_t room);
/* Lowest glibc minor that a platform set asks for: manylinux2014_x86_64.manylinux_2_17_x86_64 is
 * 17; 0: no manylinux in it. */
int wheel_glibc_minor(const char *platform);
/* "2.36" to 36; 0: not a glibc 2 version. */
int glibc_minor(const char *version);

#endif
