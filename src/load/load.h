/* The dynamic loader, predicted: what dlopen would do in a process, found out without loading anything.
 * A load_process stands for one process: its executable, environment and the objects loaded so far. Each
 * load_dlopen changes it as the real call would (a failed one leaves nothing behind). Rules of glibc (2.26 and
 * later; differences by version where stated) and of musl for a musl root. */
#ifndef ORTFIT_LOAD_LOAD_H
#define ORTFIT_LOAD_LOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "place/place.h"

#define LOAD_RULE_TABLE(X)                    \
    X(LOAD_AS_GIVEN, "as-given")              \
    X(LOAD_ALREADY, "already-loaded")         \
    X(LOAD_PRELOAD, "preload")                \
    X(LOAD_RPATH, "rpath")                    \
    X(LOAD_RUNPATH, "runpath")                \
    X(LOAD_LIBRARY_PATH, "ld-library-path")   \
    X(LOAD_CACHE, "cache")                    \
    X(LOAD_DEFAULT, "default")

#define LOAD_STATUS_TABLE(X)                  \
    X(LOAD_FOUND, "found")                    \
    X(LOAD_MISSING, "missing")                \
    X(LOAD_WRONG_CLASS, "wrong-class")        \
    X(LOAD_BAD_FILE, "bad-file")              \
    X(LOAD_BAD_VERSION, "bad-version")        \
    X(LOAD_WRONG_FLAVOUR, "wrong-flavour")    \
    X(LOAD_LAZY, "lazy")

enum load_rule {
    LOAD_NO_RULE,
#define X(name, text) name,
    LOAD_RULE_TABLE(X)
#undef X
};

enum load_status {
    LOAD_UNKNOWN, /* the place does not know (a snapshot that holds too little) */
#define X(name, text) name,
    LOAD_STATUS_TABLE(X)
#undef X
};

const char *load_rule_text(enum load_rule r);     /* NULL for LOAD_NO_RULE */
const char *load_status_text(enum load_status s); /* "unknown" for LOAD_UNKNOWN */

struct load_config {
    const char *exe;          /* executable (path in the place); NULL: a plain dynamic program */
    const char *library_path; /* LD_LIBRARY_PATH or NULL */
    const char *preload;      /* LD_PRELOAD or NULL */
    const char *tunables;     /* GLIBC_TUNABLES or NULL */
    const char *cwd;          /* NULL: place_cwd */
    bool bind_now;            /* LD_BIND_NOW is set and not empty */
    bool secure;              /* AT_SECURE; also taken from the set-id bits of exe */
};

/* One library asked for and what became of it. */
struct load_need {
    const char *name;       /* as asked: "libcublas.so.12" */
    const char *needed_by;  /* path (as the loader spells it) of the object that asked, or NULL: the call itself */
    enum load_status status;
    enum load_rule rule;    /* how it was found */
    const char *path;       /* as the loader spells it (l_name); for BAD_FILE the file at fault */
    const char *problem;    /* text for status BAD_*: "file too short", "version `V2' not found ..." */
    const struct elf *elf;  /* when FOUND */
    const char *const *searched; /* MISSING: the folders asked, in order, each once, with the rule: "runpath /x/lib" */
    size_t n_searched;
};

struct load_result {
    bool known;             /* false: the place knew too little to say */
    bool loads;
    const char *error;      /* dlerror's exact text; "the loader would abort: ..." ; NULL when it loads */
    bool aborts;
    const char *path;       /* l_name of the object that name stands for; NULL when it does not load */
    const char *const *map; /* l_name of the objects that this call brought (its root first), in load order; when
                             * the root was loaded before: that alone */
    size_t n_map;
    const struct load_need *needs; /* breadth-first; with LOAD_EXPLORE also behind a missing one */
    size_t n_needs;
};

enum load_flags {
    LOAD_FLAG_LAZY = 1,     /* RTLD_LAZY instead of RTLD_NOW */
    LOAD_FLAG_GLOBAL = 2,   /* RTLD_GLOBAL instead of RTLD_LOCAL */
    LOAD_FLAG_EXPLORE = 4,  /* go on behind missing or damaged libraries, to list all of them; error and loads
                             * stay what the real call would give, and nothing is kept when it fails */
    LOAD_FLAG_NO_SYMBOLS = 8, /* leave out the check of undefined symbols (versions are still checked) */
};

struct load_process;

/* Starts the process: maps the executable, LD_PRELOAD and what they need. A process that would not even start is no
 * error of ours: load_process_error says why, and every dlopen in it fails with that. */
int load_process_new(struct place *p, const struct load_config *config, struct load_process **ret, struct err *e);
void load_process_free(struct load_process *proc);
const char *load_process_error(const struct load_process *proc); /* NULL: it starts */

/* dlopen(name, flags) called from the object whose path is caller (as in a map; NULL: from the executable).
 * ret lives in the process's arena. */
int load_dlopen(struct load_process *proc, const char *name, const char *caller, unsigned flags,
                struct load_result *ret, struct err *e);

/* The link map beyond what the program has by itself at its start (with LD_PRELOAD: beyond the program, ld.so, the
 * vdso and libc), in its order. Returns the number; *ret lives in the process's arena. */
size_t load_process_map(struct load_process *proc, const char *const **ret);

/* Is an object with this soname or name in the process now? Its path, or NULL. */
const char *load_process_has(const struct load_process *proc, const char *soname);

#endif
