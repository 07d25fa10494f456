/* The compiled tables, made by tools/kb-compile; only src/kb/ includes this. */
#ifndef ORTFIT_KB_TABLES_H
#define ORTFIT_KB_TABLES_H

#include "kb/directory.h"
#include "kb/kb.h"

/* table of kb/, row type */
#define KB_TABLES(X)                    \
    X(sources, kb_source)               \
    X(ort, kb_ort)                      \
    X(ort_numpy, kb_numpy)              \
    X(ort_numpy_abi, kb_numpy_abi)      \
    X(ort_extra, kb_extra)              \
    X(ort_gpu_code, kb_gpu_code)        \
    X(dists, kb_dist)                   \
    X(dist_releases, kb_dist_release)   \
    X(feeds, kb_feed)                   \
    X(torch, kb_torch)                  \
    X(libraries, kb_library)            \
    X(wheels, kb_wheel)                 \
    X(wheel_versions, kb_wheel_version) \
    X(sonames, kb_soname)               \
    X(floors, kb_floor)                 \
    X(toolkits, kb_toolkit)             \
    X(branches, kb_branch)              \
    X(compat, kb_compat)                \
    X(archs, kb_arch)                   \
    X(gpus, kb_gpu)                     \
    X(chips, kb_chip)                   \
    X(cudnn, kb_cudnn)                  \
    X(ort_opset, kb_opset)              \
    X(torch_builds, kb_torch_build)     \
    X(numpy_releases, kb_numpy_release) \
    X(feed_gpu_code, kb_feed_gpu_code)  \
    X(rules, kb_rule)                   \
    X(images, kb_image)                 \
    X(conda, kb_conda)                  \
    X(options, kb_option)               \
    X(claims, kb_claim)

#define X(table, type)                    \
    extern const struct type kbt_##table[]; \
    extern const size_t kbt_##table##_n;
KB_TABLES(X)
#undef X

extern const struct kb_table kbt_directory[];
extern const size_t kbt_directory_n;
extern const char kbt_text[]; /* every cell of the directory, each ended by NUL */
extern const char kbt_newest[]; /* date of the newest row, "2026-12-01" */

/* Defines a function that walks a table. */
#define KB_AT(function, table, type)                            \
    const struct type *function(size_t i)                       \
    {                                                           \
        return i < kbt_##table##_n ? &kbt_##table[i] : NULL;    \
    }

#endif
