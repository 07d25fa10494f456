/* One process as the loader sees it, shared by the files of this folder. Names follow glibc's own model: a link
 * map of objects, each with the names under which it is known, a search list (breadth-first), a sorted list (order
 * of relocation) and the object that first asked for it. */
#ifndef ORTFIT_LOAD_PROCESS_H
#define ORTFIT_LOAD_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "elf/elf.h"
#include "load/load.h"
#include "place/place.h"

enum {
    PROCESS_MAX_OBJECTS = 4096,  /* in one process; more ends with ERR_LIMIT */
    PROCESS_MAX_NEEDS = 4096,    /* written down; explore goes no further */
    PROCESS_MAX_CAPS = 40,       /* subfolders of a search folder (glibc-hwcaps, legacy) */
    PROCESS_MAX_LIST = 4096,     /* elements of one search list */
    PROCESS_SMALL_DIR = 16384,   /* bytes of a folder that is read as a whole: cheaper than asking name by name */
    PROCESS_MAX_PATH = 4096,     /* PATH_MAX of Linux, the final NUL included */
};

/* A folder of a search list; the same folder is one struct in every list. */
enum dir_state { DIR_UNKNOWN, DIR_ABSENT, DIR_THERE };

struct dir {
    const char *path;  /* with its final slash; "" is the current folder */
    size_t len;
    unsigned char state[PROCESS_MAX_CAPS];  /* of path + caps[i]: enum dir_state */
    unsigned char top[PROCESS_MAX_CAPS];    /* of path + the first component of caps[i] */
    int top_error[PROCESS_MAX_CAPS];
    const struct listing *names; /* of a small folder; NULL: not read */
};

struct dirlist {
    struct dir **at;
    size_t n;
};

struct object {
    struct object *next, *prev;
    const char *name;         /* l_name: "" for the main program */
    struct names names;       /* names under which it was asked for */
    bool soname_added;
    const struct elf *elf;    /* NULL for the vdso and a plain program */
    const char *soname;       /* DT_SONAME or NULL */
    const char *origin;       /* made at first use; NULL: not known */
    struct object *loader;    /* whose NEEDED brought it; NULL: opened directly */
    bool is_main, is_rtld, is_vdso;
    bool has_id;              /* dev and ino of elf count for identity */
    bool own;                 /* the program has it by itself at its start */
    bool global, relocated, inited, versions_done, reserved, visited;
    struct dirlist rpath, runpath;
    bool rpath_done, runpath_done;
    struct object **searchlist; /* NULL until it was opened directly */
    size_t n_searchlist;
    struct object **initfini;   /* its dependencies, or the sorted list once opened directly */
    size_t n_initfini;
    bool tls_static, tls_dynamic;
    enum load_rule rule;        /* how its file was found */
};

struct objects {
    VEC(struct object *);
};

/* What the place's C library is like. */
struct libc_kind {
    bool musl;
    const char *interp;        /* "/lib64/ld-linux-x86-64.so.2" */
    const char *interp_name;   /* its DT_SONAME */
    const char *lib;           /* $LIB */
    const char *platform;      /* $PLATFORM or NULL */
    const char *system_dirs[5]; /* NULL-ended, each with its final slash */
    int minor;                 /* 36 for glibc 2.36; 0 unknown */
};

struct cache; /* ld.so.cache, see cache.h */

struct load_process {
    struct place *place;
    struct arena arena;
    struct libc_kind libc;
    const char *cwd, *exe_origin;
    bool secure, bind_now;
    struct object *head, *tail, *main, *rtld, *vdso, *libc_object;
    size_t n_objects;
    struct objects globals;    /* the global scope, in order */
    struct { VEC(struct dir *); } dirs;
    const char *caps[PROCESS_MAX_CAPS]; /* subfolders tried, in order; the last is "" */
    unsigned cap_top[PROCESS_MAX_CAPS]; /* index of the first cap with the same first component */
    size_t n_caps;
    struct dirlist env_dirs, system_dirs;
    struct cache *cache;
    bool cache_tried;
    int error_number;          /* what errno would be */
    bool start_unknown;        /* the same, at the process's start */
    bool unknown;              /* the place did not know something that was asked */
    const char *error;         /* of the current call: dlerror's text, the first one */
    const char *last_error;    /* the newest, also when explore goes on behind the first */
    bool aborts;
    const char *start_error;
    bool preloads;             /* LD_PRELOAD or /etc/ld.so.preload say something */
    bool exec_stack;           /* the stack is executable by now */
    const char *musl_env, *musl_path, *musl_exe; /* LD_LIBRARY_PATH, the system's folders, argv[0] */
    uint64_t tls_used, tls_size, tls_align, tls_optional, tls_surplus; /* the static TLS block */
    unsigned top_level;        /* of glibc-hwcaps, 4 unless switched off */
    /* the current call */
    bool explore;
    struct { VEC(struct load_need); } needs;
};

/* How an object is asked for. */
struct load_mode {
    bool dlopen;   /* DF_1_NOOPEN counts */
    bool direct;   /* the name given to dlopen: the asking object is no loader of it */
    bool preload;  /* LD_PRELOAD: stricter when secure */
};

struct search_found {
    const char *path;        /* as the loader spells it; NULL: not found */
    const struct elf *elf;
    enum load_rule rule;
    bool other_class;        /* a file of the other word size was passed over */
    const char *fatal;       /* the file at fault, when the search ended in an error */
    struct names *searched;  /* NULL, or gets what was searched */
};

/* search.c: where a name without a slash is looked for. */
const char *search_expand(struct load_process *proc, struct object *o, const char *text); /* "" when it cannot be */
struct dirlist search_list(struct load_process *proc, struct object *o, const char *text, const char *separators);
const char *search_origin(struct load_process *proc, struct object *o);
void search_name(struct load_process *proc, struct object *loader, const char *name, struct load_mode mode,
                 struct search_found *found);
/* Opens and verifies one path. False: not usable; found->fatal tells whether that ends the search. */
bool search_open(struct load_process *proc, const char *path, enum load_rule rule, struct search_found *found);
const char *search_absolute(struct load_process *proc, const char *path);

/* libc.c: what the place's loader is. exe_elf may be NULL. */
void libc_find(struct load_process *proc, const struct elf *exe_elf);
void libc_caps(struct load_process *proc);

/* tunables.c: text is GLIBC_TUNABLES, or NULL: sets tls_optional, tls_surplus, top_level. */
void tunables_read(struct load_process *proc, const char *text);

/* walk.c: objects and their dependencies. NULL or false: proc->error is set. */
struct object *walk_map(struct load_process *proc, struct object *loader, const char *name, struct load_mode mode,
                        struct load_need *need);
bool walk_deps(struct load_process *proc, struct object *root, struct object **preloads, size_t n_preloads,
               struct load_mode mode);
struct object *walk_new(struct load_process *proc, const char *path, const char *asked, struct object *loader,
                        const struct elf *elf);
void walk_add_name(struct object *o, const char *name);
bool walk_knows_name(const struct object *o, const char *name);
void walk_remove(struct load_process *proc, struct object *o);

/* check.c: versions, CPU levels, relocation. False: proc->error is set. */
bool check_versions(struct load_process *proc, struct object *o);
bool check_isa(struct load_process *proc, struct object *root);
bool check_relocations(struct load_process *proc, struct object *o, bool lazy);

/* musl.c */
void musl_start(struct load_process *proc, const struct load_config *config, const struct elf *exe_elf);
struct object *musl_dlopen(struct load_process *proc, const char *name, struct object *caller, unsigned flags);

/* load.c: records the text that dlerror would give: "OBJECT: TEXT[: strerror(number)]". Keeps the first. */
__attribute__((format(printf, 4, 5))) void load_fail(struct load_process *proc, int number, const char *object,
                                                      const char *fmt, ...);
__attribute__((format(printf, 2, 3))) void load_abort(struct load_process *proc, const char *fmt, ...);

#endif
