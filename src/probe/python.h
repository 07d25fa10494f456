/* Inside src/probe: a Python environment while it is put together, and what its parts share.
 * Texts live in the snapshot's arena. */
#ifndef ORTFIT_PROBE_PYTHON_H
#define ORTFIT_PROBE_PYTHON_H

#include "probe/snapshot.h"

/* A line of a .pth file that Python would execute: it may add folders that nobody can know without
 * running it. */
struct pth_note {
    const char *source; /* "/x/site-packages/y.pth:3" */
    const char *text;
};

struct pyenv_work {
    struct pyenv env; /* first: a struct pyenv of the snapshot is always the head of one of these */
    const char *lib_name;       /* "python3.11", "python3.13t"; NULL: version unknown */
    const char *version_source; /* where the version was read */
    const char *cfg;            /* its pyvenv.cfg, or NULL */
    const char *cfg_home;       /* home of pyvenv.cfg, or NULL */
    const char *cfg_version;
    bool cfg_uv, cfg_system_site;
    const char *stdlib_prefix; /* where lib/pythonX.Y of the standard library lies */
    const char *platlib;       /* "lib", or "lib64" on Fedora and its kin */
    const char *const
        *sites; /* the folders of sys_path that may hold packages: not the standard library's */
    size_t n_sites;
    const struct pth_note *notes;
    size_t n_notes;
    const struct dist *const
        *all; /* every distribution, shadowed ones too, in order of the folders */
    size_t n_all;
    bool fixed_first; /* the user chose this one: its place in the order stays */
};

static inline struct pyenv_work *pyenv_work(const struct pyenv *env)
{
    return (struct pyenv_work *)(uintptr_t)env;
}

/* Fills sys_path, sites and notes from prefix, base_prefix, version and the place's environment
 * variables. */
void pypath_build(struct snapshot *s, struct pyenv_work *w);

/* Fills dists, all, torch, numpy. */
void dists_read(struct snapshot *s, struct pyenv_work *w);
/* The distribution of this normalised name, or NULL. */
const struct dist *dists_find(const struct pyenv *env, const char *name);
/* Does this distribution bring an import package onnxruntime, by its name? (Not
 * onnxruntime-extensions and the like.) */
bool dist_is_ort(const char *name);

/* What RECORD files say of who owns what lies in onnxruntime/: sets package's distribution, files
 * and the text. */
struct ort_owner {
    const struct dist *top; /* whose files are on top; NULL: not known */
    enum ort_files files;
    const struct dist *const *dists;
    size_t n_dists;
    const char *text; /* how it was decided; never NULL */
    const char *source;
};
/* site: the folder that holds onnxruntime/. build_package: package_name of
 * build_and_package_info.py, or NULL. */
void ort_owner_find(struct snapshot *s, const struct pyenv_work *w, const char *site,
                    const char *build_package, bool deep, struct ort_owner *ret);

/* Fills the file fields (pybind, runtime, shared, cuda, tensorrt) from the names in dir. python:
 * "cpython-311" picks among several pybind modules; NULL takes the first. */
void ort_files_find(struct snapshot *s, const char *dir, const char *python, struct ort_install *o);
/* What the Python files of capi/ say; returns package_name and version of the build info, each NULL
 * when not there. */
void ort_build_read(struct snapshot *s, const char *capi, struct ort_install *o,
                    const char **ret_package, const char **ret_version);
/* GPU code of the CUDA provider, when there is one; and the facts of an installation. key: "ort.0",
 * "library", "program"; source: of package and version. */
void ort_facts(struct snapshot *s, struct ort_install *o, const char *key, const char *source);

/* --library and PROGRAM: add the target. */
int target_library(struct snapshot *s, const char *file, struct err *e);
int target_program(struct snapshot *s, const char *program, struct err *e);
/* Adds a libonnxruntime.so that lies where servers and programs keep it; false: there is none. */
bool target_usual(struct snapshot *s);
/* The interpreter that a PROGRAM is, or that its first line names ("#!/x/bin/python3"); NULL: it is
 * no such thing. */
const char *program_python(struct snapshot *s, const char *program);
/* A program as a shell would find it: by PATH when it has no slash. NULL: not found. */
const char *program_find(struct snapshot *s, const char *name);

/* The interpreter that a pyenv shim would start, or NULL (then *ret_why says why not). */
const char *pyenv_shim(struct snapshot *s, const char *shim, const char **ret_why);

/* Is the place a tree (--root) or the snapshot of one, rather than a machine that runs? */
bool place_is_tree(struct snapshot *s);

/* Arena-owned copy of a list of texts. */
const char *const *names_keep(struct snapshot *s, const struct names *names);
/* "python.3.dist.x": keys are made often. */
__attribute__((format(printf, 2, 3))) const char *fact_key(struct snapshot *s, const char *fmt,
                                                           ...);

#endif
